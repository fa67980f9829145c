/* bpe_harness.c - bpe_*.c against the definition of merging, on random vocabularies.
 *
 * The definition is `define` below: all neighbours are looked through for the lowest rank, the leftmost of equals is merged, until none is
 * left. With it are compared: bpe_encode, on pieces side by side in a text that is allocated to the byte, with caches that are cold,
 * warm, and full of something else; bpe_merge by each method; the methods of bpe_neighbours.h where they hold; decoding. Prints the
 * first difference and returns 1. Compile it with tiny caches (-DBUCKET_BITS=1 -DMEDIUMS=2u -DSLOTS=2u -DLONGEST=200 -DARENA=1100u), so
 * that every entry is soon driven out by another, with tags of one bit (-DTAG_BITS=1), so that tokens are mistaken for others all the time,
 * and with sanitizers.
 *
 *     bpe_harness [rounds [seed [bytes of a long piece]]]
 *     bpe_harness small STEP      every STEP-th vocabulary of tokens of up to three letters a and b, and all pieces of up to seven
 */
#include "bpe_neighbours.h"

#include <stdio.h>
#include <stdlib.h>

#define MOST 700         /* tokens */
#define LONGEST_TOKEN 70
#define PIECE_MOST 900   /* bytes of a piece that is also done by definition */
#define PIECES_MOST 400
#define STRAY 'z'        /* a byte that no unit has: where it is no token, it is once in a text at most, and all else has ids */

static uint64_t seed = 1;

static uint32_t below(uint32_t limit)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((seed >> 33) % limit);
}

static void *exactly(size_t size)
{
    void *p = malloc(size ? size : 1);
    if (p == NULL) exit(2);
    return p;
}

static void fail(const char *what, long round)
{
    printf("round %ld: %s\n", round, what);
    exit(1);
}

/* Any that the processor has. */
static bpe_vectors some_vectors(unsigned long round) { return (bpe_vectors)(round % (1 + (unsigned)bpe_most_vectors())); }

/* --- random vocabularies ----------------------------------------------------------------------------------------------- */

typedef struct {
    uint8_t bytes[LONGEST_TOKEN];
    uint32_t length; /* 0: no token */
} token;

typedef struct {
    token tokens[MOST];
    uint32_t count, merge_count, *merges; /* NULL: by rank */
    int whole;
    uint32_t byte_tokens[256];
    uint32_t *ranks, *made;               /* [count * count] of each pair: BPE_NONE if it does not merge */
    const char *const *units;             /* what texts are made of */
    uint32_t unit_count;
} vocabulary;

/* Letters; characters of two, three and four bytes; and bytes that are ill-formed side by side. */
static const char *const LETTERS[] = {"a", "b", "c"};
static const char *const ONE[] = {"a"};
static const char *const CHARACTERS[] = {"\xe4\xb8\xad", "\xe6\x96\x87", "\xc3\xa9", "\xf0\x9f\x98\x80", "a", "\xe4\xb8\x80"};
static const char *const ILL_FORMED[] = {"\xe4\xb8\xad", "\xe4", "\xb8", "\xc3\xa9", "\xc3", "\xf0\x9f\x98", "\x80", "a", "\xff"};
static const char *const MORE[] = {"\xe4\xbd\xa0", "\xe5\xa5\xbd", "\xe3\x81\x82", "\xf0\x9f\x98\x80", "\xf0\x9f\x8e\x89", "\xd0\xb6", "\xd1\x8f", "\xe0\xa4\x95"};
/* So many that few tokens lie around two of them: one character is a part. Lengths take turns, and some are no UTF-8, but nearly. */
static const char *const SEPARATE[] = {"\x01", "~", "\x7f", "\xc2\x80", "\xd0\xb6", "\xdf\xbf", "\xe0\xa0\x80", "\xe0\xbf\xbf", "\xe1\x80\x80",
                                       "\xe3\x81\x82", "\xe3\x81\x84", "\xe3\x82\x8b", "\xe4\xb8\xad", "\xe4\xb8\x80", "\xe6\x96\x87", "\xe7\x9a\x84",
                                       "\xe4\xbd\xa0", "\xe5\xa5\xbd", "\xe6\x88\x91", "\xe5\x8e\xbb", "\xe4\xba\x86", "\xed\x9f\xbf", "\xee\x80\x80",
                                       "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf0\x9f\x98\x80", "\xe0\x80\x81", "\xe0\x82\x80", "\xe0\x9f\xbf", "\xc1\xbf",
                                       "\xc0\x81", "\xed\xa0\x80", "\xe4\xb8", "\xb8", "\xc3"};
/* Words of these have joints, and up to 32 bytes. */
static const char *const OF_TWO[] = {"\xd0\xb0", "\xd0\xb1", "\xd0\xb2", "\xd0\xbf", "\xd1\x80", "\xd1\x8f", "\xd1\x91", "\xce\xb1", "\xce\xb2", "\xcf\x89",
                                     "\xd8\xa7", "\xd9\x84", "\xdf\xbf", "\xc2\x80"};
/* One character, and those whose numbers differ from its in one bit: whoever takes two for one gives the ids of another. */
static const char *const NEAR[] = {"\xe4\xb8\xad", "\xe4\xb8\xac", "\xe4\xb8\xaf", "\xe4\xb8\xa9", "\xe4\xb8\xa5", "\xe4\xb8\xbd", "\xe4\xb8\x8d",
                                   "\xe4\xb9\xad", "\xe4\xba\xad", "\xe4\xbc\xad", "\xe4\xb0\xad", "\xe4\xa8\xad", "\xe4\x98\xad", "\xe5\xb8\xad",
                                   "\xe6\xb8\xad", "\xe0\xb8\xad", "\xec\xb8\xad"};
static const struct {
    const char *const *units;
    uint32_t count;
} ALPHABETS[] = {{LETTERS, 2}, {LETTERS, 3}, {ONE, 1}, {CHARACTERS, 6}, {CHARACTERS, 2}, {ILL_FORMED, 9}, {MORE, 8}, {MORE, 4}, {SEPARATE, 24}, {SEPARATE, 35},
                 {OF_TWO, 14}, {NEAR, 17}};

/* Random units, up to so many bytes; the last may be cut. */
static uint32_t put_units(const vocabulary *v, uint8_t *to, uint32_t length)
{
    uint32_t at = 0;
    while (at < length) {
        const char *unit = v->units[below(v->unit_count)];
        uint32_t repeat = below(8) ? 1 : 1 + below(20);
        for (; repeat > 0 && at < length; repeat--) {
            const char *p = unit;
            for (; *p && at < length; p++) to[at++] = (uint8_t)*p;
        }
    }
    return at;
}

static uint32_t find(const vocabulary *v, const uint8_t *bytes, uint32_t length)
{
    uint32_t id;
    for (id = 0; id < v->count; id++) {
        if (v->tokens[id].length == length && memcmp(v->tokens[id].bytes, bytes, length) == 0) return id;
    }
    return BPE_NONE;
}

static void add(vocabulary *v, const uint8_t *bytes, uint32_t length)
{
    if (v->count == MOST || length == 0 || length > LONGEST_TOKEN || find(v, bytes, length) != BPE_NONE) return;
    memcpy(v->tokens[v->count].bytes, bytes, length);
    v->tokens[v->count++].length = length;
}

static uint32_t at_character(const uint8_t *p, uint32_t at)
{
    while (at > 0 && (p[at] & 0xC0) == 0x80) at--;
    return at;
}

/* Parts of one text, which may begin and end with characters; or two tokens side by side, as training makes them. */
static void add_tokens(vocabulary *v, uint32_t count, int trained)
{
    const int aligned = below(3) == 0;
    uint8_t text[200];
    const uint32_t size = put_units(v, text, sizeof text), from = v->count;
    for (; count > 0; count--) {
        if (!trained) {
            const uint32_t at = aligned ? at_character(text, below(size)) : below(size);
            const uint32_t most = size - at < LONGEST_TOKEN ? size - at : LONGEST_TOKEN;
            const uint32_t length = 1 + below(below(4) ? (most < 6 ? most : 6) : most);
            add(v, text + at, aligned && at + length < size ? at_character(text, at + length) - at : length);
        } else {
            const uint32_t known = v->count - from + 1;
            const token *left = v->tokens + (below(3) ? v->byte_tokens[text[below(size)]] : from + below(known) % (v->count ? v->count - from + 1 : 1));
            const token *right = v->tokens + (below(3) ? v->byte_tokens[text[below(size)]] : from + below(known) % (v->count - from + 1));
            uint8_t both[2 * LONGEST_TOKEN];
            if (left >= v->tokens + v->count || right >= v->tokens + v->count) continue;
            memcpy(both, left->bytes, left->length);
            memcpy(both + left->length, right->bytes, right->length);
            add(v, both, left->length + right->length);
        }
    }
}

static void shuffle_tokens(vocabulary *v)
{
    uint32_t i;
    for (i = v->count; i > 1; i--) {
        const uint32_t j = below(i);
        const token kept = v->tokens[i - 1];
        v->tokens[i - 1] = v->tokens[j];
        v->tokens[j] = kept;
    }
}

static void note_bytes(vocabulary *v)
{
    uint32_t id, b;
    for (b = 0; b < 256; b++) v->byte_tokens[b] = BPE_NONE;
    for (id = 0; id < v->count; id++) {
        if (v->tokens[id].length == 1) v->byte_tokens[v->tokens[id].bytes[0]] = id;
    }
}

/* All ways to cut tokens in two that give tokens: by rank, that is what merges; else it is listed, in some order, but for some. */
static void make_merges(vocabulary *v, int listed, int ordered)
{
    uint32_t id, cut, i, room = 0;
    size_t k;
    v->ranks = exactly(sizeof *v->ranks * v->count * v->count);
    v->made = exactly(sizeof *v->made * v->count * v->count);
    memset(v->ranks, 0xFF, sizeof *v->ranks * v->count * v->count);
    for (id = 0; id < v->count; id++) room += v->tokens[id].length;
    v->merges = listed ? exactly(3 * sizeof *v->merges * room) : NULL;
    v->merge_count = 0;
    for (id = 0; id < v->count; id++) {
        const token *t = v->tokens + id;
        for (cut = 1; cut < t->length; cut++) {
            const uint32_t left = find(v, t->bytes, cut), right = find(v, t->bytes + cut, t->length - cut);
            if (left == BPE_NONE || right == BPE_NONE || (listed && below(4) == 0)) continue;
            if (listed) {
                v->merges[3 * v->merge_count] = left;
                v->merges[3 * v->merge_count + 1] = right;
                v->merges[3 * v->merge_count++ + 2] = id;
            } else {
                v->ranks[(size_t)left * v->count + right] = v->made[(size_t)left * v->count + right] = id;
            }
        }
    }
    for (i = v->merge_count; listed && !ordered && i > 1; i--) {
        const uint32_t j = below(i);
        for (k = 0; k < 3; k++) {
            const uint32_t kept = v->merges[3 * (i - 1) + k];
            v->merges[3 * (i - 1) + k] = v->merges[3 * j + k];
            v->merges[3 * j + k] = kept;
        }
    }
    for (i = 0; i < v->merge_count; i++) {
        v->ranks[(size_t)v->merges[3 * i] * v->count + v->merges[3 * i + 1]] = i;
        v->made[(size_t)v->merges[3 * i] * v->count + v->merges[3 * i + 1]] = v->merges[3 * i + 2];
    }
}

static vocabulary *random_vocabulary(void)
{
    vocabulary *v = exactly(sizeof *v);
    const uint32_t kind = below(sizeof ALPHABETS / sizeof *ALPHABETS), missing = below(6) == 0, stray = below(3) == 0;
    const int trained = below(2) != 0, ordered = below(2) != 0;
    uint32_t b;
    memset(v, 0, sizeof *v);
    v->units = ALPHABETS[kind].units;
    v->unit_count = ALPHABETS[kind].count;
    for (b = 0; b < 256; b++) {
        const uint8_t byte = (uint8_t)b;
        if ((missing && byte == (uint8_t)v->units[0][0] && v->unit_count > 1) || (stray && byte == STRAY)) continue;
        add(v, &byte, 1);
        if (below(40) == 0 && !missing) v->count++; /* an id that is no token */
    }
    note_bytes(v);
    add_tokens(v, 1 + below(below(2) ? 300 : 12), trained && !missing);
    if (!ordered) shuffle_tokens(v);
    note_bytes(v);
    v->whole = below(2) != 0;
    make_merges(v, below(2) != 0, ordered);
    return v;
}

static void free_vocabulary(vocabulary *v)
{
    free(v->ranks);
    free(v->made);
    free(v->merges);
    free(v);
}

/* The ids of a piece by definition: their number, or BPE_NO_TOKEN. */
static size_t define(const vocabulary *v, const uint8_t *p, size_t length, int whole, uint32_t *out)
{
    size_t n = length, i, best;
    if (whole && length <= LONGEST_TOKEN && (out[0] = find(v, p, (uint32_t)length)) != BPE_NONE) return 1;
    for (i = 0; i < length; i++) {
        if ((out[i] = v->byte_tokens[p[i]]) == BPE_NONE) return BPE_NO_TOKEN;
    }
    for (;;) {
        uint32_t least = BPE_NONE;
        for (i = 0, best = 0; i + 1 < n; i++) {
            const uint32_t rank = v->ranks[(size_t)out[i] * v->count + out[i + 1]];
            if (rank < least) least = rank, best = i;
        }
        if (least == BPE_NONE) return n;
        out[best] = v->made[(size_t)out[best] * v->count + out[best + 1]];
        for (i = best + 1, n--; i < n; i++) out[i] = out[i + 1];
    }
}

/* --- what is compared -------------------------------------------------------------------------------------------------- */

/* With vectors, or without: the tables are the same. */
static void build(bpe_vocabulary *b, const vocabulary *v)
{
    const bpe_vectors most = bpe_most_vectors();
    bpe_vocabulary other;
    uint32_t *starts = exactly(sizeof *starts * (v->count + 1)), id, at = 0;
    uint8_t *bytes;
    for (id = 0; id < v->count; at += v->tokens[id++].length) starts[id] = at;
    starts[id] = at;
    bytes = exactly(at);
    for (id = 0; id < v->count; id++) memcpy(bytes + starts[id], v->tokens[id].bytes, v->tokens[id].length);
    if (bpe_build(b, starts, bytes, v->count, v->merges, v->merge_count, v->whole, BPE_PLAIN) != 0) exit(2);
    if (bpe_build(&other, starts, bytes, v->count, v->merges, v->merge_count, v->whole, (bpe_vectors)below((uint32_t)most + 1)) != 0) exit(2);
    if (b->size != other.size || memcmp(b->image, other.image, b->size) != 0) fail("tables made with vectors", 0);
    bpe_close(&other);
    free(starts);
    free(bytes);
}

typedef struct {
    uint8_t *text;
    uint32_t *starts, *ends, *ids;
    size_t length, count, id_count; /* id_count: BPE_NO_TOKEN if some byte is no token */
} cut_text;

static uint32_t piece_length(void)
{
    switch (below(12)) {
    case 0: return 1 + below(3);
    case 1: return 14 + below(4);
    case 2: return 30 + below(5);
    case 3: return 190 + below(20);
    case 4: return below(8) ? 40 + below(60) : 1 + below(PIECE_MOST);
    default: return 1 + below(12);
    }
}

static uint32_t put_piece(const vocabulary *v, uint8_t *to, const cut_text *t)
{
    uint32_t length = piece_length();
    if (below(4) == 0) { /* a token, or two */
        const token *one = v->tokens + below(v->count), *other = v->tokens + (below(2) ? below(v->count) : 0);
        memcpy(to, one->bytes, one->length);
        memcpy(to + one->length, other->bytes, other->length);
        length = one->length + (below(2) ? other->length : 0);
        return length > 0 ? length : put_units(v, to, 1);
    }
    if (t->count > 0 && below(3) == 0) { /* one that was there before */
        const size_t i = below((uint32_t)t->count);
        memcpy(to, t->text + t->starts[i], t->ends[i] - t->starts[i]);
        return t->ends[i] - t->starts[i];
    }
    return put_units(v, to, length);
}

static cut_text random_text(const vocabulary *v)
{
    const size_t most = below(4) ? below(40) : below(PIECES_MOST);
    const uint32_t gaps = below(4) ? 0 : 1 + below(3); /* bytes between pieces, which belong to none */
    cut_text t = {.text = exactly(most * (PIECE_MOST + 3))};
    uint32_t *ids = exactly(sizeof *ids * PIECE_MOST);
    t.starts = exactly(sizeof *t.starts * most);
    t.ends = exactly(sizeof *t.ends * most);
    for (; t.count < most; t.count++) {
        t.starts[t.count] = (uint32_t)t.length;
        t.length += put_piece(v, t.text + t.length, &t);
        t.ends[t.count] = (uint32_t)t.length;
        if (gaps > 0 && below(20) == 0) t.length += put_units(v, t.text + t.length, gaps);
    }
    t.text = realloc(t.text, t.length ? t.length : 1); /* to the byte */
    t.ids = exactly(sizeof *t.ids * t.length);
    if (t.length > 0 && v->byte_tokens[STRAY] == BPE_NONE && below(3) == 0) t.text[below((uint32_t)t.length)] = STRAY;
    for (size_t i = 0; i < t.count && t.id_count != BPE_NO_TOKEN; i++) {
        const size_t made = define(v, t.text + t.starts[i], t.ends[i] - t.starts[i], v->whole, ids);
        if (made != BPE_NO_TOKEN) memcpy(t.ids + t.id_count, ids, made * sizeof *ids);
        t.id_count = made == BPE_NO_TOKEN ? made : t.id_count + made;
    }
    free(ids);
    return t;
}

static void free_text(cut_text *t)
{
    free(t->text);
    free(t->starts);
    free(t->ends);
    free(t->ids);
}

static void check_encoding(bpe_encoder *e, const cut_text *t, const char *what, long round)
{
    uint32_t *out = exactly(sizeof *out * (t->length + BPE_PADDING));
    size_t made;
    if (round % 3 > 0) bpe_encoder_make_room(e); /* which is asked for by some, and by some only when much was kept */
    made = bpe_encode(e, t->text, t->length, t->starts, t->ends, t->count, out);
    if (made != t->id_count || (made < BPE_NO_TOKEN && memcmp(out, t->ids, made * sizeof *out) != 0)) fail(what, round);
    free(out);
}

#define MOST_MIXED 60
#define LARGE 2048 /* bytes that are looked through together, where pieces are cut */
/* Short pieces, and here and there one that has more than LARGE bytes; behind some are bytes that belong to none. */
static void check_mixed(bpe_encoder *e, const bpe_vocabulary *b, const vocabulary *v, long round)
{
    cut_text t = {.text = exactly(MOST_MIXED * (LARGE + 100 + 3) + 16)};
    uint32_t starts[MOST_MIXED], ends[MOST_MIXED], large = 0;
    const size_t most = 1 + below(MOST_MIXED);
    t.starts = starts;
    t.ends = ends;
    t.ids = exactly(sizeof *t.ids * (MOST_MIXED * (LARGE + 100) + BPE_PADDING));
    for (; t.count < most && t.id_count != BPE_NO_TOKEN; t.count++) {
        const int is_large = large < 3 && below(10) == 0;
        const uint32_t length = put_units(v, t.text + t.length, is_large ? LARGE - 10 + below(100) : 1 + below(12));
        const uint8_t *piece = t.text + t.length;
        uint32_t *ids = t.ids + t.id_count;
        const size_t made = is_large ? bpe_merge(b, BPE_AUTOMATIC, piece, length, ids) : define(v, piece, length, v->whole, ids);
        large += (uint32_t)is_large;
        starts[t.count] = (uint32_t)t.length;
        ends[t.count] = (uint32_t)(t.length += length);
        t.id_count = made == BPE_NO_TOKEN ? made : t.id_count + made;
        if (below(4) == 0) t.length += put_units(v, t.text + t.length, 1 + below(3));
    }
    if (below(4) > 0) t.length += put_units(v, t.text + t.length, 16); /* where fewer may be read behind the last, pieces go another way */
    t.text = realloc(t.text, t.length);
    check_encoding(e, &t, "short pieces and large ones", round);
    free(t.text);
    free(t.ids);
}

#define FEW_BYTES 80
/* A few pieces alone, as a short call has them, behind which 16 bytes may be read. */
static void check_few(bpe_encoder *e, const vocabulary *v, const cut_text *t, long round)
{
    uint32_t starts[FEW_BYTES], ends[FEW_BYTES], ids[PIECE_MOST + BPE_PADDING], expected[FEW_BYTES], out[FEW_BYTES + BPE_PADDING], first;
    size_t count = 0, wanted = 0, i = below((uint32_t)t->count), made;
    const size_t size = 1 + below(FEW_BYTES);
    uint8_t *text;
    first = t->starts[i];
    for (; i < t->count && t->ends[i] - first <= size; i++, count++) {
        starts[count] = t->starts[i] - first;
        ends[count] = t->ends[i] - first;
        made = define(v, t->text + t->starts[i], t->ends[i] - t->starts[i], v->whole, ids);
        if (made == BPE_NO_TOKEN) return;
        memcpy(expected + wanted, ids, made * sizeof *ids);
        wanted += made;
    }
    if (count == 0) return;
    text = exactly(ends[count - 1] + 16);
    memcpy(text, t->text + first, ends[count - 1]);
    for (i = 0; i < 16; i++) text[ends[count - 1] + i] = (uint8_t)below(256);
    made = bpe_encode(e, text, ends[count - 1] + 16, starts, ends, count, out);
    if (made != wanted || memcmp(out, expected, made * sizeof *out) != 0) fail("a few pieces", round);
    free(text);
}

#define OTHERS 12
#define NO_ID (UINT32_MAX - 3)

/* Ids that the vocabulary does not have, or has otherwise; some of them are special. No two are the same. */
static void put_others(const bpe_vocabulary *b, bpe_other *others)
{
    static const char *const TEXTS[] = {"", "<|end|>", "\xc3\xa9", "\xe4\xb8", "\xf0\x9f\x98\x80 and so on and on", "a", "\x80"};
    static uint8_t longest[300];
    size_t count = 0, i;
    memset(longest, 'x', sizeof longest);
    while (count < OTHERS) {
        const char *text = TEXTS[below(7)];
        bpe_other other = {(const uint8_t *)text, below(b->token_count + 300), (uint32_t)strlen(text), below(2)};
        if (below(6) == 0) other.bytes = longest, other.length = 100 + below(200);
        for (i = 0; i < count && others[i].id != other.id; i++) continue;
        if (i == count) others[count++] = other;
    }
}

/* The bytes of an id, by definition. */
static size_t define_token(const bpe_vocabulary *b, const bpe_other *others, uint32_t id, int skip, const uint8_t **bytes)
{
    for (size_t i = 0; i < OTHERS; i++) {
        if (others[i].id != id) continue;
        *bytes = others[i].bytes;
        return skip && others[i].special ? 0 : others[i].length;
    }
    *bytes = id < b->token_count ? b->bytes + b->starts[id] : NULL;
    return id >= b->token_count || b->starts[id] == b->starts[id + 1] ? SIZE_MAX : b->starts[id + 1] - b->starts[id];
}

/* An id among others that is no token; the one behind all of them, if there is none. */
static uint32_t first_hole(const bpe_vocabulary *b)
{
    uint32_t id = 0;
    while (id < b->token_count && b->starts[id] != b->starts[id + 1]) id++;
    return id;
}

/* Ids of a text with others between; among them may be one that is none. All at once, and as much at a time as there is room for. */
static void check_decoding(const bpe_vocabulary *b, const cut_text *t, bpe_vectors vectors, long round)
{
    const size_t count = t->id_count == BPE_NO_TOKEN ? 0 : t->id_count;
    uint32_t *ids = exactly((count + 1) * sizeof *ids);
    const int skip = (int)below(2);
    const size_t given = below(2) ? OTHERS : below(2);
    bpe_other others[OTHERS];
    bpe_extent extent = {0, 0, 0};
    uint8_t *expected, *out, *to, most = 0;
    uint32_t widest = 0;
    size_t size = 0, characters = 0, good, measured, i, at;
    const uint8_t *bytes = NULL;
    bpe_decoder d;
    put_others(b, others);
    for (i = given; i < OTHERS; i++) others[i].id = NO_ID;
    if (bpe_decoder_begin(&d, b, others, given) != 0) exit(2);
    d.vectors = vectors;
    for (i = 0; i < count; i++) ids[i] = given == 0 || below(20) ? t->ids[i] : others[below((uint32_t)given)].id;
    if (count > 0 && below(4) == 0) ids[below((uint32_t)count)] = below(2) ? first_hole(b) : below(2) ? UINT32_MAX - below(3) : b->token_count + below(2000);
    for (good = 0; good < count && (at = define_token(b, others, ids[good], skip, &bytes)) != SIZE_MAX; good++) size += at;
    expected = exactly(size);
    for (size = i = 0; i < good; i++) {
        const size_t length = define_token(b, others, ids[i], skip, &bytes);
        if (length != bpe_token(&d, ids[i], skip, &bytes)) fail("the length of a token", round);
        memcpy(expected + size, bytes, length);
        size += length;
    }
    if (good < count && bpe_token(&d, ids[good], skip, &bytes) != SIZE_MAX) fail("an id that is none", round);
    for (i = 0; i < size; i++) {
        characters += (expected[i] & 0xC0) != 0x80;
        most = expected[i] > most ? expected[i] : most;
    }
    if (bpe_characters(expected, size, vectors) != characters) fail("how many characters begin", round);
    for (measured = 0; measured < count; measured += at) { /* in parts */
        const size_t most = 1 + below(40), part = most < count - measured ? most : count - measured;
        at = bpe_measure(&d, ids + measured, part, skip, &extent);
        if (at < part) break;
    }
    if (measured + (measured < count ? at : 0) != good) fail("where an id is none", round);
    if (good == count && (extent.bytes != size || extent.characters != characters)) fail("decoded size", round);
    if (good == count && extent.widest != (most < 0x80 ? 0u : most < 0xC4 ? 1u : most < 0xF0 ? 2u : 3u)) fail("the widest character", round);
    out = exactly(size);
    to = out;
    if (bpe_decode(&d, ids, good, skip, &to, out + size, &widest) != good || to != out + size || memcmp(out, expected, size) != 0) fail("decoded bytes", round);
    if (good == count && widest != extent.widest) fail("the widest character decoded", round);
    free(out);
    for (i = at = 0; i < good;) {
        const size_t room = 1 + below(below(2) ? 30 : 500);
        size_t done;
        out = exactly(room);
        to = out;
        done = bpe_decode(&d, ids + i, good - i, skip, &to, out + room, &widest);
        if (memcmp(out, expected + at, (size_t)(to - out)) != 0) fail("bytes decoded in parts", round);
        at += (size_t)(to - out);
        i += done;
        free(out);
        if (done == 0 && define_token(b, others, ids[i], skip, &bytes) <= room) fail("a token that was not decoded", round);
        if (done == 0) at += define_token(b, others, ids[i++], skip, &bytes);
    }
    free(expected);
    free(ids);
    bpe_decoder_end(&d);
}

/* Unicode's table of well-formed sequences: the bytes of the character at p, 0 if it goes on behind the end, or -1. */
static int define_character(const uint8_t *p, size_t left, uint32_t *point)
{
    static const struct { uint8_t first, last, low, high; int size; } rows[] = {
        {0x00, 0x7F, 0, 0, 1}, {0xC2, 0xDF, 0x80, 0xBF, 2}, {0xE0, 0xE0, 0xA0, 0xBF, 3}, {0xE1, 0xEC, 0x80, 0xBF, 3}, {0xED, 0xED, 0x80, 0x9F, 3},
        {0xEE, 0xEF, 0x80, 0xBF, 3}, {0xF0, 0xF0, 0x90, 0xBF, 4}, {0xF1, 0xF3, 0x80, 0xBF, 4}, {0xF4, 0xF4, 0x80, 0x8F, 4}};
    for (size_t row = 0; row < sizeof rows / sizeof *rows; row++) {
        const int size = rows[row].size;
        if (p[0] < rows[row].first || p[0] > rows[row].last) continue;
        for (int i = 1; i < size; i++) {
            if ((size_t)i == left) return 0;
            if ((p[i] & 0xC0) != 0x80) return -1;
        }
        if (size > 1 && (p[1] < rows[row].low || p[1] > rows[row].high)) return -1;
        *point = size == 1 ? p[0] : p[0] & (0x7Fu >> size);
        for (int i = 1; i < size; i++) *point = *point << 6 | (p[i] & 0x3F);
        return size;
    }
    return -1;
}

/* Texts, most of them well-formed or nearly so, in memory that ends where they end, to numbers of each width. */
static void check_transcoding(bpe_vectors vectors, long round)
{
    static const char *const UNITS[] = {"a", "some words of ASCII, more than sixteen", "\xc3\xa9", "\xd1\x8f", "\xe4\xb8\xad", "\xed\x9f\xbf", "\xef\xbf\xbd", "\xf0\x9f\x98\x80",
                                        "\xf4\x8f\xbf\xbf", "\xe0\xa0\x80", "\xf0\x90\x80\x80", "\xc2\x80",
                                        "\xc1\xbf", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\x80", "\xe4\xb8", "\xff", "\xc3", "\xf0\x9f\x98"};
    const uint32_t kinds = below(3) ? 12 : 23, rare = below(2) ? 400 : 12, width = 1u << below(3), chosen = below(12);
    const size_t length = below(below(4) ? 300 : 3000);
    uint8_t *text = exactly(length), *out, *to, *expected = exactly(length * 4);
    size_t at = 0, made = 0, used, room;
    int wrong = 0;
    while (at < length) {
        const uint32_t kind = below(rare) == 0 ? below(kinds) : below(3) ? chosen : below(width == 1 ? 3 : width == 2 ? 7 : 12);
        for (const char *unit = UNITS[kind]; *unit && at < length; unit++) text[at++] = (uint8_t)*unit;
    }
    for (at = 0; at < length;) {
        uint32_t point = 0;
        const int n = define_character(text + at, length - at, &point);
        if (n == 0) break;
        wrong = n < 0 || (width < 4 && point >> 8 * (width & 3) != 0);
        if (wrong) break;
        for (uint32_t i = 0; i < width; i++) {
            const uint16_t order = 1;
            const uint32_t place = *(const uint8_t *)&order ? i : width - 1 - i;
            expected[made * width + i] = (uint8_t)(point >> 8 * place);
        }
        at += (size_t)n;
        made++;
    }
    room = (made + (!wrong ? 0 : below(2) ? below(4) : length)) * width; /* vectors need room for as many as they read */
    out = exactly(room);
    to = out;
    used = bpe_transcode(text, length, (int)width, vectors, &to, out + room);
    if (wrong ? used != SIZE_MAX : used != at || to != out + room || memcmp(out, expected, room) != 0) fail("characters", round);
    to = out;
    if (!wrong && made > 0 && bpe_transcode(text, length, (int)width, vectors, &to, out + below((uint32_t)made) * width) != SIZE_MAX) fail("no room", round);
    free(out);
    free(text);
    free(expected);
}

static void same(const char *what, long round, size_t expected, const uint32_t *ids, size_t made, const uint32_t *out)
{
    if (made == expected && (made >= BPE_NO_TOKEN || memcmp(ids, out, made * sizeof *ids) == 0)) return;
    fail(what, round);
}

/* One piece, without caches, by all methods. Longer than PIECE_MOST, the heap is what others are compared with. */
static void check_methods(const bpe_vocabulary *b, const vocabulary *v, const bpe_neighbours *n, const uint8_t *p, size_t length, long round)
{
    const int defined = length <= PIECE_MOST;
    uint32_t *ids = exactly(sizeof *ids * (length + BPE_PADDING)), *out = exactly(sizeof *out * (length + BPE_PADDING));
    const size_t expected = defined ? define(v, p, length, 0, ids) : bpe_merge(b, BPE_HEAP, p, length, ids);
    if (defined) same("heap", round, expected, ids, bpe_merge(b, BPE_HEAP, p, length, out), out);
    if (length <= 5000) same("sweep", round, expected, ids, bpe_merge(b, BPE_SWEEP, p, length, out), out);
    same("automatic", round, expected, ids, bpe_merge(b, BPE_AUTOMATIC, p, length, out), out);
    same("windows", round, expected, ids, bpe_merge(b, BPE_WINDOWS, p, length, out), out);
    same("windows, no vectors", round, expected, ids, bpe_merge_windows(b, p, length, out, NULL, 0), out);
    if (n->ordered) same("backtrack", round, expected, ids, bpe_merge_backtrack(n, p, length, out), out);
    if (n->ordered) same("prefixes", round, expected, ids, bpe_merge_prefixes(n, p, length, out), out);
    free(ids);
    free(out);
}

/* The pieces of up to so many bytes, each with room for its ids: how many, and whether one has a byte that is no token. */
static size_t put_jobs(const vocabulary *v, const cut_text *t, uint32_t longest, bpe_job *jobs, uint32_t *out, int *missing)
{
    uint32_t ids[BPE_FAR];
    size_t count = 0, i;
    *missing = 0;
    for (i = 0; i < t->count; i++) {
        const bpe_job job = {t->text + t->starts[i], t->ends[i] - t->starts[i], 0, out + count * longest};
        if (job.length > longest) continue;
        *missing |= define(v, job.bytes, job.length, 0, ids) == BPE_NO_TOKEN;
        jobs[count++] = job;
    }
    return count;
}

/* Several pieces by turns, of up to so many bytes. */
static void check_many(const bpe_vocabulary *b, const vocabulary *v, const cut_text *t, uint32_t longest, long round)
{
    bpe_job *jobs = exactly(sizeof *jobs * t->count);
    uint32_t *out = exactly(sizeof *out * t->count * longest), ids[BPE_LONG];
    size_t count, i;
    int missing;
    count = put_jobs(v, t, longest, jobs, out, &missing);
    if (bpe_merge_many(b, jobs, count, longest) != (missing ? -1 : 0)) fail("many: whether a byte is missing", round);
    for (i = 0; !missing && i < count; i++) {
        same("many", round, define(v, jobs[i].bytes, jobs[i].length, 0, ids), ids, jobs[i].count, jobs[i].ids);
    }
    free(jobs);
    free(out);
}

/* Several pieces of up to BPE_FAR bytes: as many bytes of each as are merged. */
static void check_far(const bpe_vocabulary *b, const vocabulary *v, const cut_text *t, int vectors, long round)
{
    bpe_job *jobs = exactly(sizeof *jobs * t->count);
    uint32_t *out = exactly(sizeof *out * t->count * BPE_FAR), ids[BPE_FAR];
    size_t count, i;
    int missing;
    count = put_jobs(v, t, BPE_FAR, jobs, out, &missing);
    if (bpe_merge_far(b, jobs, count, vectors) != 0) {
        if (!missing) fail("far: a byte is missing", round);
        count = 0;
    }
    for (i = 0; i < count; i++) {
        if (jobs[i].count > BPE_LONG || jobs[i].length == 0) fail("far: how many", round);
        same("far", round, define(v, jobs[i].bytes, jobs[i].length, 0, ids), ids, jobs[i].count, jobs[i].ids);
    }
    free(jobs);
    free(out);
}

/* Several pieces by rounds: as many as it takes. */
static void check_rounds(const bpe_vocabulary *b, const vocabulary *v, const cut_text *t, bpe_vectors vectors, long round)
{
    bpe_job *jobs = exactly(sizeof *jobs * t->count);
    uint32_t *out = exactly(sizeof *out * t->count * BPE_MEDIUM), ids[BPE_MEDIUM];
    size_t count, done, i;
    int missing;
    count = put_jobs(v, t, BPE_MEDIUM, jobs, out, &missing);
    done = bpe_merge_rounds(b, jobs, count, vectors);
    if (done == BPE_NO_TOKEN ? !missing : done > count || (done == 0 && count >= 16 && vectors != BPE_PLAIN)) fail("rounds: how many are done", round);
    for (i = 0; done != BPE_NO_TOKEN && i < done; i++) {
        same("rounds", round, define(v, jobs[i].bytes, jobs[i].length, 0, ids), ids, jobs[i].count, jobs[i].ids);
    }
    free(jobs);
    free(out);
}

#define SOME_LETTERS 40
#define TWO_LETTERS (SOME_LETTERS * SOME_LETTERS)
#define FOUR_LETTERS 5000

/* Tokens of one, two and four letters, so many that their ids need more than ten bits, and pieces of these, by rounds and by an encoder: against
 * the heap. The definition would take too long. */
static void check_large_ids(void)
{
    static uint8_t bytes[256 + 2 * TWO_LETTERS + 4 * FOUR_LETTERS], known[TWO_LETTERS][TWO_LETTERS];
    static uint32_t starts[256 + TWO_LETTERS + FOUR_LETTERS + 1];
    uint32_t count = 0, at = 0, i, two[2];
    unsigned vectors;
    bpe_vocabulary b;
    cut_text t = {.text = exactly(400 * BPE_MEDIUM)};
    for (i = 0; i < 256; i++) starts[count++] = at, bytes[at++] = (uint8_t)i;
    for (i = 0; i < TWO_LETTERS; i++) starts[count++] = at, bytes[at++] = (uint8_t)('0' + i / SOME_LETTERS), bytes[at++] = (uint8_t)('0' + i % SOME_LETTERS);
    for (i = 0; i < FOUR_LETTERS; i++) {
        do two[0] = below(TWO_LETTERS), two[1] = below(TWO_LETTERS);
        while (known[two[0]][two[1]]++ > 0);
        starts[count++] = at;
        memcpy(bytes + at, bytes + starts[256 + two[0]], 2);
        memcpy(bytes + at + 2, bytes + starts[256 + two[1]], 2);
        at += 4;
    }
    starts[count] = at;
    if (bpe_build(&b, starts, bytes, count, NULL, 0, 0, bpe_most_vectors()) != 0) exit(2);
    t.starts = exactly(400 * sizeof *t.starts);
    t.ends = exactly(400 * sizeof *t.ends);
    t.ids = exactly((400 * BPE_MEDIUM + BPE_PADDING) * sizeof *t.ids);
    for (; t.count < 400; t.count++) {
        const size_t length = 1 + below(BPE_MEDIUM);
        t.starts[t.count] = (uint32_t)t.length;
        for (i = 0; i < length; i += 4) memcpy(t.text + t.length + i, bytes + starts[256 + TWO_LETTERS + below(FOUR_LETTERS)], length - i < 4 ? length - i : 4);
        t.id_count += bpe_merge(&b, BPE_HEAP, t.text + t.length, length, t.ids + t.id_count);
        t.ends[t.count] = (uint32_t)(t.length += length);
    }
    for (vectors = 0; vectors <= (unsigned)bpe_most_vectors(); vectors++) {
        bpe_encoder *e = bpe_encoder_new(&b);
        bpe_job jobs[400];
        uint32_t *out = exactly(400 * BPE_MEDIUM * sizeof *out);
        size_t done, from = 0, n;
        if (e == NULL) exit(2);
        bpe_encoder_use_vectors(e, (bpe_vectors)vectors);
        check_encoding(e, &t, "many tokens", (long)vectors);
        bpe_encoder_free(e);
        for (n = 0; n < t.count; n++) jobs[n] = (bpe_job){t.text + t.starts[n], t.ends[n] - t.starts[n], 0, out + n * BPE_MEDIUM};
        done = bpe_merge_rounds(&b, jobs, t.count, (bpe_vectors)vectors);
        for (n = 0; n < done; from += jobs[n++].count) same("many tokens by rounds", (long)vectors, jobs[n].count, t.ids + from, jobs[n].count, jobs[n].ids);
        if (done != (vectors == BPE_PLAIN ? 0 : t.count) || (done > 0 && from != t.id_count)) fail("many tokens by rounds: how many", (long)vectors);
        free(out);
    }
    free_text(&t);
    bpe_close(&b);
}

/* What can be made, by definition. */
static void check_neighbours(const vocabulary *v, const bpe_neighbours *n, long round)
{
    uint32_t ids[LONGEST_TOKEN], id;
    if (!n->ordered) return;
    for (id = 0; id < v->count; id++) {
        const token *t = v->tokens + id;
        const int is_made = t->length > 0 && define(v, t->bytes, t->length, 0, ids) == 1;
        if (is_made != (n->made[id] != BPE_NONE)) fail("what can be made", round);
    }
}

/* Whatever a damaged image gives, ids are below token_count, and neither more than there is room for. */
static void forged(const bpe_vocabulary *b, bpe_encoder *e, const cut_text *t, uint32_t *out)
{
    size_t made = bpe_encode(e, t->text, t->length, t->starts, t->ends, t->count, out), i;
    bpe_neighbours n;
    bpe_decoder d;
    for (i = 0; made < BPE_NO_TOKEN && i < made; i++) {
        if (out[i] >= b->token_count) fail("an id that is none", (long)i);
    }
    if (bpe_decoder_begin(&d, b, NULL, 0) != 0 || bpe_neighbours_begin(&n, b) != 0) exit(2);
    d.vectors = bpe_most_vectors();
    if (made < BPE_NO_TOKEN) {
        bpe_extent extent = {0, 0, 0};
        uint8_t *bytes, *to;
        uint32_t widest = 0;
        const size_t good = bpe_measure(&d, out, made, 0, &extent);
        bytes = to = exactly((size_t)extent.bytes);
        bpe_decode(&d, out, good, 0, &to, bytes + extent.bytes, &widest);
        free(bytes);
    }
    for (i = 0; i < t->count && i < 20; i++) {
        const size_t length = t->ends[i] - t->starts[i];
        bpe_merge(b, BPE_HEAP, t->text + t->starts[i], length, out);
        bpe_merge_windows(b, t->text + t->starts[i], length, out, NULL, bpe_has_vectors());
        bpe_merge_windows(b, t->text + t->starts[i], length, out, NULL, 0);
        if (n.ordered) bpe_merge_backtrack(&n, t->text + t->starts[i], length, out);
        if (n.ordered) bpe_merge_prefixes(&n, t->text + t->starts[i], length, out);
    }
    bpe_neighbours_end(&n);
    bpe_decoder_end(&d);
}

/* The same vocabulary from a copy of its image; and copies that are damaged, which are refused or give anything, but read nothing astray. */
static void check_image(const bpe_vocabulary *b, const cut_text *t, long round)
{
    uint8_t *copy = exactly(b->size);
    uint32_t *out = exactly(sizeof *out * (t->length + BPE_PADDING)), tries, changes;
    bpe_vocabulary opened;
    bpe_encoder *e;
    memcpy(copy, b->image, b->size);
    if (bpe_open(&opened, copy, b->size) != 0) fail("an image is refused", round);
    if ((e = bpe_encoder_new(&opened)) == NULL) exit(2);
    bpe_encoder_use_vectors(e, bpe_most_vectors());
    check_encoding(e, t, "from an image", round);
    bpe_encoder_free(e);
    if (bpe_open(&opened, copy, b->size - 1 - below((uint32_t)b->size)) == 0) fail("an image that is too short is taken", round);
    for (tries = 0; tries < 4; tries++) {
        memcpy(copy, b->image, b->size);
        for (changes = below(6); changes > 0; changes--) copy[below(2) ? below(300) : below((uint32_t)b->size)] = (uint8_t)below(256);
        for (changes = below(300); changes > 0; changes--) { /* where something is */
            const size_t at = below((uint32_t)b->size);
            if (tries > 0 && copy[at] != 0) copy[at] ^= (uint8_t)(1u << below(8));
        }
        if (bpe_open(&opened, copy, b->size) != 0) continue;
        if ((e = bpe_encoder_new(&opened)) == NULL) exit(2);
        bpe_encoder_use_vectors(e, some_vectors((unsigned)tries));
        forged(&opened, e, t, out);
        bpe_encoder_free(e);
    }
    free(out);
    free(copy);
}

/* Nothing but tokens, or but the longer ones, each again and again now and then; and one character more here and there. */
static void check_tokens(const bpe_vocabulary *b, const vocabulary *v, const bpe_neighbours *n, size_t length, long round)
{
    uint8_t *p = exactly(length);
    const uint32_t least = below(2) ? 0 : below(LONGEST_TOKEN), tries = 50;
    size_t at = 0;
    while (at < length) {
        const token *t = v->tokens + below(v->count);
        uint32_t again = below(8) == 0 ? below(60) : 1, i;
        for (i = 0; i < tries && t->length < least; i++) t = v->tokens + below(v->count);
        for (; again > 0 && t->length > 0 && at < length; again--) {
            const size_t some = length - at < t->length ? length - at : t->length;
            memcpy(p + at, t->bytes, some);
            at += some;
        }
        if (at < length && below(8) == 0) p[at++] = (uint8_t)*v->units[below(v->unit_count)];
    }
    check_methods(b, v, n, p, length, round);
    free(p);
}

static void check_long(const bpe_vocabulary *b, const vocabulary *v, const bpe_neighbours *n, size_t length, long round)
{
    uint8_t *p = exactly(length);
    size_t at = 0;
    if (below(2)) {
        put_units(v, p, (uint32_t)length);
    } else { /* one unit, or two by turns */
        const char *units[2] = {v->units[below(v->unit_count)], v->units[below(v->unit_count)]};
        for (int turn = 0; at < length; turn ^= 1) {
            const char *unit = units[turn];
            for (; *unit && at < length; unit++) p[at++] = (uint8_t)*unit;
        }
    }
    check_methods(b, v, n, p, length, round);
    free(p);
}

/* --- all pieces over all small vocabularies ---------------------------------------------------------------------------- */

#define FEW_LETTERS 7 /* bytes of the longest piece */

/* Whether some merge of a piece has no higher rank than what made its parts. */
static int is_out_of_order(const vocabulary *v, const uint8_t *p, size_t length)
{
    uint32_t ids[FEW_LETTERS], made[FEW_LETTERS] = {0}; /* rank and one of what made each */
    size_t n = length, i, best;
    for (i = 0; i < length; i++) ids[i] = v->byte_tokens[p[i]];
    for (;;) {
        uint32_t least = BPE_NONE;
        for (i = 0, best = 0; i + 1 < n; i++) {
            const uint32_t rank = v->ranks[(size_t)ids[i] * v->count + ids[i + 1]];
            if (rank < least) least = rank, best = i;
        }
        if (least == BPE_NONE) return 0;
        if (made[best] > least || made[best + 1] > least) return 1;
        ids[best] = v->made[(size_t)ids[best] * v->count + ids[best + 1]];
        made[best] = least + 1;
        for (i = best + 1, n--; i < n; i++) ids[i] = ids[i + 1], made[i] = made[i + 1];
    }
}

/* The tokens a and b, and of those of two and three letters these. By rank or listed, in some order. */
static vocabulary *small_vocabulary(uint32_t chosen, int listed)
{
    vocabulary *v = exactly(sizeof *v);
    uint32_t bit = 0, length, word, i;
    memset(v, 0, sizeof *v);
    add(v, (const uint8_t *)"a", 1);
    add(v, (const uint8_t *)"b", 1);
    for (length = 2; length <= 3; length++) {
        for (word = 0; word < 1u << length; word++) {
            uint8_t letters[3];
            for (i = 0; i < length; i++) letters[i] = (uint8_t)('a' + (word >> i & 1));
            if (chosen >> bit++ & 1) add(v, letters, length);
        }
    }
    if (below(2)) shuffle_tokens(v);
    note_bytes(v);
    make_merges(v, listed, below(2) != 0);
    return v;
}

/* Every piece of up to FEW_LETTERS letters; and merges are in order where `ordered` says so, and nowhere else. */
static int check_small(uint32_t chosen, int listed)
{
    vocabulary *v = small_vocabulary(chosen, listed);
    bpe_vocabulary b;
    bpe_neighbours n;
    size_t length, i;
    uint32_t word;
    unsigned vectors;
    int out_of_order = 0, ordered;
    cut_text all = {.text = exactly(FEW_LETTERS << (FEW_LETTERS + 1))};
    all.starts = exactly(sizeof *all.starts << (FEW_LETTERS + 1));
    all.ends = exactly(sizeof *all.ends << (FEW_LETTERS + 1));
    all.ids = NULL;
    build(&b, v);
    if (bpe_neighbours_begin(&n, &b) != 0) exit(2);
    for (length = 1; length <= FEW_LETTERS; length++) {
        for (word = 0; word < 1u << length; word++) {
            uint8_t p[FEW_LETTERS];
            for (i = 0; i < length; i++) p[i] = (uint8_t)('a' + (word >> i & 1));
            memcpy(all.text + all.length, p, length);
            all.starts[all.count] = (uint32_t)all.length;
            all.ends[all.count++] = (uint32_t)(all.length += length);
            check_methods(&b, v, &n, p, length, (long)chosen);
            out_of_order |= is_out_of_order(v, p, length);
        }
    }
    ordered = n.ordered;
    if (ordered != !out_of_order) fail("whether merges are in order", (long)chosen);
    for (vectors = 0; vectors <= (unsigned)bpe_most_vectors(); vectors++) check_rounds(&b, v, &all, (bpe_vectors)vectors, (long)chosen);
    free_text(&all);
    bpe_neighbours_end(&n);
    bpe_close(&b);
    free_vocabulary(v);
    return ordered;
}

static int check_all_small(uint32_t step)
{
    uint32_t chosen;
    long held = 0, count = 0;
    for (chosen = below(step); chosen < 1u << 12; chosen += step, count += 2) held += check_small(chosen, 0) + check_small(chosen, 1);
    printf("%ld small vocabularies, %ld in order, no difference\n", count, held);
    return held == 0 || held == count;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "small") == 0) return check_all_small((uint32_t)atol(argv[2]));
    const long rounds = argc > 1 ? atol(argv[1]) : 100;
    const size_t long_piece = argc > 3 ? (size_t)atol(argv[3]) : 20000;
    long round, held = 0;
    if (argc > 2) seed = (uint64_t)atol(argv[2]);
    check_large_ids();
    for (round = 0; round < rounds; round++) {
        vocabulary *v = random_vocabulary();
        bpe_vocabulary b;
        bpe_neighbours n;
        bpe_encoder *e;
        cut_text first, other;
        unsigned vectors;
        size_t i;
        build(&b, v);
        if (bpe_neighbours_begin(&n, &b) != 0 || (e = bpe_encoder_new(&b)) == NULL) exit(2);
        held += n.ordered;
        first = random_text(v);
        other = random_text(v);
        bpe_encoder_use_vectors(e, some_vectors((unsigned long)round));
        check_encoding(e, &first, "cold", round);
        bpe_encoder_use_vectors(e, some_vectors((unsigned long)round / 3)); /* each way finds what the others have kept */
        check_encoding(e, &first, "warm", round);
        for (i = 0; i < 20 && first.count > 0; i++) check_few(e, v, &first, round);
        check_mixed(e, &b, v, round);
        check_encoding(e, &other, "another text", round);
        check_encoding(e, &first, "after another text", round);
        check_image(&b, &other, round);
        check_decoding(&b, &first, some_vectors((unsigned long)round), round);
        for (i = 0; i < 60; i++) check_transcoding(some_vectors(i), round);
        check_many(&b, v, &first, 16, round);
        check_many(&b, v, &first, BPE_MEDIUM, round);
        check_many(&b, v, &first, BPE_WIDE, round);
        check_many(&b, v, &first, BPE_LONG, round);
        check_far(&b, v, &first, 0, round);
        if (bpe_has_vectors()) check_far(&b, v, &first, 1, round);
        for (vectors = 0; vectors <= (unsigned)bpe_most_vectors(); vectors++) check_rounds(&b, v, &first, (bpe_vectors)vectors, round);
        check_neighbours(v, &n, round);
        for (i = 0; i < first.count && i < 40; i++) check_methods(&b, v, &n, first.text + first.starts[i], first.ends[i] - first.starts[i], round);
        if (round % 2 == 0) check_tokens(&b, v, &n, 5001 + below(3000), round);
        if (round % 16 == 0) check_long(&b, v, &n, long_piece, round);
        free_text(&first);
        free_text(&other);
        bpe_encoder_free(e);
        bpe_neighbours_end(&n);
        bpe_close(&b);
        free_vocabulary(v);
    }
    if (rounds >= 50 && (held < rounds / 8 || held > rounds - rounds / 8)) fail("too few vocabularies of one kind", held);
    printf("%ld vocabularies, %ld in order, no difference\n", rounds, held);
    return 0;
}
