/* _sources.c - token ids as they are given to be decoded: a list or an array in; out, blocks of uint32.
 *
 * An array is read where it lies, and may be written to meanwhile by another thread; so who reads a block twice may find other ids in it.
 */
#include "_tokens.h"

/* The value of an int of one digit, which all ids are; or -1. */
static inline long long small_value(PyObject *item)
{
#if PY_VERSION_HEX >= 0x030C0000
    return PyUnstable_Long_IsCompact((PyLongObject *)item) ? (long long)PyUnstable_Long_CompactValue((PyLongObject *)item) : -1;
#else
    return Py_SIZE(item) == 1 ? (long long)((PyLongObject *)item)->ob_digit[0] : Py_SIZE(item) == 0 ? 0 : -1;
#endif
}

/* What is no id is BPE_NONE; -1 with an exception set if it is no number at all. */
static int read_number(PyObject *item, size_t at, uint32_t *id)
{
    int overflow = 0;
    long long value;
    if (!PyIndex_Check(item)) {
        PyErr_Format(PyExc_TypeError, "ids[%zu] is %.100R, which is no int", at, item);
        return -1;
    }
    value = PyLong_Check(item) ? PyLong_AsLongLongAndOverflow(item, &overflow) : PyNumber_AsSsize_t(item, NULL);
    if (value == -1 && PyErr_Occurred()) {
        if (PyErr_ExceptionMatches(PyExc_TypeError)) /* an array of several, which has __index__ and is no int */
            PyErr_Format(PyExc_TypeError, "ids[%zu] is %.100R, which is no int", at, item);
        return -1;
    }
    *id = overflow || value < 0 || value >= BPE_NONE ? BPE_NONE : (uint32_t)value;
    return 0;
}

/* An item of what is a list or tuple; NULL with an exception set if the list has become shorter meanwhile. */
static PyObject *item_of(PyObject *fast, size_t i)
{
#ifdef Py_GIL_DISABLED /* another thread may take it out of the list at any time */
    if (PyList_Check(fast)) return PyList_GetItemRef(fast, (Py_ssize_t)i);
#endif
    return Py_NewRef(PySequence_Fast_GET_ITEM(fast, (Py_ssize_t)i));
}

/* Ids from the beginning, up to the first item that is not an int of one digit, or for which there is no room: how many. Nothing is called that
 * could change a list meanwhile; without a GIL, its lock keeps others from that. */
static size_t read_small(uint32_t *to, size_t room, PyObject *fast)
{
    size_t i;
#ifdef Py_GIL_DISABLED
    Py_BEGIN_CRITICAL_SECTION(fast);
#endif
    PyObject *const *items = PySequence_Fast_ITEMS(fast);
    const size_t size = (size_t)PySequence_Fast_GET_SIZE(fast), count = size < room ? size : room;
    for (i = bitlex_py_kept_ids(to, items, count); i < count && PyLong_CheckExact(items[i]); i++) {
        const long long value = small_value(items[i]);
        if (value < 0) break;
        to[i] = (uint32_t)value;
    }
#ifdef Py_GIL_DISABLED
    Py_END_CRITICAL_SECTION();
#endif
    return i;
}

static int read_sequence(Source *s, PyObject *source)
{
    PyObject *fast = PySequence_Fast(source, "expected a sequence of ints or an array of integers");
    Ids ids = {.data = NULL};
    size_t i = 0;
    int failed;
    if (fast == NULL) return -1;
    failed = bitlex_py_reserve(&ids, (size_t)PySequence_Fast_GET_SIZE(fast) + 1) < 0;
    if (failed) PyErr_NoMemory();
    else i = read_small(ids.data, ids.room, fast);
    for (; !failed && i < (size_t)PySequence_Fast_GET_SIZE(fast); i++) { /* what an item does when it is asked may change the list */
        PyObject *item = item_of(fast, i);
        ids.used = i;
        if (item == NULL) {
            PyErr_Clear();
            break;
        }
        failed = bitlex_py_reserve(&ids, 1) < 0;
        if (failed) PyErr_NoMemory();
        else failed = read_number(item, i, ids.data + i) < 0;
        Py_DECREF(item);
    }
    ids.used = i;
    if (failed) {
        Py_DECREF(fast);
        bitlex_py_free_ids(&ids);
        return -1;
    }
    s->given = fast;
    s->own = ids;
    s->data = (const char *)ids.data;
    s->count = i;
    s->size = 4;
    s->stride = 4;
    return 0;
}

int bitlex_py_read_format(const Py_buffer *view, int *is_signed, int *is_other)
{
    const char *format = view->format ? view->format : "B", other = PY_LITTLE_ENDIAN ? '>' : '<';
    const Py_ssize_t size = view->itemsize;
    *is_other = *format == other || (PY_LITTLE_ENDIAN && *format == '!');
    if (*format != 0 && strchr("@=<>!", *format) != NULL) format++;
    *is_signed = *format >= 'a';
    if (*format != 0 && strchr("bBhHiIlLqQnN", *format) != NULL && format[1] == 0 && (size == 1 || size == 2 || size == 4 || size == 8)) return 0;
    PyErr_Format(PyExc_TypeError, "expected an array of integers, got one of format '%.20s'", view->format);
    return -1;
}

Py_ssize_t bitlex_py_stride(const Py_buffer *view) { return view->strides != NULL ? view->strides[0] : view->itemsize; }

static int read_buffer(Source *s, PyObject *source)
{
    const Py_buffer *view = &s->view;
    int is_other;
    if (bitlex_py_read_format(view, &s->is_signed, &is_other) < 0) return -1;
    s->size = (size_t)view->itemsize;
    if (view->ndim != 1) {
        PyErr_Format(PyExc_TypeError, "expected token ids in one row, got an array of %d dimensions", view->ndim);
        return -1;
    }
    if (view->strides == NULL && !PySequence_Check(source)) { /* a date of numpy, which says that it is a row of bytes */
        PyErr_SetString(PyExc_TypeError, "expected a sequence of ints or an array of integers");
        return -1;
    }
    if (is_other) return read_sequence(s, source);
    s->data = view->buf;
    s->count = (size_t)view->shape[0];
    s->stride = bitlex_py_stride(view);
    s->given = Py_NewRef(source);
    return 0;
}

int bitlex_py_source_begin(Source *s, PyObject *ids)
{
    int failed;
    memset(s, 0, sizeof *s);
    if (PyUnicode_Check(ids) || PyBytes_Check(ids) || PyByteArray_Check(ids)) {
        PyErr_Format(PyExc_TypeError, "expected token ids, got %.200s", Py_TYPE(ids)->tp_name);
        return -1;
    }
    if (!PyObject_CheckBuffer(ids)) return read_sequence(s, ids);
    if (bitlex_py_buffer(ids, &s->view, PyBUF_STRIDES | PyBUF_FORMAT) < 0) return -1;
    failed = read_buffer(s, ids);
    if (failed) bitlex_py_source_end(s);
    return failed;
}

void bitlex_py_source_end(Source *s)
{
    bitlex_py_free_ids(&s->own);
    Py_XDECREF(s->given);
    if (s->view.obj != NULL) PyBuffer_Release(&s->view);
    memset(s, 0, sizeof *s);
}

/* Numbers of a size and sign that the compiler knows. */
static inline void widen(uint32_t *out, const char *data, size_t count, Py_ssize_t stride, const size_t size, const int is_signed)
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

const uint32_t *bitlex_py_source_block(const Source *s, size_t at, size_t *count, uint32_t room[SOURCE_BLOCK])
{
    const char *data = s->data + (Py_ssize_t)at * s->stride;
    const size_t n = s->count - at < SOURCE_BLOCK ? s->count - at : SOURCE_BLOCK;
    *count = n;
    if (s->size == 4 && s->stride == 4 && (uintptr_t)data % 4 == 0) return (const void *)data; /* a negative number is no id, either */
    if (s->size == 8 && s->stride == 8) widen(room, data, n, 8, 8, s->is_signed);
    else if (s->size == 8) widen(room, data, n, s->stride, 8, s->is_signed);
    else if (s->size == 4) widen(room, data, n, s->stride, 4, s->is_signed);
    else if (s->size == 2 && s->stride == 2) widen(room, data, n, 2, 2, s->is_signed);
    else if (s->size == 2) widen(room, data, n, s->stride, 2, s->is_signed);
    else widen(room, data, n, s->stride, 1, s->is_signed);
    return room;
}
