"""What Hugging Face tokenizers takes as texts: a str, or, pre-tokenized, a list of words; two of them are a pair.

    texts_of("a b", None, False)                             # ["a b"]
    batch_of(["a", ("b", "c")], False)                       # [["a"], ["b", "c"]]
    batch_of([["a", "b"], (["c"], ["d"])], True)             # [[["a", "b"]], [["c"], ["d"]]]

Invariant: what is taken, and what is a TypeError, as in tokenizers 0.23.3; a str with a lone surrogate is one, for it has no UTF-8.
Refused beyond that: a numpy array of dtype "U" as words, of which tokenizers reads the memory as UTF-8. Rejected: guessing from the
values whether a text is pre-tokenized.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import Any, TypeAlias

from .arguments import sequential

__all__ = ["Texts", "batch_of", "texts_of"]

Texts: TypeAlias = list[str | list[str]]  # one or two


def texts_of(sequence: Any, pair: Any, words: bool) -> Texts:
    """One text or two."""
    read = sequence_of_words if words else text_of
    return [read(sequence)] if pair is None else [read(sequence), read(pair)]


def batch_of(inputs: Sequence[Any], words: bool) -> list[Texts]:
    """Many texts, or pairs of them."""
    return [one_of(found, words) for found in sequential(inputs)]


def one_of(found: Any, words: bool) -> Texts:
    read = words_of if words else text_in
    text: Any = read(found)
    if text is not None:
        return [text]
    if not isinstance(found, (str, bytes, Mapping, Set)) and hasattr(found, "__len__") and len(found) == 2:
        return texts_of(found[0], found[1], words)
    kind = "PreTokenizedEncodeInput" if words else "TextEncodeInput"
    raise TypeError(f"{type(found).__name__} is no {kind}: neither a {kind.replace('Encode', '')}Sequence nor a pair of them")


def text_of(found: Any) -> str:
    text = text_in(found)
    if text is None:
        raise TypeError(f"a TextInputSequence is a str that has UTF-8, not {found!r:.60}")
    return text


def sequence_of_words(found: Any) -> list[str]:
    words = words_of(found)
    if words is None:
        raise TypeError(f"a PreTokenizedInputSequence is a list or tuple of str, not {found!r:.60}")
    return words


def words_of(found: Any) -> list[str] | None:
    """The words; None if there is something else."""
    if not isinstance(found, (list, tuple)) and not (type(found).__name__ == "ndarray" and found.dtype == object and found.ndim == 1):
        return None
    words = [text_in(word) for word in found]
    return None if None in words else words  # type: ignore[return-value]


def text_in(found: Any) -> str | None:
    """The str, as Python's own; None if it is none, or has no UTF-8."""
    if not isinstance(found, str):
        return None
    try:
        return str(found) if found.isascii() or found.encode() else None
    except UnicodeEncodeError:
        return None
