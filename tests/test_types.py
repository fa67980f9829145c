"""What type checkers see of calls whose results depend on an argument: `make check` reads the assertions, and they run."""

from __future__ import annotations

from pathlib import Path
from typing import Any, assert_type

import numpy as np
import numpy.typing as npt
import pytest

import bitlex
from bitlex.streams import PieceStream, SpanStream
from bitlex.vocabularies.writing import ranks


def test_arrays_are_of_the_type_that_was_asked_for() -> None:
    tokenizer = bitlex.train("aaabdaaabac", 258)
    assert_type(tokenizer.encode_to_numpy("aaa"), npt.NDArray[np.uint32])
    assert assert_type(tokenizer.encode_to_numpy("aaa", dtype=np.int64), npt.NDArray[np.int64]).dtype == np.int64
    assert_type(tokenizer.encode_to_numpy("aaa", dtype=np.dtype(np.uint16)), npt.NDArray[np.uint16])
    assert_type(tokenizer.encode_to_numpy("aaa", dtype="u2"), npt.NDArray[np.integer[Any]])


def test_streams_give_what_their_result_says() -> None:
    tokenizer = bitlex.train("aaabdaaabac", 258)
    lists = tokenizer.stream()
    assert_type(lists.feed("aaa"), list[int])
    assert_type(lists.copy().finish(), list[int])
    for part in tokenizer.stream(result="list").iterate(["aaa"]):
        assert_type(part, list[int])
    assert_type(tokenizer.stream(result="numpy").finish(), npt.NDArray[np.uint32])
    ids, places = tokenizer.stream(result="offsets").feed(b"aaa")
    assert_type(ids, npt.NDArray[np.uint32])
    assert_type(places, npt.NDArray[np.int64])


def test_none_is_what_is_not_said() -> None:
    assert bitlex.compile("a|.", dialect=None, behavior=None, invert=None, limits=None).split("ab") == ["a", "b"]
    digits = {"type": "Digits", "individual_digits": True}
    lexer = bitlex.compile(digits, dialect=None, behavior=None, invert=None)
    assert_type(lexer.stream(into=None), PieceStream)
    assert_type(lexer.stream(spans=True, into=None), SpanStream)
    for spans in (False, True):
        stream: PieceStream | SpanStream = lexer.stream(spans=spans)
        assert len(stream.feed("12")) == 1
    tokenizer = bitlex.train("aaabdaaabac", 258)
    assert_type(tokenizer.stream(result=None, into=None).feed("a"), list[int])
    assert_type(tokenizer.stream(result="numpy", into=None).feed("a"), npt.NDArray[np.uint32])
    assert_type(tokenizer.stream(result=None, into=np.zeros(4, np.uint32)).feed("a"), int)


def test_a_class_made_of_tokenizer_is_what_its_methods_make(tmp_path: Path) -> None:
    class Named(bitlex.Tokenizer):
        __slots__ = ()

        def title(self) -> str:
            return self.name.title()

    trained = bitlex.train("aaabdaaabac", 258, name="small")
    trained.save(tmp_path / "small.bitlex")
    saved = assert_type(Named.from_file(tmp_path / "small.bitlex"), Named)
    assert saved.title() == "Small" and saved.encode("aaab") == trained.encode("aaab")
    assert assert_type(saved.with_added_tokens((), {}), Named).title() == "Small"
    (tmp_path / "small.tiktoken").write_bytes(ranks(trained.description))
    assert Named.from_file(tmp_path / "small.tiktoken", family="gpt2", special={}, name="other").title() == "Other"


def test_options_are_those_of_load(tmp_path: Path) -> None:
    (tmp_path / "a.tiktoken").write_text("IQ== 0\n")
    with pytest.raises(TypeError, match="famly"):
        bitlex.Tokenizer.from_file(tmp_path / "a.tiktoken", famly="gpt2")  # type: ignore[call-arg]
