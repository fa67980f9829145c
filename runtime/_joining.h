/* _joining.h - numbers that several threads find, side by side in one array: for _many.c and _long.c, of ids, and _batches.c, of offsets. */
#ifndef BITLEX_JOINING_H
#define BITLEX_JOINING_H

#include "_threads.h"
#include "_tokens.h"

/* What a thread found at a time. */
typedef struct {
    Ids ids;
    size_t at; /* where it belongs */
    int made;
} Unit;

#define SPARES 32

typedef struct {
    Job *job;         /* whose lock guards all of this */
    Ids *joined;      /* where all come to lie */
    Unit *units;      /* in their order; NULL where nothing is joined, or one thread does all and appends it */
    size_t count, likely; /* of units; how many numbers one may have */
    size_t put;       /* so many units are where they belong, or are being put there */
    int full;         /* the others are put when all are made: there was no room, or what comes before them is not to be had yet */
    int (*put_before)(Job *job, size_t unit); /* NULL; or puts what comes before a unit, if there is room for both: if not, -1 */
    uint64_t (*placed)(Job *job, size_t unit); /* NULL; or is told that a unit has its place, and says where in the text it begins */
    Ids spares[SPARES]; /* memory that waits for other units */
    size_t spare_count;
} Joining;

#if defined(__GNUC__)
#pragma GCC visibility push(hidden)
#endif

/* Begin to join units, with room for about so many numbers, and be done with it: 0, or -1 if there is no memory. */
int bitlex_py_begin_joining(Joining *j, size_t count, size_t likely);
void bitlex_py_end_joining(Joining *j);

/* Give away what was found of a unit; what comes back is memory for others. It is put where it belongs, and so is what others found of the units
 * behind it, as far as all before are made. */
void bitlex_py_hand_over(Joining *j, size_t unit, Ids *own);

/* When all units are made: have a place, and room, for those that are not put yet: 0, or -1 if there is no memory. Then each thread puts some, if
 * anything is joined. */
int bitlex_py_place_rest(Joining *j);
void bitlex_py_put_rest(Joining *j);

/* Put so many ids, from the first on, where others are, from `at` on; a part of a text that begins at `base`. */
void bitlex_py_put_ids(Ids *to, size_t at, const Ids *from, size_t first, size_t count, uint64_t base);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#endif
