/* _decoding.c - ids in, what they stand for out: the methods of an Encoder that decode. */
#include "_tokens.h"

static void raise_no_token(const Ids *ids, size_t at)
{
    if (ids->data[at] == BPE_NONE) PyErr_Format(PyExc_KeyError, "ids[%zu] is no token id", at);
    else PyErr_Format(PyExc_KeyError, "ids[%zu] is %u, which is no token of this vocabulary", at, ids->data[at]);
}

PyObject *bitlex_py_decode(Encoder *self, PyObject *source)
{
    Ids ids = {.data = NULL};
    PyObject *bytes = NULL;
    uint64_t size;
    size_t at = 0;
    if (bitlex_py_read_ids(&ids, source) < 0) {
        bitlex_py_free_ids(&ids);
        return NULL;
    }
    size = bpe_decoded_size(&self->decoder, ids.data, ids.used, &at);
    if (size == UINT64_MAX) {
        raise_no_token(&ids, at);
    } else if (size > PY_SSIZE_T_MAX - 64) {
        PyErr_NoMemory();
    } else {
        bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)size + 16); /* the last token is copied whole */
        if (bytes != NULL) {
            bpe_decode(&self->decoder, ids.data, ids.used, (uint8_t *)PyBytes_AS_STRING(bytes));
            _PyBytes_Resize(&bytes, (Py_ssize_t)size);
        }
    }
    bitlex_py_free_ids(&ids);
    return bytes;
}

PyObject *bitlex_py_ends(Encoder *self, PyObject *source)
{
    Ids ids = {.data = NULL};
    PyObject *list = NULL;
    uint64_t end = 0;
    if (bitlex_py_read_ids(&ids, source) == 0) list = PyList_New((Py_ssize_t)ids.used);
    for (size_t i = 0; list != NULL && i < ids.used; i++) {
        const uint8_t *bytes;
        const size_t length = bpe_token(&self->decoder, ids.data[i], &bytes);
        PyObject *made;
        if (length == SIZE_MAX) raise_no_token(&ids, i);
        made = length == SIZE_MAX ? NULL : PyLong_FromUnsignedLongLong(end += length);
        if (made == NULL) Py_CLEAR(list);
        else PyList_SET_ITEM(list, (Py_ssize_t)i, made);
    }
    bitlex_py_free_ids(&ids);
    return list;
}

PyObject *bitlex_py_token(Encoder *self, PyObject *number)
{
    const uint8_t *bytes = NULL;
    size_t length;
    const Py_ssize_t id = PyNumber_AsSsize_t(number, NULL);
    if (id == -1 && PyErr_Occurred()) return NULL;
    length = id >= 0 && (uint64_t)id < BPE_NONE ? bpe_token(&self->decoder, (uint32_t)id, &bytes) : SIZE_MAX;
    if (length != SIZE_MAX) return PyBytes_FromStringAndSize((const char *)bytes, (Py_ssize_t)length);
    PyErr_SetObject(PyExc_KeyError, number);
    return NULL;
}

PyObject *bitlex_py_find(Encoder *self, PyObject *token)
{
    uint32_t id;
    Utf8 u;
    if (bitlex_py_utf8_begin(&u, token) < 0) return NULL;
    id = bpe_find(&self->vocabulary, u.bytes, (size_t)u.length);
    bitlex_py_utf8_end(&u);
    if (id == BPE_NONE) Py_RETURN_NONE;
    return PyLong_FromUnsignedLong(id);
}
