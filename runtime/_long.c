/* _long.c - one long text by several threads: a task in, its ids out.
 *
 * Text between special tokens is encoded as if it were alone. So a text is divided where these are: several with what is between them are a
 * part, and a long text between two is cut where the lexer's state can be told (bitlex_find_cut). Each part of that is encoded from the first
 * piece that starts in it; a piece that lies across a cut is encoded when the parts up to the one in which it ends are, and put before the ids
 * of that (_joining.c).
 *
 * Invariants: a part begins where the text, a special token or what is behind one does, or at a cut; so no special token lies across two
 * parts, and searching a part finds those that searching the text does. Of parts that fail, the first is told of, as one thread would; and what
 * is disallowed before anything else.
 *
 * A window is a text that may go on. Nothing is encoded there behind the last cut that was found so far before its end that what follows cannot
 * change what is known of it. The next window begins some blocks before that cut, or with the piece that lies across it if that is longer, so
 * that cuts are in the same blocks, and those after it are found as if all of the text was there; a special token is looked at once all of the
 * longest one is there.
 *
 * Rejected: the ids of all parts joined by one thread (sixteen waited for that longer than for all the rest); a part for each thread (the
 * last one done has all others wait, and ids of many megabytes are written to new memory twice).
 */
#include "_many.h"

#define PART_BLOCKS 32    /* of a part, at least, unless the caller says otherwise */
#define PART_BYTES (1u << 18) /* about, at most: their ids are found in memory that stays in the cache */
#define SLOW (1u << 22)   /* bytes of a piece across a cut, for which nobody waits */
#define UNKNOWN_BLOCKS 65 /* before the end of a window, in which there are no cuts: more than the lexer looks ahead for one, */
#define KNOWN_BLOCKS 9    /* and before the first of the next, if it is not the start of a text: more than it looks back */
#define LOOKED (1u << 20) /* bytes that a thread looks through at a time for what is disallowed */

typedef struct {
    Many many; /* at the start */
    Working *w;
    Task *text;
    Task *parts;
    bitlex_cut *cuts;    /* in the order of the parts */
    size_t count, room, cut_count, cut_room;
    uint64_t looked;     /* bytes in which nothing is disallowed, as far as was seen */
    uint64_t last;       /* where, in the text of the part at hand, the last piece of those before it ended */
    Task across;         /* pieces that lie across cuts */
    Window *window;      /* or NULL */
    uint64_t open;       /* of a window that goes on: where the text begins whose end is not known, */
    uint64_t cut_in_it;  /* and how often that was cut */
} Long;

/* Memory with room for one more than `count` of `each` bytes: where it is now, or NULL, and what there was stays. */
static void *one_more(void *memory, size_t count, size_t *room, size_t each)
{
    const size_t wanted = *room * 2 + 64;
    if (count < *room) return memory;
    memory = PyMem_RawRealloc(memory, wanted * each);
    if (memory != NULL) *room = wanted;
    return memory;
}

static int add_part(Long *all, uint64_t from, uint64_t to)
{
    Task *part = one_more(all->parts, all->count, &all->room, sizeof *part);
    if (part == NULL) return -1;
    all->parts = part;
    part += all->count++;
    memset(part, 0, sizeof *part);
    part->text = all->text->text + from;
    part->length = to - from;
    part->slack = all->text->slack;
    part->allowed = all->text->allowed;
    part->counting = all->text->counting;
    return 0;
}

static const bitlex_cut some_cut; /* in place of one of those that may still move: divide says which, when they no longer do */

static int add_cut_room(Long *all)
{
    bitlex_cut *cuts = one_more(all->cuts, all->cut_count, &all->cut_room, sizeof *cuts);
    if (cuts == NULL) return -1;
    all->cuts = cuts;
    return 0;
}

/* Cut text without special tokens: so many times at most, with so many blocks from one to the next at least; from a cut on, if there is one; and
 * if the text goes on, where that cannot matter, and without what is behind the last cut. */
static int cut(Long *all, uint64_t from, uint64_t to, uint64_t most, uint64_t part_blocks, const bitlex_cut *first, int goes_on)
{
    const uint64_t blocks = to > from ? (to - from - 1) / BITLEX_BLOCK + 1 : 0;
    const uint64_t end = !goes_on ? blocks : blocks > UNKNOWN_BLOCKS ? blocks - UNKNOWN_BLOCKS : 0;
    uint64_t step = blocks / (most + 1) + 1, block, made = 0;
    if (step < part_blocks) step = part_blocks;
    bitlex_restart(all->w->cursor, all->text->text + from, to - from, BITLEX_UTF8, scratch_behind(all->w->cursor));
    if (add_part(all, from, to) < 0 || (first != NULL && add_cut_room(all) < 0)) return -1;
    all->parts[all->count - 1].allowed = NULL;
    if (first != NULL) {
        all->parts[all->count - 1].from = &some_cut;
        all->cuts[all->cut_count++] = *first;
    }
    for (block = step + (first != NULL ? first->block : 0); block < end && made < most; block += step) {
        if (add_cut_room(all) < 0) return -1;
        if (!bitlex_find_cut(all->w->cursor, block, all->cuts + all->cut_count)) {
            step *= 2; /* a text in which nothing tells: ever fewer tries */
            continue;
        }
        made++;
        all->cut_count++;
        all->parts[all->count - 1].to = &some_cut;
        if (add_part(all, from, to) < 0) return -1;
        all->parts[all->count - 1].allowed = NULL;
        all->parts[all->count - 1].from = &some_cut;
    }
    if (!goes_on) return 0;
    all->count--;
    all->open = from;
    all->cut_in_it = made;
    return 0;
}

/* Bytes of the longest special token, of those that are allowed and of others. */
static uint64_t longest_of(const Task *task)
{
    const uint64_t allowed = task->allowed != NULL ? task->allowed->longest : 0;
    const uint64_t disallowed = task->disallowed != NULL ? task->disallowed->longest : 0;
    return allowed > disallowed ? allowed : disallowed;
}

static int divide(Long *all, Py_ssize_t threads, uint64_t part_blocks)
{
    const Task *task = all->text;
    const bitlex_machine *machine = &all->many.encoder->machine->machine;
    const int can_cut = machine->stage_count == 1 && !machine->drops;
    const uint64_t least = part_blocks * BITLEX_BLOCK;
    const int goes_on = all->window != NULL && all->window->goes_on;
    const bitlex_cut *first = all->window != NULL && all->window->begun ? &all->window->cut : NULL;
    uint64_t from = 0, at = 0, known = task->length; /* where the part begins, and the text behind the last special token; what tokens are known */
    special_search search;
    special_match found = {0, 0, 0};
    int more = 1;
    size_t i, cuts = first != NULL;
    if (goes_on) known -= known < longest_of(task) ? known : longest_of(task);
    if (task->allowed != NULL) specials_begin(&search, task->allowed, task->text, task->length, 0);
    while (more) {
        uint64_t end;
        more = task->allowed != NULL && specials_next(&search, &found) && found.start < known;
        end = more ? found.start : known > at ? known : at;
        if (first != NULL || (goes_on && !more) || (can_cut && end - at >= 2 * least && end - at < UINT32_MAX)) {
            if (at > from && add_part(all, from, at) < 0) return -1;
            const uint64_t some = (uint64_t)((double)threads * 64 * ((double)(end - at) / (double)task->length)), many = (end - at) / PART_BYTES;
            if (cut(all, at, end, some > many ? some : many, part_blocks, first, goes_on && !more) < 0) return -1;
            first = NULL;
            from = end;
        } else if (end - from >= least || !more) {
            if (end > from && add_part(all, from, end) < 0) return -1;
            from = end;
        }
        at = found.end;
    }
    for (i = 0; i < all->count; i++) {
        Task *part = all->parts + i;
        if (part->from != NULL) part->from = all->cuts + cuts - 1;
        if (part->to != NULL) part->to = all->cuts + cuts++;
    }
    return 0;
}

static uint64_t base_of(const Long *all, const Task *part) { return (uint64_t)(part->text - all->text->text); }

/* Append the ids of the piece that lies across the cut before a part, if one does, and go behind the part. */
static Encoded encode_before(Long *all, size_t number, Task *across)
{
    const Task *part = all->parts + number;
    Encoded outcome = ENCODED;
    if (part->from == NULL) all->last = 0;
    across->text = part->text;
    across->length = part->length;
    if (part->from != NULL && part->last > 0 && part->first > all->last) outcome = bitlex_py_encode_piece(all->w, across, all->last, part->first);
    if (outcome == NO_BYTE) across->at += base_of(all, part);
    if (outcome == ENCODED && part->last > 0) all->last = part->last;
    return outcome;
}

/* For _joining.c. What fails is told of when all are encoded, and so not here. */
static int put_before(Job *job, size_t number)
{
    Long *all = (Long *)job;
    Ids *joined = all->many.joined;
    Ids *ids = &all->across.ids;
    const uint64_t last = all->last;
    const Task *part = all->parts + number;
    const int is_slow = part->from != NULL && part->last > 0 && part->first > last + SLOW;
    ids->used = 0;
    if (is_slow || encode_before(all, number, &all->across) != ENCODED ||
        ids->used + all->many.joining.units[number].ids.used > joined->room - joined->used) {
        all->last = last;
        return -1;
    }
    bitlex_py_put_ids(joined, joined->used, ids, 0, ids->used, base_of(all, part));
    joined->used += ids->used;
    return 0;
}

/* Encode the pieces that lie across the cuts before those of so many parts that are not put yet, and make room for all ids. */
static Encoded encode_across(Long *all, size_t count)
{
    const size_t put = all->many.joining.put;
    Unit *units = all->many.joining.units;
    Task *across = &all->across;
    Ids *ids = &all->text->ids;
    size_t total = ids->used, at = total, first = 0, i;
    Encoded outcome = ENCODED;
    across->ids.used = 0;
    for (i = put; outcome == ENCODED && i < count; i++) {
        const size_t before = across->ids.used;
        outcome = encode_before(all, i, across);
        across->counted += all->parts[i].counted;
        if (units == NULL) continue;
        units[i].at = total + (across->ids.used - before);
        total = units[i].at + units[i].ids.used;
    }
    if (outcome == ENCODED && total > at && bitlex_py_reserve(ids, total - at) < 0) outcome = NO_ROOM;
    for (i = put; outcome == ENCODED && units != NULL && i < count; i++) {
        const size_t made = units[i].at - at;
        bitlex_py_put_ids(ids, at, &across->ids, first, made, base_of(all, all->parts + i));
        first += made;
        at = units[i].at + units[i].ids.used;
    }
    ids->used = outcome == ENCODED ? total : 0;
    all->text->counted = across->counted;
    all->text->at = across->at;
    return outcome;
}

/* When all parts are encoded. */
static int prepare_to_join(void *job)
{
    Long *all = job;
    if (all->many.outcome != ENCODED) return 0;
    all->many.outcome = encode_across(all, all->many.count);
    all->many.joins = all->many.outcome == ENCODED;
    return 0;
}

/* Look for what is disallowed, a thread here and one there: 0 if nothing else needs to be done. What is across two places is found in the first. */
static int look(Worker *w)
{
    Long *all = (Long *)w->job;
    const Task *text = all->text;
    special_match found;
    while (text->disallowed != NULL) {
        uint64_t from, to;
        PyThread_acquire_lock(all->many.job.lock, WAIT_LOCK);
        from = all->many.outcome == ENCODED ? all->looked : text->length;
        to = text->length - from < LOOKED ? text->length : from + LOOKED;
        all->looked = to;
        PyThread_release_lock(all->many.job.lock);
        if (from == to) break;
        to = text->length - to < text->disallowed->longest ? text->length : to + text->disallowed->longest;
        if (specials_find(text->disallowed, text->text + from, to - from, 0, &found)) bitlex_py_note(&all->many, 0, REFUSED);
        if (!bitlex_py_may_go_on(w, to - from)) return 0;
    }
    return 1;
}

static void work_on_long(Worker *w)
{
    if (((Many *)w->job)->joins || look(w)) bitlex_py_encode_next(w);
}

/* Say where the next window is to begin. */
static void go_on(const Long *all, Window *window)
{
    uint64_t cut, last, before;
    if (all->cut_in_it == 0) { /* behind the last special token, if there is one */
        window->next = all->open;
        if (all->open > 0) window->begun = 0;
        return;
    }
    window->begun = 1;
    window->cut = all->cuts[all->cut_count - 1];
    cut = window->cut.block * BITLEX_BLOCK;
    last = all->last;
    before = (cut - last + BITLEX_BLOCK - 1) / BITLEX_BLOCK;
    if (before < KNOWN_BLOCKS) before = KNOWN_BLOCKS < window->cut.block ? KNOWN_BLOCKS : window->cut.block;
    window->next = all->open + (window->cut.block - before) * BITLEX_BLOCK;
    window->last = all->open + last - window->next;
    window->cut.block = before;
}

static int encode_long(Encoder *self, Task *task, Window *window, Py_ssize_t threads, size_t blocks, Encoded *outcome)
{
    Long all = {.w = bitlex_py_begin_work(self), .text = task, .across = {.counting = task->counting, .ids = {.placed = task->ids.placed}},
                .window = window, .last = window != NULL && window->begun ? window->last : 0};
    uint64_t *begins = NULL;
    size_t failed = 0;
    int done = -1;
    *outcome = NO_ROOM;
    all.across.slack = task->slack;
    all.many.encoder = self;
    if (all.w != NULL && divide(&all, threads, blocks > 0 ? blocks : PART_BLOCKS) == 0) begins = PyMem_RawMalloc((all.count + 1) * sizeof *begins);
    if (begins != NULL) {
        all.many = bitlex_py_many_of(self, all.parts, all.count, 1);
        all.many.text = task->text;
        all.many.joined = task->counting ? NULL : &task->ids;
        all.many.begins = begins;
        all.many.job.work = work_on_long;
        all.many.job.between = prepare_to_join;
        all.many.joining.put_before = put_before;
        if (task->counting || bitlex_py_begin_joining_tasks(&all.many, bitlex_py_likely_ids(task, 1)) == 0) {
            done = bitlex_py_share_many(&all.many, threads, &failed, outcome);
        }
        if (*outcome == NO_BYTE && failed < all.count) { /* what lies across a cut may fail, and before a part that did */
            const Encoded across = encode_across(&all, failed + 1);
            if (across == ENCODED) task->at = base_of(&all, all.parts + failed) + all.parts[failed].at;
            else *outcome = across;
        }
        bitlex_py_end_joining(&all.many.joining);
    }
    if (*outcome != ENCODED && task->disallowed != NULL) { /* which not all were done with looking for, maybe */
        special_match found;
        if (specials_find(task->disallowed, task->text, task->length, 0, &found)) *outcome = REFUSED;
    }
    if (done == 0 && window != NULL && window->goes_on) go_on(&all, window);
    bitlex_py_free_ids(&all.across.ids);
    PyMem_RawFree(begins);
    PyMem_RawFree(all.cuts);
    PyMem_RawFree(all.parts);
    if (all.w != NULL) bitlex_py_end_work(all.w, self);
    return done;
}

int bitlex_py_encode_long(Encoder *self, Task *task, Py_ssize_t threads, size_t blocks, Encoded *outcome)
{
    return encode_long(self, task, NULL, threads, blocks, outcome);
}

int bitlex_py_encode_window(Encoder *self, Task *task, Window *window, Py_ssize_t threads, size_t blocks, Encoded *outcome)
{
    return encode_long(self, task, window, threads, blocks, outcome);
}
