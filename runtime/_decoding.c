/* _decoding.c - ids in, what they stand for out: the methods of an Encoder that decode.
 *
 * The bytes of ids are measured first, with what tells how wide the characters of a str must be; then the object is made, and filled
 * by the block, the bytes of a block becoming characters while they are in the cache. Where they turn out not to be UTF-8, the bytes
 * are made, and Python decodes them as it is told to. Measuring and filling touch no object, so that several threads may do it. The ids of
 * one text are not measured, if they are no more bytes than expected, but decoded before the object is made; many as _growing.c says.
 *
 * Invariant: between the two, another thread may have changed the ids; nothing is ever written outside of the object.
 */
#include "_tokens.h"
#include "_threads.h"

#define WORTH (1u << 20) /* ids that a thread is worth: a millisecond */
#define FEW SOURCE_BLOCK /* ids that are decoded to so many bytes on the stack; */
#define FEW_BYTES 32768
#define MANY 32768 /* and up to which to so many for each, elsewhere */
#define EXPECTED 12
#define BLOCK 16384 /* bytes that are decoded at a time; a longer token is left to Python */

/* One text. */
typedef struct {
    Source source;
    bpe_extent extent;
    uint32_t wrong;    /* an id that is none, at this index; or */
    size_t measured;   /* all of them */
    PyObject *made;    /* a str or bytes */
    int filled;
} Decoding;

/* Of a call. */
typedef struct {
    Encoder *encoder;
    const char *errors; /* or NULL, for bytes */
    int skip;
} How;

void bitlex_py_raise_no_token(uint32_t id, size_t at)
{
    if (id == BPE_NONE) PyErr_Format(PyExc_KeyError, "ids[%zu] is no token id", at);
    else PyErr_Format(PyExc_KeyError, "ids[%zu] is %u, which is no token of this vocabulary", at, id);
}

/* --- one text ------------------------------------------------------------------------------------------------------------ */

static void measure(const How *how, Decoding *d)
{
    uint32_t room[SOURCE_BLOCK];
    size_t count, done;
    for (; d->measured < d->source.count; d->measured += count) {
        const uint32_t *ids = bitlex_py_source_block(&d->source, d->measured, &count, room);
        done = bpe_measure(&how->encoder->decoder, ids, count, how->skip, &d->extent);
        if (done == count) continue;
        d->wrong = ids[done];
        d->measured += done;
        return;
    }
}

/* The object that is to be filled: -1 with an exception set. */
static int make(const How *how, Decoding *d)
{
    static const Py_UCS4 widest[] = {0x7F, 0xFF, 0xFFFF, 0x10FFFF};
    if (d->measured < d->source.count) {
        bitlex_py_raise_no_token(d->wrong, d->measured);
        return -1;
    }
    if (d->extent.bytes > PY_SSIZE_T_MAX - 64) PyErr_NoMemory();
    else if (how->errors == NULL) d->made = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)d->extent.bytes);
    else d->made = PyUnicode_New((Py_ssize_t)d->extent.characters, widest[d->extent.widest]);
    return d->made == NULL ? -1 : 0;
}

/* Bytes, or characters of ASCII: whether they are those that were measured. */
static int fill_bytes(const How *how, const Decoding *d, uint8_t *out)
{
    const uint8_t *end = out + d->extent.bytes;
    uint32_t room[SOURCE_BLOCK], widest = 0;
    size_t at = 0, count;
    for (; at < d->source.count; at += count) {
        const uint32_t *ids = bitlex_py_source_block(&d->source, at, &count, room);
        if (bpe_decode(&how->encoder->decoder, ids, count, how->skip, &out, end, &widest) < count) return 0;
    }
    if (how->errors != NULL && widest > d->extent.widest) return 0;
    return out == end;
}

static int fill_characters(const How *how, const Decoding *d, uint8_t *out)
{
    const int width = d->extent.widest == 3 ? 4 : (int)d->extent.widest;
    const uint8_t *end = out + d->extent.characters * (uint64_t)width;
    uint32_t room[SOURCE_BLOCK], widest = 0;
    uint8_t block[BLOCK];
    size_t held = 0, at = 0, count, done, used;
    while (at < d->source.count) {
        const uint32_t *ids = bitlex_py_source_block(&d->source, at, &count, room);
        uint8_t *to = block + held;
        done = bpe_decode(&how->encoder->decoder, ids, count, how->skip, &to, block + BLOCK, &widest);
        used = bpe_transcode(block, (size_t)(to - block), width, how->encoder->decoder.vectors, &out, end);
        if (used == SIZE_MAX || done == 0) return 0;
        held = (size_t)(to - block) - used;
        memmove(block, block + used, held);
        at += done;
    }
    return held == 0 && out == end;
}

static void fill(const How *how, Decoding *d)
{
    if (d->extent.bytes == 0) d->filled = 1;
    else if (how->errors == NULL) d->filled = fill_bytes(how, d, (uint8_t *)PyBytes_AS_STRING(d->made));
    else if (d->extent.widest == 0) d->filled = fill_bytes(how, d, PyUnicode_DATA(d->made));
    else d->filled = d->extent.characters > 0 && fill_characters(how, d, PyUnicode_DATA(d->made));
}

/* What was made, or what Python makes of bytes that are not UTF-8: NULL with an exception set. */
static PyObject *finish(const How *how, Decoding *d)
{
    PyObject *made = d->made;
    d->made = NULL;
    if (d->filled) return made;
    Py_DECREF(made);
    made = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)d->extent.bytes);
    if (made != NULL && !fill_bytes(how, d, (uint8_t *)PyBytes_AS_STRING(made))) {
        Py_CLEAR(made);
        PyErr_SetString(PyExc_RuntimeError, "the ids changed while they were decoded");
    }
    if (made != NULL && how->errors != NULL) {
        PyObject *bytes = made;
        made = PyUnicode_DecodeUTF8(PyBytes_AS_STRING(bytes), PyBytes_GET_SIZE(bytes), how->errors);
        Py_DECREF(bytes);
    }
    return made;
}

/* What a block of bytes stands for: NULL with an exception set. */
static PyObject *of_block(const How *how, const uint8_t *bytes, size_t size, uint32_t widest)
{
    const int vectors = how->encoder->decoder.vectors;
    const bpe_extent extent = {size, widest == 0 ? size : bpe_characters(bytes, size, vectors), widest};
    Decoding d = {.extent = extent};
    uint8_t *out, *end;
    int width;
    if (how->errors == NULL) return PyBytes_FromStringAndSize((const char *)bytes, (Py_ssize_t)size);
    if (make(how, &d) < 0 || size == 0) return d.made;
    width = (int)PyUnicode_KIND(d.made);
    out = PyUnicode_DATA(d.made);
    end = out + extent.characters * (uint64_t)width;
    if (widest == 0) {
        memcpy(out, bytes, size);
    } else if (extent.characters == 0 || bpe_transcode(bytes, size, width, vectors, &out, end) != size || out != end) {
        Py_SETREF(d.made, PyUnicode_DecodeUTF8((const char *)bytes, (Py_ssize_t)size, how->errors));
    }
    return d.made;
}

/* What ids stand for that are decoded to so much room: NULL without an exception if it does not hold them, or one is none. */
static PyObject *decode_to(const How *how, const Source *source, uint8_t *bytes, size_t size)
{
    uint32_t room[SOURCE_BLOCK], widest = 0;
    uint8_t *to = bytes;
    size_t at = 0, count;
    for (; at < source->count; at += count) {
        const uint32_t *ids = bitlex_py_source_block(source, at, &count, room);
        if (bpe_decode(&how->encoder->decoder, ids, count, how->skip, &to, bytes + size, &widest) < count) return NULL;
    }
    return of_block(how, bytes, (size_t)(to - bytes), widest);
}

static PyObject *decode_few(const How *how, const Source *source)
{
    uint8_t block[FEW_BYTES];
    return decode_to(how, source, block, FEW_BYTES);
}

static PyObject *decode_some(const How *how, const Source *source)
{
    const size_t size = source->count * EXPECTED;
    uint8_t *bytes = PyMem_RawMalloc(size);
    PyObject *made = bytes == NULL ? NULL : decode_to(how, source, bytes, size);
    PyMem_RawFree(bytes);
    return made;
}

static PyObject *decode(const How *how, PyObject *ids)
{
    Decoding d = {.measured = 0};
    PyObject *made = NULL;
    if (bitlex_py_source_begin(&d.source, ids) < 0) return NULL;
    if (d.source.count > MANY) {
        made = bitlex_py_decode_growing(&how->encoder->decoder, &d.source, how->errors, how->skip);
    } else {
        made = d.source.count > FEW ? decode_some(how, &d.source) : decode_few(how, &d.source);
    }
    if (made == NULL && !PyErr_Occurred()) {
        measure(how, &d);
        if (make(how, &d) == 0) {
            fill(how, &d);
            made = finish(how, &d);
        }
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
    size_t count, begun, next, at_once;
    int made; /* whether they are to be filled, not measured */
} Batch;

static void work_on(Batch *b, size_t from, size_t to)
{
    for (; from < to; from++) {
        if (b->made) fill(&b->how, b->texts + from);
        else measure(&b->how, b->texts + from);
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

static int make_all(void *job)
{
    Batch *b = job;
    for (size_t i = 0; i < b->count; i++) {
        if (make(&b->how, b->texts + i) < 0) return -1;
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
        PyObject *made = decode(how, PyTuple_GET_ITEM(tuple, i));
        if (made == NULL) Py_CLEAR(list);
        else PyList_SET_ITEM(list, i, made);
    }
    return list;
}

/* By several, each of which takes a few texts at a time: first all are measured, then all are made, then all are filled. */
static PyObject *decode_together(Encoder *self, const How *how, PyObject *tuple, uint64_t threads)
{
    Batch b = {.job = {.machine = &self->machine->machine, .work = work, .between = make_all, .buffer_size = 1}, .how = *how};
    PyObject *list = NULL;
    b.count = (size_t)PyTuple_GET_SIZE(tuple);
    b.at_once = b.count / (size_t)threads / 16 + 1;
    b.texts = PyMem_Calloc(b.count + 1, sizeof *b.texts);
    if (b.texts == NULL) return PyErr_NoMemory();
    while (b.begun < b.count) {
        if (bitlex_py_source_begin(&b.texts[b.begun].source, PyTuple_GET_ITEM(tuple, (Py_ssize_t)b.begun)) < 0) break;
        b.begun++;
    }
    if (b.begun == b.count && bitlex_py_share(&b.job, threads) == 0) list = PyList_New((Py_ssize_t)b.count);
    for (size_t i = 0; list != NULL && i < b.count; i++) {
        PyObject *made = finish(&b.how, b.texts + i);
        if (made == NULL) Py_CLEAR(list);
        else PyList_SET_ITEM(list, (Py_ssize_t)i, made);
    }
    while (b.begun-- > 0) {
        Py_XDECREF(b.texts[b.begun].made);
        bitlex_py_source_end(&b.texts[b.begun].source);
    }
    PyMem_Free(b.texts);
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
    if ((tuple = PySequence_Tuple(arguments[0])) == NULL) return NULL;
    useful = useful_threads(tuple, threads > 0 ? threads : 1);
    list = useful <= 1 ? decode_each(&how, tuple) : decode_together(self, &how, tuple, useful);
    Py_DECREF(tuple);
    return list;
}

/* --- tokens -------------------------------------------------------------------------------------------------------------- */

PyObject *bitlex_py_ends(Encoder *self, PyObject *ids)
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
            PyObject *made;
            if (length == SIZE_MAX) bitlex_py_raise_no_token(id, at + i);
            made = length == SIZE_MAX ? NULL : PyLong_FromUnsignedLongLong(end += length);
            if (made == NULL) Py_CLEAR(list);
            else PyList_SET_ITEM(list, (Py_ssize_t)(at + i), made);
        }
    }
    bitlex_py_source_end(&s);
    return list;
}

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
