/* _many.c - many texts, or one long text, by several threads: tasks in, the ids of each out.
 *
 * Whole texts are handed out a few at a time. A long text without special tokens is cut where the lexer's state can be told
 * (bitlex_find_cut): each part is encoded from the first piece that starts in it, and the pieces that lie across the cuts are encoded when
 * the parts around them are known. Then there is memory for all, and each thread puts the ids of the next part where they belong.
 *
 * Invariants: no two threads have the same task, so its ids need no lock; caches change no ids, so it makes no difference who encodes what.
 * Of tasks that fail, the first is told of, as one thread would: those before it are still finished.
 */
#include "_tokens.h"
#include "_threads.h"

#define AT_ONCE 64          /* texts that a thread takes at a time, at most */
#define LONG (1u << 20)     /* bytes from which on a text is cut */
#define COPIED (1u << 16)   /* bytes of a text up to which its ids are copied */
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

static void encode_next(Worker *w)
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
            outcome = encode_task(working, task);
            if (outcome != ENCODED && outcome != STOPPED) note(many, from, outcome);
            units += task->length;
        }
    }
    bitlex_py_end_work_apart(working, many->encoder);
}

static Many share_of(Encoder *self, Task *tasks, size_t count, size_t at_once)
{
    const Many many = {.job = {.machine = &self->machine->machine, .work = encode_next, .buffer_size = 1},
                       .encoder = self, .tasks = tasks, .count = count, .at_once = at_once, .failed = count, .outcome = ENCODED};
    return many;
}

static int share(Many *many, Py_ssize_t threads, size_t *failed, Encoded *outcome)
{
    int done;
    bitlex_py_offer_spare(many->encoder);
    done = bitlex_py_share(&many->job, (uint64_t)threads);
    *failed = many->failed;
    *outcome = done < 0 ? ENCODED : many->outcome; /* an exception goes before what else failed */
    return done < 0 || many->outcome != ENCODED ? -1 : 0;
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

/* A long text: its parts, and where in its ids those of each belong. */
typedef struct {
    Many many; /* at the start */
    Working *w;
    Task *text;
    size_t *places;
    int joins; /* all are encoded, and there is memory for all ids */
} Long;

static void put_ids(Ids *to, size_t at, const Ids *from, size_t first, size_t count)
{
    if (count == 0) return;
    memcpy(to->data + at, from->data + first, count * sizeof *to->data);
    if (to->placed) memcpy(to->places + 2 * at, from->places + 2 * first, count * 2 * sizeof *to->places);
}

/* Encode the pieces that lie across the cuts before so many parts, and make room for all ids. */
static Encoded encode_across(Long *all, size_t count)
{
    Task across = *all->text; /* whose ids are those of all these pieces */
    Task *parts = all->many.tasks;
    Ids *ids = &all->text->ids;
    uint64_t last = 0;
    size_t total = 0, first = 0, i;
    Encoded outcome = ENCODED;
    across.counted = 0;
    across.ids.data = NULL;
    across.ids.places = NULL;
    across.ids.used = across.ids.room = 0;
    for (i = 0; outcome == ENCODED && i < count; i++) {
        const size_t before = across.ids.used;
        if (i > 0 && parts[i].last > 0 && parts[i].first > last) outcome = bitlex_py_encode_piece(all->w, &across, last, parts[i].first);
        if (parts[i].last > 0) last = parts[i].last;
        total += across.ids.used - before;
        all->places[i] = total;
        total += parts[i].ids.used;
        across.counted += parts[i].counted;
    }
    if (outcome == ENCODED && total > 0 && bitlex_py_reserve(ids, total) < 0) outcome = NO_ROOM;
    for (i = 0, total = 0; outcome == ENCODED && i < count; i++) {
        put_ids(ids, total, &across.ids, first, all->places[i] - total);
        first += all->places[i] - total;
        total = all->places[i] + parts[i].ids.used;
    }
    ids->used = outcome == ENCODED ? total : 0;
    all->text->counted = across.counted;
    all->text->at = across.at;
    bitlex_py_free_ids(&across.ids);
    return outcome;
}

/* When all parts are encoded. */
static int prepare_to_join(void *job)
{
    Long *all = job;
    if (all->many.outcome != ENCODED) return 0;
    all->many.outcome = encode_across(all, all->many.count);
    all->joins = all->many.outcome == ENCODED;
    all->many.next = 0;
    return 0;
}

static void work_on_long(Worker *w)
{
    Long *all = (Long *)w->job;
    Task *parts = all->many.tasks;
    size_t i, to;
    if (!all->joins) {
        encode_next(w);
        return;
    }
    for (; take(&all->many, &i, &to); bitlex_py_free_ids(&parts[i].ids)) put_ids(&all->text->ids, all->places[i], &parts[i].ids, 0, parts[i].ids.used);
}

static int encode_long(Encoder *self, Working *w, Task *task, Py_ssize_t threads, uint64_t part_blocks, Encoded *outcome)
{
    const size_t most = (size_t)threads * 64;
    bitlex_cut *cuts = PyMem_RawMalloc(most * sizeof *cuts);
    Task *parts = PyMem_RawCalloc(most + 1, sizeof *parts);
    size_t *places = PyMem_RawMalloc((most + 1) * sizeof *places);
    size_t count, i, failed = 0;
    int done = -1;
    *outcome = NO_ROOM;
    if (cuts != NULL && parts != NULL && places != NULL) {
        Long all = {.w = w, .text = task, .places = places};
        count = find_cuts(w, task, cuts, most, part_blocks) + 1;
        for (i = 0; i < count; i++) {
            parts[i].text = task->text;
            parts[i].length = task->length;
            parts[i].from = i > 0 ? cuts + i - 1 : NULL;
            parts[i].to = i + 1 < count ? cuts + i : NULL;
            parts[i].ids.placed = task->ids.placed;
            parts[i].counting = task->counting;
        }
        all.many = share_of(self, parts, count, 1);
        all.many.job.work = work_on_long;
        all.many.job.between = prepare_to_join;
        done = share(&all.many, threads, &failed, outcome);
        if (*outcome == NO_BYTE && failed < count) { /* what lies across a cut may fail, and before a part that did */
            const Encoded across = encode_across(&all, failed + 1);
            if (across == ENCODED) task->at = parts[failed].at;
            else *outcome = across;
        }
        for (i = 0; i < count; i++) bitlex_py_free_ids(&parts[i].ids);
    }
    PyMem_RawFree(places);
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
    if (task->disallowed != NULL && specials_find(task->disallowed, task->text, task->length, 0, &found)) return 0; /* it is found again, and refused */
    return task->allowed == NULL || !specials_find(task->allowed, task->text, task->length, 0, &found);
}

int bitlex_py_encode_many(Encoder *self, Task *tasks, size_t count, Py_ssize_t threads, size_t blocks, size_t *failed, Encoded *outcome)
{
    uint64_t bytes = 0;
    size_t i, at_once;
    *failed = 0;
    *outcome = ENCODED;
    for (i = 0; i < count; i++) bytes += tasks[i].length;
    if (count == 1 && threads > 1 && tasks->source != NULL) { /* which may be cut, and then is one for all threads */
        if (bitlex_py_utf8_make(tasks->source) < 0) {
            *outcome = NO_ROOM;
            return -1;
        }
        tasks->text = tasks->source->bytes;
        tasks->length = bytes = tasks->source->length;
        tasks->source = NULL;
    }
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
    {
        Many many = share_of(self, tasks, count, at_once < AT_ONCE ? at_once : AT_ONCE);
        return share(&many, threads, failed, outcome);
    }
}
