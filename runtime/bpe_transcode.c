/* bpe_transcode.c - UTF-8 in, characters as numbers of one width out, as Python keeps a str. See bpe.h.
 *
 *     E4 BD A0 21  ->  4F60 0021
 *
 * With AVX-512, 64 bytes at a time: masks say what each byte is, and whether they follow one another as they must. What a byte brings to
 * its character are its lower bits. The vector of these is moved up by one, two and three places, so that in the place of the last byte
 * of a character all its parts lie over one another; these places are compressed, widened and put together. Bytes of ASCII alone are
 * only widened, here and where there is no AVX-512, and everything else goes one character after the other.
 *
 * Rejected: characters of four bytes by way of their lower 16 bits (a third fewer instructions, and no faster: storing takes the time).
 *
 * Invariant: what is stored is what bytes.decode() gives, or SIZE_MAX comes back.
 */
#include "bpe_hash.h"

#define ASCII_RUN 16 /* bytes of ASCII that are widened at once */

static inline void put(uint8_t *out, uint32_t point, const int width)
{
    const uint8_t one = (uint8_t)point;
    const uint16_t two = (uint16_t)point;
    if (width == 1) memcpy(out, &one, 1);
    else if (width == 2) memcpy(out, &two, 2);
    else memcpy(out, &point, 4);
}

/* One character beyond ASCII: its bytes, 0 if they are not all there, or -1 if they are not UTF-8. */
static inline int read_character(const uint8_t *p, size_t left, uint32_t *point)
{
    const int n = 2 + (p[0] >= 0xE0) + (p[0] >= 0xF0);
    uint32_t value = p[0] & (0x7Fu >> n);
    int i;
    if (p[0] < 0xC2 || p[0] > 0xF4) return -1;
    for (i = 1; i < n; i++) {
        if ((size_t)i == left) return 0;
        if ((p[i] & 0xC0) != 0x80) return -1;
        value = value << 6 | (p[i] & 0x3F);
    }
    if (n == 3 && (value < 0x800 || value - 0xD800 < 0x800)) return -1;
    if (n == 4 && (value < 0x10000 || value > 0x10FFFF)) return -1;
    *point = value;
    return n;
}

static inline int is_ascii(const uint8_t *p) { return ((load_8(p) | load_8(p + 8)) & UINT64_C(0x8080808080808080)) == 0; }

/* Characters of two or of three bytes come in runs: where one ends is a branch that is guessed wrong, where one goes on is none. */
static inline size_t run_of_two(const uint8_t *p, const uint8_t *until, const int width, uint8_t *out)
{
    const uint8_t *from = p;
    for (; until - p >= 2 && (uint8_t)(p[0] - 0xC2) < (width == 1 ? 2 : 0x1E) && (p[1] & 0xC0) == 0x80; p += 2, out += width) {
        put(out, (uint32_t)(p[0] & 0x1F) << 6 | (p[1] & 0x3F), width);
    }
    return (size_t)(p - from);
}

static inline size_t run_of_three(const uint8_t *p, const uint8_t *until, const int width, uint8_t *out)
{
    const uint8_t *from = p;
    for (; until - p >= 3 && (p[0] & 0xF0) == 0xE0 && (p[1] & 0xC0) == 0x80 && (p[2] & 0xC0) == 0x80; p += 3, out += width) {
        const uint32_t point = (uint32_t)(p[0] & 0x0F) << 12 | (uint32_t)(p[1] & 0x3F) << 6 | (p[2] & 0x3F);
        if (point < 0x800 || point - 0xD800 < 0x800) break;
        put(out, point, width);
    }
    return (size_t)(p - from);
}

static inline size_t one_by_one(const uint8_t *p, size_t length, const int width, uint8_t **to, const uint8_t *end)
{
    uint8_t *out = *to;
    size_t at = 0, run;
    int n, i;
    while (at < length) {
        const size_t room = (size_t)(end - out) / (size_t)width, left = length - at;
        uint32_t point = p[at];
        if (point < 0x80 && left >= ASCII_RUN && room >= ASCII_RUN && is_ascii(p + at)) {
            for (i = 0; i < ASCII_RUN; i++) put(out + i * width, p[at + (size_t)i], width);
            at += ASCII_RUN;
            out += ASCII_RUN * width;
            continue;
        }
        run = run_of_two(p + at, p + at + (left < 2 * room ? left : 2 * room), width, out);
        out += run / 2 * (size_t)width;
        if (run == 0 && width > 1) {
            run = run_of_three(p + at, p + at + (left < 3 * room ? left : 3 * room), width, out);
            out += run / 3 * (size_t)width;
        }
        at += run;
        if (run > 0) continue;
        n = point < 0x80 ? 1 : read_character(p + at, left, &point);
        if (n == 0) break;
        if (n < 0 || room == 0 || (width < 4 && point >> 8 * (width & 3) != 0)) return SIZE_MAX;
        put(out, point, width);
        at += (size_t)n;
        out += width;
    }
    *to = out;
    return at;
}

/* --- 64 bytes at a time ------------------------------------------------------------------------------------------------ */

#if defined(__x86_64__) && defined(__GNUC__)
#define HAS_VECTORS
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi,avx512vbmi2,bmi,bmi2,lzcnt,popcnt"))), apply_to = function)
#include <immintrin.h>
#else
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi,avx512vbmi2,bmi,bmi2,lzcnt,popcnt")
#include <immintrin.h>
#endif

/* Where each byte of a vector comes from that is moved up by one place, two, or three. */
static const uint8_t MOVED[64 + 3] = {
    0,  0,  0,  0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30,
    31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63};

typedef struct {
    __mmask64 above, two, three, four; /* bytes above ASCII; first ones of characters of so many bytes and more */
} kinds;

/* Up to where there are whole characters: 64, or where the one starts that goes on behind. Asked of bytes in memory, since the next
 * step waits for the answer, and a mask takes twice as long. */
static inline unsigned whole_characters(const uint8_t *p)
{
    const unsigned last = (p[63] + 0x40u) >> 8, second = (p[62] + 0x20u) >> 8, third = (p[61] + 0x10u) >> 8;
    return 32 + _lzcnt_u32(third << 2 | second << 1 | last);
}

/* Bits where the first `used` bytes are not UTF-8, or not of what fits the width. */
static inline uint64_t ill_formed(__m512i v, kinds k, unsigned used, const int width)
{
    const uint64_t mask = _bzhi_u64(UINT64_MAX, used);
    const uint64_t following = _mm512_cmplt_epi8_mask(v, _mm512_set1_epi8(-64)) & mask, two = k.two & mask, three = k.three & mask;
    const uint64_t four = k.four & mask, from_a0 = _mm512_cmpge_epu8_mask(v, _mm512_set1_epi8((char)0xA0));
    uint64_t wrong = ((two | following) ^ (k.above & mask)) | ((two << 1 | three << 2 | four << 3) ^ following);
    if (width == 1) return wrong | (_mm512_cmpge_epu8_mask(v, _mm512_set1_epi8((char)0xC4)) & mask);
    wrong |= (uint64_t)_mm512_cmpeq_epi8_mask(v, _mm512_set1_epi8((char)0xE0)) << 1 & ~from_a0 & mask;
    wrong |= (uint64_t)_mm512_cmpeq_epi8_mask(v, _mm512_set1_epi8((char)0xED)) << 1 & from_a0 & mask;
    if (width == 2 || four == 0) return wrong | four;
    wrong |= _mm512_cmpgt_epu8_mask(v, _mm512_set1_epi8((char)0xF4)) & mask;
    wrong |= (uint64_t)_mm512_cmpeq_epi8_mask(v, _mm512_set1_epi8((char)0xF0)) << 1 & ~_mm512_cmpge_epu8_mask(v, _mm512_set1_epi8((char)0x90)) & mask;
    return wrong | ((uint64_t)_mm512_cmpeq_epi8_mask(v, _mm512_set1_epi8((char)0xF4)) << 1 & _mm512_cmpge_epu8_mask(v, _mm512_set1_epi8((char)0x90)) & mask);
}

static inline __m512i widened_to_2(__m512i bytes, const int half)
{
    return _mm512_cvtepu8_epi16(half ? _mm512_extracti64x4_epi64(bytes, 1) : _mm512_castsi512_si256(bytes));
}

static inline __m512i widened_to_4(__m512i bytes, int quarter)
{
    const __m512i moved = quarter == 0   ? bytes
                          : quarter == 1 ? _mm512_alignr_epi64(bytes, bytes, 2)
                          : quarter == 2 ? _mm512_alignr_epi64(bytes, bytes, 4)
                                         : _mm512_alignr_epi64(bytes, bytes, 6);
    return _mm512_cvtepu8_epi32(_mm512_castsi512_si128(moved));
}

/* Store so many characters, of which these are the lower bits of the last byte, the one before it and so on. */
static inline void store(uint8_t *out, const __m512i parts[4], unsigned count, const int width)
{
    unsigned i;
    if (width == 1) {
        const __m512i upper = _mm512_and_si512(_mm512_slli_epi16(parts[1], 6), _mm512_set1_epi8((char)0xC0));
        _mm512_storeu_si512(out, _mm512_or_si512(parts[0], upper));
    } else if (width == 2) {
        for (i = 0; i < 2 && 32 * i < count; i++) {
            const __m512i low = _mm512_or_si512(widened_to_2(parts[0], (int)i), _mm512_slli_epi16(widened_to_2(parts[1], (int)i), 6));
            _mm512_storeu_si512(out + 64 * i, _mm512_or_si512(low, _mm512_slli_epi16(widened_to_2(parts[2], (int)i), 12)));
        }
    } else {
        for (i = 0; i < 4 && 16 * i < count; i++) {
            const __m512i low = _mm512_or_si512(widened_to_4(parts[0], (int)i), _mm512_slli_epi32(widened_to_4(parts[1], (int)i), 6));
            const __m512i high = _mm512_or_si512(_mm512_slli_epi32(widened_to_4(parts[2], (int)i), 12),
                                                 _mm512_slli_epi32(widened_to_4(parts[3], (int)i), 18));
            _mm512_storeu_si512(out + 64 * i, _mm512_or_si512(low, high));
        }
    }
}

/* As one_by_one, but as far as there are 64 bytes, and room for 64 characters. */
static inline size_t many_at_once(const uint8_t *p, size_t length, const int width, uint8_t **to, const uint8_t *end)
{
    uint8_t *out = *to;
    size_t at = 0;
    while (length - at >= 64 && end - out >= 64 * width) {
        __m512i v = _mm512_loadu_si512(p + at), parts[4];
        const kinds k = {_mm512_movepi8_mask(v), _mm512_cmpge_epu8_mask(v, _mm512_set1_epi8((char)0xC2)),
                         _mm512_cmpge_epu8_mask(v, _mm512_set1_epi8((char)0xE0)), _mm512_cmpge_epu8_mask(v, _mm512_set1_epi8((char)0xF0))};
        uint64_t mask, ascii, three, four, ends;
        unsigned used = 64, count = 64;
        parts[0] = v;
        parts[1] = parts[2] = parts[3] = _mm512_setzero_si512();
        if (k.above != 0) {
            used = whole_characters(p + at);
            if (ill_formed(v, k, used, width) != 0) return SIZE_MAX;
            mask = _bzhi_u64(UINT64_MAX, used);
            ascii = ~k.above & mask;
            four = k.four << 3 & mask;
            three = (k.three & ~k.four) << 2 & mask;
            ends = ascii | ((k.two & ~k.three) << 1 & mask) | three | four;
            count = (unsigned)__builtin_popcountll(ends);
            v = _mm512_mask_mov_epi8(v, k.above, _mm512_and_si512(v, _mm512_set1_epi8(0x3F)));
            v = _mm512_mask_mov_epi8(v, k.three, _mm512_and_si512(v, _mm512_set1_epi8(0x0F)));
            parts[0] = _mm512_maskz_compress_epi8(ends, v);
            parts[1] = _mm512_maskz_compress_epi8(ends, _mm512_maskz_permutexvar_epi8(ends & ~ascii, _mm512_loadu_si512(MOVED + 2), v));
            if (width > 1 && k.three != 0) {
                parts[2] = _mm512_maskz_compress_epi8(ends, _mm512_maskz_permutexvar_epi8(three | four, _mm512_loadu_si512(MOVED + 1), v));
            }
            if (width > 2 && k.four != 0) {
                parts[3] = _mm512_maskz_compress_epi8(ends, _mm512_maskz_permutexvar_epi8(four, _mm512_loadu_si512(MOVED), v));
            }
        }
        store(out, parts, count, width);
        at += used;
        out += (size_t)count * (size_t)width;
    }
    *to = out;
    return at;
}

static size_t many(const uint8_t *p, size_t length, int width, uint8_t **out, const uint8_t *end)
{
    if (width == 1) return many_at_once(p, length, 1, out, end);
    return width == 2 ? many_at_once(p, length, 2, out, end) : many_at_once(p, length, 4, out, end);
}

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif

size_t bpe_transcode(const uint8_t *p, size_t length, int width, int vectors, uint8_t **out, const uint8_t *end)
{
    size_t at = 0, rest;
#ifdef HAS_VECTORS
    if (vectors) at = many(p, length, width, out, end);
    if (at == SIZE_MAX) return SIZE_MAX;
#else
    (void)vectors;
#endif
    if (width == 1) rest = one_by_one(p + at, length - at, 1, out, end);
    else if (width == 2) rest = one_by_one(p + at, length - at, 2, out, end);
    else rest = one_by_one(p + at, length - at, 4, out, end);
    return rest == SIZE_MAX ? SIZE_MAX : at + rest;
}
