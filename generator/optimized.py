"""What fancy-regex 0.19 makes of loops over the same thing, with what may be missing between them. A tree in, another that it may be read as out.

    \\w+-?\\w+        ->   \\w+(?:-\\w+)?       which matches "a", where the pattern as it is written needs two letters
    \\w+-?\\w*        ->   \\w+(?:-\\w*)?
    \\w*-?\\w+        ->   (?:\\w*-)?\\w+
    (?:\\w+-?\\w+)+   ->   \\w+(?:-\\w+)*

Versions before it, and with them tiktoken before 0.14, read the pattern as it is written; so a pattern is taken only if it means the same
either way (`compile_steps` compares the machines), and is refused otherwise.

Expressions are compared by what they match. Invariant: where None comes back, fancy-regex changes nothing. It leaves apart what is in a group
that captures, and classes that are written in two ways; here they are the same, so that more is compared than has to be.
Source: `optimize_nested_repeats` and `optimize_ambiguous_concat_repeats` of fancy-regex 0.19.0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from .codeset import CodeSet
from .tree import Alternate, Anchor, Atomic, Concat, Leaf, Look, Node, Repeat

__all__ = ["optimized"]

Span = tuple[int, int]
SIMPLE = ((0, 1), (0, None), (1, None))  # ?, * and +
UNBOUNDED = SIMPLE[1:]


def optimized(tree: Node, read: Callable[[Leaf], CodeSet]) -> tuple[Node, Span] | None:
    """The tree with loops joined, and where the first of them is; None if there are none."""
    optimizer = Optimizer(read)
    found = optimizer.concatenated(optimizer.nested(tree))
    return (found, optimizer.changed[0]) if optimizer.changed else None


class Optimizer:
    def __init__(self, read: Callable[[Leaf], CodeSet]) -> None:
        self.read = read
        self.changed: list[Span] = []

    def nested(self, node: Node) -> Node:
        """A loop of nothing but a loop is one."""
        node = inside(node, self.nested)
        match node:
            case Repeat(Repeat(item, low, high, "greedy"), least, most, "greedy", span) if (low, high) in SIMPLE and (least, most) in SIMPLE:
                self.changed.append(span)
                return Repeat(item, min(low, least), high and most, "greedy", span)
        return node

    def concatenated(self, node: Node) -> Node:
        node = inside(node, self.concatenated)
        match node:
            case Concat(items, span):
                return Concat(self.windows(items), span)
            case Repeat(Concat((first, Repeat(Concat((between, last)), 0, 1, "greedy") as tail)), low, None, "greedy", span):
                if low > 1 or not self.edges(first, last):
                    return node
                self.changed.append(span)
                core = Concat((first, replace(tail, item=Concat((between, last), tail.span), high=None)), span)
                return core if low else Repeat(core, 0, 1, "greedy", span)
        return node

    def windows(self, items: tuple[Node, ...]) -> tuple[Node, ...]:
        found: list[Node] = []
        at = 0
        while at < len(items):
            match items[at : at + 3]:
                case (Repeat() as first, Repeat(_, 0) as between, Repeat() as last) if between.high != 0 and self.edges(first, last):
                    span = (first.span[0], last.span[1])
                    self.changed.append(span)
                    required = replace(between, low=1)
                    if first.low < last.low:
                        found += [Repeat(Concat((first, required), span), 0, 1, "greedy", span), last]
                    else:
                        found += [first, Repeat(Concat((required, last), span), 0, 1, "greedy", span)]
                    at += 3
                case _:
                    found.append(items[at])
                    at += 1
        return tuple(found)

    def edges(self, first: Node, last: Node) -> bool:
        """Whether these are loops over the same thing, as often as it goes."""
        match first, last:
            case Repeat(one, low, high, "greedy"), Repeat(other, last_low, last_high, "greedy"):
                return (low, high) in UNBOUNDED and (last_low, last_high) in UNBOUNDED and self.same(one, other)
        return False

    def same(self, one: Node, other: Node) -> bool:
        match one, other:
            case Leaf(), Leaf():
                return self.read(one) == self.read(other)
            case Concat(items), Concat(others):
                return self.all_same(items, others)
            case Alternate(branches), Alternate(others):
                return self.all_same(branches, others)
            case Repeat(), Repeat():
                return (one.low, one.high, one.mode) == (other.low, other.high, other.mode) and self.same(one.item, other.item)
            case Atomic(item), Atomic(another):
                return self.same(item, another)
            case Look(), Look():
                return (one.ahead, one.negative) == (other.ahead, other.negative) and self.same(one.item, other.item)
            case Anchor(), Anchor():
                return (one.what, one.multiline) == (other.what, other.multiline)
        return False

    def all_same(self, items: tuple[Node, ...], others: tuple[Node, ...]) -> bool:
        return len(items) == len(others) and all(map(self.same, items, others))


def inside(node: Node, change: Callable[[Node], Node]) -> Node:
    """The node with `change` made to what it holds. To fancy-regex, a possessive loop is a loop in an atomic group."""
    match node:
        case Concat(items, span):
            return Concat(tuple(map(change, items)), span)
        case Alternate(branches, span):
            return Alternate(tuple(map(change, branches)), span)
        case Repeat(mode="possessive", span=span):
            return Atomic(change(replace(node, mode="greedy")), span)
        case Repeat(item) | Atomic(item) | Look(item):
            return replace(node, item=change(item))
    return node
