/* bpe_decode.c - ids in, the bytes of their tokens out. Most tokens are a record of 16 bytes, copied whole; the next one overwrites what was
 * too much. */
#include "bpe_hash.h"

uint64_t bpe_decoded_size(const bpe_vocabulary *v, const uint32_t *ids, size_t count, size_t *at)
{
    uint64_t size = 0;
    size_t i;
    for (i = 0; i < count; i++) {
        const uint32_t id = ids[i];
        uint32_t length;
        if (UNLIKELY(id >= v->token_count)) break;
        length = v->records[id].length;
        if (UNLIKELY(length - 1 > 14)) {
            if (length == 0) break;
            length = v->starts[id + 1] - v->starts[id];
        }
        size += length;
    }
    *at = i;
    return i < count ? UINT64_MAX : size;
}

void bpe_decode(const bpe_vocabulary *v, const uint32_t *ids, size_t count, uint8_t *out)
{
    size_t i;
    for (i = 0; i < count; i++) {
        const bpe_record *record = v->records + ids[i];
        memcpy(out, record, 16);
        if (LIKELY(record->length <= 15)) {
            out += record->length;
        } else {
            const uint32_t start = v->starts[ids[i]], length = v->starts[ids[i] + 1] - start;
            memcpy(out, v->bytes + start, length);
            out += length;
        }
    }
}
