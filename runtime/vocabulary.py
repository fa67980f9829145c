"""Vocabulary: what a byte-level BPE tokenizer knows, in three flat buffers; and Description: all else that makes it a tokenizer.

In: tokens as bytes, and their ranks or their merges. Out: values that never change, which the encoders read:

    Vocabulary.from_ranks({b"a": 0, b"b": 1, b"ab": 2})              # tiktoken: two tokens merge if their bytes together are a token
    Vocabulary.from_merges([b"a", b"b", b"ab"], [(b"a", b"b")])      # Hugging Face, minbpe: only what is listed merges, in this order

The tokens lie side by side in `blob`; `starts[i]` says where token i begins, and the start of the next one where it ends. That is
what C reads without a copy and what a file holds without a conversion.

Invariant of what the class methods and the loaders make, and of what `check` accepts: no two ids have the same bytes, so that bytes
find their id; what merges are made of, and what they make, are tokens; no pair merges twice. Anything else is a VocabularyError
that names the token. Rejected: a dict of bytes as the one true form (120 bytes a token, and nothing that C can map); merges made up
for rank files (which pairs can merge follows from the tokens, and a list would have to be checked against them).
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass, field
from itertools import accumulate
from operator import add
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from .lexers import Lexer

__all__ = ["MOST_BYTES", "MOST_IDS", "MOST_MERGES", "AddedToken", "Description", "Vocabulary", "VocabularyError", "buffers", "starts_of"]

MOST_IDS = 1 << 21
MOST_MERGES = 1 << 22
MOST_BYTES = (1 << 32) - 1  # of all tokens
VIEWED = ("blob", "starts", "merges")


class VocabularyError(ValueError):
    """A vocabulary, or a file of one, that is malformed or not supported. The message says which place and which value."""


@dataclass(frozen=True, slots=True, repr=False)
class Vocabulary:
    """The tokens of a tokenizer by id, and which of them merge. Made by `from_ranks`, `from_merges` and the loaders.

    blob    the bytes of token 0, 1, 2, ... side by side
    starts  uint32 in native byte order, one more than there are ids: token i is blob[starts[i]:starts[i + 1]], empty if i is none
    merges  uint32 in native byte order, for each merge by rank: left id, right id, id of both together. None: two tokens merge if
            their bytes together are a token, and the lower its id, the sooner
    whole   a piece that is a token is taken as that token before anything merges
    """

    blob: bytes
    starts: bytes
    merges: bytes | None
    whole: bool
    _views: tuple[memoryview, memoryview, memoryview | bytes | None] | None = field(default=None, init=False, compare=False)
    _ids: dict[bytes, int] | None = field(default=None, init=False, compare=False)
    _pairs: dict[tuple[int, int], tuple[int, int]] | None = field(default=None, init=False, compare=False)

    @classmethod
    def from_ranks(cls, tokens: Mapping[bytes, int] | Sequence[bytes], *, whole: bool = True) -> Vocabulary:
        """The vocabulary of a rank file: the rank of a token is its id. `tokens`: their ranks, or all in order of them, b"" for none."""
        listed = in_order(tokens) if isinstance(tokens, Mapping) else tokens
        made = cls(*buffers(listed), None, whole)
        object.__setattr__(made, "_ids", by_bytes(listed))
        made.check_bytes()
        return made

    @classmethod
    def from_merges(
        cls, tokens: Mapping[bytes, int] | Sequence[bytes], merges: Iterable[tuple[bytes, bytes]], *, whole: bool = False
    ) -> Vocabulary:
        """The vocabulary of a list of merges, the first of which goes first. `tokens`: their ids, or all in order of them."""
        listed = in_order(tokens) if isinstance(tokens, Mapping) else tokens
        ids = by_bytes(listed)
        triples = array("I")
        for rank, (left, right) in enumerate(merges):
            for part in (left, right, left + right):
                if part not in ids:
                    raise VocabularyError(f"merge {rank}, {left!r} and {right!r}: {part!r} is no token")
            triples.extend((ids[left], ids[right], ids[left + right]))
        made = cls(*buffers(listed), triples.tobytes(), whole)
        made.check_pairs()
        object.__setattr__(made, "_ids", ids)
        return made

    @classmethod
    def from_views(cls, blob: memoryview, starts: memoryview, merges: memoryview | bytes | None, whole: bool) -> Vocabulary:
        """The vocabulary of what lies elsewhere, in a mapped file or the tables of an encoder: it becomes bytes when somebody asks."""
        made = cls.__new__(cls)
        for name, value in (("whole", whole), ("_views", (blob, starts, merges)), ("_ids", None), ("_pairs", None)):
            object.__setattr__(made, name, value)
        return made

    if not TYPE_CHECKING:  # which would take any name for an attribute

        def __getattr__(self, name: str) -> Any:
            if name not in VIEWED or self._views is None:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            view = self._views[VIEWED.index(name)]
            object.__setattr__(self, name, None if view is None else bytes(view))
            return getattr(self, name)

    def __len__(self) -> int:
        """How many ids there are, counted from 0: the highest and one."""
        return len(self.starts) // 4 - 1

    def __repr__(self) -> str:
        how = "merging by rank" if self.merges is None else f"{len(self.merges) // 12:,} merges"
        return f"<bitlex.Vocabulary: {len(self):,} ids, {how}{', whole pieces first' * self.whole}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return Vocabulary, (self.blob, self.starts, self.merges, self.whole)  # what follows from these is made again

    def token_bytes(self, number: int) -> bytes:
        """The bytes of a token; none for an id that is no token."""
        if not 0 <= number < len(self):
            raise VocabularyError(f"id {number} is not below {len(self)}")
        starts = memoryview(self.starts).cast("I")
        return self.blob[starts[number] : starts[number + 1]]

    def tokens(self) -> list[bytes]:
        """The bytes of all ids, in order."""
        starts = memoryview(self.starts).cast("I").tolist()
        blob = self.blob
        return [blob[start:end] for start, end in zip(starts, starts[1:], strict=False)]

    @property
    def ids(self) -> Mapping[bytes, int]:
        """The id of each token by its bytes."""
        if self._ids is None:
            object.__setattr__(self, "_ids", by_bytes(self.tokens()))
        assert self._ids is not None
        return self._ids

    @property
    def pairs(self) -> Mapping[tuple[int, int], tuple[int, int]]:
        """For each two ids that merge, the rank of that and the id they make; of a vocabulary that lists its merges."""
        if self._pairs is None:
            flat = memoryview(self.merges or b"").cast("I").tolist()
            made = {(flat[at], flat[at + 1]): (at // 3, flat[at + 2]) for at in range(0, len(flat), 3)}
            object.__setattr__(self, "_pairs", made)
        assert self._pairs is not None
        return self._pairs

    def joined(self, left: int, right: int) -> tuple[int, int] | None:
        """The rank at which these two merge, and the id they make; None if they do not merge."""
        if self.merges is not None:
            return self.pairs.get((left, right))
        starts = memoryview(self.starts).cast("I")
        made = self.ids.get(self.blob[starts[left] : starts[left + 1]] + self.blob[starts[right] : starts[right + 1]])
        return None if made is None else (made, made)

    def check(self) -> None:
        """VocabularyError unless all is as the class says: for buffers that come from elsewhere."""
        if len(self.starts) % 4 or len(self.starts) < 4:
            raise VocabularyError(f"starts has {len(self.starts)} bytes, not four for each id and four more")
        bounds = memoryview(self.starts).cast("I").tolist()
        if bounds[0] or bounds[-1] != len(self.blob) or any(a > b for a, b in zip(bounds, bounds[1:], strict=False)):
            raise VocabularyError(f"starts does not rise from 0 to {len(self.blob)}, the length of blob")
        limit("ids", len(self), MOST_IDS)
        tokens = self.tokens()
        by_bytes(tokens)
        if self.merges is None:
            self.check_bytes()
            return
        if len(self.merges) % 12:
            raise VocabularyError(f"merges has {len(self.merges)} bytes, not twelve for each")
        flat = memoryview(self.merges).cast("I").tolist()
        for rank, triple in enumerate(zip(flat[::3], flat[1::3], flat[2::3], strict=True)):
            wrong = [number for number in triple if number >= len(tokens) or not tokens[number]]
            if wrong:
                raise VocabularyError(f"merge {rank}, {triple}: {wrong[0]} is no token")
            left, right, made = triple
            if tokens[left] + tokens[right] != tokens[made]:
                raise VocabularyError(f"merge {rank}: {tokens[left]!r} and {tokens[right]!r} do not make {tokens[made]!r}")
        self.check_pairs()

    def check_bytes(self) -> None:
        """Each byte of a token is a token. tiktoken takes others, and panics at the first text that is left with such a byte."""
        single = bytes(byte for byte in range(256) if bytes([byte]) in self.ids)
        for byte in self.blob.translate(None, delete=single):
            token, number = next((token, number) for token, number in self.ids.items() if byte in token)
            raise VocabularyError(f"token {number}, {token!r}: its byte 0x{byte:02X} is no token by itself")

    def check_pairs(self) -> None:
        """No pair is listed twice, and there are not too many."""
        flat = memoryview(self.merges or b"").cast("I").tolist()
        limit("merges", len(flat) // 3, MOST_MERGES)
        if len(set(map(add, map(MOST_IDS.__mul__, flat[::3]), flat[1::3]))) == len(flat) // 3:
            return
        seen: dict[tuple[int, int], int] = {}
        for rank, pair in enumerate(zip(flat[::3], flat[1::3], strict=True)):
            if seen.setdefault(pair, rank) != rank:
                left, right = (self.token_bytes(number) for number in pair)
                raise VocabularyError(f"merges {seen[pair]} and {rank} are the same, {left!r} and {right!r}")


def in_order(numbers: Mapping[bytes, int]) -> list[bytes]:
    """The tokens in order of their ids, and b"" for ids that are none."""
    size = max(numbers.values(), default=-1) + 1
    limit("ids", size, MOST_IDS)
    tokens = [b""] * size
    for token, number in numbers.items():
        if number < 0:
            raise VocabularyError(f"token {token!r} has the id {number}")
        if not token:
            raise VocabularyError(f"token {number} is empty")
        if tokens[number]:
            raise VocabularyError(f"tokens {tokens[number]!r} and {token!r} have the same id, {number}")
        tokens[number] = token
    return tokens


def by_bytes(tokens: Sequence[bytes]) -> dict[bytes, int]:
    """The ids of tokens that are in order of them; no two may be equal."""
    limit("ids", len(tokens), MOST_IDS)
    ids = dict(zip(tokens, range(len(tokens)), strict=True))
    holes = tokens.count(b"")
    if len(ids) != len(tokens) - max(holes - 1, 0):
        seen: dict[bytes, int] = {}
        for number, token in enumerate(tokens):
            if token and seen.setdefault(token, number) != number:
                raise VocabularyError(f"ids {seen[token]} and {number} are the same token, {token!r}")
    ids.pop(b"", None)
    return ids


def buffers(tokens: Sequence[bytes]) -> tuple[bytes, bytes]:
    """The blob and the starts of tokens that are in order of their ids."""
    return b"".join(tokens), starts_of(tokens)


def starts_of(tokens: Sequence[Sized]) -> bytes:
    """Where each token begins, of tokens or of other things of the same lengths."""
    limit("ids", len(tokens), MOST_IDS)
    starts = list(accumulate(map(len, tokens), initial=0))
    limit("bytes of tokens", starts[-1], MOST_BYTES)
    return array("I", starts).tobytes()


def limit(what: str, count: int, most: int) -> None:
    if count > most:
        raise VocabularyError(f"{count:,} {what} are more than the {most:,} that a vocabulary may have")


@dataclass(frozen=True, slots=True)
class AddedToken:
    """A token that is found in the text itself, before the text is cut into pieces.

    special      it stands for no text: tiktoken's special tokens, and what Hugging Face leaves out when it decodes
    lstrip       white space before it belongs to it; rstrip: behind it
    single_word  it counts only where no letter, digit, mark or underscore stands beside it
    normalized   it is looked for in the normalized text, in its own normalized form
    """

    id: int
    content: str
    special: bool = True
    lstrip: bool = False
    rstrip: bool = False
    single_word: bool = False
    normalized: bool = False

    def looked_for(self, normalizes: bool) -> str:
        """What is looked for, by a tokenizer that normalizes or by one that does not."""
        if not normalizes or not self.normalized or self.content.isascii():
            return self.content
        from .normalization import nfc

        return nfc(self.content)


@dataclass(frozen=True, slots=True, repr=False)
class Description:
    """All that makes a tokenizer, before it is compiled: what `bitlex.vocabularies.load` returns.

    pre_tokenizer  what `bitlex.compile` takes, with `dialect` and `unicode`: it cuts the text between added tokens. None: nothing does
    family         the family of the catalogue that splits every text as `pre_tokenizer` does, if there is one; it comes first
    prefix_space   each text between added tokens that does not begin with U+0020 gets one before it is cut
    added          the added tokens, in order of their ids
    normalizer     what is done to text before it is cut
    convention     "tiktoken": special tokens in a text are an error unless they are allowed; "huggingface": added tokens are always
                   found; "tekken": never, their ids are only added by who makes a prompt
    decoded        the bytes that ids decode to which are no token of the vocabulary, or which decode to something else
    single, pair   what comes out for one text and for two: ids, and "A" and "B" for those of the texts; each with its type id
    format         "tiktoken", "huggingface", "tekken" or "minbpe"
    digest         SHA-256 of the file, in hexadecimal digits; of what would be the file, for an object in memory
    """

    vocabulary: Vocabulary
    pre_tokenizer: Mapping[str, Any] | None
    dialect: Literal["fancy", "oniguruma", "python"]
    unicode: str
    family: str | None
    added: tuple[AddedToken, ...]
    decoded: Mapping[int, bytes]
    convention: Literal["tiktoken", "huggingface", "tekken"]
    name: str
    format: Literal["tiktoken", "huggingface", "tekken", "minbpe"]
    digest: str
    normalizer: Literal["NFC"] | None = None
    prefix_space: bool = False
    single: tuple[tuple[int | Literal["A", "B"], int], ...] = (("A", 0),)
    pair: tuple[tuple[int | Literal["A", "B"], int], ...] = (("A", 0), ("B", 1))

    def __repr__(self) -> str:
        return f"<bitlex.Description {self.name}: {self.format}, {len(self.vocabulary):,} ids, {len(self.added):,} added tokens>"

    def lexer(self) -> Lexer:
        """The lexer that cuts the text between added tokens. VocabularyError for a pattern that cannot be one; where the caller gave it, as
        for rank files, PatternError or LimitError."""
        from .catalogue import lexer
        from .compiler import compile

        if self.family is not None:
            return lexer(self.family)
        from .generator import LimitError, PatternError

        try:
            return compile(self.pre_tokenizer, dialect=self.dialect, unicode=self.unicode, name=self.name)
        except (PatternError, LimitError) as error:
            if self.format == "tiktoken":
                raise
            what = "pre_tokenizer" if self.format == "huggingface" else "pattern"
            raise VocabularyError(f"the {what} of {self.name}: {error}") from error

    @property
    def prefix(self) -> tuple[int, ...]:
        """The ids that stand before a single text."""
        return tuple(what for what, _ in self.single[: self.single.index(self.text)] if isinstance(what, int))

    @property
    def suffix(self) -> tuple[int, ...]:
        """The ids that stand behind a single text."""
        return tuple(what for what, _ in self.single[self.single.index(self.text) + 1 :] if isinstance(what, int))

    @property
    def text(self) -> tuple[int | Literal["A", "B"], int]:
        """Where the single text stands in `single`, with its type id."""
        return next(item for item in self.single if item[0] == "A")
