/* parts.c - the part that is taken of a machine too large for lanes, next to the whole machine, on random ones.
 *
 *     parts ROUNDS SEED
 *
 * Both read the same columns from every state, and the same labels: all pairs of states that they are ever in at the same time are gone through.
 * A state of the part that is one of the whole must be the one in which that is, and a label that is one of the whole the one that it puts out.
 * Out: how many machines there were, and in how many the part was lost and found its way back; or the first difference and 1.
 */
#include "bitlex_lanes.c"

#include <stdio.h>
#include <stdlib.h>

#define MOST 300

static uint64_t seed;

static uint32_t below(uint32_t limit)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((seed >> 33) % limit);
}

static uint16_t of_backward[MOST * 64], of_label[MOST * 64], of_forward[MOST * 128];
static uint8_t of_output[MOST * 128];
static bitlex_part part;
static states_met met[2];
static uint8_t seen[MOST][BITLEX_SYMBOLS];
static uint32_t pairs[MOST * BITLEX_SYMBOLS][2];

/* Symbols that lead to one state from everywhere, or from most; that count, and start again; and any. */
static void random_next(uint16_t *next, uint32_t states, uint32_t symbols)
{
    uint32_t symbol, state;
    for (symbol = 0; symbol < symbols; symbol++) {
        const uint32_t kind = below(5), to = below(below(2) ? 3 : states) % states, but = below(states), limit = 1 + below(states);
        for (state = 0; state < states; state++) {
            uint32_t there = kind < 2 ? to : kind < 4 ? (state + 1) % limit : below(states);
            if (kind == 1 && state == but) there = below(states);
            next[state * symbols + symbol] = (uint16_t)(there * symbols);
        }
    }
}

static bitlex_stage random_stage(void)
{
    bitlex_stage stage;
    const int many = below(40) == 0; /* a label for each column: more than a part may have, so that there is no state of which it has all */
    uint32_t i;
    memset(&stage, 0, sizeof stage);
    stage.column_count = many ? 63 : 1 + below(below(4) ? 6 : 63);
    stage.label_count = many ? 63 + below(64) : 1 + below(below(4) ? 30 : 127);
    stage.backward_states = 1 + below(MOST);
    stage.forward_states = 1 + below(MOST);
    random_next(of_backward, stage.backward_states, stage.column_count);
    random_next(of_forward, stage.forward_states, stage.label_count);
    for (i = 0; i < stage.backward_states * stage.column_count; i++) {
        of_label[i] = (uint16_t)((i % stage.column_count + (!many && below(20) == 0 ? below(3) : 0)) % stage.label_count);
    }
    for (i = 0; i < stage.forward_states * stage.label_count; i++) of_output[i] = (uint8_t)below(2);
    stage.backward_next = of_backward;
    stage.backward_label = of_label;
    stage.forward_next = of_forward;
    stage.output = of_output;
    stage.backward_end = below(stage.backward_states) * stage.column_count;
    return stage;
}

static int fail(const char *what, uint32_t round)
{
    printf("machine %u: %s\n", round, what);
    return 0;
}

static void note(uint32_t state, uint32_t number, uint32_t *count)
{
    if (seen[state][number]) return;
    seen[state][number] = 1;
    pairs[*count][0] = state;
    pairs[(*count)++][1] = number;
}

/* *found: whether a column led from the lost state to another. */
static int same_backward(const bitlex_stage *stage, uint32_t round, int *found)
{
    const uint32_t columns = stage->column_count;
    uint32_t count = 0, i, column, state;
    memset(seen, 0, sizeof seen);
    for (state = 0; state < stage->backward_states; state++) note(state, number_in_part(part.backward, part.backward_states, state), &count);
    if (part.backward_states > 0 && part.backward[part.stage.backward_end / columns] != stage->backward_end / columns) {
        return fail("it ends in another state", round);
    }
    for (i = 0; i < count; i++) {
        if (pairs[i][1] >= part.stage.backward_states) return fail("a state that it does not have", round);
        for (column = 0; column < columns; column++) {
            const uint32_t of_whole = pairs[i][0] * columns + column, of_part = pairs[i][1] * columns + column;
            const uint32_t next = stage->backward_next[of_whole] / columns, number = part.backward_next[of_part] / columns;
            const uint32_t label = part.backward_label[of_part];
            if (number < part.backward_states && part.backward[number] != next) return fail("another state, backward", round);
            if (label < part.labels && part.label[label] != stage->backward_label[of_whole]) return fail("another label", round);
            if (label > part.labels || number >= part.stage.backward_states) return fail("a label or state that it does not have", round);
            if (pairs[i][1] < part.backward_states && label == part.labels) return fail("no label, and it is not lost", round);
            *found |= pairs[i][1] == part.backward_states && number < part.backward_states;
            note(next, number, &count);
        }
    }
    return 1;
}

static int same_forward(const bitlex_stage *stage, uint32_t round)
{
    const uint32_t labels = part.labels + 1;
    uint32_t state, label;
    if (part.forward_states == 0 || part.forward[0] != 0) return fail("it starts in another state", round);
    for (state = 0; state < part.stage.forward_states; state++) {
        for (label = 0; label < labels; label++) {
            const uint32_t next = part.forward_next[state * labels + label] / labels, out = part.output[state * labels + label];
            const uint32_t at = label < part.labels && state < part.forward_states ? part.forward[state] * stage->label_count + part.label[label] : 0;
            const int sure = state < part.forward_states && next < part.forward_states;
            if (next >= part.stage.forward_states) return fail("a state that it does not have, forward", round);
            if (sure != (out != 2)) return fail("doubt is not told, or told where there is none", round);
            if (sure && label == part.labels) return fail("no label, and it is sure", round);
            if (sure && part.forward[next] != stage->forward_next[at] / stage->label_count) return fail("another state, forward", round);
            if (sure && out != stage->output[at]) return fail("something else is put out", round);
        }
    }
    return 1;
}

int main(int count, char **arguments)
{
    static const uint32_t sizes[] = {12, 21, 64};
    const uint32_t rounds = count > 1 ? (uint32_t)strtoul(arguments[1], NULL, 10) : 100;
    uint16_t resets[BITLEX_SYMBOLS];
    uint32_t round, found = 0;
    seed = count > 2 ? strtoul(arguments[2], NULL, 10) : 1;
    for (round = 0; round < rounds; round++) {
        const bitlex_stage stage = random_stage();
        bitlex_machine machine;
        int way_back = 0;
        memset(&machine, 0, sizeof machine);
        machine.stage_count = 1;
        machine.stages = &stage;
        find_resets(resets, &stage);
        take_part(&part, &machine, resets, met, sizes[round % 3]);
        if (part.stage.backward_states > sizes[round % 3] || part.stage.forward_states > sizes[round % 3]) return !fail("too many states", round);
        if (!same_backward(&stage, round, &way_back) || !same_forward(&stage, round)) return 1;
        found += (uint32_t)way_back;
    }
    printf("%u machines, no difference, %u ways back\n", rounds, found);
    return 0;
}
