"""The C core of byte-pair encoding: bpe_harness.c, bpe_cuts.c, bpe_kept.c, bpe_threads.c and bpe_flood.c are built here and run, with and without
sanitizers; and specials_growth.c, of the special tokens beside it.

bpe_harness.c compares everything with the definition of merging, on random vocabularies, with caches of the usual size and tiny ones; and,
over two letters, on every vocabulary of tokens of up to three letters.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from compilers import ADDRESS, ROOT, THREAD, C, build, compiler, run

SOURCES = [*sorted((ROOT / "runtime").glob("bpe_*.c")), ROOT / "runtime/specials.c"]
INCLUDES = (f"-I{ROOT / 'runtime'}", f"-I{C}")
TINY = (
    "-DBUCKET_BITS=1", "-DMEDIUMS=2u", "-DSLOTS=2u", "-DLONGEST=200", "-DARENA=1100u", "-DSHORT_BITS=1", "-DMANY_WORDS=128",
    "-DMISSING=128", "-DBPE_RADIX_FROM=1", "-DTAG_BITS=1", "-DBOUND_MOST=9", "-DMET_AGAIN=1", "-DWHOLE_WORDS=4u",
)  # fmt: skip
SMALL = ("-DMEDIUMS=32u", *(option for option in TINY if "MEDIUMS" not in option))  # tables that grow when some have guests
ALWAYS = ("-DMOST_SKIPPED=0",)  # pieces are looked up by words, whether it is worth it or not
COUNTERS = ("-Wl,--wrap=bpe_merge,--wrap=bpe_merge_many,--wrap=bpe_merge_far,--wrap=bpe_merge_rounds,--wrap=memchr",)


@pytest.mark.parametrize("sizes", [(), TINY, SMALL], ids=["usual caches", "tiny caches", "small caches"])
@pytest.mark.parametrize(("options", "needs"), [(("-O3",), ()), (("-O1",), ADDRESS)], ids=["optimized", "sanitized"])
def test_harness(options: tuple[str, ...], needs: tuple[str, ...], sizes: tuple[str, ...], tmp_path: Path) -> None:
    sources, flags = [ROOT / "tests/bpe_harness.c", *SOURCES], (*options, *sizes, *ALWAYS, *INCLUDES)
    harness = build(tmp_path / "harness", sources, *flags, needs=needs)
    texts = "200000" if not needs and not sizes else "30000"
    assert "no difference" in run(harness, "200" if needs else "600", "1" if sizes else "2", texts)
    if not sizes:
        assert "no difference" in run(harness, "small", "8" if needs else "1")


@pytest.mark.parametrize(
    ("options", "needs"), [(("-O3",), ()), (("-O1",), ADDRESS), (("-O1", "-U__SSE2__"), ())], ids=["optimized", "sanitized", "plain"],
)  # fmt: skip
def test_cuts(options: tuple[str, ...], needs: tuple[str, ...], tmp_path: Path) -> None:
    """Which pieces are cut, and where: what only makes it fast, and no ids tell. bpe_cuts.c has all of bpe_encode.c in it."""
    sources = [ROOT / "tests/bpe_cuts.c", *(source for source in SOURCES if source.name != "bpe_encode.c")]
    assert "no difference" in run(build(tmp_path / "cuts", sources, *options, *INCLUDES, needs=needs), "1000")


@pytest.mark.parametrize(("options", "needs"), [(("-O3",), ()), (("-O1",), ADDRESS)], ids=["optimized", "sanitized"])
def test_kept(options: tuple[str, ...], needs: tuple[str, ...], tmp_path: Path) -> None:
    """What is remembered is found again, unless there was no room."""
    assert "are kept" in run(build(tmp_path / "kept", [ROOT / "tests/bpe_kept.c", *SOURCES], *options, *ALWAYS, *INCLUDES, needs=needs))


def test_without_wide_products_and_vectors(tmp_path: Path) -> None:
    """What runs where there is neither a 128-bit type nor SSE2."""
    options = ("-O2", "-U__SSE2__", "-U__SIZEOF_INT128__", "-U__linux__")
    harness = build(tmp_path / "harness", [ROOT / "tests/bpe_harness.c", *SOURCES], *options, *INCLUDES)
    assert "no difference" in run(harness, "300", "3")


@pytest.mark.parametrize("sizes", [(), TINY], ids=["usual caches", "tiny caches"])
def test_32_bits(sizes: tuple[str, ...], tmp_path: Path) -> None:
    """A processor whose pointers have 32 bits, which has SSE2 and nothing that takes 64 bits out of its vectors."""
    sources, flags = [ROOT / "tests/bpe_harness.c", *SOURCES], ("-O1", *sizes, *ALWAYS, *INCLUDES)
    harness = build(tmp_path / "harness", sources, *flags, needs=("-m32", "-msse2"))
    assert "no difference" in run(harness, "50", "4", "2000")


@pytest.mark.parametrize("processor", ["aarch64", "s390x"])
def test_other_processors(processor: str, tmp_path: Path) -> None:
    """One without SSE2, and one with the other order of bytes, on an emulator where there is one."""
    by, emulator = compiler(f"{processor}-linux-gnu-gcc"), compiler(f"qemu-{processor}")
    sources, flags = [ROOT / "tests/bpe_harness.c", *SOURCES], ("-O2", "-static", *ALWAYS, *INCLUDES)
    assert "no difference" in run(emulator, build(tmp_path / "harness", sources, *flags, by=by), "20", "2", "2000")


def test_threads(tmp_path: Path) -> None:
    """Several threads encode the parts of one text with one vocabulary, under the thread sanitizer."""
    lexer = [C / f"{name}.c" for name in ("bitlex", "bitlex_lanes", "cl100k")]
    run(build(tmp_path / "threads", [ROOT / "tests/bpe_threads.c", *SOURCES, *lexer], "-O1", f"-I{C}", apart=(INCLUDES[0],), needs=THREAD))


def test_flood(tmp_path: Path) -> None:
    """Pieces crafted to collide cost what pieces cost that were never seen, and no more; many special tokens cost no more than few.

    The linker puts a counter before the functions that are to be called no more often."""
    sources = [ROOT / "tests/bpe_flood.c", *SOURCES]
    assert "searched" in run(build(tmp_path / "flood", sources, "-O2", "-fno-builtin-memchr", *INCLUDES, needs=COUNTERS))


def test_growth_of_special_tokens(tmp_path: Path) -> None:
    """A search takes a few steps for each byte of a text, however long the special tokens are that it begins like."""
    sources = [ROOT / "tests/specials_growth.c", ROOT / "runtime/specials.c"]
    assert "found" in run(build(tmp_path / "growth", sources, "-O1", "-finstrument-functions", INCLUDES[0]))
