"""The proof by automata: every emitted family is proved, every mutant is caught, every broken pattern shown by a shortest text.

The derivation that the proof compares with is itself compared here, with the `regex` module, on every text of up to four characters.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest

pytest.importorskip("interegular", reason="interegular is not installed: no second derivation")

from engines import arguments, load_scan
from generator import LimitError, Limits, Step, compile_family, compile_pattern, compile_steps, families, family
from generator.alphabet import representatives
from generator.bimachine import Bimachine
from generator.cells import partition
from generator.codeset import CodeSet
from generator.compare import difference
from generator.dfa import determinize, minimize
from generator.emitted import bimachine, cells, ordered, read_python, symbols_of
from generator.measure import agreement, cover, lookahead
from generator.nfa import ENTER, LOOK
from generator.pack import Tables, pack
from generator.proof import GENERATED, check, definition, prove
from generator.reference import Matches, Uncovered, preferred
from generator.resolve import sets
from generator.spell import spell
from generator.split import BEHAVIORS, CONTINUE, DROP
from generator.steps import Plan, plan, plans
from generator.transducer import Reduced, Tabled, differ, letters
from oracle import regex

Mutant = tuple[str, int, int, int]  # table, row, column, value
Run = Callable[[str | bytes], Iterable[tuple[int, int]]]


def emitted(name: str) -> Tables:
    return read_python((GENERATED / "python" / f"{name}.py").read_text(encoding="utf-8"))


def sides(name: str) -> tuple[Reduced, Bimachine, list[int], list[str], int]:
    """The definition of a family, its emitted machine, the cell and the example of each symbol, the machine's state at the end."""
    known, tables = family(name), emitted(name)
    planned = plans(known.steps, known.dialect, known.unicode)
    seen = symbols_of(planned, tables)
    wanted, _ = definition(planned, seen)
    machine, end = bimachine(tables.stages[0])
    return wanted, machine, [s.cell for s in seen], [s.text.decode() for s in seen], end


# --- (1) the catalogue ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("source", ["python", "c"])
@pytest.mark.parametrize("name", list(families()))
def test_every_family_is_proved_from_what_was_emitted(name, source):
    report = prove(name, source)
    assert report.counterexample is None, str(report)
    assert report.pairs > 0 and report.built > 0 and report.source == source
    assert "proved" in str(report)


@pytest.mark.parametrize("source", ["python", "c"])
def test_a_program_is_proved_as_it_would_be_emitted(source):
    pytest.importorskip("jinja2")
    assert prove(compile_pattern(r"\w+|\s+(?!\S)|[^\w\s]"), source).counterexample is None


# --- (2) mutants ------------------------------------------------------------------------------------------------------------------------


def mutants(machine: Bimachine) -> Iterator[tuple[Mutant, Bimachine]]:
    """Every machine with one other entry in one table."""
    sizes = {"backward": len(machine.backward), "labels": len(machine.forward[0]), "forward": len(machine.forward), "output": 3}
    for table, size in sizes.items():
        rows = getattr(machine, table)
        for i, row in enumerate(rows):
            for j, old in enumerate(row):
                for value in set(range(size)) - {old}:
                    changed = (*rows[:i], (*row[:j], value, *row[j + 1 :]), *rows[i + 1 :])
                    yield (table, i, j, value), replace(machine, **{table: changed})
    for j, old in enumerate(machine.columns):
        for value in set(range(len(machine.backward[0]))) - {old}:
            yield ("columns", 0, j, value), replace(machine, columns=(*machine.columns[:j], value, *machine.columns[j + 1 :]))


def alike(one: Bimachine, two: Bimachine) -> bool:
    """Whether two machines with the same backward automaton give the same letters, from the right and by brute force.

    Saturates the triples (prefix state, prefix state, suffix state) for which some text of that suffix state has two letters.
    """
    assert (one.backward, one.columns) == (two.backward, two.columns)
    states, suffixes, columns = range(len(one.forward)), range(len(one.backward)), range(len(one.backward[0]))
    apart: set[tuple[int, int, int]] = set()
    count = -1
    while count != len(apart):
        count = len(apart)
        for r, c in product(suffixes, columns):
            a, b, before = one.labels[r][c], two.labels[r][c], one.backward[r][c]
            for f, g in product(states, states):
                if one.output[f][a] != two.output[g][b] or (one.forward[f][a], two.forward[g][b], r) in apart:
                    apart.add((f, g, before))
    return not any((0, 0, r) in apart for r in suffixes)


@pytest.mark.parametrize(("name", "most"), [("gpt2", 10**6), ("cl100k", 10**6), ("qwen2", 10**6), ("o200k", 200), ("deepseek_v3", 100)])
def test_every_mutant_is_caught_or_means_the_same(name, most):
    wanted, machine, cell, _, end = sides(name)
    assert end == 0
    all_of_them = list(mutants(machine))
    if len(all_of_them) > most:
        all_of_them = random.Random(name).sample(all_of_them, most)
    caught = 0
    for mutant, changed in all_of_them:
        word, _ = differ(wanted, Tabled(changed, cell), range(len(cell)))
        if word is None:
            assert mutant[0] in ("labels", "forward")  # such as where the last symbol of a text leads: nothing follows that could tell
            assert alike(machine, changed), mutant
        else:
            text = [cell[s] for s in word]
            assert changed.letters(text) != machine.letters(text), mutant
            caught += 1
    assert caught > 0.9 * len(all_of_them)


@pytest.mark.parametrize("name", ["gpt2", "cl100k", "qwen2", "o200k"])
def test_every_code_point_with_another_cell_is_caught(name):
    known, tables = family(name), emitted(name)
    planned = plans(known.steps, known.dialect, known.unicode)
    machine, _ = bimachine(tables.stages[0])
    lookup = cells(tables)
    for at in random.Random(name).sample(range(len(tables.stage2)), 12):
        other = (tables.stage2[at] + 1) % tables.cells
        changed = replace(tables, stage2=tables.stage2[:at] + bytes((other,)) + tables.stage2[at + 1 :])
        report = check(planned, changed)
        assert report.counterexample is not None
        text = report.counterexample.text
        assert isinstance(text, str)
        new = cells(changed)
        assert machine.letters([new[ord(c)] for c in text]) == list(report.counterexample.found)
        assert machine.letters([lookup[ord(c)] for c in text]) == list(report.counterexample.expected) != list(report.counterexample.found)


def test_the_end_of_the_text_and_impossible_entries():
    tables = emitted("cl100k")
    known = family("cl100k")
    planned = plans(known.steps, known.dialect, known.unicode)
    stage = tables.stages[0]
    wrong_end = replace(tables, stages=(replace(stage, backward_end=stage.column_count),))
    assert check(planned, wrong_end).counterexample is not None
    for broken in (
        replace(stage, backward_next=b"\1\0" + stage.backward_next[2:]),
        replace(stage, output=b"\3" + stage.output[1:]),
        replace(stage, forward_next=stage.forward_next[: -2 * stage.label_count]),
        replace(stage, columns=b"\xff" + stage.columns[1:]),
    ):
        with pytest.raises(ValueError):
            check(planned, replace(tables, stages=(broken,)))
    with pytest.raises(ValueError):
        check(planned, replace(tables, stage1=tables.stage1[:-1]))


# --- (3) broken patterns ------------------------------------------------------------------------------------------------------------------

CL100K = r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s"


@pytest.mark.parametrize(
    ("right", "wrong", "versions", "length"),
    [
        (r"a+ab|.", r"a++ab|.", ("16.0", "16.0"), 3),  # possessive where it must not be
        (r"\s++$|\s*[\r\n]|\S+", r"\s+$|\s*+[\r\n]|\S+", ("16.0", "16.0"), 3),
        (CL100K, CL100K.replace("(?i:[sdmt]|", "(?:[sdmtSDMT]|"), ("16.0", "16.0"), 3),  # U+017F is an s, too
        (CL100K, CL100K, ("16.0", "15.0"), None),  # another Unicode version
        (r"\s+|\S+", r"[\t-\r\x20\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+|[^\t-\r\x20\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+",
         ("16.0", "16.0"), 2),  # U+0085 is a space, too
        (r"a|ab|.", r"ab|a|.", ("16.0", "16.0"), 2),  # the order of alternatives
        (r"\s+(?!\S)|\s+|\S+", r"\s+|\s+(?!\S)|\S+", ("16.0", "16.0"), 3),
    ],
)  # fmt: skip
def test_a_broken_pattern_is_refuted_by_a_shortest_text(right, wrong, versions, length):
    good, bad = (compile_pattern(p, unicode=v) for p, v in zip((right, wrong), versions, strict=True))
    report = check(good.plans, pack(bad))
    assert report.counterexample is not None
    text, known = report.counterexample.text, difference(good, bad)
    assert known is not None and isinstance(text, str)
    assert len(text) == len(known.text)  # both are shortest
    assert length is None or len(text) == length
    for program, found in ((good, report.counterexample.expected), (bad, report.counterexample.found)):
        lookup = program.cells.lookup()
        assert program.stages[0].letters([lookup[ord(c)] for c in text]) == list(found)
    assert "REFUTED" in str(report)
    assert check(bad.plans, pack(bad)).counterexample is None


def test_the_long_s_is_what_shows_the_difference():
    good, bad = (compile_pattern(p) for p in (r"(?i:'s)|.", r"'[sS]|."))
    report = check(good.plans, pack(bad))
    assert report.counterexample is not None
    assert report.counterexample.text == "'\u017f"


# --- (4) the derivation -----------------------------------------------------------------------------------------------------------------

PATTERNS = [
    "a", "ab", "a|b", "a|ab", "ab|a", "a*", "a*b", "a+?b", "a+?", "a*?b|a", "(?:a|ab)(?:c|bc)", "(?:ab|a)(?:bc|c)", "a?a", "a??ab?", "(?:a|b)*b",
    "(?:a|b)*?b", "(?:ab?)+", "(?:ab?)+?b", "(?:a|ab|b)+c", "(?:ab|a|b)+?c", "a{2}", "a{1,2}", "a{1,2}?b?", "a{2,}b", "a{0,2}?b", "(?:ab?){1,2}b",
    "(?:a|bc){2}", "(?:a|ab){1,2}?c", "a++b", "a++a", "a*+a", "a?+a", "a{1,2}+a", "(?:ab?)++b", "(?:a|ab)++c", "(?>a|ab)c", "(?>ab|a)c", "(?>a*)b",
    "(?>a*?)b", "(?>(?:a|ab)+)b", "(?:(?>ab?)c|a)+", "(?>a|ab)(?:b|c)?|a", "a(?=b)", "a(?!b)", "(?=ab)a", "(?!ab)a", "a*(?=b)", "a+(?!a)", "a+(?!b)c?",
    "(?:a(?=b)|b)+", "(?:a(?!c)|b)+?c", "(?=(?:ab)*c)[ab]", "a(?=b(?!c))", "(?:(?=a)a|b)*c", "(?!a*c)[abc]b?", "(?=(?>a*)b)a+", "(?>a+(?!b))", "a+$",
    "(?:a+|b)(?=$|c)", "(?<=a)b", "(?<!a)b", "(?:(?<=a)b|a)+", "^a|b", "(?:^a|b)+", r"(?:a\b|b)+", "(?=(?<=a)b)b+|a", "(?:a(?:b|(?=c)))*c?", "(?:a{2}|b){2}",
    "(?:a*b)*", "(?:a*b)*?c", "(?:(?:a|b)c?)*+b", "(?:a|(?:b|bc)(?!c))+", "", "a|", "(?=a)", "(?:a|)b", "(?:|a)b", "[ab]??c",
]  # fmt: skip


def accepts(matches: Matches, word: list[int]) -> bool:
    state = 0
    for symbol in word:
        state = matches.next[state][symbol]
        if state < 0:
            return False
    return matches.final[state]


TEXTS = ["".join(text) for length in range(5) for text in product("abc", repeat=length)]


def test_the_page_says_how_many_patterns() -> None:
    assert f"on all short texts for {len(PATTERNS)} patterns" in (Path(__file__).parent.parent / "docs/proof.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("pattern", PATTERNS)
def test_the_preferred_match_is_that_of_a_backtracking_engine(pattern):
    tree = plan(Step("Split", regex=pattern), "fancy", "16.0").tree
    of_tree = sets(tree)
    found = partition(of_tree)
    held = {points: frozenset(c for c in range(found.count) if found.masks[points] >> c & 1) for points in of_tree}
    matches = preferred(tree, held, found.count)
    lookup, start, end = found.lookup(), found.count, found.count + 1
    engine = regex.compile(spell(tree), regex.V1)
    for text in TEXTS:
        word = [start, *(lookup[ord(c)] for c in text)]
        for at in range(len(text) + 1):
            known = engine.match(text, at)
            ends = [to for to in range(at, len(text) + 1) if accepts(matches, [*word[at : to + 1], end, *word[to + 1 :]])]
            assert ends == ([known.end()] if known else []), (text, at)


@pytest.mark.parametrize("pattern", [*PATTERNS, r"\Ga", r"(?:a|\Gb)c", r"a\Gb|ac", r"(?:\Ga|b)+", "(?<=[ab])(?<![a])c|^b", "(?:a*)*b?", "(?:a|b?)+?c"])
def test_the_preferred_match_by_ordered_subsets(pattern: str) -> None:
    program = compile_pattern(pattern, behavior="removed", dialect="oniguruma")
    nfa, lookup, engine = program.nfas[0], program.raw.lookup(), regex.compile(spell(program.plans[0].tree), regex.V1)
    if any(instruction.op in (LOOK, ENTER) for instruction in nfa.code):
        with pytest.raises(LimitError, match="more than the next symbol"):
            determinize(nfa, Limits())
        return
    large = determinize(nfa, Limits())
    small = minimize(large, Limits())
    assert minimize(small, Limits()) == small
    for text in (*TEXTS, "d", "ad", "bd", "da", "abd", "dab", "cdb", "adca"):
        cells = [lookup[ord(c)] for c in text]
        for at in range(len(text) + 1):
            known = engine.match(text, at)
            expected = known.end() if known else None
            assert large.match(cells, at, nfa.cells) == small.match(cells, at, nfa.cells) == expected, (text, at)


@pytest.mark.parametrize("pattern", ["(?:a*)*", "(?:a|b?)+", "((?=a))*b", r"\Ga", "(?:a|\\Gb)c"])
def test_what_is_not_covered_says_so(pattern):
    with pytest.raises(Uncovered, match="not covered"):
        check(compile_pattern(pattern).plans, pack(compile_pattern(pattern)))


@pytest.mark.parametrize("behavior", BEHAVIORS)
@pytest.mark.parametrize("invert", [False, True])
@pytest.mark.parametrize("dialect", ["fancy", "oniguruma"])
def test_pieces_follow_from_matches_as_the_rules_say(behavior, invert, dialect):
    from oracle import Module

    for pattern in ("a", "ab?", "b+", "(?=b)", "a|(?=b)", "a?", "(?=b)|c", "(?<=a)|b", "a*?"):
        program = compile_pattern(pattern, behavior=behavior, invert=invert, dialect=dialect)
        assert check(program.plans, pack(program)).counterexample is None
        same(program.plans, pack(program), Module(program.plans))


@pytest.mark.parametrize(
    "steps",
    [
        (Step("Split", regex="b"), Step("Split", regex="a+(?!b)|a+$")),
        (Step("Split", regex="b", behavior="removed"), Step("Split", regex="^a|c$")),
        (Step("Split", regex="ab", behavior="merged_with_next"), Step("Split", regex="a(?=b)|c"), Step("Split", regex="(?<=c)c|b")),
        (Step("ByteLevel", add_prefix_space=True), Step("Split", regex="a")),
        (Step("Split", regex="b"), Step("ByteLevel", add_prefix_space=True)),
    ],
)
def test_a_later_step_sees_each_piece_as_a_text(steps):
    from oracle import Module

    program = compile_steps(steps, "oniguruma", "16.0")
    assert check(program.plans, pack(program)).counterexample is None
    if not any(p.bytewise for p in program.plans):
        same(program.plans, pack(program), Module(program.plans))


def same(planned: tuple[Plan, ...], tables: Tables, engine: Callable[[str], list[tuple[int, int]]]) -> None:
    """The definition against the rules as tests/oracle.py has them, on all short texts."""
    seen = symbols_of(planned, tables)
    wanted, _ = definition(planned, seen)
    of = {c: next(n for n, s in enumerate(seen) if s.text == c.encode()) for c in {s.text.decode() for s in seen} & set("abc z")}
    other = of.get("z", next(iter(of.values())))
    for text in TEXTS[:40]:  # of up to three characters
        if not all(c in of for c in text):
            continue
        pieces: list[tuple[int, int]] = []
        open_ = False
        for at, letter in enumerate(letters(wanted, [of.get(c, other) for c in text])):
            if letter == CONTINUE and open_:
                pieces[-1] = pieces[-1][0], at + 1
            elif letter != DROP:
                pieces.append((at, at + 1))
            open_ = letter != DROP
        assert pieces == engine(text), (planned[0].pattern, text)


# --- measures -------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", list(families()))
def test_shortest_texts_take_every_transition_and_no_entry_is_unused(name):
    machine = compile_family(family(name)).stages[0]
    texts = cover(machine)
    assert len(texts) == sum(len(row) for row in machine.backward) + sum(len(row) for row in machine.forward)
    for (direction, state, index), text in texts.items():
        r, taken, labels = 0, set(), []
        for symbol in reversed(text):
            column = machine.columns[symbol]
            taken.add(("backward", r, column))
            labels.append(machine.labels[r][column])
            r = machine.backward[r][column]
        f = 0
        for label in reversed(labels):
            taken.add(("forward", f, label))
            f = machine.forward[f][label]
        assert (direction, state, index) in taken
    assert all(len(text) <= agreement(machine, machine) for text in texts.values())


def test_texts_of_the_bound_tell_machines_apart():
    wanted, machine, cell, _, _ = sides("gpt2")
    rng = random.Random(5)
    for _, changed in rng.sample(list(mutants(machine)), 200):
        word, _ = differ(wanted, Tabled(changed, cell), range(len(cell)))
        # A mutant's prefix states may depend on the suffix; the bound is of machines where they do not.
        if word is not None and all(len({row[changed.labels[r][c]] for r in range(len(changed.labels))}) == 1
                                    for row in changed.forward for c in range(len(changed.backward[0]))):  # fmt: skip
            assert len(word) <= agreement(machine, changed)


@pytest.mark.parametrize(
    ("pattern", "symbols"),
    [("a", 0), ("a(?=b)|b", 1), ("ab|.", 0), ("abc|.", 1), ("abcd|.", 2), ("a*b|.", None), (r"\s+(?!\S)|\s|\S", 1),
     (r"\s*[\r\n]|\s+(?!\S)|\s|\S", None)],
)  # fmt: skip
def test_the_lookahead_of_a_stream(pattern, symbols):
    found = lookahead(machine := compile_pattern(pattern).stages[0])
    assert found.symbols == symbols
    examples = range(machine.symbols)

    def open_(text: tuple[int, ...], at: int, more: int = 2) -> bool:
        rests = [rest for n in range(more + 1) for rest in product(examples, repeat=n)]
        return len({machine.letters([*text, *rest])[at] for rest in rests}) > 1

    if symbols is None:
        assert found.again
        for times in range(4):
            assert open_(found.text + found.again * times, found.at)
    else:
        for text in product(examples, repeat=3 + symbols):
            assert not open_(text, 2)
        assert symbols == 0 or any(open_(text, 2, 3) for text in product(examples, repeat=2 + symbols))


def test_what_texts_of_three_four_and_five_characters_would_catch():
    """The share of wrong tables that a net of all texts of so many characters catches; docs/proof.md has it for other families."""
    wanted, machine, cell_of, _, end = sides("gpt2")
    symbols = range(len(cell_of))
    words = [differ(wanted, Tabled(changed, cell_of, end), symbols, ())[0] for _, changed in mutants(machine)]
    lengths = [len(word) for word in words if word is not None]
    caught = {k: sum(length <= k for length in lengths) for k in (3, 4, 5)}
    assert (len(lengths), caught) == (1888, {3: 1487, 4: 1871, 5: 1888})


# --- short texts ------------------------------------------------------------------------------------------------------------------------


def loops(break_at: str | None = None) -> dict[str, Callable[[Tables], Run]]:
    """The pure loop; with `break_at`, also one that cuts that text nowhere."""

    def pure(tables: Tables) -> Run:
        run: Run = load_scan().Machine(**arguments(tables)).iterate
        return run

    def broken(tables: Tables) -> Run:
        right = pure(tables)
        return lambda text: [(0, len(text))] if text == break_at else right(text)

    return {"pure": pure} if break_at is None else {"pure": pure, "broken": broken}


def planned(name: str) -> tuple[Plan, ...]:
    known = family(name)
    return plans(known.steps, known.dialect, known.unicode)


@pytest.mark.parametrize("name", ["cl100k", "clip", "bytelevel_prefix", "deepseek_v3", "laguna", "falcon"])
def test_every_short_text_is_cut_as_the_pattern_says(name):
    pytest.importorskip("regex")
    from generator.short_texts import try_texts

    told: list[tuple[int, int]] = []
    report = try_texts(name, planned(name), {"python": emitted(name)}, loops(), 2, lambda *counts: told.append(counts))
    assert (report.differences, report.shown) == (0, ())
    assert report.texts == report.representatives + report.representatives**2 >= 870
    assert told == [(number, report.texts) for number in range(0, report.texts, 1000)]
    assert f"{report.texts:,} texts, 0 differences" in str(report) and "alike" in str(report)


@pytest.mark.parametrize("name", list(families()))
def test_representatives_are_of_every_class(name):
    tables, steps = emitted(name), planned(name)
    characters, count = representatives(steps, [tables])
    classes = symbols_of(steps, tables)
    lookup = cells(tables)
    assert characters == sorted(set(characters)) and len(characters) >= max(count, 12)
    assert {s.cell for s in classes if s.inside >= 0} == {lookup[ord(c)] for c in characters}
    of_steps = [points for plan in steps if not plan.bytewise for points in ordered(plan)]
    kinds = {tuple(c in points for points in of_steps) for c in map(ord, characters)}
    assert kinds == {tuple(s.text.decode()[0] in map(chr, points & CodeSet.of(s.text.decode())) for points in of_steps)
                     for s in classes if s.inside >= 0}  # fmt: skip
    bytes_inside = {byte for c in characters for byte in c.encode()[1:]}
    assert {s.cell for s in classes if s.inside < 0} == {tables.continuation[byte - 0x80] for byte in bytes_inside if tables.continuation}


def test_surrogates_that_are_a_cell_by_themselves_are_tried():
    program = compile_pattern(r"\p{Cs}|a")
    assert {"a", "\ud800"} <= set(representatives(program.plans, [pack(program)])[0])
    assert "\ud800" not in representatives(planned("cl100k"), [emitted("cl100k")])[0]


def test_a_wrong_entry_is_found_by_a_short_text():
    pytest.importorskip("regex")
    from generator.short_texts import try_texts

    right = emitted("cl100k")
    stage = right.stages[0]
    found, sample = 0, random.Random(4).sample(range(len(stage.output)), 8)
    for at in sample:
        changed = replace(right, stages=(replace(stage, output=stage.output[:at] + bytes((1 - stage.output[at],)) + stage.output[at + 1 :]),))
        report = try_texts("cl100k", planned("cl100k"), {"python": right, "c": changed}, loops(), 2)
        shortest = check(planned("cl100k"), changed).counterexample
        assert (report.differences > 0) == (shortest is not None and len(shortest.text) <= 2)
        for number, one in enumerate(report.shown):
            assert one.where == "c tables, pure loop" and one.expected != one.found
            assert shortest is not None and len(one.text) >= len(shortest.text)
            assert number > 0 or len(one.text) == len(shortest.text)
        found += report.differences > 0
    assert found >= 3


@pytest.mark.parametrize("name", ["cl100k", "deepseek_v3"])
def test_a_code_point_in_a_wrong_cell_is_tried(name):
    """Whichever it is: it is a class by itself then."""
    pytest.importorskip("regex")
    from generator.short_texts import try_texts

    right, found = emitted(name), 0
    blocks = right.stage1 if not right.wide else right.stage1[::2]
    for code_point in random.Random(name).sample(range(0x20, 0x3000), 5):
        at = (blocks[code_point >> right.shift] << right.shift) + (code_point & ((1 << right.shift) - 1))
        changed = replace(right, stage2=right.stage2[:at] + bytes(((right.stage2[at] + 1) % right.cells,)) + right.stage2[at + 1 :])
        characters, _ = representatives(planned(name), [changed])
        lookup = cells(changed)
        wrong = [c for c, (old, new) in enumerate(zip(cells(right), lookup, strict=True)) if old != new]
        assert code_point in wrong and set(map(chr, wrong)) & set(characters)
        report, shortest = try_texts(name, planned(name), {"python": changed}, loops(), 2), check(planned(name), changed).counterexample
        assert (report.differences > 0) == (shortest is not None and len(shortest.text) <= 2)
        found += report.differences > 0
    assert found >= 2


def test_a_loop_that_reads_right_tables_wrongly_is_found():
    pytest.importorskip("regex")
    from generator.short_texts import try_texts

    report = try_texts("gpt2", planned("gpt2"), {"python": emitted("gpt2")}, loops("0A"), 2)
    assert report.differences == 1
    (wrong,) = report.shown
    assert (wrong.text, wrong.expected, wrong.found, wrong.where) == ("0A", ((0, 1), (1, 2)), ((0, 2),), "python tables, broken loop")
    assert "DIFFERENT, first on these texts: the pattern in the regex module, the python tables in the pure and broken loops" in str(report)
    assert "  expected  0-1 '0'  1-2 'A'" in str(report)
