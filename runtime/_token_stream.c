/* _token_stream.c - an Encoder reading a text that comes in parts: bytes or str in, the ids that nothing can change any more out. What reads
 * is in _token_reading.c.
 *
 * Invariants: a stream has one user at a time, and says so where another thread is using it. After an exception it must be reset.
 * Places are those of bytes, or in characters of str, which are counted before bytes are forgotten; where a text is put in NFC,
 * runtime/token_streams.py counts them.
 */
#include "_token_stream.h"

#include <stddef.h>

#define KEPT 16384 /* ids whose memory waits for the next call */

static void begin(TokenStream *self)
{
    self->length = 0;
    self->base = self->checked = self->searched = self->grown = 0;
    self->bare = self->normalize_at = 0;
    self->encoded = self->broken = 0;
    self->high = 0;
    self->characters = 0;
    self->weight = 0;
    self->pair_count = 0;
    bitlex_py_begin_section(self, 0);
}

/* Put ids in the array of the caller, unless that is where they were found: how many; others wait. NULL with an exception set. */
static PyObject *put_ids(TokenStream *self, const Ids *found)
{
    Waiting *w = &self->waiting;
    const Destination *into = &self->into;
    size_t count = found->used;
    if (w->used == 0 && count <= into->room) {
        if (!found->lent) bitlex_py_destination_put(into, found->data, count);
    } else if (bitlex_py_wait(w, found->data, count * sizeof *found->data) < 0) {
        return PyErr_NoMemory();
    } else {
        const void *first = w->data + w->taken;
        count = bitlex_py_take_waiting(w, sizeof(uint32_t), into->room);
        bitlex_py_destination_put(into, first, count);
        if (w->taken == w->used) bitlex_py_forget_waiting(w);
    }
    return PyLong_FromSize_t(count);
}

/* What a call gives; NULL if it failed. Its memory waits for the next one, or is freed. */
static PyObject *end_call(Call *c, int failed)
{
    TokenStream *self = c->stream;
    PyObject *result = NULL;
    if (failed) result = NULL;
    else if (self->result == LISTS) result = bitlex_py_ids_as_list(self->encoder, c->ids->data, c->ids->used);
    else if (self->result == ARRAYS) result = bitlex_py_ids_as_numpy((PyObject *)self, c->ids);
    else if (self->result == INTO) result = put_ids(self, c->ids);
    else result = bitlex_py_ids_and_places((PyObject *)self, c->ids, self->result == ROWS ? WIDE_PAIRS : WIDE_OFFSETS);
    if (result == NULL) self->broken = 1; /* ids are lost */
    if (c->work == NULL) return NULL;
    if (c->ids == &c->own || c->ids->room > KEPT) bitlex_py_free_ids(c->ids);
    bitlex_py_end_work(c->work, self->encoder);
    return result;
}

/* Ids are found in the array of the caller where it has numbers of 32 bits, nothing waits, and the array is not small next to the part. */
static inline int is_found_there(const TokenStream *self, size_t room)
{
    return self->result == INTO && room <= self->into.room && self->waiting.used == 0 && bitlex_py_destination_words(&self->into) != NULL;
}

static int begin_call(Call *c, TokenStream *self, size_t length)
{
    const size_t room = self->length + (length < AT_ONCE ? length : length / 2 + AT_ONCE) + BPE_PADDING;
    c->stream = self;
    c->work = NULL;
    c->released = NULL;
    c->counted = 0;
    if (self->broken) return bitlex_py_raise_broken();
    c->work = bitlex_py_begin_work(self->encoder);
    if (c->work == NULL) return PyErr_NoMemory(), -1;
    c->ids = &c->work->ids;
    if (self->result == PLACED || self->result == ROWS) {
        c->own = (Ids){.placed = 1};
        c->ids = &c->own;
    } else if (is_found_there(self, room)) {
        c->own = (Ids){.data = bitlex_py_destination_words(&self->into), .room = self->into.room, .lent = 1};
        c->ids = &c->own;
    }
    c->ids->used = 0;
    if (bitlex_py_reserve(c->ids, room) < 0) return PyErr_NoMemory(), -1;
    return 0;
}

/* A part of str behind the high surrogate that waits; if it ends with one, that is to wait. */
static PyObject *whole_characters(const TokenStream *self, PyObject *part, Py_UCS4 *waits)
{
    PyObject *high = self->high != 0 ? PyUnicode_FromOrdinal((int)self->high) : NULL, *joined, *rest;
    Py_ssize_t length;
    Py_UCS4 last;
    if (self->high != 0 && high == NULL) return NULL;
    joined = high != NULL ? PyUnicode_Concat(high, part) : Py_NewRef(part);
    Py_XDECREF(high);
    if (joined == NULL) return NULL;
    length = PyUnicode_GET_LENGTH(joined);
    last = length > 0 ? PyUnicode_READ_CHAR(joined, length - 1) : 0;
    *waits = (last & 0xFFFFFC00) == 0xD800 ? last : 0;
    if (*waits == 0) return joined;
    rest = PyUnicode_Substring(joined, 0, length - 1);
    Py_DECREF(joined);
    return rest;
}

static int begin_part(TokenStream *self, Utf8 *u, PyObject *part)
{
    Py_UCS4 waits = 0;
    int failed;
    if (self->encoded == 1 || !PyUnicode_Check(part) || (self->high == 0 && PyUnicode_KIND(part) == PyUnicode_1BYTE_KIND))
        return bitlex_py_utf8_begin(u, part);
    part = whole_characters(self, part, &waits);
    failed = part == NULL || bitlex_py_utf8_begin(u, part) < 0; /* which has its own reference */
    if (!failed && self->result == ROWS && bitlex_py_has_pairs(part, u->bytes, u->length) &&
        bitlex_py_find_pairs(part, self->base + self->length, &self->pairs, &self->pair_count, &self->pair_room) < 0) {
        bitlex_py_utf8_end(u);
        PyErr_NoMemory();
        failed = self->broken = 1; /* some of them may be there */
    }
    Py_XDECREF(part);
    if (!failed) self->high = waits;
    return failed ? -1 : 0;
}

static inline PyObject *feed(TokenStream *self, const uint8_t *bytes, uint64_t length, int encoded)
{
    Call c;
    int failed;
    if (self->encoded != 0 && self->encoded != encoded) {
        PyErr_Format(PyExc_TypeError, "this stream was fed %s before, and a text cannot be both", encoded == 1 ? "str" : "bytes");
        return NULL;
    }
    failed = begin_call(&c, self, (size_t)length) < 0;
    if (!failed) {
        self->encoded = encoded;
        failed = bitlex_py_read_part(&c, bytes, length) < 0;
    }
    return end_call(&c, failed);
}

static PyObject *stream_feed(TokenStream *self, PyObject *part)
{
    Utf8 u;
    PyObject *result = NULL;
    if (bitlex_py_use_stream(&self->used) < 0) return NULL;
    if (PyBytes_CheckExact(part)) { /* as below, with less to do: who calls holds it */
        result = feed(self, (const uint8_t *)PyBytes_AS_STRING(part), (uint64_t)PyBytes_GET_SIZE(part), 1);
    } else if (begin_part(self, &u, part) == 0) {
        result = feed(self, u.bytes, u.length, u.text.string != NULL ? 2 : 1);
        bitlex_py_utf8_end(&u);
    }
    bitlex_py_leave_stream(&self->used);
    return result;
}

static PyObject *stream_finish(TokenStream *self, PyObject *unused)
{
    Call c;
    PyObject *result;
    int failed;
    (void)unused;
    if (bitlex_py_use_stream(&self->used) < 0) return NULL;
    failed = begin_call(&c, self, 0) < 0;
    if (!failed && self->high != 0) failed = bitlex_py_read_part(&c, (const uint8_t *)"\xEF\xBF\xBD", 3) < 0; /* its other half did not come */
    failed = failed || bitlex_py_read_end(&c) < 0;
    result = end_call(&c, failed);
    if (result != NULL) begin(self);
    bitlex_py_leave_stream(&self->used);
    return result;
}

static PyObject *stream_more(TokenStream *self, PyObject *unused)
{
    const Ids none = {.data = NULL};
    PyObject *result = NULL;
    (void)unused;
    if (bitlex_py_use_stream(&self->used) < 0) return NULL;
    if (self->result != INTO) PyErr_SetString(PyExc_ValueError, "this stream has no array that ids are put in");
    else if (self->broken) bitlex_py_raise_broken();
    else self->broken = (result = put_ids(self, &none)) == NULL;
    bitlex_py_leave_stream(&self->used);
    return result;
}

static PyObject *stream_reset(TokenStream *self, PyObject *unused)
{
    (void)unused;
    if (bitlex_py_use_stream(&self->used) < 0) return NULL;
    begin(self);
    bitlex_py_forget_waiting(&self->waiting);
    bitlex_py_leave_stream(&self->used);
    Py_RETURN_NONE;
}

static PyObject *stream_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"encoder", "allowed", "disallowed", "hold", "result", "normalize", "into", NULL};
    State *state = PyType_GetModuleState(type);
    PyObject *encoder, *allowed, *disallowed, *normalize = Py_None, *into = Py_None;
    Py_ssize_t hold;
    int result;
    TokenStream *self;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!OOni|OO:TokenStream", names, state->encoder, &encoder, &allowed, &disallowed, &hold, &result,
                                     &normalize, &into))
        return NULL;
    if ((allowed != Py_None && !Py_IS_TYPE(allowed, state->specials)) || (disallowed != Py_None && !Py_IS_TYPE(disallowed, state->specials))) {
        PyErr_SetString(PyExc_TypeError, "expected Specials or None");
        return NULL;
    }
    if (hold < 0 || (uint64_t)hold > UINT32_MAX / 4 || result < 0 || result >= FORMS || (into == Py_None) != (result != INTO)) {
        PyErr_SetString(PyExc_ValueError, "hold must be 0 or more, and less than 2**30, and result 0 to 4, with an array for 3 alone");
        return NULL;
    }
    self = (TokenStream *)type->tp_alloc(type, 0);
    if (self == NULL) return NULL;
    self->encoder = (Encoder *)Py_NewRef(encoder);
    self->allowed = Py_NewRef(allowed);
    self->disallowed = Py_NewRef(disallowed);
    self->normalize = Py_NewRef(normalize);
    self->hold = hold;
    self->result = (Result)result;
    if ((into == Py_None || bitlex_py_destination_begin(&self->into, into, self->encoder->highest) == 0) && bitlex_py_begin_section(self, 0) == 0)
        return (PyObject *)self;
    Py_DECREF(self);
    return NULL;
}

static PyObject *stream_copy(TokenStream *self, PyObject *const *arguments, Py_ssize_t count)
{
    TokenStream *twin;
    const size_t head = offsetof(TokenStream, encoder);
    if (count > 1) return PyErr_Format(PyExc_TypeError, "copy expected at most 1 argument, got %zd", count);
    if (bitlex_py_use_stream(&self->used) < 0) return NULL;
    twin = (TokenStream *)Py_TYPE(self)->tp_alloc(Py_TYPE(self), 0);
    if (twin != NULL) {
        memcpy((char *)twin + head, (char *)self + head, sizeof *twin - head);
        Py_INCREF(twin->encoder);
        Py_INCREF(twin->allowed);
        Py_INCREF(twin->disallowed);
        twin->normalize = Py_NewRef(count > 0 ? arguments[0] : self->normalize);
        twin->used = 0;
        twin->room = self->length;
        twin->lexer.more = NULL;
        twin->text = PyMem_RawCalloc(self->length + SLACK, 1);
        memset(&twin->into, 0, sizeof twin->into);
        memset(&twin->waiting, 0, sizeof twin->waiting);
        twin->pair_room = self->pair_count;
        twin->pairs = PyMem_RawCalloc(self->pair_count + 1, sizeof *twin->pairs);
        if (bitlex_py_copy_stream(&twin->lexer, &self->lexer) < 0 || bitlex_py_copy_waiting(&twin->waiting, &self->waiting) < 0 ||
            twin->text == NULL || twin->pairs == NULL) {
            Py_CLEAR(twin);
            PyErr_NoMemory();
        } else if (self->into.given != NULL && bitlex_py_destination_begin(&twin->into, self->into.given, self->encoder->highest) < 0) {
            Py_CLEAR(twin);
        } else {
            if (self->length > 0) memcpy(twin->text, self->text, self->length);
            if (self->pair_count > 0) memcpy(twin->pairs, self->pairs, self->pair_count * sizeof *self->pairs);
        }
    }
    bitlex_py_leave_stream(&self->used);
    return (PyObject *)twin;
}

static int stream_traverse(TokenStream *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(self->encoder);
    Py_VISIT(self->allowed);
    Py_VISIT(self->disallowed);
    Py_VISIT(self->normalize);
    Py_VISIT(self->into.given);
    Py_VISIT(self->into.view.obj);
    return 0;
}

static int stream_clear(TokenStream *self)
{
    bitlex_py_destination_end(&self->into);
    Py_XSETREF(self->normalize, Py_NewRef(Py_None));
    return 0;
}

static void stream_dealloc(TokenStream *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    stream_clear(self);
    PyMem_RawFree(self->text);
    PyMem_RawFree(self->pairs);
    PyMem_RawFree(self->lexer.more);
    bitlex_py_forget_waiting(&self->waiting);
    Py_XDECREF(self->encoder);
    Py_XDECREF(self->allowed);
    Py_XDECREF(self->disallowed);
    Py_XDECREF(self->normalize);
    type->tp_free((PyObject *)self);
    Py_DECREF(type);
}

static PyObject *stream_held(TokenStream *self, void *unused)
{
    size_t size;
    (void)unused;
    if (bitlex_py_use_stream(&self->used) < 0) return NULL;
    size = sizeof *self + self->room + (self->lexer.room - BITLEX_STREAM_OPEN) * sizeof(uint64_t) + self->waiting.room +
           self->pair_room * sizeof *self->pairs;
    bitlex_py_leave_stream(&self->used);
    return PyLong_FromSize_t(size);
}

static PyMethodDef stream_methods[] = {
    {"feed", (PyCFunction)(void (*)(void))stream_feed, METH_O, "feed(part) -> the ids that are settled"},
    {"finish", (PyCFunction)(void (*)(void))stream_finish, METH_NOARGS, "finish() -> the rest; the stream is then as new"},
    {"more", (PyCFunction)(void (*)(void))stream_more, METH_NOARGS, "more() -> the ids that there was no room for"},
    {"reset", (PyCFunction)(void (*)(void))stream_reset, METH_NOARGS, "reset(): begin another text"},
    {"copy", (PyCFunction)(void (*)(void))stream_copy, METH_FASTCALL,
     "copy(normalize = the same) -> another stream, of the same text so far, and what puts that in NFC"},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef stream_properties[] = {
    {"size", (getter)(void (*)(void))stream_held, NULL, "the bytes of memory that the stream takes", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot stream_slots[] = {
    {Py_tp_new, stream_new},
    {Py_tp_dealloc, stream_dealloc},
    {Py_tp_traverse, stream_traverse}, /* what normalizes, or an array, may hold its stream */
    {Py_tp_clear, stream_clear},
    {Py_tp_methods, stream_methods},
    {Py_tp_getset, stream_properties},
    {Py_tp_doc, "TokenStream(encoder, allowed, disallowed, hold, result, normalize=None, into=None): encodes a text in parts, and gives lists "
                "(0), arrays (1), arrays of ids and of their places in bytes (2) or, in rows, in characters of str (4), or the number "
                "of those that it put in an array (3). "
                "normalize(bytes, where they are, whether they end there) -> bytes in NFC, and of how many these are"},
    {0, NULL},
};
PyType_Spec bitlex_py_token_stream_spec = {
    "bitlex._native.TokenStream", sizeof(TokenStream), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_HAVE_GC, stream_slots};
