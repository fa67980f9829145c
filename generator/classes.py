"""The leaves of a pattern: escapes and bracket classes, read into expressions over sets that still have names in them.

    parse_class(r"[^\\r\\n\\p{L}]", 0, FANCY)   ->   Union(Points(CR LF), Named(L), negated)

Invariant: no Unicode data is read here; `resolve` turns an expression into a set for one version and dialect.
Source for the syntax: the dialects' own documentation and measurements (see `dialects`); UTS #18 for class sets.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NoReturn

from .codeset import ALL, LAST, CodeSet
from .dialects import Dialect
from .errors import PatternError
from .limits import Limits

__all__ = ["Combine", "Expression", "Named", "Points", "dot", "escape", "literal", "parse_class"]


@dataclass(frozen=True)
class Points:
    """A set written out in the pattern."""

    points: CodeSet


@dataclass(frozen=True)
class Named:
    """A set that has a name: kind "property" (\\\\p{..}), "posix" ([:..:]), "escape" (s d w h) or "class escape" (the same inside [..])."""

    kind: str
    name: str
    negated: bool
    span: tuple[int, int]


@dataclass(frozen=True)
class Combine:
    """A bracket class: the union, intersection, difference or symmetric difference of its members, then perhaps the complement."""

    how: str
    members: tuple[Expression, ...]
    negated: bool


Expression = Points | Named | Combine

CONTROLS = {"n": 10, "r": 13, "t": 9, "f": 12, "v": 11, "a": 7, "e": 27}
OPERATORS = {"&&": "intersection", "--": "difference", "~~": "symmetric difference"}
OCTAL = re.compile(r"0[0-7]{0,2}|[1-7][0-7]{2}")
POSIX = re.compile(r"\[:\^?([^\W\d_]+):\]")
QUALIFIED = re.compile(r"\[:\^?[\w &.-]*(?:[:=][\w &./-]*)?:\]", re.ASCII)  # what the regex module looks up as a property
REFUSED = {
    "R": ("a line break of one or two characters is not supported as an escape", r"write (?>\r\n|[\n\x0B\f\r\u0085\u2028\u2029])"),
    "X": ("grapheme clusters are not supported", r"write what is to stay together, such as \P{M}\p{M}*"),
    "K": ("resetting the start of a match is not supported", "ask for the character that stands before: (?<=...)"),
}


def literal(code_point: int) -> Points:
    return Points(CodeSet.of(code_point))


def dot(newline_too: bool) -> Points:
    return Points(ALL if newline_too else ~CodeSet.of("\n"))


def fail(reason: str, pattern: str, first: int, last: int, advice: str = "") -> NoReturn:
    raise PatternError(reason, pattern, (first, min(last, len(pattern))), advice)


def escape(pattern: str, at: int, dialect: Dialect, in_class: bool) -> tuple[Expression, int]:
    """The expression of the escape whose backslash is at `at`, and the place after it."""
    if at + 1 >= len(pattern):
        fail("the pattern ends in a backslash", pattern, at, at + 1, "write \\\\ for the character")
    c = pattern[at + 1]
    if c in "pP" and pattern[at + 2 : at + 3] == "{":
        close = pattern.find("}", at)
        if close < 0:
            fail("this property name is not closed", pattern, at, at + 3)
        name, negated = pattern[at + 3 : close], c == "P"
        if "=" in name and not dialect.property_values:
            fail("this engine knows properties by one name alone", pattern, at, close + 1, "write \\p{Lu} or \\p{Latin}")
        if name.startswith("^"):
            name, negated = name[1:], not negated
        return Named("property", name, negated, (at, close + 1)), close + 1
    if c in "pP" and "small properties" in dialect.refuses and pattern[at + 2 : at + 3] not in tuple("CLMNPSZ"):  # to the module, a letter p
        fail("a property needs a name", pattern, at, at + 2, "write \\p{L}, or \\pL with a capital letter")
    if c in "pP" and dialect.bare_property and pattern[at + 2 : at + 3].isalpha():
        return Named("property", pattern[at + 2], c == "P", (at, at + 3)), at + 3
    if c in "pP":
        if dialect.bare_property:
            fail("a property needs a name", pattern, at, at + 2, "write \\p{L}")
        return literal(ord(c)), at + 2
    if c in dialect.unknown:
        fail(f"this engine knows no \\{c}", pattern, at, at + 2, f"write {c} for the character")
    if c in "sSdDwWhH":
        kind = "class escape" if in_class else "escape"
        return Named(kind, c.lower(), c.isupper(), (at, at + 2)), at + 2
    if c in CONTROLS:
        return literal(CONTROLS[c]), at + 2
    if c == "U" and not dialect.long_escape:
        return literal(ord(c)), at + 2
    if c in "xu" and c not in dialect.braced and pattern[at + 2 : at + 3] == "{":
        others = ["\\u0041", *(["\\x{41}"] if "x" in dialect.braced else []), *(["\\U00000041"] if dialect.long_escape else [])]
        fail(f"this engine knows no \\{c}{{...}}", pattern, at, at + 3, f"write {' or '.join(others)}")
    if c in "xuU":
        return hexadecimal(pattern, at, c, dialect)
    if c == "b" and in_class:
        return literal(8), at + 2
    if (octal := OCTAL.match(pattern, at + 1)) is not None:
        fail("octal escapes are not supported", pattern, at, octal.end(), f"write \\u{int(octal[0], 8):04X} for the code point")
    if c in "123456789":
        fail("a backreference is not a regular expression", pattern, at, at + 2, "a lexer has no memory of what a group matched; write it out")
    if c == "k" or c == "g":
        fail("a named reference is not a regular expression", pattern, at, at + 2, "a lexer has no memory of what a group matched; write it out")
    if c in REFUSED:
        reason, advice = REFUSED[c]
        fail(reason, pattern, at, at + 2, advice)
    if c.isascii() and c.isalnum():
        fail(f"the escape \\{c} is not known", pattern, at, at + 2, f"write {c} for the character")
    return literal(ord(c)), at + 2


def hexadecimal(pattern: str, at: int, c: str, dialect: Dialect) -> tuple[Expression, int]:
    """\\\\xHH, \\\\x{H..}, \\\\uHHHH, \\\\u{H..}, \\\\UHHHHHHHH."""
    if pattern[at + 2 : at + 3] == "{":
        end = pattern.find("}", at)
        digits, after = pattern[at + 3 : end], end + 1
    else:
        width = {"x": 2, "u": 4, "U": 8}[c]
        digits, after = pattern[at + 2 : at + 2 + width], at + 2 + width
        if len(digits) < width:
            digits = ""
    try:
        value = int(digits, 16) if digits.isascii() and digits.isalnum() else -1
    except ValueError:
        value = -1
    if not 0 <= value <= LAST:
        fail("this is not a code point in hexadecimal", pattern, at, max(after, at + 2), "write \\x41 or \\u0041")
    if value > 0x7F and after == at + 4 and not dialect.hex_code_points:
        fail(f"to this engine, \\x{digits} is a byte of a character", pattern, at, after, f"write \\x{{{digits}}} for the code point")
    if 0xD800 <= value < 0xE000 and not dialect.surrogates:
        fail("this engine knows no surrogates", pattern, at, after, "of a pair, write the character that it stands for")
    return literal(value), after


def parse_class(pattern: str, at: int, dialect: Dialect, limits: Limits | None = None, depth: int = 0) -> tuple[Expression, int]:
    """The bracket class that opens at `at`, and the place after its "]". LimitError if the time is over."""
    limits = limits or Limits()
    start, at = at, at + 1
    if depth > 50:
        fail("classes are nested more than 50 deep", pattern, start, at)
    negated = pattern[at : at + 1] == "^"
    at += negated
    first = at
    operands: list[Expression] = []  # of an operator, complete
    how = "union"
    members: list[Expression] = []
    if dialect.class_leading:
        while pattern[at : at + 1] == "-":
            members.append(literal(ord("-")))
            at += 1
        if not members and pattern[at : at + 1] == "]" and pattern.find("]", at + 1) > 0:
            members.append(literal(ord("]")))
            at += 1
    while True:
        if at >= len(pattern):
            fail("this class is not closed", pattern, start, start + 1, "write \\[ for the character")
        pair = pattern[at : at + 2]
        if pattern[at] == "]" and (at > first or pattern.find("]", at + 1) < 0):
            at += 1
            break
        if pair in OPERATORS and dialect.class_sets and (pair == "&&" or dialect.class_difference):
            if how not in ("union", OPERATORS[pair]):
                fail("different operators in one class need brackets to say which comes first", pattern, at, at + 2)
            how = OPERATORS[pair]
            operands.append(union(members))
            members = []
            at += 2
            continue
        limits.check_time()
        member, at = class_member(pattern, at, dialect, limits, depth)
        members.append(member)
    operands.append(union(members))
    if how == "union" and not members:
        fail("this class is empty", pattern, start, at)
    return Combine(how, tuple(operands), negated), at


def union(members: list[Expression]) -> Expression:
    return members[0] if len(members) == 1 else Combine("union", tuple(members), False)


def class_member(pattern: str, at: int, dialect: Dialect, limits: Limits, depth: int) -> tuple[Expression, int]:
    if (close := posix_end(pattern, at, dialect)) > 0:
        name = pattern[at + 2 : close]
        refuse_range(pattern, at, close + 2, dialect, "ranges from classes" in dialect.refuses)
        return Named("posix", name.removeprefix("^"), name.startswith("^"), (at, close + 2)), close + 2
    if pattern[at] == "[" and dialect.class_sets:
        return parse_class(pattern, at, dialect, limits, depth + 1)
    low, after = class_point(pattern, at, dialect)
    refuse_range(pattern, at, after, dialect, not single(low) and dialect.class_sets)
    if pattern[after : after + 1] != "-" or pattern[after + 1 : after + 2] in ("]", "") or not single(low):
        return low, after
    if dialect.class_sets and pattern[after + 1] == "[":
        fail("in front of [ this engine does not read - as itself", pattern, after, after + 2, "write \\- for the character, or put it first")
    if posix_end(pattern, after + 1, dialect) > 0 or pattern.startswith(dialect.class_ends, after + 1):
        return low, after
    high, end = class_point(pattern, after + 1, dialect)
    if not isinstance(low, Points) or not isinstance(high, Points) or not single(high):
        fail("a range needs a character at both ends", pattern, at, end, "write \\- for the character")
    a, b = low.points.ranges[0][0], high.points.ranges[0][0]
    if a > b:
        fail("this range runs backwards", pattern, at, end)
    return Points(CodeSet([(a, b)])), end


def refuse_range(pattern: str, at: int, after: int, dialect: Dialect, refused: bool) -> None:
    """A set of characters, if it is followed by what looks like the rest of a range."""
    if refused and pattern[after : after + 1] == "-" and not pattern.startswith(("]", *dialect.class_ends), after + 1):
        fail("a range needs a character at both ends", pattern, at, after + 1, "write \\- for the character")


def posix_end(pattern: str, at: int, dialect: Dialect) -> int:
    """Where the name ends of a class such as [:alpha:] that begins here; 0 if none does."""
    if (named := POSIX.match(pattern, at)) is not None and named[1].isalpha():
        return named.end(1)
    if "nameless classes" in dialect.refuses and pattern.startswith("[:^:]", at):
        fail("this class has no name", pattern, at, at + 5, "write \\[ for the character")
    if "qualified classes" in dialect.refuses and (found := QUALIFIED.match(pattern, at)) is not None:
        fail("this engine reads a property here", pattern, at, found.end(), "write \\p{...} for one, or \\[ for the character")
    return 0


def single(expression: Expression) -> bool:
    return isinstance(expression, Points) and len(expression.points) == 1


def class_point(pattern: str, at: int, dialect: Dialect) -> tuple[Expression, int]:
    if pattern[at] == "\\":
        return escape(pattern, at, dialect, in_class=True)
    return literal(ord(pattern[at])), at + 1
