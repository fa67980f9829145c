/* bpe_transcode.c - UTF-8 in, characters as numbers of one width out, as Python keeps a str. See bpe.h.
 *
 *     E4 BD A0 21  ->  4F60 0021
 *
 * With AVX-512, 64 bytes at a time: masks say what each byte is, and whether they follow one another as they must. What a byte brings to
 * its character are its lower bits. The vector of these is moved up by one, two and three places, so that in the place of the last byte
 * of a character all its parts lie over one another. There they are put together to the lowest bytes of all characters, those above, and
 * those above these; each of these vectors is compressed, and characters are picked from two or three of them. No branch asks how many there
 * are, or of how many bytes. Bytes of ASCII alone are only spread, here and where there are no vectors, and everything else goes one
 * character after the other. With AVX2: bpe_transcode_avx2.h.
 *
 * Invariant: what is stored is what bytes.decode() gives, or SIZE_MAX comes back.
 */
#include "bpe_hash.h"

#define ASCII_RUN 16 /* bytes of ASCII that are widened at once */
#define COUNTED 64   /* bytes whose characters are counted side by side */

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
#include "bpe_transcode_avx2.h"
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi,avx512vbmi2,bmi,bmi2,lzcnt,popcnt"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi,avx512vbmi2,bmi,bmi2,lzcnt,popcnt")
#endif

/* Where each byte of a vector comes from that is moved up by one place, two, or three. */
static const uint8_t MOVED[64 + 3] = {
    0,  0,  0,  0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30,
    31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63};

/* Where the bytes of numbers of two bytes come from, and of those of four: the lowest from one vector, those above from another, and the
 * third from a third one. */
#define TWO(n) (n), (n) + 64
#define EIGHT_TIMES_TWO(n) TWO(n), TWO((n) + 1), TWO((n) + 2), TWO((n) + 3), TWO((n) + 4), TWO((n) + 5), TWO((n) + 6), TWO((n) + 7)
#define FOUR(n) (n), (n) + 64, (n), 0
#define FOUR_TIMES_FOUR(n) FOUR(n), FOUR((n) + 1), FOUR((n) + 2), FOUR((n) + 3)
static const uint8_t PAIRS[2][64] = {{EIGHT_TIMES_TWO(0), EIGHT_TIMES_TWO(8), EIGHT_TIMES_TWO(16), EIGHT_TIMES_TWO(24)},
                                     {EIGHT_TIMES_TWO(32), EIGHT_TIMES_TWO(40), EIGHT_TIMES_TWO(48), EIGHT_TIMES_TWO(56)}};
static const uint8_t FOURS[4][64] = {{FOUR_TIMES_FOUR(0), FOUR_TIMES_FOUR(4), FOUR_TIMES_FOUR(8), FOUR_TIMES_FOUR(12)},
                                     {FOUR_TIMES_FOUR(16), FOUR_TIMES_FOUR(20), FOUR_TIMES_FOUR(24), FOUR_TIMES_FOUR(28)},
                                     {FOUR_TIMES_FOUR(32), FOUR_TIMES_FOUR(36), FOUR_TIMES_FOUR(40), FOUR_TIMES_FOUR(44)},
                                     {FOUR_TIMES_FOUR(48), FOUR_TIMES_FOUR(52), FOUR_TIMES_FOUR(56), FOUR_TIMES_FOUR(60)}};
#define LOWER_TWO 0x3333333333333333
#define THIRD 0x4444444444444444

static inline __m512i bytes_of(int value) { return _mm512_set1_epi8((char)value); }

/* `a` where there are bits in `mask`, and `b` where there are none. */
static inline __m512i chosen(__m512i mask, __m512i a, __m512i b) { return _mm512_ternarylogic_epi64(mask, a, b, 0xCA); }

/* Store up to 64 characters: their lowest bytes, those above, and those above these. */
static inline void store(uint8_t *out, __m512i low, __m512i middle, __m512i high, const int width)
{
    int i;
    if (width == 1) _mm512_storeu_si512(out, low);
    for (i = 0; width == 2 && i < 2; i++) _mm512_storeu_si512(out + 64 * i, _mm512_permutex2var_epi8(low, _mm512_loadu_si512(PAIRS[i]), middle));
    for (i = 0; width == 4 && i < 4; i++) {
        const __m512i places = _mm512_loadu_si512(FOURS[i]), lower = _mm512_maskz_permutex2var_epi8(LOWER_TWO, low, places, middle);
        _mm512_storeu_si512(out + 64 * i, _mm512_mask_permutexvar_epi8(lower, THIRD, places, high));
    }
}

/* Bytes above the lowest of characters of three bytes, by their upper five bits, twice: overlong, and of surrogates. */
#define NONE_OF_8 0, 0, 0, 0, 0, 0, 0, 0
#define WRONG_OF_32 0x80, 0, 0, 0, 0, 0, 0, 0, NONE_OF_8, NONE_OF_8, 0, 0, 0, 0x80, 0, 0, 0, 0
static const uint8_t WRONG[64] = {WRONG_OF_32, WRONG_OF_32};

/* Store the characters that the first `used` of these bytes spell: how many. Bits are added to *wrongs if they are not UTF-8, or not of what
 * fits the width; then it does not matter what is stored. */
static inline unsigned store_characters(__m512i v, __mmask64 above, unsigned used, uint8_t *out, const int width, uint64_t *wrongs)
{
    const __mmask64 from_e0 = _mm512_cmpge_epu8_mask(v, bytes_of(0xE0)), from_f0 = _mm512_cmpge_epu8_mask(v, bytes_of(0xF0));
    const uint64_t mask = _bzhi_u64(UINT64_MAX, used), ascii = ~above & mask;
    const uint64_t two = _mm512_cmpge_epu8_mask(v, bytes_of(0xC2)) & mask, three = from_e0 & mask;
    const uint64_t four = from_f0 & mask, following = _mm512_cmplt_epi8_mask(v, bytes_of(0xC0)) & mask;
    const uint64_t last_of_three = (three & ~four) << 2, last_of_four = four << 3;
    const uint64_t ends = ascii | (two & ~three) << 1 | last_of_three | last_of_four;
    const __m512i four_bits = _mm512_and_si512(v, bytes_of(0x0F)), six_bits = _mm512_and_si512(v, bytes_of(0x3F));
    const __m512i own = _mm512_mask_mov_epi8(_mm512_mask_mov_epi8(v, above, six_bits), from_e0, four_bits);
    const __m512i before = _mm512_maskz_permutexvar_epi8(above, _mm512_loadu_si512(MOVED + 2), own);
    const __m512i low = _mm512_ternarylogic_epi64(own, _mm512_slli_epi16(before, 6), bytes_of(0xC0), 0xF8);
    __m512i third, fourth, middle = low, high = low;
    *wrongs |= ((two | following) ^ (above & mask)) | ((two << 1 | three << 2 | four << 3) ^ following);
    if (width == 1) *wrongs |= _mm512_cmpge_epu8_mask(v, bytes_of(0xC4)) & mask;
    if (width == 2) *wrongs |= four;
    if (width > 1) {
        if (width == 2) third = _mm512_permutexvar_epi8(_mm512_loadu_si512(MOVED + 1), _mm512_maskz_mov_epi8(from_e0, four_bits));
        else third = _mm512_maskz_permutexvar_epi8(last_of_three | last_of_four, _mm512_loadu_si512(MOVED + 1), own);
        middle = chosen(bytes_of(0x0F), _mm512_srli_epi16(before, 2), _mm512_slli_epi16(third, 4));
        *wrongs |= _mm512_movepi8_mask(_mm512_permutexvar_epi8(_mm512_srli_epi16(middle, 3), _mm512_loadu_si512(WRONG))) & last_of_three;
        middle = _mm512_maskz_compress_epi8(ends, middle);
    }
    if (width == 4) {
        fourth = _mm512_permutexvar_epi8(_mm512_loadu_si512(MOVED), _mm512_maskz_mov_epi8(from_f0, four_bits));
        high = chosen(bytes_of(0x03), _mm512_srli_epi16(third, 4), _mm512_slli_epi16(fourth, 2));
        *wrongs |= _mm512_cmpge_epu8_mask(_mm512_sub_epi8(high, bytes_of(1)), bytes_of(0x10)) & last_of_four;
        high = _mm512_maskz_compress_epi8(ends, high);
    }
    store(out, _mm512_maskz_compress_epi8(ends, low), middle, high, width);
    return (unsigned)__builtin_popcountll(ends);
}

/* As one_by_one, but as far as there are 64 bytes, and room for 64 characters. */
static inline size_t many_at_once(const uint8_t *p, size_t length, const int width, uint8_t **to, const uint8_t *end)
{
    uint8_t *out = *to;
    uint64_t wrong = 0;
    size_t at = 0;
    while (length - at >= 64 && end - out >= 64 * width) {
        const __m512i v = _mm512_loadu_si512(p + at);
        const __mmask64 above = _mm512_movepi8_mask(v);
        unsigned used = 64, count = 64;
        if (above == 0) {
            store(out, v, _mm512_setzero_si512(), _mm512_setzero_si512(), width);
        } else {
            used = whole_characters(p + at);
            count = store_characters(v, above, used, out, width, &wrong);
        }
        at += used;
        out += (size_t)count * (size_t)width;
    }
    *to = out;
    return wrong == 0 ? at : SIZE_MAX;
}

/* As bpe_characters, of 64 bytes at a time: of how many. */
static inline size_t count_many(const uint8_t *p, size_t length, size_t *characters)
{
    size_t at = 0;
    for (; length - at >= 64; at += 64) {
        *characters += (size_t)__builtin_popcountll(_mm512_cmpge_epi8_mask(_mm512_loadu_si512(p + at), bytes_of(0xC0)));
    }
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

size_t bpe_transcode(const uint8_t *p, size_t length, int width, bpe_vectors vectors, uint8_t **out, const uint8_t *end)
{
    size_t at = 0, rest;
#ifdef HAS_VECTORS
    if (vectors == BPE_AVX512) at = many(p, length, width, out, end);
    else if (vectors == BPE_AVX2) at = some(p, length, width, out, end);
    if (at == SIZE_MAX) return SIZE_MAX;
#else
    (void)vectors;
#endif
    if (width == 1) rest = one_by_one(p + at, length - at, 1, out, end);
    else if (width == 2) rest = one_by_one(p + at, length - at, 2, out, end);
    else rest = one_by_one(p + at, length - at, 4, out, end);
    return rest == SIZE_MAX ? SIZE_MAX : at + rest;
}

size_t bpe_characters(const uint8_t *p, size_t length, bpe_vectors vectors)
{
    size_t characters = 0, at = 0, i, k;
#ifdef HAS_VECTORS
    if (vectors == BPE_AVX512) at = count_many(p, length, &characters);
#else
    (void)vectors;
#endif
    while (length - at >= COUNTED) {
        uint8_t sums[COUNTED] = {0};
        for (i = 0; i < UINT8_MAX && length - at >= COUNTED; i++, at += COUNTED) {
            for (k = 0; k < COUNTED; k++) sums[k] = (uint8_t)(sums[k] + ((p[at + k] & 0xC0) != 0x80));
        }
        for (k = 0; k < COUNTED; k++) characters += sums[k];
    }
    for (; at < length; at++) characters += (p[at] & 0xC0) != 0x80;
    return characters;
}
