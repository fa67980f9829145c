/* stream_exhaustive.c - every text of up to K symbols, cut in every way: streams against the whole text, at C speed.
 *
 *     stream_exhaustive steps K PART PARTS SYMBOL...     by the reduction below; symbols are bytes in hexadecimal, "61" or "e4b8ad"
 *     stream_exhaustive direct K PART PARTS SYMBOL...    each text cut in each way, one by one
 *
 * A text of six symbols of four bytes has 2^23 ways of being cut. They need not be tried one by one. Let S be what a stream is, with places
 * counted from where it is: the states of both automata, places that are open with their sets, bytes of a character that is not complete,
 * and whether anything was read. What a stream does depends on S alone, but that places are those of the whole text. So "byte by byte" is
 * an automaton of few states, whose steps are made once each, with what they give:
 *
 *     S, byte -> S', offsets          S -> the offsets of `finish`
 *
 * and whatever the cuts, a stream does what it does byte by byte if and only if, for each S that is reached, and each word that may follow,
 * the word fed whole gives the offsets and the state that the automaton gives: go through the parts one by one. So that is what is tried:
 * for each S, and each place within a symbol, all words of as many symbols as are left of K where S is reached first. The words from the
 * first S are the texts, and those are also compared with bitlex_next of the whole text. Words end at every byte.
 *
 * That S is all there is to a stream is in turn tried by `direct`, for shorter texts, without any of this.
 *
 * A part of so many PARTS is tried, so that processes can share the work. Prints what was tried; a difference is printed, and exit code 1.
 */
#include "bitlex_stream.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BYTES 64   /* of a text, at most */
#define STATES 65536
#define STARTS 65536
#define NODES 1024 /* of the tree of the symbols' bytes; its root is 0 */
#define SHOWN 5

extern const bitlex_machine MACHINE; /* -DMACHINE=bitlex_cl100k */
static bitlex_machine machine;       /* the same; with -DVECTORS=1 by vector instructions, if the processor has them */
#ifndef VECTORS
#define VECTORS 0
#endif

typedef struct {
    bitlex_stream stream;
    uint64_t more[BITLEX_STREAM_MORE_SETS + 2 * BYTES];
} held;

typedef struct { /* what a stream is, with places counted back from where it is */
    uint64_t dropping, start, place[2 * BYTES][2];
    uint32_t forward, count;
    uint8_t opened, began, tail_length, tail[3];
} essence;

typedef struct {
    uint32_t count;
    int64_t at[4 * BYTES]; /* counted from where a word begins */
} offsets;

typedef struct {
    held stream;
    essence essence;
    uint32_t next[256];       /* and one; 0: not known */
    uint8_t step_count[256], end_count;
    int16_t step[256][BYTES], *end;
} state;

static state *states[STATES];
static uint32_t state_count, table[2 * STATES];
static struct { uint32_t child[256]; uint8_t bytes[256]; int count, ends; } nodes[NODES]; /* `bytes`: the `count` that have a child */
static uint32_t node_count = 1;
static struct { uint32_t state, node; int left; } starts[STARTS]; /* `left`: symbols that may still be completed */
static uint32_t start_count;
static uint64_t texts, words, differences, turn;
static unsigned part, parts;
static bitlex_cursor cursor, whole;
static const bitlex_stream_table *tabulated;
static void *scratch;

static void die(const char *what)
{
    fprintf(stderr, "stream_exhaustive: %s\n", what);
    exit(2);
}

static void copy(held *to, const held *from)
{
    to->stream = from->stream;
    to->stream.more = to->more;
    if (from->stream.count > BITLEX_STREAM_OPEN || from->stream.set_count > BITLEX_STREAM_SETS) memcpy(to->more, from->more, sizeof to->more);
}

static void begin(held *h)
{
    if (bitlex_stream_begin(&h->stream, &machine, h->more, 2 * BYTES) != 0) die("this machine has no stream");
    bitlex_stream_use_table(&h->stream, tabulated);
}

/* Feed a part, and append what it gives. */
static void feed(held *h, const uint8_t *bytes, size_t length, uint64_t base, offsets *found)
{
    const size_t each = machine.drops ? 2 : 1;
    uint64_t out[4 * BYTES];
    size_t done = 0, used, n, i;
    while (done < length) {
        n = each * bitlex_stream_feed(&h->stream, &cursor, scratch, bytes + done, length - done, BITLEX_UTF8, &used, out, 4 * BYTES / each);
        if (used == 0 || found->count + n > 4 * BYTES) die("nothing is read, or too much found");
        for (i = 0; i < n; i++) found->at[found->count++] = (int64_t)(out[i] - base);
        done += used;
    }
}

static void finish(held *h, uint64_t base, offsets *found)
{
    uint64_t out[4 * BYTES];
    const size_t n = (machine.drops ? 2 : 1) * bitlex_stream_finish(&h->stream, out);
    size_t i;
    for (i = 0; i < n; i++) found->at[found->count++] = (int64_t)(out[i] - base);
}

static uint64_t length_of(const held *h) { return h->stream.length + h->stream.tail_length; }

static void look(const held *h, essence *e)
{
    bitlex_stream sets = h->stream, *s = &sets;
    uint32_t i;
    bitlex_stream_use_table(s, NULL); /* of a copy, which then has its sets */
    e->forward = s->forward;
    e->dropping = machine.drops ? s->dropping : 0;
    e->opened = s->opened;
    e->began = s->length > 0;
    e->start = machine.drops && s->opened ? s->length - s->start : 0;
    e->tail_length = s->tail_length;
    memset(e->tail, 0, sizeof e->tail);
    memcpy(e->tail, s->tail, s->tail_length);
    for (i = e->count = 0; i < s->count; i++) {
        const uint64_t open = i < BITLEX_STREAM_OPEN ? s->open[i] : s->more[BITLEX_STREAM_MORE_SETS + (i - BITLEX_STREAM_OPEN)];
        const uint32_t number = open >> 1 & (BITLEX_STREAM_SETS + BITLEX_STREAM_MORE_SETS - 1);
        const uint64_t set = number < BITLEX_STREAM_SETS ? s->sets[number] : s->more[number - BITLEX_STREAM_SETS];
        if (set == 0) continue; /* settled, and no place: it goes with those before it */
        e->place[e->count][0] = (s->length - bitlex_stream_place(s, i)) << 1 | (open & 1);
        e->place[e->count++][1] = set;
    }
}

static int same(const essence *a, const essence *b)
{
    return a->forward == b->forward && a->count == b->count && a->dropping == b->dropping && a->start == b->start && a->opened == b->opened &&
           a->began == b->began && a->tail_length == b->tail_length && memcmp(a->tail, b->tail, 3) == 0 &&
           memcmp(a->place, b->place, a->count * sizeof *a->place) == 0;
}

static uint32_t number_of(const held *h)
{
    essence e;
    uint64_t hash;
    uint32_t i, at;
    look(h, &e);
    hash = e.forward * 31u + e.tail_length + e.tail[0] * 7u + e.tail[1] * 77u + e.tail[2] * 777u + e.start * 13u;
    for (i = 0; i < e.count; i++) hash = (hash ^ e.place[i][0] ^ e.place[i][1] << 20) * UINT64_C(1099511628211);
    for (at = (uint32_t)(hash ^ hash >> 32) % (2 * STATES); table[at] != 0; at = (at + 1) % (2 * STATES))
        if (same(&states[table[at] - 1]->essence, &e)) return table[at] - 1;
    if (state_count == STATES || (states[state_count] = calloc(1, sizeof **states)) == NULL) die("too many states");
    copy(&states[state_count]->stream, h);
    states[state_count]->essence = e;
    return (table[at] = ++state_count) - 1;
}

/* One byte, of the automaton: the next state; `shift` is how far from where the word begins. */
static uint32_t step(uint32_t from, uint8_t byte, int64_t shift, offsets *found)
{
    state *s = states[from];
    uint32_t i;
    if (s->next[byte] == 0) {
        held h;
        offsets here = {0, {0}};
        copy(&h, &s->stream);
        feed(&h, &byte, 1, length_of(&s->stream), &here);
        if (here.count > BYTES) die("a byte gives more than there is room for");
        for (i = 0; i < here.count; i++) s->step[byte][i] = (int16_t)here.at[i];
        s->step_count[byte] = (uint8_t)here.count;
        s->next[byte] = number_of(&h) + 1;
    }
    for (i = 0; i < s->step_count[byte]; i++) found->at[found->count++] = s->step[byte][i] + shift;
    return s->next[byte] - 1;
}

static void step_end(uint32_t from, int64_t shift, offsets *found)
{
    state *s = states[from];
    uint32_t i;
    if (s->end == NULL) {
        held h;
        offsets here = {0, {0}};
        copy(&h, &s->stream);
        finish(&h, length_of(&s->stream), &here);
        if ((s->end = malloc((here.count + 1) * sizeof *s->end)) == NULL) die("no memory");
        for (i = 0; i < here.count; i++) s->end[i] = (int16_t)here.at[i];
        s->end_count = (uint8_t)here.count;
    }
    for (i = 0; i < s->end_count; i++) found->at[found->count++] = s->end[i] + shift;
}

static void show(const char *what, const held *from, const uint8_t *word, size_t length)
{
    size_t i;
    if (differences++ >= SHOWN) return;
    printf("difference %s: behind", what);
    for (i = 0; i < from->stream.tail_length; i++) printf(" %02x", from->stream.tail[i]);
    printf(" (forward state %" PRIu32 ", %" PRIu32 " places open):", from->stream.forward, from->stream.count);
    for (i = 0; i < length; i++) printf(" %02x", word[i]);
    putchar('\n');
}

static int equal(const offsets *a, const offsets *b) { return a->count == b->count && memcmp(a->at, b->at, a->count * sizeof *a->at) == 0; }

/* The offsets of a text by bitlex.c alone, of as many as there are. */
static void by_whole(const uint8_t *text, size_t length, offsets *found)
{
    uint64_t out[4 * BYTES];
    size_t n, i;
    bitlex_restart(&whole, text, length, BITLEX_UTF8, NULL);
    found->count = 0;
    while ((n = machine.drops ? 2 * bitlex_next_pairs(&whole, out, BYTES) : bitlex_next(&whole, out, BYTES)) > 0)
        for (i = 0; i < n; i++) found->at[found->count++] = (int64_t)out[i];
}

/* A word fed whole, and compared. `wanted`: what the automaton gave, in state `at`. */
static void try_word(uint32_t from, const uint8_t *word, size_t length, uint32_t at, offsets *wanted)
{
    const uint32_t count = wanted->count;
    const held *first = &states[from]->stream;
    const uint64_t base = length_of(first);
    held h;
    essence e;
    offsets found, by_bitlex;
    found.count = 0;
    copy(&h, first);
    feed(&h, word, length, base, &found);
    words++;
    if (!equal(&found, wanted)) show("of offsets", first, word, length);
    look(&h, &e);
    if (!same(&e, &states[at]->essence)) show("of states", first, word, length);
    finish(&h, base, &found);
    step_end(at, (int64_t)length, wanted);
    if (!equal(&found, wanted)) show("at the end", first, word, length);
    if (from == 0) {
        texts++;
        by_whole(word, length, &by_bitlex);
        if (!equal(&by_bitlex, wanted)) show("from the whole text", first, word, length);
    }
    wanted->count = count;
}

/* All words that begin with this one. */
static void walk(uint32_t from, uint8_t *word, size_t length, uint32_t at, uint32_t node, int left, offsets *steps)
{
    const uint32_t count = steps->count;
    int i;
    if (length == 2 && turn++ % parts != part) return;
    if (length >= 2 || (length > 0 && part == 0)) try_word(from, word, length, at, steps);
    for (i = 0; i < nodes[node].count; i++) {
        const uint8_t byte = nodes[node].bytes[i];
        const uint32_t child = nodes[node].child[byte];
        uint32_t next;
        if (length == BYTES) die("a text of too many bytes");
        word[length] = byte;
        next = step(at, byte, (int64_t)length, steps);
        if (nodes[child].ends && left > 1) walk(from, word, length + 1, next, 0, left - 1, steps);
        if (nodes[child].count > 0 || left == 1) walk(from, word, length + 1, next, child, left, steps);
        steps->count = count;
    }
}

static void add_start(uint32_t at, uint32_t node, int left)
{
    uint32_t i;
    if (node == 0 && left == 0) return;
    for (i = 0; i < start_count; i++)
        if (starts[i].state == at && starts[i].node == node && starts[i].left >= left) return;
    if (start_count == STARTS) die("too many states");
    starts[start_count].state = at;
    starts[start_count].node = node;
    starts[start_count++].left = left;
}

/* Whatever is reached byte by byte, and first; starts grow while they are read, those with the most left before the others. */
static void find_starts(int most)
{
    uint32_t i;
    offsets ignored;
    int left, one;
    add_start(0, 0, most);
    for (left = most; left > 0; left--) {
        for (i = 0; i < start_count; i++) {
            if (starts[i].left != left) continue;
            for (one = 0; one < nodes[starts[i].node].count; one++) {
                const uint8_t byte = nodes[starts[i].node].bytes[one];
                const uint32_t child = nodes[starts[i].node].child[byte];
                uint32_t next;
                ignored.count = 0;
                next = step(starts[i].state, byte, 0, &ignored);
                if (nodes[child].ends) add_start(next, 0, left - 1);
                if (nodes[child].count > 0) add_start(next, child, left);
            }
        }
    }
}

/* --- each text cut in each way --------------------------------------------------------------------------------------------- */

static void try_cuts(const uint8_t *text, size_t length)
{
    offsets wanted, found;
    uint64_t cuts;
    held h;
    if (turn++ % parts != part) return;
    texts++;
    by_whole(text, length, &wanted);
    for (cuts = 0; cuts < UINT64_C(1) << (length - 1); cuts++) {
        size_t from = 0, to;
        begin(&h);
        found.count = 0;
        for (to = 1; to <= length; to++) {
            if (to < length && !(cuts >> (to - 1) & 1)) continue;
            feed(&h, text + from, to - from, 0, &found);
            from = to;
        }
        finish(&h, 0, &found);
        words++;
        if (!equal(&found, &wanted)) show("cut somewhere", &states[0]->stream, text, length);
    }
}

static void try_texts(uint8_t *text, size_t length, char **symbols, int count, int left)
{
    int i;
    if (length > 0) try_cuts(text, length);
    for (i = 0; left > 0 && i < count; i++) {
        const char *digit = symbols[i];
        size_t size = 0;
        unsigned byte;
        for (; *digit; digit += 2, size++) {
            sscanf(digit, "%2x", &byte);
            text[length + size] = (uint8_t)byte;
        }
        try_texts(text, length + size, symbols, count, left - 1);
    }
}

static void add_symbol(const char *digits)
{
    uint32_t node = 0;
    unsigned byte;
    for (; digits[0] && digits[1]; digits += 2) {
        if (sscanf(digits, "%2x", &byte) != 1) die("a symbol that is not hexadecimal");
        if (nodes[node].child[byte] == 0) {
            if (node_count == NODES) die("too many symbols");
            nodes[node].child[byte] = node_count++;
            nodes[node].bytes[nodes[node].count++] = (uint8_t)byte;
        }
        node = nodes[node].child[byte];
    }
    if (node == 0 || *digits) die("a symbol that is not bytes");
    nodes[node].ends = 1;
}

int main(int count, char **arguments)
{
    uint8_t text[BYTES + 8];
    offsets steps;
    held h;
    uint32_t i;
    int most, one;
    if (count < 6) die("usage: stream_exhaustive steps|direct K PART PARTS SYMBOL...");
    machine = MACHINE;
    most = atoi(arguments[2]);
    part = (unsigned)atoi(arguments[3]);
    parts = (unsigned)atoi(arguments[4]);
    for (one = 5; one < count; one++) add_symbol(arguments[one]);
    if (VECTORS) {
        bitlex_accelerate(&machine, malloc(bitlex_lanes_size()), BITLEX_AVX512);
        scratch = machine.lanes != NULL ? malloc((size_t)bitlex_scratch_size(&machine, BITLEX_BLOCK)) : NULL;
    }
    tabulated = bitlex_stream_tabulate(malloc(bitlex_stream_table_size()), &machine);
    bitlex_begin(&cursor, &machine, "", 0, BITLEX_UTF8, NULL);
    bitlex_begin(&whole, &machine, "", 0, BITLEX_UTF8, NULL);
    begin(&h);
    number_of(&h);
    if (strcmp(arguments[1], "direct") == 0) {
        try_texts(text, 0, arguments + 5, count - 5, most);
        printf("texts %" PRIu64 "\nways %" PRIu64 "\n", texts, words);
    } else {
        find_starts(most);
        for (i = 0; i < start_count; i++) {
            steps.count = 0;
            walk(starts[i].state, text, 0, starts[i].state, starts[i].node, starts[i].left, &steps);
        }
        printf("texts %" PRIu64 "\nwords %" PRIu64 "\nstates %" PRIu32 "\n", texts, words, state_count);
    }
    printf("differences %" PRIu64 "\n", differences);
    return differences > 0;
}
