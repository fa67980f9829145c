/* _many.h - tasks that threads share: for _many.c, which has each done, and _long.c, which makes them of one text. */
#ifndef BITLEX_MANY_H
#define BITLEX_MANY_H

#include "_joining.h"

typedef struct {
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
    Joining joining;      /* or else these are the units of what a thread takes at a time */
    int joins;            /* all are encoded, and there is memory for all ids */
    Made *made;           /* NULL; or what the calling thread makes of the ids of tasks, */
    uint8_t *finished;    /* if those that were taken together are finished */
} Many;

#if defined(__GNUC__)
#pragma GCC visibility push(hidden)
#endif

Many bitlex_py_many_of(Encoder *self, Task *tasks, size_t count, size_t at_once);

/* Do the work: -1, with an exception set if the outcome is ENCODED. */
int bitlex_py_share_many(Many *many, Py_ssize_t threads, size_t *failed, Encoded *outcome);

/* What each thread does: encode the next tasks, until there are none; and then, if ids are joined, put them where they belong. */
void bitlex_py_encode_next(Worker *w);

/* For how many ids of texts there is to be room, so that it is seldom not enough; and have them joined by several threads, at many->joined: 0,
 * or -1 if there is no memory. To be ended by bitlex_py_end_joining. */
size_t bitlex_py_likely_ids(const Task *tasks, size_t count);
int bitlex_py_begin_joining_tasks(Many *many, size_t likely);

/* The next tasks from *from up to *to; none if there are no more, or none before the first that failed. */
int bitlex_py_take_tasks(Many *many, size_t *from, size_t *to);

/* That a task has failed. */
void bitlex_py_note(Many *many, size_t task, Encoded outcome);

/* A beginning of a text, or what follows one, of which only what no text behind it can change is encoded. Zeros where the text begins. */
typedef struct {
    int goes_on;      /* whether there is more text behind it */
    int begun;        /* whether the lexer reads from a cut, at the start of this block: */
    bitlex_cut cut;
    uint64_t last;    /* where the piece begins that lies across it */
    uint64_t next;    /* out: where the next is to begin, which goes on from there with the rest; it may be the same, if more text is needed */
} Window;

/* As the next function, for a machine of one stage that drops nothing. */
int bitlex_py_encode_window(Encoder *self, Task *task, Window *window, Py_ssize_t threads, size_t blocks, Encoded *outcome);

/* The ids of one text, divided into parts of so many blocks of the lexer and more; 0: as it is worth it. As bitlex_py_encode_many. */
int bitlex_py_encode_long(Encoder *self, Task *task, Py_ssize_t threads, size_t blocks, Encoded *outcome);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#endif
