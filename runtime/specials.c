/* specials.c - see specials.h.
 *
 * Where a token may start is looked for in all of a text, so it is done by vectors: those of memchr, or, where each token that starts with a
 * byte goes on with the same one, our own for both. For texts have '<' (each tag of HTML), and hardly any '<|'.
 */
#include "specials.h"

#include <stdlib.h>
#include <string.h>

#if defined(__SSE2__) && defined(__GNUC__)
#include <emmintrin.h>
#endif

static uint32_t new_node(specials *s, uint8_t byte)
{
    const special_node made = {UINT32_MAX, 0, 0, byte};
    if (s->count == s->room) {
        const size_t room = s->room ? 2 * s->room : 64;
        special_node *grown = realloc(s->nodes, room * sizeof *grown);
        if (grown == NULL) return 0;
        s->nodes = grown;
        s->room = room;
    }
    s->nodes[s->count] = made;
    return (uint32_t)s->count++;
}

static uint32_t child(const specials *s, uint32_t node, uint8_t byte)
{
    uint32_t at = s->nodes[node].first_child;
    while (at != 0 && s->nodes[at].byte != byte) at = s->nodes[at].next;
    return at;
}

int specials_add(specials *s, const uint8_t *bytes, size_t length, uint32_t id)
{
    const int16_t second = length > 1 ? bytes[1] : -1;
    uint32_t node = 0;
    size_t i;
    int k;
    if (s->count == 0) {
        new_node(s, 0);
        if (s->count == 0) return -1;
    }
    if (!s->firsts[bytes[0]]) {
        s->firsts[bytes[0]] = 1;
        if (s->few_count == 4) s->few_count = -1;
        if (s->few_count >= 0) {
            s->second[s->few_count] = second;
            s->few[s->few_count++] = bytes[0];
        }
    }
    for (k = 0; k < s->few_count; k++) {
        if (s->few[k] == bytes[0] && s->second[k] != second) s->second[k] = -1;
    }
    for (i = 0; i < length; i++) {
        uint32_t next = child(s, node, bytes[i]);
        if (next == 0) {
            next = new_node(s, bytes[i]);
            if (next == 0) return -1;
            s->nodes[next].next = s->nodes[node].first_child;
            s->nodes[node].first_child = next;
        }
        node = next;
    }
    s->nodes[node].id = id;
    if (length > s->longest) s->longest = length;
    return 0;
}

void specials_free(specials *s)
{
    free(s->nodes);
    memset(s, 0, sizeof *s);
}

/* The longest token at a place: its length, or 0. */
static uint64_t match(const specials *s, const uint8_t *p, uint64_t length, uint32_t *id)
{
    uint64_t longest = 0, i;
    uint32_t node = 0;
    for (i = 0; i < length && (node = child(s, node, p[i])) != 0; i++) {
        if (s->nodes[node].id == UINT32_MAX) continue;
        longest = i + 1;
        *id = s->nodes[node].id;
    }
    return longest;
}

void specials_begin(special_search *search, const specials *s, const uint8_t *text, uint64_t length, uint64_t from)
{
    int i;
    search->tokens = s;
    search->text = text;
    search->end = text + length;
    search->at = text + from;
    for (i = 0; i < 4; i++) search->next[i] = NULL; /* not looked for yet */
}

/* The next place at which these bytes are side by side, or the end. */
static const uint8_t *find_two(const uint8_t *at, const uint8_t *end, uint8_t first, uint8_t second)
{
#if defined(__SSE2__) && defined(__GNUC__)
    const __m128i one = _mm_set1_epi8((char)first), two = _mm_set1_epi8((char)second);
    for (; end - at > 64; at += 64) {
        __m128i found[4];
        uint64_t bits = 0;
        int i;
        for (i = 0; i < 4; i++) {
            const __m128i *p = (const void *)(at + 16 * i), *next = (const void *)(at + 16 * i + 1);
            found[i] = _mm_and_si128(_mm_cmpeq_epi8(_mm_loadu_si128(p), one), _mm_cmpeq_epi8(_mm_loadu_si128(next), two));
        }
        if (_mm_movemask_epi8(_mm_or_si128(_mm_or_si128(found[0], found[1]), _mm_or_si128(found[2], found[3]))) == 0) continue;
        for (i = 0; i < 4; i++) bits |= (uint64_t)(uint32_t)_mm_movemask_epi8(found[i]) << 16 * i;
        return at + __builtin_ctzll(bits);
    }
#endif
    while (end - at > 1 && (at = memchr(at, first, (size_t)(end - at) - 1)) != NULL) {
        if (at[1] == second) return at;
        at++;
    }
    return end;
}

/* The next place from `at` on at which one of a few tokens may start, or the end. */
static const uint8_t *next_of(const specials *s, int which, const uint8_t *at, const uint8_t *end)
{
    const uint8_t *found;
    if (s->second[which] >= 0) return find_two(at, end, s->few[which], (uint8_t)s->second[which]);
    found = memchr(at, s->few[which], (size_t)(end - at));
    return found != NULL ? found : end;
}

/* The next place from `at` on at which a token may start, or the end. */
static const uint8_t *next_place(special_search *search)
{
    const specials *s = search->tokens;
    const uint8_t *at = search->at, *nearest = search->end;
    int i;
    if (s->few_count < 0) {
        while (at < search->end && !s->firsts[*at]) at++;
        return at;
    }
    for (i = 0; i < s->few_count; i++) {
        if (at < search->end && (search->next[i] == NULL || search->next[i] < at)) search->next[i] = next_of(s, i, at, search->end);
        if (at < search->end && search->next[i] < nearest) nearest = search->next[i];
    }
    return nearest;
}

int specials_next(special_search *search, special_match *found)
{
    while (search->tokens->count > 0 && (search->at = next_place(search)) < search->end) {
        const uint64_t size = match(search->tokens, search->at, (uint64_t)(search->end - search->at), &found->id);
        if (size == 0) {
            search->at++;
            continue;
        }
        found->start = (uint64_t)(search->at - search->text);
        found->end = found->start + size;
        search->at += size;
        return 1;
    }
    return 0;
}

int specials_find(const specials *s, const uint8_t *text, uint64_t length, uint64_t from, special_match *found)
{
    special_search search;
    specials_begin(&search, s, text, length, from);
    return specials_next(&search, found);
}

uint64_t specials_open(const specials *s, const uint8_t *text, uint64_t length, uint64_t from)
{
    uint64_t at = s->longest < length - from ? length - s->longest : from, i;
    for (; at < length; at++) {
        uint32_t node = 0;
        if (!s->firsts[text[at]]) continue;
        for (i = at; i < length && (node = child(s, node, text[i])) != 0; i++) {}
        if (i == length && s->nodes[node].first_child != 0) return at;
    }
    return length;
}
