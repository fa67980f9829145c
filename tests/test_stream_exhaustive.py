"""The program behind `make cuts`, on lengths that take a second: with what is shipped, and with mistakes that it must see."""

from __future__ import annotations

from pathlib import Path

import pytest

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


MISTAKES = {
    "a run that moves places once too often": ("moved[i] * (run - done)", "moved[i] * (run - done + 1)"),
    "bytes of a cut character that are lost": ("s->tail_length = (uint8_t)tail;", "s->tail_length = (uint8_t)(tail > 1 ? 1 : tail);"),
    "the forward state behind a part": ("    s->forward = c->forward;\n", ""),
    "the end of the text": (">> end & 1", ">> (end ^ 1) & 1"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_seen(mistake: str, tmp_path: Path) -> None:
    built = program("cl100k", tmp_path, mistake=MISTAKES[mistake], level="-O1")
    for way in ("steps", "direct"):
        counts, shown = outcome(built, way, 6, ["20", "0a", "e4b8ad"], 1)  # a run is skipped from four blanks on
        assert counts["differences"] > 0 and shown[0].startswith("difference ")
