/* bpe_trie.h - tokens as a tree of their bytes, read from the first or from the last. For the bpe_*.c files.
 *
 * An edge is found by hashing its node and byte, and tells whether a token ends behind it: one look-up for each byte of a text.
 */
#ifndef BPE_TRIE_H
#define BPE_TRIE_H

#include "bpe_hash.h"

typedef struct {
    uint64_t key;          /* node << 8 | byte; TRIE_FREE: no edge */
    uint32_t child, token; /* the token that ends here, or BPE_NONE */
} trie_edge;

#define TRIE_FREE UINT64_MAX

typedef struct {
    trie_edge *edges;
    uint32_t mask, nodes; /* node 0 is the root */
} bpe_trie;

/* A tree of no tokens: 0, or -1 if memory is short. */
int bpe_trie_begin(bpe_trie *t);
void bpe_trie_end(bpe_trie *t);

/* Add a token by its bytes: 0, or -1 if memory is short. */
int bpe_trie_add(bpe_trie *t, const uint8_t *bytes, size_t length, int backward, uint32_t token);

static inline uint64_t trie_hash(uint64_t key) { return key * UINT64_C(0x9E3779B97F4A7C15) >> 32; }

/* The edge of a byte from a node, or the free place where it would be. */
static inline trie_edge *trie_edge_of(const bpe_trie *t, uint32_t node, uint8_t byte)
{
    const uint64_t key = (uint64_t)node << 8 | byte;
    uint32_t at = (uint32_t)trie_hash(key) & t->mask;
    while (t->edges[at].key != key && t->edges[at].key != TRIE_FREE) at = (at + 1) & t->mask;
    return t->edges + at;
}

#endif
