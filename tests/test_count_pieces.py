"""Counting by itself: what trainings go on from, in whatever parts it was done, is what they would have counted."""

from __future__ import annotations

import gc
import gzip
import json
import os
import random
import subprocess
import sys
import tracemalloc
from array import array
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy
import pytest

import bitlex
from bitlex.cli import main
from bitlex.saving import checksum
from bitlex.training import checkpoint, count_pieces
from bitlex.training.progress import Progress
from bitlex.training.report import report
from bitlex.training.source import batches
from tokenizing import BYTE_LEVEL, tokenizer_json

HERE = Path(__file__).resolve().parent
PROSE = "\n".join((HERE.parent / name).read_text(encoding="utf-8") for name in ("README.md", "docs/lanes.md", "tests/test_lexer.py"))


def drawn_texts(chance: random.Random) -> list[str]:
    """Of few letters, so that many pairs are equally frequent, and some pieces of more than 15 bytes."""
    letters = chance.choice(["ab  \n", "abc", "é中\U0001f600 a\n", "0123456789 "])
    return ["".join(chance.choices(letters, k=chance.choice([0, 1, 50, 400, 3000]))) + "x" * chance.choice([0, 40]) for _ in range(9)]


@pytest.mark.parametrize("tier", ["", "pure"])
@pytest.mark.parametrize("rule", ["minbpe", "rustbpe", "huggingface"])
def test_parts_are_as_the_whole(rule: Any, tier: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Texts, some of them counted before, in memory that has room for all of them and for none."""
    if tier:
        monkeypatch.setenv("BITLEX_TIER", tier)
    chance = random.Random(20261129)
    for number in range(12):
        texts = drawn_texts(chance)
        whole = bitlex.train(texts, 300, tie_break=rule, pattern="cl100k").description.digest
        first, second = sorted(chance.sample(range(10), 2))
        source: list[Any] = []
        for at, part in enumerate((texts[:first], texts[first:second], texts[second:])):
            if chance.random() < 0.7:
                path = tmp_path / f"{number}.{at}.pieces"
                distinct = count_pieces(part, path, pattern="cl100k", memory=chance.choice([None, 1]), threads=chance.choice([1, 2]))
                assert distinct == len({piece for text in part for piece in bitlex.lexer("cl100k").split(text)})
                source.append(path)
            else:
                source += part
        found = bitlex.train(source, 300, tie_break=rule, pattern="cl100k", memory=chance.choice([None, 1]), threads=chance.choice([1, 2]))
        assert found.description.digest == whole, (texts, first, second)


@pytest.mark.filterwarnings("ignore:vocab_size is")
def test_parts_of_parts(tmp_path: Path) -> None:
    """They are put together to the same file, byte for byte, and bytes that are chosen by the text are those of all parts."""
    lines = PROSE.split("\n")
    for number in range(3):
        count_pieces(lines[number * 1000 : (number + 1) * 1000 if number < 2 else None], tmp_path / f"{number}.pieces")
    count_pieces(lines, tmp_path / "all.pieces")
    count_pieces(tmp_path / "[0-2].pieces", tmp_path / "together.pieces")
    assert (tmp_path / "all.pieces").read_bytes() == (tmp_path / "together.pieces").read_bytes()
    options: dict[str, Any] = {"tie_break": "huggingface", "initial_alphabet": b"", "limit_alphabet": 60}
    seen: list[Progress] = []
    found = bitlex.train(tmp_path / "[0-2].pieces", 400, progress=seen.append, **options)
    assert found.description.digest == bitlex.train(lines, 400, **options).description.digest
    sizes = [os.path.getsize(tmp_path / f"{number}.pieces") for number in range(3)]
    counting = [one for one in seen if one.phase == "counting"]
    assert [one.done for one in counting] == [sizes[0], sizes[0] + sizes[1], sum(sizes)] and {one.total for one in counting} == {sum(sizes)}
    assert counting[-1].length == sum(map(len, lines))


def test_what_is_written_is_no_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor is a checkpoint, which may take the place of one that is there."""
    monkeypatch.chdir(tmp_path)
    count_pieces(["the thing"], "a.pieces")
    was = Path("a.pieces").read_bytes()
    given: tuple[Any, ...] = (Path("a.pieces"), [Path("a.pieces")], ["text", Path("./a.pieces")], Path("*.pieces"))
    for source in given:
        for work in (
            lambda source=source: bitlex.train(source, 260, checkpoint="a.pieces"),
            lambda source=source: bitlex.train(source, 260, checkpoint="a.pieces", resume=True),
            lambda source=source: count_pieces(source, "a.pieces"),
            lambda source=source: count_pieces(source, "b.pieces", checkpoint=tmp_path / "a.pieces"),
        ):
            with pytest.raises(ValueError, match=r"a\.pieces: this is an input and an output$"):
                work()
    assert Path("a.pieces").read_bytes() == was and os.listdir() == ["a.pieces"]
    Path("b.runs").write_text("a text, which was cut off, and then removed")
    for call in (lambda: bitlex.train(Path("b.runs"), 260, checkpoint="b"), lambda: count_pieces(Path("b.runs"), "c", checkpoint="b")):
        with pytest.raises(ValueError, match=r"^b\.runs: this is an input and an output$"):
            call()
    assert sorted(os.listdir()) == ["a.pieces", "b.runs"]


def test_what_is_extended(tmp_path: Path) -> None:
    """Pieces are those of texts as the tokenizer cuts them, which here puts them in NFC."""
    (tmp_path / "base.json").write_text(json.dumps(tokenizer_json(normalizer={"type": "NFC"})))
    base = bitlex.Tokenizer.from_file(tmp_path / "base.json")
    texts = ["cafe\u0301 cafe\u0301s", "caf\u00e9 ", "e\u0301" * 20]
    count_pieces(texts, tmp_path / "a.pieces", extend=base)
    found = bitlex.train(tmp_path / "a.pieces", base.vocabulary_size + 4, extend=base)
    assert found.description.digest == bitlex.train(texts, base.vocabulary_size + 4, extend=base).description.digest
    with pytest.raises(ValueError, match=r"a\.pieces: its pieces were cut in another way, with base '\w+', not None; ask for the same pattern"):
        bitlex.train(tmp_path / "a.pieces", 300, pattern=base.lexer)
    others = [tokenizer_json(), tokenizer_json(pre_tokenizer=BYTE_LEVEL), tokenizer_json(pre_tokenizer={**BYTE_LEVEL, "add_prefix_space": True})]
    made = [base, *(bitlex.Tokenizer.from_bytes(json.dumps(one).encode()) for one in others)]
    grown = [bitlex.train("ab", base.vocabulary_size + 1, extend=one, special_tokens=["<a>"]) for one in made]
    assert len({one.description.digest for one in grown}) == 1
    for counted, other, how in ((0, 1, "normalizer 'NFC', not None"), (1, 0, "normalizer None, not 'NFC'"), (3, 2, "prefix_space True, not None")):
        count_pieces(texts, tmp_path / "a.pieces", extend=grown[counted])
        with pytest.raises(ValueError, match=rf"a\.pieces: its pieces were cut in another way, with {how}; ask for the same pattern"):
            bitlex.train(tmp_path / "a.pieces", base.vocabulary_size + 4, extend=grown[other])


def test_checkpoints(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A training of counted pieces goes on as one of texts does; and its checkpoint, once all is counted, has them, too."""
    for number in range(3):
        count_pieces(PROSE[number * 5000 : (number + 1) * 5000], tmp_path / f"{number}.pieces")
    source = [tmp_path / f"{number}.pieces" for number in range(3)]
    whole = bitlex.train(source, 400).description.digest

    def stop(now: Progress) -> None:
        if now.phase == "merging" and now.done >= 20:
            raise KeyboardInterrupt

    kept = tmp_path / "a.checkpoint"
    with pytest.raises(KeyboardInterrupt):
        bitlex.train(source, 400, checkpoint=kept, progress=stop)
    assert bitlex.train(kept, 400).description.digest == whole
    assert bitlex.train(source, 400, checkpoint=kept, resume=True).description.digest == whole
    found = checkpoint.read(kept)

    told: list[Progress] = []

    def second(now: Progress) -> None:
        told.append(now)
        if len(told) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(checkpoint, "PAUSE", 0)  # while they are counted, there are checkpoints, too
    with pytest.raises(KeyboardInterrupt):
        bitlex.train(source, 400, checkpoint=tmp_path / "b.checkpoint", progress=second)
    assert checkpoint.read(tmp_path / "b.checkpoint").counting is not None
    assert bitlex.train(source, 400, checkpoint=tmp_path / "b.checkpoint", resume=True).description.digest == whole
    checkpoint.write(kept, found._replace(counting={"place": [0, 0, 0]}))
    with pytest.raises(ValueError, match=r"a\.checkpoint: counting was interrupted there, and has to go on to its end before"):
        bitlex.train(kept, 400)


def test_what_is_not_as_it_was_written(tmp_path: Path) -> None:
    path, other = tmp_path / "a.pieces", tmp_path / "b.pieces"
    count_pieces("some text, some more", path)
    good = path.read_bytes()
    with pytest.raises(ValueError, match=r"a\.pieces: its pieces were cut in another way, with .*; ask for the same pattern"):
        bitlex.train(path, 300, pattern="o200k")
    for at in range(8, len(good)):
        for wrong in (good[:at], good[:at] + bytes([good[at] ^ 1]) + good[at + 1 :]):
            other.write_bytes(wrong)
            with pytest.raises(ValueError, match=r"b\.pieces: no checkpoint or pieces of this version"):
                list(batches(other))
    other.write_bytes(good[:7] + good[7:8].translate(bytes.maketrans(b"<>", b"><")) + good[8:])  # of a machine with another order of bytes
    with pytest.raises(ValueError, match=r"b\.pieces: no checkpoint or pieces of this version and kind of machine"):
        bitlex.train(other, 300)
    other.write_bytes(good[:7])  # no such file begins so
    assert bitlex.train(other, 258, pattern="").token_bytes(256) == b"BI"
    with pytest.warns(UserWarning, match="no pair is left"):
        assert bitlex.train(path, 10_000, input="text", pattern="").vocabulary_size > 300  # who says that it is a text gets what is asked for


@pytest.mark.skipif(sys.platform != "linux", reason="which files are open is read from /proc/self/fd, which Linux has")
def test_what_is_refused_is_closed(tmp_path: Path) -> None:
    """At once: without a GIL, garbage that has cycles may wait for long, and a file of this kind would be open and mapped meanwhile."""
    path = tmp_path / "a.pieces"
    count_pieces("some text, some more", path)
    path.write_bytes(path.read_bytes()[:-1])
    gc.disable()
    try:
        before = os.listdir("/proc/self/fd")
        for _ in range(3):
            with suppress(ValueError):
                list(batches(path))
        assert len(os.listdir("/proc/self/fd")) == len(before)
    finally:
        gc.enable()


@pytest.mark.parametrize("tier", ["", "pure"])
@pytest.mark.parametrize(
    ("pieces", "lengths", "counts"),
    [
        (b"abc", [1, 1], [1, 1]), (b"abc", [1, 3], [1, 1]), (b"abc", [3, 0], [1, 1]), (b"abc", [], []), (b"abc", [3], []), (b"", [1], [1]),
        (b"abc", [3], [1, 1]), (b"abc", [3], [5]), (b"abc", [3], [(1 << 64) - 1]), (b"abc", [1, 2], [1 << 63, 1 << 63]), (b"abc", [1, 2], [6, 4]),
    ],
)  # fmt: skip
def test_pieces_that_are_malformed(tier: str, pieces: bytes, lengths: list[int], counts: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the right checksums. Their counts are those of no text of three characters; sums of such would exceed 64 bits."""
    monkeypatch.setenv("BITLEX_TIER", tier)
    path = tmp_path / "a.pieces"
    assert count_pieces("abc", path, pattern="") == 1
    found = checkpoint.read(path)
    checkpoint.write(path, found._replace(pieces=pieces, lengths=array("I", lengths).tobytes(), counts=array("Q", counts).tobytes()))
    with pytest.raises(ValueError, match=r"a\.pieces: these are no runs, or pieces, as they were written"):
        bitlex.train(path, 300, pattern="")
    checkpoint.write(path, found._replace(settings=found.settings | {"length": 1 << 60}))
    with pytest.raises(ValueError, match=r"a\.pieces: with what was counted before, these are pieces of more than 1,152,921,504,606,846,976 bytes of text"):
        bitlex.train([path, path], 300, pattern="")


@pytest.mark.parametrize("length", [None, "3", 3.5, -1, (1 << 60) + 1])
def test_a_header_that_is_malformed(length: object, tmp_path: Path) -> None:
    """With the right checksum."""
    path = tmp_path / "a.pieces"
    count_pieces("abc", path)
    found = checkpoint.read(path)
    wrong = {key: value for key, value in found.settings.items() if key != "length"} | ({} if length is None else {"length": length})
    for malformed in (found._replace(settings=wrong), found._replace(settings=[]), found._replace(counting="")):  # type: ignore[arg-type]
        checkpoint.write(path, malformed)
        with pytest.raises(ValueError, match=r"a\.pieces: no checkpoint or pieces of this version"):
            bitlex.train(path, 300)


def test_a_header_that_is_nothing_of_ours(tmp_path: Path) -> None:
    """One of arrays in arrays with the right checksum; and one that is as long as the file, which is not read into memory for that."""
    path = tmp_path / "a.pieces"
    deep = b"[" * 100_000
    path.write_bytes(checkpoint.MAGIC + checkpoint.NUMBER.pack(checksum(deep)) + checkpoint.NUMBER.pack(len(deep)) + deep)
    with pytest.raises(ValueError, match=r"a\.pieces: no checkpoint or pieces of this version"):
        bitlex.train(path, 300)
    path.write_bytes(checkpoint.MAGIC + bytes(8) + checkpoint.NUMBER.pack((1 << 64) - 1))
    os.truncate(path, 1 << 26)
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=r"a\.pieces: no checkpoint or pieces of this version"):
            checkpoint.read(path)
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("counting", [{}, {"place": [0, 0, 0], "runs": 1}, {"place": [0, 0, 0], "runs": ["thesis.txt", "00" * 16, [], [], 0]}])
def test_a_checkpoint_that_is_malformed(counting: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it called the file of runs was cut off, and then removed, whatever that was."""
    monkeypatch.chdir(tmp_path)
    for name in ("text", "thesis.txt"):
        Path(name).write_text("years of work")
    bitlex.train(Path("text"), 258, checkpoint="kept")
    found = checkpoint.read("kept")
    checkpoint.write("kept", found._replace(counting=counting))
    with pytest.raises(ValueError, match="kept: not as it was written; counting cannot go on from it"):
        bitlex.train(Path("text"), 258, checkpoint="kept", resume=True)
    assert Path("thesis.txt").read_text() == "years of work"


def test_long_pieces_take_no_more_memory_than_there_may_be(tmp_path: Path) -> None:
    """They are written down before all of a file are in memory, however few they are."""
    native = pytest.importorskip("bitlex._native", reason="the C extension was not built")
    pieces = random.Random(20261129).randbytes(12 << 20)
    with open(tmp_path / "runs", "wb") as file:
        counter = native.Counter(bitlex.lexer("gpt2")._machine, bytes(16), 1 << 20, file.fileno())
        counter.add_counted(pieces, array("I", [1 << 20] * 12), array("Q", [1] * 12), len(pieces))
        assert len(counter.ends) == 3 and counter.memory() < 1 << 20


def test_numbers_are_aligned(tmp_path: Path) -> None:
    """As what maps them takes for granted, however long the header is and the pieces are."""
    for length in range(9):
        count_pieces("a" * length, tmp_path / "a.pieces", pattern="")
        found = checkpoint.read(tmp_path / "a.pieces")
        checkpoint.write(tmp_path / "b.pieces", found._replace(settings=found.settings | {"filling": "x" * length}))
        found = checkpoint.read(tmp_path / "b.pieces")
        assert all(numpy.asarray(memoryview(part)).ctypes.data % 8 == 0 for part in (found.pieces, found.lengths, found.counts) if len(memoryview(part)))


def test_pieces_that_are_taken_for_no_text(tmp_path: Path) -> None:
    """Where they cannot be told by the file, by how it begins."""
    path = tmp_path / "a.pieces"
    count_pieces("abc", path)
    (tmp_path / "a.pieces.gz").write_bytes(gzip.compress(path.read_bytes()))
    with pytest.raises(ValueError, match=r"a\.pieces\.gz: counted pieces are read from a file, as it was written: not from a pipe, nor compressed"):
        bitlex.train(tmp_path / "a.pieces.gz", 300)
    train = [sys.executable, "-m", "bitlex", "train", "--vocab-size", "300", "-o", str(tmp_path / "a.bitlex"), "-"]
    done = subprocess.run(train, input=path.read_bytes(), capture_output=True, check=False)
    assert (done.returncode, done.stderr[:26]) == (1, b"bitlex: -: counted pieces ")
    with pytest.raises(ValueError, match=r"a\.pieces: these are counted pieces, which are no held-out text"):
        report(bitlex.train("", 256), path)
    done = subprocess.run([*train, "--held-out", str(path)], input=b"abc", capture_output=True, check=False)
    assert done.returncode == 1 and done.stderr.endswith(b"a.pieces: these are counted pieces, which are no held-out text\n")
    assert sorted(one.name for one in tmp_path.iterdir()) == ["a.pieces", "a.pieces.gz"]


def test_arguments(tmp_path: Path) -> None:
    tokenizer = bitlex.train("", 256)
    for message, arguments in {
        "pattern goes without extend": {"extend": tokenizer, "pattern": "gpt2"}, "spill is no folder": {"spill": tmp_path / "no"},
        "tie_break": {"tie_break": "none"},
    }.items():  # fmt: skip
        with pytest.raises(ValueError, match=message):
            count_pieces("a", tmp_path / "a.pieces", **arguments)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="extend is 'gpt2'; it may be a Tokenizer"):
        count_pieces("a", tmp_path / "a.pieces", extend="gpt2")  # type: ignore[arg-type]
    (tmp_path / "text").write_text("hello")
    with pytest.raises(ValueError, match="is there, and no checkpoint; move it away, or choose another output"):
        count_pieces("a", tmp_path / "text")
    assert [path.name for path in tmp_path.iterdir()] == ["text"]


@pytest.mark.parametrize("command", [["count-pieces"], ["train", "--vocab-size", "300"]])
def test_a_folder_that_cannot_be_written_to(command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is told before anything is read; and so is one that is not there, but where the output is a link to."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "stdin", None)
    Path("b").symlink_to("no/b")
    with pytest.raises(ValueError, match=r"^b: the folder .*no is not there$"):
        main([*command, "-", "-o", "b"])
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(PermissionError, match="Permission denied: 'a'"):
        main([*command, "-", "-o", "a"])
    Path("no").mkdir()
    monkeypatch.setattr(os, "access", lambda path, mode: os.path.basename(path) != "no")
    with pytest.raises(PermissionError, match="Permission denied: 'b'"):
        main([*command, "-", "-o", "b"])


def test_the_command(tmp_path: Path) -> None:
    def run(*arguments: str, code: int = 0) -> str:
        done = subprocess.run([sys.executable, "-m", "bitlex", *arguments], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == code, done.stderr
        return done.stdout if code == 0 else done.stderr

    for number in range(3):
        (tmp_path / f"{number}.txt").write_text(PROSE[number * 9000 : (number + 1) * 9000], encoding="utf-8")
    count = ("count-pieces", "--pattern", "cl100k", "-o")
    assert run(*count, "a.pieces", "0.txt", "1.txt", "--resume").endswith(" distinct pieces\n")
    assert run(*count, "b.pieces", "2.txt", "--quiet") == ""
    train = ("train", "--vocab-size", "400", "--pattern", "cl100k", "--quiet", "-o")
    run(*train, "ours.tiktoken", "*.pieces")
    run(*train, "theirs.tiktoken", "?.txt")
    assert (tmp_path / "ours.tiktoken").read_bytes() == (tmp_path / "theirs.tiktoken").read_bytes()
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["0.txt", "1.txt", "2.txt", "a.pieces", "b.pieces", "ours.tiktoken", "theirs.tiktoken"]
    refused = run(*train, "ours.model", "a.pieces", code=1)
    assert refused.endswith("(for NAME.model, count with the regular expression of a family, as minbpe reads it, not with its name)\n")
    run("count-pieces", "2.txt", "--pattern", bitlex.lexer("cl100k").pattern, "-o", "c.pieces", "--quiet")
    run(*train, "ours.model", "c.pieces")
    run(*train, "theirs.model", "2.txt")
    assert (tmp_path / "ours.model").read_bytes() == (tmp_path / "theirs.model").read_bytes()
    bitlex.Tokenizer.from_file(tmp_path / "ours.tiktoken", family="cl100k").save(tmp_path / "ours.bitlex")
    run("count-pieces", "2.txt", "--extend", "ours.bitlex", "-o", "c.pieces")
    run("train", "c.pieces", "--extend", "ours.bitlex", "--vocab-size", "420", "--quiet", "-o", "more.bitlex")
    assert run("count-pieces", "0.txt", "-o", "./0.txt", code=1) == "bitlex: 0.txt: this is an input and an output\n"
    assert run("count-pieces", "0.txt", "-o", "no/a", code=1) == "bitlex: no/a: the folder no is not there\n"
    assert run("count-pieces", "0.txt", "-o", "1.txt", code=1).endswith("1.txt: is there, and no checkpoint; move it away, or choose another output\n")
    assert "its pieces were cut in another way" in run("train", "a.pieces", "--vocab-size", "300", "-o", "x", code=1)
