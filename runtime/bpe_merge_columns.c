/* bpe_merge_columns.c - many short pieces in, the ids of each out: sixteen pieces side by side, each in a column of vectors. With AVX-512.
 *
 *     row 1    't'  'w'  ' ' ...        the symbols that start at the first bytes of sixteen pieces,
 *     row 2    'h'  'a'  'c' ...        at their second bytes, ...
 *
 * What bpe_merge_many.c does for one piece (the lowest rank is found, neighbours are, and two symbols become one) is done for sixteen by the
 * same instructions: a step goes through all rows, and in each a column takes what is meant for it. Only the lines of pairs are compared
 * one after the other, as a whole. Some sixteens take turns, so that their lines have come when they are compared; and what is stored
 * in parts is read as a whole when the others have had theirs.
 *
 * Pieces of about the same length go together, since a step takes as long for one column as for all. A column that is done goes on with
 * symbols that merge with nothing.
 *
 * Rows are places as in bpe_merge_lanes.h: the first, and the one behind the last byte, are those of no symbol, so that pairs at both ends
 * need no case of their own, and the bits of a number say where symbols are.
 *
 * Rejected: to ask bits first which pairs may merge (the half that does not costs no line then, but it was no faster); to look tokens up
 * as soon as their lines are there, while others are still added (2 % in English, and 3 % slower in Russian); to put another piece into
 * a column that is done, while others are not (7 to 30 % slower).
 */
#include "bpe_lookup.h"
#include "bpe_pairs.h"

#if defined(HAS_VECTORS) && defined(__SIZEOF_INT128__) /* of which fold is made */

#define COLUMNS 16
#define TURNS 4
#define WORTH 8   /* pieces for which columns are worth it */
#define BATCH 256 /* pieces that are put in order by length */
#define PLACE_BITS 5 /* of a number with BPE_COLUMN bits, and two for both ends */
#define NOTHING UINT32_MAX /* no rank, and the order of what does not merge */

typedef struct __attribute__((aligned(64))) {
    uint32_t orders[BPE_COLUMN + 1][COLUMNS];      /* by place: rank and place of the merge with the next symbol, or NOTHING */
    uint32_t symbols[BPE_COLUMN + 2][COLUMNS];
    uint32_t upper[2][COLUMNS], lower[2][COLUMNS]; /* of the pairs before and behind the symbols made last, as in a line */
    uint32_t lines[2][COLUMNS];                    /* where they are looked for */
    uint32_t found[2][COLUMNS];                    /* their ranks, or NOTHING */
    uint8_t full[2][COLUMNS];                      /* whether a line may go on in the next one */
    uint32_t places[COLUMNS];                      /* bits: where symbols are, those at both ends included */
    uint32_t before[COLUMNS], made[COLUMNS];       /* the places of these pairs */
    uint32_t rows, columns;                        /* how many are in use */
    bpe_job *jobs[COLUMNS];
} sixteen;

/* hash_pair of eight pairs, the lower halves. */
WITH_VECTORS static inline __m256i hash_pairs(__m512i keys)
{
    const __m512i low = _mm512_set1_epi64(0x1E98DF25), high = _mm512_set1_epi64(0x9FB21C65), lower = _mm512_set1_epi64(0xFFFFFFFF);
    const __m512i upper = _mm512_srli_epi64(keys, 32);
    const __m512i first = _mm512_mul_epu32(keys, low);
    const __m512i second = _mm512_add_epi64(_mm512_mul_epu32(keys, high), _mm512_srli_epi64(first, 32));
    const __m512i third = _mm512_add_epi64(_mm512_mul_epu32(upper, low), _mm512_and_si512(second, lower));
    const __m512i top = _mm512_add_epi64(_mm512_mul_epu32(upper, high), _mm512_add_epi64(_mm512_srli_epi64(second, 32), _mm512_srli_epi64(third, 32)));
    return _mm512_cvtepi64_epi32(_mm512_xor_si512(first, top));
}

/* Ask for the ranks of pairs: one for each column. */
WITH_VECTORS static inline void ask(const bpe_vocabulary *v, sixteen *s, int side, __m512i left, __m512i right)
{
    const __m512i first = _mm512_or_si512(_mm512_slli_epi64(_mm512_cvtepu32_epi64(_mm512_castsi512_si256(left)), 21),
                                          _mm512_cvtepu32_epi64(_mm512_castsi512_si256(right)));
    const __m512i second = _mm512_or_si512(_mm512_slli_epi64(_mm512_cvtepu32_epi64(_mm512_extracti64x4_epi64(left, 1)), 21),
                                           _mm512_cvtepu32_epi64(_mm512_extracti64x4_epi64(right, 1)));
    const __m512i hashes = _mm512_inserti64x4(_mm512_castsi256_si512(hash_pairs(first)), hash_pairs(second), 1);
    const __m512i lines = _mm512_and_si512(hashes, _mm512_set1_epi32((int)v->pairs_mask));
    const volatile uint32_t *at = s->lines[side]; /* from memory, where compilers would take them out of a vector one by one */
    int i;
    _mm512_storeu_si512(s->lines[side], lines);
    _mm512_storeu_si512(s->upper[side], _mm512_or_si512(_mm512_slli_epi32(left, 11), _mm512_srli_epi32(right, 10)));
    _mm512_storeu_si512(s->lower[side], _mm512_slli_epi32(right, RANK_BITS));
    for (i = 0; i < COLUMNS; i++) PREFETCH(v->pairs + at[i]);
}

/* The ranks of what was asked for, or NOTHING. What differs between a pair and one of a line is, if they are the same, its rank. */
WITH_VECTORS static inline void answer(const bpe_vocabulary *v, sixteen *s, int side)
{
    const __m512i nothing = _mm512_set1_epi32(-1), ids = _mm512_mask_set1_epi32(nothing, 0xFF00, ~(int)RANK_MASK);
    uint32_t i;
    for (i = 0; i < COLUMNS; i++) {
        const bpe_pair_line *line = v->pairs + s->lines[side][i];
        const __m512i lower = _mm512_set1_epi32((int)s->lower[side][i]);
        const __m512i pair = _mm512_mask_broadcastd_epi32(lower, 0xFF, _mm_loadu_si32(&s->upper[side][i]));
        const __m512i differs = _mm512_xor_si512(pair, _mm512_loadu_si512(line));
        const __mmask16 same = _mm512_testn_epi32_mask(differs, ids), which = _kand_mask16(same, _kshiftli_mask16(same, LINE_PAIRS));
        _mm_storeu_si32(&s->found[side][i], _mm512_castsi512_si128(_mm512_mask_compress_epi32(nothing, which, differs)));
        s->full[side][i] = line->high[LINE_PAIRS - 1] != NO_PAIR;
    }
}

/* What may be in the next line is looked for there. */
WITH_VECTORS static inline void look_on(const bpe_vocabulary *v, sixteen *s, int side)
{
    uint32_t again = _mm_test_epi8_mask(_mm_loadu_si128((const void *)s->full[side]), _mm_set1_epi8(1));
    again &= _mm512_cmpeq_epu32_mask(_mm512_loadu_si512(s->found[side]), _mm512_set1_epi32(-1));
    for (; UNLIKELY(again != 0); again &= again - 1) {
        const uint32_t i = _tzcnt_u32(again);
        const uint64_t pair = (uint64_t)s->upper[side][i] << 10 | s->lower[side][i] >> RANK_BITS;
        const uint32_t found = rank_from(v, v->pairs + s->lines[side][i], pair);
        s->found[side][i] = found == 0 ? NOTHING : found & RANK_MASK;
    }
}

/* Ranks and places as one number each. */
WITH_VECTORS static inline __m512i orders_of(const uint32_t *found, __m512i places)
{
    const __m512i ranks = _mm512_loadu_si512(found);
    return _mm512_mask_or_epi32(ranks, _mm512_cmpneq_epu32_mask(ranks, _mm512_set1_epi32(-1)), _mm512_slli_epi32(ranks, PLACE_BITS), places);
}

WITH_VECTORS static inline __m512i lowest_bits(__m512i bits) { return _mm512_and_si512(bits, _mm512_sub_epi32(_mm512_setzero_si512(), bits)); }

/* The number of the highest bit, which is the exponent of a float that is not rounded up. */
WITH_VECTORS static inline __m512i highest(__m512i bits)
{
    const __m512 floats = _mm512_cvt_roundepu32_ps(bits, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
    return _mm512_sub_epi32(_mm512_srli_epi32(_mm512_castps_si512(floats), 23), _mm512_set1_epi32(127));
}

/* Where places are in symbols, each in its column. */
WITH_VECTORS static inline __m512i cells(__m512i places)
{
    return _mm512_or_si512(_mm512_slli_epi32(places, 4), _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0));
}

/* Put the next pieces into columns, which are in order by length: 0, or -1 if a byte of one is no token. */
WITH_VECTORS static int begin(const bpe_vocabulary *v, sixteen *s, bpe_job *const *order, size_t *next, size_t all)
{
    const __m512i none = _mm512_set1_epi32((int)NO_SYMBOL), nothing = _mm512_set1_epi32(-1), byte = _mm512_set1_epi32(0xFF);
    uint8_t bytes[COLUMNS][32 + 4] = {{0}}; /* four are read at a time */
    const __m512i columns = _mm512_mullo_epi32(cells(_mm512_setzero_si512()), _mm512_set1_epi32(sizeof bytes[0]));
    uint32_t lengths[COLUMNS] = {0}, i;
    __m512i length, places;
    __mmask16 missing = 0;
    s->columns = all - *next < COLUMNS ? (uint32_t)(all - *next) : COLUMNS;
    for (i = 0; i < s->columns; i++) {
        s->jobs[i] = order[*next + i];
        lengths[i] = s->jobs[i]->length;
        _mm256_storeu_si256((void *)bytes[i], _mm256_maskz_loadu_epi8(_bzhi_u32(UINT32_MAX, lengths[i]), s->jobs[i]->bytes));
    }
    s->rows = lengths[s->columns - 1];
    *next += s->columns;
    length = _mm512_loadu_si512(lengths);
    _mm512_storeu_si512(s->symbols[0], none);
    for (i = 0; i < s->rows; i++) {
        const __m512i two = _mm512_and_si512(_mm512_i32gather_epi32(columns, bytes[0] + i, 1), _mm512_set1_epi32(0xFFFF));
        const __mmask16 is = _mm512_cmpgt_epu32_mask(length, _mm512_set1_epi32((int)i));
        const __mmask16 goes_on = _mm512_cmpgt_epu32_mask(length, _mm512_set1_epi32((int)i + 1));
        const __m512i symbols = _mm512_mask_i32gather_epi32(none, is, _mm512_and_si512(two, byte), v->byte_tokens, 4);
        const __m512i ranks = _mm512_mask_i32gather_epi32(nothing, goes_on, two, v->byte_pairs, 4);
        const __mmask16 merges = _mm512_cmplt_epu32_mask(ranks, _mm512_set1_epi32((int)v->rank_count));
        const __m512i orders = _mm512_or_si512(_mm512_slli_epi32(ranks, PLACE_BITS), _mm512_set1_epi32((int)i + 1));
        missing |= _mm512_cmpeq_epu32_mask(symbols, nothing);
        _mm512_storeu_si512(s->symbols[1 + i], symbols);
        _mm512_storeu_si512(s->orders[1 + i], _mm512_mask_mov_epi32(nothing, merges, orders));
    }
    _mm512_storeu_si512(s->symbols[1 + s->rows], none);
    places = _mm512_sub_epi32(_mm512_sllv_epi32(_mm512_set1_epi32(4), length), _mm512_set1_epi32(1));
    _mm512_storeu_si512(s->places, places);
    _mm512_storeu_si512(s->before, _mm512_setzero_si512());
    _mm512_storeu_si512(s->made, _mm512_setzero_si512());
    memset(s->lines, 0, sizeof s->lines); /* what is asked for first is nothing */
    for (i = 0; i < 2; i++) {
        _mm512_storeu_si512(s->upper[i], _mm512_or_si512(_mm512_slli_epi32(none, 11), _mm512_srli_epi32(none, 10)));
        _mm512_storeu_si512(s->lower[i], _mm512_slli_epi32(none, RANK_BITS));
    }
    return missing ? -1 : 0;
}

/* Take one step in all columns: 1, or 0 when nothing merges any more. */
WITH_VECTORS static inline int step(const bpe_vocabulary *v, sixteen *s)
{
    const __m512i nothing = _mm512_set1_epi32(-1), none = _mm512_set1_epi32((int)NO_SYMBOL), one = _mm512_set1_epi32(1);
    const __m512i before = _mm512_loadu_si512(s->before), made = _mm512_loadu_si512(s->made);
    __m512i places = _mm512_loadu_si512(s->places), least = nothing, row = one;
    __m512i first, second, place, rank, token, bit, rest, taken, behind, last;
    __mmask16 active;
    uint32_t i;
    look_on(v, s, 0);
    look_on(v, s, 1);
    first = orders_of(s->found[0], before);
    second = orders_of(s->found[1], made);
    for (i = 1; i <= s->rows; i++) {
        __m512i orders = _mm512_loadu_si512(s->orders[i]);
        orders = _mm512_mask_mov_epi32(orders, _mm512_cmpeq_epi32_mask(row, before), first);
        orders = _mm512_mask_mov_epi32(orders, _mm512_cmpeq_epi32_mask(row, made), second);
        orders = _mm512_mask_mov_epi32(orders, _mm512_testn_epi32_mask(places, _mm512_sllv_epi32(one, row)), nothing); /* no symbol any more */
        _mm512_storeu_si512(s->orders[i], orders);
        least = _mm512_min_epu32(least, orders);
        row = _mm512_add_epi32(row, one);
    }
    rank = _mm512_srli_epi32(least, PLACE_BITS);
    place = _mm512_and_si512(least, _mm512_set1_epi32((1 << PLACE_BITS) - 1));
    bit = _mm512_sllv_epi32(one, place);
    rest = _mm512_andnot_si512(_mm512_or_si512(bit, _mm512_sub_epi32(bit, one)), places);
    taken = lowest_bits(rest);
    rest = _mm512_xor_si512(rest, taken);
    /* Behind what is taken is another place at least, unless the tables are damaged. */
    active = _mm512_cmplt_epu32_mask(rank, _mm512_set1_epi32((int)v->rank_count)) & _mm512_test_epi32_mask(rest, rest);
    if (active == 0) return 0;
    places = _mm512_mask_xor_epi32(places, active, places, taken);
    place = _mm512_maskz_mov_epi32(active, place);
    behind = _mm512_maskz_mov_epi32(active, highest(lowest_bits(rest)));
    last = _mm512_maskz_mov_epi32(active, highest(_mm512_and_si512(places, _mm512_sub_epi32(bit, one))));
    token = v->ranks_are_ids ? _mm512_mask_mov_epi32(none, active, rank) : _mm512_mask_i32gather_epi32(none, active, rank, v->rank_tokens, 4);
    _mm512_storeu_si512(s->places, places);
    _mm512_storeu_si512(s->before, last);
    _mm512_storeu_si512(s->made, place);
    ask(v, s, 0, _mm512_i32gather_epi32(cells(last), s->symbols, 4), token);
    ask(v, s, 1, token, _mm512_i32gather_epi32(cells(behind), s->symbols, 4));
    _mm512_mask_i32scatter_epi32(s->symbols, active, cells(place), token, 4);
    return 1;
}

/* Give each piece its ids. */
WITH_VECTORS static void finish(const sixteen *s)
{
    uint32_t four[4][COLUMNS], rests[COLUMNS], i, k;
    __m512i rest = _mm512_loadu_si512(s->places);
    rest = _mm512_andnot_si512(_mm512_sllv_epi32(_mm512_set1_epi32(1), highest(rest)), _mm512_and_si512(rest, _mm512_set1_epi32(-2)));
    for (k = 0; k < 4; k++) {
        const __m512i bit = lowest_bits(rest);
        const __mmask16 is = _mm512_test_epi32_mask(rest, rest);
        const __m512i places = _mm512_maskz_mov_epi32(is, highest(bit));
        _mm512_storeu_si512(four[k], _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), is, cells(places), s->symbols, 4));
        rest = _mm512_xor_si512(rest, bit);
    }
    _mm512_storeu_si512(rests, rest);
    for (i = 0; i < s->columns; i++) {
        bpe_job *job = s->jobs[i];
        uint32_t more = rests[i], count = (uint32_t)_mm_popcnt_u32(s->places[i]) - 2;
        for (k = 0; k < 4; k++) job->ids[k] = four[k][i];
        job->count = count;
        for (count = 4; UNLIKELY(more != 0); more &= more - 1) job->ids[count++] = s->symbols[_tzcnt_u32(more)][i];
    }
}

/* Merge as many of the pieces as is worth it, the first ones: how many, or BPE_NO_TOKEN. */
WITH_VECTORS size_t bpe_merge_columns(const bpe_vocabulary *v, bpe_job *jobs, size_t count)
{
    sixteen turns[TURNS], *active[TURNS];
    bpe_job *order[BATCH];
    size_t used = 0, next = 0, i;
    uint32_t ends[BPE_COLUMN + 2] = {0};
    if (count > BATCH) count = BATCH;
    count -= count % COLUMNS < WORTH ? count % COLUMNS : 0;
    if (count == 0) return 0;
    for (i = 0; i < count; i++) ends[jobs[i].length + 1]++;
    for (i = 1; i < BPE_COLUMN + 2; i++) ends[i] += ends[i - 1];
    for (i = 0; i < count; i++) order[ends[jobs[i].length]++] = jobs + i;
    for (i = 0; i < TURNS; i++) active[i] = turns + i;
    for (;;) {
        while (used < TURNS && next < count) {
            if (begin(v, active[used++], order, &next, count) != 0) return BPE_NO_TOKEN;
        }
        if (used == 0) return count;
        for (i = 0; i < used; i++) {
            answer(v, active[i], 0);
            answer(v, active[i], 1);
        }
        for (i = 0; i < used;) {
            sixteen *s = active[i];
            if (step(v, s)) {
                i++;
                continue;
            }
            finish(s);
            if (next < count) {
                if (begin(v, s, order, &next, count) != 0) return BPE_NO_TOKEN;
                i++;
            } else {
                active[i] = active[--used];
            }
        }
    }
}

#else

size_t bpe_merge_columns(const bpe_vocabulary *v, bpe_job *jobs, size_t count)
{
    (void)v;
    (void)jobs;
    (void)count;
    return 0;
}

#endif
