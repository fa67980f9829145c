/* bpe_decode.c - ids in, the bytes of their tokens out, and what characters they spell; or only how many they will be.
 *
 * Of each id 32 bits are kept together (bpe_sizes.h). So a token is measured by adding and oring one number; sixteen are, before anybody
 * looks at what became of them. Nearly every token is a record of 16 bytes that is copied whole; the next one overwrites what was too much.
 * Eight are copied before anybody looks, too. An id that is no token of the vocabulary, or decodes to something else, is looked for among the
 * few of these. With AVX-512, four records are one vector, whose last bytes say which of the others are squeezed out: one look-up for each
 * id, and one store for four.
 *
 * Rejected: records of the decoder's own, in which all that is as it should be (a copy of the largest table but one); without AVX-512,
 * to take the length from the record, and how wide characters are from the bytes (one look-up less, but 8 to 25 % slower: instructions
 * take the time); with it, to store the places of records and read them again (as slow as without), to store what stands before a long
 * token in its four at once (Python 5 to 10 % faster, JSON 20 % slower), and words of eight bytes for tokens of up to seven, eight at once,
 * as long as few are longer (Chinese and Japanese 15 to 20 % faster, emoji as fast, English and code 12 to 20 % slower).
 */
#include "bpe_sizes.h"

#include <stdlib.h>

#define COPIED 8 /* records that are copied before anybody looks at what became of them */
#define AT_ONCE 16 /* sizes that may be added before their characters reach the bits above */

/* How much of a number a character takes at most, of sizes that were ored. */
static inline uint32_t widest_of(uint32_t any)
{
    const uint32_t wider = any >> WIDER_SHIFT & 7;
    return (wider & 1) + (wider >> 1 & 1) + (wider >> 2);
}

static int by_id(const void *a, const void *b)
{
    const uint32_t x = ((const bpe_other *)a)->id, y = ((const bpe_other *)b)->id;
    return (x > y) - (x < y);
}

/* An id that has a size: itself, or that of no token. */
static inline uint32_t known(const bpe_decoder *d, uint32_t id) { return id < d->v->token_count ? id : d->v->token_count; }

/* The longest run of ids of the vocabulary of which none decodes to something else. */
static void find_plain(bpe_decoder *d)
{
    uint32_t from = 0;
    size_t i;
    for (i = 0; i <= d->other_count; i++) {
        const uint32_t to = i < d->other_count ? known(d, d->others[i].id) : d->v->token_count;
        if (to > from && to - from > d->plain_count) {
            d->plain_from = from;
            d->plain_count = to - from;
        }
        from = to + 1;
    }
}

int bpe_decoder_begin(bpe_decoder *d, const bpe_vocabulary *v, const bpe_other *others, size_t count)
{
    const size_t size = ((size_t)v->token_count + 1) * sizeof *d->sizes;
    int changed = 0; /* some token that has a size of its own */
    size_t i;
    memset(d, 0, sizeof *d);
    d->v = v;
    d->sizes = v->sizes;
    for (i = 0; i < count; i++) changed |= (v->sizes[known(d, others[i].id)] & RARE) == 0;
    if (changed) d->sizes = d->own = malloc(size);
    d->others = malloc((count + 1) * sizeof *d->others);
    if (d->sizes == NULL || d->others == NULL) {
        bpe_decoder_end(d);
        return -1;
    }
    if (changed) memcpy(d->own, v->sizes, size);
    if (count > 0) memcpy(d->others, others, count * sizeof *others);
    qsort(d->others, count, sizeof *d->others, by_id);
    d->other_count = count;
    find_plain(d);
    for (i = 0; changed && i < count; i++) d->own[known(d, others[i].id)] = RARE | LONG;
    return 0;
}

void bpe_decoder_end(bpe_decoder *d)
{
    free(d->own);
    free(d->others);
    memset(d, 0, sizeof *d);
}

/* A token that has no bytes of its own, or more than its size tells. */
static size_t rare_token(const bpe_decoder *d, uint32_t id, int skip, const uint8_t **bytes)
{
    const bpe_other wanted = {NULL, id, 0, 0};
    const bpe_other *other = bsearch(&wanted, d->others, d->other_count, sizeof wanted, by_id);
    if (other == NULL && (id >= d->v->token_count || bpe_token_length(d->v, id) == 0)) return SIZE_MAX;
    *bytes = other != NULL ? other->bytes : d->v->bytes + d->v->starts[id];
    if (other == NULL) return bpe_token_length(d->v, id);
    return skip && other->special ? 0 : other->length;
}

size_t bpe_token(const bpe_decoder *d, uint32_t id, int skip, const uint8_t **bytes)
{
    const uint32_t size = d->sizes[known(d, id)];
    if (size & RARE) return rare_token(d, id, skip, bytes);
    *bytes = d->v->bytes + d->v->starts[id];
    return size & MANY;
}

/* As bpe_measure, id by id. */
static size_t measure_rare(const bpe_decoder *d, const uint32_t *ids, size_t count, int skip, bpe_extent *extent, uint32_t *all)
{
    size_t i;
    for (i = 0; i < count; i++) {
        const uint8_t *bytes = NULL;
        const size_t length = bpe_token(d, ids[i], skip, &bytes);
        uint32_t wider;
        if (length == SIZE_MAX) break;
        extent->characters += spelled(bytes, length, &wider);
        extent->bytes += length;
        *all |= wider << WIDER_SHIFT;
    }
    return i;
}

size_t bpe_measure(const bpe_decoder *d, const uint32_t *ids, size_t count, int skip, bpe_extent *extent)
{
    const uint32_t *sizes = d->sizes, none = d->v->token_count;
    uint32_t all = 0;
    size_t i, done = 0, n;
    for (; done < count; done += n) {
        uint32_t sum = 0, any = 0;
        n = count - done < AT_ONCE ? count - done : AT_ONCE;
        for (i = 0; n == AT_ONCE && i < AT_ONCE; i++) {
            const uint32_t id = ids[done + i], size = sizes[id < none ? id : none];
            any |= size;
            sum += size;
        }
        if (UNLIKELY(n < AT_ONCE || (any & RARE) != 0)) {
            i = measure_rare(d, ids + done, n, skip, extent, &all);
            if (i < n) return done + i;
            continue;
        }
        extent->bytes += sum & 0xFFFF;
        extent->characters += sum >> CHARACTERS_SHIFT & 0x7FF;
        all |= any;
    }
    if (widest_of(all) > extent->widest) extent->widest = widest_of(all);
    return done;
}

/* As bpe_decode, as far as tokens are records and there is room for what is copied: some at a time, without asking each. What is stored
 * could be any of the tables, for all that the compiler knows; hence the names for what does not change. */
static size_t copy_records(const bpe_decoder *d, const uint32_t *ids, size_t count, uint8_t **out, const uint8_t *end, uint32_t *all)
{
    const bpe_record *records = d->v->records;
    const uint32_t *sizes = d->sizes, none = d->v->token_count;
    uint8_t *to = *out;
    uint32_t seen = 0;
    size_t done = 0, i;
    for (; count - done >= COPIED && end - to >= 16 * COPIED; done += COPIED) {
        uint8_t *at = to;
        uint32_t any = 0;
        for (i = 0; i < COPIED; i++) {
            const uint32_t given = ids[done + i], id = given < none ? given : none, size = sizes[id];
            memcpy(at, records + id, 16);
            at += size & 15;
            any |= size;
        }
        if (UNLIKELY((any & LONG) != 0)) break;
        to = at;
        seen |= any;
    }
    *out = to;
    *all |= seen;
    return done;
}

/* As bpe_decode, one after the other, but for tokens that are rare. */
static size_t copy_each(const bpe_decoder *d, const uint32_t *ids, size_t count, uint8_t **out, const uint8_t *end, uint32_t *all)
{
    uint8_t *to = *out;
    size_t i, k;
    for (i = 0; i < count; i++) {
        const uint32_t id = known(d, ids[i]), size = d->sizes[id], length = size & MANY;
        if ((size & RARE) != 0 || (size_t)(end - to) < ((length + 15) & ~15u)) break;
        if ((size & LONG) == 0) {
            memcpy(to, d->v->records + id, 16);
        } else {
            for (k = 0; k < length; k += 16) memcpy(to + k, d->v->bytes + d->v->starts[id] + k, 16);
        }
        to += length;
        *all |= size;
    }
    *out = to;
    return i;
}

/* --- sixteen at a time ------------------------------------------------------------------------------------------------- */

#if defined(__x86_64__) && defined(__SSE2__) && defined(__GNUC__)
#define HAS_VECTORS
#define WITH_VECTORS __attribute__((target("avx512f,avx512bw,avx512vbmi2,popcnt")))
#include <immintrin.h>

#define BYTES_0_TO_7 0x0706050403020100
#define BYTES_8_TO_15 0x0F0E0D0C0B0A0908
#define ENDS_OF_RECORDS 0x8001800180018001 /* bits of the first and the last byte of each of four */
#define FIRST_OF_RECORDS 0x0001000100010001 /* which of these a token of 1 to 15 bytes has */

/* Four records, by how many bytes into all of them each is. Taken out of the vector: reading what was stored as one takes longer. */
WITH_VECTORS static inline __m512i four_records(const uint8_t *records, __m128i at)
{
    const uint64_t low = (uint64_t)_mm_cvtsi128_si64(at), high = (uint64_t)_mm_extract_epi64(at, 1);
    const __m128i first = _mm_loadu_si128((const void *)(records + (uint32_t)low)), third = _mm_loadu_si128((const void *)(records + (uint32_t)high));
    const __m128i second = _mm_loadu_si128((const void *)(records + (low >> 32))), fourth = _mm_loadu_si128((const void *)(records + (high >> 32)));
    const __m256i two = _mm256_inserti128_si256(_mm256_castsi128_si256(first), second, 1);
    return _mm512_inserti64x4(_mm512_castsi256_si512(two), _mm256_inserti128_si256(_mm256_castsi128_si256(third), fourth, 1), 1);
}

/* Store the tokens of four records side by side, if all are records: whether they are. */
WITH_VECTORS static inline int put_four(const uint8_t *records, __m128i at, uint8_t **to, __m512i *most)
{
    const __m512i places = _mm512_set4_epi64(BYTES_8_TO_15, BYTES_0_TO_7, BYTES_8_TO_15, BYTES_0_TO_7);
    const __m512i four = four_records(records, at);
    const uint64_t mask = _mm512_cmplt_epu8_mask(places, _mm512_shuffle_epi8(four, _mm512_set1_epi8(15)));
    const __m512i packed = _mm512_maskz_compress_epi8(mask, four);
    const size_t length = (size_t)__builtin_popcountll(mask);
    if (UNLIKELY((mask & ENDS_OF_RECORDS) != FIRST_OF_RECORDS)) return 0;
    *most = _mm512_max_epu8(*most, four);
    _mm256_storeu_si256((void *)*to, _mm512_castsi512_si256(packed));
    if (UNLIKELY(length > 32)) _mm256_storeu_si256((void *)(*to + 32), _mm512_extracti64x4_epi64(packed, 1));
    *to += length;
    return 1;
}

/* As copy_records, of ids none of which decodes to something else: the bytes of four records, from which what is behind tokens is
 * squeezed out, are stored at once. */
WITH_VECTORS static size_t copy_by_vectors(const bpe_decoder *d, const uint32_t *ids, size_t count, uint8_t **out, const uint8_t *end,
                                           uint32_t *all)
{
    const __m512i from = _mm512_set1_epi32((int)d->plain_from), plain = _mm512_set1_epi32((int)d->plain_count);
    const uint8_t *records = (const uint8_t *)d->v->records;
    __m512i most = _mm512_setzero_si512();
    uint8_t *to = *out; /* in a register: what is stored could be *out, for all that the compiler knows */
    size_t done = 0, i, n = 4;
    while (n == 4 && count - done >= 16 && end - to >= 16 * 16) {
        __m512i at = _mm512_loadu_si512(ids + done);
        if (UNLIKELY(_mm512_cmpge_epu32_mask(_mm512_sub_epi32(at, from), plain) != 0)) break;
        at = _mm512_slli_epi32(at, 4);
        for (i = 0; i < 4 && put_four(records, _mm512_castsi512_si128(at), &to, &most); i++) at = _mm512_alignr_epi64(at, at, 2);
        done += 4 * i;
        if (LIKELY(i == 4)) continue;
        *out = to;
        n = copy_each(d, ids + done, 4, out, end, all);
        to = *out;
        done += n;
    }
    *out = to;
    *all |= (uint32_t)(_mm512_movepi8_mask(most) != 0) << WIDER_SHIFT;
    *all |= (uint32_t)(_mm512_cmpge_epu8_mask(most, _mm512_set1_epi8((char)0xC4)) != 0) << (WIDER_SHIFT + 1);
    *all |= (uint32_t)(_mm512_cmpge_epu8_mask(most, _mm512_set1_epi8((char)0xF0)) != 0) << (WIDER_SHIFT + 2);
    return done;
}
#endif

size_t bpe_decode(const bpe_decoder *d, const uint32_t *ids, size_t count, int skip, uint8_t **out, const uint8_t *end, uint32_t *widest)
{
    uint32_t all = 0, wider;
    size_t i = 0, n, length;
    for (;;) {
        const uint8_t *bytes = NULL;
#ifdef HAS_VECTORS
        if (d->vectors == BPE_AVX512) i += copy_by_vectors(d, ids + i, count - i, out, end, &all);
#endif
        i += copy_records(d, ids + i, count - i, out, end, &all);
        n = count - i < COPIED ? count - i : COPIED;
        length = copy_each(d, ids + i, n, out, end, &all);
        i += length;
        if (i == count) break;
        if (length == n) continue;
        length = bpe_token(d, ids[i], skip, &bytes);
        if (length > (size_t)(end - *out)) break;
        if (length > 0) memcpy(*out, bytes, length);
        spelled(bytes, length, &wider);
        all |= wider << WIDER_SHIFT;
        *out += length;
        i++;
    }
    if (widest_of(all) > *widest) *widest = widest_of(all);
    return i;
}
