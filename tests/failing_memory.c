/* failing_memory.c - memory that is not there: calls of malloc, calloc, realloc and mmap are counted, and one of them gets none. Preloaded.
 *
 *     memory_fails_at(3);     the third call from here on fails, and no other
 *     memory_asked();         how many there were since; and no more are counted
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/types.h>

static long fails_at, asked; /* fails_at 0: nothing is counted */

void memory_fails_at(long at)
{
    __atomic_store_n(&asked, 0, __ATOMIC_SEQ_CST);
    __atomic_store_n(&fails_at, at, __ATOMIC_SEQ_CST);
}

long memory_asked(void)
{
    __atomic_store_n(&fails_at, 0, __ATOMIC_SEQ_CST);
    return __atomic_load_n(&asked, __ATOMIC_SEQ_CST);
}

static int fails(void)
{
    const long at = __atomic_load_n(&fails_at, __ATOMIC_SEQ_CST);
    if (at == 0 || __atomic_add_fetch(&asked, 1, __ATOMIC_SEQ_CST) != at) return 0;
    errno = ENOMEM;
    return 1;
}

void *malloc(size_t size)
{
    static void *(*own)(size_t);
    if (own == NULL) *(void **)&own = dlsym(RTLD_NEXT, "malloc");
    return fails() ? NULL : own(size);
}

void *calloc(size_t count, size_t size)
{
    static void *(*own)(size_t, size_t);
    static int finds;
    if (finds) return NULL; /* dlsym may ask, and does without */
    finds = own == NULL;
    if (finds) *(void **)&own = dlsym(RTLD_NEXT, "calloc");
    finds = 0;
    return fails() ? NULL : own(count, size);
}

void *realloc(void *memory, size_t size)
{
    static void *(*own)(void *, size_t);
    if (own == NULL) *(void **)&own = dlsym(RTLD_NEXT, "realloc");
    return fails() ? NULL : own(memory, size);
}

void *mmap(void *at, size_t size, int protection, int flags, int file, off_t from)
{
    static void *(*own)(void *, size_t, int, int, int, off_t);
    if (own == NULL) *(void **)&own = dlsym(RTLD_NEXT, "mmap");
    return fails() ? MAP_FAILED : own(at, size, protection, flags, file, from);
}
