/* _merging.c - one piece in, its ids out, by the way of merging that is asked for. */
#include "_tokens.h"

/* How a piece may be merged, by what it is called; the last two need what is in bpe_neighbours.h. */
static const char *const METHODS[] = {"automatic", "sweep", "heap", "windows", "backtrack", "prefixes"};
enum { BACKTRACK = BPE_METHODS, PREFIXES, METHOD_COUNT };

#define SWEPT 65536 /* bytes of a piece that may be swept, which takes quadratic time: a second at most */
#define ALONE 4096  /* ... while nobody else runs */

/* What tells which tokens may stand side by side, made when it is first needed: NULL with an exception set. */
static const bpe_neighbours *neighbours_of(Encoder *self)
{
    int failed = 0;
    PyThread_acquire_lock(self->lock, WAIT_LOCK);
    if (self->neighbours.v == NULL) failed = bpe_neighbours_begin(&self->neighbours, &self->vocabulary) < 0;
    PyThread_release_lock(self->lock);
    if (failed) PyErr_NoMemory();
    return failed ? NULL : &self->neighbours;
}

/* The number of ids, or an error of bpe_merge. */
static size_t merge_by(Encoder *self, const bpe_neighbours *n, int method, const Utf8 *u, uint32_t *out)
{
    if (method == BACKTRACK && n->ordered) return bpe_merge_backtrack(n, u->bytes, (size_t)u->length, out);
    if (method == PREFIXES && n->ordered) return bpe_merge_prefixes(n, u->bytes, (size_t)u->length, out);
    return bpe_merge(&self->vocabulary, method >= BACKTRACK ? BPE_HEAP : (bpe_method)method, u->bytes, (size_t)u->length, out);
}

PyObject *bitlex_py_merge(Encoder *self, PyObject *const *arguments, Py_ssize_t count)
{
    Ids ids = {.data = NULL};
    const bpe_neighbours *n = NULL;
    PyObject *list = NULL;
    Utf8 u;
    size_t made;
    int method = 0;
    if (count != 2 || !PyUnicode_Check(arguments[1])) {
        PyErr_SetString(PyExc_TypeError, "expected (piece, method), method being a str");
        return NULL;
    }
    while (method < METHOD_COUNT && PyUnicode_CompareWithASCIIString(arguments[1], METHODS[method]) != 0) method++;
    if (method == METHOD_COUNT) {
        PyErr_Format(PyExc_ValueError, "method is %R; it may be 'automatic', 'sweep', 'heap', 'windows', 'backtrack' or 'prefixes'", arguments[1]);
        return NULL;
    }
    if (bitlex_py_utf8_hold(&u, arguments[0]) < 0) return NULL;
    if (method == BPE_SWEEP && u.length > SWEPT) {
        PyErr_Format(PyExc_ValueError,
                     "a piece of %zd bytes; 'sweep' takes quadratic time, and pieces of up to 65,536: take another method", u.length);
    } else if (bitlex_py_reserve(&ids, (size_t)u.length + BPE_PADDING) < 0) {
        PyErr_NoMemory();
    } else if (method < BACKTRACK || (n = neighbours_of(self)) != NULL) {
        /* Some bytes are read more than once, so nobody else may run while they may be written. */
        const int constant = PyUnicode_Check(arguments[0]) || PyBytes_Check(arguments[0]);
        PyThreadState *released = constant && u.length > ALONE ? PyEval_SaveThread() : NULL;
        made = merge_by(self, n, method, &u, ids.data);
        if (released != NULL) PyEval_RestoreThread(released);
        if (made == BPE_NO_MEMORY) {
            PyErr_NoMemory();
        } else if (made == BPE_NO_TOKEN) {
            size_t at = 0;
            while (at + 1 < u.length && self->vocabulary.byte_tokens[u.bytes[at]] != BPE_NONE) at++;
            PyErr_Format(PyExc_ValueError, "byte 0x%02x at %zu is no token of this vocabulary", u.bytes[at], at);
        } else {
            list = bitlex_py_ids_as_list(self, ids.data, made);
        }
    }
    bitlex_py_free_ids(&ids);
    bitlex_py_utf8_end(&u);
    return list;
}

PyObject *bitlex_py_in_order(Encoder *self, PyObject *unused)
{
    const bpe_neighbours *n = neighbours_of(self);
    (void)unused;
    return n == NULL ? NULL : PyBool_FromLong(n->ordered);
}
