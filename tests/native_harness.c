/* native_harness.c - bitlex.c against the definition of a lexer (definition.h), on random machines.
 *
 * Random machines run over random texts in every encoding; prints the first difference and returns 1. Compile it with
 * small blocks (-DBITLEX_BLOCK=16 -DBITLEX_CHECKPOINTS=8) to cross many borders, and with sanitizers to catch every read
 * outside of the text, the tables and the cursor: all three are allocated to the byte.
 *
 *     native_harness [rounds [seed]]
 */
#include "definition.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t seed = 1;

static uint32_t below(uint32_t limit)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((seed >> 33) % limit);
}

/* --- random machines ------------------------------------------------------------------------------------------- */

static void shuffle(uint16_t *values, uint32_t count)
{
    uint32_t i;
    for (i = count; i > 1; i--) {
        uint32_t j = below(i);
        uint16_t kept = values[i - 1];
        values[i - 1] = values[j];
        values[j] = kept;
    }
}

/* next[state * columns + column]: random, or every column permutes the states (nothing is ever forgotten), or nearly. */
static uint16_t *random_next(uint32_t states, uint32_t columns)
{
    uint16_t *next = exactly(sizeof *next * states * columns), *order = exactly(sizeof *order * states);
    uint32_t s, c, kind = below(4);
    for (s = 0; s < states; s++) order[s] = (uint16_t)s;
    for (c = 0; c < columns; c++) {
        uint32_t keeps = kind == 3 ? below(8) != 0 : kind;
        if (keeps) shuffle(order, states);
        for (s = 0; s < states; s++) next[s * columns + c] = (uint16_t)((keeps ? order[s] : below(states)) * columns);
    }
    free(order);
    return next;
}

/* Nearly as patterns have it: of the states, which may be many, a symbol tells two kinds apart; or it counts. */
static uint32_t coarse(uint32_t state, uint32_t symbol, uint32_t salt, uint32_t limit)
{
    return (symbol * salt + 5 * (state >> (symbol + salt) % 6 & 1)) % limit;
}

static void coarse_stage(bitlex_stage *stage, uint32_t symbols, int letters)
{
    const uint32_t states = 1 + below(64), before = 1 + below(below(2) ? 8 : 64), labels = 1 + below(below(2) ? 12 : 60), count = 1 + below(8);
    const uint32_t salt = below(1000), counts = below(12);
    uint16_t *backward = exactly(before * count * 2), *label = exactly(before * count * 2), *forward = exactly(states * labels * 2);
    uint8_t *columns = exactly(symbols), *output = exactly(states * labels);
    uint32_t i;
    for (i = 0; i < symbols; i++) columns[i] = (uint8_t)below(count);
    for (i = 0; i < before * count; i++) {
        backward[i] = (uint16_t)((i % count == counts ? (i / count + 1) % before : coarse(i / count, i % count, salt, before)) * count);
        label[i] = (uint16_t)coarse(i / count, i % count, salt + 1, labels);
    }
    for (i = 0; i < states * labels; i++) {
        forward[i] = (uint16_t)((i % labels == counts ? (i / labels + 1) % states : coarse(i / labels, i % labels, salt, states)) * labels);
        output[i] = (uint8_t)coarse(i / labels, i % labels, salt, (uint32_t)letters);
    }
    *stage = (bitlex_stage){count, labels, before, states, columns, backward, label, forward, output, below(before) * count};
}

/* What a symbol does depends on one bit of a few that are known of the state: so tables are sums of few products (bitlex_products.h). */
static uint16_t narrow(const uint64_t *known, uint32_t bits, uint32_t state, uint32_t symbol, uint32_t salt, uint32_t limit)
{
    const uint32_t one = symbol * salt >> 2, other = symbol % 3 ? one : one + 1 + symbol / 3;
    return (uint16_t)((known[(symbol + salt) % bits] >> state & 1 ? one : other) % limit);
}

static void narrow_stage(bitlex_stage *stage, uint32_t symbols, int letters)
{
    const uint32_t large = below(4), before = 1 + below(below(3) ? 8 : 32);
    const uint32_t states = large > 2 ? 18 + below(15) : large > 0 ? 15 + large : 1 + below(16);
    const uint32_t labels = 1 + below(below(2) ? 15 : 31), count = 1 + below(below(2) ? 15 : 31), salt = 1 + below(1000);
    uint16_t *backward = exactly(before * count * 2), *label = exactly(before * count * 2), *forward = exactly(states * labels * 2);
    uint8_t *columns = exactly(symbols), *output = exactly(states * labels);
    uint64_t known[4];
    uint32_t i;
    for (i = 0; i < 4; i++) known[i] = (uint64_t)below(1u << 31) << 32 | below(1u << 31);
    for (i = 0; i < symbols; i++) columns[i] = (uint8_t)below(count);
    for (i = 0; i < before * count; i++) {
        backward[i] = (uint16_t)(narrow(known, 1 + salt % 2, i / count, i % count, salt, before) * count);
        label[i] = narrow(known, 1 + salt % 3, i / count, i % count, salt + 1, labels);
    }
    for (i = 0; i < states * labels; i++) {
        forward[i] = (uint16_t)(narrow(known, 1 + salt % 4, i / labels, i % labels, salt, states) * labels);
        output[i] = (uint8_t)narrow(known, 4, i / labels, i % labels, salt + 2, (uint32_t)letters);
    }
    *stage = (bitlex_stage){count, labels, before, states, columns, backward, label, forward, output, below(before) * count};
}

static void random_stage(bitlex_stage *stage, uint32_t symbols, int letters)
{
    uint32_t i, size, large = below(3) == 0; /* as large as machines get, and larger */
    uint8_t *columns, *output;
    uint16_t *label;
    stage->column_count = 1 + below(large ? 24 : 5);
    stage->label_count = 1 + below(large ? 40 : 6);
    stage->backward_states = below(10) ? 1 + below(large ? 20 : 6) : 60 + below(10);
    stage->forward_states = 1 + below(large ? 26 : 6);
    stage->backward_end = below(stage->backward_states) * stage->column_count;
    columns = exactly(symbols);
    for (i = 0; i < symbols; i++) columns[i] = (uint8_t)below(stage->column_count);
    size = stage->backward_states * stage->column_count;
    label = exactly(size * sizeof *label);
    for (i = 0; i < size; i++) label[i] = (uint16_t)below(stage->label_count);
    size = stage->forward_states * stage->label_count;
    output = exactly(size);
    for (i = 0; i < size; i++) output[i] = (uint8_t)(below(3) ? 0 : below((uint32_t)letters));
    stage->columns = columns;
    stage->backward_label = label;
    stage->output = output;
    stage->backward_next = random_next(stage->backward_states, stage->column_count);
    stage->forward_next = random_next(stage->forward_states, stage->label_count);
}

static bitlex_machine *random_machine(void)
{
    bitlex_machine *m = exactly(sizeof *m);
    uint32_t i, blocks, count = below(4) ? 1 : 1 + below(3);
    bitlex_stage *stages = exactly(sizeof *stages * count);
    uint16_t *stage1;
    uint8_t *stage2;
    m->abi = BITLEX_ABI;
    m->name = "random";
    m->cells = 1 + below(below(3) ? 6 : 70);
    m->shift = 5 + below(4);
    m->drops = below(2);
    m->stage_count = count;
    blocks = below(6) ? 1 + below(9) : 300; /* more rows of 64 code points than have numbers */
    stage1 = exactly(sizeof *stage1 * (0x110000u >> m->shift));
    for (i = 0; i < 0x110000u >> m->shift; i++) stage1[i] = (uint16_t)below(blocks);
    stage2 = exactly(blocks << m->shift);
    for (i = 0; i < blocks << m->shift; i++) stage2[i] = (uint8_t)below(m->cells);
    m->stage1 = stage1;
    m->stage2 = stage2;
    for (i = 0; i < count; i++) {
        void (*const make[])(bitlex_stage *, uint32_t, int) = {random_stage, random_stage, coarse_stage, narrow_stage, narrow_stage};
        make[below(5)](stages + i, m->cells * (i ? 6 : 1), m->drops || i + 1 < count ? 3 : 2);
    }
    m->stages = stages;
    m->continuation = NULL;
    m->lanes = NULL;
    if (below(4) == 0) { /* a machine that reads bytes */
        uint8_t *continuation = exactly(64);
        for (i = 0; i < 64; i++) continuation[i] = (uint8_t)below(m->cells);
        m->continuation = continuation;
    }
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

/* --- random texts ---------------------------------------------------------------------------------------------- */

static size_t put_utf8(uint8_t *to, uint32_t point)
{
    if (point < 0x80) return to[0] = (uint8_t)point, 1;
    if (point < 0x800) return to[0] = (uint8_t)(0xC0 | point >> 6), to[1] = (uint8_t)(0x80 | (point & 63)), 2;
    to[0] = (uint8_t)(0xE0 | point >> 12), to[1] = (uint8_t)(0x80 | (point >> 6 & 63)), to[2] = (uint8_t)(0x80 | (point & 63));
    if (point < 0x10000) return 3;
    to[0] = (uint8_t)(0xF0 | point >> 18), to[1] = (uint8_t)(0x80 | (point >> 12 & 63));
    return to[2] = (uint8_t)(0x80 | (point >> 6 & 63)), to[3] = (uint8_t)(0x80 | (point & 63)), 4;
}

/* A few favourites make runs; otherwise any code point, a surrogate now and then, and in UTF-8 any byte now and then. Or nothing but a few,
 * over many blocks, and in UTF-8 what is left of them, without the last byte or the first. */
static void *random_text(bitlex_encoding encoding, size_t length)
{
    static const uint32_t top[] = {0x7F, 0xFF, 0x7FF, 0xFFFF, 0x10FFFF};
    size_t width = encoding == BITLEX_UTF8 ? 1 : (size_t)encoding, i = 0;
    uint8_t *text = exactly(length * width);
    uint32_t favourite = below(0x3000), kind = below(7), dirt = below(3), few[8], count = 1 + below(8);
    for (; i < 8; i++) few[i] = below(top[below(5)] + 1);
    for (i = 0; i < length;) {
        uint32_t limit = top[kind < 5 ? kind : below(5)], point = kind && below(50) ? below(limit + 1) : favourite;
        uint8_t bytes[4];
        size_t size;
        if (below(4) && kind < 5) point = favourite;
        if (below(300) == 0) favourite = below(limit + 1);
        if (kind == 6) point = few[below(count)];
        if (kind == 6 && below(700) == 0) few[below(8)] = below(limit + 1);
        switch (encoding) {
        case BITLEX_UTF8:
            size = put_utf8(bytes, point);
            if (kind == 6) {
                if (dirt && size > 1 && below(4) == 0) size--;
                else if (dirt && size > 1 && below(4) == 0) memmove(bytes, bytes + 1, --size);
                if (size > length - i) size = length - i;
                memcpy(text + i, bytes, size);
                i += size;
                break;
            }
            if (dirt && below(dirt == 1 ? 40 : 3) == 0) bytes[below((uint32_t)size)] = (uint8_t)(below(2) ? 0x80 + below(128) : below(256));
            if (dirt && below(30) == 0) size = 1 + below((uint32_t)size);
            if (size > length - i) size = length - i;
            memcpy(text + i, bytes, size);
            i += size;
            break;
        case BITLEX_LATIN1: text[i++] = (uint8_t)point; break;
        case BITLEX_UCS2: ((uint16_t *)(void *)text)[i++] = (uint16_t)point; break;
        default: ((uint32_t *)(void *)text)[i++] = below(500) ? point : UINT32_C(0xFFFFFFFF) - below(3);
        }
    }
    return text;
}

int main(int argc, char **argv)
{
    static const bitlex_encoding encodings[] = {BITLEX_UTF8, BITLEX_UTF8, BITLEX_LATIN1, BITLEX_UCS2, BITLEX_UCS4};
    long rounds = argc > 1 ? atol(argv[1]) : 300, round;
    bitlex_cursor *cursor = exactly(bitlex_cursor_size());
    int wrong;
    if (argc > 2) seed = (uint64_t)atol(argv[2]);
    for (round = 0; round < rounds; round++) {
        bitlex_machine *m = random_machine();
        tiered all;
        uint32_t texts;
        on_every_tier(&all, m);
        for (texts = 0; texts < 6; texts++) {
            bitlex_encoding encoding = m->continuation ? BITLEX_UTF8 : encodings[below(5)];
            size_t blocks = below(3) ? below(4) : below(300), length = blocks * BITLEX_BLOCK;
            void *text;
            if (length > 20000) length %= 20000;
            length += below(2) ? below(BITLEX_BLOCK) : below(5);
            text = random_text(encoding, length);
            memset(cursor, 0xA5, bitlex_cursor_size()); /* whatever the caller's memory held */
            if ((wrong = check(&all, text, length, encoding, cursor)) != 0) {
                printf("round %ld: wrong pieces, tier %d, encoding %d, length %lu, %u stages, drops %u\n", round, wrong - 1,
                       (int)encoding, (unsigned long)length, m->stage_count, m->drops);
                return 1;
            }
            free(text);
        }
        free_tiers(&all);
        free_machine(m);
    }
    free(cursor);
    printf("%ld machines, no difference\n", rounds);
    return 0;
}
