"""The only door to the engines that our lexers must equal.

    Module(program.plans)("I'm")                ->  [(0, 1), (1, 3)]     the `regex` module on spelled-out sets, step by step
    Tokenizers(steps)("I'm")                    ->  [(0, 1), (1, 3)]     Hugging Face tokenizers itself
    Tiktoken(pattern, ["I'm", ...])("I'm")      ->  ["I", "'m"]          tiktoken itself

Three engines with different strengths. The module (generator/backtracking.py) backtracks as the pattern says and is told every set, so
it checks the automata on any text, lone surrogates included. The other two are the references: they check the sets, the syntax and
the rules as well.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import pytest

from generator import Step
from generator.split import BEHAVIORS

pytest.importorskip("regex", reason="the regex module is not installed: no oracle")

import regex

from generator.backtracking import Module, Span, apply, byte_level, find_iter

__all__ = [
    "BEHAVIORS", "BYTES", "Module", "Span", "Tiktoken", "Tokenizers", "apply", "byte_level", "encoding", "find_iter", "original", "regex",
    "tiktoken_agrees", "tiktoken_pieces",
]  # fmt: skip


# --- (a) the regex module -----------------------------------------------------------------------------------------------------------


def original(pattern: str, text: str, *, version: int = 1) -> list[Span]:
    """The matches of the pattern as it was written, read by the module under its own rules."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compiled = regex.compile(pattern, regex.V1 if version else regex.V0)

    def search(at: int, _: bool) -> Span | None:
        found = compiled.search(text, at)
        return found.span() if found else None

    return list(find_iter(search, len(text), "retry"))


# --- (b) Hugging Face tokenizers ------------------------------------------------------------------------------------------------------


class Tokenizers:
    """The steps as a pre_tokenizer of the installed tokenizers. Refuses what it does: ValueError for a pattern, surrogates in a text."""

    def __init__(self, steps: Sequence[Step]) -> None:
        tokenizers = pytest.importorskip("tokenizers", reason="tokenizers is not installed")
        kinds = [step.kind for step in steps]
        self.bytewise = "ByteLevel" in kinds[:-1]
        self.adds_space = any(step.add_prefix_space for step in steps)
        self.made = tokenizers.pre_tokenizers.Sequence([self.make(tokenizers, step) for step in steps])

    @staticmethod
    def make(tokenizers: Any, step: Step) -> Any:
        known = tokenizers.pre_tokenizers
        match step.kind:
            case "Split":
                try:
                    pattern = step.string if step.regex is None else tokenizers.Regex(step.regex)
                except Exception as error:  # it has no class of its own
                    raise ValueError(str(error)) from None
                return known.Split(pattern, step.behavior, step.invert)
            case "Digits":
                return known.Digits(individual_digits=step.individual)
            case "Punctuation":
                return known.Punctuation(step.behavior)
            case "ByteLevel":
                return known.ByteLevel(add_prefix_space=step.add_prefix_space, use_regex=step.use_regex)
            case "Whitespace":
                return known.Whitespace()
            case "WhitespaceSplit":
                return known.WhitespaceSplit()
        raise AssertionError(step)

    def __call__(self, text: str) -> list[Span]:
        if self.bytewise:  # its offsets are of characters, which it cuts through: count the bytes it shows instead
            ends = list(itertools.accumulate(len(piece) for piece, _ in self.made.pre_tokenize_str(text)))
            return list(itertools.pairwise([0, *ends]))
        # A piece made of nothing but the space that was added is no part of the text; the reference gives it the place of its neighbour.
        found = self.made.pre_tokenize_str(text)
        return [(a, b) for piece, (a, b) in found if a < b and not (self.adds_space and piece == "\u0120" and text[a:b] != " ")]


# --- (c) tiktoken -----------------------------------------------------------------------------------------------------------------------

BYTES = [bytes((b,)) for b in range(256)]


def encoding(pattern: str, pieces: Iterable[bytes]) -> Any:
    tiktoken = pytest.importorskip("tiktoken", reason="tiktoken is not installed")
    ranks = {piece: rank for rank, piece in enumerate(dict.fromkeys([*BYTES, *pieces]))}
    return tiktoken.Encoding(name="boundaries", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})


class Tiktoken:
    """Pieces of short texts. The vocabulary holds every substring of every text, so that a piece is always one token."""

    def __init__(self, pattern: str, texts: Iterable[str]) -> None:
        pieces = {t[a:b].encode() for t in texts for a in range(len(t)) for b in range(a + 1, len(t) + 1)}
        self.encoding = encoding(pattern, sorted(pieces))

    def __call__(self, text: str) -> list[str]:
        return [piece.decode() for piece in self.encoding.decode_tokens_bytes(self.encoding.encode_ordinary(text))]


def tiktoken_pieces(pattern: str, texts: Sequence[str]) -> list[list[str]] | None:
    """The pieces of each text; None for a pattern at which tiktoken panics, since it matches nothing somewhere."""
    reference = Tiktoken(pattern, texts)
    try:
        return [reference(text) for text in texts]
    except BaseException as error:
        if "Panic" not in type(error).__name__:
            raise
        return None


def tiktoken_agrees(pattern: str, text: str, pieces: Sequence[str]) -> int | None:
    """None if tiktoken cuts a long `text` into exactly `pieces`, else the number of the first piece that differs.

    The vocabulary holds the pieces and each two neighbours joined. A right piece is then one token; and a piece of tiktoken's that
    covers two of ours can not come out as these two, because byte pair encoding would have joined them.
    """
    encoded = [piece.encode() for piece in pieces]
    joined = (a + b for a, b in zip(encoded, encoded[1:], strict=False))
    made = encoding(pattern, [*encoded, *joined])
    tokens = made.decode_tokens_bytes(made.encode_ordinary(text))
    if tokens == encoded:
        return None
    return next((i for i, (a, b) in enumerate(zip(tokens, encoded, strict=False)) if a != b), min(len(tokens), len(encoded)))
