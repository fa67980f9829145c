"""Random patterns against tokenizers, tiktoken and regex themselves: every behavior, quantifier and anchor, and classes with all that is in them.

BITLEX_RANDOM says for how many patterns (default 400 each); the seed is fixed. A pattern that an engine refuses, gives up on or, in
tiktoken, matches the empty string with says nothing from there on; the test wants four in ten to be compared on all texts.
"""

from __future__ import annotations

import os
import random
import warnings
from typing import Any

import pytest

from engines import fastest
from generator import LimitError, Limits, PatternError, compile_pattern
from oracle import BEHAVIORS, Tiktoken, Tokenizers, regex
from texts import random_texts, tuples

UNICODE = "18.0"  # of regex 2026.11.15
COUNT = int(os.environ.get("BITLEX_RANDOM", "400"))
ATOMS = ("a", "b", "a", "b", "c", ".", "[ab]", "[^a]", r"\s", "\n", "1", r"\d", r"\w")
QUANTIFIERS = ("*", "+", "?", "*?", "+?", "??", "*+", "++", "?+", "{2}", "{1,2}", "{0,2}", "{2,}", "{1,2}?", "{2}?", "{1,2}+", "{2}+", "{,2}")
MEMBERS = (
    "a", "b", "s", "k", "K", "-", "^", "]", "[", "&&", "--", "~~", "||", "a-c", "1-3", "\u00e9", "\u00df", "\u017f", r"\s", r"\w", r"\d", r"\S", r"\p{L}", r"\P{L}", r"\p{^Lu}", "[:alpha:]",
    "[:^alpha:]", "[:punct:]", "[b]", "[^b]", r"\-", r"\]", r"\n", " ", "&", "~",
)  # fmt: skip
LETTERS = "abstkK1-' \n^]&~_.\u00e9\u00df\u017f\u212a\u0345\u03b9\u0131\u2014"
PLACES = ("(?<=a)", "(?<!a)", r"(?<=[a\n])", r"(?<!\s)", r"\b", r"\B", "^", "$", r"\A", r"\z", r"\Z", r"\G")


def draw(source: random.Random, depth: int) -> str:
    kind = source.random()
    if depth <= 0 or kind < 0.3:
        return source.choice(ATOMS)

    def inner() -> str:
        return draw(source, depth - 1)

    if kind < 0.5:
        return "".join(inner() for _ in range(source.randint(1, 3)))
    if kind < 0.62:
        return "(?:" + "|".join(inner() for _ in range(source.randint(2, 3))) + ")"
    if kind < 0.64:
        beginning = inner()
        return f"(?:{beginning}{inner()}|{beginning}{inner()})"
    if kind < 0.66:
        return source.choice((f"(?:{inner()}|)", f"(?:|{inner()})"))
    if kind < 0.86:
        return f"(?:{inner()}){source.choice(QUANTIFIERS)}"
    if kind < 0.90:
        return f"(?>{inner()})"
    if kind < 0.94:
        return f"(?{source.choice('=!')}{inner()})"
    return source.choice(PLACES)


def draw_case(source: random.Random) -> str:
    """Characters with case and without, under (?i) and not, next to a set that has what folds to letters."""

    def part(depth: int) -> str:
        kind = source.random()
        if depth == 0 or kind < 0.45:
            return source.choice(("'", "-", "s", "t", "1", "[']", "[st]", r"\d", r"\w", r"\p{Lu}", "'s", "'t", "s'", "[^s]", "k"))
        if kind < 0.6:
            return "(?:" + "|".join(part(depth - 1) + source.choice(("", part(depth - 1))) for _ in range(source.randint(2, 3))) + ")"
        if kind < 0.8:
            return source.choice(("(?:{})?", "(?:{})+", "(?i:{})")).format(part(depth - 1))
        return part(depth - 1) + part(depth - 1)

    other = source.choice((r"\P{Lu}+", r"\P{L}", r"[^\s\p{L}]", part(1)))
    return f"(?i:{part(2)}){part(1)}|{other}"


def draw_class(source: random.Random) -> str:
    members = "".join(source.choices(MEMBERS, k=source.randint(1, 4)))
    one = f"{source.choice(('', '(?i)'))}[{source.choice(('', '^', '^]', ']'))}{members}]{source.choice(('', '+', '*', '?'))}"
    return one if source.random() < 0.7 else f"(?i:{source.choice(('s', 'kk', '[a-c]'))})|{one.removeprefix('(?i)')}"


class Module:
    """What a pattern matches by `regex`, but for what is empty."""

    def __init__(self, pattern: str) -> None:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self.compiled = regex.compile(pattern, regex.V0)
        except regex.error as error:
            raise ValueError(str(error)) from None

    def __call__(self, text: str) -> list[tuple[int, int]]:
        return [found.span() for found in self.compiled.finditer(text) if found.end() > found.start()]


@pytest.mark.parametrize(
    ("name", "drawn"), [(name, drawn) for name in ("tokenizers", "tiktoken", "regex") for drawn in ("structure", "classes")] + [("regex", "case")]
)
def test_random_patterns(name: str, drawn: str) -> None:
    source = random.Random(name)
    texts = [*tuples("ab\n1", 4), *random_texts("ab\n1c", 100, seed=8, longest=12)]
    if drawn != "structure":
        texts = [*LETTERS, *random_texts(LETTERS, 100, seed=8, longest=6)]
    compared = 0
    for _ in range(COUNT):
        pattern = draw(source, source.randint(1, 4)) if drawn == "structure" else draw_class(source) if drawn == "classes" else draw_case(source)
        behavior, invert = source.choice(BEHAVIORS), source.random() < 0.3
        dialect, unicode = "oniguruma", "16.0"
        if name != "tokenizers":
            behavior, invert, dialect = "removed", True, "fancy"
        if name == "regex":
            dialect, unicode = "python", UNICODE
        try:
            program = compile_pattern(pattern, dialect=dialect, behavior=behavior, invert=invert, unicode=unicode, limits=Limits(seconds=10))
            reference: Any = Tokenizers(program.steps) if name == "tokenizers" else Module(pattern) if name == "regex" else Tiktoken(pattern, texts)
        except (PatternError, LimitError, ValueError):
            continue
        engine = fastest(program)
        for text in texts:
            try:
                wanted = reference(text)
            except BaseException as error:  # a panic of Rust code is no Exception
                if "Panic" not in type(error).__name__:
                    raise
                break
            found: Any = engine(text) if name != "tiktoken" else [text[a:b] for a, b in engine(text)]
            assert found == wanted, (pattern, behavior, invert, text)
        else:
            compared += 1
    assert compared > (0.4 if drawn == "structure" else 0.15) * COUNT, f"only {compared} of {COUNT} patterns were compared on all texts"
