/* definition.h - the definition of a lexer, as plainly as possible, and the comparison of bitlex.c with it.
 *
 * In: a machine, a text and, from whoever includes this, `below`: where choices come from. Out: whether any way of asking
 * bitlex.c for the pieces gives others. The text and all that is allocated here is allocated to the byte, for sanitizers.
 */
#ifndef DEFINITION_H
#define DEFINITION_H

#include "bitlex.h"
#include "tiered.h"

#include <stdlib.h>
#include <string.h>

static uint32_t below(uint32_t limit); /* any number under the limit */

/* --- the definition -------------------------------------------------------------------------------------------- */

/* Unicode's table of well-formed byte sequences, row by row: the longest prefix of a row that is present. */
static uint32_t define_decode(const uint8_t *p, size_t left, size_t *length)
{
    static const struct { uint8_t lead_low, lead_high, low, high, size; } rows[] = {
        {0x00, 0x7F, 0, 0, 1},          {0xC2, 0xDF, 0x80, 0xBF, 2},    {0xE0, 0xE0, 0xA0, 0xBF, 3},
        {0xE1, 0xEC, 0x80, 0xBF, 3},    {0xED, 0xED, 0x80, 0x9F, 3},    {0xEE, 0xEF, 0x80, 0xBF, 3},
        {0xF0, 0xF0, 0x90, 0xBF, 4},    {0xF1, 0xF3, 0x80, 0xBF, 4},    {0xF4, 0xF4, 0x80, 0x8F, 4}};
    static const uint8_t masks[] = {0, 0x7F, 0x1F, 0x0F, 0x07};
    size_t row, i;
    for (row = 0; row < sizeof rows / sizeof rows[0]; row++) {
        uint32_t point;
        if (p[0] < rows[row].lead_low || p[0] > rows[row].lead_high) continue;
        point = p[0] & masks[rows[row].size];
        for (i = 1; i < rows[row].size && i < left; i++) {
            if (i == 1 ? p[1] < rows[row].low || p[1] > rows[row].high : (p[i] & 0xC0) != 0x80) break;
            point = point << 6 | (p[i] & 63);
        }
        *length = i;
        return i == rows[row].size ? point : 0xFFFD;
    }
    *length = 1;
    return 0xFFFD;
}

/* The pieces of a text as pairs; their number comes back. */
static size_t define(const bitlex_machine *m, const void *text, size_t length, bitlex_encoding encoding, uint64_t *pairs)
{
    uint8_t *cell = exactly(length), *letter = exactly(length + 1), *before = exactly(length + 1);
    uint32_t *label = exactly(length * sizeof *label), stage;
    uint64_t *start = exactly((length + 1) * sizeof *start);
    size_t n = 0, at = 0, i, count = 0;
    int open = 0;
    while (at < length) {
        size_t used = 1;
        uint32_t point;
        switch (encoding) {
        case BITLEX_UTF8: point = define_decode((const uint8_t *)text + at, length - at, &used); break;
        case BITLEX_LATIN1: point = ((const uint8_t *)text)[at]; break;
        case BITLEX_UCS2: point = ((const uint16_t *)text)[at]; break;
        default: point = ((const uint32_t *)text)[at];
        }
        if (point > 0x10FFFF) point = 0xFFFD;
        cell[n] = m->stage2[((size_t)m->stage1[point >> m->shift] << m->shift) + (point & ((1u << m->shift) - 1))];
        start[n++] = at++;
        for (used--; used > 0; used--, at++) {
            if (m->continuation == NULL) continue;
            cell[n] = m->continuation[((const uint8_t *)text)[at] & 0x3F];
            start[n++] = at;
        }
    }
    start[n] = length;
    for (stage = 0; stage < m->stage_count; stage++) {
        const bitlex_stage *s = m->stages + stage;
        uint32_t state = s->backward_end;
        memcpy(before, letter, n);
        for (i = n; i-- > 0;) {
            uint32_t symbol = cell[i];
            if (stage > 0) symbol += m->cells * (before[i] + 3u * (i + 1 == n || before[i + 1] != 0));
            label[i] = s->backward_label[state + s->columns[symbol]];
            state = s->backward_next[state + s->columns[symbol]];
        }
        for (i = 0, state = 0; i < n; i++) {
            letter[i] = s->output[state + label[i]];
            state = s->forward_next[state + label[i]];
        }
    }
    for (i = 0; i < n; i++) {
        int starts = letter[i] == 1 || (i == 0 && !m->drops);
        if (open && letter[i] != 0) pairs[2 * count++ + 1] = start[i];
        if (letter[i] != 0) open = 0;
        if (starts) pairs[2 * count] = start[i];
        if (starts) open = 1;
    }
    if (open) pairs[2 * count++ + 1] = length;
    free(cell), free(letter), free(before), free(label), free(start);
    return count;
}

/* --- the parts of a text ---------------------------------------------------------------------------------------- */

/* Begin a part again, to be lexed, or to be counted and then recalled from what that kept. */
static void begin_again(bitlex_cursor *cursor, const bitlex_cut *from, const bitlex_cut *to, uint64_t *kept)
{
    uint64_t pieces = 0;
    bitlex_begin_part(cursor, from, to);
    if (kept == NULL || below(2)) return;
    bitlex_keep(cursor, kept);
    while (bitlex_count_some(cursor, below(1000), &pieces)) {}
    bitlex_begin_part(cursor, from, to);
    bitlex_recall(cursor, kept);
}

/* All parts of a text, cut wherever it can be cut among the blocks that `below` picks, and joined as bitlex.h says. */
static int check_parts(const bitlex_machine *m, const void *text, size_t length, bitlex_encoding encoding, bitlex_cursor *cursor,
                       const uint64_t *expected, size_t count)
{
    const uint64_t blocks = length / BITLEX_BLOCK + (length % BITLEX_BLOCK != 0), step = 1 + below((uint32_t)(blocks / 3 + 1));
    uint8_t *scratch = exactly((size_t)bitlex_scratch_size(m, length));
    uint64_t *kept = m->stage_count == 1 ? exactly((size_t)bitlex_kept_size(m, length)) : NULL;
    uint64_t got[2 * 200], counted = 0, block = 0, ends = 0, pairs = 0, last_end = 0;
    bitlex_cut from, to;
    int has_from = 0, has_to = 1, wrong = 0;
    bitlex_begin(cursor, m, text, length, encoding, scratch);
    for (; has_to && !wrong; from = to, has_from = 1) {
        size_t n, i;
        int first = has_from;
        for (has_to = 0; !has_to && ++block < blocks;) {
            if (below((uint32_t)step) == 0) has_to = bitlex_find_cut(cursor, block, &to);
        }
        bitlex_begin_part(cursor, has_from ? &from : NULL, has_to ? &to : NULL);
        while (bitlex_count_some(cursor, below(1000), &counted)) {}
        if (!m->drops) {
            begin_again(cursor, has_from ? &from : NULL, has_to ? &to : NULL, kept);
            while (!wrong && (n = bitlex_next(cursor, got, 1 + below(200))) != 0) {
                for (i = 0; i < n && !wrong; i++, ends++) wrong |= ends >= count || expected[2 * ends + 1] != got[i];
            }
        }
        begin_again(cursor, has_from ? &from : NULL, has_to ? &to : NULL, kept);
        while (!wrong && (n = bitlex_next_pairs(cursor, got, 1 + below(200))) != 0) {
            for (i = 0; i < n && !wrong; i++) {
                if (first && (pairs == 0 || last_end != got[2 * i])) { /* nothing is open at the cut */
                    first = 0;
                    continue;
                }
                wrong |= !first && pairs > 0 && expected[2 * pairs - 1] != last_end;
                if (!first) wrong |= pairs >= count || expected[2 * pairs] != got[2 * i];
                pairs += !first;
                last_end = got[2 * i + 1];
                first = 0;
            }
        }
    }
    free(scratch), free(kept);
    wrong |= counted != count || pairs != count || (!m->drops && ends != count);
    return wrong || (count > 0 && last_end != expected[2 * count - 1]);
}

/* --- the comparison -------------------------------------------------------------------------------------------- */

static int check_as(const bitlex_machine *m, const void *text, size_t length, bitlex_encoding encoding, bitlex_cursor *cursor,
                    const uint64_t *expected, size_t count)
{
    uint64_t got[2 * 200];
    uint32_t narrow[2 * 200];
    uint8_t *scratch = exactly((size_t)bitlex_scratch_size(m, length));
    size_t form, n, i;
    int wrong = bitlex_count(cursor, m, text, length, encoding, scratch) != count;
    for (form = 0; form < 4 && !wrong; form++) {
        size_t done = 0, pairs = form & 1, room;
        if (m->drops && !pairs) continue;
        if (form < 2) bitlex_begin(cursor, m, text, length, encoding, scratch);
        else bitlex_restart(cursor, text, length, encoding, scratch); /* which remembers what it has learned of the machine */
        for (;;) {
            room = 1 + below(below(2) ? 70 : 200);
            while (below(2) && !bitlex_ready(cursor, below(100))) {}
            if (form == 0) n = bitlex_next(cursor, got, room);
            else if (form == 1) n = bitlex_next_pairs(cursor, got, room);
            else if (form == 2) n = bitlex_next32(cursor, narrow, room);
            else n = bitlex_next_pairs32(cursor, narrow, room);
            if (n == 0 || n > room || n > count - done) break;
            for (i = 0; i < n; i++, done++) {
                if (pairs) wrong |= expected[2 * done] != (form < 2 ? got[2 * i] : narrow[2 * i]);
                wrong |= expected[2 * done + 1] != (form < 2 ? got[i * (1 + pairs) + pairs] : narrow[i * (1 + pairs) + pairs]);
            }
        }
        wrong |= n != 0 || done != count;
    }
    free(scratch);
    return wrong || check_parts(m, text, length, encoding, cursor, expected, count);
}

/* 1 + the tier that gives other pieces than the definition, or 0. */
static int check(const tiered *all, const void *text, size_t length, bitlex_encoding encoding, bitlex_cursor *cursor)
{
    const bitlex_machine *m = all->machines;
    uint64_t *expected = exactly((2 * length + 2) * sizeof *expected);
    size_t count = define(m, text, length, encoding, expected);
    int i, wrong = 0;
    for (i = 0; i < all->count && !wrong; i++) {
        if (check_as(m + i, text, length, encoding, cursor, expected, count)) wrong = 1 + all->tiers[i];
    }
    free(expected);
    return wrong;
}

#endif
