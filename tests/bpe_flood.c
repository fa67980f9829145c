/* bpe_flood.c - pieces crafted to meet in one bucket of the cache, or in one slot of the arena, and special tokens by the thousand: the work
 * they make, and what comes out. And pieces in such numbers that tables grow: that they are found again.
 *
 * The hashes are not secret, so an attacker can do this. The worst must be that no piece is ever found again: each is merged as often as it
 * occurs, like a text that was never seen. Merging is counted, not timed: link with --wrap for bpe_merge, bpe_merge_many, bpe_merge_far,
 * bpe_merge_rounds and memchr, and compile with -fno-builtin-memchr. What is looked at in a cache is counted by construction, four entries.
 * A search for special tokens looks through the text once for each byte they start with, however many there are. Returns 1 if it is more, or
 * something is wrong.
 */
#include "bpe_cache.h"
#include "specials.h"

#include <stdio.h>
#include <stdlib.h>

#define PIECES 300
#define ROUNDS 10
#define LENGTH BPE_KEY
#define LONG_LENGTH 40

static size_t merged; /* bytes */

size_t __real_bpe_merge(const bpe_vocabulary *v, bpe_method method, const uint8_t *piece, size_t length, uint32_t *out);
int __real_bpe_merge_many(const bpe_vocabulary *v, bpe_job *jobs, size_t count, size_t longest);

size_t __wrap_bpe_merge(const bpe_vocabulary *v, bpe_method method, const uint8_t *piece, size_t length, uint32_t *out)
{
    const size_t before = merged, made = __real_bpe_merge(v, method, piece, length, out); /* may merge many */
    merged = before + length;
    return made;
}

int __wrap_bpe_merge_many(const bpe_vocabulary *v, bpe_job *jobs, size_t count, size_t longest)
{
    size_t i;
    for (i = 0; i < count; i++) merged += jobs[i].length;
    return __real_bpe_merge_many(v, jobs, count, longest);
}

int __real_bpe_merge_far(const bpe_vocabulary *v, bpe_job *jobs, size_t count, int vectors);

int __wrap_bpe_merge_far(const bpe_vocabulary *v, bpe_job *jobs, size_t count, int vectors)
{
    const size_t before = merged; /* may merge many */
    const int failed = __real_bpe_merge_far(v, jobs, count, vectors);
    size_t i;
    for (merged = before, i = 0; i < count; i++) merged += jobs[i].length;
    return failed;
}

size_t __real_bpe_merge_rounds(const bpe_vocabulary *v, bpe_job *jobs, size_t count, bpe_vectors vectors);

size_t __wrap_bpe_merge_rounds(const bpe_vocabulary *v, bpe_job *jobs, size_t count, bpe_vectors vectors)
{
    const size_t done = __real_bpe_merge_rounds(v, jobs, count, vectors);
    size_t i;
    for (i = 0; i < done && i < count; i++) merged += jobs[i].length;
    return done;
}

static size_t searched; /* bytes */

void *__real_memchr(const void *p, int byte, size_t length);

void *__wrap_memchr(const void *p, int byte, size_t length)
{
    const void *found = __real_memchr(p, byte, length);
    searched += found == NULL ? length : (size_t)((const char *)found - (const char *)p) + 1;
    return (void *)(uintptr_t)found;
}

/* Many of one token, and of others none, in a text that goes on for long. */
static int search_is_linear(void)
{
    static const char *const tokens[] = {"<a>", "[x]", "{y}", "~z~"};
    static uint8_t text[1000000];
    specials s;
    special_search search;
    special_match found;
    size_t count = 0, i;
    memset(&s, 0, sizeof s);
    for (i = 0; i < 4; i++) {
        if (specials_add(&s, (const uint8_t *)tokens[i], 3, (uint32_t)i) != 0) exit(2);
    }
    if (specials_link(&s) != 0) exit(2);
    memset(text, 'a', sizeof text);
    for (i = 0; i < 60000; i += 3) memcpy(text + i, "<a>", 3);
    for (i = 70000; i < 80000; i++) text[i] = '<';
    for (specials_begin(&search, &s, text, sizeof text, 0); specials_next(&search, &found); count++) {
        if (found.start != 3 * count || found.end != 3 * count + 3 || found.id != 0) return 0;
    }
    specials_free(&s);
    printf("%lu special tokens in %lu bytes, %lu searched\n", (unsigned long)count, (unsigned long)sizeof text, (unsigned long)searched);
    return count == 20000 && searched <= 4 * sizeof text;
}

static uint64_t seed = 1;

static void random_letters(uint8_t *to, size_t length)
{
    for (; length > 0; length--) {
        seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        *to++ = (uint8_t)('a' + (seed >> 33) % 16);
    }
}

typedef enum { APART, SAME_PLACE, SAME_HASH } craft;

/* Other bytes behind the first eight of a key, with which it has this hash, if that leaves its length as it is: so do one of 256. The hash is
 * the sum of two products, so the second factor follows from the first. All such keys have the same bucket, and are guests in the same. */
static int solve(uint8_t *p, uint64_t hash)
{
    uint64_t inverse = 1, high;
    int i;
    for (i = 0; i < 6; i++) inverse *= 2 - inverse * UINT64_C(0xD6E8FEB86659FD93);
    high = (hash - key_low(key_at_end(p, LENGTH)) * UINT64_C(0x9E3779B97F4A7C15)) * inverse;
    memcpy(p + 8, &high, LENGTH - 8);
    return key_hash(key_at_end(p, LENGTH)) == hash;
}

/* PIECES pieces side by side, such as have the same place in a cache, or are told from each other by nothing but their bytes. */
static void make_pieces(uint8_t *text, size_t length, craft crafted)
{
    size_t i = 0;
    while (i < PIECES) {
        uint8_t *p = text + i * length;
        random_letters(p, length);
        if (crafted == SAME_HASH && length > 16) { /* the hash multiplies eight bytes by the next eight, which are made to count for nothing */
            static const uint64_t nothing = UINT64_C(0xA0761D6478BD642F);
            memcpy(p + 8, &nothing, 8);
            memset(p + 16, 'a', length - 16);
            if (hash_bytes(p, length) != hash_bytes(text, length)) exit(1);
        }
        i += crafted != SAME_PLACE || (length > MEDIUM ? (hash_bytes(p, length) >> 20 & (SLOTS - 1) & ~1u) == 0 : solve(p, 1));
    }
}

/* The bytes that are merged when the pieces are encoded again and again. */
static size_t work(const bpe_vocabulary *v, size_t length, craft crafted)
{
    static uint8_t text[PIECES * LONG_LENGTH];
    static uint32_t starts[PIECES], ends[PIECES], expected[PIECES * LONG_LENGTH + BPE_PADDING], out[PIECES * LONG_LENGTH + BPE_PADDING];
    bpe_encoder *e = bpe_encoder_new(v);
    size_t count = 0, i, round;
    if (e == NULL) exit(2);
    make_pieces(text, length, crafted);
    for (i = 0; i < PIECES; i++) {
        starts[i] = (uint32_t)(i * length);
        ends[i] = (uint32_t)((i + 1) * length);
        count += bpe_merge(v, BPE_HEAP, text + starts[i], length, expected + count);
    }
    for (merged = round = 0; round < ROUNDS; round++) {
        if (bpe_encode(e, text, PIECES * length, starts, ends, PIECES, out) != count || memcmp(out, expected, count * sizeof *out) != 0) exit(1);
    }
    bpe_encoder_free(e);
    return merged;
}

/* The bytes that are merged when so many pieces are encoded again: tables grow twice meanwhile, and have what they had. */
static size_t work_again(const bpe_vocabulary *v, size_t length, size_t number)
{
    uint8_t *text = malloc(number * length);
    uint32_t *ends = malloc((number + 1) * sizeof *ends), *out = malloc((number * length + BPE_PADDING) * sizeof *out);
    bpe_encoder *e = bpe_encoder_new(v);
    size_t i, round;
    if (e == NULL || text == NULL || ends == NULL || out == NULL) exit(2);
    random_letters(text, number * length);
    for (i = 0; i <= number; i++) ends[i] = (uint32_t)(i * length);
    for (round = 0; round < 2; round++) {
        merged = 0;
        if (bpe_encode(e, text, number * length, ends, ends + 1, number, out) >= BPE_NO_TOKEN) exit(1);
    }
    bpe_encoder_free(e);
    free(text);
    free(ends);
    free(out);
    return merged;
}

int main(void)
{
    static const struct {
        size_t length, number;
    } kept[] = {{8, 9000}, {8, 100000}, {20, 2500}, {20, 24000}};
    static const size_t lengths[] = {LENGTH, LONG_LENGTH};
    static uint8_t bytes[256 + 16 * 16 * 2];
    static uint32_t starts[256 + 16 * 16 + 1];
    bpe_vocabulary v;
    uint32_t count = 0, at = 0, i, j;
    int wrong = 0;
    for (i = 0; i < 256; i++) starts[count++] = at, bytes[at++] = (uint8_t)i;
    for (i = 0; i < 16; i++) {
        for (j = 0; j < 16; j++) starts[count++] = at, bytes[at++] = (uint8_t)('a' + i), bytes[at++] = (uint8_t)('a' + j);
    }
    starts[count] = at;
    if (bpe_build(&v, starts, bytes, count, NULL, 0, 1, BPE_PLAIN) != 0) return 2;
    for (i = 0; i < 2; i++) {
        const size_t whole = PIECES * lengths[i], apart = work(&v, lengths[i], APART), together = work(&v, lengths[i], SAME_PLACE);
        printf("pieces of %lu bytes: %lu bytes, %lu merged in %d rounds, %lu if crafted\n", (unsigned long)lengths[i], (unsigned long)whole,
               (unsigned long)apart, ROUNDS, (unsigned long)together);
        wrong |= apart > 3 * whole; /* found again, at the third sight at the latest */
        wrong |= together < whole * ROUNDS / 2; /* else nothing was crafted */
        wrong |= together > whole * ROUNDS; /* once for each time they occur */
        if (lengths[i] > MEDIUM) wrong |= work(&v, lengths[i], SAME_HASH) > whole * ROUNDS;
    }
    for (i = 0; i < sizeof kept / sizeof *kept; i++) {
        const size_t again = work_again(&v, kept[i].length, kept[i].number);
        printf("%lu pieces of %lu bytes: %lu merged again\n", (unsigned long)kept[i].number, (unsigned long)kept[i].length, (unsigned long)again);
        wrong |= again > kept[i].number * kept[i].length / 3; /* a few of which places are taken */
    }
    bpe_close(&v);
    return wrong || !search_is_linear();
}
