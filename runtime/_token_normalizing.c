/* _token_normalizing.c - NFC of a text that comes in parts, for a TokenStream: of what is held, as much as can be cut off is put in NFC before
 * the lexer reads it.
 *
 *     what is held     ... e\u0301 x | a
 *                                     the last border: what follows may be a mark that goes to it
 *                          the rest is put in NFC
 *
 * Special tokens are looked for before, in the text as it came, and stretches between them are normalized one by one. Nearly all texts are in
 * NFC, which _nfc.c sees; what may not be goes to Python, at most from one border to another.
 *
 * Invariants: what the lexer reads is the NFC of each stretch. Places of the stream are those of the normalized text: `normalize` is told where
 * what it is given lies in that, so whoever wants places of the text can count (runtime/normalized_streams.py).
 */
#include "_token_stream.h"

#define LONG_RUN 256 /* bytes without a border, from which on Python is asked, which knows more of them */

/* The bytes from..to of what is held become what `normalize` makes of them, or of a beginning if they do not end there: how many bytes that is
 * then; SIZE_MAX with an exception set. */
static size_t replace(Call *c, size_t from, size_t to, int ends, uint64_t *grown)
{
    TokenStream *self = c->stream;
    PyObject *found;
    const char *made;
    Py_ssize_t size, used;
    size_t rest;
    bitlex_py_take_gil(c);
    found = PyObject_CallFunction(self->normalize, "y#Ki", (const char *)self->text + from, (Py_ssize_t)(to - from),
                                  (unsigned long long)(self->base + from), ends);
    if (found == NULL) return SIZE_MAX;
    if (!PyArg_ParseTuple(found, "y#n;normalize must give bytes, and of how many these are", &made, &size, &used)) {
        Py_DECREF(found);
        return SIZE_MAX;
    }
    if (used < 0 || (size_t)used > to - from) {
        PyErr_SetString(PyExc_ValueError, "normalize took more bytes than it was given");
        Py_DECREF(found);
        return SIZE_MAX;
    }
    if (bitlex_py_make_room(c, self->length - (size_t)used + (size_t)size) < 0) {
        Py_DECREF(found);
        return SIZE_MAX;
    }
    rest = self->length - from - (size_t)used;
    memmove(self->text + from + size, self->text + from + used, rest);
    memcpy(self->text + from, made, (size_t)size);
    Py_DECREF(found);
    self->length = from + (size_t)size + rest;
    memset(self->text + self->length, 0, SLACK);
    *grown = (uint64_t)size - (uint64_t)used;
    self->grown += *grown;
    self->checked += *grown;
    self->searched += *grown;
    return (size_t)size;
}

int bitlex_py_normalize_held(Call *c, size_t from, size_t *limit, int ends, uint64_t *grown)
{
    TokenStream *self = c->stream;
    const size_t length = *limit > from ? *limit - from : 0;
    const size_t border = ends ? length : bitlex_py_last_border(self->text + from, length, &self->bare);
    size_t made;
    *grown = 0;
    if (border == BITLEX_NO_BORDER) {
        *limit = from;
        if (length < LONG_RUN || length < self->normalize_at) return 0;
        self->normalize_at = 2 * length;
        made = replace(c, from, from + length, 0, grown);
        if (made > 0) self->bare = self->normalize_at = 0;
    } else {
        self->bare = self->normalize_at = 0;
        *limit = from + border;
        if (!bitlex_py_may_change(self->text + from, border)) return 0;
        made = replace(c, from, from + border, 1, grown);
    }
    if (made == SIZE_MAX) return -1;
    *limit = from + made;
    return 0;
}
