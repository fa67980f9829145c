/* bpe_cuts.c - which pieces are cut, and where: bpe_encode.c from inside.
 *
 * However a text is cut, its ids are the same, and bpe_harness.c looks at nothing else. Here it is looked at what only makes it fast: which
 * pieces are cut, and after which others words of two-byte characters no longer are, and are again; that pieces are put into groups up to the
 * first that is, with what they are found by; what is known of those that are looked up by words; and that with AVX2 a region has a place at
 * every joint and nowhere else, and numbers of the characters that have one. Prints what is not so and returns 1.
 *
 *     bpe_cuts [rounds]
 */
#include "bpe_encode.c"

#include <stdio.h>
#include <stdlib.h>

#define TOKENS 400
#define LONGEST_TOKEN 12
#define PIECES 600
#define BYTES (2 * 2048 + 100)

static uint64_t seed = 1;

static uint32_t below(uint32_t limit)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((seed >> 33) % limit);
}

static void fail(const char *what, long where)
{
    printf("%s: %ld\n", what, where);
    exit(1);
}

static void *exactly(size_t size)
{
    void *p = malloc(size ? size : 1);
    if (p == NULL) exit(2);
    return p;
}

/* U+4E2D, all characters of three bytes that differ from it in one bit, and the first and the last one; then others, and some that are none. */
static const char *const UNITS[] = {
    "\xe4\xb8\xad", "\xe4\xb8\xac", "\xe4\xb8\xaf", "\xe4\xb8\xa9", "\xe4\xb8\xa5", "\xe4\xb8\xbd", "\xe4\xb8\x8d", "\xe4\xb9\xad", "\xe4\xba\xad",
    "\xe4\xbc\xad", "\xe4\xb0\xad", "\xe4\xa8\xad", "\xe4\x98\xad", "\xe5\xb8\xad", "\xe6\xb8\xad", "\xe0\xb8\xad", "\xec\xb8\xad", "\xe0\xa0\x80",
    "\xef\xbf\xbf", "\xce\xb1", "\xdf\xbf", "a", "\x01", "\x7f", "\xf0\x9f\x98\x80", "\xe0\x9f\xbf", "\xe0\x80\x81", "\xe4\xb8", "\xb8", "\xc3",
    "\xff", "\xe4", "\x80"};
#define THREES 19 /* of these, the first; */
#define SHORTER 5 /* and behind them, those that have fewer bytes */
#define ALL_UNITS (sizeof UNITS / sizeof *UNITS)

static const struct {
    uint32_t first, count;
} KINDS[] = {{0, THREES}, {0, 3}, {0, ALL_UNITS}, {0, THREES + SHORTER}, {THREES, SHORTER}};

#define ALL_KINDS (sizeof KINDS / sizeof *KINDS)

static const char *some_unit(size_t kind) { return UNITS[KINDS[kind].first + below(KINDS[kind].count)]; }

/* Every byte, and so many tokens of two units or three, or parts of them. */
static void build(bpe_vocabulary *v, uint32_t tokens, size_t kind)
{
    static uint8_t bytes[256 + TOKENS * LONGEST_TOKEN];
    static uint32_t starts[256 + TOKENS + 1];
    uint32_t count, at = 0, i;
    for (count = 0; count < 256; count++) starts[count] = at, bytes[at++] = (uint8_t)count;
    while (count < 256 + tokens) {
        uint8_t text[LONGEST_TOKEN];
        uint32_t size = 0, from;
        for (i = 2 + below(2); i > 0; i--) {
            const char *p;
            for (p = some_unit(kind); *p; p++) text[size++] = (uint8_t)*p;
        }
        if (size < 2) continue;
        from = below(3) ? 0 : below(size - 1);
        size -= below(3) ? 0 : below(size - from - 1);
        for (i = 256; i < count; i++) {
            if (starts[i + 1] - starts[i] == size - from && memcmp(bytes + starts[i], text + from, size - from) == 0) break;
        }
        starts[count] = at;
        if (i < count) {
            tokens--;
            continue;
        }
        memcpy(bytes + at, text + from, size - from);
        at += size - from;
        starts[++count] = at;
    }
    starts[count] = at;
    if (bpe_build(v, starts, bytes, count, NULL, 0, 1, bpe_most_vectors()) != 0) exit(2);
}

/* --- where pieces are cut ----------------------------------------------------------------------------------------------- */

typedef struct {
    uint8_t *text; /* allocated to the byte */
    uint32_t starts[PIECES], ends[PIECES];
    size_t count, size, readable;
} cut_text;

/* Pieces of units of one kind, or of one token, most of which begin where a character does, and are side by side; the first fits a region. */
static void make_text(cut_text *t, const bpe_vocabulary *v, size_t kind, int are_whole)
{
    static uint8_t text[BYTES];
    const uint32_t most = 1 + below(PIECES), length = below(2) ? 12 : 60, wrong = are_whole ? 0 : below(2) * 40;
    const uint32_t before = below(40), long_one = below(4) ? PIECES : below(most);
    size_t at = before;
    t->count = 0;
    while (t->count < most && at < BYTES - 400) {
        size_t left = 1 + below(t->count == long_one ? 2000 : length);
        if (left > BYTES - 100 - at) left = BYTES - 100 - at;
        if (wrong > 0 && below(wrong) == 0) at += below(3); /* bytes of no piece: what is there does not matter */
        t->starts[t->count] = (uint32_t)at;
        if (!are_whole && v->token_count > 256 && below(3) == 0) {
            const uint32_t id = 256 + below(v->token_count - 256);
            memcpy(text + at, v->bytes + v->starts[id], v->starts[id + 1] - v->starts[id]);
            at += v->starts[id + 1] - v->starts[id];
            left = 0;
        }
        while (left > 0) {
            const char *p = some_unit(kind);
            size_t n = strlen(p);
            if (wrong > 0 && below(wrong) == 0) n = 1 + below((uint32_t)n);
            memcpy(text + at, p, n);
            at += n;
            left -= n < left ? n : left;
        }
        t->ends[t->count++] = (uint32_t)at;
    }
    t->size = at;
    t->readable = at + (are_whole ? 32 : below(3) * 20);
    t->text = exactly(t->readable);
    memset(t->text, 0xB8, t->readable);
    memcpy(t->text, text, at);
}

/* What is in a group for a piece: by this it is found again. */
static void check_key(const bpe_encoder *e, const group *g, size_t i, long round)
{
    const uint8_t *p = g->text + g->starts[i];
    const uint32_t length = g->ends[i] - g->starts[i];
    const key k = length <= BPE_KEY ? key_at_end(p, length) : no_key();
    if (!same_key(g->keys[i], k)) fail("a key", round);
    if (length <= BPE_KEY && g->buckets[i] != bucket_of(e, k)) fail("a bucket", round);
    if (length > BPE_KEY && g->hashes[i] != (length <= LONGEST ? hash_bytes(p, length) : 0)) fail("a hash", round);
}

/* Pieces from one on are put into a group, up to the first that is to be cut, and all of them. */
static void check_group(const bpe_encoder *e, const cut_text *t, size_t first, long round)
{
    group *g = exactly(sizeof *g);
    size_t most = t->count - first < GROUP ? t->count - first : GROUP, n = 0, i;
    g->text = t->text;
    g->readable = t->readable;
    g->starts = t->starts + first;
    g->ends = t->ends + first;
    g->count = most;
    put_keys(e, g, 0);
    for (i = 0; i < most; i++) check_key(e, g, i, round);
    memset(g->keys, 0, sizeof g->keys);
    memset(g->buckets, 0, sizeof g->buckets);
    while (most > 0 && t->readable - t->starts[first + most - 1] < 16) most--;
    while (n < most && !is_cut(e, t->text + g->starts[n], g->ends[n] - g->starts[n])) n++;
    if (most > 0 && put_run(e, g, most) != n) fail("the first that is to be cut", round);
    for (i = 0; i < n; i++) check_key(e, g, i, round);
    free(g);
}

#ifdef HAS_VECTORS

/* The number of a character of three bytes, or 0 if that is none, or has fewer. */
static uint32_t number_of(const uint8_t *p)
{
    const uint32_t number = (p[0] & 15u) << 12 | (p[1] & 63u) << 6 | (p[2] & 63u);
    return p[0] >> 4 == 14 && p[1] >> 6 == 2 && p[2] >> 6 == 2 && number >= 0x800 ? number : 0;
}

/* A piece ends where a region does that begins with another: with the last of its pieces, or, if `alone`, with the only one. */
static void end_at_region(cut_text *t, size_t first, int alone)
{
    const uint32_t end = t->starts[first] + REGION;
    size_t k = first;
    while (k < t->count && t->ends[k] <= end) k++;
    if (k == t->count || t->starts[k] >= end) return;
    t->ends[alone ? first : k] = end;
    t->count = (alone ? first : k) + 1;
}

/* What a region is to have of pieces from one on. Where all characters are `whole` and of three bytes, eight at a time have numbers, and then
 * what is left, if that is enough. */
static void check_region(const bpe_encoder *e, const cut_text *t, size_t first, int are_whole, long round)
{
    static uint32_t starts[REGION + 1], ends[REGION + 1];
    region *r = exactly(sizeof *r);
    const uint32_t base = t->starts[first];
    uint32_t cut, expected_cut = 0, at = base, first_without = UINT32_MAX, left;
    size_t places, characters, numbered = 0, n = 0, k = first, j, pieces;
    memset(r, 0xAA, sizeof *r);
    pieces = put_region_avx2(e, r, t->text, t->readable, t->starts + first, t->ends + first, t->count - first, &places, &cut, &characters);
    for (; k < t->count && t->starts[k] == at && t->ends[k] - base <= REGION; at = t->ends[k++]) {
        const uint8_t *p = t->text + t->starts[k];
        const uint32_t length = t->ends[k] - t->starts[k], before = (uint32_t)n;
        const int is = p[0] >= SCRIPTS || is_cut(e, p, length);
        cutting c = {t->starts[k], length, 0, 0};
        starts[n] = t->starts[k];
        ends[n] = t->ends[k];
        n = is ? bpe_all_joints(e->v, p, length, &c.at, &c.before, c.start, starts + 1, ends, n, REGION + 1) : n + 1;
        expected_cut += is && length > ONE;
        for (j = before; j < n; j++) {
            const uint32_t number = is ? (ends[j] - starts[j] == 3 ? number_of(t->text + starts[j]) : 0) : length == 1 && p[0] < 0x80 ? p[0] : 0;
            if (j >= places || r->starts[j] != starts[j] || r->joint[j] != (j > before)) fail("a place", round);
            if (r->characters[j] != number && (r->characters[j] != 0 || !is)) fail("the number of a place", round);
            numbered += r->characters[j] != 0;
            if (number != 0 && r->characters[j] == 0 && starts[j] < first_without) first_without = starts[j];
        }
    }
    if (k - first != pieces || n != places || expected_cut != cut) fail("how many pieces and places", round);
    if (r->starts[n] != at || r->joint[n] != 0) fail("where the last place ends", round);
    left = (at - base) / 3 % 8;
    if (characters != numbered || (are_whole && first_without < at - 3 * (left < WORTH_EIGHT ? left : 0))) fail("how many have numbers", round);
    free(r);
}

/* As check_region, and of pieces that end with a region. */
static void check_with_end(const bpe_encoder *e, cut_text *t, size_t first, int are_whole, int ends, long round)
{
    if (ends) end_at_region(t, first, (int)below(2));
    if (t->ends[first] - t->starts[first] <= REGION) check_region(e, t, first, are_whole, round);
}

#endif

/* Pieces of which half were met before, looked up by words: what is known of others, and what is put into the table of words. */
static void check_others(bpe_encoder *e, const cut_text *t, long round)
{
    typedef void others_finder(const bpe_encoder *e, found_pieces *f);
    static others_finder *const BY[] = {
        find_others,
#ifdef HAS_VECTORS
        find_others_avx2, find_others_avx512,
#endif
    };
    const size_t size = sizeof(short_entry) << SHORT_BITS;
    found_pieces *f = exactly(sizeof *f);
    uint32_t *out = exactly((t->size + BPE_PADDING) * sizeof *out);
    short_entry *table = exactly(size);
    size_t by, n, longer_count, known = 0;
    group g;
    g.text = t->text;
    g.readable = t->readable;
    g.starts = t->starts;
    g.ends = t->ends;
    bpe_encoder_use_vectors(e, BPE_PLAIN);
    for (n = 0; n < 2; n++) bpe_encode(e, t->text, t->readable, t->starts, t->ends, (t->count + 1) / 2, out);
    for (by = 0; by <= (size_t)bpe_most_vectors(); by++) {
        memset(f, 8, sizeof *f); /* as if more were found behind the last: PLAIN is one of these bits */
        memset(e->shorts, 0, size);
        f->count = t->count;
        while (f->count > 0 && t->readable - t->starts[f->count - 1] < 16) f->count--;
        find_short(e, f, t->text, t->starts, t->ends);
        put_others_in_buckets(e, &g, f, &longer_count);
        BY[by](e, f);
        if (by == 0) memcpy(table, e->shorts, size);
        else if (memcmp(table, e->shorts, size) != 0) fail("the table of words", round);
        for (n = 0; n < f->other_count; n++) {
            const entry *found = entry_of(f->buckets[n], f->keys[n]);
            const uint32_t flags = same_key(found->bytes, f->keys[n]) ? found->ids[3] : 0;
            const size_t count = 1 + (size_t)(flags >> COUNT_SHIFT), length = f->ends[n] - f->starts[n];
            const uint64_t word = word_of(load_8(t->text + f->starts[n]), length);
            const uint64_t two = (flags & PLAIN) != 0 && count <= 2 ? two_ids(pair_of(found->ids), count) : 0;
            if (f->two[n] != two) fail("two ids", round);
            if (f->last[n] >> 32 != flags) fail("what is known of an other", round);
            if (flags != 0 && (f->first[n] != pair_of(found->ids) || (uint32_t)f->last[n] != found->ids[2])) fail("four ids", round);
            known += two != 0 && length <= SHORT && short_of(e, word)->word == word && short_of(e, word)->ids == two;
        }
    }
    if (t->count > 20 && f->other_count > t->count / 2 && known == 0) fail("no word is in the table", round);
    free(f);
    free(out);
    free(table);
}

static void check_places(long rounds)
{
    const unsigned most = (unsigned)bpe_most_vectors();
    long round;
    size_t i;
    for (round = 0; round < rounds; round++) {
        const size_t kind = (size_t)round % ALL_KINDS;
        cut_text t;
        bpe_vocabulary v;
        bpe_encoder *e;
        build(&v, below(below(2) ? 200 : 12), kind);
        if ((e = bpe_encoder_new(&v)) == NULL) exit(2);
        make_text(&t, &v, kind, kind == 0);
        for (i = 0; i < 20; i++) {
            e->whole_words = below(2);
            bpe_encoder_use_vectors(e, (bpe_vectors)(i % (most + 1)));
            check_group(e, &t, below((uint32_t)t.count), round);
        }
        check_others(e, &t, round);
#ifdef HAS_VECTORS
        for (i = 0; i < 5 && most >= BPE_AVX2; i++) {
            bpe_encoder_use_vectors(e, BPE_AVX2);
            e->whole_words = below(2);
            check_with_end(e, &t, i == 0 ? 0 : below((uint32_t)t.count), kind == 0, i == 4 && kind != 0, round);
        }
#endif
        free(t.text);
        bpe_encoder_free(e);
        bpe_close(&v);
    }
}

/* --- which pieces are cut ----------------------------------------------------------------------------------------------- */

#define ALPHA "\xce\xb1"
#define ALPHAS ALPHA ALPHA ALPHA ALPHA
#define ZHONG "\xe4\xb8\xad"

/* Where no token lies around two characters. */
static void check_which(bpe_encoder *e)
{
    static const struct {
        const char *piece;
        int is_cut, if_whole; /* and where words are whole */
    } cases[] = {
        {ALPHAS ALPHAS, 1, 0}, {ALPHAS ALPHAS ALPHAS ALPHAS, 1, 0}, {ALPHAS ALPHAS ALPHAS ALPHAS "a", 1, 1},
        {ALPHAS ALPHAS ALPHAS ALPHAS ALPHA, 1, 1}, {ALPHAS ALPHA ALPHA ALPHA, 0, 0}, {ALPHAS ALPHA ALPHA ALPHA "a", 0, 0},
        {"\"" ALPHAS ALPHAS, 1, 0}, {"\"" ZHONG ZHONG ZHONG ZHONG ZHONG, 1, 1}, {"\"a" ZHONG ZHONG ZHONG ZHONG ZHONG, 1, 0},
        {"abcdefg" ALPHAS ALPHA, 1, 0}, {"abcdefgh" ALPHAS ALPHA, 0, 0}, {"\x80\x80\x80\x80\x80\x80\x80\x80" ALPHAS, 1, 0},
        {"\x80\x80\x80\x80\x80\x80\x80\x80\x80" ALPHAS, 0, 0}, {"abcdefghijklmnopq", 0, 0}, {ALPHA "aaaaaaaaaaaaaaaaaa", 0, 0},
        {ZHONG, 0, 0}, {ZHONG "a", 0, 0}, {ZHONG "aa", 0, 0}, {ZHONG ALPHA, 1, 1}, {ZHONG ZHONG, 1, 1}, {"\xf0\x9f\x98\x80", 0, 0},
        {"\xf0\x9f\x98\x80" "a", 0, 0}, {"\xf0\x9f\x98\x80" ALPHA, 1, 1}, {ZHONG "a" ZHONG ZHONG ALPHA ALPHA, 0, 0},
        {ZHONG "a" ZHONG ZHONG ZHONG ZHONG, 1, 1}, {"\xe0\xa0\x80\xe0\xa0\x80", 1, 1}, {"\xdf\xbf\xdf\xbf\xdf\xbf", 0, 0}};
    size_t i;
    const uint8_t *words = (const uint8_t *)ALPHAS ALPHAS ALPHA ALPHA "\xce\xb2" ALPHAS ALPHAS ALPHA;
    if (both_ends(words, 20) == both_ends(words + 2, 20)) fail("words that end otherwise", 0);
    if (both_ends(words + 20, 18) == both_ends(words + 22, 18)) fail("words that begin otherwise", 0);
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        const uint32_t length = (uint32_t)strlen(cases[i].piece);
        uint8_t *p = exactly(length < 8 ? 8 : length);
        memcpy(p, cases[i].piece, length);
        e->whole_words = 0;
        if (is_cut(e, p, length) != cases[i].is_cut) fail("whether a piece is cut", (long)i);
        e->whole_words = 1;
        if (is_cut(e, p, length) != cases[i].if_whole) fail("whether a piece is cut where words are whole", (long)i);
        free(p);
    }
    e->whole_words = 0;
}

/* One call encodes one piece, and its ids are checked. */
static void encode_one(bpe_encoder *e, const void *piece, size_t length)
{
    const uint32_t start = 0, end = (uint32_t)length;
    uint8_t *p = exactly(length);
    uint32_t *out = exactly((length + BPE_PADDING) * sizeof *out), *ids = exactly((length + BPE_PADDING) * sizeof *ids);
    size_t made, count;
    memcpy(p, piece, length);
    made = bpe_encode(e, p, length, &start, &end, 1, out);
    count = bpe_merge(e->v, BPE_HEAP, p, length, ids);
    if (made != count || memcmp(out, ids, made * sizeof *ids) != 0) fail("the ids of a piece", (long)length);
    free(p);
    free(out);
    free(ids);
}

/* A word of Greek, by its number, of so many bytes. */
static void encode_word(bpe_encoder *e, uint32_t number, size_t length)
{
    uint8_t p[40];
    size_t i;
    for (i = 0; i < length; i += 2) {
        p[i] = 0xCE;
        p[i + 1] = (uint8_t)(0x91 + (number >> (i < 8 ? i * 2 : 0) & 15) + (i < 8 ? 0 : 16));
    }
    encode_one(e, p, length);
}

/* Pieces of characters that have numbers, more than are put into a group, and behind them one that ends where nothing more may be read. */
static void check_end(bpe_encoder *e, size_t length)
{
    enum { TWICE = GROUP + 20 };
    uint32_t starts[TWICE + 1], ends[TWICE + 1], out[6 * TWICE + 100], ids[6 * TWICE + 100];
    uint8_t *p = exactly(6 * TWICE + length);
    size_t i, made, count = 0;
    for (i = 0; i <= TWICE; i++) {
        starts[i] = (uint32_t)(6 * i);
        ends[i] = (uint32_t)(i < TWICE ? 6 * (i + 1) : 6 * i + length);
        if (i < TWICE) memcpy(p + starts[i], ZHONG ZHONG, 6);
        else memset(p + starts[i], 'a', length);
        count += bpe_merge(e->v, BPE_HEAP, p + starts[i], ends[i] - starts[i], ids + count);
    }
    for (i = 0; i < 3; i++) {
        made = bpe_encode(e, p, 6 * TWICE + length, starts, ends, TWICE + 1, out);
        if (made != count || memcmp(out, ids, made * sizeof *ids) != 0) fail("the ids at an end", (long)length);
    }
    free(p);
}

/* Pieces of characters, and among them one that is longer than a region, and may be behind bytes of no piece. */
static void check_long(bpe_encoder *e, size_t which, uint32_t gap)
{
    enum { COUNT = 40, LONG_ONE = 2100 };
    uint32_t starts[COUNT], ends[COUNT], at = 0;
    uint8_t *p = exactly(6 * COUNT + LONG_ONE + gap + 16);
    uint32_t *out = exactly((6 * COUNT + LONG_ONE + BPE_PADDING) * sizeof *out), *ids = exactly((6 * COUNT + LONG_ONE + BPE_PADDING) * sizeof *ids);
    size_t i, made, count = 0;
    for (i = 0; i < 6 * COUNT + LONG_ONE + gap + 16; i++) p[i] = 'a';
    for (i = 0; i < COUNT; i++) {
        if (i == which) at += gap;
        starts[i] = at;
        for (; at < starts[i] + (i == which ? LONG_ONE : 6); at += 3) memcpy(p + at, ZHONG, 3);
        ends[i] = at;
        count += bpe_merge(e->v, BPE_HEAP, p + starts[i], ends[i] - starts[i], ids + count);
    }
    made = bpe_encode(e, p, at + 16, starts, ends, COUNT, out);
    if (made != count || memcmp(out, ids, made * sizeof *ids) != 0) fail("the ids of a long piece", (long)which);
    free(p);
    free(out);
    free(ids);
}

/* A byte that is no token, among characters that have numbers: wherever it is, there are no ids. */
static void check_missing(bpe_vectors vectors)
{
    enum { COUNT = 30, LONG_ONE = 120 };
    uint8_t bytes[256], text[6 * COUNT + LONG_ONE + 16];
    uint32_t starts[256], count = 0, b, at, i, which, place, out[6 * COUNT + LONG_ONE + BPE_PADDING], from[COUNT], to[COUNT];
    bpe_vocabulary v;
    for (b = 0; b < 256; b++) {
        starts[count] = count;
        if (b != 'z') bytes[count++] = (uint8_t)b;
    }
    starts[count] = count;
    if (bpe_build(&v, starts, bytes, count, NULL, 0, 0, bpe_most_vectors()) != 0) exit(2);
    for (which = 0; which < COUNT; which++) {
        for (place = 0; place < 2; place++) { /* in a short one, and in one that is not merged with others */
            bpe_encoder *e = bpe_encoder_new(&v);
            if (e == NULL) exit(2);
            bpe_encoder_use_vectors(e, vectors);
            memset(text, 'a', sizeof text);
            for (i = 0; i < COUNT; i++) {
                memcpy(text + 6 * i, ZHONG ZHONG, 6);
                from[i] = 6 * i;
                to[i] = 6 * (i + 1);
            }
            for (i = 0; i < 3; i++) bpe_encode(e, text, sizeof text, from, to, COUNT, out); /* so that characters are known */
            memset(text, 'a', sizeof text);
            for (i = at = 0; i < COUNT; i++) {
                from[i] = at;
                if (i != which) memcpy(text + at, ZHONG ZHONG, 6);
                else text[at + (place ? LONG_ONE : 6) / 2] = 'z';
                to[i] = at += i == which && place ? LONG_ONE : 6;
            }
            if (bpe_encode(e, text, at + 16, from, to, COUNT, out) != BPE_NO_TOKEN) fail("a byte that is no token", (long)which);
            bpe_encoder_free(e);
        }
    }
    bpe_close(&v);
}

static void are(const bpe_encoder *e, uint32_t whole_words, uint32_t met_again, const char *what)
{
    if (e->whole_words != whole_words) fail(what, (long)e->whole_words);
    if (e->met_again != met_again) fail(what, (long)e->met_again);
}

/* Words are cut until nearly all of them were met before, and then whole until too many were not. */
static void check_whole_words(bpe_encoder *e)
{
    uint32_t n, next = 0;
    are(e, 0, 0, "at first");
    for (n = 0; n < 10; n++) encode_word(e, next++, 20);
    are(e, 0, 0, "all are new");
    for (n = 0; n < MET_AGAIN - 1; n++) encode_word(e, n % 10, 20);
    are(e, 0, MET_AGAIN - 1, "all were met before");
    encode_word(e, 0, 14);
    encode_word(e, 0, 34);
    encode_word(e, 0, 34);
    are(e, 0, MET_AGAIN - 1, "those that are too short or too long do not count");
    encode_word(e, 0, 22);
    are(e, 0, MET_AGAIN - 1 - NEW_WORD, "one that has the same ends, but is longer, is new");
    for (n = 0; n < NEW_WORD; n++) encode_word(e, n, 20);
    are(e, 0, MET_AGAIN - 1, "one more is left");
    encode_word(e, 0, 20);
    if (e->met_again != 0 || e->whole_words < WHOLE_WORDS - NEW_WHOLE_WORD) fail("they are whole", (long)e->whole_words);
    e->whole_words = WHOLE_WORDS; /* this one may have been cut, or whole and new */
    for (n = 1; n < 10; n++) encode_word(e, n, 20);
    are(e, WHOLE_WORDS - 9 * NEW_WHOLE_WORD, 0, "of the others none was met whole");
    for (n = 1; n < 10; n++) encode_word(e, n, 20);
    are(e, WHOLE_WORDS - 9 * NEW_WHOLE_WORD + 9, 0, "all were met whole");
    for (n = 0; n < 20; n++) encode_word(e, 1 + n % 9, 20);
    are(e, WHOLE_WORDS, 0, "but no more than at first");
    encode_word(e, 0, 14);
    encode_word(e, 1, 34);
    are(e, WHOLE_WORDS, 0, "those that are too short or too long do not count");
    encode_word(e, 1, 20);
    encode_word(e, next++, 20);
    for (n = WHOLE_WORDS - NEW_WHOLE_WORD; n > 1; n -= NEW_WHOLE_WORD) {
        are(e, n, 0, "new ones");
        encode_word(e, next++, 20);
    }
    are(e, 0, 0, "they are cut");
    encode_word(e, next - 1, 20); /* it is known whole, but is cut */
    are(e, 0, 0, "one that is new as one that is cut");
    encode_word(e, next - 1, 20);
    are(e, 0, 1, "and was met");
    encode_one(e, ALPHA "aaaaaaaaaaaaaaaaaa", 20);
    encode_one(e, ALPHA "aaaaaaaaaaaaaaaaaa", 20);
    are(e, 0, 1, "one that cannot be cut counts only where words are whole, be it new or not");
    e->whole_words = 1;
    encode_one(e, ALPHA "aaaaaaaaaaaaaaaaab", 20);
    are(e, 0, 1, "the last that was new");
}

int main(int argc, char **argv)
{
    unsigned vectors;
    size_t length;
    uint32_t i;
    for (vectors = 0; vectors <= (unsigned)bpe_most_vectors(); vectors++) {
        bpe_vocabulary v;
        bpe_encoder *e;
        build(&v, 0, 0);
        if ((e = bpe_encoder_new(&v)) == NULL) exit(2);
        bpe_encoder_use_vectors(e, (bpe_vectors)vectors);
        check_which(e);
        for (length = 1; length <= 40; length++) check_end(e, length);
        for (i = 0; i < 40; i++) check_long(e, i, i % 3);
        check_whole_words(e);
        check_missing((bpe_vectors)vectors);
        bpe_encoder_free(e);
        bpe_close(&v);
    }
    check_places(argc > 1 ? atol(argv[1]) : 100);
    printf("no difference\n");
    return 0;
}
