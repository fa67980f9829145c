/* bitlex_avx2.h - private: the lanes on AVX2 with BMI2 (Intel from Haswell, AMD from Zen on).
 *
 * There a look-up is in 16 bytes (PSHUFB), and gives 0 where bit 7 of the index is set. The tables of automata are sums of products
 * (bitlex_products.h), or of terms (bitlex_terms.h). Other tables are rows: index - 16 k is looked up in row k; rows above the index
 * give 0, and rows are stored as differences (exclusive or) to the row before, so that all results put together by exclusive or are the
 * entry. Rejected: to choose between rows by the bits of the index (blends are two instructions on Intel's processors, and are as many as
 * the rows).
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
/* Of an origin that compilers cannot see: they would make a constant anew in each turn of a loop, rather than keep it. */
BITLEX_INLINE V NAME(constant)(uint8_t byte)
{
    __m256i all = _mm256_set1_epi8((char)byte);
    __asm__("" : "+x"(all));
    return NAME(pair)(all, all);
}
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
BITLEX_INLINE V NAME(greater)(V a, V b) /* with sign */
{
    return NAME(pair)(_mm256_cmpgt_epi8(a.low, b.low), _mm256_cmpgt_epi8(a.high, b.high));
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
    for (table += size - 16; size > 16; size -= 16, table -= 16) {
        const __m128i row = _mm_loadu_si128((const __m128i *)(const void *)table);
        _mm_storeu_si128((__m128i *)(void *)table, _mm_xor_si128(row, _mm_loadu_si128((const __m128i *)(const void *)(table - 16))));
    }
}
BITLEX_INLINE __m256i NAME(row)(const uint8_t *row)
{
    return _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)row));
}
BITLEX_INLINE V NAME(look_up)(const uint8_t *table, V at)
{
    const __m256i row = NAME(row)(table);
    return NAME(pair)(_mm256_shuffle_epi8(row, at.low), _mm256_shuffle_epi8(row, at.high));
}
BITLEX_INLINE V NAME(xor)(V a, V b) { return NAME(pair)(_mm256_xor_si256(a.low, b.low), _mm256_xor_si256(a.high, b.high)); }
/* Computed by now. Compilers put off what is waited for, and for that there are not enough registers. */
#define KEEP(v) __asm__ volatile("" : "+x"((v).low), "+x"((v).high))
BITLEX_INLINE V NAME(rows)(const uint8_t *table, V index, const uint32_t rows)
{
    V sum = NAME(look_up)(table, index);
    uint32_t k;
    for (k = 1; k < rows; k++) {
        index = NAME(add)(index, NAME(all)((uint8_t)-16));
        KEEP(index);
        sum = NAME(xor)(sum, NAME(look_up)(table + 16 * k, index));
        KEEP(sum);
    }
    return sum;
}
/* Of 128 entries, packed: two rows in the halves of bytes, which bit 4 of the index chooses from; and what these 16 numbers mean,
 * all of them or, if `twice`, those up to 63, and from 64 on. */
BITLEX_INLINE V NAME(packed)(const uint8_t *table, V index, int twice)
{
    const V high = NAME(left)(index, 3), second = NAME(left)(index, 1);
    V sum = NAME(look_up)(table, index), found;
    uint32_t k;
    for (k = 1; k < 4; k++) {
        index = NAME(add)(index, NAME(all)((uint8_t)-32));
        KEEP(index);
        sum = NAME(xor)(sum, NAME(look_up)(table + 16 * k, index));
        KEEP(sum);
    }
    sum = NAME(and)(NAME(choose)(high, NAME(right)(sum, 4), sum), NAME(all)(15));
    found = NAME(look_up)(table + 64, sum);
    return twice ? NAME(choose)(second, NAME(look_up)(table + 80, sum), found) : found;
}
static __attribute__((noinline)) __m256i NAME(unpacked)(const uint8_t *table, __m256i index)
{
    return NAME(rows)(table, NAME(pair)(index, index), 8).low;
}
BITLEX_INLINE V NAME(entry)(const bitlex_lanes *lanes, const uint8_t *table, V index)
{
    if (lanes->packed != 0) return NAME(packed)(table, index, lanes->packed > 1);
    return NAME(pair)(NAME(unpacked)(table, index.low), NAME(unpacked)(table, index.high));
}
BITLEX_INLINE V NAME(permute)(const uint8_t *table, V index) { return NAME(rows)(table, NAME(and)(index, NAME(all)(63)), 4); }

/* 0 to 15 as they are, as far as a look-up is concerned, and 0 from it for all others: bit 7 is set. */
BITLEX_INLINE __m256i NAME(window)(__m256i at) { return _mm256_adds_epu8(at, _mm256_set1_epi8(112)); }

/* Term k, for half of the lanes: its part of the next state and, if asked for, of the label. `size`: see fill_terms. */
BITLEX_INLINE __m256i NAME(term)(const bitlex_term *terms, const uint32_t k, __m256i state, __m256i code, const uint32_t size,
                                 __m256i *label)
{
    const bitlex_term *term = terms + k;
    __m256i class = _mm256_shuffle_epi8(NAME(row)(term->classes[0]), state), at;
    if (size > 48 || (size > 32 && k < WIDE_TERMS)) {
        at = _mm256_shuffle_epi8(NAME(row)(term->classes[1]), state);
        class = _mm256_blendv_epi8(class, at, _mm256_slli_epi16(state, 3));
    }
    if (size > 64) {
        at = _mm256_blendv_epi8(_mm256_shuffle_epi8(NAME(row)(term->classes[2]), state),
                                _mm256_shuffle_epi8(NAME(row)(term->classes[3]), state), _mm256_slli_epi16(state, 3));
        class = _mm256_blendv_epi8(class, at, _mm256_slli_epi16(state, 2));
    }
    if (size <= 16 + FEW_TERMS) at = _mm256_adds_epu8(NAME(window)(_mm256_sub_epi8(code, NAME(row)(term->from))), class);
    else at = NAME(window)(_mm256_add_epi8(code, class));
    if (label) *label = _mm256_xor_si256(*label, _mm256_shuffle_epi8(NAME(row)(term->label), at));
    return _mm256_shuffle_epi8(NAME(row)(term->next), at);
}
/* The sum of many terms, for half of the lanes: while one half waits for its sum, the processor is busy with the other. Two terms a turn,
 * behind the first WIDE_TERMS, which are two (of one term, the other is nothing): to write all turns out, for ten numbers of terms, takes 18 KB,
 * and gains 3 % or loses 5. */
BITLEX_INLINE __m256i NAME(many)(const bitlex_term *terms, const uint32_t count, __m256i state, __m256i code, const uint32_t size,
                                 __m256i *label)
{
    __m256i even = NAME(term)(terms, 0, state, code, size, label), odd = NAME(term)(terms, 1, state, code, size, label);
    uint32_t k;
    for (k = WIDE_TERMS + 1; k < count; k += 2, terms += 2) {
        even = _mm256_xor_si256(even, NAME(term)(terms, WIDE_TERMS, state, code, size, label));
        odd = _mm256_xor_si256(odd, NAME(term)(terms, WIDE_TERMS + 1, state, code, size, label));
        __asm__ volatile("" : "+x"(even), "+x"(odd));
    }
    if (k == count) even = _mm256_xor_si256(even, NAME(term)(terms, WIDE_TERMS, state, code, size, label));
    return _mm256_xor_si256(even, odd);
}
/* The sum of all terms, `rows`, of which the code is made for `size`. Few are looked up in both halves, with a row loaded once. */
BITLEX_INLINE V NAME(sum)(const bitlex_term *terms, const uint32_t rows, V state, V code, const uint32_t size, V *label)
{
    __m256i *low = label ? &label->low : NULL, *high = label ? &label->high : NULL;
    V sum = NAME(all)(0);
    uint32_t k;
    if (size > 16 + FEW_TERMS) {
        sum.low = NAME(many)(terms, (rows - 1) % 16 + 1, state.low, code.low, size, low);
        sum.high = NAME(many)(terms, (rows - 1) % 16 + 1, state.high, code.high, size, high);
        return sum;
    }
    for (k = 0; k < FEW_TERMS; k++) {
        sum.low = _mm256_xor_si256(sum.low, NAME(term)(terms, k, state.low, code.low, size, low));
        sum.high = _mm256_xor_si256(sum.high, NAME(term)(terms, k, state.high, code.high, size, high));
        KEEP(sum);
    }
    return sum;
}

/* A sum of products. `size`: see bitlex_products.h. */
BITLEX_INLINE V NAME(of_symbol)(const uint8_t (*rows)[16], V code, V turned, const int both)
{
    const V first = NAME(look_up)(rows[0], code);
    return both ? NAME(xor)(first, NAME(look_up)(rows[1], turned)) : first;
}
BITLEX_INLINE V NAME(products)(const bitlex_products *of, V state, V code, const uint32_t size)
{
    const uint32_t kind = (size - PRODUCTS(0, 1)) / 8, count = (size - PRODUCTS(0, 1)) % 8 + 1;
    const V turned = kind > 0 ? NAME(xor)(code, NAME(all)(0x80)) : code, row = kind > 1 ? NAME(left)(state, 3) : state;
    V sums[2];
    uint32_t k;
    sums[0] = NAME(of_symbol)(of->constant, code, turned, kind > 0);
    for (k = 0; k < count; k++) {
        const bitlex_product *product = of->products + k;
        V part = NAME(look_up)(product->of_state[0], state);
        if (kind > 2 || (kind > 1 && k == 0)) part = NAME(choose)(row, NAME(look_up)(product->of_state[1], state), part);
        part = NAME(and)(part, NAME(of_symbol)(product->of_symbol, code, turned, kind > 1));
        sums[k % 2] = k == 1 ? part : NAME(xor)(sums[k % 2], part);
        KEEP(sums[k % 2]);
    }
    return count > 1 ? NAME(xor)(sums[0], sums[1]) : sums[0];
}

/* The identity is what is behind the text. Backward the state is kept there; forward it does not matter. */
BITLEX_INLINE V NAME(backward_step)(const bitlex_lanes *lanes, V code, V state, const uint32_t size, V *label)
{
    const M identity = NAME(equal)(code, NAME(all)((uint8_t)lanes->identity));
    V next;
    if (size < PRODUCTS(0, 1)) {
        *label = NAME(all)(0);
        next = NAME(sum)(lanes->backward_terms, lanes->backward_rows, state, code, size, label);
    } else {
        *label = NAME(products)(&lanes->label_products, state, code, size);
        next = NAME(products)(&lanes->backward_products, state, code, size);
        if (size < PRODUCTS(1, 1)) return next;
    }
    return NAME(choose)(identity, state, next);
}
BITLEX_INLINE V NAME(forward_step)(const bitlex_lanes *lanes, V code, V state, const uint32_t size, V flags, const int masked)
{
    (void)masked;
    if (size < PRODUCTS(0, 1)) return NAME(sum)(lanes->forward_terms, lanes->forward_rows, state, code, size, NULL);
    return NAME(products)(&lanes->forward_products, size < PRODUCTS(1, 1) ? state : NAME(and)(state, flags), code, size);
}
BITLEX_INLINE V NAME(flag)(const uint8_t *flags, V state)
{
    return NAME(look_up)(flags, NAME(and)(NAME(right)(state, 4), NAME(all)(15)));
}

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

BITLEX_INLINE M NAME(inside)(V v)
{
    const V first_lead = NAME(constant)(0xC0); /* with sign, bytes inside a character are the least */
    return NAME(pair)(_mm256_cmpgt_epi8(first_lead.low, v.low), _mm256_cmpgt_epi8(first_lead.high, v.high));
}
/* Leads to which the byte behind belongs, as bits: what the halves of the lead and the upper half of the byte have in common. 1: C2..CF;
 * 2: D0..DF; 4: E0, and from A0 on; 8: ED, and up to 9F; 16: E1..EF else. 32: F0, and from 90 on; 64: F4, and up to 8F; 128: F1..F3. */
static const uint8_t lead_kinds_avx2[3][16] = {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 28, 224},
                                          {38, 146, 147, 147, 83, 19, 19, 19, 19, 19, 19, 19, 19, 11, 19, 19},
                                          {0, 0, 0, 0, 0, 0, 0, 0, 219, 187, 183, 183, 0, 0, 0, 0}};
BITLEX_INLINE V NAME(kinds)(V here, V second)
{
    const V half = NAME(constant)(15);
    const V upper = NAME(look_up)(lead_kinds_avx2[0], NAME(and)(NAME(right)(here, 4), half));
    const V lower = NAME(look_up)(lead_kinds_avx2[1], NAME(and)(here, half));
    return NAME(and)(NAME(and)(upper, lower), NAME(look_up)(lead_kinds_avx2[2], NAME(and)(NAME(right)(second, 4), half)));
}
BITLEX_INLINE M NAME(followed)(V here, V second)
{
    const V kinds = NAME(and)(NAME(kinds)(here, second), NAME(constant)(31));
    return NAME(pair)(_mm256_cmpgt_epi8(kinds.low, _mm256_setzero_si256()), _mm256_cmpgt_epi8(kinds.high, _mm256_setzero_si256()));
}
/* The same where there is no lead of more than two bytes. */
BITLEX_INLINE M NAME(followed_two)(V here, V second)
{
    return NAME(and)(NAME(at_least)(here, NAME(constant)(0xC2)), NAME(inside)(second));
}
BITLEX_INLINE M NAME(followed_four)(V here, V second) { return NAME(at_least)(NAME(kinds)(here, second), NAME(constant)(32)); }
BITLEX_INLINE __m256i NAME(of_half)(uint32_t bits)
{
    const __m256i bytes = _mm256_setr_epi64x(0, 0x0101010101010101, 0x0202020202020202, 0x0303030303030303);
    const __m256i each = _mm256_set1_epi64x((long long)UINT64_C(0x8040201008040201));
    return _mm256_cmpeq_epi8(_mm256_and_si256(_mm256_shuffle_epi8(_mm256_set1_epi32((int)bits), bytes), each), each);
}
BITLEX_INLINE M NAME(of)(uint64_t bits) { return NAME(pair)(NAME(of_half)((uint32_t)bits), NAME(of_half)((uint32_t)(bits >> 32))); }

/* What is not listed runs as the next: with terms or products of nothing. FEW_TERMS, and all that a kind may have, must be among them. */
#define EACH_SIZE(CASE) \
    CASE(16 + FEW_TERMS) CASE(32) CASE(48) CASE(64) CASE(80) \
    CASE(PRODUCTS(0, 1)) CASE(PRODUCTS(0, 2)) CASE(PRODUCTS(0, 3)) CASE(PRODUCTS(0, 4)) CASE(PRODUCTS(1, 1)) CASE(PRODUCTS(1, 3)) \
    CASE(PRODUCTS(1, 4)) CASE(PRODUCTS(2, 4)) CASE(PRODUCTS(2, 5)) CASE(PRODUCTS(3, 6))
#define EACH_AGAIN_SIZE EACH_SIZE
#define MANY_SIZES 0
#define MOST_BACKWARD 128
#define TERMS
#define SPARE 1
#define PACKS 1
#define POINTS 1
#define TWICE 0
#define DEEP 1
#define W __m256i
#define WIDTH 32
#define w_gather NAME(gather)
#define w_load NAME(load_half)
#define w_store NAME(store_half)
#define w_zip_low _mm256_unpacklo_epi8
#define w_zip_high _mm256_unpackhi_epi8
#define v_load NAME(load)
#define v_leave _mm256_zeroupper
#define v_store NAME(store)
#define v_narrow16 NAME(narrow16)
#define v_narrow32 NAME(narrow32)
#define v_entry(table, index) NAME(entry)(lanes, table, index)
#define v_permute NAME(permute)
#define v_prepare NAME(prepare)
#define v_all NAME(constant)
#define v_flag(lanes, state, below) NAME(flag)((lanes)->flags[(below) - SPARE], state)
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
#define m_spread(bits, places) _pdep_u64(bits, places)

#include "bitlex_points.h"
#include "bitlex_kernel.h"

/* Eight are stored for each byte, of which the next byte overwrites what is too much. No branch: where pieces end is hard to predict. */
BITLEX_INLINE void NAME(ends_of_word)(const uint64_t *word, uint32_t base, uint32_t *out)
{
    const uint8_t *bytes = (const uint8_t *)word; /* each is one instruction, which it is not in a register */
    __m256i from = _mm256_set1_epi32((int)base);
    uint32_t i;
    for (i = 0; i < 8; i++) {
        uint32_t bits = bytes[i];
        __m128i places = _mm_loadl_epi64((const __m128i *)(const void *)(places_avx2 + bits));
        _mm256_storeu_si256((__m256i *)(void *)out, _mm256_add_epi32(from, _mm256_cvtepu8_epi32(places)));
        __asm__("" : "+r"(bits)); /* or it would be made again, of a byte */
        out += (uint32_t)__builtin_popcount(bits);
        from = _mm256_add_epi32(from, _mm256_set1_epi32(8));
    }
}

/* Of words with no more than `few`, as many are stored one by one, whether there are so many or not; of others, and of all if it is 0, byte by
 * byte. */
BITLEX_INLINE size_t NAME(ends_of_few)(const uint64_t *words, uint32_t *word, uint32_t last, uint64_t base, uint32_t *out, size_t room,
                                       const uint32_t few)
{
    size_t done = 0;
    uint32_t w, i;
    for (w = *word; w < last && room - done >= 64; w++) {
        const uint32_t from = (uint32_t)(base + 64 * (uint64_t)w), count = (uint32_t)__builtin_popcountll(words[w]);
        uint64_t left = words[w];
        if (few == 0 || count > few) {
            NAME(ends_of_word)(words + w, from, out + done);
        } else {
            for (i = 0; i < few; i++, left &= left - 1) out[done + i] = from + (uint32_t)_tzcnt_u64(left);
        }
        if (few == 0 && count > 32) PREFETCH_OFFSETS(out + done + 32);
        done += count;
        PREFETCH_OFFSETS(out + done);
    }
    *word = w;
    v_leave();
    return done;
}

/* The first four words tell how many there are in a word, so that hardly any has more than are stored one by one: a branch that is wrong takes
 * longer than three stores too many. */
static size_t ends32_avx2(const uint64_t *words, uint32_t *word, uint32_t last, uint64_t base, uint32_t *out, size_t room)
{
    uint32_t count = 0, w;
    for (w = *word; w < last && w < *word + 4; w++) count += (uint32_t)__builtin_popcountll(words[w]);
    if (count > 4 * 6) return NAME(ends_of_few)(words, word, last, base, out, room, 0);
    if (count > 4 * 3) return NAME(ends_of_few)(words, word, last, base, out, room, 8);
    return NAME(ends_of_few)(words, word, last, base, out, room, 5);
}

static size_t ends64_avx2(const uint64_t *words, uint32_t *word, uint32_t last, uint64_t base, uint64_t *out, size_t room)
{
    size_t done = 0;
    uint32_t w, i;
    for (w = *word; w < last && room - done >= 64; w++) {
        __m256i from = _mm256_set1_epi64x((long long)(base + 64 * (uint64_t)w));
        uint64_t left = words[w];
        const size_t before = done;
        for (i = 0; i < 8; i++, left >>= 8) {
            __m128i places = _mm_loadl_epi64((const __m128i *)(const void *)(places_avx2 + (left & 0xFF)));
            __m256i *to = (__m256i *)(void *)(out + done);
            _mm256_storeu_si256(to, _mm256_add_epi64(from, _mm256_cvtepu8_epi64(places)));
            _mm256_storeu_si256(to + 1, _mm256_add_epi64(from, _mm256_cvtepu8_epi64(_mm_srli_si128(places, 4))));
            done += (uint32_t)__builtin_popcount((uint32_t)(left & 0xFF));
            from = _mm256_add_epi64(from, _mm256_set1_epi64x(8));
        }
        PREFETCH_OFFSETS(out + done);
        if (done - before > 32) {
            PREFETCH_OFFSETS(out + done - 16);
            PREFETCH_OFFSETS(out + done - 32);
        }
    }
    *word = w;
    v_leave();
    return done;
}

/* Pack a table of 128 entries, with one meaning of numbers for all, or one for every 64: 0 if there are more than 16 in one. */
static int pack_table_avx2(const uint8_t *table, uint32_t meanings, uint8_t *packed)
{
    uint32_t at, number, used = 0;
    memset(packed, 0, 128);
    for (at = 0; at < 128; at++) {
        uint8_t *meaning = packed + 64 + (meanings > 1 ? at / 64 * 16 : 0);
        if (meanings > 1 && at == 64) used = 0;
        for (number = 0; number < used && meaning[number] != table[at]; number++) {}
        if (number == 16) return 0;
        if (number == used) meaning[used++] = table[at];
        packed[at / 32 * 16 + at % 16] |= (uint8_t)(at & 16 ? number << 4 : number);
    }
    prepare_avx2(packed, 64);
    return 1;
}

/* Every table that is read by vectors. */
static void prepare_tables_avx2(bitlex_lanes *lanes)
{
    uint8_t *tables[2], packed[2][128];
    uint32_t i, meanings;
    tables[0] = lanes->direct;
    tables[1] = lanes->direct + 128;
    lanes->packed = 0;
    for (meanings = 2; meanings > 0; meanings--) {
        for (i = 0; i < 2 && pack_table_avx2(tables[i], meanings, packed[i]); i++) {}
        if (i == 2) lanes->packed = meanings;
    }
    for (i = 0; i < 2; i++) {
        if (lanes->packed != 0) pack_table_avx2(tables[i], lanes->packed, packed[i]);
        if (lanes->packed != 0) memcpy(tables[i], packed[i], 128);
        else prepare_avx2(tables[i], 128);
    }
    prepare_avx2(lanes->cell_row, 64);
    prepare_avx2(lanes->inside_row, 64);
    fill_points_avx2(lanes);
}

#include "bitlex_no_names.h"
