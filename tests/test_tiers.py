"""Every tier against the portable one, and every way to compile them.

In: the machines that are emitted, and random ones. tiers.c puts every tuple of cells at every offset of a block and shows every
code point in every encoding; native_harness.c compares each tier with the definition on random machines. What is tried here is what
depends on a compiler or a processor: gcc and clang, with and without optimization, without vector instructions, and NEON on an
emulator where there is one. With BITLEX_SLOW=1 tuples are longer, and also stand alone at every offset of a text.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
C = ROOT / "generated/c"
FAMILIES = ("cl100k", "o200k", "clip", "deepseek_v3", "falcon", "tiny_aya")
WARNINGS = ("-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror")
SLOW = bool(os.environ.get("BITLEX_SLOW"))
CROSS, EMULATOR = "aarch64-linux-gnu-gcc", "qemu-aarch64"


def compiler(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"no {name}")
    return found


def build(command: list[str], sources: list[Path], output: Path) -> None:
    done = subprocess.run([*command, *WARNINGS, *map(str, sources), "-o", str(output)], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def build_tiers(command: list[str], block: int, families: tuple[str, ...], folder: Path) -> Path:
    (folder / "families.h").write_text("".join(f"X({name})\n" for name in families))
    options = [f"-DBITLEX_BLOCK={block}", "-DBITLEX_CHECKPOINTS=2048", "-DBITLEX_LANES_FROM=1", f"-I{folder}", f"-I{C}"]
    sources = [ROOT / "tests/tiers.c", C / "bitlex.c", C / "bitlex_lanes.c", *(C / f"{name}.c" for name in families)]
    build([*command, *options], sources, folder / "tiers")
    return folder / "tiers"


def build_harness(command: list[str], block: int, folder: Path) -> Path:
    options = [f"-DBITLEX_BLOCK={block}", "-DBITLEX_CHECKPOINTS=8", "-DBITLEX_LANES_FROM=1", f"-I{C}"]
    build([*command, *options], [ROOT / "tests/native_harness.c", C / "bitlex.c", C / "bitlex_lanes.c"], folder / "harness")
    return folder / "harness"


def run(*command: object) -> str:
    done = subprocess.run([str(word) for word in command], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def assert_every_family(output: str, families: tuple[str, ...]) -> None:
    """Each was compared on some tier, and the same number of texts on each."""
    lines = [line.split() for line in output.splitlines()]
    if not lines:
        pytest.skip("this processor has the portable tier only")
    tiers = {tier for _, tier, _ in lines}
    assert {(name, tier) for name, tier, _ in lines} == {(name, tier) for name in families for tier in tiers}
    assert all(int(texts) > 0 for _, _, texts in lines)


@pytest.mark.parametrize(
    ("block", "mode", "length"),
    [(128, "tuples", 2), (384, "tuples", 1), (128, "alone", 1), (6144, "points", 0)],
)
def test_tiers(block: int, mode: str, length: int, tmp_path: Path) -> None:
    tiers = build_tiers([compiler("cc"), "-O2"], block, FAMILIES, tmp_path)
    assert_every_family(run(tiers, mode, length), FAMILIES)


@pytest.mark.skipif(not SLOW, reason="many minutes: set BITLEX_SLOW=1")
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(("block", "mode", "length"), [(128, "tuples", 3), (384, "tuples", 3), (128, "alone", 2), (384, "alone", 2)])
def test_tiers_on_longer_tuples(block: int, mode: str, length: int, family: str, tmp_path: Path) -> None:
    tiers = build_tiers([compiler("cc"), "-O2"], block, (family,), tmp_path)
    assert_every_family(run(tiers, mode, length), (family,))


@pytest.mark.parametrize("name", ["gcc", "clang"])
@pytest.mark.parametrize("options", [["-O0"], ["-O2"], ["-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]], ids=" ".join)
def test_compilers(name: str, options: list[str], tmp_path: Path) -> None:
    harness = build_harness([compiler(name), *options], 700, tmp_path)
    assert "no difference" in run(harness, 300 if SLOW else 20)


@pytest.mark.parametrize("name", ["gcc", "clang"])
def test_without_vectors(name: str, tmp_path: Path) -> None:
    harness = build_harness([compiler(name), "-O2", "-DBITLEX_NO_VECTORS"], 700, tmp_path)
    assert "no difference" in run(harness, 20)
    tiers = build_tiers([compiler(name), "-O2", "-DBITLEX_NO_VECTORS"], 128, ("cl100k",), tmp_path)
    assert run(tiers, "tuples", 1) == ""


@pytest.mark.parametrize("optimization", ["-O0", "-O2"])
def test_neon(optimization: str, tmp_path: Path) -> None:
    command, emulator = [compiler(CROSS), optimization, "-static"], compiler(EMULATOR)
    assert "no difference" in run(emulator, build_harness(command, 700, tmp_path), 100 if SLOW else 5)
    if optimization == "-O0" and not SLOW:
        return
    families = FAMILIES if SLOW else ("cl100k",)
    output = run(emulator, build_tiers(command, 128, families, tmp_path), "tuples", 2 if SLOW else 1)
    assert " neon " in output
    assert_every_family(output, families)


@pytest.mark.skipif(not SLOW, reason="a minute: set BITLEX_SLOW=1")
def test_neon_on_every_code_point(tmp_path: Path) -> None:
    command, emulator = [compiler(CROSS), "-O2", "-static"], compiler(EMULATOR)
    families = ("cl100k", "o200k", "clip", "falcon")
    assert_every_family(run(emulator, build_tiers(command, 6144, families, tmp_path), "points"), families)
