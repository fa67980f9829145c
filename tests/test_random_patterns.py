"""Random patterns against the `regex` module: nested quantifiers of all three kinds, atomic groups, lookarounds, anchors, empty loops.

BITLEX_PATTERNS says how many (default 2,000, some seconds); the seed is fixed, so a failure comes again. Texts are short and over few
characters, which is where backtracking, emptiness and the ends of texts meet. The oracle iterates as fancy-regex does.
"""

from __future__ import annotations

import dataclasses
import os
import random

import pytest

from generator import LimitError, Limits, compile_pattern
from generator.dialects import DIALECTS

regex = pytest.importorskip("regex", reason="the regex module is the oracle here")

COUNT = int(os.environ.get("BITLEX_PATTERNS", "2000"))
ATOMS = ("a", "b", "c", r"\n", ".", "[ab]", "[^a]", r"\w", r"\s", " ", r"\d", "1")
QUANTIFIERS = ("*", "+", "?", "*?", "+?", "??", "*+", "++", "?+", "{2}", "{1,2}", "{0,2}?", "{2,}", "{1,3}+")
PLACES = ("(?<=a)", "(?<!a)", "(?<=[ab])", r"(?<!\s)", r"\b", r"\B", "^", "$", r"\A", r"\z")


def pattern(chance: random.Random, depth: int) -> str:
    kind = chance.random()
    if depth == 0 or kind < 0.3:
        return chance.choice(ATOMS)
    inner = pattern(chance, depth - 1)
    if kind < 0.5:
        return inner + pattern(chance, depth - 1)
    if kind < 0.62:
        return f"(?:{inner}|{pattern(chance, depth - 1)})"
    if kind < 0.82:
        return f"({inner}){chance.choice(QUANTIFIERS)}"  # of (?:(?=a))* fancy-regex says that there is nothing to repeat
    if kind < 0.92:
        return f"({chance.choice(('?=', '?!', '?>'))}{inner})"
    if kind < 0.96:
        return chance.choice(PLACES)
    return f"(?:{inner}|)"


def boundaries(compiled, text: str) -> list[int]:
    """Where pieces start, gaps included: `find_iter` of fancy-regex."""
    cuts, at, last = {0}, 0, None
    while at <= len(text) and (found := compiled.search(text, at)) is not None:
        start, end = found.span()
        at = end + (start == end)  # an empty match moves the search on by one
        if start < end or end != last:  # one right behind a match does not count
            cuts |= {start, end}
            last = end
    return sorted(cut for cut in cuts if cut < len(text))


@pytest.mark.parametrize("depth", [3, 5])
def test_random_patterns(depth, monkeypatch):
    """Loops end as in the engine that is compared with; as the regex crate has them, they are compared with tiktoken."""
    monkeypatch.setitem(DIALECTS, "fancy", dataclasses.replace(DIALECTS["fancy"], passes_empty=False, optimizes=False))
    chance = random.Random(depth)
    refused = 0
    for _ in range(COUNT):
        text_of_pattern = pattern(chance, depth)
        compiled = regex.compile(text_of_pattern.replace(r"\z", r"\Z").replace("$", r"\Z"), regex.V1)
        try:
            program = compile_pattern(text_of_pattern, unicode="18.0", limits=Limits(seconds=3))
        except LimitError:
            refused += 1
            continue
        cell_of = program.cells.lookup()
        for _ in range(40):
            text = "".join(chance.choice("aabbc1 \n") for _ in range(chance.randint(1, 9)))
            letters = program.stages[0].letters([cell_of[ord(c)] for c in text])
            starts = [at for at, letter in enumerate(letters) if letter == 1]
            assert starts == boundaries(compiled, text), (text_of_pattern, text)
    assert refused <= COUNT // 100
