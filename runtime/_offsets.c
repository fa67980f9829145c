/* _offsets.c - memory for offsets: a number of bytes in; out, an object that is a buffer of as many, to be written to.
 *
 * It is what an array of numpy is made of without anything in between, because the object never moves once others may see it, and
 * so need not be told when a buffer of it is no longer used. Header and bytes are one allocation.
 *
 * Invariant: resized only by whoever has made it, before anybody else has it.
 *
 * Rejected: a bytearray (numpy wraps it in a memoryview with a managed buffer: three more allocations, a sixth of the call for a short
 * text).
 */
#include "_native.h"

#include <stddef.h>

#ifdef __linux__
#include <sys/mman.h>
#endif

/* New memory is a page fault for every 4 KB that is written; with pages of 2 MB there are few. The page in which the memory begins is
 * included: what the allocator mapped must stay one mapping, or it could not be moved when it grows. */
void bitlex_py_ask_for_large_pages(void *memory, uint64_t size)
{
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    const uintptr_t from = (uintptr_t)memory & ~(uintptr_t)4095, to = (uintptr_t)memory + (size_t)size;
    if (to - from >= (2u << 20)) madvise((void *)from, to - from, MADV_HUGEPAGE); /* if not, then not */
#else
    (void)memory;
    (void)size;
#endif
}

Offsets *bitlex_py_offsets_new(PyTypeObject *type, uint64_t size)
{
    Offsets *made = size > PY_SSIZE_T_MAX / 2 ? (Offsets *)PyErr_NoMemory() : PyObject_NewVar(Offsets, type, (Py_ssize_t)size);
    if (made != NULL) bitlex_py_ask_for_large_pages(made->bytes, size);
    return made;
}

int bitlex_py_offsets_resize(Offsets **offsets, uint64_t size)
{
    Offsets *resized = size > PY_SSIZE_T_MAX / 2 ? NULL : PyObject_Realloc(*offsets, offsetof(Offsets, bytes) + (size_t)size);
    if (resized == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    Py_SET_SIZE(resized, (Py_ssize_t)size);
    *offsets = resized;
    return 0;
}

static void offsets_dealloc(Offsets *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_Free(self);
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
    "bitlex._native.Offsets", offsetof(Offsets, bytes), 1,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION, offsets_slots};
