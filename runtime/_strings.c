/* _strings.c - a long str that is not ASCII in, its ids out, in one thread: its UTF-8 is made a part at a time, and encoded while it is in the
 * cache.
 *
 *     bytes     the piece at hand | what is read next | what may be the beginning of a special token
 *               piece               read                end                                        filled
 *
 * What the lexer has read and is no longer part of a piece is forgotten, and more characters are made UTF-8 behind what is left. So memory does not
 * grow with the text, and none has to be had for a copy of it: as the first text of a process, C with a few accents takes 5 to 8 % less time.
 *
 * Invariant: the ids are those of the whole text. Where there is an error to be told of, which says where in the whole it is, or a place at
 * which the text is not worth this, the caller is sent back to do it as a whole (WHOLE), with no ids.
 *
 * Rejected: to feed the parts to a stream (5 % slower, as it holds what is not settled by a copy of its own, and takes parts of any size).
 */
#include "_tokens.h"
#include "bitlex_lanes.h"

#define PART_BLOCKS 24    /* bytes of a part, in blocks of the lexer, unless the caller says otherwise: they stay in the second level of the cache */
#define MOST_PARTS 1024   /* for one piece, or white space that is open: what needs more is copied as a whole */
#define LIKELY_BYTES 2    /* of a character that is not Latin-1, at least: what follows the first part may have more than that has */

typedef struct {
    Working *w;
    Task *task;
    const Text *text;
    const specials *disallowed; /* or NULL */
    size_t width, at;           /* bytes of a unit; how many units were made UTF-8 */
    uint8_t *bytes;
    size_t part, room, filled, piece, read;
    uint32_t forward;           /* the state of the lexer at `read` */
} Reader;

static Encoded grow(Reader *r)
{
    uint8_t *grown;
    if (r->room / MOST_PARTS >= r->part) return WHOLE;
    grown = bitlex_py_regrow(FOR_TEXTS, r->bytes, r->room + UTF8_SLACK, r->filled, 2 * r->room + UTF8_SLACK);
    if (grown == NULL) return NO_ROOM;
    r->bytes = grown;
    r->room *= 2;
    return ENCODED;
}

/* Make more characters UTF-8, behind what is still needed. */
static Encoded fill(Reader *r)
{
    const size_t widest = r->width == 4 ? 4 : r->width + 1;
    size_t left = (size_t)r->text->length - r->at, count;
    const uint8_t *from = (const uint8_t *)r->text->data + r->width * r->at;
    r->filled -= r->piece;
    memmove(r->bytes, r->bytes + r->piece, r->filled);
    r->read -= r->piece;
    r->piece = 0;
    while (r->room - r->filled < r->part / 2) {
        const Encoded outcome = grow(r);
        if (outcome != ENCODED) return outcome;
    }
    count = (r->room - r->filled) / widest;
    if (count > left) count = left;
    if (count < left) count -= (size_t)bitlex_py_is_first_half(from, r->width, count - 1); /* of a character that two surrogates spell */
    r->filled = (size_t)(bitlex_py_utf8_put(r->bytes + r->filled, from, r->width, count) - r->bytes);
    r->at += count;
    return ENCODED;
}

/* Encode up to `end`: with `ends`, where the text ends or a special token begins; or else what no text behind `end` can change. */
static Encoded encode_up_to(Reader *r, size_t end, int ends)
{
    const bitlex_machine *machine = &r->w->encoder->machine->machine;
    bitlex_cursor *cursor = r->w->cursor;
    const uint8_t *text = r->bytes + r->piece;
    const size_t length = r->filled - r->piece;
    Encoded outcome = ENCODED;
    uint64_t units;
    Pieces p;
    p.base = 0;
    p.last = 0;
    if (r->read < end) {
        units = bitlex_begin_open(cursor, r->bytes + r->read, end - r->read, BITLEX_UTF8, scratch_behind(cursor), r->forward, r->read - r->piece,
                                  BITLEX_BLOCK, ends ? end - r->read : 0, machine->stages->backward_end);
        if (units == 0) return ENCODED;
        do {
            if (bitlex_py_next_pieces(&p, cursor, 0, length) < 0) return WHOLE;
            if (p.count > 0) outcome = bitlex_py_encode_pieces(r->w, &p, text, length, r->task);
        } while (outcome == ENCODED && p.count > 0);
        r->forward = cursor->forward;
        r->read += units;
        r->piece += p.last;
    }
    if (!ends || outcome != ENCODED) return outcome;
    r->forward = 0;
    if (r->piece == end) return ENCODED;
    p.starts[0] = p.last;
    p.starts[1] = (uint32_t)(end - (size_t)(text - r->bytes));
    p.ends = p.starts + 1;
    p.count = 1;
    r->piece = end;
    return bitlex_py_encode_pieces(r->w, &p, text, length, r->task);
}

/* Encode what is there, up to where special tokens may be that are not. */
static Encoded encode_part(Reader *r, int last)
{
    const specials *allowed = r->task->allowed;
    special_search search;
    special_match found;
    const size_t from = r->read;
    size_t end = r->filled, open = 0;
    Encoded outcome = ENCODED;
    if (r->disallowed != NULL && specials_find(r->disallowed, r->bytes, r->filled, from, &found)) return WHOLE;
    if (r->disallowed != NULL && !last) end = (size_t)specials_open(r->disallowed, r->bytes, r->filled, from);
    if (allowed == NULL) return encode_up_to(r, end, last);
    specials_begin(&search, allowed, r->bytes, r->filled, from);
    for (;;) {
        if (open <= r->read) open = last ? end : (size_t)specials_open(allowed, r->bytes, r->filled, r->read); /* or else it is where it was */
        if (!specials_next(&search, &found) || found.start >= open) return encode_up_to(r, open < end ? open : end, last);
        if (found.end > end) return WHOLE; /* in which one may begin that is disallowed */
        outcome = encode_up_to(r, (size_t)found.start, 1);
        if (outcome == ENCODED) outcome = bitlex_py_append_special(r->task, &found);
        if (outcome != ENCODED) return outcome;
        r->read = r->piece = (size_t)found.end;
    }
}

static Encoded encode_all(Reader *r)
{
    Task *task = r->task;
    const size_t length = (size_t)r->text->length;
    Encoded outcome = ENCODED;
    while (outcome == ENCODED && (r->at < length || r->piece < r->filled)) {
        const size_t before = r->at;
        if ((outcome = fill(r)) != ENCODED) break;
        if (before == 0) {
            const double bytes = (double)r->filled / (double)r->at;
            const double each = r->width > 1 && bytes < LIKELY_BYTES ? LIKELY_BYTES : bytes;
            if (bitlex_py_reserve_likely(&task->ids, task->counting ? 0 : (size_t)(each * (double)length / 2)) < 0) return NO_ROOM;
        }
        outcome = encode_part(r, r->at == length);
        if (outcome == ENCODED && !task->may_go_on(task->context)) outcome = STOPPED;
    }
    return outcome;
}

int bitlex_py_is_read_in_parts(const Encoder *self, const Text *text, size_t blocks)
{
    const bitlex_machine *machine = &self->machine->machine;
    return (blocks > 0 || text->length * (uint64_t)text->encoding >= LARGE) && !PyUnicode_IS_ASCII(text->string) &&
           machine->stage_count == 1 && machine->continuation == NULL && !machine->drops;
}

Encoded bitlex_py_encode_in_parts(Working *w, Task *task, const Text *text, const specials *disallowed, size_t blocks)
{
    Reader r = {.w = w, .task = task, .text = text, .disallowed = disallowed, .width = (size_t)text->encoding};
    Encoded outcome = NO_ROOM;
    r.part = r.room = (blocks > 0 && blocks < PART_BLOCKS ? blocks : PART_BLOCKS) * BITLEX_BLOCK;
    r.bytes = bitlex_py_take(FOR_TEXTS, r.room + UTF8_SLACK);
    bitlex_py_begin_watch(w, task);
    if (r.bytes != NULL) outcome = encode_all(&r);
    bitlex_py_end_watch(w);
    bitlex_py_let_go(FOR_TEXTS, r.bytes, r.room + UTF8_SLACK, r.room);
    if (outcome == NO_BYTE || outcome == TOO_LONG) outcome = WHOLE;
    if (outcome == WHOLE) task->ids.used = task->counted = 0;
    return outcome;
}
