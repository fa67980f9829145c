/* bitlex_kernel.h - private: the lanes, written once for every instruction set.
 *
 * It is included by a header for each, such as bitlex_avx512.h, which defines before
 *
 *     V                     a vector of 64 bytes, one for each lane
 *     M                     a mask of 64 lanes
 *     v_*, m_*              what is done with them (m_bits and m_of: a mask as a word of bits, and back)
 *     NAME(x)               the name of x for this instruction set
 *
 * v_entry looks up in a table of 128 bytes by the low seven bits, v_permute in a vector by the low six; v_left and
 * v_right may shift by pairs of bytes, so no bit may come in or go out that counts; v_gather takes 16 bytes from each of four places.
 */

/* --- a table of up to BITLEX_FORWARD_PAGES * 128 entries --------------------------------------------------------- */

/* The entry of each lane at `index` (its low seven bits) of page `page` (or, of two pages, bit 7 of `code`). */
static inline V NAME(entry)(const uint8_t (*table)[BITLEX_PAGE], V index, V code, V page, const uint32_t pages)
{
    V found = v_entry(table[0], index);
    uint32_t i;
    if (pages == 2) return v_choose(m_high(code), v_entry(table[1], index), found);
    for (i = 1; i < pages; i++) found = v_choose(m_equal(page, v_all((uint8_t)i)), v_entry(table[i], index), found);
    return found;
}

/* --- units -> codes ----------------------------------------------------------------------------------------------- */

/* The 64 code points that begin with the bits of `chunk` and `row`, as cells. */
static inline const uint8_t *NAME(cells)(const bitlex_machine *m, uint32_t chunk, uint32_t row)
{
    uint32_t point = chunk << 12 | (row & 63) << 6;
    return m->stage2 + ((uint32_t)m->stage1[point >> m->shift] << m->shift) + (point & ((1u << m->shift) - 1));
}

/* The rows of 64 code points that were met last, as codes. A text has few of them at a time. */
typedef struct {
    V codes[BITLEX_RECENT], chunk[BITLEX_RECENT], row[BITLEX_RECENT];
    uint32_t oldest;
} NAME(recent);

static inline void NAME(forget)(NAME(recent) *recent)
{
    uint32_t i;
    for (i = 0; i < BITLEX_RECENT; i++) recent->codes[i] = recent->chunk[i] = recent->row[i] = v_all(0xFF); /* no such chunk in use */
    recent->oldest = 0;
}

/* Fill in the codes of the lanes in `wanted`, whose code points are put together from three vectors: bits 12..19, bits
 * 6..11 (as bytes whose low six bits they are; the same code points must have the same bytes) and bits 0..5 (likewise).
 * `wide`: lanes in the BMP that are likely to be in one of the large stretches of one column, which one look-up serves. */
static inline V NAME(deep)(const bitlex_lanes *lanes, NAME(recent) *recent, V code, uint64_t wanted, uint64_t wide, V chunk, V row, V low)
{
    uint8_t chunks[64], rows[64], lows[64], codes[64];
    uint64_t left = wanted;
    uint32_t i;
    if (wide) {
        V found = v_entry(lanes->stretch, v_or(v_left(v_and(chunk, v_all(15)), 3), v_and(v_right(row, 3), v_all(7))));
        code = v_choose(m_of(wide), found, code);
        left &= ~(wide & ~m_bits(m_equal(found, v_all(BITLEX_LOOK_DEEPER))));
        if (left == 0) return code;
    }
    for (i = 0; i < BITLEX_RECENT; i++) {
        M same = m_and(m_and(m_equal(chunk, recent->chunk[i]), m_equal(row, recent->row[i])), m_of(left));
        code = v_choose(same, v_permute(recent->codes[i], low), code);
        left &= ~m_bits(same);
    }
    if (left == 0) return code;
    v_store(chunks, chunk);
    v_store(rows, row);
    for (i = 0; i < BITLEX_RECENT; i++) {
        uint32_t at = first_bit(left), old = recent->oldest++ % BITLEX_RECENT;
        uint64_t same;
        recent->chunk[old] = v_all(chunks[at]);
        recent->row[old] = v_all(rows[at]);
        recent->codes[old] = v_permute(v_load(lanes->cell_code), v_load(NAME(cells)(lanes->machine, chunks[at], rows[at])));
        same = m_bits(m_and(m_equal(chunk, recent->chunk[old]), m_equal(row, recent->row[old]))) & left;
        code = v_choose(m_of(same), v_permute(recent->codes[old], low), code);
        left &= ~same;
        if (left == 0) return code;
    }
    v_store(codes, code); /* this text jumps about: one by one is faster */
    v_store(lows, low);
    for (; left; left &= left - 1) {
        uint32_t at = first_bit(left);
        codes[at] = lanes->cell_code[NAME(cells)(lanes->machine, chunks[at], rows[at])[lows[at] & 63]];
    }
    return v_load(codes);
}

/* UTF-8. What is ill-formed, or beyond U+FFFFF, is left to read_slowly: 64 bytes at a time, and the character before. */
static void NAME(read_utf8)(const bitlex_lanes *lanes, uint8_t *codes, const uint8_t *text, const uint8_t *end, uint32_t units)
{
    const V inside = v_load(lanes->inside), high = v_all(0x3F);
    NAME(recent) recent;
    uint64_t asked = 0; /* the first bits: continuation bytes that the characters before ask for */
    uint32_t at;
    NAME(forget)(&recent);
    for (at = 0; at < units; at += 64) {
        const uint8_t *p = text + at;
        uint8_t copy[128];
        const uint64_t asked_before = asked;
        uint64_t beyond, valid, lead, three, four, next, ill;
        V here, code, second, third, chunk;
        if ((size_t)(end - p) < 64 + 3) {
            memset(copy, 0, sizeof copy);
            memcpy(copy, p, (size_t)(end - p));
            p = copy;
        }
        here = v_load(p);
        code = v_entry(lanes->direct, here);
        valid = units - at >= 64 ? ~UINT64_C(0) : ~UINT64_C(0) >> (64 - (units - at));
        beyond = m_bits(m_high(here)) & valid;
        if ((beyond | asked) == 0) {
            v_store(codes + at, code);
            continue;
        }
        second = v_load(p + 1);
        lead = m_bits(m_at_least(here, v_all(0xC0))) & valid;
        three = m_bits(m_at_least(here, v_all(0xE0))) & valid;
        four = m_bits(m_at_least(here, v_all(0xF0))) & valid;
        ill = lead & ~m_bits(m_at_least(here, v_all(0xC2)));
        ill |= four & m_bits(m_at_least(here, v_all(0xF4)));
        if (three) {
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
        if (three == 0) {
            code = NAME(deep)(lanes, &recent, code, lead, 0, v_all(0), here, second);
        } else {
            V row = here, low = second;
            third = v_load(p + 2);
            chunk = v_choose(m_of(three), v_and(here, v_all(0x0F)), v_all(0));
            row = v_choose(m_of(three), second, row);
            low = v_choose(m_of(three), third, low);
            if (four) {
                chunk = v_choose(m_of(four), v_or(v_left(v_and(here, v_all(3)), 6), v_and(second, high)), chunk);
                row = v_choose(m_of(four), third, row);
                low = v_choose(m_of(four), v_load(p + 3), low);
            }
            code = NAME(deep)(lanes, &recent, code, lead, three & ~four, chunk, row, low);
        }
        code = v_choose(m_of(beyond & ~lead), v_permute(inside, here), code);
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
        if (m_bits(m_high(here))) code = v_choose(m_high(here), v_entry(lanes->direct + 128, here), code);
        v_store(columns + at, code);
    }
}

/* Units of two or of four bytes; each is a code point. */
static inline void NAME(read_wide)(const bitlex_lanes *lanes, uint8_t *columns, const uint8_t *text, uint32_t units, const int width)
{
    NAME(recent) recent;
    uint32_t at, i;
    NAME(forget)(&recent);
    for (at = 0; at < units; at += 64) {
        uint8_t copy[256];
        const uint8_t *p = text + (size_t)at * (uint32_t)width;
        uint64_t beyond, astral = 0;
        V low, high, code;
        if (units - at < 64) {
            memset(copy, 0, sizeof copy);
            memcpy(copy, p, (size_t)(units - at) * (uint32_t)width);
            p = copy;
        }
        low = width == 2 ? v_narrow16(p, 0) : v_narrow32(p, 0);
        high = width == 2 ? v_narrow16(p, 8) : v_narrow32(p, 8);
        beyond = m_bits(m_high(low)) | ~m_bits(m_equal(high, v_all(0)));
        code = v_entry(lanes->direct, low);
        if (width == 4) {
            uint64_t above;
            astral = ~m_bits(m_equal(v_or(v_narrow32(p, 16), v_narrow32(p, 24)), v_all(0)));
            above = ~m_bits(m_equal(v_or(v_and(v_narrow32(p, 16), v_all(0xF0)), v_narrow32(p, 24)), v_all(0)));
            beyond |= astral;
            if (above) { /* U+100000 and more: so rare that they may cost */
                for (i = 0; i < 64; i++) {
                    uint32_t point;
                    memcpy(&point, p + 4 * i, 4);
                    if (point > 0x10FFFF) point = 0xFFFD;
                    columns[at + i] = lanes->cell_code[NAME(cells)(lanes->machine, point >> 12, point >> 6)[point & 63]];
                }
                continue;
            }
        }
        if (beyond) {
            V row = v_and(width == 2 ? v_narrow16(p, 6) : v_narrow32(p, 6), v_all(63));
            V chunk = width == 2 ? v_narrow16(p, 12) : v_narrow32(p, 12);
            code = NAME(deep)(lanes, &recent, code, beyond, beyond & ~astral, chunk, row, low);
        }
        v_store(columns + at, code);
    }
}

/* --- codes in the order of the text -> [step][lane] ------------------------------------------------------------------ */

/* Transpose four matrices of 16 by 16 bytes, one in each quarter of the vectors. */
static inline void NAME(turn_16)(V *row)
{
    V next[16];
    uint32_t i, round;
    for (round = 0; round < 4; round++) {
        for (i = 0; i < 8; i++) {
            next[2 * i] = v_zip_low(row[i], row[i + 8]);
            next[2 * i + 1] = v_zip_high(row[i], row[i + 8]);
        }
        for (i = 0; i < 16; i++) row[i] = next[i];
    }
}

static void NAME(turn)(const uint8_t *codes, uint8_t *turned, uint32_t steps)
{
    uint32_t at, i;
    for (at = 0; at < steps; at += 16) {
        V row[16];
        for (i = 0; i < 16; i++) row[i] = v_gather(codes + (size_t)i * steps + at, 16 * (size_t)steps);
        NAME(turn_16)(row);
        for (i = 0; i < 16; i++) v_store(turned + (size_t)(at + i) * 64, row[i]);
    }
}

/* The high bits of [step][lane] -> bits in the order of the text. `doubled`: bit 6 instead. */
static inline void NAME(turn_back)(const uint8_t *states, uint8_t *bits, uint32_t steps, const int doubled)
{
    const size_t quarter = (size_t)steps * 2;
    uint32_t at, i;
    for (at = 0; at < steps; at += 16) {
        V row[16];
        for (i = 0; i < 16; i++) {
            row[i] = v_load(states + (size_t)(at + i) * 64);
            if (doubled) row[i] = v_add(row[i], row[i]);
        }
        NAME(turn_16)(row);
        for (i = 0; i < 16; i++) {
            uint64_t high = m_bits(m_high(row[i]));
            uint8_t *to = bits + (size_t)i * (steps / 8) + at / 8;
            put_16(to, high);
            put_16(to + quarter, high >> 16);
            put_16(to + 2 * quarter, high >> 32);
            put_16(to + 3 * quarter, high >> 48);
        }
    }
}

/* --- the two passes ---------------------------------------------------------------------------------------------------- */

/* Run all lanes from right to left, entering in `state`: writes the state behind each unit and its label. With `again`, stop
 * where nothing is new: 0, and the exits stay as they were. */
static inline int NAME(backward_run)(const bitlex_lanes *lanes, bitlex_lane_memory *memory, uint32_t steps, V state, int again,
                                     const uint32_t pages)
{
    const V offsets = v_load(lanes->column_offset), page_of = v_load(lanes->column_page);
    uint32_t i = steps;
    while (i-- > 0) {
        V code = v_load(memory->turned + (size_t)i * 64), index, page = code;
        uint8_t *behind = memory->states + (size_t)i * 64;
        if (again && m_all(m_equal(v_load(behind), state))) return 0;
        v_store(behind, state);
        index = v_add(pages <= 2 ? code : v_permute(offsets, code), state);
        if (pages > 2) page = v_permute(page_of, code);
        state = NAME(entry)(lanes->backward_next, index, code, page, pages);
        v_store(memory->codes + (size_t)i * 64, NAME(entry)(lanes->backward_label, index, code, page, pages));
    }
    v_store(memory->exits, state);
    return 1;
}

/* The states in which the lanes are left, if they are entered `warmup` steps before in `state`. */
static inline V NAME(backward_guess)(const bitlex_lanes *lanes, const bitlex_lane_memory *memory, uint32_t warmup, V state,
                                     const uint32_t pages)
{
    const V offsets = v_load(lanes->column_offset), page_of = v_load(lanes->column_page);
    while (warmup-- > 0) {
        V code = v_load(memory->turned + (size_t)warmup * 64);
        V index = v_add(pages <= 2 ? code : v_permute(offsets, code), state);
        state = NAME(entry)(lanes->backward_next, index, code, pages > 2 ? v_permute(page_of, code) : code, pages);
    }
    return state;
}

/* Run all lanes from left to right over their labels: writes the state after each unit, with what it put out. */
static inline int NAME(forward_run)(const bitlex_lanes *lanes, bitlex_lane_memory *memory, uint32_t from, uint32_t to, V state,
                                    int again, const uint32_t pages, const int drops)
{
    const V offsets = v_load(lanes->label_offset), page_of = v_load(lanes->label_page), flags = v_all(drops ? 0x3F : 0x7F);
    uint32_t i;
    for (i = from; i < to; i++) {
        V code = v_load(memory->codes + (size_t)i * 64), index;
        uint8_t *states = memory->states + (size_t)i * 64;
        index = v_add(pages <= 2 ? code : v_permute(offsets, code), drops ? v_and(state, flags) : state);
        state = NAME(entry)(lanes->forward_next, index, code, pages > 2 ? v_permute(page_of, code) : code, pages);
        if (again && m_all(m_equal(v_load(states), state))) return 0;
        v_store(states, state);
    }
    v_store(memory->exits, v_and(state, flags));
    return 1;
}

static int NAME(backward)(const bitlex_lanes *lanes, bitlex_lane_memory *memory, uint32_t steps, uint32_t warmup, int mode)
{
    const V entries = v_load(memory->entries);
    switch (lanes->backward_pages) {
#define CASE(pages) \
    if (mode == BITLEX_GUESS) { \
        v_store(memory->exits, NAME(backward_guess)(lanes, memory, warmup, entries, pages)); \
        return 1; \
    } \
    return NAME(backward_run)(lanes, memory, steps, entries, mode == BITLEX_AGAIN, pages)
    case 1: CASE(1);
    case 2: CASE(2);
    case 3: CASE(3);
    default: CASE(4);
#undef CASE
    }
}

static int NAME(forward)(const bitlex_lanes *lanes, bitlex_lane_memory *memory, uint32_t steps, uint32_t warmup, int mode)
{
    const V entries = v_load(memory->entries);
    const uint32_t from = mode == BITLEX_GUESS ? steps - warmup : 0;
    const int again = mode == BITLEX_AGAIN;
    if (lanes->machine->drops) {
        if (lanes->forward_pages <= 2) return NAME(forward_run)(lanes, memory, from, steps, entries, again, 2, 1);
        return NAME(forward_run)(lanes, memory, from, steps, entries, again, 8, 1);
    }
    switch (lanes->forward_pages) {
#define CASE(pages) return NAME(forward_run)(lanes, memory, from, steps, entries, again, pages, 0)
    case 1: CASE(1);
    case 2: CASE(2);
    case 3: CASE(3);
    case 4: CASE(4);
    case 5: CASE(5);
    case 6: CASE(6);
    default: CASE(8);
#undef CASE
    }
}

/* --- a block ----------------------------------------------------------------------------------------------------------- */

static void NAME(block)(const bitlex_lanes *lanes, bitlex_lane_memory *memory, const uint8_t *text, const uint8_t *end,
                        uint32_t encoding, uint32_t units, uint32_t backward, uint32_t *forward)
{
    uint32_t steps, i;
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
    settle(lanes, memory, steps, backward, lanes->machine->stages->backward_states, NAME(backward), -1);
    *forward = settle(lanes, memory, steps, *forward, lanes->machine->stages->forward_states, NAME(forward), 1);
    NAME(turn_back)(memory->states, (uint8_t *)memory->starts, steps, 0);
    if (lanes->machine->drops) NAME(turn_back)(memory->states, (uint8_t *)memory->drops, steps, 1);
    memory->words = steps; /* of BITLEX_LANES bits */
    memory->started = memory->dropped = 0;
    for (i = 0; i < steps; i++) {
        memory->started += (uint32_t)__builtin_popcountll(memory->starts[i]);
        if (lanes->machine->drops) memory->dropped += (uint32_t)__builtin_popcountll(memory->drops[i]);
    }
}

