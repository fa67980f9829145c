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
#include "bpe_misses.h"
#include "bpe_others.h"

static inline size_t encode_group(bpe_encoder *e, const group *g, misses *missed, uint32_t *out, size_t done);

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
    if (s.length > 1 && s.bytes[1] >= 0x80 && may_stay_whole(s.bytes, s.length)) note_whole(e, count > 0); /* not of ASCII, which is never cut */
    if (count > 0) return count;
    if (s.length > MEDIUM) return encode_longer(e, &s, g->hashes[i], out + done);
    missed->gaps[missed->gap_count].at = done;
    missed->gaps[missed->gap_count++].which = add_missing(e, missed, s.bytes, s.readable, s.length, s.part, g->keys[i]);
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
WITH_AVX2 static size_t encode_places_avx2(bpe_encoder *e, const group *g, misses *missed, uint32_t *out, size_t done)
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
    if (e->most_vectors != BPE_PLAIN) return encode_places_avx2(e, g, missed, out, done);
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

#define BY(name) name##_avx2
#define WITH WITH_AVX2
#include "bpe_numbered.h"
#undef BY
#undef WITH

#define BY(name) name##_avx512
#define WITH WITH_VECTORS
#include "bpe_numbered.h"
#undef BY
#undef WITH

#define WORTH 8 /* pieces for which a region is worth it, if the first is long */

/* As put_region_avx2, by what the encoder is to use. `are_few`: they have up to WINDOW bytes together. */
static inline size_t put_pieces(const bpe_encoder *e, region *r, const group *g, const uint32_t *starts, const uint32_t *ends, size_t most,
                                int are_few, size_t *places, uint32_t *cut, size_t *characters)
{
    if (e->vectors && are_few) return put_window(e->v, r, g->text, g->readable, starts, ends, most, places, cut, characters);
    if (e->vectors) return put_region_avx512(e->v, r, g->text, g->readable, starts, ends, most, places, cut, characters);
    return put_region_avx2(e, r, g->text, g->readable, starts, ends, most, places, cut, characters);
}

/* The ids of pieces from *i on, of which the first is cut and fits a region, and which are put into regions as long as one of sixteen is cut, and
 * up to one that does not fit: how many ids there are now, or an error. */
NOT_INLINE static size_t encode_regions(bpe_encoder *e, group *g, misses *missed, const uint32_t *starts, const uint32_t *ends, size_t count,
                                        size_t *i, uint32_t *out, size_t done)
{
    region r;
    size_t pieces, places, characters, from, most = FEW_PIECES;
    uint32_t cut;
    do {
        if (most > count - *i) most = count - *i;
        pieces = put_pieces(e, &r, g, starts + *i, ends + *i, most, ends[count - 1] - starts[*i] <= WINDOW, &places, &cut, &characters);
        *i += pieces;
        most = MANY_PIECES;
        for (from = 0; from < places; from += g->count) {
            g->starts = r.starts + from;
            g->joint = r.joint + from;
            g->ends = g->starts + 1;
            g->count = places - from < GROUP ? places - from : GROUP;
            if (characters * 2 > places && g->readable - g->starts[g->count - 1] >= 16) {
                done = (e->vectors ? encode_numbered_avx512 : encode_numbered_avx2)(e, g, r.characters + from, missed, out, done);
            } else {
                put_keys(e, g, 0);
                done = encode_group(e, g, missed, out, done);
            }
            if (done >= BPE_NO_TOKEN) return done;
        }
    } while (*i < count && cut * 16 >= pieces && ends[*i] - starts[*i] <= REGION);
    g->joint = NULL;
    return done;
}

#endif

/* --- by words ---------------------------------------------------------------------------------------------------------- */

#define TRIED (MANY_WORDS / 4) /* pieces that are looked up by words, before as many as can be */
#define WORTH_WORDS 64 /* pieces for which it is worth it */

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
#define place_others_avx2 place_others
#define count_ids_avx2 count_ids
#define BY(name) name##_avx2
#define WITH WITH_AVX2
#define EACH 4
#include "bpe_words.h"
#undef BY
#undef WITH
#undef EACH

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
            done = WORDS_BY[e->most_vectors](e, &g, &missed, starts, ends, count, &i, out, done);
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
        if (n < most && runs) note_cut(e, text + starts[i], ends[i] - starts[i]);
#ifdef HAS_VECTORS
        if (n < most && runs && e->most_vectors != BPE_PLAIN && (count - i >= WORTH || ends[i] - starts[i] <= WINDOW) &&
            ends[i] - starts[i] <= REGION) {
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
