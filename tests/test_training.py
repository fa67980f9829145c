"""Training against its definition: the native core and the pure one, over random texts of few letters, so that ties and overlaps abound."""

from __future__ import annotations

import gc
import random
import time
from array import array
from collections import Counter
from collections.abc import Iterator
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any

import pytest

import bitlex
from bitlex.training import growing
from bitlex.training.growing import byte_counts, spelled
from bitlex.training.pure import PureCounter, PureMerger
from bitlex.vocabulary import Vocabulary
from several_stages import lexer_of_several_stages
from training_definition import learn

native = pytest.importorskip("bitlex._native")
BYTES = [bytes([byte]) for byte in range(256)]
EVERYTHING = 1 << 60


def merger(lexer: bitlex.Lexer, vocabulary: Vocabulary, kind: str, *arguments: Any) -> Any:
    if kind == "pure":
        return PureMerger(vocabulary, *arguments)
    encoder = native.Encoder(lexer._machine, {}, vocabulary.blob, vocabulary.starts, vocabulary.merges, vocabulary.whole)
    return native.Merger(encoder, *arguments)


def counted(lexer: bitlex.Lexer, texts: list[Any], kind: str, threads: int = 1, blocks: int = 0) -> tuple[bytes, bytes, bytes]:
    counter = PureCounter(lexer._machine) if kind == "pure" else native.Counter(lexer._machine, bytes(range(16)))
    counter.add(texts, threads, blocks)
    return counter.finish()


def triples(made: Any) -> list[tuple[int, int, int]]:
    merges, counts = made.merges()
    flat = array("I", merges)
    assert list(flat[2::3]) == list(range(flat[2], flat[2] + len(flat) // 3)) if flat else True
    return list(zip(flat[::3], flat[1::3], array("Q", counts), strict=True))


def random_texts(seed: int, count: int) -> Iterator[str]:
    chance = random.Random(seed)
    for _ in range(count):
        letters = chance.choice(["a", "ab", "ab ", "abc ", "aé ", "the ino", "ab\u4e2d "])
        yield "".join(chance.choices(letters, k=chance.choice([0, 1, 2, 5, 30, 200, 700])))


@pytest.mark.parametrize("at", [(1 << 32) + 12345, (1 << 32) - 2_000_000], ids=["behind 4 GiB", "across 4 GiB"])
@pytest.mark.parametrize("threads", [1, 2])
def test_a_window_of_a_text_of_more_than_4_gib(at: int, threads: int, tmp_path: Path) -> None:
    """A piece that lies across a cut is counted once. Of the file, which has a hole, little is there, and little is read."""
    lexer = bitlex.lexer("gpt2")
    text = b"".join(b"the %d, inner\n" % (number % 997) for number in range(300_000))
    counter = native.Counter(lexer._machine, bytes(range(16)))
    with open(tmp_path / "long", "w+b") as file:
        file.seek(at)
        file.write(b"\n" + text)
        file.flush()
        mapped = mmap(file.fileno(), 0, access=ACCESS_READ)
    with mapped:
        reached, size = at + 1, 2_000_000
        while reached < len(mapped):
            reached = counter.add_part(mapped, threads, 0, True, reached, size)
    assert counter.finish() == counted(lexer, [text], "native")


@pytest.mark.parametrize("kind", ["native", "pure"])
@pytest.mark.parametrize("smaller_first", [False, True])
def test_definition(kind: str, smaller_first: bool) -> None:
    chance = random.Random(5)
    lexers = [bitlex.lexer("gpt2"), bitlex.compile(None), bitlex.compile(r"a+|.", behavior="removed", invert=True)]
    for text in random_texts(7 + smaller_first, 120):
        lexer = chance.choice(lexers)
        most, longest, least = chance.choice([3, 40, 1000]), chance.choice([1 << 30, 5, 3]), chance.choice([1, 2, 3])
        pieces = [piece.encode() for piece in lexer.split(text)]
        expected = learn(pieces, most, smaller_first=smaller_first, tokens=BYTES, longest=longest, least=least)
        made = merger(lexer, Vocabulary.from_merges(BYTES, []), kind, smaller_first, 256, 256 + most, longest, least)
        made.add(*counted(lexer, [text], kind))
        while made.run(chance.choice([1, 7, most]), EVERYTHING):
            pass
        assert triples(made) == expected, (text, most, longest, least)


@pytest.mark.parametrize("kind", ["native", "pure"])
def test_definition_with_long_pieces_and_large_counts(kind: str) -> None:
    """Pieces longer than what a cell says of its distance, and counts that need more than 32 bits."""
    chance = random.Random(3)
    lexer = bitlex.compile(None)
    for _ in range(4):
        words = ["".join(chance.choices("abc", k=size)).encode() for size in (5000, 2047, 2048, 2046, 40, 3, 2, 1)]
        words = list(dict.fromkeys(words))
        times = [chance.choice([1, 2, 3]) for _ in words]
        pieces = [word for word, count in zip(words, times, strict=True) for _ in range(count)]
        expected = learn(pieces, 60, smaller_first=False, tokens=BYTES)
        scale = (1 << 34) + 12345
        made = merger(lexer, Vocabulary.from_merges(BYTES, []), kind, False, 256, 316, 1 << 30, 1)
        lengths, counts = array("I", map(len, words)), array("Q", [count * scale for count in times])
        made.add(b"".join(words), lengths.tobytes(), counts.tobytes())
        made.run(60, EVERYTHING)
        assert triples(made) == [(left, right, count * scale) for left, right, count in expected]


@pytest.mark.parametrize("kind", ["native", "pure"])
def test_bytes_that_are_no_tokens_are_left_out(kind: str) -> None:
    lexer = bitlex.compile(r"[a-z]+|\s+|.")
    tokens = [b"", b"c", b"a"]
    for text in ("abcabc", "babab ca", "ac bbb b", "bacbacbac aabbcc"):
        pieces = [piece.encode() for piece in lexer.split(text)]
        made = merger(lexer, Vocabulary.from_merges(tokens, []), kind, True, 3, 9, 1 << 30, 1)
        made.add(*counted(lexer, [text], kind))
        made.run(9, EVERYTHING)
        assert triples(made) == learn(pieces, 6, smaller_first=True, tokens=tokens)


@pytest.mark.parametrize("kind", ["native", "pure"])
def test_going_on_from_merges(kind: str) -> None:
    """Training that starts with what was merged before ends as if it had never stopped."""
    lexer = bitlex.lexer("gpt2")
    for text in random_texts(11, 30):
        whole = merger(lexer, Vocabulary.from_merges(BYTES, []), kind, False, 256, 300, 1 << 30, 1)
        found = counted(lexer, [text], kind)
        whole.add(*found)
        whole.run(100, EVERYTHING)
        expected = triples(whole)
        for done in (1, 5, 20):
            tokens, merges = list(BYTES), []
            for left, right, _ in expected[:done]:
                merges.append((tokens[left], tokens[right]))
                tokens.append(tokens[left] + tokens[right])
            rest = merger(lexer, Vocabulary.from_merges(tokens, merges), kind, False, len(tokens), 300, 1 << 30, 1)
            rest.add(*found)
            rest.run(100, EVERYTHING)
            assert expected[:done] + triples(rest) == expected


@pytest.mark.parametrize("kind", ["native", "pure"])
@pytest.mark.parametrize("smaller_first", [False, True])
def test_a_token_that_merging_does_not_come_to_is_not_made_again(kind: str, smaller_first: bool) -> None:
    """Also if training begins again with some of the merges, and no two ids are the same token."""
    chance = random.Random(13)
    lexers = [bitlex.lexer("gpt2"), bitlex.compile(None)]
    for text in random_texts(17 + smaller_first, 100):
        lexer, data = chance.choice(lexers), text.encode()
        at = [chance.randrange(len(data) + 1) for _ in range(chance.choice([1, 4, 12]))]
        there = sorted({word for start in at if len(word := data[start : start + chance.choice([2, 2, 3, 4, 9])]) > 1})
        start = [*BYTES, b"", *there]
        pieces = [piece.encode() for piece in lexer.split(text)]
        expected = learn(pieces, 50, smaller_first=smaller_first, tokens=start)
        tokens, merges = list(start), list[tuple[bytes, bytes]]()
        found = counted(lexer, [text], kind)
        for done in (0, 1, 7):
            for left, right, _ in expected[len(merges) : done]:
                merges.append((tokens[left], tokens[right]))
                tokens.append(tokens[left] + tokens[right])
            made = merger(lexer, Vocabulary.from_merges(tokens, merges), kind, smaller_first, len(tokens), len(start) + 50, 1 << 30, 1)
            made.add(*found)
            while made.run(chance.choice([1, 50]), EVERYTHING):
                pass
            assert triples(made) == expected[done:], (text, there)


def test_counting() -> None:
    """Pieces of all lengths, by threads and in parts, in the order in which they were met."""
    chance = random.Random(1)
    lexers = [*map(bitlex.lexer, ("gpt2", "cl100k", "deepseek_v3")), bitlex.compile(r"[^\n]*\n|[^\n]+"), *map(lexer_of_several_stages, (False, True))]
    for lexer in lexers:
        texts: list[Any] = []
        for _ in range(40):
            letters = chance.choice(["ab \n", "abcdefghij    \n", "é中\U0001f600 a\n", "0123456789 "])
            texts.append("".join(chance.choices(letters, k=chance.choice([0, 1, 100, 3000, 60000]))))
        texts[3] = texts[3].encode()
        texts[5] = memoryview(b"\xff\xfe bytes that are \x80 no UTF-8" * 20)
        expected: Counter[bytes] = Counter()
        for text in texts:
            expected.update(lexer.split(text.encode() if isinstance(text, str) else bytes(text)))
        for threads, blocks in ((1, 0), (3, 1), (2, 0)):
            pieces, lengths, counts = counted(lexer, texts, "native", threads, blocks)
            at, found = 0, {}
            for length, count in zip(array("I", lengths), array("Q", counts), strict=True):
                found[pieces[at : at + length]] = count
                at += length
            assert list(found.items()) == list(expected.items())
        assert counted(lexer, texts, "pure") == (pieces, lengths, counts)
        assert byte_counts(pieces, lengths, counts) == Counter(
            byte for piece, count in expected.items() for byte in piece for _ in range(count)
        )


@pytest.mark.parametrize("threads", [1, 3])
def test_a_window_ends_at_the_first_cut_behind_it(threads: int) -> None:
    """Not far behind it: between two windows, what was counted may be written down."""
    text = "the cat and the dog\n" * 200_000
    counter = native.Counter(bitlex.lexer("gpt2")._machine, bytes(16))
    reached, size = 0, 400_000
    while reached < len(text):
        before, reached = reached, counter.add_part(text, threads, 0, False, reached, size)
        assert before < reached < before + size + (1 << 19)
    assert counter.finish() == counted(bitlex.lexer("gpt2"), [text], "native")


def test_counting_many_distinct_pieces() -> None:
    """More than the table in front holds, several times, and added in several calls."""
    lexer = bitlex.lexer("gpt2")
    texts = [" ".join(f"{number * 7919 % 50021:x}{'long' * (number % 9)}" for number in range(at, at + 20000)) for at in range(0, 100000, 10000)]
    expected = Counter(piece for text in texts for piece in lexer.split(text.encode()))
    counter = native.Counter(lexer._machine, b"k" * 16)
    for text in texts:
        counter.add([text], 2, 1)
    assert counter.memory() > 0
    pieces, lengths, counts = counter.finish()
    assert pieces == b"".join(expected)
    assert list(array("I", lengths)) == [len(piece) for piece in expected]
    assert list(array("Q", counts)) == list(expected.values())
    with pytest.raises(RuntimeError):
        counter.add(["no more"])


def test_any_hash_key_gives_the_same() -> None:
    lexer = bitlex.lexer("gpt2")
    text = Path(__file__).read_text(encoding="utf-8")
    found = set()
    for key in (bytes(16), bytes(range(16)), b"\xff" * 16):
        counter = native.Counter(lexer._machine, key)
        counter.add([text])
        found.add(counter.finish())
    assert len(found) == 1


@pytest.mark.parametrize("rule", ["minbpe", "rustbpe", "huggingface"])
def test_the_pure_tier(rule: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of it, without the extension: the same tokenizer."""
    text = Path(__file__).read_text(encoding="utf-8")
    expected = bitlex.train(text, 500, tie_break=rule, special_tokens=["<s>"], min_frequency=3)
    monkeypatch.setenv("BITLEX_TIER", "pure")
    found = bitlex.train(text, 500, tie_break=rule, special_tokens=["<s>"], min_frequency=3)
    assert found.lexer.tier == "pure" and found.description == expected.description
    assert bitlex.train(text, 520, extend=found).vocabulary_size == 520


@pytest.mark.filterwarnings("ignore:vocab_size is 300")
def test_numbers_beyond_those_of_the_merger() -> None:
    """They are as good as the largest."""
    text = "abab abab cd"
    expected = bitlex.train(text, 300).description
    for number in ((1 << 32) - 1, 1 << 32, (1 << 32) + 1, 1 << 64):
        assert bitlex.train(text, 300, max_token_length=number, memory="9" * 400).description == expected
    for number in ((1 << 64) - 1, 1 << 64, (1 << 64) + 1):
        assert bitlex.train(text, 300, min_frequency=number).vocabulary_size == 256


@pytest.mark.filterwarnings("ignore:vocab_size is 1,")
@pytest.mark.parametrize("tier", ["", "pure"])
def test_no_id_at_all(tier: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if tier:
        monkeypatch.setenv("BITLEX_TIER", tier)
    for size in (0, 1):
        assert bitlex.train("", size, tie_break="huggingface", initial_alphabet=b"").vocabulary_size == 0
        assert bitlex.train("ab", size, tie_break="huggingface", limit_alphabet=0).vocabulary_size == 0


def test_tokens_of_more_bytes_than_a_vocabulary_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each may have twice those of the one before."""
    monkeypatch.setattr(growing, "MOST_BYTES", 300)
    kept = tmp_path / "kept"
    with pytest.raises(bitlex.VocabularyError) as caught:
        bitlex.train("a" * 64, 261, pattern="", checkpoint=kept)
    long = "the 261 tokens that were learned have 318 bytes, more than 300; give a max_token_length, or a min_frequency of 2 or more"
    assert str(caught.value) == f"{long}, or go on with a smaller vocab_size from {kept}, which has what was counted"
    assert bitlex.train("", 260, pattern="", checkpoint=kept, resume=True).token_bytes(259) == b"a" * 16
    assert bitlex.train("a" * 64, 259, pattern="", max_token_length=8).vocabulary_size == 259


def test_a_long_token_is_spelled_in_time() -> None:
    """Which is done for each report of progress."""
    start = Vocabulary.from_merges([b"a"], [])
    doubled = array("I", [number for at in range(18) for number in (at, at, at + 1)]).tobytes()
    begun = time.process_time()
    assert spelled(start, doubled, 18) == b"a" * (1 << 18)
    assert time.process_time() - begun < 1


def test_wrong_arguments() -> None:
    lexer = bitlex.lexer("gpt2")
    with pytest.raises(TypeError, match=r"texts\[1\]"):
        native.Counter(lexer._machine, bytes(16)).add(["a", 1])
    with pytest.raises(ValueError, match="threads"):
        native.Counter(lexer._machine, bytes(16)).add(["a"], 0)
    with pytest.raises(ValueError, match="16 bytes"):
        native.Counter(lexer._machine, b"short")
    made = merger(lexer, Vocabulary.from_merges(BYTES, []), "native", False, 256, 300, 9, 1)
    with pytest.raises(ValueError, match="lengths"):
        made.add(b"abc", array("I", [2]).tobytes(), array("Q", [1]).tobytes())
    with pytest.raises(ValueError, match="first_id"):
        merger(lexer, Vocabulary.from_merges(BYTES, []), "native", False, 255, 300, 9, 1)


def test_what_a_merger_refuses() -> None:
    """Numbers that do not fit each other, with which it would read beyond what it was given; and memory that it cannot have the pieces in."""
    lexer, start = bitlex.lexer("gpt2"), Vocabulary.from_merges(BYTES, [])
    one, two = array("I", [2]).tobytes(), array("Q", [1, 1]).tobytes()
    made = merger(lexer, start, "native", False, 256, 300, 9, 1)
    for pieces, lengths, counts in ((b"a", one, two[:8]), (b"abc", one, two[:8]), (b"ab", one, b""), (b"ab", one, two), (b"ab", b"", b"")):
        with pytest.raises(ValueError, match="the lengths do not fit the pieces, or there are not as many counts"):
            made.add(pieces, lengths, counts)
    needed = made.needs(2, 7)
    memory = bytearray(needed + 4)
    with pytest.raises(ValueError, match="not aligned"):
        made.lend(memoryview(memory)[1:])
    made.lend(memory)
    memory[:] = bytes(needed + 4)  # which is there as long as it is lent
    with pytest.raises(BufferError):
        memory.clear()
    with pytest.raises(ValueError, match="other memory"):
        made.lend(bytearray(needed))
    made.add(b"abcabde", array("I", [3, 4]).tobytes(), two)
    assert made.run(1, EVERYTHING) and triples(made) == [(97, 98, 2)]
    assert made.merges(1) == made.merges(9) == (b"", b"")
    other = merger(lexer, start, "native", False, 256, 300, 9, 1)
    other.add(b"ab", one, two[:8])
    with pytest.raises(ValueError, match="there are pieces"):
        other.lend(bytearray(needed))
    less = merger(lexer, start, "native", False, 256, 300, 9, 1)
    less.lend(bytearray(needed - 4))
    with pytest.raises(MemoryError):
        less.add(b"abcabde", array("I", [3, 4]).tobytes(), two)
    with pytest.raises(RuntimeError, match="had no memory"):  # a part of the pieces is there
        less.run(1, EVERYTHING)


def test_what_collecting_garbage_asks_a_counter_for(tmp_path: Path) -> None:
    """Up to Python 3.11, making a list may run the `__del__` of any object: one that asks what the list is for must not wait for it."""

    class Asking:
        def __init__(self) -> None:
            self.itself = self

        def __del__(self) -> None:
            asked.append(counter.ends)

    asked: list[list[int]] = []
    found: list[list[int]] = []
    with open(tmp_path / "runs", "wb") as file:
        counter = native.Counter(bitlex.lexer("gpt2")._machine, bytes(16), 0, file.fileno())
        counter.add(["the cat"])
        counter.spill(False)
        usual, others = gc.get_threshold(), tuple([0] for _ in range(100))  # or an old list would be taken
        try:
            for threshold in range(1, 60):  # some of these are reached as the list is made
                gc.collect(0)
                gc.set_threshold(threshold)
                Asking()
                found.append(counter.ends)
        finally:
            gc.set_threshold(*usual)
    gc.collect()
    assert others and asked == found == [[(tmp_path / "runs").stat().st_size]] * 59


@pytest.mark.parametrize("kind", ["native", "pure"])
def test_merging_stops_now_and_then(kind: str) -> None:
    """For checkpoints and what is told of progress, after about as much work as is said: natively, of some millions of places."""
    text = "".join(random.Random(1).choices("abc", k=700 if kind == "pure" else 1_200_000))
    made = merger(bitlex.lexer("gpt2"), Vocabulary.from_merges(BYTES, []), kind, False, 256, 356, 1 << 30, 1)
    made.add(text.encode(), array("I", [len(text)]).tobytes(), array("Q", [1]).tobytes())
    assert made.run(100, 1) and len(triples(made)) < 50
    assert not made.run(100, EVERYTHING) and len(triples(made)) == 100


def test_places_of_a_round_are_let_go_with_it() -> None:
    """Else the memory of all rounds would add up. In the first one here all places are of frequent pairs; few are left for the last one."""
    text = "".join(random.Random(1).choices("abc", k=600_000))
    made = merger(bitlex.lexer("gpt2"), Vocabulary.from_merges(BYTES, []), "native", False, 256, 300, 2, 1)
    made.add(text.encode() + b"xy", array("I", [len(text), 2]).tobytes(), array("Q", [1, 1]).tobytes())
    taken = []
    while made.run(1, EVERYTHING):
        taken.append(made.memory())
    assert triples(made)[-1] == (120, 121, 1) and taken[-1] < max(taken) - len(text)
