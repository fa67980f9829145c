/* fuzz.c - bitlex.c against the definition of a lexer, on inputs that a fuzzer makes up.
 *
 * In: any bytes. The first HEADER choose the machine (an emitted one, or a small one decoded from the next bytes), the
 * encoding, how often the text is repeated, and the room of each call; the rest is the text, as it comes:
 *
 *     machine  encoding  times  size of machine  choices[8]  |  machine  |  text
 *
 * Every input asks for ends and pairs, of both widths, and for the count; with an emitted machine also for those of a stream that is fed
 * the text in parts. A difference aborts, and sanitizers see every stray read. Repeating matters: a run that crosses blocks of 6144 units
 * takes no long input. (Streams need machines that are canonical, as emitted ones are.)
 *
 *     clang -fsanitize=fuzzer,address,undefined ...   a libFuzzer target (make fuzz)
 *     cc -DSTANDALONE ...                             fuzz SECONDS [SEED]: random inputs, the same for
 *                                                  the same seed; fuzz FILE...: these inputs
 */
#include "bitlex_stream.h"
#include "definition.h"

#include "cl100k.h"
#include "clip.h"
#include "falcon.h"
#include "o200k.h"

#include <stdio.h>

#define HEADER 12
#define CHOICES 8
#define MOST_UNITS (BITLEX_BLOCK < 100 ? 2000 : 2 * BITLEX_BLOCK + 100)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* --- choices --------------------------------------------------------------------------------------------------- */

static const uint8_t *bytes; /* where choices are read */
static size_t byte_count, byte_at;
static uint64_t drawn;

static void draw_from(const uint8_t *from, size_t count)
{
    bytes = from;
    byte_count = count;
    byte_at = 0;
    drawn = 1;
}

/* A byte a choice, so that a changed byte changes a choice; when they are used up, numbers that follow from all of them. */
static uint32_t below(uint32_t limit)
{
    uint32_t value = byte_at < byte_count ? bytes[byte_at++] : (uint32_t)(drawn >> 33);
    drawn = (drawn + value) * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return value % limit;
}

/* --- a machine out of bytes ------------------------------------------------------------------------------------ */

/* A column either permutes the states (it forgets nothing, so guesses fail and texts are read from their ends) or not. */
static uint16_t *make_next(uint32_t states, uint32_t columns)
{
    uint16_t *next = exactly(sizeof *next * states * columns);
    uint32_t s, c, turn;
    for (c = 0; c < columns; c++) {
        turn = below(2) ? below(states) : states;
        for (s = 0; s < states; s++) {
            uint32_t to = turn < states ? (s + turn) % states : below(states);
            next[s * columns + c] = (uint16_t)(to * columns);
        }
    }
    return next;
}

static void make_stage(bitlex_stage *stage, uint32_t symbols, uint32_t letters)
{
    uint32_t i, size;
    uint8_t *columns = exactly(symbols), *output;
    uint16_t *label;
    stage->column_count = 1 + below(4);
    stage->label_count = 1 + below(5);
    stage->backward_states = 1 + below(8) + (below(16) ? 0 : 60); /* beyond 64 states it does not look ahead */
    stage->forward_states = 1 + below(6);
    stage->backward_end = below(stage->backward_states) * stage->column_count;
    stage->backward_next = make_next(stage->backward_states, stage->column_count);
    stage->forward_next = make_next(stage->forward_states, stage->label_count);
    for (i = 0; i < symbols; i++) columns[i] = (uint8_t)below(stage->column_count);
    size = stage->forward_states * stage->label_count;
    output = exactly(size);
    for (i = 0; i < size; i++) output[i] = (uint8_t)(below(256) % 5 % letters); /* half of them 0, if there are two letters */
    size = stage->backward_states * stage->column_count;
    label = exactly(sizeof *label * size);
    for (i = 0; i < size; i++) label[i] = (uint16_t)below(stage->label_count);
    stage->columns = columns;
    stage->output = output;
    stage->backward_label = label;
}

static bitlex_machine *make_machine(void)
{
    bitlex_machine *m = exactly(sizeof *m);
    uint32_t i, factor, blocks = 1 + below(7), points, count = below(3) ? 1 : 1 + below(3);
    bitlex_stage *stages = exactly(sizeof *stages * count);
    uint16_t *stage1;
    uint8_t *stage2, *continuation = NULL;
    m->abi = BITLEX_ABI;
    m->name = "made up";
    m->cells = 1 + below(6);
    m->shift = 5 + below(8);
    m->drops = below(2);
    m->stage_count = count;
    m->stages = stages;
    if (below(4) == 0) continuation = exactly(64); /* a machine that reads bytes */
    for (i = 0; i < count; i++) make_stage(stages + i, m->cells * (i ? 6 : 1), m->drops || i + 1 < count ? 3 : 2);
    for (i = 0; continuation != NULL && i < 64; i++) continuation[i] = (uint8_t)below(m->cells);
    factor = 2 * below(128) + 1;
    points = 0x110000u >> m->shift;
    stage1 = exactly(sizeof *stage1 * points);
    for (i = 0; i < points; i++) stage1[i] = (uint16_t)(i * factor % blocks);
    stage2 = exactly((size_t)blocks << m->shift);
    for (i = 0; i < blocks << m->shift; i++) stage2[i] = (uint8_t)((i < 128 ? below(256) : (i ^ i >> 3) * factor >> 2) % m->cells);
    m->stage1 = stage1;
    m->stage2 = stage2;
    m->continuation = continuation;
    m->lanes = NULL;
    return m;
}

static void free_machine(bitlex_machine *m)
{
    uint32_t i;
    for (i = 0; i < m->stage_count; i++) {
        free((void *)(uintptr_t)m->stages[i].columns);
        free((void *)(uintptr_t)m->stages[i].backward_next);
        free((void *)(uintptr_t)m->stages[i].backward_label);
        free((void *)(uintptr_t)m->stages[i].forward_next);
        free((void *)(uintptr_t)m->stages[i].output);
    }
    free((void *)(uintptr_t)m->stages);
    free((void *)(uintptr_t)m->stage1);
    free((void *)(uintptr_t)m->stage2);
    free((void *)(uintptr_t)m->continuation);
    free(m);
}

/* --- one input ------------------------------------------------------------------------------------------------- */

/* Units of 1, 2 or 4 bytes; four may also come as three, which are more often code points. */
static void *make_text(const uint8_t *from, size_t units, size_t width, size_t step, size_t times)
{
    uint8_t *text = exactly(units * times * width);
    size_t i;
    for (i = 0; i < units * times; i++) {
        const uint8_t *p = from + i % units * step;
        uint16_t two;
        uint32_t four;
        if (width == 1) text[i] = p[0];
        if (width == 2) two = (uint16_t)(p[0] | p[1] << 8), memcpy(text + 2 * i, &two, 2);
        if (width != 4) continue;
        four = p[0] | (uint32_t)p[1] << 8 | (uint32_t)(step == 3 ? p[2] & 0x1F : p[2]) << 16;
        if (step == 4) four |= (uint32_t)p[3] << 24;
        memcpy(text + 4 * i, &four, 4);
    }
    return text;
}

/* Feed a part that lies in memory of its size, with little room each time: how many numbers were found. */
static size_t feed_part(bitlex_stream *s, bitlex_cursor *cursor, void *scratch, const uint8_t *from, size_t units, bitlex_encoding encoding,
                        uint64_t **more, uint64_t *found)
{
    const size_t width = encoding == BITLEX_UTF8 ? 1 : (size_t)encoding, each = s->machine->drops ? 2 : 1;
    size_t done = 0, n = 0, used;
    uint8_t *part = exactly(units * width);
    memcpy(part, from, units * width);
    while (done < units) {
        const size_t room = s->count + BITLEX_STREAM_ROOM + 1 + below(3) * below(100);
        uint64_t *out = exactly(room * each * sizeof *out);
        const size_t stored = each * bitlex_stream_feed(s, cursor, scratch, part + done * width, units - done, encoding, &used, out, room);
        memcpy(found + n, out, stored * sizeof *out);
        free(out);
        n += stored;
        done += used;
        if (s->full) {
            s->room *= 2;
            s->more = *more = realloc(*more, (BITLEX_STREAM_MORE_SETS + s->room) * sizeof **more);
            if (*more == NULL) exit(2);
        } else if (used == 0) {
            fprintf(stderr, "a stream reads nothing\n");
            abort();
        }
    }
    free(part);
    return n;
}

/* Whether a stream finds other pieces than the definition, with the text cut wherever the choices say; and then in one part, begun again. */
static int check_stream(const tiered *all, const uint8_t *text, size_t units, bitlex_encoding encoding, bitlex_cursor *cursor)
{
    const size_t width = encoding == BITLEX_UTF8 ? 1 : (size_t)encoding;
    uint64_t *want = exactly((2 * units + 2) * sizeof *want), *found = exactly((2 * units + 100) * sizeof *found), *more = NULL;
    const bitlex_machine *m = all->machines + (below(2) ? all->count - 1 : 0); /* on the best tier, or as it is */
    void *scratch = NULL;
    const size_t pieces = define(m, text, units, encoding, want);
    bitlex_stream stream, moved;
    int wrong = 0, turn;
    size_t i;
    if (m->lanes != NULL && BITLEX_BLOCK >= BITLEX_LANES_FROM) scratch = exactly((size_t)bitlex_scratch_size(m, BITLEX_BLOCK));
    bitlex_begin(cursor, m, "", 0, BITLEX_UTF8, NULL);
    for (turn = 0; turn < 2; turn++) {
        const uint32_t most = turn ? 0 : below(2) ? 1 + below(40) : 1 + below(256) * below(256);
        size_t done = 0, n = 0, part;
        bitlex_stream_begin(&stream, m, more, turn && more != NULL ? stream.room - BITLEX_STREAM_OPEN : 0);
        for (; done < units; done += part) {
            part = most == 0 ? units : 1 + below(most);
            if (part > units - done) part = units - done;
            n += feed_part(&stream, cursor, scratch, text + done * width, part, encoding, &more, found + n);
            moved = stream; /* a struct like any other */
            memset(&stream, 0x55, sizeof stream);
            stream = moved;
        }
        n += (m->drops ? 2 : 1) * bitlex_stream_finish(&stream, found + n);
        wrong |= n != (m->drops ? 2 : 1) * pieces;
        for (i = 0; !wrong && i < n; i++) wrong = found[i] != want[m->drops ? i : 2 * i + 1];
    }
    free(scratch);
    free(more);
    free(found);
    free(want);
    return wrong;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const bitlex_machine *const emitted[] = {&bitlex_cl100k, &bitlex_o200k, &bitlex_clip, &bitlex_falcon};
    static const bitlex_encoding encodings[] = {BITLEX_UTF8, BITLEX_UTF8, BITLEX_LATIN1, BITLEX_UCS2, BITLEX_UCS4, BITLEX_UCS4};
    static bitlex_cursor cursor;
    static tiered kept[4]; /* emitted machines: made once */
    tiered made_now, *all = &made_now;
    const bitlex_machine *m;
    const uint8_t *choices = data + 4, *text = data + HEADER;
    bitlex_machine *made = NULL;
    bitlex_encoding encoding;
    void *copy;
    size_t left, taken = 0, width, step, units, times;
    if (size < HEADER) return 0;
    left = size - HEADER;
    if (data[0] % 8 < 4) {
        m = emitted[data[0] % 4];
        all = kept + data[0] % 4;
    } else {
        taken = data[3] < left ? data[3] : left;
        draw_from(text, taken);
        m = made = make_machine();
    }
    text += taken;
    left -= taken;
    encoding = m->continuation != NULL ? BITLEX_UTF8 : encodings[data[1] % 6];
    width = encoding == BITLEX_UTF8 ? 1 : (size_t)encoding;
    step = width == 4 && data[1] % 6 == 5 ? 3 : width;
    units = left / step;
    times = data[2] < 224 ? 1 : ((size_t)data[2] - 222) * ((size_t)data[2] - 222) * 8; /* to 8712 */
    if (units > MOST_UNITS) units = MOST_UNITS;
    if (units * times > MOST_UNITS) times = MOST_UNITS / units;
    copy = make_text(text, units, width, step, times);
    memset(&cursor, choices[0], sizeof cursor); /* whatever the caller's memory held */
    draw_from(choices, CHOICES);
    if (made != NULL || all->count == 0) on_every_tier(all, m);
    if (check(all, copy, units * times, encoding, &cursor)) {
        fprintf(stderr, "wrong pieces: machine %s, encoding %d, %lu units %lu times, %u stages, drops %u\n", m->name,
                (int)encoding, (unsigned long)units, (unsigned long)times, m->stage_count, m->drops);
        abort();
    }
    if (made == NULL && check_stream(all, copy, units * times, encoding, &cursor)) {
        fprintf(stderr, "wrong pieces in parts: machine %s, encoding %d, %lu units\n", m->name, (int)encoding, (unsigned long)(units * times));
        abort();
    }
    free(copy);
    if (made != NULL) free_tiers(all), free_machine(made);
    return 0;
}

/* --- texts ----------------------------------------------------------------------------------------------------- */

static uint64_t seed = 1;

static uint32_t random_below(uint32_t limit)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(seed >> 33) % limit;
}

/* Letters, blanks, characters of two to four bytes and what is ill-formed, of which each text has a selection. */
static void put_tokens(uint8_t *from, const uint8_t *end)
{
    static const char *const tokens[] = {
        " ", "a", "'s", "B", "7", "\n", "\r", "\t", ".", "\xC3\xA9", "\xCC\x81", "\xE4\xB8\x80", "\xE2\x80\xA8", "\xE0\xA4\x80",
        "\xF0\x9F\x98\x80", "\xF4\x90", "\xED\xA0\x80", "\xED\x9F\xBF", "\xE0\x80\x80", "\xE4\xB8", "\xF0\x9F", "\xC0", "\x80"};
    uint32_t count = sizeof tokens / sizeof tokens[0], noise = random_below(4);
    uint32_t some = random_below(count), kinds = 1 + random_below(count);
    while (from < end) {
        const char *token = tokens[(some + random_below(kinds)) % count];
        if (noise && random_below(noise == 1 ? 2 : 60) == 0) *from++ = (uint8_t)random_below(256);
        while (*token != 0 && from < end) *from++ = (uint8_t)*token++;
    }
}

#ifndef STANDALONE

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int chosen);

/* Left alone, a fuzzer hardly finds well-formed UTF-8: branches do not tell it one table entry from another. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int chosen)
{
    size_t from, to;
    seed = chosen;
    if (random_below(3) || size < HEADER || max_size <= HEADER) return LLVMFuzzerMutate(data, size, max_size);
    from = HEADER + random_below((uint32_t)(size - HEADER + 1));
    to = from + 1 + random_below(random_below(8) ? 100 : 4000);
    if (to > max_size) to = max_size;
    put_tokens(data + from, data + to);
    return to > size ? to : size;
}

#else /* without a fuzzer */

#include <time.h>

#define LONGEST 3000

static size_t random_input(uint8_t *data)
{
    size_t i, size = HEADER + random_below(random_below(4) ? 400 : LONGEST);
    put_tokens(data, data + size);
    for (i = 0; i < HEADER + 60 && i < size; i++) data[i] = (uint8_t)random_below(256);
    return size;
}

/* Inputs are copied to memory of their size, as libFuzzer does it. */
static void run(const uint8_t *data, size_t size)
{
    uint8_t *copy = exactly(size);
    memcpy(copy, data, size);
    LLVMFuzzerTestOneInput(copy, size);
    free(copy);
}

static int run_file(const char *name)
{
    static uint8_t data[1 << 20];
    FILE *file = fopen(name, "rb");
    if (file == NULL) return perror(name), 2;
    run(data, fread(data, 1, sizeof data, file));
    fclose(file);
    return 0;
}

int main(int argc, char **argv)
{
    static uint8_t data[HEADER + LONGEST];
    char *rest = argv[0];
    double seconds = argc > 1 ? strtod(argv[1], &rest) : 0;
    unsigned long inputs = 0;
    clock_t until;
    int i, failed = 0;
    if (argc < 2) return fprintf(stderr, "fuzz SECONDS [SEED], or: fuzz FILE...\n"), 2;
    if (*rest != 0) {
        for (i = 1; i < argc; i++) failed |= run_file(argv[i]);
        return failed;
    }
    if (argc > 2) seed = strtoul(argv[2], NULL, 10);
    for (until = clock() + (clock_t)(seconds * CLOCKS_PER_SEC); clock() < until; inputs++) run(data, random_input(data));
    printf("%lu inputs, no difference\n", inputs);
    return 0;
}

#endif
