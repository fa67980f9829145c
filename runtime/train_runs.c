/* train_runs.c - what was counted in; out, all of it in the order of the text, or runs that are put together later. See train.h.
 *
 * A table that has become too large is written down as a run, and begins again. So there are runs in which the same piece stands, with a
 * part of its count in each. They are sorted by hash, so that equal pieces come together when the runs are read side by side:
 *
 *     run 1   12: " of" 3, 47: "the" 8, ...          both at once   12: " of" 3, " of" 2; 33: "sea" 1; 47: "the" 8; ...
 *     run 2   12: " of" 2, 33: "sea" 1, ...
 *
 * What is read goes into a table again, which adds up what belongs together. When that is too large, it is written as a run in order of
 * places; at such a time no piece is in two of these, since a hash is read to its end first. Side by side, they are all pieces in the
 * order in which they were first met. So nothing but the tables is ever held, and counts and places are as if none had been written.
 *
 * Invariant: the bytes of a run are looked at only within its end, whatever stands in it; a run that says otherwise is malformed.
 *
 * Rejected: runs in order of bytes (that takes comparisons of pieces, which lie apart; hashes and places are sorted by digits); parts by
 * hash instead of order (each must fit, however many pieces there are).
 */
#include <stdlib.h>

#include "train_table.h"

#ifndef WRITTEN
#define WRITTEN 65536 /* bytes at a time */
#endif

typedef struct {
    uint64_t key;
    uint32_t number;
} order;

/* Sort by key, eight bits at a time; the result is in one of the two. */
static order *sorted(order *from, order *to, size_t count)
{
    uint64_t all = 0;
    for (size_t i = 0; i < count; i++) all |= from[i].key;
    for (int shift = 0; shift < 64 && all >> shift > 0; shift += 8) {
        size_t starts[256] = {0}, sum = 0;
        order *other = from;
        for (size_t i = 0; i < count; i++) starts[from[i].key >> shift & 255]++;
        for (int digit = 0; digit < 256; digit++) {
            const size_t here = starts[digit];
            starts[digit] = sum;
            sum += here;
        }
        for (size_t i = 0; i < count; i++) to[starts[from[i].key >> shift & 255]++] = from[i];
        from = to;
        to = other;
    }
    return from;
}

/* The entries in order: what is to be freed, NULL if memory is short. */
static order *in_order(const train_counts *c, train_order by, const order **first)
{
    order *memory = malloc(2 * c->used * sizeof *memory + 1);
    if (memory == NULL) return NULL;
    for (size_t i = 0; i < c->used; i++) {
        const entry *e = entry_at(c, i);
        memory[i].key = by == TRAIN_BY_PLACE ? e->place : hash_of(c, e);
        memory[i].number = (uint32_t)i;
    }
    *first = sorted(memory, memory + c->used, c->used);
    return memory;
}

static inline const uint8_t *spelling(const entry *e) { return is_long(e) ? bytes_of(e) : (const uint8_t *)e; }

size_t train_counts_memory(const train_counts *c)
{
    return sizeof *c + (sizeof(entry) << FRONT_BITS) + (c->mask + 1) * sizeof(slot) + c->used * (sizeof(entry) + 2 * sizeof(order)) + c->arena;
}

/* --- the result ------------------------------------------------------------------------------------------------------------------ */

size_t train_counts_finish(train_counts *c, uint64_t *bytes)
{
    if (train_counts_gather(c) < 0) return SIZE_MAX;
    free(c->index);
    c->index = NULL;
    *bytes = c->bytes;
    return c->used;
}

int train_counts_write(const train_counts *c, uint8_t *bytes, uint32_t *lengths, uint64_t *counts)
{
    const order *first;
    order *memory = in_order(c, TRAIN_BY_PLACE, &first);
    if (memory == NULL) return -1;
    for (size_t i = 0; i < c->used; i++) {
        const entry *e = entry_at(c, first[i].number);
        const size_t length = (size_t)length_of(e);
        memcpy(bytes, spelling(e), length);
        bytes += length;
        lengths[i] = (uint32_t)length;
        counts[i] = e->count;
    }
    free(memory);
    return 0;
}

/* --- writing runs ------------------------------------------------------------------------------------------------------------------ */

typedef struct {
    uint8_t bytes[WRITTEN];
    size_t used;
    train_write write;
    void *context;
} output;

static int flush(output *o)
{
    const size_t used = o->used;
    o->used = 0;
    return used > 0 && o->write(o->context, o->bytes, used) < 0 ? -2 : 0;
}

static int append(output *o, const void *bytes, size_t size)
{
    if (size > WRITTEN - o->used) {
        if (flush(o) < 0) return -2;
        if (size > WRITTEN) return o->write(o->context, bytes, size) < 0 ? -2 : 0;
    }
    memcpy(o->bytes + o->used, bytes, size);
    o->used += size;
    return 0;
}

/* What stands before the bytes of a piece: its key, count, place and length. */
#define HEAD 4

static int write_entries(const train_counts *c, const order *first, output *o)
{
    for (size_t i = 0; i < c->used; i++) {
        const entry *e = entry_at(c, first[i].number);
        const uint64_t head[HEAD] = {first[i].key, e->count, e->place, length_of(e)};
        if (append(o, head, sizeof head) < 0 || append(o, spelling(e), (size_t)length_of(e)) < 0) return -2;
    }
    return flush(o);
}

int train_counts_spill(train_counts *c, train_order by, train_write write, void *context)
{
    const order *first;
    order *memory;
    output *o;
    int failed = -1;
    if (train_counts_gather(c) < 0) return -1;
    memory = in_order(c, by, &first);
    o = malloc(sizeof *o);
    if (memory != NULL && o != NULL) {
        o->used = 0;
        o->write = write;
        o->context = context;
        failed = write_entries(c, first, o);
    }
    free(memory);
    free(o);
    return failed < 0 ? failed : train_counts_clear(c);
}

/* --- reading runs ------------------------------------------------------------------------------------------------------------------ */

typedef struct {
    const uint8_t *at, *end; /* behind its first piece that was not read yet, which is: */
    train_counted top;
} run;

struct train_runs {
    size_t count, room; /* a heap: no run has a smaller key than the one above it */
    run runs[];
};

train_runs *train_runs_new(size_t room)
{
    train_runs *r = malloc(sizeof *r + room * sizeof *r->runs);
    if (r == NULL) return NULL;
    r->count = 0;
    r->room = room;
    return r;
}

void train_runs_free(train_runs *r) { free(r); }

/* Read the next piece: 1, 0 at the end, -3 if the run is malformed. */
static int advance(run *one)
{
    uint64_t head[HEAD];
    const size_t left = (size_t)(one->end - one->at);
    if (left == 0) return 0;
    if (left < sizeof head) return -3;
    memcpy(head, one->at, sizeof head);
    if (head[3] > left - sizeof head || head[3] == 0 || head[3] >= UINT32_MAX) return -3;
    one->at += sizeof head;
    one->top = (train_counted){head[0], head[1], head[2], head[3], one->at};
    one->at += head[3];
    return 1;
}

int train_runs_add(train_runs *r, const uint8_t *bytes, uint64_t size)
{
    run one = {bytes, bytes + size, {0, 0, 0, 0, NULL}};
    size_t at = r->count, above;
    const int there = advance(&one);
    if (there <= 0) return there;
    if (r->count == r->room) return -1;
    for (; at > 0 && one.top.key < r->runs[above = (at - 1) / 2].top.key; at = above) r->runs[at] = r->runs[above];
    r->runs[at] = one;
    r->count++;
    return 0;
}

/* Put a run in the place of the first one, and let it sink to where it belongs. */
static void replace_first(train_runs *r, run one)
{
    size_t at = 0, below;
    while ((below = 2 * at + 1) < r->count) {
        if (below + 1 < r->count && r->runs[below + 1].top.key < r->runs[below].top.key) below++;
        if (r->runs[below].top.key >= one.top.key) break;
        r->runs[at] = r->runs[below];
        at = below;
    }
    r->runs[at] = one;
}

const train_counted *train_runs_top(const train_runs *r) { return r->count > 0 ? &r->runs[0].top : NULL; }

int train_runs_next(train_runs *r)
{
    run one = r->runs[0];
    const uint64_t before = one.top.key;
    const int there = advance(&one);
    if (there < 0 || (there > 0 && one.top.key < before)) return -3;
    if (there == 0) one = r->runs[--r->count];
    if (r->count > 0) replace_first(r, one);
    return 0;
}
