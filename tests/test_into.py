"""Arrays of the caller's: what is put there is what is given otherwise, whatever numbers they have; what does not fit is told of, or waits."""

from __future__ import annotations

import array
import asyncio
import ctypes
import json
import mmap
import random
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bitlex
from bitlex import Tokenizer
from bitlex.vocabulary import Vocabulary
from small_tokenizers import RANKS, rank_file
from small_vocabularies import BYTES, describe
from streaming import gathered, parts_between
from tokenizing import added, tokenizer_json

SPECIAL = {"<|end|>": 300, "<|go|>": 301}
TEXT = "hello <|end|> world, 123 \u4e2d <|go|>\n  hell\u00e9 " * 40  # its parts between special tokens are short, and it is long


@pytest.fixture
def tokenizer(tier: str, tmp_path: Path) -> Tokenizer:
    return Tokenizer.from_file(rank_file(tmp_path), family="cl100k", special=SPECIAL)


def rooms(count: int) -> dict[str, Any]:
    """Arrays with room for so many ids."""
    return {
        **{f"numpy {kind}": np.zeros(count, kind) for kind in ("u2", "i2", "u4", "i4", "u8", "i8", "<u4", "=i2")},
        "array": array.array("I", bytes(4 * count)), "array L": array.array("L", bytes(8 * count)),
        "backwards": np.zeros(count, "u4")[::-1], "column": np.zeros((count, 3), "u2")[:, 1], "wide column": np.zeros((count, 2), "i8")[:, 0],
        "mapped": memoryview(mmap.mmap(-1, 4 * count + 4)).cast("I")[:count], "unaligned": memoryview(bytearray(4 * count + 1))[1:].cast("I"),
        "ctypes": (ctypes.c_uint32 * count)(),
    }  # fmt: skip


@pytest.mark.parametrize("text", [TEXT, TEXT.encode(), TEXT.encode("ascii", "replace"), "hello", "", "\ud83d \ud83d\ude00", b"\xff\xfe", "word " * 5000])
def test_every_kind_of_array(tokenizer: Tokenizer, text: Any) -> None:
    want = tokenizer.encode(text, allowed_special="all")
    for more in (0, 1, 5000):
        for name, out in rooms(len(want) + more).items():
            assert tokenizer.encode_into(text, out, allowed_special="all") == len(want)
            assert list(out[: len(want)]) == want, name
            assert tokenizer.encode_into(text, out, allowed_special="all", threads=2) == len(want)
            assert list(out[: len(want)]) == want, name


def test_nothing_but_what_it_needs(tokenizer: Tokenizer) -> None:
    """Which is another way to the same, in C."""
    out = np.zeros(100, np.uint32)
    assert tokenizer.encode_into("hello world", out) == 2
    assert out[:2].tolist() == tokenizer.encode("hello world")
    assert tokenizer.encode_into(text="hello", out=out) == 1
    with pytest.raises(ValueError, match=r"the text has the special token '<\|end\|>'"):
        tokenizer.encode_into("hello <|end|>", out)
    assert tokenizer.encode_into("hello <|end|>", out, disallowed_special=()) == len(tokenizer.encode_ordinary("hello <|end|>"))
    for given in ((), ("hello",), ("hello", out, out)):
        with pytest.raises(TypeError, match="encode_into"):
            tokenizer.encode_into(*given)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="expected str or a bytes-like object, got int"):
        tokenizer.encode_into(3, out)  # type: ignore[arg-type]


class Tensor:
    """As torch's, which has no buffer."""

    def numpy(self) -> None: ...


WRONG: list[tuple[Any, type[Exception], str]] = [
    (np.zeros(9, "f4"), TypeError, r"^expected an array of integers, got one of format 'f'$"),
    (np.zeros(9, "?"), TypeError, r"^expected an array of integers, got one of format '\?'$"),
    (np.zeros(9, "u4").astype(">u4"), TypeError, r"^expected an array in the byte order of this machine, got one of format '>I'$"),
    (np.zeros((3, 3), "u4"), TypeError, r"^expected room for token ids in one row, got an array of 2 dimensions$"),
    (np.array(7, "u4"), TypeError, r"^expected room for token ids in one row, got an array of 0 dimensions$"),
    (bytes(9), TypeError, r"^expected an array that may be written to$"),
    (np.frombuffer(bytes(18), "u2"), TypeError, r"^expected an array that may be written to$"),
    (bytearray(9), ValueError, r"^ids up to 301 do not fit numbers of 1 bytes, of format 'B'$"),
    (np.zeros(9, "i1"), ValueError, r"^ids up to 301 do not fit numbers of 1 bytes, of format 'b'$"),
    ([0] * 9, TypeError, r"^expected an array of integers to write token ids to, got list$"),
    (Tensor(), TypeError, r"^expected an array of integers to write token ids to, got Tensor; its \.numpy\(\) may be one$"),
    (None, TypeError, r"^expected an array of integers to write token ids to, got NoneType$"),
]


@pytest.mark.parametrize(("out", "kind", "message"), WRONG)
def test_what_is_no_room_for_ids(tokenizer: Tokenizer, out: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        tokenizer.encode_into("hello", out)
    if out is not None:
        with pytest.raises(kind, match=message):
            tokenizer.stream(into=out)


@pytest.mark.parametrize("threads", [1, 2])
def test_too_little_room(tokenizer: Tokenizer, threads: int) -> None:
    for text in ("hello world", "word " * 5000, "w\u00f6rd " * 5000):
        count = tokenizer.count(text)
        for room in {0, 1, count - 1}:
            for kind in ("u4", "u2"):
                with pytest.raises(ValueError, match=f"^the text has {count} token ids, and the array room for {room}$"):
                    tokenizer.encode_into(text, np.zeros(room, kind), threads=threads)


def test_small_vocabularies_fit_bytes(tier: str) -> None:
    plain = Tokenizer(describe(Vocabulary.from_ranks(BYTES)))
    out = bytearray(9)
    assert plain.encode_into("abc", out) == 3
    assert list(out[:3]) == plain.encode("abc")


STRIPPING = added(258, "<s>", lstrip=True, rstrip=True, special=True)
SLOW: dict[str, dict[str, Any]] = {"bare": {}, "nfc": {"normalizer": {"type": "NFC"}}, "stripping": {"added_tokens": [STRIPPING]},
        "both": {"normalizer": {"type": "NFC"}, "added_tokens": [STRIPPING]}}  # fmt: skip


@pytest.mark.parametrize("kind", SLOW)
def test_tokenizers_that_find_their_tokens_in_python(tier: str, kind: str, tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(tokenizer_json(("he", "ll"), [["h", "e"], ["l", "l"]], **SLOW[kind])))
    tokenizer = Tokenizer.from_file(path)
    for text in ("the he\u0301 <s>  hello e\u0301" * 30, "the he  <s> hello"):
        want = tokenizer.encode(text)
        out = np.zeros(len(want), np.uint16)
        assert tokenizer.encode_into(text, out) == len(want)
        assert out.tolist() == want
        for room in (1, 1000):
            small = np.zeros(room, np.uint16)
            assert gathered(tokenizer.stream(into=small), small, parts_between(text, (3, 11, 12))) == want
        with pytest.raises(ValueError, match=f"the text has {len(want)} token ids, and the array room for 2"):
            tokenizer.encode_into(text, out[:2])


# --- streams ---------------------------------------------------------------------------------------------------------------------


def test_what_waits(tokenizer: Tokenizer) -> None:
    """Calls give as many as there is room for, in order, whichever they are; and wherever they are found, in the array or elsewhere."""
    source = random.Random(5)
    short, long = ("hello world, 123 <|end|> hell" * 20, (0, 1, 5, 30)), ("a1!? hello <|end|>" * 2600, (5, 10000, 30000))
    for room, (text, sizes) in ((1, short), (2, short), (7, short), (60, short), (12000, long), (22000, long), (50000, long)):
        want = tokenizer.encode(text, disallowed_special=())
        out = np.zeros(room, np.uint32)
        stream: Any = tokenizer.stream(into=out, disallowed_special=())
        found: list[int] = []
        at = 0
        while at < len(text):
            size = source.choice(sizes)
            count = stream.more() if source.random() < 0.3 else stream.feed(text[at : (at := at + size)])
            found += out[:count].tolist()
            if source.random() < 0.1:
                stream = stream.copy()
        count = stream.finish()
        while count:
            found += out[:count].tolist()
            count = stream.more()
        assert found == want
        assert gathered(stream, out, [text]) == want  # it is as new


def test_what_waits_is_not_lost_by_finish_and_gone_after_reset(tokenizer: Tokenizer) -> None:
    out = np.zeros(1, np.uint32)
    stream = tokenizer.stream(into=out)
    assert (stream.feed("hello 12 hello"), stream.finish()) == (1, 1)
    assert stream.feed("!") == 1  # of another text
    rest = [int(out[0])]
    while stream.more():
        rest.append(int(out[0]))
    while stream.finish():
        rest.append(int(out[0]))
    assert rest == (tokenizer.encode("hello 12 hello") + tokenizer.encode("!"))[2:]
    stream.feed("hello 12 hello")
    stream.reset()
    assert (stream.more(), stream.finish()) == (0, 0)
    assert (stream.feed(b"hello "), out[0]) == (1, RANKS[b"hello"])


def test_surrogates_across_parts(tokenizer: Tokenizer) -> None:
    out = np.zeros(50, np.uint32)
    for parts in (["\ud83d", "\ude00"], ["a\ud83d"], ["\ud83d", "\ud83d", "b"]):
        assert gathered(tokenizer.stream(into=out), out, parts) == tokenizer.encode("".join(parts))


@pytest.mark.skipif(sys.version_info < (3, 12), reason="classes of Python have had buffers since 3.12")
def test_copies_of_what_puts_things_in_an_array_of_a_class_of_python(tokenizer: Tokenizer) -> None:
    """The object that its buffer names is another one, which has no buffer to give."""

    class Room:
        def __init__(self, kind: str) -> None:
            self.array = np.zeros(5, kind)

        def __buffer__(self, flags: int) -> memoryview:
            return self.array.data

    ids, offsets = Room("u4"), Room("i8")
    streams: list[tuple[Any, Room]] = [(tokenizer.stream(into=ids), ids), (tokenizer.lexer.stream(spans=True, into=offsets), offsets)]
    for stream, room in streams:
        assert stream.feed("hello 12") > 0
        first, twin = room.array.tolist(), stream.copy()
        count = stream.finish()
        rest = room.array[:count].tolist()
        room.array[:] = 0
        assert twin.finish() == count > 0 and room.array[:count].tolist() == rest != first[:count]


def test_offsets_that_wait(tier: str) -> None:
    lexer = bitlex.lexer("cl100k")
    out = np.zeros(2, np.int64)
    stream = lexer.stream(spans=True, into=out)
    assert stream.feed("one two three four") == 2
    twin = stream.copy()
    assert out.tolist() == [3, 7]
    assert (stream.more(), out.tolist()) == (1, [13, 7])
    assert (stream.more(), stream.finish(), out.tolist()) == (0, 1, [18, 7])
    assert (twin.finish(), out.tolist()) == (2, [13, 18])
    twin.feed("one two three four")
    twin.reset()
    assert (twin.more(), twin.finish()) == (0, 0)


OFFSETS: list[tuple[str, Any, str]] = [
    ("cl100k", np.zeros(9, "i4"), r"^expected an array of int64, side by side, got one of format 'i'$"),
    ("cl100k", np.zeros(9, "u8"), r"^expected an array of int64, side by side, got one of format '[LQ]'$"),
    ("cl100k", np.zeros(9, "f8"), r"^expected an array of int64, side by side, got one of format 'd'$"),
    ("cl100k", np.zeros(9, ">i8"), r"^expected an array of int64, side by side, got one of format '>[lq]'$"),
    ("cl100k", np.zeros(9, "i8")[::2], r"^expected an array of int64, side by side, got one of format '[lq]'$"),
    ("cl100k", bytearray(80), r"^expected an array of int64, side by side, got one of format 'B'$"),
    ("cl100k", memoryview(bytes(80)).cast("q"), r"^expected an array that may be written to$"),
    ("cl100k", np.zeros((9, 2), "i8"), r"^expected an array of one dimension: this lexer gives the end of each piece$"),
    ("clip", np.zeros(9, "i8"), r"^expected an array of two columns: this lexer drops text, and gives starts and ends$"),
    ("clip", np.zeros((9, 3), "i8"), r"^expected an array of two columns: this lexer drops text, and gives starts and ends$"),
    ("cl100k", Tensor(), r"^expected an array of int64 to write offsets to, got Tensor; its \.numpy\(\) may be one$"),
    ("cl100k", [1, 2], r"^expected an array of int64 to write offsets to, got list$"),
]


@pytest.mark.parametrize(("family", "out", "message"), OFFSETS)
def test_what_is_no_room_for_offsets(tier: str, family: str, out: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        bitlex.lexer(family).stream(spans=True, into=out)


def test_what_goes_with_an_array(tokenizer: Tokenizer) -> None:
    lexer = tokenizer.lexer
    with pytest.raises(ValueError, match="pieces cannot be put in an array: into= goes with spans=True"):
        lexer.stream(into=np.zeros(9, np.int64))  # type: ignore[call-overload]
    with pytest.raises(ValueError, match="result is 'numpy'; with into=, how many ids are in the array is what is given"):
        tokenizer.stream(result="numpy", into=np.zeros(9, np.uint32))  # type: ignore[call-overload]
    for stream in (lambda: tokenizer.stream(into=np.zeros(0, np.uint32)), lambda: lexer.stream(spans=True, into=np.zeros(0, np.int64))):
        with pytest.raises(ValueError, match="the array has no room for anything"):
            stream()


def test_the_array_is_held_while_it_is_needed(tokenizer: Tokenizer) -> None:
    memory = bytearray(400)
    stream = tokenizer.stream(into=memoryview(memory).cast("I"))
    twin = stream.copy()
    del stream
    with pytest.raises(BufferError):
        memory.extend(b"more")
    assert twin.feed("hello ") == 1
    assert int.from_bytes(memory[:4], "little") == RANKS[b"hello"]
    del twin


def test_parts_that_come_one_by_one(tokenizer: Tokenizer) -> None:
    out = np.zeros(2, np.uint32)
    text = "hello world hello world 123"

    async def parts() -> AsyncIterator[str]:
        for at in range(0, len(text), 9):
            yield text[at : at + 9]

    async def all_of_them() -> list[int]:
        return [number async for count in tokenizer.stream(into=out).aiterate(parts()) for number in out[:count].tolist()]

    assert asyncio.run(all_of_them()) == tokenizer.encode(text)
    events: list[Any] = []

    async def noted() -> AsyncIterator[str]:
        for part in (text, text):
            events.append("asked")
            yield part

    async def in_turn() -> None:
        async for count in tokenizer.stream(into=out).aiterate(noted()):
            events.append(out[:count].tolist())

    asyncio.run(in_turn())
    settled = tokenizer.stream().feed(text)
    given = [number for ids in events[1 : events.index("asked", 1)] for number in ids]
    assert given == settled and len(settled) > 2  # all before the next part is asked for
