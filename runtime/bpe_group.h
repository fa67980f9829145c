/* bpe_group.h - pieces of a text in; out, a group of them and of parts of those that are cut, with their keys, and the lines asked for that
 * they may be in. For bpe_encode.c.
 *
 *     ' the', ' Bolkonsky'    put_run: pieces as they are, up to the first that is to be cut
 *     '你好世界'              put_places: pieces and parts, one behind the other, until a group is full
 *
 * Memory answers while other keys are made: so all keys of a group are made before the first is compared.
 *
 * Invariants: places of a group are in order, and tile what it has of a text that drops nothing. A piece that has no joint is no part. Nothing is
 * read that the group does not say may be read; put_run, put_few and put_keys_by_vectors need 16 bytes of each place.
 */
#ifndef BPE_GROUP_H
#define BPE_GROUP_H

#include "bpe_lookup.h"

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

/* Keys and buckets of up to sixteen pieces of a group from n on, as far as they have up to BPE_KEY bytes; those that have more, or more than ONE and
 * begin with no byte below `scripts`, are listed: how many. 16 bytes of each may be read. */
static inline size_t put_few(const bpe_encoder *e, group *g, size_t n, size_t count, unsigned scripts, uint8_t *others)
{
    const uint8_t *text = g->text, *buckets = e->buckets;
    const uint32_t *starts = g->starts + n, *ends = g->ends + n;
    const uint32_t mask = e->bucket_mask;
    size_t i, listed = 0;
    for (i = 0; i < count; i++) { /* without a branch: words of many scripts often have more */
        const uint32_t start = starts[i], length = ends[i] - start;
        const key k = key_of(text + start, length <= BPE_KEY ? length : BPE_KEY);
        const entry *bucket = (const void *)(buckets + BUCKET * (size_t)(key_hash(k) >> BUCKET_SHIFT & mask));
        PREFETCH(bucket);
        g->keys[n + i] = k;
        g->buckets[n + i] = bucket;
        others[listed] = (uint8_t)i;
        listed += (length > BPE_KEY) | ((length > ONE) & (text[start] >= scripts));
    }
    return listed;
}

/* Keys and buckets of all places of a group from n on. */
static inline void put_keys(const bpe_encoder *e, group *g, size_t n)
{
    uint8_t longer[SIXTEEN];
    size_t k;
#ifdef HAS_VECTORS
    if (e->vectors && g->readable - g->starts[g->count - 1] >= 16) {
        put_keys_by_vectors(e, g, n);
        return;
    }
#endif
    while (n < g->count) {
        size_t count = g->count - n < SIXTEEN ? g->count - n : SIXTEEN, listed;
        while (count > 0 && g->readable - g->starts[n + count - 1] < 16) count--;
        listed = put_few(e, g, n, count, 256, longer);
        for (k = 0; k < listed; k++) put_key(e, g, n + longer[k], g->starts[n + longer[k]], g->ends[n + longer[k]]);
        if (count == 0) {
            put_key(e, g, n, g->starts[n], g->ends[n]);
            count = 1;
        }
        n += count;
    }
}

static inline span span_of(const group *g, size_t i)
{
    const uint32_t part = g->joint != NULL ? g->joint[i] | g->joint[i + 1] : g->part != NULL && g->part[i];
    const span s = {g->text + g->starts[i], g->readable - g->starts[i], g->ends[i] - g->starts[i], part};
    return s;
}

/* --- pieces that are cut ----------------------------------------------------------------------------------------------- */

/* Of a piece of more than BPE_KEY bytes, what tells it from nearly all others. */
static inline uint64_t both_ends(const uint8_t *p, uint32_t length)
{
    return fold(load_8(p) ^ length, load_8(p + length - 8) ^ UINT64_C(0xA0761D6478BD642F));
}

/* Whether a piece is a word of more than BPE_KEY bytes that may be cut or not, as is faster: of characters of two bytes, and short enough;
 * or of ASCII, which is never cut. */
static inline int may_stay_whole(const uint8_t *p, uint32_t length)
{
    return length > BPE_KEY && length <= MEDIUM && p[0] < SCRIPTS && p[1] < SCRIPTS;
}

/* Whether a piece of more than BPE_KEY bytes is to be cut, if it does not begin with a character of three bytes or more: as below. */
NOT_INLINE static int is_cut_soon(const bpe_encoder *e, const uint8_t *p, uint32_t length)
{
    size_t at = 0;
    uint32_t before = 0;
    if ((e->whole_words > 0 && may_stay_whole(p, length)) || (load_8(p) & UINT64_C(0x8080808080808080)) == 0) return 0;
    return bpe_next_joint(e->v, p, LOOK, &at, &before) < LOOK;
}

/* Whether a piece is to be cut, without being looked up as a whole: if it begins with a character of three bytes or more, or can be cut near
 * its beginning, for then its parts are short, and met more often than the piece. But words of characters of two bytes are looked up whole as long
 * as nearly all of them were met before; and where ASCII is behind the first of them, as behind a quotation mark, a short piece is worth a look. */
static inline int is_cut(const bpe_encoder *e, const uint8_t *p, uint32_t length)
{
    if (p[0] >= SCRIPTS) return length > BPE_KEY || (length > ONE && p[char_length(p[0])] >= 0x80);
    return length > BPE_KEY && is_cut_soon(e, p, length);
}

/* One piece that is cut of each run that ends with one. If nearly all of these words were met before, they are whole from then on. */
NOT_INLINE static void note_cut(bpe_encoder *e, const uint8_t *p, uint32_t length)
{
    if (!may_stay_whole(p, length)) return;
    if (seen_before(e, both_ends(p, length))) e->met_again++;
    else e->met_again -= e->met_again < NEW_WORD ? e->met_again : NEW_WORD;
    if (e->met_again < MET_AGAIN) return;
    e->met_again = 0;
    e->whole_words = WHOLE_WORDS;
}

/* Whether a word was found that stays whole. Where too many are not, words are cut again. */
static inline void note_whole(bpe_encoder *e, int is_found)
{
    if (is_found) e->whole_words += e->whole_words > 0 && e->whole_words < WHOLE_WORDS;
    else e->whole_words -= e->whole_words < NEW_WHOLE_WORD ? e->whole_words : NEW_WHOLE_WORD;
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
    uint8_t others[SIXTEEN];
    size_t n, k, listed;
#ifdef HAS_VECTORS
    if (e->vectors) return put_run_by_vectors(e, g, most);
#endif
    for (n = 0; n < most; n += SIXTEEN) {
        listed = put_few(e, g, n, most - n < SIXTEEN ? most - n : SIXTEEN, SCRIPTS, others);
        for (k = 0; k < listed; k++) {
            const size_t i = n + others[k];
            if (is_cut(e, g->text + g->starts[i], g->ends[i] - g->starts[i])) return i;
            put_key(e, g, i, g->starts[i], g->ends[i]);
        }
    }
    return most;
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

#endif
