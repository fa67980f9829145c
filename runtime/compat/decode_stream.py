"""DecodeStream of Hugging Face tokenizers: ids in, one after another, and out of each what it adds to the text.

    stream = DecodeStream()
    [stream.step(tokenizer, number) for number in (19567, 255)]          # [None, "อ"]

What has come out is kept as the ids of the last text that was whole, and decoded again together with the next: only so is a character
seen to be whole. Nothing comes out as long as the text ends with U+FFFD. Invariant: the same as tokenizers 0.23.3 for every sequence
of ids; an id that makes what came out another text is a ValueError. Rejected: keeping bytes instead (it would differ where a token
decodes to U+FFFD itself).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .arguments import flag, natural, naturals

if TYPE_CHECKING:
    from .huggingface import Tokenizer

__all__ = ["DecodeStream"]

UNKNOWN = "\ufffd"


class DecodeStream:
    """`ids`: those that came before."""

    def __init__(self, ids: Sequence[int] | None = None, skip_special_tokens: bool | None = False) -> None:
        self._ids = [] if ids is None else naturals(ids)
        self._skip = skip_special_tokens is not None and flag(skip_special_tokens)
        self._text, self._known = "", 0  # what has come out of the first ids, and how many these are

    def step(self, tokenizer: Tokenizer, id: int | Sequence[int]) -> str | None:
        """What an id adds to the text, or several; None if that is not known yet."""
        try:
            decode, joins = tokenizer._decoded, tokenizer._joins_bytes
        except AttributeError:
            raise TypeError(f"expected a Tokenizer, got {type(tokenizer).__name__}") from None
        following = [id] if type(id) is int and not id >> 32 else step_of(id)
        ids, before = self._ids, self._text
        if ids and not before:
            text = decode(ids, self._skip)
            if not text.endswith(UNKNOWN):
                before, self._text, self._known = text, text, len(ids)
        self._ids = ids = ids + following
        text = decode(ids, self._skip)
        if text.endswith(UNKNOWN):
            return None
        if not text.startswith(before):
            if len(text.encode()) <= len(before.encode()):
                return None
            raise ValueError(f"id {ids[-1]} makes {text!r} of what came out as {before!r}")
        if len(text) == len(before):
            return None
        self._ids, self._known = ids[self._known :], len(ids) - self._known
        added = text[len(before) :]
        self._text = added if joins else decode(self._ids, self._skip)
        return added


def step_of(id: Any) -> list[int]:
    """An id, or several, as a list. What is neither is a TypeError, also a number that cannot be an id."""
    try:
        return [natural(id, 32)] if hasattr(id, "__index__") and not getattr(id, "shape", ()) else naturals(id)
    except (TypeError, OverflowError) as error:
        raise TypeError(f"expected an id or a sequence of ids: {error}") from error
