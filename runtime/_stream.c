/* _stream.c - a Machine reading a text that comes in parts: str or bytes-like parts in; out, the pieces or offsets that are settled.
 *
 * bitlex_stream.c does the work; here its memory for places grows, up to as many as the caller allows. A part is read some units at a
 * time, so that the memory for their offsets is small. Offsets are native int64, of the whole text: ends, or pairs of a machine that drops.
 * In an array of the caller's they are stored as they are found, if it has room for as many as there may be.
 *
 * Invariants: a stream has one user at a time, and says so where another thread is using it. While a part above RELEASE units is read, the
 * GIL is released. After an exception it must be reset: what was read and what is held may no longer go together.
 */
#include "_native.h"
#include "_streams.h"

#define AT_ONCE (4 * BITLEX_BLOCK) /* units */
#define FEW (4096 + 64)             /* offsets for which a call needs no memory but the array or list that it gives */

typedef struct {
    PyObject_HEAD
    Machine *machine;
    bitlex_stream stream;
    Py_ssize_t hold; /* places, at most, and units */
    Held held;       /* the text of the piece at hand, if it gives pieces */
    int pieces;      /* whether it does */
    PyObject *given; /* an array for offsets, or nothing; */
    Py_buffer into;  /* where it is, which may be of another object; */
    Waiting waiting; /* and those that it had no room for */
    int encoded;     /* what it was fed: 0 nothing, 1 bytes, 2 str */
    int broken;      /* whether it must be reset */
    int used;        /* by a thread */
} Stream;

int bitlex_py_raise_used(void)
{
    PyErr_SetString(PyExc_RuntimeError, "another thread is using this stream: it has one user at a time");
    return -1;
}

int bitlex_py_raise_broken(void)
{
    PyErr_SetString(PyExc_ValueError, "this stream has failed: reset it before it reads another text");
    return -1;
}

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
    self->encoded = self->broken = 0;
    self->held.length = 0;
    self->held.base = 0;
    return bitlex_py_begin_stream(&self->stream, self->machine);
}

int bitlex_py_more_places(bitlex_stream *s, Py_ssize_t hold)
{
    const size_t has = s->room - BITLEX_STREAM_OPEN, wanted = s->room * (size_t)2 > (size_t)hold ? (size_t)hold : s->room * (size_t)2;
    uint64_t *grown;
    if (s->more != NULL && s->count + 8 <= s->room) { /* a character makes as many places at most: it is sets that there is no room for */
        PyErr_Format(PyExc_ValueError,
                     "the stream would have to hold places of more than %d kinds, which what follows may still change; give the whole text at once, "
                     "or set BITLEX_TIER=pure, which has no such limit", BITLEX_STREAM_SETS + BITLEX_STREAM_MORE_SETS - 2);
        return -1;
    }
    grown = wanted > has && s->room < (size_t)hold ? PyMem_RawRealloc(s->more, (BITLEX_STREAM_MORE_SETS + wanted) * sizeof *grown) : NULL;
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
    static char *names[] = {"machine", "hold", "pieces", "into", NULL};
    PyObject *machine, *into = Py_None;
    Py_ssize_t hold;
    int pieces = 0;
    Stream *self;
    State *state = PyType_GetModuleState(type);
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!n|pO:Stream", names, state->machine, &machine, &hold, &pieces, &into)) return NULL;
    if (hold < 0 || (uint64_t)hold > UINT32_MAX / 4) {
        PyErr_SetString(PyExc_ValueError, "hold must be 0 or more, and less than 2**30");
        return NULL;
    }
    self = (Stream *)type->tp_alloc(type, 0);
    if (self == NULL) return NULL;
    Py_INCREF(machine);
    self->machine = (Machine *)machine;
    self->hold = hold;
    self->pieces = pieces;
    if (into != Py_None) self->given = Py_NewRef(into);
    if ((into != Py_None && bitlex_py_hold_offsets(&self->into, into, self->machine->machine.drops) < 0) || begin(self) < 0) Py_CLEAR(self);
    return (PyObject *)self;
}

static int stream_traverse(Stream *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(self->machine);
    Py_VISIT(self->given);
    Py_VISIT(self->into.obj);
    return 0;
}

static int stream_clear(Stream *self)
{
    if (self->into.obj != NULL) PyBuffer_Release(&self->into);
    Py_CLEAR(self->given);
    return 0;
}

static void stream_dealloc(Stream *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    stream_clear(self);
    bitlex_py_forget_waiting(&self->waiting);
    PyMem_RawFree(self->stream.more);
    bitlex_py_forget_held(&self->held);
    Py_XDECREF(self->machine);
    type->tp_free(self);
    Py_DECREF(type);
}

int bitlex_py_copy_stream(bitlex_stream *to, const bitlex_stream *from)
{
    const size_t more = from->more == NULL ? 0 : BITLEX_STREAM_MORE_SETS + from->room - BITLEX_STREAM_OPEN;
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
    Stream *twin;
    int failed;
    (void)unused;
    if (bitlex_py_use_stream(&self->used) < 0) return NULL;
    twin = (Stream *)Py_TYPE(self)->tp_alloc(Py_TYPE(self), 0);
    if (twin != NULL) {
        Py_INCREF(self->machine);
        twin->machine = self->machine;
        twin->hold = self->hold;
        twin->pieces = self->pieces;
        twin->encoded = self->encoded;
        twin->broken = self->broken;
        failed = bitlex_py_copy_stream(&twin->stream, &self->stream) < 0;
        failed = failed || bitlex_py_copy_held(&twin->held, &self->held) < 0;
        if (failed || bitlex_py_copy_waiting(&twin->waiting, &self->waiting) < 0) {
            Py_CLEAR(twin);
            PyErr_NoMemory();
        } else if (self->given != NULL) {
            twin->given = Py_NewRef(self->given);
            if (bitlex_py_hold_offsets(&twin->into, twin->given, self->machine->machine.drops) < 0) Py_CLEAR(twin);
        }
    }
    bitlex_py_leave_stream(&self->used);
    return (PyObject *)twin;
}

static PyObject *stream_reset(Stream *self, PyObject *unused)
{
    int failed;
    (void)unused;
    if (bitlex_py_use_stream(&self->used) < 0) return NULL;
    failed = begin(self) < 0;
    bitlex_py_forget_waiting(&self->waiting);
    bitlex_py_leave_stream(&self->used);
    if (failed) return NULL;
    Py_RETURN_NONE;
}

/* Offsets that were found, or pairs, and room for so many of them: in the array of the caller, or in few, as long as they fit. */
typedef struct {
    Offsets *found;
    uint64_t few[FEW], *at, room, stored, each;
} Settled;

static uint64_t room_of(const Stream *self) { return self->into.obj == NULL ? 0 : (uint64_t)self->into.shape[0]; }

/* Room for so many more: -1 with an exception set, and what is there stays. */
static int reserve(Settled *o, PyTypeObject *type, uint64_t more)
{
    const uint64_t room = o->stored + o->stored / 2 + more;
    if (o->room - o->stored >= more) return 0;
    if (o->found == NULL) {
        Offsets *made = bitlex_py_offsets_new(type, room * o->each * 8);
        if (made == NULL) return -1;
        memcpy(made->bytes, o->at, o->stored * o->each * 8);
        o->found = made;
    } else if (bitlex_py_offsets_resize(&o->found, room * o->each * 8) < 0) {
        return -1;
    }
    o->room = room;
    o->at = o->found->bytes;
    return 0;
}

/* Room for what some units settle, and for what all that are left may, if there is memory for it: they may settle little. */
static int reserve_likely(Settled *o, PyTypeObject *type, uint64_t left, uint64_t open)
{
    if (left < AT_ONCE) return reserve(o, type, left + open);
    if (reserve(o, type, left / 3 + AT_ONCE + open) == 0) return 0;
    PyErr_Clear();
    return reserve(o, type, AT_ONCE + open);
}

static void settled_begin(Settled *o, const Stream *self)
{
    o->found = NULL;
    o->at = o->few;
    o->each = self->machine->machine.drops ? 2 : 1;
    o->room = FEW / o->each;
    o->stored = 0;
    if (room_of(self) > o->room && self->waiting.used == 0) {
        o->at = self->into.buf;
        o->room = room_of(self);
    }
}

/* Put offsets in the array of the caller, unless they lie there: how many; others wait. NULL with an exception set. */
static PyObject *put(Stream *self, Settled *o)
{
    Waiting *w = &self->waiting;
    const size_t each = (size_t)o->each * 8;
    size_t count = (size_t)o->stored;
    if (w->used == 0 && count <= room_of(self)) {
        if (count > 0 && o->at != self->into.buf) memcpy(self->into.buf, o->at, count * each);
    } else if (bitlex_py_wait(w, o->at, count * each) < 0) {
        Py_XDECREF(o->found);
        return PyErr_NoMemory();
    } else {
        const void *first = w->data + w->taken;
        count = bitlex_py_take_waiting(w, each, (size_t)room_of(self));
        memcpy(self->into.buf, first, count * each);
        if (w->taken == w->used) bitlex_py_forget_waiting(w);
    }
    Py_XDECREF(o->found);
    return PyLong_FromSize_t(count);
}

/* What a call gives, of the offsets that a part has settled; they are then no longer there. */
static PyObject *give(Stream *self, Settled *o, const Text *t)
{
    PyObject *module, *result = NULL, *rows;
    if (self->pieces) {
        result = bitlex_py_pieces_of_part(&self->held, t, o->at, (size_t)o->stored, o->each == 2);
        Py_XDECREF(o->found);
        if (result != NULL && self->held.length > (size_t)self->hold) {
            bitlex_py_raise_hold(self->hold, t->encoding == BITLEX_UTF8 ? "bytes" : "characters");
            Py_CLEAR(result);
        }
        return result;
    }
    if (self->into.obj != NULL) return put(self, o);
    module = PyType_GetModule(Py_TYPE(self));
    if (o->found == NULL) result = bitlex_py_numpy_copy(module, o->few, (size_t)(o->stored * o->each * 8), WIDE_OFFSETS);
    else if (bitlex_py_offsets_resize(&o->found, o->stored * o->each * 8) == 0) result = bitlex_py_numpy(module, (PyObject *)o->found, WIDE_OFFSETS);
    Py_XDECREF(o->found);
    if (result == NULL || o->each == 1) return result;
    rows = PyObject_CallMethod(result, "reshape", "ii", -1, 2);
    Py_DECREF(result);
    return rows;
}

/* Read up to SLICE units of a part, as far as there is room: how many units. Touches no object. */
static uint64_t read_slice(Stream *self, const Text *t, bitlex_cursor *cursor, uint64_t from, Settled *o)
{
    const bitlex_machine *m = &self->machine->machine;
    const size_t width = t->encoding == BITLEX_UTF8 ? 1 : (size_t)t->encoding;
    uint64_t done = from;
    while (done < t->length && done - from < SLICE) {
        const uint64_t part = t->length - done < AT_ONCE ? t->length - done : AT_ONCE;
        size_t used;
        if (o->room - o->stored < part + self->stream.count + BITLEX_STREAM_ROOM) break;
        o->stored += bitlex_stream_feed(&self->stream, cursor, m->lanes == NULL ? NULL : scratch_behind(cursor), (const char *)t->data + done * width,
                                        (size_t)part, t->encoding, &used, o->at + o->stored * o->each, (size_t)(o->room - o->stored));
        done += used;
        if (self->stream.full) break;
    }
    return done - from;
}

/* Feed a part that is held: -1 with an exception set. */
static int feed(Stream *self, const Text *t, bitlex_cursor *cursor, PyTypeObject *type, Settled *o)
{
    const int large = t->length > RELEASE;
    uint64_t done = 0;
    while (done < t->length) {
        const uint64_t left = t->length - done;
        PyThreadState *released;
        if (reserve_likely(o, type, left, self->stream.count + BITLEX_STREAM_ROOM) < 0) return -1;
        released = large ? PyEval_SaveThread() : NULL;
        done += read_slice(self, t, cursor, done, o);
        if (released != NULL) PyEval_RestoreThread(released);
        if (self->stream.full && bitlex_py_more_places(&self->stream, self->hold) < 0) return -1;
        if (large && PyErr_CheckSignals() < 0) return -1;
    }
    return 0;
}

static PyObject *stream_feed(Stream *self, PyObject *part)
{
    State *state = PyType_GetModuleState(Py_TYPE(self));
    bitlex_cursor *cursor;
    PyObject *result = NULL;
    Settled o;
    Text t;
    int encoded;
    if (bitlex_py_use_stream(&self->used) < 0) return NULL;
    if (bitlex_py_text_begin(&t, &self->machine->machine, part) < 0) {
        bitlex_py_leave_stream(&self->used);
        return NULL;
    }
    encoded = t.string != NULL ? 2 : 1;
    if (self->encoded != 0 && self->encoded != encoded) {
        PyErr_Format(PyExc_TypeError, "this stream was fed %s before, and a text cannot be both", encoded == 1 ? "str" : "bytes");
    } else if (self->broken) {
        bitlex_py_raise_broken();
    } else if ((cursor = bitlex_py_take_cursor(self->machine)) == NULL) {
        PyErr_NoMemory();
    } else {
        int failed;
        self->encoded = encoded;
        settled_begin(&o, self);
        failed = feed(self, &t, cursor, state->offsets, &o) < 0;
        bitlex_py_give_cursor(self->machine, cursor);
        if (failed) Py_XDECREF(o.found);
        else result = give(self, &o, &t);
        self->broken = result == NULL;
    }
    bitlex_py_text_end(&t);
    bitlex_py_leave_stream(&self->used);
    return result;
}

static PyObject *stream_finish(Stream *self, PyObject *unused)
{
    State *state = PyType_GetModuleState(Py_TYPE(self));
    PyObject *result = NULL;
    Settled o;
    Text none = {0};
    (void)unused;
    if (bitlex_py_use_stream(&self->used) < 0) return NULL;
    none.encoding = self->encoded == 2 ? BITLEX_LATIN1 : BITLEX_UTF8;
    none.data = "";
    settled_begin(&o, self);
    if (self->broken) {
        bitlex_py_raise_broken();
    } else if (reserve(&o, state->offsets, self->stream.count + BITLEX_STREAM_ROOM) == 0) {
        o.stored = bitlex_stream_finish(&self->stream, o.at);
        result = give(self, &o, &none);
        if (result != NULL) begin(self);
        else self->broken = 1;
    }
    bitlex_py_leave_stream(&self->used);
    return result;
}

static PyObject *stream_more(Stream *self, PyObject *unused)
{
    PyObject *result = NULL;
    Settled none;
    (void)unused;
    if (bitlex_py_use_stream(&self->used) < 0) return NULL;
    settled_begin(&none, self);
    if (self->into.obj == NULL) PyErr_SetString(PyExc_ValueError, "this stream has no array that offsets are put in");
    else if (self->broken) bitlex_py_raise_broken();
    else self->broken = (result = put(self, &none)) == NULL;
    bitlex_py_leave_stream(&self->used);
    return result;
}

static PyMethodDef stream_methods[] = {
    {"feed", (PyCFunction)(void (*)(void))stream_feed, METH_O, "feed(part) -> what is settled: a list of pieces, an array of int64, or their number"},
    {"finish", (PyCFunction)(void (*)(void))stream_finish, METH_NOARGS, "finish() -> the rest; the stream is then as new"},
    {"more", (PyCFunction)(void (*)(void))stream_more, METH_NOARGS, "more() -> the offsets that there was no room for"},
    {"reset", (PyCFunction)(void (*)(void))stream_reset, METH_NOARGS, "reset(): begin another text"},
    {"copy", (PyCFunction)(void (*)(void))stream_copy, METH_NOARGS, "copy() -> another stream, of the same text so far"},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot stream_slots[] = {
    {Py_tp_new, stream_new},
    {Py_tp_dealloc, stream_dealloc},
    {Py_tp_traverse, stream_traverse}, /* an array may be of a type that holds its stream */
    {Py_tp_clear, stream_clear},
    {Py_tp_methods, stream_methods},
    {Py_tp_doc, "Stream(machine, hold, pieces=False, into=None): reads a text in parts, and gives its pieces, or ends or pairs of offsets, or how "
                "many of these it put in an array; of at most so many places it is not known whether a piece starts there, and of a "
                "piece at most so many units are held"},
    {0, NULL},
};
PyType_Spec bitlex_py_stream_spec = {
    "bitlex._native.Stream", sizeof(Stream), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_HAVE_GC, stream_slots};
