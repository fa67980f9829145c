/* _destination.c - an array of the caller's in; token ids written to it out. And for streams: what it has no room for, which waits.
 *
 * Ids are numbers of 32 bits where they are found. An array of such is lent to who finds them (_encoder.c), others are filled from there.
 * Offsets are stored there by who finds them (_stream.c). Invariant: an array is taken only if every id of the vocabulary, or any offset,
 * fits its numbers, so that writing to it cannot fail.
 */
#include "_streams.h"
#include "_tokens.h"

#define MOST_BITS 32 /* of an id */

static int is_alike(const Py_buffer *view, int is_other, int is_signed, uint32_t highest)
{
    const size_t bits = 8 * (size_t)view->itemsize - (size_t)is_signed;
    if (is_other) {
        PyErr_Format(PyExc_TypeError, "expected an array in the byte order of this machine, got one of format '%.20s'", view->format);
    } else if (view->ndim != 1) {
        PyErr_Format(PyExc_TypeError, "expected room for token ids in one row, got an array of %d dimensions", view->ndim);
    } else if (view->readonly) {
        PyErr_SetString(PyExc_TypeError, "expected an array that may be written to");
    } else if (bits < MOST_BITS && highest >> bits != 0) {
        PyErr_Format(PyExc_ValueError, "ids up to %lu do not fit numbers of %zd bytes, of format '%.20s'", (unsigned long)highest, view->itemsize,
                     view->format ? view->format : "B");
    } else {
        return 1;
    }
    return 0;
}

static int refuse_object(PyObject *given, const char *what)
{
    PyErr_Format(PyExc_TypeError, "expected an array of %s, got %.200s%s", what, Py_TYPE(given)->tp_name,
                 PyObject_HasAttrString(given, "numpy") ? "; its .numpy() may be one" : "");
    return -1;
}

int bitlex_py_destination_begin(Destination *d, PyObject *given, uint32_t highest)
{
    int is_signed, is_other;
    memset(d, 0, sizeof *d);
    if (!PyObject_CheckBuffer(given)) return refuse_object(given, "integers to write token ids to");
    if (bitlex_py_buffer(given, &d->view, PyBUF_STRIDES | PyBUF_FORMAT) < 0) return -1; /* writable or not: who is told why may be helped */
    if (bitlex_py_read_format(&d->view, &is_signed, &is_other) < 0 || !is_alike(&d->view, is_other, is_signed, highest)) {
        bitlex_py_destination_end(d);
        return -1;
    }
    d->given = Py_NewRef(given);
    d->data = d->view.buf;
    d->room = (size_t)d->view.shape[0];
    d->size = (size_t)d->view.itemsize;
    d->stride = bitlex_py_stride(&d->view);
    return 0;
}

void bitlex_py_destination_end(Destination *d)
{
    Py_XDECREF(d->given);
    if (d->view.obj != NULL) PyBuffer_Release(&d->view);
    memset(d, 0, sizeof *d);
}

uint32_t *bitlex_py_destination_words(const Destination *d)
{
    const int are_words = d->size == 4 && d->stride == 4 && (uintptr_t)d->data % 4 == 0;
    return are_words ? (void *)d->data : NULL;
}

/* Numbers of a size that the compiler knows. */
static inline void put(char *to, Py_ssize_t stride, const uint32_t *ids, size_t count, const size_t size)
{
    for (size_t i = 0; i < count; i++, to += stride) {
        const uint8_t one = (uint8_t)ids[i];
        const uint16_t two = (uint16_t)ids[i];
        const uint64_t eight = ids[i];
        if (size == 1) memcpy(to, &one, 1);
        if (size == 2) memcpy(to, &two, 2);
        if (size == 4) memcpy(to, ids + i, 4);
        if (size == 8) memcpy(to, &eight, 8);
    }
}

void bitlex_py_destination_put(const Destination *d, const uint32_t *ids, size_t count)
{
    if (count == 0) return;
    if (d->size == 4 && d->stride == 4) memcpy(d->data, ids, count * 4);
    else if (d->size == 4) put(d->data, d->stride, ids, count, 4);
    else if (d->size == 8 && d->stride == 8) put(d->data, 8, ids, count, 8);
    else if (d->size == 8) put(d->data, d->stride, ids, count, 8);
    else if (d->size == 2 && d->stride == 2) put(d->data, 2, ids, count, 2);
    else if (d->size == 2) put(d->data, d->stride, ids, count, 2);
    else put(d->data, d->stride, ids, count, 1);
}

/* --- of streams --- */

int bitlex_py_hold_offsets(Py_buffer *view, PyObject *given, int pairs)
{
    const char *format;
    int fits;
    if (!PyObject_CheckBuffer(given)) return refuse_object(given, "int64 to write offsets to");
    if (bitlex_py_buffer(given, view, PyBUF_STRIDES | PyBUF_FORMAT) < 0) return -1;
    format = view->format ? view->format : "B";
    if (*format == '@' || *format == '=' || *format == (PY_LITTLE_ENDIAN ? '<' : '>')) format++;
    fits = view->itemsize == 8 && format[0] != 0 && strchr("lqn", format[0]) != NULL && format[1] == 0;
    fits = fits && (uintptr_t)view->buf % 8 == 0 && PyBuffer_IsContiguous(view, 'C');
    if (!fits) {
        PyErr_Format(PyExc_TypeError, "expected an array of int64, side by side, got one of format '%.20s'", view->format ? view->format : "B");
    } else if (view->ndim != 1 + pairs || (pairs && view->shape[1] != 2)) {
        PyErr_SetString(PyExc_TypeError, pairs ? "expected an array of two columns: this lexer drops text, and gives starts and ends"
                                               : "expected an array of one dimension: this lexer gives the end of each piece");
        fits = 0;
    } else if (view->readonly) {
        PyErr_SetString(PyExc_TypeError, "expected an array that may be written to");
        fits = 0;
    }
    if (!fits) PyBuffer_Release(view);
    return fits ? 0 : -1;
}

int bitlex_py_wait(Waiting *w, const void *found, size_t size)
{
    if (size > w->room - w->used) {
        const size_t room = (w->used + size) + (w->used + size) / 2;
        char *grown = PyMem_RawRealloc(w->data, room);
        if (grown == NULL) return -1;
        w->data = grown;
        w->room = room;
    }
    if (size > 0) memcpy(w->data + w->used, found, size);
    w->used += size;
    return 0;
}

size_t bitlex_py_take_waiting(Waiting *w, size_t each, size_t room)
{
    const size_t count = (w->used - w->taken) / each < room ? (w->used - w->taken) / each : room;
    w->taken += count * each;
    return count;
}

int bitlex_py_copy_waiting(Waiting *to, const Waiting *from)
{
    memset(to, 0, sizeof *to);
    return from->used == 0 ? 0 : bitlex_py_wait(to, from->data + from->taken, from->used - from->taken);
}

void bitlex_py_forget_waiting(Waiting *w)
{
    PyMem_RawFree(w->data);
    memset(w, 0, sizeof *w);
}
