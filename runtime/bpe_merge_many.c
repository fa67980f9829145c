/* bpe_merge_many.c - many short pieces in, the ids of each out, by merging several of them by turns.
 *
 * Merging one piece is a chain of look-ups, each of which waits for the one before: the lowest rank makes a token, the token makes
 * two new pairs, their ranks are in tables that are too large for the nearer caches. So a step of one piece only asks for what
 * the next step needs, and meanwhile the other pieces take theirs.
 *
 * Neighbours are kept as rank << 4 | place, so the least of them is the leftmost of the lowest rank.
 */
#include "bpe_hash.h"

#define TURNS 8
#define WIDTH 16

/* The symbols of a piece, and behind them anything; the order of each pair of neighbours, and behind them none. Room for WIDTH more
 * of each, so that as many may be moved down from any place. */
typedef struct {
    uint32_t symbols[2 * WIDTH + 1];
    int32_t orders[2 * WIDTH + 1];
    uint64_t keys[2], hashes[2]; /* of the pairs before and behind the symbol that was made last */
    uint32_t count, made;        /* symbols; the place of the one made last */
    bpe_job *job;
} lane;

/* No merge. Moving it down subtracts one, at most 15 times. */
#define NO_ORDER INT32_C(0x7FFFFFFF)
#define LEAST_NO_ORDER INT32_C(0x7FFFFFF0)

static inline int32_t order_of(uint32_t rank, size_t place) { return rank >= BPE_RANKS ? NO_ORDER : (int32_t)(rank << 4 | (uint32_t)place); }

static int begin(const bpe_vocabulary *v, lane *l, bpe_job *job)
{
    const uint8_t *p = job->bytes;
    const size_t length = job->length;
    uint32_t missing = 0;
    size_t i;
    for (i = 0; i < length; i++) {
        l->symbols[i] = v->byte_tokens[p[i]];
        missing |= l->symbols[i] == BPE_NONE;
    }
    for (i = 0; i + 1 < length; i++) l->orders[i] = order_of(v->byte_pairs[p[i] | (uint32_t)p[i + 1] << 8], i);
    for (i = length - 1; i <= 2 * WIDTH; i++) l->orders[i] = NO_ORDER;
    l->count = (uint32_t)length;
    l->made = BPE_NONE;
    l->job = job;
    return missing ? -1 : 0;
}

static inline void ask(const bpe_vocabulary *v, lane *l, int which, uint32_t place)
{
    l->keys[which] = pair_key(l->symbols[place], l->symbols[place + 1]);
    l->hashes[which] = hash_pair(l->keys[which]);
    PREFETCH(v->pair_filter + (l->hashes[which] >> (64 - FILTER_BITS) >> 6));
    PREFETCH(v->pairs + ((uint32_t)l->hashes[which] & v->pairs_mask));
}

/* Take the symbol behind `place` away: all from there on move down. Of fixed length, for vectors. */
static inline void move_down(lane *l, uint32_t place)
{
    int32_t moved[WIDTH];
    int i;
    memmove(l->symbols + place + 1, l->symbols + place + 2, WIDTH * sizeof *l->symbols);
    for (i = 0; i < WIDTH; i++) moved[i] = l->orders[place + 1 + (uint32_t)i] - 1;
    memcpy(l->orders + place, moved, sizeof moved);
}

#if defined(__SSE2__)
#include <emmintrin.h>

static inline __m128i lesser(__m128i a, __m128i b)
{
    const __m128i greater = _mm_cmpgt_epi32(a, b);
    return _mm_or_si128(_mm_and_si128(greater, b), _mm_andnot_si128(greater, a));
}

static inline int32_t least_of(const int32_t orders[WIDTH])
{
    const __m128i *four = (const void *)orders;
    __m128i least = lesser(lesser(_mm_loadu_si128(four), _mm_loadu_si128(four + 1)), lesser(_mm_loadu_si128(four + 2), _mm_loadu_si128(four + 3)));
    least = lesser(least, _mm_shuffle_epi32(least, 0x4E));
    return _mm_cvtsi128_si32(lesser(least, _mm_shuffle_epi32(least, 0xB1)));
}

#else

static inline int32_t least_of(const int32_t orders[WIDTH])
{
    int32_t least = NO_ORDER;
    int i;
    for (i = 0; i < WIDTH; i++) least = orders[i] < least ? orders[i] : least;
    return least;
}

#endif

/* Take one step: 1, or 0 when nothing merges any more. */
static int step(const bpe_vocabulary *v, lane *l)
{
    int32_t least;
    uint32_t place;
    if (l->made != BPE_NONE) {
        if (l->made > 0) l->orders[l->made - 1] = order_of(find_hashed(v, l->keys[0], l->hashes[0]), l->made - 1);
        if (l->made + 1 < l->count) l->orders[l->made] = order_of(find_hashed(v, l->keys[1], l->hashes[1]), l->made);
    }
    least = least_of(l->orders);
    if (least >= LEAST_NO_ORDER || (uint32_t)least >> 4 >= v->rank_count) return 0;
    place = (uint32_t)least & 15;
    move_down(l, place);
    l->symbols[place] = merged_token(v, (uint32_t)least >> 4);
    l->count--;
    l->made = place;
    if (place > 0) ask(v, l, 0, place - 1);
    if (place + 1 < l->count) ask(v, l, 1, place);
    return l->count > 1;
}

int bpe_merge_many(const bpe_vocabulary *v, bpe_job *jobs, size_t count)
{
    lane lanes[TURNS];
    size_t active = 0, next = 0, i;
    for (;;) {
        while (active < TURNS && next < count) {
            if (begin(v, lanes + active++, jobs + next++) != 0) return -1;
        }
        if (active == 0) return 0;
        for (i = 0; i < active;) {
            lane *l = lanes + i;
            if (step(v, l)) {
                i++;
                continue;
            }
            memcpy(l->job->ids, l->symbols, l->count * sizeof *l->symbols);
            l->job->count = l->count;
            if (next < count) {
                if (begin(v, l, jobs + next++) != 0) return -1;
            } else if (--active > i) {
                *l = lanes[active];
            }
        }
    }
}
