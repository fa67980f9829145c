"""Counting that does not find room in memory, or is interrupted: the same pieces, counts and order as if nothing had happened."""

from __future__ import annotations

import errno
import gzip
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

import bitlex
from bitlex.training import checkpoint, counting
from bitlex.training import memory as memory_of_training
from bitlex.training.counting import Counting
from bitlex.training.memory import bytes_of, nameless
from bitlex.training.progress import Progress
from bitlex.training.source import batches
from interrupting import signal_after
from several_stages import lexer_of_several_stages

native = pytest.importorskip("bitlex._native")
HERE = Path(__file__).resolve().parent
PROSE = "\n".join((HERE.parent / name).read_text(encoding="utf-8") for name in ("README.md", "docs/lanes.md", "tests/test_lexer.py"))


def random_text(chance: random.Random) -> str:
    letters = chance.choice(["ab \n", "abcdefghij    \n", "é中\U0001f600 a\n", "0123456789 ", "abc"])
    return "".join(chance.choices(letters, k=chance.choice([0, 1, 100, 3000, 60000])))


def counted(lexer: bitlex.Lexer, source: Any, memory: int, threads: int) -> tuple[bytes, bytes, bytes]:
    made = Counting(lexer, threads=threads, memory=memory)
    try:
        for batch in batches(source):
            assert sum(length for _, length in made.add(batch)) == sum(map(len, batch.texts))
        return tuple(bytes(part) for part in made.finish())  # type: ignore[return-value]
    finally:
        made.close()


@pytest.mark.parametrize("threads", [1, 2])
def test_spilled_or_not(threads: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Texts and files, in memory so small that all is written down all the time, and in windows that end within pieces."""
    chance = random.Random(threads)
    monkeypatch.setattr(counting, "TAKEN", 50)
    lexers = [
        bitlex.lexer("gpt2"), bitlex.lexer("deepseek_v3"), bitlex.compile(r"[^\n]*\n|[^\n]+"), bitlex.compile(r"(?<=a)b+|\b\w|.|\n", dialect="python"),
        bitlex.compile(r"a+|.", behavior="removed", invert=True), bitlex.compile(None), lexer_of_several_stages(),
    ]  # fmt: skip
    for number, lexer in enumerate(lexers):
        texts = [random_text(chance) for _ in range(8)]
        expected = counted(lexer, texts, 1 << 40, 1)
        path = tmp_path / f"{number}.txt"
        path.write_text("".join(texts) * 5 + PROSE * 12, encoding="utf-8")
        whole = counted(lexer, path.read_text(encoding="utf-8"), 1 << 40, 1)
        for memory, window in ((1, 1 << 26), (400_000, 70_000), (1 << 40, 300_000)):
            monkeypatch.setattr(counting, "WINDOW", window)
            assert counted(lexer, texts, memory, threads) == expected
            assert counted(lexer, path, memory, threads) == whole


@pytest.mark.parametrize("rule", ["minbpe", "rustbpe", "huggingface"])
def test_training(rule: str, tmp_path: Path) -> None:
    """And the tokenizer, of which pieces that are mapped make no other."""
    options: dict[str, Any] = {"tie_break": rule}
    if rule == "huggingface":
        options |= {"initial_alphabet": b"", "limit_alphabet": 60}
    lines = PROSE.split("\n")
    expected = bitlex.train(lines, 500, **options).description.digest
    assert bitlex.train(lines, 500, memory=1, spill=tmp_path, threads=2, **options).description.digest == expected
    assert not list(tmp_path.iterdir())


def test_memory() -> None:
    assert [bytes_of(one) for one in (7, "64 MB", "2GB", "1 KiB", "3k", "10", "1.005 kB")] == [7, 64_000_000, 2_000_000_000, 1024, 3000, 10, 1005]
    assert bytes_of(1 << 70) == bytes_of("9999999999 TB") == 1 << 62  # as if there were no limit
    assert (bytes_of(None) or 0) > 1 << 20
    for wrong in (0, "0", -1, "much", "1 XB", ""):
        with pytest.raises(ValueError, match="memory is"):
            bytes_of(wrong)
    for other in (1.5, True):
        with pytest.raises(TypeError, match="memory: expected an int, a str or None, got"):
            bytes_of(other)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="spill is no folder"):
        bitlex.train("a", 256, spill="/nowhere/at/all")


def test_memory_that_is_not_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of what the machine has, or the container may take of it; of 8 GiB, if neither is known."""
    limit = tmp_path / "memory.max"
    monkeypatch.setattr(memory_of_training, "LIMIT", str(limit))
    half = bytes_of(None)
    for told, expected in (("max\n", half), (f"{4 * half}\n", half), ("1000000\n", 500_000)):
        limit.write_text(told)
        assert bytes_of(None) == expected
    limit.unlink()
    monkeypatch.delattr(os, "sysconf", raising=False)
    assert bytes_of(None) == 4 << 30


def test_memory_with_a_file_behind_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Merging has its pieces in it where they would take more than there may be. It is empty, has no name, and no open file is left."""
    opened = list[int]()

    def noted(folder: Any) -> int:
        opened.append(nameless(folder))
        return opened[-1]

    monkeypatch.setattr(memory_of_training, "nameless", noted)
    lines = PROSE.split("\n")
    expected = bitlex.train(lines, 300).description.digest
    assert not opened
    assert bitlex.train(lines, 300, memory=1, spill=tmp_path).description.digest == expected
    found = memory_of_training.mapped(100_000, str(tmp_path))
    assert found[:] == bytes(100_000)
    assert len(opened) == 2 and not list(tmp_path.iterdir())
    for file in opened:
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(file)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "posix_fallocate" if hasattr(os, "posix_fallocate") else "ftruncate", full)
    with pytest.raises(OSError, match="merging needs 100,000 bytes there: No space left on device") as caught:
        memory_of_training.mapped(100_000, str(tmp_path))
    assert caught.value.filename == str(tmp_path)


def test_files_without_a_name_where_the_system_has_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Or the folder: then it is one whose name is taken away."""
    there, openers = hasattr(os, "O_TMPFILE"), os.open

    def refused(path: Any, flags: int, *more: Any, **options: Any) -> int:
        if there and flags & os.O_TMPFILE == os.O_TMPFILE:
            raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP))
        return openers(path, flags, *more, **options)

    for lacking in ("the folder", "the system"):
        with monkeypatch.context() as patched:
            patched.setattr(tempfile, "_O_TMPFILE_WORKS", False, raising=False)  # which has noted that there are such files
            if lacking == "the folder":
                patched.setattr(os, "open", refused)
            else:
                patched.delattr(os, "O_TMPFILE", raising=False)
            file = nameless(tmp_path)
        assert not list(tmp_path.iterdir())
        os.write(file, b"kept")
        assert os.pread(file, 9, 0) == b"kept"
        os.close(file)


def test_runs_that_are_malformed() -> None:
    machine = bitlex.lexer("gpt2")._machine
    with tempfile.TemporaryFile() as file:
        counter = native.Counter(machine, bytes(16), 0, file.fileno())
        counter.add(["the cat and the dog and a piece of more than sixteen bytes: " + "x" * 40])
        counter.spill(False)
        ends = counter.ends
        file.seek(0)
        data = file.read()
    assert ends == [len(data)]
    chance = random.Random(1)
    for _ in range(3000):
        wrong = bytearray(data[: chance.choice([len(data), chance.randrange(len(data))])])
        for _ in range(chance.choice([0, 1, 3])):
            if wrong:
                wrong[chance.randrange(len(wrong))] = chance.choice([0, 1, 255, chance.randrange(256)])
        other = native.Counter(machine, bytes(16))
        try:
            other.open(bytes(wrong), [len(wrong)], False)
            other.read(0)
            other.finish()
        except (ValueError, MemoryError):
            pass
    other = native.Counter(machine, bytes(16))
    for wrong_ends in ([len(data) + 1], [5, 2], [3]):
        with pytest.raises(ValueError, match="no runs"):
            other.open(data, wrong_ends, False)
    with pytest.raises(ValueError, match="no runs were opened"):
        other.read(0)


def test_what_is_read_back_is_written_down_again() -> None:
    """Else all distinct pieces would be in memory in the end, however little there may be."""
    made = Counting(bitlex.lexer("gpt2"), threads=1, memory=1)
    make, tables = made.make, list[Any]()

    def noted(*given: Any) -> Any:
        tables.append(make(*given))
        return tables[-1]

    made.make = noted  # type: ignore[assignment]
    list(made.add(next(batches(PROSE))))
    found = made.finish()
    made.close()
    assert len(tables[0].ends) == len(memoryview(found.lengths)) // 4 > 1000


def test_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, full_disk: Path) -> None:
    monkeypatch.setattr(counting, "nameless", lambda folder: os.open(full_disk, os.O_RDWR))
    with pytest.raises(OSError, match="No space left on device"):
        bitlex.train(PROSE.split("\n"), 400, memory=1)
    assert not list(tmp_path.iterdir())


def test_nothing_is_counted_behind_a_write_that_failed(full_disk: Path) -> None:
    """What was to be written is gone, so counts would be too low."""
    machine = bitlex.lexer("gpt2")._machine
    text = PROSE.encode()
    for limit, call in (
        (1, lambda counter: counter.add([text])), (1, lambda counter: counter.add_part(text, 1, 0, False, 0, 1 << 30)), (0, lambda counter: counter.spill(False)),
    ):  # fmt: skip
        with full_disk.open("r+b", buffering=0) as file:
            counter = native.Counter(machine, bytes(16), limit, file.fileno())
            if not limit:
                counter.add([text])
            with pytest.raises(OSError, match="No space left on device"):
                call(counter)
            for more in (lambda: counter.add([text]), counter.finish, counter.memory):  # noqa: B023
                with pytest.raises(RuntimeError, match="this counter is in use, or has ended"):
                    more()


# --- checkpoints --------------------------------------------------------------------------------------------------------------


class Enough(Exception):
    pass


def sources(folder: Path) -> list[Path]:
    folder.mkdir()
    (folder / "a.txt").write_text(PROSE * 24, encoding="utf-8")
    (folder / "a2.txt").write_text("between two\n" * 9, encoding="utf-8")
    (folder / "b.txt").write_text("", encoding="utf-8")
    with gzip.open(folder / "c.jsonl.gz", "wt", encoding="utf-8") as file:
        file.writelines(json.dumps({"text": line}) + "\n" for line in PROSE.split("\n") * 10)
    (folder / "d.txt").write_text("the last of all\n" + PROSE, encoding="utf-8")
    return sorted(folder.glob("*.*"))


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """To count from, with a checkpoint whenever there may be one."""
    monkeypatch.setattr(counting, "WINDOW", 200_000)
    monkeypatch.setattr(checkpoint, "PAUSE", 0.0)
    monkeypatch.setattr(checkpoint, "PATIENCE", 0.0)
    return sources(tmp_path / "in")


def test_counting_goes_on(tmp_path: Path, files: list[Path]) -> None:
    """Stopped after any progress, it goes on from the place of the last checkpoint, and ends with the same pieces."""
    told: list[Progress] = []
    expected = bitlex.train(files, 500, progress=told.append).description.digest
    done = [one.done for one in told if one.phase == "counting"]
    assert done == sorted(done) and len(set(done)) > 6 and done[-1] == told[0].total == sum(one.stat().st_size for one in files)
    for spill in (None, tmp_path):
        path = tmp_path / "checkpoint"
        lengths: list[int] = []
        for stop in range(1, 100):
            seen: list[Progress] = []

            def enough(now: Progress, seen: list[Progress] = seen) -> None:
                seen.append(now)
                if now.phase == "counting" and len(seen) == 2:
                    raise Enough

            try:
                made = bitlex.train(files, 500, checkpoint=path, resume=True, spill=spill, memory=300_000, threads=1 + stop % 2, progress=enough)
                break
            except Enough:
                lengths.append(seen[0].length)
                assert seen[0].done == seen[0].length or seen[0].length > files[0].stat().st_size
        assert made.description.digest == expected
        assert len(set(lengths)) >= 6 and lengths == sorted(lengths)
        assert sorted(one.name for one in tmp_path.iterdir()) == ["checkpoint", "in"]
        path.unlink()


def interrupted(path: Path, files: list[Path]) -> None:
    def enough(now: Progress) -> None:
        if now.length > 900_000:
            raise Enough

    with pytest.raises(Enough):
        bitlex.train(files, 500, checkpoint=path, progress=enough)


def test_what_counting_cannot_go_on_from(tmp_path: Path, files: list[Path]) -> None:
    path, runs = tmp_path / "checkpoint", tmp_path / "checkpoint.runs"
    interrupted(path, files)
    assert runs.stat().st_size > 0
    for other, named in ((files[:3], r"c\.jsonl\.gz, .*d\.txt"), ([*files, files[0]], "the files"), ("a text", r"a\.txt, .*a2\.txt, .*b\.txt")):
        with pytest.raises(checkpoint.CheckpointError, match=f"{named}: not what was counted from"):
            bitlex.train(other, 500, checkpoint=path, resume=True)  # type: ignore[arg-type]
    with pytest.raises(checkpoint.CheckpointError, match="was made with rule"):
        bitlex.train(files, 500, checkpoint=path, resume=True, tie_break="rustbpe")
    data = runs.read_bytes()
    for wrong in (data[:-1], data[:50] + bytes([data[50] ^ 1]) + data[51:], b""):
        runs.write_bytes(wrong)
        with pytest.raises(ValueError, match="not as it was written"):
            bitlex.train(files, 500, checkpoint=path, resume=True)
    runs.write_bytes(data + b"what was written behind it before the power went")
    expected = bitlex.train(files, 500).description.digest
    assert bitlex.train(files, 500, checkpoint=path, resume=True).description.digest == expected
    interrupted(path, files)
    data, when = files[0].read_bytes(), files[0].stat().st_mtime_ns
    for changed, then in ((data[::-1], when + 10**9), (data + b".", when)):  # as large as it was, or as old
        files[0].write_bytes(changed)
        os.utime(files[0], ns=(then, then))
        with pytest.raises(checkpoint.CheckpointError, match=r"a\.txt: not what was counted from"):
            bitlex.train(files, 500, checkpoint=path, resume=True)
    files[0].write_text("changed", encoding="utf-8")
    with pytest.raises(checkpoint.CheckpointError, match=r"a\.txt: not what was counted from"):
        bitlex.train(files, 500, checkpoint=path, resume=True)
    assert bitlex.train(files, 500, checkpoint=path).vocabulary_size == 500  # anew
    assert not runs.exists()
    with pytest.raises(checkpoint.CheckpointError, match="not what was counted from"):  # nor once all is counted
        bitlex.train(files[:2], 500, checkpoint=path, resume=True)
    with pytest.raises(checkpoint.CheckpointError, match="was made with field 'text', not 'other'"):
        bitlex.train(files, 500, checkpoint=path, resume=True, field="other")
    with pytest.raises(checkpoint.CheckpointError, match="was made with input None, not 'lines'"):
        bitlex.train(files, 500, checkpoint=path, resume=True, input="lines")


def test_checkpoints_are_some_time_apart(tmp_path: Path) -> None:
    keeper = checkpoint.Keeper(tmp_path / "kept")
    assert not keeper.is_due()
    keeper.next = 0.0
    assert keeper.is_due()
    keeper.write(lambda: checkpoint.Checkpoint({"length": 0}, None))
    assert not keeper.is_due() and keeper.written


def test_checkpoints_that_take_long_are_further_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Or training would do little else."""
    now = 1000.0

    def slow() -> checkpoint.Checkpoint:
        nonlocal now
        now += 30
        return checkpoint.Checkpoint({"length": 0}, None)

    monkeypatch.setattr("time.monotonic", lambda: now)
    keeper = checkpoint.Keeper(tmp_path / "kept")
    keeper.write(slow)
    assert keeper.next == 1030 + 20 * 30


def test_a_checkpoint_that_has_the_number_of_one_that_is_gone(tmp_path: Path) -> None:
    """The third of a name may have that of the first, which does not stand for it."""
    checkpoint.write(tmp_path / "kept", checkpoint.Checkpoint({"length": 0}, None))
    keeper = checkpoint.Keeper(tmp_path / "kept")
    assert not keeper.written
    os.utime(tmp_path / "kept", ns=(10**18, 10**18))
    assert keeper.written


@pytest.mark.parametrize("spill", [False, True])
def test_no_runs_are_left_without_a_checkpoint(spill: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """None needs them: an exception comes before the first one, or while it is written when all is counted."""
    files = sources(tmp_path / "in")
    options: dict[str, Any] = {"checkpoint": tmp_path / "checkpoint", "spill": tmp_path / "runs" if spill else None, "memory": 1}
    (tmp_path / "runs").mkdir()

    def enough(now: Progress) -> None:
        assert len(list((tmp_path / "runs" if spill else tmp_path).glob("*.runs"))) == 1
        raise Enough

    for progress in (enough, None):
        if progress is None:
            monkeypatch.setattr(checkpoint, "write", lambda path, made: enough(made))
        with pytest.raises(Enough):
            bitlex.train(files, 500, progress=progress, **options)
        assert sorted(one.name for one in tmp_path.rglob("*") if one.parent.name != "in") == ["in", "runs"]


def test_runs_stay_for_the_checkpoint_that_needs_them(tmp_path: Path, files: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where a training that went on from it is interrupted before it has written another one, while it counts or just behind that."""

    def enough(*_: object) -> None:
        raise Enough

    expected = bitlex.train(files, 500).description.digest
    path = tmp_path / "checkpoint"
    interrupted(path, files)
    monkeypatch.setattr(checkpoint, "PAUSE", 1e9)
    with pytest.raises(Enough):
        bitlex.train(files, 500, checkpoint=path, resume=True, progress=enough)
    with monkeypatch.context() as failing:
        failing.setattr(checkpoint, "write", enough)
        with pytest.raises(Enough):
            bitlex.train(files, 500, checkpoint=path, resume=True)
    assert checkpoint.read(path).counting is not None
    assert bitlex.train(files, 500, checkpoint=path, resume=True).description.digest == expected


def test_runs_stay_where_they_are(tmp_path: Path, files: list[Path]) -> None:
    """Whichever folder for them is given when counting goes on."""
    path, elsewhere = tmp_path / "checkpoint", tmp_path / "elsewhere"
    elsewhere.mkdir()
    expected = bitlex.train(files, 500).description.digest
    interrupted(path, files)
    assert bitlex.train(files, 500, checkpoint=path, resume=True, spill=elsewhere).description.digest == expected
    assert sorted(one.name for one in tmp_path.rglob("*") if one.parent.name != "in") == ["checkpoint", "elsewhere", "in"]


def test_the_pure_tier_has_checkpoints_of_all_that_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It writes nothing while it counts, although it is time to."""
    monkeypatch.setattr(checkpoint, "PAUSE", 0.0)
    monkeypatch.setattr(checkpoint, "PATIENCE", 0.0)
    (tmp_path / "text.txt").write_text(PROSE[:3000], encoding="utf-8")
    expected = bitlex.train(PROSE[:3000], 270).description.digest
    monkeypatch.setenv("BITLEX_TIER", "pure")
    assert bitlex.train(tmp_path / "text.txt", 270, checkpoint=tmp_path / "checkpoint").description.digest == expected
    assert checkpoint.read(tmp_path / "checkpoint").counting is None
    assert sorted(one.name for one in tmp_path.iterdir()) == ["checkpoint", "text.txt"]


# Each checkpoint takes a while, and the sixth as long as it takes until the signal comes: counting is not over then.
PROGRAM = """
import itertools, time
import bitlex.training.checkpoint as checkpoint, bitlex.training.counting as counting
checkpoint.PAUSE = checkpoint.PATIENCE = 0
counting.WINDOW = 100_000
write = checkpoint.Keeper.write
numbers = itertools.count(1)
checkpoint.Keeper.write = lambda *given: (write(*given), time.sleep(600 if next(numbers) == LAST else 0.1))
from bitlex.cli import run
run()
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_killed_while_counting(number: signal.Signals, tmp_path: Path) -> None:
    files = sources(tmp_path / "in")
    expected = bitlex.train(files, 500).description.digest

    def command(last: int) -> list[str]:
        train = ["train", *map(str, files), "--quiet", "-o", "out.bitlex", "--vocab-size", "500", "--resume", "--memory", "300 kB"]
        return [sys.executable, "-c", f"LAST = {last}\n{PROGRAM}", *train]

    chance = random.Random(int(number))
    counting_on = 0
    for _ in range(5):
        started = subprocess.Popen(command(6), cwd=tmp_path, stderr=subprocess.PIPE)
        kept = tmp_path / "out.bitlex.checkpoint"
        signal_after(started, kept, chance.random() * 0.2, number)
        if kept.exists():
            counting_on += checkpoint.read(kept).counting is not None
        if (tmp_path / "out.bitlex").exists():  # it was sooner
            break
    assert counting_on
    done = subprocess.run(command(0), cwd=tmp_path, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert bitlex.Tokenizer.from_file(tmp_path / "out.bitlex").description.digest == expected
    left = {one.name for one in tmp_path.iterdir()} - {"in", "out.bitlex"}
    assert all(name.startswith(".") for name in left) and (number == signal.SIGKILL or not left)


def test_without_a_folder_for_temporary_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All goes beside the checkpoint; without one, a folder for temporary files is missed when there is something to write."""

    def none_is_usable() -> str:
        raise FileNotFoundError("No usable temporary directory found")

    path = tmp_path / "text.txt"
    path.write_text(PROSE, encoding="utf-8")
    lines = PROSE.split("\n")
    expected = [bitlex.train(source, 300).description.digest for source in (lines, path)]
    monkeypatch.setenv("TMPDIR", "/nowhere/at/all")
    monkeypatch.setattr(tempfile, "gettempdir", none_is_usable)
    assert [bitlex.train(source, 300, memory=1, checkpoint=tmp_path / "c").description.digest for source in (lines, path)] == expected
    assert bitlex.train(lines, 300).description.digest == expected[0]
    with pytest.raises(FileNotFoundError, match="No usable"):
        bitlex.train(lines, 300, memory=1)


def test_a_full_disk_is_named(full_disk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(counting, "nameless", lambda folder: os.open(full_disk, os.O_RDWR))
    with pytest.raises(OSError, match="counted pieces could not be written") as caught:
        bitlex.train(PROSE, 300, memory=1)
    assert caught.value.filename == str(tmp_path)
