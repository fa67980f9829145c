"""The program behind `make cuts`, on lengths that take a second: with what is shipped, and with mistakes that it must see."""

from __future__ import annotations

from bisect import bisect
from pathlib import Path

import pytest

from generator import compile_family, family
from stream_exhaustive import outcome, program, symbols, ways


@pytest.mark.parametrize("name", ["cl100k", "clip", "falcon", "tiny_aya"])  # clip drops, falcon cuts inside characters, tiny_aya holds a lot
def test_both_ways_find_nothing(name: str, tmp_path: Path) -> None:
    letters = symbols(name)
    built = program(name, tmp_path, level="-O1")
    steps, shown = outcome(built, "steps", 3, letters, 2)
    assert (steps["differences"], shown) == (0, [])
    direct, shown = outcome(built, "direct", 2, letters, 2)
    assert (direct["ways"], direct["texts"], direct["differences"], shown) == (ways(letters, 2), len(letters) + len(letters) ** 2, 0, [])
    assert steps["texts"] >= len(letters) + len(letters) ** 2 + len(letters) ** 3


@pytest.mark.parametrize("name", ["cl100k", "deepseek_llm", "kimi_k2"])  # deepseek_llm leaves its table
def test_vectors_find_nothing(name: str, tmp_path: Path) -> None:
    """Each part of a byte and more is read by vector instructions."""
    built = program(name, tmp_path, vectors=True, level="-O1")
    steps, shown = outcome(built, "steps", 3, symbols(name), 2)
    assert (steps["differences"], shown) == (0, [])


MISTAKES = {
    "a run that moves places once too often": ("moved[i] * (run - done)", "moved[i] * (run - done + 1)"),
    "bytes of a cut character that are lost": ("s->tail_length = (uint8_t)tail;", "s->tail_length = (uint8_t)(tail > 1 ? 1 : tail);"),
    "the forward state behind a part": ("    s->forward = c->forward;\n", ""),
    "the backward state before a tail": ("(set & ~TOLD)", "(uint32_t)((set & ~TOLD) == 0)"),
    "the end of the text": ("hand_out_by_state(s, end, out + n)", "hand_out_by_state(s, end ^ 1, out + n)"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_seen(mistake: str, tmp_path: Path) -> None:
    built = program("cl100k", tmp_path, mistake=MISTAKES[mistake], level="-O1")
    for way in ("steps", "direct"):
        counts, shown = outcome(built, way, 6, ["20", "0a", "e4b8ad"], 1)  # a run is skipped from four blanks on
        assert counts["differences"] > 0 and shown[0].startswith("difference ")


@pytest.mark.parametrize("mistake", [("< 0xE0 ? 2u", "< 0xE0 ? 1u"), ("< 0xF0 ? 3u", "< 0xF0 ? 2u"), ("< 0xF5 ? 4u", "< 0xF5 ? 3u")])
def test_the_alphabet_has_characters_of_every_number_of_bytes(mistake: tuple[str, str], tmp_path: Path) -> None:
    """Where all columns have ASCII, too: a cut character of two, three or four bytes that is not waited for is seen."""
    built = program("cl100k", tmp_path, mistake=mistake, level="-O1")
    assert outcome(built, "steps", 1, symbols("cl100k"), 1)[0]["differences"] > 0


def test_the_alphabet_has_every_column() -> None:
    for name in ("o200k", "falcon"):
        columns = compile_family(family(name)).cells
        few, every = ({columns.cell_of[bisect(columns.starts, ord(bytes.fromhex(one).decode())) - 1] for one in symbols(name, more)} for more in (False, True))
        assert few == every == set(columns.cell_of), name
