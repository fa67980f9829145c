/* _calling.c - a method of a Python class in, one that calls the C of an Encoder out, where a call has a text, an array if it needs one, and
 * what most calls say of special tokens.
 *
 *     class Tokenizer:
 *         __slots__ = ("_direct",)       # a Direct for each object, or None
 *         @DirectMethod
 *         def encode(self, text, *, allowed_special=None, disallowed_special=None, threads=1): ...
 *
 * To read what a short text is called with, and what is not given, takes a Python function a sixth of the time that its ids take; to find out
 * what its special tokens mean, three times as long as these. So which of them are allowed or not is looked up here in the dict in which the
 * function writes it down when it is first asked. Any call that has more than that, and any of an object that has no Direct in its slot, goes
 * to the function, which also has the name, the documentation and the signature. Invariant: what comes out is what the function gives.
 * Rejected: an attribute of each object that hides the method of its class (help and subclasses would not see it); methods in C alone (what
 * special tokens mean is told in Python).
 */
#include "_calling.h"

/* A call, as far as it is read. */
typedef struct {
    PyObject *special[2]; /* what it says of special tokens that are allowed, and of others; NULL: nothing */
    int around;
    int shares; /* it may be shared among threads */
} Said;

#define SHORT_TEXT 4096 /* characters or bytes: too few to be shared, whatever a call says */
#define LONG_BUFFER (32 << 20) /* bytes, LONG of windows.py */

static int is_short(PyObject *text)
{
    if (PyUnicode_Check(text)) return PyUnicode_GET_LENGTH(text) <= SHORT_TEXT;
    return PyBytes_Check(text) && PyBytes_GET_SIZE(text) <= SHORT_TEXT;
}

/* A text that others may write to, and that is too long to be copied, is counted in windows. */
static int is_in_windows(const DirectMethod *self, PyObject *text)
{
    Py_ssize_t length;
    if (self->called != bitlex_py_count_ids || PyUnicode_Check(text) || PyBytes_Check(text)) return 0;
    if ((length = PyObject_Length(text)) < 0) PyErr_Clear();
    return length >= LONG_BUFFER;
}

/* What calls of an object go to, a new reference; NULL, without an exception, if there is nothing. */
static Direct *direct_of(const DirectMethod *self, PyObject *object, PyObject *text)
{
    const State *state = PyType_GetModuleState(Py_TYPE(self));
    PyObject *found;
    if (self->owner == NULL || !PyObject_TypeCheck(object, (PyTypeObject *)self->owner)) return NULL;
    found = *(PyObject **)(void *)((char *)object + self->offset);
    if (found == NULL || !Py_IS_TYPE(found, state->direct)) return NULL;
    if (((Direct *)found)->nfc && !bitlex_py_in_nfc(text)) return NULL;
    /* numpy's function asks whether the str is UTF-8, which ASCII is */
    if (((Direct *)found)->strict && (!PyUnicode_Check(text) || (self->called == bitlex_py_encode_numpy && !PyUnicode_IS_ASCII(text)))) return NULL;
    if (is_in_windows(self, text)) return NULL;
    return (Direct *)Py_NewRef(found);
}

/* Whether all that is given by name is known, and is what most calls give. Names in the code of a call are the very objects that are asked
 * for here; others go to the function. */
static int read_names(const DirectMethod *self, PyObject *const *values, PyObject *names, Said *said)
{
    const State *state = PyType_GetModuleState(Py_TYPE(self));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); i++) {
        long threads;
        int which = 0;
        while (which < DIRECT_OPTIONS && PyTuple_GET_ITEM(names, i) != state->options[which]) which++;
        if (which == DIRECT_OPTIONS || !(self->takes >> which & 1)) return 0;
        if (which < 2) said->special[which] = values[i];
        else if (which == 2 && !PyBool_Check(values[i])) return 0;
        else if (which == 2) said->around = values[i] == Py_True;
        else if (!PyLong_CheckExact(values[i]) || (threads = PyLong_AsLong(values[i])) < 0) return PyErr_Clear(), 0;
        else said->shares = threads != 1;
    }
    return 1;
}

/* What tells a choice of special tokens from another, as as_key of calling.py does, a new reference; NULL: the function knows. */
static PyObject *key_of(PyObject *special)
{
    if (special == Py_None || PyUnicode_CheckExact(special) || PyTuple_CheckExact(special) || PyFrozenSet_CheckExact(special))
        return Py_NewRef(special);
    return PyAnySet_CheckExact(special) ? PyFrozenSet_New(special) : NULL;
}

/* (Specials or None, Specials or None) of what a call says, a new reference; NULL, without an exception: the function knows. */
static PyObject *policy_of(const Direct *direct, const Said *said)
{
    PyObject *allowed = key_of(said->special[0] == NULL ? direct->allowed_special : said->special[0]);
    PyObject *disallowed = key_of(said->special[1] == NULL ? direct->disallowed_special : said->special[1]);
    PyObject *key = allowed != NULL && disallowed != NULL ? PyTuple_Pack(2, allowed, disallowed) : NULL;
    PyObject *found = NULL;
#if PY_VERSION_HEX >= 0x030D0000
    if (key != NULL && PyDict_GetItemRef(direct->policies, key, &found) < 0) found = NULL; /* another thread may put it there anew */
#else
    if (key != NULL) found = Py_XNewRef(PyDict_GetItemWithError(direct->policies, key));
#endif
    Py_XDECREF(key);
    Py_XDECREF(allowed);
    Py_XDECREF(disallowed);
    if (found == NULL) PyErr_Clear(); /* the function meets it again */
    else if (!PyTuple_CheckExact(found) || PyTuple_GET_SIZE(found) != 2) Py_CLEAR(found);
    return found;
}

/* The text with a space in front, as with_space of added_search.py does, a new reference; NULL, without an exception: the function knows. */
static PyObject *with_space(const DirectMethod *self, PyObject *text)
{
    PyObject *space, *joined;
    if (PyUnicode_Check(text) ? PyUnicode_GET_LENGTH(text) == 0 : !PyBytes_CheckExact(text) || PyBytes_GET_SIZE(text) == 0) return NULL;
    if (PyUnicode_Check(text) ? PyUnicode_READ_CHAR(text, 0) == ' ' : *PyBytes_AS_STRING(text) == ' ') return Py_NewRef(text);
    if (self->called == bitlex_py_encode_with_offsets) return NULL; /* which are of the text */
    if (PyUnicode_Check(text)) {
        space = PyUnicode_FromOrdinal(' ');
        joined = space == NULL ? NULL : PyUnicode_Concat(space, text);
        Py_XDECREF(space);
    } else {
        joined = PyBytes_FromStringAndSize(NULL, PyBytes_GET_SIZE(text) + 1);
        if (joined != NULL) {
            *PyBytes_AS_STRING(joined) = ' ';
            memcpy(PyBytes_AS_STRING(joined) + 1, PyBytes_AS_STRING(text), (size_t)PyBytes_GET_SIZE(text));
        }
    }
    if (joined == NULL) PyErr_Clear(); /* the function meets it again */
    return joined;
}

/* A list with ids before and behind it. */
static PyObject *with_ids_around(const Direct *direct, PyObject *list)
{
    const Py_ssize_t length = PyList_GET_SIZE(list);
    if ((PyTuple_GET_SIZE(direct->behind) > 0 && PyList_SetSlice(list, length, length, direct->behind) < 0) ||
        (PyTuple_GET_SIZE(direct->before) > 0 && PyList_SetSlice(list, 0, 0, direct->before) < 0))
        Py_CLEAR(list);
    return list;
}

/* Whether a text whose bytes are at hand has one of these tokens: 0 or 1; -1 if that is not known. */
static int has_token(PyObject *text, PyObject *tokens)
{
    const specials *wanted = &((Specials *)tokens)->tokens;
    special_match found;
    if (PyUnicode_Check(text) && PyUnicode_IS_ASCII(text))
        return specials_find(wanted, PyUnicode_DATA(text), (uint64_t)PyUnicode_GET_LENGTH(text), 0, &found);
    if (PyBytes_Check(text)) return specials_find(wanted, (const uint8_t *)PyBytes_AS_STRING(text), (uint64_t)PyBytes_GET_SIZE(text), 0, &found);
    return -1;
}

/* What the C gives; NULL, without an exception, where the function is to be called. */
static PyObject *call_directly(const DirectMethod *self, const Direct *direct, PyObject *const *arguments, const Said *said)
{
    PyObject *all[4] = {arguments[1], arguments[self->given], Py_None, Py_None}, *policy = NULL, *spaced = NULL, *found;
    if (self->ordinary) {
        all[1] = Py_None;
    } else if (said->special[0] == NULL && said->special[1] == NULL) {
        all[self->given] = direct->allowed;
        all[self->given + 1] = direct->disallowed;
    } else if ((policy = policy_of(direct, said)) != NULL) {
        all[self->given] = PyTuple_GET_ITEM(policy, 0);
        all[self->given + 1] = PyTuple_GET_ITEM(policy, 1);
    } else {
        return NULL;
    }
    if (direct->again && Py_IS_TYPE(all[self->given + 1], ((State *)PyType_GetModuleState(Py_TYPE(self)))->specials)) {
        const int has = has_token(arguments[1], all[self->given + 1]); /* an exception takes longer than a short text */
        if (has >= 0) all[self->given + 1] = Py_None;
        if (has > 0) {
            Py_XDECREF(policy);
            return NULL;
        }
    }
    if (direct->prefix) all[0] = spaced = with_space(self, arguments[1]);
    found = all[0] == NULL ? NULL : self->called(direct->encoder, all, self->given + 2);
    Py_XDECREF(spaced);
    Py_XDECREF(policy);
    if (found != NULL && said->around) found = with_ids_around(direct, found);
    if (found == NULL && direct->again && PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_ValueError)) PyErr_Clear();
    return found;
}

PyObject *bitlex_py_call_method(PyObject *callable, PyObject *const *arguments, size_t flags, PyObject *names)
{
    const DirectMethod *self = (const DirectMethod *)(void *)callable;
    const Py_ssize_t count = PyVectorcall_NARGS(flags);
    Said said = {{NULL, NULL}, 0, 0};
    if (count == 1 + self->given && (names == NULL || read_names(self, arguments + count, names, &said)) &&
        (!said.shares || is_short(arguments[1]))) {
        Direct *direct = direct_of(self, arguments[0], arguments[1]);
        PyObject *found = direct != NULL ? call_directly(self, direct, arguments, &said) : NULL;
        Py_XDECREF(direct);
        if (found != NULL || PyErr_Occurred()) return found;
    }
    return PyObject_Vectorcall(self->function, arguments, flags, names);
}
