/* _ids.c - token ids as Python has them: lists of int, and arrays.
 *
 * An int is an object, and making one takes longer than finding its token; so an Encoder keeps those that it has handed out once. An
 * array takes the memory in which the ids were found as it is: it exports a buffer, which numpy wraps without a copy.
 */
#include "_tokens.h"

int bitlex_py_reserve(Ids *ids, size_t more)
{
    size_t room;
    uint32_t *grown;
    if (more <= ids->room - ids->used) return 0;
    if (more > SIZE_MAX / 8 - ids->used) return -1;
    room = ids->used + more;
    if (room < ids->room + ids->room / 2) room = ids->room + ids->room / 2;
    grown = PyMem_RawRealloc(ids->data, room * sizeof *grown);
    if (grown == NULL) return -1;
    ids->data = grown;
    bitlex_py_ask_for_large_pages(grown, room * sizeof *grown);
    if (ids->placed) {
        uint64_t *places = PyMem_RawRealloc(ids->places, room * 2 * sizeof *places);
        if (places == NULL) return -1;
        ids->places = places;
    }
    ids->room = room;
    return 0;
}

void bitlex_py_free_ids(Ids *ids)
{
    PyMem_RawFree(ids->data);
    PyMem_RawFree(ids->places);
    ids->data = NULL;
    ids->places = NULL;
}

static PyObject *number(Encoder *self, uint32_t id)
{
#ifndef Py_GIL_DISABLED
    if (id < self->vocabulary.token_count) {
        PyObject *known = self->numbers[id];
        if (known == NULL) known = self->numbers[id] = PyLong_FromUnsignedLong(id);
        Py_XINCREF(known);
        return known;
    }
#else
    (void)self;
#endif
    return PyLong_FromUnsignedLong(id);
}

PyObject *bitlex_py_ids_as_list(Encoder *self, const uint32_t *ids, size_t count)
{
    PyObject *list = PyList_New((Py_ssize_t)count);
    for (size_t i = 0; list != NULL && i < count; i++) {
        PyObject *made = number(self, ids[i]);
        if (made == NULL) {
            Py_CLEAR(list);
        } else {
            PyList_SET_ITEM(list, (Py_ssize_t)i, made);
        }
    }
    return list;
}

/* --- arrays --- */

typedef struct {
    PyObject_HEAD
    void *data;
    Py_ssize_t size;
} Array;

PyObject *bitlex_py_ids_as_array(PyTypeObject *type, Ids *ids)
{
    Array *made = PyObject_New(Array, type);
    if (made == NULL) return NULL;
    if (ids->room > ids->used + ids->used / 8 + 64) {
        uint32_t *fitted = PyMem_RawRealloc(ids->data, (ids->used + 1) * sizeof *fitted);
        if (fitted != NULL) ids->data = fitted;
    }
    made->data = ids->data;
    made->size = (Py_ssize_t)ids->used * 4;
    ids->data = NULL;
    return (PyObject *)made;
}

PyObject *bitlex_py_places_as_array(PyTypeObject *type, Ids *ids)
{
    Array *made = PyObject_New(Array, type);
    if (made == NULL) return NULL;
    made->data = ids->places;
    made->size = (Py_ssize_t)ids->used * 16;
    ids->places = NULL;
    return (PyObject *)made;
}

static void array_dealloc(Array *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyMem_RawFree(self->data);
    PyObject_Free(self);
    Py_DECREF(type);
}

static int array_get_buffer(Array *self, Py_buffer *view, int flags)
{
    static uint64_t nothing;
    return PyBuffer_FillInfo(view, (PyObject *)self, self->size ? self->data : &nothing, self->size, 0, flags);
}

static PyType_Slot array_slots[] = {
    {Py_tp_dealloc, array_dealloc},
    {Py_bf_getbuffer, array_get_buffer},
    {Py_tp_doc, "Numbers, as a buffer."},
    {0, NULL},
};
PyType_Spec bitlex_py_array_spec = {
    "bitlex._native.Array", sizeof(Array), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION, array_slots};

/* --- reading ids --- */

static int read_sequence(Ids *ids, PyObject *source)
{
    PyObject *fast = PySequence_Fast(source, "expected a sequence of ints or an array of integers");
    Py_ssize_t i;
    int failed;
    if (fast == NULL) return -1;
    failed = bitlex_py_reserve(ids, (size_t)PySequence_Fast_GET_SIZE(fast) + 1) < 0;
    if (failed) PyErr_NoMemory();
    for (i = 0; !failed && i < PySequence_Fast_GET_SIZE(fast); i++) { /* what an item does when it is asked may change the list */
        PyObject *item = Py_NewRef(PySequence_Fast_GET_ITEM(fast, i));
        int overflow = 0;
        const long long value = PyLong_Check(item) ? PyLong_AsLongLongAndOverflow(item, &overflow) : PyNumber_AsSsize_t(item, NULL);
        Py_DECREF(item);
        if (value == -1 && PyErr_Occurred()) {
            failed = 1;
        } else if (bitlex_py_reserve(ids, 1) < 0) {
            PyErr_NoMemory();
            failed = 1;
        } else {
            ids->data[ids->used++] = overflow || value < 0 || value >= BPE_NONE ? BPE_NONE : (uint32_t)value;
        }
    }
    Py_DECREF(fast);
    return failed ? -1 : 0;
}

/* Numbers of 1, 2, 4 or 8 bytes, so many bytes from one to the next; what is no id becomes BPE_NONE. */
static void widen(uint32_t *out, const char *data, size_t count, Py_ssize_t stride, size_t size, int is_signed)
{
    for (size_t i = 0; i < count; i++, data += stride) {
        uint8_t one = 0;
        uint16_t two = 0;
        uint32_t four = 0;
        uint64_t value = 0;
        if (size == 1) memcpy(&one, data, 1), value = one;
        if (size == 2) memcpy(&two, data, 2), value = two;
        if (size == 4) memcpy(&four, data, 4), value = four;
        if (size == 8) memcpy(&value, data, 8);
        if (is_signed && value >> (8 * size - 1)) value = BPE_NONE;
        out[i] = value >= BPE_NONE ? BPE_NONE : (uint32_t)value;
    }
}

static int read_buffer(Ids *ids, const Py_buffer *view, PyObject *source)
{
    const char *format = view->format ? view->format : "B", native = PY_LITTLE_ENDIAN ? '<' : '>';
    const size_t size = (size_t)view->itemsize;
    const int is_other = *format != native && (*format == '<' || *format == '>' || *format == '!');
    if (*format != 0 && strchr("@=<>!", *format) != NULL) format++;
    if (*format == 0 || strchr("bBhHiIlLqQnN", *format) == NULL || format[1] != 0 || (size != 1 && size != 2 && size != 4 && size != 8)) {
        PyErr_Format(PyExc_TypeError, "expected an array of integers, got one of format '%.20s'", view->format);
        return -1;
    }
    if (view->ndim != 1) {
        PyErr_Format(PyExc_TypeError, "expected token ids in one row, got an array of %d dimensions", view->ndim);
        return -1;
    }
    if (is_other) return read_sequence(ids, source); /* the other order of bytes */
    if (bitlex_py_reserve(ids, (size_t)view->shape[0] + 1) < 0) {
        PyErr_NoMemory();
        return -1;
    }
    widen(ids->data, view->buf, (size_t)view->shape[0], view->strides[0], size, *format >= 'a');
    ids->used = (size_t)view->shape[0];
    return 0;
}

int bitlex_py_read_ids(Ids *ids, PyObject *source)
{
    int failed;
    if (PyObject_CheckBuffer(source) && !PyBytes_Check(source) && !PyByteArray_Check(source)) {
        Py_buffer view;
        if (PyObject_GetBuffer(source, &view, PyBUF_STRIDES | PyBUF_FORMAT) < 0) return -1;
        failed = read_buffer(ids, &view, source);
        PyBuffer_Release(&view);
        return failed;
    }
    if (PyUnicode_Check(source) || PyBytes_Check(source) || PyByteArray_Check(source)) {
        PyErr_Format(PyExc_TypeError, "expected token ids, got %.200s", Py_TYPE(source)->tp_name);
        return -1;
    }
    return read_sequence(ids, source);
}
