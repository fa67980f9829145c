/* transitions.c - a program in; out, where it executes SSE instructions while the upper halves of vector registers are in use. Linux, x86-64.
 *
 *     transitions PROGRAM ARGUMENT...
 *
 * The program says from where to where by two signals (SIGUSR1) to itself, and is stepped one instruction at a time between. Each place comes
 * out as a line: the file that is mapped there, the offset in it, and how often. Then how many instructions there were.
 *
 * An upper half is in use if it is not zero. (Processors remember whether it was written to, so there may be more such places than are
 * seen, but not for long: what vectors of texts have there is not always zero.)
 */
#define _GNU_SOURCE
#include <cpuid.h>
#include <elf.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#define PLACES (1u << 20)
#define AREA 16384

typedef struct {
    uint64_t at, count;
    int is_sse, known;
} Place;

static Place places[PLACES];
static uint64_t area[AREA / 8];

static void fail(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, strerror(errno));
    exit(2);
}

static Place *place_of(uint64_t at)
{
    uint64_t i = (at * UINT64_C(0x9E3779B97F4A7C15)) >> 44;
    while (places[i].known && places[i].at != at) i = (i + 1) % PLACES;
    places[i].at = at;
    return places + i;
}

/* Whether an instruction is one of SSE in its first encoding, which leaves upper halves as they are: prefixes, 0F, and an opcode of those
 * that have registers of 128 bits. */
static int is_sse(const uint8_t *p)
{
    while (*p == 0x66 || *p == 0xF2 || *p == 0xF3) p++;
    if ((*p & 0xF0) == 0x40) p++;
    if (*p++ != 0x0F) return 0;
    if (*p == 0x38) return p[1] < 0xF0;
    if (*p == 0x3A || *p == 0xC2 || (*p >= 0xC4 && *p <= 0xC6) || *p >= 0xD0) return 1;
    return (*p >= 0x10 && *p <= 0x17) || (*p >= 0x28 && *p <= 0x2F) || (*p >= 0x50 && *p <= 0x7F && *p != 0x77);
}

static int any(uint32_t component, uint32_t bytes)
{
    uint32_t size, offset, c, d;
    const uint8_t *p;
    if (!(area[512 / 8] >> component & 1) || !__get_cpuid_count(0xD, component, &size, &offset, &c, &d) || offset + bytes > AREA) return 0;
    p = (const uint8_t *)area + offset;
    for (uint32_t i = 0; i < bytes; i++) {
        if (p[i] != 0) return 1;
    }
    return 0;
}

static int upper_halves_in_use(pid_t child)
{
    struct iovec all = {area, sizeof area};
    memset(area, 0, sizeof area);
    if (ptrace(PTRACE_GETREGSET, child, (void *)NT_X86_XSTATE, &all) < 0) fail("no vector registers to be had");
    return any(2, 256) || any(6, 512); /* of ymm0 to ymm15, and of zmm0 to zmm15 */
}

static void look(pid_t child, uint64_t at)
{
    Place *place = place_of(at);
    if (!place->known) {
        long words[2];
        errno = 0;
        words[0] = ptrace(PTRACE_PEEKTEXT, child, (void *)at, NULL);
        words[1] = ptrace(PTRACE_PEEKTEXT, child, (void *)(at + 8), NULL);
        place->is_sse = errno == 0 && is_sse((const uint8_t *)words);
        place->known = 1;
    }
    if (place->is_sse) place->count += (uint64_t)upper_halves_in_use(child);
}

static void tell(pid_t child, uint64_t steps)
{
    char path[64], line[4096], file[4096];
    FILE *maps;
    snprintf(path, sizeof path, "/proc/%d/maps", (int)child);
    for (uint64_t i = 0; i < PLACES; i++) {
        unsigned long from, to, offset;
        if (places[i].count == 0) continue;
        if ((maps = fopen(path, "r")) == NULL) fail(path);
        while (fgets(line, sizeof line, maps) != NULL) {
            file[0] = 0;
            if (sscanf(line, "%lx-%lx %*s %lx %*s %*s %4095s", &from, &to, &offset, file) < 3 || places[i].at < from || places[i].at >= to) continue;
            printf("%s %#lx %lu\n", file, (unsigned long)places[i].at - from + offset, (unsigned long)places[i].count);
        }
        fclose(maps);
    }
    printf("%lu instructions\n", (unsigned long)steps);
}

int main(int count, char **arguments)
{
    uint64_t steps = 0;
    int status, stepping = 0;
    pid_t child;
    cpu_set_t one;
    if (count < 2) return 2;
    CPU_ZERO(&one); /* both on one processor, which need not wake another at each step */
    CPU_SET(sched_getcpu(), &one);
    sched_setaffinity(0, sizeof one, &one);
    child = fork();
    if (child == 0) {
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0) execvp(arguments[1], arguments + 1);
        _exit(127);
    }
    if (child < 0 || waitpid(child, &status, 0) < 0) fail("fork");
    for (int signal = 0;;) {
        struct user_regs_struct registers;
        if (!WIFSTOPPED(status)) return 3; /* it ended, and did not say so */
        if (WSTOPSIG(status) == SIGUSR1 && stepping) break;
        if (WSTOPSIG(status) == SIGUSR1) stepping = 1;
        signal = WSTOPSIG(status) == SIGTRAP || WSTOPSIG(status) == SIGUSR1 ? 0 : WSTOPSIG(status);
        if (stepping && signal == 0 && WSTOPSIG(status) == SIGTRAP) {
            if (ptrace(PTRACE_GETREGS, child, NULL, &registers) < 0) fail("no registers to be had");
            look(child, registers.rip);
            steps++;
        }
        if (ptrace(stepping ? PTRACE_SINGLESTEP : PTRACE_CONT, child, NULL, (void *)(intptr_t)signal) < 0) fail("no stepping");
        if (waitpid(child, &status, 0) < 0) fail("wait");
    }
    tell(child, steps);
    kill(child, SIGKILL);
    return 0;
}
