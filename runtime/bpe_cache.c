/* bpe_cache.c - pieces and their ids in, the ids of a piece out if it is still there. See bpe_cache.h.
 *
 * Rejected: to begin with all tokens in the cache (most are never met, and tables of 15 MB leave the caches of the processor);
 * keyed hashes (an attacker gains nothing but misses, for no search is longer than two entries); a cache that grows (it is never
 * as fast again when it has left the second-level cache, and memory must be bounded).
 */
#include "bpe_cache.h"

#include <stdlib.h>

#define LEFT ((BUCKETS + 63) / 64 * 8)
#define TABLES (sizeof(entry[2]) * BUCKETS + sizeof(medium_entry) * MEDIUMS + sizeof(slot) * SLOTS + (1u << SEEN_BITS) / 8 + LEFT + ARENA)

typedef struct {
    uint32_t length, count; /* before the ids and the bytes of a piece in the arena */
} head;

void bpe_encoder_watch(bpe_encoder *e, bpe_watch *watch) { e->watch = watch; }

size_t bpe_encoder_size(const bpe_encoder *e) { return sizeof *e + TABLES; }

bpe_encoder *bpe_encoder_new(const bpe_vocabulary *v)
{
    bpe_encoder *e = calloc(1, sizeof *e);
    uint8_t *at;
    if (e == NULL) return NULL;
    at = bpe_allocate(TABLES);
    if (at == NULL) {
        free(e);
        return NULL;
    }
    e->v = v;
    e->generation = 1;
    e->refused = ELSEWHERE | (v->whole ? 0 : UNTRIED);
    e->buckets = (void *)at;
    e->mediums = (void *)(at += sizeof(entry[2]) * BUCKETS);
    e->slots = (void *)(at += sizeof(medium_entry) * MEDIUMS);
    e->seen = (void *)(at += sizeof(slot) * SLOTS);
    e->left = (void *)(at += (1u << SEEN_BITS) / 8);
    e->arena = at + LEFT;
    return e;
}

void bpe_encoder_free(bpe_encoder *e)
{
    if (e == NULL) return;
    bpe_release(e->buckets, TABLES);
    free(e);
}

static inline int is_free(const entry *place) { return place->ids[3] == 0 && key_low(place->bytes) == 0 && key_high(place->bytes) == 0; }

/* A guest makes room for a guest, but none for who is at home there. */
static void move_on(bpe_encoder *e, const entry *evicted)
{
    entry *place = guest_bucket_of(e, evicted->bytes);
    if (is_free(evicted) || bucket_of(e, evicted->bytes) == place) return;
    place += !is_free(place);
    if (is_free(place) || bucket_of(e, place->bytes) != place - 1) {
        *place = *evicted;
        set_bit(e->left, bucket_bit(evicted->bytes));
    }
}

void bpe_remember(bpe_encoder *e, key k, uint32_t flags, const uint32_t *ids, size_t count)
{
    entry *bucket = bucket_of(e, k);
    if (!same_key(bucket[0].bytes, k)) {
        if (!same_key(bucket[1].bytes, k) && bucket_of(e, bucket[1].bytes) == bucket) move_on(e, bucket + 1);
        bucket[1] = bucket[0];
    }
    bucket[0].bytes = k;
    memcpy(bucket[0].ids, ids, 4 * sizeof *ids);
    bucket[0].ids[3] |= flags | (uint32_t)(count - 1) << COUNT_SHIFT;
}

/* The length of a piece as it is remembered: a part is none. */
static inline uint32_t marked(const span *s) { return s->length | (s->part ? 0x8000u : 0); }

/* The bytes of a piece of up to MEDIUM of them, with zeros behind. */
static inline void padded(const span *s, uint64_t bytes[4])
{
    int i;
    if (s->readable >= MEDIUM) {
        for (i = 0; i < 4; i++) bytes[i] = load_8(s->bytes + 8 * i) & load_8(FIRST_BYTES + MEDIUM - s->length + 8 * i);
    } else {
        memset(bytes, 0, MEDIUM);
        memcpy(bytes, s->bytes, s->length);
    }
}

static size_t recall_medium(const bpe_encoder *e, const span *s, uint64_t hash, uint32_t *out)
{
    const medium_entry *found = medium_of(e, hash);
    uint64_t bytes[4];
    padded(s, bytes);
    if (found->length != marked(s) || memcmp(found->bytes, bytes, sizeof bytes) != 0) return 0;
    memcpy(out, found->ids, found->count * sizeof *out);
    return found->count;
}

static size_t recall_from_arena(const bpe_encoder *e, const span *s, uint64_t hash, uint32_t *out)
{
    const slot *found = slots_of(e, hash);
    const uint8_t *at;
    head h;
    found += found->hash != hash;
    at = e->arena + found->at;
    if (found->hash != hash || found->generation != e->generation) return 0;
    memcpy(&h, at, sizeof h);
    if (h.length != marked(s) || memcmp(at + sizeof h + 4 * (size_t)h.count, s->bytes, s->length) != 0) return 0;
    memcpy(out, at + sizeof h, 4 * (size_t)h.count);
    return h.count;
}

size_t bpe_recall(const bpe_encoder *e, const span *s, uint64_t hash, uint32_t *out)
{
    const size_t count = s->length <= MEDIUM ? recall_medium(e, s, hash, out) : 0;
    return count > 0 ? count : recall_from_arena(e, s, hash, out);
}

static void remember_in_arena(bpe_encoder *e, const span *s, uint64_t hash, const uint32_t *ids, size_t count)
{
    slot *place = slots_of(e, hash);
    const head h = {marked(s), (uint32_t)count};
    const size_t size = (sizeof h + 4 * count + s->length + 7) / 8 * 8;
    uint8_t *at;
    if (size > ARENA - e->used) {
        e->used = 0;
        e->generation++;
    }
    at = e->arena + e->used;
    memcpy(at, &h, sizeof h);
    memcpy(at + sizeof h, ids, 4 * count);
    memcpy(at + sizeof h + 4 * count, s->bytes, s->length);
    if (place->hash != hash) place[1] = place[0];
    place->hash = hash;
    place->at = e->used;
    place->generation = e->generation;
    e->used += (uint32_t)size;
}

void bpe_remember_longer(bpe_encoder *e, const span *s, uint64_t hash, const uint32_t *ids, size_t count)
{
    medium_entry *place = medium_of(e, hash);
    if (s->length > LONGEST) return;
    if (s->length > MEDIUM || count > MEDIUM_IDS) {
        remember_in_arena(e, s, hash, ids, count);
        return;
    }
    padded(s, place->bytes);
    memcpy(place->ids, ids, count * sizeof *ids);
    place->length = (uint16_t)marked(s);
    place->count = (uint16_t)count;
}
