/* bpe_rounds.h - how pieces are merged round after round (bpe_merge_rounds.c, which says why): what is the same for any number of lanes. That
 * file has it once for each, and says before what the names in capitals stand for; it and bpe_pair_vectors.h have what is named as BY(name) and is
 * not here.
 */

#define ROOM (LANES + MOST_SYMBOLS + LANES + BPE_MEDIUM)
#define symbols BY(symbols)

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

/* The first of these pieces, put side by side: how many. */
WITH static size_t BY(put_pieces)(symbols *s, const bpe_job *jobs, size_t count, size_t most)
{
    size_t n, i, end = LANES;
    for (n = 0; n < count && end + jobs[n].length <= LANES + most; n++) {
        const VECTOR key = ALL(piece_key(n) | RANK_MASK);
        BY(copy_bytes)(s->bytes + end, jobs[n].bytes, jobs[n].length);
        for (i = 0; i < BPE_MEDIUM; i += LANES) STORE(s->keys + end + i, key);
        end += jobs[n].length;
    }
    STORE(s->keys + end, ALL(0));
    s->end = end;
    s->done_count = 0;
    return n;
}

/* What is known of all bytes, and of each with the next. To gather them is slower. */
NOT_INLINE static void BY(look_bytes_up)(const bpe_vocabulary *v, symbols *s)
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

/* Bits of so many lanes. */
static inline unsigned BY(first_lanes)(size_t count) { return count < LANES ? (1u << count) - 1 : (1u << LANES) - 1; }

/* Put as many symbols as there are lanes, but for those that are `gone`, where *end is; what each of `merged` makes takes its place. */
WITH static inline void BY(put_symbols)(const bpe_vocabulary *v, symbols *s, size_t *end, VECTOR old, VECTOR keys, MASK merged, unsigned gone)
{
    const VECTOR ranks = keys & ALL(RANK_MASK);
    const VECTOR made = v->ranks_are_ids ? ranks : BY(numbers_of)(v->rank_tokens, merged, ranks);
    const unsigned stay = ~gone & BY(first_lanes)(LANES);
    old = CHOSEN(merged, made | ALL(MADE), old);
    keys = CHOSEN(merged, keys | ALL(RANK_MASK), keys);
    BY(append)(s->symbols + *end, stay, old);
    *end += BY(append)(s->keys + *end, stay, keys);
}

WITH static inline void BY(put_end)(symbols *s, size_t end)
{
    s->end = end;
    STORE(s->symbols + end, ALL(0));
    STORE(s->keys + end, ALL(0));
}

/* Merge pairs of bytes that are certain: 0, or -1 if a byte is no token. */
WITH static int BY(merge_bytes)(const bpe_vocabulary *v, symbols *s)
{
    const VECTOR most = ALL(v->rank_count), ranks_only = ALL(RANK_MASK), early_only = ALL(BOUND_EARLY);
    const size_t old_end = s->end;
    VECTOR last = ALL(0);
    unsigned missing = 0, carry = 0;
    size_t i, end = LANES;
    for (i = LANES; i < old_end; i += LANES) {
        const unsigned all = BY(first_lanes)(old_end - i);
        const VECTOR old = LOAD(s->symbols + i), ranks = LOAD(s->ranks + i);
        const VECTOR keys = LOAD(s->keys + i), before = WITH_LAST_OF(last, keys);
        const VECTOR left = LOAD(s->bounds + i - 1) & ALL(BOUND_BEFORE), right = DOWN(LOAD(s->bounds + i + 1), BOUND_BEHIND_SHIFT);
        const VECTOR next = LOAD(s->keys + i + 1), second = LOAD(s->keys + i + 2);
        const MASK pairs = IS_LOWER(ranks, most) & IS_SAME(keys, next);
        const MASK is_left = NOT(IS_SAME(keys, before)) | IS_LOWER(ranks, left);
        const MASK is_right = NOT(IS_SAME(keys, second)) | NOT(IS_LOWER(right, ranks));
        const MASK early = IS_SAME(LOAD(s->bounds + i) & early_only, early_only);
        const MASK merged = pairs & is_left & is_right & early; /* what is behind the end is gone, whatever it is */
        const unsigned are_merged = BITS_OF(merged);
        missing |= BITS_OF(IS_SAME(old, ALL(-1))) & all;
        BY(put_symbols)(v, s, &end, old, CHOSEN(pairs, keys & (ranks | ~ranks_only), keys), merged, are_merged << 1 | carry | ~all);
        carry = are_merged >> (LANES - 1);
        last = keys;
    }
    BY(put_end)(s, end);
    return missing ? -1 : 0;
}

/* Ask for the ranks of all pairs of which one symbol was made in this round, and which may merge: how many. */
WITH static size_t BY(ask)(const bpe_vocabulary *v, symbols *s)
{
    const VECTOR made = ALL(MADE), piece = ALL(~RANK_MASK), none = ALL(RANK_MASK), zeros = ALL(0);
    const bpe_pair_line *const pairs = v->pairs;
    const size_t end = s->end;
    size_t asked = 0, i;
    for (i = LANES; i < end; i += LANES) {
        const VECTOR left = LOAD(s->symbols + i), right = LOAD(s->symbols + i + 1), keys = LOAD(s->keys + i);
        const VECTOR other = keys ^ LOAD(s->keys + i + 1);
        const MASK all = IS_SAME((left | right) & made, made) & IS_SAME(other & piece, zeros);
        const VECTOR l = left & ~made, r = right & ~made;
        const VECTOR hashes = BY(hashes_of)(l, r);
        STORE(s->symbols + i, l);
        STORE(s->keys + i, CHOSEN(all, keys | none, keys));
        STORE(s->lines + i, BY(lines_of)(v, hashes));
        STORE(s->upper + i, BY(pairs_upper)(l, r));
        STORE(s->lower + i, BY(pairs_lower)(r));
        asked += BY(append)(s->places + asked, BITS_OF(BY(may_merge)(v, all, hashes)), SUM(EACH_LANE, ALL(i)));
    }
    for (i = 0; i < asked; i++) PREFETCH(pairs + s->lines[s->places[i]]);
    return asked;
}

/* Put the ranks of what was asked for where they belong. */
WITH static void BY(answer)(const bpe_vocabulary *v, symbols *s)
{
    const size_t asked = s->asked;
    const bpe_pair_line *const pairs = v->pairs;
    size_t i;
    for (i = 0; i < asked; i++) {
        const uint32_t at = s->places[i];
        s->keys[at] &= BY(rank_by_vectors)(v, pairs + s->lines[at], s->upper[at], s->lower[at]) | ~RANK_MASK;
    }
}

/* Merge the lowest rank of each piece. Pieces that have none are done. */
WITH static void BY(merge_lowest)(const bpe_vocabulary *v, symbols *s)
{
    const VECTOR ranks = ALL(RANK_MASK), pieces = ~ranks, most = ALL(v->rank_count), none = ALL(-1);
    const size_t old_end = s->end;
    VECTOR carry = none, before = none;
    unsigned gone = 0;
    size_t i, end = LANES, done_count = s->done_count;
    for (i = old_end + (0 - old_end) % LANES; i > LANES; i -= LANES) {
        const VECTOR keys = LOAD(s->keys + i - LANES) ^ pieces;
        const VECTOR lowest = LOWEST(BY(lowest_behind)(keys), carry);
        STORE(s->ranks + i - LANES, lowest);
        carry = LANE_OF(lowest, 0);
    }
    carry = before;
    for (i = LANES; i < old_end; i += LANES) {
        const unsigned all = BY(first_lanes)(old_end - i);
        const VECTOR old = LOAD(s->symbols + i), keys = LOAD(s->keys + i), behind = LOAD(s->ranks + i);
        const VECTOR lowest = LOWEST(BY(lowest_before)(keys), carry);
        const MASK is_left = IS_LOWER(keys, WITH_LAST_OF(before, lowest)), is_right = IS_SAME(keys ^ pieces, behind);
        const MASK merged = is_left & is_right & IS_LOWER(keys & ranks, most);
        const unsigned are_merged = BITS_OF(merged), done = BITS_OF(IS_SAME(lowest & behind & ranks, ranks)); /* none behind the end: keys are 0 */
        BY(append)(s->done + done_count, done, old);
        done_count += BY(append)(s->done_keys + done_count, done, keys);
        BY(put_symbols)(v, s, &end, old, keys, merged, are_merged << 1 | gone | done | ~all);
        gone = are_merged >> (LANES - 1);
        before = lowest;
        carry = LANE_OF(lowest, LANES - 1);
    }
    s->done_count = done_count;
    BY(put_end)(s, end);
}

/* Give each piece its ids. */
WITH static void BY(put_ids)(symbols *s)
{
    size_t i, from = 0;
    STORE(s->done_keys + s->done_count, ALL(0));
    for (i = 0; i < s->done_count; i += LANES) {
        const VECTOR keys = LOAD(s->done_keys + i), next = LOAD(s->done_keys + i + 1);
        unsigned ends = ~BITS_OF(IS_SAME(keys, next)) & BY(first_lanes)(s->done_count - i);
        for (; ends != 0; ends &= ends - 1) {
            const size_t end = i + _tzcnt_u32(ends) + 1, count = end - from;
            bpe_job *job = s->jobs + piece_number(s->done_keys[end - 1]);
            job->count = (uint32_t)count;
            BY(copy_numbers)(job->ids, s->done + from, count);
            from = end;
        }
    }
}

/* A set of the next pieces: how many, or BPE_NO_TOKEN. */
WITH static size_t BY(begin)(const bpe_vocabulary *v, symbols *s, bpe_job *jobs, size_t count, size_t most)
{
    const size_t taken = BY(put_pieces)(s, jobs, count, most);
    s->jobs = jobs;
    BY(look_bytes_up)(v, s);
    if (BY(merge_bytes)(v, s) < 0) return BPE_NO_TOKEN;
    s->asked = BY(ask)(v, s);
    return taken;
}

WITH static size_t BY(merge_rounds)(const bpe_vocabulary *v, bpe_job *jobs, size_t count)
{
    symbols turns[TURNS], *active[TURNS];
    size_t used = 0, next = 0, all = 0, most, i;
    if (count < WORTH || v->rank_count > RANK_MASK) return 0;
    for (i = 0; i < count; i++) all += jobs[i].length;
    most = all / TURNS + BPE_MEDIUM < MOST_SYMBOLS ? all / TURNS + BPE_MEDIUM : MOST_SYMBOLS;
    for (; used < TURNS && next < count; used++) {
        active[used] = turns + used;
        i = BY(begin)(v, active[used], jobs + next, count - next, most);
        if (i == BPE_NO_TOKEN) return i;
        next += i;
    }
    while (used > 0) {
        for (i = 0; i < used;) {
            symbols *s = active[i];
            const size_t before = s->end;
            BY(answer)(v, s);
            BY(merge_lowest)(v, s);
            if (s->end == before) return BPE_NO_TOKEN; /* the tables are damaged */
            if (s->end > LANES) {
                s->asked = BY(ask)(v, s);
                i++;
                continue;
            }
            BY(put_ids)(s);
            if (next < count) {
                const size_t taken = BY(begin)(v, s, jobs + next, count - next, most);
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

#undef symbols
#undef ROOM
