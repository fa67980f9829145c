/* _utf8.c - a str or anything bytes-like in; out, its bytes, as they lie in memory where that is UTF-8 already.
 *
 * Surrogates are no UTF-8. A high and a low one side by side become the character that they spell in UTF-16, any other U+FFFD, as
 * tiktoken has it.
 *
 * Rejected: CPython's own UTF-8 of a str (it would be kept inside the str, for good).
 */
#include "_tokens.h"

static inline uint8_t *store(uint8_t *to, uint32_t c)
{
    if (c < 0x80) {
        *to++ = (uint8_t)c;
    } else if (c < 0x800) {
        *to++ = (uint8_t)(0xC0 | c >> 6);
        *to++ = (uint8_t)(0x80 | (c & 63));
    } else if (c < 0x10000) {
        *to++ = (uint8_t)(0xE0 | c >> 12);
        *to++ = (uint8_t)(0x80 | (c >> 6 & 63));
        *to++ = (uint8_t)(0x80 | (c & 63));
    } else {
        *to++ = (uint8_t)(0xF0 | c >> 18);
        *to++ = (uint8_t)(0x80 | (c >> 12 & 63));
        *to++ = (uint8_t)(0x80 | (c >> 6 & 63));
        *to++ = (uint8_t)(0x80 | (c & 63));
    }
    return to;
}

static uint8_t *from_latin1(uint8_t *to, const uint8_t *from, size_t length)
{
    size_t i = 0;
    while (i < length) {
        uint64_t eight;
        if (i + 8 <= length) {
            memcpy(&eight, from + i, 8);
            if ((eight & UINT64_C(0x8080808080808080)) == 0) {
                memcpy(to, &eight, 8);
                to += 8;
                i += 8;
                continue;
            }
        }
        to = store(to, from[i++]);
    }
    return to;
}

static inline int is_surrogate(uint32_t c) { return (c & 0xFFFFF800) == 0xD800; }

/* The character at i, of which *used units are taken. */
static uint32_t mend(uint32_t high, uint32_t low, size_t *used)
{
    if (high >= 0xDC00 || low < 0xDC00 || low > 0xDFFF) return 0xFFFD;
    *used = 2;
    return 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
}

static uint8_t *from_ucs2(uint8_t *to, const uint16_t *from, size_t length)
{
    size_t i, used;
    for (i = 0; i < length; i += used) {
        uint32_t c = from[i];
        used = 1;
        if (is_surrogate(c)) c = mend(c, i + 1 < length ? from[i + 1] : 0, &used);
        to = store(to, c);
    }
    return to;
}

static uint8_t *from_ucs4(uint8_t *to, const uint32_t *from, size_t length)
{
    size_t i, used;
    for (i = 0; i < length; i += used) {
        uint32_t c = from[i];
        used = 1;
        if (is_surrogate(c)) c = mend(c, i + 1 < length ? from[i + 1] : 0, &used);
        to = store(to, c);
    }
    return to;
}

void bitlex_py_utf8_end(Utf8 *u)
{
    PyMem_RawFree(u->own);
    u->own = NULL;
    bitlex_py_text_end(&u->text);
}

int bitlex_py_utf8_begin(Utf8 *u, PyObject *text)
{
    static const bitlex_machine any; /* one that reads everything */
    const void *data;
    size_t length, widest;
    u->own = NULL;
    if (bitlex_py_text_begin(&u->text, &any, text) < 0) return -1;
    data = u->text.data;
    length = (size_t)u->text.length;
    if (u->text.string == NULL || PyUnicode_IS_ASCII(u->text.string)) {
        u->bytes = data;
        u->length = length;
        return 0;
    }
    widest = u->text.encoding == BITLEX_LATIN1 ? 2 : u->text.encoding == BITLEX_UCS2 ? 3 : 4;
    u->own = length > PY_SSIZE_T_MAX / widest ? NULL : PyMem_RawMalloc(length * widest);
    if (u->own == NULL) {
        PyErr_NoMemory();
        bitlex_py_utf8_end(u);
        return -1;
    }
    u->bytes = u->own;
    if (widest == 2) u->length = (uint64_t)(from_latin1(u->own, data, length) - u->own);
    else if (widest == 3) u->length = (uint64_t)(from_ucs2(u->own, data, length) - u->own);
    else u->length = (uint64_t)(from_ucs4(u->own, data, length) - u->own);
    return 0;
}
