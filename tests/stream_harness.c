/* stream_harness.c - streams in plain C, under sanitizers: random parts of random texts against bitlex_next_pairs of the whole; the automaton of
 * vector instructions on random tables, against one that reads character by character; and, of random vocabularies, the ids that bpe_final
 * says are final against those of random continuations. And parts that are written to while they are read, as another thread might:
 * bitlex_stream.c is part of this file, and whenever it calls bitlex.c, a part may change.
 *
 * Every part lies at the end of memory of its own size, and so do the offsets, so that a read or write beyond them is seen.
 */
#include "bitlex_lanes.h"
#include "bpe.h"
#include "cl100k.h"
#include "clip.h"
#include "deepseek_llm.h"
#include "falcon.h"
#include "o200k.h"
#include "tiny_aya.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t seed = 1;

static uint32_t random_below(uint32_t n)
{
    seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % n;
}

static const char *const WORDS[] = {"a", "S", "'", " ", "\n", "\r", "1", "12", ".", "/", "_", "\xe4\xb8\xad", "\xcc\x81", "\xc3\xa9", "\t",
                                    "\xf0\x9f\x98\x80", "\xe4\xb8", "\xf0", "\xff", "\x80", "\xc1", "\xe0\x80", "\xed\xa0\x80", "\xf4\x90", "word"};

static size_t make_text(uint8_t *text, size_t most)
{
    size_t length = 0, want = random_below(random_below(20) == 0 ? (uint32_t)most : 60);
    while (length < want) {
        const char *word = WORDS[random_below(sizeof WORDS / sizeof *WORDS)];
        uint32_t times = random_below(4) ? 1 : random_below(8) ? random_below(6) : random_below(200);
        for (; times > 0 && length + strlen(word) <= most; times--) {
            memcpy(text + length, word, strlen(word));
            length += strlen(word);
        }
        if (length + 8 > most) break;
    }
    return length;
}

static uint8_t *part; /* that is read */
static size_t part_length;
static int changing;

static void change(void)
{
    const char *word = WORDS[random_below(sizeof WORDS / sizeof *WORDS)];
    const size_t size = strlen(word), last = part_length < size ? 0 : part_length - size;
    if (changing && random_below(3) == 0 && size <= part_length) memcpy(part + (random_below(2) ? last : random_below((uint32_t)last + 1)), word, size);
}

static uint32_t changing_load_part(bitlex_cursor *c, const void *text, uint64_t length, bitlex_encoding encoding, uint64_t most, uint64_t *units)
{
    change();
    return bitlex_load_part(c, text, length, encoding, most, units);
}

static uint64_t changing_begin_open(bitlex_cursor *c, const void *text, uint64_t length, bitlex_encoding encoding, void *scratch, uint32_t forward,
                                    uint64_t origin, uint64_t most, uint64_t told, uint32_t state)
{
    change();
    return bitlex_begin_open(c, text, length, encoding, scratch, forward, origin, most, told, state);
}

static int changing_ready(bitlex_cursor *c, uint64_t units)
{
    change();
    return bitlex_ready(c, units);
}

static size_t changing_next(bitlex_cursor *c, uint64_t *ends, size_t room)
{
    change();
    return bitlex_next(c, ends, room);
}

static size_t changing_next32(bitlex_cursor *c, uint32_t *ends, size_t room)
{
    change();
    return bitlex_next32(c, ends, room);
}

static size_t changing_next_pairs(bitlex_cursor *c, uint64_t *pairs, size_t room)
{
    change();
    return bitlex_next_pairs(c, pairs, room);
}

#define bitlex_load_part changing_load_part
#define bitlex_next changing_next
#define bitlex_next32 changing_next32
#define bitlex_next_pairs changing_next_pairs
#define bitlex_begin_open changing_begin_open
#define bitlex_ready changing_ready
#include "bitlex_stream.c"
#undef bitlex_next
#undef bitlex_next32
#undef bitlex_next_pairs

static void fail(const char *name, const char *what)
{
    printf("%s: %s, seed %llu\n", name, what, (unsigned long long)seed);
    exit(1);
}

/* Read a part whole: as many offsets as were found before and now. */
static size_t feed(bitlex_stream *s, bitlex_cursor *cursor, void *scratch, const uint8_t *from, size_t length, uint64_t *found, size_t have,
                   uint64_t **more)
{
    const size_t each = s->machine->drops ? 2 : 1;
    size_t done = 0, used;
    part = malloc(length + !length);
    part_length = length;
    memcpy(part, from, length);
    while (done < length) {
        const size_t room = (random_below(4) ? length - done : 1) + (random_below(4) ? s->room : s->count) + 8; /* s->room: all that is promised */
        uint64_t *out = malloc(room * each * sizeof *out);
        size_t n, i;
        if (!s->machine->drops && random_below(2)) { /* the same, of 32 bits, counted from anywhere */
            const uint64_t from = random_below(2) ? s->length : random_below(2) ? 0 : (uint64_t)random_below(60000) - 30000;
            uint32_t *ends = malloc(room * sizeof *ends);
            n = bitlex_stream_feed32(s, cursor, scratch, part + done, length - done, BITLEX_UTF8, &used, from, ends, out, room);
            for (i = 0; i < n; i++) found[have + i] = (uint32_t)(ends[i] + (uint32_t)from); /* no text is so long */
            free(ends);
        } else {
            n = bitlex_stream_feed(s, cursor, scratch, part + done, length - done, BITLEX_UTF8, &used, out, room);
            memcpy(found + have * each, out, n * each * sizeof *out);
        }
        have += n;
        if (used > length - done) fail("feed", "more is read than there is");
        done += used;
        free(out);
        if (s->full) { /* as a caller does: room for twice as many places */
            s->room *= 2;
            s->more = *more = realloc(*more, (BITLEX_STREAM_MORE_SETS + s->room) * sizeof **more);
        } else if (used == 0) {
            fail("feed", "nothing is read");
        }
    }
    free(part);
    return have;
}

static void check(const bitlex_machine *emitted, int vectors, int tabled, uint32_t turns)
{
    static bitlex_cursor cursor, whole_cursor;
    static uint8_t text[40000];
    static uint64_t want[2 * 40010], found[2 * 40010];
    bitlex_machine machine = *emitted;
    void *lanes = malloc(bitlex_lanes_size()), *scratch = NULL, *whole_scratch = NULL;
    const size_t each = machine.drops ? 2 : 1;
    void *memory = malloc(bitlex_stream_table_size());
    const bitlex_stream_table *table;
    if (vectors) bitlex_accelerate(&machine, lanes, BITLEX_AVX512);
    if (machine.lanes != NULL) {
        scratch = malloc((size_t)bitlex_scratch_size(&machine, BITLEX_BLOCK));
        whole_scratch = malloc((size_t)bitlex_scratch_size(&machine, BITLEX_BLOCK));
    }
    table = tabled ? bitlex_stream_tabulate(memory, &machine) : NULL;
    if (tabled && !machine.drops && table == NULL) fail(machine.name, "no table");
    bitlex_begin(&cursor, &machine, "", 0, BITLEX_UTF8, NULL);
    while (turns-- > 0) {
        const size_t length = make_text(text, sizeof text);
        const uint32_t most = random_below(3) ? 1 + random_below(100) : 1 + random_below(20000);
        size_t expected = 0, have = 0, at = 0, n;
        uint64_t *more = NULL, *last;
        uint32_t serve = random_below(4);
        bitlex_stream stream, copy;
        bitlex_begin(&whole_cursor, &machine, text, length, BITLEX_UTF8, whole_scratch);
        while ((n = machine.drops ? bitlex_next_pairs(&whole_cursor, want + 2 * expected, 512) : bitlex_next(&whole_cursor, want + expected, 512)) != 0) expected += n;
        if (bitlex_stream_begin(&stream, &machine, NULL, 0) != 0) fail(machine.name, "no stream");
        bitlex_stream_use_table(&stream, table);
        while (at < length) {
            const size_t size = length - at < most ? length - at : 1 + random_below(most);
            have = feed(&stream, &cursor, scratch, text + at, size < length - at ? size : length - at, found, have, &more);
            at += size < length - at ? size : length - at;
            if (serve-- == 1) { /* the cursor serves a whole text meanwhile, with scratch memory that is gone then */
                void *own = scratch == NULL ? NULL : malloc((size_t)bitlex_scratch_size(&machine, BITLEX_BLOCK));
                bitlex_count(&cursor, &machine, text, length, BITLEX_UTF8, own);
                bitlex_begin(&cursor, &machine, "", 0, BITLEX_UTF8, NULL);
                free(own);
            }
            copy = stream; /* a struct like any other */
            memset(&stream, 0xAA, sizeof stream);
            stream = copy;
        }
        last = malloc((stream.count + 5) * each * sizeof *last);
        n = bitlex_stream_finish(&stream, last);
        memcpy(found + have * each, last, n * each * sizeof *last);
        have += n;
        free(last);
        free(more);
        for (n = 1; n < have * each; n++)
            if (found[n] < found[n - 1]) fail(machine.name, "offsets out of order");
        if (changing && have > 0 && (found[have * each - 1] > length || (!machine.drops && found[have - 1] != length))) fail(machine.name, "another length");
        if (changing) continue;
        if (have != expected || memcmp(want, found, have * each * sizeof *want) != 0) fail(machine.name, "another text's offsets");
    }
    free(memory);
    free(scratch);
    free(whole_scratch);
    free(lanes);
}

static int by_value(const void *one, const void *two)
{
    const uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)two;
    return (a > b) - (a < b);
}

static size_t distinct_sorted(uint64_t *found, size_t n)
{
    size_t i, kept = 0;
    qsort(found, n, sizeof *found, by_value);
    for (i = 0; i < n; i++)
        if (kept == 0 || found[kept - 1] != found[i]) found[kept++] = found[i];
    return kept;
}

/* An automaton of any steps, which do anything to open places. Some columns forget what was before, or do after two of them, or count to
 * three. */
static void make_walk(bitlex_walk *walk, const bitlex_lanes *lanes, uint32_t states, uint32_t columns)
{
    const uint32_t each = BITLEX_PAGE / states;
    uint32_t column, state, i;
    memset(walk, 0, sizeof *walk);
    walk->pages = (columns + each - 1) / each;
    for (column = 0; column < columns; column++) {
        const uint32_t page = column / each, offset = column % each * states, kind = random_below(states < 3 ? 4 : 5), often = random_below(3);
        const uint32_t one = random_below(states), two = kind == 4 ? (one + 1) % states : random_below(states), three = (one + 2) % states;
        const uint32_t leaves = random_below(40) == 0;
        walk->page[column] = (uint8_t)page;
        walk->offset[column] = (uint8_t)offset;
        walk->guess[column] = (uint8_t)random_below(states);
        walk->lasts[column] = leaves ? 0 : kind == 0 ? BITLEX_LASTS : kind == 4 ? BITLEX_COUNTS : 0;
        for (state = 0; state < states; state++) {
            const uint32_t counted = state == one ? two : state == two ? three : one;
            const uint32_t to = kind == 0 ? (state == one || state == two ? two : one) : kind == 1 ? one : kind == 4 ? counted : random_below(states);
            const uint32_t starts = random_below(256) & (BITLEX_FIRST_STARTS | BITLEX_SECOND_STARTS);
            const uint32_t moves = random_below(3) << 5 | (random_below(2) ? BITLEX_SECOND_IS_HERE : 0); /* the first, and the second */
            walk->next[page][offset + state] = (uint8_t)(to | (random_below(3) == 0 ? 0x80 : 0));
            walk->does[page][offset + state] = (uint8_t)(often == 0 || random_below(4 * often) == 0 ? starts | moves : 0);
            if (leaves && random_below(8) == 0) walk->does[page][offset + state] = BITLEX_LEAVES;
        }
    }
    for (i = 0; i < 256; i++) walk->column[BITLEX_CODES][i] = (uint8_t)random_below(columns);
    for (i = 0; i < 256; i++) walk->column[BITLEX_LOW][i] = walk->column[BITLEX_CODES][lanes->direct[i]];
}

/* The same, character by character: how many offsets. */
static size_t walk_slowly(const bitlex_walk *walk, const bitlex_lanes *lanes, const uint8_t *text, size_t length, bitlex_walker *w,
                          uint64_t *out)
{
    const bitlex_machine *m = lanes->machine;
    size_t n = 0, at = 0;
    while (at < length) {
        uint32_t taken, point, cell, column, index, does, next;
        if (bitlex_unfinished(text + at, length - at) == length - at) break;
        point = bitlex_decode(text + at, text + length, &taken);
        cell = m->stage2[((uint32_t)m->stage1[point >> m->shift] << m->shift) + (point & ((1u << m->shift) - 1))];
        column = walk->column[BITLEX_CODES][lanes->cell_code[cell]];
        index = walk->offset[column] + w->stream->configuration;
        does = walk->does[walk->page[column]][index];
        next = walk->next[walk->page[column]][index];
        if (does & BITLEX_LEAVES) {
            w->left = 1;
            break;
        }
        /* the start of the text is not told */
        if ((does & BITLEX_FIRST_STARTS) && w->stream->open[0] > 0) out[n++] = w->stream->open[0] >> BITLEX_STREAM_SHIFT;
        if ((does & BITLEX_SECOND_STARTS) && w->stream->open[1] > 0) out[n++] = w->stream->open[1] >> BITLEX_STREAM_SHIFT;
        if (does & BITLEX_FIRST_IS_SECOND) w->stream->open[0] = w->stream->open[1];
        if (does & BITLEX_FIRST_IS_HERE) w->stream->open[0] = w->stream->length << BITLEX_STREAM_SHIFT;
        if (does & BITLEX_SECOND_IS_HERE) w->stream->open[1] = w->stream->length << BITLEX_STREAM_SHIFT;
        if ((next & 0x80) && w->stream->length > 0) out[n++] = w->stream->length;
        w->stream->configuration = next & 0x3F;
        w->stream->length += taken;
        at += taken;
    }
    return n;
}

/* The automaton of vector instructions, on tables that no lexer has. */
static void check_walk(uint32_t turns)
{
    static bitlex_walk tables[2];
    static uint8_t text[700];
    static uint64_t want[3 * 700 + 64], found[3 * 700 + 64];
    static uint32_t ends[3 * 700 + 64];
    bitlex_walk *walk = (bitlex_walk *)(void *)(((uintptr_t)tables + 63) & ~(uintptr_t)63);
    bitlex_machine machine = bitlex_cl100k;
    void *memory = malloc(bitlex_lanes_size());
    void *recent = malloc(sizeof(bitlex_recent) + 64);
    bitlex_recent *rows = (bitlex_recent *)(void *)(((uintptr_t)recent + 63) & ~(uintptr_t)63);
    size_t completed = 0, refused = 0;
    bitlex_accelerate(&machine, memory, BITLEX_AVX512);
    bitlex_forget(rows);
    while (machine.lanes != NULL && machine.lanes->walk != NULL && turns-- > 0) {
        const uint32_t states = 2 + random_below(random_below(2) ? 20 : 63), columns = 1 + random_below(random_below(2) ? 12 : 64);
        uint32_t times = 20;
        make_walk(walk, machine.lanes, states, columns);
        while (times-- > 0) {
            const size_t length = 1 + make_text(text, random_below(4) ? 64 : sizeof text - 1) % (sizeof text - 1);
            bitlex_stream stream = {0}, other;
            const uint64_t begin = random_below(3) ? 10 : 0, origin = random_below(2) ? 2 : 0 - (uint64_t)random_below(99);
            const int narrow = (int)random_below(2);
            bitlex_walker w = {machine.lanes, walk, rows, &stream, found, found + 3 * length + 8, narrow ? ends : NULL,
                               narrow ? ends + 3 * length + 8 : NULL, origin, 0, 0}, slow = w;
            size_t expected, have, i, kept = random_below(4);
            uint32_t taken;
            while (kept > 0 && (kept >= length || bitlex_unfinished(text, kept) != kept)) kept--; /* what the part before left of a character */
            stream.length = begin;
            stream.open[0] = 3 << BITLEX_STREAM_SHIFT;
            stream.open[1] = 5 << BITLEX_STREAM_SHIFT;
            stream.configuration = (uint16_t)random_below(states);
            other = stream;
            slow.stream = &other;
            memcpy(stream.tail, text, kept);
            stream.tail_length = (uint8_t)kept;
            machine.lanes->walk(&w, text + kept, length - kept, BITLEX_UTF8);
            if (stream.length == begin && w.left && kept > 0) { /* that is left to others where it is ill-formed, or more of it may come */
                const uint32_t point = bitlex_decode(text, text + length, &taken);
                if (stream.tail_length != kept || memcmp(stream.tail, text, kept) != 0) fail("walk", "another tail");
                if (w.out != found || (narrow && w.ends != ends) || stream.configuration != other.configuration) fail("walk", "another state");
                walk_slowly(walk, machine.lanes, text, length, &slow, want);
                if (length - kept > 3 && point != 0xFFFD && !(slow.left && other.length == begin)) fail("walk", "a character is not read");
                refused++;
                continue;
            }
            completed += kept > 0;
            expected = distinct_sorted(want, walk_slowly(walk, machine.lanes, text, length, &slow, want));
            for (i = 0; narrow && i < (size_t)(w.ends - ends); i++) *w.out++ = (uint32_t)(ends[i] + (uint32_t)origin);
            have = distinct_sorted(found, (size_t)(w.out - found));
            if (have != expected || memcmp(want, found, have * sizeof *want) != 0) fail("walk", "other offsets");
            if (stream.length != other.length || stream.configuration != other.configuration || w.left != slow.left) fail("walk", "another state");
            if (memcmp(stream.open, other.open, sizeof stream.open) != 0) fail("walk", "other places are open");
            if (w.left) continue;
            if (stream.tail_length != begin + length - stream.length) fail("walk", "a tail of another length");
            if (memcmp(stream.tail, text + (stream.length - begin), stream.tail_length) != 0) fail("walk", "another tail");
        }
    }
    if (machine.lanes != NULL && machine.lanes->walk != NULL && (completed == 0 || refused == 0)) fail("walk", "no character was cut");
    free(memory);
    free(recent);
}

/* A rank file of the letters a, b, c and random tokens of these. */
static void check_final(uint32_t turns)
{
    static uint8_t bytes[4096], text[5000];
    static uint32_t starts[260], ids[5000 + BPE_PADDING], all[5000 + BPE_PADDING];
    size_t advanced = 0;
    while (turns-- > 0) {
        uint32_t tokens = 3, longest = 2 + random_below(5), i, j, length, more;
        size_t count, found, stop_count, stops[2];
        bpe_vocabulary v;
        memcpy(bytes, "abc", 3);
        for (i = 0; i <= 3; i++) starts[i] = i;
        for (i = 0; i < 30; i++) { /* distinct ones */
            const uint32_t size = 2 + random_below(longest - 1), at = starts[tokens];
            for (j = 0; j < size; j++) bytes[at + j] = (uint8_t)('a' + random_below(3));
            for (j = 0; j < tokens && !(starts[j + 1] - starts[j] == size && memcmp(bytes + starts[j], bytes + at, size) == 0); j++) {}
            if (j == tokens) starts[++tokens] = at + size;
        }
        if (bpe_build(&v, starts, bytes, tokens, NULL, 0, 0, BPE_PLAIN) < 0) fail("bpe_build", "no memory");
        length = 2 * v.longest + 1 + random_below(random_below(2) ? 20 : 1000);
        more = random_below(40);
        for (i = 0; i < length + more; i++) text[i] = (uint8_t)('a' + (random_below(3) ? random_below(3) : 0));
        stops[0] = 1 + random_below(length);
        stops[1] = length;
        stop_count = random_below(3);
        found = bpe_final(&v, text, length, stops, stop_count, ids, &count);
        advanced += found;
        for (i = 0; found > 0 && i < 2 + (stop_count > 0); i++) { /* it goes on, ends where it is, or at a stop */
            const size_t end = i == 0 ? length + more : i == 1 ? length : stops[0];
            if (bpe_merge(&v, BPE_AUTOMATIC, text, end, all) < count || memcmp(ids, all, count * sizeof *ids) != 0) fail("bpe_final", "ids that are not final");
        }
        bpe_close(&v);
    }
    if (advanced == 0) fail("bpe_final", "nothing is final");
}

int main(int count, char **arguments)
{
    static const bitlex_machine *const machines[] = {&bitlex_cl100k, &bitlex_clip, &bitlex_deepseek_llm, &bitlex_falcon, &bitlex_o200k, &bitlex_tiny_aya};
    const uint32_t turns = count > 1 ? (uint32_t)atoi(arguments[1]) : 300;
    size_t i;
    int mode;
    if (sizeof(bitlex_stream) > 256) fail("bitlex_stream", "more than 256 bytes");
    for (i = 0; i < sizeof machines / sizeof *machines; i++) {
        for (mode = 0; mode < 8; mode++) {
            changing = mode >> 2;
            check(machines[i], mode & 1, mode >> 1 & 1, turns);
        }
    }
    check_walk(20 * turns);
    check_final(turns);
    puts("no difference");
    return 0;
}
