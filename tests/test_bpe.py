"""The C core of byte-pair encoding: bpe_harness.c, bpe_threads.c and bpe_flood.c are built here and run, with and without sanitizers.

bpe_harness.c compares everything with the definition of merging, on random vocabularies, with caches of the usual size and tiny ones; and,
over two letters, on every vocabulary of tokens of up to three letters.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SOURCES = [*sorted((ROOT / "runtime").glob("bpe_*.c")), ROOT / "runtime/specials.c"]
TINY = ["-DBUCKET_BITS=1", "-DMEDIUMS=2u", "-DSLOTS=2u", "-DLONGEST=200", "-DARENA=1100u", "-DBPE_RADIX_FROM=1"]
SANITIZERS = ["-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]


def build(program: Path, source: str, *options: str) -> subprocess.CompletedProcess[str]:
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        pytest.skip(f"no C compiler to build {source} with")
    command = [compiler, "-std=c99", "-Wall", "-Wextra", "-Werror", "-g", *options, f"-I{ROOT / 'runtime'}", f"-I{ROOT / 'generated/c'}"]
    command += [str(ROOT / "tests" / source), *map(str, SOURCES)]
    if source == "bpe_threads.c":
        command += [str(ROOT / f"generated/c/{name}.c") for name in ("bitlex", "bitlex_lanes", "cl100k")]
    return subprocess.run([*command, "-o", str(program)], check=False, capture_output=True, text=True)


def run(*command: str | Path) -> str:
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("sizes", [[], TINY], ids=["usual caches", "tiny caches"])
@pytest.mark.parametrize("options", [["-O3", "-Wpedantic"], [*SANITIZERS, "-Wpedantic"]], ids=["optimized", "sanitized"])
def test_harness(options: list[str], sizes: list[str], tmp_path: Path) -> None:
    harness = tmp_path / "harness"
    built = build(harness, "bpe_harness.c", *options, *sizes)
    if built.returncode != 0 and "sanitize" in built.stderr:
        pytest.skip("the compiler brings no sanitizers")
    assert built.returncode == 0, built.stderr
    optimized = options[0] == "-O3"
    assert "no difference" in run(harness, "600" if optimized else "200", "1" if sizes else "2", "200000" if optimized and not sizes else "30000")
    if not sizes:
        assert "no difference" in run(harness, "small", "1" if optimized else "8")


def test_without_wide_products_and_vectors(tmp_path: Path) -> None:
    """What runs where there is neither a 128-bit type nor SSE2."""
    harness = tmp_path / "harness"
    built = build(harness, "bpe_harness.c", "-O2", "-U__SSE2__", "-U__SIZEOF_INT128__", "-U__linux__")
    assert built.returncode == 0, built.stderr
    assert "no difference" in run(harness, "300", "3")


def test_threads(tmp_path: Path) -> None:
    """Several threads encode the parts of one text with one vocabulary, under the thread sanitizer."""
    program = tmp_path / "threads"
    built = build(program, "bpe_threads.c", "-O1", "-pthread", "-fsanitize=thread")
    if built.returncode != 0 and "tsan" in built.stderr:
        pytest.skip("the compiler has no thread sanitizer")
    assert built.returncode == 0, built.stderr
    done = subprocess.run([str(program)], check=False, capture_output=True, text=True)
    if "unexpected memory mapping" in done.stderr:
        pytest.skip("the thread sanitizer does not run on this kernel")
    assert done.returncode == 0, done.stdout + done.stderr


def test_flood(tmp_path: Path) -> None:
    """Pieces crafted to collide cost what pieces cost that were never seen, and no more; many special tokens cost no more than few."""
    program = tmp_path / "flood"
    built = build(program, "bpe_flood.c", "-O2", "-fno-builtin-memchr", "-Wl,--wrap=bpe_merge,--wrap=bpe_merge_many,--wrap=memchr")
    if built.returncode != 0 and "wrap" in built.stderr:
        pytest.skip("this linker cannot put a counter before a function")
    assert built.returncode == 0, built.stderr
    assert "searched" in run(program)
