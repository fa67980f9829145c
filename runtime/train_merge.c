/* train_merge.c - the merges to learn, one after the other: the pair that waits on top of a heap is counted anew, and merged where it still is.
 * See train_merge.h.
 */
#include "train_merge.h"

/* --- the heap --------------------------------------------------------------------------------------------------------------------- */

static inline int is_sooner(const waiting *a, const waiting *b) { return a->count > b->count || (a->count == b->count && a->tie < b->tie); }

static int push(train_merger *t, waiting item)
{
    size_t at = t->heap_count, above;
    if (reserve(&t->heap, &t->heap_room, at, sizeof *t->heap) < 0) return -1;
    t->heap_count++;
    for (; at > 0 && is_sooner(&item, t->heap + (above = (at - 1) / 4)); at = above) t->heap[at] = t->heap[above];
    t->heap[at] = item;
    return 0;
}

/* Put an item in the place of the one on top. */
static void replace_top(train_merger *t, waiting item)
{
    size_t at = 0, below;
    while ((below = 4 * at + 1) < t->heap_count) {
        size_t best = below;
        for (size_t i = below + 1; i < below + 4 && i < t->heap_count; i++) {
            if (is_sooner(t->heap + i, t->heap + best)) best = i;
        }
        if (!is_sooner(t->heap + best, &item)) break;
        t->heap[at] = t->heap[best];
        at = best;
    }
    t->heap[at] = item;
}

static void pop(train_merger *t)
{
    if (--t->heap_count > 0) replace_top(t, t->heap[t->heap_count]);
}

/* --- pairs ------------------------------------------------------------------------------------------------------------------------- */

uint32_t *train_room_for_places(train_merger *t, size_t count)
{
    uint32_t *at;
    if (count > t->chunk_size - t->chunk_used) {
        const size_t size = count > CHUNK ? count : CHUNK;
        if (reserve(&t->chunks, &t->chunk_room, t->chunk_count, sizeof *t->chunks) < 0) return NULL;
        if ((at = malloc(size * sizeof *at)) == NULL) return NULL;
        t->chunks[t->chunk_count++] = at;
        t->chunk_size = size;
        t->chunk_used = 0;
        t->chunk_cells += size;
    }
    at = t->chunks[t->chunk_count - 1] + t->chunk_used;
    t->chunk_used += count;
    return at;
}

void train_free_places(train_merger *t)
{
    while (t->chunk_count > 0) free(t->chunks[--t->chunk_count]);
    t->chunk_used = t->chunk_size = t->chunk_cells = 0;
}

int train_push_pair(train_merger *t, uint32_t number, uint64_t count)
{
    const pair *p = t->pairs + number;
    return push(t, (waiting){count, t->rule == TRAIN_SMALLER ? pair_key(p->left, p->right) : p->places[0], number});
}

/* --- merging ------------------------------------------------------------------------------------------------------------------------ */

/* Count the pair on top anew, along its places, of which those that are gone are left out. */
static uint64_t count_again(train_merger *t, pair *p)
{
    const uint32_t left = p->left, right = p->right, length = t->lengths[left];
    uint64_t count = 0;
    uint32_t used = 0;
    for (uint32_t i = 0; i < p->used; i++) {
        const uint32_t place = p->places[i];
        if (i + AHEAD < p->used) PREFETCH(t->cells + p->places[i + AHEAD]);
        if (id_at(t, place) != left || id_at(t, place + length) != right) continue;
        count += count_at(t, place);
        p->places[used++] = place;
    }
    p->used = used;
    p->step = t->step;
    return count;
}

/* Bring the most frequent pair to the top: 1; 0 if there is none any more, -1 if memory is short. */
static int settle_top(train_merger *t, uint64_t *work)
{
    for (;;) {
        waiting *top = t->heap;
        pair *p;
        if (t->heap_count == 0) {
            if (t->ended) return 0;
            if (train_begin_round(t) < 0) return -1;
            *work += 4 * t->cell_count;
            continue;
        }
        p = t->pairs + top->number;
        if (p->step >= t->right_step[p->left] && p->step >= t->left_step[p->right]) return 1;
        *work += p->used;
        {
            const uint64_t count = count_again(t, p);
            const waiting again = {count, t->rule == TRAIN_SMALLER ? top->tie : p->places[0], top->number};
            if (count < t->bar) pop(t);
            else replace_top(t, again);
        }
    }
}

static int note(train_merger *t, int side, uint32_t id, uint32_t place, uint64_t count)
{
    beside *b = t->sides[side] + id;
    if (reserve(&t->found[side], &t->found_room[side], t->found_count[side], sizeof *t->found[side]) < 0) return -1;
    t->found[side][t->found_count[side]++] = (found){id, place};
    if (b->used++ == 0) t->touched[side][t->touched_count[side]++] = id;
    b->count += count;
    return 0;
}

/* Note the pairs that a new token is in. One beside another is noted once, by the left one. */
static int note_neighbours(train_merger *t, uint32_t id, uint32_t place)
{
    const uint32_t before = id_at(t, place - 1), behind = id_at(t, place + t->lengths[id]);
    const uint64_t count = count_at(t, place);
    if (before != END && before != id && may_merge(t, before, id) && note(t, 0, before, place - t->lengths[before], count) < 0) return -1;
    return behind != END && may_merge(t, id, behind) ? note(t, 1, behind, place, count) : 0;
}

/* Make the new token of a pair at all its places. */
static int merge_places(train_merger *t, const pair *p, uint32_t id)
{
    const uint32_t left = p->left, right = p->right, length = t->lengths[left], size = t->lengths[right];
    uint32_t last = 0; /* where the last one was made; its neighbours are known when the next one is there */
    for (uint32_t i = 0; i < p->used; i++) {
        const uint32_t place = p->places[i];
        if (i + AHEAD < p->used) PREFETCH(t->cells + p->places[i + AHEAD]);
        if (id_at(t, place) != left || id_at(t, place + length) != right) continue;
        set_id(t, place, id);
        set_id(t, place + length, DEAD);
        set_id(t, place + length + size - 1, id);
        if (last > 0 && note_neighbours(t, id, last) < 0) return -1;
        last = place;
    }
    return last > 0 ? note_neighbours(t, id, last) : 0;
}

/* Make pairs of what was noted, if it is frequent enough. */
static int add_noted(train_merger *t, int side, uint32_t id)
{
    size_t i;
    for (i = 0; i < t->touched_count[side]; i++) {
        beside *b = t->sides[side] + t->touched[side][i];
        b->places = NULL;
        if (b->count >= t->bar && (b->places = train_room_for_places(t, b->used)) == NULL) return -1;
        b->used = 0;
    }
    for (i = 0; i < t->found_count[side]; i++) {
        beside *b = t->sides[side] + t->found[side][i].id;
        if (b->places != NULL) b->places[b->used++] = t->found[side][i].place;
    }
    for (i = 0; i < t->touched_count[side]; i++) {
        const uint32_t other = t->touched[side][i];
        const beside b = t->sides[side][other];
        memset(t->sides[side] + other, 0, sizeof b);
        if (b.places == NULL) continue;
        if (reserve(&t->pairs, &t->pair_room, t->pair_count, sizeof *t->pairs) < 0) return -1;
        t->pairs[t->pair_count] = (pair){side == 0 ? other : id, side == 0 ? id : other, b.places, b.used, t->step};
        if (train_push_pair(t, (uint32_t)t->pair_count++, b.count) < 0) return -1;
    }
    t->touched_count[side] = t->found_count[side] = 0;
    return 0;
}

/* The bytes of a token: where they end. What calls itself has no more than half of them, so that is never deep. */
static uint8_t *spell(const train_merger *t, uint32_t id, uint8_t *out)
{
    uint8_t *const end = out + t->lengths[id];
    uint8_t *last = end;
    while (id >= t->v->token_count) {
        const uint32_t left = t->parts[id].left, right = t->parts[id].right;
        if (t->lengths[left] < t->lengths[right]) {
            out = spell(t, left, out);
            id = right;
        } else {
            last -= t->lengths[right];
            spell(t, right, last);
            id = left;
        }
    }
    memcpy(out, t->v->bytes + t->v->starts[id], t->lengths[id]);
    return end;
}

/* Whether both together are a token of the vocabulary, which merging then does not come to. */
static int is_token(const train_merger *t, const pair *p)
{
    const uint32_t length = t->lengths[p->left] + t->lengths[p->right];
    if (t->parts == NULL || length > t->v->longest) return 0;
    spell(t, p->right, spell(t, p->left, t->spelled));
    return bpe_find(t->v, t->spelled, length) != BPE_NONE;
}

int train_merger_next(train_merger *t, train_merge *made, uint64_t *work)
{
    pair p;
    for (;;) {
        const int there = t->next_id < t->ids ? settle_top(t, work) : 0;
        if (there <= 0) return there;
        p = t->pairs[t->heap->number];
        if (!is_token(t, &p)) break;
        pop(t);
    }
    made->count = t->heap->count;
    made->left = p.left;
    made->right = p.right;
    made->id = t->next_id++;
    pop(t);
    t->lengths[made->id] = t->lengths[p.left] + t->lengths[p.right];
    if (t->parts != NULL) t->parts[made->id] = (parts){p.left, p.right};
    t->step++;
    t->left_step[p.left] = t->right_step[p.right] = t->step;
    *work += 2 * (uint64_t)p.used;
    if (merge_places(t, &p, made->id) < 0 || add_noted(t, 0, made->id) < 0 || add_noted(t, 1, made->id) < 0) return -1;
    return 1;
}
