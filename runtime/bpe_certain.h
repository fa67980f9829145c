/* bpe_certain.h - bytes in, symbols out: pairs of bytes that are certain to be merged, merged at once, from left to right.
 *
 *     'a' 'b' 's' 'o' 'l' 'u' 't' 'e' 'l' 'y'      ->      'a' 'b' 's' 'ol' 'ut' 'el' 'y'
 *     ' ' ' ' ' ' ' ' ' ' 'x'                      ->      '  ' '  ' ' ' 'x'
 *
 * When two bytes are, bpe_merge_rounds.c says: nothing takes away either of them before, and all merges of what they make have higher
 * ranks than theirs. That nothing takes away the left byte is also known where the two bytes before are such a pair, of a rank that is
 * not lower: what they make, and whatever that becomes part of, merges with higher ranks only. So of a run of one byte all are certain, two
 * by two.
 *
 * What is behind the last byte may be anything: what is certain in a text is certain in each part of it that has both bytes, since there is
 * less to take them away. So a window may end between any two symbols.
 */
#ifndef BPE_CERTAIN_H
#define BPE_CERTAIN_H

#include "bpe_pairs.h"

/* What is known of bytes, from the third on, and from the second on of each with the next: those before the first, and behind the last, take
 * nothing away. Vectors may read more. */
#define KNOWN_BYTES (2 + BPE_FAR + 16)
typedef struct {
    int32_t ranks[KNOWN_BYTES], bounds[KNOWN_BYTES], symbols[KNOWN_BYTES];
} known_bytes;

/* What is before the first of some bytes, and behind the last. */
static inline void begin_known(const bpe_vocabulary *v, const uint8_t *p, uint32_t length, known_bytes *k)
{
    k->ranks[0] = k->ranks[1] = k->ranks[1 + length] = -1;
    k->bounds[0] = BOUND_MOST;
    k->bounds[length] = k->bounds[length + 1] = INT32_MAX;
    k->symbols[length - 1] = (int32_t)v->byte_tokens[p[length - 1]];
}

/* Look up bytes from one up to another, behind which there is at least one: their tokens, or-ed, which are BPE_NONE if one is no token. */
static inline uint32_t look_bytes_up(const bpe_vocabulary *v, const uint8_t *p, uint32_t from, uint32_t to, known_bytes *k)
{
    const uint32_t *tokens = v->byte_tokens, *pairs = v->byte_pairs, *bounds = v->byte_bounds;
    uint32_t all = 0, i;
    for (i = from; i < to; i++) {
        const uint32_t two = p[i] | (uint32_t)p[i + 1] << 8, token = tokens[p[i]];
        k->symbols[i] = (int32_t)token;
        k->ranks[2 + i] = (int32_t)pairs[two];
        k->bounds[1 + i] = (int32_t)bounds[two];
        all |= token;
    }
    return all;
}

/* The symbols of up to *length bytes, one at least, as far as there is room for them: how many, or BPE_NO_TOKEN. *length becomes the bytes
 * that they have. */
static inline size_t put_certain(const bpe_vocabulary *v, const uint8_t *p, uint32_t *length, uint32_t *symbols, size_t room)
{
    const int32_t most = (int32_t)v->rank_count;
    const uint32_t size = *length;
    int32_t certain[2 + BPE_FAR] = {0, 0}, behind[BPE_FAR];
    known_bytes k;
    uint32_t gone = 0, i;
    size_t count = 0;
    begin_known(v, p, size, &k);
    if ((look_bytes_up(v, p, 0, size - 1, &k) | (uint32_t)k.symbols[size - 1]) == BPE_NONE) return BPE_NO_TOKEN;
    for (i = 0; i < size; i++) { /* all bits of each, so that compilers make vectors of it */
        const int32_t rank = k.ranks[2 + i], left = k.bounds[i] & BOUND_BEFORE, right = k.bounds[2 + i] >> BOUND_BEHIND_SHIFT;
        const int32_t may = -(int32_t)((rank >= 0) & (rank < most) & (rank <= right) & ((k.bounds[1 + i] & BOUND_EARLY) != 0));
        certain[2 + i] = may & -(int32_t)(rank < left);
        behind[i] = may & -(int32_t)(rank <= k.ranks[i]);
    }
    for (i = 0; i < size && count < room; i++) {
        const int32_t is = certain[2 + i] |= behind[i] & certain[i];
        const uint32_t made = merged_token(v, (uint32_t)(k.ranks[2 + i] & is));
        symbols[count] = is ? made : (uint32_t)k.symbols[i];
        count += gone ^ 1;
        gone = (uint32_t)is & 1;
    }
    *length = i < size ? i + gone : size;
    return count;
}

#endif
