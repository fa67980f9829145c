"""What begins alike is taken out as the regex crate does it: trees against patterns in which that was done by hand, machines against tiktoken."""

from __future__ import annotations

import random

import pytest

from engines import compiled_alone, fastest
from generator import Limits, PatternError, Step, compile_pattern
from generator.dialects import dialect
from generator.lifted import lifted
from generator.properties import load
from generator.resolve import Resolver
from generator.steps import Plan, plan
from generator.syntax import parse
from oracle import tiktoken_pieces
from texts import tuples

FANCY = dialect("fancy")
TAKEN_OUT = {
    "[ab]?a|[ab]?b": "[ab]?(?:a|b)",
    r"\s*\n|\s*\S": r"\s*(?:\n|\S)",
    "x(?:a*b|a*c)y": "xa*(?:b|c)y",
    "a*b?c|a*b?d|a*b?": "a*b?(?:c|d|)",
    "(?:a|ab)c|(?:a|ab)bcd": "(?:a|ab)(?:c|bcd)",
    "(?:a?b|a?c)|a?d": "a?(?:b|c)|a?d",  # what was taken out inside is no alternative of those around it
    "(?:ab|ac)x?1|(?:ab|ac)x?2": "(?:ab|ac)x?(?:1|2)",
    "[a]x?1|ax?2": "ax?(?:1|2)",
    "(?i:k)x?1|[kK\u212a]x?2": "[kK\u212a]x?(?:1|2)",
    r"\s?1|\p{White_Space}?2": r"\s?(?:1|2)",
    "(?:a|b)?1|[ab]?2": "[ab]?(?:1|2)",
    "b{1}a?1|ba?2": "ba?(?:1|2)",
    "a{0}b?1|b?2": "b?(?:1|2)",
    "(?=a)a*b|(?:a?1|a?2)": "(?=a)a*b|a?(?:1|2)",
    "(?=a?1|a?2)a": "(?=a?(?:1|2))a",
    "(?>a?1|a?2)a": "(?>a?(?:1|2))a",
    "(?:a?1|a?2)*+a": "(?:a?(?:1|2))*+a",
    "^a?1|^a?2": "^a?(?:1|2)",
}
LEFT = [
    "a?b|a?c|d", "a?b|c", "abc?|abd?", "a+b|a*b", "a*?b|a*c", "a{2}|a{3}", "ab|ac", "a?|a?b", "a?b", "[ab]|[bc]", "a?b|(?=a)a?c", "a?b|a?(?>c)", "", "a||b", "a*+b|a*+c",
    r"a\bb?|a\bc?", "(?:ab|ac)x?1|(?:a[bc])x?2",
]  # fmt: skip


def taken_out(pattern: str) -> Plan | None:
    tree = parse(pattern, FANCY)
    return plan(Step("Split", regex=pattern), "fancy", "16.0").other if lifted(tree, Resolver(load("16.0"), FANCY, pattern, False, Limits()).read) else None


@pytest.mark.parametrize("pattern", TAKEN_OUT)
def test_what_is_taken_out(pattern: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = taken_out(pattern)
    assert found is not None
    machine = compiled_alone(found, monkeypatch)
    by_hand = compiled_alone(plan(Step("Split", regex=TAKEN_OUT[pattern]), "fancy", "16.0"), monkeypatch)
    assert (machine.cells, machine.stages) == (by_hand.cells, by_hand.stages)


@pytest.mark.parametrize("pattern", LEFT)
def test_what_is_left_as_it_is(pattern: str) -> None:
    assert taken_out(pattern) is None


def test_what_it_changes_is_refused() -> None:
    with pytest.raises(PatternError) as refused:
        compile_pattern(r"x+|(?:\s*\n|\s*\S)")
    assert refused.value.reason == "these alternatives begin alike, and this engine may take that out of them, which changes what matches"
    assert refused.value.span == (6, 17)
    for other in ("oniguruma", "python"):
        compile_pattern(r"x+|(?:\s*\n|\s*\S)", dialect=other, behavior="removed", invert=True)
    compile_pattern(r"x+|\s*(?:\n|\S)")
    compile_pattern(r" ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+")  # the same either way


def drawn(source: random.Random) -> str:
    """Alternatives of which most begin alike, here and there inside another."""

    def part() -> str:
        return source.choice(("a", "b", "a?", "b?", "a*", "[ab]?", "(?:a|ab)", "[ab]", "a+?", "a??", "ab", "(?:ba|b)", "(?:a?b|a?)"))

    beginning = "".join(part() for _ in range(source.randint(1, 2)))
    branches = [(beginning if source.random() < 0.9 else part()) + "".join(part() for _ in range(source.randint(0, 2))) for _ in range(source.randint(2, 3))]
    pattern = "|".join(branches)
    return pattern if source.random() < 0.7 else f"{part()}(?:{pattern}){part()}|{drawn(source)}"


def test_against_tiktoken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is nothing to backtrack for, the crate reads all of a pattern; then it is what was taken out that matches, always."""
    source, texts = random.Random(1), list(tuples("ab ", 5))
    changed = refused = 0
    for _ in range(400):
        pattern = drawn(source)
        if (expected := tiktoken_pieces(pattern, texts)) is None:
            continue
        mine = plan(Step("Split", regex=pattern, behavior="removed", invert=True), "fancy", "16.0")
        engine = fastest(compiled_alone(mine.other or mine, monkeypatch))
        assert [[text[a:b] for a, b in engine(text)] for text in texts] == expected, pattern
        changed += mine.other is not None
        try:
            compile_pattern(pattern, behavior="removed", invert=True)
        except PatternError:
            refused += 1
    assert changed > 100 and refused > 20, (changed, refused)
