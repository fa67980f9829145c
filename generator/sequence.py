"""Several splits in a row -> one machine; or, where that would be large, a cascade in which each reads the letters of the last.

    digits apart, then words:  "ab12"  --first-->  ab|12  --second, on each piece alone-->  ab|12

A later step sees every piece as a text of its own: its ends are ends of input, its lookahead stops there, and what an earlier step
dropped is no part of any piece. Nothing is ever scanned piece by piece: a boundary of the first step only resets the second.

Note [composition]: what the second step's suffix state is depends on where the first step cuts, and that depends on the first
step's prefix. So the composed suffix state is (first's, a table: first's prefix state -> second's), which is finite again.
Rejected: always a cascade (twice the passes for nothing: the composed machines of most families are as small as their last step).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace

from .bimachine import Bimachine, canonical
from .errors import LimitError
from .limits import Limits
from .split import CONTINUE, DROP, START

__all__ = ["Cascaded", "Composed", "Prefixed", "chain"]

COMPOSED_STATES = 400  # beyond this, in either direction, two steps stay apart


class Composed:
    """`second` on every piece of `first`, as one machine. See Note [composition]."""

    def __init__(self, first: Bimachine, second: Bimachine) -> None:
        self.first, self.second, self.symbols = first, second, first.symbols
        self.end = (first.end, (second.end,) * len(first.forward))
        self.start = (first.start, second.start)
        self.alike = list(zip(first.columns, second.columns, strict=True))

    def back(self, after: tuple[int, tuple[int, ...]], symbol: int) -> tuple[int, tuple[int, ...]]:
        suffix, seconds = after
        table = []
        for prefix in range(len(self.first.forward)):
            next, letter = self.first.step(prefix, symbol, suffix)
            table.append(self.second.end if letter != CONTINUE else self.second.back(seconds[next], symbol))
        return self.first.back(suffix, symbol), tuple(table)

    def steps(self, state: tuple[int, int], symbol: int, afters: Sequence[tuple[int, tuple[int, ...]]]) -> list[tuple[Hashable, int]]:
        return [self.step(state, symbol, after) for after in afters]

    def step(self, state: tuple[int, int], symbol: int, after: tuple[int, tuple[int, ...]]) -> tuple[Hashable, int]:
        next, letter = self.first.step(state[0], symbol, after[0])
        if letter == DROP:
            return (next, self.second.start), DROP
        second, letter = self.second.step(self.second.start if letter == START else state[1], symbol, after[1][next])
        return (next, second), letter


class Cascaded:
    """`machine` as a later stage: a symbol is a cell, the letter of the stage before, and whether its piece ends behind it."""

    def __init__(self, machine: Bimachine) -> None:
        self.machine, self.symbols = machine, 6 * machine.symbols
        self.end, self.start = machine.end, machine.start
        self.alike = [(at, column) for at in range(6) for column in machine.columns]

    def read(self, symbol: int, after: int) -> tuple[int, int, int]:
        rest, cell = divmod(symbol, self.machine.symbols)
        last, letter = divmod(rest, 3)
        return cell, letter, self.machine.end if last else after

    def back(self, after: int, symbol: int) -> int:
        cell, letter, after = self.read(symbol, after)
        return self.machine.end if letter != CONTINUE else self.machine.back(after, cell)

    def steps(self, state: int, symbol: int, afters: Sequence[int]) -> list[tuple[Hashable, int]]:
        return [self.step(state, symbol, after) for after in afters]

    def step(self, state: int, symbol: int, after: int) -> tuple[int, int]:
        cell, letter, after = self.read(symbol, after)
        if letter == DROP:
            return self.machine.start, DROP
        return self.machine.step(self.machine.start if letter == START else state, cell, after)


class Prefixed:
    """`machine` on every text as if U+0020 stood before it, unless one does; pieces are slices of the text without it."""

    def __init__(self, machine: Bimachine, space: int) -> None:
        self.machine, self.space, self.symbols = machine, space, machine.symbols
        self.end, self.start = machine.end, -1
        self.alike = [(column, symbol == space) for symbol, column in enumerate(machine.columns)]

    def back(self, after: int, symbol: int) -> int:
        return self.machine.back(after, symbol)

    def steps(self, state: int, symbol: int, afters: Sequence[int]) -> list[tuple[Hashable, int]]:
        return [self.step(state, symbol, after) for after in afters]

    def step(self, state: int, symbol: int, after: int) -> tuple[int, int]:
        if state >= 0:
            return self.machine.step(state, symbol, after)
        state = self.machine.start
        if symbol != self.space:
            state, _ = self.machine.step(state, self.space, self.machine.back(after, symbol))
        state, letter = self.machine.step(state, symbol, after)
        return state, START if letter == CONTINUE else letter


def chain(machines: Sequence[Bimachine], limits: Limits) -> tuple[Bimachine, ...]:
    """The stages of the machines in a row: one wherever neighbours compose into a small machine."""
    stages: list[Bimachine] = []
    small = replace(limits, states=min(limits.states, COMPOSED_STATES))
    for machine in machines:
        if stages:
            try:
                stages[-1] = canonical(Composed(stages[-1], machine), small)
                continue
            except LimitError:
                limits.check("states", 0)  # out of time is out of time
        stages.append(machine)
    return tuple(stages[:1]) + tuple(canonical(Cascaded(stage), limits) for stage in stages[1:])

