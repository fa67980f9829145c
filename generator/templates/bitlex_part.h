/* bitlex_part.h - private: lanes for a machine that has too many states for them, by a part of it.
 *
 * In: a machine, and how many states lanes are to have. Out: a machine of so many that does what it does in the states that texts are mostly in,
 * and says so where it is in doubt; and a function that settles what is in doubt, unit by unit, with the tables of the whole machine.
 *
 *     \s{512}(?!\S)|...|\s{1,2}(?!\S)|...     counts white space: 258 and 1,035 states, of which runs of up to twenty blanks need 62 each
 *
 * States are taken in the order in which they are met: first those that some column leads to from everywhere, then what these lead to, and so on.
 * What leads elsewhere leads to a state that stands for all others.
 *
 *   backward   one such state, *lost*. It may be any state that is not in the part, or that one of these leads to, and so on: so what leads to
 *              the same state from all of them leads there from it, too. That is the only state it can be then. Labels that are not the same in
 *              all of them are none.
 *   forward    up to four, each of which does what one state outside of the part does: others may do something else. A unit is in doubt if the
 *              state before it or after it is one of these; that is a flag of its own, where a machine that drops text has that. So what is
 *              before a run of such units is right, and so is the state there. With that, the run is gone through by the whole machine, and the
 *              state behind it must be the one that lanes found: then what follows was entered rightly, and is right, too.
 *
 * Invariant: what comes out is what the whole machine puts out. Where a label is none, or the state behind a run is another, the block is not
 * done, and is worked off by tables. Rejected: to do that wherever there is any doubt (Python is indented by more than twenty blanks somewhere in
 * half of all blocks); several such states backward (they would need the states there, which lanes do not keep).
 */
#define OTHERS 4 /* states that stand for others, forward */
#define NO_LABEL UINT16_MAX
#define MOST_STATES 0x4000 /* of the whole, each way */

/* States of the whole in the order in which they are met, and the number of each in this order. */
typedef struct {
    uint16_t order[MOST_STATES], number[MOST_STATES];
    uint32_t count;
} states_met;

typedef char bitlex_room_for_states[2 * sizeof(states_met) <= sizeof ((bitlex_lanes *)0)->slots ? 1 : -1]; /* while these are free */

static void meet(states_met *met, uint32_t state)
{
    if (met->number[state] != UINT16_MAX) return;
    met->number[state] = (uint16_t)met->count;
    met->order[met->count++] = (uint16_t)state;
}

static uint32_t label_in_part(const bitlex_part *p, uint32_t label)
{
    uint32_t i;
    for (i = 0; i < p->labels && p->label[i] != label; i++) {}
    return i;
}

/* The states of the backward automaton, at most `most`, and their labels: less than there may be symbols. */
BITLEX_ONCE void take_backward(bitlex_part *p, const uint16_t *resets, states_met *met, uint32_t most)
{
    const bitlex_stage *stage = p->whole->stages;
    const uint32_t columns = stage->column_count;
    uint32_t i, column;
    meet(met, stage->backward_end / columns);
    for (column = 0; column < columns; column++) {
        if (resets[column] != UINT16_MAX) meet(met, resets[column] / columns);
    }
    for (i = p->labels = p->backward_states = 0; i < met->count && i < most; i++) {
        const uint32_t state = met->order[i] * columns;
        for (column = 0; column < columns; column++) {
            const uint32_t label = stage->backward_label[state + column];
            if (label_in_part(p, label) < p->labels) continue;
            if (p->labels == BITLEX_SYMBOLS - 2) return; /* one is none, and one is the identity */
            p->label[p->labels++] = (uint16_t)label;
        }
        for (column = 0; column < columns; column++) meet(met, stage->backward_next[state + column] / columns);
        p->backward_states = i + 1;
    }
}

/* What it does when it is lost. `may`: states that it may be then, as a list, in memory that is free. */
BITLEX_ONCE void fill_lost(bitlex_part *p, const states_met *met, uint16_t *may, uint8_t *is)
{
    const bitlex_stage *stage = p->whole->stages;
    const uint32_t columns = stage->column_count, lost = p->backward_states;
    uint16_t to[BITLEX_SYMBOLS], label[BITLEX_SYMBOLS]; /* of each column, of all that were looked at; or UINT16_MAX */
    uint32_t count = 0, looked, state, column, i;
    for (state = 0; state < stage->backward_states; state++) {
        is[state] = met->number[state] >= lost; /* also what is never met */
        if (is[state]) may[count++] = (uint16_t)state;
    }
    for (column = 0; column < columns && count > 0; column++) {
        to[column] = (uint16_t)(stage->backward_next[may[0] * columns + column] / columns);
        label[column] = stage->backward_label[may[0] * columns + column];
        if (is[to[column]]) to[column] = UINT16_MAX;
    }
    for (looked = 0; looked < count; looked++) {
        for (column = 0; column < columns; column++) {
            const uint32_t at = may[looked] * columns + column, next = stage->backward_next[at] / columns;
            if (stage->backward_label[at] != label[column]) label[column] = NO_LABEL;
            if (next == to[column]) continue;
            for (i = to[column] == UINT16_MAX ? looked : 0; i <= looked; i++) { /* what the others lead to, it may be as well */
                const uint32_t other = stage->backward_next[may[i] * columns + column] / columns;
                if (!is[other]) {
                    is[other] = 1;
                    may[count++] = (uint16_t)other;
                }
            }
            to[column] = UINT16_MAX;
        }
    }
    for (column = 0; column < columns && count > 0; column++) {
        const uint32_t next = to[column] == UINT16_MAX ? lost : met->number[to[column]];
        p->backward_next[lost * columns + column] = (uint16_t)((next < lost ? next : lost) * columns);
        p->backward_label[lost * columns + column] = (uint16_t)label_in_part(p, label[column]); /* what is not there is the number behind */
    }
    p->stage.backward_states = lost + (count > 0);
}

/* Whether labels of the part lead from two states to the same states of it, or out of it. */
static int act_alike(const bitlex_part *p, const states_met *met, uint32_t one, uint32_t two)
{
    const bitlex_stage *stage = p->whole->stages;
    uint32_t i;
    for (i = 0; i < p->labels; i++) {
        const uint32_t a = met->number[stage->forward_next[one * stage->label_count + p->label[i]] / stage->label_count];
        const uint32_t b = met->number[stage->forward_next[two * stage->label_count + p->label[i]] / stage->label_count];
        if (a != b && (a < p->forward_states || b < p->forward_states)) return 0;
    }
    return 1;
}

BITLEX_ONCE void take_forward(bitlex_part *p, states_met *met, uint32_t most)
{
    const bitlex_stage *stage = p->whole->stages;
    const uint32_t labels = p->labels + 1;
    uint32_t others[OTHERS], count = 0, i, k, state;
    meet(met, 0);
    for (i = 0; i < met->count; i++) {
        for (k = 0; k < p->labels; k++) {
            meet(met, stage->forward_next[met->order[i] * stage->label_count + p->label[k]] / stage->label_count);
        }
    }
    p->forward_states = met->count < most ? met->count : most - OTHERS;
    for (i = p->forward_states; i < met->count && count < OTHERS; i++) {
        for (k = 0; k < count && !act_alike(p, met, met->order[i], others[k]); k++) {}
        if (k == count) others[count++] = met->order[i];
    }
    if (count == 0) others[count++] = 0; /* for what comes behind a label that is none */
    p->stage.forward_states = p->forward_states + count;
    for (i = 0; i < p->stage.forward_states; i++) {
        state = i < p->forward_states ? met->order[i] : others[i - p->forward_states];
        for (k = 0; k < labels; k++) {
            const uint32_t at = state * stage->label_count + (k < p->labels ? p->label[k] : 0);
            uint32_t next = k < p->labels ? met->number[stage->forward_next[at] / stage->label_count] : UINT16_MAX, other = 0;
            if (next >= p->forward_states) {
                if (k < p->labels) {
                    for (; other < count && !act_alike(p, met, stage->forward_next[at] / stage->label_count, others[other]); other++) {}
                }
                next = p->forward_states + (other < count ? other : 0);
            }
            p->forward_next[i * labels + k] = (uint16_t)(next * labels);
            p->output[i * labels + k] = i < p->forward_states && next < p->forward_states ? stage->output[at] : 2;
        }
    }
}

/* Whether a part may be taken of a machine. */
static int may_be_parted(const bitlex_machine *m)
{
    const bitlex_stage *stage = m->stages;
    return m->stage_count == 1 && !m->drops && m->shift >= 6 && m->cells <= BITLEX_SYMBOLS && stage->column_count < BITLEX_SYMBOLS &&
           stage->backward_states <= MOST_STATES && stage->forward_states <= MOST_STATES;
}

/* Take a part: what lanes are made for then, with `size` states each way at most. `free`: two of these, in memory that is. */
BITLEX_ONCE void take_part(bitlex_part *p, const bitlex_machine *m, const uint16_t *resets, states_met *free, uint32_t size)
{
    const bitlex_stage *stage = m->stages;
    const uint32_t columns = stage->column_count;
    uint32_t state, column, i;
    p->whole = m;
    p->machine = *m;
    p->machine.drops = 1; /* for what is in doubt */
    p->machine.stages = &p->stage;
    p->stage = *stage;
    p->stage.backward_next = p->backward_next;
    p->stage.backward_label = p->backward_label;
    p->stage.forward_next = p->forward_next;
    p->stage.output = p->output;
    memset(free->number, 0xFF, sizeof free->number);
    free->count = 0;
    take_backward(p, resets, free, size - 1);
    for (state = 0; state < p->backward_states; state++) {
        for (column = 0; column < columns; column++) {
            const uint32_t at = free->order[state] * columns + column, next = free->number[stage->backward_next[at] / columns];
            p->backward_next[state * columns + column] = (uint16_t)((next < p->backward_states ? next : p->backward_states) * columns);
            p->backward_label[state * columns + column] = (uint16_t)label_in_part(p, stage->backward_label[at]);
        }
        p->backward[state] = free->order[state];
    }
    p->stage.backward_end = 0; /* the first one */
    fill_lost(p, free, free[1].order, (uint8_t *)free[1].number);
    p->stage.label_count = p->labels + 1;
    memset(free->number, 0xFF, sizeof free->number);
    free->count = 0;
    take_forward(p, free, size);
    for (i = 0; i < p->forward_states; i++) p->forward[i] = free->order[i];
}

/* The number of a state in the part; of one that is not, that of the first that stands for others. */
static __attribute__((noinline)) uint32_t number_in_part(const uint16_t *states, uint32_t count, uint32_t state)
{
    uint32_t i;
    for (i = 0; i < count && states[i] != state; i++) {}
    return i;
}

/* The codes by which lanes know labels. */
BITLEX_ONCE void know_labels(bitlex_part *p, const uint8_t *code_of_label)
{
    uint32_t i;
    memset(p->label_of_code, 0xFF, sizeof p->label_of_code);
    for (i = 0; i < p->labels; i++) p->label_of_code[code_of_label[i]] = p->label[i];
    p->identity = code_of_label[p->labels + 1]; /* behind the one that is none */
}

/* The first bit that is set from bit `at` on, of bits that end with one that is. */
static uint32_t next_bit(const uint64_t *bits, uint32_t at)
{
    uint64_t word = bits[at / 64] & ~UINT64_C(0) << at % 64;
    while (word == 0) word = bits[(at = (at / 64 + 1) * 64) / 64];
    return at / 64 * 64 + first_bit(word);
}

/* Settle what is in doubt, of which memory->drops has a bit for each step of each lane: 1 if that can be done. *forward is a state of the whole
 * machine, before the block and then behind it. `starts`: the flag of a start. */
static __attribute__((noinline)) int settle_doubts(const bitlex_lanes *lanes, bitlex_lane_memory *memory, uint32_t steps, uint32_t *forward,
                                                   const uint8_t starts)
{
    const bitlex_part *p = lanes->part;
    const uint16_t *next = p->whole->stages->forward_next;
    const uint8_t *output = p->whole->stages->output;
    const uint32_t labels = p->whole->stages->label_count, end = (memory->used - 1) * steps + memory->rest, all = BITLEX_LANES * steps;
    uint64_t *doubts = memory->drops;
    uint32_t at, lane, step;
    uint8_t *cell; /* the state behind a unit, in lanes */
    doubts[all / 64] = 1; /* behind all lanes */
    for (at = next_bit(doubts, 0); at < all; at = next_bit(doubts, at)) {
        uint32_t state = *forward;
        lane = at / steps;
        step = at % steps;
        if (at > 0) {
            cell = memory->turned + (step > 0 ? (step - 1) * BITLEX_LANES + lane : (steps - 1) * BITLEX_LANES + lane - 1);
            state = p->forward[lanes->forward_state[*cell & lanes->forward_bits]];
        }
        state *= labels;
        do {
            const uint8_t code = memory->codes[step * BITLEX_LANES + lane];
            const uint32_t label = p->label_of_code[code];
            cell = memory->turned + step * BITLEX_LANES + lane;
            if (code != p->identity) { /* of a byte inside a character, which is not in doubt, but what is before and behind it may be */
                if (label == NO_LABEL) return 0;
                *cell |= output[state + label] == 1 ? starts : 0; /* lanes put out nothing but the doubt */
                state = next[state + label];
            }
            if (++step == steps) {
                step = 0;
                lane++;
            }
            at++;
        } while (at < end && ((doubts[at / 64] >> at % 64 & 1) != 0 || lanes->forward_state[*cell & lanes->forward_bits] >= p->forward_states));
        if (at == end) {
            *forward = state / labels;
            return 1;
        }
        if (p->forward[lanes->forward_state[*cell & lanes->forward_bits]] * labels != state) return 0;
    }
    cell = memory->turned + (size_t)(memory->rest - 1) * BITLEX_LANES + memory->used - 1;
    *forward = p->forward[lanes->forward_state[*cell & lanes->forward_bits]];
    return 1;
}
