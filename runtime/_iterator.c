/* _iterator.c - a text in; out, an iterator of (start, end), found as the iteration goes, in fixed memory.
 *
 * Invariants: the text and the machine are held until the text is used up, an exception comes or the iterator goes. The GIL, or the
 * iterator's own lock where there is no GIL, is kept while offsets are fetched, so that two threads may share an iterator.
 *
 * Rejected: releasing the GIL for large texts as elsewhere (a second thread would get at the cursor, and CHUNK offsets are found
 * before it is missed).
 */
#include "_native.h"

typedef struct {
    PyObject_HEAD
    Machine *machine; /* NULL when the text is used up */
    Reading reading;
    Py_ssize_t count, taken; /* of the pairs at hand */
    uint64_t pairs[2 * CHUNK];
} Iterator;

static void iterator_finish(Iterator *self)
{
    Machine *machine = self->machine;
    if (machine == NULL) return;
    self->machine = NULL; /* before the text goes, whose type may do anything then */
    bitlex_py_reading_end(&self->reading);
    Py_DECREF(machine);
}

static int iterator_traverse(Iterator *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    if (self->machine == NULL) return 0;
    Py_VISIT(self->machine);
    Py_VISIT(self->reading.text.string);
    Py_VISIT(self->reading.text.view.obj);
    return 0;
}

static int iterator_clear(Iterator *self)
{
    iterator_finish(self);
    return 0;
}

static void iterator_dealloc(Iterator *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    iterator_finish(self);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyObject *iterator_take(Iterator *self)
{
    const uint64_t *pair;
    if (self->taken == self->count) {
        if (self->machine == NULL) return NULL;
        self->taken = 0;
        self->count = bitlex_py_fetch(&self->reading, PAIRS64, self->pairs, CHUNK);
        if (self->count <= 0) {
            self->count = 0;
            iterator_finish(self);
            return NULL;
        }
    }
    pair = self->pairs + 2 * self->taken++;
    return Py_BuildValue("KK", (unsigned long long)pair[0], (unsigned long long)pair[1]);
}

static PyObject *iterator_next(Iterator *self)
{
    PyObject *pair;
#ifdef Py_GIL_DISABLED
    Py_BEGIN_CRITICAL_SECTION(self);
#endif
    pair = iterator_take(self);
#ifdef Py_GIL_DISABLED
    Py_END_CRITICAL_SECTION();
#endif
    return pair;
}

PyObject *bitlex_py_iterate(PyTypeObject *type, Machine *machine, PyObject *text)
{
    Iterator *iterator = (Iterator *)type->tp_alloc(type, 0);
    if (iterator == NULL) return NULL;
    if (bitlex_py_reading_begin(&iterator->reading, machine, text) < 0) {
        Py_DECREF(iterator);
        return NULL;
    }
    iterator->reading.large = 0; /* the lock stays with us: a second thread must not get at the cursor */
    Py_INCREF(machine);
    iterator->machine = machine;
    return (PyObject *)iterator;
}

static PyType_Slot iterator_slots[] = {
    {Py_tp_dealloc, iterator_dealloc},
    {Py_tp_traverse, iterator_traverse}, /* a text may be of a type that holds its iterator */
    {Py_tp_clear, iterator_clear},
    {Py_tp_iter, PyObject_SelfIter},
    {Py_tp_iternext, iterator_next},
    {0, NULL},
};
PyType_Spec bitlex_py_iterator_spec = {
    "bitlex._native.Iterator", sizeof(Iterator), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION, iterator_slots};
