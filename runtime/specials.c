/* specials.c - see specials.h. */
#include "specials.h"

#include <stdlib.h>
#include <string.h>

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
    uint32_t node = 0;
    size_t i;
    if (s->count == 0) {
        new_node(s, 0);
        if (s->count == 0) return -1;
    }
    if (!s->firsts[bytes[0]]) {
        s->firsts[bytes[0]] = 1;
        if (s->few_count == 4) s->few_count = -1;
        if (s->few_count >= 0) s->few[s->few_count++] = bytes[0];
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
        if (at < search->end && (search->next[i] == NULL || search->next[i] < at)) {
            search->next[i] = memchr(at, s->few[i], (size_t)(search->end - at));
            if (search->next[i] == NULL) search->next[i] = search->end;
        }
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
