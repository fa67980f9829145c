/* bitlex_lanes.c - the same machines, 64 parts of a block at a time, with vector instructions.
 *
 * A pass over a text is a chain: each state needs the one before. But a block can be cut into 64 parts ("lanes"), and 64
 * automata run side by side, one step of all of them being a look-up in a table of a few hundred entries, which a processor
 * with byte permutations does in a few instructions. What has to be settled:
 *
 *   codes      units -> columns, in the order of the text. Characters that share all bits but the last six share a row of
 *              the table of code points, so one look-up serves all of a vector's that do. Where bytes can be packed, a
 *              character of UTF-8 is one step, and its bit is put where it started when all is done.
 *   turn       the block as a matrix of lanes times steps is transposed, so that a step reads one vector.
 *   guesses    the states in which lanes are entered are guessed: by running every lane's neighbour for its last few
 *              steps. After the pass they are compared with the states in which neighbours were left. Where one differs,
 *              all lanes run again, entered rightly, until no state differs from the one before (automata forget quickly).
 *   halves     with AVX-512 the second half of all lanes runs beside the first, entered by another guess.
 *   twice      some machines do not forget: in some patterns a quote changes the meaning of all that follows. When one is
 *              caught at it, each lane is run with two guesses side by side, until one guess is right again.
 *   settle     a text can be made on which they forget nothing. Then each turn teaches what one more state leads to, lane by
 *              lane, and twice as many turns as there are states teach all there is to know: the time stays linear.
 *   part       a machine of too many states runs by those that texts are mostly in; what is in doubt then is settled by tables.
 *   bits       a unit's letter is a flag in its state; a vector's flags are a bit for each lane, and a matrix of bits is
 *              transposed back into the order of the text.
 *
 * An index is offset of symbol + state, within a page of 128 entries, with as many symbols on a page as fit. Symbols are kept
 * as codes: their offset, and in bit 7 the page, as long as there are two pages at most; else their number on the page (16 at
 * most), whose offset is looked up, and from bit 4 on the page; where there would be more than eight, see bitlex_classes.h. Bytes inside a
 * character that are not packed are a symbol of their own that changes no state (the identity).
 *
 * Rejected: one automaton whose vector is the whole function from states to states (a byte at a time); programs of and/or/not
 * over bit streams, found by search (none for some machines, and each to be proved anew, where this is one loop that reads the
 * tables already proved). docs/lanes.md has the argument in full.
 */
#include "bitlex_lanes.h"

#if !defined(BITLEX_NO_VECTORS) && defined(__GNUC__) && defined(__x86_64__)
#define BITLEX_X86 1
#include <immintrin.h>
#elif !defined(BITLEX_NO_VECTORS) && defined(__GNUC__) && defined(__aarch64__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define BITLEX_ARM 1
#include <arm_neon.h>
#endif

size_t bitlex_lanes_size(void) { return sizeof(bitlex_lanes) + 64; }

/* The state to which a column leads from everywhere, or UINT16_MAX if there is none. */
static void find_resets(uint16_t *resets, const bitlex_stage *stage)
{
    uint32_t column, state;
    for (column = 0; column < stage->column_count; column++) {
        const uint16_t *next = stage->backward_next + column;
        for (state = 1; state < stage->backward_states && next[state * stage->column_count] == next[0]; state++) {}
        resets[column] = state < stage->backward_states ? UINT16_MAX : next[0];
    }
}

/* Tables for what no vectors read, which on every tier are the short texts: two code points a step, if the machine is not too large. */
static bitlex_tier with_tables(bitlex_machine *m, bitlex_lanes *lanes, bitlex_tier tier)
{
    const int filled = bitlex_fill_pairs(&lanes->pairs, m);
    if (!filled) lanes->pairs.row = 0;
    lanes->resets = NULL;
    if (m->stage_count == 1 && m->stages->backward_states > BITLEX_AHEAD_STATES) {
        find_resets(lanes->reset_memory, m->stages);
        lanes->resets = lanes->reset_memory;
    }
    if (tier == BITLEX_PORTABLE) {
        lanes->part = NULL;
        lanes->block = NULL;
        lanes->walk = NULL;
        lanes->whole = NULL;
    }
    m->lanes = filled || lanes->resets != NULL || tier != BITLEX_PORTABLE ? lanes : NULL;
    return tier;
}

#if !defined(BITLEX_X86) && !defined(BITLEX_ARM)

bitlex_tier bitlex_accelerate(bitlex_machine *m, void *memory, bitlex_tier most)
{
    (void)most;
    return with_tables(m, (bitlex_lanes *)(void *)(((uintptr_t)memory + 63) & ~(uintptr_t)63), BITLEX_PORTABLE);
}

#else

#ifdef __OPTIMIZE__
#define BITLEX_INLINE static inline __attribute__((always_inline)) /* else numbers of rows are not constants */
#else
#define BITLEX_INLINE static inline /* all together they would need megabytes of stack */
#endif
#define BITLEX_ONCE static __attribute__((cold)) /* of what runs when a lexer is made, the code is to be small */
#define PREFETCH(p) __builtin_prefetch((const void *)((uintptr_t)(p) + BITLEX_BLOCK)) /* of the next block, or of nothing */
/* Of where the offsets of the next block will be, two lines for each word of bits: they take as much memory as a text of short pieces. Where
 * more than half of a word's bits are set, whoever stores them asks for what is between, too. */
#define FETCH_TO_WRITE(place) __builtin_prefetch((const void *)(place), 1)
#define PREFETCH_OFFSETS(out) (FETCH_TO_WRITE((uintptr_t)(out) + 8192), FETCH_TO_WRITE((uintptr_t)(out) + 8192 + 64))
#define COUNTING 32 /* blocks of which lanes are made for counters, after one in which the second run was wrong, too */
#define PATIENCE 3 /* blocks in which the first of two guesses proves right, until the second is no longer made */
#define WRONG 4    /* blocks in which guesses of few steps are right make up for one in which they are not; where what is not made up for */
#define TOO_WRONG (4 * WRONG) /* is so much, guesses are made of all steps */
#define WARY 64    /* for so many blocks */
#define LASTING 1024 /* blocks of which guesses start from the state of the border, after one in which states were not forgotten */
#define MIXED 8    /* blocks that are not tried as ASCII after one that was not; a try takes a fiftieth of a block */
#define TURNS 3    /* runs with two guesses, at most */
#ifndef BITLEX_WARMUP
#define BITLEX_WARMUP 12 /* a multiple of 1, 2, 3, 4, 6, 12: a run of equal characters is then guessed right even by a counter */
#endif
#ifndef BITLEX_LANE_STATES
#define BITLEX_LANE_STATES BITLEX_SYMBOLS
#endif
#define LEAST_STATES 12 /* of a part */
#define SHORT_WARMUP ((BITLEX_WARMUP + 1) / 2) /* steps of a guess that suffice, as a rule */

typedef int (*pass)(const bitlex_lanes *, bitlex_lane_memory *, uint32_t steps, uint32_t warmup, int mode);


static uint8_t code_of(const bitlex_lanes *lanes, uint32_t point)
{
    const bitlex_machine *m = lanes->machine;
    return lanes->cell_code[m->stage2[((uint32_t)m->stage1[point >> m->shift] << m->shift) + (point & ((1u << m->shift) - 1))]];
}

/* The 64 code points that begin with the bits of `chunk` and `row`, as cells. */
static inline const uint8_t *cells_of(const bitlex_machine *m, uint32_t chunk, uint32_t row)
{
    uint32_t point = chunk << 12 | (row & 63) << 6;
    return m->stage2 + ((uint32_t)m->stage1[point >> m->shift] << m->shift) + (point & ((1u << m->shift) - 1));
}

/* Codes by decoding one by one, from a unit that starts at `at` up to `to` or a little further: where the next one starts. */
static uint32_t read_slowly(const bitlex_lanes *lanes, uint8_t *codes, const uint8_t *text, const uint8_t *end, uint32_t at, uint32_t to)
{
    uint32_t length, i;
    for (; at < to; at += length) {
        codes[at] = code_of(lanes, bitlex_decode(text + at, end, &length));
        for (i = 1; i < length; i++) codes[at + i] = lanes->inside[text[at + i] & 0x3F];
    }
    return at;
}

/* Where the character starts that asks for more bytes than there are before `at`. */
static uint32_t last_lead(const uint8_t *text, uint32_t at)
{
    uint32_t back = 1;
    while (back < 3 && (text[at - back] & 0xC0) == 0x80) back++;
    return at - back;
}

/* --- settling ---------------------------------------------------------------------------------------------------- */

/* How lanes are entered and how their neighbours on the side of the first were left: the same? */
static int is_settled(const bitlex_lane_memory *memory, int direction)
{
    return direction > 0 ? memcmp(memory->entries + 1, memory->exits, memory->used - 1) == 0
                         : memcmp(memory->entries, memory->exits + 1, memory->used - 1) == 0;
}

static void enter_as_left(bitlex_lane_memory *memory, int direction)
{
    if (direction > 0) {
        memcpy(memory->entries + 1, memory->exits, memory->used - 1);
    } else {
        memcpy(memory->entries, memory->exits + 1, memory->used - 1);
    }
}

/* Of the lanes that have a part of the text, the first, second and so on that a pass enters. */
static uint32_t lane_at(const bitlex_lane_memory *memory, uint32_t i, int direction)
{
    return direction > 0 ? i : memory->used - 1 - i;
}

/* What is known of a pass that is not settled: where each lane leads from each state, and in which states lanes were left. */
typedef struct {
    uint8_t leads[BITLEX_LANES][BITLEX_SYMBOLS];
    uint64_t seen;
} knowledge;

static void learn(knowledge *known, const bitlex_lane_memory *memory)
{
    uint32_t lane;
    for (lane = 0; lane < memory->used; lane++) {
        known->leads[lane][memory->entries[lane]] = memory->exits[lane];
        known->seen |= UINT64_C(1) << memory->exits[lane];
    }
}

/* Enter the lanes as they must be, as far as that is known; 1 if it is known of all. In the others a state is tried in which some
 * lane was left, and that was not tried there. */
static int enter_by_knowledge(const knowledge *known, bitlex_lane_memory *memory, uint32_t state, int direction)
{
    uint32_t i, s;
    int sure = 1;
    for (i = 0; i < memory->used; i++) {
        const uint32_t lane = lane_at(memory, i, direction);
        const uint8_t *leads = known->leads[lane];
        if (!sure) {
            for (s = 0; s < BITLEX_SYMBOLS && !(known->seen >> s & 1 && leads[s] == BITLEX_LOOK_DEEPER); s++) {}
            if (s < BITLEX_SYMBOLS) memory->entries[lane] = (uint8_t)s;
            continue;
        }
        memory->entries[lane] = (uint8_t)state;
        sure = leads[state] != BITLEX_LOOK_DEEPER;
        state = leads[state];
    }
    return sure;
}

/* A guess was wrong: in the lanes, or in their halves. */
static void note_wrong(bitlex_doubt *of)
{
    of->wrong += WRONG;
    if (of->wrong < TOO_WRONG) return;
    of->wrong = TOO_WRONG / 2;
    of->wary = WARY;
}

/* Guess how the lanes are entered, but the first, which is entered in `state`. From one that texts are often in, fewer guesses are wrong than
 * from that of the border, as a rule: in code, where a line may end there, o200k ran one block of five again. Where states last, it is the
 * other way round. */
static void guess(const bitlex_lanes *lanes, bitlex_lane_memory *memory, uint32_t steps, uint32_t state, pass run, int direction)
{
    bitlex_doubt *of = memory->doubts + (direction > 0);
    const uint32_t warmup = of->wary > 0 ? BITLEX_WARMUP : SHORT_WARMUP;
    if (of->wary > 0) of->wary--;
    else if (of->wrong > 0) of->wrong--;
    memset(memory->entries, of->lasting > 0 ? (int)state : lanes->usual[direction > 0], BITLEX_LANES);
    of->lasting -= of->lasting > 0;
    /* The text ends before the last lane does: there, or in the steps of a guess for its middle, the state is that behind the text. */
    if (direction < 0 && memory->rest < steps / 2 + warmup) memory->entries[memory->used - 1] = (uint8_t)state;
    run(lanes, memory, steps, steps < warmup ? steps : warmup, BITLEX_GUESS);
    enter_as_left(memory, direction);
    memory->entries[lane_at(memory, 0, direction)] = (uint8_t)state;
}

/* Two states in which a lane was left, one rightly: the machine tells them apart for longer than a lane. */
static void doubt(bitlex_doubt *of, uint32_t one, uint32_t two)
{
    of->states[0] = (uint8_t)one;
    of->states[1] = (uint8_t)two;
}

/* Follow the lanes, run with two guesses each, from the state in which the first is entered: 1, and *state behind the last, if one guess
 * was right in each; memory->chosen has the lanes in which it was the second. If not, the state becomes the first guess, and is taken to
 * lead where the wrong one did. */
static int follow(bitlex_lane_memory *memory, const uint8_t *second, uint32_t *state, int direction)
{
    uint32_t lane = lane_at(memory, 0, direction), at = *state, i;
    int right = 1;
    memory->chosen = 0;
    for (i = 0; i < memory->used; i++, lane += (uint32_t)direction) {
        if (at != memory->entries[lane]) {
            if (at == second[lane]) {
                memory->chosen |= UINT64_C(1) << lane;
                at = memory->others[lane];
                continue;
            }
            memory->entries[lane] = (uint8_t)at;
            right = 0;
        }
        at = memory->exits[lane];
    }
    *state = at;
    return right;
}

/* Run a pass with two guesses for each lane and take the one that proves right: 1, if each lane has one. Lanes in which none is are entered
 * as their neighbours were left, and run again until nothing is new. */
static int settle_twice(const bitlex_lanes *lanes, bitlex_lane_memory *memory, uint32_t steps, uint32_t entry, pass run, int direction)
{
    const uint32_t first = lane_at(memory, 0, direction), last = lane_at(memory, memory->used - 1, direction);
    bitlex_doubt *of = memory->doubts + (direction > 0);
    uint8_t second[BITLEX_LANES];
    uint32_t state, turn;
    memset(memory->entries, of->states[0], BITLEX_LANES);
    memset(memory->others, of->states[1], BITLEX_LANES);
    if (!run(lanes, memory, steps, steps < BITLEX_WARMUP ? steps : BITLEX_WARMUP, BITLEX_TWICE)) return 0;
    enter_as_left(memory, direction);
    if (direction > 0) memmove(memory->others + 1, memory->others, BITLEX_LANES - 1);
    else memmove(memory->others, memory->others + 1, BITLEX_LANES - 1);
    memory->entries[first] = memory->others[first] = (uint8_t)entry;
    memcpy(second, memory->others, sizeof second);
    run(lanes, memory, steps, 0, BITLEX_TWICE);
    for (turn = 0; turn < TURNS; turn++) {
        state = entry;
        if (follow(memory, second, &state, direction)) {
            of->blocks = memory->chosen != 0 ? PATIENCE : of->blocks - 1;
            /* Two states are kept while they serve; the one that is right more often comes first, as others lead to it. */
            if (turn > 1 && memory->exits[last] != memory->others[last]) doubt(of, memory->exits[last], memory->others[last]);
            if (2 * (uint32_t)__builtin_popcountll(memory->chosen) > memory->used) doubt(of, of->states[1], of->states[0]);
            memory->exits[last] = (uint8_t)state;
            return run(lanes, memory, steps, 0, BITLEX_CHOOSE);
        }
        run(lanes, memory, steps, 0, turn == 0 ? BITLEX_SECOND : BITLEX_AGAIN);
    }
    of->blocks = 0;
    return 0;
}

/* Run a pass over all lanes, the first of which is entered in `state`; the state in which the last one is left. */
static uint32_t settle(const bitlex_lanes *lanes, bitlex_lane_memory *memory, uint32_t steps, uint32_t state, pass run, int direction)
{
    const uint32_t last = lane_at(memory, memory->used - 1, direction);
    bitlex_doubt *of = memory->doubts + (direction > 0);
    knowledge known;
    uint32_t lane, one = 0, two = 0;
    int sure = 0;
    if (of->blocks > 0 && settle_twice(lanes, memory, steps, state, run, direction)) return memory->exits[last];
    guess(lanes, memory, steps, state, run, direction);
    run(lanes, memory, steps, 0, BITLEX_FIRST);
    if (is_settled(memory, direction)) return memory->exits[last];
    note_wrong(of);
    memset(known.leads, BITLEX_LOOK_DEEPER, sizeof known.leads);
    known.seen = 0;
    learn(&known, memory);
    for (lane = 1; lane < memory->used; lane++) {
        const uint32_t exit = memory->exits[direction > 0 ? lane - 1 : lane], entry = memory->entries[direction > 0 ? lane : lane - 1];
        if (exit != entry) one = exit, two = entry;
    }
    if (memcmp(memory->entries, memory->exits, memory->used) == 0) { /* nothing is forgotten: that is a run of blanks, say */
        memset(memory->entries, (int)state, memory->used);
        of->lasting = LASTING;
    } else {
        enter_as_left(memory, direction);
    }
    run(lanes, memory, steps, 0, BITLEX_SECOND);
    if (!is_settled(memory, direction)) {
        doubt(of, one, two);
        of->blocks = PATIENCE;
        of->lasting = LASTING;
        memory->counting = COUNTING;
    }
    while (!sure && !is_settled(memory, direction)) {
        learn(&known, memory);
        sure = enter_by_knowledge(&known, memory, state, direction);
        run(lanes, memory, steps, 0, BITLEX_AGAIN);
    }
    return memory->exits[last];
}

/* --- a part of a machine -------------------------------------------------------------------------------------------- */

#include "bitlex_part.h"

/* --- instruction sets ---------------------------------------------------------------------------------------------- */

#include "bitlex_classes.h"

#ifdef BITLEX_X86
#include "bitlex_terms.h"
#include "bitlex_products.h"
#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi,avx512vbmi2,bmi,bmi2,popcnt"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC optimize("align-loops=32", "align-functions=64") /* of what is a step, 5 % may depend on it; and on what is before it, 4 % */
#pragma GCC target("avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi,avx512vbmi2,bmi,bmi2,popcnt")
#endif
#include "bitlex_avx512.h"
#ifdef __clang__
#pragma clang attribute pop
#pragma clang attribute push(__attribute__((target("avx2,bmi,bmi2,popcnt"))), apply_to = function)
#else
#pragma GCC pop_options
#pragma GCC push_options
#pragma GCC target("avx2,bmi,bmi2,popcnt")
#endif
#include "bitlex_avx2.h"
#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif

#ifdef BITLEX_ARM
#include "bitlex_neon.h"
#endif

/* --- preparing a machine --------------------------------------------------------------------------------------------- */

/* Pages by states: as many symbols on each as there is room for. By classes, if that would make more than eight. */
BITLEX_ONCE void place(placement *p, automaton *a)
{
    uint32_t each = BITLEX_PAGE / a->states, pages = (a->symbols + each - 1) / each, i;
    memset(p, 0, sizeof *p);
    if (pages > 2 && each > 16) {
        each = 16;
        pages = (a->symbols + 15) / 16;
    }
    for (i = 0; i < a->states; i++) p->class_of[0][i] = (uint8_t)i;
    for (i = 0; i < a->symbols; i++) {
        p->page[i] = (uint8_t)(i / each);
        p->offset[i] = (uint8_t)(i % each * a->states);
        p->code[i] = (uint8_t)(pages <= 2 ? p->offset[i] | (uint32_t)p->page[i] << 7 : i % each | (uint32_t)p->page[i] << 4);
    }
    p->rows = 8 * (pages - 1) + (p->offset[a->symbols - 1] + a->states + 15) / 16;
    if (pages <= 8) return;
    for (i = 0; i < a->symbols; i++) p->code[i] = (uint8_t)i;
    p->rows = 64 + (place_by_classes(a, p) + 7) / 8 * 64;
}

/* What vectors read of it. */
BITLEX_ONCE void fill_places(bitlex_places *to, const placement *p, const automaton *a)
{
    uint32_t i, state;
    for (i = 0; i < 64; i++) to->offset[i] = p->offset[p->rows > 64 ? i : i % 16];
    for (i = 0; i < a->symbols; i++) to->place[i] = (uint8_t)(p->page[i] | PLACE_OF_GROUP(p->group[i]));
    for (i = 0; i < GROUPS; i++) {
        for (state = 0; state < a->states; state++) to->classes[i / 2][i % 2 * 64 + state] = p->class_of[i][state];
    }
}

/* The code that the 512 code points from `point` on have in common. */
static uint8_t common_code(const bitlex_lanes *lanes, uint32_t point)
{
    const uint8_t code = code_of(lanes, point);
    uint32_t i;
    for (i = 1; i < 512 && code_of(lanes, point + i) == code; i++) {}
    return i == 512 ? code : BITLEX_LOOK_DEEPER;
}

/* The same of all `count` of them, as far as blocks of the table of code points tell: looking at each would take milliseconds. */
static uint8_t code_of_blocks(const bitlex_lanes *lanes, uint32_t point, uint32_t count)
{
    const bitlex_machine *m = lanes->machine;
    const uint32_t size = 1u << m->shift, code = code_of(lanes, point);
    uint32_t at, i, known = UINT32_MAX;
    if (size > count) return BITLEX_LOOK_DEEPER;
    for (at = 0; at < count; at += size) {
        const uint32_t block = m->stage1[(point + at) >> m->shift];
        if (block == known) continue;
        known = block;
        for (i = 0; i < size && code_of(lanes, point + at + i) == code; i++) {}
        if (i < size) return BITLEX_LOOK_DEEPER;
    }
    return (uint8_t)code;
}

BITLEX_ONCE void fill_codes(bitlex_lanes *lanes, const uint8_t *code_of_column)
{
    const bitlex_machine *m = lanes->machine;
    uint32_t i;
    lanes->identity = code_of_column[m->stages->column_count];
    for (i = 0; i < m->cells; i++) lanes->cell_row[i] = lanes->cell_code[i] = code_of_column[m->stages->columns[i]];
    for (i = 0; i < 64; i++) {
        lanes->inside_row[i] = lanes->inside[i] = m->continuation != NULL ? lanes->cell_code[m->continuation[i]] : (uint8_t)lanes->identity;
    }
    for (i = 0; i < 256; i++) lanes->direct[i] = code_of(lanes, i);
    for (i = 0; i < 256; i++) lanes->stretch[i / 128][i % 128] = common_code(lanes, i << 9);
    for (i = 0; i < 256; i++) lanes->chunk[i] = code_of_blocks(lanes, i << 12, 1u << 12);
    lanes->last_plane = code_of_blocks(lanes, 0x100000, 0x10000);
    lanes->replacement = code_of(lanes, 0xFFFD);
}

/* What comes of a symbol in a state, also of the last one, the identity: the next state, and flags for what is put out. */
static uint8_t forward_next(const bitlex_stage *stage, uint32_t label, uint32_t state, uint32_t spare)
{
    const uint32_t at = state * stage->label_count + label;
    uint32_t flags;
    if (label == stage->label_count) return (uint8_t)state;
    flags = stage->output[at] == 1 ? 0x80u : stage->output[at] == 2 ? 0x40u : 0;
    return (uint8_t)(stage->forward_next[at] / stage->label_count | flags >> spare);
}

static uint8_t backward_next(const bitlex_stage *stage, uint32_t column, uint32_t state)
{
    if (column == stage->column_count) return (uint8_t)state;
    return (uint8_t)(stage->backward_next[state * stage->column_count + column] / stage->column_count);
}

static uint32_t backward_label(const bitlex_stage *stage, uint32_t column, uint32_t state)
{
    return column == stage->column_count ? stage->label_count : stage->backward_label[state * stage->column_count + column];
}

/* The state to which most symbols lead, from whatever state. */
BITLEX_ONCE uint32_t usual_target(const bitlex_stage *stage, int direction)
{
    const uint32_t symbols = direction > 0 ? stage->label_count : stage->column_count;
    const uint32_t states = direction > 0 ? stage->forward_states : stage->backward_states;
    uint32_t times[BITLEX_SYMBOLS] = {0}, most = 0, symbol, state;
    for (state = 0; state < states; state++) {
        for (symbol = 0; symbol < symbols; symbol++) {
            times[direction > 0 ? forward_next(stage, symbol, state, 0) & (BITLEX_SYMBOLS - 1) : backward_next(stage, symbol, state)]++;
        }
    }
    for (state = 1; state < states; state++) most = times[state] > times[most] ? state : most;
    return most;
}

BITLEX_ONCE void fill_pages(bitlex_lanes *lanes)
{
    const bitlex_stage *stage = lanes->machine->stages;
    placement column, label;
    automaton a;
    uint32_t symbol, state, i;
    for (i = 0; i < BITLEX_SYMBOLS; i++) {
        lanes->backward_number[i] = lanes->backward_state[i] = lanes->forward_number[i] = lanes->forward_state[i] = (uint8_t)i;
    }
    a.states = stage->forward_states;
    a.symbols = stage->label_count + 1;
    for (symbol = 0; symbol < a.symbols; symbol++) {
        for (state = 0; state < a.states; state++) a.does[symbol][state] = forward_next(stage, symbol, state, 0);
    }
    place(&label, &a);
    lanes->forward_bits = lanes->machine->drops ? 0x3F : 0x7F;
    lanes->forward_rows = label.rows;
    fill_places(&lanes->labels, &label, &a);
#ifdef BITLEX_X86
    fill_usual(lanes->usual_right, &a, label.code);
#endif
    for (symbol = 0; symbol < a.symbols; symbol++) {
        uint8_t *next = lanes->forward_next[label.page[symbol]] + label.offset[symbol];
        for (state = 0; state < a.states; state++) next[label.class_of[label.group[symbol]][state]] = (uint8_t)a.does[symbol][state];
    }
    a.states = stage->backward_states;
    a.symbols = stage->column_count + 1;
    for (symbol = 0; symbol < a.symbols; symbol++) {
        for (state = 0; state < a.states; state++) {
            a.does[symbol][state] = (uint16_t)(label.code[backward_label(stage, symbol, state)] << 8 | backward_next(stage, symbol, state));
        }
    }
    place(&column, &a);
    lanes->backward_rows = column.rows;
    fill_places(&lanes->columns, &column, &a);
#ifdef BITLEX_X86
    fill_usual(lanes->usual_left, &a, column.code);
    memcpy(lanes->column_code, column.code, stage->column_count);
#endif
    for (symbol = 0; symbol < a.symbols; symbol++) {
        const uint8_t *class_of = column.class_of[column.group[symbol]];
        for (state = 0; state < a.states; state++) {
            lanes->backward_next[column.page[symbol]][column.offset[symbol] + class_of[state]] = (uint8_t)a.does[symbol][state];
            lanes->backward_label[column.page[symbol]][column.offset[symbol] + class_of[state]] = (uint8_t)(a.does[symbol][state] >> 8);
        }
    }
    fill_codes(lanes, column.code);
    if (lanes->part != NULL) know_labels(lanes->part, label.code);
}

#ifdef BITLEX_X86
/* What the forward automaton does, with flags in bits 6 and 5; it does not matter what the identity does. */
static void forward_automaton(const bitlex_stage *stage, automaton *a)
{
    uint32_t symbol, state;
    a->states = stage->forward_states;
    a->symbols = stage->label_count + 1;
    for (symbol = 0; symbol < a->symbols; symbol++) {
        for (state = 0; state < a->states; state++) {
            a->does[symbol][state] = symbol < stage->label_count ? forward_next(stage, symbol, state, 1) : 0;
        }
    }
}

/* And the backward one, with the label in the upper byte. */
static void backward_automaton(const bitlex_stage *stage, automaton *a)
{
    uint32_t symbol, state;
    a->states = stage->backward_states;
    a->symbols = stage->column_count + 1;
    for (symbol = 0; symbol < a->symbols; symbol++) {
        for (state = 0; state < a->states; state++) {
            a->does[symbol][state] = (uint16_t)(backward_label(stage, symbol, state) << 8 | backward_next(stage, symbol, state));
        }
    }
}

static void keep_numbers(const uint8_t *numbers, uint32_t states, uint8_t *number, uint8_t *state)
{
    uint32_t i;
    for (i = 0; i < states; i++) state[number[i] = numbers[i]] = (uint8_t)i;
}

/* Fill the products of a machine that drops nothing: 0 if there are too many. Backward, the identity is a symbol if all are in one row, and
 * else for the label only. */
BITLEX_ONCE int fill_products(bitlex_lanes *lanes)
{
    const bitlex_stage *stage = lanes->machine->stages;
    uint8_t states[BITLEX_SYMBOLS], labels[BITLEX_SYMBOLS], numbers[BITLEX_SYMBOLS], codes[BITLEX_SYMBOLS], bits[4];
    uint32_t kind, backward_kind, bit_count, symbol, number[2], i;
    uint64_t telling;
    automaton a;
    mapping next = {&a, stage->label_count + 1, stage->forward_states, 0, 31, 0};
    mapping label = {&a, stage->column_count + 1, stage->label_count + 1, 8, 63, 0};
    mapping starts = {&a, stage->label_count + 1, 2, 6, 1, 0};
    factors f;
    space s;
    if (lanes->machine->drops || label.symbols > 32 || label.values > 32) return 0;
    if (stage->backward_states > 32 || stage->forward_states > 32) return 0;
    forward_automaton(stage, &a);
    telling = telling_of(&a);
    kind = kind_of(a.symbols, telling, a.states);
    if (kind == 1) label.first = telling;
    bit_count = kind == 1 ? 4 : 3; /* those above the number tell whether a piece starts; if the kind is 0, without bit 7 */
    f.count = find_numbers(&next, most_products[kind], states);
    fill_space(&starts, 2, &s);
    if (f.count * bit_count < s.count) f.count = (s.count + bit_count - 1) / bit_count;
    if (f.count > most_products[kind]) return 0;
    lanes->forward_rows = PRODUCTS(kind, f.count);
    lanes->forward_bits = kind > 1 ? 0x1F : 0x0F;
    keep_numbers(states, a.states, lanes->forward_number, lanes->forward_state);

    backward_automaton(stage, &a);
    telling = telling_of(&a);
    backward_kind = kind_of(a.symbols, telling, a.states);
    next.symbols = backward_kind == 0 ? a.symbols : a.symbols - 1;
    next.values = a.states;
    f.count = find_numbers(&label, most_products[backward_kind], labels);
    i = find_numbers(&next, most_products[backward_kind], numbers);
    if (i > f.count) f.count = i;
    if (f.count > most_products[backward_kind]) return 0;
    lanes->backward_rows = PRODUCTS(backward_kind, f.count);
    keep_numbers(numbers, a.states, lanes->backward_number, lanes->backward_state);
    number[1] = 0;
    number[0] = backward_kind == 1 ? (uint32_t)__builtin_popcountll(telling) : 0;
    for (symbol = 0; symbol < a.symbols; symbol++) codes[symbol] = code_of_number(number[backward_kind != 1 || telling >> symbol & 1]++);
    f.codes = codes;
    f.numbers = numbers;
    f.to = &lanes->backward_products;
    put_numbers(&f, &next, numbers, 0);
    f.to = &lanes->label_products;
    put_numbers(&f, &label, labels, 1);
    fill_codes(lanes, codes);

    forward_automaton(stage, &a);
    for (symbol = 0; symbol < a.symbols; symbol++) codes[symbol] = code_of_number(labels[symbol]);
    f.numbers = states;
    f.count = (lanes->forward_rows - PRODUCTS(0, 1)) % 8 + 1;
    f.to = &lanes->forward_products;
    next.symbols = a.symbols;
    next.values = a.states;
    put_numbers(&f, &next, states, 0);
    for (i = 0; i < 4; i++) bits[i] = (uint8_t)((kind == 0 ? 0x40 : 0x80) >> i);
    put_function(&f, &starts, 2, bits);
    for (i = 0; i < 16; i++) lanes->flags[0][i] = __builtin_parity(i & (kind > 1 ? 0xE : kind > 0 ? 0xF : 0x7)) ? 0x80 : 0;
    return 1;
}

/* Fill the terms: 0 if there are too many. In the backward automaton the identity is a symbol for what it puts out. */
static int fill_sums(bitlex_lanes *lanes)
{
    const bitlex_stage *stage = lanes->machine->stages;
    uint8_t labels[BITLEX_SYMBOLS], columns[BITLEX_SYMBOLS], unused;
    uint32_t symbol, state, i;
    automaton a;
    if (stage->forward_states > 32 && lanes->machine->drops) return 0; /* flags are bits 6 and 5 */
    forward_automaton(stage, &a);
    a.symbols--; /* no term is of the identity */
    lanes->forward_rows = fill_terms(&a, lanes->forward_terms, labels, labels + stage->label_count);
    if (lanes->forward_rows == 0) return 0;
    for (state = 0; state < a.states; state++) lanes->forward_state[lanes->forward_number[state] = a.number[state]] = (uint8_t)state;
    a.states = stage->backward_states;
    a.symbols = stage->column_count + 1;
    for (symbol = 0; symbol < a.symbols; symbol++) {
        for (state = 0; state < a.states; state++) {
            const uint32_t next = symbol == stage->column_count ? 0 : backward_next(stage, symbol, state);
            a.does[symbol][state] = (uint16_t)(labels[backward_label(stage, symbol, state)] << 8 | next);
        }
    }
    lanes->backward_rows = fill_terms(&a, lanes->backward_terms, columns, &unused);
    if (lanes->backward_rows == 0) return 0;
    for (state = 0; state < a.states; state++) lanes->backward_state[lanes->backward_number[state] = a.number[state]] = (uint8_t)state;
    fill_codes(lanes, columns);
    if (lanes->part != NULL) know_labels(lanes->part, labels);
    lanes->forward_bits = lanes->machine->drops ? 0x1F : 0x3F;
    for (i = 0; i < 16; i++) {
        lanes->flags[0][i] = (uint8_t)(i << 5 & 0x80);
        lanes->flags[1][i] = (uint8_t)(i << 6 & 0x80);
    }
    return 1;
}
#endif

static int fits(const bitlex_machine *m)
{
    const bitlex_stage *stage = m->stages;
    return m->stage_count == 1 && m->shift >= 6 && m->cells <= BITLEX_SYMBOLS && stage->column_count < BITLEX_SYMBOLS &&
           stage->label_count < BITLEX_SYMBOLS && stage->backward_states <= BITLEX_LANE_STATES &&
           stage->forward_states <= BITLEX_LANE_STATES;
}

/* Fill in what vectors read, for lanes->machine: what it will run on, BITLEX_PORTABLE if it does not fit. */
static bitlex_tier fill_lanes(bitlex_lanes *lanes, bitlex_tier most)
{
    const bitlex_machine *m = lanes->machine;
    bitlex_tier tier = BITLEX_PORTABLE;
    (void)most;
#ifdef BITLEX_X86
    if (most >= BITLEX_AVX512 && __builtin_cpu_supports("avx512vbmi2") && __builtin_cpu_supports("avx512vbmi") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq")) {
        tier = BITLEX_AVX512;
        fill_pages(lanes);
        prepare_two_bytes_avx512(lanes);
        fill_chunks_avx512(lanes);
        lanes->peek = peek_avx512;
        lanes->block = block_avx512;
        lanes->still = still_avx512;
        lanes->ends32 = ends32_avx512;
        lanes->ends64 = ends64_avx512;
        if (lanes->part == NULL) lanes->walk = walk_avx512;
        if (!m->drops && lanes->backward_rows <= MOST_BACKWARD_ROWS && lanes->forward_rows <= MOST_FORWARD_ROWS) lanes->whole = whole_avx512;
    } else if (most >= BITLEX_AVX2 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2") &&
               (fill_products(lanes) || fill_sums(lanes))) {
        tier = BITLEX_AVX2;
        lanes->peek = peek_avx2;
        lanes->block = block_avx2;
        lanes->still = still_avx2;
        lanes->ends32 = ends32_avx2;
        lanes->ends64 = ends64_avx2;
        prepare_tables_avx2(lanes);
    }
#endif
#ifdef BITLEX_ARM
    fill_pages(lanes);
    if (most >= BITLEX_NEON && lanes->backward_rows <= 8 * BITLEX_BACKWARD_PAGES && lanes->forward_rows <= 8 * BITLEX_FORWARD_PAGES) {
        tier = BITLEX_NEON;
        lanes->peek = peek_neon;
        lanes->block = block_neon;
        lanes->still = still_neon;
        lanes->ends32 = ends32_neon;
        lanes->ends64 = ends64_neon;
    }
#endif
    lanes->usual[0] = lanes->backward_number[usual_target(m->stages, -1)];
    lanes->usual[1] = lanes->forward_number[usual_target(m->stages, 1)];
    return tier;
}

bitlex_tier bitlex_accelerate(bitlex_machine *m, void *memory, bitlex_tier most)
{
    bitlex_lanes *lanes = (bitlex_lanes *)(void *)(((uintptr_t)memory + 63) & ~(uintptr_t)63);
    bitlex_tier tier = BITLEX_PORTABLE;
    uint32_t size;
    memset(lanes, 0, offsetof(bitlex_lanes, slots)); /* the rest is large */
    lanes->machine = m;
    lanes->part = NULL;
    if (fits(m)) return with_tables(m, lanes, fill_lanes(lanes, most));
    if (!may_be_parted(m)) return with_tables(m, lanes, BITLEX_PORTABLE);
    find_resets(lanes->reset_memory, m->stages);
    for (size = BITLEX_LANE_STATES; size >= LEAST_STATES && tier == BITLEX_PORTABLE; size -= size / 4) {
        memset(lanes, 0, offsetof(bitlex_lanes, slots));
        take_part(lanes->part = &lanes->part_memory, m, lanes->reset_memory, (states_met *)(void *)lanes->slots, size);
        lanes->machine = &lanes->part->machine;
        tier = fill_lanes(lanes, most);
    }
    return with_tables(m, lanes, tier);
}

#endif
