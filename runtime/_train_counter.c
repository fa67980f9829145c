/* _train_counter.c - texts in; out, their distinct pieces and how often each was met: train_count.c, with a lexer before it and threads.
 *
 * Each thread has a table of its own, takes the next text, or the next part of a long one, and counts what the lexer finds in it while
 * that is in the cache. The tables stay from call to call and are put together at the end. A piece that lies across a cut is counted when
 * the parts around it are known, as in _many.c.
 *
 * Invariant: what comes out does not depend on threads, parts or calls: where a piece was first met counts as a place in all texts, one after
 * the other. The text of a call is not looked at after it.
 */
#include "_tokens.h"
#include "_threads.h"
#include "train.h"

#if defined(__linux__)
#include <sys/mman.h>
#include <unistd.h>
#endif

#define MOST_THREADS 1024
#define PIECES 2048        /* at a time */
#define LONG (1u << 20)    /* bytes from which on a text is cut */
#define PART_BLOCKS 64     /* of a part, at least, unless the caller says otherwise */
#define PARTS 64           /* of a text for each thread, at most */

typedef struct {
    PyObject_HEAD
    Machine *machine;
    uint64_t key[2];
    train_counts *tables[MOST_THREADS];
    Py_ssize_t table_count;
    uint64_t place; /* bytes of all texts so far */
    int busy;
    int mapped; /* the texts at hand are maps of files */
} Counter;

/* A text or a part of one, and where the piece ends in whose midst it starts, and where its last one ends. */
typedef struct {
    const uint8_t *text;
    uint64_t length, place, first, last;
    bitlex_cut from, to;
    int begins_inside, ends_inside;
} Stretch;

typedef struct {
    Job job;
    Counter *counter;
    Stretch *stretches;
    size_t count, next;
    Py_ssize_t tables; /* taken */
} Counting;

/* --- in any thread ---------------------------------------------------------------------------------------------------------------- */

typedef struct {
    size_t count;
    uint64_t base;
    uint32_t starts[PIECES + 1], ends[PIECES], last;
    uint64_t wide[2 * PIECES];
    size_t wide_at, wide_count;
} Pieces;

/* The next pieces by 32-bit places behind a base; none at the end. A piece of 4 GiB and more stands in `wide`, with a count of none. */
static int next_pieces(Pieces *p, bitlex_cursor *cursor, int drops, uint64_t length)
{
    if (length < UINT32_MAX && !drops) {
        p->starts[0] = p->last;
        p->count = bitlex_next32(cursor, p->ends, PIECES);
        memcpy(p->starts + 1, p->ends, p->count * sizeof *p->ends);
        if (p->count > 0) p->last = p->ends[p->count - 1];
        return p->count > 0;
    }
    if (p->wide_at == p->wide_count) {
        p->wide_count = bitlex_next_pairs(cursor, p->wide, PIECES);
        p->wide_at = 0;
        if (p->wide_count == 0) return 0;
    }
    p->base = p->wide[2 * p->wide_at];
    for (p->count = 0; p->wide_at < p->wide_count && p->wide[2 * p->wide_at + 1] - p->base < UINT32_MAX; p->wide_at++, p->count++) {
        p->starts[p->count] = (uint32_t)(p->wide[2 * p->wide_at] - p->base);
        p->ends[p->count] = (uint32_t)(p->wide[2 * p->wide_at + 1] - p->base);
    }
    return p->count > 0;
}

static Outcome count_pieces(Worker *w, train_counts *table, Stretch *s)
{
    const bitlex_machine *machine = w->job->machine;
    const uint64_t size = machine->stage_count > 1 ? bitlex_scratch_size(machine, s->length) : 0;
    void *scratch = size > 0 ? PyMem_RawMalloc((size_t)size) : NULL;
    Pieces *p = PyMem_RawMalloc(sizeof *p);
    Outcome outcome = GOES_ON;
    int skips = s->begins_inside; /* the piece that another part starts */
    if (p == NULL || (size > 0 && scratch == NULL)) outcome = NO_MEMORY;
    if (outcome == GOES_ON) {
        p->base = 0;
        p->last = 0;
        p->wide_at = p->wide_count = 0;
        bitlex_restart(w->cursor, s->text, s->length, BITLEX_UTF8, size > 0 ? scratch : scratch_behind(w->cursor));
        if (s->begins_inside || s->ends_inside) {
            bitlex_begin_part(w->cursor, s->begins_inside ? &s->from : NULL, s->ends_inside ? &s->to : NULL);
        }
        while (outcome == GOES_ON && next_pieces(p, w->cursor, machine->drops != 0, s->length)) {
            const uint64_t begin = p->base + p->starts[0];
            size_t from = 0;
            s->last = p->base + p->ends[p->count - 1];
            if (skips) {
                s->first = p->base + p->ends[0];
                from = 1;
                skips = 0;
            }
            if (train_count(table, s->text + p->base, s->length - p->base, s->place + p->base, p->starts + from, p->ends + from,
                            p->count - from) < 0) {
                outcome = NO_MEMORY;
            } else if (!bitlex_py_may_go_on(w, s->last - begin)) {
                outcome = INTERRUPTED;
            }
        }
        if (train_count_settle(table) < 0) outcome = NO_MEMORY;
    }
    PyMem_RawFree(scratch);
    PyMem_RawFree(p);
    return outcome;
}

/* Let the pages of a file go that were read: they would count as memory of this process, as long as it has room for them. */
static void let_pages_go(const Stretch *s)
{
#if defined(__linux__)
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    const uint64_t start = s->begins_inside ? s->from.block * BITLEX_BLOCK : 0;
    const uint64_t end = s->ends_inside ? s->to.block * BITLEX_BLOCK : s->length;
    const uintptr_t from = ((uintptr_t)s->text + start) / page * page, to = ((uintptr_t)s->text + end) / page * page;
    if (from < to) madvise((void *)from, to - from, MADV_DONTNEED);
#else
    (void)s;
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
        if (counting->counter->mapped) let_pages_go(counting->stretches + next);
    }
    if (outcome != GOES_ON) bitlex_py_stop(w->job, outcome);
}

/* --- texts ------------------------------------------------------------------------------------------------------------------------ */

/* Whether a text is worth it. */
static int is_cut(const Counter *self, const Utf8 *u, Py_ssize_t threads, Py_ssize_t blocks)
{
    const bitlex_machine *machine = &self->machine->machine;
    return (threads > 1 || self->mapped) && u->length >= (blocks > 0 ? 1 : LONG) && machine->stage_count == 1 && !machine->drops;
}

/* Cut a text: the number of its parts, which are written. */
static size_t cut_text(bitlex_cursor *cursor, const Utf8 *u, uint64_t place, size_t most, uint64_t part_blocks, Stretch *out)
{
    const uint64_t blocks = (u->length - 1) / BITLEX_BLOCK + 1;
    uint64_t step = blocks / most + 1, block;
    size_t count = 0;
    if (step < part_blocks) step = part_blocks;
    bitlex_restart(cursor, u->bytes, u->length, BITLEX_UTF8, scratch_behind(cursor));
    memset(out, 0, sizeof *out);
    for (block = step; block < blocks && count + 1 < most; block += step) {
        if (!bitlex_find_cut(cursor, block, &out[count].to)) {
            step *= 2; /* a text in which nothing tells: ever fewer tries */
            continue;
        }
        out[count].ends_inside = 1;
        memset(out + count + 1, 0, sizeof *out);
        out[count + 1].from = out[count].to;
        out[++count].begins_inside = 1;
    }
    for (size_t i = 0; i <= count; i++) {
        out[i].text = u->bytes;
        out[i].length = u->length;
        out[i].place = place;
    }
    return count + 1;
}

/* Count the pieces that lie across cuts. */
static int count_between(train_counts *table, const Stretch *s, size_t count)
{
    uint64_t last = 0;
    for (size_t i = 0; i < count; i++, s++) {
        if (!s->begins_inside) last = 0;
        if (s->begins_inside && s->last > 0 && s->first > last &&
            train_count_piece(table, s->text + last, s->first - last, s->place + last, 1) < 0) return -1;
        if (s->last > 0) last = s->last;
    }
    return 0;
}

static int make_tables(Counter *self, Py_ssize_t threads)
{
    for (; self->table_count < threads; self->table_count++) {
        if ((self->tables[self->table_count] = train_counts_new(self->key)) == NULL) return -1;
    }
    return 0;
}

/* Count texts that are held: -1 with an exception set. */
static int count_texts(Counter *self, const Utf8 *texts, Py_ssize_t count, Py_ssize_t threads, Py_ssize_t blocks)
{
    const size_t most = PARTS * (size_t)threads;
    Counting counting = {.job = {.machine = &self->machine->machine, .work = work_on_stretches, .buffer_size = 1}, .counter = self};
    bitlex_cursor *cursor = bitlex_py_new_cursor(&self->machine->machine);
    size_t room = (size_t)count;
    uint64_t bytes = 0;
    int failed = -1;
    for (Py_ssize_t i = 0; i < count; i++) {
        bytes += texts[i].length;
        if (is_cut(self, texts + i, threads, blocks)) room += most;
    }
    if (blocks == 0 && (uint64_t)threads > bytes / RELEASE + 1) threads = (Py_ssize_t)(bytes / RELEASE + 1);
    counting.stretches = PyMem_RawCalloc(room + 1, sizeof *counting.stretches);
    if (cursor == NULL || counting.stretches == NULL || make_tables(self, threads) < 0) {
        PyErr_NoMemory();
    } else {
        for (Py_ssize_t i = 0; i < count; i++) {
            const Utf8 *u = texts + i;
            Stretch *to = counting.stretches + counting.count;
            if (u->length == 0) continue;
            if (is_cut(self, u, threads, blocks)) {
                counting.count += cut_text(cursor, u, self->place, most, (uint64_t)(blocks > 0 ? blocks : PART_BLOCKS), to);
            } else {
                *to = (Stretch){.text = u->bytes, .length = u->length, .place = self->place};
                counting.count++;
            }
            self->place += u->length;
        }
        failed = bitlex_py_share(&counting.job, (uint64_t)threads);
        if (!failed && count_between(self->tables[0], counting.stretches, counting.count) < 0) {
            PyErr_NoMemory();
            failed = -1;
        }
    }
    PyMem_RawFree(counting.stretches);
    PyMem_RawFree(cursor);
    return failed;
}

/* --- the type ---------------------------------------------------------------------------------------------------------------------- */

/* One call at a time; none after the end, or after one that failed in its midst. */
static int begin(Counter *self)
{
    int busy;
#ifdef Py_GIL_DISABLED
    Py_BEGIN_CRITICAL_SECTION(self);
#endif
    busy = self->busy;
    self->busy = 1;
#ifdef Py_GIL_DISABLED
    Py_END_CRITICAL_SECTION();
#endif
    if (!busy) return 0;
    PyErr_SetString(PyExc_RuntimeError, "this counter is in use, or has ended");
    return -1;
}

static PyObject *counter_add(Counter *self, PyObject *const *arguments, Py_ssize_t count)
{
    Py_ssize_t threads = 1, blocks = 0, n, begun = 0;
    PyObject *tuple;
    Utf8 *texts;
    int failed = -1, mapped = 0;
    if (count < 1 || count > 4) {
        PyErr_Format(PyExc_TypeError, "expected (texts, threads=1, blocks=0, mapped=False), got %zd arguments", count);
        return NULL;
    }
    if (count > 1) threads = PyNumber_AsSsize_t(arguments[1], PyExc_OverflowError);
    if (count > 2 && !PyErr_Occurred()) blocks = PyNumber_AsSsize_t(arguments[2], PyExc_OverflowError);
    if (count > 3 && !PyErr_Occurred()) mapped = PyObject_IsTrue(arguments[3]);
    if (PyErr_Occurred()) return NULL;
    if (threads < 1 || threads > MOST_THREADS || blocks < 0) {
        PyErr_SetString(PyExc_ValueError, "threads must be 1..1024, and blocks 0 or more");
        return NULL;
    }
    if ((tuple = PySequence_Tuple(arguments[0])) == NULL) return NULL;
    n = PyTuple_GET_SIZE(tuple);
    texts = PyMem_Calloc((size_t)n + 1, sizeof *texts);
    if (texts == NULL) PyErr_NoMemory();
    for (; texts != NULL && begun < n; begun++) {
        if (bitlex_py_utf8_begin(texts + begun, PyTuple_GET_ITEM(tuple, begun)) == 0) continue;
        bitlex_py_name_index(begun);
        break;
    }
    if (texts != NULL && begun == n && begin(self) == 0) {
        self->mapped = mapped;
        failed = count_texts(self, texts, n, threads, blocks);
        self->busy = failed;
    }
    while (begun-- > 0) bitlex_py_utf8_end(texts + begun);
    PyMem_Free(texts);
    Py_DECREF(tuple);
    if (failed) return NULL;
    Py_RETURN_NONE;
}

static void free_tables(Counter *self)
{
    while (self->table_count > 0) train_counts_free(self->tables[--self->table_count]);
}

static PyObject *counter_finish(Counter *self, PyObject *unused)
{
    PyObject *bytes = NULL, *lengths = NULL, *counts = NULL, *result = NULL;
    uint64_t size = 0;
    size_t count = 0;
    int failed;
    (void)unused;
    if (begin(self) < 0) return NULL;
    failed = make_tables(self, 1) < 0;
    Py_BEGIN_ALLOW_THREADS
    while (!failed && self->table_count > 1) {
        failed = train_counts_add(self->tables[0], self->tables[self->table_count - 1]) < 0;
        train_counts_free(self->tables[--self->table_count]);
    }
    if (!failed) count = train_counts_finish(self->tables[0], &size);
    Py_END_ALLOW_THREADS
    if (!failed && count != SIZE_MAX && size <= PY_SSIZE_T_MAX) {
        bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)size);
        lengths = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(count * sizeof(uint32_t)));
        counts = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(count * sizeof(uint64_t)));
    }
    if (bytes != NULL && lengths != NULL && counts != NULL) {
        uint8_t *to[3] = {(uint8_t *)PyBytes_AS_STRING(bytes), (uint8_t *)PyBytes_AS_STRING(lengths), (uint8_t *)PyBytes_AS_STRING(counts)};
        Py_BEGIN_ALLOW_THREADS
        failed = train_counts_write(self->tables[0], to[0], (void *)to[1], (void *)to[2]) < 0;
        Py_END_ALLOW_THREADS
        if (!failed) result = PyTuple_Pack(3, bytes, lengths, counts);
    }
    free_tables(self);
    Py_XDECREF(bytes);
    Py_XDECREF(lengths);
    Py_XDECREF(counts);
    if (result == NULL && !PyErr_Occurred()) PyErr_NoMemory();
    return result;
}

static PyObject *counter_memory(Counter *self, PyObject *unused)
{
    size_t sum = 0;
    (void)unused;
    if (begin(self) < 0) return NULL;
    for (Py_ssize_t i = 0; i < self->table_count; i++) sum += train_counts_memory(self->tables[i]);
    self->busy = 0;
    return PyLong_FromSize_t(sum);
}

static PyObject *counter_new(PyTypeObject *type, PyObject *arguments, PyObject *named)
{
    static char *names[] = {"machine", "key", NULL};
    State *state = PyType_GetModuleState(type);
    PyObject *machine;
    const char *key;
    Py_ssize_t size;
    Counter *self;
    if (!PyArg_ParseTupleAndKeywords(arguments, named, "O!y#:Counter", names, state->machine, &machine, &key, &size)) return NULL;
    if (size != sizeof self->key) {
        PyErr_SetString(PyExc_ValueError, "key must have 16 bytes");
        return NULL;
    }
    self = (Counter *)type->tp_alloc(type, 0);
    if (self == NULL) return NULL;
    Py_INCREF(machine);
    self->machine = (Machine *)machine;
    memcpy(self->key, key, sizeof self->key);
    return (PyObject *)self;
}

static void counter_dealloc(Counter *self)
{
    PyTypeObject *type = Py_TYPE(self);
    free_tables(self);
    Py_XDECREF(self->machine);
    type->tp_free((PyObject *)self);
    Py_DECREF(type);
}

static PyMethodDef counter_methods[] = {
    {"add", (PyCFunction)(void (*)(void))counter_add, METH_FASTCALL, "add(texts, threads=1, blocks=0, mapped=False): count their pieces"},
    {"memory", (PyCFunction)(void (*)(void))counter_memory, METH_NOARGS, "memory() -> bytes in use"},
    {"finish", (PyCFunction)(void (*)(void))counter_finish, METH_NOARGS,
     "finish() -> (distinct pieces side by side, their lengths as uint32, their counts as uint64), in the order in which they were met"},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot counter_slots[] = {
    {Py_tp_new, counter_new},
    {Py_tp_dealloc, counter_dealloc},
    {Py_tp_methods, counter_methods},
    {Py_tp_doc, "Counter(machine, key): counts the distinct pieces of texts; key: 16 random bytes"},
    {0, NULL},
};
PyType_Spec bitlex_py_counter_spec = {
    "bitlex._native.Counter", sizeof(Counter), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE, counter_slots};
