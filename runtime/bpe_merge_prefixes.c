/* bpe_merge_prefixes.c - a piece in, its ids out: first, for each beginning of it, the token that the ids of the beginning end with.
 *
 * That is the one token which ends there and may stand behind the last token of what is before it; there is always one, and only
 * one (bpe_neighbours.h). From the end of the piece, they are then picked up. The last tokens are kept where the ids will be.
 */
#include "bpe_neighbours.h"

/* The last token of the first `end` bytes, if the last tokens of all shorter beginnings are known: last[i] is that of i + 1 bytes. */
static uint32_t last_token(const bpe_neighbours *n, const uint8_t *p, size_t end, const uint32_t *last)
{
    uint32_t node = 0;
    size_t at = end;
    while (at-- > 0) {
        const trie_edge *edge = trie_edge_of(&n->backward, node, p[at]);
        if (edge->key == TRIE_FREE) break;
        if (edge->token != BPE_NONE && (at == 0 || stay_apart(n, last[at - 1], edge->token))) return edge->token;
        node = edge->child;
    }
    return BPE_NONE;
}

size_t bpe_merge_prefixes(const bpe_neighbours *n, const uint8_t *piece, size_t length, uint32_t *out)
{
    size_t i, end, count = 0;
    for (i = 0; i < length; i++) {
        if (n->v->byte_tokens[piece[i]] == BPE_NONE) return BPE_NO_TOKEN;
    }
    for (i = 0; i < length; i++) {
        if ((out[i] = last_token(n, piece, i + 1, out)) == BPE_NONE) return BPE_NO_TOKEN;
    }
    for (end = length; end > 0; count++) { /* never overwrites what is still to be picked up: a token has a byte at least */
        const uint32_t token = out[end - 1];
        out[length - 1 - count] = token;
        end -= n->v->starts[token + 1] - n->v->starts[token];
    }
    memmove(out, out + length - count, count * sizeof *out);
    return count;
}
