"""NFA -> the deterministic machine of one match, by ordered subsets: the classic construction, and a second opinion.

    a|ab    { a | a b }  --a-->  { MATCH , b }     the first is preferred: what follows it is cut, and "a" wins over "ab"

A state is a list of NFA states in order of preference. A match is noticed one symbol late, so that a PEEK at the next symbol, end
of input included, is an ordinary transition (the "delayed by one" of Rust's regex-automata). Everything behind a match in the list
is cut: it has lost. Reading on until no state is left, the last match noticed is the one a backtracking engine returns.

No lexer is made from it: restarting it after each match rescans text, quadratically for some patterns, and longer lookaheads and
general atomic groups need the suffix (see `suffix`). It shares no code with that road, which is why the tests walk both; and it
shows a person what a pattern does. Rejected: unordered subsets with longest match, which is another language ("a|ab" on "ab").
"""

from __future__ import annotations

from dataclasses import dataclass

from .bimachine import refine, representatives
from .errors import LimitError
from .limits import Limits
from .nfa import BEHIND, CHAR, ENTER, LOOK, MATCH, PEEK, SEARCH, SPLIT, Nfa

__all__ = ["Dfa", "determinize", "minimize"]


@dataclass(frozen=True)
class Dfa:
    """`next[state][symbol]`, -1 where no thread is left; `matched[state][symbol]`: a match ended before this symbol. Symbol `cells` is the end.

    A match starts in state `starts[symbol before]`, the last entry being the start of the text.
    """

    next: tuple[tuple[int, ...], ...]
    matched: tuple[tuple[bool, ...], ...]
    starts: tuple[int, ...]

    def match(self, symbols: list[int], at: int, end_symbol: int) -> int | None:
        """Where the match that starts at `at` ends, or None. Not for search starts: \\\\G is taken to hold at `at`."""
        state, found = self.starts[symbols[at - 1] if at else -1], None
        for place in range(at, len(symbols) + 1):
            symbol = symbols[place] if place < len(symbols) else end_symbol
            if self.matched[state][symbol]:
                found = place
            state = self.next[state][symbol]
            if state < 0:
                break
        return found


State = tuple[int, bool, tuple[int, ...]]  # class of the symbol before, at the start of the match, threads in order


def determinize(nfa: Nfa, limits: Limits) -> Dfa:
    """All reachable lists of threads. LimitError if the pattern has lookaheads that one symbol does not decide."""
    if any(i.op in (LOOK, ENTER) for i in nfa.code):
        raise LimitError("one match of this pattern depends on more than the next symbol, so it has no DFA; see its bimachine")
    masks = sorted({i.mask for i in nfa.code if i.op == BEHIND})
    classes: dict[tuple[int, ...], int] = {}
    context = [classes.setdefault(tuple(m >> c & 1 for m in masks), len(classes)) for c in range(nfa.cells + 1)]
    numbers: dict[State, int] = {}
    order: list[State] = []

    def number_of(state: State) -> int:
        if state not in numbers:
            numbers[state] = len(order)
            order.append(state)
        return numbers[state]

    starts = tuple(number_of((c, True, (nfa.start,))) for c in context)
    nexts, matches = [], []
    for before, first, threads in order:
        limits.check("states", len(order))
        row, hits = [], []
        for symbol in range(nfa.cells + 1):
            survivors, matched = close(nfa, threads, context.index(before), first, symbol)
            hits.append(matched)
            row.append(number_of((context[symbol], False, survivors)) if survivors else -1)
        nexts.append(tuple(row))
        matches.append(tuple(hits))
    return Dfa(tuple(nexts), tuple(matches), starts)


def close(nfa: Nfa, threads: tuple[int, ...], previous: int, first: bool, symbol: int) -> tuple[tuple[int, ...], bool]:
    """The threads behind `symbol`, in order, and whether one matched before it (the others behind that one are cut)."""
    survivors: dict[int, None] = {}
    seen: set[int] = set()
    stack = list(reversed(threads))
    while stack:
        at = stack.pop()
        if at in seen:
            continue
        seen.add(at)
        i = nfa.code[at]
        if i.op == MATCH:
            return tuple(survivors), True
        if i.op == SPLIT:
            stack += [i.other, i.next]
        elif i.op == CHAR:
            if symbol < nfa.cells and i.mask >> symbol & 1:
                survivors.setdefault(i.next)
        elif (i.op == PEEK and i.mask >> symbol & 1) or (i.op == BEHIND and i.mask >> previous & 1) or (i.op == SEARCH and first):
            stack.append(i.next)
    return tuple(survivors), False


def minimize(dfa: Dfa, limits: Limits) -> Dfa:
    """The smallest equivalent machine, numbered in breadth-first order, which makes it canonical."""
    dead = len(dfa.next)
    table = [[t if t >= 0 else dead for t in row] for row in dfa.next] + [[dead] * len(dfa.next[0])]
    signature = [*dfa.matched, (False,) * len(dfa.next[0])]
    classes = refine(signature, table, limits)
    keep = representatives(classes[:-1])
    return Dfa(
        tuple(tuple(-1 if classes[t] == classes[dead] else classes[t] for t in table[s]) for s in keep),
        tuple(dfa.matched[s] for s in keep), tuple(classes[s] for s in dfa.starts),
    )  # fmt: skip
