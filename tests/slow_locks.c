/* slow_locks.c - sem_wait that takes a millisecond more, in all threads but the first, before it returns: a lock that a thread has for a
 * moment is then one that it nearly always has. Preloaded; it is what the interpreter's locks wait by. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <semaphore.h>
#include <time.h>
#include <unistd.h>

int sem_wait(sem_t *semaphore)
{
    static int (*own)(sem_t *);
    const struct timespec pause = {0, 1000000};
    int done;
    if (own == NULL) *(void **)&own = dlsym(RTLD_NEXT, "sem_wait");
    done = own(semaphore);
    if (gettid() != getpid()) nanosleep(&pause, NULL);
    return done;
}
