/* bitlex_near.h - private: UTF-8 most characters of which have one byte, with AVX-512. It is part of bitlex_avx512.h.
 *
 * What bitlex_kernel.h does in two passes, to put the bytes of characters side by side and to look these up then, is one here: all 64 bytes
 * are looked up as if a character of one byte or two began at each, and the codes of those that do are stored side by side:
 *
 *     bytes     H  C3 A9  l  C3 A0          rows    -  3  -  -  3  -         codes of H, e with acute, l, a with grave
 *     begin     1   1  0  1   1  0          low     -  29 -  -  20 -
 *
 * That is more look-ups and fewer instructions, so it pays where 45 of 64 bytes or more begin a character. Of three bytes, characters of one
 * row of 64 are looked up as well, as dashes and quotation marks lie in one. What has others, or more rows than are at hand, or is ill-formed
 * is left to the two passes. Rejected: to ask of each 64 bytes whether there is anything but ASCII, which cannot be predicted where half of
 * them have something (it is asked for every four); the row of three bytes for the two passes, too (emoji 11 % slower, Chinese 7).
 */

#define NEAR_VECTORS 4 /* that are read alike before it is asked again whether there is anything but ASCII */
#define NEAR_STARTS 180 /* characters in these, at least, or the two passes are faster */
#define NEAR_THREES 8  /* of 64 bytes, begin a character of three: where there are more, they are hardly of one row */
#define NEAR_AGAIN 8   /* vectors behind a character of three bytes, which are taken to have some, too */

/* The row of three bytes that these begin with, if it is one: whether it is at hand now. */
static __attribute__((noinline)) int NAME(meet_three)(const bitlex_lanes *lanes, bitlex_recent *recent, uint32_t lead, uint32_t second)
{
    if (lead >= 0xF0 || second < (lead == 0xE0 ? 0xA0u : 0x80u) || second > (lead == 0xED ? 0x9Fu : 0xBFu)) return 0;
    recent->three[0] = (uint8_t)lead;
    recent->three[1] = (uint8_t)second;
    v_store(recent->three_codes, v_permute(lanes->cell_row, v_load(cells_of(lanes->machine, lead & 15, second))));
    return 1;
}

/* Whether characters of three bytes, in the lanes of `three`, are few and all of the row at hand, or of one that is now. */
BITLEX_INLINE int NAME(of_one_row)(const bitlex_lanes *lanes, bitlex_recent *recent, V here, V second, M three)
{
    M others = m_without(three, m_and(m_equal(here, v_all(recent->three[0])), m_equal(second, v_all(recent->three[1]))));
    uint8_t leads[64], seconds[64];
    uint32_t first;
    if (!m_any(others)) return 1;
    if (__builtin_popcountll(m_bits(three)) > NEAR_THREES) return 0;
    first = first_bit(m_bits(others));
    v_store(leads, here);
    v_store(seconds, second);
    if (!NAME(meet_three)(lanes, recent, leads[first], seconds[first])) return 0;
    others = m_without(three, m_and(m_equal(here, v_all(leads[first])), m_equal(second, v_all(seconds[first]))));
    return !m_any(others);
}

/* 64 bytes, whose first ones belong to a character before where *inner says so. 0, and nothing is done, if they are to be read otherwise. */
BITLEX_INLINE int NAME(near)(const bitlex_lanes *lanes, bitlex_lane_memory *memory, const uint8_t *p, uint32_t at, uint32_t *count,
                             uint64_t *inner, const int threes)
{
    bitlex_recent *recent = &memory->recent;
    const V here = v_load(p), second = v_load(p + 1);
    const M within = m_inside(here), three = m_at_least(here, v_all(0xE0));
    const uint64_t starts = ~m_bits(within);
    const M leads = m_without(m_high(here), within), two = m_without(leads, three);
    uint64_t inside = *inner | m_bits(leads) << 1, next = m_bits(leads) >> 63;
    V place = v_permute(recent->lowest, here), code = v_entry(lanes->direct, here);
    if (threes ? !NAME(of_one_row)(lanes, recent, here, second, three) : m_any(three)) return 0;
    if (m_any(m_and(two, m_high(place)))) {
        if (recent->jumps > 0) return 0;
        place = NAME(fetch)(lanes, recent, two, here);
        if (m_any(m_and(two, m_high(place)))) return 0;
    }
    code = NAME(at_hand)(recent, code, two, place, second, 1);
    if (threes) {
        code = v_choose(three, _mm512_permutexvar_epi8(v_load(p + 2), v_load(recent->three_codes)), code);
        inside |= m_bits(three) << 2;
        next |= m_bits(three) >> 62;
    }
    if (inside != ~starts) return 0;
    *inner = next;
    memory->places[at / 64] = starts;
    v_store(memory->codes + *count, NAME(compress)(starts, code));
    *count += (uint32_t)__builtin_popcountll(starts);
    return 1;
}

/* From 64 bytes on that begin with a character, as far as it goes, up to `near`: where it ends comes back, and what of a character is behind
 * that, as *inner. */
static __attribute__((noinline)) uint32_t NAME(pack_near)(const bitlex_lanes *lanes, bitlex_lane_memory *memory, const uint8_t *text, uint32_t from,
                                                          uint32_t near, uint32_t *count, uint64_t *inner)
{
    uint32_t at = from, stop, before, threes = 0;
    while (at < near) {
        for (; at < near && *inner == 0 && !m_any(m_high(v_load(text + at))); at += 64, *count += 64) {
            PREFETCH(text + at);
            v_store(memory->codes + *count, v_entry(lanes->direct, v_load(text + at)));
            memory->places[at / 64] = ~UINT64_C(0);
        }
        before = *count;
        stop = near - at < 64 * NEAR_VECTORS ? near : at + 64 * NEAR_VECTORS;
        for (; at < stop; at += 64) {
            PREFETCH(text + at);
            if (threes == 0) {
                if (NAME(near)(lanes, memory, text + at, at, count, inner, 0)) continue;
                threes = NEAR_AGAIN;
            }
            if (!NAME(near)(lanes, memory, text + at, at, count, inner, 1)) {
                near = at;
                break;
            }
            threes--;
        }
        if (*count - before < NEAR_STARTS) break;
    }
    if (*inner == 0 || ((text[at] & 0xC0) == 0x80 && (*inner == 1 || (text[at + 1] & 0xC0) == 0x80))) return at;
    *count = from; /* it is ill-formed: the two passes are to find out where */
    *inner = 0;
    return from;
}
#undef NEAR_VECTORS
#undef NEAR_STARTS
#undef NEAR_THREES
#undef NEAR_AGAIN
