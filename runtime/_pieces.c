/* _pieces.c - a text and its offsets in; out, the list of its pieces: str of a str, bytes of anything else.
 *
 * Pieces are made when all offsets are known, so that a list has its size from the start. Most pieces of a text were there
 * before: a table remembers those of up to 16 bytes, and the list has the same object again (half the time, and a fraction of the
 * memory, of another copy). A place of the table holds the piece that came last; an earlier one is made again.
 *
 * Of a stream, the table is kept from part to part, since there is nothing in it that a part of a few kilobytes could gain from; it is
 * there only once the stream gave KEPT_FROM pieces, and keeps 1,024 short pieces alive, and of a long text 8,192. In Chinese and Japanese it
 * has less than a third of the pieces, in other texts 45 to 98 of a hundred; to let go of those that others replace costs more than that
 * gains, so it is given up for some time where it has few: parts of 4 KB take 22 to 25 % less in Japanese by that, of 64 bytes 9 to 11 % (the
 * least of many runs, before and after, on a Sapphire Rapids).
 *
 * Invariants: what the table has is in the list, which keeps it alive, or is the table's own where that is kept. The list is not to be found
 * by the garbage collector, which other code may walk, before it is full. Offsets come from a text that another thread may have changed
 * since, so they may go backward, but never past its end.
 *
 * Rejected: a table kept between calls for whole texts (it would keep pieces of texts alive that are long gone, and need a lock); interning (one
 * dictionary for all strings of the process, and for no bytes).
 */
#include "_native.h"

#define REMEMBERED 14 /* the table of pieces has at most 2^REMEMBERED places */
#define KEPT 10       /* and one that is kept so many, once there were KEPT_FROM pieces */
#define KEPT_FROM 256
#define MORE 13       /* or so many, once there were MORE_FROM */
#define MORE_FROM 8192
#define LOOKED 2048 /* pieces, after which it is asked whether it had three of eight, */
#define REST 65536  /* and so many for which there is none if not */

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
struct Remembered {
    uint64_t low, high; /* the bytes, zeros behind them */
    size_t size;        /* and of what they are, which is not the same in all parts of a text */
    PyObject *object;
};

/* Where pieces are remembered: 2^bits places, or none. */
typedef struct {
    Remembered *places;
    int bits, own; /* own: the table has references of its own */
    size_t *made;  /* NULL, or counts pieces that it has not */
} Memory;

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

/* Put n pieces in a list, from place `at` on; of ends, the first piece starts where the text does. `wide` and `pairs` are constants where
 * this is called. */
static inline int fill_list(PyObject *list, Py_ssize_t at, const Text *t, const void *offsets, Py_ssize_t n, int wide, int pairs, Memory m)
{
    const int ascii = t->encoding == BITLEX_LATIN1 && t->string != NULL && PyUnicode_IS_ASCII(t->string);
    const size_t width = t->encoding == BITLEX_UTF8 ? 1 : (size_t)t->encoding;
    uint64_t start = 0, end = 0, low = 0, high = 0;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *made;
        Remembered *place = NULL;
        size_t size, name = 0;
        start = pairs ? number_at(offsets, 2 * i, wide) : end;
        end = number_at(offsets, pairs ? 2 * i + 1 : i, wide);
        if (end < start) end = start; /* another thread writes to the text */
        size = (size_t)(end - start) * width;
        if (m.places != NULL && size <= 16) {
            load_key((const char *)t->data + start * width, (t->length - start) * width, size, &low, &high);
            name = size | (size_t)t->encoding << 8;
            place = m.places + ((low + high * UINT64_C(0x9E3779B97F4A7C15)) * UINT64_C(0xD6E8FEB86659FD93) >> (64 - m.bits));
            if (place->low == low && place->high == high && place->size == name && place->object != NULL) {
                Py_INCREF(place->object);
                PyList_SET_ITEM(list, at + i, place->object);
                continue;
            }
        }
        if (m.made != NULL) ++*m.made;
        made = piece(t, ascii, (Py_ssize_t)start, (Py_ssize_t)(end - start));
        if (made == NULL) return -1;
        PyList_SET_ITEM(list, at + i, made);
        if (place != NULL && m.own) Py_XSETREF(place->object, Py_NewRef(made));
        if (place != NULL) *place = (Remembered){low, high, name, made};
        if (i % (1 << 18) == (1 << 18) - 1 && PyErr_CheckSignals() < 0) return -1;
    }
    return 0;
}

PyObject *bitlex_py_list_of_pieces(const Text *t, Form form, const void *offsets, Py_ssize_t n)
{
    PyObject *list = PyList_New(n);
    Memory m = {NULL, 6, 0, NULL};
    int failed = 0;
    if (list == NULL) return NULL;
    PyObject_GC_UnTrack(list); /* nobody is to find it before it is full */
    while (m.bits < REMEMBERED && n >> m.bits > 8) m.bits++;
    if (n >= 256) m.places = PyMem_Calloc((size_t)1 << m.bits, sizeof *m.places); /* or, without, the same by more objects */
    switch (form) {
    case ENDS32: failed = fill_list(list, 0, t, offsets, n, 0, 0, m); break;
    case ENDS64: failed = fill_list(list, 0, t, offsets, n, 1, 0, m); break;
    case PAIRS32: failed = fill_list(list, 0, t, offsets, n, 0, 1, m); break;
    default: failed = fill_list(list, 0, t, offsets, n, 1, 1, m); break;
    }
    PyMem_Free(m.places);
    if (failed) {
        Py_DECREF(list);
        return NULL;
    }
    PyObject_GC_Track(list);
    return list;
}

/* --- pieces of a text that comes in parts --- */

static void forget_known(Held *p)
{
    for (size_t i = 0; p->known != NULL && i < (size_t)1 << p->bits; i++) Py_XDECREF(p->known[i].object);
    PyMem_Free(p->known);
    p->known = NULL;
}

void bitlex_py_forget_held(Held *p)
{
    forget_known(p);
    PyMem_RawFree(p->held);
    memset(p, 0, sizeof *p);
}

/* The table of pieces, before n more are made; a larger one begins empty. */
static Memory known_of(Held *p, size_t n)
{
    const int bits = p->given + n >= MORE_FROM ? MORE : KEPT;
    Memory m = {NULL, 0, 1, NULL};
    p->given += n;
    if (p->looked >= LOOKED) {
        if (8 * p->missed > 5 * p->looked) {
            forget_known(p);
            p->rest = REST;
        }
        p->looked = p->missed = 0;
    }
    if (p->rest > 0) {
        p->rest -= n < p->rest ? n : p->rest;
        return m;
    }
    if (p->given >= KEPT_FROM && (p->known == NULL || p->bits != bits)) {
        forget_known(p);
        p->bits = bits;
        p->known = PyMem_Calloc((size_t)1 << bits, sizeof *p->known);
    }
    if (p->known == NULL) return m;
    p->looked += n;
    m.places = p->known;
    m.bits = p->bits;
    m.made = &p->missed;
    return m;
}

/* Hold the units from..to of a part, too, in the width of the widest part there is: -1 if there is no memory. */
static int hold(Held *p, const Text *t, uint64_t from, uint64_t to)
{
    const size_t wide = t->encoding == BITLEX_UTF8 ? 1 : (size_t)t->encoding, had = p->width;
    const size_t width = p->length > 0 && had > wide ? had : wide, wanted = (p->length + (size_t)(to - from)) * width;
    if (from >= to) return 0;
    if (wanted > p->room) {
        const size_t room = wanted + wanted / 2;
        uint8_t *grown = PyMem_RawRealloc(p->held, room);
        if (grown == NULL) return -1;
        p->held = grown;
        p->room = room;
    }
    for (size_t i = p->length; had != width && i-- > 0;) { /* the last first, as each goes where later ones were */
        const uint32_t unit = had == 1 ? p->held[i] : ((const uint16_t *)(const void *)p->held)[i];
        if (width == 2) ((uint16_t *)(void *)p->held)[i] = (uint16_t)unit;
        else ((uint32_t *)(void *)p->held)[i] = unit;
    }
    if (wide == width) {
        memcpy(p->held + p->length * width, (const char *)t->data + from * wide, (size_t)(to - from) * width);
    } else {
        for (size_t i = 0; i < to - from; i++) {
            const uint32_t unit = wide == 1 ? ((const uint8_t *)t->data)[from + i] : ((const uint16_t *)t->data)[from + i];
            if (width == 2) ((uint16_t *)(void *)p->held)[p->length + i] = (uint16_t)unit;
            else ((uint32_t *)(void *)p->held)[p->length + i] = unit;
        }
    }
    p->width = width;
    p->length += (size_t)(to - from);
    return 0;
}

/* Offsets in the whole text -> in one that begins at `base`. */
static void count_from(uint64_t *offsets, size_t count, uint64_t base)
{
    for (size_t i = 0; i < count; i++) offsets[i] -= base;
}

PyObject *bitlex_py_pieces_of_part(Held *p, const Text *t, uint64_t *offsets, size_t n, int pairs)
{
    const uint64_t begin = p->base + p->length, last = n == 0 ? 0 : offsets[pairs ? 2 * n - 1 : n - 1]; /* begin: where the part does */
    const size_t each = pairs ? 2 : 1;
    PyObject *list = PyList_New((Py_ssize_t)n);
    Memory m;
    size_t joined = 0; /* pieces that start in what is held */
    int failed = 0;
    if (list == NULL) return NULL;
    PyObject_GC_UnTrack(list);
    m = known_of(p, n);
    while (p->length > 0 && joined < n && (pairs ? offsets[2 * joined] : joined == 0 ? p->base : offsets[joined - 1]) < begin) joined++;
    if (joined > 0) {
        const uint64_t end = offsets[each * joined - 1];
        Text both = {0};
        if (end > begin) failed = hold(p, t, 0, end - begin) < 0;
        if (failed) PyErr_NoMemory();
        both.data = p->held;
        both.length = p->length;
        both.encoding = t->encoding == BITLEX_UTF8 ? BITLEX_UTF8 : (bitlex_encoding)p->width;
        count_from(offsets, each * joined, p->base);
        if (!failed) failed = fill_list(list, 0, &both, offsets, (Py_ssize_t)joined, 1, pairs, m) < 0;
    }
    if (joined < n && !failed) {
        /* The first of ends starts where the one before ended: the text is looked at from there on. */
        const uint64_t from = pairs ? begin : joined > 0 ? p->base + offsets[joined - 1] : p->base;
        const size_t width = t->encoding == BITLEX_UTF8 ? 1 : (size_t)t->encoding;
        Text rest = *t;
        rest.data = (const char *)t->data + (from - begin) * width;
        rest.length = t->length - (from - begin);
        count_from(offsets + each * joined, each * (n - joined), from);
        if (pairs) failed = fill_list(list, (Py_ssize_t)joined, &rest, offsets + 2 * joined, (Py_ssize_t)(n - joined), 1, 1, m) < 0;
        else failed = fill_list(list, (Py_ssize_t)joined, &rest, offsets + joined, (Py_ssize_t)(n - joined), 1, 0, m) < 0;
    }
    if (n > 0 && last >= begin) {
        p->length = 0;
        p->base = last;
        if (!failed && hold(p, t, last - begin, t->length) < 0) failed = 1, PyErr_NoMemory();
    } else {
        if (n > 0) {
            p->length -= (size_t)(last - p->base);
            memmove(p->held, p->held + (size_t)(last - p->base) * p->width, p->length * p->width);
            p->base = last;
        }
        if (!failed && hold(p, t, 0, t->length) < 0) failed = 1, PyErr_NoMemory();
    }
    if (failed) {
        Py_DECREF(list);
        return NULL;
    }
    PyObject_GC_Track(list);
    return list;
}

int bitlex_py_copy_held(Held *to, const Held *from)
{
    memset(to, 0, sizeof *to);
    if (from->length > 0) {
        to->held = PyMem_RawMalloc(from->length * from->width);
        if (to->held == NULL) return -1;
        memcpy(to->held, from->held, from->length * from->width);
    }
    to->room = from->length * from->width;
    to->length = from->length;
    to->width = from->width;
    to->base = from->base;
    return 0;
}
