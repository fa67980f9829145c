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
BITLEX_INLINE V NAME(gather)(const uint8_t *p, size_t stride)
{
    V v = _mm512_castsi128_si512(_mm_loadu_si128((const __m128i *)(const void *)p));
    v = _mm512_inserti32x4(v, _mm_loadu_si128((const __m128i *)(const void *)(p + stride)), 1);
    v = _mm512_inserti32x4(v, _mm_loadu_si128((const __m128i *)(const void *)(p + 2 * stride)), 2);
    return _mm512_inserti32x4(v, _mm_loadu_si128((const __m128i *)(const void *)(p + 3 * stride)), 3);
}
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
BITLEX_INLINE V NAME(offset)(const uint8_t *table, V code)
{
    return _mm512_shuffle_epi8(_mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)(const void *)table)),
                               _mm512_and_si512(code, _mm512_set1_epi8(15)));
}
BITLEX_INLINE V NAME(any)(V a, V b, V c) { return _mm512_ternarylogic_epi32(a, b, c, 0xFE); }

/* As entry128, and 0 elsewhere. */
BITLEX_INLINE V NAME(if_there)(M there, const uint8_t *table, V index)
{
    return _mm512_maskz_permutex2var_epi8(there, NAME(load)(table), index, NAME(load)(table + 64));
}

/* Two indices with one code, or one index in two tables, in more pages than eight: four pages at a time, in a loop. What is not on a page
 * adds nothing. */
BITLEX_INLINE V NAME(entries_many)(const uint8_t (*first)[BITLEX_PAGE], const uint8_t (*second)[BITLEX_PAGE], V index, V index_other,
                                   V code, const uint32_t rows, V *other)
{
    V page = _mm512_and_si512(code, NAME(all)(0xF8)), found = _mm512_setzero_si512(), found_other = found, answer[4], answers[4];
    uint32_t i, k;
    for (i = 0; 8 * i < rows; i += 4) {
        for (k = 0; k < 4; k++) {
            const M there = _mm512_cmpeq_epi8_mask(page, NAME(all)(8 * (int)k));
            answer[k] = NAME(if_there)(there, first[i + k], index);
            if (other) answers[k] = NAME(if_there)(there, second[i + k], index_other);
        }
        found = NAME(any)(found, NAME(any)(answer[0], answer[1], answer[2]), answer[3]);
        if (other) found_other = NAME(any)(found_other, NAME(any)(answers[0], answers[1], answers[2]), answers[3]);
        page = _mm512_sub_epi8(page, NAME(all)(32));
    }
    if (other) *other = found_other;
    return found;
}

BITLEX_INLINE V NAME(entries)(const uint8_t (*table)[BITLEX_PAGE], V index, V code, const uint32_t rows)
{
    V found, page, answer[8];
    uint32_t i;
    if (rows > 64) return NAME(entries_many)(table, table, index, index, code, rows, NULL);
    found = NAME(entry128)(table[0], index);
    if (rows <= 8) return found;
    if (rows <= 16) return _mm512_mask_mov_epi8(found, _mm512_movepi8_mask(code), NAME(entry128)(table[1], index));
    page = _mm512_and_si512(code, NAME(all)(0x70));
    for (i = 0; i < (rows <= 48 ? rows / 8 : 8); i++) { /* what is not on a page adds nothing: three are put together by one instruction */
        const M there = _mm512_cmpeq_epi8_mask(page, NAME(all)(i << 4));
        answer[i] = NAME(if_there)(there, table[i], index);
    }
    found = NAME(any)(answer[0], answer[1], answer[2]);
    if (rows <= 24) return found;
    if (rows <= 32) return _mm512_or_si512(found, answer[3]);
    if (rows <= 40) return NAME(any)(found, answer[3], answer[4]);
    if (rows <= 48) return NAME(any)(found, _mm512_or_si512(answer[3], answer[4]), answer[5]);
    return NAME(any)(found, NAME(any)(answer[3], answer[4], answer[5]), _mm512_or_si512(answer[6], answer[7]));
}

BITLEX_INLINE V NAME(entries_twice)(const uint8_t (*first)[BITLEX_PAGE], const uint8_t (*second)[BITLEX_PAGE], V index, V code,
                                    const uint32_t rows, V *other)
{
    if (rows > 64) return NAME(entries_many)(first, second, index, index, code, rows, other);
    *other = NAME(entries)(second, index, code, rows);
    return NAME(entries)(first, index, code, rows);
}

BITLEX_INLINE V NAME(entries_both)(const uint8_t (*table)[BITLEX_PAGE], V index, V index_other, V code, const uint32_t rows, V *other)
{
    if (rows > 64) return NAME(entries_many)(table, table, index, index_other, code, rows, other);
    *other = NAME(entries)(table, index_other, code, rows);
    return NAME(entries)(table, index, code, rows);
}

/* Kept out of mask registers, where compilers would go on: those share their ports with permutations and comparisons. */
BITLEX_INLINE uint64_t NAME(bits)(M m)
{
    uint64_t bits = (uint64_t)m;
    __asm__("" : "+r"(bits));
    return bits;
}

#define EACH_SIZE(CASE) CASE(8) CASE(16) CASE(24) CASE(32) CASE(40) CASE(48) CASE(64) CASE(many)
#define MOST_BACKWARD (8 * BITLEX_PAGES)
#define TWICE 1
#define MASKED 0
#define SPARE 0
#define PACKS 1
#define ALONE 0
#define W V
#define WIDTH 64
#define w_gather NAME(gather)
#define w_load NAME(load)
#define w_store NAME(store)
#define w_zip_low _mm512_unpacklo_epi8
#define w_zip_high _mm512_unpackhi_epi8

#define v_load NAME(load)
#define v_store NAME(store)
#define v_narrow16 NAME(narrow16)
#define v_narrow32 NAME(narrow32)
#define v_entry NAME(entry128)
#define v_entries NAME(entries)
#define v_entries_twice NAME(entries_twice)
#define v_entries_both NAME(entries_both)
#define v_permute(table, index) _mm512_permutexvar_epi8(index, _mm512_loadu_si512(table))
#define v_offset NAME(offset)
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
#define v_pack NAME(pack)
#define v_pack_three NAME(pack_three)
#define m_gather(bits, places) _pext_u64(bits, places)
#define m_followed NAME(followed)
#define m_followed_four NAME(followed_four)

#define DEEP 1

/* By the low six bits of a lead byte of two or three bytes, and of one of four: from where to where the byte behind must be. No byte
 * is from 0xFF to 0. */
#define EIGHT(byte) byte, byte, byte, byte, byte, byte, byte, byte
static const uint8_t second_from[64] = {0xFF, 0xFF, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, EIGHT(0x80), EIGHT(0x80), EIGHT(0x80),
                                        0xA0, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, EIGHT(0x80), EIGHT(0xFF), EIGHT(0xFF)};
static const uint8_t second_to[64] = {0, 0, 0xBF, 0xBF, 0xBF, 0xBF, 0xBF, 0xBF, EIGHT(0xBF), EIGHT(0xBF), EIGHT(0xBF),
                                      EIGHT(0xBF), 0xBF, 0xBF, 0xBF, 0xBF, 0xBF, 0x9F, 0xBF, 0xBF, EIGHT(0), EIGHT(0)};
static const uint8_t second_from_four[64] = {EIGHT(0xFF), EIGHT(0xFF), EIGHT(0xFF), EIGHT(0xFF), EIGHT(0xFF), EIGHT(0xFF),
                                             0x90, 0x80, 0x80, 0x80, 0x80, 0xFF, 0xFF, 0xFF, EIGHT(0xFF)};
static const uint8_t second_to_four[64] = {EIGHT(0), EIGHT(0), EIGHT(0), EIGHT(0), EIGHT(0), EIGHT(0),
                                           0xBF, 0xBF, 0xBF, 0xBF, 0x8F, 0, 0, 0, EIGHT(0)};
#undef EIGHT
BITLEX_INLINE M NAME(followed)(V here, V second)
{
    return m_and(m_and(m_at_least(here, v_all(0xC0)), m_at_least(second, v_permute(second_from, here))),
                 m_at_least(v_permute(second_to, here), second));
}
BITLEX_INLINE M NAME(followed_four)(V here, V second)
{
    return m_and(m_and(m_at_least(here, v_all(0xF0)), m_at_least(second, v_permute(second_from_four, here))),
                 m_at_least(v_permute(second_to_four, here), second));
}
BITLEX_INLINE void NAME(pack)(uint8_t *to, uint64_t places, const uint8_t *p, V here)
{
    (void)p; /* is where it has been loaded from */
    v_store(to, _mm512_maskz_compress_epi8(places, here));
}
BITLEX_INLINE void NAME(pack_three)(uint8_t *to, uint8_t *to_second, uint8_t *to_third, uint64_t places, const uint8_t *p, V here, V second,
                                    V third)
{
    NAME(pack)(to, places, p, here);
    NAME(pack)(to_second, places, p + 1, second);
    NAME(pack)(to_third, places, p + 2, third);
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
    v_store(recent->codes[place], codes);
    return codes;
}

#define JUMPS 15 /* where a text jumps about, no rows are looked for as many times 64 characters */

/* The codes of the lanes in `wanted` by scalar loads, which is faster where a text jumps about. Vectors do all that is not a look-up: the
 * lanes come to stand side by side, and of each its place in the first table, and that in the block which is found there. Loops of eight
 * have few ends that cannot be predicted. */
BITLEX_INLINE V NAME(one_by_one)(const bitlex_lanes *lanes, V code, M wanted, V chunk, V row, V low)
{
    const bitlex_machine *m = lanes->machine;
    const uint16_t *stage1 = m->stage1;
    const uint8_t *stage2 = m->stage2;
    const uint32_t shift = m->shift, count = (uint32_t)__builtin_popcountll(m_bits(wanted));
    const V inside = _mm512_set1_epi16((short)((1u << shift) - 1));
    const __m128i by = _mm_cvtsi32_si128((int)shift - 6);
    uint16_t blocks[64], places[64];
    uint8_t cells[64]; /* those behind the last are in no lane */
    uint32_t i, k;
    chunk = _mm512_maskz_compress_epi8(wanted, chunk);
    row = _mm512_maskz_compress_epi8(wanted, v_and(row, v_all(0x3F)));
    low = _mm512_maskz_compress_epi8(wanted, v_and(low, v_all(0x3F)));
    for (i = 0; i < 64; i += 32) {
        const V first = v_or(_mm512_slli_epi16(_mm512_cvtepu8_epi16(_mm512_castsi512_si256(chunk)), 6),
                             _mm512_cvtepu8_epi16(_mm512_castsi512_si256(row)));
        const V last = v_or(_mm512_slli_epi16(first, 6), _mm512_cvtepu8_epi16(_mm512_castsi512_si256(low)));
        v_store(blocks + i, _mm512_srl_epi16(first, by));
        v_store(places + i, v_and(last, inside));
        chunk = _mm512_castsi256_si512(_mm512_extracti64x4_epi64(chunk, 1));
        row = _mm512_castsi256_si512(_mm512_extracti64x4_epi64(row, 1));
        low = _mm512_castsi256_si512(_mm512_extracti64x4_epi64(low, 1));
    }
    for (i = 0; i < count; i += 8) { /* what is behind the last is U+0000 */
        for (k = i; k < i + 8; k++) {
            uint32_t cell = stage2[((size_t)stage1[blocks[k]] << shift) + places[k]];
            __asm__ volatile("" : "+r"(cell)); /* else compilers would put words together by shifts, which takes longer */
            cells[k] = (uint8_t)cell;
        }
    }
    return _mm512_mask_expand_epi8(code, wanted, v_permute(lanes->cell_row, v_load(cells)));
}

/* As in bitlex_kernel.h; whether a lane is in the BMP is told by its chunk. */
BITLEX_INLINE V NAME(deep)(const bitlex_lanes *lanes, bitlex_recent *recent, V code, M wanted, M wide, V chunk, V row, V low)
{
    const V unknown = v_all(BITLEX_LOOK_DEEPER), stretch = v_or(v_left(v_and(chunk, v_all(15)), 3), v_and(v_right(row, 3), v_all(7)));
    const M astral = m_and(wanted, _mm512_test_epi8_mask(chunk, v_all(0xF0)));
    V number = v_entry(recent->number[0], stretch), place, found, index;
    (void)wide;
    code = v_choose(wanted, v_entry(lanes->stretch[0], stretch), code);
    if (m_any(astral)) {
        const M next = m_and(m_equal(v_and(chunk, v_all(0xF0)), v_all(0x10)), astral);
        code = v_choose(astral, v_choose(m_high(chunk), v_entry(lanes->chunk + 128, chunk), v_entry(lanes->chunk, chunk)), code);
        code = v_choose(next, v_entry(lanes->stretch[1], stretch), code);
        number = v_choose(next, v_entry(recent->number[1], stretch), v_choose(astral, v_all(BITLEX_UNKNOWN), number));
    }
    wanted = m_and(wanted, m_equal(code, unknown));
    if (!m_any(wanted)) return code;
    if (recent->jumps > 0) {
        recent->jumps--;
        return NAME(one_by_one)(lanes, code, wanted, chunk, row, low);
    }
    number = v_or(number, v_and(row, v_all(7)));
    place = v_choose(m_high(number), v_entry(recent->place + 128, number), v_entry(recent->place, number));
    index = v_or(v_and(low, v_all(0x3F)), v_left(v_and(place, v_all(3)), 6));
    found = v_choose(m_high(index), v_entry(recent->codes[2], index), v_entry(recent->codes[0], index));
    found = v_choose(_mm512_test_epi8_mask(place, v_all(4)),
                     v_choose(m_high(index), v_entry(recent->codes[6], index), v_entry(recent->codes[4], index)), found);
    code = v_choose(m_without(wanted, m_high(place)), found, code);
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
        code = NAME(one_by_one)(lanes, code, wanted, chunk, row, low);
    }
    return code;
}

#include "bitlex_kernel.h"

static const uint8_t numbers[64] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
                                    22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43,
                                    44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63};

static size_t ends32_avx512(const uint64_t *words, uint32_t *word, uint32_t last, uint64_t base, uint32_t *out, size_t room)
{
    const V places = v_load(numbers);
    size_t done = 0;
    uint32_t w;
    for (w = *word; w < last && room - done >= 64; w++) {
        const V found = _mm512_maskz_compress_epi8(words[w], places), from = _mm512_set1_epi32((int)(uint32_t)(base + 64 * (uint64_t)w));
        const uint32_t count = (uint32_t)__builtin_popcountll(words[w]);
        /* The second store is made whether it is needed or not: no branch could be predicted there. */
        _mm512_storeu_si512(out + done, _mm512_add_epi32(from, _mm512_cvtepu8_epi32(_mm512_castsi512_si128(found))));
        _mm512_storeu_si512(out + done + 16, _mm512_add_epi32(from, _mm512_cvtepu8_epi32(_mm512_extracti32x4_epi32(found, 1))));
        if (count > 32) {
            _mm512_storeu_si512(out + done + 32, _mm512_add_epi32(from, _mm512_cvtepu8_epi32(_mm512_extracti32x4_epi32(found, 2))));
            _mm512_storeu_si512(out + done + 48, _mm512_add_epi32(from, _mm512_cvtepu8_epi32(_mm512_extracti32x4_epi32(found, 3))));
        }
        done += count;
    }
    *word = w;
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
        const V found = _mm512_maskz_compress_epi8(words[w], places), from = _mm512_set1_epi64((long long)(base + 64 * (uint64_t)w));
        const uint32_t count = (uint32_t)__builtin_popcountll(words[w]);
        NAME(sixteen)(out + done, from, _mm512_castsi512_si128(found));
        NAME(sixteen)(out + done + 16, from, _mm512_extracti32x4_epi32(found, 1));
        if (count > 32) {
            NAME(sixteen)(out + done + 32, from, _mm512_extracti32x4_epi32(found, 2));
            NAME(sixteen)(out + done + 48, from, _mm512_extracti32x4_epi32(found, 3));
        }
        done += count;
    }
    *word = w;
    return done;
}

#include "bitlex_short.h"
#include "bitlex_no_names.h"
