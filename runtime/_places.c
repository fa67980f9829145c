/* _places.c - places of tokens in the UTF-8 of a str in, in characters of the str out.
 *
 *     "\u00e9t\u00e9" is C3 A9 74 C3 A9: the token from byte 0 to 2 is from character 0 to 1
 *
 * Of a whole text, or of what a stream holds of one. A token that has only some bytes of a character has all of it. Characters are counted eight
 * bytes at a time. Where two surrogates spell one character, it is two of the str, and bytes are gone through one by one; what tells is that the
 * str has more characters than its UTF-8. A stream keeps where such are.
 */
#include "_encode.h"
#include "_places.h"

#define EACH UINT64_C(0x0101010101010101)  /* bytes */
#define PAIRS UINT64_C(0x0001000100010001) /* of bytes */
#define LOW UINT64_C(0x00FF00FF00FF00FF)

static inline int starts_character(uint8_t byte) { return (byte & 0xC0) != 0x80; }

/* A bit in each of eight bytes that starts a character. */
static inline uint64_t starts_in(const uint8_t *bytes)
{
    uint64_t word;
    memcpy(&word, bytes, 8);
    return (~word >> 7 | word >> 6) & EACH;
}

static uint64_t count_starts(const uint8_t *bytes, uint64_t length)
{
    uint64_t count = 0, at = 0;
    while (length - at >= 8) {
        const uint64_t end = length - at < 8 * 255 ? length - 7 : at + 8 * 255 - 7;
        uint64_t each = 0; /* in each byte, how many of those met there */
        for (; at < end; at += 8) each += starts_in(bytes + at);
        count += (each & LOW) * PAIRS >> 48;
        count += (each >> 8 & LOW) * PAIRS >> 48;
    }
    for (; at < length; at++) count += (uint64_t)starts_character(bytes[at]);
    return count;
}

/* How many characters of a str became this one, that starts with this byte: two if they are surrogates, which only spell what has four. */
static inline uint64_t units(const Utf8 *u, uint64_t at, uint8_t byte)
{
    return byte >= 0xF0 && (PyUnicode_READ_CHAR(u->text.string, (Py_ssize_t)at) & 0xFFFFF800) == 0xD800 ? 2 : 1;
}

static void count_units(const Utf8 *u, Ids *ids)
{
    uint64_t at = 0, last = 0, past = 0; /* a place; where the character that has the byte before it starts and ends in the str */
    for (size_t i = 0; i < ids->used; i++) {
        for (int side = 0; side < 2; side++) {
            uint64_t *place = ids->places + 2 * i + side;
            const uint64_t to = *place < u->length ? *place : u->length; /* none is beyond, but by tables that somebody forged */
            for (; at < to; at++) {
                if (!starts_character(u->bytes[at])) continue;
                last = past;
                past += units(u, past, u->bytes[at]);
            }
            *place = side == 0 && to < u->length && !starts_character(u->bytes[to]) ? last : past;
        }
    }
}

/* How many characters start from one place of a text of such a length to another. */
static inline uint64_t starts_between(const uint8_t *bytes, uint64_t length, uint64_t from, uint64_t to)
{
    const uint64_t size = to - from;
    if (size > 8 || length - from < 8) return count_starts(bytes + from, size);
    if (size == 0) return 0;
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    return (starts_in(bytes + from) >> 8 * (8 - size)) * EACH >> 56;
#else
    return (starts_in(bytes + from) << 8 * (8 - size)) * EACH >> 56;
#endif
}

/* --- texts in parts ---------------------------------------------------------------------------------------------------- */

uint64_t bitlex_py_characters_in(const Stretch *h, uint64_t length)
{
    uint64_t count = count_starts(h->bytes, length);
    for (size_t i = 0; i < h->pair_count && h->pairs[i] - h->base < length; i++) count++;
    return count;
}

uint32_t bitlex_py_weight_at(const Stretch *h, uint64_t place)
{
    uint64_t start = place;
    if (place >= h->length || starts_character(h->bytes[place])) return 0;
    while (start > 0 && !starts_character(h->bytes[start])) start--;
    if (!starts_character(h->bytes[start])) return h->weight;
    for (size_t i = 0; i < h->pair_count; i++) {
        if (h->pairs[i] - h->base == start) return 2;
    }
    return 1;
}

void bitlex_py_places_in(const Stretch *h, uint64_t *places, size_t count)
{
    const uint64_t shift = h->before - h->base; /* may be below zero: it comes out right */
    uint64_t at = 0, past = h->before; /* a place, and how many characters start before it */
    size_t pair = 0;
    if (count_starts(h->bytes, h->length) == h->length) { /* all is ASCII */
        for (size_t i = 0; i < 2 * count; i++) places[i] = (places[i] < h->base + h->length ? places[i] : h->base + h->length) + shift;
        return;
    }
    for (size_t i = 0; i < 2 * count; i++) {
        uint64_t place = places[i] - h->base;
        if (place > h->length) place = h->length; /* none is, nor do they go back, but by tables that somebody forged */
        if (place < at) place = at;
        past += starts_between(h->bytes, h->length, at, place);
        for (; pair < h->pair_count && h->pairs[pair] - h->base < place; pair++) past++;
        places[i] = past - (i % 2 == 0 ? bitlex_py_weight_at(h, place) : 0);
        at = place;
    }
}

int bitlex_py_find_pairs(PyObject *text, uint64_t at, uint64_t **pairs, size_t *count, size_t *room)
{
    const Py_ssize_t characters = PyUnicode_GET_LENGTH(text);
    const int kind = PyUnicode_KIND(text);
    const void *data = PyUnicode_DATA(text);
    for (Py_ssize_t i = 0; i < characters; i++) {
        const Py_UCS4 one = PyUnicode_READ(kind, data, i);
        const int is_pair = (one & 0xFFFFFC00) == 0xD800 && i + 1 < characters && (PyUnicode_READ(kind, data, i + 1) & 0xFFFFFC00) == 0xDC00;
        if (is_pair && *count == *room) {
            uint64_t *grown = PyMem_RawRealloc(*pairs, (2 * *room + 16) * sizeof *grown);
            if (grown == NULL) return -1;
            *pairs = grown;
            *room = 2 * *room + 16;
        }
        if (is_pair) (*pairs)[(*count)++] = at;
        i += is_pair;
        at += is_pair || one >= 0x10000 ? 4 : one >= 0x800 ? 3 : one >= 0x80 ? 2 : 1;
    }
    return 0;
}

int bitlex_py_has_pairs(PyObject *text, const uint8_t *bytes, uint64_t length)
{
    return PyUnicode_KIND(text) != PyUnicode_1BYTE_KIND && count_starts(bytes, length) != (uint64_t)PyUnicode_GET_LENGTH(text);
}

/* --- whole texts ------------------------------------------------------------------------------------------------------- */

void bitlex_py_count_characters(const Utf8 *u, Ids *ids)
{
    const uint64_t length = u->length;
    uint64_t at = 0, past = 0; /* a place, and how many characters start before it */
    if (PyUnicode_IS_ASCII(u->text.string)) {
        for (size_t i = 0; i < 2 * ids->used; i++) ids->places[i] = ids->places[i] < length ? ids->places[i] : length;
        return;
    }
    if (count_starts(u->bytes, length) != (uint64_t)PyUnicode_GET_LENGTH(u->text.string)) {
        count_units(u, ids);
        return;
    }
    for (uint64_t *place = ids->places, *end = place + 2 * ids->used; place < end; place += 2) {
        uint64_t from = place[0] < length ? place[0] : length, to = place[1] < length ? place[1] : length;
        if (from < at) from = at; /* none is, nor beyond the end, but by tables that somebody forged */
        if (to < from) to = from;
        past += starts_between(u->bytes, length, at, from);
        place[0] = past - (from < length && !starts_character(u->bytes[from]));
        past += starts_between(u->bytes, length, from, to);
        place[1] = past;
        at = to;
    }
}
