/* bpe_trie.c - see bpe_trie.h. */
#include "bpe_trie.h"

#include <stdlib.h>

static trie_edge *free_edges(uint32_t mask)
{
    trie_edge *edges = malloc(((size_t)mask + 1) * sizeof *edges);
    if (edges != NULL) memset(edges, 0xFF, ((size_t)mask + 1) * sizeof *edges);
    return edges;
}

int bpe_trie_begin(bpe_trie *t)
{
    t->mask = 1023;
    t->nodes = 1;
    t->edges = free_edges(t->mask);
    return t->edges == NULL ? -1 : 0;
}

void bpe_trie_end(bpe_trie *t)
{
    free(t->edges);
    t->edges = NULL;
}

/* Twice the room: 0, or -1 and all is as it was. */
static int grow(bpe_trie *t)
{
    bpe_trie larger = {.mask = 2 * t->mask + 1, .nodes = t->nodes};
    uint32_t i;
    if (t->mask > UINT32_MAX / 4 || (larger.edges = free_edges(larger.mask)) == NULL) return -1;
    for (i = 0; i <= t->mask; i++) {
        const uint64_t key = t->edges[i].key;
        if (key != TRIE_FREE) *trie_edge_of(&larger, (uint32_t)(key >> 8), (uint8_t)key) = t->edges[i];
    }
    free(t->edges);
    *t = larger;
    return 0;
}

int bpe_trie_add(bpe_trie *t, const uint8_t *bytes, size_t length, int backward, uint32_t token)
{
    trie_edge *edge = NULL;
    uint32_t node = 0;
    size_t i;
    for (i = 0; i < length; i++) {
        const uint8_t byte = bytes[backward ? length - 1 - i : i];
        if (t->nodes > t->mask / 2 && grow(t) < 0) return -1;
        edge = trie_edge_of(t, node, byte);
        if (edge->key == TRIE_FREE) {
            const trie_edge made = {(uint64_t)node << 8 | byte, t->nodes++, BPE_NONE};
            *edge = made;
        }
        node = edge->child;
    }
    if (edge != NULL) edge->token = token;
    return 0;
}
