"""Tables as they were emitted + steps as planned -> a proof that they split every text alike, or a shortest text that they do not.

    prove("cl100k")             # reads generated/python/cl100k.py; with "c" as second argument, generated/c/cl100k.c

Theorem: for every text, of any length, the tables give each code point the letter that the definition gives it. The definition:
every step finds its matches from left to right, the match at a place being the one that a backtracking engine prefers (`reference`
has it as a regular language); pieces follow from matches and gaps by the step's behavior (`Splitting` below, which is find_iter and the
five behaviors read from left to right); the next step sees each piece as a text of its own (`transducer.Pieces`).

Proof: both sides are transducers that guess what lies ahead and are held to it, with exactly one run that counts on every text. All
pairs of runs over one text are walked; the tables are right if and only if no pair that leads to the end makes a move with two
letters. There are finitely many pairs, so this is a decision, and breadth-first order makes a witness shortest. Symbols are the
classes of code points that no set of a pattern and no cell of the emitted look-up tells apart, found by sweeping 0..10FFFF; so
the look-up is proved along with the automata.

Trusted: the resolved tree (syntax, Unicode sets, dialect), `reference`, `Splitting`, `Pieces`, the loop that reads the tables, interegular.
Rejected: comparing with the generator's own machines (what `canonical` gets wrong, it would get wrong twice).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from . import Program
from .codeset import CodeSet
from .emitted import Symbol, bimachine, ordered, read_c, read_python, symbols_of
from .families import family
from .folders import folder
from .pack import Tables
from .reference import Matches, Uncovered, preferred
from .split import CONTINUE, DROP, START
from .steps import Plan, plans
from .transducer import Guessing, Move, Pieces, Reduced, Tabled, Transducer, differ, letters
from .tree import Node

__all__ = ["Difference", "Report", "check", "prove", "read_emitted"]

GENERATED = folder("generated")
State = tuple[int, int, bool | None]


@dataclass(frozen=True)
class Difference:
    """A shortest text, and the letter of each of its symbols (bytes where a lexer reads bytes): 0 continue, 1 start, 2 drop."""

    text: str | bytes
    expected: tuple[int, ...]
    found: tuple[int, ...]


@dataclass(frozen=True)
class Report:
    """`states`: of the definition, and (backward, forward) of the tables; `built`: of all automata on the way to the definition."""

    family: str
    source: str
    steps: int
    symbols: int
    states: tuple[int, tuple[int, int]]
    built: int
    pairs: int
    seconds: float
    counterexample: Difference | None

    def __str__(self) -> str:
        size = f"{self.symbols} symbols, {self.states[0]} states (from {self.built:,}) against {self.states[1][0]} + {self.states[1][1]}"
        head = f"{self.family}, {self.source} tables, {self.steps} step{'s' * (self.steps > 1)}: {size}, {self.pairs:,} pairs, {self.seconds:.2f} s"
        if self.counterexample is None:
            return f"{head}\nproved: the tables split every text as the definition does"
        wrong = self.counterexample
        lines = (head, "REFUTED by a shortest text:", f"  text      {wrong.text!a}", f"  expected  {spelled(wrong.expected)}",
                 f"  tables    {spelled(wrong.found)}        (S a piece starts, . it goes on, D dropped)")  # fmt: skip
        return "\n".join(lines)


def spelled(found: Sequence[int]) -> str:
    return "".join(".SD"[letter] for letter in found)


def prove(what: str | Program, source: str = "python") -> Report:
    """The tables of a catalogue family as they stand in generated/, or of a program as it would be emitted now."""
    name, planned, tables = read_emitted(what, source)
    return check(planned, tables, name, source)


def read_emitted(what: str | Program, source: str) -> tuple[str, tuple[Plan, ...], Tables]:
    """The name, the steps, and the tables as they are read back from the Python or the C source."""
    if isinstance(what, Program):
        from .emit import emit  # needs jinja2, which proving a family does not

        name, planned, emitted = what.name, what.plans, None
        files = emit(what)
    else:
        known = family(what)
        name, planned, emitted = known.name, plans(known.steps, known.dialect, known.unicode), GENERATED
    path = f"python/{name}.py" if source == "python" else f"c/{name}.c"
    text = (emitted / path).read_text(encoding="utf-8") if emitted else files[path]
    return name, planned, read_python(text) if source == "python" else read_c(text)


def check(planned: tuple[Plan, ...], tables: Tables, name: str = "custom", source: str = "tables") -> Report:
    """Decide whether the tables do what the steps say."""
    begun = time.perf_counter()
    if len(tables.stages) > 1:
        raise Uncovered("not covered by the proof: lexers of several stages")
    seen = symbols_of(planned, tables)
    wanted, built = definition(planned, seen)
    machine, end = bimachine(tables.stages[0])
    given = Tabled(machine, [s.cell for s in seen], end)
    word, pairs = differ(wanted, given, range(len(seen)), [s.inside for s in seen] if tables.continuation else ())
    wrong = None
    if word is not None:
        text = b"".join(seen[s].text for s in word)
        try:
            shown: str | bytes = text.decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            shown = text
        wrong = Difference(shown, tuple(letters(wanted, word)), tuple(letters(given, word)))
    states = wanted.states, (len(machine.backward), len(machine.forward))
    return Report(name, source, len(planned), len(seen), states, built, pairs, time.perf_counter() - begun, wrong)


# --- the definition ---------------------------------------------------------------------------------------------------------------------


class Splitting(Guessing):
    """One step on one text: the preferred matches, find_iter, the behavior.

    The suffix v is known by the states of the automaton of matches that accept v (`ends`), and those that accept v with one # in it
    (`begins`). The state: where the match in progress stands (-1: none is), where a match that begins here would stand, and
    whether the last span is a match (None: there is no span yet). A match begins where some end for it exists, and ends at its #.
    """

    def __init__(self, plan: Plan, matches: Matches, columns: Sequence[int], space: int) -> None:
        self.plan, self.space = plan, columns[space]
        *by_column, fresh, self.cut = zip(*((*row,) for row in matches.next), strict=True)
        self.by_column, self.entry = by_column, matches.next[0]
        states = range(len(matches.next))
        ends = frozenset(q for q in states if matches.final[q])
        self.order = [(ends, frozenset(q for q in states if self.cut[q] in ends))]
        numbers, back = {self.order[0]: 0}, []
        for ends, begins in self.order:  # grows while it is read
            row = []
            for next in by_column:
                now = frozenset(q for q in states if next[q] in ends)
                found = now, frozenset(q for q in states if next[q] in begins or self.cut[q] in now)
                if found not in numbers:
                    numbers[found] = len(self.order)
                    self.order.append(found)
                row.append(numbers[found])
            back.append(row)
        self.back, self.begin = back, (-1, fresh[0], None)
        super().__init__(back, columns, None if plan.prefix else self.begin, self.read)

    def read(self, state: State | None, column: int, after: int) -> tuple[State, int]:
        if state is None:  # U+0020 is read before the text, unless one stands there; pieces begin with the text
            state = self.begin if column == self.space else self.read(self.begin, self.space, self.back[after][column])[0]
            next, letter = self.read(state, column, after)
            return next, START if letter == CONTINUE else letter
        inside, start, last = state
        move, entry = self.by_column[column], self.entry[column]
        ends, begins = self.order[self.back[after][column]]
        if inside >= 0 and self.cut[inside] not in ends:
            return (move[inside], entry, True), self.letter(True, last, [])
        if inside >= 0 and move[inside] in self.order[after][1]:
            raise AssertionError("a text has two preferred matches")
        if start in begins and self.cut[start] not in ends:
            return (move[start], entry, True), self.letter(True, last, [True])
        if start in begins and inside < 0:
            spans = [True, False]  # an empty match, which cuts the gap; right behind a match it does not count
        else:
            spans = [False] if last is not False else []
        return (-1, entry, False), self.letter(False, last, spans)

    def letter(self, matched: bool, last: bool | None, spans: list[bool]) -> int:
        """The letter of a code point in a match or a gap, given the span before and those that begin in front of it."""
        behavior, invert = self.plan.behavior, self.plan.invert
        if behavior == "removed" and matched != invert:
            return DROP
        flags = [span != invert for span in ([] if last is None else [last]) + spans]
        joined = {"contiguous": ((True, True), (False, False)), "merged_with_previous": ((False, True),), "merged_with_next": ((True, False),)}
        return START if last is None or any(pair not in joined.get(behavior, ()) for pair in pairwise(flags)) else CONTINUE


class CodePoints:
    """A step over code points where symbols are bytes: bytes that are not the first of their code point share its fate."""

    def __init__(self, step: Transducer, inside: Sequence[int]) -> None:
        self.step, self.inside = step, inside

    def starts(self) -> list[tuple[object, int]]:
        return [(state, CONTINUE) for state in self.step.starts()]

    def final(self, state: tuple[object, int]) -> bool:
        return self.step.final(state[0])

    def kind(self, symbol: int) -> object:
        return -1 if self.inside[symbol] < 0 else self.step.kind(symbol)

    def moves(self, state: tuple[object, int], symbol: int) -> list[Move]:
        if self.inside[symbol] < 0:
            return [(state, state[1])]
        return [((next, DROP if letter == DROP else CONTINUE), letter) for next, letter in self.step.moves(state[0], symbol)]


@lru_cache(maxsize=64)
def definition(planned: tuple[Plan, ...], symbols: tuple[Symbol, ...]) -> tuple[Reduced, int]:
    """All steps in a row as one transducer, and how many states were built on the way."""
    everything, inside = range(len(symbols)), [symbol.inside for symbol in symbols]
    # U+0020 is alone in its symbol where a step asks for it (see `ordered`).
    space = next((n for n, symbol in enumerate(symbols) if symbol.text == b" "), 0)
    total, built = None, 0
    for number, plan in enumerate(planned):
        masks = [symbol.sets[number] for symbol in symbols]
        shown = sorted({m for m, follow in zip(masks, inside, strict=True) if plan.bytewise or follow >= 0})
        held = tuple((points, frozenset(c for c, m in enumerate(shown) if m >> bit & 1)) for bit, points in enumerate(ordered(plan)))
        matches = language(plan.tree, held, len(shown))
        built += matches.built
        step: Transducer = Splitting(plan, matches, [shown.index(m) if m in shown else 0 for m in masks], space)
        if not plan.bytewise and min(inside) < 0:
            step = CodePoints(step, inside)
        one = Reduced(step, everything)
        total = one if total is None else Reduced(Pieces(total, one), everything)
    if total is None or not total.total(inside):
        raise AssertionError("the definition says nothing about some text")
    return total, built


@lru_cache(maxsize=256)
def language(tree: Node, held: tuple[tuple[CodeSet, frozenset[int]], ...], columns: int) -> Matches:
    return preferred(tree, dict(held), columns)
