/* bpe_merge_rounds.c - many short pieces in, the ids of each out: all pieces side by side, merged round after round. With AVX-512.
 *
 *     ' ' 'B' 'o' 'l' 'k' 'o' 'n' 's' 'k' 'y'     the symbols of a piece, between those of others
 *     ' B' 'ol' 'k' 'on' 's' 'k' 'y'              after the first round, which merges all pairs of bytes that are certain
 *     ' B' 'ol' 'k' 'ons' 'k' 'y'                 after another, which merges the lowest rank of each piece
 *
 * Two bytes are certain to be merged if nothing takes away either of them before. Until they merge, nothing of a higher rank does, and
 * what has the same rank only if it lies further left. So it is enough that every merge of the left byte with what ends with the byte
 * before has a higher rank, and no merge of the right byte with what begins with the byte behind has a lower one: `byte_bounds` has the
 * lowest ranks of these. And to merge a certain pair first changes nothing if all merges of what it makes have higher ranks than its
 * own: then whatever comes before it by definition comes before what it makes, too, and does not touch it. `byte_bounds` has a bit for
 * that. The first round does about half of all merges so, by two look-ups for each byte, in tables of which a text uses few lines.
 *
 * In every round, of all pairs with a symbol that was made in the one before, those that may merge (bpe_pairs.h) are asked for before the
 * first of them is compared; and two sets of pieces take turns, so that lines have come when they are compared. Symbols move up where two
 * became one, and pieces in which nothing merges any more leave. So vectors are full, however long the pieces are.
 *
 * The number of the piece stands above each rank. It falls from piece to piece, so that the lowest of all that lies to the left of a pair
 * is lower than the pair only if it is of the same piece; with these bits inverted, the same holds to the right.
 *
 * Rejected: sixteen pieces, each in a column of vectors, and four such sixteens by turns (nine columns at work on average, and a step for
 * each merge: 20 to 40 % slower); three sets by turns; more pieces at a time.
 */
#include "bpe_pair_vectors.h"

#if defined(HAS_VECTORS)

#define LANES 16
#define TURNS 2
#define MOST_SYMBOLS 512 /* of a set: what is known of them stays in the nearest cache, and numbers of pieces have ten bits */
#define WORTH 4          /* pieces for which it is worth it */
#define MADE UINT32_C(0x80000000) /* a symbol that was made in this round */
#define ROOM (LANES + MOST_SYMBOLS + LANES + BPE_MEDIUM)

/* A set. The first of each array is at LANES: what is before it may be read. */
typedef struct IN_LINES {
    uint32_t symbols[ROOM];
    uint32_t keys[ROOM];     /* number of the piece, and rank of the merge with the next symbol or RANK_MASK; 0 behind the last */
    uint32_t ranks[ROOM];    /* of two bytes each, in the first round; then the lowest keys from there on */
    uint32_t bounds[ROOM];   /* of two bytes each */
    uint32_t lines[ROOM], upper[ROOM], lower[ROOM]; /* of each and the next, as pairs */
    uint32_t places[ROOM];   /* of those that are asked for, from 0 on */
    uint32_t done[ROOM], done_keys[ROOM]; /* of pieces in which nothing merges any more, from 0 on */
    uint8_t bytes[ROOM];
    size_t end, done_count, asked;
    bpe_job *jobs;
} symbols;

static inline uint32_t piece_key(size_t number) { return (1022 - (uint32_t)number) << RANK_BITS; }

static inline size_t piece_number(uint32_t key) { return 1022 - (key >> RANK_BITS); }

/* The first of these pieces, put side by side: how many. */
WITH_VECTORS static size_t put_pieces(symbols *s, const bpe_job *jobs, size_t count, size_t most)
{
    size_t n, end = LANES;
    for (n = 0; n < count && end + jobs[n].length <= LANES + most; n++) {
        const __mmask32 is = _bzhi_u32(UINT32_MAX, jobs[n].length);
        const __m512i key = _mm512_set1_epi32((int)(piece_key(n) | RANK_MASK));
        _mm256_storeu_si256((void *)(s->bytes + end), _mm256_maskz_loadu_epi8(is, jobs[n].bytes));
        _mm512_storeu_si512(s->keys + end, key);
        _mm512_storeu_si512(s->keys + end + LANES, key);
        end += jobs[n].length;
    }
    _mm512_storeu_si512(s->keys + end, _mm512_setzero_si512());
    s->end = end;
    s->done_count = 0;
    return n;
}

/* What is known of all bytes, and of each with the next. To gather them is slower. */
NOT_INLINE static void look_bytes_up(const bpe_vocabulary *v, symbols *s)
{
    const size_t end = s->end;
    size_t i;
    for (i = LANES; i < end; i++) {
        uint16_t two;
        memcpy(&two, s->bytes + i, sizeof two);
        s->symbols[i] = v->byte_tokens[s->bytes[i]];
        s->ranks[i] = v->byte_pairs[two];
        s->bounds[i] = v->byte_bounds[two];
    }
}

WITH_VECTORS static inline size_t append(uint32_t *to, __mmask16 which, __m512i from)
{
    _mm512_storeu_si512(to, _mm512_maskz_compress_epi32(which, from));
    return (size_t)_mm_popcnt_u32(which);
}

/* Put sixteen symbols, but for those that are `gone`, where *end is; what each of `merged` makes takes its place. */
WITH_VECTORS static inline void put_symbols(const bpe_vocabulary *v, symbols *s, size_t *end, __m512i old, __m512i keys, __mmask16 merged,
                                            __mmask16 gone)
{
    const __m512i ranks = _mm512_and_si512(keys, _mm512_set1_epi32((int)RANK_MASK));
    const __m512i made = v->ranks_are_ids ? ranks : _mm512_mask_i32gather_epi32(ranks, merged, ranks, v->rank_tokens, 4);
    old = _mm512_mask_or_epi32(old, merged, made, _mm512_set1_epi32((int)MADE));
    keys = _mm512_mask_or_epi32(keys, merged, keys, _mm512_set1_epi32((int)RANK_MASK));
    append(s->symbols + *end, (__mmask16)~gone, old);
    *end += append(s->keys + *end, (__mmask16)~gone, keys);
}

WITH_VECTORS static inline void put_end(symbols *s, size_t end)
{
    s->end = end;
    _mm512_storeu_si512(s->symbols + end, _mm512_setzero_si512());
    _mm512_storeu_si512(s->keys + end, _mm512_setzero_si512());
}

/* Merge pairs of bytes that are certain: 0, or -1 if a byte is no token. */
WITH_VECTORS static int merge_bytes(const bpe_vocabulary *v, symbols *s)
{
    const __m512i most = _mm512_set1_epi32((int)v->rank_count);
    __m512i last = _mm512_setzero_si512();
    __mmask16 missing = 0, carry = 0;
    const size_t old_end = s->end;
    size_t i, end = LANES;
    for (i = LANES; i < old_end; i += LANES) {
        const __mmask16 all = (__mmask16)_bzhi_u32(0xFFFF, (unsigned)(old_end - i < LANES ? old_end - i : LANES));
        const __m512i old = _mm512_loadu_si512(s->symbols + i), ranks = _mm512_loadu_si512(s->ranks + i);
        const __m512i keys = _mm512_loadu_si512(s->keys + i), before = _mm512_alignr_epi32(keys, last, LANES - 1);
        const __m512i left = _mm512_and_si512(_mm512_loadu_si512(s->bounds + i - 1), _mm512_set1_epi32(BOUND_BEFORE));
        const __m512i right = _mm512_srli_epi32(_mm512_loadu_si512(s->bounds + i + 1), BOUND_BEHIND_SHIFT);
        const __m512i next = _mm512_loadu_si512(s->keys + i + 1), second = _mm512_loadu_si512(s->keys + i + 2);
        const __mmask16 pairs = _mm512_cmplt_epu32_mask(ranks, most) & _mm512_cmpeq_epi32_mask(keys, next);
        const __mmask16 is_left = _mm512_cmpneq_epi32_mask(keys, before) | _mm512_cmplt_epu32_mask(ranks, left);
        const __mmask16 is_right = _mm512_cmpneq_epi32_mask(keys, second) | _mm512_cmple_epu32_mask(ranks, right);
        const __mmask16 early = _mm512_test_epi32_mask(_mm512_loadu_si512(s->bounds + i), _mm512_set1_epi32(BOUND_EARLY));
        const __mmask16 merged = pairs & is_left & is_right & early & all;
        const __m512i known = _mm512_mask_and_epi32(keys, pairs, keys, _mm512_or_si512(ranks, _mm512_set1_epi32(~(int)RANK_MASK)));
        missing |= _mm512_mask_cmpeq_epi32_mask(all, old, _mm512_set1_epi32(-1));
        put_symbols(v, s, &end, old, known, merged, (__mmask16)(merged << 1 | carry | (__mmask16)~all));
        carry = merged >> (LANES - 1);
        last = keys;
    }
    put_end(s, end);
    return missing ? -1 : 0;
}

/* Ask for the ranks of all pairs of which one symbol was made in this round, and which may merge: how many. */
WITH_VECTORS static size_t ask(const bpe_vocabulary *v, symbols *s)
{
    const __m512i made = _mm512_set1_epi32((int)MADE), piece = _mm512_set1_epi32(~(int)RANK_MASK), none = _mm512_set1_epi32((int)RANK_MASK);
    const bpe_pair_line *const pairs = v->pairs;
    const size_t end = s->end;
    __m512i places = _mm512_set_epi32(31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16);
    size_t asked = 0, i;
    for (i = LANES; i < end; i += LANES) {
        const __m512i left = _mm512_loadu_si512(s->symbols + i), right = _mm512_loadu_si512(s->symbols + i + 1);
        const __m512i keys = _mm512_loadu_si512(s->keys + i);
        const __m512i other = _mm512_xor_si512(keys, _mm512_loadu_si512(s->keys + i + 1));
        const __mmask16 fresh = _mm512_test_epi32_mask(_mm512_or_si512(left, right), made);
        const __mmask16 all = _mm512_mask_testn_epi32_mask(fresh, other, piece);
        const __m512i l = _mm512_andnot_si512(made, left), r = _mm512_andnot_si512(made, right);
        const __m512i hashes = hashes_of(l, r);
        const __mmask16 which = may_merge(v, all, hashes);
        _mm512_storeu_si512(s->symbols + i, l);
        _mm512_storeu_si512(s->keys + i, _mm512_mask_or_epi32(keys, all, keys, none));
        _mm512_storeu_si512(s->lines + i, lines_of(v, hashes));
        _mm512_storeu_si512(s->upper + i, pairs_upper(l, r));
        _mm512_storeu_si512(s->lower + i, pairs_lower(r));
        asked += append(s->places + asked, which, places);
        places = _mm512_add_epi32(places, _mm512_set1_epi32(LANES));
    }
    for (i = 0; i < asked; i++) PREFETCH(pairs + s->lines[s->places[i]]);
    return asked;
}

/* Put the ranks of what was asked for where they belong. */
WITH_VECTORS static void answer(const bpe_vocabulary *v, symbols *s)
{
    const size_t asked = s->asked;
    const bpe_pair_line *const pairs = v->pairs;
    size_t i;
    for (i = 0; i < asked; i++) {
        const uint32_t at = s->places[i];
        s->keys[at] &= rank_by_vectors(v, pairs + s->lines[at], s->upper[at], s->lower[at]) | ~RANK_MASK;
    }
}

/* The lowest of all lanes up to each, and of all from each on. */
WITH_VECTORS static inline __m512i lowest_before(__m512i x)
{
    const __m512i none = _mm512_set1_epi32(-1);
    x = _mm512_min_epu32(x, _mm512_alignr_epi32(x, none, 15));
    x = _mm512_min_epu32(x, _mm512_alignr_epi32(x, none, 14));
    x = _mm512_min_epu32(x, _mm512_alignr_epi32(x, none, 12));
    return _mm512_min_epu32(x, _mm512_alignr_epi32(x, none, 8));
}

WITH_VECTORS static inline __m512i lowest_behind(__m512i x)
{
    const __m512i none = _mm512_set1_epi32(-1);
    x = _mm512_min_epu32(x, _mm512_alignr_epi32(none, x, 1));
    x = _mm512_min_epu32(x, _mm512_alignr_epi32(none, x, 2));
    x = _mm512_min_epu32(x, _mm512_alignr_epi32(none, x, 4));
    return _mm512_min_epu32(x, _mm512_alignr_epi32(none, x, 8));
}

/* Merge the lowest rank of each piece. Pieces that have none are done. */
WITH_VECTORS static void merge_lowest(const bpe_vocabulary *v, symbols *s)
{
    const __m512i ranks = _mm512_set1_epi32((int)RANK_MASK), pieces = _mm512_set1_epi32(~(int)RANK_MASK);
    const __m512i most = _mm512_set1_epi32((int)v->rank_count);
    const __m512i first_lane = _mm512_setzero_si512(), last_lane = _mm512_set1_epi32(LANES - 1);
    __m512i carry = _mm512_set1_epi32(-1), before = carry;
    __mmask16 gone = 0;
    const size_t old_end = s->end;
    size_t i, end = LANES, done_count = s->done_count;
    for (i = old_end + (0 - old_end) % LANES; i > LANES; i -= LANES) {
        const __m512i keys = _mm512_xor_si512(_mm512_loadu_si512(s->keys + i - LANES), pieces);
        const __m512i lowest = _mm512_min_epu32(lowest_behind(keys), carry);
        _mm512_storeu_si512(s->ranks + i - LANES, lowest);
        carry = _mm512_permutexvar_epi32(first_lane, lowest);
    }
    carry = before;
    for (i = LANES; i < old_end; i += LANES) {
        const __mmask16 all = (__mmask16)_bzhi_u32(0xFFFF, (unsigned)(old_end - i < LANES ? old_end - i : LANES));
        const __m512i old = _mm512_loadu_si512(s->symbols + i), keys = _mm512_loadu_si512(s->keys + i);
        const __m512i behind = _mm512_loadu_si512(s->ranks + i);
        const __m512i lowest = _mm512_min_epu32(lowest_before(keys), carry);
        const __mmask16 is_left = _mm512_cmplt_epu32_mask(keys, _mm512_alignr_epi32(lowest, before, LANES - 1));
        const __mmask16 is_right = _mm512_cmpeq_epi32_mask(_mm512_xor_si512(keys, pieces), behind);
        const __mmask16 merged = is_left & is_right & all & _mm512_cmplt_epu32_mask(_mm512_and_si512(keys, ranks), most);
        const __mmask16 done = all & _mm512_cmpeq_epi32_mask(_mm512_and_si512(_mm512_and_si512(lowest, behind), ranks), ranks);
        append(s->done + done_count, done, old);
        done_count += append(s->done_keys + done_count, done, keys);
        put_symbols(v, s, &end, old, keys, merged, (__mmask16)(merged << 1 | gone | done | (__mmask16)~all));
        gone = merged >> (LANES - 1);
        before = lowest;
        carry = _mm512_permutexvar_epi32(last_lane, lowest);
    }
    s->done_count = done_count;
    put_end(s, end);
}

/* Give each piece its ids. */
WITH_VECTORS static void put_ids(symbols *s)
{
    size_t i, from = 0;
    _mm512_storeu_si512(s->done_keys + s->done_count, _mm512_setzero_si512());
    for (i = 0; i < s->done_count; i += LANES) {
        const __m512i keys = _mm512_loadu_si512(s->done_keys + i), next = _mm512_loadu_si512(s->done_keys + i + 1);
        /* Never left out: gcc 12 may leave what was there before above the sixteen bits of a mask that it keeps in memory. */
        uint32_t ends = _bzhi_u32(_mm512_cmpneq_epi32_mask(keys, next), (unsigned)(s->done_count - i < LANES ? s->done_count - i : LANES));
        for (; ends != 0; ends &= ends - 1) {
            const size_t end = i + _tzcnt_u32(ends) + 1, count = end - from;
            bpe_job *job = s->jobs + piece_number(s->done_keys[end - 1]);
            __mmask16 few;
            job->count = (uint32_t)count;
            few = (__mmask16)_bzhi_u32(0xFFFF, (unsigned)(count < LANES ? count : LANES));
            _mm512_mask_storeu_epi32(job->ids, few, _mm512_loadu_si512(s->done + from));
            if (UNLIKELY(count > LANES)) memcpy(job->ids + LANES, s->done + from + LANES, (count - LANES) * sizeof *job->ids);
            from = end;
        }
    }
}

/* A set of the next pieces: how many, or BPE_NO_TOKEN. */
WITH_VECTORS static size_t begin(const bpe_vocabulary *v, symbols *s, bpe_job *jobs, size_t count, size_t most)
{
    const size_t taken = put_pieces(s, jobs, count, most);
    s->jobs = jobs;
    look_bytes_up(v, s);
    if (merge_bytes(v, s) < 0) return BPE_NO_TOKEN;
    s->asked = ask(v, s);
    return taken;
}

WITH_VECTORS size_t bpe_merge_rounds(const bpe_vocabulary *v, bpe_job *jobs, size_t count)
{
    symbols turns[TURNS], *active[TURNS];
    size_t used = 0, next = 0, all = 0, most, i;
    if (count < WORTH || v->rank_count > RANK_MASK) return 0;
    for (i = 0; i < count; i++) all += jobs[i].length;
    most = all / TURNS + BPE_MEDIUM < MOST_SYMBOLS ? all / TURNS + BPE_MEDIUM : MOST_SYMBOLS;
    for (; used < TURNS && next < count; used++) {
        active[used] = turns + used;
        i = begin(v, active[used], jobs + next, count - next, most);
        if (i == BPE_NO_TOKEN) return i;
        next += i;
    }
    while (used > 0) {
        for (i = 0; i < used;) {
            symbols *s = active[i];
            const size_t before = s->end;
            answer(v, s);
            merge_lowest(v, s);
            if (s->end == before) return BPE_NO_TOKEN; /* the tables are damaged */
            if (s->end > LANES) {
                s->asked = ask(v, s);
                i++;
                continue;
            }
            put_ids(s);
            if (next < count) {
                const size_t taken = begin(v, s, jobs + next, count - next, most);
                if (taken == BPE_NO_TOKEN) return taken;
                next += taken;
                i++;
            } else {
                active[i] = active[--used];
            }
        }
    }
    return count;
}

#else

size_t bpe_merge_rounds(const bpe_vocabulary *v, bpe_job *jobs, size_t count)
{
    (void)v;
    (void)jobs;
    (void)count;
    return 0;
}

#endif
