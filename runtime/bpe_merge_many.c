/* bpe_merge_many.c - many short pieces in, the ids of each out, by merging several of them by turns.
 *
 * Merging one piece is a chain of look-ups, each of which waits for the one before: the lowest rank makes a token, the token makes
 * two new pairs, their ranks are in tables that are too large for the nearer caches. So a step of one piece only asks for what
 * the next step needs, and meanwhile the other pieces take theirs.
 *
 * Neighbours are kept as rank << PLACE_BITS | place, so the least of them is the leftmost of the lowest rank. A step has no branch but for
 * whether it is the last.
 */
#include "bpe_pairs.h"

#define TURNS 8
#define PLACE_BITS 5
#define MOST (1 << PLACE_BITS) /* symbols; of a piece of up to 16, only so many are looked at */

/* Symbols and orders have a place before the first, and behind the last as many as are moved down at once: there the symbols are NO_SYMBOL
 * and the orders none, so that the pairs at both ends need no case of their own. */
typedef struct {
    uint32_t symbols[1 + 2 * MOST + 2];
    int32_t orders[1 + 2 * MOST + 2]; /* of a symbol and the next */
    uint64_t keys[2];                  /* of the pairs before and behind the symbol that was made last */
    const bpe_pair_line *lines[2];     /* where they are looked for */
    uint32_t count, made;              /* symbols; the place of the one made last */
    bpe_job *job;
} lane;

/* No merge. Moving it down subtracts one, at most 31 times. */
#define NO_ORDER INT32_C(0x7FFFFFFF)
#define LEAST_NO_ORDER INT32_C(0x7FFFFFE0)

static inline int32_t order_of(uint32_t found, uint32_t place)
{
    const int32_t order = (int32_t)((found & RANK_MASK) << PLACE_BITS | place);
    return found == 0 ? NO_ORDER : order;
}

static inline void ask(const bpe_vocabulary *v, lane *l, uint32_t place)
{
    const uint32_t *symbols = l->symbols + 1 + place;
    l->keys[0] = pair_key(symbols[-1], symbols[0]);
    l->keys[1] = pair_key(symbols[0], symbols[1]);
    l->lines[0] = line_of(v, l->keys[0]);
    l->lines[1] = line_of(v, l->keys[1]);
    PREFETCH(l->lines[0]);
    PREFETCH(l->lines[1]);
}

static inline int begin(const bpe_vocabulary *v, lane *l, bpe_job *job, const int width)
{
    const uint8_t *p = job->bytes;
    const uint32_t length = job->length;
    uint32_t missing = 0, i;
    for (i = 0; i < 2 * (uint32_t)width + 3; i++) l->orders[i] = NO_ORDER;
    for (i = 0; i < 2 * (uint32_t)width + 3; i++) l->symbols[i] = NO_SYMBOL;
    for (i = 0; i < length; i++) {
        l->symbols[1 + i] = v->byte_tokens[p[i]];
        missing |= l->symbols[1 + i] == BPE_NONE;
    }
    for (i = 0; i + 1 < length; i++) {
        const uint32_t rank = v->byte_pairs[p[i] | (uint32_t)p[i + 1] << 8];
        l->orders[1 + i] = order_of(rank >= v->rank_count ? 0 : rank | HAS_RANK, i);
    }
    l->count = length;
    l->made = BPE_NONE;
    l->job = job;
    return missing ? -1 : 0;
}

/* Loops of a fixed length over what lies in any place: the compiler would call memmove. */
#if defined(__SSE2__)

static inline __m128i lesser(__m128i a, __m128i b)
{
    const __m128i greater = _mm_cmpgt_epi32(a, b);
    return _mm_or_si128(_mm_and_si128(greater, b), _mm_andnot_si128(greater, a));
}

static inline int32_t least_of(const int32_t *orders, const int width)
{
    __m128i least = _mm_loadu_si128((const void *)orders);
    int i;
    for (i = 4; i < width; i += 4) least = lesser(least, _mm_loadu_si128((const void *)(orders + i)));
    least = lesser(least, _mm_shuffle_epi32(least, 0x4E));
    return _mm_cvtsi128_si32(lesser(least, _mm_shuffle_epi32(least, 0xB1)));
}

/* Move numbers down by one place, and add to them. */
static inline void move(uint32_t *to, uint32_t added, const int width)
{
    const __m128i difference = _mm_set1_epi32((int)added);
    __m128i four[MOST / 4];
    int i;
    for (i = 0; i < width / 4; i++) four[i] = _mm_add_epi32(_mm_loadu_si128((const void *)(to + 1 + 4 * i)), difference);
    for (i = 0; i < width / 4; i++) _mm_storeu_si128((void *)(to + 4 * i), four[i]);
}

#else

static inline int32_t least_of(const int32_t *orders, const int width)
{
    int32_t least = NO_ORDER;
    int i;
    for (i = 0; i < width; i++) least = orders[i] < least ? orders[i] : least;
    return least;
}

static inline void move(uint32_t *to, uint32_t added, const int width)
{
    uint32_t moved[MOST];
    int i;
    for (i = 0; i < width; i++) moved[i] = to[1 + i] + added;
    for (i = 0; i < width; i++) to[i] = moved[i];
}

#endif

/* Take one step: 1, or 0 when nothing merges any more. The orders of the pairs that were asked for are none in memory until they are
 * known: what was just stored is slow to load again in another width. */
static inline int step(const bpe_vocabulary *v, lane *l, const int width)
{
    int32_t least = least_of(l->orders + 1, width);
    uint32_t place;
    if (l->made != BPE_NONE) {
        const int32_t before = order_of(rank_from(v, l->lines[0], l->keys[0]), l->made - 1);
        const int32_t behind = order_of(rank_from(v, l->lines[1], l->keys[1]), l->made);
        l->orders[l->made] = before;
        l->orders[l->made + 1] = behind;
        least = before < least ? before : least;
        least = behind < least ? behind : least;
    }
    if (least >= LEAST_NO_ORDER || (uint32_t)least >> PLACE_BITS >= v->rank_count) return 0;
    place = (uint32_t)least & (MOST - 1);
    move(l->symbols + 1 + place + 1, 0, width);
    move((uint32_t *)l->orders + 1 + place, UINT32_MAX, width);
    l->symbols[1 + place] = merged_token(v, (uint32_t)least >> PLACE_BITS);
    l->orders[place] = NO_ORDER;
    l->orders[place + 1] = NO_ORDER;
    l->count--;
    l->made = place;
    ask(v, l, place);
    return l->count > 1;
}

static inline int merge_all(const bpe_vocabulary *v, bpe_job *jobs, size_t count, const int width)
{
    lane lanes[TURNS];
    size_t active = 0, next = 0, i;
    for (;;) {
        while (active < TURNS && next < count) {
            if (begin(v, lanes + active++, jobs + next++, width) != 0) return -1;
        }
        if (active == 0) return 0;
        for (i = 0; i < active;) {
            lane *l = lanes + i;
            if (step(v, l, width)) {
                i++;
                continue;
            }
            memcpy(l->job->ids, l->symbols + 1, l->count * sizeof *l->symbols);
            l->job->count = l->count;
            if (next < count) {
                if (begin(v, l, jobs + next++, width) != 0) return -1;
            } else if (--active > i) {
                *l = lanes[active];
            }
        }
    }
}

int bpe_merge_many(const bpe_vocabulary *v, bpe_job *jobs, size_t count, size_t longest)
{
    return longest <= 16 ? merge_all(v, jobs, count, 16) : merge_all(v, jobs, count, MOST);
}
