"""Byte-pair merging by its definition, in pure Python: a piece in, the ids of its tokens out.

    merge(Vocabulary.from_ranks({b"a": 0, b"b": 1, b"ab": 2}), b"aab")          # [0, 2]

A piece starts as its single bytes. As long as two neighbours merge, those of the lowest rank do, and of equal ones those further
left. `merge` is these two sentences and nothing else: the definition, quadratic in the piece, with which every other encoder is
compared. `PureEncoder` is what runs where no C compiler was: the same from a heap of the pairs that can merge, in time near linear in
the piece, and a cache of short pieces.

Invariant: both give the same ids, for any vocabulary; a rank file is tiktoken's `byte_pair_encode`, a list of merges is the BPE of
Hugging Face tokenizers, which pops the same pairs from its own heap. A pair in the heap is valid as long as both parts are still what
they were; parts only grow, so that comparing their ends is enough. Rejected: leaving out bytes that are no token, as Hugging Face
does silently (its ids then no longer spell the text): a VocabularyError names the byte and its place.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from heapq import heapify, heappop, heappush
from types import MappingProxyType

from .vocabulary import Vocabulary, VocabularyError

__all__ = ["PureEncoder", "merge", "unmerged"]

LONGEST_CACHED = 64  # bytes of a piece
NOTHING: Mapping[int, bytes] = MappingProxyType({})


def merge(vocabulary: Vocabulary, piece: bytes) -> list[int]:
    """The ids of a piece, by the definition."""
    if vocabulary.whole and piece in vocabulary.ids:
        return [vocabulary.ids[piece]]
    parts, joined = single_bytes(vocabulary, piece), cache(vocabulary.joined)  # most pairs are asked for again after each merge
    while True:
        found = [joined(left, right) for left, right in zip(parts, parts[1:], strict=False)]
        ranks = [(pair[0], at) for at, pair in enumerate(found) if pair is not None]
        if not ranks:
            return parts
        at = min(ranks)[1]
        pair = found[at]
        assert pair is not None
        parts[at : at + 2] = [pair[1]]


def unmerged(vocabulary: Vocabulary) -> Iterator[int]:
    """The tokens whose own bytes do not merge to them: where taking a whole piece first and merging disagree."""
    bare = Vocabulary(vocabulary.blob, vocabulary.starts, vocabulary.merges, False)
    encoder = PureEncoder(bare)
    return (number for number, token in enumerate(bare.tokens()) if token and encoder.merged(token) != [number])


def single_bytes(vocabulary: Vocabulary, piece: bytes) -> list[int]:
    ids = vocabulary.ids
    try:
        return [ids[piece[at : at + 1]] for at in range(len(piece))]
    except KeyError as missing:
        byte = missing.args[0]
        raise VocabularyError(f"byte 0x{byte[0]:02X}, at {piece.index(byte)} of a piece, is no token of the vocabulary") from None


class PureEncoder:
    """Encodes pieces and decodes ids, slowly. `decoded`: the bytes of ids that the vocabulary does not have, or has otherwise."""

    def __init__(self, vocabulary: Vocabulary, decoded: Mapping[int, bytes] = NOTHING, cached: int = 1 << 16) -> None:
        self.vocabulary = vocabulary
        self.cached = cached
        self.known: dict[bytes, list[int]] = {}
        self.tokens = dict(enumerate(vocabulary.tokens())) | dict(decoded)
        self.no_text = {number for number, token in decoded.items() if not token}  # decode to nothing, and are no mistake

    def encode_piece(self, piece: bytes) -> list[int]:
        """The ids of a piece. Pieces of up to 64 bytes are remembered; when there are too many, all are forgotten."""
        found = self.known.get(piece)
        if found is None:
            number = self.vocabulary.ids.get(piece) if self.vocabulary.whole else None
            found = self.merged(piece) if number is None else [number]
            if len(piece) <= LONGEST_CACHED:
                if len(self.known) >= self.cached:
                    self.known.clear()
                self.known[piece] = found
        return found.copy()

    def merged(self, piece: bytes) -> list[int]:
        """The ids that the bytes of a piece merge to. Part `i` is the bytes i..ends[i], as token `ids[i]`."""
        joined = self.vocabulary.joined
        ids = single_bytes(self.vocabulary, piece)
        size = len(piece)
        ends = list(range(1, size + 1))
        starts = list(range(-1, size))  # of the part that ends here
        heap = []
        for at in range(size - 1):
            pair = joined(ids[at], ids[at + 1])
            if pair is not None:
                heap.append((pair[0], at, at + 1, at + 2, pair[1]))
        heapify(heap)
        while heap:
            _, start, middle, end, made = heappop(heap)
            if ends[start] != middle or ends[middle] != end:
                continue
            ids[start], ends[start], starts[end] = made, end, start
            ends[middle] = 0  # no part begins here any more
            if start:
                before = starts[start]
                pair = joined(ids[before], made)
                if pair is not None:
                    heappush(heap, (pair[0], before, start, end, pair[1]))
            if end < size:
                pair = joined(made, ids[end])
                if pair is not None:
                    heappush(heap, (pair[0], start, end, ends[end], pair[1]))
        return [number for number, end in zip(ids, ends, strict=True) if end]

    def decode(self, ids: Iterable[int]) -> bytes:
        """The bytes of tokens. An id that is none is a VocabularyError with its place."""
        tokens, no_text = self.tokens, self.no_text
        parts = []
        for at, number in enumerate(ids):
            part = tokens.get(number, b"")
            if not part and number not in no_text:
                raise VocabularyError(f"id {number}, at {at}, is no token")
            parts.append(part)
        return b"".join(parts)
