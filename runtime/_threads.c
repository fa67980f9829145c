/* _threads.c - the work of one call, done by several threads: see _threads.h.
 *
 * In: a job and how many threads it is worth. Out: the job done, or an exception. The threads are the platform's, by Python's portable
 * interface to them (locks included). They are started for the call and gone when it returns; where no more can be started, or have
 * no memory, those that there are do the work.
 *
 * Invariant: no thread outlives the call, whatever happens. The calling thread is one of them; only it takes the GIL, to look at signals,
 * and it does so too while it waits, or Ctrl-C would be heard only when the others are done.
 *
 * Rejected: threads that wait for the next call (starting one takes a few microseconds, a part to lex much longer, and a process
 * that forks would lose them); threads for making objects (they would wait for the GIL).
 */
#include "_threads.h"

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
    PyEval_RestoreThread(job->released);
    failed = !PyErr_Occurred() && PyErr_CheckSignals() < 0;
    job->released = PyEval_SaveThread();
    if (failed) bitlex_py_stop(job, INTERRUPTED);
}

int bitlex_py_may_go_on(Worker *w, uint64_t units)
{
    int go_on;
    w->units += units;
    if (w->exited == NULL && w->units >= SLICE) {
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
    PyThread_release_lock(w->exited);
}

int bitlex_py_share(Job *job, uint64_t count)
{
    Worker *workers = PyMem_RawCalloc((size_t)count, sizeof *workers);
    uint64_t started = 0, i;
    job->lock = PyThread_allocate_lock();
    if (job->lock == NULL) job->outcome = NO_MEMORY;
    for (i = 0; workers != NULL && job->lock != NULL && i < count; i++) {
        Worker *w = workers + i;
        w->job = job;
        w->cursor = bitlex_py_new_cursor(job->machine);
        w->buffer = PyMem_RawMalloc(job->buffer_size);
        if (i > 0) w->exited = PyThread_allocate_lock();
        if (w->cursor == NULL || w->buffer == NULL || (i > 0 && w->exited == NULL)) {
            if (i == 0) job->outcome = NO_MEMORY;
            break; /* with fewer threads, then */
        }
        if (i > 0) PyThread_acquire_lock(w->exited, WAIT_LOCK);
        if (i > 0 && PyThread_start_new_thread(thread_main, w) == PYTHREAD_INVALID_THREAD_ID) break;
        started = i + 1;
    }
    if (workers == NULL) job->outcome = NO_MEMORY;
    job->released = PyEval_SaveThread();
    if (started > 0) job->work(workers);
    for (i = 1; i < started; i++) {
        while (PyThread_acquire_lock_timed(workers[i].exited, PATIENCE, 0) != PY_LOCK_ACQUIRED) look_at_signals(job);
    }
    PyEval_RestoreThread(job->released);
    for (i = 0; workers != NULL && i < count; i++) {
        PyMem_RawFree(workers[i].cursor);
        PyMem_RawFree(workers[i].buffer);
        if (workers[i].exited != NULL) PyThread_free_lock(workers[i].exited);
    }
    PyMem_RawFree(workers);
    if (job->lock != NULL) PyThread_free_lock(job->lock);
    if (job->outcome == NO_MEMORY) PyErr_NoMemory();
    return job->outcome == GOES_ON ? 0 : -1;
}
