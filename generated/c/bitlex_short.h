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
 * behind it do the same, whatever was before, these take the state from the second at once; and where they count to three, as in a number,
 * the fourth and those behind it take it from one of the first three.
 *
 * A place that is open is in one of two registers, first and second. What each character does to these are bits, by which it is found which
 * places are handed out, for all characters at once: there are no branches on it, since no line of code is like the one before.
 *
 * Each byte of UTF-8 is read once, as another thread may write to the text: what comes of it is bounded, and the caller is given what was
 * read.
 *
 * Rejected: functions from states to states, put together in six rounds (16 states at most, where cl100k has 19).
 */

#ifndef WALK_TURNS
#define WALK_TURNS 2 /* before it is looked at whether they changed anything */
#endif
/* Where the next two were not enough of late, there is one more: by so much, a window more of that kind is counted; from so much on. */
#define DEEP_WINDOW 6
#define DEEP_FROM 12
#define DEEPEST 30

/* What symbols make of states, each on its page. */
BITLEX_INLINE V NAME(walk_step)(const uint8_t (*table)[BITLEX_PAGE], V index, const M *there, const uint32_t pages)
{
    V found;
    uint32_t i;
    if (pages == 2) return _mm512_mask_mov_epi8(NAME(entry128)(table[0], index), there[1], NAME(entry128)(table[1], index));
    found = NAME(if_there)(there[0], table[0], index);
    for (i = 1; i < pages; i++) found = _mm512_or_si512(found, NAME(if_there)(there[i], table[i], index));
    return found;
}

/* A vector as many bytes on, with zeros behind. */
BITLEX_INLINE V NAME(further)(V v, uint32_t by)
{
    return _mm512_maskz_permutexvar_epi8(~UINT64_C(0) >> by, v_add(v_load(numbers), _mm512_set1_epi8((char)by)), v);
}

static const uint8_t previous[64] = {255, 0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20,
                                     21,  22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42,
                                     43,  44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62};

/* Where a run of symbols that last has its third character and those behind it. */
BITLEX_INLINE M NAME(repeated)(V symbols, M lasting)
{
    const uint64_t same = m_bits(m_equal(symbols, _mm512_permutexvar_epi8(v_load(previous), symbols))) & ~UINT64_C(1);
    return same & same << 1 & lasting;
}

/* From where each character takes the state before it: of the character before; but where that is repeated, of one that it is equal to, the
 * second of the run where a column lasts, one of the first three where it counts. The last one before that is not repeated is the n-th of
 * these, if n are before; they are counted eight by eight. */
static const int8_t counted[64] = {0, 0, -2, -1, 0, -2, -1, 0, -2, -1, 0, -2, -1, 0, -2, -1, 0, -2, -1, 0, -2, -1,
                                   0, -2, -1, 0, -2, -1, 0, -2, -1, 0, -2, -1, 0, -2, -1, 0, -2, -1, 0, -2, -1, 0,
                                   -2, -1, 0, -2, -1, 0, -2, -1, 0, -2, -1, 0, -2, -1, 0, -2, -1, 0, -2, -1};
BITLEX_INLINE V NAME(sources)(M repeated, M counting)
{
    const V sums = _mm512_set1_epi64(0x0101010101010101), here = _mm512_maskz_set1_epi8(~repeated, 1);
    const V others = _mm512_mullo_epi64(here, sums);
    const V eights = _mm512_mullo_epi64(_mm512_permutexvar_epi8(_mm512_set1_epi64(0x3F372F271F170F07), others), sums);
    const V eighth = _mm512_srli_epi16(v_and(v_load(numbers), _mm512_set1_epi8(0x38)), 3);
    const V before = _mm512_permutexvar_epi8(eighth, _mm512_slli_epi64(eights, 8));
    const V number = v_add(_mm512_sub_epi8(others, here), v_add(before, _mm512_set1_epi8(-1)));
    const V from = _mm512_permutexvar_epi8(number, _mm512_maskz_compress_epi8(~repeated, v_load(numbers)));
    if (counting == 0) return from;
    return _mm512_mask_add_epi8(from, counting << 1, from, _mm512_permutexvar_epi8(_mm512_sub_epi8(v_load(numbers), from), v_load(counted)));
}

/* The states behind characters, guessed at first; and what is done to open places. No turn waits for the last one to be compared: where that
 * changed nothing, the states are those of the one before. */
BITLEX_INLINE V NAME(walk_pages)(const bitlex_walk *walk, V columns, M all, V entry, V *did, uint32_t *deep, const uint32_t pages)
{
    const V offset = v_permute(walk->offset, columns), page = v_permute(walk->page, columns);
    V from = v_load(previous), behind = v_permute(walk->guess, columns), index, last;
    const V kind = v_permute(walk->lasts, columns);
    const uint64_t same = m_bits(m_equal(columns, _mm512_permutexvar_epi8(from, columns))) & ~UINT64_C(1), third = same & same << 1;
    const uint64_t counting = third & third << 1 & m_bits(_mm512_test_epi8_mask(kind, _mm512_set1_epi8(BITLEX_COUNTS)));
    const uint64_t repeated = (third & m_bits(_mm512_test_epi8_mask(kind, _mm512_set1_epi8(BITLEX_LASTS)))) | counting;
    M there[BITLEX_PAGES], watched = all;
    uint32_t more = 0, i;
    for (i = 0; i < pages; i++) there[i] = _mm512_cmpeq_epi8_mask(page, _mm512_set1_epi8((char)i));
    for (i = 0; i < WALK_TURNS || (i == WALK_TURNS && *deep > DEEP_FROM); i++) {
        behind = NAME(walk_step)(walk->next, v_add(offset, _mm512_mask_permutexvar_epi8(entry, ~UINT64_C(1), from, behind)), there, pages);
    }
    if (repeated & repeated << 1) { /* one alone needs no turn more; nobody takes the state of these, so they are right when the others are */
        from = NAME(sources)(repeated, counting);
        watched &= ~repeated;
    }
    for (;;) {
        last = behind;
        index = v_add(offset, _mm512_mask_permutexvar_epi8(entry, ~UINT64_C(1), from, behind));
        behind = NAME(walk_step)(walk->next, index, there, pages);
        if ((_mm512_cmpneq_epi8_mask(behind, last) & watched) == 0) break;
        more = 1;
    }
    *deep += more && *deep < DEEPEST ? DEEP_WINDOW : 0 - (uint32_t)(*deep > 0); /* a store in the loop would have tables loaded again */
    *did = NAME(walk_step)(walk->does, index, there, pages);
    if (repeated & repeated << 1) return behind;
    return last;
}

/* Bytes of UTF-8 and those behind them. A character that the part before left begins in no byte of these: it is put where its next byte is,
 * which begins none. `free`: all places but that one; `inner`: its bytes behind that. */
typedef struct {
    V here, second, third, fourth;
    uint64_t free, inner;
} bitlex_bytes;

/* The codes of UTF-8 that is not all ASCII, which begins with a character: `units` are those of whole characters. Where they start comes
 * back; or no units, if what the part before left is not gone on with. */
static __attribute__((noinline)) V NAME(walk_any_utf8)(const bitlex_lanes *lanes, bitlex_recent *recent, const bitlex_bytes *f,
                                                       uint32_t *units, uint64_t *places)
{
    const uint32_t size = *units;
    const uint64_t last = UINT64_C(1) << (size - 1);
    const V here = f->here, second = f->second, third = f->third;
    const uint64_t beyond = m_bits(m_high(here)), threes = m_bits(m_at_least(here, v_all(0xE0)));
    const uint64_t fours = m_bits(m_at_least(here, v_all(0xF0)));
    const uint64_t leads = m_bits(m_at_least(here, v_all(0xC2)) & ~m_at_least(here, v_all(0xF5)));
    const uint64_t one = m_bits(NAME(followed)(here, second)), two = one & threes & m_bits(m_inside(third));
    const uint64_t three = two & fours & m_bits(m_inside(f->fourth));
    const uint64_t inside = (one & f->free) << 1 | (two & f->free) << 2 | (three & f->free) << 3 | f->inner;
    const uint64_t cut = (leads & last) | (one & threes & last >> 1) | (two & fours & last >> 2); /* of which more may come */
    uint64_t starts, odd;
    V first, seconds, thirds;
    if (cut) *units = first_bit(cut);
    starts = *units == 0 ? 0 : ~inside & ~UINT64_C(0) >> (64 - *units);
    first = _mm512_maskz_compress_epi8(starts, here);
    seconds = _mm512_maskz_compress_epi8(starts, second);
    thirds = _mm512_maskz_compress_epi8(starts, third);
    odd = beyond & starts & ~((one & ~threes) | (two & ~fours) | three);
    if (odd & ~f->free) *units = 0;
    if (odd) {
        const M wrong = m_gather(odd, starts);
        first = v_choose(wrong, v_all(0xEF), first);
        seconds = v_choose(wrong, v_all(0xBF), seconds);
        thirds = v_choose(wrong, v_all(0xBD), thirds);
    }
    *places = starts;
    return NAME(points)(lanes, recent, NULL, first, seconds, thirds, _mm512_maskz_compress_epi8(starts, f->fourth),
                        v_entry(lanes->direct, first), m_high(first));
}

/* The same, where nothing is ill-formed and no character has four bytes; 0 if that is not so. As bytes inside characters are then all that
 * look so, nothing waits for the proof. */
BITLEX_INLINE int NAME(walk_utf8)(const bitlex_lanes *lanes, bitlex_recent *recent, const bitlex_bytes *f, uint32_t *units,
                                  uint64_t *places, V *codes)
{
    const uint64_t last = UINT64_C(1) << (*units - 1);
    const V here = f->here, second = f->second, third = f->third;
    const M within = _mm512_cmplt_epi8_mask(here, _mm512_set1_epi8((char)0xC0)), three = m_at_least(here, _mm512_set1_epi8((char)0xE0));
    const M pairs = NAME(followed)(here, second), triples = pairs & three & _mm512_cmplt_epi8_mask(third, _mm512_set1_epi8((char)0xC0));
    const uint64_t continues = m_bits(within), beyond = m_bits(m_high(here));
    const uint64_t one = m_bits(pairs), two = m_bits(triples), threes = m_bits(three);
    const uint64_t leads = m_bits(m_at_least(here, _mm512_set1_epi8((char)0xC2)));
    const uint64_t cut = (leads & last) | (one & threes & last >> 1); /* of which more may come */
    const uint64_t known = ((cut & (0 - cut)) - 1) & (last | (last - 1));
    const V first = _mm512_maskz_compress_epi8(~within, here), seconds = _mm512_maskz_compress_epi8(~within, second);
    const M above = m_at_least(first, _mm512_set1_epi8((char)0xE0));
    const uint64_t inside = (one & f->free) << 1 | (two & f->free) << 2 | f->inner;
    const uint64_t ill = ((inside ^ continues) | (beyond & ~continues & ~((one & ~threes) | two))) & known;
    const V chunk = _mm512_maskz_and_epi32(0xFFFF, _mm512_maskz_mov_epi8(above, first), _mm512_set1_epi8(0x0F));
    if ((ill | m_bits(m_at_least(here, _mm512_set1_epi8((char)0xF0)))) != 0 || known == 0) return 0;
    *units = 64 - (uint32_t)__builtin_clzll(known);
    *places = known & ~continues;
    *codes = NAME(deep)(lanes, recent, v_entry(lanes->direct, first), m_high(first), above, chunk, v_choose(above, seconds, first),
                        v_choose(above, _mm512_maskz_compress_epi8(~within, third), seconds));
    return 1;
}

#define BITS(flag) m_bits(_mm512_mask_test_epi8_mask(all, did, _mm512_set1_epi8((char)(flag))))

/* Each use is of what was written last before it, at the same character before that is written again. Which writes are used: of all that is
 * there, side by side, those before a use; *initial: whether what was there before is. */
BITLEX_INLINE uint64_t used(uint64_t writes, uint64_t uses, uint64_t *initial)
{
    const uint64_t either = writes | uses, are_uses = _pext_u64(uses, either);
    *initial = are_uses & 1;
    return _pdep_u64(_pext_u64(writes, either) & are_uses >> 1, either);
}

/* An open place: where the character of the highest bit starts, of characters that start at these places. */
BITLEX_INLINE uint64_t last_place(const bitlex_walker *w, uint64_t bits, uint64_t places)
{
    const uint64_t unit = first_bit(_pdep_u64(UINT64_C(1) << (63 - __builtin_clzll(bits)), places));
    return (w->stream->length + unit + (unit == 0 ? 0 : w->kept)) << BITLEX_STREAM_SHIFT;
}

/* The start of the text is not told. */
BITLEX_INLINE void hand_out(bitlex_walker *w, uint64_t open)
{
    if (open >> BITLEX_STREAM_SHIFT == 0) return;
    if (w->ends != NULL) *w->ends++ = (uint32_t)((open >> BITLEX_STREAM_SHIFT) - w->origin);
    else *w->out++ = open >> BITLEX_STREAM_SHIFT;
}

/* Hand out places that were open before, and have the others: which of these characters start pieces comes back. */
BITLEX_INLINE uint64_t NAME(walk_open)(bitlex_walker *w, V did, uint64_t all, uint64_t places)
{
    uint64_t *open = w->stream->open;
    const uint64_t first_starts = BITS(BITLEX_FIRST_STARTS), first_is_here = BITS(BITLEX_FIRST_IS_HERE);
    uint64_t second_starts, first_is_second, second_is_here, writes = first_is_here, first, second, initial, initial_second;
    if (!BITS(BITLEX_SECOND_STARTS | BITLEX_FIRST_IS_SECOND | BITLEX_SECOND_IS_HERE)) { /* one place at a time, as most often */
        first = used(writes, first_starts, &initial);
        if (initial) hand_out(w, open[0]);
        if (writes != 0) open[0] = last_place(w, writes, places);
        return first;
    }
    second_starts = BITS(BITLEX_SECOND_STARTS);
    first_is_second = BITS(BITLEX_FIRST_IS_SECOND);
    second_is_here = BITS(BITLEX_SECOND_IS_HERE);
    writes |= first_is_second;
    first = used(writes, first_starts, &initial);
    second = used(second_is_here, second_starts | (first & first_is_second), &initial_second);
    if (initial) hand_out(w, open[0]);
    if (initial_second) hand_out(w, open[1]);
    if (writes != 0) {
        const uint64_t last = UINT64_C(1) << (63 - __builtin_clzll(writes)), earlier = second_is_here & (last - 1);
        if (first_is_here & last) open[0] = last_place(w, last, places);
        else open[0] = earlier != 0 ? last_place(w, earlier, places) : open[1];
    }
    if (second_is_here != 0) open[1] = last_place(w, second_is_here, places);
    return (first & first_is_here) | second;
}

/* Store so many of these numbers, from the first on, as narrow offsets. */
BITLEX_INLINE void store_narrow(V found, uint32_t count, bitlex_walker *w)
{
    const V from = _mm512_set1_epi32((int)(uint32_t)(w->stream->length + w->kept - w->origin));
    uint32_t *to = w->ends, *end = to + count;
    w->ends = end;
    if (w->last - to >= 32 && count <= 32) { /* no branch on how many of these there are */
        v_store(to, _mm512_add_epi32(from, _mm512_cvtepi8_epi32(_mm512_castsi512_si128(found))));
        v_store(to + 16, _mm512_add_epi32(from, _mm512_cvtepi8_epi32(_mm512_extracti32x4_epi32(found, 1))));
        return;
    }
    for (; to < end; to += 16) {
        const uint32_t left = (uint32_t)(end - to);
        _mm512_mask_storeu_epi32(to, (__mmask16)(0xFFFFu >> (left < 16 ? 16 - left : 0)),
                                 _mm512_add_epi32(from, _mm512_cvtepi8_epi32(_mm512_castsi512_si128(found))));
        found = _mm512_permutexvar_epi64(_mm512_set_epi64(7, 7, 7, 6, 5, 4, 3, 2), found);
    }
}

/* Store units, where there is room for them. */
BITLEX_INLINE void store_units(uint64_t units, bitlex_walker *w)
{
    const V from = _mm512_set1_epi64((long long)(w->stream->length + w->kept));
    uint64_t *to = w->out, *end;
    uint32_t count;
    V found;
    if (w->stream->length == 0) units &= ~UINT64_C(1); /* the start of the text */
    count = (uint32_t)__builtin_popcountll(units);
    found = _mm512_maskz_compress_epi8(units, _mm512_sub_epi8(v_load(numbers), _mm512_zextsi128_si512(_mm_cvtsi32_si128((int)w->kept))));
    if (w->ends != NULL) {
        store_narrow(found, count, w);
        return;
    }
    w->out = end = to + count;
    if (w->limit - to >= 24 && count <= 24) { /* no branch on how many of these there are */
        const __m128i some = _mm512_castsi512_si128(found);
        v_store(to, _mm512_add_epi64(from, _mm512_cvtepi8_epi64(some)));
        v_store(to + 8, _mm512_add_epi64(from, _mm512_cvtepi8_epi64(_mm_srli_si128(some, 8))));
        v_store(to + 16, _mm512_add_epi64(from, _mm512_cvtepi8_epi64(_mm512_extracti32x4_epi32(found, 1))));
        return;
    }
    for (; to < end; to += 8) {
        const uint32_t left = (uint32_t)(end - to);
        _mm512_mask_storeu_epi64(to, (__mmask8)(0xFFu >> (left < 8 ? 8 - left : 0)),
                                 _mm512_add_epi64(from, _mm512_cvtepi8_epi64(_mm512_castsi512_si128(found))));
        found = _mm512_permutexvar_epi64(_mm512_set_epi64(7, 7, 6, 5, 4, 3, 2, 1), found);
    }
}

/* Run the automaton over characters, and hand out what starts. `places`: the bits of units at which they start. How many units were read:
 * fewer where it leaves the table. */
static __attribute__((noinline)) uint32_t NAME(walk_columns)(bitlex_walker *w, V columns, uint64_t places, uint32_t units)
{
    const bitlex_walk *walk = w->walk;
    const V entry = _mm512_set1_epi8((char)w->stream->configuration);
    uint32_t count = (uint32_t)__builtin_popcountll(places);
    uint64_t all = ~UINT64_C(0) >> (64 - count), starts;
    uint32_t none = 0, *deep = w->recent != NULL ? &w->recent->deep : &none;
    V behind, did;
#define CASE(most) if (walk->pages <= most) behind = NAME(walk_pages)(walk, columns, all, entry, &did, deep, most); else
    CASE(2) CASE(3) CASE(6) behind = NAME(walk_pages)(walk, columns, all, entry, &did, deep, walk->pages); /* as families have */
#undef CASE
    starts = m_bits(m_high(behind)) & all;
    if (_mm512_mask_test_epi8_mask(all, did, did)) {
        const uint64_t leaves = BITS(BITLEX_LEAVES);
        if (leaves) {
            w->left = 1;
            count = first_bit(leaves);
            if (count == 0) return 0;
            units = first_bit(_pdep_u64(leaves, places));
            all = (UINT64_C(1) << count) - 1;
            starts &= all;
        }
        starts |= NAME(walk_open)(w, did, all, places);
    }
    store_units(_pdep_u64(starts, places), w);
    behind = _mm512_permutexvar_epi8(_mm512_set1_epi8((char)(count - 1)), behind);
    w->stream->configuration = (uint16_t)(_mm_cvtsi128_si32(_mm512_castsi512_si128(behind)) & 0x3F);
    w->stream->length += units + w->kept;
    return units;
}

BITLEX_INLINE V NAME(columns_of)(const uint8_t *column, V symbols)
{
    return v_choose(m_high(symbols), v_entry(column + 128, symbols), v_entry(column, symbols));
}

/* UTF-8, `last` if nothing follows: how many bytes are read, or kept as the beginning of a character. */
static __attribute__((noinline)) uint32_t NAME(walk_bytes)(bitlex_walker *w, V bytes, uint32_t size, int last)
{
    bitlex_stream *s = w->stream;
    bitlex_bytes b = {bytes, NAME(further)(bytes, 1), NAME(further)(bytes, 2), v_all(0), ~UINT64_C(0), 0};
    const uint32_t kept = s->tail_length;
    uint32_t units = size, tail = 0;
    uint64_t places;
    V codes;
    if (kept > 0) {
        memcpy(&tail, s->tail, 4);
        tail = (tail & ((1u << 8 * kept) - 1)) | (uint32_t)_mm_cvtsi128_si32(_mm512_castsi512_si128(bytes)) << 8 * kept;
        b.here = _mm512_mask_set1_epi8(b.here, 1, (char)tail);
        b.second = _mm512_mask_set1_epi8(b.second, 1, (char)(tail >> 8));
        b.third = _mm512_mask_set1_epi8(b.third, 1, (char)(tail >> 16));
        b.free = ~UINT64_C(1);
        b.inner = (UINT64_C(1) << ((s->tail[0] < 0xE0 ? 2u : s->tail[0] < 0xF0 ? 3u : 4u) - kept)) - 2;
    }
    if (!NAME(walk_utf8)(w->lanes, w->recent, &b, &units, &places, &codes)) {
        bitlex_bytes all = b;
        all.fourth = _mm512_mask_set1_epi8(NAME(further)(bytes, 3), ~b.free, (char)(tail >> 24));
        codes = NAME(walk_any_utf8)(w->lanes, w->recent, &all, &units, &places);
    }
    if (units > 0) {
        w->kept = kept;
        units = NAME(walk_columns)(w, NAME(columns_of)(w->walk->column[BITLEX_CODES], codes), places, units);
        w->kept = 0;
    }
    if (units == 0 && kept > 0) {
        w->left = 1;
        return 0;
    }
    s->tail_length = 0;
    if (!last || w->left) return units;
    s->tail_length = (uint8_t)(size - units);
    tail = (uint32_t)_mm_cvtsi128_si32(_mm512_castsi512_si128(
        _mm512_permutexvar_epi8(v_add(v_load(numbers), _mm512_set1_epi8((char)units)), bytes)));
    memcpy(s->tail, &tail, 4);
    return size;
}

/* Other units than bytes of UTF-8. */
static __attribute__((noinline)) uint32_t NAME(walk_wide)(bitlex_walker *w, const uint8_t *text, uint32_t size, bitlex_encoding encoding)
{
    const uint64_t places = ~UINT64_C(0) >> (64 - size);
    const uint8_t *column = w->walk->column[encoding == BITLEX_LATIN1 ? BITLEX_LOW : BITLEX_CODES];
    uint8_t symbols[64] = {0};
    if (encoding == BITLEX_UCS2) NAME(read_wide)(w->lanes, w->recent, symbols, text, size, 2);
    else if (encoding == BITLEX_UCS4) NAME(read_wide)(w->lanes, w->recent, symbols, text, size, 4);
    else v_store(symbols, _mm512_maskz_loadu_epi8(places, text));
    return NAME(walk_columns)(w, NAME(columns_of)(column, v_load(symbols)), places, size);
}

static size_t walk_avx512(bitlex_walker *w, const uint8_t *text, size_t length, bitlex_encoding encoding)
{
    size_t done = 0;
    while (done < length && !w->left) {
        const uint32_t size = length - done < 64 ? (uint32_t)(length - done) : 64;
        if (encoding == BITLEX_UTF8) {
            const uint64_t places = ~UINT64_C(0) >> (64 - size);
            const V bytes = _mm512_maskz_loadu_epi8(places, text + done);
            if (!m_any(m_high(bytes)) && w->stream->tail_length == 0) {
                done += NAME(walk_columns)(w, v_entry(w->walk->column[BITLEX_LOW], bytes), places, size);
            } else if (w->recent == NULL) {
                break;
            } else {
                done += NAME(walk_bytes)(w, bytes, size, size == length - done);
            }
        } else {
            if (w->recent == NULL && encoding != BITLEX_LATIN1) break;
            done += NAME(walk_wide)(w, text + done * encoding, size, encoding);
        }
    }
    v_leave();
    return done;
}
#undef BITS
#undef WALK_TURNS
#undef DEEP_WINDOW
#undef DEEP_FROM
#undef DEEPEST
