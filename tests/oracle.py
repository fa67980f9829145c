"""The only door to the engines that our lexers must equal, and the rules around them written as a definition, slowly and plainly.

    expected(program, "I'm")                    ->  [(0, 1), (1, 3)]     the `regex` module on spelled-out sets, step by step
    Tokenizers(steps)("I'm")                    ->  [(0, 1), (1, 3)]     Hugging Face tokenizers itself
    Tiktoken(pattern, ["I'm", ...])("I'm")      ->  ["I", "'m"]          tiktoken itself

Three engines with different strengths. The module backtracks as the pattern says and is told every set, so it checks the automata on
any text, lone surrogates included. The other two are the references: they check the sets, the syntax and the rules as well.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import pytest

from generator import Program, Step
from generator.codeset import ALL, CodeSet
from generator.steps import Plan
from spell import spell

regex = pytest.importorskip("regex", reason="the regex module is not installed: no oracle")

Span = tuple[int, int]
Search = Callable[[int, bool], Span | None]  # from a position, and whether \G holds there: the leftmost match

BEHAVIORS = ("isolated", "removed", "merged_with_previous", "merged_with_next", "contiguous")


# --- (a) the regex module -----------------------------------------------------------------------------------------------------------


class Module:
    """The steps of a program, read by the `regex` module."""

    def __init__(self, plans: Iterable[Plan], universe: CodeSet = ALL) -> None:
        self.plans = tuple(plans)
        self.compiled = [
            [regex.compile(spell(plan.tree, universe, anchored=yes), regex.V1) for yes in (False, True)] for plan in self.plans
        ]
        self.known: dict[tuple[int, str], list[Span]] = {}

    def __call__(self, text: str) -> list[Span]:
        """The pieces: every step cuts every piece of the step before, as a text of its own. Steps behind a ByteLevel see every byte as
        one character; then the offsets are those of the bytes."""
        pieces = [(0, len(text))] if text else []
        shown = False
        for number, plan in enumerate(self.plans):
            if plan.bytewise and not shown:
                pieces = [(len(text[:a].encode()), len(text[:b].encode())) for a, b in pieces]
                text, shown = byte_level(text), True
            pieces = [(a + s, a + e) for a, b in pieces for s, e in self.step(number, text[a:b])]
        return pieces

    def step(self, number: int, text: str) -> list[Span]:
        key = number, text
        if key not in self.known:
            if len(self.known) > 300_000:
                self.known.clear()
            self.known[key] = self.cut(number, text)
        return self.known[key]

    def cut(self, number: int, text: str) -> list[Span]:
        plan, (free, anchored) = self.plans[number], self.compiled[number]
        added = 1 if plan.prefix and text and text[0] != " " else 0
        text = " " * added + text

        def search(at: int, holds: bool) -> Span | None:
            found = (anchored if holds else free).search(text, at)
            return found.span() if found else None

        spans = apply(find_iter(search, len(text), plan.empty), len(text), plan.behavior, plan.invert)
        spans = [(max(a - added, 0), b - added) for a, b in spans]
        return [(a, b) for a, b in spans if a < b]


def byte_level(text: str) -> str:
    """The text as ByteLevel shows it: a character for each byte, itself if it is printable in Latin-1, else from U+0100 on."""
    shown = [*range(ord("!"), ord("~") + 1), *range(ord("\u00a1"), ord("\u00ac") + 1), *range(ord("\u00ae"), ord("\u00ff") + 1)]
    hidden = [b for b in range(256) if b not in shown]
    return "".join(chr(b) if b in shown else chr(0x100 + hidden.index(b)) for b in text.encode())


def find_iter(search: Search, length: int, empty: str) -> Iterator[Span]:
    """Successive matches. An empty match right behind a match does not count; behind any other one "retry" searches again at the
    same place, and "advance" goes on one character later, where \\G does not hold then."""
    at, last, holds = 0, -1, True
    while at <= length:
        found = search(at, holds)
        if found is None:
            return
        start, end = found
        holds = True
        if start == end == last:
            at, holds = end + 1, empty == "retry"
            continue
        yield found
        last = at = end
        if start == end and empty == "advance":
            at, holds = end + 1, False


def apply(matches: Iterable[Span], length: int, behavior: str, invert: bool) -> list[Span]:
    """Matches and the gaps between them, made pieces by one of the five behaviors."""
    flagged: list[tuple[int, int, bool]] = []
    at = 0
    for start, end in matches:
        if at < start:
            flagged.append((at, start, invert))
        flagged.append((start, end, not invert))
        at = end
    if at < length:
        flagged.append((at, length, invert))
    out: list[Span] = []
    before = False
    match behavior:
        case "isolated":
            out = [(a, b) for a, b, _ in flagged]
        case "removed":
            out = [(a, b) for a, b, flag in flagged if not flag]
        case "contiguous":
            for a, b, flag in flagged:
                if out and flag == before:
                    out[-1] = out[-1][0], b
                else:
                    out.append((a, b))
                before = flag
        case "merged_with_previous":
            for a, b, flag in flagged:
                if out and flag and not before:
                    out[-1] = out[-1][0], b
                else:
                    out.append((a, b))
                before = flag
        case "merged_with_next":
            for a, b, flag in reversed(flagged):
                if out and flag and not before:
                    out[-1] = a, out[-1][1]
                else:
                    out.append((a, b))
                before = flag
            out.reverse()
    return [(a, b) for a, b in out if a < b]


def spans(plan: Plan, text: str) -> list[Span]:
    """One step on one text."""
    return Module((plan,))(text)


def expected(program: Program, text: str) -> list[Span]:
    return Module(program.plans)(text)


def original(pattern: str, text: str, *, version: int = 1) -> list[Span]:
    """The matches of the pattern as it was written, read by the module under its own rules."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compiled = regex.compile(pattern, regex.V1 if version else regex.V0)

    def search(at: int, _: bool) -> Span | None:
        found = compiled.search(text, at)
        return found.span() if found else None

    return list(find_iter(search, len(text), "retry"))


# --- (b) Hugging Face tokenizers ------------------------------------------------------------------------------------------------------


class Tokenizers:
    """The steps as a pre_tokenizer of the installed tokenizers. Refuses what it does: ValueError for a pattern, surrogates in a text."""

    def __init__(self, steps: Sequence[Step]) -> None:
        tokenizers = pytest.importorskip("tokenizers", reason="tokenizers is not installed")
        kinds = [step.kind for step in steps]
        self.bytewise = "ByteLevel" in kinds[:-1]
        self.made = tokenizers.pre_tokenizers.Sequence([self.make(tokenizers, step) for step in steps])

    @staticmethod
    def make(tokenizers: Any, step: Step) -> Any:
        known = tokenizers.pre_tokenizers
        match step.kind:
            case "Split":
                try:
                    pattern = step.string if step.regex is None else tokenizers.Regex(step.regex)
                except Exception as error:  # it has no class of its own
                    raise ValueError(str(error)) from None
                return known.Split(pattern, step.behavior, step.invert)
            case "Digits":
                return known.Digits(individual_digits=step.individual)
            case "Punctuation":
                return known.Punctuation(step.behavior)
            case "ByteLevel":
                return known.ByteLevel(add_prefix_space=step.add_prefix_space, use_regex=step.use_regex)
            case "Whitespace":
                return known.Whitespace()
            case "WhitespaceSplit":
                return known.WhitespaceSplit()
        raise AssertionError(step)

    def __call__(self, text: str) -> list[Span]:
        if self.bytewise:  # its offsets are of characters, which it cuts through: count the bytes it shows instead
            ends = list(itertools.accumulate(len(piece) for piece, _ in self.made.pre_tokenize_str(text)))
            return list(itertools.pairwise([0, *ends]))
        # A piece made of nothing but the space that was added is no part of the text; the reference gives it the place of its neighbour.
        found = self.made.pre_tokenize_str(text)
        return [(a, b) for piece, (a, b) in found if a < b and not (piece == "\u0120" and text[a:b] != " ")]


# --- (c) tiktoken -----------------------------------------------------------------------------------------------------------------------

BYTES = [bytes((b,)) for b in range(256)]


def encoding(pattern: str, pieces: Iterable[bytes]) -> Any:
    tiktoken = pytest.importorskip("tiktoken", reason="tiktoken is not installed")
    ranks = {piece: rank for rank, piece in enumerate(dict.fromkeys([*BYTES, *pieces]))}
    return tiktoken.Encoding(name="boundaries", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})


class Tiktoken:
    """Pieces of short texts. The vocabulary holds every substring of every text, so that a piece is always one token."""

    def __init__(self, pattern: str, texts: Iterable[str]) -> None:
        pieces = {t[a:b].encode() for t in texts for a in range(len(t)) for b in range(a + 1, len(t) + 1)}
        self.encoding = encoding(pattern, sorted(pieces))

    def __call__(self, text: str) -> list[str]:
        return [piece.decode() for piece in self.encoding.decode_tokens_bytes(self.encoding.encode_ordinary(text))]


def tiktoken_agrees(pattern: str, text: str, pieces: Sequence[str]) -> int | None:
    """None if tiktoken cuts a long `text` into exactly `pieces`, else the number of the first piece that differs.

    The vocabulary holds the pieces and each two neighbours joined. A right piece is then one token; and a piece of tiktoken's that
    covers two of ours can not come out as these two, because byte pair encoding would have joined them.
    """
    encoded = [piece.encode() for piece in pieces]
    joined = (a + b for a, b in zip(encoded, encoded[1:], strict=False))
    made = encoding(pattern, [*encoded, *joined])
    tokens = made.decode_tokens_bytes(made.encode_ordinary(text))
    if tokens == encoded:
        return None
    return next((i for i, (a, b) in enumerate(zip(tokens, encoded, strict=False)) if a != b), min(len(tokens), len(encoded)))
