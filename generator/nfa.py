"""Node tree over cells -> NFA whose choices are ordered by preference, as a backtracking engine tries them.

    a|b+     0 SPLIT 1 3    1 CHAR a -> 2    2 MATCH    3 CHAR b -> 4    4 SPLIT 3 2

Note [loops and emptiness]: an iteration that consumes nothing ends its loop, in a backtracking engine. A loop whose body can be
empty is therefore emitted twice: an iteration enters the copy whose end leaves the loop, and consuming crosses over to the one whose
end goes round. So no cycle of the program is without a CHAR, and following it always ends. In the regex crate, that is so of the first
iteration alone, and X* is (X+)?; any other is as if its empty match were none, so it enters a third copy, whose end fails.

Note [one symbol of lookahead]: a lookahead that the next symbol alone decides, end of input included, is a PEEK at a mask. So is
what a possessive quantifier over one set means: greedy, then "the next symbol is not in the set". Only other atomic groups become
ENTER and EXIT. Rejected: rewriting trees into trees (loses the spans), Thompson fragments with patch lists (the continuation style
below needs none).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from operator import or_

from .cells import Partition
from .errors import PatternError
from .limits import Limits
from .tree import Alternate, Atomic, Chars, Concat, Look, Node, Repeat, SearchStart, nullable

__all__ = ["BEHIND", "CHAR", "ENTER", "EXIT", "LOOK", "MATCH", "PEEK", "SEARCH", "SPLIT", "Instruction", "Nfa", "build"]

CHAR, SPLIT, PEEK, BEHIND, LOOK, SEARCH, ENTER, EXIT, MATCH = (
    "CHAR", "SPLIT", "PEEK", "BEHIND", "LOOK", "SEARCH", "ENTER", "EXIT", "MATCH",
)  # fmt: skip


@dataclass(frozen=True)
class Instruction:
    """CHAR mask next | SPLIT preferred other | PEEK mask next | BEHIND mask next | LOOK body next (negative) | SEARCH next | ENTER body | EXIT next.

    Masks have one bit a cell; bit `cells` stands for the end of input in PEEK and for the start of it in BEHIND.
    """

    op: str
    next: int = -1
    other: int = -1  # SPLIT: the second choice; LOOK: the body
    mask: int = 0
    negative: bool = False
    depth: int = 0  # atomic groups around it
    alternative: int = -1  # which top-level alternative it belongs to


@dataclass(frozen=True)
class Nfa:
    code: tuple[Instruction, ...]
    start: int
    cells: int
    alternatives: tuple[tuple[int, int], ...]  # their spans in the pattern

    @property
    def atomic(self) -> bool:
        return any(i.op == ENTER for i in self.code)


def build(tree: Node, cells: Partition, pattern: str, limits: Limits) -> Nfa:
    """The program of `tree`. Its size is that of the tree with counted repetitions written out."""
    builder = Builder(cells, pattern, limits)
    match = builder.add(Instruction(MATCH))
    branches = tree.branches if isinstance(tree, Alternate) else (tree,)
    entries = []
    for number, branch in enumerate(branches):
        builder.alternative = number
        entries.append(builder.emit(branch, match))
    builder.alternative = -1
    start = entries[-1]
    for entry in reversed(entries[:-1]):
        start = builder.make(SPLIT, entry, start)
    return Nfa(tuple(builder.code), start, cells.count, tuple(branch.span for branch in branches))


def choice_free(node: Node) -> bool:
    """Whether there is only one way to match it, so that making it atomic changes nothing."""
    match node:
        case Concat(items):
            return all(choice_free(item) for item in items)
        case Repeat(item, low, high):
            return low == high and choice_free(item)
        case Alternate():
            return False
        case Atomic(item):
            return choice_free(item)
        case _:
            return True


class Builder:
    def __init__(self, cells: Partition, pattern: str, limits: Limits) -> None:
        self.cells, self.pattern, self.limits = cells, pattern, limits
        self.end = 1 << cells.count
        self.code: list[Instruction] = []
        self.depth = 0
        self.alternative = -1
        self.looking: set[int] = set()  # the instructions of lookahead bodies

    def add(self, instruction: Instruction) -> int:
        self.limits.check("instructions", len(self.code))
        self.code.append(instruction)
        return len(self.code) - 1

    def make(self, op: str, next: int = -1, other: int = -1, mask: int = 0, negative: bool = False) -> int:
        return self.add(Instruction(op, next, other, mask, negative, self.depth, self.alternative))

    def mask(self, chars: Chars) -> int:
        return self.cells.masks[chars.points]

    def emit(self, node: Node, next: int) -> int:
        """Code that matches `node` and goes on at `next`; returns its entry."""
        match node:
            case Chars():
                return self.make(CHAR, next, mask=self.mask(node))
            case SearchStart():
                return self.make(SEARCH, next)
            case Concat(items):
                for item in reversed(items):
                    next = self.emit(item, next)
                return next
            case Alternate(branches):
                entries = [self.emit(branch, next) for branch in branches]
                entry = entries[-1]
                for other in reversed(entries[:-1]):
                    entry = self.make(SPLIT, other, entry)
                return entry
            case Repeat():
                return self.repeat(node, next)
            case Atomic(Repeat(Chars() as item, low, high, "greedy"), span):
                return self.repeat(Repeat(item, low, high, "possessive", span), next)
            case Atomic(item):
                return self.emit(item, next) if choice_free(item) else self.atomic(item, next)
            case Look():
                return self.look(node, next)
        raise AssertionError(f"not resolved: {node}")

    def atomic(self, item: Node, next: int) -> int:
        self.depth += 1
        exit_ = self.make(EXIT, next)
        body = self.emit(item, exit_)
        self.depth -= 1
        return self.make(ENTER, body)

    def look(self, node: Look, next: int) -> int:
        if not node.ahead:
            mask = self.behind(node.item)
            return self.make(BEHIND, next, mask=~mask & (2 * self.end - 1) if node.negative else mask)
        decided = self.peek(node.item)
        if decided is not None:
            return self.make(PEEK, next, mask=~decided & (2 * self.end - 1) if node.negative else decided)
        depth, self.depth, first = self.depth, 0, len(self.code)
        body = self.emit(node.item, self.make(MATCH))
        self.looking.update(range(first, len(self.code)))
        self.depth = depth
        return self.make(LOOK, next, body, negative=node.negative)

    def peek(self, node: Node) -> int | None:
        """The next symbols on which `node` can match, if that symbol alone decides it; else None."""
        match node:
            case Chars():
                return self.mask(node)
            case Alternate(branches):
                masks = [self.peek(branch) for branch in branches]
                return None if None in masks else either(m for m in masks if m is not None)
            case Look(item, True, negative):
                inner = self.peek(item)
                return inner if inner is None or not negative else ~inner & (2 * self.end - 1)
            case Repeat(item, low, _, mode) if mode != "possessive":
                return 2 * self.end - 1 if low == 0 else self.peek(item) if low == 1 else None
            case Concat(items):
                mask = 2 * self.end - 1
                for item in items:
                    inner = self.peek(item)
                    if inner is None or (item is not items[-1] and not isinstance(item, Look)):
                        return None
                    mask &= inner
                return mask
            case _:
                return None

    def behind(self, node: Node) -> int:
        """The previous symbols (start of text included) on which a lookbehind holds."""
        match node:
            case Chars():
                return self.mask(node)
            case Look(item, False, negative):
                return ~self.behind(item) & (2 * self.end - 1) if negative else self.behind(item)
            case Alternate(branches):
                return either(self.behind(branch) for branch in branches)
            case Concat((item,)):
                return self.behind(item)
        raise PatternError("lookbehind of more than one character is not supported", self.pattern, node.span,
                           "one character, or a choice of single characters, can be asked for")  # fmt: skip

    def repeat(self, node: Repeat, next: int) -> int:
        item, low, high, mode = node.item, node.low, node.high, node.mode
        leave = next
        if mode == "possessive":
            if not isinstance(item, Chars):
                return self.emit(Atomic(Repeat(item, low, high, "greedy", node.span), node.span), next)
            leave = self.make(PEEK, next, mask=~self.mask(item) & (2 * self.end - 1))
        if high is None and node.passes:
            entry = self.passing_loop(item, leave, lazy=mode == "lazy")
            if low == 0:
                entry = self.choose(entry, leave, lazy=mode == "lazy")
            low = max(low - 1, 0)
        elif high is None:
            entry = self.loop(item, leave, lazy=mode == "lazy")
        else:
            entry = next
            for _ in range(high - low):
                entry = self.choose(self.emit(item, entry), leave, lazy=mode == "lazy")
        for _ in range(low):
            before, entry = entry, self.emit(item, entry)
            if entry == before:  # it is nothing, however often
                break
        return entry

    def choose(self, again: int, leave: int, lazy: bool) -> int:
        return self.make(SPLIT, leave, again) if lazy else self.make(SPLIT, again, leave)

    def loop(self, item: Node, leave: int, lazy: bool) -> int:
        head = self.make(SPLIT)
        first = len(self.code)
        entry = self.emit(item, head)
        if nullable(item):  # Note [loops and emptiness]
            entry = self.copy(item, leave, first)
        self.choose(entry, leave, lazy)
        self.code[head] = self.code.pop()
        return head

    def passing_loop(self, item: Node, leave: int, lazy: bool) -> int:
        """One iteration or more, as the regex crate has them: where the first is entered."""
        head = self.make(SPLIT)
        first = len(self.code)
        self.emit(item, head)
        again = self.copy(item, self.make(PEEK, leave, mask=0), first)
        entry = self.copy(item, leave, first)
        self.choose(again, leave, lazy)
        self.code[head] = self.code.pop()
        return entry

    def copy(self, item: Node, next: int, first: int) -> int:
        """The item once more, with another end; what consumes crosses over to where it was emitted first."""
        second = len(self.code)
        entry = self.emit(item, next)
        for at in range(second, len(self.code)):
            if self.code[at].op == CHAR and at not in self.looking:
                self.code[at] = self.code[at - second + first]
        return entry


def either(masks: Iterable[int]) -> int:
    return reduce(or_, masks, 0)
