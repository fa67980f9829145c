"""Merging by definition, against the engines as shipped: tiktoken and tokenizers on random vocabularies of every kind.

The vocabularies are small and over few letters, so that tokens collide: tokens that merging does not reach, merges out of order
(a merge before those that make its parts), several merges that make one token, ids in any order and with holes.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator

import pytest
import tiktoken
import tokenizers

from bitlex.merging import PureEncoder, merge, unmerged
from bitlex.vocabularies.byte_alphabet import ALPHABET
from bitlex.vocabulary import Vocabulary, VocabularyError

BYTES = [bytes([byte]) for byte in range(256)]


def words(rng: random.Random, count: int) -> list[bytes]:
    """Out of one text, so that one is often a part of another."""
    text = bytes(rng.choices(b"abc", k=12))
    places = [(at, at + rng.randint(2, 6)) for at in rng.choices(range(7), k=count)]
    found = sorted({text[at:end] for at, end in places})
    return rng.sample(found, len(found))


def pieces(rng: random.Random, tokens: list[bytes]) -> Iterator[bytes]:
    for length in [*range(12)] * 4:
        yield bytes(rng.choices(b"abc", k=length))
    yield from tokens
    for _ in range(20):
        yield b"".join(rng.choices(tokens or [b"a"], k=3))
    yield bytes(rng.choices(b"abcd", k=300))


def random_ranks(seed: int) -> dict[bytes, int]:
    rng = random.Random(seed)
    tokens = BYTES + words(rng, rng.choice((5, 40, 80)))
    numbers = rng.sample(range(len(tokens) + 20), len(tokens))
    return dict(zip(tokens, numbers, strict=True))


@pytest.mark.parametrize("seed", range(40))
def test_ranks_as_tiktoken(seed: int) -> None:
    ranks = random_ranks(seed)
    reference = tiktoken.Encoding("random", pat_str="(?s:.+)", mergeable_ranks=ranks, special_tokens={})
    vocabulary = Vocabulary.from_ranks(ranks)
    encoder = PureEncoder(vocabulary)
    for piece in pieces(random.Random(seed), list(ranks)):
        expected = reference.encode_ordinary(piece.decode("latin-1")) if piece.isascii() else reference._encode_bytes(piece)
        assert encoder.encode_piece(piece) == merge(vocabulary, piece) == expected, piece
        assert encoder.decode(expected) == piece


def random_merges(seed: int) -> tuple[list[bytes], list[tuple[bytes, bytes]], bool]:
    rng = random.Random(1000 + seed)
    tokens = BYTES + words(rng, rng.choice((5, 40, 80)))
    known = set(tokens)
    splits = [(token[:at], token[at:]) for token in tokens for at in range(1, len(token))]
    possible = [(left, right) for left, right in splits if left in known and right in known]
    rng.shuffle(tokens)
    return tokens, rng.sample(possible, rng.randint(len(possible) // 2, len(possible))), rng.random() < 0.5


@pytest.mark.parametrize("seed", range(40))
def test_merges_as_tokenizers(seed: int) -> None:
    tokens, merges, whole = random_merges(seed)
    spelled = [token.decode("latin-1").translate(dict(enumerate(ALPHABET))) for token in tokens]
    table = dict(zip(tokens, spelled, strict=True))
    reference = tokenizers.Tokenizer.from_str(json.dumps({
        "version": "1.0", "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False},
        "model": {"type": "BPE", "vocab": {text: number for number, text in enumerate(spelled)}, "ignore_merges": whole,
                  "merges": [[table[left], table[right]] for left, right in merges]},
    }))  # fmt: skip
    vocabulary = Vocabulary.from_merges(tokens, merges, whole=whole)
    encoder = PureEncoder(vocabulary)
    for piece in pieces(random.Random(seed), tokens):
        if piece.isascii():
            expected = reference.encode(piece.decode()).ids
            assert encoder.encode_piece(piece) == merge(vocabulary, piece) == expected, piece


def test_the_random_vocabularies_have_what_they_are_for() -> None:
    """Else the two tests above would show less than they say."""
    disagree = reordered = several = 0
    for seed in range(40):
        disagree += any(True for _ in unmerged(Vocabulary.from_ranks(random_ranks(seed))))
        _, merges, _ = random_merges(seed)
        made = [left + right for left, right in merges]
        several += len(set(made)) < len(made)
        reordered += any(part in made[at:] for at, pair in enumerate(merges) for part in pair)
    assert disagree > 20 and several > 20 and reordered > 20


def test_whole_first_disagrees_with_merging() -> None:
    ranks = {b"a": 0, b"b": 1, b"c": 2, b"bc": 3, b"ab": 4, b"abc": 5}
    vocabulary = Vocabulary.from_ranks({**ranks, b"cab": 6})
    assert list(unmerged(vocabulary)) == []
    vocabulary = Vocabulary.from_ranks({b"a": 0, b"b": 1, b"c": 2, b"d": 3, b"bc": 4, b"abcd": 5})
    assert list(unmerged(vocabulary)) == [5]
    assert merge(vocabulary, b"abcd") == [5] and merge(vocabulary, b"abcda") == [0, 4, 3, 0]


def test_leftmost_of_equal_ranks() -> None:
    vocabulary = Vocabulary.from_ranks({b"a": 0, b"aa": 1})
    assert merge(vocabulary, b"aaa") == PureEncoder(vocabulary).encode_piece(b"aaa") == [1, 0]


def minbpe(merges: list[tuple[int, int]], piece: bytes) -> list[int]:
    """As minbpe does it: all places of the pair that was learned first, from left to right, and again."""
    ranks = {pair: 256 + at for at, pair in enumerate(merges)}
    ids = list(piece)
    while pairs := [pair for pair in zip(ids, ids[1:], strict=False) if pair in ranks]:
        pair = min(pairs, key=ranks.__getitem__)
        at = 0
        while at < len(ids) - 1:
            if (ids[at], ids[at + 1]) == pair:
                ids[at : at + 2] = [ranks[pair]]
            at += 1
    return ids


@pytest.mark.parametrize("seed", range(20))
def test_one_after_another_is_all_at_once(seed: int) -> None:
    rng = random.Random(seed)
    tokens = list(BYTES)
    merges: list[tuple[int, int]] = []
    while len(merges) < 30:
        left, right = rng.choice([*range(97, 100), *range(256, len(tokens))]), rng.choice([*range(97, 100), *range(256, len(tokens))])
        if tokens[left] + tokens[right] not in tokens and len(tokens[left] + tokens[right]) < 12:
            merges.append((left, right))
            tokens.append(tokens[left] + tokens[right])
    vocabulary = Vocabulary.from_merges(tokens, [(tokens[left], tokens[right]) for left, right in merges])
    for piece in pieces(rng, tokens[256:]):
        assert merge(vocabulary, piece) == minbpe(merges, piece)


def test_a_byte_that_is_no_token_is_named() -> None:
    vocabulary = Vocabulary.from_ranks({b"a": 0, b"b": 1})
    for encode in (PureEncoder(vocabulary).encode_piece, lambda piece: merge(vocabulary, piece)):
        with pytest.raises(VocabularyError, match=r"^byte 0x63, at 2 of a piece, is no token of the vocabulary$"):
            encode(b"abcab")


def test_a_long_piece() -> None:
    """By the definition this would take days."""
    vocabulary = Vocabulary.from_ranks({b"a": 0, b"aa": 1, b"aaaa": 2})
    assert PureEncoder(vocabulary).encode_piece(b"a" * 100_003) == [2] * 25_000 + [1, 0]


def test_the_cache_is_bounded_and_returns_fresh_lists() -> None:
    encoder = PureEncoder(Vocabulary.from_ranks(BYTES), cached=10)
    for piece in BYTES:
        encoder.encode_piece(piece).append(7)
        assert len(encoder.known) <= 10
    assert [encoder.encode_piece(piece) for piece in BYTES] == [[number] for number in range(256)]
    assert encoder.encode_piece(b"a") == encoder.encode_piece(b"a") == [97]
    encoder.encode_piece(b"a").append(7)
    assert encoder.encode_piece(b"a") == [97]
    encoder.encode_piece(b"x" * 65)
    assert b"x" * 65 not in encoder.known


def test_decoding() -> None:
    encoder = PureEncoder(Vocabulary.from_ranks({b"a": 0, b"b": 2}), {1: b"<end>", 5: b"", 2: b"B"})
    assert encoder.decode([0, 1, 2, 5]) == b"a<end>B"
    for number in (3, 6, -1):
        with pytest.raises(VocabularyError, match=f"^id {number}, at 1, is no token$"):
            encoder.decode([0, number])
