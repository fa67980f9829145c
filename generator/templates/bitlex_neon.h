/* bitlex_neon.h - private: the lanes on NEON of AArch64 (every such processor has it), little-endian.
 *
 * There a look-up is in 64 bytes (TBL), and leaves what was there (TBX) where the index is 64 or more: so tables of 256 entries
 * are four look-ups, in index, index - 64, ..., without a choice between them.
 */
#define NAME(x) x##_neon
typedef uint8x16x4_t V_neon;
typedef uint8x16x4_t M_neon; /* bytes of 0 or FF */
#define V V_neon
#define M M_neon

#define EACH_QUARTER(expression) \
    V v; \
    int i; \
    for (i = 0; i < 4; i++) v.val[i] = (expression); \
    return v

BITLEX_INLINE V NAME(load)(const uint8_t *p) { return vld1q_u8_x4(p); }
BITLEX_INLINE void NAME(store)(uint8_t *p, V v) { vst1q_u8_x4(p, v); }
BITLEX_INLINE V NAME(all)(uint8_t byte) { EACH_QUARTER(vdupq_n_u8(byte)); }
BITLEX_INLINE V NAME(add)(V a, V b) { EACH_QUARTER(vaddq_u8(a.val[i], b.val[i])); }
BITLEX_INLINE V NAME(and)(V a, V b) { EACH_QUARTER(vandq_u8(a.val[i], b.val[i])); }
BITLEX_INLINE V NAME(or)(V a, V b) { EACH_QUARTER(vorrq_u8(a.val[i], b.val[i])); }
BITLEX_INLINE V NAME(without)(V a, V b) { EACH_QUARTER(vbicq_u8(a.val[i], b.val[i])); }
BITLEX_INLINE V NAME(left)(V a, int by) { EACH_QUARTER(vshlq_u8(a.val[i], vdupq_n_s8((int8_t)by))); }
BITLEX_INLINE V NAME(right)(V a, int by) { EACH_QUARTER(vshlq_u8(a.val[i], vdupq_n_s8((int8_t)-by))); }
BITLEX_INLINE V NAME(equal)(V a, V b) { EACH_QUARTER(vceqq_u8(a.val[i], b.val[i])); }
BITLEX_INLINE V NAME(at_least)(V a, V b) { EACH_QUARTER(vcgeq_u8(a.val[i], b.val[i])); }
BITLEX_INLINE V NAME(high)(V a) { EACH_QUARTER(vcltzq_s8(vreinterpretq_s8_u8(a.val[i]))); }
BITLEX_INLINE V NAME(choose)(M m, V a, V b) { EACH_QUARTER(vbslq_u8(m.val[i], a.val[i], b.val[i])); }
BITLEX_INLINE int NAME(any)(M m)
{
    return vmaxvq_u8(vorrq_u8(vorrq_u8(m.val[0], m.val[1]), vorrq_u8(m.val[2], m.val[3]))) != 0;
}
BITLEX_INLINE int NAME(every)(M m)
{
    return vminvq_u8(vandq_u8(vandq_u8(m.val[0], m.val[1]), vandq_u8(m.val[2], m.val[3]))) == 0xFF;
}
/* Each lane keeps the bit of its place in eight; neighbours are added three times. */
BITLEX_INLINE uint64_t NAME(bits)(M m)
{
    const uint8x16_t place = vreinterpretq_u8_u64(vdupq_n_u64(UINT64_C(0x8040201008040201)));
    uint8x16_t low = vpaddq_u8(vandq_u8(m.val[0], place), vandq_u8(m.val[1], place));
    uint8x16_t high = vpaddq_u8(vandq_u8(m.val[2], place), vandq_u8(m.val[3], place));
    low = vpaddq_u8(low, high);
    return vgetq_lane_u64(vreinterpretq_u64_u8(vpaddq_u8(low, low)), 0);
}

BITLEX_INLINE uint8x16_t NAME(gather)(const uint8_t *p, size_t stride)
{
    (void)stride;
    return vld1q_u8(p);
}

/* Bits shift..shift+7 of units of two bytes, and of four. */
BITLEX_INLINE uint8x8_t NAME(narrow16_eight)(const uint8_t *p, int16x8_t by)
{
    return vmovn_u16(vshlq_u16(vreinterpretq_u16_u8(vld1q_u8(p)), by));
}
BITLEX_INLINE uint16x4_t NAME(narrow32_four)(const uint8_t *p, int32x4_t by)
{
    return vmovn_u32(vshlq_u32(vreinterpretq_u32_u8(vld1q_u8(p)), by));
}
BITLEX_INLINE uint8x8_t NAME(narrow32_eight)(const uint8_t *p, int32x4_t by)
{
    return vmovn_u16(vcombine_u16(NAME(narrow32_four)(p, by), NAME(narrow32_four)(p + 16, by)));
}
BITLEX_INLINE V NAME(narrow16)(const uint8_t *p, int shift)
{
    const int16x8_t by = vdupq_n_s16((int16_t)-shift);
    EACH_QUARTER(vcombine_u8(NAME(narrow16_eight)(p + 32 * i, by), NAME(narrow16_eight)(p + 32 * i + 16, by)));
}
BITLEX_INLINE V NAME(narrow32)(const uint8_t *p, int shift)
{
    const int32x4_t by = vdupq_n_s32(-shift);
    EACH_QUARTER(vcombine_u8(NAME(narrow32_eight)(p + 64 * i, by), NAME(narrow32_eight)(p + 64 * i + 32, by)));
}

BITLEX_INLINE V NAME(permute)(const uint8_t *table, V index)
{
    const V t = NAME(load)(table);
    EACH_QUARTER(vqtbl4q_u8(t, vandq_u8(index.val[i], vdupq_n_u8(63))));
}
/* Rows 4 k to 4 k + 3, where index, without bit 7 or with it, is among their entries; else `otherwise`. */
BITLEX_INLINE V NAME(four_rows)(const uint8_t *table, V index, V otherwise, uint32_t k)
{
    const V t = NAME(load)(table + 64 * (k % 2));
    EACH_QUARTER(vqtbx4q_u8(otherwise.val[i], t, vsubq_u8(index.val[i], vdupq_n_u8((uint8_t)(64 * k)))));
}
BITLEX_INLINE V NAME(entry)(const uint8_t *table, V index)
{
    return NAME(four_rows)(table, index, NAME(four_rows)(table, index, NAME(all)(0), 0), 1);
}
BITLEX_INLINE V NAME(offset)(const uint8_t *table, V code)
{
    const uint8x16_t row = vld1q_u8(table);
    EACH_QUARTER(vqtbl1q_u8(row, vandq_u8(code.val[i], vdupq_n_u8(15))));
}
BITLEX_INLINE V NAME(entries)(const uint8_t (*table)[BITLEX_PAGE], V index, V code, const uint32_t rows)
{
    const V page = NAME(and)(code, NAME(all)(0x70));
    V found = NAME(four_rows)(table[0], index, NAME(all)(0), 0);
    uint32_t i;
    if (rows > 4) found = NAME(four_rows)(table[0], index, found, 1);
    if (rows <= 16) {
        if (rows > 8) found = NAME(four_rows)(table[1], index, found, 2);
        if (rows > 12) found = NAME(four_rows)(table[1], index, found, 3);
        return found;
    }
    for (i = 1; i < rows / 8; i++) {
        found = NAME(choose)(NAME(equal)(page, NAME(all)((uint8_t)(i << 4))), NAME(entry)(table[i], index), found);
    }
    return found;
}
BITLEX_INLINE V NAME(entries_twice)(const uint8_t (*first)[BITLEX_PAGE], const uint8_t (*second)[BITLEX_PAGE], V index, V code,
                                    const uint32_t rows, V *other)
{
    *other = NAME(entries)(second, index, code, rows);
    return NAME(entries)(first, index, code, rows);
}

#define EACH_SIZE(CASE) CASE(4) CASE(8) CASE(12) CASE(16) CASE(24) CASE(32) CASE(40) CASE(48) CASE(64)
#define EACH_AGAIN_SIZE EACH_SIZE
#define MANY_SIZES 0
#define MOST_BACKWARD (8 * BITLEX_BACKWARD_PAGES)
#define SPARE 0
#define PACKS 0
#define TWICE 0
#define DEEP 0
#define W uint8x16_t
#define WIDTH 16
#define w_gather NAME(gather)
#define w_load vld1q_u8
#define w_store vst1q_u8
#define w_zip_low vzip1q_u8
#define w_zip_high vzip2q_u8
#define v_load NAME(load)
#define v_leave() ((void)0)
#define v_store NAME(store)
#define v_narrow16 NAME(narrow16)
#define v_narrow32 NAME(narrow32)
#define v_entry NAME(entry)
#define v_entries NAME(entries)
#define v_entries_twice NAME(entries_twice)
#define v_stretch(chunk, row) \
    NAME(entry)(lanes->stretch[0], v_or(v_left(v_and(chunk, v_all(15)), 3), v_and(v_right(row, 3), v_all(7))))
#define v_permute NAME(permute)
#define v_offset NAME(offset)
#define v_prepare(table, size) ((void)0)
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

/* Where the bits of a word are, one after the other, four at a time: a word has one in five or so. */
#define ENDS(name, type) \
    static size_t name(const uint64_t *words, uint32_t *word, uint32_t last, uint64_t base, type *out, size_t room) \
    { \
        size_t done = 0; \
        uint32_t w, count, i, k; \
        for (w = *word; w < last && room - done >= 64; w++) { \
            uint64_t left = words[w], from = base + 64 * (uint64_t)w; \
            count = (uint32_t)__builtin_popcountll(left); \
            for (i = 0; i < count; i += 4) { \
                for (k = 0; k < 4; k++) { /* beyond the last bit something is stored that the next word overwrites */ \
                    out[done + i + k] = (type)(from + first_bit(left | UINT64_C(1) << 63)); \
                    left &= left - 1; \
                } \
            } \
            done += count; \
        } \
        *word = w; \
        return done; \
    }

ENDS(ends32_neon, uint32_t)
ENDS(ends64_neon, uint64_t)

#include "bitlex_no_names.h"
#undef ENDS
#undef EACH_QUARTER
