/* tiers.c - every tier that this processor has against the loop that needs no tables of its own, on the machines that are emitted.
 *
 *     tiers tuples LENGTH    every tuple of at most LENGTH cells at every offset of a block, within texts of one character
 *     tiers alone LENGTH     the same with nothing else in the text, at every offset up to the end of the second block
 *     tiers points           every code point, in every encoding, also behind a letter, a blank and a digit
 *     tiers broken           a text of characters of one byte to four in which one byte is another, or missing: every one of them
 *     tiers runs             the same in runs of characters of two bytes, of three and of four
 *
 * In: machines, linked and listed in families.h, as X(name) a line. Out: a line for each machine and tier, or the first
 * difference and 1. Compile it with small blocks, so that borders of blocks and of lanes are met soon, and with
 * -DBITLEX_LANES_FROM=1. A cell is represented by its first code point, in short tuples by its last one, too.
 */
#include "bitlex.h"
#include "tiered.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define X(name) extern const bitlex_machine bitlex_##name;
#include "families.h"
#undef X
#define X(name) &bitlex_##name,
static const bitlex_machine *const machines[] = {
#include "families.h"
};
#undef X

#define POINTS 0x110000u
#define MOST_CELLS 256

static const char *const tier_names[] = {"portable", "neon", "avx2", "avx512"};
static const uint32_t fillers[] = {'a', ' ', '7', '\n', 0x4E00};

static const bitlex_machine *machine;
static tiered tiers;
static bitlex_cursor cursor;
static unsigned long texts;

/* Code points -> a text allocated to the byte; its length in units. A surrogate is three bytes, which are ill-formed. */
static size_t encode(const uint32_t *points, size_t n, bitlex_encoding encoding, uint8_t **text)
{
    size_t i, length = 0, width = encoding == BITLEX_UTF8 ? 1 : (size_t)encoding;
    uint8_t *buffer = exactly(4 * n);
    for (i = 0; i < n; i++) {
        uint32_t p = points[i];
        if (encoding == BITLEX_UCS4) {
            memcpy(buffer + 4 * length++, &p, 4);
        } else if (encoding == BITLEX_UCS2) {
            uint16_t unit = (uint16_t)p;
            memcpy(buffer + 2 * length++, &unit, 2);
        } else if (encoding == BITLEX_LATIN1 || p < 0x80) {
            buffer[length++] = (uint8_t)p;
        } else {
            uint32_t more = p < 0x800 ? 1 : p < 0x10000 ? 2 : 3;
            buffer[length++] = (uint8_t)(0xFF00u >> (more + 1) | p >> 6 * more);
            while (more-- > 0) buffer[length++] = (uint8_t)(0x80 | (p >> 6 * more & 63));
        }
    }
    *text = exactly(length * width);
    memcpy(*text, buffer, length * width);
    free(buffer);
    return length;
}

/* All ends, or pairs, as 32 bits, and as 64 where `wide` is room for them; their number. The first are found by a cursor
 * that is new, the others by one that remembers what it has learned of the machine. */
static size_t run(const bitlex_machine *m, const void *text, size_t length, bitlex_encoding encoding, uint32_t *narrow, uint64_t *wide)
{
    void *scratch = exactly((size_t)bitlex_scratch_size(m, length));
    const size_t each = m->drops ? 2 : 1;
    size_t n, done, again;
    bitlex_begin(&cursor, m, text, length, encoding, scratch);
    for (done = 0; done <= length; done += n) {
        n = m->drops ? bitlex_next_pairs32(&cursor, narrow + 2 * done, 300) : bitlex_next32(&cursor, narrow + done, 300);
        if (n == 0) break;
    }
    if (wide != NULL) {
        bitlex_restart(&cursor, text, length, encoding, scratch);
        for (again = 0; again <= length; again += n) {
            n = m->drops ? bitlex_next_pairs(&cursor, wide + 2 * again, 300) : bitlex_next(&cursor, wide + again, 300);
            if (n == 0) break;
        }
        if (again != done) done = length + 1; /* more than any text has */
    }
    free(scratch);
    return done * each;
}

/* `shown`, n characters or the place of a byte and the byte, is told if there is a difference. */
static void compare_text(const uint8_t *text, size_t length, bitlex_encoding encoding, const uint32_t *shown, size_t n)
{
    const size_t room = 2 * length + 1000;
    uint32_t *expected = exactly(4 * room), *narrow = exactly(4 * room);
    uint64_t *wide = exactly(8 * room);
    const size_t count = run(tiers.machines, text, length, encoding, expected, NULL);
    size_t i;
    int other;
    texts++;
    for (other = 1; other < tiers.count; other++) {
        const size_t got = run(tiers.machines + other, text, length, encoding, narrow, wide);
        for (i = 0; i < count && i < got && expected[i] == narrow[i] && expected[i] == wide[i]; i++) {}
        if (count == got && i == count) continue;
        printf("%s, %s: offset %lu of %lu (%lu without tables) differs, encoding %d, length %lu, from", machine->name,
               tier_names[tiers.tiers[other]], (unsigned long)i, (unsigned long)got, (unsigned long)count, (int)encoding,
               (unsigned long)length);
        for (i = 0; i < n && i < 40; i++) printf(" %lX", (unsigned long)shown[i]);
        printf("\n");
        exit(1);
    }
    free(expected), free(narrow), free(wide);
}

static void compare(const uint32_t *points, size_t n, bitlex_encoding encoding)
{
    uint8_t *text;
    const size_t length = encode(points, n, encoding, &text);
    compare_text(text, length, encoding, points, n);
    free(text);
}

/* In UTF-8, and where it can be, as code points of two or of four bytes. */
static void compare_encodings(const uint32_t *points, size_t n)
{
    size_t i;
    uint32_t all = 0;
    compare(points, n, BITLEX_UTF8);
    if (machine->continuation != NULL) return;
    for (i = 0; i < n; i++) all |= points[i];
    compare(points, n, all < 0x100 ? BITLEX_LATIN1 : all < 0x10000 ? BITLEX_UCS2 : BITLEX_UCS4);
}

/* --- tuples ------------------------------------------------------------------------------------------------------- */

static uint32_t cell_of(uint32_t point)
{
    const bitlex_machine *m = machine;
    return m->stage2[((uint32_t)m->stage1[point >> m->shift] << m->shift) + (point & ((1u << m->shift) - 1))];
}

/* The first, and with `last` also the last code point of every cell. */
static uint32_t representatives(uint32_t *points, int last)
{
    uint32_t first_of[MOST_CELLS], last_of[MOST_CELLS], point, cell, n = 0;
    memset(first_of, 0xFF, sizeof first_of);
    for (point = 0; point < POINTS; point++) {
        if (point >= 0xD800 && point < 0xE000) continue;
        cell = cell_of(point);
        if (first_of[cell] == UINT32_MAX) first_of[cell] = point;
        last_of[cell] = point;
    }
    for (cell = 0; cell < machine->cells; cell++) {
        if (first_of[cell] == UINT32_MAX) continue;
        points[n++] = first_of[cell];
        if (last && last_of[cell] != first_of[cell]) points[n++] = last_of[cell];
    }
    return n;
}

static size_t bytes_of(uint32_t point) { return point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4; }

static size_t common_divisor(size_t a, size_t b) { return b == 0 ? a : common_divisor(b, a % b); }

/* The tuple again and again, at a distance that has no divisor in common with a block: so it comes to lie at every offset. */
static void everywhere(const uint32_t *tuple, uint32_t k, uint32_t filler)
{
    static uint32_t points[40 * (BITLEX_BLOCK + 2)];
    uint32_t period[40], gap, i, size;
    size_t bytes, n = 0;
    for (gap = 13;; gap++) {
        size = bytes = 0;
        for (i = 0; i < k; i++) period[size++] = tuple[i];
        for (i = 0; i < gap; i++) period[size++] = filler;
        if (gap > 18) period[size++] = 'a'; /* three bytes of filler are a multiple of three in any number */
        for (i = 0; i < size; i++) bytes += bytes_of(period[i]);
        if (common_divisor(bytes, BITLEX_BLOCK) == 1) break;
    }
    for (i = 0; i < BITLEX_BLOCK + 2; i++, n += size) memcpy(points + n, period, size * sizeof *period);
    compare_encodings(points, n);
}

static void alone(const uint32_t *tuple, uint32_t k, uint32_t filler)
{
    uint32_t points[2 * BITLEX_BLOCK + 8], before, i;
    const uint32_t step = (uint32_t)bytes_of(filler), units = 2 * BITLEX_BLOCK;
    for (before = 0; before * step <= BITLEX_BLOCK + 70; before++) {
        for (i = 0; i * step < units; i++) points[i] = filler;
        memcpy(points + before, tuple, k * sizeof *tuple);
        compare(points, units / step, BITLEX_UTF8);
    }
}

static void every_tuple(uint32_t length, void (*place)(const uint32_t *tuple, uint32_t k, uint32_t filler))
{
    uint32_t points[2 * MOST_CELLS], tuple[8], count, k, i, f;
    unsigned long number, rest, all;
    for (k = 1; k <= length; k++) {
        count = representatives(points, k < 3);
        for (all = 1, i = 0; i < k; i++) all *= count;
        for (number = 0; number < all; number++) {
            for (rest = number, i = 0; i < k; i++, rest /= count) tuple[i] = points[rest % count];
            for (f = 0; f < sizeof fillers / sizeof fillers[0]; f++) place(tuple, k, fillers[f]);
        }
    }
}

/* --- what is ill-formed -------------------------------------------------------------------------------------------- */

/* Bytes at and around the limits of what may stand where. */
static const uint8_t strangers[] = {0,    'a',  0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC1,
                                    0xC3, 0xE0, 0xE3, 0xED, 0xF0, 0xF1, 0xF4, 0xF5, 0xF8, 0xFF};

/* A text with each of them at every byte from one on, or that byte left out. */
static void break_from(const uint8_t *whole, size_t length, size_t at)
{
    uint32_t shown[2];
    size_t k;
    for (; at < length; at++) {
        for (k = 0; k <= sizeof strangers; k++) {
            const int missing = k == sizeof strangers;
            uint8_t *text = exactly(length - (size_t)missing);
            memcpy(text, whole, at);
            memcpy(text + at, whole + at + missing, length - at - (size_t)missing);
            if (!missing) text[at] = strangers[k];
            shown[0] = (uint32_t)at;
            shown[1] = missing ? UINT32_MAX : text[at];
            compare_text(text, length - (size_t)missing, BITLEX_UTF8, shown, 2);
            free(text);
        }
    }
}

static uint32_t random_below(uint32_t *random, uint32_t limit)
{
    *random = *random * 1664525u + 1013904223u;
    return (*random >> 16) % limit;
}

static void every_break(void)
{
    static const uint32_t letters[] = {'a', ' ', 0xE9, 0x434, 0x3042, 0x4E00, 0xFF0C, 0x1F600, 0x20000};
    uint32_t points[200], random = 1, i;
    uint8_t *whole;
    size_t length;
    for (i = 0; i < sizeof points / sizeof points[0]; i++) points[i] = letters[random_below(&random, sizeof letters / sizeof letters[0])];
    length = encode(points, sizeof points / sizeof points[0], BITLEX_UTF8, &whole);
    break_from(whole, length, 0);
    free(whole);
}

/* The same where all characters have two bytes, three or four, behind such runs and others: of which the last reaches into the 64 bytes
 * that begin with the run. */
static void every_break_of_a_run(void)
{
    static const uint32_t letters[3][4] = {{0x80, 0xE9, 0x434, 0x7FF}, {0x800, 0x4E00, 0xD7FF, 0xFFFD}, {0x10000, 0x1F600, 0xFFFFF, 0x10FFFF}};
    uint32_t points[600], random = 1, bytes, inside, count, i;
    uint8_t *whole;
    size_t length;
    for (bytes = 2; bytes <= 4; bytes++) {
        for (inside = 0; inside < 4; inside++) {
            for (count = 0; count < 42; count++) points[count] = 0x4E00;
            points[count++] = 'a', points[count++] = 'a';
            for (i = 0; i < 32; i++) points[count++] = 0x1F600;
            for (i = 0; i < 124 + inside; i++) points[count++] = 'a';
            points[count++] = 0x1F600;
            for (i = 0; i * bytes < 4 * 64 + 140; i++) points[count++] = letters[bytes - 2][random_below(&random, 4)];
            length = encode(points, count, BITLEX_UTF8, &whole);
            break_from(whole, length, 380);
            free(whole);
        }
    }
}

/* --- code points --------------------------------------------------------------------------------------------------- */

static void every_point(uint32_t before)
{
    static uint32_t points[2 * POINTS];
    uint32_t point;
    size_t n = 0, latin = 0, narrow = 0;
    for (point = 0; point < POINTS; point++) {
        if (before) points[n++] = before;
        points[n++] = point;
        if (point == 0xFF) latin = n;
        if (point == 0xFFFF) narrow = n;
    }
    compare(points, n, BITLEX_UTF8);
    if (machine->continuation != NULL) return;
    compare(points, latin, BITLEX_LATIN1);
    compare(points, narrow, BITLEX_UCS2);
    compare(points, n, BITLEX_UCS4);
}

int main(int argc, char **argv)
{
    const uint32_t length = argc > 2 ? (uint32_t)atoi(argv[2]) : 2;
    size_t i;
    int other;
    if (argc < 2) return 2;
    for (i = 0; i < sizeof machines / sizeof machines[0]; i++) {
        machine = machines[i];
        on_every_tier(&tiers, machine);
        texts = 0;
        if (strcmp(argv[1], "tuples") == 0) every_tuple(length, everywhere);
        if (strcmp(argv[1], "alone") == 0) every_tuple(length, alone);
        if (strcmp(argv[1], "broken") == 0) every_break();
        if (strcmp(argv[1], "runs") == 0) every_break_of_a_run();
        if (strcmp(argv[1], "points") == 0) every_point(0), every_point('a'), every_point(' '), every_point('7');
        for (other = 1; other < tiers.count; other++) printf("%s %s %lu\n", machine->name, tier_names[tiers.tiers[other]], texts);
        free_tiers(&tiers);
    }
    return 0;
}
