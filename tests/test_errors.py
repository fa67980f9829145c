"""What the generator says when it refuses a pattern, word for word: errors/*.txt. BITLEX_REGENERATE=1 writes the files anew."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from generator import LimitError, Limits, PatternError, Program, compile_pattern, compile_steps, steps_from_pre_tokenizer

ERRORS = Path(__file__).parent / "errors"
TINY = Limits(states=20)


def nested(what: Any, depth: int) -> Any:
    for _ in range(depth):
        what = {"type": "Sequence", "pretokenizers": [what]}
    return what


def compiled(pattern: str | Mapping[str, Any], dialect: str, limits: Limits | None = None) -> Program:
    if isinstance(pattern, str):
        return compile_pattern(pattern, dialect=dialect, limits=limits)
    return compile_steps(steps_from_pre_tokenizer(pattern), dialect, "16.0", limits=limits)


CASES: dict[str, tuple[str | Mapping[str, Any], str, Limits | None]] = {
    "backreference": (r"(a+)\1", "fancy", None),
    "named_reference": (r"(?<x>a+)\k<x>", "oniguruma", None),
    "recursion": ("a(?R)?b", "fancy", None),
    "subroutine": ("(a)(?1)", "python", None),
    "conditional": ("(a)?(?(1)b|c)", "fancy", None),
    "absent": ("(?~abc)", "oniguruma", None),
    "verb": ("a(*SKIP)b", "fancy", None),
    "unclosed_group": ("a(?:b|c", "fancy", None),
    "unopened_group": ("ab)c", "fancy", None),
    "unclosed_class": (r"a[\p{L}bc", "fancy", None),
    "empty_class": ("a[]", "oniguruma", None),
    "unknown_group": ("a(?@b)", "fancy", None),
    "bad_range": ("[z-a]", "fancy", None),
    "class_range_end": (r"[a-\d]", "fancy", None),
    "bad_property": (r"a\p{Klingon}+", "fancy", None),
    "unclosed_property": (r"a\p{L", "fancy", None),
    "missing_property": (r"a\p{Hrkt}", "oniguruma", None),
    "octal": (r"a\101", "python", None),
    "octal_zero": (r"a\0b", "oniguruma", None),
    "bad_posix": ("[[:letters:]]", "oniguruma", None),
    "nothing_to_repeat": ("a|*b", "fancy", None),
    "nothing_to_repeat_count": ("{2}a", "oniguruma", None),
    "counted_empty": ("x(?:a|){2}", "oniguruma", None),
    "two_quantifiers": ("a{2}*", "fancy", None),
    "stacked_quantifiers": ("(?:a|b" + "{1}" * 151 + ")", "oniguruma", None),
    "too_deep": ("a" + "+" * 300, "oniguruma", None),
    "too_many_cells": ("|".join(chr(0x4E00 + n) for n in range(6000)), "fancy", None),
    "backwards_count": ("a{3,2}", "fancy", None),
    "count_too_large": ("ba{2,99999999999}", "fancy", None),
    "grapheme": (r"\X+", "fancy", None),
    "line_break": (r"a\R", "oniguruma", None),
    "reset": (r"a\Kb", "oniguruma", None),
    "long_lookbehind": ("(?<=ab)c", "fancy", None),
    "bad_escape": (r"a\j", "fancy", None),
    "byte_of_a_character": (r"a\xC3\xA9", "oniguruma", None),
    "braces": (r"a\u{41}", "oniguruma", None),
    "surrogate": (r"\uD83D\uDE00", "fancy", None),
    "place_repeated": ("a(?=b)*", "fancy", None),
    "group_in_lookbehind": ("(?<!(a))b", "oniguruma", None),
    "alternatives_joined": ("[^a]|[^b]", "python", None),
    "named_otherwise": ("(?P<x>a)", "oniguruma", None),
    "posix_property": ("[a[:sc=Greek:]]", "python", None),
    "range_of_a_class": (r"[\w-z]", "fancy", None),
    "bad_hexadecimal": (r"\x{110000}", "fancy", None),
    "last_backslash": ("ab\\", "fancy", None),
    "flag": ("(?x:a b)", "fancy", None),
    "flag_of_another_dialect": ("(?s:.)", "oniguruma", None),
    "flag_on_and_off": ("(?i-i:a)", "fancy", None),
    "approximate": ("(?:abc){e<=1}", "python", None),
    "small_property": (r"a\pl", "python", None),
    "flag_in_the_middle": ("a(?i)b|c", "fancy", None),
    "folded_string": ("x(?i:straSSe)", "oniguruma", None),
    "folded_class": ("(?i:[\u00dfx])", "oniguruma", None),
    "mixed_operators": ("[a-z&&b--c]", "fancy", None),
    "loop_over_nothing": ("(?:b||a)+(?!x)", "fancy", None),
    "loop_stopped_early": ("x(?:b?a??)+", "fancy", None),
    "loops_joined": (r"\d|#\w+-*\w+", "fancy", None),
    "dash_before_class": ("[a-[bc]]", "oniguruma", None),
    "empty_behind_a_match": ('a|(?<=a)|"', "python", None),
    "class_of_another_dialect": ("[[:greek:]]", "oniguruma", None),
    "read_in_two_ways": (r"(?i:x|\p{Lu})", "python", None),
    "empty_match_in_python": ("a|(?=b)", "python", None),
    "control_characters": ("a\n\t(", "fancy", None),
    "long_pattern": ("a" * 300 + "(" + "b" * 300, "fancy", None),
    "too_many_states": ("(?:a|b)*a(?:a|b){12}", "fancy", TINY),
    "too_many_instructions": ("(?:a{1000}){1000}", "fancy", None),
    "sequences_too_deep": (nested({"type": "WhitespaceSplit"}, 151), "oniguruma", None),
    "value_too_deep": ({"type": "Split", "pattern": nested(0, 100_000), "behavior": "Isolated"}, "oniguruma", None),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_messages(name: str) -> None:
    pattern, dialect, limits = CASES[name]
    with pytest.raises((PatternError, LimitError)) as caught:
        compiled(pattern, dialect, limits)
    message = f"{type(caught.value).__name__}: {caught.value}\n"
    path = ERRORS / f"{name}.txt"
    if os.environ.get("BITLEX_REGENERATE"):
        path.write_text(message, encoding="utf-8", newline="\n")
    assert message == path.read_text(encoding="utf-8")
    if isinstance(caught.value, PatternError):
        first, last = caught.value.span
        assert 0 <= first <= last <= len(pattern)


def test_as_deep_as_may_be() -> None:
    assert compiled(nested({"type": "WhitespaceSplit"}, 150), "oniguruma").steps == compiled({"type": "WhitespaceSplit"}, "oniguruma").steps


def test_no_file_is_left_over() -> None:
    assert {path.stem for path in ERRORS.iterdir()} == set(CASES)
