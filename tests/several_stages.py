"""A lexer of several stages: its steps do not compose into one machine of a moderate size, so each reads what the one before found."""

from __future__ import annotations

from functools import cache
from typing import Any

import bitlex

__all__ = ["lexer_of_several_stages"]


@cache
def lexer_of_several_stages(drops: bool = False) -> bitlex.Lexer:
    """Cuts a, b and 1 in many ways; it drops 1, if it is to drop anything."""
    steps: list[Any] = [
        {"type": "Split", "pattern": {"Regex": r"(?:ab|ba){1,15}|1"}, "behavior": "Isolated", "invert": False},
        {"type": "Split", "pattern": {"Regex": r"(?:aa|b){1,13}"}, "behavior": "Isolated", "invert": False},
        {"type": "Split", "pattern": {"Regex": r"(?:a|bb){1,11}(?=b)"}, "behavior": "Isolated", "invert": False},
    ]
    if drops:
        steps.append({"type": "Split", "pattern": {"Regex": "1"}, "behavior": "Removed", "invert": False})
    lexer = bitlex.compile({"type": "Sequence", "pretokenizers": steps})
    assert len(lexer.states) > 1  # or nothing would be tried of what its name says
    return lexer
