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

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NoReturn, Protocol

from .errors import PatternError
from .limits import Limits
from .nfa import Nfa
from .suffix import Many, Suffixes

__all__ = ["BEHAVIORS", "CONTINUE", "DROP", "START", "Machine", "Split"]

CONTINUE, START, DROP = 0, 1, 2

BEHAVIORS = ("isolated", "removed", "merged_with_previous", "merged_with_next", "contiguous")


class Machine(Protocol):
    """symbols 0..symbols-1; `back` reads right to left from `end`; `step` left to right from `start`, given the state after the symbol."""

    end: Any
    start: Any

    @property
    def symbols(self) -> int: ...

    @property
    def alike(self) -> Sequence[Hashable]:
        """Symbols with equal entries act alike everywhere."""
        ...

    def back(self, after: Any, symbol: int) -> Hashable: ...

    def steps(self, state: Any, symbol: int, afters: Sequence[Any]) -> Sequence[tuple[Hashable, int]]:
        """(next state, letter) for each of `afters`, the backward state behind the symbol."""
        ...


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
    """The machine of one Split(regex, behavior, invert). `pattern` is for messages; no `limits`: it was compiled before."""

    def __init__(
        self, nfa: Nfa, behavior: str = "isolated", invert: bool = False, empty: str = "retry", pattern: str = "",
        limits: Limits | None = None,
    ) -> None:  # fmt: skip
        if behavior not in BEHAVIORS:
            raise ValueError(f"no behavior {behavior!r}; there are {', '.join(BEHAVIORS)}")
        self.nfa, self.behavior, self.invert, self.empty, self.pattern = nfa, behavior, invert, empty, pattern
        self.suffixes = Suffixes(nfa, limits)
        self.symbols = nfa.cells
        masks = {i.mask for i in nfa.code}
        self.alike = [tuple(mask >> c & 1 for mask in masks) for c in range(nfa.cells)]
        self.end = self.suffixes.end
        self.start = Between(True, self.suffixes.context[nfa.cells], True)
        self._many = Many(self.suffixes, ())

    def back(self, after: int, symbol: int) -> int:
        return self.suffixes.step(symbol, after)

    def step(self, state: Inside | Between, symbol: int, after: int) -> tuple[Inside | Between, int]:
        """(next state, letter) for one backward state behind the symbol."""
        return self.steps(state, symbol, (after,))[0]

    def steps(self, state: Inside | Between, symbol: int, afters: Sequence[int]) -> Sequence[tuple[Inside | Between, int]]:
        if self._many.afters is not afters:
            self._many = Many(self.suffixes, afters)
        result: list[Any] = [None] * len(afters)
        for mask, outcome in self.advance(state, symbol):
            if outcome[1] == CONTINUE and isinstance(state, Between) and state.first:
                outcome = outcome[0], START  # it joins an empty span at the start of the text
            for n in range(mask.bit_length()):
                if mask >> n & 1:
                    result[n] = outcome
        return result

    def advance(self, state: Inside | Between, symbol: int) -> Iterator[tuple[int, tuple[Inside | Between, int]]]:
        """What happens at `symbol`, as (mask of suffixes, outcome). Suffixes that contradict `state` get any outcome."""
        context, everything = self.suffixes.context[symbol], self._many.all
        if isinstance(state, Inside):
            ended = 0
            for mask, behind in self._many.walk(state.state, state.context, False, symbol, everything):
                if behind >= 0:
                    yield mask, (Inside(behind, context), self.letter(True, ()))
                else:
                    ended |= mask
            # The match ended before this symbol, and the next search starts here, where an empty match does not count.
            for mask, next in self.search(state.context, True, symbol, ended):
                if next is not None and next >= 0:
                    yield mask, (Inside(next, context), self.letter(True, (True, True)))
                elif next is not None and self.empty == "refuse":
                    self.refuse_empty()
                else:
                    yield mask, (self.skipping(next, context), self.letter(False, (True, False)))
            return
        spans: tuple[bool, ...] = () if state.first else (False,)
        for mask, next in self.search(state.context, state.searching, symbol, everything):
            if next is None:
                yield mask, (Between(False, context), self.letter(False, (*spans, False) if state.first else ()))
            elif next >= 0:
                yield mask, (Inside(next, context), self.letter(True, (*spans, True)))
            else:
                yield from self.empty_match(state, symbol, mask, (*spans, True))

    def empty_match(
        self, state: Between, symbol: int, mask: int, spans: tuple[bool, ...]
    ) -> Iterator[tuple[int, tuple[Inside | Between, int]]]:
        """An empty match in front of `symbol`, which cuts the gap there. See Note [gaps]."""
        context = self.suffixes.context[symbol]
        if self.empty == "refuse":
            self.refuse_empty()
        for part, next in self.search(state.context, True, symbol, mask) if self.empty == "retry" else [(mask, -1)]:
            if next is not None and next >= 0:
                yield part, (Inside(next, context), self.letter(True, (*spans, True)))
            else:
                yield part, (self.skipping(next, context), self.letter(False, (*spans, False)))

    def refuse_empty(self) -> NoReturn:
        raise PatternError("this pattern can match the empty string", self.pattern, (0, len(self.pattern)),
                           "the python dialect has no rule for that here; use dialect='oniguruma'")  # fmt: skip

    def skipping(self, found: int | None, context: int) -> Between:
        """Behind an empty match the search goes on one code point later; whether \\G holds there is the dialect's."""
        return Between(found is not None and self.empty == "retry", context)

    def search(self, context: int, searching: bool, symbol: int, mask: int) -> list[tuple[int, int | None]]:
        """The match that starts before `symbol`, by suffix: None if there is none, -1 if it is empty, else the NFA state behind the symbol."""
        some = mask & self._many.value(self.nfa.start, context, searching, symbol)
        found: list[tuple[int, int | None]] = [(mask & ~some, None)] if mask & ~some else []
        if some:
            found += self._many.walk(self.nfa.start, context, searching, symbol, some)
        return found

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
