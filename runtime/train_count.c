/* train_count.c - pieces of texts in; out, the distinct ones and how often each was met. See train.h.
 *
 * A text has few pieces that are frequent and many that are rare. Each piece of up to 15 bytes is its own key of 16 bytes (bpe_key.h). In
 * front lies a table of a few thousand keys, each with a count, one place for each hash: what finds another key there sends it away, with
 * its count, and takes the place. What was sent away waits until some hundred have come together; then the lines of the large table are
 * asked for, for all of them, and then looked at. So a frequent piece costs an addition in a near cache, and a rare one does not wait.
 *
 *     front   [hash] -> key, count, first place           "the" 812, " of" 40
 *     index   [hash] -> 32 bits of it, number of entry    open addressing, at most three quarters full
 *     blocks  entries: key, count, first place; a longer piece has its bytes in an arena, and where, for a key
 *
 * Invariant: at any time the count of a piece is the sum of its counts in front, waiting and in its entry. Where a piece was first met
 * is kept in each of them, and the least is what counts, so neither the front nor threads change the order.
 *
 * Rejected: entries in the open table itself (doubling it takes three times its memory for a moment, and most of it is holes).
 */
#include <stdlib.h>

#include "bpe_key.h"
#include "train_table.h"

#define GROUP 64

train_counts *train_counts_new(const uint64_t key[2])
{
    train_counts *c = calloc(1, sizeof *c);
    if (c == NULL) return NULL;
    c->key[0] = key[0];
    c->key[1] = key[1];
    c->front = calloc((size_t)1 << FRONT_BITS, sizeof *c->front);
    c->index = calloc(FIRST_INDEX, sizeof *c->index);
    c->mask = FIRST_INDEX - 1;
    if (c->front != NULL && c->index != NULL) return c;
    train_counts_free(c);
    return NULL;
}

static void free_entries(train_counts *c)
{
    for (size_t i = 0; i < c->used; i += (size_t)1 << BLOCK_BITS) free(c->blocks[i >> BLOCK_BITS]);
    for (size_t i = 0; i < c->chunk_count; i++) free(c->chunks[i]);
    free(c->blocks);
    free(c->chunks);
    free(c->index);
    c->blocks = NULL;
    c->chunks = NULL;
    c->index = NULL;
    c->used = c->bytes = c->arena = 0;
    c->block_room = c->chunk_count = c->chunk_room = c->chunk_used = c->chunk_size = 0;
}

void train_counts_free(train_counts *c)
{
    if (c == NULL) return;
    free_entries(c);
    free(c->front);
    free(c);
}

static inline int same_piece(const entry *a, const entry *b)
{
    if (a->high != b->high) return 0;
    return a->low == b->low || (is_long(a) && memcmp(bytes_of(a), bytes_of(b), (size_t)length_of(a)) == 0);
}

/* --- the large table -------------------------------------------------------------------------------------------------------- */

static int grow_index(train_counts *c)
{
    const size_t size = 2 * (c->mask + 1);
    slot *index = calloc(size, sizeof *index);
    if (index == NULL) return -1;
    for (size_t i = 0; i < c->used; i++) {
        const uint64_t hash = hash_of(c, entry_at(c, i));
        size_t at = (size_t)hash & (size - 1);
        while (index[at].number != 0) at = (at + 1) & (size - 1);
        index[at].tag = (uint32_t)(hash >> 32);
        index[at].number = (uint32_t)i + 1;
    }
    free(c->index);
    c->index = index;
    c->mask = size - 1;
    return 0;
}

/* One more in a list of pointers, doubled when it is full. */
static int reserve(void *array, size_t *room, size_t count)
{
    void *list;
    if (count < *room) return 0;
    memcpy(&list, array, sizeof list);
    list = realloc(list, (*room * 2 + 16) * sizeof(void *));
    if (list == NULL) return -1;
    memcpy(array, &list, sizeof list);
    *room = *room * 2 + 16;
    return 0;
}

/* Copy the bytes of a longer piece to where they stay. */
static int keep_bytes(train_counts *c, entry *e)
{
    const uint64_t length = length_of(e);
    uint8_t *to;
    if (length > c->chunk_size - c->chunk_used) {
        const size_t size = length > CHUNK / 4 ? (size_t)length : CHUNK;
        uint8_t *chunk;
        if (reserve(&c->chunks, &c->chunk_room, c->chunk_count) < 0) return -1;
        if ((chunk = malloc(size)) == NULL) return -1;
        c->arena += size;
        if (size != CHUNK && c->chunk_count > 0) { /* of its own, before the one that is being filled */
            c->chunks[c->chunk_count] = c->chunks[c->chunk_count - 1];
            c->chunks[c->chunk_count++ - 1] = chunk;
            memcpy(chunk, bytes_of(e), (size_t)length);
            e->low = (uintptr_t)chunk;
            return 0;
        }
        c->chunks[c->chunk_count++] = chunk;
        c->chunk_size = size;
        c->chunk_used = 0;
    }
    to = c->chunks[c->chunk_count - 1] + c->chunk_used;
    memcpy(to, bytes_of(e), (size_t)length);
    c->chunk_used += (size_t)length;
    e->low = (uintptr_t)to;
    return 0;
}

/* Add the count of a piece to its entry, which is made if there is none. */
static int add(train_counts *c, const entry *e, uint64_t hash)
{
    size_t at = (size_t)hash & c->mask;
    entry *to;
    for (; c->index[at].number != 0; at = (at + 1) & c->mask) {
        if (c->index[at].tag != (uint32_t)(hash >> 32)) continue;
        to = entry_at(c, c->index[at].number - 1);
        if (!same_piece(to, e)) continue;
        to->count += e->count;
        if (e->place < to->place) to->place = e->place;
        return 0;
    }
    if (c->used + 1 >= UINT32_MAX) return -1;
    if ((c->used & (((size_t)1 << BLOCK_BITS) - 1)) == 0) {
        const size_t block = c->used >> BLOCK_BITS;
        if (reserve(&c->blocks, &c->block_room, block) < 0) return -1;
        if ((c->blocks[block] = malloc(sizeof(entry) << BLOCK_BITS)) == NULL) return -1;
    }
    to = entry_at(c, c->used);
    *to = *e;
    c->index[at].tag = (uint32_t)(hash >> 32);
    c->index[at].number = (uint32_t)++c->used; /* also if what follows fails, or the block would be lost */
    if (is_long(e) && keep_bytes(c, to) < 0) return -1;
    c->bytes += length_of(e);
    return c->used * 4 > (c->mask + 1) * 3 ? grow_index(c) : 0;
}

/* --- what waits --------------------------------------------------------------------------------------------------------------- */

static int add_waiting(train_counts *c)
{
    size_t i;
    for (i = 0; i < c->waits; i++) {
        c->waiting[i].hash = hash_of(c, &c->waiting[i].piece);
        PREFETCH(c->index + ((size_t)c->waiting[i].hash & c->mask));
    }
    for (i = 0; i < c->waits; i++) {
        const slot *s = c->index + ((size_t)c->waiting[i].hash & c->mask);
        if (s->number != 0) PREFETCH(entry_at(c, s->number - 1));
    }
    for (i = 0; i < c->waits; i++) {
        if (add(c, &c->waiting[i].piece, c->waiting[i].hash) < 0) return -1;
    }
    c->waits = 0;
    return 0;
}

static inline int put_off(train_counts *c, const entry *e)
{
    c->waiting[c->waits++].piece = *e;
    return c->waits < WAITING ? 0 : add_waiting(c);
}

static inline entry *front_of(const train_counts *c, uint64_t low, uint64_t high)
{
    const uint64_t hash = (low ^ c->key[0]) * UINT64_C(0x9E3779B97F4A7C15) + (high ^ c->key[1]) * UINT64_C(0xD6E8FEB86659FD93);
    return c->front + (hash >> (64 - FRONT_BITS));
}

int train_count(train_counts *c, const uint8_t *text, uint64_t readable, uint64_t place, const uint32_t *starts, const uint32_t *ends,
                size_t count)
{
    struct {
        uint64_t low, high;
        entry *at;
    } group[GROUP];
    for (size_t from = 0; from < count; from += GROUP) {
        const size_t n = count - from < GROUP ? count - from : GROUP;
        size_t i;
        for (i = 0; i < n; i++) {
            const uint8_t *p = text + starts[from + i];
            const uint32_t length = ends[from + i] - starts[from + i];
            if (length > BPE_KEY) {
                group[i].low = (uintptr_t)p;
                group[i].high = long_key(length);
                group[i].at = NULL;
            } else {
                const key k = LIKELY(starts[from + i] + UINT64_C(16) <= readable) ? key_of(p, length) : key_at_end(p, length);
                group[i].low = key_low(k);
                group[i].high = key_high(k);
                group[i].at = front_of(c, group[i].low, group[i].high);
                PREFETCH(group[i].at);
            }
        }
        for (i = 0; i < n; i++) {
            const entry e = {group[i].low, group[i].high, 1, place + starts[from + i]};
            entry *at = group[i].at;
            if (UNLIKELY(e.high == 0)) continue; /* a piece of nothing is none, and a free place is no piece */
            if (at != NULL && at->low == e.low && at->high == e.high) {
                at->count++;
                continue;
            }
            if ((at == NULL || at->count > 0) && put_off(c, at == NULL ? &e : at) < 0) return -1;
            if (at != NULL) *at = e;
        }
    }
    return 0;
}

int train_count_piece(train_counts *c, const uint8_t *piece, uint64_t length, uint64_t place, uint64_t times)
{
    entry e = {(uintptr_t)piece, long_key(length), times, place};
    if (length == 0) return 0;
    if (length >= UINT32_MAX) return 1; /* train_counts_write has 32 bits for it */
    if (length <= BPE_KEY) {
        const key k = key_at_end(piece, (size_t)length);
        e.low = key_low(k);
        e.high = key_high(k);
    }
    return add(c, &e, hash_of(c, &e));
}

int train_count_settle(train_counts *c) { return add_waiting(c); }

int train_counts_gather(train_counts *c)
{
    for (size_t i = 0; i < (size_t)1 << FRONT_BITS; i++) {
        if (c->front[i].count > 0 && put_off(c, c->front + i) < 0) return -1;
        memset(c->front + i, 0, sizeof *c->front);
    }
    return add_waiting(c);
}

int train_counts_clear(train_counts *c)
{
    free_entries(c);
    c->index = calloc(FIRST_INDEX, sizeof *c->index);
    c->mask = FIRST_INDEX - 1;
    return c->index == NULL ? -1 : 0;
}

int train_counts_add(train_counts *c, train_counts *other)
{
    if (train_counts_gather(other) < 0) return -1;
    for (size_t i = 0; i < other->used; i++) {
        if (put_off(c, entry_at(other, i)) < 0) return -1;
    }
    return add_waiting(c) < 0 ? -1 : train_counts_clear(other);
}
