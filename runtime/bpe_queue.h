/* bpe_queue.h - what may be merged, lowest first: numbers in, the least of them out. For bpe_merge.c.
 *
 * A heap, and for long pieces a radix queue: numbers lie in heaps by the highest bit in which they differ from the last one taken out,
 * unsorted; when the lowest such heap is opened, its least number is the next, and the others fall to lower ones. Each number falls
 * at most once for each of its bits, and all memory is gone through in order, where a heap of a million numbers jumps about. What is put in
 * must not be less than what was taken out last; merges of a vocabulary that was trained are not. What is less goes to a heap.
 */
#ifndef BPE_QUEUE_H
#define BPE_QUEUE_H

#include <stdint.h>
#include <stdlib.h>

#ifndef BPE_RADIX_FROM
#define BPE_RADIX_FROM 256 /* bytes of a piece from which on numbers lie by bits; tests have it small */
#endif

typedef struct {
    uint64_t *items;
    size_t count, room;
} bpe_numbers;

typedef struct {
    bpe_numbers heap, by_bit[65];
    uint64_t last;
    int is_radix, failed; /* failed: there was no memory, and what comes out means nothing */
} bpe_queue;

static inline void queue_append(bpe_queue *q, bpe_numbers *to, uint64_t number)
{
    if (to->count == to->room) {
        const size_t room = to->room ? 2 * to->room : 64;
        uint64_t *grown = realloc(to->items, room * sizeof *grown);
        if (grown == NULL) {
            q->failed = 1;
            return;
        }
        to->items = grown;
        to->room = room;
    }
    to->items[to->count++] = number;
}

static inline void heap_push(bpe_queue *q, uint64_t number)
{
    bpe_numbers *h = &q->heap;
    size_t at = h->count;
    queue_append(q, h, number);
    if (q->failed) return;
    for (; at > 0 && h->items[(at - 1) / 2] > number; at = (at - 1) / 2) h->items[at] = h->items[(at - 1) / 2];
    h->items[at] = number;
}

static inline uint64_t heap_pop(bpe_numbers *h)
{
    const uint64_t first = h->items[0], moved = h->items[--h->count];
    size_t at = 0, child;
    while ((child = 2 * at + 1) < h->count) {
        if (child + 1 < h->count && h->items[child + 1] < h->items[child]) child++;
        if (h->items[child] >= moved) break;
        h->items[at] = h->items[child];
        at = child;
    }
    h->items[at] = moved;
    return first;
}

/* One more than the place of the highest bit; 0 of 0. */
static inline unsigned highest_bit(uint64_t number)
{
#if defined(__GNUC__)
    return number == 0 ? 0 : 64 - (unsigned)__builtin_clzll(number);
#else
    unsigned bit = 0;
    for (; number != 0; number >>= 1) bit++;
    return bit;
#endif
}

static inline void queue_push(bpe_queue *q, uint64_t number)
{
    if (!q->is_radix || number < q->last) heap_push(q, number);
    else queue_append(q, &q->by_bit[highest_bit(number ^ q->last)], number);
}

/* The least number: 1, or 0 if there is none. */
static inline int queue_pop(bpe_queue *q, uint64_t *number)
{
    bpe_numbers *from = q->by_bit;
    unsigned bit = 0;
    size_t i;
    if (q->failed) return 0;
    if (q->heap.count > 0) { /* less than all others */
        *number = heap_pop(&q->heap);
        return 1;
    }
    if (!q->is_radix) return 0;
    while (bit <= 64 && from[bit].count == 0) bit++;
    if (bit > 64) return 0;
    if (bit > 0) {
        bpe_numbers *opened = from + bit;
        const size_t count = opened->count;
        for (q->last = opened->items[0], i = 1; i < count; i++) q->last = opened->items[i] < q->last ? opened->items[i] : q->last;
        for (i = 0; i < count; i++) queue_append(q, &from[highest_bit(opened->items[i] ^ q->last)], opened->items[i]);
        opened->count = 0;
        if (q->failed) return 0;
    }
    *number = from[0].items[--from[0].count];
    return 1;
}

static inline void queue_end(bpe_queue *q)
{
    int i;
    free(q->heap.items);
    for (i = 0; i <= 64; i++) free(q->by_bit[i].items);
}

#endif
