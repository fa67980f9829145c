/* bpe_sizes.h - a token in; out, all that has to be known of it to decode it or to measure what it decodes to, in 32 bits. For the bpe_*.c files.
 *
 * Its bytes, how many of them start a character, and bits for how wide the widest of these is; so that many tokens are measured by adding
 * and oring one number each. The numbers lie in the image of a vocabulary: to make them again takes as long as all else of loading it.
 */
#ifndef BPE_SIZES_H
#define BPE_SIZES_H

#include "bpe_hash.h"

/* In the size of a token: its bytes, up to MANY, characters, */
#define MANY 127
#define CHARACTERS_SHIFT 16
/* and whether it has one above U+007F, U+00FF, U+FFFF; is no record of 16 bytes; is none, another or longer than MANY. */
#define WIDER_SHIFT 27
#define LONG (UINT32_C(1) << 30)
#define RARE (UINT32_C(1) << 31)

/* How many bytes start a character, and bits for how wide these are. */
static inline uint32_t spelled(const uint8_t *bytes, size_t length, uint32_t *wider)
{
    uint32_t characters = 0;
    uint8_t most = 0;
    size_t i;
    for (i = 0; i < length; i++) {
        characters += (bytes[i] & 0xC0) != 0x80;
        most = bytes[i] > most ? bytes[i] : most;
    }
    *wider = (most >= 0x80) | (most >= 0xC4) << 1 | (most >= 0xF0) << 2;
    return characters;
}

static inline uint32_t size_of(const bpe_vocabulary *v, uint32_t id)
{
    const uint8_t *record = v->records[id].bytes;
    const uint32_t length = bpe_token_length(v, id);
    const int all_ascii = ((load_8(record) | load_8(record + 8)) & UINT64_C(0x8080808080808080)) == 0; /* if it has up to 15 bytes */
    uint32_t wider, characters;
    if (length == 0 || length > MANY) return RARE | LONG;
    if (all_ascii && length <= 15) return length | length << CHARACTERS_SHIFT;
    characters = spelled(v->bytes + v->starts[id], length, &wider);
    return length | characters << CHARACTERS_SHIFT | wider << WIDER_SHIFT | (length > 15 ? LONG : 0);
}

/* Whether it may be that of a token of so many bytes, so that decoding by it stays within the tables. */
static inline int fits_size(uint32_t size, uint32_t length)
{
    return ((size & RARE) != 0) | (((size & MANY) == length) & (length - 1 < MANY) & (((size & LONG) != 0) == (length > 15)));
}

#endif
