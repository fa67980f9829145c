/* bitlex_avx512.h - private: the lanes on AVX-512 with VBMI and VBMI2 (Intel from Ice Lake, AMD from Zen 4 on). */
#define NAME(x) x##_avx512
typedef __m512i V_avx512;
typedef __mmask64 M_avx512;
#define V V_avx512
#define M M_avx512

BITLEX_INLINE V NAME(load)(const void *p) { return _mm512_loadu_si512(p); }
BITLEX_INLINE void NAME(store)(void *p, V v) { _mm512_storeu_si512(p, v); }
BITLEX_INLINE V NAME(gather)(const uint8_t *p, size_t stride)
{
    V v = _mm512_castsi128_si512(_mm_loadu_si128((const __m128i *)(const void *)p));
    v = _mm512_inserti32x4(v, _mm_loadu_si128((const __m128i *)(const void *)(p + stride)), 1);
    v = _mm512_inserti32x4(v, _mm_loadu_si128((const __m128i *)(const void *)(p + 2 * stride)), 2);
    return _mm512_inserti32x4(v, _mm_loadu_si128((const __m128i *)(const void *)(p + 3 * stride)), 3);
}
BITLEX_INLINE V NAME(narrow16)(const uint8_t *p, uint32_t shift)
{
    __m128i by = _mm_cvtsi32_si128((int)shift);
    __m256i low = _mm512_cvtepi16_epi8(_mm512_srl_epi16(_mm512_loadu_si512(p), by));
    __m256i high = _mm512_cvtepi16_epi8(_mm512_srl_epi16(_mm512_loadu_si512(p + 64), by));
    return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}
BITLEX_INLINE V NAME(narrow32)(const uint8_t *p, uint32_t shift)
{
    __m128i by = _mm_cvtsi32_si128((int)shift);
    V v = _mm512_castsi128_si512(_mm512_cvtepi32_epi8(_mm512_srl_epi32(_mm512_loadu_si512(p), by)));
    v = _mm512_inserti32x4(v, _mm512_cvtepi32_epi8(_mm512_srl_epi32(_mm512_loadu_si512(p + 64), by)), 1);
    v = _mm512_inserti32x4(v, _mm512_cvtepi32_epi8(_mm512_srl_epi32(_mm512_loadu_si512(p + 128), by)), 2);
    return _mm512_inserti32x4(v, _mm512_cvtepi32_epi8(_mm512_srl_epi32(_mm512_loadu_si512(p + 192), by)), 3);
}
BITLEX_INLINE V NAME(entry128)(const uint8_t *table, V index)
{
    return _mm512_permutex2var_epi8(_mm512_loadu_si512(table), index, _mm512_loadu_si512(table + 64));
}
BITLEX_INLINE V NAME(offset)(const uint8_t *table, V code)
{
    return _mm512_shuffle_epi8(_mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)(const void *)table)), code);
}
BITLEX_INLINE V NAME(entries)(const uint8_t (*table)[BITLEX_PAGE], V index, V code, const uint32_t rows)
{
    V found = NAME(entry128)(table[0], index), page;
    uint32_t i;
    if (rows <= 8) return found;
    if (rows <= 16) return _mm512_mask_mov_epi8(found, _mm512_movepi8_mask(code), NAME(entry128)(table[1], index));
    page = _mm512_and_si512(code, _mm512_set1_epi8(0x70));
    for (i = 1; i < rows / 8; i++) {
        M there = _mm512_cmpeq_epi8_mask(page, _mm512_set1_epi8((char)(i << 4)));
        found = _mm512_mask_mov_epi8(found, there, NAME(entry128)(table[i], index));
    }
    return found;
}

BITLEX_INLINE V NAME(entries_twice)(const uint8_t (*first)[BITLEX_PAGE], const uint8_t (*second)[BITLEX_PAGE], V index, V code,
                                    const uint32_t rows, V *other)
{
    *other = NAME(entries)(second, index, code, rows);
    return NAME(entries)(first, index, code, rows);
}

#define EACH_SIZE(CASE) CASE(8) CASE(16) CASE(24) CASE(32) CASE(40) CASE(48) CASE(64)
#define MOST_BACKWARD (8 * BITLEX_BACKWARD_PAGES)
#define MASKED 0
#define SPARE 0
#define W V
#define WIDTH 64
#define w_gather NAME(gather)
#define w_store NAME(store)
#define w_zip_low _mm512_unpacklo_epi8
#define w_zip_high _mm512_unpackhi_epi8

#define v_load NAME(load)
#define v_store NAME(store)
#define v_narrow16 NAME(narrow16)
#define v_narrow32 NAME(narrow32)
#define v_entry NAME(entry128)
#define v_entries NAME(entries)
#define v_entries_twice NAME(entries_twice)
#define v_permute(table, index) _mm512_permutexvar_epi8(index, _mm512_loadu_si512(table))
#define v_offset NAME(offset)
#define v_prepare(table, size) ((void)0)
#define v_all(byte) _mm512_set1_epi8((char)(byte))
#define v_add _mm512_add_epi8
#define v_and _mm512_and_si512
#define v_or _mm512_or_si512
#define v_left(v, by) _mm512_slli_epi16(v, by)
#define v_right(v, by) _mm512_srli_epi16(v, by)
#define v_choose(m, a, b) _mm512_mask_mov_epi8(b, m, a)
#define m_high _mm512_movepi8_mask
#define m_equal _mm512_cmpeq_epi8_mask
#define m_at_least _mm512_cmpge_epu8_mask
#define m_and(a, b) ((a) & (b))
#define m_all(m) ((m) == ~UINT64_C(0))
#define m_or(a, b) ((a) | (b))
#define m_without(a, b) ((a) & ~(b))
#define m_any(m) ((m) != 0)
#define m_none() UINT64_C(0)
#define m_everywhere() (~UINT64_C(0))
#define m_bits(m) ((uint64_t)(m))

#include "bitlex_kernel.h"

static size_t ends32_avx512(const uint64_t *words, uint32_t *word, uint32_t last, uint64_t base, uint32_t *out, size_t room)
{
    static const uint8_t first[64] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
                                      22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43,
                                      44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63};
    const V places = _mm512_loadu_si512(first);
    size_t done = 0;
    uint32_t w, count, i;
    for (w = *word; w < last && room - done >= 64; w++) {
        V found = _mm512_maskz_compress_epi8(words[w], places), from = _mm512_set1_epi32((int)(uint32_t)(base + 64 * (uint64_t)w));
        count = (uint32_t)__builtin_popcountll(words[w]);
        _mm512_storeu_si512(out + done, _mm512_add_epi32(from, _mm512_cvtepu8_epi32(_mm512_castsi512_si128(found))));
        for (i = 16; i < count; i += 16) {
            found = _mm512_shuffle_i32x4(found, found, 0x39);
            _mm512_storeu_si512(out + done + i, _mm512_add_epi32(from, _mm512_cvtepu8_epi32(_mm512_castsi512_si128(found))));
        }
        done += count;
    }
    *word = w;
    return done;
}

static size_t ends64_avx512(const uint64_t *words, uint32_t *word, uint32_t last, uint64_t base, uint64_t *out, size_t room)
{
    uint32_t places[64 * 64], w, i, count;
    size_t done = 0;
    while (*word < last && room - done >= 64) {
        w = *word;
        count = (uint32_t)ends32_avx512(words, word, last, 0, places, room - done < sizeof places / 4 ? room - done : sizeof places / 4);
        for (i = 0; i < count; i++) out[done + i] = base + places[i];
        done += count;
        if (*word == w) break;
    }
    return done;
}

#include "bitlex_no_names.h"
