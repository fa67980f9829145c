/* bitlex_lanes.h - private: what bitlex.c and bitlex_lanes.c have in common. The idea is explained in bitlex_lanes.c. */
#ifndef BITLEX_LANES_H
#define BITLEX_LANES_H

#include "bitlex.h"

/* Blocks shorter than this are faster one by one. */
#ifndef BITLEX_LANES_FROM
#define BITLEX_LANES_FROM 384
#endif
#define BITLEX_LANES 64      /* parts of a block that are run side by side */
#define BITLEX_STEPS (((BITLEX_BLOCK + BITLEX_LANES - 1) / BITLEX_LANES + 15) / 16 * 16 + 16) /* code units of a part, at most */
#define BITLEX_LANE_UNITS (BITLEX_LANES * BITLEX_STEPS)
#define BITLEX_RECENT 4      /* rows of 64 code points that are kept at hand */
#define BITLEX_PAGE 128      /* entries of a table that are looked up at once */
#define BITLEX_BACKWARD_PAGES 4
#define BITLEX_FORWARD_PAGES 8
#define BITLEX_TERMS 16      /* of a sum that stands for a table, at most */
#define BITLEX_SYMBOLS 64    /* columns, labels and cells, at most; and the identity is one of the first two */
#define BITLEX_LOOK_DEEPER 0xFF

/* The memory in which a block is worked off; rows of 64 are aligned. */
typedef struct bitlex_lane_memory {
    uint8_t codes[BITLEX_LANE_UNITS + 64]; /* of the column of each unit, in the order of the text; later, [step][lane], of labels */
    uint8_t turned[BITLEX_LANE_UNITS]; /* [step][lane]: codes of columns */
    uint8_t states[BITLEX_LANE_UNITS]; /* [step][lane]: the backward state behind; later the forward state, with what is put out */
    uint8_t entries[BITLEX_LANES], exits[BITLEX_LANES]; /* of the pass at hand */
    uint64_t starts[BITLEX_LANE_UNITS / 64 + 2], drops[BITLEX_LANE_UNITS / 64 + 2]; /* a bit for each unit */
    uint32_t words, started, dropped; /* their words in use, and how many bits these have */
} bitlex_lane_memory;

typedef enum { BITLEX_FIRST, BITLEX_AGAIN, BITLEX_GUESS } bitlex_mode;

/* Entries of a table that are looked up at once, where that is 16 at a time: see bitlex_terms.h. */
typedef struct {
    uint8_t classes[4][16];      /* state -> what is added to a code */
    uint8_t next[16], label[16]; /* -> state (and flags), code of label */
    uint8_t from[16];            /* the code of the first entry, as a vector */
} bitlex_term;

struct bitlex_lanes {
    bitlex_term backward_terms[BITLEX_TERMS], forward_terms[BITLEX_TERMS]; /* instead of the pages, for some processors */
    uint8_t backward_next[BITLEX_BACKWARD_PAGES][BITLEX_PAGE];  /* [page of column][offset of column + state] -> state */
    uint8_t backward_label[BITLEX_BACKWARD_PAGES][BITLEX_PAGE]; /* -> code of label */
    uint8_t forward_next[BITLEX_FORWARD_PAGES][BITLEX_PAGE];    /* [page of label][offset of label + state] -> state and flags */
    uint8_t column_offset[16], label_offset[16]; /* by the low four bits of a code, where codes are not offsets themselves */
    uint8_t direct[256];                     /* U+0000..U+00FF -> code of column */
    uint8_t cell_code[BITLEX_SYMBOLS];       /* cell -> code of column */
    uint8_t inside[64];                      /* low six bits of a byte inside a code point -> code of column */
    uint8_t cell_row[BITLEX_SYMBOLS], inside_row[64]; /* the last two once more: these and those below are read by vectors only */
    uint8_t stretch[128];                    /* 512 code points of the BMP -> code of their one column, or LOOK_DEEPER */
    uint8_t backward_number[BITLEX_SYMBOLS], forward_number[BITLEX_SYMBOLS]; /* of states of the machine, in these tables */
    uint8_t backward_state[BITLEX_SYMBOLS], forward_state[BITLEX_SYMBOLS];   /* the other way round */
    uint32_t backward_rows, forward_rows; /* of 16 entries, in use; or the size of sums, see fill_terms */
    uint32_t packed; /* how direct and stretch are packed, if they are: see bitlex_avx2.h */
    uint32_t identity, label_identity; /* codes of the column of what is no code point, and of its label */
    const bitlex_machine *machine;
    /* Read a block; run the backward automaton over it from each of the states, which are replaced by those on its left. */
    void (*peek)(const bitlex_lanes *lanes, bitlex_lane_memory *memory, const uint8_t *text, const uint8_t *end, uint32_t encoding,
                 uint32_t units, uint8_t *states, uint32_t count);
    void (*block)(const bitlex_lanes *lanes, bitlex_lane_memory *memory, const uint8_t *text, const uint8_t *end, uint32_t encoding,
                  uint32_t units, uint32_t backward, uint32_t *forward);
    /* Store where the bits of words *word..last-1 are, while there is room for 64 and more; *word is the first word left. */
    size_t (*ends32)(const uint64_t *words, uint32_t *word, uint32_t last, uint64_t base, uint32_t *out, size_t room);
    size_t (*ends64)(const uint64_t *words, uint32_t *word, uint32_t last, uint64_t base, uint64_t *out, size_t room);
};

/* Decode the unit at p < end: its code point, or U+FFFD for a maximal ill-formed subsequence. Stores the length. */
uint32_t bitlex_decode(const uint8_t *p, const uint8_t *end, uint32_t *length);

#endif
