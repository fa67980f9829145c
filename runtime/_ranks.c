/* _ranks.c - a rank file (.tiktoken) as it is in memory; out, the bytes of all tokens by rank, and where each starts.
 *
 *     IQ== 0
 *     Ig== 1
 *
 * Only a file as it should be is read here: base64 that is padded, one space, a rank, the end of the line; ranks that rise, no token twice,
 * each byte of a token a token. What comes out is made in its place, which is shrunk in the end. For any other, None comes back, and
 * vocabularies/tiktoken.py finds out what is wrong with it, or that it is allowed after all. Rejected: messages here (they would have to be made
 * twice, and what is wrong need not be found fast).
 */
#include "_tokens.h"
#include "bpe_hash.h"

typedef struct {
    uint8_t *bytes;   /* of the tokens */
    uint32_t *starts; /* by rank, and where the last one ends; a rank that no token has is that of no bytes */
    uint32_t count;   /* the highest rank and one */
} Ranks;

enum { NO_DIGIT = 64 };

/* By character. A constant: several interpreters may read at once. */
#define N NO_DIGIT
#define NONE N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N
static const uint8_t digit_of[256] = {
    NONE, NONE,
    N, N, N, N, N, N, N, N, N, N, N, 62, N, N, N, 63,
    52, 53, 54, 55, 56, 57, 58, 59, 60, 61, N, N, N, N, N, N,
    N, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14,
    15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, N, N, N, N, N,
    N, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40,
    41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, N, N, N, N, N,
    NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE,
};
#undef N
#undef NONE

/* The bytes of the base64 at *p, which is moved behind it: their number, 0 if there are none or it is malformed. May write four more. */
static size_t decode_base64(const uint8_t **p, const uint8_t *end, uint8_t *out)
{
    const uint8_t *at = *p, *begun = out;
    for (; end - at >= 4; at += 4, out += 3) {
        const uint32_t first = digit_of[at[0]], second = digit_of[at[1]], third = digit_of[at[2]], fourth = digit_of[at[3]];
        const uint32_t bits = first << 18 | second << 12 | third << 6 | fourth;
        out[0] = (uint8_t)(bits >> 16);
        out[1] = (uint8_t)(bits >> 8);
        out[2] = (uint8_t)bits;
        if (((first | second | third | fourth) & NO_DIGIT) == 0) continue;
        if (((first | second) & NO_DIGIT) != 0 || at[3] != '=' || (third == NO_DIGIT && at[2] != '=')) break;
        out += third == NO_DIGIT ? 1 : 2;
        at += 4;
        break;
    }
    *p = at;
    return (size_t)(out - begun);
}

/* All lines: 0, or -1 if one is not as it should be. */
static int read_lines(Ranks *ranks, const uint8_t *p, const uint8_t *end)
{
    uint32_t used = 0;
    while (p < end) {
        const size_t length = decode_base64(&p, end, ranks->bytes + used);
        uint32_t rank = 0;
        size_t digits = 0;
        if (length == 0 || p == end || *p != ' ') return -1;
        for (p++; p < end && *p >= '0' && *p <= '9' && digits < 8; p++, digits++) rank = rank * 10 + (*p - '0');
        if (p + 1 < end && *p == '\r') p++;
        if (digits == 0 || (p < end && *p != '\n') || rank >= BPE_TOKENS || rank < ranks->count) return -1;
        p += p < end;
        while (ranks->count <= rank) ranks->starts[ranks->count++] = used;
        used += (uint32_t)length;
    }
    ranks->starts[ranks->count] = used;
    return 0;
}

/* Whether each byte of a token is a token. */
static int has_all_bytes(const Ranks *ranks)
{
    uint8_t is_token[256] = {0}, missing = 0;
    for (uint32_t i = 0; i < ranks->count; i++) {
        if (ranks->starts[i + 1] - ranks->starts[i] == 1) is_token[ranks->bytes[ranks->starts[i]]] = 1;
    }
    for (uint32_t i = 0; i < ranks->starts[ranks->count]; i++) missing |= !is_token[ranks->bytes[i]];
    return !missing;
}

#define AHEAD 32     /* tokens of which the places in the table are asked for at a time */
#define NUMBER_BITS 22

/* Whether no two ranks have the same bytes: 1, 0, or -1 if there is no memory to find out. */
static int are_distinct(const Ranks *ranks)
{
    uint32_t mask = 63, hashes[AHEAD];
    uint32_t *table; /* the upper bits of a hash, and a rank + 1 */
    int distinct = 1;
    while (mask < ranks->count + ranks->count / 2) mask = 2 * mask + 1;
    table = bpe_allocate(((size_t)mask + 1) * sizeof *table);
    if (table == NULL) return -1;
    for (uint32_t first = 0; distinct && first < ranks->count; first += AHEAD) {
        const uint32_t count = ranks->count - first < AHEAD ? ranks->count - first : AHEAD;
        for (uint32_t i = 0; i < count; i++) {
            const uint32_t *start = ranks->starts + first + i;
            hashes[i] = (uint32_t)hash_bytes(ranks->bytes + start[0], start[1] - start[0]);
            PREFETCH(table + (hashes[i] & mask));
        }
        for (uint32_t i = 0; i < count; i++) {
            const uint32_t *start = ranks->starts + first + i, length = start[1] - start[0];
            uint32_t at = hashes[i] & mask;
            if (length == 0) continue;
            for (; table[at] != 0; at = (at + 1) & mask) {
                const uint32_t *other = ranks->starts + (table[at] & ((1u << NUMBER_BITS) - 1)) - 1;
                if ((table[at] ^ hashes[i]) >> NUMBER_BITS == 0 && other[1] - other[0] == length &&
                    memcmp(ranks->bytes + other[0], ranks->bytes + start[0], length) == 0) distinct = 0;
            }
            table[at] = hashes[i] >> NUMBER_BITS << NUMBER_BITS | (first + i + 1);
        }
    }
    bpe_release(table, ((size_t)mask + 1) * sizeof *table);
    return distinct;
}

PyObject *bitlex_py_parse_ranks(PyObject *module, PyObject *data)
{
    PyObject *blob = NULL, *starts = NULL, *result = NULL;
    Ranks ranks;
    Py_buffer view;
    (void)module;
    if (PyObject_GetBuffer(data, &view, PyBUF_SIMPLE) < 0) return NULL;
    if (view.len == 0 || (size_t)view.len >= UINT32_MAX) {
        PyBuffer_Release(&view);
        Py_RETURN_NONE;
    }
    blob = PyBytes_FromStringAndSize(NULL, view.len + 4);
    starts = PyBytes_FromStringAndSize(NULL, ((Py_ssize_t)BPE_TOKENS + 1) * 4); /* nothing is written to most of it */
    if (blob != NULL && starts != NULL) {
        ranks.bytes = (uint8_t *)PyBytes_AS_STRING(blob);
        ranks.starts = (uint32_t *)(void *)PyBytes_AS_STRING(starts);
        ranks.count = 0;
        if (read_lines(&ranks, view.buf, (const uint8_t *)view.buf + view.len) < 0 || !has_all_bytes(&ranks) || are_distinct(&ranks) != 1) {
            result = Py_NewRef(Py_None);
        } else if (_PyBytes_Resize(&blob, (Py_ssize_t)ranks.starts[ranks.count]) == 0 &&
                   _PyBytes_Resize(&starts, ((Py_ssize_t)ranks.count + 1) * 4) == 0) {
            result = PyTuple_Pack(2, blob, starts);
        }
    }
    Py_XDECREF(blob);
    Py_XDECREF(starts);
    PyBuffer_Release(&view);
    return result;
}
