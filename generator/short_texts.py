"""Tables as they were emitted + steps as planned -> every text of 1..k characters tried: a backtracking engine against the loops.

    try_texts("cl100k", planned, {"python": tables}, {"pure": lambda tables: Machine(...).iterate}, k=3)

The proof (`proof`) is of texts of every length, and trusts a derivation of ours and a loop. Here nothing is derived: `backtracking`
runs the pattern itself, and the loops are run as a user runs them, on all texts over the characters of `alphabet.representatives`.
They come by length, so that the first difference is a shortest text.
Rejected: sets cut down to the characters at hand (the engine is three times faster then, but it is not the pattern that it runs).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from .alphabet import representatives, texts
from .backtracking import Module, Span
from .pack import Tables
from .steps import Plan

__all__ = ["Difference", "Report", "Run", "try_texts"]

Run = Callable[[str | bytes], Iterable[Span]]  # the pieces of a text
SHOWN = 3  # differences
STEP = 1_000  # texts between two reports of progress


@dataclass(frozen=True)
class Difference:
    """A text, the pieces of the pattern and other ones, and which tables in which loop cut those."""

    text: str | bytes
    expected: tuple[Span, ...]
    found: tuple[Span, ...]
    where: str

    def __str__(self) -> str:
        def shown(pieces: tuple[Span, ...]) -> str:
            return "  ".join(f"{a}-{b} {self.text[a:b]!a}" for a, b in pieces) or "none"

        return f"  text      {self.text!a}\n  expected  {shown(self.expected)}\n  found     {shown(self.found)}  ({self.where})"


@dataclass(frozen=True)
class Report:
    """`differences`: texts that some loop over some tables cuts otherwise than the pattern; `shown`: the first of them."""

    family: str
    sources: tuple[str, ...]
    loops: tuple[str, ...]
    representatives: int
    cells: int
    k: int
    texts: int
    differences: int
    seconds: float
    shown: tuple[Difference, ...]

    def __str__(self) -> str:
        characters = f"1..{self.k} characters out of {self.representatives} representatives of {self.cells} cells"
        head = f"{self.family}, every text of {characters}: {self.texts:,} texts, {self.differences:,} differences, {self.seconds:.2f} s"
        loops = f"{' and '.join(self.loops)} loop{'s' * (len(self.loops) > 1)}"
        tried = f"the pattern in the regex module, the {' and '.join(self.sources)} tables in the {loops}"
        if not self.differences:
            return f"{head}\nalike: {tried}"
        return "\n".join([head, f"DIFFERENT, first on these texts: {tried}", *map(str, self.shown)])


def try_texts(
    name: str, planned: Sequence[Plan], tables: Mapping[str, Tables], loops: Mapping[str, Callable[[Tables], Run]], k: int,
    progress: Callable[[int, int], None] = lambda done, of: None,
) -> Report:  # fmt: skip
    """Cut every text of 1..k representatives by the pattern, and by each of the `tables` in each of the `loops`."""
    begun = time.perf_counter()
    characters, count = representatives(planned, tuple(tables.values()))
    total = sum(len(characters) ** length for length in range(1, k + 1))
    module, bytewise = Module(planned), any(plan.bytewise for plan in planned)
    runs = {f"{source} tables, {loop} loop": make(one) for source, one in tables.items() for loop, make in loops.items()}
    differences, shown = 0, list[Difference]()
    for number, text in enumerate(texts(characters, k)):
        if number % STEP == 0:
            progress(number, total)
        expected, given = module(text), text.encode() if bytewise else text
        wrong = [(where, pieces) for where, run in runs.items() if (pieces := list(run(given))) != expected]
        differences += bool(wrong)
        if wrong and len(shown) < SHOWN:
            where, pieces = wrong[0]
            shown.append(Difference(given, tuple(expected), tuple(pieces), where))
    seconds = time.perf_counter() - begun
    return Report(name, tuple(tables), tuple(loops), len(characters), count, k, total, differences, seconds, tuple(shown))
