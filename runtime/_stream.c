/* _stream.c - a Machine reading a text that comes in parts: str or bytes-like parts in; out, the offsets that are settled, as an object.
 *
 * bitlex_stream.c does the work; here its memory for places grows, up to as many as the caller allows. A part is read some units at a
 * time, so that the memory for their offsets is small. Offsets are native int64, of the whole text: ends, or pairs of a machine that drops.
 *
 * Invariant: a stream has one user at a time: the GIL, or its own lock where there is no GIL, is kept while it reads.
 */
#include "_native.h"
#include "_streams.h"

#define AT_ONCE (4 * BITLEX_BLOCK) /* units */

typedef struct {
    PyObject_HEAD
    Machine *machine;
    bitlex_stream stream;
    Py_ssize_t hold; /* places, at most */
    int encoded;     /* what it was fed: 0 nothing, 1 bytes, 2 str */
} Stream;

/* The table of a machine's streams, made for the first of them; NULL if it can have none, or there is no memory. */
static const bitlex_stream_table *table_of(Machine *machine)
{
    const bitlex_stream_table *made;
#ifdef Py_GIL_DISABLED
    Py_BEGIN_CRITICAL_SECTION(machine);
#endif
    made = machine->stream_table;
    if (made == NULL) {
        void *memory = PyMem_RawMalloc(bitlex_stream_table_size());
        made = memory == NULL ? NULL : bitlex_stream_tabulate(memory, &machine->machine);
        if (made == NULL) PyMem_RawFree(memory);
        else machine->stream_table = memory;
    }
#ifdef Py_GIL_DISABLED
    Py_END_CRITICAL_SECTION();
#endif
    return made;
}

int bitlex_py_begin_stream(bitlex_stream *s, Machine *machine)
{
    uint64_t *more = s->more;
    const bitlex_stream_table *table = s->table;
    if (bitlex_stream_begin(s, &machine->machine, more, more == NULL ? 0 : s->room - BITLEX_STREAM_OPEN) == 0) {
        bitlex_stream_use_table(s, table != NULL ? table : table_of(machine));
        return 0;
    }
    PyErr_SetString(PyExc_ValueError, "a machine of several stages, or of more than 64 backward states, has no native stream");
    return -1;
}

static int begin(Stream *self)
{
    self->encoded = 0;
    return bitlex_py_begin_stream(&self->stream, self->machine);
}

int bitlex_py_more_places(bitlex_stream *s, Py_ssize_t hold)
{
    const size_t has = s->room - BITLEX_STREAM_OPEN, wanted = s->room * (size_t)2 > (size_t)hold ? (size_t)hold : s->room * (size_t)2;
    uint64_t *grown = wanted > has && s->room < (size_t)hold ? PyMem_RawRealloc(s->more, wanted * sizeof *grown) : NULL;
    if (grown != NULL) {
        s->more = grown;
        s->room = BITLEX_STREAM_OPEN + (uint32_t)wanted;
        return 0;
    }
    if (wanted > has && s->room < (size_t)hold) PyErr_NoMemory();
    else bitlex_py_raise_hold(hold, "places");
    return -1;
}

void bitlex_py_raise_hold(Py_ssize_t hold, const char *what)
{
    PyObject *number = PyLong_FromSsize_t(hold), *spelled = number == NULL ? NULL : PyObject_CallMethod(number, "__format__", "s", ",");
    if (spelled != NULL) {
        PyErr_Format(PyExc_ValueError,
                     "the stream would have to hold more than %U %s, which what follows may still change; hold= allows more", spelled, what);
    }
    Py_XDECREF(spelled);
    Py_XDECREF(number);
}

static PyObject *stream_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"machine", "hold", NULL};
    PyObject *machine;
    Py_ssize_t hold;
    Stream *self;
    State *state = PyType_GetModuleState(type);
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!n:Stream", names, state->machine, &machine, &hold)) return NULL;
    if (hold < 0 || (uint64_t)hold > UINT32_MAX / 4) {
        PyErr_SetString(PyExc_ValueError, "hold must be 0 or more, and less than 2**30");
        return NULL;
    }
    self = (Stream *)type->tp_alloc(type, 0);
    if (self == NULL) return NULL;
    Py_INCREF(machine);
    self->machine = (Machine *)machine;
    self->hold = hold;
    if (begin(self) < 0) Py_CLEAR(self);
    return (PyObject *)self;
}

static void stream_dealloc(Stream *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyMem_RawFree(self->stream.more);
    Py_XDECREF(self->machine);
    type->tp_free(self);
    Py_DECREF(type);
}

int bitlex_py_copy_stream(bitlex_stream *to, const bitlex_stream *from)
{
    const size_t more = from->room - BITLEX_STREAM_OPEN;
    *to = *from;
    to->more = NULL;
    to->room = BITLEX_STREAM_OPEN;
    if (more == 0) return 0;
    to->more = PyMem_RawMalloc(more * sizeof *to->more);
    if (to->more == NULL) return -1;
    memcpy(to->more, from->more, more * sizeof *to->more);
    to->room = from->room;
    return 0;
}

static PyObject *stream_copy(Stream *self, PyObject *unused)
{
    Stream *twin = (Stream *)Py_TYPE(self)->tp_alloc(Py_TYPE(self), 0);
    (void)unused;
    if (twin == NULL) return NULL;
    Py_INCREF(self->machine);
    twin->machine = self->machine;
    twin->hold = self->hold;
    twin->encoded = self->encoded;
    if (bitlex_py_copy_stream(&twin->stream, &self->stream) < 0) {
        Py_DECREF(twin);
        return PyErr_NoMemory();
    }
    return (PyObject *)twin;
}

static PyObject *stream_reset(Stream *self, PyObject *unused)
{
    (void)unused;
    if (begin(self) < 0) return NULL;
    Py_RETURN_NONE;
}

/* Feed a part that is held: its offsets, or NULL. */
static Offsets *feed(Stream *self, const Text *t, bitlex_cursor *cursor, PyTypeObject *type)
{
    const bitlex_machine *m = &self->machine->machine;
    const size_t size = m->drops ? 16 : 8, width = t->encoding == BITLEX_UTF8 ? 1 : (size_t)t->encoding;
    uint64_t done = 0, stored = 0, room = self->stream.count + BITLEX_STREAM_ROOM;
    uint32_t turns = 0;
    Offsets *found;
    room += t->length < AT_ONCE ? t->length : t->length / 3 + AT_ONCE;
    found = bitlex_py_offsets_new(type, room * size);
    while (found != NULL && done < t->length) {
        const uint64_t part = t->length - done < AT_ONCE ? t->length - done : AT_ONCE, wanted = part + self->stream.count + BITLEX_STREAM_ROOM;
        size_t used;
        if (room - stored < wanted) {
            room += room / 2 + wanted;
            if (bitlex_py_offsets_resize(&found, room * size) < 0) break;
        }
        stored += bitlex_stream_feed(&self->stream, cursor, m->lanes == NULL ? NULL : scratch_behind(cursor), (const char *)t->data + done * width,
                                     (size_t)part, t->encoding, &used, (uint64_t *)((char *)found->bytes + stored * size), (size_t)(room - stored));
        done += used;
        if (self->stream.full && bitlex_py_more_places(&self->stream, self->hold) < 0) break;
        if (++turns % (SLICE / AT_ONCE) == 0 && PyErr_CheckSignals() < 0) break;
    }
    if (found != NULL && (PyErr_Occurred() || bitlex_py_offsets_resize(&found, stored * size) < 0)) Py_CLEAR(found);
    return found;
}

static PyObject *stream_feed(Stream *self, PyObject *part)
{
    State *state = PyType_GetModuleState(Py_TYPE(self));
    bitlex_cursor *cursor;
    PyObject *found = NULL;
    Text t;
    int encoded;
    if (bitlex_py_text_begin(&t, &self->machine->machine, part) < 0) return NULL;
    encoded = t.string != NULL ? 2 : 1;
    if (self->encoded != 0 && self->encoded != encoded) {
        PyErr_Format(PyExc_TypeError, "this stream was fed %s before, and a text cannot be both", encoded == 1 ? "str" : "bytes");
    } else if ((cursor = bitlex_py_take_cursor(self->machine)) == NULL) {
        PyErr_NoMemory();
    } else {
        self->encoded = encoded;
        found = (PyObject *)feed(self, &t, cursor, state->offsets);
        bitlex_py_give_cursor(self->machine, cursor);
    }
    bitlex_py_text_end(&t);
    return found;
}

static PyObject *stream_finish(Stream *self, PyObject *unused)
{
    State *state = PyType_GetModuleState(Py_TYPE(self));
    const size_t size = self->machine->machine.drops ? 16 : 8;
    Offsets *found = bitlex_py_offsets_new(state->offsets, (self->stream.count + BITLEX_STREAM_ROOM) * size);
    (void)unused;
    if (found == NULL) return NULL;
    if (bitlex_py_offsets_resize(&found, bitlex_stream_finish(&self->stream, found->bytes) * size) < 0) return NULL;
    begin(self);
    return (PyObject *)found;
}

static PyMethodDef stream_methods[] = {
    {"feed", (PyCFunction)(void (*)(void))stream_feed, METH_O, "feed(part) -> a buffer of int64: the offsets that are settled"},
    {"finish", (PyCFunction)(void (*)(void))stream_finish, METH_NOARGS, "finish() -> the rest; the stream is then as new"},
    {"reset", (PyCFunction)(void (*)(void))stream_reset, METH_NOARGS, "reset(): begin another text"},
    {"copy", (PyCFunction)(void (*)(void))stream_copy, METH_NOARGS, "copy() -> another stream, of the same text so far"},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot stream_slots[] = {
    {Py_tp_new, stream_new},
    {Py_tp_dealloc, stream_dealloc},
    {Py_tp_methods, stream_methods},
    {Py_tp_doc, "Stream(machine, hold): reads a text in parts; of at most so many places it is not known whether a piece starts there"},
    {0, NULL},
};
PyType_Spec bitlex_py_stream_spec = {
    "bitlex._native.Stream", sizeof(Stream), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE, stream_slots};
