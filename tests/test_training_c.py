"""The C core of training, train_harness.c, with and without sanitizers, with usual and with tiny sizes, and without what only some machines have."""

from __future__ import annotations

from pathlib import Path

import pytest

from compilers import ADDRESS, ROOT, build, run

SOURCES = [ROOT / "tests/train_harness.c", *(source for kind in ("train", "bpe") for source in sorted((ROOT / "runtime").glob(f"{kind}_*.c")))]
TINY = (
    "-DROUND=2", "-DSKETCH_FROM=20", "-DSKETCH_BITS=3", "-DCENSUS=2", "-DFRONT_BITS=1", "-DWAITING=3", "-DBLOCK_BITS=1", "-DFIRST_INDEX=2",
    "-DFAR=4u", "-DCHUNK=40", "-DWRITTEN=50",
)  # fmt: skip
PORTABLE = ("-O2", "-U__SSE2__", "-U__SIZEOF_INT128__")


@pytest.mark.parametrize("sizes", [(), TINY], ids=["usual", "tiny"])
@pytest.mark.parametrize(("options", "needs"), [(("-O3",), ()), (("-O1",), ADDRESS), (PORTABLE, ())], ids=["optimized", "sanitized", "portable"])
def test_harness(options: tuple[str, ...], needs: tuple[str, ...], sizes: tuple[str, ...], tmp_path: Path) -> None:
    program = build(tmp_path / "harness", SOURCES, *options, *sizes, f"-I{ROOT / 'runtime'}", needs=needs)
    assert "no difference" in run(program, "40" if needs else "150")
