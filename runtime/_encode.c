/* _encode.c - one text, as Python has it: ids out, as a list or an array, in an array of the caller's, with places, or their number.
 *
 * In: arguments of a method, (text, allowed, disallowed, threads=1, blocks=0), the second and third being Specials or None. `blocks`: how long
 * a part must be for a thread, and how much of a str is made UTF-8 at a time, in blocks of the lexer; 0: as it is worth it.
 *
 * Invariants: each method ends the work that it began. The GIL is released for texts above RELEASE bytes.
 */
#include "_encode.h"

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

/* --- errors ------------------------------------------------------------------------------------------------------------ */

void bitlex_py_raise_outcome(Encoded outcome, const Task *task)
{
    switch (outcome) {
    case NO_ROOM: PyErr_NoMemory(); break;
    case NO_BYTE:
        PyErr_Format(PyExc_ValueError, "byte 0x%02x at %llu is no token of this vocabulary", task->text[task->at],
                     (unsigned long long)(task->base + task->at));
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

int bitlex_py_refuse(const Utf8 *u, PyObject *disallowed)
{
    special_match found;
    if (disallowed == Py_None || !specials_find(&((Specials *)disallowed)->tokens, u->bytes, u->length, 0, &found)) return 0;
    bitlex_py_raise_special(u->bytes + found.start, (size_t)(found.end - found.start), found.start);
    return -1;
}

/* --- texts ------------------------------------------------------------------------------------------------------------- */

int bitlex_py_read_arguments(Encoder *self, PyObject *const *arguments, Py_ssize_t count, Py_ssize_t *threads, Py_ssize_t *blocks)
{
    const State *state = PyType_GetModuleState(Py_TYPE(self));
    *threads = 1;
    *blocks = 0;
    if (count < 3 || count > 5) {
        PyErr_Format(PyExc_TypeError, "expected (text, allowed, disallowed, threads=1, blocks=0), got %zd arguments", count);
        return -1;
    }
    for (Py_ssize_t i = 1; i < 3; i++) {
        if (arguments[i] != Py_None && !Py_IS_TYPE(arguments[i], state->specials)) {
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
        call->task.allowed = bitlex_py_specials_of(arguments[1]);
        call->task.may_go_on = look_at_signals;
        call->task.context = &released;
        released = PyEval_SaveThread();
        outcome = bitlex_py_encode_in_parts(w, &call->task, &call->text.text, bitlex_py_specials_of(arguments[2]), blocks);
        PyEval_RestoreThread(released);
        bitlex_py_end_work(w, self);
    }
    if (outcome == ENCODED) return 0;
    bitlex_py_utf8_end(&call->text);
    if (outcome == WHOLE) return 1;
    bitlex_py_raise_outcome(outcome, &call->task);
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
    if (outcome != ENCODED) bitlex_py_raise_outcome(outcome, task);
    return outcome == ENCODED ? 0 : -1;
}

/* The bytes of a text, by so many threads: -1 with an exception set, and nothing to end. */
static int hold(Encoder *self, Call *call, PyObject *text, Py_ssize_t threads)
{
    if (threads == 1 || !PyUnicode_Check(text) || PyUnicode_GET_LENGTH(text) < MADE_TOGETHER)
        return bitlex_py_utf8_hold_in(&call->text, text, call->bytes);
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
    if (bitlex_py_read_arguments(self, arguments, count, &threads, &blocks) < 0) return -1;
    if (threads == 1 && !task->ids.placed && PyUnicode_Check(arguments[0]) && (blocks > 0 || PyUnicode_GET_LENGTH(arguments[0]) > RELEASE)) {
        failed = encode_in_parts(self, arguments, (size_t)blocks, call);
        if (failed <= 0) return failed;
    }
    if (hold(self, call, arguments[0], threads) < 0) return -1;
    bitlex_py_set_task(&call->task, &call->text, arguments[1]);
    if (threads == 1) {
        failed = bitlex_py_refuse(&call->text, arguments[2]) < 0 || encode_here(self, call) < 0;
    } else {
        call->task.disallowed = bitlex_py_specials_of(arguments[2]);
        failed = bitlex_py_encode_many(self, &call->task, 1, threads, (size_t)blocks, NULL, NULL, &which, &outcome) < 0;
        if (failed && outcome == REFUSED) bitlex_py_refuse(&call->text, arguments[2]);
        else if (failed) bitlex_py_raise_outcome(outcome, &call->task);
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

PyObject *bitlex_py_encode_with_offsets(Encoder *self, PyObject *const *arguments, Py_ssize_t count)
{
    const Task task = {.ids = {.placed = 1}};
    PyObject *result = NULL;
    Call call;
    if (encode_text(self, arguments, count, &task, &call) == 0) {
        if (call.text.text.string != NULL) bitlex_py_count_characters(&call.text, &call.task.ids);
        bitlex_py_utf8_end(&call.text);
        result = bitlex_py_ids_and_places((PyObject *)self, &call.task.ids, WIDE_PAIRS);
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
    if (call.text.text.string != NULL) bitlex_py_count_characters(&call.text, ids);
    bitlex_py_utf8_end(&call.text);
    return 0;
}
