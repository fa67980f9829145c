"""Sets of code points as sorted ranges: the only set algebra in the generator.

In: ranges in any order. Out: a `CodeSet`, whose ranges are inclusive, sorted, disjoint and never adjacent, so that equal sets
are equal values. Sets of a million code points stay a few hundred ranges:

    letters = CodeSet([(65, 90), (97, 122)])
    ~letters & CodeSet([(0, 127)])          # ASCII that is not a letter

Rejected: `frozenset[int]` (a hundred times the memory and time for \\p{L}); bit arrays (fast, but they hide the ranges that
the tables, the error messages and the patched oracle patterns need).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator

__all__ = ["ALL", "EMPTY", "LAST", "CodeSet", "union"]

LAST = 0x10FFFF


class CodeSet:
    """An immutable set of code points 0..10FFFF, surrogates included (a Python str can hold them)."""

    __slots__ = ("_hash", "ranges")

    ranges: tuple[tuple[int, int], ...]

    def __init__(self, ranges: Iterable[tuple[int, int]] = ()) -> None:
        merged: list[tuple[int, int]] = []
        for first, last in sorted(ranges):
            if not 0 <= first <= last <= LAST:
                raise ValueError(f"not a range of code points: {first:#x}..{last:#x}")
            if merged and first <= merged[-1][1] + 1:
                if last > merged[-1][1]:
                    merged[-1] = (merged[-1][0], last)
            else:
                merged.append((first, last))
        self.ranges = tuple(merged)
        self._hash = hash(self.ranges)

    @classmethod
    def of(cls, *code_points: int | str) -> CodeSet:
        """The set of the given code points (numbers, or one-character strings)."""
        numbers = [ord(c) if isinstance(c, str) else c for c in code_points]
        return cls((n, n) for n in numbers)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CodeSet) and self.ranges == other.ranges

    def __hash__(self) -> int:
        return self._hash

    def __bool__(self) -> bool:
        return bool(self.ranges)

    def __len__(self) -> int:
        return sum(last - first + 1 for first, last in self.ranges)

    def __iter__(self) -> Iterator[int]:
        for first, last in self.ranges:
            yield from range(first, last + 1)

    def __contains__(self, code_point: int) -> bool:
        i = bisect_right(self.ranges, (code_point, LAST)) - 1
        return i >= 0 and self.ranges[i][1] >= code_point

    def __or__(self, other: CodeSet) -> CodeSet:
        return CodeSet(self.ranges + other.ranges)

    def __invert__(self) -> CodeSet:
        gaps: list[tuple[int, int]] = []
        start = 0
        for first, last in self.ranges:
            if start < first:
                gaps.append((start, first - 1))
            start = last + 1
        if start <= LAST:
            gaps.append((start, LAST))
        return CodeSet(gaps)

    def __and__(self, other: CodeSet) -> CodeSet:
        common: list[tuple[int, int]] = []
        i = j = 0
        while i < len(self.ranges) and j < len(other.ranges):
            first = max(self.ranges[i][0], other.ranges[j][0])
            last = min(self.ranges[i][1], other.ranges[j][1])
            if first <= last:
                common.append((first, last))
            if self.ranges[i][1] < other.ranges[j][1]:
                i += 1
            else:
                j += 1
        return CodeSet(common)

    def __sub__(self, other: CodeSet) -> CodeSet:
        return self & ~other

    def __repr__(self) -> str:
        shown = " ".join(f"{a:04X}" if a == b else f"{a:04X}-{b:04X}" for a, b in self.ranges[:8])
        return f"CodeSet({shown}{' ...' if len(self.ranges) > 8 else ''})"


EMPTY = CodeSet()
ALL = CodeSet([(0, LAST)])


def union(sets: Iterable[CodeSet]) -> CodeSet:
    """All of them at once: one sort, where `|` would sort as many times as there are sets."""
    return CodeSet(pair for points in sets for pair in points.ranges)
