"""Each stage of the generator against its definition, done slowly; what is promised of its results; and hostile patterns."""

from __future__ import annotations

import random
import time
from functools import cache

import pytest

from engines import Backtracking, Machines, Packed, PieceByPiece, Staged, cascade, fastest, run, spans_of
from generator import (
    LimitError,
    Limits,
    PatternError,
    Program,
    Step,
    compile_family,
    compile_pattern,
    compile_steps,
    families,
    family,
)
from generator.bimachine import Bimachine, canonical
from generator.cells import partition
from generator.codeset import LAST, CodeSet
from generator.families import byte_level_regex
from generator.pack import pack
from generator.sequence import Cascaded, Composed, Prefixed
from generator.split import Split
from generator.suffix import Place
from oracle import Module
from texts import random_texts, representatives, tuples

SMALL = ["gpt2", "cl100k", "o200k", "clip", "bloom", "superbpe", "laguna", "deepseek_v3"]
STRANGE = (r"(?:(?>a+)b|(?>a*)c)+|.", r"(?<=a)b|\b1+", r"(?=(?:aa)+b)", r"\Ga|(?=b)", r"(?:a|b*)*c", r"^a|b$|(?!\G)c", "a*?b??c|(?>a|ab)1")


@cache
def known(name: str) -> Program:
    return compile_family(families()[name])


def strange(pattern: str, **more: str) -> Program:
    return compile_pattern(pattern, dialect="oniguruma", **more)  # type: ignore[arg-type]


# --- sets and cells ---------------------------------------------------------------------------------------------------------------------


def test_sets_are_those_of_python() -> None:
    source = random.Random(1)

    def some() -> tuple[CodeSet, set[int]]:
        base = source.choice((0, LAST - 60))
        pairs = [(a, min(a + source.randint(0, 9), LAST)) for a in (base + source.randint(0, 60 if not base else 50) for _ in range(source.randint(0, 6)))]
        return CodeSet(pairs), {c for a, b in pairs for c in range(a, b + 1)}

    window = [*range(100), *range(LAST - 99, LAST + 1)]
    for _ in range(500):
        (a, x), (b, y) = some(), some()
        for got, wanted in ((a | b, x | y), (a & b, x & y), (a - b, x - y)):
            assert set(got) == wanted
            assert len(got) == len(wanted)
            assert list(got.ranges) == sorted(got.ranges)
            assert all(one[1] + 1 < two[0] for one, two in zip(got.ranges, got.ranges[1:], strict=False))
        assert [c in ~a for c in window] == [c not in x for c in window]
        assert (a == b) == (x == y)
        assert (hash(a) == hash(b)) or x != y
        assert ~~a == a


@pytest.mark.parametrize("name", ["cl100k", "kimi_k2", "deepseek_llm"])
def test_cells_of_every_code_point(name: str) -> None:
    raw = known(name).raw
    sets = list(raw.masks)
    signatures = [0] * (LAST + 1)
    for bit, points in enumerate(sets):
        for c in points:
            signatures[c] |= 1 << bit
    cell_of: dict[int, int] = {}
    lookup = raw.lookup()
    for c, signature in enumerate(signatures):
        assert cell_of.setdefault(signature, len(cell_of)) == lookup[c]
    assert raw.count == len(cell_of)
    for bit, points in enumerate(sets):
        assert raw.masks[points] == sum(1 << cell for signature, cell in cell_of.items() if signature >> bit & 1)
    assert [len(raw.members(cell)) for cell in range(raw.count)] == [lookup.count(cell) for cell in range(raw.count)]
    assert partition(sets) == raw


# --- NFA and suffix sets ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pattern", STRANGE)
def test_suffix_sets_say_what_backtracking_finds(pattern: str) -> None:
    """For every text and place: whether a match starts there, by sets from the right and by recursion."""
    program = strange(pattern)
    nfa, machine = program.nfas[0], Split(program.nfas[0])
    lookup = program.raw.lookup()
    for text in tuples("abc1", 5):
        cells = [lookup[ord(c)] for c in text]
        after = [machine.end]
        for cell in reversed(cells):
            after.append(machine.back(after[-1], cell))
        after.reverse()
        for at, cell in enumerate(cells):
            context = machine.suffixes.context[cells[at - 1] if at else nfa.cells]
            for searching in (True, False):
                place = Place(context, searching, cell, after[at + 1])
                found = next(run(nfa, cells, nfa.start, at, at if searching else -1), None)
                assert bool(machine.suffixes.value(nfa.start, place)) == (found is not None), (text, at)


@pytest.mark.parametrize("pattern", STRANGE)
def test_strange_patterns_on_every_stage(pattern: str) -> None:
    for behavior in ("isolated", "merged_with_next", "contiguous"):
        program = strange(pattern, behavior=behavior)
        oracle = Module(program.plans)
        stages = (Backtracking(program), Machines(program), PieceByPiece(program), Staged(program), fastest(program))
        for text in tuples("abc1", 5):
            wanted = oracle(text)
            assert all(engine(text) == wanted for engine in stages), text


# --- canonical bimachines -----------------------------------------------------------------------------------------------------------------


def assert_canonical(machine: Bimachine) -> None:
    """Every state is reached, every two states are told apart, every two columns and labels differ."""
    assert classes(machine.backward, machine.labels) == len(machine.backward)
    assert classes(machine.forward, machine.output) == len(machine.forward)
    assert reached(machine.backward) == len(machine.backward)
    assert reached(machine.forward) == len(machine.forward)
    columns = list(zip(*machine.backward, *machine.labels, strict=True))
    labels = list(zip(*machine.forward, *machine.output, strict=True))
    assert len(set(columns)) == len(columns) == max(machine.columns) + 1
    assert len(set(labels)) == len(labels)
    assert {label for row in machine.labels for label in row} == set(range(len(labels)))
    seen = list(dict.fromkeys(machine.columns))
    assert seen == sorted(seen)


def classes(table: tuple[tuple[int, ...], ...], output: tuple[tuple[int, ...], ...]) -> int:
    """How many classes of states there are: pairs are marked as different until no new pair is."""
    states = range(len(table))
    different = {(a, b) for a in states for b in states if output[a] != output[b]}
    while True:
        more = {(a, b) for a in states for b in states if (a, b) not in different
                and any(pair in different for pair in zip(table[a], table[b], strict=True))}  # fmt: skip
        if not more:
            break
        different |= more
    return sum(all((a, b) in different for b in range(a)) for a in states)


def reached(table: tuple[tuple[int, ...], ...]) -> int:
    order = [0]
    for state in order:
        order += [next for next in dict.fromkeys(table[state]) if next not in order]
    return len(order)


@pytest.mark.parametrize("name", SMALL)
def test_bimachines_of_families_are_minimal(name: str) -> None:
    for machine in (*known(name).splits, *known(name).stages):
        assert_canonical(machine)


@pytest.mark.parametrize("pattern", STRANGE)
def test_bimachines_of_strange_patterns_are_minimal(pattern: str) -> None:
    assert_canonical(strange(pattern).splits[0])


def test_a_canonical_bimachine_is_its_own_canonical_form() -> None:
    for name in SMALL:
        for machine in known(name).stages:
            assert canonical(machine, Limits()) == machine


def test_equal_functions_have_equal_machines() -> None:
    old = compile_pattern(byte_level_regex())
    assert old.stages == known("gpt2").stages == known("bytelevel").stages
    assert old.cells.lookup() == known("gpt2").cells.lookup()
    assert known("cl100k").stages != known("llama3").stages
    assert fastest(known("cl100k"))("\n ") != fastest(known("llama3"))("\n ")
    invert = compile_pattern(family("llama3").steps[0].regex or "", dialect="oniguruma", behavior="removed", invert=True)
    assert invert.stages == known("llama3").stages


@pytest.mark.parametrize(("one", "two"), [("a+?(?!a)", "a+(?!a)"), ("(?:a|ab)(?:c|bcd)?", "ab?(?:c|bcd)?"), ("(?>a+)", "a++"), ("a*a", "a+"), ("[ab]", "a|b")])
def test_equal_patterns(one: str, two: str) -> None:
    first, second = strange(one), strange(two)
    left, right = fastest(first), fastest(second)
    same = all(left(text) == right(text) for text in tuples("abcd", 5))
    assert (first.stages == second.stages and first.cells.lookup() == second.cells.lookup()) == same


# --- sequences ------------------------------------------------------------------------------------------------------------------------------

SEQUENCES = (
    (Step("Split", regex=r"\d{1,2}"), Step("Split", regex="[ab]+(?!1)"), Step("Split", regex=r"^.|\b")),
    (Step("Split", regex="a", behavior="removed"), Step("Split", regex=r"(?<!b)b$|\Gc")),
    (Step("Split", regex="a", behavior="merged_with_next"), Step("Split", regex="(?=b)", behavior="removed"), Step("Split", regex="c", behavior="removed", invert=True)),
    (Step("WhitespaceSplit"), Step("ByteLevel", add_prefix_space=True, use_regex=True)),
)  # fmt: skip


@pytest.mark.parametrize("steps", SEQUENCES)
def test_composed_and_cascaded_are_the_literal_sequence(steps: tuple[Step, ...]) -> None:
    program = compile_steps(steps, "oniguruma", "16.0")
    first, *rest = program.splits
    count = program.raw.count
    composed = first
    for machine in rest:
        composed = canonical(Composed(composed, machine), Limits())
    stages = [first, *(canonical(Cascaded(machine), Limits()) for machine in rest)]
    lookup, oracle = program.raw.lookup(), Module(program.plans)
    assert all(stage.symbols == 6 * count for stage in stages[1:])
    for text in [*tuples("abc1 ", 5), *random_texts("abc1 ", 300, seed=6)]:
        cells = [lookup[ord(c)] for c in text]
        letters = composed.letters(cells)
        assert letters == cascade(stages, cells, count), text
        assert spans_of(letters) == oracle(text), text


@pytest.mark.parametrize("name", ["deepseek_v3", "laguna", "longcat"])
def test_a_family_as_a_cascade(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = known(name)
    monkeypatch.setattr("generator.sequence.COMPOSED_STATES", 2)
    program = compile_family(families()[name])
    assert len(whole.stages) == 1
    assert len(program.stages) == len(program.steps)
    one, other, staged = fastest(whole), fastest(program), Staged(program)
    alphabet = representatives(program.raw)
    for text in [*tuples(alphabet, 2), *random_texts(alphabet, 500, seed=7)]:
        assert one(text) == other(text) == staged(text), text


def test_a_space_before_every_text() -> None:
    program = compile_pattern(byte_level_regex())
    lookup = program.raw.lookup()
    space = lookup[0x20]
    machine = canonical(Prefixed(program.splits[0], space), Limits())
    for text in tuples(representatives(program.raw), 3, 1):
        cells = [lookup[ord(c)] for c in text]
        added = cells[0] != space
        literal = spans_of(program.splits[0].letters([space] * added + cells))
        assert spans_of(machine.letters(cells)) == [(max(a - added, 0), b - added) for a, b in literal if b > added], text


# --- packing ----------------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SMALL)
def test_packed_cells_of_every_code_point(name: str) -> None:
    packed, lookup = Packed(pack(known(name))), known(name).cells.lookup()
    assert all(packed[c] == lookup[c] for c in range(LAST + 1))


# --- hostile patterns -------------------------------------------------------------------------------------------------------------------------

HOSTILE = {
    "nested_stars": "(" * 40 + "a" + ")*" * 40, "nested_plus": "(" * 100 + "a" + ")+" * 100, "deep": "(" * 100_000, "deep_closed": "(?:" * 5000 + "a" + ")" * 5000,
    "classes": "[" * 10_000, "redos": "(a+)+$", "redos_2": "(?:a|a?)+b|(?:a*)*c", "counts": "(?:(?:a{500}){500}){500}", "huge_count": "a{999999999}", "counter": "(?:a|b)*a(?:a|b){20}",
    "megabyte": "a" * 1_000_000, "long": "a" * 150_000, "megabyte_of_branches": "|".join(["ab"] * 300_000), "megabyte_class": "[" + "a-z" * 300_000 + "]", "many_classes": "".join(f"[{chr(0x4E00 + n)}]" for n in range(300)),
    "atomics": "(?>a|b|ab){20}" * 20, "lookaheads": "(?=a*b)" * 200 + "a", "nested_lookaheads": "(?=a*" * 100 + "b" + ")" * 100, "possessives": "(?:(?:a|b)*+c)*+" * 30,
    "boundaries": r"(?:\b|a)*" * 50, "quantifiers": "a" + "{2}" * 60, "optional": "(?:a?){200}a{200}", "braces": "{" * 100_000, "comments": "(?#" * 100_000, "flags": "(?i)" * 10_000 + "a",
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("dialect", ["fancy", "oniguruma"])
def test_hostile_patterns_end_soon(name: str, dialect: str) -> None:
    """A lexer, or an error that callers expect; neither a hang nor another exception, and soon after the limit on time at the latest."""
    began = time.monotonic()
    try:
        program = compile_pattern(HOSTILE[name], dialect=dialect, limits=Limits(seconds=3.0))
        assert fastest(program)("a" * 5000 + "!")[-1][1] == 5001
    except (PatternError, LimitError) as error:
        assert len(str(error)) < 1000  # noqa: PT017
    assert time.monotonic() - began < 15
