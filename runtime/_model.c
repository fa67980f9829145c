/* _model.c - the model of a tokenizer.json, of which nearly all is its vocabulary and merges: JSON in, the tokens in bytes and the ids of merges out.
 *
 *     read_model(b'{"model": {"vocab": {"a": 0}, "merges": []}}', alphabet)   -> (20, 28, 40, 42), b"a", starts, [], b"", table, 1
 *     find_tokens(b"a", starts, table, alphabet, ["a", "b"])                  -> [0, -1]
 *
 * Everything but these two spans is left to Python's json, which reads the file without them. To have objects made of them, and bytes of these, takes
 * three times as long as all that becomes of them.
 *
 * Invariant: what is read is what json would have read; None for anything that is not as it should be, of which Python finds out whether it is wrong,
 * and where. Spans are those of values if the file without them is JSON: strings are passed as JSON has them, and brackets are counted.
 * Rejected: a reader of JSON for all of it (there are well-kept ones, which make objects, too).
 */
#include "_model.h"

#define DIGITS 7 /* of an id, at most */

/* --- JSON -------------------------------------------------------------------------------------------------------------- */

/* Behind the string that begins here; NULL if it does not end. */
static const uint8_t *string_end(const uint8_t *at, const uint8_t *end)
{
    for (at++; at < end && *at != '"'; at++) at += *at == '\\';
    return at < end ? at + 1 : NULL;
}

/* Pass a value, whatever it is: whether it ends. */
static int passes_value(Json *j)
{
    size_t depth = 0;
    while (j->at < j->end) {
        const uint8_t byte = *j->at;
        if (byte == '"') {
            const uint8_t *end = string_end(j->at, j->end);
            if (end == NULL) return 0;
            j->at = end;
            if (depth == 0) return 1;
        } else if (byte == '{' || byte == '[') {
            depth++;
            j->at++;
        } else if (byte == '}' || byte == ']') {
            if (depth == 0) return 1; /* behind a number */
            j->at++;
            if (--depth == 0) return 1;
        } else if (depth == 0 && (byte == ',' || byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t')) {
            return 1;
        } else {
            j->at++;
        }
    }
    return 0;
}

static int hex(uint8_t byte)
{
    if (byte >= '0' && byte <= '9') return byte - '0';
    byte |= 0x20;
    return byte >= 'a' && byte <= 'f' ? byte - 'a' + 10 : -1;
}

/* The code point of what begins with a backslash, which is passed; or -1. */
static int32_t escaped(Json *j)
{
    static const char names[] = "\"\\/bfnrt", points[] = "\"\\/\b\f\n\r\t";
    const char *found;
    int32_t point = 0;
    if (j->end - j->at < 2) return -1;
    if (j->at[1] != 'u') {
        found = j->at[1] == 0 ? NULL : strchr(names, j->at[1]);
        j->at += 2;
        return found == NULL ? -1 : points[found - names];
    }
    if (j->end - j->at < 6) return -1;
    for (int i = 2; i < 6; i++) {
        const int digit = hex(j->at[i]);
        if (digit < 0) return -1;
        point = 16 * point + digit;
    }
    j->at += 6;
    return point;
}

Spelling bitlex_py_spell(Json *j, const Known *k, uint8_t *out, size_t room, size_t *length, size_t *space)
{
    size_t n = 0;
    int other = 0;
    if (!passes(j, '"')) return NO_STRING;
    while (j->at < j->end && *j->at != '"') {
        const uint8_t byte = *j->at;
        int32_t point = ALPHABET; /* of no character of the alphabet */
        if (byte < 0x20) return NO_STRING;
        if (byte == '\\') {
            if ((point = escaped(j)) < 0) return NO_STRING;
        } else if (byte < 0x80) {
            point = byte;
            j->at++;
        } else if (byte >= 0xC2 && byte < 0xE0 && j->end - j->at > 1 && (j->at[1] & 0xC0) == 0x80) {
            point = (byte & 0x1F) << 6 | (j->at[1] & 0x3F);
            j->at += 2;
        } else {
            j->at++;
        }
        if (point == ' ' && space != NULL && *space == SIZE_MAX) {
            *space = n;
        } else if (point >= ALPHABET || k->bytes[point] < 0 || n == room) {
            other = 1;
        } else {
            out[n++] = (uint8_t)k->bytes[point];
        }
    }
    *length = n;
    if (!passes(j, '"')) return NO_STRING;
    return other ? OTHER : SPELLED;
}

/* --- the vocabulary ---------------------------------------------------------------------------------------------------- */

/* A token: its id, and where its bytes are among those of all in the order of the file; or where its string is in that. */
typedef struct {
    uint32_t id, at, length;
    int is_other;
} Token;

typedef struct {
    Known known;
    const uint8_t *vocab, *vocab_end, *merges, *merges_end; /* in the file, or NULL */
    Token *tokens;
    size_t count;
    uint8_t *bytes;
    uint32_t most; /* one more than the highest id */
    PyObject *blob, *starts, *triples;
} Model;

/* An id: whether it is one. */
static int read_id(Json *j, uint32_t *id)
{
    const uint8_t *const from = j->at;
    *id = 0;
    while (j->at < j->end && *j->at >= '0' && *j->at <= '9' && j->at - from < DIGITS) *id = 10 * *id + (uint32_t)(*j->at++ - '0');
    return j->at > from && (*from != '0' || j->at == from + 1) && *id < BPE_TOKENS;
}

/* All tokens: whether they are as they should be. There is memory for all. */
static int read_tokens(Model *m, Json *j)
{
    const uint8_t *const begin = j->at;
    size_t used = 0, length;
    if (!passes(j, '{')) return 0;
    do {
        Token *t = m->tokens + m->count++;
        const uint8_t *from;
        Spelling spelling;
        skip_blank(j);
        from = j->at;
        spelling = bitlex_py_spell(j, &m->known, m->bytes + used, SIZE_MAX, &length, NULL);
        if (spelling == NO_STRING || (spelling == SPELLED && length == 0)) return 0;
        t->is_other = spelling == OTHER;
        t->at = t->is_other ? (uint32_t)(from - begin) : (uint32_t)used;
        t->length = t->is_other ? (uint32_t)(j->at - from) : (uint32_t)length;
        skip_blank(j);
        if (!passes(j, ':')) return 0;
        skip_blank(j);
        if (!read_id(j, &t->id)) return 0;
        if (!t->is_other) used += length;
        if (t->id >= m->most) m->most = t->id + 1;
        skip_blank(j);
    } while (passes(j, ','));
    return passes(j, '}');
}

/* The bytes of all tokens in the order of their ids, and where each begins: 1; 0 if two have one id; -1 with an exception set. */
static int put_in_order(Model *m)
{
    uint32_t *lengths, end = 0;
    uint8_t *to;
    size_t i;
    if ((m->starts = PyBytes_FromStringAndSize(NULL, 4 * ((Py_ssize_t)m->most + 1))) == NULL) return -1;
    lengths = (uint32_t *)(void *)PyBytes_AS_STRING(m->starts);
    memset(lengths, 0xFF, 4 * ((size_t)m->most + 1));
    for (i = 0; i < m->count; i++) {
        const Token *t = m->tokens + i;
        if (lengths[t->id] != UINT32_MAX) return 0;
        lengths[t->id] = t->is_other ? 0 : t->length;
    }
    for (i = 0; i <= m->most; i++) {
        const uint32_t length = lengths[i] == UINT32_MAX ? 0 : lengths[i];
        lengths[i] = end;
        end += length;
    }
    if ((m->blob = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)end)) == NULL) return -1;
    to = (uint8_t *)PyBytes_AS_STRING(m->blob);
    for (i = 0; i < m->count; i++) {
        const Token *t = m->tokens + i;
        if (!t->is_other) memcpy(to + lengths[t->id], m->bytes + t->at, t->length);
    }
    m->known.blob = to;
    m->known.starts = lengths;
    m->known.count = m->most;
    return 1;
}

/* The vocabulary, and a table of it: 1; 0 if it is not as it should be, or there twice; -1 with an exception set. */
static int read_vocabulary(Model *m, Json *j)
{
    int found;
    if (m->vocab != NULL) return 0;
    m->vocab = j->at;
    m->tokens = PyMem_Calloc((size_t)(j->end - j->at) / 5 + 1, sizeof *m->tokens); /* "a":0 is the shortest */
    m->bytes = PyMem_Malloc((size_t)(j->end - j->at) + 1);
    if (m->tokens == NULL || m->bytes == NULL) return PyErr_NoMemory(), -1;
    if (!read_tokens(m, j)) return 0;
    m->vocab_end = j->at;
    if ((found = put_in_order(m)) <= 0) return found;
    if ((found = bitlex_py_put_tokens(&m->known)) < 0) PyErr_NoMemory();
    return found < 0 ? -1 : 1 - found;
}

/* The same of the merges, whose tokens are known. */
static int read_merges(Model *m, Json *j)
{
    m->triples = bitlex_py_read_merges(&m->known, j);
    return m->triples == NULL ? -1 : m->triples != Py_None;
}

/* Pass an object: the file, or the model in it; what is found of its members is as above. */
static int read_object(Model *m, Json *j, int is_model)
{
    int found = passes(j, '{');
    while (found > 0) {
        const uint8_t *name, *end;
        skip_blank(j);
        name = j->at;
        if (j->at == j->end || *name != '"' || (end = string_end(name, j->end)) == NULL) return 0;
        j->at = end;
        skip_blank(j);
        if (!passes(j, ':')) return 0;
        skip_blank(j);
        if (!is_model && end - name == 7 && memcmp(name, "\"model\"", 7) == 0) {
            found = read_object(m, j, 1); /* if it is there twice, so is what is in it */
        } else if (is_model && end - name == 7 && memcmp(name, "\"vocab\"", 7) == 0) {
            found = read_vocabulary(m, j);
        } else if (is_model && end - name == 8 && memcmp(name, "\"merges\"", 8) == 0) {
            if (m->vocab == NULL || m->merges != NULL) return 0; /* or merges come first, which nobody writes */
            m->merges = j->at;
            found = read_merges(m, j);
            m->merges_end = j->at;
        } else {
            found = passes_value(j);
        }
        skip_blank(j);
        if (found > 0 && !passes(j, ',')) return passes(j, '}');
    }
    return found;
}

/* The strings of tokens that are not of the alphabet, [(id, JSON)]. */
static PyObject *list_others(const Model *m)
{
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list != NULL && i < m->count; i++) {
        const Token *t = m->tokens + i;
        PyObject *pair;
        if (!t->is_other) continue;
        pair = Py_BuildValue("ky#", (unsigned long)t->id, (const char *)m->vocab + t->at, (Py_ssize_t)t->length);
        if (pair == NULL || PyList_Append(list, pair) < 0) Py_CLEAR(list);
        Py_XDECREF(pair);
    }
    return list;
}

/* Which bytes the characters of an alphabet spell: -1 with an exception set if it is none. */
static int read_alphabet(Known *k, PyObject *alphabet)
{
    memset(k->bytes, 0xFF, sizeof k->bytes);
    if (!PyUnicode_Check(alphabet) || PyUnicode_GET_LENGTH(alphabet) != 256) {
        PyErr_SetString(PyExc_TypeError, "expected an alphabet of 256 characters");
        return -1;
    }
    for (Py_ssize_t i = 0; i < 256; i++) {
        const Py_UCS4 point = PyUnicode_READ_CHAR(alphabet, i);
        if (point < ALPHABET) k->bytes[point] = (int16_t)i;
    }
    return 0;
}

/* read_model(data, alphabet) -> (spans of vocabulary and merges, blob, starts, others, merges, table, how many tokens), or None */
PyObject *bitlex_py_read_model(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    PyObject *others, *made = NULL;
    Py_buffer view;
    Model m = {.count = 0};
    int found = 0;
    (void)module;
    if (count != 2) PyErr_SetString(PyExc_TypeError, "expected (data, alphabet)");
    if (count != 2 || read_alphabet(&m.known, arguments[1]) < 0 || PyObject_GetBuffer(arguments[0], &view, PyBUF_SIMPLE) < 0) return NULL;
    const uint8_t *bytes = view.buf;
    Json j = {bytes, bytes + view.len};
    skip_blank(&j);
    if (view.len < INT32_MAX) found = read_object(&m, &j, 0);
    if (found > 0 && m.vocab != NULL && m.merges != NULL && (others = list_others(&m)) != NULL) {
        made = Py_BuildValue("(nnnn)OONOy#n", (Py_ssize_t)(m.vocab - bytes), (Py_ssize_t)(m.vocab_end - bytes), (Py_ssize_t)(m.merges - bytes),
                             (Py_ssize_t)(m.merges_end - bytes), m.blob, m.starts, others, m.triples, (const char *)m.known.ids,
                             (Py_ssize_t)(((size_t)m.known.mask + 1) * sizeof *m.known.ids), (Py_ssize_t)m.count);
    } else if (!PyErr_Occurred()) {
        made = Py_NewRef(Py_None);
    }
    Py_XDECREF(m.blob);
    Py_XDECREF(m.starts);
    Py_XDECREF(m.triples);
    PyMem_Free(m.tokens);
    PyMem_Free(m.bytes);
    PyMem_Free(m.known.ids);
    PyMem_Free(m.known.pairs);
    PyBuffer_Release(&view);
    return made;
}

/* --- names ------------------------------------------------------------------------------------------------------------- */

/* Whether a table is one of the tokens that these are. */
static int is_table(Known *k, const Py_buffer *blob, const Py_buffer *starts, const Py_buffer *table)
{
    const size_t places = (size_t)table->len / 4, ends = (size_t)starts->len / 4;
    size_t i, taken = 0;
    k->blob = blob->buf;
    k->starts = starts->buf;
    k->ids = table->buf;
    if (places == 0 || (places & (places - 1)) != 0 || places > UINT32_MAX || ends == 0 || ends > BPE_TOKENS + 1) return 0;
    k->mask = (uint32_t)(places - 1);
    for (i = 0; i + 1 < ends; i++) {
        if (k->starts[i] > k->starts[i + 1]) return 0;
    }
    for (i = 0; i < places; i++) {
        taken += k->ids[i] != BPE_NONE;
        if (k->ids[i] != BPE_NONE && k->ids[i] >= ends - 1) return 0;
    }
    return taken < places && k->starts[ends - 1] <= (size_t)blob->len;
}

/* The id of a name, -1 if it is none of the alphabet; or NULL. */
static PyObject *number_of(const Known *k, PyObject *name)
{
    const Py_ssize_t length = PyUnicode_Check(name) ? PyUnicode_GET_LENGTH(name) : 0;
    uint8_t *bytes = PyMem_Malloc((size_t)length + 1);
    uint32_t id = BPE_NONE;
    Py_ssize_t i = 0;
    if (bytes == NULL) return PyErr_NoMemory();
    for (; i < length; i++) {
        const Py_UCS4 point = PyUnicode_READ_CHAR(name, i);
        if (point >= ALPHABET || k->bytes[point] < 0) break;
        bytes[i] = (uint8_t)k->bytes[point];
    }
    if (length > 0 && i == length) id = bitlex_py_find_token(k, bytes, (size_t)length);
    PyMem_Free(bytes);
    return PyLong_FromLong(id == BPE_NONE ? -1 : (long)id);
}

/* find_tokens(blob, starts, table, alphabet, names) -> their ids, -1 of what is no token of the alphabet */
PyObject *bitlex_py_find_tokens(PyObject *module, PyObject *arguments)
{
    Py_buffer blob, starts, table;
    PyObject *alphabet, *names, *list = NULL;
    Known known;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "y*y*y*OO!:find_tokens", &blob, &starts, &table, &alphabet, &PyList_Type, &names)) return NULL;
    if (read_alphabet(&known, alphabet) == 0) {
        if (is_table(&known, &blob, &starts, &table)) list = PyList_New(0);
        else PyErr_SetString(PyExc_ValueError, "the table does not fit the tokens");
    }
    for (Py_ssize_t at = 0; list != NULL && at < PyList_GET_SIZE(names); at++) {
        PyObject *number = number_of(&known, PyList_GET_ITEM(names, at));
        if (number == NULL || PyList_Append(list, number) < 0) Py_CLEAR(list);
        Py_XDECREF(number);
    }
    PyBuffer_Release(&blob);
    PyBuffer_Release(&starts);
    PyBuffer_Release(&table);
    return list;
}
