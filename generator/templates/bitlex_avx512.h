/* bitlex_avx512.h - private: the lanes on AVX-512 with VBMI and VBMI2 (Intel from Ice Lake, AMD from Zen 4 on). */
#define NAME(x) x##_avx512
typedef __m512i V_avx512;
typedef __mmask64 M_avx512;
#define V V_avx512
#define M M_avx512

/* Of an origin that compilers cannot see: they would make a constant anew in each turn of a loop, rather than keep it. */
BITLEX_INLINE V NAME(all)(int byte)
{
    V all = _mm512_set1_epi8((char)byte);
    __asm__("" : "+v"(all));
    return all;
}
BITLEX_INLINE V NAME(load)(const void *p) { return _mm512_loadu_si512(p); }
BITLEX_INLINE void NAME(store)(void *p, V v) { _mm512_storeu_si512(p, v); }
BITLEX_INLINE void NAME(store_half)(void *p, V v) { _mm256_storeu_si256((__m256i *)p, _mm512_castsi512_si256(v)); }
/* Four times 16 bytes, of which the last are anywhere. */
BITLEX_INLINE V NAME(gather_apart)(const uint8_t *p, size_t stride, const uint8_t *last)
{
    V v = _mm512_castsi128_si512(_mm_loadu_si128((const __m128i *)(const void *)p));
    v = _mm512_inserti32x4(v, _mm_loadu_si128((const __m128i *)(const void *)(p + stride)), 1);
    v = _mm512_inserti32x4(v, _mm_loadu_si128((const __m128i *)(const void *)(p + 2 * stride)), 2);
    return _mm512_inserti32x4(v, _mm_loadu_si128((const __m128i *)(const void *)last), 3);
}
BITLEX_INLINE V NAME(gather)(const uint8_t *p, size_t stride) { return NAME(gather_apart)(p, stride, p + 3 * stride); }
BITLEX_INLINE V NAME(narrow16)(const uint8_t *p, uint32_t shift)
{
    __m128i by = _mm_cvtsi32_si128((int)shift);
    __m256i low = _mm512_cvtepi16_epi8(_mm512_srl_epi16(_mm512_loadu_si512(p), by));
    __m256i high = _mm512_cvtepi16_epi8(_mm512_srl_epi16(_mm512_loadu_si512(p + 64), by));
    return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}
BITLEX_INLINE V NAME(narrow32)(const uint8_t *p, uint32_t shift)
{
    __m128i by = _mm_cvtsi32_si128((int)shift);
    V v = _mm512_castsi128_si512(_mm512_cvtepi32_epi8(_mm512_srl_epi32(_mm512_loadu_si512(p), by)));
    v = _mm512_inserti32x4(v, _mm512_cvtepi32_epi8(_mm512_srl_epi32(_mm512_loadu_si512(p + 64), by)), 1);
    v = _mm512_inserti32x4(v, _mm512_cvtepi32_epi8(_mm512_srl_epi32(_mm512_loadu_si512(p + 128), by)), 2);
    return _mm512_inserti32x4(v, _mm512_cvtepi32_epi8(_mm512_srl_epi32(_mm512_loadu_si512(p + 192), by)), 3);
}
BITLEX_INLINE V NAME(entry128)(const uint8_t *table, V index)
{
    return _mm512_permutex2var_epi8(_mm512_loadu_si512(table), index, _mm512_loadu_si512(table + 64));
}

/* As entry128, and 0 elsewhere. */
BITLEX_INLINE V NAME(if_there)(M there, const uint8_t *table, V index)
{
    return _mm512_maskz_permutex2var_epi8(there, NAME(load)(table), index, NAME(load)(table + 64));
}

/* The bytes of the bits that are set, side by side. The register that takes them is cleared before: processors wait for what it held. */
BITLEX_INLINE V NAME(compress)(M bits, V bytes)
{
    V zero = _mm512_setzero_si512();
    __asm__("" : "+v"(zero) : "v"(bytes));
    return _mm512_mask_compress_epi8(zero, bits, bytes);
}

/* A bit of each byte: not by a comparison with a constant, which compilers would make anew for each. */
BITLEX_INLINE M NAME(bit)(V bytes, const int bit) { return _mm512_movepi8_mask(_mm512_slli_epi16(bytes, 7 - bit)); }

/* The classes of states in the groups of symbols that `place` has in bits 5 to 7, where flags of a state are of no account. */
BITLEX_INLINE V NAME(class)(const uint8_t (*classes)[BITLEX_PAGE], V place, V state)
{
    const V index = _mm512_ternarylogic_epi32(NAME(all)(0x40), place, state, 0xCA); /* bit 6 of `place`, all others of `state` */
    const M odd = NAME(bit)(place, 7);
    const V first = _mm512_mask_mov_epi8(NAME(entry128)(classes[0], index), odd, NAME(entry128)(classes[1], index));
    const V second = _mm512_mask_mov_epi8(NAME(entry128)(classes[2], index), odd, NAME(entry128)(classes[3], index));
    return _mm512_mask_mov_epi8(first, NAME(bit)(place, 5), second);
}

/* The page of two that a mask tells. */
BITLEX_INLINE V NAME(of_two)(const uint8_t (*table)[BITLEX_PAGE], V index, M second)
{
    return _mm512_mask_mov_epi8(NAME(entry128)(table[0], index), second, NAME(entry128)(table[1], index));
}

/* Of more pages than eight, by the page in the low five bits of `place`: eight at a time, the last time four if these are all. */
BITLEX_INLINE V NAME(entries_many)(const uint8_t (*table)[BITLEX_PAGE], V index, V place, const uint32_t rows)
{
    const M odd = NAME(bit)(place, 0), upper = NAME(bit)(place, 1), half = NAME(bit)(place, 2);
    V found = index, answer[2];
    uint32_t i, k;
    for (i = 0; 64 * i + 64 < rows; i++) {
        const int half_is_all = 64 * i + 96 >= rows;
        for (k = 0; k < 2 - (uint32_t)half_is_all; k++, table += 4) {
            answer[k] = _mm512_mask_mov_epi8(NAME(of_two)(table, index, odd), upper, NAME(of_two)(table + 2, index, odd));
        }
        if (!half_is_all) answer[0] = _mm512_mask_mov_epi8(answer[0], half, answer[1]);
        if (rows == 128) return answer[0];
        answer[1] = _mm512_and_si512(place, NAME(all)(0x18));
        found = _mm512_mask_mov_epi8(found, _mm512_cmpeq_epi8_mask(answer[1], _mm512_set1_epi8((char)(8 * i))), answer[0]);
    }
    return found;
}

/* Of up to eight pages: which, bit 7 of the code says of two, and bits 4 to 6 of more. */
BITLEX_INLINE V NAME(entries)(const uint8_t (*table)[BITLEX_PAGE], V index, V code, const uint32_t rows)
{
    M odd, upper;
    V low, high;
    if (rows > 64) return NAME(entries_many)(table, index, code, rows);
    if (rows <= 8) return NAME(entry128)(table[0], index);
    if (rows <= 16) return NAME(of_two)(table, index, _mm512_movepi8_mask(code));
    odd = _mm512_test_epi8_mask(code, NAME(all)(0x10));
    upper = _mm512_test_epi8_mask(code, NAME(all)(0x20));
    low = rows <= 24 ? NAME(entry128)(table[2], index) : NAME(of_two)(table + 2, index, odd);
    low = _mm512_mask_mov_epi8(NAME(of_two)(table, index, odd), upper, low);
    if (rows <= 32) return low;
    high = rows <= 40 ? NAME(entry128)(table[4], index) : NAME(of_two)(table + 4, index, odd);
    if (rows > 48) high = _mm512_mask_mov_epi8(high, upper, NAME(of_two)(table + 6, index, odd));
    return _mm512_mask_mov_epi8(low, _mm512_test_epi8_mask(code, NAME(all)(0x40)), high);
}

BITLEX_INLINE V NAME(entries_twice)(const uint8_t (*first)[BITLEX_PAGE], const uint8_t (*second)[BITLEX_PAGE], V index, V code,
                                    const uint32_t rows, V *other)
{
    *other = NAME(entries)(second, index, code, rows);
    return NAME(entries)(first, index, code, rows);
}

/* Kept out of mask registers, where compilers would go on: those share their ports with permutations and comparisons. */
BITLEX_INLINE uint64_t NAME(bits)(M m)
{
    uint64_t bits = (uint64_t)m;
    __asm__("" : "+r"(bits));
    return bits;
}

#define EACH_SIZE(CASE) CASE(8) CASE(16) CASE(24) CASE(32) CASE(40) CASE(48) CASE(64) CASE(128)
#define EACH_AGAIN_SIZE(CASE) CASE(16) CASE(64)
#define MANY_SIZES 1
#define MOST_BACKWARD 128
#define TWICE 1
#define SPARE 0
#define PACKS 1
#define POINTS 0
#define W V
#define WIDTH 64
#define w_gather NAME(gather)
#define w_gather_apart NAME(gather_apart)
#define w_load NAME(load)
#define w_store NAME(store)
#define w_zip_low _mm512_unpacklo_epi8
#define w_zip_high _mm512_unpackhi_epi8

#define v_load NAME(load)
#define v_leave _mm256_zeroupper
#define v_store NAME(store)
#define v_narrow16 NAME(narrow16)
#define v_narrow32 NAME(narrow32)
#define v_entry NAME(entry128)
#define v_entries NAME(entries)
#define v_entries_twice NAME(entries_twice)
#define v_class NAME(class)
#define v_permute(table, index) _mm512_permutexvar_epi8(index, _mm512_loadu_si512(table))
#define v_offset v_permute
#define v_prepare(table, size) ((void)0)
#define v_all NAME(all)
#define v_add _mm512_add_epi8
#define v_and _mm512_and_si512
#define v_or _mm512_or_si512
#define v_left(v, by) _mm512_slli_epi16(v, by)
#define v_right(v, by) _mm512_srli_epi16(v, by)
#define v_choose(m, a, b) _mm512_mask_mov_epi8(b, m, a)
#define m_high _mm512_movepi8_mask
#define m_inside(v) _mm512_cmplt_epi8_mask(v, v_all(0xC0))
#define m_equal _mm512_cmpeq_epi8_mask
#define m_at_least _mm512_cmpge_epu8_mask
#define m_and(a, b) ((a) & (b))
#define m_all(m) ((m) == ~UINT64_C(0))
#define m_or(a, b) ((a) | (b))
#define m_without(a, b) ((a) & ~(b))
#define m_any(m) ((m) != 0)
#define m_none() UINT64_C(0)
#define m_everywhere() (~UINT64_C(0))
#define m_bits NAME(bits)
#define m_of(bits) ((M)(bits))
#define m_spread(bits, places) _pdep_u64(bits, places)
#define v_packed NAME(compress)
#define m_gather(bits, places) _pext_u64(bits, places)
#define m_followed NAME(followed)
#define v_permuted(v, places) _mm512_permutexvar_epi8(places, v)

#define DEEP 1

static const uint8_t numbers[64] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
                                    22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43,
                                    44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63};

/* By the low six bits of a lead byte: from where to where the byte behind must be. No byte is from 0xFF to 0. */
#define EIGHT(byte) byte, byte, byte, byte, byte, byte, byte, byte
static const uint8_t second_from[64] = {0xFF, 0xFF, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, EIGHT(0x80), EIGHT(0x80), EIGHT(0x80),
                                        0xA0, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, EIGHT(0x80),
                                        0x90, 0x80, 0x80, 0x80, 0x80, 0xFF, 0xFF, 0xFF, EIGHT(0xFF)};
static const uint8_t second_to[64] = {0, 0, 0xBF, 0xBF, 0xBF, 0xBF, 0xBF, 0xBF, EIGHT(0xBF), EIGHT(0xBF), EIGHT(0xBF),
                                      EIGHT(0xBF), 0xBF, 0xBF, 0xBF, 0xBF, 0xBF, 0x9F, 0xBF, 0xBF,
                                      0xBF, 0xBF, 0xBF, 0xBF, 0x8F, 0, 0, 0, EIGHT(0)};
#undef EIGHT
BITLEX_INLINE M NAME(followed)(V here, V second)
{
    return m_and(m_and(m_at_least(here, v_all(0xC0)), m_at_least(second, v_permute(second_from, here))),
                 m_at_least(v_permute(second_to, here), second));
}

/* The codes of a row, which is given a place. */
static V NAME(meet)(const bitlex_lanes *lanes, bitlex_recent *recent, uint32_t chunk, uint32_t row)
{
    const V codes = v_permute(lanes->cell_row, v_load(cells_of(lanes->machine, chunk, row)));
    uint32_t place, number;
    uint8_t *stretch;
    if (chunk >= 0x20) return codes;
    stretch = recent->number[chunk >> 4] + ((chunk & 15) << 3 | (row >> 3 & 7));
    if (*stretch == BITLEX_UNKNOWN) {
        if (recent->numbers == 256 - 8) bitlex_forget(recent);
        *stretch = (uint8_t)recent->numbers;
        recent->numbers += 8;
    }
    number = *stretch | (row & 7);
    place = recent->oldest++ % BITLEX_RECENT;
    recent->place[recent->held[place]] = BITLEX_UNKNOWN;
    recent->place[number] = (uint8_t)place;
    recent->held[place] = (uint8_t)number;
    if (recent->chunk[place] == 0) recent->lowest[recent->row[place] & 63] = BITLEX_UNKNOWN;
    if (chunk == 0 && (row & 63) > 1) recent->lowest[row & 63] = (uint8_t)place; /* no character of two bytes is ASCII: C0 and C1 are no leads */
    recent->chunk[place] = (uint8_t)chunk;
    recent->row[place] = (uint8_t)row;
    v_store(recent->codes[place], codes);
    return codes;
}

/* All characters of two bytes are 32 rows, of which many are equal: all letters, say. Those that differ are two a page, and the tables of
 * codes are looked up as those of entries are, with bit 6 of a place for the second row of a page. */
BITLEX_ONCE void prepare_two_bytes_avx512(bitlex_lanes *lanes)
{
    uint8_t rows[32][64];
    uint32_t row, low, number, count = 0;
    for (row = 0; row < 32; row++) {
        for (low = 0; low < 64; low++) rows[count][low] = code_of(lanes, row << 6 | low);
        for (number = 0; memcmp(rows[number], rows[count], 64) != 0; number++) {}
        memcpy(lanes->two_bytes[number / 2] + number % 2 * 64, rows[number], 64);
        lanes->two_bytes_place[row] = (uint8_t)(number / 2 | number % 2 << 6);
        if (number == count) count++;
    }
    lanes->two_bytes_rows = count;
}

BITLEX_INLINE V NAME(two_bytes)(const bitlex_lanes *lanes, V row, V low)
{
    const V place = v_permute(lanes->two_bytes_place, row);
    const V index = _mm512_ternarylogic_epi32(v_all(0x40), place, v_and(low, v_all(0x3F)), 0xCA);
    if (lanes->two_bytes_rows <= 24) return NAME(entries_many)(lanes->two_bytes, index, place, 160);
    return NAME(entries_many)(lanes->two_bytes, index, place, 192);
}

/* Where a text jumps about, codes are looked up in memory: those of all chunks of 4,096 code points that are not of one column, one chunk
 * behind the other. BITLEX_UNKNOWN: there is no room left for a chunk. */
BITLEX_ONCE void fill_chunks_avx512(bitlex_lanes *lanes)
{
    uint32_t chunk, row, count = 0;
    memset(lanes->slot, BITLEX_UNKNOWN, sizeof lanes->slot);
    for (chunk = 0; chunk < 256 && count < BITLEX_SLOTS; chunk++) {
        if (lanes->chunk[chunk] != BITLEX_LOOK_DEEPER) continue;
        for (row = 0; row < 64; row++) {
            v_store(lanes->slots[count] + 64 * row, v_permute(lanes->cell_row, v_load(cells_of(lanes->machine, chunk, row))));
        }
        lanes->slot[chunk] = (uint8_t)count++;
    }
}

#define FEW 8 /* lanes, which are looked up one by one: LEAST, at least, as the end could not be predicted */
#define LEAST 4
#define JUMPS 63 /* where a text jumps about, no rows are looked for as many times 64 characters */

/* The codes of a few lanes, one by one. They are put in by masks: bytes that were just stored could not be loaded at once as a vector. */
static __attribute__((noinline)) V NAME(few)(const bitlex_lanes *lanes, V code, M wanted, V chunk, V row, V low)
{
    uint8_t chunks[64], rows[64], lows[64];
    uint64_t left = m_bits(wanted);
    uint32_t i;
    v_store(chunks, chunk);
    v_store(rows, row);
    v_store(lows, low);
    for (i = 0; i < LEAST || left; i++, left &= left - 1) { /* what is behind the last is put nowhere */
        const uint32_t at = first_bit(left | UINT64_C(1) << 63), cell = cells_of(lanes->machine, chunks[at], rows[at])[lows[at] & 63];
        code = _mm512_mask_set1_epi8(code, left & (0 - left), (char)lanes->cell_code[cell]);
    }
    return code;
}

/* Lanes whose codes are to be looked up in memory, of one vector after the other: those of several vectors take as many loads as they are,
 * and none waits for another. */
#define WAITING 8 /* vectors */
typedef struct {
    /* Bits 0 to 7 of their places in the table, 8 to 15, and those above. */
    uint8_t low[64 * WAITING + 64], high[64 * WAITING + 64], highest[64 * WAITING + 64];
    uint8_t codes[64 * WAITING + 64];
    uint8_t *to[WAITING], *next; /* where the codes of each vector are stored, and of the one at hand */
    uint64_t wanted[WAITING];
    uint32_t count, vectors;
} NAME(waiting);

BITLEX_INLINE __m128i NAME(eight_codes)(const uint8_t *table, const uint32_t *places)
{
    __m128i codes = _mm_cvtsi32_si128(table[places[0]]);
#define EACH(k) codes = _mm_insert_epi8(codes, table[places[k]], k);
    EACH(1) EACH(2) EACH(3) EACH(4) EACH(5) EACH(6) EACH(7)
#undef EACH
    return codes;
}

BITLEX_INLINE V NAME(sixteen_wide)(const uint8_t *bytes)
{
    return _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)(const void *)bytes));
}

/* Look up what waits. */
static __attribute__((noinline)) void NAME(look_up)(const bitlex_lanes *lanes, NAME(waiting) *waiting)
{
    const uint8_t *codes = waiting->codes;
    uint32_t places[16], i;
    v_store(waiting->low + waiting->count, v_all(0));
    v_store(waiting->high + waiting->count, v_all(0));
    v_store(waiting->highest + waiting->count, v_all(0));
    for (i = 0; i < waiting->count; i += 16) { /* behind the last is the first of all */
        const V upper = _mm512_slli_epi32(NAME(sixteen_wide)(waiting->highest + i), 16);
        const V middle = _mm512_slli_epi32(NAME(sixteen_wide)(waiting->high + i), 8);
        v_store(places, v_or(v_or(upper, middle), NAME(sixteen_wide)(waiting->low + i)));
        _mm_storeu_si128((__m128i *)(void *)(waiting->codes + i),
                         _mm_unpacklo_epi64(NAME(eight_codes)(lanes->slots[0], places), NAME(eight_codes)(lanes->slots[0], places + 8)));
    }
    for (i = 0; i < waiting->vectors; i++) {
        v_store(waiting->to[i], _mm512_mask_expand_epi8(v_load(waiting->to[i]), waiting->wanted[i], v_load(codes)));
        codes += __builtin_popcountll(waiting->wanted[i]);
        __asm__("" : "+r"(i)); /* compilers would write out all eight turns */
    }
    waiting->count = waiting->vectors = 0;
}

/* The codes of the lanes in `wanted` where a text jumps about: all but those of characters of two bytes, and those whose chunk is not in
 * memory, are to wait. */
static __attribute__((noinline)) V NAME(jump)(const bitlex_lanes *lanes, NAME(waiting) *waiting, V code, M wanted, V chunk, V row, V low)
{
    const uint32_t count = waiting->count, vectors = waiting->vectors;
    V slot;
    M unknown;
    if (!m_any(m_and(wanted, m_or(_mm512_test_epi8_mask(chunk, chunk), _mm512_test_epi8_mask(row, v_all(0x20)))))) {
        return v_choose(wanted, NAME(two_bytes)(lanes, row, low), code);
    }
    slot = v_choose(m_high(chunk), v_entry(lanes->slot + 128, chunk), v_entry(lanes->slot, chunk));
    unknown = m_and(wanted, m_high(slot));
    if (m_any(unknown)) {
        code = NAME(few)(lanes, code, unknown, chunk, row, low);
        wanted = m_without(wanted, unknown);
    }
    v_store(waiting->low + count, NAME(compress)(wanted, _mm512_ternarylogic_epi32(v_all(0x3F), low, v_left(row, 6), 0xCA)));
    v_store(waiting->high + count, NAME(compress)(wanted, _mm512_ternarylogic_epi32(v_all(0x0F), v_right(row, 2), v_left(slot, 4), 0xCA)));
    v_store(waiting->highest + count, NAME(compress)(wanted, v_and(v_right(slot, 4), v_all(0x03))));
    waiting->wanted[vectors] = m_bits(wanted);
    waiting->to[vectors] = waiting->next;
    waiting->count = count + (uint32_t)__builtin_popcountll(m_bits(wanted));
    waiting->vectors = vectors + 1;
    return code;
}

/* The same, looked up at once. */
static __attribute__((noinline)) V NAME(jump_now)(const bitlex_lanes *lanes, V code, M wanted, V chunk, V row, V low)
{
    NAME(waiting) waiting;
    uint8_t codes[64];
    if (__builtin_popcountll(m_bits(wanted)) <= FEW) return NAME(few)(lanes, code, wanted, chunk, row, low);
    waiting.count = waiting.vectors = 0;
    waiting.next = codes;
    v_store(codes, NAME(jump)(lanes, &waiting, code, wanted, chunk, row, low));
    NAME(look_up)(lanes, &waiting);
    return v_load(codes);
}

#undef FEW
#undef LEAST

/* The codes of characters whose rows are at hand, in these places. Where it is likely that these are the first two or four, `few`, others are
 * looked up only if they are wanted. */
BITLEX_INLINE V NAME(at_hand)(const bitlex_recent *recent, V code, M wanted, V place, V low, const int few)
{
    const V index = _mm512_ternarylogic_epi32(v_all(0x3F), low, v_left(place, 6), 0xCA);
    V found = v_entry(recent->codes[0], index);
    if (!few || m_any(_mm512_mask_test_epi8_mask(wanted, place, v_all(6)))) {
        const M upper = _mm512_test_epi8_mask(place, v_all(4));
        found = v_choose(m_high(index), v_entry(recent->codes[2], index), found);
        if (!few || m_any(m_and(wanted, upper))) {
            const V other = v_choose(m_high(index), v_entry(recent->codes[6], index), v_entry(recent->codes[4], index));
            found = v_choose(upper, other, found);
        }
    }
    return v_choose(wanted, found, code);
}

/* Rows of the first 4,096 code points that are not at hand are fetched: the places of all. If they are too many, the text jumps about. */
static __attribute__((noinline)) V NAME(fetch)(const bitlex_lanes *lanes, bitlex_recent *recent, M wanted, V row)
{
    V place = v_permute(recent->lowest, row);
    uint8_t rows[64];
    uint32_t i;
    v_store(rows, row);
    for (i = 0; i < 4 && m_any(m_and(wanted, m_high(place))); i++) {
        NAME(meet)(lanes, recent, 0, rows[first_bit(m_bits(m_and(wanted, m_high(place))))]);
        place = v_permute(recent->lowest, row);
    }
    if (m_any(m_and(wanted, m_high(place)))) recent->jumps = JUMPS + 1;
    return place;
}

/* As below, where all lanes in `wanted` are among the first 4,096 code points: there the row alone tells where it is at hand. */
BITLEX_INLINE V NAME(lowest)(const bitlex_lanes *lanes, bitlex_recent *recent, NAME(waiting) *waiting, V code, M wanted, V row, V low)
{
    if (recent->jumps == 0) {
        V place = v_permute(recent->lowest, row);
        if (m_any(m_and(wanted, m_high(place)))) place = NAME(fetch)(lanes, recent, wanted, row);
        if (recent->jumps == 0) return NAME(at_hand)(recent, code, wanted, place, low, 1);
    }
    recent->jumps--;
    return waiting == NULL ? NAME(jump_now)(lanes, code, wanted, v_all(0), row, low)
                           : NAME(jump)(lanes, waiting, code, wanted, v_all(0), row, low);
}

/* As in bitlex_kernel.h, where `waiting` is NULL; if not, some lanes may have to wait. Whether a lane is in the BMP is told by its chunk. */
BITLEX_INLINE V NAME(deep_later)(const bitlex_lanes *lanes, bitlex_recent *recent, NAME(waiting) *waiting, V code, M wanted, V chunk, V row,
                                 V low)
{
    const V unknown = v_all(BITLEX_LOOK_DEEPER), stretch = v_or(v_left(v_and(chunk, v_all(15)), 3), v_and(v_right(row, 3), v_all(7)));
    const M astral = m_and(wanted, _mm512_test_epi8_mask(chunk, v_all(0xF0)));
    V number, place;
    M next = m_none();
    if (!m_any(_mm512_mask_test_epi8_mask(wanted, chunk, chunk))) return NAME(lowest)(lanes, recent, waiting, code, wanted, row, low);
    code = v_choose(wanted, v_entry(lanes->stretch[0], stretch), code);
    if (m_any(astral)) {
        next = m_and(m_equal(v_and(chunk, v_all(0xF0)), v_all(0x10)), astral);
        code = v_choose(astral, v_choose(m_high(chunk), v_entry(lanes->chunk + 128, chunk), v_entry(lanes->chunk, chunk)), code);
        code = v_choose(next, v_entry(lanes->stretch[1], stretch), code);
    }
    wanted = m_and(wanted, m_equal(code, unknown));
    if (!m_any(wanted)) return code;
    if (recent->jumps > 0) {
        recent->jumps--;
        return waiting == NULL ? NAME(jump_now)(lanes, code, wanted, chunk, row, low)
                               : NAME(jump)(lanes, waiting, code, wanted, chunk, row, low);
    }
    number = v_entry(recent->number[0], stretch);
    if (m_any(astral)) number = v_choose(next, v_entry(recent->number[1], stretch), v_choose(astral, v_all(BITLEX_UNKNOWN), number));
    number = v_or(number, v_and(row, v_all(7)));
    if (recent->numbers <= 128) place = v_or(v_entry(recent->place, number), v_and(number, v_all(0x80))); /* UNKNOWN: so is the place */
    else place = v_choose(m_high(number), v_entry(recent->place + 128, number), v_entry(recent->place, number));
    code = NAME(at_hand)(recent, code, m_without(wanted, m_high(place)), place, low, 0);
    wanted = m_and(wanted, m_high(place));
    if (m_any(wanted)) {
        uint8_t chunks[64], rows[64];
        uint32_t i;
        v_store(chunks, chunk);
        v_store(rows, row);
        for (i = 0; i < 4 && m_any(wanted); i++) {
            const uint32_t at = first_bit(wanted);
            const M same = m_and(m_and(wanted, m_equal(chunk, v_all(chunks[at]))), m_equal(row, v_all(rows[at])));
            code = v_choose(same, _mm512_permutexvar_epi8(low, NAME(meet)(lanes, recent, chunks[at], rows[at])), code);
            wanted = m_without(wanted, same);
        }
        if (!m_any(wanted)) return code;
        recent->jumps = JUMPS;
        code = waiting == NULL ? NAME(jump_now)(lanes, code, wanted, chunk, row, low)
                               : NAME(jump)(lanes, waiting, code, wanted, chunk, row, low);
    }
    return code;
}

BITLEX_INLINE V NAME(deep)(const bitlex_lanes *lanes, bitlex_recent *recent, V code, M wanted, M wide, V chunk, V row, V low)
{
    (void)wide;
    return NAME(deep_later)(lanes, recent, NULL, code, wanted, chunk, row, low);
}

#include "bitlex_near.h"

#include "bitlex_kernel.h"

static size_t ends32_avx512(const uint64_t *words, uint32_t *word, uint32_t last, uint64_t base, uint32_t *out, size_t room)
{
    const V places = v_load(numbers);
    size_t done = 0;
    uint32_t w;
    for (w = *word; w < last && room - done >= 64; w++) {
        const V found = NAME(compress)(words[w], places), from = _mm512_set1_epi32((int)(uint32_t)(base + 64 * (uint64_t)w));
        const uint32_t count = (uint32_t)__builtin_popcountll(words[w]);
        /* The second store is made whether it is needed or not: no branch could be predicted there. */
        _mm512_storeu_si512(out + done, _mm512_add_epi32(from, _mm512_cvtepu8_epi32(_mm512_castsi512_si128(found))));
        _mm512_storeu_si512(out + done + 16, _mm512_add_epi32(from, _mm512_cvtepu8_epi32(_mm512_extracti32x4_epi32(found, 1))));
        if (count > 32) {
            _mm512_storeu_si512(out + done + 32, _mm512_add_epi32(from, _mm512_cvtepu8_epi32(_mm512_extracti32x4_epi32(found, 2))));
            _mm512_storeu_si512(out + done + 48, _mm512_add_epi32(from, _mm512_cvtepu8_epi32(_mm512_extracti32x4_epi32(found, 3))));
            PREFETCH_OFFSETS(out + done + 32);
        }
        done += count;
        PREFETCH_OFFSETS(out + done);
    }
    *word = w;
    v_leave();
    return done;
}

BITLEX_INLINE void NAME(sixteen)(uint64_t *out, V from, __m128i places)
{
    v_store(out, _mm512_add_epi64(from, _mm512_cvtepu8_epi64(places)));
    v_store(out + 8, _mm512_add_epi64(from, _mm512_cvtepu8_epi64(_mm_srli_si128(places, 8))));
}

static size_t ends64_avx512(const uint64_t *words, uint32_t *word, uint32_t last, uint64_t base, uint64_t *out, size_t room)
{
    const V places = v_load(numbers);
    size_t done = 0;
    uint32_t w;
    for (w = *word; w < last && room - done >= 64; w++) {
        const V found = NAME(compress)(words[w], places), from = _mm512_set1_epi64((long long)(base + 64 * (uint64_t)w));
        const uint32_t count = (uint32_t)__builtin_popcountll(words[w]);
        NAME(sixteen)(out + done, from, _mm512_castsi512_si128(found));
        NAME(sixteen)(out + done + 16, from, _mm512_extracti32x4_epi32(found, 1));
        if (count > 32) {
            NAME(sixteen)(out + done + 32, from, _mm512_extracti32x4_epi32(found, 2));
            NAME(sixteen)(out + done + 48, from, _mm512_extracti32x4_epi32(found, 3));
            PREFETCH_OFFSETS(out + done + 16);
            PREFETCH_OFFSETS(out + done + 32);
            PREFETCH_OFFSETS(out + done + 48);
        }
        done += count;
        PREFETCH_OFFSETS(out + done);
    }
    *word = w;
    v_leave();
    return done;
}

#include "bitlex_short.h"
#include "bitlex_whole.h"
#include "bitlex_no_names.h"
