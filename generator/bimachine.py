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

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

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

    def back(self, after: int, symbol: int) -> int:
        return self.backward[after][self.columns[symbol]]

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
    symbols = range(machine.symbols)
    raw_back = explore_backward(machine, limits)
    suffix_states, back = raw_back
    forward, letters = explore_forward(machine, suffix_states, back, limits)
    # Suffixes: told apart by the letter of some prefix and symbol before them, or by where the symbol leads.
    suffix_class = refine([tuple(tuple(rows[r]) for rows in letters) for r in range(len(back))], back, limits)
    suffix_reps = representatives(suffix_class)
    # Prefixes: told apart by the letter of some symbol and suffix behind them, or by where the symbol leads.
    prefix_class = refine([tuple(tuple(rows[r]) for r in suffix_reps) for rows in letters], forward, limits)
    prefix_reps = representatives(prefix_class)
    small_back = [[suffix_class[back[r][c]] for c in symbols] for r in suffix_reps]
    small_forward = [[prefix_class[forward[f][c]] for c in symbols] for f in prefix_reps]
    small_letters = [[[letters[f][r][c] for r in suffix_reps] for c in symbols] for f in prefix_reps]
    return number(small_back, small_forward, small_letters)


def explore_backward(machine: Machine, limits: Limits) -> tuple[list[Hashable], list[list[int]]]:
    states: dict[Hashable, int] = {machine.end: 0}
    order: list[Hashable] = [machine.end]
    table: list[list[int]] = []
    for state in order:  # grows while it is read
        limits.check("states", len(order))
        row = []
        for symbol in range(machine.symbols):
            next = machine.back(state, symbol)
            if next not in states:
                states[next] = len(order)
                order.append(next)
            row.append(states[next])
        table.append(row)
    return order, table


def explore_forward(
    machine: Machine, suffixes: list[Hashable], back: list[list[int]], limits: Limits
) -> tuple[list[list[int]], list[list[list[int]]]]:
    """Prefix maps (see Note [prefix maps]): forward[map][symbol], and the letters[map][suffix after][symbol]."""
    numbers: dict[Hashable, int] = {}
    objects: list[Hashable] = []

    def number_of(state: Hashable) -> int:
        if state not in numbers:
            numbers[state] = len(objects)
            objects.append(state)
        return numbers[state]

    steps: dict[tuple[int, int, int], tuple[int, int]] = {}
    first = (number_of(machine.start),) * len(suffixes)
    maps = {first: 0}
    order = [first]
    forward: list[list[int]] = []
    letters: list[list[list[int]]] = []
    for current in order:
        limits.check("states", len(order))
        row = []
        decided: list[list[int]] = [[0] * machine.symbols for _ in suffixes]
        for symbol in range(machine.symbols):
            next = []
            for after, state in enumerate(suffixes):
                key = (current[back[after][symbol]], symbol, after)
                if key not in steps:
                    target, letter = machine.step(objects[key[0]], symbol, state)
                    steps[key] = number_of(target), letter
                target_number, letter = steps[key]
                next.append(target_number)
                decided[after][symbol] = letter
            image = tuple(next)
            if image not in maps:
                maps[image] = len(order)
                order.append(image)
            row.append(maps[image])
        forward.append(row)
        letters.append(decided)
    return forward, letters


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


def number(back: list[list[int]], forward: list[list[int]], letters: list[list[list[int]]]) -> Bimachine:
    """Merge symbols that act alike, then number columns, states and labels in order of first use."""
    columns: dict[Hashable, int] = {}
    column_of = []
    examples = []
    for c in range(len(back[0]) if back else 0):
        key = (tuple(row[c] for row in back), tuple(row[c] for row in forward), tuple(tuple(rows[c]) for rows in letters))
        if key not in columns:
            columns[key] = len(columns)
            examples.append(c)
        column_of.append(columns[key])
    # Classes come out of `refine` in breadth-first order already: exploration is breadth-first, and it numbers by first member.
    labels: dict[Hashable, int] = {}
    label_rows, back_rows = [], []
    forward_columns: list[tuple[tuple[int, ...], tuple[int, ...]]] = []
    for r in range(len(back)):
        row = []
        for c in examples:
            key2 = (tuple(f[c] for f in forward), tuple(f[c][r] for f in letters))
            if key2 not in labels:
                labels[key2] = len(labels)
                forward_columns.append(key2)
            row.append(labels[key2])
        label_rows.append(tuple(row))
        back_rows.append(tuple(back[r][c] for c in examples))
    forward_rows = tuple(tuple(column[0][f] for column in forward_columns) for f in range(len(forward)))
    output_rows = tuple(tuple(column[1][f] for column in forward_columns) for f in range(len(forward)))
    return Bimachine(tuple(column_of), tuple(back_rows), tuple(label_rows), forward_rows, output_rows)
