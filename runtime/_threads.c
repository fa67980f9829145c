/* _threads.c - the work of one call, done by several threads: see _threads.h.
 *
 * In: a job and how many threads it is worth. Out: the job done, or an exception. The threads are the platform's, the locks Python's. They are
 * started for the call and gone when it returns; where no more can be started, or have no memory, those that there are do the work.
 *
 * Invariant: no thread outlives the call, whatever happens. The calling thread is one of them; only it takes the GIL, to look at signals,
 * and it does so too while it waits, or Ctrl-C would be heard only when the others are done. Up to Python 3.13, a thread that asks for the GIL
 * may be ended, if Python ends and it is a daemon; what the others work on lies on its stack. So where signals are not for it, it does not ask.
 *
 * Rejected: threads that wait for the next call (starting one takes a few microseconds, a part to lex much longer, and a process
 * that forks would lose them); threads for making objects (they would wait for the GIL); Python's way to start one, where there is POSIX's: how
 * large its stack is would be said for all threads of the program, and without a GIL, of two calls the one could undo what the other had asked for.
 */
#include "_threads.h"

#ifdef HAVE_PTHREAD_H
#include <pthread.h>
#endif

#if PY_VERSION_HEX < 0x030E0000
PyAPI_FUNC(int) _PyOS_IsMainThread(void); /* of the main interpreter, where alone signals are handled; 3.13 has it, but in no header of these */
#else /* which keeps the thread, and has it wait for ever */
#define _PyOS_IsMainThread() 1
#endif

#define STACK (1u << 20) /* bytes: to encode takes up to 300 KB, and more under a sanitizer */
#define PATIENCE 50000 /* microseconds between two looks at signals while waiting for another thread */

void bitlex_py_stop(Job *job, Outcome why)
{
    PyThread_acquire_lock(job->lock, WAIT_LOCK);
    if (job->outcome == GOES_ON) job->outcome = why;
    PyThread_release_lock(job->lock);
}

/* In the calling thread, which has released the GIL. An exception stays set. */
static void look_at_signals(Job *job)
{
    int failed;
    if (!job->listens) return;
    PyEval_RestoreThread(job->released);
    failed = !PyErr_Occurred() && PyErr_CheckSignals() < 0;
    job->released = PyEval_SaveThread();
    if (failed) bitlex_py_stop(job, INTERRUPTED);
}

int bitlex_py_may_go_on(Worker *w, uint64_t units)
{
    int go_on;
    w->units += units;
    if (w->done == NULL && w->units >= SLICE) {
        w->units = 0;
        look_at_signals(w->job);
    }
    PyThread_acquire_lock(w->job->lock, WAIT_LOCK);
    go_on = w->job->outcome == GOES_ON;
    PyThread_release_lock(w->job->lock);
    return go_on;
}

static void thread_main(void *argument)
{
    Worker *w = argument;
    w->job->work(w);
    if (w->again != NULL) {
        PyThread_release_lock(w->done);
        PyThread_acquire_lock(w->again, WAIT_LOCK);
        w->job->work(w);
    }
    PyThread_release_lock(w->done); /* the last that is done here: the worker's memory may be gone at once */
}

/* The calling thread's share, which is over when all threads are done. */
static void work_together(Job *job, Worker *workers, uint64_t count)
{
    job->work(workers);
    for (uint64_t i = 1; i < count; i++) {
        while (PyThread_acquire_lock_timed(workers[i].done, PATIENCE, 0) != PY_LOCK_ACQUIRED) look_at_signals(job);
    }
}

/* What a thread works with; the locks are held. 0 where there is no memory for it. */
static int prepare(Worker *w, Job *job, int calling)
{
    w->job = job;
    w->cursor = bitlex_py_new_cursor(job->machine);
    if (w->cursor == NULL) return 0;
    if (calling) return 1;
    if ((w->done = PyThread_allocate_lock()) == NULL) return 0;
    PyThread_acquire_lock(w->done, WAIT_LOCK);
    if (job->between == NULL) return 1;
    if ((w->again = PyThread_allocate_lock()) == NULL) return 0;
    PyThread_acquire_lock(w->again, WAIT_LOCK);
    return 1;
}

/* One more thread, with a stack that is large enough: what a program asks for its own may be less, and so may what the C library gives (musl:
 * 128 KB; glibc: as of `ulimit -s`). Whether it was started. */
#ifdef HAVE_PTHREAD_H
static void *posix_main(void *worker)
{
    thread_main(worker);
    return NULL;
}

static int start(Worker *w)
{
    pthread_attr_t attributes;
    pthread_t thread;
    size_t given = 0;
    int failed;
    if (pthread_attr_init(&attributes) != 0) return 0;
    failed = pthread_attr_getstacksize(&attributes, &given) != 0 || (given < STACK && pthread_attr_setstacksize(&attributes, STACK) != 0) ||
             pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED) != 0 ||
             pthread_create(&thread, &attributes, posix_main, w) != 0;
    pthread_attr_destroy(&attributes);
    return !failed;
}
#else
static int start(Worker *w)
{
    const size_t asked = PyThread_get_stacksize();
    const int changed = asked > 0 && asked < STACK && PyThread_set_stacksize(STACK) == 0;
    const unsigned long thread = PyThread_start_new_thread(thread_main, w);
    if (changed) PyThread_set_stacksize(asked);
    return thread != PYTHREAD_INVALID_THREAD_ID;
}
#endif

int bitlex_py_share(Job *job, uint64_t count)
{
    Worker *workers = PyMem_RawCalloc((size_t)count, sizeof *workers);
    uint64_t started = 0, i;
    job->lock = PyThread_allocate_lock();
    for (i = 0; workers != NULL && job->lock != NULL && i < count; i++) { /* with fewer threads, if there cannot be as many */
        if (!prepare(workers + i, job, i == 0)) break;
        if (i > 0 && !start(workers + i)) break;
        started = i + 1;
    }
    if (started == 0) job->outcome = NO_MEMORY;
    job->listens = started <= 1 || _PyOS_IsMainThread();
    job->released = PyEval_SaveThread();
    if (started > 0) work_together(job, workers, started);
    if (started > 0 && job->between != NULL) {
        PyEval_RestoreThread(job->released);
        if (job->outcome == GOES_ON && job->between(job) < 0) job->outcome = INTERRUPTED;
        job->released = PyEval_SaveThread();
        for (i = 1; i < started; i++) PyThread_release_lock(workers[i].again);
        work_together(job, workers, started);
    }
    PyEval_RestoreThread(job->released);
    for (i = 0; workers != NULL && i < count; i++) {
        PyMem_RawFree(workers[i].cursor);
        if (workers[i].done != NULL) PyThread_free_lock(workers[i].done);
        if (workers[i].again != NULL) PyThread_free_lock(workers[i].again);
    }
    PyMem_RawFree(workers);
    if (job->lock != NULL) PyThread_free_lock(job->lock);
    if (job->outcome == NO_MEMORY) PyErr_NoMemory();
    return job->outcome == GOES_ON ? 0 : -1;
}
