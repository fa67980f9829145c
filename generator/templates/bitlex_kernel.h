/* bitlex_kernel.h - private: the lanes, written once for every instruction set.
 *
 * It is included by a header for each, such as bitlex_avx512.h, which defines before
 *
 *     V                     a vector of 64 bytes, one for each lane
 *     M                     a mask of 64 lanes
 *     v_*, m_*              what is done with them (m_bits: a mask as a word of bits)
 *     W, WIDTH, w_*         the vector that matrices are turned with, and its bytes
 *     NAME(x)               the name of x for this instruction set
 *     EACH_SIZE, MOST_BACKWARD, MASKED, SPARE, TERMS    see below
 *
 * Tables are in memory, as v_prepare and, where there is one, prepare_tables left them. v_entry looks up in 128 bytes by an index
 * below 128 (the result for others does not matter), v_permute in 64 bytes by the low six bits, v_offset in 16 by the low four of a
 * code below 128. v_right and v_left may shift by pairs of bytes, so no bit may come in or go out that counts. w_gather takes 16 bytes
 * from each of WIDTH / 16 places.
 *
 * v_entries looks up in pages: `index` is the offset of a symbol on its page plus a state. With two pages at most, the page
 * is bit 7 of `code`, and of `index`; with more, it is bits 4 to 6 of `code`. The last argument, a constant, says how
 * many rows of 16 entries are in use; EACH_SIZE(CASE) lists the numbers for which code is made, and MOST_BACKWARD is the largest
 * for a backward automaton. MASKED: whether index must come without the flags of a state. These are bits 7 and 6, or SPARE bits
 * below. Where TERMS is defined, tables are terms (bitlex_terms.h) instead, and NAME(backward_step), NAME(backward_next) and
 * NAME(forward_step) are there already. m_at_least compares with a constant other than 0.
 */

/* --- units -> codes ----------------------------------------------------------------------------------------------- */

/* The 64 code points that begin with the bits of `chunk` and `row`, as cells. */
BITLEX_INLINE const uint8_t *NAME(cells)(const bitlex_machine *m, uint32_t chunk, uint32_t row)
{
    uint32_t point = chunk << 12 | (row & 63) << 6;
    return m->stage2 + ((uint32_t)m->stage1[point >> m->shift] << m->shift) + (point & ((1u << m->shift) - 1));
}

/* The rows of 64 code points that were met last, as codes. A text has few of them at a time. */
typedef struct {
    uint8_t codes[BITLEX_RECENT][64], chunk[BITLEX_RECENT], row[BITLEX_RECENT];
    uint32_t oldest;
} NAME(recent);

BITLEX_INLINE void NAME(forget)(NAME(recent) *recent)
{
    memset(recent, 0xFF, sizeof *recent); /* no such chunk is in use */
    recent->oldest = 0;
}

/* Fill in the codes of the lanes in `wanted`, whose code points are put together from three vectors: bits 12..19, bits
 * 6..11 (as bytes whose low six bits they are; the same code points must have the same bytes) and bits 0..5 (likewise).
 * `wide`: lanes in the BMP that are likely to be in one of the large stretches of one column, which one look-up serves. */
BITLEX_INLINE V NAME(deep)(const bitlex_lanes *lanes, NAME(recent) *recent, V code, M wanted, M wide, V chunk, V row, V low)
{
    uint8_t chunks[64], rows[64], lows[64], codes[64];
    uint64_t left;
    M same;
    uint32_t i;
    if (m_any(wide)) {
        V found = v_entry(lanes->stretch, v_or(v_left(v_and(chunk, v_all(15)), 3), v_and(v_right(row, 3), v_all(7))));
        code = v_choose(wide, found, code);
        wanted = m_without(wanted, m_without(wide, m_equal(found, v_all(BITLEX_LOOK_DEEPER))));
        if (!m_any(wanted)) return code;
    }
    for (i = 0; i < BITLEX_RECENT; i++) {
        same = m_and(m_and(m_equal(chunk, v_all(recent->chunk[i])), m_equal(row, v_all(recent->row[i]))), wanted);
        code = v_choose(same, v_permute(recent->codes[i], low), code);
        wanted = m_without(wanted, same);
        if (!m_any(wanted)) return code;
    }
    v_store(chunks, chunk);
    v_store(rows, row);
    for (i = 0; i < BITLEX_RECENT; i++) {
        uint32_t at = first_bit(m_bits(wanted)), old = recent->oldest++ % BITLEX_RECENT;
        recent->chunk[old] = chunks[at];
        recent->row[old] = rows[at];
        v_store(recent->codes[old], v_permute(lanes->cell_row, v_load(NAME(cells)(lanes->machine, chunks[at], rows[at]))));
        v_prepare(recent->codes[old], 64);
        same = m_and(m_and(m_equal(chunk, v_all(chunks[at])), m_equal(row, v_all(rows[at]))), wanted);
        code = v_choose(same, v_permute(recent->codes[old], low), code);
        wanted = m_without(wanted, same);
        if (!m_any(wanted)) return code;
    }
    v_store(codes, code); /* this text jumps about: one by one is faster */
    v_store(lows, low);
    for (left = m_bits(wanted); left; left &= left - 1) {
        uint32_t at = first_bit(left);
        codes[at] = lanes->cell_code[NAME(cells)(lanes->machine, chunks[at], rows[at])[lows[at] & 63]];
    }
    return v_load(codes);
}

/* UTF-8. What is ill-formed, or beyond U+FFFFF, is left to read_slowly: 64 bytes at a time, and the character before. */
static void NAME(read_utf8)(const bitlex_lanes *lanes, uint8_t *codes, const uint8_t *text, const uint8_t *end, uint32_t units)
{
    const V high = v_all(0x3F);
    NAME(recent) recent;
    uint64_t asked = 0; /* the first bits: continuation bytes that the characters before ask for */
    uint32_t at;
    NAME(forget)(&recent);
    for (at = 0; at < units; at += 64) {
        const uint8_t *p = text + at;
        uint8_t copy[128];
        const uint64_t asked_before = asked;
        uint64_t beyond, valid, lead, three, four, next, ill;
        V here, code, second, third, chunk, row, low;
        M leads, threes, fours, wide, rare;
        if ((size_t)(end - p) < 64 + 3) {
            memset(copy, 0, sizeof copy);
            memcpy(copy, p, (size_t)(end - p));
            p = copy;
        }
        here = code = v_load(p);
        valid = units - at >= 64 ? ~UINT64_C(0) : ~UINT64_C(0) >> (64 - (units - at));
        beyond = m_bits(m_high(here)) & valid;
        if (beyond != valid) code = v_entry(lanes->direct, here);
        if ((beyond | asked) == 0) {
            v_store(codes + at, code);
            for (; at + 128 <= units && !m_any(m_high(v_load(text + at + 64))); at += 64) { /* ASCII, as long as it lasts */
                v_store(codes + at + 64, v_entry(lanes->direct, v_load(text + at + 64)));
            }
            continue;
        }
        second = v_load(p + 1);
        leads = m_at_least(here, v_all(0xC0));
        threes = m_at_least(here, v_all(0xE0));
        fours = m_at_least(here, v_all(0xF0));
        lead = m_bits(leads) & valid;
        three = m_bits(threes) & valid;
        four = m_bits(fours) & valid;
        /* Leads that no character has, and leads that restrict the byte behind: scripts use none of these, or one throughout. */
        rare = m_or(m_or(m_without(leads, m_at_least(here, v_all(0xC2))), fours), m_or(m_equal(here, v_all(0xE0)), m_equal(here, v_all(0xED))));
        ill = 0;
        if (m_any(rare)) {
            ill = lead & ~m_bits(m_at_least(here, v_all(0xC2)));
            ill |= four & m_bits(m_at_least(here, v_all(0xF4)));
            ill |= m_bits(m_equal(here, v_all(0xE0))) & valid & ~m_bits(m_at_least(second, v_all(0xA0)));
            ill |= m_bits(m_equal(here, v_all(0xED))) & valid & m_bits(m_at_least(second, v_all(0xA0)));
            ill |= m_bits(m_equal(here, v_all(0xF0))) & valid & ~m_bits(m_at_least(second, v_all(0x90)));
        }
        next = lead >> 63 | three >> 62 | four >> 61;
        asked |= lead << 1 | three << 2 | four << 3;
        ill |= asked ^ (beyond & ~lead);
        if (ill) {
            uint32_t to = units - at < 64 ? units : at + 64, stop = read_slowly(lanes, codes, text, end, asked_before ? last_lead(text, at) : at, to);
            asked = (UINT64_C(1) << (stop - to)) - 1;
            continue;
        }
        asked = next;
        chunk = v_all(0);
        row = here;
        low = second;
        wide = m_none();
        if (three) {
            third = v_load(p + 2);
            chunk = v_choose(threes, v_and(here, v_all(0x0F)), chunk);
            row = v_choose(threes, second, row);
            low = v_choose(threes, third, low);
            wide = m_without(threes, fours);
            if (four) {
                chunk = v_choose(fours, v_or(v_left(v_and(here, v_all(3)), 6), v_and(second, high)), chunk);
                row = v_choose(fours, third, row);
                low = v_choose(fours, v_load(p + 3), low);
            }
        }
        code = NAME(deep)(lanes, &recent, code, leads, wide, chunk, row, low);
        low = lanes->machine->continuation == NULL ? v_all((uint8_t)lanes->identity) : v_permute(lanes->inside_row, here);
        code = v_choose(m_without(m_high(here), leads), low, code);
        v_store(codes + at, code);
    }
    if (asked) read_slowly(lanes, codes, text, end, last_lead(text, units), units); /* the text ends inside a character */
}

static void NAME(read_latin1)(const bitlex_lanes *lanes, uint8_t *columns, const uint8_t *text, uint32_t units)
{
    uint32_t at;
    for (at = 0; at < units; at += 64) {
        uint8_t copy[64];
        const uint8_t *p = text + at;
        V here, code;
        if (units - at < 64) {
            memset(copy, 0, sizeof copy);
            memcpy(copy, p, units - at);
            p = copy;
        }
        here = v_load(p);
        code = v_entry(lanes->direct, here);
        if (m_any(m_high(here))) code = v_choose(m_high(here), v_entry(lanes->direct + 128, v_and(here, v_all(0x7F))), code);
        v_store(columns + at, code);
    }
}

/* Units of two or of four bytes; each is a code point. */
BITLEX_INLINE void NAME(read_wide)(const bitlex_lanes *lanes, uint8_t *columns, const uint8_t *text, uint32_t units, const int width)
{
    NAME(recent) recent;
    uint32_t at, i;
    NAME(forget)(&recent);
    for (at = 0; at < units; at += 64) {
        uint8_t copy[256];
        const uint8_t *p = text + (size_t)at * (uint32_t)width;
        M beyond, astral = m_none();
        V low, high, code;
        if (units - at < 64) {
            memset(copy, 0, sizeof copy);
            memcpy(copy, p, (size_t)(units - at) * (uint32_t)width);
            p = copy;
        }
        low = width == 2 ? v_narrow16(p, 0) : v_narrow32(p, 0);
        high = width == 2 ? v_narrow16(p, 8) : v_narrow32(p, 8);
        beyond = m_or(m_high(low), m_without(m_everywhere(), m_equal(high, v_all(0))));
        code = v_entry(lanes->direct, low);
        if (width == 4) {
            const V third = v_narrow32(p, 16), fourth = v_narrow32(p, 24);
            astral = m_without(m_everywhere(), m_equal(v_or(third, fourth), v_all(0)));
            beyond = m_or(beyond, astral);
            if (!m_all(m_equal(v_or(v_and(third, v_all(0xF0)), fourth), v_all(0)))) { /* U+100000 and more: so rare that they may cost */
                for (i = 0; i < 64; i++) {
                    uint32_t point;
                    memcpy(&point, p + 4 * i, 4);
                    if (point > 0x10FFFF) point = 0xFFFD;
                    columns[at + i] = lanes->cell_code[NAME(cells)(lanes->machine, point >> 12, point >> 6)[point & 63]];
                }
                continue;
            }
        }
        if (m_any(beyond)) {
            V row = v_and(width == 2 ? v_narrow16(p, 6) : v_narrow32(p, 6), v_all(63));
            V chunk = width == 2 ? v_narrow16(p, 12) : v_narrow32(p, 12);
            code = NAME(deep)(lanes, &recent, code, beyond, m_without(beyond, astral), chunk, row, low);
        }
        v_store(columns + at, code);
    }
}

/* --- codes in the order of the text -> [step][lane] ------------------------------------------------------------------ */

/* By matrices of 16 by 16 bytes, WIDTH / 16 of them at once. */
static void NAME(turn)(const uint8_t *codes, uint8_t *turned, uint32_t steps)
{
    uint32_t at, lane, i, round;
    for (at = 0; at < steps; at += 16) {
        for (lane = 0; lane < 64; lane += WIDTH) {
            W row[16], next[16];
            for (i = 0; i < 16; i++) row[i] = w_gather(codes + (size_t)(lane + i) * steps + at, 16 * (size_t)steps);
            for (round = 0; round < 4; round++) {
                for (i = 0; i < 8; i++) {
                    next[2 * i] = w_zip_low(row[i], row[i + 8]);
                    next[2 * i + 1] = w_zip_high(row[i], row[i + 8]);
                }
                for (i = 0; i < 16; i++) row[i] = next[i];
            }
            for (i = 0; i < 16; i++) w_store(turned + (size_t)(at + i) * 64 + lane, row[i]);
        }
    }
}

/* The high bits of eight steps, the first one lowest; or those `below` places below. */
BITLEX_INLINE V NAME(eight)(const uint8_t *states, const int below)
{
    V bits = v_all(0), state;
    uint32_t i;
    for (i = 0; i < 8; i++) {
        state = v_load(states + 64 * (size_t)i);
        bits = v_or(v_right(bits, 1), v_and(below ? v_left(state, below) : state, v_all(0x80)));
    }
    return bits;
}

/* The high bits of [step][lane] -> bits in the order of the text. */
BITLEX_INLINE void NAME(turn_back)(const uint8_t *states, uint8_t *bits, uint32_t steps, const int below)
{
    const size_t stride = steps / 8;
    uint32_t at, i;
    for (at = 0; at < steps; at += 16) {
        uint8_t first[64], second[64], pairs[128], *to = bits + at / 8;
        v_store(first, NAME(eight)(states + (size_t)at * 64, below));
        v_store(second, NAME(eight)(states + (size_t)(at + 8) * 64, below));
        for (i = 0; i < 64; i++) {
            pairs[2 * i] = first[i];
            pairs[2 * i + 1] = second[i];
        }
        for (i = 0; i < 64; i += 4, to += 4 * stride) { /* copied one by one: a compiler would not unroll it by itself */
            memcpy(to, pairs + 2 * i, 2);
            memcpy(to + stride, pairs + 2 * i + 2, 2);
            memcpy(to + 2 * stride, pairs + 2 * i + 4, 2);
            memcpy(to + 3 * stride, pairs + 2 * i + 6, 2);
        }
    }
}

/* --- the two passes ---------------------------------------------------------------------------------------------------- */

#ifndef TERMS
/* Tables on pages: what a column does to a state, with the label it puts out, or without; and a label. */
BITLEX_INLINE V NAME(backward_step)(const bitlex_lanes *lanes, V code, V state, const uint32_t rows, V *label)
{
    const V index = v_add(rows <= 16 ? code : v_offset(lanes->column_offset, code), state);
    return v_entries_twice(lanes->backward_next, lanes->backward_label, index, code, rows, label);
}

BITLEX_INLINE V NAME(backward_next)(const bitlex_lanes *lanes, V code, V state, const uint32_t rows)
{
    const V index = v_add(rows <= 16 ? code : v_offset(lanes->column_offset, code), state);
    return v_entries(lanes->backward_next, index, code, rows);
}

BITLEX_INLINE V NAME(forward_step)(const bitlex_lanes *lanes, V code, V state, const uint32_t rows, V flags, const int masked)
{
    const V index = v_add(rows <= 16 ? code : v_offset(lanes->label_offset, code), masked ? v_and(state, flags) : state);
    return v_entries(lanes->forward_next, index, code, rows);
}
#endif

/* Run all lanes from right to left, entering in `state`: writes the state behind each unit and its label. With `again`, stop
 * where nothing is new: 0, and the exits stay as they were. */
BITLEX_INLINE int NAME(backward_run)(const bitlex_lanes *lanes, bitlex_lane_memory *memory, uint32_t steps, V state, int again,
                                     const uint32_t rows)
{
    uint32_t i = steps;
    while (i-- > 0) {
        V code = v_load(memory->turned + (size_t)i * 64), label;
        uint8_t *behind = memory->states + (size_t)i * 64;
        if (again && m_all(m_equal(v_load(behind), state))) return 0;
        v_store(behind, state);
        state = NAME(backward_step)(lanes, code, state, rows, &label);
        v_store(memory->codes + (size_t)i * 64, label);
    }
    v_store(memory->exits, state);
    return 1;
}

/* The states in which the lanes are left, if they are entered `warmup` steps before in `state`. */
BITLEX_INLINE V NAME(backward_guess)(const bitlex_lanes *lanes, const bitlex_lane_memory *memory, uint32_t warmup, V state,
                                     const uint32_t rows)
{
    while (warmup-- > 0) {
        state = NAME(backward_next)(lanes, v_load(memory->turned + (size_t)warmup * 64), state, rows);
    }
    return state;
}

/* Run all lanes from left to right over their labels: writes the state after each unit, with what it put out. */
BITLEX_INLINE int NAME(forward_run)(const bitlex_lanes *lanes, bitlex_lane_memory *memory, uint32_t from, uint32_t to, V state,
                                    int again, const uint32_t rows, const int masked)
{
    const V flags = v_all((lanes->machine->drops ? 0x3F : 0x7F) >> SPARE);
    uint32_t i;
    for (i = from; i < to; i++) {
        uint8_t *states = memory->states + (size_t)i * 64;
        state = NAME(forward_step)(lanes, v_load(memory->codes + (size_t)i * 64), state, rows, flags, masked);
        if (again && m_all(m_equal(v_load(states), state))) return 0;
        v_store(states, state);
    }
    v_store(memory->exits, v_and(state, flags));
    return 1;
}

static int NAME(backward)(const bitlex_lanes *lanes, bitlex_lane_memory *memory, uint32_t steps, uint32_t warmup, int mode)
{
    const V entries = v_load(memory->entries);
#define CASE(rows) \
    if (rows <= MOST_BACKWARD && lanes->backward_rows <= rows) { \
        if (mode != BITLEX_GUESS) return NAME(backward_run)(lanes, memory, steps, entries, mode == BITLEX_AGAIN, rows); \
        v_store(memory->exits, NAME(backward_guess)(lanes, memory, warmup, entries, rows)); \
        return 1; \
    }
    EACH_SIZE(CASE)
#undef CASE
    return 0;
}

static int NAME(forward)(const bitlex_lanes *lanes, bitlex_lane_memory *memory, uint32_t steps, uint32_t warmup, int mode)
{
    const V entries = v_load(memory->entries);
    const uint32_t from = mode == BITLEX_GUESS ? steps - warmup : 0;
    const int again = mode == BITLEX_AGAIN;
    if (!MASKED && lanes->machine->drops) {
        if (lanes->forward_rows <= 16) return NAME(forward_run)(lanes, memory, from, steps, entries, again, 16, 1);
        return NAME(forward_run)(lanes, memory, from, steps, entries, again, 8 * BITLEX_FORWARD_PAGES, 1);
    }
#define CASE(rows) \
    if (lanes->forward_rows <= rows) return NAME(forward_run)(lanes, memory, from, steps, entries, again, rows, MASKED);
    EACH_SIZE(CASE)
#undef CASE
    return 0;
}

/* --- a block ----------------------------------------------------------------------------------------------------------- */

/* Read a block into lanes: the steps of each come back. */
static uint32_t NAME(read)(const bitlex_lanes *lanes, bitlex_lane_memory *memory, const uint8_t *text, const uint8_t *end,
                           uint32_t encoding, uint32_t units)
{
    uint32_t steps;
    switch (encoding) {
    case BITLEX_UTF8: NAME(read_utf8)(lanes, memory->codes, text, end, units); break;
    case BITLEX_LATIN1: NAME(read_latin1)(lanes, memory->codes, text, units); break;
    case BITLEX_UCS2: NAME(read_wide)(lanes, memory->codes, text, units, 2); break;
    default: NAME(read_wide)(lanes, memory->codes, text, units, 4);
    }
    /* What a block of UTF-8 has too much is inside its last character. */
    if (units > BITLEX_BLOCK && lanes->machine->continuation == NULL) units = BITLEX_BLOCK;
    steps = ((units + BITLEX_LANES - 1) / BITLEX_LANES + 15) / 16 * 16;
    memset(memory->codes + units, (int)lanes->identity, (size_t)steps * BITLEX_LANES - units);
    NAME(turn)(memory->codes, memory->turned, steps);
    return steps;
}

static void NAME(peek)(const bitlex_lanes *lanes, bitlex_lane_memory *memory, const uint8_t *text, const uint8_t *end,
                       uint32_t encoding, uint32_t units, uint8_t *states, uint32_t count)
{
    const uint32_t steps = NAME(read)(lanes, memory, text, end, encoding, units);
    uint32_t i;
    for (i = 0; i < count; i++) {
        states[i] = lanes->backward_state[settle(lanes, memory, steps, lanes->backward_number[states[i]], NAME(backward), -1)];
    }
}

static void NAME(block)(const bitlex_lanes *lanes, bitlex_lane_memory *memory, const uint8_t *text, const uint8_t *end,
                        uint32_t encoding, uint32_t units, uint32_t backward, uint32_t *forward)
{
    const uint32_t steps = NAME(read)(lanes, memory, text, end, encoding, units);
    uint32_t i;
    settle(lanes, memory, steps, lanes->backward_number[backward], NAME(backward), -1);
    *forward = lanes->forward_state[settle(lanes, memory, steps, lanes->forward_number[*forward], NAME(forward), 1)];
    NAME(turn_back)(memory->states, (uint8_t *)memory->starts, steps, SPARE);
    if (lanes->machine->drops) NAME(turn_back)(memory->states, (uint8_t *)memory->drops, steps, SPARE + 1);
    memory->words = steps; /* of BITLEX_LANES bits */
    memory->started = memory->dropped = 0;
    for (i = 0; i < steps; i++) {
        memory->started += (uint32_t)__builtin_popcountll(memory->starts[i]);
        if (lanes->machine->drops) memory->dropped += (uint32_t)__builtin_popcountll(memory->drops[i]);
    }
}

