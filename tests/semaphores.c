/* semaphores.c - sem_clockwait by sem_timedwait: the thread sanitizer knows the second, and would see no order between threads in what the
 * interpreter's locks wait for. Preloaded, behind the sanitizer. */
#define _GNU_SOURCE
#include <semaphore.h>
#include <time.h>

int sem_clockwait(sem_t *semaphore, clockid_t clock, const struct timespec *until)
{
    struct timespec here, real;
    long long nanoseconds;
    clock_gettime(clock, &here);
    clock_gettime(CLOCK_REALTIME, &real);
    nanoseconds = (until->tv_sec - here.tv_sec) * 1000000000LL + until->tv_nsec - here.tv_nsec;
    nanoseconds = (nanoseconds < 0 ? 0 : nanoseconds) + real.tv_nsec;
    real.tv_sec += nanoseconds / 1000000000LL;
    real.tv_nsec = nanoseconds % 1000000000LL;
    return sem_timedwait(semaphore, &real);
}
