/* _decoding.c - ids in, what they stand for out: the methods of an Encoder that decode.
 *
 * Ids are decoded to memory for as many bytes as they are expected to be, and measured only if they are more. The object is made of what
 * there is (_decoded.c). Many ids of one text are decoded as _growing.c says. Many texts are decoded in rounds, each by several threads:
 * first the bytes of all are found, then all objects are made, then all are filled.
 *
 * Invariant: another thread may change ids meanwhile; nothing is ever written outside of what there is.
 *
 * Rejected: to measure ids first, so that each object is made before its bytes are there, and needs no other memory (a half to three
 * quarters more time, and where bytes are not UTF-8, that is found too late).
 */
#include "_tokens.h"
#include "_threads.h"

#define WORTH (1u << 20) /* ids that a thread is worth: a millisecond; and has of a round */
#define MOST_TEXTS 65536 /* of a round */
#define EXPECTED 8 /* bytes of an id; few have more on average */
#define FEW SOURCE_BLOCK /* ids that are decoded to the stack, */
#define MANY 32768 /* and up to which to memory of their own */

typedef enum { NO_FAULT, NO_TOKEN, CHANGED, SHORT_OF_MEMORY } Fault;

/* One text. */
typedef struct {
    Source source;
    size_t at;           /* ids that were decoded, */
    uint8_t *bytes;      /* to here: */
    size_t room, size;
    uint8_t *own;        /* or NULL, if this is not its own memory */
    uint32_t widest;
    Fault fault;
    Decoded decoded;
    int stored;          /* whether the str of `decoded` is complete */
} Decoding;

/* Of a call. */
typedef struct {
    Encoder *encoder;
    const char *errors; /* or NULL, for bytes */
    int skip;
} How;

void bitlex_py_raise_no_token(const Source *s, size_t at)
{
    PyObject *number = PySequence_GetItem(s->given, (Py_ssize_t)at); /* it need not be one of 32 bits */
    if (number == NULL) PyErr_SetString(PyExc_RuntimeError, "the ids changed while they were decoded");
    else PyErr_Format(PyExc_KeyError, "ids[%zu] is %S, which is no token of this vocabulary", at, number);
    Py_XDECREF(number);
}

/* --- one text ------------------------------------------------------------------------------------------------------------ */

/* Decode ids as far as there is room: whether that is all. */
static int decode_on(const How *how, Decoding *d)
{
    uint32_t room[SOURCE_BLOCK];
    uint8_t *to = d->bytes + d->size;
    size_t count, done;
    while (d->at < d->source.count) {
        const uint32_t *ids = bitlex_py_source_block(&d->source, d->at, &count, room);
        done = bpe_decode(&how->encoder->decoder, ids, count, how->skip, &to, d->bytes + d->room, &d->widest);
        d->at += done;
        d->size = (size_t)(to - d->bytes);
        if (done < count) return 0;
    }
    return 1;
}

/* How many bytes the ids that are left are; d->fault is set if one is no token. */
static uint64_t measure(const How *how, Decoding *d)
{
    uint32_t room[SOURCE_BLOCK];
    bpe_extent extent = {0, 0, 0};
    size_t at, count, done;
    for (at = d->at; at < d->source.count; at += count) {
        const uint32_t *ids = bitlex_py_source_block(&d->source, at, &count, room);
        done = bpe_measure(&how->encoder->decoder, ids, count, how->skip, &extent);
        if (done == count) continue;
        d->at = at + done;
        d->fault = NO_TOKEN;
        break;
    }
    return extent.bytes;
}

/* Take memory for so many bytes more. */
static void take(Decoding *d, uint64_t more)
{
    const size_t room = d->size + (size_t)more + 1; /* some, in any case */
    uint8_t *grown = more > PY_SSIZE_T_MAX / 2 - d->size ? NULL : PyMem_RawRealloc(d->own, room);
    if (grown == NULL) {
        d->fault = SHORT_OF_MEMORY;
        return;
    }
    if (d->own == NULL && d->size > 0) memcpy(grown, d->bytes, d->size);
    d->bytes = d->own = grown;
    d->room = room;
}

/* The bytes of all ids. Touches no object. */
static void decode_ids(const How *how, Decoding *d)
{
    const bpe_vectors vectors = how->encoder->decoder.vectors;
    if (d->bytes == NULL) take(d, d->source.count > MANY ? measure(how, d) : d->source.count * EXPECTED);
    if (!d->fault && !decode_on(how, d)) {
        const uint64_t more = measure(how, d);
        if (!d->fault) take(d, more);
        if (!d->fault && !decode_on(how, d)) d->fault = CHANGED;
    }
    d->decoded.bytes = d->bytes;
    d->decoded.size = d->size;
    d->decoded.widest = d->widest;
    if (!d->fault && how->errors != NULL) d->decoded.characters = d->widest == 0 ? d->size : bpe_characters(d->bytes, d->size, vectors);
}

static void raise(const Decoding *d)
{
    if (d->fault == NO_TOKEN) bitlex_py_raise_no_token(&d->source, d->at);
    else if (d->fault == CHANGED) PyErr_SetString(PyExc_RuntimeError, "the ids changed while they were decoded");
    else PyErr_NoMemory();
}

static PyObject *by_python(const How *how, const Decoding *d)
{
    return PyUnicode_DecodeUTF8((const char *)d->bytes, (Py_ssize_t)d->size, how->errors);
}

/* What was decoded: NULL with an exception set. */
static PyObject *object_of(const How *how, Decoding *d)
{
    PyObject *made = NULL;
    if (d->fault) {
        raise(d);
    } else if (how->errors == NULL) {
        made = PyBytes_FromStringAndSize((const char *)d->bytes, (Py_ssize_t)d->size);
    } else if (d->widest == 0) {
        made = PyUnicode_New((Py_ssize_t)d->size, 0x7F);
        if (made != NULL) memcpy(PyUnicode_DATA(made), d->bytes, d->size);
    } else {
        made = bitlex_py_decoded(&d->decoded, how->errors, how->encoder->decoder.vectors);
        if (made == NULL && !PyErr_Occurred()) made = by_python(how, d);
    }
    return made;
}

static PyObject *decode(const How *how, PyObject *ids)
{
    uint8_t block[FEW * EXPECTED];
    Decoding d = {.fault = NO_FAULT};
    PyObject *made;
    if (bitlex_py_source_begin(&d.source, ids) < 0) return NULL;
    if (d.source.count > MANY) {
        made = bitlex_py_decode_growing(&how->encoder->decoder, &d.source, how->errors, how->skip);
    } else {
        if (d.source.count <= FEW) {
            d.bytes = block;
            d.room = sizeof block;
        }
        decode_ids(how, &d);
        made = object_of(how, &d);
        PyMem_RawFree(d.own);
    }
    bitlex_py_source_end(&d.source);
    return made;
}

/* Whether `skip` is true: -1 with an exception set if there are other arguments than these. */
static int read_skip(PyObject *const *arguments, Py_ssize_t count, Py_ssize_t most, const char *expected)
{
    if (count == most) return PyObject_IsTrue(arguments[most - 1]);
    PyErr_Format(PyExc_TypeError, "expected %s, got %zd arguments", expected, count);
    return -1;
}

PyObject *bitlex_py_decode(Encoder *self, PyObject *const *arguments, Py_ssize_t count)
{
    How how = {self, NULL, count > 1 ? read_skip(arguments, count, 2, "(ids, skip=False)") : 0};
    if (how.skip < 0) return NULL;
    if (count >= 1) return decode(&how, arguments[0]);
    PyErr_SetString(PyExc_TypeError, "expected (ids, skip=False)");
    return NULL;
}

PyObject *bitlex_py_decode_text(Encoder *self, PyObject *const *arguments, Py_ssize_t count)
{
    How how = {self, NULL, read_skip(arguments, count, 3, "(ids, errors, skip)")};
    if (how.skip < 0 || (how.errors = PyUnicode_AsUTF8(arguments[1])) == NULL) return NULL;
    return decode(&how, arguments[0]);
}

/* --- many texts ---------------------------------------------------------------------------------------------------------- */

typedef struct {
    Job job;
    How how;
    Decoding *texts;
    Py_ssize_t first; /* of all texts, the first one of these */
    size_t count, next, at_once;
    uint8_t *memory; /* for the bytes of texts, or NULL */
    size_t memory_size;
    int made; /* whether they are to be filled, not decoded */
} Batch;

static void work_on(Batch *b, size_t from, size_t to)
{
    for (; from < to; from++) {
        Decoding *d = b->texts + from;
        if (!b->made) decode_ids(&b->how, d);
        else if (d->decoded.made != NULL) d->stored = bitlex_py_decoded_store(&d->decoded, b->how.encoder->decoder.vectors);
    }
}

static void work(Worker *w)
{
    Batch *b = (Batch *)w->job;
    size_t from = 0, to = 0;
    for (;;) {
        uint64_t ids = 0;
        for (; from < to; from++) ids += b->texts[from].source.count;
        if (!bitlex_py_may_go_on(w, 4 * ids)) return;
        PyThread_acquire_lock(b->job.lock, WAIT_LOCK);
        from = b->next;
        to = b->count - from < b->at_once ? b->count : from + b->at_once;
        b->next = to;
        PyThread_release_lock(b->job.lock);
        if (from == to) return;
        work_on(b, from, to);
    }
}

/* What is wrong with ids, not with what they stand for, says of which text it is. */
static void name_text(Py_ssize_t i)
{
    if (PyErr_ExceptionMatches(PyExc_KeyError) || PyErr_ExceptionMatches(PyExc_TypeError)) bitlex_py_name_index("batch", i);
}

static int make_all(void *job)
{
    Batch *b = job;
    for (size_t i = 0; i < b->count; i++) {
        Decoding *d = b->texts + i;
        if (d->fault) {
            raise(d);
            name_text(b->first + (Py_ssize_t)i);
        }
        if (d->fault || bitlex_py_decoded_begin(&d->decoded, b->how.errors) < 0) return -1;
    }
    b->made = 1;
    b->next = 0;
    return 0;
}

/* How many threads the ids of a tuple are worth. */
static uint64_t useful_threads(PyObject *tuple, Py_ssize_t threads)
{
    const Py_ssize_t count = PyTuple_GET_SIZE(tuple);
    uint64_t ids = 0;
    for (Py_ssize_t i = 0; threads > 1 && i < count; i++) {
        const Py_ssize_t size = PyObject_Size(PyTuple_GET_ITEM(tuple, i));
        if (size < 0) PyErr_Clear(); /* what it is will be found out when it is read */
        else ids += (uint64_t)size;
    }
    if (threads > count) threads = count;
    return ids / WORTH + 1 < (uint64_t)threads ? ids / WORTH + 1 : (uint64_t)threads;
}

/* By one thread, text after text. */
static PyObject *decode_each(const How *how, PyObject *tuple)
{
    PyObject *list = PyList_New(PyTuple_GET_SIZE(tuple));
    for (Py_ssize_t i = 0; list != NULL && i < PyTuple_GET_SIZE(tuple); i++) {
        PyObject *made = PyErr_CheckSignals() < 0 ? NULL : decode(how, PyTuple_GET_ITEM(tuple, i));
        if (made == NULL) {
            name_text(i);
            Py_CLEAR(list);
        } else {
            PyList_SET_ITEM(list, i, made);
        }
    }
    return list;
}

/* The str of one text that threads have filled: NULL with an exception set. */
static PyObject *filled(const How *how, Decoding *d)
{
    PyObject *made = d->decoded.made;
    d->decoded.made = NULL;
    if (d->stored) return made;
    Py_XDECREF(made);
    return by_python(how, d);
}

/* Begin texts of a round, and share out memory among those that it is for: -1 with an exception set. */
static int begin_round(Batch *b, PyObject *tuple, Py_ssize_t from, uint64_t threads)
{
    const size_t left = (size_t)(PyTuple_GET_SIZE(tuple) - from), most = left < MOST_TEXTS ? left : MOST_TEXTS;
    uint64_t ids = 0;
    uint8_t *memory;
    size_t i;
    b->texts = PyMem_Calloc(most, sizeof *b->texts);
    if (b->texts == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (; b->count < most && ids < threads * WORTH; b->count++) {
        Decoding *d = b->texts + b->count;
        if (bitlex_py_source_begin(&d->source, PyTuple_GET_ITEM(tuple, from + (Py_ssize_t)b->count)) < 0) {
            name_text(from + (Py_ssize_t)b->count);
            return -1;
        }
        ids += d->source.count;
        if (d->source.count < WORTH) b->memory_size += d->source.count * EXPECTED;
    }
    b->memory = memory = bitlex_py_take(FOR_TEXTS, b->memory_size);
    for (i = 0; memory != NULL && i < b->count; i++) {
        Decoding *d = b->texts + i;
        if (d->source.count >= WORTH) continue;
        d->bytes = memory;
        d->room = d->source.count * EXPECTED;
        memory += d->room;
    }
    return 0;
}

/* Some texts, from one on, become items of the list; each thread takes a few at a time. How many they are: -1 with an exception set. */
static Py_ssize_t decode_round(const How *how, PyObject *tuple, Py_ssize_t from, uint64_t threads, PyObject *list)
{
    Batch b = {.job = {.machine = &how->encoder->machine->machine, .work = work, .between = make_all}, .how = *how, .first = from};
    int failed = begin_round(&b, tuple, from, threads);
    b.at_once = b.count / (size_t)threads / 16 + 1;
    if (!failed) failed = bitlex_py_share(&b.job, threads);
    for (size_t i = 0; i < b.count; i++) {
        Decoding *d = b.texts + i;
        PyObject *made = failed ? NULL : filled(how, d);
        if (made == NULL) failed = -1;
        else PyList_SET_ITEM(list, from + (Py_ssize_t)i, made);
        Py_XDECREF(d->decoded.made);
        PyMem_RawFree(d->own);
        bitlex_py_source_end(&d->source);
    }
    bitlex_py_let_go(FOR_TEXTS, b.memory, b.memory_size, b.memory_size);
    PyMem_Free(b.texts);
    return failed ? -1 : (Py_ssize_t)b.count;
}

static PyObject *decode_together(const How *how, PyObject *tuple, uint64_t threads)
{
    const Py_ssize_t count = PyTuple_GET_SIZE(tuple);
    PyObject *list = PyList_New(count);
    for (Py_ssize_t at = 0, n; list != NULL && at < count; at += n) {
        n = PyErr_CheckSignals() < 0 ? -1 : decode_round(how, tuple, at, threads, list);
        if (n < 0) Py_CLEAR(list);
    }
    return list;
}

PyObject *bitlex_py_decode_batch(Encoder *self, PyObject *const *arguments, Py_ssize_t count)
{
    How how = {self, NULL, read_skip(arguments, count, 4, "(batch, errors, threads, skip)")};
    PyObject *tuple, *list;
    Py_ssize_t threads;
    uint64_t useful;
    if (how.skip < 0 || (how.errors = PyUnicode_AsUTF8(arguments[1])) == NULL) return NULL;
    threads = PyNumber_AsSsize_t(arguments[2], PyExc_OverflowError);
    if (threads == -1 && PyErr_Occurred()) return NULL;
    if (bitlex_py_iterable(arguments[0], "sequences of ids") < 0) return NULL;
    if ((tuple = PySequence_Tuple(arguments[0])) == NULL) return NULL;
    useful = useful_threads(tuple, threads > 0 ? threads : 1);
    list = useful <= 1 ? decode_each(&how, tuple) : decode_together(&how, tuple, useful);
    Py_DECREF(tuple);
    return list;
}

/* --- tokens -------------------------------------------------------------------------------------------------------------- */

typedef enum { TOKENS, TOKEN_ENDS } Listed;

/* A list of the tokens of ids, or of where each ends in what they decode to. */
static PyObject *list_of(Encoder *self, PyObject *ids, Listed what)
{
    uint32_t room[SOURCE_BLOCK];
    PyObject *list = NULL;
    uint64_t end = 0;
    size_t at = 0, count, i;
    Source s;
    if (bitlex_py_source_begin(&s, ids) < 0) return NULL;
    list = PyList_New((Py_ssize_t)s.count);
    for (; list != NULL && at < s.count; at += count) {
        const uint32_t *block = bitlex_py_source_block(&s, at, &count, room);
        for (i = 0; list != NULL && i < count; i++) {
            const uint8_t *bytes;
            const uint32_t id = block[i];
            const size_t length = bpe_token(&self->decoder, id, 0, &bytes);
            PyObject *made = NULL;
            if (length == SIZE_MAX) bitlex_py_raise_no_token(&s, at + i);
            else if (what == TOKENS) made = PyBytes_FromStringAndSize((const char *)bytes, (Py_ssize_t)length);
            else made = PyLong_FromUnsignedLongLong(end += length);
            if (made == NULL) Py_CLEAR(list);
            else PyList_SET_ITEM(list, (Py_ssize_t)(at + i), made);
        }
    }
    bitlex_py_source_end(&s);
    return list;
}

PyObject *bitlex_py_ends(Encoder *self, PyObject *ids) { return list_of(self, ids, TOKEN_ENDS); }

PyObject *bitlex_py_tokens(Encoder *self, PyObject *ids) { return list_of(self, ids, TOKENS); }

PyObject *bitlex_py_token(Encoder *self, PyObject *number)
{
    const uint8_t *bytes = NULL;
    size_t length;
    const Py_ssize_t id = PyNumber_AsSsize_t(number, NULL);
    if (id == -1 && PyErr_Occurred()) return NULL;
    length = id >= 0 && (uint64_t)id < BPE_NONE ? bpe_token(&self->decoder, (uint32_t)id, 0, &bytes) : SIZE_MAX;
    if (length != SIZE_MAX) return PyBytes_FromStringAndSize((const char *)bytes, (Py_ssize_t)length);
    PyErr_SetObject(PyExc_KeyError, number);
    return NULL;
}

PyObject *bitlex_py_find(Encoder *self, PyObject *token)
{
    uint32_t id;
    Utf8 u;
    if (bitlex_py_utf8_begin(&u, token) < 0) return NULL;
    id = bpe_find(&self->vocabulary, u.bytes, (size_t)u.length);
    bitlex_py_utf8_end(&u);
    if (id == BPE_NONE) Py_RETURN_NONE;
    return PyLong_FromUnsignedLong(id);
}
