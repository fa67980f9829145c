/* bpe_splits.c - tokens of a rank file in; out, the merges that can ever happen: of which two tokens each one is made; and which
 * tokens are what their bytes merge to.
 *
 *     'there'  ->  't' 'here'      if merging its bytes ends with these two
 *
 * In a rank file, two tokens merge if their bytes together are a token. There are many ways to cut a token into two tokens, but only
 * one matters: the last two symbols when its own bytes are merged. For let two symbols l and r be neighbours in some text. Nothing
 * was merged across the borders of l r, or they would not be there. The pair that is merged next in the text, if it lies within l r, is
 * the lowest there, too. So what was merged within l r is what is merged first when l r is a text of its own, and l, r is a state on
 * the way to its token; there is only one state of two symbols on that way.
 *
 * So a vocabulary of 100,000 tokens has 100,000 merges, where there are 330,000 pairs of tokens whose bytes are a token. They are found in
 * the order of the lengths of tokens: on the way to a token only shorter ones are made, and their merges are in the table by then. So
 * many tokens of a length are merged at a time, by the merges that are there; where two symbols are left, these are the two, and where there
 * are more, the token is made in no text. (Ranks need not rise on the way: files may have tokens in any order.)
 *
 * Rejected: finding merges on demand, when a pair is first met (it makes the first sight of a text slower, and tables that
 * change cannot be shared); looking up all parts of a token by their bytes (three times slower, and tables of its own).
 */
#include "bpe_pairs.h"

#include <stdlib.h>

#define AT_ONCE 256

void bpe_merge_tokens(const bpe_vocabulary *v, bpe_job *jobs, size_t count, bpe_vectors vectors)
{
    size_t longest = 0, done, i;
    for (i = 0; i < count; i++) longest = jobs[i].length > longest ? jobs[i].length : longest;
    done = longest <= BPE_MEDIUM ? bpe_merge_rounds(v, jobs, count, vectors) : 0;
    if (done != BPE_NO_TOKEN && bpe_merge_many(v, jobs + done, count - done, longest) == 0) return;
    for (i = 0; i < count; i++) { /* one by one: a byte of some token is no token */
        if (bpe_merge_many(v, jobs + i, 1, jobs[i].length) != 0) jobs[i].count = 0;
    }
}

static size_t order_size(const bpe_vocabulary *v) { return ((size_t)v->token_count + 1) * sizeof(uint32_t); }

/* All ids in the order of the lengths of their tokens; NULL if memory is short. Not from the heap: what is freed there would have to be
 * made zeros again for a table that comes next and is hardly used. */
static uint32_t *by_length(const bpe_vocabulary *v)
{
    uint32_t *places = calloc((size_t)v->longest + 2, sizeof *places), *order = bpe_allocate(order_size(v)), id, i;
    if (places != NULL && order != NULL) {
        for (id = 0; id < v->token_count; id++) places[bpe_token_length(v, id) + 1]++;
        for (i = 1; i <= v->longest; i++) places[i] += places[i - 1];
        for (id = 0; id < v->token_count; id++) order[places[bpe_token_length(v, id)]++] = id;
    } else {
        bpe_release(order, order_size(v));
        order = NULL;
    }
    free(places);
    return order;
}

static void put_split(bpe_vocabulary *v, uint32_t id, const uint32_t *ids, size_t count)
{
    if (count == 2) bpe_put_merge(v, ids[0], ids[1], id);
    if (count == 2 || bpe_token_length(v, id) == 1) set_bit((uint64_t *)(uintptr_t)v->merged, id);
}

/* The first of these tokens, as many as have the same length and up to BPE_WIDE bytes; how many these are. */
static uint32_t split_some(bpe_vocabulary *v, const uint32_t *tokens, uint32_t count, bpe_vectors vectors)
{
    uint32_t ids[AT_ONCE][BPE_WIDE], n, i;
    bpe_job jobs[AT_ONCE];
    for (n = 0; n < AT_ONCE && n < count && bpe_token_length(v, tokens[n]) == bpe_token_length(v, tokens[0]); n++) {
        const bpe_job job = {v->bytes + v->starts[tokens[n]], bpe_token_length(v, tokens[n]), 0, ids[n]};
        jobs[n] = job;
    }
    bpe_merge_tokens(v, jobs, n, vectors);
    for (i = 0; i < n; i++) {
        if (jobs[i].count == 2) PREFETCH(line_of(v, pair_key(ids[i][0], ids[i][1])));
    }
    for (i = 0; i < n; i++) put_split(v, tokens[i], ids[i], jobs[i].count);
    return n;
}

int bpe_split_tokens(bpe_vocabulary *v, bpe_vectors vectors)
{
    uint32_t *ids = malloc(((size_t)v->longest + BPE_PADDING) * sizeof *ids), *tokens = by_length(v), at = 0;
    int failed = ids == NULL || tokens == NULL;
    while (!failed && at < v->token_count && bpe_token_length(v, tokens[at]) == 0) at++;
    while (!failed && at < v->token_count && bpe_token_length(v, tokens[at]) <= BPE_WIDE) {
        at += split_some(v, tokens + at, v->token_count - at, vectors);
    }
    for (; !failed && at < v->token_count; at++) {
        const size_t count = bpe_merge(v, BPE_HEAP, v->bytes + v->starts[tokens[at]], bpe_token_length(v, tokens[at]), ids);
        failed = count == BPE_NO_MEMORY;
        if (!failed) put_split(v, tokens[at], ids, count);
    }
    free(ids);
    bpe_release(tokens, order_size(v));
    return failed ? -1 : 0;
}
