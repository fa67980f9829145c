/* bpe_encode.c - pieces of a text in, their ids out: looked up where they were met before, merged where not.
 *
 *     ' the'              found in its bucket
 *     '你好世界'          cut where no token lies around (bpe_joints.h), each part looked up by itself
 *     ' Bolkonsky'        at first merged, later found
 *
 * Pieces are worked on in groups. Keys are made first, and the lines that they may be in are asked for, so that memory answers while
 * other keys are made. Then each is compared; from an entry four ids are always copied, and as many counted as there are: no branch. What
 * was not found waits until there is enough to be merged together (bpe_merge_rounds.c, bpe_merge_many.c), and is then put where it belongs.
 */
#include "bpe_characters.h"
#include "bpe_short.h"

#define WORTH 8             /* pieces for which a region is worth it, if the first is long */
#ifndef MISSING /* tests have fewer */
#define MISSING 256         /* that wait: enough to be merged by turns, though few pieces of a group are missing */
#endif
#if MISSING > 256
#error "which of those that wait is kept in a byte"
#endif

/* Pieces and parts, by their places in a text. */
typedef struct IN_LINES {
    key keys[GROUP + SIXTEEN];
    const entry *buckets[GROUP + SIXTEEN];
    uint64_t hashes[GROUP]; /* of those of more than BPE_KEY bytes */
    const uint8_t *text;
    uint64_t readable;
    size_t count;
    const uint32_t *starts, *ends;
    const uint8_t *part; /* whether each is one; NULL if none is */
    const uint8_t *joint; /* whether each begins at one, and one more; NULL if that is not known */
} group;

/* The places of a group, where they are not those of the pieces of the text one after the other. */
typedef struct {
    uint32_t starts[GROUP + 1], ends[GROUP]; /* one more start is written than there are */
    uint8_t part[GROUP];
} places;

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

static inline size_t encode_group(bpe_encoder *e, const group *g, misses *missed, uint32_t *out, size_t done);
static inline size_t finish_missing(bpe_encoder *e, misses *missed, uint32_t *out, size_t done);

/* --- places ------------------------------------------------------------------------------------------------------------ */

/* Place i of a group, which is already known to be this: a piece or part of any length. */
static ALWAYS_INLINE void put_place(const bpe_encoder *e, group *g, size_t i, uint32_t start, uint32_t end)
{
    const span s = {g->text + start, g->readable - start, end - start, 0};
    if (s.length <= BPE_KEY) {
        g->keys[i] = span_key(&s);
        g->buckets[i] = bucket_of(e, g->keys[i]);
        PREFETCH(g->buckets[i]);
    } else {
        g->keys[i] = no_key();
        g->buckets[i] = bucket_at(e, 0);
        g->hashes[i] = s.length <= LONGEST ? span_hash(&s) : 0;
        PREFETCH(s.length <= MEDIUM ? (const void *)mediums_of(e, g->hashes[i]) : slots_of(e, g->hashes[i]));
    }
}

NOT_INLINE static void put_key(const bpe_encoder *e, group *g, size_t i, uint32_t start, uint32_t end) { put_place(e, g, i, start, end); }

#ifdef HAS_VECTORS

/* The same for who has vectors in use: to go on to code without them takes a Sapphire Rapids a hundred nanoseconds or more, if their upper
 * halves are not zero, and compilers leave them so where they know which registers a function leaves alone. */
WITH_VECTORS NOT_INLINE static void put_key_by_vectors(const bpe_encoder *e, group *g, size_t i, uint32_t start, uint32_t end)
{
    put_place(e, g, i, start, end);
}

/* The same for all places of a group from n on, of each of which 16 bytes may be read. */
WITH_VECTORS static void put_keys_by_vectors(const bpe_encoder *e, group *g, size_t n)
{
    for (; n < g->count; n += SIXTEEN) {
        uint32_t longer = put_sixteen(g->text, g->starts + n, g->ends + n, g->count - n, e, g->keys + n, g->buckets + n).longer;
        for (; UNLIKELY(longer != 0); longer &= longer - 1) {
            const size_t i = n + _tzcnt_u32(longer);
            put_key_by_vectors(e, g, i, g->starts[i], g->ends[i]);
        }
    }
}

#endif

/* The same for all places of a group from n on. */
static inline void put_keys(const bpe_encoder *e, group *g, size_t n)
{
#ifdef HAS_VECTORS
    if (e->vectors && g->readable - g->starts[g->count - 1] >= 16) {
        put_keys_by_vectors(e, g, n);
        return;
    }
#endif
    for (; n < g->count; n++) {
        const uint32_t start = g->starts[n], length = g->ends[n] - start;
        if (LIKELY(length <= BPE_KEY && g->readable - start >= 16)) {
            const key k = key_of(g->text + start, length);
            g->keys[n] = k;
            g->buckets[n] = bucket_of(e, k);
            PREFETCH(g->buckets[n]);
        } else {
            put_key(e, g, n, start, g->ends[n]);
        }
    }
}

static inline span span_of(const group *g, size_t i)
{
    const uint32_t part = g->joint != NULL ? g->joint[i] | g->joint[i + 1] : g->part != NULL && g->part[i];
    const span s = {g->text + g->starts[i], g->readable - g->starts[i], g->ends[i] - g->starts[i], part};
    return s;
}

/* --- parts ------------------------------------------------------------------------------------------------------------- */

/* A piece that falls into parts, the first of which ends at `at`. */
static size_t encode_parts(bpe_encoder *e, const span *s, size_t at, uint32_t before, uint32_t *out)
{
    places to;
    group g = {.text = s->bytes, .readable = s->readable, .starts = to.starts, .ends = to.ends, .part = to.part};
    misses missed;
    size_t done = 0, from = 0;
    missed.gap_count = missed.count = 0;
    for (;;) {
        const int last = at == s->length;
        to.starts[g.count] = (uint32_t)from;
        to.ends[g.count] = (uint32_t)at;
        to.part[g.count++] = 1;
        from = at;
        if (!last) bpe_next_joint(e->v, s->bytes, s->length, &at, &before);
        if (!last && g.count < GROUP) continue;
        put_keys(e, &g, 0);
        done = encode_group(e, &g, &missed, out, done);
        if (done >= BPE_NO_TOKEN) return done;
        if (last) return finish_missing(e, &missed, out, done);
        g.count = 0;
    }
}

/* Whether a piece is to be cut, without being looked up as a whole: if it begins with a character of three bytes or more, or can be cut near
 * its beginning, for then its parts are short, and met more often than the piece. Where characters have two bytes, a short piece is worth a
 * look. */
static inline int is_cut(const bpe_encoder *e, const uint8_t *p, uint32_t length)
{
    size_t at = 0;
    uint32_t before = 0;
    if (p[0] >= SCRIPTS) return length > ONE;
    if (length <= BPE_KEY || (load_8(p) & UINT64_C(0x8080808080808080)) == 0) return 0;
    return bpe_next_joint(e->v, p, LOOK, &at, &before) < LOOK;
}

#ifdef HAS_VECTORS

/* As put_run. */
WITH_VECTORS static size_t put_run_by_vectors(const bpe_encoder *e, group *g, size_t most)
{
    size_t n;
    for (n = 0; n < most; n += SIXTEEN) {
        const unlike u = put_sixteen(g->text, g->starts + n, g->ends + n, most - n, e, g->keys + n, g->buckets + n);
        uint32_t others = u.longer | u.scripts;
        for (; UNLIKELY(others != 0); others &= others - 1) {
            const size_t i = n + _tzcnt_u32(others);
            if (is_cut(e, g->text + g->starts[i], g->ends[i] - g->starts[i])) return i;
            put_key_by_vectors(e, g, i, g->starts[i], g->ends[i]);
        }
    }
    return most;
}

#endif

/* Put pieces into a group, up to the first that is to be cut: how many. 16 bytes of each may be read. */
static size_t put_run(const bpe_encoder *e, group *g, size_t most)
{
    const uint8_t *text = g->text;
    const uint32_t *starts = g->starts, *ends = g->ends;
    const uint8_t *buckets = e->buckets;
    const uint32_t mask = e->bucket_mask;
    size_t n;
#ifdef HAS_VECTORS
    if (e->vectors) return put_run_by_vectors(e, g, most);
#endif
    for (n = 0; n < most; n++) {
        const uint32_t start = starts[n], length = ends[n] - start;
        const entry *bucket;
        key k;
        if (UNLIKELY(length > BPE_KEY || (text[start] >= SCRIPTS && length > ONE))) {
            if (is_cut(e, text + start, length)) break;
            put_key(e, g, n, start, ends[n]);
            continue;
        }
        k = key_of(text + start, length);
        bucket = (const void *)(buckets + BUCKET * (size_t)(key_hash(k) >> BUCKET_SHIFT & mask));
        PREFETCH(bucket);
        g->keys[n] = k;
        g->buckets[n] = bucket;
    }
    return n;
}

/* Where a piece is that is being cut, and how far that has come, as bpe_all_joints has it; length 0: none is. */
typedef struct {
    uint32_t start, length, before;
    size_t at;
} cutting;

/* The places of pieces, and of the parts of those that are cut, are put into a group from place n on, until it is full or pieces are at
 * an end: how many places there are. *i is the piece; if it is in *c, it goes on. A piece that has no joint is no part. */
static inline size_t put_places(const bpe_encoder *e, const uint8_t *text, places *to, size_t n, const uint32_t *starts, const uint32_t *ends,
                                size_t count, size_t *i, cutting *c)
{
    memset(to->part + n, 1, GROUP - n);
    while (n < GROUP && *i < count) {
        const size_t before = n;
        const int whole = c->length == 0;
        if (whole) {
            to->starts[n] = starts[*i];
            if (!is_cut(e, text + starts[*i], ends[*i] - starts[*i])) {
                to->ends[n] = ends[*i];
                to->part[n++] = 0;
                ++*i;
                continue;
            }
            *c = (cutting){starts[*i], ends[*i] - starts[*i], 0, 0};
        } else {
            to->starts[0] = to->starts[GROUP]; /* the group before was full */
        }
        n = bpe_all_joints(e->v, text + c->start, c->length, &c->at, &c->before, c->start, to->starts + 1, to->ends, n, GROUP);
        if (c->at > 0) break;
        if (whole && n == before + 1) to->part[before] = 0;
        c->length = 0;
        ++*i;
    }
    return n;
}

/* --- what was not found ------------------------------------------------------------------------------------------------ */

/* A piece that waits, or a part; `name` is its key, if it has one. What tells whether it is a token is asked for. */
static uint32_t add_missing(bpe_encoder *e, misses *missed, const span *s, key name)
{
    const uint64_t hash = s->length <= BPE_KEY ? key_hash_bytes(name) : hash_bytes(s->bytes, s->length);
    uint8_t *recent = e->recent + (hash >> 56);
    missing *m = missed->list + *recent;
    if (*recent < missed->count && m->hash == hash && m->of.part == s->part && m->of.length == s->length && s->length <= BPE_KEY &&
        same_key(m->name, name)) {
        return *recent;
    }
    *recent = (uint8_t)missed->count;
    m = missed->list + missed->count++;
    m->of = *s;
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
            m->ids[0] = id;
            m->count = 1;
            if (m->of.length > BPE_KEY) bpe_remember_longer(e, &m->of, m->hash, m->ids, 1);
            else remember_key(e, m, has_bit(v->merged, id) ? 0 : UNTRIED);
        }
    }
}

/* Merge pieces, of up to `longest` bytes: 0, or an error. */
static int merge_jobs(const bpe_encoder *e, bpe_job *jobs, size_t count, size_t longest)
{
    const size_t done = e->vectors ? bpe_merge_rounds(e->v, jobs, count) : 0;
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
    const uint32_t most = e->vectors ? MEDIUM : 16;
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

/* --- a group ----------------------------------------------------------------------------------------------------------- */

/* A piece of more than MEDIUM bytes that was not found. */
static size_t encode_longer(bpe_encoder *e, const span *s, uint64_t hash, uint32_t *out)
{
    size_t at = 0, count;
    uint32_t before = 0;
    int keep = s->length <= LONGEST;
    const uint32_t whole = e->v->whole && !s->part ? bpe_find(e->v, s->bytes, s->length) : BPE_NONE;
    if (whole != BPE_NONE) {
        out[0] = whole;
        count = 1;
    } else if (!s->part && bpe_next_joint(e->v, s->bytes, s->length, &at, &before) < s->length) {
        keep = keep && seen_before(e, hash);
        count = encode_parts(e, s, at, before, out);
    } else {
        count = e->vectors || s->length > BPE_WIDE ? bpe_merge_windows(e->v, s->bytes, s->length, out, e->watch, e->vectors)
                                                   : bpe_merge(e->v, BPE_AUTOMATIC, s->bytes, s->length, out);
    }
    if (keep && count < BPE_NO_TOKEN) bpe_remember_longer(e, s, hash, out, count);
    return count;
}

/* The ids of a guest: their number, or 0. One of sixteen comes home: those that are met often soon are, and the others do not drive each
 * other out by turns. */
static inline size_t recall_guest(bpe_encoder *e, key k, uint32_t refused, uint32_t *out)
{
    entry *guest = guest_of(e, k);
    size_t count;
    if (guest == NULL || (guest->ids[3] & refused) != 0) return 0;
    count = ids_of(e, guest, out);
    if (++e->guests % 16 == 0) bpe_come_home(e, guest);
    return count;
}

/* The ids of a place that is not simply found: in an entry that has them elsewhere or is untried, as a guest, or by its bytes. Their
 * number, or 0. */
static size_t recall(bpe_encoder *e, const group *g, size_t i, const span *s, uint32_t *out)
{
    const key k = g->keys[i];
    const uint32_t refused = s->part ? UNTRIED : 0;
    const entry *found = entry_of(g->buckets[i], k);
    if (s->length > BPE_KEY) return g->hashes[i] != 0 ? bpe_recall(e, s, g->hashes[i], out) : 0;
    if (same_key(found->bytes, k)) return (found->ids[3] & refused) != 0 ? 0 : ids_of(e, found, out);
    return recall_guest(e, k, refused, out);
}

/* A place of a group that was not found in its bucket: how many ids it adds now, or an error. */
NOT_INLINE static size_t encode_miss(bpe_encoder *e, const group *g, size_t i, misses *missed, size_t done, uint32_t *out)
{
    const span s = span_of(g, i);
    const size_t count = recall(e, g, i, &s, out + done);
    if (count > 0) return count;
    if (s.length > MEDIUM) return encode_longer(e, &s, g->hashes[i], out + done);
    missed->gaps[missed->gap_count].at = done;
    missed->gaps[missed->gap_count++].which = add_missing(e, missed, &s, g->keys[i]);
    return 0;
}

static size_t encode_places(bpe_encoder *e, const group *g, misses *missed, uint32_t *out, size_t done)
{
    const size_t count = g->count;
    size_t i, made;
    for (i = 0; i < count; i++) {
        const entry *found = entry_of(g->buckets[i], g->keys[i]);
        const uint32_t flags = found->ids[3];
        if (LIKELY(same_key(found->bytes, g->keys[i]) && (flags & PLAIN) != 0)) {
            copy_ids(out + done, found->ids);
            done += 1 + (size_t)(flags >> COUNT_SHIFT);
            continue;
        }
        made = encode_miss(e, g, i, missed, done, out);
        if (made >= BPE_NO_TOKEN) return made;
        done += made;
    }
    return done;
}

#ifdef HAS_VECTORS

/* As encode_places; apart from it, since only functions for the same instructions are inlined into one another. */
WITH_VECTORS static size_t encode_places_by_vectors(bpe_encoder *e, const group *g, misses *missed, uint32_t *out, size_t done)
{
    const size_t count = g->count;
    size_t i, made;
    for (i = 0; i < count; i++) {
        const unsigned at = ids_in(g->buckets[i], g->keys + i);
        if (LIKELY(at != NOWHERE)) {
            const uint32_t *ids = (const void *)((const uint8_t *)g->buckets[i] + at);
            const uint32_t flags = ids[3];
            if (LIKELY((flags & PLAIN) != 0)) {
                copy_ids(out + done, ids);
                done += 1 + (size_t)(flags >> COUNT_SHIFT);
                continue;
            }
            made = (flags & ELSEWHERE) != 0 ? ids_elsewhere(e, ids, ids[2], out + done) : 0;
            done += made;
            if (made > 0) continue;
        }
        made = encode_miss(e, g, i, missed, done, out);
        if (made >= BPE_NO_TOKEN) return made;
        done += made;
    }
    return done;
}

#endif

/* The ids of a group behind the first `done`, but for those of what is missing: how many there are now, or an error. */
static inline size_t encode_group(bpe_encoder *e, const group *g, misses *missed, uint32_t *out, size_t done)
{
    if (missed->gap_count > MISSING - GROUP) done = finish_missing(e, missed, out, done);
    if (done >= BPE_NO_TOKEN) return done;
#ifdef HAS_VECTORS
    if (e->vectors) return encode_places_by_vectors(e, g, missed, out, done);
#endif
    return encode_places(e, g, missed, out, done);
}

#ifdef HAS_VECTORS

/* A place of a group that was not found where it should be. What is found in its bucket of a character is kept by its number. */
NOT_INLINE static size_t encode_not_located(bpe_encoder *e, group *g, size_t i, uint32_t character, misses *missed, size_t done,
                                            uint32_t *out)
{
    const uint32_t start = g->starts[i], end = g->ends[i];
    const entry *found;
    if (end - start <= BPE_KEY) {
        put_key(e, g, i, start, end);
        found = entry_of(g->buckets[i], g->keys[i]);
        if (character != 0 && same_key(found->bytes, g->keys[i]) && (found->ids[3] & PLAIN) != 0) {
            memcpy(e->characters[character], found->ids, sizeof found->ids);
        }
    }
    return encode_miss(e, g, i, missed, done, out);
}

/* As encode_group, of places of a region whose characters have numbers. */
WITH_VECTORS static size_t encode_characters(bpe_encoder *e, group *g, const uint16_t *characters, misses *missed, uint32_t *out,
                                             size_t done)
{
    const uint8_t *base = e->tables;
    const size_t count = g->count;
    uint32_t moved = e->moved;
    located l;
    size_t i, made;
    if (missed->gap_count > MISSING - GROUP) done = finish_missing(e, missed, out, done);
    if (done >= BPE_NO_TOKEN) return done;
    list_others(e, &l, characters, count);
    for (i = 0; i < l.count; i += SIXTEEN) {
        uint64_t longer = put_others(e, &l, g->text, g->starts, i);
        for (; UNLIKELY(longer != 0); longer &= longer - 1) {
            const size_t n = i + _tzcnt_u64(longer), which = l.others[n];
            l.keys[n] = no_key();
            put_key_by_vectors(e, g, which, g->starts[which], g->ends[which]);
        }
    }
    locate_others(e, &l);
    for (i = 0;; i++) {
        for (; i < count; i++) { /* without a call, so that constants stay in registers */
            const uint32_t *ids = (const void *)(base + l.ids[i]);
            const uint32_t flags = ids[3];
            if (UNLIKELY((flags & PLAIN) == 0)) break;
            copy_ids(out + done, ids);
            done += 1 + (size_t)(flags >> COUNT_SHIFT);
        }
        if (i == count) return done;
        made = encode_not_located(e, g, i, characters[i], missed, done, out);
        if (made >= BPE_NO_TOKEN) return made;
        done += made;
        if (UNLIKELY(moved != e->moved)) locate_others(e, &l);
        moved = e->moved;
    }
}

/* The ids of pieces from *i on, of which the first is cut, and which are put into regions as long as one of sixteen is: how many ids there are now,
 * or an error. */
NOT_INLINE static size_t encode_regions(bpe_encoder *e, group *g, misses *missed, const uint32_t *starts, const uint32_t *ends, size_t count, size_t *i,
                             uint32_t *out, size_t done)
{
    region r;
    size_t pieces, places, characters, from, most = FEW_PIECES;
    uint32_t cut;
    do {
        if (most > count - *i) most = count - *i;
        if (ends[count - 1] - starts[*i] <= WINDOW) {
            pieces = put_window(e->v, &r, g->text, g->readable, starts + *i, ends + *i, most, &places, &cut, &characters);
        } else {
            pieces = put_region(e->v, &r, g->text, g->readable, starts + *i, ends + *i, most, &places, &cut, &characters);
        }
        *i += pieces;
        most = MANY_PIECES;
        for (from = 0; from < places; from += g->count) {
            g->starts = r.starts + from;
            g->joint = r.joint + from;
            g->ends = g->starts + 1;
            g->count = places - from < GROUP ? places - from : GROUP;
            if (characters * 2 > places && g->readable - g->starts[g->count - 1] >= 16) {
                done = encode_characters(e, g, r.characters + from, missed, out, done);
            } else {
                put_keys(e, g, 0);
                done = encode_group(e, g, missed, out, done);
            }
            if (done >= BPE_NO_TOKEN) return done;
        }
    } while (*i < count && cut * 16 >= pieces && pieces > 0);
    g->joint = NULL;
    return done;
}

#endif

/* --- by words ---------------------------------------------------------------------------------------------------------- */

#define TRIED (MANY_WORDS / 4) /* pieces that are looked up by words, before as many as can be */
#define WORTH_WORDS 64 /* pieces for which it is worth it */

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
        if (UNLIKELY(length > BPE_KEY || (p[0] >= SCRIPTS && length > ONE)) && is_cut(e, p, length)) {
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

/* Pieces from one on whose ids are not stored yet. Those that wait to be merged have none, and so end no vector of the others; where
 * theirs go is counted when all are stored. */
typedef struct {
    size_t from, gap_count;
    uint16_t gaps[MISSING]; /* pieces that wait: the gaps behind those of `misses`, which already say whose they are */
} unstored;

#define BY(name) name
#define WITH
#define EACH 1
#include "bpe_words.h"
#undef BY
#undef WITH
#undef EACH

#ifdef HAS_VECTORS

/* With AVX2, these are done as in plain C. */
#define put_others_in_buckets_avx2 put_others_in_buckets
#define find_others_avx2 find_others
#define place_others_avx2 place_others
#define count_ids_avx2 count_ids
#define BY(name) name##_avx2
#define WITH WITH_AVX2
#define EACH 4
#include "bpe_words.h"
#undef BY
#undef WITH
#undef EACH

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
            if (is_cut(e, s.bytes, s.length)) {
                f->count = f->others[i];
                f->other_count = i;
                return;
            }
            if (s.length > BPE_KEY) f->longer[(*longer_count)++] = put_longer(e, f, i, &s);
        }
    }
}

#define BY(name) name##_avx512
#define WITH WITH_VECTORS
#define EACH 8
#include "bpe_words.h"
#undef BY
#undef WITH
#undef EACH

/* By what the encoder is to use. */
typedef size_t words_encoder(bpe_encoder *e, group *g, misses *missed, const uint32_t *starts, const uint32_t *ends, size_t count, size_t *i,
                             uint32_t *out, size_t done);
static words_encoder *const WORDS_BY[] = {encode_by_words, encode_by_words_avx2, encode_by_words_avx512};

#endif

size_t bpe_encode(bpe_encoder *e, const uint8_t *text, uint64_t readable, const uint32_t *starts, const uint32_t *ends, size_t count,
                  uint32_t *out)
{
    places to;
    group g; /* of which what is read is written before: two kilobytes of zeros take as long as a dozen pieces */
    misses missed;
    const int words = count >= WORTH_WORDS && (e->skipped == 0 || e->skipped-- == 0);
    size_t done = 0, i = 0, n;
    cutting c = {0, 0, 0, 0};
    g.text = text;
    g.readable = readable;
    g.joint = NULL;
    missed.gap_count = missed.count = 0;
    while (i < count) {
        if (words && e->skipped == 0 && c.length == 0 && count - i >= WORTH_WORDS) {
#ifdef HAS_VECTORS
            done = WORDS_BY[e->words](e, &g, &missed, starts, ends, count, &i, out, done);
#else
            done = encode_by_words(e, &g, &missed, starts, ends, count, &i, out, done);
#endif
            if (done >= BPE_NO_TOKEN) return done;
            if (i == count) break;
        }
        const size_t most = count - i < GROUP ? count - i : GROUP;
        g.starts = starts + i;
        g.ends = ends + i;
        g.part = NULL;
        const int runs = c.length == 0 && readable - starts[i + most - 1] >= 16;
        n = runs && (text[starts[i]] < SCRIPTS || ends[i] - starts[i] <= ONE) ? put_run(e, &g, most) : 0; /* else the first is cut */
        i += n;
        g.count = n;
#ifdef HAS_VECTORS
        if (n < most && runs && e->vectors && (count - i >= WORTH || ends[i] - starts[i] <= WINDOW) && ends[i] - starts[i] <= REGION) {
            done = encode_group(e, &g, &missed, out, done);
            if (done < BPE_NO_TOKEN) done = encode_regions(e, &g, &missed, starts, ends, count, &i, out, done);
            if (done >= BPE_NO_TOKEN) return done;
            continue;
        }
#endif
        if (n < most) { /* from here on, places are not those of pieces */
            memcpy(to.starts, g.starts, n * sizeof *starts);
            memcpy(to.ends, g.ends, n * sizeof *ends);
            g.starts = to.starts;
            g.ends = to.ends;
            g.part = to.part;
            memset(to.part, 0, n);
            g.count = put_places(e, text, &to, n, starts, ends, count, &i, &c);
            put_keys(e, &g, n);
        }
        done = encode_group(e, &g, &missed, out, done);
        if (done >= BPE_NO_TOKEN) return done;
    }
    return finish_missing(e, &missed, out, done);
}
