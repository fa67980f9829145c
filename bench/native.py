"""The C of this folder: compiled when the benchmark runs, with the machine's own compiler, and called through ctypes.

    TableDfa(program).spans(b"it's", buffers)         # array([2, 4], dtype=uint32), a view of a buffer made beforehand
    Pcre2Jit([r"\\p{L}+|\\s+"]).count(data, buffers)
    clock()                                           # cycles a second, or Unavailable

Whatever cannot be had here (no compiler, no pcre2.h, a pattern that the engine does not take) is an Unavailable that says why, and
costs one row of the tables. Rejected: an extension module (the benchmark would need building where bitlex needs none).
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import tempfile
import time
from array import array
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from bitlex.generator import LimitError, Limits, Program
from bitlex.generator.dfa import Dfa, determinize, minimize
from bitlex.generator.pack import two_stage

HERE = Path(__file__).resolve().parent
Ends = npt.NDArray[np.uint32]


class Unavailable(Exception):
    """An engine that cannot be measured here; the message is the reason."""


def compiler() -> str | None:
    """The C compiler: $CC, or the first of the usual names."""
    wanted = os.environ.get("CC")
    return next((found for name in ([wanted] if wanted else ["cc", "gcc", "clang"]) if (found := shutil.which(name))), None)


@cache
def library(name: str, *flags: str) -> ctypes.CDLL:
    """The shared library of one C file of this folder. Its file is gone when it comes back: the process keeps what it has loaded."""
    found = compiler()
    if found is None:
        raise Unavailable("no C compiler")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        made = Path(folder, name).with_suffix(".so")
        command = [found, "-O3", "-std=gnu99", "-shared", "-fPIC", str(HERE / name), "-o", str(made), *flags]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            said = next(iter(done.stderr.splitlines()), "no message").replace(f"{HERE}{os.sep}", "")  # reports are published
            raise Unavailable(f"{name} does not compile: {said}"[:160])
        return ctypes.CDLL(str(made))


class Buffers:
    """Room for the ends of `size` pieces, twice: a step reads one and writes the other. Written to before anything is timed."""

    def __init__(self, size: int) -> None:
        self.pair = (np.ones(size + 1, np.uint32), np.ones(size + 1, np.uint32))


class Passes:
    """Steps in C that run one after another, each over the pieces of the one before."""

    steps: Sequence[Any]
    function: Any

    def run(self, data: bytes, buffers: Buffers, keep: bool) -> tuple[int, Ends]:
        source, target = buffers.pair
        source[0], count = len(data), 1 if data else 0
        for number, step in enumerate(self.steps):
            last = number + 1 == len(self.steps)
            into = target.ctypes.data if keep or not last else None
            count = self.function(step, data, source.ctypes.data, count, into)
            if count == ctypes.c_size_t(-1).value:
                raise Unavailable("it gave up on this text, or matches the empty string, which is not done here")
            source, target = target, source
        return count, source[:count]

    def buffers(self, data: bytes, keep: bool) -> Buffers:
        return Buffers(len(data) if keep or len(self.steps) > 1 else 1)

    def count(self, data: bytes, buffers: Buffers) -> int:
        return self.run(data, buffers, keep=False)[0]

    def spans(self, data: bytes, buffers: Buffers) -> Ends:
        return self.run(data, buffers, keep=True)[1]


class Step(ctypes.Structure):
    """`table_dfa` of table_dfa.c."""

    _fields_ = (
        ("next", ctypes.c_void_p), ("stage1", ctypes.c_void_p), ("stage2", ctypes.c_void_p),
        ("cells", ctypes.c_uint32), ("start", ctypes.c_uint32), ("unmatched", ctypes.c_uint32), ("shift", ctypes.c_uint32),
        ("ascii", ctypes.c_uint8 * 128),
    )  # fmt: skip


class TableDfa(Passes):
    """The steps of a program, each as one table."""

    def __init__(self, program: Program) -> None:
        loaded = library("table_dfa.c")
        shift, wide, stage1, stage2 = two_stage(program.raw)
        blocks = array("H", [low | high << 8 for low, high in zip(stage1[::2], stage1[1::2], strict=True)] if wide else list(stage1))
        ascii_cells = [stage2[(blocks[c >> shift] << shift) + (c & (1 << shift) - 1)] for c in range(128)]
        self.alive: list[Any] = [blocks, stage2]  # what the structures point into
        self.size = len(blocks) * blocks.itemsize + len(stage2)
        self.steps = []
        for plan, nfa in zip(program.plans, program.nfas, strict=True):
            if plan.behavior != "isolated" or plan.prefix or plan.bytewise:
                raise Unavailable("table_dfa.c only isolates matches")
            table, start, unmatched = rows(deterministic(nfa))
            step = Step(table.buffer_info()[0], blocks.buffer_info()[0], ctypes.cast(ctypes.c_char_p(stage2), ctypes.c_void_p),
                        nfa.cells, start, unmatched, shift, (ctypes.c_uint8 * 128)(*ascii_cells))  # fmt: skip
            self.alive.append(table)
            self.size += len(table) * table.itemsize
            self.steps.append(ctypes.byref(step))
        self.function = loaded.table_dfa_pass
        self.function.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p]
        self.function.restype = ctypes.c_size_t


def deterministic(nfa: Any) -> Dfa:
    try:
        dfa = minimize(determinize(nfa, Limits().started()), Limits().started())
    except LimitError as error:
        raise Unavailable(f"no table: {error}") from None
    if len(set(dfa.starts)) > 1:
        raise Unavailable("no table: a match depends on the character before it")
    if any(dfa.matched[dfa.starts[0]]):
        raise Unavailable("no table: it matches the empty string")
    return dfa


def rows(dfa: Dfa) -> tuple[array[int], int, int]:
    """(table, start, unmatched) as table_dfa.c wants them: a row for each state and whether a match ended on the way into it."""
    width = len(dfa.next[0])
    entered = {(state, hit) for states, hits in zip(dfa.next, dfa.matched, strict=True) for state, hit in zip(states, hits, strict=True)}
    alive = sorted({(state, hit) for state, hit in entered if state >= 0} | {(dfa.starts[0], False)}, key=lambda one: (not one[1], one[0]))
    order = [(-1, False), (-1, True), *alive]
    if len(order) * width > 0xFFFF:
        raise Unavailable("no table: states do not fit in 16 bits")
    number = {one: at * width for at, one in enumerate(order)}
    table = array("H", [0] * (2 * width))
    for state, _ in alive:
        table.extend(number[one] for one in zip(dfa.next[state], dfa.matched[state], strict=True))
    return table, number[dfa.starts[0], False], (2 + sum(hit for _, hit in alive)) * width


class Pcre2Jit(Passes):
    """Patterns as PCRE2 reads them, which is not always how their own engine does."""

    def __init__(self, patterns: Sequence[str]) -> None:
        loaded = library("pcre2_jit.c", "-lpcre2-8")
        loaded.pcre2_open.restype = ctypes.c_void_p
        loaded.pcre2_open.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]
        version = ctypes.create_string_buffer(64)
        loaded.pcre2_version(version)
        self.version = version.value.decode().split(" ")[0]
        self.steps, error = [], ctypes.create_string_buffer(120)
        for pattern in patterns:
            code = pattern.encode()
            opened = loaded.pcre2_open(code, len(code), error, len(error))
            if not opened:
                raise Unavailable(f"PCRE2 {self.version} does not take the pattern: {error.value.decode()}")
            self.steps.append(opened)
        self.function = loaded.pcre2_pass
        self.function.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p]
        self.function.restype = ctypes.c_size_t


def clock() -> float:
    """Cycles a second, now: the best of seven chains of a million additions."""
    loaded = library("clock.c")
    loaded.clock_chain.argtypes = [ctypes.c_uint64, ctypes.c_uint64]
    taken = []
    for _ in range(7):
        start = time.perf_counter()
        loaded.clock_chain(10_000, 3)
        taken.append(time.perf_counter() - start)
    return 1_000_000 / min(taken)
