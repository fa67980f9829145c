/* bpe_characters.h - places of a region in; out, which of them are one character, and where the ids of all are: with AVX-512.
 * For bpe_encode.c. With AVX2: bpe_regions.h.
 *
 *     '我' '们' '去了'       numbers of those that are one character, U+0001 to U+FFFF: 6211, 4EEC, and 0 for the last
 *     a table by number     16 bytes each, as the ids of an entry (bpe_cache.h), where a character was met before
 *     others                looked up by their keys (bpe_lookup.h), and the ids are in their buckets
 *
 * Invariants: no two strings of bytes have the same number, so what lies there is that character's. It is right for pieces and for
 * parts. Places are those of one call of put_region_avx512 or put_window.
 */
#ifndef BPE_CHARACTERS_H
#define BPE_CHARACTERS_H

#include "bpe_regions.h"

#ifdef HAS_VECTORS

#define SHORT_PLACES 4 /* bytes of a place on average, below which it is looked which are characters, */
#define MANY_PLACES 64 /* if there are so many, or all is in a window */

/* Of 64 bytes and the two behind each: bits where a character of one byte begins that is the whole place, of two, and of three. Each
 * is as UTF-8 has it, but that surrogates are let pass: their numbers are no other's. */
typedef struct {
    __mmask64 one, two, three;
} whole;

WITH_VECTORS static inline whole whole_places(__m512i first, __m512i second, __m512i third, uint64_t all, uint64_t next)
{
    const __mmask64 goes_on = _mm512_cmplt_epi8_mask(second, _mm512_set1_epi8(-64)), not_one = all & ~down(all, next, 1);
    const __mmask64 not_two = not_one & ~down(all, next, 2) & goes_on & _mm512_cmplt_epi8_mask(third, _mm512_set1_epi8(-64));
    const __mmask64 e0 = _mm512_cmpeq_epi8_mask(first, _mm512_set1_epi8((char)0xE0));
    const __m512i below_f0 = _mm512_sub_epi8(first, _mm512_set1_epi8((char)0xE0));
    const __m512i below_e0 = _mm512_sub_epi8(first, _mm512_set1_epi8((char)0xC2));
    whole w;
    w.one = all & down(all, next, 1) & ~_mm512_movepi8_mask(first);
    w.two = not_one & down(all, next, 2) & goes_on & _mm512_cmplt_epu8_mask(below_e0, _mm512_set1_epi8(0xE0 - 0xC2));
    w.three = not_two & down(all, next, 3) & _mm512_cmplt_epu8_mask(below_f0, _mm512_set1_epi8(0x10)) &
              ~(e0 & _mm512_cmplt_epu8_mask(second, _mm512_set1_epi8((char)0xA0)));
    return w;
}

/* Bits of both where the mask says so: of the first, moved by so many places. */
#define BITS(moved, of, mask) _mm512_and_si512(moved(of), _mm512_set1_epi8((char)(mask)))
#define UP_6(v) _mm512_slli_epi16(v, 6)
#define UP_4(v) _mm512_slli_epi16(v, 4)
#define DOWN_2(v) _mm512_srli_epi16(v, 2)
#define NOT_MOVED(v) (v)

/* Bits of 64 bytes from so many ahead, of which there are so many. */
WITH_VECTORS static inline __mmask64 may_read(uint64_t rest, unsigned ahead)
{
    return _bzhi_u64(~UINT64_C(0), rest < ahead ? 0 : rest - ahead < 64 ? (unsigned)(rest - ahead) : 64);
}

/* Store the number of each place of 64 bytes that is one character, and 0 for each other: how many are. */
WITH_VECTORS static inline size_t number_places(uint16_t *to, __m512i first, __m512i second, __m512i third, uint64_t all, uint64_t next)
{
    const whole are = whole_places(first, second, third, all, next);
    __m512i low = _mm512_maskz_mov_epi8(are.one, first), high;
    unsigned half;
    low = _mm512_mask_mov_epi8(low, are.two, _mm512_or_si512(BITS(NOT_MOVED, second, 0x3F), BITS(UP_6, first, 0xC0)));
    low = _mm512_mask_mov_epi8(low, are.three, _mm512_or_si512(BITS(NOT_MOVED, third, 0x3F), BITS(UP_6, second, 0xC0)));
    high = _mm512_maskz_mov_epi8(are.two, BITS(DOWN_2, first, 0x07));
    high = _mm512_mask_mov_epi8(high, are.three, _mm512_or_si512(BITS(DOWN_2, second, 0x0F), BITS(UP_4, first, 0xF0)));
    low = _mm512_maskz_compress_epi8(all, low);
    high = _mm512_maskz_compress_epi8(all, high);
    for (half = 0; half < 2; half++) {
        const __m512i upper = _mm512_cvtepu8_epi16(half ? _mm512_extracti64x4_epi64(high, 1) : _mm512_castsi512_si256(high));
        const __m512i lower = _mm512_cvtepu8_epi16(half ? _mm512_extracti64x4_epi64(low, 1) : _mm512_castsi512_si256(low));
        _mm512_storeu_si512(to + 32 * half, _mm512_or_si512(lower, _mm512_slli_epi16(upper, 8)));
    }
    return (size_t)_mm_popcnt_u64(are.one | are.two | are.three);
}

/* The same of all places of a region. */
WITH_VECTORS static size_t number_characters(region *r, const uint8_t *text, uint64_t readable, uint32_t windows)
{
    size_t n = 0, found = 0;
    uint32_t w;
    for (w = 0; w < windows; w++) {
        const uint64_t rest = readable - 64 * (uint64_t)w;
        const __m512i first = _mm512_maskz_loadu_epi8(may_read(rest, 0), text + 64 * w);
        const __m512i second = _mm512_maskz_loadu_epi8(may_read(rest, 1), text + 64 * w + 1);
        const __m512i third = _mm512_maskz_loadu_epi8(may_read(rest, 2), text + 64 * w + 2);
        found += number_places(r->characters + n, first, second, third, r->all[w], r->all[w + 1]);
        n += (size_t)_mm_popcnt_u64(r->all[w]);
    }
    return found;
}

/* As put_region_avx2. */
WITH_VECTORS static size_t put_region_avx512(const bpe_vocabulary *v, region *r, const uint8_t *text, uint64_t readable, const uint32_t *starts,
                                             const uint32_t *ends, size_t most, size_t *places, uint32_t *cut, size_t *characters)
{
    uint32_t size;
    const size_t pieces = mark_pieces(r, starts, ends, most, &size);
    find_joints(v, r, list_region(r, text + starts[0], readable - starts[0], size));
    *places = store_places(r, starts[0], size / 64 + 1, cut);
    *characters = 0;
    if (*places >= MANY_PLACES && size < SHORT_PLACES * *places) {
        *characters = number_characters(r, text + starts[0], readable - starts[0], size / 64 + 1);
    }
    return pieces;
}

/* The same of those that have up to WINDOW bytes together, as the first has: nothing goes through memory but what comes out. */
WITH_VECTORS static size_t put_window(const bpe_vocabulary *v, region *r, const uint8_t *text, uint64_t readable, const uint32_t *starts,
                                      const uint32_t *ends, size_t most, size_t *places, uint32_t *cut, size_t *characters)
{
    const uint32_t from = starts[0];
    const __m512i zeros = _mm512_setzero_si512(), one = _mm512_set1_epi8(1);
    const __m512i now = _mm512_maskz_loadu_epi8(may_read(readable - from, 0), text + from);
    const uint64_t go_on = _mm512_cmplt_epi8_mask(now, _mm512_set1_epi8(-64));
    uint64_t begins = 1, inside, cuts, longer, leads, joints = 0, all;
    unsigned char carry = 0;
    uint32_t size = 0;
    size_t n;
    for (n = 0; n < most && ends[n] - from <= WINDOW && starts[n] - from == size; n++) {
        size = ends[n] - from;
        begins |= UINT64_C(1) << size % WINDOW; /* behind all of them, the next piece begins outside */
    }
    inside = _bzhi_u64(~UINT64_C(0), size);
    cuts = choose(begins, size / WINDOW, now, inside, &longer);
    leads = _mm512_movepi8_mask(now) & ~go_on & go_on << 1 & fill(begins, cuts | longer, &carry) & ~begins;
    if (LIKELY(leads != 0)) {
        __m512i at = places_of(leads, 0);
        joints = are_joints(v, characters_before(zeros, now, at), bytes_behind(now, zeros, at));
        if (_mm_popcnt_u64(leads) > SIXTEEN) {
            at = places_of(leads, 1);
            joints |= (uint64_t)are_joints(v, characters_before(zeros, now, at), bytes_behind(now, zeros, at)) << SIXTEEN;
        }
        joints = _pdep_u64(joints, leads);
    }
    cuts = chosen(cuts, longer, joints, 0);
    carry = 0;
    joints &= fill(begins, cuts, &carry) & ~begins;
    all = begins | joints;
    store_numbers(r->starts, all, from);
    *places = (size_t)_mm_popcnt_u64(all & inside);
    r->starts[*places] = from + size;
    _mm512_storeu_si512(r->joint, _mm512_maskz_set1_epi8(_pext_u64(joints, all), 1));
    *cut = (uint32_t)_mm_popcnt_u64(cuts);
    *characters = 0;
    if (size < SHORT_PLACES * *places) {
        const __m512i next = _mm512_add_epi8(numbers_to_63(), one);
        const __m512i second = _mm512_permutexvar_epi8(next, now), third = _mm512_permutexvar_epi8(_mm512_add_epi8(next, one), now);
        *characters = number_places(r->characters, now, second, third, all, size / WINDOW);
    }
    return n;
}

/* As list_others_avx2. */
WITH_VECTORS static inline void list_others_avx512(const bpe_encoder *e, located *l, const uint16_t *characters, size_t count)
{
    const __m512i base = _mm512_set1_epi32((int)characters_at(e));
    size_t i, n = 0;
    for (i = 0; i < count; i += 64) {
        const __m512i a = _mm512_loadu_si512(characters + i), b = _mm512_loadu_si512(characters + i + 32);
        const uint64_t here = _bzhi_u64(~UINT64_C(0), count - i < 64 ? (unsigned)(count - i) : 64);
        const uint64_t others = (_mm512_testn_epi16_mask(a, a) | (uint64_t)_mm512_testn_epi16_mask(b, b) << 32) & here;
        const __m512i numbers = _mm512_add_epi8(numbers_to_63(), _mm512_set1_epi8((char)i));
        unsigned k;
        _mm512_storeu_si512(l->others + n, _mm512_maskz_compress_epi8(others, numbers));
        n += (size_t)_mm_popcnt_u64(others);
        for (k = 0; k < 64; k += 16) {
            const __m512i numbers_of = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const void *)(characters + i + k)));
            _mm512_storeu_si512(l->ids + i + k, _mm512_add_epi32(_mm512_slli_epi32(numbers_of, 4), base));
        }
    }
    l->count = n;
}

/* The keys of sixteen others from one on, whose buckets are asked for: bits of those that have more than BPE_KEY bytes, whose keys are not to be
 * used. */
WITH_VECTORS static inline uint64_t put_sixteen_places(const bpe_encoder *e, located *l, const uint8_t *text, const uint32_t *starts, size_t i)
{
    const __m512i which = _mm512_cvtepu8_epi32(_mm_loadu_si128((const void *)(l->others + i)));
    const __mmask16 all = (__mmask16)_bzhi_u32(0xFFFF, (unsigned)(l->count - i < SIXTEEN ? l->count - i : SIXTEEN));
    const __m512i zeros = _mm512_setzero_si512();
    _mm512_storeu_si512(l->starts + i, _mm512_mask_i32gather_epi32(zeros, all, which, starts, 4));
    _mm512_storeu_si512(l->ends + i, _mm512_mask_i32gather_epi32(zeros, all, which, starts + 1, 4));
    return put_sixteen(text, l->starts + i, l->ends + i, l->count - i, e, l->keys + i, l->buckets + i).longer;
}

/* As put_other_places_avx2. */
WITH_VECTORS static inline void put_other_places_avx512(const bpe_encoder *e, located *l, group *g)
{
    size_t i;
    for (i = 0; i < l->count; i += SIXTEEN) {
        uint64_t longer = put_sixteen_places(e, l, g->text, g->starts, i);
        for (; UNLIKELY(longer != 0); longer &= longer - 1) {
            const size_t n = i + _tzcnt_u64(longer), which = l->others[n];
            l->keys[n] = no_key();
            put_key_by_vectors(e, g, which, g->starts[which], g->ends[which]);
        }
    }
}

/* As locate_others_avx2. */
WITH_VECTORS static inline void locate_others_avx512(const bpe_encoder *e, located *l, const group *g)
{
    const uint32_t nowhere = characters_at(e);
    size_t i;
    (void)g;
    for (i = 0; i < l->count; i++) {
        const unsigned at = ids_in(l->buckets[i], l->keys + i);
        const uint32_t ids = (uint32_t)((const uint8_t *)l->buckets[i] - e->tables) + at;
        l->ids[l->others[i]] = at == NOWHERE ? nowhere : ids;
    }
}

#endif
#endif
