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
 * The text is cut into sections, which overlap as windows do; in each, windows of up to 508 bytes start where a token does, three tokens
 * before the end of the last, and one of each section is merged at a time (bpe_merge_far.c), so that tables answer one while others go on.
 * Starting at a token, a window nearly always has one in common with the window before. What is the same bytes as the window before, as it
 * is where the text is periodic, is not merged again. Sections overlap by as much as the last ten tokens have: where tokens are short, more
 * costs more than it saves, and where they are long, less does. A section that has no token in common with what there is waits until that
 * goes on into it; where it never has, as in a text of one character, all is one section for a while.
 *
 * Without AVX-512, such a window takes longer than sixteen of 32 bytes. So there, windows of 32 bytes come first, many at a time
 * (bpe_merge_many.c), which nearly always have a token in common; where many have not, since tokens are long, they have 62 bytes; and sections
 * follow only where that is not enough, either.
 *
 * A window that has no token in common is made up for by one that starts where a token does, and goes twice as far back and ahead each time
 * that it has none, either; if it goes back to the beginning of the piece, all that was done before is done again, and it always succeeds.
 * Behind a token that is longer than that, it goes ahead as far as this token goes back. So the time is linear, but for a logarithm at worst.
 *
 * Invariant: `out` holds the ids of the first `end` bytes. Rejected: cutting where no token lies around (in ASCII nearly every pair of
 * bytes is in some token); the methods of bpe_neighbours.h (large tables, not for all vocabularies, and slow on some texts); windows of 254
 * bytes that start anywhere (they overlap by as much as the longest tokens, and still fail: twice the time); merging whatever is lower
 * than its neighbours, without regard to what comes later, and asking afterwards which borders are right (in text of English tokens, one of
 * twelve bytes is not).
 */
#include "bpe_pairs.h"

#include <stdlib.h>

#define NARROW 32    /* bytes of a window, at least */
#define REACH 24     /* bytes that one which starts at a token goes back and ahead, at first */
#define IDS 2048     /* of the windows that are merged at a time, together */
#define FEW 8        /* windows that are merged at a time when it is not known whether they are enough */
#define ASK (1u << 20) /* bytes from one question to the next, whether to go on */

#define SECTIONS 8
#define SECTION 4        /* times the bytes that it has in common with the one before, at least */
#define STRETCH 4096     /* bytes of all together, at first, */
#define MOST_STRETCH 65536 /* and at most */
#define MOST_ALONE 64    /* stretches of one section, before more are tried again */
#define MORE 4           /* windows by which what is there goes on into the next section, for both to have a token in common */
#define OVERLAP 64       /* bytes that one has in common with the one before, at least, */
#define TOKENS_OVER 10   /* and tokens, if they are as long as the last ones, */
#define MOST_OVERLAP 512 /* but no more than this */
#define LEAST_BACK 24    /* bytes, at first, and */
#define TOKENS_BACK 3    /* tokens that a window starts before the end of the last, */
#define MOST_BACK 256    /* but no more than this */
#define MOST_AHEAD 2048  /* bytes that one goes ahead which has to be longer, if such are needed again and again, */
#define CALM 8           /* and how many others must have been enough for it to go half as far */

/* A window that starts at a token, as long as it has to be, and its ids: those of the last one. */
typedef struct {
    uint32_t *ids;
    const uint8_t *bytes;
    size_t room, length, count;
    size_t ahead, calm; /* bytes that the next one goes ahead in a section; others that were enough since the last one */
} window;

typedef struct {
    const bpe_vocabulary *v;
    const uint8_t *piece;
    size_t length, end, count; /* the ids of the bytes up to `end` are known: so many, */
    uint32_t *out;             /* here */
    window *far;
    size_t back, ahead;        /* bytes that the next of these goes back, and ahead */
    int vectors;
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
static int merge_far(const state *s, size_t start, size_t length)
{
    window *w = s->far;
    bpe_job job = {s->piece + start, (uint32_t)length, 0, NULL};
    if (length == w->length && memcmp(job.bytes, w->bytes, length) == 0) return 0;
    if (length > w->room) {
        uint32_t *grown = realloc(w->ids, (2 * length + BPE_PADDING) * sizeof *grown);
        if (grown == NULL) return -1;
        w->ids = grown;
        w->room = 2 * length;
    }
    w->bytes = job.bytes;
    w->length = length;
    job.ids = w->ids;
    if (length <= BPE_FAR) bpe_merge_far(s->v, &job, 1, s->vectors);
    w->count = length <= BPE_FAR && job.length == length ? job.count : bpe_merge(s->v, BPE_HEAP, job.bytes, length, w->ids);
    return w->count == BPE_NO_MEMORY ? -1 : 0;
}

/* Where a token starts, so many bytes and tokens before `end`, if that is not more than `most` bytes before it; 0 if there are not as many. */
static size_t start_before(const state *s, size_t bytes, size_t tokens, size_t most)
{
    size_t start = s->end, known = s->count;
    while (known > 0 && start > 0 && (s->end - start < bytes || s->count - known < tokens)) {
        const size_t length = bpe_token_length(s->v, s->out[known - 1]);
        if (s->end - start + length > most) return start;
        start -= length;
        known--;
    }
    if (known > 0 && start <= s->end) return start;
    return s->end > most ? s->end : 0; /* more than `most` only in an image that was forged */
}

/* Go on beyond `end`, by a window that starts at a token: 0, or -1 if there is no memory. */
static int go_far(state *s)
{
    for (;; s->back *= 2, s->ahead *= 2) {
        const size_t start = start_before(s, s->back, 1, SIZE_MAX), gone = s->end - start, most = s->length - start;
        size_t usual, length;
        if (gone > 2 * s->back) { /* behind a token that is longer: all of it is merged again, and so as much is that is new */
            s->back = gone;
            if (s->ahead < gone) s->ahead = gone;
        }
        usual = s->back + s->ahead;
        length = gone + s->ahead / 2 <= usual ? usual : gone + s->ahead; /* the usual may be what was merged last */
        if (length > most) length = most;
        if (merge_far(s, start, length) < 0) return -1;
        if (join(s, start, start + length, s->far->ids, s->far->count)) return 0;
    }
}

/* --- sections ---------------------------------------------------------------------------------------------------------- */

/* Merge all of some sections, or as far as `until`, by windows that start at tokens: 0, or -1 if there is no memory. */
static int merge_sections(state *sections, size_t count, size_t until)
{
    uint32_t ids[SECTIONS][BPE_LONG + 1];
    bpe_job jobs[SECTIONS], fresh[SECTIONS];
    size_t starts[SECTIONS], which[SECTIONS], asked[SECTIONS] = {0}, end, i, n, begun;
    memset(jobs, 0, sizeof jobs);
    for (;;) {
        for (i = n = begun = 0; i < count; i++) {
            const state *s = sections + i;
            bpe_job job = {NULL, 0, 0, ids[i]};
            if (s->end >= s->length || s->end >= until) continue;
            begun++;
            starts[i] = start_before(s, s->back, TOKENS_BACK, MOST_BACK);
            job.bytes = s->piece + starts[i];
            job.length = (uint32_t)(s->length - starts[i] < BPE_FAR ? s->length - starts[i] : BPE_FAR);
            if (job.length == asked[i] && memcmp(job.bytes, jobs[i].bytes, jobs[i].length) == 0) {
                jobs[i].bytes = job.bytes;
                continue;
            }
            asked[i] = job.length;
            jobs[i] = fresh[n] = job;
            which[n++] = i;
        }
        if (begun == 0) return 0;
        bpe_merge_far(sections->v, fresh, n, sections->vectors);
        for (i = 0; i < n; i++) jobs[which[i]] = fresh[i];
        for (i = 0; i < count; i++) {
            state *s = sections + i;
            if (s->end >= s->length || s->end >= until) continue;
            end = starts[i] + jobs[i].length;
            if (end > s->end && join(s, starts[i], end, ids[i], jobs[i].count)) {
                s->back = LEAST_BACK;
                if (++s->far->calm % CALM == 0 && s->far->ahead > MOST_BACK) s->far->ahead /= 2;
            } else if ((s->back *= 2) > MOST_BACK) {
                s->ahead = s->far->ahead;
                s->far->calm = 0;
                if (go_far(s) < 0) return -1;
                s->back = LEAST_BACK;
                if (s->far->ahead < MOST_AHEAD) s->far->ahead *= 2;
            }
        }
    }
}

/* Go on for so many bytes by so many sections, or fewer: whether all of them had tokens in common, or -1 if there is no memory. */
static int go_by_sections(state *s, size_t stretch, size_t most)
{
    const size_t left = s->length - s->end < stretch ? s->length - s->end : stretch;
    const size_t overlap = s->end - start_before(s, OVERLAP, TOKENS_OVER, MOST_OVERLAP), parts = left / (SECTION * overlap + 1) + 1;
    const size_t count = s->end == 0 ? 1 : parts < most ? parts : most, size = left / count + 1;
    state sections[SECTIONS];
    uint32_t *out;
    size_t from = start_before(s, MOST_BACK, 1, SIZE_MAX), to = s->end, tries, i;
    int failed, fit = 1;
    if (count == 1) { /* to begin with, one window, which tells how long tokens are */
        s->back = LEAST_BACK;
        return merge_sections(s, 1, s->end == 0 ? 1 : s->end + left) < 0 ? -1 : 1;
    }
    out = malloc((s->end - from + count * (size + overlap)) * sizeof *out);
    if (out == NULL) return -1;
    for (i = 0; i < count; i++) {
        uint32_t *const to_here = i == 0 ? out : sections[i - 1].out + sections[i - 1].length;
        const state section = {s->v, s->piece + from, 0, 0, 0, to_here, s->far, LEAST_BACK, 0, s->vectors};
        to = s->length - to < size ? s->length : to + size;
        sections[i] = section;
        sections[i].length = to - from;
        from = to > overlap ? to - overlap : 0;
    }
    failed = merge_sections(sections, count, SIZE_MAX) < 0;
    for (i = 0; i < count && fit && !failed; i++) {
        const size_t start = (size_t)(sections[i].piece - s->piece), end = start + sections[i].length;
        for (tries = 0; fit && !failed && s->end < end && !join(s, start, end, sections[i].out, sections[i].count); tries++) {
            s->back = s->ahead = MOST_BACK;
            failed = go_far(s) < 0;
            fit = tries < MORE;
        }
    }
    free(out);
    return failed ? -1 : fit;
}

/* --- all of it --------------------------------------------------------------------------------------------------------- */

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

/* Go on by many windows, as far as most of them have tokens in common: whether they had, or -1 if there is no memory. */
static int go_ahead(state *s, size_t width, size_t most)
{
    uint32_t ids[IDS];
    bpe_job jobs[IDS / NARROW];
    const size_t count = merge_ahead(s, width, most, jobs, ids);
    size_t failed = 0, tried = 0, i;
    for (i = 0; i < count && s->end < s->length; i++) {
        const size_t start = (size_t)(jobs[i].bytes - s->piece), end = start + jobs[i].length;
        if (end <= s->end) continue;
        if (start > 0 && start >= s->end) break; /* a longer window ended here */
        tried++;
        if (join(s, start, end, jobs[i].ids, jobs[i].count)) continue;
        failed++;
        if (8 * failed > tried + (most > FEW ? 8 : 0)) return 0;
        s->back = s->ahead = REACH;
        if (go_far(s) < 0) return -1;
    }
    return 8 * failed <= tried + 1;
}

/* How far the next sections go, and whether there is more than one: where those of before had no token in common, there is not, for some. */
typedef struct {
    size_t stretch, alone, done;
} plan;

/* Go on by sections: 0, or -1 if there is no memory. */
static int go_on(state *s, plan *p)
{
    const int is_alone = p->done < p->alone, fit = go_by_sections(s, p->stretch, is_alone ? 1 : SECTIONS);
    p->done = is_alone ? p->done + 1 : fit ? p->alone : 0;
    if (!is_alone) p->alone = fit ? 1 : p->alone < MOST_ALONE ? 8 * p->alone : p->alone;
    if (p->stretch < MOST_STRETCH) p->stretch *= 2;
    return fit < 0 ? -1 : 0;
}

static int merge_all(state *s, bpe_watch *watch)
{
    size_t width = NARROW, most = IDS / NARROW, ask = ASK;
    plan sections = {STRETCH, 1, 1};
    while (s->end < s->length) {
        const int fit = s->vectors ? 0 : go_ahead(s, width, most);
        if (fit > 0) {
            if (most == IDS / width) {
                width = NARROW;
                sections.stretch = STRETCH;
            }
            most = 2 * most < IDS / width ? 2 * most : IDS / width;
        } else if (fit == 0 && width == NARROW && !s->vectors) {
            width = BPE_WIDE;
            most = FEW;
        } else if (fit == 0) {
            if (go_on(s, &sections) < 0) return -1;
            width = NARROW;
            most = FEW;
        }
        if (fit < 0) return -1;
        if (watch == NULL || s->end < ask) continue;
        ask = s->end + ASK;
        watch->stopped = !watch->may_go_on(watch->context);
        if (watch->stopped) return -1;
    }
    return 0;
}

size_t bpe_merge_windows(const bpe_vocabulary *v, const uint8_t *piece, size_t length, uint32_t *out, bpe_watch *watch, int vectors)
{
    window far = {NULL, NULL, 0, 0, 0, MOST_BACK, 0};
    state s = {v, piece, length, 0, 0, out, &far, REACH, REACH, vectors};
    size_t i;
    int failed;
    for (i = 0; i < length; i++) {
        if (v->byte_tokens[piece[i]] == BPE_NONE) return BPE_NO_TOKEN;
    }
    failed = merge_all(&s, watch) < 0;
    free(far.ids);
    return failed ? BPE_NO_MEMORY : s.count;
}
