/* _encode.h - what calls with one text (_encode.c) and with many (_encode_batch.c) have in common. */
#ifndef BITLEX_ENCODE_H
#define BITLEX_ENCODE_H

#include "_tokens.h"

#if defined(__GNUC__)
#pragma GCC visibility push(hidden)
#endif

static inline const specials *bitlex_py_specials_of(PyObject *found) { return found == Py_None ? NULL : &((Specials *)found)->tokens; }

static inline void bitlex_py_set_task(Task *task, const Utf8 *u, PyObject *allowed)
{
    task->text = u->bytes;
    task->length = u->length;
    task->allowed = bitlex_py_specials_of(allowed);
}

/* (text or texts, allowed, disallowed, threads=1, blocks=0): -1 with an exception set. */
int bitlex_py_read_arguments(Encoder *self, PyObject *const *arguments, Py_ssize_t count, Py_ssize_t *threads, Py_ssize_t *blocks);

/* Set the exception of what is not ENCODED, unless there is one. */
void bitlex_py_raise_outcome(Encoded outcome, const Task *task);

/* Places of ids in the UTF-8 of a str become places in the str. */
void bitlex_py_count_characters(const Utf8 *u, Ids *ids);

/* A special token that must not be there: -1 with an exception set. `disallowed`: Specials or None. */
int bitlex_py_refuse(const Utf8 *u, PyObject *disallowed);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#endif
