/* _encoder.c - a vocabulary as a Python type: texts in, ids out, and back.
 *
 * In: the tables of a vocabulary, or their image, and a Machine. Out: an Encoder. runtime/tokenizer.py gives it names for arguments,
 * and says what special tokens mean; here they are only found.
 *
 * Invariants: each method ends the work that it began. The GIL is released for texts above RELEASE bytes. A method that encodes takes
 * (text, allowed, disallowed), the last two being Specials or None.
 */
#include "_tokens.h"

typedef struct {
    PyTypeObject *encoder, *specials, *array;
} Types;

static Types types; /* of the interpreter that imported the module first; they are the same for all */

/* --- errors ------------------------------------------------------------------------------------------------------------ */

static void raise_outcome(Encoded outcome, const Utf8 *u, uint64_t at)
{
    switch (outcome) {
    case NO_ROOM: PyErr_NoMemory(); break;
    case NO_BYTE:
        PyErr_Format(PyExc_ValueError, "byte 0x%02x at %llu is no token of this vocabulary", u->bytes[at], (unsigned long long)at);
        break;
    case TOO_LONG: PyErr_SetString(PyExc_OverflowError, "a piece of the text has 4 GiB or more"); break;
    default: break; /* an exception is set */
    }
}

static int look_at_signals(void *context)
{
    PyThreadState **released = context;
    int failed;
    if (*released == NULL) return PyErr_CheckSignals() == 0;
    PyEval_RestoreThread(*released);
    failed = PyErr_CheckSignals() < 0;
    *released = PyEval_SaveThread();
    return !failed;
}

/* A special token that must not be there: -1 with an exception set. */
static int refuse(const Utf8 *u, PyObject *disallowed)
{
    special_match found;
    PyObject *token;
    if (disallowed == Py_None || !specials_find(&((Specials *)disallowed)->tokens, u->bytes, u->length, 0, &found)) return 0;
    token = PyUnicode_DecodeUTF8((const char *)u->bytes + found.start, (Py_ssize_t)(found.end - found.start), "replace");
    if (token != NULL) {
        PyErr_Format(PyExc_ValueError,
                     "the text has the special token %R at byte %llu. To have it encoded as that token, pass allowed_special={%R} or \"all\"; "
                     "as ordinary text, disallowed_special=()",
                     token, (unsigned long long)found.start, token);
        Py_DECREF(token);
    }
    return -1;
}

/* --- texts ------------------------------------------------------------------------------------------------------------- */

static int read_arguments(PyObject *const *arguments, Py_ssize_t count)
{
    if (count != 3) {
        PyErr_Format(PyExc_TypeError, "expected (text, allowed, disallowed), got %zd arguments", count);
        return -1;
    }
    for (Py_ssize_t i = 1; i < 3; i++) {
        if (arguments[i] != Py_None && !Py_IS_TYPE(arguments[i], types.specials)) {
            PyErr_Format(PyExc_TypeError, "expected Specials or None, got %.200s", Py_TYPE(arguments[i])->tp_name);
            return -1;
        }
    }
    return 0;
}

/* All ids of a text: -1 with an exception set. ids->data is to be freed in either case. */
static int encode_text(Encoder *self, PyObject *const *arguments, Py_ssize_t count, Ids *ids)
{
    const specials *allowed;
    PyThreadState *released = NULL;
    Encoded outcome;
    uint64_t at = 0;
    Working *w;
    Utf8 u;
    if (read_arguments(arguments, count) < 0 || bitlex_py_utf8_begin(&u, arguments[0]) < 0) return -1;
    allowed = arguments[1] == Py_None ? NULL : &((Specials *)arguments[1])->tokens;
    if (refuse(&u, arguments[2]) < 0) {
        bitlex_py_utf8_end(&u);
        return -1;
    }
    if ((w = bitlex_py_begin_work(self)) == NULL) {
        bitlex_py_utf8_end(&u);
        PyErr_NoMemory();
        return -1;
    }
    if (bitlex_py_reserve(ids, (size_t)(u.length / 3) + 64) < 0) {
        outcome = NO_ROOM;
    } else {
        if (u.length > RELEASE) released = PyEval_SaveThread();
        outcome = bitlex_py_encode(w, u.bytes, u.length, allowed, ids, &at, u.length > RELEASE ? look_at_signals : NULL, &released);
        if (released != NULL) PyEval_RestoreThread(released);
    }
    bitlex_py_end_work(w, self);
    if (outcome != ENCODED) raise_outcome(outcome, &u, at);
    bitlex_py_utf8_end(&u);
    return outcome == ENCODED ? 0 : -1;
}

static PyObject *encoder_encode(Encoder *self, PyObject *const *arguments, Py_ssize_t count)
{
    Ids ids = {NULL, 0, 0};
    PyObject *list = NULL;
    if (encode_text(self, arguments, count, &ids) == 0) list = bitlex_py_ids_as_list(self, ids.data, ids.used);
    PyMem_RawFree(ids.data);
    return list;
}

static PyObject *encoder_encode_array(Encoder *self, PyObject *const *arguments, Py_ssize_t count)
{
    Ids ids = {NULL, 0, 0};
    PyObject *array = NULL;
    if (encode_text(self, arguments, count, &ids) == 0) array = bitlex_py_ids_as_array(types.array, &ids);
    PyMem_RawFree(ids.data);
    return array;
}

static PyObject *encoder_count(Encoder *self, PyObject *const *arguments, Py_ssize_t count)
{
    Ids ids = {NULL, 0, 0};
    PyObject *number = NULL;
    if (encode_text(self, arguments, count, &ids) == 0) number = PyLong_FromSize_t(ids.used);
    PyMem_RawFree(ids.data);
    return number;
}

/* --- ids --------------------------------------------------------------------------------------------------------------- */

static PyObject *encoder_decode(Encoder *self, PyObject *source)
{
    Ids ids = {NULL, 0, 0};
    PyObject *bytes = NULL;
    uint64_t size;
    size_t at = 0;
    if (bitlex_py_read_ids(&ids, source) < 0) {
        PyMem_RawFree(ids.data);
        return NULL;
    }
    size = bpe_decoded_size(&self->vocabulary, ids.data, ids.used, &at);
    if (size == UINT64_MAX) {
        if (ids.data[at] == BPE_NONE) PyErr_Format(PyExc_KeyError, "ids[%zu] is no token id", at);
        else PyErr_Format(PyExc_KeyError, "ids[%zu] is %u, which is no token of this vocabulary", at, ids.data[at]);
    } else if (size > PY_SSIZE_T_MAX - 64) {
        PyErr_NoMemory();
    } else {
        bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)size + 16); /* the last token is copied whole */
        if (bytes != NULL) {
            bpe_decode(&self->vocabulary, ids.data, ids.used, (uint8_t *)PyBytes_AS_STRING(bytes));
            _PyBytes_Resize(&bytes, (Py_ssize_t)size);
        }
    }
    PyMem_RawFree(ids.data);
    return bytes;
}

static PyObject *encoder_merge(Encoder *self, PyObject *const *arguments, Py_ssize_t count)
{
    Ids ids = {NULL, 0, 0};
    PyObject *list = NULL;
    Utf8 u;
    size_t made;
    long method = count == 2 ? PyLong_AsLong(arguments[1]) : 0;
    if (count != 2) PyErr_SetString(PyExc_TypeError, "expected (piece, method)");
    else if (!PyErr_Occurred() && (method < 0 || method >= BPE_METHODS)) PyErr_SetString(PyExc_ValueError, "no such method");
    if (PyErr_Occurred() || bitlex_py_utf8_begin(&u, arguments[0]) < 0) return NULL;
    if (bitlex_py_reserve(&ids, (size_t)u.length + BPE_PADDING) < 0) {
        PyErr_NoMemory();
    } else {
        made = bpe_merge(&self->vocabulary, (bpe_method)method, u.bytes, (size_t)u.length, ids.data);
        if (made == BPE_NO_MEMORY) PyErr_NoMemory();
        else if (made == BPE_NO_TOKEN) PyErr_SetString(PyExc_ValueError, "a byte of the piece is no token of this vocabulary");
        else list = bitlex_py_ids_as_list(self, ids.data, made);
    }
    PyMem_RawFree(ids.data);
    bitlex_py_utf8_end(&u);
    return list;
}

static PyObject *encoder_image(Encoder *self, PyObject *unused)
{
    (void)unused;
    return PyBytes_FromStringAndSize(self->vocabulary.image, (Py_ssize_t)self->vocabulary.size);
}

/* --- making one -------------------------------------------------------------------------------------------------------- */

static void encoder_dealloc(Encoder *self)
{
    PyTypeObject *type = Py_TYPE(self);
    for (uint32_t i = 0; self->numbers != NULL && i < self->vocabulary.token_count; i++) Py_XDECREF(self->numbers[i]);
    PyMem_Free(self->numbers);
    while (self->idle != NULL) {
        Working *w = self->idle;
        self->idle = w->next;
        bitlex_py_free_work(w);
    }
    if (self->lock != NULL) PyThread_free_lock(self->lock);
    if (self->image.obj == NULL) bpe_close(&self->vocabulary);
    else PyBuffer_Release(&self->image);
    Py_XDECREF(self->machine);
    type->tp_free((PyObject *)self);
    Py_DECREF(type);
}

/* Whether tables given from Python make a vocabulary: an exception is set if not. */
static int check_tables(const Py_buffer *blob, const Py_buffer *starts, const Py_buffer *merges)
{
    const uint32_t *s = starts->buf, *m = merges->obj ? merges->buf : NULL;
    const size_t count = (size_t)starts->len / 4, triples = m ? (size_t)merges->len / 12 : 0;
    size_t i;
    const char *wrong = NULL;
    if (starts->len % 4 != 0 || count == 0 || s[0] != 0 || s[count - 1] != (uint64_t)blob->len) wrong = "starts do not fit the bytes of the tokens";
    else if (count - 1 > BPE_TOKENS) wrong = "more token ids than 2**21";
    else if (m != NULL && merges->len % 12 != 0) wrong = "merges are triples of uint32";
    else if (triples > BPE_RANKS) wrong = "more merges than 2**22";
    for (i = 0; wrong == NULL && i + 1 < count; i++) {
        if (s[i] > s[i + 1]) wrong = "starts must not fall";
    }
    for (i = 0; wrong == NULL && i < 3 * triples; i++) {
        if (m[i] >= count - 1) wrong = "a merge of what is no token";
    }
    if (wrong != NULL) PyErr_SetString(PyExc_ValueError, wrong);
    return wrong != NULL ? -1 : 0;
}

static int build(Encoder *self, PyObject *const *tables, int whole)
{
    Py_buffer views[3];
    int begun, failed = 1;
    memset(views, 0, sizeof views);
    for (begun = 0; begun < 3; begun++) {
        if (begun == 2 && tables[2] == Py_None) break;
        if (PyObject_GetBuffer(tables[begun], views + begun, PyBUF_SIMPLE) < 0) break;
    }
    if (!PyErr_Occurred() && check_tables(views, views + 1, views + 2) == 0) {
        const uint32_t count = (uint32_t)(views[1].len / 4 - 1), ranks = views[2].obj ? (uint32_t)(views[2].len / 12) : 0;
        failed = bpe_build(&self->vocabulary, views[1].buf, views[0].buf, count, views[2].obj ? views[2].buf : NULL, ranks, whole) < 0;
        if (failed) PyErr_NoMemory();
    }
    while (begun-- > 0) PyBuffer_Release(views + begun);
    return failed ? -1 : 0;
}

static int open_image(Encoder *self, PyObject *image)
{
    if (PyObject_GetBuffer(image, &self->image, PyBUF_SIMPLE) < 0) return -1;
    if ((uintptr_t)self->image.buf % 8 == 0 && bpe_open(&self->vocabulary, self->image.buf, (size_t)self->image.len) == 0) return 0;
    PyErr_SetString(PyExc_ValueError, "not the tables of a vocabulary, or cut short, or of another version of bitlex or kind of machine");
    return -1;
}

static PyObject *encoder_new(PyTypeObject *type, PyObject *arguments, PyObject *named)
{
    static char *names[] = {"machine", "blob", "starts", "merges", "whole", "image", NULL};
    PyObject *machine, *tables[3] = {Py_None, Py_None, Py_None}, *image = Py_None;
    int whole = 1, failed;
    Encoder *self;
    if (!PyArg_ParseTupleAndKeywords(arguments, named, "O|OOOpO:Encoder", names, &machine, tables, tables + 1, tables + 2, &whole, &image)) {
        return NULL;
    }
    if (strcmp(Py_TYPE(machine)->tp_name, "bitlex._native.Machine") != 0) {
        PyErr_Format(PyExc_TypeError, "expected a Machine, got %.200s", Py_TYPE(machine)->tp_name);
        return NULL;
    }
    self = (Encoder *)type->tp_alloc(type, 0);
    if (self == NULL) return NULL;
    Py_INCREF(machine);
    self->machine = (Machine *)machine;
    failed = image == Py_None ? build(self, tables, whole) : open_image(self, image);
    if (!failed) {
        self->lock = PyThread_allocate_lock();
        self->numbers = PyMem_Calloc((size_t)self->vocabulary.token_count + 1, sizeof *self->numbers);
        failed = self->lock == NULL || self->numbers == NULL;
        if (failed) PyErr_NoMemory();
    }
    if (failed) Py_CLEAR(self);
    return (PyObject *)self;
}

#define METHOD(name, what) {#name, (PyCFunction)(void (*)(void))encoder_##name, METH_FASTCALL, what}

static PyMethodDef encoder_methods[] = {
    METHOD(encode, "encode(text, allowed, disallowed) -> list of ids"),
    METHOD(encode_array, "encode_array(text, allowed, disallowed) -> buffer of uint32"),
    METHOD(count, "count(text, allowed, disallowed) -> the number of ids"),
    METHOD(merge, "merge(piece, method) -> the ids of one piece by merging, without caches"),
    {"decode", (PyCFunction)(void (*)(void))encoder_decode, METH_O, "decode(ids) -> bytes"},
    {"image", (PyCFunction)(void (*)(void))encoder_image, METH_NOARGS, "image() -> the tables, for the argument of that name"},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot encoder_slots[] = {
    {Py_tp_new, encoder_new},
    {Py_tp_dealloc, encoder_dealloc},
    {Py_tp_methods, encoder_methods},
    {Py_tp_doc, "Encoder(machine, blob, starts, merges=None, whole=True) or Encoder(machine, image=buffer)"},
    {0, NULL},
};
static PyType_Spec encoder_spec = {
    "bitlex._native.Encoder", sizeof(Encoder), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE, encoder_slots};

/* --- special tokens ---------------------------------------------------------------------------------------------------- */

static void specials_dealloc(Specials *self)
{
    PyTypeObject *type = Py_TYPE(self);
    specials_free(&self->tokens);
    type->tp_free((PyObject *)self);
    Py_DECREF(type);
}

static PyObject *specials_new(PyTypeObject *type, PyObject *arguments, PyObject *named)
{
    static char *names[] = {"tokens", NULL};
    PyObject *tokens, *bytes, *id;
    Py_ssize_t at = 0;
    Specials *self;
    if (!PyArg_ParseTupleAndKeywords(arguments, named, "O!:Specials", names, &PyDict_Type, &tokens)) return NULL;
    self = (Specials *)type->tp_alloc(type, 0);
    while (self != NULL && PyDict_Next(tokens, &at, &bytes, &id)) {
        const unsigned long value = PyLong_AsUnsignedLong(id);
        if (PyErr_Occurred() || !PyBytes_Check(bytes) || PyBytes_GET_SIZE(bytes) == 0 || value >= UINT32_MAX) {
            if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "expected {bytes that are not empty: id}");
            Py_CLEAR(self);
        } else if (specials_add(&self->tokens, (const uint8_t *)PyBytes_AS_STRING(bytes), (size_t)PyBytes_GET_SIZE(bytes), (uint32_t)value) < 0) {
            PyErr_NoMemory();
            Py_CLEAR(self);
        }
    }
    return (PyObject *)self;
}

/* find(text, from) -> (start, end, id) in bytes, or None */
static PyObject *specials_find_method(Specials *self, PyObject *const *arguments, Py_ssize_t count)
{
    special_match found;
    int is_there;
    Utf8 u;
    Py_ssize_t from = count == 2 ? PyNumber_AsSsize_t(arguments[1], PyExc_OverflowError) : 0;
    if (count != 2) PyErr_SetString(PyExc_TypeError, "expected (text, from)");
    if (PyErr_Occurred() || bitlex_py_utf8_begin(&u, arguments[0]) < 0) return NULL;
    is_there = from >= 0 && (uint64_t)from <= u.length && specials_find(&self->tokens, u.bytes, u.length, (uint64_t)from, &found);
    bitlex_py_utf8_end(&u);
    if (!is_there) Py_RETURN_NONE;
    return Py_BuildValue("KKk", (unsigned long long)found.start, (unsigned long long)found.end, (unsigned long)found.id);
}

static PyMethodDef specials_methods[] = {
    {"find", (PyCFunction)(void (*)(void))specials_find_method, METH_FASTCALL, "find(text, from) -> (start, end, id) in bytes, or None"},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot specials_slots[] = {
    {Py_tp_new, specials_new},
    {Py_tp_dealloc, specials_dealloc},
    {Py_tp_methods, specials_methods},
    {Py_tp_doc, "Specials({bytes: id}): special tokens, to be found in texts"},
    {0, NULL},
};
static PyType_Spec specials_spec = {
    "bitlex._native.Specials", sizeof(Specials), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE, specials_slots};

int bitlex_py_add_encoder(PyObject *module)
{
    types.encoder = (PyTypeObject *)PyType_FromModuleAndSpec(module, &encoder_spec, NULL);
    types.specials = (PyTypeObject *)PyType_FromModuleAndSpec(module, &specials_spec, NULL);
    types.array = (PyTypeObject *)PyType_FromModuleAndSpec(module, &bitlex_py_array_spec, NULL);
    if (types.encoder == NULL || types.specials == NULL || types.array == NULL) return -1;
    return PyModule_AddType(module, types.encoder) < 0 || PyModule_AddType(module, types.specials) < 0 ? -1 : 0;
}
