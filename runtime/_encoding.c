/* _encoding.c - a text in, its ids out, in one thread: lexed some pieces at a time, which are encoded while they are in the cache.
 *
 * Touches no object, so that several threads may each encode a text of their own.
 */
#include "_tokens.h"

/* Put w, or nothing, in a place of those that wait; what was there comes back. By one instruction: a process may fork while a thread has a
 * lock, and the child would wait for it for ever. */
static Working *exchange(Encoder *self, size_t place, Working *w)
{
#if defined(__GNUC__)
    return __atomic_exchange_n(&self->idle[place], w, __ATOMIC_ACQ_REL);
#else /* where nothing forks */
    Working *found;
    PyThread_acquire_lock(self->lock, WAIT_LOCK);
    found = self->idle[place];
    self->idle[place] = w;
    PyThread_release_lock(self->lock);
    return found;
#endif
}

Working *bitlex_py_begin_work_apart(Encoder *self)
{
    Working *w = NULL;
    for (size_t i = 0; w == NULL && i < MOST_THREADS; i++) w = exchange(self, i, NULL);
    if (w != NULL) return w;
    w = PyMem_RawCalloc(1, sizeof *w);
    if (w == NULL) return NULL;
    w->encoder = self;
    w->caches = bpe_encoder_new(&self->vocabulary);
    w->cursor = bitlex_py_new_cursor(&self->machine->machine);
    if (w->caches != NULL) {
        bpe_encoder_use_vectors(w->caches, vectors_of(self->machine->tier));
    }
    if (w->caches != NULL && w->cursor != NULL) return w;
    bitlex_py_free_work(w);
    return NULL;
}

void bitlex_py_end_work_apart(Working *w, Encoder *self)
{
    for (size_t i = 0; w != NULL && i < MOST_THREADS; i++) w = exchange(self, i, w);
    bitlex_py_free_work(w);
}

void bitlex_py_offer_spare(Encoder *self)
{
    Working *w = bitlex_py_exchange_spare(self, NULL);
    if (w != NULL) bitlex_py_end_work_apart(w, self);
}

void bitlex_py_free_work(Working *w)
{
    if (w == NULL) return;
    bpe_encoder_free(w->caches);
    PyMem_RawFree(w->cursor);
    PyMem_RawFree(w->scratch);
    PyMem_RawFree(w->offsets);
    bitlex_py_free_ids(&w->ids);
    PyMem_RawFree(w);
}

static void split_pairs(Pieces *p, const uint32_t *pairs, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        p->starts[i] = pairs[2 * i];
        p->others[i] = pairs[2 * i + 1];
    }
    p->count = n;
}

int bitlex_py_next_pieces(Pieces *p, bitlex_cursor *cursor, int drops, uint64_t length)
{
    p->ends = p->others;
    if (length < UINT32_MAX && !drops) {
        size_t n;
        p->ends = p->starts + 1;
        p->starts[0] = p->last;
        p->count = 0;
        do { /* one block has too few pieces for those that are new to be merged by turns */
            n = bitlex_next32(cursor, p->starts + 1 + p->count, PIECES_READ - p->count);
            p->count += n;
        } while (n > 0 && p->count < PIECES_READ && p->starts[p->count] < length);
        p->last = p->starts[p->count];
    } else if (length < UINT32_MAX) {
        uint32_t pairs[2 * WIDE];
        split_pairs(p, pairs, bitlex_next_pairs32(cursor, pairs, WIDE));
    } else if (!drops) { /* ends, since of pairs the last of a part ends where the part does */
        if (p->wide_at == p->wide_count) {
            p->wide_count = bitlex_next(cursor, p->wide, WIDE);
            p->wide_at = 0;
        }
        p->base += p->last;
        p->ends = p->starts + 1;
        p->starts[0] = 0;
        for (p->count = 0; p->wide_at < p->wide_count && p->wide[p->wide_at] - p->base < UINT32_MAX; p->wide_at++, p->count++) {
            p->starts[p->count + 1] = (uint32_t)(p->wide[p->wide_at] - p->base);
        }
        p->last = p->starts[p->count];
        if (p->count == 0 && p->wide_count > 0) return -1;
    } else {
        if (p->wide_at == p->wide_count) {
            p->wide_count = bitlex_next_pairs(cursor, p->wide, WIDE);
            p->wide_at = 0;
        }
        p->base = p->wide_count > 0 ? p->wide[2 * p->wide_at] : 0;
        for (p->count = 0; p->wide_at < p->wide_count && p->wide[2 * p->wide_at + 1] - p->base < UINT32_MAX; p->wide_at++, p->count++) {
            p->starts[p->count] = (uint32_t)(p->wide[2 * p->wide_at] - p->base);
            p->others[p->count] = (uint32_t)(p->wide[2 * p->wide_at + 1] - p->base);
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

/* The place of the first byte of the pieces that is no token. A piece that is taken whole may have such. */
static uint64_t place_of_no_token(const Working *w, const uint8_t *text, const Pieces *p)
{
    const bpe_vocabulary *v = &w->encoder->vocabulary;
    for (size_t i = 0; i < p->count; i++) {
        if (v->whole && bpe_find(v, text + p->base + p->starts[i], p->ends[i] - p->starts[i]) != BPE_NONE) continue;
        for (uint64_t at = p->base + p->starts[i]; at < p->base + p->ends[i]; at++) {
            if (v->byte_tokens[text[at]] == BPE_NONE) return at;
        }
    }
    return p->base;
}

/* Say where the ids from `from` on are, and of which piece: they are those of these pieces, one after the other. */
static void place_ids(const bpe_vocabulary *v, const Pieces *p, Ids *ids, size_t from)
{
    for (size_t i = 0; i < p->count; i++) {
        for (uint64_t at = p->starts[i]; at < p->ends[i] && from < ids->used; from++) {
            if (ids->numbered) ids->pieces[from] = ids->piece_count + i;
            ids->places[2 * from] = p->base + at;
            at += v->starts[ids->data[from] + 1] - v->starts[ids->data[from]];
            ids->places[2 * from + 1] = p->base + at;
        }
    }
    ids->piece_count += p->count;
}

Encoded bitlex_py_encode_pieces(Working *w, const Pieces *p, const uint8_t *text, uint64_t length, Task *task)
{
    Ids *ids = &task->ids;
    const size_t before = ids->used;
    size_t made;
    if (bitlex_py_reserve(ids, (size_t)(p->ends[p->count - 1] - p->starts[0]) + BPE_PADDING) < 0) return NO_ROOM;
    bpe_encoder_make_room(w->caches); /* streams do not ask: how much they take is promised to be less */
    made = bpe_encode(w->caches, text + p->base, length - p->base + task->slack, p->starts, p->ends, p->count, ids->data + before);
    if (made == BPE_NO_MEMORY) return w->watch.stopped ? STOPPED : NO_ROOM;
    if (made == BPE_NO_TOKEN) {
        task->at = place_of_no_token(w, text, p);
        return NO_BYTE;
    }
    ids->used += made;
    if (task->counting) {
        task->counted += made;
        ids->used = 0;
    }
    if (ids->placed) place_ids(&w->encoder->vocabulary, p, ids, before);
    return ENCODED;
}

/* A text without special tokens, or a part of one. */
static Encoded encode_ordinary(Working *w, Task *task, const uint8_t *text, uint64_t length)
{
    const int drops = w->encoder->machine->machine.drops, part = task->from != NULL || task->to != NULL;
    Encoded outcome = ENCODED;
    uint64_t since = 0;
    int skips = task->from != NULL; /* the piece that another part starts */
    Pieces p;
    p.base = 0;
    p.last = 0;
    p.wide_count = p.wide_at = 0;
    task->first = task->last = 0;
    if (length == 0) return ENCODED;
    if (begin_text(w, text, length) < 0) return NO_ROOM;
    if (part) bitlex_begin_part(w->cursor, task->from, task->to);
    for (;;) {
        if (bitlex_py_next_pieces(&p, w->cursor, drops, length) < 0) return TOO_LONG;
        if (p.count == 0) return ENCODED;
        task->last = p.base + p.ends[p.count - 1];
        since += p.ends[p.count - 1] - p.starts[0];
        if (skips) {
            task->first = p.ends[0];
            memmove(p.starts, p.starts + 1, p.count-- * sizeof *p.starts);
            if (p.ends == p.others) memmove(p.others, p.others + 1, p.count * sizeof *p.others);
            skips = 0;
        }
        if (p.count > 0) outcome = bitlex_py_encode_pieces(w, &p, text, length, task);
        if (outcome != ENCODED) return outcome;
        if (task->may_go_on != NULL && since >= SLICE / 4) {
            since = 0;
            if (!task->may_go_on(task->context)) return STOPPED;
        }
    }
}

Encoded bitlex_py_encode_piece(Working *w, Task *task, uint64_t start, uint64_t end)
{
    Pieces p;
    if (end - start >= UINT32_MAX) return TOO_LONG;
    p.base = start;
    p.count = 1;
    p.ends = p.starts + 1;
    p.starts[0] = 0;
    p.starts[1] = (uint32_t)(end - start);
    return bitlex_py_encode_pieces(w, &p, task->text, task->length, task);
}

/* The text between two special tokens. */
static Encoded encode_between(Working *w, Task *task, uint64_t from, uint64_t to)
{
    Ids *ids = &task->ids;
    size_t i = ids->used;
    const Encoded outcome = encode_ordinary(w, task, task->text + from, to - from);
    if (outcome == NO_BYTE) task->at += from;
    for (; ids->placed && from > 0 && i < ids->used; i++) {
        ids->places[2 * i] += from;
        ids->places[2 * i + 1] += from;
    }
    return outcome;
}

Encoded bitlex_py_append_special(Task *task, const special_match *found)
{
    Ids *ids = &task->ids;
    if (bitlex_py_reserve(ids, 1) < 0) return NO_ROOM;
    if (ids->placed) {
        ids->places[2 * ids->used] = found->start;
        ids->places[2 * ids->used + 1] = found->end;
    }
    ids->data[ids->used++] = found->id;
    if (task->counting) {
        task->counted++;
        ids->used = 0;
    }
    return ENCODED;
}

/* All of a text. */
static Encoded encode_all(Working *w, Task *task)
{
    special_search search;
    special_match found;
    uint64_t from = 0;
    if (task->allowed != NULL) specials_begin(&search, task->allowed, task->text, task->length, 0);
    while (task->allowed != NULL && specials_next(&search, &found)) {
        const Encoded outcome = encode_between(w, task, from, found.start);
        if (outcome != ENCODED) return outcome;
        if (bitlex_py_append_special(task, &found) != ENCODED) return NO_ROOM;
        from = found.end;
    }
    return encode_between(w, task, from, task->length);
}

void bitlex_py_begin_watch(Working *w, const Task *task)
{
    const bpe_watch watch = {task->may_go_on, task->context, 0};
    w->watch = watch;
    bpe_encoder_watch(w->caches, &w->watch);
}

void bitlex_py_end_watch(Working *w)
{
    w->watch.stopped = 0;
    bpe_encoder_watch(w->caches, NULL);
}

Encoded bitlex_py_encode(Working *w, Task *task)
{
    Encoded outcome;
    if (task->may_go_on == NULL) return encode_all(w, task);
    bitlex_py_begin_watch(w, task);
    outcome = encode_all(w, task);
    bitlex_py_end_watch(w);
    return outcome;
}
