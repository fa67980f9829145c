/* bpe_final.c - the beginning of a piece in; out, those of its ids that are the same however the piece goes on.
 *
 * A sequence of tokens is what merging gives if and only if each is what merging gives for its own bytes, and each two neighbours for theirs
 * (bpe_neighbours.h; this holds for any merges). So what is before and what is behind a border between two of them is what merging gives for
 * these bytes, too: the ids of a piece, cut at a border, are ids of its beginning. Let the piece go on somehow. No token is longer than the
 * longest, so some border lies in the last `longest` bytes of what is there now, and up to that border the ids are those of a
 * beginning that is there now. There are `longest` of these, and what their ids have in common is final.
 *
 * They have a border q in common if each of them, from q on, starts with a token that may stand behind the token before q. This is asked of
 * the vocabulary by merging the bytes of both. Beginnings differ near their ends only, so q need not be far back, as a rule.
 *
 * A vocabulary that is made for it can keep all of a piece open, for which there is a limit in whatever feeds this.
 */
#include "bpe.h"

#include <stdlib.h>
#include <string.h>

#define KNOWN 8 /* tokens behind q that were asked about */

typedef struct {
    const bpe_vocabulary *v;
    const uint8_t *piece;
    uint8_t *both;           /* the bytes of two tokens */
    uint32_t *ids;           /* of what is behind q */
    uint32_t before, known[KNOWN], count;
} borders;

static size_t length_of(const bpe_vocabulary *v, uint32_t id) { return v->starts[id + 1] - v->starts[id]; }

/* Whether merging leaves these two as they are. */
static int stay(borders *b, uint32_t left, uint32_t right)
{
    const size_t first = length_of(b->v, left), second = length_of(b->v, right);
    uint32_t i;
    size_t made;
    for (i = 0; i < b->count; i++) {
        if (b->known[i] == right) return 1;
    }
    memcpy(b->both, b->v->bytes + b->v->starts[left], first);
    memcpy(b->both + first, b->v->bytes + b->v->starts[right], second);
    made = bpe_merge(b->v, BPE_AUTOMATIC, b->both, first + second, b->ids);
    if (made != 2 || b->ids[0] != left || b->ids[1] != right) return 0;
    b->known[b->count < KNOWN ? b->count++ : 0] = right;
    return 1;
}

/* Whether the ids of the beginning of `end` bytes have a border at q. */
static int passes(borders *b, size_t q, size_t end)
{
    const size_t made = bpe_merge(b->v, BPE_AUTOMATIC, b->piece + q, end - q, b->ids);
    return made < BPE_NO_TOKEN && stay(b, b->before, b->ids[0]);
}

size_t bpe_final(const bpe_vocabulary *v, const uint8_t *piece, size_t length, const size_t *stops, size_t stop_count, uint32_t *out,
                 size_t *count)
{
    const size_t longest = v->longest, first_stop = stop_count > 0 ? stops[0] : length;
    const size_t made = bpe_merge(v, BPE_AUTOMATIC, piece, length, out);
    borders b = {v, piece, NULL, NULL, 0, {0}, 0};
    size_t back, q, n, i, end, found = 0;
    *count = made;
    if (made >= BPE_NO_TOKEN) return 0;
    *count = 0;
    if (length <= 2 * longest) return 0; /* what is short may be taken whole */
    b.both = malloc(2 * longest + 16);
    b.ids = malloc((length + 2 * longest + BPE_PADDING) * sizeof *b.ids);
    if (b.both == NULL || b.ids == NULL) *count = BPE_NO_MEMORY;
    for (back = longest; b.both != NULL && b.ids != NULL && found == 0 && back < length; back *= 2) {
        const size_t most = length - back < first_stop ? length - back : first_stop;
        for (n = q = 0; n < made && q + length_of(v, out[n]) <= most; n++) q += length_of(v, out[n]);
        if (n == 0) break;
        b.before = out[n - 1];
        b.count = 0;
        for (end = length; end > length - longest && passes(&b, q, end); end--) {}
        if (end > length - longest) continue;
        for (i = 0; i < stop_count && (stops[i] == q || passes(&b, q, stops[i])); i++) {}
        if (i < stop_count) continue;
        found = q;
        *count = n;
    }
    free(b.both);
    free(b.ids);
    return found;
}
