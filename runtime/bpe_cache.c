/* bpe_cache.c - pieces and their ids in, the ids of a piece out if it is still there. See bpe_cache.h.
 *
 * Rejected: to begin with all tokens in the cache (most are never met, and tables of 15 MB leave the caches of the processor);
 * keyed hashes (an attacker gains nothing but misses, for no search is longer than four entries); a cache that grows without end (memory
 * must be bounded), or that is larger from the beginning (texts that do not need it are slower, and so is the first call).
 */
#include "bpe_cache.h"

#include <stdlib.h>

/* All tables side by side. The many medium entries fill two large pages. The second of the next two has what each text uses, from the end of
 * the arena, where it begins to be filled, to the few buckets, which grow from where they are into the pages behind. Nothing is given back: the
 * system may fill a hole in a large page again. Small pages are left for the second half of the arena, which is written before it is read: of
 * what is read first, here and there, each was made twice, and other processors had to be told (so it was with the table of characters: a
 * fourth of the time of Japanese met first).
 */
#define LINES(size) (((size) + 63) / 64 * 64)
#define LARGES(size) (((size) + (2u << 20) - 1) / (2u << 20) * (2u << 20))
#define MANY_MEDIUMS (sizeof(medium_entry) * MOST_MEDIUMS)
#define HALF LINES(ARENA + 16)
#define SEEN_SIZE ((size_t)1 << SEEN_BITS >> 3)
#define LEFT LINES((MOST_BUCKETS + 7) / 8)
#define MEDIUM_LEFT LINES((MOST_MEDIUMS / 2 + 7) / 8)
#define FEW (sizeof(medium_entry) * FEW_MEDIUMS + LINES(sizeof(slot) * SLOTS) + LINES(sizeof(short_entry) * SHORTS))
#define ARENA_AT (MANY_MEDIUMS + 16 * CHARACTERS + SEEN_SIZE)
#define SECOND_HALF (LARGES(ARENA_AT + HALF + LEFT + MEDIUM_LEFT + FEW + (size_t)BUCKET * MOST_BUCKETS) - ARENA_AT) /* behind the first */
#define TABLES (ARENA_AT + SECOND_HALF + HALF)

typedef struct {
    uint32_t length, count; /* before the ids and the bytes of a piece in the arena */
} head;

void bpe_encoder_watch(bpe_encoder *e, bpe_watch *watch) { e->watch = watch; }

void bpe_encoder_use_vectors(bpe_encoder *e, bpe_vectors vectors)
{
    e->vectors = vectors == BPE_AVX512;
    e->most_vectors = vectors;
}

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
    e->spare = HALF - 16;
    e->bucket_mask = FEW_BUCKETS - 1;
    e->medium_mask = FEW_MEDIUMS - 2;
    e->room = FEW_BUCKETS / 2;
    e->medium_room = FEW_MEDIUMS / 2;
    e->skip = e->skipped = 1; /* nothing was met yet */
    e->tables = at;
    e->characters = (void *)(at += MANY_MEDIUMS);
    e->seen = (void *)(at += 16 * CHARACTERS);
    e->arena = at += SEEN_SIZE;
    e->left = (void *)(at += HALF);
    e->medium_left = (void *)(at += LEFT);
    e->mediums = (void *)(at += MEDIUM_LEFT);
    e->slots = (void *)(at += sizeof(medium_entry) * FEW_MEDIUMS);
    e->shorts = (void *)(at += LINES(sizeof(slot) * SLOTS));
    e->buckets = at + LINES(sizeof(short_entry) * SHORTS);
    return e;
}

void bpe_encoder_free(bpe_encoder *e)
{
    if (e == NULL) return;
    bpe_release(e->tables, TABLES);
    free(e);
}

static inline int is_free(const entry *place) { return place->ids[3] == 0 && key_low(place->bytes) == 0 && key_high(place->bytes) == 0; }

static inline void put_entry(entry *to, const entry *from)
{
    to->bytes = from->bytes;
    memcpy(to->ids, from->ids, sizeof to->ids);
}

static inline void free_entry(entry *place)
{
    memset(&place->bytes, 0, sizeof place->bytes);
    memset(place->ids, 0, sizeof place->ids);
}

/* A guest makes room for a guest, but none for who is at home there. */
static void move_on(bpe_encoder *e, const entry *evicted)
{
    entry *bucket = guest_bucket_of(e, evicted->bytes), *place = is_free(bucket) ? bucket : second_of(bucket);
    if (is_free(evicted) || bucket_of(e, evicted->bytes) == bucket) return;
    e->room -= e->room > 0 && !is_free(place);
    if (is_free(place) || bucket_of(e, place->bytes) != bucket) {
        put_entry(place, evicted);
        set_bit(e->left, bucket_number(e, evicted->bytes));
    }
}

/* More buckets: what is in one stays, or goes to the same place of another whose number ends with the same bits, at home or as a guest, as it
 * was. */
static void grow_buckets(bpe_encoder *e)
{
    const uint32_t few = e->bucket_mask + 1, many = few < BUCKETS ? BUCKETS : 2 * few;
    uint32_t i, k;
    e->bucket_mask = many - 1;
    e->room = many / LOST;
    for (i = 0; i < few; i++) {
        entry *const bucket = bucket_at(e, i);
        entry *place = bucket, *home;
        for (k = 0; k < 2; k++, place = second_of(bucket)) {
            if (is_free(place)) continue;
            home = bucket_of(e, place->bytes);
            if ((size_t)((uint8_t *)home - e->buckets) / BUCKET % few != i) home = guest_bucket_of(e, place->bytes);
            if (home == bucket) continue;
            put_entry(k == 0 ? home : second_of(home), place);
            free_entry(place);
        }
        for (k = i + few; has_bit(e->left, i) && k < many; k += few) set_bit(e->left, k);
    }
}

/* The first place of a bucket, for a key. */
static void make_room(bpe_encoder *e, entry *bucket, key k)
{
    entry *second = second_of(bucket);
    e->moved++;
    if (same_key(bucket->bytes, k) || is_free(bucket)) return;
    if (!same_key(second->bytes, k) && bucket_of(e, second->bytes) == bucket) move_on(e, second);
    put_entry(second, bucket);
}

void bpe_come_home(bpe_encoder *e, entry *guest)
{
    const entry copy = *guest;
    entry *bucket = bucket_of(e, copy.bytes);
    free_entry(guest);
    make_room(e, bucket, copy.bytes);
    put_entry(bucket, &copy);
}

/* So many bytes of the arena, each half of which is filled from its end. What was there before is gone when both are full. */
static uint8_t *take(bpe_encoder *e, size_t size)
{
    size = (size + 7) / 8 * 8;
    if (size > e->spare) {
        e->spare = HALF - 16;
        e->half ^= 1;
        e->generation += e->half == 0;
    }
    e->spare -= (uint32_t)size;
    return e->arena + e->half * SECOND_HALF + e->spare;
}

/* Ids that do not fit an entry, and where they are: two numbers instead of them. */
static void put_elsewhere(bpe_encoder *e, const uint32_t *ids, size_t count, uint32_t where[2])
{
    uint8_t *at = take(e, count * sizeof *ids);
    memcpy(at, ids, count * sizeof *ids);
    where[0] = (uint32_t)(at - e->arena);
    where[1] = e->generation;
}

void bpe_remember(bpe_encoder *e, key k, uint32_t flags, const uint32_t *ids, size_t count)
{
    entry *bucket;
    if (UNLIKELY(e->room == 0) && e->bucket_mask + 1 < UNASKED_BUCKETS) grow_buckets(e);
    e->room -= e->bucket_mask + 1 < BUCKETS;
    bucket = bucket_of(e, k);
    make_room(e, bucket, k);
    bucket->bytes = k;
    if (count <= 4) {
        memcpy(bucket->ids, ids, 4 * sizeof *ids);
        bucket->ids[3] |= (flags != 0 ? flags : PLAIN) | (uint32_t)(count - 1) << COUNT_SHIFT;
    } else {
        put_elsewhere(e, ids, count, bucket->ids);
        bucket->ids[2] = (uint32_t)count;
        bucket->ids[3] = flags | ELSEWHERE;
    }
}

#define PART 0x8000u
#define GUEST 0x4000u

/* The length of a piece as it is remembered: a part is none. A guest has GUEST besides. */
static inline uint32_t marked(const span *s) { return s->length | (s->part ? PART : 0); }

static inline int same_bytes(const uint64_t a[4], const uint64_t b[4])
{
    return ((a[0] ^ b[0]) | (a[1] ^ b[1]) | (a[2] ^ b[2]) | (a[3] ^ b[3])) == 0;
}

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

static inline int is_medium(const medium_entry *m, uint32_t length, const uint64_t bytes[4])
{
    return m->length == length && same_bytes(m->bytes, bytes);
}

/* The two medium entries in which those of two others are guests, which are the two in which those of these are; themselves, if there are no
 * others. */
static inline medium_entry *medium_guests_of(const bpe_encoder *e, const medium_entry *two)
{
    return e->mediums + (((size_t)(two - e->mediums) ^ 2) & e->medium_mask);
}

static size_t recall_medium(const bpe_encoder *e, const span *s, uint64_t hash, uint32_t *out)
{
    const medium_entry *found = mediums_of(e, hash);
    uint32_t length = marked(s);
    uint64_t bytes[4];
    padded(s, bytes);
    if (!is_medium(found, length, bytes) && !is_medium(++found, length, bytes)) {
        if (!has_bit(e->medium_left, pair_number(e, hash))) return 0;
        found = medium_guests_of(e, found - 1);
        length |= GUEST;
        if (!is_medium(found, length, bytes) && !is_medium(++found, length, bytes)) return 0;
    }
    if (found->count > MEDIUM_IDS) return ids_elsewhere(e, found->ids, found->count, out);
    memcpy(out, found->ids, MEDIUM_IDS * sizeof *out);
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
    return s->length <= MEDIUM ? recall_medium(e, s, hash, out) : recall_from_arena(e, s, hash, out);
}

static void remember_in_arena(bpe_encoder *e, const span *s, uint64_t hash, const uint32_t *ids, size_t count)
{
    slot *place = slots_of(e, hash);
    const head h = {marked(s), (uint32_t)count};
    uint8_t *at = take(e, sizeof h + 4 * count + s->length);
    memcpy(at, &h, sizeof h);
    memcpy(at + sizeof h, ids, 4 * count);
    memcpy(at + sizeof h + 4 * count, s->bytes, s->length);
    if (place->hash != hash) place[1] = place[0];
    place->hash = hash;
    place->at = (uint32_t)(at - e->arena);
    place->generation = e->generation;
}

/* As move_on: the second of two makes room, and becomes a guest if it is none, where there is room or another guest. */
static void move_medium_on(bpe_encoder *e, const medium_entry *two)
{
    medium_entry *place = medium_guests_of(e, two);
    if (two[1].length == 0) return;
    if (place != two && (two[1].length & GUEST) == 0) {
        if (place->length != 0 && (place[1].length == 0 || (place->length & GUEST) == 0)) place++;
        if (place->length == 0 || (place->length & GUEST) != 0) {
            const int was_free = place->length == 0;
            *place = two[1];
            place->length |= GUEST;
            set_bit(e->medium_left, (uint32_t)(two - e->mediums) / 2);
            if (was_free) return;
        }
    }
    e->medium_room -= e->medium_room > 0;
}

/* More medium entries, likewise: of two side by side, each stays or goes to the same place of another two, as buckets do. */
static void grow_mediums(bpe_encoder *e)
{
    const uint32_t few = e->medium_mask + 2, many = few < MEDIUMS ? MEDIUMS : MOST_MEDIUMS;
    medium_entry *const from = e->mediums;
    uint32_t i;
    e->medium_mask = many - 2;
    e->mediums = (void *)e->tables;
    e->medium_room = many / LOST;
    for (i = 0; i < few; i++) {
        medium_entry *m = from + i, *now;
        if (m->length == 0) continue;
        now = mediums_of(e, hash_bytes((const uint8_t *)m->bytes, m->length & ~(PART | GUEST)));
        if ((m->length & GUEST) != 0) now = medium_guests_of(e, now);
        now += i % 2;
        if (now == m) continue;
        *now = *m;
        m->length = 0;
    }
    for (i = 0; i < few / 2; i++) {
        uint32_t k;
        for (k = i + few / 2; has_bit(e->medium_left, i) && k < many / 2; k += few / 2) set_bit(e->medium_left, k);
    }
}

void bpe_remember_longer(bpe_encoder *e, const span *s, uint64_t hash, const uint32_t *ids, size_t count)
{
    medium_entry *place;
    uint64_t bytes[4];
    if (s->length > LONGEST) return;
    if (s->length > MEDIUM) {
        remember_in_arena(e, s, hash, ids, count);
        return;
    }
    if (UNLIKELY(e->medium_room == 0) && e->medium_mask + 2 < MEDIUMS) grow_mediums(e);
    place = mediums_of(e, hash);
    padded(s, bytes);
    e->medium_room -= e->medium_mask + 2 < MEDIUMS;
    if (!is_medium(place, marked(s), bytes) && place->length != 0) {
        if (!is_medium(place + 1, marked(s), bytes)) move_medium_on(e, place);
        place[1] = place[0];
    }
    memcpy(place->bytes, bytes, sizeof bytes);
    place->length = (uint16_t)marked(s);
    place->count = (uint16_t)count;
    if (count <= MEDIUM_IDS) memcpy(place->ids, ids, count * sizeof *ids);
    else put_elsewhere(e, ids, count, place->ids);
}

void bpe_encoder_make_room(bpe_encoder *e)
{
    if (UNLIKELY(e->room == 0) && e->bucket_mask + 1 < MOST_BUCKETS) grow_buckets(e);
    if (UNLIKELY(e->medium_room == 0) && e->medium_mask + 2 < MOST_MEDIUMS) grow_mediums(e);
}
