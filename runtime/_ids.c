/* _ids.c - memory for token ids, and arrays of them: one takes the memory in which the ids were found as it is, and exports a buffer, which
 * numpy wraps without a copy.
 */
#include "_tokens.h"

int bitlex_py_grow(Ids *ids, size_t more)
{
    size_t room;
    uint32_t *grown;
    if (more > SIZE_MAX / 8 - ids->used) return -1;
    room = ids->used + more;
    if (room < ids->room + ids->room / 2) room = ids->room + ids->room / 2;
    if (ids->placed) { /* before ids->room says so: who finds that there is no memory may ask for less */
        uint64_t *places = PyMem_RawRealloc(ids->places, room * 2 * sizeof *places);
        if (places == NULL) return -1;
        ids->places = places;
    }
    if (ids->numbered) {
        uint64_t *pieces = PyMem_RawRealloc(ids->pieces, room * sizeof *pieces);
        if (pieces == NULL) return -1;
        ids->pieces = pieces;
    }
    if (ids->lent) {
        grown = bitlex_py_take(FOR_IDS, room * sizeof *grown);
        if (grown != NULL) memcpy(grown, ids->data, ids->used * sizeof *grown);
    } else {
        grown = bitlex_py_regrow(FOR_IDS, ids->data, ids->room * sizeof *grown, ids->used * sizeof *grown, room * sizeof *grown);
    }
    if (grown == NULL) return -1;
    ids->lent = 0;
    ids->data = grown;
    ids->room = room;
    return 0;
}

void bitlex_py_free_ids(Ids *ids)
{
    if (!ids->lent) bitlex_py_let_go(FOR_IDS, ids->data, ids->room * sizeof *ids->data, ids->used * sizeof *ids->data);
    PyMem_RawFree(ids->places);
    PyMem_RawFree(ids->pieces);
    ids->data = NULL;
    ids->places = ids->pieces = NULL;
    ids->used = ids->room = 0;
    ids->lent = 0;
}

typedef struct {
    PyObject_HEAD
    void *data;
    Py_ssize_t size;
    size_t room; /* bytes that were asked for */
} Array;

static void array_dealloc(Array *self)
{
    PyTypeObject *type = Py_TYPE(self);
    bitlex_py_let_go(FOR_IDS, self->data, self->room, (size_t)self->size);
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

/* Give back what is too much. Of large memory, that was never written. */
static void fit(Ids *ids)
{
    const int roomy = ids->room > ids->used + ids->used / 8 + 64;
    uint32_t *fitted = roomy && ids->room * 4 < LARGE ? PyMem_RawRealloc(ids->data, (ids->used + 1) * sizeof *fitted) : NULL;
    if (fitted == NULL) return;
    ids->data = fitted;
    ids->room = ids->used + 1;
}

/* A buffer over memory of so much room, which it takes; what was so far in `taken` is then NULL. */
static PyObject *as_buffer(PyObject *owner, void **taken, size_t size, size_t room)
{
    State *state = PyType_GetModuleState(Py_TYPE(owner));
    Array *made = PyObject_New(Array, state->array);
    if (made == NULL) return NULL;
    made->data = *taken;
    made->size = (Py_ssize_t)size;
    made->room = room;
    *taken = NULL;
    return (PyObject *)made;
}

PyObject *bitlex_py_ids_as_buffer(PyObject *owner, Ids *ids)
{
    void *data;
    PyObject *buffer;
    fit(ids);
    data = ids->data;
    buffer = as_buffer(owner, &data, ids->used * sizeof *ids->data, ids->room * sizeof *ids->data);
    if (buffer != NULL) memset(ids, 0, sizeof *ids);
    return buffer;
}

/* The same as an array of numpy. Of few ids, it is a copy. */
static PyObject *as_numpy(PyObject *owner, void **taken, size_t size, size_t room, Numbers numbers)
{
    PyObject *array, *buffer;
    if (size <= FEW_IDS * 4) return bitlex_py_numpy_copy(PyType_GetModule(Py_TYPE(owner)), *taken, size, numbers);
    buffer = as_buffer(owner, taken, size, room);
    if (buffer == NULL) return NULL;
    array = bitlex_py_numpy(PyType_GetModule(Py_TYPE(owner)), buffer, numbers);
    Py_DECREF(buffer);
    return array;
}

PyObject *bitlex_py_ids_as_numpy(PyObject *owner, Ids *ids)
{
    void *data;
    PyObject *array;
    if (ids->used > FEW_IDS) fit(ids);
    data = ids->data;
    array = as_numpy(owner, &data, ids->used * 4, ids->room * 4, IDS);
    ids->data = data;
    if (data == NULL) ids->used = ids->room = 0;
    return array;
}

PyObject *bitlex_py_wide_as_numpy(PyObject *owner, uint64_t **taken, size_t count, Numbers numbers)
{
    void *data = *taken;
    PyObject *array = as_numpy(owner, &data, count * sizeof **taken, 0, numbers);
    *taken = data;
    return array;
}

PyObject *bitlex_py_ids_and_places(PyObject *owner, Ids *ids, Numbers numbers)
{
    PyObject *places = bitlex_py_wide_as_numpy(owner, &ids->places, 2 * ids->used, numbers), *found, *both;
    found = places == NULL ? NULL : bitlex_py_ids_as_numpy(owner, ids);
    both = found == NULL ? NULL : PyTuple_Pack(2, found, places);
    Py_XDECREF(found);
    Py_XDECREF(places);
    return both;
}
