/* bitlex_products.h - private: the table of an automaton as a sum of products, for processors that look up 16 bytes at once.
 *
 * In: what each symbol does to each state. Out: numbers of states, codes of symbols, and look-ups by these, so that
 *
 *     next = constant[symbol] ^ (of_state 1[state] & of_symbol 1[symbol]) ^ (of_state 2[state] & of_symbol 2[symbol]) ^ ...
 *
 * Bit by bit, a table is a matrix of states by symbols over the field of two elements, and a sum of n products is a matrix of rank n. What a
 * symbol makes of one bit of the number of the state is a function of the state; what counts is the dimension of the space that these
 * functions span, for each bit by itself, where those that differ by a constant are the same. It depends on how states are numbered, and any
 * numbers will do. cl100k has 13 states and 15 labels, and needs three products forward; backward, one is enough for the next state, and one
 * for the label, whose number may be any, too.
 *
 * Good numbers are found by exchanging those of two values at random, as long as the dimensions are too large and do not grow; first for
 * as many products as there may be, then for one less, and so on. The random numbers are the same each time. Whether a piece starts is known
 * of each symbol and state; of this the dimension is what it is, and it is dealt out to the bits that are left: it is the sum of these
 * (exclusive or).
 *
 * Of 17 to 32 symbols, a code has bit 7 set where it is in the second row: a look-up gives 0 there, and with bit 7 turned around 0 in the
 * other. Symbols that do the same to all states are put there, if that is enough: then none but the constant is looked up in two rows. Of
 * 17 to 32 states, bit 4 chooses the row. Where only two states differ in nothing but that bit, the functions are combined so that the first
 * product is all that tells them apart.
 *
 * Rejected: bits searched one by one, of which some are chosen that tell all values apart (none found for 16 values in four bits); now and
 * then an exchange for the worse (no better).
 */
#define EXCHANGES 4000 /* of two codes, at most, until as few products are enough */

/* What symbols do to states, of which come values, that are part of what an automaton does: states again, or labels, or flags. */
typedef struct {
    const automaton *a;
    uint32_t symbols, values, shift, mask;
    uint64_t first; /* values whose numbers are to be below 16, as bits */
} mapping;

/* Functions of states, as bits, without the constant: bit 0 is not set. Each has a bit, its highest, that none behind it has. */
typedef struct {
    uint64_t functions[BITLEX_SYMBOLS];
    uint32_t count;
} space;

static uint32_t next_random(uint32_t *random) { return (*random = *random * 1664525u + 1013904223u) >> 16; }

static uint64_t without_constant(uint64_t function, uint32_t states)
{
    return function & 1 ? ~function & ~UINT64_C(0) >> (64 - states) : function;
}

/* The functions of a space whose sum this one is, as bits, and the rest that is in none. */
static uint64_t parts_of(const space *s, uint64_t *function)
{
    uint64_t parts = 0;
    uint32_t i;
    for (i = 0; i < s->count; i++) {
        if (!(*function >> (63 - __builtin_clzll(s->functions[i])) & 1)) continue;
        *function ^= s->functions[i];
        parts |= UINT64_C(1) << i;
    }
    return parts;
}

static void add_function(space *s, uint64_t function)
{
    parts_of(s, &function);
    if (function != 0) s->functions[s->count++] = function;
}

/* What a symbol makes of a function of values: one of states. */
static uint64_t made_by(const mapping *m, uint32_t symbol, uint64_t function)
{
    uint64_t made = 0;
    uint32_t state;
    for (state = 0; state < m->a->states; state++) made |= (function >> (m->a->does[symbol][state] >> m->shift & m->mask) & 1) << state;
    return made;
}

/* The space of what all symbols make of a function. */
static void fill_space(const mapping *m, uint64_t function, space *s)
{
    uint32_t symbol;
    s->count = 0;
    for (symbol = 0; symbol < m->symbols; symbol++) add_function(s, without_constant(made_by(m, symbol, function), m->a->states));
}

/* The search for numbers: of the symbols that tell states apart, what each makes of each value alone, and of each bit of the numbers. */
typedef struct {
    uint32_t symbols, states, bits, codes, dimensions[5];
    uint64_t alone[BITLEX_SYMBOLS][BITLEX_SYMBOLS]; /* [value][symbol] */
    uint64_t made[5][BITLEX_SYMBOLS];               /* [bit][symbol] */
    uint8_t values[BITLEX_SYMBOLS];                 /* of each number */
} search;

static uint32_t dimensions_of(const uint64_t *made, uint32_t symbols, uint32_t states)
{
    uint64_t basis[BITLEX_SYMBOLS], function;
    uint32_t count = 0, symbol, i;
    for (symbol = 0; symbol < symbols; symbol++) {
        function = without_constant(made[symbol], states);
        for (i = 0; i < count; i++) {
            if ((function ^ basis[i]) < function) function ^= basis[i]; /* then it has the highest bit of that */
        }
        if (function != 0) basis[count++] = function;
    }
    return count;
}

/* Exchange the numbers of two values, and count the dimensions of the bits that differ. By how many these are too large comes back. */
static uint32_t exchange_numbers(search *f, uint32_t one, uint32_t other, uint32_t most)
{
    const uint8_t value = f->values[one], second = f->values[other];
    uint32_t bit, symbol, sum = 0;
    f->values[one] = second;
    f->values[other] = value;
    for (bit = 0; bit < f->bits; bit++) {
        if ((one ^ other) >> bit & 1) {
            for (symbol = 0; symbol < f->symbols; symbol++) f->made[bit][symbol] ^= f->alone[value][symbol] ^ f->alone[second][symbol];
            f->dimensions[bit] = dimensions_of(f->made[bit], f->symbols, f->states);
        }
        sum += f->dimensions[bit] > most ? f->dimensions[bit] - most : 0;
    }
    return sum;
}

static void begin_search(search *f, const mapping *m)
{
    const uint64_t all = ~UINT64_C(0) >> (64 - m->a->states);
    uint32_t symbol, value, bit, code, count = 0;
    memset(f, 0, sizeof *f);
    f->states = m->a->states;
    f->bits = m->values > 16 ? 5 : 4;
    f->codes = m->values > 16 ? m->values : 16;
    for (value = 0; value < f->codes; value++) {
        if (m->first >> value & 1) f->values[count++] = (uint8_t)value;
    }
    for (value = 0; value < f->codes; value++) {
        if (!(m->first >> value & 1)) f->values[count++] = (uint8_t)value;
    }
    for (symbol = 0; symbol < m->symbols; symbol++) {
        int tells = 0;
        for (value = 0; value < m->values; value++) {
            const uint64_t made = f->alone[value][f->symbols] = made_by(m, symbol, UINT64_C(1) << value);
            tells |= made != 0 && made != all;
        }
        f->symbols += (uint32_t)tells;
    }
    for (code = 0; code < f->codes; code++) {
        for (bit = 0; bit < f->bits; bit++) {
            for (symbol = 0; symbol < f->symbols && code >> bit & 1; symbol++) f->made[bit][symbol] ^= f->alone[f->values[code]][symbol];
        }
    }
    for (bit = 0; bit < f->bits; bit++) f->dimensions[bit] = dimensions_of(f->made[bit], f->symbols, f->states);
}

/* Numbers for all values, from 0 on, or any of 0 to 15. Out comes the least number of products that is found, or more than `most`. */
static uint32_t find_numbers(const mapping *m, uint32_t most, uint8_t *numbers)
{
    uint32_t random = 2024, exchange, least, found, one, other, code, products = most + 1;
    search f;
    begin_search(&f, m);
    do {
        least = exchange_numbers(&f, 0, 0, products - 1);
        for (exchange = 0; exchange < EXCHANGES && least > 0; exchange++) {
            one = next_random(&random) % f.codes;
            other = next_random(&random) % f.codes;
            if ((one > 15 && m->first >> f.values[other] & 1) || (other > 15 && m->first >> f.values[one] & 1)) continue;
            found = exchange_numbers(&f, one, other, products - 1);
            if (found <= least) least = found;
            else exchange_numbers(&f, one, other, products - 1);
        }
        for (code = 0; code < f.codes && least == 0; code++) numbers[f.values[code]] = (uint8_t)code;
    } while (least == 0 && --products > 1);
    return products;
}

/* The code of a symbol: a number, and bit 7 for the second row. */
static uint8_t code_of_number(uint32_t number) { return (uint8_t)((number & 15) | (number > 15 ? 0x80 : 0)); }

/* What products are made from: the codes of symbols, the numbers of states, how many products there are. */
typedef struct {
    const uint8_t *codes, *numbers;
    uint32_t count;
    bitlex_products *to;
} factors;

/* Which product has function `k` of a bit that has those from `first` on: the lowest of those in `telling` is in the first product. */
static uint32_t product_of(uint32_t first, uint32_t k, uint64_t telling)
{
    const uint32_t lowest = telling ? first_bit(telling) : first;
    return k == lowest ? 0 : k == first ? lowest - first : k - first;
}

/* Put in what symbols make of a function of values: the dimensions of their space are dealt out to these bits, `count` for each. */
static void put_function(const factors *f, const mapping *m, uint64_t function, const uint8_t *bits)
{
    const uint32_t states = m->a->states;
    uint32_t i, k, symbol, state, one = 0, other = 0;
    space s;
    fill_space(m, function, &s);
    for (state = 0; state < states; state++) {
        if (f->numbers[state] == 0) one = state;
        if (f->numbers[state] == 16) other = state;
    }
    for (symbol = 0; symbol < m->symbols; symbol++) {
        if (made_by(m, symbol, function) & 1) f->to->constant[f->codes[symbol] >> 7][f->codes[symbol] & 15] |= bits[0];
    }
    for (i = 0; i < s.count; i += f->count) { /* each bit by itself */
        const uint32_t end = s.count - i < f->count ? s.count : i + f->count;
        const uint8_t bit = bits[i / f->count];
        uint64_t telling = 0; /* of the functions of this bit, those that tell the one pair apart that differs in the row alone */
        for (k = i; k < end && states == 17; k++) telling |= ((s.functions[k] >> one ^ s.functions[k] >> other) & 1) << k;
        for (symbol = 0; symbol < m->symbols; symbol++) {
            const uint8_t code = f->codes[symbol];
            uint64_t made = without_constant(made_by(m, symbol, function), states), parts = parts_of(&s, &made);
            if (__builtin_parityll(parts & telling)) parts |= telling & (0 - telling);
            else parts &= ~(telling & (0 - telling));
            for (k = i; k < end; k++) {
                if (parts >> k & 1) f->to->products[product_of(i, k, telling)].of_symbol[code >> 7][code & 15] |= bit;
            }
        }
        for (k = i; k < end; k++) {
            const uint32_t at = product_of(i, k, telling);
            const uint64_t lowest = telling >> k & 1 && at != 0 ? s.functions[first_bit(telling)] : 0;
            for (state = 0; state < states; state++) {
                const uint32_t number = f->numbers[state];
                if ((s.functions[k] ^ lowest) >> state & 1) f->to->products[at].of_state[number >> 4][number & 15] |= bit;
            }
        }
    }
}

/* Put in what symbols do to the bits of the numbers of values: as the codes of symbols, if the values are labels. */
static void put_numbers(const factors *f, const mapping *m, const uint8_t *numbers, int labels)
{
    uint32_t bit, value;
    for (bit = 0; bit < (m->values > 16 ? 5u : 4u); bit++) {
        const uint8_t to = (uint8_t)(labels && bit == 4 ? 0x80 : 1u << bit);
        uint64_t function = 0;
        for (value = 0; value < m->values; value++) function |= (uint64_t)(numbers[value] >> bit & 1) << value;
        put_function(f, m, function, &to);
    }
}

/* The symbols of which something depends on the state, as bits. */
static uint64_t telling_of(const automaton *a)
{
    uint64_t telling = 0;
    uint32_t symbol, state;
    for (symbol = 0; symbol < a->symbols; symbol++) {
        for (state = 1; state < a->states; state++) telling |= (uint64_t)(a->does[symbol][state] != a->does[symbol][0]) << symbol;
    }
    return telling;
}

/* How codes are looked up: 0 symbols and states in a row each, 1 the constant of a symbol in two, as all else is of a number below 16,
 * 2 all of a symbol in two, and the states of the first product, 3 all. `telling`: symbols that tell states apart. */
static uint32_t kind_of(uint32_t symbols, uint64_t telling, uint32_t states)
{
    if (states > 16) return states > 17 ? 3 : 2;
    return symbols <= 16 ? 0 : __builtin_popcountll(telling) <= 16 ? 1 : 2;
}
#define PRODUCTS(kind, count) (96 + 8 * (kind) + (count)) /* the size */
static const uint8_t most_products[4] = {4, 4, 5, 6};
