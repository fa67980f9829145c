/* _encoder.c - a vocabulary as a Python type: how it is made, and what it can do.
 *
 * In: the tables of a vocabulary, or their image, and a Machine. Out: an Encoder. Its methods are elsewhere: texts to ids in _encode.c and
 * _encode_batch.c, ids to texts in _decoding.c. runtime/tokenizer.py gives names to arguments, and says what special tokens mean; here they
 * are only found.
 */
#include "_encode.h"

static State *state_of(Encoder *self) { return PyType_GetModuleState(Py_TYPE(self)); }

/* refuse(text, disallowed): ValueError if the text has one of them */
static PyObject *encoder_refuse(Encoder *self, PyObject *const *arguments, Py_ssize_t count)
{
    Utf8 u;
    int failed;
    if (count != 2 || !Py_IS_TYPE(arguments[1], state_of(self)->specials)) {
        PyErr_SetString(PyExc_TypeError, "expected (text, Specials)");
        return NULL;
    }
    if (bitlex_py_utf8_begin(&u, arguments[0]) < 0) return NULL;
    failed = bitlex_py_refuse(&u, arguments[1]) < 0;
    bitlex_py_utf8_end(&u);
    if (failed) return NULL;
    Py_RETURN_NONE;
}

static PyObject *encoder_specials(Encoder *self, PyObject *tokens)
{
    return PyObject_CallOneArg((PyObject *)state_of(self)->specials, tokens);
}

static PyObject *encoder_image(Encoder *self, PyObject *unused)
{
    (void)unused;
    return PyMemoryView_FromObject((PyObject *)self);
}

static int encoder_buffer(Encoder *self, Py_buffer *view, int flags)
{
    return PyBuffer_FillInfo(view, (PyObject *)self, self->vocabulary.image, (Py_ssize_t)self->vocabulary.size, 1, flags);
}

static PyObject *encoder_places(Encoder *self, PyObject *unused)
{
    const bpe_vocabulary *v = &self->vocabulary;
    const uint8_t *image = v->image;
    (void)unused;
    return Py_BuildValue("nn", (Py_ssize_t)(v->bytes - image), (Py_ssize_t)((const uint8_t *)v->starts - image));
}

/* --- making one -------------------------------------------------------------------------------------------------------- */

static void encoder_dealloc(Encoder *self)
{
    PyTypeObject *type = Py_TYPE(self);
    for (size_t i = 0; i < MOST_THREADS; i++) bitlex_py_free_work(self->idle[i]);
    bitlex_py_free_work(self->spare);
    if (self->lock != NULL) PyThread_free_lock(self->lock);
    bpe_decoder_end(&self->decoder);
    bpe_neighbours_end(&self->neighbours);
    Py_XDECREF(self->decoded);
    if (self->image.obj == NULL) bpe_close(&self->vocabulary);
    else PyBuffer_Release(&self->image);
    Py_XDECREF(self->machine);
    type->tp_free((PyObject *)self);
    Py_DECREF(type);
}

/* Whether tables given from Python make a vocabulary: -1 with an exception set if not. */
static int check_tables(const Py_buffer *blob, const Py_buffer *starts, const Py_buffer *merges)
{
    const uint32_t *s = starts->buf, *m = merges->obj ? merges->buf : NULL;
    const size_t count = (size_t)starts->len / 4, triples = m ? (size_t)merges->len / 12 : 0;
    size_t i;
    const char *wrong = NULL;
    if (starts->len % 4 != 0 || count == 0 || s[0] != 0 || s[count - 1] != (uint64_t)blob->len) wrong = "starts do not fit the bytes of the tokens";
    else if (count > BPE_TOKENS) wrong = "2**21 token ids or more";
    else if (m != NULL && merges->len % 12 != 0) wrong = "merges are triples of uint32";
    else if (triples > BPE_RANKS) wrong = "more merges than 2**22";
    for (i = 0; wrong == NULL && i + 1 < count; i++) {
        if (s[i] > s[i + 1]) wrong = "starts must not fall";
    }
    for (i = 0; wrong == NULL && i < 3 * triples; i++) {
        if (m[i] >= count - 1) wrong = "a merge of what is no token";
    }
    for (i = 0; wrong == NULL && i < triples; i++, m += 3) {
        if (s[m[0] + 1] - s[m[0]] + (uint64_t)(s[m[1] + 1] - s[m[1]]) != s[m[2] + 1] - s[m[2]]) wrong = "a merge that makes another length";
    }
    if (wrong != NULL) PyErr_SetString(PyExc_ValueError, wrong);
    return wrong != NULL ? -1 : 0;
}

static int build(Encoder *self, PyObject *const *tables, int whole)
{
    Py_buffer views[3];
    int begun, failed = 1;
    memset(views, 0, sizeof views);
    for (begun = 0; begun < 3; begun++) {
        if (begun == 2 && tables[2] == Py_None) break;
        if (PyObject_GetBuffer(tables[begun], views + begun, PyBUF_SIMPLE) < 0) break;
    }
    if (!PyErr_Occurred() && check_tables(views, views + 1, views + 2) == 0) {
        const uint32_t count = (uint32_t)(views[1].len / 4 - 1), ranks = views[2].obj ? (uint32_t)(views[2].len / 12) : 0;
        failed = bpe_build(&self->vocabulary, views[1].buf, views[0].buf, count, views[2].obj ? views[2].buf : NULL, ranks, whole,
                           vectors_of(self->machine->tier)) < 0;
        if (failed) PyErr_NoMemory();
    }
    while (begun-- > 0) PyBuffer_Release(views + begun);
    return failed ? -1 : 0;
}

static int open_image(Encoder *self, PyObject *image)
{
    if (PyObject_GetBuffer(image, &self->image, PyBUF_SIMPLE) < 0) return -1;
    if ((uintptr_t)self->image.buf % 8 == 0 && bpe_open(&self->vocabulary, self->image.buf, (size_t)self->image.len) == 0) return 0;
    PyErr_SetString(PyExc_ValueError, "not the tables of a vocabulary, or cut short, or of another version of bitlex or kind of machine");
    return -1;
}

static int read_id(PyObject *number, uint32_t *id)
{
    const unsigned long value = PyLong_AsUnsignedLong(number);
    if (value == (unsigned long)-1 && PyErr_Occurred()) return -1;
    *id = (uint32_t)value;
    if (value < BPE_TOKENS) return 0;
    PyErr_SetString(PyExc_ValueError, "expected ids below 2**21");
    return -1;
}

/* What is in {id: bytes}, and whether it is among the special ones: -1 with an exception set. */
static int set_others(PyObject *decoded, PyObject *special, bpe_other *others, size_t *count)
{
    PyObject *id, *bytes;
    Py_ssize_t at = 0;
    for (; PyDict_Next(decoded, &at, &id, &bytes); ++*count) {
        bpe_other *other = others + *count;
        const int is_special = PySet_Contains(special, id);
        if (is_special < 0 || read_id(id, &other->id) < 0) return -1;
        if (!PyBytes_Check(bytes) || PyBytes_GET_SIZE(bytes) > INT32_MAX) {
            PyErr_SetString(PyExc_ValueError, "expected {id below 2**21: bytes}");
            return -1;
        }
        other->bytes = (const uint8_t *)PyBytes_AS_STRING(bytes);
        other->length = (uint32_t)PyBytes_GET_SIZE(bytes);
        other->special = (uint32_t)is_special;
    }
    return 0;
}

/* Of the special ones, tokens of the vocabulary that are not decoded otherwise. */
static int set_special(const bpe_vocabulary *v, PyObject *decoded, PyObject *special, bpe_other *others, size_t *count)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(special); i++) {
        bpe_other *other = others + *count;
        const int is_known = PyDict_Contains(decoded, PyTuple_GET_ITEM(special, i));
        if (is_known < 0 || read_id(PyTuple_GET_ITEM(special, i), &other->id) < 0) return -1;
        if (!is_known && other->id < v->token_count && v->starts[other->id] < v->starts[other->id + 1]) {
            other->bytes = v->bytes + v->starts[other->id];
            other->length = v->starts[other->id + 1] - v->starts[other->id];
            other->special = 1;
            ++*count;
        }
    }
    return 0;
}

/* The bytes of ids that the vocabulary does not have, or has otherwise; and which ids are left out where special ones are. */
static int set_decoded(Encoder *self, PyObject *decoded, PyObject *special)
{
    bpe_other *others = PyMem_Calloc((size_t)(PyDict_GET_SIZE(decoded) + PyTuple_GET_SIZE(special)) + 1, sizeof *others);
    PyObject *ids = PySet_New(special);
    size_t count = 0;
    int failed = 0;
    self->decoded = PyDict_Copy(decoded); /* which holds the bytes */
    if (others == NULL) PyErr_NoMemory();
    if (others == NULL || ids == NULL || self->decoded == NULL || set_others(self->decoded, ids, others, &count) < 0 ||
        set_special(&self->vocabulary, self->decoded, special, others, &count) < 0) {
        failed = 1;
    } else if (bpe_decoder_begin(&self->decoder, &self->vocabulary, others, count) < 0) {
        PyErr_NoMemory();
        failed = 1;
    }
    self->highest = self->vocabulary.token_count > 0 ? self->vocabulary.token_count - 1 : 0;
    for (size_t i = 0; i < count; i++) self->highest = others[i].id > self->highest ? others[i].id : self->highest;
    self->decoder.vectors = vectors_of(self->machine->tier);
    Py_XDECREF(ids);
    PyMem_Free(others);
    return failed ? -1 : 0;
}

static PyObject *encoder_new(PyTypeObject *type, PyObject *arguments, PyObject *named)
{
    static char *names[] = {"machine", "decoded", "blob", "starts", "merges", "whole", "image", "special", NULL};
    PyObject *machine, *decoded, *special = NULL, *tables[3] = {Py_None, Py_None, Py_None}, *image = Py_None;
    State *state = PyType_GetModuleState(type);
    int whole = 1, failed;
    Encoder *self;
    if (!PyArg_ParseTupleAndKeywords(arguments, named, "O!O!|OOOpOO!:Encoder", names, state->machine, &machine, &PyDict_Type, &decoded, tables,
                                     tables + 1, tables + 2, &whole, &image, &PyTuple_Type, &special)) {
        return NULL;
    }
    self = (Encoder *)type->tp_alloc(type, 0);
    if (self == NULL) return NULL;
    Py_INCREF(machine);
    self->machine = (Machine *)machine;
    special = special == NULL ? PyTuple_New(0) : Py_NewRef(special);
    failed = special == NULL || (image == Py_None ? build(self, tables, whole) : open_image(self, image)) < 0 ||
             set_decoded(self, decoded, special) < 0;
    Py_XDECREF(special);
    if (!failed) {
        self->lock = PyThread_allocate_lock();
        failed = self->lock == NULL;
        if (failed) PyErr_NoMemory();
    }
    if (failed) Py_CLEAR(self);
    return (PyObject *)self;
}

#define METHOD(name, function, what) {name, (PyCFunction)(void (*)(void))function, METH_FASTCALL, what}
#define OF_ONE(name, function, what) {name, (PyCFunction)(void (*)(void))function, METH_O, what}
#define OF_NONE(name, function, what) {name, (PyCFunction)(void (*)(void))function, METH_NOARGS, what}
#define SIGNATURE "(text, allowed, disallowed, threads=1, blocks=0) -> "
#define BATCH_SIGNATURE "(texts, allowed, disallowed, threads=1, blocks=0) -> "

static PyMethodDef encoder_methods[] = {
    METHOD("encode", bitlex_py_encode_list, "encode" SIGNATURE "list of ids"),
    METHOD("encode_to_numpy", bitlex_py_encode_numpy, "encode_to_numpy" SIGNATURE "array of uint32"),
    METHOD("encode_with_offsets", bitlex_py_encode_with_offsets,
           "encode_with_offsets" SIGNATURE "(array of uint32, array of int64 with the start and end of each, of shape (n, 2))"),
    OF_ONE("encode_words", bitlex_py_encode_words,
           "encode_words(text) -> (list of ids, list of the start and end of each, list of the piece that each is of, how many pieces there "
           "are). Of a list or tuple of words, the places are those in each word, and a piece is a word"),
    METHOD("encode_into", bitlex_py_encode_into,
           "encode_into(text, out, allowed, disallowed, threads=1, blocks=0) -> how many ids were written to this array"),
    METHOD("count", bitlex_py_count_ids, "count" SIGNATURE "the number of ids"),
    METHOD("encode_window", bitlex_py_encode_next_window,
           "encode_window(text, allowed, disallowed, threads, blocks, counting, base, goes_on, begun) -> (array of uint32, or the number of ids; "
           "where in this the next window begins; what it begins with): a text in windows, the first of which begins with None"),
    METHOD("encode_batch", bitlex_py_encode_batch, "encode_batch" BATCH_SIGNATURE "list of lists"),
    METHOD("encode_batch_to_numpy", bitlex_py_encode_batch_to_numpy, "encode_batch_to_numpy" BATCH_SIGNATURE "list of arrays"),
    METHOD("encode_batch_flat", bitlex_py_encode_batch_flat,
           "encode_batch_flat(texts, allowed, disallowed, threads=1, before=(), behind=()) -> (array of all ids, those before and behind each "
           "text among them; array of where each text begins, and of the end)"),
    METHOD("count_batch", bitlex_py_count_batch, "count_batch" BATCH_SIGNATURE "list of numbers"),
    METHOD("merge", bitlex_py_merge, "merge(piece, method) -> the ids of one piece by merging, without caches"),
    METHOD("refuse", encoder_refuse, "refuse(text, disallowed): ValueError if the text has one of these special tokens"),
    OF_NONE("in_order", bitlex_py_in_order,
            "in_order() -> whether merges happen in the order of their ranks. Where they do not, 'backtrack' and 'prefixes' are 'heap'"),
    OF_ONE("specials", encoder_specials, "specials({bytes: id}) -> Specials"),
    METHOD("decode", bitlex_py_decode, "decode(ids, skip=False) -> bytes. `skip`: without special tokens"),
    METHOD("decode_text", bitlex_py_decode_text, "decode_text(ids, errors, skip) -> str"),
    METHOD("decode_batch", bitlex_py_decode_batch, "decode_batch(batch, errors, threads, skip) -> list of str"),
    OF_ONE("ends", bitlex_py_ends, "ends(ids) -> where each token ends in what they decode to"),
    OF_ONE("tokens", bitlex_py_tokens, "tokens(ids) -> list of bytes"),
    OF_ONE("token", bitlex_py_token, "token(id) -> bytes"),
    OF_ONE("find", bitlex_py_find, "find(bytes) -> the id of this token of the vocabulary, or None"),
    OF_NONE("image", encoder_image, "image() -> a view of the tables, for the argument of that name"),
    OF_NONE("places", encoder_places, "places() -> where in the image the bytes of all tokens are, and where their starts"),
    {NULL, NULL, 0, NULL},
};

static PyType_Slot encoder_slots[] = {
    {Py_tp_new, encoder_new},
    {Py_tp_dealloc, encoder_dealloc},
    {Py_tp_methods, encoder_methods},
    {Py_bf_getbuffer, encoder_buffer},
    {Py_tp_doc, "Encoder(machine, decoded, blob, starts, merges=None, whole=True, special=()) or "
                "Encoder(machine, decoded, image=buffer, special=())"},
    {0, NULL},
};
static PyType_Spec encoder_spec = {
    "bitlex._native.Encoder", sizeof(Encoder), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE, encoder_slots};

static PyMethodDef functions[] = {
    OF_ONE("checksum", bitlex_py_checksum, "checksum(buffer) -> int"),
    METHOD("read_model", bitlex_py_read_model,
           "read_model(data, alphabet) -> (spans, blob, starts, [(id, JSON of another token)], merges, table, how many tokens), or None"),
    {"find_tokens", bitlex_py_find_tokens, METH_VARARGS, "find_tokens(blob, starts, table, alphabet, names) -> their ids, or -1"},
    OF_ONE("parse_ranks", bitlex_py_parse_ranks, "parse_ranks(data) -> (blob, starts) of a rank file as it should be, or None"),
    {NULL, NULL, 0, NULL},
};

int bitlex_py_add_encoder(PyObject *module)
{
    State *state = PyModule_GetState(module);
    bitlex_py_utf8_prepare();
    bitlex_py_numbers_prepare();
    state->encoder = (PyTypeObject *)PyType_FromModuleAndSpec(module, &encoder_spec, NULL);
    state->specials = (PyTypeObject *)PyType_FromModuleAndSpec(module, &bitlex_py_specials_spec, NULL);
    state->array = (PyTypeObject *)PyType_FromModuleAndSpec(module, &bitlex_py_array_spec, NULL);
    if (state->encoder == NULL || state->specials == NULL || state->array == NULL) return -1;
    if (PyModule_AddType(module, state->encoder) < 0 || PyModule_AddType(module, state->specials) < 0) return -1;
    if (bitlex_py_add_direct(module) < 0) return -1;
    return PyModule_AddFunctions(module, functions);
}
