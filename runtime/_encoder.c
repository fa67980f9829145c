/* _encoder.c - a vocabulary as a Python type: texts in, ids out.
 *
 * In: the tables of a vocabulary, or their image, and a Machine. Out: an Encoder, whose ids _decoding.c takes back. runtime/tokenizer.py gives names to arguments, and says
 * what special tokens mean; here they are only found.
 *
 * Invariants: each method ends the work that it began. The GIL is released for texts above RELEASE bytes. A method that encodes takes
 * (text, allowed, disallowed, threads=1, blocks=0), the second and third being Specials or None. `blocks`: how long a part must be for a
 * thread, and how much of a str is made UTF-8 at a time, in blocks of the lexer; 0: as it is worth it.
 */
#include "_tokens.h"

#define MADE_TOGETHER (1 << 18) /* characters of a str from which on several threads make it UTF-8 */
#define SHORT (UTF8_LENT - UTF8_SLACK) /* bytes of a text */
#if SHORT + BPE_PADDING > FEW_IDS
#error "the ids of a short text are too many to be copied"
#endif

/* A call with one text. What a short one needs lies here: to ask for memory, and to let it go, takes a tenth of the call. */
typedef struct {
    Task task;
    Utf8 text;
    uint8_t bytes[UTF8_LENT]; /* of it; and behind them what is read with a key of 16 bytes */
    uint32_t ids[SHORT + BPE_PADDING];
} Call;

static State *state_of(Encoder *self) { return PyType_GetModuleState(Py_TYPE(self)); }

/* --- errors ------------------------------------------------------------------------------------------------------------ */

static void raise_outcome(Encoded outcome, const Task *task)
{
    switch (outcome) {
    case NO_ROOM: PyErr_NoMemory(); break;
    case NO_BYTE:
        PyErr_Format(PyExc_ValueError, "byte 0x%02x at %llu is no token of this vocabulary", task->text[task->at], (unsigned long long)task->at);
        break;
    case TOO_LONG: PyErr_SetString(PyExc_OverflowError, "a piece of the text has 4 GiB or more"); break;
    default: break; /* an exception is set */
    }
}

static int look_at_signals(void *context)
{
    PyThreadState **released = context;
    int failed;
    PyEval_RestoreThread(*released);
    failed = PyErr_CheckSignals() < 0;
    *released = PyEval_SaveThread();
    return !failed;
}

void bitlex_py_raise_special(const uint8_t *bytes, size_t length, uint64_t at)
{
    PyObject *token = PyUnicode_DecodeUTF8((const char *)bytes, (Py_ssize_t)length, "replace");
    if (token != NULL) {
        PyErr_Format(PyExc_ValueError,
                     "the text has the special token %R, at byte %llu. To have it encoded as that token, pass allowed_special={%R} or "
                     "allowed_special='all'; to have it encoded as any other text, disallowed_special=()",
                     token, (unsigned long long)at, token);
        Py_DECREF(token);
    }
}

/* A special token that must not be there: -1 with an exception set. */
static int refuse(const Utf8 *u, PyObject *disallowed)
{
    special_match found;
    if (disallowed == Py_None || !specials_find(&((Specials *)disallowed)->tokens, u->bytes, u->length, 0, &found)) return 0;
    bitlex_py_raise_special(u->bytes + found.start, (size_t)(found.end - found.start), found.start);
    return -1;
}

/* --- texts ------------------------------------------------------------------------------------------------------------- */

static int read_arguments(Encoder *self, PyObject *const *arguments, Py_ssize_t count, Py_ssize_t *threads, Py_ssize_t *blocks)
{
    *threads = 1;
    *blocks = 0;
    if (count < 3 || count > 5) {
        PyErr_Format(PyExc_TypeError, "expected (text, allowed, disallowed, threads=1, blocks=0), got %zd arguments", count);
        return -1;
    }
    for (Py_ssize_t i = 1; i < 3; i++) {
        if (arguments[i] != Py_None && !Py_IS_TYPE(arguments[i], state_of(self)->specials)) {
            PyErr_Format(PyExc_TypeError, "expected Specials or None, got %.200s", Py_TYPE(arguments[i])->tp_name);
            return -1;
        }
    }
    if (count > 3) *threads = PyNumber_AsSsize_t(arguments[3], PyExc_OverflowError);
    if (count > 4 && !PyErr_Occurred()) *blocks = PyNumber_AsSsize_t(arguments[4], PyExc_OverflowError);
    if (PyErr_Occurred()) return -1;
    if (*threads >= 1 && *threads <= MOST_THREADS && *blocks >= 0) return 0;
    PyErr_SetString(PyExc_ValueError, "threads must be 1..1024, and blocks 0 or more");
    return -1;
}

static const specials *specials_of(PyObject *found) { return found == Py_None ? NULL : &((Specials *)found)->tokens; }

static void set_task(Task *task, const Utf8 *u, PyObject *allowed)
{
    task->text = u->bytes;
    task->length = u->length;
    task->allowed = specials_of(allowed);
}

/* A str in parts, in this thread: 1 if it is to be encoded as a whole, -1 with an exception set. */
static int encode_in_parts(Encoder *self, PyObject *const *arguments, size_t blocks, Call *call)
{
    static const bitlex_machine any; /* one that reads everything */
    PyThreadState *released;
    Encoded outcome = NO_ROOM;
    Working *w;
    if (bitlex_py_text_begin(&call->text.text, &any, arguments[0]) < 0) return -1;
    call->text.own = NULL;
    if (!bitlex_py_is_read_in_parts(self, &call->text.text, blocks)) {
        outcome = WHOLE;
    } else if ((w = bitlex_py_begin_work(self)) != NULL) {
        call->task.allowed = specials_of(arguments[1]);
        call->task.may_go_on = look_at_signals;
        call->task.context = &released;
        released = PyEval_SaveThread();
        outcome = bitlex_py_encode_in_parts(w, &call->task, &call->text.text, specials_of(arguments[2]), blocks);
        PyEval_RestoreThread(released);
        bitlex_py_end_work(w, self);
    }
    if (outcome == ENCODED) return 0;
    bitlex_py_utf8_end(&call->text);
    if (outcome == WHOLE) return 1;
    raise_outcome(outcome, &call->task);
    return -1;
}

/* A text in this thread: -1 with an exception set. A short one is copied to where keys of 16 bytes can be read up to its end. */
static int encode_here(Encoder *self, Call *call)
{
    Task *task = &call->task;
    PyThreadState *released = NULL;
    Encoded outcome;
    Working *w = bitlex_py_begin_work(self);
    uint64_t likely = task->counting ? 0 : task->length / 2;
    if (task->length <= SHORT) {
        if (task->text != call->bytes) memcpy(call->bytes, task->text, (size_t)task->length);
        memset(call->bytes + task->length, 0, 16);
        task->text = call->bytes;
        task->slack = 16;
        likely = task->length;
    }
    if (task->length > SHORT && task->ids.lent) { /* by who called: whether all fit is seen as they come */
        likely = 0;
    } else if (task->length <= SHORT && !task->ids.placed) {
        task->ids.data = call->ids;
        task->ids.room = SHORT + BPE_PADDING;
        task->ids.lent = 1;
    }
    if (w == NULL || bitlex_py_reserve_likely(&task->ids, (size_t)likely) < 0) {
        outcome = NO_ROOM;
    } else if (task->length <= RELEASE) {
        outcome = bitlex_py_encode(w, task);
    } else {
        task->may_go_on = look_at_signals;
        task->context = &released;
        released = PyEval_SaveThread();
        outcome = bitlex_py_encode(w, task);
        PyEval_RestoreThread(released);
    }
    if (w != NULL) bitlex_py_end_work(w, self);
    if (outcome != ENCODED) raise_outcome(outcome, task);
    return outcome == ENCODED ? 0 : -1;
}

/* The bytes of a text, by so many threads: -1 with an exception set, and nothing to end. */
static int hold(Encoder *self, Call *call, PyObject *text, Py_ssize_t threads)
{
    if (threads == 1 || !PyUnicode_Check(text) || PyUnicode_GET_LENGTH(text) < MADE_TOGETHER) return bitlex_py_utf8_hold_in(&call->text, text, call->bytes);
    if (bitlex_py_utf8_open(&call->text, text) < 0) return -1;
    if (call->text.bytes != NULL || bitlex_py_utf8_make_together(&call->text, &self->machine->machine, threads) == 0) return 0;
    bitlex_py_utf8_end(&call->text);
    return -1;
}

/* All ids of a text: -1 with an exception set. The ids of the task are to be freed in either case. */
static int encode_text(Encoder *self, PyObject *const *arguments, Py_ssize_t count, const Task *task, Call *call)
{
    Py_ssize_t threads, blocks;
    Encoded outcome;
    size_t which;
    int failed;
    call->task = *task;
    if (read_arguments(self, arguments, count, &threads, &blocks) < 0) return -1;
    if (threads == 1 && !task->ids.placed && PyUnicode_Check(arguments[0]) && (blocks > 0 || PyUnicode_GET_LENGTH(arguments[0]) > RELEASE)) {
        failed = encode_in_parts(self, arguments, (size_t)blocks, call);
        if (failed <= 0) return failed;
    }
    if (hold(self, call, arguments[0], threads) < 0) return -1;
    set_task(&call->task, &call->text, arguments[1]);
    if (threads == 1) {
        failed = refuse(&call->text, arguments[2]) < 0 || encode_here(self, call) < 0;
    } else {
        call->task.disallowed = specials_of(arguments[2]);
        failed = bitlex_py_encode_many(self, &call->task, 1, threads, (size_t)blocks, NULL, &which, &outcome) < 0;
        if (failed && outcome == REFUSED) refuse(&call->text, arguments[2]);
        else if (failed) raise_outcome(outcome, &call->task);
    }
    if (failed) bitlex_py_utf8_end(&call->text);
    return failed ? -1 : 0;
}

PyObject *bitlex_py_encode_list(Encoder *self, PyObject *const *arguments, Py_ssize_t count)
{
    const Task task = {.at = 0};
    PyObject *list = NULL;
    Call call;
    if (encode_text(self, arguments, count, &task, &call) == 0) {
        bitlex_py_utf8_end(&call.text);
        list = bitlex_py_ids_as_list(self, call.task.ids.data, call.task.ids.used);
    }
    bitlex_py_free_ids(&call.task.ids);
    return list;
}

PyObject *bitlex_py_encode_numpy(Encoder *self, PyObject *const *arguments, Py_ssize_t count)
{
    const Task task = {.at = 0};
    PyObject *array = NULL;
    Call call;
    if (encode_text(self, arguments, count, &task, &call) == 0) {
        bitlex_py_utf8_end(&call.text);
        array = bitlex_py_ids_as_numpy((PyObject *)self, &call.task.ids);
    }
    bitlex_py_free_ids(&call.task.ids);
    return array;
}

/* Ids are found in the array, if it has numbers of 32 bits, and elsewhere when it is full: so what comes last may be found elsewhere, and
 * fit. */
PyObject *bitlex_py_encode_into(Encoder *self, PyObject *const *arguments, Py_ssize_t count)
{
    Task task = {.at = 0};
    PyObject *number = NULL, *rest[5];
    Destination out;
    Call call;
    if (count < 2 || count > 6) {
        PyErr_Format(PyExc_TypeError, "expected (text, out, allowed, disallowed, threads=1, blocks=0), got %zd arguments", count);
        return NULL;
    }
    if (bitlex_py_destination_begin(&out, arguments[1], self->highest) < 0) return NULL;
    rest[0] = arguments[0];
    for (Py_ssize_t i = 2; i < count; i++) rest[i - 1] = arguments[i];
    task.ids.data = bitlex_py_destination_words(&out);
    task.ids.lent = task.ids.data != NULL;
    task.ids.room = task.ids.lent ? out.room : 0;
    if (encode_text(self, rest, count - 1, &task, &call) == 0) {
        const Ids *ids = &call.task.ids;
        bitlex_py_utf8_end(&call.text);
        if (ids->used > out.room) {
            PyErr_Format(PyExc_ValueError, "the text has %zu token ids, and the array room for %zu", ids->used, out.room);
        } else {
            if (ids->data != task.ids.data || ids->data == NULL) bitlex_py_destination_put(&out, ids->data, ids->used);
            number = PyLong_FromSize_t(ids->used);
        }
    }
    bitlex_py_free_ids(&call.task.ids);
    bitlex_py_destination_end(&out);
    return number;
}

PyObject *bitlex_py_count_ids(Encoder *self, PyObject *const *arguments, Py_ssize_t count)
{
    const Task task = {.counting = 1};
    PyObject *number = NULL;
    Call call;
    if (encode_text(self, arguments, count, &task, &call) == 0) {
        bitlex_py_utf8_end(&call.text);
        number = PyLong_FromUnsignedLongLong(call.task.counted);
    }
    bitlex_py_free_ids(&call.task.ids);
    return number;
}

static inline int starts_character(uint8_t byte) { return (byte & 0xC0) != 0x80; }

/* How many characters of a str became this one, that starts with this byte: two if they are surrogates, which only spell what has four. */
static inline uint64_t units(const Utf8 *u, uint64_t at, uint8_t byte)
{
    return byte >= 0xF0 && (PyUnicode_READ_CHAR(u->text.string, (Py_ssize_t)at) & 0xFFFFF800) == 0xD800 ? 2 : 1;
}

/* Places in bytes -> in characters of the str: a token that has only some bytes of a character has all of it. */
static void count_characters(const Utf8 *u, Ids *ids)
{
    uint64_t at = 0, last = 0, past = 0; /* a place; where the character that has the byte before it starts and ends in the str */
    for (size_t i = 0; i < ids->used; i++) {
        for (int side = 0; side < 2; side++) {
            uint64_t *place = ids->places + 2 * i + side;
            const uint64_t to = *place < u->length ? *place : u->length; /* none is beyond, but by tables that somebody forged */
            for (; at < to; at++) {
                if (!starts_character(u->bytes[at])) continue;
                last = past;
                past += units(u, past, u->bytes[at]);
            }
            *place = side == 0 && to < u->length && !starts_character(u->bytes[to]) ? last : past;
        }
    }
}

static PyObject *encoder_encode_with_offsets(Encoder *self, PyObject *const *arguments, Py_ssize_t count)
{
    const Task task = {.ids = {.placed = 1}};
    PyObject *result = NULL;
    Call call;
    if (encode_text(self, arguments, count, &task, &call) == 0) {
        if (call.text.text.string != NULL) count_characters(&call.text, &call.task.ids);
        bitlex_py_utf8_end(&call.text);
        result = bitlex_py_ids_and_places((PyObject *)self, &call.task.ids);
    }
    bitlex_py_free_ids(&call.task.ids);
    return result;
}

int bitlex_py_encode_placed(Encoder *self, PyObject *text, Ids *ids)
{
    PyObject *const arguments[] = {text, Py_None, Py_None};
    const Task task = {.ids = {.placed = 1, .numbered = 1}};
    Call call;
    const int failed = encode_text(self, arguments, 3, &task, &call);
    *ids = call.task.ids;
    if (failed) return -1;
    if (call.text.text.string != NULL) count_characters(&call.text, ids);
    bitlex_py_utf8_end(&call.text);
    return 0;
}

/* --- many texts ---------------------------------------------------------------------------------------------------------- */

typedef struct {
    PyObject *tuple;
    Utf8 *texts;
    Task *tasks;
    Py_ssize_t count, begun;
    Joined joined; /* the ids of all texts, if there is memory for where they begin */
} Batch;

typedef enum { APART, JOINED, COUNTED } Kept; /* what is kept of each text: ids by themselves, or side by side; or how many there are */

static void batch_end(Batch *b)
{
    while (b->begun-- > 0) {
        bitlex_py_free_ids(&b->tasks[b->begun].ids);
        bitlex_py_utf8_end(b->texts + b->begun);
    }
    bitlex_py_free_ids(&b->joined.ids);
    PyMem_RawFree(b->joined.begins);
    PyMem_Free(b->joined.around);
    PyMem_Free(b->texts);
    PyMem_Free(b->tasks);
    Py_XDECREF(b->tuple);
}

static int batch_fails(Batch *b, Py_ssize_t i)
{
    if (i >= 0) bitlex_py_name_index("texts", i);
    batch_end(b);
    return -1;
}

/* An exception is set, for what stands behind all that were begun. Is one of these refused, then it is told of instead: which it is. */
static Py_ssize_t first_that_fails(Batch *b, PyObject *disallowed)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    for (Py_ssize_t i = 0; i < b->begun; i++) {
        if (b->texts[i].bytes == NULL && bitlex_py_utf8_make(b->texts + i) < 0) continue;
        if (refuse(b->texts + i, disallowed) == 0) continue;
        Py_XDECREF(type);
        Py_XDECREF(value);
        Py_XDECREF(traceback);
        return i;
    }
    PyErr_Restore(type, value, traceback);
    return b->begun;
}

/* The ids to put before texts and behind them, of two tuples: -1 with an exception set, and nothing to end. */
static int read_around(PyObject *const *tuples, Joined *joined)
{
    size_t at = 0;
    if (!PyTuple_Check(tuples[0]) || !PyTuple_Check(tuples[1])) {
        PyErr_SetString(PyExc_TypeError, "expected two tuples of ids");
        return -1;
    }
    joined->before = (size_t)PyTuple_GET_SIZE(tuples[0]);
    joined->behind = (size_t)PyTuple_GET_SIZE(tuples[1]);
    joined->around = PyMem_Calloc(joined->before + joined->behind + 1, sizeof *joined->around);
    if (joined->around == NULL) PyErr_NoMemory();
    for (; joined->around != NULL && at < joined->before + joined->behind && !PyErr_Occurred(); at++) {
        PyObject *id = at < joined->before ? PyTuple_GET_ITEM(tuples[0], at) : PyTuple_GET_ITEM(tuples[1], at - joined->before);
        const unsigned long long number = PyLong_AsUnsignedLongLong(id);
        if (number > UINT32_MAX && !PyErr_Occurred()) PyErr_Format(PyExc_OverflowError, "%R does not fit 32 bits", id);
        joined->around[at] = (uint32_t)number;
    }
    if (!PyErr_Occurred()) return 0;
    PyMem_Free(joined->around);
    return -1;
}

/* The ids of all texts: -1 with an exception set, and nothing to end. */
static int encode_batch(Encoder *self, PyObject *const *arguments, Py_ssize_t count, Kept kept, Batch *b)
{
    Py_ssize_t threads, blocks;
    Encoded outcome;
    size_t which;
    memset(b, 0, sizeof *b);
    if (kept == JOINED && count == 6 && read_around(arguments + 4, &b->joined) < 0) return -1;
    if (read_arguments(self, arguments, kept == JOINED && count == 6 ? 4 : count, &threads, &blocks) < 0) return batch_fails(b, -1);
    if (bitlex_py_batch_begin(arguments[0]) < 0) return batch_fails(b, -1);
    if ((b->tuple = PySequence_Tuple(arguments[0])) == NULL) return batch_fails(b, -1);
    b->count = PyTuple_GET_SIZE(b->tuple);
    b->texts = PyMem_Calloc((size_t)b->count + 1, sizeof *b->texts);
    b->tasks = PyMem_Calloc((size_t)b->count + 1, sizeof *b->tasks);
    if (kept == JOINED) b->joined.begins = PyMem_RawMalloc(((size_t)b->count + 1) * sizeof *b->joined.begins);
    if (b->texts == NULL || b->tasks == NULL || (kept == JOINED && b->joined.begins == NULL)) {
        PyErr_NoMemory();
        return batch_fails(b, -1);
    }
    for (; b->begun < b->count; b->begun++) {
        Utf8 *u = b->texts + b->begun;
        Task *task = b->tasks + b->begun;
        if (bitlex_py_utf8_open(u, PyTuple_GET_ITEM(b->tuple, b->begun)) < 0) return batch_fails(b, first_that_fails(b, arguments[2]));
        set_task(task, u, arguments[1]);
        task->counting = kept == COUNTED;
        task->disallowed = specials_of(arguments[2]);
        task->source = u->bytes == NULL ? u : NULL;
    }
    if (bitlex_py_encode_many(self, b->tasks, (size_t)b->count, threads, (size_t)blocks, kept == JOINED ? &b->joined : NULL, &which,
                              &outcome) == 0) {
        return 0;
    }
    if (outcome == REFUSED) refuse(b->texts + which, arguments[2]);
    else raise_outcome(outcome, b->tasks + which);
    return batch_fails(b, outcome == NO_BYTE || outcome == TOO_LONG || outcome == REFUSED ? (Py_ssize_t)which : -1);
}

typedef PyObject *(*Maker)(Encoder *self, Task *task);

static PyObject *make_list(Encoder *self, Task *task) { return bitlex_py_ids_as_list(self, task->ids.data, task->ids.used); }

static PyObject *make_array(Encoder *self, Task *task)
{
    return bitlex_py_ids_as_numpy((PyObject *)self, &task->ids);
}

static PyObject *make_number(Encoder *self, Task *task)
{
    (void)self;
    return PyLong_FromUnsignedLongLong(task->counted);
}

/* A list of what is made of the ids of each text. */
static PyObject *batch(Encoder *self, PyObject *const *arguments, Py_ssize_t count, Maker make)
{
    PyObject *list;
    Batch b;
    if (encode_batch(self, arguments, count, make == make_number ? COUNTED : APART, &b) < 0) return NULL;
    list = PyList_New(b.count);
    for (Py_ssize_t i = 0; list != NULL && i < b.count; i++) {
        PyObject *made = make(self, b.tasks + i);
        if (made == NULL) Py_CLEAR(list);
        else PyList_SET_ITEM(list, i, made);
    }
    batch_end(&b);
    return list;
}

static PyObject *encoder_encode_batch(Encoder *self, PyObject *const *arguments, Py_ssize_t count)
{
    return batch(self, arguments, count, make_list);
}

static PyObject *encoder_encode_batch_to_numpy(Encoder *self, PyObject *const *arguments, Py_ssize_t count)
{
    return batch(self, arguments, count, make_array);
}

static PyObject *encoder_encode_batch_flat(Encoder *self, PyObject *const *arguments, Py_ssize_t count)
{
    PyObject *ids, *begins, *both;
    Batch b;
    if (count == 5) {
        PyErr_SetString(PyExc_TypeError, "expected the ids before texts and those behind, or neither");
        return NULL;
    }
    if (encode_batch(self, arguments, count, JOINED, &b) < 0) return NULL;
    ids = bitlex_py_ids_as_numpy((PyObject *)self, &b.joined.ids);
    begins = ids == NULL ? NULL : bitlex_py_wide_as_numpy((PyObject *)self, &b.joined.begins, (size_t)b.count + 1);
    both = begins == NULL ? NULL : PyTuple_Pack(2, ids, begins);
    Py_XDECREF(ids);
    Py_XDECREF(begins);
    batch_end(&b);
    return both;
}

static PyObject *encoder_count_batch(Encoder *self, PyObject *const *arguments, Py_ssize_t count)
{
    return batch(self, arguments, count, make_number);
}

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
    failed = refuse(&u, arguments[1]) < 0;
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
    for (uint32_t i = 0; self->numbers != NULL && i < self->vocabulary.token_count; i++) Py_XDECREF(self->numbers[i]);
    PyMem_Free(self->numbers);
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
        failed = bpe_build(&self->vocabulary, views[1].buf, views[0].buf, count, views[2].obj ? views[2].buf : NULL, ranks, whole) < 0;
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
        self->numbers = PyMem_Calloc((size_t)self->vocabulary.token_count + 1, sizeof *self->numbers);
        failed = self->lock == NULL || self->numbers == NULL;
        if (failed) PyErr_NoMemory();
    }
    if (failed) Py_CLEAR(self);
    return (PyObject *)self;
}

#define METHOD(name, what) {#name, (PyCFunction)(void (*)(void))encoder_##name, METH_FASTCALL, what}
#define SIGNATURE "(text, allowed, disallowed, threads=1, blocks=0) -> "
#define BATCH_SIGNATURE "(texts, allowed, disallowed, threads=1, blocks=0) -> "

static PyMethodDef encoder_methods[] = {
    {"encode", (PyCFunction)(void (*)(void))bitlex_py_encode_list, METH_FASTCALL, "encode" SIGNATURE "list of ids"},
    {"encode_to_numpy", (PyCFunction)(void (*)(void))bitlex_py_encode_numpy, METH_FASTCALL, "encode_to_numpy" SIGNATURE "array of uint32"},
    METHOD(encode_with_offsets, "encode_with_offsets" SIGNATURE "(array of uint32, array of the start and end of each in turn, int64)"),
    {"encode_words", (PyCFunction)(void (*)(void))bitlex_py_encode_words, METH_O,
     "encode_words(text) -> (list of ids, list of the start and end of each, list of the piece that each is of, how many pieces there are). "
     "Of a list or tuple of words, the places are those in each word, and a piece is a word"},
    {"encode_into", (PyCFunction)(void (*)(void))bitlex_py_encode_into, METH_FASTCALL,
     "encode_into(text, out, allowed, disallowed, threads=1, blocks=0) -> how many ids were written to this array"},
    {"count", (PyCFunction)(void (*)(void))bitlex_py_count_ids, METH_FASTCALL, "count" SIGNATURE "the number of ids"},
    METHOD(encode_batch, "encode_batch" BATCH_SIGNATURE "list of lists"),
    METHOD(encode_batch_to_numpy, "encode_batch_to_numpy" BATCH_SIGNATURE "list of arrays"),
    METHOD(encode_batch_flat, "encode_batch_flat(texts, allowed, disallowed, threads=1, before=(), behind=()) -> (array of all ids, those before "
                              "and behind each text among them; array of where each text begins, and of the end)"),
    METHOD(count_batch, "count_batch" BATCH_SIGNATURE "list of numbers"),
    {"merge", (PyCFunction)(void (*)(void))bitlex_py_merge, METH_FASTCALL,
     "merge(piece, method) -> the ids of one piece by merging, without caches"},
    METHOD(refuse, "refuse(text, disallowed): ValueError if the text has one of these special tokens"),
    {"in_order", (PyCFunction)(void (*)(void))bitlex_py_in_order, METH_NOARGS,
     "in_order() -> whether merges happen in the order of their ranks. Where they do not, 'backtrack' and 'prefixes' are 'heap'"},
    {"specials", (PyCFunction)(void (*)(void))encoder_specials, METH_O, "specials({bytes: id}) -> Specials"},
    {"decode", (PyCFunction)(void (*)(void))bitlex_py_decode, METH_FASTCALL, "decode(ids, skip=False) -> bytes. `skip`: without special tokens"},
    {"decode_text", (PyCFunction)(void (*)(void))bitlex_py_decode_text, METH_FASTCALL, "decode_text(ids, errors, skip) -> str"},
    {"decode_batch", (PyCFunction)(void (*)(void))bitlex_py_decode_batch, METH_FASTCALL,
     "decode_batch(batch, errors, threads, skip) -> list of str"},
    {"ends", (PyCFunction)(void (*)(void))bitlex_py_ends, METH_O, "ends(ids) -> where each token ends in what they decode to"},
    {"tokens", (PyCFunction)(void (*)(void))bitlex_py_tokens, METH_O, "tokens(ids) -> list of bytes"},
    {"token", (PyCFunction)(void (*)(void))bitlex_py_token, METH_O, "token(id) -> bytes"},
    {"find", (PyCFunction)(void (*)(void))bitlex_py_find, METH_O, "find(bytes) -> the id of this token of the vocabulary, or None"},
    {"image", (PyCFunction)(void (*)(void))encoder_image, METH_NOARGS, "image() -> a view of the tables, for the argument of that name"},
    {"places", (PyCFunction)(void (*)(void))encoder_places, METH_NOARGS, "places() -> where in the image the bytes of all tokens are, and where their starts"},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot encoder_slots[] = {
    {Py_tp_new, encoder_new},
    {Py_tp_dealloc, encoder_dealloc},
    {Py_tp_methods, encoder_methods},
    {Py_bf_getbuffer, encoder_buffer},
    {Py_tp_doc, "Encoder(machine, decoded, blob, starts, merges=None, whole=True, special=()) or Encoder(machine, decoded, image=buffer, special=())"},
    {0, NULL},
};
static PyType_Spec encoder_spec = {
    "bitlex._native.Encoder", sizeof(Encoder), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE, encoder_slots};

/* A sum and one more word. For a given word, different sums stay different; for a given sum, different words make it different. */
static inline uint64_t add_word(uint64_t sum, uint64_t word)
{
    const uint64_t mixed = sum ^ word;
    return (mixed << 29 | mixed >> 35) * UINT64_C(0x9E3779B97F4A7C15);
}

#define SUMS 8 /* that do not wait for one another */

/* A sum of the words of a buffer and its length, by which is noticed that a file is not as it was written (saving.py): one word
 * that is another changes one of the sums, and that the sum of all, for certain; and a change of more, but by a chance of 2 to the -64. */
static PyObject *checksum(PyObject *module, PyObject *buffer)
{
    uint64_t sums[SUMS] = {0}, words[SUMS], total;
    const char *p;
    Py_buffer view;
    size_t left;
    int i;
    (void)module;
    if (PyObject_GetBuffer(buffer, &view, PyBUF_SIMPLE) < 0) return NULL;
    p = view.buf;
    for (left = (size_t)view.len; left >= sizeof words; left -= sizeof words, p += sizeof words) {
        memcpy(words, p, sizeof words);
        for (i = 0; i < SUMS; i++) sums[i] = add_word(sums[i], words[i]);
    }
    memset(words, 0, sizeof words);
    memcpy(words, p, left);
    for (total = (uint64_t)view.len, i = 0; i < SUMS; i++) total = add_word(total, add_word(sums[i], words[i]));
    PyBuffer_Release(&view);
    return PyLong_FromUnsignedLongLong(total);
}

static PyMethodDef functions[] = {
    {"checksum", checksum, METH_O, "checksum(buffer) -> int"},
    {"parse_merges", (PyCFunction)(void (*)(void))bitlex_py_parse_merges, METH_FASTCALL,
     "parse_merges(blob, starts, alphabet, merges) -> left, right and made of each, uint32, of a list as it should be, or None"},
    {"parse_ranks", bitlex_py_parse_ranks, METH_O, "parse_ranks(data) -> (blob, starts) of a rank file as it should be, or None"},
    {NULL, NULL, 0, NULL},
};

int bitlex_py_add_encoder(PyObject *module)
{
    State *state = PyModule_GetState(module);
    PyObject *direct;
    int failed;
    bitlex_py_utf8_prepare();
    state->encoder = (PyTypeObject *)PyType_FromModuleAndSpec(module, &encoder_spec, NULL);
    state->specials = (PyTypeObject *)PyType_FromModuleAndSpec(module, &bitlex_py_specials_spec, NULL);
    state->array = (PyTypeObject *)PyType_FromModuleAndSpec(module, &bitlex_py_array_spec, NULL);
    if (state->encoder == NULL || state->specials == NULL || state->array == NULL) return -1;
    if (PyModule_AddType(module, state->encoder) < 0 || PyModule_AddType(module, state->specials) < 0) return -1;
    direct = PyType_FromModuleAndSpec(module, &bitlex_py_direct_spec, NULL);
    if (direct == NULL) return -1;
    failed = PyModule_AddType(module, (PyTypeObject *)direct);
    Py_DECREF(direct);
    if (failed < 0) return -1;
    return PyModule_AddFunctions(module, functions);
}
