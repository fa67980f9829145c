/* _many.h - tasks that threads share: for _many.c, which has each done, _joining.c, which puts ids side by side, and _long.c, which makes tasks
 * of one text. */
#ifndef BITLEX_MANY_H
#define BITLEX_MANY_H

#include "_tokens.h"
#include "_threads.h"

/* The ids of the tasks that a thread took at a time. */
typedef struct {
    Ids ids;
    size_t at; /* where among all they begin */
    int made;
} Unit;

#define SPARES 32

typedef struct Many {
    Job job;
    Encoder *encoder;
    Task *tasks;
    size_t count, next, at_once;
    size_t failed;   /* the first task that failed, or count */
    Encoded outcome; /* of that one */
    const uint8_t *text;  /* of which the tasks are parts, if ids have places */
    Ids *joined;          /* where the ids of all tasks come to lie, in their order; or NULL */
    uint64_t *begins;     /* where in these those of each begin */
    const Joined *around; /* with what is put around those of each; or NULL */
    int appends;          /* one thread does all, and puts them there as it finds them */
    int joins;            /* all are encoded, and there is memory for all ids */
    Unit *units;          /* in their order; NULL where ids are not joined, or one thread appends them */
    size_t unit_count, likely; /* how many ids one may have */
    size_t put;                /* so many are where they belong, or are being put there */
    int full;             /* the others are put when all are encoded: there was no room, or what comes before them is not to be had yet */
    int (*put_before)(struct Many *many, size_t unit); /* NULL; or puts what comes before a unit, if there is room for both: if not, -1 */
    Ids spares[SPARES];   /* memory that waits for ids of other units */
    size_t spare_count;
} Many;

#if defined(__GNUC__)
#pragma GCC visibility push(hidden)
#endif

Many bitlex_py_many_of(Encoder *self, Task *tasks, size_t count, size_t at_once);

/* Do the work: -1, with an exception set if the outcome is ENCODED. */
int bitlex_py_share_many(Many *many, Py_ssize_t threads, size_t *failed, Encoded *outcome);

/* What each thread does: encode the next tasks, until there are none; and then, if ids are joined, put them where they belong. */
void bitlex_py_encode_next(Worker *w);

/* For how many ids of texts there is to be room, so that it is seldom not enough. */
size_t bitlex_py_likely_ids(const Task *tasks, size_t count);

/* --- _joining.c --- */

/* Begin to join ids, for about so many of which there is room, and be done with it: 0, or -1 if there is no memory. */
int bitlex_py_begin_joining(Many *many, size_t likely);
void bitlex_py_end_joining(Many *many);

/* Give away the ids of a unit, which is made; what comes back is memory for others. They are put where they belong, and so are those behind
 * them, as far as all before are made. */
void bitlex_py_hand_over(Many *many, size_t unit, Ids *own);

/* Once all units have their places: put those that are not put yet. */
void bitlex_py_join_next(Many *many);

/* Put so many ids, from the first on, where others are, from `at` on; a part of a text that begins at `base`. */
void bitlex_py_put_ids(Ids *to, size_t at, const Ids *from, size_t first, size_t count, uint64_t base);

/* --- _many.c, _long.c --- */

/* The next tasks from *from up to *to; none if there are no more, or none before the first that failed. */
int bitlex_py_take_tasks(Many *many, size_t *from, size_t *to);

/* That a task has failed. */
void bitlex_py_note(Many *many, size_t task, Encoded outcome);

/* The ids of one text, divided into parts of so many blocks of the lexer and more; 0: as it is worth it. As bitlex_py_encode_many. */
int bitlex_py_encode_long(Encoder *self, Task *task, Py_ssize_t threads, size_t blocks, Encoded *outcome);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#endif
