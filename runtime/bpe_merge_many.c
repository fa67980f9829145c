/* bpe_merge_many.c - many short pieces in, the ids of each out, by merging several of them by turns.
 *
 * Merging one piece is a chain of look-ups, each of which waits for the one before: the lowest rank makes a token, the token makes
 * two new pairs, their ranks are in tables that are too large for the nearer caches. So a step of one piece only asks for what
 * the next step needs, and meanwhile the other pieces take theirs.
 *
 * Neighbours are kept as rank * PLACES + place, so the least of them is the leftmost of the lowest rank. Symbols stay at the places of
 * their first bytes, and are linked by these: nothing is moved when two become one. A step has no branch but for whether it is the last.
 */
#include "bpe_certain.h"

#define TURNS 8
#define GROUP 16 /* neighbours whose least is kept, where there are many places: */
#define LEAST 4  /* of every fourth of them */

/* Orders are numbers that are the same way round as floats, for which every x86-64 has a minimum: none is denormal. No merge is the largest. */
#define ORDER INT32_C(0x00800000)
#define NO_ORDER INT32_C(0x7F000000)

#if defined(__SSE2__)

static inline int32_t least_of(const int32_t *orders, const uint32_t width)
{
    __m128 least = _mm_loadu_ps((const void *)orders), second = _mm_loadu_ps((const void *)(orders + 4));
    __m128 third = _mm_loadu_ps((const void *)(orders + 8)), fourth = _mm_loadu_ps((const void *)(orders + 12));
    uint32_t i;
    for (i = 16; i < width; i += 16) {
        least = _mm_min_ps(least, _mm_loadu_ps((const void *)(orders + i)));
        second = _mm_min_ps(second, _mm_loadu_ps((const void *)(orders + i + 4)));
        third = _mm_min_ps(third, _mm_loadu_ps((const void *)(orders + i + 8)));
        fourth = _mm_min_ps(fourth, _mm_loadu_ps((const void *)(orders + i + 12)));
    }
    least = _mm_min_ps(_mm_min_ps(least, second), _mm_min_ps(third, fourth));
    least = _mm_min_ps(least, _mm_movehl_ps(least, least));
    least = _mm_min_ps(least, _mm_shuffle_ps(least, least, 1));
    return _mm_cvtsi128_si32(_mm_castps_si128(least));
}

/* The least of a group, in each column of four. */
static inline void put_least(int32_t *groups, const int32_t *orders, uint32_t group)
{
    const float *from = (const void *)(orders + group * GROUP);
    const __m128 first = _mm_min_ps(_mm_loadu_ps(from), _mm_loadu_ps(from + 4));
    _mm_storeu_ps((void *)(groups + group * LEAST), _mm_min_ps(first, _mm_min_ps(_mm_loadu_ps(from + 8), _mm_loadu_ps(from + 12))));
}

#else

static inline int32_t least_of(const int32_t *orders, const uint32_t width)
{
    int32_t least = NO_ORDER;
    uint32_t i;
    for (i = 0; i < width; i++) least = orders[i] < least ? orders[i] : least;
    return least;
}

static inline void put_least(int32_t *groups, const int32_t *orders, uint32_t group)
{
    uint32_t i;
    for (i = 0; i < LEAST; i++) groups[group * LEAST + i] = NO_ORDER;
    for (i = 0; i < GROUP; i++) {
        int32_t *known = groups + group * LEAST + i % LEAST;
        *known = orders[group * GROUP + i] < *known ? orders[group * GROUP + i] : *known;
    }
}

#endif

#define PLACES 64 /* the first and the last of which are those of no symbol */
#include "bpe_merge_lanes.h"

#define PLACES 256
#include "bpe_merge_lanes.h"

int bpe_merge_many(const bpe_vocabulary *v, bpe_job *jobs, size_t count, size_t longest)
{
    if (longest <= 16) return merge_all_64(v, jobs, count, 16);
    if (longest <= BPE_MEDIUM) return merge_all_64(v, jobs, count, BPE_MEDIUM);
    return longest <= BPE_WIDE ? merge_all_64(v, jobs, count, 64) : merge_all_256(v, jobs, count, 256);
}
