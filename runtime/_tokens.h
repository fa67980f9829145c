/* _tokens.h - what the files of the extension share that make token ids: texts in, ids out, and back.
 *
 *     _encoder.c     a vocabulary and a Machine -> an Encoder, and the list of its methods
 *     _encode.c      those that encode one text; _encode_batch.c: many; both with _encode.h
 *     _calling.c     those that calls go to without a Python function between; _direct.c: the types; both with _calling.h
 *     _places.c      places in UTF-8 -> in characters of a str
 *     _decoding.c    those that decode
 *     _growing.c     many ids of one text -> a str or bytes, without being measured
 *     _decoded.c     the bytes of ids -> a str
 *     _merging.c     those that merge one piece in one way
 *     _specials.c    special tokens -> Specials
 *     _ranks.c       a rank file -> the tables of its vocabulary
 *     _model.c       the model of a tokenizer.json -> its tokens; and by _merges.c the ids of its merges; both with _model.h
 *     _token_stream.c  an Encoder and the parts of a text -> ids; _token_reading.c reads them, and both have _token_stream.h
 *     _many.c        texts -> ids, by several threads; _long.c: one long text, in parts; both with _many.h; ids side by side by _joining.c
 *     _windows.c     a part of a long text that goes on -> ids, and where the next is to begin
 *     _encoding.c    a text -> its ids, in one thread; without any object, so that several threads may
 *     _strings.c     a long str that is not ASCII -> its ids, without a copy of the whole
 *     _utf8.c        a str -> its UTF-8; _utf8_together.c: by several threads
 *     _checksum.c    bytes -> a sum, by which is noticed that a file of tables is not as it was written
 *     _large.c       memory for one call, and of the one before
 *     _train_counter.c  texts -> their distinct pieces; _train_merger.c: these -> the merges to learn; see _training.h
 *     _ids.c         ids -> an array; _numbers.c: a list, and the ints that Python has for them
 *     _words.c       a text, or its words -> lists of ids, of where they are, and of whose they are
 *     _sources.c     a list or an array -> ids
 *     _destination.c ids -> an array of the caller's
 *
 * Invariants: an Encoder never changes after it is made, but for the caches that wait for the next call, each of which has one user at
 * a time. What a text gives does not depend on them.
 */
#ifndef BITLEX_TOKENS_H
#define BITLEX_TOKENS_H

#include "_native.h"
#include "bpe_neighbours.h"
#include "specials.h"

#define MOST_THREADS 1024 /* of a call */

typedef struct {
    PyObject_HEAD
    specials tokens;
} Specials;

typedef struct {
    PyObject_HEAD
    bpe_vocabulary vocabulary;
    Py_buffer image;      /* what the vocabulary lies in, unless it is its own */
    Machine *machine;
    bpe_decoder decoder;
    uint32_t highest;     /* id, of all that may come out */
    PyObject *decoded;    /* {id: bytes} of what is not in the vocabulary, or otherwise */
    PyThread_type_lock lock;
    struct Working *idle[MOST_THREADS]; /* what nobody works with now, and NULLs */
    struct Working *spare;              /* and one of them apart, for who has the GIL */
    bpe_neighbours neighbours; /* zeros until they are asked for */
} Encoder;

#define FEW_IDS 1024 /* for so few, memory that is given away is dearer than a copy */

/* Ids that grow in number; where each starts and ends in the text, if that is wanted, and of which piece it is, from 0 on. */
typedef struct {
    uint32_t *data;
    size_t used, room;
    uint64_t *places, *pieces;
    uint64_t piece_count;
    int placed, numbered; /* what is wanted; numbered only if placed */
    int lent; /* data is the caller's: it is not let go, and what does not fit is put elsewhere */
} Ids;

/* An array of the caller's, for ids: numbers of 1, 2, 4 or 8 bytes, so many bytes from one to the next. Zeros where there is none. */
typedef struct {
    char *data;
    size_t room, size; /* in numbers, and in bytes of each */
    Py_ssize_t stride;
    Py_buffer view;
    PyObject *given;
} Destination;

/* Ids that were given, where they lie: numbers of 1, 2, 4 or 8 bytes, so many bytes from one to the next. */
typedef struct {
    const char *data;
    size_t count, size;
    Py_ssize_t stride;
    int is_signed;
    Py_buffer view; /* what holds them; or */
    Ids own;
    PyObject *given; /* what was read, for the messages of errors */
} Source;

/* The text of one call as UTF-8. */
typedef struct {
    Text text;      /* what holds it */
    uint8_t *own;   /* its bytes, if they had to be made: in so much memory */
    size_t own_size;
    const uint8_t *bytes;
    uint64_t length;
} Utf8;

/* What one thread encodes with. */
typedef struct Working {
    const Encoder *encoder;
    bpe_encoder *caches;
    bpe_watch watch;       /* what they ask while a piece of a task is long */
    bitlex_cursor *cursor;
    void *scratch;         /* of a machine of several stages */
    uint64_t scratch_size;
    uint64_t *offsets;     /* of pieces, of streams: memory that also has */
    uint32_t *starts, *ends;
    size_t pieces_room;    /* for so many */
    Ids ids;               /* memory for those of a call, of streams */
} Working;

typedef enum { ENCODED, NO_ROOM, NO_BYTE, TOO_LONG, REFUSED, STOPPED, WHOLE } Encoded; /* REFUSED: see Task; WHOLE: _strings.c */

/* What to encode, and what became of it. */
typedef struct {
    const uint8_t *text;
    uint64_t length, slack;         /* slack: bytes behind it that may be read */
    const specials *allowed;        /* or NULL */
    const specials *disallowed;     /* which refuse the text, where many are encoded; or NULL: it was looked through */
    Utf8 *source;                   /* of many texts: what is opened, and has to be made; or NULL */
    const bitlex_cut *from, *to;    /* the part of the text between two cuts, with allowed being NULL; or NULL */
    int (*may_go_on)(void *context); /* asked now and then; or NULL */
    void *context;
    int counting;                   /* ids are counted, and not kept */
    uint64_t counted;
    Ids ids;
    uint64_t at;                    /* of a byte that is no token */
    uint64_t base;                  /* where it begins in the text that errors are told of */
    uint64_t first, last;           /* of a part: where the piece ends in whose midst it starts, and where its last ends */
} Task;

/* What texts are encoded and decoded by, where lexers run on this. */
static inline bpe_vectors vectors_of(bitlex_tier tier) { return tier == BITLEX_AVX512 ? BPE_AVX512 : tier == BITLEX_AVX2 ? BPE_AVX2 : BPE_PLAIN; }

#if defined(__GNUC__)
#pragma GCC visibility push(hidden)
#endif

/* --- _utf8.c --- */

/* Before anything else of it, once or more. */
void bitlex_py_utf8_prepare(void);

/* -1 with an exception set. In a str, a high and a low surrogate side by side are one character, and a lone one is U+FFFD. */
int bitlex_py_utf8_begin(Utf8 *u, PyObject *text);

/* The same, of a text that stays as it is: a copy of a buffer to which others may write, such as a file in memory. Merging a piece looks at
 * it again and again, and joins what it found before. */
int bitlex_py_utf8_hold(Utf8 *u, PyObject *text);

#define UTF8_SLACK 64 /* bytes that may be written behind the last */
#define UTF8_LENT (256 + UTF8_SLACK)

/* The same; what has to be written, and is short, is put where UTF8_LENT bytes are lent. */
int bitlex_py_utf8_hold_in(Utf8 *u, PyObject *text, uint8_t *lent);
void bitlex_py_utf8_end(Utf8 *u);

/* The same, but a str that has to be made UTF-8 has NULL for its bytes, and its length is of characters, until they are made: by a thread that
 * need not have the GIL, -1 if there is no memory. They may be let go as soon, and made again. */
int bitlex_py_utf8_open(Utf8 *u, PyObject *text);
int bitlex_py_utf8_make(Utf8 *u);
void bitlex_py_utf8_unmake(Utf8 *u);

/* The UTF-8 of so many units of so many bytes, with garbage behind it, UTF8_SLACK bytes at most: where it ends. Touches no object. */
uint8_t *bitlex_py_utf8_put(uint8_t *to, const void *from, size_t width, size_t length);

/* What vectors there are, up to what BITLEX_TIER said when the module was imported: 2, of AVX-512; 1, of AVX2; or none. */
extern int bitlex_py_vectors;

/* How many bytes that is, without what is behind it. */
uint64_t bitlex_py_utf8_size(const void *from, size_t width, size_t length);

/* Whether unit i is the first of two surrogates, if the next one is the second. */
int bitlex_py_is_first_half(const void *from, size_t width, size_t i);

/* --- _utf8_together.c --- */

/* Make the bytes of what is open by several threads: -1 with an exception set, and the text still held. */
int bitlex_py_utf8_make_together(Utf8 *u, const bitlex_machine *machine, Py_ssize_t threads);

/* --- _ids.c --- */

/* Make room for so many more: 0, or -1 if there is no memory. Touches no object. */
int bitlex_py_grow(Ids *ids, size_t more);
static inline int bitlex_py_reserve(Ids *ids, size_t more) { return more <= ids->room - ids->used ? 0 : bitlex_py_grow(ids, more); }

/* Make room for the first of a text, and for as many as there may be, if there is memory for that: they may turn out to be few. */
static inline int bitlex_py_reserve_likely(Ids *ids, size_t likely)
{
    return bitlex_py_reserve(ids, likely + BPE_PADDING) == 0 ? 0 : bitlex_py_reserve(ids, BPE_PADDING);
}
void bitlex_py_free_ids(Ids *ids);

/* As an array of numpy, of uint32, and as two, the other one of the int64 of places, in rows of two or not. They take the memory. `owner`: an
 * object of a type of this module. */
extern PyType_Spec bitlex_py_array_spec;
PyObject *bitlex_py_ids_as_numpy(PyObject *owner, Ids *ids);
PyObject *bitlex_py_ids_as_buffer(PyObject *owner, Ids *ids); /* without numpy */
PyObject *bitlex_py_ids_and_places(PyObject *owner, Ids *ids, Numbers numbers);

/* The same of `count` numbers of 64 bits, of memory from PyMem_RawMalloc, which they take: *taken is then NULL. */
PyObject *bitlex_py_wide_as_numpy(PyObject *owner, uint64_t **taken, size_t count, Numbers numbers);

/* --- _numbers.c --- */

/* When the module is imported, with the GIL. */
void bitlex_py_numbers_prepare(void);

/* A reference to an int: one that is kept, if the vocabulary has as many tokens. */
PyObject *bitlex_py_number(Encoder *self, uint64_t number);
PyObject *bitlex_py_ids_as_list(Encoder *self, const uint32_t *ids, size_t size);

/* As many ids of a list's items from the beginning on as can be told without a look at these, by where they are: a multiple of 32. */
size_t bitlex_py_kept_ids(uint32_t *ids, PyObject *const *items, size_t size);

/* --- _sources.c --- */

/* From a sequence of ints or an array of integers: -1 with an exception set, and nothing to end. */
int bitlex_py_source_begin(Source *s, PyObject *ids);
void bitlex_py_source_end(Source *s);

#define SOURCE_BLOCK 4096

/* The ids from `at` on, up to SOURCE_BLOCK of them, where they lie or in `room`; what is no id is BPE_NONE. Touches no object. */
const uint32_t *bitlex_py_source_block(const Source *s, size_t at, size_t *count, uint32_t room[SOURCE_BLOCK]);

/* From one number of a row to the next; ctypes does not say it of its arrays, whose numbers lie side by side. */
Py_ssize_t bitlex_py_stride(const Py_buffer *view);

/* What numbers a buffer has: whether they are signed, and of another byte order than ours; -1 with an exception set if not integers. */
int bitlex_py_read_format(const Py_buffer *view, int *is_signed, int *is_other);

/* --- _destination.c --- */

/* An array for ids up to the highest: -1 with an exception set, and nothing to end. */
int bitlex_py_destination_begin(Destination *d, PyObject *given, uint32_t highest);
void bitlex_py_destination_end(Destination *d);

/* Where ids may be stored as they are found, or NULL; and store so many, for which there must be room. Touches no object. */
uint32_t *bitlex_py_destination_words(const Destination *d);
void bitlex_py_destination_put(const Destination *d, const uint32_t *ids, size_t count);

/* --- _encoding.c --- */

#define PIECES_READ 4096 /* at a time */
#define WIDE 512    /* of pairs, or of a text of more than 4 GiB */

/* Pieces of a text, as they are handed to bpe_encode and train_count: by 32-bit places behind `base`. Zeros but for the arrays, at first; of a
 * part of a text of more than 4 GiB, `base` is where it starts. */
typedef struct {
    uint64_t base;
    size_t count, wide_count, wide_at; /* of what was found and not handed out yet */
    uint32_t last;                     /* where the last piece ended, unless the machine drops */
    const uint32_t *ends;              /* starts + 1 where pieces lie one behind the other, or others */
    uint32_t starts[PIECES_READ + 1], others[WIDE];
    uint64_t wide[2 * WIDE];
} Pieces;

/* The next pieces, none of them if there are no more: 0, or -1 if one is too long. */
int bitlex_py_next_pieces(Pieces *p, bitlex_cursor *cursor, int drops, uint64_t length);

/* Take what waits for work, or make it: NULL, without an exception, if there is no memory; and let it wait again. By threads that have not
 * the GIL; before these begin, what lies apart is put where they find it. */
Working *bitlex_py_begin_work_apart(Encoder *self);
void bitlex_py_end_work_apart(Working *w, Encoder *self);
void bitlex_py_offer_spare(Encoder *self);
void bitlex_py_free_work(Working *w);

/* Put w where one may lie that is taken without the lock; what lay there comes back. */
static inline Working *bitlex_py_exchange_spare(Encoder *self, Working *w)
{
#if defined(Py_GIL_DISABLED) && defined(__GNUC__)
    return __atomic_exchange_n(&self->spare, w, __ATOMIC_ACQ_REL);
#elif defined(Py_GIL_DISABLED)
    (void)self;
    return w;
#else
    Working *before = self->spare;
    self->spare = w;
    return before;
#endif
}

/* The same by who has the GIL. */
static inline Working *bitlex_py_begin_work(Encoder *self)
{
    Working *w = bitlex_py_exchange_spare(self, NULL);
    return w != NULL ? w : bitlex_py_begin_work_apart(self);
}

static inline void bitlex_py_end_work(Working *w, Encoder *self)
{
    w = bitlex_py_exchange_spare(self, w);
    if (w != NULL) bitlex_py_end_work_apart(w, self);
}

/* Have it asked while a piece is long whether the task may go on; and no longer: what is asked is the caller's, and soon gone. */
void bitlex_py_begin_watch(Working *w, const Task *task);
void bitlex_py_end_watch(Working *w);

/* Append the ids of a task; of a part, from the first piece that starts in it. */
Encoded bitlex_py_encode(Working *w, Task *task);

/* Append the ids of pieces of a text of so many bytes. */
Encoded bitlex_py_encode_pieces(Working *w, const Pieces *p, const uint8_t *text, uint64_t length, Task *task);

/* Append the id of a special token. */
Encoded bitlex_py_append_special(Task *task, const special_match *found);

/* Append the ids of one piece, which starts and ends there. */
Encoded bitlex_py_encode_piece(Working *w, Task *task, uint64_t start, uint64_t end);

/* --- _strings.c --- */

/* Whether a str is encoded a part at a time, of so many blocks of the lexer, however short it is; 0: if it is worth it. And its ids, without
 * offsets. WHOLE, and no ids: it is to be encoded as a whole. */
int bitlex_py_is_read_in_parts(const Encoder *self, const Text *text, size_t blocks);
Encoded bitlex_py_encode_in_parts(Working *w, Task *task, const Text *text, const specials *disallowed, size_t blocks);

/* --- _specials.c --- */

extern PyType_Spec bitlex_py_specials_spec;

/* --- _many.c --- */

/* The ids of many texts, side by side: those of text i from begins[i] up to begins[i + 1]; and what is put before and behind each. */
typedef struct {
    Ids ids;
    uint64_t *begins;
    uint32_t *around; /* first those before */
    size_t before, behind;
} Joined;

/* What is made of the ids of each text, for a list that is seen by nobody else. */
typedef struct {
    PyObject *(*make)(Encoder *self, Task *task);
    PyObject *list;
    size_t count; /* so many texts have theirs; the calling thread makes them while others find ids, as far as it may */
} Made;

/* Make it of the tasks up to `to`, whose ids are gone then: 0, or -1 with an exception set. */
int bitlex_py_make_some(Encoder *self, Task *tasks, size_t to, Made *made);

/* The ids of texts, each of which goes in tasks[i]: -1, with an exception set if the outcome is ENCODED, or else that of tasks[*failed].
 * One text is cut into parts of so many blocks and more, however short it is; 0: as it is worth it. Unless `joined` is NULL, all go there;
 * unless `made` is NULL, ids of texts of which something was made are gone. */
int bitlex_py_encode_many(Encoder *self, Task *tasks, size_t count, Py_ssize_t threads, size_t blocks, Joined *joined, Made *made,
                          size_t *failed, Encoded *outcome);

/* --- _ranks.c --- */

/* parse_ranks(data) -> (blob, starts), or None. */
PyObject *bitlex_py_parse_ranks(PyObject *module, PyObject *data);

/* --- _model.c --- */

PyObject *bitlex_py_read_model(PyObject *module, PyObject *const *arguments, Py_ssize_t count);
PyObject *bitlex_py_find_tokens(PyObject *module, PyObject *arguments);

/* --- _decoding.c: methods of an Encoder --- */

/* Raise that an id at a place among others is none. */
void bitlex_py_raise_no_token(const Source *s, size_t at);

PyObject *bitlex_py_decode(Encoder *self, PyObject *const *arguments, Py_ssize_t count);
PyObject *bitlex_py_decode_text(Encoder *self, PyObject *const *arguments, Py_ssize_t count);
PyObject *bitlex_py_decode_batch(Encoder *self, PyObject *const *arguments, Py_ssize_t count);
PyObject *bitlex_py_ends(Encoder *self, PyObject *ids);
PyObject *bitlex_py_tokens(Encoder *self, PyObject *ids);
PyObject *bitlex_py_token(Encoder *self, PyObject *number);
PyObject *bitlex_py_find(Encoder *self, PyObject *token);

/* --- _growing.c --- */

/* The text of many ids, more than 32768; their bytes if `errors` is NULL: NULL with an exception set. */
PyObject *bitlex_py_decode_growing(const bpe_decoder *decoder, const Source *source, const char *errors, int skip);

/* --- _decoded.c --- */

/* The largest character of those that are so wide, as bpe_extent counts it. */
static inline Py_UCS4 bitlex_py_largest(uint32_t widest)
{
    static const Py_UCS4 largest[] = {0x7F, 0xFF, 0xFFFF, 0x10FFFF};
    return largest[widest];
}

/* Bytes: some of ASCII, which may be none, and others behind them, of which so many start a character; how wide these are, as in bpe_extent,
 * if all is UTF-8. What follows is set when the str is made, which all is there of but the middle, to be stored from some character on. */
typedef struct {
    const uint8_t *ascii, *bytes;
    size_t ascii_size, size, characters;
    uint32_t widest;
    PyObject *made;
    const uint8_t *middle;
    size_t middle_size, from;
} Decoded;

/* The str of bytes: NULL with an exception set, or without one if Python has to decode them. */
PyObject *bitlex_py_decoded(Decoded *d, const char *errors, bpe_vectors vectors);

/* The same in two steps: make it (0 if Python has to, -1 with an exception set); store the middle (whether it is UTF-8; any thread may). */
int bitlex_py_decoded_begin(Decoded *d, const char *errors);
int bitlex_py_decoded_store(const Decoded *d, bpe_vectors vectors);

/* The str of an object, which is let go of: NULL with an exception set. */
PyObject *bitlex_py_decoded_bytes(PyObject *bytes, const char *errors, bpe_vectors vectors);

/* --- _words.c: a method of an Encoder --- */

PyObject *bitlex_py_encode_words(Encoder *self, PyObject *text);

/* --- _merging.c: methods of an Encoder --- */

PyObject *bitlex_py_merge(Encoder *self, PyObject *const *arguments, Py_ssize_t count);
PyObject *bitlex_py_in_order(Encoder *self, PyObject *unused);

/* --- _train_counter.c, _train_merger.c --- */

extern PyType_Spec bitlex_py_counter_spec, bitlex_py_merger_spec;

/* --- _calling.c --- */

/* Add Direct and DirectMethod: -1 with an exception set. */
int bitlex_py_add_direct(PyObject *module);

/* --- _encode.c --- */

/* Methods of an Encoder: (text, allowed, disallowed, threads=1, blocks=0) -> a list of ids, an array, one with places, or their number. */
PyObject *bitlex_py_encode_list(Encoder *self, PyObject *const *arguments, Py_ssize_t count);
PyObject *bitlex_py_encode_numpy(Encoder *self, PyObject *const *arguments, Py_ssize_t count);
PyObject *bitlex_py_encode_with_offsets(Encoder *self, PyObject *const *arguments, Py_ssize_t count);
PyObject *bitlex_py_count_ids(Encoder *self, PyObject *const *arguments, Py_ssize_t count);

/* The same with an array behind the text -> how many ids were written to it. */
PyObject *bitlex_py_encode_into(Encoder *self, PyObject *const *arguments, Py_ssize_t count);

/* The ids of a text in which no token is special, where they are (in characters of a str), and of which piece: -1 with an exception set.
 * They are to be freed in either case. */
int bitlex_py_encode_placed(Encoder *self, PyObject *text, Ids *ids);

/* Raise that a text has a special token which must not be there. */
void bitlex_py_raise_special(const uint8_t *bytes, size_t length, uint64_t at);

/* --- _encode_batch.c: methods of an Encoder, with a sequence of texts --- */

PyObject *bitlex_py_encode_next_window(Encoder *self, PyObject *const *arguments, Py_ssize_t count);
PyObject *bitlex_py_encode_batch(Encoder *self, PyObject *const *arguments, Py_ssize_t count);
PyObject *bitlex_py_encode_batch_to_numpy(Encoder *self, PyObject *const *arguments, Py_ssize_t count);
PyObject *bitlex_py_encode_batch_flat(Encoder *self, PyObject *const *arguments, Py_ssize_t count);
PyObject *bitlex_py_count_batch(Encoder *self, PyObject *const *arguments, Py_ssize_t count);

/* --- _checksum.c --- */

/* checksum(buffer) -> int. */
PyObject *bitlex_py_checksum(PyObject *module, PyObject *buffer);

/* --- _encoder.c --- */

int bitlex_py_add_encoder(PyObject *module);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#endif
