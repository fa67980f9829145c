"""Steps + a text -> its pieces, by a backtracking engine and the rules around it, written out plainly.

    Module(plans)("I'm")        # [(0, 1), (1, 3)]

The engine is the `regex` module, version 1. It gets every set spelled out as ranges (`spell`), so that its Unicode version and its
reading of the pattern play no part: which alternative wins, how far a repetition goes and where a lookahead looks are its answers.
What becomes of matches (`find_iter`), of gaps and behaviors (`apply`), of a space in front and of bytes (`byte_level`) is written
here a second time, and shares nothing with the stages of the generator.

Slow: for `short_texts`, and for tests. Rejected: taking the byte alphabet from `bytelevel`, which is one of the things compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache

import regex

from .codeset import ALL, CodeSet
from .spell import spell
from .steps import Plan

__all__ = ["Module", "Span", "apply", "byte_level", "find_iter"]

Span = tuple[int, int]
Search = Callable[[int, bool], Span | None]  # from a position, and whether \G holds there: the leftmost match
REMEMBERED = 300_000  # pieces whose cuts one Module keeps


class Module:
    """The steps of a program, read by the `regex` module. TimeoutError after `timeout` seconds of one search: it may take forever."""

    def __init__(self, plans: Iterable[Plan], universe: CodeSet = ALL, timeout: float | None = None) -> None:
        self.plans, self.timeout = tuple(plans), timeout
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
            if len(self.known) > REMEMBERED:
                self.known.clear()
            self.known[key] = self.cut(number, text)
        return self.known[key]

    def cut(self, number: int, text: str) -> list[Span]:
        plan, (free, anchored) = self.plans[number], self.compiled[number]
        added = 1 if plan.prefix and text and text[0] != " " else 0
        text = " " * added + text

        def search(at: int, holds: bool) -> Span | None:
            found = (anchored if holds else free).search(text, at, timeout=self.timeout)
            return found.span() if found else None

        spans = apply(find_iter(search, len(text), plan.empty), len(text), plan.behavior, plan.invert)
        spans = [(max(a - added, 0), b - added) for a, b in spans]
        return [(a, b) for a, b in spans if a < b]


def byte_level(text: str) -> str:
    """The text as ByteLevel shows it: a character for each byte, itself if it is printable in Latin-1, else from U+0100 on."""
    shown = shown_bytes()
    return "".join(shown[b] for b in text.encode())


@cache
def shown_bytes() -> list[str]:
    printable = [*range(ord("!"), ord("~") + 1), *range(ord("\u00a1"), ord("\u00ac") + 1), *range(ord("\u00ae"), ord("\u00ff") + 1)]
    hidden = [b for b in range(256) if b not in printable]
    return [chr(b) if b in printable else chr(0x100 + hidden.index(b)) for b in range(256)]


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
