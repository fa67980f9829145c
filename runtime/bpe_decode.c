/* bpe_decode.c - ids in, the bytes of their tokens out, of which it is known beforehand how many they are and what characters they spell.
 *
 * Of each id 32 bits are kept together: how many bytes its token has, how many of them start a character, and how wide the widest of these
 * is. So a token is measured by adding and oring one number; sixteen are, before anybody looks at what became of them. Then nearly
 * every token is a record of 16 bytes that is copied whole; the next one overwrites what was too much. An id that is no token of the
 * vocabulary, or decodes to something else, is looked for among the few of these.
 *
 * Rejected: records of the decoder's own, in which all that is as it should be (a copy of the largest table but one).
 */
#include "bpe_hash.h"

#include <stdlib.h>

/* In the size of a token: its bytes, up to MANY, characters, */
#define MANY 127
#define CHARACTERS_SHIFT 16
/* and whether it has one above U+007F, U+00FF, U+FFFF; is no record of 16 bytes; is none, another or longer than MANY. */
#define WIDER_SHIFT 27
#define LONG (UINT32_C(1) << 30)
#define RARE (UINT32_C(1) << 31)
#define AT_ONCE 16 /* sizes that may be added before their characters reach the bits above */

/* How many bytes start a character, and bits for how wide these are. */
static uint32_t spelled(const uint8_t *bytes, size_t length, uint32_t *wider)
{
    uint32_t characters = 0;
    uint8_t most = 0;
    size_t i;
    for (i = 0; i < length; i++) {
        characters += (bytes[i] & 0xC0) != 0x80;
        most = bytes[i] > most ? bytes[i] : most;
    }
    *wider = (most >= 0x80) | (most >= 0xC4) << 1 | (most >= 0xF0) << 2;
    return characters;
}

static uint32_t size_of(const uint8_t *bytes, uint32_t length)
{
    uint32_t wider;
    const uint32_t characters = spelled(bytes, length, &wider);
    if (length == 0 || length > MANY) return RARE | LONG;
    return length | characters << CHARACTERS_SHIFT | wider << WIDER_SHIFT | (length > 15 ? LONG : 0);
}

static int by_id(const void *a, const void *b)
{
    const uint32_t x = ((const bpe_other *)a)->id, y = ((const bpe_other *)b)->id;
    return (x > y) - (x < y);
}

int bpe_decoder_begin(bpe_decoder *d, const bpe_vocabulary *v, const bpe_other *others, size_t count)
{
    uint32_t most = v->token_count, id;
    size_t i;
    memset(d, 0, sizeof *d);
    d->v = v;
    for (i = 0; i < count; i++) most = others[i].id >= most ? others[i].id + 1 : most;
    for (d->mask = 1; d->mask < most; d->mask = d->mask * 2 + 1) continue;
    d->sizes = malloc(((size_t)d->mask + 1) * sizeof *d->sizes);
    d->others = malloc((count + 1) * sizeof *d->others);
    if (d->sizes == NULL || d->others == NULL) {
        bpe_decoder_end(d);
        return -1;
    }
    for (id = 0; id < v->token_count; id++) d->sizes[id] = size_of(v->bytes + v->starts[id], bpe_token_length(v, id));
    for (; id <= d->mask; id++) d->sizes[id] = RARE | LONG;
    if (count > 0) memcpy(d->others, others, count * sizeof *others);
    qsort(d->others, count, sizeof *d->others, by_id);
    d->other_count = count;
    for (i = 0; i < count; i++) d->sizes[others[i].id] = RARE | LONG;
    return 0;
}

void bpe_decoder_end(bpe_decoder *d)
{
    free(d->sizes);
    free(d->others);
    memset(d, 0, sizeof *d);
}

/* A token that has no bytes of its own, or more than its size tells. */
static size_t rare_token(const bpe_decoder *d, uint32_t id, int skip, const uint8_t **bytes)
{
    const bpe_other wanted = {NULL, id, 0, 0};
    const bpe_other *other = bsearch(&wanted, d->others, d->other_count, sizeof wanted, by_id);
    if (other == NULL && (id >= d->v->token_count || bpe_token_length(d->v, id) == 0)) return SIZE_MAX;
    *bytes = other != NULL ? other->bytes : d->v->bytes + d->v->starts[id];
    if (other == NULL) return bpe_token_length(d->v, id);
    return skip && other->special ? 0 : other->length;
}

size_t bpe_token(const bpe_decoder *d, uint32_t id, int skip, const uint8_t **bytes)
{
    const uint32_t size = id <= d->mask ? d->sizes[id] : RARE;
    if (size & RARE) return rare_token(d, id, skip, bytes);
    *bytes = d->v->bytes + d->v->starts[id];
    return size & MANY;
}

/* As bpe_measure, id by id. */
static size_t measure_rare(const bpe_decoder *d, const uint32_t *ids, size_t count, int skip, bpe_extent *extent, uint32_t *all)
{
    size_t i;
    for (i = 0; i < count; i++) {
        const uint8_t *bytes = NULL;
        const size_t length = bpe_token(d, ids[i], skip, &bytes);
        uint32_t wider;
        if (length == SIZE_MAX) break;
        extent->characters += spelled(bytes, length, &wider);
        extent->bytes += length;
        *all |= wider << WIDER_SHIFT;
    }
    return i;
}

size_t bpe_measure(const bpe_decoder *d, const uint32_t *ids, size_t count, int skip, bpe_extent *extent)
{
    const uint32_t *sizes = d->sizes, mask = d->mask;
    uint32_t all = 0, wider;
    size_t i, done = 0, n;
    for (; done < count; done += n) {
        uint32_t sum = 0, any = 0, highest = 0;
        n = count - done < AT_ONCE ? count - done : AT_ONCE;
        for (i = 0; n == AT_ONCE && i < AT_ONCE; i++) {
            const uint32_t id = ids[done + i], size = sizes[id & mask];
            highest |= id;
            any |= size;
            sum += size;
        }
        if (UNLIKELY(n < AT_ONCE || (any & RARE) != 0 || highest > mask)) {
            i = measure_rare(d, ids + done, n, skip, extent, &all);
            if (i < n) return done + i;
            continue;
        }
        extent->bytes += sum & 0xFFFF;
        extent->characters += sum >> CHARACTERS_SHIFT & 0x7FF;
        all |= any;
    }
    wider = all >> WIDER_SHIFT & 7;
    wider = (wider & 1) + (wider >> 1 & 1) + (wider >> 2);
    if (wider > extent->widest) extent->widest = wider;
    return done;
}

/* As bpe_decode, as far as tokens are records and there is room for what is copied. */
static size_t copy_records(const bpe_decoder *d, const uint32_t *ids, size_t count, uint8_t **out, const uint8_t *end)
{
    const bpe_record *records = d->v->records; /* what is stored could be any of these, for all that the compiler knows */
    const uint32_t *sizes = d->sizes, mask = d->mask;
    uint8_t *to = *out;
    size_t i = 0, stop;
    while (i < count && end - to >= 16) {
        const size_t most = (size_t)(end - to) / 16;
        for (stop = count - i < most ? count : i + most; i < stop; i++) {
            const uint32_t id = ids[i], size = sizes[id & mask];
            if (UNLIKELY((size & LONG) != 0 || id > mask)) goto done;
            memcpy(to, records + id, 16);
            to += size & MANY;
        }
    }
done:
    *out = to;
    return i;
}

size_t bpe_decode(const bpe_decoder *d, const uint32_t *ids, size_t count, int skip, uint8_t **out, const uint8_t *end)
{
    size_t i = 0;
    for (;;) {
        const uint8_t *bytes = NULL;
        size_t length;
        i += copy_records(d, ids + i, count - i, out, end);
        if (i == count) return count;
        length = bpe_token(d, ids[i], skip, &bytes);
        if (length > (size_t)(end - *out)) return i;
        if (length > 0) memcpy(*out, bytes, length);
        *out += length;
        i++;
    }
}
