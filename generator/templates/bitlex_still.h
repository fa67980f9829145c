/* bitlex_still.h - private: whether a block leaves the backward state as it is. It is part of bitlex.c.
 *
 * What brings a text to be looked through from its end is, first of all, a long run of blanks. Over that the state stays what it is, so all
 * that is to be known of a block is whether it has other characters:
 *
 *     block       \t U+3000 \t \t U+0085 U+3000 ...
 *     met         \t U+3000 U+0085                       each was found once to leave the state as it is
 *
 * Characters are compared as the bytes that they are, by vectors, so that nothing is decoded, and no automaton is run. All that is compared
 * with has the bytes of whole characters, beginning where one begins; so a block in which they follow each other without a gap has these
 * characters and no others. Quicker still is a block that is the same as the one behind it, unit for unit. Rejected: to compare characters
 * one by one where there are no vectors (blanks of many kinds, at random, took four times as long as to run them).
 */

/* How many bytes from here on are characters that were met. */
static size_t bytes_of_met(const bitlex_still *still, const uint8_t *text, size_t length)
{
    size_t at;
    uint32_t i, here, bytes, mask;
    for (at = 0; at < length; at += still->size[i]) {
        if (length - at >= 4) memcpy(&here, text + at, 4);
        else memcpy((here = 0, &here), text + at, length - at);
        for (i = 0; i < still->count; i++) {
            memcpy(&bytes, still->bytes[i], 4);
            memcpy(&mask, still->mask[i], 4);
            if ((here & mask) == bytes) break;
        }
        if (i == still->count) break;
    }
    return at;
}

/* One more character, if it leaves all of these states as they are, and nothing about it is out of the ordinary. */
ONCE APART static int meet_still(const bitlex_cursor *c, bitlex_still *still, const uint8_t *p, const uint16_t *set, uint32_t states)
{
    static const uint8_t ones[4] = {0xFF, 0xFF, 0xFF, 0xFF};
    uint32_t size = c->encoding == BITLEX_UTF8 ? 1 : c->encoding, point = *p, i;
    uint16_t two;
    if (still->count == BITLEX_STILL) return 0;
    if (c->encoding == BITLEX_UCS2) {
        memcpy(&two, p, sizeof two);
        point = two;
    } else if (c->encoding == BITLEX_UCS4) {
        memcpy(&point, p, sizeof point);
        if (point > 0x10FFFF) return 0;
    } else if (c->encoding == BITLEX_UTF8 && point >= 0x80) {
        const uint32_t all = 2 + (point >= 0xE0) + (point >= 0xF0); /* what is ill-formed is shorter: what it is hangs on what follows */
        if (c->machine->continuation != NULL) return 0;
        point = bitlex_decode(p, c->text + c->length, &size);
        if (size != all) return 0;
    }
    for (i = 0; i < states; i++) {
        if (c->stage->backward_next[set[i] + look_up(table_of(c), point)] != set[i]) return 0;
    }
    memset(still->mask[still->count], 0, 4);
    memset(still->bytes[still->count], 0, 4);
    memcpy(still->mask[still->count], ones, size);
    memcpy(still->bytes[still->count], p, size);
    still->size[still->count++] = (uint8_t)size;
    return 1;
}

/* Whether a block leaves these states as they are, as the one behind it did. What was met with other states must have been forgotten: count
 * is 0. */
APART static int is_still(const bitlex_cursor *c, uint64_t block, bitlex_still *still, const uint16_t *set, uint32_t states)
{
    const bitlex_lanes *lanes = c->machine->lanes;
    const size_t width = c->encoding == BITLEX_UTF8 ? 1 : c->encoding;
    const uint8_t *p = c->text + block_start(c, block) * width, *const end = c->text + block_start(c, block + 1) * width;
    if (c->stage_number > 0) return 0; /* there, what a character is hangs on the stage before */
    if (c->text + block_start(c, block + 2) * width - end == end - p && memcmp(p, end, (size_t)(end - p)) == 0) return 1;
    if (!has_vectors(c->machine)) return 0;
    for (;;) {
        p += lanes->still(still, p, end, c->text + c->length * width, width);
        p += bytes_of_met(still, p, (size_t)(end - p));
        if (p == end) return 1;
        if (!meet_still(c, still, p, set, states)) return 0;
    }
}
