"""The view by the first two cells: for cl100k it must be Table 1 of the Peek2 paper.

Categories of the paper, in order: other, space, apostrophe, CR or LF, letter, other whitespace, number. Branches: 0 contraction,
1 word, 2 number, 3 punctuation, 4 whitespace. Our pattern has four whitespace alternatives (4 to 7), which are one branch there.
"""

from __future__ import annotations

import pytest

from generator import Limits, compile_family, compile_pattern, family
from generator.peek2 import unreachable, winners
from generator.show import show, warnings

TABLE_1 = ("3333133", "3434144", "3333033", "4444444", "1111111", "4444144", "2222222")
FIRST_OF_CONTRACTIONS = "dmstlrvDMSTLRV\u017f"


def category(code_point: int) -> int:
    c = chr(code_point)
    if c in " '\r\n":
        return {" ": 1, "'": 2, "\r": 3, "\n": 3}[c]
    return 4 if c.isalpha() else 5 if c.isspace() else 6 if c.isnumeric() else 0


@pytest.fixture(scope="module")
def cl100k():
    return compile_family(family("cl100k"))


def merged(program):
    """(first category, second category) -> the branches that can win, over all cells of the categories."""
    table: dict[tuple[int, int], set[int]] = {}
    smallest = [program.raw.members(cell).ranges[0][0] for cell in range(program.raw.count)]
    for (first, second), found in winners(program.nfas[0], Limits()).items():
        if second < program.raw.count:
            key = category(smallest[first]), category(smallest[second])
            table.setdefault(key, set()).update(min(n, 4) for n in found)
    return table


def test_cl100k_is_table_1(cl100k):
    rows = tuple("".join(str(min(merged(cl100k)[first, second])) for second in range(7)) for first in range(7))
    assert rows == TABLE_1


def test_only_the_contraction_is_decided_late(cl100k):
    """Two categories decide everywhere but for an apostrophe and a letter, which falls back from 0 to 1."""
    undecided = {pair: found for pair, found in merged(cl100k).items() if len(found) > 1}
    assert undecided == {(2, 4): {0, 1}}
    for cell in range(cl100k.raw.count):
        smallest = chr(cl100k.raw.members(cell).ranges[0][0])
        apostrophe = cl100k.raw.lookup()[ord("'")]
        found = winners(cl100k.nfas[0], Limits())[apostrophe, cell]
        if smallest.isalpha():
            assert (0 in found) == (smallest in FIRST_OF_CONTRACTIONS)
            assert (1 in found) == (smallest not in "dmstDMST\u017f")


def test_show_says_both(cl100k):
    assert "0/1" in show(cl100k, "peek2")


def test_unreachable_alternatives_are_named():
    program = compile_pattern(r"a+|ab|b|[ab]", unicode="16.0")
    assert unreachable(program.nfas[0], Limits()) == [1, 3]
    assert list(warnings(program)) == ["alternative 1 can never match: ab", "alternative 3 can never match: [ab]"]
    assert list(warnings(compile_pattern(r"ab|a|b"))) == []


@pytest.mark.parametrize("stage", ["tree", "cells", "nfa", "dfa", "machine", "bimachine", "measures", "peek2"])
def test_every_stage_can_be_shown(cl100k, stage):
    assert len(show(cl100k, stage).splitlines()) > 5
    if stage in ("nfa", "dfa", "machine", "bimachine"):
        dot = show(cl100k, stage, dot=True)
        assert dot.startswith("digraph") and dot.count("{") == dot.count("}")
