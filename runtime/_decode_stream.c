/* _decode_stream.c - ids that come in parts in, their text out as soon as each character is complete.
 *
 *     feed([9468]), feed([19044]), finish()       // "", then U+1F642, then "": the first id has three of its four bytes
 *
 * What is held are the bytes of a character that is not complete. How far text is complete, and what becomes of bytes that are no text, is
 * what the decoder of Python says that decodes a part of a text: so all policies are there, and what comes out of all parts is what decoding
 * everything at once gives. One id, which is what a model makes at a time, needs no object but its str.
 *
 * Invariants: a stream has one user at a time, and says so where another is using it: a policy is a function, which may. After an exception
 * of that decoder it must be reset; an id that is none changes nothing.
 */
#include "_streams.h"
#include "_tokens.h"

#define HELD 3 /* bytes of a character, at most */
#define FEW 256 /* bytes that are put behind these on the stack */

typedef struct {
    PyObject_HEAD
    Encoder *encoder;
    PyObject *policy; /* a str, and its UTF-8: */
    const char *errors;
    int skip, broken, used;
    Py_ssize_t held;
    char bytes[HELD];
} DecodeStream;

/* Decode bytes behind those that are held, and hold the rest: NULL with an exception set, after which nothing is given until a reset. */
static PyObject *decode_behind(DecodeStream *self, const char *bytes, Py_ssize_t size)
{
    char few[FEW], *joined = NULL;
    Py_ssize_t used, left;
    PyObject *text;
    if (self->held > 0) {
        const Py_ssize_t all = self->held + size;
        joined = all <= FEW ? few : PyMem_Malloc((size_t)all);
        if (joined == NULL) return PyErr_NoMemory();
        memcpy(joined, self->bytes, (size_t)self->held);
        if (size > 0) memcpy(joined + self->held, bytes, (size_t)size);
        bytes = joined;
        size = all;
    }
    self->broken = 1;
    text = PyUnicode_DecodeUTF8Stateful(bytes, size, self->errors, &used);
    left = size - used;
    if (text != NULL && (left < 0 || left > HELD)) { /* a policy may go back, or on */
        PyErr_SetString(PyExc_ValueError, "the errors policy went to a place from which this text cannot go on");
        Py_CLEAR(text);
    } else if (text != NULL) {
        if (left > 0) memcpy(self->bytes, bytes + used, (size_t)left);
        self->held = left;
        self->broken = 0;
    }
    if (joined != few) PyMem_Free(joined);
    return text;
}

/* The bytes of one id, which lie as long as the encoder does: -1 with an exception set if it is none. */
static int token_of(const DecodeStream *self, PyObject *number, const char **bytes, Py_ssize_t *size)
{
    const uint8_t *found = NULL;
    int overflow;
    const long long id = PyLong_AsLongLongAndOverflow(number, &overflow);
    const size_t length = !overflow && id >= 0 && id < BPE_NONE ? bpe_token(&self->encoder->decoder, (uint32_t)id, self->skip, &found) : SIZE_MAX;
    if (length == SIZE_MAX) {
        PyErr_Format(PyExc_KeyError, "ids[0] is %S, which is no token of this vocabulary", number);
        return -1;
    }
    *bytes = (const char *)found;
    *size = (Py_ssize_t)length;
    return 0;
}

/* What can be a number and has no length is one id. */
static int is_one(PyObject *ids)
{
    const PySequenceMethods *sequence = Py_TYPE(ids)->tp_as_sequence;
    const PyMappingMethods *mapping = Py_TYPE(ids)->tp_as_mapping;
    return PyIndex_Check(ids) && (sequence == NULL || sequence->sq_length == NULL) && (mapping == NULL || mapping->mp_length == NULL);
}

static PyObject *bytes_of(const DecodeStream *self, PyObject *ids)
{
    PyObject *list = is_one(ids) ? PyList_New(1) : Py_NewRef(ids), *bytes = NULL;
    if (list != NULL && list != ids) PyList_SET_ITEM(list, 0, Py_NewRef(ids));
    if (list != NULL) bytes = bitlex_py_decode(self->encoder, (PyObject *[]){list, self->skip ? Py_True : Py_False}, 2);
    Py_XDECREF(list);
    return bytes;
}

static PyObject *feed(DecodeStream *self, PyObject *ids)
{
    PyObject *own = NULL, *text = NULL;
    const char *bytes = "";
    Py_ssize_t size = 0;
    if (PyLong_CheckExact(ids)) {
        if (token_of(self, ids, &bytes, &size) < 0) return NULL;
    } else if ((own = bytes_of(self, ids)) == NULL) {
        return NULL;
    } else {
        bytes = PyBytes_AS_STRING(own);
        size = PyBytes_GET_SIZE(own);
    }
    if (self->broken) bitlex_py_raise_broken();
    else text = decode_behind(self, bytes, size);
    Py_XDECREF(own);
    return text;
}

static PyObject *stream_feed(DecodeStream *self, PyObject *ids)
{
    PyObject *text;
    if (bitlex_py_use_stream(&self->used) < 0) return NULL;
    text = feed(self, ids);
    bitlex_py_leave_stream(&self->used);
    return text;
}

static PyObject *stream_finish(DecodeStream *self, PyObject *unused)
{
    char rest[HELD];
    Py_ssize_t held;
    int broken;
    (void)unused;
    if (bitlex_py_use_stream(&self->used) < 0) return NULL;
    broken = self->broken;
    held = self->held;
    memcpy(rest, self->bytes, HELD);
    if (broken) bitlex_py_raise_broken();
    else self->held = 0;
    bitlex_py_leave_stream(&self->used);
    return broken ? NULL : PyUnicode_DecodeUTF8(rest, held, self->errors);
}

static PyObject *stream_reset(DecodeStream *self, PyObject *unused)
{
    (void)unused;
    if (bitlex_py_use_stream(&self->used) < 0) return NULL;
    self->held = 0;
    self->broken = 0;
    bitlex_py_leave_stream(&self->used);
    Py_RETURN_NONE;
}

/* --- the type ---------------------------------------------------------------------------------------------------------- */

static DecodeStream *new_stream(PyTypeObject *type, PyObject *encoder, PyObject *policy, const char *errors, int skip)
{
    DecodeStream *self = (DecodeStream *)type->tp_alloc(type, 0);
    if (self == NULL) return NULL;
    self->encoder = (Encoder *)Py_NewRef(encoder);
    self->policy = Py_NewRef(policy);
    self->errors = errors;
    self->skip = skip;
    return self;
}

static PyObject *stream_copy(DecodeStream *self, PyObject *unused)
{
    DecodeStream *twin;
    (void)unused;
    if (bitlex_py_use_stream(&self->used) < 0) return NULL;
    twin = new_stream(Py_TYPE(self), (PyObject *)self->encoder, self->policy, self->errors, self->skip);
    if (twin != NULL) {
        twin->broken = self->broken;
        twin->held = self->held;
        memcpy(twin->bytes, self->bytes, HELD);
    }
    bitlex_py_leave_stream(&self->used);
    return (PyObject *)twin;
}

static PyObject *stream_new(PyTypeObject *type, PyObject *arguments, PyObject *named)
{
    static char *names[] = {"encoder", "errors", "skip", NULL};
    const State *state = PyType_GetModuleState(type);
    PyObject *encoder, *policy;
    const char *errors;
    int skip;
    if (!PyArg_ParseTupleAndKeywords(arguments, named, "O!Up:DecodeStream", names, state->encoder, &encoder, &policy, &skip)) return NULL;
    if ((errors = PyUnicode_AsUTF8(policy)) == NULL) return NULL;
    return (PyObject *)new_stream(type, encoder, policy, errors, skip);
}

static void stream_dealloc(DecodeStream *self)
{
    PyTypeObject *type = Py_TYPE(self);
    Py_XDECREF(self->encoder);
    Py_XDECREF(self->policy);
    type->tp_free((PyObject *)self);
    Py_DECREF(type);
}

static PyMethodDef stream_methods[] = {
    {"feed", (PyCFunction)(void (*)(void))stream_feed, METH_O, "feed(ids) -> the text of one id, or of several, up to the last complete character"},
    {"finish", (PyCFunction)(void (*)(void))stream_finish, METH_NOARGS, "finish() -> what becomes of the rest; the stream is then as new"},
    {"reset", (PyCFunction)(void (*)(void))stream_reset, METH_NOARGS, "reset(): begin another text"},
    {"copy", (PyCFunction)(void (*)(void))stream_copy, METH_NOARGS, "copy() -> another stream, of the same ids so far"},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot stream_slots[] = {
    {Py_tp_new, stream_new},
    {Py_tp_dealloc, stream_dealloc},
    {Py_tp_methods, stream_methods},
    {Py_tp_doc, "DecodeStream(encoder, errors, skip): decodes ids that come in parts. `skip`: without special tokens"},
    {0, NULL},
};
PyType_Spec bitlex_py_decode_stream_spec = {
    "bitlex._native.DecodeStream", sizeof(DecodeStream), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE, stream_slots};
