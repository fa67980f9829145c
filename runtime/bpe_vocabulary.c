/* bpe_vocabulary.c - the tables of a vocabulary: tokens and merges in, one image out, in which everything is found by hashing.
 *
 * The merges of a rank file, which does not list them, come from bpe_splits.c.
 */
#include "bpe_joints.h"
#include "bpe_key.h"
#include "bpe_pairs.h"
#include "bpe_sizes.h"

#include <stdlib.h>

#define PARTS 14
#define MAGIC UINT64_C(0x3845504258454C54) /* also tells the order of bytes */

typedef struct {
    uint64_t magic, size;
    uint32_t token_count, rank_count, whole, longest, ranks_are_ids, ids_count, pairs_count, pairs_reach;
    uint64_t starts, bytes, records, byte_tokens, ids, pairs, byte_pairs, byte_bounds, rank_tokens, merged, char_joints, byte_joints, sizes;
    uint64_t pair_bits;
} image_header;

/* Both tables are half full; where a hash is in them is the fraction of all places that it is of all hashes. */
static uint32_t places_for(size_t count) { return (uint32_t)(2 * count + 64); }

static uint32_t lines_for(size_t count) { return places_for(count) / LINE_PAIRS; }

/* Four bits or more for each pair that merges: of the others, less than a fourth is taken for one that may. */
static uint32_t pair_mask_for(uint32_t count)
{
    uint32_t bits = 1024;
    while (bits < 4 * count) bits *= 2;
    return bits - 1;
}

/* --- the image --------------------------------------------------------------------------------------------------------- */

/* The bytes of each part of an image, in the order of their offsets in the header. */
static void part_sizes(const image_header *h, uint64_t bytes, uint64_t sizes[PARTS])
{
    sizes[0] = ((uint64_t)h->token_count + 1) * 4;
    sizes[1] = bytes;
    sizes[2] = (uint64_t)h->token_count * sizeof(bpe_record);
    sizes[3] = 256 * 4;
    sizes[4] = (uint64_t)h->ids_count * 4;
    sizes[5] = (uint64_t)h->pairs_count * sizeof(bpe_pair_line);
    sizes[6] = 65536 * 4;
    sizes[7] = 65536 * 4;
    sizes[8] = h->ranks_are_ids ? 0 : (uint64_t)h->rank_count * 4;
    sizes[9] = ((uint64_t)h->token_count + 63) / 64 * 8;
    sizes[10] = (UINT64_C(1) << CHAR_JOINT_BITS) / 8;
    sizes[11] = (UINT64_C(1) << BYTE_JOINT_BITS) / 8;
    sizes[12] = ((uint64_t)h->token_count + 1) * 4;
    sizes[13] = ((uint64_t)pair_mask_for(h->rank_count) + 1) / 8;
}

static void lay_out(image_header *h, uint64_t bytes)
{
    uint64_t sizes[PARTS], *offsets = &h->starts;
    int i;
    part_sizes(h, bytes, sizes);
    h->size = (sizeof *h + 63) / 64 * 64;
    for (i = 0; i < PARTS; i++) {
        offsets[i] = h->size;
        h->size += (sizes[i] + 63) / 64 * 64;
    }
}

static void point(bpe_vocabulary *v, void *image)
{
    const image_header *h = image;
    const uint8_t *base = image;
    v->image = image;
    v->size = (size_t)h->size;
    v->token_count = h->token_count;
    v->rank_count = h->rank_count;
    v->whole = h->whole;
    v->longest = h->longest;
    v->ranks_are_ids = h->ranks_are_ids;
    v->ids_count = h->ids_count;
    v->pairs_count = h->pairs_count;
    v->pairs_reach = h->pairs_reach;
    v->starts = (const void *)(base + h->starts);
    v->bytes = base + h->bytes;
    v->records = (const void *)(base + h->records);
    v->byte_tokens = (const void *)(base + h->byte_tokens);
    v->ids = (const void *)(base + h->ids);
    v->pairs = (const void *)(base + h->pairs);
    v->byte_pairs = (const void *)(base + h->byte_pairs);
    v->byte_bounds = (const void *)(base + h->byte_bounds);
    v->rank_tokens = (const void *)(base + h->rank_tokens);
    v->merged = (const void *)(base + h->merged);
    v->char_joints = (const void *)(base + h->char_joints);
    v->byte_joints = (const void *)(base + h->byte_joints);
    v->sizes = (const void *)(base + h->sizes);
    v->pair_bits = (const void *)(base + h->pair_bits);
    v->pair_mask = pair_mask_for(h->rank_count);
}

int bpe_open(bpe_vocabulary *v, void *image, size_t size)
{
    image_header h, expected;
    const uint32_t *starts;
    uint32_t i, wrong = 0;
    if (size < sizeof h) return -1;
    memcpy(&h, image, sizeof h);
    if (h.magic != MAGIC || h.size != size || h.token_count > BPE_TOKENS || h.rank_count > BPE_RANKS || h.bytes > size) return -1;
    if (h.ranks_are_ids && h.rank_count > h.token_count) return -1;
    if (h.ids_count == 0 || h.pairs_count == 0) return -1;
    if (h.pairs_reach > h.rank_count / LINE_PAIRS) return -1; /* each of those lines has as many pairs; or a look-up takes seconds */
    if (h.starts + ((uint64_t)h.token_count + 1) * 4 > size || h.starts != (sizeof h + 63) / 64 * 64) return -1;
    starts = (const void *)((const uint8_t *)image + h.starts);
    expected = h;
    lay_out(&expected, starts[h.token_count]);
    if (memcmp(&expected, &h, sizeof h) != 0) return -1;
    point(v, image);
    for (i = 0; i < h.token_count; i++) { /* without a branch, many at a time: */
        const uint32_t length = starts[i + 1] - starts[i];
        wrong |= (uint32_t)(starts[i] > starts[i + 1]) | (uint32_t)(length > h.longest);
        wrong |= (uint32_t)!fits_size(v->sizes[i], length);
    }
    wrong |= (uint32_t)!fits_size(v->sizes[i], 0);
    for (i = 0; i < 256; i++) wrong |= (uint32_t)(v->byte_tokens[i] >= v->token_count) & (uint32_t)(v->byte_tokens[i] != BPE_NONE);
    for (i = 0; !v->ranks_are_ids && i < v->rank_count; i++) wrong |= (uint32_t)(v->rank_tokens[i] >= v->token_count);
    return wrong ? -1 : 0;
}

void bpe_close(bpe_vocabulary *v)
{
    bpe_release(v->image, v->size);
    memset(v, 0, sizeof *v);
}

/* --- tokens ------------------------------------------------------------------------------------------------------------ */

uint32_t bpe_find_hashed(const bpe_vocabulary *v, const uint8_t *bytes, size_t length, uint64_t hash)
{
    uint32_t tries = 0, id;
    for (; (id = next_candidate(v, hash, &tries)) != BPE_NONE; tries++) {
        const bpe_record *record = v->records + id;
        if (record->length != (length <= 15 ? length : 255)) continue;
        if (length <= 15 && memcmp(record->bytes, bytes, length) == 0) return id;
        if (length > 15 && bpe_token_length(v, id) == length && memcmp(v->bytes + v->starts[id], bytes, length) == 0) return id;
    }
    return BPE_NONE;
}

uint32_t bpe_find(const bpe_vocabulary *v, const uint8_t *bytes, size_t length)
{
    return length == 0 || length > v->longest ? BPE_NONE : bpe_find_hashed(v, bytes, length, hash_bytes(bytes, length));
}

static void put_token(bpe_vocabulary *v, uint32_t id, uint64_t hash, uint32_t *ids, uint32_t *byte_tokens, bpe_record *records)
{
    const uint32_t length = bpe_token_length(v, id);
    const uint8_t *bytes = v->bytes + v->starts[id];
    uint32_t at = first_place(v, hash);
    memcpy(records[id].bytes, bytes, length < 15 ? length : 15);
    records[id].length = length <= 15 ? (uint8_t)length : 255;
    if (length == 0) return;
    while (ids[at] != BPE_NONE) at = at + 1 < v->ids_count ? at + 1 : 0;
    ids[at] = tag_of(hash) | id;
    if (length == 1) byte_tokens[bytes[0]] = id;
}

static void put_joints(uint64_t *char_joints, uint64_t *byte_joints, const uint8_t *p, size_t length)
{
    size_t i, behind, before;
    uint32_t second;
    for (i = 1; i < length; i++) {
        if (p[i - 1] < 0x80 || p[i] < 0xC0) continue;
        before = char_before(p + i, i);
        behind = char_length(p[i]);
        if (before > 0 && behind <= length - i) {
            set_bit(char_joints, char_joint(char_number(p + i - before, before), char_number(p + i, behind)));
        } else if (i + 1 < length) {
            set_bit(byte_joints, byte_joint(p[i - 1], p[i], p[i + 1]));
        } else {
            for (second = 0; second < 64; second++) set_bit(byte_joints, byte_joint(p[i - 1], p[i], (uint8_t)second));
        }
    }
}

/* --- merges ------------------------------------------------------------------------------------------------------------ */

/* What the merge of tokens of these lengths says of two bytes. */
static void put_bounds(bpe_vocabulary *v, uint32_t left, uint32_t left_length, uint32_t right, uint32_t right_length, uint32_t rank)
{
    uint32_t *const bounds = (uint32_t *)(uintptr_t)v->byte_bounds;
    const uint8_t *l = v->bytes + v->starts[left], *r = v->bytes + v->starts[right];
    if (left_length == 1) {
        uint32_t *known = bounds + (l[0] | (uint32_t)r[0] << 8);
        if (rank < *known >> BOUND_BEHIND_SHIFT) *known = (*known & (BOUND_BEFORE | BOUND_EARLY)) | rank << BOUND_BEHIND_SHIFT;
    }
    if (right_length == 1) {
        uint32_t *known = bounds + (l[left_length - 1] | (uint32_t)r[0] << 8);
        if (rank < (*known & BOUND_BEFORE)) *known = (*known & ~(uint32_t)BOUND_BEFORE) | rank;
    }
    if (left_length == 2 && rank <= v->byte_pairs[l[0] | (uint32_t)l[1] << 8]) bounds[l[0] | (uint32_t)l[1] << 8] &= ~(uint32_t)BOUND_EARLY;
    if (right_length == 2 && rank <= v->byte_pairs[r[0] | (uint32_t)r[1] << 8]) bounds[r[0] | (uint32_t)r[1] << 8] &= ~(uint32_t)BOUND_EARLY;
}

void bpe_put_merge(bpe_vocabulary *v, uint32_t left, uint32_t right, uint32_t rank)
{
    const uint64_t key = pair_key(left, right);
    const uint32_t high = (uint32_t)(key >> 10), low = (uint32_t)key << RANK_BITS | rank;
    const uint32_t left_length = bpe_token_length(v, left), right_length = bpe_token_length(v, right);
    bpe_pair_line *line = (bpe_pair_line *)(uintptr_t)line_of(v, key);
    const uint32_t bit = pair_hash(key) & v->pair_mask;
    uint32_t reach, i;
    ((uint32_t *)(uintptr_t)v->pair_bits)[bit / 32] |= UINT32_C(1) << bit % 32;
    for (reach = 0;; reach++, line = (bpe_pair_line *)(uintptr_t)next_line(v, line)) {
        for (i = 0; i < LINE_PAIRS && line->high[i] != NO_PAIR; i++) {
            if (line->high[i] == high && (line->low[i] ^ low) >> RANK_BITS == 0) break;
        }
        if (i == LINE_PAIRS) continue;
        line->high[i] = high;
        line->low[i] = low;
        if (reach > v->pairs_reach) v->pairs_reach = reach;
        break;
    }
    if (left_length == 1 && right_length == 1) {
        const uint32_t two = v->bytes[v->starts[left]] | (uint32_t)v->bytes[v->starts[right]] << 8;
        if (v->byte_pairs[two] != BPE_NONE) ((uint32_t *)(uintptr_t)v->byte_bounds)[two] &= ~(uint32_t)BOUND_EARLY; /* compared with another rank */
        ((uint32_t *)(uintptr_t)v->byte_pairs)[two] = rank;
    }
    if (left_length <= 2 || right_length <= 2) put_bounds(v, left, left_length, right, right_length, rank);
}

/* --- all of it --------------------------------------------------------------------------------------------------------- */

#define AHEAD 16 /* places in tables are asked for so many tokens or merges before they are needed */

static void put_tokens(bpe_vocabulary *v)
{
    uint32_t *ids = (uint32_t *)(uintptr_t)v->ids, *byte_tokens = (uint32_t *)(uintptr_t)v->byte_tokens, *sizes = (uint32_t *)(uintptr_t)v->sizes;
    uint32_t *bounds = (uint32_t *)(uintptr_t)v->byte_bounds, id, next, i;
    uint64_t hashes[AHEAD];
    memset(ids, 0xFF, (size_t)v->ids_count * sizeof *ids);
    memset(byte_tokens, 0xFF, 256 * sizeof *byte_tokens);
    memset((void *)(uintptr_t)v->byte_pairs, 0xFF, 65536 * sizeof *v->byte_pairs);
    for (i = 0; i < 65536; i++) bounds[i] = BOUND_MOST | BOUND_EARLY | BOUND_MOST << BOUND_BEHIND_SHIFT;
    memset((void *)(uintptr_t)v->pairs, 0xFF, (size_t)v->pairs_count * sizeof *v->pairs);
    for (next = id = 0; id < v->token_count; id++) {
        for (; next < v->token_count && next < id + AHEAD; next++) {
            hashes[next % AHEAD] = hash_bytes(v->bytes + v->starts[next], bpe_token_length(v, next));
            PREFETCH(ids + first_place(v, hashes[next % AHEAD]));
        }
        put_token(v, id, hashes[id % AHEAD], ids, byte_tokens, (bpe_record *)(uintptr_t)v->records);
        put_joints((uint64_t *)(uintptr_t)v->char_joints, (uint64_t *)(uintptr_t)v->byte_joints, v->bytes + v->starts[id], bpe_token_length(v, id));
        sizes[id] = size_of(v, id);
    }
    sizes[v->token_count] = RARE | LONG;
}

/* Which tokens of up to BPE_MEDIUM bytes are what their bytes merge to: many at a time. */
static void try_tokens(const bpe_vocabulary *v, bpe_vectors vectors)
{
    enum { AT_ONCE = 256 };
    bpe_job jobs[AT_ONCE];
    uint32_t ids[AT_ONCE][BPE_MEDIUM], tokens[AT_ONCE], id = 0, n, i;
    while (id < v->token_count) {
        for (n = 0; n < AT_ONCE && id < v->token_count; id++) {
            const uint32_t length = bpe_token_length(v, id);
            const bpe_job job = {v->bytes + v->starts[id], length, 0, ids[n]};
            if (length == 0 || length > BPE_MEDIUM) continue;
            tokens[n] = id;
            jobs[n++] = job;
        }
        bpe_merge_tokens(v, jobs, n, vectors);
        for (i = 0; i < n; i++) {
            if (jobs[i].count == 1 && ids[i][0] == tokens[i]) set_bit((uint64_t *)(uintptr_t)v->merged, tokens[i]);
        }
    }
}

int bpe_build(bpe_vocabulary *v, const uint32_t *starts, const uint8_t *bytes, uint32_t token_count, const uint32_t *merges,
              uint32_t rank_count, int whole, bpe_vectors vectors)
{
    image_header h = {.magic = MAGIC, .token_count = token_count, .whole = whole != 0, .ranks_are_ids = merges == NULL};
    uint32_t i, *rank_tokens;
    for (i = 0; i < token_count; i++) h.longest = starts[i + 1] - starts[i] > h.longest ? starts[i + 1] - starts[i] : h.longest;
    h.rank_count = merges == NULL ? token_count : rank_count;
    h.ids_count = places_for(token_count);
    h.pairs_count = lines_for(h.rank_count);
    lay_out(&h, starts[token_count]);
    v->image = bpe_allocate((size_t)h.size);
    if (v->image == NULL) return -1;
    memcpy(v->image, &h, sizeof h);
    point(v, v->image);
    memcpy((void *)(uintptr_t)v->starts, starts, ((size_t)token_count + 1) * 4);
    memcpy((void *)(uintptr_t)v->bytes, bytes, starts[token_count]);
    put_tokens(v);
    rank_tokens = (uint32_t *)(uintptr_t)v->rank_tokens;
    for (i = 0; merges != NULL && i < rank_count; i++) {
        if (i + AHEAD < rank_count) PREFETCH(line_of(v, pair_key(merges[3 * (i + AHEAD)], merges[3 * (i + AHEAD) + 1])));
        rank_tokens[i] = merges[3 * i + 2];
        bpe_put_merge(v, merges[3 * i], merges[3 * i + 1], i);
    }
    if (merges != NULL) try_tokens(v, vectors);
    else if (bpe_split_tokens(v, vectors) < 0) bpe_close(v);
    if (v->image == NULL) return -1;
    ((image_header *)v->image)->pairs_reach = v->pairs_reach;
    return 0;
}
