/* bpe_lookup.h - pieces in, by sixteen; their keys and buckets out, with AVX-512, and from these their ids, with AVX2. For bpe_encode.c; and for
 * all that uses vectors, whether there are any.
 *
 *     ' the', ' cat', ...     16 starts and ends -> four vectors of four keys -> 16 buckets, which are asked for
 *     a bucket                its two keys, compared with a key at once, and the ids of both
 *
 * Keys and hashes are those of bpe_key.h, bit for bit, since what one way puts into a bucket the other finds. Four keys need one
 * multiplication, and one comparison to mask what is behind the pieces. (With AVX2, keys are made one by one: bpe_group.h.) Both keys of a bucket
 * are compared as four words: which of them are equal is the index of a table that says where the ids are. Each bucket is asked for as soon as its
 * key is made: where it was done for a whole group at the end, texts whose pieces do not fit the near caches were slower than without vectors.
 *
 * Invariant: nothing is read that the caller has not said may be read: 16 bytes from the start of each piece.
 */
#ifndef BPE_LOOKUP_H
#define BPE_LOOKUP_H

#include "bpe_cache.h"
#include "bpe_joints.h"

#define GROUP 128  /* pieces or parts that are worked on together: their lines come while the others are asked for */
#define SIXTEEN 16 /* of them that are looked up together; arrays have room for so many more */

/* Of what is stored by vectors and read again at once: numbers in two lines of the cache come many times as late. */
#if defined(__GNUC__)
#define IN_LINES __attribute__((aligned(64)))
#else
#define IN_LINES
#endif

#if defined(__x86_64__) && defined(__SSE2__) && defined(__GNUC__)
#define HAS_VECTORS
#define WITH_VECTORS __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi,avx512vbmi2,bmi,bmi2,lzcnt,popcnt")))
#define WITH_AVX2 __attribute__((target("avx2,bmi,bmi2,lzcnt,popcnt"))) /* which is part of it */
#include <immintrin.h>

#define SCRIPTS_KEYS 0x0001000100010001 /* of four keys, the first bytes */
#define LENGTH_BYTES 0x8000800080008000 /* and the last ones */

#define LANE(i) ((i) * 0x0101010101010101)
#define BYTES_0_TO_7 0x0706050403020100
#define BYTES_8_TO_15 0x0F0E0D0C0B0A0908

/* Eight numbers of a table, by where they are. Not gathered: that takes as many steps as one load after the other on some processors, and many
 * times as long on others, for what their makers have done against Downfall (CVE-2022-40982). */
WITH_AVX2 static inline __m256i eight_of(const void *table, __m256i which)
{
    IN_LINES uint32_t at[8], found[8];
    size_t i;
    _mm256_storeu_si256((void *)at, which);
    for (i = 0; i < 8; i++) memcpy(found + i, (const uint8_t *)table + 4 * (size_t)at[i], 4);
    return _mm256_loadu_si256((const void *)found);
}

/* Of sixteen pieces: bits of those that have more than BPE_KEY bytes, whose keys are not to be used, and of those that have more than
 * ONE and begin with a byte that is not below SCRIPTS. */
typedef struct {
    uint32_t longer, scripts;
} unlike;

/* Keys and buckets of up to sixteen pieces; there must be room for sixteen of each. */
WITH_VECTORS static inline unlike put_sixteen(const uint8_t *text, const uint32_t *starts, const uint32_t *ends, size_t count,
                                              const bpe_encoder *e, key *keys, const entry **found)
{
    const __mmask16 all = (__mmask16)_bzhi_u32(0xFFFF, (unsigned)(count < SIXTEEN ? count : SIXTEEN));
    const __m512i from = _mm512_mask_loadu_epi32(_mm512_set1_epi32((int)starts[0]), all, starts);
    const __m512i lengths = _mm512_sub_epi32(_mm512_mask_loadu_epi32(from, all, ends), from);
    const __m512i bytes = _mm512_broadcast_i32x4(_mm512_cvtepi32_epi8(lengths));
    const __m512i places = _mm512_set4_epi64(BYTES_8_TO_15, BYTES_0_TO_7, BYTES_8_TO_15, BYTES_0_TO_7);
    const __m512i factors = _mm512_set4_epi64((long long)HASH_HIGH, (long long)HASH_LOW, (long long)HASH_HIGH, (long long)HASH_LOW);
    const __m512i evens = _mm512_set_epi64(6, 4, 2, 0, 6, 4, 2, 0);
    __m512i which = _mm512_set_epi64(LANE(3), LANE(3), LANE(2), LANE(2), LANE(1), LANE(1), 0, 0);
    const __m512i mask = _mm512_set1_epi64((long long)((uint64_t)e->bucket_mask << 6));
    IN_LINES uint32_t few[SIXTEEN];
    const uint32_t *at = starts;
    unlike u = {0, 0};
    const entry *const volatile *stored = found; /* read again, where compilers would take them out of a vector one by one */
    size_t i, k;
    if (UNLIKELY(count < SIXTEEN)) {
        _mm512_storeu_si512(few, from);
        at = few;
    }
    for (i = 0; i < SIXTEEN; i += 4) {
        const __m512i length = _mm512_shuffle_epi8(bytes, which);
        __m512i four = _mm512_castsi128_si512(_mm_loadu_si128((const void *)(text + at[i])));
        __m512i hashes;
        __mmask64 leads;
        four = _mm512_inserti32x4(four, _mm_loadu_si128((const void *)(text + at[i + 1])), 1);
        four = _mm512_inserti32x4(four, _mm_loadu_si128((const void *)(text + at[i + 2])), 2);
        four = _mm512_inserti32x4(four, _mm_loadu_si128((const void *)(text + at[i + 3])), 3);
        leads = _mm512_mask_cmpge_epu8_mask(SCRIPTS_KEYS, four, _mm512_set1_epi8((char)SCRIPTS));
        u.scripts |= (uint32_t)_pext_u64(leads, SCRIPTS_KEYS) << i;
        four = _mm512_maskz_mov_epi8(_mm512_cmplt_epu8_mask(places, length), four);
        four = _mm512_mask_mov_epi8(four, LENGTH_BYTES, length);
        _mm512_storeu_si512(keys + i, four);
        hashes = _mm512_mullo_epi64(four, factors);
        hashes = _mm512_add_epi64(hashes, _mm512_shuffle_epi32(hashes, _MM_PERM_BADC));
        hashes = _mm512_and_si512(_mm512_srli_epi64(hashes, BUCKET_SHIFT - 6), mask);
        hashes = _mm512_add_epi64(hashes, _mm512_set1_epi64((long long)(uintptr_t)e->buckets));
        _mm256_storeu_si256((void *)(found + i), _mm512_castsi512_si256(_mm512_permutexvar_epi64(evens, hashes)));
        for (k = i; k < i + 4; k++) PREFETCH(stored[k]);
        which = _mm512_add_epi8(which, _mm512_set1_epi8(4));
    }
    u.longer = _mm512_cmpgt_epu32_mask(lengths, _mm512_set1_epi32(BPE_KEY));
    u.scripts &= _mm512_cmpgt_epu32_mask(lengths, _mm512_set1_epi32(ONE));
    return u;
}

/* Where in a bucket the ids of a key are, by which words of its two keys, in bits, are those of the key; or NOWHERE. */
#define NOWHERE 1
#define FOUR(n) NOWHERE, NOWHERE, NOWHERE, (n)
static const uint8_t IDS[16] = {FOUR(32), FOUR(32), FOUR(32), 48, 48, 48, 32};

WITH_AVX2 static inline unsigned ids_in(const entry *bucket, const key *k)
{
    const __m256i twice = _mm256_broadcastsi128_si256(_mm_loadu_si128((const void *)k)), keys = _mm256_loadu_si256((const void *)bucket);
    return IDS[_mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpeq_epi64(twice, keys)))];
}
#endif
#endif
