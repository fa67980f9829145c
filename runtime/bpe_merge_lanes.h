/* bpe_merge_lanes.h - merging pieces by turns, of up to PLACES - 2 symbols; included by bpe_merge_many.c once for each number of places.
 *
 * Where there are 64 places, these are all bytes of a piece; where there are 256, what is left when pairs of bytes that are certain have been
 * merged (bpe_certain.h).
 *
 * The least of 256 neighbours is looked for among the least of sixteen each, which are found again where something changed: but not before
 * the next step, when what was stored has reached the cache, where it can be read by vectors.
 */
#define JOINED(name, places) name##_##places
#define NAMED(name, places) JOINED(name, places)
#define lane NAMED(lane, PLACES)
#define order_of NAMED(order_of, PLACES)
#define put_first NAMED(put_first, PLACES)
#define ask NAMED(ask, PLACES)
#define begin NAMED(begin, PLACES)
#define least NAMED(least, PLACES)
#define step NAMED(step, PLACES)
#define finish NAMED(finish, PLACES)
#define merge_all NAMED(merge_all, PLACES)

/* Where there are many places, what is long by itself takes no registers from what goes on. */
#if PLACES > 64
#define APART NOT_INLINE static
#else
#define APART static inline
#endif

#define GROUPS (PLACES / GROUP)
#define CHANGES 5 /* neighbours that a step may change */

/* Before the first symbol and behind the last byte is NO_SYMBOL, so that the pairs at both ends need no case of their own. */
typedef struct {
    int32_t orders[PLACES];        /* of a symbol and the next; NO_ORDER where there is none */
    uint32_t symbols[PLACES];
#if PLACES > 64
    int32_t least_of_groups[GROUPS * LEAST];
    uint8_t changed[CHANGES];      /* groups */
#endif
    uint8_t next[PLACES], last[PLACES]; /* the places of the symbols behind and before each */
    uint64_t keys[2];              /* of the pairs before and behind the symbol that was made last */
    const bpe_pair_line *lines[2]; /* where they are looked for */
    uint32_t before, made;         /* the places of these pairs */
    uint32_t end;                  /* that behind the last symbol */
    bpe_job *job;
} lane;

static inline int32_t order_of(uint32_t found, uint32_t place)
{
    const int32_t order = ORDER + (int32_t)((found & RANK_MASK) * PLACES | place);
    return found == 0 ? NO_ORDER : order;
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

#if PLACES > 64

/* The first symbols of a piece, and what each makes with the next: their number, or BPE_NO_TOKEN. */
NOT_INLINE static size_t put_first(const bpe_vocabulary *v, lane *l, bpe_job *job)
{
    const size_t count = put_certain(v, job->bytes, &job->length, l->symbols + 1, PLACES - 2);
    const bpe_pair_line *lines[PLACES];
    size_t i;
    if (count == BPE_NO_TOKEN) return count;
    for (i = 1; i < count; i++) {
        lines[i] = line_of(v, pair_key(l->symbols[i], l->symbols[i + 1]));
        PREFETCH(lines[i]);
    }
    for (i = 1; i < count; i++) l->orders[i] = order_of(rank_from(v, lines[i], pair_key(l->symbols[i], l->symbols[i + 1])), (uint32_t)i);
    return count;
}

#else

static inline size_t put_first(const bpe_vocabulary *v, lane *l, const bpe_job *job)
{
    const uint8_t *p = job->bytes;
    const uint32_t length = job->length;
    uint32_t missing = 0, i;
    for (i = 0; i < length; i++) {
        const uint32_t rank = i + 1 < length ? v->byte_pairs[p[i] | (uint32_t)p[i + 1] << 8] : BPE_NONE;
        l->symbols[1 + i] = v->byte_tokens[p[i]];
        missing |= l->symbols[1 + i] == BPE_NONE;
        l->orders[1 + i] = order_of(rank >= v->rank_count ? 0 : rank | HAS_RANK, 1 + i);
    }
    return missing ? BPE_NO_TOKEN : length;
}

#endif

APART int begin(const bpe_vocabulary *v, lane *l, bpe_job *job, const uint32_t width)
{
    size_t length;
    uint32_t i;
    for (i = 0; i < width; i++) l->orders[i] = NO_ORDER; /* the last symbol has none, and no piece more than `width` */
    length = put_first(v, l, job);
    if (length == BPE_NO_TOKEN) return -1;
    l->symbols[0] = l->symbols[1 + length] = NO_SYMBOL;
    l->end = (uint32_t)length + 1;
    for (i = 0; i < width + 2 && i < PLACES; i++) {
        l->next[i] = (uint8_t)(i + 1);
        l->last[i] = (uint8_t)(i - (i > 0));
    }
#if PLACES > 64
    for (i = 0; i < GROUPS; i++) put_least(l->least_of_groups, l->orders, i);
    memset(l->changed, 0, sizeof l->changed);
#endif
    l->before = l->made = 0; /* what is asked for first is nothing */
    l->keys[0] = l->keys[1] = pair_key(NO_SYMBOL, NO_SYMBOL);
    l->lines[0] = l->lines[1] = v->pairs;
    l->job = job;
    return 0;
}

APART int32_t least(lane *l, const uint32_t width)
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
    place = (uint32_t)lowest % PLACES;
    taken = l->next[place];
    if ((lowest == NO_ORDER) | (rank >= v->rank_count)) return 0;
    if (UNLIKELY((taken <= place) | (taken >= l->end))) return 0; /* only in an image that was forged */
    next = l->next[taken];
    last = l->last[place];
    l->next[place] = (uint8_t)next;
    l->last[next] = (uint8_t)place;
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
    uint32_t count = 0, place;
    for (place = l->next[0]; place < l->end; place = l->next[place]) job->ids[count++] = l->symbols[place];
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
#undef order_of
#undef ask
#undef put_first
#undef begin
#undef least
#undef step
#undef finish
#undef merge_all
#undef APART
#undef GROUPS
#undef CHANGES
#undef PLACES
