/* bpe_short.h - pieces in; out, which of them have up to eight bytes and were met before, and two ids of each. For bpe_words.h;
 * store_some is also for bpe_regions.h and bpe_merge_rounds.c.
 *
 *     ' the', '\n\n', ...    a word: the bytes of a piece at the top, how many there are at the bottom; of eight, the bytes alone
 *     a table by hash        16 bytes each: a word, and two ids; filled as pieces are merged, and from buckets (bpe_cache.h)
 *     two ids a piece        in order, of which those that there are are stored: no branch asks how many
 *
 * In code, numbers and English four of five pieces have up to eight bytes, up to two ids, and a place in the table. A word needs half
 * of the instructions that a key and its bucket take, and the table stays in the second cache. All other pieces are listed and looked
 * up in their buckets, many at a time; those that have more ids, or are not found there, are hard and done one by one.
 *
 * With AVX-512, eight pieces are looked up and stored together, and eight others; with AVX2, four of each; in plain C one after the other, without
 * a branch on whether a piece is there.
 *
 * Invariants: no two pieces that have a word have the same, so what lies beside it is that piece's. Eight bytes that could be the word of fewer,
 * as the byte at the bottom is below eight, have none. It is right for pieces and for parts. Nothing is read that the caller has not said may be
 * read: 16 bytes from the start of each piece.
 */
#ifndef BPE_SHORT_H
#define BPE_SHORT_H

#include "bpe_lookup.h"

#ifndef MANY_WORDS
#define MANY_WORDS 1024 /* pieces that are looked up together at most: each list of them has an end that is guessed wrong */
#endif
#define THERE UINT64_C(0x80000000) /* beside an id */
#define WORD_LOW UINT64_C(0x9E3779B1) /* each half of a word is multiplied by one: AVX2 has no products of more than 32 bits by 32 */
#define WORD_HIGH UINT64_C(0x85EBCA77)
#define WORD_SHIFT 28 /* from where on the bits of the sum are good */
#define SHORT_MASK (((UINT64_C(1) << SHORT_BITS) - 1) << 4) /* of these: the place of an entry, in bytes */

typedef struct IN_LINES {
    uint64_t ids[MANY_WORDS];                              /* two of each piece, with THERE; zeros where there is none, or none is known */
    uint16_t others[MANY_WORDS + 32];                      /* pieces that are not in the table */
    uint16_t hard[MANY_WORDS + 32];                        /* others of which not all ids are among the two */
    uint32_t starts[MANY_WORDS + SIXTEEN], ends[MANY_WORDS + SIXTEEN]; /* of others, */
    key keys[MANY_WORDS + SIXTEEN];
    const entry *buckets[MANY_WORDS + SIXTEEN];
    uint64_t first[MANY_WORDS + SIXTEEN], last[MANY_WORDS + SIXTEEN]; /* the four ids in their entries; no PLAIN where none are found, */
    uint64_t two[MANY_WORDS + SIXTEEN];                    /* and two of them, as above */
    uint64_t hashes[MANY_WORDS + SIXTEEN];                 /* of others of more than BPE_KEY bytes, */
    uint16_t longer[MANY_WORDS + SIXTEEN];                 /* and which these are */
    size_t count, other_count, hard_count;
} found_pieces;

/* The entry where a word is, if it is in the table. */
static inline short_entry *short_of(const bpe_encoder *e, uint64_t word)
{
    const uint64_t hash = (uint32_t)word * WORD_LOW + (word >> 32) * WORD_HIGH;
    return (short_entry *)(void *)((uint8_t *)e->shorts + (hash >> WORD_SHIFT & SHORT_MASK));
}

/* The word of a piece, of the eight bytes from its start on. Of those that have none, it may be that of another. */
static inline uint64_t word_of(uint64_t bytes, size_t length)
{
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    bytes = __builtin_bswap64(bytes);
#endif
    return bytes << ((64 - 8 * length) & 63) | (length & 7);
}

static inline uint64_t has_word(uint64_t word, size_t length) { return (length < 8) | ((length == 8) & ((word & 0xF8) != 0)); }

static inline uint64_t pair_of(const uint32_t *ids) { return ids[0] | (uint64_t)ids[1] << 32; }

/* Two ids in a word, of so many (1 or 2), where those behind may be anything. */
static inline uint64_t two_ids(uint64_t two, size_t count)
{
    const uint64_t first = (two & (BPE_TOKENS - 1)) | THERE, second = (two >> 32 & (BPE_TOKENS - 1)) | THERE;
    return count == 1 ? first : first | second << 32;
}

/* Both of them, without what is kept beside them. */
static inline void put_two(uint32_t *out, uint64_t two)
{
    out[0] = (uint32_t)two & (BPE_TOKENS - 1);
    out[1] = (uint32_t)(two >> 32) & (BPE_TOKENS - 1);
}

/* Of a piece of up to SHORT bytes. */
static inline void put_short(const bpe_encoder *e, key k, size_t length, uint64_t ids)
{
    const uint64_t word = word_of(key_low(k), length);
    short_entry *to = short_of(e, word);
    to->word = word & (0 - has_word(word, length)); /* no piece has the word 0 */
    to->ids = ids;
}

/* --- in plain C -------------------------------------------------------------------------------------------------------- */

/* Look pieces from one on up in the table; those that are not there are listed behind others. */
static inline void find_rest(const bpe_encoder *e, found_pieces *f, const uint8_t *text, const uint32_t *starts, const uint32_t *ends, size_t i)
{
    const size_t count = f->count;
    size_t n = f->other_count;
    for (; i < count; i++) {
        const size_t length = ends[i] - starts[i];
        const uint64_t word = word_of(load_8(text + starts[i]), length);
        const short_entry *at = short_of(e, word);
        const uint64_t found = (at->word == word) & has_word(word, length);
        f->ids[i] = at->ids & (0 - found);
        f->others[n] = (uint16_t)i;
        n += 1 - found;
    }
    f->other_count = n;
}

/* The same of all pieces. */
static inline void find_short(const bpe_encoder *e, found_pieces *f, const uint8_t *text, const uint32_t *starts, const uint32_t *ends)
{
    f->other_count = 0;
    find_rest(e, f, text, starts, ends, 0);
}

/* Put short others into the table. */
static inline void put_short_ones(const bpe_encoder *e, const found_pieces *f, const uint16_t *short_ones, size_t count)
{
    size_t n;
    for (n = 0; n < count; n++) {
        const size_t i = short_ones[n];
        put_short(e, f->keys[i], f->ends[i] - f->starts[i], f->two[i]);
    }
}

/* The ids of others that are in their buckets. Of short ones, if they are up to two, they are put into the table. */
static inline void find_others(const bpe_encoder *e, found_pieces *f)
{
    uint16_t short_ones[MANY_WORDS];
    size_t n, count = 0;
    for (n = 0; n < f->other_count; n++) { /* without a branch: which of two a piece is in, if any, is guessed wrong as often as not */
        const entry *found = entry_of(f->buckets[n], f->keys[n]);
        const uint32_t flags = found->ids[3] & (0 - (uint32_t)same_key(found->bytes, f->keys[n])), more = flags >> COUNT_SHIFT;
        const uint64_t few = (flags >> PLAIN_SHIFT & 1) & (more < 2);
        f->first[n] = pair_of(found->ids);
        f->last[n] = found->ids[2] | (uint64_t)flags << 32;
        f->two[n] = ((f->first[n] | THERE | THERE << 32) & (UINT32_MAX | (0 - (uint64_t)(more & 1)) << 32)) & (0 - few);
        short_ones[count] = (uint16_t)n;
        count += (size_t)few & (f->ends[n] - f->starts[n] <= SHORT);
    }
    put_short_ones(e, f, short_ones, count);
}

/* Put two ids of each other where its piece is, and list those of which none are known. */
static inline void place_others(found_pieces *f)
{
    size_t n, count = 0;
    for (n = 0; n < f->other_count; n++) {
        f->ids[f->others[n]] = f->two[n];
        f->hard[count] = (uint16_t)n;
        count += f->two[n] == 0;
    }
    f->hard_count = count;
}

/* Store the ids of pieces from one up to another behind the first `done`, as far as they are known: how many there are then. */
static inline size_t store_ids(const found_pieces *f, size_t from, size_t to, uint32_t *out, size_t done)
{
    for (; from < to; from++) {
        put_two(out + done, f->ids[from]);
        done += (f->ids[from] >> 31 & 1) + (f->ids[from] >> 63);
    }
    return done;
}

static inline size_t count_ids(const found_pieces *f, size_t from, size_t to)
{
    size_t count = 0;
    for (; from < to; from++) count += (f->ids[from] >> 31 & 1) + (f->ids[from] >> 63);
    return count;
}

#ifdef HAS_VECTORS

/* --- with AVX2 --------------------------------------------------------------------------------------------------------- */

/* Of four bits, which are set; and the same of numbers of four bytes, as _mm_shuffle_epi8 has it. */
#define LISTS(list) \
    list(0, 0, 0, 0), list(0, 0, 0, 0), list(1, 0, 0, 0), list(0, 1, 0, 0), list(2, 0, 0, 0), list(0, 2, 0, 0), list(1, 2, 0, 0), \
    list(0, 1, 2, 0), list(3, 0, 0, 0), list(0, 3, 0, 0), list(1, 3, 0, 0), list(0, 1, 3, 0), list(2, 3, 0, 0), list(0, 2, 3, 0), \
    list(1, 2, 3, 0), list(0, 1, 2, 3)
#define NUMBERS(a, b, c, d) {a, b, c, d}
#define BYTES_OF(n) UINT32_C(0x03020100) + UINT32_C(0x04040404) * (n)
#define ORDER(a, b, c, d) {BYTES_OF(a), BYTES_OF(b), BYTES_OF(c), BYTES_OF(d)}
static const uint16_t NUMBERS_OF_4[16][4] = {LISTS(NUMBERS)};
static const uint32_t ORDERS_OF_4[16][4] = {LISTS(ORDER)};
#undef LISTS
#undef NUMBERS
#undef BYTES_OF
#undef ORDER

/* Numbers from n on, of those of the next four that are set, at the end of a list, which has room for four more: how many it has then. */
WITH_AVX2 static inline size_t list_four(uint16_t *list, size_t count, size_t n, unsigned which)
{
    const uint64_t numbers = load_8(NUMBERS_OF_4[which]) + n * UINT64_C(0x0001000100010001);
    memcpy(list + count, &numbers, sizeof numbers);
    return count + (size_t)_mm_popcnt_u32(which);
}

/* Eight bytes of two pieces. */
static inline __m128i two_words(const uint8_t *a, const uint8_t *b)
{
    return _mm_castpd_si128(_mm_loadh_pd(_mm_castsi128_pd(_mm_loadl_epi64((const void *)a)), (const void *)b));
}

WITH_AVX2 static inline __m256i two_entries(const uint8_t *table, uint64_t a, uint64_t b)
{
    const __m256i first = _mm256_castsi128_si256(_mm_loadu_si128((const void *)(table + a)));
    return _mm256_inserti128_si256(first, _mm_loadu_si128((const void *)(table + b)), 1);
}

/* The ids of four pieces, as far as they are in the table: bits of those that are. */
WITH_AVX2 static inline unsigned find_four(const bpe_encoder *e, const uint8_t *text, const uint32_t *starts, const uint32_t *ends, uint64_t *ids)
{
    const uint8_t *table = (const uint8_t *)e->shorts;
    const __m128i from = _mm_loadu_si128((const void *)starts), sizes = _mm_sub_epi32(_mm_loadu_si128((const void *)ends), from);
    const __m256i lengths = _mm256_cvtepu32_epi64(sizes);
    const __m128i low = two_words(text + starts[0], text + starts[1]), high = two_words(text + starts[2], text + starts[3]);
    __m256i words = _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1), places, even, odd, found, ambiguous;
    __m128i first, second;
    words = _mm256_sllv_epi64(words, _mm256_sub_epi64(_mm256_set1_epi64x(64), _mm256_slli_epi64(lengths, 3)));
    words = _mm256_or_si256(words, _mm256_and_si256(lengths, _mm256_set1_epi64x(7)));
    places = _mm256_mul_epu32(words, _mm256_set1_epi64x((long long)WORD_LOW));
    places = _mm256_add_epi64(places, _mm256_mul_epu32(_mm256_srli_epi64(words, 32), _mm256_set1_epi64x((long long)WORD_HIGH)));
    places = _mm256_and_si256(_mm256_srli_epi64(places, WORD_SHIFT), _mm256_set1_epi64x((long long)SHORT_MASK));
    first = _mm256_castsi256_si128(places);
    second = _mm256_extracti128_si256(places, 1);
    even = two_entries(table, (uint64_t)_mm_cvtsi128_si64(first), (uint64_t)_mm_cvtsi128_si64(second));
    odd = two_entries(table, (uint64_t)_mm_extract_epi64(first, 1), (uint64_t)_mm_extract_epi64(second, 1));
    found = _mm256_and_si256(_mm256_cmpeq_epi64(words, _mm256_unpacklo_epi64(even, odd)),
                             _mm256_cmpgt_epi64(_mm256_set1_epi64x(SHORT + 1), lengths));
    ambiguous = _mm256_cmpgt_epi64(_mm256_set1_epi64x(8), _mm256_and_si256(words, _mm256_set1_epi64x(0xFF)));
    found = _mm256_andnot_si256(_mm256_and_si256(ambiguous, _mm256_cmpeq_epi64(lengths, _mm256_set1_epi64x(8))), found);
    _mm256_storeu_si256((void *)ids, _mm256_and_si256(found, _mm256_unpackhi_epi64(even, odd)));
    return (unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(found));
}

/* As find_short. */
WITH_AVX2 static inline void find_short_avx2(const bpe_encoder *e, found_pieces *f, const uint8_t *text, const uint32_t *starts,
                                             const uint32_t *ends)
{
    const size_t count = f->count;
    size_t i, n = 0;
    for (i = 0; i + 4 <= count; i += 4) {
        n = list_four(f->others, n, i, find_four(e, text, starts + i, ends + i, f->ids + i) ^ 15);
    }
    f->other_count = n;
    find_rest(e, f, text, starts, ends, i);
}

/* Store those of four numbers that bits say, such as ids that there are: how many. Four may be written. */
WITH_AVX2 static inline size_t store_some(uint32_t *out, __m128i ids, unsigned are)
{
    _mm_storeu_si128((void *)out, _mm_shuffle_epi8(ids, _mm_loadu_si128((const void *)ORDERS_OF_4[are])));
    return (size_t)_mm_popcnt_u32(are);
}

/* Four ids of each other, from its entry; of those that are not in their buckets, no flags. */
WITH_AVX2 static inline void read_others(found_pieces *f)
{
    size_t n;
    for (n = 0; n < f->other_count; n++) {
        const unsigned at = ids_in(f->buckets[n], f->keys + n);
        const uint8_t *ids = (const uint8_t *)f->buckets[n] + at;
        f->first[n] = load_8(ids);
        f->last[n] = load_8(ids + 8) & (0 - (uint64_t)(at / 32));
    }
}

/* As find_others. */
WITH_AVX2 static inline void find_others_avx2(const bpe_encoder *e, found_pieces *f)
{
    const __m256i there = _mm256_set1_epi32((int)THERE);
    const __m256d one = _mm256_castsi256_pd(_mm256_set1_epi64x(UINT32_MAX));
    uint16_t short_ones[MANY_WORDS + 4];
    size_t n, count = 0;
    read_others(f);
    for (n = 0; n < f->other_count; n += 4) {
        const __m256i flags = _mm256_loadu_si256((const void *)(f->last + n)); /* the uppermost bit: three ids or four */
        const __m256d plain = _mm256_castsi256_pd(_mm256_andnot_si256(flags, _mm256_slli_epi64(flags, 63 - (32 + PLAIN_SHIFT))));
        const __m256d both = _mm256_castsi256_pd(_mm256_slli_epi64(flags, 63 - (32 + COUNT_SHIFT)));
        const __m256d ids = _mm256_castsi256_pd(_mm256_or_si256(_mm256_loadu_si256((const void *)(f->first + n)), there));
        const __m256d two = _mm256_blendv_pd(_mm256_and_pd(ids, one), ids, both);
        const __m128i from = _mm_loadu_si128((const void *)(f->starts + n)), to = _mm_loadu_si128((const void *)(f->ends + n));
        const __m128i few = _mm_cmpgt_epi32(_mm_set1_epi32(SHORT + 1), _mm_sub_epi32(to, from));
        const unsigned here = _bzhi_u32(15, f->other_count - n < 4 ? (unsigned)(f->other_count - n) : 4);
        const unsigned which = (unsigned)(_mm_movemask_ps(_mm_castsi128_ps(few)) & _mm256_movemask_pd(plain)) & here;
        _mm256_storeu_pd((double *)(f->two + n), _mm256_blendv_pd(_mm256_setzero_pd(), two, plain));
        count = list_four(short_ones, count, n, which);
    }
    put_short_ones(e, f, short_ones, count);
}

/* As store_ids. */
WITH_AVX2 static inline size_t store_ids_avx2(const found_pieces *f, size_t from, size_t to, uint32_t *out, size_t done)
{
    const __m256i there = _mm256_set1_epi32((int)THERE);
    for (; from + 4 <= to; from += 4) {
        const __m256i four = _mm256_loadu_si256((const void *)(f->ids + from)), ids = _mm256_andnot_si256(there, four);
        const unsigned are = (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(four));
        done += store_some(out + done, _mm256_castsi256_si128(ids), are & 15);
        done += store_some(out + done, _mm256_extracti128_si256(ids, 1), are >> 4);
    }
    return store_ids(f, from, to, out, done);
}

/* --- with AVX-512 ------------------------------------------------------------------------------------------------------ */

/* Eight bytes of four pieces. */
WITH_VECTORS static inline __m256i four_words(const uint8_t *text, const uint32_t *at)
{
    const __m128i two = two_words(text + at[0], text + at[1]);
    return _mm256_inserti128_si256(_mm256_castsi128_si256(two), two_words(text + at[2], text + at[3]), 1);
}

WITH_VECTORS static inline __m512i four_entries(const uint8_t *table, uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
    __m512i four = _mm512_castsi128_si512(_mm_loadu_si128((const void *)(table + a)));
    four = _mm512_inserti32x4(four, _mm_loadu_si128((const void *)(table + b)), 1);
    four = _mm512_inserti32x4(four, _mm_loadu_si128((const void *)(table + c)), 2);
    return _mm512_inserti32x4(four, _mm_loadu_si128((const void *)(table + d)), 3);
}

/* The ids of eight pieces, as far as they are in the table: bits of those that are. */
WITH_VECTORS static inline unsigned find_eight(const bpe_encoder *e, const uint8_t *text, const uint32_t *at, __m512i lengths,
                                               uint64_t *ids)
{
    const uint8_t *table = (const uint8_t *)e->shorts;
    const __mmask8 short_ones = _mm512_cmplt_epu64_mask(lengths, _mm512_set1_epi64(SHORT + 1));
    const __m256i low = four_words(text, at), high = four_words(text, at + 4);
    __m512i words = _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1), places, even, odd;
    __mmask8 ambiguous, found;
    __m256i n;
    uint64_t x, y, z, w;
    words = _mm512_sllv_epi64(words, _mm512_sub_epi64(_mm512_set1_epi64(64), _mm512_slli_epi64(lengths, 3)));
    words = _mm512_or_si512(words, _mm512_and_si512(lengths, _mm512_set1_epi64(7)));
    places = _mm512_mul_epu32(words, _mm512_set1_epi64((long long)WORD_LOW));
    places = _mm512_add_epi64(places, _mm512_mul_epu32(_mm512_srli_epi64(words, 32), _mm512_set1_epi64((long long)WORD_HIGH)));
    places = _mm512_srli_epi64(places, WORD_SHIFT);
    n = _mm512_cvtepi64_epi32(_mm512_and_si512(places, _mm512_set1_epi64((long long)SHORT_MASK)));
    x = (uint64_t)_mm_cvtsi128_si64(_mm256_castsi256_si128(n));
    y = (uint64_t)_mm_extract_epi64(_mm256_castsi256_si128(n), 1);
    z = (uint64_t)_mm_cvtsi128_si64(_mm256_extracti128_si256(n, 1));
    w = (uint64_t)_mm_extract_epi64(_mm256_extracti128_si256(n, 1), 1);
    even = four_entries(table, (uint32_t)x, (uint32_t)y, (uint32_t)z, (uint32_t)w);
    odd = four_entries(table, x >> 32, y >> 32, z >> 32, w >> 32);
    ambiguous = _mm512_mask_testn_epi64_mask(_mm512_cmpeq_epi64_mask(lengths, _mm512_set1_epi64(8)), words, _mm512_set1_epi64(0xF8));
    found = _mm512_mask_cmpeq_epi64_mask(short_ones & ~ambiguous, words, _mm512_unpacklo_epi64(even, odd));
    _mm512_storeu_si512(ids, _mm512_maskz_unpackhi_epi64(found, even, odd));
    return found;
}

/* Numbers from n on, of those of the next eight that a mask has, at the end of a list: how many it has then. */
WITH_VECTORS static inline size_t list_numbers(uint16_t *list, size_t count, size_t n, __mmask8 which)
{
    const __m128i numbers = _mm_add_epi16(_mm_set1_epi16((short)n), _mm_set_epi64x(0x0007000600050004, 0x0003000200010000));
    _mm_storeu_si128((void *)(list + count), _mm_maskz_compress_epi16(which, numbers));
    return count + (size_t)_mm_popcnt_u32(which);
}

/* The same of fewer, of which no more may be read. */
WITH_VECTORS static inline unsigned find_few(const bpe_encoder *e, const uint8_t *text, const uint32_t *starts, const uint32_t *ends,
                                             size_t count, uint64_t *ids)
{
    const __mmask8 all = (__mmask8)_bzhi_u32(0xFF, (unsigned)count);
    const __m256i from = _mm256_mask_loadu_epi32(_mm256_set1_epi32((int)starts[0]), all, starts);
    IN_LINES uint32_t at[8];
    _mm256_storeu_si256((void *)at, from);
    return find_eight(e, text, at, _mm512_cvtepu32_epi64(_mm256_sub_epi32(_mm256_mask_loadu_epi32(from, all, ends), from)), ids);
}

/* Look pieces up in the table; those that are not there are listed. */
WITH_VECTORS static inline void find_short_avx512(const bpe_encoder *e, found_pieces *f, const uint8_t *text, const uint32_t *starts,
                                           const uint32_t *ends)
{
    __m512i numbers = _mm512_cvtepu8_epi16(_mm256_set_epi64x(0x1F1E1D1C1B1A1918, 0x1716151413121110, BYTES_8_TO_15, BYTES_0_TO_7));
    size_t i, k, n = 0;
    for (i = 0; i < f->count; i += 32, numbers = _mm512_add_epi16(numbers, _mm512_set1_epi16(32))) {
        const size_t here = f->count - i < 32 ? f->count - i : 32;
        uint32_t found = 0;
        for (k = 0; here == 32 && k < 32; k += 8) {
            const __m256i from = _mm256_loadu_si256((const void *)(starts + i + k)), to = _mm256_loadu_si256((const void *)(ends + i + k));
            found |= find_eight(e, text, starts + i + k, _mm512_cvtepu32_epi64(_mm256_sub_epi32(to, from)), f->ids + i + k) << k;
        }
        for (; UNLIKELY(k < here); k += 8) {
            found |= find_few(e, text, starts + i + k, ends + i + k, here - k < 8 ? here - k : 8, f->ids + i + k) << k;
        }
        found = ~found & _bzhi_u32(~UINT32_C(0), (unsigned)here);
        _mm512_storeu_si512(f->others + n, _mm512_maskz_compress_epi16(found, numbers));
        n += (size_t)_mm_popcnt_u32(found);
    }
    f->other_count = n;
}

/* The keys of sixteen others from one on, whose buckets are asked for. */
WITH_VECTORS static inline unlike put_sixteen_others(const bpe_encoder *e, found_pieces *f, const uint8_t *text, const uint32_t *starts,
                                                     const uint32_t *ends, size_t n)
{
    const __m512i which = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const void *)(f->others + n)));
    const __mmask16 all = (__mmask16)_bzhi_u32(0xFFFF, (unsigned)(f->other_count - n < SIXTEEN ? f->other_count - n : SIXTEEN));
    const __m512i zeros = _mm512_setzero_si512();
    _mm512_storeu_si512(f->starts + n, _mm512_mask_i32gather_epi32(zeros, all, which, starts, 4));
    _mm512_storeu_si512(f->ends + n, _mm512_mask_i32gather_epi32(zeros, all, which, ends, 4));
    return put_sixteen(text, f->starts + n, f->ends + n, f->other_count - n, e, f->keys + n, f->buckets + n);
}

/* The ids of others that are in their buckets. Of short ones, if they are up to two, they are put into the table. */
WITH_VECTORS static inline void find_others_avx512(const bpe_encoder *e, found_pieces *f)
{
    const __m512i there = _mm512_set1_epi32((int)THERE);
    const __m512i odd = _mm512_set_epi64(15, 13, 11, 9, 7, 5, 3, 1);
    uint16_t short_ones[MANY_WORDS + 8];
    size_t n, count = 0;
    read_others(f);
    for (n = 0; n < f->other_count; n += 8) {
        const __m512i flags = _mm512_loadu_si512(f->last + n);
        const __mmask8 here = (__mmask8)_bzhi_u32(0xFF, (unsigned)(f->other_count - n < 8 ? f->other_count - n : 8));
        const __mmask8 full = _mm512_movepi64_mask(flags); /* three or four */
        const __mmask8 plain = _mm512_test_epi64_mask(flags, _mm512_set1_epi64((long long)((uint64_t)PLAIN << 32))) & ~full;
        const __mmask8 both = _mm512_test_epi64_mask(flags, _mm512_set1_epi64((long long)(UINT64_C(1) << (32 + COUNT_SHIFT))));
        const __m512i ids = _mm512_or_si512(_mm512_loadu_si512(f->first + n), there);
        const __m512i high = _mm512_permutex2var_epi64(_mm512_loadu_si512(f->keys + n), odd, _mm512_loadu_si512(f->keys + n + 4));
        const __mmask8 few = _mm512_cmplt_epu64_mask(high, _mm512_set1_epi64((long long)((uint64_t)(SHORT + 1) << 56))) & plain & here;
        const __m512i two = _mm512_mask_mov_epi64(_mm512_and_si512(ids, _mm512_set1_epi64(UINT32_MAX)), both, ids);
        _mm512_storeu_si512(f->two + n, _mm512_maskz_mov_epi64(plain, two));
        count = list_numbers(short_ones, count, n, few);
    }
    put_short_ones(e, f, short_ones, count);
}

/* Put two ids of each other where its piece is, and list those of which none are known. */
WITH_VECTORS static inline void place_others_avx512(found_pieces *f)
{
    size_t n;
    f->hard_count = 0;
    for (n = 0; n < f->other_count; n++) f->ids[f->others[n]] = f->two[n];
    for (n = 0; n < f->other_count; n += 8) {
        const __mmask8 here = (__mmask8)_bzhi_u32(0xFF, (unsigned)(f->other_count - n < 8 ? f->other_count - n : 8));
        const __m512i two = _mm512_loadu_si512(f->two + n);
        f->hard_count = list_numbers(f->hard, f->hard_count, n, here & _mm512_testn_epi64_mask(two, two));
    }
}

/* Store the ids of pieces from one up to another behind the first `done`, as far as they are known: how many there are then. */
WITH_VECTORS static inline size_t store_ids_avx512(const found_pieces *f, size_t from, size_t to, uint32_t *out, size_t done)
{
    const __m512i there = _mm512_set1_epi32((int)THERE);
    for (; from < to; from += 8) {
        const unsigned here = to - from < 8 ? (unsigned)(to - from) : 8;
        const __m512i ids = _mm512_maskz_loadu_epi64((__mmask8)_bzhi_u32(0xFF, here), f->ids + from);
        const __mmask16 are = _mm512_movepi32_mask(ids);
        _mm512_storeu_si512(out + done, _mm512_maskz_compress_epi32(are, _mm512_andnot_si512(there, ids)));
        done += (size_t)_mm_popcnt_u32(are);
    }
    return done;
}

/* How many ids some pieces have, fewer than eight. */
WITH_VECTORS static inline size_t count_ids_avx512(const found_pieces *f, size_t from, size_t to)
{
    const __m512i ids = _mm512_maskz_loadu_epi64((__mmask8)_bzhi_u32(0xFF, (unsigned)(to - from)), f->ids + from);
    return (size_t)_mm_popcnt_u32(_mm512_movepi32_mask(ids));
}

#endif
#endif
