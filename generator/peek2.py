"""Which alternative wins, by the first two cells: the view of "Peek2: A Regex-free implementation of pretokenizers for BPE".

    cl100k    (letter, letter) -> {1}       (apostrophe, letter) -> {0, 1}: 0 if it is a contraction, else the word alternative

For every pair of cells, and for every suffix behind them that makes a difference, the alternative that the match begins with is
read off the suffix sets; a pair that two cells do not decide has several. Derived, never written: a pattern that no one has seen
gets its table, too.
"""

from __future__ import annotations

from .bimachine import explore_backward
from .limits import Limits
from .nfa import CHAR, MATCH, SPLIT, Nfa
from .split import Split
from .suffix import Place, Suffixes

__all__ = ["Winners", "unreachable", "winners"]

Winners = dict[tuple[int, int], frozenset[int]]  # by first and second cell; the second may be the end (number of cells)


def winner(suffixes: Suffixes, place: Place) -> int | None:
    """The number of the top-level alternative that matches at `place`; -1 for an alternative that is empty; None for no match."""
    nfa = suffixes.nfa
    if not suffixes.value(nfa.start, place):
        return None
    state, alternative = nfa.start, -1
    while True:
        i = nfa.code[state]
        alternative = max(alternative, i.alternative)
        if i.op in (CHAR, MATCH):
            return alternative
        state = i.next if i.op != SPLIT or suffixes.value(i.next, place) else i.other


def suffix_sets(nfa: Nfa, limits: Limits) -> tuple[Suffixes, list[int]]:
    split = Split(nfa, limits=limits)
    sets, _ = explore_backward(split, limits, range(nfa.cells))
    return split.suffixes, [s for s in sets if isinstance(s, int)]


def winners(nfa: Nfa, limits: Limits) -> Winners:
    """For each pair of first two cells at the start of a text, the alternatives that can win; -1 stands for a gap."""
    suffixes, sets = suffix_sets(nfa, limits)
    start = suffixes.context[nfa.cells]
    table: Winners = {}
    for second in range(nfa.cells + 1):
        afters = {suffixes.end} if second == nfa.cells else {suffixes.step(second, s) for s in sets}
        for first in range(nfa.cells):
            found = (winner(suffixes, Place(start, True, first, after)) for after in sorted(afters))
            table[first, second] = frozenset(-1 if w is None else w for w in found)
    return table


def unreachable(nfa: Nfa, limits: Limits) -> list[int]:
    """The top-level alternatives that never win, on any text."""
    suffixes, sets = suffix_sets(nfa, limits)
    alive = {
        winner(suffixes, Place(context, searching, symbol, after))
        for context in sorted(set(suffixes.context))
        for searching in (True, False)
        for after in sets
        for symbol in range(nfa.cells + 1)
    }
    return [n for n in range(len(nfa.alternatives)) if n not in alive and any(i.alternative == n for i in nfa.code)]
