"""Do two lexers split every text alike? An answer for all texts, and the shortest text that shows it if they do not.

    bitlex.same("gpt2", r"'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+")     # True
    bitlex.difference("cl100k", "llama3").text                # "\\n ": one piece for tiktoken, two for Llama 3

Nothing is sampled: both are finite automata, and all pairs of states that one text can lead them to are visited (see
generator/compare.py). Rejected: an answer that is True or a text, which is true in either case.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .catalogue import families, lexer
from .compiler import compile, compile_again
from .lexers import Lexer

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Difference", "difference", "same"]


@dataclass(frozen=True, slots=True)
class Difference:
    """A shortest text that two lexers split differently, and what each makes of it."""

    text: str
    first: list[str]
    second: list[str]


def same(a: Lexer | str | Mapping[str, Any], b: Lexer | str | Mapping[str, Any]) -> bool:
    """Whether `a` and `b` split every text of every length alike. Arguments and errors as in `difference`."""
    return difference(a, b) is None


def difference(a: Lexer | str | Mapping[str, Any], b: Lexer | str | Mapping[str, Any]) -> Difference | None:
    """A shortest text that `a` and `b` split differently; None if there is none, of any length.

    Each is a Lexer, the name of a family as `bitlex.families` spells it, or what `bitlex.compile` takes: a pattern (in the fancy
    dialect, Unicode 16.0), or a pre_tokenizer object. PatternError for a pattern that cannot be a lexer; ValueError for lexers that are
    a cascade of several machines (see `Lexer.states`) or bytewise, which cannot be compared. Takes milliseconds.
    """
    from .generator.compare import difference as shortest

    one, two = as_lexer(a), as_lexer(b)
    found = shortest(compile_again(one), compile_again(two))
    return None if found is None else Difference(found.text, one.split(found.text), two.split(found.text))


def as_lexer(of: Lexer | str | Mapping[str, Any]) -> Lexer:
    if isinstance(of, Lexer):
        return of
    if isinstance(of, str) and any(of == name or of in aliases for name, aliases in families().items()):
        return lexer(of)
    return compile(of)
