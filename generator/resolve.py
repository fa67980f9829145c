"""Syntax tree -> the same tree with every leaf a set of code points: names looked up, (?i) applied, anchors spelled as lookarounds.

    \\\\p{L}      ->  Chars(141,028 code points of Unicode 16.0)
    (?i:'s)      ->  Chars(') Chars(S s U+017F)
    $            ->  Look(ahead, negative, Chars(ALL))          in the dialect where $ is the very end of the text

Invariant: after this stage nothing depends on the Unicode version or on the dialect, but for the rule on empty matches.
Rejected: folding text instead of sets (changes offsets), and a fold of whole strings (one code point in a set is one code point
in the text: where an engine folds several to one, as Oniguruma does for "ss", the pattern is refused).
Sources: UTS #18 (1.2 properties, 1.5 simple loose matches, Annex C); the engines themselves, see `dialects`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache

from .anchors import anchor
from .by_case import among, by_case, class_of_several, misread, starts
from .classes import Combine, Expression, Named, Points
from .codeset import EMPTY, CodeSet, union
from .dialects import Dialect
from .errors import PatternError
from .limits import Limits
from .properties import Properties, parts
from .tree import Alternate, Anchor, Atomic, Chars, Concat, Leaf, Look, Node, Repeat, SearchStart, backtracks, empty_last, nullable

__all__ = ["Resolver", "resolve", "sets"]

Span = tuple[int, int]
LONGEST_FOLD = 3  # characters that full case folding makes of one


def resolve(tree: Node, properties: Properties, dialect: Dialect, pattern: str, limits: Limits | None = None) -> Node:
    """The tree over sets; PatternError for a name that the version of Unicode does not have, LimitError if it takes too long."""
    resolver = Resolver(properties, dialect, pattern, backtracks(tree), limits or Limits())
    if dialect.fold_starts and (leaf := misread(tree)) is not None:
        raise PatternError("this engine may read this in another way among alternatives than alone", pattern, leaf.span,
                           "write all alternatives of one character as one class")  # fmt: skip
    found = resolver.node(tree)
    first = starts(tree, resolver.unfolded, resolver.close, resolver.folded) if dialect.fold_starts else None
    if first is None:
        return found
    whole = (0, len(pattern))
    return Concat((Look(Chars(first, whole), True, False, whole), found), whole)


def sets(tree: Node) -> set[CodeSet]:
    """Every set that occurs in the tree."""
    match tree:
        case Chars(points):
            return {points}
        case SearchStart():
            return set()
        case Concat(items) | Alternate(items):
            return set().union(*(sets(item) for item in items))
        case Repeat(item) | Atomic(item) | Look(item):
            return sets(item)
    raise AssertionError(f"not resolved: {tree}")


@cache
def folded_strings() -> dict[str, int]:
    """The strings of several characters that full case folding maps one code point to, and that code point."""
    return {f: c for c in range(0x110000) if len(f := chr(c).casefold()) > 1}


def strung(items: tuple[Node, ...]) -> Iterator[Node]:
    """The items with those of groups among them: Oniguruma joins the letters of `s(?:s)`, and of `s{1}s`, before it folds."""
    for item in items:
        while isinstance(item, Repeat) and (item.low, item.high) == (1, 1):
            item = item.item
        if isinstance(item, Concat):
            yield from strung(item.items)
        else:
            yield item


def plain(body: Node) -> bool:
    """Whether a body is one set, repeated: then a count of it reaches the same ends in the same order, wherever empty iterations stop it."""
    return isinstance(body, Repeat) and isinstance(body.item, Chars)


def combined(parts: list[CodeSet], how: str, limits: Limits) -> CodeSet:
    """One set of many, at once where one sort does it: a class may have a hundred thousand members."""
    match how:
        case "union":
            return union(dict.fromkeys(parts))
        case "intersection":
            return ~union(~part for part in dict.fromkeys(parts))
        case "difference":
            return parts[0] - union(dict.fromkeys(parts[1:]))
    points = parts[0]
    for part in parts[1:]:
        limits.check_time()
        points = (points | part) - (points & part)
    return points


@cache  # each \b asks for it
def words(properties: Properties, joiners: bool, latin1_numbers: bool) -> CodeSet:
    names = ("Alphabetic", "M", "Nd", "Pc") + (("Join_Control",) if joiners else ())
    found = [points for name in names if (points := properties.property(name)) is not None]
    assert len(found) == len(names)
    return union(found) | (CodeSet.of(0xB2, 0xB3, 0xB9, 0xBC, 0xBD, 0xBE) if latin1_numbers else EMPTY)


class Resolver:
    def __init__(self, properties: Properties, dialect: Dialect, pattern: str, backtracks: bool, limits: Limits) -> None:
        self.properties, self.dialect, self.pattern, self.backtracks, self.limits = properties, dialect, pattern, backtracks, limits
        self.known: dict[tuple[str, str, bool, bool], CodeSet] = {}  # by kind, name, whether negated, whether under (?i)

    def node(self, node: Node) -> Node:
        self.limits.check_time()
        match node:
            case Leaf(what, fold, span):
                return Chars(self.leaf(what, fold, span), span)
            case Anchor():
                return anchor(node, self.dialect, self.word(bare=True))
            case Concat(items, span):
                self.check_fold(items)
                return Concat(tuple(self.node(item) for item in items), span)
            case Alternate(branches, span):
                if self.dialect.fold_starts:
                    self.check_branches(branches)
                return Alternate(tuple(self.node(branch) for branch in branches), span)
            case Repeat(item, low, high, mode, span):
                again = Repeat(self.node(item), low, high, mode, span)
                if not self.dialect.counted_empty and max(low, high or 0) > 1 and nullable(again.item) and not plain(again.item):
                    raise PatternError("this engine may end a counted repetition early when its body matches nothing", self.pattern, span,
                                       "repeat something that cannot be empty, or write the repetition out")  # fmt: skip
                if self.dialect.passes_empty and high is None and not empty_last(again.item):
                    if self.backtracks:
                        raise PatternError("where there are lookarounds, this engine reads a loop over what may be empty in one of two ways",
                                           self.pattern, span, "repeat something that cannot be empty, or put what may be last")  # fmt: skip
                    again = replace(again, passes=True)
                return again
            case Atomic(item, span):
                return Atomic(self.node(item), span)
            case Look(item, ahead, negative, span):
                return Look(self.node(item), ahead, negative, span)
        raise AssertionError(f"resolved already: {node}")

    def read(self, leaf: Leaf) -> CodeSet:
        return self.leaf(leaf.what, leaf.fold, leaf.span)

    def leaf(self, what: Expression, fold: bool, span: Span) -> CodeSet:
        points = self.expression(what, fold)
        if fold and isinstance(what, Combine) and not self.dialect.fold_members:
            points = ~self.close(~points) if what.negated else self.close(points)
        if fold and self.dialect.fold_strings and not isinstance(what, Named) and not (isinstance(what, Combine) and what.negated):
            many = [c for c in folded_strings().values() if c in points]
            if many:
                raise PatternError(
                    f"under (?i) this engine lets U+{many[0]:04X} match several characters", self.pattern, span,
                    "write the set without (?i), as the characters you mean",
                )  # fmt: skip
        return points

    def check_fold(self, items: tuple[Node, ...]) -> None:
        """Refuse literal strings that Oniguruma would let one code point match, such as "ss" under (?i)."""
        if not self.dialect.fold_strings:
            return
        run, first = "", 0
        for item in strung(items):
            simple = isinstance(item, Leaf) and item.fold and isinstance(item.what, Points) and len(item.what.points) == 1
            self.limits.check_time()
            if not simple:
                run = ""
                continue
            assert isinstance(item, Leaf) and isinstance(item.what, Points)
            first = first if run else item.span[0]
            run = (run + chr(item.what.points.ranges[0][0]).casefold())[-LONGEST_FOLD:]
            for text, code_point in folded_strings().items():
                if run.endswith(text):
                    raise PatternError(
                        f"under (?i) this engine lets U+{code_point:04X} match {text!r}", self.pattern, (first, item.span[1]),
                        "write the letters as classes, such as [Ss][Ss]",
                    )  # fmt: skip

    def check_branches(self, branches: tuple[Node, ...]) -> None:
        """Refuse what `regex` may join to one class with the other alternatives, if that reads it in another way."""
        for leaf in among(branches):
            if self.leaf(leaf.what, True, leaf.span) != by_case(leaf.what, self.unfolded, self.close):
                raise PatternError("under (?i) this engine may read this in another way among alternatives than alone", self.pattern, leaf.span,
                                   "write all of these as one class, such as [x\\p{Lu}]")  # fmt: skip

    def unfolded(self, what: Expression) -> CodeSet:
        return self.expression(what, False)

    def folded(self, what: Expression) -> CodeSet:
        return self.expression(what, True)

    def expression(self, what: Expression, fold: bool) -> CodeSet:
        self.limits.check_time()
        match what:
            case Points(points):
                return self.close(points) if fold else points
            case Named(kind, name, negated, span):
                key = kind, name, negated, fold
                if key not in self.known:
                    points = self.named(kind, name, span)
                    if fold and kind in ("property", "posix"):
                        points = self.fold_property(points)
                    self.known[key] = ~points if negated else points
                return self.known[key]
            case Combine(how, members, negated):
                many = len(members) != 1 or isinstance(members[0], Combine)
                if many and self.dialect.fold_properties == "cased":
                    return class_of_several(members, negated, fold, self.unfolded, self.close)
                parts = [self.expression(member, fold and self.dialect.fold_members) for member in members]
                points = combined(parts, how, self.limits) if parts else EMPTY
                if many and fold and self.dialect.fold_members:
                    points = self.close(points)
                return ~points if negated else points

    def close(self, points: CodeSet) -> CodeSet:
        closed = self.properties.close_over_case(points)
        if self.dialect.fold_dots:
            closed |= CodeSet.of(*(b for a, b in ("i\u0130", "\u0130i", "I\u0131", "\u0131I") if ord(a) in points))
        return closed

    def fold_property(self, points: CodeSet) -> CodeSet:
        if self.dialect.fold_properties == "closed":
            return self.close(points)
        if self.dialect.fold_properties == "cased":
            for names, all_of_them in ((("Lu", "Ll", "Lt"), "LC"), (("Uppercase", "Lowercase"), "Cased")):
                if points in (self.properties.property(name) for name in names):
                    return self.property(all_of_them, (0, 0))
        return points

    def property(self, name: str, span: Span) -> CodeSet:
        points = self.properties.property(name)
        if points is None:
            raise PatternError(
                f"a property {name!r} is not known", self.pattern, span,
                "general categories (L, Lu, ...), scripts (Han, Latin, ...), Any, and what is yes or no (Alphabetic, Uppercase, Emoji, "
                "ID_Start, ...) are, by Unicode's names; write the characters of another as a class",
            )  # fmt: skip
        return points

    def named(self, kind: str, name: str, span: Span) -> CodeSet:
        if kind == "property":
            what, loosely = parts(name)
            if loosely in self.dialect.missing or f"{what}={loosely}" in self.dialect.missing:
                raise PatternError(f"this engine knows no property {name!r}", self.pattern, span, "write the characters that it has as a class")
            return self.property("Punctuation" if name.lower() == "punct" else name, span)
        if kind == "posix":
            return self.posix(name, span)
        if name == "s":
            return self.property("White_Space", span)
        if name == "d":
            return self.property("Nd", span)
        if name == "w":
            return self.word(bare=kind == "escape")
        if self.dialect.h == "hex":
            return CodeSet([(0x30, 0x39), (0x41, 0x46), (0x61, 0x66)])
        return self.property("Zs", span) | CodeSet.of("\t")

    def word(self, bare: bool) -> CodeSet:
        """\\w, UTS #18 Annex C, with what the dialect adds or leaves out."""
        return words(self.properties, self.dialect.word_joiners, bare and self.dialect.word_latin1_numbers)

    def posix(self, name: str, span: Span) -> CodeSet:
        def get(*names: str) -> CodeSet:
            return union(self.property(name, span) for name in names)

        graph = ~get("White_Space", "Cc", "Cn", "Cs")
        compatible = self.dialect.posix == "compatible"
        digit = CodeSet([(0x30, 0x39)]) if compatible else get("Nd")
        symbols = get("S") - get("Alphabetic") if compatible else get("S")
        known = {
            "alpha": get("Alphabetic"), "digit": digit, "alnum": get("Alphabetic") | digit, "space": get("White_Space"),
            "blank": get("Zs") | CodeSet.of("\t"), "cntrl": get("Cc"), "punct": get("P") | symbols, "graph": graph,
            "print": graph | get("Zs"), "xdigit": CodeSet([(0x30, 0x39), (0x41, 0x46), (0x61, 0x66)]), "word": self.word(bare=False),
            "ascii": CodeSet([(0, 0x7F)]), "upper": get("Uppercase"), "lower": get("Lowercase"),
        }  # fmt: skip
        if name not in known:
            raise PatternError(f"[:{name}:] is not supported", self.pattern, span, f"{', '.join(known)} are")
        if self.dialect.posix != "ascii":
            return known[name]
        ascii_punctuation = CodeSet([(0x21, 0x2F), (0x3A, 0x40), (0x5B, 0x60), (0x7B, 0x7E)])
        return ascii_punctuation if name == "punct" else known[name] & CodeSet([(0, 0x7F)])
