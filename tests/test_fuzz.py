"""The fuzz target (fuzz.c): ten seconds by libFuzzer, where clang brings it, and three of random inputs by any compiler."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from compilers import ADDRESS, COVERED, ROOT, C, build, compiler, lacks, run

SOURCES = [ROOT / "tests/fuzz.c", *(C / f"{name}.c" for name in ("bitlex", "bitlex_lanes", "bitlex_stream", "cl100k", "clip", "falcon", "o200k"))]
FUZZER = ("-fsanitize=fuzzer",)
NO_FUZZ = "int LLVMFuzzerTestOneInput(const char *d, unsigned long n) { return d == 0 && n; }\n"


BLOCKS = [(16, 1), (6144, 1), (320, 321)]  # units, and how many make lanes; of the last, a character makes one


OPTIONS = (f"-I{C}",)


def sizes(block: int) -> tuple[str, ...]:
    return f"-DBITLEX_BLOCK={block}", "-DBITLEX_WHOLE_FROM=1"


@pytest.mark.parametrize(("block", "lanes_from"), BLOCKS)
def test_random_inputs(block: int, lanes_from: int, tmp_path: Path) -> None:
    sanitized = ("-O2",) if lacks(compiler(), ADDRESS) else ("-O1", *ADDRESS)
    program = build(tmp_path / "fuzz", SOURCES, *OPTIONS, *sanitized, apart=(*sizes(block), "-DSTANDALONE"), lanes_from=lanes_from)
    assert "no difference" in run(program, "1.5", str(block))
    (tmp_path / "input").write_bytes(bytes(range(256)) * 8)
    run(program, "input", "input", folder=tmp_path)
    for cut in range(8):  # blanks in parts, of which no end tells what is open before it
        (tmp_path / f"blanks{cut}").write_bytes(bytes([0, 0, 0, 0, *range(cut, cut + 8 * 29, 29)]) + b"word" + b" \t" * 300)
    run(program, *(f"blanks{cut}" for cut in range(8)), folder=tmp_path)


@pytest.mark.parametrize(("block", "lanes_from"), BLOCKS)
def test_libfuzzer(block: int, lanes_from: int, tmp_path: Path) -> None:
    clang = compiler(os.environ.get("CLANG", "clang"))
    missing = lacks(clang, (*COVERED, *FUZZER), NO_FUZZ)
    if missing:
        pytest.skip(missing)
    options = (*OPTIONS, "-O1", *COVERED)
    program = build(tmp_path / "fuzz", SOURCES, *options, apart=sizes(block), by=clang, lanes_from=lanes_from, linked_by=FUZZER)
    (tmp_path / "corpus").mkdir()
    # Started by a shell: Linux counts the memory of the process that starts another as the most that the other has had, and libFuzzer would end
    # where these tests have had 2 GB.
    shell = ("sh", "-c", '"$0" "$@"; exit $?', program)
    assert "Done " in run(*shell, "-max_total_time=5", "-max_len=4096", "corpus", folder=tmp_path, timeout=120)
