/* bpe_merge_lanes.h - merging pieces by turns, of up to PLACES - 2 bytes; included by bpe_merge_many.c once for each number of places.
 *
 * The least of 256 neighbours is looked for among the least of sixteen each, which are found again where something changed: but not before
 * the next step, when what was stored has reached the cache, where it can be read by vectors.
 */
#define JOINED(name, places) name##_##places
#define NAMED(name, places) JOINED(name, places)
#define lane NAMED(lane, PLACES)
#define take_behind NAMED(take_behind, PLACES)
#define order_of NAMED(order_of, PLACES)
#define ask NAMED(ask, PLACES)
#define begin NAMED(begin, PLACES)
#define least NAMED(least, PLACES)
#define step NAMED(step, PLACES)
#define finish NAMED(finish, PLACES)
#define merge_all NAMED(merge_all, PLACES)

#define GROUPS (PLACES / GROUP)
#define WORDS (PLACES / 64)
#define WORD(place) (WORDS > 1 ? (place) / 64 : 0)
#define CHANGES 5 /* neighbours that a step may change */

/* Before the first symbol and behind the last byte is NO_SYMBOL, so that the pairs at both ends need no case of their own. */
typedef struct {
    int32_t orders[PLACES];        /* of a symbol and the next; NO_ORDER where there is none */
    uint32_t symbols[PLACES];
#if PLACES > 64
    int32_t least_of_groups[GROUPS * LEAST];
    uint8_t changed[CHANGES];      /* groups */
#endif
    uint64_t places[WORDS];        /* bits: where symbols are, those at both ends included */
    uint64_t keys[2];              /* of the pairs before and behind the symbol that was made last */
    const bpe_pair_line *lines[2]; /* where they are looked for */
    uint32_t before, made;         /* the places of these pairs */
    bpe_job *job;
} lane;

static inline int32_t order_of(uint32_t found, uint32_t place)
{
    const int32_t order = ORDER + (int32_t)((found & RANK_MASK) * PLACES | place);
    return found == 0 ? NO_ORDER : order;
}

/* The symbol behind a place is no more: its place, that of the one behind it, and that of the one before. */
static inline void take_behind(lane *l, uint32_t place, uint32_t *taken, uint32_t *behind, uint32_t *before)
{
    uint32_t word = WORD(place);
    uint64_t rest = l->places[word] & ~UINT64_C(1) << place % 64, first = l->places[word] & ((UINT64_C(1) << place % 64) - 1);
    while (WORDS > 1 && rest == 0) rest = l->places[++word];
    *taken = 64 * word + lowest_place(rest);
    l->places[word] ^= rest & (0 - rest);
    rest &= rest - 1;
    while (WORDS > 1 && rest == 0) rest = l->places[++word];
    *behind = 64 * word + lowest_place(rest);
    word = WORD(place);
    while (WORDS > 1 && first == 0) first = l->places[--word];
    *before = 64 * word + highest_place(first);
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
    for (i = 0; i < width; i++) l->orders[i] = NO_ORDER; /* the last symbol has none, and no piece more than `width` */
    for (i = 0; i < length; i++) {
        const uint32_t rank = i + 1 < length ? v->byte_pairs[p[i] | (uint32_t)p[i + 1] << 8] : BPE_NONE;
        l->symbols[1 + i] = v->byte_tokens[p[i]];
        missing |= l->symbols[1 + i] == BPE_NONE;
        l->orders[1 + i] = order_of(rank >= v->rank_count ? 0 : rank | HAS_RANK, 1 + i);
    }
    l->symbols[0] = l->symbols[1 + length] = NO_SYMBOL;
#if PLACES == 64
    l->places[0] = (UINT64_C(4) << length) - 1;
#else
    for (i = 0; i < WORDS; i++) l->places[i] = i < (length + 2) / 64 ? UINT64_MAX : 0;
    if (length + 2 < PLACES) l->places[(length + 2) / 64] = (UINT64_C(1) << (length + 2) % 64) - 1;
    for (i = 0; i < GROUPS; i++) put_least(l->least_of_groups, l->orders, i);
    memset(l->changed, 0, sizeof l->changed);
#endif
    l->before = l->made = 0; /* what is asked for first is nothing */
    l->keys[0] = l->keys[1] = pair_key(NO_SYMBOL, NO_SYMBOL);
    l->lines[0] = l->lines[1] = v->pairs;
    l->job = job;
    return missing ? -1 : 0;
}

static inline int32_t least(lane *l, const uint32_t width)
{
#if PLACES > 64
    int i;
    for (i = 0; i < CHANGES; i++) put_least(l->least_of_groups, l->orders, l->changed[i]);
    return least_of(l->least_of_groups, width / GROUP * LEAST);
#else
    return least_of(l->orders, width);
#endif
}

/* Take one step: 1, or 0 when nothing merges any more. */
static inline int step(const bpe_vocabulary *v, lane *l, const uint32_t width)
{
    const int32_t others = least(l, width);
    const int32_t before = order_of(rank_from(v, l->lines[0], l->keys[0]), l->before);
    const int32_t behind = order_of(rank_from(v, l->lines[1], l->keys[1]), l->made);
    int32_t lowest = others < before ? others : before;
    uint32_t rank, place, taken, next, last;
    lowest = behind < lowest ? behind : lowest;
    rank = (uint32_t)(lowest - ORDER) / PLACES;
    if (lowest == NO_ORDER || rank >= v->rank_count) return 0;
    place = (uint32_t)lowest % PLACES;
    take_behind(l, place, &taken, &next, &last);
    l->orders[l->before] = before;
    l->orders[l->made] = behind;
    l->orders[taken] = l->orders[place] = l->orders[last] = NO_ORDER;
#if PLACES > 64
    l->changed[0] = (uint8_t)(l->before / GROUP);
    l->changed[1] = (uint8_t)(l->made / GROUP);
    l->changed[2] = (uint8_t)(taken / GROUP);
    l->changed[3] = (uint8_t)(place / GROUP);
    l->changed[4] = (uint8_t)(last / GROUP);
#endif
    l->symbols[place] = merged_token(v, rank);
    ask(v, l, last, place, next);
    return 1;
}

static inline void finish(const lane *l)
{
    bpe_job *job = l->job;
    const uint32_t end = job->length + 1;
    uint32_t count = 0, word;
    for (word = 0; word < WORDS; word++) {
        uint64_t rest = l->places[word] ^ (word == 0); /* without those at both ends */
        if (word == WORD(end)) rest ^= UINT64_C(1) << end % 64;
        for (; rest != 0; rest &= rest - 1) job->ids[count++] = l->symbols[64 * word + lowest_place(rest)];
    }
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

#undef JOINED
#undef NAMED
#undef lane
#undef take_behind
#undef order_of
#undef ask
#undef begin
#undef least
#undef step
#undef finish
#undef merge_all
#undef GROUPS
#undef WORDS
#undef WORD
#undef CHANGES
#undef PLACES
