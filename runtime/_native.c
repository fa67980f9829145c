/* _native.c - the C loop (bitlex.c) as a Python type.
 *
 * In: the tables of a machine as bytes, then texts (str or bytes-like). Out: counts, pieces, or buffers of offsets.
 * Offsets count characters of a str and bytes of anything else; a str is read as it lies in memory, whatever its width.
 *
 * Invariants: a Machine is checked once, when it is made, so that no contents of its tables can lead a read astray; it
 * never changes afterwards, so any number of threads may use it. The GIL is released for texts above RELEASE units, and
 * signals are looked at every SLICE units, so that Ctrl-C works (not while a text is being run backward as a whole, which
 * only hostile texts need).
 *
 * Rejected: the limited API (it hides how a str lies in memory, and a UTF-8 copy would double the memory); keeping
 * references to the table bytes instead of copies (nothing promises their alignment or byte order).
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "bitlex.h"

#define RELEASE 65536
#define SLICE (16u << 20)
#define CHUNK 2048

typedef struct {
    PyObject_HEAD
    bitlex_machine machine;
    bitlex_stage *stages;
    void **tables; /* everything that is to be freed */
    Py_ssize_t table_count;
    bitlex_tier tier;
} Machine;

/* --- making and checking a machine ----------------------------------------------------------------------------- */

static void *allocate(Machine *self, size_t size)
{
    void *memory = PyMem_Calloc(size ? size : 1, 1);
    void **tables = memory ? PyMem_Realloc(self->tables, (size_t)(self->table_count + 1) * sizeof *tables) : NULL;
    if (tables == NULL) {
        PyMem_Free(memory);
        PyErr_NoMemory();
        return NULL;
    }
    self->tables = tables;
    self->tables[self->table_count++] = memory;
    return memory;
}

/* Copy a table of bytes, all of them below `limit`. */
static const uint8_t *small_table(Machine *self, PyObject *bytes, Py_ssize_t count, uint32_t limit, const char *name)
{
    const uint8_t *from = (const uint8_t *)PyBytes_AS_STRING(bytes);
    uint8_t *to;
    if (PyBytes_GET_SIZE(bytes) != count) {
        PyErr_Format(PyExc_ValueError, "%s: expected %zd bytes, got %zd", name, count, PyBytes_GET_SIZE(bytes));
        return NULL;
    }
    to = allocate(self, (size_t)count);
    for (Py_ssize_t i = 0; to != NULL && i < count; i++) {
        if (from[i] >= limit) {
            PyErr_Format(PyExc_ValueError, "%s: entry %zd is %d, not below %u", name, i, from[i], limit);
            return NULL;
        }
        to[i] = from[i];
    }
    return to;
}

/* Copy a table of little-endian 16-bit numbers (or of bytes, if not wide), all below `limit` and multiples of `row`. */
static const uint16_t *wide_table(Machine *self, PyObject *bytes, Py_ssize_t count, uint32_t limit, uint32_t row, int wide,
                                  const char *name)
{
    const uint8_t *from = (const uint8_t *)PyBytes_AS_STRING(bytes);
    uint16_t *to;
    if (PyBytes_GET_SIZE(bytes) != count * (1 + wide)) {
        PyErr_Format(PyExc_ValueError, "%s: expected %zd bytes, got %zd", name, count * (1 + wide), PyBytes_GET_SIZE(bytes));
        return NULL;
    }
    to = allocate(self, (size_t)count * sizeof *to);
    for (Py_ssize_t i = 0; to != NULL && i < count; i++) {
        uint32_t value = wide ? (uint32_t)from[2 * i] | (uint32_t)from[2 * i + 1] << 8 : from[i];
        if (value >= limit || value % row != 0) {
            PyErr_Format(PyExc_ValueError, "%s: entry %zd is %u, not a multiple of %u below %u", name, i, value, row, limit);
            return NULL;
        }
        to[i] = (uint16_t)value;
    }
    return to;
}

/* The number of rows of `row` entries that the bytes hold; 0 with an error set if that is no machine. */
static uint32_t row_count(PyObject *bytes, Py_ssize_t entry_size, uint32_t row, const char *name)
{
    Py_ssize_t size = PyBytes_GET_SIZE(bytes);
    if (size == 0 || size > 65536 * entry_size || size % (entry_size * (Py_ssize_t)row) != 0) {
        PyErr_Format(PyExc_ValueError, "%s: %zd bytes are not 1..65536 entries in rows of %u", name, size, row);
        return 0;
    }
    return (uint32_t)(size / entry_size / (Py_ssize_t)row);
}

static int read_stage(Machine *self, bitlex_stage *stage, PyObject *tuple, uint32_t symbols, int may_drop)
{
    PyObject *columns, *backward_next, *backward_label, *forward_next, *output;
    unsigned int column_count, label_count, end;
    uint32_t entries;
    if (!PyTuple_Check(tuple)) {
        PyErr_SetString(PyExc_TypeError, "each stage must be a tuple");
        return -1;
    }
    if (!PyArg_ParseTuple(tuple, "SIISSISS;a stage is (columns, column_count, label_count, backward_next, backward_label, "
                          "backward_end, forward_next, output)", &columns, &column_count, &label_count, &backward_next,
                          &backward_label, &end, &forward_next, &output))
        return -1;
    if (column_count < 1 || column_count > 256 || label_count < 1 || label_count > 65536) {
        PyErr_SetString(PyExc_ValueError, "column_count must be 1..256 and label_count 1..65536");
        return -1;
    }
    stage->column_count = column_count;
    stage->label_count = label_count;
    stage->backward_end = end;
    if ((stage->backward_states = row_count(backward_next, 2, column_count, "backward_next")) == 0) return -1;
    if ((stage->forward_states = row_count(forward_next, 2, label_count, "forward_next")) == 0) return -1;
    entries = stage->backward_states * column_count;
    if (end >= entries || end % column_count != 0) {
        PyErr_Format(PyExc_ValueError, "backward_end: %u is not a row of backward_next", end);
        return -1;
    }
    if ((stage->columns = small_table(self, columns, symbols, column_count, "columns")) == NULL) return -1;
    if ((stage->backward_next = wide_table(self, backward_next, entries, entries, column_count, 1, "backward_next")) == NULL)
        return -1;
    if ((stage->backward_label = wide_table(self, backward_label, entries, label_count, 1, 1, "backward_label")) == NULL)
        return -1;
    entries = stage->forward_states * label_count;
    if ((stage->forward_next = wide_table(self, forward_next, entries, entries, label_count, 1, "forward_next")) == NULL)
        return -1;
    return (stage->output = small_table(self, output, entries, may_drop ? 3 : 2, "output")) == NULL ? -1 : 0;
}

static int read_machine(Machine *self, int shift, PyObject *stage1, int wide, PyObject *stage2, int cells, PyObject *stages,
                        int drops, PyObject *continuation)
{
    bitlex_machine *m = &self->machine;
    Py_ssize_t count = PyTuple_GET_SIZE(stages), size = PyBytes_GET_SIZE(stage2);
    if (shift < 0 || shift > 20 || cells < 1 || cells > 255) {
        PyErr_SetString(PyExc_ValueError, "shift must be 0..20 and cells 1..255");
        return -1;
    }
    if (count < 1 || count > 1000) {
        PyErr_SetString(PyExc_ValueError, "a machine has 1..1000 stages");
        return -1;
    }
    if ((size >> shift) == 0 || (size >> shift << shift) != size || (size >> shift) > 65536) {
        PyErr_Format(PyExc_ValueError, "stage2: %zd bytes are not 1..65536 blocks of %d", size, 1 << shift);
        return -1;
    }
    m->abi = BITLEX_ABI;
    m->name = "";
    m->cells = (uint32_t)cells;
    m->shift = (uint32_t)shift;
    m->stage_count = (uint32_t)count;
    m->drops = (uint32_t)drops;
    m->stage1 = wide_table(self, stage1, ((0x110000 - 1) >> shift) + 1, (uint32_t)(size >> shift), 1, wide, "stage1");
    if (m->stage1 == NULL) return -1;
    m->stage2 = small_table(self, stage2, size, (uint32_t)cells, "stage2");
    if (m->stage2 == NULL) return -1;
    if (continuation != NULL && PyBytes_GET_SIZE(continuation) > 0) {
        m->continuation = small_table(self, continuation, 64, (uint32_t)cells, "continuation");
        if (m->continuation == NULL) return -1;
    }
    m->stages = self->stages = allocate(self, (size_t)count * sizeof *self->stages);
    for (Py_ssize_t i = 0; self->stages != NULL && i < count; i++) {
        uint32_t symbols = m->cells * (i == 0 ? 1 : 6);
        if (read_stage(self, self->stages + i, PyTuple_GET_ITEM(stages, i), symbols, drops || i + 1 < count) < 0) return -1;
    }
    return self->stages == NULL ? -1 : 0;
}

static const char *const tiers[] = {"portable", "neon", "avx2", "avx512"};

/* Vector instructions, if the processor has them: the tier that `most` names at most. */
static int accelerate(Machine *self, const char *most)
{
    int tier = most == NULL ? BITLEX_AVX512 : BITLEX_PORTABLE;
    void *memory;
    while (most != NULL && strcmp(tiers[tier], most) != 0) {
        if (++tier <= BITLEX_AVX512) continue;
        PyErr_Format(PyExc_ValueError, "tier must be portable, neon, avx2 or avx512, not '%s'", most);
        return -1;
    }
    memory = allocate(self, bitlex_lanes_size());
    if (memory == NULL) return -1;
    self->tier = bitlex_accelerate(&self->machine, memory, (bitlex_tier)tier);
    return 0;
}

static PyObject *machine_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"shift", "stage1", "wide", "stage2", "cells", "stages", "drops", "continuation", "tier", NULL};
    PyObject *stage1, *stage2, *stages, *continuation = NULL;
    const char *most = NULL;
    int shift, wide, cells, drops;
    Machine *self;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "iSpSiO!p|Sz:Machine", names, &shift, &stage1, &wide, &stage2, &cells,
                                     &PyTuple_Type, &stages, &drops, &continuation, &most))
        return NULL;
    self = (Machine *)type->tp_alloc(type, 0);
    if (self != NULL && read_machine(self, shift, stage1, wide, stage2, cells, stages, drops, continuation) < 0) Py_CLEAR(self);
    if (self != NULL && accelerate(self, most) < 0) Py_CLEAR(self);
    return (PyObject *)self;
}

static void machine_dealloc(Machine *self)
{
    PyTypeObject *type = Py_TYPE(self);
    while (self->table_count > 0) PyMem_Free(self->tables[--self->table_count]);
    PyMem_Free(self->tables);
    type->tp_free(self);
    Py_DECREF(type);
}

/* --- a text being read ----------------------------------------------------------------------------------------- */

typedef struct {
    bitlex_cursor *cursor;
    void *scratch;
    const void *data;
    PyObject *string; /* the str (its reference is ours), or NULL when the view holds a buffer */
    Py_buffer view;
    uint64_t length;
    bitlex_encoding encoding;
    int large; /* worth releasing the GIL */
} Reading;

static void reading_end(Reading *r)
{
    PyMem_Free(r->cursor);
    PyMem_Free(r->scratch);
    r->cursor = NULL;
    r->scratch = NULL;
    Py_CLEAR(r->string);
    PyBuffer_Release(&r->view); /* does nothing when there is none */
}

static int reading_begin(Reading *r, const bitlex_machine *machine, PyObject *text)
{
    uint64_t scratch;
    memset(r, 0, sizeof *r);
    if (PyUnicode_Check(text) && machine->continuation != NULL) {
        PyErr_SetString(PyExc_ValueError, "this lexer cuts inside characters, so it reads bytes: encode the text as UTF-8");
        return -1;
    }
    if (PyUnicode_Check(text)) {
#if PY_VERSION_HEX < 0x030C0000
        if (PyUnicode_READY(text) < 0) return -1;
#endif
        r->data = PyUnicode_DATA(text);
        r->length = (uint64_t)PyUnicode_GET_LENGTH(text);
        r->encoding = PyUnicode_KIND(text) == PyUnicode_1BYTE_KIND   ? BITLEX_LATIN1
                      : PyUnicode_KIND(text) == PyUnicode_2BYTE_KIND ? BITLEX_UCS2
                                                                     : BITLEX_UCS4;
        Py_INCREF(text);
        r->string = text;
    } else if (PyObject_CheckBuffer(text)) {
        if (PyObject_GetBuffer(text, &r->view, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT) < 0) return -1;
        if (r->view.itemsize != 1) {
            PyErr_Format(PyExc_TypeError, "expected str or a bytes-like object, got %.200s with items of %zd bytes",
                         Py_TYPE(text)->tp_name, r->view.itemsize);
            goto failed;
        }
        r->data = r->view.buf;
        r->length = (uint64_t)r->view.len;
        r->encoding = BITLEX_UTF8;
    } else {
        PyErr_Format(PyExc_TypeError, "expected str or a bytes-like object, got %.200s", Py_TYPE(text)->tp_name);
        return -1;
    }
    r->large = r->length > RELEASE;
    r->cursor = PyMem_Malloc(sizeof *r->cursor);
    scratch = bitlex_scratch_size(machine, r->length);
    r->scratch = PyMem_Malloc((size_t)scratch);
    if (r->cursor == NULL || r->scratch == NULL) {
        PyErr_NoMemory();
        goto failed;
    }
    bitlex_begin(r->cursor, machine, r->data, r->length, r->encoding, r->scratch);
    return 0;
failed:
    reading_end(r);
    return -1;
}

typedef enum { ENDS32, ENDS64, PAIRS32, PAIRS64 } Form;

static const size_t form_size[] = {4, 8, 8, 16};

/* Store up to `room` offsets or pairs: their number, 0 at the end, -1 with an exception set. */
static Py_ssize_t fetch(Reading *r, Form form, void *out, size_t room)
{
    size_t done = 0, n;
    int finished = 0;
    while (done == 0 && !finished) {
        PyThreadState *released = r->large ? PyEval_SaveThread() : NULL;
        uint32_t blocks = SLICE / BITLEX_BLOCK;
        while (done < room && !finished && blocks-- > 0) {
            char *to = (char *)out + done * form_size[form];
            if (!bitlex_ready(r->cursor, 0)) continue;
            switch (form) {
            case ENDS32: n = bitlex_next32(r->cursor, (uint32_t *)(void *)to, room - done); break;
            case ENDS64: n = bitlex_next(r->cursor, (uint64_t *)(void *)to, room - done); break;
            case PAIRS32: n = bitlex_next_pairs32(r->cursor, (uint32_t *)(void *)to, room - done); break;
            default: n = bitlex_next_pairs(r->cursor, (uint64_t *)(void *)to, room - done); break;
            }
            finished = n == 0;
            done += n;
        }
        if (released != NULL) PyEval_RestoreThread(released);
        if (r->large && PyErr_CheckSignals() < 0) return -1;
    }
    return (Py_ssize_t)done;
}

/* --- methods --------------------------------------------------------------------------------------------------- */

static PyObject *machine_count(Machine *self, PyObject *text)
{
    Reading r;
    uint64_t pieces = 0;
    int more = 1, failed = 0;
    if (reading_begin(&r, &self->machine, text) < 0) return NULL;
    while (more && !failed) {
        PyThreadState *released = r.large ? PyEval_SaveThread() : NULL;
        more = bitlex_count_some(r.cursor, SLICE, &pieces);
        if (released != NULL) PyEval_RestoreThread(released);
        failed = r.large && PyErr_CheckSignals() < 0;
    }
    reading_end(&r);
    return failed ? NULL : PyLong_FromUnsignedLongLong(pieces);
}

/* One piece as an object: of the str type's narrowest width, or bytes. */
static PyObject *piece(const Reading *r, Py_ssize_t start, Py_ssize_t length)
{
    const char *data = r->data;
    if (r->encoding == BITLEX_UTF8) return PyBytes_FromStringAndSize(data + start, length);
    if (r->encoding == BITLEX_LATIN1 && length > 1 && PyUnicode_IS_ASCII(r->string)) {
        PyObject *made = PyUnicode_New(length, 127); /* no need to look for wider characters */
        if (made != NULL) memcpy(PyUnicode_DATA(made), data + start, (size_t)length);
        return made;
    }
    return PyUnicode_FromKindAndData((int)r->encoding, data + start * (Py_ssize_t)r->encoding, length);
}

static PyObject *machine_split(Machine *self, PyObject *text)
{
    Reading r;
    uint64_t *pairs = PyMem_Malloc(CHUNK * form_size[PAIRS64]);
    PyObject *list = PyList_New(0);
    Py_ssize_t n = -1;
    if (pairs == NULL) PyErr_NoMemory();
    if (pairs != NULL && list != NULL && reading_begin(&r, &self->machine, text) == 0) {
        while ((n = fetch(&r, PAIRS64, pairs, CHUNK)) > 0) {
            for (Py_ssize_t i = 0; n > 0 && i < n; i++) {
                PyObject *made = piece(&r, (Py_ssize_t)pairs[2 * i], (Py_ssize_t)(pairs[2 * i + 1] - pairs[2 * i]));
                if (made == NULL || PyList_Append(list, made) < 0) n = -1;
                Py_XDECREF(made);
            }
            if (n < 0) break;
        }
        reading_end(&r);
    }
    PyMem_Free(pairs);
    if (n < 0) Py_CLEAR(list);
    return list;
}

/* All offsets as a bytearray that grows by a quarter; numpy.frombuffer reads it without a copy. */
static PyObject *offsets(Machine *self, PyObject *text, int pairs)
{
    Reading r;
    PyObject *array;
    size_t used = 0, room, size;
    Py_ssize_t n = -1;
    Form form;
    if (reading_begin(&r, &self->machine, text) < 0) return NULL;
    form = r.length < (UINT64_C(1) << 31) ? (pairs ? PAIRS32 : ENDS32) : (pairs ? PAIRS64 : ENDS64);
    size = form_size[form];
    room = (size_t)(r.length / 16 + 64);
    array = PyByteArray_FromStringAndSize(NULL, (Py_ssize_t)(room * size));
    while (array != NULL && (n = fetch(&r, form, PyByteArray_AS_STRING(array) + used * size, room - used)) > 0) {
        used += (size_t)n;
        if (used < room) continue;
        room += room / 4;
        if (PyByteArray_Resize(array, (Py_ssize_t)(room * size)) < 0) {
            n = -1;
            break;
        }
    }
    reading_end(&r);
    if (array != NULL && (n < 0 || PyByteArray_Resize(array, (Py_ssize_t)(used * size)) < 0)) Py_CLEAR(array);
    return array;
}

static PyObject *machine_ends(Machine *self, PyObject *text)
{
    if (!self->machine.drops) return offsets(self, text, 0);
    PyErr_SetString(PyExc_ValueError, "this machine drops code points: its pieces have gaps between them, use pairs()");
    return NULL;
}

static PyObject *machine_pairs(Machine *self, PyObject *text) { return offsets(self, text, 1); }

/* --- the iterator ---------------------------------------------------------------------------------------------- */

typedef struct {
    PyObject_HEAD
    Machine *machine;
    Reading reading;
    Py_ssize_t count, taken; /* of the pairs at hand */
    uint64_t pairs[2 * 512];
} Iterator;

static void iterator_finish(Iterator *self)
{
    if (self->machine == NULL) return;
    reading_end(&self->reading);
    Py_CLEAR(self->machine);
}

static void iterator_dealloc(Iterator *self)
{
    PyTypeObject *type = Py_TYPE(self);
    iterator_finish(self);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyObject *iterator_take(Iterator *self)
{
    const uint64_t *pair;
    if (self->taken == self->count) {
        if (self->machine == NULL) return NULL;
        self->taken = 0;
        self->count = fetch(&self->reading, PAIRS64, self->pairs, 512);
        if (self->count <= 0) {
            self->count = 0;
            iterator_finish(self);
            return NULL;
        }
    }
    pair = self->pairs + 2 * self->taken++;
    return Py_BuildValue("KK", (unsigned long long)pair[0], (unsigned long long)pair[1]);
}

static PyObject *iterator_next(Iterator *self)
{
    PyObject *pair;
#ifdef Py_GIL_DISABLED
    Py_BEGIN_CRITICAL_SECTION(self);
#endif
    pair = iterator_take(self);
#ifdef Py_GIL_DISABLED
    Py_END_CRITICAL_SECTION();
#endif
    return pair;
}

static PyObject *machine_iterate(Machine *self, PyObject *text)
{
    PyTypeObject *type = PyType_GetModuleState(Py_TYPE(self)) ? *(PyTypeObject **)PyType_GetModuleState(Py_TYPE(self)) : NULL;
    Iterator *iterator = type ? (Iterator *)type->tp_alloc(type, 0) : NULL;
    if (iterator == NULL) return NULL;
    if (reading_begin(&iterator->reading, &self->machine, text) < 0) {
        Py_DECREF(iterator);
        return NULL;
    }
    iterator->reading.large = 0; /* the lock stays with us: a second thread must not get at the cursor */
    Py_INCREF(self);
    iterator->machine = self;
    return (PyObject *)iterator;
}

/* --- the module ------------------------------------------------------------------------------------------------ */

static PyMethodDef machine_methods[] = {
    {"count", (PyCFunction)(void (*)(void))machine_count, METH_O, "count(text) -> the number of pieces"},
    {"split", (PyCFunction)(void (*)(void))machine_split, METH_O, "split(text) -> the pieces, str of str or bytes of bytes"},
    {"ends", (PyCFunction)(void (*)(void))machine_ends, METH_O,
     "ends(text) -> bytearray of the ends of all pieces, int32 below 2**31 units of text, else int64"},
    {"pairs", (PyCFunction)(void (*)(void))machine_pairs, METH_O,
     "pairs(text) -> bytearray of the start and end of every piece in turn, int32 below 2**31 units of text, else int64"},
    {"iterate", (PyCFunction)(void (*)(void))machine_iterate, METH_O, "iterate(text) -> iterator of (start, end)"},
    {NULL, NULL, 0, NULL},
};

static PyObject *machine_tier(Machine *self, void *unused)
{
    (void)unused;
    return PyUnicode_FromString(tiers[self->tier]);
}

static PyGetSetDef machine_properties[] = {
    {"tier", (getter)(void (*)(void))machine_tier, NULL, "the instructions it runs on: portable, neon, avx2 or avx512", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot machine_slots[] = {
    {Py_tp_new, machine_new},
    {Py_tp_dealloc, machine_dealloc},
    {Py_tp_methods, machine_methods},
    {Py_tp_getset, machine_properties},
    {Py_tp_doc, "Machine(shift, stage1, wide, stage2, cells, stages, drops, continuation=b'', tier=None): a lexer's tables, checked and ready to run"},
    {0, NULL},
};
static PyType_Spec machine_spec = {
    "bitlex._native.Machine", sizeof(Machine), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE, machine_slots};

static PyType_Slot iterator_slots[] = {
    {Py_tp_dealloc, iterator_dealloc},
    {Py_tp_iter, PyObject_SelfIter},
    {Py_tp_iternext, iterator_next},
    {0, NULL},
};
static PyType_Spec iterator_spec = {
    "bitlex._native.Iterator", sizeof(Iterator), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION, iterator_slots};

typedef struct {
    PyTypeObject *iterator; /* first: machine_iterate reads it */
} State;

static int module_exec(PyObject *module)
{
    State *state = PyModule_GetState(module);
    PyObject *machine = PyType_FromModuleAndSpec(module, &machine_spec, NULL);
    int failed = machine == NULL || PyModule_AddType(module, (PyTypeObject *)machine) < 0;
    Py_XDECREF(machine);
    if (failed) return -1;
    state->iterator = (PyTypeObject *)PyType_FromModuleAndSpec(module, &iterator_spec, NULL);
    if (state->iterator == NULL || PyModule_AddIntConstant(module, "ABI", BITLEX_ABI) < 0) return -1;
    return PyModule_AddIntConstant(module, "BLOCK", BITLEX_BLOCK);
}

static int module_traverse(PyObject *module, visitproc visit, void *arg)
{
    Py_VISIT(((State *)PyModule_GetState(module))->iterator);
    return 0;
}

static int module_clear(PyObject *module)
{
    Py_CLEAR(((State *)PyModule_GetState(module))->iterator);
    return 0;
}

static PyModuleDef_Slot module_slots[] = {
    {Py_mod_exec, module_exec},
#ifdef Py_mod_multiple_interpreters
    {Py_mod_multiple_interpreters, Py_MOD_PER_INTERPRETER_GIL_SUPPORTED},
#endif
#ifdef Py_mod_gil
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, NULL},
};

static struct PyModuleDef module_definition = {
    PyModuleDef_HEAD_INIT, "bitlex._native", "The C loop of bitlex: see runtime/_native.pyi.", sizeof(State), NULL,
    module_slots, module_traverse, module_clear, NULL};

PyMODINIT_FUNC PyInit__native(void) { return PyModuleDef_Init(&module_definition); }
