/* _parts.c - one long text, by several threads: a reading in; out, the number of its pieces, or its offsets.
 *
 * The text is cut as bitlex_find_cut allows; each thread takes the next part and counts its pieces. Parts are long at first and get
 * shorter, so that all threads are done at about the same time. When offsets are wanted, a bit is kept for each unit besides; once all
 * parts are counted the places of all offsets are known, the result is made in its very size, and each thread stores the offsets of the
 * next part where they belong: nothing is copied, and no thread waits for another, but once in the middle.
 *
 *     "It's 10 pm"    parts "It's 1", "0 pm"    bits 101010, 0100    counts 3, 2 (the last has the end of the text)
 *                     places 0, 3               ends 2 4 5, 7 10
 *
 * Invariants: parts are numbered as they are taken, in the order of the text. All that is shared changes under the lock, but for bits
 * and offsets, which no two parts have in common. What is stored is as much as was counted, whatever another thread writes to the
 * text meanwhile, because the bits are not looked for twice.
 *
 * What it does not do: a text that cannot be cut is one part, and a machine of several stages never gets here.
 *
 * Rejected: as many parts as threads (the slowest would keep the others waiting); offsets held back by each thread until the parts
 * before are stored (they wait for each other at each part, and everything is moved once more); room for a piece a unit (a
 * process may not have that much address space).
 */
#include "_threads.h"

#define SHARES 4 /* of a thread, in what is left of the text when it takes a part */

typedef struct {
    bitlex_cut from, to; /* the first part has no `from`, the last no `to` */
    uint64_t pieces;     /* of this part; later, the place of its first offset */
    char first[16];      /* the pair that may have to be joined to the one before */
} Part;

typedef struct {
    Job job;
    const Text *text;
    Part *parts;
    uint64_t blocks, part_blocks, threads;
    uint64_t count, stored; /* parts that were cut, and of which the offsets are stored, or will be by whoever has taken them */
    int cut;                /* all of the text */
    uint64_t *kept;         /* NULL when pieces are only counted */
    Form form;
    PyTypeObject *type;
    Offsets *offsets; /* NULL until their number is known */
    uint64_t pieces;  /* of all parts */
} Parts;

static Parts *parts_of(Worker *w) { return (Parts *)w->job; }

/* The next part: blocks until the next place where the text can be cut. Looked for ever further on, so that in a text that cannot be
 * cut at all the search costs next to nothing. */
static int cut_part(Worker *w, uint64_t *number, int *last)
{
    Parts *parts = parts_of(w);
    uint64_t step, block;
    int taken = 0;
    PyThread_acquire_lock(parts->job.lock, WAIT_LOCK);
    if (parts->job.outcome == GOES_ON && !parts->cut) {
        Part *part = parts->parts + parts->count;
        taken = 1;
        *number = parts->count++;
        if (*number > 0) part->from = part[-1].to;
        step = (parts->blocks - part->from.block) / (SHARES * parts->threads);
        if (step < parts->part_blocks) step = parts->part_blocks;
        for (block = part->from.block + step; block < parts->blocks; step *= 2, block += step) {
            if (bitlex_find_cut(w->cursor, block, &part->to)) break;
        }
        parts->cut = *last = block >= parts->blocks;
    }
    PyThread_release_lock(parts->job.lock);
    return taken;
}

static void begin_part(Worker *w, uint64_t number, int last)
{
    const Part *part = parts_of(w)->parts + number;
    bitlex_begin_part(w->cursor, number == 0 ? NULL : &part->from, last ? NULL : &part->to);
}

static void restart(Worker *w)
{
    const Text *t = parts_of(w)->text;
    bitlex_restart(w->cursor, t->data, t->length, t->encoding, scratch_behind(w->cursor));
}

static void count_parts(Worker *w)
{
    Parts *parts = parts_of(w);
    uint64_t number;
    int last;
    restart(w);
    while (cut_part(w, &number, &last)) {
        uint64_t pieces = 0;
        begin_part(w, number, last);
        if (parts->kept != NULL) bitlex_keep(w->cursor, parts->kept);
        while (bitlex_count_some(w->cursor, SLICE / 16, &pieces) && bitlex_py_may_go_on(w, SLICE / 16)) {}
        parts->parts[number].pieces = pieces;
        bitlex_py_may_go_on(w, parts->part_blocks * BITLEX_BLOCK);
    }
}

/* --- offsets ---------------------------------------------------------------------------------------------------------- */

static void store_part(Worker *w, uint64_t number)
{
    Parts *parts = parts_of(w);
    Part *part = parts->parts + number;
    const int last = number + 1 == parts->count;
    const size_t size = form_size(parts->form);
    uint64_t left = (last ? parts->pieces : part[1].pieces) - part->pieces;
    char *out = (char *)parts->offsets->bytes + part->pieces * size;
    size_t stored = 0, got = 1;
    begin_part(w, number, last);
    bitlex_recall(w->cursor, parts->kept);
    if (has_pairs(parts->form) && number > 0) bitlex_py_next_offsets(w->cursor, parts->form, part->first, 1);
    while (left > 0 && got > 0) {
        got = bitlex_py_next_offsets(w->cursor, parts->form, out, (size_t)left);
        out += got * size;
        left -= got;
        stored += got;
        if (stored < BUFFER) continue;
        if (!bitlex_py_may_go_on(w, stored)) break;
        stored = 0;
    }
}

static void store_parts(Worker *w)
{
    Parts *parts = parts_of(w);
    uint64_t number;
    restart(w);
    while (bitlex_py_may_go_on(w, 0)) {
        PyThread_acquire_lock(parts->job.lock, WAIT_LOCK);
        number = parts->stored;
        parts->stored += number < parts->count;
        PyThread_release_lock(parts->job.lock);
        if (number == parts->count) break;
        store_part(w, number);
    }
}

/* From the numbers of pieces, where the offsets of each part are to be stored. The piece that lies across a cut ends in the part behind
 * it, but its pair starts in the one before. */
static int make_places(void *job)
{
    Parts *parts = job;
    const uint64_t begun = has_pairs(parts->form) && !parts->job.machine->drops;
    for (uint64_t i = 0; i < parts->count; i++) {
        const uint64_t pieces = parts->parts[i].pieces;
        parts->parts[i].pieces = parts->pieces + (i > 0 ? begun : 0);
        parts->pieces += pieces;
    }
    parts->offsets = bitlex_py_offsets_new(parts->type, parts->pieces * form_size(parts->form));
    parts->job.work = store_parts;
    return parts->offsets == NULL ? -1 : 0;
}

/* A pair that lies across a cut came in two, the second of which is the first of its part: join them. Where nothing was open at the cut,
 * that one means nothing. */
static void join_pairs(Parts *parts)
{
    const size_t size = form_size(parts->form), half = size / 2;
    for (uint64_t i = 1; i < parts->count; i++) {
        const Part *part = parts->parts + i;
        char *last = (char *)parts->offsets->bytes + part->pieces * size - size;
        if (part->pieces > 0 && memcmp(last + half, part->first, half) == 0) memcpy(last + half, part->first + half, half);
    }
}

/* --- both ------------------------------------------------------------------------------------------------------------- */

/* Cut the text of a reading into parts and have them worked on; they are to be freed whatever comes back. */
static int share_text(Parts *parts, const Reading *r, uint64_t threads, uint64_t part_blocks)
{
    parts->job.machine = &r->machine->machine;
    parts->job.work = count_parts;
    parts->text = &r->text;
    parts->blocks = (r->text.length - 1) / BITLEX_BLOCK + 1;
    parts->part_blocks = part_blocks;
    parts->threads = threads;
    parts->parts = PyMem_RawCalloc((size_t)(parts->blocks / part_blocks + 1), sizeof *parts->parts);
    if (parts->parts != NULL) return bitlex_py_share(&parts->job, threads);
    PyErr_NoMemory();
    return -1;
}

int bitlex_py_share_count(const Reading *r, uint64_t threads, uint64_t part_blocks, uint64_t *pieces)
{
    Parts parts = {.count = 0};
    const int failed = share_text(&parts, r, threads, part_blocks);
    for (uint64_t i = 0; i < parts.count; i++) *pieces += parts.parts[i].pieces;
    PyMem_RawFree(parts.parts);
    return failed;
}

Offsets *bitlex_py_share_offsets(const Reading *r, PyTypeObject *type, Form form, uint64_t threads, uint64_t part_blocks)
{
    const uint64_t kept_size = bitlex_kept_size(&r->machine->machine, r->text.length);
    Parts parts = {.job = {.between = make_places}, .form = form, .type = type};
    if (kept_size <= PY_SSIZE_T_MAX) parts.kept = bitlex_py_take(FOR_TEXTS, (size_t)kept_size);
    if (parts.kept == NULL) return NULL;
    if (share_text(&parts, r, threads, part_blocks) < 0) {
        Py_CLEAR(parts.offsets);
    } else if (has_pairs(form)) {
        join_pairs(&parts);
    }
    PyMem_RawFree(parts.parts);
    bitlex_py_let_go(FOR_TEXTS, parts.kept, (size_t)kept_size, (size_t)kept_size);
    return parts.offsets;
}

uint64_t bitlex_py_useful_threads(const Machine *self, const Text *t, Py_ssize_t threads, Py_ssize_t part_blocks)
{
    uint64_t parts = t->length / BITLEX_BLOCK / (uint64_t)part_blocks;
    if (self->machine.stage_count > 1 || parts < 2) return 1;
    return parts < (uint64_t)threads ? parts : (uint64_t)threads;
}
