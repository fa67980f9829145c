/* _numbers.c - ids -> the ints that Python has for them, and lists of those.
 *
 * An int is an object, and making one takes longer than finding its token. From Python 3.12 on, an object may be immortal: nobody counts who
 * refers to it, and it is never freed. So the ints of all ids are made once, for all encoders, as an array of objects that lie side by side:
 * where one is follows from its number, and a list is filled without a look at the objects, or at a table of them.
 *
 *     base + 0    base + 1 * 32   base + 2 * 32 ...      (of 32 bytes each, 48 without a GIL)
 *     header|0    header|1        header|2
 *
 * Small ones (up to 256, or 1,024) Python has itself, in an array as well: there must be no others of these, as programs compare them by `is`.
 * An object is a copy of one that Python made, but for its digit; and its header is that of a small one, which is immortal.
 *
 * Invariants: what was handed out stays where it is until the process ends: a larger array is another one, and has at least twice as many, so
 * that all of them come to less than twice the largest. Where Python's ints are not as supposed, none is known, and each is made anew.
 *
 * Python 3.11 has no immortal objects. There an encoder keeps the ints that it has handed out once.
 *
 * Rejected: a table of pointers to ints that Python made, immortal or not (a load for each id, and one from its object, of some megabytes: a list
 * takes three times as long; without a GIL, counting those that threads have in common is an atomic addition each).
 */
#include "_tokens.h"

#if PY_VERSION_HEX >= 0x030C0000 && PYLONG_BITS_IN_DIGIT == 30

#include <stddef.h>

#define MOST (1u << 20) /* ints, of 32 MB; what is above is made anew */
#define SMALL 1025      /* as many as Python has in an array, or more */

struct Ints {
    uint32_t small_count, count;
    const char *small, *large; /* where 0 is, or would be */
};

static Ints *largest; /* of the arrays that there are; it may be replaced at any time, by threads of several interpreters */

#if defined(__GNUC__)
static Ints *load(Ints *const *from) { return __atomic_load_n(from, __ATOMIC_ACQUIRE); }

static int replace(Ints **where, Ints *before, Ints *by)
{
    return __atomic_compare_exchange_n(where, &before, by, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}
#else
#include <intrin.h>

static Ints *load(Ints *const *from) { return *(Ints *const volatile *)from; }

static int replace(Ints **where, Ints *before, Ints *by)
{
    return _InterlockedCompareExchangePointer((void *volatile *)where, by, before) == before;
}
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

/* The array that Python has: 0 where its ints are not immortal. What is in none is made anew each time, and elsewhere. */
static uint32_t find_small(const char **small)
{
    uint32_t count = 0;
    int is_small = 1;
    while (is_small && count < SMALL) {
        PyObject *number = PyLong_FromLong((long)count);
        if (count == 0) *small = (const char *)number;
        is_small = number != NULL && (const char *)number == *small + count * sizeof(PyLongObject) && is_immortal(number);
        Py_XDECREF(number);
        if (is_small) count++;
    }
    PyErr_Clear();
    return count;
}

/* Immortal ints from `value` on like `model`, which Python made: whether they are such. */
static int make_ints(PyLongObject *to, PyObject *model, const char *small, uint32_t value, uint32_t count)
{
    PyLongObject one = {0};
    memcpy(&one, model, offsetof(PyLongObject, long_value.ob_digit) + sizeof(digit));
    memcpy(&one, small, sizeof(PyObject));
    for (; value < count; value++) {
        one.long_value.ob_digit[0] = (digit)value;
        to[value] = one;
    }
    to += count - 1;
    return PyLong_CheckExact((PyObject *)to) && PyUnstable_Long_IsCompact(to) && PyUnstable_Long_CompactValue(to) == (Py_ssize_t)count - 1;
}

static size_t size_of(uint32_t count) { return ((size_t)count + 1) * sizeof(PyLongObject); }

/* As many ints, or NULL. */
static Ints *make(uint32_t count)
{
    const char *small = NULL;
    const uint32_t small_count = find_small(&small);
    PyObject *model = small_count == 0 ? NULL : PyLong_FromLong(SMALL);
    PyLongObject *made = model == NULL || is_immortal(model) ? NULL : bpe_allocate(size_of(count));
    Ints *ints = NULL;
    int failed;
    failed = made == NULL || (small_count < count && !make_ints(made, model, small, small_count, count));
    if (!failed) ints = PyMem_RawMalloc(sizeof *ints);
    if (ints != NULL) *ints = (Ints){.small_count = small_count, .count = count, .small = small, .large = (const char *)made};
    else bpe_release(made, size_of(count));
    Py_XDECREF(model);
    PyErr_Clear();
    return ints;
}

static void release(Ints **ints)
{
    bpe_release((void *)(uintptr_t)(*ints)->large, size_of((*ints)->count));
    PyMem_RawFree(*ints);
    *ints = NULL;
}

/* Those of an encoder, made when it is first asked for one: NULL if there are none. */
static Ints *ints_of(Encoder *self)
{
    Ints *found = load(&self->ints), *before;
    uint32_t wanted;
    if (found != NULL) return found;
    wanted = self->highest / 2 < self->vocabulary.token_count ? self->highest + 1 : self->vocabulary.token_count; /* one may be far above others */
    if (wanted > MOST) wanted = MOST;
    while (found == NULL) {
        before = load(&largest);
        if (before != NULL && before->count >= wanted) {
            found = before;
        } else {
            if (before != NULL && wanted < 2 * before->count) wanted = 2 * before->count < MOST ? 2 * before->count : MOST;
            if ((found = make(wanted)) == NULL) return NULL;
            if (!replace(&largest, before, found)) release(&found); /* nobody has seen it */
        }
    }
    replace(&self->ints, NULL, found);
    return found;
}

/* A reference to an int that is kept, or NULL. */
static inline PyObject *known_int(Ints *ints, uint64_t number)
{
    if (ints == NULL || number >= ints->count) return NULL;
    return (PyObject *)(uintptr_t)((number < ints->small_count ? ints->small : ints->large) + number * sizeof(PyLongObject));
}

/* --- many at once: loops without a branch, which compilers make of vectors; what is not as most are ends them ----------------- */

#if defined(__GNUC__) && defined(__x86_64__)
#define TOGETHER 32
#define ALWAYS __attribute__((always_inline)) static inline
#define WITH_AVX512 __attribute__((target("avx512f,avx512dq,avx512vl")))
#define WITH_AVX2 __attribute__((target("avx2")))

ALWAYS size_t put(PyObject **items, const uint32_t *ids, size_t count, const Ints *ints)
{
    const uintptr_t small = (uintptr_t)ints->small, large = (uintptr_t)ints->large;
    size_t i;
    for (i = 0; count - i >= TOGETHER; i += TOGETHER) {
        uint32_t others = 0;
        for (size_t k = 0; k < TOGETHER; k++) {
            const uint32_t id = ids[i + k];
            items[i + k] = (PyObject *)((id < ints->small_count ? small : large) + (uintptr_t)id * (uint32_t)sizeof(PyLongObject));
            others |= id >= ints->count;
        }
        if (others) break;
    }
    return i;
}

ALWAYS size_t tell(uint32_t *ids, PyObject *const *items, size_t count, const Ints *ints)
{
    const uintptr_t small_size = ints->small_count * sizeof(PyLongObject), large_size = ints->count * sizeof(PyLongObject);
    size_t i;
    for (i = 0; count - i >= TOGETHER; i += TOGETHER) {
        uintptr_t others = 0;
        for (size_t k = 0; k < TOGETHER; k++) {
            const uintptr_t small = (uintptr_t)items[i + k] - (uintptr_t)ints->small, large = (uintptr_t)items[i + k] - (uintptr_t)ints->large;
            const uintptr_t is_small = 0 - (uintptr_t)(small < small_size), is_large = 0 - (uintptr_t)(large < large_size);
            ids[i + k] = (uint32_t)((small & is_small) | (large & is_large)) / (uint32_t)sizeof(PyLongObject);
            others |= ~(is_small | is_large);
        }
        if (others) break;
    }
    return i;
}

WITH_AVX512 static size_t put_avx512(PyObject **items, const uint32_t *ids, size_t count, const Ints *ints) { return put(items, ids, count, ints); }
WITH_AVX512 static size_t tell_avx512(uint32_t *ids, PyObject *const *items, size_t count, const Ints *ints) { return tell(ids, items, count, ints); }
WITH_AVX2 static size_t put_avx2(PyObject **items, const uint32_t *ids, size_t count, const Ints *ints) { return put(items, ids, count, ints); }
WITH_AVX2 static size_t tell_avx2(uint32_t *ids, PyObject *const *items, size_t count, const Ints *ints) { return tell(ids, items, count, ints); }

static int has_avx512(void)
{
    return bitlex_py_vectors == 2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}

/* The items for so many of the ids: how many. */
static size_t put_together(PyObject **items, const uint32_t *ids, size_t count, const Ints *ints)
{
    if (ints == NULL || count < TOGETHER) return 0;
    if (has_avx512()) return put_avx512(items, ids, count, ints);
    return bitlex_py_vectors > 0 ? put_avx2(items, ids, count, ints) : put(items, ids, count, ints);
}

size_t bitlex_py_kept_ids(uint32_t *ids, PyObject *const *items, size_t count)
{
    const Ints *ints = load(&largest);
    if (ints == NULL || count < TOGETHER) return 0;
    if (has_avx512()) return tell_avx512(ids, items, count, ints);
    return bitlex_py_vectors > 0 ? tell_avx2(ids, items, count, ints) : 0; /* one by one, it takes longer than a look at them */
}

#else
#define NONE_TOGETHER
#endif

void bitlex_py_forget_ints(Encoder *self) { (void)self; }

#else
#define NONE_TOGETHER

struct Ints {
    uint32_t count;
    PyObject *kept[];
};

static Ints *ints_of(Encoder *self)
{
#ifdef Py_GIL_DISABLED
    return NULL;
#endif
    const uint32_t count = self->vocabulary.token_count;
    if (self->ints != NULL) return self->ints;
    self->ints = PyMem_Calloc(1, sizeof *self->ints + (size_t)count * sizeof *self->ints->kept);
    if (self->ints != NULL) self->ints->count = count;
    return self->ints;
}

static inline PyObject *known_int(Ints *ints, uint64_t number)
{
    PyObject **kept = ints != NULL && number < ints->count ? ints->kept + number : NULL;
    if (kept == NULL) return NULL;
    if (*kept == NULL && (*kept = PyLong_FromUnsignedLongLong(number)) == NULL) PyErr_Clear(); /* who asks makes one, or says why not */
    return Py_XNewRef(*kept);
}

void bitlex_py_forget_ints(Encoder *self)
{
    for (uint32_t i = 0; self->ints != NULL && i < self->ints->count; i++) Py_XDECREF(self->ints->kept[i]);
    PyMem_Free(self->ints);
}

#endif

#ifdef NONE_TOGETHER
static size_t put_together(PyObject **items, const uint32_t *ids, size_t count, const Ints *ints)
{
    (void)items, (void)ids, (void)count, (void)ints;
    return 0;
}

size_t bitlex_py_kept_ids(uint32_t *ids, PyObject *const *items, size_t count)
{
    (void)ids, (void)items, (void)count;
    return 0;
}
#endif

PyObject *bitlex_py_number(Encoder *self, uint64_t number)
{
    PyObject *known = known_int(ints_of(self), number);
    return known != NULL ? known : PyLong_FromUnsignedLongLong(number);
}

/* A list of no items yet, with room for so many: Python's own has them set to zeros first, which takes as long as a tenth of setting them. */
static PyObject *roomy_list(size_t count)
{
#ifdef Py_GIL_DISABLED
    return PyList_New((Py_ssize_t)count);
#else
    PyObject *list = PyList_New(0);
    PyObject **items = list == NULL || count == 0 ? NULL : PyMem_New(PyObject *, count);
    if (items != NULL) {
        ((PyListObject *)list)->ob_item = items;
        ((PyListObject *)list)->allocated = (Py_ssize_t)count;
    } else if (list != NULL && count > 0) {
        Py_CLEAR(list);
        PyErr_NoMemory();
    }
    return list;
#endif
}

PyObject *bitlex_py_ids_as_list(Encoder *self, const uint32_t *ids, size_t count)
{
    PyObject *list = roomy_list(count), **items;
    Ints *ints = ints_of(self);
    size_t i;
    if (list == NULL) return NULL;
    items = PySequence_Fast_ITEMS(list);
    for (i = put_together(items, ids, count, ints); i < count; i++) {
        PyObject *made = known_int(ints, ids[i]);
        if (made == NULL && (made = PyLong_FromUnsignedLong(ids[i])) == NULL) break;
        items[i] = made;
    }
    Py_SET_SIZE(list, (Py_ssize_t)i);
    if (i < count) Py_CLEAR(list);
    return list;
}
