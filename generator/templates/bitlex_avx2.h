/* bitlex_avx2.h - private: the lanes on AVX2 with BMI2 (Intel from Haswell, AMD from Zen on).
 *
 * There a look-up is in 16 bytes (PSHUFB), and gives 0 where bit 7 of the index is set. So index - 16 k is looked up
 * in row k: rows above the index give 0, and rows are stored as differences (exclusive or) to the row before, so
 * that all results put together by exclusive or are the entry. Rejected: to choose between rows by the bits of the index
 * (blends are two instructions on Intel's processors, and are as many as the rows).
 */
#define NAME(x) x##_avx2
typedef struct {
    __m256i low, high;
} V_avx2;
typedef V_avx2 M_avx2; /* bytes of 0 or FF */
#define V V_avx2
#define M M_avx2

BITLEX_INLINE V NAME(pair)(__m256i low, __m256i high)
{
    V v;
    v.low = low;
    v.high = high;
    return v;
}
BITLEX_INLINE V NAME(load)(const void *p)
{
    return NAME(pair)(_mm256_loadu_si256((const __m256i *)p), _mm256_loadu_si256((const __m256i *)p + 1));
}
BITLEX_INLINE void NAME(store)(void *p, V v)
{
    _mm256_storeu_si256((__m256i *)p, v.low);
    _mm256_storeu_si256((__m256i *)p + 1, v.high);
}
BITLEX_INLINE V NAME(all)(uint8_t byte) { return NAME(pair)(_mm256_set1_epi8((char)byte), _mm256_set1_epi8((char)byte)); }
BITLEX_INLINE V NAME(add)(V a, V b) { return NAME(pair)(_mm256_add_epi8(a.low, b.low), _mm256_add_epi8(a.high, b.high)); }
BITLEX_INLINE V NAME(and)(V a, V b) { return NAME(pair)(_mm256_and_si256(a.low, b.low), _mm256_and_si256(a.high, b.high)); }
BITLEX_INLINE V NAME(or)(V a, V b) { return NAME(pair)(_mm256_or_si256(a.low, b.low), _mm256_or_si256(a.high, b.high)); }
BITLEX_INLINE V NAME(without)(V a, V b)
{
    return NAME(pair)(_mm256_andnot_si256(b.low, a.low), _mm256_andnot_si256(b.high, a.high));
}
BITLEX_INLINE V NAME(left)(V v, int by) { return NAME(pair)(_mm256_slli_epi16(v.low, by), _mm256_slli_epi16(v.high, by)); }
BITLEX_INLINE V NAME(right)(V v, int by) { return NAME(pair)(_mm256_srli_epi16(v.low, by), _mm256_srli_epi16(v.high, by)); }
BITLEX_INLINE V NAME(equal)(V a, V b) { return NAME(pair)(_mm256_cmpeq_epi8(a.low, b.low), _mm256_cmpeq_epi8(a.high, b.high)); }
BITLEX_INLINE V NAME(at_least)(V a, V b)
{
    return NAME(pair)(_mm256_cmpeq_epi8(_mm256_max_epu8(a.low, b.low), a.low), _mm256_cmpeq_epi8(_mm256_max_epu8(a.high, b.high), a.high));
}
BITLEX_INLINE V NAME(high)(V v)
{
    const __m256i zero = _mm256_setzero_si256();
    return NAME(pair)(_mm256_cmpgt_epi8(zero, v.low), _mm256_cmpgt_epi8(zero, v.high));
}
BITLEX_INLINE V NAME(choose)(M m, V a, V b)
{
    return NAME(pair)(_mm256_blendv_epi8(b.low, a.low, m.low), _mm256_blendv_epi8(b.high, a.high, m.high));
}
BITLEX_INLINE uint64_t NAME(bits)(M m)
{
    return (uint32_t)_mm256_movemask_epi8(m.low) | (uint64_t)(uint32_t)_mm256_movemask_epi8(m.high) << 32;
}
BITLEX_INLINE int NAME(any)(M m)
{
    const __m256i both = _mm256_or_si256(m.low, m.high);
    return !_mm256_testz_si256(both, both);
}
BITLEX_INLINE int NAME(every)(M m) { return _mm256_movemask_epi8(_mm256_and_si256(m.low, m.high)) == -1; }

BITLEX_INLINE __m256i NAME(gather)(const uint8_t *p, size_t stride)
{
    return _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)p)),
                                   _mm_loadu_si128((const __m128i *)(const void *)(p + stride)), 1);
}
BITLEX_INLINE __m256i NAME(load_half)(const void *p) { return _mm256_loadu_si256((const __m256i *)p); }
BITLEX_INLINE void NAME(store_half)(void *p, __m256i v) { _mm256_storeu_si256((__m256i *)p, v); }

/* Bits shift..shift+7 of 32 units of two bytes, and of four. */
BITLEX_INLINE __m256i NAME(narrow16_half)(const uint8_t *p, uint32_t shift)
{
    const __m128i by = _mm_cvtsi32_si128((int)shift);
    const __m256i byte = _mm256_set1_epi16(0xFF);
    __m256i a = _mm256_and_si256(_mm256_srl_epi16(_mm256_loadu_si256((const __m256i *)(const void *)p), by), byte);
    __m256i b = _mm256_and_si256(_mm256_srl_epi16(_mm256_loadu_si256((const __m256i *)(const void *)(p + 32)), by), byte);
    return _mm256_permute4x64_epi64(_mm256_packus_epi16(a, b), 0xD8);
}
BITLEX_INLINE __m256i NAME(narrow32_half)(const uint8_t *p, uint32_t shift)
{
    const __m128i by = _mm_cvtsi32_si128((int)shift);
    const __m256i byte = _mm256_set1_epi32(0xFF);
    __m256i part[4];
    int i;
    for (i = 0; i < 4; i++) {
        part[i] = _mm256_and_si256(_mm256_srl_epi32(_mm256_loadu_si256((const __m256i *)(const void *)(p + 32 * i)), by), byte);
    }
    part[0] = _mm256_packus_epi16(_mm256_packus_epi32(part[0], part[1]), _mm256_packus_epi32(part[2], part[3]));
    return _mm256_permutevar8x32_epi32(part[0], _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
}
BITLEX_INLINE V NAME(narrow16)(const uint8_t *p, uint32_t shift)
{
    return NAME(pair)(NAME(narrow16_half)(p, shift), NAME(narrow16_half)(p + 64, shift));
}
BITLEX_INLINE V NAME(narrow32)(const uint8_t *p, uint32_t shift)
{
    return NAME(pair)(NAME(narrow32_half)(p, shift), NAME(narrow32_half)(p + 128, shift));
}

/* Every row of a table of at most 128 entries, but the first, becomes its difference to the row before. */
static void NAME(prepare)(uint8_t *table, uint32_t size)
{
    while (size-- > 16) table[size] ^= table[size - 16];
}
/* One row of one table. The empty statement keeps the order that is written here: compilers would look up first and sum up
 * later, and for that there are not enough registers. */
BITLEX_INLINE __m256i NAME(row)(const uint8_t *table, __m256i at, __m256i sum, uint32_t k)
{
    const __m256i row = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)(table + 16 * k)));
    sum = _mm256_xor_si256(sum, _mm256_shuffle_epi8(row, at));
    __asm__ volatile("" : "+x"(sum));
    return sum;
}
/* All pages, for half of the lanes: while one half waits for its sums, the processor is busy with the other one. */
BITLEX_INLINE __m256i NAME(deep_half)(const uint8_t (*table)[BITLEX_PAGE], __m256i index, __m256i code, const uint32_t rows)
{
    const __m256i page = _mm256_and_si256(code, _mm256_set1_epi8(0x70)), sixteen = _mm256_set1_epi8(16);
    __m256i at = index, s0, s1, s2, s3, s4, s5, s6, s7;
    s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = _mm256_setzero_si256();
    __asm__ volatile("" : "+r"(table));
#define PAGE(i, k) \
    if (rows > 8 * (i) + (k)) s##i = NAME(row)(table[i], at, s##i, k);
#define ROW(k) \
    PAGE(0, k) PAGE(1, k) PAGE(2, k) PAGE(3, k) PAGE(4, k) PAGE(5, k) PAGE(6, k) PAGE(7, k) \
    at = _mm256_sub_epi8(at, sixteen);
    ROW(0) ROW(1) ROW(2) ROW(3) ROW(4) ROW(5) ROW(6) ROW(7)
#undef ROW
#undef PAGE
#define PAGE(i) _mm256_and_si256(s##i, _mm256_cmpeq_epi8(page, _mm256_set1_epi8(16 * (i))))
    s0 = _mm256_or_si256(PAGE(0), PAGE(1));
    if (rows > 24) s2 = _mm256_or_si256(PAGE(2), PAGE(3));
    else s2 = PAGE(2);
    if (rows > 40) s4 = _mm256_or_si256(PAGE(4), PAGE(5));
    else if (rows > 32) s4 = PAGE(4);
    if (rows > 56) s6 = _mm256_or_si256(PAGE(6), PAGE(7));
    else if (rows > 48) s6 = PAGE(6);
#undef PAGE
    return _mm256_or_si256(_mm256_or_si256(s0, s2), _mm256_or_si256(s4, s6));
}
/* The entries of up to four tables at one index, for half of the lanes. How many rows each has is a constant. */
BITLEX_INLINE void NAME(look_half)(const uint8_t *t0, const uint8_t *t1, const uint8_t *t2, const uint8_t *t3, __m256i index,
                                   const uint32_t rows0, const uint32_t rows1, const uint32_t rows2, const uint32_t rows3, __m256i *found)
{
    const __m256i two_rows = _mm256_set1_epi8(32);
    __m256i s0, s1, s2, s3, odd0, odd1, at[2];
    s0 = s1 = s2 = s3 = odd0 = odd1 = _mm256_setzero_si256();
    at[0] = index;
    at[1] = _mm256_sub_epi8(index, _mm256_set1_epi8(16));
    __asm__ volatile("" : "+r"(t0), "+r"(t1), "+r"(t2), "+r"(t3));
#define ROW(k) \
    if (rows0 > (k) && (k) % 2 && rows2 == 0) odd0 = NAME(row)(t0, at[(k) % 2], odd0, k); /* two sums: half the chain */ \
    else if (rows0 > (k)) s0 = NAME(row)(t0, at[(k) % 2], s0, k); \
    if (rows1 > (k) && (k) % 2 && rows2 == 0) odd1 = NAME(row)(t1, at[(k) % 2], odd1, k); \
    else if (rows1 > (k)) s1 = NAME(row)(t1, at[(k) % 2], s1, k); \
    if (rows2 > (k)) s2 = NAME(row)(t2, at[(k) % 2], s2, k); \
    if (rows3 > (k)) s3 = NAME(row)(t3, at[(k) % 2], s3, k); \
    at[(k) % 2] = _mm256_sub_epi8(at[(k) % 2], two_rows);
    ROW(0) ROW(1) ROW(2) ROW(3) ROW(4) ROW(5) ROW(6) ROW(7)
#undef ROW
    found[0] = _mm256_xor_si256(s0, odd0);
    found[1] = _mm256_xor_si256(s1, odd1);
    found[2] = s2;
    found[3] = s3;
}
BITLEX_INLINE void NAME(look)(const uint8_t *t0, const uint8_t *t1, const uint8_t *t2, const uint8_t *t3, V index, const uint32_t rows0,
                              const uint32_t rows1, const uint32_t rows2, const uint32_t rows3, V *found)
{
    __m256i low[4], high[4];
    uint32_t i;
    NAME(look_half)(t0, t1, t2, t3, index.low, rows0, rows1, rows2, rows3, low);
    NAME(look_half)(t0, t1, t2, t3, index.high, rows0, rows1, rows2, rows3, high);
    for (i = 0; i < 4; i++) found[i] = NAME(pair)(low[i], high[i]);
}
#define ROWS(i) (rows > 8 * (i) + 8 ? 8 : rows > 8 * (i) ? rows - 8 * (i) : 0)

BITLEX_INLINE V NAME(entry)(const uint8_t *table, V index)
{
    V found[4];
    NAME(look)(table, table, table, table, index, 8, 0, 0, 0, found);
    return found[0];
}
BITLEX_INLINE V NAME(permute)(const uint8_t *table, V index)
{
    V found[4];
    NAME(look)(table, table, table, table, NAME(and)(index, NAME(all)(63)), 4, 0, 0, 0, found);
    return found[0];
}

BITLEX_INLINE V NAME(offset)(const uint8_t *table, V code)
{
    const __m256i row = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)table));
    return NAME(pair)(_mm256_shuffle_epi8(row, code.low), _mm256_shuffle_epi8(row, code.high));
}
BITLEX_INLINE V NAME(entries)(const uint8_t (*table)[BITLEX_PAGE], V index, V code, const uint32_t rows)
{
    V found[4];
    if (rows > 16) {
        return NAME(pair)(NAME(deep_half)(table, index.low, code.low, rows), NAME(deep_half)(table, index.high, code.high, rows));
    }
    if (rows > 8) index = NAME(and)(index, NAME(all)(0x7F));
    NAME(look)(table[0], table[1], table[0], table[0], index, ROWS(0), ROWS(1), 0, 0, found);
    return rows > 8 ? NAME(choose)(code, found[1], found[0]) : found[0];
}
/* Two tables. */
BITLEX_INLINE V NAME(entries_twice)(const uint8_t (*first)[BITLEX_PAGE], const uint8_t (*second)[BITLEX_PAGE], V index, V code,
                                    const uint32_t rows, V *other)
{
    V found[4];
    if (rows <= 16) {
        if (rows > 8) index = NAME(and)(index, NAME(all)(0x7F));
        if (rows > 8) NAME(look)(first[0], second[0], first[1], second[1], index, 8, 8, ROWS(1), ROWS(1), found);
        else NAME(look)(first[0], second[0], first[0], second[0], index, rows, rows, 0, 0, found);
        *other = rows > 8 ? NAME(choose)(code, found[3], found[1]) : found[1];
        return rows > 8 ? NAME(choose)(code, found[2], found[0]) : found[0];
    }
    *other = NAME(entries)(second, index, code, rows);
    return NAME(entries)(first, index, code, rows);
}
#undef ROWS

#define EACH_SIZE(CASE) \
    CASE(1) CASE(2) CASE(3) CASE(4) CASE(5) CASE(6) CASE(8) CASE(10) CASE(12) CASE(14) CASE(16) CASE(24) CASE(28) CASE(32) CASE(36) \
    CASE(40) CASE(48) CASE(64)
#define MASKED 1
#define PACKS 0
#define TWICE 0
#define DEEP 0
#define W __m256i
#define WIDTH 32
#define w_gather NAME(gather)
#define w_load NAME(load_half)
#define w_store NAME(store_half)
#define w_zip_low _mm256_unpacklo_epi8
#define w_zip_high _mm256_unpackhi_epi8
#define v_load NAME(load)
#define v_store NAME(store)
#define v_narrow16 NAME(narrow16)
#define v_narrow32 NAME(narrow32)
#define v_entry NAME(entry)
#define v_entries NAME(entries)
#define v_entries_twice NAME(entries_twice)
#define v_permute NAME(permute)
#define v_offset NAME(offset)
#define v_prepare NAME(prepare)
#define v_all NAME(all)
#define v_add NAME(add)
#define v_and NAME(and)
#define v_or NAME(or)
#define v_left NAME(left)
#define v_right NAME(right)
#define v_choose NAME(choose)
#define m_high NAME(high)
#define m_equal NAME(equal)
#define m_at_least NAME(at_least)
#define m_and NAME(and)
#define m_or NAME(or)
#define m_without NAME(without)
#define m_any NAME(any)
#define m_all NAME(every)
#define m_none() NAME(all)(0)
#define m_everywhere() NAME(all)(0xFF)
#define m_bits NAME(bits)

#include "bitlex_kernel.h"

/* Where the bits of a byte are, one after the other, the first one lowest. Bit by bit from the highest: absent, present. */
#define PLACES_0(v) (v), ((v) << 8)
#define PLACES_1(v) PLACES_0(v), PLACES_0((v) << 8 | 1)
#define PLACES_2(v) PLACES_1(v), PLACES_1((v) << 8 | 2)
#define PLACES_3(v) PLACES_2(v), PLACES_2((v) << 8 | 3)
#define PLACES_4(v) PLACES_3(v), PLACES_3((v) << 8 | 4)
#define PLACES_5(v) PLACES_4(v), PLACES_4((v) << 8 | 5)
#define PLACES_6(v) PLACES_5(v), PLACES_5((v) << 8 | 6)
#define PLACES_7(v) PLACES_6(v), PLACES_6((v) << 8 | 7)
static const uint64_t places_avx2[256] = {PLACES_7(UINT64_C(0))};

/* Eight are stored for each byte, of which the next byte overwrites what is too much. No branch: where pieces end is hard to predict. */
static size_t ends32_avx2(const uint64_t *words, uint32_t *word, uint32_t last, uint64_t base, uint32_t *out, size_t room)
{
    size_t done = 0;
    uint32_t w, i;
    for (w = *word; w < last && room - done >= 64; w++) {
        __m256i from = _mm256_set1_epi32((int)(uint32_t)(base + 64 * (uint64_t)w));
        uint64_t left = words[w];
        for (i = 0; i < 8; i++, left >>= 8) {
            __m128i places = _mm_loadl_epi64((const __m128i *)(const void *)(places_avx2 + (left & 0xFF)));
            _mm256_storeu_si256((__m256i *)(void *)(out + done), _mm256_add_epi32(from, _mm256_cvtepu8_epi32(places)));
            done += (uint32_t)__builtin_popcount((uint32_t)(left & 0xFF));
            from = _mm256_add_epi32(from, _mm256_set1_epi32(8));
        }
    }
    *word = w;
    return done;
}

static size_t ends64_avx2(const uint64_t *words, uint32_t *word, uint32_t last, uint64_t base, uint64_t *out, size_t room)
{
    size_t done = 0;
    uint32_t w, i;
    for (w = *word; w < last && room - done >= 64; w++) {
        __m256i from = _mm256_set1_epi64x((long long)(base + 64 * (uint64_t)w));
        uint64_t left = words[w];
        for (i = 0; i < 8; i++, left >>= 8) {
            __m128i places = _mm_loadl_epi64((const __m128i *)(const void *)(places_avx2 + (left & 0xFF)));
            __m256i *to = (__m256i *)(void *)(out + done);
            _mm256_storeu_si256(to, _mm256_add_epi64(from, _mm256_cvtepu8_epi64(places)));
            _mm256_storeu_si256(to + 1, _mm256_add_epi64(from, _mm256_cvtepu8_epi64(_mm_srli_si128(places, 4))));
            done += (uint32_t)__builtin_popcount((uint32_t)(left & 0xFF));
            from = _mm256_add_epi64(from, _mm256_set1_epi64x(8));
        }
    }
    *word = w;
    return done;
}

/* The same with every table that is read by vectors. */
static void prepare_tables_avx2(bitlex_lanes *lanes)
{
    uint32_t i;
    for (i = 0; i < BITLEX_BACKWARD_PAGES; i++) {
        prepare_avx2(lanes->backward_next[i], BITLEX_PAGE);
        prepare_avx2(lanes->backward_label[i], BITLEX_PAGE);
    }
    for (i = 0; i < BITLEX_FORWARD_PAGES; i++) prepare_avx2(lanes->forward_next[i], BITLEX_PAGE);
    prepare_avx2(lanes->cell_row, 64);
    prepare_avx2(lanes->inside_row, 64);
    prepare_avx2(lanes->direct, 128);
    prepare_avx2(lanes->direct + 128, 128);
    prepare_avx2(lanes->stretch[0], 128);
    prepare_avx2(lanes->stretch[1], 128);
}

#include "bitlex_no_names.h"
