/* specials.h - the next special token in a text. Plain C99.
 *
 * In: special tokens as bytes, and a text. Out: where the first one is, the longest of those that start there. They are kept as a tree of
 * bytes, entered only where a byte is that some token starts with; a place costs no more steps than the longest token has bytes.
 *
 * Rejected: a regular expression of all tokens (compiled for each call by some, and it finds the first alternative, not the longest).
 */
#ifndef SPECIALS_H
#define SPECIALS_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
    uint32_t id;                     /* of the token that ends here, or UINT32_MAX */
    uint32_t first_child, next;      /* nodes; 0: none */
    uint8_t byte;
} special_node;

typedef struct {
    special_node *nodes;             /* the first is the root */
    size_t count, room, longest;
    uint8_t firsts[256];             /* whether some token starts with this byte */
    uint8_t few[4];                  /* the bytes that they start with, if these are up to four; */
    int16_t second[4];               /* the byte behind each, if it is always the same, or -1 */
    int few_count;                   /* -1 if they are more */
} specials;

typedef struct {
    uint64_t start, end;
    uint32_t id;
} special_match;

/* Add a token of at least one byte: 0, or -1 if memory is short. specials must be zeros at first. */
int specials_add(specials *s, const uint8_t *bytes, size_t length, uint32_t id);
void specials_free(specials *s);

/* A text being searched: where each of the few first bytes is next, so that no part of the text is looked through twice for one. */
typedef struct {
    const specials *tokens;
    const uint8_t *text, *end, *at, *next[4];
} special_search;

void specials_begin(special_search *search, const specials *s, const uint8_t *text, uint64_t length, uint64_t from);

/* The next match, which starts where the last one ended or behind: 1, or 0 if there is none. */
int specials_next(special_search *search, special_match *found);

/* The first match that starts at `from` or behind. */
int specials_find(const specials *s, const uint8_t *text, uint64_t length, uint64_t from, special_match *found);

/* The first place from `from` on at which a token may start that goes on behind the text, or the text's length. */
uint64_t specials_open(const specials *s, const uint8_t *text, uint64_t length, uint64_t from);

#endif
