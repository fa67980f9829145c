/* still.c - blocks that leave the backward state as it is: what bitlex_still.h takes for such, and whether it does.
 *
 * On every tier with vectors: how far the loop over known characters goes, by a plain one that compares character by character; and blanks of
 * many kinds, over many blocks, with little else, or what leaves one state as it is and not another, or is ill-formed. There pieces must be
 * those of the loop that knows nothing of this, and most of what is read backward must have been passed over. Compile it with small blocks.
 */
#include "bitlex_lanes.h"
#include "tiered.h"

#include <stdio.h>

static uint32_t seed = 1;

static uint32_t below(uint32_t limit)
{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % limit;
}

static void fail(const char *what)
{
    printf("%s, seed %lu\n", what, (unsigned long)seed);
    exit(1);
}

/* One unit, or more, of a text. */
static size_t put(uint8_t *to, uint32_t point, size_t width)
{
    const uint16_t two = (uint16_t)point;
    if (width == 4) return memcpy(to, &point, 4), 4;
    if (width == 2) return memcpy(to, &two, 2), 2;
    if (point < 0x80) return to[0] = (uint8_t)point, 1;
    if (point < 0x800) return to[0] = (uint8_t)(0xC0 | point >> 6), to[1] = (uint8_t)(0x80 | (point & 63)), 2;
    if (point < 0x10000) to[0] = (uint8_t)(0xE0 | point >> 12), to[1] = (uint8_t)(0x80 | (point >> 6 & 63)), to[2] = (uint8_t)(0x80 | (point & 63));
    if (point < 0x10000) return 3;
    to[0] = (uint8_t)(0xF0 | point >> 18), to[1] = (uint8_t)(0x80 | (point >> 12 & 63));
    return to[2] = (uint8_t)(0x80 | (point >> 6 & 63)), to[3] = (uint8_t)(0x80 | (point & 63)), 4;
}

static const uint32_t blanks[] = {' ', '\t', 0x0B, 0x85, 0xA0, 0x1680, 0x2000, 0x2003, 0x2009, 0x2028, 0x202F, 0x3000};
static const uint32_t letters[] = {' ', 'a', 0xE9, 0xA0, 0x3042, 0x3000, 0x2028, 0x1F600, 0x1F601, 0x10FFFF};

/* How far characters go that are known: exactly, but for the last 64 bytes and what is too near to the end of the text. */
static void check_bytes(const bitlex_lanes *lanes)
{
    static const size_t widths[] = {1, 1, 2, 4};
    const size_t width = widths[below(4)], most = 2000;
    const uint32_t kinds = below(BITLEX_STILL + 1);
    uint8_t *text = exactly(most + 4), *whole;
    bitlex_still still;
    size_t length = 0, known = 0, to, found, i;
    memset(&still, 0, sizeof still);
    for (; still.count < kinds; still.count++) {
        still.size[still.count] = (uint8_t)put(still.bytes[still.count], letters[below(sizeof letters / sizeof letters[0])], width);
        memset(still.mask[still.count], 0xFF, still.size[still.count]);
    }
    while (length < most) {
        const uint32_t one = below(BITLEX_STILL + 1);
        if (one < kinds) length += (memcpy(text + length, still.bytes[one], 4), still.size[one]);
        else if (below(100) == 0) length += put(text + length, letters[below(sizeof letters / sizeof letters[0])], width);
        if (below(2000) == 0) break;
        if (kinds == 0 && length > 200) break;
    }
    while (known < length) {
        for (i = 0; i < kinds && (length - known < still.size[i] || memcmp(text + known, still.bytes[i], still.size[i]) != 0); i++) {}
        if (i == kinds) break;
        known += still.size[i];
    }
    whole = exactly(length);
    memcpy(whole, text, length);
    to = below(2) ? length : below((uint32_t)length + 1) / width * width;
    while (to < known && width == 1 && (whole[to] & 0xC0) == 0x80) to++; /* where a character ends */
    if (known > to) known = to;
    found = lanes->still(&still, whole, whole + to, whole + length, width);
    if (found > known) fail("more than is known");
    if (known - found >= 64 && length - found >= 64 + 3) fail("less than is known");
    for (i = found; i < known && i > 0 && width == 1 && (whole[i] & 0xC0) == 0x80; i++) fail("the middle of a character");
    if (found % width != 0) fail("the middle of a unit");
    free(whole), free(text);
}

static size_t (*real)(const bitlex_still *still, const uint8_t *text, const uint8_t *to, const uint8_t *end, size_t width);
static uint64_t passed;

static size_t spy(const bitlex_still *still, const uint8_t *text, const uint8_t *to, const uint8_t *end, size_t width)
{
    const size_t found = real(still, text, to, end, width);
    passed += found;
    return found;
}

static size_t ends(bitlex_cursor *cursor, const bitlex_machine *m, const void *text, size_t units, bitlex_encoding encoding, uint32_t *out)
{
    void *scratch = exactly((size_t)bitlex_scratch_size(m, units));
    size_t n, done = 0;
    bitlex_begin(cursor, m, text, units, encoding, scratch);
    while ((n = bitlex_next32(cursor, out + done, 300)) != 0) done += n;
    free(scratch);
    return done;
}

/* A machine of three states, of which each change begins a piece: a line break leads to the second, an apostrophe of three bytes and 'x' to the
 * first, 'c' exchanges the second and the third, and blanks, U+FFFD and all others change nothing. */
#define CELLS 4
static const uint8_t columns[CELLS] = {0, 1, 2, 3};
static const uint16_t backward_next[3 * CELLS] = {0, 4, 0, 0, 4, 4, 0, 8, 8, 4, 0, 4}, backward_label[3 * CELLS] = {0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2};
static const uint16_t forward_next[3 * 3] = {0, 3, 6, 0, 3, 6, 0, 3, 6};
static const uint8_t output[3 * 3] = {0, 1, 1, 1, 0, 1, 1, 1, 0};
static const bitlex_stage stage = {CELLS, 3, 3, 3, columns, backward_next, backward_label, forward_next, output, 0};
static uint16_t stage1[0x110000 >> 8];
static uint8_t stage2[3 << 8];
static const bitlex_machine machine = {BITLEX_ABI, CELLS, 8, stage1, stage2, 1, 0, &stage, "still", NULL, NULL};

static void fill_machine(void)
{
    stage1[0] = 1;
    stage1[0x20] = 2;
    stage2[1 << 8 | '\n'] = 1;
    stage2[1 << 8 | 'x'] = stage2[2 << 8 | 0x19] = 2;
    stage2[1 << 8 | 'c'] = 3;
}

/* Blanks over many blocks. */
static void check_blocks(const tiered *all, int tier, bitlex_cursor *cursor)
{
    static const bitlex_encoding encodings[] = {BITLEX_UTF8, BITLEX_UTF8, BITLEX_LATIN1, BITLEX_UCS2, BITLEX_UCS4};
    static const uint32_t rare[] = {'\n', '\n', 'x', 0x2019};
    const bitlex_encoding encoding = encodings[below(5)];
    const size_t width = encoding == BITLEX_UTF8 ? 1 : (size_t)encoding, blocks = 20 + below(60), most = blocks * BITLEX_BLOCK * width;
    const uint32_t first = below(12), kinds = 1 + below(10), others = below(3), exchanges = below(2), ill = encoding == BITLEX_UTF8 && below(2);
    uint8_t *text = exactly(most + 8), *whole;
    size_t length = 0, count, i;
    uint32_t *expected, *got;
    while (length < most) {
        uint32_t point = blanks[(first + below(kinds)) % 12];
        if (exchanges && below(4) == 0) point = 'c';
        if (others && below(others == 1 ? 3000 : 300) == 0) point = rare[below(4)];
        if (ill && below(8) == 0) { /* an apostrophe without its end, or its end */
            if (below(2)) memcpy(text + length, "\xE2\x80", 2), length += 2;
            else text[length++] = 0x99;
        } else if (encoding == BITLEX_LATIN1) {
            text[length++] = (uint8_t)(point < 0x100 ? point : ' ');
        } else {
            length += put(text + length, point, width);
        }
    }
    length = length / width * width;
    whole = exactly(length);
    memcpy(whole, text, length);
    expected = exactly((length / width + 400) * sizeof *expected);
    got = exactly((length / width + 400) * sizeof *got);
    count = ends(cursor, all->machines, whole, length / width, encoding, expected);
    passed = 0;
    if (ends(cursor, all->machines + tier, whole, length / width, encoding, got) != count) fail("another number of pieces");
    for (i = 0; i < count; i++) {
        if (expected[i] != got[i]) fail("other pieces");
    }
    /* (In Latin-1 they may be of one kind, and each block the same as the one behind it.) */
    if (others + exchanges + ill == 0 && kinds > 1 && kinds <= BITLEX_STILL && encoding != BITLEX_LATIN1 && passed < length / 2) {
        fail("blanks are run through");
    }
    free(whole), free(text), free(expected), free(got);
}

int main(int argc, char **argv)
{
    bitlex_cursor *cursor = exactly(bitlex_cursor_size());
    int turns = argc > 1 ? atoi(argv[1]) : 1000, turn, tier;
    tiered all;
    fill_machine();
    on_every_tier(&all, &machine);
    for (tier = 1; tier < all.count; tier++) {
        bitlex_lanes *lanes = (bitlex_lanes *)(uintptr_t)all.machines[tier].lanes;
        if (all.tiers[tier] == BITLEX_PORTABLE) continue;
        for (turn = 0; turn < turns; turn++) check_bytes(lanes);
        real = lanes->still;
        lanes->still = spy;
        for (turn = 0; turn < turns / 4; turn++) check_blocks(&all, tier, cursor);
        printf("tier %d ", all.tiers[tier]);
    }
    printf("no difference\n");
    free_tiers(&all);
    free(cursor);
    return 0;
}
