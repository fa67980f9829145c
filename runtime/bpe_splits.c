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
 * So a vocabulary of 100,000 tokens has 100,000 merges, where there are 330,000 pairs of tokens whose bytes are a token. All parts of a
 * token are hashed at once for this: the hash of bytes i..k follows from those of 0..i and 0..k.
 *
 * Rejected: finding merges on demand, when a pair is first met (it makes the first sight of a text slower, and tables that
 * change cannot be shared).
 */
#include "bpe_pairs.h"

#include <stdlib.h>

#define FACTOR UINT64_C(0xD1342543DE82EF95)
#define SIEVE_BITS 21
#define LONGEST_SWEPT 256 /* of longer tokens, all ways to cut them are taken: harmless, and no more than they have bytes */

typedef struct {
    uint32_t hash; /* its upper half; the lower one says where it is */
    uint32_t id;
} hashed_token;

typedef struct {
    const bpe_vocabulary *v;
    hashed_token *tokens;     /* open addressing by hash */
    uint32_t mask;
    uint64_t *sieve;          /* bits by hash: most parts of tokens are no tokens */
    uint32_t *twos;           /* [65536] tokens of two bytes */
    uint64_t *hashes, *powers; /* of the beginnings of a token: sum of byte * FACTOR^(bytes behind); powers of FACTOR */
    const uint8_t *bytes;     /* that token */
} splitter;

static inline uint64_t mixed(uint64_t hash)
{
    hash ^= hash >> 32;
    hash *= UINT64_C(0x9E3779B97F4A7C15);
    return hash ^ hash >> 29;
}

/* The hashes of all beginnings of a token. */
static uint64_t begin_token(splitter *s, const uint8_t *bytes, uint32_t length)
{
    uint64_t hash = 0;
    uint32_t i;
    s->bytes = bytes;
    s->hashes[0] = 0;
    for (i = 0; i < length; i++) s->hashes[i + 1] = hash = hash * FACTOR + bytes[i] + 1;
    return mixed(hash);
}

static inline uint32_t load_4(const void *p)
{
    uint32_t word;
    memcpy(&word, p, 4);
    return word;
}

/* Whether bytes are equal, of which there is one at least and seldom more than sixteen. */
static inline int same_bytes(const uint8_t *a, const uint8_t *b, uint32_t length)
{
    if (length > 16) return memcmp(a, b, length) == 0;
    if (length >= 8) return ((load_8(a) ^ load_8(b)) | (load_8(a + length - 8) ^ load_8(b + length - 8))) == 0;
    if (length >= 4) return ((load_4(a) ^ load_4(b)) | (load_4(a + length - 4) ^ load_4(b + length - 4))) == 0;
    return a[0] == b[0] && a[length / 2] == b[length / 2] && a[length - 1] == b[length - 1];
}

/* The token that these bytes of the token are, or BPE_NONE. */
static inline uint32_t part(const splitter *s, uint32_t start, uint32_t end)
{
    const uint32_t length = end - start;
    uint64_t hash;
    uint32_t at;
    if (length == 2) return s->twos[s->bytes[start] | (uint32_t)s->bytes[start + 1] << 8];
    hash = mixed(s->hashes[end] - s->hashes[start] * s->powers[length]);
    if (!has_bit(s->sieve, (uint32_t)(hash >> (64 - SIEVE_BITS)))) return BPE_NONE;
    for (at = (uint32_t)hash & s->mask; s->tokens[at].id != BPE_NONE; at = (at + 1) & s->mask) {
        const uint32_t id = s->tokens[at].id;
        if (s->tokens[at].hash == (uint32_t)(hash >> 32) && bpe_token_length(s->v, id) == length &&
            same_bytes(s->v->bytes + s->v->starts[id], s->bytes + start, length)) return id;
    }
    return BPE_NONE;
}

/* Where the last two symbols meet, when the bytes of the token are merged; 0 if they do not merge to it. */
static uint32_t last_split(const splitter *s, uint32_t length)
{
    uint32_t starts[LONGEST_SWEPT + 1], ranks[LONGEST_SWEPT], n = length, i, best, least;
    for (i = 0; i <= n; i++) starts[i] = i;
    for (i = 0; i + 1 < n; i++) ranks[i] = part(s, i, i + 2);
    while (n > 2) {
        for (least = ranks[0], best = 0, i = 1; i + 1 < n; i++) {
            const int less = ranks[i] < least;
            best = less ? i : best;
            least = less ? ranks[i] : least;
        }
        if (least == BPE_NONE) return 0;
        for (i = best + 1; i < n; i++) starts[i] = starts[i + 1];
        for (i = best; i + 2 < n; i++) ranks[i] = ranks[i + 1];
        n--;
        if (best + 1 < n) ranks[best] = part(s, starts[best], starts[best + 2]);
        if (best > 0) ranks[best - 1] = part(s, starts[best - 1], starts[best + 1]);
    }
    return starts[1];
}

static void free_splitter(splitter *s)
{
    bpe_release(s->tokens, ((size_t)s->mask + 1) * sizeof *s->tokens);
    free(s->sieve);
    free(s->twos);
    free(s->hashes);
    free(s->powers);
}

static int make_splitter(splitter *s, const bpe_vocabulary *v)
{
    uint32_t id, i;
    s->v = v;
    for (s->mask = 63; s->mask < v->token_count + v->token_count / 2;) s->mask = s->mask * 2 + 1;
    s->tokens = bpe_allocate(((size_t)s->mask + 1) * sizeof *s->tokens);
    s->sieve = calloc((size_t)1 << (SIEVE_BITS - 6), sizeof *s->sieve);
    s->twos = malloc(65536 * sizeof *s->twos);
    s->hashes = malloc(((size_t)v->longest + 1) * sizeof *s->hashes);
    s->powers = malloc(((size_t)v->longest + 1) * sizeof *s->powers);
    if (s->tokens == NULL || s->sieve == NULL || s->twos == NULL || s->hashes == NULL || s->powers == NULL) return -1;
    memset(s->tokens, 0xFF, ((size_t)s->mask + 1) * sizeof *s->tokens);
    memset(s->twos, 0xFF, 65536 * sizeof *s->twos);
    for (s->powers[0] = 1, i = 1; i <= v->longest; i++) s->powers[i] = s->powers[i - 1] * FACTOR;
    for (id = 0; id < v->token_count; id++) {
        const uint8_t *bytes = v->bytes + v->starts[id];
        const uint32_t length = bpe_token_length(v, id);
        uint64_t hash;
        uint32_t at;
        if (length == 0) continue;
        if (length == 2) s->twos[bytes[0] | (uint32_t)bytes[1] << 8] = id;
        hash = begin_token(s, bytes, length);
        set_bit(s->sieve, (uint32_t)(hash >> (64 - SIEVE_BITS)));
        for (at = (uint32_t)hash & s->mask; s->tokens[at].id != BPE_NONE;) at = (at + 1) & s->mask;
        s->tokens[at].hash = (uint32_t)(hash >> 32);
        s->tokens[at].id = id;
    }
    return 0;
}

/* The merge of a token that is cut there, if both sides are tokens. */
static size_t add_split(const splitter *s, uint32_t id, uint32_t at, uint32_t length, uint64_t *out)
{
    const uint32_t left = part(s, 0, at), right = part(s, at, length);
    if (left == BPE_NONE || right == BPE_NONE) return 0;
    *out = pair_key(left, right) << RANK_BITS | id;
    return 1;
}

uint64_t *bpe_split_tokens(const bpe_vocabulary *v, size_t *count, uint64_t *merged)
{
    uint64_t *packed = NULL;
    splitter s;
    size_t room = 1;
    uint32_t id, at;
    *count = 0;
    for (id = 0; id < v->token_count; id++) room += bpe_token_length(v, id) <= LONGEST_SWEPT ? 1 : bpe_token_length(v, id);
    if (make_splitter(&s, v) == 0) packed = malloc(room * sizeof *packed);
    for (id = 0; packed != NULL && id < v->token_count; id++) {
        const uint32_t length = bpe_token_length(v, id);
        if (length == 1) set_bit(merged, id);
        if (length < 2) continue;
        begin_token(&s, v->bytes + v->starts[id], length);
        if (length <= LONGEST_SWEPT) {
            at = last_split(&s, length);
            if (at > 0) {
                set_bit(merged, id);
                *count += add_split(&s, id, at, length, packed + *count);
            }
        } else {
            for (at = 1; at < length; at++) *count += add_split(&s, id, at, length, packed + *count);
        }
    }
    free_splitter(&s);
    return packed;
}
