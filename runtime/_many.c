/* _many.c - many texts, or one long text, by several threads: tasks in, the ids of each out.
 *
 * Whole texts are handed out a few at a time. A long text without special tokens is cut where the lexer's state can be told
 * (bitlex_find_cut): each part is encoded from the first piece that starts in it, and the pieces that lie across the cuts are encoded when
 * the parts around them are known, which is when all parts are put together.
 *
 * Invariants: no two threads have the same task, so its ids need no lock; caches change no ids, so it makes no difference who encodes what.
 * Of tasks that fail, the first is told of, as one thread would: those before it are still finished.
 */
#include "_tokens.h"
#include "_threads.h"

#define AT_ONCE 64          /* texts that a thread takes at a time, at most */
#define LONG (1u << 20)     /* bytes from which on a text is cut */
#define PART_BLOCKS 32      /* of a part, at least, unless the caller says otherwise */

typedef struct {
    Job job;
    Encoder *encoder;
    Task *tasks;
    size_t count, next, at_once;
    size_t failed;   /* the first task that failed, or count */
    Encoded outcome; /* of that one */
} Many;

static int may_go_on(void *worker) { return bitlex_py_may_go_on(worker, SLICE / 4); }

static void note(Many *many, size_t task, Encoded outcome)
{
    PyThread_acquire_lock(many->job.lock, WAIT_LOCK);
    if (task < many->failed) {
        many->failed = task;
        many->outcome = outcome;
    }
    PyThread_release_lock(many->job.lock);
}

/* The next tasks from *from up to *to; none if there are no more, or none before the first that failed. */
static int take(Many *many, size_t *from, size_t *to)
{
    PyThread_acquire_lock(many->job.lock, WAIT_LOCK);
    *from = many->next;
    *to = many->count - *from < many->at_once ? many->count : *from + many->at_once;
    if (*to > many->failed) *to = many->failed;
    if (*from < *to) many->next = *to;
    PyThread_release_lock(many->job.lock);
    return *from < *to;
}

static void work_on_many(Worker *w)
{
    Many *many = (Many *)w->job;
    Working *working = bitlex_py_begin_work_apart(many->encoder);
    uint64_t units = 0;
    Encoded outcome = ENCODED;
    if (working == NULL) {
        note(many, 0, NO_ROOM);
        return;
    }
    while (outcome == ENCODED && bitlex_py_may_go_on(w, units)) {
        size_t from, to;
        if (!take(many, &from, &to)) break;
        for (units = 0; outcome == ENCODED && from < to; from++) {
            Task *task = many->tasks + from;
            task->may_go_on = task->length > SLICE / 4 ? may_go_on : NULL;
            task->context = w;
            outcome = bitlex_py_encode(working, task);
            if (outcome != ENCODED && outcome != STOPPED) note(many, from, outcome);
            units += task->length;
        }
    }
    bitlex_py_end_work_apart(working, many->encoder);
}

static int share(Encoder *self, Task *tasks, size_t count, Py_ssize_t threads, size_t at_once, size_t *failed, Encoded *outcome)
{
    Many many = {.job = {.machine = &self->machine->machine, .work = work_on_many, .buffer_size = 1},
                 .encoder = self, .tasks = tasks, .count = count, .at_once = at_once, .failed = count, .outcome = ENCODED};
    int done;
    bitlex_py_offer_spare(self);
    done = bitlex_py_share(&many.job, (uint64_t)threads);
    *failed = many.failed;
    *outcome = done < 0 ? ENCODED : many.outcome; /* an exception goes before what else failed */
    return done < 0 || many.outcome != ENCODED ? -1 : 0;
}

/* --- one long text ------------------------------------------------------------------------------------------------------- */

/* The cuts of a text, and their number; at most `most`, and so many blocks from one to the next at least. */
static size_t find_cuts(Working *w, const Task *task, bitlex_cut *cuts, size_t most, uint64_t part_blocks)
{
    const uint64_t blocks = (task->length - 1) / BITLEX_BLOCK + 1;
    uint64_t step = blocks / (most + 1) + 1, block;
    size_t count = 0;
    if (step < part_blocks) step = part_blocks;
    bitlex_restart(w->cursor, task->text, task->length, BITLEX_UTF8, scratch_behind(w->cursor));
    for (block = step; block < blocks && count < most; block += step) {
        if (bitlex_find_cut(w->cursor, block, cuts + count)) count++;
        else step *= 2; /* a text in which nothing tells: ever fewer tries */
    }
    return count;
}

/* Put the ids of all parts together, and those of the pieces between them. */
static Encoded join(Working *w, Task *task, Task *parts, size_t count)
{
    uint64_t last = 0;
    Encoded outcome = ENCODED;
    for (size_t i = 0; outcome == ENCODED && i < count; i++) {
        Ids *ids = &parts[i].ids;
        if (i > 0 && parts[i].last > 0 && parts[i].first > last) outcome = bitlex_py_encode_piece(w, task, last, parts[i].first);
        if (outcome == ENCODED && bitlex_py_reserve(&task->ids, ids->used) < 0) outcome = NO_ROOM;
        if (outcome != ENCODED) break;
        if (ids->used > 0) memcpy(task->ids.data + task->ids.used, ids->data, ids->used * sizeof *ids->data);
        if (ids->used > 0 && ids->placed) memcpy(task->ids.places + 2 * task->ids.used, ids->places, ids->used * 2 * sizeof *ids->places);
        task->ids.used += ids->used;
        task->counted += parts[i].counted;
        if (parts[i].last > 0) last = parts[i].last;
        bitlex_py_free_ids(ids);
    }
    return outcome;
}

static int encode_long(Encoder *self, Working *w, Task *task, Py_ssize_t threads, uint64_t part_blocks, Encoded *outcome)
{
    const size_t most = (size_t)threads * 64;
    bitlex_cut *cuts = PyMem_RawMalloc(most * sizeof *cuts);
    Task *parts = PyMem_RawCalloc(most + 1, sizeof *parts);
    size_t count, i, failed = 0;
    int done = -1;
    *outcome = NO_ROOM;
    if (cuts != NULL && parts != NULL) {
        count = find_cuts(w, task, cuts, most, part_blocks) + 1;
        for (i = 0; i < count; i++) {
            parts[i].text = task->text;
            parts[i].length = task->length;
            parts[i].from = i > 0 ? cuts + i - 1 : NULL;
            parts[i].to = i + 1 < count ? cuts + i : NULL;
            parts[i].ids.placed = task->ids.placed;
            parts[i].counting = task->counting;
        }
        done = share(self, parts, count, threads, 1, &failed, outcome);
        if (done == 0 || *outcome == NO_BYTE) { /* what lies across a cut may fail, and before a part that did */
            const Encoded joined = join(w, task, parts, done == 0 ? count : failed + 1);
            if (joined == ENCODED && done < 0) task->at = parts[failed].at;
            if (joined != ENCODED) *outcome = joined;
        }
        for (i = 0; i < count; i++) bitlex_py_free_ids(&parts[i].ids);
        if (*outcome != ENCODED) done = -1;
    }
    PyMem_RawFree(cuts);
    PyMem_RawFree(parts);
    return done;
}

/* --- all ----------------------------------------------------------------------------------------------------------------- */

/* Whether several threads are to share this text, of which so many bytes are worth it. */
static int is_long(const Encoder *self, const Task *task, Py_ssize_t threads, uint64_t least)
{
    special_match found;
    const bitlex_machine *machine = &self->machine->machine;
    if (threads < 2 || task->length < least || task->length >= UINT32_MAX || machine->stage_count > 1 || machine->drops) return 0;
    return task->allowed == NULL || !specials_find(task->allowed, task->text, task->length, 0, &found);
}

int bitlex_py_encode_many(Encoder *self, Task *tasks, size_t count, Py_ssize_t threads, size_t blocks, size_t *failed, Encoded *outcome)
{
    uint64_t bytes = 0;
    size_t i, at_once;
    *failed = 0;
    *outcome = ENCODED;
    for (i = 0; i < count; i++) bytes += tasks[i].length;
    if (count == 1 && is_long(self, tasks, threads, blocks > 0 ? 1 : LONG)) {
        Working *w = bitlex_py_begin_work(self);
        int done;
        if (w == NULL) {
            *outcome = NO_ROOM;
            return -1;
        }
        done = encode_long(self, w, tasks, threads, blocks > 0 ? blocks : PART_BLOCKS, outcome);
        bitlex_py_end_work(w, self);
        return done;
    }
    if ((uint64_t)threads > bytes / RELEASE + 1) threads = (Py_ssize_t)(bytes / RELEASE + 1);
    if ((size_t)threads > count) threads = (Py_ssize_t)(count + (count == 0));
    at_once = count / (size_t)threads / 16 + 1;
    return share(self, tasks, count, threads, at_once < AT_ONCE ? at_once : AT_ONCE, failed, outcome);
}
