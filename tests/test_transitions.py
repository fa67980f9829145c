"""No SSE instruction is executed while the upper halves of vector registers are in use: that takes a Sapphire Rapids a hundred nanoseconds,
which is more than a short text takes. Compilers see to that, but not always (bitlex_kernel.h, bpe_encode.c).

What is called is stepped through, an instruction at a time, by `transitions.c`.
"""

from __future__ import annotations

import platform
import subprocess
import sys
from pathlib import Path

import pytest

from compilers import ROOT, build, compiler, lacks
from small_tokenizers import rank_file

PROGRAM = """
import os, signal, sys
import bitlex
tokenizer = bitlex.Tokenizer.from_file(sys.argv[1], family="cl100k", special={"<|end|>": 300})
lexer = tokenizer.lexer
assert lexer.tier == sys.argv[2]
texts = ["hello world, it's 12345\\n  and longer than keys: internationalization(", "\\u043c\\u0438\\u0440 \\u0438 \\u0441\\u043b\\u043e\\u0432\\u043e\\u0441\\u043b\\u043e\\u0432\\u043e " * 2,
         "\\u4e2d\\u6587\\u5b57\\u3002" * 4, "\\U0001f600\\u00e9\\u0301 \\U0001f469\\u200d\\U0001f4bb! "]
streams = [tokenizer.stream(), lexer.stream(spans=True)]
calls = [lambda one=one, text=text: one(text) for text in texts for one in
         (tokenizer.encode, tokenizer.count, lexer.split, lexer.spans)]
calls += [lambda text=text: tokenizer.encode(text.encode() * 2) for text in texts]
calls += [lambda one=one, text=text: one.feed(text[:40]) for one in streams for text in texts]
calls += [lambda ids=tokenizer.encode(text): tokenizer.decode(ids) for text in texts]
for _ in range(2):  # the second time, what is needed once is there
    for call in calls:
        call()
me, signals, usual = os.getpid(), os.kill, signal.SIGUSR1
signals(me, usual)
for call in calls:
    call()
signals(me, usual)
"""


# A process that lets another step through it, and look at its vector registers: what containers may forbid, and nothing of ours.
PROBE = """
#include <elf.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void)
{
    static char area[16384];
    struct iovec all = {area, sizeof area};
    int status;
    pid_t child = fork();
    if (child == 0) _exit(ptrace(PTRACE_TRACEME, 0, 0, 0) == 0 && raise(SIGUSR1) == 0 ? 0 : 1);
    if (child < 0 || waitpid(child, &status, 0) < 0 || !WIFSTOPPED(status)) return 1;
    if (ptrace(PTRACE_GETREGSET, child, (void *)NT_X86_XSTATE, &all) < 0 || ptrace(PTRACE_SINGLESTEP, child, 0, 0) < 0) return 1;
    waitpid(child, &status, 0);
    return kill(child, SIGKILL) == 0 && WIFSTOPPED(status) ? 0 : 1;
}
"""


@pytest.mark.skipif(sys.platform != "linux" or platform.machine() != "x86_64", reason="SSE is x86-64's, and its registers are read as Linux shows them")
def test_no_transitions(vector_tier: str, tmp_path: Path) -> None:
    if lacks(compiler(), (), PROBE):
        pytest.skip("this system lets no process step through another and look at its registers (ptrace)")
    stepping = build(tmp_path / "transitions", [ROOT / "tests/transitions.c"], "-O1")
    command = [str(stepping), sys.executable, "-c", PROGRAM, str(rank_file(tmp_path)), vector_tier]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    *places, steps = done.stdout.splitlines()
    assert places == []
    assert int(steps.split()[0]) > 10_000
