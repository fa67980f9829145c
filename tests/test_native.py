"""The C loop against the definition of a lexer, on random machines.

In: machines drawn at random (also such as forget nothing, where every shortcut of the C code fails) and texts that lie
around the borders of its blocks. The definition is `define` below: two loops over lists, as in the text books. What is
compared is what a user sees: pieces, ends, pairs, counts and iteration, for every kind of str and bytes-like object.
native_harness.c does the same inside C, with small blocks and under sanitizers.
"""

from __future__ import annotations

import array
import gc
import mmap
import random
import signal
import struct
import subprocess
import sys
import sysconfig
import threading
import weakref
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from compilers import ADDRESS, ROOT, THREAD, C, build, compiler, run
from overwriting import overwritten

native = pytest.importorskip("bitlex._native", reason="the C extension was not built")

N: int = native.BLOCK
LOOPS = (C / "bitlex.c", C / "bitlex_lanes.c")


@dataclass(frozen=True)
class Stage:
    columns: list[int]
    column_count: int
    label_count: int
    backward_next: list[int]  # here and below: rows of entries, states not premultiplied
    backward_label: list[int]
    backward_end: int
    forward_next: list[int]
    output: list[int]


@dataclass(frozen=True)
class Tables:
    shift: int
    stage1: list[int]
    stage2: list[int]
    cells: int
    stages: tuple[Stage, ...]
    drops: bool
    wide: bool

    def arguments(self) -> dict[str, Any]:
        def words(values: list[int], row: int = 1) -> bytes:
            return struct.pack(f"<{len(values)}H", *(value * row for value in values))

        return {
            "shift": self.shift,
            "stage1": words(self.stage1) if self.wide else bytes(self.stage1),
            "wide": self.wide,
            "stage2": bytes(self.stage2),
            "cells": self.cells,
            "stages": tuple(
                (
                    bytes(s.columns),
                    s.column_count,
                    s.label_count,
                    words(s.backward_next, s.column_count),
                    words(s.backward_label),
                    s.backward_end * s.column_count,
                    words(s.forward_next, s.label_count),
                    bytes(s.output),
                )
                for s in self.stages
            ),
            "drops": self.drops,
        }

    def machine(self) -> Any:
        return native.Machine(**self.arguments())


def define(tables: Tables, points: list[int]) -> list[tuple[int, int]]:
    """The pieces of a text, as pairs of code point numbers."""
    n = len(points)
    low = (1 << tables.shift) - 1
    cells = [tables.stage2[(tables.stage1[p >> tables.shift] << tables.shift) + (p & low)] for p in points]
    letters: list[int] = []
    for number, stage in enumerate(tables.stages):
        symbols = cells
        if number > 0:
            starts = [i + 1 == n or letters[i + 1] != 0 for i in range(n)]
            symbols = [cells[i] + tables.cells * (letters[i] + 3 * starts[i]) for i in range(n)]
        labels = [0] * n
        state = stage.backward_end
        for i in reversed(range(n)):
            at = state * stage.column_count + stage.columns[symbols[i]]
            labels[i], state = stage.backward_label[at], stage.backward_next[at]
        letters, state = [], 0
        for label in labels:
            at = state * stage.label_count + label
            letters.append(stage.output[at])
            state = stage.forward_next[at]
    pieces: list[tuple[int, int]] = []
    start: int | None = None
    for i, letter in enumerate([*letters, 2]):
        if letter != 0 and start is not None:
            pieces.append((start, i))
            start = None
        if i < n and (letter == 1 or (i == 0 and not tables.drops)):
            start = i
    return pieces


def next_states(rng: random.Random, states: int, columns: int) -> list[int]:
    """Random, or every column a permutation (the automaton never forgets), or every column a step of a counter."""
    kind = rng.choice(["random", "random", "permutation", "counter", "nearly"])
    table = [[0] * columns for _ in range(states)]
    for column in range(columns):
        order = rng.sample(range(states), states)
        if kind == "counter":
            step = rng.randrange(states)
            order = [(state + step) % states for state in range(states)]
        if kind == "random" or (kind == "nearly" and rng.random() < 0.2):
            order = [rng.randrange(states) for _ in range(states)]
        for state in range(states):
            table[state][column] = order[state]
    return [entry for row in table for entry in row]


def random_tables(rng: random.Random, stages: int = 1, drops: bool = False) -> Tables:
    shift, cells = rng.randint(4, 9), rng.randint(1, 7)
    blocks = rng.choice([1, 5, 300])
    made = []
    for number in range(stages):
        columns, labels = rng.randint(1, 6), rng.randint(1, 7)
        backward, forward = rng.choice([1, 2, 3, 5, 9, 70, 200]), rng.randint(1, 8)
        letters = 3 if drops or number + 1 < stages else 2
        made.append(
            Stage(
                columns=[rng.randrange(columns) for _ in range(cells * (6 if number else 1))],
                column_count=columns,
                label_count=labels,
                backward_next=next_states(rng, backward, columns),
                backward_label=[rng.randrange(labels) for _ in range(backward * columns)],
                backward_end=rng.randrange(backward),
                forward_next=next_states(rng, forward, labels),
                output=[rng.randrange(letters) if rng.random() < 0.4 else 0 for _ in range(forward * labels)],
            )
        )
    return Tables(
        shift=shift,
        stage1=rng.choices(range(blocks), k=0x110000 >> shift),
        stage2=rng.choices(range(cells), k=blocks << shift),
        cells=cells,
        stages=tuple(made),
        drops=drops,
        wide=blocks > 256 or rng.random() < 0.5,
    )


KINDS = {"ascii": 0x7F, "latin-1": 0xFF, "ucs2": 0xFFFF, "ucs4": 0x10FFFF}


def random_str(rng: random.Random, kind: str, length: int) -> str:
    """Runs of one character broken by others; surrogates included. The last character makes sure of the kind."""
    top = KINDS[kind]
    some = [rng.randrange(top + 1) for _ in range(rng.choice([1, 2, 30]))]
    points: list[int] = []
    while len(points) < length:
        points += [rng.choice(some)] * rng.choice([1, 1, 2, 7, 3000 if length > 3000 else 1])
    if length:
        points[length - 1] = top
    return "".join(map(chr, points[:length]))


def check(tables: Tables, text: str | bytes, machine: Any = None) -> None:
    """Compare every way to run the machine with the definition."""
    machine = machine or tables.machine()
    units: list[str] | list[bytes]
    if isinstance(text, str):
        points, units = [ord(c) for c in text], list(text)
    else:
        points, units = decode(text)
    at = [0]
    for unit in units:
        at.append(at[-1] + len(unit))
    pairs = [(at[start], at[end]) for start, end in define(tables, points)]
    assert list(machine.iterate(text)) == pairs
    pieces = [text[start:end] for start, end in pairs]
    packed = array.array("i", [offset for pair in pairs for offset in pair]).tobytes()
    for shared in ((), (2, 1), (3, 1), (7, 2)) if len(text) >= 2 * N else ((), (7, 1)):  # threads, and blocks of a part
        assert machine.count(text, *shared) == len(pairs)
        assert bytes(machine.pairs(text, *shared)) == packed
        assert machine.split(text, *shared) == pieces
        if tables.drops:
            with pytest.raises(ValueError, match="use pairs"):
                machine.ends(text, *shared)
        else:
            assert bytes(machine.ends(text, *shared)) == array.array("i", [end for _, end in pairs]).tobytes()


def decode(data: bytes) -> tuple[list[int], list[bytes]]:
    """Code points and the bytes of each: an ill-formed sequence is one U+FFFD, delimited by Python's own decoder."""
    points: list[int] = []
    units: list[bytes] = []
    start = 0
    while start < len(data):
        try:
            good, bad = data[start:].decode(), b""
        except UnicodeDecodeError as error:
            good, bad = data[start : start + error.start].decode(), error.object[error.start : error.end]
        points += map(ord, good)
        units += [c.encode() for c in good]
        start += len(good.encode()) + len(bad)
        if bad:
            points.append(0xFFFD)
            units.append(bad)
    return points, units


@pytest.mark.parametrize("stages", [1, 2, 3])
@pytest.mark.parametrize("drops", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_short_texts(kind: str, drops: bool, stages: int) -> None:
    rng = random.Random(f"{kind} {drops} {stages}")
    for _ in range(40):
        tables = random_tables(rng, stages, drops)
        machine = tables.machine()
        for length in (0, 1, 2, 3, rng.randint(4, 60), rng.randint(60, 500)):
            text = random_str(rng, kind, length)
            check(tables, text, machine)
            check(tables, text.encode("utf-8", "surrogatepass"), machine)  # surrogates are ill-formed there


@pytest.mark.parametrize("stages", [1, 2])
@pytest.mark.parametrize("kind", KINDS)
def test_texts_around_block_borders(kind: str, stages: int) -> None:
    rng = random.Random(f"borders {kind} {stages}")
    for length in (*range(N - 2, N + 3), 2 * N - 1, 2 * N, 2 * N + 1, 5 * N + 7, 11 * N + 100):
        tables = random_tables(rng, stages, drops=length % 2 == 0)
        text = random_str(rng, kind, length)
        check(tables, text)
        data = text.encode("utf-8", "surrogatepass")
        for start in range(4):  # characters of several bytes lie across the border in every way
            check(tables, data[start : start + length // (1 if start == 0 else 3)])


def test_a_machine_that_never_forgets_runs_through_many_blocks() -> None:
    """The backward automaton counts to seven: the state anywhere depends on the very end of the text."""
    rng = random.Random(7)
    counter = [(state + step) % 7 for state in range(7) for step in range(2)]
    labels = [state for state in range(7) for _ in range(2)]
    tables = random_tables(rng)
    stage = Stage([i % 2 for i in range(tables.cells)], 2, 7, counter, labels, 3, [0] * 7, [1, 0, 0, 0, 0, 0, 0])
    tables = replace(tables, stages=(stage,))
    text = random_str(rng, "ucs2", 90 * N + 11)
    check(tables, text)
    check(tables, text[:-1])


def test_every_short_byte_sequence_is_cut_as_python_cuts_it() -> None:
    """All sequences of one and two bytes, and of three where the lead byte or the rule says something new."""
    tables = every_unit_a_piece()
    machine = tables.machine()
    leads = [0x00, 0x7F, 0x80, 0xBF, 0xC0, 0xC1, 0xC2, 0xDF, 0xE0, 0xE1, 0xEC, 0xED, 0xEE, 0xEF, *range(0xF0, 0xF6), 0xFF]
    middle = [0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC2, 0xE2, 0xF1]
    sequences = [bytes([a]) for a in range(256)] + [bytes([a, b]) for a in range(256) for b in range(256)]
    sequences += [bytes([a, b, c]) for a in leads for b in range(256) for c in middle]
    sequences += [bytes([a, b, c, d]) for a in leads for b in middle for c in middle for d in middle]
    for data in sequences:
        units = [chr(p) for p in decode(data)[0]]
        assert "".join(units) == data.decode("utf-8", "replace")
        assert machine.split(data) == decode(data)[1], data
        assert machine.split(b"abcdefgh" + data + b"abcdefghi")[8:-9] == decode(data)[1], data


def every_unit_a_piece() -> Tables:
    stage = Stage([0], 1, 1, [0], [0], 0, [0], [1])
    return Tables(8, [0] * (0x110000 >> 8), [0] * 256, 1, (stage,), False, False)


def test_random_bytes() -> None:
    rng = random.Random(4)
    for _ in range(300):
        tables = random_tables(rng, drops=rng.random() < 0.3)
        alphabet = rng.choice([range(256), range(0x80, 256), [0x41, 0xF0, 0x90, 0x80, 0xE2, 0xED, 0xBF, 0xC3]])
        check(tables, bytes(rng.choices(alphabet, k=rng.randint(0, 200))))
    tables = random_tables(rng)
    check(tables, bytes(rng.choices(range(0x80, 256), k=3 * N + 5)))


def test_pieces_are_ordinary_strings() -> None:
    machine = every_unit_a_piece().machine()
    text = "aé中😀\ud800"
    assert machine.split(text) == list(text)
    assert [sys.getsizeof(piece) for piece in machine.split(text)] == [sys.getsizeof(c) for c in text]
    assert machine.split("é")[0] is machine.split("aé中")[1]  # single Latin-1 characters are shared by Python


@pytest.mark.parametrize("text", ["ab" * 300, "a\xe9" * 300, "a\u4e2d" * 300, "a\U0001f600" * 300, b"ab" * 300, "a\0\0\0" * 300, b"\0a\0" * 300])
def test_equal_pieces_are_one_ordinary_object(text: str | bytes) -> None:
    """Pieces are remembered by their bytes: neither zeros at their ends nor the width of the text may matter."""
    machine = random_tables(random.Random(1)).machine()
    for one in (every_unit_a_piece().machine(), machine):
        pieces = one.split(text)
        ends = [0, *array.array("i", bytes(one.ends(text)))]
        expected = [text[start:end] for start, end in zip(ends, ends[1:], strict=False)]
        assert pieces == expected
        assert [sys.getsizeof(piece) for piece in pieces] == [sys.getsizeof(piece) for piece in expected]
        assert gc.is_tracked(pieces)
    singles = every_unit_a_piece().machine().split(text)
    assert len({id(piece) for piece in singles}) == len(set(singles))


def test_pieces_at_the_very_end_of_a_text() -> None:
    """The last 16 bytes are looked at by themselves; a text that ends with a page shows whether anything behind is read."""
    machine = every_unit_a_piece().machine()
    pages = mmap.mmap(-1, mmap.PAGESIZE)
    pages[:] = bytes(i % 251 for i in range(mmap.PAGESIZE))
    assert machine.split(pages) == decode(pages[:])[1]
    for length in range(256, 300):
        text = "".join(chr(97 + i % 26) for i in range(length))
        assert machine.split(text) == list(text)


class Buffers(list[Any]):
    """The same bytes as every type that offers them."""

    def __init__(self, data: bytes, path: Path) -> None:
        path.write_bytes(data)
        self.file = path.open("r+b")
        mapped = mmap.mmap(self.file.fileno(), 0)
        signed = array.array("b", bytes(data))
        super().__init__([data, bytearray(data), memoryview(data), array.array("B", data), signed, mapped])
        self.append(memoryview(b"xx" + data)[2:])
        self.append(memoryview(data).cast("c"))


def test_every_bytes_like_type(tmp_path: Path) -> None:
    rng = random.Random(11)
    tables = random_tables(rng)
    machine = tables.machine()
    data = random_str(rng, "ucs2", 400).encode("utf-8", "replace")
    for buffer in Buffers(data, tmp_path / "text"):
        assert machine.split(buffer) == machine.split(data)
        assert all(type(piece) is bytes for piece in machine.split(buffer))
        assert bytes(machine.ends(buffer)) == bytes(machine.ends(data))
    numpy = pytest.importorskip("numpy", reason="numpy arrays are one more bytes-like type")
    assert machine.split(numpy.frombuffer(data, numpy.uint8)) == machine.split(data)
    ends = numpy.frombuffer(machine.ends(data), numpy.int32)
    assert ends[-1] == len(data)
    for gaps in (numpy.frombuffer(data, numpy.uint8)[::2], memoryview(data)[::2]):
        with pytest.raises(BufferError, match=r"^expected bytes that lie side by side, got .* with gaps; give a copy of it$"):
            machine.split(gaps)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("drops", [False, True])
def test_a_batch_is_the_texts_one_by_one(drops: bool, kind: str) -> None:
    rng = random.Random(f"batch {drops} {kind}")
    for stages in (1, 2):
        machine = random_tables(rng, stages, drops).machine()
        texts: list[str | bytes] = [random_str(rng, kind, rng.choice([0, 1, 50, 600, 3 * N])) for _ in range(70)]
        texts += [text.encode("utf-8", "surrogatepass") for text in texts if isinstance(text, str)]
        texts.append(random_str(rng, kind, 140_000))
        for threads in (1, 2, 3, 7):
            assert machine.count_batch(texts, threads) == [machine.count(text) for text in texts]
            assert machine.split_batch(texts, threads) == [machine.split(text) for text in texts]
            counts = [machine.count(text) for text in texts]
            pairs, numbers, wide = machine.pairs_batch(iter(texts), threads)
            assert (bytes(pairs), numbers, wide) == (b"".join(machine.pairs(text) for text in texts), counts, False)
            if not drops:
                ends, numbers, wide = machine.ends_batch(tuple(texts), threads)
                assert (bytes(ends), numbers, wide) == (b"".join(machine.ends(text) for text in texts), counts, False)
        assert machine.split_batch([], 2) == []
        assert bytes(machine.pairs_batch([], 2)[0]) == bytes(machine.pairs_batch(["", ""], 2)[0]) == b""
    if drops:
        with pytest.raises(ValueError, match="use pairs"):
            machine.ends_batch(texts)


def test_more_offsets_in_a_batch_than_there_is_room_for() -> None:
    """Each unit is a piece: what is left is put when all are found; and the batch may be written to, and outlives its machine."""
    machine = every_unit_a_piece().machine()
    rng = random.Random("more offsets")
    texts = ["x" * rng.choice([0, 1, 500, 70_000, 300_000]) for _ in range(40)]
    expected = np.concatenate([np.arange(1, len(text) + 1, dtype=np.int32) for text in texts])
    for threads in (1, 2, 5):
        ends, counts, wide = machine.ends_batch(texts, threads)
        assert counts == list(map(len, texts)) and not wide
        assert np.array_equal(np.frombuffer(ends, np.int32), expected)
        assert machine.split_batch(texts, threads) == [list(text) for text in texts]
    array = np.frombuffer(ends, np.int32)
    del machine, ends
    array[:] = 7


@pytest.mark.parametrize("method", ["count_batch", "split_batch", "ends_batch", "pairs_batch"])
def test_what_is_no_text_in_a_batch_is_named(method: str) -> None:
    run = getattr(every_unit_a_piece().machine(), method)
    data = bytearray(b"held")
    for wrong in (None, 3, array.array("i", [1])):
        with pytest.raises(TypeError, match=r"^texts\[2\]: expected str or a bytes-like object, got "):
            run(["a", data, wrong, "b"], 2)
    with pytest.raises(BufferError, match=r"^texts\[1\]: expected bytes that lie side by side, got memoryview with gaps"):
        run(["a", memoryview(b"abcd")[::2]])
    data.append(1)  # nothing holds it any longer
    for one in ("text", b"text", data):
        with pytest.raises(TypeError, match="expected a list of texts, got one"):
            run(one)
    with pytest.raises(TypeError, match="expected a list of texts, got int"):
        run(3)


@pytest.mark.parametrize("method", ["count", "split", "ends", "pairs", "count_batch", "split_batch", "ends_batch", "pairs_batch"])
def test_numbers_of_threads_that_make_no_sense(method: str) -> None:
    run = getattr(every_unit_a_piece().machine(), method)
    text = ["text"] if method.endswith("batch") else "text"
    for wrong in (0, -1, 1025):
        with pytest.raises(ValueError, match=r"threads must be 1\.\.1024"):
            run(text, wrong)
    with pytest.raises(ValueError, match="blocks 1 or more"):
        run(text, 1, 0)
    with pytest.raises(TypeError):
        run(text, 1.5)
    with pytest.raises(OverflowError):
        run(text, 1 << 70)
    for wrong_count in ((), (text, 1, 1, 1)):
        with pytest.raises(TypeError, match="arguments"):
            run(*wrong_count)
    once, shared = run(text), run(text, 1024)
    if method in ("ends_batch", "pairs_batch"):
        assert once[1:] == shared[1:]
        once, shared = once[0], shared[0]
    assert (bytes(shared) == bytes(once)) if method.startswith(("ends", "pairs")) else (shared == once)


@pytest.mark.parametrize("tier", ["portable", "neon", "avx2", "avx512"])
def test_a_text_that_changes_as_it_is_read_harms_nobody(tier: str) -> None:
    """Another thread writes whole and broken characters over the text. What comes out is not defined; that it comes out is."""
    rng = random.Random(12)
    wells = [random_str(rng, kind, 4 * N).encode("utf-8", "surrogatepass")[: 4 * N] for kind in KINDS]
    wells.append(bytes(rng.choices(range(256), k=4 * N)))
    with overwritten(wells, 40 * N) as pages:
        for number in range(60):
            machine = native.Machine(**random_tables(rng, 1 + number % 2, drops=number % 3 == 0).arguments(), tier=tier)
            for shared in ((1, 1), (3, 1)):
                for run in (machine.count, machine.pairs, machine.split, machine.split if machine.count(b"") else machine.pairs):
                    run(pages, *shared)


@pytest.mark.parametrize("method", ["count", "split", "ends", "pairs", "iterate"])
def test_what_is_no_text_is_refused(method: str) -> None:
    run = getattr(every_unit_a_piece().machine(), method)
    for wrong, name in [(None, "NoneType"), (1, "int"), (["a"], "list"), (array.array("i", [1]), "array")]:
        with pytest.raises(TypeError, match=f"expected str or a bytes-like object, got .*{name}"):
            run(wrong)
    with pytest.raises(TypeError):
        run()


def test_a_bytearray_is_held_only_while_it_is_read() -> None:
    machine = every_unit_a_piece().machine()
    data = bytearray(b"some text")
    iterator = machine.iterate(data)
    assert next(iterator) == (0, 1)
    with pytest.raises(BufferError):
        data.append(1)
    assert len(list(iterator)) == 8
    data.append(1)
    assert machine.count(data) == 10
    data.append(2)


def test_broken_tables_are_refused() -> None:
    """One entry out of range, one table a byte short or long, one count off: all must be noticed before anything runs."""
    tables = random_tables(random.Random(3), stages=2)
    good = tables.arguments()
    native.Machine(**good)

    def refused(error: type[Exception] = ValueError, **change: Any) -> None:
        with pytest.raises(error):
            native.Machine(**{**good, **change})

    for name in ("stage1", "stage2"):
        for wrong in (good[name][:-1], good[name] + b"\0", b"", b"\xff" * len(good[name])):
            refused(ValueError, **{name: wrong})
    for change in ({"shift": -1}, {"shift": 21}, {"shift": good["shift"] + 1}, {"cells": 0}, {"cells": 256}, {"stages": ()}):
        refused(**change)
    refused(TypeError, stages=[*good["stages"]])
    refused(TypeError, stages=(1,))
    refused(TypeError, stage1="text")
    for number, stage in enumerate(good["stages"]):
        for field, value in enumerate(stage):
            wrongs: list[Any] = [0, 65537, 2**31]
            if isinstance(value, bytes):
                wrongs = [value[:-1], value + b"\0", b"", b"\xff" * len(value)]
            if field == 5:
                wrongs[0] = value + len(stage[3])
            for wrong in wrongs:
                changed = (*stage[:field], wrong, *stage[field + 1 :])
                refused(stages=(*good["stages"][:number], changed, *good["stages"][number + 1 :]))
    last = good["stages"][1]
    refused(stages=(good["stages"][0], (*last[:7], b"\2" * len(last[7]))))  # drops, though it says that it does not


def test_odd_state_entries_are_refused() -> None:
    stage = (b"\0", 2, 1, struct.pack("<4H", 0, 0, 1, 2), bytes(8), 0, bytes(2), b"\1")  # 1 is in the middle of a row
    with pytest.raises(ValueError, match="backward_next"):
        native.Machine(8, bytes(0x1100), False, bytes(256), 1, (stage,), False)


def test_threads_share_one_machine() -> None:
    rng = random.Random(5)
    tables = random_tables(rng)
    machine = tables.machine()
    texts = [random_str(rng, kind, 20 * N) for kind in KINDS]
    expected = [(machine.count(text), bytes(machine.ends(text))) for text in texts]
    wrong: list[int] = []

    def work() -> None:
        for number, text in enumerate(texts * 3):
            if (machine.count(text), bytes(machine.ends(text))) != expected[number % len(texts)]:
                wrong.append(number)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_one_iterator_in_many_threads_gives_every_piece_once() -> None:
    iterator = every_unit_a_piece().machine().iterate("x" * 50_000)
    found: list[list[tuple[int, int]]] = [[] for _ in range(4)]
    threads = [threading.Thread(target=pieces.extend, args=(iterator,)) for pieces in found]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(pair for pieces in found for pair in pieces) == [(i, i + 1) for i in range(50_000)]


def test_an_iterator_that_is_asked_as_it_lets_its_text_go() -> None:
    asked: list[Any] = []

    class Text(str):
        def __del__(self) -> None:
            asked.append(next(iterator, None))

    iterator = every_unit_a_piece().machine().iterate(Text("xy"))
    assert list(iterator) == [(0, 1), (1, 2)]
    assert asked == [None]


@pytest.mark.parametrize("what", ["an iterator", "a stream", "a stream of tokens", "what normalizes"])
def test_what_holds_what_reads_it_goes(what: str) -> None:
    """A text, an array or a function that is in a cycle with what has it: only the collector frees that, if it can see it."""

    class Text(str):
        reader: Any

    class Array(array.array):  # type: ignore[type-arg]
        reader: Any

    class Normalizing:
        reader: Any

        def __call__(self, text: bytes, at: int, ends: bool) -> tuple[bytes, int]:
            return text, len(text)

    machine = every_unit_a_piece().machine()
    held: Any = Normalizing() if what == "what normalizes" else Text("xy")
    encoder = native.Encoder(machine, {}, bytes(range(256)), array.array("I", range(257)))
    if what == "an iterator":
        held.reader = machine.iterate(held)
    elif what == "a stream":
        held = Array("q", bytes(64))
        held.reader = native.Stream(machine, 8, into=held)
    elif what == "a stream of tokens":
        held = Array("I", bytes(32))
        held.reader = native.TokenStream(encoder, None, None, 8, 3, into=held).copy()
    else:
        held.reader = native.TokenStream(encoder, None, None, 8, 0, held).copy()
    assert gc.is_tracked(held.reader)
    gone = weakref.ref(held)
    del held
    gc.collect()
    assert gone() is None


def test_python_ends_while_threads_of_a_daemon_are_at_work() -> None:
    """Python ends a daemon that asks for the GIL then, and its stack is gone; deep in it, its pages are, too."""
    program = """if True:
        import sys, threading, time, bitlex
        lexer, texts = bitlex.lexer("cl100k"), ["a few words " * 500_000] * 2000
        def deeper(left):
            if left == 0: lexer.count_batch(texts, threads=2)
            list(map(deeper, [left - 1]))
        class Last:
            def __del__(self, sleep=time.sleep): sleep(0.1)
        threading.Thread(target=deeper, args=(60,), daemon=True).start()
        time.sleep(0.05)
        sys.last = Last()
    """
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs a timer signal")
def test_a_signal_gets_through_while_a_long_text_is_read() -> None:
    class Interrupted(Exception):
        pass

    def interrupt(*_: object) -> None:
        raise Interrupted

    machine = every_unit_a_piece().machine()
    text = b"x" * 200_000_000  # a quarter of a second
    before = signal.signal(signal.SIGALRM, interrupt)
    batch, shared = machine.count_batch, (text, 2)
    runs = [(machine.count, (text,)), (machine.ends, (text,)), (machine.count, shared), (machine.ends, shared), (batch, ([text] * 2, 2))]
    try:
        for run, arguments in runs:
            with pytest.raises(Interrupted):  # noqa: PT012 (the timer must not go off before)
                signal.setitimer(signal.ITIMER_REAL, 0.005)
                run(*arguments)
        assert machine.count(b"abc") == 3
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("names", [(), ("aarch64-linux-gnu-gcc",)], ids=["here", "elsewhere"])
def test_the_extension_has_no_warnings(names: tuple[str, ...]) -> None:
    """What an older compiler only warns of, such as a function that is not declared, is an error for a newer one. What is for another
    processor is compiled only there."""
    headers = sysconfig.get_path("include")
    if not Path(headers, "Python.h").is_file():
        pytest.skip("the headers of Python are not installed: how the extension compiles is not tried")
    sources = [one for names in ("_*.c", "bpe_*.c", "train_*.c", "specials.c") for one in sorted((ROOT / "runtime").glob(names))]
    run(compiler(*names), "-fsyntax-only", "-Wall", "-Wextra", "-Werror", f"-I{headers}", f"-I{C}", f"-I{ROOT / 'runtime'}", *sources)


@pytest.mark.parametrize(("options", "needs"), [("-O3", ()), ("-O1", ADDRESS)], ids=["optimized", "sanitized"])  # optimizers make mistakes of their own
@pytest.mark.parametrize(("block", "checkpoints", "lanes_from"), [(9, 3, 1), (16, 8, 1), (200, 4, 1), (2500, 3, 1), (6144, 2048, 1), (6144, 2048, 384), (16, 8, 17), (200, 4, 201)])
def test_harness(block: int, checkpoints: int, lanes_from: int, options: str, needs: tuple[str, ...], tmp_path: Path) -> None:
    """The same comparison inside C, on every tier: small blocks make many borders, sanitizers see every stray read. Each size has machines
    of its own; with sanitizers, which take five times as long, the first half of them."""
    sizes = (f"-DBITLEX_BLOCK={block}", f"-DBITLEX_CHECKPOINTS={checkpoints}", "-DBITLEX_WHOLE_FROM=1")
    sources = [ROOT / "tests/native_harness.c", *LOOPS]
    harness = build(tmp_path / "harness", sources, options, f"-I{C}", apart=sizes, needs=needs, lanes_from=lanes_from)
    assert "no difference" in run(harness, 100 if needs else 200, block + lanes_from)


@pytest.mark.parametrize(("checkpoints", "options", "needs"), [(4, "-O3", ()), (2048, "-O1", ADDRESS)], ids=["optimized", "sanitized"])
def test_blocks_that_leave_the_state_as_it_is(checkpoints: int, options: str, needs: tuple[str, ...], tmp_path: Path) -> None:
    """Blanks of many kinds are passed over, rather than run through, and give the same pieces. With few checkpoints, states are never looked for
    ahead, but from the end of the text."""
    sizes = ("-DBITLEX_BLOCK=200", f"-DBITLEX_CHECKPOINTS={checkpoints}", "-DBITLEX_WHOLE_FROM=1")
    sources = [ROOT / "tests/still.c", *LOOPS]
    assert "no difference" in run(build(tmp_path / "still", sources, options, f"-I{C}", apart=sizes, needs=needs, lanes_from=1), 1000)


def test_threads_of_c_share_one_machine(tmp_path: Path) -> None:
    """Several threads lex the parts of one text with one machine, under the thread sanitizer."""
    sources = [ROOT / "tests/native_threads.c", *LOOPS, *(C / f"{name}.c" for name in ("cl100k", "clip"))]
    run(build(tmp_path / "threads", sources, "-O1", f"-I{C}", needs=THREAD))
