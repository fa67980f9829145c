/* _native.h - what the files of the C extension share. Texts in (str or bytes-like); counts, pieces or offsets of them out.
 *
 *     _machine.c    tables as bytes -> a Machine, checked and on the best instructions there are
 *     _text.c       a str or buffer -> a Reading of it; a Reading -> its offsets
 *     _parts.c      one long text by several threads; _batches.c many texts; both by _threads.c, and both with _threads.h
 *     _joining.c    what several threads find, offsets or ids -> one array; with _joining.h
 *     _offsets.c    memory for offsets, as an object
 *     _pieces.c     a text and its offsets -> the list of its pieces
 *     _iterator.c   a text -> an iterator of its offsets
 *     _stream.c     a text in parts -> its offsets; with _streams.h
 *     _nfc.c        a text -> whether it is in NFC, and where it may not be
 *     _arrow.c      a column that Arrow has -> its texts
 *     _native.c     the type's methods and the module
 *
 * Offsets count characters of a str and bytes of anything else; a str is read as it lies in memory, whatever its width.
 *
 * Invariants: a Machine is checked once, when it is made, so that no contents of its tables can lead a read astray; its tables
 * never change afterwards, so any number of threads may use it. The GIL is released for texts above RELEASE units, and
 * signals are looked at every SLICE units, so that Ctrl-C works (not while a text is being run backward as a whole, which
 * only hostile texts need). Another thread may write to a buffer as it is read: the pieces are then those of no one text, but
 * nothing is read or written outside of it. A function that fails returns NULL or -1 with an exception set, unless it says so.
 *
 * What two files share has a name with bitlex_py_ before it and is hidden in the shared object; what runs for each piece is in the
 * file that calls it, so that the compiler can put it in place.
 *
 * Rejected: the limited API (it hides how a str lies in memory, and a UTF-8 copy would double the memory).
 */
#ifndef BITLEX_NATIVE_H
#define BITLEX_NATIVE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "bitlex.h"

#define RELEASE 65536       /* units of text from which on the GIL is released */
#define SLICE (16u << 20)   /* units between two looks at signals */
#define CHUNK 512           /* offsets that a short text may have without memory of their own */
#define PART 64             /* blocks of a text that a thread takes at a time, at least, unless the caller says otherwise */
#define BUFFER (1u << 17)   /* offsets that a thread finds between two looks at the others */

typedef struct {
    PyObject_HEAD
    bitlex_machine machine;
    bitlex_stage *stages;
    void **tables; /* everything that is to be freed */
    Py_ssize_t table_count;
    bitlex_tier tier;
    bitlex_cursor *spare; /* what the last call read with, for the next one; or NULL */
    void *stream_table;   /* of its streams, once there was one */
} Machine;

/* A text, held so that it stays where it is. */
typedef struct {
    const void *data;
    PyObject *string; /* the str (its reference is ours), or NULL when the view holds a buffer */
    Py_buffer view;
    uint64_t length;
    bitlex_encoding encoding;
} Text;

/* A text being read in one thread, from reading_begin to reading_end. */
typedef struct {
    Machine *machine; /* borrowed */
    bitlex_cursor *cursor;
    void *scratch;    /* for a machine of several stages */
    Text text;
    int large;        /* worth releasing the GIL */
} Reading;

/* How offsets are stored: the end of each piece, or its start and end, in numbers of 32 or 64 bits. */
typedef enum { ENDS32, ENDS64, PAIRS32, PAIRS64 } Form;

static inline int has_pairs(Form form) { return form >= PAIRS32; }

static inline int is_wide(Form form) { return form == ENDS64 || form == PAIRS64; }

/* The bytes of one end or pair. */
static inline size_t form_size(Form form) { return (size_t)4 << (has_pairs(form) + is_wide(form)); }

static inline Form form_for(uint64_t length, int pairs) { return (pairs ? PAIRS32 : ENDS32) + (length >= UINT64_C(1) << 31); }

/* Offsets in memory of their own: a buffer. */
typedef struct {
    PyObject_VAR_HEAD /* its size is that of the bytes */
    uint64_t *bytes;  /* `own`, or memory of _large.c */
    size_t room;      /* of that memory; 0: these are in the object */
    size_t own_room;  /* of the object, in bytes */
    uint64_t own[];
} Offsets;

#define DIRECT_OPTIONS 4

typedef struct {
    PyTypeObject *iterator, *offsets, *machine, *encoder, *specials, *array, *direct;
    PyObject *options[DIRECT_OPTIONS]; /* names of arguments, in the order of OPTIONS in _direct.c */
    PyObject *from_buffer, *narrow, *wide, *ids; /* numpy.frombuffer and the types of offsets and ids, once they were needed */
    void **numpy;                                 /* numpy's table of functions in C, if it is one that is known */
} State;

/* What a batch is asked for. */
typedef enum { COUNTS, ENDS, PAIRS, PIECES } Wanted;

#if defined(__GNUC__)
#pragma GCC visibility push(hidden)
#endif

/* --- _machine.c --- */

PyObject *bitlex_py_machine_new(PyTypeObject *type, PyObject *args, PyObject *kwargs);
void bitlex_py_machine_dealloc(Machine *self);
const char *bitlex_py_tier_name(const Machine *self);

/* --- _text.c --- */

/* -1 with a TypeError for one text where many are expected: a str, or what has a buffer, but for an array of str; and for what is no batch. */
int bitlex_py_batch_begin(PyObject *given);

/* From which text of a list on, of the arguments (list, at): -1 with an exception set. Whoever looks through them asks for signals now and
 * then. */
#define LISTENS 1024 /* texts */
Py_ssize_t bitlex_py_list_from(PyObject *const *arguments, Py_ssize_t count);

/* -1 with a TypeError for what cannot be a list of these. */
int bitlex_py_iterable(PyObject *given, const char *what);

/* PyObject_GetBuffer, but that what has no buffer of numbers or bytes is a TypeError, whatever its type raises. */
int bitlex_py_buffer(PyObject *given, Py_buffer *view, int flags);
int bitlex_py_text_begin(Text *t, const bitlex_machine *machine, PyObject *text);
void bitlex_py_text_end(Text *t);

/* After a failure there is nothing to end. */
int bitlex_py_reading_begin(Reading *r, Machine *machine, PyObject *text);
void bitlex_py_reading_end(Reading *r);

/* A cursor that was begun with the machine, and behind it the scratch memory for texts of one stage; to be freed with
 * PyMem_RawFree. NULL, without an exception, if there is no memory. Touches no object. */
bitlex_cursor *bitlex_py_new_cursor(const bitlex_machine *machine);

/* The one that the last call read with, or a new one; and leave it for the next call. */
bitlex_cursor *bitlex_py_take_cursor(Machine *machine);
void bitlex_py_give_cursor(Machine *machine, bitlex_cursor *cursor);

/* The memory behind such a cursor. */
static inline void *scratch_behind(bitlex_cursor *cursor) { return cursor + 1; }

/* bitlex_next or the one of its kin that stores offsets in this form. Touches no object. */
size_t bitlex_py_next_offsets(bitlex_cursor *cursor, Form form, void *out, size_t room);

/* Store up to `room` offsets or pairs: their number, 0 at the end, -1 with an exception set. */
Py_ssize_t bitlex_py_fetch(Reading *r, Form form, void *out, size_t room);

/* All offsets, by as many threads. */
Offsets *bitlex_py_all_offsets(Reading *r, PyTypeObject *type, Form form, uint64_t workers, uint64_t part_blocks);

/* --- _large.c --- */

#define LARGE (1u << 20) /* bytes from which on memory is taken in large pages, and kept for the next who asks */
#define LARGE_OFFSETS (64u << 10) /* the same of offsets, which are resized: then C libraries may give smaller memory back each time, too */

typedef enum { FOR_TEXTS, FOR_IDS, FOR_OFFSETS, PURPOSES } Purpose;

/* Memory of so many bytes; NULL if there is none. To be let go with the same size; `written`: how much of it was. Touch no object. */
void *bitlex_py_take(Purpose purpose, size_t size);
void bitlex_py_let_go(Purpose purpose, void *memory, size_t size, size_t written);

/* Memory of another size, with what was written; NULL, and the old one is still there, if there is none. */
void *bitlex_py_regrow(Purpose purpose, void *memory, size_t size, size_t written, size_t wanted);

/* Let pages of memory from elsewhere be large, if it is worth it. */
void bitlex_py_ask_for_large_pages(void *memory, size_t size);

/* --- _offsets.c --- */

extern PyType_Spec bitlex_py_offsets_spec;

/* Not set to anything. */
Offsets *bitlex_py_offsets_new(PyTypeObject *type, uint64_t size);
int bitlex_py_offsets_resize(Offsets **offsets, uint64_t size);

/* --- _parts.c --- */

/* How many threads a text is worth. */
uint64_t bitlex_py_useful_threads(const Machine *self, const Text *t, Py_ssize_t threads, Py_ssize_t part_blocks);

/* Of a text that is not empty, by several threads, in parts of about part_blocks blocks and more: the number of its pieces; or its
 * offsets, NULL without an exception if there is no memory to do it so. */
int bitlex_py_share_count(const Reading *r, uint64_t threads, uint64_t part_blocks, uint64_t *pieces);
Offsets *bitlex_py_share_offsets(const Reading *r, PyTypeObject *type, Form form, uint64_t threads, uint64_t part_blocks);

/* --- lists --- */

/* Before Python 3.12, making lists has garbage looked for again and again, in all of their items, which takes longer than making them: not
 * meanwhile. Later ones look for it when the call is over. Both with the GIL. */
#if PY_VERSION_HEX < 0x030C0000
static inline int bitlex_py_stop_collecting(void) { return PyGC_Disable(); }

static inline void bitlex_py_go_on_collecting(int collected)
{
    if (collected) PyGC_Enable();
}
#else
static inline int bitlex_py_stop_collecting(void) { return 0; }
static inline void bitlex_py_go_on_collecting(int collected) { (void)collected; }
#endif

/* --- _batches.c --- */

/* A list of counts or of lists of pieces; or (a buffer of the offsets of all texts, the list of their numbers, is_wide). */
PyObject *bitlex_py_batch(Machine *self, PyObject *texts, Py_ssize_t threads, Wanted wanted);

/* Say which text of a batch the exception is about. */
void bitlex_py_name_index(const char *batch, Py_ssize_t i);

/* --- _pieces.c --- */

PyObject *bitlex_py_list_of_pieces(const Text *t, Form form, const void *offsets, Py_ssize_t n);

typedef struct Remembered Remembered;

/* Of a text that comes in parts: what is held of it, from place `base` on, and pieces that were there before. Zeros at first. */
typedef struct {
    uint8_t *held;
    size_t length, width, room; /* units, their bytes, and bytes there are */
    uint64_t base;
    size_t given;      /* pieces, so far */
    Remembered *known; /* 2^bits of them, or NULL */
    int bits;
    size_t looked, missed, rest; /* of late: pieces, how many it had not, and for how many more it is not there since those were most */
} Held;

/* The list of the n pieces that are settled by a part, by their offsets in the whole text, which are overwritten: NULL with an exception set.
 * From the end of the last on, the text is held. */
PyObject *bitlex_py_pieces_of_part(Held *p, const Text *t, uint64_t *offsets, size_t n, int pairs);
int bitlex_py_copy_held(Held *to, const Held *from); /* -1, without an exception, if there is no memory */
void bitlex_py_forget_held(Held *p);

/* --- _nfc.c --- */

/* Whether NFC changes nothing in a text; 0 also if that is in doubt, or where this is no text. Sets no exception. */
int bitlex_py_in_nfc(PyObject *text);
PyObject *bitlex_py_is_in_nfc(PyObject *module, PyObject *text);
PyObject *bitlex_py_first_in_doubt(PyObject *module, PyObject *const *arguments, Py_ssize_t count);
PyObject *bitlex_py_doubtful(PyObject *module, PyObject *text);

/* Where the last character of UTF-8, but the first one, begins before which a text can be cut, and each side be normalized by itself; what
 * follows may complete its last character. BITLEX_NO_BORDER: there is none. Of *bare bytes at the beginning that is known, and then of how many. */
#define BITLEX_NO_BORDER SIZE_MAX
size_t bitlex_py_last_border(const uint8_t *bytes, size_t length, size_t *bare);
/* Whether NFC may change anything in UTF-8; any thread may ask that. */
int bitlex_py_may_change(const uint8_t *bytes, size_t length);

/* --- _arrow.c --- */

PyObject *bitlex_py_arrow_texts(PyObject *module, PyObject *given);

/* --- _native.c --- */

extern struct PyModuleDef bitlex_py_module;

/* The numpy array over a buffer: of offsets, int64 if they are wide, or of ids, uint32; or over a copy of so many bytes. */
typedef enum { NARROW, WIDE_OFFSETS, IDS, NARROW_PAIRS, WIDE_PAIRS } Numbers; /* pairs: in rows of two */
PyObject *bitlex_py_numpy(PyObject *module, PyObject *buffer, Numbers numbers);
PyObject *bitlex_py_numpy_copy(PyObject *module, const void *from, size_t size, Numbers numbers);

/* --- _iterator.c --- */

extern PyType_Spec bitlex_py_iterator_spec;
PyObject *bitlex_py_iterate(PyTypeObject *type, Machine *machine, PyObject *text);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#endif
