"""Every tier against the loop that a machine runs on as it was emitted, and every way to compile them.

In: the machines that are emitted, and random ones. tiers.c puts every tuple of cells at every offset of a block, shows every
code point in every encoding, and breaks texts at every byte; native_harness.c compares each tier with the definition on random
machines. What is tried here is what depends on a compiler or a processor: gcc and clang, with and without optimization, without
vector instructions, and NEON on an emulator where there is one. With BITLEX_SLOW=1 tuples are longer, and also stand alone at every
offset of a text.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from compilers import ADDRESS, COVERED, ROOT, C, build, compiler, lacks, run

LOOPS = (C / "bitlex.c", C / "bitlex_lanes.c")
FAMILIES = ("cl100k", "o200k", "clip", "deepseek_v3", "falcon", "tiny_aya")
SLOW = bool(os.environ.get("BITLEX_SLOW"))
CROSS, EMULATOR = "aarch64-linux-gnu-gcc", "qemu-aarch64"


def build_tiers(
    by: str, options: tuple[str, ...], block: int, families: tuple[str, ...], folder: Path, lanes_from: int = 1, warmup: int = 12
) -> Path:
    (folder / "families.h").write_text("".join(f"X({name})\n" for name in families))
    apart = (
        f"-DBITLEX_BLOCK={block}", "-DBITLEX_CHECKPOINTS=2048", "-DBITLEX_WHOLE_FROM=1", f"-I{folder}"
    )  # fmt: skip
    sources = [ROOT / "tests/tiers.c", *LOOPS, *(C / f"{name}.c" for name in families)]
    return build(folder / "tiers", sources, *options, f"-I{C}", apart=apart, by=by, lanes_from=lanes_from, warmup=warmup)


def build_harness(by: str, options: tuple[str, ...], block: int, folder: Path, needs: tuple[str, ...] = ()) -> Path:
    sizes, sources = (f"-DBITLEX_BLOCK={block}", "-DBITLEX_CHECKPOINTS=8"), [ROOT / "tests/native_harness.c", *LOOPS]
    return build(folder / "harness", sources, *options, f"-I{C}", apart=sizes, needs=needs, by=by, lanes_from=1)


def assert_every_family(output: str, families: tuple[str, ...]) -> None:
    """Each was compared on some tier, and the same number of texts on each."""
    lines = [line.split() for line in output.splitlines()]
    tiers = {tier for _, tier, _ in lines}
    assert "portable" in tiers
    assert {(name, tier) for name, tier, _ in lines} == {(name, tier) for name in families for tier in tiers}
    assert all(int(texts) > 0 for _, _, texts in lines)


@pytest.mark.parametrize(
    ("block", "modes"),
    [(128, [("tuples", 2), ("alone", 1), ("broken", 0)]), (384, [("tuples", 1)]), (768, [("runs", 0)]), (6144, [("points", 0)])],
)
def test_tiers(block: int, modes: list[tuple[str, int]], tmp_path: Path) -> None:
    tiers = build_tiers(compiler(), ("-O2",), block, FAMILIES, tmp_path)
    for mode, length in modes:
        assert_every_family(run(tiers, mode, length), FAMILIES)


@pytest.mark.parametrize(("block", "warmup", "mode", "length"), [(128, 2, "tuples", 2), (1024, 3, "tuples", 1)])
def test_lanes_that_are_guessed_wrong(block: int, warmup: int, mode: str, length: int, tmp_path: Path) -> None:
    """Few steps to guess from: so lanes this short have halves, too, and these and lanes are often entered wrong at first. A block of 1,024
    that is ASCII goes another way to be read."""
    tiers = build_tiers(compiler(), ("-O2",), block, FAMILIES, tmp_path, warmup=warmup)
    assert_every_family(run(tiers, mode, length), FAMILIES)


@pytest.mark.parametrize(("block", "modes"), [(128, [("tuples", 2), ("alone", 1), ("broken", 0)]), (320, [("tuples", 1), ("points", 0)])])
def test_short_texts(block: int, modes: list[tuple[str, int]], tmp_path: Path) -> None:
    """As above, but no block is long enough for lanes that have a part of it each."""
    tiers = build_tiers(compiler(), ("-O2",), block, FAMILIES, tmp_path, lanes_from=block + 1)
    for mode, length in modes:
        assert_every_family(run(tiers, mode, length), FAMILIES)


@pytest.mark.skipif(not SLOW, reason="many minutes: set BITLEX_SLOW=1")
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(("block", "mode", "length"), [(128, "tuples", 3), (384, "tuples", 3), (128, "alone", 2), (384, "alone", 2)])
def test_tiers_on_longer_tuples(block: int, mode: str, length: int, family: str, tmp_path: Path) -> None:
    tiers = build_tiers(compiler(), ("-O2",), block, (family,), tmp_path)
    assert_every_family(run(tiers, mode, length), (family,))


@pytest.mark.parametrize("name", ["gcc", "clang"])
@pytest.mark.parametrize(("option", "needs"), [("-O0", ()), ("-O2", ()), ("-O1", ADDRESS)])
def test_compilers(name: str, option: str, needs: tuple[str, ...], tmp_path: Path) -> None:
    by = compiler(name)
    if name == "clang" and needs and not lacks(by, COVERED):
        needs = COVERED  # as test_fuzz.py has it: compiled so, lanes take 20 seconds
    harness = build_harness(by, (option,), 700, tmp_path, needs)
    assert "no difference" in run(harness, 300 if SLOW else 20)


@pytest.mark.parametrize("name", ["gcc", "clang"])
def test_without_vectors(name: str, tmp_path: Path) -> None:
    harness = build_harness(compiler(name), ("-O2", "-DBITLEX_NO_VECTORS"), 700, tmp_path)
    assert "no difference" in run(harness, 20)
    tiers = build_tiers(compiler(name), ("-O2", "-DBITLEX_NO_VECTORS"), 128, ("cl100k",), tmp_path)
    output = run(tiers, "tuples", 1)
    assert_every_family(output, ("cl100k",))
    assert len(output.splitlines()) == 1


@pytest.mark.parametrize("optimization", ["-O0", "-O2"])
def test_neon(optimization: str, tmp_path: Path) -> None:
    by, emulator = compiler(CROSS), compiler(EMULATOR)
    assert "no difference" in run(emulator, build_harness(by, (optimization, "-static"), 700, tmp_path), 100 if SLOW else 5)
    sizes, sources = ("-DBITLEX_BLOCK=700", "-DBITLEX_CHECKPOINTS=8"), [ROOT / "tests/still.c", *LOOPS]
    still = build(tmp_path / "still", sources, optimization, "-static", f"-I{C}", apart=sizes, by=by, lanes_from=1)
    assert "tier 1 no difference" in run(emulator, still, 40)
    if optimization == "-O0" and not SLOW:
        return
    families = FAMILIES if SLOW else ("cl100k",)
    output = run(emulator, build_tiers(by, (optimization, "-static"), 128, families, tmp_path), "tuples", 2 if SLOW else 1)
    assert " neon " in output
    assert_every_family(output, families)


@pytest.mark.skipif(not SLOW, reason="a minute: set BITLEX_SLOW=1")
def test_neon_on_every_code_point(tmp_path: Path) -> None:
    by, emulator = compiler(CROSS), compiler(EMULATOR)
    families = ("cl100k", "o200k", "clip", "falcon")
    assert_every_family(run(emulator, build_tiers(by, ("-O2", "-static"), 6144, families, tmp_path), "points"), families)
