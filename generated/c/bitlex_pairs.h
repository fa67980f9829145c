/* bitlex_pairs.h - private: two code points a step, with plain look-ups. What bitlex.c does where there are no vector instructions, or too few
 * units for them.
 *
 * In: a machine of one stage. Out: tables that bitlex_accelerate makes, and loops over them that bitlex.c runs instead of its own.
 *
 *     backward   [two columns + state] -> the state on their left, and where the forward tables have their two labels
 *     forward    [two labels + state]  -> the state on their right, and two bits: at which of the two a piece starts
 *     points     [lead] -> [second byte] -> [third byte] -> column
 *
 * A step of an automaton is a look-up that waits for the one before, and some instructions around it; with two code points at a time, there
 * are half as many of both. The tables are squares of those of the machine: 363 and 2,925 entries for cl100k, 4,332 and 14,297 for o200k,
 * of which a text uses few.
 *
 * Characters of UTF-8 are decoded without a branch: each, of one byte to four, is a walk of three look-ups, in which bytes that do not
 * belong to it do not matter. How many characters there are in a block is known before, as they are the bytes that are not inside of one; so a
 * block is cut into six parts of equally many, which are decoded side by side. That each part ends where the next one starts proves that all
 * bytes passed over were inside of characters; what else may be wrong with UTF-8 leads to no column, and so do characters of four bytes
 * if the last one tells. Those are looked at one by one, and if it is the text that is wrong, the block is loaded by bitlex.c.
 */
#define NO_COLUMN 0xFF
/* Of a code point, in a byte: of four pairs the first is the highest, as the others are added behind. */
#define PLACE_OF_BIT(number) ((number) % 8 ^ 6)
#define UNKNOWN_COLUMN 0xFE

/* --- making the tables ------------------------------------------------------------------------------------------- */

/* Where the entries of a backward state are. The second of two columns counts 256, so that two bytes are an index: as many states as fit in
 * that stand between its entries and the next one's, and others behind all columns. */
static inline uint32_t place_of_state(const bitlex_pairs *pairs, const bitlex_stage *stage, uint32_t state)
{
    return state % pairs->row + state / pairs->row * stage->column_count * 256;
}

/* What becomes of two columns, the right one first, for every state. */
static int fill_backward_pairs(bitlex_pairs *pairs, const bitlex_stage *stage)
{
    const uint32_t columns = stage->column_count, labels = stage->label_count, states = stage->backward_states;
    uint32_t left, right, state;
    if (columns * 256 > BITLEX_BACKWARD_PAIRS) return 0;
    pairs->row = 256 / columns * columns;
    if (((columns * states - 1) / pairs->row + 1) * columns * 256 > BITLEX_BACKWARD_PAIRS) return 0;
    for (right = 0; right < columns; right++) {
        for (left = 0; left < columns; left++) {
            for (state = 0; state < columns * states; state += columns) {
                const uint32_t at = state + right, between = stage->backward_next[at] + left;
                const uint32_t to = right * 256 + left + place_of_state(pairs, stage, state);
                const uint32_t two = stage->backward_label[between] + stage->backward_label[at] * labels;
                pairs->backward_next[to] = (uint16_t)place_of_state(pairs, stage, stage->backward_next[between]);
                pairs->backward_labels[to] = (uint16_t)(two * stage->forward_states);
            }
        }
    }
    return 1;
}

/* What becomes of two labels, the left one first. */
static int fill_forward_pairs(bitlex_pairs *pairs, const bitlex_stage *stage)
{
    const uint32_t labels = stage->label_count, states = stage->forward_states;
    uint32_t left, right, state;
    if (states > 256 || labels * labels * states > BITLEX_FORWARD_PAIRS) return 0;
    for (right = 0; right < labels; right++) {
        for (left = 0; left < labels; left++) {
            for (state = 0; state < states; state++) {
                const uint32_t at = state * labels + left, between = stage->forward_next[at] + right;
                const uint32_t to = (left + right * labels) * states + state;
                pairs->forward_next[to] = (uint8_t)(stage->forward_next[between] / labels);
                pairs->starts[to] = (uint8_t)(stage->output[at] | stage->output[between] << 1);
            }
        }
    }
    return 1;
}

/* The walks of characters while they are made. Rows of 64 code points that are the same in stage2 are one. */
typedef struct {
    bitlex_pairs *pairs;
    const bitlex_machine *machine;
    uint32_t second, third;      /* how much of the two tables is in use */
    uint16_t one_column[256];    /* column -> the place in the third table where it is, whatever the byte; 0: nowhere yet */
    uint16_t ascii[256];         /* column -> the same in the second table */
    uint8_t common[BITLEX_ROWS]; /* row of stage2 -> its one column, or NO_COLUMN; UNKNOWN_COLUMN: nobody has asked yet */
    uint16_t rows[BITLEX_ROWS];  /* row of stage2 -> its place in the third table; 0: nowhere yet */
} walks;

static uint32_t column_at(const walks *w, uint32_t place) { return w->machine->stages->columns[w->machine->stage2[place]]; }

static uint32_t place_in_stage2(const bitlex_machine *m, uint32_t point)
{
    return ((uint32_t)m->stage1[point >> m->shift] << m->shift) + (point & ((1u << m->shift) - 1));
}

/* The one column of a row of 64 code points. */
static uint32_t common_column(walks *w, uint32_t place)
{
    const uint32_t column = column_at(w, place), known = place / 64 % BITLEX_ROWS;
    uint32_t i;
    if (place / 64 == known && w->common[known] != UNKNOWN_COLUMN) return w->common[known];
    for (i = 1; i < 64 && column_at(w, place + i) == column; i++) {}
    if (place / 64 == known) w->common[known] = (uint8_t)(i == 64 ? column : NO_COLUMN);
    return i == 64 ? column : NO_COLUMN;
}

/* The place in the third table for a column that two bytes tell. Where there is no room, here and below, no column is told. */
static uint32_t third_of_column(walks *w, uint32_t column)
{
    if (column != NO_COLUMN && w->one_column[column] == 0 && w->third + 256 <= BITLEX_THIRD_BYTES) {
        memset(w->pairs->third + w->third, (int)column, 256);
        w->one_column[column] = (uint16_t)w->third;
        w->third += 256;
    }
    return column == NO_COLUMN ? 0 : w->one_column[column];
}

/* And for a row of 64 entries, less the 128 that bytes inside a character have; the row itself is to be filled. */
static uint8_t *third_of_row(walks *w, uint32_t *place)
{
    *place = 0;
    if (w->third + 64 > BITLEX_THIRD_BYTES) return NULL;
    *place = w->third - 128;
    w->third += 64;
    return w->pairs->third + w->third - 64;
}

/* The place in the third table of the 64 code points from `point` on, by their last bytes. */
static uint32_t third_of_points(walks *w, uint32_t point)
{
    const uint32_t place = place_in_stage2(w->machine, point), known = place / 64, column = common_column(w, place);
    uint32_t found, i;
    uint8_t *row;
    if (column != NO_COLUMN) return third_of_column(w, column);
    if (known < BITLEX_ROWS && w->rows[known] != 0) return w->rows[known];
    row = third_of_row(w, &found);
    for (i = 0; row != NULL && i < 64; i++) row[i] = (uint8_t)column_at(w, place + i);
    if (known < BITLEX_ROWS) w->rows[known] = (uint16_t)found;
    return found;
}

/* The same of the 4,096 code points from `point` on, by the byte before the last, as far as that tells. */
static uint32_t third_of_rows(walks *w, uint32_t point)
{
    uint8_t columns[64], *row;
    uint32_t found, i;
    for (i = 0; i < 64; i++) columns[i] = (uint8_t)common_column(w, place_in_stage2(w->machine, point + 64 * i));
    for (i = 1; i < 64 && columns[i] == columns[0]; i++) {}
    if (i == 64) return third_of_column(w, columns[0]);
    row = third_of_row(w, &found);
    if (row != NULL) memcpy(row, columns, 64);
    return found;
}

/* The place in the second table of a byte that is a character. */
static uint32_t second_of_ascii(walks *w, uint32_t point)
{
    const uint32_t column = column_at(w, place_in_stage2(w->machine, point));
    uint32_t i;
    if (w->ascii[column] != 0 || w->second + 256 > BITLEX_SECOND_BYTES) return w->ascii[column];
    for (i = 0; i < 256; i++) w->pairs->second[w->second + i] = (uint16_t)third_of_column(w, column);
    w->ascii[column] = (uint16_t)w->second;
    w->second += 256;
    return w->ascii[column];
}

/* Both tables begin with 256 entries that tell nothing. */
ONCE static void fill_walks(bitlex_pairs *pairs, const bitlex_machine *m)
{
    uint32_t lead, i;
    walks w;
    memset(&w, 0, sizeof w);
    memset(w.common, UNKNOWN_COLUMN, sizeof w.common);
    w.pairs = pairs;
    w.machine = m;
    w.second = w.third = 256;
    memset(pairs->second, 0, sizeof pairs->second);
    memset(pairs->third, NO_COLUMN, sizeof pairs->third);
    for (lead = 0; lead < 256; lead++) {
        pairs->length[lead] = (uint8_t)(lead < 0xC2 || lead > 0xF4 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4);
        pairs->first[lead] = pairs->second;
        if (lead < 0xC2 || lead > 0xF4) continue;
        pairs->first[lead] = pairs->second + w.second - 128;
        for (i = 0; i < 64; i++) {
            uint16_t *to = pairs->second + w.second + i;
            if (lead < 0xE0) {
                *to = (uint16_t)third_of_column(&w, column_at(&w, place_in_stage2(m, (lead & 0x1F) << 6 | i)));
            } else if (lead < 0xF0) {
                const uint32_t point = (lead & 0x0F) << 12 | i << 6;
                if (!NOT_THREE(point)) *to = (uint16_t)third_of_points(&w, point);
            } else {
                const uint32_t point = (lead & 7) << 18 | i << 12;
                if (point >= 0x10000 && point < 0x110000) *to = (uint16_t)third_of_rows(&w, point);
            }
        }
        w.second += 64;
    }
    for (i = 0; i < 128; i++) pairs->first[i] = pairs->second + second_of_ascii(&w, i);
}

/* 0 if the machine is none for these loops, or too large. */
int bitlex_fill_pairs(bitlex_pairs *pairs, const bitlex_machine *m)
{
    uint32_t i;
    if (m->stage_count != 1 || m->drops || m->shift < 6) return 0;
    if (!fill_backward_pairs(pairs, m->stages) || !fill_forward_pairs(pairs, m->stages)) return 0;
    fill_walks(pairs, m);
    memset(pairs->places, 0, sizeof pairs->places);
    memset(pairs->count, 0, sizeof pairs->count);
    for (i = 0; i < 256 * 8; i++) {
        if (i / 8 >> PLACE_OF_BIT(i) & 1) pairs->places[i / 8][pairs->count[i / 8]++] = (uint16_t)(i % 8);
    }
    return 1;
}

/* --- UTF-8 -> columns --------------------------------------------------------------------------------------------- */

#define PARTS 6
#define CHUNK 64
#define MOST (BITLEX_BLOCK / PARTS + 1) /* characters of a part, but the last, which has up to five more */
#define LEAST_WALKS (BITLEX_LANES_FROM < CHUNK ? CHUNK : BITLEX_LANES_FROM) /* bytes: load_utf8 is faster if there are less, and */
#define MOSTLY_ASCII 24 /* if less than one in so many is inside of a character */

/* Bytes inside of characters, among 64: every compiler makes vectors of sums that are as wide as one. */
#define IS_INSIDE(byte) (((byte) & 0xC0) == 0x80)
static inline uint32_t count_inside(const uint8_t *text)
{
    uint8_t sums[16];
    uint64_t words[2];
    uint32_t i;
    for (i = 0; i < 16; i++) {
        sums[i] = (uint8_t)(IS_INSIDE(text[i]) + IS_INSIDE(text[16 + i]) + IS_INSIDE(text[32 + i]) + IS_INSIDE(text[48 + i]));
    }
    memcpy(words, sums, sizeof words);
    return (uint32_t)((words[0] + words[1]) * EACH(1) >> 56);
}

/* Four bytes, the first one lowest; where bytes are ordered so, compilers make one load of it. */
static inline uint32_t four_at(const uint8_t *p) { return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24; }

/* The character at a place, as number `to` of a part: where the next one is. Tables are named by what they are part of, as an address of
 * its own for each would take the registers that places need. */
#define WALK(at, k) \
    (bytes = four_at(text + (at)), lead = bytes & 0xFF, unit[to + (k) * MOST] = (uint16_t)(at), \
     column[to + (k) * MOST] = pairs->third[(size_t)pairs->first[lead][bytes >> 8 & 0xFF] + (bytes >> 16 & 0xFF)], \
     (at) += pairs->length[lead])

/* Columns and units of a part of a text, a block at most; 0 where load_utf8 must do it. A walk goes wrong on what is ill-formed, or is
 * written by another thread just now. But it takes no more steps than characters are counted, of four bytes at most: so it stays in the
 * text, if there is as much again `behind`, or else in a copy and zeros, where labels come later. Walks that end where they must have gone
 * from one unit to a later one, whatever the bytes were, and all that is looked up by a byte has an entry for each. */
static uint32_t load_by_walks(bitlex_cursor *c, const uint8_t *text, uint32_t length, uint64_t behind)
{
    const bitlex_pairs *pairs = &c->machine->lanes->pairs;
    uint8_t *copy = (uint8_t *)c->labels, *column = c->columns, last[CHUNK];
    uint16_t *unit = c->units, chars[BITLEX_BLOCK / CHUNK + 2];
    uint32_t n = 0, i, k, lead, seen, bytes;
    size_t start[PARTS], at0, at1, at2, at3, at4, at5, part, to, rest;
    uint64_t all = 0, word;
    if (behind < length + CHUNK) {
        memcpy(copy, text, length);
        memset(copy + length, 0, length < BITLEX_BLOCK / 2 ? length + CHUNK : sizeof c->labels - length);
        text = copy;
    }
    memset(last, 0, CHUNK);
    memcpy(last, text + length / CHUNK * CHUNK, length % CHUNK);
    for (i = 0; i < length; i += CHUNK) chars[i / CHUNK] = (uint16_t)(n += CHUNK - count_inside(i + CHUNK > length ? last : text + i));
    n -= i - length;
    chars[i / CHUNK - 1] = (uint16_t)n;
    if (n < PARTS || length - n < length / MOSTLY_ASCII) return 0;
    part = n / PARTS;
    for (i = k = 0; i < PARTS; i++) { /* each starts with character number i * part */
        while (chars[k] <= i * part) k++;
        seen = k == 0 ? 0 : chars[k - 1];
        for (start[i] = k * CHUNK; start[i] < length && (seen += (text[start[i]] & 0xC0) != 0x80) <= i * part; start[i]++) {}
    }
    at0 = start[0], at1 = start[1], at2 = start[2], at3 = start[3], at4 = start[4], at5 = start[5];
    for (to = 0; to < part; to++) {
        WALK(at0, 0);
        WALK(at1, 1);
        WALK(at2, 2);
        WALK(at3, 3);
        WALK(at4, 4);
        WALK(at5, 5);
    }
    for (rest = n - part * PARTS; rest > 0; rest--, to++) WALK(at5, 5);
    if (start[0] != 0 || at0 != start[1] || at1 != start[2] || at2 != start[3]) return 0;
    if (at3 != start[4] || at4 != start[5] || at5 != length) return 0;
    for (i = MOST, to = part; to < part * PARTS; i += MOST, to += part) {
        rest = i < (PARTS - 1) * MOST ? part : n - to;
        memmove(column + to, column + i, rest);
        memmove(unit + to, unit + i, rest * sizeof *unit);
    }
    for (i = 0; i < n; i += 8) { /* and what is behind, of no account */
        memcpy(&word, column + i, 8);
        all |= word;
    }
    for (i = 0; (all & EACH(0x80)) != 0 && i < n; i++) {
        if (i % 8 == 0) memcpy(&word, column + i, 8);
        if ((word & EACH(0x80)) == 0) {
            i |= 7; /* none of these eight */
            continue;
        }
        if (column[i] != NO_COLUMN) continue;
        lead = text[unit[i]];
        if ((lead & 0xC0) == 0x80) return 0;
        column[i] = look_up(table_of(c), bitlex_decode(text + unit[i], text + length, &k));
        if (k != pairs->length[lead]) return 0;
    }
    return n;
}

/* --- columns -> labels -> events ----------------------------------------------------------------------------------- */

#define PAIRS_PERIOD 12 /* 24 code points */
#define PAIRS_WARMUP 18

/* Two columns as an index. */
static inline size_t two_columns(const uint8_t *column) { return column[0] | (uint32_t)column[1] << 8; }

#define BACKWARD_PAIR(state, at) \
    (index = two_columns(column + 2 * (at)) + state, labels[at] = label[index], state = next[index])

static uint32_t backward_pairs_chain(const bitlex_cursor *c, uint16_t *labels, size_t from, size_t to, uint32_t state)
{
    const bitlex_pairs *pairs = &c->machine->lanes->pairs;
    const uint16_t *next = pairs->backward_next, *label = pairs->backward_labels;
    const uint8_t *column = c->columns;
    size_t index;
    while (to-- > from) BACKWARD_PAIR(state, to);
    return state;
}

/* Label n pairs, entering from the right in the state at a place. */
static void backward_pairs(bitlex_cursor *c, size_t n, uint32_t state)
{
    const bitlex_pairs *pairs = &c->machine->lanes->pairs;
    const uint16_t *next = pairs->backward_next, *label = pairs->backward_labels;
    const size_t part = n / (CHAINS * PAIRS_PERIOD) * PAIRS_PERIOD;
    const uint8_t *column = c->columns;
    uint16_t *labels = c->labels;
    size_t i, index;
    uint32_t s0, s1, s2, s3, guess0, guess1, guess2;
    if (part <= PAIRS_WARMUP) {
        backward_pairs_chain(c, labels, 0, n, state);
        return;
    }
    s0 = s1 = s2 = s3 = backward_pairs_chain(c, labels, CHAINS * part, n, state);
    for (i = part + PAIRS_WARMUP; i-- > part;) {
        s0 = next[two_columns(column + 2 * i) + s0];
        s1 = next[two_columns(column + 2 * (i + part)) + s1];
        s2 = next[two_columns(column + 2 * (i + part * 2)) + s2];
    }
    guess0 = s0;
    guess1 = s1;
    guess2 = s2;
    for (i = part; i-- > 0;) {
        BACKWARD_PAIR(s0, i);
        BACKWARD_PAIR(s1, i + part);
        BACKWARD_PAIR(s2, i + part * 2);
        BACKWARD_PAIR(s3, i + part * 3);
    }
    if (s3 != guess2) s2 = backward_pairs_chain(c, labels, part * 2, part * 3, s3);
    if (s2 != guess1) s1 = backward_pairs_chain(c, labels, part, part * 2, s2);
    if (s1 != guess0) backward_pairs_chain(c, labels, 0, part, s1);
}

#define FORWARD_PAIR(state, at) (index = labels[at] + state, state = next[index], starts[index])
#define NEXT_PAIR(state, at) (bits = 4 * bits + FORWARD_PAIR(state, at))
#define FOUR_PAIRS(state, at) \
    (bits = FORWARD_PAIR(state, at), NEXT_PAIR(state, (at) + 1), NEXT_PAIR(state, (at) + 2), NEXT_PAIR(state, (at) + 3), \
     out[(at) / 4] = (uint8_t)bits)

static uint32_t forward_pairs_chain(const bitlex_cursor *c, uint8_t *out, size_t from, size_t to, uint32_t state)
{
    const uint8_t *next = c->machine->lanes->pairs.forward_next, *starts = c->machine->lanes->pairs.starts;
    const uint16_t *labels = c->labels;
    uint32_t bits;
    size_t index;
    for (; from + 4 <= to; from += 4) FOUR_PAIRS(state, from);
    for (bits = 0; from < to; from++) bits |= (uint32_t)FORWARD_PAIR(state, from) << PLACE_OF_BIT(from * 2), out[from / 4] = (uint8_t)bits;
    return state;
}

/* The starts of pieces among n pairs as bits. */
static uint32_t forward_pairs(bitlex_cursor *c, uint8_t *out, size_t n, uint32_t state)
{
    const uint8_t *next = c->machine->lanes->pairs.forward_next, *starts = c->machine->lanes->pairs.starts;
    const size_t part = n / (CHAINS * PAIRS_PERIOD) * PAIRS_PERIOD;
    const uint16_t *labels = c->labels;
    size_t i, index;
    uint32_t bits, s0 = state, s1 = s0, s2 = s0, s3 = s0, guess1, guess2, guess3;
    if (part <= PAIRS_WARMUP) return forward_pairs_chain(c, out, 0, n, state);
    for (i = part - PAIRS_WARMUP; i < part; i++) {
        s1 = next[labels[i] + s1];
        s2 = next[labels[i + part] + s2];
        s3 = next[labels[i + part * 2] + s3];
    }
    guess1 = s1;
    guess2 = s2;
    guess3 = s3;
    for (i = 0; i < part; i += 4) {
        FOUR_PAIRS(s0, i);
        FOUR_PAIRS(s1, i + part);
        FOUR_PAIRS(s2, i + part * 2);
        FOUR_PAIRS(s3, i + part * 3);
    }
    if (s0 != guess1) s1 = forward_pairs_chain(c, out, part, part * 2, s0);
    if (s1 != guess2) s2 = forward_pairs_chain(c, out, part * 2, part * 3, s1);
    if (s2 != guess3) s3 = forward_pairs_chain(c, out, part * 3, part * 4, s2);
    return forward_pairs_chain(c, out, part * CHAINS, n, s3);
}

/* Bits of n code points -> events. Eight are stored for each byte, of which the next byte overwrites what is too much. */
static void events_of_bits(bitlex_cursor *c, const uint8_t *bits, uint32_t n)
{
    const bitlex_pairs *pairs = &c->machine->lanes->pairs;
    uint16_t *event = c->events;
    uint64_t base = 0, words[2];
    uint32_t i;
    for (i = 0; i < n; i += 8, bits++, base += ~UINT64_C(0) / 0xFFFF * 8) {
        memcpy(words, pairs->places[*bits], sizeof words);
        words[0] += base;
        words[1] += base;
        memcpy(event, words, sizeof words);
        event += pairs->count[*bits];
    }
    c->count = (uint32_t)(event - c->events);
    c->taken = 0;
}

/* Turn n loaded code points into events; the last one by itself, if their number is odd. */
static void run_pairs(bitlex_cursor *c, uint32_t n, uint32_t state)
{
    const bitlex_stage *stage = c->stage;
    const uint32_t odd = n % 2;
    uint32_t at, last = 0;
    uint8_t *bits = c->columns; /* which are labels by then */
    if (odd) {
        at = state + c->columns[n - 1];
        last = stage->backward_label[at];
        state = stage->backward_next[at];
    }
    backward_pairs(c, n / 2, place_of_state(&c->machine->lanes->pairs, stage, state));
    memset(bits + n / 8, 0, sizeof c->columns - n / 8 < 16 ? sizeof c->columns - n / 8 : 16);
    state = forward_pairs(c, bits, n / 2, c->forward / stage->label_count) * stage->label_count;
    if (odd) {
        at = state + last;
        bits[n / 8] |= (uint8_t)(stage->output[at] << PLACE_OF_BIT(n - 1));
        state = stage->forward_next[at];
    }
    c->forward = state;
    events_of_bits(c, bits, n);
}
