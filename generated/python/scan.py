"""The loop of every lexer in pure Python: the slow, readable twin of bitlex.c, and the one that runs where no compiler was.

    machine = Machine(**tables)                # the TABLES of a family's module
    machine.split("I'm here")                  # ["I", "'m", " here"]

A text becomes cells (`str.translate`), then two automata read them, backward and forward; the letter of each code point follows
from both (0 continue, 1 a piece starts, 2 dropped). A step for each code point would cost a Python loop each, so both automata read
four cells at a time, from dictionaries that fill as texts need them, driven by `itertools.accumulate` at C speed. Memory: about 20
bytes a code point while it runs. Standard library only.

Invariant: the result is that of the plain loop `letters`, which is also what later stages of a cascade run.
Rejected: the pattern itself in the standard `re` (another dialect, other Unicode tables, exponential time for some patterns).
"""

from __future__ import annotations

import codecs
import sys
import threading
from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, islice, pairwise
from operator import getitem
from typing import Any

__all__ = ["Machine"]

PADDING = 255  # a column that no machine has: fills the last group of four
PART = 8_192  # groups of four whose letters are put together at a time
ENTRIES = 100_000  # groups of four remembered by one machine, at most
REPLACED = threading.local()


class Suffix(dict[Any, "Suffix"]):
    """A backward state: four cells (as one number) -> the state before them. Equal only to itself, so that it can be a key."""

    __slots__ = ("machine", "state")
    __hash__ = object.__hash__  # type: ignore[assignment]

    def __init__(self, machine: Machine, state: int) -> None:
        self.machine, self.state = machine, state

    def __missing__(self, group: int) -> Suffix:
        machine, columns = self.machine, group.to_bytes(4, sys.byteorder)
        before = machine.suffixes[machine.back(machine.back(self.state, columns[2:]), columns[:2])]
        machine.remember(self, group, before)
        return before


class Prefix(dict[Any, Any]):
    """A forward state behind a group of four: the next group -> the state behind it; a `Suffix` -> the letters of the last group."""

    __slots__ = ("machine", "state")

    def __init__(self, machine: Machine, state: int, letters: tuple[bytes, ...]) -> None:
        super().__init__(zip(machine.suffixes.values(), letters, strict=True))
        self.machine, self.state = machine, state

    def __missing__(self, group: int) -> Prefix:
        machine, columns = self.machine, group.to_bytes(4, sys.byteorder)
        middle, first = machine.ahead(self.state, columns[:2])
        state, second = machine.ahead(middle, columns[2:])
        found = [first[machine.back(suffix, columns[2:])] + letters for suffix, letters in second.items()]
        behind = machine.prefix(state, tuple(found))
        machine.remember(self, group, behind)
        return behind


# A start is spelled with a second byte, so that cutting before each start leaves pieces of the right length.
SPELLED = {0: b"\0", 1: b"\1\0", 2: b"\2"}


class Machine:
    """A lexer over packed tables. The methods take str, or bytes-like objects of UTF-8; offsets count in the units of the input."""

    def __init__(
        self, shift: int, stage1: bytes, wide: bool, stage2: bytes, cells: int, stages: Sequence[tuple[Any, ...]], drops: bool,
        continuation: bytes = b"",
    ) -> None:  # fmt: skip
        self.cells, self.drops, self.continuation = cells, drops, continuation
        self.cell_of = Cells(shift, words(stage1) if wide else stage1, stage2)
        self.ascii = bytes(self.cell_of[c] if c < 128 else 0 for c in range(256))
        self.stages = [Stage(*stage) for stage in stages]
        self.last = self.stages[-1]
        self.width = self.last.column_count
        self.groups = 0
        self.suffixes: dict[int, Suffix] = {}
        for state in range(0, len(self.last.backward_next), self.width):
            self.suffixes[state] = Suffix(self, state)
        self.prefixes: dict[tuple[int, tuple[bytes, ...]], Prefix] = {}
        self.backs: dict[tuple[int, bytes], int] = {}
        self.aheads: dict[tuple[int, bytes], tuple[int, dict[int, bytes]]] = {}

    def prefix(self, state: int, letters: tuple[bytes, ...]) -> Prefix:
        key = state, letters
        if key not in self.prefixes:
            self.prefixes[key] = Prefix(self, state, letters)
        return self.prefixes[key]

    def remember(self, state: dict[Any, Any], group: int, next: object) -> None:
        """Keep a transition; forget all of them first when there are too many, so that no text can fill the memory."""
        self.groups += 1
        if self.groups > ENTRIES:
            self.groups = 0
            for suffix in self.suffixes.values():
                suffix.clear()
            self.prefixes, self.backs, self.aheads = {}, {}, {}
        state[group] = next

    def back(self, state: int, pair: bytes) -> int:
        """The suffix state before two columns."""
        key = state, pair
        if key not in self.backs:
            for column in reversed(pair):
                state = state if column == PADDING else self.last.backward_next[state + column]
            self.backs[key] = state
        return self.backs[key]

    def ahead(self, state: int, pair: bytes) -> tuple[int, dict[int, bytes]]:
        """The prefix state behind two columns, and their letters by the suffix state there."""
        key = state, pair
        if key not in self.aheads:
            stage, next = self.last, state
            spelled: dict[int, bytes] = {}
            for suffix in self.suffixes:
                labels: list[int] = []
                next, letters = state, b""
                for column in reversed(pair):
                    if column != PADDING:
                        labels.append(stage.backward_label[suffix + column])
                        suffix = stage.backward_next[suffix + column]
                for label in reversed(labels):
                    letters += SPELLED[stage.output[next + label]]
                    next = stage.forward_next[next + label]
                spelled[len(spelled) * self.width] = letters
            self.aheads[key] = next, spelled
        return self.aheads[key]

    def read(self, text: Any) -> tuple[bytes, list[int] | None]:
        """The cell of each unit, and where each unit starts in the text, with the end of the text (None: the units are those of the text)."""
        text, places = (text, None) if isinstance(text, str) else decode(text)
        if text.isascii():
            return text.encode("ascii").translate(self.ascii), None
        return text.translate(self.cell_of).encode("latin-1"), places

    def read_bytes(self, text: Any) -> bytes:
        """The cells of a bytewise lexer: a byte inside a code point has its own."""
        if isinstance(text, str):
            raise ValueError("this lexer cuts inside characters, so it reads bytes: encode the text as UTF-8")
        data = bytes(memoryview(text))
        cells, places = self.read(data)
        if places is None:
            return cells
        mixed = bytearray(data.translate(bytes(128) + self.continuation + bytes(64)))
        for place, cell in zip(places, cells, strict=False):
            mixed[place] = cell
        return bytes(mixed)

    def columns(self, cells: bytes) -> bytes:
        """What the last stage reads, one byte a unit."""
        stage = self.stages[0]
        columns = cells.translate(stage.columns + bytes(256 - len(stage.columns)))
        for later in self.stages[1:]:
            letters = stage.letters(columns)
            ends = [letter != 0 for letter in letters[1:]] + [True]
            symbols = (c + self.cells * (letter + 3 * end) for c, letter, end in zip(cells, letters, ends, strict=True))
            columns, stage = bytes(later.columns[symbol] for symbol in symbols), later
        return columns

    def spelled(self, cells: bytes) -> Iterator[bytes]:
        """The letters of a text as in SPELLED, in parts that the processor's cache holds."""
        columns = self.columns(cells)
        groups = array("I", columns + bytes((PADDING,)) * (-len(columns) % 4))
        suffixes = list(accumulate(groups[::-1], getitem, initial=self.suffixes[self.last.backward_end]))
        suffixes.pop()  # what is before the first group decides nothing
        prefixes = accumulate(groups, getitem, initial=self.prefix(0, (b"",) * len(self.suffixes)))
        next(prefixes)
        while suffixes:
            part = suffixes[: -PART - 1 : -1]
            del suffixes[-PART:]
            yield b"".join(map(getitem, islice(prefixes, len(part)), part))

    def starts(self, cells: bytes) -> list[int]:
        """Where each piece starts, and the end of the text. Only if the pieces tile it."""
        found: list[int] = []
        here = 0
        for part in self.spelled(cells):
            lengths = list(map(len, part.split(b"\1")))
            found += islice(accumulate(lengths, initial=here), 1, len(lengths))
            here += sum(lengths)
        found.append(len(cells))
        return found

    def spans(self, cells: bytes) -> Iterable[tuple[int, int]]:
        """(start, end) of each piece, in units."""
        if not self.drops:
            return pairwise(self.starts(cells))
        pieces = b"".join(self.spelled(cells)).split(b"\1")  # each as long as the piece and the dropped text behind it
        starts = accumulate(map(len, pieces))
        return ((start, start + len(piece.rstrip(b"\2"))) for start, piece in zip(starts, pieces[1:], strict=False))

    def iterate(self, text: str | bytes) -> Iterator[tuple[int, int]]:
        """(start, end) of each piece, in characters of a str or bytes of anything else."""
        cells, places = (self.read_bytes(text), None) if self.continuation else self.read(text)
        if places is None:
            return iter(self.spans(cells))
        return ((places[a], places[b]) for a, b in self.spans(cells))

    def split(self, text: str | bytes) -> list[Any]:
        """The pieces, of the type of the text (bytes for any bytes-like object)."""
        if isinstance(text, str):
            return [text[a:b] for a, b in self.iterate(text)]
        data = memoryview(text)
        return [data[a:b].tobytes() for a, b in self.iterate(text)]

    def count(self, text: str | bytes) -> int:
        """How many pieces there are."""
        cells = self.read_bytes(text) if self.continuation else self.read(text)[0]
        return sum(part.count(b"\1") for part in self.spelled(cells))

    def ends(self, text: str | bytes) -> bytearray:
        """The end offset of each piece, as native int32 (int64 from 2**31 units on). Only if the pieces tile the text."""
        return packed((end for _, end in self.iterate(text)), text)

    def pairs(self, text: str | bytes) -> bytearray:
        """Start and end of each piece, alternating, as native integers as in `ends`."""
        return packed((place for span in self.iterate(text) for place in span), text)


class Cells(dict[int, int]):
    """Code point -> cell for `str.translate`: a look-up that remembers the 65,536 code points it met first."""

    def __init__(self, shift: int, stage1: Sequence[int], stage2: bytes) -> None:
        self.shift, self.stage1, self.stage2 = shift, stage1, stage2

    def __missing__(self, c: int) -> int:
        cell = self.stage2[(self.stage1[c >> self.shift] << self.shift) + (c & ((1 << self.shift) - 1))]
        if len(self) < 65_536:
            self[c] = cell
        return cell


class Stage:
    """The tables of one stage, as sequences of numbers."""

    def __init__(
        self, columns: bytes, column_count: int, label_count: int, backward_next: bytes, backward_label: bytes, backward_end: int,
        forward_next: bytes, output: bytes,
    ) -> None:  # fmt: skip
        self.columns, self.column_count, self.label_count = columns, column_count, label_count
        self.backward_next, self.backward_label, self.backward_end = words(backward_next), words(backward_label), backward_end
        self.forward_next, self.output = words(forward_next), output

    def letters(self, columns: bytes) -> bytes:
        """The letter of each code point, by the plain loop: the definition."""
        state, labels = self.backward_end, []
        for column in reversed(columns):
            labels.append(self.backward_label[state + column])
            state = self.backward_next[state + column]
        state, letters = 0, bytearray()
        for label in reversed(labels):
            letters.append(self.output[state + label])
            state = self.forward_next[state + label]
        return bytes(letters)


def words(data: bytes) -> array[int]:
    """uint16, little-endian."""
    return array("H", [low | high << 8 for low, high in zip(data[::2], data[1::2], strict=True)])


def packed(places: Iterator[int], text: str | bytes) -> bytearray:
    size = len(text) if isinstance(text, str) else memoryview(text).nbytes
    return bytearray(array("i" if size < 1 << 31 else "q", places).tobytes())


def replace(error: UnicodeError) -> tuple[str, int]:
    """Decodes an ill-formed sequence as U+FFFD and notes how many bytes it was."""
    assert isinstance(error, UnicodeDecodeError)
    REPLACED.places.append((error.start, error.end))
    return "\ufffd", error.end


REPLACE = f"bitlex.replace.{id(REPLACED):x}"  # of this copy of the file: there may be others in the process, which note for themselves
codecs.register_error(REPLACE, replace)


def decode(data: Any) -> tuple[str, list[int] | None]:
    """Bytes as text, each maximal ill-formed subsequence one U+FFFD; and the byte offset of every character (None: the same)."""
    REPLACED.places = []
    text = str(memoryview(data), "utf-8", REPLACE)
    ill_formed, REPLACED.places = iter(REPLACED.places), []
    if text.isascii():
        return text, None
    places = [0]
    here = 0
    wrong = next(ill_formed, None)
    for c in text:
        if wrong is not None and wrong[0] == here:
            here, wrong = wrong[1], next(ill_formed, None)
        else:
            here += 1 if c < "\x80" else 2 if c < "\u0800" else 3 if c < "\U00010000" else 4
        places.append(here)
    return text, places
