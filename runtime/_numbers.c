/* _numbers.c - ids -> the ints that Python has for them, and lists of those.
 *
 * An int is an object, and making one takes longer than finding its token. So the ints of all ids are made once, for all encoders, as an array of
 * objects that lie side by side: where one is follows from its number, and a list is filled without a look at the objects, or at a table of them.
 *
 *     base + 0    base + 1 * 32   base + 2 * 32 ...      (of 32 bytes each, 48 without a GIL)
 *     header|0    header|1        header|2
 *
 * From Python 3.12 on, objects may be immortal: nobody counts who refers to them, and they are never freed. An object is a copy of an int that
 * Python made, but for its digit; and its header is that of a small int, which is immortal. Small ones (up to 256, or 1,024) Python has itself, in
 * an array as well: there must be no others of these, as programs compare them by `is`.
 *
 * Python 3.11 counts the references to all objects. There we begin with 2**58 to each, and give one away for each item of a list: at a hundred
 * million a second, they last for 90 years.
 *
 * Invariants: what was handed out stays where it is until the process ends. There is one array, with room for MOST, whose memory is taken as it is
 * filled: as far as the ids go of the tokenizers that gave lists. Where Python's ints are not as supposed, none is kept, and each is made anew.
 *
 * Rejected: a table of pointers to ints that Python made, handed out again and again (a load for each id, and one from its object, of some
 * megabytes: a list takes up to twice as long; without a GIL, counting those that threads have in common is an atomic addition each).
 */
#include "_tokens.h"

#include <stddef.h>

#if PY_VERSION_HEX >= 0x030C0000
#define ARE_IMMORTAL 1
#define DIGIT long_value.ob_digit
#else
#define ARE_IMMORTAL 0
#define DIGIT ob_digit
#define GIVEN ((Py_ssize_t)1 << 58) /* references */
#endif
#define ARE_KEPT (PYLONG_BITS_IN_DIGIT == 30 && SIZEOF_VOID_P == 8)
#define MOST (1u << 20) /* ints, of 32 MB; what is above is made anew */
#define MOST_SMALL 1025 /* as many as Python has in an array, or more */
#define WORDS (sizeof(PyLongObject) / sizeof(uint64_t))

/* Where 0 is of those that Python has, and how many these are; where it would be of ours, and up to which there are some. */
static const char *small;
static uint32_t small_count;
static PyLongObject *large;
static uint32_t count;

/* Threads of several interpreters may be here at once. Each of them puts the same into the array. */
#if defined(__GNUC__)
static uint32_t load_count(void) { return __atomic_load_n(&count, __ATOMIC_ACQUIRE); }
static PyLongObject *load_large(void) { return __atomic_load_n(&large, __ATOMIC_ACQUIRE); }
static void store_word(uint64_t *to, uint64_t word) { __atomic_store_n(to, word, __ATOMIC_RELAXED); }

static int replace_count(uint32_t before, uint32_t by)
{
    return __atomic_compare_exchange_n(&count, &before, by, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

static int set_large(PyLongObject *made)
{
    PyLongObject *none = NULL;
    return __atomic_compare_exchange_n(&large, &none, made, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}
#else
#include <intrin.h>
static uint32_t load_count(void) { return (uint32_t)_InterlockedOr((volatile long *)&count, 0); }
static PyLongObject *load_large(void) { return _InterlockedCompareExchangePointer((void *volatile *)&large, NULL, NULL); }
static void store_word(uint64_t *to, uint64_t word) { *(volatile uint64_t *)to = word; }
static int replace_count(uint32_t before, uint32_t by)
{
    return (uint32_t)_InterlockedCompareExchange((volatile long *)&count, (long)by, (long)before) == before;
}
static int set_large(PyLongObject *made) { return _InterlockedCompareExchangePointer((void *volatile *)&large, made, NULL) == NULL; }
#endif

static int is_immortal(PyObject *number)
{
    const Py_ssize_t before = Py_REFCNT(number);
    int counted;
    Py_INCREF(number);
    counted = Py_REFCNT(number) != before;
    Py_DECREF(number);
    return !counted;
}

/* What Python has in an array of its own. What is in none is made anew each time, and elsewhere. */
void bitlex_py_numbers_prepare(void)
{
    PyObject *number = ARE_KEPT ? PyLong_FromLong(0) : NULL;
    const char *first = (const char *)number;
    uint32_t found = 0;
    while (number != NULL && (const char *)number == first + found * sizeof(PyLongObject) && is_immortal(number) == ARE_IMMORTAL) {
        Py_DECREF(number);
        number = ++found < MOST_SMALL ? PyLong_FromLong((long)found) : NULL;
    }
    if (PyErr_Occurred()) PyErr_Clear(); /* then none is kept */
    else if (small_count == 0) {
#ifdef GIVEN
        for (uint32_t i = 0; i < found; i++) {
            PyObject *one = (PyObject *)(uintptr_t)(first + i * sizeof(PyLongObject));
            Py_SET_REFCNT(one, Py_REFCNT(one) + GIVEN);
        }
#endif
        small = first;
        small_count = found;
    }
    Py_XDECREF(number);
}

/* Those from `from` on: 0 where there is no memory for the one that they are like, or they are no ints. */
static int make_ints(PyLongObject *array, uint32_t from, uint32_t end)
{
    PyObject *model = PyLong_FromLong(MOST_SMALL), *last = (PyObject *)(array + end - 1);
    PyLongObject one = {0};
    uint64_t words[WORDS];
    if (model == NULL) PyErr_Clear();
    if (model == NULL || is_immortal(model)) return 0;
    memcpy(&one, model, offsetof(PyLongObject, DIGIT) + sizeof(digit));
    memcpy(&one, small, sizeof(PyObject));
#ifdef GIVEN
    Py_SET_REFCNT((PyObject *)&one, GIVEN);
#endif
    for (; from < end; from++) {
        one.DIGIT[0] = (digit)from;
        memcpy(words, &one, sizeof one);
        for (size_t k = 0; k < WORDS; k++) store_word((uint64_t *)(void *)(array + from) + k, words[k]);
    }
    Py_DECREF(model);
    return PyLong_CheckExact(last) && PyLong_AsLong(last) == (long)end - 1;
}

/* How many there are when there have been made as many as are wanted, or could be. */
static uint32_t keep(uint32_t wanted)
{
    PyLongObject *array = load_large();
    uint32_t from = load_count();
    if (small_count == 0) return 0;
    if (array == NULL) {
        if ((array = bpe_allocate(MOST * sizeof *array)) == NULL) return 0;
        if (!set_large(array)) {
            bpe_release(array, MOST * sizeof *array);
            array = load_large();
        }
    }
    if (from < small_count) from = small_count;
    if (from < wanted && !make_ints(array, from, wanted)) return load_count();
    for (from = load_count(); from < wanted && !replace_count(from, wanted); from = load_count()) continue;
    return load_count();
}

/* How many are kept, which are enough for an encoder if they can be. One of its ids may be far above all others. */
static inline uint32_t count_for(const Encoder *self)
{
    const uint32_t tokens = self->vocabulary.token_count, wanted = self->highest / 2 < tokens ? self->highest + 1 : tokens, found = load_count();
    return found >= wanted || found >= MOST ? found : keep(wanted < MOST ? wanted : MOST);
}

/* A reference to one that is kept, or NULL. */
static inline PyObject *kept_int(uint64_t number, uint32_t kept)
{
    if (number >= kept) return NULL;
    return (PyObject *)(uintptr_t)((number < small_count ? small : (const char *)large) + number * sizeof(PyLongObject));
}

/* --- many at once: loops without a branch, which compilers make of vectors; what is not as most are ends them ----------------- */

#if defined(__GNUC__) && defined(__x86_64__)
#define TOGETHER 32
#define ALWAYS __attribute__((always_inline)) static inline
#define WITH_AVX512 __attribute__((target("avx512f,avx512dq,avx512vl")))
#define WITH_AVX2 __attribute__((target("avx2")))

ALWAYS size_t put(PyObject **items, const uint32_t *ids, size_t size, uint32_t kept)
{
    const uintptr_t of_small = (uintptr_t)small, of_large = (uintptr_t)large;
    const uint32_t smalls = small_count;
    size_t i;
    for (i = 0; size - i >= TOGETHER; i += TOGETHER) {
        uint32_t others = 0;
        for (size_t k = 0; k < TOGETHER; k++) {
            const uint32_t id = ids[i + k];
            items[i + k] = (PyObject *)((id < smalls ? of_small : of_large) + (uintptr_t)id * (uint32_t)sizeof(PyLongObject));
            others |= id >= kept;
        }
        if (others) break;
    }
    return i;
}

ALWAYS size_t tell_ids(uint32_t *ids, PyObject *const *items, size_t size, uint32_t kept)
{
    const uintptr_t of_small = (uintptr_t)small, small_size = small_count * sizeof(PyLongObject);
    const uintptr_t of_large = (uintptr_t)large, large_size = kept * sizeof(PyLongObject);
    size_t i;
    for (i = 0; size - i >= TOGETHER; i += TOGETHER) {
        uintptr_t others = 0;
        for (size_t k = 0; k < TOGETHER; k++) {
            const uintptr_t in_small = (uintptr_t)items[i + k] - of_small, in_large = (uintptr_t)items[i + k] - of_large;
            const uintptr_t is_small = 0 - (uintptr_t)(in_small < small_size), is_large = 0 - (uintptr_t)(in_large < large_size);
            ids[i + k] = (uint32_t)((in_small & is_small) | (in_large & is_large)) / (uint32_t)sizeof(PyLongObject);
            others |= ~(is_small | is_large);
        }
        if (others) break;
    }
    return i;
}

WITH_AVX512 static size_t put_avx512(PyObject **items, const uint32_t *ids, size_t size, uint32_t kept) { return put(items, ids, size, kept); }
WITH_AVX512 static size_t tell_avx512(uint32_t *ids, PyObject *const *items, size_t size, uint32_t kept) { return tell_ids(ids, items, size, kept); }
WITH_AVX2 static size_t put_avx2(PyObject **items, const uint32_t *ids, size_t size, uint32_t kept) { return put(items, ids, size, kept); }
WITH_AVX2 static size_t tell_avx2(uint32_t *ids, PyObject *const *items, size_t size, uint32_t kept) { return tell_ids(ids, items, size, kept); }

static int has_avx512(void)
{
    return bitlex_py_vectors == 2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}

/* The items for so many of the ids: how many. */
static size_t put_together(PyObject **items, const uint32_t *ids, size_t size, uint32_t kept)
{
    if (size < TOGETHER || kept == 0) return 0;
    if (has_avx512()) return put_avx512(items, ids, size, kept);
    return bitlex_py_vectors > 0 ? put_avx2(items, ids, size, kept) : put(items, ids, size, kept);
}

size_t bitlex_py_kept_ids(uint32_t *ids, PyObject *const *items, size_t size)
{
    const uint32_t kept = load_count();
    if (size < TOGETHER || kept == 0) return 0;
    if (has_avx512()) return tell_avx512(ids, items, size, kept);
    return bitlex_py_vectors > 0 ? tell_avx2(ids, items, size, kept) : 0; /* one by one, it takes longer than a look at them */
}

#else

static size_t put_together(PyObject **items, const uint32_t *ids, size_t size, uint32_t kept)
{
    (void)items, (void)ids, (void)size, (void)kept;
    return 0;
}

size_t bitlex_py_kept_ids(uint32_t *ids, PyObject *const *items, size_t size)
{
    (void)ids, (void)items, (void)size;
    return 0;
}

#endif

PyObject *bitlex_py_number(Encoder *self, uint64_t number)
{
    PyObject *known = kept_int(number, count_for(self));
    return known != NULL ? known : PyLong_FromUnsignedLongLong(number);
}

/* A list of no items yet, with room for so many: Python's own has them set to zeros first, which takes as long as a tenth of setting them. */
static PyObject *roomy_list(size_t size)
{
#ifdef Py_GIL_DISABLED
    return PyList_New((Py_ssize_t)size);
#else
    PyObject *list = PyList_New(0);
    PyObject **items = list == NULL || size == 0 ? NULL : PyMem_New(PyObject *, size);
    if (items != NULL) {
        ((PyListObject *)list)->ob_item = items;
        ((PyListObject *)list)->allocated = (Py_ssize_t)size;
    } else if (list != NULL && size > 0) {
        Py_CLEAR(list);
        PyErr_NoMemory();
    }
    return list;
#endif
}

PyObject *bitlex_py_ids_as_list(Encoder *self, const uint32_t *ids, size_t size)
{
    PyObject *list = roomy_list(size), **items;
    const uint32_t kept = count_for(self);
    size_t i;
    if (list == NULL) return NULL;
    items = PySequence_Fast_ITEMS(list);
    for (i = put_together(items, ids, size, kept); i < size; i++) {
        PyObject *made = kept_int(ids[i], kept);
        if (made == NULL && (made = PyLong_FromUnsignedLong(ids[i])) == NULL) break;
        items[i] = made;
    }
    Py_SET_SIZE(list, (Py_ssize_t)i);
    if (i < size) Py_CLEAR(list);
    return list;
}
