/* bpe.h - byte-pair encoding of the pieces that a lexer cuts, and back. Plain C99; nothing of Python in it.
 *
 * In: a vocabulary (tokens as bytes, and which pairs merge, in which order), and pieces of a text. Out: token ids.
 *
 *     bpe_vocabulary   all tables, in one image without pointers: constant once built, shared by any number of threads,
 *                      written to a file and mapped again as it is
 *     bpe_encoder      the caches and the scratch memory of one thread
 *
 * The ids of a piece are defined so: start with the token of each byte; merge the pair of neighbours of the lowest rank, the
 * leftmost of equals, until no pair merges. If the vocabulary is `whole`, a piece that is a token is that token instead.
 *
 * Invariants: caches never change a result, for a piece is compared with its key in full. No look-up in a cache takes more than
 * four probes, so a text crafted to collide costs what a text never seen costs. A piece of n bytes takes O(n log n) time and O(n) memory.
 */
#ifndef BPE_H
#define BPE_H

#include <stddef.h>
#include <stdint.h>

#define BPE_NONE UINT32_C(0xFFFFFFFF)
#define BPE_TOKENS (UINT32_C(1) << 21) /* there are fewer ids; two of them and a rank are packed into 64 bits */
#define BPE_RANKS (UINT32_C(1) << 22)
#define BPE_NO_MEMORY SIZE_MAX
#define BPE_NO_TOKEN (SIZE_MAX - 1) /* a byte of a piece is no token */
#define BPE_PADDING 16 /* ids that may be written behind the last */

/* The bytes of a token and their number; 255 if it has more than 15, 0 if there is no such token. */
typedef struct {
    uint8_t bytes[15], length;
} bpe_record;

typedef struct bpe_pair_line bpe_pair_line; /* see bpe_pairs.h */

typedef struct {
    uint32_t token_count, rank_count, whole, longest, ranks_are_ids;
    const uint32_t *starts;        /* [token_count + 1] into bytes; an id without bytes is no token */
    const uint8_t *bytes;
    const bpe_record *records;     /* [token_count] */
    const uint32_t *byte_tokens;   /* [256] BPE_NONE where a byte is no token */
    const uint32_t *ids;           /* open addressing by the bytes of a token: its id, tagged (bpe_hash.h), or BPE_NONE */
    const bpe_pair_line *pairs;    /* [pairs_count] */
    const uint32_t *byte_pairs;    /* [65536] by two bytes, the left one lower: rank of the merge of their tokens, or BPE_NONE */
    const uint32_t *byte_bounds;   /* [65536] by two bytes: see bpe_pairs.h */
    const uint32_t *rank_tokens;   /* [rank_count] what a merge makes; none if ranks_are_ids: the token of that rank */
    const uint64_t *merged;        /* bits by id: known to be what its bytes merge to */
    const uint64_t *char_joints;   /* bits by hash of two characters, and by three bytes: see bpe_joints.h */
    const uint64_t *byte_joints;
    const uint32_t *sizes;         /* [token_count + 1] see bpe_sizes.h */
    const uint32_t *pair_bits;     /* bits by hash of two tokens: they may merge; see bpe_pairs.h */
    uint32_t ids_count, pairs_count, pairs_reach; /* lines that a full one may go on in */
    uint32_t pair_mask;            /* of a hash, to the number of its bit */
    void *image;                   /* all of the above */
    size_t size;
} bpe_vocabulary;

/* What vectors are used, which the processor must have; or plain C. The results are the same. */
typedef enum { BPE_PLAIN, BPE_AVX2, BPE_AVX512 } bpe_vectors;

/* Build a vocabulary of `token_count` tokens, token i being bytes[starts[i]] up to bytes[starts[i + 1]]. `merges`: NULL if two tokens
 * merge whenever their bytes together are a token, the rank being its id; else rank_count times left id, right id, id of both
 * together, by rank. The caller has checked that ids are in range, and tokens distinct. -1 if memory is short, 0 if not. */
int bpe_build(bpe_vocabulary *v, const uint32_t *starts, const uint8_t *bytes, uint32_t token_count, const uint32_t *merges,
              uint32_t rank_count, int whole, bpe_vectors vectors);

/* Point a vocabulary at an image that bpe_build made, in this process or another: 0, or -1 if it is none (too short, of another
 * version or byte order). Its contents are trusted only as far as memory safety does not depend on them. */
int bpe_open(bpe_vocabulary *v, void *image, size_t size);

/* Free the image. */
void bpe_close(bpe_vocabulary *v);

/* The id of a token by its bytes, or BPE_NONE; and the same by their hash_bytes (bpe_hash.h). */
uint32_t bpe_find(const bpe_vocabulary *v, const uint8_t *bytes, size_t length);
uint32_t bpe_find_hashed(const bpe_vocabulary *v, const uint8_t *bytes, size_t length, uint64_t hash);

/* --- encoding --- */

/* How a piece is merged. All give the same ids. */
typedef enum { BPE_AUTOMATIC, BPE_SWEEP, BPE_HEAP, BPE_WINDOWS, BPE_METHODS } bpe_method;

typedef struct bpe_encoder bpe_encoder;

/* What is asked now and then whether to go on, and whether it said no. */
typedef struct {
    int (*may_go_on)(void *context);
    void *context;
    int stopped;
} bpe_watch;

/* Empty caches; NULL if memory is short. */
bpe_encoder *bpe_encoder_new(const bpe_vocabulary *v);
void bpe_encoder_free(bpe_encoder *e);
size_t bpe_encoder_size(const bpe_encoder *e);

/* If many pieces had to go, more room for them: for who reads much, and asks now and then. Who never asks has 15 MB at most, who does 41. */
void bpe_encoder_make_room(bpe_encoder *e);

/* Look pieces up and merge them with vectors, or in plain C, as at first. */
void bpe_encoder_use_vectors(bpe_encoder *e, bpe_vectors vectors);

/* The most that the processor has of what is used. */
bpe_vectors bpe_most_vectors(void);

/* While an encoder merges a long piece, this is asked, if it is not NULL; when it says no, bpe_encode gives BPE_NO_MEMORY. */
void bpe_encoder_watch(bpe_encoder *e, bpe_watch *watch);

/* Encode `count` pieces of a text: piece i is starts[i] up to ends[i]. `readable`: bytes of the text that may be read. At out must be
 * room for as many ids as the pieces have bytes, and BPE_PADDING. Their number comes back, or BPE_NO_MEMORY or BPE_NO_TOKEN. */
size_t bpe_encode(bpe_encoder *e, const uint8_t *text, uint64_t readable, const uint32_t *starts, const uint32_t *ends, size_t count,
                  uint32_t *out);

#define BPE_KEY 15
#define BPE_MEDIUM 32
#define BPE_WIDE 62
#define BPE_LONG 254
#define BPE_FAR 508

typedef struct {
    const uint8_t *bytes;
    uint32_t length, count; /* 1..BPE_LONG, or ..BPE_FAR for bpe_merge_far; count is set */
    uint32_t *ids;          /* room for length of them */
} bpe_job;

/* Merge many pieces, of up to `longest` bytes, without any cache, several at a time: 0, or -1 if some byte is no token. */
int bpe_merge_many(const bpe_vocabulary *v, bpe_job *jobs, size_t count, size_t longest);

/* The same of up to BPE_FAR bytes. Of what has more than BPE_LONG, fewer may be merged: job.length becomes how many were. No more than BPE_LONG
 * ids come out. `vectors`: with AVX-512, which the processor must have. */
int bpe_merge_far(const bpe_vocabulary *v, bpe_job *jobs, size_t count, int vectors);

/* Whether the processor has all of AVX-512 that is used. */
int bpe_has_vectors(void);

/* As bpe_merge_many, of pieces of up to BPE_MEDIUM bytes, with vectors, which the processor must have: how many are merged, which are none with
 * BPE_PLAIN or if it is not worth it; or BPE_NO_TOKEN. */
size_t bpe_merge_rounds(const bpe_vocabulary *v, bpe_job *jobs, size_t count, bpe_vectors vectors);

/* Encode one piece of any length without any cache, by one method, with what the processor has. out: room for `length` ids and BPE_PADDING. */
size_t bpe_merge(const bpe_vocabulary *v, bpe_method method, const uint8_t *piece, size_t length, uint32_t *out);

/* The same by windows, asking now and then whether to go on, if `watch` is not NULL: if not, BPE_NO_MEMORY comes back. `vectors`: as above. */
size_t bpe_merge_windows(const bpe_vocabulary *v, const uint8_t *piece, size_t length, uint32_t *out, bpe_watch *watch, int vectors);

/* Of a piece of more than twice as many bytes as the longest token has, that may go on or end at one of `stops` (rising): how many bytes at its
 * beginning have ids that are the same whatever follows; these are at out, which has room as for bpe_merge, and *count of them. 0 bytes:
 * nothing is final yet, or *count is BPE_NO_MEMORY or BPE_NO_TOKEN. The rest of the piece is merged by itself: its ids are then those of a
 * piece. Takes time for merging the piece, and `longest` short ones. */
size_t bpe_final(const bpe_vocabulary *v, const uint8_t *piece, size_t length, const size_t *stops, size_t stop_count, uint32_t *out,
                 size_t *count);

/* --- decoding --- */

/* What an id decodes to that is no token of the vocabulary, or not as a token: its bytes, which must stay where they are. */
typedef struct {
    const uint8_t *bytes;
    uint32_t id, length, special;
} bpe_other;

typedef struct {
    const bpe_vocabulary *v;
    const uint32_t *sizes; /* those of the vocabulary, or own ones */
    uint32_t *own;
    bpe_other *others;     /* in order of their ids */
    size_t other_count;
    uint32_t plain_from, plain_count; /* the longest run of ids of the vocabulary that decode to their tokens */
    bpe_vectors vectors;   /* which the processor must have; plain at first */
} bpe_decoder;

/* -1 if memory is short, 0 if not. The vocabulary must stay. No two others have the same id. */
int bpe_decoder_begin(bpe_decoder *d, const bpe_vocabulary *v, const bpe_other *others, size_t count);
void bpe_decoder_end(bpe_decoder *d);

/* The number of bytes of one id, SIZE_MAX if it is none; and where they are. With `skip`, special ones decode to nothing. */
size_t bpe_token(const bpe_decoder *d, uint32_t id, int skip, const uint8_t **bytes);

/* What ids decode to: bytes; characters, if the bytes are UTF-8; and how much these take: 0 up to U+007F, 1 up to U+00FF, 2 up to
 * U+FFFF, 3 all. */
typedef struct {
    uint64_t bytes, characters;
    uint32_t widest;
} bpe_extent;

/* Add what these ids decode to. How many were gone through comes back, which is the index of the first that is none. */
size_t bpe_measure(const bpe_decoder *d, const uint32_t *ids, size_t count, int skip, bpe_extent *extent);

/* Store the bytes of ids from *out on, which is moved behind them, as far as they fit before `end`: how many did. May write up to
 * `end`. *widest becomes what their characters take, if that is more. */
size_t bpe_decode(const bpe_decoder *d, const uint32_t *ids, size_t count, int skip, uint8_t **out, const uint8_t *end, uint32_t *widest);

/* Store characters as numbers of `width` bytes (1, 2 or 4) from *out on, which is moved behind them, and never write from `end` on.
 * `vectors`: which the processor must have. The number of bytes that were read comes back: all but those of a character
 * that is not complete at the end; SIZE_MAX if they are not UTF-8 or their characters do not fit. */
size_t bpe_transcode(const uint8_t *p, size_t length, int width, bpe_vectors vectors, uint8_t **out, const uint8_t *end);

/* How many characters begin in some bytes; `vectors` as above. */
size_t bpe_characters(const uint8_t *p, size_t length, bpe_vectors vectors);

#endif
