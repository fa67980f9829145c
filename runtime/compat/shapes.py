"""Shapes: what becomes of a text of so many tokens when it is cut and special tokens are put around it, whatever its tokens are.

    shape = shape_of(finished)                           # an Encoding of marks(3), and what stands around them
    shape.ids([9707, 11, 1879])                          # [1, 9707, 11, 1879, 2]
    shape.columns()                                      # the types of these, which are special, and which attend

What texts of one length have in common is found out once, for an Encoding takes ten times as long to make as ids to find. Invariant: of any
ids, what cutting and processing make of an Encoding that has them. Rejected: the same by arithmetic, which would have to know what each kind
of processor does.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from .encoding import Encoding

__all__ = ["Shape", "marks", "shape_of"]

Runs = tuple[tuple[int, int], ...]


class Shape(NamedTuple):
    """The ids before and behind those of the text, from which to which these are there, and the columns that stand beside: each number, and
    how often it comes."""

    before: list[int]
    start: int
    end: int
    behind: list[int]
    types: Runs
    special: Runs
    attention: Runs

    def ids(self, ids: list[int]) -> list[int]:
        return [*self.before, *ids[self.start : self.end], *self.behind]

    def columns(self) -> tuple[list[int], list[int], list[int]]:
        return repeated(self.types), repeated(self.special), repeated(self.attention)

    def __len__(self) -> int:
        return len(self.before) + self.end - self.start + len(self.behind)


def marks(size: int) -> list[int]:
    """Ids that no token has: -1 for the first, -2 for the second."""
    return list(range(-1, -1 - size, -1))


def shape_of(finished: Encoding) -> Shape | None:
    """The shape of an encoding of marks; None if these are not there in their order, each once, as where a template has a text twice."""
    ids = finished._ids
    places = [at for at, number in enumerate(ids) if number < 0]
    first, behind = (places[0], places[-1] + 1) if places else (0, 0)
    start = -1 - ids[first] if places else 0
    if ids[first:behind] != list(range(-1 - start, -1 - start - len(places), -1)):
        return None
    columns = (finished._type_ids, finished._special, finished._attention)
    return Shape(ids[:first], start, start + len(places), ids[behind:], *map(runs_of, columns))


def runs_of(column: list[int]) -> Runs:
    if column == column[:1] * len(column):
        return ((column[0], len(column)),) if column else ()
    return tuple((number, len([*these])) for number, these in groupby(column))


def repeated(runs: Runs) -> list[int]:
    found: list[int] = []
    for number, count in runs:
        found += [number] * count
    return found
