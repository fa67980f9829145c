/* _batches.c - many texts, by several threads: a sequence of texts in; out, what was found in each, in their order.
 *
 * The texts are shared out a few at a time, so that threads seldom meet at the lock. Each thread has one cursor for all of its texts. The offsets of
 * all texts lie side by side: one thread puts them there as it finds them, several by _joining.c. Objects are made of them by the calling thread,
 * when all texts are done.
 *
 * Invariants: all texts are held from before the first is read until after the last object is made. No two threads have the same text,
 * so the number of its pieces needs no lock. All offsets of a batch have one form, that of its longest text.
 *
 * What it does not do: a text of a batch is never cut, so one long text among short ones is the work of one thread.
 *
 * Rejected: memory for the offsets of each text (to have it, and to join it, takes longer than finding them); lists of pieces made as texts get
 * done, as those of ids are (making them takes more than ten times as long as finding where pieces end).
 */
#include "_joining.h"

#define AT_ONCE 64 /* texts that a thread takes at a time, at most */
#define EACH 3     /* units of a piece, or more: for how many offsets there is to be room at first */

typedef struct {
    Job job;
    int counting; /* pieces are counted, and the form means nothing */
    Form form;
    const Text *texts;
    uint64_t *counts; /* of the pieces of each text */
    size_t count, next, at_once;
    Ids joined;       /* the offsets, as numbers of 32 bits, of which one may be several */
    Joining joining;
    int joins;        /* all are found, and there is memory for all */
} Batch;

/* Append the offsets of a text. */
static void find_offsets(Worker *w, const Text *t, Form form, Ids *found, uint64_t *count)
{
    const size_t most = t->length < BUFFER ? (size_t)t->length : BUFFER, each = form_size(form) / sizeof *found->data;
    size_t got = 1, since = 0;
    int going = 1;
    while (got > 0 && going) {
        if (!bitlex_ready(w->cursor, SLICE / 16)) {
            going = bitlex_py_may_go_on(w, SLICE / 16);
            continue;
        }
        if (bitlex_py_reserve(found, most * each) < 0) {
            bitlex_py_stop(w->job, NO_MEMORY);
            return;
        }
        got = bitlex_py_next_offsets(w->cursor, form, found->data + found->used, most);
        found->used += got * each;
        *count += got;
        since += got;
        if (since < BUFFER) continue;
        going = bitlex_py_may_go_on(w, since);
        since = 0;
    }
}

/* Lex one text of a batch. */
static void lex_text(Worker *w, const Text *t, Ids *found, uint64_t *count)
{
    const Batch *batch = (const Batch *)w->job;
    const bitlex_machine *machine = w->job->machine;
    void *scratch = NULL;
    if (machine->stage_count > 1) {
        scratch = PyMem_RawMalloc((size_t)bitlex_scratch_size(machine, t->length));
        if (scratch == NULL) bitlex_py_stop(w->job, NO_MEMORY);
        if (scratch == NULL) return;
    }
    bitlex_restart(w->cursor, t->data, t->length, t->encoding, scratch ? scratch : scratch_behind(w->cursor));
    if (!batch->counting) find_offsets(w, t, batch->form, found, count);
    else while (bitlex_count_some(w->cursor, SLICE / 16, count) && bitlex_py_may_go_on(w, SLICE / 16)) {}
    PyMem_RawFree(scratch);
}

static void work_on_batch(Worker *w)
{
    Batch *batch = (Batch *)w->job;
    const int apart = batch->joining.units != NULL;
    Ids own = {.used = 0}, *found = apart ? &own : &batch->joined;
    uint64_t units = 0;
    if (batch->joins) {
        bitlex_py_put_rest(&batch->joining);
        return;
    }
    while (bitlex_py_may_go_on(w, units)) {
        size_t from, to, i;
        PyThread_acquire_lock(batch->job.lock, WAIT_LOCK);
        from = batch->next;
        to = batch->count - from < batch->at_once ? batch->count : from + batch->at_once;
        batch->next = to;
        PyThread_release_lock(batch->job.lock);
        if (from == to) break;
        if (apart && bitlex_py_reserve_likely(&own, batch->joining.likely) < 0) {
            bitlex_py_stop(w->job, NO_MEMORY);
            break;
        }
        for (units = 0, i = from; i < to; i++) {
            lex_text(w, batch->texts + i, found, batch->counts + i);
            units += batch->texts[i].length;
        }
        if (apart) bitlex_py_hand_over(&batch->joining, from / batch->at_once, &own);
    }
    bitlex_py_free_ids(&own);
}

/* When all texts are done. */
static int prepare_to_join(void *job)
{
    Batch *batch = job;
    if (batch->job.outcome != GOES_ON) return 0;
    batch->joins = bitlex_py_place_rest(&batch->joining) == 0;
    if (!batch->joins) PyErr_NoMemory();
    return batch->joins ? 0 : -1;
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
    const int collects = bitlex_py_stop_collecting();
    const size_t each = form_size(batch->form) / sizeof *batch->joined.data;
    const uint32_t *offsets = batch->joined.data;
    PyObject *list = PyList_New((Py_ssize_t)batch->count);
    for (size_t i = 0; list != NULL && i < batch->count; i++) {
        const uint64_t count = batch->counts[i];
        PyObject *made = wanted != PIECES
                             ? PyLong_FromUnsignedLongLong(count)
                             : bitlex_py_list_of_pieces(batch->texts + i, batch->form, (const char *)offsets, (Py_ssize_t)count);
        if (made == NULL) Py_CLEAR(list);
        else PyList_SET_ITEM(list, (Py_ssize_t)i, made);
        if (wanted == PIECES) offsets += count * each;
    }
    bitlex_py_go_on_collecting(collects);
    return list;
}

/* The offsets of all texts in a buffer, how many each text has, and whether they have 64 bits. */
static PyObject *joined_results(Machine *self, Batch *batch)
{
    PyObject *array = bitlex_py_ids_as_buffer((PyObject *)self, &batch->joined), *counts = array == NULL ? NULL : list_of_results(batch, COUNTS);
    if (counts == NULL) Py_XDECREF(array);
    return counts == NULL ? NULL : Py_BuildValue("NNN", array, counts, PyBool_FromLong(is_wide(batch->form)));
}

/* Have memory for the offsets of so many units, that several threads find: 0, or -1 with an exception set. */
static int begin_joining(Batch *batch, uint64_t units, uint64_t workers)
{
    const size_t likely = (size_t)(units / EACH + batch->count) * (form_size(batch->form) / sizeof *batch->joined.data);
    batch->joining.job = &batch->job;
    batch->joining.joined = &batch->joined;
    if (workers > 1) batch->job.between = prepare_to_join;
    if ((workers > 1 ? bitlex_py_begin_joining(&batch->joining, (batch->count + batch->at_once - 1) / batch->at_once, likely)
                     : bitlex_py_reserve_likely(&batch->joined, likely)) == 0)
        return 0;
    PyErr_NoMemory();
    return -1;
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
    batch.counts = PyMem_Calloc((size_t)n + 1, sizeof *batch.counts);
    if (texts == NULL || batch.counts == NULL) PyErr_NoMemory();
    for (; texts != NULL && batch.counts != NULL && begun < n; begun++) {
        if (bitlex_py_text_begin(texts + begun, &self->machine, PyTuple_GET_ITEM(tuple, begun)) < 0) {
            bitlex_py_name_index("texts", begun);
            break;
        }
        units += texts[begun].length;
        if (texts[begun].length > longest) longest = texts[begun].length;
    }
    batch.form = form_for(longest, wanted == PAIRS || self->machine.drops);
    workers = threads_worth(units, (size_t)n, threads);
    batch.texts = texts;
    batch.count = (size_t)n;
    batch.at_once = (size_t)n / (size_t)workers / 16 + 1;
    if (batch.at_once > AT_ONCE) batch.at_once = AT_ONCE;
    if (!PyErr_Occurred() && (batch.counting || begin_joining(&batch, units, workers) == 0) && bitlex_py_share(&batch.job, workers) == 0) {
        result = wanted == ENDS || wanted == PAIRS ? joined_results(self, &batch) : list_of_results(&batch, wanted);
    }
    bitlex_py_end_joining(&batch.joining);
    bitlex_py_free_ids(&batch.joined);
    while (begun > 0) bitlex_py_text_end(texts + --begun);
    PyMem_Free(texts);
    PyMem_Free(batch.counts);
    Py_DECREF(tuple);
    return result;
}
