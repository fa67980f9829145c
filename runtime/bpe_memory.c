/* bpe_memory.c - large tables: sizes in, memory of zeros out; in large pages, but for the rest that does not fill one. */
#if defined(__linux__)
#define _GNU_SOURCE
#endif
#include "bpe_hash.h"

#include <stdlib.h>

#if defined(__linux__)
#include <sys/mman.h>
#include <unistd.h>

#define LARGE_PAGE ((size_t)2 << 20)

static size_t mapped_size(size_t size)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    return (size + page - 1) / page * page;
}

void *bpe_allocate(size_t size)
{
    const size_t whole = mapped_size(size);
    const size_t more = whole < LARGE_PAGE ? 0 : LARGE_PAGE; /* to begin where a large page does */
    uint8_t *found = mmap(NULL, whole + more, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    size_t before;
    if (found == MAP_FAILED) return NULL;
    if (more == 0) return found;
    before = (LARGE_PAGE - (uintptr_t)found % LARGE_PAGE) % LARGE_PAGE;
    if (before > 0) munmap(found, before);
    if (before < LARGE_PAGE) munmap(found + before + whole, LARGE_PAGE - before);
#ifdef MADV_HUGEPAGE
    madvise(found + before, whole, MADV_HUGEPAGE);
#endif
    return found + before;
}

void bpe_release(void *memory, size_t size)
{
    if (memory != NULL) munmap(memory, mapped_size(size));
}

#else

void *bpe_allocate(size_t size) { return calloc(1, size); }

void bpe_release(void *memory, size_t size)
{
    (void)size;
    free(memory);
}

#endif
