/* exhaustive.c - every text of 1..K characters out of an alphabet: the pieces by PCRE2 and by one of our machines.
 *
 *     exhaustive JOB STATE THREADS      compare; prints the outcome, keeps STATE for when it is stopped and run again
 *     exhaustive JOB                    writes PCRE2's answers instead: for each text two uint16, starts and drops
 *
 * JOB is text, a key and its value on each line: digest (of the job; any word), length (K), pattern (in the syntax of PCRE2),
 * matches and gaps (keep or drop: whether they are pieces) and points (the alphabet, code points in decimal).
 *
 * Texts come by length, then in the order of the alphabet, the last character changing fastest. Each is split three times:
 *   1. by PCRE2 with its JIT compiler: repeated searches from the previous end, the whole text as subject; gaps are pieces;
 *   2. by two plain loops over the machine's tables, which are the definition of a machine;
 *   3. by bitlex.c, as a program that links it would.
 * An answer is two masks: bit i of `starts` says that a piece starts at character i, bit i of `drops` that it is in no piece.
 *
 * Work is done in blocks: all texts with the same characters before the last FREE. The digest of a block is FNV-1a over the
 * answers of PCRE2 in order (one step for each mask, instead of each byte; `drops` only where something is dropped); the
 * digest of a job is FNV-1a over the bytes of its blocks' digests. So it depends neither on the number of threads nor on stops.
 */
#define _POSIX_C_SOURCE 200809L
#define PCRE2_CODE_UNIT_WIDTH 8
#include "bitlex.h"

#include <errno.h>
#include <inttypes.h>
#include <pcre2.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

extern const bitlex_machine MACHINE; /* -DMACHINE=bitlex_cl100k */

#define LONGEST 16 /* characters; 64 bytes at most, so that a text's bytes are the bits of a word */
#define MOST 256   /* characters in the alphabet */
#define FREE 4
#define SHOWN 5    /* differences */
#define FNV_START UINT64_C(14695981039346656037)
#define FNV_PRIME UINT64_C(1099511628211)

typedef struct {
    uint64_t starts, drops; /* by byte, or by character once `by_character` has been there */
} answer;

typedef struct {
    char bytes[4 * LONGEST];
    uint32_t length, digit[LONGEST], offset[LONGEST + 1];
    uint64_t leads; /* bit b: a character starts at byte b */
} text;

typedef struct {
    uint64_t texts, differences, first, digest;        /* `first`: number of the first text in the block that differs */
    double seconds;                                    /* of processor time */
    int done;
} block;

typedef struct {
    text text;
    pcre2_match_data *data;
    bitlex_cursor cursor;
} worker;

static struct {
    char digest[160], engine[40]; /* `engine`: the version of PCRE2; it becomes a part of the digest */
    char *pattern;
    uint32_t length, count;
    int keep_matches, keep_gaps;
    uint32_t size[MOST]; /* of each character: its UTF-8 and its cell */
    char bytes[MOST][4];
    uint8_t cell[MOST];
    pcre2_code *code;
    block *blocks;
    uint64_t block_count, next, finished;
    pthread_mutex_t lock;
    pthread_cond_t changed;
} job;

static void die(const char *what, const char *more)
{
    fprintf(stderr, "exhaustive: %s%s\n", what, more);
    exit(2);
}

static uint64_t below(uint32_t bit) { return bit < 64 ? (UINT64_C(1) << bit) - 1 : ~UINT64_C(0); }

/* --- reading the job ------------------------------------------------------------------------------------------------ */

static void add_point(unsigned long point)
{
    const bitlex_machine *m = &MACHINE;
    unsigned char *out = (unsigned char *)job.bytes[job.count];
    uint32_t n = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4, i;
    static const unsigned char first[] = { 0, 0, 0xC0, 0xE0, 0xF0 };
    if (job.count == MOST || point > 0x10FFFF || (point >= 0xD800 && point <= 0xDFFF)) die("too many points or bad ones", "");
    for (i = n; i-- > 1;) out[i] = (unsigned char)(0x80 | ((point >> 6 * (n - 1 - i)) & 0x3F));
    out[0] = (unsigned char)(first[n] | point >> 6 * (n - 1));
    job.size[job.count] = n;
    job.cell[job.count++] = m->stage2[((size_t)m->stage1[point >> m->shift] << m->shift) + (point & below(m->shift))];
}

static void read_job(const char *path)
{
    FILE *file = fopen(path, "r");
    char *line = NULL, *value, *rest;
    size_t room = 0;
    if (file == NULL) die("cannot read ", path);
    pcre2_config(PCRE2_CONFIG_VERSION, job.engine);
    job.engine[strcspn(job.engine, " ")] = 0;
    job.keep_matches = job.keep_gaps = 1;
    while (getline(&line, &room, file) > 0) {
        line[strcspn(line, "\n")] = 0;
        if ((value = strchr(line, ' ')) == NULL) die("a key without a value: ", line);
        *value++ = 0;
        if (strcmp(line, "digest") == 0) snprintf(job.digest, sizeof job.digest, "%.100s/%.39s", value, job.engine);
        else if (strcmp(line, "length") == 0) job.length = (uint32_t)strtoul(value, NULL, 10);
        else if (strcmp(line, "pattern") == 0) job.pattern = strdup(value);
        else if (strcmp(line, "matches") == 0) job.keep_matches = strcmp(value, "keep") == 0;
        else if (strcmp(line, "gaps") == 0) job.keep_gaps = strcmp(value, "keep") == 0;
        else if (strcmp(line, "points") == 0) for (; *value; value = rest + (*rest == ' ')) add_point(strtoul(value, &rest, 10));
        else die("unknown key ", line);
    }
    free(line);
    fclose(file);
    if (job.pattern == NULL || job.count == 0 || job.length == 0 || job.length > LONGEST) die("not a whole job: ", path);
    if (MACHINE.stage_count != 1) die("only machines of one stage are tried: ", MACHINE.name);
}

static void compile(void)
{
    int error;
    size_t at;
    unsigned char message[200];
    job.code = pcre2_compile((PCRE2_SPTR)job.pattern, PCRE2_ZERO_TERMINATED, PCRE2_UTF | PCRE2_NO_UTF_CHECK | PCRE2_NEVER_BACKSLASH_C,
                             &error, &at, NULL);
    if (job.code == NULL) {
        pcre2_get_error_message(error, message, sizeof message);
        die("PCRE2 refuses the pattern: ", (const char *)message);
    }
    if (pcre2_jit_compile(job.code, PCRE2_JIT_COMPLETE) != 0) die("PCRE2 was built without its JIT compiler", "");
}

/* --- three ways to split a text --------------------------------------------------------------------------------------- */

static answer by_pcre2(worker *w)
{
    const text *t = &w->text;
    const size_t *found = pcre2_get_ovector_pointer(w->data);
    answer a = { 0, 0 };
    uint32_t at = 0;
    while (at < t->length) {
        uint32_t start = t->length, end = t->length;
        int code = pcre2_jit_match(job.code, (PCRE2_SPTR)t->bytes, t->length, at, 0, w->data, NULL);
        if (code >= 0) {
            start = (uint32_t)found[0];
            end = (uint32_t)found[1];
            if (start >= end || start < at) die("an empty match: the rules for those are not written here", "");
        } else if (code != PCRE2_ERROR_NOMATCH) {
            die("pcre2_jit_match failed", "");
        }
        if (at < start) {
            if (job.keep_gaps) a.starts |= UINT64_C(1) << at;
            else a.drops |= below(start) & ~below(at);
        }
        if (start < end) {
            if (job.keep_matches) a.starts |= UINT64_C(1) << start;
            else a.drops |= below(end) & ~below(start);
        }
        at = end;
    }
    a.drops &= t->leads;
    return a;
}

static answer by_tables(const text *t, uint32_t n)
{
    const bitlex_stage *s = MACHINE.stages;
    uint16_t label[LONGEST];
    answer a = { 0, 0 };
    uint32_t state = s->backward_end, i;
    for (i = n; i-- > 0;) {
        const uint32_t at = state + s->columns[job.cell[t->digit[i]]];
        label[i] = s->backward_label[at];
        state = s->backward_next[at];
    }
    for (state = 0, i = 0; i < n; i++) {
        const uint32_t at = state + label[i], letter = s->output[at];
        a.starts |= (uint64_t)(letter & 1) << t->offset[i];
        a.drops |= (uint64_t)(letter >> 1) << t->offset[i];
        state = s->forward_next[at];
    }
    return a;
}

static answer by_bitlex(worker *w)
{
    uint32_t offsets[8 * LONGEST];
    answer a = { 0, w->text.leads };
    size_t count, i;
    bitlex_restart(&w->cursor, w->text.bytes, w->text.length, BITLEX_UTF8, NULL);
    if (!MACHINE.drops) { /* a piece ends where the next one starts */
        a.starts = w->text.length > 0;
        a.drops = 0;
        while ((count = bitlex_next32(&w->cursor, offsets, 8 * LONGEST)) > 0)
            for (i = 0; i < count; i++)
                if (offsets[i] < w->text.length) a.starts |= UINT64_C(1) << offsets[i];
        return a;
    }
    while ((count = bitlex_next_pairs32(&w->cursor, offsets, 4 * LONGEST)) > 0)
        for (i = 0; i < count; i++) {
            a.starts |= UINT64_C(1) << offsets[2 * i];
            a.drops &= ~(below(offsets[2 * i + 1]) & ~below(offsets[2 * i]));
        }
    return a;
}

static answer by_character(const text *t, uint32_t n, answer by_byte)
{
    answer a = { 0, 0 };
    uint32_t i;
    for (i = 0; i < n; i++) {
        a.starts |= (by_byte.starts >> t->offset[i] & 1) << i;
        a.drops |= (by_byte.drops >> t->offset[i] & 1) << i;
    }
    return a;
}

/* --- one block -------------------------------------------------------------------------------------------------------- */

/* Write the characters from number `from` on; those before stand. */
static void write_from(text *t, uint32_t from, uint32_t n)
{
    uint32_t i;
    for (i = from; i < n; i++) {
        const uint32_t at = t->offset[i];
        memcpy(t->bytes + at, job.bytes[t->digit[i]], job.size[t->digit[i]]);
        t->offset[i + 1] = at + job.size[t->digit[i]];
    }
    t->leads = from == 0 ? 0 : t->leads & below(t->offset[from]);
    for (i = from; i < n; i++) t->leads |= UINT64_C(1) << t->offset[i];
    t->length = t->offset[n];
}

/* The length of the texts in a block; its first text is written. `number`: or another of its texts. */
static uint32_t open_block(text *t, uint64_t which, uint64_t number)
{
    uint32_t n = 1, i, fixed;
    uint64_t size;
    for (;; n++) {
        fixed = n > FREE ? n - FREE : 0;
        for (size = 1, i = 0; i < fixed; i++) size *= job.count;
        if (which < size) break;
        which -= size;
    }
    for (i = n; i-- > fixed; number /= job.count) t->digit[i] = (uint32_t)(number % job.count);
    for (i = fixed; i-- > 0; which /= job.count) t->digit[i] = (uint32_t)(which % job.count);
    write_from(t, 0, n);
    return n;
}

static uint64_t count_blocks(void)
{
    uint64_t count = 0, size = 1;
    uint32_t n;
    for (n = 1; n <= job.length; n++) {
        if (n > FREE) size *= job.count;
        count += size;
        if (count > UINT64_C(100000000)) die("too many texts: take a shorter length", "");
    }
    return count;
}

static double processor_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static block run_block(worker *w, uint64_t which, FILE *masks)
{
    text *t = &w->text;
    block b = { 0, 0, 0, FNV_START, 0, 1 };
    const uint32_t n = open_block(t, which, 0), fixed = n > FREE ? n - FREE : 0;
    const double since = processor_seconds();
    uint32_t at;
    do {
        const answer wanted = by_pcre2(w), shown = by_character(t, n, wanted);
        if (masks != NULL) {
            uint16_t pair[2];
            pair[0] = (uint16_t)shown.starts;
            pair[1] = (uint16_t)shown.drops;
            if (fwrite(pair, sizeof pair, 1, masks) != 1) die("cannot write", "");
        } else {
            const answer tables = by_tables(t, n), loop = by_bitlex(w);
            const uint64_t wrong = (tables.starts ^ wanted.starts) | (tables.drops ^ wanted.drops) |
                                   (loop.starts ^ wanted.starts) | (loop.drops ^ wanted.drops);
            if (wrong && b.differences++ == 0) b.first = b.texts;
            b.digest = (b.digest ^ shown.starts) * FNV_PRIME;
            if (MACHINE.drops) b.digest = (b.digest ^ shown.drops) * FNV_PRIME;
        }
        b.texts++;
        for (at = n; at > fixed && ++t->digit[at - 1] == job.count; at--) t->digit[at - 1] = 0;
        if (at > fixed) write_from(t, at - 1, n);
    } while (at > fixed);
    b.seconds = processor_seconds() - since;
    return b;
}

static worker *new_worker(void)
{
    worker *w = malloc(sizeof *w);
    if (w == NULL || (w->data = pcre2_match_data_create(1, NULL)) == NULL) die("out of memory", "");
    w->text.offset[0] = 0;
    bitlex_begin(&w->cursor, &MACHINE, "", 0, BITLEX_UTF8, NULL);
    return w;
}

static void end_worker(worker *w)
{
    pcre2_match_data_free(w->data);
    free(w);
}

static void *work(void *unused)
{
    worker *w = new_worker();
    (void)unused;
    pthread_mutex_lock(&job.lock);
    for (;;) {
        uint64_t which;
        block b;
        while (job.next < job.block_count && job.blocks[job.next].done) job.next++;
        if (job.next == job.block_count) break;
        which = job.next++;
        pthread_mutex_unlock(&job.lock);
        b = run_block(w, which, NULL);
        pthread_mutex_lock(&job.lock);
        job.blocks[which] = b;
        job.finished++;
        pthread_cond_signal(&job.changed);
    }
    pthread_mutex_unlock(&job.lock);
    end_worker(w);
    return NULL;
}

/* --- the state file: a line for each finished block, and one for the job ------------------------------------------------ */

static void read_state(const char *path)
{
    FILE *file = fopen(path, "r");
    char digest[160];
    uint64_t which;
    block b;
    if (file == NULL) return;
    if (fscanf(file, "job %159s", digest) == 1 && strcmp(digest, job.digest) == 0) {
        while (fscanf(file, "%" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNx64 " %lf", &which, &b.texts, &b.differences, &b.first,
                      &b.digest, &b.seconds) == 6) {
            if (which >= job.block_count || job.blocks[which].done) continue;
            b.done = 1;
            job.blocks[which] = b;
            job.finished++;
        }
    }
    fclose(file);
}

/* Called with the lock held. Another file first, then its name: a stop at any moment leaves a whole file. */
static void write_state(const char *path)
{
    char other[4096];
    uint64_t i;
    FILE *file;
    if (snprintf(other, sizeof other, "%s.new", path) >= (int)sizeof other) die("a long path: ", path);
    if ((file = fopen(other, "w")) == NULL) die("cannot write ", other);
    fprintf(file, "job %s\n", job.digest);
    for (i = 0; i < job.block_count; i++) {
        const block *b = job.blocks + i;
        if (b->done)
            fprintf(file, "%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %016" PRIx64 " %.6f\n", i, b->texts, b->differences, b->first,
                    b->digest, b->seconds);
    }
    if (fclose(file) != 0 || rename(other, path) != 0) die("cannot write ", path);
}

/* --- what people see ---------------------------------------------------------------------------------------------------- */

static void show_progress(uint64_t before, time_t since)
{
    enum { WIDTH = 40 };
    const double part = (double)job.finished / (double)job.block_count, now = (double)(time(NULL) - since);
    const double left = job.finished > before ? now * (double)(job.block_count - job.finished) / (double)(job.finished - before) : 0;
    int i;
    fprintf(stderr, "\r%-10s [", MACHINE.name);
    for (i = 0; i < WIDTH; i++) fputc(i < (int)(part * WIDTH) ? '#' : '.', stderr);
    fprintf(stderr, "] %5.1f %%, %d:%02d left ", 100 * part, (int)left / 60, (int)left % 60);
}

static void print_answer(const char *who, const text *t, uint32_t n, answer by_byte)
{
    const answer a = by_character(t, n, by_byte);
    uint32_t i;
    printf("; %s", who);
    for (i = 0; i < n; i++) putchar(a.starts >> i & 1 ? '|' : a.drops >> i & 1 ? 'x' : '-');
}

static void print_differences(void)
{
    worker *w = new_worker();
    uint64_t i;
    uint32_t n, j, shown = 0;
    for (i = 0; i < job.block_count && shown < SHOWN; i++) {
        if (job.blocks[i].differences == 0) continue;
        shown++;
        n = open_block(&w->text, i, job.blocks[i].first);
        printf("difference ");
        for (j = 0; j < n; j++) {
            const unsigned char *u = (const unsigned char *)job.bytes[w->text.digit[j]];
            const uint32_t size = job.size[w->text.digit[j]];
            uint32_t point = size == 1 ? u[0] : u[0] & (0x7Fu >> size), k;
            for (k = 1; k < size; k++) point = point << 6 | (u[k] & 0x3F);
            printf("%sU+%04" PRIX32, j ? " " : "", point);
        }
        print_answer("PCRE2 ", &w->text, n, by_pcre2(w));
        print_answer("tables ", &w->text, n, by_tables(&w->text, n));
        print_answer("bitlex ", &w->text, n, by_bitlex(w));
        putchar('\n');
    }
    end_worker(w);
}

static void print_outcome(void)
{
    uint64_t texts = 0, differences = 0, digest = FNV_START, i;
    double seconds = 0;
    int byte;
    for (i = 0; i < job.block_count; i++) {
        const block *b = job.blocks + i;
        texts += b->texts;
        differences += b->differences;
        seconds += b->seconds;
        for (byte = 0; byte < 64; byte += 8) digest = (digest ^ (b->digest >> byte & 0xFF)) * FNV_PRIME;
    }
    printf("texts %" PRIu64 "\ndifferences %" PRIu64 "\nseconds %.2f\ndigest %016" PRIx64 "\nengine PCRE2 %s\n", texts, differences,
           seconds, digest, job.engine);
    print_differences();
}

static void run(const char *state, int threads)
{
    const int terminal = isatty(STDERR_FILENO);
    const time_t since = time(NULL);
    pthread_t *started = calloc((size_t)threads, sizeof *started);
    uint64_t before, written;
    int i;
    if (started == NULL || (job.blocks = calloc(job.block_count, sizeof *job.blocks)) == NULL) die("out of memory", "");
    read_state(state);
    before = written = job.finished;
    pthread_mutex_init(&job.lock, NULL);
    pthread_cond_init(&job.changed, NULL);
    pthread_mutex_lock(&job.lock);
    for (i = 0; i < threads; i++)
        if (pthread_create(started + i, NULL, work, NULL) != 0) die("cannot start a thread", "");
    while (job.finished < job.block_count) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += 200000000; /* how long finished work may be lost, and the bar be late */
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        while (job.finished < job.block_count && pthread_cond_timedwait(&job.changed, &job.lock, &until) != ETIMEDOUT) {}
        if (terminal) show_progress(before, since);
        if (job.finished > written) write_state(state);
        written = job.finished;
    }
    pthread_mutex_unlock(&job.lock);
    for (i = 0; i < threads; i++) pthread_join(started[i], NULL);
    free(started);
    if (terminal) fputs("\r\033[K", stderr);
    print_outcome();
    free(job.blocks);
}

int main(int argc, char **argv)
{
    if (argc != 2 && argc != 4) die("usage: exhaustive JOB [STATE THREADS]", "");
    read_job(argv[1]);
    compile();
    job.block_count = count_blocks();
    if (argc == 4) {
        run(argv[2], atoi(argv[3]) > 0 ? atoi(argv[3]) : 1);
    } else {
        worker *w = new_worker();
        uint64_t i;
        for (i = 0; i < job.block_count; i++) run_block(w, i, stdout);
        if (fflush(stdout) != 0) die("cannot write", "");
        end_worker(w);
    }
    pcre2_code_free(job.code);
    free(job.pattern);
    return 0;
}
