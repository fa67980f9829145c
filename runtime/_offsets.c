/* _offsets.c - memory for offsets: a number of bytes in; out, an object that is a buffer of as many, to be written to.
 *
 * It is what an array of numpy is made of without anything in between, because the object never moves once others may see it, and
 * so need not be told when a buffer of it is no longer used. Of few offsets, header and bytes are one allocation. Many lie in memory that is
 * kept for the next ones (_large.c): to have its pages made anew takes as long as finding the offsets. Of those between, the memory of the
 * last object waits for the next one: parts of 4 KB have a quarter of their time left for all that is not reading.
 *
 * Invariant: resized only by whoever has made it, before anybody else has it.
 *
 * Rejected: a bytearray (numpy wraps it in a memoryview with a managed buffer: three more allocations, a sixth of the call for a short
 * text).
 */
#include "_native.h"

#include <stddef.h>

#define SMALL 1024 /* bytes, below which memory is had as fast from Python */

#if defined(__GNUC__) && !defined(Py_GIL_DISABLED)
static Offsets *spare;

static Offsets *exchange_spare(Offsets *offsets) { return __atomic_exchange_n(&spare, offsets, __ATOMIC_ACQ_REL); }
#else
static Offsets *exchange_spare(Offsets *offsets) { return offsets; }
#endif

/* Room in the object for so many bytes: what the last one that was let go had, if at least half of it is used. */
static Offsets *new_object(PyTypeObject *type, size_t size)
{
    Offsets *made = size >= SMALL ? exchange_spare(NULL) : NULL;
    if (made != NULL && (size > made->own_room || size < made->own_room / 2)) {
        PyObject_Free(made);
        made = NULL;
    }
    if (made != NULL) return (Offsets *)PyObject_InitVar((PyVarObject *)made, type, (Py_ssize_t)size);
    if (size >= SMALL) size += size / 8; /* for the next, which may be somewhat larger */
    made = PyObject_NewVar(Offsets, type, (Py_ssize_t)size);
    if (made != NULL) made->own_room = size;
    return made;
}

static void free_object(Offsets *offsets)
{
    if (offsets->own_room >= SMALL) offsets = exchange_spare(offsets);
    if (offsets != NULL) PyObject_Free(offsets);
}

Offsets *bitlex_py_offsets_new(PyTypeObject *type, uint64_t size)
{
    const int large = size >= LARGE_OFFSETS;
    Offsets *made = size > PY_SSIZE_T_MAX / 2 ? (Offsets *)PyErr_NoMemory() : new_object(type, large ? 0 : (size_t)size);
    if (made == NULL) return NULL;
    made->room = large ? (size_t)size : 0;
    made->bytes = large ? bitlex_py_take(FOR_OFFSETS, (size_t)size) : made->own;
    Py_SET_SIZE(made, made->bytes == NULL ? 0 : (Py_ssize_t)size);
    if (made->bytes == NULL) {
        Py_CLEAR(made);
        PyErr_NoMemory();
    }
    return made;
}

static void let_go(const Offsets *self)
{
    if (self->room > 0) bitlex_py_let_go(FOR_OFFSETS, self->bytes, self->room, (size_t)Py_SIZE(self));
}

/* Move them into the object. */
static int put_into_object(Offsets **offsets, size_t size)
{
    const size_t stay = size < (size_t)Py_SIZE(*offsets) ? size : (size_t)Py_SIZE(*offsets);
    Offsets *resized = PyObject_Realloc(*offsets, offsetof(Offsets, own) + size);
    if (resized == NULL) return -1;
    if (resized->room > 0) {
        memcpy(resized->own, resized->bytes, stay);
        let_go(resized);
    }
    resized->room = 0;
    resized->own_room = size;
    resized->bytes = resized->own;
    *offsets = resized;
    return 0;
}

static int put_into_large(Offsets *offsets, size_t size)
{
    const size_t before = (size_t)Py_SIZE(offsets);
    void *bytes = offsets->room > 0 ? bitlex_py_regrow(FOR_OFFSETS, offsets->bytes, offsets->room, before, size) : bitlex_py_take(FOR_OFFSETS, size);
    if (bytes == NULL) return -1;
    if (offsets->room == 0) memcpy(bytes, offsets->own, before);
    offsets->bytes = bytes;
    offsets->room = size;
    return 0;
}

/* Large memory is kept for less, as long as a fourth of it is used: no page of it need be made anew. */
int bitlex_py_offsets_resize(Offsets **offsets, uint64_t size)
{
    const size_t room = (*offsets)->room;
    const int stays = room > 0 && size <= room && size >= room / 4;
    int failed = size > PY_SSIZE_T_MAX / 2;
    if (!failed && !stays) failed = (size < LARGE_OFFSETS ? put_into_object(offsets, (size_t)size) : put_into_large(*offsets, (size_t)size)) < 0;
    if (failed) {
        PyErr_NoMemory();
        return -1;
    }
    Py_SET_SIZE(*offsets, (Py_ssize_t)size);
    return 0;
}

static void offsets_dealloc(Offsets *self)
{
    PyTypeObject *type = Py_TYPE(self);
    let_go(self);
    free_object(self);
    Py_DECREF(type);
}

static int offsets_get_buffer(Offsets *self, Py_buffer *view, int flags)
{
    return PyBuffer_FillInfo(view, (PyObject *)self, self->bytes, Py_SIZE(self), 0, flags);
}

static Py_ssize_t offsets_length(Offsets *self) { return Py_SIZE(self); }

static PyType_Slot offsets_slots[] = {
    {Py_tp_dealloc, offsets_dealloc},
    {Py_bf_getbuffer, offsets_get_buffer},
    {Py_sq_length, offsets_length},
    {0, NULL},
};
PyType_Spec bitlex_py_offsets_spec = {
    "bitlex._native.Offsets", offsetof(Offsets, own), 1,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION, offsets_slots};
