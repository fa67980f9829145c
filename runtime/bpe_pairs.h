/* bpe_pairs.h - two tokens in, the rank of their merge out: the one look-up that merging consists of.
 *
 * Pairs lie in lines of 64 bytes, eight in each, as 42 bits of ids and 22 of rank; the hash says which line, and all of it is
 * compared at once, without a branch: half of all pairs do not merge, so a branch on whether this one does would be guessed wrong
 * every other time. A line that is full goes on in the next one.
 *
 * Before lines are asked for, pairs may be looked up in a table of bits that stays in the second cache, by the lower bits of the same hash,
 * sixteen or eight at a time: most of those that do not merge need no line (bpe_merge_rounds.c).
 *
 * Rejected: open addressing pair by pair, with a filter of bits before it (two places in memory to wait for, and two branches).
 */
#ifndef BPE_PAIRS_H
#define BPE_PAIRS_H

#include "bpe_hash.h"

#define LINE_PAIRS 8
#define RANK_BITS 22
#define RANK_MASK ((UINT32_C(1) << RANK_BITS) - 1)
#define HAS_RANK (UINT32_C(1) << RANK_BITS)
#define NO_PAIR UINT32_C(0xFFFFFFFF)

/* An id that no token has; no pair with it merges. */
#define NO_SYMBOL (BPE_TOKENS - 1)

/* Of two bytes in byte_bounds: the lowest rank of the merges of what ends with the first and the second by itself, in the lower bits; that of the
 * first by itself and what begins with the second, in the upper ones; of each BOUND_MOST, if it is higher. In between, whether all merges of
 * what the two make have higher ranks than theirs. */
#ifndef BOUND_MOST /* tests have less */
#define BOUND_MOST 0x7FFF
#endif
#define BOUND_BEFORE 0x7FFF
#define BOUND_EARLY 0x8000
#define BOUND_BEHIND_SHIFT 16

struct bpe_pair_line {
    uint32_t high[LINE_PAIRS]; /* the upper 32 of the 42 bits; NO_PAIR behind the last */
    uint32_t low[LINE_PAIRS];  /* the other ten, and the rank */
};

static inline uint64_t pair_key(uint32_t left, uint32_t right) { return (uint64_t)left << 21 | right; }

#define PAIR_LEFT UINT32_C(0x9E3779B1)
#define PAIR_RIGHT UINT32_C(0x85EBCA77)

/* As good in the lower bits as in the upper ones: ids are numbers without order. */
static inline uint32_t pair_hash(uint64_t key)
{
    return (uint32_t)(key >> 21) * PAIR_LEFT + ((uint32_t)key & (BPE_TOKENS - 1)) * PAIR_RIGHT;
}

/* The number of the line where a pair is: its hash, as a fraction of all lines. */
static inline uint32_t line_number(const bpe_vocabulary *v, uint64_t key)
{
    return (uint32_t)((uint64_t)pair_hash(key) * v->pairs_count >> 32);
}

static inline const bpe_pair_line *line_of(const bpe_vocabulary *v, uint64_t key) { return v->pairs + line_number(v, key); }

static inline const bpe_pair_line *next_line(const bpe_vocabulary *v, const bpe_pair_line *line)
{
    return line + 1 < v->pairs + v->pairs_count ? line + 1 : v->pairs;
}

/* HAS_RANK and the rank of the pair, if it is in the line; or 0. */
#if defined(__SSE2__)
#include <emmintrin.h>

static inline uint32_t rank_in(const bpe_pair_line *line, uint64_t key)
{
    const __m128i *high = (const void *)line->high, *low = (const void *)line->low;
    const __m128i upper = _mm_set1_epi32((int)(uint32_t)(key >> 10)), lower = _mm_set1_epi32((int)((uint32_t)key << RANK_BITS));
    const __m128i ranks = _mm_set1_epi32((int)RANK_MASK), flag = _mm_set1_epi32((int)HAS_RANK);
    const __m128i low0 = _mm_loadu_si128(low), low1 = _mm_loadu_si128(low + 1);
    const __m128i is0 = _mm_and_si128(_mm_cmpeq_epi32(_mm_loadu_si128(high), upper), _mm_cmpeq_epi32(_mm_andnot_si128(ranks, low0), lower));
    const __m128i is1 = _mm_and_si128(_mm_cmpeq_epi32(_mm_loadu_si128(high + 1), upper), _mm_cmpeq_epi32(_mm_andnot_si128(ranks, low1), lower));
    __m128i found = _mm_or_si128(_mm_and_si128(is0, _mm_or_si128(_mm_and_si128(low0, ranks), flag)),
                                 _mm_and_si128(is1, _mm_or_si128(_mm_and_si128(low1, ranks), flag)));
    found = _mm_or_si128(found, _mm_shuffle_epi32(found, 0x4E));
    found = _mm_or_si128(found, _mm_shuffle_epi32(found, 0xB1));
    return (uint32_t)_mm_cvtsi128_si32(found);
}

#else

static inline uint32_t rank_in(const bpe_pair_line *line, uint64_t key)
{
    const uint32_t upper = (uint32_t)(key >> 10), lower = (uint32_t)key << RANK_BITS;
    uint32_t found = 0, i;
    for (i = 0; i < LINE_PAIRS; i++) {
        const uint32_t same = line->high[i] == upper && (line->low[i] & ~RANK_MASK) == lower;
        found |= ((line->low[i] & RANK_MASK) | HAS_RANK) & (0 - same);
    }
    return found;
}

#endif

/* The same, from its line and those that it goes on in. */
static inline uint32_t rank_from(const bpe_vocabulary *v, const bpe_pair_line *line, uint64_t key)
{
    uint32_t found = rank_in(line, key), tries;
    /* Not &&: half of all pairs are not found, which would be guessed wrong; that a line is full is rare. */
    for (tries = 0; UNLIKELY((found == 0) & (line->high[LINE_PAIRS - 1] != NO_PAIR)) && tries < v->pairs_reach; tries++) {
        line = next_line(v, line);
        found = rank_in(line, key);
    }
    return found;
}

/* The rank of the merge of two tokens, or BPE_NONE. */
static inline uint32_t find_merge(const bpe_vocabulary *v, uint32_t left, uint32_t right)
{
    const uint64_t key = pair_key(left, right);
    const uint32_t found = rank_from(v, line_of(v, key), key);
    return found == 0 ? BPE_NONE : found & RANK_MASK;
}

/* What a merge makes. */
static inline uint32_t merged_token(const bpe_vocabulary *v, uint32_t rank) { return v->ranks_are_ids ? rank : v->rank_tokens[rank]; }

#endif
