"""Sets of code points -> cells: the coarsest partition of 0..10FFFF that every set respects.

    sets {a-z}, {a-m, 0-9}   ->   cells  a-m | n-z | 0-9 | everything else

After this stage nothing looks at a code point again: a set is a bit mask of cells, and "end of input" is one more symbol, numbered
`count`, so that `(?!\\\\S)` and `$` are ordinary questions about the next symbol. Cells are numbered by their smallest code point.
Sources: the split alphabet of re2c; the classes and end-of-input unit of Rust's regex-automata.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from .codeset import LAST, CodeSet
from .limits import Limits

__all__ = ["Partition", "partition"]


@dataclass(frozen=True)
class Partition:
    """`starts[i]` opens a run of code points of cell `cell_of[i]`, up to the next start. `masks[s]`: bit c is set if cell c lies in s."""

    starts: tuple[int, ...]
    cell_of: tuple[int, ...]
    count: int
    masks: dict[CodeSet, int]

    def members(self, cell: int) -> CodeSet:
        """The code points of one cell."""
        ends = (*self.starts[1:], LAST + 1)
        return CodeSet((a, b - 1) for a, b, c in zip(self.starts, ends, self.cell_of, strict=True) if c == cell)

    def lookup(self) -> bytearray:
        """The cell of every code point: 1,114,112 bytes."""
        ends = (*self.starts[1:], LAST + 1)
        table = bytearray()
        for a, b, c in zip(self.starts, ends, self.cell_of, strict=True):
            table += bytes((c,)) * (b - a)
        return table

    def merged(self, column_of: tuple[int, ...]) -> Partition:
        """The coarser partition in which cell c becomes `column_of[c]`; columns must be numbered by first occurrence."""
        starts: list[int] = []
        cells: list[int] = []
        for start, cell in zip(self.starts, self.cell_of, strict=True):
            if not cells or cells[-1] != column_of[cell]:
                starts.append(start)
                cells.append(column_of[cell])
        return Partition(tuple(starts), tuple(cells), max(column_of) + 1, {})


def partition(sets: Iterable[CodeSet], limits: Limits | None = None) -> Partition:
    """Cut the code points at every bound of every set; runs inside the same sets are one cell. O(r log r) for r ranges of few sets in all.

    LimitError as soon as there are too many cells.
    """
    ordered = sorted(sets, key=lambda s: s.ranges)
    toggles: dict[int, list[int]] = {0: []}
    for bit, points in enumerate(ordered):
        for first, last in points.ranges:
            toggles.setdefault(first, []).append(bit)
            if last < LAST:
                toggles.setdefault(last + 1, []).append(bit)
    starts: list[int] = []
    cells: list[int] = []
    numbers: dict[int, int] = {}
    inside = 0
    for start in sorted(toggles):
        for bit in toggles[start]:
            inside ^= 1 << bit
        cell = numbers.setdefault(inside, len(numbers))
        if limits is not None:
            limits.check("cells", len(numbers))
        if not cells or cells[-1] != cell:
            starts.append(start)
            cells.append(cell)
    masks = [0] * len(ordered)
    for inside, cell in numbers.items():
        for bit, digit in enumerate(format(inside, "b")[::-1]):
            if digit == "1":
                masks[bit] |= 1 << cell
    return Partition(tuple(starts), tuple(cells), len(numbers), dict(zip(ordered, masks, strict=True)))
