/* bpe_merge_rounds.c - many short pieces in, the ids of each out: all pieces side by side, merged round after round. With AVX-512, and with AVX2.
 *
 *     ' ' 'B' 'o' 'l' 'k' 'o' 'n' 's' 'k' 'y'     the symbols of a piece, between those of others
 *     ' B' 'ol' 'k' 'on' 's' 'k' 'y'              after the first round, which merges all pairs of bytes that are certain
 *     ' B' 'ol' 'k' 'ons' 'k' 'y'                 after another, which merges the lowest rank of each piece
 *
 * Two bytes are certain to be merged if nothing takes away either of them before. Until they merge, nothing of a higher rank does, and
 * what has the same rank only if it lies further left. So it is enough that every merge of the left byte with what ends with the byte
 * before has a higher rank, and no merge of the right byte with what begins with the byte behind has a lower one: `byte_bounds` has the
 * lowest ranks of these. And to merge a certain pair first changes nothing if all merges of what it makes have higher ranks than its
 * own: then whatever comes before it by definition comes before what it makes, too, and does not touch it. `byte_bounds` has a bit for
 * that. The first round does about half of all merges so, by two look-ups for each byte, in tables of which a text uses few lines.
 *
 * In every round, of all pairs with a symbol that was made in the one before, those that may merge (bpe_pairs.h) are asked for before the
 * first of them is compared; and two sets of pieces take turns, so that lines have come when they are compared. Symbols move up where two
 * became one, and pieces in which nothing merges any more leave. So vectors are full, however long the pieces are.
 *
 * The number of the piece stands above each rank. It falls from piece to piece, so that the lowest of all that lies to the left of a pair
 * is lower than the pair only if it is of the same piece; with these bits inverted, the same holds to the right.
 *
 * The same is done by sixteen symbols at a time and by eight (bpe_rounds.h).
 *
 * Rejected: sixteen pieces, each in a column of vectors, and four such sixteens by turns (nine columns at work on average, and a step for
 * each merge: 20 to 40 % slower); three sets by turns; more pieces at a time.
 */
#include "bpe_pair_vectors.h"
#include "bpe_short.h"

#if defined(HAS_VECTORS)

#define TURNS 2
#define MOST_SYMBOLS 512 /* of a set: what is known of them stays in the nearest cache, and numbers of pieces have ten bits */
#define WORTH 4          /* pieces for which it is worth it */
#define MADE UINT32_C(0x80000000) /* a symbol that was made in this round */

static inline uint32_t piece_key(size_t number) { return (1022 - (uint32_t)number) << RANK_BITS; }

static inline size_t piece_number(uint32_t key) { return 1022 - (key >> RANK_BITS); }

/* --- eight at a time ----------------------------------------------------------------------------------------------------- */

#define BY(name) name##_avx2
#define WITH WITH_AVX2
#define LANES 8
#define VECTOR __m256i
#define MASK __m256i /* all bits of a lane, or none */
#define NOT(mask) (~(mask))
#define LOAD(from) _mm256_loadu_si256((const void *)(from))
#define STORE(to, v) _mm256_storeu_si256((void *)(to), v)
#define ALL(number) _mm256_set1_epi32((int)(number))
#define DOWN(v, by) _mm256_srli_epi32(v, by)
#define SUM(a, b) _mm256_add_epi32(a, b)
#define LOWEST(a, b) _mm256_min_epu32(a, b)
#define IS_SAME(a, b) _mm256_cmpeq_epi32(a, b)
#define IS_LOWER(a, b) NOT(_mm256_cmpeq_epi32(_mm256_max_epu32(a, b), a)) /* without a sign */
#define CHOSEN(mask, a, b) _mm256_blendv_epi8(b, a, mask) /* a where the mask says so, else b */
#define BITS_OF(mask) (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(mask))
#define EACH_LANE _mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0)
#define LANE_OF(v, i) _mm256_permutevar8x32_epi32(v, _mm256_set1_epi32(i))
/* A vector one lane up, and the last lane of the one before below it. */
#define WITH_LAST_OF(before, v) _mm256_alignr_epi8(v, _mm256_permute2x128_si256(before, v, 0x21), 12)

/* The lowest of all lanes up to each, and of all from each on. */
WITH_AVX2 static inline __m256i lowest_before_avx2(__m256i x)
{
    const __m256i none = _mm256_set1_epi32(-1);
    x = _mm256_min_epu32(x, _mm256_alignr_epi8(x, _mm256_permute2x128_si256(none, x, 0x21), 12));
    x = _mm256_min_epu32(x, _mm256_alignr_epi8(x, _mm256_permute2x128_si256(none, x, 0x21), 8));
    return _mm256_min_epu32(x, _mm256_permute2x128_si256(none, x, 0x21));
}

WITH_AVX2 static inline __m256i lowest_behind_avx2(__m256i x)
{
    const __m256i none = _mm256_set1_epi32(-1);
    x = _mm256_min_epu32(x, _mm256_alignr_epi8(_mm256_permute2x128_si256(x, none, 0x21), x, 4));
    x = _mm256_min_epu32(x, _mm256_alignr_epi8(_mm256_permute2x128_si256(x, none, 0x21), x, 8));
    return _mm256_min_epu32(x, _mm256_permute2x128_si256(x, none, 0x21));
}

/* Store those lanes that bits say, one behind the other: how many. As many as a vector has may be written. */
WITH_AVX2 static inline size_t append_avx2(uint32_t *to, unsigned which, __m256i from)
{
    const size_t few = store_some(to, _mm256_castsi256_si128(from), which & 15);
    return few + store_some(to + few, _mm256_extracti128_si256(from, 1), which >> 4);
}

/* The numbers of a table, where a mask says so; elsewhere anything. */
WITH_AVX2 static inline __m256i numbers_of_avx2(const uint32_t *table, __m256i which, __m256i places)
{
    return eight_of(table, _mm256_and_si256(which, places));
}

/* Copy up to BPE_MEDIUM bytes. */
WITH_AVX2 static inline void copy_bytes_avx2(uint8_t *to, const uint8_t *from, size_t count) { memcpy(to, from, count); }

WITH_AVX2 static inline void copy_numbers_avx2(uint32_t *to, const uint32_t *from, size_t count) { memcpy(to, from, count * sizeof *to); }

#include "bpe_rounds.h"

#undef BY
#undef WITH
#undef LANES
#undef VECTOR
#undef MASK
#undef NOT
#undef LOAD
#undef STORE
#undef ALL
#undef DOWN
#undef SUM
#undef LOWEST
#undef IS_SAME
#undef IS_LOWER
#undef CHOSEN
#undef BITS_OF
#undef EACH_LANE
#undef LANE_OF
#undef WITH_LAST_OF

/* --- sixteen at a time --------------------------------------------------------------------------------------------------- */

#define BY(name) name
#define WITH WITH_VECTORS
#define LANES 16
#define VECTOR __m512i
#define MASK __mmask16
#define NOT(mask) ((__mmask16)~(mask)) /* which has more bits before it is cast */
#define LOAD(from) _mm512_loadu_si512(from)
#define STORE(to, v) _mm512_storeu_si512(to, v)
#define ALL(number) _mm512_set1_epi32((int)(number))
#define DOWN(v, by) _mm512_srli_epi32(v, by)
#define SUM(a, b) _mm512_add_epi32(a, b)
#define LOWEST(a, b) _mm512_min_epu32(a, b)
#define IS_SAME(a, b) _mm512_cmpeq_epi32_mask(a, b)
#define IS_LOWER(a, b) _mm512_cmplt_epu32_mask(a, b)
#define CHOSEN(mask, a, b) _mm512_mask_mov_epi32(b, mask, a)
#define BITS_OF(mask) _cvtmask16_u32((__mmask16)(mask)) /* gcc 12 may leave what was there before above the sixteen bits, if it is cast */
#define EACH_LANE _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define LANE_OF(v, i) _mm512_permutexvar_epi32(_mm512_set1_epi32(i), v)
#define WITH_LAST_OF(before, v) _mm512_alignr_epi32(v, before, 15)

WITH_VECTORS static inline __m512i lowest_before(__m512i x)
{
    const __m512i none = _mm512_set1_epi32(-1);
    x = _mm512_min_epu32(x, _mm512_alignr_epi32(x, none, 15));
    x = _mm512_min_epu32(x, _mm512_alignr_epi32(x, none, 14));
    x = _mm512_min_epu32(x, _mm512_alignr_epi32(x, none, 12));
    return _mm512_min_epu32(x, _mm512_alignr_epi32(x, none, 8));
}

WITH_VECTORS static inline __m512i lowest_behind(__m512i x)
{
    const __m512i none = _mm512_set1_epi32(-1);
    x = _mm512_min_epu32(x, _mm512_alignr_epi32(none, x, 1));
    x = _mm512_min_epu32(x, _mm512_alignr_epi32(none, x, 2));
    x = _mm512_min_epu32(x, _mm512_alignr_epi32(none, x, 4));
    return _mm512_min_epu32(x, _mm512_alignr_epi32(none, x, 8));
}

WITH_VECTORS static inline size_t append(uint32_t *to, unsigned which, __m512i from)
{
    _mm512_storeu_si512(to, _mm512_maskz_compress_epi32((__mmask16)which, from));
    return (size_t)_mm_popcnt_u32(which);
}

WITH_VECTORS static inline __m512i numbers_of(const uint32_t *table, __mmask16 which, __m512i places)
{
    return _mm512_mask_i32gather_epi32(places, which, places, table, 4);
}

WITH_VECTORS static inline void copy_bytes(uint8_t *to, const uint8_t *from, size_t count)
{
    _mm256_storeu_si256((void *)to, _mm256_maskz_loadu_epi8(_bzhi_u32(UINT32_MAX, (unsigned)count), from));
}

WITH_VECTORS static inline void copy_numbers(uint32_t *to, const uint32_t *from, size_t count)
{
    const __mmask16 few = (__mmask16)_bzhi_u32(0xFFFF, (unsigned)(count < LANES ? count : LANES));
    _mm512_mask_storeu_epi32(to, few, _mm512_loadu_si512(from));
    if (UNLIKELY(count > LANES)) memcpy(to + LANES, from + LANES, (count - LANES) * sizeof *to);
}

#include "bpe_rounds.h"

size_t bpe_merge_rounds(const bpe_vocabulary *v, bpe_job *jobs, size_t count, bpe_vectors vectors)
{
    if (vectors == BPE_PLAIN) return 0;
    return (vectors == BPE_AVX512 ? merge_rounds : merge_rounds_avx2)(v, jobs, count);
}

#else

size_t bpe_merge_rounds(const bpe_vocabulary *v, bpe_job *jobs, size_t count, bpe_vectors vectors)
{
    (void)v;
    (void)jobs;
    (void)count;
    (void)vectors;
    return 0;
}

#endif
