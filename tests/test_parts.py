"""Machines with too many states for lanes, which run a part of them (bitlex_part.h): that what comes out is what the whole puts out.

In: the machines that are emitted and random ones, of which lanes are to have few states, so that all are too large; and patterns that count,
which are too large as they are. parts.c compares the part with the whole state by state; tiers.c and native_harness.c compare texts. Where a
part is in doubt nearly always, most blocks are not done by it: so no block is left to tables because the one before was.
"""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
import regex

import bitlex
from compilers import ADDRESS, ROOT, C, build, compiler, run
from test_tiers import CROSS, EMULATOR, LOOPS, assert_every_family

FAMILIES = ("cl100k", "o200k", "deepseek_v3", "falcon")
SLOW = bool(os.environ.get("BITLEX_SLOW"))
TRYING = "-DBITLEX_VAIN=0"


def test_a_part_does_what_the_whole_does(tmp_path: Path) -> None:
    program = build(tmp_path / "parts", [ROOT / "tests/parts.c", C / "bitlex.c"], "-O1", f"-I{C}")
    found = run(program, 30_000 if SLOW else 3_000)
    assert "no difference" in found
    assert int(found.split()[-3]) > 500


@pytest.mark.parametrize(("block", "modes"), [(128, [("tuples", 2), ("broken", 0)]), (384, [("tuples", 1)]), (6144, [("points", 0)])])
def test_every_family(block: int, modes: list[tuple[str, int]], tmp_path: Path) -> None:
    (tmp_path / "families.h").write_text("".join(f"X({name})\n" for name in FAMILIES))
    sizes = (f"-DBITLEX_BLOCK={block}", "-DBITLEX_CHECKPOINTS=2048", "-DBITLEX_WHOLE_FROM=1", TRYING, f"-I{tmp_path}")
    sources = [ROOT / "tests/tiers.c", *LOOPS, *(C / f"{name}.c" for name in FAMILIES)]
    tiers = build(tmp_path / "tiers", sources, "-O2", f"-I{C}", apart=sizes, lane_states=12, lanes_from=1)
    for mode, length in modes:
        assert_every_family(run(tiers, mode, length), FAMILIES)


def build_harness(by: str, block: int, folder: Path, *options: str, needs: tuple[str, ...] = ()) -> Path:
    sizes = (f"-DBITLEX_BLOCK={block}", "-DBITLEX_CHECKPOINTS=8", "-DBITLEX_WHOLE_FROM=1", TRYING)
    sources = [ROOT / "tests/native_harness.c", *LOOPS]
    return build(folder / "harness", sources, *options, f"-I{C}", apart=sizes, needs=needs, by=by, lane_states=20, lanes_from=1)


@pytest.mark.parametrize("block", [16, 200, 2500])
def test_random_machines(block: int, tmp_path: Path) -> None:
    harness = build_harness(compiler(), block, tmp_path, "-O1", needs=ADDRESS)
    assert "no difference" in run(harness, 1_000 if SLOW else 30, block)


def test_random_machines_on_neon(tmp_path: Path) -> None:
    harness = build_harness(compiler(CROSS), 700, tmp_path, "-O2", "-static")
    assert "no difference" in run(compiler(EMULATOR), harness, 100 if SLOW else 8)


WHITE = "|".join(rf"\s{{{2**power}}}(?!\S)" for power in range(7, 1, -1)) + r"|\s{1,2}(?!\S)|\s"
COUNTING = (  # all have more than 64 states, of which the parts need some; the last counts what is in every text
    rf"\p{{L}}+|\p{{N}}{{1,3}}|[^\s\p{{L}}\p{{N}}]+|\s*[\r\n]+|{WHITE}",
    r"[a-z]{1,100}|[A-Z]|[^a-zA-Z]",
    r"(?:[a-z]|é){90}|[a-z]+|\s+|.",
    r".{70}|.|\n",
)


@pytest.mark.parametrize("pattern", COUNTING)
def test_patterns_that_count(pattern: str, native_tier: str) -> None:
    one = bitlex.compile(pattern, dialect="python")
    assert max(one.states[0]) > 64
    assert one.tier == native_tier or native_tier in ("avx2", "neon")
    definition, chance = regex.compile(pattern), random.Random(pattern)
    runs = ("", "ab", "1", "é", " 中", "😀", "\n", "?", "x", "Q")
    fills = (" ", "\t", " \t", "a", "é", "  \n")
    for longest in (3, 30, 100, 600):
        text = "".join(chance.choice(runs) + chance.choice(fills) * chance.randrange(longest) for _ in range(40_000 // longest))
        for cut in (len(text), 6_143, 700):
            assert one.split(text[:cut]) == definition.findall(text[:cut])
            assert one.split(text[:cut].encode()) == [piece.encode() for piece in definition.findall(text[:cut])]


def test_a_long_run_is_settled(vector_tier: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of blanks, at every place of a block, and longer than one."""
    one = bitlex.compile(COUNTING[0], dialect="python")
    monkeypatch.setenv("BITLEX_TIER", "pure")
    two = bitlex.compile(COUNTING[0], dialect="python")
    for before in range(0, 700, 13):
        for blanks in (20, 25, 40, 63, 64, 65, 129, 700, 7_000):
            text = "word " * before + " " * blanks + "end, " * 300
            assert one.spans(text).tolist() == two.spans(text).tolist(), (vector_tier, before, blanks)
