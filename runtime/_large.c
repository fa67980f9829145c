/* _large.c - memory for one call: a size in; out, memory of that size, which the next call gets again.
 *
 * To have its pages made anew takes a tenth of the time of encoding a text, and as long as decoding a list. So of large memory, which is asked
 * for in large pages, one piece is kept. What is less is malloc's.
 *
 * Rejected: large memory from malloc (it may be given back to the system each time, and may then come in small pages, by what was allocated
 * before).
 */
#include "_tokens.h"

#define LARGE (1u << 20)  /* bytes from which on memory is asked for in large pages, and one piece of it is kept */
#define KEPT (16u << 20)  /* but not if more of it was written than this */

/* Its size stands before what is used of it. */
typedef struct {
    size_t size;
    uint8_t bytes[];
} Large;

static Large *spare; /* what the last call left; whoever takes it has it alone */

static void release(Large *large)
{
    if (large != NULL) bpe_release(large, large->size);
}

void *bitlex_py_take(size_t size)
{
    Large *large = NULL;
    if (size < LARGE) return PyMem_RawMalloc(size);
    if (size > PY_SSIZE_T_MAX) return NULL;
#if defined(__GNUC__)
    large = __atomic_exchange_n(&spare, NULL, __ATOMIC_ACQ_REL);
#endif
    size += sizeof *large;
    if (large == NULL || large->size < size) {
        release(large);
        large = bpe_allocate(size);
        if (large == NULL) return NULL;
        large->size = size;
    }
    return large->bytes;
}

void bitlex_py_give_back(void *memory, size_t size, size_t written)
{
    Large *large;
    if (memory == NULL || size < LARGE) {
        PyMem_RawFree(memory);
        return;
    }
    large = (Large *)(void *)((uint8_t *)memory - sizeof *large);
#if defined(__GNUC__)
    if (written <= KEPT) large = __atomic_exchange_n(&spare, large, __ATOMIC_ACQ_REL);
#endif
    release(large);
}
