/* bpe_short.h - pieces in; out, which of them have up to seven bytes and were met before, and two ids of each. For bpe_words.h.
 *
 *     ' the', '\n\n', ...    a word: the bytes of a piece at the top, how many there are at the bottom
 *     a table by hash        16 bytes each: a word, and two ids; filled as pieces are merged, and from buckets (bpe_cache.h)
 *     two ids a piece        in order, of which those that there are are stored: no branch asks how many
 *
 * In code, numbers and English four of five pieces have up to seven bytes, up to two ids, and a place in the table. A word needs half
 * of the instructions that a key and its bucket take, and the table stays in the second cache. All other pieces are listed and looked
 * up in their buckets, many at a time; those that have more ids, or are not found there, are hard and done one by one.
 *
 * Each function is here twice: with AVX-512, for eight pieces at a time, and in plain C, where no branch depends on a piece either.
 *
 * Invariants: no two pieces have the same word, so what lies beside it is that piece's. It is right for pieces and for parts. Nothing is
 * read that the caller has not said may be read: 16 bytes from the start of each piece.
 */
#ifndef BPE_SHORT_H
#define BPE_SHORT_H

#include "bpe_lookup.h"

#ifndef MANY_WORDS
#define MANY_WORDS 1024 /* pieces that are looked up together at most: each list of them has an end that is guessed wrong */
#endif
#define THERE UINT64_C(0x80000000) /* beside an id */
#define SHORT_SHIFT (60 - SHORT_BITS)
#define SHORT_MASK (((UINT64_C(1) << SHORT_BITS) - 1) << 4) /* of a hash: the place of an entry, in bytes */

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
    return (short_entry *)(void *)((uint8_t *)e->shorts + (word * HASH_LOW >> SHORT_SHIFT & SHORT_MASK));
}

/* The word of a piece, of the eight bytes from its start on. Of more than SHORT bytes it may be that of another. */
static inline uint64_t word_of(uint64_t bytes, size_t length)
{
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    return bytes >> ((64 - 8 * length) & 63) << 8 | length;
#else
    return bytes << ((64 - 8 * length) & 63) | length;
#endif
}

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

static inline void put_short(const bpe_encoder *e, key k, size_t length, uint64_t ids)
{
    const uint64_t word = word_of(key_low(k), length);
    short_entry *to = short_of(e, word);
    to->word = word;
    to->ids = ids;
}

/* --- in plain C -------------------------------------------------------------------------------------------------------- */

/* Look pieces up in the table; those that are not there are listed. */
static inline void find_short(const bpe_encoder *e, found_pieces *f, const uint8_t *text, const uint32_t *starts, const uint32_t *ends)
{
    const size_t count = f->count;
    size_t i, n = 0;
    for (i = 0; i < count; i++) {
        const size_t length = ends[i] - starts[i];
        const uint64_t word = word_of(load_8(text + starts[i]), length);
        const short_entry *at = short_of(e, word);
        const uint64_t found = (at->word == word) & (length <= SHORT);
        f->ids[i] = at->ids & (0 - found);
        f->others[n] = (uint16_t)i;
        n += 1 - found;
    }
    f->other_count = n;
}

/* The ids of others that are in their buckets. Of short ones, if they are up to two, they are put into the table. */
static inline void find_others(const bpe_encoder *e, found_pieces *f)
{
    size_t n;
    for (n = 0; n < f->other_count; n++) {
        const entry *found = entry_of(f->buckets[n], f->keys[n]);
        const uint32_t flags = same_key(found->bytes, f->keys[n]) ? found->ids[3] : 0, more = flags >> COUNT_SHIFT;
        const size_t length = f->ends[n] - f->starts[n];
        f->first[n] = pair_of(found->ids);
        f->last[n] = found->ids[2] | (uint64_t)flags << 32;
        f->two[n] = two_ids(f->first[n], 1 + more) & (0 - (uint64_t)(((flags & PLAIN) != 0) & (more < 2)));
        if (f->two[n] != 0 && length <= SHORT) put_short(e, f->keys[n], length, f->two[n]);
    }
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

/* --- with AVX-512 ------------------------------------------------------------------------------------------------------ */

#ifdef HAS_VECTORS

/* Eight bytes of two pieces, and of four. */
WITH_VECTORS static inline __m128i two_words(const uint8_t *a, const uint8_t *b)
{
    return _mm_castpd_si128(_mm_loadh_pd(_mm_castsi128_pd(_mm_loadl_epi64((const void *)a)), (const void *)b));
}

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
    __mmask8 found;
    __m256i n;
    uint64_t x, y, z, w;
    words = _mm512_sllv_epi64(words, _mm512_sub_epi64(_mm512_set1_epi64(64), _mm512_slli_epi64(lengths, 3)));
    words = _mm512_or_si512(words, lengths);
    places = _mm512_srli_epi64(_mm512_mullo_epi64(words, _mm512_set1_epi64((long long)HASH_LOW)), SHORT_SHIFT);
    n = _mm512_cvtepi64_epi32(_mm512_and_si512(places, _mm512_set1_epi64((long long)SHORT_MASK)));
    x = (uint64_t)_mm_cvtsi128_si64(_mm256_castsi256_si128(n));
    y = (uint64_t)_mm_extract_epi64(_mm256_castsi256_si128(n), 1);
    z = (uint64_t)_mm_cvtsi128_si64(_mm256_extracti128_si256(n, 1));
    w = (uint64_t)_mm_extract_epi64(_mm256_extracti128_si256(n, 1), 1);
    even = four_entries(table, (uint32_t)x, (uint32_t)y, (uint32_t)z, (uint32_t)w);
    odd = four_entries(table, x >> 32, y >> 32, z >> 32, w >> 32);
    found = _mm512_mask_cmpeq_epi64_mask(short_ones, words, _mm512_unpacklo_epi64(even, odd));
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
WITH_VECTORS static inline void find_short_by_vectors(const bpe_encoder *e, found_pieces *f, const uint8_t *text, const uint32_t *starts,
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
WITH_VECTORS static inline void find_others_by_vectors(const bpe_encoder *e, found_pieces *f)
{
    const __m512i id = _mm512_set1_epi32(BPE_TOKENS - 1), there = _mm512_set1_epi32((int)THERE);
    const __m512i odd = _mm512_set_epi64(15, 13, 11, 9, 7, 5, 3, 1);
    uint16_t short_ones[MANY_WORDS + 8];
    size_t n, count = 0;
    for (n = 0; n < f->other_count; n++) {
        const unsigned at = ids_in(f->buckets[n], f->keys + n);
        const uint8_t *ids = (const uint8_t *)f->buckets[n] + at;
        f->first[n] = load_8(ids);
        f->last[n] = load_8(ids + 8) & (0 - (uint64_t)(at / 32));
    }
    for (n = 0; n < f->other_count; n += 8) {
        const __m512i flags = _mm512_loadu_si512(f->last + n);
        const __mmask8 here = (__mmask8)_bzhi_u32(0xFF, (unsigned)(f->other_count - n < 8 ? f->other_count - n : 8));
        const __mmask8 full = _mm512_movepi64_mask(flags); /* three or four */
        const __mmask8 plain = _mm512_test_epi64_mask(flags, _mm512_set1_epi64((long long)((uint64_t)PLAIN << 32))) & ~full;
        const __mmask8 both = _mm512_test_epi64_mask(flags, _mm512_set1_epi64((long long)(UINT64_C(1) << (32 + COUNT_SHIFT))));
        const __m512i ids = _mm512_or_si512(_mm512_and_si512(_mm512_loadu_si512(f->first + n), id), there);
        const __m512i high = _mm512_permutex2var_epi64(_mm512_loadu_si512(f->keys + n), odd, _mm512_loadu_si512(f->keys + n + 4));
        const __mmask8 few = _mm512_cmplt_epu64_mask(high, _mm512_set1_epi64((long long)((uint64_t)(SHORT + 1) << 56))) & plain & here;
        const __m512i two = _mm512_mask_mov_epi64(_mm512_and_si512(ids, _mm512_set1_epi64(UINT32_MAX)), both, ids);
        _mm512_storeu_si512(f->two + n, _mm512_maskz_mov_epi64(plain, two));
        count = list_numbers(short_ones, count, n, few);
    }
    for (n = 0; n < count; n++) {
        const size_t i = short_ones[n];
        put_short(e, f->keys[i], f->ends[i] - f->starts[i], f->two[i]);
    }
}

/* Put two ids of each other where its piece is, and list those of which none are known. */
WITH_VECTORS static inline void place_others_by_vectors(found_pieces *f)
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
WITH_VECTORS static inline size_t store_ids_by_vectors(const found_pieces *f, size_t from, size_t to, uint32_t *out, size_t done)
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

#endif
#endif
