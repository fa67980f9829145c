"""Ids of a text that comes in parts, in pure Python: the slow, readable twin of _token_stream.c and bpe_final.c.

    stream = PureTokenStream(lexer, pieces, allowed, disallowed, hold)
    stream.feed(b"hello <|en")                 # ids of "hello", and their places; what may be a special token waits
    stream.finish()

A text is held from the piece at hand on. Of a piece that becomes long, the ids of its beginning come out before it ends: those that all
its continuations have in common, which bpe_final.c explains. Invariant: each call gives what the C gives for it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from .alternatives import alternatives
from .cached import cached_property
from .pure_stream import Copyable, Stream, too_much

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Found", "Pieces", "PureTokenStream", "Specials", "final", "special_error"]

AT_ONCE = 6144  # bytes worked on at a time; this and the next two as in _token_stream.c
LONG = 16384  # bytes of a piece from which on its ids are handed out before it ends, or more: see try_from
LONGEST = 1024  # bytes of a token, beyond which that is not tried
STOPS = 64  # places at which it may end, beyond which that is not tried


class Found(NamedTuple):
    """Ids, and where the bytes of each start and end."""

    ids: list[int]
    places: list[int]

    def add(self, number: int, start: int, end: int) -> None:
        self.ids.append(number)
        self.places.extend((start, end))


class Pieces(Protocol):
    """What encodes pieces. `whole`: whether one that is a token is taken as that; `longest`: bytes of a token."""

    whole: bool
    longest: int

    def encode_piece(self, piece: bytes, at: int, /) -> list[int]: ...
    def merged(self, piece: bytes, at: int, /) -> list[int]: ...
    def token(self, number: int, /) -> bytes: ...


class Specials:
    """Texts of tokens, all str or all bytes, to be found in a text that may go on: leftmost, then longest."""

    def __init__(self, tokens: Mapping[Any, Any]) -> None:
        self.tokens, self.longest = tokens, max(map(len, tokens), default=0)

    @cached_property
    def pattern(self) -> re.Pattern[Any]:
        """What finds those that are whole, of which there must be some."""
        return alternatives(self.tokens)

    @cached_property
    def beginnings(self) -> frozenset[Any]:
        """What the end of a text may be of a token that goes on behind it; whole texts have no need of it."""
        return frozenset(token[:size] for token in self.tokens for size in range(1, len(token)))

    def search(self, text: Any, start: int, ends: bool) -> tuple[re.Match[Any] | None, int]:
        """The first one; and the first place where there may be one that goes on behind the text. None if that is before it."""
        if not self.tokens:
            return None, len(text)
        open = len(text) if ends else self.open(text, start)
        match = self.pattern.search(text, start)
        return (match if match is not None and match.start() < open else None), open

    def open(self, text: Any, start: int) -> int:
        places = range(max(start, len(text) - self.longest), len(text))
        return next((at for at in places if text[at:] in self.beginnings), len(text))


def special_error(token: bytes, at: int) -> ValueError:
    """What is raised for a special token that must not be there."""
    spelled = token.decode("utf-8", "replace")
    return ValueError(
        f"the text has the special token {spelled!r}, at byte {at}. To have it encoded as that token, pass allowed_special={{{spelled!r}}} "
        f"or allowed_special='all'; to have it encoded as any other text, disallowed_special=()"
    )


def try_from(pieces: Pieces) -> int:
    """From how many bytes of a piece on final ids are looked for: as many beginnings of it are merged as the longest token has bytes, each of
    some such length, so there is a quarter of its square to each time."""
    return max(LONG, pieces.longest**2 // 4) if pieces.longest <= LONGEST else sys.maxsize


def final(pieces: Pieces, piece: bytes, stops: Sequence[int], at: int) -> list[int]:
    """The ids of a piece that may go on, or end at one of `stops`, which are the same whatever follows."""
    longest, length = pieces.longest, len(piece)
    ids = pieces.merged(piece, at)
    if length <= 2 * longest:
        return []
    back = longest
    while back < length:
        count = place = 0
        while count < len(ids) and place + len(pieces.token(ids[count])) <= min([length - back, *stops[:1]]):
            place += len(pieces.token(ids[count]))
            count += 1
        if count == 0:
            return []
        before = ids[count - 1]
        firsts = {pieces.merged(piece[place:end], at + place)[0] for end in {*range(length - longest + 1, length + 1), *stops} if end != place}
        if all(pieces.merged(pieces.token(before) + pieces.token(first), at) == [before, first] for first in firsts):
            return ids[:count]
        back *= 2
    return []


class PureTokenStream(Copyable):
    """The ids of a text in parts, each with its place in the bytes of the text."""

    def __init__(self, machine: Any, pieces: Pieces, allowed: Mapping[bytes, int], disallowed: Mapping[bytes, int], hold: int) -> None:
        self.pieces, self.hold, self.drops = pieces, hold, bool(machine.drops)
        self.allowed, self.disallowed = Specials(allowed), Specials(disallowed)
        self.lexer = Stream(machine, hold)
        self.reset()

    def reset(self) -> None:
        """Begin another text."""
        self.text = b""
        self.base = self.checked = 0
        self.begin_section(0)

    def begin_section(self, at: int) -> None:
        self.lexer.reset()
        self.section = self.piece = at
        self.begun, self.try_at = False, try_from(self.pieces)

    def copy(self) -> PureTokenStream:
        """Another stream, of the same text so far."""
        twin = object.__new__(PureTokenStream)
        twin.__dict__.update(self.__dict__)
        twin.lexer = self.lexer.copy()
        return twin

    def feed(self, part: bytes) -> Found:
        found: Found = Found([], [])
        for at in range(0, len(part), AT_ONCE):
            self.text += part[at : at + AT_ONCE]
            self.read_held(found, False)
            self.forget(found)
        return found

    def finish(self) -> Found:
        found: Found = Found([], [])
        self.read_held(found, True)
        self.reset()
        return found

    @property
    def read_to(self) -> int:
        return self.section + self.lexer.length + len(self.lexer.tail) - self.base

    def read_held(self, found: Found, ends: bool) -> None:
        match: re.Match[bytes] | None
        while True:
            match, open = self.allowed.search(self.text, self.read_to, ends)
            limit = open if match is None else match.start()
            wrong, open = self.disallowed.search(self.text, self.checked - self.base, ends)
            if wrong is not None:
                raise special_error(wrong[0], self.base + wrong.start())
            self.checked = self.base + open
            if match is not None and match.end() > open:
                match = None
            limit = min(limit, open)
            if limit > self.read_to:
                self.take(self.lexer.feed(self.text[self.read_to : limit]), found)
            if match is None:
                break
            self.take(self.lexer.finish(), found)
            found.add(self.allowed.tokens[match[0]], self.base + match.start(), self.base + match.end())
            self.begin_section(self.base + match.end())
        if ends:
            self.take(self.lexer.finish(), found)

    def take(self, offsets: list[int], found: Found) -> None:
        """Pieces that the lexer found."""
        if not offsets:
            return
        places = [self.section + at for at in offsets]
        spans = list(zip(places[::2], places[1::2], strict=True)) if self.drops else list(zip([self.piece, *places], places, strict=False))
        for start, end in spans:
            start = max(start, self.piece)
            piece = self.text[start - self.base : end - self.base]
            if piece:
                self.add(self.pieces.merged(piece, start) if self.begun else self.pieces.encode_piece(piece, start), start, found)
            self.begun = False
        self.piece, self.try_at = places[-1], try_from(self.pieces)

    def add(self, ids: list[int], at: int, found: Found) -> None:
        for number in ids:
            end = at + len(self.pieces.token(number))
            found.add(number, at, end)
            at = end

    def forget(self, found: Found) -> None:
        """Forget what was handed out, and what is dropped; hand out what is final of a long piece."""
        lexer = self.lexer
        if self.drops:
            start = lexer.start if lexer.start is not None else lexer.open[0][0] if lexer.open else lexer.settled_to
            self.piece = max(self.piece, self.section + start)
        if lexer.start is not None:
            self.hand_out_final(found)
        self.text = self.text[self.piece - self.base :]
        self.base = self.piece
        if len(self.text) > self.hold:
            raise too_much(self.hold, "bytes")

    def hand_out_final(self, found: Found) -> None:
        length = self.section + self.lexer.settled_to - self.piece
        if length < self.try_at:
            return
        self.try_at = 2 * length
        stops = [self.section + place - self.piece for place, _, _ in self.lexer.open if self.section + place > self.piece]
        if len(self.lexer.open) > STOPS or (stops and self.pieces.whole and not self.begun and stops[0] <= self.pieces.longest):
            return
        at = self.piece - self.base
        ids = final(self.pieces, self.text[at : at + length], stops, self.piece)
        if ids:
            self.add(ids, self.piece, found)
            self.piece, self.begun, self.try_at = found.places[-1], True, try_from(self.pieces)
