"""NFA -> the backward automaton over its states: which of them, entered here, can still succeed on the text that follows.

    a+b over ..."aab"     before "b": {expects b}     before "ab": {expects a, expects b after a}     ...

Reading right to left, the set after one more symbol depends only on that symbol and on the set before. That resolves all
backtracking: a forward pass that knows the set takes, at each choice, the first branch that succeeds, and never turns back
(A. Frisch, L. Cardelli, "Greedy regular expression matching", 2004). Lookaheads are states of the same sets.

Note [levels]: inside atomic groups, "succeeds" has degrees. The value of a state is how many of the scopes around it (its groups,
innermost first, then the whole match) the preferred path from it completes; a choice takes its first branch with value above 0.
The group is left once and for all, so a path that completes it and fails later has value 1, not 0, and hides the other branches.

Note [contexts]: lookbehind, \\\\b and ^ ask for the symbol before. A set therefore holds each state once for every class of
previous symbols that such questions tell apart; consuming a symbol picks the class.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass

from .limits import Limits
from .nfa import BEHIND, CHAR, LOOK, MATCH, SPLIT, Nfa

__all__ = ["Many", "Place", "Suffixes"]

WAY, CONDITION = 100, 8  # entries of a table that take the memory of one way to succeed, and of each lookahead in it


@dataclass(frozen=True)
class Place:
    """Where a question is asked: the class of the symbol before, whether the search started here, the next symbol, the set after it."""

    context: int
    searching: bool
    symbol: int  # a cell, or the number of cells at the end of input
    after: int = 0


# One way for a state to succeed: all of these lookaheads (see `question`, wanted truth) hold, and one of these bits is in the set after
# the next symbol; `done` if no bit is needed.
@dataclass(frozen=True)
class Way:
    conditions: frozenset[tuple[int, bool]]
    bits: int
    done: bool


class Suffixes:
    """Sets are ints, one bit for each (context, state, level) that consuming a symbol can lead to."""

    def __init__(self, nfa: Nfa, limits: Limits | None = None) -> None:
        self.nfa, self.limits, self.kept = nfa, limits, 0
        self.end_symbol = nfa.cells
        behind = sorted({i.mask for i in nfa.code if i.op == BEHIND})
        signatures: dict[tuple[int, ...], int] = {}
        # context[symbol] for a previous symbol; the last entry is the start of the text
        self.context = [signatures.setdefault(tuple(m >> c & 1 for m in behind), len(signatures)) for c in range(nfa.cells + 1)]
        self.bit: dict[tuple[int, int, int], int] = {}
        for i in nfa.code:
            if i.op == CHAR:
                for context in sorted({self.context[c] for c in range(nfa.cells) if i.mask >> c & 1}):
                    for level in range(nfa.code[i.next].depth + 1):
                        self.bit.setdefault((context, i.next, level), len(self.bit))
        self.atomic = nfa.atomic
        self._ways: dict[tuple[int, int, bool, int], tuple[Way, ...]] = {}
        self._plan: dict[int, tuple[int, list[tuple[int, int]], list[tuple[int, Way]]]] = {}
        self._known: dict[Place, dict[int, int]] = {}
        self.end = self.step(self.end_symbol, 0)

    def step(self, symbol: int, after: int) -> int:
        """The set before `symbol`, given the set after it."""
        result = 0
        if self.atomic:
            for (context, state, level), bit in self.bit.items():
                if self.value(state, Place(context, False, symbol, after)) > level:
                    result |= 1 << bit
            self._known.clear()
            return result
        if symbol not in self._plan:
            self._plan[symbol] = self.plan(symbol)
        result, plain, asking = self._plan[symbol]
        for bits, wanted in plain:
            if wanted & after:
                result |= bits
        truths: dict[tuple[int, bool], bool] = {}
        for bit, way in asking:
            if not result & bit and (way.done or way.bits & after) and self.hold(way.conditions, symbol, after, truths):
                result |= bit
        return result

    def plan(self, symbol: int) -> tuple[int, list[tuple[int, int]], list[tuple[int, Way]]]:
        """What is in the set before `symbol`: always; if one bit of a mask is in the set after it; and what asks lookaheads, too."""
        always, plain, asking = 0, dict[int, int](), list[tuple[int, Way]]()
        for (context, state, _), bit in self.bit.items():
            for way in self.ways(state, context, False, symbol):
                if way.conditions:
                    asking.append((1 << bit, way))
                elif way.done:
                    always |= 1 << bit
                else:
                    plain[way.bits] = plain.get(way.bits, 0) | 1 << bit
        return always, [(bits, wanted) for wanted, bits in plain.items()], asking

    def hold(self, conditions: frozenset[tuple[int, bool]], symbol: int, after: int, truths: dict[tuple[int, bool], bool]) -> bool:
        for condition in conditions:
            if condition not in truths:
                body, wanted = condition
                state, context, searching = self.question(body)
                truths[condition] = (self.value(state, Place(context, searching, symbol, after)) > 0) == wanted
            if not truths[condition]:
                return False
        return True

    def question(self, body: int) -> tuple[int, int, bool]:
        """The state at which a lookahead begins, and where it is asked: the context, and whether \\G holds."""
        where, state = divmod(body, len(self.nfa.code))
        return state, where // 2, bool(where % 2)

    def value(self, state: int, place: Place) -> int:
        """How many scopes the preferred path from `state` completes; 0 is failure. See Note [levels]."""
        if not self.atomic:
            truths: dict[tuple[int, bool], bool] = {}
            for way in self.ways(state, place.context, place.searching, place.symbol):
                if (way.done or way.bits & place.after) and self.hold(way.conditions, place.symbol, place.after, truths):
                    return 1
            return 0
        known = self._known.setdefault(place, {})
        if state not in known:
            self.settle(state, place, known)
        return known[state]

    def settle(self, state: int, place: Place, known: dict[int, int]) -> None:
        """Add to `known` the value of `state` and of what it depends on. Not by recursion: thousands of states may stand before a symbol."""
        answer: int | None = None
        asking = [(state, self.evaluate(state, place))]
        while asking:
            at, evaluation = asking[-1]
            try:
                asked = next(evaluation) if answer is None else evaluation.send(answer)
            except StopIteration as done:
                known[at] = answer = done.value
                asking.pop()
                continue
            answer = known.get(asked)
            if answer is None:
                asking.append((asked, self.evaluate(asked, place)))

    def evaluate(self, state: int, place: Place) -> Generator[int, int, int]:
        """The value of `state`; yields each other state whose value it needs, and is sent it."""
        i = self.nfa.code[state]
        match i.op:
            case "CHAR":
                if place.symbol == self.end_symbol or not i.mask >> place.symbol & 1:
                    return 0
                context, level = self.context[place.symbol], 0
                while (bit := self.bit.get((context, i.next, level))) is not None and place.after >> bit & 1:
                    level += 1
                return level
            case "SPLIT":
                return (yield i.next) or (yield i.other)
            case "ENTER":
                return max((yield i.next) - 1, 0)
            case "EXIT":
                return 1 + (yield i.next)
            case "LOOK":
                return (yield i.next) if ((yield i.other) > 0) != i.negative else 0
            case "MATCH":
                return 1
        return (yield i.next) if self.passes(state, place) else 0

    def passes(self, state: int, place: Place) -> bool:
        """Whether the assertion at `state`, which is no LOOK, holds."""
        i = self.nfa.code[state]
        match i.op:
            case "PEEK":
                return bool(i.mask >> place.symbol & 1)
            case "BEHIND":
                return any(i.mask >> c & 1 for c, context in enumerate(self.context) if context == place.context)
            case "SEARCH":
                return place.searching
        return True

    def ways(self, state: int, context: int, searching: bool, symbol: int) -> tuple[Way, ...]:
        """All ways for `state` to succeed before `symbol`, lookaheads left open. Only without atomic groups.

        They can be as many as sets of lookaheads that a path can meet: two to the power of n, where n are optional.
        """
        key = (state, context, searching, symbol)
        if key in self._ways:
            return self._ways[key]
        found: dict[frozenset[tuple[int, bool]], tuple[int, bool]] = {}
        todo: list[tuple[int, frozenset[tuple[int, bool]]]] = [(state, frozenset())]
        seen, size = set(todo), self.kept
        while todo:
            at, conditions = todo.pop()
            size += WAY + CONDITION * len(conditions)
            if self.limits is not None:
                self.limits.check("work", size)
            i = self.nfa.code[at]
            nexts: list[tuple[int, frozenset[tuple[int, bool]]]] = []
            if i.op == CHAR:
                if symbol != self.end_symbol and i.mask >> symbol & 1:
                    bits, done = found.get(conditions, (0, False))
                    found[conditions] = (bits | 1 << self.bit[self.context[symbol], i.next, 0], done)
            elif i.op == MATCH:
                found[conditions] = (found.get(conditions, (0, False))[0], True)
            elif i.op == SPLIT:
                nexts = [(i.next, conditions), (i.other, conditions)]
            elif i.op == LOOK:
                body = (2 * context + searching) * len(self.nfa.code) + i.other
                nexts = [(i.next, conditions | {(body, not i.negative)})]
            elif self.passes(at, Place(context, searching, symbol, 0)):
                nexts = [(i.next, conditions)]
            for item in nexts:
                if item not in seen:
                    seen.add(item)
                    todo.append(item)
        self._ways[key] = result = tuple(Way(conditions, bits, done) for conditions, (bits, done) in found.items())
        self.kept += sum(WAY + CONDITION * len(way.conditions) for way in result)
        return result


class Many:
    """The same questions asked for many sets at once; an answer is a mask with one bit for each of `afters`."""

    def __init__(self, suffixes: Suffixes, afters: Sequence[int]) -> None:
        self.suffixes, self.afters, self.all = suffixes, afters, (1 << len(afters)) - 1
        # The transposed sets: for each bit of a set, the sets that have it.
        width = max(1, len(suffixes.bit))
        digits = "".join(format(after, f"0{width}b") for after in reversed(afters))
        self.having = [int(digits[width - 1 - bit :: width] or "0", 2) for bit in range(len(suffixes.bit))]
        self._known: dict[tuple[int, int, bool, int], int] = {}

    def value(self, state: int, context: int, searching: bool, symbol: int) -> int:
        """The sets after which `state` succeeds."""
        key = (state, context, searching, symbol)
        if key in self._known:
            return self._known[key]
        suffixes, found = self.suffixes, 0
        if suffixes.atomic:
            places = (Place(context, searching, symbol, after) for after in self.afters)
            found = sum(1 << n for n, place in enumerate(places) if suffixes.value(state, place))
        else:
            for way in suffixes.ways(state, context, searching, symbol):
                good = self.all if way.done else 0
                for bit in range(way.bits.bit_length()) if not good else ():
                    if way.bits >> bit & 1:
                        good |= self.having[bit]
                for body, wanted in way.conditions if good else ():
                    body_state, body_context, body_searching = suffixes.question(body)
                    holds = self.value(body_state, body_context, body_searching, symbol)
                    good &= holds if wanted else ~holds
                found |= good
        self._known[key] = found & self.all
        return self._known[key]

    def walk(self, state: int, context: int, searching: bool, symbol: int, mask: int) -> list[tuple[int, int]]:
        """From a state that succeeds after all sets of `mask`: (mask, the state behind the symbol), or -1 where the match ends before it."""
        found: dict[int, int] = {}
        todo = [(state, mask)]
        while todo:
            state, mask = todo.pop()
            i = self.suffixes.nfa.code[state]
            if i.op in (CHAR, MATCH):
                next = i.next if i.op == CHAR else -1
                found[next] = found.get(next, 0) | mask
            elif i.op == SPLIT:
                first = mask & self.value(i.next, context, searching, symbol)
                todo += [(s, m) for s, m in ((i.next, first), (i.other, mask & ~first)) if m]
            else:
                todo.append((i.next, mask))
        return [(mask, next) for next, mask in found.items()]


