/* _train_counter.c - the type Counter: texts in; out, their distinct pieces and how often each was met, in the order of the text.
 *
 * It has a table for each thread (train_count.c), which stay from call to call and are put together at the end. What takes more memory
 * than it may is written to a file, as runs (train_runs.c), and so is all, when it is asked to, for a checkpoint. Another Counter reads them.
 *
 *     counter.add(texts); counter.finish()                                       # all fits
 *     ends = counter.spill(); other.open(mapped, ends); other.read(0); other.finish()     # the same
 *
 * Invariant: one call at a time; none after one that failed in its midst.
 */
#include "_training.h"

#if defined(_WIN32)
#include <io.h>
#define write _write
typedef unsigned int write_size;
#else
#include <unistd.h>
typedef size_t write_size;
#endif

#define MOST_WRITTEN (1u << 30) /* bytes at a time */

int bitlex_py_begin_call(PyObject *self, int *busy, const char *why)
{
    int was_busy;
#ifdef Py_GIL_DISABLED
    Py_BEGIN_CRITICAL_SECTION(self);
#else
    (void)self;
#endif
    was_busy = *busy;
    *busy = 1;
#ifdef Py_GIL_DISABLED
    Py_END_CRITICAL_SECTION();
#endif
    if (!was_busy) return 0;
    PyErr_SetString(PyExc_RuntimeError, why);
    return -1;
}

static int begin(Counter *self) { return bitlex_py_begin_call((PyObject *)self, &self->busy, "this counter is in use, or has ended"); }

PyObject *bitlex_py_raise_counting(const Counter *self, int failed)
{
    if (failed == -1) return PyErr_NoMemory();
    if (failed == -2) {
        errno = self->error;
        return PyErr_SetFromErrno(PyExc_OSError);
    }
    PyErr_SetString(PyExc_ValueError, failed == 1 ? "a piece has 4 GiB or more" : "these are no runs, or pieces, as they were written");
    return NULL;
}

int bitlex_py_make_tables(Counter *self, Py_ssize_t threads)
{
    for (; self->table_count < threads; self->table_count++) {
        if ((self->tables[self->table_count] = train_counts_new(self->key)) == NULL) return -1;
    }
    return 0;
}

/* --- writing runs -------------------------------------------------------------------------------------------------------------------- */

typedef struct {
    Counter *counter;
    int locked;
} Writing;

static int write_all(void *context, const void *bytes, size_t size)
{
    Writing *w = context;
    const char *from = bytes;
    if (!w->locked) PyThread_acquire_lock(w->counter->lock, WAIT_LOCK);
    w->locked = 1;
    while (size > 0) {
        const Py_ssize_t done = write(w->counter->file, from, (write_size)(size < MOST_WRITTEN ? size : MOST_WRITTEN));
        if (done < 0 && errno == EINTR) continue;
        if (done < 0) {
            w->counter->error = errno;
            return -1;
        }
        from += done;
        size -= (size_t)done;
        w->counter->written += (uint64_t)done;
    }
    return 0;
}

/* Note where a run ends, which has something in it. */
static int note_end(Counter *self)
{
    if (self->end_count == self->end_room) {
        uint64_t *grown = PyMem_RawRealloc(self->ends, (2 * self->end_room + 64) * sizeof *grown);
        if (grown == NULL) return -1;
        self->ends = grown;
        self->end_room = 2 * self->end_room + 64;
    }
    self->ends[self->end_count++] = self->written;
    return 0;
}

int bitlex_py_spill_table(Counter *self, train_counts *table, train_order by)
{
    Writing w = {self, 0};
    int failed = train_counts_spill(table, by, write_all, &w);
    if (!w.locked) return failed;
    if (failed == 0) failed = note_end(self);
    PyThread_release_lock(self->lock);
    return failed;
}

static PyObject *counter_spill(Counter *self, PyObject *by_place)
{
    const int by = PyObject_IsTrue(by_place);
    int failed = 0;
    if (by < 0 || begin(self) < 0) return NULL;
    Py_BEGIN_ALLOW_THREADS
    for (Py_ssize_t i = 0; failed == 0 && i < self->table_count; i++) {
        failed = bitlex_py_spill_table(self, self->tables[i], by ? TRAIN_BY_PLACE : TRAIN_BY_HASH);
    }
    Py_END_ALLOW_THREADS
    if (failed != 0) return bitlex_py_raise_counting(self, failed);
    self->busy = 0;
    Py_RETURN_NONE;
}

/* While the lock is held, no object is made: that may run code of others, which may ask the same, and wait for ever. */
static PyObject *counter_ends(Counter *self, void *unused)
{
    PyObject *ends;
    size_t count;
    (void)unused;
    PyThread_acquire_lock(self->lock, WAIT_LOCK);
    count = self->end_count;
    PyThread_release_lock(self->lock);
    ends = PyList_New((Py_ssize_t)count);
    for (size_t i = 0; ends != NULL && i < count; i++) {
        PyObject *end;
        uint64_t at;
        PyThread_acquire_lock(self->lock, WAIT_LOCK);
        at = self->ends[i];
        PyThread_release_lock(self->lock);
        end = PyLong_FromUnsignedLongLong(at);
        if (end == NULL) Py_CLEAR(ends);
        else PyList_SET_ITEM(ends, (Py_ssize_t)i, end);
    }
    return ends;
}

/* --- counting ------------------------------------------------------------------------------------------------------------------------ */

static int check_threads(Py_ssize_t threads, Py_ssize_t blocks)
{
    if (threads >= 1 && threads <= MOST_THREADS && blocks >= 0) return 0;
    PyErr_SetString(PyExc_ValueError, "threads must be 1..1024, and blocks 0 or more");
    return -1;
}

static PyObject *counter_add(Counter *self, PyObject *const *arguments, Py_ssize_t count)
{
    Py_ssize_t threads = 1, blocks = 0, n, begun = 0;
    PyObject *tuple;
    Utf8 *texts;
    int failed = -1;
    if (count < 1 || count > 3) {
        PyErr_Format(PyExc_TypeError, "expected (texts, threads=1, blocks=0), got %zd arguments", count);
        return NULL;
    }
    if (count > 1) threads = PyNumber_AsSsize_t(arguments[1], PyExc_OverflowError);
    if (count > 2 && !PyErr_Occurred()) blocks = PyNumber_AsSsize_t(arguments[2], PyExc_OverflowError);
    if (PyErr_Occurred()) return NULL;
    if (check_threads(threads, blocks) < 0) return NULL;
    if ((tuple = PySequence_Tuple(arguments[0])) == NULL) return NULL;
    n = PyTuple_GET_SIZE(tuple);
    texts = PyMem_Calloc((size_t)n + 1, sizeof *texts);
    if (texts == NULL) PyErr_NoMemory();
    for (; texts != NULL && begun < n; begun++) {
        if (bitlex_py_utf8_hold(texts + begun, PyTuple_GET_ITEM(tuple, begun)) == 0) continue;
        bitlex_py_name_index("texts", begun);
        break;
    }
    if (texts != NULL && begun == n && begin(self) == 0) {
        failed = bitlex_py_count_texts(self, texts, n, threads, blocks, NULL);
        self->busy = failed;
    }
    while (begun-- > 0) bitlex_py_utf8_end(texts + begun);
    PyMem_Free(texts);
    Py_DECREF(tuple);
    if (failed) return NULL;
    Py_RETURN_NONE;
}

static PyObject *counter_add_part(Counter *self, PyObject *arguments)
{
    PyObject *text;
    Py_ssize_t threads, blocks;
    unsigned long long start, size;
    Window window = {0, 0, 0};
    PyObject *reached = NULL;
    int failed = -1, mapped;
    Utf8 u;
    if (!PyArg_ParseTuple(arguments, "OnnpKK:add_part", &text, &threads, &blocks, &mapped, &start, &size)) return NULL;
    if (check_threads(threads, blocks) < 0 || bitlex_py_utf8_begin(&u, text) < 0) return NULL;
    if (start > u.length) {
        PyErr_SetString(PyExc_ValueError, "the part starts behind the text");
    } else if (begin(self) == 0) {
        window.start = start;
        window.stop = size < u.length - start ? start + size : u.length;
        failed = bitlex_py_count_texts(self, &u, 1, threads, blocks, &window);
        if (mapped) bitlex_py_let_pages_go(u.bytes, u.bytes + window.reached); /* all: others come back with those beside them */
        if (failed == 0) reached = PyLong_FromUnsignedLongLong(window.reached);
        self->busy = reached == NULL; /* who is not told what was counted would count it again */
    }
    bitlex_py_utf8_end(&u);
    return reached;
}

static PyObject *counter_place(Counter *self, void *unused)
{
    (void)unused;
    return PyLong_FromUnsignedLongLong(self->place);
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
    failed = bitlex_py_make_tables(self, 1) < 0;
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
    static char *names[] = {"machine", "key", "limit", "file", "place", NULL};
    State *state = PyType_GetModuleState(type);
    PyObject *machine;
    const char *key;
    Py_ssize_t size;
    unsigned long long limit = 0, place = 0;
    int file = -1;
    Counter *self;
    if (!PyArg_ParseTupleAndKeywords(arguments, named, "O!y#|KiK:Counter", names, state->machine, &machine, &key, &size, &limit, &file, &place)) {
        return NULL;
    }
    if (size != sizeof self->key) {
        PyErr_SetString(PyExc_ValueError, "key must have 16 bytes");
        return NULL;
    }
    self = (Counter *)type->tp_alloc(type, 0);
    if (self == NULL) return NULL;
    Py_INCREF(machine);
    self->machine = (Machine *)machine;
    memcpy(self->key, key, sizeof self->key);
    self->limit = limit;
    self->file = file;
    self->place = place;
    self->lock = PyThread_allocate_lock();
    if (self->lock != NULL) return (PyObject *)self;
    Py_DECREF(self);
    return PyErr_NoMemory();
}

static void counter_dealloc(Counter *self)
{
    PyTypeObject *type = Py_TYPE(self);
    free_tables(self);
    bitlex_py_close_runs(self);
    PyMem_RawFree(self->ends);
    if (self->lock != NULL) PyThread_free_lock(self->lock);
    Py_XDECREF(self->machine);
    type->tp_free((PyObject *)self);
    Py_DECREF(type);
}

static PyMethodDef counter_methods[] = {
    {"add", (PyCFunction)(void (*)(void))counter_add, METH_FASTCALL, "add(texts, threads=1, blocks=0): count their pieces"},
    {"add_part", (PyCFunction)counter_add_part, METH_VARARGS,
     "add_part(text, threads, blocks, mapped, start, size) -> where the last piece ends that was counted"},
    {"add_counted", (PyCFunction)bitlex_py_add_counted, METH_VARARGS,
     "add_counted(pieces, lengths, counts, text): what finish gave elsewhere, for so much text"},
    {"spill", (PyCFunction)counter_spill, METH_O, "spill(by_place): write all that was counted to the file"},
    {"open", (PyCFunction)bitlex_py_open_runs, METH_VARARGS, "open(runs, ends, mapped)"},
    {"read", (PyCFunction)bitlex_py_read_runs, METH_O, "read(limit) -> whether there is more: count what runs have, up to so many bytes of memory"},
    {"take", (PyCFunction)bitlex_py_take_runs, METH_O, "take(bytes) -> the next pieces of runs in order of places, as finish gives them"},
    {"memory", (PyCFunction)counter_memory, METH_NOARGS, "memory() -> bytes in use"},
    {"finish", (PyCFunction)counter_finish, METH_NOARGS,
     "finish() -> (distinct pieces side by side, their lengths as uint32, their counts as uint64), in the order in which they were met"},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef counter_values[] = {
    {"place", (getter)counter_place, NULL, "bytes of all texts that were counted", NULL},
    {"ends", (getter)counter_ends, NULL, "where each run ends that was written", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot counter_slots[] = {
    {Py_tp_new, counter_new},
    {Py_tp_dealloc, counter_dealloc},
    {Py_tp_methods, counter_methods},
    {Py_tp_getset, counter_values},
    {Py_tp_doc, "Counter(machine, key, limit=0, file=-1, place=0): counts the distinct pieces of texts; key: 16 random bytes"},
    {0, NULL},
};
PyType_Spec bitlex_py_counter_spec = {
    "bitlex._native.Counter", sizeof(Counter), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE, counter_slots};
