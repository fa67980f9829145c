"""What can be known of a machine by walking its graph.

    agreement(a, b)                  # texts of that length are enough to tell two bimachines apart
    cover(machine)                   # a shortest text for every state and transition
    lookahead(machine)               # how many symbols behind a place decide its letter; or a word to repeat without end
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Any

from .bimachine import Bimachine
from .transducer import Word

__all__ = ["Lookahead", "agreement", "cover", "lookahead"]


def reach(symbols: Iterable[int], step: Callable[[Any, int], Hashable], start: Hashable) -> dict[Any, Word]:
    """Every state that symbols lead to, with a shortest word of them in the order in which they are read."""
    symbols, words, order = list(symbols), {start: Word()}, [start]
    for state in order:  # grows while it is read
        for symbol in symbols:
            next = step(state, symbol)
            if next not in words:
                words[next] = (*words[state], symbol)
                order.append(next)
    return words


def ahead(machine: Bimachine, state: int, symbol: int) -> int:
    """The next prefix state. In a canonical bimachine it is the same whatever follows."""
    return machine.forward[state][machine.labels[0][machine.columns[symbol]]]


def agreement(a: Bimachine, b: Bimachine) -> int:
    """k*: two canonical bimachines over the same symbols that agree on all texts of at most k* symbols agree on all texts.

    A letter depends on a prefix state, a symbol and a suffix state. If two letters differ after some prefix and before some suffix,
    they do so after a shortest prefix and before a shortest suffix that lead to the same pairs of states; so k* is the longest of
    the first, plus one, plus the longest of the second: less than the number of pairs of prefix states and of suffix states together.
    """
    prefixes = reach(range(a.symbols), lambda pair, s: (ahead(a, pair[0], s), ahead(b, pair[1], s)), (0, 0))
    suffixes = reach(range(a.symbols), lambda pair, s: (a.back(pair[0], s), b.back(pair[1], s)), (0, 0))
    return max(map(len, prefixes.values())) + 1 + max(map(len, suffixes.values()))


def cover(machine: Bimachine) -> dict[tuple[str, int, int], Word]:
    """A shortest text that takes each transition: ("backward", suffix state, column) and ("forward", prefix state, label).

    Together they visit every state. In a canonical bimachine every entry of every table is there, since any prefix and any suffix meet.
    """
    examples = {column: symbol for symbol, column in reversed(list(enumerate(machine.columns)))}.values()
    before = reach(examples, lambda state, symbol: ahead(machine, state, symbol), 0)
    behind = {state: word[::-1] for state, word in reach(examples, machine.back, 0).items()}
    found: dict[tuple[str, int, int], Word] = {}
    for after, right in behind.items():
        for symbol in examples:
            found["backward", after, machine.columns[symbol]] = (symbol, *right)
            for state, left in before.items():
                key, text = ("forward", state, machine.labels[after][machine.columns[symbol]]), (*left, symbol, *right)
                if key not in found or len(text) < len(found[key]):
                    found[key] = text
    return found


@dataclass(frozen=True)
class Lookahead:
    """`symbols`: so many behind a place decide its letter, if the text goes on so far. None: no number does, and behind the place
    `at` of `text` the words `text`, `text` + `again`, `text` + `again` + `again`, ... all leave it open."""

    symbols: int | None
    text: Word = ()
    at: int = 0
    again: Word = ()


def lookahead(machine: Bimachine) -> Lookahead:
    """How much of a stream must be seen before letters are known.

    A word that has been seen is a map from the suffix state behind it to the one before it; a letter is open while the states that
    the map can still lead to give it two values. More text makes the map's image smaller, so open words form a tree of maps: its
    depth is the answer, unless a map comes back, which then comes back for ever.
    """
    examples = sorted({column: symbol for symbol, column in reversed(list(enumerate(machine.columns)))}.values())
    prefixes = reach(examples, lambda state, symbol: ahead(machine, state, symbol), 0)

    def open_at(states: frozenset[int]) -> Word | None:
        for state, left in prefixes.items():
            for symbol in examples:
                if len({machine.output[state][machine.labels[after][machine.columns[symbol]]] for after in states}) > 1:
                    return (*left, symbol)
        return None

    known: dict[frozenset[int], Word | None] = {}
    depth: dict[Word, int] = {}
    first = tuple(range(len(machine.backward)))
    path: list[tuple[Word, list[tuple[int, Word]]]] = []
    word: list[int] = []

    def enter(images: Word) -> bool:
        states = frozenset(images)
        if states not in known:
            known[states] = open_at(states)
        if known[states] is None:
            depth[images] = 0
            return False
        path.append((images, [(s, tuple(images[machine.back(r, s)] for r in first)) for s in examples]))
        return True

    if not enter(first):
        return Lookahead(0)
    while path:
        images, todo = path[-1]
        if not todo:
            path.pop()
            depth[images] = 1 + max(depth[tuple(images[machine.back(r, s)] for r in first)] for s in examples)
            continue
        symbol, next = todo.pop(0)
        if next in depth:
            continue
        word = [*word[: len(path) - 1], symbol]
        stack = [seen for seen, _ in path]
        if next in stack:
            at = stack.index(next)
            left = known[frozenset(next)] or ()
            return Lookahead(None, (*left, *word[:at]), len(left) - 1, tuple(word[at:]))
        enter(next)
    return Lookahead(depth[first])
