/* bpe_hash.h - hashes of pieces, tokens and pairs, and what is found by them. For the bpe_*.c files.
 *
 * None is keyed: nothing depends on their quality but speed, since every table is either built from the vocabulary alone or has no
 * more than two places for a key.
 */
#ifndef BPE_HASH_H
#define BPE_HASH_H

#include <string.h>

#include "bpe.h"

#define FILTER_BITS 22
#define TOKEN_FILTER_BITS 20

#if defined(__GNUC__)
#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)
#define PREFETCH(p) __builtin_prefetch(p)
#else
#define LIKELY(x) (x)
#define UNLIKELY(x) (x)
#define PREFETCH(p) ((void)(p))
#endif

static inline uint64_t load_8(const void *p)
{
    uint64_t word;
    memcpy(&word, p, 8);
    return word;
}

/* Both halves of a product, folded: every bit of either factor reaches every bit. */
static inline uint64_t fold(uint64_t a, uint64_t b)
{
#ifdef __SIZEOF_INT128__
    __extension__ typedef unsigned __int128 wide;
    const wide product = (wide)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
#else
    const uint64_t x = (a ^ b >> 32) * UINT64_C(0x9E3779B97F4A7C15) ^ (b ^ a >> 29) * UINT64_C(0xC2B2AE3D27D4EB4F);
    return x ^ x >> 31;
#endif
}

static inline uint64_t hash_16(uint64_t low, uint64_t high)
{
    return fold(low ^ UINT64_C(0x9E3779B97F4A7C15), high ^ UINT64_C(0xD6E8FEB86659FD93));
}

static inline uint64_t hash_bytes(const uint8_t *p, size_t length)
{
    uint64_t state = length, last[2] = {0, 0};
    for (; length >= 16; p += 16, length -= 16) state = fold(load_8(p) ^ state, load_8(p + 8) ^ UINT64_C(0xA0761D6478BD642F));
    memcpy(last, p, length);
    return fold(last[0] ^ state, last[1] ^ UINT64_C(0xE7037ED1A0B428DB));
}

static inline uint64_t pair_key(uint32_t left, uint32_t right) { return (uint64_t)left << 21 | right; }

static inline uint64_t hash_pair(uint64_t key) { return fold(key, UINT64_C(0x9FB21C651E98DF25)); }

/* The rank of the merge of two tokens, or BPE_NONE. Most pairs do not merge, and a bit in the nearer cache says so. */
static inline uint32_t find_hashed(const bpe_vocabulary *v, uint64_t key, uint64_t hash)
{
    const uint64_t bit = hash >> (64 - FILTER_BITS);
    uint32_t at, tries;
    if (!(v->pair_filter[bit / 64] >> bit % 64 & 1)) return BPE_NONE;
    at = (uint32_t)hash & v->pairs_mask;
    for (tries = 0; tries <= v->pairs_mask; tries++, at = (at + 1) & v->pairs_mask) {
        const uint64_t found = v->pairs[at];
        if (found >> 22 == key) return (uint32_t)found & (BPE_RANKS - 1);
        if (found == UINT64_MAX) break;
    }
    return BPE_NONE;
}

static inline uint32_t find_merge(const bpe_vocabulary *v, uint32_t left, uint32_t right)
{
    const uint64_t key = pair_key(left, right);
    return find_hashed(v, key, hash_pair(key));
}

/* What a merge makes. */
static inline uint32_t merged_token(const bpe_vocabulary *v, uint32_t rank) { return v->ranks_are_ids ? rank : v->rank_tokens[rank]; }

/* Memory of zeros, in large pages where the system has them: tables that are looked up at random are slow on small ones. */
void *bpe_allocate(size_t size);
void bpe_release(void *memory, size_t size);

#endif
