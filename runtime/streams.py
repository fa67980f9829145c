"""Streams: a text in parts in, however it is cut; its pieces out, each as soon as nothing that follows can change it.

    stream = lexer.stream()
    stream.feed("I'")                     # ["I"]: what follows may be "m"
    stream.feed("m here")                 # ["'m"]
    stream.finish()                       # [" here"], and the stream is as new

    for pieces in lexer.stream().iterate(parts): ...
    async for pieces in lexer.stream().aiterate(parts): ...

A part is a str, or UTF-8 in anything bytes-like, all parts of a text the same; bytes may be cut inside a character. A PieceStream
holds the text of the piece at hand, a SpanStream no text, but places: bitlex_stream.h says what its state is, 256 bytes. Invariant: what
comes out of all parts together is what the whole text gives. A TypeError changes nothing, and the text goes on; after any other exception,
`reset` begins another.
Rejected: an object for each piece with its offsets, as in `lexers.py`.
"""

from __future__ import annotations

from abc import abstractmethod
from operator import index
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from .pure_stream import Copyable, Stream, User, too_much

if TYPE_CHECKING:
    from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator
    from typing import Self

    from .lexers import Bytes, Lexer, Offsets

__all__ = ["HOLD", "IntoStream", "PieceStream", "SpanStream"]

HOLD = 1 << 24

Part = TypeVar("Part")
Given = TypeVar("Given")


class Fed(Copyable, Generic[Part, Given]):
    """What all streams can do that are fed parts."""

    __slots__ = ()

    @abstractmethod
    def feed(self, part: Part, /) -> Given:
        """What is settled now."""

    @abstractmethod
    def finish(self) -> Given:
        """The rest. The stream is then as new."""

    def iterate(self, parts: Iterable[Part]) -> Iterator[Given]:
        """What each part gives, and the end, but for what is empty. The next part is not asked for before that."""
        amount = self._amount
        for found in map(self.feed, parts):  # and not `filter`: that could not be interrupted
            if amount(found):
                yield found
        yield from self._each(self.finish())

    async def aiterate(self, parts: AsyncIterable[Part]) -> AsyncIterator[Given]:
        """The same of parts that come one by one. Whoever takes the results slowly is sent parts slowly."""
        async for part in parts:
            for found in self._each(self.feed(part)):
                yield found
        for found in self._each(self.finish()):
            yield found

    def _each(self, found: Given) -> Iterator[Given]:
        """What a call gave, unless it is empty; and what it left behind, where there is such."""
        if self._amount(found):
            yield found

    @property
    def _amount(self) -> Callable[[Any], int]:
        """How much a call gave, of what it gave."""
        return len


def hold_of(hold: int | None) -> int:
    """How much a stream may hold."""
    try:
        most = HOLD if hold is None else index(hold)
    except TypeError:
        raise TypeError(f"hold is {hold!r:.80}; it may be an int") from None
    if most < 0:
        raise ValueError(f"hold is {most}; it must be 0 or more")
    return most


def make_stream(lexer: Lexer, hold: int, pieces: bool, into: Any = None) -> Any:
    """The stream of the pieces or offsets of a lexer, which are put in an array if there is one: native where the machine allows that."""
    if has_native_stream(lexer):
        from ._native import Stream as Native

        return Native(lexer._native, min(hold, (1 << 30) - 1), pieces, into)
    from .destination import OffsetDestination, Putting

    made: Any = (PureParts if pieces else PureSpans)(lexer, Stream(pure_machine(lexer), hold), hold)
    return made if into is None else Putting(made, OffsetDestination(into, lexer.drops))


def has_native_stream(lexer: Lexer) -> bool:
    """Whether bitlex_stream.c runs it: one stage, whose sets of backward states are 64 bits."""
    return lexer._native is not None and len(lexer.states) == 1 and lexer.states[0][0] <= 64


def pure_machine(lexer: Lexer) -> Any:
    """The lexer's machine in Python."""
    from .generated.python.scan import Machine

    return lexer._machine if lexer._native is None else Machine(**lexer._tables)


class Relayed(Fed[Part, Given]):
    """Gives what its stream does, native or not."""

    __slots__ = {"_stream": None, "feed": "feed(part) -> what is settled now"}

    feed: Callable[[Part], Given]  # the native method itself: for a short part, a call in between takes a tenth of the time

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self.feed = stream.feed

    def finish(self) -> Given:
        """The rest. The stream is then as new."""
        return self._stream.finish()  # type: ignore[no-any-return]

    def reset(self) -> None:
        """Begin another text."""
        self._stream.reset()

    def copy(self) -> Self:
        """Another stream of the same text so far: for text that may have to be taken back."""
        return type(self)(self._stream.copy())


class SpanStream(Relayed["str | Bytes", "Offsets"]):
    """Where the pieces of a text lie that comes in parts: the ends of those that are settled, or of a lexer that drops their starts and ends,
    as `lexer.spans`, always int64. Made by `lexer.stream(spans=True)`."""

    __slots__ = ()


class PieceStream(Relayed["str | Bytes", "list[Any]"]):
    """The pieces of a text that comes in parts, str of str and bytes of anything bytes-like. Made by `lexer.stream()`."""

    __slots__ = ()


class IntoStream(Fed["str | Bytes", int]):
    """Puts what each part gives in one array, from its start on, and says how many that are. Made by `stream(into=)`.

    What the array has no room for comes with the next call: who gets as many as there is room for asks for `more`. `iterate` does so.
    """

    __slots__ = {"_into": None, "_room": None, "_stream": None, "feed": "feed(part) -> how many are in the array now"}

    feed: Callable[[str | Bytes], int]  # the native method itself

    def __init__(self, stream: Any, into: Any) -> None:
        room = len(memoryview(into))
        if room == 0:
            raise ValueError("the array has no room for anything")
        self._stream, self._into, self._room = stream, into, room
        self.feed = stream.feed

    def finish(self) -> int:
        """The rest. The stream is then as new, but for what there was no room for."""
        return self._stream.finish()  # type: ignore[no-any-return]

    def more(self) -> int:
        """What there was no room for before."""
        return self._stream.more()  # type: ignore[no-any-return]

    def reset(self) -> None:
        """Begin another text; what there was no room for is gone."""
        self._stream.reset()

    def copy(self) -> IntoStream:
        """Another stream of the same text so far, with the same array: for text that may have to be taken back."""
        return IntoStream(self._stream.copy(), self._into)

    def iterate(self, parts: Iterable[str | Bytes]) -> Iterator[int]:
        """How many ids or offsets are in the array each time, of each part and of the end; none of them is 0."""
        room = self._room
        for found in map(self.feed, parts):
            if 0 < found < room:
                yield found
            else:
                yield from self._each(found)
        yield from self._each(self.finish())

    def _each(self, found: int) -> Iterator[int]:
        while found > 0:
            yield found
            found = self.more() if found == self._room else 0  # most parts are not asked for more


class PureSpans(Copyable):
    """What gives offsets where nothing is native."""

    def __init__(self, lexer: Lexer, stream: Stream, hold: int) -> None:
        self.lexer, self.stream, self.hold, self.user = lexer, stream, hold, User()

    def feed(self, part: str | Bytes, /) -> Offsets:
        units = self.lexer._readable(part)
        with self.user.turn(), self.user:
            return self.array(self.stream.feed(units))

    def finish(self) -> Offsets:
        with self.user.turn(), self.user:
            return self.array(self.stream.finish())

    def reset(self) -> None:
        with self.user.turn():
            self.user.failed = True
            self.stream.reset()
            self.user.failed = False

    def copy(self) -> PureSpans:
        with self.user.turn():
            twin = PureSpans(self.lexer, self.stream.copy(), self.hold)
            twin.user.failed = self.user.failed
            return twin

    def array(self, offsets: list[int]) -> Offsets:
        import numpy

        found: Offsets = numpy.array(offsets, numpy.int64)
        return found.reshape(-1, 2) if self.lexer.drops else found


class PureParts(Copyable):
    """What gives pieces there: it holds the text of the piece at hand."""

    def __init__(self, lexer: Lexer, stream: Stream, hold: int) -> None:
        self.lexer, self.stream, self.hold, self.user = lexer, stream, hold, User()
        self.parts: list[Any] = []
        self.start = self.size = 0  # where what is held begins in the text, and how long it is

    def feed(self, part: str | Bytes, /) -> list[Any]:
        units = self.lexer._readable(part)
        with self.user.turn(), self.user:
            offsets = self.stream.feed(units)
            self.parts.append(bytes(units) if isinstance(units, memoryview) else units)
            self.size += len(units)
            found = self.cut(offsets)
            if self.size > self.hold:
                raise too_much(self.hold, "characters" if isinstance(units, str) else "bytes")
            return found

    def finish(self) -> list[Any]:
        with self.user.turn(), self.user:
            found = self.cut(self.stream.finish())
            self.parts, self.start, self.size = [], 0, 0
            return found

    def reset(self) -> None:
        with self.user.turn():
            self.user.failed = True
            self.stream.reset()
            self.parts, self.start, self.size = [], 0, 0
            self.user.failed = False

    def copy(self) -> PureParts:
        with self.user.turn():
            twin = PureParts(self.lexer, self.stream.copy(), self.hold)
            twin.parts, twin.start, twin.size, twin.user.failed = list(self.parts), self.start, self.size, self.user.failed
            return twin

    def cut(self, places: list[int]) -> list[Any]:
        if not places:
            return []
        text = self.parts[0] if len(self.parts) == 1 else type(self.parts[0])().join(self.parts)
        base = self.start
        if self.lexer.drops:
            found = [text[start - base : end - base] for start, end in zip(places[::2], places[1::2], strict=True)]
        else:
            found = [text[start - base : end - base] for start, end in zip([base, *places], places, strict=False)]
        text = text[places[-1] - base :]
        self.parts, self.start, self.size = [text] if text else [], places[-1], len(text)
        return found
