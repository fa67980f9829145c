/* _checksum.c - a sum of bytes, by which is noticed that a file of tables is not as it was written. */
#include "_tokens.h"

/* A sum and one more word. For a given word, different sums stay different; for a given sum, different words make it different. */
static inline uint64_t add_word(uint64_t sum, uint64_t word)
{
    const uint64_t mixed = sum ^ word;
    return (mixed << 29 | mixed >> 35) * UINT64_C(0x9E3779B97F4A7C15);
}

#define SUMS 8 /* that do not wait for one another */

/* A sum of the words of a buffer and its length, by which is noticed that a file is not as it was written (saving.py): one word
 * that is another changes one of the sums, and that the sum of all, for certain; and a change of more, but by a chance of 2 to the -64. */
PyObject *bitlex_py_checksum(PyObject *module, PyObject *buffer)
{
    uint64_t sums[SUMS] = {0}, words[SUMS], total;
    const char *p;
    Py_buffer view;
    size_t left;
    int i;
    (void)module;
    if (PyObject_GetBuffer(buffer, &view, PyBUF_SIMPLE) < 0) return NULL;
    p = view.buf;
    for (left = (size_t)view.len; left >= sizeof words; left -= sizeof words, p += sizeof words) {
        memcpy(words, p, sizeof words);
        for (i = 0; i < SUMS; i++) sums[i] = add_word(sums[i], words[i]);
    }
    memset(words, 0, sizeof words);
    memcpy(words, p, left);
    for (total = (uint64_t)view.len, i = 0; i < SUMS; i++) total = add_word(total, add_word(sums[i], words[i]));
    PyBuffer_Release(&view);
    return PyLong_FromUnsignedLongLong(total);
}
