"""Every way that we can split a text with a compiled lexer, from the definition of its automata to the tables as shipped.

    for name, engine in engines(program).items():
        engine("I'm")                   # [(0, 1), (1, 3)] each time

The first is nothing but ordered choice with recursion on the NFA; each of the next trusts one more stage of the generator.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import generator
from generator import Program
from generator.bimachine import Bimachine
from generator.bytelevel import byte_view
from generator.nfa import Nfa
from generator.pack import Tables, pack
from generator.resolve import sets
from generator.split import DROP, START, Split
from generator.steps import Plan
from oracle import Span, apply, find_iter

Engine = Callable[[str], list[Span]]
ROOT = Path(__file__).resolve().parent.parent


def engines(program: Program) -> dict[str, Engine]:
    """All of them, the slowest first."""
    tables = pack(program)
    scan = load_scan().Machine(**arguments(tables))
    found: dict[str, Engine] = {
        "nfa": Backtracking(program),
        "machine": Machines(program),
        "bimachines": PieceByPiece(program),
        "stages": Staged(program),
        "packed": Packed(tables),
        "python": reading(scan, program),
    }
    if (native := load_native()) is not None:
        found["native"] = reading(native.Machine(**arguments(tables)), program)
    return found


def reading(machine: Any, program: Program) -> Engine:
    """A lexer with steps behind a ByteLevel takes bytes; the offsets are of bytes then, here and in the oracle."""
    if program.continuation:
        return lambda text: list(machine.iterate(text.encode()))
    return lambda text: list(machine.iterate(text))


def fastest(program: Program) -> Engine:
    """The native engine where it is installed, else the pure one."""
    native = load_native() or load_scan()
    return reading(native.Machine(**arguments(pack(program))), program)


def compiled_alone(one: Plan, monkeypatch: pytest.MonkeyPatch) -> Program:
    """The machine of a plan, whatever else the engine may read its pattern as."""
    with monkeypatch.context() as patch:
        patch.setattr(generator, "plans", lambda *_: (replace(one, other=None, optimized=None),))
        return generator.compile_pattern(one.pattern)


def load_scan() -> ModuleType:
    spec = importlib.util.spec_from_file_location("scan_template", ROOT / "generator" / "templates" / "scan.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def load_native() -> Any:
    try:
        return importlib.import_module("bitlex._native")
    except ImportError:
        return None


def arguments(tables: Tables) -> dict[str, Any]:
    """The keyword arguments of Machine, as the emitted modules give them."""
    stages = tuple(
        (s.columns, s.column_count, s.label_count, s.backward_next, s.backward_label, s.backward_end, s.forward_next, s.output)
        for s in tables.stages
    )
    return {"shift": tables.shift, "stage1": tables.stage1, "wide": tables.wide, "stage2": tables.stage2, "cells": tables.cells,
            "stages": stages, "drops": tables.drops, "continuation": tables.continuation}  # fmt: skip


def spans_of(letters: Sequence[int]) -> list[Span]:
    """Letters -> pieces; and the invariant that no piece begins with CONTINUE."""
    pieces: list[Span] = []
    open_at = None
    for at, letter in enumerate([*letters, DROP]):
        if letter in (START, DROP):
            if open_at is not None:
                pieces.append((open_at, at))
            open_at = at if letter == START else None
        else:
            assert open_at is not None, f"letter {at} continues no piece: {letters}"
    return pieces


def symbols(text: str, lookup: Sequence[int], continuation: Sequence[int]) -> list[int]:
    """The cell of each code point; with `continuation`, also one for each further byte of it."""
    if not continuation:
        return [lookup[ord(c)] for c in text]
    return [cell for c in text for cell in (lookup[ord(c)], *(continuation[b - 0x80] for b in c.encode()[1:]))]


class Raw:
    """What engines over the raw cells share: each step on each piece, with the space that a step may read first."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.lookup = program.raw.lookup()
        of_bytes = [points for plan in program.plans if plan.bytewise for points in sets(plan.tree)]
        self.continuation = byte_view(program.raw, of_bytes)[1] if of_bytes else ()

    def __call__(self, text: str) -> list[Span]:
        cells = symbols(text, self.lookup, self.continuation)
        pieces = [(0, len(cells))] if cells else []
        for number in range(len(self.program.plans)):
            pieces = [(a + s, a + e) for a, b in pieces for s, e in self.step(number, cells[a:b])]
        return pieces

    def step(self, number: int, cells: list[int]) -> list[Span]:
        space, plan = self.lookup[0x20], self.program.plans[number]
        # A step over code points does not see the bytes inside them.
        places = [at for at, cell in enumerate(cells) if plan.bytewise or cell < self.program.raw.count]
        seen = [cells[at] for at in places]
        added = 1 if plan.prefix and seen[0] != space else 0
        places.append(len(cells))
        pieces = [(places[max(a - added, 0)], places[b - added]) for a, b in self.cut(number, [space] * added + seen)]
        return [(a, b) for a, b in pieces if a < b]

    def cut(self, number: int, cells: list[int]) -> list[Span]:
        raise NotImplementedError


class Backtracking(Raw):
    """Ordered choice by recursion: what the NFA means."""

    def cut(self, number: int, cells: list[int]) -> list[Span]:
        plan, nfa = self.program.plans[number], self.program.nfas[number]

        def search(at: int, holds: bool) -> Span | None:
            for start in range(at, len(cells) + 1):
                for _, end in run(nfa, cells, nfa.start, start, at if holds else -1):
                    return start, end
            return None

        return apply(find_iter(search, len(cells), plan.empty), len(cells), plan.behavior, plan.invert)


def run(nfa: Nfa, cells: list[int], at: int, here: int, searched: int) -> Iterator[tuple[int, int]]:
    """(-1, end) for each match in order of preference; (instruction, end) for each way to leave the innermost atomic group."""
    i = nfa.code[at]
    next_cell = cells[here] if here < len(cells) else nfa.cells
    match i.op:
        case "CHAR":
            if here < len(cells) and i.mask >> next_cell & 1:
                yield from run(nfa, cells, i.next, here + 1, searched)
        case "SPLIT":
            yield from run(nfa, cells, i.next, here, searched)
            yield from run(nfa, cells, i.other, here, searched)
        case "PEEK":
            if i.mask >> next_cell & 1:
                yield from run(nfa, cells, i.next, here, searched)
        case "BEHIND":
            if i.mask >> (cells[here - 1] if here else nfa.cells) & 1:
                yield from run(nfa, cells, i.next, here, searched)
        case "LOOK":
            if (next(run(nfa, cells, i.other, here, searched), None) is not None) != i.negative:
                yield from run(nfa, cells, i.next, here, searched)
        case "SEARCH":
            if here == searched:
                yield from run(nfa, cells, i.next, here, searched)
        case "ENTER":
            for leave, end in run(nfa, cells, i.next, here, searched):
                yield from run(nfa, cells, leave, end, searched)
                return
        case "EXIT":
            yield i.next, here
        case "MATCH":
            yield -1, here


class Machines(Raw):
    """The machine of each step before it is made canonical: suffix sets from the right, then states from the left."""

    def __init__(self, program: Program) -> None:
        super().__init__(program)
        self.machines = [
            Split(nfa, plan.behavior, plan.invert, plan.empty, plan.pattern)
            for plan, nfa in zip(program.plans, program.nfas, strict=True)
        ]
        # A step hangs on what it is given alone, and is worked out once: short texts take the same ones again and again.
        self.ways = [(machine.start, machine.end, cache(machine.back), cache(machine.step)) for machine in self.machines]

    def cut(self, number: int, cells: list[int]) -> list[Span]:
        state: Any
        state, end, back, step = self.ways[number]
        sets = [end]
        for cell in reversed(cells):
            sets.append(back(sets[-1], cell))
        sets.reverse()
        letters = []
        for at, cell in enumerate(cells):
            state, letter = step(state, cell, sets[at + 1])
            letters.append(letter)
        return spans_of(letters)


class PieceByPiece(Raw):
    """The canonical bimachine of each step on each piece; the space before a text is already inside it."""

    def step(self, number: int, cells: list[int]) -> list[Span]:
        return spans_of(self.program.splits[number].letters(cells))


class Staged:
    """The stages over merged cells, each later one reading the letters of the one before."""

    def __init__(self, program: Program) -> None:
        self.program, self.lookup = program, program.cells.lookup()

    def __call__(self, text: str) -> list[Span]:
        cells = symbols(text, self.lookup, self.program.continuation)
        return spans_of(cascade(self.program.stages, cells, self.program.cells.count))


def cascade(stages: Sequence[Bimachine], cells: list[int], count: int) -> list[int]:
    letters = stages[0].letters(cells)
    for stage in stages[1:]:
        ends = [at + 1 == len(cells) or letters[at + 1] != 0 for at in range(len(cells))]
        letters = stage.letters([cell + count * (letter + 3 * end) for cell, letter, end in zip(cells, letters, ends, strict=True)])
    return letters


class Packed(Sequence[int]):
    """The packed bytes, read as their layout says and in no cleverer way."""

    def __init__(self, tables: Tables) -> None:
        self.tables = tables

    @staticmethod
    def word(data: bytes, at: int) -> int:
        return data[2 * at] | data[2 * at + 1] << 8

    def __getitem__(self, c: int) -> int:  # type: ignore[override]
        t = self.tables
        block = self.word(t.stage1, c >> t.shift) if t.wide else t.stage1[c >> t.shift]
        return t.stage2[(block << t.shift) + (c & ((1 << t.shift) - 1))]

    def __len__(self) -> int:
        return 0x110000

    def __call__(self, text: str) -> list[Span]:
        cells = symbols(text, self, self.tables.continuation)
        letters: list[int] = []
        for number, stage in enumerate(self.tables.stages):
            read = cells
            if number:
                ends = [at + 1 == len(cells) or letters[at + 1] != 0 for at in range(len(cells))]
                read = [c + self.tables.cells * (x + 3 * end) for c, x, end in zip(cells, letters, ends, strict=True)]
            r, labels = stage.backward_end, []
            for symbol in reversed(read):
                at = r + stage.columns[symbol]
                labels.append(self.word(stage.backward_label, at))
                r = self.word(stage.backward_next, at)
            f, letters = 0, []
            for label in reversed(labels):
                letters.append(stage.output[f + label])
                f = self.word(stage.forward_next, f + label)
        return spans_of(letters)
