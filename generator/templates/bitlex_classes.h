/* bitlex_classes.h - private: the table of an automaton that would take more than eight pages, on fewer.
 *
 * In: what each symbol does to each state. Out: for each symbol its group, and where its entries are; for each group a class of each
 * state. The entry of a symbol for a state is that for the class of the state.
 *
 * As bitlex_terms.h says, a symbol hardly ever tells all states apart. So symbols are put into eight groups, and for a group states
 * are in the same class where no symbol of it tells them apart: a symbol has as many entries as its group has classes. What is looked
 * up for a step is the class, in 64 states for each of eight groups, and then the entry, in the pages. A lexer for C with
 * strings and comments, 47 states and 50 labels, takes 26 pages by states, and 7 by classes; the classes are four look-ups more.
 *
 * Groups of one symbol are merged, always those two that make the fewest entries more, until eight are left. Moving symbols between them
 * afterwards, as in bitlex_terms.h, saves two entries of a hundred, and no page. The largest symbols are put on pages first, each on the
 * first one that has room; as no symbol has more than half a page of entries, no more pages are needed than for twos of symbols.
 *
 * Rejected: terms, where each page has classes of its own (twice as many look-ups); fewer groups (four: ten pages).
 */
#define GROUPS 8
#define PLACE_OF_GROUP(group) (((group) & 1) << 6 | ((group) & 2) << 6 | ((group) & 4) << 3) /* see NAME(class) of bitlex_avx512.h */

/* What an automaton does, and what its terms or its groups are made from. */
typedef struct {
    uint32_t symbols, states;
    uint16_t does[BITLEX_SYMBOLS][BITLEX_SYMBOLS];   /* [symbol][state] -> next state (and flags); and 256 times the label */
    uint64_t differ[BITLEX_SYMBOLS][BITLEX_SYMBOLS]; /* [state][state] -> the symbols that tell them apart, as bits */
    uint8_t number[BITLEX_SYMBOLS];                  /* of each state, in terms */
    uint32_t paired;                                 /* the numbers for which there is one 16 above, as bits */
} automaton;

/* Where its symbols are placed. */
typedef struct {
    uint8_t code[BITLEX_SYMBOLS], page[BITLEX_SYMBOLS], offset[BITLEX_SYMBOLS], group[BITLEX_SYMBOLS];
    uint8_t class_of[GROUPS][BITLEX_SYMBOLS]; /* [group][state]; without groups, the states themselves */
    uint32_t rows;                            /* of 16 entries, in use; or 64, and 64 for each eight pages by classes */
} placement;

/* Which symbols tell which states apart. */
static void tell_apart(automaton *a)
{
    uint32_t symbol, state, other;
    for (state = 0; state < a->states; state++) {
        for (other = 0; other < a->states; other++) {
            a->differ[state][other] = 0;
            for (symbol = 0; symbol < a->symbols; symbol++) {
                a->differ[state][other] |= (uint64_t)(a->does[symbol][state] != a->does[symbol][other]) << symbol;
            }
        }
    }
}

/* The classes of states that these symbols tell apart: how many; and a state of each, and the class of each state. */
static uint32_t classify(const automaton *a, uint64_t symbols, uint8_t *first, uint8_t *class_of)
{
    uint32_t classes = 0, state, i;
    for (state = 0; state < a->states; state++) {
        for (i = 0; i < classes && (a->differ[state][first[i]] & symbols) != 0; i++) {}
        if (i == classes) first[classes++] = (uint8_t)state;
        class_of[state] = (uint8_t)i;
    }
    return classes;
}

static uint32_t entries_of(const automaton *a, uint64_t symbols)
{
    uint8_t first[BITLEX_SYMBOLS], class_of[BITLEX_SYMBOLS];
    return (uint32_t)__builtin_popcountll(symbols) * classify(a, symbols, first, class_of);
}

/* The groups, as bits of symbols; their number. */
BITLEX_ONCE uint32_t make_groups(const automaton *a, uint64_t *groups)
{
    uint32_t size[BITLEX_SYMBOLS], more[BITLEX_SYMBOLS][BITLEX_SYMBOLS]; /* entries, and how many more if two are merged */
    uint32_t count = a->symbols, one = BITLEX_SYMBOLS, other = BITLEX_SYMBOLS, least, i, j;
    for (i = 0; i < count; i++) {
        groups[i] = UINT64_C(1) << i;
        size[i] = entries_of(a, groups[i]);
    }
    for (;;) {
        for (i = 0; i < count; i++) {
            for (j = i + 1; j < count; j++) { /* all at first, then those of which something has changed */
                if (one < BITLEX_SYMBOLS && i != one && j != one && i != other && j != other) continue;
                more[i][j] = entries_of(a, groups[i] | groups[j]) - size[i] - size[j];
            }
        }
        if (count <= GROUPS) return count;
        least = UINT32_MAX;
        for (i = 0; i < count; i++) {
            for (j = i + 1; j < count; j++) {
                if (more[i][j] >= least) continue;
                least = more[i][j];
                one = i;
                other = j;
            }
        }
        size[one] += size[other] + least;
        groups[one] |= groups[other];
        size[other] = size[--count];
        groups[other] = groups[count];
    }
}

/* Place the symbols of an automaton: pages and offsets of each, its group, and the classes of all states in each group. How many pages. */
BITLEX_ONCE uint32_t place_by_classes(automaton *a, placement *p)
{
    uint64_t groups[BITLEX_SYMBOLS];
    uint8_t first[BITLEX_SYMBOLS], full[BITLEX_SYMBOLS];
    uint32_t count, classes[GROUPS], pages = 0, size, page, i, symbol;
    tell_apart(a);
    count = make_groups(a, groups);
    memset(full, 0, sizeof full);
    for (i = 0; i < count; i++) classes[i] = classify(a, groups[i], first, p->class_of[i]);
    for (size = a->states; size > 0; size--) {
        for (symbol = 0; symbol < a->symbols; symbol++) {
            for (i = 0; !(groups[i] >> symbol & 1); i++) {}
            if (classes[i] != size) continue;
            for (page = 0; full[page] + size > BITLEX_PAGE; page++) {}
            p->group[symbol] = (uint8_t)i;
            p->page[symbol] = (uint8_t)page;
            p->offset[symbol] = full[page];
            full[page] = (uint8_t)(full[page] + size);
            if (page >= pages) pages = page + 1;
        }
    }
    return pages;
}
