/* _encode_batch.c - many texts, as Python has them: a list of what _encode.c makes of one, or the ids of all in one array.
 *
 * Arguments are those of a method for one text, with a sequence of texts. Of texts that fail, the first is told of, by its index.
 */
#include "_encode.h"

typedef struct {
    PyObject *tuple;
    Utf8 *texts;
    Task *tasks;
    Py_ssize_t count, begun;
    Joined joined; /* the ids of all texts, if there is memory for where they begin */
} Batch;

typedef enum { APART, JOINED, COUNTED } Kept; /* what is kept of each text: ids by themselves, or side by side; or how many there are */

static void batch_end(Batch *b)
{
    while (b->begun-- > 0) {
        bitlex_py_free_ids(&b->tasks[b->begun].ids);
        bitlex_py_utf8_end(b->texts + b->begun);
    }
    bitlex_py_free_ids(&b->joined.ids);
    PyMem_RawFree(b->joined.begins);
    PyMem_Free(b->joined.around);
    PyMem_Free(b->texts);
    PyMem_Free(b->tasks);
    Py_XDECREF(b->tuple);
}

static int batch_fails(Batch *b, Py_ssize_t i)
{
    if (i >= 0) bitlex_py_name_index("texts", i);
    batch_end(b);
    return -1;
}

/* An exception is set, for what stands behind all that were begun. Is one of these refused, then it is told of instead: which it is. */
static Py_ssize_t first_that_fails(Batch *b, PyObject *disallowed)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    for (Py_ssize_t i = 0; i < b->begun; i++) {
        if (b->texts[i].bytes == NULL && bitlex_py_utf8_make(b->texts + i) < 0) continue;
        if (bitlex_py_refuse(b->texts + i, disallowed) == 0) continue;
        Py_XDECREF(type);
        Py_XDECREF(value);
        Py_XDECREF(traceback);
        return i;
    }
    PyErr_Restore(type, value, traceback);
    return b->begun;
}

/* The ids to put before texts and behind them, of two tuples: -1 with an exception set, and nothing to end. */
static int read_around(PyObject *const *tuples, Joined *joined)
{
    size_t at = 0;
    if (!PyTuple_Check(tuples[0]) || !PyTuple_Check(tuples[1])) {
        PyErr_SetString(PyExc_TypeError, "expected two tuples of ids");
        return -1;
    }
    joined->before = (size_t)PyTuple_GET_SIZE(tuples[0]);
    joined->behind = (size_t)PyTuple_GET_SIZE(tuples[1]);
    joined->around = PyMem_Calloc(joined->before + joined->behind + 1, sizeof *joined->around);
    if (joined->around == NULL) PyErr_NoMemory();
    for (; joined->around != NULL && at < joined->before + joined->behind && !PyErr_Occurred(); at++) {
        PyObject *id = at < joined->before ? PyTuple_GET_ITEM(tuples[0], at) : PyTuple_GET_ITEM(tuples[1], at - joined->before);
        const unsigned long long number = PyLong_AsUnsignedLongLong(id);
        if (number > UINT32_MAX && !PyErr_Occurred()) PyErr_Format(PyExc_OverflowError, "%R does not fit 32 bits", id);
        joined->around[at] = (uint32_t)number;
    }
    if (!PyErr_Occurred()) return 0;
    PyMem_Free(joined->around);
    return -1;
}

/* The ids of all texts; of those apart, what `made` says in its list, as far as it goes: -1 with an exception set, and nothing to end. */
static int encode_batch(Encoder *self, PyObject *const *arguments, Py_ssize_t count, Kept kept, Made *made, Batch *b)
{
    Py_ssize_t threads, blocks;
    Encoded outcome;
    size_t which;
    memset(b, 0, sizeof *b);
    if (kept == JOINED && count == 6 && read_around(arguments + 4, &b->joined) < 0) return -1;
    if (bitlex_py_read_arguments(self, arguments, kept == JOINED && count == 6 ? 4 : count, &threads, &blocks) < 0) return batch_fails(b, -1);
    if (bitlex_py_batch_begin(arguments[0]) < 0) return batch_fails(b, -1);
    if ((b->tuple = PySequence_Tuple(arguments[0])) == NULL) return batch_fails(b, -1);
    b->count = PyTuple_GET_SIZE(b->tuple);
    b->texts = PyMem_Calloc((size_t)b->count + 1, sizeof *b->texts);
    b->tasks = PyMem_Calloc((size_t)b->count + 1, sizeof *b->tasks);
    if (kept == JOINED) b->joined.begins = PyMem_RawMalloc(((size_t)b->count + 1) * sizeof *b->joined.begins);
    if (b->texts == NULL || b->tasks == NULL || (kept == JOINED && b->joined.begins == NULL)) {
        PyErr_NoMemory();
        return batch_fails(b, -1);
    }
    for (; b->begun < b->count; b->begun++) {
        Utf8 *u = b->texts + b->begun;
        Task *task = b->tasks + b->begun;
        if (bitlex_py_utf8_open(u, PyTuple_GET_ITEM(b->tuple, b->begun)) < 0) return batch_fails(b, first_that_fails(b, arguments[2]));
        bitlex_py_set_task(task, u, arguments[1]);
        task->counting = kept == COUNTED;
        task->disallowed = bitlex_py_specials_of(arguments[2]);
        task->source = u->bytes == NULL ? u : NULL;
    }
    if (made != NULL) {
        made->list = PyList_New(b->count);
        if (made->list == NULL) return batch_fails(b, -1);
        PyObject_GC_UnTrack(made->list); /* until there is something in each place, it is found by no one */
    }
    if (bitlex_py_encode_many(self, b->tasks, (size_t)b->count, threads, (size_t)blocks, kept == JOINED ? &b->joined : NULL,
                              kept == APART ? made : NULL, &which, &outcome) == 0) {
        return 0;
    }
    if (outcome == REFUSED) bitlex_py_refuse(b->texts + which, arguments[2]);
    else bitlex_py_raise_outcome(outcome, b->tasks + which);
    return batch_fails(b, outcome == NO_BYTE || outcome == TOO_LONG || outcome == REFUSED ? (Py_ssize_t)which : -1);
}

static PyObject *make_list(Encoder *self, Task *task) { return bitlex_py_ids_as_list(self, task->ids.data, task->ids.used); }

static PyObject *make_array(Encoder *self, Task *task)
{
    return bitlex_py_ids_as_numpy((PyObject *)self, &task->ids);
}

static PyObject *make_number(Encoder *self, Task *task)
{
    (void)self;
    return PyLong_FromUnsignedLongLong(task->counted);
}

/* A list of what is made of the ids of each text. */
static PyObject *batch(Encoder *self, PyObject *const *arguments, Py_ssize_t count, Kept kept, PyObject *(*make)(Encoder *self, Task *task))
{
    Made made = {.make = make};
    Batch b;
    int failed;
    if (encode_batch(self, arguments, count, kept, &made, &b) < 0) {
        Py_XDECREF(made.list);
        return NULL;
    }
    failed = bitlex_py_make_some(self, b.tasks, (size_t)b.count, &made) < 0;
    PyObject_GC_Track(made.list);
    if (failed) Py_CLEAR(made.list);
    batch_end(&b);
    return made.list;
}

PyObject *bitlex_py_encode_batch(Encoder *self, PyObject *const *arguments, Py_ssize_t count)
{
    return batch(self, arguments, count, APART, make_list);
}

PyObject *bitlex_py_encode_batch_to_numpy(Encoder *self, PyObject *const *arguments, Py_ssize_t count)
{
    return batch(self, arguments, count, APART, make_array);
}

PyObject *bitlex_py_encode_batch_flat(Encoder *self, PyObject *const *arguments, Py_ssize_t count)
{
    PyObject *ids, *begins, *both;
    Batch b;
    if (count == 5) {
        PyErr_SetString(PyExc_TypeError, "expected the ids before texts and those behind, or neither");
        return NULL;
    }
    if (encode_batch(self, arguments, count, JOINED, NULL, &b) < 0) return NULL;
    ids = bitlex_py_ids_as_numpy((PyObject *)self, &b.joined.ids);
    begins = ids == NULL ? NULL : bitlex_py_wide_as_numpy((PyObject *)self, &b.joined.begins, (size_t)b.count + 1, WIDE_OFFSETS);
    both = begins == NULL ? NULL : PyTuple_Pack(2, ids, begins);
    Py_XDECREF(ids);
    Py_XDECREF(begins);
    batch_end(&b);
    return both;
}

PyObject *bitlex_py_count_batch(Encoder *self, PyObject *const *arguments, Py_ssize_t count)
{
    return batch(self, arguments, count, COUNTED, make_number);
}
