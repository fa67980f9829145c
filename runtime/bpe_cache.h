/* bpe_cache.h - what a thread remembers of pieces: for bpe_cache.c, which keeps it, and bpe_encode.c, which asks.
 *
 *     bucket     two entries of 32 bytes that share a line: pieces of up to 15 bytes and four ids, by their key
 *     medium     an entry of 64 bytes: up to 32 bytes and seven ids
 *     arena      longer, or more ids; filled from the start again when it is full
 *
 * At the start the buckets hold all tokens of up to 15 bytes, as `untried`: it has not been tried whether merging their bytes gives
 * them. As whole pieces of a vocabulary that is `whole` they are right as they are; otherwise, and as parts of pieces, they are merged
 * when they are first met. So a vocabulary in which some token is not what its bytes merge to is no special case.
 *
 * Invariants: an entry is only believed if the whole piece is compared; a new entry takes the place of an old one, and nothing grows.
 */
#ifndef BPE_CACHE_H
#define BPE_CACHE_H

#include "bpe_key.h"

/* Sizes, which tests make tiny: so many buckets (by their logarithm), medium entries, slots of the arena (powers of two), its bytes. */
#ifndef BUCKET_BITS
#define BUCKET_BITS 17
#define MEDIUMS (1u << 15)
#define SLOTS (1u << 14)
#define ARENA (4u << 20)
#define LONGEST 4096            /* pieces beyond are not remembered */
#endif
#if ARENA < 5 * LONGEST + 16
#error "the longest piece that is remembered must fit the arena"
#endif
#define BUCKETS (1u << BUCKET_BITS)
#define MEDIUM 32               /* longest piece in a medium entry */
#define MEDIUM_IDS 7

/* In the last of the four ids of an entry, which have 21 bits each: */
#define UNTRIED (UINT32_C(1) << 28)
#define ELSEWHERE (UINT32_C(1) << 29) /* it has more ids than fit here */
#define COUNT_SHIFT 30                /* number of ids - 1 */

typedef struct {
    key bytes;
    uint32_t ids[4];
} entry;

typedef struct {
    uint64_t bytes[4];
    uint16_t length, count;
    uint32_t ids[MEDIUM_IDS];
} medium_entry;

typedef struct {
    uint64_t hash;
    uint32_t at, generation; /* place in the arena; what is of an older generation is gone */
} slot;

/* A piece, or a part of one. What is right for a part may be wrong for a piece, where a token is not what its bytes merge to. */
typedef struct {
    const uint8_t *bytes;
    uint64_t readable; /* bytes from there on that may be read */
    uint32_t length, part;
} span;

struct bpe_encoder {
    const bpe_vocabulary *v;
    entry (*buckets)[2];
    medium_entry *mediums;
    slot *slots;
    uint8_t *arena;
    uint32_t used, generation;
    uint32_t refused; /* flags of entries that do not tell what a whole piece is */
};

static inline entry *bucket_of(const bpe_encoder *e, key k) { return e->buckets[key_hash(k) >> (64 - BUCKET_BITS)]; }

static inline key span_key(const span *s)
{
    return s->readable >= 16 ? key_of(s->bytes, s->length) : key_at_end(s->bytes, s->length);
}

/* The bytes of a piece of up to MEDIUM of them, with zeros behind, and where they are if they are anywhere. */
static inline medium_entry *medium_of(const bpe_encoder *e, const span *s, uint64_t bytes[4])
{
    int i;
    if (s->readable >= MEDIUM) {
        for (i = 0; i < 4; i++) bytes[i] = load_8(s->bytes + 8 * i) & load_8(FIRST_BYTES + MEDIUM - s->length + 8 * i);
    } else {
        memset(bytes, 0, MEDIUM);
        memcpy(bytes, s->bytes, s->length);
    }
    return e->mediums + (fold(hash_16(bytes[0], bytes[1]) ^ bytes[2], bytes[3] ^ s->length ^ UINT64_C(0xA0761D6478BD642F)) & (MEDIUMS - 1));
}

/* The newer entry stands first; the second makes room. */
void bpe_remember(bpe_encoder *e, key k, uint32_t flags, const uint32_t *ids, size_t count);

/* The ids of a piece of up to MEDIUM bytes, from a medium entry, or of up to LONGEST, from the arena: their number, or 0. */
size_t bpe_recall_medium(const bpe_encoder *e, const span *s, uint32_t *out);
size_t bpe_recall_long(const bpe_encoder *e, const span *s, uint32_t *out);

/* Keep them, in either, as it fits. */
void bpe_remember_longer(bpe_encoder *e, const span *s, const uint32_t *ids, size_t count);

#endif
