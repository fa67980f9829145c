/* _encoding.c - a text in, its ids out, in one thread: lexed some pieces at a time, which are encoded while they are in the cache.
 *
 * Touches no object, so that several threads may each encode a text of their own.
 */
#include "_tokens.h"

#define PIECES 2048 /* at a time */
#define WIDE 512    /* of pairs, or of a text of more than 4 GiB */

Working *bitlex_py_begin_work(Encoder *self)
{
    Working *w;
    PyThread_acquire_lock(self->lock, WAIT_LOCK);
    w = self->idle;
    if (w != NULL) self->idle = w->next;
    PyThread_release_lock(self->lock);
    if (w != NULL) return w;
    w = PyMem_RawCalloc(1, sizeof *w);
    if (w == NULL) return NULL;
    w->encoder = self;
    w->caches = bpe_encoder_new(&self->vocabulary);
    w->cursor = bitlex_py_new_cursor(&self->machine->machine);
    if (w->caches != NULL && w->cursor != NULL) return w;
    bitlex_py_free_work(w);
    return NULL;
}

void bitlex_py_end_work(Working *w, Encoder *self)
{
    PyThread_acquire_lock(self->lock, WAIT_LOCK);
    w->next = self->idle;
    self->idle = w;
    PyThread_release_lock(self->lock);
}

void bitlex_py_free_work(Working *w)
{
    bpe_encoder_free(w->caches);
    PyMem_RawFree(w->cursor);
    PyMem_RawFree(w->scratch);
    PyMem_RawFree(w);
}

/* Pieces of a text, as they are handed to bpe_encode: by 32-bit places behind `base`. */
typedef struct {
    uint64_t base;
    size_t count, wide_count, wide_at; /* of the pairs that were found and not handed out yet */
    uint32_t last;                     /* where the last piece ended */
    uint32_t starts[PIECES + 1], ends[PIECES];
    uint64_t wide[2 * WIDE];
} Pieces;

static void split_pairs(Pieces *p, const uint32_t *pairs, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        p->starts[i] = pairs[2 * i];
        p->ends[i] = pairs[2 * i + 1];
    }
    p->count = n;
}

/* The next pieces, none of them if there are no more: 0, or -1 if one is too long. */
static int next_pieces(Pieces *p, bitlex_cursor *cursor, int drops, uint64_t length)
{
    if (length < UINT32_MAX && !drops) {
        p->starts[0] = p->last;
        p->count = bitlex_next32(cursor, p->ends, PIECES);
        memcpy(p->starts + 1, p->ends, p->count * sizeof *p->ends);
        if (p->count > 0) p->last = p->ends[p->count - 1];
    } else if (length < UINT32_MAX) {
        uint32_t pairs[2 * WIDE];
        split_pairs(p, pairs, bitlex_next_pairs32(cursor, pairs, WIDE));
    } else {
        if (p->wide_at == p->wide_count) {
            p->wide_count = bitlex_next_pairs(cursor, p->wide, WIDE);
            p->wide_at = 0;
        }
        p->base = p->wide_count > 0 ? p->wide[2 * p->wide_at] : 0;
        for (p->count = 0; p->wide_at < p->wide_count && p->wide[2 * p->wide_at + 1] - p->base < UINT32_MAX; p->wide_at++, p->count++) {
            p->starts[p->count] = (uint32_t)(p->wide[2 * p->wide_at] - p->base);
            p->ends[p->count] = (uint32_t)(p->wide[2 * p->wide_at + 1] - p->base);
        }
        if (p->count == 0 && p->wide_count > 0) return -1;
    }
    return 0;
}

static int begin_text(Working *w, const uint8_t *text, uint64_t length)
{
    const bitlex_machine *machine = &w->encoder->machine->machine;
    const uint64_t size = machine->stage_count > 1 ? bitlex_scratch_size(machine, length) : 0;
    if (size > w->scratch_size) {
        void *grown = PyMem_RawRealloc(w->scratch, (size_t)size);
        if (grown == NULL) return -1;
        w->scratch = grown;
        w->scratch_size = size;
    }
    bitlex_restart(w->cursor, text, length, BITLEX_UTF8, size > 0 ? w->scratch : scratch_behind(w->cursor));
    return 0;
}

/* The place of the first byte of the pieces that is no token. */
static uint64_t place_of_no_token(const Working *w, const uint8_t *text, const Pieces *p)
{
    for (size_t i = 0; i < p->count; i++) {
        for (uint64_t at = p->base + p->starts[i]; at < p->base + p->ends[i]; at++) {
            if (w->encoder->vocabulary.byte_tokens[text[at]] == BPE_NONE) return at;
        }
    }
    return p->base;
}

/* A text without special tokens. */
static Encoded encode_ordinary(Working *w, const uint8_t *text, uint64_t length, Ids *ids, uint64_t *at, int (*may_go_on)(void *),
                               void *context)
{
    const int drops = w->encoder->machine->machine.drops;
    uint64_t since = 0;
    Pieces p;
    p.base = 0;
    p.last = 0;
    p.wide_count = p.wide_at = 0;
    if (length == 0) return ENCODED;
    if (begin_text(w, text, length) < 0) return NO_ROOM;
    for (;;) {
        size_t made;
        uint64_t bytes;
        if (next_pieces(&p, w->cursor, drops, length) < 0) return TOO_LONG;
        if (p.count == 0) return ENCODED;
        bytes = p.ends[p.count - 1] - p.starts[0];
        if (bitlex_py_reserve(ids, (size_t)bytes + BPE_PADDING) < 0) return NO_ROOM;
        made = bpe_encode(w->caches, text + p.base, length - p.base, p.starts, p.ends, p.count, ids->data + ids->used);
        if (made == BPE_NO_TOKEN) {
            *at = place_of_no_token(w, text, &p);
            return NO_BYTE;
        }
        if (made == BPE_NO_MEMORY) return NO_ROOM;
        ids->used += made;
        since += bytes;
        if (may_go_on != NULL && since >= SLICE / 4) {
            since = 0;
            if (!may_go_on(context)) return STOPPED;
        }
    }
}

Encoded bitlex_py_encode(Working *w, const uint8_t *text, uint64_t length, const specials *allowed, Ids *ids, uint64_t *at,
                         int (*may_go_on)(void *), void *context)
{
    special_match found;
    uint64_t from = 0;
    Encoded outcome = ENCODED;
    while (outcome == ENCODED && allowed != NULL && specials_find(allowed, text, length, from, &found)) {
        outcome = encode_ordinary(w, text + from, found.start - from, ids, at, may_go_on, context);
        if (outcome == NO_BYTE) *at += from;
        if (outcome != ENCODED) return outcome;
        if (bitlex_py_reserve(ids, 1) < 0) return NO_ROOM;
        ids->data[ids->used++] = found.id;
        from = found.end;
    }
    outcome = encode_ordinary(w, text + from, length - from, ids, at, may_go_on, context);
    if (outcome == NO_BYTE) *at += from;
    return outcome;
}
