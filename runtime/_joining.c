/* _joining.c - numbers that several threads find, ids or offsets, put side by side in one array while others are still being found.
 *
 *     unit 0 made, unit 1 not, unit 2 made      0 is put where it belongs; 2 waits, since nobody knows yet how many there are of 1
 *     unit 1 made                               1 and 2 are put, by the thread that made 1
 *
 * So there is memory for all numbers once, and for those of a few units, which is filled again and again while it is in the cache. How many there
 * will be is not known: room is asked for as for a text that has many, and pages to which nothing is written are not there. Where it is not
 * enough, the array cannot move, as others put numbers into it: what is left waits until all are made.
 *
 * Invariant: what is made, put and full is looked at and changed under the job's lock; numbers are copied without it, each to a place of its own.
 *
 * Rejected: all apart, and joined when all are found (they are written to new memory twice: of a text of 43 MB, two threads found ids hardly
 * faster than one).
 */
#include "_joining.h"

int bitlex_py_begin_joining(Joining *j, size_t count, size_t likely)
{
    j->count = count;
    j->likely = count > 0 ? likely / count : 0;
    j->units = PyMem_RawCalloc(count + 1, sizeof *j->units);
    if (j->units == NULL) return -1;
    return j->joined->lent ? 0 : bitlex_py_reserve_likely(j->joined, likely);
}

void bitlex_py_end_joining(Joining *j)
{
    for (size_t i = 0; j->units != NULL && i < j->count; i++) bitlex_py_free_ids(&j->units[i].ids);
    while (j->spare_count > 0) bitlex_py_free_ids(j->spares + --j->spare_count);
    PyMem_RawFree(j->units);
    j->units = NULL;
}

void bitlex_py_put_ids(Ids *to, size_t at, const Ids *from, size_t first, size_t count, uint64_t base)
{
    if (count == 0) return;
    memcpy(to->data + at, from->data + first, count * sizeof *to->data);
    for (size_t i = 0; to->placed && i < 2 * count; i++) to->places[2 * at + i] = from->places[2 * first + i] + base;
}

/* Put what was found of a unit where it belongs. What comes back is its memory. */
static Ids put_unit(Joining *j, size_t number)
{
    Unit *unit = j->units + number;
    Ids memory = unit->ids;
    bitlex_py_put_ids(j->joined, unit->at, &memory, 0, memory.used, j->placed != NULL ? j->placed(j->job, number) : 0);
    memset(&unit->ids, 0, sizeof unit->ids);
    memory.used = 0;
    return memory;
}

/* Give the next unit, which is made, its place: 0, or -1 if it has none yet. */
static int settle(Joining *j)
{
    Unit *unit = j->units + j->put;
    if (unit->ids.used > j->joined->room - j->joined->used || (j->put_before != NULL && j->put_before(j->job, j->put) < 0)) return -1;
    unit->at = j->joined->used;
    j->joined->used += unit->ids.used;
    j->put++;
    return 0;
}

void bitlex_py_hand_over(Joining *j, size_t number, Ids *own)
{
    const Ids none = {.placed = j->joined->placed};
    size_t first, last;
    PyThread_acquire_lock(j->job->lock, WAIT_LOCK);
    j->units[number].ids = *own;
    j->units[number].made = 1;
    first = j->put;
    while (!j->full && j->put < j->count && j->units[j->put].made) j->full = settle(j) < 0;
    last = j->put;
    *own = j->spare_count > 0 ? j->spares[--j->spare_count] : none;
    PyThread_release_lock(j->job->lock);
    for (; first < last; first++) {
        Ids memory = put_unit(j, first);
        PyThread_acquire_lock(j->job->lock, WAIT_LOCK);
        if (j->spare_count < SPARES) {
            j->spares[j->spare_count++] = memory;
            memory = none;
        }
        PyThread_release_lock(j->job->lock);
        bitlex_py_free_ids(&memory);
    }
}

int bitlex_py_place_rest(Joining *j)
{
    size_t total = j->joined->used;
    for (size_t i = j->put; i < j->count; i++) {
        j->units[i].at = total;
        total += j->units[i].ids.used;
    }
    if (total > j->joined->used && bitlex_py_reserve(j->joined, total - j->joined->used) < 0) return -1;
    j->joined->used = total;
    return 0;
}

void bitlex_py_put_rest(Joining *j)
{
    while (j->units != NULL) {
        size_t number;
        Ids memory;
        PyThread_acquire_lock(j->job->lock, WAIT_LOCK);
        number = j->put;
        j->put += number < j->count;
        PyThread_release_lock(j->job->lock);
        if (number == j->count) return;
        memory = put_unit(j, number);
        bitlex_py_free_ids(&memory);
    }
}
