"""DecodeStream of Hugging Face tokenizers: ids in, one after another, and out of each what it adds to the text.

    stream = DecodeStream()
    [stream.step(tokenizer, number) for number in (19567, 255)]          # [None, "อ"]

What has come out is kept as the ids of the last text that was whole, and decoded again together with the next: only so is a character
seen to be whole. Nothing comes out as long as the text ends with U+FFFD. Where a text is the bytes of its tokens, what came out before was
whole, so those ids are passed over: the rest is a text by itself. Invariant: the same as tokenizers 0.23.3 for every sequence of ids; an id
that makes what came out another text is a ValueError. Rejected: keeping bytes instead (it would differ where a token decodes to U+FFFD
itself).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..pure_stream import Copyable
from .arguments import flag, natural, naturals

if TYPE_CHECKING:
    from .huggingface import Tokenizer

__all__ = ["DecodeStream"]

UNKNOWN = "\ufffd"


class DecodeStream(Copyable):
    """`ids`: those that came before."""

    def __init__(self, ids: Sequence[int] | None = None, skip_special_tokens: bool | None = False) -> None:
        self._waiting = [] if ids is None else naturals(ids)  # nothing is known of their text yet
        self._skip = skip_special_tokens is not None and flag(skip_special_tokens)
        self._out: list[int] = []  # the ids of what came out last, and what that was
        self._text = ""
        self._core: object = None  # what made text of them, if there is any, and if it is the bytes of tokens

    def copy(self) -> DecodeStream:
        """Another stream, of the same ids so far."""
        made = DecodeStream(self._waiting, self._skip)
        made._out, made._text, made._core = self._out, self._text, self._core
        return made

    def step(self, tokenizer: Tokenizer, id: int | Sequence[int]) -> str | None:
        """What an id adds to the text, or several; None if that is not known yet."""
        try:
            decode, core = tokenizer._decoded, tokenizer._steps.core
        except AttributeError:
            raise TypeError(f"expected a Tokenizer, got {type(tokenizer).__name__}") from None
        waiting = [id] if type(id) is int and not id >> 32 else step_of(id)
        if core is not self._core:  # to another tokenizer, or one with other tokens, what came out may be another text
            return self._compared(tokenizer, waiting)
        if self._waiting:
            waiting = self._waiting + waiting
        try:  # straight to what nearly all ids go to
            added = decode(waiting, True) if self._skip else core.decode(waiting, "replace", False)
        except KeyError:
            added = decode(waiting, False)
        if not added or added[-1] == UNKNOWN:
            self._waiting = waiting
            return None
        self._out, self._waiting, self._text = waiting, [], added
        return added

    def _compared(self, tokenizer: Tokenizer, following: list[int]) -> str | None:
        decode, core = tokenizer._decoded, tokenizer._steps.core if tokenizer._joins_bytes else None
        ids, before = self._out + self._waiting, self._text
        if ids and not before:
            text = decode(ids, self._skip)
            if not text.endswith(UNKNOWN):
                before, self._text, self._out, self._waiting, self._core = text, text, ids, [], core if text else None
        self._waiting = waiting = self._waiting + following
        text = decode(self._out + waiting, self._skip)
        if text.endswith(UNKNOWN):
            return None
        if not text.startswith(before):
            if len(text.encode()) <= len(before.encode()):
                return None
            raise ValueError(f"id {waiting[-1]} makes {text!r} of what came out as {before!r}")
        if len(text) == len(before):
            return None
        self._out, self._waiting, self._core = waiting, [], core
        self._text = decode(waiting, self._skip)
        return text[len(before) :]


def step_of(id: Any) -> list[int]:
    """An id, or several, as a list. What is neither is a TypeError, also a number that cannot be an id."""
    try:
        return [natural(id, 32)] if hasattr(id, "__index__") and not getattr(id, "shape", ()) else naturals(id)
    except (TypeError, OverflowError) as error:
        raise TypeError(f"expected an id or a sequence of ids: {error}") from error
