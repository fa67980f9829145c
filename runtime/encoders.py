"""Encoders: what a Tokenizer runs on, the C extension or pure Python. A Description and its Lexer in, an Encoder out.

    encoder = make_encoder(description, lexer)
    encoder.encode("hello", None, None, 1)             # text, what finds allowed special tokens, disallowed ones, threads

Invariant: both encoders give the same for every text. The pure one is the fallback where no C compiler was, and what tests compare
the native one with. Rejected: one that calls C for pieces and does the rest in Python (the rest is what takes the time).
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import replace
from itertools import accumulate
from operator import index
from typing import TYPE_CHECKING, Any, Protocol

from .lexers import each_of, texts_of
from .vocabulary import Vocabulary

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from .lexers import Lexer
    from .vocabulary import Description

__all__ = ["METHODS", "Encoder", "make_encoder", "side_by_side", "tokens_in_place"]

SURROGATES = re.compile("[\ud800-\udfff]")
SWEPT = 65536  # bytes of a piece that may be swept
METHODS = ("automatic", "sweep", "heap", "windows", "backtrack", "prefixes")  # of merging a piece


class Encoder(Protocol):
    """What both are. `allowed` and `disallowed` are what `specials` made, or None; `skip`: whether special tokens decode to nothing."""

    def encode(self, text: Any, allowed: Any, disallowed: Any, threads: int, /) -> list[int]: ...
    def encode_to_numpy(self, text: Any, allowed: Any, disallowed: Any, threads: int, /) -> Any: ...
    def encode_into(self, text: Any, out: Any, allowed: Any, disallowed: Any, threads: int, /) -> int: ...
    def encode_with_offsets(self, text: Any, allowed: Any, disallowed: Any, threads: int, /) -> tuple[Any, Any]: ...
    def encode_words(self, text: Any, /) -> tuple[list[int], list[tuple[int, int]], list[int], int]: ...
    def count(self, text: Any, allowed: Any, disallowed: Any, threads: int, /) -> int: ...
    def encode_batch(self, texts: Iterable[Any], allowed: Any, disallowed: Any, threads: int, /) -> list[list[int]]: ...
    def encode_batch_to_numpy(self, texts: Iterable[Any], allowed: Any, disallowed: Any, threads: int, /) -> list[Any]: ...
    def encode_batch_flat(
        self, texts: Iterable[Any], allowed: Any, disallowed: Any, threads: int, before: tuple[int, ...], behind: tuple[int, ...], /
    ) -> tuple[Any, Any]: ...
    def count_batch(self, texts: Iterable[Any], allowed: Any, disallowed: Any, threads: int, /) -> list[int]: ...
    def refuse(self, text: Any, disallowed: Any, /) -> None: ...
    def specials(self, tokens: dict[bytes, int], /) -> Any: ...
    def decode(self, ids: Any, skip: bool = False, /) -> bytes: ...
    def decode_text(self, ids: Any, errors: str, skip: bool, /) -> str: ...
    def decode_batch(self, batch: Iterable[Any], errors: str, threads: int, skip: bool, /) -> list[str]: ...
    def ends(self, ids: Any, /) -> list[int]: ...
    def tokens(self, ids: Any, /) -> list[bytes]: ...
    def token(self, id: int, /) -> bytes: ...
    def find(self, token: bytes, /) -> int | None: ...
    def merge(self, piece: Any, method: str, /) -> list[int]: ...


def make_encoder(description: Description, lexer: Lexer, image: Any = None) -> Encoder:
    """The native one where the lexer is native. `image`: the tables that its `image()` gave, instead of the vocabulary."""
    if lexer.tier == "pure":
        return Pure(description, lexer)
    from . import _native

    machine = lexer._machine
    assert isinstance(machine, _native.Machine)
    special = special_ids(description)
    if image is not None:
        return _native.Encoder(machine, dict(description.decoded), image=image, special=special)
    known = description.vocabulary
    return _native.Encoder(machine, dict(description.decoded), known.blob, known.starts, known.merges, known.whole, special=special)


def tokens_in_place(description: Description, encoder: Encoder) -> Description:
    """The same description, whose tokens are those in the tables of its encoder: a copy is made when somebody asks for it."""
    if isinstance(encoder, Pure):
        return description
    known, tables, places = description.vocabulary, encoder.image(), encoder.places()  # type: ignore[attr-defined, unused-ignore]
    blob, starts = (tables[at : at + len(what)] for at, what in zip(places, (known.blob, known.starts), strict=True))
    return replace(description, vocabulary=Vocabulary.from_views(blob, starts, known.merges, known.whole))


def special_ids(description: Description) -> tuple[int, ...]:
    """The ids of special tokens, each once: of those that are special as they are looked for, which is how tokenizers knows them again."""
    contents = {token.content for token in description.added if token.special}
    return tuple({token.id for token in description.added if token.looked_for(description.normalizer is not None) in contents})


class Pure:
    """An Encoder in pure Python, with the same messages."""

    def __init__(self, description: Description, lexer: Lexer) -> None:
        from .merging import PureEncoder  # which the native one does without

        self.lexer = lexer
        self.pieces = PureEncoder(description.vocabulary, description.decoded)
        self.special = frozenset(special_ids(description))
        self.highest = max(self.pieces.tokens, default=0)

    def specials(self, tokens: Mapping[bytes, int], /) -> tuple[re.Pattern[bytes], Mapping[bytes, int]]:
        from .alternatives import alternatives

        return alternatives(tokens), tokens

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

    def encode_into(self, text: Any, out: Any, allowed: Any, disallowed: Any, threads: int, /) -> int:
        from .destination import IdDestination

        into = IdDestination(out, self.highest)
        return into.put_all(self.encode(text, allowed, disallowed, threads))

    def encode_with_offsets(self, text: Any, allowed: Any, disallowed: Any, threads: int, /) -> tuple[Any, Any]:
        import numpy

        data, found = self.placed(text, allowed, disallowed)
        places = [(start, end) for _, start, end in found]
        if isinstance(text, str):
            starts, ends = in_characters(text, data)
            places = [(starts[start], ends[end]) for start, end in places]
        ids = numpy.array([number for number, _, _ in found], numpy.uint32)
        return ids, numpy.array(places, numpy.int64).reshape(-1, 2)

    def encode_words(self, text: Any, /) -> tuple[list[int], list[tuple[int, int]], list[int], int]:
        if isinstance(text, (list, tuple)):
            found = [self.encode_words(word)[:2] for word in text]
            ids = [number for numbers, _ in found for number in numbers]
            places = [place for _, each in found for place in each]
            return ids, places, [at for at, (numbers, _) in enumerate(found) for _ in numbers], len(found)
        numbers, starts_and_ends = self.encode_with_offsets(text, None, None, 1)
        pieces = list(self.lexer._machine.iterate(as_bytes(text)))
        ends = [end for _, end in pieces]
        words = [bisect_right(ends, start) for _, start, _ in self.placed(text, None, None)[1]]
        return numbers.tolist(), [(start, end) for start, end in starts_and_ends.tolist()], words, len(pieces)

    def count(self, text: Any, allowed: Any, disallowed: Any, threads: int, /) -> int:
        return len(self.placed(text, allowed, disallowed)[1])

    def batch(self, each: Any, texts: Iterable[Any], allowed: Any, disallowed: Any) -> list[Any]:
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

    def encode_batch_flat(
        self, texts: Iterable[Any], allowed: Any, disallowed: Any, threads: int, before: tuple[int, ...] = (), behind: tuple[int, ...] = (), /
    ) -> tuple[Any, Any]:
        return side_by_side(self.encode_batch(texts, allowed, disallowed, threads), before, behind)

    def count_batch(self, texts: Iterable[Any], allowed: Any, disallowed: Any, threads: int, /) -> list[int]:
        return self.batch(self.count, texts, allowed, disallowed)

    def decode(self, ids: Any, skip: bool = False, /) -> bytes:
        return b"".join(self.each(ids, skip))

    def decode_text(self, ids: Any, errors: str, skip: bool, /) -> str:
        return self.decode(ids, skip).decode("utf-8", errors)

    def decode_batch(self, batch: Iterable[Any], errors: str, threads: int, skip: bool, /) -> list[str]:
        done: list[str] = []
        for at, ids in enumerate(each_of(batch, "sequences of ids")):
            try:
                done.append(self.decode_text(ids, errors, skip))
            except (KeyError, TypeError) as error:
                raise type(error)(f"batch[{at}]: {error.args[0]}") from None
        return done

    def ends(self, ids: Any, /) -> list[int]:
        return list(accumulate(map(len, self.each(ids))))

    def each(self, ids: Any, skip: bool = False) -> Iterable[bytes]:
        for at, number in enumerate(ids_of(ids)):
            try:
                token = self.token(number)
                yield b"" if skip and number in self.special else token
            except KeyError:
                raise KeyError(f"ids[{at}] is {number}, which is no token of this vocabulary") from None

    def tokens(self, ids: Any, /) -> list[bytes]:
        return list(self.each(ids))

    def token(self, id: int, /) -> bytes:
        number = index(id)
        found = self.pieces.tokens.get(number, b"")
        if not found and number not in self.pieces.no_text:
            raise KeyError(id)
        return found

    def find(self, token: bytes, /) -> int | None:
        return self.pieces.vocabulary.ids.get(token if type(token) is bytes else as_bytes(token))

    def merge(self, piece: Any, method: str, /) -> list[int]:
        from .merging import merge

        if not isinstance(method, str):
            raise TypeError("expected (piece, method), method being a str")
        if method not in METHODS:
            raise ValueError(f"method is {method!r}; it may be {', '.join(map(repr, METHODS[:-1]))} or {METHODS[-1]!r}")
        known, data = self.pieces.vocabulary, as_bytes(piece)
        for at in range(len(data)):
            if data[at : at + 1] not in known.ids:
                raise ValueError(f"byte 0x{data[at]:02x} at {at} is no token of this vocabulary")
        if method == "sweep":
            if len(data) > SWEPT:
                raise ValueError(f"a piece of {len(data)} bytes; 'sweep' takes quadratic time, and pieces of up to {SWEPT:,}: take another method")
            return merge(Vocabulary(known.blob, known.starts, known.merges, False), data)
        return self.pieces.merged(data)


def side_by_side(found: Iterable[Sequence[int]], before: tuple[int, ...], behind: tuple[int, ...]) -> tuple[Any, Any]:
    """The ids of all texts, each with those before and behind, as one array; and where each begins, with the end of the last."""
    import numpy

    if not (isinstance(before, tuple) and isinstance(behind, tuple)):
        raise TypeError("expected two tuples of ids")
    before, behind = tuple(map(index, before)), tuple(map(index, behind))
    parts = [numpy.asarray(ids, numpy.uint32) for text in found for ids in (before, text, behind)]
    ends = numpy.cumsum([0, *map(len, parts)], dtype=numpy.int64)
    return numpy.concatenate([numpy.empty(0, numpy.uint32), *parts]), ends[::3].copy()


def ids_of(source: Any) -> list[int]:
    """Token ids from a sequence of ints, or from an array of integers."""
    if isinstance(source, (str, bytes, bytearray)):
        raise TypeError(f"expected token ids, got {type(source).__name__}")
    try:
        view = memoryview(source)
    except TypeError:
        pass
    except ValueError as error:
        raise TypeError(f"{type(source).__name__} cannot be read: {error}") from None
    else:
        if view.format.lstrip("@=<>!") not in {*"bBhHiIlLqQnN"}:
            raise TypeError(f"expected an array of integers, got one of format '{view.format}'")
        if view.ndim != 1:
            raise TypeError(f"expected token ids in one row, got an array of {view.ndim} dimensions")
    try:
        items = list(source)
    except TypeError:
        raise TypeError("expected a sequence of ints or an array of integers") from None
    for at, item in enumerate(items):
        try:
            items[at] = index(item)
        except TypeError:
            raise TypeError(f"ids[{at}] is {item!r:.100}, which is no int") from None
    return items


def in_characters(text: str, data: bytes) -> tuple[list[int], list[int]]:
    """For each place in the UTF-8 of a str, where in the str a token starts that starts there, and where one ends that ends there."""
    starts: list[int] = []
    ends = [0]
    at = 0
    for character in data.decode():
        size = len(character.encode())
        starts += [at] * size
        at += 2 if size == 4 and "\ud800" <= text[at] <= "\udbff" else 1  # spelled by two surrogates
        ends += [at] * size
    return [*starts, at], ends


def mended(text: str) -> str:
    """A str without surrogates: two that spell a character in UTF-16 become that character, any other U+FFFD."""
    if SURROGATES.search(text) is None:
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def as_bytes(text: Any) -> bytes:
    """The UTF-8 of a text."""
    from .lexers import readable

    return mended(text).encode() if isinstance(text, str) else bytes(readable(text))


def as_text(text: Any) -> str:
    """A text as a str. Bytes that are not UTF-8 are surrogates DC80 to DCFF, which no other text has."""
    return mended(text) if isinstance(text, str) else as_bytes(text).decode("utf-8", "surrogateescape")
