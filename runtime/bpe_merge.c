/* bpe_merge.c - one piece in, its ids out, by merging; several ways that give the same, and the one that fits its length.
 *
 *     sweep     all neighbours are looked through for the lowest rank each time: no bookkeeping, quadratic
 *     heap      what may be merged waits in a heap, symbols are linked: O(n log n), for pieces of any length
 *     windows   bpe_merge_windows.c; a piece that is no longer than one is merged by bpe_merge_many.c alone
 *
 * The last is the one that fits: whatever the length and the text, it takes less time than the others, mostly less than half.
 */
#include "bpe_pairs.h"
#include "bpe_queue.h"

#include <stdlib.h>

#define SHORT 96 /* bytes of a piece that is swept without memory of its own */

static size_t first_symbols(const bpe_vocabulary *v, const uint8_t *p, size_t length, uint32_t *symbols)
{
    size_t i;
    uint32_t missing = 0;
    for (i = 0; i < length; i++) {
        symbols[i] = v->byte_tokens[p[i]];
        missing |= symbols[i] == BPE_NONE;
    }
    return missing ? BPE_NO_TOKEN : length;
}

static size_t sweep(const bpe_vocabulary *v, const uint8_t *p, size_t length, uint32_t *symbols, uint32_t *ranks)
{
    size_t n = length, i, best;
    if (first_symbols(v, p, length, symbols) == BPE_NO_TOKEN) return BPE_NO_TOKEN;
    for (i = 0; i + 1 < n; i++) ranks[i] = v->byte_pairs[p[i] | (uint32_t)p[i + 1] << 8];
    while (n > 1) {
        uint32_t least = ranks[0];
        for (i = 1, best = 0; i + 1 < n; i++) {
            const int less = ranks[i] < least;
            best = less ? i : best;
            least = less ? ranks[i] : least;
        }
        if (least >= v->rank_count) break;
        n--;
        for (i = best + 1; i < n; i++) symbols[i] = symbols[i + 1];
        for (i = best; i + 1 < n; i++) ranks[i] = ranks[i + 1];
        symbols[best] = merged_token(v, least);
        if (best + 1 < n) ranks[best] = find_merge(v, symbols[best], symbols[best + 1]);
        if (best > 0) ranks[best - 1] = find_merge(v, symbols[best - 1], symbols[best]);
    }
    return n;
}

static size_t sweep_piece(const bpe_vocabulary *v, const uint8_t *p, size_t length, uint32_t *out)
{
    uint32_t few[SHORT + 1], *ranks = few;
    size_t n;
    if (length > SHORT && (ranks = malloc(length * sizeof *ranks)) == NULL) return BPE_NO_MEMORY;
    n = sweep(v, p, length, out, ranks);
    if (ranks != few) free(ranks);
    return n;
}

typedef struct {
    uint32_t symbol, rank, next, before; /* rank: of the merge with the next symbol, BPE_NONE if none */
} link;

/* A pair that may be merged is rank << 32 | index of the left symbol, so the lowest rank and then the leftmost comes first. */
static void offer(const bpe_vocabulary *v, bpe_queue *q, link *links, uint32_t at, size_t length)
{
    links[at].rank = links[at].next < length ? find_merge(v, links[at].symbol, links[links[at].next].symbol) : BPE_NONE;
    if (links[at].rank < v->rank_count) queue_push(q, (uint64_t)links[at].rank << 32 | at);
}

/* A pair whose symbols have changed since it was offered is passed over: its rank is not the one it had. Every merge offers two pairs
 * at most and there are fewer merges than bytes, so the queue holds less than 3 * length. */
static void merge_links(const bpe_vocabulary *v, link *links, bpe_queue *q, size_t length)
{
    uint64_t order;
    while (queue_pop(q, &order)) {
        const uint32_t at = (uint32_t)order, rank = (uint32_t)(order >> 32);
        uint32_t gone;
        if (links[at].rank != rank) continue;
        gone = links[at].next;
        links[at].symbol = merged_token(v, rank);
        links[at].next = links[gone].next;
        links[gone].rank = BPE_NONE;
        if (links[at].next < length) links[links[at].next].before = at;
        offer(v, q, links, at, length);
        if (at > 0) offer(v, q, links, links[at].before, length);
    }
}

static size_t heap_piece(const bpe_vocabulary *v, const uint8_t *p, size_t length, uint32_t *out)
{
    bpe_queue q;
    link *links;
    size_t i, n = 0;
    if (first_symbols(v, p, length, out) == BPE_NO_TOKEN) return BPE_NO_TOKEN;
    if (length >= UINT32_MAX / 4) return BPE_NO_MEMORY;
    links = malloc(length * sizeof *links);
    if (links == NULL) return BPE_NO_MEMORY;
    memset(&q, 0, sizeof q);
    q.is_radix = length >= BPE_RADIX_FROM;
    for (i = 0; i < length; i++) {
        const uint32_t rank = i + 1 < length ? v->byte_pairs[p[i] | (uint32_t)p[i + 1] << 8] : BPE_NONE;
        const link made = {out[i], rank, (uint32_t)(i + 1), (uint32_t)i - 1};
        links[i] = made;
        if (rank < v->rank_count) queue_push(&q, (uint64_t)rank << 32 | i);
    }
    merge_links(v, links, &q, length);
    for (i = 0; i < length; i = links[i].next) out[n++] = links[i].symbol;
    free(links);
    queue_end(&q);
    return q.failed ? BPE_NO_MEMORY : n;
}

size_t bpe_merge(const bpe_vocabulary *v, bpe_method method, const uint8_t *piece, size_t length, uint32_t *out)
{
    bpe_job job = {piece, (uint32_t)length, 0, out};
    if (length == 0) return 0;
    if (method == BPE_SWEEP) return sweep_piece(v, piece, length, out);
    if (method == BPE_HEAP) return heap_piece(v, piece, length, out);
    if (method == BPE_WINDOWS || length > BPE_WIDE) return bpe_merge_windows(v, piece, length, out, NULL, bpe_has_vectors());
    return bpe_merge_many(v, &job, 1, length) == 0 ? job.count : BPE_NO_TOKEN;
}
