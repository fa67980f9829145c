/* bpe_threads.c - threads that share a vocabulary, a machine and a text, for the thread sanitizer.
 *
 * The text is cut wherever the lexer's state can be told. Each thread has a cursor and an encoder of its own, takes the next part under
 * a lock, and encodes the pieces that start in it; the pieces that lie across cuts are encoded at the end. Together these must be the ids
 * of the text as one thread finds them. Returns 1 if they are not.
 */
#include "bitlex.h"
#include "bpe_neighbours.h"
#include "cl100k.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define THREADS 4
#define BLOCKS 60
#define LENGTH (BLOCKS * (size_t)BITLEX_BLOCK - 100)
#define AT_ONCE 100 /* pieces */

typedef struct {
    bitlex_cut from, to;
    int has_from, has_to;
    uint32_t *ids, first, last; /* where its first piece starts and its last ends; last is 0 if it has none */
    size_t count;
} part;

static uint8_t text[LENGTH];
static bpe_vocabulary vocabulary;
static bpe_neighbours neighbours;
static part parts[BLOCKS + 1];
static size_t part_count, next_part;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *some(size_t size)
{
    void *p = malloc(size);
    if (p == NULL) exit(2);
    return p;
}

/* Words over a few letters, and tokens of two to five of their bytes. */
static void make_vocabulary(void)
{
    static uint8_t bytes[256 + 26 * 27 + 3000 * 5];
    static uint32_t starts[256 + 26 * 27 + 3000];
    uint32_t count = 0, at = 0, i, j;
    for (i = 0; i < 256; i++) starts[count++] = at, bytes[at++] = (uint8_t)i;
    for (i = 0; i < 26; i++) {
        for (j = 0; j < 27; j++) starts[count++] = at, bytes[at++] = (uint8_t)('a' + i), bytes[at++] = (uint8_t)(j < 26 ? 'a' + j : ' ');
    }
    starts[count] = at;
    if (bpe_build(&vocabulary, starts, bytes, count, NULL, 0, 1, bpe_most_vectors()) != 0 || bpe_neighbours_begin(&neighbours, &vocabulary) != 0) exit(2);
}

static size_t encode(bpe_encoder *e, const uint32_t *starts, const uint32_t *ends, size_t count, uint32_t *out)
{
    const size_t made = bpe_encode(e, text, LENGTH, starts, ends, count, out);
    if (made >= BPE_NO_TOKEN) exit(2);
    return made;
}

static void encode_part(bitlex_cursor *cursor, bpe_encoder *e, part *p)
{
    uint32_t starts[AT_ONCE + 1], ends[AT_ONCE];
    size_t n, i;
    p->ids = some((LENGTH + BPE_PADDING) * sizeof *p->ids);
    bitlex_begin_part(cursor, p->has_from ? &p->from : NULL, p->has_to ? &p->to : NULL);
    while ((n = bitlex_next32(cursor, ends, AT_ONCE)) != 0) {
        const size_t skipped = p->last == 0 && p->has_from;
        starts[0] = p->last;
        for (i = 0; i < n; i++) starts[i + 1] = ends[i];
        if (skipped) p->first = ends[0];
        p->last = ends[n - 1];
        p->count += encode(e, starts + skipped, ends + skipped, n - skipped, p->ids + p->count);
    }
}

static void *work(void *unused)
{
    bitlex_cursor *cursor = some(sizeof *cursor);
    void *scratch = some((size_t)bitlex_scratch_size(&bitlex_cl100k, LENGTH) + 1);
    bpe_encoder *e = bpe_encoder_new(&vocabulary);
    if (e == NULL) exit(2);
    bitlex_begin(cursor, &bitlex_cl100k, text, LENGTH, BITLEX_UTF8, scratch);
    for (;;) {
        size_t i;
        pthread_mutex_lock(&lock);
        i = next_part++;
        pthread_mutex_unlock(&lock);
        if (i >= part_count) break;
        encode_part(cursor, e, parts + i);
        if (neighbours.ordered && parts[i].count > 0) { /* also what is only read */
            uint32_t ids[64 + BPE_PADDING];
            if (bpe_merge_backtrack(&neighbours, text + parts[i].first, 64, ids) != bpe_merge(&vocabulary, BPE_HEAP, text + parts[i].first, 64, ids)) exit(1);
        }
    }
    bpe_encoder_free(e);
    free(scratch);
    free(cursor);
    return unused;
}

static void find_parts(void)
{
    bitlex_cursor *cursor = some(sizeof *cursor);
    void *scratch = some((size_t)bitlex_scratch_size(&bitlex_cl100k, LENGTH) + 1);
    uint64_t block;
    bitlex_begin(cursor, &bitlex_cl100k, text, LENGTH, BITLEX_UTF8, scratch);
    for (block = 1; block < BLOCKS; block++) {
        if (!bitlex_find_cut(cursor, block, &parts[part_count].to)) continue;
        parts[part_count].has_to = 1;
        parts[part_count + 1].from = parts[part_count].to;
        parts[++part_count].has_from = 1;
    }
    part_count++;
    free(scratch);
    free(cursor);
}

static size_t join(bpe_encoder *e, uint32_t *out)
{
    uint32_t last = 0;
    size_t count = 0, i;
    for (i = 0; i < part_count; i++) {
        const part *p = parts + i;
        if (p->last == 0) continue;
        if (p->first > last) count += encode(e, &last, &p->first, 1, out + count);
        memcpy(out + count, p->ids, p->count * sizeof *out);
        count += p->count;
        last = p->last;
    }
    return count;
}

int main(void)
{
    static const char sample[] = "some words, others; It's 12 \xc3\xa9t\xc3\xa9 \xe4\xb8\xad\xe6\x96\x87  \r\n \xf0\x9f\x98\x80 and more ";
    pthread_t threads[THREADS];
    part whole = {.count = 0};
    bpe_encoder *e;
    uint32_t *ids = some((LENGTH + BPE_PADDING) * sizeof *ids);
    bitlex_cursor *cursor = some(sizeof *cursor);
    void *scratch = some((size_t)bitlex_scratch_size(&bitlex_cl100k, LENGTH) + 1);
    size_t i, count;
    for (i = 0; i < LENGTH; i++) text[i] = (uint8_t)sample[(i * 7 + i / 61) % (sizeof sample - 1)];
    for (i = 0; i < LENGTH / 2; i++) text[i] = (uint8_t)sample[i % (sizeof sample - 1)];
    make_vocabulary();
    find_parts();
    for (i = 0; i < THREADS; i++) {
        if (pthread_create(threads + i, NULL, work, NULL) != 0) exit(2);
    }
    for (i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    e = bpe_encoder_new(&vocabulary);
    if (e == NULL) exit(2);
    count = join(e, ids);
    bitlex_begin(cursor, &bitlex_cl100k, text, LENGTH, BITLEX_UTF8, scratch);
    encode_part(cursor, e, &whole);
    printf("%lu parts, %lu ids\n", (unsigned long)part_count, (unsigned long)count);
    return part_count < BLOCKS / 2 || count != whole.count || memcmp(ids, whole.ids, count * sizeof *ids) != 0;
}
