"""The benchmark on a few kilobytes, one round: that it runs without what is optional, writes what it says, and notices wrong pieces."""

from __future__ import annotations

import argparse
import base64
import csv
import itertools
import json
import os
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bitlex
from bench import __main__ as command
from bench import conduct
from bench import engines as engines_module
from bench.corpora import Text, corpora, hard, typographic
from bench.engines import Engine, engines
from bench.machine import code_size, first_line
from bench.measure import in_turn, measure, take_turns
from bench.native import TableDfa, Unavailable, clock, compiler, library
from bench.offsets import digest, of_ends, of_pieces
from bench.report import END, START, STREAMS, Result, by_threads, load, save, splice, streams_summary, summary
from bench.special import AGAIN, OBJECTS, lengths, short, threads
from bench.streams import HARD_STREAMS, JOINED, PARTS, in_python, streams
from bench.subject import Subject

TEXT = Text("mixed", "I'm here 12345\r\n\n  naïve 数字１２３、 don'T\u0301 \U0001f642x " * 40)


@pytest.fixture(autouse=True)
def hasty_compiler(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is compiled here is compared and not timed; with -O3, the lanes alone would take as long as all these tests."""
    found = compiler()
    if found is not None:
        script = tmp_path_factory.mktemp("cc") / "cc"
        script.write_text(f'#!/bin/sh\nexec {found} "$@" -O0\n', encoding="utf-8")
        script.chmod(0o755)
        monkeypatch.setenv("CC", str(script))


def run(tmp_path: Path, *more: str) -> tuple[int, dict[str, Any], list[dict[str, str]]]:
    status = command.main(["--megabytes", "0.004", "--rounds", "1", "--no-patterns", "--out", str(tmp_path), "--name", "small", *more])
    with (tmp_path / "small.csv").open(newline="", encoding="utf-8") as file:
        return status, json.loads((tmp_path / "small.json").read_text(encoding="utf-8")), list(csv.DictReader(file))


def test_all_parts(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BITLEX_DATA", raising=False)
    page = tmp_path / "page.md"
    page.write_text(f"before\n{START}\nold\n{END}\nafter\n", encoding="utf-8")
    status, written, rows = run(tmp_path, "--family", "cl100k", "--family", "clip", "--readme", str(page))
    assert status == 0
    assert {row["part"] for row in rows} >= {"corpora", "short", "hard", "lengths", "streams"}
    assert len(rows) == len(written["rows"])
    ours = [row for row in rows if row["ours"] == "True"]
    assert all(row["agrees"] == "True" for row in ours)
    spans = [row for row in ours if (row["part"], row["output"], row["subject"]) == ("corpora", "spans", "cl100k")]
    assert len({row["text"] for row in spans}) == 11
    for text in {row["text"] for row in spans}:  # the same digest from every tier and the table
        found = {row["digest"] for row in spans if row["text"] == text}
        assert len(found) == 1
        assert found != {""}
    made = page.read_text(encoding="utf-8")
    assert "old" not in made
    assert made.startswith("before\n")
    assert made.endswith("after\n")
    assert "| english |" in made
    assert "measuring on texts made here" in capsys.readouterr().out
    again = load(tmp_path / "small.json")
    assert summary(again).strip() in made
    assert "quick" not in written["about"]
    assert written["about"]["python"]


def test_streams(tmp_path: Path) -> None:
    """What parts give is compared with what the whole text gives, of lexers and of tokenizers."""
    (tmp_path / "data" / "corpora").mkdir(parents=True)
    (tmp_path / "data" / "vocab").mkdir()
    (tmp_path / "data" / "corpora" / "a.txt").write_text("zwölf Boxkämpfer 123\n  " * 20, encoding="utf-8")
    ranks = "".join(f"{base64.b64encode(bytes([byte])).decode()} {byte}\n" for byte in range(256))
    (tmp_path / "bytes.tiktoken").write_text(ranks, encoding="utf-8")
    bitlex.Tokenizer.from_file(tmp_path / "bytes.tiktoken", family="cl100k").save(tmp_path / "data" / "vocab" / "cl100k_base.bitlex")
    status, _, rows = run(tmp_path, "--family", "gpt2", "--streams", "--data", str(tmp_path / "data"))
    assert status == 0
    expected = {("gpt2", output) for output in ("spans", "spans into", "split")}
    expected |= {("cl100k_base", output) for output in ("list", "array", "array into")}
    assert {(row["subject"], row["output"]) for row in rows} == expected | ({("gpt2", "ends in C")} if compiler() else set())
    assert {row["text"] for row in rows if row["part"] == HARD_STREAMS} >= ({"space tab", "random BMP"} if compiler() else set())
    assert {row["engine"] for row in rows} == {"whole", *PARTS, JOINED}
    assert all(row["agrees"] == "True" for row in rows)
    assert "4 KB, of that" in (tmp_path / "small.md").read_text(encoding="utf-8")
    shown = streams_summary(load(tmp_path / "small.json"))
    assert shown.count("\n| a | ") == 3  # a table for each size of parts that has a goal
    assert ("\n| space tab | " in shown) == bool(compiler())
    assert ("| | offsets in C | offsets | offsets, into | pieces |" if compiler() else "| | offsets | offsets, into | pieces |") in shown.replace("|  |", "| |")
    lexer = bitlex.lexer("gpt2")
    wrong = streams("gpt2", TEXT, {"split": in_python(lexer.split, bitlex.lexer("cl100k").stream)}, 1)
    assert [row.agrees for row in wrong] == [True, False, False, False, False]


def test_the_files_of_a_folder(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a.txt").write_text("zwölf Boxkämpfer " * 9, encoding="utf-8")
    status, written, rows = run(tmp_path, "--family", "gpt2", "--corpora", "--data", str(tmp_path / "data"))
    assert status == 0
    assert {row["text"] for row in rows} == {"a"}
    assert written["about"]["texts"] == "1 files given"


def wrong(engine: Engine) -> Engine:
    """The same, with one end too far to the right."""

    def prepare(text: Text):
        ends = np.array(engine.prepare(text)())
        ends[5] += 1
        return lambda: ends

    return replace(engine, prepare=prepare, name="wrong")


@pytest.mark.parametrize("is_ours", [True, False])
def test_wrong_pieces_are_noticed(
    is_ours: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def with_a_wrong_one(subject: Subject, absent: dict[str, str]) -> list[Engine]:
        found = engines_module.ours(subject, absent)
        return [*found, replace(wrong(next(one for one in found if one.output == "spans")), ours=is_ours)]

    monkeypatch.setattr(command, "engines", with_a_wrong_one)
    status, _, rows = run(tmp_path, "--family", "cl100k", "--corpora")
    assert status == (1 if is_ours else 0)
    marked = [row for row in rows if row["agrees"] == "False"]
    assert {row["engine"] for row in marked} == {"wrong"}
    assert all("first at byte" in row["note"] for row in marked)
    assert ("WRONG: wrong, cl100k" in capsys.readouterr().err) == is_ours
    assert "*" in (tmp_path / "small.md").read_text(encoding="utf-8")


def test_a_wrong_number_is_noticed() -> None:
    subject = Subject.family("cl100k")
    absent: dict[str, str] = {}
    count = next(one for one in engines(subject, absent) if one.output == "count")
    off = replace(count, prepare=lambda text: lambda: 7)
    rows = measure(subject, TEXT, [count, off], 1, absent)
    assert [row.agrees for row in rows] == [True, True, False]
    assert rows[2].note.startswith("counts 7 pieces instead of ")


def test_ctrl_c_keeps_what_was_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[str] = []

    def stopping(subject: Subject, text: Text, *more, **named):
        if len(taken) == 2:
            raise KeyboardInterrupt
        taken.append(text.name)
        return measure(subject, text, *more, **named)

    monkeypatch.setattr(command, "measure", stopping)
    status, written, rows = run(tmp_path, "--family", "cl100k", "--corpora")
    assert status == 130
    assert {row["text"] for row in rows} == set(taken)
    assert "Ctrl-C" in written["about"]["stopped"]


def test_typographic_text() -> None:
    """Its marks stand where those of books do: at the beginning of a word, behind one, and inside."""
    assert typographic("\"So\", he said - ('well', \"it's\") -- and 'left'.") == "“So”, he said—(‘well’, “it’s”)—and ‘left’."


@pytest.mark.parametrize("name", ["cl100k", "o200k", "gpt2", "llama3", "qwen2", "deepseek_v3", "longcat"])
def test_the_table_dfa_is_a_lexer(name: str) -> None:
    subject = Subject.family(name)
    try:
        table = TableDfa(subject.program)
    except Unavailable as reason:
        assert str(reason) == "no C compiler"  # noqa: PT017 - the only reason these families leave
        pytest.skip("no C compiler to build the table DFA with")
    for text in [TEXT, Text("empty", ""), *corpora(None, 3_000), *hard(300)]:
        ends = table.spans(text.data, table.buffers(text.data, keep=True))
        assert digest(of_ends(ends, text)) == digest(of_ends(subject.lexer("pure").spans(text.data), text)), text.name
        assert table.count(text.data, table.buffers(text.data, keep=False)) == len(ends)


@pytest.mark.parametrize(("name", "reason"), [("clip", "isolates"), ("bytelevel_prefix", "isolates"), ("superbpe", "next symbol")])
def test_what_has_no_table_says_why(name: str, reason: str) -> None:
    absent: dict[str, str] = {}
    found = engines(Subject.family(name), absent)
    assert "table DFA" not in {one.name for one in found}
    assert reason in absent[f"table DFA, {name}"] or absent[f"table DFA, {name}"] == "no C compiler"


def test_an_engine_of_others_that_fails_costs_its_rows_only() -> None:
    subject = Subject.family("cl100k")
    count, *_ = engines(subject, {})

    def failing(text: Text):
        raise MemoryError("no room")

    absent: dict[str, str] = {}
    rows = measure(subject, TEXT, [count, replace(count, name="theirs", prepare=failing, ours=False)], 1, absent)
    assert {row.engine for row in rows} == {"memcpy", count.name}
    assert absent == {"theirs, cl100k, mixed": "MemoryError: no room"}
    with pytest.raises(MemoryError):
        measure(subject, TEXT, [replace(count, prepare=failing)], 1, absent)


def test_without_a_compiler_and_without_peers(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(subject: Subject) -> list[Engine]:
        raise ImportError

    monkeypatch.setenv("CC", "no-such-compiler")
    monkeypatch.setattr(engines_module, "PYTHON", {"regex": none})
    library.cache_clear()
    absent: dict[str, str] = {}
    found = engines(Subject.family("cl100k"), absent)
    assert all(one.name.startswith("bitlex") for one in found)
    assert absent["table DFA, cl100k"] == "no C compiler"
    assert absent["regex"] == "not installed"
    with pytest.raises(Unavailable):
        clock()


def test_tiers_are_chosen_and_the_environment_is_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BITLEX_TIER", "portable")
    names = {one.name for one in engines_module.ours(Subject.family("gpt2"), {})}
    assert "bitlex pure" in names
    assert os.environ["BITLEX_TIER"] == "portable"


def test_patterns_that_are_not_in_the_catalogue(tmp_path: Path) -> None:
    given = command.arguments(["--megabytes", "0.003"])
    given.family = None
    patterns = [one for one in command.subjects(given) if not one.known]
    assert len(patterns) == 11
    for subject in patterns:
        rows = measure(subject, TEXT, engines(subject, {}), 1, {})
        assert all(row.agrees for row in rows if row.ours), subject.name


def test_short_strings() -> None:
    rows = short(Subject.family("cl100k"), TEXT, engines(Subject.family("cl100k"), {}), 1, count=9)
    assert {row.calls for row in rows} == {9 * AGAIN}
    assert {row.output for row in rows if row.engine == OBJECTS} == {"count", "spans", "split"}
    assert {row.output for row in rows if row.engine.endswith(" batch")} == {"count", "spans", "split"}
    assert all(row.agrees for row in rows if row.ours)


class Threaded:
    """A lexer with `threads`; with two of them it loses the last piece."""

    tier, bytewise = "portable", False

    def __init__(self, lexer: bitlex.Lexer) -> None:
        self.lexer = lexer

    def count(self, text: Any, threads: int = 1) -> int:
        return self.lexer.count(text) - (threads == 2)

    def spans(self, text: Any, threads: int = 1) -> Any:
        return self.lexer.spans(text)[: -1 if threads == 2 else None]

    def split(self, text: Any, threads: int = 1) -> list[Any]:
        return self.lexer.split(text)[: -1 if threads == 2 else None]


def test_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    lexer = Threaded(Subject.family("cl100k").lexer())
    monkeypatch.setattr(Subject, "lexer", lambda self: lexer)
    rows = threads(Subject.family("cl100k"), TEXT, 3, 1)
    assert [(row.output, row.threads, row.agrees) for row in rows] == [
        (output, number, number != 2) for output in ("count", "spans", "split") for number in (1, 2, 3)
    ]
    assert "| spans |" in by_threads(rows)


def test_an_engine_that_grows_quadratically_is_asked_no_further() -> None:
    given = command.arguments(["--megabytes", "0.001"])
    subject = next(one for one in command.subjects(given) if one.name == "pattern c")
    both = [one for one in engines(subject, {}) if one.output == "count" and one.name in ("bitlex portable", "bitlex pure", "table DFA")]
    rows = [row for some in lengths(subject, command.UNCLOSED, 100_000, both, 1, patience=1.0) for row in some]
    assert all(row.agrees for row in rows)
    assert max(row.bytes for row in rows if row.engine == both[0].name) == 99_999
    assert not [row for row in rows if row.engine == "table DFA" and row.bytes > 10_000]


@pytest.mark.parametrize(
    ("given", "parts"),
    [([], command.PARTS), (["--threads"], ["threads"]), (["--hard", "--size"], ["hard", "size"]), (["--lengths", "5000"], ["lengths"])],
)
def test_a_flag_chooses_its_part(given: list[str], parts: list[str]) -> None:
    assert list(command.arguments(given).parts) == list(parts)


def test_a_lexer_has_little_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """All tiers of a processor, with the tables of a family, are 256 KB at most, by the compiler with which that is measured."""
    if first_line(["gcc", "-dumpversion"]) != "12":
        pytest.skip("256 KB are a bound for gcc 12, which is not installed: clang 14 makes 278 of the same source")
    monkeypatch.setenv("CC", "gcc")
    assert sum(code_size("cl100k").values()) <= 256 << 10


def test_engines_take_turns() -> None:
    order: list[str] = []
    taken = take_turns([lambda: order.append("a"), lambda: order.append("b"), lambda: order.append("c")], 3)
    assert "".join(order) == "acbcabcba"
    assert [len(times) for times in taken] == [3, 3, 3]


@pytest.mark.parametrize("count", range(1, 10))
def test_everyone_is_behind_everyone_as_often(count: int) -> None:
    rounds = count * (1 + count % 2)
    turns = [list(group) for _, group in itertools.groupby(in_turn(count, rounds), key=lambda turn: turn[0])]
    orders = [[who for _, who in turn] for turn in turns]
    assert [turn[0][0] for turn in turns] == list(range(rounds))
    assert all(sorted(order) == list(range(count)) for order in orders)
    behind = Counter(pair for order in orders for pair in itertools.pairwise(order))
    assert behind == dict.fromkeys(itertools.permutations(range(count), 2), rounds // count)
    places = Counter(pair for order in orders for pair in enumerate(order))
    assert places == dict.fromkeys(itertools.product(range(count), range(count)), rounds // count)


def test_pieces_as_offsets() -> None:
    text = Text("", "aß🙂b")
    assert of_pieces(["aß", "🙂", "b"], text).tolist() == [[0, 3], [3, 7], [7, 8]]
    assert of_pieces([b"a", b"b"], text).tolist() == [[0, 1], [7, 8]]
    assert of_pieces(["a", "?", "b"], text).tolist() == [[0, 1]]  # what is not there ends the list, which is then too short
    assert of_ends([], text).shape == (0, 2)


def test_readme_markers(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("no markers", encoding="utf-8")
    with pytest.raises(SystemExit, match="bench:start"):
        splice(page, "x")
    with pytest.raises(SystemExit, match="corpora"):
        summary(Result({}))
    assert save(Result({}), tmp_path, "none")[1].exists()
    readme = (Path(command.__file__).parent.parent / "README.md").read_text(encoding="utf-8")
    assert readme.count(START) == readme.count(END) == 1
    for other, make, markers in command.PAGES.others:
        assert [other.read_text(encoding="utf-8").count(marker) for marker in markers] == [1, 1]
        assert make(Result({})) == ""


def test_readme_and_other_pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """README.md brings the pages that show more; another page is written alone."""
    readme, other = tmp_path / "README.md", tmp_path / "other.md"
    monkeypatch.setattr(conduct, "README", readme)
    pages = replace(command.PAGES, summary=lambda result: "new", others=[(other, lambda result: "also new", STREAMS)])
    source = save(Result({}), tmp_path, "none")[1]
    for page, expected in ((tmp_path / "third.md", "old"), (readme, "also new")):
        page.write_text(f"{START}\nold\n{END}\n", encoding="utf-8")
        other.write_text(f"{STREAMS[0]}\nold\n{STREAMS[1]}\n", encoding="utf-8")
        options = argparse.Namespace(source=source, out=tmp_path, name="none", readme=page)
        assert conduct.conduct(options, command.run, pages) == 0
        assert "\nnew\n" in page.read_text(encoding="utf-8")
        assert f"\n{expected}\n" in other.read_text(encoding="utf-8")
