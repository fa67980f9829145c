"""Small tokenizers for tests: random vocabularies, so that tokens collide, and Descriptions around them."""

from __future__ import annotations

import random
from typing import Any

from bitlex.encoders import Encoder, Pure
from bitlex.tokenizer import Tokenizer
from bitlex.vocabulary import AddedToken, Description, Vocabulary

__all__ = ["BYTES", "TRAINED", "describe", "pure", "random_vocabulary"]

BYTES = [bytes([byte]) for byte in range(256)]
UNITS = (
    (b"a", b"b"), (b"a", b"b", b"c", b" "), ("中".encode(), "文".encode(), b"a", "é".encode(), "😀".encode()),
    (b"\xe4\xb8\xad", b"\xe4", b"\xb8", b"\xc3", b"\xf0\x9f\x98", b"\x80", b"a", b"\xff", b" "),
)  # fmt: skip

# As training would have it on a little English: each token is made of two that were there before.
TRAINED = Vocabulary.from_ranks([
    *BYTES, b"th", b"the", b" the", b"in", b"ing", b" w", b"er", b"re", b"on", b" a", b"an", b"and", b" and", b"ll", b"ell", b"  ", b"    ",
    b"\xc3\xa9", b"\xe4\xb8", b"\xe4\xb8\xad", b"\xf0\x9f", b"\xf0\x9f\x98", b"\xf0\x9f\x98\x80", b"\n\n", b"12", b"123", b"'s",
])  # fmt: skip


def random_vocabulary(rng: random.Random) -> tuple[Vocabulary, tuple[bytes, ...]]:
    """Tokens out of one text, most of them not reached by merging, or merged in an order that training would not give; ids in any
    order and with holes; sometimes a byte is missing. And what texts are to be made of."""
    units = rng.choice(UNITS)
    text = b"".join(rng.choices(units, k=60))
    known = set(BYTES)
    if rng.random() < 0.15:
        known.discard(units[0][:1])
    for _ in range(rng.choice((5, 40, 150))):
        at = rng.randrange(len(text))
        known.add(text[at : at + rng.choice((2, 2, 3, 4, 5, rng.randint(1, 70)))])
    single = {token for token in known if len(token) == 1}
    known = {token for token in known if all(token[i : i + 1] in single for i in range(len(token)))}
    tokens = sorted(known)
    rng.shuffle(tokens)
    for _ in range(rng.choice((0, 3))):
        tokens.insert(rng.randrange(len(tokens)), b"")
    whole = rng.random() < 0.5
    if rng.random() < 0.5:
        return Vocabulary.from_ranks(tokens, whole=whole), units
    cuts = [(token[:i], token[i:]) for token in tokens for i in range(1, len(token))]
    merges = [(left, right) for left, right in cuts if left in known and right in known]
    rng.shuffle(merges)
    return Vocabulary.from_merges(tokens, merges[: rng.randint(len(merges) // 2, len(merges))], whole=whole), units


def describe(vocabulary: Vocabulary, added: tuple[AddedToken, ...] = (), *, family: str | None = "cl100k", convention: str = "tiktoken",
             **more: Any) -> Description:  # fmt: skip
    return Description(
        **{
            "vocabulary": vocabulary, "pre_tokenizer": None, "dialect": "fancy", "unicode": "16.0", "family": family, "added": added,
            "decoded": {token.id: token.content.encode() for token in added}, "convention": convention, "name": "small",
            "format": "tiktoken", "digest": "0" * 64, **more,
        }
    )  # fmt: skip


def pure(tokenizer: Tokenizer) -> Encoder:
    """The encoder in pure Python of the same tokenizer."""
    return Pure(tokenizer.description, tokenizer.lexer)
