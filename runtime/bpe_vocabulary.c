/* bpe_vocabulary.c - the tables of a vocabulary: tokens and merges in, one image out, in which everything is found by hashing.
 *
 * Where merges are not given (.tiktoken files), every way to cut a token into two tokens is one. There are a dozen ways to cut a
 * token, and a third of them are merges; looking up both sides of each by their bytes would take longer than all else that is done
 * to load a vocabulary. So both sides are hashed together with all others of the same token, in one pass over its bytes, and
 * a filter of bits turns most of those away that are no tokens.
 *
 * Rejected: finding merges on demand, when a pair is first met (it makes the first sight of a text slower, and tables that
 * change cannot be shared).
 */
#include "bpe_joints.h"
#include "bpe_key.h"

#include <stdlib.h>

#define PARTS 13
#define MAGIC UINT64_C(0x3145504258454C54) /* also tells the order of bytes */

typedef struct {
    uint64_t magic, size;
    uint32_t token_count, rank_count, whole, longest, ranks_are_ids, ids_mask, pairs_mask, reserved;
    uint64_t starts, bytes, records, byte_tokens, ids, pairs, pair_filter, byte_pairs, rank_tokens, merged, token_filter, char_joints, byte_joints;
} image_header;

static uint32_t mask_for(size_t count)
{
    uint32_t mask = 63;
    while (mask < count + count / 2) mask = mask * 2 + 1;
    return mask;
}

/* --- the image --------------------------------------------------------------------------------------------------------- */

/* The bytes of each part of an image, in the order of their offsets in the header. */
static void part_sizes(const image_header *h, uint64_t bytes, uint64_t sizes[PARTS])
{
    sizes[0] = ((uint64_t)h->token_count + 1) * 4;
    sizes[1] = bytes;
    sizes[2] = (uint64_t)h->token_count * sizeof(bpe_record);
    sizes[3] = 256 * 4;
    sizes[4] = ((uint64_t)h->ids_mask + 1) * 4;
    sizes[5] = ((uint64_t)h->pairs_mask + 1) * 8;
    sizes[6] = (UINT64_C(1) << FILTER_BITS) / 8;
    sizes[7] = 65536 * 4;
    sizes[8] = (uint64_t)h->rank_count * 4;
    sizes[9] = ((uint64_t)h->token_count + 63) / 64 * 8;
    sizes[10] = (UINT64_C(1) << TOKEN_FILTER_BITS) / 8;
    sizes[11] = (UINT64_C(1) << CHAR_JOINT_BITS) / 8;
    sizes[12] = (UINT64_C(1) << BYTE_JOINT_BITS) / 8;
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
    v->ids_mask = h->ids_mask;
    v->pairs_mask = h->pairs_mask;
    v->starts = (const void *)(base + h->starts);
    v->bytes = base + h->bytes;
    v->records = (const void *)(base + h->records);
    v->byte_tokens = (const void *)(base + h->byte_tokens);
    v->ids = (const void *)(base + h->ids);
    v->pairs = (const void *)(base + h->pairs);
    v->pair_filter = (const void *)(base + h->pair_filter);
    v->byte_pairs = (const void *)(base + h->byte_pairs);
    v->rank_tokens = (const void *)(base + h->rank_tokens);
    v->merged = (const void *)(base + h->merged);
    v->token_filter = (const void *)(base + h->token_filter);
    v->char_joints = (const void *)(base + h->char_joints);
    v->byte_joints = (const void *)(base + h->byte_joints);
}

int bpe_open(bpe_vocabulary *v, void *image, size_t size)
{
    image_header h, expected;
    const uint32_t *starts;
    uint32_t i;
    if (size < sizeof h) return -1;
    memcpy(&h, image, sizeof h);
    if (h.magic != MAGIC || h.size != size || h.token_count > BPE_TOKENS || h.rank_count > BPE_RANKS || h.bytes > size) return -1;
    if (h.ranks_are_ids && h.rank_count > h.token_count) return -1;
    if (((h.ids_mask + 1) & h.ids_mask) != 0 || ((h.pairs_mask + 1) & h.pairs_mask) != 0) return -1;
    if (h.starts + ((uint64_t)h.token_count + 1) * 4 > size || h.starts != (sizeof h + 63) / 64 * 64) return -1;
    starts = (const void *)((const uint8_t *)image + h.starts);
    expected = h;
    lay_out(&expected, starts[h.token_count]);
    if (memcmp(&expected, &h, sizeof h) != 0) return -1;
    for (i = 0; i < h.token_count; i++) {
        if (starts[i] > starts[i + 1] || starts[i + 1] - starts[i] > h.longest) return -1;
    }
    point(v, image);
    for (i = 0; i < 256; i++) {
        if (v->byte_tokens[i] >= v->token_count && v->byte_tokens[i] != BPE_NONE) return -1;
    }
    for (i = 0; i < v->rank_count; i++) {
        if (v->rank_tokens[i] >= v->token_count) return -1;
    }
    return 0;
}

void bpe_close(bpe_vocabulary *v)
{
    bpe_release(v->image, v->size);
    memset(v, 0, sizeof *v);
}

/* --- tokens ------------------------------------------------------------------------------------------------------------ */

static inline uint32_t token_length(const bpe_vocabulary *v, uint32_t id) { return v->starts[id + 1] - v->starts[id]; }

uint32_t bpe_find(const bpe_vocabulary *v, const uint8_t *bytes, size_t length)
{
    uint32_t at = (uint32_t)hash_bytes(bytes, length) & v->ids_mask, tries;
    if (length == 0 || length > v->longest) return BPE_NONE;
    for (tries = 0; tries <= v->ids_mask && v->ids[at] < v->token_count; tries++, at = (at + 1) & v->ids_mask) {
        const uint32_t id = v->ids[at];
        if (token_length(v, id) == length && memcmp(v->bytes + v->starts[id], bytes, length) == 0) return id;
    }
    return BPE_NONE;
}

static void put_token(bpe_vocabulary *v, uint32_t id, uint32_t *ids, uint32_t *byte_tokens, bpe_record *records)
{
    const uint32_t length = token_length(v, id);
    const uint8_t *bytes = v->bytes + v->starts[id];
    uint32_t at;
    memcpy(records[id].bytes, bytes, length < 15 ? length : 15);
    records[id].length = length <= 15 ? (uint8_t)length : 255;
    if (length == 0) return;
    at = (uint32_t)hash_bytes(bytes, length) & v->ids_mask;
    while (ids[at] != BPE_NONE) at = (at + 1) & v->ids_mask;
    ids[at] = id;
    if (length <= 15) set_bit((uint64_t *)(uintptr_t)v->token_filter, token_bit(key_of(records[id].bytes, length)));
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

typedef struct {
    uint64_t hash;
    uint32_t id;
} hashed_token;

/* Tokens by a hash of their bytes that is known for all beginnings and ends of a string at once: sum of byte * FACTOR^(bytes behind). */
#define FACTOR UINT64_C(0xD1342543DE82EF95)
#define SIEVE_BITS 21

typedef struct {
    const bpe_vocabulary *v;
    hashed_token *tokens;
    uint32_t mask;
    uint64_t *sieve, *hashes, *powers; /* of all beginnings of a token; powers of FACTOR */
} cutter;

static inline uint64_t mixed(uint64_t hash)
{
    hash ^= hash >> 32;
    hash *= UINT64_C(0x9E3779B97F4A7C15);
    return hash ^ hash >> 29;
}

static inline int in_sieve(const cutter *c, uint64_t hash) { return has_bit(c->sieve, (uint32_t)(hash >> (64 - SIEVE_BITS))); }

static uint32_t hashed_find(const cutter *c, uint64_t hash, const uint8_t *bytes, uint32_t length)
{
    uint32_t at;
    for (at = (uint32_t)hash & c->mask; c->tokens[at].id != BPE_NONE; at = (at + 1) & c->mask) {
        const uint32_t id = c->tokens[at].id;
        if (c->tokens[at].hash == hash && token_length(c->v, id) == length && memcmp(c->v->bytes + c->v->starts[id], bytes, length) == 0) {
            return id;
        }
    }
    return BPE_NONE;
}

/* The hash of the token; of all its beginnings, too. */
static uint64_t hash_beginnings(const cutter *c, const uint8_t *bytes, uint32_t length)
{
    uint64_t hash = 0;
    uint32_t i;
    for (i = 0; i < length; i++) {
        c->hashes[i] = hash;
        hash = hash * FACTOR + bytes[i] + 1;
    }
    return hash;
}

static void free_cutter(cutter *c)
{
    free(c->tokens);
    free(c->sieve);
    free(c->hashes);
    free(c->powers);
}

static int make_cutter(cutter *c, const bpe_vocabulary *v)
{
    uint32_t id, i;
    c->v = v;
    c->mask = mask_for(v->token_count);
    c->tokens = malloc(((size_t)c->mask + 1) * sizeof *c->tokens);
    c->sieve = calloc((size_t)1 << (SIEVE_BITS - 6), sizeof *c->sieve);
    c->hashes = malloc(((size_t)v->longest + 1) * sizeof *c->hashes);
    c->powers = malloc(((size_t)v->longest + 1) * sizeof *c->powers);
    if (c->tokens == NULL || c->sieve == NULL || c->hashes == NULL || c->powers == NULL) return -1;
    memset(c->tokens, 0xFF, ((size_t)c->mask + 1) * sizeof *c->tokens);
    for (c->powers[0] = 1, i = 1; i <= v->longest; i++) c->powers[i] = c->powers[i - 1] * FACTOR;
    for (id = 0; id < v->token_count; id++) {
        const uint64_t hash = mixed(hash_beginnings(c, v->bytes + v->starts[id], token_length(v, id)));
        uint32_t at = (uint32_t)hash & c->mask;
        if (token_length(v, id) == 0) continue;
        set_bit(c->sieve, (uint32_t)(hash >> (64 - SIEVE_BITS)));
        while (c->tokens[at].id != BPE_NONE) at = (at + 1) & c->mask;
        c->tokens[at].hash = hash;
        c->tokens[at].id = id;
    }
    return 0;
}

/* All ways to cut all tokens in two: pair keys and ranks, packed as in `pairs`. Their number. */
static size_t cut_tokens(const cutter *c, uint64_t *out)
{
    const bpe_vocabulary *v = c->v;
    size_t count = 0;
    uint32_t id, i, left, right;
    for (id = 0; id < v->token_count; id++) {
        const uint32_t length = token_length(v, id);
        const uint8_t *bytes = v->bytes + v->starts[id];
        const uint64_t whole = hash_beginnings(c, bytes, length);
        for (i = 1; i < length; i++) {
            const uint64_t beginning = mixed(c->hashes[i]), end = mixed(whole - c->hashes[i] * c->powers[length - i]);
            if (!in_sieve(c, beginning) || !in_sieve(c, end)) continue;
            if ((left = hashed_find(c, beginning, bytes, i)) == BPE_NONE) continue;
            if ((right = hashed_find(c, end, bytes + i, length - i)) == BPE_NONE) continue;
            out[count++] = pair_key(left, right) << 22 | id;
        }
    }
    return count;
}

/* A later merge of the same pair takes the place of an earlier one. */
static void put_pair(const bpe_vocabulary *v, uint64_t *pairs, uint64_t *filter, uint64_t packed)
{
    const uint64_t hash = hash_pair(packed >> 22);
    uint32_t at = (uint32_t)hash & v->pairs_mask;
    set_bit(filter, (uint32_t)(hash >> (64 - FILTER_BITS)));
    while (pairs[at] != UINT64_MAX && pairs[at] >> 22 != packed >> 22) at = (at + 1) & v->pairs_mask;
    pairs[at] = packed;
}

static void put_merges(bpe_vocabulary *v, const uint64_t *packed, size_t count)
{
    uint64_t *pairs = (uint64_t *)(uintptr_t)v->pairs;
    uint32_t *byte_pairs = (uint32_t *)(uintptr_t)v->byte_pairs, i;
    size_t k;
    memset(pairs, 0xFF, ((size_t)v->pairs_mask + 1) * sizeof *pairs);
    for (k = 0; k < count; k++) put_pair(v, pairs, (uint64_t *)(uintptr_t)v->pair_filter, packed[k]);
    for (i = 0; i < 65536; i++) {
        const uint32_t left = v->byte_tokens[i & 255], right = v->byte_tokens[i >> 8];
        byte_pairs[i] = left == BPE_NONE || right == BPE_NONE ? BPE_NONE : find_merge(v, left, right);
    }
}

/* --- all of it --------------------------------------------------------------------------------------------------------- */

static void put_tokens(bpe_vocabulary *v)
{
    uint32_t *ids = (uint32_t *)(uintptr_t)v->ids, *byte_tokens = (uint32_t *)(uintptr_t)v->byte_tokens, id;
    memset(ids, 0xFF, ((size_t)v->ids_mask + 1) * sizeof *ids);
    memset(byte_tokens, 0xFF, 256 * sizeof *byte_tokens);
    for (id = 0; id < v->token_count; id++) {
        put_token(v, id, ids, byte_tokens, (bpe_record *)(uintptr_t)v->records);
        put_joints((uint64_t *)(uintptr_t)v->char_joints, (uint64_t *)(uintptr_t)v->byte_joints, v->bytes + v->starts[id], token_length(v, id));
    }
}

/* The merges as they are packed in `pairs`, and their number; NULL if memory is short. */
static uint64_t *packed_merges(const bpe_vocabulary *v, const uint32_t *merges, uint32_t rank_count, size_t *count)
{
    uint64_t *packed = NULL;
    uint32_t i;
    if (merges != NULL) {
        packed = malloc(((size_t)rank_count + 1) * sizeof *packed);
        for (i = 0; packed != NULL && i < rank_count; i++) packed[i] = pair_key(merges[3 * i], merges[3 * i + 1]) << 22 | i;
        *count = rank_count;
    } else {
        cutter c;
        if (make_cutter(&c, v) == 0) packed = malloc(((size_t)v->starts[v->token_count] + 1) * sizeof *packed);
        if (packed != NULL) *count = cut_tokens(&c, packed);
        free_cutter(&c);
    }
    return packed;
}

/* Which tokens of up to 15 bytes are what their bytes merge to. */
static void try_tokens(const bpe_vocabulary *v)
{
    uint32_t ids[15 + BPE_PADDING], id;
    for (id = 0; id < v->token_count; id++) {
        const bpe_record *token = v->records + id;
        if (token->length == 0 || token->length > 15) continue;
        if (bpe_merge(v, BPE_SWEEP, token->bytes, token->length, ids) == 1 && ids[0] == id) set_bit((uint64_t *)(uintptr_t)v->merged, id);
    }
}

int bpe_build(bpe_vocabulary *v, const uint32_t *starts, const uint8_t *bytes, uint32_t token_count, const uint32_t *merges,
              uint32_t rank_count, int whole)
{
    image_header h = {.magic = MAGIC, .token_count = token_count, .whole = whole != 0, .ranks_are_ids = merges == NULL};
    bpe_vocabulary tokens = {.token_count = token_count, .starts = starts, .bytes = bytes};
    uint64_t *packed;
    size_t count = 0;
    uint32_t i, *rank_tokens;
    for (i = 0; i < token_count; i++) {
        if (starts[i + 1] - starts[i] > h.longest) h.longest = starts[i + 1] - starts[i];
    }
    tokens.longest = h.longest;
    packed = packed_merges(&tokens, merges, rank_count, &count);
    if (packed == NULL) return -1;
    h.rank_count = merges == NULL ? token_count : rank_count;
    h.ids_mask = mask_for(token_count);
    h.pairs_mask = mask_for(count);
    lay_out(&h, starts[token_count]);
    v->image = bpe_allocate((size_t)h.size);
    if (v->image == NULL) {
        free(packed);
        return -1;
    }
    memcpy(v->image, &h, sizeof h);
    point(v, v->image);
    memcpy((void *)(uintptr_t)v->starts, starts, ((size_t)token_count + 1) * 4);
    memcpy((void *)(uintptr_t)v->bytes, bytes, starts[token_count]);
    rank_tokens = (uint32_t *)(uintptr_t)v->rank_tokens;
    for (i = 0; i < h.rank_count; i++) rank_tokens[i] = merges == NULL ? i : merges[3 * i + 2];
    put_tokens(v);
    put_merges(v, packed, count);
    if (!whole) try_tokens(v);
    free(packed);
    return 0;
}
