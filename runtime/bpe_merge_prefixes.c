/* bpe_merge_prefixes.c - a piece in, its ids out: first, for each beginning of it, the token that the ids of the beginning end with.
 *
 * That is the one token which ends there and may stand behind the last token of what is before it; there is always one, and only
 * one (bpe_neighbours.h). From the end of the piece, they are then picked up. The last tokens are kept where the ids will be.
 */
#include "bpe_neighbours.h"

static inline size_t length_of(const bpe_neighbours *n, uint32_t token) { return n->v->starts[token + 1] - n->v->starts[token]; }

static inline int is_last(const bpe_neighbours *n, size_t start, const uint32_t *last, uint32_t token)
{
    return token != BPE_NONE && (start == 0 || stay_apart(n, last[start - 1], token));
}

/* The last token of the first `end` bytes, if the last tokens of all shorter beginnings are known: last[i] is that of i + 1 bytes. */
static uint32_t last_token(const bpe_neighbours *n, const uint8_t *p, size_t end, const uint32_t *last)
{
    uint32_t node = 0;
    size_t at = end;
    while (at-- > 0) {
        const trie_edge *edge = trie_edge_of(&n->backward, node, p[at]);
        if (edge->key == TRIE_FREE) break;
        if (is_last(n, at, last, edge->token)) return edge->token;
        node = edge->child;
    }
    return BPE_NONE;
}

#define LONG 8 /* bytes */

/* Of a token, from its first byte on. */
static uint32_t node_of(const bpe_neighbours *n, const uint8_t *token, size_t length)
{
    uint32_t node = 0;
    size_t i;
    for (i = 0; i < length; i++) node = trie_edge_of(&n->forward, node, token[i])->child;
    return node;
}

/* The last tokens of all beginnings; 0, if one has none. In runs, in which 83 tokens of blanks may end at each place, the next mostly begins
 * where this one does: so behind a long one that is tried first. */
static int find_last_tokens(const bpe_neighbours *n, const uint8_t *p, size_t length, uint32_t *last)
{
    size_t end, start = 0;
    uint32_t node = 0; /* of the bytes from `start` to `end`, if these are a long token */
    for (end = 0; end < length; end++) {
        if (end - start >= LONG) {
            const trie_edge *edge = trie_edge_of(&n->forward, node, p[end]);
            if (edge->key != TRIE_FREE && is_last(n, start, last, edge->token)) {
                last[end] = edge->token;
                node = edge->child;
                continue;
            }
        }
        if ((last[end] = last_token(n, p, end + 1, last)) == BPE_NONE) return 0;
        start = end + 1 - length_of(n, last[end]);
        if (end + 1 - start >= LONG) node = node_of(n, p + start, end + 1 - start);
    }
    return 1;
}

size_t bpe_merge_prefixes(const bpe_neighbours *n, const uint8_t *piece, size_t length, uint32_t *out)
{
    size_t i, end, count = 0;
    for (i = 0; i < length; i++) {
        if (n->v->byte_tokens[piece[i]] == BPE_NONE) return BPE_NO_TOKEN;
    }
    if (!find_last_tokens(n, piece, length, out)) return BPE_NO_TOKEN;
    for (end = length; end > 0; count++) { /* never overwrites what is still to be picked up: a token has a byte at least */
        const uint32_t token = out[end - 1];
        out[length - 1 - count] = token;
        end -= length_of(n, token);
    }
    memmove(out, out + length - count, count * sizeof *out);
    return count;
}
