/* bpe_neighbours.h - which tokens may stand side by side, and two ways to encode a piece that ask nothing else.
 *
 * A sequence of tokens is what merging gives if and only if each two neighbours are what merging gives for the bytes of both, and a single
 * token what it gives for its own. For as long as no merge crosses a border between the tokens, what is between two borders changes
 * as it would by itself; so the first merge that crosses a border would have crossed it in the bytes of the two tokens beside it, too, and
 * where none crosses, each token is made. This holds for any merges. Since merging gives one result, a beginning of the piece has one
 * such sequence: whoever finds one has found the ids.
 *
 * Whether two tokens ever meet, side by side and both made, is told by going back through the merges that made them, the latest first,
 * and asking at each step whether what stands on both sides of the border would have merged instead. This takes that merges happen in
 * the order of their ranks: that where two tokens meet and merge, this has a higher rank than what made the two. Byte-pair training gives
 * no other vocabularies; those that were put together may be others: llama3, which is cl100k and 28,000 more tokens, makes ".:.:" of
 * ".:." and ":" by a merge of a lower rank than that of ".:.". `ordered` says so; where it is not set, there is no other way than
 * merging. (A merge of a lower rank whose two tokens never meet does no harm: cl100k has a token of sixteen spaces with a lower rank than
 * that of fifteen, but no text has fifteen and one side by side, since eight and eight have merged before.)
 *
 *     backtrack    the longest token first; a shorter one where it may not stand behind the one before; where none may, back
 *     prefixes     for each beginning of the piece the token that its ids end with, from left to right
 *
 * Neither is the default, which is bpe_merge_windows.c (docs/tokens.md has its figures). MB/s by the length of pieces of English prose (one
 * core, cl100k; 300 Z: 300 bytes of Chinese; 1 MB: of random letters):
 *
 *                  9 (words)     16     30     60    100    300   1000  10000   300 Z   1 MB
 *     sweep               28     30     26     20     14      4      1              8
 *     heap                18     16     15     14     12     11      9      5      33    1.4
 *     backtrack           14     24     27     27     33     29     33     32      43    3.9
 *     prefixes             9     14     11     11     11     10      9     10      45    7.5
 *
 * What is needed beside the vocabulary is made in 60 to 350 ms, and takes 10 to 40 MB.
 *
 * Both take time linear in the piece (bounded by the tokens that lie in one another, for each byte) and no memory that grows with it but,
 * for backtrack, a bit for each byte.
 */
#ifndef BPE_NEIGHBOURS_H
#define BPE_NEIGHBOURS_H

#include "bpe_pairs.h"
#include "bpe_trie.h"

typedef struct {
    const bpe_vocabulary *v;
    int ordered;               /* whether merges happen in the order of their ranks; if not, nothing else may be asked */
    uint32_t *made;            /* [token_count] rank of the merge that makes it and one; 0: a single byte; BPE_NONE: nothing makes it */
    uint32_t *left, *right;    /* [token_count] the parts of which that merge makes it */
    uint32_t *shorter;         /* [token_count] the longest token that it begins with, or BPE_NONE */
    bpe_trie forward, backward; /* the tokens that can be made */
} bpe_neighbours;

/* 0, or -1 if memory is short. The vocabulary must stay. */
int bpe_neighbours_begin(bpe_neighbours *n, const bpe_vocabulary *v);
void bpe_neighbours_end(bpe_neighbours *n);

/* Whether x and y ever stand side by side: whether nothing merges across the border between them before both are made. */
static inline int meet(const bpe_neighbours *n, uint32_t x, uint32_t y)
{
    uint32_t x_until = UINT32_MAX, y_until = UINT32_MAX, rank; /* when they become part of something else, as in made */
    for (;;) {
        const uint32_t made_x = n->made[x], made_y = n->made[y];
        if (made_x > made_y) {
            x_until = made_x;
            x = n->right[x];
        } else if (made_y > 0) {
            y_until = made_y;
            y = n->left[y];
        } else {
            return 1;
        }
        rank = find_merge(n->v, x, y);
        /* Of merges of one rank the leftmost goes first: what takes x away does, what takes y away does not. */
        if (rank != BPE_NONE && rank + 1 < x_until && rank + 1 <= y_until) return 0;
    }
}

/* Whether merging leaves x and y as they are. */
static inline int stay_apart(const bpe_neighbours *n, uint32_t x, uint32_t y)
{
    return find_merge(n->v, x, y) == BPE_NONE && meet(n, x, y);
}

/* The ids of a piece, of a vocabulary that is `ordered`: as bpe_merge. */
size_t bpe_merge_backtrack(const bpe_neighbours *n, const uint8_t *piece, size_t length, uint32_t *out);
size_t bpe_merge_prefixes(const bpe_neighbours *n, const uint8_t *piece, size_t length, uint32_t *out);

#endif
