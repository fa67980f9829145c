/* bitlex.c - the loop that runs every machine. The interface and its promises are in bitlex.h.
 *
 * A machine is two automata. One reads the text right to left and writes a label per code point; the other reads the
 * labels left to right and says where pieces start. The text is worked off in blocks of BITLEX_BLOCK units:
 *
 *     load       units -> columns (and where each code point starts, unless the block is plain)
 *     state_at   the backward state at the block's right border
 *     backward   columns -> labels
 *     forward    labels -> events (numbers of the code points at which a piece starts or stops)
 *
 * Two ideas carry the speed and the linear time.
 *
 * 1. Chains. Each pass is a chain of dependent loads, some six cycles a step, in which the processor mostly waits. So a
 *    pass is cut into four parts that run side by side. The state in which a part is entered is *guessed* by warming up
 *    over the last few code points before it (automata forget quickly), and checked when its neighbour arrives there; a
 *    part that was guessed wrong is simply run again. Lengths and warm-up are multiples of twelve, so that in a long run
 *    of equal characters even an automaton that counts modulo 2, 3, 4, 6 or 12 is guessed right. Where bitlex_accelerate has
 *    made tables for it, a step is of two code points (bitlex_pairs.h).
 *
 * 2. Looking ahead. At the border of two blocks a guess is not enough, because events are handed out before the next
 *    block is seen. There the backward automaton is started in all of its states a few code points further on; nearly
 *    always all arrive at the border in one and the same state. If not, one looks 1, 8, 64 blocks ahead. That is paid
 *    for by text already lexed; a text (or machine) that asks for more is settled once and for all: the rest of the
 *    text is run backward from its end (but for what leaves the state as it is: bitlex_still.h), and the states at
 *    the borders are kept. To keep memory fixed there are levels: the top level keeps every 2048^2th state, and finer
 *    levels are filled in, from the coarser, when the text gets there. So a text is read backward at most LEVELS + 1
 *    times, plus the share that looking ahead may spend.
 *
 * 3. Cuts. A text is shared out among threads at borders of blocks. What both automata know there is found from the text
 *    around: the backward state by looking ahead, and the forward state likewise, by looking back with a set of states. A
 *    part has the backward state at its right border for its end, so it is lexed, even one that asks for all of itself to be
 *    run backward, without a look at the rest. Where a few blocks do not decide, there is no cut.
 *
 * Rejected: allocating a state for every border (a call that can fail); reading backward from the end always (a prose
 * text would pay twice for what happens in a run of blanks).
 */
#include "bitlex_lanes.h"

#include <string.h>

#define CHAINS 4
#define PERIOD 12
#define WARMUP 36
#ifndef BITLEX_VAIN
#define BITLEX_VAIN 7        /* blocks that are not tried by a part of a machine after one that it would not do */
#endif
#define SET BITLEX_AHEAD_STATES /* machines with more states than this do not look ahead, or back */
#define ALLOWANCE (1u << 18) /* steps of looking ahead that a text may spend before it has earned them */
#define BACK 8               /* blocks to look back, at most */
#define LASTS 16             /* blocks of which lanes are guessed from the state of the border, where no state was forgotten in so much */
#define NEAR 4               /* blocks that are run backward from one state while one is from several */
#define MOST_AHEAD (BITLEX_CHECKPOINTS < 64 ? BITLEX_CHECKPOINTS : 64) /* blocks to look ahead, of which the states are kept */

#ifdef __GNUC__
#define ONCE __attribute__((cold)) /* as little code as can be */
#define APART __attribute__((noinline)) /* of what many call, there is one copy */
#else
#define ONCE
#define APART
#endif

/* --- UTF-8 ----------------------------------------------------------------------------------------------------- */

/* Decode the unit at p < end: its code point, or U+FFFD for a maximal ill-formed subsequence. Stores the length. */
uint32_t bitlex_decode(const uint8_t *p, const uint8_t *end, uint32_t *length)
{
    uint32_t lead = p[0], point, need, low = 0x80, high = 0xBF, i;
    *length = 1;
    if (lead < 0x80) return lead;
    if (lead < 0xC2 || lead > 0xF4) return 0xFFFD;
    if (lead < 0xE0) {
        need = 1;
        point = lead & 0x1F;
    } else if (lead < 0xF0) {
        need = 2;
        point = lead & 0x0F;
        if (lead == 0xE0) low = 0xA0;  /* shorter forms exist */
        if (lead == 0xED) high = 0x9F; /* surrogates */
    } else {
        need = 3;
        point = lead & 0x07;
        if (lead == 0xF0) low = 0x90;
        if (lead == 0xF4) high = 0x8F; /* beyond U+10FFFF */
    }
    for (i = 1; i <= need; i++) {
        uint32_t byte = p + i < end ? p[i] : 0; /* read once: another thread may be writing, and a point must stay a point */
        if (byte < low || byte > high) return 0xFFFD;
        point = point << 6 | (byte & 0x3F);
        *length = i + 1;
        low = 0x80;
        high = 0xBF;
    }
    return point;
}

/* How many bytes at the end are the beginning of a character: with other bytes behind them they are one. */
uint32_t bitlex_unfinished(const uint8_t *text, size_t length)
{
    uint32_t back, taken;
    for (back = 1; back <= 3 && back <= length; back++) {
        const uint8_t byte = text[length - back];
        if (byte < 0x80) return 0;
        if (byte < 0xC0) continue;
        bitlex_decode(text + length - back, text + length, &taken);
        return taken == back && back < (byte < 0xC2 ? 1u : byte < 0xE0 ? 2u : byte < 0xF0 ? 3u : byte < 0xF5 ? 4u : 1u) ? back : 0;
    }
    return 0;
}

/* The first start of a code point at or after `offset`. Only a continuation byte can be inside one, and its lead byte,
 * being no continuation, surely starts one: so three bytes of context decide, wherever in the text we are. */
APART static uint64_t end_of_character(const bitlex_cursor *c, uint64_t offset)
{
    uint64_t lead;
    uint32_t back, length;
    for (back = 0, lead = offset; back < 3 && lead > 0 && (c->text[lead] & 0xC0) == 0x80; back++) lead--;
    if (back == 0) return offset; /* the first byte of all */
    bitlex_decode(c->text + lead, c->text + c->length, &length);
    return lead + length > offset ? lead + length : offset;
}

static uint64_t border(const bitlex_cursor *c, uint64_t offset)
{
    if (offset >= c->length) return c->length;
    return c->encoding == BITLEX_UTF8 && (c->text[offset] & 0xC0) == 0x80 ? end_of_character(c, offset) : offset;
}

static uint64_t block_start(const bitlex_cursor *c, uint64_t block)
{
    return block >= c->blocks ? c->length : border(c, block * BITLEX_BLOCK);
}

/* --- text -> columns ------------------------------------------------------------------------------------------- */

/* The table of code points, copied to local variables: stores of bytes might alias anything reached by pointer, and the
 * compiler would load everything again for each code point. */
typedef struct {
    const uint16_t *stage1;
    const uint8_t *stage2, *cell_column;
    uint32_t shift, low;
} point_table;

static inline point_table table_of(const bitlex_cursor *c)
{
    point_table t;
    t.stage1 = c->machine->stage1;
    t.stage2 = c->machine->stage2;
    t.cell_column = c->cell_column;
    t.shift = c->machine->shift;
    t.low = (1u << t.shift) - 1;
    return t;
}

static inline uint32_t place_of(point_table t, uint32_t point) /* in stage2 */
{
    return ((uint32_t)t.stage1[point >> t.shift] << t.shift) + (point & t.low);
}

static inline uint8_t look_up(point_table t, uint32_t point) { return t.cell_column[t.stage2[place_of(t, point)]]; }

/* A word of eight equal bytes. */
#define EACH(byte) (~UINT64_C(0) / 255 * (byte))

int bitlex_is_ascii(const uint8_t *p, size_t length)
{
    uint64_t seen = 0, words[8];
    size_t i = 0, k;
    for (; i + 64 <= length && (seen & EACH(0x80)) == 0; i += 64) {
        memcpy(words, p + i, 64);
        for (k = 0; k < 8; k++) seen |= words[k];
    }
    for (; i + 8 <= length && (seen & EACH(0x80)) == 0; i += 8) {
        memcpy(words, p + i, 8);
        seen |= words[0];
    }
    for (; i < length && (seen & EACH(0x80)) == 0; i++) seen |= p[i];
    return (seen & EACH(0x80)) == 0;
}

/* Eight bytes, the first one lowest; where bytes are ordered so, compilers make one load of it. */
static inline uint64_t word_at(const uint8_t *p)
{
    return (uint64_t)p[0] | (uint64_t)p[1] << 8 | (uint64_t)p[2] << 16 | (uint64_t)p[3] << 24 | (uint64_t)p[4] << 32 |
           (uint64_t)p[5] << 40 | (uint64_t)p[6] << 48 | (uint64_t)p[7] << 56;
}

/* Whether 64 points lie together in stage2, and 64 times a place there is a number of 32 bits. All emitted machines are so. */
#define IS_USUAL(machine) ((machine)->shift >= 6 && (machine)->shift <= 10)

/* Whether a point of three bytes must not take three: it is below U+0800, or a surrogate. */
#define NOT_THREE(point) (UINT32_C(0x08000001) >> ((point) >> 11) & 1)

/* 0 if a word begins with two leads of three bytes, each with two continuation bytes. And the upper ten bits of these two code points,
 * 24 bits apart. */
#define NO_THREES(word) (((word) & UINT64_C(0xC0C0F0C0C0F0)) ^ UINT64_C(0x8080E08080E0))
#define ROWS_OF_THREES(word) (((word) << 6 & UINT64_C(0x3C00003C0)) | ((word) >> 8 & UINT64_C(0x3F00003F)))

/* Where stage2 has the rows of 64 points of the BMP that may take three bytes, and what a byte that begins a shorter point leads to: 64
 * times the place of its row, or of its own cell, and which bits of the next byte are added to that. */
static void prepare_rows(bitlex_cursor *c)
{
    const point_table table = table_of(c);
    const int usual = IS_USUAL(c->machine);
    uint32_t i;
    c->rowed = 1;
    for (i = 0; i < BITLEX_ROWS; i++) c->rows[i] = usual && !NOT_THREE(i << 6) ? place_of(table, i << 6) : BITLEX_NO_ROW;
    memset(c->leads, 0, sizeof c->leads); /* any byte may be asked for, by load_utf8 */
    for (i = 0; i < 128; i++) c->leads[i] = place_of(table, i) << 6;
    for (i = 0; i < 32; i++) c->leads[0xC0 + i] = place_of(table, i << 6) << 6 | 0x3F;
}

/* Time goes into instructions and mispredicted branches, so each branch decides about several code points: eight bytes
 * are checked as one word, and then taken as eight letters of ASCII, two of three bytes (or four, if the next are, too), four of one
 * or two bytes, or two of one to three, without a branch in between: words in two-byte letters with a blank after each would
 * mispredict it all the time. Points of three bytes are never put together: the upper ten bits say which row of 64 it is, and the last
 * byte is the place in it. Whatever is rarer, or ill-formed, or the end of a block, is left to bitlex_decode. A byte that is used once
 * more may have changed since: another thread may write to the text, so it is masked, or there is an entry for each byte. Rejected, as
 * no faster: to list all starts first and decode them independently (more instructions), a table of all points of two bytes, or two
 * halves of a block side by side (an eighth faster where points of two bytes follow each other, slower for all else). */
static uint32_t load_utf8(bitlex_cursor *c, uint64_t from, uint64_t to)
{
    const point_table table = table_of(c);
    const uint8_t *start = c->text + from, *p = start, *stop = c->text + to, *end = c->text + c->length;
    const uint8_t *direct = c->direct, *stage2 = table.stage2, *cell_column = table.cell_column;
    const uint32_t *rows = c->rows, *leads = c->leads;
    const int usual = IS_USUAL(c->machine);
    uint8_t *column = c->columns;
    uint16_t *unit = c->units;
    uint32_t n = 0, point, length, i;
    if (!c->rowed) prepare_rows(c);
    while (p < stop) {
        uint32_t at = (uint32_t)(p - start);
        if (stop - p >= 14) {
            uint64_t word = word_at(p), high = word & EACH(0x80), lead = high & word << 1, lead3, poor;
            if (NO_THREES(word) == 0) {
                const uint64_t after = word_at(p + 6), upper = ROWS_OF_THREES(word), upper_after = ROWS_OF_THREES(after);
                const size_t row0 = rows[upper & 0x3FF], row1 = rows[upper >> 24];
                if (NO_THREES(after) == 0) {
                    const size_t row2 = rows[upper_after & 0x3FF], row3 = rows[upper_after >> 24];
                    if (((row0 | row1 | row2 | row3) & BITLEX_NO_ROW) == 0) {
                        column[n] = cell_column[stage2[row0 + (p[2] & 0x3F)]];
                        column[n + 1] = cell_column[stage2[row1 + (p[5] & 0x3F)]];
                        column[n + 2] = cell_column[stage2[row2 + (p[8] & 0x3F)]];
                        column[n + 3] = cell_column[stage2[row3 + (p[11] & 0x3F)]];
                        for (i = 0; i < 4; i++) unit[n + i] = (uint16_t)(at + 3 * i);
                        n += 4;
                        p += 12;
                        continue;
                    }
                } else if (((row0 | row1) & BITLEX_NO_ROW) == 0) {
                    column[n] = cell_column[stage2[row0 + (p[2] & 0x3F)]];
                    column[n + 1] = cell_column[stage2[row1 + (p[5] & 0x3F)]];
                    unit[n] = (uint16_t)at;
                    unit[n + 1] = (uint16_t)(at + 3);
                    n += 2;
                    p += 6;
                    continue;
                }
            }
            if (high == 0) {
                for (i = 0; i < 8; i++) {
                    unit[n + i] = (uint16_t)(at + i);
                    column[n + i] = direct[p[i]];
                }
                n += 8;
                p += 8;
                continue;
            }
            /* Continuation bytes are just where leads of two bytes ask for them; no lead is E0 or above; none is C0 or C1. */
            poor = lead & ~((word & EACH(0x1E)) + EACH(0x7E));
            if (((high ^ lead ^ lead << 8) | (lead & word << 2) | poor) == 0 && usual) {
                for (i = 0; i < 4; i++) {
                    const uint32_t first = leads[word & 0xFF];
                    unit[n + i] = (uint16_t)at;
                    column[n + i] = cell_column[stage2[(first >> 6) + (first & 0x3F & (uint32_t)(word >> 8))]];
                    at += 1 + (uint32_t)(word >> 7 & 1);
                    word = word & 0x80 ? word >> 16 : word >> 8; /* no branch, but a conditional move: all wait for it */
                }
                n += 4;
                p = start + at;
                continue;
            }
            lead3 = lead & word << 2; /* the same with leads of three, in the six bytes that two code points may take */
            if (((high ^ lead ^ lead << 8 ^ lead3 << 16) | (lead3 & word << 3) | (poor & ~lead3)) << 16 == 0) {
                uint32_t ill = 0;
                for (i = 0; i < 2; i++) {
                    uint32_t low = (uint32_t)word, two = low >> 7 & 1, three = ((low & 0xFF) + 0x20) >> 8;
                    point = (low & 0x7Fu >> 2 * two) << 12 | (low >> 2 & 0x0FC0) | (low >> 16 & 0x3F);
                    point >>= 12 - 6 * (two + three);
                    ill |= three & NOT_THREE(point);
                    unit[n + i] = (uint16_t)at;
                    column[n + i] = look_up(table, point);
                    word >>= 8 * (1 + two + three);
                    at += 1 + two + three;
                }
                if (!ill) {
                    n += 2;
                    p = start + at;
                    continue;
                }
            }
        }
        unit[n] = (uint16_t)(p - start);
        column[n++] = look_up(table, bitlex_decode(p, end, &length));
        p += length;
    }
    return n;
}

#include "bitlex_pairs.h"

static int has_pairs(const bitlex_cursor *c) { return c->machine->lanes != NULL && c->machine->lanes->pairs.row != 0; }

/* For a machine that reads bytes: give every byte of n code points a column of its own. Works from the right, in place. */
static uint32_t spread(bitlex_cursor *c, uint64_t from, uint32_t n, uint32_t bytes)
{
    const uint8_t *text = c->text + from, *continuation = c->machine->continuation, *cell_column = c->cell_column;
    uint32_t at = bytes;
    while (n-- > 0) {
        uint8_t first = c->columns[n];
        while (--at > c->units[n]) c->columns[at] = cell_column[continuation[text[at] & 0x3F]];
        c->columns[at] = first;
    }
    c->plain = 1;
    return bytes;
}

/* Fill columns (and units, unless every unit is a code point) for the text from..to; both are borders. */
static uint32_t load(bitlex_cursor *c, uint64_t from, uint64_t to)
{
    const point_table table = table_of(c);
    uint8_t *column = c->columns;
    uint32_t n = (uint32_t)(to - from), i, k, point;
    c->plain = 1;
    if (c->encoding == BITLEX_UCS2) {
        const uint16_t *p = (const uint16_t *)(const void *)c->text + from;
        for (i = 0; i < n; i++) column[i] = look_up(table, p[i]);
    } else if (c->encoding == BITLEX_UCS4) {
        const uint32_t *p = (const uint32_t *)(const void *)c->text + from;
        for (i = 0; i < n; i++) {
            point = p[i] > 0x10FFFF ? 0xFFFD : p[i];
            column[i] = look_up(table, point);
        }
    } else if (c->encoding == BITLEX_LATIN1 || bitlex_is_ascii(c->text + from, n)) {
        const uint8_t *p = c->text + from, *direct = c->direct;
        for (i = 0; i + 8 <= n; i += 8) { /* unrolled: else its speed is a matter of where the compiler puts it */
            for (k = 0; k < 8; k++) column[i + k] = direct[p[i + k]];
        }
        for (; i < n; i++) column[i] = direct[p[i]];
    } else {
        c->plain = 0;
        i = has_pairs(c) && BITLEX_BLOCK >= CHUNK && n >= LEAST_WALKS ? load_by_walks(c, c->text + from, n, c->length - to) : 0;
        n = i > 0 ? i : load_utf8(c, from, to);
        if (c->machine->continuation != NULL) n = spread(c, from, n, (uint32_t)(to - from));
    }
    if (c->stage_number > 0) { /* what was stored are cells; add what the stage before put out here and next */
        const uint8_t *letter = c->letters + from;
        for (i = 0; i < n; i++) {
            uint32_t here = c->plain ? i : c->units[i];
            uint64_t next = i + 1 == n ? to - from : c->plain ? i + 1 : c->units[i + 1];
            uint32_t starts = from + next == c->length || letter[next] != 0;
            column[i] = c->stage->columns[column[i] + c->machine->cells * (letter[here] + 3 * starts)];
        }
    }
    return n;
}

/* --- columns -> labels ----------------------------------------------------------------------------------------- */

#define BACKWARD_STEP(state, place) (at = state + column[place], labels[place] = label[at], state = next[at])

static uint32_t backward_chain(const bitlex_cursor *c, uint16_t *labels, size_t from, size_t to, uint32_t state)
{
    const uint16_t *next = c->stage->backward_next, *label = c->stage->backward_label;
    const uint8_t *column = c->columns;
    uint32_t at;
    while (to-- > from) BACKWARD_STEP(state, to);
    return state;
}

/* Label all n loaded code points, entering from the right in `state`; the state on the left comes back. */
static uint32_t backward(bitlex_cursor *c, uint32_t n, uint32_t state)
{
    const uint16_t *next = c->stage->backward_next, *label = c->stage->backward_label;
    const size_t part = n / (CHAINS * PERIOD) * PERIOD; /* size_t: gcc 12.2 -O2 miscompiles the loop below with uint32_t */
    size_t i;
    uint32_t at, s0, s1, s2, s3 = state, guess0, guess1, guess2;
    const uint8_t *column = c->columns;
    uint16_t *labels = c->labels;
    if (part <= WARMUP) return backward_chain(c, labels, 0, n, state);
    s0 = s1 = s2 = s3 = backward_chain(c, labels, CHAINS * part, n, state);
    for (i = part + WARMUP; i-- > part;) {
        s0 = next[s0 + column[i]];
        s1 = next[s1 + column[i + part]];
        s2 = next[s2 + column[i + part * 2]];
    }
    guess0 = s0;
    guess1 = s1;
    guess2 = s2;
    for (i = part; i-- > 0;) {
        BACKWARD_STEP(s0, i);
        BACKWARD_STEP(s1, i + part);
        BACKWARD_STEP(s2, i + part * 2);
        BACKWARD_STEP(s3, i + part * 3);
    }
    if (s3 != guess2) s2 = backward_chain(c, labels, part * 2, part * 3, s3);
    if (s2 != guess1) s1 = backward_chain(c, labels, part, part * 2, s2);
    if (s1 != guess0) s0 = backward_chain(c, labels, 0, part, s1);
    return s0;
}

/* --- looking ahead --------------------------------------------------------------------------------------------- */

/* Leave out states that are there already; how many are left. */
static uint32_t distinct(uint16_t *set, uint32_t size)
{
    uint32_t i, j, kept = 0, others = 0;
    for (i = 1; i < size; i++) others |= (uint32_t)(set[i] ^ set[0]);
    if (others == 0) return size > 0; /* as most often, in texts */
    for (i = 0; i < size; i++) {
        for (j = 0; j < kept && set[j] != set[i]; j++) {}
        if (j == kept) set[kept++] = set[i];
    }
    return kept;
}

/* Run a set of states backward over n loaded code points; returns how many distinct ones are left. */
static uint32_t narrow(bitlex_cursor *c, uint16_t *set, uint32_t size, uint32_t n)
{
    const uint16_t *next = c->stage->backward_next;
    uint32_t i, differ;
    while (n > 0 && size > 1) {
        uint32_t column = c->columns[--n];
        c->looked += size;
        for (i = 0, differ = 0; i < size; i++) {
            set[i] = next[set[i] + column];
            differ |= (uint32_t)(set[i] ^ set[0]);
        }
        if (!differ) size = 1;
        if (size > 1 && n % 8 == 0) size = distinct(set, size);
    }
    if (n > 0) set[0] = (uint16_t)backward(c, n, set[0]);
    return size;
}

/* Run a set of states backward over the text from..to, a block at most; returns how many distinct ones are left. Overwrites what was
 * loaded. */
static uint32_t narrow_part(bitlex_cursor *c, uint64_t from, uint64_t to, uint16_t *set, uint32_t size)
{
    const bitlex_lanes *lanes = c->machine->lanes;
    const uint32_t columns = c->stage->column_count, width = c->encoding == BITLEX_UTF8 ? 1 : c->encoding;
    uint64_t near = to;
    uint8_t states[SET];
    uint32_t i;
    if (c->memory == NULL || lanes->part != NULL || to - from < BITLEX_LANES_FROM || size > SET) {
        c->looked += to - from;
        return narrow(c, set, size, load(c, from, to));
    }
    c->looked += (to - from) / 4; /* so much faster that is */
    if (size > 1) { /* a few code points one by one: of many states, few are left then */
        near = to - from > 16 ? border(c, to - 16) : from;
        size = distinct(set, narrow(c, set, size, load(c, near, to)));
    }
    if (near == from) return size;
    for (i = 0; i < size; i++) states[i] = (uint8_t)(set[i] / columns);
    lanes->peek(lanes, c->memory, c->text + from * width, c->text + c->readable * width, c->encoding, (uint32_t)(near - from), states, size);
    for (i = 0; i < size; i++) set[i] = (uint16_t)(states[i] * columns);
    return distinct(set, size);
}

static uint32_t narrow_block(bitlex_cursor *c, uint64_t block, uint16_t *set, uint32_t size)
{
    return narrow_part(c, block_start(c, block), block_start(c, block + 1), set, size);
}

static uint32_t backward_block(bitlex_cursor *c, uint64_t block, uint32_t state)
{
    uint16_t set[1];
    set[0] = (uint16_t)state;
    narrow_block(c, block, set, 1);
    return set[0];
}

/* The backward state at the end of the text, or of what is read of one that goes on. */
static uint32_t state_at_end(const bitlex_cursor *c) { return c->goes_on ? c->stop_state : c->stage->backward_end; }

/* Whatever the backward state at an offset may be: one, at the end of the text. */
static uint32_t every_state(const bitlex_cursor *c, uint16_t *set, uint64_t at)
{
    uint32_t i, columns = c->stage->column_count;
    if (at == c->length) {
        set[0] = (uint16_t)state_at_end(c);
        return 1;
    }
    for (i = 0; i < c->stage->backward_states; i++) set[i] = (uint16_t)(i * columns);
    return i;
}

#include "bitlex_still.h"

/* The state at the start of block number `wanted`, from the end of the text, or of the part. Borders are counted from exact_from, where
 * this began; entry i of a level belongs to border (i + 1) * stride within the level's present region. */
static uint32_t exact_state(bitlex_cursor *c, uint64_t wanted)
{
    uint64_t total = c->stop - c->exact_from, place = wanted - c->exact_from, stride[BITLEX_LEVELS + 1], at, low, high;
    uint32_t state, entered;
    uint16_t set[1];
    bitlex_still still;
    int level;
    for (stride[0] = 1, level = 0; level < BITLEX_LEVELS; level++) stride[level + 1] = stride[level] * BITLEX_CHECKPOINTS;
    for (level = BITLEX_LEVELS - 1; level >= 0; level--) {
        uint64_t region = (place - 1) / stride[level + 1];
        if (c->region[level] == region + 1) continue;
        if (level > 0 && ((place - 1) / stride[level] + 1) * stride[level] >= total) continue; /* the finer level reaches the end */
        c->region[level] = region + 1;
        low = region * stride[level + 1];
        high = low + stride[level + 1];
        if (high >= total || level == BITLEX_LEVELS - 1) {
            high = total;
            state = c->stop_state;
        } else {
            state = c->checkpoints[level + 1][region % BITLEX_CHECKPOINTS];
        }
        for (at = high, entered = UINT32_MAX;; at--) {
            if (at % stride[level] == 0) {
                c->checkpoints[level][(at / stride[level] - 1) % BITLEX_CHECKPOINTS] = (uint16_t)state;
                if (at == low + stride[level]) break;
            }
            /* After a block that left the state as it was, the next may do so, too, as in a run of blanks. */
            set[0] = (uint16_t)state;
            if (state != entered) still.count = 0;
            else if (is_still(c, c->exact_from + at - 1, &still, set, 1)) continue;
            entered = state;
            state = backward_block(c, c->exact_from + at - 1, state);
        }
    }
    return c->checkpoints[0][(place - 1) % BITLEX_CHECKPOINTS];
}

/* The same for a machine of too many states: from the first code point that leads to one state whatever is behind it. */
static int look_for_reset(bitlex_cursor *c, uint64_t wanted, uint32_t *state)
{
    const bitlex_lanes *lanes = c->machine->lanes;
    const uint64_t from = block_start(c, wanted);
    uint64_t ahead;
    uint32_t n, i;
    if (lanes == NULL || lanes->resets == NULL) return 0;
    for (ahead = 4; ahead <= 1024 && ahead < BITLEX_BLOCK; ahead *= 4) {
        const uint64_t to = border(c, from + ahead);
        n = load(c, from, to);
        for (i = 0; i < n && lanes->resets[c->columns[i]] == UINT16_MAX; i++) {}
        if (i == n && to < c->length) continue;
        *state = backward(c, i, i < n ? lanes->resets[c->columns[i]] : state_at_end(c));
        return 1;
    }
    return 0;
}

/* Find the backward state at the start of block number `wanted` (never the first) from the text that follows: a few code
 * points of it, then up to `most` blocks, as far as the allowance goes. 1 if it is found. Overwrites what was loaded. */
static int look_ahead(bitlex_cursor *c, uint64_t wanted, uint64_t most, uint32_t *state)
{
    uint64_t from = block_start(c, wanted), to, block, ahead, last;
    uint32_t size, entered_size;
    uint16_t set[SET], entered[SET];
    bitlex_still still;
    int same; /* whether the block behind left the states as they were */
    if (c->stage->backward_states > SET) return look_for_reset(c, wanted, state);
    for (ahead = 4; ahead <= (c->memory != NULL ? 1024u : 256u) && ahead < BITLEX_BLOCK; ahead *= 4) {
        /* Vectors look at more in less time; where 64 did not tell of late, at once. */
        if (c->memory != NULL && ahead == 256) continue;
        if (c->memory != NULL && ahead == 64 && c->memory->far > 0) {
            c->memory->far--;
            continue;
        }
        to = border(c, from + ahead);
        size = every_state(c, set, to);
        if ((ahead <= 256 ? narrow(c, set, size, load(c, from, to)) : narrow_part(c, from, to, set, size)) == 1) return *state = set[0], 1;
        if (ahead < 64 || c->memory == NULL) continue;
        c->memory->far = 16;
        if (c->memory->doubts[0].lasting < LASTS) c->memory->doubts[0].lasting = LASTS;
    }
    /* A few blocks; or all that are left, if that takes no longer: there is one state at the end, and not several. */
    for (ahead = 1; ahead <= most; ahead *= 8) {
        last = c->stop - wanted <= NEAR * ahead ? c->stop : wanted + ahead;
        if (last - wanted > MOST_AHEAD) break;
        size = every_state(c, set, block_start(c, last));
        if (last == c->stop && size > 1) size = (set[0] = (uint16_t)c->stop_state, 1);
        c->known_from = wanted;
        c->known_to = 0;
        for (block = last, same = 0; block-- > wanted;) {
            if (c->looked > c->base + ALLOWANCE) break;
            if (!same) still.count = 0;
            if (!same || !is_still(c, block, &still, set, size)) { /* as in exact_state */
                memcpy(entered, set, size * sizeof *set);
                entered_size = size;
                size = narrow_block(c, block, set, size);
                same = size == entered_size && memcmp(entered, set, size * sizeof *set) == 0;
            }
            if (size > 1) continue;
            if (c->known_to == 0) c->known_to = block + 1;
            c->checkpoints[0][block - wanted] = set[0];
            if (block == wanted) return *state = set[0], 1;
        }
        c->known_to = 0;
        if (c->looked > c->base + ALLOWANCE) break;
    }
    return 0;
}

/* The backward state at the start of block number `wanted` (never the first). Overwrites what was loaded. */
static uint32_t state_at(bitlex_cursor *c, uint64_t wanted)
{
    uint32_t state;
    if (wanted == c->stop) return c->stop_state;
    if (block_start(c, wanted) == c->length) return state_at_end(c);
    if (c->exact) return exact_state(c, wanted);
    if (wanted >= c->known_from && wanted < c->known_to) return c->checkpoints[0][wanted - c->known_from];
    if (look_ahead(c, wanted, MOST_AHEAD, &state)) return state;
    c->exact = 1;
    c->exact_from = wanted - 1;
    return exact_state(c, wanted);
}

/* --- labels -> events ------------------------------------------------------------------------------------------ */

/* An event is the number of a code point; for a machine that drops, twice that, plus one if the code point is dropped. */
#define EVENT(place, letter) ((uint16_t)(drops ? (place) << 1 | (letter) >> 1 : (place)))
#define COUNTS(letter) (drops ? ((letter) + 1u) >> 1 : (letter))

/* The event is always stored, and kept only if it counts: no branch to mispredict. */
#define FORWARD_STEP(state, event, place) \
    (at = state + labels[place], letter = output[at], state = next[at], *event = EVENT(place, letter), event += COUNTS(letter))

static uint32_t forward_chain(const bitlex_cursor *c, size_t from, size_t to, uint32_t state, uint16_t **events, int drops)
{
    const uint16_t *next = c->stage->forward_next, *labels = c->labels;
    const uint8_t *output = c->stage->output;
    uint16_t *event = *events;
    uint32_t at, letter;
    for (; from < to; from++) FORWARD_STEP(state, event, from);
    *events = event;
    return state;
}

static uint16_t *join(uint16_t *to, const uint16_t *from, const uint16_t *end)
{
    memmove(to, from, (size_t)(end - from) * sizeof *to);
    return to + (end - from);
}

/* Turn n labels into events. `drops` is a constant where this is called, so that there are two copies of it. */
static inline void forward(bitlex_cursor *c, uint32_t n, int drops)
{
    const uint16_t *next = c->stage->forward_next, *labels = c->labels;
    const uint8_t *output = c->stage->output;
    size_t part = n / (CHAINS * PERIOD) * PERIOD, i;
    uint32_t at, letter, s0 = c->forward, s1 = s0, s2 = s0, s3 = s0, guess1, guess2, guess3;
    uint16_t *first = c->events, *event0 = first, *event1 = first + part, *event2 = event1 + part, *event3 = event2 + part;
    if (part > WARMUP) {
        for (i = part - WARMUP; i < part; i++) {
            s1 = next[s1 + labels[i]];
            s2 = next[s2 + labels[i + part]];
            s3 = next[s3 + labels[i + part * 2]];
        }
        guess1 = s1;
        guess2 = s2;
        guess3 = s3;
        for (i = 0; i < part; i++) {
            FORWARD_STEP(s0, event0, i);
            FORWARD_STEP(s1, event1, i + part);
            FORWARD_STEP(s2, event2, i + part * 2);
            FORWARD_STEP(s3, event3, i + part * 3);
        }
        if (s0 != guess1) s1 = forward_chain(c, part, part * 2, s0, (event1 = first + part, &event1), drops);
        if (s1 != guess2) s2 = forward_chain(c, part * 2, part * 3, s1, (event2 = first + part * 2, &event2), drops);
        if (s2 != guess3) s3 = forward_chain(c, part * 3, part * 4, s2, (event3 = first + part * 3, &event3), drops);
        event0 = join(event0, first + part, event1);
        event0 = join(event0, first + part * 2, event2);
        event0 = join(event0, first + part * 3, event3);
    } else {
        part = 0;
    }
    c->forward = forward_chain(c, part * CHAINS, n, s3, &event0, drops);
    c->count = (uint32_t)(event0 - first);
    c->taken = 0;
}

/* --- the cursor ------------------------------------------------------------------------------------------------ */

/* The block from..to by vector instructions: fills words of bits. 0 where nothing is done. */
static int run_lanes(bitlex_cursor *c, uint64_t from, uint64_t to, uint32_t backward)
{
    const bitlex_lanes *lanes = c->machine->lanes;
    const uint32_t width = c->encoding == BITLEX_UTF8 ? 1 : c->encoding;
    uint32_t forward = c->forward / c->stage->label_count;
    if (c->memory->vain > 0) {
        c->memory->vain--;
        return 0;
    }
    if (!lanes->block(lanes, c->memory, c->text + from * width, c->text + c->readable * width, c->encoding, (uint32_t)(to - from),
                      backward / c->stage->column_count, &forward)) {
        c->memory->vain = BITLEX_VAIN;
        return 0;
    }
    c->forward = forward * c->stage->label_count;
    c->masked = 1;
    c->word = c->taken = 0;
    c->words = c->memory->words;
    c->starts = c->memory->starts;
    c->drops = c->memory->drops;
    c->count = c->memory->started + c->memory->dropped;
    return 1;
}

/* --- blocks that are kept: their base, their number of events with that of words in use, and a bit for each event ---- */

#define KEPT_WORDS ((BITLEX_BLOCK + 3) / 64 + 1) /* its last character may end three bytes behind the block */
#define KEPT_HEAD 2

static uint64_t kept_block_words(const bitlex_machine *m) { return KEPT_HEAD + KEPT_WORDS * (UINT64_C(1) + (m->drops != 0)); }

/* The block that was just lexed. */
static void keep_block(const bitlex_cursor *c)
{
    uint64_t *kept = c->kept + c->block * kept_block_words(c->machine), *starts = kept + KEPT_HEAD, *drops = starts + KEPT_WORDS;
    const uint32_t may_drop = c->machine->drops != 0, words = c->masked && c->words < KEPT_WORDS ? c->words : KEPT_WORDS;
    uint32_t i;
    kept[0] = c->base;
    kept[1] = c->count | (uint64_t)words << 32;
    if (c->masked) {
        memcpy(starts, c->starts, words * sizeof *starts);
        if (may_drop) memcpy(drops, c->drops, words * sizeof *drops);
        return;
    }
    memset(starts, 0, words * sizeof *starts);
    if (may_drop) memset(drops, 0, words * sizeof *drops);
    for (i = 0; i < c->count; i++) {
        const uint32_t drop = may_drop & c->events[i], point = c->events[i] >> may_drop, unit = c->plain ? point : c->units[point];
        (drop ? drops : starts)[unit / 64] |= UINT64_C(1) << unit % 64;
    }
}

/* The next block, from what was kept of it. */
static void recall_block(bitlex_cursor *c)
{
    uint64_t *kept = c->kept + c->block * kept_block_words(c->machine);
    c->base = kept[0];
    c->next = block_start(c, c->block + 1);
    c->count = (uint32_t)kept[1];
    c->words = (uint32_t)(kept[1] >> 32);
    c->masked = 1;
    c->word = c->taken = 0;
    c->starts = kept + KEPT_HEAD;
    c->drops = c->starts + KEPT_WORDS;
}

/* So many units at once, if there are vector instructions for that: 1, or 0 where nothing is done. */
static int run_whole(bitlex_cursor *c, const uint8_t *units, bitlex_units kind, uint32_t n, uint32_t backward)
{
    const bitlex_lanes *lanes = c->machine->lanes;
    uint32_t forward = c->forward / c->stage->label_count, count;
    if (lanes == NULL || lanes->whole == NULL || n >= BITLEX_LANES_FROM) return 0;
    if (n < (kind == BITLEX_COLUMNS ? 2 * BITLEX_WHOLE_FROM : BITLEX_WHOLE_FROM)) return 0; /* columns were stored one by one: vectors would wait */
    count = lanes->whole(c, units, kind, n, backward / c->stage->column_count, &forward);
    if (count == BITLEX_NOT_DONE) return 0;
    c->forward = forward * c->stage->label_count;
    c->count = count;
    c->taken = 0;
    return 1;
}

/* The same of the text from..to. */
static int run_bytes(bitlex_cursor *c, uint64_t from, uint64_t to, uint32_t backward)
{
    c->plain = 1;
    if (to - from < BITLEX_WHOLE_FROM || c->encoding > BITLEX_LATIN1) return 0;
    if (c->encoding == BITLEX_UTF8 && to - from < 2 * BITLEX_WHOLE_FROM && (c->text[from] | c->text[to - 1]) >= 0x80) return 0;
    if (c->machine->continuation != NULL && !bitlex_is_ascii(c->text + from, (size_t)(to - from))) return 0;
    return run_whole(c, c->text + from, c->encoding == BITLEX_LATIN1 ? BITLEX_POINTS : BITLEX_BYTES, (uint32_t)(to - from), backward);
}

/* Lex the next block: fills words of bits, or events and units. It starts where the one before ended, also if another thread has written to
 * the text since: or places would not be in order. */
static void lex_block(bitlex_cursor *c, int drops)
{
    const uint64_t from = c->next, to = block_start(c, c->block + 1);
    uint32_t state, n;
    c->next = to;
    c->base = c->origin + from;
    c->masked = 0;
    state = state_at(c, c->block + 1);
    if (c->memory != NULL && to - from >= BITLEX_LANES_FROM && run_lanes(c, from, to, state)) return;
    if (run_bytes(c, from, to, state)) return;
    n = load(c, from, to);
    if (run_whole(c, c->columns, BITLEX_COLUMNS, n, state)) return;
    if (has_pairs(c)) {
        run_pairs(c, n, state);
        return;
    }
    backward(c, n, state);
    if (drops) {
        forward(c, n, 1);
    } else {
        forward(c, n, 0);
    }
}

static void advance(bitlex_cursor *c, int drops)
{
    if (c->known) {
        recall_block(c);
    } else {
        lex_block(c, drops);
        if (c->kept != NULL) keep_block(c);
    }
    c->block++;
}

/* What there is to look up U+0000..U+00FF. In UTF-8 the upper half serves only bytes that another thread writes as we read. */
static void prepare_stage(bitlex_cursor *c, uint32_t number)
{
    uint32_t i;
    c->stage_number = number;
    c->stage = c->machine->stages + number;
    c->cell_column = number == 0 ? c->stage->columns : c->identity;
    for (i = 0; number > 0 && i < 256; i++) c->identity[i] = (uint8_t)i;
    for (i = 0; i < 256; i++) c->direct[i] = look_up(table_of(c), i);
}

/* Go to the start of block number `from`, and stop at that of `stop`, where the backward state is known. */
static void begin_blocks(bitlex_cursor *c, uint64_t from, uint32_t forward, uint64_t stop, uint32_t stop_state)
{
    uint32_t i;
    for (i = 0; i < BITLEX_LEVELS; i++) c->region[i] = 0;
    c->block = from;
    c->stop = stop;
    c->stop_state = stop_state;
    c->next = from == 0 ? 0 : block_start(c, from);
    c->base = c->looked = c->origin + c->next;
    c->known_from = c->known_to = 0;
    c->forward = forward;
    c->count = c->taken = c->exact = 0;
}

void bitlex_restart(bitlex_cursor *c, const void *text, uint64_t length, bitlex_encoding encoding, void *scratch)
{
    const bitlex_machine *m = c->machine;
    c->text = (const uint8_t *)text;
    c->letters = (uint8_t *)scratch;
    c->kept = NULL;
    c->known = 0;
    c->memory = NULL;
    if (has_vectors(m) && length >= BITLEX_LANES_FROM && scratch != NULL) c->memory = bitlex_memory_in(scratch);
    c->length = c->readable = length;
    c->blocks = length / BITLEX_BLOCK + (length % BITLEX_BLOCK != 0);
    c->encoding = (uint32_t)encoding;
    c->origin = c->open = 0;
    c->goes_on = 0;
    c->opened = !m->drops && length > 0; /* in a text that is tiled the start at offset 0 goes without saying */
    c->finished = 0;
    if (c->stage_number > 0) prepare_stage(c, 0);
    begin_blocks(c, 0, 0, c->blocks, c->stage->backward_end);
}

void bitlex_begin(bitlex_cursor *c, const bitlex_machine *m, const void *text, uint64_t length, bitlex_encoding encoding,
                  void *scratch)
{
    c->machine = m;
    c->rowed = 0;
    if (has_vectors(m)) bitlex_forget(&c->recent);
    prepare_stage(c, 0);
    bitlex_restart(c, text, length, encoding, scratch);
}

static uint64_t place(const bitlex_cursor *c, uint32_t point)
{
    return c->base + (c->plain ? point : c->units[point]);
}

/* All stages but the last: each leaves its letters in the scratch memory. A stage looks only at letters from its own
 * block on, so it may write over those of the stage before. All are letters from the start: blocks may begin elsewhere when another
 * thread has written to the text. */
APART static void finish_inner_stages(bitlex_cursor *c)
{
    if (c->stage_number == 0 && c->machine->stage_count > 1) memset(c->letters, 0, (size_t)c->length);
    while (c->stage_number + 1 < c->machine->stage_count) {
        while (c->block < c->blocks) {
            advance(c, 1);
            memset(c->letters + c->base, 0, (size_t)(c->next - c->base));
            for (; c->taken < c->count; c->taken++) {
                uint32_t event = c->events[c->taken];
                c->letters[place(c, event >> 1)] = (uint8_t)(1 + (event & 1));
            }
        }
        prepare_stage(c, c->stage_number + 1);
        begin_blocks(c, 0, 0, c->blocks, c->stage->backward_end);
    }
}

static void next_block(bitlex_cursor *c)
{
    advance(c, c->machine->drops != 0);
    if (c->base > 0 || c->machine->drops || c->count == 0) return;
    if (c->masked) {
        c->count -= (uint32_t)(c->starts[0] & 1);
        c->starts[0] &= ~UINT64_C(1);
    } else if (c->events[0] == 0) {
        c->taken = 1;
    }
}

static int at_end(const bitlex_cursor *c) { return c->block == c->stop && c->taken == c->count; }

/* Have an event at hand; 0 at the end of the text. */
static int refill(bitlex_cursor *c)
{
    finish_inner_stages(c);
    while (c->taken == c->count) {
        if (c->block == c->stop) return 0;
        next_block(c);
    }
    return 1;
}

/* The two widths of offsets are the same text twice; `wide` is a constant where these are called. */
#define STORE(at, value) (wide ? (void)(((uint64_t *)out)[at] = (value)) : (void)(((uint32_t *)out)[at] = (uint32_t)(value)))

/* The unit of the next event of a block that is kept as bits; the bit is cleared. */
static inline uint32_t take_bit(bitlex_cursor *c, uint32_t *drop)
{
    uint64_t starts, drops, bit;
    for (;; c->word++) {
        starts = c->starts[c->word];
        drops = c->machine->drops ? c->drops[c->word] : 0;
        if ((starts | drops) != 0) break;
    }
    bit = (starts | drops) & (~(starts | drops) + 1);
    *drop = (drops & bit) != 0;
    c->starts[c->word] = starts & ~bit;
    if (*drop) c->drops[c->word] = drops & ~bit;
    c->taken++;
    return c->word * 64 + first_bit(bit);
}

/* Where the bits of whole words are, while there is room: what bitlex_lanes does by vector instructions. */
static inline size_t ends_of_words(bitlex_cursor *c, void *out, size_t room, int wide)
{
    size_t n = 0;
    for (; c->word < c->words && room - n >= 64; c->word++) {
        uint64_t bits = c->starts[c->word];
        for (; bits != 0; bits &= bits - 1) {
            STORE(n, c->base + 64 * (uint64_t)c->word + first_bit(bits));
            n++;
        }
    }
    return n;
}

/* Ends of a block that is there as bits: whole words while there is room, the rest one by one. */
static inline size_t take_ends(bitlex_cursor *c, void *out, size_t room, int wide)
{
    const bitlex_lanes *lanes = c->machine->lanes;
    size_t n;
    uint32_t drop;
    if (!has_vectors(c->machine)) {
        n = ends_of_words(c, out, room, wide);
    } else if (wide) {
        n = lanes->ends64(c->starts, &c->word, c->words, c->base, (uint64_t *)out, room);
    } else {
        n = lanes->ends32(c->starts, &c->word, c->words, c->base, (uint32_t *)out, room);
    }
    c->taken += (uint32_t)n;
    for (; n < room && c->taken < c->count; n++) STORE(n, c->base + take_bit(c, &drop));
    return n;
}

static inline size_t next_ends(bitlex_cursor *c, void *out, size_t room, int wide)
{
    size_t done = 0, n, i;
    if (c->machine->drops) return 0;
    while (done < room && (done == 0 || c->taken < c->count) && refill(c)) { /* what the block has; at least one */
        const uint16_t *event = c->events + c->taken;
        const uint64_t base = c->base;
        if (c->masked) {
            done += take_ends(c, (char *)out + done * (wide ? 8 : 4), room - done, wide);
            continue;
        }
        n = c->count - c->taken;
        if (n > room - done) n = room - done;
        if (c->plain) {
            for (i = 0; i < n; i++) STORE(done + i, base + event[i]);
        } else {
            for (i = 0; i < n; i++) STORE(done + i, base + c->units[event[i]]);
        }
        done += n;
        c->taken += (uint32_t)n;
    }
    if (done < room && at_end(c) && !c->finished && c->stop == c->blocks && c->length > 0) { /* the last piece ends with the text */
        c->finished = 1;
        STORE(done, c->length);
        done++;
    }
    return done;
}

/* An event makes a pair, which is kept if the event before opened a piece: no branch to mispredict. */
#define PAIR(at, drop) (STORE(2 * n, open), STORE(2 * n + 1, open = (at)), n += opened, opened = !(drop))

/* Pairs of the block at hand: of one that is there as bits, whole words while there is room, the rest one by one. */
static inline size_t take_pairs(bitlex_cursor *c, void *out, size_t room, int wide)
{
    const uint32_t drops = c->machine->drops != 0;
    uint64_t open = c->open;
    size_t n = 0, opened = c->opened;
    uint32_t drop, i;
    if (c->masked) {
        for (; c->word < c->words && room - n >= 64; c->word++) {
            const uint64_t base = c->base + 64 * (uint64_t)c->word, dropped = drops ? c->drops[c->word] : 0;
            uint64_t bits = c->starts[c->word] | dropped;
            for (; bits != 0; bits &= bits - 1, c->taken++) {
                const uint32_t bit = first_bit(bits);
                PAIR(base + bit, dropped >> bit & 1);
            }
        }
        while (n < room && c->taken < c->count) {
            const uint32_t unit = take_bit(c, &drop);
            PAIR(c->base + unit, drop);
        }
    } else {
        const uint32_t last = c->count - c->taken < room ? c->count : c->taken + (uint32_t)room;
        for (i = c->taken; i < last; i++) {
            const uint32_t event = c->events[i];
            PAIR(place(c, event >> drops), drops & event);
        }
        c->taken = last;
    }
    c->open = open;
    c->opened = (uint32_t)opened;
    return n;
}

static inline size_t next_pairs(bitlex_cursor *c, void *out, size_t room, int wide)
{
    size_t done = 0;
    while (done < room && (done == 0 || c->taken < c->count) && refill(c)) {
        done += take_pairs(c, (char *)out + 2 * done * (wide ? 8 : 4), room - done, wide);
    }
    if (done < room && at_end(c) && c->opened && !c->finished) {
        c->opened = 0;
        c->finished = 1;
        STORE(2 * done, c->open);
        STORE(2 * done + 1, c->next);
        done++;
    }
    return done;
}

size_t bitlex_next(bitlex_cursor *c, uint64_t *ends, size_t room) { return next_ends(c, ends, room, 1); }
size_t bitlex_next32(bitlex_cursor *c, uint32_t *ends, size_t room) { return next_ends(c, ends, room, 0); }
size_t bitlex_next_pairs(bitlex_cursor *c, uint64_t *pairs, size_t room) { return next_pairs(c, pairs, room, 1); }
size_t bitlex_next_pairs32(bitlex_cursor *c, uint32_t *pairs, size_t room) { return next_pairs(c, pairs, room, 0); }

int bitlex_ready(bitlex_cursor *c, uint64_t units)
{
    uint64_t stop;
    finish_inner_stages(c);
    stop = c->block + units / BITLEX_BLOCK + 1;
    while (c->taken == c->count && c->block < c->stop && c->block < stop) next_block(c);
    return c->taken < c->count || c->block == c->stop;
}

int bitlex_count_some(bitlex_cursor *c, uint64_t units, uint64_t *pieces)
{
    uint64_t stop;
    uint32_t i, drops = c->machine->drops != 0;
    finish_inner_stages(c);
    for (stop = c->block + units / BITLEX_BLOCK + 1; c->block < stop && c->block < c->stop;) {
        next_block(c);
        if (!drops) *pieces += c->count - c->taken;
        if (drops && c->masked) *pieces += c->memory->started;
        for (i = c->taken; drops && !c->masked && i < c->count; i++) *pieces += !(c->events[i] & 1);
        c->taken = c->count;
    }
    if (c->block < c->stop) return 1;
    if (!c->machine->drops && c->length > 0 && c->stop == c->blocks && !c->finished) *pieces += 1;
    c->finished = 1;
    return 0;
}

uint64_t bitlex_count(bitlex_cursor *c, const bitlex_machine *m, const void *text, uint64_t length, bitlex_encoding encoding,
                      void *scratch)
{
    uint64_t pieces = 0;
    bitlex_begin(c, m, text, length, encoding, scratch);
    while (bitlex_count_some(c, length, &pieces)) {}
    return pieces;
}

/* --- parts ----------------------------------------------------------------------------------------------------- */

/* Run a set of states forward over n labels; returns how many distinct ones are left. */
static uint32_t narrow_forward(const bitlex_cursor *c, uint16_t *set, uint32_t size, uint32_t n)
{
    const uint16_t *next = c->stage->forward_next;
    uint32_t i, j, k, kept;
    for (i = 0; i < n; i++) {
        for (j = 0; j < size; j++) set[j] = next[set[j] + c->labels[i]];
        if (size == 1 || (i % 8 != 0 && i + 1 < n)) continue;
        for (j = 1, kept = 1; j < size; j++) {
            for (k = 0; k < kept && set[k] != set[j]; k++) {}
            if (k == kept) set[kept++] = set[j];
        }
        size = kept;
    }
    return size;
}

/* Whatever the forward state at an offset may be: one, at the start of the text. */
static uint32_t every_forward_state(const bitlex_cursor *c, uint16_t *set, uint64_t at)
{
    uint32_t i;
    set[0] = 0;
    if (at == 0) return 1;
    for (i = 0; i < c->stage->forward_states; i++) set[i] = (uint16_t)(i * c->stage->label_count);
    return i;
}

/* Label the text from..to, entered from the right in `backward_state`, and run a set of states over it. */
static uint32_t narrow_text(bitlex_cursor *c, uint16_t *set, uint32_t size, uint64_t from, uint64_t to, uint32_t backward_state)
{
    uint32_t n = load(c, from, to);
    backward(c, n, backward_state);
    return narrow_forward(c, set, size, n);
}

/* Find the forward state at the start of block number `wanted`, whose backward state is known, from the text before it: a few code
 * points, then a few blocks, which are run backward first to learn how each is entered. 1 if it is found. */
static int look_back(bitlex_cursor *c, uint64_t wanted, uint32_t backward_state, uint32_t *state)
{
    uint64_t at = block_start(c, wanted), from, first, block, back;
    uint32_t entered[BACK], size, before;
    uint16_t set[SET];
    if (c->stage->forward_states > SET) return 0;
    if (BITLEX_BLOCK >= 256) {
        from = border(c, at - 256);
        size = narrow_text(c, set, every_forward_state(c, set, from), from, at, backward_state);
        if (size == 1) return *state = set[0], 1;
    }
    for (back = 1; back <= BACK; back *= BACK) {
        first = wanted < back ? 0 : wanted - back;
        for (block = wanted, before = backward_state; block-- > first;) {
            entered[block - first] = before;
            before = backward_block(c, block, before);
        }
        size = every_forward_state(c, set, block_start(c, first));
        for (block = first; block < wanted; block++) {
            size = narrow_text(c, set, size, block_start(c, block), block_start(c, block + 1), entered[block - first]);
        }
        if (size == 1) return *state = set[0], 1;
    }
    return 0;
}

int bitlex_find_cut(bitlex_cursor *c, uint64_t block, bitlex_cut *cut)
{
    if (c->machine->stage_count > 1 || block == 0 || block >= c->blocks) return 0;
    begin_blocks(c, 0, 0, c->blocks, c->stage->backward_end);
    cut->block = block;
    return look_ahead(c, block, BACK, &cut->backward) && look_back(c, block, cut->backward, &cut->forward);
}

void bitlex_begin_part(bitlex_cursor *c, const bitlex_cut *from, const bitlex_cut *to)
{
    bitlex_restart(c, c->text, c->length, (bitlex_encoding)c->encoding, c->letters);
    if (to != NULL) begin_blocks(c, 0, 0, to->block, to->backward);
    if (from == NULL) return;
    begin_blocks(c, from->block, from->forward, c->stop, c->stop_state);
    c->open = c->base;
    c->opened = 1;
}

uint64_t bitlex_kept_size(const bitlex_machine *m, uint64_t length)
{
    return (length / BITLEX_BLOCK + 1) * kept_block_words(m) * sizeof(uint64_t);
}

void bitlex_keep(bitlex_cursor *c, uint64_t *kept) { c->kept = kept; }

void bitlex_recall(bitlex_cursor *c, uint64_t *kept)
{
    c->kept = kept;
    c->known = 1;
}

/* --- texts that go on ------------------------------------------------------------------------------------------- */

/* The last place in a text from which on what follows the text may still change the backward state: behind it, columns tell. 0 if there is
 * none but the start, or none in the last `most` units, a block at most; *state is the state there. */
static uint64_t settled(bitlex_cursor *c, uint64_t most, uint32_t *state)
{
    const uint32_t columns = c->stage->column_count;
    const uint64_t lowest = c->length > most ? border(c, c->length - most) : 0;
    uint64_t ahead, from, to = c->length;
    uint32_t loaded, n, i, size;
    uint16_t set[SET];
    for (set[0] = 0, size = 1; size < c->stage->backward_states; size++) set[size] = (uint16_t)(size * columns); /* there is one at least */
    for (ahead = 16;; ahead *= 2, to = from) {
        from = ahead < c->length - lowest ? border(c, c->length - ahead) : lowest;
        loaded = n = load(c, from, to);
        /* Where bytes are read one by one, not inside of a character. */
        while (n > 0 && (size > 1 || (c->machine->continuation != NULL && n < loaded && border(c, from + n) != from + n))) {
            n--;
            for (i = 0; i < size; i++) set[i] = c->stage->backward_next[set[i] + c->columns[n]];
            size = distinct(set, size);
        }
        *state = set[0];
        if (size == 1) return n == loaded ? to : c->plain ? from + n : from + c->units[n];
        if (from == lowest) return 0;
    }
}

uint32_t bitlex_load_part(bitlex_cursor *c, const void *text, uint64_t length, bitlex_encoding encoding, uint64_t most, uint64_t *units)
{
    c->text = (const uint8_t *)text;
    c->length = length;
    c->encoding = (uint32_t)encoding;
    *units = border(c, most < BITLEX_BLOCK ? most : BITLEX_BLOCK);
    return load(c, 0, *units);
}

uint64_t bitlex_begin_open(bitlex_cursor *c, const void *text, uint64_t length, bitlex_encoding encoding, void *scratch, uint32_t forward,
                           uint64_t origin, uint64_t most, uint64_t told, uint32_t state)
{
    bitlex_lane_memory *memory = c->memory; /* what it remembers of rows stays true: it is of the machine */
    c->text = (const uint8_t *)text;
    c->length = c->readable = length;
    c->encoding = (uint32_t)encoding;
    c->letters = NULL;
    c->kept = NULL;
    c->known = 0;
    c->length = told > 0 ? told : settled(c, most, &state);
    c->blocks = c->length / BITLEX_BLOCK + (c->length % BITLEX_BLOCK != 0);
    if (has_vectors(c->machine) && scratch != NULL && memory == NULL) memory = bitlex_memory_in(scratch);
    c->memory = memory;
    c->finished = c->goes_on = 1; /* it does not end here */
    c->origin = origin;
    begin_blocks(c, 0, forward, c->blocks, state);
    return c->length;
}

size_t bitlex_cursor_size(void) { return sizeof(bitlex_cursor); }

uint64_t bitlex_scratch_size(const bitlex_machine *m, uint64_t length)
{
    if (m->stage_count > 1) return length;
    return has_vectors(m) && length >= BITLEX_LANES_FROM ? sizeof(bitlex_lane_memory) + 64 : 0;
}
