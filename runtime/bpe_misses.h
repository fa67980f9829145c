/* bpe_misses.h - pieces in that were not found; out, their ids between those that were, and in the cache. For bpe_encode.c.
 *
 *     found  [12, 7, _, 9, _]     two gaps: behind two ids, and behind three
 *     waits  ' Bolkonsky', 'x9'   each once, though it may have several gaps
 *
 * What waits is worked off together: first what tells which of them are tokens, then all others are merged side by side
 * (bpe_merge_rounds.c, bpe_merge_many.c), so that memory answers one while the others are worked on; then ids move up, the last first.
 *
 * Invariants: gaps are in the order of the text, and each is behind as many ids as it says. What is remembered of a part is right for a piece,
 * and the other way round; what is not is not remembered, or marked as untried (bpe_cache.h).
 */
#ifndef BPE_MISSES_H
#define BPE_MISSES_H

#include "bpe_short.h"

#ifndef MISSING /* tests have fewer */
#define MISSING 256 /* that wait: enough to be merged by turns, though few pieces of a group are missing */
#endif
#if MISSING < GROUP || MISSING > 256
#error "all of a group may wait, and which of them is kept in a byte"
#endif

/* A piece or part of up to MEDIUM bytes that was not found, and what became of it. */
typedef struct {
    span of;
    key name;       /* if it has no more than BPE_KEY bytes */
    uint64_t hash;  /* of its bytes */
    uint32_t count; /* of its ids; 0: it waits to be merged */
    uint32_t ids[MEDIUM + 4];
} missing;

/* Where ids are missing: behind so many that were found, and whose they are. A new word is often met again at once. */
typedef struct {
    size_t at;
    uint32_t which;
} gap;

typedef struct {
    size_t gap_count, count;
    gap gaps[MISSING];
    missing list[MISSING];
} misses;

/* A piece that waits, or a part; `name` is its key, if it has one. What tells whether it is a token is asked for. A span is handed over by its
 * members: to read one at once that was just put together in memory was a third of the time that this takes. */
static uint32_t add_missing(bpe_encoder *e, misses *missed, const uint8_t *bytes, uint64_t readable, uint32_t length, uint32_t part, key name)
{
    const uint64_t hash = length <= BPE_KEY ? key_hash_bytes(name) : hash_bytes(bytes, length);
    uint8_t *recent = e->recent + (hash >> 56);
    missing *m = missed->list + *recent;
    if (*recent < missed->count && m->hash == hash && m->of.part == part && m->of.length == length && length <= BPE_KEY && same_key(m->name, name)) {
        return *recent;
    }
    *recent = (uint8_t)missed->count;
    m = missed->list + missed->count++;
    m->of.bytes = bytes;
    m->of.readable = readable;
    m->of.length = length;
    m->of.part = part;
    m->name = name;
    m->hash = hash;
    m->count = 0;
    memset(m->ids, 0, 4 * sizeof *m->ids); /* four are copied even if there are fewer */
    PREFETCH(e->v->ids + first_place(e->v, hash));
    return *recent;
}

#ifndef MOST_SKIPPED
#define MOST_SKIPPED 15 /* calls that do not look pieces up by words: a power of two less one */
#endif

/* Keep the ids of a piece of up to BPE_KEY bytes; short ones by their word, too, unless that has not been worth it for some time.
 * Parts are not looked up so. */
static inline void remember_key(bpe_encoder *e, const missing *m, uint32_t flags)
{
    bpe_remember(e, m->name, flags, m->ids, m->count);
    if (m->of.part || e->skip > MOST_SKIPPED / 2) return;
    if (m->of.length <= SHORT && m->count <= 2 && flags == 0) put_short(e, m->name, m->of.length, two_ids(pair_of(m->ids), m->count));
}

/* Keep what was made of a piece. What is kept as tried is right for a piece and for a part: so of a token that its bytes do not merge to,
 * what they merge to is not kept where the vocabulary takes it whole. */
static void remember_missing(bpe_encoder *e, const missing *m)
{
    const span *s = &m->of;
    if (s->part && m->count > 1 && e->v->whole && bpe_find_hashed(e->v, s->bytes, s->length, m->hash) != BPE_NONE) return;
    if (s->length > BPE_KEY) bpe_remember_longer(e, s, m->hash, m->ids, m->count);
    else remember_key(e, m, 0);
}

/* The id of a token, BPE_NONE if it is none: as bpe_find_hashed, but that keys are compared, since records are keys. */
static inline uint32_t token_of(const bpe_vocabulary *v, const missing *m, uint32_t candidate)
{
    if (LIKELY(m->of.length <= BPE_KEY && same_key(m->name, record_key(v->records + candidate)))) return candidate;
    return bpe_find_hashed(v, m->of.bytes, m->of.length, m->hash);
}

/* Which of those that wait are tokens: of these, the ids are known. */
static void find_tokens(bpe_encoder *e, misses *missed)
{
    const bpe_vocabulary *v = e->v;
    uint32_t candidates[MISSING];
    uint8_t maybe[MISSING];
    size_t count = 0, i;
    for (i = 0; i < missed->count; i++) {
        const missing *m = missed->list + i;
        uint32_t tries = 0;
        const uint32_t candidate = m->of.part ? BPE_NONE : next_candidate(v, m->hash, &tries);
        if (candidate == BPE_NONE) continue;
        PREFETCH(v->records + candidate);
        maybe[count] = (uint8_t)i;
        candidates[count++] = candidate;
    }
    for (i = 0; i < count; i++) {
        missing *m = missed->list + maybe[i];
        const uint32_t id = token_of(v, m, candidates[i]);
        if (id != BPE_NONE && (v->whole || has_bit(v->merged, id))) {
            const uint32_t ids[4] = {id}; /* stored at once, as they are read soon */
            memcpy(m->ids, ids, sizeof ids);
            m->count = 1;
            if (m->of.length > BPE_KEY) bpe_remember_longer(e, &m->of, m->hash, m->ids, 1);
            else remember_key(e, m, has_bit(v->merged, id) ? 0 : UNTRIED);
        }
    }
}

/* Merge pieces, of up to `longest` bytes: 0, or an error. */
static int merge_jobs(const bpe_encoder *e, bpe_job *jobs, size_t count, size_t longest)
{
    const size_t done = bpe_merge_rounds(e->v, jobs, count, e->most_vectors);
    if (done == BPE_NO_TOKEN) return -1;
    return done == count ? 0 : bpe_merge_many(e->v, jobs + done, count - done, longest);
}

/* Merge what waits, of pieces of up to `longest` bytes: 0, or an error. */
static int merge_some(bpe_encoder *e, misses *missed, const uint8_t *which, size_t count, size_t longest)
{
    bpe_job jobs[MISSING];
    size_t i;
    for (i = 0; i < count; i++) {
        missing *m = missed->list + which[i];
        const bpe_job job = {m->of.bytes, m->of.length, 0, m->ids};
        jobs[i] = job;
    }
    if (merge_jobs(e, jobs, count, longest) != 0) return -1;
    for (i = 0; i < count; i++) {
        missing *m = missed->list + which[i];
        m->count = jobs[i].count;
        remember_missing(e, m);
    }
    return 0;
}

/* Merge what waits: 0, or an error. */
static int merge_missing(bpe_encoder *e, misses *missed)
{
    const uint32_t most = e->most_vectors != BPE_PLAIN ? MEDIUM : 16;
    uint8_t few[MISSING + 1], many[MISSING + 1];
    size_t few_count = 0, many_count = 0, i;
    for (i = 0; i < missed->count; i++) { /* without a branch: any other may be a token */
        const missing *m = missed->list + i;
        few[few_count] = many[many_count] = (uint8_t)i;
        few_count += (m->count == 0) & (m->of.length <= most);
        many_count += (m->count == 0) & (m->of.length > most);
    }
    return merge_some(e, missed, few, few_count, most) | merge_some(e, missed, many, many_count, MEDIUM);
}

#ifdef HAS_VECTORS

/* Copy up to sixteen ids. */
WITH_VECTORS static inline void copy_few(uint32_t *to, const uint32_t *ids, size_t count)
{
    const __mmask16 which = (__mmask16)_bzhi_u32(0xFFFF, (unsigned)count);
    _mm512_mask_storeu_epi32(to, which, _mm512_maskz_loadu_epi32(which, ids));
}

/* Move ids up, the last first. */
WITH_VECTORS static inline void move_up(uint32_t *ids, size_t count, size_t by)
{
    for (; count > SIXTEEN; count -= SIXTEEN) _mm512_storeu_si512(ids + count - SIXTEEN + by, _mm512_loadu_si512(ids + count - SIXTEEN));
    copy_few(ids + by, ids, count);
}

/* As put_missing: most have few ids, and few are between two of them. */
WITH_VECTORS static void put_missing_by_vectors(const misses *missed, uint32_t *out, size_t end, size_t extra)
{
    size_t i;
    for (i = missed->gap_count; i-- > 0;) {
        const size_t at = missed->gaps[i].at;
        const missing *m = missed->list + missed->gaps[i].which;
        move_up(out + at, end - at, extra);
        end = at;
        extra -= m->count;
        if (LIKELY(m->count <= SIXTEEN)) copy_few(out + end + extra, m->ids, m->count);
        else memcpy(out + end + extra, m->ids, m->count * sizeof *out);
    }
}

#endif

/* Put the ids of what is missing, `extra` in all, between the first `end` that were found. */
static void put_missing(const misses *missed, uint32_t *out, size_t end, size_t extra)
{
    size_t i;
    for (i = missed->gap_count; i-- > 0;) {
        const size_t at = missed->gaps[i].at;
        const missing *m = missed->list + missed->gaps[i].which;
        memmove(out + at + extra, out + at, (end - at) * sizeof *out);
        end = at;
        extra -= m->count;
        memcpy(out + end + extra, m->ids, m->count * sizeof *out);
    }
}

/* The ids of what waits are made, and put where they belong: how many there are now, or an error. */
static size_t merge_gaps(bpe_encoder *e, misses *missed, uint32_t *out, size_t done)
{
    size_t i, extra = 0;
    find_tokens(e, missed);
    if (merge_missing(e, missed) != 0) return BPE_NO_TOKEN;
    for (i = 0; i < missed->gap_count; i++) extra += missed->list[missed->gaps[i].which].count;
#ifdef HAS_VECTORS
    if (e->vectors) put_missing_by_vectors(missed, out, done, extra);
    else
#endif
        put_missing(missed, out, done, extra);
    missed->gap_count = missed->count = 0;
    return done + extra;
}

static inline size_t finish_missing(bpe_encoder *e, misses *missed, uint32_t *out, size_t done)
{
    return missed->gap_count == 0 ? done : merge_gaps(e, missed, out, done);
}

#endif
