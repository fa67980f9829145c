/* native_threads.c - threads that share a machine and a text, for the thread sanitizer.
 *
 * Each thread has a cursor of its own, finds the same cuts as all others, and counts every THREADS-th part, keeping the bits of it in
 * memory that all share; then each recalls the offsets of parts that others kept. Together they must count what one cursor
 * counts in the whole text, and find as many offsets. Returns 1 if they do not.
 */
#include "bitlex.h"
#include "cl100k.h"
#include "clip.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THREADS 4
#define BLOCKS 200
#define LENGTH (BLOCKS * (size_t)BITLEX_BLOCK - 100)

static char *text;
static const bitlex_machine *machine;
static uint64_t *kept;

typedef struct {
    pthread_t thread;
    uint64_t number, pieces, offsets;
    int recalls;
} worker;

/* Pairs, which every machine has: of a part behind a cut, one more than there are pieces. */
static uint64_t recall_part(bitlex_cursor *cursor, const bitlex_cut *from, const bitlex_cut *to)
{
    uint64_t pairs[2 * 100], found = 0, n;
    bitlex_begin_part(cursor, from, to);
    bitlex_recall(cursor, kept);
    while ((n = bitlex_next_pairs(cursor, pairs, 100)) != 0) found += n;
    return found - (from != NULL);
}

static void *work(void *argument)
{
    worker *w = argument;
    bitlex_cursor *cursor = malloc(sizeof *cursor);
    void *scratch = malloc((size_t)bitlex_scratch_size(machine, LENGTH) + 1);
    bitlex_cut from, to;
    uint64_t block = 0, part = 0;
    int has_from = 0, has_to = 1;
    if (cursor == NULL || scratch == NULL) exit(2);
    bitlex_begin(cursor, machine, text, LENGTH, BITLEX_UTF8, scratch);
    for (; has_to; from = to, has_from = 1, part++) {
        for (has_to = 0; !has_to && ++block < BLOCKS;) has_to = bitlex_find_cut(cursor, block, &to);
        if (part % THREADS != w->number) continue;
        if (w->recalls) {
            w->offsets += recall_part(cursor, has_from ? &from : NULL, has_to ? &to : NULL);
            continue;
        }
        bitlex_begin_part(cursor, has_from ? &from : NULL, has_to ? &to : NULL);
        bitlex_keep(cursor, kept);
        while (bitlex_count_some(cursor, 10000, &w->pieces)) {}
    }
    free(scratch);
    free(cursor);
    return NULL;
}

/* All threads, once: each with the parts of which the number is its own, or behind it. */
static void run(worker *workers, int recalls)
{
    size_t i;
    for (i = 0; i < THREADS; i++) {
        workers[i].number = (i + (size_t)recalls) % THREADS;
        workers[i].recalls = recalls;
        if (pthread_create(&workers[i].thread, NULL, work, workers + i) != 0) exit(2);
    }
    for (i = 0; i < THREADS; i++) pthread_join(workers[i].thread, NULL);
}

int main(void)
{
    static const char sample[] = "It's 12345 words,\tand \xc3\xa9t\xc3\xa9 \xe4\xb8\xad\xe6\x96\x87  \r\n \xf0\x9f\x98\x80 ";
    const bitlex_machine *machines[2];
    bitlex_cursor *cursor = malloc(sizeof *cursor);
    size_t i, m;
    machines[0] = &bitlex_cl100k;
    machines[1] = &bitlex_clip;
    text = malloc(LENGTH);
    if (cursor == NULL || text == NULL) return 2;
    for (i = 0; i < LENGTH; i++) text[i] = sample[(i * 7 + i / 61) % (sizeof sample - 1)];
    for (i = 0; i < LENGTH / 2; i++) text[i] = sample[i % (sizeof sample - 1)];
    for (m = 0; m < 2; m++) {
        bitlex_machine fast = *machines[m];
        void *memory = malloc(bitlex_lanes_size()), *scratch;
        worker workers[THREADS];
        uint64_t whole, sum = 0, offsets = 0;
        if (memory == NULL) return 2;
        bitlex_accelerate(&fast, memory, BITLEX_AVX512);
        machine = &fast;
        scratch = malloc((size_t)bitlex_scratch_size(machine, LENGTH) + 1);
        kept = malloc((size_t)bitlex_kept_size(machine, LENGTH));
        if (scratch == NULL || kept == NULL) return 2;
        whole = bitlex_count(cursor, machine, text, LENGTH, BITLEX_UTF8, scratch);
        memset(workers, 0, sizeof workers);
        run(workers, 0);
        run(workers, 1);
        for (i = 0; i < THREADS; i++) sum += workers[i].pieces, offsets += workers[i].offsets;
        free(kept);
        free(scratch);
        free(memory);
        if (sum == whole && offsets == whole) continue;
        printf("machine %d: %lu pieces, %lu offsets, not %lu\n", (int)m, (unsigned long)sum, (unsigned long)offsets, (unsigned long)whole);
        return 1;
    }
    free(text);
    free(cursor);
    return 0;
}
