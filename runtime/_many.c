/* _many.c - many texts by several threads: tasks in, the ids of each out, or of all, side by side (_joining.c). Whole texts are handed out a
 * few at a time; _long.c divides one.
 *
 * Invariants: no two threads have the same task, so its ids need no lock; caches change no ids, so it makes no difference who encodes what.
 * Of tasks that fail, the first is told of, as one thread would: those before it are still finished.
 */
#include "_many.h"

#define AT_ONCE 64          /* texts that a thread takes at a time, at most */
#define TURNS 16            /* in which something is made of the ids of texts */
#define LONG (1u << 20)     /* bytes from which on a text is divided */
#define COPIED (1u << 16)   /* bytes of a text up to which its ids are copied */

static int may_go_on(void *worker) { return bitlex_py_may_go_on(worker, SLICE / 4); }

void bitlex_py_note(Many *many, size_t task, Encoded outcome)
{
    PyThread_acquire_lock(many->job.lock, WAIT_LOCK);
    if (task < many->failed) {
        many->failed = task;
        many->outcome = outcome;
    }
    PyThread_release_lock(many->job.lock);
}

int bitlex_py_take_tasks(Many *many, size_t *from, size_t *to)
{
    PyThread_acquire_lock(many->job.lock, WAIT_LOCK);
    *from = many->next;
    *to = many->count - *from < many->at_once ? many->count : *from + many->at_once;
    if (*to > many->failed) *to = many->failed;
    if (*from < *to) many->next = *to;
    PyThread_release_lock(many->job.lock);
    return *from < *to;
}

/* Ids from the first on get others before and behind them: 0, or -1 if there is no memory. */
static int surround(Ids *ids, size_t first, const Joined *with)
{
    const size_t more = with->before + with->behind, count = ids->used - first;
    if (more == 0) return 0;
    if (bitlex_py_reserve(ids, more) < 0) return -1;
    memmove(ids->data + first + with->before, ids->data + first, count * sizeof *ids->data);
    memcpy(ids->data + first, with->around, with->before * sizeof *ids->data);
    memcpy(ids->data + first + with->before + count, with->around + with->before, with->behind * sizeof *ids->data);
    ids->used += more;
    return 0;
}

/* Ids that are joined are found behind others, in `joined`. Of others, few are found in the memory of the thread, and copied to as much as they
 * need, which later ones do not find taken. */
static Encoded find_ids(const Many *many, Working *working, Task *task, Ids *joined)
{
    Ids *ids = joined != NULL ? joined : &working->ids;
    const size_t first = joined != NULL ? ids->used : 0;
    Encoded outcome;
    if (joined == NULL && !task->counting && task->length > COPIED) {
        if (bitlex_py_reserve_likely(&task->ids, bitlex_py_likely_ids(task, 1)) < 0) return NO_ROOM;
        return bitlex_py_encode(working, task);
    }
    ids->used = first;
    task->ids = *ids;
    outcome = bitlex_py_encode(working, task);
    *ids = task->ids;
    memset(&task->ids, 0, sizeof task->ids);
    if (outcome != ENCODED) return outcome;
    if (many->around != NULL && surround(ids, first, many->around) < 0) return NO_ROOM;
    if (joined != NULL || ids->used == 0) return ENCODED;
    if (bitlex_py_reserve(&task->ids, ids->used) < 0) return NO_ROOM;
    memcpy(task->ids.data, ids->data, ids->used * sizeof *ids->data);
    task->ids.used = ids->used;
    return ENCODED;
}

/* Encode a task. A text that has to be made is made for as long, by the thread that needs it, and if it failed it stays. */
static Encoded encode_task(const Many *many, Working *working, Task *task, Ids *joined)
{
    special_match found;
    Encoded outcome;
    if (task->source != NULL && bitlex_py_utf8_make(task->source) < 0) return NO_ROOM;
    if (task->source != NULL) {
        task->text = task->source->bytes;
        task->length = task->source->length;
    }
    if (task->disallowed != NULL && specials_find(task->disallowed, task->text, task->length, 0, &found)) return REFUSED;
    outcome = find_ids(many, working, task, joined);
    if (task->source != NULL && outcome == ENCODED) bitlex_py_utf8_unmake(task->source);
    return outcome;
}

/* For _joining.c. */
static uint64_t placed(Job *job, size_t unit)
{
    Many *many = (Many *)job;
    const size_t first = unit * many->at_once, behind = many->count - first < many->at_once ? many->count : first + many->at_once;
    for (size_t i = first; i < behind; i++) many->begins[i] += many->joining.units[unit].at;
    return many->text != NULL ? (uint64_t)(many->tasks[first].text - many->text) : 0;
}

int bitlex_py_begin_joining_tasks(Many *many, size_t likely)
{
    many->joining.job = &many->job;
    many->joining.joined = many->joined;
    many->joining.placed = placed;
    return bitlex_py_begin_joining(&many->joining, (many->count + many->at_once - 1) / many->at_once, likely);
}

/* When all texts are encoded. */
static int prepare_to_join(void *job)
{
    Many *many = job;
    if (many->outcome != ENCODED || many->appends) return 0;
    many->joins = bitlex_py_place_rest(&many->joining) == 0;
    if (!many->joins) many->outcome = NO_ROOM;
    return 0;
}

int bitlex_py_make_some(Encoder *self, Task *tasks, size_t to, Made *made)
{
    const int collects = bitlex_py_stop_collecting();
    PyObject *one = made->list;
    while (one != NULL && made->count < to) {
        Task *task = tasks + made->count;
        one = made->make(self, task);
        if (one != NULL) {
            PyList_SET_ITEM(made->list, (Py_ssize_t)made->count, one);
            made->count++;
        }
        bitlex_py_free_ids(&task->ids);
    }
    bitlex_py_go_on_collecting(collects);
    return one == NULL ? -1 : 0;
}

/* In the calling thread: make something of the ids that there are, if these are those of many texts: each time, it may have to wait for the GIL. */
static void make_of_finished(Worker *w)
{
    Many *many = (Many *)w->job;
    const size_t made = many->made->count, least = many->count / TURNS;
    size_t to = made;
    int failed;
    PyThread_acquire_lock(w->job->lock, WAIT_LOCK);
    while (w->job->outcome == GOES_ON && to < many->count && many->finished[to / many->at_once]) {
        to = many->count - to < many->at_once ? many->count : to + many->at_once;
    }
    PyThread_release_lock(w->job->lock);
    if (to == made || to - made < least) return;
    PyEval_RestoreThread(w->job->released);
    failed = bitlex_py_make_some(many->encoder, many->tasks, to, many->made) < 0;
    w->job->released = PyEval_SaveThread();
    if (failed) bitlex_py_stop(w->job, INTERRUPTED);
}

void bitlex_py_encode_next(Worker *w)
{
    const int makes = w->done == NULL && w->job->listens; /* others, and who may be ended when it asks for the GIL, do not */
    Many *many = (Many *)w->job;
    Ids own = {.placed = many->joined != NULL && many->joined->placed}, *joined = many->joining.units != NULL ? &own : many->joined;
    Working *working;
    uint64_t units = 0;
    Encoded outcome = ENCODED;
    if (many->joins) {
        bitlex_py_put_rest(&many->joining);
        return;
    }
    working = bitlex_py_begin_work_apart(many->encoder);
    if (working == NULL) {
        bitlex_py_note(many, 0, NO_ROOM);
        return;
    }
    while (outcome == ENCODED && bitlex_py_may_go_on(w, units)) {
        size_t from, to, i;
        if (!bitlex_py_take_tasks(many, &from, &to)) break;
        if (joined == &own && bitlex_py_reserve_likely(&own, many->joining.likely) < 0) outcome = NO_ROOM;
        if (outcome != ENCODED) bitlex_py_note(many, from, outcome);
        for (units = 0, i = from; outcome == ENCODED && i < to; i++) {
            Task *task = many->tasks + i;
            task->may_go_on = task->length > SLICE / 4 ? may_go_on : NULL;
            task->context = w;
            if (joined != NULL) many->begins[i] = joined->used;
            outcome = encode_task(many, working, task, joined);
            if (outcome != ENCODED && outcome != STOPPED) bitlex_py_note(many, i, outcome);
            units += task->length;
        }
        if (joined == &own && outcome == ENCODED) bitlex_py_hand_over(&many->joining, from / many->at_once, &own);
        if (many->finished == NULL || outcome != ENCODED) continue;
        PyThread_acquire_lock(w->job->lock, WAIT_LOCK);
        many->finished[from / many->at_once] = 1;
        PyThread_release_lock(w->job->lock);
        if (makes) make_of_finished(w);
    }
    bitlex_py_free_ids(&own);
    bitlex_py_end_work_apart(working, many->encoder);
}

Many bitlex_py_many_of(Encoder *self, Task *tasks, size_t count, size_t at_once)
{
    const Many many = {.job = {.machine = &self->machine->machine, .work = bitlex_py_encode_next},
                       .encoder = self, .tasks = tasks, .count = count, .at_once = at_once, .failed = count, .outcome = ENCODED};
    return many;
}

int bitlex_py_share_many(Many *many, Py_ssize_t threads, size_t *failed, Encoded *outcome)
{
    int done;
    bitlex_py_offer_spare(many->encoder);
    done = bitlex_py_share(&many->job, (uint64_t)threads);
    *failed = many->failed;
    *outcome = done < 0 ? ENCODED : many->outcome; /* an exception goes before what else failed */
    return done < 0 || many->outcome != ENCODED ? -1 : 0;
}

/* Half as many as they have bytes, or as many as characters of what is made UTF-8 later. */
size_t bitlex_py_likely_ids(const Task *tasks, size_t count)
{
    size_t likely = 0;
    for (size_t i = 0; i < count; i++) likely += (size_t)(tasks[i].source != NULL ? tasks[i].length : tasks[i].length / 2);
    return likely;
}

int bitlex_py_encode_many(Encoder *self, Task *tasks, size_t count, Py_ssize_t threads, size_t blocks, Joined *joined, Made *made,
                          size_t *failed, Encoded *outcome)
{
    uint64_t bytes = 0;
    size_t i, at_once, likely;
    Many many;
    int done;
    *failed = 0;
    *outcome = ENCODED;
    for (i = 0; i < count; i++) bytes += tasks[i].length;
    if (count == 1 && threads > 1 && tasks->source != NULL) { /* which may be divided among all threads */
        if (bitlex_py_utf8_make(tasks->source) < 0) {
            *outcome = NO_ROOM;
            return -1;
        }
        tasks->text = tasks->source->bytes;
        tasks->length = bytes = tasks->source->length;
        tasks->source = NULL;
    }
    if (count == 1 && threads > 1 && bytes >= (blocks > 0 ? 1 : LONG)) {
        done = bitlex_py_encode_long(self, tasks, threads, blocks, outcome);
        if (joined == NULL) return done;
        if (done == 0 && surround(&tasks->ids, 0, joined) < 0) {
            *outcome = NO_ROOM;
            done = -1;
        }
        joined->ids = tasks->ids;
        memset(&tasks->ids, 0, sizeof tasks->ids);
        joined->begins[0] = 0;
    } else {
        if ((uint64_t)threads > bytes / RELEASE + 1) threads = (Py_ssize_t)(bytes / RELEASE + 1);
        if ((size_t)threads > count) threads = (Py_ssize_t)(count + (count == 0));
        at_once = count / (size_t)threads / 16 + 1;
        many = bitlex_py_many_of(self, tasks, count, at_once < AT_ONCE ? at_once : AT_ONCE);
        if (joined != NULL) {
            many.joined = &joined->ids;
            many.begins = joined->begins;
            many.around = joined;
            many.appends = threads == 1;
            many.job.between = prepare_to_join;
            likely = bitlex_py_likely_ids(tasks, count) + count * (joined->before + joined->behind);
            if ((many.appends ? bitlex_py_reserve_likely(&joined->ids, likely) : bitlex_py_begin_joining_tasks(&many, likely)) < 0) {
                bitlex_py_end_joining(&many.joining);
                *outcome = NO_ROOM;
                return -1;
            }
        }
        many.made = made;
        if (made != NULL) many.finished = PyMem_RawCalloc(count / many.at_once + 1, 1); /* or else it is made when all are done */
        done = bitlex_py_share_many(&many, threads, failed, outcome);
        bitlex_py_end_joining(&many.joining);
        PyMem_RawFree(many.finished);
    }
    if (joined != NULL) joined->begins[count] = joined->ids.used;
    return done;
}
