/* bpe_merge_far.c - windows of up to BPE_FAR bytes in, the ids of each out, by merging eight of them by turns. With AVX-512.
 *
 * As in bpe_merge_lanes.h, but it begins with the symbols of certain pairs of bytes (bpe_certain.h), of which there are half as many
 * as bytes: so a window may have twice as many bytes as places. How many it has is known when its symbols are; it ends where there is no
 * room for sixteen more.
 *
 * Orders are rank * PLACES + place of all neighbours; sixteen are a vector, so that the least of all is found anew each time: to keep that of
 * groups takes longer.
 */
#include "bpe_certain.h"
#include "bpe_pair_vectors.h"

#if defined(HAS_VECTORS)

#define PLACES 256 /* the first and the last of which are those of no symbol */
#define LANES 16
#define TURNS 8
#define NO_ORDER UINT32_MAX
#define KNOWN_AHEAD 128 /* bytes */

typedef struct IN_LINES {
    uint32_t orders[PLACES];       /* of a symbol and the next; NO_ORDER where there is none */
    uint32_t symbols[PLACES + LANES];
    uint8_t next[PLACES], last[PLACES]; /* places of the symbols behind each, and before */
    uint64_t keys[2];              /* of the pairs before and behind the symbol that was made last */
    const bpe_pair_line *lines[2]; /* where they are looked for */
    uint32_t before, made;         /* the places of these pairs */
    uint32_t end;                  /* that behind the last symbol */
    bpe_job *job;
} lane;

/* Where pairs go on two by two: of those that are certain if the one two bytes before is, those that are. */
static inline uint32_t go_on(uint32_t certain, uint32_t behind)
{
    certain |= behind & certain << 2;
    behind &= behind << 2;
    certain |= behind & certain << 4;
    behind &= behind << 4;
    certain |= behind & certain << 8;
    behind &= behind << 8;
    return certain | (behind & certain << 16);
}

/* Put the symbols of sixteen bytes, from the one with this number on: how many. *carry: which of the last two begin certain pairs. */
WITH_VECTORS static inline size_t put_sixteen_bytes(const bpe_vocabulary *v, const known_bytes *k, uint32_t i, __mmask16 all, uint32_t *carry,
                                                    uint32_t *symbols)
{
    const __m512i ranks = _mm512_loadu_si512(k->ranks + 2 + i), bounds = _mm512_loadu_si512(k->bounds + 1 + i);
    const __m512i left = _mm512_and_si512(_mm512_loadu_si512(k->bounds + i), _mm512_set1_epi32(BOUND_BEFORE));
    const __m512i right = _mm512_srli_epi32(_mm512_loadu_si512(k->bounds + 2 + i), BOUND_BEHIND_SHIFT);
    const __mmask16 pairs = _mm512_mask_cmplt_epu32_mask(all, ranks, _mm512_set1_epi32((int)v->rank_count));
    const __mmask16 may = _mm512_mask_cmple_epu32_mask(pairs, ranks, right) & _mm512_test_epi32_mask(bounds, _mm512_set1_epi32(BOUND_EARLY));
    const __mmask16 alone = _mm512_mask_cmplt_epu32_mask(may, ranks, left);
    const __mmask16 behind = _mm512_mask_cmple_epu32_mask(may, ranks, _mm512_loadu_si512(k->ranks + i));
    const uint32_t certain = go_on((uint32_t)alone << 2 | *carry, (uint32_t)behind << 2);
    const __mmask16 merged = (__mmask16)(certain >> 2), kept = all & (__mmask16)~(certain >> 1);
    const __m512i made = v->ranks_are_ids ? ranks : _mm512_mask_i32gather_epi32(ranks, merged, ranks, v->rank_tokens, 4);
    *carry = certain >> LANES & 3;
    _mm512_storeu_si512(symbols, _mm512_maskz_compress_epi32(kept, _mm512_mask_mov_epi32(_mm512_loadu_si512(k->symbols + i), merged, made)));
    return (size_t)_mm_popcnt_u32(kept);
}

/* put_certain, by vectors. */
WITH_VECTORS static inline size_t put_symbols(const bpe_vocabulary *v, lane *l, bpe_job *job)
{
    const uint32_t size = job->length;
    uint32_t carry = 0, known = 0, tokens, i;
    size_t count = 0;
    known_bytes k;
    begin_known(v, job->bytes, size, &k);
    tokens = (uint32_t)k.symbols[size - 1];
    for (i = 0; i < size && count <= PLACES - 2 - LANES; i += LANES) {
        if (known < size - 1 && known < i + LANES + 1) { /* many at a time: what was stored just now cannot be loaded by vectors at once */
            const uint32_t to = size - 1 - known < KNOWN_AHEAD ? size - 1 : known + KNOWN_AHEAD;
            tokens |= look_bytes_up(v, job->bytes, known, to, &k);
            known = to;
        }
        count += put_sixteen_bytes(v, &k, i, (__mmask16)_bzhi_u32(0xFFFF, size - i < LANES ? size - i : LANES), &carry, l->symbols + 1 + count);
    }
    job->length = i < size ? i + (carry >> 1) : size;
    return tokens == BPE_NONE ? BPE_NO_TOKEN : count;
}

/* What each symbol makes with the next. */
WITH_VECTORS static inline void put_orders(const bpe_vocabulary *v, lane *l, size_t count)
{
    uint32_t lines[PLACES], upper[PLACES], lower[PLACES], places[PLACES], asked = 0, i;
    __m512i numbers = _mm512_set_epi32(16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1);
    for (i = 1; i < count; i += LANES) {
        const __m512i left = _mm512_loadu_si512(l->symbols + i), right = _mm512_loadu_si512(l->symbols + i + 1), hashes = hashes_of(left, right);
        const __mmask16 which = may_merge(v, (__mmask16)_bzhi_u32(0xFFFF, (unsigned)(count - i < LANES ? count - i : LANES)), hashes);
        _mm512_storeu_si512(lines + asked, _mm512_maskz_compress_epi32(which, lines_of(v, hashes)));
        _mm512_storeu_si512(upper + asked, _mm512_maskz_compress_epi32(which, pairs_upper(left, right)));
        _mm512_storeu_si512(lower + asked, _mm512_maskz_compress_epi32(which, pairs_lower(right)));
        _mm512_storeu_si512(places + asked, _mm512_maskz_compress_epi32(which, numbers));
        numbers = _mm512_add_epi32(numbers, _mm512_set1_epi32(LANES));
        asked += (uint32_t)_mm_popcnt_u32(which);
    }
    for (i = 0; i < asked; i++) PREFETCH(v->pairs + lines[i]);
    for (i = 0; i < asked; i++) {
        l->orders[places[i]] = rank_by_vectors(v, v->pairs + lines[i], upper[i], lower[i]) * PLACES | places[i];
    }
}

/* Not inline: it would take registers from what goes on. */
NOT_INLINE WITH_VECTORS static int begin(const bpe_vocabulary *v, lane *l, bpe_job *job)
{
    const size_t count = put_symbols(v, l, job);
    uint32_t i;
    if (count == BPE_NO_TOKEN) return -1;
    l->symbols[0] = l->symbols[1 + count] = NO_SYMBOL;
    l->end = (uint32_t)count + 1;
    for (i = 0; i < PLACES; i++) {
        l->next[i] = (uint8_t)(i + 1);
        l->last[i] = (uint8_t)(i - (i > 0));
    }
    for (i = 0; i < PLACES; i += LANES) _mm512_store_si512(l->orders + i, _mm512_set1_epi32(-1));
    put_orders(v, l, count);
    l->before = l->made = 0; /* what is asked for first is nothing */
    l->keys[0] = l->keys[1] = pair_key(NO_SYMBOL, NO_SYMBOL);
    l->lines[0] = l->lines[1] = v->pairs;
    l->job = job;
    return 0;
}

WITH_VECTORS static inline uint32_t least(const lane *l)
{
    __m512i one = _mm512_load_si512(l->orders), two = one;
    const uint32_t end = l->end;
    uint32_t i;
    for (i = LANES; i < end; i += 2 * LANES) {
        one = _mm512_min_epu32(one, _mm512_load_si512(l->orders + i));
        two = _mm512_min_epu32(two, _mm512_load_si512(l->orders + ((i + LANES) & (PLACES - 1))));
    }
    return _mm512_reduce_min_epu32(_mm512_min_epu32(one, two));
}

/* The order of a pair that was asked for. */
WITH_VECTORS static inline uint32_t answer(const bpe_vocabulary *v, const lane *l, uint32_t which, uint32_t place)
{
    return rank_by_vectors(v, l->lines[which], pair_upper(l->keys[which]), pair_lower(l->keys[which])) * PLACES | place;
}

/* Take one step: 1, or 0 when nothing merges any more. */
WITH_VECTORS static inline int step(const bpe_vocabulary *v, lane *l)
{
    const uint32_t others = least(l), before = answer(v, l, 0, l->before), behind = answer(v, l, 1, l->made);
    const uint32_t either = before < behind ? before : behind, lowest = others < either ? others : either, rank = lowest / PLACES;
    const uint32_t place = lowest % PLACES, taken = l->next[place], next = l->next[taken], last = l->last[place];
    if ((rank >= v->rank_count) | (taken <= place) | (taken >= l->end)) return 0; /* the last two only in an image that was forged */
    l->next[place] = (uint8_t)next;
    l->last[next] = (uint8_t)place;
    l->orders[l->before] = before;
    l->orders[l->made] = behind;
    l->orders[taken] = l->orders[place] = l->orders[last] = NO_ORDER;
    l->symbols[place] = merged_token(v, rank);
    l->before = last;
    l->made = place;
    l->keys[0] = pair_key(l->symbols[last], l->symbols[place]);
    l->keys[1] = pair_key(l->symbols[place], l->symbols[next]);
    l->lines[0] = line_of(v, l->keys[0]);
    l->lines[1] = line_of(v, l->keys[1]);
    PREFETCH(l->lines[0]);
    PREFETCH(l->lines[1]);
    return 1;
}

static inline void finish(const lane *l)
{
    bpe_job *job = l->job;
    uint32_t count = 0, place;
    for (place = l->next[0]; place < l->end; place = l->next[place]) job->ids[count++] = l->symbols[place];
    job->count = count;
}

WITH_VECTORS static int merge_all(const bpe_vocabulary *v, bpe_job *jobs, size_t count)
{
    lane lanes[TURNS], *active[TURNS];
    size_t used = 0, next = 0, i;
    for (; used < TURNS && next < count; used++) {
        active[used] = lanes + used;
        if (begin(v, active[used], jobs + next++) != 0) return -1;
    }
    while (used > 0) {
        for (i = 0; i < used;) {
            lane *l = active[i];
            if (step(v, l)) {
                i++;
                continue;
            }
            finish(l);
            if (next < count) {
                if (begin(v, l, jobs + next++) != 0) return -1;
            } else {
                active[i] = active[--used];
            }
        }
    }
    return 0;
}

bpe_vectors bpe_most_vectors(void)
{
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("bmi2") || !__builtin_cpu_supports("popcnt")) return BPE_PLAIN;
    return __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
                   __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512vbmi2")
               ? BPE_AVX512
               : BPE_AVX2;
}

int bpe_merge_far(const bpe_vocabulary *v, bpe_job *jobs, size_t count, int vectors)
{
    return vectors ? merge_all(v, jobs, count) : bpe_merge_many(v, jobs, count, BPE_FAR);
}

#else

bpe_vectors bpe_most_vectors(void) { return BPE_PLAIN; }

int bpe_merge_far(const bpe_vocabulary *v, bpe_job *jobs, size_t count, int vectors)
{
    (void)vectors;
    return bpe_merge_many(v, jobs, count, BPE_FAR);
}

#endif

int bpe_has_vectors(void) { return bpe_most_vectors() == BPE_AVX512; }
