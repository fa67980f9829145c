"""What Rust's regex crate makes of alternatives that begin alike: it takes the beginning out. A tree in, another that it may be read as out.

    [ab]?a|[ab]?b     ->   [ab]?(?:a|b)        which matches all of "ab", where the pattern as it is written prefers "a"
    \\\\s*\\\\n|\\\\s*\\\\S     ->   \\\\s*(?:\\\\n|\\\\S)
    a?b|a?c|d         ->   as it is: not all begin alike

This changes what is preferred where the beginning can match in several ways. fancy-regex hands the parts of a pattern that have nothing to
backtrack for to that crate, and which these are depends on its version; so a pattern is taken only if it means the same either way
(`compile_steps` compares both machines), and is refused otherwise.

Expressions are compared as the crate does, when names are looked up and (?i) is applied: letters side by side are one string, of which no
part is taken out; a class of one letter is that letter; alternatives of one character each are one class. Invariant: where None comes back,
the crate changes nothing that matters. Groups that capture are never alike there; here they are, so that more is compared than has to be.
Source: `Hir::alternation`, `Hir::concat`, `Hir::repetition` and `lift_common_prefix` of regex-syntax 0.8.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby, pairwise
from typing import NamedTuple, TypeAlias

from .codeset import CodeSet, union
from .tree import Alternate, Anchor, Atomic, Concat, Leaf, Look, Node, Repeat

__all__ = ["lifted"]

Span = tuple[int, int]
Key: TypeAlias = tuple[object, ...]


class Part(NamedTuple):
    """A part of a concatenation, as the crate sees it, and what it is in the tree."""

    key: Key  # "letters", "class", "loop", "place", "choice", or "apart": what the crate is not given
    nodes: tuple[Node, ...]
    branches: tuple[Parts, ...] = ()  # of a choice


Parts: TypeAlias = tuple[Part, ...]


def lifted(tree: Node, read: Callable[[Leaf], CodeSet]) -> tuple[Node, Span] | None:
    """The tree with beginnings taken out, and where alternatives are that had one which matters; None if there are none."""
    lifter = Lifter(read)
    found = joined(lifter.parts(tree), tree.span)
    return (found, lifter.changed[0]) if lifter.changed else None


def joined(parts: Sequence[Part], span: Span) -> Node:
    nodes = tuple(node for part in parts for node in part.nodes)
    return nodes[0] if len(nodes) == 1 else Concat(nodes, span)


def key_of(parts: Parts) -> Key:
    return parts[0].key if len(parts) == 1 else ("parts", *(part.key for part in parts))


class Lifter:
    def __init__(self, read: Callable[[Leaf], CodeSet]) -> None:
        self.read = read
        self.changed: list[Span] = []

    def parts(self, node: Node) -> Parts:
        match node:
            case Leaf():
                return (self.one_of(self.read(node), node),)
            case Concat(items):
                return side_by_side([part for item in items for part in self.parts(item)])
            case Alternate(branches, span):
                return self.alternatives([self.parts(branch) for branch in branches], span)
            case Repeat(item, low, high, mode, span) if mode != "possessive":
                inner = self.parts(item)
                if (low, high) == (1, 1):
                    return inner
                again = Repeat(joined(inner, span), low, high, mode, span)
                return () if high == 0 else (Part(("loop", low, high, mode, key_of(inner)), (again,)),)
            case Anchor(what, multiline):
                return (Part(("place", what, multiline), (node,)),)
            case Repeat(item, low, high, mode, span):
                return (Part(("apart", id(node)), (Repeat(self.inside(item), low, high, mode, span),)),)
            case Atomic(item, span):
                return (Part(("apart", id(node)), (Atomic(self.inside(item), span),)),)
            case Look(item, ahead, negative, span):
                return (Part(("apart", id(node)), (Look(self.inside(item), ahead, negative, span),)),)
        raise AssertionError(f"resolved already: {node}")

    def inside(self, node: Node) -> Node:
        return joined(self.parts(node), node.span)

    def one_of(self, points: CodeSet, node: Node) -> Part:
        return Part(("letters", points.ranges[0][0]) if len(points) == 1 else ("class", points), (node,))

    def alternatives(self, branches: list[Parts], span: Span) -> Parts:
        flat: list[Parts] = []
        for branch in branches:
            flat += branch[0].branches if len(branch) == 1 and branch[0].branches else [branch]
        if len(flat) == 1:
            return flat[0]
        whole = Alternate(tuple(joined(branch, span) for branch in flat), span)
        sets = [set_of(branch) for branch in flat]
        if None not in sets:
            return (self.one_of(union(points for points in sets if points is not None), whole),)
        common = min(alike(one, other) for one, other in pairwise(flat)) if all(len(branch) > 1 for branch in flat) else 0
        if not common or any(is_apart(part.key) for branch in flat for part in branch):
            return (Part(("choice", *map(key_of, flat)), (whole,), tuple(flat)),)
        beginning = flat[0][:common]
        if any(part.key[0] in ("loop", "choice") for part in beginning):
            self.changed.append(span)
        return side_by_side([*beginning, *self.alternatives([branch[common:] for branch in flat], span)])


def side_by_side(parts: list[Part]) -> Parts:
    """Letters next to each other are one part."""
    found: list[Part] = []
    for kind, group in groupby(parts, key=lambda part: part.key[0] == "letters"):
        run = list(group)
        if kind and len(run) > 1:
            run = [Part(("letters", *(letter for part in run for letter in part.key[1:])), tuple(node for part in run for node in part.nodes))]
        found += run
    return tuple(found)


def set_of(branch: Parts) -> CodeSet | None:
    """What an alternative of one character is."""
    match [part.key for part in branch]:
        case [("class", CodeSet() as points)]:
            return points
        case [("letters", int() as letter)]:
            return CodeSet.of(letter)
    return None


def alike(one: Parts, other: Parts) -> int:
    """How many parts two begin with alike."""
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a.key != b.key), min(len(one), len(other)))


def is_apart(key: Key) -> bool:
    return key[0] == "apart" or any(isinstance(inner, tuple) and inner and is_apart(inner) for inner in key[1:])
