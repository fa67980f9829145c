"""What is peculiar to (?i) in the `regex` module: expressions and trees in, sets out.

    (?i:[x\\P{L}])           all but what has a case variant that is a letter, and x, X: U+0345, no letter, folds as iota does
    (?i:'s)|[^\\p{L}]+       U+0345 again: it is not where a match may start, so none does, though the pattern would match it

A class of several members asks of each whether it has any case variant of a character, and of what is negated whether it has none. From such
sets `regex` also tells where to try at all (its "firstset"): if one set that a match may begin with is under (?i), it asks all of them so. As
that may leave out what the pattern matches when it is tried, a pattern is read as if it began with a lookahead for that set. And alternatives
of one character each may become one class, where one that would be read otherwise alone is refused: [^a]|[^b] is read as [^ab].

Invariant: `starts` is None where the engine has no such set: where a match may be empty, or begin with a dot, [a-z], [^a] or
[\\s\\S], which are no sets to it; where nothing that it begins with is under (?i); and where that is but one set, which is always under it.
Characters side by side are one string, after what alternatives begin with was taken out of them; one that has no case is not under (?i).
One set that is under (?i) in some places is read as it is alone there: so \\P{Lu}+|(?i:\\P{Lu})+ starts at no letter that has case. Properties
of the same characters are one set, whatever their names: those that are two to the engine have all case variants, and are read alike
(except decomposition types and quick checks, which are not supported; and next to a complement, [[:xdigit:]] and \\p{ASCII_Hex_Digit}).
Source: `SetUnion`, `Branch._reduce_to_set`, `Sequence.pack_characters`, `_check_firstset` and `get_firstset` of regex 2026.11.15.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import takewhile
from typing import TypeAlias

from .classes import Combine, Expression, Named, Points, dot
from .codeset import ALL, CodeSet, union
from .tree import Alternate, Atomic, Concat, Leaf, Look, Node, Repeat

__all__ = ["among", "by_case", "class_of_several", "misread", "starts"]

Read: TypeAlias = Callable[[Expression], CodeSet]  # the set of an expression without (?i)
Close: TypeAlias = Callable[[CodeSet], CodeSet]  # a set with all case variants


def starts(tree: Node, read: Read, close: Close, alone: Read) -> CodeSet | None:
    """Where a match may start, of a tree that is not resolved; None if anywhere. `alone`: what a set has under (?i) by itself."""
    leaves, empty = Beginning(read, close).of(tree)
    if empty or not any(folds(leaf) for leaf in leaves) or any(is_open(leaf.what, read) for leaf in leaves):
        return None
    written = {compared(leaf.what, read): leaf.what for leaf in leaves}
    if len(written) > 1:
        return union(by_case(what, read, close) for what in written.values())
    return None if all(folds(leaf) for leaf in leaves) else alone(leaves[0].what)


def folds(leaf: Leaf) -> bool:
    """Whether it is under (?i), which \\d, \\s and \\w never are."""
    return leaf.fold and not (isinstance(leaf.what, Named) and leaf.what.kind == "escape")


def compared(what: Expression, read: Read) -> tuple[object, ...]:
    """What two sets have in common that are the same to the engine: \\P{L}, [^\\p{Letter}]; but not [ab] and [ba]."""
    match what:
        case Points(points):
            return "points", points, False
        case Named(kind, name, negated, span):
            return "named", read(Named(kind, name, False, span)), negated
        case Combine(_, (member,), negated):
            *same, otherwise = compared(member, read)
            return *same, otherwise != negated
        case Combine(how, members, negated):
            return how, tuple(compared(member, read) for member in members), negated


def by_case(what: Expression, read: Read, close: Close) -> CodeSet:
    """What an expression has as one member of a set that is under (?i)."""
    match what:
        case Points():
            return close(read(what))
        case Named(kind, name, negated, span):
            points = close(read(Named(kind, name, False, span)))
            return ~points if negated else points
        case Combine(_, (Named(kind, name, negated, span),), True):  # to the engine no class, but a property
            return by_case(Named(kind, name, not negated, span), read, close)
        case Combine(how, members, True):
            return ~close(read(Combine(how, members, False)))
        case Combine(_, members):
            return union(by_case(member, read, close) for member in once(members))


def class_of_several(members: tuple[Expression, ...], negated: bool, fold: bool, read: Read, close: Close) -> CodeSet:
    """A property next to its complement is every character, whether the class is negated or not."""
    members = once(unwrapped(members))
    if has_complements(members, read):
        return ALL
    points = union(by_case(member, read, close) if fold else read(member) for member in members)
    return ~points if negated else points


def once(members: tuple[Expression, ...]) -> tuple[Expression, ...]:
    """Each of them but once: of thousands of names, few are others."""
    return tuple({(one.kind, one.name, one.negated) if isinstance(one, Named) else one: one for one in members}.values())


def unwrapped(members: tuple[Expression, ...]) -> tuple[Expression, ...]:
    return members[0].members if len(members) == 1 and isinstance(members[0], Combine) else members


def has_complements(members: tuple[Expression, ...], read: Read) -> bool:
    """Whether there is a property and, besides, its complement."""
    named = {
        (read(Named(one.kind, one.name, False, one.span)), (one.kind, one.name) == ("posix", "xdigit"), one.negated)
        for one in members if isinstance(one, Named)
    }  # fmt: skip
    return any((points, apart, not lacking) in named for points, apart, lacking in named)


def among(branches: tuple[Node, ...]) -> Iterator[Leaf]:
    """The leaves under (?i) which, perhaps behind what alternatives begin with alike, are an alternative."""
    for branch in branches:
        last = branch.items[-1] if isinstance(branch, Concat) and branch.items else branch
        if isinstance(last, Leaf) and last.fold:
            yield last


def misread(tree: Node) -> Leaf | None:
    """An alternative such as [^a] if, joined with others to one class, it may not be read as what is not a: next to [^b] that is [^ab]."""
    found, folds = [], False
    for node in nodes(tree):
        folds |= isinstance(node, Leaf) and node.fold
        if isinstance(node, Alternate):
            flat = list(flattened(node))
            for several in ([one for one in flat if isinstance(one, Leaf)], [one.items[-1] for one in flat if isinstance(one, Concat) and one.items]):
                found += [one for one in several if len(several) > 1 and isinstance(one, Leaf) and is_one(one.what, True)]
    return found[-1] if len({leaf.what for leaf in found}) > (not folds) else None


def flattened(node: Node) -> Iterator[Node]:
    """The alternatives, with those of groups among them."""
    if isinstance(node, Alternate):
        for branch in node.branches:
            yield from flattened(branch)
    else:
        yield node


def is_one(what: Expression, negated: bool) -> bool:
    """A class of one character, or of all but one."""
    alone = what.members[0] if isinstance(what, Combine) and len(what.members) == 1 and what.negated == negated else None
    return isinstance(alone, Points) and len(alone.points) == 1


def nodes(tree: Node) -> Iterator[Node]:
    """The tree and all that is in it."""
    yield tree
    match tree:
        case Concat(items) | Alternate(items):
            for item in items:
                yield from nodes(item)
        case Repeat(item) | Atomic(item) | Look(item):
            yield from nodes(item)


def is_open(what: Expression, read: Read) -> bool:
    """A dot, a class that is read as one, or a range or what is not some character, alone in its class."""
    if isinstance(what, Combine):
        alone = len(what.members) == 1 and isinstance(what.members[0], Points)
        return (alone and not is_one(what, False)) or has_complements(unwrapped(what.members), read)
    return what in (dot(False), dot(True))


class Beginning:
    """Which leaves a match may begin with."""

    def __init__(self, read: Read, close: Close) -> None:
        self.read, self.close = read, close

    def of(self, node: Node) -> tuple[list[Leaf], bool]:
        """They, and whether it may begin with none of them."""
        match node:
            case Leaf():
                return [node], False
            case Concat((item,)):
                return self.of(item)
            case Concat(items):
                leaves: list[Leaf] = []
                for at in range(len(items)):
                    characters, _ = self.in_front(Concat(items[at:], node.span))
                    if characters:
                        return [*leaves, packed(characters, self.has_case)], False
                    found, empty = self.of(items[at])
                    leaves += found
                    if not empty:
                        return leaves, False
                return leaves, True
            case Alternate(branches):
                alike, _ = self.in_front(node)
                if alike:
                    return [packed(alike, self.has_case)], False
                all_found = [self.of(branch) for branch in branches]
                return [leaf for found, _ in all_found for leaf in found], any(empty for _, empty in all_found)
            case Repeat(item, low):
                found, empty = self.of(item)
                return found, empty or low == 0
            case Atomic(item) | Look(item, True, False):
                return self.of(item)
        return [], True

    def in_front(self, node: Node) -> tuple[list[Leaf], bool]:
        """The leaves before all else, and whether there is nothing else: of alternatives, those that all begin with, which are taken out."""
        match node:
            case Leaf():
                return [node], True
            case Concat(items):
                leaves: list[Leaf] = []
                for item in items:
                    found, whole = self.in_front(item)
                    leaves += found
                    if not whole:
                        return leaves, False
                return leaves, True
            case Alternate(branches):
                all_found = [self.in_front(branch)[0] for branch in branches]
                columns = takewhile(lambda column: len({self.key(leaf) for leaf in column}) == 1, zip(*all_found, strict=False))
                return [column[0] for column in columns], False
        return [], False

    def key(self, leaf: Leaf) -> tuple[object, ...]:
        return leaf.fold, compared(leaf.what, self.read)

    def has_case(self, leaf: Leaf) -> bool:
        points = self.read(leaf.what)
        return self.close(points) != points


def packed(leaves: list[Leaf], has_case: Callable[[Leaf], bool]) -> Leaf:
    """The first of some leaves side by side: not under (?i), if it and the characters that it becomes one string with have no case."""
    first = leaves[0]
    if not first.fold or not is_character(first):
        return first
    for leaf in takewhile(is_character, leaves):
        if has_case(leaf):
            if leaf.fold:
                return first
            break  # a string of its own
    return replace(first, fold=False)


def is_character(leaf: Leaf) -> bool:
    return (isinstance(leaf.what, Points) and len(leaf.what.points) == 1) or is_one(leaf.what, False)
