"""The program behind `make exhaustive`, on alphabets and lengths that take a second."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import sys
import time
from functools import cache
from pathlib import Path

import pytest

import exhaustive
from exhaustive import Job, Missing, Outcome, build, make_job, masks_by_pcre2, outcome, publish, start
from generator import Program, compile_family, families
from generator.alphabet import alphabet

ROOT = Path(__file__).resolve().parent.parent


@cache
def compiled(name: str) -> Program:
    return compile_family(families()[name])


def built(job: Job) -> Path:
    try:
        return build(job)
    except Missing as missing:
        pytest.skip(str(missing))


def finish(job: Job, jobs: int = 1) -> Outcome:
    return outcome(start(job, built(job), jobs))


@pytest.mark.parametrize("name", ["cl100k", "clip"])  # clip drops what is between its matches
def test_short_texts(name: str, tmp_path: Path) -> None:
    pytest.importorskip("regex", reason="the regex module is not installed")
    built(make_job(compiled(name), 29, 3, tmp_path))
    command = [sys.executable, "-m", "tests.exhaustive", name, "--k", "3", "--folder", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")  # no progress bar in a pipe
    assert "PCRE2 equals the regex module on all 25,259 texts of up to 3 characters" in done.stdout
    assert "texts 25,259, differences 0," in done.stdout


def test_the_digest_is_what_the_page_says(tmp_path: Path) -> None:
    job = make_job(compiled("clip"), 29, 3, tmp_path)
    masks = iter(masks_by_pcre2(job, built(job), 3))
    whole = 0xCBF29CE484222325
    for length in (1, 2, 3):
        block = 0xCBF29CE484222325
        for _ in range(29**length):
            for mask in (next(masks), next(masks)):
                block = (block ^ mask) * 0x100000001B3 % 2**64
        for byte in block.to_bytes(8, "little"):
            whole = (whole ^ byte) * 0x100000001B3 % 2**64
    assert finish(job).digest == f"{whole:016x}"
    assert next(masks, None) is None


def test_a_broken_table_is_reported_with_a_text(tmp_path: Path) -> None:
    source = (ROOT / "generated/c/cl100k.c").read_text()
    head, tail = source.split("output0[] = {\n")
    first, second, rest = tail.split("\n", 2)  # in state 1: continue where a piece starts, and the other way round
    broken = tmp_path / "broken.c"
    broken.write_text(f"{head}output0[] = {{\n{first}\n{second.translate(str.maketrans('01', '10'))}\n{rest}")
    wrong = finish(make_job(compiled("cl100k"), 12, 3, tmp_path, broken))
    assert wrong.texts == 12 + 12**2 + 12**3
    assert 0 < wrong.differences < wrong.texts
    assert 0 < len(wrong.shown) <= 5
    for line in wrong.shown:
        found = re.fullmatch(r"((?:U\+[0-9A-F]{4,6} ?)+); PCRE2 ([|x-]+); tables ([|x-]+); bitlex ([|x-]+)", line)
        assert found is not None
        assert found[2] != found[3] == found[4]
        assert len(found[1].split()) == len(found[2])
    # What was found out about these tables is no answer about the right ones; and the digest is of PCRE2's answers alone.
    right = finish(make_job(compiled("cl100k"), 12, 3, tmp_path))
    assert (right.differences, right.shown, right.digest) == (0, [], wrong.digest)


def test_a_killed_run_goes_on_and_the_digest_does_not_depend_on_threads(tmp_path: Path) -> None:
    whole = make_job(compiled("cl100k"), 12, 6, tmp_path / "whole")
    stopped = make_job(compiled("cl100k"), 12, 6, tmp_path / "stopped")
    wanted = finish(whole, 2)
    running = start(stopped, built(stopped), 1)
    state = stopped.folder / "state"
    while not state.exists():
        assert running.poll() is None
        time.sleep(0.01)
    running.send_signal(signal.SIGKILL)
    with pytest.raises(RuntimeError, match="stopped with code -9"):
        outcome(running)
    first = state.read_text().splitlines()
    assert 1 < len(first) < 1 + 4 + 12 + 144
    found = finish(stopped, 3)
    assert set(first) <= set(state.read_text().splitlines())  # the seconds of each block are in it: none was done twice
    assert (found.texts, found.differences, found.digest) == (wanted.texts, 0, wanted.digest)
    assert finish(stopped).seconds == found.seconds  # nothing is left to do


@pytest.mark.parametrize(("name", "size", "lengths"), [("cl100k", 29, {1, 2, 3, 4}), ("o200k", 45, {1, 2, 3, 4}), ("o200k", 1, {1, 2})])
def test_the_alphabet(name: str, size: int, lengths: set[int]) -> None:
    cells = compiled(name).raw
    points = alphabet(cells, size)
    lookup = cells.lookup()
    assert {lookup[point] for point in points} == set(range(cells.count))
    assert len(points) == len(set(points)) == max(size, cells.count)
    assert {len(chr(point).encode()) for point in points} == lengths  # that it encodes says that it is no surrogate


def test_families_that_are_left_out_say_why(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="bytelevel_prefix: a space is added"):
        make_job(compiled("bytelevel_prefix"), 29, 3, tmp_path)
    with pytest.raises(ValueError, match="laguna: 2 steps"):
        make_job(compiled("laguna"), 29, 3, tmp_path)


def test_what_is_missing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job = make_job(compiled("cl100k"), 12, 1, tmp_path)
    built(job)
    which = shutil.which
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(Missing, match="no C compiler; on Debian and Ubuntu: sudo apt install gcc"):
        build(job)
    monkeypatch.setattr(shutil, "which", lambda name: None if "pcre2" in name else which(name))
    source = tmp_path / "tests/exhaustive.c"
    source.parent.mkdir()
    source.write_text("#include <no_such_pcre2.h>\n")
    (tmp_path / "generated").symlink_to(ROOT / "generated")
    monkeypatch.setattr(exhaustive, "ROOT", tmp_path)
    with pytest.raises(Missing, match="PCRE2 is not installed; on Debian and Ubuntu: sudo apt install libpcre2-dev"):
        build(job)


def test_publishing(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"before\n{exhaustive.BEGIN}{exhaustive.END}after\n")

    def row(length: str, tables: str = "`a`", name: str = "x", size: str = "29") -> list[str]:
        return [name, size, length, "1", "0", "2", "`d`", tables, "10.42", "some processor"]

    def lengths() -> list[str]:
        return [line.split(" | ")[2] for line in page.read_text().splitlines() if line.startswith("| x")]

    for new, after in [
        (row("1..5"), ["1..5"]), (row("1..6"), ["1..6"]), (row("1..5"), ["1..6"]), (row("1..5", "`b`"), ["1..5"]),
        (row("1..4", size="100"), ["1..5", "1..4"]), (row("1..2", name="a"), ["1..5", "1..4"]),
    ]:  # fmt: skip
        publish(new, page)
        assert lengths() == after
    assert re.fullmatch(r"before\n<!--.*-->\n(\|.*\|\n){5}<!--.*-->\nafter\n", page.read_text())
