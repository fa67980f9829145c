/* _nfc.c - a text in; out, whether it is in NFC, or where it may not be; and where it can be cut.
 *
 *     in_nfc("na\u00efve")            // True: nothing in it is changed
 *     doubtful("e\u0301, x")         // [(0, 2)]: nothing outside of these places is changed, and each can be normalized by itself
 *
 * Nearly all texts are in NFC. Python sees that, too, two to seven times as slowly, but not of bytes, and not where a text is not. By UAX
 * #15, section 9, a text is if its combining classes never go down from mark to mark, and no character is one that NFC replaces, or that a
 * character before it may take in. Of the last kind, only those behind a character that takes others in, or has parts, are in doubt: so no
 * vowel sign of Bengali or Tamil is, as a rule.
 * A character whose class is 0, and which is none of these, is a border: nothing of what is behind it goes to what is before.
 *
 * Invariant: what is not doubtful is not changed by the NFC of Unicode 9.0 (generator/nfc.py). Surrogates are doubtful, since two of them
 * may spell a character; bytes that are no UTF-8 are borders, as they are in Python's surrogateescape.
 * Rejected: normalizing in C (what is doubtful is rare, and Python has it).
 */
#include "_native.h"

#include <string.h>

#include "bitlex_lanes.h"
#include "nfc.h"

#define AT_ONCE 8 /* units that are passed over together */
#define PLAIN 0x200 /* below it, all are borders */
#define ROW 3 /* bits of a code point: what is known together of those that share the others */
#define ROWS (BITLEX_NFC_LIMIT >> ROW)
#define LOOK 16   /* that are looked at one by one where some may not be */
#define NEAR 64   /* doubtful places so near to each other are one */

typedef struct {
    const uint8_t *data;
    size_t length;
    size_t width; /* bytes of a unit of a str; 0: the bytes of UTF-8 */
} Units;

/* The number of a code point: 0 or 1 for a border. */
static inline uint32_t number_of(uint32_t point)
{
    const uint32_t low = point & ((1u << BITLEX_NFC_SHIFT) - 1);
    return point < BITLEX_NFC_LIMIT ? bitlex_nfc_stage2[(uint32_t)bitlex_nfc_stage1[point >> BITLEX_NFC_SHIFT] << BITLEX_NFC_SHIFT | low] : 0;
}

/* Of each row, whether any of its code points is no border. Found out when the first text asks that has other letters than those of Latin-1, by
 * one thread, while others look at each character: to pack it would be more than all other tables. */
static uint8_t rows[ROWS];
static int rows_are_known, rows_are_made;

static void make_rows(void)
{
#if defined(__GNUC__)
    if (__atomic_exchange_n(&rows_are_made, 1, __ATOMIC_RELAXED)) return;
#else
    if (rows_are_made) return;
    rows_are_made = 1;
#endif
    for (uint32_t point = 0; point < BITLEX_NFC_LIMIT; point++) {
        if (number_of(point) > 1) rows[point >> ROW] = 1;
    }
#if defined(__GNUC__)
    __atomic_store_n(&rows_are_known, 1, __ATOMIC_RELEASE);
#else
    rows_are_known = 1;
#endif
}

static inline int has_rows(void)
{
#if defined(__GNUC__)
    return __atomic_load_n(&rows_are_known, __ATOMIC_ACQUIRE);
#else
    return rows_are_known;
#endif
}

static inline uint32_t row_of(uint32_t point) { return point < BITLEX_NFC_LIMIT ? rows[point >> ROW] : 0; }

/* The code point at i, of which *used units are taken: 0 for a byte that begins none. What is overlong is not told from what it spells:
 * it is in doubt where that is, which is asked again. */
static inline uint32_t point_at(const Units *u, size_t i, size_t *used)
{
    const uint8_t *p = u->data + i;
    uint32_t first, point, more, k;
    *used = 1;
    if (u->width == 2) return ((const uint16_t *)(const void *)u->data)[i];
    if (u->width == 4) return ((const uint32_t *)(const void *)u->data)[i];
    first = p[0];
    if ((first & 0xF0) == 0xE0 && u->length - i > 2) { /* as most that are asked for */
        const uint32_t second = p[1] ^ 0x80u, third = p[2] ^ 0x80u;
        if ((second | third) >= 0x40) return 0;
        *used = 3;
        return (first & 0x0F) << 12 | second << 6 | third;
    }
    if (first < 0x80) return first;
    if (first < 0xC2 || first > 0xF4) return 0;
    more = first < 0xE0 ? 1 : first < 0xF0 ? 2 : 3;
    if (u->length - i <= more) return 0;
    point = first & (0x3Fu >> more);
    for (k = 1; k <= more; k++) {
        const uint8_t next = p[k];
        if ((next & 0xC0) != 0x80) return 0;
        point = point << 6 | (next & 0x3F);
    }
    *used = more + 1;
    return point;
}

/* Whether these two bytes may begin anything but a border: nothing else begins so, well-formed or not. */
static inline uint32_t may_begin(uint8_t lead, uint8_t second)
{
    return (uint32_t)bitlex_nfc_leads[(uint32_t)lead << 3 | (second >> 3 & 7)] >> (second & 7) & 1;
}

/* From i on, the first units that may begin anything but a border. */
static inline size_t pass_over(const Units *u, size_t i)
{
    if (u->width > 0 && !has_rows()) return i;
    for (; u->length - i > AT_ONCE; i += AT_ONCE) {
        const uint8_t *p = u->data + i * (u->width == 0 ? 1 : u->width);
        uint32_t all = 0, k;
        if (u->width == 0) {
            uint64_t bytes;
            memcpy(&bytes, p, AT_ONCE);
            if ((bytes & 0x8080808080808080) == 0) continue;
            for (k = 0; k < AT_ONCE; k++) all |= may_begin(p[k], p[k + 1]);
            if (all != 0) break;
        } else {
            for (k = 0; k < AT_ONCE && u->width == 2; k++) all |= ((const uint16_t *)(const void *)p)[k];
            for (k = 0; k < AT_ONCE && u->width == 4; k++) all |= ((const uint32_t *)(const void *)p)[k];
            if (all < PLAIN) continue;
            for (k = 0, all = 0; k < AT_ONCE && u->width == 2; k++) all |= row_of(((const uint16_t *)(const void *)p)[k]);
            for (k = 0; k < AT_ONCE && u->width == 4; k++) all |= row_of(((const uint32_t *)(const void *)p)[k]);
            if (all != 0) break;
        }
    }
    return i;
}

/* Where the character before i begins. */
static inline size_t step_back(const Units *u, size_t i)
{
    size_t back = 1;
    if (u->width == 0) {
        while (back < 4 && back < i && (u->data[i - back] & 0xC0) == 0x80) back++;
    }
    return i - back;
}

/* Whether the characters from i on up to the next border are in doubt behind what is before them; *end: that border. */
static int doubts(const Units *u, size_t i, size_t before, size_t *end)
{
    size_t used;
    uint32_t number = before < i ? number_of(point_at(u, before, &used)) : 0, word, last = 0;
    int takes = before < i && (number == 1 || before + used != i), doubt = 0;
    while (i < u->length && (number = number_of(point_at(u, i, &used))) > 1) {
        word = bitlex_nfc_words[number];
        doubt |= (word & BITLEX_NFC_NO) != 0 || ((word & 255) != 0 && last > (word & 255)) || ((word & BITLEX_NFC_MAYBE) != 0 && takes);
        if ((word & 255) == 0) takes = (word & BITLEX_NFC_FIRST) != 0;
        last = word & 255;
        i += used;
    }
    *end = i;
    return doubt;
}

/* The next place in doubt, from *at on, which is a border or the beginning: 0 if there is none. `width` is a constant where it is called. */
static inline int next_doubt(Units u, const size_t width, size_t *at, size_t *start)
{
    size_t i = *at, used, before, end;
    u.width = width;
    while ((i = pass_over(&u, i)) < u.length) {
        const size_t stop = u.length - i < LOOK ? u.length : i + LOOK;
        while (i < stop) {
            if (number_of(point_at(&u, i, &used)) <= 1) {
                i += used;
                continue;
            }
            before = i > 0 ? step_back(&u, i) : 0;
            if (doubts(&u, i, before, &end)) {
                *start = before;
                *at = end;
                return 1;
            }
            i = end;
        }
    }
    return 0;
}

static int find_doubt(const Units *u, size_t *at, size_t *start)
{
    if (u->width > 0 && !has_rows()) make_rows();
    return u->width == 0 ? next_doubt(*u, 0, at, start) : u->width == 2 ? next_doubt(*u, 2, at, start) : next_doubt(*u, 4, at, start);
}

/* The units of a text; 0 if it is in NFC whatever it is made of. */
static int units_of(PyObject *text, Units *u)
{
    u->data = PyUnicode_DATA(text);
    u->length = (size_t)PyUnicode_GET_LENGTH(text);
    u->width = (size_t)PyUnicode_KIND(text);
    return u->width > 1;
}

static int any_doubt(const Units *u)
{
    size_t at = 0, start;
    int found;
    if (u->length < RELEASE) return find_doubt(u, &at, &start);
    Py_BEGIN_ALLOW_THREADS
    found = find_doubt(u, &at, &start);
    Py_END_ALLOW_THREADS
    return found;
}

int bitlex_py_in_nfc(PyObject *text)
{
    Units u;
    Py_buffer view;
    int found;
    if (PyUnicode_Check(text)) return !units_of(text, &u) || !any_doubt(&u);
    if (PyObject_GetBuffer(text, &view, PyBUF_SIMPLE) < 0) {
        PyErr_Clear(); /* whoever reads it says what it is */
        return 0;
    }
    u.data = view.buf;
    u.length = (size_t)view.len;
    u.width = 0;
    found = any_doubt(&u);
    PyBuffer_Release(&view);
    return !found;
}

PyObject *bitlex_py_is_in_nfc(PyObject *module, PyObject *text)
{
    (void)module;
    return PyBool_FromLong(bitlex_py_in_nfc(text));
}

/* first_in_doubt(list, at): of the texts of a list, from one on, the first that may not be in NFC, or how many there are. */
PyObject *bitlex_py_first_in_doubt(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    Py_ssize_t at = bitlex_py_list_from(arguments, count);
    (void)module;
    if (at < 0) return NULL;
    for (; at < PyList_GET_SIZE(arguments[0]); at++) { /* which may be another list of other texts once the GIL was released */
        PyObject *text = Py_NewRef(PyList_GET_ITEM(arguments[0], at));
        const int known = bitlex_py_in_nfc(text);
        Py_DECREF(text);
        if (!known) break;
        if (at % LISTENS == 0 && PyErr_CheckSignals() < 0) return NULL;
    }
    return PyLong_FromSsize_t(at);
}

size_t bitlex_py_last_border(const uint8_t *bytes, size_t length, size_t *bare)
{
    Units u = {bytes, length, 0};
    size_t at;
    uint32_t used;
    u.length -= bitlex_unfinished(bytes, length);
    for (at = u.length; at > *bare;) {
        const size_t start = step_back(&u, at);
        const uint32_t point = bitlex_decode(bytes + start, bytes + at, &used), number = number_of(point);
        const int wrong = start + used != at || (point == 0xFFFD && !(used == 3 && bytes[start] == 0xEF));
        if (wrong && at > 1) return at - 1; /* a byte that is no UTF-8 */
        if ((number <= 1 || (bitlex_nfc_words[number] & BITLEX_NFC_BORDER) != 0) && start > 0) return start;
        at = start;
    }
    *bare = u.length;
    return BITLEX_NO_BORDER;
}

int bitlex_py_may_change(const uint8_t *bytes, size_t length)
{
    const Units u = {bytes, length, 0};
    size_t at = 0, start;
    return !bitlex_is_ascii(bytes, length) && find_doubt(&u, &at, &start);
}

static int append_place(PyObject *places, size_t start, size_t end)
{
    PyObject *place = Py_BuildValue("(nn)", (Py_ssize_t)start, (Py_ssize_t)end);
    const int failed = place == NULL || PyList_Append(places, place) < 0;
    Py_XDECREF(place);
    return failed ? -1 : 0;
}

PyObject *bitlex_py_doubtful(PyObject *module, PyObject *text)
{
    PyObject *places;
    Units u;
    size_t at = 0, start = 0, next, end = 0;
    (void)module;
    if (!PyUnicode_Check(text)) return PyErr_Format(PyExc_TypeError, "expected str, got %.200s", Py_TYPE(text)->tp_name);
    places = PyList_New(0);
    if (places == NULL || !units_of(text, &u)) return places;
    while (find_doubt(&u, &at, &next)) {
        if (end > 0 && next - end >= NEAR && append_place(places, start, end) < 0) goto failed;
        if (end == 0 || next - end >= NEAR) start = next;
        end = at;
    }
    if (end > 0 && append_place(places, start, end) < 0) goto failed;
    return places;
failed:
    Py_DECREF(places);
    return NULL;
}
