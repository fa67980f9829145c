"""What tiktoken's functions raise, and for what.

    refuse("a<|end|>", {"<|end|>"})             # ValueError, naming <|end|>

In: arguments. Out: the argument, or an exception of the type that tiktoken raises, with words of our own. Invariant: nothing is refused
that tiktoken takes but where its result hangs on the order of a hash table.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import ceil
from typing import NoReturn

from ..lexers import cores
from ..vocabulary import VocabularyError
from .arguments import natural, text, typed

__all__ = ["checked", "refuse", "refuse_alike", "refuse_numbers", "refuse_parts", "workers"]


def checked(text: str) -> str:
    if not isinstance(text, str):
        raise TypeError(f"expected str, got {type(text).__name__}")
    return text


def workers(threads: float | None) -> int:
    if threads is None:  # as many as ThreadPoolExecutor has then
        return cores()
    if threads <= 0:
        raise ValueError(f"num_threads is {threads}, not positive")
    return cores() if threads >= cores() else ceil(threads)


def refuse(text: str, disallowed: Iterable[str]) -> None:
    """ValueError if a text has one of these; the first is named."""
    places = [(text.find(token), token) for token in disallowed if token in text]
    if places:
        refuse_token(min(places)[1])


def refuse_token(token: str) -> NoReturn:
    raise ValueError(
        f"the text has {token!r}, a disallowed special token. To have it encoded as that token, pass `allowed_special={{{token!r}}}`; "
        f"to have it encoded as any other text, `disallowed_special=(enc.special_tokens_set - {{{token!r}}})`, or "
        "`disallowed_special=()` for all of them"
    )


def refuse_numbers(tokens: Iterable[int]) -> None:
    """OverflowError for a number that cannot be an id, as one of 32 bits."""
    for number in tokens:
        if not 0 <= number < 1 << 32:
            raise OverflowError(f"{number} is no token id, which has 32 bits")


def refuse_parts(ranks: Mapping[bytes, int], special: Mapping[str, int], pattern: str) -> None:
    """What an encoding cannot be made of: numbers that are no ids of 32 bits, special tokens and patterns that are no str with UTF-8."""
    refuse_numbers((min(ranks.values()), max(ranks.values())))
    for content, number in typed(special, dict).items():
        text(content)
        natural(number, 32)
    text(pattern)


def refuse_alike(special: Iterable[str]) -> None:
    """Of two tokens at one place in a text, tiktoken finds the one that its hash table has first."""
    listed = sorted(special)
    for one, other in zip(listed, listed[1:], strict=False):
        if other.startswith(one):
            raise VocabularyError(
                f"special token {other!r} begins with another, {one!r}: which of them tiktoken finds is not determined"
            )
