/* train_table.h - how train_count.c keeps what it counted, for itself and for train_runs.c, which writes it down. */
#ifndef TRAIN_TABLE_H
#define TRAIN_TABLE_H

#include "bpe_hash.h"
#include "train.h"

#ifndef FRONT_BITS /* all of these are tiny in tests */
#define FRONT_BITS 13
#define WAITING 256
#define BLOCK_BITS 12          /* entries of a block */
#define CHUNK ((size_t)1 << 20) /* bytes of the arena */
#define FIRST_INDEX ((size_t)1 << 14)
#endif
#define LONG_PIECE 0xFF /* in the last byte of a key, with the length before it; `low` is where the bytes are */

typedef struct {
    uint64_t low, high, count, place;
} entry;

typedef struct {
    uint32_t tag, number; /* of the entry, from 1 on; 0: free */
} slot;

typedef struct {
    entry piece;
    uint64_t hash;
} waiting;

struct train_counts {
    uint64_t key[2];
    entry *front;
    waiting waiting[WAITING];
    size_t waits;
    slot *index;
    size_t mask, used, bytes; /* entries, and bytes of all pieces */
    entry **blocks;
    size_t block_room;
    uint8_t **chunks;
    size_t chunk_count, chunk_room, chunk_used, chunk_size, arena;
};

/* The number in the last byte in memory, which is the length of a shorter piece. */
static inline uint8_t last_byte(const entry *e)
{
    uint8_t bytes[8];
    memcpy(bytes, &e->high, 8);
    return bytes[7];
}

static inline int is_long(const entry *e) { return last_byte(e) == LONG_PIECE; }

static inline uint64_t long_key(uint64_t length)
{
    uint8_t bytes[8] = {0};
    uint64_t last;
    for (int i = 0; i < 7; i++) bytes[i] = (uint8_t)(length >> 8 * i);
    bytes[7] = LONG_PIECE;
    memcpy(&last, bytes, 8);
    return last;
}

static inline uint64_t length_of(const entry *e)
{
    uint8_t bytes[8];
    uint64_t length = 0;
    memcpy(bytes, &e->high, 8);
    if (bytes[7] != LONG_PIECE) return bytes[7];
    for (int i = 0; i < 7; i++) length |= (uint64_t)bytes[i] << 8 * i;
    return length;
}

static inline const uint8_t *bytes_of(const entry *e) { return (const uint8_t *)(uintptr_t)e->low; }

static inline uint64_t hash_of(const train_counts *c, const entry *e)
{
    uint64_t length, state;
    const uint8_t *p;
    if (!is_long(e)) return fold(e->low ^ c->key[0], e->high ^ c->key[1]);
    length = length_of(e);
    state = length ^ c->key[0];
    for (p = bytes_of(e); length >= 16; p += 16, length -= 16) state = fold(load_8(p) ^ state, load_8(p + 8) ^ c->key[1]);
    if (length > 0) {
        uint64_t last[2] = {0, 0};
        memcpy(last, p, (size_t)length);
        state = fold(last[0] ^ state, last[1] ^ c->key[1]);
    }
    return fold(state ^ c->key[1], c->key[0]);
}

static inline entry *entry_at(const train_counts *c, size_t number)
{
    return c->blocks[number >> BLOCK_BITS] + (number & (((size_t)1 << BLOCK_BITS) - 1));
}

/* Add all that lies in front or waits to its entry: -1 if memory is short. */
int train_counts_gather(train_counts *c);

/* Begin again with nothing: -1 if memory is short. */
int train_counts_clear(train_counts *c);

#endif
