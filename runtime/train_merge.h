/* train_merge.h - how training keeps pieces and pairs: for train_cells.c, which takes the pieces, train_rounds.c, which finds the pairs that are
 * worth keeping, and train_merge.c, which merges them.
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
#ifndef TRAIN_MERGE_H
#define TRAIN_MERGE_H

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
static inline int reserve(void *array, size_t *room, size_t count, size_t size)
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

static inline uint32_t id_at(const train_merger *t, size_t place) { return t->cells[place] & ID_MASK; }

static inline void set_id(train_merger *t, size_t place, uint32_t id) { t->cells[place] = (t->cells[place] & ~ID_MASK) | id; }

/* The count of a piece longer than what a distance holds, by any of its cells. */
uint64_t train_long_count(const train_merger *t, uint32_t place);

/* How often the piece occurs that has this cell. */
static inline uint64_t count_at(const train_merger *t, uint32_t place)
{
    const uint32_t distance = t->cells[place] >> ID_BITS, *header;
    if (UNLIKELY(distance == FAR)) return train_long_count(t, place);
    header = t->cells + (place - distance - HEADER);
    return header[1] | (uint64_t)(header[0] >> ID_BITS) << 32 | (uint64_t)(header[2] >> ID_BITS) << (64 - ID_BITS);
}

static inline int may_merge(const train_merger *t, uint32_t left, uint32_t right)
{
    return t->lengths[left] + t->lengths[right] <= t->longest;
}

static inline uint64_t pair_key(uint32_t left, uint32_t right) { return (uint64_t)left << ID_BITS | right; }

/* Room for places of a pair, until train_free_places: NULL if memory is short. */
uint32_t *train_room_for_places(train_merger *t, size_t count);
void train_free_places(train_merger *t);

/* Let a pair wait in the heap, of which all places are known: -1 if memory is short. */
int train_push_pair(train_merger *t, uint32_t number, uint64_t count);

/* Keep the pairs that are most frequent now, when none is left: -1 if memory is short. */
int train_begin_round(train_merger *t);

#endif
