"""Streams: a text in parts in, however it is cut; its pieces out, each as soon as nothing that follows can change it.

    stream = lexer.stream()
    stream.feed("I'")                     # []: "m" may follow
    stream.feed("m here")                 # ["I", "'m"]
    stream.finish()                       # [" here"], and the stream is as new

    for pieces in lexer.stream().iterate(parts): ...
    async for pieces in lexer.stream().aiterate(parts): ...

A part is a str, or UTF-8 in anything bytes-like, all parts of a text the same; bytes may be cut inside a character. A PieceStream
holds the text of the piece at hand, a SpanStream no text, but places: bitlex_stream.h says what its state is, 248 bytes. Invariant: what
comes out of all parts together is what the whole text gives. Whatever raises an exception ends the text: `reset` begins another.
Rejected: an object for each piece with its offsets, as in `lexer.py`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from .pure_stream import Stream, too_much

if TYPE_CHECKING:
    from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator

    from .lexer import Bytes, Lexer, Offsets

__all__ = ["HOLD", "PieceStream", "SpanStream"]

HOLD = 1 << 24

Given = TypeVar("Given")


class Fed(ABC, Generic[Given]):
    """What all streams can do that are fed parts."""

    __slots__ = ()

    @abstractmethod
    def feed(self, part: str | Bytes, /) -> Given:
        """What is settled now."""

    @abstractmethod
    def finish(self) -> Given:
        """The rest. The stream is then as new."""

    def iterate(self, parts: Iterable[str | Bytes]) -> Iterator[Given]:
        """What each part gives, and the end, but for what is empty. The next part is not asked for before that."""
        for part in parts:
            found = self.feed(part)
            if len(found):  # type: ignore[arg-type]
                yield found
        found = self.finish()
        if len(found):  # type: ignore[arg-type]
            yield found

    async def aiterate(self, parts: AsyncIterable[str | Bytes]) -> AsyncIterator[Given]:
        """The same of parts that come one by one. Whoever takes the results slowly is sent parts slowly."""
        async for part in parts:
            found = self.feed(part)
            if len(found):  # type: ignore[arg-type]
                yield found
        found = self.finish()
        if len(found):  # type: ignore[arg-type]
            yield found


def make_stream(lexer: Lexer, hold: int) -> Any:
    """The stream of offsets of a lexer: native where the machine allows that."""
    if hold < 0:
        raise ValueError(f"hold is {hold}; it must be 0 or more")
    if has_native_stream(lexer):
        from ._native import Stream as Native

        return Native(lexer._native, min(hold, (1 << 30) - 1))
    return Stream(pure_machine(lexer), hold)


def has_native_stream(lexer: Lexer) -> bool:
    """Whether bitlex_stream.c runs it: one stage, whose sets of backward states are 64 bits."""
    return lexer._native is not None and len(lexer.states) == 1 and lexer.states[0][0] <= 64


def pure_machine(lexer: Lexer) -> Any:
    """The lexer's machine in Python."""
    from .generated.python.scan import Machine

    return lexer._machine if lexer._native is None else Machine(**lexer._tables)


class SpanStream(Fed["Offsets"]):
    """Where the pieces of a text lie that comes in parts. Made by `lexer.stream(spans=True)`."""

    __slots__ = ("_lexer", "_stream")

    def __init__(self, lexer: Lexer, hold: int, stream: Any = None) -> None:
        self._lexer = lexer
        self._stream = make_stream(lexer, hold) if stream is None else stream

    def feed(self, part: str | Bytes, /) -> Offsets:
        """The ends of the pieces that are settled, or of a lexer that drops their starts and ends, as `lexer.spans`, always int64."""
        return self._array(self._stream.feed(self._lexer._readable(part)))

    def finish(self) -> Offsets:
        """The rest. The stream is then as new."""
        return self._array(self._stream.finish())

    def reset(self) -> None:
        """Begin another text."""
        self._stream.reset()

    def copy(self) -> SpanStream:
        """Another stream of the same text so far: for text that may have to be taken back."""
        return SpanStream(self._lexer, 0, self._stream.copy())

    def _array(self, offsets: Any) -> Offsets:
        import numpy

        found: Offsets = numpy.array(offsets, numpy.int64) if isinstance(offsets, list) else numpy.frombuffer(offsets, numpy.int64)
        return found.reshape(-1, 2) if self._lexer.drops else found


class PieceStream(Fed["list[Any]"]):
    """The pieces of a text that comes in parts. Made by `lexer.stream()`."""

    __slots__ = ("_drops", "_hold", "_lexer", "_parts", "_size", "_start", "_stream")

    def __init__(self, lexer: Lexer, hold: int, stream: Any = None) -> None:
        self._lexer, self._hold, self._drops = lexer, hold, lexer.drops
        self._stream = make_stream(lexer, hold) if stream is None else stream
        self._parts: list[Any] = []
        self._start = self._size = 0  # where what is held begins in the text, and how long it is

    def feed(self, part: str | Bytes, /) -> list[Any]:
        """The pieces that are settled, str of str and bytes of anything bytes-like."""
        units = self._lexer._readable(part)
        offsets = self._stream.feed(units)
        self._parts.append(bytes(units) if isinstance(units, memoryview) else units)
        self._size += len(units)
        found = self._cut(offsets)
        if self._size > self._hold:
            raise too_much(self._hold, "characters" if isinstance(units, str) else "bytes")
        return found

    def finish(self) -> list[Any]:
        """The rest. The stream is then as new."""
        found = self._cut(self._stream.finish())
        self._parts, self._start, self._size = [], 0, 0
        return found

    def reset(self) -> None:
        """Begin another text."""
        self._stream.reset()
        self._parts, self._start, self._size = [], 0, 0

    def copy(self) -> PieceStream:
        """Another stream of the same text so far: for text that may have to be taken back."""
        twin = PieceStream(self._lexer, self._hold, self._stream.copy())
        twin._parts, twin._start, twin._size = list(self._parts), self._start, self._size
        return twin

    def _cut(self, offsets: Any) -> list[Any]:
        places = offsets if isinstance(offsets, list) else memoryview(offsets).cast("q").tolist()
        if not places:
            return []
        text = self._parts[0] if len(self._parts) == 1 else type(self._parts[0])().join(self._parts)
        base = self._start
        if self._drops:
            found = [text[start - base : end - base] for start, end in zip(places[::2], places[1::2], strict=True)]
        else:
            found = [text[start - base : end - base] for start, end in zip([base, *places], places, strict=False)]
        text = text[places[-1] - base :]
        self._parts, self._start, self._size = [text] if text else [], places[-1], len(text)
        return found
