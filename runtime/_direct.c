/* _direct.c - the types of what _calling.c does: a Direct, what calls of one object go to, and a DirectMethod, which a class has in place of a
 * function of the same name, with its name, documentation and signature.
 *
 * Invariant: a DirectMethod takes by name what its function does, which it finds out when it is made.
 */
#include "_calling.h"

#include <structmember.h>

static const struct {
    const char *name;
    Called called;
    Py_ssize_t given;
    int ordinary;
} METHODS[] = {
    {"encode", bitlex_py_encode_list, 1, 0},
    {"encode_ordinary", bitlex_py_encode_list, 1, 1},
    {"encode_to_numpy", bitlex_py_encode_numpy, 1, 0},
    {"encode_into", bitlex_py_encode_into, 2, 0},
    {"encode_with_offsets", bitlex_py_encode_with_offsets, 1, 0},
    {"count", bitlex_py_count_ids, 1, 0},
};

static const char *const OPTIONS[] = {"allowed_special", "disallowed_special", "add_special_tokens", "threads"};

/* --- Direct ------------------------------------------------------------------------------------------------------------ */

static PyObject *direct_new(PyTypeObject *type, PyObject *arguments, PyObject *named)
{
    static char *names[] = {"encoder", "allowed", "disallowed", "policies", "unsaid", "around", "nfc", "strict", "again", "prefix", NULL};
    State *state = PyType_GetModuleState(type);
    PyObject *encoder, *allowed, *disallowed, *policies, *said[2] = {Py_None, Py_None}, *around[2] = {NULL, NULL};
    int nfc = 0, strict = 0, again = 0, prefix = 0;
    Direct *self;
    if (!PyArg_ParseTupleAndKeywords(arguments, named, "O!OOO!|(OO)(O!O!)pppp:Direct", names, state->encoder, &encoder, &allowed, &disallowed,
                                     &PyDict_Type, &policies, said, said + 1, &PyTuple_Type, around, &PyTuple_Type, around + 1, &nfc, &strict,
                                     &again, &prefix))
        return NULL;
    if ((self = (Direct *)type->tp_alloc(type, 0)) == NULL) return NULL;
    self->encoder = (Encoder *)Py_NewRef(encoder);
    self->allowed = Py_NewRef(allowed);
    self->disallowed = Py_NewRef(disallowed);
    self->policies = Py_NewRef(policies);
    self->allowed_special = Py_NewRef(said[0]);
    self->disallowed_special = Py_NewRef(said[1]);
    self->before = around[0] == NULL ? PyTuple_New(0) : Py_NewRef(around[0]);
    self->behind = around[1] == NULL ? PyTuple_New(0) : Py_NewRef(around[1]);
    self->nfc = nfc;
    self->strict = strict;
    self->again = again;
    self->prefix = prefix;
    if (self->before == NULL || self->behind == NULL) Py_CLEAR(self);
    return (PyObject *)self;
}

static void direct_dealloc(Direct *self)
{
    PyTypeObject *type = Py_TYPE(self);
    Py_XDECREF(self->encoder);
    Py_XDECREF(self->allowed);
    Py_XDECREF(self->disallowed);
    Py_XDECREF(self->policies);
    Py_XDECREF(self->allowed_special);
    Py_XDECREF(self->disallowed_special);
    Py_XDECREF(self->before);
    Py_XDECREF(self->behind);
    type->tp_free((PyObject *)self);
    Py_DECREF(type);
}

static PyType_Slot direct_slots[] = {
    {Py_tp_new, direct_new},
    {Py_tp_dealloc, direct_dealloc},
    {Py_tp_doc, "Direct(encoder, allowed, disallowed, policies, unsaid=(None, None), around=((), ()), nfc=False, strict=False, again=False, "
                "prefix=False): what calls of "
                "DirectMethods of an object go to"},
    {0, NULL},
};
static PyType_Spec direct_spec = {
    "bitlex._native.Direct", sizeof(Direct), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE, direct_slots};

/* --- DirectMethod ------------------------------------------------------------------------------------------------------ */

/* Bits of those options that a function takes by name; -1 with an exception set. */
static int options_in(PyObject *defaults)
{
    int takes = 0;
    for (int which = 0; which < DIRECT_OPTIONS && PyDict_Check(defaults); which++) {
        PyObject *name = PyUnicode_FromString(OPTIONS[which]);
        const int is_there = name != NULL ? PyDict_Contains(defaults, name) : -1;
        Py_XDECREF(name);
        if (is_there < 0) return -1;
        takes |= is_there << which;
    }
    return takes;
}

static PyObject *method_new(PyTypeObject *type, PyObject *arguments, PyObject *named)
{
    static char *names[] = {"function", NULL};
    PyObject *function, *name, *defaults;
    DirectMethod *self;
    size_t which = sizeof METHODS / sizeof *METHODS;
    int takes;
    if (!PyArg_ParseTupleAndKeywords(arguments, named, "O:DirectMethod", names, &function)) return NULL;
    if ((name = PyObject_GetAttrString(function, "__name__")) == NULL) return NULL;
    for (size_t i = 0; i < sizeof METHODS / sizeof *METHODS && PyUnicode_Check(name); i++) {
        if (PyUnicode_CompareWithASCIIString(name, METHODS[i].name) == 0) which = i;
    }
    Py_DECREF(name);
    if (which == sizeof METHODS / sizeof *METHODS) {
        PyErr_SetString(PyExc_ValueError, "expected a method that is called as one of an Encoder");
        return NULL;
    }
    if ((defaults = PyObject_GetAttrString(function, "__kwdefaults__")) == NULL) return NULL;
    takes = options_in(defaults);
    Py_DECREF(defaults);
    if (takes < 0) return NULL;
    self = (DirectMethod *)type->tp_alloc(type, 0);
    if (self == NULL) return NULL;
    self->vectorcall = bitlex_py_call_method;
    self->function = Py_NewRef(function);
    self->called = METHODS[which].called;
    self->given = METHODS[which].given;
    self->ordinary = METHODS[which].ordinary;
    self->takes = takes;
    return (PyObject *)self;
}

/* The class is made: its slot is where its member says. */
static PyObject *method_set_name(DirectMethod *self, PyObject *const *arguments, Py_ssize_t count)
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

static PyObject *method_get(PyObject *self, PyObject *object, PyObject *type)
{
    (void)type;
    return object == NULL || object == Py_None ? Py_NewRef(self) : PyMethod_New(self, object);
}

static PyObject *of_function(DirectMethod *self, void *name) { return PyObject_GetAttrString(self->function, name); }

/* Pickled by its name, as a function is. */
static PyObject *method_reduce(DirectMethod *self, PyObject *unused)
{
    (void)unused;
    return of_function(self, "__qualname__");
}

static int method_traverse(DirectMethod *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(self->function);
    Py_VISIT(self->owner);
    return 0;
}

static int method_clear(DirectMethod *self)
{
    Py_CLEAR(self->owner); /* the function stays: what it is in a cycle with is cleared there */
    return 0;
}

static void method_dealloc(DirectMethod *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    Py_XDECREF(self->owner);
    Py_XDECREF(self->function);
    type->tp_free((PyObject *)self);
    Py_DECREF(type);
}

#define OF_FUNCTION(name) {name, (getter)of_function, NULL, NULL, name}

static PyGetSetDef method_attributes[] = {
    OF_FUNCTION("__name__"), OF_FUNCTION("__qualname__"), OF_FUNCTION("__module__"), OF_FUNCTION("__doc__"), {NULL, NULL, NULL, NULL, NULL}};
static PyMemberDef method_members[] = {
    {"__wrapped__", T_OBJECT_EX, offsetof(DirectMethod, function), READONLY, NULL},
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(DirectMethod, vectorcall), READONLY, NULL},
    {NULL, 0, 0, 0, NULL}};
static PyMethodDef method_methods[] = {
    {"__set_name__", (PyCFunction)(void (*)(void))method_set_name, METH_FASTCALL, "__set_name__(class, name): called when the class is made"},
    {"__reduce__", (PyCFunction)(void (*)(void))method_reduce, METH_NOARGS, "__reduce__(): its name"},
    {NULL, NULL, 0, NULL}};
static PyType_Slot method_slots[] = {
    {Py_tp_new, method_new},
    {Py_tp_dealloc, method_dealloc},
    {Py_tp_traverse, method_traverse},
    {Py_tp_clear, method_clear},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_descr_get, method_get},
    {Py_tp_getset, method_attributes},
    {Py_tp_members, method_members},
    {Py_tp_methods, method_methods},
    {0, NULL},
};
static PyType_Spec method_spec = {
    "bitlex._native.DirectMethod", sizeof(DirectMethod), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR, method_slots};

int bitlex_py_add_direct(PyObject *module)
{
    State *state = PyModule_GetState(module);
    PyObject *method;
    int failed;
    for (int which = 0; which < DIRECT_OPTIONS; which++) {
        if ((state->options[which] = PyUnicode_InternFromString(OPTIONS[which])) == NULL) return -1;
    }
    state->direct = (PyTypeObject *)PyType_FromModuleAndSpec(module, &direct_spec, NULL);
    if (state->direct == NULL || PyModule_AddType(module, state->direct) < 0) return -1;
    if ((method = PyType_FromModuleAndSpec(module, &method_spec, NULL)) == NULL) return -1;
    failed = PyModule_AddType(module, (PyTypeObject *)method);
    Py_DECREF(method);
    return failed;
}
