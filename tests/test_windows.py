"""Texts read a window at a time: the ids of the whole, whatever the text, the lexer, the cuts, the threads, and how much is read at a time."""

from __future__ import annotations

import gzip
import io
import itertools
import mmap
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bitlex
from bitlex import windows
from bitlex.documents import Around, count_in_parts, encode_documents, encode_in_parts
from bitlex.inputs import InputError, Source
from bitlex.tokenizer import Tokenizer
from bitlex.vocabulary import AddedToken
from bitlex.windows import encode_in_windows, has_windows
from small_vocabularies import BYTES, TRAINED, describe

native: Any = pytest.importorskip("bitlex._native", reason="the C extension was not built")
BLOCK = native.BLOCK
TOKENS = tuple(AddedToken(70_000 + at, content) for at, content in enumerate(("<s>", "<s><t>", "<t>", "\u4e2d\u6587", "<" + "longest" * 300 + ">")))
# Two bytes are a token, whichever they are, those that begin with higher ones first: where pieces begin shows in their ids.
PAIRS = bitlex.vocabulary.Vocabulary.from_ranks([*BYTES, *(bytes(pair) for pair in itertools.product(range(255, -1, -1), repeat=2))])
WORDS = ["the ", "thing", " and", "  ", "\n", "\r\n", "12", "3", "'s", "\u00e9", "\u4e2d", "\U0001f600", "e\u0301", "\u3000", "x" * 20, "A", "Ab", "\u017f", "\0", "!", "\t"]
RUNS = [" ", "\n", "1", "a", "A", "'", "\u0301", "\u4e2d", "!", "\r\n", " \n", "1a"]


def families() -> list[str]:
    return [name for name in bitlex.families() if has_windows(Tokenizer(describe(TRAINED, family=name)))]


def text_of(rng: random.Random, size: int) -> bytes:
    """Text of some kinds, one after the other: some that tells where pieces begin, some that does not, some that is none."""
    found = b""
    while len(found) < size:
        kind, some = rng.randrange(6), rng.randrange(1, size)
        if kind < 3:
            words = [word.encode() for word in rng.sample(WORDS, rng.randint(2, len(WORDS)))]
            found += b"".join(map((words * 128)[:256].__getitem__, rng.randbytes(some // 4)))
        elif kind == 3:
            found += rng.choice(RUNS).encode() * (some // 2)
        elif kind == 4:
            found += rng.randbytes(some // 8)
        else:
            found += "".join(rng.choice(["<s>", "<t>", "<s><t>", "<s", "the ", "\u4e2d\u6587", TOKENS[-1].content]) for _ in range(rng.randint(1, 9))).encode()
    return found[:size]


def reading(data: bytes, rng: random.Random) -> Any:
    """A file that gives less than it is asked for, now and then."""
    file = io.BytesIO(data)
    return lambda memory: file.readinto(memory if rng.random() < 0.7 else memory[: rng.randrange(1, len(memory) + 1)])


@pytest.mark.parametrize("family", families())
def test_windows_of_a_text(family: str, native_tier: str, monkeypatch: pytest.MonkeyPatch) -> None:
    tokenizer = Tokenizer(describe(PAIRS, TOKENS, family=family, convention="huggingface"))
    rng = random.Random(family + native_tier)
    monkeypatch.setattr(windows, "BEFORE", 100 * BLOCK)
    for number in range(5):
        text = text_of(rng, rng.choice((0, 5000, 70 * BLOCK, 200 * BLOCK, 300 * BLOCK)))
        for special in ({"allowed_special": ()}, {"allowed_special": "all"}, {"allowed_special": ["<s>", TOKENS[-1].content]}):
            expected = tokenizer.encode_to_numpy(text, **special)  # type: ignore[arg-type]
            threads, part, blocks = rng.choice((1, 2, 3)), rng.choice((50, 80, 110)) * BLOCK + rng.randrange(BLOCK), rng.choice((0, 1, 5))
            options: Any = {"threads": threads, "part": part, "blocks": blocks, **special}
            found = list(encode_in_windows(tokenizer, reading(text, rng), **options))
            assert np.array_equal(np.concatenate(found), expected), (number, special, options)
            assert sum(encode_in_windows(tokenizer, reading(text, rng), counting=True, **options)) == len(expected)
            assert all(ids.dtype == np.uint32 for ids in found)


@pytest.mark.parametrize("run", RUNS)
def test_a_stretch_that_cannot_be_cut(run: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts are doubled, so that time is linear; what is behind it is read in short ones again."""
    monkeypatch.setattr(windows, "BEFORE", 100 * BLOCK)
    for family in ("cl100k", "o200k", "gpt2", "qwen2"):
        tokenizer = Tokenizer(describe(PAIRS, family=family))
        text = b"the thing " * 60_000 + run.encode() * (800 * BLOCK // len(run.encode())) + b" and the thing" * 40_000
        found = list(encode_in_windows(tokenizer, reading(text, random.Random(run)), part=80 * BLOCK, threads=2))
        assert np.array_equal(np.concatenate(found), tokenizer.encode_to_numpy(text))
        assert len(found) <= 40


def test_special_tokens_at_the_end_of_a_window() -> None:
    """Those that begin alike, and one that is cut: each place of it at each place around the end."""
    tokenizer = Tokenizer(describe(PAIRS, TOKENS, convention="huggingface"))
    for token in ("<s><t>", "<s>", TOKENS[-1].content):
        for back in (0, 1, len(token) // 2, len(token) - 1, len(token), len(token) + 1, 3 * BLOCK):
            part = 120 * BLOCK
            text = (b"the thing and " * part)[: part - back] + token.encode() + b" the thing" * 9000
            found = list(encode_in_windows(tokenizer, io.BytesIO(text).readinto, part=part, threads=2))
            assert len(found) > 1 and np.array_equal(np.concatenate(found), tokenizer.encode_to_numpy(text))


def test_what_is_wrong_is_told_with_its_place() -> None:
    """In the whole text; and what is disallowed, also where it lies across the end of a window."""
    tokenizer = Tokenizer(describe(PAIRS, TOKENS))
    part = 120 * BLOCK
    for at in (10, part - 2, part + 5, 3 * part - 1):
        text = (b"the thing and " * part)[:at] + b"<s>" + b" thing" * 9000
        with pytest.raises(ValueError, match=f"special token '<s>', at byte {at}[.]"):
            list(encode_in_windows(tokenizer, io.BytesIO(text).readinto, part=part))
        assert sum(encode_in_windows(tokenizer, io.BytesIO(text).readinto, part=part, counting=True, disallowed_special=())) == tokenizer.count(
            text, disallowed_special=()
        )
    letters = Tokenizer(describe(bitlex.vocabulary.Vocabulary.from_ranks([bytes([byte]) for byte in range(255)])))
    for at in (10, part + 5, 3 * part):
        text = (b"the thing and " * part)[:at] + b"\xff" + b" thing" * 9000
        with pytest.raises(ValueError, match=f"byte 0xff at {at} is no token"):
            list(encode_in_windows(letters, io.BytesIO(text).readinto, part=part, threads=2))


def test_reading_that_fails() -> None:
    tokenizer = Tokenizer(describe(PAIRS))
    file = io.BytesIO(b"the thing " * 100_000)

    def read(memory: memoryview) -> int:
        if file.tell() > 900_000:
            raise OSError(5, "the disk is gone")
        return file.readinto(memory)

    with pytest.raises(OSError, match="the disk is gone"):
        list(encode_in_windows(tokenizer, read, part=300_000))


def test_what_has_no_windows() -> None:
    for description in (
        describe(PAIRS, family="clip"), describe(PAIRS, normalizer="NFC"), describe(PAIRS, prefix_space=True),
        describe(PAIRS, (AddedToken(70_000, "<l>", lstrip=True),), convention="huggingface"),
    ):  # fmt: skip
        tokenizer = Tokenizer(description)
        assert not has_windows(tokenizer)
    for wrong in ((b"a",), ("a", None, None, 1, 0, False, 0, False, None), (b"a", None, None, 0, 0, False, 0, False, None)):
        with pytest.raises((TypeError, ValueError)):
            Tokenizer(describe(PAIRS))._encoder.encode_window(*wrong)  # type: ignore[attr-defined]
    for begun in ((1, 0, 0), (0, 0, 1), (0, 10_000, 0), (0, 0), 5):
        with pytest.raises((TypeError, ValueError)):
            Tokenizer(describe(PAIRS))._encoder.encode_window(b"abc", None, None, 1, 0, False, 0, False, begun)  # type: ignore[attr-defined]


def test_a_long_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Is read so, with the ids around it, and what is wrong has its name; a short one is not."""
    monkeypatch.setattr("bitlex.documents.PART", 200_000)
    monkeypatch.setattr(windows, "PART", 150 * BLOCK)
    monkeypatch.setattr(windows, "EACH", 0)
    tokenizer = Tokenizer(describe(PAIRS, TOKENS))
    path = tmp_path / "long.txt"
    for size in (199_999, 200_000, 5_000_000):
        path.write_bytes((b"the thing and 123\n" * 300_000)[:size])
        (expected,) = (ids for ids in encode_documents(tokenizer, Source(str(path))) if ids is not None)
        source = Source(str(path))
        parts = encode_in_parts(tokenizer, source, around=Around((70_000,), (70_001, 70_002)), threads=2)
        counts = count_in_parts(tokenizer, Source(str(path)), around=Around((70_000,), (70_001, 70_002)), threads=2)
        assert (parts is None) == (counts is None) == (size < 200_000)
        if parts is not None and counts is not None:
            found = [part for part in parts if part is not None]
            assert np.concatenate(found).tolist() == [70_000, *expected.tolist(), 70_001, 70_002] and len(found) > 2
            assert sum(count or 0 for count in counts) == len(expected) + 3
            assert source.position == source.length == size
    path.write_bytes(b"the thing and 123\n" * 100_000 + b"<t>")
    with pytest.raises(InputError, match=f"^{path}: the text has the special token '<t>', at byte 1800000[.]"):
        list(encode_in_parts(tokenizer, Source(str(path))) or ())


def test_a_long_file_that_is_compressed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bitlex.documents.PART", 4000)
    monkeypatch.setattr(windows, "PART", 150 * BLOCK)
    monkeypatch.setattr(windows, "EACH", 0)
    tokenizer = Tokenizer(describe(PAIRS))
    text = text_of(random.Random(5), 400_000) + b"the thing and 123\n" * 200_000
    path = tmp_path / "long.txt.gz"
    data = gzip.compress(text)
    path.write_bytes(data)
    source = Source(str(path))
    parts = [part for part in encode_in_parts(tokenizer, source, threads=2) or () if part is not None]
    assert np.array_equal(np.concatenate(parts), tokenizer.encode_to_numpy(text)) and len(parts) > 4  # with those before and behind
    assert (source.position, source.length) == (len(data), len(text))
    assert sum(count or 0 for count in count_in_parts(tokenizer, Source(str(path))) or ()) == tokenizer.count(text)
    for damaged, told in ((data[:-9], "cut short"), (data[:5000] + b"\0" * 5000 + data[10_000:], "damaged")):
        path.write_bytes(damaged)
        with pytest.raises(InputError, match=f"^{path}: {told}"):
            list(encode_in_parts(tokenizer, Source(str(path))) or ())


def test_counting_a_long_buffer(tmp_path: Path) -> None:
    """One that others may write to, which is read in windows."""
    tokenizer = Tokenizer(describe(PAIRS, TOKENS, convention="huggingface"))
    text = b"the thing and 123 <s>\n" * ((48 << 20) // 22)
    path = tmp_path / "long.txt"
    path.write_bytes(text)
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        expected = tokenizer.count(text)
        for given in (data, memoryview(data), bytearray(text), np.frombuffer(text, np.uint8)):
            for special in ({}, {"allowed_special": iter([token.content for token in TOKENS])}, {"threads": 2}):
                assert tokenizer.count(given, **special) == expected  # type: ignore[arg-type]
        assert tokenizer.count(data, allowed_special=()) == tokenizer.count(text, allowed_special=())
        with pytest.raises(ValueError, match="special token '<s>', at byte 18"):
            tokenizer.count(data, allowed_special=(), disallowed_special=["<s>"])
    for wrong in (np.zeros(40 << 20, np.int8)[::2], np.zeros((8 << 20), np.int64), np.zeros((2, 20 << 20), np.uint8)):
        assert not windows.is_long_buffer(wrong)
    assert not windows.is_long_buffer(5) and not windows.is_long_buffer(bytearray(1000))


@pytest.mark.parametrize("family", ["cl100k", "o200k", "gpt2", "qwen2", "tekken"])
def test_what_follows_a_window_may_change_its_end(family: str, native_tier: str) -> None:
    """A run that does not tell begins some blocks before its end: what ends the run is in the next one, and no cut is made as if nothing was."""
    tokenizer = Tokenizer(describe(PAIRS, family=family))
    part = 120 * BLOCK
    for run in (" ", "\n", " \n", "\t ", "'", "A"):
        for blocks in (1, 6, 40):
            before = (b"the thing " * part)[: part - blocks * BLOCK - 20] + "\n\u4e2d".encode()  # o200k: a piece, but for what follows AAA
            for behind in ("\n", "a", "\u4e2d", "'s", ""):
                text = before + run.encode() * (blocks * BLOCK // len(run) + 500) + behind.encode() + b" thing" * 90_000
                found = list(encode_in_windows(tokenizer, io.BytesIO(text).readinto, part=part, threads=2, blocks=1))
                assert np.array_equal(np.concatenate(found), tokenizer.encode_to_numpy(text)), (run, blocks, behind)


def test_what_is_before_a_window_is_not_its_beginning(native_tier: str) -> None:
    """Whether a quote opens or closes hangs on all quotes before it: nothing near a window's start tells, and no cut is made as if it did."""
    split = {"type": "Split", "pattern": {"Regex": '"[^"]*"?|[^"]+'}, "behavior": "Isolated", "invert": False}
    tokenizer = Tokenizer(describe(PAIRS, family=None, pre_tokenizer=split))
    assert has_windows(tokenizer)
    for seed in range(4):
        rng = random.Random(seed)
        sizes = [rng.randrange(2, 6) if number % 2 == 0 else rng.randrange(15, 30) for number in range(60)]  # of strings, and what is between
        text = b'"' + b"".join(b"the thing and " * (size * BLOCK // 14) + b'"' for size in sizes)
        found = list(encode_in_windows(tokenizer, io.BytesIO(text).readinto, part=90 * BLOCK, threads=2, blocks=1))
        assert np.array_equal(np.concatenate(found), tokenizer.encode_to_numpy(text))
