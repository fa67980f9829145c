/* specials.h - the next special token in a text. Plain C99.
 *
 * In: special tokens as bytes, and a text. Out: where the first one is, the longest of those that start there. They are kept as a tree of
 * bytes, entered only where a byte is that some token starts with. Each byte of the text is read once from there on: where a path of the tree
 * ends, the nodes know what tokens are in it and which path goes on with its last bytes (Aho and Corasick's automaton, made for the longest).
 *
 *     special tokens ab, abcd, ca, and a text that has "abc" and something else: "ab" is found, and the path "c" goes on
 *
 * Invariant: after specials_link nothing changes, so that threads may share them. Rejected: a regular expression of all tokens (compiled for
 * each call by some, and it finds the first alternative, not the longest); to walk anew from each place (the text times the longest token).
 */
#ifndef SPECIALS_H
#define SPECIALS_H

#include <stddef.h>
#include <stdint.h>

/* What becomes of a path when the text does not go on like any child: the special tokens in it are found up to where they can be told, and the
 * rest, which may begin others, is the path of `rest`. */
typedef struct {
    uint32_t id;                     /* of the token that ends here, or UINT32_MAX */
    uint32_t first_child, next;      /* nodes; 0: none */
    uint32_t table;                  /* of children, where there are more than a few, or 0 */
    uint32_t depth;                  /* bytes of the path */
    uint32_t suffix;                 /* the longest path that this one ends with and is longer than */
    uint32_t rest;
    uint32_t last;                   /* of the tokens that are found, or 0 */
    uint8_t byte, children;
} special_node;

/* A special token in a path, linked to the one before it, and to one further back such that few steps lead to any. */
typedef struct {
    uint32_t start, end, id;
    uint32_t before, far, number;    /* 0: none; which it is, from 1 on */
} special_step;

typedef struct {
    special_node *nodes;             /* the first is the root */
    uint32_t (*tables)[256];         /* the first is the root's */
    special_step *steps;             /* the first is none */
    size_t count, room, table_count, table_room, step_count, step_room, longest;
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

/* After all were added, before any is looked for: 0, or -1 if memory is short. It takes time and memory as the bytes of all tokens. */
int specials_link(specials *s);
void specials_free(specials *s);

/* A text being searched: up to where it is read, and by what path; where each of the few first bytes is next, so that no part of the text is
 * looked through twice for one; and what was found in a path that begins at `path`, of which all up to `given` was handed out. */
typedef struct {
    const specials *tokens;
    const uint8_t *text, *end, *at, *next[4], *path;
    uint32_t node, last, given;
} special_search;

void specials_begin(special_search *search, const specials *s, const uint8_t *text, uint64_t length, uint64_t from);

/* The next match, which starts where the last one ended or behind: 1, or 0 if there is none. */
int specials_next(special_search *search, special_match *found);

/* The first match that starts at `from` or behind. */
int specials_find(const specials *s, const uint8_t *text, uint64_t length, uint64_t from, special_match *found);

/* The first place from `from` on at which a token may start that goes on behind the text, or the text's length. */
uint64_t specials_open(const specials *s, const uint8_t *text, uint64_t length, uint64_t from);

#endif
