"""Ids of a text in parts, of a tokenizer that normalizes texts or puts a space before them. As added.py, which has the definition.

    raw text -> added tokens that are looked for in it -> the stretches between, normalized -> a stream that encodes what it is given

NFC is made of a stretch up to the last character before which normalizing can be cut: one that is a starter and no part of a composition
but the first; the blocks of which that is so throughout are SAFE. Invariant: as in token_streams.py. Rejected: normalizing before the tokens
are looked for (a mark behind "<|end|>" would take its last character away).
"""

from __future__ import annotations

import codecs
import re
from typing import TYPE_CHECKING, Any

from .added_search import has_flags
from .encoders import mended
from .lexer import readable
from .normalization import nfc
from .pure_stream import too_much
from .pure_token_stream import Specials, special_error
from .token_streams import LISTS, PLACED, as_arrays, make_token_stream

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .tokenizer import Tokenizer

__all__ = ["NormalizedStream", "make_normalized_stream"]

# Latin up to the marks, Hebrew and Arabic letters, kana, ideographs, Hangul syllables.
SAFE = re.compile("[\0-\u02ff\u0400-\u0482\u05d0-\u05ea\u0621-\u063a\u3041-\u3096\u30a1-\u30fa\u4e00-\u9fff\uac00-\ud7a3]")


def make_normalized_stream(
    tokenizer: Tokenizer, allowed: Mapping[bytes, int], disallowed: Mapping[bytes, int], hold: int, result: int
) -> NormalizedStream:  # fmt: skip
    description = tokenizer.description
    second = {content.encode() for content in (token.content for token in description.added if token.normalized)}
    inner = {nfc(content.decode()).encode() if description.normalizer else content: id for content, id in allowed.items() if content in second}
    if has_flags(description) or (inner and description.prefix_space):
        raise ValueError("this tokenizer has added tokens that take text around them, or look at it: it encodes whole texts only")
    outer = {content: id for content, id in allowed.items() if content not in second}
    stream = make_token_stream(tokenizer, inner, {}, hold, PLACED if result == PLACED else LISTS)
    return NormalizedStream(stream, description, outer, disallowed, hold, result)


class NormalizedStream:
    """Takes and gives what the native stream does."""

    def __init__(self, stream: Any, description: Any, tokens: Mapping[bytes, int], disallowed: Mapping[bytes, int], hold: int, result: int) -> None:
        self.stream, self.normalizes, self.prefix_space = stream, description.normalizer == "NFC", description.prefix_space
        self.tokens, self.disallowed, self.hold, self.result = Specials(tokens), Specials(disallowed), hold, result
        self.reset()

    def reset(self) -> None:
        self.stream.reset()
        self.kind: type | None = None
        self.decoder = codecs.getincrementaldecoder("utf-8")("strict")
        self.read = 0  # bytes
        self.raw = b""  # in which tokens are looked for, from `base` on
        self.base = self.checked = self.stretch = 0  # and where the stretch at hand begins
        self.open = ""  # of the stretch: what is not normalized yet
        self.begun = False  # whether some of the stretch was

    def copy(self) -> NormalizedStream:
        twin = object.__new__(NormalizedStream)
        twin.__dict__.update(self.__dict__)
        twin.stream = self.stream.copy()
        twin.decoder = codecs.getincrementaldecoder("utf-8")("strict")
        twin.decoder.setstate(self.decoder.getstate())
        return twin

    def feed(self, part: Any, /) -> Any:
        kind = str if isinstance(part, str) else bytes
        if self.kind is not None and kind is not self.kind:
            raise TypeError(f"this stream was fed {self.kind.__name__} before, and a text cannot be both")
        data = mended(part).encode() if isinstance(part, str) else bytes(readable(part))
        self.kind = kind
        self.raw += self.checked_text(data, False)
        return self.given(False)

    def finish(self) -> Any:
        self.raw += self.checked_text(b"", True)
        found = self.given(True)
        self.reset()
        return found

    def checked_text(self, data: bytes, ends: bool) -> bytes:
        """The bytes of characters that are complete; what is not UTF-8 is a ValueError."""
        held = self.decoder.getstate()[0]
        try:
            text = self.decoder.decode(data, ends)
        except UnicodeDecodeError as wrong:
            place = f"byte 0x{wrong.object[wrong.start]:02x} at {self.read - len(held) + wrong.start}"
            raise ValueError(f"{place} is not UTF-8, which this tokenizer needs: it looks at characters before it cuts the text") from None
        self.read += len(data)
        return text.encode()

    def given(self, ends: bool) -> Any:
        ids: list[int] = []
        places: list[int] = []
        while True:
            match, open = self.tokens.search(self.raw, 0, ends)
            limit = open if match is None else match.start()
            wrong, open = self.disallowed.search(self.raw, self.checked - self.base, ends)
            if wrong is not None:
                raise special_error(wrong[0], self.base + wrong.start())
            self.checked = self.base + open
            if match is not None and match.end() > open:
                match = None
            limit = min(limit, open)
            self.normalize(self.raw[:limit], ids, places)
            if match is None:
                self.forget(limit)
                break
            self.end_stretch(ids, places)
            ids.append(self.tokens.tokens[match[0]])
            places += (self.base + match.start(), self.base + match.end())
            self.forget(match.end())
            self.stretch = self.base
        if ends:
            self.end_stretch(ids, places)
        if len(self.raw) + len(self.open) > self.hold:
            raise too_much(self.hold, "bytes")
        return ids if self.result == LISTS else as_arrays(ids, places, self.result)

    def forget(self, length: int) -> None:
        self.raw, self.base = self.raw[length:], self.base + length

    def normalize(self, data: bytes, ids: list[int], places: list[int]) -> None:
        """More of a stretch: complete characters, but for those that a token may begin in."""
        if not data:
            return
        self.open += data.decode()
        cut = len(self.open)
        if self.normalizes:
            cut = next((at for at in range(cut - 1, -1, -1) if SAFE.match(self.open[at])), 0)
        self.hand_on(self.open[:cut], ids, places)
        self.open = self.open[cut:]

    def end_stretch(self, ids: list[int], places: list[int]) -> None:
        self.hand_on(self.open, ids, places)
        self.add(self.stream.finish(), ids, places)
        self.open, self.begun = "", False

    def hand_on(self, text: str, ids: list[int], places: list[int]) -> None:
        if not text:
            return
        normalized = nfc(text) if self.normalizes else text
        if self.prefix_space and not self.begun and not normalized.startswith(" "):
            normalized = " " + normalized
        if self.result == PLACED and normalized != text:
            raise ValueError("this text is normalized, or loses white space to special tokens, so its tokens have no places in it")
        self.begun = True
        self.add(self.stream.feed(normalized.encode()), ids, places)

    def add(self, found: Any, ids: list[int], places: list[int]) -> None:
        if self.result == PLACED:
            ids += found[0].tolist()
            places += (found[1] + self.stretch).tolist()
        else:
            ids += found
