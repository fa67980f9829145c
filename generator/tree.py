"""The tree of a pattern: what `syntax` writes, `resolve` rewrites and `nfa` reads.

A tree from `syntax` has Leaf and Anchor nodes, which still hold names; a tree from `resolve` has Chars and SearchStart in their
place and is otherwise the same. Every node keeps its span in the pattern, for messages. Rejected: two complete sets of classes,
one before and one after, that differ in two of nine.
"""

from __future__ import annotations

from dataclasses import dataclass

from .classes import Expression
from .codeset import CodeSet

__all__ = ["Alternate", "Anchor", "Atomic", "Chars", "Concat", "Leaf", "Look", "Node", "Repeat", "SearchStart", "nullable"]

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
