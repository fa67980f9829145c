/* _windows.c - a text that is too long to have in memory, a window of it at a time: bytes in, and what is known where they begin; out, the ids of
 * what nothing behind them can change, and where the next window begins.
 *
 *     encode_window(text[0:16 Mi], ..., True, None)              // ids, 16776000, (9, 2, 55290)
 *     encode_window(text[16776000:33553216], ..., True, (9, 2, 55290))
 *
 * All threads encode a window as they do a long text (_long.c, which says why it may end where it does).
 *
 * Invariants: the ids of all windows, in order, are those of the text. Nobody writes to the bytes meanwhile, which is up to the caller: a copy
 * would be the memory of another window.
 */
#include "_encode.h"
#include "_many.h"

#define SIGNATURE "(text, allowed, disallowed, threads, blocks, counting, base, goes_on, begun)"

/* None, or the block and the state of the cut that the lexer reads from, and where the piece begins that lies across it. */
static int read_begun(PyObject *given, uint64_t length, Window *window)
{
    unsigned long long block, last;
    unsigned forward;
    if (given == Py_None) return 0;
    if (!PyTuple_Check(given)) {
        PyErr_SetString(PyExc_TypeError, "a window begins with None or (block, forward, last)");
        return -1;
    }
    if (!PyArg_ParseTuple(given, "KIK:begun", &block, &forward, &last)) return -1;
    if (block > length / BITLEX_BLOCK || last > block * BITLEX_BLOCK) {
        PyErr_SetString(PyExc_ValueError, "a window begins behind its end");
        return -1;
    }
    window->begun = 1;
    window->cut.block = block;
    window->cut.forward = forward;
    window->last = last;
    return 0;
}

static void raise_wrong(Encoded outcome, const Utf8 *u, const Task *task)
{
    special_match found;
    if (outcome != REFUSED) bitlex_py_raise_outcome(outcome, task);
    else if (specials_find(task->disallowed, u->bytes, u->length, 0, &found))
        bitlex_py_raise_special(u->bytes + found.start, (size_t)(found.end - found.start), task->base + found.start);
    else bitlex_py_raise_outcome(NO_ROOM, task); /* somebody wrote to it */
}

static int encode(Encoder *self, PyObject *const *arguments, const Utf8 *u, Task *task, Window *window)
{
    Py_ssize_t threads, blocks;
    Encoded outcome;
    const int counting = PyObject_IsTrue(arguments[5]), goes_on = PyObject_IsTrue(arguments[7]);
    const unsigned long long base = PyLong_AsUnsignedLongLong(arguments[6]);
    if (counting < 0 || goes_on < 0 || PyErr_Occurred() || bitlex_py_read_arguments(self, arguments, 5, &threads, &blocks) < 0) return -1;
    if (self->machine->machine.stage_count > 1 || self->machine->machine.drops || u->text.string != NULL || u->length >= UINT32_MAX) {
        PyErr_SetString(PyExc_ValueError, "a window is less than 4 GiB of bytes, for a lexer of one stage that drops nothing");
        return -1;
    }
    bitlex_py_set_task(task, u, arguments[1]);
    task->disallowed = bitlex_py_specials_of(arguments[2]);
    task->counting = counting;
    task->base = base;
    window->goes_on = goes_on;
    if (read_begun(arguments[8], u->length, window) < 0) return -1;
    if (window->begun && window->cut.forward >= self->machine->machine.stages->forward_states * self->machine->machine.stages->label_count) {
        PyErr_SetString(PyExc_ValueError, "a window begins in no state");
        return -1;
    }
    if (bitlex_py_encode_window(self, task, window, threads, (size_t)blocks, &outcome) == 0) return 0;
    if (!PyErr_Occurred()) raise_wrong(outcome, u, task);
    return -1;
}

PyObject *bitlex_py_encode_next_window(Encoder *self, PyObject *const *arguments, Py_ssize_t count)
{
    Utf8 u;
    Task task = {.at = 0};
    Window window = {.goes_on = 0};
    PyObject *found = NULL, *begun = NULL;
    if (count != 9) return PyErr_Format(PyExc_TypeError, "expected " SIGNATURE ", got %zd arguments", count);
    if (bitlex_py_utf8_begin(&u, arguments[0]) < 0) return NULL;
    if (encode(self, arguments, &u, &task, &window) == 0) {
        found = task.counting ? PyLong_FromUnsignedLongLong(task.counted) : bitlex_py_ids_as_numpy((PyObject *)self, &task.ids);
        if (!window.begun) begun = Py_NewRef(Py_None);
        else begun = Py_BuildValue("KIK", (unsigned long long)window.cut.block, (unsigned)window.cut.forward, (unsigned long long)window.last);
    }
    bitlex_py_utf8_end(&u);
    bitlex_py_free_ids(&task.ids);
    if (found != NULL && begun != NULL) return Py_BuildValue("NKN", found, (unsigned long long)window.next, begun);
    Py_XDECREF(found);
    Py_XDECREF(begun);
    return NULL;
}
