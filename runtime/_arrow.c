/* _arrow.c - an Arrow array in; out, a list of its texts as bytes.
 *
 *     arrow_texts(pyarrow.array(["a", "b"])) -> [b"a", b"b"]
 *
 * What exports a column does so by the Arrow C data interface (https://arrow.apache.org/docs/format/CDataInterface.html) in capsules of Python
 * (its "PyCapsule interface"): pyarrow's arrays and chunked arrays, series of polars and pandas. So no such library is needed here, and a row
 * takes no object of theirs, which takes longer to make than its ids.
 *
 * Invariant: None for anything but strings and bytes, and where a row has none, so that whoever iterates over it instead says which. What is
 * exported is released before the function returns, whatever happens.
 *
 * Rejected: views of what lies in the array (who encodes a text copies what another thread may write to, and a bytes-like object in which
 * an array lies may be written to).
 */
#include <inttypes.h>

#include "_native.h"

typedef struct ArrowSchema {
    const char *format, *name, *metadata;
    int64_t flags, child_count;
    struct ArrowSchema **children, *dictionary;
    void (*release)(struct ArrowSchema *);
    void *own;
} ArrowSchema;

typedef struct ArrowArray {
    int64_t length, null_count, offset, buffer_count, child_count;
    const void **buffers;
    struct ArrowArray **children, *dictionary;
    void (*release)(struct ArrowArray *);
    void *own;
} ArrowArray;

typedef struct ArrowStream {
    int (*get_schema)(struct ArrowStream *, ArrowSchema *out);
    int (*get_next)(struct ArrowStream *, ArrowArray *out);
    const char *(*get_last_error)(struct ArrowStream *);
    void (*release)(struct ArrowStream *);
    void *own;
} ArrowStream;

typedef enum { OTHER, ENDS_32, ENDS_64, VIEWS } Layout;

/* How texts lie in an array of such a type, if they do: strings or bytes. */
static Layout layout_of(const ArrowSchema *schema)
{
    const char *format = schema->dictionary != NULL ? "" : schema->format;
    if (strcmp(format, "u") == 0 || strcmp(format, "z") == 0) return ENDS_32;
    if (strcmp(format, "U") == 0 || strcmp(format, "Z") == 0) return ENDS_64;
    return strcmp(format, "vu") == 0 || strcmp(format, "vz") == 0 ? VIEWS : OTHER;
}

static int has_nulls(const ArrowArray *array)
{
    const uint8_t *there = array->buffer_count > 0 ? array->buffers[0] : NULL;
    if (there == NULL || array->null_count == 0) return 0;
    for (int64_t at = array->offset; at < array->offset + array->length; at++) {
        if (!(there[at / 8] >> (at % 8) & 1)) return 1;
    }
    return 0;
}

/* Where a text lies, of which there is a view: 16 bytes that begin with its length. What is short stands behind that, up to 12 bytes; of
 * others there follow four bytes of it, the number of a buffer, and where in that it begins. */
static const char *viewed(const ArrowArray *array, const char *view, int64_t *size)
{
    int32_t length, which, begin;
    memcpy(&length, view, 4);
    memcpy(&which, view + 8, 4);
    memcpy(&begin, view + 12, 4);
    *size = length;
    if (length <= 12) return view + 4;
    const int64_t *sizes = array->buffers[array->buffer_count - 1]; /* of the buffers between the views and it */
    if (which < 0 || which >= array->buffer_count - 3 || begin < 0 || begin > sizes[which] - length) *size = -1;
    return *size < 0 ? NULL : (const char *)array->buffers[which + 2] + begin;
}

/* Where the text of a row lies; a size that is negative, or too large, where it lies nowhere. */
static const char *row(const ArrowArray *array, Layout layout, int64_t at, int64_t *size)
{
    int64_t begin, end;
    if (layout == VIEWS) return viewed(array, (const char *)array->buffers[1] + 16 * at, size);
    if (layout == ENDS_32) {
        begin = ((const int32_t *)array->buffers[1])[at];
        end = ((const int32_t *)array->buffers[1])[at + 1];
    } else {
        begin = ((const int64_t *)array->buffers[1])[at];
        end = ((const int64_t *)array->buffers[1])[at + 1];
    }
    *size = begin < 0 ? -1 : end - begin;
    return array->buffers[2] == NULL || *size < 0 ? "" : (const char *)array->buffers[2] + begin;
}

/* Append its texts: 1; 0 if it has rows without any; -1 with an exception set. */
static int append(PyObject *list, const ArrowArray *array, Layout layout)
{
    if (has_nulls(array)) return 0;
    for (int64_t i = 0; i < array->length; i++) {
        int64_t size;
        const char *from = row(array, layout, array->offset + i, &size);
        PyObject *text;
        int failed;
        if (size < 0 || size > PY_SSIZE_T_MAX) {
            PyErr_Format(PyExc_ValueError, "row %lld of an Arrow array lies outside of it", (long long)i);
            return -1;
        }
        if ((text = PyBytes_FromStringAndSize(from, (Py_ssize_t)size)) == NULL) return -1;
        failed = PyList_Append(list, text) < 0;
        Py_DECREF(text);
        if (failed || (i % LISTENS == LISTENS - 1 && PyErr_CheckSignals() < 0)) return -1;
    }
    return 1;
}

/* Let an array go, whose exporter is not to see the exception that may be set. */
static void release(ArrowArray *array)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    array->release(array);
    PyErr_Restore(type, value, traceback);
}

/* The same of all arrays of a stream. */
static int append_all(PyObject *list, ArrowStream *stream)
{
    ArrowSchema schema = {.release = NULL};
    int going = 1, failed = stream->get_schema(stream, &schema);
    const Layout layout = failed || schema.release == NULL ? OTHER : layout_of(&schema);
    if (schema.release != NULL) schema.release(&schema);
    if (layout == OTHER && !failed) return 0;
    while (!failed && going > 0) {
        ArrowArray array = {.release = NULL};
        failed = stream->get_next(stream, &array);
        if (failed || array.release == NULL) break; /* the end */
        going = append(list, &array, layout);
        release(&array);
    }
    if (failed) {
        const char *why = stream->get_last_error(stream);
        PyErr_Format(PyExc_ValueError, "an Arrow stream fails: %.500s", why != NULL ? why : strerror(failed));
        return -1;
    }
    return going;
}

/* What a method of an object returns; NULL if it has none, or if that fails: with an exception set if it was interrupted. */
static PyObject *exported(PyObject *given, const char *method)
{
    PyObject *found = PyObject_CallMethod(given, method, NULL);
    if (found == NULL && PyErr_ExceptionMatches(PyExc_Exception) && !PyErr_ExceptionMatches(PyExc_MemoryError)) PyErr_Clear();
    return found;
}

/* Append the texts of an object, by one or the other of two methods: 0 if it has neither. */
static int append_exported(PyObject *list, PyObject *given)
{
    PyObject *capsule, *pair = exported(given, "__arrow_c_array__");
    int done = 0;
    if (pair != NULL && PyTuple_Check(pair) && PyTuple_GET_SIZE(pair) == 2 && PyCapsule_IsValid(PyTuple_GET_ITEM(pair, 0), "arrow_schema") &&
        PyCapsule_IsValid(PyTuple_GET_ITEM(pair, 1), "arrow_array")) {
        const Layout layout = layout_of(PyCapsule_GetPointer(PyTuple_GET_ITEM(pair, 0), "arrow_schema"));
        done = layout == OTHER ? 0 : append(list, PyCapsule_GetPointer(PyTuple_GET_ITEM(pair, 1), "arrow_array"), layout);
    }
    Py_XDECREF(pair); /* its capsules release what nobody took from them */
    if (pair != NULL || PyErr_Occurred()) return PyErr_Occurred() ? -1 : done;
    capsule = exported(given, "__arrow_c_stream__");
    if (capsule != NULL && PyCapsule_IsValid(capsule, "arrow_array_stream")) {
        done = append_all(list, PyCapsule_GetPointer(capsule, "arrow_array_stream"));
    }
    Py_XDECREF(capsule);
    return PyErr_Occurred() ? -1 : done;
}

PyObject *bitlex_py_arrow_texts(PyObject *module, PyObject *given)
{
    PyObject *list = PyList_New(0);
    const int found = list == NULL ? -1 : append_exported(list, given);
    (void)module;
    if (found > 0) return list;
    Py_XDECREF(list);
    return found < 0 ? NULL : Py_NewRef(Py_None);
}
