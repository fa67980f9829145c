/* bpe_pair_vectors.h - what bpe_pairs.h does, of sixteen pairs at a time, or of one by fewer instructions. With AVX-512. */
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

#endif
#endif
