/* bitlex_stream.c - the pieces of a text that comes in parts. The interface and its promises are in bitlex_stream.h.
 *
 * The forward state at a place depends on what is before it alone (machines are canonical: architecture.md). Whether a piece starts there
 * depends on the backward state behind it, too, which what follows decides. So for each place that is not decided there is a set of
 * backward states: those with which a piece starts there, if what was read is followed by a text that leads to them. One more character
 * turns a set into that of the states which it leads into the set from. A set of all states is a start, an empty one is none, and both
 * are settled for good. With cl100k, a newline and then spaces: a piece starts behind the newline unless another newline follows, and one
 * at the last space unless a space does. However many spaces there are, these two places are open.
 *
 * That is done character by character only where parts meet: at the start of a part until no place is open, and at its end,
 * from where on all backward states are still possible. Between, the backward state at the end and the forward state at the start are
 * known, and bitlex.c runs it as any other text. Where it does so in lanes, these tell the backward state at the start, too, by which the
 * places that are open are settled.
 *
 * The forward state and the sets of the places that are open, in order, are a configuration. A machine gets into few of these, so a table has
 * them all, or the first of many, with what a column makes of each: the next one, which places are handed out, and which are open. The table is
 * made by doing each step once with sets, which so are all there is to define; a step that leads out of it is done with sets, too. A short
 * part is read by the table from end to end, which is one automaton instead of two, and needs to know nothing of what follows. With AVX-512, that
 * is done for 64 units at a time (bitlex_short.h).
 *
 * Invariant: sets are sets of states behind the last unit read. A place is handed out when it and all before it are settled. In a
 * configuration of the table, `forward`, `count` and places are as they would be, and sets and their numbers of places are not kept.
 */
#include "bitlex_lanes.h"

#define STATES 64
#define RUN 32   /* equal characters that are worth a look whether they change anything */
#define LONG_RUN 256 /* units of a part, for which they are where there is a table */
#define LOOK 128 /* units at the end of a part that are asked what settles the places that are open before it; mostly the first of them tells */
#define LITTLE 9 /* bytes that are few characters, unless they are ASCII */
#define SHORT 24 /* units that are not worth more than one step each */

#if defined(__GNUC__)
#define NOT_INLINE __attribute__((noinline)) /* so that those who do without it keep no registers for it */
#else
#define NOT_INLINE
#endif

#define NONE 0u  /* the numbers of the sets that are settled */
#define ALL 1u
#define MOST_SETS (BITLEX_STREAM_SETS + BITLEX_STREAM_MORE_SETS)
#define SET_BITS ((uint64_t)(MOST_SETS - 1) << 1) /* of a place: the number of its set */

#define CONFIGURATIONS 64 /* in a table, with as many columns, and places */
#define PLACES 2
#define NOT_TABLED 0xFFFF
#define TABLED 320 /* units that are read by the table where nothing is open; more are read as any other text is */
#define AHEAD 16   /* units that are looked up at once where something is */
#define WALK 16    /* units that are worth vector instructions: so many, */
#define WALK_REST 64 /* of the rest of a part, of which lanes read the beginning, so many, */
#define WALKED 640 /* and up to so many, behind which there are enough for lanes */
#define TAIL 24    /* characters at the end of a part, at most, that are read from right to left until they tell the backward state */

/* What a column does to a configuration: bits. */
#define START 1u        /* a piece starts at this place, and nothing is done to others */
#define PLACE_MOVES 2u  /* something is; and if so */
#define LEAVES BITLEX_LEAVES
#define FIRST_STARTS BITLEX_FIRST_STARTS
#define SECOND_STARTS BITLEX_SECOND_STARTS
#define FIRST_IS 5      /* which is open first now: 0 the first that was, 1 the second, 2 this: two of these bits */
#define SECOND_IS_HERE BITLEX_SECOND_IS_HERE
#define COUNT_IS 8      /* how many are */

/* What a column makes of a set of backward states, read from right to left: the number of another, or the one state that is left. */
#define SETTLINGS 32
#define TOLD 0x80u
#define UNKNOWN 0x7Fu /* a set of which there is no number */

struct bitlex_stream_table {
    uint32_t shift, count;
    size_t (*by_vectors)(bitlex_walker *w, const uint8_t *text, size_t length, bitlex_encoding encoding); /* of the machine's lanes, or NULL */
    struct {
        uint32_t forward, count;
        uint64_t sets[PLACES];
    } configurations[CONFIGURATIONS];
    uint16_t next[CONFIGURATIONS * STATES], does[CONFIGURATIONS * STATES]; /* [configuration << shift | column] */
    uint8_t settling[SETTLINGS * STATES]; /* [set << shift | column], from right to left; set 0 has all states */
    uint8_t walk[sizeof(bitlex_walk) + 63]; /* the same for vector instructions, at a multiple of 64 */
};

static bitlex_walk *walk_of(const bitlex_stream_table *t) { return (bitlex_walk *)(void *)(((uintptr_t)t->walk + 63) & ~(uintptr_t)63); }

int bitlex_stream_begin(bitlex_stream *s, const bitlex_machine *machine, uint64_t *more, size_t room)
{
    if (machine->stage_count != 1 || machine->stages->backward_states > STATES) return -1;
    memset(s, 0, sizeof *s);
    s->machine = machine;
    s->more = more;
    s->room = BITLEX_STREAM_OPEN + (uint32_t)(room < UINT32_MAX / 2 ? room : UINT32_MAX / 2);
    s->opened = machine->drops == 0;
    s->sets[ALL] = ~UINT64_C(0) >> (STATES - machine->stages->backward_states);
    s->set_count = 2;
    s->dropping = s->opened ? 0 : s->sets[ALL];
    s->configuration = NOT_TABLED;
    return 0;
}

static uint64_t *place(bitlex_stream *s, uint32_t i)
{
    return i < BITLEX_STREAM_OPEN ? s->open + i : s->more + BITLEX_STREAM_MORE_SETS + (i - BITLEX_STREAM_OPEN);
}

static uint64_t *set_at(bitlex_stream *s, uint32_t i) { return i < BITLEX_STREAM_SETS ? s->sets + i : s->more + (i - BITLEX_STREAM_SETS); }

static uint32_t set_of(uint64_t place) { return place >> 1 & (MOST_SETS - 1); }

/* A piece starts at a place, or dropped text does: how many offsets are stored. */
static size_t hand_out(bitlex_stream *s, uint64_t at, int drop, uint64_t *out)
{
    const uint64_t start = s->start;
    const int opened = s->opened;
    if (!s->machine->drops) {
        s->start = at;
        out[0] = at;
        return at > 0;
    }
    s->opened = !drop;
    if (!drop) s->start = at;
    if (!opened) return 0;
    out[0] = start;
    out[1] = at;
    return 2;
}

/* Hand out what is settled. Behind a place that is not, what is no place is left out only when the memory is needed. */
static size_t settle(bitlex_stream *s, uint64_t *out)
{
    uint32_t i, kept = 0;
    size_t n = 0;
    for (i = 0; i < s->count && set_of(*place(s, i)) <= ALL; i++) {
        if (set_of(*place(s, i)) == ALL) n += hand_out(s, *place(s, i) >> BITLEX_STREAM_SHIFT, (int)(*place(s, i) & 1), out + n);
    }
    if (i == 0) return 0;
    for (; i < s->count; i++) {
        if (set_of(*place(s, i)) != NONE) *place(s, kept++) = *place(s, i);
    }
    s->count = kept;
    if (kept == 0) s->set_count = 2;
    return n;
}

/* Have each place name the first of equal sets, and keep only sets that are named. */
static void renumber(bitlex_stream *s)
{
    uint8_t first[MOST_SETS], named[MOST_SETS] = {0};
    uint32_t i, j, kept = 0;
    for (i = 0; i < s->set_count; i++) {
        for (j = 0; *set_at(s, j) != *set_at(s, i); j++) {}
        first[i] = (uint8_t)j;
    }
    for (i = 0; i < s->count; i++) {
        uint64_t *at = place(s, i);
        const uint32_t set = first[set_of(*at)];
        if (set == NONE) continue;
        named[set] = 1;
        *at = (*at & ~SET_BITS) | (uint64_t)set << 1;
        *place(s, kept++) = *at;
    }
    s->count = kept;
    for (i = kept = 2; i < s->set_count; i++) {
        if (!named[i]) continue;
        *set_at(s, kept) = *set_at(s, i);
        first[i] = (uint8_t)kept++;
    }
    s->set_count = (uint8_t)kept;
    for (i = 0; i < s->count; i++) {
        uint64_t *at = place(s, i);
        if (set_of(*at) > ALL) *at = (*at & ~SET_BITS) | (uint64_t)first[set_of(*at)] << 1;
    }
}

static uint32_t column_of(const bitlex_machine *m, uint32_t point)
{
    const uint32_t low = point & ((1u << m->shift) - 1);
    return m->stages->columns[m->stage2[((uint32_t)m->stage1[point >> m->shift] << m->shift) + low]];
}

/* Remember a place. There is room for it. */
static void add(bitlex_stream *s, int drop, uint64_t set)
{
    uint32_t i;
    if (set == 0) return;
    for (i = 0; i < s->set_count && *set_at(s, i) != set; i++) {}
    if (i == s->set_count) *set_at(s, s->set_count++) = set;
    *place(s, s->count++) = s->length << BITLEX_STREAM_SHIFT | (uint64_t)i << 1 | (uint64_t)drop;
}

/* Whether there is room for the places of one more character. */
static int has_room(bitlex_stream *s)
{
    const uint32_t places = (s->machine->drops ? 2u : 1u) * (s->machine->continuation != NULL ? 4u : 1u);
    const uint32_t sets = s->more != NULL ? MOST_SETS : BITLEX_STREAM_SETS;
    if (s->configuration != NOT_TABLED) return 1;
    if (s->count + places > s->room || s->set_count + places > sets) {
        renumber(s);
        s->full = s->count + places > s->room || s->set_count + places > sets;
    }
    return !s->full;
}

/* The states that a column leads into a set from. */
static inline uint64_t pull(const uint8_t *before, uint32_t states, uint64_t set)
{
    uint64_t pulled = 0;
    uint32_t i;
    for (i = 0; i < states; i++) pulled |= (set >> before[i] & 1) << i;
    return pulled;
}

/* Read one character, or byte, of so many units, by sets: how many offsets are stored. There is room for two places more. */
static size_t step_sets(bitlex_stream *s, uint32_t column, uint32_t units, uint64_t *out)
{
    const bitlex_stage *stage = s->machine->stages;
    const uint64_t all = s->sets[ALL];
    const uint32_t states = stage->backward_states, columns = stage->column_count;
    uint64_t starts = 0, drops = 0;
    uint32_t i, at, forward = 0, settled = 0;
    size_t n = 0;
    uint8_t before[STATES];
    for (i = 0, at = column; i < states; i++, at += columns) {
        const uint32_t entry = s->forward + stage->backward_label[at], letter = stage->output[entry];
        before[i] = (uint8_t)(stage->backward_next[at] / columns);
        starts |= (uint64_t)(letter & 1) << i;
        drops |= (uint64_t)(letter >> 1) << i;
        forward = stage->forward_next[entry];
    }
    s->forward = forward;
    if (s->machine->drops) {
        const uint64_t dropping = pull(before, states, s->dropping);
        s->dropping = (dropping & ~starts) | drops;
        drops &= ~dropping;
    }
    if (s->count == 0 && drops == 0 && (starts == 0 || starts == all)) { /* nearly always */
        if (starts != 0) n = hand_out(s, s->length, 0, out);
        s->length += units;
        return n;
    }
    for (i = 2; i < s->set_count; i++) {
        uint64_t *set = set_at(s, i);
        *set = pull(before, states, *set);
        settled |= *set == 0 || *set == all;
    }
    add(s, 1, drops);
    add(s, 0, starts);
    s->length += units;
    if (settled) renumber(s);
    return s->count > 0 && set_of(*place(s, 0)) <= ALL ? settle(s, out) : 0;
}

/* --- by the table ------------------------------------------------------------------------------------------------------ */

/* Have sets again. */
static void leave_table(bitlex_stream *s)
{
    uint32_t i, number;
    if (s->configuration == NOT_TABLED) return;
    s->set_count = 2;
    for (i = 0; i < s->count; i++) {
        const uint64_t set = s->table->configurations[s->configuration].sets[i];
        number = set == s->sets[ALL] ? ALL : s->set_count;
        if (number != ALL) s->sets[s->set_count++] = set;
        s->open[i] = (s->open[i] & ~(SET_BITS | 1)) | (uint64_t)number << 1;
    }
    s->configuration = NOT_TABLED;
}

/* What columns, read from right to left, tell of the backward state. */
static void tabulate_settling(bitlex_stream_table *t, const bitlex_machine *machine)
{
    const bitlex_stage *stage = machine->stages;
    uint64_t sets[SETTLINGS] = {~UINT64_C(0) >> (STATES - stage->backward_states)};
    uint32_t i, column, state, last, found, count = 1;
    for (i = 0; i < count; i++) { /* which grows meanwhile */
        for (column = 0; column < stage->column_count; column++) {
            uint64_t set = 0;
            for (state = 0, last = 0; state < stage->backward_states; state++) {
                if (!(sets[i] >> state & 1)) continue;
                last = stage->backward_next[state * stage->column_count + column] / stage->column_count;
                set |= UINT64_C(1) << last;
            }
            for (found = 0; found < count && sets[found] != set; found++) {}
            if ((set & (set - 1)) == 0) found = TOLD | last;
            else if (found == SETTLINGS) found = UNKNOWN;
            else if (found == count) sets[count++] = set;
            t->settling[i << t->shift | column] = (uint8_t)found;
        }
    }
}

/* Which of a table this is, if it is there. */
static uint32_t find_configuration(bitlex_stream *s, const bitlex_stream_table *t)
{
    uint32_t i, place;
    for (i = s->count == 0 ? s->forward / s->machine->stages->label_count : 0; i < t->count; i++) {
        if (t->configurations[i].forward != s->forward || t->configurations[i].count != s->count) continue;
        for (place = 0; place < s->count && t->configurations[i].sets[place] == *set_at(s, set_of(s->open[place])); place++) {}
        if (place == s->count) return i;
    }
    return NOT_TABLED;
}

static void enter_table(bitlex_stream *s)
{
    s->configuration = (uint16_t)(s->table == NULL || s->count > PLACES ? NOT_TABLED : find_configuration(s, s->table));
}

/* What a column makes of a configuration, by doing it with the places 1 and 2, at place 3. */
static void tabulate(bitlex_stream_table *t, const bitlex_machine *machine, uint32_t configuration, uint32_t column)
{
    const uint32_t at = configuration << t->shift | column;
    uint32_t i, does = 0, next;
    uint64_t out[PLACES + 2];
    size_t n;
    bitlex_stream s;
    bitlex_stream_begin(&s, machine, NULL, 0);
    s.table = t;
    s.configuration = (uint16_t)configuration;
    s.forward = t->configurations[configuration].forward;
    s.count = t->configurations[configuration].count;
    for (i = 0; i < s.count; i++) s.open[i] = (uint64_t)(i + 1) << BITLEX_STREAM_SHIFT;
    s.length = PLACES + 1;
    leave_table(&s);
    n = step_sets(&s, column, 1, out);
    for (i = 0; i < n; i++) does |= out[i] == 1 ? FIRST_STARTS : out[i] == 2 ? SECOND_STARTS : START;
    next = s.count > PLACES ? NOT_TABLED : find_configuration(&s, t);
    if (next == NOT_TABLED && s.count <= PLACES && t->count < CONFIGURATIONS) {
        next = t->count++;
        t->configurations[next].forward = s.forward;
        t->configurations[next].count = s.count;
        for (i = 0; i < s.count; i++) t->configurations[next].sets[i] = *set_at(&s, set_of(s.open[i]));
    }
    for (i = 0; i < s.count && i < PLACES; i++) {
        const uint32_t is = (uint32_t)(s.open[i] >> BITLEX_STREAM_SHIFT) - 1;
        if (is != i) does |= PLACE_MOVES;
        does |= i == 0 ? is << FIRST_IS : is == PLACES ? SECOND_IS_HERE : 0;
    }
    if ((does & (FIRST_STARTS | SECOND_STARTS)) != 0 || s.count != t->configurations[configuration].count) does |= PLACE_MOVES;
    t->does[at] = (uint16_t)(next == NOT_TABLED ? PLACE_MOVES | LEAVES : does | s.count << COUNT_IS);
    t->next[at] = (uint16_t)(next == NOT_TABLED ? 0 : next << t->shift);
}

/* Whether the third of equal columns and all behind it do the same, whatever was before; and the guess does not lead there anyway. */
static int lasts(const bitlex_stream_table *t, uint32_t column, uint32_t guess)
{
    const uint32_t guessed = t->next[t->next[guess << t->shift | column] | column];
    uint32_t i, second, all = 0;
    for (i = 0; i < t->count; i++) {
        second = t->next[t->next[i << t->shift | column] | column];
        if (t->next[second | column] != second || (t->does[second | column] & LEAVES) != 0) return 0;
        all |= second ^ guessed;
    }
    return all != 0;
}

/* Whether the fourth of equal columns and all behind it lead to where the third before them did, whatever was before; and not all to one. */
static int counts(const bitlex_stream_table *t, uint32_t column)
{
    uint32_t i, first, second, all = 0;
    for (i = 0; i < t->count; i++) {
        first = t->next[i << t->shift | column];
        second = t->next[first | column];
        if (t->next[t->next[second | column] | column] != first || (t->does[i << t->shift | column] & LEAVES) != 0) return 0;
        all |= first ^ second;
    }
    return all != 0;
}

/* The configuration to which a column leads from most of so many. */
static uint8_t usual(const bitlex_stream_table *t, uint32_t column, const uint8_t *from, uint32_t count)
{
    uint8_t times[CONFIGURATIONS] = {0}, most = 0;
    uint32_t i;
    for (i = 0; i < count; i++) {
        const uint32_t next = t->next[(uint32_t)from[i] << t->shift | column] >> t->shift;
        if (++times[next] > times[most]) most = (uint8_t)next;
    }
    return most;
}

/* The table on pages. */
static void prepare_walk(bitlex_stream_table *t, const bitlex_machine *machine)
{
    const bitlex_stage *stage = machine->stages;
    const uint32_t each = BITLEX_PAGE / t->count, columns = stage->column_count;
    bitlex_walk *walk = walk_of(t);
    uint8_t every[CONFIGURATIONS], one[STATES];
    uint32_t column, i;
    if (machine->continuation != NULL || machine->lanes == NULL) return; /* bytes are not to be left inside a character */
    t->by_vectors = machine->lanes->walk;
    if (t->by_vectors == NULL) return;
    walk->pages = (columns + each - 1) / each;
    for (i = 0; i < t->count; i++) every[i] = (uint8_t)i;
    for (column = 0; column < columns; column++) one[column] = usual(t, column, every, t->count);
    for (column = 0; column < columns; column++) {
        const uint32_t page = column / each, offset = column % each * t->count;
        walk->guess[column] = usual(t, column, one, columns);
        walk->page[column] = (uint8_t)page;
        walk->lasts[column] = (uint8_t)(lasts(t, column, walk->guess[column]) ? BITLEX_LASTS : counts(t, column) ? BITLEX_COUNTS : 0);
        walk->offset[column] = (uint8_t)offset;
        for (i = 0; i < t->count; i++) {
            const uint32_t at = i << t->shift | column, does = t->does[at];
            walk->next[page][offset + i] = (uint8_t)(t->next[at] >> t->shift | (does & START ? 0x80u : 0));
            walk->does[page][offset + i] = (uint8_t)(does & PLACE_MOVES ? does & 0xFF & ~(START | PLACE_MOVES) : 0);
        }
    }
    for (i = 0; i < 256; i++) walk->column[BITLEX_LOW][i] = (uint8_t)column_of(machine, i);
    for (i = 0; i < machine->cells; i++) walk->column[BITLEX_CODES][machine->lanes->cell_code[i]] = stage->columns[i];
}

size_t bitlex_stream_table_size(void) { return sizeof(bitlex_stream_table); }

const bitlex_stream_table *bitlex_stream_tabulate(void *memory, const bitlex_machine *machine)
{
    const bitlex_stage *stage = machine->stages;
    bitlex_stream_table *t = memory;
    uint32_t i, column;
    if (machine->stage_count != 1 || machine->drops || stage->backward_states > STATES || stage->column_count > STATES) return NULL;
    memset(t, 0, sizeof *t);
    while (1u << t->shift < stage->column_count) t->shift++;
    /* Any forward state may come with no place open, where text is not read one by one: these are the first. */
    for (i = 0; i < stage->forward_states && i < CONFIGURATIONS; i++) t->configurations[i].forward = i * stage->label_count;
    t->count = i;
    for (i = 0; i < t->count; i++) { /* which grows meanwhile */
        for (column = 0; column < stage->column_count; column++) tabulate(t, machine, i, column);
    }
    tabulate_settling(t, machine);
    prepare_walk(t, machine);
    return t;
}

void bitlex_stream_use_table(bitlex_stream *s, const bitlex_stream_table *table)
{
    leave_table(s);
    s->table = table;
    enter_table(s);
}

/* Read characters by their columns, up to one that leads out of the table, and with `pause` up to one behind which nothing is open: how many.
 * `map`: what has the columns of what is at `columns`, or NULL. `units`: where each starts, or NULL where each is a unit. */
static inline uint32_t read_columns(bitlex_stream *s, const uint8_t *columns, const uint8_t *map, const uint16_t *units, uint32_t count,
                                    int pause, uint64_t **out)
{
    const bitlex_stream_table *t = s->table;
    const uint16_t *next = t->next, *does = t->does;
    const uint64_t base = s->length;
    uint64_t *end = *out, first = s->open[0] >> BITLEX_STREAM_SHIFT, second = s->open[1] >> BITLEX_STREAM_SHIFT;
    uint32_t i, row = (uint32_t)s->configuration << t->shift;
    for (i = 0; i < count; i++) {
        const uint32_t at = row + (map != NULL ? map[columns[i]] : columns[i]), done = does[at];
        const uint64_t here = base + (units != NULL ? units[i] : i);
        if (done & PLACE_MOVES) {
            const uint32_t is = done >> FIRST_IS & 3;
            if (done & LEAVES) break;
            *end = first;
            end += (done & FIRST_STARTS) != 0;
            *end = second;
            end += (done & SECOND_STARTS) != 0;
            first = is == 0 ? first : is == 1 ? second : here;
            second = done & SECOND_IS_HERE ? here : second;
        }
        *end = here;
        end += done & START;
        row = next[at];
        if (pause && done & PLACE_MOVES && done >> COUNT_IS == 0) {
            i++;
            break;
        }
    }
    s->configuration = (uint16_t)(row >> t->shift);
    s->forward = t->configurations[s->configuration].forward;
    s->count = t->configurations[s->configuration].count;
    s->open[0] = first << BITLEX_STREAM_SHIFT;
    s->open[1] = second << BITLEX_STREAM_SHIFT;
    *out = end;
    return i;
}

/* The start of the text is handed out like others, but not told. How many offsets are there. */
static size_t take_starts(bitlex_stream *s, uint64_t *out, size_t n)
{
    if (n == 0) return 0;
    s->start = out[n - 1];
    if (out[0] > 0) return n;
    memmove(out, out + 1, --n * sizeof *out);
    return n;
}

/* Read some characters by the table: how many units. Where each byte is a character, its column is looked up as it is needed: the chain
 * of states leaves time for that. */
static size_t read_tabled(bitlex_stream *s, bitlex_cursor *c, const uint8_t *p, size_t length, size_t most, bitlex_encoding encoding, int pause,
                          uint64_t *out, size_t *stored)
{
    uint64_t *end = out, units = length < most ? length : most;
    uint32_t loaded, taken;
    if (encoding == BITLEX_LATIN1 || (encoding == BITLEX_UTF8 && bitlex_is_ascii(p, (size_t)units))) {
        units = read_columns(s, p, c->direct, NULL, (uint32_t)units, pause, &end);
    } else {
        loaded = bitlex_load_part(c, p, length, encoding, most, &units);
        taken = c->plain ? read_columns(s, c->columns, NULL, NULL, loaded, pause, &end)
                         : read_columns(s, c->columns, NULL, c->units, loaded, pause, &end);
        if (taken < loaded) units = c->plain ? taken : c->units[taken];
    }
    s->length += units;
    *stored = take_starts(s, out, (size_t)(end - out));
    return (size_t)units;
}

/* --- characters -------------------------------------------------------------------------------------------------------- */

/* Read one character, or byte, of so many units: how many offsets are stored. There is room for two places more. */
static size_t step(bitlex_stream *s, uint32_t column, uint32_t units, uint64_t *out)
{
    uint8_t one = (uint8_t)column;
    uint64_t *end = out;
    size_t n;
    if (s->configuration != NOT_TABLED && read_columns(s, &one, NULL, NULL, 1, 0, &end) > 0) {
        s->length += units;
        return take_starts(s, out, (size_t)(end - out));
    }
    leave_table(s);
    n = step_sets(s, column, units, out);
    enter_table(s);
    return n;
}

/* Read the character at p < end, of a text that has all of it; *taken is how many units it has. Of a lexer that reads bytes, each of them
 * is a step. has_room said yes. */
static size_t step_character(bitlex_stream *s, const uint8_t *p, const uint8_t *end, bitlex_encoding encoding, uint32_t *taken, uint64_t *out)
{
    uint32_t point, i;
    size_t n, more;
    *taken = 1;
    if (encoding == BITLEX_LATIN1) point = *p;
    else if (encoding == BITLEX_UCS2) point = *(const uint16_t *)(const void *)p;
    else if (encoding == BITLEX_UCS4) point = *(const uint32_t *)(const void *)p;
    else point = bitlex_decode(p, end, taken);
    if (point > 0x10FFFF) point = 0xFFFD;
    if (s->machine->continuation == NULL) return step(s, column_of(s->machine, point), *taken, out);
    n = step(s, column_of(s->machine, point), 1, out);
    for (i = 1; i < *taken; i++) {
        more = step(s, s->machine->stages->columns[s->machine->continuation[p[i] & 0x3F]], 1, out + n);
        n += more;
    }
    return n;
}

/* Complete the character that the part before left, with what there is: how many bytes are taken of the part. */
static size_t finish_character(bitlex_stream *s, const uint8_t *text, size_t length, uint64_t *out, size_t *stored)
{
    uint8_t both[8];
    size_t have = s->tail_length, fresh = length < 3 ? length : 3;
    uint32_t taken;
    *stored = 0;
    memcpy(both, s->tail, have);
    memcpy(both + have, text, fresh);
    if (bitlex_unfinished(both, have + fresh) == have + fresh) {
        memcpy(s->tail, both, have + fresh);
        s->tail_length = (uint8_t)(have + fresh);
        return fresh;
    }
    *stored = step_character(s, both, both + have + fresh, BITLEX_UTF8, &taken, out);
    s->tail_length = 0;
    return taken - have;
}

/* Hand out the places that are open, of those at which a piece starts where this is the backward state behind what was read. */
static size_t hand_out_by_state(bitlex_stream *s, uint32_t state, uint64_t *out)
{
    size_t n = 0;
    uint32_t i;
    leave_table(s);
    for (i = 0; i < s->count; i++) {
        const uint64_t open = *place(s, i);
        if (*set_at(s, set_of(open)) >> state & 1) n += hand_out(s, open >> BITLEX_STREAM_SHIFT, (int)(open & 1), out + n);
    }
    s->count = 0;
    s->set_count = 2;
    return n;
}

/* The characters at the end of a part that do not tell the backward state, and the first before them that does: their columns, and where they
 * start, from `first` on; the backward state before that. */
typedef struct {
    uint32_t first, state;
    uint8_t columns[TAIL];
    uint16_t units[TAIL];
} bitlex_tail;

/* Find the tail of a part: where it starts, or 0. Each unit is read once, as somebody may be writing to them. */
static size_t find_tail(const bitlex_stream *s, const bitlex_cursor *c, const uint8_t *p, size_t length, bitlex_encoding encoding, bitlex_tail *tail)
{
    const bitlex_stream_table *t = s->table;
    const size_t base = length < UINT16_MAX ? 0 : length - UINT16_MAX;
    uint32_t set = 0, i = TAIL;
    while (i > 0 && length > 0 && set < SETTLINGS) {
        uint32_t point, size = 1;
        if (encoding == BITLEX_UCS2) point = ((const uint16_t *)(const void *)p)[length - 1];
        else if (encoding == BITLEX_UCS4) point = ((const uint32_t *)(const void *)p)[length - 1];
        else point = p[length - 1];
        if (encoding == BITLEX_UTF8 && point >= 0x80) {
            uint32_t back = 1;
            while (back < 4 && back < length && (p[length - back] & 0xC0) == 0x80) back++;
            point = bitlex_decode(p + length - back, p + length, &size);
            if (size != back) return 0;
        }
        length -= size;
        tail->columns[--i] = point < 0x80 ? c->direct[point] : (uint8_t)column_of(s->machine, point > 0x10FFFF ? 0xFFFD : point);
        tail->units[i] = (uint16_t)(length - base);
        set = t->settling[set << t->shift | tail->columns[i]];
    }
    tail->first = i;
    tail->state = (set & ~TOLD) * s->machine->stages->column_count;
    return set >= TOLD ? length : 0;
}

/* Read the tail of a part, up to what leads out of the table: how many units. */
static size_t read_tail(bitlex_stream *s, const bitlex_tail *tail, size_t units, uint64_t *out, size_t *stored)
{
    const uint32_t count = TAIL - tail->first, start = tail->units[tail->first];
    uint64_t *end = out;
    uint32_t taken;
    s->length -= start;
    taken = read_columns(s, tail->columns + tail->first, NULL, tail->units + tail->first, count, 0, &end);
    if (taken < count) units = tail->units[tail->first + taken] - start;
    s->length += start + units;
    *stored = take_starts(s, out, (size_t)(end - out));
    return units;
}

/* Offsets of 32 bits, and what is added to those of the stream. */
typedef struct {
    uint32_t *ends;
    size_t count;
    uint64_t shift;
} narrow_ends;

/* Offsets were stored behind n others: how many there are then. With `narrow` they go there instead, and their memory is used again. */
static size_t put(narrow_ends *narrow, const uint64_t *out, size_t n, size_t stored)
{
    size_t i;
    if (narrow == NULL) return n + stored;
    for (i = 0; i < stored; i++) narrow->ends[narrow->count + i] = (uint32_t)(out[i] + narrow->shift);
    narrow->count += stored;
    return 0;
}

/* Whether the places that are open are settled by running what follows: lanes tell the backward state before it. */
static int runs_open(const bitlex_stream *s, const void *scratch)
{
    return scratch != NULL && has_vectors(s->machine) && s->machine->lanes->part == NULL && !s->machine->drops;
}

/* The ends of the units that a cursor was pointed at, as offsets of 32 bits: the last one. Of those of the cursor, 2**32 are taken away by that:
 * it would leave out a start at 0, which is one only where the text begins. */
static uint64_t run_narrow(bitlex_stream *s, bitlex_cursor *c, size_t room, narrow_ends *narrow)
{
    uint32_t *ends = narrow->ends + narrow->count;
    const uint32_t from = (uint32_t)(s->length + narrow->shift);
    size_t total = 0, more;
    while ((more = bitlex_next32(c, ends + total, room - total)) > 0) {
        total += more;
        if (c->block == c->stop && c->taken == c->count) break;
    }
    if (s->length == 0 && total > 0 && ends[0] == from) memmove(ends, ends + 1, --total * sizeof *ends);
    narrow->count += total;
    return total > 0 ? s->length + (ends[total - 1] - from) : s->start;
}

/* Run what of a part nothing that follows can change: how many units, of which `told` and the tail's state are known, or 0. No place is open, or
 * runs_open. `room`: of how many pieces at out. */
static size_t run(bitlex_stream *s, bitlex_cursor *c, void *scratch, const uint8_t *text, size_t length, bitlex_encoding encoding,
                  size_t told, const bitlex_tail *tail, uint64_t *out, size_t room, narrow_ends *narrow, size_t *stored)
{
    const uint64_t origin = narrow == NULL ? s->length : (UINT64_C(1) << 32) + (uint32_t)(s->length + narrow->shift);
    const size_t units = (size_t)bitlex_begin_open(c, text, length, encoding, scratch, s->forward, origin,
                                                   s->count > 0 && LOOK < BITLEX_BLOCK ? LOOK : BITLEX_BLOCK, told, tail->state);
    size_t total = 0, handed = 0, more;
    *stored = 0;
    if (units == 0) return 0;
    if (room > units) room = units; /* so many start a piece, also where the part changes as it is read */
    bitlex_ready(c, 0);
    if (s->count > 0) {
        if (!c->masked) return 0; /* too short for lanes */
        handed = hand_out_by_state(s, c->memory->left, out);
    }
    c->opened = s->opened;
    c->open = s->start;
    if (narrow != NULL) {
        handed = put(narrow, out, 0, handed);
        s->start = run_narrow(s, c, room, narrow);
    } else {
        while ((more = s->machine->drops ? bitlex_next_pairs(c, out + 2 * total, room - total)
                                         : bitlex_next(c, out + handed + total, room - total)) > 0) {
            total += more;
            if (c->block == c->stop && c->taken == c->count && !s->machine->drops) break; /* there is no more: asking takes some nanoseconds */
        }
    }
    if (s->machine->drops) total *= 2;
    total += handed;
    s->opened = (uint8_t)c->opened;
    s->dropping = s->opened ? 0 : s->sets[ALL];
    if (s->machine->drops) s->start = c->open;
    else if (total > 0) s->start = out[total - 1];
    s->forward = c->forward;
    s->length += units;
    *stored = total;
    enter_table(s);
    return units;
}

/* Whether one more unit changed nothing but places, all of them by as much as the last one did: by 0 or by 1. */
static int same_but_places(bitlex_stream *s, const bitlex_stream *before, uint64_t *moved, int first)
{
    uint32_t i;
    if (s->count != before->count || s->count > BITLEX_STREAM_OPEN || s->forward != before->forward || s->set_count != before->set_count ||
        s->set_count > BITLEX_STREAM_SETS || s->dropping != before->dropping || s->opened != before->opened || s->start != before->start ||
        memcmp(s->sets, before->sets, s->set_count * sizeof *s->sets) != 0)
        return 0;
    for (i = 0; i < s->count; i++) {
        const uint64_t by = s->open[i] - before->open[i];
        if ((by != 0 && by != 1 << BITLEX_STREAM_SHIFT) || (!first && by != moved[i])) return 0;
        moved[i] = by;
    }
    return 1;
}

/* Whether 32 bytes are the same eight, four times. */
static inline int is_all(const uint8_t *p, uint64_t eight)
{
    uint64_t words[4];
    memcpy(words, p, sizeof words);
    return ((words[0] ^ eight) | (words[1] ^ eight) | (words[2] ^ eight) | (words[3] ^ eight)) == 0;
}

/* How many bytes are `byte`, up to the first that is another. */
static size_t run_length(const uint8_t *p, size_t length, uint8_t byte)
{
    size_t run = 0;
    while (length - run >= 32 && is_all(p + run, byte * UINT64_C(0x0101010101010101))) run += 32;
    while (run < length && p[run] == byte) run++;
    return run;
}

/* How many bytes at the end are one character of ASCII. */
static size_t last_run(const uint8_t *p, size_t length)
{
    const uint8_t byte = p[length - 1];
    size_t run = 0;
    if (byte >= 0x80) return 0;
    while (length - run >= 32 && is_all(p + length - run - 32, byte * UINT64_C(0x0101010101010101))) run += 32;
    while (run < length && p[length - run - 1] == byte) run++;
    return run;
}

/* Of a run of one ASCII character that does the same to the stream each time, skip all that is there: how many of so many. What reading does to
 * places is one map of old places to new ones, as long as the rest stays the same. If each new place is moved by as much twice, it is
 * moved by as much as the old place that it is, and so for ever. */
static size_t skip_run(bitlex_stream *s, const uint8_t *p, size_t length, uint64_t *out, size_t *stored)
{
    const uint32_t column = column_of(s->machine, *p);
    bitlex_stream before;
    uint64_t moved[BITLEX_STREAM_OPEN];
    size_t done, run, i;
    *stored = 0;
    leave_table(s);
    for (done = 0; done < 2; done++) {
        if (!has_room(s)) return done;
        before = *s;
        *stored += step_sets(s, column, 1, out + *stored);
        if (!same_but_places(s, &before, moved, done == 0)) return done + 1;
    }
    run = done + run_length(p + done, length - done, *p);
    for (i = 0; i < s->count; i++) s->open[i] += moved[i] * (run - done);
    s->length += run - done;
    return run;
}

/* Whether there are but a few characters, which are sooner decoded one by one than loaded. */
static inline int is_little(const uint8_t *p, size_t length, bitlex_encoding encoding)
{
    return length <= LITTLE && encoding == BITLEX_UTF8 && *p >= 0x80;
}

/* Whether the next RUN units are one character of ASCII. */
static inline int is_run(const uint8_t *p, size_t width) { return width == 1 && *p < 0x80 && *p == p[1] && memcmp(p, p + 1, RUN - 1) == 0; }

/* Whether so many units are read by vector instructions. No length is computed from `count`, or it would have to wait for the part before. */
static inline int walks(const bitlex_stream *s, size_t length, size_t least, size_t room)
{
    return length >= least && length <= WALKED && room >= length + s->count + 8 && s->configuration != NOT_TABLED && s->table->by_vectors != NULL;
}

/* Read a part of bytes or characters by vector instructions, 64 units at a time, up to what leads out of the table: how many units. What is
 * left of a character at the end is kept. Offsets go to `out`; or narrow ones, counted from `origin`, to `ends`, unless that is NULL. */
static inline size_t walk(bitlex_stream *s, bitlex_cursor *cursor, void *scratch, const void *text, size_t length, bitlex_encoding encoding,
                          uint64_t origin, uint32_t *ends, uint64_t *out, size_t room, size_t *stored)
{
    const bitlex_stream_table *t = s->table;
    bitlex_walker w;
    size_t done;
    w.lanes = s->machine->lanes;
    w.recent = NULL;
    w.out = out;
    w.ends = ends;
    w.origin = origin;
    w.kept = w.left = 0;
#ifdef __GNUC__
    __asm__ volatile("" : : : "memory"); /* or compilers store neighbours as one vector, which takes longer to be read (5 % of 64 bytes) */
#endif
    w.walk = walk_of(t);
    w.stream = s;
    w.limit = out + room;
    w.last = ends != NULL ? ends + room : NULL;
    if (scratch != NULL && cursor->memory == NULL) cursor->memory = bitlex_memory_in(scratch);
    if (cursor->memory != NULL) w.recent = &cursor->memory->recent;
    done = t->by_vectors(&w, text, length, encoding);
    s->forward = t->configurations[s->configuration].forward;
    s->count = t->configurations[s->configuration].count;
    if (ends == NULL) {
        *stored = (size_t)(w.out - out);
        if (w.out != out) s->start = w.out[-1];
    } else {
        *stored = (size_t)(w.ends - ends);
        if (w.ends != ends) s->start = s->length - (uint32_t)(s->length - origin - w.ends[-1]);
    }
    return done;
}

/* Read complete characters: how many of so many units. */
static size_t read_part(bitlex_stream *s, bitlex_cursor *cursor, void *scratch, const uint8_t *p, size_t length, bitlex_encoding encoding,
                        uint64_t *out, size_t room, narrow_ends *narrow, size_t *stored)
{
    const size_t width = encoding == BITLEX_UTF8 ? 1 : (size_t)encoding, each = s->machine->drops ? 2 : 1;
    size_t done = 0, slow = 0, slow_open = 0, n = 0, most = length; /* slow: up to there nothing tells, where no place is open, or some are */
    const int open_too = runs_open(s, scratch);
    uint32_t taken;
    while (done < length) {
        int tabled = s->configuration != NOT_TABLED && s->machine->continuation == NULL; /* bytes are not to be left inside a character */
        const int open = s->count > 0, runs = !open || (open_too && (length - done < LONG_RUN || !is_run(p + done, width)));
        if (runs && done >= (open ? slow_open : slow) && length - done > (tabled ? TABLED : SHORT)) {
            size_t block = length - done < most ? length - done : most, units, told;
            bitlex_tail tail;
            tail.state = 0;
            if (block < length - done && encoding == BITLEX_UTF8) block -= bitlex_unfinished(p + done, block);
            told = tabled ? find_tail(s, cursor, p + done * width, block, encoding, &tail) : 0;
            if (tabled && told == 0 && width == 1) { /* a run of blanks, before which may be what tells */
                const size_t run = last_run(p + done, block);
                if (run > TAIL && block - run > TABLED) told = find_tail(s, cursor, p + done, block -= run, encoding, &tail);
            }
            units = run(s, cursor, scratch, p + done * width, block, encoding, told, &tail, out + n, room - n / each, narrow, stored);
            n = put(narrow, out, n, *stored);
            if (units > 0 && told > 0 && s->configuration != NOT_TABLED) {
                units += read_tail(s, &tail, block - told, out + n, stored);
                n = put(narrow, out, n, *stored);
            }
            if (units == 0 && block > BITLEX_BLOCK) { /* the last block does not tell: those before it may */
                most = BITLEX_BLOCK;
                continue;
            }
            if (units == 0) *(open ? &slow_open : &slow) = done + block; /* not to be tried at each of its units */
            done += units;
            if (done == length) break;
            tabled = s->configuration != NOT_TABLED && s->machine->continuation == NULL;
        }
        if (tabled && !is_little(p + done, length - done, encoding) && (length - done < LONG_RUN || !is_run(p + done, width))) {
            const int pause = length - done > TABLED && done >= (s->count > 0 ? slow_open : slow);
            size_t units = length - done < WALKED ? length - done : WALKED;
            if (units < length - done && encoding == BITLEX_UTF8) units -= bitlex_unfinished(p + done, units);
            if (!pause && walks(s, units, WALK_REST, room - n)) {
                units = walk(s, cursor, scratch, p + done * width, units, encoding, 0, NULL, out + n, room - n, stored) - s->tail_length;
                s->tail_length = 0; /* a character is left only if somebody is writing to the part: it is read again */
                n = put(narrow, out, n, *stored);
                done += units;
                if (units > 0) continue;
            }
            units = read_tabled(s, cursor, p + done * width, length - done, pause ? AHEAD : TABLED, encoding, pause, out + n, stored);
            n = put(narrow, out, n, *stored);
            done += units;
            if (units > 0) continue;
        }
        if (!has_room(s)) break;
        if (length - done >= RUN && is_run(p + done, width)) {
            done += skip_run(s, p + done, length - done, out + n, stored);
            n = put(narrow, out, n, *stored);
            enter_table(s);
            continue;
        }
        n = put(narrow, out, n, step_character(s, p + done * width, p + length * width, encoding, &taken, out + n));
        done += taken;
    }
    *stored = n;
    return done;
}

/* What of a part is left, behind `done` units with n offsets. */
static NOT_INLINE size_t feed_rest(bitlex_stream *s, bitlex_cursor *cursor, void *scratch, const uint8_t *p, size_t length,
                                   bitlex_encoding encoding, size_t *used, uint64_t *out, size_t n, size_t room, narrow_ends *narrow)
{
    const size_t width = encoding == BITLEX_UTF8 ? 1 : (size_t)encoding;
    size_t done = *used, stored, body;
    uint32_t tail = 0;
    uint8_t last[3];
    if (done == 0 && room <= s->count + 8) return 0;
    if (length > room - s->count - 8) length = room - s->count - 8; /* each unit ends a piece at most, and each place does */
    if (s->tail_length > 0) {
        done += finish_character(s, p, length, out + n, &stored);
        n = put(narrow, out, n, stored);
    }
    if (done < length && s->tail_length == 0) {
        if (encoding == BITLEX_UTF8) tail = bitlex_unfinished(p + done, length - done);
        if (tail > 0) {
            memcpy(last, p + length - tail, tail);
            if (bitlex_unfinished(last, tail) != tail) tail = 0; /* somebody is writing to the part: what is kept must be what was looked at */
        }
        body = length - done - tail;
        done += read_part(s, cursor, scratch, p + done * width, body, encoding, out + n, room - n / (s->machine->drops ? 2 : 1), narrow,
                          &stored);
        n += stored;
        if (tail > 0 && done + tail == length && has_room(s)) {
            memcpy(s->tail, last, tail);
            s->tail_length = (uint8_t)tail;
            done += tail;
        }
    }
    *used = done;
    return s->machine->drops ? n / 2 : n;
}

size_t bitlex_stream_feed(bitlex_stream *s, bitlex_cursor *cursor, void *scratch, const void *text, size_t length,
                          bitlex_encoding encoding, size_t *used, uint64_t *out, size_t room)
{
    size_t done = 0, n = 0;
    s->full = 0;
    if (walks(s, length, WALK, room) && (s->tail_length == 0 || encoding == BITLEX_UTF8)) {
        done = walk(s, cursor, scratch, text, length, encoding, 0, NULL, out, room, &n);
    }
    *used = done;
    if (done == length) return n;
    return feed_rest(s, cursor, scratch, text, length, encoding, used, out, n, room, NULL);
}

size_t bitlex_stream_feed32(bitlex_stream *s, bitlex_cursor *cursor, void *scratch, const void *text, size_t length,
                            bitlex_encoding encoding, size_t *used, uint64_t origin, uint32_t *ends, uint64_t *memory, size_t room)
{
    narrow_ends narrow;
    size_t done = 0, n = 0;
    s->full = 0;
    if (walks(s, length, WALK, room) && (s->tail_length == 0 || encoding == BITLEX_UTF8)) {
        done = walk(s, cursor, scratch, text, length, encoding, origin, ends, memory, room, &n);
    }
    *used = done;
    if (done == length) return n;
    narrow.ends = ends;
    narrow.count = n;
    narrow.shift = 0 - origin;
    feed_rest(s, cursor, scratch, text, length, encoding, used, memory, 0, room, &narrow);
    return narrow.count;
}

size_t bitlex_stream_finish(bitlex_stream *s, uint64_t *out)
{
    const uint32_t end = s->machine->stages->backward_end / s->machine->stages->column_count;
    size_t n = 0;
    uint32_t taken;
    if (s->tail_length > 0) n = step_character(s, s->tail, s->tail + s->tail_length, BITLEX_UTF8, &taken, out);
    n += hand_out_by_state(s, end, out + n);
    if (s->opened && s->length > 0) n += hand_out(s, s->length, 1, out + n);
    s->tail_length = 0;
    return s->machine->drops ? n / 2 : n;
}
