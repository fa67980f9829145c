/* _train_reading.c - what a Counter wrote down in, runs or what it gave in the end; out, the same pieces in a table again, or all in order.
 * See train_runs.c. */
#include "_training.h"

#define PIECES_AT_ONCE ((size_t)1 << 16) /* between two looks at signals */
#define BYTES_AT_ONCE (1u << 22)          /* of pieces, between two looks at the memory */
#define LET_GO (1u << 22) /* bytes of pieces after which the pages are let go */

static int begin(Counter *self)
{
    if (bitlex_py_begin_call((PyObject *)self, &self->busy, "this counter is in use, or has ended") < 0) return -1;
    if (self->runs != NULL) return 0;
    PyErr_SetString(PyExc_ValueError, "no runs were opened");
    self->busy = 0;
    return -1;
}

PyObject *bitlex_py_open_runs(Counter *self, PyObject *arguments)
{
    PyObject *buffer, *list, *ends;
    Py_ssize_t count;
    uint64_t start = 0;
    int failed = 0, mapped;
    if (!PyArg_ParseTuple(arguments, "OOp:open", &buffer, &list, &mapped)) return NULL;
    if ((ends = PySequence_Tuple(list)) == NULL) return NULL;
    if (bitlex_py_begin_call((PyObject *)self, &self->busy, "this counter is in use, or has ended") < 0) {
        Py_DECREF(ends);
        return NULL;
    }
    bitlex_py_close_runs(self);
    self->mapped = mapped;
    count = PyTuple_GET_SIZE(ends);
    if (PyObject_GetBuffer(buffer, &self->view, PyBUF_SIMPLE) == 0 && (self->runs = train_runs_new((size_t)count)) == NULL) PyErr_NoMemory();
    for (Py_ssize_t i = 0; !PyErr_Occurred() && failed == 0 && i < count; i++) {
        const uint64_t end = PyLong_AsUnsignedLongLong(PyTuple_GET_ITEM(ends, i));
        if (PyErr_Occurred()) break;
        failed = end < start || end > (uint64_t)self->view.len ? -3 : 0;
        if (failed == 0) failed = train_runs_add(self->runs, (const uint8_t *)self->view.buf + start, end - start);
        start = end;
    }
    Py_DECREF(ends);
    self->busy = 0;
    if (failed == 0 && !PyErr_Occurred()) Py_RETURN_NONE;
    bitlex_py_close_runs(self);
    return failed != 0 ? bitlex_py_raise_counting(self, failed) : NULL;
}

void bitlex_py_close_runs(Counter *self)
{
    train_runs_free(self->runs);
    self->runs = NULL;
    if (self->view.obj != NULL) PyBuffer_Release(&self->view);
}

/* Step over the piece that was read; -3 if its run is malformed. */
static int go_on(Counter *self, const train_counted *top)
{
    self->read += top->length;
    return train_runs_next(self->runs);
}

static void let_read_go(Counter *self)
{
    if (!self->mapped || self->read < LET_GO) return;
    self->read = 0;
    bitlex_py_let_pages_go(self->view.buf, (const uint8_t *)self->view.buf + self->view.len);
}

/* Add some pieces to the table: 1 if it is full, before a hash that is not in it; 0 at the end or after enough. */
static int read_some(Counter *self, uint64_t limit, uint64_t *last, size_t *added)
{
    for (size_t n = 0; n < PIECES_AT_ONCE; n++) {
        const train_counted *top = train_runs_top(self->runs);
        if (top == NULL) return 0;
        if (*added > 0 && top->key != *last && limit > 0 && train_counts_memory(self->tables[0]) > limit) return 1;
        *last = top->key;
        ++*added;
        if (train_count_piece(self->tables[0], top->bytes, top->length, top->place, top->count) < 0) return -1;
        if (go_on(self, top) < 0) return -3;
    }
    return 0;
}

PyObject *bitlex_py_read_runs(Counter *self, PyObject *given)
{
    const uint64_t limit = PyLong_AsUnsignedLongLong(given);
    uint64_t last = 0;
    size_t added = 0;
    int outcome;
    if (PyErr_Occurred() || begin(self) < 0) return NULL;
    outcome = bitlex_py_make_tables(self, 1);
    while (outcome == 0 && train_runs_top(self->runs) != NULL) {
        Py_BEGIN_ALLOW_THREADS
        outcome = read_some(self, limit, &last, &added);
        let_read_go(self);
        Py_END_ALLOW_THREADS
        if (PyErr_CheckSignals() < 0) return NULL; /* which ends counting: the runs are still there */
    }
    self->busy = outcome < 0;
    return outcome < 0 ? bitlex_py_raise_counting(self, outcome) : PyBool_FromLong(outcome);
}

/* Copy the next pieces: how many, and how many bytes they have. */
static int take_some(Counter *self, uint8_t *bytes, size_t room, uint32_t *lengths, uint64_t *counts, size_t most, size_t *used, size_t *taken)
{
    const train_counted *top;
    for (*used = *taken = 0; *taken < most && (top = train_runs_top(self->runs)) != NULL && top->length <= room - *used; ++*taken) {
        memcpy(bytes + *used, top->bytes, (size_t)top->length);
        *used += (size_t)top->length;
        lengths[*taken] = (uint32_t)top->length;
        counts[*taken] = top->count;
        if (go_on(self, top) < 0) return -3;
    }
    return 0;
}

PyObject *bitlex_py_take_runs(Counter *self, PyObject *given)
{
    size_t room = PyLong_AsSize_t(given), used = 0, taken = 0;
    const train_counted *top;
    PyObject *parts[3] = {NULL, NULL, NULL}, *result = NULL;
    int failed = -1;
    if (PyErr_Occurred() || begin(self) < 0) return NULL;
    top = train_runs_top(self->runs);
    if (top != NULL && top->length > room) room = (size_t)top->length;
    if (room <= PY_SSIZE_T_MAX / 8) {
        parts[0] = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)room);
        parts[1] = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(PIECES_AT_ONCE * sizeof(uint32_t)));
        parts[2] = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(PIECES_AT_ONCE * sizeof(uint64_t)));
    }
    if (parts[0] != NULL && parts[1] != NULL && parts[2] != NULL) {
        uint8_t *to[3] = {(uint8_t *)PyBytes_AS_STRING(parts[0]), (uint8_t *)PyBytes_AS_STRING(parts[1]), (uint8_t *)PyBytes_AS_STRING(parts[2])};
        Py_BEGIN_ALLOW_THREADS
        failed = take_some(self, to[0], room, (void *)to[1], (void *)to[2], PIECES_AT_ONCE, &used, &taken);
        let_read_go(self);
        Py_END_ALLOW_THREADS
    }
    if (failed == 0 && _PyBytes_Resize(parts, (Py_ssize_t)used) == 0 && _PyBytes_Resize(parts + 1, (Py_ssize_t)(taken * sizeof(uint32_t))) == 0 &&
        _PyBytes_Resize(parts + 2, (Py_ssize_t)(taken * sizeof(uint64_t))) == 0) {
        result = PyTuple_Pack(3, parts[0], parts[1], parts[2]);
    }
    for (int i = 0; i < 3; i++) Py_XDECREF(parts[i]);
    self->busy = result == NULL;
    if (result == NULL && !PyErr_Occurred()) bitlex_py_raise_counting(self, failed);
    return result;
}

/* --- what `finish` gave --------------------------------------------------------------------------------------------------------------- */

/* Pieces side by side, their lengths and counts, how many were added, and the bytes of text that others may have been met in. */
typedef struct {
    Py_buffer pieces, lengths, counts;
    size_t count, added;
    uint64_t at, left;
} Counted;

/* Add some of the pieces: -3 if they do not end where the bytes do, or no such text has them. What comes first here was met first, behind all
 * that was counted before. */
static int add_some(Counter *self, Counted *from)
{
    const size_t stop = from->count - from->added > PIECES_AT_ONCE ? from->added + PIECES_AT_ONCE : from->count;
    const uint64_t enough = from->at + BYTES_AT_ONCE;
    size_t memory = 0;
    for (; from->added < stop && from->at < enough; from->added++) {
        uint32_t length;
        uint64_t times;
        memcpy(&length, (const char *)from->lengths.buf + from->added * sizeof length, sizeof length);
        memcpy(&times, (const char *)from->counts.buf + from->added * sizeof times, sizeof times);
        if (length == 0 || length > (uint64_t)from->pieces.len - from->at || times > from->left / length) return -3;
        if (train_count_piece(self->tables[0], (const uint8_t *)from->pieces.buf + from->at, length, self->place + from->at, times) < 0) return -1;
        from->at += length;
        from->left -= times * length;
    }
    if (from->added == from->count && from->at != (uint64_t)from->pieces.len) return -3;
    for (Py_ssize_t i = 0; i < self->table_count; i++) memory += train_counts_memory(self->tables[i]);
    for (Py_ssize_t i = 0; self->limit > 0 && memory > self->limit && i < self->table_count; i++) {
        const int failed = bitlex_py_spill_table(self, self->tables[i], TRAIN_BY_HASH);
        if (failed != 0) return failed;
    }
    return 0;
}

PyObject *bitlex_py_add_counted(Counter *self, PyObject *arguments)
{
    Counted from;
    unsigned long long text;
    int failed;
    memset(&from, 0, sizeof from);
    if (!PyArg_ParseTuple(arguments, "y*y*y*K:add_counted", &from.pieces, &from.lengths, &from.counts, &text)) return NULL;
    from.left = text < UINT64_MAX / 4 ? 4 * text : UINT64_MAX; /* no character has more bytes */
    from.count = (size_t)from.lengths.len / sizeof(uint32_t);
    failed = bitlex_py_begin_call((PyObject *)self, &self->busy, "this counter is in use, or has ended") < 0;
    if (!failed) {
        const int fit = from.lengths.len % 4 == 0 && (uint64_t)from.counts.len == (uint64_t)from.count * 8;
        failed = !fit || (from.count == 0 && from.pieces.len > 0) ? -3 : 0;
        if (failed == 0) failed = bitlex_py_make_tables(self, 1);
        while (failed == 0 && from.added < from.count) {
            Py_BEGIN_ALLOW_THREADS
            failed = add_some(self, &from);
            Py_END_ALLOW_THREADS
            if (PyErr_CheckSignals() < 0) break; /* which ends counting */
        }
        if (failed == 0 && !PyErr_Occurred()) {
            self->place += from.at;
            self->busy = 0;
        } else if (!PyErr_Occurred()) {
            bitlex_py_raise_counting(self, failed);
        }
    }
    PyBuffer_Release(&from.pieces);
    PyBuffer_Release(&from.lengths);
    PyBuffer_Release(&from.counts);
    if (PyErr_Occurred()) return NULL;
    Py_RETURN_NONE;
}
