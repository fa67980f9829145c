/* bpe_merge_many.c - many short pieces in, the ids of each out, by merging several of them by turns.
 *
 * Merging one piece is a chain of look-ups, each of which waits for the one before: the lowest rank makes a token, the token makes
 * two new pairs, their ranks are in tables that are too large for the nearer caches. So a step of one piece only asks for what
 * the next step needs, and meanwhile the other pieces take theirs.
 *
 * Neighbours are kept as rank << PLACE_BITS | place, so the least of them is the leftmost of the lowest rank. Symbols stay at the places of
 * their first bytes, and bits say where there is one: nothing is moved when two become one, and neighbours are the next bits. A step has no
 * branch but for whether it is the last.
 */
#include "bpe_pairs.h"

#define TURNS 8
#define PLACE_BITS 6
#define MOST 64 /* places, the first and the last of which are those of no symbol */

/* Before the first symbol and behind the last byte is NO_SYMBOL, so that the pairs at both ends need no case of their own. */
typedef struct {
    int32_t orders[1 + MOST + 4]; /* of a symbol and the next; NO_ORDER where there is none */
    uint32_t symbols[1 + MOST + 1];
    uint64_t places;               /* bits: where symbols are, those at both ends included */
    uint64_t keys[2];              /* of the pairs before and behind the symbol that was made last */
    const bpe_pair_line *lines[2]; /* where they are looked for */
    uint32_t before, made;         /* the places of these pairs */
    bpe_job *job;
} lane;

/* Orders are numbers that are the same way round as floats, for which every x86-64 has a minimum: none is denormal. No merge is the largest. */
#define ORDER INT32_C(0x10000000)
#define NO_ORDER INT32_C(0x7F000000)

static inline int32_t order_of(uint32_t found, uint32_t place)
{
    const int32_t order = (int32_t)(ORDER | (found & RANK_MASK) << PLACE_BITS | place);
    return found == 0 ? NO_ORDER : order;
}

static inline uint32_t lowest_place(uint64_t places)
{
#if defined(__GNUC__)
    return (uint32_t)__builtin_ctzll(places);
#else
    uint32_t place = 0;
    while ((places >> place & 1) == 0) place++;
    return place;
#endif
}

static inline uint32_t highest_place(uint64_t places)
{
#if defined(__GNUC__)
    return 63 - (uint32_t)__builtin_clzll(places);
#else
    uint32_t place = 63;
    while ((places >> place & 1) == 0) place--;
    return place;
#endif
}

/* Ask for the ranks of the symbol made at `place` with those before it and behind it. */
static inline void ask(const bpe_vocabulary *v, lane *l, uint32_t before, uint32_t place, uint32_t behind)
{
    l->before = before;
    l->made = place;
    l->keys[0] = pair_key(l->symbols[before], l->symbols[place]);
    l->keys[1] = pair_key(l->symbols[place], l->symbols[behind]);
    l->lines[0] = line_of(v, l->keys[0]);
    l->lines[1] = line_of(v, l->keys[1]);
    PREFETCH(l->lines[0]);
    PREFETCH(l->lines[1]);
}

static inline int begin(const bpe_vocabulary *v, lane *l, bpe_job *job, const uint32_t width)
{
    const uint8_t *p = job->bytes;
    const uint32_t length = job->length;
    uint32_t missing = 0, i;
    for (i = 0; i < 1 + width + 4; i++) l->orders[i] = NO_ORDER;
    for (i = 0; i < length; i++) {
        const uint32_t rank = i + 1 < length ? v->byte_pairs[p[i] | (uint32_t)p[i + 1] << 8] : BPE_NONE;
        l->symbols[1 + i] = v->byte_tokens[p[i]];
        missing |= l->symbols[1 + i] == BPE_NONE;
        l->orders[1 + i] = order_of(rank >= v->rank_count ? 0 : rank | HAS_RANK, 1 + i);
    }
    l->symbols[0] = l->symbols[1 + length] = NO_SYMBOL;
    l->places = (UINT64_C(4) << length) - 1;
    l->before = l->made = 1 + width; /* what is asked for first is nothing */
    l->keys[0] = l->keys[1] = pair_key(NO_SYMBOL, NO_SYMBOL);
    l->lines[0] = l->lines[1] = v->pairs;
    l->job = job;
    return missing ? -1 : 0;
}

#if defined(__SSE2__)

static inline int32_t least_of(const int32_t *orders, const uint32_t width)
{
    __m128 least = _mm_loadu_ps((const void *)orders);
    uint32_t i;
    for (i = 4; i < width; i += 4) least = _mm_min_ps(least, _mm_loadu_ps((const void *)(orders + i)));
    least = _mm_min_ps(least, _mm_movehl_ps(least, least));
    least = _mm_min_ps(least, _mm_shuffle_ps(least, least, 1));
    return _mm_cvtsi128_si32(_mm_castps_si128(least));
}

#else

static inline int32_t least_of(const int32_t *orders, const uint32_t width)
{
    int32_t least = NO_ORDER;
    uint32_t i;
    for (i = 0; i < width; i++) least = orders[i] < least ? orders[i] : least;
    return least;
}

#endif

/* Take one step: 1, or 0 when nothing merges any more. */
static inline int step(const bpe_vocabulary *v, lane *l, const uint32_t width)
{
    const int32_t others = least_of(l->orders + 1, width);
    const int32_t before = order_of(rank_from(v, l->lines[0], l->keys[0]), l->before);
    const int32_t behind = order_of(rank_from(v, l->lines[1], l->keys[1]), l->made);
    int32_t least = others < before ? others : before;
    uint32_t rank, place, taken, last;
    uint64_t rest;
    least = behind < least ? behind : least;
    rank = (uint32_t)(least ^ ORDER) >> PLACE_BITS;
    if (least == NO_ORDER || rank >= v->rank_count) return 0;
    place = (uint32_t)least & ((1u << PLACE_BITS) - 1);
    rest = l->places & ~UINT64_C(1) << place;
    taken = lowest_place(rest);
    rest &= rest - 1;
    last = highest_place(l->places & ((UINT64_C(1) << place) - 1));
    l->places ^= UINT64_C(1) << taken;
    l->orders[l->before] = before;
    l->orders[l->made] = behind;
    l->orders[taken] = l->orders[place] = l->orders[last] = NO_ORDER;
    l->symbols[place] = merged_token(v, rank);
    ask(v, l, last, place, lowest_place(rest));
    return 1;
}

static inline void finish(const lane *l)
{
    bpe_job *job = l->job;
    uint64_t rest = l->places & ((UINT64_C(2) << job->length) - 2);
    uint32_t count = 0;
    for (; rest != 0; rest &= rest - 1) job->ids[count++] = l->symbols[lowest_place(rest)];
    job->count = count;
}

static inline int merge_all(const bpe_vocabulary *v, bpe_job *jobs, size_t count, const uint32_t width)
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
            finish(l);
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
    if (longest <= 16) return merge_all(v, jobs, count, 16);
    return longest <= BPE_MEDIUM ? merge_all(v, jobs, count, BPE_MEDIUM) : merge_all(v, jobs, count, MOST);
}
