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

#define FEW 8 /* children that are looked through one by one */

/* Room for one more in an array that may grow: 0 if memory is short, or there are as many as can be numbered. */
static int has_room(void **array, size_t count, size_t *room, size_t size)
{
    const size_t more = *room > 0 ? 2 * *room : 64;
    void *grown;
    if (count < *room) return 1;
    if (count > UINT32_MAX / 2 || (grown = realloc(*array, more * size)) == NULL) return 0;
    *array = grown;
    *room = more;
    return 1;
}

static uint32_t new_node(specials *s, uint8_t byte, uint32_t depth)
{
    const special_node made = {UINT32_MAX, 0, 0, 0, depth, 0, 0, 0, byte, 0};
    void *nodes = s->nodes;
    if (!has_room(&nodes, s->count, &s->room, sizeof *s->nodes)) return 0;
    s->nodes = nodes;
    s->nodes[s->count] = made;
    return (uint32_t)s->count++;
}

/* A table of the children that a node has: 0 if memory is short. */
static int make_table(specials *s, uint32_t node)
{
    void *tables = s->tables;
    uint32_t *table, at;
    if (!has_room(&tables, s->table_count, &s->table_room, sizeof *s->tables)) return 0;
    s->tables = tables;
    table = s->tables[s->table_count];
    memset(table, 0, sizeof *s->tables);
    for (at = s->nodes[node].first_child; at != 0; at = s->nodes[at].next) table[s->nodes[at].byte] = at;
    s->nodes[node].table = (uint32_t)s->table_count++;
    return 1;
}

static uint32_t child(const specials *s, uint32_t node, uint8_t byte)
{
    const special_node *parent = &s->nodes[node];
    uint32_t at = parent->first_child;
    if (parent->table != 0 || node == 0) return s->tables[parent->table][byte];
    while (at != 0 && s->nodes[at].byte != byte) at = s->nodes[at].next;
    return at;
}

static uint32_t new_child(specials *s, uint32_t node, uint8_t byte)
{
    const uint32_t made = new_node(s, byte, s->nodes[node].depth + 1);
    special_node *parent = &s->nodes[node];
    if (made == 0) return 0;
    s->nodes[made].next = parent->first_child;
    parent->first_child = made;
    if (node == 0 || parent->table != 0) s->tables[parent->table][byte] = made;
    else if (++parent->children > FEW && !make_table(s, node)) return 0;
    return made;
}

int specials_add(specials *s, const uint8_t *bytes, size_t length, uint32_t id)
{
    const int16_t second = length > 1 ? bytes[1] : -1;
    uint32_t node = 0;
    size_t i;
    int k;
    if (s->count == 0) {
        new_node(s, 0, 0);
        if (s->count == 0 || !make_table(s, 0)) return -1;
    }
    if (child(s, 0, bytes[0]) == 0) {
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
        if (next == 0 && (next = new_child(s, node, bytes[i])) == 0) return -1;
        node = next;
    }
    s->nodes[node].id = id;
    if (length > s->longest) s->longest = length;
    return 0;
}

/* One more behind the tokens up to `before`: it, or 0 if memory is short. */
static uint32_t new_step(specials *s, uint32_t before, uint32_t start, uint32_t end, uint32_t id)
{
    void *steps = s->steps;
    special_step made = {start, end, id, before, before, 0};
    uint32_t far;
    if (!has_room(&steps, s->step_count, &s->step_room, sizeof *s->steps)) return 0;
    s->steps = steps;
    far = s->steps[before].far;
    made.number = s->steps[before].number + 1;
    if (s->steps[before].number - s->steps[far].number == s->steps[far].number - s->steps[s->steps[far].far].number) made.far = s->steps[far].far;
    s->steps[s->step_count] = made;
    return (uint32_t)s->step_count++;
}

/* Of the tokens up to `last`, the first that starts at `from` or behind, which `last` does. */
static uint32_t first_from(const specials *s, uint32_t last, uint32_t from)
{
    const special_step *steps = s->steps;
    while (steps[last].before != 0 && steps[steps[last].before].start >= from) {
        const uint32_t far = steps[last].far;
        last = far != 0 && steps[far].start >= from ? far : steps[last].before;
    }
    return last;
}

/* Behind the tokens up to *last, those of the path of a node, which starts at `start`: 0 if memory is short. */
static int append_steps(specials *s, uint32_t *last, uint32_t node, uint32_t start)
{
    const uint32_t end = s->nodes[node].last;
    uint32_t at = 0, from = 0;
    while (at != end) {
        at = first_from(s, end, from);
        from = s->steps[at].end;
        *last = new_step(s, *last, start + s->steps[at].start, start + from, s->steps[at].id);
        if (*last == 0) return 0;
    }
    return 1;
}

/* What becomes of the path of a child, from what becomes of those that are shorter: 0 if memory is short. As the child holds one byte more than
 * its parent, what is found where the parent's path ends is found, and the byte is read from the rest of it, and so on. */
static int link_child(specials *s, uint32_t parent, uint32_t node)
{
    const uint8_t byte = s->nodes[node].byte;
    const uint32_t depth = s->nodes[parent].depth;
    uint32_t at = s->nodes[parent].suffix, last = s->nodes[parent].last;
    if (parent != 0) {
        while (at != 0 && child(s, at, byte) == 0) at = s->nodes[at].suffix;
        s->nodes[node].suffix = child(s, at, byte);
    }
    if (s->nodes[node].id != UINT32_MAX) {
        s->nodes[node].last = new_step(s, 0, 0, depth + 1, s->nodes[node].id);
        return s->nodes[node].last != 0;
    }
    if (parent == 0) return 1;
    for (at = s->nodes[parent].rest; at != 0 && child(s, at, byte) == 0; at = s->nodes[at].rest) {
        if (!append_steps(s, &last, at, depth - s->nodes[at].depth)) return 0;
    }
    s->nodes[node].rest = child(s, at, byte);
    s->nodes[node].last = last;
    return 1;
}

int specials_link(specials *s)
{
    static const special_step none;
    uint32_t *queue, at;
    size_t i, queued = 1;
    int linked = s->count == 0;
    void *steps = NULL;
    if (linked) return 0;
    queue = malloc(s->count * sizeof *queue);
    if (queue == NULL || !has_room(&steps, 0, &s->step_room, sizeof *s->steps)) {
        free(queue);
        return -1;
    }
    s->steps = steps;
    s->steps[s->step_count++] = none;
    queue[0] = 0;
    for (i = 0, linked = 1; linked && i < queued; i++) { /* shorter paths first */
        for (at = s->nodes[queue[i]].first_child; linked && at != 0; at = s->nodes[at].next) {
            linked = link_child(s, queue[i], at);
            queue[queued++] = at;
        }
    }
    free(queue);
    return linked ? 0 : -1;
}

void specials_free(specials *s)
{
    free(s->nodes);
    free(s->tables);
    free(s->steps);
    memset(s, 0, sizeof *s);
}

void specials_begin(special_search *search, const specials *s, const uint8_t *text, uint64_t length, uint64_t from)
{
    int i;
    search->tokens = s;
    search->text = text;
    search->end = text + length;
    search->at = search->path = text + from;
    search->node = search->last = search->given = 0;
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
static const uint8_t *next_place(special_search *search, const uint8_t *at)
{
    const specials *s = search->tokens;
    const uint8_t *nearest = search->end;
    int i;
    if (s->few_count < 0) {
        while (at < search->end && s->tables[0][*at] == 0) at++;
        return at;
    }
    for (i = 0; i < s->few_count; i++) {
        if (at < search->end && (search->next[i] == NULL || search->next[i] < at)) search->next[i] = next_of(s, i, at, search->end);
        if (at < search->end && search->next[i] < nearest) nearest = search->next[i];
    }
    return nearest;
}

/* Read on to where a path ends in which there are tokens: 0 if the text does. */
static int next_path(special_search *search)
{
    const specials *s = search->tokens;
    const special_node *ended = s->nodes;
    const uint8_t *at = search->at, *end = search->end;
    uint32_t node = search->node, next;
    do {
        if (node == 0) {
            if ((at = next_place(search, at)) == end) break;
            node = s->tables[0][*at++];
        }
        for (; at < end && (next = child(s, node, *at)) != 0; at++) node = next;
        ended = &s->nodes[node];
        node = ended->rest;
    } while (ended->last == 0);
    search->at = at;
    search->path = at - ended->depth;
    search->node = node;
    search->last = ended->last;
    search->given = 0;
    return ended->last != 0;
}

int specials_next(special_search *search, special_match *found)
{
    const special_step *step;
    uint32_t which;
    if (search->last == 0 && (search->tokens->count == 0 || !next_path(search))) return 0;
    which = first_from(search->tokens, search->last, search->given);
    step = &search->tokens->steps[which];
    found->start = (uint64_t)(search->path - search->text) + step->start;
    found->end = (uint64_t)(search->path - search->text) + step->end;
    found->id = step->id;
    search->given = step->end;
    if (which == search->last) search->last = 0;
    return 1;
}

int specials_find(const specials *s, const uint8_t *text, uint64_t length, uint64_t from, special_match *found)
{
    special_search search;
    specials_begin(&search, s, text, length, from);
    return specials_next(&search, found);
}

/* The first place from `at` on at which one of a few tokens may start, of which one byte may be there, or the end. */
static const uint8_t *first_of_few(const specials *s, const uint8_t *at, const uint8_t *end)
{
    const uint8_t *nearest = end;
    for (int i = 0; i < s->few_count && at < end; i++) {
        const uint8_t *found = next_of(s, i, at, end);
        if (found == end && end[-1] == s->few[i]) found = end - 1;
        if (found < nearest) nearest = found;
    }
    return nearest;
}

uint64_t specials_open(const specials *s, const uint8_t *text, uint64_t length, uint64_t from)
{
    uint64_t at = s->longest < length - from ? length - s->longest : from;
    const uint32_t *firsts;
    uint32_t node = 0, next;
    if (s->count == 0) return length;
    if (s->few_count >= 0) at = (uint64_t)(first_of_few(s, text + at, text + length) - text);
    firsts = s->tables[0];
    for (; at < length; at++) {
        if (node == 0) { /* as nearly always */
            node = firsts[text[at]];
            continue;
        }
        while ((next = child(s, node, text[at])) == 0 && node != 0) node = s->nodes[node].suffix;
        node = next;
    }
    while (s->nodes[node].first_child == 0 && node != 0) node = s->nodes[node].suffix;
    return length - s->nodes[node].depth;
}
