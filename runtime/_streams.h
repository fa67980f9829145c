/* _streams.h - what the files of the extension share that read texts in parts: _stream.c, pieces; _token_stream.c and
 * _token_reading.c, ids; _destination.c, where both may be put; and ids in parts: _decode_stream.c. */
#ifndef BITLEX_STREAMS_H
#define BITLEX_STREAMS_H

#include "_native.h"
#include "bitlex_stream.h"

#if defined(__GNUC__)
#pragma GCC visibility push(hidden)
#endif

extern PyType_Spec bitlex_py_stream_spec, bitlex_py_token_stream_spec, bitlex_py_decode_stream_spec;

/* Begin a text, with the memory and the table that the stream has: -1 with an exception set where the machine has no stream. */
int bitlex_py_begin_stream(bitlex_stream *s, Machine *machine);

/* A stream has one user at a time: -1 with an exception set where another thread is using it. By who has the GIL, if there is one. */
int bitlex_py_raise_used(void);
static inline int bitlex_py_use_stream(int *used)
{
#if defined(Py_GIL_DISABLED) && defined(__GNUC__)
    const int others = __atomic_exchange_n(used, 1, __ATOMIC_ACQUIRE);
#else
    const int others = *used;
    *used = 1;
#endif
    return others ? bitlex_py_raise_used() : 0;
}

static inline void bitlex_py_leave_stream(int *used)
{
#if defined(Py_GIL_DISABLED) && defined(__GNUC__)
    __atomic_store_n(used, 0, __ATOMIC_RELEASE);
#else
    *used = 0;
#endif
}

/* A call that failed may have lost some of the text: raise that the stream must be reset. -1. */
int bitlex_py_raise_broken(void);

/* Room for more places, where a stream says that it is full: -1 with an exception set. */
int bitlex_py_more_places(bitlex_stream *s, Py_ssize_t hold);

/* Raise that a stream would have to hold more than it may. */
void bitlex_py_raise_hold(Py_ssize_t hold, const char *what);

/* --- _destination.c --- */

/* What an array of the caller's had no room for: bytes, of which so many were taken. Zeros where there is nothing. */
typedef struct {
    char *data;
    size_t used, room, taken;
} Waiting;

/* Have more wait, or what waits for another: -1 if there is no memory. */
int bitlex_py_wait(Waiting *w, const void *found, size_t size);
int bitlex_py_copy_waiting(Waiting *to, const Waiting *from);
void bitlex_py_forget_waiting(Waiting *w);

/* Take numbers of so many bytes, up to as many as there is room for: how many, from where what was taken before ended. */
size_t bitlex_py_take_waiting(Waiting *w, size_t each, size_t room);

/* Hold an array of the caller's for offsets, in rows of two if they are `pairs`: -1 with an exception set. */
int bitlex_py_hold_offsets(Py_buffer *view, PyObject *given, int pairs);

/* --- _stream.c --- */

/* With memory for places of its own: -1 if there is none. */
int bitlex_py_copy_stream(bitlex_stream *to, const bitlex_stream *from);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#endif
