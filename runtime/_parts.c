/* _parts.c - one long text, by several threads: a reading in; out, the number of its pieces, or its offsets at the place given for them.
 *
 * The text is cut as bitlex_find_cut allows, about every part_blocks blocks. Each thread takes the next part, lexes it into memory that
 * its cache holds and, in the order of the parts, is given a place for it in the result: it has the turn, and passes it on.
 *
 * Invariants: parts are numbered as they are taken, in the order of the text, and the part before any other is taken by somebody who
 * works on it; so waiting for a turn comes to an end. Only whoever has the turn changes `used`; everything else is changed
 * under the lock. A turn is passed on even by a thread that was stopped.
 *
 * What it does not do: a text that cannot be cut is one part, and a machine of several stages never gets here.
 *
 * Rejected: as many parts as threads (the slowest would keep the others waiting, and the results would leave the caches before they
 * are moved); counting first, to know the place of each part (a second pass).
 */
#include "_threads.h"

typedef struct {
    Job job;
    const Text *text;
    uint64_t blocks, part_blocks, count, pieces; /* count: of the parts taken so far */
    bitlex_cut next; /* where the next part starts, unless it is the first */
    int taken;       /* all of it */
    char *out;
    size_t room, used;
    PyThread_type_lock *turns; /* see turn_of */
    uint64_t turn_count;
} Parts;

static Parts *parts_of(Worker *w) { return (Parts *)w->job; }

/* The lock that is released when this part may be stored. Each thread has one part, so as many locks as threads will do. */
static PyThread_type_lock *turn_of(Parts *parts, uint64_t number) { return parts->turns + number % parts->turn_count; }

/* The next part: blocks until the next place where the text can be cut. Looked for ever further on, so that in a text that cannot be
 * cut at all the search costs next to nothing. */
static int take_part(Worker *w, uint64_t *number, bitlex_cut *from, bitlex_cut *to, int *to_end)
{
    Parts *parts = parts_of(w);
    uint64_t step, block;
    int taken = 0;
    PyThread_acquire_lock(parts->job.lock, WAIT_LOCK);
    if (parts->job.outcome == GOES_ON && !parts->taken) {
        taken = 1;
        *number = parts->count++;
        *from = parts->next;
        step = parts->part_blocks;
        for (block = from->block + step; block < parts->blocks; step *= 2, block += step) {
            if (bitlex_find_cut(w->cursor, block, to)) break;
        }
        parts->taken = *to_end = block >= parts->blocks;
        if (!parts->taken) parts->next = *to;
    }
    PyThread_release_lock(parts->job.lock);
    return taken;
}

/* A pair that lies across a cut came in two, the second of which is first in the buffer: join them. */
static void join_pairs(Parts *parts, const char *buffer)
{
    const size_t size = form_size(parts->job.form), half = size / 2;
    char *last = parts->out + parts->used * size - size;
    if (parts->used > 0 && memcmp(last + half, buffer, half) == 0) memcpy(last + half, buffer + half, half);
}

/* Store n offsets of a part, whose turn it is, and pass the turn on if they are the last. Ends are copied when somebody else has
 * the turn; pairs before, because the next part may have to join one. */
static void store(Worker *w, uint64_t number, size_t n, int first, int last)
{
    Parts *parts = parts_of(w);
    const size_t size = form_size(parts->job.form);
    const int pairs = has_pairs(parts->job.form), joins = pairs && first && number > 0 && n > 0;
    PyThread_type_lock next = *turn_of(parts, number + 1);
    char *to;
    if (joins) join_pairs(parts, w->buffer);
    n -= (size_t)joins;
    if (n > parts->room - parts->used) { /* more than there are code points */
        bitlex_py_stop(&parts->job, TEXT_CHANGED);
        n = 0;
    }
    to = parts->out + parts->used * size;
    parts->used += n;
    if (last && !pairs) PyThread_release_lock(next);
    memcpy(to, w->buffer + (joins ? size : 0), n * size);
    if (last && pairs) PyThread_release_lock(next);
}

/* The offsets of one part, stored in the order of the parts. The turn is passed on, whatever happens. */
static void lex_part(Worker *w, uint64_t number)
{
    Parts *parts = parts_of(w);
    const Form form = parts->job.form;
    const uint64_t units = SLICE / 16;
    size_t n = 0, got = 1;
    int has_turn = 0, first = 1, stopped = 0;
    while (got > 0 && !stopped) {
        if (!bitlex_ready(w->cursor, units)) {
            stopped = !bitlex_py_may_go_on(w, units);
            continue;
        }
        got = bitlex_py_next_offsets(w->cursor, form, w->buffer + n * form_size(form), BUFFER - n);
        n += got;
        if (got > 0 && n < BUFFER) continue;
        if (!has_turn) bitlex_py_wait_for(&parts->job, *turn_of(parts, number), w->exited == NULL);
        has_turn = 1;
        store(w, number, n, first, got == 0);
        stopped = got > 0 && !bitlex_py_may_go_on(w, BUFFER);
        first = 0;
        n = 0;
    }
    if (!stopped) return;
    if (!has_turn) bitlex_py_wait_for(&parts->job, *turn_of(parts, number), w->exited == NULL);
    PyThread_release_lock(*turn_of(parts, number + 1));
}

static void work_on_parts(Worker *w)
{
    Parts *parts = parts_of(w);
    const Text *t = parts->text;
    uint64_t number, pieces;
    bitlex_cut from, to;
    int to_end;
    bitlex_restart(w->cursor, t->data, t->length, t->encoding, scratch_behind(w->cursor));
    while (take_part(w, &number, &from, &to, &to_end)) {
        bitlex_begin_part(w->cursor, number == 0 ? NULL : &from, to_end ? NULL : &to);
        if (!parts->job.counting) {
            lex_part(w, number);
        } else {
            pieces = 0;
            while (bitlex_count_some(w->cursor, SLICE / 16, &pieces) && bitlex_py_may_go_on(w, SLICE / 16)) {}
            PyThread_acquire_lock(parts->job.lock, WAIT_LOCK);
            parts->pieces += pieces;
            PyThread_release_lock(parts->job.lock);
        }
        bitlex_py_may_go_on(w, parts->part_blocks * BITLEX_BLOCK);
    }
}

/* Have the text of a reading worked on. */
static int share_text(Parts *parts, const Reading *r, uint64_t threads, uint64_t part_blocks)
{
    int failed = 0;
    parts->job.machine = &r->machine->machine;
    parts->job.work = work_on_parts;
    parts->text = &r->text;
    parts->blocks = (r->text.length - 1) / BITLEX_BLOCK + 1;
    parts->part_blocks = part_blocks;
    parts->turn_count = threads;
    parts->turns = PyMem_RawCalloc((size_t)threads, sizeof *parts->turns);
    for (uint64_t i = 0; parts->turns != NULL && i < threads; i++) {
        if ((parts->turns[i] = PyThread_allocate_lock()) == NULL) failed = 1;
        else if (i > 0) PyThread_acquire_lock(parts->turns[i], WAIT_LOCK);
    }
    if (parts->turns == NULL || failed) {
        PyErr_NoMemory();
        failed = 1;
    } else {
        failed = bitlex_py_share(&parts->job, threads) < 0;
    }
    for (uint64_t i = 0; parts->turns != NULL && i < threads; i++) {
        if (parts->turns[i] != NULL) PyThread_free_lock(parts->turns[i]);
    }
    PyMem_RawFree(parts->turns);
    return failed ? -1 : 0;
}

int bitlex_py_share_count(const Reading *r, uint64_t workers, uint64_t part_blocks, uint64_t *pieces)
{
    Parts parts = {.job = {.counting = 1}};
    if (share_text(&parts, r, workers, part_blocks) < 0) return -1;
    *pieces = parts.pieces;
    return 0;
}

int bitlex_py_share_offsets(const Reading *r, Form form, uint64_t workers, uint64_t part_blocks, char *out, size_t room, size_t *used)
{
    Parts parts = {.job = {.form = form}, .out = out, .room = room};
    if (share_text(&parts, r, workers, part_blocks) < 0) return -1;
    *used = parts.used;
    return 0;
}

uint64_t bitlex_py_useful_threads(const Machine *self, const Text *t, Py_ssize_t threads, Py_ssize_t part_blocks)
{
    uint64_t parts = t->length / BITLEX_BLOCK / (uint64_t)part_blocks;
    if (self->machine.stage_count > 1 || parts < 2) return 1;
    return parts < (uint64_t)threads ? parts : (uint64_t)threads;
}
