/* _train_counting.c - the texts of one call in; their pieces, counted in the tables of a Counter, out: with a lexer, by several threads.
 *
 * Each thread has a table of its own, takes the next text, or the next part of a long one, and counts what the lexer finds in it while
 * that is in the cache. A table that becomes too large is written down by its thread. A piece that lies across a cut is counted when the
 * parts around it are known, as in _many.c.
 *
 * Of a long text, a call may count a window only. It ends with the last piece before a cut, and the next one starts there: with the last cut
 * before it, since a pattern may look at what lies before, and leaving out what was counted.
 *
 * Invariant: what comes out does not depend on threads, parts, windows or calls: where a piece was first met counts as a place in all texts,
 * one after the other. The text of a call is not looked at after it.
 */
#include <stddef.h>

#include "_training.h"
#include "_threads.h"

#if defined(__linux__)
#include <sys/mman.h>
#include <unistd.h>
#endif

#define LONG (1u << 20)    /* bytes from which on a text is cut */
#define PART_BLOCKS 64     /* of a part, at least, unless the caller says otherwise */
#define PARTS 64           /* of a text for each thread, at most */

/* A text or a part of one, and where the piece ends in whose midst it starts, and where its last one ends. Pieces up to `counted` were
 * counted before. */
typedef struct {
    const uint8_t *text;
    uint64_t length, place, counted, first, last;
    bitlex_cut from, to;
    int begins_inside, ends_inside;
} Stretch;

typedef struct {
    Job job;
    Counter *counter;
    Stretch *stretches;
    size_t count, next;
    Py_ssize_t tables; /* taken */
    int failed;        /* what a table said, or 1 for a piece that is too long */
} Counting;

/* --- in any thread ---------------------------------------------------------------------------------------------------------------- */

/* Stop all threads because of what a table said: -1, -2, or 1 for a piece that is too long. */
static Outcome fail(Worker *w, int failed)
{
    Counting *counting = (Counting *)w->job;
    if (failed == -1) return NO_MEMORY;
    PyThread_acquire_lock(w->job->lock, WAIT_LOCK);
    counting->failed = failed;
    PyThread_release_lock(w->job->lock);
    return INTERRUPTED;
}

/* How many of these pieces are not to be counted: the one that another part starts, and those that were counted before. */
static size_t skipped(const Pieces *p, Stretch *s, int *first)
{
    size_t from = 0;
    if (*first) {
        s->first = p->base + p->ends[0];
        from = 1;
        *first = 0;
    }
    while (from < p->count && p->base + p->ends[from] <= s->counted) from++;
    return from;
}

static Outcome count_pieces(Worker *w, train_counts *table, Stretch *s)
{
    const bitlex_machine *machine = w->job->machine;
    const uint64_t size = machine->stage_count > 1 ? bitlex_scratch_size(machine, s->length) : 0;
    Counter *counter = ((Counting *)w->job)->counter;
    const uint64_t share = counter->limit / (uint64_t)counter->table_count, limit = counter->limit > 0 && share == 0 ? 1 : share;
    void *scratch = size > 0 ? PyMem_RawMalloc((size_t)size) : NULL;
    Pieces *p = PyMem_RawMalloc(sizeof *p);
    Outcome outcome = p == NULL || (size > 0 && scratch == NULL) ? NO_MEMORY : GOES_ON;
    int first = s->begins_inside, failed = 0;
    if (outcome == GOES_ON) {
        memset(p, 0, offsetof(Pieces, starts));
        if (s->begins_inside && s->length >= UINT32_MAX) p->base = s->from.block * BITLEX_BLOCK;
        bitlex_restart(w->cursor, s->text, s->length, BITLEX_UTF8, size > 0 ? scratch : scratch_behind(w->cursor));
        if (s->begins_inside || s->ends_inside) {
            bitlex_begin_part(w->cursor, s->begins_inside ? &s->from : NULL, s->ends_inside ? &s->to : NULL);
        }
    }
    while (outcome == GOES_ON) {
        size_t from;
        if (bitlex_py_next_pieces(p, w->cursor, machine->drops != 0, s->length) < 0) outcome = fail(w, 1);
        if (outcome != GOES_ON || p->count == 0) break;
        s->last = p->base + p->ends[p->count - 1];
        from = skipped(p, s, &first);
        failed = train_count(table, s->text + p->base, s->length - p->base, s->place + p->base, p->starts + from, p->ends + from, p->count - from);
        if (failed == 0 && limit > 0 && train_counts_memory(table) > limit) failed = bitlex_py_spill_table(counter, table, TRAIN_BY_HASH);
        if (failed != 0) outcome = fail(w, failed);
        else if (!bitlex_py_may_go_on(w, s->last - p->base - p->starts[0])) outcome = INTERRUPTED;
    }
    if (train_count_settle(table) < 0) outcome = NO_MEMORY;
    PyMem_RawFree(scratch);
    PyMem_RawFree(p);
    return outcome;
}

void bitlex_py_let_pages_go(const uint8_t *from, const uint8_t *to)
{
#if defined(__linux__)
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    const uintptr_t first = (uintptr_t)from / page * page, last = (uintptr_t)to / page * page;
    if (first < last) madvise((void *)first, last - first, MADV_DONTNEED);
#else
    (void)from;
    (void)to;
#endif
}

static void work_on_stretches(Worker *w)
{
    Counting *counting = (Counting *)w->job;
    Outcome outcome = GOES_ON;
    train_counts *table;
    PyThread_acquire_lock(counting->job.lock, WAIT_LOCK);
    table = counting->counter->tables[counting->tables++];
    PyThread_release_lock(counting->job.lock);
    while (outcome == GOES_ON && bitlex_py_may_go_on(w, 0)) {
        size_t next;
        PyThread_acquire_lock(counting->job.lock, WAIT_LOCK);
        next = counting->next;
        counting->next += next < counting->count;
        PyThread_release_lock(counting->job.lock);
        if (next == counting->count) return;
        outcome = count_pieces(w, table, counting->stretches + next);
    }
    if (outcome != GOES_ON) bitlex_py_stop(w->job, outcome);
}

/* --- texts ------------------------------------------------------------------------------------------------------------------------ */

/* Whether a text is worth it. */
static int is_cut(const Counter *self, const Utf8 *u, const Window *window, Py_ssize_t threads, Py_ssize_t blocks)
{
    const bitlex_machine *machine = &self->machine->machine;
    return (threads > 1 || window != NULL) && u->length >= (blocks > 0 ? 1 : LONG) && machine->stage_count == 1 && !machine->drops;
}

/* The last cut that is known before a place: its block, 0 at the start of the text. */
static uint64_t cut_before(bitlex_cursor *cursor, uint64_t place, bitlex_cut *cut)
{
    uint64_t block = place / BITLEX_BLOCK, step = 1;
    while (block > 0 && !bitlex_find_cut(cursor, block, cut)) {
        block = block > step ? block - step : 0;
        step *= 2;
    }
    return block;
}

/* Cut a text, or what lies in a window, into up to so many parts, which are all zeros: their number. */
static size_t cut_text(bitlex_cursor *cursor, const Utf8 *u, const Window *window, size_t most, uint64_t part_blocks, Stretch *out)
{
    const uint64_t blocks = (u->length - 1) / BITLEX_BLOCK + 1;
    const uint64_t stop = window->stop < u->length ? window->stop / BITLEX_BLOCK + 1 : blocks;
    uint64_t first, step, block;
    size_t count = 0;
    bitlex_restart(cursor, u->bytes, u->length, BITLEX_UTF8, scratch_behind(cursor));
    first = cut_before(cursor, window->start, &out->from);
    out->begins_inside = first > 0;
    step = stop > first ? (stop - first) / most + 1 : 1;
    if (step < part_blocks) step = part_blocks;
    for (block = first + step; block < blocks; block += step) {
        if (!bitlex_find_cut(cursor, block, &out[count].to)) {
            step *= 2; /* a text in which nothing tells: ever fewer tries */
            continue;
        }
        out[count].ends_inside = 1;
        if (block >= stop) break;
        out[count + 1].from = out[count].to;
        out[++count].begins_inside = 1;
    }
    return count + 1;
}

/* Count the pieces that lie across cuts: what train_count_piece says of the first that fails. */
static int count_between(train_counts *table, const Stretch *s, size_t count)
{
    uint64_t last = 0;
    int failed = 0;
    for (size_t i = 0; i < count && failed == 0; i++, s++) {
        if (!s->begins_inside || s->counted > last) last = s->counted;
        if (s->begins_inside && s->last > 0 && s->first > last)
            failed = train_count_piece(table, s->text + last, s->first - last, s->place + last, 1);
        if (s->last > 0) last = s->last;
    }
    return failed;
}

/* The parts of all texts. */
static void cut_all(Counting *counting, const Utf8 *texts, Py_ssize_t count, size_t most, uint64_t part_blocks, const Window *window,
                    bitlex_cursor *cursor, Py_ssize_t threads, Py_ssize_t blocks)
{
    const Window all = {0, UINT64_MAX, 0}, *within = window != NULL ? window : &all;
    uint64_t place = counting->counter->place;
    for (Py_ssize_t i = 0; i < count; place += texts[i++].length) {
        Stretch *to = counting->stretches + counting->count;
        size_t parts = 1;
        if (texts[i].length == 0) continue;
        if (is_cut(counting->counter, texts + i, window, threads, blocks)) parts = cut_text(cursor, texts + i, within, most, part_blocks, to);
        for (size_t k = 0; k < parts; k++) {
            to[k].text = texts[i].bytes;
            to[k].length = texts[i].length;
            to[k].place = place;
            to[k].counted = within->start;
        }
        counting->count += parts;
    }
}

/* Where the last piece ends that was counted. */
static uint64_t reached(const Counting *counting, const Window *window)
{
    const Stretch *last = counting->stretches + counting->count - 1;
    uint64_t most = window->start;
    if (!last->ends_inside) return last->length;
    for (size_t i = 0; i < counting->count; i++) {
        if (counting->stretches[i].last > most) most = counting->stretches[i].last;
    }
    return most;
}

int bitlex_py_count_texts(Counter *self, const Utf8 *texts, Py_ssize_t count, Py_ssize_t threads, Py_ssize_t blocks, Window *window)
{
    Counting counting = {.job = {.machine = &self->machine->machine, .work = work_on_stretches}, .counter = self};
    bitlex_cursor *cursor = bitlex_py_new_cursor(&self->machine->machine);
    const size_t most = PARTS * (size_t)threads;
    size_t room = (size_t)count;
    uint64_t bytes = 0;
    int failed = -1;
    for (Py_ssize_t i = 0; i < count; i++) {
        bytes += texts[i].length;
        if (is_cut(self, texts + i, window, threads, blocks)) room += most;
    }
    if (blocks == 0 && (uint64_t)threads > bytes / RELEASE + 1) threads = (Py_ssize_t)(bytes / RELEASE + 1);
    counting.stretches = PyMem_RawCalloc(room + 1, sizeof *counting.stretches);
    if (cursor != NULL && counting.stretches != NULL) failed = bitlex_py_make_tables(self, threads);
    if (failed == 0) {
        cut_all(&counting, texts, count, most, (uint64_t)(blocks > 0 ? blocks : PART_BLOCKS), window, cursor, threads, blocks);
        failed = bitlex_py_share(&counting.job, (uint64_t)threads) == 0 ? 0 : counting.failed != 0 ? counting.failed : -3;
    }
    if (failed == 0) failed = count_between(self->tables[0], counting.stretches, counting.count);
    if (failed == 0 && window != NULL) window->reached = counting.count > 0 ? reached(&counting, window) : 0;
    if (failed == 0 && (window == NULL || window->reached == bytes)) self->place += bytes;
    PyMem_RawFree(counting.stretches);
    PyMem_RawFree(cursor);
    if (failed != 0 && !PyErr_Occurred()) bitlex_py_raise_counting(self, failed);
    return failed == 0 ? 0 : -1;
}
