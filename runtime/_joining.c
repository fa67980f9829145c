/* _joining.c - the ids of many tasks, put side by side in one array while others are still being found.
 *
 *     unit 0 made, unit 1 not, unit 2 made      0 is put where it belongs; 2 waits, since nobody knows yet how many there are of 1
 *     unit 1 made                               1 and 2 are put, by the thread that made 1
 *
 * So there is memory for all ids once, and for those of a few units, which is filled again and again while it is in the cache. How many ids
 * there will be is not known: room is asked for as for a text that has many, and pages to which nothing is written are not there. Where it is
 * not enough, the array cannot move, as others put ids into it: what is left waits until all are made.
 *
 * Invariant: what is made, put and full is looked at and changed under the job's lock; ids are copied without it, each to a place of its own.
 *
 * Rejected: all ids apart, and joined when all are found (they are written to memory that is new twice: of a text of 43 MB, two threads were as
 * fast as one).
 */
#include "_many.h"

int bitlex_py_begin_joining(Many *many, size_t likely)
{
    many->unit_count = (many->count + many->at_once - 1) / many->at_once;
    many->units = PyMem_RawCalloc(many->unit_count + 1, sizeof *many->units);
    if (many->units == NULL) return -1;
    many->likely = many->unit_count > 0 ? likely / many->unit_count : 0;
    return many->joined->lent ? 0 : bitlex_py_reserve_likely(many->joined, likely);
}

void bitlex_py_end_joining(Many *many)
{
    for (size_t i = 0; many->units != NULL && i < many->unit_count; i++) bitlex_py_free_ids(&many->units[i].ids);
    while (many->spare_count > 0) bitlex_py_free_ids(many->spares + --many->spare_count);
    PyMem_RawFree(many->units);
    many->units = NULL;
}

void bitlex_py_put_ids(Ids *to, size_t at, const Ids *from, size_t first, size_t count, uint64_t base)
{
    if (count == 0) return;
    memcpy(to->data + at, from->data + first, count * sizeof *to->data);
    for (size_t i = 0; to->placed && i < 2 * count; i++) to->places[2 * at + i] = from->places[2 * first + i] + base;
}

/* Put the ids of a unit where they belong. What comes back is their memory. */
static Ids put_unit(Many *many, size_t number)
{
    Unit *unit = many->units + number;
    const size_t first = number * many->at_once, behind = many->count - first < many->at_once ? many->count : first + many->at_once;
    Ids memory = unit->ids;
    bitlex_py_put_ids(many->joined, unit->at, &memory, 0, memory.used, many->text != NULL ? (uint64_t)(many->tasks[first].text - many->text) : 0);
    for (size_t i = first; i < behind; i++) many->begins[i] += unit->at;
    memset(&unit->ids, 0, sizeof unit->ids);
    memory.used = 0;
    return memory;
}

/* Give the next unit that is made its place, under the lock: 0, or -1 if it has none yet. */
static int settle(Many *many)
{
    Unit *unit = many->units + many->put;
    Ids *joined = many->joined;
    if (unit->ids.used > joined->room - joined->used || (many->put_before != NULL && many->put_before(many, many->put) < 0)) return -1;
    unit->at = joined->used;
    joined->used += unit->ids.used;
    many->put++;
    return 0;
}

void bitlex_py_hand_over(Many *many, size_t number, Ids *own)
{
    const Ids none = {.placed = many->joined->placed};
    Ids memory;
    size_t first, last;
    PyThread_acquire_lock(many->job.lock, WAIT_LOCK);
    many->units[number].ids = *own;
    many->units[number].made = 1;
    first = many->put;
    while (!many->full && many->put < many->unit_count && many->units[many->put].made) many->full = settle(many) < 0;
    last = many->put;
    *own = many->spare_count > 0 ? many->spares[--many->spare_count] : none;
    PyThread_release_lock(many->job.lock);
    for (; first < last; first++) {
        memory = put_unit(many, first);
        PyThread_acquire_lock(many->job.lock, WAIT_LOCK);
        if (many->spare_count < SPARES) {
            many->spares[many->spare_count++] = memory;
            memory = none;
        }
        PyThread_release_lock(many->job.lock);
        bitlex_py_free_ids(&memory);
    }
}

void bitlex_py_join_next(Many *many)
{
    for (;;) {
        size_t number;
        Ids memory;
        PyThread_acquire_lock(many->job.lock, WAIT_LOCK);
        number = many->put;
        many->put += number < many->unit_count;
        PyThread_release_lock(many->job.lock);
        if (number == many->unit_count) return;
        memory = put_unit(many, number);
        bitlex_py_free_ids(&memory);
    }
}
