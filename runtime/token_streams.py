"""Streams of tokens: a text in parts in, its ids out, each as soon as nothing that follows can change it; and ids in, their text out.

    stream = tokenizer.stream()
    stream.feed("hel")                      # []
    stream.feed("lo world")                 # [15339]
    stream.finish()                         # [1917]

    decoding = tokenizer.decode_stream()
    decoding.feed([9468]); decoding.feed([19044])       # "", then "\\U0001f642": never a part of a character

docs/streams.md says what is held, and why ids are final. Invariant: the ids of all parts together are what `encode` gives for the whole
text, and their places what `encode_with_offsets` gives; decoded text is what `decode` gives for all ids.
"""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING, Any

from .encoders import Pure, mended
from .lexers import readable
from .pure_stream import Copyable, User
from .pure_token_stream import PureTokenStream
from .streams import Fed, Given, Relayed, has_native_stream, pure_machine

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from .encoders import Encoder
    from .lexers import Bytes
    from .tokenizer import Ids, Tokenizer

__all__ = [
    "INTO", "LISTS", "PLACED", "ROWS", "Adapted", "DecodeStream", "NativeTokenStream", "TokenStream", "joined", "make_decode_stream",
    "make_token_stream",
]  # fmt: skip

LISTS, ARRAYS, PLACED, INTO, ROWS = range(5)  # what a stream gives, as in _token_stream.c


class PieceEncoder:
    """What a PureTokenStream encodes pieces with: any Encoder."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        vocabulary = tokenizer.description.vocabulary
        self.encoder, self.whole = tokenizer._encoder, vocabulary.whole
        self.longest = max(map(len, vocabulary.tokens()), default=0)

    def encode_piece(self, piece: bytes, at: int, /) -> list[int]:
        found = self.encoder.find(piece) if self.whole else None
        return self.merged(piece, at) if found is None else [found]

    def merged(self, piece: bytes, at: int, /) -> list[int]:
        try:
            return self.encoder.merge(piece, "automatic")
        except ValueError:
            wrong = next(i for i in range(len(piece)) if self.encoder.find(piece[i : i + 1]) is None)
            raise ValueError(f"byte 0x{piece[wrong]:02x} at {at + wrong} is no token of this vocabulary") from None

    def token(self, number: int, /) -> bytes:
        return self.encoder.token(number)


class Adapted(Copyable):
    """A stream of bytes in Python that takes and gives what the native one does: a PureTokenStream or a NormalizedStream."""

    def __init__(self, stream: Any, result: int) -> None:
        self.stream, self.result = stream, result
        self.kind: type | None = None

    def feed(self, part: Any, /) -> Any:
        kind = str if isinstance(part, str) else bytes
        data = mended(part).encode() if isinstance(part, str) else bytes(readable(part))
        if self.kind is not None and kind is not self.kind:
            raise TypeError(f"this stream was fed {self.kind.__name__} before, and a text cannot be both")
        self.kind = kind
        return self.given(self.stream.feed(data))

    def finish(self) -> Any:
        found = self.given(self.stream.finish())
        self.kind = None
        return found

    def reset(self) -> None:
        self.stream.reset()
        self.kind = None

    def copy(self) -> Adapted:
        twin = Adapted(self.stream.copy(), self.result)
        twin.kind = self.kind
        return twin

    def given(self, found: tuple[Any, Any]) -> Any:
        ids, places = found
        if self.result == LISTS:
            return ids
        import numpy

        array = numpy.asarray(ids, numpy.uint32)
        return array if self.result == ARRAYS else (array, numpy.asarray(places, numpy.int64))


def make_token_stream(
    tokenizer: Tokenizer, allowed: Mapping[bytes, int], disallowed: Mapping[bytes, int], hold: int, result: int
) -> Any:  # fmt: skip
    """A stream of ids of a text that is encoded as it is: native where the lexer allows that."""
    lexer, encoder = tokenizer.lexer, tokenizer._encoder
    if has_native_stream(lexer):
        found, wrong = (encoder.specials(dict(tokens)) if tokens else None for tokens in (allowed, disallowed))
        return native_token_stream(encoder, found, wrong, hold, result)
    return Adapted(PureTokenStream(pure_machine(lexer), PieceEncoder(tokenizer), allowed, disallowed, hold), result)


def native_token_stream(encoder: Any, found: Any, wrong: Any, hold: int, result: int, normalize: Any = None, into: Any = None) -> Any:
    """The same, of special tokens as the encoder has them, or None; and of a text that `normalize` puts in NFC, if it is not None. For INTO,
    with an array."""
    from ._native import TokenStream as Native

    return Native(encoder, found, wrong, min(hold, (1 << 30) - 1), result, normalize, into)


class Characters:
    """Places in the UTF-8 of a str that comes in parts -> places in the str. A token that has some bytes of a character has all of it."""

    def __init__(self) -> None:
        self.text = bytearray()
        self.base = self.before = 0  # where it begins, in bytes and in characters
        self.paired: list[int] = []  # where there are characters that two surrogates spelled
        self.length = 0

    def feed(self, part: str) -> None:
        spelled = mended(part)
        if len(spelled) != len(part):
            at, place = 0, self.length
            for character in spelled:
                if character > "\uffff" and part[at] != character:
                    self.paired.append(place)
                    at += 1
                at += 1
                place += len(character.encode())
        data = spelled.encode()
        self.text += data
        self.length += len(data)

    def places(self, places: Any) -> Any:
        import numpy

        if not len(places):
            return places
        data = numpy.frombuffer(self.text, numpy.uint8)
        begins = (data & 0xC0) != 0x80
        weight = begins.astype(numpy.int64)
        weight[[at - self.base for at in self.paired]] += 1
        count = numpy.concatenate(([0], numpy.cumsum(weight))) + self.before
        begun = numpy.append(numpy.maximum.accumulate(numpy.where(begins, numpy.arange(len(data)), 0)), len(data))
        del data  # of which there must be no view when it gets shorter
        found = places.copy()
        found[::2] = count[begun[places[::2] - self.base]]
        found[1::2] = count[places[1::2] - self.base]
        done = int(begun[places[-1] - self.base])
        self.before = int(count[done])
        del self.text[:done]
        self.base += done
        self.paired = [at for at in self.paired if at >= self.base]
        return found

    def copy(self) -> Characters:
        twin = Characters()
        twin.__dict__.update(self.__dict__)
        twin.text, twin.paired = self.text[:], self.paired[:]
        return twin


class TokenStream(Fed["str | Bytes", Given]):
    """Encodes a text that comes in parts. Made by `tokenizer.stream()`, which says what it gives."""

    __slots__ = ("_characters", "_high", "_result", "_stream", "_user")

    def __init__(self, stream: Any, result: int) -> None:
        self._stream, self._result, self._user = stream, result, User()
        self._high = ""  # a surrogate that the next part may have the other half of
        self._characters: Characters | None = None

    def feed(self, part: str | Bytes, /) -> Given:
        """The ids that are settled."""
        with self._user.turn(), self._user:
            return self._fed(part)

    @property
    def _amount(self) -> Callable[[Any], int]:
        return amount_of_placed if self._result == PLACED else len

    def _fed(self, part: str | Bytes) -> Given:
        high = self._high
        if isinstance(part, str) and (high or "\ud800" <= part[-1:] <= "\udbff"):
            part = high + part
            high = part[-1:] if "\ud800" <= part[-1:] <= "\udbff" else ""
            part = part[: len(part) - len(high)]
            if "\ud800" <= part[-1:] <= "\udbff":  # what waits is no other half of it, so it need not wait
                part = part[:-1] + "\ufffd"
        if isinstance(part, str) and self._result == PLACED:
            found = self._placed(part)
        else:
            found = self._stream.feed(part)
            if self._result == PLACED:
                found = found[0], found[1].reshape(-1, 2)
        self._high = high  # that of a part which is refused is not kept
        return found  # type: ignore[no-any-return]

    def finish(self) -> Given:
        """The rest. The stream is then as new."""
        with self._user.turn(), self._user:
            return self._finished()

    def _finished(self) -> Given:
        rest, self._high = self._high, ""
        first = self._alone() if rest else None
        found = self._stream.finish()
        if self._result == PLACED:
            places = found[1] if self._characters is None else self._characters.places(found[1])
            self._characters = None
            found = found[0], places.reshape(-1, 2)
        return found if first is None else joined(first, found)  # type: ignore[no-any-return]

    def _alone(self) -> Any:
        """A surrogate is read whose other half did not come."""
        return self._placed("\ufffd") if self._result == PLACED else self._stream.feed("\ufffd")

    def _placed(self, part: str) -> Any:
        ids, places = self._stream.feed(part)
        if self._characters is None:
            self._characters = Characters()
        self._characters.feed(part)
        return ids, self._characters.places(places).reshape(-1, 2)

    def reset(self) -> None:
        """Begin another text."""
        with self._user.turn():
            self._user.failed = True
            self._stream.reset()
            self._high, self._characters, self._user.failed = "", None, False

    def copy(self) -> TokenStream[Given]:
        """Another stream of the same text so far: for text that may have to be taken back."""
        with self._user.turn():
            twin: TokenStream[Given] = TokenStream(self._stream.copy(), self._result)
            twin._high, twin._user.failed = self._high, self._user.failed
            twin._characters = None if self._characters is None else self._characters.copy()
            return twin


def amount_of_placed(found: tuple[Any, Any]) -> int:
    """How many ids there are, of ids and their places."""
    return len(found[0])


def joined(first: Any, second: Any) -> Any:
    """What two calls gave, as one."""
    if isinstance(first, list):
        return first + second
    import numpy

    if isinstance(first, tuple):
        return tuple(numpy.concatenate(both) for both in zip(first, second, strict=True))
    return numpy.concatenate((first, second))


class NativeTokenStream(TokenStream[Given]):
    """One that gives lists, arrays, or arrays and places, all in C."""

    __slots__ = {"feed": "feed(part) -> the ids that are settled"}

    feed: Callable[[str | Bytes], Given]  # the native method itself: for a short part, a call in between takes a sixth of the time

    def __init__(self, stream: Any, result: int) -> None:
        super().__init__(stream, result)
        self.feed = stream.feed

    def finish(self) -> Given:
        return self._stream.finish()  # type: ignore[no-any-return]

    def copy(self) -> NativeTokenStream[Given]:
        return NativeTokenStream(self._stream.copy(), self._result)


class DecodeStream(Relayed["int | Ids", str]):
    """Decodes ids that come in parts: `feed` gives the text of one id, or of several, up to the last character that is complete, and is a
    KeyError for an id that is none; `finish`, what becomes of bytes that are no complete character. Made by `tokenizer.decode_stream()`. Its
    state: at most three bytes of a character."""

    __slots__ = ()


def make_decode_stream(encoder: Any, errors: str, skips: bool) -> DecodeStream:
    """Native where the encoder is."""
    if isinstance(encoder, Pure):
        return DecodeStream(PureDecodeStream(encoder, errors, skips))
    from ._native import DecodeStream as Native

    return DecodeStream(Native(encoder, errors, skips))


class PureDecodeStream(Copyable):
    """The same in Python."""

    __slots__ = ("decoder", "encoder", "errors", "skips", "user")

    def __init__(self, encoder: Encoder, errors: str, skips: bool) -> None:
        self.encoder, self.errors, self.skips, self.user = encoder, errors, skips, User()
        self.decoder = codecs.getincrementaldecoder("utf-8")(errors)

    def feed(self, ids: int | Ids, /) -> str:
        wanted: Any = [ids] if hasattr(ids, "__index__") and not hasattr(ids, "__len__") else ids
        data = self.encoder.decode(wanted, self.skips)
        with self.user.turn(), self.user:
            return self.decoder.decode(data)

    def finish(self) -> str:
        with self.user.turn(), self.user:
            rest, _ = self.decoder.getstate()
            self.decoder.reset()
        return rest.decode("utf-8", self.errors)

    def reset(self) -> None:
        with self.user.turn():
            self.user.failed = True
            self.decoder.reset()
            self.user.failed = False

    def copy(self) -> PureDecodeStream:
        twin = PureDecodeStream(self.encoder, self.errors, self.skips)
        with self.user.turn():
            twin.decoder.setstate(self.decoder.getstate())
            twin.user.failed = self.user.failed
        return twin
