/* _many.c - many texts by several threads: tasks in, the ids of each out, or of all, side by side. Whole texts are handed out a few at a
 * time; _long.c divides one.
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

/* Ids are found in the memory of the thread; few are copied to as much as they need, which later ones do not find taken. Or they are found where
 * they belong, behind others. */
static Encoded find_ids(const Many *many, Working *working, Task *task)
{
    Ids *ids = many->appends ? many->joined : &working->ids;
    const size_t first = many->appends ? ids->used : 0;
    Encoded outcome;
    if (!many->appends && !task->counting && (task->ids.placed || task->length > COPIED)) {
        outcome = bitlex_py_encode(working, task);
        if (outcome == ENCODED && many->around != NULL && surround(&task->ids, 0, many->around) < 0) return NO_ROOM;
        return outcome;
    }
    ids->used = first;
    task->ids = *ids;
    outcome = bitlex_py_encode(working, task);
    *ids = task->ids;
    memset(&task->ids, 0, sizeof task->ids);
    if (outcome != ENCODED) return outcome;
    if (many->around != NULL && surround(ids, first, many->around) < 0) return NO_ROOM;
    if (many->appends || ids->used == 0) return ENCODED;
    if (bitlex_py_reserve(&task->ids, ids->used) < 0) return NO_ROOM;
    memcpy(task->ids.data, ids->data, ids->used * sizeof *ids->data);
    task->ids.used = ids->used;
    return ENCODED;
}

/* Encode a task. A text that has to be made is made for as long, by the thread that needs it, and if it failed it stays. */
static Encoded encode_task(const Many *many, Working *working, Task *task)
{
    special_match found;
    Encoded outcome;
    if (task->source != NULL && bitlex_py_utf8_make(task->source) < 0) return NO_ROOM;
    if (task->source != NULL) {
        task->text = task->source->bytes;
        task->length = task->source->length;
    }
    if (task->disallowed != NULL && specials_find(task->disallowed, task->text, task->length, 0, &found)) return REFUSED;
    outcome = find_ids(many, working, task);
    if (task->source != NULL && outcome == ENCODED) bitlex_py_utf8_unmake(task->source);
    return outcome;
}

void bitlex_py_put_ids(Ids *to, size_t at, const Ids *from, size_t first, size_t count, uint64_t base)
{
    if (count == 0) return;
    memcpy(to->data + at, from->data + first, count * sizeof *to->data);
    for (size_t i = 0; to->placed && i < 2 * count; i++) to->places[2 * at + i] = from->places[2 * first + i] + base;
}

static void join_next(Many *many)
{
    size_t from, to;
    while (bitlex_py_take_tasks(many, &from, &to)) {
        for (; from < to; from++) {
            Task *task = many->tasks + from;
            const uint64_t base = many->text != NULL ? (uint64_t)(task->text - many->text) : 0;
            bitlex_py_put_ids(many->joined, many->begins[from], &task->ids, 0, task->ids.used, base);
            bitlex_py_free_ids(&task->ids);
        }
    }
}

/* When all texts are encoded. */
static int prepare_to_join(void *job)
{
    Many *many = job;
    uint64_t total = 0;
    if (many->outcome != ENCODED || many->appends) return 0;
    for (size_t i = 0; i < many->count; i++) {
        many->begins[i] = total;
        total += many->tasks[i].ids.used;
    }
    if (total > 0 && bitlex_py_reserve(many->joined, total) < 0) {
        many->outcome = NO_ROOM;
        return 0;
    }
    many->joined->used = total;
    many->joins = 1;
    many->next = 0;
    return 0;
}

void bitlex_py_encode_next(Worker *w)
{
    Many *many = (Many *)w->job;
    Working *working;
    uint64_t units = 0;
    Encoded outcome = ENCODED;
    if (many->joins) {
        join_next(many);
        return;
    }
    working = bitlex_py_begin_work_apart(many->encoder);
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
            if (many->appends) many->begins[from] = many->joined->used;
            outcome = encode_task(many, working, task);
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

int bitlex_py_encode_many(Encoder *self, Task *tasks, size_t count, Py_ssize_t threads, size_t blocks, Joined *joined, size_t *failed,
                          Encoded *outcome)
{
    uint64_t bytes = 0;
    size_t i, at_once;
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
        }
        done = bitlex_py_share_many(&many, threads, failed, outcome);
    }
    if (joined != NULL) joined->begins[count] = joined->ids.used;
    return done;
}
