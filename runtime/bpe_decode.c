/* bpe_decode.c - ids in, the bytes of their tokens out. Nearly every token is a record of 16 bytes that is copied whole; the next one
 * overwrites what was too much. */
#include "bpe_hash.h"

#include <stdlib.h>

#define LONGER 255
#define NO_TEXT 254 /* an id that decodes to nothing */

int bpe_decoder_begin(bpe_decoder *d, const bpe_vocabulary *v, uint32_t count)
{
    uint32_t id;
    d->count = count;
    d->records = bpe_allocate(((size_t)count + 1) * sizeof *d->records);
    if (d->records == NULL) return -1;
    memcpy(d->records, v->records, v->token_count * sizeof *d->records);
    for (id = 0; id < v->token_count; id++) {
        const uint32_t length = v->starts[id + 1] - v->starts[id];
        if (length > 15) bpe_decoder_set(d, id, v->bytes + v->starts[id], length);
        else d->records[id].length = (uint8_t)length;
    }
    return 0;
}

void bpe_decoder_end(bpe_decoder *d)
{
    bpe_release(d->records, ((size_t)d->count + 1) * sizeof *d->records);
    d->records = NULL;
}

void bpe_decoder_set(bpe_decoder *d, uint32_t id, const uint8_t *bytes, uint32_t length)
{
    bpe_record *record = d->records + id;
    memset(record, 0, sizeof *record);
    if (length > 15) {
        memcpy(record->bytes, &bytes, sizeof bytes);
        memcpy(record->bytes + 8, &length, sizeof length);
        record->length = LONGER;
    } else {
        memcpy(record->bytes, bytes, length);
        record->length = length == 0 ? NO_TEXT : (uint8_t)length;
    }
}

static size_t rare_token(const bpe_record *record, const uint8_t **bytes)
{
    uint32_t length;
    if (record->length == 0) return SIZE_MAX;
    if (record->length == NO_TEXT) return 0;
    memcpy(bytes, record->bytes, sizeof *bytes);
    memcpy(&length, record->bytes + 8, sizeof length);
    return length;
}

size_t bpe_token(const bpe_decoder *d, uint32_t id, const uint8_t **bytes)
{
    if (id >= d->count) return SIZE_MAX;
    *bytes = d->records[id].bytes;
    if (d->records[id].length - 1u < 15) return d->records[id].length;
    return rare_token(d->records + id, bytes);
}

uint64_t bpe_decoded_size(const bpe_decoder *d, const uint32_t *ids, size_t count, size_t *at)
{
    const uint8_t *bytes;
    uint64_t size = 0;
    size_t i;
    for (i = 0; i < count; i++) {
        const size_t length = bpe_token(d, ids[i], &bytes);
        if (UNLIKELY(length == SIZE_MAX)) break;
        size += length;
    }
    *at = i;
    return i < count ? UINT64_MAX : size;
}

void bpe_decode(const bpe_decoder *d, const uint32_t *ids, size_t count, uint8_t *out)
{
    size_t i;
    for (i = 0; i < count; i++) {
        const bpe_record *record = d->records + ids[i];
        memcpy(out, record, 16);
        if (LIKELY(record->length <= 15)) {
            out += record->length;
        } else {
            const uint8_t *bytes = NULL;
            const size_t length = rare_token(record, &bytes);
            if (length > 0) memcpy(out, bytes, length);
            out += length;
        }
    }
}
