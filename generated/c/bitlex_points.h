/* bitlex_points.h - private: characters that are not ASCII, on AVX2: the code of each is one load from a table of the BMP.
 *
 * For UTF-8, vectors put together the code points of two and three bytes that would begin at each of 64 bytes, in 16 bits. Those at which
 * a character does begin are stored side by side, and wait. Their codes are looked up where ASCII follows, or when they are many: a loop
 * of few turns would cost more by its end, which cannot be predicted.
 *
 * A code point is FIRST too large in its 16 bits, as it comes when its bytes are multiplied and added as they are: so no byte has to be
 * rid of what makes it a lead. In the table code points begin at FIRST, too, and those that 16 bits do not reach so are there twice, the
 * second time at its beginning. Only there, the first surrogates, which UTF-8 has not, stand for codes: characters behind the BMP are
 * decoded one by one, and wait as KNOWN plus their code; but sixteen side by side are decoded together.
 *
 * Rejected: vectors of rows of 64 code points, the eight that were met last, which are tried one after the other (Russian 6 % slower,
 * Chinese 14 %, Japanese 19 %, eighteen scripts and emoji 20 % and more); to read characters of three bytes run by run where a newline
 * stands between them (Chinese and Japanese 2 to 8 % slower); ranges of one code, as of ideographs, compared with 32 at a time, so that only
 * others are looked up (Chinese and Japanese 2 to 11 % slower); shuffles that leave zeros, instead of blends, to pick every third byte (as fast).
 */
#define FIRST 0x3080u /* 64 C0 + 80, what is too much of two bytes */
#define INDEX(point) ((uint16_t)(FIRST + (point)))
#define KNOWN 0xD800u

BITLEX_INLINE uint8_t NAME(code_at)(const uint8_t *table, const uint8_t *point)
{
    uint16_t index;
    memcpy(&index, point, 2);
    return table[index];
}
/* The codes of sixteen, which are `each` bytes apart. Vectors are filled byte by byte, as processors store but one byte a cycle. */
BITLEX_INLINE __m128i NAME(sixteen_codes)(const uint8_t *table, const uint8_t *points, const size_t each)
{
    __m128i low = _mm_cvtsi32_si128(NAME(code_at)(table, points)), high = _mm_cvtsi32_si128(NAME(code_at)(table, points + 8 * each));
#define EACH(k) \
    low = _mm_insert_epi8(low, NAME(code_at)(table, points + (k) * each), k); \
    high = _mm_insert_epi8(high, NAME(code_at)(table, points + ((k) + 8) * each), k);
    EACH(1) EACH(2) EACH(3) EACH(4) EACH(5) EACH(6) EACH(7)
#undef EACH
    return _mm_unpacklo_epi64(low, high);
}
/* Of as many as there are, and what is behind the last of sixteen. */
BITLEX_INLINE void NAME(look_up_points)(const uint8_t *table, uint8_t *codes, const uint8_t *points, uint32_t count, const size_t each)
{
    uint32_t i;
    for (i = 0; i < count; i += 16, points += 16 * each) {
        _mm_storeu_si128((__m128i *)(void *)(codes + i), NAME(sixteen_codes)(table, points, each));
    }
}

/* The codes of 64 units of two bytes or four, below U+100000: `code`, but of those in `beyond`. `astral` are behind the BMP. */
BITLEX_INLINE void NAME(look_up_wide)(const bitlex_lanes *lanes, uint8_t *codes, const uint8_t *p, const int width, V code, M beyond,
                                      M astral)
{
    const uint8_t *table = lanes->points + FIRST;
    uint64_t left = NAME(bits)(beyond);
    if (__builtin_popcountll(left) <= BITLEX_FEW) {
        NAME(store)(codes, code);
    } else {
        NAME(look_up_points)(table, codes, p, 64, (size_t)width);
        left = width == 4 ? NAME(bits)(astral) : 0;
    }
    for (; left; left &= left - 1) {
        const uint32_t i = first_bit(left);
        uint32_t point = 0;
        memcpy(&point, p + i * (uint32_t)width, (size_t)width);
        codes[i] = point < 0x10000 ? table[point] : code_of(lanes, point <= 0x10FFFF ? point : 0xFFFD); /* if it changed meanwhile */
    }
}

/* The codes of 32 of the BMP, of their upper bytes and their lower ones. */
BITLEX_INLINE __m256i NAME(look_up_half)(const uint8_t *table, __m256i upper, __m256i lower)
{
    uint8_t points[64]; /* 0..7, 16..23, 8..15, 24..31 */
    NAME(store_half)(points, _mm256_unpacklo_epi8(lower, upper));
    NAME(store_half)(points + 32, _mm256_unpackhi_epi8(lower, upper));
    return _mm256_permute4x64_epi64(
        _mm256_set_m128i(NAME(sixteen_codes)(table, points + 32, 2), NAME(sixteen_codes)(table, points, 2)), 0xD8);
}

/* The codes of the lanes in `wanted`, whose code points are put together as for the `deep` of bitlex_kernel.h. */
static __attribute__((noinline)) V NAME(deep)(const bitlex_lanes *lanes, bitlex_recent *recent, V code, M wanted, M wide, V chunk, V row,
                                              V low)
{
    const V lower = NAME(or)(NAME(and)(NAME(left)(row, 6), NAME(constant)(0xC0)), NAME(and)(low, NAME(constant)(0x3F)));
    const V upper = NAME(or)(NAME(and)(NAME(left)(chunk, 4), NAME(constant)(0xF0)), NAME(and)(NAME(right)(row, 2), NAME(constant)(0x0F)));
    const uint8_t *table = lanes->points + FIRST;
    uint64_t left = NAME(bits)(NAME(and)(wanted, NAME(at_least)(chunk, NAME(constant)(0x10))));
    uint8_t chunks[64], uppers[64], lowers[64], codes[64];
    V found;
    (void)recent, (void)wide;
    found.low = NAME(look_up_half)(table, upper.low, lower.low);
    found.high = NAME(look_up_half)(table, upper.high, lower.high);
    if (left) { /* behind the BMP */
        NAME(store)(chunks, chunk);
        NAME(store)(uppers, upper);
        NAME(store)(lowers, lower);
        NAME(store)(codes, found);
        for (; left; left &= left - 1) {
            const uint32_t i = first_bit(left);
            codes[i] = code_of(lanes, (uint32_t)chunks[i] << 12 | (uppers[i] & 15u) << 8 | lowers[i]);
        }
        found = NAME(load)(codes);
    }
    return NAME(choose)(wanted, found, code);
}

/* Constants: kept in memory, as compilers would make them anew for each 64 bytes, of immediate values. */
typedef struct {
    __m256i weights, first, third, high, two; /* of lead and second byte, 64 and 1; what is missing to FIRST: of ASCII, of three bytes */
} bitlex_weights;

BITLEX_INLINE void NAME(weigh)(bitlex_weights *k)
{
    k->weights = _mm256_set1_epi16(0x0140);
    k->first = _mm256_set1_epi8(FIRST >> 8);
    k->third = _mm256_set1_epi8(0x10);
    k->high = _mm256_set1_epi8((char)0x80);
    k->two = _mm256_set1_epi8((char)0xDF);
    __asm__("" : "+x"(k->weights), "+x"(k->first), "+x"(k->third), "+x"(k->high), "+x"(k->two));
}

/* Is there a lead of three bytes, or four? */
BITLEX_INLINE int NAME(beyond_two)(const bitlex_weights *k, V here)
{
    const __m256i more = _mm256_subs_epu8(_mm256_max_epu8(here.low, here.high), k->two);
    return !_mm256_testz_si256(more, more);
}

/* What begins at 32 bytes if it is ASCII or of two bytes; at eight in each half, so that first come 0..7, 16..23, then 8..15, 24..31. */
BITLEX_INLINE void NAME(points_of_two)(const bitlex_weights *k, __m256i here, __m256i second, __m256i *points)
{
    const __m256i ascii = _mm256_or_si256(here, k->high);
    const __m256i even = _mm256_maddubs_epi16(_mm256_unpacklo_epi8(here, second), k->weights);
    const __m256i odd = _mm256_maddubs_epi16(_mm256_unpackhi_epi8(here, second), k->weights);
    points[0] = _mm256_blendv_epi8(_mm256_unpacklo_epi8(ascii, k->first), even, _mm256_unpacklo_epi8(here, here));
    points[1] = _mm256_blendv_epi8(_mm256_unpackhi_epi8(ascii, k->first), odd, _mm256_unpackhi_epi8(here, here));
}

/* And if it is of three: 64 times as much, which leaves FIRST - 1000 in 16 bits, and the third byte. */
BITLEX_INLINE __m256i NAME(third_byte)(__m256i two, __m256i third) { return _mm256_add_epi16(_mm256_slli_epi16(two, 6), third); }

BITLEX_INLINE void NAME(points_of_three)(const bitlex_weights *k, __m256i here, __m256i second, __m256i third, __m256i threes,
                                         __m256i *points)
{
    const __m256i ascii = _mm256_or_si256(here, k->high);
    const __m256i even = _mm256_maddubs_epi16(_mm256_unpacklo_epi8(here, second), k->weights);
    const __m256i odd = _mm256_maddubs_epi16(_mm256_unpackhi_epi8(here, second), k->weights);
    const __m256i even_three = NAME(third_byte)(even, _mm256_unpacklo_epi8(third, k->third));
    const __m256i odd_three = NAME(third_byte)(odd, _mm256_unpackhi_epi8(third, k->third));
    points[0] = _mm256_blendv_epi8(_mm256_unpacklo_epi8(ascii, k->first), even, _mm256_unpacklo_epi8(here, here));
    points[1] = _mm256_blendv_epi8(_mm256_unpackhi_epi8(ascii, k->first), odd, _mm256_unpackhi_epi8(here, here));
    points[0] = _mm256_blendv_epi8(points[0], even_three, _mm256_unpacklo_epi8(threes, threes));
    points[1] = _mm256_blendv_epi8(points[1], odd_three, _mm256_unpackhi_epi8(threes, threes));
}

/* U+FFFD, where there are bits. */
BITLEX_INLINE void NAME(replace)(__m256i *points, uint64_t wrong)
{
    const __m256i point = _mm256_set1_epi16((short)INDEX(0xFFFD));
    const V at = NAME(of)(wrong);
    points[0] = _mm256_blendv_epi8(points[0], point, _mm256_unpacklo_epi8(at.low, at.low));
    points[1] = _mm256_blendv_epi8(points[1], point, _mm256_unpackhi_epi8(at.low, at.low));
    points[2] = _mm256_blendv_epi8(points[2], point, _mm256_unpacklo_epi8(at.high, at.high));
    points[3] = _mm256_blendv_epi8(points[3], point, _mm256_unpackhi_epi8(at.high, at.high));
}

/* Those that begin where a bit is, side by side. Eight bits at a time, times 16, are where the table of their places has them. */
BITLEX_INLINE void NAME(pack_points)(const bitlex_lanes *lanes, uint8_t *to, uint64_t starts, const __m256i *points)
{
    const uint8_t *places = lanes->word_places[0];
    uint32_t i;
    for (i = 0; i < 8; i++) {
        const uint32_t by = (8 * i + 60) % 64;
        const size_t bits = (starts >> by | starts << (64 - by)) & 0xFF0;
        const __m256i from = points[i / 4 * 2 + i % 2];
        const __m128i eight = i & 2 ? _mm256_extracti128_si256(from, 1) : _mm256_castsi256_si128(from);
        const __m128i order = _mm_loadu_si128((const __m128i *)(const void *)(places + bits));
        _mm_storeu_si128((__m128i *)(void *)to, _mm_shuffle_epi8(eight, order));
        to += 2 * __builtin_popcountll(bits);
        __asm__("" : "+r"(to)); /* compilers would count all bits first, and have too few registers for that */
    }
}

/* Characters of four bytes, one by one: their codes. */
BITLEX_INLINE void NAME(put_fours)(const bitlex_lanes *lanes, uint8_t *points, uint64_t starts, uint64_t fours, const uint8_t *p)
{
    for (; fours; fours &= fours - 1) {
        const uint64_t before = starts & ((fours & (0 - fours)) - 1);
        uint32_t bytes, point;
        uint16_t index;
        memcpy(&bytes, p + first_bit(fours), 4);
        point = _pext_u32(__builtin_bswap32(bytes), 0x073F3F3F);
        if (point > 0x10FFFF) point = 0xFFFD; /* somebody is writing to the text: it was well-formed */
        index = INDEX(KNOWN + code_of(lanes, point));
        memcpy(points + 2 * __builtin_popcountll(before), &index, 2);
    }
}

/* Bounds of bytes, 32 times each. They are read through a pointer whose origin compilers cannot see: they would make them anew for each 64
 * bytes, and have too few registers to keep them. */
#define TIMES_4(byte) byte, byte, byte, byte
#define TIMES_32(byte) \
    {TIMES_4(byte), TIMES_4(byte), TIMES_4(byte), TIMES_4(byte), TIMES_4(byte), TIMES_4(byte), TIMES_4(byte), TIMES_4(byte)}
static const uint8_t NAME(bounds)[5][32] = {TIMES_32(0xF0), TIMES_32(0xE0), TIMES_32(0xC0), TIMES_32(0xED), TIMES_32(0x9F)};
#undef TIMES_4
#undef TIMES_32
BITLEX_INLINE const uint8_t *NAME(unseen)(const uint8_t *p)
{
    __asm__("" : "+r"(p));
    return p;
}

/* 22 characters of three bytes, 66 bytes, whatever they are. Comes back: where they are such a character, well-formed, as bits. The first
 * bytes come to stand side by side, the second and the third. Places three apart differ in their low four bits, so what is wanted of three
 * vectors of 16 is put into one as it lies there, and then in order; in the upper half, the last two bytes come from a vector that starts
 * two bytes later. */
BITLEX_INLINE __m256i NAME(every_third)(__m256i a, __m256i b, __m256i c, __m256i from_b, __m256i from_c, __m256i order)
{
    return _mm256_shuffle_epi8(_mm256_blendv_epi8(_mm256_blendv_epi8(a, b, from_b), c, from_c), order);
}
BITLEX_INLINE uint32_t NAME(threes)(const bitlex_weights *k, uint8_t *to, const uint8_t *p)
{
    const uint8_t *bounds = NAME(unseen)(NAME(bounds)[0]);
    const __m256i a = NAME(gather)(p, 48), b = NAME(gather)(p + 16, 34), c = NAME(row)(p + 32);
    const __m256i first = NAME(every_third)(
        a, b, c, _mm256_setr_epi8(0, 0, -1, 0, 0, -1, 0, 0, -1, 0, 0, -1, 0, 0, -1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
        _mm256_setr_epi8(0, -1, 0, 0, -1, 0, 0, -1, 0, 0, -1, 0, 0, -1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
        _mm256_setr_epi8(0, 3, 6, 9, 12, 15, 2, 5, 8, 11, 14, 1, 4, 7, 10, 13, 0, 3, 6, 9, 12, 15, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0));
    const __m256i second = NAME(every_third)(
        a, b, c, _mm256_setr_epi8(-1, 0, 0, -1, 0, 0, -1, 0, 0, -1, 0, 0, -1, 0, 0, -1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, -1, 0),
        _mm256_setr_epi8(0, 0, -1, 0, 0, -1, 0, 0, -1, 0, 0, -1, 0, 0, -1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
        _mm256_setr_epi8(1, 4, 7, 10, 13, 0, 3, 6, 9, 12, 15, 2, 5, 8, 11, 14, 1, 4, 7, 10, 13, 14, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0));
    const __m256i third = NAME(every_third)(
        a, b, c, _mm256_setr_epi8(0, -1, 0, 0, -1, 0, 0, -1, 0, 0, -1, 0, 0, -1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, -1),
        _mm256_setr_epi8(-1, 0, 0, -1, 0, 0, -1, 0, 0, -1, 0, 0, -1, 0, 0, -1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
        _mm256_setr_epi8(2, 5, 8, 11, 14, 1, 4, 7, 10, 13, 0, 3, 6, 9, 12, 15, 2, 5, 8, 11, 14, 15, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0));
    const __m256i lead = _mm256_cmpeq_epi8(_mm256_and_si256(first, NAME(load_half)(bounds)), NAME(load_half)(bounds + 32));
    const __m256i inside = _mm256_cmpgt_epi8(NAME(load_half)(bounds + 64), _mm256_max_epi8(second, third));
    const __m256i early = _mm256_cmpeq_epi8(first, NAME(load_half)(bounds + 32));
    const __m256i late = _mm256_cmpeq_epi8(first, NAME(load_half)(bounds + 96));
    const __m256i from_a0 = _mm256_cmpgt_epi8(second, NAME(load_half)(bounds + 128));
    const __m256i wrong = _mm256_blendv_epi8(early, late, from_a0); /* E0 80..9F, ED A0..BF */
    const __m256i two = _mm256_maddubs_epi16(_mm256_unpacklo_epi8(first, second), k->weights);
    const __m256i other_two = _mm256_maddubs_epi16(_mm256_unpackhi_epi8(first, second), k->weights);
    const __m256i even = NAME(third_byte)(two, _mm256_unpacklo_epi8(third, k->third));
    const __m256i odd = NAME(third_byte)(other_two, _mm256_unpackhi_epi8(third, k->third));
    NAME(store_half)(to, _mm256_permute2x128_si256(even, odd, 0x20));
    NAME(store_half)(to + 32, _mm256_permute2x128_si256(even, odd, 0x31));
    return (uint32_t)_mm256_movemask_epi8(_mm256_andnot_si256(wrong, _mm256_and_si256(lead, inside)));
}

/* 16 characters of four bytes, 64 bytes, whatever they are: their code points. Comes back: whether they are such characters, well-formed. */
BITLEX_INLINE int NAME(fours)(const bitlex_weights *k, uint32_t *points, const uint8_t *p)
{
    __m256i wrong = _mm256_setzero_si256();
    uint32_t i;
    for (i = 0; i < 2; i++) {
        const __m256i bytes = NAME(load_half)(p + 32 * i);
        const __m256i two = _mm256_maddubs_epi16(_mm256_and_si256(bytes, _mm256_set1_epi32(0x3F3F3F07)), k->weights);
        const __m256i four = _mm256_madd_epi16(two, _mm256_set1_epi32(0x00011000)); /* 4096 times the first two bytes, and the last two */
        const __m256i other = _mm256_xor_si256(_mm256_and_si256(bytes, _mm256_set1_epi32((int)0xC0C0C0F8)), _mm256_set1_epi32((int)0x808080F0));
        const __m256i outside = _mm256_sub_epi32(_mm256_srli_epi32(four, 16), _mm256_set1_epi32(1)); /* the plane, less one: up to 15 */
        wrong = _mm256_or_si256(wrong, _mm256_or_si256(other, _mm256_andnot_si256(_mm256_set1_epi32(15), outside)));
        NAME(store_half)((uint8_t *)(points + 8 * i), four);
    }
    return _mm256_testz_si256(wrong, wrong);
}

/* The bytes at p where a bit is, side by side. Of eight bits, the places are the numbers of the bytes wanted. */
BITLEX_INLINE void NAME(pack)(uint8_t *to, uint64_t starts, const uint8_t *p)
{
    uint8_t bits[8]; /* through memory, where each byte is one instruction */
    uint32_t i;
    memcpy(bits, &starts, 8);
    __asm__("" : "+m"(bits));
    for (i = 0; i < 8; i++, p += 8) {
        const __m128i from = _mm_loadl_epi64((const __m128i *)(const void *)(places_avx2 + bits[i]));
        _mm_storel_epi64((__m128i *)(void *)to, _mm_shuffle_epi8(_mm_loadl_epi64((const __m128i *)(const void *)p), from));
        to += __builtin_popcount(bits[i]);
        __asm__("" : "+r"(to)); /* compilers would take all eight apart at once, with too few registers for that */
    }
}

/* Of a character of two bytes, three or four, from the highest byte on: what its bytes have besides numbers, what that must be, where its
 * numbers are, its least code point, and how many of them there are. */
typedef struct {
    uint32_t fixed, must, bits, least, count;
} NAME(form);
static const NAME(form) NAME(forms)[3] = {{0xE0C00000, 0xC0800000, 0x1F3F0000, 0x80, 0x780},
                                          {0xF0C0C000, 0xE0808000, 0x0F3F3F00, 0x800, 0xF800},
                                          {0xF8C0C0C0, 0xF0808080, 0x073F3F3F, 0x10000, 0x100000}};

/* As bitlex_decode, of a byte that is not ASCII and three behind it: no branch depends on how many bytes the character has. */
BITLEX_INLINE uint32_t NAME(decode)(const uint8_t *p, uint32_t *length)
{
    uint32_t bytes, number, point;
    const NAME(form) *f;
    memcpy(&bytes, p, 4);
    bytes = __builtin_bswap32(bytes);
    number = (uint32_t)__builtin_clz(~bytes | 1) - 2; /* of the form; but inside a character and beyond four bytes */
    f = NAME(forms) + (number < 3 ? number : 0);
    point = _pext_u32(bytes, f->bits);
    *length = number + 2;
    if ((bytes & f->fixed) == f->must && point - f->least < f->count && point >> 11 != 0xD800 >> 11) return point;
    return bitlex_decode(p, p + 4, length);
}

/* The codes of 64 bytes of which few are not ASCII: the characters that these are (quotation marks and dashes, an emoji) are decoded one
 * by one. Comes back: where characters start. */
static uint64_t NAME(read_few)(const bitlex_lanes *lanes, uint8_t *codes, const uint8_t *p, uint64_t beyond, uint64_t *inner)
{
    uint64_t inside = *inner, left = beyond & ~inside;
    uint8_t each[64];
    uint32_t length;
    *inner = 0;
    NAME(store)(each, NAME(entry)(lanes, lanes->direct, NAME(load)(p)));
    while (left) {
        const uint32_t at = first_bit(left);
        uint64_t behind;
        each[at] = code_of(lanes, NAME(decode)(p + at, &length));
        behind = (UINT64_C(1) << length) - 2;
        inside |= behind << at;
        if (at > 60) *inner = behind >> (64 - at);
        left = left & (left - 1) & ~inside;
    }
    NAME(pack)(codes, ~inside, each);
    return ~inside;
}

/* The same, if all is well-formed and no character has four bytes; 0, and nothing is done, if that is not so. Eight bytes that are not ASCII
 * begin four characters at most: so many are looked up whether they are there or not, what is not behind the last of 64. No branch depends on
 * how many there are or how long. */
BITLEX_INLINE uint64_t NAME(read_few_whole)(const bitlex_lanes *lanes, uint8_t *codes, const uint8_t *p, V here, uint64_t beyond,
                                            uint64_t *inner)
{
    const V second = NAME(load)(p + 1);
    const uint64_t threes = NAME(bits)(NAME(at_least)(here, NAME(constant)(0xE0)));
    const uint64_t one = NAME(bits)(NAME(followed)(here, second));
    const uint64_t two = one & threes & NAME(bits)(NAME(inside)(NAME(load)(p + 2)));
    const uint64_t inside = *inner | one << 1 | two << 2;
    uint64_t left = (one & ~threes) | two;
    uint8_t each[65];
    uint32_t i;
    if (beyond & ~(inside | left)) return 0;
    NAME(store)(each, NAME(entry)(lanes, lanes->direct, here));
    for (i = 0; i < BITLEX_FEW / 2; i++, left &= left - 1) {
        const uint8_t *const at = p + _tzcnt_u64(left);
        const uint32_t pair = (uint32_t)(at[0] << 6) + at[1], triple = (pair << 6) + at[2] + 0x1000;
        each[at - p] = lanes->points[(uint16_t)(at[0] >= 0xE0 ? triple : pair)];
    }
    NAME(pack)(codes, ~inside, each);
    *inner = one >> 63 | two >> 62;
    return ~inside;
}

/* The codes of characters, side by side. Which bytes belong to the lead before, and whether they are all it asks for, is found by words of
 * bits. What is ill-formed becomes U+FFFD. Reads the bytes from..to, and up to 71 behind; `inner` says which of the first belong to a
 * character before. */
static uint32_t NAME(pack_part)(const bitlex_lanes *lanes, bitlex_lane_memory *memory, const uint8_t *p, uint32_t from, uint32_t to,
                                uint32_t count, uint64_t *inner_bits)
{
    uint64_t inner = *inner_bits;
    uint32_t points[16], at, wait = 0; /* wait: so many code points that are to be looked up */
    bitlex_weights k;
    NAME(weigh)(&k);
    for (at = from; at < to; at += 64, p += 64) {
        const V here = NAME(load)(p);
        const uint64_t beyond = NAME(bits)(NAME(high)(here));
        const int few = __builtin_popcountll(beyond) <= BITLEX_FEW;
        uint64_t one, inside, odd, fours = 0;
        __m256i begin[4];
        V second;
        const uint32_t phase = (uint32_t)__builtin_popcountll(inner);
        const int four = beyond == ~UINT64_C(0) && p[phase] >= 0xF0 && NAME(fours)(&k, points, p + phase);
        PREFETCH(p);
        if (wait != 0 && (few || four || wait > BITLEX_WAITING)) {
            NAME(look_up_points)(lanes->points, memory->codes + count, memory->points, wait, 2);
            count += wait;
            wait = 0;
        }
        if ((beyond | inner) == 0) {
            NAME(store)(memory->codes + count, NAME(entry)(lanes, lanes->direct, here));
            memory->places[at / 64] = ~UINT64_C(0);
            count += 64;
            continue;
        }
        if (few) {
            uint64_t starts = NAME(read_few_whole)(lanes, memory->codes + count, p, here, beyond, &inner);
            if (starts == 0) starts = NAME(read_few)(lanes, memory->codes + count, p, beyond, &inner);
            memory->places[at / 64] = starts;
            count += (uint32_t)__builtin_popcountll(memory->places[at / 64]);
            continue;
        }
        if (four) {
            uint32_t i;
            for (i = 0; i < 16; i++) memory->codes[count++] = code_of(lanes, points[i]);
            memory->places[at / 64] = UINT64_C(0x1111111111111111) << phase;
            inner = (UINT64_C(1) << phase) - 1;
            continue;
        }
        if (beyond == ~UINT64_C(0)) { /* characters of three bytes throughout? */
            const uint32_t all = phase ? 21 : 22;
            if ((~NAME(threes)(&k, memory->points + 2 * wait, p + phase) & ((1u << all) - 1)) == 0) {
                memory->places[at / 64] = UINT64_C(0x9249249249249249) << phase;
                inner = (UINT64_C(1) << (phase ? phase - 1 : 2)) - 1;
                wait += all;
                continue;
            }
        }
        second = NAME(load)(p + 1);
        if (!NAME(beyond_two)(&k, here)) {
            one = NAME(bits)(NAME(followed_two)(here, second));
            inside = inner | one << 1;
            inner = one >> 63;
            odd = beyond & ~(inside | one);
            NAME(points_of_two)(&k, here.low, second.low, begin);
            NAME(points_of_two)(&k, here.high, second.high, begin + 2);
        } else {
            const V third = NAME(load)(p + 2);
            const M threes = NAME(at_least)(here, NAME(constant)(0xE0));
            uint64_t two, whole; /* leads of two or three bytes to which the next byte belongs, and those to which two belong */
            one = NAME(bits)(NAME(followed)(here, second));
            two = one & NAME(bits)(NAME(and)(threes, NAME(inside)(third)));
            inside = inner | one << 1 | two << 2;
            inner = one >> 63 | two >> 62;
            whole = (one & ~NAME(bits)(threes)) | two;
            odd = beyond & ~(inside | whole);
            NAME(points_of_three)(&k, here.low, second.low, third.low, threes.low, begin);
            NAME(points_of_three)(&k, here.high, second.high, third.high, threes.high, begin + 2);
            if (odd) { /* leads of four bytes, or something ill-formed */
                const uint64_t next = NAME(bits)(NAME(followed_four)(here, second)), next_two = next & NAME(bits)(NAME(inside)(third));
                fours = next_two & NAME(bits)(NAME(inside)(NAME(load)(p + 3)));
                inside |= next << 1 | next_two << 2 | fours << 3;
                inner |= next >> 63 | next_two >> 62 | fours >> 61;
                odd = beyond & ~(inside | whole | fours);
            }
        }
        if (odd) NAME(replace)(begin, odd);
        NAME(pack_points)(lanes, memory->points + 2 * wait, ~inside, begin);
        NAME(put_fours)(lanes, memory->points + 2 * wait, ~inside, fours, p);
        memory->places[at / 64] = ~inside;
        wait += (uint32_t)__builtin_popcountll(~inside);
    }
    NAME(look_up_points)(lanes->points, memory->codes + count, memory->points, wait, 2);
    *inner_bits = inner;
    return count + wait;
}

BITLEX_ONCE void NAME(fill_points)(bitlex_lanes *lanes)
{
    uint32_t row, byte, bit, count;
    for (row = 0; row < 1024; row++) {
        const V cells = NAME(load)(cells_of(lanes->machine, row >> 6, row));
        NAME(store)(lanes->points + FIRST + (row << 6), NAME(permute)(lanes->cell_row, cells));
    }
    memcpy(lanes->points, lanes->points + 0x10000, FIRST);
    for (byte = 0; byte < 256; byte++) {
        lanes->points[INDEX(KNOWN + byte)] = (uint8_t)byte;
        memset(lanes->word_places[byte], 0, 16);
        for (bit = count = 0; bit < 8; bit++) {
            if (!(byte >> bit & 1)) continue;
            lanes->word_places[byte][count++] = (uint8_t)(2 * bit);
            lanes->word_places[byte][count++] = (uint8_t)(2 * bit + 1);
        }
    }
}
#undef FIRST
#undef INDEX
#undef KNOWN
