/* parts.c - the lexers in C over a text as a whole, and over the same text in parts, as who writes C would call them.
 *
 *     parts *p = parts_open(&bitlex_cl100k);                            // NULL if there is no memory, or the machine has no streams
 *     n = parts_read(p, text, length, 0, out, room);                    // the whole: its ends, or pairs of a machine that drops
 *     n = parts_read(p, text, length, 64, out, room);                   // the same in parts of 64 bytes
 *
 * What is made beforehand, and what is not: cursor, scratch memory, the table of streams and the buffer are; a stream is begun for each
 * text. There are several scratch memories, and each reading takes the next one: where it lies, which nobody can choose, makes a difference
 * of up to 40 % (docs/lanes.md), and the median of several rounds is then of several places.
 * `room` is of so many ends or pairs; length + BITLEX_STREAM_ROOM is always enough.
 */
#include "bitlex_stream.h"

#include <stdlib.h>

#define PLACES 7 /* a prime, so that each of some sizes of parts that take turns has all of them */

typedef struct {
    bitlex_machine machine;
    bitlex_cursor cursor;
    void *lanes, *scratch, *memory, *places[PLACES]; /* scratch: that of this reading */
    unsigned turn;
    const bitlex_stream_table *table;
} parts;

void parts_close(parts *p)
{
    int i;
    for (i = 0; i < PLACES; i++) free(p->places[i]);
    free(p->lanes);
    free(p->memory);
    free(p);
}

parts *parts_open(const bitlex_machine *emitted)
{
    parts *p = calloc(1, sizeof *p);
    bitlex_stream stream;
    int i;
    if (p == NULL) return NULL;
    p->machine = *emitted;
    p->lanes = malloc(bitlex_lanes_size());
    if (p->lanes != NULL) bitlex_accelerate(&p->machine, p->lanes, BITLEX_AVX512);
    for (i = 0; i < PLACES; i++) p->places[i] = malloc((size_t)bitlex_scratch_size(&p->machine, BITLEX_BLOCK) + 1);
    for (i = 0; i < PLACES && p->places[i] != NULL; i++) {}
    p->memory = malloc(bitlex_stream_table_size());
    if (p->lanes == NULL || i < PLACES || p->memory == NULL || bitlex_stream_begin(&stream, &p->machine, NULL, 0) < 0) {
        parts_close(p);
        return NULL;
    }
    p->table = bitlex_stream_tabulate(p->memory, &p->machine);
    return p;
}

static size_t read_whole(parts *p, const char *text, size_t length, uint64_t *out, size_t room)
{
    const int drops = p->machine.drops != 0;
    size_t n = 0, more;
    bitlex_begin(&p->cursor, &p->machine, text, length, BITLEX_UTF8, p->scratch);
    do {
        more = drops ? bitlex_next_pairs(&p->cursor, out + 2 * n, room - n) : bitlex_next(&p->cursor, out + n, room - n);
        n += more;
    } while (more > 0);
    return n;
}

static size_t read_parts(parts *p, const char *text, size_t length, size_t size, uint64_t *out, size_t room)
{
    const size_t each = p->machine.drops ? 2 : 1;
    size_t n = 0, at = 0, end, used = 1;
    bitlex_stream stream;
    bitlex_begin(&p->cursor, &p->machine, "", 0, BITLEX_UTF8, p->scratch);
    bitlex_stream_begin(&stream, &p->machine, NULL, 0);
    bitlex_stream_use_table(&stream, p->table);
    while (at < length && used > 0) {
        for (end = length - at < size ? length : at + size; at < end && used > 0; at += used) {
            n += bitlex_stream_feed(&stream, &p->cursor, p->scratch, text + at, end - at, BITLEX_UTF8, &used, out + n * each, room - n);
        }
    }
    return n + bitlex_stream_finish(&stream, out + n * each);
}

size_t parts_read(parts *p, const char *text, size_t length, size_t size, uint64_t *out, size_t room)
{
    p->scratch = p->places[p->turn++ % PLACES];
    return size == 0 ? read_whole(p, text, length, out, room) : read_parts(p, text, length, size, out, room);
}

uint32_t parts_drops(const parts *p) { return p->machine.drops; }
