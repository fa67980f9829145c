/* bitlex_terms.h - private: the table of an automaton as a sum of small look-ups, for processors that look up 16 bytes at once, where
 * products (bitlex_products.h) are too many.
 *
 * In: what each symbol does to each state. Out: terms, and a code for each symbol, so that
 *
 *     next = term 0 ^ term 1 ^ ...        term: entry[code - from + class[state]], or 0 where that is not 0..15
 *
 * A symbol hardly ever tells all states apart: a comma leads from all of them to one state, and whether a piece starts there
 * depends on one bit of the state. So symbols are put into groups, and for a group states are in the same class where no symbol of
 * it tells them apart. A group of n symbols with c classes has n c entries; it is one term if they are 16 at most, else several.
 * cl100k has 15 labels and 13 states: 195 entries as a table, which are 13 rows of 16, and 4 terms.
 *
 * Codes of a group are c apart, and groups with more classes come first. So of a symbol before a term's own, code + class is less
 * than `from`; of one behind them, it finds an entry that is 0, or none. All of it is computed in bytes, which wrap around: so there
 * are MOST_ENTRIES at most, and a code plus a class of any other group is less than 256.
 *
 * With 17 to 32 states, classes are two rows of 16. But states are numbered so that states 16 apart are hardly ever told apart, and
 * most terms need one row, in which both have the same class; those that need two come first.
 *
 * Finding the best groups is bin packing. Groups of one symbol are merged as long as that saves a term; then symbols are moved
 * from group to group at random, also for the worse, but ever less so ("threshold accepting"). The numbers are the same each time.
 * Rejected: rows as differences to the row before, with all states in each (three instructions a row where a term has five, but
 * three times as many rows, or more); states numbered so that a symbol's mask of their bits is its class (a term less for some
 * machines, no solution for o200k, and milliseconds to find).
 */
#define MOST_ENTRIES 240
#define MOVES 4000
/* Few terms, of 16 states at most: then time goes by with waiting for the state, and meanwhile `from` is taken from the code. Where there
 * are more, it goes by with instructions, and classes come less `from`. */
#define FEW_TERMS 3
#define WIDE_TERMS 2 /* this many, at most, or all need two rows of classes */

typedef struct {
    uint64_t symbols; /* as bits */
    uint32_t classes, terms, entries;
} group;

static uint32_t cost_of_group(const group *g) { return 16 * g->terms + g->entries; }

/* Symbols of a term, if states are in so many classes. */
static uint32_t each_of_term(uint32_t classes) { return classes > 16 ? 1 : 16 / classes; }

static group group_of(const automaton *a, uint64_t symbols)
{
    const uint32_t count = (uint32_t)__builtin_popcountll(symbols);
    uint8_t first[BITLEX_SYMBOLS], class_of[BITLEX_SYMBOLS];
    group g;
    g.symbols = symbols;
    g.classes = classify(a, symbols, first, class_of);
    g.terms = (count + each_of_term(g.classes) - 1) / each_of_term(g.classes) * ((g.classes + 15) / 16);
    g.entries = count * g.classes;
    return g;
}

/* Groups of all symbols; their number. */
static uint32_t merge_groups(const automaton *a, group *groups)
{
    uint32_t count, i, j, best, other;
    for (count = 0; count < a->symbols; count++) groups[count] = group_of(a, UINT64_C(1) << count);
    for (;;) {
        int32_t most = 0; /* terms saved and, if equal, fewest entries more */
        best = other = 0;
        for (i = 0; i < count; i++) {
            for (j = i + 1; j < count; j++) {
                const group both = group_of(a, groups[i].symbols | groups[j].symbols);
                const int32_t saved = (int32_t)(groups[i].terms + groups[j].terms) - (int32_t)both.terms;
                const int32_t gain = saved * 8192 - (int32_t)(both.entries - groups[i].entries - groups[j].entries);
                if (saved <= 0 || gain <= most) continue;
                most = gain;
                best = i;
                other = j;
            }
        }
        if (most == 0) return count;
        groups[best] = group_of(a, groups[best].symbols | groups[other].symbols);
        groups[other] = groups[--count];
    }
}

static void move_symbols(const automaton *a, group *groups, uint32_t count)
{
    group best[BITLEX_SYMBOLS];
    uint32_t random = 12345, moves;
    int32_t now = 0, least = 0;
    memcpy(best, groups, count * sizeof *best);
    for (moves = 0; moves < MOVES; moves++) {
        uint64_t symbol;
        uint32_t from = 0, to;
        int32_t more;
        group less, larger;
        random = random * 1664525u + 1013904223u;
        symbol = UINT64_C(1) << ((random >> 16) * a->symbols >> 16);
        random = random * 1664525u + 1013904223u;
        to = (random >> 16) * count >> 16;
        while (!(groups[from].symbols & symbol)) from++;
        if (from == to) continue;
        less = group_of(a, groups[from].symbols & ~symbol);
        larger = group_of(a, groups[to].symbols | symbol);
        more = (int32_t)(cost_of_group(&less) + cost_of_group(&larger));
        more -= (int32_t)(cost_of_group(groups + from) + cost_of_group(groups + to));
        if (more > (int32_t)(4 * (MOVES - moves) / MOVES)) continue;
        groups[from] = less;
        groups[to] = larger;
        now += more;
        if (now >= least) continue;
        least = now;
        memcpy(best, groups, count * sizeof *best);
    }
    memcpy(groups, best, count * sizeof *best);
}

/* Terms of one group, whose codes are from `from` on; the next free code comes back. */
static uint32_t fill_group(const automaton *a, const group *g, bitlex_term *terms, uint32_t from, uint8_t *codes)
{
    const uint32_t each = each_of_term(g->classes), high = (g->classes + 15) / 16;
    uint8_t first[BITLEX_SYMBOLS], class_of[BITLEX_SYMBOLS];
    uint32_t symbol, state, count = 0, i, k;
    classify(a, g->symbols, first, class_of);
    for (symbol = 0; symbol < a->symbols; symbol++) {
        if (!(g->symbols >> symbol & 1)) continue;
        codes[symbol] = (uint8_t)(from + count * g->classes);
        for (i = 0; i < high; i++) { /* more than one only where a symbol has a term by itself */
            bitlex_term *term = terms + count / each * high + i;
            memset(term->from, (int)(from + count / each * each * g->classes), sizeof term->from);
            for (state = 0; state < a->states; state++) {
                const uint32_t number = a->number[state];
                term->classes[number / 16][number % 16] = (uint8_t)(class_of[state] - 16 * i);
                if (a->states > 32 || number >= 16 || a->paired >> number & 1) continue;
                term->classes[1][number] = term->classes[0][number];
            }
            for (k = 16 * i; k < g->classes && k < 16 * i + 16; k++) {
                const uint32_t at = count % each * g->classes + k - 16 * i, does = a->does[symbol][first[k]];
                term->next[at] = (uint8_t)does;
                term->label[at] = (uint8_t)(does >> 8);
            }
        }
        count++;
    }
    return from + g->entries;
}

/* The numbers of states: those of 17 to 32 so that states 16 apart are told apart by few. */
static void number_states(automaton *a)
{
    uint32_t symbol, state, other, left, pairs = 0, singles;
    uint64_t done = 0;
    a->paired = 0;
    for (state = 0; state < a->states; state++) a->number[state] = (uint8_t)state;
    if (a->states <= 16 || a->states > 32) return;
    for (left = a->states; left > 16; left--) {
        uint32_t least = BITLEX_SYMBOLS + 1, first = 0, second = 0;
        for (state = 0; state < a->states; state++) {
            for (other = state + 1; other < a->states; other++) {
                const uint32_t count = (uint32_t)__builtin_popcountll(a->differ[state][other]);
                if ((done >> state | done >> other) & 1 || count >= least) continue;
                least = count;
                first = state;
                second = other;
            }
        }
        done |= UINT64_C(1) << first | UINT64_C(1) << second;
        a->number[first] = (uint8_t)pairs;
        a->number[second] = (uint8_t)(pairs + 16);
        a->paired |= 1u << pairs++;
    }
    for (state = 0, singles = pairs; state < a->states; state++) {
        if (!(done >> state & 1)) a->number[state] = (uint8_t)singles++;
    }
    for (symbol = 0; symbol < a->symbols; symbol++) {
        for (state = 0; state < a->states; state++) {
            a->does[symbol][state] = (uint16_t)((a->does[symbol][state] & ~31) | a->number[a->does[symbol][state] & 31]);
        }
    }
}

/* Terms that need both rows of classes come first; their number. */
static uint32_t put_wide_first(bitlex_term *terms, uint32_t count)
{
    uint32_t wide = 0, i;
    for (i = 0; i < count; i++) {
        const bitlex_term term = terms[i];
        if (memcmp(term.classes[0], term.classes[1], sizeof term.classes[0]) == 0) continue;
        terms[i] = terms[wide];
        terms[wide++] = term;
    }
    return wide;
}

/* The terms of an automaton, and the code of each symbol. Out comes the size: how many terms there are, and 16 times how classes are
 * looked up: 1 in a row, 2 in two rows for the first WIDE_TERMS, 3 in two rows, 4 in four; 0 if there are too many terms. `*free` is a
 * code that no symbol has, and its sum is 0. */
static uint32_t fill_terms(automaton *a, bitlex_term *terms, uint8_t *codes, uint8_t *free)
{
    group groups[BITLEX_SYMBOLS];
    uint32_t count, used = 0, entries = 0, most = 0, classes, state, size, i;
    tell_apart(a);
    number_states(a);
    count = merge_groups(a, groups);
    move_symbols(a, groups, count);
    for (i = 0; i < count; i++) {
        used += groups[i].terms;
        entries += groups[i].entries;
        if (groups[i].entries != 0 && groups[i].classes > most) most = groups[i].classes;
    }
    if (used > BITLEX_TERMS || entries > MOST_ENTRIES || entries + most > 256) return 0;
    *free = (uint8_t)entries;
    used = entries = 0;
    for (classes = a->states; classes > 0; classes--) {
        for (i = 0; i < count; i++) {
            if (groups[i].entries == 0 || groups[i].classes != classes) continue;
            entries = fill_group(a, groups + i, terms + used, entries, codes);
            used += groups[i].terms;
        }
    }
    if (a->states <= 16) size = 16 + used;
    else if (a->states > 32) size = 64 + used;
    else size = (put_wide_first(terms, used) <= WIDE_TERMS ? 32 : 48) + used;
    for (i = 0; i < used && size > 16 + FEW_TERMS; i++) {
        for (state = 0; state < 64; state++) terms[i].classes[state / 16][state % 16] -= terms[i].from[0];
    }
    return size;
}
