"""Texts to try: all short ones that a lexer can tell apart, long ones at random, and the ones that have broken tokenizers before."""

from __future__ import annotations

import itertools
import os
import random
from collections.abc import Iterator, Sequence

import numpy as np

from generator.cells import Partition
from generator.codeset import CodeSet

THOROUGH = bool(os.environ.get("BITLEX_ALL"))  # every code point, longer tuples: minutes instead of seconds
SCALARS = CodeSet([(0, 0xD7FF), (0xE000, 0x10FFFF)])  # what UTF-8, and with it each reference engine, can hold
EVERY = "".join(map(chr, SCALARS))

# What stands before a code point and what behind it. Code points in a context follow one another in one long text. Between them they
# put a letter of either case, digit, space, newline, apostrophe, mark of punctuation, ideograph and combining mark on the sides of
# each code point, and each code point in the place of the first and of the second letter of a contraction.
CONTEXTS = (
    ("", ""), ("a", "a"), ("A", "b"), ("a", "B"), ("1", "1"), (" ", " "), ("\n", "\n"), ("'", "s"), ("'", "e"), ("'l", "'"), ("'r", "'"), (".", "."), ("x ", "x"),
    ("\u4e2d", "\u0301"),
)  # fmt: skip
BESIDE = ("", "a", "1", " ", "\n", "'", ".")  # what stands on the other side of a code point at the start or the end of a text


def representatives(cells: Partition, *, surrogates: bool = True) -> list[str]:
    """The smallest member of each cell that has one; and U+FFFD, and a lone surrogate where that is a cell of its own."""
    found: list[str] = []
    for cell in range(cells.count):
        members = cells.members(cell)
        scalars = (c for a, b in members.ranges for c in (a, b) if not 0xD800 <= c <= 0xDFFF)
        first = next(scalars, None)
        if first is not None:
            found.append(chr(first))
        elif surrogates:
            found.append(chr(members.ranges[0][0]))
    lookup = cells.lookup()
    kinds = {lookup[ord(c)] for c in found}
    return found + ["\ud800"] * (surrogates and lookup[0xD800] not in kinds)


def edges(cells: Partition) -> set[int]:
    """The first and the last code point of every run of every cell."""
    ends = {c for start in cells.starts for c in (start - 1, start)} | {0xD7FF, 0xE000, 0x10FFFF}
    return {c for c in ends if c in SCALARS}


def code_points(cells: Partition, seed: str) -> Sequence[str]:
    """Those to try in every context: all; or the edges of the cells, all below U+2800, and 10,000 others."""
    if THOROUGH:
        return EVERY
    others = random.Random(seed).sample(range(0xE000, 0x110000), 10_000)
    return [chr(c) for c in sorted(edges(cells) | set(range(0x2800)) | set(others))]


def points_of(text: str) -> CodeSet:
    """The code points of a text, run by run: of a million in order, `CodeSet.of` takes half a second and more."""
    points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")
    borders = np.flatnonzero(np.diff(points) != 1) + 1
    return CodeSet((int(run[0]), int(run[-1])) for run in np.split(points, borders) if len(run))


def in_contexts(chosen: Sequence[str], at_once: int = 100_000) -> Iterator[str]:
    """Long texts, in which every chosen code point stands in each of CONTEXTS."""
    for before, behind in CONTEXTS:
        for at in range(0, len(chosen), at_once):
            yield "".join(before + c + behind for c in chosen[at : at + at_once])


def at_the_ends(chosen: Sequence[str]) -> Iterator[str]:
    """Texts of one or two characters that start or end with a chosen code point."""
    for other in BESIDE:
        yield from (c + other for c in chosen)
        if other:
            yield from (other + c for c in chosen)


def tuples(alphabet: Sequence[str], longest: int, shortest: int = 0) -> Iterator[str]:
    """Every text of `shortest` to `longest` characters."""
    for length in range(shortest, longest + 1):
        for chosen in itertools.product(alphabet, repeat=length):
            yield "".join(chosen)


def random_texts(alphabet: Sequence[str], count: int, seed: int, longest: int = 40) -> Iterator[str]:
    """Texts in which runs are frequent, as in real ones."""
    source = random.Random(seed)
    for _ in range(count):
        weights = [source.random() ** 3 for _ in alphabet]
        pieces = source.choices(alphabet, weights, k=source.randint(1, longest))
        yield "".join(c * source.choice((1, 1, 1, 2, 3, 5)) for c in pieces)[:longest]


TORTURE = (
    "", " ", "\n ", "a  \n  ", "\r\t", " \n \n ", "I'm 'ſ 'LL 'Ll 'store ''s 's's DON'Tx x'S \u2019m '\u0130.", "²³½ \u0661\u0662 \u2167 〇 12² 3\u200d#",
    "1234567 12345", "\u0301a .\u0301 1\u0301 \u0301 e\u0301", "ǅ ʰ ª ŉ İ ß A中BC A中BCd x\u0301Y \u0295 \u1c89 \ua7da", "\x0b\x0c\x85\xa0\u1680\u180e\u2028\u2029\u3000",
    "\u200b\ufeff\x1c\x1d\x1e\x1f\x00", "\u0378 \ue000 \ufdd0 \uffff \U0010ffff \U000323b0 \U0003d000", "a1b", "  1", "\u0378\u0378 ", "!éa", "\x00\x00\x01",
    "ü½ 12345 x²", "a\n\n b\r\nc\n", "1234567_ 123abc", "。\n\n\u3000\u3000話說", "“Hello,” 世界世世世界世界——I'm ChatGPT. CAN'T wait 'til 2026.世界世界",
    "\u1C89\\u", "ied 4 ½ months", "a 🫨", "三國志演義", "eBay mL NaOH 123 's", "}\n///", "\U00011de0\U00016ff4 1",
)  # fmt: skip
