/* bitlex.h - run a bitlex machine over a text. Plain C99 (and C++), no other header or library needed.
 *
 * In: a machine (constant tables, written by the generator) and a text. Out: the offsets of its pieces.
 *
 *     static bitlex_cursor cursor;                            // about 61 KB: static, heap or a roomy stack
 *     uint64_t ends[512]; size_t n, i; uint64_t start = 0;
 *     bitlex_begin(&cursor, &machine, text, length, BITLEX_UTF8, NULL);
 *     while ((n = bitlex_next(&cursor, ends, 512)) != 0)
 *         for (i = 0; i < n; i++) { use(text + start, ends[i] - start); start = ends[i]; }
 *
 * What is promised:
 *   - time linear in the text, for every machine and every text; a text of one gigabyte of spaces is no exception;
 *   - nothing is allocated, nothing is global, nothing recurses, nothing is ever read outside text, machine and cursor;
 *     so nothing can fail and any number of threads may share one machine (each with a cursor of its own);
 *   - every sequence of bytes is a text: each maximal ill-formed subsequence of UTF-8 counts as one U+FFFD;
 *   - texts longer than 4 GiB work.
 *
 * Offsets are in units of the input: bytes for BITLEX_UTF8, array elements for the other three.
 */
#ifndef BITLEX_H
#define BITLEX_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Changes whenever a struct below or the meaning of a table changes. Tables carry the number they were written for. */
#define BITLEX_ABI 6

/* Units lexed at a time. A multiple of 48 keeps the parallel chains of a full block equally long (see bitlex.c), one of 64 * 48
 * the lanes, too (see bitlex_lanes.c). */
#ifndef BITLEX_BLOCK
#define BITLEX_BLOCK 6144
#endif
#if BITLEX_BLOCK < 8 || BITLEX_BLOCK > 32000
#error "BITLEX_BLOCK must be 8..32000: events of a block are stored in 16 bits"
#endif

/* Units of a block for which there is room. More than a block has are for tests: they lex small blocks, and have bitlex_lanes.c, which takes
 * long to compile, in common. Of other sizes it sees but BITLEX_LANES_FROM. */
#ifndef BITLEX_ROOM
#define BITLEX_ROOM BITLEX_BLOCK
#endif
#if BITLEX_ROOM < BITLEX_BLOCK
#error "BITLEX_ROOM must be BITLEX_BLOCK or more"
#endif

/* Checkpoints a level; three levels reach BITLEX_CHECKPOINTS^3 blocks (52 terabytes by default). */
#ifndef BITLEX_CHECKPOINTS
#define BITLEX_CHECKPOINTS 2048
#endif
#define BITLEX_LEVELS 3
#define BITLEX_ROWS 1024 /* of 64 code points, in the BMP */
#define BITLEX_NO_ROW UINT32_C(0x80000000)

/* The last three are the widths of CPython's str; a surrogate there is a code point like any other. */
typedef enum { BITLEX_UTF8 = 0, BITLEX_LATIN1 = 1, BITLEX_UCS2 = 2, BITLEX_UCS4 = 4 } bitlex_encoding;

/* How a machine is run. All give the same pieces. */
typedef enum { BITLEX_PORTABLE = 0, BITLEX_NEON = 1, BITLEX_AVX2 = 2, BITLEX_AVX512 = 3 } bitlex_tier;

typedef struct bitlex_lanes bitlex_lanes; /* tables for vector instructions: see bitlex_accelerate */

/* One bimachine. Row offsets are premultiplied: a state is the index of the first entry of its row. */
typedef struct {
    uint32_t column_count, label_count, backward_states, forward_states;
    const uint8_t *columns;         /* cell -> column; after the first stage, symbol -> column (6 * cells entries) */
    const uint16_t *backward_next;  /* [state + column] -> state, right to left */
    const uint16_t *backward_label; /* [state + column] -> label */
    const uint16_t *forward_next;   /* [state + label] -> state, left to right, from state 0 */
    const uint8_t *output;          /* [state + label] -> 0 the piece goes on, 1 a piece starts, 2 in no piece */
    uint32_t backward_end;          /* backward state at the end of the text */
} bitlex_stage;

typedef struct {
    uint32_t abi;          /* BITLEX_ABI */
    uint32_t cells;        /* 1..255 */
    uint32_t shift;        /* cell = stage2[(stage1[code point >> shift] << shift) + the low bits] */
    const uint16_t *stage1;
    const uint8_t *stage2;
    uint32_t stage_count;  /* 1, except for a sequence of splits */
    uint32_t drops;        /* 1 if some code points belong to no piece; 0: the pieces tile the text */
    const bitlex_stage *stages;
    const char *name;
    const uint8_t *continuation; /* NULL; or, for a lexer that may cut inside characters, 64 cells: of each byte 80..BF that is
                                    not the first of its code point. Such a machine reads BITLEX_UTF8 only. */
    const bitlex_lanes *lanes;   /* NULL; or what bitlex_accelerate made */
} bitlex_machine;

/* The rows of 64 code points that were met last, as codes. A text has few of them at a time. Private, as is what follows. */
#define BITLEX_RECENT 8 /* rows that are kept at hand, at most */
typedef struct {
    uint8_t codes[BITLEX_RECENT][64]; /* like the next two, loaded 64 at a time, so best at multiples of that */
    uint8_t place[256];               /* number -> which of the rows at hand, or 0x80 and more */
    uint8_t number[2][128];           /* 512 code points of the BMP, or of the plane behind it -> number of their first row, or UNKNOWN */
    uint8_t lowest[64];               /* of the first 4,096 code points: row -> as `place` */
    uint8_t three_codes[64], three[2]; /* a row of characters of three bytes, and their first two: see bitlex_near.h */
    uint8_t chunk[BITLEX_RECENT], row[BITLEX_RECENT]; /* which rows they are: bits 12..19 and 6..11, as they came */
    uint8_t only[BITLEX_RECENT]; /* the code that all of a row have, or LOOK_DEEPER */
    uint8_t held[BITLEX_RECENT]; /* or their numbers, of eight bits: rows are numbered as they are met */
    uint32_t oldest, numbers, finished; /* how many were met, how many are numbered, how often those at hand were all that was needed */
    uint32_t jumps; /* how many times 64 characters more no row is looked for */
    uint32_t deep;  /* how often short texts needed more turns, of late: see bitlex_short.h */
} bitlex_recent;

/* All of it is private; it is spelled out only so that you can allocate it. */
typedef struct {
    const bitlex_machine *machine;
    const bitlex_stage *stage;
    const uint8_t *cell_column; /* cell -> what decoding stores: its column, or itself after the first stage */
    const uint8_t *text;
    uint8_t *letters;           /* scratch: what the stage before put out, at the unit where each code point starts */
    uint64_t length, readable, blocks, block, next, stop, origin, base, open, looked, known_from, known_to, exact_from, region[BITLEX_LEVELS];
    uint64_t *starts, *drops, *kept; /* bits of the block at hand; of all blocks, by bitlex_keep */
    uint32_t encoding, stage_number, forward, stop_state, count, taken, plain, exact, opened, finished, goes_on, masked, word, words, known, rowed;
    struct bitlex_lane_memory *memory; /* scratch: for blocks run by vector instructions */
    uint8_t direct[256];        /* the same as cell_column, straight from an ASCII or Latin-1 unit */
    uint8_t identity[256];
    uint8_t columns[BITLEX_ROOM + 16];
    uint16_t labels[BITLEX_ROOM + 8];
    uint16_t units[BITLEX_ROOM + 16];
    uint16_t events[BITLEX_ROOM + 16];
    uint32_t rows[BITLEX_ROWS], leads[256]; /* where stage2 has what, by leading bits and bytes */
    bitlex_recent recent;       /* of texts too short for scratch memory */
    uint16_t checkpoints[BITLEX_LEVELS][BITLEX_CHECKPOINTS]; /* last: see BITLEX_ROOM */
} bitlex_cursor;

/* sizeof(bitlex_cursor) as the library was compiled, for callers that are not. */
size_t bitlex_cursor_size(void);

/* Let a machine (a copy of an emitted one, which is constant) run on vector instructions: the best that the processor has, `most`
 * at most; without them, on larger tables, if it is not too large for that. `memory`, of bitlex_lanes_size() bytes, must live as long
 * as the machine, which must not be copied or moved afterwards. What it will run on comes back: BITLEX_PORTABLE if neither processor
 * nor size of the machine admit more. Takes a tenth of a millisecond, with AVX2 up to two, and as much where a part of the machine is to be
 * taken. Whoever calls it, and nobody else, compiles bitlex_lanes.c, too. */
bitlex_tier bitlex_accelerate(bitlex_machine *machine, void *memory, bitlex_tier most);
size_t bitlex_lanes_size(void);

/* Bytes of scratch memory that bitlex_begin needs. 0 for a machine of one stage (nearly all) that does not run on vector instructions, or a
 * short text. */
uint64_t bitlex_scratch_size(const bitlex_machine *machine, uint64_t length);

/* Point the cursor at a text. Machine, text and scratch must stay alive and unchanged while the cursor is used. */
void bitlex_begin(bitlex_cursor *cursor, const bitlex_machine *machine, const void *text, uint64_t length,
                  bitlex_encoding encoding, void *scratch);

/* The same for one more text, with a cursor that is at any point of a text of the same machine: for many short texts. */
void bitlex_restart(bitlex_cursor *cursor, const void *text, uint64_t length, bitlex_encoding encoding, void *scratch);

/* The next ends of pieces, 1..room of them; 0 when there are no more. Piece i is [end of i-1 or 0, end of i).
 * Only for a machine that drops nothing (others yield 0 at once). The 32-bit form is for texts shorter than 2^32. */
size_t bitlex_next(bitlex_cursor *cursor, uint64_t *ends, size_t room);
size_t bitlex_next32(bitlex_cursor *cursor, uint32_t *ends, size_t room);

/* The next (start, end) pairs, 1..room of them, for any machine; 0 when there are no more. */
size_t bitlex_next_pairs(bitlex_cursor *cursor, uint64_t *pairs, size_t room);
size_t bitlex_next_pairs32(bitlex_cursor *cursor, uint32_t *pairs, size_t room);

/* Lex at most `units` units or so in search of the next offset: 1 if the next call of a function above will find one (or
 * the end) without a search, 0 if the search may go on. For callers who must not be away for long; nobody else needs it. */
int bitlex_ready(bitlex_cursor *cursor, uint64_t units);

/* Count the pieces of the next `units` units or so (whole blocks), adding to *pieces; 0 when the text is used up.
 * Do not mix with the functions above on one text. */
int bitlex_count_some(bitlex_cursor *cursor, uint64_t units, uint64_t *pieces);

/* The number of pieces of a text; the cursor serves as memory. */
uint64_t bitlex_count(bitlex_cursor *cursor, const bitlex_machine *machine, const void *text, uint64_t length,
                      bitlex_encoding encoding, void *scratch);

/* A place at which a text can be cut in two, to be lexed by two threads: the start of a block of BITLEX_BLOCK units, and what both
 * automata know there. */
typedef struct {
    uint64_t block;
    uint32_t backward, forward;
} bitlex_cut;

/* Find out whether the start of a block is such a place, from a few blocks of text around it: 1, or 0 where they do not tell (then
 * try another; in most texts any block will do, in a few, such as a gigabyte of digits, none, and never with a machine of several
 * stages). Takes microseconds, and never more than a few hundred blocks take to lex. For the text of the cursor, which must then
 * begin again before it yields anything. */
int bitlex_find_cut(bitlex_cursor *cursor, uint64_t block, bitlex_cut *cut);

/* Begin the text of the cursor again, for what is between two cuts of it; NULL is the start of the text, and its end. Any cursor
 * over the same text with the same machine will do, whichever found the cuts. The ends of all parts in turn are those of the
 * text, and so is the sum of their counts. Of pairs, the one that lies across a cut comes in two, ending and starting there; and
 * where the text at a cut belongs to no piece, the part behind it still starts with a pair, from there to the first offset
 * found, that is to be left out. So: the first pair of a part is joined to the last before it, if that ends at the cut, and left
 * out otherwise. (Both may be empty.) */
void bitlex_begin_part(bitlex_cursor *cursor, const bitlex_cut *from, const bitlex_cut *to);

/* The offsets of a part can be stored where they belong once the pieces of all parts before it are counted; and nothing need be
 * lexed for that again. For a machine of one stage: begin a part, call bitlex_keep and count, which keeps a bit or two for each unit
 * of the part. Later, with any cursor over the same text, begin the part again and call bitlex_recall: the functions above, but not
 * those that count, then yield its offsets from these bits, once. `kept` is memory of bitlex_kept_size bytes for the whole text;
 * parts use places of their own in it, at the same time if need be. */
uint64_t bitlex_kept_size(const bitlex_machine *machine, uint64_t length);
void bitlex_keep(bitlex_cursor *cursor, uint64_t *kept);
void bitlex_recall(bitlex_cursor *cursor, uint64_t *kept);

#ifdef __cplusplus
}
#endif
#endif
