/* bpe_joints.h - where a piece may be cut without changing its ids: between two characters beyond ASCII around which no token lies.
 *
 * Merging only ever makes tokens. If no token of the vocabulary contains the place between two characters together with what is
 * on both sides of it here, nothing that is merged ever crosses the place; so what happens on one side does not depend on the other,
 * and the ids are those of both sides, each by itself. In Chinese nearly every place between two characters is one, and what is
 * left of a sentence are parts of one to three characters, which are found in the cache.
 *
 * A token lies around a place as `characters` (it has all of the character before and all of the one behind: a bit by the hash of
 * both says so), or with only some bytes of either (a bit by the last byte before and the first two behind). Bits that are set by
 * chance make parts longer, never wrong. Beside a character that is ill-formed there is no such place.
 */
#ifndef BPE_JOINTS_H
#define BPE_JOINTS_H

#include "bpe_hash.h"

#define SCRIPTS 0xE0 /* first bytes of characters of three bytes and more, from U+0800 on */
#define ONE 4        /* bytes that are one character, if they begin with such a byte, or have no joint at least */
#define LOOK 12      /* bytes at the beginning of a longer piece in which a joint is looked for */
#define CHAR_JOINT_BITS 20
#define BYTE_JOINT_BITS 18

/* The bytes that a character has according to its first, which is C0 or above. */
static inline size_t char_length(uint8_t lead) { return lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4; }

/* The bytes of the character that ends at p, of which at most `most` may be looked at: 0 if it is not there. */
static inline size_t char_before(const uint8_t *p, size_t most)
{
    size_t n;
    for (n = 1; n <= 4 && n <= most; n++) {
        if (p[-(ptrdiff_t)n] >= 0xC0) return char_length(p[-(ptrdiff_t)n]) == n ? n : 0;
        if (p[-(ptrdiff_t)n] < 0x80) return 0;
    }
    return 0;
}

/* Whether so many bytes, which start with one that announces as many, go on as a character does. */
static inline int is_character(uint32_t number, size_t length)
{
    const uint32_t tops = length == 2 ? 0x80u : length == 3 ? 0x8080u : 0x808080u;
    return (number & (tops | tops >> 1)) == tops;
}

/* The bytes of a character as one number. */
static inline uint32_t char_number(const uint8_t *p, size_t length)
{
    const uint32_t two = (uint32_t)p[0] << 8 | p[1];
    return length == 2 ? two : length == 3 ? two << 8 | p[2] : two << 16 | (uint32_t)p[2] << 8 | p[3];
}

static inline uint32_t char_joint(uint32_t before, uint32_t behind)
{
    return (uint32_t)(((uint64_t)before << 32 | behind) * UINT64_C(0x9E3779B97F4A7C15) >> (64 - CHAR_JOINT_BITS));
}

static inline uint32_t byte_joint(uint8_t last, uint8_t first, uint8_t second)
{
    return (uint32_t)(last & 63) << 12 | (uint32_t)(first & 63) << 6 | (second & 63);
}

/* Whether a piece may be cut between two characters, the second of which is at p. */
static inline int is_joint(const bpe_vocabulary *v, const uint8_t *p, uint32_t before, uint32_t behind)
{
    return !(has_bit(v->byte_joints, byte_joint((uint8_t)before, p[0], p[1])) | has_bit(v->char_joints, char_joint(before, behind)));
}

/* The next place after *at where a piece may be cut, or its length. *at is a place found before, or 0; *before the character that ends
 * there, or 0 if it is not known. Both are moved to the place found. */
static inline size_t bpe_next_joint(const bpe_vocabulary *v, const uint8_t *p, size_t length, size_t *at, uint32_t *before)
{
    const size_t from = *at;
    uint32_t last = *before, number;
    size_t i = from, n;
    while (i < length) {
        if (p[i] < 0xC0) {
            last = 0;
            i++;
            continue;
        }
        n = char_length(p[i]);
        if (n > length - i) break;
        number = char_number(p + i, n);
        if (last != 0 && i > from && is_joint(v, p + i, last, number)) {
            *before = last;
            return *at = i;
        }
        last = is_character(number, n) ? number : 0;
        i += last != 0 ? n : 1;
    }
    return *at = length;
}

/* Where the parts of a piece end, one after the other, each added to `base`, and the same as where the next start: up to `most` of them, n of
 * which are there already; how many there are then. *at is how far the piece was looked at, *before the character that ends there; both 0
 * at first, and *at 0 again when all is done. Characters of three bytes go without a branch on whether there is a joint. */
static inline size_t bpe_all_joints(const bpe_vocabulary *v, const uint8_t *p, size_t length, size_t *at, uint32_t *before, uint32_t base,
                                    uint32_t *next, uint32_t *ends, size_t n, size_t most)
{
    const uint64_t *byte_joints = v->byte_joints, *char_joints = v->char_joints;
    uint32_t last = *before, number;
    size_t i = *at, size;
    while (i < length && n < most) {
        for (; n < most && length - i >= 3 && ((number = char_number(p + i, 3)) & 0xF0C0C0) == 0xE08080; i += 3) {
            const uint32_t bytes = (last & 63) << 12 | (number >> 10 & 0xFC0) | (number >> 8 & 63);
            next[n] = ends[n] = base + (uint32_t)i;
            n += (last != 0) & ~(has_bit(byte_joints, bytes) | has_bit(char_joints, char_joint(last, number)));
            last = number;
        }
        if (i >= length || n == most) break;
        next[n] = ends[n] = base + (uint32_t)i;
        size = p[i] < 0xC0 ? 1 : char_length(p[i]);
        if (size == 1 || size > length - i) {
            last = 0;
            i++;
            continue;
        }
        number = char_number(p + i, size);
        n += (last != 0) & is_joint(v, p + i, last, number);
        last = is_character(number, size) ? number : 0;
        i += last != 0 ? size : 1;
    }
    *at = i;
    *before = last;
    if (i < length || n == most) return n;
    ends[n] = base + (uint32_t)length;
    *at = 0;
    return n + 1;
}
#endif
