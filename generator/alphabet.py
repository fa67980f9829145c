"""Cells -> the characters that short texts are made of: one at least of every cell, several of the large ones.

    alphabet(partition(sets))           # 29 code points in order
    list(texts("ab", 2))                # ["a", "b", "aa", "ab", "ba", "bb"]

A cell is a set of code points that no set of the pattern tells apart; where tables are tried as they were emitted (`representatives`),
no cell of theirs either. So a code point to which an emitted look-up gives a wrong cell is one by itself, and is tried.
Rejected: random members (another run would try other texts, and nobody could compare two runs).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, product

from .bytelevel import leading
from .cells import Partition, partition
from .codeset import ALL, CodeSet
from .emitted import cells, ordered, runs, symbols_of
from .pack import Tables
from .steps import Plan

__all__ = ["ALPHABET", "SURROGATES", "alphabet", "representatives", "texts"]

ALPHABET = 29  # characters
SURROGATES = CodeSet([(0xD800, 0xDFFF)])  # in no UTF-8
LENGTHS = [CodeSet([r]) for r in ((0, 0x7F), (0x80, 0x7FF), (0x800, 0xFFFF), (0x10000, 0x10FFFF))]  # 1 to 4 bytes of UTF-8


def alphabet(cells: Partition, size: int = ALPHABET, universe: CodeSet = ALL - SURROGATES) -> list[int]:
    """`size` code points, or one from each cell if there are more cells, in order.

    Every cell offers, in this order: its smallest member, its largest, the smallest that take 1, 2, 3, 4 bytes, the largest that
    do. The offers are taken in rounds, one from each cell, the largest cells first, until there are enough.
    """
    members = [cells.members(cell) & universe for cell in range(cells.count)]
    waiting = [offers(points) for points in sorted(members, key=lambda points: (-len(points), points.ranges)) if points]
    chosen = [cell[0] for cell in waiting]
    for turn in range(1, 10):
        chosen += [cell[turn] for cell in waiting if turn < len(cell)][: max(0, size - len(chosen))]
    return sorted(chosen)


def offers(points: CodeSet) -> list[int]:
    parts = [part for part in (points & length for length in LENGTHS) if part]
    ends = [points.ranges[0][0], points.ranges[-1][1]]
    return list(dict.fromkeys([*ends, *(part.ranges[0][0] for part in parts), *(part.ranges[-1][1] for part in parts)]))


def representatives(planned: Sequence[Plan], tables: Sequence[Tables], size: int = ALPHABET) -> tuple[list[str], int]:
    """The characters to try, in order, and of how many cells they are.

    A cell of nothing but surrogates has one of them, in a str. A lexer that reads bytes has none to read; it gets characters of two
    to four bytes with every kind of byte 80..BF instead, which are cells, too.
    """
    sets = [leading(points) if plan.bytewise else points for plan in planned for points in ordered(plan)]
    found = partition([*sets, *chain.from_iterable(map(emitted_cells, tables))])
    if not any(plan.bytewise for plan in planned):
        alone = (points.ranges[0][0] for points in map(found.members, range(found.count)) if not points - SURROGATES)
        return [chr(c) for c in alphabet(found, size, (ALL - SURROGATES) | CodeSet.of(*alone))], found.count
    kinds: dict[tuple[object, ...], int] = {}
    for number, one in enumerate(tables):
        for symbol in symbols_of(tuple(planned), one):
            if symbol.inside < 0:
                kinds.setdefault((number, symbol.cell, symbol.sets), symbol.text[0])
    inside = set(kinds.values())
    more = (bytes((first, *[byte] * count)).decode() for byte in inside for count, first in ((1, 0xC3), (2, 0xE4), (3, 0xF1)))
    return sorted({*map(chr, alphabet(found, size)), *more}), found.count + len(inside)


def emitted_cells(tables: Tables) -> list[CodeSet]:
    """The code points of each cell of a look-up."""
    lookup = cells(tables)
    ranges: dict[int, list[tuple[int, int]]] = {}
    for start, end in runs(tables, lookup):
        ranges.setdefault(lookup[start], []).append((start, end - 1))
    return [CodeSet(found) for found in ranges.values()]


def texts(characters: Sequence[str], k: int) -> Iterator[str]:
    """All of 1..k characters: by length, then in the order of the characters, the last one changing fastest."""
    return map("".join, chain.from_iterable(product(characters, repeat=length) for length in range(1, k + 1)))
