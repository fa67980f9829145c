/* _merges.c - the merges of a tokenizer.json, as JSON has them, and the tokens in bytes; out, the ids of each merge.
 *
 *     "Ġ t" or ["Ġ", "t"]      ->  32, 116, 256
 *
 * Only a list as it should be is read here: all merges of one kind, each two parts of the byte alphabet, both of them tokens, and both
 * together; none twice.
 * For any other, None comes back, and vocabularies/huggingface.py finds out what is wrong with it, or that it is allowed after all.
 * Rejected: messages here (they would have to be made twice, and what is wrong need not be found fast).
 */
#include "_tokens.h"
#include "bpe_hash.h"

#define LONGEST_MERGE 512 /* characters */
#define AT_ONCE 16        /* merges whose tokens are asked for before they are looked at */
#define ALPHABET 512       /* code points, below which those of the byte alphabet are */

typedef struct {
    const uint8_t *blob;
    const uint32_t *starts;
    uint32_t count, mask;
    uint32_t *ids;             /* open addressing by the bytes of a token; BPE_NONE: free */
    uint64_t *pairs, pair_mask; /* of left and right, that were met; UINT64_MAX: free */
    int16_t bytes[ALPHABET];   /* of each code point, or -1 */
} Merges;

static uint32_t next_mask(size_t count)
{
    uint32_t mask = 63;
    while (mask < 2 * count) mask = 2 * mask + 1;
    return mask;
}

static uint32_t find_token(const Merges *m, const uint8_t *bytes, size_t length, uint32_t at)
{
    for (; m->ids[at] != BPE_NONE; at = (at + 1) & m->mask) {
        const uint32_t id = m->ids[at];
        if (m->starts[id + 1] - m->starts[id] == length && memcmp(m->blob + m->starts[id], bytes, length) == 0) return id;
    }
    return BPE_NONE;
}

static int put_tokens(Merges *m)
{
    m->mask = next_mask(m->count);
    m->ids = PyMem_Malloc(((size_t)m->mask + 1) * sizeof *m->ids);
    if (m->ids == NULL) return -1;
    memset(m->ids, 0xFF, ((size_t)m->mask + 1) * sizeof *m->ids);
    for (uint32_t id = 0; id < m->count; id++) {
        const size_t length = m->starts[id + 1] - m->starts[id];
        uint32_t at = (uint32_t)hash_bytes(m->blob + m->starts[id], length) & m->mask;
        if (length == 0) continue;
        while (m->ids[at] != BPE_NONE) at = (at + 1) & m->mask;
        m->ids[at] = id;
    }
    return 0;
}

/* Whether a pair is met for the first time. */
static int is_new(Merges *m, uint32_t left, uint32_t right)
{
    const uint64_t pair = (uint64_t)left << 32 | right;
    uint64_t at = fold(pair, UINT64_C(0x9FB21C651E98DF25)) & m->pair_mask;
    for (; m->pairs[at] != UINT64_MAX; at = (at + 1) & m->pair_mask) {
        if (m->pairs[at] == pair) return 0;
    }
    m->pairs[at] = pair;
    return 1;
}

/* The bytes that characters from..to of a text spell: their number, or 0 if it is none or they are not of the alphabet. */
static size_t spell(const Merges *m, PyObject *text, Py_ssize_t from, Py_ssize_t to, uint8_t *out)
{
    const int kind = PyUnicode_KIND(text);
    const void *data = PyUnicode_DATA(text);
    for (Py_ssize_t i = from; i < to; i++) {
        const Py_UCS4 point = PyUnicode_READ(kind, data, i);
        if (point >= ALPHABET || m->bytes[point] < 0) return 0;
        *out++ = (uint8_t)m->bytes[point];
    }
    return (size_t)(to - from);
}

/* Whether a text begins as a comment in a list of merges does. */
static int is_comment(PyObject *text)
{
    static const char beginning[] = "#version";
    Py_ssize_t i = 0;
    while (i < 8 && i < PyUnicode_GET_LENGTH(text) && PyUnicode_READ_CHAR(text, i) == (Py_UCS4)beginning[i]) i++;
    return i == 8;
}

/* Both parts of a merge, side by side: the length of all, or 0; *middle: of the left one. */
static size_t read_parts(const Merges *m, PyObject *merge, uint8_t *out, size_t *middle)
{
    PyObject *left = merge, *right = merge;
    Py_ssize_t end, from = 0;
    size_t rest;
    if (PyList_CheckExact(merge) && PyList_GET_SIZE(merge) == 2) {
        left = PyList_GET_ITEM(merge, 0);
        right = PyList_GET_ITEM(merge, 1);
    }
    if (!PyUnicode_CheckExact(left) || !PyUnicode_CheckExact(right)) return 0;
    end = PyUnicode_GET_LENGTH(left);
    if (left == merge) {
        end = PyUnicode_FindChar(merge, ' ', 0, PyUnicode_GET_LENGTH(merge), 1);
        from = end + 1;
        if (end < 1 || is_comment(merge)) return 0;
    }
    if (end + PyUnicode_GET_LENGTH(right) - from > LONGEST_MERGE) return 0;
    *middle = spell(m, left, 0, end, out);
    rest = spell(m, right, from, PyUnicode_GET_LENGTH(right), out + *middle);
    return *middle == 0 || rest == 0 ? 0 : *middle + rest;
}

/* A merge on its way: its bytes, and for left, right and both the part of them, and where that is looked for. */
typedef struct {
    uint8_t bytes[2 * LONGEST_MERGE];
    size_t from[3], length[3];
    uint32_t at[3];
} Pending;

static int begin_merge(const Merges *m, PyObject *merge, Pending *p)
{
    size_t middle = 0;
    const size_t length = read_parts(m, merge, p->bytes, &middle);
    p->from[0] = p->from[2] = 0;
    p->from[1] = p->length[0] = middle;
    p->length[1] = length - middle;
    p->length[2] = length;
    for (int i = 0; length > 0 && i < 3; i++) {
        p->at[i] = (uint32_t)hash_bytes(p->bytes + p->from[i], p->length[i]) & m->mask;
        PREFETCH(m->ids + p->at[i]);
    }
    return length == 0 ? -1 : 0;
}

/* The ids of all merges: 0, or -1 if one is not as it should be. */
static int read_all(Merges *m, PyObject *list, uint32_t *out)
{
    const Py_ssize_t count = PyList_GET_SIZE(list);
    Pending pending[AT_ONCE];
    for (Py_ssize_t done = 0; done < count; done += AT_ONCE) {
        const int n = count - done < AT_ONCE ? (int)(count - done) : AT_ONCE;
        int i, part;
        for (i = 0; i < n; i++) {
            if (begin_merge(m, PyList_GET_ITEM(list, done + i), pending + i) < 0) return -1;
        }
        for (i = 0; i < 3 * n; i++) {
            const uint32_t id = m->ids[pending[i / 3].at[i % 3]];
            if (id != BPE_NONE) PREFETCH(m->starts + id);
        }
        for (i = 0; i < 3 * n; i++) {
            const uint32_t id = m->ids[pending[i / 3].at[i % 3]];
            if (id != BPE_NONE) PREFETCH(m->blob + m->starts[id]);
        }
        for (i = 0; i < n; i++, out += 3) {
            const Pending *p = pending + i;
            for (part = 0; part < 3; part++) {
                out[part] = find_token(m, p->bytes + p->from[part], p->length[part], p->at[part]);
                if (out[part] == BPE_NONE) return -1;
            }
            if (!is_new(m, out[0], out[1])) return -1;
        }
    }
    return 0;
}

/* Whether blob and starts are what they are said to be. */
static int check(Merges *m, const Py_buffer *blob, const Py_buffer *starts)
{
    m->blob = blob->buf;
    m->starts = starts->buf;
    if (starts->len < 4 || starts->len % 4 != 0 || (size_t)starts->len / 4 - 1 > BPE_TOKENS) return 0;
    m->count = (uint32_t)((size_t)starts->len / 4 - 1);
    for (uint32_t i = 0; i < m->count; i++) {
        if (m->starts[i] > m->starts[i + 1]) return 0;
    }
    return m->starts[m->count] <= (size_t)blob->len;
}

static PyObject *read_merges(Merges *m, PyObject *list)
{
    const Py_ssize_t count = PyList_GET_SIZE(list);
    PyObject *triples = NULL;
    if (count > (Py_ssize_t)BPE_RANKS) Py_RETURN_NONE;
    for (Py_ssize_t i = 1; i < count; i++) {
        if (PyList_CheckExact(PyList_GET_ITEM(list, i)) != PyList_CheckExact(PyList_GET_ITEM(list, 0))) Py_RETURN_NONE;
    }
    m->pair_mask = next_mask((size_t)count);
    m->pairs = PyMem_Malloc(((size_t)m->pair_mask + 1) * sizeof *m->pairs);
    if (m->pairs == NULL || put_tokens(m) < 0) return PyErr_NoMemory();
    memset(m->pairs, 0xFF, ((size_t)m->pair_mask + 1) * sizeof *m->pairs);
    triples = PyBytes_FromStringAndSize(NULL, 12 * count);
    if (triples == NULL || read_all(m, list, (uint32_t *)(void *)PyBytes_AS_STRING(triples)) == 0) return triples;
    Py_DECREF(triples);
    Py_RETURN_NONE;
}

/* parse_merges(blob, starts, alphabet, merges) -> the ids of each merge as bytes, or None */
PyObject *bitlex_py_parse_merges(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    Py_buffer blob, starts;
    PyObject *found = NULL;
    Merges m = {.ids = NULL};
    (void)module;
    if (count != 4 || !PyUnicode_Check(arguments[2]) || PyUnicode_GET_LENGTH(arguments[2]) != 256 || !PyList_CheckExact(arguments[3])) {
        PyErr_SetString(PyExc_TypeError, "expected (blob, starts, alphabet of 256 characters, list of merges)");
        return NULL;
    }
    memset(m.bytes, 0xFF, sizeof m.bytes);
    for (Py_ssize_t i = 0; i < 256; i++) {
        const Py_UCS4 point = PyUnicode_READ_CHAR(arguments[2], i);
        if (point < ALPHABET) m.bytes[point] = (int16_t)i;
    }
    if (PyObject_GetBuffer(arguments[0], &blob, PyBUF_SIMPLE) < 0) return NULL;
    if (PyObject_GetBuffer(arguments[1], &starts, PyBUF_SIMPLE) == 0) {
        if (check(&m, &blob, &starts)) found = read_merges(&m, arguments[3]);
        else PyErr_SetString(PyExc_ValueError, "starts does not fit blob");
        PyBuffer_Release(&starts);
    }
    PyBuffer_Release(&blob);
    PyMem_Free(m.ids);
    PyMem_Free(m.pairs);
    return found;
}
