/* _decoded.c - the bytes that ids stand for in, a str out.
 *
 *     A4 A9  F0 9F 98 80  61  E4 BD   ->   '��' + '😀a' + '�'
 *
 * Most bytes are UTF-8, whose characters are counted, so that the object is made as it must be, and stored. Of a text that was cut somewhere
 * between two ids, up to three bytes at either end may be of characters that are not all there. What stands for these is asked of Python,
 * and everything between them is stored as always. Other bytes are left to Python altogether.
 *
 * This gives what bytes.decode gives, because nothing that is ill-formed goes on where a character begins: before the middle stand bytes
 * that continue nothing, each by itself, and behind it one character that lacks its end.
 *
 * Invariant: a str is no wider than its widest character.
 *
 * Rejected: to leave all bytes to Python where one is wrong (windows of ids, of Chinese or with emoji, took 1.4 to 3.5 times as long); the
 * same for any policy ("strict" tells the place in all of the bytes, and one that was registered may look at them, too).
 */
#include "_tokens.h"

#define LACKING 3 /* bytes of a character that may be there if it is not complete */
#define SHORT 128 /* bytes below which Python alone is faster where one is wrong */

/* What stands for bytes does not depend on others, and no one can have given these names to something else. */
static int is_local(const char *errors)
{
    return strcmp(errors, "replace") == 0 || strcmp(errors, "ignore") == 0 || strcmp(errors, "surrogateescape") == 0;
}

/* Bytes at the beginning that continue a character. */
static size_t head_of(const uint8_t *bytes, size_t size)
{
    size_t n = 0;
    while (n < size && n < LACKING && (bytes[n] & 0xC0) == 0x80) n++;
    return n;
}

/* Bytes at the end that begin a character, and are not all of it. */
static size_t tail_of(const uint8_t *bytes, size_t size)
{
    size_t n;
    for (n = 1; n <= LACKING && n <= size; n++) {
        const uint8_t byte = bytes[size - n];
        if ((byte & 0xC0) == 0x80) continue;
        return byte >= 0xC0 && n < 2u + (byte >= 0xE0) + (byte >= 0xF0) ? n : 0;
    }
    return 0;
}

static uint32_t widest_of(const uint8_t *bytes, size_t size)
{
    uint8_t most = 0;
    size_t i;
    for (i = 0; i < size; i++) most = bytes[i] > most ? bytes[i] : most;
    return (uint32_t)((most >= 0x80) + (most >= 0xC4) + (most >= 0xF0));
}

/* Store them: whether they are so many characters. Touches no object. */
static int store(const uint8_t *bytes, size_t size, uint32_t widest, uint8_t **out, size_t characters, int width, bpe_vectors vectors)
{
    const uint8_t *end = *out + characters * (size_t)width;
    if (widest > 0 || width > 1) return bpe_transcode(bytes, size, width, vectors, out, end) == size && *out == end;
    if (size != characters) return 0;
    if (size > 0) memcpy(*out, bytes, size);
    *out += size;
    return 1;
}

/* What Python makes of some bytes: its characters are counted, and how wide they are. */
static PyObject *of_python(const uint8_t *bytes, size_t size, const char *errors, size_t *characters, Py_UCS4 *largest)
{
    PyObject *made = PyUnicode_DecodeUTF8((const char *)bytes, (Py_ssize_t)size, errors);
    if (made == NULL) return NULL;
    *characters += (size_t)PyUnicode_GET_LENGTH(made);
    if (PyUnicode_MAX_CHAR_VALUE(made) > *largest) *largest = PyUnicode_MAX_CHAR_VALUE(made);
    return made;
}

static int copy(PyObject *to, size_t at, PyObject *from)
{
    return PyUnicode_CopyCharacters(to, (Py_ssize_t)at, from, 0, PyUnicode_GET_LENGTH(from)) < 0 ? -1 : 0;
}

int bitlex_py_decoded_begin(Decoded *d, const char *errors)
{
    const size_t head = d->widest > 0 ? head_of(d->bytes, d->size) : 0, tail = d->widest > 0 ? tail_of(d->bytes + head, d->size - head) : 0;
    PyObject *before = NULL, *behind = NULL;
    size_t more = 0;
    Py_UCS4 largest;
    int failed = 0;
    d->made = NULL;
    d->middle = d->bytes + head;
    d->middle_size = d->size - head - tail;
    if (head + tail > 0) {
        if (d->size < SHORT || !is_local(errors)) return 0;
        d->widest = widest_of(d->middle, d->middle_size);
        d->characters -= tail > 0;
    }
    largest = bitlex_py_largest(d->widest);
    if (head > 0) failed = (before = of_python(d->bytes, head, errors, &more, &largest)) == NULL;
    d->from = d->ascii_size + more;
    if (tail > 0 && !failed) failed = (behind = of_python(d->middle + d->middle_size, tail, errors, &more, &largest)) == NULL;
    if (!failed) failed = (d->made = PyUnicode_New((Py_ssize_t)(d->ascii_size + d->characters + more), largest)) == NULL;
    if (!failed && before != NULL) failed = copy(d->made, d->ascii_size, before) < 0;
    if (!failed && behind != NULL) failed = copy(d->made, d->from + d->characters, behind) < 0;
    Py_XDECREF(before);
    Py_XDECREF(behind);
    if (failed) Py_CLEAR(d->made);
    return failed ? -1 : 1;
}

int bitlex_py_decoded_store(const Decoded *d, bpe_vectors vectors)
{
    const int width = (int)PyUnicode_KIND(d->made);
    uint8_t *const start = PyUnicode_DATA(d->made), *out = start;
    if (PyUnicode_GET_LENGTH(d->made) == 0) return d->middle_size == 0;
    if (d->size >= LARGE) bitlex_py_ask_for_large_pages(start, (size_t)PyUnicode_GET_LENGTH(d->made) * (size_t)width);
    if (!store(d->ascii, d->ascii_size, 0, &out, d->ascii_size, width, vectors)) return 0;
    out = start + d->from * (size_t)width;
    return store(d->middle, d->middle_size, d->widest, &out, d->characters, width, vectors);
}

PyObject *bitlex_py_decoded(Decoded *d, const char *errors, bpe_vectors vectors)
{
    PyThreadState *released;
    if (bitlex_py_decoded_begin(d, errors) <= 0) return NULL;
    released = d->size > RELEASE ? PyEval_SaveThread() : NULL;
    if (!bitlex_py_decoded_store(d, vectors)) {
        if (released != NULL) PyEval_RestoreThread(released);
        released = NULL;
        Py_CLEAR(d->made);
    }
    if (released != NULL) PyEval_RestoreThread(released);
    return d->made;
}

PyObject *bitlex_py_decoded_bytes(PyObject *bytes, const char *errors, bpe_vectors vectors)
{
    Decoded d = {.bytes = (const uint8_t *)PyBytes_AS_STRING(bytes), .size = (size_t)PyBytes_GET_SIZE(bytes)};
    PyObject *made;
    d.widest = widest_of(d.bytes, d.size);
    d.characters = bpe_characters(d.bytes, d.size, vectors);
    made = bitlex_py_decoded(&d, errors, vectors);
    if (made == NULL && !PyErr_Occurred()) made = PyUnicode_DecodeUTF8((const char *)d.bytes, (Py_ssize_t)d.size, errors);
    Py_DECREF(bytes);
    return made;
}
