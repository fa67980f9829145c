"""No SSE instruction is executed while the upper halves of vector registers are in use: Intel's processors take a hundred nanoseconds for
each change, from Ice Lake on, which is more than a short text takes. Compilers see to that, but not always (bitlex_kernel.h, bpe_encode.c).

What is called is stepped through, an instruction at a time, by `transitions.c`.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

import bitlex
from compilers import ROOT, build
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


@pytest.mark.skipif(sys.platform != "linux" or platform.machine() != "x86_64", reason="only x86-64 has such instructions, and Linux such registers")
@pytest.mark.parametrize("tier", ["avx2", "avx512"])
def test_no_transitions(tier: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BITLEX_TIER", tier)
    if bitlex.lexer("cl100k").tier != tier:
        pytest.skip(f"no {tier} here")
    stepping = build(tmp_path / "transitions", [ROOT / "tests/transitions.c"], "-O1")
    command = [str(stepping), sys.executable, "-c", PROGRAM, str(rank_file(tmp_path)), tier]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300, env={**os.environ, "BITLEX_TIER": tier})
    if done.returncode == 2:
        pytest.skip(f"nothing can be stepped through here: {done.stderr}")
    assert done.returncode == 0, done.stderr
    *places, steps = done.stdout.splitlines()
    assert places == []
    assert int(steps.split()[0]) > 10_000
