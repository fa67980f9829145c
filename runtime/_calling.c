/* _calling.c - a method of a Python class in, one that calls the C of an Encoder without it out, where a call has a text, and an array if it needs
 * one, and nothing else.
 *
 *     class Tokenizer:
 *         __slots__ = ("_direct",)       # (Encoder, Specials or None, Specials or None) of each object, or None; with a fourth, a text
 *                                        # goes there only if it is in NFC
 *         @DirectMethod
 *         def encode(self, text, *, threads=1): ...
 *
 * Reading what a short text is called with, and what is not given, takes a Python function a sixth of the time that its ids take. Any call that
 * has more than that, and any of an object that has no encoder in its slot, goes to the function, which also has the name, the
 * documentation and the signature. Invariant: what comes out is what the function gives. Rejected: an attribute of each object that hides
 * the method of its class (help and subclasses would not see it); methods in C alone (what special tokens mean is told in Python).
 */
#include "_tokens.h"

#include <structmember.h>

typedef PyObject *(*Called)(Encoder *self, PyObject *const *arguments, Py_ssize_t count);

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *function;
    PyObject *owner;   /* the class; NULL until it is told */
    Py_ssize_t offset; /* of the slot in its objects */
    Called called;
    Py_ssize_t given; /* how many arguments it needs, the object not counted: 1 or 2 */
} DirectMethod;

static const struct {
    const char *name;
    Called called;
    Py_ssize_t given;
} METHODS[] = {
    {"encode", bitlex_py_encode_list, 1},
    {"encode_to_numpy", bitlex_py_encode_numpy, 1},
    {"encode_into", bitlex_py_encode_into, 2},
    {"count", bitlex_py_count_ids, 1},
};

/* What a call of an object goes to, a new reference; NULL, without an exception, if it has nothing. */
static PyObject *direct_of(const DirectMethod *self, PyObject *object, PyObject *text)
{
    PyObject *direct;
    if (self->owner == NULL || !PyObject_TypeCheck(object, (PyTypeObject *)self->owner)) return NULL;
    direct = *(PyObject **)(void *)((char *)object + self->offset);
    if (direct == NULL || !PyTuple_CheckExact(direct) || PyTuple_GET_SIZE(direct) < 3) return NULL;
    if (!Py_IS_TYPE(PyTuple_GET_ITEM(direct, 0), ((State *)PyType_GetModuleState(Py_TYPE(self)))->encoder)) return NULL;
    if (PyTuple_GET_SIZE(direct) > 3 && !bitlex_py_in_nfc(text)) return NULL;
    return Py_NewRef(direct);
}

static PyObject *call(PyObject *callable, PyObject *const *arguments, size_t flags, PyObject *names)
{
    const DirectMethod *self = (const DirectMethod *)(void *)callable;
    if (PyVectorcall_NARGS(flags) == 1 + self->given && (names == NULL || PyTuple_GET_SIZE(names) == 0)) {
        PyObject *direct = direct_of(self, arguments[0], arguments[1]), *found;
        if (direct != NULL) {
            PyObject *all[4] = {arguments[1], arguments[self->given]};
            all[self->given] = PyTuple_GET_ITEM(direct, 1);
            all[self->given + 1] = PyTuple_GET_ITEM(direct, 2);
            found = self->called((Encoder *)PyTuple_GET_ITEM(direct, 0), all, self->given + 2);
            Py_DECREF(direct);
            return found;
        }
    }
    return PyObject_Vectorcall(self->function, arguments, flags, names);
}

static PyObject *direct_new(PyTypeObject *type, PyObject *arguments, PyObject *named)
{
    static char *names[] = {"function", NULL};
    PyObject *function, *name;
    DirectMethod *self;
    Called called = NULL;
    Py_ssize_t given = 0;
    if (!PyArg_ParseTupleAndKeywords(arguments, named, "O:DirectMethod", names, &function)) return NULL;
    if ((name = PyObject_GetAttrString(function, "__name__")) == NULL) return NULL;
    for (size_t i = 0; i < sizeof METHODS / sizeof *METHODS; i++) {
        if (!PyUnicode_Check(name) || PyUnicode_CompareWithASCIIString(name, METHODS[i].name) != 0) continue;
        called = METHODS[i].called;
        given = METHODS[i].given;
    }
    Py_DECREF(name);
    if (called == NULL) {
        PyErr_SetString(PyExc_ValueError, "expected a method that is called as one of an Encoder");
        return NULL;
    }
    self = (DirectMethod *)type->tp_alloc(type, 0);
    if (self == NULL) return NULL;
    self->vectorcall = call;
    self->function = Py_NewRef(function);
    self->called = called;
    self->given = given;
    return (PyObject *)self;
}

/* The class is made: its slot is where its member says. */
static PyObject *direct_set_name(DirectMethod *self, PyObject *const *arguments, Py_ssize_t count)
{
    PyObject *slot;
    if (count != 2 || !PyType_Check(arguments[0])) {
        PyErr_SetString(PyExc_TypeError, "expected (class, name)");
        return NULL;
    }
    if ((slot = PyObject_GetAttrString(arguments[0], "_direct")) == NULL) return NULL;
    if (!Py_IS_TYPE(slot, &PyMemberDescr_Type) || PyDescr_TYPE(slot) != (PyTypeObject *)arguments[0]) {
        PyErr_SetString(PyExc_TypeError, "the class has no slot _direct of its own");
        Py_DECREF(slot);
        return NULL;
    }
    self->offset = ((PyMemberDescrObject *)slot)->d_member->offset;
    Py_XSETREF(self->owner, Py_NewRef(arguments[0]));
    Py_DECREF(slot);
    Py_RETURN_NONE;
}

static PyObject *direct_get(PyObject *self, PyObject *object, PyObject *type)
{
    (void)type;
    return object == NULL || object == Py_None ? Py_NewRef(self) : PyMethod_New(self, object);
}

static PyObject *of_function(DirectMethod *self, void *name) { return PyObject_GetAttrString(self->function, name); }

/* Pickled by its name, as a function is. */
static PyObject *direct_reduce(DirectMethod *self, PyObject *unused)
{
    (void)unused;
    return of_function(self, "__qualname__");
}

static int direct_traverse(DirectMethod *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(self->function);
    Py_VISIT(self->owner);
    return 0;
}

static int direct_clear(DirectMethod *self)
{
    Py_CLEAR(self->owner); /* the function stays: what it is in a cycle with is cleared there */
    return 0;
}

static void direct_dealloc(DirectMethod *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    Py_XDECREF(self->owner);
    Py_XDECREF(self->function);
    type->tp_free((PyObject *)self);
    Py_DECREF(type);
}

#define OF_FUNCTION(name) {name, (getter)of_function, NULL, NULL, name}

static PyGetSetDef direct_attributes[] = {
    OF_FUNCTION("__name__"), OF_FUNCTION("__qualname__"), OF_FUNCTION("__module__"), OF_FUNCTION("__doc__"), {NULL, NULL, NULL, NULL, NULL}};
static PyMemberDef direct_members[] = {
    {"__wrapped__", T_OBJECT_EX, offsetof(DirectMethod, function), READONLY, NULL},
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(DirectMethod, vectorcall), READONLY, NULL},
    {NULL, 0, 0, 0, NULL}};
static PyMethodDef direct_methods[] = {
    {"__set_name__", (PyCFunction)(void (*)(void))direct_set_name, METH_FASTCALL, "__set_name__(class, name): called when the class is made"},
    {"__reduce__", (PyCFunction)(void (*)(void))direct_reduce, METH_NOARGS, "__reduce__(): its name"},
    {NULL, NULL, 0, NULL}};
static PyType_Slot direct_slots[] = {
    {Py_tp_new, direct_new},
    {Py_tp_dealloc, direct_dealloc},
    {Py_tp_traverse, direct_traverse},
    {Py_tp_clear, direct_clear},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_descr_get, direct_get},
    {Py_tp_getset, direct_attributes},
    {Py_tp_members, direct_members},
    {Py_tp_methods, direct_methods},
    {0, NULL},
};
PyType_Spec bitlex_py_direct_spec = {
    "bitlex._native.DirectMethod", sizeof(DirectMethod), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR, direct_slots};
