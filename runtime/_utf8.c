/* _utf8.c - a str or anything bytes-like in; out, its bytes, as they lie in memory where that is UTF-8 already; where others may write to
 * them, and who asks cannot bear that, a copy.
 *
 * Surrogates are no UTF-8. A high and a low one side by side become the character that they spell in UTF-16, any other U+FFFD, as
 * tiktoken has it.
 *
 * Rejected: CPython's own UTF-8 of a str (it would be kept inside the str, for good); asking for what is read two to eight kilobytes
 * ahead (JSON of four bytes a character lost 3 %: it takes an eighth of the time of encoding to read so much from memory).
 */
#include "_tokens.h"

#define RUN 16 /* units at a time */
#define SLACK UTF8_SLACK

/* Store a character, and garbage behind it: no branch, for in most scripts letters and spaces are of different lengths. */
static inline uint8_t *store(uint8_t *to, uint32_t c)
{
    static const uint32_t marks[4] = {0, 0x80C0, 0x8080E0, 0x808080F0};
    const unsigned more = (c >= 0x80) + (c >= 0x800) + (c >= 0x10000);
    const uint32_t bits = c >> 18 | (c >> 12 & 63) << 8 | (c >> 6 & 63) << 16 | (c & 63) << 24;
    const uint32_t four = bits >> (24 - 8 * more) | marks[more] | (more == 0 ? c : 0);
    to[0] = (uint8_t)four;
    to[1] = (uint8_t)(four >> 8);
    to[2] = (uint8_t)(four >> 16);
    to[3] = (uint8_t)(four >> 24);
    return to + more + 1;
}

/* Unit i of a str that has so many bytes for each. */
static inline uint32_t unit(const void *from, size_t width, size_t i)
{
    return width == 1 ? ((const uint8_t *)from)[i] : width == 2 ? ((const uint16_t *)from)[i] : ((const uint32_t *)from)[i];
}

static inline int is_surrogate(uint32_t c) { return (c & 0xFFFFF800) == 0xD800; }

/* The character at i, of which *used units are taken. */
static inline uint32_t character(const void *from, size_t width, size_t i, size_t length, size_t *used)
{
    const uint32_t high = unit(from, width, i);
    uint32_t low;
    *used = 1;
    if (!is_surrogate(high)) return high;
    low = i + 1 < length ? unit(from, width, i + 1) : 0;
    if (high >= 0xDC00 || low < 0xDC00 || low > 0xDFFF) return 0xFFFD;
    *used = 2;
    return 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
}

/* Some units at a time, from *i on: as many as are all ASCII. */
static inline uint8_t *store_ascii(uint8_t *to, const void *from, size_t width, size_t *i, size_t length)
{
    for (; length - *i >= RUN; to += RUN, *i += RUN) {
        uint32_t all = 0;
        size_t k;
        for (k = 0; k < RUN; k++) all |= unit(from, width, *i + k);
        if (all >= 0x80) break;
        for (k = 0; k < RUN; k++) to[k] = (uint8_t)unit(from, width, *i + k);
    }
    return to;
}

int bitlex_py_vectors;

#if defined(__GNUC__) && defined(__x86_64__)
#include <immintrin.h>

/* As many units from `from` on as are ASCII, 64 at a time, up to `most`: how many. */
__attribute__((target("avx512f,avx512bw,avx512vbmi,avx512vbmi2,popcnt"))) static inline size_t
store_64(uint8_t *to, const uint8_t *from, size_t width, size_t most)
{
    size_t n, k;
    for (n = 0; most - n >= 64; n += 64, from += 64 * width) {
        __m512i parts[4], all = _mm512_setzero_si512();
        for (k = 0; k < width; k++) {
            parts[k] = _mm512_loadu_si512(from + 64 * k);
            all = _mm512_or_si512(all, parts[k]);
        }
        if (width == 1) {
            if (_mm512_movepi8_mask(all) != 0) break;
            _mm512_storeu_si512(to + n, all);
        } else if (width == 2) {
            if (_mm512_test_epi16_mask(all, _mm512_set1_epi16((short)0xFF80)) != 0) break;
            for (k = 0; k < 2; k++) _mm256_storeu_si256((void *)(to + n + 32 * k), _mm512_cvtepi16_epi8(parts[k]));
        } else {
            if (_mm512_test_epi32_mask(all, _mm512_set1_epi32((int)0xFFFFFF80)) != 0) break;
            for (k = 0; k < 4; k++) _mm_storeu_si128((void *)(to + n + 16 * k), _mm512_cvtepi32_epi8(parts[k]));
        }
    }
    return n;
}

/* So many characters, up to sixteen, where `two` says which are not ASCII: each is made four bytes, and those that it does not have are
 * squeezed out. */
__attribute__((target("avx512f,avx512bw,avx512vbmi,avx512vbmi2,popcnt"))) static inline uint8_t *
store_characters(uint8_t *to, __m512i c, __mmask16 two, size_t count)
{
    const __m512i shifts = _mm512_set1_epi64(0x20262C3200060C12); /* for each byte of two units, where its six bits are */
    __m512i bytes, marks = _mm512_maskz_set1_epi32(two, (int)0x80C00000);
    __mmask64 used;
    marks = _mm512_mask_set1_epi32(marks, _mm512_cmpge_epu32_mask(c, _mm512_set1_epi32(0x800)), (int)0x8080E000);
    marks = _mm512_mask_set1_epi32(marks, _mm512_cmpge_epu32_mask(c, _mm512_set1_epi32(0x10000)), (int)0x808080F0);
    bytes = _mm512_and_si512(_mm512_multishift_epi64_epi8(shifts, c), _mm512_set1_epi32(0x3F3F3F3F));
    bytes = _mm512_mask_slli_epi32(_mm512_or_si512(bytes, marks), (__mmask16)~two, c, 24);
    used = _mm512_movepi8_mask(_mm512_or_si512(marks, _mm512_set1_epi32((int)0x80000000))) & ~UINT64_C(0) >> (64 - 4 * count);
    _mm512_storeu_si512(to, _mm512_maskz_compress_epi8(used, bytes));
    return to + __builtin_popcountll(used);
}

__attribute__((target("avx512f,avx512bw,avx512vbmi,avx512vbmi2,popcnt"))) static inline int has_surrogates(__m512i c)
{
    return _mm512_cmpeq_epi32_mask(_mm512_and_si512(c, _mm512_set1_epi32((int)0xFFFFF800)), _mm512_set1_epi32(0xD800)) != 0;
}

/* The same up to the first sixteen that have a surrogate, with vectors. */
__attribute__((target("avx512f,avx512bw,avx512vbmi,avx512vbmi2,popcnt"))) static uint8_t *
store_vectors(uint8_t *to, const void *from, size_t width, size_t *i, size_t length)
{
    for (; length - *i >= RUN; *i += RUN) {
        const uint8_t *at = (const uint8_t *)from + width * *i;
        const __m512i c = width == 1   ? _mm512_cvtepu8_epi32(_mm_loadu_si128((const void *)at))
                          : width == 2 ? _mm512_cvtepu16_epi32(_mm256_loadu_si256((const void *)at))
                                       : _mm512_loadu_si512(at);
        const __mmask16 two = _mm512_cmpge_epu32_mask(c, _mm512_set1_epi32(0x80));
        if (two == 0) {
            const uint8_t *behind = at + width * RUN;
            size_t more = length - *i - RUN;
            _mm_storeu_si128((void *)to, _mm512_cvtepi32_epi8(c));
            to += RUN;
            more = width == 1 ? store_64(to, behind, 1, more) : width == 2 ? store_64(to, behind, 2, more) : store_64(to, behind, 4, more);
            to += more;
            *i += more;
            continue;
        }
        if (has_surrogates(c)) return to;
        to = store_characters(to, c, two, RUN);
    }
    if (*i < length) { /* what is behind is not read */
        const __m512i some = _mm512_maskz_loadu_epi8(~UINT64_C(0) >> (64 - width * (length - *i)), (const uint8_t *)from + width * *i);
        const __m512i c = width == 1   ? _mm512_cvtepu8_epi32(_mm512_castsi512_si128(some))
                          : width == 2 ? _mm512_cvtepu16_epi32(_mm512_castsi512_si256(some))
                                       : some;
        if (has_surrogates(c)) return to;
        to = store_characters(to, c, _mm512_cmpge_epu32_mask(c, _mm512_set1_epi32(0x80)), length - *i);
        *i = length;
    }
    return to;
}

/* Four characters of four bytes each -> those that they have, side by side; and how many these are. By whether a character has an even number
 * of bytes (bits 0 to 3), and whether it has more than two (bits 4 to 7). */
static uint8_t orders[256][16], sizes[256];

static void fill_orders(void)
{
    for (unsigned which = 0; which < 256; which++) {
        uint8_t order[16] = {0}, n = 0;
        for (unsigned k = 0; k < 4; k++) {
            const unsigned more = (which >> k & 1) + 2 * (which >> (4 + k) & 1);
            for (unsigned byte = 3 - more; byte < 4; byte++) order[n++] = (uint8_t)(4 * k + byte);
        }
        memcpy(orders[which], order, sizeof order); /* by another interpreter, what is there is written again */
        sizes[which] = n;
    }
}

__attribute__((target("avx2"))) static inline uint8_t *squeeze(uint8_t *to, __m128i four, unsigned which)
{
    _mm_storeu_si128((void *)to, _mm_shuffle_epi8(four, _mm_loadu_si128((const void *)orders[which])));
    return to + sizes[which];
}

/* As many units from `from` on as are ASCII, 32 at a time, up to `most`: how many. */
__attribute__((target("avx2"))) static inline size_t store_32(uint8_t *to, const uint8_t *from, const size_t width, size_t most)
{
    const __m256i beyond = width == 1   ? _mm256_set1_epi8((char)0x80)
                           : width == 2 ? _mm256_set1_epi16((short)0xFF80)
                                        : _mm256_set1_epi32((int)0xFFFFFF80);
    size_t n, k;
    for (n = 0; most - n >= 32; n += 32, from += 32 * width) {
        __m256i parts[4], all = _mm256_setzero_si256();
        for (k = 0; k < width; k++) {
            parts[k] = _mm256_loadu_si256((const void *)(from + 32 * k));
            all = _mm256_or_si256(all, parts[k]);
        }
        if (!_mm256_testz_si256(all, beyond)) break;
        if (width == 2) all = _mm256_permute4x64_epi64(_mm256_packus_epi16(parts[0], parts[1]), 0xD8);
        if (width == 4) {
            all = _mm256_packus_epi16(_mm256_packus_epi32(parts[0], parts[1]), _mm256_packus_epi32(parts[2], parts[3]));
            all = _mm256_permutevar8x32_epi32(all, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
        }
        _mm256_storeu_si256((void *)(to + n), all);
    }
    return n;
}

/* Up to the first eight that have a surrogate, or to what is less than eight. Eight at a time are made four bytes each, the last ones of which
 * are those that they have. */
__attribute__((target("avx2"))) static inline uint8_t *
store_eights(uint8_t *to, const void *from, const size_t width, size_t *i, size_t length)
{
    while (length - *i >= 8) {
        const uint8_t *at = (const uint8_t *)from + width * *i;
        const __m256i c = width == 1   ? _mm256_cvtepu8_epi32(_mm_loadl_epi64((const void *)at))
                          : width == 2 ? _mm256_cvtepu16_epi32(_mm_loadu_si128((const void *)at))
                                       : _mm256_loadu_si256((const void *)at);
        const __m256i two = _mm256_cmpgt_epi32(c, _mm256_set1_epi32(0x7F)), three = _mm256_cmpgt_epi32(c, _mm256_set1_epi32(0x7FF)),
                      four = _mm256_cmpgt_epi32(c, _mm256_set1_epi32(0xFFFF));
        __m256i bytes, marks;
        unsigned even, more;
        if (_mm256_testz_si256(two, two)) { /* and so may be what follows */
            const size_t ascii = store_32(to, at, width, length - *i);
            to += ascii;
            *i += ascii;
            if (ascii > 0) continue;
        }
        if (width > 1) {
            const __m256i half = _mm256_cmpeq_epi32(_mm256_and_si256(c, _mm256_set1_epi32((int)0xFFFFF800)), _mm256_set1_epi32(0xD800));
            if (!_mm256_testz_si256(half, half)) return to;
        }
        marks = _mm256_and_si256(two, _mm256_set1_epi32((int)0x80C00000));
        if (width > 1) marks = _mm256_blendv_epi8(marks, _mm256_set1_epi32((int)0x8080E000), three);
        if (width > 2) marks = _mm256_blendv_epi8(marks, _mm256_set1_epi32((int)0x808080F0), four);
        bytes = _mm256_and_si256(_mm256_slli_epi32(c, 10), _mm256_set1_epi32(0x003F0000));
        bytes = _mm256_or_si256(bytes, _mm256_and_si256(_mm256_slli_epi32(c, 24), _mm256_set1_epi32(0x3F000000)));
        if (width > 1) bytes = _mm256_or_si256(bytes, _mm256_and_si256(_mm256_srli_epi32(c, 4), _mm256_set1_epi32(0x00003F00)));
        if (width > 2) bytes = _mm256_or_si256(bytes, _mm256_srli_epi32(c, 18));
        bytes = _mm256_blendv_epi8(_mm256_slli_epi32(c, 24), _mm256_or_si256(bytes, marks), two);
        even = (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(_mm256_xor_si256(_mm256_xor_si256(two, three), four)));
        more = (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(three));
        to = squeeze(to, _mm256_castsi256_si128(bytes), (even & 15) | (more & 15) << 4);
        to = squeeze(to, _mm256_extracti128_si256(bytes, 1), even >> 4 | (more & 0xF0));
        *i += 8;
    }
    return to;
}

__attribute__((target("avx2"))) static uint8_t *store_by_eights(uint8_t *to, const void *from, size_t width, size_t *i, size_t length)
{
    if (width == 1) return store_eights(to, from, 1, i, length);
    return width == 2 ? store_eights(to, from, 2, i, length) : store_eights(to, from, 4, i, length);
}

/* As the processor has them, up to what BITLEX_TIER says when the module is imported: texts are made before it is known for which lexer. */
void bitlex_py_utf8_prepare(void)
{
    const char *tier = getenv("BITLEX_TIER");
    const int most = tier == NULL || *tier == 0 || strcmp(tier, "avx512") == 0 ? 2 : strcmp(tier, "avx2") == 0;
    fill_orders();
    bitlex_py_vectors = __builtin_cpu_supports("avx2") != 0;
    if (__builtin_cpu_supports("avx512vbmi2") && __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512bw")) bitlex_py_vectors = 2;
    if (bitlex_py_vectors > most) bitlex_py_vectors = most;
}

#else

void bitlex_py_utf8_prepare(void) {}
#define store_vectors store_ascii
#define store_by_eights store_ascii

#endif

uint8_t *bitlex_py_utf8_put(uint8_t *to, const void *from, size_t width, size_t length)
{
    size_t i = 0, used, until;
    while (i < length) {
        if (bitlex_py_vectors == 2) to = store_vectors(to, from, width, &i, length);
        else if (bitlex_py_vectors == 1) to = store_by_eights(to, from, width, &i, length);
        else if (width == 1) to = store_ascii(to, from, 1, &i, length);
        else to = width == 2 ? store_ascii(to, from, 2, &i, length) : store_ascii(to, from, 4, &i, length);
        for (until = length - i < RUN ? length : i + RUN; i < until; i += used) to = store(to, character(from, width, i, length, &used));
    }
    return to;
}

#if defined(__GNUC__)
#define ALWAYS __attribute__((always_inline))
#else
#define ALWAYS
#endif

/* As one loop without a branch, of units of one width, which compilers make one of vectors; how many are surrogates is counted, too. */
static inline ALWAYS uint64_t size_of(const void *from, const size_t width, size_t length, uint64_t *surrogates)
{
    uint64_t more = 0, halves = 0;
    for (size_t i = 0; i < length;) {
        const size_t until = length - i < 4096 ? length : i + 4096;
        uint32_t here = 0, half = 0; /* of 32 bits, as the units are, for vectors */
        for (; i < until; i++) {
            const uint32_t c = unit(from, width, i);
            here += (c >= 0x80) + (c >= 0x800) + (c >= 0x10000);
            half += is_surrogate(c);
        }
        more += here;
        halves += half;
    }
    *surrogates = halves;
    return length + more;
}

static inline ALWAYS uint64_t size_of_any(const void *from, size_t width, size_t length, uint64_t *surrogates)
{
    if (width == 1) return size_of(from, 1, length, surrogates);
    return width == 2 ? size_of(from, 2, length, surrogates) : size_of(from, 4, length, surrogates);
}

#if defined(__GNUC__) && defined(__x86_64__)
__attribute__((target("avx2"))) static uint64_t size_avx2(const void *from, size_t width, size_t length, uint64_t *surrogates)
{
    return size_of_any(from, width, length, surrogates);
}
#else
#define size_avx2 size_of_any
#endif

uint64_t bitlex_py_utf8_size(const void *from, size_t width, size_t length)
{
    uint64_t surrogates, size = bitlex_py_vectors > 0 ? size_avx2(from, width, length, &surrogates) : size_of_any(from, width, length, &surrogates);
    size_t used, i;
    for (i = 0; surrogates > 0 && i < length; i += used) {
        character(from, width, i, length, &used);
        if (used == 2) size -= 2; /* twice three bytes are four */
    }
    return size;
}

int bitlex_py_is_first_half(const void *from, size_t width, size_t i) { return (unit(from, width, i) & 0xFFFFFC00) == 0xD800; }

void bitlex_py_utf8_end(Utf8 *u)
{
    if (u->own != NULL) bitlex_py_let_go(FOR_TEXTS, u->own, u->own_size, (size_t)u->length);
    u->own = NULL;
    bitlex_py_text_end(&u->text);
}

/* Where so many bytes may be put, in what is lent or in memory of its own; NULL if there is none. */
static uint8_t *room_for(Utf8 *u, size_t size, uint8_t *lent)
{
    if (lent != NULL && size <= UTF8_LENT) {
        u->bytes = lent;
        return lent;
    }
    u->own_size = size;
    u->own = size == PY_SSIZE_T_MAX ? NULL : bitlex_py_take(FOR_TEXTS, size);
    u->bytes = u->own;
    return u->own;
}

/* The text is let go, with an exception. */
static int has_no_room(Utf8 *u)
{
    PyErr_NoMemory();
    bitlex_py_utf8_end(u);
    return -1;
}

/* bytes, or a view of bytes. */
static int is_constant(PyObject *text)
{
    if (PyMemoryView_Check(text)) text = PyMemoryView_GET_BASE(text);
    return text != NULL && PyBytes_CheckExact(text);
}

/* What holds a text; and where its bytes are, unless it is a str that has to be made UTF-8: then that is NULL. */
static int open_text(Utf8 *u, PyObject *text)
{
    static const bitlex_machine any; /* one that reads everything */
    u->own = NULL;
    u->own_size = 0;
    if (bitlex_py_text_begin(&u->text, &any, text) < 0) return -1;
    u->bytes = u->text.string == NULL || PyUnicode_IS_ASCII(u->text.string) ? u->text.data : NULL;
    u->length = u->text.length;
    return 0;
}

/* Make its bytes: 0, or -1 if there is no memory. */
static int make(Utf8 *u, uint8_t *lent)
{
    const size_t length = (size_t)u->text.length, width = u->text.encoding == BITLEX_LATIN1 ? 1 : u->text.encoding == BITLEX_UCS2 ? 2 : 4;
    const size_t widest = width == 1 ? 2 : width == 2 ? 3 : 4;
    uint8_t *to = room_for(u, length > (PY_SSIZE_T_MAX - SLACK) / widest ? PY_SSIZE_T_MAX : length * widest + SLACK, lent);
    if (to == NULL) return -1;
    u->length = (uint64_t)(bitlex_py_utf8_put(to, u->text.data, width, length) - to);
    return 0;
}

/* A str as it lies in memory, or made UTF-8; of anything else, where its bytes are. */
static int begin(Utf8 *u, PyObject *text, uint8_t *lent)
{
    if (open_text(u, text) < 0) return -1;
    return u->bytes == NULL && make(u, lent) < 0 ? has_no_room(u) : 0;
}

/* The same of what stays as it is: of a str, as its bytes are; of anything else that may change, a copy. */
static int keep(Utf8 *u, PyObject *text, uint8_t *lent)
{
    if (u->text.string != NULL || is_constant(text)) return 0;
    if (room_for(u, (size_t)u->length + SLACK, lent) == NULL) return has_no_room(u);
    memcpy(u->own != NULL ? u->own : lent, u->text.data, (size_t)u->length);
    return 0;
}

int bitlex_py_utf8_open(Utf8 *u, PyObject *text) { return open_text(u, text) < 0 ? -1 : keep(u, text, NULL); }

int bitlex_py_utf8_make(Utf8 *u) { return make(u, NULL); }

void bitlex_py_utf8_unmake(Utf8 *u)
{
    bitlex_py_let_go(FOR_TEXTS, u->own, u->own_size, (size_t)u->length);
    u->own = NULL;
    u->bytes = NULL;
}

int bitlex_py_utf8_begin(Utf8 *u, PyObject *text) { return begin(u, text, NULL); }

int bitlex_py_utf8_hold_in(Utf8 *u, PyObject *text, uint8_t *lent) { return begin(u, text, lent) < 0 ? -1 : keep(u, text, lent); }

int bitlex_py_utf8_hold(Utf8 *u, PyObject *text) { return bitlex_py_utf8_hold_in(u, text, NULL); }
