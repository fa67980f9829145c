"""The tree of a pattern: what `syntax` writes, `resolve` rewrites and `nfa` reads.

A tree from `syntax` has Leaf and Anchor nodes, which still hold names; a tree from `resolve` has Chars and SearchStart in their
place and is otherwise the same. Every node keeps its span in the pattern, for messages. Rejected: two complete sets of classes,
one before and one after, that differ in two of nine.
"""

from __future__ import annotations

from dataclasses import dataclass

from .classes import Expression
from .codeset import CodeSet

__all__ = [
    "Alternate", "Anchor", "Atomic", "Chars", "Concat", "Leaf", "Look", "Node", "Repeat", "SearchStart", "backtracks", "empty_last", "nullable",
    "unsettled",
]  # fmt: skip

Span = tuple[int, int]


@dataclass(frozen=True)
class Leaf:
    """One code point out of a set; `fold`: under (?i)."""

    what: Expression
    fold: bool
    span: Span


@dataclass(frozen=True)
class Concat:
    items: tuple[Node, ...]
    span: Span


@dataclass(frozen=True)
class Alternate:
    branches: tuple[Node, ...]
    span: Span


@dataclass(frozen=True)
class Repeat:
    item: Node
    low: int
    high: int | None
    mode: str  # "greedy", "lazy" or "possessive"
    span: Span
    passes: bool = False  # an iteration over nothing, but the first, is passed over; otherwise it ends the loop


@dataclass(frozen=True)
class Atomic:
    item: Node
    span: Span


@dataclass(frozen=True)
class Look:
    item: Node
    ahead: bool
    negative: bool
    span: Span


@dataclass(frozen=True)
class Anchor:
    """A place without width: "^", "$", or what stands behind the backslash of an escape: A z Z G b B < >."""

    what: str
    multiline: bool
    span: Span


@dataclass(frozen=True)
class Chars:
    """One code point of `points`."""

    points: CodeSet
    span: Span


@dataclass(frozen=True)
class SearchStart:
    """\\G: the place where the search for this match began."""

    span: Span


Node = Leaf | Anchor | Chars | SearchStart | Concat | Alternate | Repeat | Atomic | Look


def nullable(node: Node) -> bool:
    """Whether a resolved tree can match the empty string somewhere."""
    match node:
        case Chars():
            return False
        case Concat(items):
            return all(nullable(item) for item in items)
        case Alternate(branches):
            return any(nullable(branch) for branch in branches)
        case Repeat(item, low):
            return low == 0 or nullable(item)
        case Atomic(item):
            return nullable(item)
        case _:
            return True


def empty_last(node: Node) -> bool:
    """Whether a resolved tree prefers all other matches to an empty one, if it can match nothing."""
    match node:
        case _ if not nullable(node):
            return True
        case Concat(items):
            return all(empty_last(item) for item in items)
        case Alternate(branches):
            first = next(at for at, branch in enumerate(branches) if nullable(branch))
            return empty_last(branches[first]) and all(isinstance(branch, Look) for branch in branches[first + 1 :])
        case Repeat(item, _, _, mode):
            return mode != "lazy" and empty_last(item)
        case Atomic(item):
            return empty_last(item)
    return True


def unsettled(node: Node) -> Span | None:
    """Where a resolved tree has a loop that passes over empty iterations and whose body does not settle."""
    match node:
        case Repeat(item, _, _, _, span, True) if not settles(item):
            return span
        case Concat(items) | Alternate(items):
            return next((found for item in items if (found := unsettled(item)) is not None), None)
        case Repeat(item) | Atomic(item) | Look(item):
            return unsettled(item)
    return None


def settles(node: Node) -> bool:
    """Whether in a resolved tree, wherever a character was taken, anything that can follow it is preferred to nothing."""
    match node:
        case Concat(items):
            rests = (items[at:] for at in range(1, len(items)))
            return all(settles(item) for item in items) and all(empty_last(Concat(rest, node.span)) for rest in rests)
        case Alternate(branches):
            return all(settles(branch) for branch in branches)
        case Repeat(item, _, high, mode):
            return settles(item) and (high == 1 or (mode != "lazy" and (high is None or empty_last(item))))
    return True


def backtracks(node: Node) -> bool:
    """Whether a tree has what is no regular expression to the regex crate: lookarounds, atomic groups, word boundaries, \\G and \\Z."""
    match node:
        case Look() | Atomic() | SearchStart():
            return True
        case Anchor(what):
            return what in "bB<>GZ"
        case Concat(items) | Alternate(items):
            return any(backtracks(item) for item in items)
        case Repeat(item, _, _, mode):
            return mode == "possessive" or backtracks(item)
    return False
