"""Steps run on a text one after the other, by their definition: slow, plain, and able to say which alternative made each piece.

    explain(program of cl100k, "I'm")   ->   (0, 1, step 0, alternative 1, "[^\\\\r\\\\n...]?+\\\\p{L}++")   (1, 3, step 0, alternative 0, ...)

Every step cuts every piece of the step before, as a text of its own. For people, and for tests of everything faster.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from . import Program
from .nfa import Nfa
from .peek2 import winner
from .split import CONTINUE, DROP, Between, Inside, Split
from .steps import Plan
from .suffix import Place

__all__ = ["Origin", "explain"]


class Origin(NamedTuple):
    """A piece, and the step and alternative it comes from; `alternative` is None for a gap, and `source` its text in the pattern."""

    start: int
    end: int
    step: int
    alternative: int | None
    source: str


def explain(program: Program, text: str) -> list[Origin]:
    """Where each piece of `text` comes from: the last step that cut it out or kept it, and the alternative that matched at its start."""
    if program.continuation:
        raise ValueError("a lexer with steps behind a ByteLevel cuts inside characters, which cannot be explained character by character")
    lookup = program.raw.lookup()
    cells = [lookup[ord(c)] for c in text]
    pieces: list[Origin] = [Origin(0, len(text), 0, None, "")] if text else []
    for number, (plan, nfa) in enumerate(zip(program.plans, program.nfas, strict=True)):
        space = lookup[ord(" ")]
        after: list[Origin] = []
        for piece in pieces:
            start, end = piece.start, piece.end
            found = cut(plan, nfa, cells[start:end], space, number)
            # A step that has no match in a piece, so that all of it is one gap, leaves it to the step that made it.
            is_gap = [(origin.start, origin.end, origin.alternative) for origin in found] == [(0, end - start, None)]
            after += [piece] if is_gap and number > 0 else [o._replace(start=start + o.start, end=start + o.end) for o in found]
        pieces = after
    return pieces


def cut(plan: Plan, nfa: Nfa, cells: Sequence[int], space: int, number: int) -> list[Origin]:
    """The pieces that one step makes of one text, given as cells."""
    prefix = plan.prefix and bool(cells) and cells[0] != space
    cells = [space, *cells] if prefix else list(cells)
    split = Split(nfa, plan.behavior, plan.invert, plan.empty, plan.pattern)
    sets = [split.end]
    for cell in reversed(cells):
        sets.append(split.back(sets[-1], cell))
    sets.reverse()
    found: list[Origin] = []
    state: Inside | Between = split.start
    open_ = False
    for at, cell in enumerate(cells):
        before = split.suffixes.context[cells[at - 1] if at else nfa.cells]
        state, letter = split.step(state, cell, sets[at + 1])
        if letter == CONTINUE and open_:
            found[-1] = found[-1]._replace(end=at + 1)
            continue
        open_ = letter != DROP
        if open_:
            alternative = winner(split.suffixes, Place(before, True, cell, sets[at + 1]))
            first, last = nfa.alternatives[alternative] if alternative is not None and alternative >= 0 else (0, 0)
            found.append(Origin(at, at + 1, number, alternative, plan.pattern[first:last]))
    if prefix:  # the space before the text is no part of any piece
        found = [o._replace(start=max(o.start - 1, 0), end=o.end - 1) for o in found if o.end > 1]
    return found
