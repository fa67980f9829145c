"""Do two lexers split every text alike? Decided, not sampled; with a shortest text that shows the difference if they do not.

    difference(cl100k of tiktoken 0.14, cl100k as Hugging Face files have it)   ->   "\\\\n " is one piece there, two here

A canonical bimachine's letter at a place depends on three things: the prefix state, the cell, the suffix state. All pairs of prefix
states that one prefix can lead two machines to are reached breadth-first from the left, all pairs of suffix states from the right;
two functions differ exactly if some (pair, cell, pair) has two letters, and the shortest such text is a shortest witness.

Theorem: for lexers of one stage this is a decision procedure, in time O(cells * (pairs of prefix states + pairs of suffix states) +
cells * product of both). Rejected: comparing canonical tables (the same answer, but no witness).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from . import Program
from .bimachine import Bimachine
from .cells import Partition

__all__ = ["Difference", "difference"]


@dataclass(frozen=True)
class Difference:
    """A shortest text that two lexers split differently, and the character at which their letters first differ."""

    text: str
    at: int


Pair = tuple[int, int]
Step = Callable[[Pair, Pair], Pair]


def difference(a: Program, b: Program) -> Difference | None:
    """A shortest text on which two lexers differ, or None: then they agree on every text of every length."""
    if len(a.stages) > 1 or len(b.stages) > 1 or a.continuation or b.continuation:
        raise ValueError("only lexers of one stage over code points can be compared; a cascade or a bytewise lexer is neither")
    cells, examples = common(a.cells, b.cells)
    one, two = a.stages[0], b.stages[0]
    prefixes = reach(cells, lambda pair, c: (ahead(one, pair[0], c[0]), ahead(two, pair[1], c[1])))
    suffixes = reach(cells, lambda pair, c: (one.back(pair[0], c[0]), two.back(pair[1], c[1])))
    best: tuple[int, list[int], int, list[int]] | None = None
    for before, left in prefixes.items():
        for after, right in suffixes.items():
            if best is not None and len(left) + len(right) >= best[0]:
                continue
            for number, (c, d) in enumerate(cells):
                if one.step(before[0], c, after[0])[1] != two.step(before[1], d, after[1])[1]:
                    best = len(left) + len(right), left, number, right
                    break
    if best is None:
        return None
    _, left, number, right = best
    text = [*left, number, *reversed(right)]
    return Difference("".join(chr(examples[n]) for n in text), len(left))


def ahead(machine: Bimachine, state: int, symbol: int) -> int:
    """The next prefix state: the same whatever follows, so the end of the text serves."""
    return machine.step(state, symbol, machine.end)[0]


def common(a: Partition, b: Partition) -> tuple[list[Pair], list[int]]:
    """The pairs of cells that code points lie in, and the most readable code point of each pair."""
    found: dict[Pair, int] = {}
    starts = sorted({*a.starts, *b.starts, *map(ord, " azA1.'\n")})
    positions = [0, 0]
    for start in starts:
        for side, cells in enumerate((a, b)):
            while positions[side] + 1 < len(cells.starts) and cells.starts[positions[side] + 1] <= start:
                positions[side] += 1
        pair = a.cell_of[positions[0]], b.cell_of[positions[1]]
        if pair not in found or readable(start) < readable(found[pair]):
            found[pair] = start
    pairs = sorted(found, key=lambda pair: readable(found[pair]))
    return pairs, [found[pair] for pair in pairs]


def readable(code_point: int) -> tuple[int, int]:
    """Sorts letters, then what ASCII prints, then the rest."""
    c = chr(code_point)
    return 0 if c.isascii() and c.isalnum() else 1 if " " <= c <= "~" else 2 if c == "\n" or c.isprintable() else 3, code_point


def reach(cells: list[Pair], step: Step) -> dict[Pair, list[int]]:
    """Every reachable pair of states, with a shortest word (numbers of cell pairs) that leads there."""
    words: dict[Pair, list[int]] = {(0, 0): []}
    order: list[Pair] = [(0, 0)]
    for pair in order:
        for number, symbol in enumerate(cells):
            next = step(pair, symbol)
            if next not in words:
                words[next] = [*words[pair], number]
                order.append(next)
    return words
