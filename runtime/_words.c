/* _words.c - a text in; out of its tokens, the lists that people read side by side: ids, places, and of which piece each one is.
 *
 * Words that were cut elsewhere are encoded one by one, and a token has the number of its word, and its place in that.
 *
 * Rejected: arrays of numpy (for a line of text, making them and lists of them takes ten times as long as encoding it).
 */
#include "_tokens.h"

static PyObject *list_of_numbers(Encoder *self, const uint64_t *numbers, size_t count)
{
    PyObject *list = PyList_New((Py_ssize_t)count);
    for (size_t i = 0; list != NULL && i < count; i++) {
        PyObject *made = bitlex_py_number(self, numbers[i]);
        if (made == NULL) Py_CLEAR(list);
        else PyList_SET_ITEM(list, (Py_ssize_t)i, made);
    }
    return list;
}

/* A tuple of two ints is part of no cycle, so it need not be looked at again and again. */
static PyObject *pair_of_numbers(Encoder *self, const uint64_t *numbers)
{
    PyObject *first = bitlex_py_number(self, numbers[0]), *second = first == NULL ? NULL : bitlex_py_number(self, numbers[1]);
    PyObject *pair = second == NULL ? NULL : PyTuple_New(2);
    if (pair == NULL) {
        Py_XDECREF(first);
        Py_XDECREF(second);
        return NULL;
    }
    PyTuple_SET_ITEM(pair, 0, first);
    PyTuple_SET_ITEM(pair, 1, second);
    PyObject_GC_UnTrack(pair);
    return pair;
}

static PyObject *list_of_places(Encoder *self, const uint64_t *places, size_t count)
{
    PyObject *list = PyList_New((Py_ssize_t)count);
    for (size_t i = 0; list != NULL && i < count; i++) {
        PyObject *made = pair_of_numbers(self, places + 2 * i);
        if (made == NULL) Py_CLEAR(list);
        else PyList_SET_ITEM(list, (Py_ssize_t)i, made);
    }
    return list;
}

static PyObject *lists(Encoder *self, const Ids *ids)
{
    PyObject *numbers = bitlex_py_ids_as_list(self, ids->data, ids->used);
    PyObject *places = numbers == NULL ? NULL : list_of_places(self, ids->places, ids->used);
    PyObject *pieces = places == NULL ? NULL : list_of_numbers(self, ids->pieces, ids->used);
    PyObject *found = pieces == NULL ? NULL : Py_BuildValue("(OOOK)", numbers, places, pieces, (unsigned long long)ids->piece_count);
    Py_XDECREF(numbers);
    Py_XDECREF(places);
    Py_XDECREF(pieces);
    return found;
}

/* Append the ids of a word, which is one more piece: -1 with an exception set. */
static int add_word(Encoder *self, PyObject *word, Ids *all)
{
    Ids ids;
    int failed = bitlex_py_encode_placed(self, word, &ids);
    if (!failed && bitlex_py_reserve(all, ids.used + 1) < 0) {
        PyErr_NoMemory();
        failed = -1;
    }
    if (!failed) {
        if (ids.used > 0) {
            memcpy(all->data + all->used, ids.data, ids.used * sizeof *ids.data);
            memcpy(all->places + 2 * all->used, ids.places, 2 * ids.used * sizeof *ids.places);
        }
        for (size_t i = 0; i < ids.used; i++) all->pieces[all->used + i] = all->piece_count;
        all->used += ids.used;
        all->piece_count++;
    }
    bitlex_py_free_ids(&ids);
    return failed;
}

PyObject *bitlex_py_encode_words(Encoder *self, PyObject *text)
{
    Ids ids = {.placed = 1, .numbered = 1};
    PyObject *words = NULL, *found;
    int failed = 0;
    if (PyList_Check(text) || PyTuple_Check(text)) {
        if ((words = PySequence_Tuple(text)) == NULL) return NULL;
        for (Py_ssize_t i = 0; !failed && i < PyTuple_GET_SIZE(words); i++) failed = add_word(self, PyTuple_GET_ITEM(words, i), &ids);
    } else {
        failed = bitlex_py_encode_placed(self, text, &ids);
    }
    found = failed ? NULL : lists(self, &ids);
    bitlex_py_free_ids(&ids);
    Py_XDECREF(words);
    return found;
}
