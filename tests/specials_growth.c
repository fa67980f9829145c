/* specials_growth.c - special tokens that share long beginnings, in a text that goes on and on like them: the calls it takes to find them.
 *
 * Compile with -finstrument-functions: each byte that is read is a call of child(), and calls are counted; nothing is timed. Returns 1 if a byte
 * of text, or of its end where a token may be open, takes more than a few, however long the tokens are.
 */
#include "specials.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LENGTH 100000
#define A_BYTE 8 /* calls */

static size_t called;

void __cyg_profile_func_enter(void *function, void *from) __attribute__((no_instrument_function));
void __cyg_profile_func_exit(void *function, void *from) __attribute__((no_instrument_function));

void __cyg_profile_func_enter(void *function, void *from)
{
    (void)function;
    (void)from;
    called++;
}

void __cyg_profile_func_exit(void *function, void *from)
{
    (void)function;
    (void)from;
}

static uint8_t text[LENGTH];

static void repeat(uint8_t *to, size_t length, const char *period)
{
    size_t i;
    for (i = 0; i < length; i++) to[i] = (uint8_t)period[i % strlen(period)];
}

/* Tokens of a period up to 1..longest bytes long and an end that the text does not have, and perhaps a short one that it has. */
static int is_linear(const char *period, size_t longest, const char *one)
{
    static uint8_t token[2000];
    specials s;
    special_search search;
    special_match found;
    size_t i, count = 0, searching, opening;
    memset(&s, 0, sizeof s);
    for (i = 1; i < longest; i++) {
        repeat(token, i, period);
        token[i] = '!';
        if (specials_add(&s, token, i + 1, (uint32_t)i) != 0) exit(2);
    }
    if (one != NULL && specials_add(&s, (const uint8_t *)one, strlen(one), 0) != 0) exit(2);
    if (specials_link(&s) != 0) exit(2);
    repeat(text, LENGTH, period);
    called = 0;
    for (specials_begin(&search, &s, text, LENGTH, 0); specials_next(&search, &found);) count++;
    searching = called;
    called = 0;
    if (specials_open(&s, text, LENGTH, 0) > LENGTH - longest + strlen(period)) exit(2);
    opening = called;
    specials_free(&s);
    printf("%s, %lu: %lu found by %lu calls, what is open by %lu\n", period, (unsigned long)longest, (unsigned long)count, (unsigned long)searching,
           (unsigned long)opening);
    return count == (one != NULL ? LENGTH / strlen(period) : 0) && searching < A_BYTE * LENGTH && opening < A_BYTE * longest;
}

int main(void)
{
    static const struct { const char *period, *one; } cases[] = {{"a", NULL}, {"a", "a"}, {"ab", "b"}, {"ab", "a"}, {"abc", "bc"}, {"abc", NULL}};
    size_t i, longest;
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (longest = 10; longest <= 1500; longest *= 5) {
            if (!is_linear(cases[i].period, longest, cases[i].one)) return 1;
        }
        if (!is_linear(cases[i].period, 1500, cases[i].one)) return 1;
    }
    return 0;
}
