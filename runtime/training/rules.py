"""Rules of training: what trainers do alike but for a few choices, as data.

    RULES["minbpe"]          of equally frequent pairs the one that comes first in the text; bytes are 0 to 255, special tokens come last
    RULES["rustbpe"]         the one of smaller ids; else the same
    RULES["huggingface"]     the same, but special tokens come first, and then the bytes in order of their characters in the byte alphabet

All three count a pair in "aaa" twice, and merge from left to right. `tests/test_training_peers.py` compares each with its package, and
minbpe's with its definition. Rejected: a function for each (what they have in common is nearly all).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ..vocabularies.byte_alphabet import ALPHABET

__all__ = ["RULES", "Rule", "TieBreak", "rule_of"]

ANY_LENGTH = (1 << 32) - 1  # what the merger counts lengths in is full there
TieBreak = Literal["minbpe", "rustbpe", "huggingface"]


@dataclass(frozen=True, slots=True)
class Rule:
    """smaller_first   of equally frequent pairs, the one of smaller ids; else the one that comes first in the text
    special_first   special tokens have the lowest ids; else the highest
    by_character    the bytes are in order of how the byte alphabet spells them; else in their own
    chooses_bytes   which bytes are tokens can be chosen, and hangs on the text; else all are
    strict_length   a token of max_token_length bytes is not made either, unless it has two
    dialect, unicode, keeps_unmatched   how a regular expression is read, and whether text that it leaves unmatched is a piece
    convention      what special tokens in a text mean to a tokenizer trained so; `format`: what files of it are
    """

    name: TieBreak
    smaller_first: bool
    special_first: bool
    by_character: bool
    chooses_bytes: bool
    strict_length: bool
    dialect: Literal["fancy", "oniguruma", "python"]
    unicode: str
    keeps_unmatched: bool
    convention: Literal["tiktoken", "huggingface"]
    format: Literal["minbpe", "huggingface"]

    def bytes_in_order(self, wanted: Sequence[int] = range(256)) -> list[int]:
        """The bytes in the order of their ids."""
        return sorted(wanted, key=ALPHABET.__getitem__) if self.by_character else sorted(wanted)

    def longest(self, max_token_length: int | None) -> int:
        """The longest token that may be made."""
        if max_token_length is None:
            return ANY_LENGTH
        return min(max(2, max_token_length - 1) if self.strict_length else max_token_length, ANY_LENGTH)


RULES: dict[str, Rule] = {
    "minbpe": Rule("minbpe", False, False, False, False, False, "python", "18.0", False, "tiktoken", "minbpe"),
    "rustbpe": Rule("rustbpe", True, False, False, False, False, "fancy", "16.0", False, "tiktoken", "minbpe"),
    "huggingface": Rule("huggingface", True, True, True, True, True, "oniguruma", "16.0", True, "huggingface", "huggingface"),
}


def rule_of(name: str) -> Rule:
    if not isinstance(name, str) or name not in RULES:
        raise ValueError(f"tie_break is {name!r}; it may be {', '.join(RULES)}")
    return RULES[name]
