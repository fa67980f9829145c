/* _many.c - many texts by several threads: tasks in, the ids of each out. Whole texts are handed out a few at a time; _long.c divides one.
 *
 * Invariants: no two threads have the same task, so its ids need no lock; caches change no ids, so it makes no difference who encodes what.
 * Of tasks that fail, the first is told of, as one thread would: those before it are still finished.
 */
#include "_many.h"

#define AT_ONCE 64          /* texts that a thread takes at a time, at most */
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

/* Encode a task. A text that has to be made is made for as long, by the thread that needs it, and if it failed it stays. Ids are found in the
 * memory of the thread; few are copied to as much as they need, which later ones do not find taken. */
static Encoded encode_task(Working *working, Task *task)
{
    special_match found;
    Encoded outcome = ENCODED;
    Ids *ids = &working->ids;
    if (task->source != NULL && bitlex_py_utf8_make(task->source) < 0) return NO_ROOM;
    if (task->source != NULL) {
        task->text = task->source->bytes;
        task->length = task->source->length;
    }
    if (task->disallowed != NULL && specials_find(task->disallowed, task->text, task->length, 0, &found)) return REFUSED;
    if (!task->counting && (task->ids.placed || task->length > COPIED)) {
        outcome = bitlex_py_encode(working, task);
    } else {
        ids->used = 0;
        task->ids = *ids;
        outcome = bitlex_py_encode(working, task);
        *ids = task->ids;
        memset(&task->ids, 0, sizeof task->ids);
        if (outcome == ENCODED && ids->used > 0 && bitlex_py_reserve(&task->ids, ids->used) < 0) outcome = NO_ROOM;
        if (outcome == ENCODED && ids->used > 0) memcpy(task->ids.data, ids->data, ids->used * sizeof *ids->data);
        if (outcome == ENCODED) task->ids.used = ids->used;
    }
    if (task->source != NULL && outcome == ENCODED) bitlex_py_utf8_unmake(task->source);
    return outcome;
}

void bitlex_py_encode_next(Worker *w)
{
    Many *many = (Many *)w->job;
    Working *working = bitlex_py_begin_work_apart(many->encoder);
    uint64_t units = 0;
    Encoded outcome = ENCODED;
    if (working == NULL) {
        bitlex_py_note(many, 0, NO_ROOM);
        return;
    }
    while (outcome == ENCODED && bitlex_py_may_go_on(w, units)) {
        size_t from, to;
        if (!bitlex_py_take_tasks(many, &from, &to)) break;
        for (units = 0; outcome == ENCODED && from < to; from++) {
            Task *task = many->tasks + from;
            task->may_go_on = task->length > SLICE / 4 ? may_go_on : NULL;
            task->context = w;
            outcome = encode_task(working, task);
            if (outcome != ENCODED && outcome != STOPPED) bitlex_py_note(many, from, outcome);
            units += task->length;
        }
    }
    bitlex_py_end_work_apart(working, many->encoder);
}

Many bitlex_py_many_of(Encoder *self, Task *tasks, size_t count, size_t at_once)
{
    const Many many = {.job = {.machine = &self->machine->machine, .work = bitlex_py_encode_next, .buffer_size = 1},
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

int bitlex_py_encode_many(Encoder *self, Task *tasks, size_t count, Py_ssize_t threads, size_t blocks, size_t *failed, Encoded *outcome)
{
    uint64_t bytes = 0;
    size_t i, at_once;
    Many many;
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
    if (count == 1 && threads > 1 && bytes >= (blocks > 0 ? 1 : LONG)) return bitlex_py_encode_long(self, tasks, threads, blocks, outcome);
    if ((uint64_t)threads > bytes / RELEASE + 1) threads = (Py_ssize_t)(bytes / RELEASE + 1);
    if ((size_t)threads > count) threads = (Py_ssize_t)(count + (count == 0));
    at_once = count / (size_t)threads / 16 + 1;
    many = bitlex_py_many_of(self, tasks, count, at_once < AT_ONCE ? at_once : AT_ONCE);
    return bitlex_py_share_many(&many, threads, failed, outcome);
}
