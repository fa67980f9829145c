/* bpe_pair_vectors.h - what bpe_pairs.h does, of sixteen pairs at a time with AVX-512, of eight with AVX2; or of one, by fewer instructions. */
#ifndef BPE_PAIR_VECTORS_H
#define BPE_PAIR_VECTORS_H

#include "bpe_lookup.h"
#include "bpe_pairs.h"

#if defined(HAS_VECTORS)

/* pair_hash of sixteen pairs. */
WITH_VECTORS static inline __m512i hashes_of(__m512i left, __m512i right)
{
    return _mm512_add_epi32(_mm512_mullo_epi32(left, _mm512_set1_epi32((int)PAIR_LEFT)),
                            _mm512_mullo_epi32(right, _mm512_set1_epi32((int)PAIR_RIGHT)));
}

/* Which of some pairs may merge. */
WITH_VECTORS static inline __mmask16 may_merge(const bpe_vocabulary *v, __mmask16 which, __m512i hashes)
{
    const __m512i bits = _mm512_and_si512(hashes, _mm512_set1_epi32((int)v->pair_mask)), one = _mm512_set1_epi32(1);
    const __m512i words = _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), which, _mm512_srli_epi32(bits, 5), v->pair_bits, 4);
    return _mm512_mask_test_epi32_mask(which, words, _mm512_rolv_epi32(one, bits));
}

/* The numbers of the lines of sixteen pairs. */
WITH_VECTORS static inline __m512i lines_of(const bpe_vocabulary *v, __m512i hashes)
{
    const __m512i count = _mm512_set1_epi64(v->pairs_count), evens = _mm512_mul_epu32(hashes, count);
    const __m512i odds = _mm512_mul_epu32(_mm512_srli_epi64(hashes, 32), count);
    return _mm512_mask_mov_epi32(_mm512_srli_epi64(evens, 32), 0xAAAA, odds);
}

/* The upper and lower bits of a pair as they are in a line, without its rank. */
static inline uint32_t pair_upper(uint64_t key) { return (uint32_t)(key >> 10); }
static inline uint32_t pair_lower(uint64_t key) { return (uint32_t)key << RANK_BITS; }

WITH_VECTORS static inline __m512i pairs_upper(__m512i left, __m512i right)
{
    return _mm512_or_si512(_mm512_slli_epi32(left, 11), _mm512_srli_epi32(right, 10));
}

WITH_VECTORS static inline __m512i pairs_lower(__m512i right) { return _mm512_slli_epi32(right, RANK_BITS); }

/* The rank of a pair, from its line and those that it goes on in, or BPE_NONE: what differs between a pair and the same one in a line is
 * its rank. */
WITH_VECTORS static inline uint32_t rank_by_vectors(const bpe_vocabulary *v, const bpe_pair_line *line, uint32_t upper, uint32_t lower)
{
    const __mmask8 is_upper = _mm256_cmpeq_epi32_mask(_mm256_set1_epi32((int)upper), _mm256_loadu_si256((const void *)line->high));
    const __m256i differs = _mm256_xor_si256(_mm256_set1_epi32((int)lower), _mm256_loadu_si256((const void *)line->low));
    const __mmask8 same = _mm256_mask_cmple_epu32_mask(is_upper, differs, _mm256_set1_epi32((int)RANK_MASK));
    const __m256i rank = _mm256_mask_compress_epi32(_mm256_set1_epi32(-1), same, differs);
    if (UNLIKELY((same == 0) & (line->high[LINE_PAIRS - 1] != NO_PAIR))) {
        const uint32_t found = rank_from(v, line, (uint64_t)upper << 10 | lower >> RANK_BITS);
        return found == 0 ? BPE_NONE : found & RANK_MASK;
    }
    return (uint32_t)_mm256_cvtsi256_si32(rank);
}

/* The same with AVX2, of eight. */
WITH_AVX2 static inline __m256i hashes_of_avx2(__m256i left, __m256i right)
{
    return _mm256_add_epi32(_mm256_mullo_epi32(left, _mm256_set1_epi32((int)PAIR_LEFT)),
                            _mm256_mullo_epi32(right, _mm256_set1_epi32((int)PAIR_RIGHT)));
}

WITH_AVX2 static inline __m256i may_merge_avx2(const bpe_vocabulary *v, __m256i which, __m256i hashes)
{
    const __m256i bits = _mm256_and_si256(hashes, _mm256_set1_epi32((int)v->pair_mask)), one = _mm256_set1_epi32(1);
    const __m256i words = eight_of(v->pair_bits, _mm256_srli_epi32(bits, 5));
    const __m256i bit = _mm256_sllv_epi32(one, _mm256_and_si256(bits, _mm256_set1_epi32(31)));
    return _mm256_and_si256(which, _mm256_cmpeq_epi32(_mm256_and_si256(words, bit), bit));
}

WITH_AVX2 static inline __m256i lines_of_avx2(const bpe_vocabulary *v, __m256i hashes)
{
    const __m256i count = _mm256_set1_epi64x(v->pairs_count), evens = _mm256_mul_epu32(hashes, count);
    const __m256i odds = _mm256_mul_epu32(_mm256_srli_epi64(hashes, 32), count);
    return _mm256_blend_epi32(_mm256_srli_epi64(evens, 32), odds, 0xAA);
}

WITH_AVX2 static inline __m256i pairs_upper_avx2(__m256i left, __m256i right)
{
    return _mm256_or_si256(_mm256_slli_epi32(left, 11), _mm256_srli_epi32(right, 10));
}

WITH_AVX2 static inline __m256i pairs_lower_avx2(__m256i right) { return _mm256_slli_epi32(right, RANK_BITS); }

WITH_AVX2 static inline uint32_t rank_by_vectors_avx2(const bpe_vocabulary *v, const bpe_pair_line *line, uint32_t upper, uint32_t lower)
{
    const __m256i is_upper = _mm256_cmpeq_epi32(_mm256_set1_epi32((int)upper), _mm256_loadu_si256((const void *)line->high));
    const __m256i differs = _mm256_xor_si256(_mm256_set1_epi32((int)lower), _mm256_loadu_si256((const void *)line->low));
    const __m256i same = _mm256_and_si256(is_upper, _mm256_cmpeq_epi32(_mm256_srli_epi32(differs, RANK_BITS), _mm256_setzero_si256()));
    const unsigned which = (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(same));
    if (UNLIKELY((which == 0) & (line->high[LINE_PAIRS - 1] != NO_PAIR))) {
        const uint32_t found = rank_from(v, line, (uint64_t)upper << 10 | lower >> RANK_BITS);
        return found == 0 ? BPE_NONE : found & RANK_MASK;
    }
    return (line->low[_tzcnt_u32(which) % LINE_PAIRS] ^ lower) | (0 - (uint32_t)(which == 0));
}

#endif
#endif
