/* bpe_cache.h - what a thread remembers of pieces: for bpe_cache.c, which keeps it, and bpe_encode.c, which asks.
 *
 *     bucket     two entries of 32 bytes that share a line: pieces of up to 15 bytes and four ids, by their key. What no longer
 *                fits its bucket moves on to the one beside it, as a guest, if there is room: the two looked at first are the last ones used
 *     medium     two entries of 64 bytes: up to 32 bytes and seven ids. What no longer fits becomes a guest of the two beside them
 *     arena      longer pieces, and ids that do not fit their entry; two halves, and filled from the start again when both are full
 *
 * A piece of more than 32 bytes that falls into parts is kept only when it is met again: most never are.
 *
 * There are few of both at first, since memory takes time to be had, and as many as said below before these fill up. Where texts have so
 * many pieces that some have to go, there are twice as many buckets, once; and more of both for who asks for them (bpe_encoder_make_room).
 *
 * A token that merging its bytes does not give, or that is too long to have been tried, is `untried`: its entry is believed for whole
 * pieces of a vocabulary that takes them whole, not for parts of pieces.
 *
 * Invariants: an entry is only believed if the whole piece is compared; a new entry takes the place of an old one, and nothing grows but
 * those two, to what is said below.
 */
#ifndef BPE_CACHE_H
#define BPE_CACHE_H

#include "bpe_key.h"

/* Sizes, which tests make tiny: so many buckets (by their logarithm), medium entries, slots for what has the arena alone (powers of two), bytes
 * of each half of that. */
#ifndef BUCKET_BITS
#define BUCKET_BITS 16
#define MEDIUMS (1u << 15)
#define SLOTS (1u << 15)
#define ARENA ((1u << 20) - (68u << 10) - 16) /* with which the tables of a first text fill two large pages */
#define SHORT_BITS 14
#define LONGEST 4096            /* pieces beyond are not remembered */
#endif
#if ARENA < 5 * LONGEST + 16
#error "the longest piece that is remembered must fit the arena"
#endif
#define BUCKETS (1u << BUCKET_BITS)
#define FEW_BUCKETS (BUCKETS > 4 ? BUCKETS / 4 : 1) /* at first, for half as many entries; then BUCKETS; */
#define UNASKED_BUCKETS (2 * BUCKETS) /* where entries had to go; */
#define MOST_BUCKETS (8 * BUCKETS)    /* and where more had to, for who asks */
#define FEW_MEDIUMS (MEDIUMS > 16 ? MEDIUMS / 16 : 2) /* likewise; MEDIUMS are there for who does not ask */
#define MOST_MEDIUMS (2 * MEDIUMS)
#define LOST 16                 /* of so many buckets or medium entries, one entry had to go before there are more */
#define SHORT 8                 /* longest piece in an entry of its own kind, of which there are so many: */
#define SHORTS (1u << SHORT_BITS)
#define CHARACTERS 0x10000      /* that have an entry of their own, at their number */
#define MEDIUM BPE_MEDIUM       /* longest piece in a medium entry */
#define MEDIUM_IDS 7
#define SEEN_BITS 20            /* of hashes of pieces that were met once */
#define SEEN (1u << 17)         /* pieces after which all are forgotten */

#ifndef MET_AGAIN /* tests have fewer */
#define MET_AGAIN 256 /* words more that were met before than NEW_WORD times those that were not, after which none is cut; */
/* and, of words that are whole, NEW_WHOLE_WORD times those that are new more than those that are not, after which they are cut again */
#define WHOLE_WORDS (1u << 14)
#endif
#define NEW_WORD 8
#define NEW_WHOLE_WORD 2

/* In the last of the four ids of an entry, which have 21 bits each: */
#define PLAIN_SHIFT 27
#define PLAIN (UINT32_C(1) << PLAIN_SHIFT) /* neither of the next two, nor empty */
#define UNTRIED (UINT32_C(1) << 28)
#define ELSEWHERE (UINT32_C(1) << 29) /* it has more ids than fit here: instead of them, where they are, of which generation, how many */
#define COUNT_SHIFT 30                /* number of ids - 1 */

/* A bucket is the keys of its two entries and then their ids, so that a key is compared with both at once. Each entry begins at its key. */
typedef struct {
    key bytes, another; /* another entry's */
    uint32_t ids[4];
} entry;

#define BUCKET 64 /* bytes */

static inline entry *second_of(const entry *bucket) { return (entry *)(void *)((key *)(void *)bucket + 1); }

typedef struct {
    uint64_t bytes[4];
    uint16_t length, count;
    uint32_t ids[MEDIUM_IDS];
} medium_entry;

/* See bpe_short.h. */
typedef struct {
    uint64_t word, ids;
} short_entry;

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
    bpe_watch *watch;
    uint8_t *tables; /* all of them */
    uint8_t *buckets;
    medium_entry *mediums;
    slot *slots;
    uint32_t (*characters)[4]; /* by number: ids as an entry has them, with PLAIN; zeros where there are none */
    short_entry *shorts;
    uint8_t *arena;
    uint32_t half, spare, generation; /* of the arena: what is being filled, and bytes left of it; so many times it was full */
    uint64_t *seen;
    uint64_t *left, *medium_left; /* bits by bucket, and by two medium entries: something has moved on to others */
    uint32_t seen_count, guests; /* how many guests were asked for */
    uint32_t bucket_mask, medium_mask;
    uint32_t room, medium_room; /* for entries, or for what is lost, until there are to be more */
    uint32_t moved; /* counts what is put into buckets: where ids were before, others may be then */
    uint32_t skipped, skip;     /* calls that go on without looking pieces up by words, where that was not worth it; so many after the next */
    uint32_t whole_words, met_again; /* 0: words that may be cut are; else so much above where they are again. And how near they are to be whole */
    int vectors; /* whether AVX-512 may be used; */
    bpe_vectors most_vectors; /* and what may be at most */
    uint8_t recent[256]; /* by hash: which of those that wait may be the same piece */
};

#define BUCKET_SHIFT (61 - BUCKET_BITS) /* of hashes, to as many bits as MOST_BUCKETS have */

static inline uint32_t bucket_number(const bpe_encoder *e, key k) { return (uint32_t)(key_hash(k) >> BUCKET_SHIFT) & e->bucket_mask; }

static inline entry *bucket_at(const bpe_encoder *e, uint32_t number) { return (entry *)(void *)(e->buckets + BUCKET * (size_t)number); }

static inline entry *bucket_of(const bpe_encoder *e, key k) { return bucket_at(e, bucket_number(e, k)); }

/* The entry of a bucket that may be that of a key: the other one is not. No branch depends on which. */
static inline entry *entry_of(const entry *bucket, key k)
{
    return (entry *)(void *)((key *)(void *)bucket + !same_key(bucket->bytes, k));
}

/* The other bucket in which a key may be: asked only where the first has failed. It lies beside that, and so is there sooner than one that lies
 * anywhere. */
static inline entry *guest_bucket_of(const bpe_encoder *e, key k) { return bucket_at(e, (bucket_number(e, k) ^ 1) & e->bucket_mask); }

static inline key span_key(const span *s)
{
    return s->readable >= 16 ? key_of(s->bytes, s->length) : key_at_end(s->bytes, s->length);
}

/* hash_bytes of a longer piece: without a branch for each of its last bytes, where so many may be read. */
static inline uint64_t span_hash(const span *s)
{
    const uint8_t *p = s->bytes;
    uint64_t state = s->length;
    uint32_t rest = s->length;
    if (s->length > MEDIUM || s->readable < MEDIUM + 16) return hash_bytes(s->bytes, s->length);
    for (; rest >= 16; p += 16, rest -= 16) state = fold(load_8(p) ^ state, load_8(p + 8) ^ UINT64_C(0xA0761D6478BD642F));
    return fold((load_8(p) & load_8(FIRST_BYTES + 32 - rest)) ^ state,
                (load_8(p + 8) & load_8(FIRST_BYTES + 40 - rest)) ^ UINT64_C(0xE7037ED1A0B428DB));
}

/* The first of two where a longer piece is, if it is anywhere: by its hash_bytes. */
static inline medium_entry *mediums_of(const bpe_encoder *e, uint64_t hash) { return e->mediums + (hash & e->medium_mask); }

static inline uint32_t pair_number(const bpe_encoder *e, uint64_t hash) { return (uint32_t)(hash & e->medium_mask) / 2; }

/* The first of two that share a line. */
static inline slot *slots_of(const bpe_encoder *e, uint64_t hash) { return e->slots + (hash >> 20 & (SLOTS - 1) & ~1u); }

/* Whether a piece was met before; now it was. */
static inline int seen_before(bpe_encoder *e, uint64_t hash)
{
    const uint32_t bit = (uint32_t)(hash >> (64 - SEEN_BITS));
    if (has_bit(e->seen, bit)) return 1;
    if (++e->seen_count == SEEN) {
        memset(e->seen, 0, (1u << SEEN_BITS) / 8);
        e->seen_count = 0;
    }
    set_bit(e->seen, bit);
    return 0;
}

/* The entry of a key in the other bucket, or NULL. */
static inline entry *guest_of(const bpe_encoder *e, key k)
{
    entry *found;
    if (!has_bit(e->left, bucket_number(e, k))) return NULL; /* from most buckets nothing has moved on */
    found = entry_of(guest_bucket_of(e, k), k);
    return same_key(found->bytes, k) ? found : NULL;
}

/* Ids that did not fit their entry: their number, or 0 if they are gone. Three more may be written. */
static inline size_t ids_elsewhere(const bpe_encoder *e, const uint32_t where[2], size_t count, uint32_t *out)
{
    const uint8_t *at = e->arena + where[0];
    size_t i;
    if (where[1] != e->generation) return 0;
    for (i = 0; i < count; i += 4) memcpy(out + i, at + 4 * i, 4 * sizeof *out);
    return count;
}

/* The ids of an entry, likewise. */
static inline size_t ids_of(const bpe_encoder *e, const entry *found, uint32_t *out)
{
    if ((found->ids[3] & ELSEWHERE) != 0) return ids_elsewhere(e, found->ids, found->ids[2], out);
    copy_ids(out, found->ids);
    return 1 + (size_t)(found->ids[3] >> COUNT_SHIFT);
}

/* A guest goes where it is looked for first. */
void bpe_come_home(bpe_encoder *e, entry *guest);

/* Of up to BPE_KEY ids, four of which can be read. The newer entry stands first; the second becomes a guest elsewhere. */
void bpe_remember(bpe_encoder *e, key k, uint32_t flags, const uint32_t *ids, size_t count);

/* The ids of a piece of more than BPE_KEY bytes, and up to LONGEST: their number, or 0. Three more may be written. */
size_t bpe_recall(const bpe_encoder *e, const span *s, uint64_t hash, uint32_t *out);

/* Keep them. */
void bpe_remember_longer(bpe_encoder *e, const span *s, uint64_t hash, const uint32_t *ids, size_t count);

#endif
