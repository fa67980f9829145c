"""The C core of training, train_harness.c, with and without sanitizers, with usual and with tiny sizes, and without what only some machines have."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SOURCES = [ROOT / "tests/train_harness.c", *sorted((ROOT / "runtime").glob("bpe_*.c")), *sorted((ROOT / "runtime").glob("train_*.c"))]
SANITIZERS = ["-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
TINY = ["-DROUND=2", "-DSKETCH_FROM=20", "-DSKETCH_BITS=3", "-DFRONT_BITS=1", "-DWAITING=3", "-DBLOCK_BITS=1", "-DFIRST_INDEX=2", "-DFAR=4u", "-DCHUNK=40"]


@pytest.mark.parametrize("sizes", [[], TINY], ids=["usual", "tiny"])
@pytest.mark.parametrize("options", [["-O3"], SANITIZERS, ["-O2", "-U__SSE2__", "-U__SIZEOF_INT128__"]], ids=["optimized", "sanitized", "portable"])
def test_harness(options: list[str], sizes: list[str], tmp_path: Path) -> None:
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("no C compiler")
    program = tmp_path / "harness"
    command = [compiler, "-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-g", *options, *sizes, f"-I{ROOT / 'runtime'}", "-o", str(program)]
    built = subprocess.run([*command, *map(str, SOURCES)], check=False, capture_output=True, text=True)
    if built.returncode != 0 and "sanitize" in built.stderr:
        pytest.skip("the compiler brings no sanitizers")
    assert built.returncode == 0, built.stderr
    done = subprocess.run([str(program), "40" if "-O1" in options else "150"], check=False, capture_output=True, text=True)
    assert done.returncode == 0 and "no difference" in done.stdout, done.stdout + done.stderr
