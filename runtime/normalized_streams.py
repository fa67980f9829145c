"""Ids of a text in parts, of a tokenizer that does not encode texts as they are. As added.py, which has the definition.

Where that is NFC alone, and the lexer has a native stream, the steps below are those of _token_normalizing.c, and here is only what puts a part
in NFC and counts places. For all others:

    raw text -> added tokens that are looked for in it -> the stretches between, in NFC -> tokens that are looked for in these
             -> the stretches between, with a space before them if that is asked for -> a stream that encodes what it is given

Each step hands on what nothing that follows can change: NFC up to the last character before which a text can be cut. Places are those of
the raw text: of white space that a token takes, the token's; of a run that NFC changed (`changes`), its all where the id is that has its first
byte, and nothing where one has only others; of the space in front, nothing. So the places tile the raw text, as far as the lexer drops none.
Bytes that are not UTF-8 go through as they are, and are no white space, no word characters and nothing to NFC. Invariant: as in
token_streams.py. Rejected: normalizing before the tokens are looked for (a mark behind "<|end|>" would take its last character away).
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, Any

from .added import WHITE_SPACE, Search
from .added_streams import AddedStream, Taken
from .normalization import changes, last_border, nfc
from .pure_stream import Copyable, too_much, unfinished
from .pure_token_stream import Specials, special_error
from .token_streams import LISTS, PLACED, Adapted, make_token_stream, native_token_stream

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .tokenizer import Tokenizer
    from .vocabulary import AddedToken, Description

__all__ = ["make_nfc_stream", "make_normalized_stream"]


def make_nfc_stream(encoder: Any, found: Any, wrong: Any, hold: int, result: int, into: Any = None) -> Any:
    """The native stream of a tokenizer that does nothing but NFC; of special tokens as the encoder has them, or None. For INTO, with an array."""
    if result == PLACED:
        changed = Changed()
        return NfcStream(native_token_stream(encoder, found, wrong, hold, result, changed), changed)
    return native_token_stream(encoder, found, wrong, hold, result, Changed.put_in_nfc, into)


def make_normalized_stream(
    tokenizer: Tokenizer, allowed: tuple[Search, Search], disallowed: Mapping[bytes, int], hold: int, result: int
) -> Adapted:  # fmt: skip
    """What gives ids as the native stream does. `allowed`: the tokens that are, as `searches` gives them."""
    stream = make_token_stream(tokenizer, {}, {}, hold, result)
    return Adapted(NormalizedStream(stream, tokenizer.description, allowed, disallowed, hold, result), result)


class NormalizedStream(Copyable):
    """Bytes in; out, the ids that are settled, and a start and an end for each if that is what the stream that encodes stretches gives."""

    def __init__(
        self, stream: Any, description: Description, allowed: tuple[Search, Search], disallowed: Mapping[bytes, int], hold: int, result: int
    ) -> None:  # fmt: skip
        first, second = allowed
        self.stream, self.hold, self.result, self.placed = stream, hold, result, result == PLACED
        self.normalizes, self.prefix_space = description.normalizer == "NFC", description.prefix_space
        self.disallowed, self.first, self.second = Specials(disallowed), AddedStream(first), AddedStream(second)
        self.notable = {token[:1] for token in disallowed} | {token[0].encode()[:1] for token in first.tokens}  # begins a token, or goes to one
        self.notable |= {one.encode() for one in WHITE_SPACE if one.isascii()} if self.first.lstrip else set()
        self.reset()

    def reset(self) -> None:
        for stream in (self.stream, self.first, self.second):
            stream.reset()
        self.undecoded = b""  # the beginning of a character
        self.unchecked, self.checked = b"", 0  # what may begin a disallowed token, and where that is
        self.idle = True  # whether nothing waits but there
        self.open: list[str] = []  # of a stretch: what is not normalized yet,
        self.opened = 0  # and how much that is
        self.places = Places()
        self.at = 0  # how far the normalized text was cut
        self.piece = -1  # where the stretch that is encoded begins in it; -1: none does
        self.space = 0  # 1 if there is a space in front of that
        self.token: tuple[int, int, int] | None = None  # one that may take more white space

    def copy(self) -> NormalizedStream:
        twin = object.__new__(NormalizedStream)
        twin.__dict__.update(self.__dict__)
        twin.stream, twin.first, twin.second = self.stream.copy(), self.first.copy(), self.second.copy()
        twin.open, twin.places = list(self.open), self.places.copy()
        return twin

    def feed(self, data: bytes) -> tuple[Any, Any]:
        return self.read(data, False)

    def finish(self) -> tuple[Any, Any]:
        found = self.read(b"", True)
        self.reset()
        return found

    def read(self, data: bytes, ends: bool) -> tuple[Any, Any]:
        self.ids: list[Any] = []  # lists or arrays of ids, and of places
        self.found: list[Any] = []
        if self.idle and not ends and data and self.is_quiet(data):  # nearly always, if parts are small
            self.checked += len(data)
            self.first.before = chr(data[-1])
            self.normalize(data.decode("ascii"), False)
        else:
            self.read_tokens(data, ends)
        if len(self.unchecked) + self.first.held + self.second.held + self.opened > self.hold:
            raise too_much(self.hold, "bytes")
        return self.joined(self.ids), self.joined(self.found)

    def is_quiet(self, data: bytes) -> bool:
        """Whether nothing of a part is a token, or goes to one; a part that is not all ASCII is not asked."""
        return data.isascii() and not any(one in data for one in self.notable)

    def joined(self, parts: list[Any]) -> Any:
        if len(parts) == 1:
            return parts[0]
        if self.result == LISTS or not parts:
            return [number for part in parts for number in part]
        import numpy

        return numpy.concatenate(parts)

    def read_tokens(self, data: bytes, ends: bool) -> None:
        for text, what in self.first.feed(self.decoded(self.allowed(data, ends), ends), ends):
            if what is None:
                self.normalize(text, False)
                continue
            if not isinstance(what, Taken):
                self.normalize("", True)
            self.places.skip(len(encoded(text)))
            self.pass_token(text, what)
        if ends:
            self.normalize("", True)
        if ends or not (self.first.taking or self.second.taking):
            self.settle()
        self.idle = not (self.unchecked or self.first.held or self.first.taking or self.undecoded)

    def decoded(self, data: bytes, ends: bool) -> str:
        """Up to the last character that is complete. The codec's own would wait at what begins a surrogate, and no other stream does."""
        data = self.undecoded + data
        size = len(data) - (0 if ends else unfinished(data))
        self.undecoded = data[size:]
        return decoded(data[:size])

    def allowed(self, data: bytes, ends: bool) -> bytes:
        """The text up to where a disallowed token may begin."""
        if not self.disallowed.tokens:
            return data
        data = self.unchecked + data
        wrong, open = self.disallowed.search(data, 0, ends)
        if wrong is not None:
            raise special_error(wrong[0], self.checked + wrong.start())
        self.unchecked, self.checked = data[open:], self.checked + open
        return data[:open]

    def normalize(self, text: str, ends: bool) -> None:
        """More of a stretch of the raw text, or its end."""
        if self.normalizes:
            cut = len(text) if ends else len(text) - 1 if text.isascii() else last_border(text)
            self.open.append(text)
            self.opened += len(text)
            if cut < 0:
                return
            whole = "".join(self.open)
            cut += len(whole) - len(text)
            self.open = [whole[cut:]]
            self.opened -= cut
            text = whole[:cut]
        normalized = nfc(text) if self.normalizes else text
        if self.placed:
            self.places.read(text, normalized)
        for part, what in self.second.feed(normalized, ends):
            if what is None:
                self.encode(part)
                continue
            if not isinstance(what, Taken):
                self.end_piece()
            self.pass_token(part, what)
        if ends:
            self.end_piece()
            self.second.reset()

    def encode(self, text: str) -> None:
        data = encoded(text)
        if self.piece < 0:
            self.piece, self.space = self.at, int(self.prefix_space and not text.startswith(" "))
        self.at += len(data)
        self.add(self.stream.feed(b" " + data if self.space and self.at - len(data) == self.piece else data))

    def end_piece(self) -> None:
        if self.piece >= 0:
            self.add(self.stream.finish())
            self.piece = -1

    def add(self, found: Any) -> None:
        """Ids of the stretch that is encoded."""
        ids, places = found if self.placed else (found, None)
        if not len(ids):
            return
        self.settle()
        self.ids.append(ids)
        if places is None:
            return
        last = int(places[-1]) - self.space + self.piece
        if self.space:
            self.found.append([self.places.raw(self.piece + max(at - self.space, 0)) for at in places.tolist()])
        else:
            self.found.append(self.places.all_raw(places + self.piece))
        self.places.forget(last)

    def pass_token(self, text: str, what: AddedToken | Taken) -> None:
        """A token, or white space that the last one takes."""
        start = self.at
        self.at += len(encoded(text))
        if not self.placed:
            self.ids += [] if isinstance(what, Taken) else [[what.id]]
        elif isinstance(what, Taken):
            assert self.token is not None
            self.token = *self.token[:2], self.places.raw(self.at)
        else:
            self.settle()
            self.token = what.id, self.places.raw(start), self.places.raw(self.at)

    def settle(self) -> None:
        if self.token is not None:
            self.ids.append(self.token[:1])
            self.found.append(self.token[1:])
            self.token = None


def encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def decoded(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


class Places:
    """Places in a normalized text, in bytes -> those in the raw one."""

    def __init__(self) -> None:
        self.runs: list[tuple[int, int, int]] = []  # what was changed: from where to where, and where the raw text is behind it
        self.gone = 0  # how many of them are not asked for again
        self.shift = 0  # before all others
        self.normalized = self.read_to = 0  # up to where in either

    def copy(self) -> Places:
        twin = Places()
        twin.__dict__.update(self.__dict__)
        twin.runs = list(self.runs)
        return twin

    def read(self, text: str, normalized: str) -> None:
        """More of the text. What cannot be cut is all there."""
        done = 0
        for start, end, run in () if text == normalized else changes(text):
            self.skip(len(encoded(text[done:start])))
            begin = self.normalized
            self.normalized += len(encoded(run))
            self.read_to += len(encoded(text[start:end]))
            self.runs.append((begin, self.normalized, self.read_to))
            done = end
        self.skip(len(encoded(text[done:])))

    def skip(self, size: int) -> None:
        """The next bytes are as they were."""
        self.normalized += size
        self.read_to += size

    def raw(self, place: int) -> int:
        at = bisect_left(self.runs, (place,), self.gone) - 1
        if at < self.gone:
            return place + self.shift
        _, end, behind = self.runs[at]
        return behind + max(place - end, 0)

    def all_raw(self, places: Any) -> Any:
        """The same of an array of them, in order."""
        import numpy

        first = max(bisect_left(self.runs, (int(places[0]),), self.gone) - 1, self.gone)
        runs = self.runs[first : bisect_left(self.runs, (int(places[-1]),), first)]
        if not runs:
            return places + self.shift
        begins, ends, behind = numpy.array([(-1, 0, self.shift), *runs], numpy.int64).T
        at = numpy.searchsorted(begins, places) - 1
        return behind[at] + numpy.maximum(places - ends[at], 0)

    def forget(self, place: int) -> None:
        """Nothing before this place is asked for again."""
        while self.gone < len(self.runs) and self.runs[self.gone][1] <= place:
            self.shift = self.runs[self.gone][2] - self.runs[self.gone][1]
            self.gone += 1
        if 2 * self.gone > len(self.runs):  # what is left moves when it is less than what goes
            del self.runs[: self.gone]
            self.gone = 0


class Changed:
    """Puts bytes in NFC, of which the native stream says where they are in the normalized text; keeps what that changed."""

    def __init__(self) -> None:
        self.places = Places()

    def copy(self) -> Changed:
        twin = Changed()
        twin.places = self.places.copy()
        return twin

    @staticmethod
    def read(data: bytes, ends: bool) -> tuple[str, str]:
        """What of it can be cut off, as it is and in NFC."""
        text = decoded(data if ends else data[: len(data) - unfinished(data)])
        text = text if ends else text[: max(0, last_border(text))]
        return text, nfc(text)

    @staticmethod
    def put_in_nfc(data: bytes, at: int, ends: bool) -> tuple[bytes, int]:
        text, normalized = Changed.read(data, ends)
        return encoded(normalized), len(encoded(text))

    def __call__(self, data: bytes, at: int, ends: bool) -> tuple[bytes, int]:
        text, normalized = self.read(data, ends)
        self.places.skip(at - self.places.normalized)
        self.places.read(text, normalized)
        return encoded(normalized), len(encoded(text))


class NfcStream(Copyable):
    """What the native stream gives, with places of the raw text."""

    def __init__(self, stream: Any, changed: Changed) -> None:
        self.stream, self.changed = stream, changed

    def feed(self, part: Any, /) -> Any:
        return self.placed(self.stream.feed(part))

    def finish(self) -> Any:
        found = self.placed(self.stream.finish())
        self.changed.places = Places()
        return found

    def reset(self) -> None:
        self.stream.reset()
        self.changed.places = Places()

    def copy(self) -> NfcStream:
        changed = self.changed.copy()
        return NfcStream(self.stream.copy(changed), changed)

    def placed(self, found: tuple[Any, Any]) -> tuple[Any, Any]:
        ids, normalized = found
        if not len(normalized):
            return found
        raw = self.changed.places.all_raw(normalized)
        self.changed.places.forget(int(normalized[-1]))
        return ids, raw
