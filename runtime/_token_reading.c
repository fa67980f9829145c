/* _token_reading.c - parts of a text in, ids out, for a TokenStream.
 *
 *     what was fed     ... the quick | brow n <|endo
 *                                    |      |        what may be the beginning of a special token waits
 *                                    |      what the lexer has read
 *                                    the piece at hand: its bytes are held, as no more than that is needed
 *
 * Of a piece that becomes long, the ids of its beginning are handed out (bpe_final.c), and its bytes forgotten. A part is worked on some
 * thousand bytes at a time, so that what is needed besides is small, whatever the parts.
 *
 * Invariants: while the GIL is released no object is touched; it is taken before an exception is raised. After an exception a stream must be
 * reset.
 */
#include "_token_stream.h"

#if defined(__GNUC__)
#define ASK_FOR(at) __builtin_prefetch((const void *)(at))
#define ALWAYS __attribute__((always_inline))
#else
#define ASK_FOR(at) ((void)(at))
#define ALWAYS
#endif
#if defined(__GNUC__) && defined(__x86_64__)
#define BY_VECTORS __attribute__((target("avx512f")))
#endif
#define LONG 16384 /* bytes of a piece, from which on its ids are handed out before it ends, or more: see try_from */
#define LONGEST 1024 /* bytes of a token, beyond which that is not tried */
#define AHEAD 4096 /* bytes */
#define STOPS 64   /* places at which it may end, beyond which that is not tried */

/* --- the GIL ----------------------------------------------------------------------------------------------------------- */

void bitlex_py_take_gil(Call *c)
{
    if (c->released != NULL) PyEval_RestoreThread(c->released);
    c->released = NULL;
}

static int no_memory(Call *c)
{
    bitlex_py_take_gil(c);
    PyErr_NoMemory();
    return -1;
}

static int too_much(Call *c, const char *what)
{
    bitlex_py_take_gil(c);
    bitlex_py_raise_hold(c->stream->hold, what);
    return -1;
}

static const specials *tokens_of(PyObject *found) { return found == Py_None ? NULL : &((Specials *)found)->tokens; }

/* From how many bytes of a piece on final ids are looked for. For these, as many beginnings are merged as the longest token has bytes, each of
 * some such length: so there is a quarter of its square to each time. */
static size_t try_from(size_t longest)
{
    if (longest > LONGEST) return SIZE_MAX;
    return longest * longest / 4 > LONG ? longest * longest / 4 : LONG;
}

int bitlex_py_begin_section(TokenStream *self, uint64_t at)
{
    self->section = self->piece = at;
    self->begun = 0;
    self->try_from = self->try_at = try_from(self->encoder->vocabulary.longest);
    return bitlex_py_begin_stream(&self->lexer, self->encoder->machine);
}

/* --- ids --------------------------------------------------------------------------------------------------------------- */

static int no_token(Call *c, size_t from, size_t to)
{
    const TokenStream *self = c->stream;
    const bpe_vocabulary *v = &self->encoder->vocabulary;
    while (from + 1 < to && v->byte_tokens[self->text[from]] != BPE_NONE) from++;
    bitlex_py_take_gil(c);
    PyErr_Format(PyExc_ValueError, "byte 0x%02x at %llu is no token of this vocabulary", self->text[from], (unsigned long long)(self->base + from));
    return -1;
}

/* Say where the ids from `first` on are, which lie one behind the other from there on. */
static void place_ids(Call *c, size_t first, uint64_t at)
{
    const uint32_t *starts = c->stream->encoder->vocabulary.starts;
    for (; c->ids->placed && first < c->ids->used; first++) {
        c->ids->places[2 * first] = at;
        at += starts[c->ids->data[first] + 1] - starts[c->ids->data[first]];
        c->ids->places[2 * first + 1] = at;
    }
}

/* The rest of a piece whose beginning was handed out. */
static int encode_rest(Call *c, size_t from, size_t to)
{
    TokenStream *self = c->stream;
    const size_t first = c->ids->used;
    size_t made;
    if (from == to) return 0;
    if (bitlex_py_reserve(c->ids, to - from + BPE_PADDING) < 0) return no_memory(c);
    made = bpe_merge(&self->encoder->vocabulary, BPE_AUTOMATIC, self->text + from, to - from, c->ids->data + first);
    if (made == BPE_NO_TOKEN) return no_token(c, from, to);
    if (made == BPE_NO_MEMORY) return no_memory(c);
    c->ids->used += made;
    place_ids(c, first, self->base + from);
    return 0;
}

/* Whole pieces, by their places in what is held. */
static int encode_pieces(Call *c, const uint32_t *starts, const uint32_t *ends, size_t count)
{
    TokenStream *self = c->stream;
    const bpe_vocabulary *v = &self->encoder->vocabulary;
    size_t first = c->ids->used, made, i;
    if (count == 0) return 0;
    if (bitlex_py_reserve(c->ids, ends[count - 1] - starts[0] + BPE_PADDING) < 0) return no_memory(c);
    made = bpe_encode(c->work->caches, self->text, self->length + SLACK, starts, ends, count, c->ids->data + first);
    if (made == BPE_NO_MEMORY) return no_memory(c);
    for (i = 0; made == BPE_NO_TOKEN && i < count; i++) {
        size_t at = starts[i];
        if (v->whole && bpe_find(v, self->text + at, ends[i] - at) != BPE_NONE) continue;
        while (at < ends[i] && v->byte_tokens[self->text[at]] != BPE_NONE) at++;
        if (at < ends[i]) return no_token(c, at, ends[i]);
    }
    c->ids->used += made;
    for (i = 0; c->ids->placed && i < count; i++) { /* dropped text may lie between */
        uint64_t at = starts[i];
        for (; at < ends[i]; first++) {
            c->ids->places[2 * first] = self->base + at;
            at += v->starts[c->ids->data[first] + 1] - v->starts[c->ids->data[first]];
            c->ids->places[2 * first + 1] = self->base + at;
        }
    }
    return 0;
}

/* The pieces that the lexer found: their ends in what is held; of a machine that drops, pairs in the text that it reads. */
static inline int take_pieces(Call *c, size_t count)
{
    TokenStream *self = c->stream;
    const int pairs = self->encoder->machine->machine.drops != 0;
    const uint64_t shift = self->section - self->base; /* may be below zero: it comes out right */
    const size_t begun = self->begun != 0;
    const Working *w = c->work;
    size_t i;
    if (count == 0) return 0;
    for (i = 0; pairs && i < count; i++) {
        w->starts[i] = (uint32_t)(w->offsets[2 * i] + shift);
        w->ends[i] = (uint32_t)(w->offsets[2 * i + 1] + shift);
    }
    if (!pairs || begun) w->starts[0] = (uint32_t)(self->piece - self->base);
    if (begun && encode_rest(c, w->starts[0], w->ends[0]) < 0) return -1;
    if (encode_pieces(c, w->starts + begun, w->ends + begun, count - begun) < 0) return -1;
    self->piece = self->base + w->ends[count - 1];
    self->begun = 0;
    self->try_at = self->try_from;
    return 0;
}

/* Of a piece that has so many bytes so far, not counting what is no whole character, hand out the ids that are final. */
static int hand_out_final(Call *c, size_t length)
{
    TokenStream *self = c->stream;
    const bpe_vocabulary *v = &self->encoder->vocabulary;
    const size_t first = c->ids->used;
    size_t stops[STOPS], count, bytes;
    uint32_t i, n = 0;
    self->try_at = 2 * length;
    if (self->lexer.count > STOPS) return 0;
    for (i = 0; i < self->lexer.count; i++) {
        const uint64_t place = bitlex_stream_place(&self->lexer, i);
        if (self->section + place > self->piece) stops[n++] = (size_t)(self->section + place - self->piece);
    }
    if (n > 0 && v->whole && !self->begun && stops[0] <= v->longest) return 0;
    if (bitlex_py_reserve(c->ids, length + BPE_PADDING) < 0) return no_memory(c);
    bytes = bpe_final(v, self->text + (self->piece - self->base), length, stops, n, c->ids->data + first, &count);
    if (count == BPE_NO_TOKEN) return no_token(c, (size_t)(self->piece - self->base), self->length);
    if (count == BPE_NO_MEMORY) return no_memory(c);
    if (bytes == 0) return 0;
    c->ids->used += count;
    place_ids(c, first, self->piece);
    self->piece += bytes;
    self->begun = 1;
    self->try_at = self->try_from;
    return 0;
}

/* --- reading ----------------------------------------------------------------------------------------------------------- */

/* Room for so many offsets of pieces. */
static int grow(Call *c, size_t pieces)
{
    const size_t pairs = c->stream->encoder->machine->machine.drops != 0;
    Working *w = c->work;
    PyMem_RawFree(w->offsets);
    w->offsets = PyMem_RawMalloc((pieces + 1) * (pairs ? 24 : 12));
    w->pieces_room = w->offsets != NULL ? pieces : 0;
    if (w->offsets == NULL) return no_memory(c);
    w->starts = (uint32_t *)(void *)(w->offsets + (pairs + 1) * pieces);
    w->ends = w->starts + (pairs ? pieces : 1); /* without gaps, a piece starts where the one before ends */
    return 0;
}

static inline int reserve(Call *c, size_t pieces) { return pieces <= c->work->pieces_room ? 0 : grow(c, pieces); }

/* Up to where the lexer has read, in what is held. */
static size_t read_to(const TokenStream *self) { return (size_t)(self->section + self->lexer.length + self->lexer.tail_length - self->base); }

static inline int lex(Call *c, size_t to)
{
    TokenStream *self = c->stream;
    const bitlex_machine *m = &self->encoder->machine->machine;
    Working *w = c->work;
    void *scratch = m->lanes != NULL ? scratch_behind(w->cursor) : NULL;
    size_t from, used, found;
    while ((from = read_to(self)) < to) {
        if (reserve(c, to - from + self->lexer.count + BITLEX_STREAM_ROOM) < 0) return -1;
        found = m->drops ? bitlex_stream_feed(&self->lexer, w->cursor, scratch, self->text + from, to - from, BITLEX_UTF8, &used, w->offsets,
                                              w->pieces_room)
                         : bitlex_stream_feed32(&self->lexer, w->cursor, scratch, self->text + from, to - from, BITLEX_UTF8, &used,
                                                self->base - self->section, w->ends, w->offsets, w->pieces_room);
        if (take_pieces(c, found) < 0) return -1;
        if (self->lexer.full) {
            bitlex_py_take_gil(c);
            if (bitlex_py_more_places(&self->lexer, self->hold) < 0) return -1;
        }
    }
    return 0;
}

/* The text of the lexer ends; the next one begins there. */
static int end_section(Call *c, uint64_t next)
{
    TokenStream *self = c->stream;
    const uint64_t shift = self->section - self->base;
    size_t found, i;
    if (reserve(c, self->lexer.count + BITLEX_STREAM_ROOM) < 0) return -1;
    found = bitlex_stream_finish(&self->lexer, c->work->offsets);
    for (i = 0; !self->encoder->machine->machine.drops && i < found; i++) c->work->ends[i] = (uint32_t)(c->work->offsets[i] + shift);
    if (take_pieces(c, found) < 0) return -1;
    bitlex_py_begin_section(self, next);
    return 0;
}

/* A special token, in what is held. */
static int add_special(Call *c, const special_match *found)
{
    TokenStream *self = c->stream;
    if (end_section(c, self->base + found->end) < 0) return -1;
    if (bitlex_py_reserve(c->ids, 1) < 0) return no_memory(c);
    if (c->ids->placed) {
        c->ids->places[2 * c->ids->used] = self->base + found->start;
        c->ids->places[2 * c->ids->used + 1] = self->base + found->end;
    }
    c->ids->data[c->ids->used++] = found->id;
    return 0;
}

/* Disallowed tokens, in what is held that was not checked: -1 with an exception set. */
static int refuse(Call *c, const specials *disallowed, int ends)
{
    TokenStream *self = c->stream;
    const uint64_t from = self->checked - self->base;
    const uint64_t open = ends ? self->length : specials_open(disallowed, self->text, self->length, from);
    special_match found;
    if (specials_find(disallowed, self->text, self->length, from, &found) && found.start < open) {
        bitlex_py_take_gil(c);
        bitlex_py_raise_special(self->text + found.start, (size_t)(found.end - found.start), self->base + found.start - self->grown);
        return -1;
    }
    self->checked = self->base + open;
    return 0;
}

/* Read what is held, in which there may be special tokens; what may be the beginning of one only if the text ends here; or put it in NFC, too. */
static int read_tokens(Call *c, int ends)
{
    TokenStream *self = c->stream;
    const specials *allowed = tokens_of(self->allowed), *disallowed = tokens_of(self->disallowed);
    special_search search = {0};
    special_match found = {0};
    uint64_t limit, open = 0, grown = 0;
    size_t from, to;
    int is_there = 1;
    if (disallowed != NULL && refuse(c, disallowed, ends) < 0) return -1;
    from = read_to(self);
    if (self->normalize != Py_None && self->searched > self->base + from) from = (size_t)(self->searched - self->base);
    if (allowed != NULL) specials_begin(&search, allowed, self->text, self->length, from);
    while (is_there) {
        limit = self->length;
        is_there = 0;
        if (allowed != NULL) {
            if (open <= read_to(self)) open = ends ? self->length : specials_open(allowed, self->text, self->length, read_to(self));
            is_there = specials_next(&search, &found) && found.start < open;
            limit = is_there ? found.start : open;
            if (!is_there) self->searched = self->base + open;
        }
        if (disallowed != NULL) {
            const uint64_t checked = self->checked - self->base;
            if (is_there && found.end > checked) is_there = 0;
            if (checked < limit) limit = checked;
        }
        to = (size_t)limit;
        if (self->normalize != Py_None) {
            if (bitlex_py_normalize_held(c, read_to(self), &to, ends || is_there, &grown) < 0) return -1;
            found.start += grown;
            found.end += grown;
        }
        if (lex(c, to) < 0) return -1;
        if (is_there && add_special(c, &found) < 0) return -1;
        if (grown == 0 || allowed == NULL) continue;
        specials_begin(&search, allowed, self->text, self->length, read_to(self)); /* the text is elsewhere */
        open = 0;
    }
    return 0;
}

static inline int read_held(Call *c, int ends)
{
    TokenStream *self = c->stream;
    const int plain = self->allowed == Py_None && self->disallowed == Py_None && self->normalize == Py_None;
    if ((plain ? lex(c, self->length) : read_tokens(c, ends)) < 0) return -1;
    return ends ? end_section(c, self->base + self->length) : 0;
}

static inline int counts(const Call *c) { return c->stream->result == ROWS && c->stream->encoded == 2; }

/* What is held of a str. */
static Stretch held(const TokenStream *self)
{
    const Stretch h = {self->text, self->length, self->base, self->characters, self->weight, self->pairs, self->pair_count};
    return h;
}

/* Places that were found become characters. */
static void count_places(Call *c)
{
    const Stretch h = held(c->stream);
    bitlex_py_places_in(&h, c->ids->places + 2 * c->counted, c->ids->used - c->counted);
    c->counted = c->ids->used;
}

/* The first bytes that are held are forgotten. */
static void pass(TokenStream *self, uint64_t size)
{
    const Stretch h = held(self);
    size_t passed = 0;
    self->characters += bitlex_py_characters_in(&h, size);
    self->weight = bitlex_py_weight_at(&h, size);
    while (passed < self->pair_count && self->pairs[passed] - self->base < size) passed++;
    self->pair_count -= passed;
    if (passed > 0) memmove(self->pairs, self->pairs + passed, self->pair_count * sizeof *self->pairs);
}

/* Forget what was handed out, and what is dropped. */
static inline int forget(Call *c)
{
    TokenStream *self = c->stream;
    const bitlex_stream *lexer = &self->lexer;
    uint8_t few[SLACK]; /* most often, no more are left: then no function is called to move them */
    uint64_t needed = self->piece;
    size_t piece;
    if (self->encoder->machine->machine.drops) {
        const uint64_t start = self->section + (lexer->opened ? lexer->start : lexer->count > 0 ? bitlex_stream_place(lexer, 0) : lexer->length);
        if (start > needed) needed = self->piece = start;
    }
    piece = (size_t)(self->section + lexer->length - self->piece);
    if (piece >= self->try_at && (!self->encoder->machine->machine.drops || lexer->opened) && hand_out_final(c, piece) < 0) return -1;
    needed = self->piece;
    if (counts(c)) {
        count_places(c);
        pass(self, needed - self->base);
    }
    self->length -= (size_t)(needed - self->base);
    if (self->length <= SLACK) memcpy(few, self->text + (needed - self->base), SLACK), memcpy(self->text, few, SLACK);
    else if (needed != self->base) memmove(self->text, self->text + (needed - self->base), self->length);
    self->base = needed;
    if (self->length <= (size_t)self->hold) return 0;
    return too_much(c, "bytes");
}

/* As memcpy, which is one instruction for some thousand bytes, and that takes Zen 4 some 70 times as long where `to` is 1 to 15 bytes behind
 * `from`, modulo 4,096 (docs/lanes.md). What lies AHEAD is asked for, also behind the part: there, often, lies the next. */
static inline ALWAYS void copy_blocks(uint8_t *to, const uint8_t *from, size_t size)
{
    size_t i;
    for (i = 0; i + 64 < size; i += 64) {
        ASK_FOR((uintptr_t)from + i + AHEAD);
        memcpy(to + i, from + i, 64);
    }
    memcpy(to + size - 64, from + size - 64, 64);
}

#ifdef BY_VECTORS
BY_VECTORS static void copy_by_vectors(uint8_t *to, const uint8_t *from, size_t size) { copy_blocks(to, from, size); }
#endif

static inline void copy(const TokenStream *self, uint8_t *to, const uint8_t *from, size_t size)
{
    size_t i;
    if (size < 64) {
        for (i = 0; i < size; i++) to[i] = from[i];
        return;
    }
#ifdef BY_VECTORS
    if (self->encoder->machine->tier == BITLEX_AVX512) {
        copy_by_vectors(to, from, size);
        return;
    }
#else
    (void)self;
#endif
    copy_blocks(to, from, size);
}

int bitlex_py_make_room(Call *c, size_t length)
{
    TokenStream *self = c->stream;
    const size_t room = length + self->length / 2;
    uint8_t *grown;
    if (length <= self->room && self->text != NULL) return 0;
    grown = PyMem_RawRealloc(self->text, room + SLACK);
    if (grown == NULL) return no_memory(c);
    self->text = grown;
    self->room = room;
    return 0;
}

/* Some bytes of a part. */
static int read_some(Call *c, const uint8_t *bytes, size_t size)
{
    TokenStream *self = c->stream;
    if (bitlex_py_make_room(c, self->length + size) < 0) return -1;
    copy(self, self->text + self->length, bytes, size);
    self->length += size;
    memset(self->text + self->length, 0, SLACK);
    return read_held(c, 0) < 0 || forget(c) < 0 ? -1 : 0;
}

/* A part of any size, with the GIL released if it is long. */
static int read_all(Call *c, const uint8_t *bytes, uint64_t length)
{
    const int large = length > RELEASE;
    uint64_t done = 0;
    uint32_t turns = 0;
    int failed = 0;
    while (done < length && !failed) {
        const size_t size = length - done < AT_ONCE ? (size_t)(length - done) : AT_ONCE;
        if (large && c->released == NULL) c->released = PyEval_SaveThread();
        failed = read_some(c, bytes + done, size) < 0;
        done += size;
        if (++turns % (SLICE / AT_ONCE) != 0 || failed) continue;
        bitlex_py_take_gil(c);
        failed = PyErr_CheckSignals() < 0;
    }
    bitlex_py_take_gil(c);
    return failed ? -1 : 0;
}

int bitlex_py_read_part(Call *c, const uint8_t *bytes, uint64_t length)
{
    if (length > AT_ONCE || length == 0) return read_all(c, bytes, length);
    return read_some(c, bytes, (size_t)length);
}

int bitlex_py_read_end(Call *c)
{
    if (read_held(c, 1) < 0) return -1;
    if (counts(c)) count_places(c);
    return 0;
}
