/* _token_stream.c - an Encoder reading a text that comes in parts: bytes or str in, the ids that nothing can change any more out.
 *
 *     what was fed     ... the quick | brow n <|endo
 *                                    |      |        what may be the beginning of a special token waits
 *                                    |      what the lexer has read
 *                                    the piece at hand: its bytes are held, as no more than that is needed
 *
 * Of a piece that becomes long, the ids of its beginning are handed out (bpe_final.c), and its bytes forgotten. A part is worked on some
 * thousand bytes at a time, so that what is needed besides is small, whatever the parts.
 *
 * Invariants: a stream has one user at a time: the GIL is kept, or its own lock where there is none. After an exception it must be reset.
 * Places are those of bytes; runtime/token_streams.py counts characters.
 */
#include "_streams.h"
#include "_tokens.h"

#include <stddef.h>

#define AT_ONCE BITLEX_BLOCK /* bytes */
#define LONG 16384           /* bytes of a piece, from which on its ids are handed out before it ends */
#define STOPS 64             /* places at which it may end, beyond which that is not tried */

typedef enum { LISTS, ARRAYS, PLACED, FORMS } Result;

typedef struct {
    PyObject_HEAD
    Encoder *encoder;
    PyObject *allowed, *disallowed; /* Specials or None */
    Py_ssize_t hold;
    Result result;
    int encoded, broken;            /* what it was fed: 0 nothing, 1 bytes, 2 str; and whether it must be reset */
    bitlex_stream lexer;
    uint8_t *text;                  /* what is held: from `base` on */
    size_t length, room;
    uint64_t base, section, piece;  /* where in the whole text: what is held; what the lexer reads; what of a piece is not handed out */
    uint64_t checked;               /* up to where there is no disallowed token */
    size_t try_at;                  /* bytes of a piece at which to look for final ids again */
    int begun;                      /* whether the beginning of the piece at hand was handed out */
} TokenStream;

/* The memory of one call. */
typedef struct {
    TokenStream *stream;
    Working *work;
    Ids ids;
    uint64_t *offsets;
    uint32_t *starts, *ends;
    size_t room; /* of them, in pieces */
} Call;

static const specials *tokens_of(PyObject *found) { return found == Py_None ? NULL : &((Specials *)found)->tokens; }

static int begin_lexer(TokenStream *self, uint64_t at)
{
    self->section = self->piece = at;
    self->begun = 0;
    self->try_at = LONG;
    return bitlex_py_begin_stream(&self->lexer, self->encoder->machine);
}

static void begin(TokenStream *self)
{
    self->length = 0;
    self->base = self->checked = 0;
    self->encoded = self->broken = 0;
    begin_lexer(self, 0);
}

/* --- ids --------------------------------------------------------------------------------------------------------------- */

static int no_token(const TokenStream *self, size_t from, size_t to)
{
    const bpe_vocabulary *v = &self->encoder->vocabulary;
    while (from + 1 < to && v->byte_tokens[self->text[from]] != BPE_NONE) from++;
    PyErr_Format(PyExc_ValueError, "byte 0x%02x at %llu is no token of this vocabulary", self->text[from], (unsigned long long)(self->base + from));
    return -1;
}

/* Say where the ids from `first` on are, which lie one behind the other from there on. */
static void place_ids(Call *c, size_t first, uint64_t at)
{
    const uint32_t *starts = c->stream->encoder->vocabulary.starts;
    for (; c->ids.placed && first < c->ids.used; first++) {
        c->ids.places[2 * first] = at;
        at += starts[c->ids.data[first] + 1] - starts[c->ids.data[first]];
        c->ids.places[2 * first + 1] = at;
    }
}

/* The rest of a piece whose beginning was handed out. */
static int encode_rest(Call *c, size_t from, size_t to)
{
    TokenStream *self = c->stream;
    const size_t first = c->ids.used;
    size_t made;
    if (from == to) return 0;
    if (bitlex_py_reserve(&c->ids, to - from + BPE_PADDING) < 0) return PyErr_NoMemory(), -1;
    made = bpe_merge(&self->encoder->vocabulary, BPE_AUTOMATIC, self->text + from, to - from, c->ids.data + first);
    if (made == BPE_NO_TOKEN) return no_token(self, from, to);
    if (made == BPE_NO_MEMORY) return PyErr_NoMemory(), -1;
    c->ids.used += made;
    place_ids(c, first, self->base + from);
    return 0;
}

/* Whole pieces, by their places in what is held. */
static int encode_pieces(Call *c, const uint32_t *starts, const uint32_t *ends, size_t count)
{
    TokenStream *self = c->stream;
    const bpe_vocabulary *v = &self->encoder->vocabulary;
    size_t first = c->ids.used, made, i;
    if (count == 0) return 0;
    if (bitlex_py_reserve(&c->ids, ends[count - 1] - starts[0] + BPE_PADDING) < 0) return PyErr_NoMemory(), -1;
    made = bpe_encode(c->work->caches, self->text, self->length, starts, ends, count, c->ids.data + first);
    if (made == BPE_NO_MEMORY) return PyErr_NoMemory(), -1;
    for (i = 0; made == BPE_NO_TOKEN && i < count; i++) {
        size_t at = starts[i];
        if (v->whole && bpe_find(v, self->text + at, ends[i] - at) != BPE_NONE) continue;
        while (at < ends[i] && v->byte_tokens[self->text[at]] != BPE_NONE) at++;
        if (at < ends[i]) return no_token(self, at, ends[i]);
    }
    c->ids.used += made;
    for (i = 0; c->ids.placed && i < count; i++) { /* dropped text may lie between */
        uint64_t at = starts[i];
        for (; at < ends[i]; first++) {
            c->ids.places[2 * first] = self->base + at;
            at += v->starts[c->ids.data[first] + 1] - v->starts[c->ids.data[first]];
            c->ids.places[2 * first + 1] = self->base + at;
        }
    }
    return 0;
}

/* The pieces that the lexer found: ends, or pairs, in the text that it reads. */
static int take_pieces(Call *c, size_t count)
{
    TokenStream *self = c->stream;
    const int pairs = self->encoder->machine->machine.drops != 0;
    const uint64_t shift = self->section - self->base; /* may be below zero: it comes out right */
    const size_t begun = self->begun != 0;
    size_t i;
    if (count == 0) return 0;
    for (i = 0; !pairs && i < count; i++) c->ends[i] = (uint32_t)(c->offsets[i] + shift);
    if (!pairs) memcpy(c->starts + 1, c->ends, (count - 1) * sizeof *c->ends);
    for (i = 0; pairs && i < count; i++) {
        c->starts[i] = (uint32_t)(c->offsets[2 * i] + shift);
        c->ends[i] = (uint32_t)(c->offsets[2 * i + 1] + shift);
    }
    if (!pairs || begun) c->starts[0] = (uint32_t)(self->piece - self->base);
    if (begun && encode_rest(c, c->starts[0], c->ends[0]) < 0) return -1;
    if (encode_pieces(c, c->starts + begun, c->ends + begun, count - begun) < 0) return -1;
    self->piece = self->base + c->ends[count - 1];
    self->begun = 0;
    self->try_at = LONG;
    return 0;
}

/* Of a piece that is long, hand out the ids that are final. */
static int hand_out_final(Call *c)
{
    TokenStream *self = c->stream;
    const bpe_vocabulary *v = &self->encoder->vocabulary;
    const size_t length = (size_t)(self->section + self->lexer.length - self->piece), first = c->ids.used; /* but what is no whole character */
    size_t stops[STOPS], count, bytes;
    uint32_t i, n = 0;
    if (length < self->try_at) return 0;
    self->try_at = 2 * length;
    if (self->lexer.count > STOPS) return 0;
    for (i = 0; i < self->lexer.count; i++) {
        const uint64_t open = i < BITLEX_STREAM_OPEN ? self->lexer.open[i] : self->lexer.more[i - BITLEX_STREAM_OPEN];
        if (self->section + (open >> 6) > self->piece) stops[n++] = (size_t)(self->section + (open >> 6) - self->piece);
    }
    if (n > 0 && v->whole && !self->begun && stops[0] <= v->longest) return 0;
    if (bitlex_py_reserve(&c->ids, length + BPE_PADDING) < 0) return PyErr_NoMemory(), -1;
    bytes = bpe_final(v, self->text + (self->piece - self->base), length, stops, n, c->ids.data + first, &count);
    if (count == BPE_NO_TOKEN) return no_token(self, (size_t)(self->piece - self->base), self->length);
    if (count == BPE_NO_MEMORY) return PyErr_NoMemory(), -1;
    if (bytes == 0) return 0;
    c->ids.used += count;
    place_ids(c, first, self->piece);
    self->piece += bytes;
    self->begun = 1;
    self->try_at = LONG;
    return 0;
}

/* --- reading ----------------------------------------------------------------------------------------------------------- */

/* Room for so many offsets of pieces. */
static int reserve(Call *c, size_t pieces)
{
    const size_t each = c->stream->encoder->machine->machine.drops ? 24 : 16;
    Working *w = c->work;
    if (pieces <= c->room) return 0;
    if (pieces * each > w->offsets_size) {
        PyMem_RawFree(w->offsets);
        w->offsets_size = pieces * each;
        w->offsets = PyMem_RawMalloc(w->offsets_size);
        if (w->offsets == NULL) return w->offsets_size = 0, PyErr_NoMemory(), -1;
    }
    c->room = w->offsets_size / each;
    c->offsets = w->offsets;
    c->starts = (uint32_t *)(void *)(c->offsets + (each - 8) / 8 * c->room);
    c->ends = c->starts + c->room;
    return 0;
}

/* Up to where the lexer has read, in what is held. */
static size_t read_to(const TokenStream *self) { return (size_t)(self->section + self->lexer.length + self->lexer.tail_length - self->base); }

static int lex(Call *c, size_t to)
{
    TokenStream *self = c->stream;
    void *scratch = self->encoder->machine->machine.lanes != NULL ? scratch_behind(c->work->cursor) : NULL;
    size_t from, used, found;
    while ((from = read_to(self)) < to) {
        if (reserve(c, to - from + self->lexer.count + BITLEX_STREAM_ROOM) < 0) return -1;
        found = bitlex_stream_feed(&self->lexer, c->work->cursor, scratch, self->text + from, to - from, BITLEX_UTF8, &used, c->offsets, c->room);
        if (take_pieces(c, found) < 0) return -1;
        if (self->lexer.full && bitlex_py_more_places(&self->lexer, self->hold) < 0) return -1;
    }
    return 0;
}

/* The text of the lexer ends; the next one begins there. */
static int end_section(Call *c, uint64_t next)
{
    TokenStream *self = c->stream;
    if (reserve(c, self->lexer.count + BITLEX_STREAM_ROOM) < 0) return -1;
    if (take_pieces(c, bitlex_stream_finish(&self->lexer, c->offsets)) < 0) return -1;
    begin_lexer(self, next);
    return 0;
}

/* A special token, in what is held. */
static int add_special(Call *c, const special_match *found)
{
    TokenStream *self = c->stream;
    if (end_section(c, self->base + found->end) < 0) return -1;
    if (bitlex_py_reserve(&c->ids, 1) < 0) return PyErr_NoMemory(), -1;
    if (c->ids.placed) {
        c->ids.places[2 * c->ids.used] = self->base + found->start;
        c->ids.places[2 * c->ids.used + 1] = self->base + found->end;
    }
    c->ids.data[c->ids.used++] = found->id;
    return 0;
}

/* Read what is held; what may be the beginning of a special token only if the text ends here. */
static int read_held(Call *c, int ends)
{
    TokenStream *self = c->stream;
    const specials *allowed = tokens_of(self->allowed), *disallowed = tokens_of(self->disallowed);
    special_match found, wrong;
    uint64_t limit, open;
    int is_there = 1;
    while (is_there) {
        limit = self->length;
        is_there = 0;
        if (allowed != NULL) {
            open = ends ? self->length : specials_open(allowed, self->text, self->length, read_to(self));
            is_there = specials_find(allowed, self->text, self->length, read_to(self), &found) && found.start < open;
            limit = is_there ? found.start : open;
        }
        if (disallowed != NULL) {
            const uint64_t from = self->checked - self->base;
            open = ends ? self->length : specials_open(disallowed, self->text, self->length, from);
            if (specials_find(disallowed, self->text, self->length, from, &wrong) && wrong.start < open) {
                bitlex_py_raise_special(self->text + wrong.start, (size_t)(wrong.end - wrong.start), self->base + wrong.start);
                return -1;
            }
            self->checked = self->base + open;
            if (is_there && found.end > open) is_there = 0;
            if (open < limit) limit = open;
        }
        if (lex(c, (size_t)limit) < 0) return -1;
        if (is_there && add_special(c, &found) < 0) return -1;
    }
    return ends ? end_section(c, self->base + self->length) : 0;
}

/* Forget what was handed out, and what is dropped. */
static int forget(Call *c)
{
    TokenStream *self = c->stream;
    const bitlex_stream *lexer = &self->lexer;
    uint64_t needed = self->piece;
    if (self->encoder->machine->machine.drops) {
        const uint64_t start = self->section + (lexer->opened ? lexer->start : lexer->count > 0 ? lexer->open[0] >> 6 : lexer->length);
        if (start > needed) needed = self->piece = start;
    }
    if ((!self->encoder->machine->machine.drops || lexer->opened) && hand_out_final(c) < 0) return -1;
    needed = self->piece;
    self->length -= (size_t)(needed - self->base);
    memmove(self->text, self->text + (needed - self->base), self->length);
    self->base = needed;
    if (self->length <= (size_t)self->hold) return 0;
    bitlex_py_raise_hold(self->hold, "bytes");
    return -1;
}

static int read_part(Call *c, const uint8_t *bytes, uint64_t length)
{
    TokenStream *self = c->stream;
    uint64_t done = 0;
    uint32_t turns = 0;
    while (done < length) {
        const size_t part = length - done < AT_ONCE ? (size_t)(length - done) : AT_ONCE;
        if (self->length + part > self->room) {
            const size_t room = self->length + part + self->length / 2;
            uint8_t *grown = PyMem_RawRealloc(self->text, room);
            if (grown == NULL) return PyErr_NoMemory(), -1;
            self->text = grown;
            self->room = room;
        }
        memcpy(self->text + self->length, bytes + done, part);
        self->length += part;
        done += part;
        if (read_held(c, 0) < 0 || forget(c) < 0) return -1;
        if (++turns % (SLICE / AT_ONCE) == 0 && PyErr_CheckSignals() < 0) return -1;
    }
    return 0;
}

/* --- the type ---------------------------------------------------------------------------------------------------------- */

/* What a call gives, whose memory is freed; NULL if it failed. */
static PyObject *end_call(Call *c, int failed)
{
    TokenStream *self = c->stream;
    PyObject *result = NULL;
    if (c->work != NULL) bitlex_py_end_work(c->work, self->encoder);
    if (failed) self->broken = 1;
    else if (self->result == LISTS) result = bitlex_py_ids_as_list(self->encoder, c->ids.data, c->ids.used);
    else if (self->result == ARRAYS) result = bitlex_py_ids_as_numpy((PyObject *)self, &c->ids);
    else result = bitlex_py_ids_and_places((PyObject *)self, &c->ids);
    bitlex_py_free_ids(&c->ids);
    return result;
}

static int begin_call(Call *c, TokenStream *self, size_t length)
{
    memset(c, 0, sizeof *c);
    c->stream = self;
    c->ids.placed = self->result == PLACED;
    if (self->broken) {
        PyErr_SetString(PyExc_ValueError, "this stream has failed: reset it before it reads another text");
        return -1;
    }
    c->work = bitlex_py_begin_work(self->encoder);
    if (c->work == NULL || bitlex_py_reserve(&c->ids, self->length + (length < AT_ONCE ? length : AT_ONCE) + 64) < 0)
        return PyErr_NoMemory(), -1;
    return 0;
}

static PyObject *stream_feed(TokenStream *self, PyObject *part)
{
    Call c;
    Utf8 u;
    int encoded, failed;
    if (bitlex_py_utf8_begin(&u, part) < 0) return NULL;
    encoded = u.text.string != NULL ? 2 : 1;
    if (self->encoded != 0 && self->encoded != encoded) {
        PyErr_Format(PyExc_TypeError, "this stream was fed %s before, and a text cannot be both", encoded == 1 ? "str" : "bytes");
        bitlex_py_utf8_end(&u);
        return NULL;
    }
    failed = begin_call(&c, self, (size_t)u.length) < 0;
    if (!failed) {
        self->encoded = encoded;
        failed = read_part(&c, u.bytes, u.length) < 0;
    }
    bitlex_py_utf8_end(&u);
    return end_call(&c, failed);
}

static PyObject *stream_finish(TokenStream *self, PyObject *unused)
{
    Call c;
    const int failed = begin_call(&c, self, 0) < 0 || read_held(&c, 1) < 0;
    PyObject *result = end_call(&c, failed);
    (void)unused;
    if (!failed) begin(self);
    return result;
}

static PyObject *stream_reset(TokenStream *self, PyObject *unused)
{
    (void)unused;
    begin(self);
    Py_RETURN_NONE;
}

static PyObject *stream_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"encoder", "allowed", "disallowed", "hold", "result", NULL};
    State *state = PyType_GetModuleState(type);
    PyObject *encoder, *allowed, *disallowed;
    Py_ssize_t hold;
    int result;
    TokenStream *self;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!OOni:TokenStream", names, state->encoder, &encoder, &allowed, &disallowed, &hold, &result))
        return NULL;
    if ((allowed != Py_None && !Py_IS_TYPE(allowed, state->specials)) || (disallowed != Py_None && !Py_IS_TYPE(disallowed, state->specials))) {
        PyErr_SetString(PyExc_TypeError, "expected Specials or None");
        return NULL;
    }
    if (hold < 0 || (uint64_t)hold > UINT32_MAX / 4 || result < 0 || result >= FORMS) {
        PyErr_SetString(PyExc_ValueError, "hold must be 0 or more, and less than 2**30, and result 0, 1 or 2");
        return NULL;
    }
    self = (TokenStream *)type->tp_alloc(type, 0);
    if (self == NULL) return NULL;
    self->encoder = (Encoder *)Py_NewRef(encoder);
    self->allowed = Py_NewRef(allowed);
    self->disallowed = Py_NewRef(disallowed);
    self->hold = hold;
    self->result = (Result)result;
    if (begin_lexer(self, 0) == 0) return (PyObject *)self;
    Py_DECREF(self);
    return NULL;
}

static PyObject *stream_copy(TokenStream *self, PyObject *unused)
{
    TokenStream *twin = (TokenStream *)Py_TYPE(self)->tp_alloc(Py_TYPE(self), 0);
    const size_t head = offsetof(TokenStream, encoder);
    (void)unused;
    if (twin == NULL) return NULL;
    memcpy((char *)twin + head, (char *)self + head, sizeof *twin - head);
    Py_INCREF(twin->encoder);
    Py_INCREF(twin->allowed);
    Py_INCREF(twin->disallowed);
    twin->text = NULL;
    twin->lexer.more = NULL;
    twin->room = self->length;
    if (bitlex_py_copy_stream(&twin->lexer, &self->lexer) == 0 && (twin->text = PyMem_RawMalloc(self->length + 1)) != NULL) {
        if (self->length > 0) memcpy(twin->text, self->text, self->length);
        return (PyObject *)twin;
    }
    Py_DECREF(twin);
    return PyErr_NoMemory();
}

static void stream_dealloc(TokenStream *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyMem_RawFree(self->text);
    PyMem_RawFree(self->lexer.more);
    Py_XDECREF(self->encoder);
    Py_XDECREF(self->allowed);
    Py_XDECREF(self->disallowed);
    type->tp_free((PyObject *)self);
    Py_DECREF(type);
}

static PyObject *stream_held(TokenStream *self, void *unused)
{
    (void)unused;
    return PyLong_FromSize_t(sizeof *self + self->room + (self->lexer.room - BITLEX_STREAM_OPEN) * sizeof(uint64_t));
}

static PyMethodDef stream_methods[] = {
    {"feed", (PyCFunction)(void (*)(void))stream_feed, METH_O, "feed(part) -> the ids that are settled"},
    {"finish", (PyCFunction)(void (*)(void))stream_finish, METH_NOARGS, "finish() -> the rest; the stream is then as new"},
    {"reset", (PyCFunction)(void (*)(void))stream_reset, METH_NOARGS, "reset(): begin another text"},
    {"copy", (PyCFunction)(void (*)(void))stream_copy, METH_NOARGS, "copy() -> another stream, of the same text so far"},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef stream_properties[] = {
    {"size", (getter)(void (*)(void))stream_held, NULL, "the bytes of memory that the stream takes", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot stream_slots[] = {
    {Py_tp_new, stream_new},
    {Py_tp_dealloc, stream_dealloc},
    {Py_tp_methods, stream_methods},
    {Py_tp_getset, stream_properties},
    {Py_tp_doc, "TokenStream(encoder, allowed, disallowed, hold, result): encodes a text in parts, and gives lists (0), arrays (1), or arrays "
                "of ids and of their places in bytes (2)"},
    {0, NULL},
};
PyType_Spec bitlex_py_token_stream_spec = {
    "bitlex._native.TokenStream", sizeof(TokenStream), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE, stream_slots};
