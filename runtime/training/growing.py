"""Vocabularies that grow: one that there is and more merges in, one with all of them out; and what is needed to choose its first tokens.

    with_merges(Vocabulary.from_merges([b"a", b"b"], []), triples(0, 1, 2))        # a, b and ab

Invariant: tokens keep their ids, and each merge makes the next one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..vocabulary import MOST_BYTES, Vocabulary, VocabularyError, buffers

if TYPE_CHECKING:
    from typing_extensions import Buffer

__all__ = ["byte_counts", "extensible", "spelled", "with_merges"]


def byte_counts(pieces: Buffer, lengths: Buffer, counts: Buffer) -> Mapping[int, int]:
    """How often each byte occurs in all texts."""
    found: Counter[int] = Counter()
    at = 0
    data = memoryview(pieces)
    for length, count in zip(memoryview(lengths).cast("I"), memoryview(counts).cast("Q"), strict=True):
        for byte in data[at : at + length]:
            found[byte] += count
        at += length
    return found


def with_merges(start: Vocabulary, triples: bytes) -> Vocabulary:
    """A vocabulary with more merges, and the tokens that they make."""
    if not triples:
        return start
    assert start.merges is not None
    tokens = start.tokens()
    flat = memoryview(triples).cast("I").tolist()
    pairs = list(zip(flat[::3], flat[1::3], strict=True))
    lengths = list(map(len, tokens))
    for left, right in pairs:
        lengths.append(lengths[left] + lengths[right])
    total = sum(lengths)
    if total > MOST_BYTES:  # where pieces are long, each token may have all of the one before it: found out before there are any bytes
        raise VocabularyError(
            f"the {len(lengths):,} tokens that were learned have {total:,} bytes, more than {MOST_BYTES:,}; "
            "give a max_token_length, or a min_frequency of 2 or more"
        )
    for left, right in pairs:
        tokens.append(tokens[left] + tokens[right])
    return Vocabulary(*buffers(tokens), start.merges + triples, start.whole)


def extensible(vocabulary: Vocabulary, ids: int) -> Vocabulary:
    """One that says what merges, and in which the ids below are taken."""
    from ..vocabularies.ranks import merges_by_rank

    merges = vocabulary.merges if vocabulary.merges is not None else merges_by_rank(vocabulary)
    holes = max(ids - len(vocabulary), 0)
    starts = vocabulary.starts + vocabulary.starts[-4:] * holes
    return Vocabulary(vocabulary.blob, starts, merges, vocabulary.whole)


def spelled(start: Vocabulary, triples: bytes, number: int) -> bytes:
    """The bytes of a token, by the merges that made it."""
    flat, starts = memoryview(triples).cast("I"), memoryview(start.starts).cast("I")
    first = len(start)
    open_tokens, done = [number], list[bytes]()
    while open_tokens:
        number = open_tokens.pop()
        if number < first:
            done.append(start.blob[starts[number] : starts[number + 1]])
        else:
            at = 3 * (number - first)
            open_tokens += [flat[at + 1], flat[at]]
    return b"".join(done)
