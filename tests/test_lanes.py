"""The vector tiers at the places where they are most likely to be wrong: the ends of texts, and bytes that are not UTF-8.

A text of every length around several vectors is cut off anywhere, also inside a character, and then spoilt by a stray byte; the
pieces are those of the pure tier. Random machines are the business of native_harness.c.
"""

from __future__ import annotations

import random

import pytest

import bitlex

FILLS = ("\u00e9", "\u4e2d", "\U0001f600", "a\u4e2d", "ab\U0001f600 ", "\u00e9 1", "\u0967", "\U00100000")
STRAY = b"\x80\xbf\xc0\xc3\xe0\xe4\xed\xf0\xf4\xffa"


@pytest.mark.parametrize("fill", FILLS)
def test_texts_that_are_cut_off_and_spoilt(fill: str, vector_tier: str, monkeypatch: pytest.MonkeyPatch) -> None:
    one = bitlex.lexer("cl100k")
    assert one.tier == vector_tier
    monkeypatch.setenv("BITLEX_TIER", "pure")
    two = bitlex.lexer("cl100k")
    chance = random.Random(fill)
    data = (fill * 800).encode()
    for length in range(384, 384 + 130):
        text = bytearray(data[:length])
        assert one.spans(text).tolist() == two.spans(text).tolist()
        for _ in range(3):
            text[chance.randrange(length)] = chance.choice(STRAY)
            assert one.spans(text).tolist() == two.spans(text).tolist()
