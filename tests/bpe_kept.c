/* bpe_kept.c - what a cache of pieces still has after others were put there: what it lost is merged again, so that no ids tell.
 *
 * Pieces for either kind of entries are kept while tables are small, when they have grown, and when they have grown again: the last one is
 * always there, of the others few are lost (with two medium entries for a piece instead of four, it would be three times as many), and what
 * is found is what was kept. And no table has room that is another's. Prints what is not so and returns 1.
 */
#include "bpe_cache.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST 600000

typedef struct {
    uint8_t bytes[MEDIUM + 16]; /* as much may be read */
    uint32_t length, part, count;
} piece;

static piece pieces[MOST];
static uint64_t seed = 1;

static uint32_t below(uint32_t limit)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((seed >> 33) % limit);
}

static void fail(const char *what, long where, long count)
{
    printf("%s: %ld of %ld\n", what, where, count);
    exit(1);
}

/* Different ones, of `least` to `most` bytes; of medium ones some are parts, and some have more ids than fit. */
static void make_pieces(uint32_t least, uint32_t most)
{
    uint32_t i, k;
    memset(pieces, 0, sizeof pieces);
    for (i = 0; i < MOST; i++) {
        piece *p = pieces + i;
        p->length = least + below(most - least + 1);
        p->part = least > BPE_KEY && below(4) == 0;
        p->count = 1 + below(least > BPE_KEY && below(16) == 0 ? MEDIUM_IDS + 3 : 4);
        for (k = 0; k < p->length; k++) p->bytes[k] = (uint8_t)below(256);
        memcpy(p->bytes, &i, 3);
        for (k = p->length; k < sizeof p->bytes; k++) p->bytes[k] = (uint8_t)below(256); /* the text goes on */
    }
}

static span span_of_piece(const piece *p)
{
    const span s = {p->bytes, sizeof p->bytes, p->length, p->part};
    return s;
}

static void keep(bpe_encoder *e, uint32_t number)
{
    const piece *p = pieces + number;
    const span s = span_of_piece(p);
    uint32_t ids[MEDIUM + 4], i;
    for (i = 0; i < MEDIUM + 4; i++) ids[i] = number + i;
    if (p->length <= BPE_KEY) bpe_remember(e, span_key(&s), 0, ids, p->count);
    else bpe_remember_longer(e, &s, span_hash(&s), ids, p->count);
}

static int is_kept(bpe_encoder *e, uint32_t number)
{
    const piece *p = pieces + number;
    const span s = span_of_piece(p);
    uint32_t ids[MEDIUM + 4] = {0}, i;
    size_t count;
    if (p->length <= BPE_KEY) {
        const entry *found = entry_of(bucket_of(e, span_key(&s)), span_key(&s));
        if (!same_key(found->bytes, span_key(&s))) found = guest_of(e, span_key(&s));
        count = found == NULL ? 0 : ids_of(e, found, ids);
    } else {
        count = bpe_recall(e, &s, span_hash(&s), ids);
    }
    if (count == 0) return 0;
    for (i = 0; i < p->count; i++) {
        if (count != p->count || ids[i] != number + i) fail("found with other ids", number, MOST);
    }
    return 1;
}

static uint32_t lost_of(bpe_encoder *e, uint32_t count)
{
    uint32_t i, lost = 0;
    for (i = 0; i < count; i++) lost += !is_kept(e, i);
    return lost;
}

/* Keep as many pieces as `count`. Of these, `most` of 1,000 may be lost. */
static void check(bpe_encoder *e, uint32_t *kept, uint32_t count, uint32_t most)
{
    uint32_t lost;
    for (; *kept < count; ++*kept) {
        keep(e, *kept);
        if (!is_kept(e, *kept)) fail("the last one is lost", *kept, count);
    }
    lost = lost_of(e, count);
    if (lost > count * most / 1000) fail("lost", lost, count);
    if (is_kept(e, count)) fail("one that was not kept", count, count);
}

/* Entries for pieces of one kind. */
static uint32_t room_for(const bpe_encoder *e, int are_medium) { return are_medium ? e->medium_mask + 2 : 2 * (e->bucket_mask + 1); }

static void check_room(const bpe_encoder *e, int are_medium, uint32_t room, uint32_t kept)
{
    if (room_for(e, are_medium) != room) fail("other room than for", (long)room, kept);
}

/* Keep pieces until there is as much room, or none are left; asking for more, or not. */
static void fill(bpe_encoder *e, int are_medium, uint32_t *kept, uint32_t room, int asks)
{
    while (room_for(e, are_medium) < room && *kept < MOST - 1) {
        keep(e, (*kept)++);
        if (asks) bpe_encoder_make_room(e);
    }
    check_room(e, are_medium, room, *kept);
    check(e, kept, *kept, 220);
}

/* Tables lie one behind the other in one piece of memory, so that no sanitizer sees when one goes on into the next: each ends before. */
static void check_tables(const bpe_encoder *e)
{
    const uint8_t *const end = e->tables + (bpe_encoder_size(e) - sizeof *e);
    const uint8_t *const few_mediums = (const uint8_t *)e->slots - sizeof(medium_entry) * FEW_MEDIUMS;
    const size_t half = ((size_t)ARENA + 16 + 63) / 64 * 64;
    const struct {
        const void *at;
        size_t size;
    } all[] = {
        {e->tables, sizeof(medium_entry) * MOST_MEDIUMS},
        {e->characters, sizeof *e->characters * CHARACTERS},
        {e->seen, ((size_t)1 << SEEN_BITS) / 8},
        {e->arena, half},
        {e->left, (MOST_BUCKETS + 7) / 8},
        {e->medium_left, (MOST_MEDIUMS / 2 + 7) / 8},
        {few_mediums, sizeof(medium_entry) * FEW_MEDIUMS},
        {e->slots, sizeof(slot) * SLOTS},
        {e->shorts, sizeof(short_entry) * SHORTS},
        {e->buckets, (size_t)BUCKET * MOST_BUCKETS},
        {end - half, half}, /* the other half of the arena */
    };
    const size_t count = sizeof all / sizeof *all;
    size_t i;
    for (i = 0; i < count; i++) {
        const uint8_t *at = all[i].at, *next = i + 1 < count ? all[i + 1].at : end;
        if ((size_t)(at - e->tables) % 64 != 0) fail("a table begins within a line", (long)i, (long)count);
        if (at + all[i].size > next) fail("a table goes on into the next", (long)i, (long)count);
    }
    if (e->mediums != (const void *)few_mediums && e->mediums != (const void *)e->tables) fail("medium entries elsewhere", 0, (long)count);
}

static void check_kind(int are_medium)
{
    static const bpe_vocabulary v;
    const uint32_t few = are_medium ? FEW_MEDIUMS : 2 * FEW_BUCKETS, many = are_medium ? MEDIUMS : 2 * BUCKETS;
    const uint32_t most = are_medium ? MOST_MEDIUMS : 2 * MOST_BUCKETS, unasked = are_medium ? many : 2 * UNASKED_BUCKETS;
    bpe_encoder *e = bpe_encoder_new(&v);
    uint32_t kept = 0;
    if (e == NULL) exit(2);
    check_tables(e);
    make_pieces(are_medium ? BPE_KEY + 1 : 4, are_medium ? MEDIUM : BPE_KEY);
    bpe_encoder_make_room(e);
    check(e, &kept, few / 6, 10);
    bpe_encoder_make_room(e);
    check_room(e, are_medium, few, kept);
    check(e, &kept, many / 3, 20);
    check_room(e, are_medium, many, kept);
    fill(e, are_medium, &kept, unasked, 0);
    while (kept < unasked) keep(e, kept++);
    check_room(e, are_medium, unasked, kept);
    fill(e, are_medium, &kept, most, 1);
    while (kept < MOST - 1) keep(e, kept++);
    bpe_encoder_make_room(e);
    check_room(e, are_medium, most, kept);
    check_tables(e);
    bpe_encoder_free(e);
}

int main(void)
{
    check_kind(0);
    check_kind(1);
    printf("as many are kept as there is room for\n");
    return 0;
}
