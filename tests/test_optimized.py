"""Loops are joined as fancy-regex does it: trees against patterns in which that was done by hand, machines against tiktoken."""

from __future__ import annotations

import random

import pytest

from engines import compiled_alone, fastest
from generator import PatternError, Step, compile_pattern
from generator.steps import Plan, plan
from oracle import tiktoken_pieces
from texts import tuples

JOINED = {
    "a+b?a+": "a+(?:b{1}a+)?",
    "a+b*?a+": "a+(?:b+?a+)?",
    "a+b??a*": "a+(?:ba*)?",
    "a*b??a+": "(?:a*b)?a+",
    "a*b*?a*c": "a*(?:b+?a*)?c",
    r"#\w+[\w'-]*[\p{Alphabetic}\w]+": r"#\w+(?:[\w'-]+[\p{Alphabetic}\w]+)?",
    "(?:a|bc)+ *(?:a|bc)+": "(?:a|bc)+(?: +(?:a|bc)+)?",
    "(?:a+b?a+)+": "a+(?:ba+)*",
    "(?:a+(?:ba*)?)*c": "(?:a+(?:ba*)*)?c",
    "(?:a+)?b??a*c": "a*(?:ba*)?c",
    "a+b?a+b?a+b?a+": "a+(?:ba+)?b?a+(?:ba+)?",
    "(?>a+b?a+)|(?=a+b?a+)c": "(?>a+(?:ba+)?)|(?=a+(?:ba+)?)c",
    "(?:a+b?a+)++": "(?>a+(?:ba+)*)",
}  # fmt: skip
LEFT = [
    "a+b+a+", "a+a+", "a+b?a", "a+b?aa*", "a+?b?a+", "a+b?a+?", "a++b?a+", "a+b?+a+", "a{2,}b?a{2,}", "a+b?c+", "a+(?:b?a+)", "a+b{0}a+", "a+(?:b|)a+", "(?:a+(?:ba+)?){2,}", "(?:a|b)+c?[ab]+",
    r"(?:\p{L}\p{M}*)+", "(?:a?)+?",
]  # fmt: skip


def read(pattern: str) -> Plan:
    return plan(Step("Split", regex=pattern, behavior="removed", invert=True), "fancy", "16.0")


@pytest.mark.parametrize("pattern", JOINED)
def test_what_is_joined(pattern: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = read(pattern).optimized
    assert found is not None
    machine, by_hand = compiled_alone(found, monkeypatch), compiled_alone(read(JOINED[pattern]), monkeypatch)
    assert (machine.cells, machine.stages) == (by_hand.cells, by_hand.stages)


@pytest.mark.parametrize("pattern", LEFT)
def test_what_is_left_as_it_is(pattern: str) -> None:
    assert read(pattern).optimized is None


def test_what_it_changes_is_refused() -> None:
    with pytest.raises(PatternError) as refused:
        compile_pattern(r"\d|#\w+-*\w+")
    assert refused.value.reason == "these loops are over the same thing, and this engine may join them, which changes what matches"
    assert refused.value.span == (4, 12)
    for other in ("oniguruma", "python"):
        compile_pattern(r"\d|#\w+-*\w+", dialect=other)
    compile_pattern(r"\d|#\w+-*\w\w*")
    compile_pattern(r"\w+-*\w*|\w*-*\w+|(?:\p{N}+)*-")  # the same either way


def drawn(source: random.Random) -> str:
    """Loops over the same thing around another, and such loops in a loop."""
    same = source.choice(("a", "b", "[ab]", "(?:ab)", "(?:a|ab)"))
    between = source.choice(("a", "b", " ", "[ab]", "(?:ab)")) + source.choice(("*", "?", "+", "*?", "??", "{0,2}", "++"))
    first, last = (same + source.choice(("+", "+", "*", "{1,}", "+?", "?")) for _ in range(2))
    pattern = source.choice((f"{first}{between}{last}", f"(?:{first}{between}{last})", f"(?:{first}(?:{between}{last})?)")) + source.choice(("", "", "+", "*", "++"))
    return source.choice((pattern, f"(?>{pattern})", f"{pattern}(?! )", f"{pattern}|{drawn(source)}")) if source.random() < 0.5 else pattern


def test_against_tiktoken(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is joined is what matches; and where the pattern is taken, it matches that, too."""
    source, texts = random.Random(1), list(tuples("ab ", 4))
    changed = refused = 0
    for _ in range(400):
        pattern = f"c{drawn(source)}" if source.random() < 0.5 else drawn(source)
        try:
            mine = read(pattern)
            joined = mine.optimized or mine
            engine = fastest(compiled_alone(joined.other or joined, monkeypatch))
        except PatternError:  # for another reason
            continue
        tried = [text.replace(" ", "c") for text in texts] if pattern.startswith("c") else texts
        if (expected := tiktoken_pieces(pattern, tried)) is None:
            continue
        assert [[text[a:b] for a, b in engine(text)] for text in tried] == expected, pattern
        changed += mine.optimized is not None
        try:
            engine = fastest(compile_pattern(pattern, behavior="removed", invert=True))
        except PatternError:
            refused += 1
        else:
            assert [[text[a:b] for a, b in engine(text)] for text in tried] == expected, pattern
    assert changed > 50 and refused > 20, (changed, refused)
