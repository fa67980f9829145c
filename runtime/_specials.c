/* _specials.c - special tokens as a Python type: {bytes: id} in, what is found in a text out. */
#include "_tokens.h"

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
        if (PyErr_Occurred() || !PyBytes_Check(bytes) || PyBytes_GET_SIZE(bytes) == 0 || value >= BPE_TOKENS) {
            if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "expected {bytes that are not empty: id below 2**21}");
            Py_CLEAR(self);
        } else if (specials_add(&self->tokens, (const uint8_t *)PyBytes_AS_STRING(bytes), (size_t)PyBytes_GET_SIZE(bytes), (uint32_t)value) < 0) {
            PyErr_NoMemory();
            Py_CLEAR(self);
        }
    }
    if (self != NULL && specials_link(&self->tokens) < 0) {
        PyErr_NoMemory();
        Py_CLEAR(self);
    }
    return (PyObject *)self;
}

static PyObject *specials_find_next(Specials *self, PyObject *const *arguments, Py_ssize_t count)
{
    special_match found;
    Py_ssize_t from;
    int is_there;
    Utf8 u;
    if (count != 2) {
        PyErr_Format(PyExc_TypeError, "expected (text, from), got %zd arguments", count);
        return NULL;
    }
    from = PyNumber_AsSsize_t(arguments[1], PyExc_OverflowError);
    if (PyErr_Occurred() || bitlex_py_utf8_begin(&u, arguments[0]) < 0) return NULL;
    is_there = from >= 0 && (uint64_t)from <= u.length && specials_find(&self->tokens, u.bytes, u.length, (uint64_t)from, &found);
    bitlex_py_utf8_end(&u);
    if (!is_there) Py_RETURN_NONE;
    return Py_BuildValue("KKk", (unsigned long long)found.start, (unsigned long long)found.end, (unsigned long)found.id);
}

/* first_in(list, at): of the texts of a list, from one on, the first that has one of these, or is no text; or how many there are. */
static PyObject *specials_first_in(Specials *self, PyObject *const *arguments, Py_ssize_t count)
{
    Py_ssize_t at = bitlex_py_list_from(arguments, count);
    if (at < 0) return NULL;
    for (; at < PyList_GET_SIZE(arguments[0]); at++) { /* what has a buffer may be of a class that changes the list */
        PyObject *text = Py_NewRef(PyList_GET_ITEM(arguments[0], at));
        special_match found;
        Utf8 u;
        const int failed = bitlex_py_utf8_begin(&u, text) < 0, has = !failed && specials_find(&self->tokens, u.bytes, u.length, 0, &found);
        if (!failed) bitlex_py_utf8_end(&u);
        Py_DECREF(text);
        if (failed && PyErr_ExceptionMatches(PyExc_MemoryError)) return NULL;
        if (failed) PyErr_Clear(); /* whoever reads it says what it is */
        if (failed || has) break;
        if (at % LISTENS == 0 && PyErr_CheckSignals() < 0) return NULL;
    }
    return PyLong_FromSsize_t(at);
}

static PyMethodDef specials_methods[] = {
    {"first_in", (PyCFunction)(void (*)(void))specials_first_in, METH_FASTCALL,
     "first_in(list, at) -> of the texts of a list, from one on, the first that has one of these, or is none; or how many there are"},
    {"find", (PyCFunction)(void (*)(void))specials_find_next, METH_FASTCALL,
     "find(text, from) -> (start, end, id) of the first special token, in bytes of its UTF-8, or None"},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot specials_slots[] = {
    {Py_tp_new, specials_new},
    {Py_tp_dealloc, specials_dealloc},
    {Py_tp_methods, specials_methods},
    {Py_tp_doc, "Specials({bytes: id}): special tokens, to be found in texts; of two that start at a place, the longer"},
    {0, NULL},
};
PyType_Spec bitlex_py_specials_spec = {
    "bitlex._native.Specials", sizeof(Specials), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE, specials_slots};
