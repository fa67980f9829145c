/* _growing.c - many ids in, a str or bytes out that grows while it is filled.
 *
 *     ids        279  3776 ... 57668 ...
 *     str        'the heart...'  of ASCII, as long as a few ids lead one to expect; copied to one of two bytes a character when the first
 *                character comes that needs them
 *
 * To measure ids before they are decoded takes nearly as long as to decode them. So of many ids only some are measured. Bytes, and
 * characters of ASCII, are decoded to where they belong: the object is made nearly in the size that those suggest, and when it is full, the
 * ids that are left are measured, and it gets what they need. From where there may be other characters, bytes are decoded to memory that is
 * kept for the next call; then it is known how many characters they are and how wide, and the str is made of what there is.
 *
 * Where that would be too much memory, the str is made in the width and nearly in the size that some ids suggest; when it is full, or too
 * narrow, the ids that are left are measured. These characters are decoded by the block, whose bytes become characters while they are in the
 * cache.
 *
 * Invariants: what comes out is what _decoding.c gives of fewer ids. A str is no wider than its widest character. An array may be written to
 * by another thread meanwhile: what is stored is what was looked at.
 *
 * Rejected: when it is too narrow, another one after some of the ids that are left, as at first (it may have to be made twice, and then grow:
 * a third of the speed, where measuring them costs a fifth); to do with all characters beyond ASCII as where there is too much memory (5 to
 * 30 % slower, with what is measured, copied and made anew); more room than is needed, to be given back (the C library asks the system for
 * new pages each time, as what is freed is never as large as what is asked for).
 */
#include "_tokens.h"

#define BLOCK 16384   /* bytes that are decoded at a time, to become characters */
#define SAMPLES 64    /* places from which on so many ids are measured: */
#define SAMPLE 64

#define MEMORY (32u << 20) /* bytes of a text that are decoded before its str is made */
#define SLACK 65536

typedef enum { DONE, MEASURED, WIDER, ILL_FORMED } Filled;

typedef struct {
    const bpe_decoder *decoder;
    const Source *source;
    const char *errors; /* or NULL, for bytes */
    int skip;
    size_t sampled;     /* bytes of those that were measured at first */
    PyObject *made;
    uint32_t widest;    /* as in bpe_extent: of what is made, */
    uint32_t needed;    /* and of what is to be stored */
    uint8_t *out, *end; /* where it is filled */
    size_t at;          /* ids that were decoded */
    int measured;       /* whether those that are left were; -1: one is none */
    bpe_extent rest;
    size_t wrong_at;    /* where one of them is none */
    uint8_t *text;      /* or NULL; what is no part of the object yet, in so much memory */
    size_t text_size, text_used, characters;
    size_t held;        /* bytes of the block that are no character yet */
    uint8_t block[BLOCK];
} Growing;

static inline size_t width_of(const Growing *g) { return g->widest == 3 ? 4 : g->widest == 2 ? 2 : 1; }

static uint8_t *start_of(const Growing *g)
{
    return g->errors == NULL ? (uint8_t *)PyBytes_AS_STRING(g->made) : PyUnicode_DATA(g->made);
}

/* Bytes or characters that are there. */
static size_t filled(const Growing *g) { return (size_t)(g->out - start_of(g)) / width_of(g); }

static void point(Growing *g, size_t used, size_t room)
{
    g->out = start_of(g) + used * width_of(g);
    g->end = start_of(g) + room * width_of(g);
    if (room > used) bitlex_py_ask_for_large_pages(g->out, (size_t)(g->end - g->out));
}

/* Take room for so many: -1 with an exception set, and nothing made. */
static int resize(Growing *g, size_t room)
{
    const size_t used = filled(g);
    const int failed = g->errors == NULL ? _PyBytes_Resize(&g->made, (Py_ssize_t)room) : PyUnicode_Resize(&g->made, (Py_ssize_t)room);
    if (failed < 0) {
        Py_CLEAR(g->made);
        return -1;
    }
    point(g, used, room);
    return 0;
}

static int make(Growing *g, uint32_t widest, size_t room)
{
    PyObject *before = g->made;
    const size_t used = before == NULL ? 0 : filled(g);
    PyObject *made = g->errors == NULL ? PyBytes_FromStringAndSize(NULL, (Py_ssize_t)room)
                                       : PyUnicode_New((Py_ssize_t)room, bitlex_py_largest(widest));
    int failed = made == NULL;
    if (!failed && before != NULL) failed = PyUnicode_CopyCharacters(made, 0, before, 0, (Py_ssize_t)used) < 0;
    Py_XDECREF(before);
    g->made = made;
    g->widest = widest;
    if (!failed) point(g, used, room);
    return failed ? -1 : 0;
}

/* How much memory the bytes of the ids that are left are expected to take. */
static size_t expected_rest(const Growing *g)
{
    return g->sampled / SAMPLES * ((g->source->count - g->at) / SAMPLE + 1) / 16 * 17 + SLACK;
}

/* Take memory for what is no part of the object: -1 with an exception set. */
static int take_memory(Growing *g)
{
    g->text_size = expected_rest(g);
    g->text = bitlex_py_take(FOR_TEXTS, g->text_size);
    if (g->text == NULL) PyErr_NoMemory();
    return g->text == NULL ? -1 : 0;
}

/* What is expected of all ids, after some of them; ids that are none are found later. */
static int begin(Growing *g)
{
    Source some = *g->source;
    bpe_extent extent = {0, 0, 0};
    uint64_t expected;
    uint32_t room[SOURCE_BLOCK];
    size_t i, n;
    for (i = 0; i < SAMPLES; i++) {
        const size_t at = (g->source->count - SAMPLE) / SAMPLES * i;
        some.count = at + SAMPLE;
        bpe_measure(g->decoder, bitlex_py_source_block(&some, at, &n, room), SAMPLE, g->skip, &extent);
    }
    expected = (g->errors == NULL ? extent.bytes : extent.characters) * (uint64_t)(g->source->count / (SAMPLES * SAMPLE) + 1);
    g->sampled = (size_t)extent.bytes;
    if (expected >= PY_SSIZE_T_MAX / 8) PyErr_NoMemory();
    else if (g->errors != NULL && extent.widest > 0 && expected_rest(g) <= MEMORY) return take_memory(g);
    else return make(g, g->errors == NULL ? 0 : extent.widest, (size_t)(expected - expected / 16));
    return -1;
}

/* Measure the ids that are left. */
static Filled measure(Growing *g)
{
    uint32_t room[SOURCE_BLOCK];
    const bpe_extent nothing = {0, g->held > 0, 0};
    size_t at, count, done;
    g->rest = nothing;
    g->measured = 1;
    for (at = g->at; at < g->source->count; at += count) {
        const uint32_t *ids = bitlex_py_source_block(g->source, at, &count, room);
        done = bpe_measure(g->decoder, ids, count, g->skip, &g->rest);
        if (done == count) continue;
        g->wrong_at = at + done;
        g->measured = -1;
        break;
    }
    return MEASURED;
}

/* Bytes, or characters of ASCII. */
static Filled fill_bytes(Growing *g, const uint32_t *ids, size_t count)
{
    uint8_t *to = g->out;
    const size_t done = bpe_decode(g->decoder, ids, count, g->skip, &to, g->end, &g->needed);
    if (g->errors != NULL && g->needed > 0) return expected_rest(g) <= MEMORY ? WIDER : measure(g);
    g->out = to;
    g->at += done;
    return done == count ? DONE : measure(g);
}

/* Characters, some of which are more. */
static Filled fill_characters(Growing *g, const uint32_t *ids, size_t count)
{
    const int width = (int)width_of(g);
    uint8_t *to = g->block + g->held;
    const size_t done = bpe_decode(g->decoder, ids, count, g->skip, &to, g->block + BLOCK, &g->needed), size = (size_t)(to - g->block);
    const uint8_t *bytes;
    size_t used;
    if (g->needed > g->widest) return measure(g);
    if (done == 0) return bpe_token(g->decoder, *ids, g->skip, &bytes) == SIZE_MAX ? measure(g) : ILL_FORMED; /* or longer than a block */
    if (!g->measured && (size_t)(g->end - g->out) / (size_t)width < size) return measure(g);
    used = bpe_transcode(g->block, size, width, g->decoder->vectors, &g->out, g->end);
    if (used == SIZE_MAX) return ILL_FORMED;
    g->held = size - used;
    memmove(g->block, g->block + used, g->held);
    g->at += done;
    return DONE;
}

/* To memory. */
static Filled fill_memory(Growing *g, const uint32_t *ids, size_t count)
{
    uint8_t *from = g->text + g->text_used, *to = from;
    const size_t done = bpe_decode(g->decoder, ids, count, g->skip, &to, g->text + g->text_size, &g->needed), size = (size_t)(to - from);
    g->characters += bpe_characters(from, size, g->decoder->vectors);
    g->text_used += size;
    g->at += done;
    return done == count ? DONE : measure(g);
}

/* Go on until something has to be done to the object. Touches none. */
static Filled fill(Growing *g)
{
    uint32_t room[SOURCE_BLOCK];
    size_t count;
    while (g->at < g->source->count) {
        const uint32_t *ids = bitlex_py_source_block(g->source, g->at, &count, room);
        Filled outcome;
        if (g->text != NULL) outcome = fill_memory(g, ids, count);
        else outcome = g->widest == 0 ? fill_bytes(g, ids, count) : fill_characters(g, ids, count);
        if (outcome != DONE) return outcome;
    }
    return g->held == 0 ? DONE : ILL_FORMED;
}

static int grow_memory(Growing *g)
{
    const size_t wanted = g->text_used + (size_t)g->rest.bytes + SLACK;
    uint8_t *grown = g->rest.bytes > PY_SSIZE_T_MAX / 2 ? NULL : bitlex_py_regrow(FOR_TEXTS, g->text, g->text_size, g->text_used, wanted);
    if (grown == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    g->text = grown;
    g->text_size = wanted;
    return 0;
}

/* The room that the ids that are left need. */
static int grow(Growing *g)
{
    const uint64_t more = g->errors == NULL ? g->rest.bytes : g->rest.characters;
    const size_t used = g->made == NULL ? 0 : filled(g);
    if (g->measured < 0) bitlex_py_raise_no_token(g->source, g->wrong_at);
    else if (g->text != NULL) return grow_memory(g);
    else if (more > PY_SSIZE_T_MAX - 64 - used) PyErr_NoMemory();
    else if (g->errors != NULL && g->rest.widest > g->widest) return make(g, g->rest.widest, used + (size_t)more);
    else return resize(g, used + (size_t)more);
    return -1;
}

/* The object becomes a str of what is in it, which is ASCII, and in memory: -1 with an exception set. */
static int join(Growing *g, Filled *outcome)
{
    Decoded d = {.bytes = g->text, .size = g->text_used, .characters = g->characters, .widest = g->needed};
    if (g->made != NULL) {
        d.ascii = start_of(g);
        d.ascii_size = filled(g);
    }
    Py_XSETREF(g->made, bitlex_py_decoded(&d, g->errors, g->decoder->vectors));
    if (g->made == NULL && !PyErr_Occurred()) *outcome = ILL_FORMED;
    return g->made == NULL && *outcome != ILL_FORMED ? -1 : 0;
}

/* From bytes, where these are not UTF-8. */
static PyObject *of_bytes(const Growing *g)
{
    PyObject *bytes = bitlex_py_decode_growing(g->decoder, g->source, NULL, g->skip);
    return bytes == NULL ? NULL : bitlex_py_decoded_bytes(bytes, g->errors, g->decoder->vectors);
}

PyObject *bitlex_py_decode_growing(const bpe_decoder *decoder, const Source *source, const char *errors, int skip)
{
    Growing g = {.decoder = decoder, .source = source, .errors = errors, .skip = skip};
    Filled outcome = MEASURED;
    int failed = begin(&g);
    while (!failed && (outcome == MEASURED || outcome == WIDER)) {
        PyThreadState *released = source->count > RELEASE ? PyEval_SaveThread() : NULL;
        outcome = fill(&g);
        if (released != NULL) PyEval_RestoreThread(released);
        if (outcome == MEASURED) failed = grow(&g);
        if (outcome == WIDER) failed = take_memory(&g);
    }
    if (!failed && outcome == DONE) failed = g.text != NULL ? join(&g, &outcome) : resize(&g, filled(&g));
    bitlex_py_let_go(FOR_TEXTS, g.text, g.text_size, g.text_used);
    if (failed) Py_CLEAR(g.made);
    else if (outcome == ILL_FORMED) Py_XSETREF(g.made, of_bytes(&g));
    return g.made;
}
