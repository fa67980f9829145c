"""Tables that nobody emitted, given to the C extension: each is refused, or is a machine that does what its tables say on any text.

Hypothesis takes the arguments of a random machine and spoils some of them: numbers at the limits of their types, a byte in the middle of
a table, tables cut off or turned round, objects of other types. What `Machine` accepts is run and compared with the definition in
test_native.py; what it does not may be a ValueError or a TypeError (or an OverflowError, which is how Python itself refuses an int that
no C int holds), and nothing else. BITLEX_MISUSES says how many (default 1,500, the same ones each time).
"""

from __future__ import annotations

import array
import os
import random
import struct
from dataclasses import replace
from itertools import accumulate
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from test_native import KINDS, Stage, Tables, decode, define, native, random_str, random_tables

BASES = [random_tables(random.Random(number), stages=1 + number % 3, drops=number % 2 == 0).arguments() for number in range(12)]
UNSIGNED = 2**32  # Python takes the numbers of a stage modulo this
TIERS = ("portable", "neon", "avx2", "avx512")  # at most
EDGES = [0, 1, 2, 3, 20, 21, 254, 255, 256, 257, 1000, 65535, 65536, 65537, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**63, 2**64]
NUMBERS = st.one_of(st.sampled_from([*EDGES, *(-edge for edge in EDGES)]), st.integers(-5, 300))
OBJECTS = st.one_of(st.none(), st.booleans(), st.floats(), st.text(max_size=3), st.binary(max_size=9), st.binary(max_size=9).map(bytearray), st.just(()), NUMBERS)

# A change says what is done to one argument, and is small to print: (name, value).
CHANGES = st.one_of(
    st.tuples(st.just("object"), OBJECTS),
    st.tuples(st.just("number"), NUMBERS),
    st.tuples(st.just("more"), st.sampled_from([-2, -1, 1, 2, 65536, 2**32, -(2**32)])),
    *[st.tuples(st.just("entry"), st.tuples(st.integers(0, 2**20), values)) for values in [st.integers(0, 9), st.integers(0, 255)] * 3],
    *[st.tuples(st.just(name), st.integers(0, 2**20)) for name in ("cut", "longer", "inserted", "reversed", "repeated", "empty")],
)
PLACES = st.one_of(
    st.sampled_from(["shift", "stage1", "wide", "stage2", "cells", "drops", "continuation", "stages"]),
    st.tuples(st.integers(0, 2), st.integers(-1, 7)),  # a field of a stage, or (-1) the stage
)


def changed(value: Any, name: str, how: Any) -> Any:
    """The value after a change; as it was where the change is for values of another type."""
    if name == "object" or (name == "number" and isinstance(value, int)):
        return how
    if name == "more" and isinstance(value, int):
        return value + how
    if not isinstance(value, (bytes, tuple)) or not value:
        return value
    table: Any = value  # bytes or a tuple
    match name:
        case "entry" if isinstance(value, bytes):
            at = how[0] % len(value)
            return value[:at] + bytes((how[1],)) + value[at + 1 :]
        case "cut":
            return table[: how % len(table)]
        case "longer":
            return table + table[: 1 + how % 8]
        case "inserted":
            at = how % len(table)
            return table[:at] + table[at : at + 1] + table[at:]
        case "reversed":
            return table[::-1]
        case "repeated":
            return table * (how % 1000 if len(table) < 50 else 2)
        case "empty":
            return table[:0]
    return value


def spoilt(base: int, changes: list[tuple[Any, tuple[str, Any]]]) -> dict[str, Any]:
    """The arguments of a machine after all changes."""
    found = dict(BASES[base])
    for place, change in changes:
        if isinstance(place, str):
            found[place] = changed(found.get(place, bytes(64)), *change)
            continue
        stages, (number, field) = found["stages"], place
        if not isinstance(stages, tuple) or not stages:
            continue
        number %= len(stages)
        stage = stages[number]
        if field < 0 or not isinstance(stage, tuple) or field >= len(stage):
            stage = changed(stage, *change)
        else:
            stage = (*stage[:field], changed(stage[field], *change), *stage[field + 1 :])
        found["stages"] = (*stages[:number], stage, *stages[number + 1 :])
    return found


def meaning(given: dict[str, Any]) -> Tables:
    """What accepted arguments say, for `define`. AssertionError for what should not have been accepted."""

    def words(data: bytes, row: int = 1) -> list[int]:
        values = [value for (value,) in struct.iter_unpack("<H", data)]
        assert all(value % row == 0 for value in values)
        return [value // row for value in values]

    stages = []
    for columns, *counts, back, label, last, ahead, output in given["stages"]:
        count, labels, end = (number % UNSIGNED for number in (*counts, last))
        assert end % count == 0
        stages.append(Stage([*columns], count, labels, words(back, count), words(label), end // count, words(ahead, labels), [*output]))
    stage1 = words(given["stage1"]) if given["wide"] else [*given["stage1"]]
    return Tables(int(given["shift"]), stage1, [*given["stage2"]], int(given["cells"]), tuple(stages), bool(given["drops"]), bool(given["wide"]))


def run(machine: Any, text: str | bytes, pairs: list[tuple[int, int]], drops: bool) -> None:
    """Every method gives these pieces."""
    offsets = [offset for pair in pairs for offset in pair]
    assert list(machine.iterate(text)) == pairs
    assert machine.count(text) == len(pairs)
    assert array.array("i", bytes(machine.pairs(text))).tolist() == offsets
    assert machine.split(text) == [text[start:end] for start, end in pairs]
    assert drops or array.array("i", bytes(machine.ends(text))).tolist() == offsets[1::2]


accepted = 0


@settings(max_examples=int(os.environ.get("BITLEX_MISUSES", "1500")), derandomize=True, database=None, deadline=None)
@given(
    base=st.integers(0, len(BASES) - 1), changes=st.lists(st.tuples(PLACES, CHANGES), max_size=4), tier=st.sampled_from(TIERS),
    number=st.integers(0, 2**16),
)  # fmt: skip
def spoil(base: int, changes: list[tuple[Any, tuple[str, Any]]], tier: str, number: int) -> None:
    global accepted
    arguments = spoilt(base, changes)
    try:
        machine = native.Machine(**arguments, tier=tier)
    except (ValueError, TypeError, OverflowError):
        return
    accepted += 1
    tables = meaning(arguments)
    chance = random.Random(number)
    text = random_str(chance, chance.choice(list(KINDS)), chance.choice([0, 1, 7, 60, 500, 3000]))
    data = text.encode("utf-8", "surrogatepass") + bytes(chance.choices(range(256), k=chance.randint(0, 9)))
    points, units = decode(data)
    if arguments.get("continuation"):  # it reads bytes: those inside a code point have cells of their own
        with pytest.raises(ValueError, match="encode the text"):
            machine.count(text)
        by_cell = replace(tables, shift=0, stage1=list(range(256)), stage2=list(range(256)))
        cells = [c for p, unit in zip(points, units, strict=True) for c in (cell(tables, p), *(arguments["continuation"][b - 0x80] for b in unit[1:]))]
        run(machine, data, define(by_cell, cells), tables.drops)
        return
    run(machine, text, define(tables, [ord(c) for c in text]), tables.drops)
    at = [0, *accumulate(map(len, units))]
    run(machine, data, [(at[start], at[end]) for start, end in define(tables, points)], tables.drops)


def cell(tables: Tables, point: int) -> int:
    return tables.stage2[(tables.stage1[point >> tables.shift] << tables.shift) + (point & ((1 << tables.shift) - 1))]


def test_tables_are_refused_or_are_a_machine() -> None:
    before = accepted
    spoil()
    assert accepted - before > 100
