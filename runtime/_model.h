/* _model.h - what _model.c and _merges.c share: JSON as it is read, and tokens by their bytes. */
#ifndef BITLEX_MODEL_H
#define BITLEX_MODEL_H

#include "_tokens.h"

#define ALPHABET 512 /* code points, below which those of the byte alphabet are */

/* What is left of a text. */
typedef struct {
    const uint8_t *at, *end;
} Json;

/* A string that is of the byte alphabet; any other; or what is no string. */
typedef enum { SPELLED, OTHER, NO_STRING } Spelling;

typedef struct {
    const uint8_t *blob;
    const uint32_t *starts;
    uint32_t count, mask;
    uint32_t *ids;              /* open addressing by the bytes of a token; BPE_NONE: free */
    uint64_t *pairs, pair_mask; /* of left and right, that were met; UINT64_MAX: free */
    int16_t bytes[ALPHABET];    /* of each code point, or -1 */
} Known;

#if defined(__GNUC__)
#pragma GCC visibility push(hidden)
#endif

static inline void skip_blank(Json *j)
{
    while (j->at < j->end && (*j->at == ' ' || *j->at == '\n' || *j->at == '\r' || *j->at == '\t')) j->at++;
}

/* Whether this character is next: then it is passed. */
static inline int passes(Json *j, char wanted)
{
    if (j->at == j->end || *j->at != wanted) return 0;
    j->at++;
    return 1;
}

/* --- _model.c --- */

/* Pass a string; the bytes that it spells, if there is room for them. *space: NULL, or of the first space in it, which is none of them: so many bytes
 * are before it, or SIZE_MAX if there is none. */
Spelling bitlex_py_spell(Json *j, const Known *known, uint8_t *out, size_t room, size_t *length, size_t *space);

/* --- _merges.c --- */

/* A table of all tokens: 0; -1 if there is no memory, 1 if two are the same. To be freed by the caller. */
int bitlex_py_put_tokens(Known *known);
uint32_t bitlex_py_find_token(const Known *known, const uint8_t *bytes, size_t length);

/* Pass a list of merges: the ids of left, right and both of each, as bytes; None if it is not as it should be. */
PyObject *bitlex_py_read_merges(Known *known, Json *j);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#endif
