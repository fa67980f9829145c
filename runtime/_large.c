/* _large.c - memory of some size in, and back; of large memory, two pieces are kept for the next texts, two for the next ids
 * and three for the next offsets.
 *
 * To have its pages made anew takes up to a fourth of the time of encoding. So large memory comes in large pages (bpe_memory.c), and
 * what was let go last waits, if not more of it was written than KEPT: one piece of less than LARGER bytes, and one of more. With one of
 * any size, texts of two sizes that take turns had the pages made anew for each. Of offsets, one of less than LARGE bytes is kept besides.
 *
 * Invariant: whoever takes a piece has it alone. Any thread may take and let go at any time.
 *
 * Rejected: large memory from malloc (it may be given back to the system each time, and may then come in small pages, by what was allocated
 * before).
 */
#include "_tokens.h"

#ifdef __linux__
#include <sys/mman.h>
#endif

#define LARGE_PAGE ((size_t)2 << 20)
#define LARGER (4 * (size_t)LARGE)
#define KEPT (32u << 20) /* bytes: up to which a C library that grows with its use keeps memory, too */

/* Large memory, whose size stands before what is used of it. */
typedef struct {
    size_t size;
    uint8_t bytes[];
} Large;

#if defined(__GNUC__)
static Large *spares[PURPOSES][3];

static Large **spare_of(Purpose purpose, size_t size) { return &spares[purpose][(size >= LARGE) + (size >= LARGER)]; }
#endif

static size_t large_from(Purpose purpose) { return purpose == FOR_OFFSETS ? LARGE_OFFSETS : LARGE; }

static void release(Large *large)
{
    if (large != NULL) bpe_release(large, large->size);
}

static Large *large_of(void *memory) { return (Large *)(void *)((uint8_t *)memory - sizeof(Large)); }

/* What was left by another call may be larger than what was asked for. */
static int has_room(void *memory, size_t wanted) { return wanted <= large_of(memory)->size - sizeof(Large); }

void *bitlex_py_take(Purpose purpose, size_t size)
{
    Large *large = NULL;
    if (size < large_from(purpose)) return PyMem_RawMalloc(size);
    if (size > SIZE_MAX / 2) return NULL;
    size += sizeof *large;
    /* As many small pages as fill a quarter of a large one take as long to be had. */
    if (purpose == FOR_TEXTS && size % LARGE_PAGE >= LARGE_PAGE / 4) size += LARGE_PAGE - size % LARGE_PAGE;
#if defined(__GNUC__)
    large = __atomic_exchange_n(spare_of(purpose, size), NULL, __ATOMIC_ACQ_REL);
#endif
    if (large == NULL || large->size < size || (purpose != FOR_TEXTS && large->size / 4 > size)) { /* these may stay for long */
        release(large);
        large = bpe_allocate(size);
        if (large == NULL) return NULL;
        large->size = size;
    }
    return large->bytes;
}

void bitlex_py_let_go(Purpose purpose, void *memory, size_t size, size_t written)
{
    Large *large;
    if (memory == NULL || size < large_from(purpose)) {
        PyMem_RawFree(memory);
        return;
    }
    large = large_of(memory);
#if defined(__GNUC__)
    if (written <= KEPT) large = __atomic_exchange_n(spare_of(purpose, large->size), large, __ATOMIC_ACQ_REL);
#else
    (void)written;
#endif
    release(large);
}

void *bitlex_py_regrow(Purpose purpose, void *memory, size_t size, size_t written, size_t wanted)
{
    const size_t large = large_from(purpose);
    void *grown;
    if (wanted < large && size < large) return PyMem_RawRealloc(memory, wanted);
    if (wanted >= large && size >= large && has_room(memory, wanted)) return memory;
    grown = bitlex_py_take(purpose, wanted);
    if (grown == NULL) return NULL;
    if (written > 0) memcpy(grown, memory, written);
    bitlex_py_let_go(purpose, memory, size, written);
    return grown;
}

/* New memory is a page fault for every 4 KB that is written; with pages of 2 MB there are few. The page in which the memory begins is
 * included: what the allocator mapped must stay one mapping, or it could not be moved when it grows. */
void bitlex_py_ask_for_large_pages(void *memory, size_t size)
{
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    const uintptr_t from = (uintptr_t)memory & ~(uintptr_t)4095, to = (uintptr_t)memory + size;
    if (to - from >= (2u << 20)) madvise((void *)from, to - from, MADV_HUGEPAGE); /* if not, then not */
#else
    (void)memory;
    (void)size;
#endif
}
