"""One split step as a machine: NFA, rule on gaps and empty matches, and behavior -> a letter for each code point.

    Split(r"\\\\d+", behavior="isolated") on "ab12c"   ->   START CONTINUE START CONTINUE START

The forward state is where the backtracking engine would stand: inside a match at one NFA state, or between matches. Each step asks
the set of the suffix (see `suffix`) what lies ahead and so never guesses. A `Machine` is any such pair of automata, backward over
symbols and forward over symbols and backward states; `bimachine.canonical` makes a table of it.

Note [gaps]: spans alternate between gaps and matches and cover the text. An empty match right behind a match does not count; any
other is a span without width, so it cuts the gap around it. Sources: `find_iter` of fancy-regex and of rust-onig; the five
behaviors of Hugging Face's SplitDelimiterBehavior, as measured.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol

from .errors import PatternError
from .nfa import Nfa
from .suffix import Place, Suffixes

__all__ = ["BEHAVIORS", "CONTINUE", "DROP", "START", "Machine", "Split"]

CONTINUE, START, DROP = 0, 1, 2

BEHAVIORS = ("isolated", "removed", "merged_with_previous", "merged_with_next", "contiguous")


class Machine(Protocol):
    """symbols 0..symbols-1; `back` reads right to left from `end`; `step` left to right from `start`, given the state after the symbol."""

    symbols: int
    end: Any
    start: Any

    def back(self, after: Any, symbol: int) -> Hashable: ...

    def step(self, state: Any, symbol: int, after: Any) -> tuple[Hashable, int]: ...


@dataclass(frozen=True)
class Inside:
    """In a match, about to go on at an NFA state; `context`: the class of the symbol before (see Note [contexts])."""

    state: int
    context: int


@dataclass(frozen=True)
class Between:
    """In a gap. `searching`: a search starts here, so that \\\\G holds. `first`: the text starts here."""

    searching: bool
    context: int
    first: bool = False


class Split:
    """The machine of one Split(regex, behavior, invert). `pattern` is for messages."""

    def __init__(self, nfa: Nfa, behavior: str = "isolated", invert: bool = False, empty: str = "retry", pattern: str = "") -> None:
        if behavior not in BEHAVIORS:
            raise ValueError(f"no behavior {behavior!r}; there are {', '.join(BEHAVIORS)}")
        self.nfa, self.behavior, self.invert, self.empty, self.pattern = nfa, behavior, invert, empty, pattern
        self.suffixes = Suffixes(nfa)
        self.symbols = nfa.cells
        self.end = self.suffixes.end
        self.start = Between(True, self.suffixes.context[nfa.cells], True)
        self._steps: dict[tuple[Inside | Between, int, int], tuple[Inside | Between, int]] = {}

    def back(self, after: int, symbol: int) -> int:
        return self.suffixes.step(symbol, after)

    def step(self, state: Inside | Between, symbol: int, after: int) -> tuple[Inside | Between, int]:
        key = (state, symbol, after)
        if key not in self._steps:
            self._steps[key] = self.advance(state, symbol, after)
        return self._steps[key]

    def advance(self, state: Inside | Between, symbol: int, after: int) -> tuple[Inside | Between, int]:
        context = self.suffixes.context[symbol]
        if isinstance(state, Inside):
            _, next = self.suffixes.walk(state.state, Place(state.context, False, symbol, after))
            if next >= 0:
                return Inside(next, context), self.letter(True, ())
            # The match ended before this symbol, and the next search starts here; an empty match would be refused.
            found = self.search(state.context, True, symbol, after)
            if found is not None and found >= 0:
                return Inside(found, context), self.letter(True, (True, True))
            return Between(found is not None, context), self.letter(False, (True, False))
        found = self.search(state.context, state.searching, symbol, after)
        spans: tuple[bool, ...] = () if state.first else (False,)
        if found is not None and found < 0:
            if self.empty == "refuse":
                raise PatternError("this pattern can match the empty string", self.pattern, (0, len(self.pattern)),
                                   "the python dialect has no rule for that here; use dialect='oniguruma'")  # fmt: skip
            spans += (True,)
            again = self.search(state.context, True, symbol, after) if self.empty == "retry" else found
            if again is not None and again >= 0:
                return Inside(again, context), self.letter(True, (*spans, True))
            return Between(again is not None, context), self.letter(False, (*spans, False))
        if found is not None:
            return Inside(found, context), self.letter(True, (*spans, True))
        return Between(False, context), self.letter(False, (*spans, False) if state.first else ())

    def search(self, context: int, searching: bool, symbol: int, after: int) -> int | None:
        """The match that starts before `symbol`: None if there is none, -1 if it is empty, else the NFA state after the symbol."""
        place = Place(context, searching, symbol, after)
        if not self.suffixes.value(self.nfa.start, place):
            return None
        return self.suffixes.walk(self.nfa.start, place)[1]

    def letter(self, matched: bool, spans: tuple[bool, ...]) -> int:
        """The letter of a code point in a span that is a match or not. `spans`: the last span and those that begin here, when some do."""
        flags = [flag != self.invert for flag in spans]
        if self.behavior == "removed" and matched != self.invert:
            return DROP
        if len(flags) == 1 or any(self.cuts(a, b) for a, b in pairwise(flags)):
            return START
        return CONTINUE

    def cuts(self, before: bool, here: bool) -> bool:
        """Whether two neighbouring spans stay apart."""
        match self.behavior:
            case "contiguous":
                return before != here
            case "merged_with_previous":
                return before or not here
            case "merged_with_next":
                return here or not before
        return True
