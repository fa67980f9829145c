/* train_rounds.c - all cells in, the pairs out that are frequent enough to be merged in this round, with their places.
 *
 *     1,000,000 "e "      the most frequent pair that is left
 *           977 "zz"      kept: a thousandth of it, and more
 *           900 "qu"      not kept: of these there are most, and its turn is in a later round, if ever
 *
 * Where there are many cells, pairs are counted roughly first, by hash alone; what is too rare even with all that has its hash need not be
 * counted exactly. Rough counts are never too low, so no pair is missed.
 */
#include "train_merge.h"

typedef struct {
    uint64_t key, count; /* left and right id, and one; 0: free */
    uint32_t used, number;
} counted;

/* Leave out the pieces that have become one token. */
static void drop_merged(train_merger *t)
{
    size_t to = 0, seen = 0, kept = 0; /* cells; long pieces */
    for (size_t from = 0, end; from < t->cell_count; from = end) {
        const size_t start = from + HEADER;
        const int is_long = seen < t->long_count && t->longs[seen].place == start;
        for (end = start; id_at(t, end) != END;) end += t->lengths[id_at(t, end)];
        seen += (size_t)is_long;
        if (start + t->lengths[id_at(t, start)] == end) continue;
        if (is_long) {
            t->longs[kept].place = (uint32_t)to + HEADER;
            t->longs[kept++].count = t->longs[seen - 1].count;
        }
        memmove(t->cells + to, t->cells + from, (end - from) * sizeof *t->cells);
        to += end - from;
    }
    t->cells[to] = END;
    t->cell_count = to;
    t->long_count = kept;
}

/* Counting all pairs: roughly, each with whatever else has its hash; then those that may be frequent enough; then their places. */
typedef enum { ROUGHLY, EXACTLY, PLACES } pass;

typedef struct {
    uint32_t *sketch; /* counts by hash, of 32 bits, that stay at the most there is */
    int shift;
    counted *table;
    size_t mask, used;
} census;

static inline uint64_t pair_hash(uint64_t key) { return fold(key ^ UINT64_C(0x9E3779B97F4A7C15), UINT64_C(0xD6E8FEB86659FD93)); }

static counted *entry_of(const census *c, uint64_t key, uint64_t hash)
{
    size_t at = (size_t)hash & c->mask;
    while (c->table[at].key != 0 && c->table[at].key != key) at = (at + 1) & c->mask;
    return c->table + at;
}

static int grow_table(census *c)
{
    counted *before = c->table;
    const size_t size = c->mask + 1;
    c->table = calloc(2 * size, sizeof *c->table);
    if (c->table == NULL) {
        c->table = before;
        return -1;
    }
    c->mask = 2 * size - 1;
    for (size_t i = 0; i < size; i++) {
        if (before[i].key != 0) *entry_of(c, before[i].key, pair_hash(before[i].key - 1)) = before[i];
    }
    free(before);
    return 0;
}

static inline int meet_pair(train_merger *t, census *c, pass what, uint32_t left, uint32_t right, size_t place, uint64_t count)
{
    const uint64_t key = pair_key(left, right), hash = pair_hash(key);
    counted *e;
    if (c->sketch != NULL) {
        uint32_t *rough = c->sketch + (hash >> c->shift);
        if (what == ROUGHLY) {
            *rough = count > UINT32_MAX - *rough ? UINT32_MAX : *rough + (uint32_t)count;
            return 0;
        }
        if (*rough < t->bar && *rough < UINT32_MAX) return 0;
    }
    e = entry_of(c, key + 1, hash);
    if (what == PLACES) {
        if (e->count >= t->bar) t->pairs[e->number].places[t->pairs[e->number].used++] = (uint32_t)place;
        return 0;
    }
    e->count += count;
    e->used++;
    if (e->key != 0) return 0;
    e->key = key + 1;
    return ++c->used * 2 > c->mask ? grow_table(c) : 0;
}

static inline int look_through(train_merger *t, census *c, pass what)
{
    for (size_t place = HEADER; place <= t->cell_count; place += HEADER) {
        const uint64_t count = count_at(t, (uint32_t)place);
        uint32_t left = id_at(t, place), right;
        for (; left != END; left = right) {
            const size_t here = place;
            place += t->lengths[left];
            right = id_at(t, place);
            if (right == END || !may_merge(t, left, right)) continue;
            if (meet_pair(t, c, what, left, right, here, count) < 0) return -1;
        }
    }
    return 0;
}

/* Make pairs of what occurs often enough. */
static int keep_frequent(train_merger *t, census *c)
{
    for (size_t i = 0; i <= c->mask; i++) {
        counted *e = c->table + i;
        pair made = {(uint32_t)((e->key - 1) >> ID_BITS), (uint32_t)(e->key - 1) & ID_MASK, NULL, 0, t->step};
        if (e->key == 0 || e->count < t->bar) continue;
        if (reserve(&t->pairs, &t->pair_room, t->pair_count, sizeof *t->pairs) < 0) return -1;
        if ((made.places = train_room_for_places(t, e->used)) == NULL) return -1;
        e->number = (uint32_t)t->pair_count;
        t->pairs[t->pair_count++] = made;
    }
    if (t->pair_count == 0) return 0;
    look_through(t, c, PLACES);
    for (size_t i = 0; i <= c->mask; i++) {
        const counted *e = c->table + i;
        if (e->key != 0 && e->count >= t->bar && train_push_pair(t, e->number, e->count) < 0) return -1;
    }
    return 0;
}

/* The bar of the next round. All that is left was rarer than the one before. */
static void lower_bar(train_merger *t, uint64_t most)
{
    if (most >= t->bar) most = t->bar - 1;
    t->bar = most / ROUND > t->least ? most / ROUND : t->least;
    t->ended = t->bar == t->least;
}

static int count_exactly(train_merger *t, census *c)
{
    memset(c->table, 0, (c->mask + 1) * sizeof *c->table);
    c->used = 0;
    return look_through(t, c, EXACTLY);
}

/* Count all pairs, and keep the frequent ones. */
static int take_census(train_merger *t, census *c)
{
    uint64_t most = 0;
    if (c->sketch == NULL) {
        if (count_exactly(t, c) < 0) return -1;
        for (size_t i = 0; i <= c->mask; i++) most = c->table[i].count > most ? c->table[i].count : most;
        lower_bar(t, most);
        return keep_frequent(t, c);
    }
    look_through(t, c, ROUGHLY);
    for (size_t i = 0; i < (size_t)1 << (64 - c->shift); i++) most = c->sketch[i] > most ? c->sketch[i] : most;
    while (t->heap_count == 0 && !t->ended) { /* again, if what has the same hash was counted together */
        lower_bar(t, most);
        if (count_exactly(t, c) < 0 || keep_frequent(t, c) < 0) return -1;
    }
    return 0;
}

int train_begin_round(train_merger *t)
{
    census c = {NULL, 64 - SKETCH_BITS, NULL, CENSUS - 1, 0};
    const int rough = t->cell_count > SKETCH_FROM;
    int failed = -1;
    train_free_places(t);
    t->pair_count = 0;
    if (t->cell_count == 0) {
        t->ended = 1;
        return 0;
    }
    drop_merged(t);
    if (rough) c.sketch = calloc((size_t)1 << SKETCH_BITS, sizeof *c.sketch);
    c.table = malloc((c.mask + 1) * sizeof *c.table);
    if (c.table != NULL && (c.sketch != NULL || !rough)) failed = take_census(t, &c);
    free(c.sketch);
    free(c.table);
    return failed;
}
