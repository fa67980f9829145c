"""What was emitted, read back: tables from the Python or the C source of a lexer, and the classes of code points they speak of.

    read_c(Path("generated/c/cl100k.c").read_text())      # the Tables that the C compiler would see

Invariant: nothing is taken from memory, and tables that are no machine are a ValueError.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from .bimachine import Bimachine
from .bytelevel import byte_alphabet
from .codeset import CodeSet
from .compare import readable
from .pack import StageTables, Tables
from .resolve import sets
from .steps import Plan

__all__ = ["Symbol", "bimachine", "cells", "ordered", "read_c", "read_python", "runs", "symbols_of"]


@dataclass(frozen=True)
class Symbol:
    """A class of code points, or of bytes 80..BF: an example, its cell, how many bytes follow (-1: one of those), its sets by step."""

    text: bytes
    cell: int
    inside: int
    sets: tuple[int, ...]


def symbols_of(planned: tuple[Plan, ...], tables: Tables) -> tuple[Symbol, ...]:
    """Every class of code points that the sets of the steps and the emitted cells tell apart, with its most readable member."""
    lookup = cells(tables)
    bytewise, alphabet = any(plan.bytewise for plan in planned), byte_alphabet()
    toggles: dict[int, list[tuple[int, int]]] = {ord(c): [] for c in " azA1.'\n"}
    for start, _ in runs(tables, lookup):
        toggles.setdefault(start, [])
    for number, plan in enumerate(planned):
        for bit, points in enumerate(() if plan.bytewise else ordered(plan)):
            for low, high in points.ranges:
                toggles.setdefault(low, []).append((number, 1 << bit))
                toggles.setdefault(high + 1, []).append((number, 1 << bit))
    if bytewise:  # where the first byte changes
        for start in [*range(0x80), *range(0x80, 0x800, 0x40), *range(0x800, 0x10000, 0x800), *range(0x10000, 0x110000, 0x10000)]:
            toggles.setdefault(start, [])

    def shown(byte: int) -> dict[int, int]:
        return {n: sum(1 << bit for bit, points in enumerate(ordered(plan)) if alphabet[byte] in points) for n, plan in of_bytes}

    of_bytes = [(number, plan) for number, plan in enumerate(planned) if plan.bytewise]
    now, found = [0] * len(planned), dict[tuple[int, int, tuple[int, ...]], int]()
    for start in sorted(toggles):
        for number, bit in toggles[start]:
            now[number] ^= bit
        if start < len(lookup):
            first = chr(start).encode("utf-8", "surrogatepass")
            by_byte = shown(first[0]) if bytewise else {}
            key = lookup[start], len(first) - 1 if bytewise else 0, tuple(by_byte.get(n, mask) for n, mask in enumerate(now))
            if key not in found or readable(start) < readable(found[key]):
                found[key] = start
    symbols = [Symbol(chr(example).encode("utf-8", "surrogatepass"), *key) for key, example in found.items()]
    for byte, cell in enumerate(tables.continuation, 0x80):
        by_byte = shown(byte)
        symbols.append(Symbol(bytes((byte,)), cell, -1, tuple(by_byte.get(n, 0) for n in range(len(planned)))))
    return tuple(symbols)


@lru_cache(maxsize=256)
def ordered(plan: Plan) -> tuple[CodeSet, ...]:
    """The sets of a step, and U+0020 if it puts that before every text."""
    return tuple(sorted(sets(plan.tree) | ({CodeSet.of(" ")} if plan.prefix else set()), key=lambda points: points.ranges))


def words(data: bytes) -> list[int]:
    return [low | high << 8 for low, high in zip(data[::2], data[1::2], strict=True)]


def cells(tables: Tables) -> bytes:
    """The cell of every code point."""
    blocks = words(tables.stage1) if tables.wide else tables.stage1
    found = b"".join(tables.stage2[block << tables.shift : (block + 1) << tables.shift] for block in blocks)
    if len(found) != 0x110000 or found.translate(None, bytes(range(tables.cells))):
        raise ValueError("the look-up does not give every code point a cell")
    return found


def runs(tables: Tables, lookup: bytes) -> Iterator[tuple[int, int]]:
    """The first code point, and the one behind the last, of each run of one cell. (A back-reference would take 400 times as long.)"""
    return map(re.Match.span, re.finditer(b"|".join(rb"\x%02x+" % cell for cell in range(tables.cells)), lookup))


def bimachine(stage: StageTables) -> tuple[Bimachine, int]:
    """The automata of a stage, and its state for the end of the text; ValueError for offsets that are no states."""

    def rows(data: Sequence[int], width: int, scale: int, bound: int) -> tuple[tuple[int, ...], ...]:
        if any(value % scale or value // scale >= bound for value in data) or len(data) % width:
            raise ValueError("an entry of a table names no state, label or letter")
        return tuple(tuple(value // scale for value in data[at : at + width]) for at in range(0, len(data), width))

    c, g, r, f = stage.column_count, stage.label_count, stage.backward_states, stage.forward_states
    found = Bimachine(
        tuple(stage.columns), rows(words(stage.backward_next), c, c, r), rows(words(stage.backward_label), c, 1, g),
        rows(words(stage.forward_next), g, g, f), rows(stage.output, g, 1, 3),
    )  # fmt: skip
    end = rows([stage.backward_end], 1, c, r)[0][0]
    if max(stage.columns) >= c or (len(found.backward), len(found.labels), len(found.forward), len(found.output)) != (r, r, f, f):
        raise ValueError("a table has not the size that it says")
    return found, end


def read_python(source: str) -> Tables:
    """The tables of an emitted Python module."""
    values: dict[str, object] = {}
    exec(compile(source, "emitted", "exec"), values)
    return from_arguments(str(values["NAME"]), values["TABLES"])  # type: ignore[arg-type]


def from_arguments(name: str, given: dict[str, Any]) -> Tables:
    stages = [
        StageTables(columns, c, g, len(back) // 2 // c, len(output) // g, back, labels, end, forward, output)
        for columns, c, g, back, labels, end, forward, output in given["stages"]
    ]
    return Tables(name, stages=tuple(stages), **{key: value for key, value in given.items() if key != "stages"})


def read_c(source: str) -> Tables:
    """The tables of an emitted C file: its arrays, its list of stages and its machine."""
    arrays = {
        name: b"".join(int(number).to_bytes(int(bits) // 8, "little") for number in re.findall(r"\d+", body))
        for bits, name, body in re.findall(r"static const uint(8|16)_t (\w+)\[\] = \{(.*?)\};", source, re.DOTALL)
    }
    (listed,) = re.findall(r"static const bitlex_stage stages\[\] = \{(.*?)\n\};", source, re.DOTALL)
    stages = []
    for line in re.findall(r"\{(.*?)\}", listed, re.DOTALL):
        c, g, r, f, *names, end = (field.strip() for field in line.split(","))
        columns, back, labels, forward, output = (arrays[name] for name in names)
        stages.append(StageTables(columns, int(c), int(g), int(r), int(f), back, labels, int(end), forward, output))
    (fields,) = re.findall(r"const bitlex_machine bitlex_\w+ = \{(.*?)\};", source, re.DOTALL)
    _, count, shift, first, second, number, drops, _, name, inside, _ = (field.strip() for field in fields.split(",") if field.strip())
    if int(number) != len(stages):
        raise ValueError("the machine has not as many stages as it says")
    wide = re.search(rf"uint16_t {first}\[\]", source) is not None
    further = b"" if inside == "NULL" else arrays[inside]
    return Tables(name.strip('"'), int(shift), wide, arrays[first], arrays[second], int(count), tuple(stages), drops == "1", further)
