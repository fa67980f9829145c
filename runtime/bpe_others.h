/* bpe_others.h - pieces in that were not found by a word (bpe_short.h); out, their keys and what they need asked for. For bpe_words.h.
 *
 *     ' internationally'    a key and a bucket, or from 16 bytes on a hash and an entry for longer pieces
 *     '你好世界'            is to be cut: the pieces that are looked up together end before it
 *
 * Invariant: of a piece that is to be cut, and of all behind it, nothing is kept.
 */
#ifndef BPE_OTHERS_H
#define BPE_OTHERS_H

#include "bpe_group.h"
#include "bpe_short.h"

/* An other, which is no part. */
static inline span other_span(const group *g, const found_pieces *f, size_t n)
{
    const span s = {g->text + f->starts[n], g->readable - f->starts[n], f->ends[n] - f->starts[n], 0};
    return s;
}

/* Ask for what an other of more than BPE_KEY bytes needs. Its number comes back. */
static inline uint16_t put_longer(const bpe_encoder *e, found_pieces *f, size_t n, const span *s)
{
    f->keys[n] = no_key();
    f->buckets[n] = bucket_at(e, 0);
    f->hashes[n] = s->length <= LONGEST ? span_hash(s) : 0;
    PREFETCH(s->length <= MEDIUM ? (const void *)mediums_of(e, f->hashes[n]) : slots_of(e, f->hashes[n]));
    return (uint16_t)n;
}

/* Whether an other is to be cut. Where characters have two bytes, words often have more than BPE_KEY, and are met again as words. */
static inline int is_cut_here(const bpe_encoder *e, const uint8_t *p, uint32_t length)
{
    return !may_stay_whole(p, length) && is_cut(e, p, length);
}

/* Ask for what others need, up to the first that is to be cut, which ends the pieces. */
static inline void put_others_in_buckets(const bpe_encoder *e, const group *g, found_pieces *f, size_t *longer_count)
{
    size_t n;
    *longer_count = 0;
    for (n = 0; n < f->other_count; n++) {
        const size_t i = f->others[n];
        const uint8_t *p = g->text + g->starts[i];
        const uint32_t length = g->ends[i] - g->starts[i];
        f->starts[n] = g->starts[i];
        f->ends[n] = g->ends[i];
        if (UNLIKELY(length > BPE_KEY || (p[0] >= SCRIPTS && length > ONE)) && is_cut_here(e, p, length)) {
            f->count = i;
            f->other_count = n;
            return;
        }
        if (UNLIKELY(length > BPE_KEY)) {
            const span s = other_span(g, f, n);
            f->longer[(*longer_count)++] = put_longer(e, f, n, &s);
            continue;
        }
        f->keys[n] = key_of(p, length);
        f->buckets[n] = bucket_of(e, f->keys[n]);
        PREFETCH(f->buckets[n]);
    }
}

/* Two ids of those of 16 to 32 bytes that have no more. */
static void find_longer(const bpe_encoder *e, const group *g, found_pieces *f, size_t longer_count)
{
    uint32_t ids[MEDIUM + BPE_PADDING];
    size_t i;
    for (i = 0; i < longer_count; i++) {
        const size_t n = f->longer[i];
        const span s = other_span(g, f, n);
        const size_t made = s.length <= MEDIUM ? bpe_recall(e, &s, f->hashes[n], ids) : 0;
        if (made == 1 || made == 2) f->two[n] = two_ids(pair_of(ids), made);
    }
}

#ifdef HAS_VECTORS

/* As put_others_in_buckets, sixteen at a time. */
WITH_VECTORS static inline void put_others_in_buckets_avx512(const bpe_encoder *e, const group *g, found_pieces *f, size_t *longer_count)
{
    size_t n;
    *longer_count = 0;
    for (n = 0; n < f->other_count; n += SIXTEEN) {
        const unlike u = put_sixteen_others(e, f, g->text, g->starts, g->ends, n);
        uint32_t unusual = u.longer | u.scripts;
        for (; UNLIKELY(unusual != 0); unusual &= unusual - 1) {
            const size_t i = n + _tzcnt_u32(unusual);
            const span s = other_span(g, f, i);
            if (is_cut_here(e, s.bytes, s.length)) {
                f->count = f->others[i];
                f->other_count = i;
                return;
            }
            if (s.length > BPE_KEY) f->longer[(*longer_count)++] = put_longer(e, f, i, &s);
        }
    }
}

#endif
#endif
