"""Streams on long hard texts (hard_strings.py), with parts, copies and resets as Hypothesis chooses them: of pieces, of tokens, of decoding.

What comes out of the parts is what the whole text gives; a copy that is fed other text changes nothing; a stream that was reset is as new;
and the pure stream gives for each part what the native one gives.
"""

from __future__ import annotations

import json
import random
import unicodedata
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import bitlex
from bitlex import Tokenizer
from bitlex.lexers import Lexer
from bitlex.pure_stream import unfinished
from hard_strings import HardStrings
from small_tokenizers import RANKS, rank_file
from streaming import parts_between
from tokenizing import added, tokenizer_json

SPECIALS = {"<|end|>": 300, "<|go|>": 301, "<|end|>>": 302}
COMMON = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


@st.composite
def texts(draw: Any, *, surrogates: bool = False) -> str | bytes:
    """A str, or bytes with a few that are wrong."""
    source = random.Random(draw(st.integers(0, 1 << 32)))
    hard = HardStrings(list(RANKS), [*SPECIALS, "<s>"], surrogates=surrogates)
    text = "".join(hard.make(source)[1] for _ in range(draw(st.integers(1, 3))))
    if draw(st.booleans()):
        return text
    data = bytearray(text.encode("utf-8", "replace"))
    for at in draw(st.lists(st.integers(0, max(0, len(data) - 1)), max_size=3)):
        if data:
            data[at] = draw(st.sampled_from([0x80, 0xBF, 0xC3, 0xE4, 0xED, 0xF0, 0xF4, 0xFF]))
    return bytes(data)


@st.composite
def cases(draw: Any, *, surrogates: bool = False) -> tuple[Any, list[Any], list[str]]:
    """A text, its parts, and what is done besides before each of them."""
    text = draw(texts(surrogates=surrogates))
    cuts = sorted(draw(st.lists(st.integers(0, len(text)), max_size=12)))
    parts = parts_between(text, cuts)
    return text, parts, draw(st.lists(st.sampled_from(["nothing", "copy", "go on with the copy"]), min_size=len(parts), max_size=len(parts)))


def flat(found: list[Any]) -> list[Any]:
    """What all calls gave, as one list."""
    if found and isinstance(found[0], tuple):
        return [numpy.concatenate([one[at] for one in found]).tolist() for at in (0, 1)]
    return [one for part in found for one in (part if isinstance(part, list) else part.reshape(-1).tolist())]


def fed(stream: Any, parts: list[Any], besides: list[str], other: Any) -> list[Any]:
    """What a stream gives that was reset in the middle of another text, with copies that see other text."""
    stream.feed(other)
    stream.reset()
    found = []
    for part, what in zip(parts, besides, strict=True):
        if what != "nothing":
            twin = stream.copy()
            if what == "copy":
                twin.feed(other)
                twin.finish()
            else:
                stream.feed(other)
                stream = twin
        found.append(stream.feed(part))
    return flat([*found, stream.finish()])


@COMMON
@given(case=cases(), name=st.sampled_from(["cl100k", "o200k", "clip", "falcon", "tiny_aya", "deepseek_llm"]))
def test_pieces(case: tuple[Any, list[Any], list[str]], name: str, tier: str) -> None:
    text, parts, besides = case
    lexer: Lexer = bitlex.lexer(name)
    if lexer.bytewise and isinstance(text, str):
        text, parts = text.encode(), [part.encode() for part in parts]
    other = text[: len(text) // 2] + text[:3]
    assert fed(lexer.stream(), parts, besides, other) == lexer.split(text)
    assert fed(lexer.stream(spans=True), parts, besides, other) == lexer.spans(text).reshape(-1).tolist()


@cache
def tokenizers(folder: Path, tier: str) -> list[Tokenizer]:
    """As they are, in NFC, and with tokens that take text around them; of a tier that the environment has chosen."""
    found = [Tokenizer.from_file(rank_file(folder), family=family, special=SPECIALS) for family in ("cl100k", "tiny_aya")]
    tokens = [added(260, "<|end|>", special=True, rstrip=True), added(261, "<|go|>", lstrip=True), added(262, "<s>", single_word=True, normalized=True)]
    merges = [["h", "e"], ["l", "l"], ["he", "ll"], ["hell", "o"]]
    for normalizer in (None, {"type": "NFC"}):
        path = folder / "tokenizer.json"
        path.write_text(json.dumps(tokenizer_json(tuple(map("".join, merges)), merges, added_tokens=tokens if normalizer is None else tokens[:0], normalizer=normalizer)))
        found.append(Tokenizer.from_file(path))
    return found


@COMMON
@given(case=cases(surrogates=True), which=st.integers(0, 3), result=st.sampled_from(["list", "numpy", "offsets"]))
def test_tokens(case: tuple[Any, list[Any], list[str]], which: int, result: Any, tier: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    text, parts, besides = case
    tokenizer = tokenizers(tmp_path_factory.getbasetemp(), tier)[which]
    ids, places = tokenizer.encode_with_offsets(text, allowed_special="all")
    found = fed(tokenizer.stream(result=result, allowed_special="all"), parts, besides, text[: len(text) // 2] + text[:3])
    assert found == ([ids.tolist(), places.tolist()] if result == "offsets" else ids.tolist())
    if isinstance(text, bytes):
        assert b"".join(text[start:end] for start, end in places.tolist()) == text


def native_and_pure(which: int, folder: Path) -> list[Tokenizer]:
    with pytest.MonkeyPatch.context() as patch:
        native = tokenizers(folder, "native")[which]
        patch.setenv("BITLEX_TIER", "pure")
        return [native, tokenizers(folder, "pure")[which]]


def same_of_each_part(both: list[Tokenizer], parts: list[Any]) -> None:
    streams = [one.stream(result="offsets", allowed_special="all") for one in both]
    for part in [*parts, None]:
        a, b = (stream.finish() if part is None else stream.feed(part) for stream in streams)
        assert (a[0].tolist(), a[1].tolist()) == (b[0].tolist(), b[1].tolist()), (part, parts)


@COMMON
@given(case=cases(surrogates=True), which=st.integers(0, 3))
def test_native_and_pure_give_the_same_for_each_part(
    case: tuple[Any, list[Any], list[str]], which: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    same_of_each_part(native_and_pure(which, tmp_path_factory.getbasetemp()), case[1])


LEADS = [0x41, 0x80, 0xC1, 0xC3, 0xE0, 0xE1, 0xED, 0xEE, 0xEF, 0xF0, 0xF1, 0xF4, 0xF5]
FOLLOWING = [0x41, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xE4]
TAILS = [bytes((lead, *behind)) for lead in LEADS for size in range(4) for behind in product(FOLLOWING, repeat=size)]


@pytest.mark.parametrize("which", range(4))
def test_native_and_pure_wait_for_the_same_bytes(which: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Behind a character that nothing is put to, and one with a mark, which NFC makes one of: what is no beginning of a character settles it."""
    both = native_and_pure(which, tmp_path_factory.getbasetemp())
    for number, tail in enumerate(TAILS):
        same_of_each_part(both, [("b e\u0301", "b \u0915", "\ufffd")[number % 3].encode() + tail, tail[-1:] + b"\xcc\x81", b" x"])


def test_native_and_pure_cut_before_the_same_characters(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Whether "ab" is settled says whether what is behind the line feed was cut off: of what NFC knows, and of some more."""
    native, pure = (one.stream(result="numpy") for one in native_and_pure(3, tmp_path_factory.getbasetemp()))
    for point in range(0x80, 0x30000):
        one = chr(point)
        known = unicodedata.combining(one) or unicodedata.decomposition(one) or 0x1100 <= point < 0x1200
        if (known or point % 97 == 0) and not 0xD800 <= point < 0xE000:
            assert native.feed("ab\n" + one).tolist() == pure.feed("ab\n" + one).tolist(), hex(point)
            assert native.finish().tolist() == pure.finish().tolist(), hex(point)


def test_what_begins_a_character() -> None:
    """By definition: with some bytes behind them they are one."""
    begun = {one[:size] for one in (chr(point).encode() for point in range(0x80, 0x110000, 64) if not 0xD800 <= point < 0xE000) for size in range(1, len(one))}
    for tail in [b"", *TAILS]:
        assert unfinished(tail) == max((size for size in range(1, len(tail) + 1) if tail[-size:] in begun), default=0), tail


@COMMON
@given(
    ids=st.lists(st.sampled_from([*range(0x70, 0x100), *RANKS.values(), *SPECIALS.values()]), max_size=60), errors=st.sampled_from(["replace", "ignore", "backslashreplace"]),
    cuts=st.lists(st.integers(0, 60), max_size=8), skips=st.booleans(),
)  # fmt: skip
def test_decoding(ids: list[int], errors: str, cuts: list[int], skips: bool, tmp_path_factory: pytest.TempPathFactory) -> None:
    tokenizer = tokenizers(tmp_path_factory.getbasetemp(), "native")[0]
    stream = tokenizer.decode_stream(errors=errors, skip_special_tokens=skips)
    stream.feed([0xF0, 0x9F])
    stream.reset()
    places = sorted({min(cut, len(ids)) for cut in cuts})
    found = ""
    for part in parts_between(ids, places):
        twin = stream.copy()
        twin.feed([0xE4, 0xB8])
        twin.finish()
        found += stream.feed(part)
    assert found + stream.finish() == tokenizer.decode(ids, errors=errors, skip_special_tokens=skips)
