"""Transducers that guess: what the definition of a lexer and its tables have in common, and the walk that tells two of them apart.

    differ(definition, tables, symbols)      # None: the same letters for every text; else a shortest word on which they differ

A transducer reads a text with guesses and is held to them: a run counts only if it ends in `final`. A bimachine is one that guesses
the state of its backward automaton behind each symbol. Every text has exactly one run that counts, so pairs of runs over one text
decide equality, whatever the two sides are made of. Nothing here trusts the construction of the machines, only their definition.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, Protocol

from .bimachine import Bimachine
from .split import CONTINUE, DROP

__all__ = ["Guessing", "Move", "Pieces", "Reduced", "Tabled", "Transducer", "Word", "differ", "letters"]

Move = tuple[Any, int]
Word = tuple[int, ...]
Table = Sequence[Sequence[int]]


class Transducer(Protocol):
    """`moves`: the (state behind the symbol, letter) that may follow. Symbols of one `kind` move alike."""

    def starts(self) -> Iterable[Any]: ...
    def moves(self, state: Any, symbol: int) -> Sequence[Move]: ...
    def final(self, state: Any) -> bool: ...
    def kind(self, symbol: int) -> Hashable: ...


class Guessing:
    """An automaton from the left that is told the state of one from the right: `back[suffix][column]`."""

    def __init__(self, back: Table, columns: Sequence[int], start: Any, step: Callable[[Any, int, int], Move], end: int = 0) -> None:
        self.back, self.columns, self.start, self.step, self.end = back, columns, start, step, end
        self.before = [[[s for s, row in enumerate(back) if row[c] == r] for c in range(len(back[0]))] for r in range(len(back))]
        self.known: dict[tuple[Any, int], list[Move]] = {}

    def starts(self) -> Iterable[Any]:
        return [(self.start, suffix) for suffix in range(len(self.before))]

    def final(self, state: tuple[Any, int]) -> bool:
        return bool(state[1] == self.end)

    def kind(self, symbol: int) -> Hashable:
        return self.columns[symbol]

    def moves(self, state: tuple[Any, int], symbol: int) -> Sequence[Move]:
        key = state, self.columns[symbol]
        if key not in self.known:
            found = ((self.step(state[0], key[1], after), after) for after in self.before[state[1]][key[1]])
            self.known[key] = [((next, after), letter) for (next, letter), after in found]
        return self.known[key]


class Tabled(Guessing):
    """A bimachine, read as its definition says. `symbols[n]`: its symbol for the n-th symbol of the walk."""

    def __init__(self, machine: Bimachine, symbols: Sequence[int], end: int = 0) -> None:
        def step(state: int, column: int, after: int) -> Move:
            label = machine.labels[after][column]
            return machine.forward[state][label], machine.output[state][label]

        super().__init__(machine.backward, [machine.columns[s] for s in symbols], 0, step, end)


class Pieces:
    """`second` on every piece of `first`, by definition: a piece is a text of its own, so where it ends `second` must have ended."""

    def __init__(self, first: Transducer, second: Transducer) -> None:
        self.first, self.second = first, second

    def starts(self) -> Iterable[Any]:
        return [(state, None) for state in self.first.starts()]

    def final(self, state: tuple[Any, Any]) -> bool:
        return self.first.final(state[0]) and (state[1] is None or self.second.final(state[1]))

    def kind(self, symbol: int) -> Hashable:
        return self.first.kind(symbol), self.second.kind(symbol)

    def moves(self, state: tuple[Any, Any], symbol: int) -> Sequence[Move]:
        found: list[Move] = []
        for next, letter in self.first.moves(state[0], symbol):
            if letter == CONTINUE:
                found += [((next, s), second) for s, second in self.second.moves(state[1], symbol)]
            elif state[1] is not None and not self.second.final(state[1]):
                continue
            elif letter == DROP:
                found.append(((next, None), DROP))
            else:
                found += [((next, s), second) for start in self.second.starts() for s, second in self.second.moves(start, symbol)]
        return found


class Reduced:
    """The same function with fewer states: those on no run that counts are dropped, and those that have all moves in common are one.

    First states with the same moves out of them, then states with the same moves into them; either keeps the set of (text, letters).
    """

    def __init__(self, machine: Transducer, symbols: Sequence[int]) -> None:
        kinds: dict[Hashable, int] = {}
        self.column = [kinds.setdefault(machine.kind(s), len(kinds)) for s in symbols]
        examples = [self.column.index(c) for c in range(len(kinds))]
        numbers = {state: n for n, state in enumerate(machine.starts())}
        starts = set(numbers.values())
        edges: list[tuple[int, int, int, int]] = []
        order = list(numbers)
        for n, state in enumerate(order):  # grows while it is read
            for column, symbol in enumerate(examples):
                for next, letter in machine.moves(state, symbol):
                    if next not in numbers:
                        numbers[next] = len(order)
                        order.append(next)
                    edges.append((n, column, letter, numbers[next]))
        finals = {n for n, state in enumerate(order) if machine.final(state)}
        live, into = set(finals), grouped(edges, 3)
        todo = list(live)
        for n in todo:  # grows while it is read
            fresh = {edge[0] for edge in into.get(n, ())} - live
            live |= fresh
            todo += fresh
        edges = [edge for edge in edges if edge[0] in live and edge[3] in live]
        starts &= live
        for out in (0, 3):
            classes = alike(live, edges, out, finals if out == 0 else starts)
            edges = list({(classes[a], c, letter, classes[b]) for a, c, letter, b in edges})
            starts, finals, live = ({classes[n] for n in part} for part in (starts, finals, live))
        self.first, self.last, self.states = starts, finals, len(live)
        self.table: dict[tuple[int, int], list[Move]] = {}
        for a, column, letter, b in sorted(edges):
            self.table.setdefault((a, column), []).append((b, letter))

    def total(self, inside: Sequence[int] = ()) -> bool:
        """Whether every text has a run that counts: the states that have one, from the right, for every text. `inside`: see `differ`."""
        edges = [(a, column, b) for (a, column), found in self.table.items() for b, _ in found]
        kinds = {(column, inside[n] if inside else 0) for n, column in enumerate(self.column)}
        order = {(frozenset(self.last), 0): None}  # the states, and how many bytes wait for the first of their code point
        todo = list(order)
        for states, waiting in todo:  # grows while it is read
            if not waiting and self.first.isdisjoint(states):
                return False
            for column, follow in kinds:
                if waiting < 3 if follow < 0 else waiting == follow:
                    before = frozenset(a for a, c, b in edges if c == column and b in states)
                    found = before, waiting + 1 if follow < 0 else 0
                    if found not in order:
                        order[found] = None
                        todo.append(found)
        return True

    def starts(self) -> Iterable[Any]:
        return sorted(self.first)

    def final(self, state: int) -> bool:
        return state in self.last

    def kind(self, symbol: int) -> Hashable:
        return self.column[symbol]

    def moves(self, state: int, symbol: int) -> Sequence[Move]:
        return self.table.get((state, self.column[symbol]), ())


def grouped(edges: Iterable[tuple[int, int, int, int]], end: int) -> dict[int, list[tuple[int, int, int, int]]]:
    found: dict[int, list[tuple[int, int, int, int]]] = {}
    for edge in edges:
        found.setdefault(edge[end], []).append(edge)
    return found


def alike(states: Iterable[int], edges: Iterable[tuple[int, int, int, int]], end: int, marked: set[int]) -> dict[int, int]:
    """Classes of states with the same moves out of them (end 0) or into them (end 3), up to classes; marked states stay apart."""
    near, other = grouped(edges, end), 3 - end
    classes, count = {s: int(s in marked) for s in states}, 0
    while count != len(set(classes.values())):
        count = len(set(classes.values()))
        numbers: dict[Hashable, int] = {}
        for s, key in [(s, (classes[s], frozenset((e[1], e[2], classes[e[other]]) for e in near.get(s, ())))) for s in classes]:
            classes[s] = numbers.setdefault(key, len(numbers))
    return classes


def differ(a: Reduced, b: Guessing, symbols: Sequence[int], inside: Sequence[int] = ()) -> tuple[Word | None, int]:
    """(a shortest word to which the two give different letters, or None; how many pairs of states were looked at).

    From the right: the states of `a` with the suffix states of `b` that one text leads to, and a shortest such text. From the left:
    the pairs of states that may stand before those. So every pair found lies on a text, and a move with two letters is a witness.
    `inside`: how many bytes of its code point follow symbol n, -1 if it is one of those; words then are whole code points.
    """
    kinds: dict[Hashable, int] = {}
    for s in symbols:
        kinds.setdefault((a.kind(s), b.kind(s), inside[s] if inside else 0), s)
    examples = [(s, inside[s] if inside else 0) for s in kinds.values()]
    into: dict[tuple[int, int], set[int]] = {}
    for (state, column), moves in a.table.items():
        for next, _ in moves:
            into.setdefault((next, column), set()).add(state)
    tails: dict[tuple[int, int, int], Word] = {(state, b.end, 0): () for state in a.last}
    todo = list(tails)
    for state, suffix, waiting in todo:  # grows while it is read
        for symbol, follow in examples:
            if waiting < 3 if follow < 0 else waiting == follow:
                for before in into.get((state, a.column[symbol]), ()):
                    found = before, b.back[suffix][b.columns[symbol]], waiting + 1 if follow < 0 else 0
                    if found not in tails:
                        tails[found] = (symbol, *tails[state, suffix, waiting])
                        todo.append(found)
    words: dict[tuple[int, Any, int], Word] = {(x, y, 0): () for x in a.first for y in b.starts() if (x, y[1], 0) in tails}
    best: Word | None = None
    order = list(words)
    for x, y, left in order:  # grows while it is read
        word = words[x, y, left]
        for symbol, follow in examples:
            if (follow < 0) == (left > 0):
                after = left - 1 if follow < 0 else follow
                for x2, letter in a.moves(x, symbol):
                    for y2, other in b.moves(y, symbol):
                        tail = tails.get((x2, y2[1], after))
                        if tail is None:
                            continue
                        if letter != other and (best is None or len(word) + 1 + len(tail) < len(best)):
                            best = (*word, symbol, *tail)
                        if (x2, y2, after) not in words:
                            words[x2, y2, after] = (*word, symbol)
                            order.append((x2, y2, after))
    return best, len(order)


def letters(machine: Transducer, word: Sequence[int]) -> list[int]:
    """What the one run that counts gives to each symbol."""
    runs: dict[Any, list[int]] = {state: [] for state in machine.starts()}
    for symbol in word:
        runs = {next: [*done, letter] for state, done in runs.items() for next, letter in machine.moves(state, symbol)}
    (found,) = (done for state, done in runs.items() if machine.final(state))
    return found
