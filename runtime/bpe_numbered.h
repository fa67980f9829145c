/* bpe_numbered.h - how places are encoded whose characters have numbers (bpe_regions.h): what is the same with AVX2 and with AVX-512.
 * bpe_encode.c has it once for each.
 *
 *     BY(name)    the function of that name that uses them
 *     WITH        how such functions are declared
 */

/* As encode_group. */
WITH static size_t BY(encode_numbered)(bpe_encoder *e, group *g, const uint16_t *characters, misses *missed, uint32_t *out, size_t done)
{
    const uint8_t *base = e->tables;
    const size_t count = g->count;
    uint32_t moved = e->moved;
    located l;
    size_t i, made;
    if (missed->gap_count > MISSING - GROUP) done = finish_missing(e, missed, out, done);
    if (done >= BPE_NO_TOKEN) return done;
    BY(list_others)(e, &l, characters, count);
    BY(put_other_places)(e, &l, g);
    BY(locate_others)(e, &l, g);
    for (i = 0;; i++) {
        for (; i < count; i++) { /* without a call, so that constants stay in registers */
            const uint32_t *ids = (const void *)(base + l.ids[i]);
            const uint32_t flags = ids[3];
            if (UNLIKELY((flags & PLAIN) == 0)) break;
            copy_ids(out + done, ids);
            done += 1 + (size_t)(flags >> COUNT_SHIFT);
        }
        if (i == count) return done;
        made = encode_not_located(e, g, i, characters[i], missed, done, out);
        if (made >= BPE_NO_TOKEN) return made;
        done += made;
        if (UNLIKELY(moved != e->moved)) BY(locate_others)(e, &l, g);
        moved = e->moved;
    }
}
