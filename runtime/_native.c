/* _native.c - the C loop (bitlex.c) as a Python type: its methods, and the module.
 *
 * In: the arguments of a call. Out: what the other files make of them; _native.h says which does what and what is promised.
 *
 * Invariant: each method ends the reading that it began. A short text needs no memory but the list or array that comes out.
 *
 * Rejected: parsing arguments with PyArg_ParseTuple (a tuple to be made and a format to be read, which short texts notice); names for
 * them (lexers.py has names).
 */
#include "_streams.h"
#include "_tokens.h"

/* The arguments (text, threads=1, blocks=PART). */
static int read_arguments(PyObject *const *arguments, Py_ssize_t count, Py_ssize_t *threads, Py_ssize_t *blocks)
{
    *threads = 1;
    *blocks = PART;
    if (count < 1 || count > 3) {
        PyErr_Format(PyExc_TypeError, "expected 1 to 3 arguments, got %zd", count);
        return -1;
    }
    if (count > 1) *threads = PyNumber_AsSsize_t(arguments[1], PyExc_OverflowError);
    if (count > 2) *blocks = PyNumber_AsSsize_t(arguments[2], PyExc_OverflowError);
    if (PyErr_Occurred()) return -1;
    if (*threads >= 1 && *threads <= 1024 && *blocks >= 1) return 0;
    PyErr_SetString(PyExc_ValueError, "threads must be 1..1024, and blocks 1 or more");
    return -1;
}

static PyObject *machine_count(Machine *self, PyObject *const *arguments, Py_ssize_t argument_count)
{
    Reading r;
    uint64_t pieces = 0, workers;
    Py_ssize_t threads, blocks;
    int more = 1, failed = 0;
    if (read_arguments(arguments, argument_count, &threads, &blocks) < 0) return NULL;
    if (bitlex_py_reading_begin(&r, self, arguments[0]) < 0) return NULL;
    workers = bitlex_py_useful_threads(self, &r.text, threads, blocks);
    if (workers > 1) {
        failed = bitlex_py_share_count(&r, workers, (uint64_t)blocks, &pieces) < 0;
        more = 0;
    }
    while (more && !failed) {
        PyThreadState *released = r.large ? PyEval_SaveThread() : NULL;
        more = bitlex_count_some(r.cursor, SLICE, &pieces);
        if (released != NULL) PyEval_RestoreThread(released);
        failed = r.large && PyErr_CheckSignals() < 0;
    }
    bitlex_py_reading_end(&r);
    return failed ? NULL : PyLong_FromUnsignedLongLong(pieces);
}

static State *state_of(Machine *self) { return PyType_GetModuleState(Py_TYPE(self)); }

/* The offsets of a text, and in what form; or its `pieces`. */
static PyObject *offsets(Machine *self, PyObject *const *arguments, Py_ssize_t argument_count, int pairs, int pieces, Form *in)
{
    uint64_t few[2 * CHUNK];
    Reading r;
    Offsets *found = NULL;
    PyObject *list = NULL;
    Py_ssize_t threads, blocks, n = -1;
    Form form;
    const void *from = few;
    if (read_arguments(arguments, argument_count, &threads, &blocks) < 0) return NULL;
    if (bitlex_py_reading_begin(&r, self, arguments[0]) < 0) return NULL;
    *in = form = form_for(r.text.length, pairs);
    if (r.text.length < CHUNK) {
        n = bitlex_py_fetch(&r, form, few, CHUNK);
        if (n >= 0 && !pieces) found = bitlex_py_offsets_new(state_of(self)->offsets, (uint64_t)n * form_size(form));
        if (found != NULL) memcpy(found->bytes, few, (size_t)n * form_size(form));
    } else {
        const uint64_t workers = bitlex_py_useful_threads(self, &r.text, threads, blocks);
        found = bitlex_py_all_offsets(&r, state_of(self)->offsets, form, workers, (uint64_t)blocks);
        if (found != NULL) n = Py_SIZE(found) / (Py_ssize_t)form_size(form);
        if (found != NULL) from = found->bytes;
    }
    if (pieces && n >= 0) list = bitlex_py_list_of_pieces(&r.text, form, from, n);
    if (pieces) Py_CLEAR(found);
    bitlex_py_reading_end(&r);
    return pieces ? list : (PyObject *)found;
}

static PyObject *machine_split(Machine *self, PyObject *const *arguments, Py_ssize_t count)
{
    Form form;
    return offsets(self, arguments, count, self->machine.drops != 0, 1, &form);
}

static PyObject *machine_pairs(Machine *self, PyObject *const *arguments, Py_ssize_t count)
{
    Form form;
    return offsets(self, arguments, count, 1, 0, &form);
}

static int refuse_ends(const Machine *self)
{
    if (!self->machine.drops) return 0;
    PyErr_SetString(PyExc_ValueError, "this machine drops code points: its pieces have gaps between them, use pairs()");
    return 1;
}

static PyObject *machine_ends(Machine *self, PyObject *const *arguments, Py_ssize_t count)
{
    Form form;
    return refuse_ends(self) ? NULL : offsets(self, arguments, count, 0, 0, &form);
}

/* numpy's functions in C lie in a table, at places that never change within a version of its ABI; both versions there have been have
 * these at the same places. Where the table is another one, numpy.frombuffer does the same, which takes 0.2 microseconds more.
 *
 * Rejected: numpy's headers (bitlex could not be built without numpy, nor by one version for the others). */
enum { NUMPY_ABI = 0, NUMPY_ARRAY_TYPE = 2, NUMPY_NEW = 94, NUMPY_SET_BASE = 282 };
enum { NUMPY_KEEPS = 1024 }; /* bytes */
enum { NUMPY_CONTIGUOUS = 1, NUMPY_ALIGNED = 0x100, NUMPY_WRITEABLE = 0x400 };
typedef struct { PyObject_HEAD char *data; } NumpyArray; /* as it begins in both versions */

typedef unsigned int (*AbiFunction)(void);
typedef PyObject *(*NewFunction)(PyTypeObject *type, PyObject *dtype, int dimensions, Py_ssize_t const *shape, Py_ssize_t const *strides,
                                 void *data, int flags, PyObject *like);
typedef int (*SetBaseFunction)(PyObject *array, PyObject *base);

static void **find_table(void)
{
    static const char *const modules[] = {"numpy._core._multiarray_umath", "numpy.core._multiarray_umath"};
    void **table = NULL;
    for (int i = 0; table == NULL && i < 2; i++) {
        PyObject *module = PyImport_ImportModule(modules[i]);
        PyObject *capsule = module == NULL ? NULL : PyObject_GetAttrString(module, "_ARRAY_API");
        if (capsule != NULL && PyCapsule_CheckExact(capsule)) table = PyCapsule_GetPointer(capsule, PyCapsule_GetName(capsule));
        Py_XDECREF(capsule);
        Py_XDECREF(module);
        PyErr_Clear();
    }
    if (table != NULL) {
        const unsigned abi = ((AbiFunction)(uintptr_t)table[NUMPY_ABI])();
        if (abi != 0x01000009 && abi != 0x02000000) table = NULL;
    }
    return table;
}

/* Importing numpy takes longer than most calls. */
static int load_numpy(State *state)
{
    PyObject *numpy = PyImport_ImportModule("numpy");
    if (numpy == NULL) return -1;
    if (state->narrow == NULL) state->narrow = PyObject_CallMethod(numpy, "dtype", "s", "int32");
    if (state->wide == NULL) state->wide = PyObject_CallMethod(numpy, "dtype", "s", "int64");
    if (state->ids == NULL) state->ids = PyObject_CallMethod(numpy, "dtype", "s", "uint32");
    if (state->narrow != NULL && state->wide != NULL && state->ids != NULL) {
        state->numpy = find_table();
        state->from_buffer = PyObject_GetAttrString(numpy, "frombuffer");
    }
    Py_DECREF(numpy);
    return state->from_buffer == NULL ? -1 : 0;
}

static Py_ssize_t size_of(Numbers numbers) { return numbers == WIDE_OFFSETS || numbers == WIDE_PAIRS ? 8 : 4; }

/* An array of so many bytes, in this memory or in numpy's own. */
static PyObject *new_array(void **numpy, PyObject *dtype, Numbers numbers, size_t size, void *memory)
{
    const int flags = memory != NULL ? NUMPY_CONTIGUOUS | NUMPY_ALIGNED | NUMPY_WRITEABLE : 0, dimensions = numbers >= NARROW_PAIRS ? 2 : 1;
    const Py_ssize_t shape[] = {(Py_ssize_t)size / size_of(numbers) / dimensions, 2};
    return ((NewFunction)(uintptr_t)numpy[NUMPY_NEW])(numpy[NUMPY_ARRAY_TYPE], Py_NewRef(dtype), dimensions, shape, NULL, memory, flags, NULL);
}

/* numpy.frombuffer(buffer, dtype). */
static PyObject *array_from(void **numpy, PyObject *buffer, PyObject *dtype, Numbers numbers)
{
    Py_buffer view;
    PyObject *array;
    if (PyObject_GetBuffer(buffer, &view, PyBUF_WRITABLE) < 0) return NULL;
    array = new_array(numpy, dtype, numbers, (size_t)view.len, view.buf);
    PyBuffer_Release(&view); /* it does not move; what follows holds it */
    if (array != NULL && ((SetBaseFunction)(uintptr_t)numpy[NUMPY_SET_BASE])(array, Py_NewRef(buffer)) < 0) Py_CLEAR(array);
    return array;
}

/* The module's numpy, and the type of such numbers; NULL with an exception set. */
static PyObject *type_of(PyObject *module, Numbers numbers)
{
    State *state = PyModule_GetState(module);
    int failed;
#ifdef Py_GIL_DISABLED
    Py_BEGIN_CRITICAL_SECTION(module);
#endif
    failed = state->from_buffer == NULL && load_numpy(state) < 0;
#ifdef Py_GIL_DISABLED
    Py_END_CRITICAL_SECTION();
#endif
    if (failed) return NULL;
    return numbers == IDS ? state->ids : size_of(numbers) == 4 ? state->narrow : state->wide;
}

PyObject *bitlex_py_numpy(PyObject *module, PyObject *buffer, Numbers numbers)
{
    State *state = PyModule_GetState(module);
    PyObject *dtype = type_of(module, numbers), *array, *rows;
    if (dtype == NULL) return NULL;
    if (state->numpy != NULL) return array_from(state->numpy, buffer, dtype, numbers);
    array = PyObject_Vectorcall(state->from_buffer, (PyObject *[]){buffer, dtype}, 2, NULL);
    if (array == NULL || numbers < NARROW_PAIRS) return array;
    rows = PyObject_CallMethod(array, "reshape", "ii", -1, 2);
    Py_DECREF(array);
    return rows;
}

/* Few numbers lie in memory of numpy's own, of which small pieces wait for the next array: no other object is made. */
PyObject *bitlex_py_numpy_copy(PyObject *module, const void *from, size_t size, Numbers numbers)
{
    State *state = PyModule_GetState(module);
    PyObject *dtype = type_of(module, numbers), *array = NULL;
    if (dtype == NULL) return NULL;
    if (state->numpy != NULL && size > 0 && size < NUMPY_KEEPS) { /* of no numbers, numpy would make strides of 0 */
        array = new_array(state->numpy, dtype, numbers, size, NULL);
        if (array != NULL) memcpy(((NumpyArray *)array)->data, from, size);
    } else {
        Offsets *copy = bitlex_py_offsets_new(state->offsets, size);
        if (copy == NULL) return NULL;
        if (size > 0) memcpy(copy->bytes, from, size);
        array = bitlex_py_numpy(module, (PyObject *)copy, numbers);
        Py_DECREF(copy);
    }
    return array;
}

/* The array that holds such offsets. */
static PyObject *array_of(PyObject *module, PyObject *found, Form form)
{
    if (has_pairs(form)) return bitlex_py_numpy(module, found, is_wide(form) ? WIDE_PAIRS : NARROW_PAIRS);
    return bitlex_py_numpy(module, found, is_wide(form) ? WIDE_OFFSETS : NARROW);
}

static PyObject *machine_spans(Machine *self, PyObject *const *arguments, Py_ssize_t count)
{
    Form form;
    PyObject *module = PyType_GetModule(Py_TYPE(self)), *found, *array;
    if (module == NULL || (found = offsets(self, arguments, count, self->machine.drops != 0, 0, &form)) == NULL) return NULL;
    array = array_of(module, found, form);
    Py_DECREF(found);
    return array;
}

static PyObject *batch(Machine *self, PyObject *const *arguments, Py_ssize_t count, Wanted wanted)
{
    Py_ssize_t threads, blocks;
    if (read_arguments(arguments, count, &threads, &blocks) < 0) return NULL;
    return bitlex_py_batch(self, arguments[0], threads, wanted);
}

static PyObject *machine_count_batch(Machine *self, PyObject *const *arguments, Py_ssize_t count)
{
    return batch(self, arguments, count, COUNTS);
}

static PyObject *machine_split_batch(Machine *self, PyObject *const *arguments, Py_ssize_t count)
{
    return batch(self, arguments, count, PIECES);
}

static PyObject *machine_ends_batch(Machine *self, PyObject *const *arguments, Py_ssize_t count)
{
    return refuse_ends(self) ? NULL : batch(self, arguments, count, ENDS);
}

static PyObject *machine_pairs_batch(Machine *self, PyObject *const *arguments, Py_ssize_t count)
{
    return batch(self, arguments, count, PAIRS);
}

static PyObject *machine_iterate(Machine *self, PyObject *text)
{
    return bitlex_py_iterate(state_of(self)->iterator, self, text);
}

static PyObject *machine_tier(Machine *self, void *unused)
{
    (void)unused;
    return PyUnicode_FromString(bitlex_py_tier_name(self));
}

/* --- the type and the module --- */

#define METHOD(name, what) {#name, (PyCFunction)(void (*)(void))machine_##name, METH_FASTCALL, what}

static PyMethodDef machine_methods[] = {
    METHOD(count, "count(text, threads=1) -> the number of pieces"),
    METHOD(split, "split(text, threads=1) -> the pieces, str of str or bytes of bytes"),
    METHOD(ends, "ends(text, threads=1) -> a buffer of the ends of all pieces, int32 below 2**31 units of text, else int64"),
    METHOD(pairs, "pairs(text, threads=1) -> a buffer "
                  "of the start and end of every piece in turn, int32 below 2**31 units of text, else int64"),
    METHOD(spans, "spans(text, threads=1) -> the same as a numpy array: of ends, or of pairs if the machine drops code points"),
    METHOD(count_batch, "count_batch(texts, threads=1) -> the number of pieces of each text"),
    METHOD(split_batch, "split_batch(texts, threads=1) -> the pieces of each text"),
    METHOD(ends_batch, "ends_batch(texts, threads=1) -> (buffer of the ends of all texts, their numbers, whether they are int64)"),
    METHOD(pairs_batch, "pairs_batch(texts, threads=1) -> (buffer of the pairs of all texts, their numbers, whether they are int64)"),
    {"iterate", (PyCFunction)(void (*)(void))machine_iterate, METH_O, "iterate(text) -> iterator of (start, end)"},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef machine_properties[] = {
    {"tier", (getter)(void (*)(void))machine_tier, NULL, "the instructions it runs on: portable, neon, avx2 or avx512", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot machine_slots[] = {
    {Py_tp_new, bitlex_py_machine_new},
    {Py_tp_dealloc, bitlex_py_machine_dealloc},
    {Py_tp_methods, machine_methods},
    {Py_tp_getset, machine_properties},
    {Py_tp_doc, "Machine(shift, stage1, wide, stage2, cells, stages, drops, continuation=b'', tier=None): "
                "a lexer's tables, checked and ready to run"},
    {0, NULL},
};
static PyType_Spec machine_spec = {
    "bitlex._native.Machine", sizeof(Machine), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE, machine_slots};

static int add_type(PyObject *module, PyType_Spec *spec)
{
    PyObject *type = PyType_FromModuleAndSpec(module, spec, NULL);
    const int added = type == NULL ? -1 : PyModule_AddType(module, (PyTypeObject *)type);
    Py_XDECREF(type);
    return added;
}

static PyMethodDef text_functions[] = {
    {"arrow_texts", bitlex_py_arrow_texts, METH_O, "arrow_texts(object) -> the texts of an Arrow array as bytes; None if it exports none of texts"},
    {"first_in_doubt", (PyCFunction)(void (*)(void))bitlex_py_first_in_doubt, METH_FASTCALL,
     "first_in_doubt(list, at) -> of the texts from one on, the first for which in_nfc is not true, or how many there are"},
    {"in_nfc", bitlex_py_is_in_nfc, METH_O, "in_nfc(text) -> whether NFC changes nothing, as far as that is told without normalizing"},
    {"doubtful", bitlex_py_doubtful, METH_O, "doubtful(text) -> [(start, end)] of a str outside of which NFC changes nothing"},
    {NULL, NULL, 0, NULL},
};

static int module_exec(PyObject *module)
{
    State *state = PyModule_GetState(module);
    PyObject *machine = PyType_FromModuleAndSpec(module, &machine_spec, NULL);
    state->machine = (PyTypeObject *)machine;
    if (machine == NULL || PyModule_AddType(module, state->machine) < 0 || bitlex_py_add_encoder(module) < 0) return -1;
    if (add_type(module, &bitlex_py_counter_spec) < 0 || add_type(module, &bitlex_py_merger_spec) < 0) return -1;
    if (add_type(module, &bitlex_py_stream_spec) < 0 || add_type(module, &bitlex_py_token_stream_spec) < 0 ||
        add_type(module, &bitlex_py_decode_stream_spec) < 0)
        return -1;
    if (PyModule_AddFunctions(module, text_functions) < 0) return -1;
    state->iterator = (PyTypeObject *)PyType_FromModuleAndSpec(module, &bitlex_py_iterator_spec, NULL);
    state->offsets = (PyTypeObject *)PyType_FromModuleAndSpec(module, &bitlex_py_offsets_spec, NULL);
    if (state->iterator == NULL || state->offsets == NULL || PyModule_AddIntConstant(module, "ABI", BITLEX_ABI) < 0) return -1;
    return PyModule_AddIntConstant(module, "BLOCK", BITLEX_BLOCK);
}

static int module_traverse(PyObject *module, visitproc visit, void *arg)
{
    State *state = PyModule_GetState(module);
    Py_VISIT(state->iterator);
    Py_VISIT(state->offsets);
    Py_VISIT(state->from_buffer);
    Py_VISIT(state->narrow);
    Py_VISIT(state->wide);
    Py_VISIT(state->ids);
    Py_VISIT(state->machine);
    Py_VISIT(state->encoder);
    Py_VISIT(state->specials);
    Py_VISIT(state->array);
    Py_VISIT(state->direct);
    for (int i = 0; i < DIRECT_OPTIONS; i++) Py_VISIT(state->options[i]);
    return 0;
}

static int module_clear(PyObject *module)
{
    State *state = PyModule_GetState(module);
    Py_CLEAR(state->iterator);
    Py_CLEAR(state->offsets);
    Py_CLEAR(state->from_buffer);
    Py_CLEAR(state->narrow);
    Py_CLEAR(state->wide);
    Py_CLEAR(state->ids);
    Py_CLEAR(state->machine);
    Py_CLEAR(state->encoder);
    Py_CLEAR(state->specials);
    Py_CLEAR(state->array);
    Py_CLEAR(state->direct);
    for (int i = 0; i < DIRECT_OPTIONS; i++) Py_CLEAR(state->options[i]);
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

struct PyModuleDef bitlex_py_module = {
    PyModuleDef_HEAD_INIT, "bitlex._native", "The C loop of bitlex: see runtime/_native.pyi.", sizeof(State), NULL,
    module_slots, module_traverse, module_clear, NULL};

PyMODINIT_FUNC PyInit__native(void) { return PyModuleDef_Init(&bitlex_py_module); }
