/* train_cells.c - pieces in, as tokens of a vocabulary, each with how often it occurs; out, the cells that train_merge.h describes.
 *
 * Bytes that are no token are left out; and so are pieces of one token, in which there is nothing to merge.
 */
#include "train_merge.h"

train_merger *train_merger_new(const bpe_vocabulary *v, train_rule rule, uint32_t first_id, uint32_t ids, uint32_t longest, uint64_t least)
{
    train_merger *t = calloc(1, sizeof *t);
    const size_t all = (size_t)(ids > v->token_count ? ids : v->token_count) + 1;
    if (t == NULL) return NULL;
    t->v = v;
    t->rule = rule;
    t->next_id = first_id;
    t->ids = ids < DEAD ? ids : DEAD;
    t->longest = longest;
    t->least = least > 0 ? least : 1;
    t->bar = UINT64_MAX;
    t->step = 1;
    t->lengths = calloc(all, sizeof *t->lengths);
    t->left_step = calloc(all, sizeof *t->left_step);
    t->right_step = calloc(all, sizeof *t->right_step);
    for (int side = 0; side < 2; side++) {
        t->sides[side] = calloc(all, sizeof *t->sides[side]);
        t->touched[side] = malloc(all * sizeof *t->touched[side]);
    }
    if (v->longest > 1) {
        t->parts = calloc(all, sizeof *t->parts);
        t->spelled = calloc((size_t)v->longest + BPE_PADDING, 1);
    }
    if (t->lengths != NULL && t->left_step != NULL && t->right_step != NULL && t->sides[0] != NULL && t->sides[1] != NULL &&
        t->touched[0] != NULL && t->touched[1] != NULL && (v->longest <= 1 || (t->parts != NULL && t->spelled != NULL))) {
        for (uint32_t id = 0; id < v->token_count; id++) t->lengths[id] = bpe_token_length(v, id);
        return t;
    }
    train_merger_free(t);
    return NULL;
}

void train_merger_free(train_merger *t)
{
    if (t == NULL) return;
    train_free_places(t);
    for (int side = 0; side < 2; side++) {
        free(t->sides[side]);
        free(t->touched[side]);
        free(t->found[side]);
    }
    free(t->chunks);
    free(t->lengths);
    free(t->left_step);
    free(t->right_step);
    free(t->parts);
    free(t->spelled);
    if (!t->lent) free(t->cells);
    free(t->scratch);
    free(t->kept);
    free(t->longs);
    free(t->pairs);
    free(t->heap);
    free(t);
}

size_t train_merger_memory(const train_merger *t)
{
    return t->cell_room * sizeof *t->cells + t->pair_room * sizeof *t->pairs + t->heap_room * sizeof *t->heap +
           t->chunk_cells * sizeof(uint32_t) + (t->found_room[0] + t->found_room[1]) * sizeof(found);
}

void train_merger_lend(train_merger *t, void *memory, size_t size)
{
    t->cells = memory;
    t->cell_room = size / sizeof *t->cells;
    t->lent = 1;
}

size_t train_merger_needs(uint64_t pieces, uint64_t bytes) { return (size_t)((HEADER * pieces + bytes + 1) * sizeof(uint32_t)); }

uint64_t train_long_count(const train_merger *t, uint32_t place)
{
    size_t from = 0, to = t->long_count;
    while (to - from > 1) { /* the last that starts there or before */
        const size_t middle = from + (to - from) / 2;
        if (t->longs[middle].place <= place) from = middle;
        else to = middle;
    }
    return t->longs[from].count;
}

/* The tokens of a piece: their number, SIZE_MAX if memory is short. */
static size_t tokens_of(train_merger *t, const uint8_t *piece, uint32_t *length)
{
    size_t n = 0;
    if ((size_t)*length + BPE_PADDING > t->scratch_room) {
        free(t->scratch);
        free(t->kept);
        t->scratch_room = 2 * (size_t)*length + 1024;
        t->scratch = malloc(t->scratch_room * sizeof *t->scratch);
        t->kept = malloc(t->scratch_room);
        if (t->scratch == NULL || t->kept == NULL) {
            t->scratch_room = 0;
            return SIZE_MAX;
        }
    }
    for (uint32_t i = 0; i < *length; i++) {
        t->kept[n] = piece[i];
        t->scratch[n] = t->v->byte_tokens[piece[i]];
        n += t->scratch[n] != BPE_NONE;
    }
    *length = (uint32_t)n;
    if (t->v->rank_count == 0 || n < 2) return n;
    if (t->v->whole) {
        const uint32_t whole = bpe_find(t->v, t->kept, n);
        if (whole != BPE_NONE) {
            t->scratch[0] = whole;
            return 1;
        }
    }
    n = bpe_merge(t->v, BPE_AUTOMATIC, t->kept, n, t->scratch);
    return n >= BPE_NO_TOKEN ? SIZE_MAX : n;
}

int train_merger_add(train_merger *t, const uint8_t *piece, uint32_t length, uint64_t count)
{
    const size_t n = tokens_of(t, piece, &length);
    uint32_t *cell;
    if (n == SIZE_MAX) return -1;
    if (n < 2) return 0; /* nothing to merge */
    if (t->cell_count + HEADER + length + 1 > UINT32_MAX) return -2;
    while (t->cell_count + HEADER + length + 1 > t->cell_room) {
        uint32_t *grown = NULL;
        if (t->lent) return -1;
        grown = realloc(t->cells, (t->cell_room + t->cell_room / 2 + CHUNK) * sizeof *grown);
        if (grown == NULL) return -1;
        t->cells = grown;
        t->cell_room += t->cell_room / 2 + CHUNK;
    }
    cell = t->cells + t->cell_count;
    cell[0] = END | (uint32_t)(count >> 32) << ID_BITS;
    cell[1] = (uint32_t)count;
    cell[2] = END | (uint32_t)(count >> (64 - ID_BITS)) << ID_BITS;
    cell += HEADER;
    for (uint32_t i = 0; i < length; i++) cell[i] = DEAD | (i < FAR ? i : FAR) << ID_BITS;
    for (size_t i = 0, at = t->cell_count + HEADER; i < n; at += t->lengths[t->scratch[i]], i++) {
        set_id(t, at, t->scratch[i]);
        set_id(t, at + t->lengths[t->scratch[i]] - 1, t->scratch[i]);
    }
    cell[length] = END;
    if (length > FAR) {
        if (reserve(&t->longs, &t->long_room, t->long_count, sizeof *t->longs) < 0) return -1;
        t->longs[t->long_count].place = (uint32_t)t->cell_count + HEADER;
        t->longs[t->long_count++].count = count;
    }
    t->cell_count += HEADER + length;
    return 0;
}
