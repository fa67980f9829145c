/* _text.c - a text being read: a str or anything bytes-like in, its offsets out.
 *
 * In: an object. Out: where its units lie, a cursor over them, and its offsets: some at a time (bitlex_py_fetch), or all.
 *
 * A cursor is 61 KB, too much to set up anew for a short text; so each machine keeps the one of its last call, and a call that finds
 * none, because another thread is in its midst, makes one more.
 *
 * Invariants: a text that was begun is held, a str by a reference, a buffer by a view, until it is ended. A cursor has one user: it is
 * taken out of the machine before it is used, and put back afterwards.
 *
 * Rejected: counting first, to allocate as many offsets as there are (a second pass; memory that is not used is never touched).
 */
#include "_native.h"

/* Put a cursor in the place of the spare one, which comes back. */
static bitlex_cursor *swap_spare(Machine *machine, bitlex_cursor *cursor)
{
    bitlex_cursor *before;
#ifdef Py_GIL_DISABLED
    Py_BEGIN_CRITICAL_SECTION(machine);
#endif
    before = machine->spare;
    machine->spare = cursor;
#ifdef Py_GIL_DISABLED
    Py_END_CRITICAL_SECTION();
#endif
    return before;
}

bitlex_cursor *bitlex_py_new_cursor(const bitlex_machine *machine)
{
    const uint64_t scratch = machine->stage_count > 1 ? 0 : bitlex_scratch_size(machine, BITLEX_BLOCK);
    bitlex_cursor *cursor = PyMem_RawMalloc(sizeof *cursor + (size_t)scratch);
    if (cursor != NULL) bitlex_begin(cursor, machine, "", 0, BITLEX_UTF8, NULL);
    return cursor;
}

bitlex_cursor *bitlex_py_take_cursor(Machine *machine)
{
    bitlex_cursor *cursor = swap_spare(machine, NULL);
    return cursor != NULL ? cursor : bitlex_py_new_cursor(&machine->machine);
}

void bitlex_py_give_cursor(Machine *machine, bitlex_cursor *cursor) { PyMem_RawFree(swap_spare(machine, cursor)); }

void bitlex_py_text_end(Text *t)
{
    Py_CLEAR(t->string);
    PyBuffer_Release(&t->view); /* does nothing when there is none */
}

/* Whether it is an array of numpy's StringDType: str of any length. */
static int is_array_of_str(PyObject *given)
{
    PyObject *dtype = PyObject_GetAttrString(given, "dtype");
    PyObject *kind = dtype == NULL ? NULL : PyObject_GetAttrString(dtype, "kind");
    const int found = kind != NULL && PyUnicode_Check(kind) && PyUnicode_CompareWithASCIIString(kind, "T") == 0;
    Py_XDECREF(kind);
    Py_XDECREF(dtype);
    PyErr_Clear();
    return found;
}

int bitlex_py_batch_begin(PyObject *given)
{
    int one = PyUnicode_Check(given) || PyObject_CheckBuffer(given);
    Py_buffer view;
    if (one && !PyUnicode_Check(given)) {
        if (PyObject_GetBuffer(given, &view, PyBUF_FULL_RO) == 0) {
            const size_t length = view.format == NULL ? 0 : strlen(view.format);
            one = length == 0 || strchr("Ow", view.format[length - 1]) == NULL;
            PyBuffer_Release(&view);
        } else if (PyErr_ExceptionMatches(PyExc_ValueError)) { /* numpy gives no buffer of str of any length, nor of dates */
            PyErr_Clear();
            one = !is_array_of_str(given);
        } else {
            return -1;
        }
    }
    if (one) PyErr_Format(PyExc_TypeError, "expected a list of texts, got one %.200s", Py_TYPE(given)->tp_name);
    return one ? -1 : bitlex_py_iterable(given, "texts");
}

int bitlex_py_iterable(PyObject *given, const char *what)
{
    if (Py_TYPE(given)->tp_iter != NULL || PySequence_Check(given)) return 0;
    PyErr_Format(PyExc_TypeError, "expected a list of %s, got %.200s", what, Py_TYPE(given)->tp_name);
    return -1;
}

int bitlex_py_buffer(PyObject *given, Py_buffer *view, int flags)
{
    if (PyObject_GetBuffer(given, view, flags) == 0) return 0;
    if (PyErr_ExceptionMatches(PyExc_ValueError)) { /* of an array of dates, whose items have no format, or what was closed */
        PyObject *type, *why, *traceback;
        PyErr_Fetch(&type, &why, &traceback);
        PyErr_Format(PyExc_TypeError, "%.200s cannot be read: %S", Py_TYPE(given)->tp_name, why != NULL ? why : Py_None);
        Py_XDECREF(type);
        Py_XDECREF(why);
        Py_XDECREF(traceback);
    }
    return -1;
}

int bitlex_py_text_begin(Text *t, const bitlex_machine *machine, PyObject *text)
{
    t->string = NULL;
    t->view.obj = NULL;
    if (PyUnicode_Check(text)) {
        if (machine->continuation != NULL) {
            PyErr_SetString(PyExc_ValueError, "this lexer cuts inside characters, so it reads bytes: encode the text as UTF-8");
            return -1;
        }
#if PY_VERSION_HEX < 0x030C0000
        if (PyUnicode_READY(text) < 0) return -1;
#endif
        t->data = PyUnicode_DATA(text);
        t->length = (uint64_t)PyUnicode_GET_LENGTH(text);
        t->encoding = PyUnicode_KIND(text) == PyUnicode_1BYTE_KIND   ? BITLEX_LATIN1
                      : PyUnicode_KIND(text) == PyUnicode_2BYTE_KIND ? BITLEX_UCS2
                                                                     : BITLEX_UCS4;
        Py_INCREF(text);
        t->string = text;
        return 0;
    }
    if (PyBytes_CheckExact(text)) { /* the same as below, in a few nanoseconds less */
        t->data = PyBytes_AS_STRING(text);
        t->length = (uint64_t)PyBytes_GET_SIZE(text);
        t->encoding = BITLEX_UTF8;
        t->view.obj = Py_NewRef(text);
        return 0;
    }
    if (!PyObject_CheckBuffer(text)) {
        PyErr_Format(PyExc_TypeError, "expected str or a bytes-like object, got %.200s", Py_TYPE(text)->tp_name);
        return -1;
    }
    if (bitlex_py_buffer(text, &t->view, PyBUF_RECORDS_RO) < 0) return -1; /* with gaps, of which not every type says the same */
    if (t->view.itemsize != 1) {
        PyErr_Format(PyExc_TypeError, "expected str or a bytes-like object, got %.200s with items of %zd bytes",
                     Py_TYPE(text)->tp_name, t->view.itemsize);
        bitlex_py_text_end(t);
        return -1;
    }
    if (!PyBuffer_IsContiguous(&t->view, 'C')) {
        PyErr_Format(PyExc_BufferError, "expected bytes that lie side by side, got %.200s with gaps; give a copy of it", Py_TYPE(text)->tp_name);
        bitlex_py_text_end(t);
        return -1;
    }
    t->data = t->view.buf;
    t->length = (uint64_t)t->view.len;
    t->encoding = BITLEX_UTF8;
    return 0;
}

void bitlex_py_reading_end(Reading *r)
{
    if (r->cursor != NULL) bitlex_py_give_cursor(r->machine, r->cursor);
    PyMem_RawFree(r->scratch);
    r->cursor = NULL;
    r->scratch = NULL;
    bitlex_py_text_end(&r->text);
}

int bitlex_py_reading_begin(Reading *r, Machine *machine, PyObject *text)
{
    const bitlex_machine *m = &machine->machine;
    r->machine = machine;
    r->scratch = NULL;
    if (bitlex_py_text_begin(&r->text, m, text) < 0) {
        r->cursor = NULL;
        return -1;
    }
    r->large = r->text.length > RELEASE;
    r->cursor = bitlex_py_take_cursor(machine);
    if (m->stage_count > 1) r->scratch = PyMem_RawMalloc((size_t)bitlex_scratch_size(m, r->text.length));
    if (r->cursor == NULL || (m->stage_count > 1 && r->scratch == NULL)) {
        PyErr_NoMemory();
        bitlex_py_reading_end(r);
        return -1;
    }
    bitlex_restart(r->cursor, r->text.data, r->text.length, r->text.encoding, r->scratch ? r->scratch : scratch_behind(r->cursor));
    return 0;
}

size_t bitlex_py_next_offsets(bitlex_cursor *cursor, Form form, void *out, size_t room)
{
    switch (form) {
    case ENDS32: return bitlex_next32(cursor, out, room);
    case ENDS64: return bitlex_next(cursor, out, room);
    case PAIRS32: return bitlex_next_pairs32(cursor, out, room);
    default: return bitlex_next_pairs(cursor, out, room);
    }
}

Py_ssize_t bitlex_py_fetch(Reading *r, Form form, void *out, size_t room)
{
    size_t done = 0, n;
    int finished = 0;
    while (done == 0 && !finished) {
        PyThreadState *released = r->large ? PyEval_SaveThread() : NULL;
        uint32_t blocks = SLICE / BITLEX_BLOCK;
        while (done < room && !finished && blocks-- > 0) {
            if (!bitlex_ready(r->cursor, 0)) continue;
            n = bitlex_py_next_offsets(r->cursor, form, (char *)out + done * form_size(form), room - done);
            finished = n == 0;
            done += n;
        }
        if (released != NULL) PyEval_RestoreThread(released);
        if (r->large && PyErr_CheckSignals() < 0) return -1;
    }
    return (Py_ssize_t)done;
}

/* In one thread, their memory grows by half, where pieces are shorter than three units. */
Offsets *bitlex_py_all_offsets(Reading *r, PyTypeObject *type, Form form, uint64_t workers, uint64_t part_blocks)
{
    const size_t size = form_size(form);
    uint64_t used = 0, room = r->text.length / 2 + 64;
    Offsets *offsets = workers > 1 ? bitlex_py_share_offsets(r, type, form, workers, part_blocks) : NULL;
    Py_ssize_t n = -1;
    if (offsets != NULL || PyErr_Occurred()) return offsets;
    offsets = bitlex_py_offsets_new(type, room * size);
    if (offsets == NULL && room > SLICE) { /* they may be few */
        PyErr_Clear();
        offsets = bitlex_py_offsets_new(type, (room = SLICE) * size);
    }
    while (offsets != NULL && (n = bitlex_py_fetch(r, form, (char *)offsets->bytes + used * size, (size_t)(room - used))) > 0) {
        used += (uint64_t)n;
        if (used < room) continue;
        room += room / 2;
        if (bitlex_py_offsets_resize(&offsets, room * size) < 0) {
            n = -1;
            break;
        }
    }
    if (offsets != NULL && (n < 0 || bitlex_py_offsets_resize(&offsets, used * size) < 0)) Py_CLEAR(offsets);
    return offsets;
}

Py_ssize_t bitlex_py_list_from(PyObject *const *arguments, Py_ssize_t count)
{
    Py_ssize_t at;
    if (count != 2 || !PyList_CheckExact(arguments[0])) {
        PyErr_SetString(PyExc_TypeError, "expected (list, at)");
        return -1;
    }
    at = PyNumber_AsSsize_t(arguments[1], PyExc_OverflowError);
    if (at < 0 && !PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "at must be 0 or more");
    return at < 0 ? -1 : at;
}
