"""Machine -> its canonical bimachine: two minimal automata and the letter they decide together. Equal functions, equal tables.

    backward, right to left:    r[n] = 0;   r[i] = backward[r[i+1]][c[i]];    label[i] = labels[r[i+1]][c[i]]
    forward,  left to right:    f[0] = 0;   f[i+1] = forward[f[i]][label[i]]; letter[i] = output[f[i]][label[i]]

The backward states are the classes of suffixes that no prefix can tell apart by the letters of the prefix; the forward states the
classes of prefixes that no suffix can tell apart by the letters of the suffix (Reutenauer and Schützenberger, "Minimization of
rational word functions", 1991). Neither depends on the other, so both are minimal at once, and canonical: symbols that act
alike share a column, columns and states are numbered in order of first use.

Note [prefix maps]: a forward state of the machine depends on what lies ahead. The map "backward state here -> forward state here"
does not: it is a function of the prefix alone, and its finitely many values are the raw forward states.
Rejected: forward states that already know the suffix (fewer at times, but not canonical, and the two passes then wait for each other).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import getitem, itemgetter

from .limits import Limits
from .split import Machine

__all__ = ["Bimachine", "canonical"]

Table = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Bimachine:
    """`columns[symbol]` is the column of a symbol; backward and labels are [state][column], forward and output [state][label]."""

    columns: tuple[int, ...]
    backward: Table
    labels: Table
    forward: Table
    output: Table

    @property
    def symbols(self) -> int:
        return len(self.columns)

    # It is a Machine again, so that bimachines compose.
    end = 0
    start = 0

    @property
    def alike(self) -> Sequence[Hashable]:
        return self.columns

    def back(self, after: int, symbol: int) -> int:
        return self.backward[after][self.columns[symbol]]

    def steps(self, state: int, symbol: int, afters: Sequence[int]) -> list[tuple[Hashable, int]]:
        return [self.step(state, symbol, after) for after in afters]

    def step(self, state: int, symbol: int, after: int) -> tuple[int, int]:
        label = self.labels[after][self.columns[symbol]]
        return self.forward[state][label], self.output[state][label]

    def letters(self, symbols: Sequence[int]) -> list[int]:
        """The letter of each symbol of a text: the definition of what every emitted lexer computes."""
        r, labels = 0, []
        for symbol in reversed(symbols):
            column = self.columns[symbol]
            labels.append(self.labels[r][column])
            r = self.backward[r][column]
        f, letters = 0, []
        for label in reversed(labels):
            letters.append(self.output[f][label])
            f = self.forward[f][label]
        return letters


def canonical(machine: Machine, limits: Limits) -> Bimachine:
    """Explore `machine`, minimize it, number it. LimitError if either automaton has more states than `limits` allows."""
    kinds: dict[Hashable, int] = {}
    kind_of = [kinds.setdefault(kind, len(kinds)) for kind in machine.alike]
    examples = [kind_of.index(kind) for kind in range(len(kinds))]
    suffixes, back = explore_backward(machine, limits, examples)
    forward, letters = explore_forward(machine, suffixes, back, limits, examples)
    # Suffixes: told apart by the letter of some prefix and symbol before them, or by where the symbol leads.
    suffix_class = refine([bytes(letter) for letter in zip(*chain.from_iterable(letters), strict=True)], back, limits)
    kept = representatives(suffix_class)
    letters = [[bytes(row[r] for r in kept) for row in rows] for rows in letters]
    # Prefixes: told apart by the letter of some symbol and suffix behind them, or by where the symbol leads.
    prefix_class = refine([tuple(rows) for rows in letters], forward, limits)
    reps = representatives(prefix_class)
    small_back = [[suffix_class[t] for t in back[r]] for r in kept]
    small_forward = [[prefix_class[t] for t in forward[f]] for f in reps]
    return number(kind_of, small_back, small_forward, [letters[f] for f in reps])


def explore_backward(machine: Machine, limits: Limits, symbols: Sequence[int]) -> tuple[list[Hashable], list[list[int]]]:
    """All backward states, and where each of `symbols` leads from each."""
    states: dict[Hashable, int] = {machine.end: 0}
    order: list[Hashable] = [machine.end]
    table: list[list[int]] = []
    for state in order:  # grows while it is read
        limits.check("states", len(order))
        row = []
        for symbol in symbols:
            next = machine.back(state, symbol)
            if next not in states:
                states[next] = len(order)
                order.append(next)
            row.append(states[next])
        table.append(row)
    return order, table


def explore_forward(
    machine: Machine, suffixes: list[Hashable], back: list[list[int]], limits: Limits, symbols: Sequence[int]
) -> tuple[list[list[int]], list[list[bytes]]]:
    """Prefix maps (see Note [prefix maps]): where each of `symbols` leads from each, and letters[map][symbol][suffix behind it]."""
    numbers: dict[Hashable, int] = {machine.start: 0}
    objects: list[Hashable] = [machine.start]
    # By symbol and state, two rows by suffix: the number of the next state, and the letter.
    nexts: list[dict[int, list[int]]] = [{} for _ in symbols]
    outputs: list[dict[int, list[int]]] = [{} for _ in symbols]

    def explore(state: int, at: int) -> None:
        found = machine.steps(objects[state], symbols[at], suffixes)
        number = {}  # of few outcomes, most of which many suffixes share: to hash each time what is one object would take most of the time
        for next, _ in {id(outcome): outcome for outcome in found}.values():
            if next not in numbers:
                numbers[next] = len(objects)
                objects.append(next)
            number[id(next)] = numbers[next]
        nexts[at][state] = [number[id(next)] for next, _ in found]
        outputs[at][state] = [letter for _, letter in found]
        limits.check("work", len(objects) * len(suffixes) * len(symbols))

    before = [gather([line[at] for line in back]) for at in range(len(symbols))]  # by symbol: of each suffix behind it, what a map has before it
    every = range(len(suffixes))
    order = [(0,) * len(suffixes)]
    maps = {order[0]: 0}
    forward: list[list[int]] = []
    letters: list[list[bytes]] = []
    for current in order:
        limits.check("states", len(order))
        limits.check("work", len(order) * len(suffixes) * len(symbols))
        targets, decided = [], []
        for at in range(len(symbols)):
            next, output, states = nexts[at], outputs[at], before[at](current)
            for state in set(states).difference(next):
                explore(state, at)
            image = tuple(map(getitem, map(next.__getitem__, states), every))  # loops in C: large machines take most of their time here
            decided.append(bytes(map(getitem, map(output.__getitem__, states), every)))
            if image not in maps:
                maps[image] = len(order)
                order.append(image)
            targets.append(maps[image])
        forward.append(targets)
        letters.append(decided)
    return forward, letters


def gather(places: list[int]) -> Callable[[tuple[int, ...]], tuple[int, ...]]:
    """The items at these places, by a loop in C."""
    return itemgetter(*places) if len(places) > 1 else lambda items: (items[places[0]],)


def refine(signature: Sequence[Hashable], table: list[list[int]], limits: Limits) -> list[int]:
    """The coarsest partition finer than `signature` that `table` respects (E. F. Moore, 1956): the class of each state."""
    numbers: dict[Hashable, int] = {}
    classes = [numbers.setdefault(s, len(numbers)) for s in signature]
    count = len(numbers)
    while True:
        limits.check("states", 0)
        numbers = {}
        classes = [numbers.setdefault((classes[s], tuple(classes[t] for t in row)), len(numbers)) for s, row in enumerate(table)]
        if len(numbers) == count:
            return classes
        count = len(numbers)


def representatives(classes: list[int]) -> list[int]:
    first: dict[int, int] = {}
    for state, number in enumerate(classes):
        first.setdefault(number, state)
    return [first[number] for number in range(len(first))]


def number(kind_of: list[int], back: list[list[int]], forward: list[list[int]], letters: list[list[bytes]]) -> Bimachine:
    """Merge kinds of symbols that act alike, and number columns and labels in order of first use.

    States are so numbered already: exploration is breadth-first, and `refine` numbers classes by their first members.
    """
    columns: dict[Hashable, int] = {}
    examples: list[int] = []
    column_of = []
    for kind in range(max(kind_of) + 1):
        key = tuple(row[kind] for row in back), tuple(row[kind] for row in forward), tuple(rows[kind] for rows in letters)
        if key not in columns:
            columns[key] = len(columns)
            examples.append(kind)
        column_of.append(columns[key])
    labels: dict[tuple[tuple[int, ...], tuple[int, ...]], int] = {}  # the columns of the forward tables
    rows = [
        tuple(labels.setdefault((tuple(f[k] for f in forward), tuple(f[k][r] for f in letters)), len(labels)) for k in examples)
        for r in range(len(back))
    ]
    return Bimachine(
        tuple(column_of[kind] for kind in kind_of),
        tuple(tuple(row[kind] for kind in examples) for row in back),
        tuple(rows),
        tuple(tuple(targets[f] for targets, _ in labels) for f in range(len(forward))),
        tuple(tuple(outputs[f] for _, outputs in labels) for f in range(len(forward))),
    )
