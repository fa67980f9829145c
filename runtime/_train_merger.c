/* _train_merger.c - distinct pieces in, the merges that are learned from them out: train_merge.c as a Python type.
 *
 * Invariants: the tables of the Encoder that pieces start with are only read. One call at a time; the GIL is released in all that takes
 * time, and signals are looked at now and then. A call that is interrupted by one can be made again, and goes on.
 */
#include "_training.h"

#define WORK (1u << 22)  /* places between two looks at signals */
#define BYTES (1u << 24) /* of pieces, the same */

typedef struct {
    PyObject_HEAD
    Encoder *encoder;
    train_merger *merger;
    train_merge *made;
    size_t count, room;
    int busy;
    Py_buffer lent; /* what pieces lie in, unless it is memory of the merger */
} Merger;

static int begin(Merger *self) { return bitlex_py_begin_call((PyObject *)self, &self->busy, "this merger is in use, or had no memory"); }

/* Add pieces up to so many bytes of them: what train_merger_add returned last. */
static int add_some(Merger *self, const uint8_t **bytes, const uint32_t *lengths, const uint64_t *counts, size_t *at, size_t count)
{
    int outcome = 0;
    for (size_t done = 0; outcome == 0 && *at < count && done < BYTES; done += lengths[(*at)++]) {
        outcome = train_merger_add(self->merger, *bytes, lengths[*at], counts[*at]);
        *bytes += lengths[*at];
    }
    return outcome;
}

static PyObject *merger_add(Merger *self, PyObject *arguments)
{
    Py_buffer views[3];
    const uint8_t *bytes;
    size_t count, at = 0, sum = 0;
    int outcome = -3;
    if (!PyArg_ParseTuple(arguments, "y*y*y*:add", views, views + 1, views + 2)) return NULL;
    bytes = views[0].buf;
    count = (size_t)views[1].len / sizeof(uint32_t);
    for (size_t i = 0; i < count; i++) sum += ((const uint32_t *)views[1].buf)[i];
    if (sum != (size_t)views[0].len || (size_t)views[2].len != count * sizeof(uint64_t)) {
        PyErr_SetString(PyExc_ValueError, "the lengths do not fit the pieces, or there are not as many counts");
    } else if (begin(self) == 0) {
        outcome = 0;
        while (outcome == 0 && at < count) {
            Py_BEGIN_ALLOW_THREADS
            outcome = add_some(self, &bytes, views[1].buf, views[2].buf, &at, count);
            Py_END_ALLOW_THREADS
            if (outcome == 0 && PyErr_CheckSignals() < 0) outcome = -3;
        }
        self->busy = outcome != 0;
    }
    for (int i = 0; i < 3; i++) PyBuffer_Release(views + i);
    if (outcome == -1) PyErr_NoMemory();
    if (outcome == -2) PyErr_SetString(PyExc_OverflowError, "more than 4 GiB of distinct pieces");
    if (outcome != 0) return NULL;
    Py_RETURN_NONE;
}

/* Merge up to so many pairs, or until so much work is done: what train_merger_next returned last. */
static int merge_some(Merger *self, size_t most, uint64_t *work)
{
    const uint64_t enough = *work + WORK;
    int outcome = 1;
    while (outcome == 1 && self->count < most && *work < enough) {
        if (self->count == self->room) {
            train_merge *grown = PyMem_RawRealloc(self->made, (2 * self->room + 1024) * sizeof *grown);
            if (grown == NULL) return -1;
            self->made = grown;
            self->room = 2 * self->room + 1024;
        }
        outcome = train_merger_next(self->merger, self->made + self->count, work);
        if (outcome == 1) self->count++;
    }
    return outcome;
}

static PyObject *merger_run(Merger *self, PyObject *arguments)
{
    Py_ssize_t most, budget;
    uint64_t work = 0;
    int outcome = 1;
    if (!PyArg_ParseTuple(arguments, "nn:run", &most, &budget)) return NULL;
    if (begin(self) < 0) return NULL;
    most = most < 0 ? 0 : most > PY_SSIZE_T_MAX - (Py_ssize_t)self->count ? PY_SSIZE_T_MAX : most + (Py_ssize_t)self->count;
    while (outcome == 1 && self->count < (size_t)most && work < (uint64_t)budget) {
        Py_BEGIN_ALLOW_THREADS
        outcome = merge_some(self, (size_t)most, &work);
        Py_END_ALLOW_THREADS
        if (outcome == 1 && PyErr_CheckSignals() < 0) {
            self->busy = 0;
            return NULL;
        }
    }
    self->busy = outcome < 0;
    return outcome < 0 ? PyErr_NoMemory() : PyBool_FromLong(outcome);
}

static PyObject *merger_merges(Merger *self, PyObject *arguments)
{
    Py_ssize_t from = 0, n;
    PyObject *triples = NULL, *counts = NULL, *result = NULL;
    if (!PyArg_ParseTuple(arguments, "|n:merges", &from)) return NULL;
    if (from < 0 || (size_t)from > self->count) from = (Py_ssize_t)self->count;
    n = (Py_ssize_t)self->count - from;
    triples = PyBytes_FromStringAndSize(NULL, n * 3 * (Py_ssize_t)sizeof(uint32_t));
    counts = PyBytes_FromStringAndSize(NULL, n * (Py_ssize_t)sizeof(uint64_t));
    if (triples != NULL && counts != NULL) {
        for (Py_ssize_t i = 0; i < n; i++) {
            const train_merge *made = self->made + from + i;
            memcpy(PyBytes_AS_STRING(triples) + i * 12, (const uint32_t[3]){made->left, made->right, made->id}, 12);
            memcpy(PyBytes_AS_STRING(counts) + i * 8, &made->count, 8);
        }
        result = PyTuple_Pack(2, triples, counts);
    }
    Py_XDECREF(triples);
    Py_XDECREF(counts);
    return result;
}

static PyObject *merger_memory(Merger *self, PyObject *unused)
{
    size_t sum;
    (void)unused;
    if (begin(self) < 0) return NULL;
    sum = train_merger_memory(self->merger);
    self->busy = 0;
    return PyLong_FromSize_t(sum);
}

static PyObject *merger_new(PyTypeObject *type, PyObject *arguments, PyObject *named)
{
    static char *names[] = {"encoder", "smaller_first", "first_id", "ids", "longest", "least", NULL};
    State *state = PyType_GetModuleState(type);
    PyObject *encoder;
    int smaller;
    unsigned int first, ids, longest;
    unsigned long long least;
    Merger *self;
    if (!PyArg_ParseTupleAndKeywords(arguments, named, "O!pIIIK:Merger", names, state->encoder, &encoder, &smaller, &first, &ids, &longest,
                                     &least)) {
        return NULL;
    }
    if (first < ((Encoder *)encoder)->vocabulary.token_count || ids > BPE_TOKENS - 2) {
        PyErr_SetString(PyExc_ValueError, "first_id must be above the ids of the vocabulary, and ids no more than 2**21 - 2");
        return NULL;
    }
    self = (Merger *)type->tp_alloc(type, 0);
    if (self == NULL) return NULL;
    Py_INCREF(encoder);
    self->encoder = (Encoder *)encoder;
    self->merger = train_merger_new(&self->encoder->vocabulary, smaller ? TRAIN_SMALLER : TRAIN_FIRST, first, ids, longest, least);
    if (self->merger != NULL) return (PyObject *)self;
    Py_DECREF(self);
    return PyErr_NoMemory();
}

static void merger_dealloc(Merger *self)
{
    PyTypeObject *type = Py_TYPE(self);
    train_merger_free(self->merger);
    if (self->lent.obj != NULL) PyBuffer_Release(&self->lent);
    PyMem_RawFree(self->made);
    Py_XDECREF(self->encoder);
    type->tp_free((PyObject *)self);
    Py_DECREF(type);
}

static PyObject *merger_lend(Merger *self, PyObject *buffer)
{
    if (begin(self) < 0) return NULL;
    self->busy = 0;
    if (self->lent.obj != NULL || train_merger_memory(self->merger) > 0) {
        PyErr_SetString(PyExc_ValueError, "there are pieces, or other memory for them");
        return NULL;
    }
    if (PyObject_GetBuffer(buffer, &self->lent, PyBUF_WRITABLE) < 0) return NULL;
    if ((uintptr_t)self->lent.buf % sizeof(uint32_t) != 0) {
        PyBuffer_Release(&self->lent);
        PyErr_SetString(PyExc_ValueError, "the memory is not aligned");
        return NULL;
    }
    train_merger_lend(self->merger, self->lent.buf, (size_t)self->lent.len);
    Py_RETURN_NONE;
}

static PyObject *merger_needs(PyObject *type, PyObject *arguments)
{
    unsigned long long pieces, bytes;
    (void)type;
    if (!PyArg_ParseTuple(arguments, "KK:needs", &pieces, &bytes)) return NULL;
    return PyLong_FromSize_t(train_merger_needs(pieces, bytes));
}

static PyMethodDef merger_methods[] = {
    {"lend", (PyCFunction)merger_lend, METH_O, "lend(memory): have the pieces in it, which a file may lie behind"},
    {"needs", (PyCFunction)merger_needs, METH_VARARGS | METH_STATIC, "needs(pieces, bytes) -> bytes of memory for so many pieces of so many bytes"},
    {"add", (PyCFunction)merger_add, METH_VARARGS, "add(pieces, lengths, counts), as Counter.finish gives them"},
    {"run", (PyCFunction)merger_run, METH_VARARGS,
     "run(most, work) -> whether there may be more: merge up to so many pairs, or look at so many places"},
    {"merges", (PyCFunction)merger_merges, METH_VARARGS,
     "merges(start=0) -> (of each merge from there on, left id, right id and id of both, uint32; how often the pair was there, uint64)"},
    {"memory", (PyCFunction)merger_memory, METH_NOARGS, "memory() -> bytes in use"},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot merger_slots[] = {
    {Py_tp_new, merger_new},
    {Py_tp_dealloc, merger_dealloc},
    {Py_tp_methods, merger_methods},
    {Py_tp_doc, "Merger(encoder, smaller_first, first_id, ids, longest, least): learns merges; pieces start as the tokens of the encoder"},
    {0, NULL},
};
PyType_Spec bitlex_py_merger_spec = {
    "bitlex._native.Merger", sizeof(Merger), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE, merger_slots};
