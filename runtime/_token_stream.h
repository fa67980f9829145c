/* _token_stream.h - what _token_stream.c, the type, and _token_reading.c, which reads for it, share. */
#ifndef BITLEX_TOKEN_STREAM_H
#define BITLEX_TOKEN_STREAM_H

#include "_places.h"
#include "_streams.h"
#include "_tokens.h"

#define AT_ONCE BITLEX_BLOCK /* bytes of a part that are worked on at a time */
#define SLACK 16             /* bytes behind the text that is held, which may be read: so much of a piece is looked at at once */

/* INTO: their number, and they are in an array of the caller's. PLACED: and their places in bytes, one after the other; ROWS: in characters of str,
 * in rows of two. */
typedef enum { LISTS, ARRAYS, PLACED, INTO, ROWS, FORMS } Result;

typedef struct {
    PyObject_HEAD
    Encoder *encoder;
    PyObject *allowed, *disallowed; /* Specials or None */
    PyObject *normalize;            /* what puts a text that is not in NFC in it, or None where a text is read as it is */
    Py_ssize_t hold;
    Result result;
    Destination into;               /* where ids are put, or nothing */
    Waiting waiting;                /* ids that it had no room for */
    int encoded, broken;            /* what it was fed: 0 nothing, 1 bytes, 2 str; and whether it must be reset */
    Py_UCS4 high;                   /* a surrogate of which the next part of str may have the other half, or 0 */
    bitlex_stream lexer;
    uint8_t *text;                  /* what is held: from `base` on */
    size_t length, room;            /* and there is SLACK behind the room */
    uint64_t base, section, piece;  /* where in the whole text: what is held; what the lexer reads; what of a piece is not handed out */
    uint64_t checked;               /* up to where there is no disallowed token */
    uint64_t grown;                 /* by how many bytes NFC made the text longer; below zero, it comes out right */
    uint64_t searched;              /* where it is normalized: up to where no allowed token begins */
    size_t bare, normalize_at;      /* bytes without a border, and of how many of them Python is asked next */
    size_t try_from, try_at;        /* bytes of a piece at which to look for final ids, of any and of this one */
    uint64_t characters;            /* of a str with places: how many start before what is held, */
    uint32_t weight;                /* and what the last of them is, if it goes on there: see Stretch */
    uint64_t *pairs;
    size_t pair_count, pair_room;
    int begun;                      /* whether the beginning of the piece at hand was handed out */
    int used;                       /* by a thread */
} TokenStream;

/* The memory of one call. */
typedef struct {
    TokenStream *stream;
    Working *work;
    Ids *ids, own;           /* those of `work`, or its own if they have places */
    size_t counted;          /* of how many ids places are in characters */
    PyThreadState *released; /* while the GIL is */
} Call;

#if defined(__GNUC__)
#pragma GCC visibility push(hidden)
#endif

/* For _token_reading.c, of what is held from `from` on up to *limit: put in NFC what can be cut off, all of it if it `ends` there; *limit
 * becomes the end of that. By how much longer the text is then, in *grown; -1 with an exception set. */
int bitlex_py_normalize_held(Call *c, size_t from, size_t *limit, int ends, uint64_t *grown);

/* The GIL is taken, if it was released. */
void bitlex_py_take_gil(Call *c);

/* Room for so many bytes that are held: -1 with an exception set. */
int bitlex_py_make_room(Call *c, size_t length);

/* The text of the lexer begins there: -1 with an exception set where the machine has no stream. */
int bitlex_py_begin_section(TokenStream *self, uint64_t at);

/* Read a part, and what is held up to the end of the text: -1 with an exception set. The GIL is released for a long part. */
int bitlex_py_read_part(Call *c, const uint8_t *bytes, uint64_t length);
int bitlex_py_read_end(Call *c);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#endif
