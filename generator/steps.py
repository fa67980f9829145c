"""One step of a family or of a tokenizer.json -> what it means: a tree over sets, a behavior, and the rules of its engine.

    Step("Digits", individual=True)   ->   Plan(Chars(\\\\p{N} of Unicode 17.0), isolated)
    Step("Split", regex=r"\\\\s+")      ->   Plan(Repeat(Chars(White_Space), 1, None), isolated)

Every kind of step is a Split in the end; what differs is where its pattern comes from and which Unicode version it reads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from .codeset import CodeSet
from .dialects import dialect
from .families import Step, byte_level_regex
from .lifted import lifted
from .limits import Limits
from .optimized import optimized
from .properties import load, special_class
from .resolve import Resolver, resolve
from .syntax import parse
from .tree import Chars, Concat, Node, unsettled

__all__ = ["Plan", "plan", "plans"]

ASCII_PUNCTUATION = CodeSet([(0x21, 0x2F), (0x3A, 0x40), (0x5B, 0x60), (0x7B, 0x7E)])


@dataclass(frozen=True)
class Plan:
    """A step ready for cells. `empty`: the dialect's rule on empty matches; `prefix`: U+0020 is read before every text.

    `bytewise`: a ByteLevel stands before it, so that its sets are of the byte alphabet (see `bytelevel`).
    """

    tree: Node
    pattern: str
    behavior: str
    invert: bool
    empty: str
    prefix: bool = False
    bytewise: bool = False
    other: Plan | None = None  # what the engine may read instead, from `other_span` of the pattern on; see `lifted`
    other_span: tuple[int, int] = (0, 0)
    stopped: Plan | None = None  # the same, its loops ending at an empty iteration; the loop is at `stopped_span`
    stopped_span: tuple[int, int] = (0, 0)
    optimized: Plan | None = None  # the same, from `optimized_span` on; see `optimized`
    optimized_span: tuple[int, int] = (0, 0)


def plans(steps: Sequence[Step], dialect_name: str, unicode: str, limits: Limits | None = None) -> tuple[Plan, ...]:
    """The plans of a sequence of steps. No step at all leaves the text whole: a split at what never matches."""
    if not steps:
        return (Plan(Chars(CodeSet(), (0, 0)), "", "isolated", False, "retry"),)
    kinds = [step.kind for step in steps]
    levels = [n for n, kind in enumerate(kinds) if kind == "ByteLevel"]
    if len(levels) > 1:
        raise ValueError(f"steps {' and '.join(str(n + 1) for n in levels)} are all ByteLevel: the second would spell bytes of bytes")
    found = tuple(plan(step, dialect_name, unicode, limits) for step in steps)
    return tuple(replace(one, bytewise=bool(levels) and n > levels[0]) for n, one in enumerate(found))


def plan(step: Step, dialect_name: str, unicode: str, limits: Limits | None = None) -> Plan:
    """What `step` does under this dialect and version (a step's own version comes first). LimitError if reading it takes too long."""
    rules = dialect(dialect_name)
    properties = load(step.unicode or unicode)

    def expression(pattern: str, behavior: str, invert: bool = False, prefix: bool = False) -> Plan:
        tree = parse(pattern, rules, limits)
        read = Resolver(properties, rules, pattern, False, limits or Limits()).read

        def made(tree: Node) -> Plan:
            found = Plan(resolve(tree, properties, rules, pattern, limits), pattern, behavior, invert, rules.empty, prefix)
            # What an iteration left out comes before or after the next one, by whether the regex crate was there before.
            if (loop := unsettled(found.tree)) is not None:
                stopped = resolve(tree, properties, replace(rules, passes_empty=False), pattern, limits)
                found = replace(found, stopped=replace(found, tree=stopped), stopped_span=loop)
            again = lifted(tree, read) if rules.lifts else None
            if again is None:
                return found
            return replace(found, other=replace(found, tree=resolve(again[0], properties, rules, pattern, limits)), other_span=again[1])

        joined = optimized(tree, read) if rules.optimizes else None
        return made(tree) if joined is None else replace(made(tree), optimized=made(joined[0]), optimized_span=joined[1])

    def one_of(points: CodeSet, shown: str, behavior: str) -> Plan:
        return Plan(Chars(points, (0, len(shown))), shown, behavior, False, rules.empty)

    def named(name: str) -> CodeSet:
        points = properties.property(name)
        assert points is not None
        return points

    match step.kind:
        case "Split" if step.regex is not None:
            return expression(step.regex, step.behavior, step.invert)
        case "Split":
            text = step.string or ""
            literal = Concat(tuple(Chars(CodeSet.of(c), (i, i + 1)) for i, c in enumerate(text)), (0, len(text)))
            return Plan(literal, text, step.behavior, step.invert, rules.empty)
        case "Digits":
            return one_of(named("N"), r"\p{N}", "isolated" if step.individual else "contiguous")
        case "Punctuation":
            return one_of(special_class("hf_punctuation") | ASCII_PUNCTUATION, "Punctuation", step.behavior)
        case "ByteLevel" if step.use_regex:
            return expression(byte_level_regex(), "isolated", prefix=step.add_prefix_space)
        case "ByteLevel":
            never = Chars(CodeSet(), (0, 0))
            return Plan(never, "", "isolated", False, rules.empty, step.add_prefix_space)
        case "WhitespaceSplit":
            return one_of(named("White_Space"), r"\s", "removed")
    # Whitespace: read by Rust's regex crate, whatever the other steps are read by.
    pattern = r"\w+|[^\w\s]+"
    rust = dialect("fancy")
    return Plan(resolve(parse(pattern, rust), properties, rust, pattern), pattern, "removed", True, rust.empty)
