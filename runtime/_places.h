/* _places.h - places in the UTF-8 of a str that comes in parts, in characters of the str: for _token_stream.c and _token_reading.c. */
#ifndef BITLEX_PLACES_H
#define BITLEX_PLACES_H

#include "_native.h"

/* Some bytes of such a text. */
typedef struct {
    const uint8_t *bytes;
    uint64_t length, base; /* how many, and where the first is in the whole text */
    uint64_t before;       /* how many characters start before them */
    uint32_t weight;       /* of how many characters of the str the one is in whose midst they begin, if they do */
    const uint64_t *pairs; /* where in the whole text characters are that two surrogates spelled, from the first byte on */
    size_t pair_count;
} Stretch;

#if defined(__GNUC__)
#pragma GCC visibility push(hidden)
#endif

/* How many characters of the str start in so many of these bytes. */
uint64_t bitlex_py_characters_in(const Stretch *held, uint64_t length);

/* Of how many characters of the str the one is in whose midst this byte is; 0, if it is in the midst of none. */
uint32_t bitlex_py_weight_at(const Stretch *held, uint64_t place);

/* The starts and ends of so many tokens, which are places in the whole text, become characters. */
void bitlex_py_places_in(const Stretch *held, uint64_t *places, size_t count);

/* Whether surrogates spelled some character of this str, which became these bytes. */
int bitlex_py_has_pairs(PyObject *text, const uint8_t *bytes, uint64_t length);

/* Append where they are, the str being from there on in the whole text: -1 if there is no memory. */
int bitlex_py_find_pairs(PyObject *text, uint64_t at, uint64_t **pairs, size_t *count, size_t *room);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#endif
