/* tiered.h - a machine on every tier that this processor has, and memory that is allocated to the byte, for sanitizers.
 *
 * In: a machine as it was emitted or made. Out: that, and a copy of it for each tier, in an order that includers rely on: the loop that
 * needs no tables first, then the tiers from the lowest.
 */
#ifndef TIERED_H
#define TIERED_H

#include "bitlex.h"

#include <stdlib.h>
#include <string.h>

static void *exactly(size_t size)
{
    void *memory = malloc(size ? size : 1);
    if (memory == NULL) exit(2);
    return memory;
}

/* A machine as it is, with no lanes, and on every tier that this processor has: made once, for any number of texts, and not to be moved. */
typedef struct {
    bitlex_machine machines[2 + BITLEX_AVX512];
    void *memory[2 + BITLEX_AVX512];
    int tiers[2 + BITLEX_AVX512], count;
} tiered;

static void on_every_tier(tiered *all, const bitlex_machine *m)
{
    int tier;
    all->machines[0] = *m;
    all->memory[0] = NULL;
    all->tiers[0] = BITLEX_PORTABLE;
    all->count = 1;
    for (tier = BITLEX_PORTABLE; tier <= BITLEX_AVX512; tier++) {
        const int i = all->count;
        all->machines[i] = *m;
        all->memory[i] = exactly(bitlex_lanes_size());
        all->tiers[i] = tier;
        memset(all->memory[i], 0xA5, bitlex_lanes_size()); /* whatever the caller's memory held */
        if ((int)bitlex_accelerate(all->machines + i, all->memory[i], (bitlex_tier)tier) == tier) all->count++;
        else free(all->memory[i]);
    }
}

static void free_tiers(tiered *all)
{
    while (all->count > 0) free(all->memory[--all->count]);
}

#endif
