/* bpe_merge_windows.c - a piece of any length in, its ids out, by merging short windows of it that overlap.
 *
 *     abcdefgh            ->  ab cd ef gh
 *           ghijkl        ->        gh ij kl        both have gh there: so abcdefghijkl -> ab cd ef gh ij kl
 *
 * A sequence of tokens is what merging gives for its bytes if and only if each two neighbours are what it gives for the bytes of both
 * (bpe_neighbours.h has the proof, which takes nothing for granted of merges). Neighbours in what one window gives are such. So if two
 * windows that overlap have a token in common, in the same place, the tokens of the first up to there and those of the second from there
 * on are the ids of both together: all neighbours are neighbours in one of them.
 *
 * Windows of 32 bytes are merged many at a time (bpe_merge_many.c), whose tables answer meanwhile, and nearly always have a token in
 * common with the one before. Where many have not, since tokens are long, windows are longer. One that has none is made up for by one
 * that starts where a token does, and goes twice as far back and ahead each time that it has none, either; if it goes back to the beginning
 * of the piece, all that was done before is done again, and it always succeeds. So the time is linear, but for a logarithm at worst. What goes
 * ahead and has the very bytes of the window before it, as it is where the text is periodic, is not merged again.
 *
 * Invariant: `out` holds the ids of the first `end` bytes. Rejected: cutting where no token lies around (in ASCII nearly every pair of
 * bytes is in some token); the methods of bpe_neighbours.h (large tables, not for all vocabularies, and slow on some texts).
 */
#include "bpe_pairs.h"

#include <stdlib.h>

#define NARROW 32       /* bytes of a window, at least */
#define REACH 24          /* bytes that one which starts at a token goes back and ahead, at first */
#define IDS 2048        /* of the windows that are merged at a time, together */
#define MOST_AHEAD 2048 /* bytes, if longer windows are needed again and again */
#define ASK (1u << 20)  /* bytes from one question to the next, whether to go on */

typedef struct {
    const bpe_vocabulary *v;
    const uint8_t *piece;
    size_t length, end, count; /* the ids of the bytes up to `end` are known: so many, */
    uint32_t *out;             /* here */
    uint32_t *far;             /* ids of the last window that started at a token: */
    size_t room, far_start, far_length, far_count;
    size_t back, ahead;        /* bytes that the next of these goes back, and ahead */
} state;

/* Add the ids of a window, if it has a token in common with what there is: whether it has. */
static int join(state *s, size_t start, size_t end, const uint32_t *ids, size_t count)
{
    size_t known = s->count, at = s->end, place = start, i = 0;
    if (start == 0) known = at = 0;
    while (at > start && known > 0) at -= bpe_token_length(s->v, s->out[--known]);
    while (start > 0) {
        if (known == s->count || i == count) return 0;
        if (at == place && s->out[known] == ids[i]) break;
        if (at <= place) at += bpe_token_length(s->v, s->out[known++]);
        else place += bpe_token_length(s->v, ids[i++]);
    }
    if (known + count - i > end) return 0; /* in an image that was forged */
    memcpy(s->out + known, ids + i, (count - i) * sizeof *ids);
    s->count = known + count - i;
    s->end = end;
    return 1;
}

/* Merge a window that starts at a token: 0, or -1 if there is no memory. */
static int merge_far(state *s, size_t start, size_t length)
{
    bpe_job job = {s->piece + start, (uint32_t)length, 0, NULL};
    if (length == s->far_length && memcmp(s->piece + start, s->piece + s->far_start, length) == 0) return 0;
    if (length > s->room) {
        uint32_t *grown = realloc(s->far, (2 * length + BPE_PADDING) * sizeof *grown);
        if (grown == NULL) return -1;
        s->far = grown;
        s->room = 2 * length;
    }
    s->far_start = start;
    s->far_length = length;
    job.ids = s->far;
    if (length <= BPE_WIDE) bpe_merge_many(s->v, &job, 1, length);
    s->far_count = length <= BPE_WIDE ? job.count : bpe_merge(s->v, BPE_HEAP, s->piece + start, length, s->far);
    return s->far_count == BPE_NO_MEMORY ? -1 : 0;
}

/* Go on beyond `end`, by a window that starts at a token: 0, or -1 if there is no memory. */
static int go_far(state *s)
{
    for (;; s->back *= 2, s->ahead *= 2) {
        const size_t length = s->length - s->end > s->ahead ? s->ahead : s->length - s->end;
        size_t start = s->end, known = s->count;
        while (known > 0 && start > 0 && s->end - start < s->back) start -= bpe_token_length(s->v, s->out[--known]);
        if (known == 0 || start > s->end) start = 0;
        if (merge_far(s, start, s->end + length - start) < 0) return -1;
        if (join(s, start, s->end + length, s->far, s->far_count)) return 0;
    }
}

/* Merge up to `most` windows from `end` on, one every five eighths of their width: their number. */
static size_t merge_ahead(const state *s, size_t width, size_t most, bpe_job *jobs, uint32_t *ids)
{
    const size_t overlap = width * 3 / 8;
    size_t from = s->end > overlap ? s->end - overlap : 0, count = 0;
    while (count < most) {
        const size_t left = s->length - from;
        const bpe_job job = {s->piece + from, (uint32_t)(left < width ? left : width), 0, ids + count * width};
        jobs[count++] = job;
        if (left <= width) break;
        from += width - overlap;
    }
    bpe_merge_many(s->v, jobs, count, width);
    return count;
}

size_t bpe_merge_windows(const bpe_vocabulary *v, const uint8_t *piece, size_t length, uint32_t *out, bpe_watch *watch)
{
    state s = {.v = v, .piece = piece, .length = length, .out = out, .back = REACH, .ahead = REACH};
    size_t width = NARROW, most = IDS / NARROW, ask = ASK, i;
    uint32_t ids[IDS];
    bpe_job jobs[IDS / NARROW];
    for (i = 0; i < length; i++) {
        if (v->byte_tokens[piece[i]] == BPE_NONE) return BPE_NO_TOKEN;
    }
    while (s.end < length) {
        const size_t count = merge_ahead(&s, width, most, jobs, ids);
        size_t failed = 0, tried = 0;
        for (i = 0; i < count && s.end < length; i++) {
            const size_t start = (size_t)(jobs[i].bytes - piece), end = start + jobs[i].length;
            if (end <= s.end) continue;
            if (start > 0 && start >= s.end) break; /* a longer window ended here */
            tried++;
            if (join(&s, start, end, jobs[i].ids, jobs[i].count)) continue;
            failed++;
            if (go_far(&s) == 0) continue;
            free(s.far);
            return BPE_NO_MEMORY;
        }
        if (watch != NULL && s.end >= ask) {
            ask = s.end + ASK;
            watch->stopped = !watch->may_go_on(watch->context);
            if (watch->stopped) {
                free(s.far);
                return BPE_NO_MEMORY;
            }
        }
        if (8 * failed > tried) { /* tokens are longer than this */
            if (width < BPE_WIDE) width = BPE_WIDE;
            else if (s.ahead < MOST_AHEAD) s.ahead *= 2;
            most = most > 2 ? most / 2 : 1;
        } else {
            s.back = s.ahead = REACH;
            if (failed == 0 && most == IDS / width && width > NARROW) width = NARROW;
            most = 2 * most < IDS / width ? 2 * most : IDS / width;
        }
        if (most > IDS / width) most = IDS / width;
    }
    free(s.far);
    return s.count;
}
