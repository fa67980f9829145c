/* _machine.c - the tables of a machine: bytes in; out, a Machine that is checked, accelerated and ready for any text.
 *
 * In: what generator/pack.py packs: numbers, and little-endian tables as bytes objects. Out: an object with copies of them, or a
 * ValueError that names the table and the entry.
 *
 * Invariant: every entry that is used as an index is checked here, against the length of what it indexes, so that nothing needs to
 * be checked while a text is read, whoever made the tables. What is allocated for a machine is freed with it, finished or not.
 *
 * Rejected: keeping references to the table bytes instead of copies (nothing promises their alignment or byte order).
 */
#include "_native.h"

/* Zeros that live as long as the machine. */
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

/* Fill in a stage from (columns, column_count, label_count, backward_next, backward_label, backward_end, forward_next, output),
 * the columns of so many symbols. */
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

const char *bitlex_py_tier_name(const Machine *self) { return tiers[self->tier]; }

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

PyObject *bitlex_py_machine_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
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

void bitlex_py_machine_dealloc(Machine *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyMem_RawFree(self->spare);
    PyMem_RawFree(self->stream_table);
    while (self->table_count > 0) PyMem_Free(self->tables[--self->table_count]);
    PyMem_Free(self->tables);
    type->tp_free(self);
    Py_DECREF(type);
}
