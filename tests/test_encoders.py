"""Encoders: the native one against the pure one and against merging by definition, on random vocabularies, texts, and all that is a text."""

from __future__ import annotations

import array
import codecs
import ctypes
import gc
import itertools
import mmap
import os
import random
import signal
import subprocess
import sys
import threading
import time
import tracemalloc
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bitlex
from bitlex.encoders import METHODS, Encoder, make_encoder
from bitlex.merging import merge
from bitlex.tokenizer import Tokenizer
from bitlex.vocabulary import AddedToken, Vocabulary
from small_vocabularies import BYTES, TRAINED, describe, pure, random_vocabulary
from tokenizing import apart

native = pytest.importorskip("bitlex._native", reason="the C extension was not built")

ADDED = (AddedToken(300, "<|end|>"), AddedToken(301, "<|end|>more"), AddedToken(302, "[x]"), AddedToken(500_000, "é!"))


def outcome(run: Any, *arguments: Any) -> Any:
    """What a call returns, or what it raises."""
    try:
        found = run(*arguments)
    except Exception as error:
        return ValueError if isinstance(error, ValueError) else type(error), str(error)
    if isinstance(found, tuple):
        return [part.tolist() if isinstance(part, np.ndarray) else part for part in found]
    return found.tolist() if isinstance(found, np.ndarray) else found


def test_every_character_in_every_width_of_str() -> None:
    """A str of one, two or four bytes a character becomes the UTF-8 that Python makes of it, wherever in it a character is."""
    encoder = make_encoder(describe(Vocabulary.from_ranks(BYTES)), bitlex.lexer("cl100k"))
    rng = random.Random(7)
    for start in range(0, 0x110000, 0x1000):
        block = "".join(map(chr, range(start, start + 0x1000)))
        for before in ("", "abc", "\u4e00", "\U0001f600" + "x" * 17):
            text = before + block
            expected = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode()
            assert bytes(encoder.encode_to_numpy(text, None, None, 1).astype(np.uint8)) == expected, hex(start)
    edges = [0x00, 0x7F, 0x80, 0xFF, 0x7FF, 0x800, 0xD7FF, 0xD800, 0xDBFF, 0xDC00, 0xDFFF, 0xE000, 0xFFFF, 0x10000, 0x10FFFF]
    for top in (0x100, 0x10000, 0x110000):
        known = [*filter(range(top).__contains__, edges), *b"abcdefghij"]
        for _ in range(2000):
            text = "".join(map(chr, rng.choices(known, k=rng.randrange(100))))
            expected = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode()
            assert bytes(encoder.encode_to_numpy(text, None, None, 1).astype(np.uint8)) == expected, ascii(text)


@pytest.mark.parametrize("tier", ["avx2", "portable"])
def test_every_way_to_make_utf8(tier: str) -> None:
    """The same as above where vectors are shorter or none: that is decided when the extension is imported."""
    chosen = "test_every_character_in_every_width_of_str or test_any_str or test_a_long_str_is_made_utf8"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", __file__, "-k", chosen]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "BITLEX_TIER": tier}, cwd=Path(__file__).parent.parent)
    assert done.returncode == 0, done.stdout[-4000:]
    assert " passed" in done.stdout


def test_every_character_that_is_a_part() -> None:
    """Characters between which nothing merges have the ids of their bytes, when they are met first, and when they are found by their number."""
    tokens = [*BYTES, *(chr(c).encode() for c in range(0x4E00, 0x5000, 3)), *("あ".encode()[:2], "ж".encode(), "的".encode()[1:])]
    tokenizer = Tokenizer(describe(Vocabulary.from_ranks(tokens)))
    rng = random.Random(8)
    characters = [chr(c) for c in range(1, 0x10000) if not 0xD800 <= c < 0xE000]
    rng.shuffle(characters)
    slow = pure(tokenizer)
    for at in range(0, len(characters), 4000):
        text = "".join(rng.choice((c, f"中文{c}", f"{c}語", f"{c}{c}")) for c in characters[at : at + 4000])
        expected = slow.encode(text, None, None, 1)
        for again in range(3):
            assert tokenizer.encode_ordinary(text) == expected, (hex(at), again)


@pytest.mark.parametrize("tier", ["avx512", "avx2", "portable"])
def test_eight_bytes_that_look_like_fewer(tier: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pieces are looked up by a word of eight bytes, the lowest of which is the length of shorter ones: eight that begin with a small number, and
    then zeros, have their own ids, whichever of them comes first, and whether they wait, or are found where they were put."""
    monkeypatch.setenv("BITLEX_TIER", tier)
    lexer = bitlex.compile(r"[\x00-\x1F]+[a-z]*|[a-z]+| ")  # of the best tier up to this one
    words = [letters[:n] for letters in (b"abcdefg", b"zyxwvut") for n in range(1, 8)]
    alike = [bytes([first or len(word)]) + bytes(7 - len(word)) + word for first in range(12) for word in words if first != len(word)]
    merged = {piece[:n] for piece in alike[:7] for n in range(2, 9)}  # of which the bytes merge: these are one id
    vocabulary = Vocabulary.from_ranks([*BYTES, *words[2::3], *sorted(sorted(merged), key=len), *dict.fromkeys(alike[15::9])])
    encoder = make_encoder(describe(vocabulary), lexer)
    rng = random.Random(9)
    for size in (64, 200, 3000):
        for _ in range(6):
            pieces = rng.choices([*words, *alike, b"\x07abcdefg", b"\x00" * 8 + b"a", b"\x08\x00\x00abcdef"], k=size)
            text = b"".join(piece + b" " * (n % 2) for n, piece in enumerate(pieces))
            expected = [token for piece in lexer.split(text) for token in merge(vocabulary, piece)]
            assert encoder.encode_to_numpy(text, None, None, 1).tolist() == expected


@pytest.mark.parametrize("tier", ["avx512", "avx2", "portable"])
def test_words_behind_a_quotation_mark(tier: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of pieces that begin with a character of three or four bytes, those that go on with ASCII are looked up as a whole up to 15 bytes, and all
    others cut, which ends the pieces that are looked up together: wherever that is, ids are those of merging."""
    monkeypatch.setenv("BITLEX_TIER", tier)
    lexer = bitlex.compile(r"[^ a-z]*[a-z]*[^ a-z]*| ")
    marks = ["“", "—", "🙂", "“—", "語", "中文", "é“", "\uffff"]
    words = ["abcdefghijkl"[:n] for n in range(13)]
    vocabulary = Vocabulary.from_ranks([*BYTES, b"ab", b"cd", b"abcd", *("“ab—".encode()[:n] for n in range(2, 9)), "—abcd".encode()])
    encoder = make_encoder(describe(vocabulary), lexer)
    rng = random.Random(10)
    for rare in (2, 20, 80):
        text = "".join((rng.choice(marks) if rng.randrange(rare) == 0 else "") + rng.choice(words) + " " * rng.randrange(2) for _ in range(6000)).encode()
        expected = [token for piece in lexer.split(text) for token in merge(vocabulary, piece)]
        for again in range(3):
            assert encoder.encode_to_numpy(text, None, None, 1).tolist() == expected, (rare, again)


@pytest.mark.parametrize("tier", ["avx512", "avx2", "portable"])
def test_words_of_two_bytes_a_character(tier: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of 16 to 32 bytes that could be cut are looked up as a whole among other words, and longer ones cut."""
    monkeypatch.setenv("BITLEX_TIER", tier)
    lexer = bitlex.compile(r" ?\w+|[^\w]")
    vocabulary = Vocabulary.from_ranks([*BYTES, "д".encode(), " д".encode(), "и".encode(), "ди".encode(), "ж".encode(), b"ab"])
    encoder = make_encoder(describe(vocabulary), lexer)
    rng = random.Random(11)
    words = ["".join(rng.choice("диж") for _ in range(length)) for length in range(1, 20)] + ["이" * 9, "中" * 3, "é" * 8, "ab" * 9]
    for rare in (2, 20, 80):
        text = "".join((rng.choice([" ", "", "."]) + rng.choice(words)) if rng.randrange(rare) == 0 else " ab" for _ in range(6000)).encode()
        expected = [token for piece in lexer.split(text) for token in merge(vocabulary, piece)]
        for again in range(3):
            assert encoder.encode_to_numpy(text, None, None, 1).tolist() == expected, (rare, again)


def test_pieces_of_all_lengths_among_characters() -> None:
    tokenizer = Tokenizer(describe(Vocabulary.from_ranks(BYTES)))
    around = "中文字。" * 150
    for again in range(2):
        for length in range(1, 300):
            text = f"{around[:-1]}{'.' * length}{around}".encode()
            assert bytes(tokenizer.encode_ordinary(text)) == text, (length, again)


def test_large_arrays_keep_what_is_in_them() -> None:
    """Their memory, and that of texts, is that of earlier ones, which nobody has any more; lists, which are read into it, change nothing."""
    encoder = make_encoder(describe(Vocabulary.from_ranks(BYTES)), bitlex.lexer("cl100k"))
    made = []
    for length in (100_000, 1_500_000, 300_000, 4_000_000, 600_000):
        for unit in ("ab ", "\xe9a", "\u4e00\U0001f600"):
            text = unit * (length // len(unit.encode()))
            made.append((encoder.encode_to_numpy(text, None, None, 1), text.encode()))
            ids = encoder.encode_to_numpy("xyz" * (length // 3), None, None, 1).tolist()
            assert encoder.decode(ids) == b"xyz" * (length // 3)
            if len(made) % 3 == 0:
                del made[len(made) // 2]
    assert all(found.astype(np.uint8).tobytes() == expected for found, expected in made)


def test_arrays_are_arrays_of_numpy() -> None:
    """They may be written to, and hold what they show; where numpy's functions in C are not found, they are the same."""
    encoder = make_encoder(describe(Vocabulary.from_ranks(BYTES)), bitlex.lexer("cl100k"))
    for text in ("", "a", "a" * 100_000):
        ids = encoder.encode_to_numpy(text, None, None, 1)
        assert (ids.dtype, ids.shape, ids.strides) == (np.uint32, (len(text),), (4,))
        assert ids.flags.writeable and ids.flags.aligned and ids.flags.c_contiguous and ids.tolist() == [97] * len(text)
        ids[:] = 5
        assert ids.sum() == 5 * len(text)
    program = """
import importlib, numpy, bitlex
for name in ("numpy._core._multiarray_umath", "numpy.core._multiarray_umath"):
    try:
        importlib.import_module(name).__dict__.pop("_ARRAY_API", None)
    except ImportError:
        pass
spans = bitlex.lexer("cl100k").spans("a b")
spans[0] = 7
print(spans.dtype, spans.tolist(), type(spans.base).__name__)
"""
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert done.stdout == "int32 [7, 3] Offsets\n"


@pytest.mark.parametrize("seed", range(60))
def test_random_vocabularies(seed: int) -> None:
    """Pieces by definition; the same cold, warm, after other texts, by several threads, by all methods; and where the ids are."""
    rng = random.Random(seed)
    vocabulary, units = random_vocabulary(rng)
    tokenizer = Tokenizer(describe(vocabulary))
    encoder, slow = tokenizer._encoder, pure(tokenizer)
    texts = [b"".join(rng.choices(units, k=rng.choice((1, 5, 60, 400)))) for _ in range(12)]
    for text in [*texts, *texts, b"", b" ".join(texts)]:
        pieces = tokenizer.lexer.split(text)
        expected: Any
        try:
            expected = [number for piece in pieces for number in merge(vocabulary, piece)]
        except ValueError:
            expected = outcome(slow.encode, text, None, None, 1)
            assert "is no token of this vocabulary" in expected[1]
        for threads in (1, 2, 3):
            assert outcome(encoder.encode, text, None, None, threads) == expected  # type: ignore[comparison-overlap]
        assert outcome(encoder.encode_with_offsets, text, None, None, 1) == outcome(slow.encode_with_offsets, text, None, None, 1)
        assert outcome(encoder.encode_to_numpy, text, None, None, 1) == expected
        assert outcome(encoder.encode_words, text) == outcome(slow.encode_words, text)
        if isinstance(expected, list):
            assert encoder.count(text, None, None, 1) == len(expected)
            assert encoder.decode(expected) == text
            assert encoder.tokens(expected) == slow.tokens(expected) == [encoder.token(number) for number in expected]
    bare = Vocabulary(vocabulary.blob, vocabulary.starts, vocabulary.merges, False)
    for piece in {piece for text in texts for piece in tokenizer.lexer.split(text)}:
        results = [outcome(encoder.merge, piece, method) for method in METHODS]
        assert results == [outcome(slow.merge, piece, method) for method in METHODS]
        if isinstance(results[0], list):
            assert results == [merge(bare, piece)] * len(METHODS)


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer(describe(TRAINED, ADDED))


text_parts = st.lists(
    st.one_of(
        st.sampled_from(["<|end|>", "<|end|>more", "<|end", "[x]", "[", "é!", "the", " thing", "\ud83d\ude00", "\ud83d", "\ude00", "中", "123", "  "]),
        st.characters(), st.integers(0xD800, 0xDFFF).map(chr),
    ), max_size=30,
).map("".join)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(text=text_parts, allowed=st.booleans(), chosen=st.sets(st.sampled_from(ADDED)))
def test_any_str(tokenizer: Tokenizer, text: str, allowed: bool, chosen: set[AddedToken]) -> None:
    slow = pure(tokenizer)
    some = {token.content.encode(): token.id for token in chosen}
    fast_specials, slow_specials = (encoder.specials(some) if some else None for encoder in (tokenizer._encoder, slow))
    fast_both: tuple[Any, Any] = (fast_specials, None) if allowed else (None, fast_specials)
    slow_both = (slow_specials, None) if allowed else (None, slow_specials)
    for name in ("encode", "encode_with_offsets", "count"):
        assert outcome(getattr(tokenizer._encoder, name), text, *fast_both, 1) == outcome(getattr(slow, name), text, *slow_both, 1)
    words = [text[:7], "", text, text[7:9]]
    for parts in (text, words, tuple(words), []):
        assert tokenizer._encoder.encode_words(parts) == slow.encode_words(parts)
    if allowed or not some:
        ids, places = tokenizer._encoder.encode_with_offsets(text, *fast_both, 1)
        places = places.reshape(-1, 2)
        assert (places[:, 0] <= places[:, 1]).all() and (places[1:, 0] <= places[:-1, 1]).all()
        covered = {at for start, end in places for at in range(start, end)}
        assert covered == set(range(len(text)))
        data = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode()
        assert tokenizer._encoder.decode(ids) == data


@settings(max_examples=200, deadline=None)
@given(text=st.lists(st.one_of(st.binary(max_size=8), st.sampled_from([token.content.encode() for token in ADDED]))).map(b"".join))
def test_any_bytes(tokenizer: Tokenizer, text: bytes) -> None:
    slow = pure(tokenizer)
    everything = {token.content.encode(): token.id for token in ADDED}
    fast, reference = tokenizer._encoder.specials(everything), slow.specials(everything)
    ids, places = tokenizer._encoder.encode_with_offsets(text, fast, None, 1)
    assert (ids.tolist(), places.tolist()) == tuple(part.tolist() for part in slow.encode_with_offsets(text, reference, None, 1))
    assert b"".join(text[start:end] for start, end in places.reshape(-1, 2)) == text == tokenizer._encoder.decode(ids)
    assert tokenizer._encoder.encode(text, None, None, 1) == slow.encode(text, None, None, 1)
    numbers, pairs, pieces, count = tokenizer._encoder.encode_words(text)
    spans = tokenizer.lexer.spans(text).tolist()
    assert (numbers, count) == (tokenizer.encode(text, disallowed_special=()), len(spans))
    assert pieces == [sum(end <= start for end in spans) for start, _ in pairs]


def test_kinds_of_text(tokenizer: Tokenizer, tmp_path: Path) -> None:
    text = "the thing, é 中 😀 123" * 5
    data = text.encode()
    expected = tokenizer.encode_ordinary(data)
    path = tmp_path / "text"
    path.write_bytes(data)
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        kinds: list[Any] = [text, data, bytearray(data), memoryview(data), np.frombuffer(data, np.uint8), array.array("B", data), mapped]
        for kind in kinds:
            assert tokenizer.encode_ordinary(kind) == expected
            assert tokenizer.count(kind) == len(expected)
    assert tokenizer.encode_ordinary(memoryview(b"x" + data)[1:]) == expected
    for narrow in ("the thing", "the thing é", "the thing 中", "the thing 😀", "\0\0", ""):  # one, one, two and four bytes a character
        assert tokenizer.encode_ordinary(narrow) == tokenizer.encode_ordinary(narrow.encode())
    for wrong in (None, 1, ["a"], array.array("i", [1]), np.zeros(3)):
        for encoder in (tokenizer._encoder, pure(tokenizer)):
            with pytest.raises(TypeError, match="expected str or a bytes-like object, got"):
                encoder.encode(wrong, None, None, 1)
    for encoder in (tokenizer._encoder, pure(tokenizer)):
        for gaps in (memoryview(data)[::2], np.frombuffer(data, np.uint8)[::2]):
            with pytest.raises(BufferError, match=r"^expected bytes that lie side by side, got .* with gaps; give a copy of it$"):
                encoder.encode(gaps, None, None, 1)


def test_the_end_of_readable_memory(tokenizer: Tokenizer) -> None:
    """Behind the text is nothing that may be read."""
    pages = mmap.mmap(-1, 3 * mmap.PAGESIZE)
    libc = __import__("ctypes").CDLL(None, use_errno=True)
    view = memoryview(pages)
    address = np.frombuffer(view, np.uint8).ctypes.data
    if libc.mprotect(__import__("ctypes").c_void_p(address + 2 * mmap.PAGESIZE), mmap.PAGESIZE, 0) != 0:
        pytest.skip("no mprotect here")
    slow = pure(tokenizer)
    for text in (b"a", b"the", b" and the thing", b"the" * 20, "中文".encode() * 9, b"x" * 40, b"\xe4\xb8", b"\xe4"):
        start = 2 * mmap.PAGESIZE - len(text)
        pages[start : start + len(text)] = text
        assert tokenizer.encode_ordinary(view[start : start + len(text)]) == slow.encode(text, None, None, 1)


IDS: dict[str, Any] = {
    "int": [116, 258, 300], "tuple": (116, 258), "range": range(97, 120), "index": [np.uint8(116), np.int64(258)], "bool": [True, False],
    "empty": [], "big": [2**70], "negative": [-1], "beyond": [116, 303], "last": [500_000], "uint64": [np.uint64(2**64 - 1)], "none": [2**32 - 1],
    "float": [1.5], "str item": ["a"], "none item": [None], "str": "ab", "bytes": b"ab", "bytearray": bytearray(b"a"), "number": 7, "nothing": None,
    "numpy bool": np.array([True]), "numpy float": np.array([1.0]), "two rows": np.array([[116, 258], [97, 98]]), "no row": np.array(116),
    "objects": np.array([116], object), "strings": np.array(["a"]), "strided": np.arange(97, 120)[::3], "backwards": np.arange(97, 120)[::-1],
    "column": np.arange(97, 121).reshape(-1, 4)[:, 1], "no items": np.array([], np.int64), "array": array.array("H", [116, 258]),
    "float array": array.array("d", [1.0]), "unaligned": memoryview(b"xt\0\0\0")[1:].cast("I"), "bytes view": memoryview(b"the"),
    "ctypes": (ctypes.c_uint16 * 2)(116, 258), "ctypes of bytes": (ctypes.c_uint8 * 2)(116, 104),
    "ctypes of other order": (ctypes.c_uint32.__ctype_be__ * 2)(116, 258),
    **{f"numpy {kind}{size}": np.array([116, 97, 12], f"{kind}{size}") for kind in "iu" for size in (1, 2, 4, 8)},
    **{f"other order {kind}": np.array([116, 97, 12], f">{kind}") for kind in ("i2", "u4", "i8")},
    **{f"below 0 in i{size}": np.array([116, -1], f"i{size}") for size in (1, 2, 4, 8)},
    "large u8": np.array([2**64 - 1], np.uint64), "large i8": np.array([2**40], np.int64),
}  # fmt: skip
WRONG = {"float", "str item", "none item", "str", "bytes", "bytearray", "number", "nothing", "numpy bool", "numpy float", "two rows", "no row",
         "objects", "strings", "float array"}  # fmt: skip
NO_TOKEN = {"big", "negative", "beyond", "uint64", "none", "large u8", "large i8", *(name for name in IDS if name.startswith("below"))}


@pytest.mark.parametrize("name", IDS)
def test_kinds_of_ids(tokenizer: Tokenizer, name: str) -> None:
    ids, slow = IDS[name], pure(tokenizer)
    for method in ("decode", "ends"):
        found = outcome(getattr(tokenizer._encoder, method), ids)
        assert found == outcome(getattr(slow, method), ids)
        text = outcome(tokenizer.decode, ids)
        assert text == (outcome(tokenizer._encoder.decode, ids) if name in WRONG or name in NO_TOKEN else tokenizer._encoder.decode(ids).decode())
        if name in WRONG:
            assert found[0] is TypeError
        elif name in NO_TOKEN:
            assert found[0] is KeyError
        else:
            assert isinstance(found, (bytes, list)) and len(found) == (len(ids) if method == "ends" else len(b"".join(map(slow.token, ids))))


pieces_of_text = st.lists(
    st.one_of(
        st.sampled_from(["the", "a" * 70, "é", "ÿ", "я", "中", "\uffff", "😀", "\U0010ffff", "\0", "中文" * 40, "ж" * 40, "😀" * 30]),
        st.characters(codec="utf-8"),
    ), max_size=12,
).map("".join)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(text=pieces_of_text, cut=st.sampled_from([None, 0, -1]), specials=st.lists(st.sampled_from(ADDED), max_size=2), skip=st.booleans())
def test_decoding_to_str(tokenizer: Tokenizer, text: str, cut: int | None, specials: list[AddedToken], skip: bool) -> None:
    """As bytes.decode, at any width; also where a character is not complete, and with special tokens or without."""
    ids: list[int] = [token.id for token in specials] + tokenizer.encode_ordinary(text * 3) + [token.id for token in specials]
    if cut is not None and len(ids) > 2 * len(specials):
        ids.pop(len(specials) if cut == 0 else -1 - len(specials))
    data = b"".join(b"" if skip and number in {token.id for token in specials} else tokenizer.token_bytes(number) for number in ids)
    kinds = [ids, tuple(ids), np.array(ids, np.uint32), np.array(ids, np.int64)[::-1][::-1], np.array([*ids, 0], np.uint64)[:-1], array.array("q", ids)]
    for encoder in (tokenizer._encoder, pure(tokenizer)):
        for kind in kinds if encoder is tokenizer._encoder else kinds[:1]:
            assert encoder.decode(kind, skip) == data
            for errors in ("replace", "strict", "ignore", "surrogateescape"):
                found = outcome(encoder.decode_text, kind, errors, skip)
                assert found == outcome(data.decode, "utf-8", errors)
                if isinstance(found, str):
                    assert sys.getsizeof(found) == sys.getsizeof("".join(list(found)))  # no wider than it must be
            assert encoder.decode_batch([kind, [], ids], "replace", 2, skip) == [data.decode(errors="replace"), "", data.decode(errors="replace")]


@pytest.mark.parametrize("letters", ["aé", "a中", "aя中é", "a😀中", "a", "\xff"])
def test_decoding_long_texts(tokenizer: Tokenizer, letters: str) -> None:
    """More than a block, at every offset of its end; by several threads."""
    rng = random.Random(len(letters))
    text = "".join(rng.choices(letters, k=150_000))
    ids = tokenizer.encode_to_numpy(text, allowed_special=(), disallowed_special=())
    assert tokenizer.decode(ids) == tokenizer.decode(ids.tolist()) == text
    for at in range(1, 40):
        assert tokenizer.decode(ids[at:]) == tokenizer.decode_bytes(ids[at:]).decode(errors="replace")
    parts = [*([ids] * (3_500_000 // len(ids))), ids[:70_000], ids[70_000:].tolist(), []]  # worth three threads
    for threads in (0, 1, 2, 3):
        assert tokenizer.decode_batch(parts, threads=threads) == [tokenizer.decode(part) for part in parts]


HEADS = [b"", b"\x80", b"\x98\x80", b"\x9f\x98\x80", b"\x80\x80\x80\x80", b"\xff"]
TAILS = [b"", b"\xc3", b"\xe4\xb8", b"\xe4", b"\xf0\x9f\x98", b"\xf0\x9f", b"\xf0", b"\xe0\x80", b"\xed\xa0", b"\xf4\x90\x80", b"\xc0", b"\xff"]


@pytest.mark.parametrize("letter", ["", "a", "é", "中", "😀"])
def test_decoding_what_is_cut_inside_characters(tokenizer: Tokenizer, letter: str) -> None:
    """Whatever is missing at both ends, of texts short and long, and by policies of which some look at all of the bytes."""
    codecs.register_error("places", lambda error: (f"<{error.start}-{error.end} of {len(error.object)}>", error.end))  # type: ignore[attr-defined]
    for head, tail in itertools.product(HEADS, TAILS):
        for middle in (letter.encode(), (letter * 40 + "a").encode() * 4, b"abc" * 10_000 + letter.encode() * 9_000):
            data = head + middle + tail
            ids: Any = tokenizer.encode_to_numpy(data, allowed_special=(), disallowed_special=())
            for errors in ("replace", "ignore", "surrogateescape", "backslashreplace", "strict", "places") if len(data) < 1_000 else ("replace", "places"):
                found, expected = outcome(tokenizer._encoder.decode_text, ids, errors, False), outcome(data.decode, "utf-8", errors)
                assert found == expected
                if isinstance(found, str) and len(found) > 1:  # those of one are Python's own, which may have UTF-8 besides
                    assert hash(found) == hash(expected) and sys.getsizeof(found) == sys.getsizeof(expected)


def test_batches_of_windows(tokenizer: Tokenizer) -> None:
    """Cut anywhere; in memory for all of them, and where this does not do; in several rounds."""
    longer = Tokenizer(describe(TRAINED, decoded={300: "中é".encode() * 20, 301: b"x" * 500, 302: b""}))
    rng = random.Random(11)
    ids = np.concatenate([
        longer.encode_to_numpy("".join(rng.choices(["a", "é", "中", "😀", " the"], k=40_000)), allowed_special=(), disallowed_special=()),
        np.array(rng.choices([97, 300, 301, 302], k=40_000), np.uint32),
    ])  # fmt: skip
    for sizes, count in (([0, 1, 15, 16, 17], 110_000), ([5_000], 500), ([1_100_000, 1, 40_000], 3)):
        windows = []
        for size in rng.choices(sizes, k=count) if count > 3 else sizes:
            at = rng.randrange(max(1, len(ids) - size))
            windows.append(np.resize(ids[at : at + size], size))
        expected = [longer.decode_bytes(window).decode(errors="replace") for window in windows]
        for threads in (1, 2, 3):
            assert longer.decode_batch(windows, threads=threads) == expected
    windows = [ids[:50_000]] * 30
    windows[20] = np.append(ids[:9], np.uint32(299))
    for threads in (1, 2):
        with pytest.raises(KeyError, match=r"ids\[9\] is 299, which is no token"):
            longer.decode_batch(windows, threads=threads)


@pytest.mark.parametrize("fewer", [1, 8])
def test_decoding_many_ids(fewer: int) -> None:
    """What comes is longer, shorter, wider or no longer UTF-8 than was to be expected."""
    tokenizer = Tokenizer(describe(TRAINED, decoded={300: b"\xc3\xa9" * 20_000, 301: b"x" * 500, 302: b""}))
    letters = {"ascii": b"a", "latin": "é".encode(), "narrow": "中".encode(), "wide": "😀".encode(), "broken": b"\xe4", "the": b" the"}
    runs: dict[str, list[int]] = {name: tokenizer.encode(letter) for name, letter in letters.items()}
    runs |= {"long": [300], "middle": [301], "nothing": [302]}
    rng = random.Random(7)
    kinds: list[Any] = [list, partial(np.array, dtype=np.uint32), partial(np.array, dtype=np.int64)]
    for beginning in (["ascii"], ["the", "ascii"], ["latin"], ["narrow", "ascii"], ["wide", "ascii"], ["nothing", "narrow"]):
        for later in runs:
            names = rng.choices(beginning, k=30_000 // fewer)
            names += [later] * rng.choice([1, 40])
            names += rng.choices([*beginning, later] if later != "long" else beginning, k=rng.choice([20_000, 40_000]) // fewer)
            ids = [number for name in names for number in runs[name]]
            data = b"".join(map(tokenizer.token_bytes, ids))
            kind = rng.choice(kinds)
            assert tokenizer.decode_bytes(kind(ids)) == data
            found, expected = tokenizer.decode(kind(ids)), data.decode(errors="replace")
            assert found == expected and hash(found) == hash(expected) and sys.getsizeof(found) == sys.getsizeof(expected)
    for later in ("latin", "narrow", "wide"):  # where what is measured is nothing
        for again in (1, 3_000):
            ids = [302] * 100 + runs[later] + [302] * (40_000 // fewer) + runs[later] * again + [302] * 3_000
            expected = letters[later].decode() * (1 + again)
            found = tokenizer.decode(np.array(ids, np.uint32))
            assert found == expected and hash(found) == hash(expected) and sys.getsizeof(found) == sys.getsizeof(expected)
    for kind in kinds:
        ids = runs["ascii"] * (60_000 // fewer)
        for at in (0, 29_000 // fewer, len(ids) - 1):
            wrong = kind([*ids[:at], 299, *ids[at:]])
            for decode in (tokenizer.decode, tokenizer.decode_bytes):
                with pytest.raises(KeyError, match=rf"ids\[{at}\] is 299, which is no token"):
                    decode(wrong)


def test_decoding_too_much_for_memory_of_its_own() -> None:
    """More than 32 MiB, where a str grows and is copied to a wider one while it is filled."""
    letters = {300: "x", 301: "é", 302: "中", 303: "😀"}
    long = {number: (letter * 500).encode()[:500] for number, letter in letters.items()} | {302: ("中" * 166).encode()}
    tokenizer = Tokenizer(describe(TRAINED, decoded={**long, 304: b"\xe4", 305: "中".encode() * 8_000}))
    for first, later in [(300, 301), (300, 303), (301, 301), (301, 302), (301, 303), (302, 303), (303, 302), (302, 304), (303, 305), (300, 304)]:
        for again in (1, 9_000) if later < 304 else (1,):
            ids = np.full(80_000 + again, first, np.uint32)
            ids[70_000 - again : 70_000] = later
            ids[-2_000:] = 97
            data = tokenizer.decode_bytes(ids)
            assert data == b"".join(map(tokenizer.token_bytes, ids.tolist()))
            found, expected = tokenizer.decode(ids), data.decode(errors="replace")
            assert found == expected and sys.getsizeof(found) == sys.getsizeof(expected)
    ids = np.full(80_000, 301, np.uint32)
    ids[75_000] = 299
    with pytest.raises(KeyError, match=r"ids\[75000\] is 299, which is no token"):
        tokenizer.decode(ids)


def test_batches_of_ids_that_are_wrong(tokenizer: Tokenizer) -> None:
    good = np.full(1_000_000, 97, np.uint32)
    for threads in (1, 2):
        with pytest.raises(KeyError, match=r"^'batch\[2\]: ids\[1\] is 303, which is no token of this vocabulary'$"):
            tokenizer.decode_batch([good, good, [97, 303]], threads=threads)
        with pytest.raises(KeyError, match=r"^'batch\[4\]: ids\[0\] is -1, which is no token of this vocabulary'$"):
            tokenizer.decode_batch([good, good, good, good, [-1]], threads=threads)  # in another round, where there are threads
        with pytest.raises(TypeError, match=r"^batch\[1\]: expected token ids, got str$"):
            tokenizer.decode_batch([good, "97"], threads=threads)  # type: ignore[list-item]
        with pytest.raises(UnicodeDecodeError):
            tokenizer.decode_batch([good, [195]], errors="strict", threads=threads)
    with pytest.raises(LookupError):
        tokenizer.decode([195], errors="unheard of")
    with pytest.raises(ValueError, match="threads is -1"):
        tokenizer.decode_batch([], threads=-1)


def test_ids_that_change_as_they_are_decoded(tokenizer: Tokenizer) -> None:
    """Whatever becomes of it, nothing is written where it should not be."""
    ids = np.full(400_000, 97, np.uint32)
    stop = threading.Event()

    def change() -> None:
        while not stop.is_set():
            ids[::3] = 257
            ids[::3] = 303
            ids[::3] = 97

    changing = threading.Thread(target=change)
    changing.start()
    try:
        for _ in range(30):
            found = outcome(tokenizer.decode, ids)
            assert isinstance(found, str) or found[0] in (KeyError, RuntimeError)
    finally:
        stop.set()
        changing.join()


@pytest.mark.parametrize("wrong", [303, -1, -5, 2**32 - 1, 2**32, 2**64, -(2**80)])
def test_ids_that_are_none(tokenizer: Tokenizer, wrong: int) -> None:
    ids: list[Any] = [[97, wrong], (97, wrong), iter([97, wrong])]
    ids += [np.array([97, wrong], kind) for kind in (np.int32, np.int64, np.uint32) if np.iinfo(kind).min <= wrong <= np.iinfo(kind).max]
    message = f"ids[1] is {wrong}, which is no token of this vocabulary"
    for one in ids:
        runs: list[Any] = [tokenizer.decode, tokenizer.decode_bytes, pure(tokenizer).decode, tokenizer.decode_with_offsets]
        for run in runs if one is not ids[2] else runs[:1]:
            with pytest.raises(KeyError) as caught:
                run(one)
            assert caught.value.args == (message,)
    for encoder in (tokenizer._encoder, pure(tokenizer)):
        with pytest.raises(KeyError) as caught:
            encoder.decode_batch([[97], [97, wrong]], "replace", 1, False)
        assert caught.value.args == (f"batch[1]: {message}",)


def test_ids_that_can_be_read_once(tokenizer: Tokenizer) -> None:
    for run, want in ((tokenizer.decode, "athe"), (tokenizer.decode_bytes, b"athe"), (tokenizer.decode_with_offsets, ("athe", [0, 1]))):
        assert run(iter([97, 257])) == want  # type: ignore[arg-type]


def test_a_list_that_changes_as_it_is_read(tokenizer: Tokenizer) -> None:
    class Clears:
        def __index__(self) -> int:
            ids.clear()
            return 97

    class Grows:
        def __index__(self) -> int:
            ids.extend([98] * 1000)
            return 97

    for kind in (Clears, Grows):
        ids: list[Any] = [kind(), *range(97, 120)]
        assert tokenizer.decode(ids).startswith("a")


def test_single_tokens(tokenizer: Tokenizer) -> None:
    for encoder in (tokenizer._encoder, pure(tokenizer)):
        for number in (np.uint32(257), 257, np.int8(97)):
            assert encoder.token(number) == (b"the" if number == 257 else b"a")  # type: ignore[arg-type]
        for number in (-1, 303, 2**31, 2**32, 2**80):
            with pytest.raises(KeyError, match=str(number)):
                encoder.token(number)
        for wrong in ("a", 1.0, None):
            with pytest.raises(TypeError):
                encoder.token(wrong)  # type: ignore[arg-type]
        assert encoder.find(b"the") == 257 and encoder.find(b"tha") is None and encoder.find(b"") is None
        with pytest.raises(ValueError, match=r"^method is 'quick'; it may be 'automatic', 'sweep', 'heap', 'windows', 'backtrack' or 'prefixes'$"):
            encoder.merge(b"the", "quick")


@pytest.mark.filterwarnings("ignore:vocab_size is")
def test_windows_behind_tokens_that_are_longer() -> None:
    """All of such a token is merged again for what follows, which then has to be as much."""
    text = "".join("a" * count + "b" for count in range(500))
    tokenizer = bitlex.train(text, 2000, pattern="")
    assert len(tokenizer.token_bytes(tokenizer.vocabulary_size - 1)) > 100_000
    times = []
    for method in ("heap", "windows"):
        begun = time.process_time()
        assert tokenizer.merge(text.encode(), method=method) == [tokenizer.vocabulary_size - 1]
        times.append(time.process_time() - begun)
    assert times[1] < 12 * times[0]


def test_a_byte_that_is_no_token() -> None:
    """The place of the first one, however many threads look for it, and also where a token that is taken whole has such a byte."""
    tokenizer = Tokenizer(describe(Vocabulary.from_ranks({b"a": 0, b"b": 1, b" ": 2, b"ab": 3, b" ab": 4})))
    text = b"ab " * 100_000
    across = ([place, 290_000] for place in range(native.BLOCK - 3, native.BLOCK + 3))  # in a piece across a cut, and in a part behind it
    for places in ([150_001], [12, 290_000], [290_000, 299_999], *across, [6143], [6144], [6145], [0]):
        wrong = bytearray(text)
        for place in places:
            wrong[place] = ord("x")
        for threads in (1, 2, 3, 8):
            with pytest.raises(ValueError, match=rf"^byte 0x78 at {places[0]} is no token of this vocabulary$"):
                tokenizer._encoder.encode(bytes(wrong), None, None, threads, 1)  # type: ignore[call-arg]
    for place in range(0, 2 * native.BLOCK, 500):  # in a long piece among those that are looked up many at a time
        before = b" ab" * (place // 3)
        long = before + b"a" * 40 + b"x" * 2 + b" ab" * 4000
        with pytest.raises(ValueError, match=rf"^byte 0x78 at {len(before) + 40} is no token of this vocabulary$"):
            tokenizer._encoder.encode(long, None, None, 1)
    vocabulary = Vocabulary.from_merges([b"a", b" ", b"ax"], [], whole=True)
    tokenizer = Tokenizer(describe(vocabulary))
    for encoder in (tokenizer._encoder, pure(tokenizer)):
        assert encoder.encode(b"ax", None, None, 1) == [2]
        with pytest.raises(ValueError, match=r"^byte 0x78 at 5 is no token of this vocabulary$"):
            encoder.encode(b"ax aax", None, None, 1)


def test_batches(tokenizer: Tokenizer) -> None:
    rng = random.Random(4)
    texts: list[Any] = ["".join(rng.choices("the and wing 中é", k=rng.choice((0, 3, 50, 3000)))) for _ in range(300)]
    texts[7], texts[9] = texts[7].encode(), bytearray(texts[9].encode())
    slow = pure(tokenizer)
    for name in ("encode_batch", "encode_batch_to_numpy", "count_batch"):
        expected = [outcome(getattr(slow, name.replace("_batch", "")), text, None, None, 1) for text in texts]
        for threads in (1, 2, 7):
            found = getattr(tokenizer._encoder, name)(iter(texts), None, None, threads)
            assert [part.tolist() if isinstance(part, np.ndarray) else part for part in found] == expected
        assert getattr(tokenizer._encoder, name)([], None, None, 3) == []
    disallowed = [encoder.specials({b"[x]": 302}) for encoder in (tokenizer._encoder, slow)]
    for bad, error in ((3, TypeError), (None, TypeError), ("a [x]", ValueError)):
        for encoder, refused in zip((tokenizer._encoder, slow), disallowed, strict=True):
            with pytest.raises(error, match=r"^texts\[5\]: "):
                encoder.encode_batch([*texts[:5], bad, *texts[5:]], None, refused, 2)
            for threads in (1, 2):
                with pytest.raises(error, match=r"^texts\[5\]: "):
                    encoder.encode_batch_flat([*texts[:5], bad, *texts[5:]], None, refused, threads, (1,), ())
            for bad_too in ("中 [x]", b"[x]", 5):  # the first of them is told of
                with pytest.raises(error, match=r"^texts\[5\]: "):
                    encoder.encode_batch([*texts[:5], bad, *texts[5:], bad_too], None, refused, 2)
            with pytest.raises(ValueError, match=r"^the text has the special token '\[x\]', at byte 4\."):
                encoder.encode("中 [x]", None, refused, 2)
    for one in ("text", b"text", bytearray(b"text")):
        for encoder in (tokenizer._encoder, slow):
            with pytest.raises(TypeError, match=r"^expected a list of texts, got one "):
                encoder.encode_batch(one, None, None, 1)


def test_lists_are_made_while_ids_are_found(tokenizer: Tokenizer) -> None:
    """By the thread that may wait for the GIL: the main one, also where another one is busy; no other. Who looks at all lists, and so would crash at
    one that is not full, finds none."""
    encoder: Any = tokenizer._encoder
    rng = random.Random(9)
    texts = ["".join(rng.choices("the and wing 中é", k=rng.choice((0, 30, 3000)))) for _ in range(1000)]
    expected = [encoder.encode(text, None, None, 1) for text in texts]
    stop = threading.Event()

    def look() -> None:
        while not stop.is_set():
            for one in gc.get_objects():
                if type(one) is list:
                    one.copy()

    def check() -> None:
        for threads in (1, 2, 5):
            for made in (encoder.encode_batch(texts, None, None, threads), encoder.encode_batch_to_numpy(texts, None, None, threads)):
                assert gc.is_tracked(made) and [list(one) for one in made] == expected

    others = [threading.Thread(target=look), threading.Thread(target=check)]
    for other in others:
        other.start()
    check()
    others[1].join()
    stop.set()
    others[0].join()


@pytest.mark.parametrize("around", [((), ()), ((7,), ()), ((), (8, 9)), ((300, 1, 2), (301,))])
def test_batches_side_by_side(tokenizer: Tokenizer, around: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    """As one by one: by one thread, which puts ids where they belong as it finds them, and by several, which copy them there."""
    rng = random.Random(5)
    long = "".join(rng.choices(["a", "é", "中", " the ", "wing "], k=400_000))  # several threads divide it, if it is alone
    short: list[Any] = ["".join(rng.choices("the and wing 中é", k=rng.choice((0, 3, 50, 3000)))) for _ in range(300)]
    short[7], short[9] = short[7].encode(), bytearray(short[9].encode())
    before, behind = around
    for texts in (short, ["", "", ""], [], ["the"], [""], [long], [long.encode()], [*short, long, "", long[:70_000], "a" * 70_000]):
        each = [[*before, *tokenizer._encoder.encode(text, None, None, 1), *behind] for text in texts]
        for threads in (1, 2, 5):
            ids, begins = tokenizer._encoder.encode_batch_flat(iter(texts), None, None, threads, *around)
            assert ids.dtype == np.uint32 and begins.dtype == np.int64 and begins.shape == (len(texts) + 1,) and begins[0] == 0
            assert apart(ids, begins) == each and len(ids) == begins[-1]
    ids, begins = pure(tokenizer).encode_batch_flat(short, None, None, 1, *around)
    other, places = tokenizer._encoder.encode_batch_flat(short, None, None, 1, *around)
    assert np.array_equal(ids, other) and np.array_equal(begins, places) and ids.dtype == other.dtype and begins.dtype == places.dtype
    ids[:] = 0  # memory of its own, which may be written to
    other[:] = 0


def test_what_is_put_around_texts_is_checked(tokenizer: Tokenizer) -> None:
    encoder: Any = tokenizer._encoder
    wrong = [(7, ()), ((), [1]), (("a",), ()), ((1,),)], [((-1,), ()), ((1 << 32,), ()), ((), (1 << 80,))]
    for around, error in [*((one, TypeError) for one in wrong[0]), *((one, OverflowError) for one in wrong[1])]:
        with pytest.raises(error):
            encoder.encode_batch_flat(["the"], None, None, 1, *around)
    with pytest.raises(TypeError, match="expected a list of texts, got one str"):
        encoder.encode_batch_flat("the", None, None, 1, (1,), ())
    with pytest.raises(TypeError, match=r"^texts\[1\]: "):
        encoder.encode_batch_flat(["the", None], None, None, 1, (1,), ())
    with pytest.raises(ValueError, match="threads"):
        encoder.encode_batch_flat(["the"], None, None, 0, (1,), ())


STRINGS = {
    "Latin-1": "naïve the ", "two bytes": "the 中 and é\n", "four bytes": "the 🙂 中é ", "halves": "\ud83d\ude42", "halves and other": "a\ud83d\ude42\ude42",
    "four bytes and halves": "🙂\ud83d\ude42\ud83d", "first halves": "\ud83d", "ASCII": "the thing ",
}  # fmt: skip


@pytest.mark.parametrize("name", STRINGS)
def test_a_long_str_is_made_utf8_by_several_threads(tokenizer: Tokenizer, name: str) -> None:
    """Each part where it belongs, whatever lies across its ends: surrogates that are one character, too."""
    encoder: Any = tokenizer._encoder
    for before in ("", "a", "中"):
        for length in (1 << 18, (1 << 18) + 1, (1 << 18) + 65_536 + 65):
            text = (before + STRINGS[name] * length)[:length]
            data = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()
            expected = encoder.encode_to_numpy(data, None, None, 1)
            assert np.array_equal(encoder.encode_to_numpy(text, None, None, 1), expected)
            for threads in (2, 5):
                assert np.array_equal(encoder.encode_to_numpy(text, None, None, threads), expected)
                (found,) = encoder.encode_batch_to_numpy([text], None, None, threads)
                assert np.array_equal(found, expected)
                assert np.array_equal(encoder.encode_batch_to_numpy([text, "the", text], None, None, threads)[2], expected)
            assert np.array_equal(encoder.encode_with_offsets(text, None, None, 2)[1], encoder.encode_with_offsets(text, None, None, 1)[1])


def test_the_first_of_several_wrong_texts_is_named() -> None:
    tokenizer = Tokenizer(describe(Vocabulary.from_ranks({b"a": 0, b" ": 1})))
    texts = ["a " * 50_000] * 40
    for first in (0, 13, 39):
        wrong = [text + "b中" if at >= first else text for at, text in enumerate(texts)]
        for threads in (1, 2, 4):
            with pytest.raises(ValueError, match=rf"^texts\[{first}\]: byte 0x62 at 100000 is no token of this vocabulary$"):
                tokenizer._encoder.encode_batch(wrong, None, None, threads)
    alone = "a " * 600_000 + "b"  # which is divided
    for threads in (1, 2):
        with pytest.raises(ValueError, match=r"^texts\[0\]: byte 0x62 at 1200000 is no token of this vocabulary$"):
            tokenizer._encoder.encode_batch([alone], None, None, threads)


TEXTS = {
    "words": "the thing and the other one, 12 of them\n", "no spaces": "thethingandtheother", "digits": "1234567890", "spaces": " ", "chinese": "中文字中",
    "emoji": "😀é", "apostrophes": "it's they'll ",
}  # fmt: skip


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("family", ["cl100k", "o200k", "gpt2", "deepseek_v3"])
def test_long_texts_cut_everywhere(name: str, family: str) -> None:
    """By several threads, in parts of one block and of a few."""
    tokenizer = Tokenizer(describe(TRAINED, family=family))
    text = (TEXTS[name] * (20 * native.BLOCK))[: 20 * native.BLOCK + 1234]
    rng = random.Random(name)
    mixed = "".join(text[at : at + 1000] + rng.choice(["", "\n", " x", "1", "中"]) for at in range(0, len(text), 1000))
    encoder: Any = tokenizer._encoder
    one: Any
    for one in (text, mixed, mixed.encode()[:-1]):
        expected = encoder.encode_to_numpy(one, None, None, 1)
        places = encoder.encode_with_offsets(one, None, None, 1)[1]
        for threads, blocks in ((2, 1), (3, 1), (2, 5), (7, 2)):
            assert np.array_equal(encoder.encode_to_numpy(one, None, None, threads, blocks), expected)
            ids, found = encoder.encode_with_offsets(one, None, None, threads, blocks)
            assert np.array_equal(ids, expected) and np.array_equal(found, places)
            assert encoder.count(one, None, None, threads, blocks) == len(expected)


@pytest.mark.parametrize("family", ["cl100k", "o200k", "deepseek_v3", "bytelevel_prefix"])
def test_a_long_text_with_special_tokens_is_divided_at_them(family: str) -> None:
    """Whole documents to a part, or parts of one document, whatever stands between: tokens that share beginnings, side by side, and halves."""
    tokenizer = Tokenizer(describe(TRAINED, family=family))
    encoder: Any = tokenizer._encoder
    tokens = {b"<|end|>": 500, b"<|end|><|go|>": 501, b"<|go|>": 502, b"nd|><": 503, b" the": 504, b"\xf0\x9f": 505}
    rng = random.Random(family)
    for number in range(12):
        allowed = encoder.specials(dict(rng.sample(sorted(tokens.items()), rng.randint(1, 5))))
        refused = encoder.specials({b"<|no|>": 600})
        pieces = [b"<|end|>", b"<|go|>", b"<|en", b"d|>", b"\n\n", b" ", b" the thing", b"12", "中文🙂".encode(), b"x" * 300]
        sizes = rng.choice(((1, 40), (500, 3000), (1, 9000), (60_000, 90_000)))
        words = [b"the ", b"ing", b" and", "中".encode(), b"1", b"\n", b"'s"]
        text = b"".join(
            b"".join(rng.choices(words, k=rng.randint(*sizes) // 3)) + b"".join(rng.choices(pieces, k=rng.randint(0, 3))) for _ in range(200_000 // sizes[1] + 2)
        )
        for data in (text, text.decode("utf-8", "replace")):
            one = encoder.encode_to_numpy(data, allowed, refused, 1)
            places = encoder.encode_with_offsets(data, allowed, refused, 1)[1]
            for threads, blocks in ((2, 1), (3, 2), (8, 5)):
                assert np.array_equal(encoder.encode_to_numpy(data, allowed, refused, threads, blocks), one), (number, threads, blocks)
                ids, found = encoder.encode_with_offsets(data, allowed, refused, threads, blocks)
                assert np.array_equal(ids, one) and np.array_equal(found, places)
                assert encoder.count(data, allowed, refused, threads, blocks) == len(one)
        at = rng.randrange(len(text))
        for place in (0, at, len(text)):
            wrong = text[:place] + b"<|no|>" + text[place:]
            at = wrong.index(b"<|no|>")
            for threads in (1, 2, 7):
                with pytest.raises(ValueError, match=rf"^the text has the special token '<\|no\|>', at byte {at}\."):
                    encoder.encode_to_numpy(wrong, allowed, refused, threads, 1)


def test_what_is_disallowed_is_told_of_before_a_byte_that_is_no_token() -> None:
    tokenizer = Tokenizer(describe(Vocabulary.from_ranks({b"a": 0, b"b": 1, b" ": 2, b"ab": 3, b" ab": 4})))
    encoder: Any = tokenizer._encoder
    refused, allowed = encoder.specials({b"zz": 10}), encoder.specials({b"y": 11})
    text = b"ab y" * 1_000_000
    for threads in (1, 2, 5):
        with pytest.raises(ValueError, match=r"^the text has the special token 'zz', at byte 4000000\."):
            encoder.encode(b"x" + text[1:] + b"zz", allowed, refused, threads)
        for place in (0, 2_000_001, 3_999_998):
            with pytest.raises(ValueError, match=rf"^byte 0x78 at {place} is no token of this vocabulary$"):
                encoder.encode(text[:place] + b"x" + text[place + 1 :] + b"xab", allowed, refused, threads)


def test_a_random_long_text_cut_everywhere(tokenizer: Tokenizer) -> None:
    rng = random.Random(8)
    text = b"".join(rng.choices([b"the ", b"ing", b" and", b"\xe4\xb8\xad", b"\xff", b"1", b"\n", b"'s", b"x" * 7000], [9, 9, 9, 9, 1, 3, 3, 3, 0.05], k=60_000))
    encoder: Any = tokenizer._encoder
    expected = encoder.encode(text, None, None, 1)
    assert expected == pure(tokenizer).encode(text, None, None, 1)
    for threads, blocks in ((2, 0), (2, 1), (8, 1), (3, 4)):
        assert encoder.encode(text, None, None, threads, blocks) == expected


@pytest.mark.parametrize("tokens", [BYTES, TRAINED], ids=["bytes", "merges"])
def test_ids_are_put_where_they_belong_while_others_are_found(tokens: Vocabulary | list[bytes]) -> None:
    """Where there are about as many as room was asked for, and where there are far more; and pieces across cuts that others do not wait for."""
    encoder: Any = Tokenizer(describe(tokens if isinstance(tokens, Vocabulary) else Vocabulary.from_ranks(tokens)))._encoder
    rng = random.Random(11)
    words = [b"the ", b"ing", b" and", "中".encode(), b"1", b"\n", b"'s"]
    few, many = b"the thing and " * 30_000, "中,é;".encode() * 50_000
    texts = [few, many, few + many + few, many + few, few + b"x" * 4_300_000 + many, b"".join(rng.choices(words, k=300_000))]
    for text in texts:
        ids, places = encoder.encode_with_offsets(text, None, None, 1)
        for threads, blocks in ((2, 0), (3, 1), (5, 7)):
            found, where = encoder.encode_with_offsets(text, None, None, threads, blocks)
            assert np.array_equal(found, ids) and np.array_equal(where, places)
            assert np.array_equal(encoder.encode_to_numpy(text, None, None, threads, blocks), ids)
            for room in (len(ids), len(ids) + 5, len(text)):
                out = np.zeros(room, np.uint32)
                assert encoder.encode_into(text, out, None, None, threads, blocks) == len(ids)
                assert np.array_equal(out[: len(ids)], ids)
            with pytest.raises(ValueError, match=f"^the text has {len(ids)} token ids, and the array room for {len(ids) - 1}$"):
                encoder.encode_into(text, np.zeros(len(ids) - 1, np.uint32), None, None, threads, blocks)
    documents: list[Any] = []
    for text in (*texts, *reversed(texts)):
        size = rng.choice((700, 3000, 90_000))
        documents += [text[at : at + size] if rng.random() < 0.5 else text[at : at + size].decode("utf-8", "replace") for at in range(0, len(text), size)]
    each = [encoder.encode(text, None, None, 1) for text in documents]
    for threads in (1, 2, 5):
        ids, begins = encoder.encode_batch_flat(documents, None, None, threads)
        assert apart(ids, begins) == each


def test_many_threads_at_once(tokenizer: Tokenizer) -> None:
    rng = random.Random(2)
    texts = ["".join(rng.choices(["the ", "wing ", "123", "中", "é", " and"], k=20_000)) for _ in range(6)]
    expected = [tokenizer.encode(text) for text in texts]
    wrong = []

    def work(first: int) -> None:
        for at in range(12):
            number = (first + at) % len(texts)
            if tokenizer.encode(texts[number], threads=1 + at % 2) != expected[number] or tokenizer.merge("thething", method="backtrack") != [257, 256, 260]:
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(first,)) for first in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_after_a_fork(tokenizer: Tokenizer) -> None:
    text = "the thing 中 " * 100_000
    expected = tokenizer.encode(text, threads=2)
    child = os.fork()
    if child == 0:
        os._exit(0 if tokenizer.encode(text, threads=2) == expected and tokenizer.decode(expected) == text else 1)
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs a timer signal")
@pytest.mark.parametrize("threads", [1, 2])
def test_a_signal_gets_through(tokenizer: Tokenizer, threads: int) -> None:
    class Interrupted(Exception):
        pass

    def interrupt(*_: object) -> None:
        raise Interrupted

    text = b"the thing and " * 8_000_000
    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        for run in (tokenizer.count, tokenizer.encode, tokenizer.encode_to_numpy):
            with pytest.raises(Interrupted):  # noqa: PT012 (the timer must not go off before)
                signal.setitimer(signal.ITIMER_REAL, 0.005)
                run(text, threads=threads)  # type: ignore[operator]
        with pytest.raises(Interrupted):  # noqa: PT012
            signal.setitimer(signal.ITIMER_REAL, 0.005)
            tokenizer.count_batch([text, text], threads=threads)
        windows = [np.full(4_000, 257, np.uint32)] * 20_000
        found: list[Any] = []
        with pytest.raises(Interrupted):  # noqa: PT012
            signal.setitimer(signal.ITIMER_REAL, 0.005)
            found.extend(map(tokenizer._encoder.decode_batch, [windows], ["replace"], [threads], [False]))  # Python runs when all is done
        assert found == []
        assert tokenizer.encode("the") == [257]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs a timer signal")
@pytest.mark.parametrize("threads", [1, 2])
def test_a_signal_gets_through_in_the_midst_of_a_piece(threads: int) -> None:
    """The exception comes before there is a result: nothing between the two runs Python."""
    class Interrupted(Exception):
        pass

    def interrupt(*_: object) -> None:
        raise Interrupted

    everything = {"type": "Split", "pattern": {"Regex": r"(?s:.+)"}, "behavior": "Isolated", "invert": False}
    whole = Tokenizer(describe(TRAINED, family=None, pre_tokenizer=everything))
    text = random.Random(1).randbytes(1_000_000) * 40
    found: list[Any] = []
    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        with pytest.raises(Interrupted):  # noqa: PT012
            signal.setitimer(signal.ITIMER_REAL, 0.005)
            found.extend(map(whole._encoder.encode_to_numpy, [text], [None], [None], [threads]))
        assert found == []
        assert whole.encode("the") == [257]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize(("unit", "expected"), [("a", 1), ("ab", 1), ("中", 1), (" ", 1), ("xyz", 1)])
def test_one_piece_of_a_megabyte(unit: str, expected: int) -> None:
    """By the definition it would take days; three other ways agree."""
    ranks = Vocabulary.from_ranks([*BYTES, b"aa", b"aaaa", b"aaaaaaaa", b"ab", b"abab", b"ba", "中".encode()[:2], "中".encode(), b"  ", b"   ", b"xy", b"yz", b"zx", b"xyz"])
    tokenizer = Tokenizer(describe(ranks, family=None, pre_tokenizer={"type": "Split", "pattern": {"Regex": r"(?s:.+)"}, "behavior": "Isolated", "invert": False}))
    text = unit * (1_000_000 // len(unit.encode()))
    ids = tokenizer.encode(text)
    assert len(tokenizer.lexer.split(text)) == expected
    assert tokenizer.decode(ids) == text
    for method in METHODS:
        if method != "sweep":
            assert tokenizer.merge(text, method=method) == ids  # type: ignore[arg-type]


def test_half_a_megabyte_of_stack_is_enough() -> None:
    tokenizer = bitlex.train(["a few words and 中文字 слово " * 20], 270)
    texts = ["a few other words " * 5_000, "些新的中文字没有空格" * 2_000, "новое слово" * 2_000 + "xy" * 40_000, "a中 слово\n" * 20_000]
    expected, found = tokenizer.encode_batch(texts), []
    before = threading.stack_size(512 * 1024)
    try:
        thread = threading.Thread(target=lambda: found.extend([[*map(tokenizer.encode, texts)], tokenizer.encode_batch(texts, threads=2)]))
        thread.start()
    finally:
        threading.stack_size(before)
    thread.join()
    assert found == [expected, expected]


def test_a_long_text_that_fails_between_its_parts_leaves_nothing_behind() -> None:
    """The parts are encoded then, and have ids: what is no token lies in the pieces across the cuts alone."""
    encoder: Any = Tokenizer(describe(Vocabulary.from_ranks([byte for byte in BYTES if byte != b"x"])))._encoder
    text = bytearray((b"a" * 299 + b" ") * 200)
    for border in range(native.BLOCK, len(text), native.BLOCK):
        text[border - 1 : border + 2] = b"xxx"

    def fail() -> int:
        with pytest.raises(ValueError, match=f"^byte 0x78 at {native.BLOCK - 1} is no token of this vocabulary$"):
            encoder.encode(bytes(text), None, None, 2, 1)
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        held = [fail() for _ in range(21)]
    finally:
        tracemalloc.stop()
    more = sorted(after - before for before, after in zip(held, held[1:], strict=False))
    assert more[len(more) // 2] < native.BLOCK, more  # ids of a part take four times that; a few calls may be the first with two threads


def test_threads_of_a_call_have_stacks_of_their_own() -> None:
    """And leave what the program asks for its own threads as it was."""
    program = """
import threading
import bitlex
texts = [5 * text for text in ("a few other words " * 5_000, "些新的中文字没有空格" * 2_000, "новое слово" * 2_000 + "xy" * 40_000)]
tokenizer = bitlex.train(["a few words and 中文字 слово " * 20], 270)
expected = tokenizer.encode_batch(texts)
threading.stack_size(64 * 1024)
assert [tokenizer.encode(text, threads=3) for text in texts] == tokenizer.encode_batch(texts, threads=3) == expected
assert threading.stack_size() == 64 * 1024
"""
    subprocess.run([sys.executable, "-X", "utf8", "-W", "ignore", "-c", program], check=True)


def test_the_tables_are_checked() -> None:
    machine = bitlex.lexer("cl100k")._machine
    good = {"machine": machine, "decoded": {}, "blob": b"abab", "starts": np.array([0, 1, 2, 4], np.uint32), "merges": np.array([0, 1, 2], np.uint32), "whole": False}
    assert native.Encoder(**good).encode("ab", None, None) == [2]
    wrong: list[dict[str, Any]] = [
        {"starts": b""}, {"starts": b"\0\0\0"}, {"starts": np.array([0, 1, 5], np.uint32)}, {"starts": np.array([1, 4], np.uint32)},
        {"starts": np.array([0, 3, 2, 4], np.uint32)}, {"merges": b"\0"}, {"merges": np.array([0, 1, 3], np.uint32)},
        {"merges": np.array([0, 0, 0], np.uint32)}, {"decoded": {1: "a"}}, {"decoded": {2**21: b"a"}}, {"image": b"x" * 1000},
    ]  # fmt: skip
    for change in wrong:
        with pytest.raises(ValueError):
            native.Encoder(**{**good, **change})
    for change in ({"machine": None}, {"decoded": []}, {"blob": "text"}, {"decoded": {"a": b"a"}}):
        with pytest.raises(TypeError):
            native.Encoder(**{**good, **change})
    encoder = native.Encoder(**good)
    for arguments in ((), ("a",), ("a", None), ("a", 1, None), ("a", None, "x"), ("a", None, None, "1"), ("a", None, None, 1, 0, 0)):
        with pytest.raises(TypeError):
            encoder.encode(*arguments)
    for threads, blocks in ((0, 0), (-1, 0), (1025, 0), (1, -1)):
        with pytest.raises(ValueError, match=r"threads must be 1\.\.1024, and blocks 0 or more"):
            encoder.encode("a", None, None, threads, blocks)


def test_many_special_tokens_take_no_time_for_one_another() -> None:
    """Models of speech have 65,536 of them: seconds, where each was looked for among all."""
    machine = bitlex.lexer("cl100k")._machine
    decoded = {10 + at: b"<%d>" % at for at in range(1 << 16)}
    begun = time.process_time()
    encoder = native.Encoder(machine, decoded, b"ab", np.array([0, 1, 2], np.uint32), special=(1, *list(decoded)[1:]))
    assert time.process_time() - begun < 0.5
    assert encoder.decode([0, 1, 10, 11, 65545]) == b"ab<0><1><65535>"
    assert encoder.decode([0, 1, 10, 11, 65545], True) == b"a<0>"


def test_tokens_lie_in_the_tables_only() -> None:
    for seed in range(10):
        vocabulary, _ = random_vocabulary(random.Random(seed))
        tokenizer = Tokenizer(describe(vocabulary))
        known, encoder = tokenizer.description.vocabulary, tokenizer._encoder
        if tokenizer.lexer.tier != "pure":
            image = encoder.image()  # type: ignore[attr-defined, unused-ignore]
            assert image.readonly and image.obj is encoder and known._views is not None
            assert all(view.obj is encoder for view in known._views[:2])
        assert known.tokens() == vocabulary.tokens() and known == vocabulary
        more = tokenizer.with_added_tokens((), {})
        del tokenizer, encoder  # whose tables the other ones still read
        gc.collect()
        text = vocabulary.blob
        assert outcome(more.encode, text) == outcome(Tokenizer(describe(vocabulary)).encode, text)
        assert known.tokens() == vocabulary.tokens()


def test_an_image_gives_the_same() -> None:
    for seed in range(10):
        rng = random.Random(seed)
        vocabulary, units = random_vocabulary(rng)
        description = describe(vocabulary)
        lexer = description.lexer()
        made: Any = make_encoder(description, lexer)
        image = bytes(made.image())
        mapped: Encoder = make_encoder(description, lexer, image)
        text = b"".join(rng.choices(units, k=500))
        assert outcome(mapped.encode, text, None, None, 1) == outcome(made.encode, text, None, None, 1)
        for damaged in (image[:-1], image[:100], b"", bytes(8) + image[8:], image[:8] + bytes(8) + image[16:], bytearray(b"x") + image):
            with pytest.raises(ValueError, match="not the tables of a vocabulary"):
                make_encoder(description, lexer, damaged)


def test_without_the_extension() -> None:
    """The same by pure Python alone."""
    script = (
        "import sys; sys.path.insert(0, 'tests'); from small_vocabularies import *; from bitlex.tokenizer import Tokenizer; t = Tokenizer(describe(TRAINED)); "
        "print(t.encode('the thing'), t.decode([257]), t.merge('the', method='backtrack'), type(t._encoder).__name__)"
    )
    environment = {**os.environ, "BITLEX_TIER": "pure"}
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True, env=environment, cwd=Path(__file__).parent.parent)
    assert done.stdout == "[257, 32, 256, 260] the [257] Pure\n"


def test_memory_for_what_comes_out_is_enough(tmp_path: Path) -> None:
    """What is likely to come out of a long text may be several times what does: where there is no memory for that, less is taken. Only Linux
    tells how much is mapped, and so how much more may be; elsewhere there is as much as there is."""
    line = "a" * 64 + "\n"
    bitlex.train(line, 262, pattern=r"[^\n]+|\n").save(tmp_path / "saved")
    program = f"""
import os
import bitlex
tokenizer, lexer = bitlex.Tokenizer.from_file({str(tmp_path / "saved")!r}), bitlex.compile(r"[^\\n]+|\\n")
latin, wide = 1_000_000 * {line!r}, 1_000_000 * {line.replace("a", "中", 1)!r}

def within(megabytes, call, text):
    call(text[:100])
    if os.path.exists("/proc/self/statm"):
        import resource
        mapped = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (mapped + (megabytes << 20), resource.RLIM_INFINITY))
    return call(text)

assert len(within(300, tokenizer.encode_with_offsets, latin)[0]) == 2_000_000
assert len(within(60, tokenizer.encode_to_numpy, latin)) == 2_000_000
assert len(within(120, tokenizer.encode_to_numpy, wide)) == 1_000_000 * len(tokenizer.encode(wide[:65]))
assert len(within(100, lexer.spans, latin)) == 2_000_000
assert len(within(100, lambda text: lexer.stream(spans=True).feed(text), latin)) == 1_999_999
"""
    subprocess.run([sys.executable, "-c", program], check=True)
