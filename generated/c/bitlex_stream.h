/* bitlex_stream.h - run a bitlex machine over a text that comes in parts, however it is cut. Plain C99 (and C++).
 *
 * In: parts of a text. Out: the offsets of its pieces, each as soon as nothing that follows can change it.
 *
 *     static bitlex_cursor cursor;                              // working memory, of one thread at a time, not of the stream
 *     bitlex_stream stream;                                     // all there is to know of the text so far: at most 256 bytes
 *     uint64_t ends[4096 + BITLEX_STREAM_ROOM]; size_t used, n;
 *     bitlex_begin(&cursor, &machine, "", 0, BITLEX_UTF8, NULL);
 *     bitlex_stream_begin(&stream, &machine, NULL, 0);
 *     while ((length = read(0, part, 4096)) > 0)                // at most as many units as there is room for ends
 *         n = bitlex_stream_feed(&stream, &cursor, NULL, part, length, BITLEX_UTF8, &used, ends, 4096 + BITLEX_STREAM_ROOM);
 *     n = bitlex_stream_finish(&stream, ends);
 *
 * What is promised:
 *   - the offsets are those of the whole text, whatever the parts, also where they cut a character in two;
 *   - the stream holds no text: the state of the automaton that reads forward, three bytes at most of a character that is not complete, and
 *     the places at which a piece may or may not start. Those are
 *     two at most for most families, whatever the text (docs/streams.md): a gigabyte of spaces is one of them, or two;
 *   - nothing is allocated, and a stream may be copied like any struct (with the memory for more places, if it uses any).
 *
 * Rejected: to hold the text that is undecided and to lex it again (a gigabyte of spaces, and quadratic in small parts).
 */
#ifndef BITLEX_STREAM_H
#define BITLEX_STREAM_H

#include "bitlex.h"

#ifdef __cplusplus
extern "C" {
#endif

#define BITLEX_STREAM_OPEN 7  /* places that a stream holds itself */
#define BITLEX_STREAM_SETS 16 /* different sets of backward states of places held, that it holds itself */
#define BITLEX_STREAM_MORE_SETS 112 /* and in the caller's memory: what counts to n needs n */
#define BITLEX_STREAM_SHIFT 8 /* bits of a place behind which its offset is */
#define BITLEX_STREAM_ROOM (BITLEX_STREAM_OPEN + 8)

typedef struct bitlex_stream_table bitlex_stream_table; /* steps of a machine's streams: see bitlex_stream_tabulate */

typedef struct {
    const bitlex_machine *machine;
    const bitlex_stream_table *table;
    uint64_t *more;     /* the caller's memory for further sets, and behind these places */
    uint64_t length;    /* units that were read */
    uint64_t start;     /* of the piece at hand */
    uint64_t dropping;  /* the backward states with which no piece is at hand now */
    uint32_t forward, count, room;
    uint8_t opened, full, tail_length, set_count, tail[4];
    uint16_t configuration; /* which of the table this is: then sets are those that the table has */
    uint64_t open[BITLEX_STREAM_OPEN]; /* places that are not settled: offset << SHIFT | number of the set << 1 | whether it is of dropped text */
    uint64_t sets[BITLEX_STREAM_SETS]; /* the backward states behind what was read with which a piece starts at such a place */
} bitlex_stream;

/* Place number i < count that is not settled. */
static inline uint64_t bitlex_stream_place(const bitlex_stream *s, uint32_t i)
{
    const uint64_t place = i < BITLEX_STREAM_OPEN ? s->open[i] : s->more[BITLEX_STREAM_MORE_SETS + (i - BITLEX_STREAM_OPEN)];
    return place >> BITLEX_STREAM_SHIFT;
}

/* Begin a text: 0; or -1 if the machine cannot be run so: it has several stages, or more than 64 backward states. `more`: memory for
 * BITLEX_STREAM_MORE_SETS words and `room` further places, for machines that need them; or NULL and 0. */
int bitlex_stream_begin(bitlex_stream *s, const bitlex_machine *machine, uint64_t *more, size_t room);

/* Tabulate what a character does to a stream of this machine, in memory of bitlex_stream_table_size() bytes that is aligned as malloc's, and
 * lives as long as streams with the table do; a table never changes. NULL where there is none: the machine drops text, cannot be run so, or
 * has more than 64 columns. Takes some ten microseconds. A stream that is given the table reads short parts, and what is undecided at
 * the ends of long ones, several times as fast; with NULL it has its sets again. */
size_t bitlex_stream_table_size(void);
const bitlex_stream_table *bitlex_stream_tabulate(void *memory, const bitlex_machine *machine);
void bitlex_stream_use_table(bitlex_stream *s, const bitlex_stream_table *table);

/* Read on. Stored are the ends of pieces that nothing can change any more, or the start and the end of each, of a machine that drops:
 * their number comes back. `room`: of how many; fewer units are read at a time than that, *used of them, and the rest is to be fed
 * again. *used is 0 where s->full says that there is no memory for one more place, or where room is BITLEX_STREAM_ROOM and what was given
 * further places, or less. s->full may also say that there are more different sets than there is room for: with
 * memory for places, that no memory helps. The cursor was begun with the machine, and is begun again when it has served a whole text;
 * scratch: NULL, or what bitlex_scratch_size says for BITLEX_BLOCK units, the same until then: what the cursor remembers lies in it. */
size_t bitlex_stream_feed(bitlex_stream *s, bitlex_cursor *cursor, void *scratch, const void *text, size_t length,
                          bitlex_encoding encoding, size_t *used, uint64_t *out, size_t room);

/* The same of a machine that drops nothing, with ends of 32 bits, counted from `origin` in the text, modulo 2**32: for who holds the text from
 * somewhere on. `memory`: room for as many of 64 bits, to work in. */
size_t bitlex_stream_feed32(bitlex_stream *s, bitlex_cursor *cursor, void *scratch, const void *text, size_t length,
                            bitlex_encoding encoding, size_t *used, uint64_t origin, uint32_t *ends, uint64_t *memory, size_t room);

/* What is left: at most as many as there are places held, and five. The stream must then begin again. */
size_t bitlex_stream_finish(bitlex_stream *s, uint64_t *out);

#ifdef __cplusplus
}
#endif
#endif
