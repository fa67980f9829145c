/* bpe_neighbours.c - a vocabulary in; out, how each token is made, and whether that happens in the order of ranks.
 *
 * The merges are gone through by rank. One makes its token if its two parts can be made and meet. In the end, each merge of two tokens that
 * meet must have a higher rank than theirs. Then no token was overlooked: the first one that some text would make and that was not
 * found would be made of two that were found and meet, by a merge that was gone through when they had been.
 */
#include "bpe_neighbours.h"

#include <stdlib.h>

static inline uint32_t left_of(uint64_t packed) { return (uint32_t)(packed >> 43); }

static inline uint32_t right_of(uint64_t packed) { return (uint32_t)(packed >> 22) & (BPE_TOKENS - 1); }

static inline uint32_t rank_of(uint64_t packed) { return (uint32_t)packed & (BPE_RANKS - 1); }

static inline uint32_t length_of(const bpe_vocabulary *v, uint32_t id) { return id < v->token_count ? v->starts[id + 1] - v->starts[id] : 0; }

/* The merge in a place of the table, packed as left, right and rank; all ones if there is none: of two tokens to what is as long as both, or an
 * image that was forged could lead in circles. */
static uint64_t merge_in(const bpe_vocabulary *v, uint32_t place)
{
    const bpe_pair_line *line = v->pairs + place / LINE_PAIRS;
    const uint64_t packed = (uint64_t)line->high[place % LINE_PAIRS] << 32 | line->low[place % LINE_PAIRS];
    const uint32_t left = length_of(v, left_of(packed)), right = length_of(v, right_of(packed));
    if (rank_of(packed) >= v->rank_count || left == 0 || right == 0) return UINT64_MAX;
    return length_of(v, merged_token(v, rank_of(packed))) == left + right ? packed : UINT64_MAX;
}

/* The merges by rank: their number, or SIZE_MAX if memory is short. */
static size_t merges_by_rank(const bpe_vocabulary *v, uint64_t **sorted)
{
    const uint32_t places = v->pairs_count * LINE_PAIRS;
    uint32_t *starts = calloc((size_t)v->rank_count + 1, sizeof *starts), i;
    size_t count = 0;
    *sorted = NULL;
    if (starts == NULL) return SIZE_MAX;
    for (i = 0; i < places; i++) {
        const uint64_t packed = merge_in(v, i);
        if (packed == UINT64_MAX) continue;
        starts[rank_of(packed) + 1]++;
        count++;
    }
    for (i = 0; i < v->rank_count; i++) starts[i + 1] += starts[i];
    *sorted = malloc((count + 1) * sizeof **sorted);
    for (i = 0; *sorted != NULL && i < places; i++) {
        const uint64_t packed = merge_in(v, i);
        if (packed != UINT64_MAX) (*sorted)[starts[rank_of(packed)]++] = packed;
    }
    free(starts);
    return *sorted == NULL ? SIZE_MAX : count;
}

static void find_made(bpe_neighbours *n, const uint64_t *merges, size_t count)
{
    const bpe_vocabulary *v = n->v;
    size_t i;
    for (i = 0; i < 256; i++) {
        if (v->byte_tokens[i] != BPE_NONE) n->made[v->byte_tokens[i]] = 0;
    }
    for (i = 0; i < count; i++) {
        const uint32_t left = left_of(merges[i]), right = right_of(merges[i]), rank = rank_of(merges[i]), token = merged_token(v, rank);
        if (n->made[left] > rank || n->made[right] > rank || !meet(n, left, right)) continue;
        n->made[token] = rank + 1;
        n->left[token] = left;
        n->right[token] = right;
    }
    for (i = 0, n->ordered = 1; n->ordered && i < count; i++) {
        const uint32_t left = left_of(merges[i]), right = right_of(merges[i]), rank = rank_of(merges[i]);
        if (n->made[left] == BPE_NONE || n->made[right] == BPE_NONE || (n->made[left] <= rank && n->made[right] <= rank)) continue;
        n->ordered = !meet(n, left, right);
    }
}

/* The tokens that can be made, as trees; and what each begins with. */
static int plant(bpe_neighbours *n)
{
    const bpe_vocabulary *v = n->v;
    uint32_t id;
    if (bpe_trie_begin(&n->forward) < 0 || bpe_trie_begin(&n->backward) < 0) return -1;
    for (id = 0; id < v->token_count; id++) {
        const uint8_t *bytes = v->bytes + v->starts[id];
        const size_t length = v->starts[id + 1] - v->starts[id];
        if (n->made[id] == BPE_NONE) continue;
        if (bpe_trie_add(&n->forward, bytes, length, 0, id) < 0 || bpe_trie_add(&n->backward, bytes, length, 1, id) < 0) return -1;
    }
    for (id = 0; id < v->token_count; id++) {
        uint32_t at = v->starts[id], node = 0;
        if (n->made[id] == BPE_NONE) continue;
        for (; at + 1 < v->starts[id + 1]; at++) {
            const trie_edge *edge = trie_edge_of(&n->forward, node, v->bytes[at]);
            if (edge->token != BPE_NONE) n->shorter[id] = edge->token;
            node = edge->child;
        }
    }
    return 0;
}

int bpe_neighbours_begin(bpe_neighbours *n, const bpe_vocabulary *v)
{
    const size_t size = ((size_t)v->token_count + 1) * sizeof *n->made;
    uint64_t *merges;
    const size_t count = merges_by_rank(v, &merges);
    int failed = count == SIZE_MAX;
    memset(n, 0, sizeof *n);
    n->v = v;
    n->made = malloc(4 * size);
    if (n->made == NULL) failed = 1;
    if (!failed) {
        memset(n->made, 0xFF, 4 * size);
        n->left = n->made + v->token_count + 1;
        n->right = n->left + v->token_count + 1;
        n->shorter = n->right + v->token_count + 1;
        find_made(n, merges, count);
        failed = n->ordered && plant(n) < 0;
    }
    free(merges);
    if (failed) bpe_neighbours_end(n);
    return failed ? -1 : 0;
}

void bpe_neighbours_end(bpe_neighbours *n)
{
    free(n->made);
    bpe_trie_end(&n->forward);
    bpe_trie_end(&n->backward);
    memset(n, 0, sizeof *n);
}
