"""Arbitrary pattern text: a machine equal to the `regex` module (the python dialect), or a PatternError; never anything else.

The text is put together from what patterns are made of, in any order, so most of it is malformed, and the rest means odd things. What
`regex` takes and we refuse is a refusal (empty matches, line breaks, references); what both take must be the same lexer.
BITLEX_PATTERNS says how many (default 2,000); the seed is fixed.
"""

from __future__ import annotations

import os
import random
import warnings

import pytest

from generator import LimitError, Limits, PatternError, compile_pattern

regex = pytest.importorskip("regex", reason="the regex module is the oracle here")

COUNT = int(os.environ.get("BITLEX_PATTERNS", "2000"))
PARTS = (
    "a", "b", "s", "K", "1", " ", "\n", "(", ")", "(?:", "(?=", "(?!", "(?<=", "(?<!", "(?>", "(?i:", "(?i)", "(?s)", "(?m)", "(?#x)", "[", "]",
    "[^", "-", "\\", "^", "$", ".", "*", "+", "?", "{2}", "{1,2}", "{,2}", "{", "}", ",", "|", r"\p{L}", r"\P{Lu}", r"\pN", r"\s", r"\S", r"\d",
    r"\w", r"\W", r"\b", r"\B", r"\A", r"\Z", r"\z", r"\G", r"\h", r"\x41", r"\u0061", "&&", "--", "||", "[:alpha:]", ":", r"\1", "(?P<n>",
    "(?1)", r"\R", r"\X", r"\K", r"\n", "é", "\u017f", r"\/", r"\-", "#", "=",
)  # fmt: skip
TEXT = "aabsK1 \n\u00e9\u017f,-]"


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_arbitrary_pattern_text():
    chance = random.Random(20)
    compared = 0
    for _ in range(COUNT):
        pattern = "".join(chance.choice(PARTS) for _ in range(chance.randint(1, 8)))
        try:
            program = compile_pattern(pattern, dialect="python", unicode="18.0", limits=Limits(seconds=3))
        except (PatternError, LimitError):
            continue
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                compiled = regex.compile(pattern, regex.V0)
        except regex.error:  # such as "{s", which opens an approximate match there and is a brace elsewhere
            continue
        compared += 1
        cell_of = program.cells.lookup()
        for _ in range(25):
            text = "".join(chance.choice(TEXT) for _ in range(chance.randint(1, 7)))
            letters = program.stages[0].letters([cell_of[ord(c)] for c in text])
            cuts = {0}.union(*(found.span() for found in compiled.finditer(text)))
            assert [at for at, letter in enumerate(letters) if letter == 1] == sorted(cut for cut in cuts if cut < len(text)), (pattern, text)
    assert compared > COUNT // 10


@pytest.mark.parametrize("dialect", ["fancy", "oniguruma"])
def test_arbitrary_pattern_text_in_other_dialects_is_a_lexer_or_an_error(dialect):
    chance = random.Random(30)
    errors = []
    for _ in range(COUNT):
        pattern = "".join(chance.choice(PARTS) for _ in range(chance.randint(1, 12)))
        try:
            program = compile_pattern(pattern, dialect=dialect, limits=Limits(seconds=3))
        except PatternError as error:
            errors.append((pattern, error))
        except LimitError:
            pass
        else:
            assert program.stages[0].letters([]) == []
    assert errors
    for pattern, refused in errors:
        assert refused.pattern == pattern and 0 <= refused.span[0] <= refused.span[1] <= len(pattern)
