/* bpe_hash.h - hashes of pieces, tokens and pairs, and what is found by them. For the bpe_*.c files.
 *
 * None is keyed: nothing depends on their quality but speed, since every table is either built from the vocabulary alone or has no
 * more than four places for a key.
 */
#ifndef BPE_HASH_H
#define BPE_HASH_H

#include <string.h>

#include "bpe.h"

#define ID_BITS 21
#ifndef TAG_BITS /* tests have fewer */
#define TAG_BITS 11
#endif

#if defined(__GNUC__)
#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)
#define PREFETCH(p) __builtin_prefetch(p)
#define NOT_INLINE __attribute__((noinline))
#define ALWAYS_INLINE inline __attribute__((always_inline))
#else
#define LIKELY(x) (x)
#define UNLIKELY(x) (x)
#define PREFETCH(p) ((void)(p))
#define NOT_INLINE
#define ALWAYS_INLINE inline
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

static inline uint64_t hash_bytes(const uint8_t *p, size_t length)
{
    uint64_t state = length, last[2] = {0, 0};
    for (; length >= 16; p += 16, length -= 16) state = fold(load_8(p) ^ state, load_8(p + 8) ^ UINT64_C(0xA0761D6478BD642F));
    memcpy(last, p, length);
    return fold(last[0] ^ state, last[1] ^ UINT64_C(0xE7037ED1A0B428DB));
}

static inline uint32_t bpe_token_length(const bpe_vocabulary *v, uint32_t id) { return v->starts[id + 1] - v->starts[id]; }

/* What stands above an id in ids: the upper bits of the hash of its bytes, so that hardly any other token is looked at. */
static inline uint32_t tag_of(uint64_t hash) { return (uint32_t)(hash >> (64 - TAG_BITS)) << ID_BITS; }

/* The place in ids where a token is looked for first. */
static inline uint32_t first_place(const bpe_vocabulary *v, uint64_t hash) { return (uint32_t)((hash & UINT32_MAX) * v->ids_count >> 32); }

/* The next token in ids whose hash may be this, or BPE_NONE. *tries: places that were looked at before, none at first. */
static inline uint32_t next_candidate(const bpe_vocabulary *v, uint64_t hash, uint32_t *tries)
{
    const uint32_t tag = tag_of(hash), first = first_place(v, hash), behind = v->ids_count - first;
    for (; *tries < v->ids_count; ++*tries) {
        const uint32_t known = v->ids[*tries < behind ? first + *tries : *tries - behind], id = known & (BPE_TOKENS - 1);
        if (id >= v->token_count) break; /* there is none behind */
        if (known - id == tag) return id;
    }
    return BPE_NONE;
}

static inline int has_bit(const uint64_t *bits, uint32_t bit) { return bits[bit / 64] >> bit % 64 & 1; }

static inline void set_bit(uint64_t *bits, uint32_t bit) { bits[bit / 64] |= UINT64_C(1) << bit % 64; }

/* Store a merge in a vocabulary that is being built. A later one of the same pair takes the place of an earlier one. */
void bpe_put_merge(bpe_vocabulary *v, uint32_t left, uint32_t right, uint32_t rank);

/* Store the merges of a vocabulary that has its tokens and no merges yet, and which tokens are known to be what their bytes merge to: -1 if
 * memory is short, 0 if not. */
int bpe_split_tokens(bpe_vocabulary *v, bpe_vectors vectors);

/* bpe_merge_many, or bpe_merge_rounds, of tokens: one with a byte that is no token has a count of 0. */
void bpe_merge_tokens(const bpe_vocabulary *v, bpe_job *jobs, size_t count, bpe_vectors vectors);

/* Memory of zeros, in large pages where the system has them: tables that are looked up at random are slow on small ones. */
void *bpe_allocate(size_t size);
void bpe_release(void *memory, size_t size);

#endif
