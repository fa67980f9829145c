"""The fuzz target (fuzz.c): ten seconds by libFuzzer, where clang brings it, and three of random inputs by any compiler."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SOURCES = [ROOT / "tests/fuzz.c", *(ROOT / f"generated/c/{name}.c" for name in ("bitlex", "bitlex_lanes", "cl100k", "clip", "falcon", "o200k"))]
SANITIZERS = ["-O1", "-fno-sanitize-recover=all"]


def compile_to(program: Path, compiler: str, options: list[str]) -> subprocess.CompletedProcess[str]:
    command = [compiler, "-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-g", f"-I{ROOT / 'generated/c'}", *options]
    return subprocess.run([*command, *map(str, SOURCES), "-o", str(program)], check=False, capture_output=True, text=True)


def run(program: Path, *arguments: str) -> str:
    done = subprocess.run([str(program), *arguments], check=False, capture_output=True, text=True, cwd=program.parent, timeout=120)
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
    return done.stdout + done.stderr


@pytest.mark.parametrize("block", [16, 6144])
def test_random_inputs(block: int, tmp_path: Path) -> None:
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("no C compiler")
    program = tmp_path / "fuzz"
    options = ["-DSTANDALONE", f"-DBITLEX_BLOCK={block}", "-DBITLEX_LANES_FROM=1"]
    if compile_to(program, compiler, [*options, *SANITIZERS, "-fsanitize=address,undefined"]).returncode != 0:
        built = compile_to(program, compiler, [*options, "-O2"])  # not every compiler brings sanitizers
        assert built.returncode == 0, built.stderr
    assert "no difference" in run(program, "1.5", str(block))
    (tmp_path / "input").write_bytes(bytes(range(256)) * 8)
    run(program, "input", "input")


def test_libfuzzer(tmp_path: Path) -> None:
    clang = shutil.which(os.environ.get("CLANG", "clang"))
    if clang is None:
        pytest.skip("no clang")
    options = [*SANITIZERS, "-fsanitize=fuzzer,address,undefined"]
    (tmp_path / "empty.c").write_text("int LLVMFuzzerTestOneInput(const char *d, unsigned long n) { return d == 0 && n; }\n")
    probe = [clang, *options, str(tmp_path / "empty.c"), "-o", str(tmp_path / "empty")]
    if subprocess.run(probe, check=False, capture_output=True).returncode != 0:
        pytest.skip("this clang comes without libFuzzer")
    for block in (16, 6144):
        program = tmp_path / f"fuzz{block}"
        built = compile_to(program, clang, [*options, f"-DBITLEX_BLOCK={block}", "-DBITLEX_LANES_FROM=1"])
        assert built.returncode == 0, built.stderr
        (tmp_path / "corpus").mkdir(exist_ok=True)
        said = run(program, "-max_total_time=5", "-max_len=4096", "corpus")
        assert "Done " in said  # ... runs in ... seconds
