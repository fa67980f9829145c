/* bitlex_lanes.h - private: what bitlex.c and bitlex_lanes.c have in common. The idea is explained in bitlex_lanes.c. */
#ifndef BITLEX_LANES_H
#define BITLEX_LANES_H

#include "bitlex_stream.h"

#include <string.h>

/* Blocks shorter than this are faster one by one. bitlex_lanes.c has arrays for so many: compiled apart (BITLEX_ROOM), others may have less. */
#ifndef BITLEX_LANES_FROM
#define BITLEX_LANES_FROM 384
#endif
/* And texts shorter than this, rather than a lane for each character. */
#ifndef BITLEX_WHOLE_FROM
#define BITLEX_WHOLE_FROM 16
#endif
#define BITLEX_LANES 64      /* parts of a block that are run side by side */
#define BITLEX_STEPS (((BITLEX_ROOM + BITLEX_LANES - 1) / BITLEX_LANES + 15) / 16 * 16 + 16) /* code units of a part, at most */
#define BITLEX_LANE_UNITS (BITLEX_LANES * BITLEX_STEPS)
#define BITLEX_FEW 8         /* bytes of 64 that are not ASCII, of which characters are decoded one by one, at most */
#define BITLEX_WAITING 1024  /* code points that wait to be looked up, before there are 64 more */
#define BITLEX_PAGE 128      /* entries of a table that are looked up at once */
#define BITLEX_PAGES 32      /* of a table, at most; and as many as the loops for AVX2 and NEON are made for */
#define BITLEX_BACKWARD_PAGES 4
#define BITLEX_FORWARD_PAGES 8
#define BITLEX_TERMS 16      /* of a sum that stands for a table, at most */
#define BITLEX_SYMBOLS 64    /* columns, labels and cells, at most; and the identity is one of the first two */
#define BITLEX_SLOTS 64      /* chunks of 4,096 code points whose codes are in memory, at most */
#define BITLEX_AHEAD_STATES 64 /* of a machine that is run backward from each of them, to look ahead, at most */
#define BITLEX_LOOK_DEEPER 0xFF

#define BITLEX_UNKNOWN 0xFF /* is no row and no number */

/* Of a pass: two states that were not forgotten over a lane, and for how many blocks more these are guessed, and guesses start from the state of
 * the border; how often guesses of few steps were wrong lately, and for how many blocks more they are made of all. */
typedef struct {
    uint8_t states[2];
    uint32_t blocks, lasting, wrong, wary;
} bitlex_doubt;

/* The memory in which a block is worked off; rows of 64 are aligned. */
typedef struct bitlex_lane_memory {
    uint8_t codes[BITLEX_LANE_UNITS + 64]; /* of the column of each unit, in the order of the text; later, [step][lane], of labels */
    uint8_t turned[BITLEX_LANE_UNITS]; /* [step][lane]: codes of columns; later the forward state, with what is put out */
    uint8_t states[BITLEX_LANE_UNITS]; /* [step][lane]: the backward state behind, where a pass is run again */
    uint8_t fourth[BITLEX_LANE_UNITS]; /* bytes of characters, while UTF-8 is read */
    bitlex_recent recent;
    uint8_t entries[BITLEX_LANES], exits[BITLEX_LANES]; /* of the pass at hand */
    uint8_t others[BITLEX_LANES]; /* entries, then exits, of a second run beside it */
    uint8_t middle[BITLEX_LANES]; /* entries of its second half, guessed */
    uint32_t used, rest; /* lanes that have a part of the text, and what the last of them has */
    uint64_t chosen; /* lanes in which that run was right */
    bitlex_doubt doubts[2]; /* of the backward pass, and of the forward pass */
    uint32_t mixed; /* for how many blocks more it is not tried to read them as ASCII */
    uint32_t dense; /* for how many blocks more characters of one byte are not taken to be most: see bitlex_near.h */
    uint32_t ill_formed; /* for how many parts more UTF-8 is not taken for well-formed */
    uint32_t far; /* how often to look far ahead at once: see bitlex.c */
    uint32_t counting; /* for how many blocks more lanes have a multiple of 24 steps */
    uint32_t left; /* the backward state at the start of the block, unless that was done by a part */
    uint64_t starts[BITLEX_LANE_UNITS / 64 + 2], drops[BITLEX_LANE_UNITS / 64 + 2]; /* a bit for each unit */
    uint64_t places[BITLEX_LANE_UNITS / 64 + 2]; /* where characters start, if they were packed */
    uint8_t points[2 * (BITLEX_WAITING + 64 + 64)]; /* code points that are to be looked up: see bitlex_points.h */
    uint32_t words, started, dropped; /* their words in use, and how many bits these have */
    uint32_t vain; /* for how many blocks more lanes are not tried, after one that a part of the machine would not do */
} bitlex_lane_memory;

/* How a pass is run; the second time, states of the first may not have been kept. */
typedef enum { BITLEX_FIRST, BITLEX_GUESS, BITLEX_TWICE, BITLEX_CHOOSE, BITLEX_SECOND, BITLEX_AGAIN } bitlex_mode;

/* Entries of a table that are looked up at once, where that is 16 at a time: see bitlex_terms.h. */
typedef struct {
    uint8_t classes[4][16];      /* state -> what is added to a code */
    uint8_t next[16], label[16]; /* -> state (and flags), code of label */
    uint8_t from[16];            /* the code of the first entry, as a vector */
} bitlex_term;

/* A product of two such look-ups, and a sum of products: see bitlex_products.h. */
#define BITLEX_PRODUCTS 6
typedef struct {
    uint8_t of_state[2][16], of_symbol[2][16];
} bitlex_product;
typedef struct {
    uint8_t constant[2][16]; /* by symbol */
    bitlex_product products[BITLEX_PRODUCTS];
} bitlex_products;

/* Tables for two code points a step, without vector instructions, on every tier: see bitlex_pairs.h. */
#define BITLEX_BACKWARD_PAIRS 12288
#define BITLEX_FORWARD_PAIRS 24576
#define BITLEX_SECOND_BYTES 10240
#define BITLEX_THIRD_BYTES 24576
typedef struct {
    uint32_t row; /* entries of states that a row of 256 has room for; 0: there are no such tables */
    uint16_t backward_next[BITLEX_BACKWARD_PAIRS], backward_labels[BITLEX_BACKWARD_PAIRS];
    uint8_t forward_next[BITLEX_FORWARD_PAIRS], starts[BITLEX_FORWARD_PAIRS];
    uint8_t length[256];                /* of characters, by their lead */
    const uint16_t *first[256]; /* by the lead, into the next: for the byte behind */
    uint16_t second[BITLEX_SECOND_BYTES + 256];
    uint8_t third[BITLEX_THIRD_BYTES + 256];
    uint16_t places[256][8]; /* where the bits of a byte are, and how many */
    uint8_t count[256];
} bitlex_pairs;

/* Where the entries of a symbol are: see bitlex_lanes.c. */
typedef struct {
    uint8_t offset[64]; /* by the low bits of a code, where codes are not offsets themselves: 64, or four times the same 16 */
    uint8_t place[64], classes[4][BITLEX_PAGE]; /* of more pages than eight: see bitlex_classes.h */
} bitlex_places;

/* An automaton that reads forward, for 64 characters at once: see bitlex_short.h. Its symbols are units below U+0100, or codes as lanes
 * have them. */
typedef enum { BITLEX_LOW, BITLEX_CODES, BITLEX_KINDS } bitlex_kind;
typedef struct {
    uint8_t next[BITLEX_PAGES][BITLEX_PAGE]; /* [page of column][offset of column + state] -> state, and bit 7: a piece starts here */
    uint8_t does[BITLEX_PAGES][BITLEX_PAGE]; /* -> what is done to open places, as bits */
    uint8_t column[BITLEX_KINDS][256];       /* by symbol */
    uint8_t offset[BITLEX_SYMBOLS], page[BITLEX_SYMBOLS], guess[BITLEX_SYMBOLS], lasts[BITLEX_SYMBOLS]; /* by column */
    uint32_t pages;                          /* in use */
} bitlex_walk;

/* What a run of a column does: from its third on always the same; from its fourth on the same as three before. */
#define BITLEX_LASTS 1u
#define BITLEX_COUNTS 2u

/* Characters that leave the backward state as it is: see bitlex_still.h. */
#define BITLEX_STILL 8 /* at most */
typedef struct {
    uint8_t bytes[BITLEX_STILL][4], mask[BITLEX_STILL][4], size[BITLEX_STILL]; /* mask: FF for each byte that there is */
    uint32_t count;
} bitlex_still;

/* What is done to open places. The order in which it is done is this one. */
#define BITLEX_LEAVES 0x04u         /* nobody knows: the state is not in the table */
#define BITLEX_FIRST_STARTS 0x08u   /* a piece starts at the first place that is open, and at the second */
#define BITLEX_SECOND_STARTS 0x10u
#define BITLEX_FIRST_IS_SECOND 0x20u /* the second is the first now */
#define BITLEX_FIRST_IS_HERE 0x40u
#define BITLEX_SECOND_IS_HERE 0x80u

/* What it is run with. The stream's `length`, `open`, `configuration` and tail are where it stands in a text. */
typedef struct {
    const bitlex_lanes *lanes;
    const bitlex_walk *walk;
    bitlex_recent *recent; /* NULL: units that are not below U+0100 are not read */
    bitlex_stream *stream;
    uint64_t *out, *limit; /* where offsets are stored, and where there is no more room; or */
    uint32_t *ends, *last; /* the same of narrow ones, counted from `origin`, unless it is NULL */
    uint64_t origin;
    uint32_t kept, left;   /* bytes of the first character that came before `length`; whether something is not read by vectors */
} bitlex_walker;

/* Units of a short text: bytes of UTF-8, or code points below U+0100; or the columns of characters. */
typedef enum { BITLEX_BYTES, BITLEX_POINTS, BITLEX_COLUMNS } bitlex_units;
#define BITLEX_NOT_DONE UINT32_MAX

/* The part of a machine that texts are mostly in, where the whole has too many states for lanes: see bitlex_part.h. */
typedef struct {
    const bitlex_machine *whole;
    bitlex_machine machine; /* the part, with more states behind these: for all others */
    bitlex_stage stage;
    uint32_t backward_states, forward_states, labels;
    uint16_t backward[BITLEX_SYMBOLS], forward[BITLEX_SYMBOLS], label[BITLEX_SYMBOLS]; /* numbers of those of the whole */
    uint16_t label_of_code[256]; /* label of the whole, or UINT16_MAX */
    uint8_t identity;            /* the code of what is no label */
    uint16_t backward_next[BITLEX_SYMBOLS * BITLEX_SYMBOLS], backward_label[BITLEX_SYMBOLS * BITLEX_SYMBOLS];
    uint16_t forward_next[BITLEX_SYMBOLS * BITLEX_SYMBOLS];
    uint8_t output[BITLEX_SYMBOLS * BITLEX_SYMBOLS];
} bitlex_part;

struct bitlex_lanes {
    bitlex_term backward_terms[BITLEX_TERMS], forward_terms[BITLEX_TERMS]; /* instead of the pages, for some processors */
    bitlex_products backward_products, label_products, forward_products;         /* or these */
    uint8_t flags[2][16]; /* bits 4 to 7 of a forward state -> bit 7: a piece starts here, the unit belongs to none */
    uint8_t backward_next[BITLEX_PAGES][BITLEX_PAGE];  /* [page of column][offset of column + state] -> state */
    uint8_t backward_label[BITLEX_PAGES][BITLEX_PAGE]; /* -> code of label */
    uint8_t forward_next[BITLEX_PAGES][BITLEX_PAGE];    /* [page of label][offset of label + state] -> state and flags */
    bitlex_places columns, labels;
    uint8_t direct[256];                     /* U+0000..U+00FF -> code of column; at a multiple of 64, as are tables up to `chunk` */
    uint8_t two_bytes[16][BITLEX_PAGE], two_bytes_place[64]; /* U+0000..U+07FF, for AVX-512: see bitlex_avx512.h */
    uint32_t two_bytes_rows; /* of 64 code points, that differ */
    uint8_t cell_code[BITLEX_SYMBOLS];       /* cell -> code of column */
    uint8_t inside[64];                      /* low six bits of a byte inside a code point -> code of column */
    uint8_t cell_row[BITLEX_SYMBOLS], inside_row[64]; /* the last two once more: these and those below are read by vectors only */
    uint8_t stretch[2][128]; /* 512 code points of the BMP, or of the plane behind it -> code of their one column, or LOOK_DEEPER */
    uint8_t chunk[256];      /* 4,096 code points -> code of their one column, or LOOK_DEEPER */
    uint8_t backward_number[BITLEX_SYMBOLS], forward_number[BITLEX_SYMBOLS]; /* of states of the machine, in these tables */
    uint8_t backward_state[BITLEX_SYMBOLS], forward_state[BITLEX_SYMBOLS];   /* the other way round */
    uint32_t backward_rows, forward_rows; /* of 16 entries, in use; or the size of sums (fill_terms, PRODUCTS) or classes (placement) */
    uint32_t packed; /* how direct and stretch are packed, if they are: see bitlex_avx2.h */
    uint8_t last_plane; /* the code of the column of U+100000 and all behind, or LOOK_DEEPER */
    uint8_t replacement; /* and that of U+FFFD */
    uint8_t forward_bits; /* of a forward state, without flags */
    uint8_t usual[2]; /* states to which most columns lead, and most labels: a guess is made from these */
    uint32_t identity; /* the code of the column of what is no code point */
    const bitlex_machine *machine;
    uint8_t column_code[64], usual_left[256], usual_right[256]; /* column -> code; code -> where the symbol mostly leads to: bitlex_whole.h */
    uint8_t slot[256]; /* 4,096 code points that are not of one column -> place in the table of them: see bitlex_avx512.h */
    /* Read a block; run the backward automaton over it from each of the states, which are replaced by those on its left. */
    void (*peek)(const bitlex_lanes *lanes, bitlex_lane_memory *memory, const uint8_t *text, const uint8_t *end, uint32_t encoding,
                 uint32_t units, uint8_t *states, uint32_t count);
    /* Run both automata over a block: 1, or 0 where a part of a machine will not do. */
    int (*block)(const bitlex_lanes *lanes, bitlex_lane_memory *memory, const uint8_t *text, const uint8_t *end, uint32_t encoding,
                  uint32_t units, uint32_t backward, uint32_t *forward);
    /* How many bytes from `text` on are whole characters that were met, before `to`, or a few less; units of `width` bytes, of a text that ends
     * at `end`. */
    size_t (*still)(const bitlex_still *still, const uint8_t *text, const uint8_t *to, const uint8_t *end, size_t width);
    /* Store where the bits of words *word..last-1 are, while there is room for 64 and more; *word is the first word left. */
    size_t (*ends32)(const uint64_t *words, uint32_t *word, uint32_t last, uint64_t base, uint32_t *out, size_t room);
    size_t (*ends64)(const uint64_t *words, uint32_t *word, uint32_t last, uint64_t base, uint64_t *out, size_t room);
    /* NULL; or run an automaton over some units of a text. How many were read comes back: all, but where it would leave the table, and where
     * there is no `recent`. */
    size_t (*walk)(bitlex_walker *w, const uint8_t *text, size_t length, bitlex_encoding encoding);
    /* NULL; or all of a text of less than BITLEX_LANES_FROM units, one at least: stores the numbers of characters at which a piece starts, and
     * of bytes, where the characters are. How many start, or BITLEX_NOT_DONE, and then *forward is as it was. For a machine that drops
     * nothing. */
    uint32_t (*whole)(bitlex_cursor *c, const uint8_t *units, bitlex_units kind, uint32_t count, uint32_t backward, uint32_t *forward);
    uint8_t slots[BITLEX_SLOTS][4096]; /* -> codes; those of which there is no chunk are never touched */
    uint8_t word_places[256][16], points[0x10000 + 0x3080]; /* see bitlex_points.h; touched for AVX2 only */
    bitlex_pairs pairs;
    bitlex_part *part; /* NULL: lanes run all of the machine */
    const uint16_t *resets; /* NULL; or, where states are too many to look ahead from each, column -> the one it leads to, or UINT16_MAX */
    uint16_t reset_memory[256];
    bitlex_part part_memory; /* touched where there is one */
};

/* The place of the lowest bit of a word that has one. */
static inline uint32_t first_bit(uint64_t word)
{
#ifdef __GNUC__
    return (uint32_t)__builtin_ctzll(word);
#else
    uint32_t place = 0;
    for (; (word & 1) == 0; word >>= 1) place++;
    return place;
#endif
}

/* Whether a machine runs on vector instructions, rather than on tables alone. */
static inline int has_vectors(const bitlex_machine *m) { return m->lanes != NULL && m->lanes->block != NULL; }

static inline void bitlex_forget(bitlex_recent *recent)
{
    memset(recent, BITLEX_UNKNOWN, sizeof *recent);
    recent->oldest = recent->numbers = recent->finished = recent->jumps = recent->deep = 0;
}

static inline void bitlex_begin_memory(bitlex_lane_memory *memory)
{
    bitlex_forget(&memory->recent);
    memset(memory->doubts, 0, sizeof memory->doubts);
    memory->mixed = memory->dense = memory->ill_formed = memory->counting = memory->far = memory->vain = 0;
}

/* What a cursor is to have of scratch memory. */
static inline bitlex_lane_memory *bitlex_memory_in(void *scratch)
{
    bitlex_lane_memory *memory = (bitlex_lane_memory *)(void *)(((uintptr_t)scratch + 63) & ~(uintptr_t)63);
    bitlex_begin_memory(memory);
    return memory;
}

/* Decode the unit at p < end: its code point, or U+FFFD for a maximal ill-formed subsequence. Stores the length. */
uint32_t bitlex_decode(const uint8_t *p, const uint8_t *end, uint32_t *length);

/* How many bytes at the end are the beginning of a character: those with which a part of a text waits for the next. */
uint32_t bitlex_unfinished(const uint8_t *text, size_t length);

/* Make the tables for two code points a step: 0 if the machine has none, or too large ones. */
int bitlex_fill_pairs(bitlex_pairs *pairs, const bitlex_machine *m);

/* For bitlex_stream.c: whether all bytes are ASCII; the column of one is then c->direct[byte], as it is of any byte of Latin-1. */
int bitlex_is_ascii(const uint8_t *p, size_t length);

/* For it, too: the columns of the characters that start in the first `most` units of a part of a text, BITLEX_BLOCK at most, with
 * a cursor that was begun with a machine of one stage. How many there are comes back, and *units that they have; they are in c->columns, and
 * unless c->plain in c->units where they start. */
uint32_t bitlex_load_part(bitlex_cursor *c, const void *text, uint64_t length, bitlex_encoding encoding, uint64_t most, uint64_t *units);

/* And for it: point a cursor, which was begun with a machine of one stage and not used since with other scratch memory, at part of a
 * text: a unit or more, entered in a forward state and followed by nobody knows what. How many of them nothing that follows can change
 * comes back: `told`, if the caller knows how many these are and the backward `state` behind them, or 0, to have it found out from the last
 * `most` units, BITLEX_BLOCK at most. bitlex_next and bitlex_next_pairs then give the starts of pieces among these, counted from `origin`
 * on, and none at their end; the first unit may be one, but at 0. When they are through, c->forward is the state behind. */
uint64_t bitlex_begin_open(bitlex_cursor *c, const void *text, uint64_t length, bitlex_encoding encoding, void *scratch, uint32_t forward,
                           uint64_t origin, uint64_t most, uint64_t told, uint32_t state);

#endif
