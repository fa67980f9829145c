"""Patterns beyond the catalogue: what public models and the Hub use (data/patterns.json), and what no one has used yet."""

from __future__ import annotations

import dataclasses
import json
import os
from pathlib import Path
from typing import Any

import pytest

from engines import fastest
from generator import PatternError, Step, compile_pattern, compile_steps, steps_from_pre_tokenizer
from generator.codeset import CodeSet
from generator.dialects import DIALECTS, PECULIAR
from oracle import Module, Tiktoken, Tokenizers
from texts import TORTURE, random_texts, representatives, tuples

KNOWN: list[dict[str, Any]] = json.loads((Path(__file__).parent / "data" / "patterns.json").read_text(encoding="ascii"))
LATIN = CodeSet([(0, 0x1FF)])
COUNTING = ("{512}", "{510}")
LENGTHS = (1, 2, 3, 4, 7, 8, 9, 127, 128, 129, 255, 256, 257, 509, 510, 511, 512, 513, 700, 1019, 1020, 1021, 1025, 1531)


def check(steps: tuple[Step, ...], dialect: str, longest: int, seed: int) -> None:
    program = compile_steps(steps, dialect, "16.0")
    alphabet = representatives(program.cells, surrogates=False)
    longest = longest if len(alphabet) ** longest < 30_000 else longest - 1
    texts = [*TORTURE, *tuples(alphabet, longest), *random_texts(alphabet, 200, seed)]
    engine, definition, restricted = fastest(program), Module(program.plans), Module(program.plans, CodeSet.of(*alphabet) | LATIN)
    reference: Any = Tokenizers(steps) if dialect == "oniguruma" else Tiktoken(steps[0].regex or "", texts)
    for n, text in enumerate(texts):
        wanted = (definition if n < len(TORTURE) else restricted)(text)
        assert engine(text) == wanted, text
        assert reference(text) == (wanted if dialect == "oniguruma" else [text[a:b] for a, b in wanted]), text


@pytest.mark.parametrize("known", KNOWN, ids=lambda known: known["name"])
def test_known_patterns(known: dict[str, Any]) -> None:
    if any(count in json.dumps(known) for count in COUNTING) and not os.environ.get("BITLEX_SLOW"):
        pytest.skip("counts to hundreds: set BITLEX_SLOW=1")
    if "pattern" in known:
        steps: tuple[Step, ...] = (Step("Split", regex=known["pattern"], behavior="removed", invert=True),)
    else:
        steps = steps_from_pre_tokenizer(known["pre_tokenizer"])
    check(steps, known["dialect"], 3, seed=4)


@pytest.mark.parametrize("known", [known for known in KNOWN if any(count in json.dumps(known) for count in COUNTING)], ids=lambda known: known["name"])
def test_long_runs_around_the_counts(known: dict[str, Any]) -> None:
    if not os.environ.get("BITLEX_SLOW"):
        pytest.skip("counts to hundreds: set BITLEX_SLOW=1")
    program = compile_steps(steps_from_pre_tokenizer(known["pre_tokenizer"]), "oniguruma", "16.0")
    engine, definition, reference = fastest(program), Module(program.plans), Tokenizers(program.steps)
    for char in (" ", "1", "\n", "\u3000"):
        for length in LENGTHS:
            for text in (char * length, char * length + "x", "x" + char * length, char * length + "\n "):
                assert engine(text) == definition(text) == reference(text), (char, length)


INVENTED = (
    r"(?:(?:a|b)+\s|(?:b|c)+\d)+|.", r"(?>a|ab)c|a|b", r"(?>(?:a|b)+?c)a|b+", r"(?>\w+\s*)+(?!b)|\s", r"\w+(?=\s+\d)|\s+\d+", r"\d+(?=(?:\d{3})*\b)|\w", r"(?:\d(?=(?:\d\d)*(?!\d)))+",
    r"(?<=\s)\w+|\w+(?=\s)|\s", r"(?<![ab])c+|[abc]", r"\w+?(?=b|$)|\s+?", r"(?:a*)*c|a", r"(?:a|b*)*c|[ab]", r"(?:a??b)+?c|a", r"\b\w+\b|\s+|[^\w\s]", r"(?:^|(?<=\s))a+|b+$|.",
    r"(?:ab?){2,4}?c|[a-c]", r"(?>a{1,3})a|b|a", r"(?:a(?!b)|b(?=a))+|.", r"[\p{L}&&[^a-f]]+|[a-f]{1,2}|\d++|.", r"(?i:[k-s]+'?t)|'(?i:st?)?|.", r"(?:(?>a+)b|(?>a*)c)+|.",
    r"\A\s+|\s+\z|\S+|\s", r"(?=a(?!b))a|(?=(?:ab)+c)ab|.", r"(?:.(?=.*c))+|c",
    "(?=b?)[ab]+|.", "(?!a{2})[ab]+|.", "(?=b{2,})[bc]+|.", "(?=b+)[bc]+|.", "(?=(?!a)[ab])[abc]+|.", "(?=(?=ab)[ab])[abc]+|.", r"(?<=\A|b)a+|(?<=a|c)b+|.",
    "(?=a|b)[abc]+|(?=(?!a)|b)1 |.",
)  # fmt: skip


@pytest.mark.parametrize("dialect", ["fancy", "oniguruma"])
@pytest.mark.parametrize("pattern", INVENTED)
def test_invented_patterns(pattern: str, dialect: str) -> None:
    if dialect == "oniguruma" and "st?" in pattern:
        pattern = pattern.replace("st?", "[s]t?")
    steps = (Step("Split", regex=pattern, behavior="removed", invert=True),)
    program = compile_steps(steps, dialect, "16.0")
    texts = [*tuples("abc 1", 5), *random_texts("abc 1\n", 500, seed=5)]
    engine, definition = fastest(program), Module(program.plans)
    reference: Any = Tokenizers(steps) if dialect == "oniguruma" else Tiktoken(pattern, texts)
    for text in texts:
        wanted = definition(text)
        assert engine(text) == wanted, text
        assert reference(text) == (wanted if dialect == "oniguruma" else [text[a:b] for a, b in wanted]), text


@pytest.mark.parametrize("dialect", DIALECTS)
def test_what_is_refused_in_one_dialect_alone(dialect: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """That the engine refuses it, or reads it in a way of its own, is tried in the tests of the references."""

    def reason(pattern: str) -> str:
        try:
            compile_pattern(pattern, dialect=dialect)
        except PatternError as error:
            return error.reason
        return ""

    rules = DIALECTS[dialect]
    assert set(rules.refuses) <= set(PECULIAR)
    for name in rules.refuses:
        said = reason(PECULIAR[name])
        assert said
        monkeypatch.setitem(DIALECTS, dialect, dataclasses.replace(rules, refuses=tuple(other for other in rules.refuses if other != name)))
        assert reason(PECULIAR[name]) != said, name
        monkeypatch.setitem(DIALECTS, dialect, rules)
