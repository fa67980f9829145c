/* clock.c - a chain of additions, each of which waits for the one before. A processor does one a cycle, so that their number
 * divided by the time they take is the clock that it ran at. (With an immediate operand some do several at once; hence `step`.) */
#include <stdint.h>

#define ADD x += step; __asm__ volatile("" : "+r"(x));
#define TEN ADD ADD ADD ADD ADD ADD ADD ADD ADD ADD

uint64_t clock_chain(uint64_t hundreds, uint64_t step)
{
    uint64_t x = 0;
    while (hundreds-- != 0) {
        TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN
    }
    return x;
}
