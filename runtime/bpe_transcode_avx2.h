/* bpe_transcode_avx2.h - UTF-8 in, characters as numbers of one width out, 64 bytes at a time: with AVX2. For bpe_transcode.c.
 *
 *     E4 BD A0 21             masks say where characters begin: at 0 and at 3
 *     E4BDA021 21......       four bytes from each of eight beginnings on, side by side
 *     4F60     0021           their bits moved together, and down by six for each byte that is not theirs
 *
 * Where a character begins is asked of a mask, not of the text: so no branch is guessed wrong where scripts take turns with spaces. Whether bytes
 * follow one another as they must, the masks of 64 bytes say; whether a number is one that so many bytes may spell, the numbers themselves.
 *
 * Rejected: tables of shuffles for each order of lengths (larger than all else that decoding reads).
 */
#ifndef BPE_TRANSCODE_AVX2_H
#define BPE_TRANSCODE_AVX2_H

#include <immintrin.h>

#define WITH_AVX2 __attribute__((target("avx2,bmi,bmi2,lzcnt,popcnt")))
#define READ_AHEAD 12 /* bytes behind 64 that may be read */
#define EVERY_THIRD UINT64_C(0x1249249249249249) /* where characters begin, if all have three bytes */

/* Up to where there are whole characters: 64, or where the one starts that goes on behind. Asked of bytes in memory, since the next
 * step waits for the answer, and a mask takes twice as long. */
WITH_AVX2 static inline unsigned whole_characters(const uint8_t *p)
{
    const unsigned last = (p[63] + 0x40u) >> 8, second = (p[62] + 0x20u) >> 8, third = (p[61] + 0x10u) >> 8;
    return 32 + _lzcnt_u32(third << 2 | second << 1 | last);
}

typedef struct {
    __m256i low, high;
} sixty_four;

WITH_AVX2 static inline uint64_t bits_of(__m256i low, __m256i high)
{
    return (uint32_t)_mm256_movemask_epi8(low) | (uint64_t)(uint32_t)_mm256_movemask_epi8(high) << 32;
}

WITH_AVX2 static inline uint64_t at_least(sixty_four v, uint8_t least)
{
    const __m256i all = _mm256_set1_epi8((char)least);
    return bits_of(_mm256_cmpeq_epi8(_mm256_max_epu8(v.low, all), v.low), _mm256_cmpeq_epi8(_mm256_max_epu8(v.high, all), v.high));
}

/* Where bytes that go on are, if they are where they must be; bits are added to *wrongs if not, or if one of the first `used` bytes is none
 * that UTF-8 has, or not of what fits the width. */
WITH_AVX2 static inline uint64_t that_go_on(sixty_four v, uint64_t above, unsigned used, const int width, uint64_t *wrongs)
{
    const uint64_t mask = _bzhi_u64(UINT64_MAX, used), from_c0 = at_least(v, 0xC0), go_on = above & ~from_c0 & mask;
    const uint64_t two = at_least(v, 0xC2) & mask;
    if (width == 1) {
        *wrongs |= ((from_c0 & mask) ^ two) | (two << 1 ^ go_on) | (at_least(v, 0xC4) & mask);
    } else {
        const uint64_t three = at_least(v, 0xE0) & mask, four = at_least(v, 0xF0) & mask;
        *wrongs |= ((from_c0 & mask) ^ two) | ((two << 1 | three << 2 | four << 3) ^ go_on) | (width == 2 ? four : at_least(v, 0xF5) & mask);
    }
    return go_on;
}

/* Four bytes from each of the next eight beginnings on, which are taken out of *begin. */
WITH_AVX2 static inline __m256i next_eight(const uint8_t *p, uint64_t *begin)
{
    uint32_t w[8];
    uint64_t bits = *begin;
    int i;
    for (i = 0; i < 8; i++) {
        memcpy(w + i, p + _tzcnt_u64(bits), 4); /* if there are no more, what is behind */
        bits &= bits - 1;
    }
    *begin = bits;
    return _mm256_set_epi32((int)w[7], (int)w[6], (int)w[5], (int)w[4], (int)w[3], (int)w[2], (int)w[1], (int)w[0]);
}

/* The same of eight characters of three bytes, one behind the other. */
WITH_AVX2 static inline __m256i eight_threes(const uint8_t *p)
{
    const __m128i low = _mm_loadu_si128((const void *)p), high = _mm_loadu_si128((const void *)(p + 12));
    const __m128i order = _mm_setr_epi8(0, 1, 2, 3, 3, 4, 5, 6, 6, 7, 8, 9, 9, 10, 11, 12);
    return _mm256_shuffle_epi8(_mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1), _mm256_broadcastsi128_si256(order));
}

/* By the upper four bits of the first byte of a character: how far down its bits are to be moved, */
#define BY_FIRST(one, two, three, four) _mm256_setr_epi8(one, one, one, one, one, one, one, one, 0, 0, 0, 0, two, two, three, four, \
                                                         one, one, one, one, one, one, one, one, 0, 0, 0, 0, two, two, three, four)

/* The numbers of eight characters, the first `count` of which there are. Bits are added to *wrongs if they are not those of so many bytes. */
WITH_AVX2 static inline __m256i eight_points(__m256i bytes, unsigned count, const int width, __m256i *wrongs)
{
    const __m256i reversed = _mm256_broadcastsi128_si256(_mm_setr_epi8(3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12));
    const __m256i x = _mm256_shuffle_epi8(bytes, reversed), first = _mm256_srli_epi32(x, 28); /* its other three bytes are 0: those of ASCII */
    const __m256i shift = _mm256_shuffle_epi8(BY_FIRST(18, 12, 6, 0), first), bits = _mm256_shuffle_epi8(BY_FIRST(25, 21, 16, 11), first);
    const __m256i ones = _mm256_set1_epi32(0xFF);
    __m256i value = _mm256_and_si256(x, _mm256_set1_epi32(0x3F)), least, wrong;
    value = _mm256_or_si256(value, _mm256_and_si256(_mm256_srli_epi32(x, 2), _mm256_set1_epi32(0x3F << 6)));
    value = _mm256_or_si256(value, _mm256_and_si256(_mm256_srli_epi32(x, 4), _mm256_set1_epi32(0x3F << 12)));
    value = _mm256_or_si256(value, _mm256_and_si256(_mm256_srli_epi32(x, 6), _mm256_set1_epi32(0x7F << 18)));
    value = _mm256_srlv_epi32(value, _mm256_and_si256(shift, ones));
    value = _mm256_and_si256(value, _mm256_srlv_epi32(_mm256_set1_epi32(-1), _mm256_and_si256(bits, ones)));
    if (width == 1) return value;
    /* The least number that so many bytes may spell: of three, 0x800, and of four, 0x10000. */
    least = _mm256_sllv_epi32(_mm256_set1_epi32(1), _mm256_and_si256(_mm256_shuffle_epi8(BY_FIRST(40, 40, 11, 16), first), ones));
    wrong = _mm256_or_si256(_mm256_cmpgt_epi32(least, value), _mm256_cmpeq_epi32(_mm256_srli_epi32(value, 11), _mm256_set1_epi32(0xD800 >> 11)));
    if (width == 4) wrong = _mm256_or_si256(wrong, _mm256_cmpgt_epi32(value, _mm256_set1_epi32(0x10FFFF)));
    wrong = _mm256_and_si256(wrong, _mm256_cmpgt_epi32(_mm256_set1_epi32((int)count), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7)));
    *wrongs = _mm256_or_si256(*wrongs, wrong);
    return value;
}

WITH_AVX2 static inline void store_eight(uint8_t *out, __m256i points, const int width)
{
    const __m128i two = _mm_packus_epi32(_mm256_castsi256_si128(points), _mm256_extracti128_si256(points, 1));
    if (width == 1) _mm_storel_epi64((void *)out, _mm_packus_epi16(two, two));
    else if (width == 2) _mm_storeu_si128((void *)out, two);
    else _mm256_storeu_si256((void *)out, points);
}

/* Store 64 bytes of ASCII. */
WITH_AVX2 static inline void store_ascii(uint8_t *out, const uint8_t *p, sixty_four v, const int width)
{
    int i;
    if (width == 1) {
        _mm256_storeu_si256((void *)out, v.low);
        _mm256_storeu_si256((void *)(out + 32), v.high);
    }
    for (i = 0; width == 2 && i < 4; i++) {
        _mm256_storeu_si256((void *)(out + 32 * i), _mm256_cvtepu8_epi16(_mm_loadu_si128((const void *)(p + 16 * i))));
    }
    for (i = 0; width == 4 && i < 8; i++) {
        _mm256_storeu_si256((void *)(out + 32 * i), _mm256_cvtepu8_epi32(_mm_loadl_epi64((const void *)(p + 8 * i))));
    }
}

/* As many_at_once. */
WITH_AVX2 static inline size_t some_at_once(const uint8_t *p, size_t length, const int width, uint8_t **to, const uint8_t *end)
{
    uint8_t *out = *to;
    uint64_t wrong = 0;
    __m256i wrongs = _mm256_setzero_si256();
    size_t at = 0;
    while (length - at >= 64 + READ_AHEAD && end - out >= 64 * width) {
        const sixty_four v = {_mm256_loadu_si256((const void *)(p + at)), _mm256_loadu_si256((const void *)(p + at + 32))};
        const uint64_t above = bits_of(v.low, v.high);
        unsigned used, count, k;
        uint64_t begin;
        if (above == 0) {
            store_ascii(out, p + at, v, width);
            at += 64;
            out += 64 * width;
            continue;
        }
        used = whole_characters(p + at);
        begin = ~that_go_on(v, above, used, width, &wrong) & _bzhi_u64(UINT64_MAX, used);
        count = (unsigned)_mm_popcnt_u64(begin);
        for (k = 0; begin == EVERY_THIRD && k < 24; k += 8) {
            store_eight(out + k * (unsigned)width, eight_points(eight_threes(p + at + 3 * k), count - k, width, &wrongs), width);
        }
        for (; k < count; k += 8) {
            store_eight(out + k * (unsigned)width, eight_points(next_eight(p + at, &begin), count - k, width, &wrongs), width);
        }
        at += used;
        out += (size_t)count * (size_t)width;
    }
    *to = out;
    return (wrong == 0) & _mm256_testz_si256(wrongs, wrongs) ? at : SIZE_MAX;
}

WITH_AVX2 static size_t some(const uint8_t *p, size_t length, int width, uint8_t **out, const uint8_t *end)
{
    if (width == 1) return some_at_once(p, length, 1, out, end);
    return width == 2 ? some_at_once(p, length, 2, out, end) : some_at_once(p, length, 4, out, end);
}

#endif
