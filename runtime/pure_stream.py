"""A stream of pieces in pure Python: the slow, readable twin of bitlex_stream.c, and the one that runs machines of several stages.

    stream = Stream(machine, hold=100)         # a Machine of generated/python/scan.py
    stream.feed("I'")                          # [1]: what follows may be "m"
    stream.feed("m here")                      # [3]
    stream.finish()                            # [8]

The forward state at a place depends on what is before it alone. Whether a piece starts there depends on the backward state behind it,
too. So for each place that is not settled there is the set of backward states, as bits, with which a piece starts there, if they are the
states behind what was read. One more symbol turns a set into that of the states which it leads into the set from; a set of all
states is a start, an empty one is none.

A later stage reads what the stage before put out at a code point and at the next one, so it waits until that is settled: of machines of
several stages, the cells of code points are held from the first that is not.

Invariant: sets are sets of states behind the last symbol read; a place comes out when it and all before it are settled.
"""

from __future__ import annotations

import codecs
from abc import ABC, abstractmethod
from threading import Lock
from typing import Any, NoReturn

__all__ = ["Copyable", "Stream", "User", "too_much", "unfinished"]


class Copyable(ABC):
    """A stream, which has one way to be copied: what copies all attributes would have both write to the same state, or copy tables."""

    __slots__ = ()

    @abstractmethod
    def copy(self) -> Any:
        """Another stream, of the same text so far."""

    def __copy__(self) -> Any:
        return self.copy()

    def __deepcopy__(self, known: dict[int, Any]) -> Any:
        return self.copy()

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"a {type(self).__name__} cannot be pickled; make one where it is needed, and feed it the text so far")


def too_much(hold: int, what: str) -> ValueError:
    """What is raised where a stream would have to hold more than it may."""
    return ValueError(f"the stream would have to hold more than {hold:,} {what}, which what follows may still change; hold= allows more")


class User:
    """Whoever uses a stream, of whom there may be one at a time: two would each see half of what the other does. What ends a call midway may
    lose some of the text, so nothing more of it is given; what is no part is refused before anything is done.

        with user.turn(), user: ...                # what reads the text
        with user.turn(): ...                      # what may be done after a failure, too; what resets has failed until it is done

    Python asks for signals as its own functions begin, so Ctrl-C may end __exit__ before it does anything. Then the stream has failed; the lock
    is no function of Python's.
    """

    __slots__ = ("_lock", "failed")

    def __init__(self) -> None:
        self._lock, self.failed = Lock(), False

    def turn(self) -> Lock:
        """What to hold meanwhile. Who is refused here came midway; who comes at the same moment waits, as if it had come a moment later."""
        if self._lock.locked():
            raise RuntimeError("another thread is using this stream: it has one user at a time")
        return self._lock

    def __enter__(self) -> None:
        if self.failed:
            raise ValueError("this stream has failed: reset it before it reads another text")
        self.failed = True

    def __exit__(self, kind: type[BaseException] | None, *raised: object) -> None:
        self.failed = kind is not None and not issubclass(kind, (TypeError, BufferError))


def unfinished(data: bytes) -> int:
    """How many bytes at the end are the beginning of a character: with other bytes behind them they are one."""
    for back in range(1, min(3, len(data)) + 1):
        if data[-back] < 0x80:
            return 0
        if data[-back] >= 0xC0:
            surrogate = data[-back] == 0xED and back > 1 and data[1 - back] >= 0xA0  # which the codec waits for, so as to say what it is
            return back if not surrogate and codecs.utf_8_decode(data[-back:], "replace", False)[1] == 0 else 0
    return 0


class Reader:
    """A stage: (forward state, column) -> the next state, and the sets with which a piece starts, or dropped text does."""

    def __init__(self, stage: Any) -> None:
        self.stage = stage
        self.states = len(stage.backward_next) // stage.column_count
        self.every = (1 << self.states) - 1
        self.end = 1 << stage.backward_end // stage.column_count
        self.known: dict[tuple[int, int], tuple[int, int, int]] = {}
        self.pulled: dict[tuple[int, int], int] = {}

    def read(self, forward: int, column: int) -> tuple[int, int, int]:
        key = forward, column
        if key not in self.known:
            stage, starts, drops, next = self.stage, 0, 0, 0
            for state in range(self.states):
                at = forward + stage.backward_label[state * stage.column_count + column]
                next = stage.forward_next[at]
                starts |= (stage.output[at] & 1) << state
                drops |= (stage.output[at] >> 1) << state
            self.known[key] = next, starts, drops
        return self.known[key]

    def pull(self, states: int, column: int) -> int:
        """The states that a column leads into these from."""
        if states in (0, self.every):
            return states
        key = states, column
        if key not in self.pulled:
            if len(self.pulled) > 100_000:
                self.pulled.clear()
            stage, found = self.stage, 0
            for state in range(self.states):
                before = stage.backward_next[state * stage.column_count + column] // stage.column_count
                found |= (states >> before & 1) << state
            self.pulled[key] = found
        return self.pulled[key]


class Inner:
    """A stage but the last, at some place of a text: symbols in, those with the letters that are settled out."""

    def __init__(self, reader: Reader) -> None:
        self.reader, self.forward = reader, 0
        self.waiting: list[tuple[tuple[int, int], int, int]] = []  # (a symbol's cell and place), sets with which it starts, and is dropped

    def read(self, column: int, what: tuple[int, int]) -> list[tuple[tuple[int, int], int]]:
        pull, every = self.reader.pull, self.reader.every
        self.forward, starts, drops = self.reader.read(self.forward, column)
        waiting = [(one, pull(a, column), pull(b, column)) for one, a, b in self.waiting]
        waiting.append((what, starts, drops))
        settled = 0
        while settled < len(waiting) and all(states in (0, every) for states in waiting[settled][1:]):
            settled += 1
        self.waiting = waiting[settled:]
        return [(one, bool(a) + 2 * bool(b)) for one, a, b in waiting[:settled]]

    def finish(self) -> list[tuple[tuple[int, int], int]]:
        end, waiting, self.waiting = self.reader.end, self.waiting, []
        return [(one, bool(a & end) + 2 * bool(b & end)) for one, a, b in waiting]

    def copy(self) -> Inner:
        twin = Inner(self.reader)
        twin.forward, twin.waiting = self.forward, list(self.waiting)
        return twin


class Stream(Copyable):
    """The offsets of the pieces of a text that comes in parts. `hold`: how many places may be held that are not settled."""

    def __init__(self, machine: Any, hold: int, readers: list[Reader] | None = None) -> None:
        self.machine, self.hold = machine, hold
        self.readers = readers if readers is not None else [Reader(stage) for stage in machine.stages]
        self.reset()

    def reset(self) -> None:
        """Begin a text."""
        self.kind: type | None = None
        self.tail = b""
        self.length = 0  # units that were read
        self.start: int | None = None if self.machine.drops else 0
        self.forward = 0
        self.inner = [Inner(reader) for reader in self.readers[:-1]]
        self.before: list[tuple[tuple[int, int], int] | None] = [None] * len(self.inner)  # what waits for the letter behind it
        self.open: list[tuple[int, bool, int]] = []  # place, whether it is of dropped text, set
        self.dropping = self.readers[-1].every if self.machine.drops else 0

    def copy(self) -> Stream:
        """Another stream, of the same text so far."""
        twin = Stream(self.machine, self.hold, self.readers)
        twin.kind, twin.tail, twin.length, twin.start, twin.forward = self.kind, self.tail, self.length, self.start, self.forward
        twin.before, twin.open, twin.dropping = list(self.before), list(self.open), self.dropping
        twin.inner = [stage.copy() for stage in self.inner]
        return twin

    def feed(self, text: Any, /) -> list[int]:
        """The offsets that are settled by more of the text: ends, or of a machine that drops start and end of each piece."""
        kind = str if isinstance(text, str) else bytes
        if self.kind is not None and kind is not self.kind:
            raise TypeError(f"this stream was fed {self.kind.__name__} before, and a text cannot be both")
        if kind is bytes:
            data = self.tail + bytes(memoryview(text))
            size = len(data) - unfinished(data)
            text, tail = data[:size], data[size:]
        else:
            tail = b""
        found = self.read(text)
        self.kind, self.tail = kind, tail
        return found

    def finish(self, /) -> list[int]:
        """The rest; the stream is then as it was before the first part."""
        found = self.read(self.tail) if self.tail else []
        for number, stage in enumerate(self.inner):
            for what, letter in stage.finish():
                self.lettered(number, what, letter, found)
            waiting = self.before[number]
            if waiting is not None:  # the last one: another follows as little as the end of a piece
                (cell, place), letter = waiting
                self.symbol(number + 1, (cell, place), cell + self.machine.cells * (letter + 3), found)
        end = self.readers[-1].end
        for place, drop, states in self.open:
            if states & end:
                self.hand_out(place, drop, found)
        if self.start is not None and self.length > 0:
            self.hand_out(self.length, True, found)
        self.reset()
        return found

    @property
    def settled_to(self) -> int:
        """Up to where the last stage has read."""
        waiting = [stage.waiting[0][0][1] for stage in self.inner if stage.waiting]
        return min([self.length, *waiting, *(before[0][1] for before in self.before if before is not None)])

    def read(self, text: Any) -> list[int]:
        """Read complete characters."""
        machine = self.machine
        found: list[int] = []
        cells, places = (machine.read_bytes(text), None) if machine.continuation else machine.read(text)
        base = self.length
        for at, cell in enumerate(cells):
            place = base + (at if places is None else places[at])
            self.symbol(0, (cell, place), cell, found)
        self.length = base + len(text)
        return found

    def symbol(self, number: int, what: tuple[int, int], symbol: int, found: list[int]) -> None:
        """Have a stage read a symbol."""
        reader = self.readers[number]
        column = reader.stage.columns[symbol]
        if number == len(self.inner):
            self.last(column, what[1], found)
            return
        for one, letter in self.inner[number].read(column, what):
            self.lettered(number, one, letter, found)
        if len(self.inner[number].waiting) > self.hold:
            raise too_much(self.hold, "places")

    def lettered(self, number: int, what: tuple[int, int], letter: int, found: list[int]) -> None:
        """A stage but the last put out a letter: what waited for it is a symbol of the next one."""
        waiting, self.before[number] = self.before[number], (what, letter)
        if waiting is not None:
            (cell, place), earlier = waiting
            self.symbol(number + 1, (cell, place), cell + self.machine.cells * (earlier + 3 * (letter != 0)), found)

    def last(self, column: int, place: int, found: list[int]) -> None:
        """Have the last stage read a column."""
        reader = self.readers[-1]
        self.forward, starts, drops = reader.read(self.forward, column)
        places = [(at, drop, reader.pull(states, column)) for at, drop, states in self.open]
        if self.machine.drops:
            dropping = reader.pull(self.dropping, column)
            self.dropping = dropping & ~starts | drops
            places.append((place, True, drops & ~dropping))
        places.append((place, False, starts))
        self.open = []
        for at, drop, states in places:
            if states == reader.every and not self.open:
                self.hand_out(at, drop, found)
            elif states:
                self.open.append((at, drop, states))
        if len(self.open) > self.hold:
            raise too_much(self.hold, "places")

    def hand_out(self, place: int, drop: bool, found: list[int]) -> None:
        """A piece starts there, or dropped text."""
        if not self.machine.drops:
            if place > 0:
                found.append(place)
            return
        if self.start is not None:
            found += (self.start, place)
        self.start = None if drop else place
