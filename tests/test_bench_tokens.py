"""The benchmark of tokenizers on a few kilobytes, one round: that it runs with what is installed, and notices wrong ids."""

from __future__ import annotations

import csv
import hashlib
import json
import sys
from array import array
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bitlex
from bench import __main__ as command
from bench.compare import compare
from bench.corpora import Text, corpora
from bench.measure import Row
from bench.report import Result, save
from bench.tokens.adapters import ADAPTERS, Adapter, Files, Unavailable, as_ids
from bench.tokens.command import PARTS, arguments
from bench.tokens.processes import Engine, Process, best_tier, engines
from bench.tokens.report import MARKERS, relate, summary
from bench.tokens.samples import Samples, pieces
from bench.tokens.vocabularies import Vocabulary, made_here, vocabularies

SMALL = ["--megabytes", "0.003", "--rounds", "1", "--name", "small"]
REFERENCES = ["--engine", "bitlex", "--engine", "tiktoken", "--engine", "tokenizers"]


@pytest.fixture(autouse=True)
def no_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BITLEX_DATA", raising=False)


def run(tmp_path: Path, *more: str) -> tuple[int, dict[str, Any], list[dict[str, str]]]:
    status = command.main(["tokens", *SMALL, "--out", str(tmp_path), *more])
    with (tmp_path / "small.csv").open(newline="", encoding="utf-8") as file:
        return status, json.loads((tmp_path / "small.json").read_text(encoding="utf-8")), list(csv.DictReader(file))


@pytest.fixture(scope="module")
def vocabulary(tmp_path_factory: pytest.TempPathFactory) -> Vocabulary:
    return made_here(tmp_path_factory.mktemp("vocabulary"))


def test_all_parts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.md"
    page.write_text("before\n{}\nold\n{}\nafter\n".format(*MARKERS), encoding="utf-8")
    status, written, rows = run(tmp_path, "--quick", *REFERENCES, "--readme", str(page))
    assert status == 0
    assert {row["part"] for row in rows} == set(PARTS) - {"golden", "memory"} | {"import"}
    assert written["about"]["ids of made_here"] == "compared with those of tiktoken"
    assert all(row["agrees"] == "True" for row in rows)
    for part in ("first", "warm", "short", "pieces"):  # everybody's ids are the same, whatever they come in
        for text in {row["text"] for row in rows if row["part"] == part}:
            found = [row for row in rows if (row["part"], row["text"]) == (part, text)]
            assert {row["engine"] for row in found} == {"bitlex", "tiktoken", "tokenizers"}
            assert len({row["digest"] for row in found}) == 1
    saved = {"saved"} if best_tier() != "pure" else set()
    assert {row["output"] for row in rows if row["part"] == "load"} == {"ranks", "json"} | saved
    assert {row["output"] for row in rows if row["part"] == "decode"} == {"str", "bytes"}
    assert {row["text"] for row in rows if row["part"] == "pieces"} == {"english", *(text.name for text in pieces(9))}
    if sys.platform == "linux":
        known = written["sizes"]["bitlex, made_here"]
        assert 0 < known["Python alone"] < known["vocabulary loaded"]
    made = page.read_text(encoding="utf-8")
    assert "old" not in made
    assert "| english |" in made
    assert "bitlex, list" in (tmp_path / "small.md").read_text(encoding="utf-8")
    assert "written:" in capsys.readouterr().out


def damaged(path: str, to: Path) -> str:
    """A vocabulary in which two letters have each other's ids."""
    text = Path(path).read_text(encoding="utf-8")
    if path.endswith(".json"):
        fields = json.loads(text)
        vocab = fields["model"]["vocab"]
        vocab["e"], vocab["Q"] = vocab["Q"], vocab["e"]
        to.write_text(json.dumps(fields), encoding="utf-8")
    else:
        lines = text.splitlines()
        ranks = {line.split()[0]: at for at, line in enumerate(lines)}
        a, b = ranks["ZQ=="], ranks["UQ=="]  # e, Q
        lines[a], lines[b] = f"ZQ== {b}", f"UQ== {a}"
        to.write_text("\n".join(lines), encoding="utf-8")
    return str(to)


@pytest.mark.parametrize(("who", "status"), [("tokenizers", 0), ("tiktoken", 1)])
def test_wrong_ids_are_noticed(
    who: str, status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of a peer they are marked; where all others differ from the reference, ours does, and the run fails."""
    original = Vocabulary.files

    def files(self: Vocabulary, adapter: Adapter) -> Files:
        found = original(self, adapter)
        return replace(found, path=damaged(found.path, tmp_path / "damaged.json")) if adapter.package == who else found

    monkeypatch.setattr(Vocabulary, "files", files)
    found, _, rows = run(tmp_path, "--quick", *REFERENCES, "--first", "--warm")
    assert found == status
    wrong = {row["engine"] for row in rows if row["agrees"] == "False" and row["text"] == "english"}
    assert wrong == ({"tokenizers"} if who == "tokenizers" else {"bitlex", "tokenizers"})
    assert all("first at byte" in row["note"] for row in rows if row["agrees"] == "False")
    if who == "tokenizers":
        assert all(row["best_peer"].startswith("tiktoken") for row in rows if row["ours"] == "True" and row["text"] == "english")
    assert ("WRONG: bitlex, made_here, english" in capsys.readouterr().err) == (status == 1)
    assert "*" in (tmp_path / "small.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("right", [True, False])
def test_written_ids(right: bool, tmp_path: Path, vocabulary: Vocabulary) -> None:
    """Ids that a data folder has are compared, too."""
    folder = tmp_path / "data"
    (folder / "corpora").mkdir(parents=True)
    (folder / "vocab").mkdir()
    text = "I'm here 12345\n\nnaïve 数字\n" * 9
    (folder / "corpora" / "a.txt").write_text(text, encoding="utf-8")
    converted = Path(vocabulary.convert().path)
    (folder / "vocab" / "tiny.tokenizer.json").write_bytes(converted.read_bytes())
    (folder / "vocab" / "unknown.tiktoken").write_text("IQ== 0\n", encoding="utf-8")
    ids = bitlex.Tokenizer.from_file(converted).encode(text)
    digest = hashlib.sha256(np.array(ids, "<u4").tobytes()).hexdigest()
    known = {"a.txt": {"tiny": [len(ids), digest if right else "0" * 64]}}
    (folder / "golden.json").write_text(json.dumps({"tiktoken": {}, "huggingface": known}), encoding="utf-8")
    status, written, rows = run(tmp_path, "--golden", "--data", str(folder), *REFERENCES)
    assert status == (0 if right else 1)
    assert [(row["engine"], row["agrees"]) for row in rows] == [("bitlex", str(right)), ("tokenizers", str(right))]
    assert "a rank file that is not known" in written["absent"]["unknown.tiktoken"]
    assert "reads rank files only" in written["absent"]["tiktoken, tiny"]


def test_a_converted_rank_file_gives_the_same_ids(vocabulary: Vocabulary) -> None:
    converted = bitlex.Tokenizer.from_file(vocabulary.convert().path)
    for text in corpora(None, 20_000):
        assert converted.encode(text.text) == vocabulary.tokenizer.encode(text.text), text.name


def test_texts_with_special_tokens_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bench.tokens.command.special", lambda description: ["zzz", "import "])
    _, written, rows = run(tmp_path, "--warm", "--engine", "bitlex")
    assert written["absent"]["all, made_here, python"] == "the text has the special token import "
    assert "python" not in {row["text"] for row in rows}
    assert len({row["text"] for row in rows}) == 10


def test_a_process_that_does_not_answer_is_gone(vocabulary: Vocabulary, tmp_path: Path) -> None:
    engine = Engine("bitlex", "bitlex", sys.executable)
    sample = Samples(tmp_path).of(Text("a", "some text"))
    with Process(engine, vocabulary.original) as process:
        assert process.ask("open")["outputs"] == ["array", "list"]
        with pytest.raises(Unavailable, match="KeyError: 'unheard'"):
            process.ask("turn", texts=sample.path, output="unheard", seconds=0)
        with pytest.raises(Unavailable, match="no answer within"):
            process.ask("turn", texts=sample.path, output="list", seconds=60, timeout=0.5)
        assert process.process.poll() is not None
        with pytest.raises(Unavailable, match="died"):
            process.ask("memory")
    with pytest.raises(Unavailable, match="No such file"):
        Process(replace(engine, python=str(tmp_path / "python")), vocabulary.original)


def test_which_interpreter_has_what() -> None:
    found = {engine.name: engine for engine in engines(["/a", "tokenizers 1=/b"], [], tiers=False)}
    assert list(found) == list(ADAPTERS)
    assert [found[name].python for name in ("bitlex", "tiktoken", "tokenizers 1")] == [sys.executable, "/a", "/b"]
    tiers = [engine.tier for engine in engines([], [], tiers=True) if engine.ours]
    assert tiers[0] is None
    assert tiers[1:] == [] or tiers[-1] == "pure"
    for wrong in (["bitlex=/a"], ["nobody=/a"]):
        with pytest.raises(SystemExit, match="is none of"):
            engines(wrong, [], tiers=False)
    with pytest.raises(SystemExit, match="is none of"):
        engines([], ["nobody"], tiers=False)


def test_a_vocabulary_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="neither a file nor"):
        list(vocabularies(None, ["nothing"], tmp_path, {}))
    (tmp_path / "small.tiktoken").write_text("IQ== 0\n", encoding="utf-8")
    with pytest.raises(SystemExit, match="not known"):
        list(vocabularies(None, [str(tmp_path / "small.tiktoken")], tmp_path, {}))


def test_ids_of_whatever_comes_out() -> None:
    class Encoding:
        def __init__(self) -> None:
            self.ids = [1, 2]

    expected = array("I", [1, 2])
    one_text = [1, 2], np.array([1, 2], np.int32), expected.tobytes(), Encoding()
    batches = ([1, 2], [0, 2]), (expected.tobytes(), b""), [[1], [2]], [np.array([1]), np.array([2])], ([[1], [2]], 2, 0.1)
    for result in (*one_text, *batches):
        assert as_ids(result) == expected, result
    assert as_ids([]) == array("I")


@pytest.mark.parametrize(("given", "parts"), [([], PARTS), (["--threads"], ["threads"]), (["--first", "--pieces"], ["first", "pieces"])])
def test_a_flag_chooses_its_part(given: list[str], parts: list[str]) -> None:
    assert list(arguments(given).parts) == list(parts)


def row(engine: str, output: str, seconds: float, **more: Any) -> Row:
    given = {"part": "warm", "subject": "v", "text": "t", "version": "1", "bytes": 1_000_000, "pieces": 9, "digest": "d", "rounds": 3}
    times = {"median": seconds, "fastest": seconds * 0.9, "slowest": seconds * 1.1, "ours": engine == "bitlex"}
    return Row(**{**given, **times, **more}, engine=engine, output=output)


def test_ours_is_held_against_the_cheapest_of_the_others() -> None:
    rows = [row("bitlex", "array", 1), row("bitlex", "list", 2), row("x", "object", 4), row("y", "list", 8), row("z", "list", 0.1, agrees=False)]
    relate(rows)
    assert [(one.best_peer, one.of_best_peer) for one in rows[:3]] == [("x, object", 4.0), ("y, list", 4.0), ("", None)]


def test_two_runs_next_to_each_other(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old = Result({}, [row("bitlex", "array", 2), row("bitlex", "list", 1), row("gone", "list", 1)])
    new = Result({}, [row("bitlex", "array", 1), row("bitlex", "list", 1, digest="other")])
    paths = [save(result, tmp_path, name, lambda result: "")[1] for result, name in ((old, "old"), (new, "new"))]
    assert command.main(["compare", *map(str, paths)]) == 0
    told = capsys.readouterr().out
    assert told == compare(old, new)
    assert "| warm, bitlex, array | 1 | 2.00 | 2.00 | 2.00 |" in told
    assert "1 of 2 rows apart by more than both spread" in told
    assert "2 rows in both, 1 in the old run only, 0 in the new one only" in told
    assert "Other results than before: warm, v, t, list, bitlex" in told
    assert compare(old, Result({})) == "The two runs have no row in common.\n"


def test_readme_has_the_markers() -> None:
    with pytest.raises(SystemExit, match="--first or --warm"):
        summary(Result({}))
    readme = (Path(command.__file__).parent.parent / "README.md").read_text(encoding="utf-8")
    assert [readme.count(marker) for marker in MARKERS] == [1, 1]


def test_warm_texts_are_the_same_words_in_another_text(tmp_path: Path) -> None:
    text = Text("lines", "".join(f"line {number}\n" for number in range(100)))
    sample = Samples(tmp_path).turned(text)
    turned = json.loads(Path(sample.path).read_text(encoding="utf-8"))
    assert len(set(turned)) == sample.texts == len(turned)
    assert {tuple(sorted(one.splitlines())) for one in turned} == {tuple(sorted(text.text.splitlines()))}
    assert sample.bytes == len(text.data)
