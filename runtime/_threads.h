/* _threads.h - what the threads of one call share: for _threads.c, which starts them, and _parts.c and _batches.c, which have work.
 *
 * A kind of work is a struct that starts with a Job, filled but for what is marked, and a function that each thread runs once; or two
 * such functions, the second of which is run when all threads are done with the first. It takes the next piece of work under the job's
 * lock until there is none or bitlex_py_may_go_on says no.
 *
 * Invariants: threads other than the calling one touch no object and never take the GIL; the calling one has released it. The
 * first outcome that is not GOES_ON stays, and stops all threads.
 */
#ifndef BITLEX_THREADS_H
#define BITLEX_THREADS_H

#include "_native.h"

typedef enum { GOES_ON, INTERRUPTED, NO_MEMORY } Outcome;

typedef struct Worker Worker;

typedef struct {
    const bitlex_machine *machine;
    void (*work)(Worker *worker);
    int (*between)(void *job); /* NULL; or what the calling thread does, with the GIL, when all work is done and before other work is:
                                  it sets that, or returns -1 with an exception set */
    PyThread_type_lock lock; /* set by bitlex_py_share, as what follows; guards everything that changes */
    PyThreadState *released; /* the state of the calling thread, while it has not got the GIL */
    int listens;             /* whether that looks at signals meanwhile */
    Outcome outcome;
} Job;

struct Worker {
    Job *job;
    bitlex_cursor *cursor;
    PyThread_type_lock done;   /* released when the thread has done the work; NULL for the calling thread */
    PyThread_type_lock again;  /* released when there is other work; NULL where there will be none */
    uint64_t units;            /* lexed since signals were looked at */
};

#if defined(__GNUC__)
#pragma GCC visibility push(hidden)
#endif

/* Do the work of a job in up to `count` threads, this one among them: -1 with an exception set if it was not finished. */
int bitlex_py_share(Job *job, uint64_t count);

/* After so many units: whether to do more. In the calling thread this looks at signals. */
int bitlex_py_may_go_on(Worker *w, uint64_t units);

/* Let no thread go on. */
void bitlex_py_stop(Job *job, Outcome why);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#endif
