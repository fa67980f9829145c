/* bitlex_short.h - private: short texts with AVX-512, a lane for each character. It is part of bitlex_avx512.h.
 *
 * A vector holds what there is to know of 64 characters, in order: nothing is transposed. The state behind each character is guessed; then
 * each is replaced by what its column makes of the one before it, all at once, until nothing changes.
 *
 *     text             x     =     "     a     b
 *     guessed          A     P     P     A     A        what the column leads to from most states
 *     one turn         A     P     P     Q     A        P was right before a, but a letter behind it leads to another state
 *     two turns        A     P     P     Q     Q
 *     and again the same: these are the states
 *
 * Invariant: the state before the first character is known. Where a turn changes nothing, all states are right: if the one behind character
 * j is, so is the one behind character j + 1, which its column made of it. Nothing in this depends on the guesses, and after as many turns
 * as there are characters nothing can change.
 *
 * In a run of one character, such as of blanks, turns would pass a state from one to the next. Where the third of equal columns and all
 * behind it do the same, whatever was before (bit 7 of its page), these take the state from the second at once.
 *
 * Each byte of UTF-8 is read once, as another thread may write to the text: what comes of it is bounded, and the caller is given what was
 * read.
 *
 * Rejected: functions from states to states, put together in six rounds (16 states at most, where cl100k has 19).
 */

/* What symbols make of states, each on its page. */
BITLEX_INLINE V NAME(walk_step)(const bitlex_walk *walk, V index, const M *there, const uint32_t pages)
{
    V found;
    uint32_t i;
    if (pages == 1) return NAME(entry128)(walk->next[0], index);
    if (pages == 2) return _mm512_mask_mov_epi8(NAME(entry128)(walk->next[0], index), there[1], NAME(entry128)(walk->next[1], index));
    found = NAME(if_there)(there[0], walk->next[0], index);
    for (i = 1; i < pages; i++) found = _mm512_or_si512(found, NAME(if_there)(there[i], walk->next[i], index));
    return found;
}

/* A vector as many bytes on, with zeros behind. */
BITLEX_INLINE V NAME(further)(V v, uint32_t by)
{
    return _mm512_maskz_permutexvar_epi8(~UINT64_C(0) >> by, v_add(v_load(numbers), _mm512_set1_epi8((char)by)), v);
}

/* Where a run of columns that last has its third character and those behind it, and from where each takes the state before it. */
BITLEX_INLINE M NAME(repeated)(V symbols, M lasting, M all, V *from)
{
    const V previous = v_add(v_load(numbers), v_all(0xFF));
    const M same = m_equal(symbols, _mm512_permutexvar_epi8(previous, symbols)) & all & ~UINT64_C(1), repeated = same & same << 1 & lasting;
    uint64_t left = repeated;
    *from = previous;
    while (left) {
        const uint64_t behind = left + (left & (~left + 1)); /* carries through a run */
        *from = _mm512_mask_set1_epi8(*from, left & ~behind, (char)(first_bit(left) - 1));
        left &= behind;
    }
    return repeated;
}

BITLEX_INLINE void NAME(walk_pages)(const bitlex_walk *walk, V symbols, V offset, V page, V behind, bitlex_window *w, const uint32_t pages)
{
    const M all = ~UINT64_C(0) >> (64 - w->count);
    const V entry = v_all((int)w->state);
    V from, before, next;
    const M repeated = NAME(repeated)(symbols, m_high(page), all, &from);
    uint8_t states[64];
    M there[BITLEX_PAGES], marked;
    uint32_t i;
    page = v_and(page, v_all(0x7F));
    for (i = 0; i < pages; i++) there[i] = m_equal(page, _mm512_set1_epi8((char)i));
    for (i = 0;; i++) {
        before = _mm512_mask_permutexvar_epi8(entry, ~UINT64_C(1), from, behind);
        next = NAME(walk_step)(walk, v_add(offset, before), there, pages);
        if (i > 1 && (_mm512_cmpneq_epi8_mask(next, behind) & all) == 0) break;
        behind = next;
    }
    before = v_and(before, v_all(0x7F));
    v_store(w->before, before);
    v_store(states, behind);
    w->starts = m_bits(m_high(behind) & all);
    marked = m_at_least(v_and(behind, v_all(0x7F)), v_all((int)walk->marked)) | m_at_least(before, v_all((int)walk->marked));
    w->marked = m_bits(marked & all & ~(repeated & repeated >> 1)); /* of those that last, the last one matters */
    w->state = states[w->count - 1] & 0x7Fu;
}

/* The codes of UTF-8 that is not all ASCII, which begins with a character: `units` are those of whole characters. Where they start comes
 * back. */
BITLEX_INLINE uint64_t NAME(walk_utf8)(const bitlex_lanes *lanes, bitlex_recent *recent, V here, uint32_t *units, V *codes)
{
    const uint32_t size = *units;
    const uint64_t last = UINT64_C(1) << (size - 1);
    const V second = NAME(further)(here, 1), third = NAME(further)(here, 2), fourth = NAME(further)(here, 3);
    const uint64_t beyond = m_bits(m_high(here)), threes = m_bits(m_at_least(here, v_all(0xE0)));
    const uint64_t leads = m_bits(m_at_least(here, v_all(0xC2)) & ~m_at_least(here, v_all(0xF5)));
    const uint64_t one = m_bits(NAME(followed)(here, second)), next = m_bits(NAME(followed_four)(here, second));
    const uint64_t inside_third = m_bits(m_inside(third)), two = one & threes & inside_third, next_two = next & inside_third;
    const uint64_t next_three = next_two & m_bits(m_inside(fourth));
    const uint64_t inside = one << 1 | two << 2 | next << 1 | next_two << 2 | next_three << 3;
    const uint64_t cut = (leads & last) | (((one & threes) | next) & last >> 1) | (next_two & last >> 2); /* of which more may come */
    uint64_t starts, odd;
    V first, seconds, thirds;
    if (cut) *units = first_bit(cut);
    starts = *units == 0 ? 0 : ~inside & ~UINT64_C(0) >> (64 - *units);
    first = _mm512_maskz_compress_epi8(starts, here);
    seconds = _mm512_maskz_compress_epi8(starts, second);
    thirds = _mm512_maskz_compress_epi8(starts, third);
    odd = beyond & starts & ~((one & ~threes) | two | next_three);
    if (odd) {
        const M wrong = m_gather(odd, starts);
        first = v_choose(wrong, v_all(0xEF), first);
        seconds = v_choose(wrong, v_all(0xBF), seconds);
        thirds = v_choose(wrong, v_all(0xBD), thirds);
    }
    *codes = NAME(points)(lanes, recent, first, seconds, thirds, _mm512_maskz_compress_epi8(starts, fourth), v_entry(lanes->direct, first),
                          m_high(first));
    return starts;
}

static void walk_avx512(const bitlex_lanes *lanes, const bitlex_walk *walk, bitlex_recent *recent, const uint8_t *text, size_t length,
                        bitlex_encoding encoding, const uint8_t *tail, uint32_t before, bitlex_window *w)
{
    const uint32_t size = length < 64 - before ? (uint32_t)length : 64 - before;
    uint8_t buffer[64];
    V symbols, offset, page, behind;
    w->kind = BITLEX_LOW;
    w->units = w->count = before + size;
    w->places = ~UINT64_C(0) >> (64 - w->count);
    if (encoding == BITLEX_UCS2 || encoding == BITLEX_UCS4) {
        if (recent == NULL) {
            w->units = 0;
            return;
        }
        if (encoding == BITLEX_UCS2) NAME(read_wide)(lanes, recent, buffer, text, size, 2);
        else NAME(read_wide)(lanes, recent, buffer, text, size, 4);
        symbols = v_load(buffer);
        w->kind = BITLEX_CODES;
    } else {
        symbols = _mm512_maskz_loadu_epi8(~UINT64_C(0) >> (64 - size), text);
        if (before > 0) {
            uint32_t bytes;
            memcpy(&bytes, tail, 4);
            symbols = _mm512_mask_permutexvar_epi8(_mm512_castsi128_si512(_mm_cvtsi32_si128((int)bytes)), ~UINT64_C(0) << before,
                                                   v_add(v_load(numbers), _mm512_set1_epi8((char)(0 - before))), symbols);
        }
        v_store(w->bytes, symbols);
        if (encoding == BITLEX_UTF8 && m_any(m_high(symbols))) {
            if (recent == NULL) {
                w->units = 0;
                return;
            }
            w->kind = BITLEX_CODES;
            w->places = NAME(walk_utf8)(lanes, recent, symbols, &w->units, &symbols);
            w->count = (uint32_t)__builtin_popcountll(w->places);
            if (w->count == 0) return;
        }
    }
    offset = v_entry(walk->offset[w->kind], symbols);
    page = v_entry(walk->page[w->kind], symbols);
    behind = v_entry(walk->guess[w->kind], symbols);
    if (m_any(m_high(symbols))) {
        offset = v_choose(m_high(symbols), v_entry(walk->offset[w->kind] + 128, symbols), offset);
        page = v_choose(m_high(symbols), v_entry(walk->page[w->kind] + 128, symbols), page);
        behind = v_choose(m_high(symbols), v_entry(walk->guess[w->kind] + 128, symbols), behind);
    }
    v_store(w->symbols, symbols);
    v_store(w->place, w->kind == BITLEX_CODES ? _mm512_maskz_compress_epi8(w->places, v_load(numbers)) : v_load(numbers));
#define CASE(most) \
    if (walk->pages <= most) { \
        NAME(walk_pages)(walk, symbols, offset, page, behind, w, most); \
        return; \
    }
    CASE(1) CASE(2) CASE(4) CASE(6) CASE(8) CASE(BITLEX_PAGES)
#undef CASE
}

static size_t places_avx512(uint64_t starts, uint64_t places, uint64_t base, uint64_t *out, size_t room)
{
    const uint32_t count = (uint32_t)__builtin_popcountll(starts);
    const V from = _mm512_set1_epi64((long long)base);
    uint8_t found[64];
    uint32_t i;
    v_store(found, _mm512_maskz_compress_epi8(m_spread(starts, places), v_load(numbers)));
    for (i = 0; i < count; i += 8) {
        const V these = _mm512_add_epi64(from, _mm512_cvtepu8_epi64(_mm_loadl_epi64((const __m128i *)(const void *)(found + i))));
        if (room - i >= 8) v_store(out + i, these);
        else _mm512_mask_storeu_epi64(out + i, (__mmask8)(0xFFu >> (8 - (count - i < 8 ? count - i : 8))), these);
    }
    return count;
}
