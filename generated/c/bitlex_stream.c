/* bitlex_stream.c - the pieces of a text that comes in parts. The interface and its promises are in bitlex_stream.h.
 *
 * The forward state at a place depends on what is before it alone (machines are canonical: architecture.md). Whether a piece starts there
 * depends on the backward state behind it, too, which what follows decides. So for each place that is not decided there is a set of
 * backward states: those with which a piece starts there, if what was read is followed by a text that leads to them. One more character
 * turns a set into that of the states which it leads into the set from. A set of all states is a start, an empty one is none, and both
 * are settled for good. With cl100k, a newline and then spaces: a piece starts behind the newline unless another newline follows, and one
 * at the last space unless a space does. However many spaces there are, these two places are open.
 *
 * That is slow, character by character, and is done only where parts meet: at the start of a part until no place is open, and at its end,
 * from where on all backward states are still possible. Between, the backward state at the end and the forward state at the start are
 * known, and bitlex.c runs it as any other text.
 *
 * Invariant: sets are sets of states behind the last unit read. A place is handed out when it and all before it are settled.
 */
#include "bitlex_stream.h"

#include "bitlex_lanes.h"

#define STATES 64
#define RUN 32   /* equal characters that are worth a look whether they change anything */
#define SHORT 24 /* units that are not worth more than one step each */

#define NONE 0u  /* the numbers of the sets that are settled */
#define ALL 1u

int bitlex_stream_begin(bitlex_stream *s, const bitlex_machine *machine, uint64_t *more, size_t room)
{
    if (machine->stage_count != 1 || machine->stages->backward_states > STATES) return -1;
    memset(s, 0, sizeof *s);
    s->machine = machine;
    s->more = more;
    s->room = BITLEX_STREAM_OPEN + (uint32_t)(room < UINT32_MAX / 2 ? room : UINT32_MAX / 2);
    s->opened = machine->drops == 0;
    s->sets[ALL] = ~UINT64_C(0) >> (STATES - machine->stages->backward_states);
    s->set_count = 2;
    s->dropping = s->opened ? 0 : s->sets[ALL];
    return 0;
}

static uint64_t *place(bitlex_stream *s, uint32_t i) { return i < BITLEX_STREAM_OPEN ? s->open + i : s->more + (i - BITLEX_STREAM_OPEN); }

static uint32_t set_of(uint64_t place) { return place >> 1 & 31; }

/* A piece starts at a place, or dropped text does: how many offsets are stored. */
static size_t hand_out(bitlex_stream *s, uint64_t at, int drop, uint64_t *out)
{
    const uint64_t start = s->start;
    const int opened = s->opened;
    if (!s->machine->drops) {
        s->start = at;
        out[0] = at;
        return at > 0;
    }
    s->opened = !drop;
    if (!drop) s->start = at;
    if (!opened) return 0;
    out[0] = start;
    out[1] = at;
    return 2;
}

/* Hand out what is settled. Behind a place that is not, what is no place is left out only when the memory is needed. */
static size_t settle(bitlex_stream *s, uint64_t *out)
{
    uint32_t i, kept = 0;
    size_t n = 0;
    for (i = 0; i < s->count && set_of(*place(s, i)) <= ALL; i++) {
        if (set_of(*place(s, i)) == ALL) n += hand_out(s, *place(s, i) >> 6, (int)(*place(s, i) & 1), out + n);
    }
    if (i == 0) return 0;
    for (; i < s->count; i++) {
        if (set_of(*place(s, i)) != NONE) *place(s, kept++) = *place(s, i);
    }
    s->count = kept;
    if (kept == 0) s->set_count = 2;
    return n;
}

/* Have each place name the first of equal sets, and keep only sets that are named. */
static void renumber(bitlex_stream *s)
{
    uint8_t first[BITLEX_STREAM_SETS], named[BITLEX_STREAM_SETS] = {0};
    uint32_t i, j, kept = 0;
    for (i = 0; i < s->set_count; i++) {
        for (j = 0; s->sets[j] != s->sets[i]; j++) {}
        first[i] = (uint8_t)j;
    }
    for (i = 0; i < s->count; i++) {
        uint64_t *at = place(s, i);
        const uint32_t set = first[set_of(*at)];
        if (set == NONE) continue;
        named[set] = 1;
        *at = (*at & ~UINT64_C(62)) | (uint64_t)set << 1;
        *place(s, kept++) = *at;
    }
    s->count = kept;
    for (i = kept = 2; i < s->set_count; i++) {
        if (!named[i]) continue;
        s->sets[kept] = s->sets[i];
        first[i] = (uint8_t)kept++;
    }
    s->set_count = (uint8_t)kept;
    for (i = 0; i < s->count; i++) {
        uint64_t *at = place(s, i);
        if (set_of(*at) > ALL) *at = (*at & ~UINT64_C(62)) | (uint64_t)first[set_of(*at)] << 1;
    }
}

/* Remember a place. There is room for it. */
static void add(bitlex_stream *s, int drop, uint64_t set)
{
    uint32_t i;
    if (set == 0) return;
    for (i = 0; i < s->set_count && s->sets[i] != set; i++) {}
    if (i == s->set_count) s->sets[s->set_count++] = set;
    *place(s, s->count++) = s->length << 6 | (uint64_t)i << 1 | (uint64_t)drop;
}

/* Whether there is room for the places of one more character. */
static int has_room(bitlex_stream *s)
{
    const uint32_t places = (s->machine->drops ? 2u : 1u) * (s->machine->continuation != NULL ? 4u : 1u);
    if (s->count + places > s->room || s->set_count + places > BITLEX_STREAM_SETS) {
        renumber(s);
        s->full = s->count + places > s->room || s->set_count + places > BITLEX_STREAM_SETS;
    }
    return !s->full;
}

/* The states that a column leads into a set from. */
static inline uint64_t pull(const uint8_t *before, uint32_t states, uint64_t set)
{
    uint64_t pulled = 0;
    uint32_t i;
    for (i = 0; i < states; i++) pulled |= (set >> before[i] & 1) << i;
    return pulled;
}

/* Read one character, or byte, of so many units: how many offsets are stored. There is room for two places more. */
static size_t step(bitlex_stream *s, uint32_t column, uint32_t units, uint64_t *out)
{
    const bitlex_stage *stage = s->machine->stages;
    const uint64_t all = s->sets[ALL];
    const uint32_t states = stage->backward_states, columns = stage->column_count;
    uint64_t starts = 0, drops = 0;
    uint32_t i, at, forward = 0, settled = 0;
    size_t n = 0;
    uint8_t before[STATES];
    for (i = 0, at = column; i < states; i++, at += columns) {
        const uint32_t entry = s->forward + stage->backward_label[at], letter = stage->output[entry];
        before[i] = (uint8_t)(stage->backward_next[at] / columns);
        starts |= (uint64_t)(letter & 1) << i;
        drops |= (uint64_t)(letter >> 1) << i;
        forward = stage->forward_next[entry];
    }
    s->forward = forward;
    if (s->machine->drops) {
        const uint64_t dropping = pull(before, states, s->dropping);
        s->dropping = (dropping & ~starts) | drops;
        drops &= ~dropping;
    }
    if (s->count == 0 && drops == 0 && (starts == 0 || starts == all)) { /* nearly always */
        if (starts != 0) n = hand_out(s, s->length, 0, out);
        s->length += units;
        return n;
    }
    for (i = 2; i < s->set_count; i++) {
        s->sets[i] = pull(before, states, s->sets[i]);
        settled |= s->sets[i] == 0 || s->sets[i] == all;
    }
    add(s, 1, drops);
    add(s, 0, starts);
    s->length += units;
    if (settled) renumber(s);
    return s->count > 0 && set_of(*place(s, 0)) <= ALL ? settle(s, out) : 0;
}

static uint32_t column_of(const bitlex_stream *s, uint32_t point)
{
    const bitlex_machine *m = s->machine;
    const uint32_t low = point & ((1u << m->shift) - 1);
    return m->stages->columns[m->stage2[((uint32_t)m->stage1[point >> m->shift] << m->shift) + low]];
}

/* Read the character at p < end, of a text that has all of it; *taken is how many units it has. Of a lexer that reads bytes, each of them
 * is a step. has_room said yes. */
static size_t step_character(bitlex_stream *s, const uint8_t *p, const uint8_t *end, bitlex_encoding encoding, uint32_t *taken, uint64_t *out)
{
    uint32_t point, i;
    size_t n, more;
    *taken = 1;
    if (encoding == BITLEX_LATIN1) point = *p;
    else if (encoding == BITLEX_UCS2) point = *(const uint16_t *)(const void *)p;
    else if (encoding == BITLEX_UCS4) point = *(const uint32_t *)(const void *)p;
    else point = bitlex_decode(p, end, taken);
    if (point > 0x10FFFF) point = 0xFFFD;
    if (s->machine->continuation == NULL) return step(s, column_of(s, point), *taken, out);
    n = step(s, column_of(s, point), 1, out);
    for (i = 1; i < *taken; i++) {
        more = step(s, s->machine->stages->columns[s->machine->continuation[p[i] & 0x3F]], 1, out + n);
        n += more;
    }
    return n;
}

/* How many bytes at the end are a character that is not complete. */
static uint32_t unfinished(const uint8_t *text, size_t length)
{
    uint32_t back, taken;
    for (back = 1; back <= 3 && back <= length; back++) {
        const uint8_t byte = text[length - back];
        if (byte < 0x80) return 0;
        if (byte < 0xC0) continue;
        bitlex_decode(text + length - back, text + length, &taken);
        return taken == back && back < (byte < 0xC2 ? 1u : byte < 0xE0 ? 2u : byte < 0xF0 ? 3u : byte < 0xF5 ? 4u : 1u) ? back : 0;
    }
    return 0;
}

/* Complete the character that the part before left, with what there is: how many bytes are taken of the part. */
static size_t finish_character(bitlex_stream *s, const uint8_t *text, size_t length, uint64_t *out, size_t *stored)
{
    uint8_t both[8];
    size_t have = s->tail_length, fresh = length < 3 ? length : 3;
    uint32_t taken;
    *stored = 0;
    memcpy(both, s->tail, have);
    memcpy(both + have, text, fresh);
    if (unfinished(both, have + fresh) == have + fresh) {
        memcpy(s->tail, both, have + fresh);
        s->tail_length = (uint8_t)(have + fresh);
        return fresh;
    }
    *stored = step_character(s, both, both + have + fresh, BITLEX_UTF8, &taken, out);
    s->tail_length = 0;
    return taken - have;
}

/* Run what of a part nothing that follows can change: how many units. No place is open. `room`: of how many pieces at out. */
static size_t run(bitlex_stream *s, bitlex_cursor *c, void *scratch, const uint8_t *text, size_t length, bitlex_encoding encoding,
                  uint64_t *out, size_t room, size_t *stored)
{
    const size_t units = (size_t)bitlex_begin_open(c, text, length, encoding, scratch, s->forward);
    size_t i, total = 0;
    *stored = 0;
    if (units == 0) return 0;
    c->opened = s->opened;
    c->open = s->start - s->length; /* may be below zero: it comes out right */
    if (s->machine->drops) {
        total = 2 * bitlex_next_pairs(c, out, room);
    } else {
        total = bitlex_next(c, out, room);
        if (s->length == 0 && total > 0 && out[0] == 0) memmove(out, out + 1, --total * sizeof *out);
    }
    for (i = 0; i < total; i++) out[i] += s->length;
    s->opened = (uint8_t)c->opened;
    s->dropping = s->opened ? 0 : s->sets[ALL];
    if (s->machine->drops) s->start = c->open + s->length;
    else if (total > 0) s->start = out[total - 1];
    s->forward = c->forward;
    s->length += units;
    *stored = total;
    return units;
}

/* Whether one more unit changed nothing but places, all of them by as much as the last one did: by 0 or by 1. */
static int same_but_places(bitlex_stream *s, const bitlex_stream *before, uint64_t *moved, int first)
{
    uint32_t i;
    if (s->count != before->count || s->count > BITLEX_STREAM_OPEN || s->forward != before->forward || s->set_count != before->set_count ||
        s->dropping != before->dropping || s->opened != before->opened || s->start != before->start ||
        memcmp(s->sets, before->sets, s->set_count * sizeof *s->sets) != 0)
        return 0;
    for (i = 0; i < s->count; i++) {
        const uint64_t by = s->open[i] - before->open[i];
        if ((by != 0 && by != 1 << 6) || (!first && by != moved[i])) return 0;
        moved[i] = by;
    }
    return 1;
}

/* Of a run of one ASCII character that does the same to the stream each time, skip all that is there: how many of so many. What reading does to
 * places is one map of old places to new ones, as long as the rest stays the same. If each new place is moved by as much twice, it is
 * moved by as much as the old place that it is, and so for ever. */
static size_t skip_run(bitlex_stream *s, const uint8_t *p, size_t length, uint64_t *out, size_t *stored)
{
    const uint32_t column = column_of(s, *p);
    bitlex_stream before;
    uint64_t moved[BITLEX_STREAM_OPEN];
    size_t done, run, i;
    *stored = 0;
    for (done = 0; done < 2; done++) {
        if (!has_room(s)) return done;
        before = *s;
        *stored += step(s, column, 1, out + *stored);
        if (!same_but_places(s, &before, moved, done == 0)) return done + 1;
    }
    for (run = done; run < length && p[run] == *p; run++) {}
    for (i = 0; i < s->count; i++) s->open[i] += moved[i] * (run - done);
    s->length += run - done;
    return run;
}

/* Read complete characters: how many of so many units. */
static size_t read_part(bitlex_stream *s, bitlex_cursor *cursor, void *scratch, const uint8_t *p, size_t length, bitlex_encoding encoding,
                        uint64_t *out, size_t room, size_t *stored)
{
    const size_t width = encoding == BITLEX_UTF8 ? 1 : (size_t)encoding, each = s->machine->drops ? 2 : 1;
    size_t done = 0, slow = 0, n = 0;
    uint32_t taken;
    while (done < length) {
        if (s->count == 0 && done >= slow && length - done > SHORT) {
            size_t block = length - done < BITLEX_BLOCK ? length - done : BITLEX_BLOCK, units;
            if (block < length - done && encoding == BITLEX_UTF8) block -= unfinished(p + done, block);
            units = run(s, cursor, scratch, p + done * width, block, encoding, out + n, room - n / each, stored);
            n += *stored;
            if (units == 0) slow = done + block; /* nothing tells there; not to be tried at each of its units */
            done += units;
            if (done == length) break;
        }
        if (!has_room(s)) break;
        if (width == 1 && p[done] < 0x80 && length - done >= RUN && memcmp(p + done, p + done + 1, RUN - 1) == 0) {
            done += skip_run(s, p + done, length - done, out + n, stored);
            n += *stored;
            continue;
        }
        n += step_character(s, p + done * width, p + length * width, encoding, &taken, out + n);
        done += taken;
    }
    *stored = n;
    return done;
}

size_t bitlex_stream_feed(bitlex_stream *s, bitlex_cursor *cursor, void *scratch, const void *text, size_t length,
                          bitlex_encoding encoding, size_t *used, uint64_t *out, size_t room)
{
    const uint8_t *p = text;
    size_t done = 0, n = 0, stored, body;
    uint32_t tail = 0;
    *used = 0;
    s->full = 0;
    if (length == 0 || room < s->count + BITLEX_STREAM_ROOM) return 0;
    if (length > room - s->count - 8) length = room - s->count - 8; /* each unit ends a piece at most, and each place does */
    if (s->tail_length > 0) done = finish_character(s, p, length, out, &n);
    if (s->tail_length == 0) {
        const size_t width = encoding == BITLEX_UTF8 ? 1 : (size_t)encoding;
        if (encoding == BITLEX_UTF8) tail = unfinished(p + done, length - done);
        body = length - done - tail;
        done += read_part(s, cursor, scratch, p + done * width, body, encoding, out + n, room - n / (s->machine->drops ? 2 : 1), &stored);
        n += stored;
        if (tail > 0 && done + tail == length && has_room(s)) {
            memcpy(s->tail, p + done, tail);
            s->tail_length = (uint8_t)tail;
            done += tail;
        }
    }
    *used = done;
    return s->machine->drops ? n / 2 : n;
}

size_t bitlex_stream_finish(bitlex_stream *s, uint64_t *out)
{
    const uint32_t end = s->machine->stages->backward_end / s->machine->stages->column_count;
    size_t n = 0;
    uint32_t i, taken;
    if (s->tail_length > 0) n = step_character(s, s->tail, s->tail + s->tail_length, BITLEX_UTF8, &taken, out);
    for (i = 0; i < s->count; i++) {
        const uint64_t open = *place(s, i);
        if (s->sets[set_of(open)] >> end & 1) n += hand_out(s, open >> 6, (int)(open & 1), out + n);
    }
    if (s->opened && s->length > 0) n += hand_out(s, s->length, 1, out + n);
    s->count = s->tail_length = 0;
    return s->machine->drops ? n / 2 : n;
}
