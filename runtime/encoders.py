"""Encoders: what a Tokenizer runs on, the C extension or pure Python. A Description and its Lexer in, an Encoder out.

    encoder = make_encoder(description, lexer)
    encoder.encode("hello", None, None, 1)             # text, what finds allowed special tokens, disallowed ones, threads

Invariant: both encoders give the same for every text. The pure one is the fallback where no C compiler was, and what tests compare
the native one with. Rejected: one that calls C for pieces and does the rest in Python (the rest is what takes the time).
"""

from __future__ import annotations

import re
from operator import index
from typing import TYPE_CHECKING, Any, Protocol

from .merging import PureEncoder

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from .lexer import Lexer
    from .vocabulary import Description

__all__ = ["Encoder", "make_encoder"]


class Encoder(Protocol):
    """What both are. `allowed` and `disallowed` are what `specials` made, or None."""

    def encode(self, text: Any, allowed: Any, disallowed: Any, threads: int, /) -> list[int]: ...
    def encode_to_numpy(self, text: Any, allowed: Any, disallowed: Any, threads: int, /) -> Any: ...
    def encode_with_offsets(self, text: Any, allowed: Any, disallowed: Any, threads: int, /) -> tuple[Any, Any]: ...
    def count(self, text: Any, allowed: Any, disallowed: Any, threads: int, /) -> int: ...
    def encode_batch(self, texts: Iterable[Any], allowed: Any, disallowed: Any, threads: int, /) -> list[list[int]]: ...
    def encode_batch_to_numpy(self, texts: Iterable[Any], allowed: Any, disallowed: Any, threads: int, /) -> list[Any]: ...
    def count_batch(self, texts: Iterable[Any], allowed: Any, disallowed: Any, threads: int, /) -> list[int]: ...
    def refuse(self, text: Any, disallowed: Any, /) -> None: ...
    def specials(self, tokens: dict[bytes, int], /) -> Any: ...
    def decode(self, ids: Any, /) -> bytes: ...
    def ends(self, ids: Any, /) -> list[int]: ...
    def token(self, id: int, /) -> bytes: ...
    def find(self, token: bytes, /) -> int | None: ...


def make_encoder(description: Description, lexer: Lexer, image: Any = None) -> Encoder:
    """The native one where the lexer is native. `image`: the tables that its `image()` gave, instead of the vocabulary."""
    if lexer.tier == "pure":
        return Pure(description, lexer)
    from ._native import Encoder as Native

    if image is not None:
        return Native(lexer._machine, dict(description.decoded), image=image)
    vocabulary = description.vocabulary
    return Native(
        lexer._machine, dict(description.decoded), vocabulary.blob, vocabulary.starts, vocabulary.merges, vocabulary.whole
    )


class Pure:
    """An Encoder in pure Python, with the same messages."""

    def __init__(self, description: Description, lexer: Lexer) -> None:
        self.lexer = lexer
        self.pieces = PureEncoder(description.vocabulary, description.decoded)

    def specials(self, tokens: Mapping[bytes, int], /) -> tuple[re.Pattern[bytes], Mapping[bytes, int]]:
        longest_first = sorted(tokens, key=len, reverse=True)
        return re.compile(b"|".join(map(re.escape, longest_first))), tokens

    def refuse(self, text: Any, disallowed: Any, /) -> None:
        found = disallowed[0].search(as_bytes(text)) if disallowed is not None else None
        if found is not None:
            token = found[0].decode("utf-8", "replace")
            raise ValueError(
                f"the text has the special token {token!r}, at byte {found.start()}. To have it encoded as that token, pass "
                f"allowed_special={{{token!r}}} or allowed_special='all'; to have it encoded as any other text, disallowed_special=()"
            )

    def placed(self, text: Any, allowed: Any, disallowed: Any) -> tuple[bytes, list[tuple[int, int, int]]]:
        """The text in bytes, and (id, start, end) of its tokens."""
        data = as_bytes(text)
        self.refuse(data, disallowed)
        found: list[tuple[int, int, int]] = []
        done = 0
        for match in allowed[0].finditer(data) if allowed is not None else ():
            found.extend(self.ordinary(data, done, match.start()))
            found.append((allowed[1][match[0]], match.start(), match.end()))
            done = match.end()
        found.extend(self.ordinary(data, done, len(data)))
        return data, found

    def ordinary(self, data: bytes, start: int, end: int) -> Iterable[tuple[int, int, int]]:
        for first, last in self.lexer._machine.iterate(data[start:end]):
            at = start + first
            try:
                ids = self.pieces.encode_piece(data[at : start + last])
            except ValueError:
                known = self.pieces.vocabulary.ids
                wrong = next(i for i in range(at, start + last) if data[i : i + 1] not in known)
                raise ValueError(f"byte 0x{data[wrong]:02x} at {wrong} is no token of this vocabulary") from None
            for number in ids:
                size = len(self.pieces.vocabulary.token_bytes(number))
                yield number, at, at + size
                at += size

    def encode(self, text: Any, allowed: Any, disallowed: Any, threads: int, /) -> list[int]:
        return [number for number, _, _ in self.placed(text, allowed, disallowed)[1]]

    def encode_to_numpy(self, text: Any, allowed: Any, disallowed: Any, threads: int, /) -> Any:
        import numpy

        return numpy.array(self.encode(text, allowed, disallowed, threads), numpy.uint32)

    def encode_with_offsets(self, text: Any, allowed: Any, disallowed: Any, threads: int, /) -> tuple[Any, Any]:
        import numpy

        data, found = self.placed(text, allowed, disallowed)
        places = [(start, end) for _, start, end in found]
        if isinstance(text, str):
            begun = [0]
            for byte in data:
                begun.append(begun[-1] + ((byte & 0xC0) != 0x80))
            places = [(begun[s] - (s < len(data) and (data[s] & 0xC0) == 0x80), begun[e]) for s, e in places]
        ids = numpy.array([number for number, _, _ in found], numpy.uint32)
        return ids, numpy.array(places, numpy.int64).reshape(-1)

    def count(self, text: Any, allowed: Any, disallowed: Any, threads: int, /) -> int:
        return len(self.placed(text, allowed, disallowed)[1])

    def batch(self, each: Any, texts: Iterable[Any], allowed: Any, disallowed: Any) -> list[Any]:
        from .lexer import texts_of

        done: list[Any] = []
        for at, text in enumerate(texts_of(texts)):
            try:
                done.append(each(text, allowed, disallowed, 1))
            except (TypeError, ValueError, BufferError) as error:
                raise type(error)(f"texts[{at}]: {error}") from None
        return done

    def encode_batch(self, texts: Iterable[Any], allowed: Any, disallowed: Any, threads: int, /) -> list[list[int]]:
        return self.batch(self.encode, texts, allowed, disallowed)

    def encode_batch_to_numpy(self, texts: Iterable[Any], allowed: Any, disallowed: Any, threads: int, /) -> list[Any]:
        return self.batch(self.encode_to_numpy, texts, allowed, disallowed)

    def count_batch(self, texts: Iterable[Any], allowed: Any, disallowed: Any, threads: int, /) -> list[int]:
        return self.batch(self.count, texts, allowed, disallowed)

    def decode(self, ids: Any, /) -> bytes:
        return b"".join(self.each(ids))

    def ends(self, ids: Any, /) -> list[int]:
        from itertools import accumulate

        return list(accumulate(map(len, self.each(ids))))

    def each(self, ids: Any) -> Iterable[bytes]:
        if isinstance(ids, (str, bytes, bytearray)):
            raise TypeError(f"expected token ids, got {type(ids).__name__}")
        for at, number in enumerate(ids):
            number = index(number)
            try:
                yield self.token(number)
            except KeyError:
                if not 0 <= number < (1 << 32) - 1:
                    raise KeyError(f"ids[{at}] is no token id") from None
                raise KeyError(f"ids[{at}] is {number}, which is no token of this vocabulary") from None

    def token(self, id: int, /) -> bytes:
        found = self.pieces.tokens.get(id, b"")
        if not found and id not in self.pieces.no_text:
            raise KeyError(id)
        return found

    def find(self, token: bytes, /) -> int | None:
        return self.pieces.vocabulary.ids.get(token)


def as_bytes(text: Any) -> bytes:
    """The UTF-8 of a text; of a str, surrogates are read as in UTF-16, and those that are alone as U+FFFD."""
    from .lexer import readable

    if isinstance(text, str):
        try:
            return text.encode()
        except UnicodeEncodeError:
            return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode()
    return bytes(readable(text))
