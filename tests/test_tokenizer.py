"""Tokenizer: against tiktoken and tokenizers as shipped, on small vocabularies made here; what it promises besides."""

from __future__ import annotations

import copy
import functools
import gc
import inspect
import json
import pickle
import pydoc
import random
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiktoken
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st

from bitlex.encoders import METHODS, Pure
from bitlex.tokenizer import Tokenizer
from bitlex.vocabularies.byte_alphabet import ALPHABET
from bitlex.vocabulary import AddedToken, Vocabulary, VocabularyError
from small_vocabularies import BYTES, TRAINED, describe, random_vocabulary
from tokenizing import BYTE_LEVEL, Pipeline, added, apart, tokenizer_json

GPT2 = r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"""
PARTS = ["the", " thing", " and", "  ", "\n", "12", "3", "'s", "é", "中文", "😀", "e\u0301", "\u3000", "x" * 20, "ſ", "\0"]
some_text = st.lists(st.one_of(st.sampled_from(PARTS), st.characters(codec="utf-8")), max_size=25).map("".join)


def tiktoken_of(vocabulary: Vocabulary) -> tuple[Tokenizer, tiktoken.Encoding]:
    theirs = tiktoken.Encoding("small", pat_str=GPT2, mergeable_ranks=dict(vocabulary.ids), special_tokens={"<|end|>": len(vocabulary) + 5})
    return Tokenizer.from_tiktoken(theirs), theirs


@pytest.fixture(scope="module")
def trained() -> tuple[Tokenizer, tiktoken.Encoding]:
    return tiktoken_of(TRAINED)


@settings(max_examples=400, deadline=None)
@given(text=st.one_of(some_text, st.lists(st.integers(0xD7F0, 0xE010).map(chr)).map("".join)))
def test_as_tiktoken(trained: tuple[Tokenizer, tiktoken.Encoding], text: str) -> None:
    ours, theirs = trained
    expected = theirs.encode_ordinary(text)
    assert ours.encode(text) == ours.encode_ordinary(text) == expected
    assert ours.encode_to_numpy(text).tolist() == expected and ours.count(text) == len(expected)
    assert ours.decode_bytes(expected) == theirs.decode_bytes(expected)
    assert ours.decode(expected) == theirs.decode(expected)
    for at in range(len(expected) + 1):
        assert ours.decode(expected[at:]) == theirs.decode(expected[at:])
    assert ours.decode_with_offsets(expected) == theirs.decode_with_offsets(expected)


@settings(max_examples=200, deadline=None)
@given(ids=st.lists(st.integers(0, len(TRAINED) - 1)))
def test_ids_at_random(trained: tuple[Tokenizer, tiktoken.Encoding], ids: list[int]) -> None:
    ours, theirs = trained
    assert ours.decode_bytes(ids) == theirs.decode_bytes(ids)
    assert ours.decode(ids) == theirs.decode(ids)
    try:
        expected = theirs.decode_with_offsets(ids)
    except UnicodeDecodeError:
        with pytest.raises(UnicodeDecodeError):
            ours.decode_with_offsets(ids)
    else:
        assert ours.decode_with_offsets(ids) == expected


@pytest.mark.parametrize("seed", range(25))
def test_random_vocabularies_as_tiktoken(seed: int) -> None:
    """Also such as no training gives. tiktoken panics where a byte is missing, so none is."""
    rng = random.Random(seed)
    words = {bytes(rng.choices(b"abc d", k=rng.randint(2, 9))) for _ in range(rng.choice((5, 60)))}
    ours, theirs = tiktoken_of(Vocabulary.from_ranks(rng.sample([*BYTES, *words], 256 + len(words))))
    for _ in range(150):
        text = "".join(rng.choices("abc d", k=rng.choice((1, 5, 14, 17, 33, 70, 150))))
        assert ours.encode(text) == theirs.encode_ordinary(text)


def hugging_face(vocabulary: Vocabulary, **parts: Any) -> tuple[Tokenizer, tokenizers.Tokenizer]:
    spell = dict(enumerate(ALPHABET))
    spelled = [token.decode("latin-1").translate(spell) for token in vocabulary.tokens()]
    flat = memoryview(vocabulary.merges or b"").cast("I").tolist()
    merges = [[spelled[left], spelled[right]] for left, right in zip(flat[::3], flat[1::3], strict=True)]
    model = {"vocab": {token: number for number, token in enumerate(spelled)}, "merges": merges, "ignore_merges": vocabulary.whole}
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": True}
    theirs = tokenizers.Tokenizer.from_str(json.dumps(tokenizer_json(pre_tokenizer=level, decoder=level, model=model, **parts)))
    return Tokenizer.from_huggingface(theirs), theirs


@pytest.mark.parametrize("seed", range(25))
def test_random_vocabularies_as_tokenizers(seed: int) -> None:
    """Merges in any order, some left out; offsets in characters."""
    rng = random.Random(100 + seed)
    letters = rng.choice(["abc d", "aé中 😀"])
    known = {*BYTES, *("".join(rng.choices(letters, k=rng.randint(1, 4))).encode()[rng.randint(0, 1) :] for _ in range(rng.choice((10, 80))))} - {b""}
    tokens = rng.sample(sorted(known), len(known))
    cuts = [(token[:at], token[at:]) for token in tokens for at in range(1, len(token))]
    merges = [pair for pair in cuts if pair[0] in known and pair[1] in known]
    rng.shuffle(merges)
    ours, theirs = hugging_face(Vocabulary.from_merges(tokens, merges, whole=rng.random() < 0.5))
    for _ in range(100):
        text = "".join(rng.choices(letters, k=rng.choice((1, 5, 14, 40, 100))))
        expected = theirs.encode(text)
        ids, offsets = ours.encode_with_offsets(text)
        assert ids.tolist() == expected.ids and [tuple(pair) for pair in offsets.tolist()] == expected.offsets
        assert ours.encode(text) == expected.ids and ours.decode(ids) == theirs.decode(expected.ids)


@pytest.fixture(scope="module")
def normalized() -> tuple[Tokenizer, tokenizers.Tokenizer]:
    rules = Vocabulary.from_merges([*BYTES, b"th", b"the", b"\xc3\xa9", b" \xc3\xa9"], [(b"t", b"h"), (b"th", b"e"), (b"\xc3", b"\xa9"), (b" ", b"\xc3\xa9")])
    tokens = [
        {"id": 260, "content": "<s>", "single_word": False, "lstrip": False, "rstrip": True, "normalized": False, "special": True},
        {"id": 261, "content": "wörd", "single_word": True, "lstrip": True, "rstrip": False, "normalized": True, "special": False},
    ]
    template = {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
                "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
                "special_tokens": {"<s>": {"id": "<s>", "ids": [260], "tokens": ["<s>"]}}}  # fmt: skip
    return hugging_face(rules, normalizer={"type": "NFC"}, added_tokens=tokens, post_processor=template)


def side_by_side(tokenizer: Tokenizer, texts: list[Any], **options: Any) -> list[list[int]]:
    """What `encode_batch_flat` gives of each text."""
    return apart(*tokenizer.encode_batch_flat(texts, **options))


@settings(max_examples=300, deadline=None)
@given(parts=st.lists(st.one_of(st.sampled_from(["<s>", "wörd", "wo\u0308rd", " ", "the", "e\u0301", "é", "\u0301", "中"]), st.characters(codec="utf-8")), max_size=12))
def test_normalized_with_flags_and_template(normalized: tuple[Tokenizer, tokenizers.Tokenizer], parts: list[str]) -> None:
    ours, theirs = normalized
    text = "".join(parts)
    expected = theirs.encode(text, add_special_tokens=False).ids
    assert ours.encode(text) == ours.encode(text.encode()) == expected == Pipeline(ours.description).encode(text)
    assert ours.encode(text, add_special_tokens=True) == theirs.encode(text).ids
    assert ours.encode_batch([text, "the"], add_special_tokens=True) == [found.ids for found in theirs.encode_batch([text, "the"])]
    assert ours.encode_to_numpy(text).tolist() == expected and ours.count(text) == len(expected)
    assert ours.count_batch([text]) == [len(expected)] and ours.encode_batch_to_numpy([text])[0].tolist() == expected
    assert side_by_side(ours, ["the", text, ""]) == [ours.encode("the"), expected, []]
    assert side_by_side(ours, [text, "the"], add_special_tokens=True) == [theirs.encode(one).ids for one in (text, "the")]


def test_what_the_slow_way_refuses(normalized: tuple[Tokenizer, tokenizers.Tokenizer]) -> None:
    ours, _ = normalized
    for encode in (ours.encode, ours.count, ours.encode_to_numpy):
        with pytest.raises(TypeError, match="expected str or a bytes-like object, got int"):
            encode(7)  # type: ignore[arg-type, call-overload]
    for batch in (ours.encode_batch, ours.count_batch, ours.encode_batch_to_numpy, ours.encode_batch_flat):
        with pytest.raises(TypeError, match=r"^texts\[2\]: expected str or a bytes-like object, got NoneType"):
            batch(["a", "b", None])  # type: ignore[list-item]
        for one in ("the", b"the"):
            with pytest.raises(TypeError, match=r"^expected a list of texts, got one "):
                batch(one)  # type: ignore[arg-type]
    for call in (ours.encode, ours.count, ours.encode_to_numpy, ours.encode_ordinary):
        with pytest.raises(ValueError, match=r"^threads is -1; it may be 0"):
            call("e\u0301", threads=-1)
    for batch in (ours.encode_batch, ours.count_batch, ours.encode_batch_to_numpy, ours.encode_batch_flat):
        with pytest.raises(ValueError, match=r"^threads is -1; it may be 0"):
            batch(["e\u0301"], threads=-1)
    assert ours.encode(b"the\xff<s> \xe4\xb8") == [*ours.encode("the"), 255, 260, 0xE4, 0xB8]
    assert ours.encode_with_offsets("e\u0301")[1].tolist() == [[0, 2]]
    pair, lone = "e\ud834\udd5e", "e\ud834"  # U+1D15E, which NFC takes apart
    assert ours.encode(pair) == ours.encode("e\U0001d15e") and ours.encode(lone) == ours.encode("e\ufffd")


def test_dtypes(trained: tuple[Tokenizer, tiktoken.Encoding]) -> None:
    ours, _ = trained
    expected = ours.encode("the thing")
    assert ours.encode_to_numpy("the thing").dtype == np.uint32
    for dtype in (np.uint16, "u2", np.int64, np.uint32, np.int16):
        found = ours.encode_to_numpy("the thing", dtype=dtype)
        assert found.dtype == np.dtype(dtype) and found.tolist() == expected
    for narrow in (np.uint8, np.int8, np.float64, bool):
        with pytest.raises(ValueError, match=r"^ids up to 288 do not fit u?int8$|^dtype is (float64|bool); it may be one of integers$"):
            ours.encode_to_numpy("the thing", dtype=narrow)
    for threads in (-1, -5):
        with pytest.raises(ValueError, match=rf"^threads is {threads}; it may be 0"):
            ours.encode("a", threads=threads)
    assert ours.encode_to_numpy("").shape == (0,) and ours.encode_with_offsets("")[1].shape == (0, 2) and ours.encode("") == [] and ours.decode([]) == ""
    found = ours.encode_to_numpy("the thing")
    found[0] = 7  # it is the caller's
    assert ours.encode("the thing") == expected


def test_arrays_outlive_the_tokenizer() -> None:
    found = Tokenizer(describe(TRAINED)).encode_to_numpy("the thing " * 1000)
    ids, places = Tokenizer(describe(TRAINED)).encode_with_offsets("the thing " * 1000)
    assert found.tolist() == ids.tolist() and places[-1].tolist() == [9999, 10000] and found[:2].tolist() == [257, 32]


def test_what_it_says_of_itself(trained: tuple[Tokenizer, tiktoken.Encoding]) -> None:
    ours, theirs = trained
    assert len(ours) == ours.vocabulary_size == theirs.n_vocab == 289
    assert ours.special_tokens == {"<|end|>": 288} and ours.name == "small"
    assert repr(ours) == f"<bitlex.Tokenizer small: 289 ids, {ours.lexer.name}, {ours.lexer.tier}>"
    assert ours.token_to_id("the") == ours.token_to_id(b"the") == 257 and ours.token_to_id("<|end|>") == 288
    assert ours.token_to_id("nothing") is None and ours.token_to_id("") is None and ours.token_to_id("\ud800") is None
    assert ours.token_bytes(288) == b"<|end|>" and ours.token_bytes(257) == b"the"
    for number in (283, 289, -1):
        with pytest.raises(KeyError):
            ours.token_bytes(number)
    with pytest.raises(UnicodeDecodeError):
        ours.decode([195], errors="strict")
    assert ours.decode([195, 257], errors="ignore") == "the" and ours.decode_batch([[257], []]) == ["the", ""]


def test_pickle(trained: tuple[Tokenizer, tiktoken.Encoding], normalized: tuple[Tokenizer, tokenizers.Tokenizer]) -> None:
    for ours in (trained[0], normalized[0]):
        again = pickle.loads(pickle.dumps(ours))
        for text in ("the thing é", "", "e\u0301 wörd"):
            assert again.encode(text) == ours.encode(text)
        assert again.description == ours.description and repr(again) == repr(ours)
        mine = type("Mine", (Tokenizer,), {})(ours.description)
        assert type(copy.copy(mine)) is type(copy.deepcopy(mine)) is type(mine.with_added_tokens((), {})) is type(mine)
        seen = weakref.ref(again)
        assert seen() is again
        del again
        gc.collect()
        assert seen() is None
    for name in ("encode", "encode_to_numpy", "count", "decode"):
        assert pickle.loads(pickle.dumps(getattr(Tokenizer, name))) is getattr(Tokenizer, name)
        assert pickle.loads(pickle.dumps(getattr(trained[0], name))).__self__.description == trained[0].description


def test_wrong_arguments(trained: tuple[Tokenizer, tiktoken.Encoding], normalized: tuple[Tokenizer, tokenizers.Tokenizer]) -> None:
    for wrong in (5, False, None):
        with pytest.raises(TypeError, match=r"expected str, bytes or os.PathLike object, not "):
            Tokenizer.from_file(wrong)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match=r"^expected a Description, got .*; Tokenizer.from_file makes one of a file$"):
            Tokenizer(wrong)  # type: ignore[arg-type]
    ours: Any = trained[0]
    slow: Any = normalized[0]
    for threads in (None, "2", 1.5):
        for run in (ours.encode, ours.count, ours.lexer.split):
            with pytest.raises(TypeError, match=f"^threads is {threads!r}; it may be 0, for as many as there are cores"):
                run("the", threads=threads)
    for one in (ours, slow):
        for run in (one.encode, lambda text, one=one, **options: one.stream(**options)):
            for name in ("allowed_special", "disallowed_special"):
                with pytest.raises(TypeError, match=f"^{name} is 5; it may be 'all', or a collection of special tokens$"):
                    run("e\u0301", **{name: 5})
    assert ours.encode("<|end|>", allowed_special=iter(["<|end|>"])) == ours.encode("<|end|>", allowed_special={"<|end|>"}) == [288]


@pytest.mark.parametrize("normalizer", [None, {"type": "NFC"}])
@pytest.mark.parametrize("options", [{}, {"normalized": True}, {"lstrip": True}], ids=["as it is", "normalized", "lstrip"])
def test_special_tokens_that_can_be_asked_for_but_once(normalizer: Any, options: dict[str, Any], tmp_path: Path) -> None:
    """Are found in all of a text, and in all texts, also where the text is normalized, or cut by the definition; what is wrong with them is
    said of no text."""
    text = "ab <s>ab e\u0301 <t>"
    path = tmp_path / "texts.txt"
    path.write_text(text + "\n" + text * 5, encoding="utf-8")
    tokens = [added(257 + at, name, **options) for at, name in enumerate(("<s>", "<t>"))]
    fields = tokenizer_json(("ab",), [["a", "b"]], pre_tokenizer=BYTE_LEVEL, normalizer=normalizer, added_tokens=tokens)
    made = Tokenizer.from_bytes(json.dumps(fields).encode())
    one, twice, many = (made.encode(each, allowed_special=["<s>"], disallowed_special=[]) for each in (text, text * 2, text * 5))
    calls: list[tuple[Callable[..., Any], Any]] = [
        (lambda **special: made.encode(text, **special), one), (lambda **special: made.encode_to_numpy(text, **special).tolist(), one),
        (lambda **special: made.encode_with_offsets(text, **special)[0].tolist(), one), (lambda **special: made.count(text, **special), len(one)),
        (lambda **special: made.encode_batch([text, text], **special), [one, one]),
        (lambda **special: [ids.tolist() for ids in made.encode_batch_to_numpy([text, text], **special)], [one, one]),
        (lambda **special: made.encode_batch_flat([text, text], **special)[0].tolist(), one + one),
        (lambda **special: made.count_batch([text, text], **special), [len(one)] * 2),
        (lambda **special: [ids for part in made.stream(**special).iterate([text, text]) for ids in part], twice),
        (lambda **special: [ids.tolist() for ids in made.encode_files([path], input="lines", **special)], [one, many]),
    ]
    for call, expected in calls:
        assert call(allowed_special=["<s>"], disallowed_special=[]) == expected
        assert call(allowed_special=iter(["<s>"]), disallowed_special=iter([])) == expected
        for unwanted, error in ((iter(["<s>"]), "special token '<s>'"), (["<u>"], "^disallowed_special: '<u>' is no special token")):
            with pytest.raises(ValueError, match=error):
                call(allowed_special=[], disallowed_special=unwanted)
        with pytest.raises(ValueError, match="special token '<t>'"):
            call(allowed_special=["<s>"], disallowed_special="all")
    for batch in (made.encode_batch, made.encode_batch_to_numpy, made.encode_batch_flat, made.count_batch):
        for texts in ([], [text]):
            with pytest.raises(ValueError, match=r"^allowed_special is '<s>'; it may be 'all', or a collection of special tokens$"):
                batch(texts, allowed_special="<s>")  # type: ignore[operator]


@pytest.mark.parametrize("name", ["encode", "encode_to_numpy", "count"])
def test_methods_without_a_function_between(trained: tuple[Tokenizer, tiktoken.Encoding], name: str) -> None:
    """They are what their functions are, to whoever looks; and give and refuse the same, however they are called."""
    native = pytest.importorskip("bitlex._native")
    ours, text = trained[0], "the thing and 123"
    method, function = getattr(Tokenizer, name), inspect.unwrap(getattr(Tokenizer, name))
    bound = getattr(ours, name)
    assert type(method) is native.DirectMethod and inspect.isfunction(function) and inspect.isroutine(method)
    assert inspect.signature(method) == inspect.signature(function) and "self" not in inspect.signature(bound).parameters
    for what in ("__name__", "__qualname__", "__module__", "__doc__"):
        assert getattr(method, what) == getattr(function, what) == getattr(bound, what)
    assert str(inspect.getdoc(method)) in pydoc.plain(pydoc.render_doc(Tokenizer)).replace("\n |      ", "\n")

    def same(*found: Any) -> bool:
        return all(np.array_equal(one, function(ours, text)) for one in found)

    assert same(bound(text), method(ours, text), bound(text=text), bound(text, threads=2), bound(text.encode()))
    inherits = type("Mine", (Tokenizer,), {})(ours.description)
    assert same(pickle.loads(pickle.dumps(bound))(text), getattr(inherits, name)(text), method(inherits, text))
    for wrong in ((), (text, text), (5,), (None,), (text + "<|end|>",)):
        told = []
        for call in (bound, functools.partial(function, ours)):
            with pytest.raises((TypeError, ValueError)) as caught:
                call(*wrong)
            told.append((caught.type, str(caught.value)))
        assert told[0] == told[1]
    for nobody in (Tokenizer.__new__(Tokenizer), object(), ours.lexer):
        with pytest.raises(AttributeError):
            method(nobody, text)
    with pytest.raises(ValueError, match="called as one of an Encoder"):
        native.DirectMethod(Tokenizer.decode)
    with pytest.raises((RuntimeError, AttributeError)):  # which Python wraps up to 3.11
        type("Other", (), {name: native.DirectMethod(function)})


def test_merging_one_piece() -> None:
    """Not cut by the lexer, and not looked up: the last token is one that merging does not reach."""
    tokenizer = Tokenizer(describe(Vocabulary.from_ranks([*BYTES, b"th", b"the", b"abcd"])))
    for method in METHODS:
        assert tokenizer.merge("the the", method=method) == [257, 32, 257]  # type: ignore[arg-type]
        assert tokenizer.merge(b"abcd", method=method) == list(b"abcd")  # type: ignore[arg-type]
        assert tokenizer.merge("", method=method) == []  # type: ignore[arg-type]
    assert tokenizer.encode("abcd") == [258]
    message = "^a piece of 65537 bytes; 'sweep' takes quadratic time, and pieces of up to 65,536: take another method$"
    for encoder in (tokenizer._encoder, Pure(tokenizer.description, tokenizer.lexer)):
        assert encoder.merge("the" * 20_000, "sweep" if encoder is tokenizer._encoder else "heap") == [257] * 20_000
        with pytest.raises(ValueError, match=message):
            encoder.merge(b"a" * 65537, "sweep")


def test_merges_that_are_not_in_order() -> None:
    """bc is made, and then abc, which has a lower rank: two methods take merges to be in the order of ranks, and stand back."""
    tokens = [*BYTES, b"abc", b"bc", b"cd"]
    tokenizer = Tokenizer(describe(Vocabulary.from_ranks(tokens)))
    encoder: Any = tokenizer._encoder
    assert not encoder.in_order() and Tokenizer(describe(TRAINED))._encoder.in_order()  # type: ignore[attr-defined]
    for text, expected in (("abcd", [256, 100]), ("bcd", [257, 100]), ("abc", [256])):
        assert [tokenizer.merge(text, method=method) for method in METHODS] == [expected] * len(METHODS)  # type: ignore[arg-type]
    never = Tokenizer(describe(Vocabulary.from_ranks([*BYTES, b"  ", b"    ", b"   "])))  # four spaces of three and one: these never meet
    assert never._encoder.in_order() and never.merge(" " * 7, method="backtrack") == [257, 258]  # type: ignore[attr-defined]


def test_formats_by_name(tmp_path: Any) -> None:
    vocabulary, _ = random_vocabulary(random.Random(7))
    Tokenizer(describe(vocabulary, (AddedToken(5000, "<|end|>"),))).save(tmp_path / "saved")
    ours, theirs = tiktoken_of(TRAINED)
    assert Tokenizer.from_tiktoken(theirs).encode("the") == [257]
    with pytest.raises(VocabularyError, match=r"this is of the format tiktoken, not huggingface; Tokenizer\.from_file takes either$"):
        Tokenizer.from_huggingface(theirs)
    for wrong in (b"", b"BITLEX", b"BITLEXT1", b"nonsense"):
        (tmp_path / "wrong").write_bytes(wrong)
        with pytest.raises(VocabularyError):
            Tokenizer.from_file(tmp_path / "wrong")
    with pytest.raises(FileNotFoundError):
        Tokenizer.from_file(tmp_path / "no such file")
    assert ours.encode("the") == [257]
