/* train.h - learning a vocabulary: the pieces of texts in; out, how often each occurs, and from that which pairs to merge, in which order.
 *
 *     train_counts   distinct pieces and how often each was met, for one thread
 *     train_runs     what did not find room there, and was written down
 *     train_merger   distinct pieces as tokens, and the pair that is to be merged next
 *
 * What is merged next is defined so: of all pairs of neighbours, each counted as often as the pieces occur that have it ("aaa" has the pair
 * "aa" twice), the most frequent one. Of equals the first in the text, which is the first place of the first piece that has it, in the order
 * in which pieces were first met; or the one of smaller ids. It becomes a new token everywhere, from left to right. And again.
 *
 * Invariants: results depend on neither hashes nor addresses. A piece that is counted is compared in full; hashes are keyed, so that no
 * text can be written whose pieces collide. Plain C99; nothing of Python in it.
 */
#ifndef TRAIN_H
#define TRAIN_H

#include "bpe.h"

/* --- counting --- */

typedef struct train_counts train_counts;

/* NULL if memory is short. */
train_counts *train_counts_new(const uint64_t key[2]);
void train_counts_free(train_counts *c);

/* Count pieces of a text: piece i is starts[i] up to ends[i], which may be empty. `place`: of text[0] among all texts; it decides which
 * piece was met first. `readable`: bytes of the text that may be read. -1 if memory is short. */
int train_count(train_counts *c, const uint8_t *text, uint64_t readable, uint64_t place, const uint32_t *starts, const uint32_t *ends,
                size_t count);

/* Count one piece so many times: -1 if memory is short, 1 if it is as long as no length of 32 bits says. */
int train_count_piece(train_counts *c, const uint8_t *piece, uint64_t length, uint64_t place, uint64_t times);

/* To be called before the text of train_count goes away: -1 if memory is short. */
int train_count_settle(train_counts *c);

/* Add what another has counted; that one is empty afterwards. -1 if memory is short. */
int train_counts_add(train_counts *c, train_counts *other);

/* Bytes of memory in use, and of what is needed beside it to put it in order. */
size_t train_counts_memory(const train_counts *c);

/* End counting: the number of distinct pieces, and of the bytes of all of them; SIZE_MAX if memory is short. */
size_t train_counts_finish(train_counts *c, uint64_t *bytes);

/* Then write them side by side, their lengths and counts, in the order in which they were first met: -1 if memory is short. */
int train_counts_write(const train_counts *c, uint8_t *bytes, uint32_t *lengths, uint64_t *counts);

/* Write all that was counted as a run, in order of hashes or of places, and begin again with nothing: -1 if memory is short, -2 if `write`
 * returned less than 0. A run can be read where the hash key is the same. */
typedef enum { TRAIN_BY_HASH, TRAIN_BY_PLACE } train_order;
typedef int (*train_write)(void *context, const void *bytes, size_t size);
int train_counts_spill(train_counts *c, train_order by, train_write write, void *context);

typedef struct {
    uint64_t key, count, place, length; /* key: its hash or its place */
    const uint8_t *bytes;
} train_counted;

/* Runs of the same order, side by side. They are read where they lie. NULL if memory is short. */
typedef struct train_runs train_runs;
train_runs *train_runs_new(size_t room);
void train_runs_free(train_runs *r);

/* Add one: 0; -1 if there is no room, -3 if it is malformed. */
int train_runs_add(train_runs *r, const uint8_t *bytes, uint64_t size);

/* The piece with the smallest key in all of them, NULL at the end of all; and go on to the next: 0; -3 if its run is malformed. */
const train_counted *train_runs_top(const train_runs *r);
int train_runs_next(train_runs *r);

/* --- merging --- */

typedef enum { TRAIN_FIRST, TRAIN_SMALLER } train_rule; /* of pairs that are equally frequent */

typedef struct train_merger train_merger;

typedef struct {
    uint64_t count;
    uint32_t left, right, id;
} train_merge;

/* Ids from first_id on, and below `ids`, are given to new tokens. Tokens of more than `longest` bytes are not made; nor of pairs that
 * occur less than `least` times, 1 or more. NULL if memory is short. */
train_merger *train_merger_new(const bpe_vocabulary *v, train_rule rule, uint32_t first_id, uint32_t ids, uint32_t longest, uint64_t least);
void train_merger_free(train_merger *t);

/* Memory for the pieces, which is as large as so many of so many bytes need, and stays until the merger is freed: a file may lie behind it. To
 * be called before the first piece is added, or not at all. */
void train_merger_lend(train_merger *t, void *memory, size_t size);
size_t train_merger_needs(uint64_t pieces, uint64_t bytes);

/* Add a piece, as the tokens that the vocabulary makes of it; bytes that are none are left out. 0; -1 if memory is short, -2 if there are
 * more than 2^32 bytes of distinct pieces. */
int train_merger_add(train_merger *t, const uint8_t *piece, uint32_t length, uint64_t count);

/* Merge the next pair: 1; 0 if there is none any more, -1 if memory is short. `work` grows by the places looked at. */
int train_merger_next(train_merger *t, train_merge *made, uint64_t *work);

size_t train_merger_memory(const train_merger *t);

#endif
