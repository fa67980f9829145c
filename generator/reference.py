"""The preferred match of a pattern as a regular language, by language algebra alone: the second derivation that `proof` compares with.

    a|ab, then anything     { c a # v }  |  { c ab # v } - { texts on which a matches }     =   { c a # v }

A word is a whole question and its answer: `c` the symbol before the match (or the start of the text), `u` the match, `#`, `v` the
rest of the text. That a lookahead holds, or that an earlier choice fails, is a property of the text behind a place. All languages
are therefore written right to left: then it is a property of what an automaton has read already, and intersection decides it.

    choice        r|s      r, or s behind a mark that asks: "from here r does not lead to success"
    greedy loop   r*       r r r ... and a mark: "from here one more r does not lead to success";  lazy: a mark before each r instead
    lookahead              a mark: "a text of the body begins here", or "none does"
    atomic, possessive     the choices inside ask for "whatever follows" in place of what really follows

A mark is a symbol of its own, so patterns with marks are ordinary regular expressions: concatenation, union and star. What a mark
asks is a regular language as well, computed the same way without preferences; a guard is the automaton of that language which lets
the mark pass only where it accepts. Intersect with all guards, erase the marks, and what is left are the words in which every
question was answered truly. This is backtracking, leftmost-first, spelled as set difference: the r-th choice is taken exactly where
those before it fail with the same continuation. Success itself is a path on which lookaheads hold, preferred or not; so both are
computed, and `preferred` checks that preference loses no text and that no text has two matches.

The automata algebra is interegular's (union, intersection, difference, concatenation, star, mirror image); it shares no code with
`nfa`, `suffix`, `split`, `bimachine` and `dfa`. Not covered, and refused: \\\\G, loops whose body can be empty, lookbehind of more
than one symbol. Rejected: "the longest of all matches" (true of single alternatives of most families, and false in general);
languages written left to right (each mark then is a promise to remember, and sets of promises grow exponentially).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

import interegular.fsm

from .codeset import CodeSet
from .tree import Alternate, Atomic, Chars, Concat, Look, Node, Repeat, nullable

__all__ = ["Matches", "Uncovered", "preferred"]

library: Any = interegular.fsm  # it has no types
FSM: TypeAlias = Any
Tests = dict[int, FSM]  # by mark: the texts, with the symbol before them, on which it may stand

END = -1  # the mark between a match and the rest of the text; further marks count down from here


class Uncovered(ValueError):
    """A pattern that this derivation does not speak about."""


@dataclass(frozen=True)
class Matches:
    """Words c u # v from left to right: `next[state][symbol]` or -1; the symbols are the columns, then the start of the text, then #."""

    next: tuple[tuple[int, ...], ...]
    final: tuple[bool, ...]
    built: int  # states of all automata on the way


def preferred(tree: Node, column_sets: dict[CodeSet, frozenset[int]], columns: int) -> Matches:
    """The matches of a pattern over columns; `column_sets` says which columns each of its sets holds."""
    algebra = Algebra(column_sets, columns)
    total, taken = algebra.nothing, algebra.nothing
    for branch in tree.branches if isinstance(tree, Alternate) else (tree,):
        body, tests = algebra.write(branch, algebra.anything)
        words = algebra.words(body, tests)
        texts = algebra.erase(words, {END})
        total = algebra.small(total | (words - algebra.insert(taken, END)))
        taken = algebra.small(taken | texts)
    if not taken.equivalent(algebra.success(tree, algebra.anything)):
        raise AssertionError("preference lost a text on which there is a match")
    return algebra.table(algebra.small(total.reversed()))


class Algebra:
    """Languages over the columns of one pattern, right to left. `start`: the symbol that stands before a text."""

    def __init__(self, column_sets: dict[CodeSet, frozenset[int]], columns: int) -> None:
        self.sets, self.columns, self.start, self.built, self.last = column_sets, range(columns), columns, 0, END
        self.context = self.one_of([*self.columns, self.start])
        self.rest = self.star(self.one_of(self.columns))
        self.anything = self.small(self.rest + self.context)
        self.nothing = self.one_of(())
        self.empty = library.epsilon(self.alphabet())
        self.known: dict[tuple[Node, int], tuple[FSM, FSM]] = {}

    # --- automata ---------------------------------------------------------------------------------------------------------------

    def alphabet(self, marks: Iterable[int] = ()) -> Any:
        return library.Alphabet.from_groups(*((symbol,) for symbol in (*self.columns, self.start, *sorted(marks))))

    def one_of(self, symbols: Iterable[int]) -> FSM:
        """The words of one symbol."""
        symbols = tuple(symbols)
        alphabet = self.alphabet(s for s in symbols if s < 0)
        return library.FSM(alphabet, {0, 1}, 0, {1}, {0: {alphabet[s]: 1 for s in symbols}})

    def star(self, fsm: FSM) -> FSM:
        """Any number of words. The library makes the initial state final, which is right only if nothing leads back to it."""
        fresh = max(fsm.states) + 1
        finals = fsm.finals | {fresh} if fsm.initial in fsm.finals else fsm.finals
        loops = {**fsm.map, fresh: dict(fsm.map.get(fsm.initial, {}))}
        return self.small(library.FSM(fsm.alphabet, {*fsm.states, fresh}, fresh, finals, loops).star())

    def crawl(self, marks: Iterable[int], initial: Hashable, final: Callable[[Any], bool],
              follow: Callable[[Any, int], Hashable | None]) -> FSM:  # fmt: skip
        """The automaton that `follow` describes, by hashing (the library's crawl compares with every state)."""
        alphabet = self.alphabet(marks)
        numbers: dict[Hashable, int] = {initial: 0}
        order, table = [initial], dict[int, dict[int, int]]()
        for state in order:  # grows while it is read
            row = table[numbers[state]] = {}
            for symbol in alphabet:
                next = follow(state, symbol)
                if next is not None:
                    if next not in numbers:
                        numbers[next] = len(order)
                        order.append(next)
                    row[alphabet[symbol]] = numbers[next]
        return library.FSM(alphabet, range(len(order)), 0, {numbers[s] for s in order if final(s)}, table)

    def small(self, fsm: FSM) -> FSM:
        """The same language with the fewest states: states told apart by the words that they accept (E. F. Moore, 1956)."""
        live, todo, before = set(fsm.finals), list(fsm.finals), dict[int, list[int]]()
        for state, row in fsm.map.items():
            for next in row.values():
                before.setdefault(next, []).append(state)
        while todo:
            fresh = [s for s in before.get(todo.pop(), ()) if s not in live]
            live.update(fresh)
            todo += fresh
        rows = {s: [(k, t) for k, t in sorted(fsm.map.get(s, {}).items()) if t in live] for s in live}
        classes = {s: int(s in fsm.finals) for s in live}
        count = 0
        while count != len(set(classes.values())):
            count = len(set(classes.values()))
            numbers: dict[Hashable, int] = {}
            classes = {s: numbers.setdefault((classes[s], *((k, classes[t]) for k, t in rows[s])), len(numbers)) for s in live}
        groups = {c: {k: classes[t] for k, t in rows[s]} for s, c in classes.items()}
        if fsm.initial not in live:
            return library.FSM(fsm.alphabet, {0}, 0, set(), {})
        self.built += len(groups)
        return library.FSM(fsm.alphabet, set(groups), classes[fsm.initial], {classes[s] for s in fsm.finals}, groups)

    def erase(self, fsm: FSM, marks: Iterable[int]) -> FSM:
        """The words without these marks: sets of states, closed under reading marks that are not there."""
        marks = set(marks)
        silent = [fsm.alphabet[m] for m in marks if m in fsm.alphabet]

        def closed(states: set[int]) -> frozenset[int] | None:
            found, todo = set(states), list(states)
            while todo:
                row = fsm.map.get(todo.pop(), {})
                fresh = [row[k] for k in silent if k in row and row[k] not in found]
                found.update(fresh)
                todo += fresh
            return frozenset(found) or None

        def follow(states: frozenset[int], symbol: int) -> frozenset[int] | None:
            key = fsm.alphabet[symbol]
            return closed({row[key] for s in states if key in (row := fsm.map.get(s, {}))})

        kept = {s for s in fsm.alphabet if s < 0} - marks
        return self.small(self.crawl(kept, closed({fsm.initial}), lambda states: not fsm.finals.isdisjoint(states), follow))

    def insert(self, fsm: FSM, mark: int) -> FSM:
        """The words with the mark anywhere in them, any number of times."""
        marks = {s for s in fsm.alphabet if s < 0} | {mark}
        return self.crawl(marks, fsm.initial, lambda s: s in fsm.finals,
                          lambda s, symbol: s if symbol == mark else fsm.map.get(s, {}).get(fsm.alphabet[symbol]))  # fmt: skip

    def guard(self, mark: int, texts: FSM, marks: Iterable[int]) -> FSM:
        """The words in which the mark stands only where `texts` holds what was read so far with the column that is read next."""

        def follow(state: tuple[int, bool], symbol: int) -> tuple[int, bool] | None:
            at, asked = state
            if symbol < 0:
                return at, asked or symbol == mark
            next = texts.map.get(at, {}).get(texts.alphabet[symbol], -1)
            return None if asked and next not in texts.finals else (next, False)

        return self.crawl(marks, (texts.initial, False), lambda state: not state[1], follow)

    # --- patterns ---------------------------------------------------------------------------------------------------------------

    def words(self, body: FSM, tests: Tests) -> FSM:
        """c u # v, right to left: the body's words u with all that may stand around them, where every mark of it holds."""
        marks = {END, *tests}
        found = self.small(self.rest + self.one_of((END,)) + body + self.context)
        for mark, texts in tests.items():
            found = self.small(found & self.guard(mark, texts, marks))
        return self.erase(found, set(tests) - {END})

    def success(self, node: Node, after: FSM) -> FSM:
        """The texts, each with the symbol before it, that the node matches a beginning of so that the rest is in `after`."""
        if isinstance(node, Chars):
            return self.small((after & (self.rest + self.one_of(self.sets[node.points]))) + self.context)
        if isinstance(node, Concat):
            for item in reversed(node.items):
                after = self.success(item, after)
            return after
        key = node, id(after)
        if key not in self.known:
            body, tests = self.write(node, None)
            found = self.erase(self.words(body, {**tests, END: after}), {END})
            self.known[key] = found, after  # `after` is kept, so that its id stays its own
        return self.known[key][0]

    def mark(self, texts: FSM) -> tuple[FSM, Tests]:
        self.last -= 1
        return self.one_of((self.last,)), {self.last: texts}

    def write(self, node: Node, after: FSM | None) -> tuple[FSM, Tests]:
        """The node as a regular expression with marks. `after`: the texts on which what follows succeeds; None: all ways, no preference."""
        match node:
            case Chars(points):
                return self.one_of(self.sets[points]), {}
            case Concat(items):
                body, tests = self.empty, Tests()
                for item in reversed(items):
                    part, more = self.write(item, after)
                    body, tests = body + part, tests | more
                    after = None if after is None else self.success(item, after)
                return self.small(body), tests
            case Alternate(branches):
                return self.choose(branches, after)
            case Repeat(item, low, high, "possessive", span):
                return self.write(Atomic(Repeat(item, low, high, "greedy", span), span), after)
            case Repeat(item, low, high, mode, span) if low:
                rest = Repeat(item, 0, None if high is None else high - low, mode, span)
                return self.write(Concat((item,) * low + (rest,), span), after)
            case Repeat(item, _, None, mode):
                return self.loop(node, item, mode == "lazy", after)
            case Repeat(_, _, 0):
                return self.empty, {}
            case Repeat(item, _, int(high), mode, span):
                nothing = Concat((), span)
                again = Concat((item, Repeat(item, 0, high - 1, mode, span)), span)
                return self.choose((nothing, again) if mode == "lazy" else (again, nothing), after)
            case Atomic(item):
                return self.write(item, self.anything)
            case Look(item, ahead, negative):
                texts = self.success(item, self.anything) if ahead else self.behind(item)
                return self.mark(self.small(self.anything - texts) if negative else texts)
        raise Uncovered(f"not covered by the proof: {node}")

    def choose(self, branches: tuple[Node, ...], after: FSM | None) -> tuple[FSM, Tests]:
        """Each branch where those before it fail."""
        total, tests, taken = self.nothing, Tests(), self.nothing
        for number, branch in enumerate(branches):
            body, more = self.write(branch, after)
            if after is not None and number:
                sign, asked = self.mark(self.small(self.anything - taken))
                body, more = body + sign, more | asked
            total, tests = self.small(total | body), tests | more
            if after is not None and number + 1 < len(branches):
                taken = self.small(taken | self.success(branch, after))
        return total, tests

    def loop(self, node: Node, item: Node, lazy: bool, after: FSM | None) -> tuple[FSM, Tests]:
        if nullable(item):
            raise Uncovered("not covered by the proof: a loop whose body can be empty")
        if after is None:
            body, tests = self.write(item, None)
            return self.star(body), tests
        around = self.success(node, after)
        body, tests = self.write(item, around)
        sign, asked = self.mark(self.small(self.anything - (after if lazy else self.success(item, around))))
        return (self.star(body + sign) if lazy else sign + self.star(body)), tests | asked

    def behind(self, node: Node) -> FSM:
        """The texts that stand behind one of some symbols."""
        match node:
            case Chars(points):
                return self.small(self.rest + self.one_of(self.sets[points]))
            case Look(item, False, negative):
                return self.small(self.anything - self.behind(item)) if negative else self.behind(item)
            case Alternate(branches):
                total = self.nothing
                for branch in branches:
                    total = self.small(total | self.behind(branch))
                return total
            case Concat((item,)):
                return self.behind(item)
        raise Uncovered("not covered by the proof: lookbehind of more than one symbol")

    def table(self, fsm: FSM) -> Matches:
        """The automaton as rows, numbered in order of first use, the initial state first."""
        symbols = [*self.columns, self.start, END]
        order, rows = [fsm.initial], []
        for state in order:
            row = fsm.map.get(state, {})
            targets = [row.get(fsm.alphabet[s]) if s in fsm.alphabet else None for s in symbols]
            order += [t for t in dict.fromkeys(targets) if t is not None and t not in order]
            rows.append(tuple(-1 if t is None else order.index(t) for t in targets))
        return Matches(tuple(rows), tuple(s in fsm.finals for s in order), self.built)

