"""Where a text may go on: the ids that will stay, and what its end may become; and the ids of bytes that are not UTF-8.

    unstable = Unstable(tokenizer)
    unstable.complete("hello fanta", ())            # ([15339], [[75, 8903], [8571, 64], ...])

The last piece of a text may change when more text follows. `complete` gives the ids before it, and everything that the next ids may
be so that the text begins with what it has: the tokens that begin with the rest, and for each place in the rest the tokens that begin
with what is behind it. tiktoken 0.14 tries these the same way (`_encode_unstable_native`, `_encode_bytes` in its Rust); it does not
find all that is possible, and neither does this. Invariant: the same ids, and the same set of continuations, in any order.
Rejected: all continuations (another function than tiktoken's).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING

from ..added import WHITE_SPACE
from ..alternatives import alternatives
from ..cached import cached_property
from ..merging import PureEncoder

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from ..tokenizer import Tokenizer

__all__ = ["Unstable"]

BLANKS = frozenset(b" \n\t")


class Unstable:
    """What it takes beside a tokenizer: its tokens in order of their bytes, and pieces merged by themselves."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        self.ids = tokenizer.description.vocabulary.ids

    @cached_property
    def merging(self) -> PureEncoder:
        return PureEncoder(self.tokenizer.description.vocabulary)

    def merged(self, data: bytes) -> list[int]:
        """The ids of bytes that are one piece, and no token."""
        return self.tokenizer._encoder.merge(data, "automatic")

    @cached_property
    def tokens(self) -> list[bytes]:
        """All tokens that are not special, in order of their bytes."""
        nothing = [token for token in self.tokenizer.description.decoded.values() if not token]  # the empty token, which goes on nowhere
        return nothing + sorted(self.ids)

    @cached_property
    def sizes(self) -> dict[int, int]:
        """How many bytes each of them has, by its id."""
        return {number: len(token) for token, number in self.ids.items()}

    def beginning_with(self, prefix: bytes) -> list[bytes]:
        """All tokens that do."""
        size = len(prefix)
        first = bisect_left(self.tokens, prefix)
        return self.tokens[first : bisect_right(self.tokens, prefix, first, key=lambda token: token[:size])]

    def complete(self, text: str, allowed: Collection[str]) -> tuple[list[int], list[list[int]]]:
        """The ids that stay, and the sequences of ids with which the text may go on."""
        stable, rest = self.parted(text, allowed)
        found: set[tuple[int, ...]] = {(self.ids[token],) for token in self.beginning_with(rest)} if rest else set()
        longer = [rest[:at] + token for at in range(1, len(rest)) for token in self.beginning_with(rest[at:])]
        found.update(self.covering(longer, len(rest)))
        last = last_character(rest)
        if last and len(last.encode()) < len(rest) and last in WHITE_SPACE:
            size = len(last.encode())
            found.add((*self.merged(rest[:-size]), *self.merged(rest[-size:])))
        return stable, [list(ids) for ids in found]

    def covering(self, texts: list[bytes], size: int) -> Iterator[tuple[int, ...]]:
        """The first ids of each text that have `size` bytes together."""
        sizes = self.sizes
        for data, ids in zip(texts, self.tokenizer._encoder.encode_batch(texts, None, None, 1), strict=True):
            known = ids if is_utf8(data) else self.merged(data)
            count = done = 0
            while done < size:
                done += sizes[known[count]]
                count += 1
            yield tuple(known[:count])

    def parted(self, text: str, allowed: Collection[str]) -> tuple[list[int], bytes]:
        """The ids of a text without those of its last piece, and what bytes these are."""
        ids = self.tokenizer.encode(text, allowed_special=allowed, disallowed_special=())
        count = self.of_last_piece(text, allowed)
        if count and self.is_blank(ids[-count]):
            while count < len(ids) and self.is_blank(ids[-count - 1]):
                count += 1
        stable = ids[: len(ids) - count]
        return stable, self.tokenizer.decode_bytes(ids[len(stable) :])

    def of_last_piece(self, text: str, allowed: Collection[str]) -> int:
        """How many ids the last piece has; 0 where a special token is last."""
        done = 0
        for match in alternatives(allowed).finditer(text) if allowed else ():
            done = match.end()
        pieces = self.tokenizer.lexer.split(text[done:])
        return len(self.merging.encode_piece(pieces[-1].encode())) if pieces else 0

    def is_blank(self, number: int) -> bool:
        """Whether this token is nothing but spaces, newlines and tabs; a special one is not."""
        vocabulary = self.tokenizer.description.vocabulary
        token = vocabulary.token_bytes(number) if number < len(vocabulary) else b""
        return bool(token) and BLANKS.issuperset(token)

    def encode_bytes(self, data: bytes) -> list[int]:
        """The ids of bytes. From the first that is not UTF-8 on, and the last piece before it, they are one piece."""
        try:
            return self.tokenizer.encode_ordinary(data.decode())
        except UnicodeDecodeError as error:
            ids, last = self.parted(data[: error.start].decode(), ())
            rest = last + data[error.start :]
            return [*ids, *self.merging.encode_piece(rest)]


def is_utf8(data: bytes) -> bool:
    try:
        return data.isascii() or bool(data.decode())
    except UnicodeDecodeError:
        return False


def last_character(data: bytes) -> str:
    """The last character of bytes; none if they do not end with a whole one."""
    for size in range(1, 5):
        try:
            found = data[-size:].decode()
        except UnicodeDecodeError:
            continue
        return found if len(found) == 1 else ""
    return ""
