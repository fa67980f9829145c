/* train_merge.c - distinct pieces in, the merges to learn from them out, one after the other. See train.h.
 *
 * All pieces lie in one array of cells, a cell for each byte. A token has its id in its first cell and in its last; so from any token its
 * neighbours are found without a list, by the lengths of tokens. A pair is known by the places where its left token starts.
 *
 *     "the" and "he", 3 and 5 times    | . 3 . t h e | . 5 . h e | .
 *     after merging h and e            | . 3 . t H H | . 5 . H H | .          H is the id of "he"
 *
 * Of each pair a count is kept that is at least its own: other merges only take places away from it, after the one that made it. So the
 * pairs wait in a heap by these counts, and only the one on top is counted anew, along its places, and only if a merge since may have
 * taken any. If its count was right, it is the pair to be merged. Nothing is looked up for the pairs that lose places.
 *
 * Most pairs are rare and will never be merged. So work goes in rounds. A round begins with counting all pairs there are, and keeps
 * those that occur `bar` times and more, a thousandth of the most frequent one; of the pairs that merging makes, too, rarer ones are
 * forgotten. When none is left, the next round begins with a lower bar. So the places of rare pairs, which are most, take no memory until
 * it is their turn. (A round costs a look at all cells; a bar of a sixteenth takes a fifth less memory, and twice the time.)
 *
 * Invariants: a pair is first made in one step, the one that made the younger of its tokens, with all its places; places are in
 * order. A place stands for the pair still if its cell has the left id and the token behind it is the right one: a cell that was
 * swallowed by a merge never has the id of a shorter token that started there. A token never is in two ways (docs/tokens.md). So if a pair
 * has the bytes of a token that there is, merging never comes to that one; the pair is left as it is, or two ids would have the same bytes.
 *
 * Time is that of the places looked at; each merge looks at places of pairs that were at least as frequent. Rejected: exact counts of all
 * pairs in a table (two look-ups far away in memory for each place merged); places as numbers of pieces (a long piece would be read
 * again for each merge in it).
 */
#include <stdlib.h>

#include "bpe_hash.h"
#include "train.h"

#define ID_BITS 21
#define ID_MASK ((UINT32_C(1) << ID_BITS) - 1)
#define END ID_MASK            /* the id of what lies between pieces */
#define DEAD (ID_MASK - 1)     /* of the first cell of a right token that was swallowed */
#define HEADER 3               /* cells before a piece: the upper bits of its count in the first and third, beside END */
#define AHEAD 12               /* places that are asked for before they are needed */
#ifndef ROUND                  /* what follows is tiny in tests */
#define ROUND 1024             /* how much rarer pairs may be, at least, than the most frequent one, to be kept */
#define FAR ((UINT32_C(1) << (32 - ID_BITS)) - 1) /* as a distance from the first cell: that much, or more */
#define CHUNK ((size_t)1 << 18) /* places at a time */
#define SKETCH_FROM ((size_t)1 << 24) /* cells from which on pairs are counted roughly first, so that fewer need be counted exactly */
#define SKETCH_BITS 22
#define CENSUS 4096            /* places of the table of pairs and their counts, at first: a power of two */
#endif

typedef struct {
    uint32_t left, right;
    uint32_t *places;
    uint32_t used, step; /* when it was counted last */
} pair;

typedef struct {
    uint64_t count, tie; /* the smaller, the sooner */
    uint32_t number;     /* of the pair */
} waiting;

/* A new pair of the step at hand, by the token beside the new one. */
typedef struct {
    uint64_t count;
    uint32_t *places;
    uint32_t used;
} beside;

typedef struct {
    uint32_t id, place; /* the token beside; where the pair starts */
} found;

typedef struct {
    uint64_t key, count; /* left and right id, and one; 0: free */
    uint32_t used, number;
} counted;

typedef struct {
    uint32_t place;
    uint64_t count;
} long_piece;

/* What a new token was made of. */
typedef struct {
    uint32_t left, right;
} parts;

struct train_merger {
    const bpe_vocabulary *v;
    train_rule rule;
    uint32_t next_id, ids, longest;
    uint64_t least, bar;
    int ended;
    uint32_t *cells;
    size_t cell_count, cell_room;
    int lent; /* the cells are not ours */
    uint32_t *scratch;
    uint8_t *kept;
    size_t scratch_room;
    long_piece *longs; /* pieces longer than what a distance holds */
    size_t long_count, long_room;
    uint32_t *lengths, *left_step, *right_step; /* by id; when it was last merged as a left and as a right token */
    uint32_t step;
    parts *parts;    /* by id; none if no token of the vocabulary has more than a byte */
    uint8_t *spelled; /* as many bytes as its longest token has */
    pair *pairs;
    size_t pair_count, pair_room;
    waiting *heap;
    size_t heap_count, heap_room;
    uint32_t **chunks; /* of places */
    size_t chunk_count, chunk_room, chunk_used, chunk_size, chunk_cells;
    beside *sides[2];  /* by id: the pairs with the new token right, and left */
    uint32_t *touched[2];
    size_t touched_count[2];
    found *found[2];
    size_t found_count[2], found_room[2];
};

/* One more in an array that doubles. */
static int reserve(void *array, size_t *room, size_t count, size_t size)
{
    void *list;
    if (count < *room) return 0;
    memcpy(&list, array, sizeof list);
    list = realloc(list, (*room * 2 + 1024) * size);
    if (list == NULL) return -1;
    memcpy(array, &list, sizeof list);
    *room = *room * 2 + 1024;
    return 0;
}

train_merger *train_merger_new(const bpe_vocabulary *v, train_rule rule, uint32_t first_id, uint32_t ids, uint32_t longest, uint64_t least)
{
    train_merger *t = calloc(1, sizeof *t);
    const size_t all = (size_t)(ids > v->token_count ? ids : v->token_count) + 1;
    if (t == NULL) return NULL;
    t->v = v;
    t->rule = rule;
    t->next_id = first_id;
    t->ids = ids < DEAD ? ids : DEAD;
    t->longest = longest;
    t->least = least > 0 ? least : 1;
    t->bar = UINT64_MAX;
    t->step = 1;
    t->lengths = calloc(all, sizeof *t->lengths);
    t->left_step = calloc(all, sizeof *t->left_step);
    t->right_step = calloc(all, sizeof *t->right_step);
    for (int side = 0; side < 2; side++) {
        t->sides[side] = calloc(all, sizeof *t->sides[side]);
        t->touched[side] = malloc(all * sizeof *t->touched[side]);
    }
    if (v->longest > 1) {
        t->parts = calloc(all, sizeof *t->parts);
        t->spelled = calloc((size_t)v->longest + BPE_PADDING, 1);
    }
    if (t->lengths != NULL && t->left_step != NULL && t->right_step != NULL && t->sides[0] != NULL && t->sides[1] != NULL &&
        t->touched[0] != NULL && t->touched[1] != NULL && (v->longest <= 1 || (t->parts != NULL && t->spelled != NULL))) {
        for (uint32_t id = 0; id < v->token_count; id++) t->lengths[id] = bpe_token_length(v, id);
        return t;
    }
    train_merger_free(t);
    return NULL;
}

static void free_places(train_merger *t)
{
    while (t->chunk_count > 0) free(t->chunks[--t->chunk_count]);
    t->chunk_used = t->chunk_size = t->chunk_cells = 0;
}

void train_merger_free(train_merger *t)
{
    if (t == NULL) return;
    free_places(t);
    for (int side = 0; side < 2; side++) {
        free(t->sides[side]);
        free(t->touched[side]);
        free(t->found[side]);
    }
    free(t->chunks);
    free(t->lengths);
    free(t->left_step);
    free(t->right_step);
    free(t->parts);
    free(t->spelled);
    if (!t->lent) free(t->cells);
    free(t->scratch);
    free(t->kept);
    free(t->longs);
    free(t->pairs);
    free(t->heap);
    free(t);
}

size_t train_merger_memory(const train_merger *t)
{
    return t->cell_room * sizeof *t->cells + t->pair_room * sizeof *t->pairs + t->heap_room * sizeof *t->heap +
           t->chunk_cells * sizeof(uint32_t) + (t->found_room[0] + t->found_room[1]) * sizeof(found);
}

void train_merger_lend(train_merger *t, void *memory, size_t size)
{
    t->cells = memory;
    t->cell_room = size / sizeof *t->cells;
    t->lent = 1;
}

size_t train_merger_needs(uint64_t pieces, uint64_t bytes) { return (size_t)((HEADER * pieces + bytes + 1) * sizeof(uint32_t)); }

/* --- pieces ------------------------------------------------------------------------------------------------------------------ */

static inline uint32_t id_at(const train_merger *t, size_t place) { return t->cells[place] & ID_MASK; }

static inline void set_id(train_merger *t, size_t place, uint32_t id) { t->cells[place] = (t->cells[place] & ~ID_MASK) | id; }

static uint64_t long_count(const train_merger *t, uint32_t place)
{
    size_t from = 0, to = t->long_count;
    while (to - from > 1) { /* the last that starts there or before */
        const size_t middle = from + (to - from) / 2;
        if (t->longs[middle].place <= place) from = middle;
        else to = middle;
    }
    return t->longs[from].count;
}

/* How often the piece occurs that has this cell. */
static inline uint64_t count_at(const train_merger *t, uint32_t place)
{
    const uint32_t distance = t->cells[place] >> ID_BITS, *header;
    if (UNLIKELY(distance == FAR)) return long_count(t, place);
    header = t->cells + (place - distance - HEADER);
    return header[1] | (uint64_t)(header[0] >> ID_BITS) << 32 | (uint64_t)(header[2] >> ID_BITS) << (64 - ID_BITS);
}

/* The tokens of a piece: their number, SIZE_MAX if memory is short. */
static size_t tokens_of(train_merger *t, const uint8_t *piece, uint32_t *length)
{
    size_t n = 0;
    if ((size_t)*length + BPE_PADDING > t->scratch_room) {
        free(t->scratch);
        free(t->kept);
        t->scratch_room = 2 * (size_t)*length + 1024;
        t->scratch = malloc(t->scratch_room * sizeof *t->scratch);
        t->kept = malloc(t->scratch_room);
        if (t->scratch == NULL || t->kept == NULL) {
            t->scratch_room = 0;
            return SIZE_MAX;
        }
    }
    for (uint32_t i = 0; i < *length; i++) {
        t->kept[n] = piece[i];
        t->scratch[n] = t->v->byte_tokens[piece[i]];
        n += t->scratch[n] != BPE_NONE;
    }
    *length = (uint32_t)n;
    if (t->v->rank_count == 0 || n < 2) return n;
    if (t->v->whole) {
        const uint32_t whole = bpe_find(t->v, t->kept, n);
        if (whole != BPE_NONE) {
            t->scratch[0] = whole;
            return 1;
        }
    }
    n = bpe_merge(t->v, BPE_AUTOMATIC, t->kept, n, t->scratch);
    return n >= BPE_NO_TOKEN ? SIZE_MAX : n;
}

int train_merger_add(train_merger *t, const uint8_t *piece, uint32_t length, uint64_t count)
{
    const size_t n = tokens_of(t, piece, &length);
    uint32_t *cell;
    if (n == SIZE_MAX) return -1;
    if (n < 2) return 0; /* nothing to merge */
    if (t->cell_count + HEADER + length + 1 > UINT32_MAX) return -2;
    while (t->cell_count + HEADER + length + 1 > t->cell_room) {
        uint32_t *grown = NULL;
        if (t->lent) return -1;
        grown = realloc(t->cells, (t->cell_room + t->cell_room / 2 + CHUNK) * sizeof *grown);
        if (grown == NULL) return -1;
        t->cells = grown;
        t->cell_room += t->cell_room / 2 + CHUNK;
    }
    cell = t->cells + t->cell_count;
    cell[0] = END | (uint32_t)(count >> 32) << ID_BITS;
    cell[1] = (uint32_t)count;
    cell[2] = END | (uint32_t)(count >> (64 - ID_BITS)) << ID_BITS;
    cell += HEADER;
    for (uint32_t i = 0; i < length; i++) cell[i] = DEAD | (i < FAR ? i : FAR) << ID_BITS;
    for (size_t i = 0, at = t->cell_count + HEADER; i < n; at += t->lengths[t->scratch[i]], i++) {
        set_id(t, at, t->scratch[i]);
        set_id(t, at + t->lengths[t->scratch[i]] - 1, t->scratch[i]);
    }
    cell[length] = END;
    if (length > FAR) {
        if (reserve(&t->longs, &t->long_room, t->long_count, sizeof *t->longs) < 0) return -1;
        t->longs[t->long_count].place = (uint32_t)t->cell_count + HEADER;
        t->longs[t->long_count++].count = count;
    }
    t->cell_count += HEADER + length;
    return 0;
}

/* --- the heap --------------------------------------------------------------------------------------------------------------------- */

static inline int is_sooner(const waiting *a, const waiting *b) { return a->count > b->count || (a->count == b->count && a->tie < b->tie); }

static int push(train_merger *t, waiting item)
{
    size_t at = t->heap_count, above;
    if (reserve(&t->heap, &t->heap_room, at, sizeof *t->heap) < 0) return -1;
    t->heap_count++;
    for (; at > 0 && is_sooner(&item, t->heap + (above = (at - 1) / 4)); at = above) t->heap[at] = t->heap[above];
    t->heap[at] = item;
    return 0;
}

/* Put an item in the place of the one on top. */
static void replace_top(train_merger *t, waiting item)
{
    size_t at = 0, below;
    while ((below = 4 * at + 1) < t->heap_count) {
        size_t best = below;
        for (size_t i = below + 1; i < below + 4 && i < t->heap_count; i++) {
            if (is_sooner(t->heap + i, t->heap + best)) best = i;
        }
        if (!is_sooner(t->heap + best, &item)) break;
        t->heap[at] = t->heap[best];
        at = best;
    }
    t->heap[at] = item;
}

static void pop(train_merger *t)
{
    if (--t->heap_count > 0) replace_top(t, t->heap[t->heap_count]);
}

static inline uint64_t pair_key(uint32_t left, uint32_t right) { return (uint64_t)left << ID_BITS | right; }

/* --- pairs ------------------------------------------------------------------------------------------------------------------------- */

static uint32_t *room_for_places(train_merger *t, size_t count)
{
    uint32_t *at;
    if (count > t->chunk_size - t->chunk_used) {
        const size_t size = count > CHUNK ? count : CHUNK;
        if (reserve(&t->chunks, &t->chunk_room, t->chunk_count, sizeof *t->chunks) < 0) return NULL;
        if ((at = malloc(size * sizeof *at)) == NULL) return NULL;
        t->chunks[t->chunk_count++] = at;
        t->chunk_size = size;
        t->chunk_used = 0;
        t->chunk_cells += size;
    }
    at = t->chunks[t->chunk_count - 1] + t->chunk_used;
    t->chunk_used += count;
    return at;
}

/* Let a pair wait, of which all places are known. */
static int push_pair(train_merger *t, uint32_t number, uint64_t count)
{
    const pair *p = t->pairs + number;
    return push(t, (waiting){count, t->rule == TRAIN_SMALLER ? pair_key(p->left, p->right) : p->places[0], number});
}

static inline int may_merge(const train_merger *t, uint32_t left, uint32_t right)
{
    return t->lengths[left] + t->lengths[right] <= t->longest;
}

/* --- rounds ------------------------------------------------------------------------------------------------------------------------ */

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
        if ((made.places = room_for_places(t, e->used)) == NULL) return -1;
        e->number = (uint32_t)t->pair_count;
        t->pairs[t->pair_count++] = made;
    }
    if (t->pair_count == 0) return 0;
    look_through(t, c, PLACES);
    for (size_t i = 0; i <= c->mask; i++) {
        const counted *e = c->table + i;
        if (e->key != 0 && e->count >= t->bar && push_pair(t, e->number, e->count) < 0) return -1;
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

static int begin_round(train_merger *t)
{
    census c = {NULL, 64 - SKETCH_BITS, NULL, CENSUS - 1, 0};
    const int rough = t->cell_count > SKETCH_FROM;
    int failed = -1;
    free_places(t);
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

/* --- merging ------------------------------------------------------------------------------------------------------------------------ */

/* Count the pair on top anew, along its places, of which those that are gone are left out. */
static uint64_t count_again(train_merger *t, pair *p)
{
    const uint32_t left = p->left, right = p->right, length = t->lengths[left];
    uint64_t count = 0;
    uint32_t used = 0;
    for (uint32_t i = 0; i < p->used; i++) {
        const uint32_t place = p->places[i];
        if (i + AHEAD < p->used) PREFETCH(t->cells + p->places[i + AHEAD]);
        if (id_at(t, place) != left || id_at(t, place + length) != right) continue;
        count += count_at(t, place);
        p->places[used++] = place;
    }
    p->used = used;
    p->step = t->step;
    return count;
}

/* Bring the most frequent pair to the top: 1; 0 if there is none any more, -1 if memory is short. */
static int settle_top(train_merger *t, uint64_t *work)
{
    for (;;) {
        waiting *top = t->heap;
        pair *p;
        if (t->heap_count == 0) {
            if (t->ended) return 0;
            if (begin_round(t) < 0) return -1;
            *work += 4 * t->cell_count;
            continue;
        }
        p = t->pairs + top->number;
        if (p->step >= t->right_step[p->left] && p->step >= t->left_step[p->right]) return 1;
        *work += p->used;
        {
            const uint64_t count = count_again(t, p);
            const waiting again = {count, t->rule == TRAIN_SMALLER ? top->tie : p->places[0], top->number};
            if (count < t->bar) pop(t);
            else replace_top(t, again);
        }
    }
}

static int note(train_merger *t, int side, uint32_t id, uint32_t place, uint64_t count)
{
    beside *b = t->sides[side] + id;
    if (reserve(&t->found[side], &t->found_room[side], t->found_count[side], sizeof *t->found[side]) < 0) return -1;
    t->found[side][t->found_count[side]++] = (found){id, place};
    if (b->used++ == 0) t->touched[side][t->touched_count[side]++] = id;
    b->count += count;
    return 0;
}

/* Note the pairs that a new token is in. One beside another is noted once, by the left one. */
static int note_neighbours(train_merger *t, uint32_t id, uint32_t place)
{
    const uint32_t before = id_at(t, place - 1), behind = id_at(t, place + t->lengths[id]);
    const uint64_t count = count_at(t, place);
    if (before != END && before != id && may_merge(t, before, id) && note(t, 0, before, place - t->lengths[before], count) < 0) return -1;
    return behind != END && may_merge(t, id, behind) ? note(t, 1, behind, place, count) : 0;
}

/* Make the new token of a pair at all its places. */
static int merge_places(train_merger *t, const pair *p, uint32_t id)
{
    const uint32_t left = p->left, right = p->right, length = t->lengths[left], size = t->lengths[right];
    uint32_t last = 0; /* where the last one was made; its neighbours are known when the next one is there */
    for (uint32_t i = 0; i < p->used; i++) {
        const uint32_t place = p->places[i];
        if (i + AHEAD < p->used) PREFETCH(t->cells + p->places[i + AHEAD]);
        if (id_at(t, place) != left || id_at(t, place + length) != right) continue;
        set_id(t, place, id);
        set_id(t, place + length, DEAD);
        set_id(t, place + length + size - 1, id);
        if (last > 0 && note_neighbours(t, id, last) < 0) return -1;
        last = place;
    }
    return last > 0 ? note_neighbours(t, id, last) : 0;
}

/* Make pairs of what was noted, if it is frequent enough. */
static int add_noted(train_merger *t, int side, uint32_t id)
{
    size_t i;
    for (i = 0; i < t->touched_count[side]; i++) {
        beside *b = t->sides[side] + t->touched[side][i];
        b->places = NULL;
        if (b->count >= t->bar && (b->places = room_for_places(t, b->used)) == NULL) return -1;
        b->used = 0;
    }
    for (i = 0; i < t->found_count[side]; i++) {
        beside *b = t->sides[side] + t->found[side][i].id;
        if (b->places != NULL) b->places[b->used++] = t->found[side][i].place;
    }
    for (i = 0; i < t->touched_count[side]; i++) {
        const uint32_t other = t->touched[side][i];
        const beside b = t->sides[side][other];
        memset(t->sides[side] + other, 0, sizeof b);
        if (b.places == NULL) continue;
        if (reserve(&t->pairs, &t->pair_room, t->pair_count, sizeof *t->pairs) < 0) return -1;
        t->pairs[t->pair_count] = (pair){side == 0 ? other : id, side == 0 ? id : other, b.places, b.used, t->step};
        if (push_pair(t, (uint32_t)t->pair_count++, b.count) < 0) return -1;
    }
    t->touched_count[side] = t->found_count[side] = 0;
    return 0;
}

/* The bytes of a token: where they end. What calls itself has no more than half of them, so that is never deep. */
static uint8_t *spell(const train_merger *t, uint32_t id, uint8_t *out)
{
    uint8_t *const end = out + t->lengths[id];
    uint8_t *last = end;
    while (id >= t->v->token_count) {
        const uint32_t left = t->parts[id].left, right = t->parts[id].right;
        if (t->lengths[left] < t->lengths[right]) {
            out = spell(t, left, out);
            id = right;
        } else {
            last -= t->lengths[right];
            spell(t, right, last);
            id = left;
        }
    }
    memcpy(out, t->v->bytes + t->v->starts[id], t->lengths[id]);
    return end;
}

/* Whether both together are a token of the vocabulary, which merging then does not come to. */
static int is_token(const train_merger *t, const pair *p)
{
    const uint32_t length = t->lengths[p->left] + t->lengths[p->right];
    if (t->parts == NULL || length > t->v->longest) return 0;
    spell(t, p->right, spell(t, p->left, t->spelled));
    return bpe_find(t->v, t->spelled, length) != BPE_NONE;
}

int train_merger_next(train_merger *t, train_merge *made, uint64_t *work)
{
    pair p;
    for (;;) {
        const int there = t->next_id < t->ids ? settle_top(t, work) : 0;
        if (there <= 0) return there;
        p = t->pairs[t->heap->number];
        if (!is_token(t, &p)) break;
        pop(t);
    }
    made->count = t->heap->count;
    made->left = p.left;
    made->right = p.right;
    made->id = t->next_id++;
    pop(t);
    t->lengths[made->id] = t->lengths[p.left] + t->lengths[p.right];
    if (t->parts != NULL) t->parts[made->id] = (parts){p.left, p.right};
    t->step++;
    t->left_step[p.left] = t->right_step[p.right] = t->step;
    *work += 2 * (uint64_t)p.used;
    if (merge_places(t, &p, made->id) < 0 || add_noted(t, 0, made->id) < 0 || add_noted(t, 1, made->id) < 0) return -1;
    return 1;
}
