"""Random patterns against tokenizers and tiktoken themselves, under every behavior, with \\G, every quantifier and every anchor.

BITLEX_RANDOM says for how many patterns (default 400 each); the seed is fixed. A pattern that an engine refuses, gives up on or, in
tiktoken, matches the empty string with says nothing from there on; the test wants four in ten to be compared on all texts.
"""

from __future__ import annotations

import os
import random
from typing import Any

import pytest

from engines import fastest
from generator import LimitError, Limits, PatternError, compile_pattern
from oracle import BEHAVIORS, Tiktoken, Tokenizers
from texts import random_texts, tuples

COUNT = int(os.environ.get("BITLEX_RANDOM", "400"))
ATOMS = ("a", "b", "a", "b", "c", ".", "[ab]", "[^a]", r"\s", "\n", "1", r"\d", r"\w")
QUANTIFIERS = ("*", "+", "?", "*?", "+?", "??", "*+", "++", "?+", "{2}", "{1,2}", "{0,2}", "{2,}", "{1,2}?", "{2}?", "{1,2}+", "{2}+", "{,2}")
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
    if kind < 0.66:
        return source.choice((f"(?:{inner()}|)", f"(?:|{inner()})"))
    if kind < 0.86:
        return f"(?:{inner()}){source.choice(QUANTIFIERS)}"
    if kind < 0.90:
        return f"(?>{inner()})"
    if kind < 0.94:
        return f"(?{source.choice('=!')}{inner()})"
    return source.choice(PLACES)


@pytest.mark.parametrize("name", ["tokenizers", "tiktoken"])
def test_random_patterns(name: str) -> None:
    source = random.Random(name)
    texts = [*tuples("ab\n1", 4), *random_texts("ab\n1c", 100, seed=8, longest=12)]
    compared = 0
    for _ in range(COUNT):
        pattern = draw(source, source.randint(1, 4))
        behavior, invert = source.choice(BEHAVIORS), source.random() < 0.3
        dialect = "oniguruma"
        if name == "tiktoken":
            behavior, invert, dialect = "removed", True, "fancy"
        try:
            program = compile_pattern(pattern, dialect=dialect, behavior=behavior, invert=invert, limits=Limits(seconds=10))
            reference: Any = Tokenizers(program.steps) if name == "tokenizers" else Tiktoken(pattern, texts)
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
            found: Any = engine(text) if name == "tokenizers" else [text[a:b] for a, b in engine(text)]
            assert found == wanted, (pattern, behavior, invert, text)
        else:
            compared += 1
    assert compared > 0.4 * COUNT, f"only {compared} of {COUNT} patterns were compared on all texts"
