"""The ints that ids have in lists: from Python 3.12 on objects of our own making, which a program must not tell from any others."""

from __future__ import annotations

import copy
import gc
import itertools
import json
import marshal
import operator
import os
import pickle
import random
import struct
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import bitlex
from bitlex.tokenizer import Tokenizer
from bitlex.vocabulary import AddedToken, Vocabulary
from small_vocabularies import BYTES, describe

native = pytest.importorskip("bitlex._native", reason="the C extension was not built")
AT_ONCE = 32  # items of a list, see _numbers.c


def tokenizer_of(count: int, *added: AddedToken) -> Tokenizer:
    """With so many tokens: the bytes, and words of letters with a space before."""
    words = map("".join, itertools.product("abcdefghijklmnop", repeat=5))
    tokens = [*BYTES, *(f" {word}".encode() for word in itertools.islice(words, count - 256))]
    return Tokenizer(describe(Vocabulary.from_ranks(tokens), added))


def made_anew(number: int) -> int:
    """Another object, if Python has not one for all such."""
    return int(str(number))


@pytest.fixture(scope="module")
def tokenizers() -> list[Tokenizer]:
    """Each of which has more tokens than the one before, so that what came of that one is no longer where new ids are."""
    return [tokenizer_of(300), tokenizer_of(2_000), tokenizer_of(70_000, AddedToken(70_001, "<|end|>"), AddedToken(2_000_000, "<|far|>"))]


def test_they_are_ints_like_others(tokenizers: list[Tokenizer]) -> None:
    for tokenizer in tokenizers:
        some = list(range(len(tokenizer.description.vocabulary)))
        ids = tokenizer.encode(b"".join(map(tokenizer.token_bytes, some)), allowed_special=set())
        found = [*dict.fromkeys(ids)]
        assert len(found) >= 250
        for number in found:
            other = made_anew(number)
            assert type(number) is int and number == other and hash(number) == hash(other) and repr(number) == repr(other)
            assert (number + 1, -number, number * number, number >> 1, number % 7, float(number), number.bit_length()) == (
                other + 1, -other, other * other, other >> 1, other % 7, float(other), other.bit_length()
            )  # fmt: skip
            assert {other: 1}[number] and [other].index(number) == 0 and sys.getsizeof(number) == sys.getsizeof(other)
        for same in (copy.copy(found), copy.deepcopy(found), pickle.loads(pickle.dumps(found)), marshal.loads(marshal.dumps(found))):
            assert same == found
        assert json.loads(json.dumps(found)) == found and list(struct.unpack(f"{len(found)}I", struct.pack(f"{len(found)}I", *found))) == found
        assert np.array(found).tolist() == found and sum(found) == sum(map(made_anew, found)) and sorted(found) == sorted(map(made_anew, found))


def test_small_ones_are_those_of_python(tokenizers: list[Tokenizer]) -> None:
    """Programs compare them by `is`, whether they should or not."""
    for tokenizer in tokenizers:
        for text in [bytes([byte]) for byte in range(256)]:
            (number,) = tokenizer.encode(text)
            assert number is made_anew(number)
        assert all(number is made_anew(number) for number in tokenizer.encode(bytes(range(256)) * 3) if number <= 256)


def test_every_id_of_a_list(tokenizers: list[Tokenizer]) -> None:
    """Many are put and read at once, the others one by one; what is above all that are kept is made anew."""
    rng = random.Random(1)
    tokenizer = tokenizers[-1]
    for length in [*range(3 * AT_ONCE), 1_000, 20_000]:
        drawn = [rng.choice((rng.randrange(256), rng.randrange(256, 70_000), 70_001, 2_000_000)) for _ in range(length)]
        words = {70_001: b"<|end|>", 2_000_000: b"<|far|>"}
        text = b"".join(words.get(number) or tokenizer.token_bytes(number) for number in drawn)
        expected = tokenizer.encode_to_numpy(text, allowed_special="all").tolist()
        found = tokenizer.encode(text, allowed_special="all")
        assert found == expected and all(type(number) is int for number in found)
        assert tokenizer.decode_bytes(found) == tokenizer.decode_bytes(expected) == text
        assert tokenizer.decode_bytes(tuple(found)) == text


def test_they_outlive_who_made_them(tokenizers: list[Tokenizer]) -> None:
    """And are read by tokenizers that have others."""
    text = " aaaba abc aaabb dcba aaaap" * 20
    kept = []
    for count in (500, 5_000, 100_000):
        tokenizer = tokenizer_of(count)
        kept.append((tokenizer.encode(text), tokenizer.encode_to_numpy(text).tolist()))
        del tokenizer
        gc.collect()
    for found, expected in kept:
        assert found == expected
        for tokenizer in tokenizers:
            if max(found) < len(tokenizer.description.vocabulary):
                assert tokenizer.decode_bytes(found) == tokenizer.decode_bytes(np.array(expected))


@pytest.mark.parametrize("length", [1, AT_ONCE - 1, AT_ONCE, AT_ONCE + 1, 3 * AT_ONCE + 5])
def test_one_that_is_another(tokenizers: list[Tokenizer], length: int) -> None:
    """At any place, among such as are known by where they are."""
    tokenizer = tokenizers[-1]
    ids = (tokenizer.encode(" aaabc, aabba" * length) * length)[:length]
    blob: list[bytes] = [tokenizer.token_bytes(number) for number in ids]
    others: list[tuple[Any, int]] = [(made_anew(60_000), 60_000), (made_anew(300), 300), (True, 1), (np.uint16(299), 299), (2.5, -1), ("x", -1), (None, -1)]
    for at in range(length):
        for other, number in others:
            given: list[Any] = [*ids[:at], other, *ids[at + 1 :]]
            if number < 0:
                with pytest.raises(TypeError, match=rf"^ids\[{at}\] is .*, which is no int$"):
                    tokenizer.decode_bytes(given)
            else:
                assert tokenizer.decode_bytes(given) == b"".join([*blob[:at], tokenizer.token_bytes(number), *blob[at + 1 :]])
        for unknown in (69_999 + 1, 2**21, 2**70, -1):
            with pytest.raises(KeyError, match=rf"ids\[{at}\] is .*, which is no token"):
                tokenizer.decode_bytes([*ids[:at], unknown, *ids[at + 1 :]])


def test_numbers_that_are_no_ids(tokenizers: list[Tokenizer]) -> None:
    """Places of tokens in a long text: those that are ids somewhere, the first that is none, and others."""
    encoder: Any = tokenizers[0]._encoder
    size = 120_000
    _, places, pieces, count = encoder.encode_words("zz" * (size // 2))
    assert places == [(at, at + 1) for at in range(size)] and pieces == [0] * size and count == 1


KEPT = pytest.mark.skipif(
    sys.maxsize < 2**32 or sys.int_info.bits_per_digit != 30, reason="ints are kept where addresses have 64 bits and digits of ints 30, which this Python has not"
)


@KEPT
def test_they_are_made_once(tokenizers: list[Tokenizer]) -> None:
    """Whoever gives them, side by side; and nobody can use them up."""
    text = " aaaba aaabb aaaap" * 20
    lists = [tokenizer.encode(text) for tokenizer in tokenizers for _ in range(2)]
    for found, again in zip(lists[::2], lists[1::2], strict=True):
        assert all(map(operator.is_, found, again))
    places: dict[int, int] = {}
    for number in itertools.chain(*lists, tokenizers[-1].encode(b"".join(map(tokenizers[-1].token_bytes, range(257, 2_000))))):
        assert places.setdefault(number, id(number)) == id(number)
    size = -(-sys.getsizeof(257) // 16) * 16
    large = sorted((number, place) for number, place in places.items() if number > 1_024)
    assert len(large) > 900 and all(there - place == (other - number) * size for (number, place), (other, there) in itertools.pairwise(large))
    before = [sys.getrefcount(number) for number in lists[-1]]
    del lists
    gc.collect()
    found = tokenizers[-1].encode(text)
    assert before == [sys.getrefcount(number) for number in found] if sys.version_info >= (3, 12) else min(map(sys.getrefcount, found)) > 2**57
    assert sys.version_info >= (3, 12) or min(map(sys.getrefcount, range(257))) > 2**57
    far = tokenizers[-1].encode("<|far|>" * 2, allowed_special="all")
    assert far == [2_000_000] * 2 and far[0] is not far[1]


@KEPT
@pytest.mark.skipif(bitlex.lexer("cl100k").tier not in ("avx512", "avx2"), reason="without AVX2, what is in a list is told by a look at each, which is faster there")
def test_they_are_told_by_where_they_are() -> None:
    """Shown by ints that are worth something else, in a process that ends with it: as many of a list as are looked at together."""
    program = """
import ctypes, bitlex
tokenizer = bitlex.train(["a few words and others"], 260)
kept = max(tokenizer.encode("a few words and others" * 20))
assert kept > 256
many = [65, kept] * 48 + [int(str(kept))] + [kept] * 40
ctypes.c_uint32.from_address(id(kept) + int.__basicsize__).value = 66
print(tokenizer.decode_bytes(many).count(b"B"))
"""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "40\n"


@pytest.mark.parametrize("tier", ["avx2", "portable"])
def test_with_other_vectors_than_there_are(tier: str) -> None:
    """All of the above, in a process that is told to have less."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "not vectors", __file__]
    done = subprocess.run(command, env=os.environ | {"BITLEX_TIER": tier}, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and ("12 passed" if tier == "avx2" else "11 passed, 1 skipped") in done.stdout, done.stdout[-4000:] + done.stderr[-2000:]
