/* bpe_merge_backtrack.c - a piece in, its ids out: from left to right the longest token that may stand there, going back where none may.
 *
 * The ids of each beginning of a piece are unique (bpe_neighbours.h). So a place is reached with one sequence of tokens only, and if no
 * token may follow it there, it is never to be reached again: a bit for each place says so. Hence each place is tried once, with as many
 * tokens at most as begin there, and the time is linear.
 */
#include "bpe_neighbours.h"

#include <stdlib.h>

#define FEW 1024 /* bytes of a piece whose places need no memory of their own */

static uint32_t longest_token(const bpe_neighbours *n, const uint8_t *p, size_t length)
{
    uint32_t node = 0, token = BPE_NONE;
    size_t i;
    for (i = 0; i < length; i++) {
        const trie_edge *edge = trie_edge_of(&n->forward, node, p[i]);
        if (edge->key == TRIE_FREE) break;
        if (edge->token != BPE_NONE) token = edge->token;
        node = edge->child;
    }
    return token;
}

static inline size_t token_length(const bpe_neighbours *n, uint32_t id) { return n->v->starts[id + 1] - n->v->starts[id]; }

static size_t search(const bpe_neighbours *n, const uint8_t *p, size_t length, uint64_t *dead, uint32_t *out)
{
    size_t at = 0, count = 0;
    uint32_t token = longest_token(n, p, length);
    while (at < length) {
        while (token != BPE_NONE) {
            const size_t end = at + token_length(n, token);
            if (!(dead[end / 64] >> end % 64 & 1) && (count == 0 || stay_apart(n, out[count - 1], token))) break;
            token = n->shorter[token];
        }
        if (token != BPE_NONE) {
            out[count++] = token;
            at += token_length(n, token);
            token = longest_token(n, p + at, length - at);
        } else {
            if (count == 0) return BPE_NO_TOKEN;
            dead[at / 64] |= UINT64_C(1) << at % 64;
            token = out[--count];
            at -= token_length(n, token);
            token = n->shorter[token];
        }
    }
    return count;
}

size_t bpe_merge_backtrack(const bpe_neighbours *n, const uint8_t *piece, size_t length, uint32_t *out)
{
    uint64_t few[FEW / 64 + 1] = {0}, *dead = few;
    size_t count, i;
    for (i = 0; i < length; i++) {
        if (n->v->byte_tokens[piece[i]] == BPE_NONE) return BPE_NO_TOKEN;
    }
    if (length > FEW && (dead = calloc(length / 64 + 1, sizeof *dead)) == NULL) return BPE_NO_MEMORY;
    count = search(n, piece, length, dead, out);
    if (dead != few) free(dead);
    return count;
}
