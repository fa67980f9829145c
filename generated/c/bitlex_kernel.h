/* bitlex_kernel.h - private: the lanes, written once for every instruction set.
 *
 * It is included by a header for each, such as bitlex_avx512.h, which defines before
 *
 *     V                     a vector of 64 bytes, one for each lane
 *     M                     a mask of 64 lanes
 *     v_*, m_*              what is done with them (m_bits: a mask as a word of bits)
 *     v_leave               what is done before code follows that has no vectors so wide: see below
 *     W, WIDTH, w_*         the vector that matrices are turned with, and its bytes
 *     NAME(x)               the name of x for this instruction set
 *     EACH_SIZE, EACH_AGAIN_SIZE, MANY_SIZES, MOST_BACKWARD, SPARE, TERMS    see below
 *     PACKS                 whether characters of UTF-8 are packed: m_inside (bytes that are inside a character), m_followed (leads to
 *                           which the next byte belongs), m_of (a word of bits as a mask), v_packed (the bytes of the bits that are set,
 *                           side by side), v_permuted (bytes by their places), m_spread (put bits that are side by side where others are)
 *     POINTS                whether that is done by bitlex_points.h, where the codes of characters are looked up one by one
 *     DEEP                  whether it has a way of its own to look up characters that are not ASCII, named `deep`; if not, v_stretch
 *                           (the code of characters of the BMP in large stretches of one column, or LOOK_DEEPER)
 *     TWICE                 whether two runs go side by side: both halves of all lanes, or all lanes with two guesses
 *     v_class               where machines of more than eight pages are run: the classes of states, by what tells the pages
 *
 * Tables are in memory, as v_prepare and, where there is one, prepare_tables left them. v_entry looks up in 128 bytes by an index
 * below 128 (the result for others does not matter), v_permute in 64 bytes by the low six bits, v_offset in 16 by the low four of a
 * code below 128. v_right and v_left may shift by pairs of bytes, so no bit may come in or go out that counts. w_gather takes 16 bytes
 * from each of WIDTH / 16 places.
 *
 * v_entries looks up in pages: `index` is the offset of a symbol on its page plus a state. With two pages at most, the page
 * is bit 7 of `code`, and of `index`; with more, it is bits 4 to 6 of `code`. The last argument, a constant, says how
 * many rows of 16 entries are in use; EACH_SIZE(CASE) lists the numbers for which code is made, and EACH_AGAIN_SIZE those for passes
 * that are run again. MANY_SIZES: whether all others are run, too, in a loop by classes (bitlex_classes.h). MOST_BACKWARD is
 * the largest listed for a backward automaton. The flags of a state are bits 7 and 6, or SPARE bits below.
 * Where TERMS is defined, tables are sums (bitlex_products.h, bitlex_terms.h) instead, and NAME(backward_step),
 * NAME(forward_step) and v_flag (a flag of a forward state, as bit 7 and none else) are there already. m_at_least compares with a constant
 * other than 0.
 *
 * Whatever is called from elsewhere leaves by v_leave. Compilers do so by themselves, but not behind a call that is given vectors; and on a
 * Sapphire Rapids, the next SSE instruction then takes a hundred nanoseconds, and the next of 512 bits half of that.
 */

/* --- units -> codes ----------------------------------------------------------------------------------------------- */

#if !DEEP
#define AT_HAND BITLEX_RECENT /* rows, which are compared with one after the other */
#define FEW 8 /* characters, which are looked up one by one */

/* Rows at hand are compared with one after the other. The one that was needed last of all comes before its neighbour, each 32nd time: so
 * those that a text has throughout come first by and by. */
static __attribute__((noinline)) void put_ahead(bitlex_recent *recent, uint32_t at)
{
    uint8_t codes[64];
    const uint8_t chunk = recent->chunk[at], row = recent->row[at], only = recent->only[at];
    memcpy(codes, recent->codes[at], sizeof codes);
    memcpy(recent->codes[at], recent->codes[at - 1], sizeof codes);
    memcpy(recent->codes[at - 1], codes, sizeof codes);
    recent->chunk[at] = recent->chunk[at - 1];
    recent->row[at] = recent->row[at - 1];
    recent->only[at] = recent->only[at - 1];
    recent->chunk[at - 1] = chunk;
    recent->row[at - 1] = row;
    recent->only[at - 1] = only;
}

/* The place for a row that is met: not one of the first two, which such a text needs most. */
static inline uint32_t place_for_row(bitlex_recent *recent)
{
    const uint32_t met = recent->oldest++;
    return met < BITLEX_RECENT ? met : 2 + met % (BITLEX_RECENT - 2);
}

/* Fill in the codes of the lanes in `wanted`, whose code points are put together from three vectors: bits 12..19, bits
 * 6..11 (as bytes whose low six bits they are; the same code points must have the same bytes) and bits 0..5 (likewise).
 * `wide`: lanes in the BMP that are likely to be in one of the large stretches of one column, which one look-up serves. */
BITLEX_INLINE V NAME(deep)(const bitlex_lanes *lanes, bitlex_recent *recent, V code, M wanted, M wide, V chunk, V row, V low)
{
    uint8_t chunks[64], rows[64], lows[64], codes[64];
    uint64_t left = m_bits(wanted);
    uint32_t i;
    if (__builtin_popcountll(left) > FEW) {
        M same;
        if (m_any(wide)) {
            V found = v_stretch(chunk, row);
            code = v_choose(wide, found, code);
            wanted = m_without(wanted, m_without(wide, m_equal(found, v_all(BITLEX_LOOK_DEEPER))));
            if (!m_any(wanted)) return code;
        }
        for (i = 0; i < AT_HAND; i++) {
            same = m_and(m_and(m_equal(chunk, v_all(recent->chunk[i])), m_equal(row, v_all(recent->row[i]))), wanted);
            code = v_choose(same, recent->only[i] != BITLEX_LOOK_DEEPER ? v_all(recent->only[i]) : v_permute(recent->codes[i], low), code);
            wanted = m_without(wanted, same);
            if (m_any(wanted)) continue;
            if (i > 0 && recent->finished++ % 32 == 0) put_ahead(recent, i);
            return code;
        }
        v_store(chunks, chunk);
        v_store(rows, row);
        for (i = 0; (left = m_bits(wanted)) && i < 4; i++) {
            uint32_t at = first_bit(left), old = place_for_row(recent);
            V met;
            recent->chunk[old] = chunks[at];
            recent->row[old] = rows[at];
            met = v_permute(lanes->cell_row, v_load(cells_of(lanes->machine, chunks[at], rows[at])));
            v_store(recent->codes[old], met);
            recent->only[old] = m_all(m_equal(met, v_all(recent->codes[old][0]))) ? recent->codes[old][0] : BITLEX_LOOK_DEEPER;
            v_prepare(recent->codes[old], 64);
            same = m_and(m_and(m_equal(chunk, v_all(chunks[at])), m_equal(row, v_all(rows[at]))), wanted);
            code = v_choose(same, v_permute(recent->codes[old], low), code);
            wanted = m_without(wanted, same);
        }
        if (left == 0) return code;
    } else {
        v_store(chunks, chunk);
        v_store(rows, row);
    }
    v_store(codes, code); /* few, or this text jumps about: one by one is faster */
    v_store(lows, low);
    for (; left; left &= left - 1) {
        uint32_t at = first_bit(left);
        codes[at] = lanes->cell_code[cells_of(lanes->machine, chunks[at], rows[at])[lows[at] & 63]];
    }
    return v_load(codes);
}
#undef AT_HAND
#undef FEW
#endif

/* UTF-8. What is ill-formed, or beyond U+FFFFF, is left to read_slowly: 64 bytes at a time, and the character before. */
static void NAME(read_utf8)(const bitlex_lanes *lanes, bitlex_recent *recent, uint8_t *codes, const uint8_t *text, const uint8_t *end,
                            uint32_t units)
{
    const V high = v_all(0x3F);
    uint64_t asked = 0; /* the first bits: continuation bytes that the characters before ask for */
    uint32_t at;
    for (at = 0; at < units; at += 64) {
        const uint8_t *p = text + at;
        uint8_t copy[128];
        const uint64_t asked_before = asked;
        uint64_t beyond, valid, lead, three, four, next, ill;
        V here, code, second, third, chunk, row, low;
        M leads, threes, fours, wide, rare;
        if ((size_t)(end - p) < 64 + 3) {
            memset(copy, 0, sizeof copy);
            memcpy(copy, p, (size_t)(end - p));
            p = copy;
        }
        here = code = v_load(p);
        valid = units - at >= 64 ? ~UINT64_C(0) : ~UINT64_C(0) >> (64 - (units - at));
        beyond = m_bits(m_high(here)) & valid;
        if (beyond != valid) code = v_entry(lanes->direct, here);
        if ((beyond | asked) == 0) {
            v_store(codes + at, code);
            for (; at + 128 <= units && !m_any(m_high(v_load(text + at + 64))); at += 64) { /* ASCII, as long as it lasts */
                v_store(codes + at + 64, v_entry(lanes->direct, v_load(text + at + 64)));
            }
            continue;
        }
        second = v_load(p + 1);
        leads = m_at_least(here, v_all(0xC0));
        threes = m_at_least(here, v_all(0xE0));
        fours = m_at_least(here, v_all(0xF0));
        lead = m_bits(leads) & valid;
        three = m_bits(threes) & valid;
        four = m_bits(fours) & valid;
        /* Leads that no character has, and leads that restrict the byte behind: scripts use none of these, or one throughout. */
        rare = m_or(m_without(leads, m_at_least(here, v_all(0xC2))), fours);
        rare = m_or(rare, m_or(m_equal(here, v_all(0xE0)), m_equal(here, v_all(0xED))));
        ill = 0;
        if (m_any(rare)) {
            ill = lead & ~m_bits(m_at_least(here, v_all(0xC2)));
            ill |= four & m_bits(m_at_least(here, v_all(0xF4)));
            ill |= m_bits(m_equal(here, v_all(0xE0))) & valid & ~m_bits(m_at_least(second, v_all(0xA0)));
            ill |= m_bits(m_equal(here, v_all(0xED))) & valid & m_bits(m_at_least(second, v_all(0xA0)));
            ill |= m_bits(m_equal(here, v_all(0xF0))) & valid & ~m_bits(m_at_least(second, v_all(0x90)));
        }
        next = lead >> 63 | three >> 62 | four >> 61;
        asked |= lead << 1 | three << 2 | four << 3;
        ill |= asked ^ (beyond & ~lead);
        if (ill) {
            const uint32_t from = asked_before ? last_lead(text, at) : at, to = units - at < 64 ? units : at + 64;
            const uint32_t stop = read_slowly(lanes, codes, text, end, from, to);
            asked = (UINT64_C(1) << (stop - to)) - 1;
            continue;
        }
        asked = next;
        chunk = v_all(0);
        row = here;
        low = second;
        wide = m_none();
        if (three) {
            third = v_load(p + 2);
            chunk = v_choose(threes, v_and(here, v_all(0x0F)), chunk);
            row = v_choose(threes, second, row);
            low = v_choose(threes, third, low);
            wide = m_without(threes, fours);
            if (four) {
                chunk = v_choose(fours, v_or(v_left(v_and(here, v_all(3)), 6), v_and(second, high)), chunk);
                row = v_choose(fours, third, row);
                low = v_choose(fours, v_load(p + 3), low);
            }
        }
        code = NAME(deep)(lanes, recent, code, leads, wide, chunk, row, low);
        low = lanes->machine->continuation == NULL ? v_all((uint8_t)lanes->identity) : v_permute(lanes->inside_row, here);
        code = v_choose(m_without(m_high(here), leads), low, code);
        v_store(codes + at, code);
    }
    if (asked) read_slowly(lanes, codes, text, end, last_lead(text, units), units); /* the text ends inside a character */
}

#if PACKS
#if !POINTS
#define ILL_FORMED 0xFF /* as the first byte of what becomes U+FFFD: no character begins with it */
#define DENSE_BLOCKS 7 /* after a block most characters of which have more than one byte, so many are taken for such */
#define ILL_FORMED_BLOCKS 7 /* after a block that was not well-formed, so many are not taken for it */

/* The codes of 64 characters, which have their first bytes in `here`, their second ones, and so on: those in `leads`; of others `code`.
 * Unless it is NULL, some may have to wait. */
BITLEX_INLINE V NAME(points)(const bitlex_lanes *lanes, bitlex_recent *recent, NAME(waiting) *waiting, V here, V second, V third, V fourth,
                             V code, M leads)
{
    const M threes = m_at_least(here, v_all(0xE0)), fours = m_at_least(here, v_all(0xF0));
    V chunk = v_choose(threes, v_and(here, v_all(0x0F)), v_all(0));
    V row = v_choose(threes, second, here), low = v_choose(threes, third, second);
    uint64_t huge = 0;
    if (m_any(fours)) {
        const M beyond = m_at_least(here, v_all(0xF4)); /* U+100000 and more: mostly of one column, and so rare that they may cost */
        chunk = v_choose(fours, v_or(v_left(v_and(here, v_all(3)), 6), v_and(second, v_all(0x3F))), chunk);
        row = v_choose(fours, third, row);
        low = v_choose(fours, fourth, low);
        if (m_any(beyond)) {
            const M ill = m_equal(here, v_all(ILL_FORMED));
            leads = m_without(leads, beyond);
            if (lanes->last_plane == BITLEX_LOOK_DEEPER) huge = m_bits(m_without(beyond, ill));
            else code = v_choose(beyond, v_all(lanes->last_plane), code);
            code = v_choose(ill, v_all(lanes->replacement), code);
        }
    }
    code = NAME(deep_later)(lanes, recent, waiting, code, leads, chunk, row, low);
    if (huge) {
        uint8_t codes[64], seconds[64], thirds[64], fourths[64];
        v_store(codes, code);
        v_store(seconds, second);
        v_store(thirds, third);
        v_store(fourths, fourth);
        for (; huge; huge &= huge - 1) {
            const uint32_t i = first_bit(huge);
            codes[i] = code_of(lanes, 0x100000u | (seconds[i] & 0x0Fu) << 12 | (thirds[i] & 0x3Fu) << 6 | (fourths[i] & 0x3Fu));
        }
        code = v_load(codes);
    }
    return code;
}

/* The bytes of characters: 64 of each kind, or 32, of which fewer lie in two lines of the cache. Comes back: how many the longest has, now or
 * before. */
BITLEX_INLINE int NAME(put)(bitlex_lane_memory *memory, const uint8_t *p, V here, V index, uint32_t count, int longest, const int many)
{
    void (*const store)(void *, V) = many ? NAME(store) : NAME(store_half);
    store(memory->codes + count, v_permuted(here, index));
    store(memory->turned + count, v_permuted(v_load(p + 1), index));
    if (longest < 3 && !m_any(m_at_least(here, v_all(0xE0)))) return 2;
    store(memory->states + count, v_permuted(v_load(p + 2), index));
    if (longest < 4 && !m_any(m_at_least(here, v_all(0xF0)))) return 3;
    store(memory->fourth + count, v_permuted(v_load(p + 3), index));
    return 4;
}

/* Characters that are not ASCII come to stand side by side, each by its bytes: the first bytes of all of them, the second, and so on. It is
 * taken for granted that they are well-formed, so that all bytes but those from 80 to BF begin one; whether they are is found by pack_part.
 * Reads the bytes from..to, and up to 3 behind; comes back: how many characters there are then. */
static uint32_t NAME(pack)(bitlex_lane_memory *memory, const uint8_t *p, uint32_t from, uint32_t to, uint32_t count)
{
    const V places = v_load(numbers);
    int longest = 2; /* character that was met, bytes */
    uint32_t at;
    for (at = from; at < to; at += 64, p += 64) {
        const V here = v_load(p);
        const uint64_t starts = ~m_bits(m_inside(here));
        V index;
        PREFETCH(p);
        memory->places[at / 64] = starts;
        if (!m_any(m_high(here))) {
            v_store(memory->codes + count, here);
            count += 64;
            continue;
        }
        index = v_packed(starts, places);
        longest = __builtin_popcountll(starts) > 32 ? NAME(put)(memory, p, here, index, count, longest, 1)
                                                    : NAME(put)(memory, p, here, index, count, longest, 0);
        count += (uint32_t)__builtin_popcountll(starts);
    }
    return count;
}

/* The same where something is ill-formed, which becomes U+FFFD. Which bytes belong to the lead before, and whether they are all it asks for,
 * is found by words of bits; *inner says which of the first belong to a character before, and then, which of those behind. */
static uint32_t NAME(pack_ill_formed)(bitlex_lane_memory *memory, const uint8_t *p, uint32_t from, uint32_t to, uint32_t count,
                                      uint64_t *inner)
{
    const V places = v_load(numbers);
    uint32_t at;
    for (at = from; at < to; at += 64, p += 64) {
        const V here = v_load(p), second = v_load(p + 1), third = v_load(p + 2), fourth = v_load(p + 3);
        const uint64_t threes = m_bits(m_at_least(here, v_all(0xE0))), fours = m_bits(m_at_least(here, v_all(0xF0)));
        /* Leads to which the next byte belongs, and those of three and four bytes to which two or three belong. */
        const uint64_t one = m_bits(m_followed(here, second)), two = one & threes & m_bits(m_inside(third));
        const uint64_t three = two & fours & m_bits(m_inside(fourth));
        const uint64_t inside = *inner | one << 1 | two << 2 | three << 3;
        const uint64_t ill = m_bits(m_high(here)) & ~(inside | (one & ~threes) | (two & ~fours) | three);
        const V index = v_packed(~inside, places);
        PREFETCH(p);
        *inner = one >> 63 | two >> 62 | three >> 61;
        memory->places[at / 64] = ~inside;
        v_store(memory->codes + count, v_permuted(v_choose(m_of(ill), v_all(ILL_FORMED), here), index));
        v_store(memory->turned + count, v_permuted(second, index));
        v_store(memory->states + count, v_permuted(third, index));
        v_store(memory->fourth + count, v_permuted(fourth, index));
        count += (uint32_t)__builtin_popcountll(~inside);
    }
    return count;
}

/* The codes of characters that were packed. How many bytes they have that do not begin one comes back; UINT32_MAX if one of them is
 * ill-formed. */
static uint32_t NAME(codes_of_packed)(const bitlex_lanes *lanes, bitlex_lane_memory *memory, uint32_t from, uint32_t count)
{
    NAME(waiting) waiting;
    uint32_t at, inside = 0;
    M ill = m_none();
    v_store(memory->codes + count, v_all(0));
    waiting.count = waiting.vectors = 0;
    for (at = from; at < count; at += 64) {
        const V here = v_load(memory->codes + at), second = v_load(memory->turned + at);
        const M beyond = m_high(here), threes = m_at_least(here, v_all(0xE0));
        V code = v_entry(lanes->direct, here);
        waiting.next = memory->codes + at;
        if (m_any(threes)) {
            const V third = v_load(memory->states + at), fourth = v_load(memory->fourth + at);
            const M fours = m_at_least(here, v_all(0xF0));
            inside += (uint32_t)(__builtin_popcountll(m_bits(beyond)) + __builtin_popcountll(m_bits(threes)));
            ill = m_or(ill, m_without(beyond, m_followed(here, second)));
            ill = m_or(ill, m_without(threes, m_inside(third)));
            if (m_any(fours)) {
                ill = m_or(ill, m_without(fours, m_inside(fourth)));
                inside += (uint32_t)__builtin_popcountll(m_bits(fours));
            }
            code = NAME(points)(lanes, &memory->recent, &waiting, here, second, third, fourth, code, beyond);
        } else if (m_any(beyond)) {
            ill = m_or(ill, m_without(beyond, m_and(m_at_least(here, v_all(0xC2)), m_inside(second))));
            inside += (uint32_t)__builtin_popcountll(m_bits(beyond));
            code = NAME(lowest)(lanes, &memory->recent, &waiting, code, beyond, here, second);
        }
        v_store(memory->codes + at, code);
        if (waiting.vectors == WAITING) NAME(look_up)(lanes, &waiting);
    }
    NAME(look_up)(lanes, &waiting);
    return m_any(ill) ? UINT32_MAX : inside;
}

/* How many bytes the last character of 64 bytes has behind them; they start where `starts` says. */
BITLEX_INLINE uint32_t NAME(behind)(const uint8_t *p, uint64_t starts)
{
    const uint32_t last = 63 - (uint32_t)__builtin_clzll(starts | 1), lead = p[last];
    const uint32_t end = last + 1 + (lead >= 0xC0) + (lead >= 0xE0) + (lead >= 0xF0);
    return end > 64 ? end - 64 : 0;
}

/* Characters of the bytes from..to of a block become codes, of which there are `before`: how many there are then. The first bytes belong to
 * a character before where `inner` says so. Up to `near`, bytes are read from the text, from there on from a copy. */
static uint32_t NAME(pack_part)(const bitlex_lanes *lanes, bitlex_lane_memory *memory, const uint8_t *text, uint32_t from, uint32_t near,
                                const uint8_t *copy, uint32_t to, uint32_t before, uint64_t inner)
{
    uint32_t count;
    if (from == to) return before;
    if (memory->ill_formed == 0) {
        const uint8_t *const last = near < to ? copy + (to - near) - 64 : text + to - 64;
        uint32_t inside;
        count = NAME(pack)(memory, text + from, from, near, before);
        count = NAME(pack)(memory, copy, near, to, count);
        inside = NAME(codes_of_packed)(lanes, memory, before, count);
        /* Each character has as many bytes from 80 to BF behind its lead as this asks for: if there are no more, all is well-formed. */
        if (inside != UINT32_MAX && to - from + NAME(behind)(last, memory->places[to / 64 - 1]) ==
                                        count - before + inside + (uint32_t)__builtin_popcountll(inner)) {
            return count;
        }
        memory->ill_formed = ILL_FORMED_BLOCKS;
        if (before < from || inner != 0) from = 0; /* what was read before, too: how it ends may not be what was expected */
    } else {
        memory->ill_formed--;
    }
    inner = 0;
    count = NAME(pack_ill_formed)(memory, text + from, from, near, from, &inner);
    count = NAME(pack_ill_formed)(memory, copy, near, to, count, &inner);
    NAME(codes_of_packed)(lanes, memory, from, count);
    return count;
}
#endif

/* UTF-8 for a machine that reads characters: these come to stand side by side, so that each is one step. Comes back: how many there
 * are. memory->places has a bit for each unit: whether a character starts there. */
static __attribute__((noinline)) uint32_t NAME(pack_utf8)(const bitlex_lanes *lanes, bitlex_lane_memory *memory, const uint8_t *text,
                                                          const uint8_t *end, uint32_t units)
{
    const size_t size = (size_t)(end - text), safe = size < 72 ? 0 : (size - 72) / 64 * 64 + 64;
    const uint32_t to = (units + 63) / 64 * 64, near = safe < units ? (uint32_t)safe : to; /* from there on a copy is read, then zeros */
    uint32_t at, count;
    uint64_t inner = 0;
    uint8_t copy[192];
    for (at = 0; at < near; at += 64) {
        const V here = v_load(text + at);
        PREFETCH(text + at);
        if (m_any(m_high(here))) break;
        v_store(memory->codes + at, v_entry(lanes->direct, here));
        memory->places[at / 64] = ~UINT64_C(0);
    }
    count = at;
    if (near < to) {
        memset(copy, 0, sizeof copy);
        memcpy(copy, text + near, size - near);
    }
#if POINTS
    count = NAME(pack_part)(lanes, memory, text + at, at, near, count, &inner);
    count = NAME(pack_part)(lanes, memory, copy, near, to, count, &inner);
#else
    if (memory->dense > 0) {
        memory->dense--;
    } else if (at < near && memory->ill_formed == 0) {
        at = NAME(pack_near)(lanes, memory, text, at, near, &count, &inner);
        if (at < near) memory->dense = DENSE_BLOCKS;
    }
    count = NAME(pack_part)(lanes, memory, text, at, near, copy, to, count, inner);
#endif
    if (units % 64 != 0) { /* what is behind the block was read, too */
        uint64_t *last = memory->places + units / 64;
        count -= (uint32_t)__builtin_popcountll(*last);
        *last &= ~UINT64_C(0) >> (64 - units % 64);
        count += (uint32_t)__builtin_popcountll(*last);
    }
    return count;
}

/* Bits of characters -> bits of units. How many are set comes back. */
static uint32_t NAME(spread)(const uint8_t *bits, const uint64_t *places, uint64_t *to, uint32_t words)
{
    uint32_t w, at = 0, found = 0;
    for (w = 0; w < words; w++) {
        uint64_t next;
        memcpy(&next, bits + at / 8, 8);
        next = next >> at % 8 | (uint64_t)bits[at / 8 + 8] << 1 << (63 - at % 8);
        to[w] = m_spread(next, places[w]);
        found += (uint32_t)__builtin_popcountll(to[w]);
        at += (uint32_t)__builtin_popcountll(places[w]);
    }
    return found;
}
#endif

static void NAME(read_latin1)(const bitlex_lanes *lanes, uint8_t *columns, const uint8_t *text, uint32_t units)
{
    uint32_t at;
    for (at = 0; at < units; at += 64) {
        uint8_t copy[64];
        const uint8_t *p = text + at;
        V here, code;
        if (units - at < 64) {
            memset(copy, 0, sizeof copy);
            memcpy(copy, p, units - at);
            p = copy;
        }
        here = v_load(p);
        code = v_entry(lanes->direct, here);
        if (m_any(m_high(here))) code = v_choose(m_high(here), v_entry(lanes->direct + 128, v_and(here, v_all(0x7F))), code);
        v_store(columns + at, code);
    }
}

/* Units of two or of four bytes; each is a code point. */
BITLEX_INLINE void NAME(read_wide)(const bitlex_lanes *lanes, bitlex_recent *recent, uint8_t *columns, const uint8_t *text, uint32_t units,
                                   const int width)
{
    uint32_t at, i;
    for (at = 0; at < units; at += 64) {
        uint8_t copy[256];
        const uint8_t *p = text + (size_t)at * (uint32_t)width;
        M beyond, astral = m_none();
        V low, high, code;
        if (units - at < 64) {
            memset(copy, 0, sizeof copy);
            memcpy(copy, p, (size_t)(units - at) * (uint32_t)width);
            p = copy;
        }
        low = width == 2 ? v_narrow16(p, 0) : v_narrow32(p, 0);
        high = width == 2 ? v_narrow16(p, 8) : v_narrow32(p, 8);
        beyond = m_or(m_high(low), m_without(m_everywhere(), m_equal(high, v_all(0))));
        code = v_entry(lanes->direct, low);
        if (width == 4) {
            const V third = v_narrow32(p, 16), fourth = v_narrow32(p, 24);
            astral = m_without(m_everywhere(), m_equal(v_or(third, fourth), v_all(0)));
            beyond = m_or(beyond, astral);
            if (!m_all(m_equal(v_or(v_and(third, v_all(0xF0)), fourth), v_all(0)))) { /* U+100000 and more: so rare that they may cost */
                for (i = 0; i < 64; i++) {
                    uint32_t point;
                    memcpy(&point, p + 4 * i, 4);
                    if (point > 0x10FFFF) point = 0xFFFD;
                    columns[at + i] = lanes->cell_code[cells_of(lanes->machine, point >> 12, point >> 6)[point & 63]];
                }
                continue;
            }
        }
#if POINTS
        (void)recent;
        if (m_any(beyond)) {
            NAME(look_up_wide)(lanes, columns + at, p, width, code, beyond, astral);
            continue;
        }
#else
        if (m_any(beyond)) {
            V row = v_and(width == 2 ? v_narrow16(p, 6) : v_narrow32(p, 6), v_all(63));
            V chunk = width == 2 ? v_narrow16(p, 12) : v_narrow32(p, 12);
            code = NAME(deep)(lanes, recent, code, beyond, m_without(beyond, astral), chunk, row, low);
        }
#endif
        v_store(columns + at, code);
    }
}

/* --- codes in the order of the text -> [step][lane] ------------------------------------------------------------------ */

/* Matrices of 16 by 16 bytes, WIDTH / 16 of them side by side. */
BITLEX_INLINE void NAME(transpose)(W *row)
{
    W next[16];
    uint32_t i, round;
    for (round = 0; round < 4; round++) {
        for (i = 0; i < 8; i++) {
            next[2 * i] = w_zip_low(row[i], row[i + 8]);
            next[2 * i + 1] = w_zip_high(row[i], row[i + 8]);
        }
        for (i = 0; i < 16; i++) row[i] = next[i];
    }
}

/* Of the last 16 steps, eight may be too many. */
static void NAME(turn)(const uint8_t *codes, uint8_t *turned, uint32_t steps)
{
    uint32_t at, lane, i;
    for (at = 0; at < steps; at += 16) {
        for (lane = 0; lane < 64; lane += WIDTH) {
            const uint8_t *from = codes + (size_t)lane * steps + at;
            uint8_t *to = turned + (size_t)at * 64 + lane;
            W row[16];
            for (i = 0; i < 16; i++, from += steps) {
                row[i] = w_gather(from, 16 * (size_t)steps);
                __asm__("" : "+r"(from)); /* compilers would make all addresses beforehand, and keep them in memory */
            }
            NAME(transpose)(row);
            __asm__("" : "+r"(to));
            for (i = 0; i < 16; i++) w_store(to + 64 * (size_t)i, row[i]);
        }
    }
}

#if WIDTH == 64
/* The same straight from units of one byte, which reach eight steps into the last sixteen lanes: 0, if not all are ASCII. Where the text ends
 * before these lanes do, they are read from a copy, with zeros behind. */
static int NAME(turn_ascii)(const bitlex_lanes *restrict lanes, bitlex_lane_memory *restrict memory, const uint8_t *text, const uint8_t *end,
                            uint32_t units, uint32_t steps)
{
    const size_t quarter = 16 * (size_t)steps, readable = (size_t)(end - text), needed = 4 * quarter + steps % 16;
    const uint8_t *last = text + 3 * quarter;
    uint8_t *turned = memory->turned;
    uint32_t at, i;
    if (readable < needed) {
        memcpy(memory->states, last, readable - 3 * quarter);
        memset(memory->states + readable - 3 * quarter, 0, needed - readable);
        last = memory->states;
    }
    for (at = 0; at < steps; at += 16, turned += 16 * 64) {
        const uint8_t *from = text + at, *from_last = last + at;
        V row[16], all = v_all(0);
        for (i = 0; i < 16; i++, from += steps, from_last += steps) {
            row[i] = w_gather_apart(from, quarter, from_last);
            all = v_or(all, row[i]);
            PREFETCH(text + 64 * (size_t)(at + i));
        }
        if (m_any(m_high(all))) return 0;
        NAME(transpose)(row);
        for (i = 0; i < 16; i++) v_store(turned + 64 * (size_t)i, v_entry(lanes->direct, row[i]));
    }
    if (units < BITLEX_LANES * steps) {
        const M within = m_of(~UINT64_C(0) >> (BITLEX_LANES - memory->used)), before = m_of(m_bits(within) >> 1);
        const V identity = v_all((uint8_t)lanes->identity);
        at = memory->used < BITLEX_LANES ? 0 : memory->rest; /* up to there all lanes have text */
        for (turned = memory->turned + 64 * (size_t)at; at < steps; at++, turned += 64) {
            v_store(turned, v_choose(at < memory->rest ? within : before, v_load(turned), identity));
        }
    }
    return 1;
}
#endif

#ifndef v_flag
#define v_flag(lanes, state, below) v_and((below) ? v_left(state, below) : (state), v_all(0x80))
#endif

/* The high bits of eight steps, the first one lowest; or those `below` places below. */
BITLEX_INLINE V NAME(eight)(const bitlex_lanes *lanes, const uint8_t *states, const int below)
{
    V bits = v_all(0), state;
    uint32_t i;
    (void)lanes;
    for (i = 0; i < 8; i++) {
        state = v_load(states + 64 * (size_t)i);
        bits = v_or(v_right(bits, 1), v_flag(lanes, state, below));
    }
    return bits;
}

/* The same as turn_back, of up to 64 steps: eight bytes of each lane. */
static __attribute__((noinline)) void NAME(turn_back_few)(const bitlex_lanes *lanes, const uint8_t *states, uint8_t *bits, size_t stride,
                                                          const int below)
{
    uint8_t bytes[8][64], lanes_of[8][WIDTH];
    uint32_t i, lane, k, round;
    for (i = 0; i < 8; i++) v_store(bytes[i], i < stride ? NAME(eight)(lanes, states + i * 512, below) : v_all(0));
    for (lane = 0; lane < 64; lane += WIDTH) {
        W row[8], next[8];
        for (i = 0; i < 8; i++) row[i] = w_load(bytes[i] + lane);
        for (round = 0; round < 3; round++) {
            for (i = 0; i < 4; i++) {
                next[2 * i] = w_zip_low(row[i], row[i + 4]);
                next[2 * i + 1] = w_zip_high(row[i], row[i + 4]);
            }
            for (i = 0; i < 8; i++) row[i] = next[i];
        }
        for (i = 0; i < 8; i++) w_store(lanes_of[i], row[i]);
        for (k = 0; k < WIDTH; k += 16) { /* what a lane stores behind its end, the next one stores again */
            for (i = 0; i < 16; i++) memcpy(bits + (lane + k + i) * stride, lanes_of[i / 2] + k + i % 2 * 8, 8);
        }
    }
}

/* The high bits of [step][lane], or those `below` places below -> bits in the order of the text, and up to 15 bytes of anything behind.
 * Eight steps are a byte of each lane; a matrix of such bytes, 16 for each lane, is transposed as in turn. */
static void NAME(turn_back)(const bitlex_lanes *lanes, const uint8_t *states, uint8_t *bits, uint32_t steps, const int below)
{
    const size_t stride = steps / 8;
    uint8_t bytes[16][64], lanes_of[16][WIDTH];
    size_t at = (stride - 1) / 16 * 16;
    uint32_t i, lane, k;
    if (stride <= 8) {
        NAME(turn_back_few)(lanes, states, bits, stride, below);
        return;
    }
    memset(bytes, 0, sizeof bytes);
    for (;; at -= 16) { /* from the last on: what one stores behind its end, the next, or the lane behind, stores again */
        for (i = 0; i < 16 && at + i < stride; i++) v_store(bytes[i], NAME(eight)(lanes, states + (at + i) * 512, below));
        for (lane = 0; lane < 64; lane += WIDTH) {
            W row[16];
            for (i = 0; i < 16; i++) row[i] = w_load(bytes[i] + lane);
            NAME(transpose)(row);
            for (i = 0; i < 16; i++) w_store(lanes_of[i], row[i]);
            for (k = 0; k < WIDTH; k += 16) {
                for (i = 0; i < 16; i++) memcpy(bits + (lane + k + i) * stride + at, lanes_of[i] + k, 16);
            }
        }
        if (at == 0) break;
    }
}

/* --- the two passes ---------------------------------------------------------------------------------------------------- */

#ifndef TERMS
/* Tables on pages: where the entry of a symbol for a state is. Of more pages than eight, what is found instead of the code tells which. */
BITLEX_INLINE V NAME(index)(const bitlex_places *of, V *code, V state, const uint32_t rows)
{
    const V symbol = *code;
#ifdef v_class
    if (rows > 64) {
        *code = v_permute(of->place, symbol);
        state = v_class(of->classes, *code, state);
    }
#endif
    return v_add(rows <= 16 ? symbol : v_offset(of->offset, symbol), state);
}

/* What a column does to a state, with the label it puts out, or without; and a label. */
BITLEX_INLINE V NAME(backward_step)(const bitlex_lanes *lanes, V code, V state, const uint32_t rows, V *label)
{
    const V index = NAME(index)(&lanes->columns, &code, state, rows);
    return v_entries_twice(lanes->backward_next, lanes->backward_label, index, code, rows, label);
}

BITLEX_INLINE V NAME(backward_next)(const bitlex_lanes *lanes, V code, V state, const uint32_t rows)
{
    const V index = NAME(index)(&lanes->columns, &code, state, rows);
    return v_entries(lanes->backward_next, index, code, rows);
}

BITLEX_INLINE V NAME(forward_step)(const bitlex_lanes *lanes, V code, V state, const uint32_t rows, V flags, const int masked)
{
    const V index = NAME(index)(&lanes->labels, &code, masked ? v_and(state, flags) : state, rows);
    return v_entries(lanes->forward_next, index, code, rows);
}
#endif

/* Run all lanes from right to left over `steps` steps, entering in `state`: writes the state behind each unit and its label. With `again`,
 * stop where nothing is new: 0, and the exits stay as they were. Guesses are made so, too, over few steps, which a full run writes again. */
BITLEX_INLINE int NAME(backward_run)(const bitlex_lanes *restrict lanes, bitlex_lane_memory *memory, uint32_t steps, V state, int again,
                                     const uint32_t rows)
{
    uint32_t i = steps;
    while (i-- > 0) {
        V code = v_load(memory->turned + (size_t)i * 64), label;
        uint8_t *behind = memory->states + (size_t)i * 64;
        if (TWICE) __asm__("" : "+r"(again)); /* then this is rare, and one loop is enough */
        if (again && m_all(m_equal(v_load(behind), state))) return 0;
        v_store(behind, state);
        state = NAME(backward_step)(lanes, code, state, rows, &label);
        v_store(memory->codes + (size_t)i * 64, label);
    }
    v_store(memory->exits, state);
    return 1;
}

/* Run all lanes from left to right over their labels: writes the state after each unit, with what it put out. */
BITLEX_INLINE int NAME(forward_run)(const bitlex_lanes *restrict lanes, bitlex_lane_memory *memory, uint32_t from, uint32_t to,
                                    V state, int again, const uint32_t rows)
{
    const V flags = v_all(lanes->forward_bits);
    uint32_t i;
    for (i = from; i < to; i++) {
        uint8_t *states = memory->turned + (size_t)i * 64;
        state = NAME(forward_step)(lanes, v_load(memory->codes + (size_t)i * 64), state, rows, flags, 1);
        if (TWICE) __asm__("" : "+r"(again));
        if (again && m_all(m_equal(v_load(states), state))) return 0;
        v_store(states, state);
    }
    v_store(memory->exits, v_and(state, flags));
    return 1;
}

#if TWICE
/* Two runs side by side, which take little longer than one, as a step waits for the one before. They are of all lanes with two guesses each,
 * or of the two halves of all lanes. Each has its input and its output, and its state, which becomes the one in which it leaves. */
typedef struct {
    const uint8_t *from[2];
    uint8_t *to[2];
    V state[2];
    uint32_t steps;
} NAME(pair);

BITLEX_INLINE void NAME(backward_pair)(const bitlex_lanes *restrict lanes, NAME(pair) *pair, const uint32_t rows)
{
    const uint8_t *code = pair->from[0], *code_of_two = pair->from[1];
    uint8_t *to = pair->to[0], *to_of_two = pair->to[1];
    V one = pair->state[0], two = pair->state[1], label;
    size_t i = (size_t)pair->steps * 64;
    while (i > 0) {
        i -= 64;
        one = NAME(backward_step)(lanes, v_load(code + i), one, rows, &label);
        v_store(to + i, label);
        two = NAME(backward_step)(lanes, v_load(code_of_two + i), two, rows, &label);
        v_store(to_of_two + i, label);
    }
    pair->state[0] = one;
    pair->state[1] = two;
}

BITLEX_INLINE void NAME(forward_pair)(const bitlex_lanes *restrict lanes, NAME(pair) *pair, const uint32_t rows, const int masked)
{
    const V flags = v_all(lanes->machine->drops ? 0x3F : 0x7F);
    const uint8_t *code = pair->from[0], *code_of_two = pair->from[1];
    uint8_t *to = pair->to[0], *to_of_two = pair->to[1];
    V one = pair->state[0], two = pair->state[1];
    const size_t end = (size_t)pair->steps * 64;
    size_t i;
    for (i = 0; i < end; i += 64) {
        one = NAME(forward_step)(lanes, v_load(code + i), one, rows, flags, masked);
        v_store(to + i, one);
        two = NAME(forward_step)(lanes, v_load(code_of_two + i), two, rows, flags, masked);
        v_store(to_of_two + i, two);
    }
    pair->state[0] = v_and(one, flags);
    pair->state[1] = v_and(two, flags);
}

/* How far the half that is entered as lanes are is from the other one; 0: lanes are too short to guess how the middle is entered, and both
 * runs do the same. */
static uint32_t NAME(half)(uint32_t steps) { return steps < 2 * BITLEX_WARMUP ? 0 : steps / 2; }

/* Whether the second half was entered as the first one was left, in all lanes that have a part of the text there. */
static int NAME(fits_together)(const bitlex_lane_memory *memory, V left, int last_too)
{
    const uint64_t lanes = ~UINT64_C(0) >> (BITLEX_LANES - memory->used), last = UINT64_C(1) << (memory->used - 1);
    return (~m_bits(m_equal(left, v_load(memory->middle))) & lanes & ~(last_too ? 0 : last)) == 0;
}

/* Four runs of the backward automaton over the steps from..to-1, side by side: lanes are entered as `states` says, and left so. */
BITLEX_INLINE void NAME(backward_side)(const bitlex_lanes *lanes, const uint8_t *turned, uint32_t from, uint32_t to, uint8_t (*states)[64],
                                       const uint32_t rows)
{
    V one = v_load(states[0]), two = v_load(states[1]), three = v_load(states[2]), four = v_load(states[3]);
    while (to-- > from) {
        const V code = v_load(turned + (size_t)to * 64);
        one = NAME(backward_next)(lanes, code, one, rows);
        two = NAME(backward_next)(lanes, code, two, rows);
        three = NAME(backward_next)(lanes, code, three, rows);
        four = NAME(backward_next)(lanes, code, four, rows);
    }
    v_store(states[0], one);
    v_store(states[1], two);
    v_store(states[2], three);
    v_store(states[3], four);
}

static void NAME(backward_four)(const bitlex_lanes *lanes, const uint8_t *turned, uint32_t from, uint32_t to, uint8_t (*states)[64])
{
    const uint32_t many = lanes->backward_rows;
#define CASE(rows) \
    if (many <= rows) { \
        NAME(backward_side)(lanes, turned, from, to, states, rows); \
        return; \
    }
    EACH_AGAIN_SIZE(CASE)
    CASE(many)
#undef CASE
}

/* What a block leads to from each of some states of the backward automaton: where each lane leads from any state is found, and followed.
 * After a few steps there are few different states left in a lane, so that all others are as a rule one run of four side by side. */
static void NAME(map)(const bitlex_lanes *lanes, const bitlex_lane_memory *memory, uint32_t steps, uint8_t *states, uint32_t count)
{
    uint8_t near[BITLEX_SYMBOLS][BITLEX_LANES], met[BITLEX_SYMBOLS][BITLEX_LANES];
    uint8_t leads[BITLEX_SYMBOLS][BITLEX_LANES], left[4][BITLEX_LANES];
    const uint32_t size = lanes->machine->stages->backward_states, from = steps < BITLEX_WARMUP ? 0 : steps - BITLEX_WARMUP;
    uint32_t different = 0, state, i, k;
    for (state = 0; state < size; state += 4) {
        for (k = 0; k < 4; k++) v_store(near[state + k], v_all((int)(state + k)));
        NAME(backward_four)(lanes, memory->turned, from, steps, near + state);
    }
    for (state = 0; state < size; state++) { /* each into the first place of its lane that is free, or has the same */
        const V at = v_load(near[state]);
        M wanted = m_everywhere();
        for (k = 0; k < different && m_any(wanted); k++) {
            const V there = v_load(met[k]), now = v_choose(m_and(wanted, m_equal(there, v_all(BITLEX_LOOK_DEEPER))), at, there);
            v_store(met[k], now);
            wanted = m_without(wanted, m_equal(now, at));
        }
        if (m_any(wanted)) v_store(met[different++], v_choose(wanted, at, v_all(BITLEX_LOOK_DEEPER)));
    }
    for (k = 0; k < different; k += 4) {
        for (i = 0; i < 4; i++) v_store(left[i], v_load(met[k + i < different ? k + i : k]));
        NAME(backward_four)(lanes, memory->turned, 0, from, left);
        for (state = 0; state < size; state++) {
            const V from_here = v_load(near[state]);
            V to = k > 0 ? v_load(leads[state]) : from_here;
            for (i = 0; i < 4 && k + i < different; i++) to = v_choose(m_equal(from_here, v_load(met[k + i])), v_load(left[i]), to);
            v_store(leads[state], to);
        }
    }
    for (i = memory->used; i-- > 0;) {
        for (k = 0; k < count; k++) states[k] = leads[states[k]][i];
    }
}

static int NAME(choose)(uint8_t *one, const uint8_t *two, uint32_t steps, uint64_t lanes)
{
    const M chosen = m_of(lanes);
    uint32_t i;
    for (i = 0; lanes != 0 && i < steps; i++, one += 64, two += 64) v_store(one, v_choose(chosen, v_load(two), v_load(one)));
    return 1;
}
#endif

static int NAME(backward)(const bitlex_lanes *lanes, bitlex_lane_memory *memory, uint32_t steps, uint32_t warmup, int mode)
{
    const V entries = v_load(memory->entries);
    const uint32_t many = lanes->backward_rows;
    uint32_t count = warmup > 0 ? warmup : steps;
    V state = entries;
    int again;
#if TWICE
    const uint32_t half = NAME(half)(steps);
    if (mode == BITLEX_CHOOSE) return NAME(choose)(memory->codes, memory->fourth, steps, memory->chosen);
    if (mode <= BITLEX_TWICE && many <= 128) {
        NAME(pair) pair;
        pair.state[0] = pair.state[1] = entries;
        pair.from[0] = pair.from[1] = memory->turned;
        pair.to[0] = pair.to[1] = memory->codes;
        pair.steps = count;
        if (mode == BITLEX_TWICE) {
            pair.state[1] = v_load(memory->others);
            pair.to[1] = memory->fourth;
        } else if (half > 0) { /* the upper one is entered as lanes are, the lower one, or its neighbour, by a guess */
            const int at = mode == BITLEX_GUESS;
            pair.from[at] += 64 * (size_t)half;
            pair.to[at] += 64 * (size_t)half;
            if (mode == BITLEX_FIRST) {
                pair.state[1] = v_load(memory->middle);
                pair.steps = half;
            }
        }
#define CASE(rows) \
    if (many <= rows) { \
        NAME(backward_pair)(lanes, &pair, rows); \
    } else
        EACH_SIZE(CASE) {}
#undef CASE
        v_store(memory->exits, pair.state[mode == BITLEX_FIRST]);
        v_store(mode == BITLEX_GUESS ? memory->middle : memory->others, pair.state[1]);
        if (mode != BITLEX_FIRST || half == 0 || NAME(fits_together)(memory, pair.state[0], 1)) return 1;
        note_wrong(memory->doubts);
        state = pair.state[0];
        count = half;
    }
#endif
    if (mode == BITLEX_TWICE) return 0; /* the loop for all others is made for one guess */
    again = mode == BITLEX_AGAIN || (!TWICE && mode == BITLEX_SECOND);
#define CASE(rows) \
    if ((MANY_SIZES || rows <= MOST_BACKWARD) && many <= rows) return NAME(backward_run)(lanes, memory, count, state, again, rows);
    EACH_AGAIN_SIZE(CASE)
#if MANY_SIZES
    CASE(many)
#endif
#undef CASE
    return 0;
}

static int NAME(forward)(const bitlex_lanes *lanes, bitlex_lane_memory *memory, uint32_t steps, uint32_t warmup, int mode)
{
    const V entries = v_load(memory->entries);
    const uint32_t many = lanes->forward_rows;
    uint32_t from = warmup > 0 ? steps - warmup : 0;
    int again = mode >= BITLEX_SECOND;
    V state = entries;
#if TWICE
    const uint32_t half = NAME(half)(steps);
    if (mode == BITLEX_CHOOSE) return NAME(choose)(memory->turned, memory->states, steps, memory->chosen);
    if (mode <= BITLEX_TWICE && many <= 128) {
        NAME(pair) pair;
        pair.state[0] = pair.state[1] = entries;
        pair.from[0] = pair.from[1] = memory->codes + 64 * (size_t)from;
        pair.to[0] = pair.to[1] = memory->turned + 64 * (size_t)from;
        pair.steps = steps - from;
        if (mode == BITLEX_TWICE) {
            pair.state[1] = v_load(memory->others);
            pair.to[1] = memory->states;
        } else if (half > 0 && mode == BITLEX_GUESS) {
            pair.from[1] -= 64 * (size_t)(steps - half);
            pair.to[1] -= 64 * (size_t)(steps - half);
        } else if (half > 0) {
            pair.state[1] = v_load(memory->middle);
            pair.from[1] += 64 * (size_t)half;
            pair.to[1] += 64 * (size_t)half;
            pair.steps = half;
        }
#define CASE(rows, masks) \
    if (many <= rows && (lanes->machine->drops != 0) == masks) { \
        NAME(forward_pair)(lanes, &pair, rows, masks); \
    } else
#define EACH(rows) CASE(rows, 0)
        CASE(16, 1) CASE(64, 1) CASE(128, 1) EACH_SIZE(EACH) {}
#undef EACH
#undef CASE
        v_store(memory->exits, pair.state[mode == BITLEX_FIRST]);
        v_store(mode == BITLEX_GUESS ? memory->middle : memory->others, pair.state[1]);
        if (mode != BITLEX_FIRST || half == 0 || NAME(fits_together)(memory, pair.state[0], memory->rest > half)) return 1;
        note_wrong(memory->doubts + 1);
        state = pair.state[0];
        from = half;
        again = 1;
    }
#endif
    if (mode == BITLEX_TWICE) return 0;
#define CASE(rows) \
    if (many <= rows) return NAME(forward_run)(lanes, memory, from, steps, state, again, rows);
    EACH_AGAIN_SIZE(CASE)
#if MANY_SIZES
    CASE(many)
#endif
#undef CASE
    return 0;
}

/* --- a block ----------------------------------------------------------------------------------------------------------- */

/* The steps of each lane, for so many units: how many lanes these need, and what the last has of them. */
static uint32_t NAME(steps)(bitlex_lane_memory *memory, uint32_t count)
{
    uint32_t steps = (count + 8 * BITLEX_LANES - 1) / (8 * BITLEX_LANES) * 8;
    if (memory->counting > 0) { /* in halves of a multiple of twelve, what counts to three or four is entered as the first lane is */
        memory->counting--;
        if (steps > 24 && (steps + 23) / 24 * 24 <= BITLEX_STEPS) steps = (steps + 23) / 24 * 24;
    }
    memory->used = (count + steps - 1) / steps;
    memory->rest = count - (memory->used - 1) * steps;
    return steps;
}

/* Read a block into lanes: the steps of each come back. */
static uint32_t NAME(read)(const bitlex_lanes *lanes, bitlex_lane_memory *memory, const uint8_t *text, const uint8_t *end,
                           uint32_t encoding, uint32_t units)
{
    uint32_t steps, count = units;
    memory->words = 0;
#if WIDTH == 64
    steps = NAME(steps)(memory, units);
    if (encoding <= BITLEX_LATIN1 && units >= BITLEX_LANES / 4 * 3 * steps + 8 && (memory->mixed == 0 || --memory->mixed == 0)) {
        if (NAME(turn_ascii)(lanes, memory, text, end, units, steps)) return steps;
        memory->mixed = MIXED;
    }
#endif
    switch (encoding) {
    case BITLEX_UTF8:
#if PACKS
        if (lanes->machine->continuation == NULL) {
            count = NAME(pack_utf8)(lanes, memory, text, end, units);
            if (count != units) memory->words = (units + 63) / 64;
            else memory->mixed = 0;
            break;
        }
#endif
        NAME(read_utf8)(lanes, &memory->recent, memory->codes, text, end, units);
        /* What a block of UTF-8 has too much is inside its last character. */
        if (count > BITLEX_BLOCK && lanes->machine->continuation == NULL) count = BITLEX_BLOCK;
        break;
    case BITLEX_LATIN1: NAME(read_latin1)(lanes, memory->codes, text, units); break;
    case BITLEX_UCS2: NAME(read_wide)(lanes, &memory->recent, memory->codes, text, units, 2); break;
    default: NAME(read_wide)(lanes, &memory->recent, memory->codes, text, units, 4);
    }
    steps = NAME(steps)(memory, count);
    memset(memory->codes + count, (int)lanes->identity, (size_t)steps * BITLEX_LANES - count);
    NAME(turn)(memory->codes, memory->turned, steps);
    return steps;
}

/* The high bits of the states, or those `below` places below, as bits of the units of the text; how many there are comes back. */
static uint32_t NAME(put_out)(const bitlex_lanes *lanes, bitlex_lane_memory *memory, uint64_t *words, uint32_t steps, const int below)
{
    uint32_t i, found = 0;
#if PACKS
    if (memory->words) { /* of characters */
        NAME(turn_back)(lanes, memory->turned, memory->states, steps, below);
        return NAME(spread)(memory->states, memory->places, words, memory->words);
    }
#endif
    NAME(turn_back)(lanes, memory->turned, (uint8_t *)words, steps, below);
    for (i = 0; i < steps; i++) found += (uint32_t)__builtin_popcountll(words[i]);
    return found;
}

/* How many bytes from `text` on are characters that were met, one behind the other: see bitlex_still.h. Exact but for the last 64 before `to`,
 * and for the end of the text. */
static size_t NAME(still)(const bitlex_still *still, const uint8_t *text, const uint8_t *to, const uint8_t *end, size_t width)
{
    const uint64_t begins = width == 4 ? UINT64_C(0x1111111111111111) : width == 2 ? UINT64_C(0x5555555555555555) : ~UINT64_C(0);
    const uint8_t *p = text;
    uint64_t inner = 0; /* bytes of a character that began before */
    uint32_t i;
    for (; p < to && end - p >= 64 + 3; p += 64) {
        uint64_t known = inner, next = 0;
        for (i = 0; i < still->count; i++) {
            const uint32_t size = still->size[i];
            M same = m_equal(v_load(p), v_all(still->bytes[i][0]));
            uint64_t bits;
            uint32_t k;
            for (k = 1; k < size; k++) same = m_and(same, m_equal(v_load(p + k), v_all(still->bytes[i][k])));
            bits = m_bits(same) & begins;
            known |= bits;
            for (k = 1; k < size; k++) {
                known |= bits << k;
                next |= bits >> (64 - k);
            }
        }
        if (~known != 0) break;
        inner = next;
    }
    for (; inner & 1; inner >>= 1) p++;
    v_leave();
    return (size_t)((p < to ? p : to) - text);
}

static void NAME(peek)(const bitlex_lanes *lanes, bitlex_lane_memory *memory, const uint8_t *text, const uint8_t *end,
                       uint32_t encoding, uint32_t units, uint8_t *states, uint32_t count)
{
    const uint32_t steps = NAME(read)(lanes, memory, text, end, encoding, units);
    uint32_t i;
    for (i = 0; i < count; i++) states[i] = lanes->backward_number[states[i]];
#if TWICE
    if (count > 2 || (count > 1 && lanes->machine->stages->backward_states <= 4)) NAME(map)(lanes, memory, steps, states, count);
    else
#endif
        for (i = 0; i < count; i++) states[i] = (uint8_t)settle(lanes, memory, steps, states[i], NAME(backward), -1);
    for (i = 0; i < count; i++) states[i] = lanes->backward_state[states[i]];
    v_leave();
}

static int NAME(block)(const bitlex_lanes *lanes, bitlex_lane_memory *memory, const uint8_t *text, const uint8_t *end,
                       uint32_t encoding, uint32_t units, uint32_t backward, uint32_t *forward)
{
    const uint32_t steps = NAME(read)(lanes, memory, text, end, encoding, units);
    const bitlex_part *part = lanes->part;
    uint32_t entry = *forward;
    int done = 1;
    if (part != NULL) {
        backward = number_in_part(part->backward, part->backward_states, backward);
        entry = number_in_part(part->forward, part->forward_states, entry);
    }
    memory->left = lanes->backward_state[settle(lanes, memory, steps, lanes->backward_number[backward], NAME(backward), -1)];
    settle(lanes, memory, steps, lanes->forward_number[entry], NAME(forward), 1);
    if (part != NULL) {
        NAME(turn_back)(lanes, memory->turned, (uint8_t *)memory->drops, steps, SPARE + 1);
        done = settle_doubts(lanes, memory, steps, forward, 0x80 >> SPARE);
    } else {
        *forward = lanes->forward_state[memory->turned[(size_t)(memory->rest - 1) * 64 + memory->used - 1] & lanes->forward_bits];
    }
    memory->started = NAME(put_out)(lanes, memory, memory->starts, steps, SPARE);
    memory->dropped = part == NULL && lanes->machine->drops ? NAME(put_out)(lanes, memory, memory->drops, steps, SPARE + 1) : 0;
    if (memory->words == 0) memory->words = steps; /* of BITLEX_LANES bits */
    v_leave();
    return done;
}
