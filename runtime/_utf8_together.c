/* _utf8_together.c - a long str in; out, its UTF-8, made by several threads: see _utf8.c.
 *
 * Each thread takes the next part, and says how many bytes it will have. Then all places are known, there is memory of the very size, and each
 * thread makes the bytes of the next part where they belong. So a str is read twice; to make it in one thread takes a fifth of the time that
 * encoding it takes, and is what sixteen threads wait for longer than for all the rest.
 *
 * Invariant: nothing is written but in its place, though bitlex_py_utf8_put leaves garbage behind what it makes: the last units of a part
 * are made elsewhere, and the garbage behind those before them lies where they will.
 *
 * Rejected: room for four bytes a unit, part after part (what is between them would have to be moved, in order).
 */
#include "_tokens.h"
#include "_threads.h"

#define MADE (1u << 16) /* units of a part */
#define LAST 64         /* of these, or one more; so many bytes or more */

typedef struct {
    Job job;
    Utf8 *u;
    size_t width, length, count, next; /* of parts */
    uint64_t *places;                  /* of each: how many bytes it has, and then where they begin */
    int puts;
} Making;

/* Where a part begins: not between two surrogates. */
static size_t part_from(const Making *m, size_t i)
{
    const size_t at = i * MADE;
    if (at >= m->length) return m->length;
    return at + (at > 0 && bitlex_py_is_first_half(m->u->text.data, m->width, at - 1));
}

static void put_part(const Making *m, const uint8_t *from, size_t length, uint8_t *to)
{
    uint8_t last[4 * (LAST + 1) + UTF8_SLACK];
    size_t before = length > LAST ? length - LAST : 0;
    if (before > 0 && bitlex_py_is_first_half(from, m->width, before - 1)) before--;
    to = bitlex_py_utf8_put(to, from, m->width, before);
    memcpy(to, last, (size_t)(bitlex_py_utf8_put(last, from + before * m->width, m->width, length - before) - last));
}

static void make_next(Worker *w)
{
    Making *m = (Making *)w->job;
    for (;;) {
        size_t i, from, length;
        const uint8_t *data;
        PyThread_acquire_lock(m->job.lock, WAIT_LOCK);
        i = m->next;
        m->next += i < m->count;
        PyThread_release_lock(m->job.lock);
        if (i == m->count || !bitlex_py_may_go_on(w, MADE)) return;
        from = part_from(m, i);
        length = part_from(m, i + 1) - from;
        data = (const uint8_t *)m->u->text.data + from * m->width;
        if (m->puts) put_part(m, data, length, m->u->own + m->places[i]);
        else m->places[i] = bitlex_py_utf8_size(data, m->width, length);
    }
}

static int make_room(void *job)
{
    Making *m = job;
    uint64_t total = 0;
    for (size_t i = 0; i < m->count; i++) {
        const uint64_t size = m->places[i];
        m->places[i] = total;
        total += size;
    }
    m->u->length = total;
    m->u->own_size = (size_t)total + UTF8_SLACK;
    m->u->own = bitlex_py_take(FOR_TEXTS, m->u->own_size);
    m->u->bytes = m->u->own;
    m->puts = m->u->own != NULL;
    m->next = m->puts ? 0 : m->count;
    if (!m->puts) PyErr_NoMemory();
    return m->puts ? 0 : -1;
}

int bitlex_py_utf8_make_together(Utf8 *u, const bitlex_machine *machine, Py_ssize_t threads)
{
    Making m = {.job = {.machine = machine, .work = make_next, .between = make_room}, .u = u};
    int failed;
    m.length = (size_t)u->text.length;
    m.width = u->text.encoding == BITLEX_LATIN1 ? 1 : u->text.encoding == BITLEX_UCS2 ? 2 : 4;
    m.count = (m.length + MADE - 1) / MADE;
    m.places = PyMem_RawMalloc((m.count + 1) * sizeof *m.places);
    if (m.places == NULL) PyErr_NoMemory();
    failed = m.places == NULL || bitlex_py_share(&m.job, (uint64_t)threads) < 0;
    PyMem_RawFree(m.places);
    return failed ? -1 : 0;
}
