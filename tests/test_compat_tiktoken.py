"""bitlex.compat.tiktoken against tiktoken itself: every method, on a small vocabulary always, and on the published ones where they are."""

from __future__ import annotations

import copy
import hashlib
import inspect
import json
import os
import pickle
import sys
import threading
from base64 import b64encode
from collections.abc import Iterator
from http.client import IncompleteRead
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import hypothesis.strategies as st
import numpy as np
import pytest
import tiktoken
import tiktoken.load
import tiktoken.model
import tiktoken_ext.openai_public
from hypothesis import given, settings

from bitlex import Tokenizer, VocabularyError, cli
from bitlex.compat import rank_files
from bitlex.compat import tiktoken as ours
from bitlex.compat.openai import FILES, MODELS, PREFIXES, URL
from bitlex.vocabularies import read
from bitlex.vocabularies.byte_alphabet import ALPHABET

PATTERN = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"
LONGER = [
    "he", "ll", "hell", "hello", " w", "or", " wor", "ld", " world", "  ", "   ", "\n\n", "\n ", "é", "中", "中文", "👍", "ab", "abc", "bcd", "fan",
    "tas", "fantas", "fantasy", "<|", "|>", "end", " h", " hell", "!", "?!", "\t\t", "\u3000", "aa", "aaaa",
]  # fmt: skip
RANKS = {
    token: rank
    for rank, token in enumerate(
        dict.fromkeys([*(bytes([byte]) for byte in range(256)), *(text.encode() for text in LONGER), b"\xe4\xb8", b" \xf0\x9f"])
    )
}
SPECIAL = {"<|endoftext|>": 1000, "<|a|>": 1001, "<|中|>": 1002, "\ufffd!": 1003}
MADE: dict[str, Any] = {"pat_str": PATTERN, "mergeable_ranks": RANKS, "special_tokens": SPECIAL}
THEIRS, OURS = tiktoken.Encoding("small", **MADE), ours.Encoding("small", **MADE)

PARTS = [*LONGER, *SPECIAL, "\ud83d", "\udc4d", " ", "\n", "\r", "a", "b", "'s", "1", "\x85", "\u2028", "e\u0301", "<|b|>", "|>"]
TEXTS = st.lists(st.sampled_from(PARTS) | st.text(max_size=3), max_size=12).map("".join)
R50K = "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930"
SETS = st.sets(st.sampled_from([*SPECIAL, "<|b|>", "h"]))
ALLOWED = st.just("all") | SETS | SETS.map(frozenset)
DISALLOWED = st.just("all") | SETS | SETS.map(list) | SETS.map(tuple) | st.sampled_from(["", "ab"])


def outcome(encoding: Any, method: str, *arguments: Any, **options: Any) -> tuple[str, Any]:
    """What came out, in a form that can be compared, or the type of the exception."""
    try:
        found = getattr(encoding, method)(*arguments, **options)
    except Exception as error:
        return type(error).__name__, None
    if isinstance(found, np.ndarray):
        return str(found.dtype), found.tolist()
    if method == "encode_with_unstable":
        assert all(type(one) is list for one in found[1]) and len(found[1]) == len(set(map(tuple, found[1])))
        return "unstable", (found[0], sorted(found[1]))
    return type(found).__name__, found


def alike(method: str, *arguments: Any, pair: tuple[Any, Any] = (OURS, THEIRS), **options: Any) -> None:
    assert outcome(pair[0], method, *arguments, **options) == outcome(pair[1], method, *arguments, **options)


# --- texts ----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["encode", "encode_to_numpy", "encode_with_unstable"])
@given(text=TEXTS, allowed=ALLOWED, disallowed=DISALLOWED)
@settings(deadline=None, max_examples=300)
def test_special_tokens(method: str, text: str, allowed: Any, disallowed: Any) -> None:
    alike(method, text, allowed_special=allowed, disallowed_special=disallowed)
    alike(method, text)


@given(text=TEXTS)
@settings(deadline=None, max_examples=300)
def test_no_special_tokens(text: str) -> None:
    alike("encode_ordinary", text)
    alike("encode_with_unstable", text, disallowed_special=())


@given(texts=st.lists(TEXTS, max_size=5), allowed=ALLOWED, disallowed=DISALLOWED, threads=st.integers(-1, 9))
@settings(deadline=None, max_examples=100)
def test_batches(texts: list[str], allowed: Any, disallowed: Any, threads: int) -> None:
    alike("encode_batch", texts, num_threads=threads, allowed_special=allowed, disallowed_special=disallowed)
    alike("encode_ordinary_batch", texts, num_threads=threads)


@pytest.mark.parametrize("text", [b"ab", None, 5, ["ab"], bytearray(b"ab"), "", "ab"])
@pytest.mark.parametrize("method", ["encode", "encode_ordinary", "encode_to_numpy", "encode_with_unstable"])
def test_what_is_no_text(method: str, text: Any) -> None:
    alike(method, text)


@pytest.mark.parametrize("texts", [[b"ab"], [None], "ab", (), iter(["ab"]), ["ab", 5], None])
def test_what_is_no_list_of_texts(texts: Any) -> None:
    if isinstance(texts, Iterator):
        assert OURS.encode_batch(texts) == THEIRS.encode_batch(["ab"])  # type: ignore[arg-type]
        return
    alike("encode_batch", texts)
    alike("encode_ordinary_batch", texts)


@pytest.mark.parametrize("allowed", [(), [], ("<|a|>",), ["<|a|>"], "<|a|>", {}.keys(), SPECIAL.keys(), 5, None, {5}])
@pytest.mark.parametrize("disallowed", ["all", (), None, 5, ["x", 5]])
def test_other_kinds_of_choices(allowed: Any, disallowed: Any) -> None:
    text = "ab"  # of two mistakes at once, the one that tiktoken names first may be the other one
    for method in ("encode", "encode_to_numpy", "encode_with_unstable"):
        alike(method, text, allowed_special=allowed, disallowed_special=disallowed)
    alike("encode_batch", [text], allowed_special=allowed, disallowed_special=disallowed)


@pytest.mark.parametrize("allowed", [{"<|a|>", "\ud800"}, {"\ud83d\udc4d"}, frozenset({"\udfff"}), {5}, {"<|a|>", b"a"}])
def test_allowed_tokens_that_are_no_text(allowed: Any) -> None:
    for text in ("ab", "<|a|>", "<|endoftext|>"):  # a disallowed token in the text comes first
        for method in ("encode", "encode_to_numpy", "encode_with_unstable"):
            alike(method, text, allowed_special=allowed)
            alike(method, text, allowed_special=allowed, disallowed_special=())
        alike("encode_batch", ["ab", text], allowed_special=allowed)
    alike("encode_batch", [], allowed_special=allowed)


@pytest.mark.parametrize("threads", [2.0, 0.5, np.float64(2.5), np.int64(2), True, None, float("inf"), 1 << 70, 0.0, -0.5, "2", []], ids=repr)
def test_numbers_of_threads(threads: Any) -> None:
    for method, batch in (("encode_batch", ["a"]), ("encode_ordinary_batch", ["a"]), ("decode_batch", [[1]]), ("decode_bytes_batch", [[1]])):
        alike(method, batch, num_threads=threads)
        alike(method, [], num_threads=threads)
    choices: list[Any] = [None, 5, [], "ab"]
    for disallowed in choices:
        alike("encode_batch", ["ab"], disallowed_special=disallowed)


def test_none_and_iterators_are_choices_too() -> None:
    for text in ("ab", "a<|a|>"):
        for method in ("encode", "encode_to_numpy"):
            alike(method, text, disallowed_special=None)
            outcomes = [outcome(one, method, text, disallowed_special=iter(["<|a|>"])) for one in (OURS, THEIRS)]
            assert outcomes[0] == outcomes[1]
    alike("encode_batch", ["ab"] * 3, num_threads=None)


def test_the_error_says_which_token() -> None:
    with pytest.raises(ValueError, match=r"'<\|a\|>', a disallowed special token.*allowed_special=.*disallowed_special=\(\)"):
        OURS.encode("x <|a|> <|endoftext|>")
    with pytest.raises(ValueError, match=r"'<\|b\|>'"):
        OURS.encode("x <|b|>", disallowed_special=["<|b|>"])


@pytest.mark.parametrize(
    "token", ["hello", b"hello", "<|a|>", b"<|a|>", "<|b|>", b"\xff\xfe", b"\xff", "", "\ud800", 5, None, "中", bytearray(b"he")]
)
def test_single_tokens(token: Any) -> None:
    alike("encode_single_token", token)


@given(data=st.binary(max_size=12) | TEXTS.map(lambda text: text.encode("utf-8", "replace")[:-1]))
@settings(deadline=None, max_examples=300)
def test_bytes_that_are_not_utf_8(data: bytes) -> None:
    alike("_encode_bytes", data)
    alike("_encode_single_piece", data or b"a")


@pytest.mark.parametrize("data", ["hello", None, bytearray(b"he"), memoryview(b"he"), (104,), [104], 5, b"he", np.array([104], "uint8")])
def test_what_are_no_bytes(data: Any) -> None:
    alike("_encode_bytes", data)
    alike("_encode_single_piece", data)


# --- ids ------------------------------------------------------------------------------------------------------------------------

IDS = st.lists(st.sampled_from([*RANKS.values(), *SPECIAL.values()]), max_size=12)


@given(ids=IDS, errors=st.sampled_from(["replace", "strict", "ignore", "backslashreplace", "nonsense"]))
@settings(deadline=None, max_examples=300)
def test_decoding(ids: list[int], errors: str) -> None:
    for method in ("decode", "decode_bytes", "decode_tokens_bytes", "decode_with_offsets"):
        alike(method, ids)
    assert outcome(OURS, "decode_with_offsets", iter(ids)) == outcome(THEIRS, "decode_with_offsets", iter(ids))
    alike("decode", ids, errors)
    alike("decode_batch", [ids, ids[:2]], errors=errors)
    alike("decode_bytes_batch", [ids, ids[:2]], num_threads=2)


@pytest.mark.parametrize(
    "ids",
    [
        [999],
        [1, 999],
        [-1],
        [1 << 32],
        [(1 << 32) - 1],
        [1.0],
        ["a"],
        "ab",
        None,
        5,
        [],
        (1, 2),
        [True],
        [None],
        range(3),
        [1 << 70],
    ],
)
def test_what_are_no_ids(ids: Any) -> None:
    for method in ("decode", "decode_bytes", "decode_tokens_bytes", "decode_with_offsets"):
        alike(method, ids)
    for method in ("decode_batch", "decode_bytes_batch"):
        alike(method, [ids])
        alike(method, [[1]], num_threads=0)


@pytest.mark.parametrize(
    "made",
    [iter, set, dict.fromkeys, lambda ids: (one for one in ids), bytes, bytearray, lambda ids: memoryview(bytes(ids)), np.array,
     lambda ids: np.array(ids, object), lambda ids: np.array(ids, float), lambda ids: dict.fromkeys(ids).keys(), lambda ids: np.array([ids])],
)  # fmt: skip
def test_what_are_no_sequences_of_ids(made: Any) -> None:
    for method in ("decode", "decode_bytes", "decode_batch", "decode_bytes_batch"):
        outcomes = [outcome(one, method, [made([104, 101])] if "batch" in method else made([104, 101])) for one in (OURS, THEIRS)]
        assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize("number", [0, 256, 999, 1000, 1002, -1, 1 << 32, 1.0, "a", None, True])
def test_one_id(number: Any) -> None:
    alike("decode_single_token_bytes", number)
    alike("is_special_token", number)


def test_ids_may_be_an_array() -> None:
    assert OURS.decode(OURS.encode_to_numpy("hello world")) == "hello world"  # and mypy takes it


# --- what an encoding is --------------------------------------------------------------------------------------------------------


def test_every_public_name_is_there() -> None:
    assert {name for name in dir(tiktoken) if name in ours.__all__} == {
        name for name in tiktoken.__dict__ if not name.startswith("_") and callable(getattr(tiktoken, name))
    }
    for name, theirs in vars(tiktoken.Encoding).items():
        if not name.startswith("_"):
            mine = getattr(ours.Encoding, name)
            assert callable(mine) == callable(theirs), name
            if inspect.isfunction(theirs):
                assert [(one.name, one.kind) for one in inspect.signature(mine).parameters.values()] == [
                    (one.name, one.kind) for one in inspect.signature(theirs).parameters.values()
                ], name
    assert {name for name in vars(THEIRS) if not name.startswith("_")} <= set(dir(OURS))


def same_facts(mine: Any, theirs: Any) -> None:
    for name in ("name", "max_token_value", "n_vocab", "special_tokens_set", "_special_tokens", "_mergeable_ranks", "_pat_str"):
        assert getattr(mine, name) == getattr(theirs, name), name
    assert repr(mine) == repr(theirs)
    assert mine.token_byte_values() == theirs.token_byte_values()
    for each in (mine, theirs):
        if "<|endoftext|>" in theirs.special_tokens_set:
            assert each.eot_token == theirs._special_tokens["<|endoftext|>"]
        else:
            with pytest.raises(KeyError):
                each.eot_token  # noqa: B018


def test_facts() -> None:
    same_facts(OURS, THEIRS)
    bare: dict[str, Any] = {"pat_str": "a|b", "mergeable_ranks": {b"a": 0, b"b": 7}, "special_tokens": {}}
    same_facts(ours.Encoding("bare", **bare), tiktoken.Encoding("bare", **bare))
    bare["mergeable_ranks"] |= {b"": 8}  # as Whisper has it
    pair = ours.Encoding("bare", **bare), tiktoken.Encoding("bare", **bare)
    same_facts(*pair)
    for call in (("encode", "aab"), ("encode_single_token", b""), ("encode_single_token", ""), ("decode_tokens_bytes", [8, 0])):
        assert outcome(pair[0], *call) == outcome(pair[1], *call), call


@pytest.mark.parametrize(("size", "special"), [(None, {}), (0, {}), (2, {}), (3, {}), (3, {"x": 2}), (3, {"x": 5}), (4, {"x": 3})])
def test_explicit_n_vocab(size: Any, special: dict[str, int]) -> None:
    made: dict[str, Any] = {
        "pat_str": "a|b",
        "mergeable_ranks": {b"a": 0, b"b": 1},
        "special_tokens": special,
        "explicit_n_vocab": size,
    }
    kinds: list[Any] = []
    for kind in (ours.Encoding, tiktoken.Encoding):
        try:
            kinds.append(kind("sized", **made).n_vocab)
        except AssertionError:
            kinds.append("AssertionError")
    assert kinds[0] == kinds[1]


@pytest.mark.parametrize(("change", "message"), [
    ({"mergeable_ranks": {b"a": 0, b"ab": 1}}, "0x62 is no token by itself"),
    ({"special_tokens": {"<a": 5, "<a>": 6}}, "'<a>' begins with another, '<a'"),
    ({"special_tokens": {"x": 5, "y": 5}}, "has the id 5 of another one"),
    ({"special_tokens": {"x": 0}}, "has the id 0 of another token"),
    ({"pat_str": "("}, "group"),
])  # fmt: skip
def test_what_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ours.Encoding("refused", **{"pat_str": "a", "mergeable_ranks": {b"a": 0}, "special_tokens": {}} | change)


@pytest.mark.parametrize("change", [
    {"special_tokens": {"<e>": np.int64(256)}}, {"special_tokens": {"<e>": np.int64(-1)}}, {"special_tokens": {"<e>": -1}},
    {"special_tokens": {"<e>": 1 << 32}}, {"special_tokens": {"<e>": 256.0}}, {"special_tokens": {b"e": 256}}, {"special_tokens": {5: 256}},
    {"special_tokens": {"\ud800": 256}}, {"special_tokens": [("<e>", 256)]}, {"special_tokens": None}, {"pat_str": None}, {"pat_str": b"a"},
    {"pat_str": 5}, {"pat_str": []}, {"pat_str": "\ud800"}, {"pat_str": "\ud83d\ude00"}, {"mergeable_ranks": {b"a": 0, b"<": -1}},
    {"mergeable_ranks": {b"a": 0, b"<": 1 << 32}}, {"mergeable_ranks": {b"a": 0, b"<": np.int64(-1)}}, {"mergeable_ranks": {}},
    {"mergeable_ranks": []}, {"mergeable_ranks": {b"a": np.int64(0), b"<": np.int64(5)}}, {"mergeable_ranks": {b"a": 0, b"<": 1.0}},
    {"mergeable_ranks": {b"a": 0, b"<": 1, b"": 2.0}}, {"mergeable_ranks": {b"a": 0, b"<": 1, b"": np.int64(2)}},
], ids=ascii)  # fmt: skip
def test_what_an_encoding_is_made_of(change: dict[str, Any]) -> None:
    made: dict[str, Any] = {"pat_str": "a|<", "mergeable_ranks": {b"a": 0, b"<": 1}, "special_tokens": {}} | change
    kinds: list[Any] = []
    for kind in (ours.Encoding, tiktoken.Encoding):
        try:
            one = kind("made", **made)
            ids = one.encode("a<e>a", allowed_special="all")
            kinds.append((one.n_vocab, ids, list(map(type, ids)), one.special_tokens_set, one.decode(ids)))
        except Exception as error:
            kinds.append(type(error))
    assert kinds[0] == kinds[1]


def test_a_tokenizer_of_an_encoding_with_numbers_of_numpy() -> None:
    special = {"<e>": np.int64(256)}
    theirs = tiktoken.Encoding("made", pat_str="a|b", mergeable_ranks={b"a": 0, b"b": 1}, special_tokens=special)  # type: ignore[arg-type]
    assert Tokenizer.from_tiktoken(theirs).encode("a<e>", allowed_special="all") == [0, 256]


def test_matches_only() -> None:
    """What the pattern leaves unmatched is dropped."""
    made: dict[str, Any] = {"pat_str": "[a-c]+", "mergeable_ranks": RANKS, "special_tokens": SPECIAL}
    pair = (ours.Encoding("some", **made), tiktoken.Encoding("some", **made))
    for text in ("abc", "abcxab", "x", "", "xx<|a|>", "<|a|>xabc", "abx\n", "ab "):
        for method in ("encode", "encode_with_unstable", "encode_to_numpy"):
            alike(method, text, pair=pair, allowed_special="all")


def test_copies() -> None:
    for made in (pickle.loads(pickle.dumps(OURS)), copy.deepcopy(OURS), copy.copy(OURS)):
        same_facts(made, THEIRS)
        assert made.encode("hello <|a|>", allowed_special="all") == THEIRS.encode("hello <|a|>", allowed_special="all")


class Extended(ours.Encoding):
    """One as people make it of tiktoken's."""

    def first(self, text: str) -> int:
        return self.encode(text)[0]


class ExtendedTheirs(tiktoken.Encoding):  # type: ignore[misc]
    """The same of the original."""


class Marked(ours.Encoding):
    """One that says what is kept of it."""

    def __getstate__(self) -> object:
        return {"name": f"{self.name}+", "pat_str": "a", "mergeable_ranks": {b"a": 0}, "special_tokens": {}}


def test_copies_of_a_subclass() -> None:
    mine, theirs = Extended("mine", **MADE), ExtendedTheirs("mine", **MADE)
    for make in (copy.copy, copy.deepcopy, *(lambda one, at=at: pickle.loads(pickle.dumps(one, at)) for at in range(2, 6))):
        assert type(make(theirs)) is ExtendedTheirs
        made = make(mine)
        assert type(made) is Extended and made is not mine and made.first("hello") == mine.first("hello")
        same_facts(made, mine)
    for at in range(2):
        assert type(pickle.loads(pickle.dumps(mine, at))) is Extended
    assert copy.copy(Marked("marked", **MADE)).name == "marked+"


def test_a_tokenizer_of_an_encoding() -> None:
    assert Tokenizer.from_tiktoken(OURS).encode("hello world") == THEIRS.encode("hello world")


# --- names ----------------------------------------------------------------------------------------------------------------------


def test_models() -> None:
    listed = [name for names in MODELS.values() for name in names.split()]
    prefixes = [(prefix, encoding) for encoding, names in PREFIXES for prefix in names.split()]
    assert sorted(listed) == sorted(tiktoken.model.MODEL_TO_ENCODING)
    assert prefixes == list(tiktoken.model.MODEL_PREFIX_TO_ENCODING.items())
    names = [
        *listed,
        *(prefix + end for prefix, _ in prefixes for end in ("", "x", "2024")),
        "gpt-4.5",
        "o1x",
        "",
        "nonsense",
        "GPT-4",
    ]
    for name in names:
        try:
            theirs = tiktoken.encoding_name_for_model(name)
        except KeyError:
            with pytest.raises(KeyError, match="is not known"):
                ours.encoding_name_for_model(name)
        else:
            assert ours.encoding_name_for_model(name) == theirs
    with pytest.raises(KeyError):
        ours.encoding_for_model("nonsense")


@pytest.mark.parametrize("name", [["a"], {}, 5, None, b"a", ("a",)], ids=repr)
def test_what_is_no_name_of_a_model(name: Any) -> None:
    outcomes = [outcome(one, "encoding_name_for_model", name) for one in (ours, tiktoken)]
    assert outcomes[0] == outcomes[1]


def test_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that people import from, and tables to which they add."""
    from bitlex.compat.tiktoken.core import Encoding, raise_disallowed_special_token
    from bitlex.compat.tiktoken.model import MODEL_PREFIX_TO_ENCODING, MODEL_TO_ENCODING
    from bitlex.compat.tiktoken.registry import ENCODINGS

    assert ours.__version__ == tiktoken.__version__
    assert MODEL_TO_ENCODING == tiktoken.model.MODEL_TO_ENCODING
    assert list(MODEL_PREFIX_TO_ENCODING.items()) == list(tiktoken.model.MODEL_PREFIX_TO_ENCODING.items())
    assert Encoding is ours.Encoding is ours.core.Encoding
    for refuse in (raise_disallowed_special_token, tiktoken.core.raise_disallowed_special_token):
        with pytest.raises(ValueError, match=r"<\|a\|>"):
            refuse("<|a|>")
    for module in ("core", "model", "registry"):
        mine, theirs = getattr(ours, module), getattr(tiktoken, module)
        assert set(mine.__all__) <= set(dir(theirs))
    monkeypatch.setitem(ENCODINGS, "mine", OURS)
    monkeypatch.setitem(MODEL_TO_ENCODING, "my-model", "mine")
    monkeypatch.setitem(MODEL_PREFIX_TO_ENCODING, "my-prefix-", "mine")
    assert ours.encoding_for_model("my-model") is ours.encoding_for_model("my-prefix-x") is ours.get_encoding("mine") is OURS


def test_names_of_encodings() -> None:
    assert list(FILES) == list(tiktoken_ext.openai_public.ENCODING_CONSTRUCTORS)
    assert ours.list_encoding_names() == tiktoken.list_encoding_names()
    for name in ("nonsense", "", 5, None):
        with pytest.raises(ValueError, match=r"no encoding|named by a str"):
            ours.get_encoding(name)  # type: ignore[arg-type]


@pytest.fixture
def nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """No vocabularies on the disk, none loaded, and no network."""
    for variable in ("BITLEX_VOCABULARY", "DATA_GYM_CACHE_DIR"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(ours.registry, "ENCODINGS", {})
    monkeypatch.setattr(ours.registry, "installed", lambda name: None)
    monkeypatch.setattr("urllib.request.urlopen", offline)
    return tmp_path


def offline(address: str, timeout: float) -> Any:
    raise OSError("offline")


def test_ranks_that_are_nowhere(nowhere: Path) -> None:
    with pytest.raises(OSError, match=r"cl100k_base\.tiktoken cannot be had \(offline\).*BITLEX_VOCABULARY"):
        ours.get_encoding("cl100k_base")


def test_names_of_tokenizers(nowhere: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    """The bare name, in the library and on the command line: what is said if the file is nowhere, and that it is taken where it is."""
    for name in ("cl100k_base", "o200k_harmony"):
        with pytest.raises(OSError, match=r"k_base\.tiktoken cannot be had \(offline\).*BITLEX_VOCABULARY"):
            Tokenizer.from_tiktoken(name)
    with pytest.raises(OSError, match="BITLEX_VOCABULARY"):
        cli.main(["count", "-t", "cl100k_base", str(Path(__file__))])
    ranks = b"".join(b64encode(bytes([byte])) + b" %d\n" % byte for byte in range(256))
    (nowhere / "cl100k_base.tiktoken").write_bytes(ranks)
    monkeypatch.setenv("BITLEX_VOCABULARY", str(nowhere))
    monkeypatch.setattr(rank_files, "digest_of", lambda name: hashlib.sha256(ranks).hexdigest())
    monkeypatch.setattr(rank_files, "read", lambda data, where, **options: read(data, where, **{"family": "cl100k", **options}))
    assert Tokenizer.from_tiktoken("cl100k_base").encode("ab") == [97, 98]
    made = Tokenizer.from_tiktoken("cl100k_base", special={"<|im_start|>": 300}, family="gpt2", name="mine")
    assert (made.special_tokens, made.lexer.name, made.name) == ({"<|im_start|>": 300}, "gpt2", "mine")
    assert cli.main(["count", "-t", "cl100k_base", str(Path(__file__))]) == 0
    (nowhere / "chat.txt").write_bytes(b"<|im_start|>")
    given = ["-t", "cl100k_base", "--special", "<|im_start|>=300", "--family", "cl100k", "--name", "mine", "--allow-special", "all"]
    capfd.readouterr()
    assert cli.main(["encode", *given, str(nowhere / "chat.txt")]) == 0 and capfd.readouterr().out == "300\n"
    monkeypatch.chdir(nowhere)
    Path("cl100k_base").write_bytes(b"{")  # a file of that name goes first
    with pytest.raises(VocabularyError, match="cl100k_base"):
        Tokenizer.from_tiktoken("cl100k_base")


def test_files_that_are_others(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = nowhere / "cl100k_base.tiktoken"
    wrong.write_bytes(b64encode(b"a") + b" 0\n")
    with pytest.raises(VocabularyError, match="not the published file"):
        ours.get_encoding("cl100k_base", file=wrong)
    monkeypatch.setenv("BITLEX_VOCABULARY", str(nowhere))
    with pytest.raises(VocabularyError, match="not the published file"):
        ours.get_encoding("cl100k_base")
    assert rank_files.on_disk("o200k_base") is None
    cache = nowhere / "cache"
    cache.mkdir()
    (cache / hashlib.sha1(URL.format("o200k_base").encode()).hexdigest()).write_bytes(b"cut sho")
    assert rank_files.on_disk("o200k_base") is None


class Answer:
    """What a server answers."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def __enter__(self) -> Answer:
        return self

    def __exit__(self, *about: object) -> None:
        pass

    def read(self) -> bytes:
        return self.data


def test_a_download_that_is_another_file(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("urllib.request.urlopen", lambda address, timeout: Answer(b"sorry"))
    with pytest.raises(VocabularyError, match=r"https://.*not the published file"):
        ours.get_encoding("cl100k_base")
    assert not (nowhere / "cache").exists()


def test_a_download_that_is_cut_off(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def read(answer: Answer) -> bytes:
        raise IncompleteRead(answer.data, 1000)

    monkeypatch.setattr("urllib.request.urlopen", lambda address, timeout: Answer(b"IQ== 0"))
    monkeypatch.setattr(Answer, "read", read)
    with pytest.raises(ConnectionError, match=r"cl100k_base\.tiktoken cannot be had \(IncompleteRead.*BITLEX_VOCABULARY"):
        Tokenizer.from_tiktoken("cl100k_base")


def test_a_cache_that_cannot_be_looked_into(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As that of another user: it is as if it were not there, to tiktoken, too."""
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(nowhere / ("long" * 1000)))
    ranks = b"".join(b64encode(bytes([byte])) + b" %d\n" % byte for byte in range(256))
    monkeypatch.setattr("urllib.request.urlopen", lambda address, timeout: Answer(ranks))
    monkeypatch.setattr(rank_files, "digest_of", lambda name: hashlib.sha256(ranks).hexdigest())
    assert rank_files.on_disk("cl100k_base") is None and rank_files.fetched("cl100k_base")[0] == ranks


def test_no_folder_to_keep_anything_in(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a disk that is read-only everywhere: what is fetched is not kept."""
    monkeypatch.delenv("TIKTOKEN_CACHE_DIR")
    monkeypatch.setattr("tempfile.gettempdir", Mock(side_effect=FileNotFoundError))
    ranks = b"".join(b64encode(bytes([byte])) + b" %d\n" % byte for byte in range(256))
    monkeypatch.setattr("urllib.request.urlopen", lambda address, timeout: Answer(ranks))
    monkeypatch.setattr(rank_files, "digest_of", lambda name: hashlib.sha256(ranks).hexdigest())
    assert rank_files.on_disk("cl100k_base") is None and rank_files.fetched("cl100k_base")[0] == ranks
    assert ours.load.read_file_cached("https://a.place/ranks") == ranks


def test_encodings_of_plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ours.registry, "ENCODINGS", {})
    monkeypatch.setattr(tiktoken, "get_encoding", lambda name: THEIRS)
    made = ours.get_encoding("small")
    assert type(made) is ours.Encoding and ours.get_encoding("small") is made
    same_facts(made, THEIRS)


def test_in_the_place_of_tiktoken(monkeypatch: pytest.MonkeyPatch) -> None:
    """It does not ask itself."""
    monkeypatch.setitem(sys.modules, "tiktoken", ours)
    assert ours.list_encoding_names() == list(FILES)
    with pytest.raises(ValueError, match="no encoding"):
        ours.get_encoding("small")
    monkeypatch.setitem(sys.modules, "tiktoken", None)
    assert ours.list_encoding_names() == list(FILES)


# --- the published ones ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def vocabularies() -> Path:
    data = os.environ.get("BITLEX_DATA")
    found = Path(data or "", "vocab")
    if not data or not all((found / f"{file}.tiktoken").exists() for file in FILES.values()):
        pytest.skip("BITLEX_DATA names no directory with vocab/*.tiktoken")
    return found


@pytest.fixture(params=list(FILES))
def published(request: pytest.FixtureRequest, vocabularies: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Any]:
    """The encoding of each name, and tiktoken's, made of the same files by its own constructors."""

    def load_ranks(address: str, expected_hash: str) -> dict[bytes, int]:
        file = vocabularies / address.rpartition("/")[2]
        ranks: dict[bytes, int] = tiktoken.load.load_tiktoken_bpe(str(file), expected_hash)
        return ranks

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TIKTOKEN_CACHE_DIR", "")
        patch.setattr(tiktoken_ext.openai_public, "load_tiktoken_bpe", load_ranks)
        patch.setattr(
            tiktoken_ext.openai_public, "data_gym_to_mergeable_bpe_ranks", lambda **files: load_ranks("/r50k_base.tiktoken", R50K)
        )
        theirs = tiktoken.Encoding(**tiktoken_ext.openai_public.ENCODING_CONSTRUCTORS[request.param]())
        patch.setenv("BITLEX_VOCABULARY", str(vocabularies))
        return ours.get_encoding(request.param), theirs


def test_published(published: tuple[Any, Any]) -> None:
    mine, theirs = published
    same_facts(mine, theirs)
    texts = [
        "hello world",
        "",
        "hello fanta",
        "a  \n\n ",
        "x" * 300,
        "नमस्ते ",
        "I'm 12345",
        "中文。\n",
        "<|endoftext|>",
        "👍\ud83d",
        "  !",
        "\n",
    ]
    for text in texts:
        for method in ("encode", "encode_ordinary", "encode_to_numpy", "encode_with_unstable"):
            options = {} if method == "encode_ordinary" else {"allowed_special": "all"}
            alike(method, text, pair=published, **options)
            alike(method, text, pair=published)
    alike("encode_batch", texts[:-4], pair=published)
    for number in [*range(0, theirs.n_vocab + 5, 997), *theirs._special_tokens.values()]:
        alike("decode_single_token_bytes", number, pair=published)
    ids = theirs.encode("नमस्ते world 中文 👍")
    alike("decode_with_offsets", ids, pair=published)
    again = pickle.loads(pickle.dumps(mine))
    assert again is mine and len(pickle.dumps(mine)) < 200


def test_one_object_for_all_threads(vocabularies: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ours.registry, "ENCODINGS", {})
    monkeypatch.setenv("BITLEX_VOCABULARY", str(vocabularies))
    found: list[Any] = []
    threads = [threading.Thread(target=lambda: found.append(ours.get_encoding("r50k_base"))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(map(id, found))) == 1 and len(found) == 8


def test_the_cache_of_tiktoken(vocabularies: Path, nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A download is put where tiktoken looks for it, and what tiktoken has put there is found."""
    data = (vocabularies / "r50k_base.tiktoken").read_bytes()
    monkeypatch.setattr("urllib.request.urlopen", lambda address, timeout: Answer(data))
    assert ours.get_encoding("r50k_base").encode("hello world") == [31373, 995]
    monkeypatch.setattr(tiktoken.load, "read_file", offline)
    assert tiktoken.load.read_file_cached(URL.format("r50k_base"), R50K) == data
    monkeypatch.setattr("urllib.request.urlopen", offline)
    monkeypatch.setattr(ours.registry, "ENCODINGS", {})
    assert ours.get_encoding("r50k_base").encode("hello world") == [31373, 995]


def test_in_its_place_for_libraries(monkeypatch: pytest.MonkeyPatch) -> None:
    """As docs/compat.md says, for libraries that import tiktoken."""
    lines = (Path(__file__).parent.parent / "docs/compat.md").read_text(encoding="utf-8").split("```python\n")[2].split("```")[0]
    for name in ("tiktoken", "tiktoken.core", "tiktoken.load", "tiktoken.model", "tiktoken.registry"):
        monkeypatch.setitem(sys.modules, name, sys.modules[name])  # these come back
    exec(lines, {})
    found: dict[str, Any] = {}
    exec("import tiktoken\nfrom tiktoken.core import Encoding\nfrom tiktoken.model import MODEL_TO_ENCODING\nimport tiktoken.registry", found)
    exec("from tiktoken.load import load_tiktoken_bpe", found)
    assert found["load_tiktoken_bpe"] is ours.load.load_tiktoken_bpe
    assert found["tiktoken"] is ours and found["Encoding"] is ours.Encoding and found["MODEL_TO_ENCODING"] is ours.model.MODEL_TO_ENCODING
    assert "cl100k_base" in found["tiktoken"].registry.list_encoding_names()


def loaded(module: Any, method: str, *arguments: Any) -> Any:
    """What a function of a module `load` gives, or raises."""
    return outcome(module.load, method, *arguments)


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path / "cache"))


CONTENTS = [
    b"IQ== 0\nIg== 1\n", b"IQ== 0\r\n\r\nIg==  7", b"", b"IQ== 0\n IQ== 2 \n", b"IQ==\n", b"IQ== a\n", b"I 0\n", b"IQ== 0 1\n", b" \n", b"= 5\n",
    b"IQ== 1_0\n",
]  # fmt: skip


@pytest.mark.usefixtures("own_cache")
@pytest.mark.parametrize("content", CONTENTS)
def test_loading_ranks(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "some.tiktoken"
    path.write_bytes(content)
    digest = hashlib.sha256(content).hexdigest()
    for arguments in ((str(path),), (str(path), digest), (str(path), "0" * 64)):
        assert loaded(ours, "load_tiktoken_bpe", *arguments) == loaded(tiktoken, "load_tiktoken_bpe", *arguments)
        assert loaded(ours, "read_file_cached", *arguments) == loaded(tiktoken, "read_file_cached", *arguments)
    assert ours.load.read_file(str(path)) == content and ours.load.check_hash(content, digest) and not ours.load.check_hash(content, "")
    if content == b"IQ== a\n":
        with pytest.raises(ValueError, match=r"some\.tiktoken: line 1 is b'IQ== a', not a token in base64 and its rank"):
            ours.load.load_tiktoken_bpe(str(path))


@pytest.mark.usefixtures("own_cache")
def test_dumping_ranks(tmp_path: Path) -> None:
    path = str(tmp_path / "some.tiktoken")
    ours.load.dump_tiktoken_bpe(RANKS, path)
    assert ours.load.load_tiktoken_bpe(path) == tiktoken.load.load_tiktoken_bpe(path) == RANKS
    ours.load.dump_tiktoken_bpe({b"b": 1, b"a": 0}, path)
    assert ours.load.load_tiktoken_bpe(path) == {b"a": 0, b"b": 1}  # the file as it is now
    with pytest.raises(ValueError, match="only files are written"):
        ours.load.dump_tiktoken_bpe(RANKS, "az://there/some.tiktoken")


@pytest.mark.usefixtures("own_cache")
@pytest.mark.parametrize("change", [{}, {"he": 300}, {"\u4e2d": 300}, {"!": 255}, {"<|endoftext|>": 300, "<|startoftext|>": 301}])
@pytest.mark.parametrize("clobbers", [False, True])
def test_the_files_of_gpt2(change: dict[str, int], clobbers: bool, tmp_path: Path) -> None:
    merges, tokens = tmp_path / "vocab.bpe", tmp_path / "encoder.json"
    merges.write_text("#version: 0.2\nh e\n\u0120 \u00c3\n", encoding="utf-8")
    alphabet = sorted(ALPHABET)
    made = {token: number for number, token in enumerate([*alphabet, "he", "\u0120\u00c3"])} | change
    tokens.write_text(json.dumps(made), encoding="utf-8")
    arguments = (str(merges), str(tokens), None, None, clobbers)
    found = loaded(ours, "data_gym_to_mergeable_bpe_ranks", *arguments)
    assert found == loaded(tiktoken, "data_gym_to_mergeable_bpe_ranks", *arguments)


def test_what_addresses_have(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is kept where tiktoken keeps it, and found there."""
    address, data = "https://somewhere.invalid/some.tiktoken", b"IQ== 0\n"
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr("urllib.request.urlopen", lambda address, timeout: Answer(data))
    with pytest.raises(ValueError, match="the SHA-256 is"):
        ours.load.load_tiktoken_bpe(address, "0" * 64)
    assert ours.load.load_tiktoken_bpe(address) == {b"!": 0}
    monkeypatch.setattr("urllib.request.urlopen", offline)
    monkeypatch.setattr(tiktoken.load, "read_file", offline)
    for module in (ours, tiktoken):
        assert module.load.load_tiktoken_bpe(address, hashlib.sha256(data).hexdigest()) == {b"!": 0}
    with pytest.raises(ConnectionError, match=r"cannot be had .* Offline, set TIKTOKEN_CACHE_DIR"):
        ours.load.load_tiktoken_bpe(address, "0" * 64)
    monkeypatch.setitem(sys.modules, "blobfile", None)
    with pytest.raises(ImportError, match="pip install blobfile"):
        ours.load.read_file("az://somewhere/some.tiktoken")
    (tmp_path / "file").touch()
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path / "file"))
    monkeypatch.setattr("urllib.request.urlopen", lambda address, timeout: Answer(data))
    with pytest.raises(OSError):
        ours.load.load_tiktoken_bpe(address)
