/* _ranks.c - a rank file (.tiktoken) as it is in memory; out, the bytes of all tokens by rank, and where each starts.
 *
 *     IQ== 0
 *     Ig== 1
 *
 * Only a file as it should be is read here: base64 that is padded, one space, a rank, the end of the line; no rank and no token twice, each
 * byte of a token a token. For any other, None comes back, and vocabularies/tiktoken.py finds out what is wrong with it, or that it is
 * allowed after all. Rejected: messages here (they would have to be made twice, and what is wrong need not be found fast).
 */
#include "_tokens.h"
#include "bpe_hash.h"

typedef struct {
    uint8_t *bytes;              /* of the tokens in the order of the lines */
    uint32_t *starts, *lengths;  /* by rank; a length of 0: no such rank */
    uint32_t count;              /* the highest rank and one */
    size_t used;
} Ranks;

enum { NO_DIGIT = 64 };

static uint8_t digit_of[256];

static void set_digits(void)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    memset(digit_of, NO_DIGIT, sizeof digit_of);
    for (uint8_t i = 0; i < 64; i++) digit_of[(uint8_t)digits[i]] = i;
}

/* The bytes of base64 from p to end: their number, 0 if it is malformed or empty. */
static size_t decode_base64(const uint8_t *p, const uint8_t *end, uint8_t *out)
{
    uint8_t *to = out;
    uint32_t wrong = 0;
    size_t padding = 0;
    if (end == p || (end - p) % 4 != 0) return 0;
    while (padding < 2 && end[-1 - (ptrdiff_t)padding] == '=') padding++;
    for (; p < end; p += 4) {
        const int last = p + 4 == end;
        const uint32_t first = digit_of[p[0]], second = digit_of[p[1]];
        const uint32_t third = last && padding == 2 ? 0 : digit_of[p[2]], fourth = last && padding > 0 ? 0 : digit_of[p[3]];
        const uint32_t bits = first << 18 | second << 12 | third << 6 | fourth;
        wrong |= first | second | third | fourth;
        *to++ = (uint8_t)(bits >> 16);
        *to++ = (uint8_t)(bits >> 8);
        *to++ = (uint8_t)bits;
    }
    return wrong & NO_DIGIT ? 0 : (size_t)(to - out) - padding;
}

/* All lines: 0, or -1 if one is not as it should be. */
static int read_lines(Ranks *ranks, const uint8_t *p, const uint8_t *end)
{
    while (p < end) {
        const uint8_t *space = memchr(p, ' ', (size_t)(end - p));
        uint32_t rank = 0;
        size_t length, digits = 0;
        if (space == NULL || (length = decode_base64(p, space, ranks->bytes + ranks->used)) == 0) return -1;
        for (p = space + 1; p < end && *p >= '0' && *p <= '9' && digits < 8; p++, digits++) rank = rank * 10 + (*p - '0');
        if (p + 1 < end && *p == '\r') p++;
        if (digits == 0 || (p < end && *p != '\n') || rank >= BPE_TOKENS || ranks->lengths[rank] != 0) return -1;
        p += p < end;
        ranks->starts[rank] = (uint32_t)ranks->used;
        ranks->lengths[rank] = (uint32_t)length;
        ranks->used += length;
        if (rank >= ranks->count) ranks->count = rank + 1;
    }
    return 0;
}

/* Whether each byte of a token is a token. */
static int has_all_bytes(const Ranks *ranks)
{
    uint8_t is_token[256] = {0}, missing = 0;
    for (uint32_t i = 0; i < ranks->count; i++) {
        if (ranks->lengths[i] == 1) is_token[ranks->bytes[ranks->starts[i]]] = 1;
    }
    for (size_t i = 0; i < ranks->used; i++) missing |= !is_token[ranks->bytes[i]];
    return !missing;
}

/* Whether no two ranks have the same bytes: 1, 0, or -1 if there is no memory to find out. */
static int are_distinct(const Ranks *ranks)
{
    uint32_t mask = 63, at, i;
    uint64_t *table; /* upper half of a hash, and a rank + 1 */
    int distinct = 1;
    while (mask < 2 * ranks->count) mask = 2 * mask + 1;
    table = PyMem_RawCalloc((size_t)mask + 1, sizeof *table);
    if (table == NULL) return -1;
    for (i = 0; distinct && i < ranks->count; i++) {
        const uint8_t *bytes = ranks->bytes + ranks->starts[i];
        const uint32_t length = ranks->lengths[i];
        const uint64_t hash = hash_bytes(bytes, length);
        if (length == 0) continue;
        for (at = (uint32_t)hash & mask; table[at] != 0; at = (at + 1) & mask) {
            const uint32_t other = (uint32_t)table[at] - 1;
            if ((table[at] ^ hash) >> 32 == 0 && ranks->lengths[other] == length &&
                memcmp(ranks->bytes + ranks->starts[other], bytes, length) == 0) distinct = 0;
        }
        table[at] = hash >> 32 << 32 | (i + 1);
    }
    PyMem_RawFree(table);
    return distinct;
}

/* Blob and starts, as Vocabulary has them. */
static PyObject *in_order(const Ranks *ranks)
{
    PyObject *blob = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)ranks->used);
    PyObject *starts = PyBytes_FromStringAndSize(NULL, ((Py_ssize_t)ranks->count + 1) * 4);
    uint32_t at = 0;
    if (blob == NULL || starts == NULL) {
        Py_XDECREF(blob);
        Py_XDECREF(starts);
        return NULL;
    }
    for (uint32_t i = 0; i <= ranks->count; i++) {
        memcpy(PyBytes_AS_STRING(starts) + 4 * (size_t)i, &at, 4);
        if (i == ranks->count) break;
        memcpy(PyBytes_AS_STRING(blob) + at, ranks->bytes + ranks->starts[i], ranks->lengths[i]);
        at += ranks->lengths[i];
    }
    return Py_BuildValue("NN", blob, starts);
}

PyObject *bitlex_py_parse_ranks(PyObject *module, PyObject *data)
{
    Ranks ranks = {NULL, NULL, NULL, 0, 0};
    PyObject *result = NULL;
    Py_buffer view;
    int good = 0;
    (void)module;
    if (PyObject_GetBuffer(data, &view, PyBUF_SIMPLE) < 0) return NULL;
    set_digits();
    ranks.bytes = PyMem_RawMalloc((size_t)view.len + 4);
    ranks.starts = PyMem_RawMalloc(BPE_TOKENS * sizeof *ranks.starts);
    ranks.lengths = PyMem_RawCalloc(BPE_TOKENS, sizeof *ranks.lengths);
    if (ranks.bytes == NULL || ranks.starts == NULL || ranks.lengths == NULL) {
        PyErr_NoMemory();
    } else {
        good = view.len > 0 && (size_t)view.len < UINT32_MAX && read_lines(&ranks, view.buf, (const uint8_t *)view.buf + view.len) == 0;
        good = good && has_all_bytes(&ranks) && are_distinct(&ranks) == 1;
        result = good ? in_order(&ranks) : Py_NewRef(Py_None);
    }
    PyMem_RawFree(ranks.bytes);
    PyMem_RawFree(ranks.starts);
    PyMem_RawFree(ranks.lengths);
    PyBuffer_Release(&view);
    return result;
}
