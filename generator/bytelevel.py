"""Steps behind a ByteLevel: they read the bytes of the text, each shown as one character of the byte alphabet, and may cut between them.

    "x²" is the bytes 78 C2 B2, shown as "xÂ²": a Digits step behind a ByteLevel cuts x Â | ²

A program with such steps is bytewise: its text is a symbol for each byte. The first byte of a code point carries the cell of the
code point; every other byte is a cell of its own kind, of which there are as many as the later steps tell apart. The earlier steps,
which know only code points, pass over those (`Widened`). So one lexer still reads the text once.
Rejected: letters that say where inside a code point a piece starts (every lexer would pay for the rare family), and refusing.
Source: `bytes_to_unicode` of GPT-2; ByteLevel of Hugging Face tokenizers.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace

from .bimachine import Bimachine
from .cells import Partition
from .codeset import CodeSet
from .split import CONTINUE, DROP

__all__ = ["Widened", "byte_alphabet", "byte_view", "leading"]


def byte_alphabet() -> list[int]:
    """The code point that stands for each byte: itself where Latin-1 prints it, else the next one from U+0100 on."""
    shown = [b for b in range(256) if 0x21 <= b <= 0x7E or 0xA1 <= b <= 0xAC or 0xAE <= b]
    rest = [b for b in range(256) if b not in shown]
    places = {b: b for b in shown} | {b: 0x100 + n for n, b in enumerate(rest)}
    return [places[b] for b in range(256)]


def first_byte(byte: int) -> tuple[int, int] | None:
    """The code points whose UTF-8 begins with `byte`."""
    if byte < 0x80:
        return byte, byte
    if 0xC2 <= byte <= 0xDF:
        return (byte & 0x1F) << 6, (byte & 0x1F) << 6 | 0x3F
    if 0xE0 <= byte <= 0xEF:
        return max((byte & 0x0F) << 12, 0x800), (byte & 0x0F) << 12 | 0xFFF
    if 0xF0 <= byte <= 0xF4:
        return max((byte & 0x07) << 18, 0x10000), min((byte & 0x07) << 18 | 0x3FFFF, 0x10FFFF)
    return None


def leading(points: CodeSet) -> CodeSet:
    """The code points whose first byte is shown as one of `points`."""
    ranges = (first_byte(byte) for byte, shown in enumerate(byte_alphabet()) if shown in points)
    return CodeSet(found for found in ranges if found is not None)


def byte_view(cells: Partition, sets: Iterable[CodeSet]) -> tuple[Partition, tuple[int, ...]]:
    """The partition as steps behind a ByteLevel see it, and the cell of each byte 80..BF that is not the first of its code point.

    `cells` must respect `leading(s)` for each set.
    """
    ordered = sorted(set(sets), key=lambda s: s.ranges)
    shown = byte_alphabet()
    kinds: dict[tuple[bool, ...], int] = {}
    kind_of = [kinds.setdefault(tuple(shown[byte] in s for s in ordered), len(kinds)) for byte in range(0x80, 0xC0)]
    masks = {
        s: cells.masks[leading(s)] | sum(1 << cells.count + kind for inside, kind in kinds.items() if inside[n])
        for n, s in enumerate(ordered)
    }
    return replace(cells, count=cells.count + len(kinds), masks=masks), tuple(cells.count + kind for kind in kind_of)


class Widened:
    """A machine over code points, as one over bytes: what is not the first byte of its code point changes nothing."""

    def __init__(self, machine: Bimachine, extra: int) -> None:
        self.machine, self.symbols = machine, machine.symbols + extra
        self.end: int = machine.end
        self.start = (machine.start, CONTINUE)
        self.alike = [*machine.columns, *[-1] * extra]

    def back(self, after: int, symbol: int) -> int:
        return after if symbol >= self.machine.symbols else self.machine.back(after, symbol)

    def steps(self, state: tuple[int, int], symbol: int, afters: Sequence[int]) -> list[tuple[Hashable, int]]:
        if symbol >= self.machine.symbols:
            return [(state, state[1])] * len(afters)
        found = (self.machine.step(state[0], symbol, after) for after in afters)
        return [((next, DROP if letter == DROP else CONTINUE), letter) for next, letter in found]
