/* bpe_regions.h - pieces in; out, the places of pieces and of the parts of those that are cut, which places are one character, and where the
 * ids of all are: with AVX2. For bpe_encode.c.
 *
 *     '我们', '去了', ...     eight characters of three bytes at once: a place begins where a piece does, or at a joint (bpe_joints.h)
 *     '我' '们' '去了'        numbers of those that are one character of one byte or three: 6211, 4EEC, and 0 for the last
 *     a table by number      16 bytes each, as the ids of an entry (bpe_cache.h), where a character was met before
 *     others                 looked up by their keys, and the ids are in their buckets
 *
 * In Chinese nineteen of twenty places are one character. No key is made of these, nor compared: the number is all there is to it. Of
 * all places it is then known where their ids are, and they are copied in order. No branch asks which a place is: the two sorts of
 * places take turns like words and spaces do.
 *
 * Invariants: as of bpe_group.h. Pieces are taken as long as they are side by side and fit a region. A place that has the number of a
 * character is that character, in UTF-8.
 *
 * Rejected: one loop over the characters of all pieces without vectors or a branch (3 to 20 % slower than pieces one after the other: what it
 * does to know where it is are more instructions than what it is for); eight characters of one piece at a time (sentences end before).
 */
#ifndef BPE_REGIONS_H
#define BPE_REGIONS_H

#include "bpe_group.h"
#include "bpe_places.h"
#include "bpe_short.h"

#ifdef HAS_VECTORS

#define EIGHT_THREES 28 /* bytes that are read to get eight characters of three */
#define WORTH_EIGHT 3 /* characters that are worth being put together */
#define BEGINS 0x80 /* marks of bytes: a piece begins, */
#define IS_CUT 0x40 /* and is cut wherever it can be */
#define JOINT 0x10000 /* above the number of a place: it begins at one */

/* Pieces and parts, as they are put into a region. */
typedef struct {
    region *r;
    const bpe_vocabulary *v;
    const uint8_t *text;
    const uint8_t *marks;  /* of the text */
    uint32_t base; /* where all begin; everything else is counted from there */
    uint32_t last; /* the character before, if it is well-formed; or 0 */
    size_t begun;  /* pieces, */
    size_t count;  /* and places */
} putting;

/* Bits of eight pairs of characters of three bytes: there is a joint. As is_joint. */
WITH_AVX2 static inline unsigned eight_joints(const bpe_vocabulary *v, __m256i before, __m256i behind)
{
    const __m256i low = _mm256_set1_epi32(0x7F4A7C15), high = _mm256_set1_epi32((int)0x9E3779B9), within = _mm256_set1_epi32(31);
    const __m256i even = _mm256_srli_epi64(_mm256_mul_epu32(behind, low), 32);
    const __m256i odd = _mm256_mul_epu32(_mm256_srli_epi64(behind, 32), low);
    const __m256i above = _mm256_add_epi32(_mm256_mullo_epi32(behind, high), _mm256_mullo_epi32(before, low));
    const __m256i both = _mm256_srli_epi32(_mm256_add_epi32(above, _mm256_blend_epi32(even, odd, 0xAA)), 32 - CHAR_JOINT_BITS);
    __m256i bytes = _mm256_and_si256(_mm256_slli_epi32(before, 12), _mm256_set1_epi32(0x3F000)), either;
    bytes = _mm256_or_si256(bytes, _mm256_and_si256(_mm256_srli_epi32(behind, 10), _mm256_set1_epi32(0xFC0)));
    bytes = _mm256_or_si256(bytes, _mm256_and_si256(_mm256_srli_epi32(behind, 8), _mm256_set1_epi32(0x3F)));
    either = _mm256_srlv_epi32(eight_of(v->byte_joints, _mm256_srli_epi32(bytes, 5)), _mm256_and_si256(bytes, within));
    either = _mm256_or_si256(
        either, _mm256_srlv_epi32(eight_of(v->char_joints, _mm256_srli_epi32(both, 5)), _mm256_and_si256(both, within)));
    return ~(unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(_mm256_slli_epi32(either, 31))) & 0xFF;
}

/* Their numbers; 0 if fewer bytes would do. That of a surrogate is no other's. */
WITH_AVX2 static inline __m256i eight_numbers(__m256i threes)
{
    __m256i numbers = _mm256_and_si256(threes, _mm256_set1_epi32(0x3F));
    numbers = _mm256_or_si256(numbers, _mm256_and_si256(_mm256_srli_epi32(threes, 2), _mm256_set1_epi32(0x0FC0)));
    numbers = _mm256_or_si256(numbers, _mm256_and_si256(_mm256_srli_epi32(threes, 4), _mm256_set1_epi32(0xF000)));
    return _mm256_and_si256(numbers, _mm256_cmpgt_epi32(numbers, _mm256_set1_epi32(0x7FF)));
}

/* Store those of eight numbers that bits say. */
WITH_AVX2 static inline void store_eight(uint32_t *out, __m256i eight, unsigned which)
{
    out += store_some(out, _mm256_castsi256_si128(eight), which & 15);
    store_some(out, _mm256_extracti128_si256(eight, 1), which >> 4);
}

/* Bytes of 24, the first twelve below the others: of both, those that four numbers say, as _mm_shuffle_epi8 has it. 28 may be read. */
WITH_AVX2 static inline __m256i bytes_of_24(const uint8_t *p, int a, int b, int c, int d)
{
    const __m128i low = _mm_loadu_si128((const void *)p), high = _mm_loadu_si128((const void *)(p + 12));
    return _mm256_shuffle_epi8(_mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1), _mm256_broadcastsi128_si256(_mm_set_epi32(d, c, b, a)));
}

/* Put so many of eight characters of three bytes, which are in pieces that are cut: whether that could be done. */
WITH_AVX2 static inline int put_threes(putting *to, uint32_t i, __m256i threes, unsigned count)
{
    const __m256i marks = bytes_of_24(to->marks + i, 0x00808080, 0x03808080, 0x06808080, 0x09808080);
    const __m256i moved = _mm256_permutevar8x32_epi32(threes, _mm256_set_epi32(6, 5, 4, 3, 2, 1, 0, 7));
    const __m256i before = _mm256_blend_epi32(moved, _mm256_set1_epi32((int)to->last), 1);
    const __m256i bits = _mm256_set_epi32(128, 64, 32, 16, 8, 4, 2, 1);
    const unsigned here = (1u << count) - 1, begins = (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(marks)) & here;
    const unsigned begin = _bzhi_u32((unsigned)_mm256_movemask_epi8(_mm256_loadu_si256((const void *)(to->marks + i))), 3 * count);
    const unsigned joints = eight_joints(to->v, before, threes) & ~begins & here & (0xFEu | (to->last != 0));
    const unsigned places = begins | joints, alone = places & (places >> 1 | (here ^ here >> 1)); /* the last may be, as far as is known */
    const __m256i at = _mm256_add_epi32(_mm256_set1_epi32((int)(to->base + i)), _mm256_set_epi32(21, 18, 15, 12, 9, 6, 3, 0));
    const __m256i are_alone = _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32((int)alone), bits), bits);
    const __m256i at_joints = _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32((int)joints), bits), bits);
    const __m256i numbers = _mm256_and_si256(eight_numbers(threes), are_alone);
    if (UNLIKELY(_mm_popcnt_u32(begin) != _mm_popcnt_u32(begins))) return 0; /* a piece begins within a character */
    if ((places & 1) == 0) to->r->numbers[to->count - 1] &= JOINT; /* it goes on */
    store_eight(to->r->starts + to->count, at, places);
    store_eight(to->r->numbers + to->count, _mm256_or_si256(numbers, _mm256_and_si256(at_joints, _mm256_set1_epi32(JOINT))), places);
    to->count += (size_t)_mm_popcnt_u32(places);
    to->begun += (size_t)_mm_popcnt_u32(begins);
    to->last = char_number(to->text + i + 3 * count - 3, 3);
    return 1;
}

/* Put one character, of any length, or one byte that is none, of a piece that is cut: how many bytes these are. */
static inline uint32_t put_character(putting *to, uint32_t i, uint32_t length)
{
    const uint8_t *p = to->text + i;
    const uint32_t size = p[0] < 0xC0 ? 1 : (uint32_t)char_length(p[0]), number = size > 1 && size <= length ? char_number(p, size) : 0;
    const uint32_t begins = to->marks[i] / BEGINS, joint = !begins && number != 0 && to->last != 0 && is_joint(to->v, p, to->last, number);
    to->begun += begins;
    to->r->starts[to->count] = to->base + i;
    to->r->numbers[to->count] = joint * JOINT;
    to->count += joint | begins;
    if (!(joint | begins)) to->r->numbers[to->count - 1] &= JOINT;
    to->last = number != 0 && is_character(number, size) ? number : 0;
    return to->last != 0 ? size : 1;
}

/* Mark where pieces begin, as long as they are side by side and fit a region, and which are cut: how many pieces, and *cut of them. */
WITH_AVX2 static inline size_t mark_pieces_avx2(const bpe_encoder *e, uint8_t *marks, const uint8_t *text, const uint32_t *starts,
                                                const uint32_t *ends, size_t most, uint32_t *cut)
{
    const uint32_t base = starts[0];
    uint32_t at = base;
    size_t k;
    *cut = 0;
    memset(marks, 0, ends[most - 1] - base < REGION ? ends[most - 1] - base : REGION); /* what is behind is read, but not used */
    for (k = 0; k < most && starts[k] == at && ends[k] - base <= REGION; k++) {
        const uint8_t *p = text + at;
        const uint32_t length = ends[k] - at;
        uint32_t is = p[0] >= SCRIPTS;
        if (UNLIKELY(length > BPE_KEY && !is)) is = (uint32_t)is_cut(e, p, length);
        *cut += is & (length > ONE);
        marks[at - base] = (uint8_t)(BEGINS | is * IS_CUT);
        at = ends[k];
    }
    return k;
}

/* Put what is marked, of so many bytes. */
WITH_AVX2 static inline void put_marked(putting *to, uint64_t readable, const uint32_t *ends, uint32_t size)
{
    uint32_t i = 0;
    while (i < size) {
        const uint8_t *p = to->text + i;
        if (to->marks[i] == BEGINS) {
            const uint32_t length = ends[to->begun++] - to->base - i;
            to->r->starts[to->count] = to->base + i;
            to->r->numbers[to->count++] = p[0] & (0 - (uint32_t)((length == 1) & (p[0] < 0x80)));
            i += length;
            continue;
        }
        if (p[0] >= SCRIPTS && readable - i >= EIGHT_THREES) {
            const __m256i threes = bytes_of_24(p, (int)0x80000102, (int)0x80030405, (int)0x80060708, (int)0x80090A0B);
            const __m256i are = _mm256_cmpeq_epi32(_mm256_and_si256(threes, _mm256_set1_epi32(0xF0C0C0)), _mm256_set1_epi32(0xE08080));
            const unsigned all = _bzhi_u32((unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(are)), size - i < 24 ? (size - i) / 3 : 8);
            const unsigned count = (unsigned)_mm_popcnt_u32(all & ~(all + 1));
            if (count >= WORTH_EIGHT && put_threes(to, i, threes, count)) {
                i += 3 * count;
                continue;
            }
        }
        i += put_character(to, i, ends[to->begun - (to->marks[i] == 0)] - to->base - i);
    }
}

/* The numbers of all places, as they are looked up, and which begin at joints: how many have a number. */
WITH_AVX2 static inline size_t put_numbers(region *r, size_t count)
{
    const __m128i all = _mm_set1_epi32(0xFFFF);
    size_t i, found = 0;
    for (i = 0; i < count; i += 8) {
        const __m128i low = _mm_loadu_si128((const void *)(r->numbers + i)), high = _mm_loadu_si128((const void *)(r->numbers + i + 4));
        const __m128i eight = _mm_packus_epi32(_mm_and_si128(low, all), _mm_and_si128(high, all)), none = _mm_cmpeq_epi16(eight, _mm_setzero_si128());
        const __m128i joints = _mm_packus_epi32(_mm_srli_epi32(low, 16), _mm_srli_epi32(high, 16));
        const uint32_t are = ~(uint32_t)_mm_movemask_epi8(none) & 0xFFFF;
        _mm_storeu_si128((void *)(r->characters + i), eight);
        _mm_storel_epi64((void *)(r->joint + i), _mm_packus_epi16(joints, joints));
        found += (size_t)_mm_popcnt_u32(_bzhi_u32(are, count - i < 8 ? 2 * (unsigned)(count - i) : 16)) / 2;
    }
    return found;
}

/* Put up to `most` pieces, and the parts of those that are cut, into a region: how many pieces, *places of them. *cut becomes how many
 * are, *characters how many places are one. The first piece fits. */
WITH_AVX2 static size_t put_region_avx2(const bpe_encoder *e, region *r, const uint8_t *text, uint64_t readable, const uint32_t *starts,
                                        const uint32_t *ends, size_t most, size_t *places, uint32_t *cut, size_t *characters)
{
    const size_t pieces = mark_pieces_avx2(e, r->marks, text, starts, ends, most, cut);
    putting to = {r, e->v, text + starts[0], r->marks, starts[0], 0, 0, 0};
    put_marked(&to, readable - starts[0], ends, ends[pieces - 1] - starts[0]);
    r->starts[to.count] = ends[pieces - 1];
    *places = to.count;
    *characters = put_numbers(r, to.count);
    r->joint[to.count] = 0;
    return pieces;
}

/* --- where the ids are -------------------------------------------------------------------------------------------------- */

/* Of some places, in bytes from the tables on; and which of these places are no characters. With AVX2, what is known of these is in the group. */
typedef struct IN_LINES {
    uint32_t ids[GROUP + SIXTEEN];
    uint8_t others[GROUP + 64];
    size_t count; /* of others */
    /* Of these, one behind the other, with AVX-512: */
    uint32_t starts[GROUP + SIXTEEN], ends[GROUP + SIXTEEN];
    key keys[GROUP + SIXTEEN];
    const entry *buckets[GROUP + SIXTEEN];
} located;

/* From the tables on. */
static inline uint32_t characters_at(const bpe_encoder *e)
{
    return (uint32_t)((const uint8_t *)e->characters - e->tables);
}

/* Where the ids of characters of a group are; all other places are listed, and the ids of these are at U+0000, that is nowhere. */
WITH_AVX2 static inline void list_others_avx2(const bpe_encoder *e, located *l, const uint16_t *characters, size_t count)
{
    const uint32_t base = characters_at(e);
    size_t i, n = 0;
    for (i = 0; i < count; i += 8) {
        const __m256i numbers = _mm256_cvtepu16_epi32(_mm_loadu_si128((const void *)(characters + i)));
        _mm256_storeu_si256((void *)(l->ids + i), _mm256_add_epi32(_mm256_slli_epi32(numbers, 4), _mm256_set1_epi32((int)base)));
    }
    for (i = 0; i < count; i++) {
        l->others[n] = (uint8_t)i;
        n += characters[i] == 0;
    }
    l->count = n;
}

/* The keys of others, whose buckets are asked for. */
WITH_AVX2 static inline void put_other_places_avx2(const bpe_encoder *e, const located *l, group *g)
{
    size_t n;
    for (n = 0; n < l->count; n++) put_place(e, g, l->others[n], g->starts[l->others[n]], g->ends[l->others[n]]);
}

/* Where the ids of others are, if they are in their buckets. */
WITH_AVX2 static inline void locate_others_avx2(const bpe_encoder *e, located *l, const group *g)
{
    const uint32_t nowhere = characters_at(e);
    size_t n;
    for (n = 0; n < l->count; n++) {
        const size_t i = l->others[n];
        const unsigned at = ids_in(g->buckets[i], g->keys + i);
        const uint32_t ids = (uint32_t)((const uint8_t *)g->buckets[i] - e->tables) + at;
        l->ids[i] = at == NOWHERE ? nowhere : ids;
    }
}

#endif
#endif
