/* bpe_words.h - how pieces are encoded by words (bpe_short.h): what is the same with vectors and without. bpe_encode.c has it once for each.
 *
 *     BY(name)    the function of that name, or the one that uses vectors
 *     WITH        how functions are declared that use them
 *     EACH        pieces whose ids are stored together
 */

/* Store the ids of pieces up to one: how many ids there are then. */
WITH static inline size_t BY(store_up_to)(const found_pieces *f, unstored *u, size_t to, misses *missed, uint32_t *out, size_t done)
{
    size_t before[MANY_WORDS / EACH + 1], i; /* ids before as many pieces as are stored together */
    if (u->gap_count == 0) done = BY(store_ids)(f, u->from, to, out, done);
    for (i = u->from; u->gap_count > 0 && i < to; i += EACH) {
        before[(i - u->from) / EACH] = done;
        done = BY(store_ids)(f, i, to - i < EACH ? to : i + EACH, out, done);
    }
    for (i = 0; i < u->gap_count; i++) {
        const size_t place = u->gaps[i] - u->from;
        missed->gaps[missed->gap_count++].at = before[place / EACH] + BY(count_ids)(f, u->gaps[i] - place % EACH, u->gaps[i]);
    }
    u->from = to;
    u->gap_count = 0;
    return done;
}

/* One that is not in its bucket, or has its ids elsewhere; `changed`: buckets are not as they were when it was looked up. Its ids are
 * stored behind those of all before, or, if they are two or fewer, put where they are stored with others. */
WITH static size_t BY(encode_hard)(bpe_encoder *e, const group *g, found_pieces *f, size_t n, int changed, unstored *u, misses *missed,
                                   uint32_t *out, size_t done)
{
    const span s = other_span(g, f, n);
    const size_t piece = f->others[n];
    const key k = f->keys[n];
    const uint64_t hash = s.length > BPE_KEY ? f->hashes[n] : 0;
    uint32_t ids[MEDIUM + BPE_PADDING];
    size_t count;
    if (UNLIKELY(s.length > MEDIUM)) {
        done = BY(store_up_to)(f, u, piece, missed, out, done);
        u->from++;
        count = hash != 0 ? bpe_recall(e, &s, hash, out + done) : 0;
        if (count == 0) count = encode_longer(e, &s, hash, out + done);
        return count >= BPE_NO_TOKEN ? count : done + count;
    }
    if (s.length > BPE_KEY) {
        count = bpe_recall(e, &s, hash, ids);
    } else {
        const entry *found = f->last[n] != 0 || changed ? entry_of(bucket_of(e, k), k) : NULL;
        count = found != NULL && same_key(found->bytes, k) ? ids_of(e, found, ids) : recall_guest(e, k, 0, ids);
    }
    if (count > 2) {
        done = BY(store_up_to)(f, u, piece, missed, out, done);
        u->from++;
        memcpy(out + done, ids, count * sizeof *ids);
        return done + count;
    }
    if (count > 0) {
        f->ids[piece] = two_ids(pair_of(ids), count);
        return done;
    }
    if (missed->gap_count + u->gap_count == MISSING) {
        done = finish_missing(e, missed, out, BY(store_up_to)(f, u, piece, missed, out, done));
        if (done >= BPE_NO_TOKEN) return done;
    }
    missed->gaps[missed->gap_count + u->gap_count].which = add_missing(e, missed, s.bytes, s.readable, s.length, s.part, k);
    u->gaps[u->gap_count++] = (uint16_t)piece;
    return done;
}

/* The ids of f->count pieces from the first of a group on, or up to the first that is to be cut: f->count becomes how many they are. */
WITH static size_t BY(encode_many)(bpe_encoder *e, const group *g, found_pieces *f, misses *missed, uint32_t *out, size_t done)
{
    const uint32_t moved = e->moved;
    size_t n, h, longer_count;
    unstored u;
    u.from = u.gap_count = 0;
    BY(find_short)(e, f, g->text, g->starts, g->ends);
    BY(put_others_in_buckets)(e, g, f, &longer_count);
    BY(find_others)(e, f);
    find_longer(e, g, f, longer_count);
    BY(place_others)(f);
    for (h = 0; h < f->hard_count; h++) {
        n = f->hard[h];
        if (f->last[n] == 0 && has_bit(e->left, bucket_number(e, f->keys[n]))) PREFETCH(guest_bucket_of(e, f->keys[n]));
    }
    for (h = 0; h < f->hard_count; h++) {
        n = f->hard[h];
        if (LIKELY((f->last[n] >> 32 & PLAIN) != 0)) {
            done = BY(store_up_to)(f, &u, f->others[n], missed, out, done);
            u.from++;
            put_two(out + done, f->first[n]);
            put_two(out + done + 2, f->last[n]);
            done += 1 + (size_t)(f->last[n] >> (32 + COUNT_SHIFT));
            continue;
        }
        done = BY(encode_hard)(e, g, f, n, e->moved != moved, &u, missed, out, done);
        if (done >= BPE_NO_TOKEN) return done;
    }
    return BY(store_up_to)(f, &u, f->count, missed, out, done);
}

/* Encode pieces from *i on by words, as long as that is worth it: half of them may be missing in the table, and a third hard. *i becomes
 * the first that is left. How many ids there are now, or an error. Where it was not worth it, a few calls go on without, and then twice as many. */
NOT_INLINE static size_t BY(encode_by_words)(bpe_encoder *e, group *g, misses *missed, const uint32_t *starts, const uint32_t *ends,
                                             size_t count, size_t *i, uint32_t *out, size_t done)
{
    found_pieces f;
    size_t most = e->skip == 0 ? MANY_WORDS : TRIED;
    while (count - *i >= WORTH_WORDS) {
        size_t wanted = count - *i < most ? count - *i : most;
        if (g->readable - starts[*i + wanted - 1] < 16) wanted -= 16; /* no piece is empty */
        g->starts = starts + *i;
        g->ends = ends + *i;
        f.count = wanted;
        done = BY(encode_many)(e, g, &f, missed, out, done);
        if (done >= BPE_NO_TOKEN) return done;
        *i += f.count;
        if (f.count < WORTH_WORDS || f.other_count * 2 > f.count || f.hard_count * 3 > f.count) {
            e->skipped = e->skip = (2 * e->skip + 1) & MOST_SKIPPED;
            return done;
        }
        if (f.count < wanted) return done;
        most = MANY_WORDS;
    }
    e->skip = 0;
    return done;
}
