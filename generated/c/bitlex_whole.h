/* bitlex_whole.h - private: texts too short for lanes with AVX-512, a lane for each character. It is part of bitlex_avx512.h.
 *
 * As in bitlex_short.h, states are guessed, and each is replaced by what its character makes of the one beside it, all at once, until nothing
 * changes. Here the text has an end, so that is done twice with the machine as it is: from the right for labels, from the left for pieces.
 * Nothing has to be prepared but the guesses.
 *
 * Invariant: where a turn changes nothing, all states are right, as the one at the edge is known. If many turns do not get there, as in a run of
 * digits that are counted, this gives up: then a look-up after another is as fast.
 */
#define FEW_TURNS 3
#define MOST_TURNS 12
#define MOST_BACKWARD_ROWS 32 /* of larger machines, no such text is run so */
#define MOST_FORWARD_ROWS 48

/* The states to which symbols lead from those before them, each from that of the symbol that `from` says: in a run of one that does the
 * same from the third on, the second (see NAME(sources)), once it is worth looking for runs. `step` makes `next` of `before`. 0: given up. */
#define TURNS_UNTIL_SETTLED(step) \
    for (turn = 0;; turn++) { \
        before = _mm512_mask_permutexvar_epi8(entry, ~UINT64_C(1), from, states); \
        next = step; \
        changed = _mm512_cmpneq_epi8_mask(next, states) & watched; \
        states = next; \
        if (turn > 0 && changed == 0) break; \
        if (turn == FEW_TURNS) { \
            repeated = NAME(repeated)(symbols, m_high(guess)) & all; \
            from = NAME(sources)(repeated, 0); \
            watched &= ~repeated; \
        } \
        if (turn == MOST_TURNS) return 0; \
    }

BITLEX_INLINE V NAME(usual)(const uint8_t *usual, V symbols, const uint32_t rows)
{
    const V found = v_entry(usual, symbols);
    return rows == 16 ? v_choose(m_high(symbols), v_entry(usual + 128, symbols), found) : found;
}

/* From the right: the characters are turned round, and so are the labels. */
BITLEX_INLINE int NAME(labels_of)(const bitlex_lanes *lanes, const uint8_t *codes, uint8_t *labels, uint32_t count, uint32_t *state,
                                  const uint32_t rows)
{
    const V around = _mm512_sub_epi8(_mm512_set1_epi8((char)(count - 1)), v_load(numbers)), entry = v_all((int)*state);
    const V symbols = _mm512_permutexvar_epi8(around, v_load(codes)), guess = NAME(usual)(lanes->usual_left, symbols, rows);
    const M all = ~UINT64_C(0) >> (64 - count);
    M watched = all, repeated, changed;
    V from = v_add(v_load(numbers), v_all(0xFF)), states = v_and(guess, v_all(0x7F)), code = symbols, before, next;
    uint8_t left[64];
    uint32_t turn;
    TURNS_UNTIL_SETTLED(NAME(backward_next)(lanes, symbols, before, rows))
    before = NAME(index)(&lanes->columns, &code, before, rows);
    v_store(labels, _mm512_permutexvar_epi8(around, v_entries(lanes->backward_label, before, code, rows)));
    v_store(left, states);
    *state = left[count - 1];
    return 1;
}

BITLEX_INLINE int NAME(starts_of)(const bitlex_lanes *lanes, const uint8_t *labels, uint64_t *starts, uint32_t count, uint32_t *state,
                                  const uint32_t rows)
{
    const V symbols = v_load(labels), guess = NAME(usual)(lanes->usual_right, symbols, rows), entry = v_all((int)*state);
    const M all = ~UINT64_C(0) >> (64 - count);
    M watched = all, repeated, changed;
    V from = v_add(v_load(numbers), v_all(0xFF)), states = v_and(guess, v_all(0x7F)), before, next;
    uint8_t right[64];
    uint32_t turn;
    TURNS_UNTIL_SETTLED(NAME(forward_step)(lanes, symbols, before, rows, before, 0))
    v_store(right, states);
    *starts = m_bits(m_high(states) & all);
    *state = right[count - 1] & 0x7Fu;
    return 1;
}
#undef TURNS_UNTIL_SETTLED

static int NAME(window_labels)(const bitlex_lanes *lanes, const uint8_t *codes, uint8_t *labels, uint32_t count, uint32_t *state)
{
    const uint32_t many = lanes->backward_rows;
#define CASE(rows) \
    if (many <= rows) return NAME(labels_of)(lanes, codes, labels, count, state, rows);
    CASE(8) CASE(16) CASE(MOST_BACKWARD_ROWS)
#undef CASE
    return 0;
}

static int NAME(window_starts)(const bitlex_lanes *lanes, const uint8_t *labels, uint64_t *starts, uint32_t count, uint32_t *state)
{
    const uint32_t many = lanes->forward_rows;
#define CASE(rows) \
    if (many <= rows) return NAME(starts_of)(lanes, labels, starts, count, state, rows);
    CASE(16) CASE(MOST_FORWARD_ROWS)
#undef CASE
    return 0;
}

/* The numbers of the bits of a word, from `base` on: how many. */
static __attribute__((noinline)) uint32_t NAME(numbers_of)(uint64_t bits, uint32_t base, uint16_t *to)
{
    const uint32_t count = (uint32_t)__builtin_popcountll(bits);
    const uint64_t which = _bzhi_u64(~UINT64_C(0), count);
    const V found = _mm512_maskz_compress_epi8(bits, v_load(numbers)), from = _mm512_set1_epi16((short)base);
    const V low = _mm512_cvtepu8_epi16(_mm512_castsi512_si256(found)), high = _mm512_cvtepu8_epi16(_mm512_extracti64x4_epi64(found, 1));
    _mm512_mask_storeu_epi16(to, (__mmask32)which, _mm512_add_epi16(from, low));
    _mm512_mask_storeu_epi16(to + 32, (__mmask32)(which >> 32), _mm512_add_epi16(from, high));
    return count;
}

BITLEX_INLINE uint32_t NAME(whole_text)(bitlex_cursor *c, const uint8_t *units, bitlex_units kind, uint32_t count, uint32_t backward,
                                       uint32_t *forward)
{
    const bitlex_lanes *lanes = c->machine->lanes;
    uint8_t codes[BITLEX_LANES_FROM + 64], labels[BITLEX_LANES_FROM + 64];
    uint32_t state = lanes->backward_number[backward], at, size, found = 0;
    uint32_t n = 0, listed = 0; /* characters; whether it is listed where they are */
    uint64_t starts;
    for (at = 0; at < count; at += size) {
        uint64_t places;
        V here, code;
        size = count - at < 64 ? count - at : 64;
        places = ~UINT64_C(0) >> (64 - size);
        here = _mm512_maskz_loadu_epi8(places, units + at);
        code = kind == BITLEX_COLUMNS ? v_permute(lanes->column_code, here) : v_entry(lanes->direct, here);
        if (kind == BITLEX_POINTS) code = v_choose(m_high(here), v_entry(lanes->direct + 128, here), code);
        if (kind == BITLEX_BYTES && m_any(m_high(here))) {
            const bitlex_bytes b = {here, NAME(further)(here, 1), NAME(further)(here, 2), NAME(further)(here, 3), ~UINT64_C(0), 0};
            if (!listed && at > 0) { /* what was ASCII until here is read again */
                listed = 1;
                at = n = size = 0;
                continue;
            }
            listed = 1;
            code = NAME(walk_any_utf8)(lanes, &c->recent, &b, &size, &places);
            if (size == 0) return BITLEX_NOT_DONE; /* a character is cut by the end */
        }
        if (listed) NAME(numbers_of)(places, at, c->units + n);
        v_store(codes + n, code);
        n += (uint32_t)__builtin_popcountll(places);
    }
    c->plain &= !listed;
    for (at = (n - 1) / 64 * 64 + 64; at > 0; at -= 64) {
        size = n - (at - 64) < 64 ? n - (at - 64) : 64;
        if (!NAME(window_labels)(lanes, codes + at - 64, labels + at - 64, size, &state)) return BITLEX_NOT_DONE;
    }
    state = lanes->forward_number[*forward];
    for (at = 0; at < n; at += 64) {
        size = n - at < 64 ? n - at : 64;
        if (!NAME(window_starts)(lanes, labels + at, &starts, size, &state)) return BITLEX_NOT_DONE;
        found += NAME(numbers_of)(starts, at, c->events + found);
    }
    *forward = lanes->forward_state[state];
    return found;
}

static uint32_t whole_avx512(bitlex_cursor *c, const uint8_t *units, bitlex_units kind, uint32_t count, uint32_t backward,
                             uint32_t *forward)
{
    const uint32_t found = NAME(whole_text)(c, units, kind, count, backward, forward);
    v_leave();
    return found;
}

/* The state to which a symbol leads from most of so many. */
BITLEX_ONCE uint8_t usual_state(const uint16_t *leads, const uint8_t *from, uint32_t count)
{
    uint8_t times[BITLEX_SYMBOLS] = {0}, most = 0;
    uint32_t i;
    for (i = 0; i < count; i++) {
        const uint32_t next = leads[from[i]] & (BITLEX_SYMBOLS - 1);
        if (++times[next] > times[most]) most = (uint8_t)next;
    }
    return most;
}

/* For each code of a symbol, the state to which it leads from where most symbols do, and in bit 7 whether the third of a run does nothing
 * that the second did not. */
BITLEX_ONCE void fill_usual(uint8_t *usual, const automaton *a, const uint8_t *codes)
{
    uint8_t every[BITLEX_SYMBOLS], one[BITLEX_SYMBOLS];
    uint32_t symbol, i, second, last = a->symbols - 1;
    for (i = 0; i < BITLEX_SYMBOLS; i++) every[i] = (uint8_t)i;
    for (symbol = 0; symbol < last; symbol++) one[symbol] = usual_state(a->does[symbol], every, a->states);
    for (symbol = 0; symbol < last; symbol++) {
        const uint16_t *leads = a->does[symbol];
        uint8_t *to = usual + codes[symbol];
        *to = 0x80;
        for (i = 0; i < a->states; i++) {
            second = leads[leads[i] & (BITLEX_SYMBOLS - 1)] & (BITLEX_SYMBOLS - 1);
            if ((leads[second] & (BITLEX_SYMBOLS - 1)) != second) *to = 0;
        }
        *to |= usual_state(leads, one, last);
    }
}
