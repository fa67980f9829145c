/* _merges.c - the merges of a tokenizer.json, as JSON has them, and the tokens in bytes; out, the ids of each merge.
 *
 *     "Ġ t" or ["Ġ", "t"]      ->  32, 116, 256
 *
 * Only a list as it should be is read here: all merges of one kind, each two parts of the byte alphabet, both of them tokens, and both
 * together; none twice.
 * For any other, None comes back, and vocabularies/huggingface.py finds out what is wrong with it, or that it is allowed after all.
 * Rejected: messages here (they would have to be made twice, and what is wrong need not be found fast); lists that Python's json has made of
 * them (which takes three times as long as all of this).
 */
#include "_model.h"
#include "bpe_hash.h"

#define LONGEST_MERGE 512 /* bytes */
#define AT_ONCE 16        /* merges whose tokens are asked for before they are looked at */

static uint32_t next_mask(size_t count)
{
    uint32_t mask = 63;
    while (mask < 2 * count) mask = 2 * mask + 1;
    return mask;
}

static uint32_t find_from(const Known *k, const uint8_t *bytes, size_t length, uint32_t at)
{
    for (; k->ids[at] != BPE_NONE; at = (at + 1) & k->mask) {
        const uint32_t id = k->ids[at];
        if (k->starts[id + 1] - k->starts[id] == length && memcmp(k->blob + k->starts[id], bytes, length) == 0) return id;
    }
    return BPE_NONE;
}

static uint32_t place_of(const Known *k, const uint8_t *bytes, size_t length) { return (uint32_t)hash_bytes(bytes, length) & k->mask; }

uint32_t bitlex_py_find_token(const Known *k, const uint8_t *bytes, size_t length)
{
    return find_from(k, bytes, length, place_of(k, bytes, length));
}

int bitlex_py_put_tokens(Known *k)
{
    k->mask = next_mask(k->count);
    k->ids = PyMem_Malloc(((size_t)k->mask + 1) * sizeof *k->ids);
    if (k->ids == NULL) return -1;
    memset(k->ids, 0xFF, ((size_t)k->mask + 1) * sizeof *k->ids);
    for (uint32_t id = 0; id < k->count; id++) {
        const uint8_t *bytes = k->blob + k->starts[id];
        const size_t length = k->starts[id + 1] - k->starts[id];
        uint32_t at = place_of(k, bytes, length);
        if (length == 0) continue;
        if (find_from(k, bytes, length, at) != BPE_NONE) return 1;
        while (k->ids[at] != BPE_NONE) at = (at + 1) & k->mask;
        k->ids[at] = id;
    }
    return 0;
}

static uint64_t place_of_pair(const Known *k, uint64_t pair) { return fold(pair, UINT64_C(0x9FB21C651E98DF25)) & k->pair_mask; }

/* Whether a pair is met for the first time. */
static int is_new(Known *k, uint64_t pair)
{
    uint64_t at = place_of_pair(k, pair);
    for (; k->pairs[at] != UINT64_MAX; at = (at + 1) & k->pair_mask) {
        if (k->pairs[at] == pair) return 0;
    }
    k->pairs[at] = pair;
    return 1;
}

/* Both parts of a merge, side by side: the length of all, or 0; *middle: of the left one. */
static size_t read_parts(const Known *k, Json *j, int listed, uint8_t *out, size_t *middle)
{
    static const char comment[] = "\"#version"; /* what merges.txt begins with */
    size_t rest = 0, all = 0;
    if (!listed) {
        if ((size_t)(j->end - j->at) >= sizeof comment - 1 && memcmp(j->at, comment, sizeof comment - 1) == 0) return 0;
        *middle = SIZE_MAX;
        if (bitlex_py_spell(j, k, out, LONGEST_MERGE, &all, middle) != SPELLED) return 0;
        return *middle == 0 || *middle >= all ? 0 : all;
    }
    if (!passes(j, '[')) return 0;
    skip_blank(j);
    if (bitlex_py_spell(j, k, out, LONGEST_MERGE, middle, NULL) != SPELLED) return 0;
    skip_blank(j);
    if (!passes(j, ',')) return 0;
    skip_blank(j);
    if (bitlex_py_spell(j, k, out + *middle, LONGEST_MERGE - *middle, &rest, NULL) != SPELLED) return 0;
    skip_blank(j);
    return !passes(j, ']') || *middle == 0 || rest == 0 ? 0 : *middle + rest;
}

/* A merge on its way: its bytes, and for left, right and both the part of them, and where that is looked for. */
typedef struct {
    uint8_t bytes[LONGEST_MERGE];
    size_t from[3], length[3];
    uint32_t at[3];
} Pending;

static int begin_merge(const Known *k, Json *j, int listed, Pending *p)
{
    size_t middle = 0;
    const size_t length = read_parts(k, j, listed, p->bytes, &middle);
    p->from[0] = p->from[2] = 0;
    p->from[1] = p->length[0] = middle;
    p->length[1] = length - middle;
    p->length[2] = length;
    for (int i = 0; length > 0 && i < 3; i++) {
        p->at[i] = place_of(k, p->bytes + p->from[i], p->length[i]);
        PREFETCH(k->ids + p->at[i]);
    }
    return length == 0 ? -1 : 0;
}

/* The ids of some: 0, or -1 if one is not as it should be. */
static int find_all(Known *k, const Pending *pending, int n, uint32_t *out)
{
    uint64_t pairs[AT_ONCE];
    int i, part;
    for (i = 0; i < 3 * n; i++) {
        const uint32_t id = k->ids[pending[i / 3].at[i % 3]];
        if (id != BPE_NONE) PREFETCH(k->starts + id);
    }
    for (i = 0; i < 3 * n; i++) {
        const uint32_t id = k->ids[pending[i / 3].at[i % 3]];
        if (id != BPE_NONE) PREFETCH(k->blob + k->starts[id]);
    }
    for (i = 0; i < n; i++, out += 3) {
        const Pending *p = pending + i;
        for (part = 0; part < 3; part++) {
            out[part] = find_from(k, p->bytes + p->from[part], p->length[part], p->at[part]);
            if (out[part] == BPE_NONE) return -1;
        }
        pairs[i] = (uint64_t)out[0] << 32 | out[1];
        PREFETCH(k->pairs + place_of_pair(k, pairs[i]));
    }
    for (i = 0; i < n; i++) {
        if (!is_new(k, pairs[i])) return -1;
    }
    return 0;
}

/* The ids of all merges, behind the bracket, of which there are `most` or fewer: how many, or -1 if one is not as it should be. */
static Py_ssize_t read_all(Known *k, Json *j, int listed, size_t most, uint32_t *out)
{
    Pending pending[AT_ONCE];
    size_t done = 0;
    int n, going = 1;
    if (passes(j, ']')) return 0;
    for (; going; done += (size_t)n) {
        for (n = 0; n < AT_ONCE && going; n++) {
            skip_blank(j);
            if (done + (size_t)n == most || begin_merge(k, j, listed, pending + n) < 0) return -1;
            skip_blank(j);
            going = passes(j, ',');
        }
        if (find_all(k, pending, n, out + 3 * done) < 0) return -1;
    }
    return passes(j, ']') ? (Py_ssize_t)done : -1;
}

PyObject *bitlex_py_read_merges(Known *k, Json *j)
{
    PyObject *triples;
    size_t quotes = 0, most;
    Py_ssize_t count;
    int listed;
    if (!passes(j, '[')) Py_RETURN_NONE;
    for (const uint8_t *p = j->at; p < j->end; p++) quotes += *p == '"';
    skip_blank(j);
    listed = j->at < j->end && *j->at == '[';
    most = quotes / (listed ? 4 : 2); /* behind the merges there is little as a rule */
    if (most > BPE_RANKS) most = BPE_RANKS;
    k->pair_mask = next_mask(most);
    k->pairs = PyMem_Malloc(((size_t)k->pair_mask + 1) * sizeof *k->pairs);
    if (k->pairs == NULL) return PyErr_NoMemory();
    memset(k->pairs, 0xFF, ((size_t)k->pair_mask + 1) * sizeof *k->pairs);
    if ((triples = PyBytes_FromStringAndSize(NULL, 12 * (Py_ssize_t)most)) == NULL) return NULL;
    count = read_all(k, j, listed, most, (uint32_t *)(void *)PyBytes_AS_STRING(triples));
    if (count < 0) {
        Py_DECREF(triples);
        Py_RETURN_NONE;
    }
    if (count < (Py_ssize_t)most && _PyBytes_Resize(&triples, 12 * count) < 0) return NULL;
    return triples;
}
