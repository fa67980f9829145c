"""Streams of pieces: whatever the parts of a text are, what comes out is what the whole text gives.

Every text of up to three characters over representatives of the cells, cut in every way, also inside characters, for every family, from
Python (longer ones: stream_exhaustive.c); random texts and random cuts; long runs; machines of several stages.
"""

from __future__ import annotations

import asyncio
import base64
import copy
import pickle
import random
import re
import subprocess
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from itertools import combinations, product
from operator import methodcaller
from pathlib import Path
from typing import Any

import numpy
import pytest

import bitlex
from bitlex.generated.python import scan
from bitlex.pure_stream import Reader
from compilers import ADDRESS, ROOT, C, build, run
from several_stages import lexer_of_several_stages
from streaming import check_what_is_no_part, gathered, parts_between

FAMILIES = bitlex.families()
# What patterns tell apart: kinds of letters, digits, blanks, line breaks, contractions, punctuation, ideographs, marks, and ill-formed bytes.
ALPHABET = ["a", "S", "'", " ", "\n", "\r", "1", ".", "/", "_", "\u4e2d", "\u0301", "\u00e9", "\t"]
KINDS = ["a", "S", "'", " ", "\n", "1", ".", "\u4e2d"]

of_a_table = pytest.mark.skipif(
    bitlex.lexer("cl100k").tier == "pure", reason="streams in Python make each piece anew: there is no table of pieces to test"
)


def ways(length: int) -> Iterator[tuple[int, ...]]:
    """Every way of cutting a text."""
    for count in range(length):
        yield from combinations(range(1, length), count)


def offsets(stream: Any, parts: list[Any]) -> list[int]:
    found: list[int] = []
    for part in parts:
        found += stream.feed(part).reshape(-1).tolist()
    found += stream.finish().reshape(-1).tolist()
    return found


def check(lexer: bitlex.Lexer, text: Any, parts: list[Any], spans: Any, pieces: Any) -> None:
    want = lexer.spans(text).reshape(-1).tolist()
    assert offsets(spans, parts) == want, (lexer, parts)
    for room in (3, 9000):  # which is less, and more, than what is found elsewhere first
        array = numpy.zeros((room, 2) if lexer.drops else room, numpy.int64)
        assert gathered(lexer.stream(spans=True, into=array), array, parts) == want, (lexer, parts)
    got = [piece for part in parts for piece in pieces.feed(part)] + pieces.finish()
    assert got == lexer.split(text), (lexer, parts)


@pytest.mark.parametrize("tier", ["portable", "pure"])
@pytest.mark.parametrize("name", FAMILIES)
def test_short_texts_cut_everywhere(name: str, tier: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BITLEX_TIER", tier)
    lexer = bitlex.lexer(name)
    spans, pieces = lexer.stream(spans=True), lexer.stream()
    for length in range(4):
        for chosen in product(KINDS if length > 2 else ALPHABET, repeat=length):
            data = "".join(chosen).encode()
            want = lexer.spans(data).reshape(-1).tolist()
            for cuts in ways(len(data)):
                assert offsets(spans, parts_between(data, cuts)) == want, (chosen, cuts)
            if not lexer.bytewise:
                text = "".join(chosen)
                for cuts in ways(len(text)):
                    check(lexer, text, parts_between(text, cuts), spans, pieces)


@pytest.mark.parametrize("name", FAMILIES)
def test_random_texts_cut_at_random(name: str, tier: str) -> None:
    lexer = bitlex.lexer(name)
    spans, pieces = lexer.stream(spans=True), lexer.stream()
    source = random.Random(name + tier)
    for _ in range(20 if tier == "pure" else 200):
        text = "".join(source.choice(ALPHABET) * source.choice((1, 1, 1, 2, 3, 40, 400)) for _ in range(source.randint(1, 60)))
        data = bytearray(text.encode())
        for _ in range(source.choice((0, 0, 5))):  # ill-formed, here and there
            data[source.randrange(len(data))] = source.choice((0x80, 0xBD, 0xC3, 0xE4, 0xED, 0xF0, 0xFF))
        for whole in (bytes(data), *([text] if not lexer.bytewise else [])):
            cuts = sorted(source.sample(range(len(whole) + 1), min(len(whole), source.choice((0, 1, 2, 10, 100)))))
            check(lexer, whole, parts_between(whole, tuple(cuts)), spans, pieces)


@pytest.mark.parametrize("size", [1, 7, 64, 4096, 6144, 6147, 100_000])
@pytest.mark.parametrize("name", ["cl100k", "o200k", "clip", "falcon", "deepseek_llm"])
def test_long_texts_in_even_parts(name: str, size: int) -> None:
    lexer = bitlex.lexer(name)
    source = random.Random(size)
    words = ["word", " some", " other", "\n", " 12", "345", "  ", "\u4e2d\u6587", " \u043c\u0438\u0440", "it's", " \U0001f600", "ABC"]
    text = "".join(source.choice(words) for _ in range(20_000)).encode()
    check(lexer, text, [text[at : at + size] for at in range(0, len(text), size)], lexer.stream(spans=True), lexer.stream())


@pytest.mark.parametrize("name", ["cl100k", "deepseek_llm", "falcon", "tiny_aya"])
def test_ascii_that_does_not_fill_all_lanes(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of ASCII go straight into lanes, whatever their size: around where lanes end, and where there is more text behind, or none."""
    lexer, source = bitlex.lexer(name), random.Random(name)
    monkeypatch.setenv("BITLEX_TIER", "portable")
    portable = bitlex.lexer(name)
    words = ["word", " some", " Other", "\n", " 12", "345", "        ", "it's", "):\n", "\t"]
    text = "".join(source.choice(words) for _ in range(5_000)).encode()
    for steps in range(8, 104, 8):
        for size in {48 * steps + 7, 48 * steps + 8, 63 * steps + 1, 64 * steps - 1, 64 * steps}:
            want = portable.spans(text[:size]).tolist()
            assert lexer.spans(text[:size]).tolist() == want, size
            for at in (0, 1, size // 2, max(0, size - 400)):
                assert offsets(lexer.stream(spans=True), [text[:at], text[at:size]]) == want, (size, at)


def test_arrays_that_are_kept_while_others_go() -> None:
    """Whose memory is let go may have it no longer, whoever comes next."""
    lexer, rng = bitlex.lexer("cl100k"), random.Random(20)
    kept: list[tuple[Any, list[int]]] = []
    for _ in range(2_000):
        text = "".join(rng.choices(["a", " b", "1", "\u4e2d", " long words"], k=rng.choice([3, 60, 200, 800, 3_000])))
        stream = lexer.stream(spans=True)
        found = [stream.feed(text), stream.finish(), lexer.spans(text)]
        kept += [(one, one.tolist()) for one in found]
        rng.shuffle(kept)
        del kept[rng.choice([0, 4, 20]) :]
        assert all(one.tolist() == expected for one, expected in kept)


def test_what_is_settled_comes_out_at_once() -> None:
    """Nothing is held back that no continuation could change: what comes out is what all continuations have in common."""
    for name in ("cl100k", "o200k", "gpt2"):
        lexer = bitlex.lexer(name)
        behind = ["", *("".join(one) for length in (1, 2, 3) for one in product(KINDS, repeat=length))]
        for length in (1, 2, 3):
            for chosen in product(KINDS, repeat=length):
                text = "".join(chosen)
                common = set.intersection(*({int(end) for end in lexer.spans(text + more) if end < len(text)} for more in behind))
                first_open = min((end for more in behind for end in map(int, lexer.spans(text + more)) if end < len(text) and end not in common), default=len(text))
                stream = lexer.stream(spans=True)
                assert stream.feed(text).tolist() == sorted(end for end in common if end < first_open), (name, text)


@pytest.mark.parametrize("unit", [" ", "\n", "a", "A", "1", ".", "\u4e2d", "\u0301", "_", " \t", "\u3000 ", "'t"])
@pytest.mark.parametrize("name", ["cl100k", "o200k", "gpt2", "clip"])
def test_endless_runs(name: str, unit: str) -> None:
    """A long run is read in parts, behind and before all that may decide about it; with places for what the family needs."""
    lexer = bitlex.lexer(name)
    for before, behind in (("", ""), ("\n", "x"), ("\u4e2d", "a"), ("x", "\n"), ("'", "s")):
        text = before + unit * 100_000 + behind
        for whole in (text, text.encode()):
            for size in (1000, 33_333):
                stream = lexer.stream(spans=True, hold=8)
                parts = [whole[at : at + size] for at in range(0, len(whole), size)]
                assert offsets(stream, parts) == lexer.spans(whole).reshape(-1).tolist()


@pytest.mark.parametrize("name", FAMILIES)
def test_parts_that_end_in_a_run(name: str) -> None:
    """The run of one character at the end of a part is left out of what is read as a text of its own, if that is what tells nothing."""
    lexer, source = bitlex.lexer(name), random.Random(name)
    words = ["word", " some", "\n", " 12", "345", "it's", " \u043c\u0438\u0440", "\u4e2d", "):\n", "ABC"]
    for unit in " \t\n7aA_":
        for size in (20, 25, 31, 32, 33, 64, 65, 300, 1000, 5000):
            some, more = ("".join(source.choice(words) for _ in range(source.choice((1, 70, 400, 1600)))) for _ in range(2))
            text = some + unit * size + source.choice(("", " ", "\n", "\t", "x", "8")) + more
            whole: Any
            for whole in (text.encode(), *([] if lexer.bytewise else [text])):
                end = len(some.encode() if isinstance(whole, bytes) else some) + size
                for cut in (end - size // 2, end, end + 1):
                    stream = lexer.stream(spans=True, hold=10_000)
                    assert offsets(stream, [whole[:cut], whole[cut:]]) == lexer.spans(whole).reshape(-1).tolist(), (unit, size, cut)


def places(lexer: bitlex.Lexer, most: int = 20) -> int:
    """How many places a stream holds at most, whatever the text: a walk through all that its sets can be; `most` if they are so many."""
    machine = scan.Machine(**lexer._tables)  # type: ignore[arg-type]
    reader = Reader(machine.stages[0])
    begin: Any = (0, (), reader.every if machine.drops else 0)
    seen, todo = {begin}, [begin]
    for forward, held, dropping in todo:  # grows while it is read
        for column in range(reader.stage.column_count):
            next, starts, drops = reader.read(forward, column)
            dropped = reader.pull(dropping, column)
            found = [(drop, reader.pull(states, column)) for drop, states in held] + [(True, drops & ~dropped), (False, starts)]
            while found and found[0][1] in (0, reader.every):
                del found[0]
            state = next, tuple(one for one in found if one[1]), (dropped & ~starts | drops) if machine.drops else 0
            if len(state[1]) >= most:
                return most
            if state not in seen:
                seen.add(state)
                todo.append(state)
    return max(len(held) for _, held, _ in todo)


def test_what_each_family_holds_is_documented() -> None:
    text = (ROOT / "docs/streams.md").read_text(encoding="utf-8")
    for row, bound in (("1", 1), ("2", 2), ("no bound", 20)):
        names = next(line for line in text.splitlines() if line.startswith("| ") and line.endswith(f"| {row} |")).split("|")[1].split(",")
        assert {name.strip() for name in names} == {name for name in FAMILIES if places(bitlex.lexer(name)) == bound}


def test_the_page_says_what_comes_out(tier: str) -> None:
    page = (ROOT / "docs/streams.md").read_text(encoding="utf-8")
    made, fed, given = re.findall(r"^stream = (bitlex\.lexer\(.*?\)\.stream\(\)).*\n(stream\.feed.*?) +# (.*)$", page, re.MULTILINE)[0]
    assert eval(fed, {"stream": eval(made)}) == eval(given)


@pytest.mark.parametrize("copied", [methodcaller("copy"), copy.copy, copy.deepcopy])
def test_copies_go_their_own_ways(copied: Callable[[Any], Any], tier: str) -> None:
    lexer = bitlex.lexer("cl100k")
    for spans in (False, True):
        stream: Any = lexer.stream(spans=True) if spans else lexer.stream()
        stream.feed("I'l")
        twin = copied(stream)
        assert list(stream.feed("l go")) and list(twin.feed(" x"))
        if not spans:
            assert (stream.finish(), twin.finish()) == ([" go"], [" x"])
        else:
            assert (stream.finish().tolist(), twin.finish().tolist()) == ([7], [5])


def test_no_stream_is_pickled(tier: str) -> None:
    with pytest.raises(TypeError, match="a PieceStream cannot be pickled; make one where it is needed"):
        pickle.dumps(bitlex.lexer("cl100k").stream())


def test_reset_begins_another_text(tier: str) -> None:
    lexer = bitlex.lexer("cl100k")
    for stream in (lexer.stream(), lexer.stream(spans=True)):
        stream.feed("I'l")
        stream.reset()
        assert list(stream.feed(b"one two")) in ([b"one"], [3])
        assert list(stream.finish()) in ([b" two"], [7])


def test_what_is_no_part(tier: str) -> None:
    lexer = bitlex.lexer("cl100k")
    for stream in (lexer.stream(), lexer.stream(spans=True)):
        check_what_is_no_part(stream)
    with pytest.raises(ValueError, match="this lexer cuts inside characters"):
        bitlex.lexer("falcon").stream().feed("a")
    with pytest.raises(ValueError, match="hold is -1"):
        lexer.stream(hold=-1)


def test_what_would_be_held_beyond_the_limit(tier: str) -> None:
    """Digits in threes from the right are open until the last one is there."""
    stream = bitlex.lexer("tiny_aya").stream(spans=True, hold=100)
    with pytest.raises(ValueError, match="the stream would have to hold more than 100 places, which what follows may still change; hold= "):
        stream.feed("1" * 2000)
    with pytest.raises(ValueError, match="more than 50 characters"):
        bitlex.lexer("cl100k").stream(hold=50).feed("a" * 60)
    with pytest.raises(ValueError, match="more than 50 bytes"):
        bitlex.lexer("cl100k").stream(hold=50).feed(b"a" * 60)
    with pytest.raises(ValueError, match="more than 0 characters"):
        bitlex.lexer("cl100k").stream(hold=0).feed("a")
    assert bitlex.lexer("cl100k").stream(hold=1 << 80).feed("a b") == ["a"]
    again = bitlex.lexer("cl100k").stream(hold=50)
    for _ in range(2):
        assert again.feed("a" * 40) == []
        again.reset()
    for kind in (str, str.encode):
        pieces = bitlex.lexer("cl100k").stream(hold=50)
        for _ in range(2):
            assert pieces.feed(kind("a" * 25)) == []  # no more than that
        for one in (pieces.copy(), pieces):
            with pytest.raises(ValueError, match="more than 50"):
                one.feed(kind("a"))


def test_what_is_held_where_nothing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BITLEX_TIER", "pure")
    assert bitlex.lexer("cl100k").stream()._stream.hold == 1 << 24


def test_what_was_read_may_be_written_over(tier: str) -> None:
    """As who reads into one buffer does."""
    stream, buffer = bitlex.lexer("cl100k").stream(), bytearray(4)
    found = []
    for part in (b"the ", b"cate", b"gory"):
        buffer[:] = part
        found += stream.feed(buffer)
    buffer[:] = bytes(4)
    assert found + stream.finish() == [b"the", b" category"]


def test_offsets_are_of_one_kind(tier: str) -> None:
    """Also where there are none."""
    for lexer in (bitlex.lexer("cl100k"), bitlex.lexer("clip")):
        stream = lexer.stream(spans=True)
        for found in (stream.feed(""), stream.feed("a"), stream.feed(" b"), stream.finish(), stream.finish()):
            assert found.dtype == numpy.int64 and found.shape[1:] == ((2,) if lexer.drops else ())


def test_a_stream_that_failed_gives_nothing_more(tier: str) -> None:
    """It has read what it does not hold, so pieces would be cut out of whatever lies there."""
    digits, letters, array = bitlex.lexer("tiny_aya"), bitlex.lexer("cl100k"), numpy.zeros(9, "int64")
    streams: list[tuple[Any, Any]] = [
        (digits.stream(hold=8), "a b " + "1" * 100), (digits.stream(hold=8), b"a b " + b"1" * 100), (letters.stream(hold=8), "a b cccccccccc"),
        (digits.stream(spans=True, hold=8), "a b " + "1" * 100), (digits.stream(spans=True, hold=8, into=array), "a b " + "1" * 100),
    ]  # fmt: skip
    for stream, text in streams:
        first = stream.feed(text[:4]), stream.finish()
        with pytest.raises(ValueError, match="the stream would have to hold more than 8 "):
            stream.feed(text)
        for one in (stream, stream.copy()):
            for call in (partial(one.feed, text[:4]), one.finish, *([one.more] if hasattr(one, "more") else [])):
                with pytest.raises(ValueError, match="this stream has failed: reset it before it reads another text"):
                    call()
        stream.reset()
        assert repr((stream.feed(text[:4]), stream.finish())) == repr(first)


def test_a_copy_goes_on_with_the_same_kind_of_text(tier: str) -> None:
    kinds: list[tuple[Any, Any]] = [("caf\u00e9 I'", "m"), ("caf\u00e9 I'".encode(), b"m")]
    for begins, ends in kinds:
        other = ends.encode() if isinstance(ends, str) else ends.decode()
        for spans in (False, True):
            stream = bitlex.lexer("cl100k").stream(spans=spans)
            stream.feed(begins)
            for one in (stream.copy(), stream.copy().copy(), stream):
                with pytest.raises(TypeError, match="a text cannot be both"):
                    one.feed(other)
                found = [*one.feed(ends), *one.finish()]
                assert found == ([len(begins + ends)] if spans else [begins[-1:] + ends])
                assert len(one.feed(other)) + len(one.finish()) == 1  # and then as new


def test_many_places_are_held_where_that_is_allowed(tier: str) -> None:
    lexer = bitlex.lexer("tiny_aya")
    many = 300 if tier == "pure" else 5000
    text = "1" * many + " " + "1" * (many - 99) + "a"
    assert offsets(lexer.stream(spans=True), parts_between(text, tuple(range(7, len(text), 7)))) == lexer.spans(text).tolist()


@pytest.mark.parametrize("count", [15, 40, 62, 80])
def test_places_of_many_kinds_are_held(count: int, tier: str) -> None:
    """What counts tells each place from the next: each has a set of its own. Of more than 64, the stream is one in Python."""
    lexer = bitlex.compile(rf"\s{{{count}}}\p{{N}}|(?s:.)", dialect="python")
    assert (lexer.states[0][0] <= 64) == (count < 64)
    for text in (" " * 200 + "1" + " " * (count - 1) + "2", (" " * count + "12 ") * 9):
        stream = lexer.stream()
        found = [piece for character in text[:150] for piece in stream.feed(character)]
        for one in (stream.copy(), stream):
            assert [*found, *one.feed(text[150:]), *one.finish()] == lexer.split(text)


def test_places_of_more_kinds_than_there_is_room_for(native_tier: str) -> None:
    alternatives = (rf"{letter}(?=[abc]{{{more}}}(?:[abc]{{40}})*\n)" for letter, more in (("a", 0), ("b", 3), ("c", 9)))
    lexer = bitlex.compile("|".join(alternatives), dialect="python")
    chance = random.Random(1)
    with pytest.raises(ValueError, match=r"places of more than 126 kinds.*; give the whole text at once, or set BITLEX_TIER=pure"):
        lexer.stream().feed("".join(chance.choice("abc") for _ in range(600)))


@pytest.mark.parametrize("drops", [False, True])
def test_machines_of_several_stages(drops: bool, tier: str) -> None:
    """Each reads what the one before has found, so they are read in Python."""
    lexer = lexer_of_several_stages(drops)
    source = random.Random(drops)
    for _ in range(60):
        text = "".join(source.choice("aab b1\u4e2d") for _ in range(source.randint(0, 40)))
        for whole in (text, text.encode()):
            cuts = tuple(sorted(source.sample(range(len(whole) + 1), min(len(whole), 5))))
            check(lexer, whole, parts_between(whole, cuts), lexer.stream(spans=True), lexer.stream())


def test_iterating_asks_for_no_part_too_early() -> None:
    asked: list[str] = []

    def parts() -> Iterator[str]:
        for part in ("one two", " three", " four"):
            asked.append(part)
            yield part

    found = bitlex.lexer("cl100k").stream().iterate(parts())
    assert next(found) == ["one"] and asked == ["one two"]
    assert [piece for pieces in found for piece in pieces] == [" two", " three", " four"]
    assert list(bitlex.lexer("cl100k").stream().iterate(["a", "b", ""])) == [["ab"]]  # nothing of what is empty


def test_asynchronous_parts() -> None:
    async def parts() -> AsyncIterator[bytes]:
        for byte in "na\u00efve \u4e2d it's".encode():
            await asyncio.sleep(0)
            yield bytes([byte])

    async def read() -> list[bytes]:
        return [piece async for pieces in bitlex.lexer("cl100k").stream().aiterate(parts()) for piece in pieces]

    assert asyncio.run(read()) == ["na\u00efve".encode(), " \u4e2d".encode(), b" it", b"'s"]


def test_pieces_that_are_remembered() -> None:
    """A stream has the object again that it gave before: for the same characters, not the same bytes of other ones."""
    lexer = bitlex.lexer("cl100k")
    stream = lexer.stream()
    parts = ["\0A " * 300, "\u4100!" * 300, "\U00010041!" * 300, "\0A " * 300]  # U+4100 lies in memory as "\0A" does
    assert [piece for part in parts for piece in stream.feed(part)] + stream.finish() == lexer.split("".join(parts))
    data = "".join(parts).encode()
    assert stream.feed(data) + stream.finish() == lexer.split(data)
    assert all(type(piece) is bytes for piece in stream.feed(data))


@of_a_table
def test_pieces_of_a_long_text_are_remembered_in_small_parts() -> None:
    """Also where what remembers them becomes larger meanwhile."""
    lexer = bitlex.lexer("cl100k")
    rng = random.Random(8)
    words = [f" {KINDS[number % 2]}{chr(0x430 + number % 32)}{chr(0x3B1 + number // 32 % 24)}w" for number in range(700)]
    text = "".join(rng.choices(words, k=20_000))
    data = text.encode()
    for whole in (text, data):
        stream = lexer.stream()
        found = [stream.feed(whole[at : at + 33]) for at in range(0, len(whole), 33)]
        assert [piece for pieces in (*found, stream.finish()) for piece in pieces] == lexer.split(whole)
        again = [piece for _ in range(2) for piece in stream.feed(whole[:200])]
        assert len({id(piece) for piece in again}) < len(again) * 2 // 3


@of_a_table
def test_pieces_that_do_not_come_again_are_not_remembered() -> None:
    """Until some come again, much later."""
    lexer = bitlex.lexer("cl100k")
    new = "".join(f" {chr(0x61 + number // 676)}{chr(0x61 + number // 26 % 26)}{chr(0x61 + number % 26)}" for number in range(26 * 26 * 6))
    ways = [
        ("a b c d e f " * 700, new, False), ("a b c d e f " * 700, " a b c d" * 600, True),
        (new * 2, " a b c d" * 600, False), (new * 2, " a b c d" * 18_000, True),
    ]  # fmt: skip
    for first, then, remembered in ways:
        for text in (first + then, (first + then).encode()):
            stream = lexer.stream()
            found = [piece for at in range(0, len(text), 4000) for piece in stream.feed(text[at : at + 4000])] + stream.finish()
            assert found == lexer.split(text)
            assert (len({id(piece) for piece in found[-1000:]}) < 10) == remembered, (first[:12], then[:12], remembered)


def test_a_stream_has_one_user(tmp_path: Path) -> None:
    """Another thread that feeds it is told so, or comes when the first is through; what the stream gives is one text's."""
    lexer = bitlex.lexer("cl100k")
    if lexer.tier == "pure":
        pytest.skip("streams in Python run under the interpreter's lock, and do not look for a second user")
    (tmp_path / "bytes.tiktoken").write_bytes(b"".join(base64.b64encode(bytes([byte])) + b" %d\n" % byte for byte in range(256)))
    tokenizer = bitlex.Tokenizer.from_file(tmp_path / "bytes.tiktoken", family="cl100k")
    for make, count in ((lexer.stream, lexer.count), (partial(lexer.stream, spans=True), lexer.count), (tokenizer.stream, tokenizer.count)):
        stream: Any = make()
        part = b"some words " * 50_000
        given: list[int] = []
        refused: list[str] = []

        def work(stream: Any, part: bytes, given: list[int], refused: list[str]) -> None:
            for _ in range(10):
                try:
                    given.append(len(stream.feed(part)))
                except RuntimeError as error:
                    refused.append(str(error))

        threads = [threading.Thread(target=work, args=(stream, part, given, refused)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert set(refused) <= {"another thread is using this stream: it has one user at a time"}
        assert len(given) + len(refused) == 40
        assert sum(given) + len(stream.finish()) == count(part * len(given))


def test_streams_in_c(tmp_path: Path) -> None:
    families = ("cl100k", "clip", "deepseek_llm", "falcon", "o200k", "tiny_aya")
    lexers = [C / f"{name}.c" for name in ("bitlex", "bitlex_lanes", *families)]
    sources = [ROOT / "tests/stream_harness.c", *lexers, *sorted((ROOT / "runtime").glob("bpe_*.c"))]
    harness = build(tmp_path / "harness", sources, "-O1", f"-I{C}", apart=(f"-I{ROOT / 'runtime'}",), needs=ADDRESS)
    assert "no difference" in run(harness, "100")


def test_the_program_of_the_documentation(tmp_path: Path) -> None:
    """It is built and run as it stands there."""
    code = (ROOT / "docs/streams.md").read_text(encoding="utf-8").partition("```c\n")[2].partition("```")[0]
    for kind, unit in (("cursor", "KB"), ("stream", "bytes")):
        stated = re.search(rf"bitlex_{kind} {kind}; /\*\D*(\d+) {unit}", code)
        assert stated is not None
        size = f"(sizeof(bitlex_{kind}) + 512) / 1024" if unit == "KB" else f"sizeof(bitlex_{kind})"
        code += f"typedef char {kind}_as_stated[{size} == {stated[1]} ? 1 : -1];\n"
    (tmp_path / "example.c").write_text(code)
    lexers = [C / f"{name}.c" for name in ("bitlex", "bitlex_stream", "cl100k")]
    program = build(tmp_path / "example", [tmp_path / "example.c", *lexers], "-O1", f"-I{C}")
    for text in ("", "I'm here: \u4e2d\u6587  1234567\u00e9\u0301", "some words and 12345 digits\t\u4e2d " * 3000):
        done = subprocess.run([program], input=text.encode(), capture_output=True, check=True)
        assert done.stdout.decode() == "".join(f"{piece}\n" for piece in bitlex.lexer("cl100k").split(text))
    assert subprocess.run([program], input=b"a" * (1 << 20), capture_output=True, check=False).returncode == 1
