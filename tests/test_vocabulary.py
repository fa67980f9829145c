"""The data model: what a vocabulary holds, and that what is no vocabulary is refused by name."""

from __future__ import annotations

import pickle
import sys
from array import array
from collections.abc import Callable

import pytest

from bitlex.vocabulary import MOST_IDS, Description, Vocabulary, VocabularyError, buffers

BYTES = [bytes([byte]) for byte in range(256)]


def test_ranks() -> None:
    made = Vocabulary.from_ranks({b"a": 0, b"b": 1, b"ab": 3})
    assert len(made) == 4
    assert made.tokens() == [b"a", b"b", b"", b"ab"]
    assert made.blob == b"abab" and made.merges is None and made.whole
    assert array("I", made.starts).tolist() == [0, 1, 2, 2, 4]
    assert dict(made.ids) == {b"a": 0, b"b": 1, b"ab": 3}
    assert [made.token_bytes(number) for number in range(4)] == made.tokens()
    assert made.joined(0, 1) == (3, 3) and made.joined(1, 0) is None
    made.check()


def test_ranks_in_order() -> None:
    assert Vocabulary.from_ranks([b"a", b"b", b"", b"ab"]) == Vocabulary.from_ranks({b"ab": 3, b"a": 0, b"b": 1})


def test_merges() -> None:
    made = Vocabulary.from_merges([b"a", b"b", b"ab", b"ba"], [(b"b", b"a"), (b"a", b"b")])
    assert made.merges is not None and array("I", made.merges).tolist() == [1, 0, 3, 0, 1, 2]
    assert made.joined(0, 1) == (1, 2) and made.joined(1, 0) == (0, 3) and made.joined(2, 0) is None
    assert not made.whole
    made.check()


def test_buffers_alone_are_enough() -> None:
    made = Vocabulary.from_merges([b"a", b"b", b"ab"], [(b"a", b"b")], whole=True)
    again = Vocabulary(made.blob, made.starts, made.merges, made.whole)
    again.check()
    assert again == made and dict(again.ids) == dict(made.ids) and dict(again.pairs) == {(0, 1): (0, 2)}


def test_it_never_changes_and_can_be_pickled() -> None:
    made = Vocabulary.from_ranks({b"a": 0})
    with pytest.raises(AttributeError):
        made.whole = False  # type: ignore[misc]
    bare = pickle.dumps(made)
    assert made.ids and pickle.loads(pickle.dumps(made)) == made
    assert len(pickle.dumps(made)) == len(bare)  # without the dict of ids


def test_how_it_is_shown() -> None:
    assert repr(Vocabulary.from_ranks(BYTES)) == "<bitlex.Vocabulary: 256 ids, merging by rank, whole pieces first>"
    assert repr(Vocabulary.from_merges([b"a", b"b", b"ab"], [(b"a", b"b")])) == "<bitlex.Vocabulary: 3 ids, 1 merges>"


def test_an_empty_vocabulary() -> None:
    made = Vocabulary.from_ranks({})
    made.check()
    assert len(made) == 0 and made.tokens() == [] and made.blob == b""


TRIPLE = array("I", [0, 1, 2]).tobytes()
THREE = [b"a", b"b", b"ab"]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Vocabulary.from_ranks({b"a": 0, b"b": 0}), "tokens b'a' and b'b' have the same id, 0"),
        (lambda: Vocabulary.from_ranks({b"a": 0, b"": 1}), "token 1 is empty"),
        (lambda: Vocabulary.from_ranks({b"a": -1}), "token b'a' has the id -1"),
        (lambda: Vocabulary.from_ranks({b"a": 0, b"ab": 1}), "token 1, b'ab': its byte 0x62 is no token by itself"),
        (lambda: Vocabulary.from_ranks([b"a", b"b", b"a"]), "ids 0 and 2 are the same token, b'a'"),
        (lambda: Vocabulary.from_ranks({b"a": MOST_IDS}), "2,097,153 ids are more than the 2,097,152"),
        (lambda: Vocabulary.from_merges(THREE, [(b"a", b"c")]), "merge 0, b'a' and b'c': b'c' is no token"),
        (lambda: Vocabulary.from_merges(THREE, [(b"a", b"b"), (b"b", b"a")]), "merge 1, b'b' and b'a': b'ba' is no token"),
        (lambda: Vocabulary.from_merges(THREE, [(b"a", b"b"), (b"a", b"b")]), "merges 0 and 1 are the same, b'a' and b'b'"),
        (lambda: Vocabulary.from_merges([b"a", b"a"], []), "ids 0 and 1 are the same token, b'a'"),
        (lambda: Vocabulary(b"a", b"\0\0\0", None, True).check(), "starts has 3 bytes"),
        (lambda: Vocabulary(b"ab", array("I", [0, 2, 1]).tobytes(), None, True).check(), "starts does not rise from 0 to 2"),
        (lambda: Vocabulary(b"ab", array("I", [0, 1]).tobytes(), None, True).check(), "starts does not rise from 0 to 2"),
        (lambda: Vocabulary(*buffers([b"a", b"a"]), None, True).check(), "ids 0 and 1 are the same token, b'a'"),
        (lambda: Vocabulary(*buffers(THREE), TRIPLE[:-1], True).check(), "merges has 11 bytes"),
        (lambda: Vocabulary(*buffers(THREE), array("I", [0, 9, 2]).tobytes(), True).check(), "merge 0, (0, 9, 2): 9 is no token"),
        (lambda: Vocabulary(*buffers(THREE), array("I", [1, 0, 2]).tobytes(), True).check(), "merge 0: b'b' and b'a' do not make b'ab'"),
        (lambda: Vocabulary(*buffers([b"a", b"", b"ab"]), TRIPLE, True).check(), "merge 0, (0, 1, 2): 1 is no token"),
        (lambda: Vocabulary(*buffers(THREE), TRIPLE * 2, True).check(), "merges 0 and 1 are the same"),
        (lambda: Vocabulary(*buffers([b"ab"]), None, True).check(), "token 0, b'ab': its byte 0x61 is no token by itself"),
        (lambda: Vocabulary.from_ranks({b"a": 0}).token_bytes(1), "id 1 is not below 1"),
        (lambda: Vocabulary.from_ranks({b"a": 0}).token_bytes(-1), "id -1 is not below 1"),
    ],
)  # fmt: skip
def test_what_is_no_vocabulary_is_refused_by_name(make: Callable[[], object], message: str) -> None:
    with pytest.raises(VocabularyError) as caught:
        make()
    assert message in str(caught.value)


def test_too_many_merges(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bitlex.vocabulary.MOST_MERGES", 1)
    with pytest.raises(VocabularyError, match="2 merges are more than the 1"):
        Vocabulary.from_merges([b"a", b"b", b"ab", b"ba"], [(b"b", b"a"), (b"a", b"b")])


def test_description() -> None:
    made = Description(
        vocabulary=Vocabulary.from_ranks(BYTES), pre_tokenizer=None, dialect="fancy", unicode="16.0", family=None, added=(),
        decoded={}, convention="huggingface", name="x", format="huggingface", digest="",
        single=((1, 0), (2, 0), ("A", 0), (3, 0)), pair=(("A", 0), ("B", 1)),
    )  # fmt: skip
    assert made.prefix == (1, 2) and made.suffix == (3,)
    assert repr(made) == "<bitlex.Description x: huggingface, 256 ids, 0 added tokens>"
    assert made.lexer().split("two words") == ["two words"]
    assert pickle.loads(pickle.dumps(made)) == made


def test_a_family_comes_before_the_pre_tokenizer() -> None:
    made = Description(
        vocabulary=Vocabulary.from_ranks(BYTES), pre_tokenizer=None, dialect="fancy", unicode="16.0", family="cl100k", added=(),
        decoded={}, convention="tiktoken", name="x", format="tiktoken", digest="",
    )  # fmt: skip
    assert made.prefix == made.suffix == ()
    assert made.lexer().split("two words") == ["two", " words"]


def test_ids_are_uint32_in_this_machine() -> None:
    assert array("I").itemsize == 4 and sys.byteorder in ("little", "big")
