/* bpe_key.h - a piece of 1 to 15 bytes in; out, the 16 bytes that stand for it in caches: its bytes, zeros, and in the last their number.
 *
 * Two ways, one with the vectors that every x86-64 has, which takes half the instructions, and one for everything else.
 */
#ifndef BPE_KEY_H
#define BPE_KEY_H

#include "bpe_hash.h"

#define EIGHT(byte) byte, byte, byte, byte, byte, byte, byte, byte

/* FIRST_BYTES + 32 - n: a mask of the first n bytes, for n up to 32. */
static const uint8_t FIRST_BYTES[64] = {EIGHT(0xFF), EIGHT(0xFF), EIGHT(0xFF), EIGHT(0xFF), EIGHT(0), EIGHT(0), EIGHT(0), EIGHT(0)};

#if defined(__SSE2__) && defined(__x86_64__) /* where registers have 32 bits, nothing takes 64 out of a vector */
#include <emmintrin.h>

typedef __m128i key;

/* Of p, 16 bytes may be read. */
static inline key key_of(const uint8_t *p, size_t length)
{
    const __m128i mask = _mm_loadu_si128((const void *)(FIRST_BYTES + 32 - length));
    return _mm_or_si128(_mm_and_si128(_mm_loadu_si128((const void *)p), mask), _mm_slli_si128(_mm_cvtsi32_si128((int)length), 15));
}

/* The record of a token, which is its key. */
static inline key record_key(const bpe_record *record) { return _mm_loadu_si128((const void *)record); }

static inline uint64_t key_low(key k) { return (uint64_t)_mm_cvtsi128_si64(k); }

static inline uint64_t key_high(key k) { return (uint64_t)_mm_cvtsi128_si64(_mm_unpackhi_epi64(k, k)); }

static inline int same_key(key a, key b) { return _mm_movemask_epi8(_mm_cmpeq_epi8(a, b)) == 0xFFFF; }

/* Four ids without what is kept beside them. */
static inline void copy_ids(uint32_t *out, const uint32_t ids[4])
{
    _mm_storeu_si128((void *)out, _mm_and_si128(_mm_loadu_si128((const void *)ids), _mm_set1_epi32(BPE_TOKENS - 1)));
}

/* A key that no piece has. */
static inline key no_key(void) { return _mm_cvtsi32_si128(1); }

#else

typedef struct {
    uint64_t low, high;
} key;

static inline key key_of(const uint8_t *p, size_t length)
{
    uint8_t last[8] = {0};
    key k = {load_8(p) & load_8(FIRST_BYTES + 32 - length), load_8(p + 8) & load_8(FIRST_BYTES + 40 - length)};
    last[7] = (uint8_t)length;
    k.high |= load_8(last);
    return k;
}

static inline key record_key(const bpe_record *record)
{
    const key k = {load_8(record), load_8(record->bytes + 8)};
    return k;
}

static inline uint64_t key_low(key k) { return k.low; }

static inline uint64_t key_high(key k) { return k.high; }

static inline int same_key(key a, key b) { return ((a.low ^ b.low) | (a.high ^ b.high)) == 0; }

static inline void copy_ids(uint32_t *out, const uint32_t ids[4])
{
    int i;
    for (i = 0; i < 4; i++) out[i] = ids[i] & (BPE_TOKENS - 1);
}

static inline key no_key(void)
{
    const key k = {1, 0};
    return k;
}

#endif

/* The same for a piece behind which nothing may be read. */
static inline key key_at_end(const uint8_t *p, size_t length)
{
    uint8_t copy[16] = {0};
    memcpy(copy, p, length);
    return key_of(copy, length);
}

#define HASH_LOW UINT64_C(0x9E3779B97F4A7C15)
#define HASH_HIGH UINT64_C(0xD6E8FEB86659FD93)

/* Its upper bits are good. */
static inline uint64_t key_hash(key k)
{
    return key_low(k) * HASH_LOW + key_high(k) * HASH_HIGH;
}

/* hash_bytes of the piece. The length is the last byte of a word: by the order of bytes, the upper or the lower one of a number. */
static inline uint64_t key_hash_bytes(key k)
{
    const uint64_t bytes = key_high(k) & load_8(FIRST_BYTES + 32 - 7), length = key_high(k) ^ bytes;
    return fold(key_low(k) ^ length >> 56 ^ (length & 0xFF), bytes ^ UINT64_C(0xE7037ED1A0B428DB));
}

#endif
