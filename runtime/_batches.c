/* _batches.c - many texts, by several threads: a sequence of texts in; out, what was found in each, in their order.
 *
 * The texts are shared out a few at a time, so that threads seldom meet at the lock. Each thread has one cursor for all of its texts.
 * What it finds is kept for each text; objects are made of it by the calling thread, when all texts are done.
 *
 * Invariants: all texts are held from before the first is read until after the last object is made. No two threads have the same text,
 * so its result needs no lock. All offsets of a batch have one form, that of its longest text.
 *
 * What it does not do: a text of a batch is never cut, so one long text among short ones is the work of one thread.
 *
 * Rejected: offsets of all texts in one array as they come (threads would have to wait for each other's places); lists of pieces
 * made as texts get done (they would wait for the GIL).
 */
#include "_threads.h"

#define AT_ONCE 64 /* texts that a thread takes at a time, at most */

typedef struct {
    uint64_t count; /* of pieces */
    char *offsets;  /* NULL when they are only counted */
} Result;

typedef struct {
    Job job;
    int counting; /* pieces are counted, and the form means nothing */
    Form form;
    const Text *texts;
    Result *results; /* of each text */
    size_t count, next, at_once;
} Batch;

/* Lex one text of a batch. */
static void lex_text(Worker *w, const Text *t, Result *result)
{
    Job *job = w->job;
    const int counting = ((Batch *)job)->counting;
    const Form form = ((Batch *)job)->form;
    const size_t size = form_size(form);
    void *scratch = NULL;
    size_t n = 0, got = 1;
    int going = 1;
    if (job->machine->stage_count > 1) {
        scratch = PyMem_RawMalloc((size_t)bitlex_scratch_size(job->machine, t->length));
        if (scratch == NULL) bitlex_py_stop(job, NO_MEMORY);
        if (scratch == NULL) return;
    }
    bitlex_restart(w->cursor, t->data, t->length, t->encoding, scratch ? scratch : scratch_behind(w->cursor));
    while (counting && going && bitlex_count_some(w->cursor, SLICE / 16, &result->count)) going = bitlex_py_may_go_on(w, SLICE / 16);
    while (!counting && got > 0 && going) {
        if (!bitlex_ready(w->cursor, SLICE / 16)) {
            going = bitlex_py_may_go_on(w, SLICE / 16);
            continue;
        }
        got = bitlex_py_next_offsets(w->cursor, form, w->buffer + n * size, BUFFER - n);
        n += got;
        if (n == BUFFER || (got == 0 && n > 0)) {
            char *grown = PyMem_RawRealloc(result->offsets, (size_t)(result->count + n) * size);
            if (grown == NULL) {
                bitlex_py_stop(job, NO_MEMORY);
                break;
            }
            memcpy(grown + result->count * size, w->buffer, n * size);
            result->offsets = grown;
            result->count += n;
            n = 0;
            if (got > 0) going = bitlex_py_may_go_on(w, BUFFER);
        }
    }
    PyMem_RawFree(scratch);
}

static void work_on_batch(Worker *w)
{
    Batch *batch = (Batch *)w->job;
    uint64_t units = 0;
    while (bitlex_py_may_go_on(w, units)) {
        size_t from, to;
        PyThread_acquire_lock(batch->job.lock, WAIT_LOCK);
        from = batch->next;
        to = batch->count - from < batch->at_once ? batch->count : from + batch->at_once;
        batch->next = to;
        PyThread_release_lock(batch->job.lock);
        if (from == to) break;
        for (units = 0; from < to; from++) {
            lex_text(w, batch->texts + from, batch->results + from);
            units += batch->texts[from].length;
        }
    }
}

void bitlex_py_name_index(const char *batch, Py_ssize_t i)
{
    PyObject *type, *value, *traceback, *arguments, *said;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    arguments = value ? ((PyBaseExceptionObject *)value)->args : NULL;
    said = arguments != NULL && PyTuple_GET_SIZE(arguments) == 1 ? PyTuple_GET_ITEM(arguments, 0) : value; /* a KeyError quotes it */
    PyErr_Format(type, "%s[%zd]: %S", batch, i, said ? said : Py_None);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(traceback);
}

/* What was found in the texts of a batch, as a list. */
static PyObject *list_of_results(const Batch *batch, Wanted wanted)
{
    PyObject *list = PyList_New((Py_ssize_t)batch->count);
    for (size_t i = 0; list != NULL && i < batch->count; i++) {
        const Result *result = batch->results + i;
        PyObject *made = wanted != PIECES ? PyLong_FromUnsignedLongLong(result->count)
                                          : bitlex_py_list_of_pieces(batch->texts + i, batch->form, result->offsets,
                                                                     (Py_ssize_t)result->count);
        if (made == NULL) {
            Py_CLEAR(list);
        } else {
            PyList_SET_ITEM(list, (Py_ssize_t)i, made);
        }
    }
    return list;
}

/* The offsets of all texts in one bytearray, how many each text has, and whether they have 64 bits. */
static PyObject *joined_results(const Batch *batch)
{
    const size_t size = form_size(batch->form);
    size_t used = 0;
    PyObject *array;
    for (size_t i = 0; i < batch->count; i++) used += (size_t)batch->results[i].count * size;
    array = PyByteArray_FromStringAndSize(NULL, (Py_ssize_t)used);
    if (array == NULL) return NULL;
    used = 0;
    for (size_t i = 0; i < batch->count; i++) {
        const size_t bytes = (size_t)batch->results[i].count * size;
        if (bytes > 0) memcpy(PyByteArray_AS_STRING(array) + used, batch->results[i].offsets, bytes);
        used += bytes;
    }
    return Py_BuildValue("NNN", array, list_of_results(batch, COUNTS), PyBool_FromLong(is_wide(batch->form)));
}

/* How many threads a batch of so many units is worth. */
static uint64_t threads_worth(uint64_t units, size_t texts, Py_ssize_t threads)
{
    uint64_t workers = units / RELEASE + 1 < (uint64_t)threads ? units / RELEASE + 1 : (uint64_t)threads;
    return workers <= texts ? workers : texts + (texts == 0);
}

PyObject *bitlex_py_batch(Machine *self, PyObject *sequence, Py_ssize_t threads, Wanted wanted)
{
    Py_ssize_t n, begun = 0;
    PyObject *tuple, *result = NULL;
    Text *texts;
    uint64_t units = 0, longest = 0, workers;
    Batch batch = {.job = {.machine = &self->machine, .work = work_on_batch}, .counting = wanted == COUNTS};
    if (bitlex_py_batch_begin(sequence) < 0) return NULL;
    if ((tuple = PySequence_Tuple(sequence)) == NULL) return NULL;
    n = PyTuple_GET_SIZE(tuple);
    texts = PyMem_Calloc((size_t)n + 1, sizeof *texts);
    batch.results = PyMem_Calloc((size_t)n + 1, sizeof *batch.results);
    if (texts == NULL || batch.results == NULL) PyErr_NoMemory();
    for (; texts != NULL && batch.results != NULL && begun < n; begun++) {
        if (bitlex_py_text_begin(texts + begun, &self->machine, PyTuple_GET_ITEM(tuple, begun)) < 0) {
            bitlex_py_name_index("texts", begun);
            break;
        }
        units += texts[begun].length;
        if (texts[begun].length > longest) longest = texts[begun].length;
    }
    batch.form = form_for(longest, wanted == PAIRS || self->machine.drops);
    if (wanted != COUNTS) batch.job.buffer_size = BUFFER * form_size(batch.form);
    workers = threads_worth(units, (size_t)n, threads);
    batch.texts = texts;
    batch.count = (size_t)n;
    batch.at_once = (size_t)n / (size_t)workers / 16 + 1;
    if (batch.at_once > AT_ONCE) batch.at_once = AT_ONCE;
    if (!PyErr_Occurred() && bitlex_py_share(&batch.job, workers) == 0) {
        result = wanted == ENDS || wanted == PAIRS ? joined_results(&batch) : list_of_results(&batch, wanted);
    }
    for (Py_ssize_t i = 0; i < begun; i++) {
        PyMem_RawFree(batch.results[i].offsets);
        bitlex_py_text_end(texts + i);
    }
    PyMem_Free(texts);
    PyMem_Free(batch.results);
    Py_DECREF(tuple);
    return result;
}
