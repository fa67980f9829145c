"""Pattern text -> syntax tree. Knows no Unicode data and no cells; every node keeps its span, so that errors point with carets.

    parse("a|\\\\p{L}+(?!\\\\S)", FANCY)
    Alternate( Leaf(a) , Concat( Repeat(Leaf(\\\\p{L}), 1, None, greedy) , Look(ahead, negative, Leaf(\\\\S)) ) )

Invariant: the tree says what was written under the dialect's reading of it and nothing else; what a name means is `resolve`'s.
Refused, with the place: backreferences, recursion, conditions, absent operators, verbs and the multi-code-point escapes (\\\\R, \\\\X).
Rejected: Python's `re._parser` (no spans, no properties, no class sets, another dialect) and `regex`'s (private and untyped).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import NoReturn

from .classes import dot, escape, literal, parse_class
from .dialects import Dialect
from .errors import PatternError
from .limits import Limits
from .tree import Alternate, Anchor, Atomic, Concat, Leaf, Look, Node, Repeat

__all__ = ["parse"]

NESTING = 150  # deeper groups and longer stacks of quantifiers than this would only exhaust the interpreter's stack
# How many mistakes the regex module may pass over: {e<=1}, {1<e<3}, {2i+1d<=3:[a-z]}. What begins so and does not end so, it refuses.
FUZZY = re.compile(r"\{(?:[isde]|\d+[isde][\disde+]*<|\d+<=?[isde]<)")
COUNT = re.compile(r"\{(\d*)(?:(,)(\d*))?(\})?", re.ASCII)


@dataclass(frozen=True)
class Flags:
    fold: bool = False
    dotall: bool = False
    multiline: bool = False


def parse(pattern: str, dialect: Dialect, limits: Limits | None = None) -> Node:
    """The tree of `pattern`, or PatternError. Time and space linear in the pattern; LimitError if it takes too long even so."""
    reader = Reader(pattern, dialect, limits or Limits())
    tree = reader.alternation(Flags(), 0)
    if reader.at < len(pattern):
        reader.fail("this parenthesis closes no group", reader.at, reader.at + 1, "write \\) for the character")
    return tree


class Reader:
    def __init__(self, pattern: str, dialect: Dialect, limits: Limits) -> None:
        self.pattern, self.dialect, self.limits, self.at = pattern, dialect, limits, 0
        self.captured = -1  # where the last group begins that is kept by number or name
        self.not_behind = -1  # and the last negative lookbehind
        self.height = 0  # of what was read last: groups in groups, and quantifiers behind the first of what they repeat

    def fail(self, reason: str, first: int, last: int, advice: str = "") -> NoReturn:
        raise PatternError(reason, self.pattern, (first, min(last, len(self.pattern))), advice)

    def ahead(self, text: str) -> bool:
        return self.pattern.startswith(text, self.at)

    def alternation(self, flags: Flags, depth: int) -> Node:
        """Branches up to the end or to an unread ")"."""
        if depth > NESTING:
            self.fail(f"groups are nested more than {NESTING} deep", self.at - 1, self.at)
        start, height = self.at, 0
        branches: list[Node] = []
        while True:
            first = self.at
            items: list[Node] = []
            while self.at < len(self.pattern) and self.pattern[self.at] not in "|)":
                if (switched := self.flag_switch(flags)) is not None:
                    self.check_switch(items, branches)
                    flags = switched
                else:
                    self.limits.check_time()
                    self.height = 0
                    if (item := self.atom(flags, depth)) is not None:
                        items.append(self.repeated(item, depth))
                    height = max(height, self.height)
            branches.append(items[0] if len(items) == 1 else Concat(tuple(items), (first, self.at)))
            if not self.ahead("|"):
                self.height = height
                return branches[0] if len(branches) == 1 else Alternate(tuple(branches), (start, self.at))
            self.at += 1

    def check_switch(self, items: list[Node], branches: list[Node]) -> None:
        """Engines disagree on how far (?i) in the middle of a group reaches past "|"; where they agree it is accepted."""
        if items or branches:
            self.fail("flags that change in the middle of a group are read differently by different engines",
                      self.at - 1, self.at, "write them around what they are for: (?i:...)")  # fmt: skip

    def flag_switch(self, flags: Flags) -> Flags | None:
        """Reads "(?i)" and returns the flags from here on; leaves anything else unread."""
        if not self.ahead("(?") or (close := self.pattern.find(")", self.at)) < 0:
            return None
        letters = self.pattern[self.at + 2 : close]
        if not letters or letters.isdigit() or not set(letters) <= set("imsuxnaLwfbeprV01-"):
            return None
        start, self.at = self.at, close + 1
        return self.flags(letters, flags, start)

    def flags(self, letters: str, flags: Flags, start: int) -> Flags:
        on, _, off = letters.partition("-")
        if set(on) & set(off):
            self.fail("a flag is turned on and off at once", start, self.at, "engines read that differently; say which it is")
        for letter in on + off:
            value = letter in on
            if letter == "i":
                flags = replace(flags, fold=value)
            elif (letter == "s" and self.dialect.dotall_flag) or (letter == "m" and self.dialect.multiline_flag == "dot"):
                flags = replace(flags, dotall=value)
            elif letter == "m":
                flags = replace(flags, multiline=value)
            elif letter != "u" or not value or not self.dialect.unicode_flag:
                self.fail(f"flag {letter!r} is not supported in the {self.dialect.name} dialect", start, self.at,
                          f"i{', m and s' if self.dialect.dotall_flag else ' and m'} are; write the pattern without the flag")  # fmt: skip
        return flags

    def atom(self, flags: Flags, depth: int) -> Node | None:
        start, c = self.at, self.pattern[self.at]
        if c == "(":
            return self.group(flags, depth)
        if c == "[":
            what, self.at = parse_class(self.pattern, self.at, self.dialect, self.limits)
            return Leaf(what, flags.fold, (start, self.at))
        if c in "*+?" or (c == "{" and self.count() is not None):
            self.fail("nothing to repeat before this", start, start + 1, f"write \\{c} for the character")
        if "approximate matches" in self.dialect.refuses and FUZZY.match(self.pattern, start):
            self.fail("this asks for approximate matches", start, start + 1, "write \\{ for the character")
        self.at = start + 1
        if c == ".":
            return Leaf(dot(flags.dotall), False, (start, self.at))
        if c in "^$":
            return Anchor(c, flags.multiline, (start, self.at))
        if c != "\\":
            return Leaf(literal(ord(c)), flags.fold, (start, self.at))
        letter = self.pattern[self.at : self.at + 1]
        edge = letter in tuple("<>") and self.dialect.word_edges
        if letter in tuple("AGbBZz") or edge:
            self.at += 1
            if letter in "bB" and self.ahead("{"):
                self.fail("this kind of word boundary is not supported", start, self.at + 1)
            return Anchor(letter, False, (start, self.at))
        what, self.at = escape(self.pattern, start, self.dialect, in_class=False)
        fold = flags.fold and (self.dialect.fold_escaped or letter.isascii())
        return Leaf(what, fold, (start, self.at))

    def group(self, flags: Flags, depth: int) -> Node | None:
        start = self.at
        if self.ahead("(?#"):
            self.at = self.pattern.find(")", start) + 1 or self.fail("this comment is not closed", start, start + 3)
            return None
        for opening, ahead, negative in (("(?=", True, False), ("(?!", True, True), ("(?<=", False, False), ("(?<!", False, True)):
            if self.ahead(opening):
                self.at += len(opening)
                body = self.closed(flags, depth, start)
                if self.captured > start and opening == "(?<!" and "groups behind (?<!" in self.dialect.refuses:
                    self.fail("this engine keeps no group of a negative lookbehind", self.captured, self.at, "write (?:...)")
                if self.not_behind > start and opening == "(?<=" and "(?<! in (?<=" in self.dialect.refuses:
                    self.fail("this engine takes no negative lookbehind in a lookbehind that is not", self.not_behind, self.at)
                self.not_behind = start if opening == "(?<!" else self.not_behind
                return Look(body, ahead, negative, (start, self.at))
        if self.ahead("(?>"):
            self.at += 3
            return Atomic(self.closed(flags, depth, start), (start, self.at))
        if self.ahead("(*"):
            self.fail("backtracking verbs are not supported", start, start + 2, "write \\* for the character")
        captures = not self.ahead("(?")
        if captures:
            self.captured = start
            self.at += 1
        else:
            flags, captures = self.group_opening(flags, start)
        body = self.closed(flags, depth, start)
        return Concat((body,), (start, self.at)) if captures and is_place(body, self.dialect) else body

    def group_opening(self, flags: Flags, start: int) -> tuple[Flags, bool]:
        """Reads "(?:", "(?i-s:" or "(?<name>". True if the engine keeps the group, so that it may be repeated whatever is in it."""
        for opening, close in (("(?P<", ">"), ("(?<", ">"), ("(?'", "'")):
            if not self.ahead(opening):
                continue
            end = self.pattern.find(close, start + len(opening))
            if self.pattern[start + len(opening) : end].isidentifier():
                if opening not in self.dialect.group_names:
                    self.fail("this engine has another way to name a group", start, start + 3, "write (?<name>...), or (?:...)")
                self.at, self.captured = end + 1, start
                return flags, True
        colon = self.pattern.find(":", start)
        letters = self.pattern[start + 2 : colon] if colon >= 0 else "?"
        if letters.strip("imsuxna-"):
            kind = self.pattern[start + 2 : start + 3]
            reason = {"(": "conditions are not supported", "~": "the absent operator is not supported", "P": "named references are not supported",
                      "|": "branch resets are not supported", "R": "recursion is not supported", "&": "recursion is not supported"}.get(
                          kind, "recursion is not supported" if kind.isdigit() else "this kind of group is not known")  # fmt: skip
            self.fail(reason, start, start + 3, "groups, (?:...), (?i:...), (?>...), lookahead and one-character lookbehind are supported")
        self.at = colon + 1
        return self.flags(letters, flags, start), bool(letters) and self.dialect.flag_groups

    def closed(self, flags: Flags, depth: int, start: int) -> Node:
        body = self.alternation(flags, depth + 1)
        if not self.ahead(")"):
            self.fail("this group is not closed", start, start + 1, "write \\( for the character")
        self.at += 1
        self.height += 1
        return body

    def count(self) -> tuple[int, int | None, int] | None:
        """(low, high, end) of a counted repetition at the current place, or None if the brace is a literal."""
        found = COUNT.match(self.pattern, self.at)
        assert found is not None
        low, comma, high, close = found.groups("")
        known = close and (low or high or (comma and self.dialect.bare_count))
        # Digits are told apart by length first: Python reads no number of thousands of them.
        bounds = [digits.lstrip("0") or "0" for digits in (low, high)]
        most = self.dialect.largest_count
        if (known or "large counts" in self.dialect.refuses) and any(len(n) > len(str(most)) or int(n) > most for n in bounds):
            self.fail(f"this engine takes no count above {most:,}", self.at, found.end(), "leave an upper bound out, or write \\{ for the character")
        if not known:
            return None
        lowest = int(bounds[0])
        return lowest, (int(bounds[1]) if high else None) if comma else lowest, found.end()

    def repeated(self, item: Node, depth: int) -> Node:
        """`item` with the quantifiers behind it. Oniguruma stacks them; the others refuse a second one."""
        quantified = False
        while self.at < len(self.pattern):
            start, c = self.at, self.pattern[self.at]
            if c in "*+?":
                low, high = {"*": (0, None), "+": (1, None), "?": (0, 1)}[c]
                self.at += 1
            elif c == "{" and (found := self.count()) is not None:
                low, high, self.at = found
                if high is not None and high < low:
                    self.fail("the upper bound is below the lower one", start, self.at)
            else:
                break
            if quantified and not self.dialect.stacks:
                self.fail("two quantifiers in a row", start, self.at, "put a group around the first: (?:...)")
            self.height += quantified
            if depth + self.height > NESTING:
                self.fail(f"groups and quantifiers are nested more than {NESTING} deep", start, self.at, "write fewer quantifiers in a row")
            if is_place(item, self.dialect):
                self.fail("this engine does not repeat what is but a place in the text", item.span[0], self.at, "leave the quantifier out")
            mode = "greedy"
            if self.ahead("?") and (self.dialect.lazy_exact or c != "{" or "," in self.pattern[start : self.at]):
                mode, self.at = "lazy", self.at + 1
            elif self.ahead("+") and (c != "{" or self.dialect.possessive_counts):
                mode, self.at = "possessive", self.at + 1
            item, quantified = Repeat(item, low, high, mode, (item.span[0], self.at)), True
        return item


def is_place(node: Node, dialect: Dialect) -> bool:
    """What the engine has no quantifier for."""
    match node:
        case Look():
            return "look" in dialect.unrepeated
        case Anchor(what):
            return "anchor" in dialect.unrepeated or ("start" in dialect.unrepeated and what == "G")
        case Concat(()):
            return "nothing" in dialect.unrepeated
        case Alternate(branches):
            return "branches" in dialect.unrepeated and any(is_place(one, dialect) for one in branches)
    return False
