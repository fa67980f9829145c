/* table_dfa.c - the lexer that lexer generators make: one table, run until no match is possible, then back to the last match.
 *
 *     n = table_dfa_pass(&machine, text, &length, 1, ends);             // the pieces of the first step
 *     n = table_dfa_pass(&second, text, ends, n, further_ends);         // the pieces of each of those, and so on
 *
 * The table comes from generator/dfa.py: ordered subsets over the cells of the pattern, a match noticed one symbol late. A code
 * point becomes a cell by one load if it is ASCII and by two if not; a cell becomes a state by one load. Text between two matches
 * is a piece of its own.
 *
 * It is here to be measured against, and is made as fast as its idea allows: states are premultiplied and numbered so that a
 * comparison says whether one is dead or has matched, ends go to a buffer that the caller made beforehand. Its time is not linear
 * for all patterns: what lies between the last match and the place where the table gave up is read again. The text must be
 * well-formed UTF-8 of less than 4 GiB.
 */
#include <stddef.h>
#include <stdint.h>

/* A state is the offset of its row. 0: dead; one row further: dead, and a match ended before the symbol just read; up to
 * `unmatched`: alive, and a match ended there; all others: alive. Each state of generator/dfa.py is there once or twice. */
typedef struct {
    const uint16_t *next;   /* [state + cell] -> state; cell `cells` is the end of the text */
    const uint16_t *stage1; /* cell of a code point that is not ASCII: stage2[(stage1[c >> shift] << shift) + the low bits] */
    const uint8_t *stage2;
    uint32_t cells, start, unmatched, shift;
    uint8_t ascii[128];
} table_dfa;

static inline uint32_t cell_of(const table_dfa *m, const uint8_t *p, uint32_t *length)
{
    uint32_t c = *p;
    if (c < 0x80) {
        *length = 1;
        return m->ascii[c];
    } else if (c < 0xE0) {
        *length = 2;
        c = (c & 0x1F) << 6 | (p[1] & 0x3F);
    } else if (c < 0xF0) {
        *length = 3;
        c = (c & 0x0F) << 12 | (p[1] & 0x3Fu) << 6 | (p[2] & 0x3F);
    } else {
        *length = 4;
        c = (c & 0x07) << 18 | (p[1] & 0x3Fu) << 12 | (p[2] & 0x3Fu) << 6 | (p[3] & 0x3F);
    }
    return m->stage2[((uint32_t)m->stage1[c >> m->shift] << m->shift) + (c & ((1u << m->shift) - 1))];
}

/* Where the match that starts at p ends; NULL if none does. */
static inline const uint8_t *match(const table_dfa *m, const uint8_t *p, const uint8_t *end)
{
    const uint16_t *next = m->next;
    const uint8_t *found = NULL;
    uint32_t row = m->cells + 1, state = m->start, matched = m->unmatched - row, length, cell;
    while (p < end) {
        if (*p < 0x80) {
            cell = m->ascii[*p];
            length = 1;
        } else {
            cell = cell_of(m, p, &length);
        }
        state = next[state + cell];
        if (state - row < matched) found = p;
        if (state <= row) return found;
        p += length;
    }
    return next[state + m->cells] - row < matched ? end : found;
}

/* Split each of the pieces that end at from[0..count-1]; store the ends if `ends` is not NULL, and return their number. */
size_t table_dfa_pass(const table_dfa *m, const uint8_t *text, const uint32_t *from, size_t count, uint32_t *ends)
{
    const uint8_t *at = text, *gap = text, *end, *found;
    size_t made = 0, i;
    uint32_t length;
    for (i = 0; i < count; i++) {
        end = text + from[i];
        while (at < end) {
            found = match(m, at, end);
            if (found == NULL) {
                cell_of(m, at, &length);
                at += length;
                continue;
            }
            if (gap < at) {
                if (ends) ends[made] = (uint32_t)(at - text);
                made++;
            }
            if (ends) ends[made] = (uint32_t)(found - text);
            made++;
            at = gap = found;
        }
        if (gap < end) {
            if (ends) ends[made] = (uint32_t)(end - text);
            made++;
            gap = end;
        }
    }
    return made;
}
