/* train_harness.c - training in C against its definition, on random pieces of few letters; for sanitizers, and with rounds, tables and
 * distances of tiny sizes, so that all of them begin again, grow and overflow all the time. What is compared is every merge and every count.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train.h"

#define WORDS 60
#define LONGEST_WORD 90
#define MERGES 60
#define THERE 4 /* tokens of several bytes that no merge makes, at most */
#define LONGEST_THERE 6
#define IDS (256 + THERE + MERGES)

static uint64_t state;

static uint32_t chance(uint32_t below)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(state >> 33) % below;
}

static void expect(int right, const char *what)
{
    if (right) return;
    printf("wrong: %s\n", what);
    exit(1);
}

typedef struct {
    uint32_t ids[LONGEST_WORD], length;
    uint64_t count;
} word;

static word words[WORDS];
static size_t word_count;
static uint32_t lengths[IDS];

static uint8_t spelled[IDS][LONGEST_WORD];
static uint32_t there_count;

/* Whether both together are a token that no merge makes: they stay two. */
static int are_there(uint32_t left, uint32_t right)
{
    const uint32_t length = lengths[left] + lengths[right];
    for (uint32_t id = 256; id < 256 + there_count; id++) {
        if (lengths[id] == length && memcmp(spelled[id], spelled[left], lengths[left]) == 0 &&
            memcmp(spelled[id] + lengths[left], spelled[right], lengths[right]) == 0) {
            return 1;
        }
    }
    return 0;
}

/* The bytes, and some tokens that no merge makes: the vocabulary that training starts with. */
static void first_tokens(uint32_t *starts, uint8_t *all)
{
    const uint32_t wanted = chance(2) ? 1 + chance(THERE) : 0;
    for (uint32_t i = 0; i < 256; i++) starts[i] = i, all[i] = spelled[i][0] = (uint8_t)i, lengths[i] = 1;
    starts[256] = 256;
    there_count = 0;
    while (there_count < wanted) {
        const uint32_t id = 256 + there_count;
        int again = 0;
        lengths[id] = 2 + chance(LONGEST_THERE - 1);
        for (uint32_t k = 0; k < lengths[id]; k++) spelled[id][k] = (uint8_t)('a' + chance(2));
        for (uint32_t other = 256; other < id; other++) again |= lengths[other] == lengths[id] && memcmp(spelled[other], spelled[id], lengths[id]) == 0;
        if (again) continue;
        memcpy(all + starts[id], spelled[id], lengths[id]);
        starts[id + 1] = starts[id] + lengths[id];
        there_count++;
    }
}

/* The definition: all pairs, counted anew; 0 if there is none. */
static int next_by_definition(train_rule rule, uint32_t longest, uint64_t least, train_merge *made)
{
    static uint64_t counts[IDS][IDS];
    *made = (train_merge){0};
    for (size_t i = 0; i < word_count; i++) {
        for (uint32_t k = 0; k + 1 < words[i].length; k++) counts[words[i].ids[k]][words[i].ids[k + 1]] += words[i].count;
    }
    for (size_t i = 0; i < word_count; i++) {
        for (uint32_t k = 0; k + 1 < words[i].length; k++) {
            const uint32_t left = words[i].ids[k], right = words[i].ids[k + 1];
            const uint64_t count = counts[left][right];
            if (count < least || lengths[left] + lengths[right] > longest || are_there(left, right)) continue;
            if (count > made->count || (count == made->count && rule == TRAIN_SMALLER &&
                                        (left < made->left || (left == made->left && right < made->right)))) {
                made->count = count;
                made->left = left;
                made->right = right;
            }
        }
    }
    for (size_t i = 0; i < word_count; i++) {
        for (uint32_t k = 0; k + 1 < words[i].length; k++) counts[words[i].ids[k]][words[i].ids[k + 1]] = 0;
    }
    return made->count > 0;
}

static void merge_words(const train_merge *m)
{
    lengths[m->id] = lengths[m->left] + lengths[m->right];
    memcpy(spelled[m->id], spelled[m->left], lengths[m->left]);
    memcpy(spelled[m->id] + lengths[m->left], spelled[m->right], lengths[m->right]);
    for (size_t i = 0; i < word_count; i++) {
        uint32_t to = 0;
        for (uint32_t k = 0; k < words[i].length; k++, to++) {
            const int both = words[i].ids[k] == m->left && k + 1 < words[i].length && words[i].ids[k + 1] == m->right;
            words[i].ids[to] = both ? m->id : words[i].ids[k];
            k += (uint32_t)both;
        }
        words[i].length = to;
    }
}

typedef struct {
    uint8_t *bytes;
    size_t size;
} written;

static int keep(void *context, const void *bytes, size_t size)
{
    written *w = context;
    w->bytes = realloc(w->bytes, w->size + size); /* the very size, so that a look behind the end is found out */
    memcpy(w->bytes + w->size, bytes, size);
    w->size += size;
    return 0;
}

#define RUNS 40

static written runs[RUNS];
static size_t run_count;

static void spill(train_counts *c, train_order by)
{
    if (run_count == RUNS) return;
    expect(train_counts_spill(c, by, keep, runs + run_count++) == 0, "writing a run");
}

static train_runs *open_runs(written *from, size_t count)
{
    train_runs *r = train_runs_new(count);
    expect(r != NULL, "memory");
    for (size_t i = 0; i < count; i++) expect(train_runs_add(r, from[i].bytes, from[i].size) == 0, "a run that is added");
    return r;
}

/* Put what was written and what was not into another table, which is written, too, now and then; then read all in order. */
static void read_back(train_counts *c, const uint64_t key[2], uint8_t *bytes, uint32_t *found_lengths, uint64_t *found_counts)
{
    written by_place[RUNS];
    train_counts *other = train_counts_new(key);
    train_runs *r;
    const train_counted *top;
    uint64_t last = 0;
    size_t count;
    expect(other != NULL && train_counts_spill(c, TRAIN_BY_HASH, keep, runs + run_count++) == 0, "writing a run");
    r = open_runs(runs, run_count);
    memcpy(by_place, runs, sizeof by_place);
    count = run_count;
    memset(runs, 0, sizeof runs);
    run_count = 0;
    while ((top = train_runs_top(r)) != NULL) {
        if (top->key != last && run_count + 1 < RUNS && chance(20) == 0) spill(other, TRAIN_BY_PLACE);
        last = top->key;
        expect(train_count_piece(other, top->bytes, top->length, top->place, top->count) == 0, "memory");
        expect(train_runs_next(r) == 0, "a run");
    }
    train_runs_free(r);
    for (size_t i = 0; i < count; i++) free(by_place[i].bytes);
    spill(other, TRAIN_BY_PLACE);
    r = open_runs(runs, run_count);
    for (word_count = 0; (top = train_runs_top(r)) != NULL; word_count++) {
        expect(word_count == 0 || top->place > last, "order");
        last = top->place;
        memcpy(bytes, top->bytes, (size_t)top->length);
        bytes += top->length;
        found_lengths[word_count] = (uint32_t)top->length;
        found_counts[word_count] = top->count;
        expect(train_runs_next(r) == 0, "a run");
    }
    train_runs_free(r);
    for (size_t i = 0; i < run_count; i++) free(runs[i].bytes);
    memset(runs, 0, sizeof runs);
    run_count = 0;
    train_counts_free(other);
}

/* Count random pieces, a few times, by one table or several, and read them back. */
static void make_words(train_counts **tables, size_t table_count, const uint64_t key[2], uint8_t *bytes, uint32_t *found_lengths,
                       uint64_t *found_counts)
{
    static uint8_t again[1 << 20];
    static uint32_t lengths_again[4096];
    static uint64_t counts_again[4096];
    const uint32_t letters = 1 + chance(4), spills = chance(2);
    train_counts *same = train_counts_new(key);
    uint8_t text[4096];
    uint64_t place = 0, size = 0;
    for (uint32_t repeat = 0, repeats = 1 + chance(30); repeat < repeats; repeat++) {
        uint32_t starts[64], ends[64], n = 0, at = 0, count = chance(20);
        while (n < count) {
            const uint32_t length = chance(6) == 0 ? chance(LONGEST_WORD) : chance(5);
            starts[n] = at;
            for (uint32_t k = 0; k < length; k++) text[at++] = (uint8_t)('a' + chance(letters));
            ends[n++] = at;
        }
        {
            uint8_t *exact = malloc(at > 0 ? at : 1); /* so that a look behind the end is found out */
            memcpy(exact, text, at);
            expect(train_count(tables[repeat % table_count], exact, at, place, starts, ends, n) == 0, "memory");
            expect(train_count_settle(tables[repeat % table_count]) == 0, "memory");
            expect(same != NULL && train_count(same, exact, at, place, starts, ends, n) == 0 && train_count_settle(same) == 0, "memory");
            free(exact);
            if (spills && run_count + 2 < RUNS && chance(3) == 0) spill(tables[repeat % table_count], TRAIN_BY_HASH);
        }
        place += at;
    }
    for (size_t i = 1; i < table_count; i++) expect(train_counts_add(tables[0], tables[i]) == 0, "memory");
    word_count = train_counts_finish(same, &size);
    expect(word_count <= 4096 && size <= 1 << 20, "size");
    expect(train_counts_write(same, bytes, found_lengths, found_counts) == 0, "memory");
    train_counts_free(same);
    if (run_count > 0 || spills) {
        const size_t there = word_count;
        read_back(tables[0], key, again, lengths_again, counts_again);
        expect(word_count == there && memcmp(again, bytes, (size_t)size) == 0, "pieces that were written and read");
        expect(memcmp(lengths_again, found_lengths, there * sizeof *found_lengths) == 0, "their lengths");
        expect(memcmp(counts_again, found_counts, there * sizeof *found_counts) == 0, "their counts");
    }
}

static void compare(uint64_t seed)
{
    static uint8_t bytes[1 << 20];
    static uint32_t found_lengths[4096];
    static uint64_t found_counts[4096];
    const uint64_t key[2] = {seed, ~seed};
    const size_t table_count = 1 + chance(3);
    const train_rule rule = chance(2) ? TRAIN_SMALLER : TRAIN_FIRST;
    const uint32_t longest = chance(3) == 0 ? 2 + chance(6) : UINT32_MAX, merges = 1 + chance(MERGES);
    const uint64_t least = 1 + chance(3), scale = chance(3) == 0 ? UINT64_C(0x123456789) : 1;
    train_counts *tables[3];
    bpe_vocabulary v;
    uint32_t starts[256 + THERE + 1], first;
    uint8_t all[256 + THERE * LONGEST_THERE];
    uint64_t work = 0;
    train_merger *t;
    uint8_t *p = bytes;
    first_tokens(starts, all);
    first = 256 + there_count;
    for (size_t i = 0; i < table_count; i++) expect((tables[i] = train_counts_new(key)) != NULL, "memory");
    make_words(tables, table_count, key, bytes, found_lengths, found_counts);
    for (size_t i = 0; i < table_count; i++) train_counts_free(tables[i]);
    if (word_count > WORDS) word_count = WORDS;
    expect(bpe_build(&v, starts, all, first, (const uint32_t[3]){0, 0, 0}, 0, 0, BPE_PLAIN) == 0, "memory");
    expect((t = train_merger_new(&v, rule, first, first + merges, longest, least * scale)) != NULL, "memory");
    for (size_t i = 0; i < word_count; i++) {
        words[i].length = found_lengths[i];
        words[i].count = found_counts[i] * scale;
        for (uint32_t k = 0; k < found_lengths[i]; k++) words[i].ids[k] = p[k];
        expect(train_merger_add(t, p, found_lengths[i], words[i].count) == 0, "memory");
        p += found_lengths[i];
    }
    for (uint32_t n = 0; n < merges; n++) {
        train_merge expected, made;
        const int there = next_by_definition(rule, longest, least * scale, &expected);
        expect(train_merger_next(t, &made, &work) == there, "whether there is one more");
        if (!there) break;
        expect(made.left == expected.left && made.right == expected.right && made.count == expected.count && made.id == first + n, "the merge");
        merge_words(&made);
    }
    train_merger_free(t);
    bpe_close(&v);
}

/* A piece that is longer than its length can say is refused, before it is read: pieces of a text that is cut may be. */
static void refuse_what_is_too_long(void)
{
    const uint64_t key[2] = {1, 2};
    const uint8_t piece[] = "piece";
    train_counts *c = train_counts_new(key);
    expect(c != NULL, "memory");
    expect(train_count_piece(c, piece, UINT32_MAX, 0, 1) == 1, "a piece of 4 GiB less a byte");
    expect(train_count_piece(c, piece, (UINT64_C(1) << 32) + sizeof piece - 1, 0, 1) == 1, "a piece of more than 4 GiB");
    train_counts_free(c);
}

/* By these keys all pieces of a kind have one hash: those of three bytes, those that begin alike, and longer ones that are alike but for their
 * first eight bytes. */
static void tell_apart_what_has_one_hash(void)
{
    static const uint8_t text[] = "abcabdabdabcdefghabcdefghiabcdefghij"
                                  "once...........................twice..........................twice..........................";
    const uint32_t ends[] = {3, 6, 9, 17, 26, 36, 67, 98, 129};
    const uint32_t distinct[] = {3, 3, 8, 9, 10, 31, 31};
    const uint64_t expected[] = {1, 2, 1, 1, 1, 1, 2};
    uint64_t keys[3][2] = {{1, 0}, {0, 1}, {1, 0}}, size;
    const uint8_t three[8] = {0, 0, 0, 0, 0, 0, 0, 3};
    memcpy(&keys[0][1], three, 8);
    memcpy(&keys[1][0], text + 9, 8);
    memcpy(&keys[2][1], text + 44, 8);
    for (int i = 0; i < 3; i++) {
        uint32_t starts[9] = {0}, lengths_found[9];
        uint64_t counts[9];
        uint8_t bytes[sizeof text];
        train_counts *c = train_counts_new(keys[i]);
        for (int k = 1; k < 9; k++) starts[k] = ends[k - 1];
        expect(c != NULL && train_count(c, text, sizeof text - 1, 0, starts, ends, 9) == 0, "memory");
        expect(train_counts_finish(c, &size) == 7 && train_counts_write(c, bytes, lengths_found, counts) == 0, "pieces of one hash");
        expect(memcmp(lengths_found, distinct, sizeof distinct) == 0 && memcmp(counts, expected, sizeof expected) == 0, "pieces of one hash");
        train_counts_free(c);
    }
}

int main(int count, char **arguments)
{
    const unsigned long rounds = count > 1 ? strtoul(arguments[1], NULL, 10) : 100;
    refuse_what_is_too_long();
    tell_apart_what_has_one_hash();
    for (unsigned long seed = 1; seed <= rounds; seed++) {
        state = seed * 7919;
        compare(seed);
    }
    printf("%lu times no difference\n", rounds);
    return 0;
}
