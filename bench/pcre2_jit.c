/* pcre2_jit.c - PCRE2 with its JIT compiler, called as fast as it can be: no copy, no object, no check of the UTF-8.
 *
 *     code = pcre2_open(pattern, length, error, sizeof error);          // NULL: `error` says why
 *     n = pcre2_pass(code, text, &length, 1, ends);                     // as table_dfa_pass
 *
 * Not thread-safe: one code holds its match data.
 */
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct {
    pcre2_code *code;
    pcre2_match_data *data;
    pcre2_match_context *context;
} opened;

void pcre2_version(char *out) { pcre2_config(PCRE2_CONFIG_VERSION, out); } /* of 64 bytes */

void *pcre2_open(const char *pattern, size_t length, char *error, size_t room)
{
    int number;
    size_t where;
    opened *made = calloc(1, sizeof *made);
    if (made == NULL) return NULL;
    made->code = pcre2_compile((PCRE2_SPTR)pattern, length, PCRE2_UTF | PCRE2_UCP, &number, &where, NULL);
    if (made->code != NULL) number = pcre2_jit_compile(made->code, PCRE2_JIT_COMPLETE);
    if (made->code == NULL || number < 0) {
        char text[120];
        pcre2_get_error_message(number, (PCRE2_UCHAR *)text, sizeof text);
        snprintf(error, room, "%s", text);
        free(made);
        return NULL;
    }
    made->data = pcre2_match_data_create_from_pattern(made->code, NULL);
    made->context = pcre2_match_context_create(NULL);
    pcre2_jit_stack_assign(made->context, NULL, pcre2_jit_stack_create(32 * 1024, 8 * 1024 * 1024, NULL));
    return made;
}

/* Split each of the pieces that end at from[0..count-1]; (size_t)-1 if PCRE2 gives up. */
size_t pcre2_pass(void *code, const char *text, const uint32_t *from, size_t count, uint32_t *ends)
{
    opened *made = code;
    PCRE2_SIZE *found = pcre2_get_ovector_pointer(made->data);
    size_t number = 0, start = 0, i;
    for (i = 0; i < count; i++) {
        PCRE2_SPTR piece = (PCRE2_SPTR)text + start;
        size_t length = from[i] - start, at = 0;
        while (at < length) {
            int rc = pcre2_jit_match(made->code, piece, length, at, 0, made->data, made->context);
            if (rc == PCRE2_ERROR_NOMATCH) break;
            if (rc < 0 || found[1] == found[0]) return (size_t)-1;
            if (at < found[0]) {
                if (ends) ends[number] = (uint32_t)(start + found[0]);
                number++;
            }
            at = found[1];
            if (ends) ends[number] = (uint32_t)(start + at);
            number++;
        }
        if (at < length) {
            if (ends) ends[number] = from[i];
            number++;
        }
        start = from[i];
    }
    return number;
}
