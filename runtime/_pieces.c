/* _pieces.c - a text and its offsets in; out, the list of its pieces: str of a str, bytes of anything else.
 *
 * Pieces are made when all offsets are known, so that a list has its size from the start. Most pieces of a text were there
 * before: a table remembers those of up to 16 bytes, and the list has the same object again (half the time, and a fraction of the
 * memory, of another copy). A place of the table holds the piece that came last; an earlier one is made again.
 *
 * Invariants: what the table has is in the list, which keeps it alive. The list is not to be found by the garbage collector, which other
 * code may walk, before it is full. Offsets come from a text that another thread may have changed since, so they may go
 * backward, but never past its end.
 *
 * Rejected: a table kept between calls (it would keep pieces of texts alive that are long gone, and need a lock); interning (one
 * dictionary for all strings of the process, and for no bytes).
 */
#include "_native.h"

#define REMEMBERED 14 /* the table of pieces has at most 2^REMEMBERED places */

/* One piece as an object: of the str type's narrowest width, or bytes. */
static inline PyObject *piece(const Text *t, int ascii, Py_ssize_t start, Py_ssize_t length)
{
    const char *data = t->data;
    if (t->encoding == BITLEX_UTF8) return PyBytes_FromStringAndSize(data + start, length);
    if (ascii && length > 1) {
        PyObject *made = PyUnicode_New(length, 127); /* no need to look for wider characters */
        if (made != NULL) memcpy(PyUnicode_DATA(made), data + start, (size_t)length);
        return made;
    }
    return PyUnicode_FromKindAndData((int)t->encoding, data + start * (Py_ssize_t)t->encoding, length);
}

/* A piece of up to 16 bytes and its object, which the list keeps alive. */
typedef struct {
    uint64_t low, high; /* the bytes, zeros behind them */
    size_t size;
    PyObject *object;
} Remembered;

/* The first `size` of 16 bytes; `left` is how many bytes the text has there. */
static inline void load_key(const char *data, uint64_t left, size_t size, uint64_t *low, uint64_t *high)
{
    static const unsigned char keep[32] = {255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255};
    uint64_t mask[2], key[2] = {0, 0};
    memcpy(mask, keep + 16 - size, 16);
    if (left >= 16) {
        memcpy(key, data, 16);
    } else {
        memcpy(key, data, size);
    }
    *low = key[0] & mask[0];
    *high = key[1] & mask[1];
}

static inline uint64_t number_at(const void *numbers, Py_ssize_t i, int wide)
{
    return wide ? ((const uint64_t *)numbers)[i] : ((const uint32_t *)numbers)[i];
}

/* Put n pieces in a list. `wide` and `pairs` are constants where this is called. */
static inline int fill_list(PyObject *list, const Text *t, const void *offsets, Py_ssize_t n, int wide, int pairs, Remembered *table,
                            int bits)
{
    const int ascii = t->encoding == BITLEX_LATIN1 && PyUnicode_IS_ASCII(t->string);
    const size_t width = t->encoding == BITLEX_UTF8 ? 1 : (size_t)t->encoding;
    uint64_t start = 0, end = 0, low = 0, high = 0;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *made;
        Remembered *place = NULL;
        size_t size;
        start = pairs ? number_at(offsets, 2 * i, wide) : end;
        end = number_at(offsets, pairs ? 2 * i + 1 : i, wide);
        if (end < start) end = start; /* another thread writes to the text */
        size = (size_t)(end - start) * width;
        if (table != NULL && size <= 16) {
            load_key((const char *)t->data + start * width, (t->length - start) * width, size, &low, &high);
            place = table + ((low + high * UINT64_C(0x9E3779B97F4A7C15)) * UINT64_C(0xD6E8FEB86659FD93) >> (64 - bits));
            if (place->low == low && place->high == high && place->size == size && place->object != NULL) {
                Py_INCREF(place->object);
                PyList_SET_ITEM(list, i, place->object);
                continue;
            }
        }
        made = piece(t, ascii, (Py_ssize_t)start, (Py_ssize_t)(end - start));
        if (made == NULL) return -1;
        PyList_SET_ITEM(list, i, made);
        if (place != NULL) *place = (Remembered){low, high, size, made};
        if (i % (1 << 18) == (1 << 18) - 1 && PyErr_CheckSignals() < 0) return -1;
    }
    return 0;
}

PyObject *bitlex_py_list_of_pieces(const Text *t, Form form, const void *offsets, Py_ssize_t n)
{
    PyObject *list = PyList_New(n);
    Remembered *table = NULL;
    int bits = 6, failed = 0;
    if (list == NULL) return NULL;
    PyObject_GC_UnTrack(list); /* nobody is to find it before it is full */
    while (bits < REMEMBERED && n >> bits > 8) bits++;
    if (n >= 256) table = PyMem_Calloc((size_t)1 << bits, sizeof *table); /* or, without, the same by more objects */
    switch (form) {
    case ENDS32: failed = fill_list(list, t, offsets, n, 0, 0, table, bits); break;
    case ENDS64: failed = fill_list(list, t, offsets, n, 1, 0, table, bits); break;
    case PAIRS32: failed = fill_list(list, t, offsets, n, 0, 1, table, bits); break;
    default: failed = fill_list(list, t, offsets, n, 1, 1, table, bits); break;
    }
    PyMem_Free(table);
    if (failed) {
        Py_DECREF(list);
        return NULL;
    }
    PyObject_GC_Track(list);
    return list;
}
