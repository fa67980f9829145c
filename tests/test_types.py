"""What type checkers see of calls whose results depend on an argument: `make check` reads the assertions, and they run."""

from __future__ import annotations

from typing import Any, assert_type

import numpy as np
import numpy.typing as npt

import bitlex


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
