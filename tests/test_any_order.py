"""One tokenizer, and streams of it, through calls of all kinds and sizes in any order: what one leaves behind must not reach the next.

An encoder keeps memory, caches and what a long call asks now and then; tests of one method each begin with a new one, and see none of it.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest

from bitlex import Tokenizer
from bitlex.vocabulary import AddedToken
from small_vocabularies import TRAINED, describe

pytest.importorskip("bitlex._native", reason="the C extension was not built")

ADDED = (AddedToken(300, "<|end|>"), AddedToken(301, "<|go|>"))
ALL: dict[str, Any] = {"allowed_special": "all", "disallowed_special": ()}
# As long as what is short to some path, and somewhat longer; the last are pieces for which merging asks whether to go on.
TEXTS = [
    "", "the thing", "é中 <|end|>" * 20, "the thing " * 26, "12 the\n" * 700, "thing <|go|>é\r\n" * 5000, "the thing " * 7000, "中的 文字 " * 9000,
    "\U0001f44d the" * 40_000, "\n" + " " * 1_100_000, "ab" * 550_000,
]  # fmt: skip


def fresh() -> Tokenizer:
    return Tokenizer(describe(TRAINED, ADDED))


KNOWN = [fresh().encode(text, **ALL) for text in TEXTS]


def in_parts(rng: random.Random, text: str) -> list[Any]:
    """A text, or its UTF-8, cut anywhere."""
    whole: Any = text if rng.random() < 0.5 else text.encode()
    size = max(len(whole) // rng.choice((1, 3, 20)), 1)
    return [whole[at : at + size] for at in range(0, len(whole), size)]


def streamed(tokenizer: Tokenizer, rng: random.Random, text: str) -> list[int]:
    stream = tokenizer.stream(**ALL)
    found = [number for part in in_parts(rng, text) for number in stream.feed(part)]
    return [*found, *stream.finish()]


def into(tokenizer: Tokenizer, rng: random.Random, text: str) -> list[int]:
    room: Any = np.zeros(len(text) * 4 + 20, rng.choice(["u4", "i8"]))
    found: list[int] = room[: tokenizer.encode_into(text, room, **ALL)].tolist()
    return found


def flat(tokenizer: Tokenizer, rng: random.Random, text: str) -> list[int]:
    ids, begins = tokenizer.encode_batch_flat([TEXTS[2], text, TEXTS[4]], threads=rng.choice((1, 2)), **ALL)
    found: list[int] = ids[begins[1] : begins[2]].tolist()
    return found


def there_and_back(tokenizer: Tokenizer, rng: random.Random, text: str) -> list[int]:
    ids = tokenizer.encode(text, **ALL)
    assert tokenizer.decode(ids) == text
    return ids


WAYS: list[Callable[[Tokenizer, random.Random, str], list[int]]] = [
    lambda tokenizer, rng, text: tokenizer.encode(text, **ALL),
    lambda tokenizer, rng, text: tokenizer.encode(text.encode(), threads=2, **ALL),
    lambda tokenizer, rng, text: list(tokenizer.encode_to_numpy(bytearray(text.encode()), **ALL).tolist()),
    lambda tokenizer, rng, text: list(tokenizer.encode_with_offsets(text, **ALL)[0].tolist()),
    lambda tokenizer, rng, text: tokenizer.encode_batch([text, TEXTS[3]], **ALL)[0],
    streamed, streamed, streamed, into, flat, there_and_back,
]  # fmt: skip


def fails(tokenizer: Tokenizer, rng: random.Random) -> None:
    """A call that ends midway."""
    text, nothing = rng.choice(TEXTS), cast(str, 5)
    with pytest.raises((TypeError, ValueError, KeyError)):
        rng.choice([
            lambda: tokenizer.encode(text + "<|end|>"), lambda: tokenizer.encode_batch([text, nothing], **ALL), lambda: tokenizer.decode([5, 10**7]),
            lambda: tokenizer.encode_into("the" + text, np.zeros(0, np.uint32), **ALL), lambda: tokenizer.stream(hold=10, **ALL).feed(" " * 1000),
        ])()  # fmt: skip


@pytest.mark.parametrize("seed", range(3))
def test_any_order(seed: int) -> None:
    rng = random.Random(seed)
    tokenizer = fresh()
    waiting, waited = tokenizer.stream(**ALL), 0  # one that others come between
    found: list[int] = []
    for _ in range(120):
        at = rng.randrange(len(TEXTS))
        way = rng.choice(WAYS)
        assert way(tokenizer, rng, TEXTS[at]) == KNOWN[at], (seed, WAYS.index(way), at)
        if rng.random() < 0.2:
            fails(tokenizer, rng)
        if rng.random() < 0.3:
            found += waiting.feed("the thing ")
            waited += 1
    assert [*found, *waiting.finish()] == fresh().encode("the thing " * waited)
