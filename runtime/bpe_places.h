/* bpe_places.h - pieces in; out, the places of pieces and of the parts of those that are cut: with AVX-512. For bpe_characters.h. What they are put
 * into is the same with AVX2 (bpe_regions.h).
 *
 *     '我们', '去了', ...     marks where pieces begin, and which are cut (about as is_cut in bpe_group.h says, but no word stays whole)
 *     every character        before and behind, side by side in one list, sixteen of which are looked up at once (bpe_joints.h)
 *     64 bytes of text       bits where there is a joint, and bits where a piece begins, which together are the places
 *
 * A sentence has few parts, and each of its characters another number of bytes: branches on where a piece or a character ends are
 * guessed wrong time and again. Here is none, but for how much text there is. Pieces are taken as long as they fit a region.
 *
 * Invariant: a joint is one by bpe_joints.h; which of them are used is a matter of speed. Nothing is read but bytes that may be.
 *
 * Rejected: a list for each 64 bytes (a third of the sixteen would be empty in Chinese).
 */
#ifndef BPE_PLACES_H
#define BPE_PLACES_H

#include "bpe_lookup.h"

#ifdef HAS_VECTORS

#define REGION 2048 /* bytes of text */
#define WINDOW 64   /* bytes that are one vector of AVX-512, and of a piece that is worth a region though few are behind it */
#define WINDOWS (REGION / WINDOW)
#define FEW_PIECES 64 /* where few are cut, so many are taken, */
#define MANY_PIECES 1024 /* and where one of sixteen is, so many */

/* What comes out; and what is known of the text before. */
typedef struct IN_LINES {
    uint32_t starts[REGION + 64];
    uint8_t joint[REGION + 64]; /* whether a place begins at one */
    uint16_t characters[REGION + 64]; /* of places that are one character, its number; or 0 */
    uint32_t numbers[REGION + 64]; /* with AVX2: the same, before all are known, and JOINT */
    uint8_t marks[REGION + 64]; /* of bytes: 0x80 where a piece begins */
    /* With AVX-512: */
    uint32_t before[REGION / 2 + 32], behind[REGION / 2 + 32]; /* of characters that are listed */
    uint64_t begins[WINDOWS + 2], cut[WINDOWS + 1], longer[WINDOWS + 1]; /* by 64 bytes; which pieces are cut, and which are if they can be soon */
    uint64_t leads[WINDOWS + 1];  /* characters that are listed, */
    uint32_t listed[WINDOWS + 1]; /* and how many were before */
    uint16_t found[REGION / 32 + 8]; /* bits of the list: there is a joint */
    uint64_t all[WINDOWS + 2];       /* where places begin, and where the last ends */
} region;

/* All bytes from those in `from` on, each up to the next that begins a piece. *carry: whether the bytes before go on. */
WITH_VECTORS static inline uint64_t fill(uint64_t begins, uint64_t from, unsigned char *carry)
{
    unsigned long long sum;
    *carry = _addcarry_u64(*carry, ~begins | from, from, &sum);
    return from | (~begins & ~sum);
}

/* Bits of 64 and those of the next 64: so many places down, */
static inline uint64_t down(uint64_t bits, uint64_t next, unsigned by) { return bits >> by | next << (64 - by); }

/* and those that have any bit 1 to 8 places behind them; in *four, 1 to 4. The same of the next 64, as far as they are known, is *next. */
static inline uint64_t any_of_8(uint64_t bits, uint64_t *next, uint64_t *four)
{
    bits = down(bits, *next, 1);
    *next >>= 1;
    bits |= down(bits, *next, 1);
    *next |= *next >> 1;
    *four = bits |= down(bits, *next, 2);
    *next |= *next >> 2;
    bits |= down(bits, *next, 4);
    *next |= *next >> 4;
    return bits;
}

WITH_VECTORS static inline __m512i numbers_to_63(void)
{
    return _mm512_set_epi64(0x3F3E3D3C3B3A3938, 0x3736353433323130, 0x2F2E2D2C2B2A2928, 0x2726252423222120, 0x1F1E1D1C1B1A1918, 0x1716151413121110,
                            BYTES_8_TO_15, BYTES_0_TO_7);
}

/* Mark up to `most` pieces, and where the next would begin: how many fit. *size becomes the bytes that they have. */
WITH_VECTORS static inline size_t mark_pieces(region *r, const uint32_t *starts, const uint32_t *ends, size_t most, uint32_t *size)
{
    const uint32_t from = starts[0], last = ends[most - 1] - from < REGION ? ends[most - 1] - from : REGION;
    uint32_t at = 0, w;
    size_t n;
    for (w = 0; w <= last / 64; w++) _mm512_storeu_si512(r->marks + 64 * w, _mm512_setzero_si512());
    r->marks[0] = 0x80;
    for (n = 0; n < most; n++) {
        const uint32_t end = ends[n] - from;
        if (UNLIKELY(end > REGION || starts[n] - from != at)) break;
        r->marks[end] = 0x80;
        at = end;
    }
    *size = at;
    for (w = 0; w <= at / 64; w++) r->begins[w] = _mm512_movepi8_mask(_mm512_loadu_si512(r->marks + 64 * w));
    r->begins[w] = 0;
    return n;
}

/* Which of the pieces that begin in 64 bytes are cut; in *longer, which are if they have a joint near their beginning. */
WITH_VECTORS static inline uint64_t choose(uint64_t begins, uint64_t next, __m512i bytes, uint64_t pieces, uint64_t *longer)
{
    const uint64_t scripts = _mm512_cmpge_epu8_mask(bytes, _mm512_set1_epi8((char)SCRIPTS));
    uint64_t four;
    const uint64_t eight = any_of_8(begins, &next, &four), short_ones = eight | down(eight, next, BPE_KEY - 8);
    const uint64_t cut = begins & scripts & ~four & pieces;
    *longer = begins & ~short_ones & ~cut & pieces;
    return cut;
}

/* All of them that are, by the joints that were found. */
WITH_VECTORS static inline uint64_t chosen(uint64_t cut, uint64_t longer, uint64_t joints, uint64_t next)
{
    uint64_t four;
    const uint64_t eight = any_of_8(joints, &next, &four);
    return cut | (longer & (eight | down(eight, next, LOOK - 1 - 8)));
}

/* Characters as numbers, whose last byte is the lowest: which of them have so many bytes. */
#define ARE(c, which, value) _mm512_cmpeq_epi32_mask(_mm512_and_si512(c, _mm512_set1_epi32(which)), _mm512_set1_epi32(value))

/* Sixteen of the places at `leads` of 64 bytes, of which there are 32 at most. */
WITH_VECTORS static inline __m512i places_of(uint64_t leads, unsigned half)
{
    const __m256i places = _mm512_castsi512_si256(_mm512_maskz_compress_epi8(leads, numbers_to_63()));
    const __m512i same = _mm512_set4_epi32(0x0C0C0C0C, 0x08080808, 0x04040404, 0);
    return _mm512_shuffle_epi8(_mm512_cvtepu8_epi32(half ? _mm256_extracti128_si256(places, 1) : _mm256_castsi256_si128(places)), same);
}

/* The characters before such places, and four bytes from them on. */
WITH_VECTORS static inline __m512i characters_before(__m512i last, __m512i now, __m512i at)
{
    const __m512i before = _mm512_permutex2var_epi8(last, _mm512_add_epi8(at, _mm512_set1_epi32(0x3C3D3E3F)), now);
    const __m512i number = _mm512_mask_and_epi32(before, ARE(before, 0xE0C0, 0xC080), before, _mm512_set1_epi32(0xFFFF));
    return _mm512_mask_and_epi32(number, ARE(before, 0xF0C0C0, 0xE08080), before, _mm512_set1_epi32(0xFFFFFF));
}

WITH_VECTORS static inline __m512i bytes_behind(__m512i now, __m512i next, __m512i at)
{
    return _mm512_permutex2var_epi8(now, _mm512_add_epi8(at, _mm512_set1_epi32(0x00010203)), next);
}

/* Put the characters at `leads` of 64 bytes, and those before them, at the end of the list. */
WITH_VECTORS static inline void list_characters(region *r, uint32_t listed, __m512i last, __m512i now, __m512i next, uint64_t leads)
{
    unsigned half;
    for (half = 0; half < 2; half++) {
        const __m512i at = places_of(leads, half);
        _mm512_storeu_si512(r->before + listed + 16 * half, characters_before(last, now, at));
        _mm512_storeu_si512(r->behind + listed + 16 * half, bytes_behind(now, next, at));
    }
}

/* List all characters of pieces that may be cut at which there may be a joint: how many. */
WITH_VECTORS static inline uint32_t list_region(region *r, const uint8_t *text, uint64_t readable, uint32_t size)
{
    __m512i last, now = _mm512_setzero_si512();
    __m512i next = _mm512_maskz_loadu_epi8(_bzhi_u64(~UINT64_C(0), readable < 64 ? (unsigned)readable : 64), text);
    uint64_t were = 0;
    unsigned char carry = 0;
    uint32_t listed = 0, w;
    for (w = 0; w <= size / 64; w++) {
        const uint64_t rest = readable < 64 * (uint64_t)(w + 1) ? 0 : readable - 64 * (uint64_t)(w + 1);
        uint64_t go_on, may;
        last = now;
        now = next;
        next = _mm512_maskz_loadu_epi8(_bzhi_u64(~UINT64_C(0), rest < 64 ? (unsigned)rest : 64), text + 64 * (w + 1));
        go_on = _mm512_cmplt_epi8_mask(now, _mm512_set1_epi8(-64));
        r->cut[w] = choose(r->begins[w], r->begins[w + 1], now, _bzhi_u64(~UINT64_C(0), size - 64 * w < 64 ? size - 64 * w : 64), r->longer + w);
        may = r->cut[w] | r->longer[w];
        r->listed[w] = listed;
        r->leads[w] = _mm512_movepi8_mask(now) & ~go_on & (go_on << 1 | were) & fill(r->begins[w], may, &carry) & ~r->begins[w];
        were = go_on >> 63;
        if (r->leads[w] == 0) continue;
        list_characters(r, listed, last, now, next, r->leads[w]);
        listed += (uint32_t)_mm_popcnt_u64(r->leads[w]);
    }
    return listed;
}

/* Between which of sixteen characters, and those that begin with these four bytes, there is a joint. */
WITH_VECTORS static inline __mmask16 are_joints(const bpe_vocabulary *v, __m512i before, __m512i first)
{
    const __m512i factor = _mm512_set1_epi64((long long)UINT64_C(0x9E3779B97F4A7C15)), low = _mm512_set1_epi64(0xFFFFFFFF);
    const __m512i within = _mm512_set1_epi32(31);
    const __m512i three = _mm512_mask_srli_epi32(first, _mm512_cmplt_epu32_mask(first, _mm512_set1_epi32((int)0xF0000000)), first, 8);
    const __m512i behind = _mm512_mask_srli_epi32(three, _mm512_cmplt_epu32_mask(first, _mm512_set1_epi32((int)0xE0000000)), first, 16);
    const __m512i even = _mm512_mullo_epi64(_mm512_or_si512(_mm512_slli_epi64(before, 32), _mm512_and_si512(behind, low)), factor);
    const __m512i odd = _mm512_mullo_epi64(_mm512_or_si512(_mm512_andnot_si512(low, before), _mm512_srli_epi64(behind, 32)), factor);
    const __m512i chars = _mm512_srli_epi32(_mm512_mask_mov_epi32(_mm512_srli_epi64(even, 32), 0xAAAA, odd), 32 - CHAR_JOINT_BITS);
    __m512i bytes = _mm512_and_si512(_mm512_slli_epi32(before, 12), _mm512_set1_epi32(0x3F000)), either;
    bytes = _mm512_or_si512(bytes, _mm512_and_si512(_mm512_srli_epi32(first, 18), _mm512_set1_epi32(0xFC0)));
    bytes = _mm512_or_si512(bytes, _mm512_and_si512(_mm512_srli_epi32(first, 16), _mm512_set1_epi32(0x3F)));
    const __m512i of_bytes = _mm512_i32gather_epi32(_mm512_srli_epi32(bytes, 5), v->byte_joints, 4);
    const __m512i of_chars = _mm512_i32gather_epi32(_mm512_srli_epi32(chars, 5), v->char_joints, 4);
    either = _mm512_or_si512(_mm512_srlv_epi32(of_bytes, _mm512_and_si512(bytes, within)),
                             _mm512_srlv_epi32(of_chars, _mm512_and_si512(chars, within)));
    return _mm512_testn_epi32_mask(either, _mm512_set1_epi32(1));
}

/* Look up what is listed. */
WITH_VECTORS static inline void find_joints(const bpe_vocabulary *v, region *r, uint32_t listed)
{
    uint32_t i;
    for (i = 0; i < listed; i += 16) {
        r->found[i / 16] = are_joints(v, _mm512_loadu_si512(r->before + i), _mm512_loadu_si512(r->behind + i));
    }
    memset(r->found + (listed + 15) / 16, 0, 8);
}

/* Bits of 64 bytes: there is a joint. */
WITH_VECTORS static inline uint64_t joints_of(const region *r, uint32_t w)
{
    const uint64_t found = load_8((const uint8_t *)r->found + r->listed[w] / 8) >> r->listed[w] % 8;
    return _pdep_u64(found, r->leads[w]);
}

/* The numbers of bits, added to `from`; of 32 bits at least. */
WITH_VECTORS static inline void store_numbers(uint32_t *to, uint64_t bits, uint32_t from)
{
    const __m512i places = _mm512_maskz_compress_epi8(bits, numbers_to_63()), base = _mm512_set1_epi32((int)from);
    _mm512_storeu_si512(to, _mm512_add_epi32(base, _mm512_cvtepu8_epi32(_mm512_castsi512_si128(places))));
    _mm512_storeu_si512(to + 16, _mm512_add_epi32(base, _mm512_cvtepu8_epi32(_mm512_extracti32x4_epi32(places, 1))));
    if (LIKELY(_mm_popcnt_u64(bits) <= 32)) return;
    _mm512_storeu_si512(to + 32, _mm512_add_epi32(base, _mm512_cvtepu8_epi32(_mm512_extracti32x4_epi32(places, 2))));
    _mm512_storeu_si512(to + 48, _mm512_add_epi32(base, _mm512_cvtepu8_epi32(_mm512_extracti32x4_epi32(places, 3))));
}

/* Places from bits, one behind the other, and where the last ends: how many. *cut becomes how many pieces are. */
WITH_VECTORS static inline size_t store_places(region *r, uint32_t from, uint32_t windows, uint32_t *cut)
{
    unsigned char carry = 0;
    size_t n = 0;
    uint64_t next = joints_of(r, 0);
    uint32_t w;
    *cut = 0;
    for (w = 0; w < windows; w++) {
        const uint64_t begins = r->begins[w], found = next;
        uint64_t cuts, joints, all;
        next = w + 1 < windows ? joints_of(r, w + 1) : 0;
        cuts = chosen(r->cut[w], r->longer[w], found, next);
        joints = found & fill(begins, cuts, &carry) & ~begins;
        r->all[w] = all = begins | joints;
        store_numbers(r->starts + n, all, from + 64 * w);
        _mm512_storeu_si512(r->joint + n, _mm512_maskz_set1_epi8(_pext_u64(joints, all), 1));
        n += (size_t)_mm_popcnt_u64(all);
        *cut += (uint32_t)_mm_popcnt_u64(cuts);
    }
    r->all[w] = 0;
    return n - 1;
}

#endif
#endif
