/* _training.h - what the files of the extension share that train.
 *
 *     _train_counter.c   the type Counter: texts in, their distinct pieces and how often each was met out
 *     _train_counting.c  the texts of one call, by several threads
 *     _train_reading.c   what a Counter wrote down, read back
 *     _train_merger.c    the type Merger: distinct pieces in, the merges to learn from them out
 */
#ifndef BITLEX_TRAINING_H
#define BITLEX_TRAINING_H

#include "_tokens.h"
#include "train.h"

typedef struct {
    PyObject_HEAD
    Machine *machine;
    uint64_t key[2];
    train_counts *tables[MOST_THREADS];
    Py_ssize_t table_count;
    uint64_t place; /* bytes of all texts so far */
    int busy;
    int mapped;     /* what runs are read from is a map of a file */
    int file, error; /* where runs are written to, -1 for nowhere; what went wrong there */
    uint64_t limit; /* bytes of all tables from which on they are written, 0 for none */
    PyThread_type_lock lock; /* guards what follows, and the file */
    uint64_t written, *ends; /* bytes, and of each run its last */
    size_t end_count, end_room;
    Py_buffer view;    /* what runs are read from */
    train_runs *runs;  /* or NULL */
    uint64_t read;     /* bytes of pieces since pages were let go */
} Counter;

#if defined(__GNUC__)
#pragma GCC visibility push(hidden)
#endif

/* --- _train_counter.c --- */

/* One call at a time; none after the end, or after one that failed in its midst: -1 with an exception set, which says `why`. */
int bitlex_py_begin_call(PyObject *self, int *busy, const char *why);

/* As many tables as threads: -1, without an exception, if memory is short. */
int bitlex_py_make_tables(Counter *self, Py_ssize_t threads);

/* Write a table as a run: -1 if memory is short, -2 with `error` set. Touches no object. */
int bitlex_py_spill_table(Counter *self, train_counts *table, train_order by);

/* Raise for what one of these returned. */
PyObject *bitlex_py_raise_counting(const Counter *self, int failed);

/* --- _train_counting.c --- */

/* A part of a text: from a piece that starts at `start` on, up to a place behind `stop`; where its last piece ends, `reached`. */
typedef struct {
    uint64_t start, stop, reached;
} Window;

/* Count texts that are held, or of a single one what lies in a window: -1 with an exception set. */
int bitlex_py_count_texts(Counter *self, const Utf8 *texts, Py_ssize_t count, Py_ssize_t threads, Py_ssize_t blocks, Window *window);

/* Let the pages of a file go that were read: they would count as memory of this process, as long as it has room for them. */
void bitlex_py_let_pages_go(const uint8_t *from, const uint8_t *to);

/* --- _train_reading.c: methods of a Counter --- */

PyObject *bitlex_py_open_runs(Counter *self, PyObject *arguments);
PyObject *bitlex_py_read_runs(Counter *self, PyObject *limit);
PyObject *bitlex_py_take_runs(Counter *self, PyObject *most);
PyObject *bitlex_py_add_counted(Counter *self, PyObject *arguments);
void bitlex_py_close_runs(Counter *self);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#endif
