"""bitlex.compat.huggingface against tokenizers itself: every method, on tokenizers made here, and published ones where they are."""

from __future__ import annotations

import asyncio
import copy
import itertools
import json
import os
import pickle
import random
import threading
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
import tokenizers
from hypothesis import given, settings

from bitlex import Tokenizer, VocabularyError
from bitlex.compat import huggingface as ours
from bitlex.compat.alignment import aligned_nfc
from bitlex.vocabularies.added_tokens import AddedTokens
from tokenizing import BYTE_LEVEL, added, tokenizer_json

# Merges such that tokens have more than one byte, and some only part of a character.
MERGES = ["h e", "l l", "he ll", "hell o", "Ġ w", "o r", "Ġw or", "Ã ©", "ä ¸", "ä¸ Ń", "ð Ł", "Ġ Ġ", "Ċ Ċ", "a b"]
TOKENS = tuple(merge.replace(" ", "") for merge in MERGES)
SPACED = {**BYTE_LEVEL, "add_prefix_space": True}
UNTRIMMED = {**BYTE_LEVEL, "trim_offsets": False}
SPECIALS = [
    added(300 - 30, "<s>", special=True), added(271, "</s>", special=True), added(272, "<mask>", special=True, lstrip=True),
    added(273, "[r]", rstrip=True), added(274, "word", single_word=True), added(275, "e\u0301!", normalized=True),
    added(276, "\u00e9?", normalized=True, special=True), added(277, "ab<", normalized=False),
]  # fmt: skip
TEMPLATE = {
    "type": "TemplateProcessing",
    "single": [
        {"SpecialToken": {"id": "<s>", "type_id": 0}},
        {"Sequence": {"id": "A", "type_id": 0}},
        {"SpecialToken": {"id": "</s>", "type_id": 3}},
    ],
    "pair": [
        {"Sequence": {"id": "B", "type_id": 2}},
        {"SpecialToken": {"id": "<s>", "type_id": 1}},
        {"Sequence": {"id": "A", "type_id": 5}},
    ],
    "special_tokens": {
        "<s>": {"id": "<s>", "ids": [270, 1], "tokens": ["<s>", "x"]},
        "</s>": {"id": "</s>", "ids": [271], "tokens": ["</s>"]},
    },
}
BERT = {"type": "BertProcessing", "sep": ["</s>", 271], "cls": ["<s>", 270]}
ROBERTA = {"type": "RobertaProcessing", "sep": ["</s>", 271], "cls": ["<s>", 270], "trim_offsets": True, "add_prefix_space": True}


def sequence(*parts: Any) -> dict[str, Any]:
    return {"type": "Sequence", "processors": list(parts)}


def made(**parts: Any) -> dict[str, Any]:
    return tokenizer_json(TOKENS, [merge.split(" ") for merge in MERGES], **parts)


DIGITS = {"type": "Sequence", "pretokenizers": [{"type": "Digits", "individual_digits": True}, {**BYTE_LEVEL, "use_regex": True}]}
DROPPING = {
    "type": "Sequence",
    "pretokenizers": [
        {"type": "Split", "pattern": {"String": "o"}, "behavior": "Removed", "invert": False},
        {**BYTE_LEVEL, "use_regex": False},
    ],
}
BEHIND = {
    "type": "Sequence",
    "pretokenizers": [
        {**BYTE_LEVEL, "use_regex": False},
        {"type": "Split", "pattern": {"Regex": "[a-zĠ]+|."}, "behavior": "Isolated", "invert": False},
    ],
}
EVERYWHERE = {"type": "Split", "pattern": {"String": ""}, "behavior": "Isolated", "invert": False}
KINDS: dict[str, dict[str, Any]] = {
    "plain": made(),
    "template": made(added_tokens=SPECIALS, post_processor=TEMPLATE),
    "bert": made(added_tokens=SPECIALS, post_processor=BERT, normalizer={"type": "NFC"}),
    "roberta": made(added_tokens=SPECIALS, post_processor=ROBERTA, pre_tokenizer=SPACED),
    "roberta untrimmed": made(added_tokens=SPECIALS, post_processor={**ROBERTA, "trim_offsets": False}, pre_tokenizer=SPACED),
    "byte level": made(added_tokens=SPECIALS, post_processor=BYTE_LEVEL, normalizer={"type": "NFC"}),
    "byte level, spaced": made(added_tokens=SPECIALS[:3], post_processor=SPACED, pre_tokenizer=SPACED, normalizer={"type": "NFC"}),
    "byte level, untrimmed": made(post_processor=UNTRIMMED, pre_tokenizer=UNTRIMMED),
    "byte level, template": made(added_tokens=SPECIALS, post_processor=sequence(BYTE_LEVEL, TEMPLATE)),
    "template, byte level": made(added_tokens=SPECIALS, post_processor=sequence(TEMPLATE, SPACED), pre_tokenizer=SPACED),
    "template, untrimmed": made(added_tokens=SPECIALS, post_processor=sequence(TEMPLATE, UNTRIMMED)),
    "bert, byte level": made(added_tokens=SPECIALS, post_processor=sequence(BERT, BYTE_LEVEL)),
    "none in a sequence": made(added_tokens=SPECIALS, post_processor=sequence()),
    "digits": made(pre_tokenizer=DIGITS, post_processor=BYTE_LEVEL),
    "dropping": made(pre_tokenizer=DROPPING, added_tokens=SPECIALS, normalizer={"type": "NFC"}),
    "no decoder": made(added_tokens=SPECIALS, decoder=None, normalizer={"type": "NFC"}),
    "cut everywhere": made(pre_tokenizer={**BEHIND, "pretokenizers": [BEHIND["pretokenizers"][0], EVERYWHERE]}),
    "cut inside characters": made(pre_tokenizer=BEHIND, normalizer={"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "NFC"}]}),
}  # fmt: skip
PAIRS: dict[str, tuple[Any, Any]] = {
    name: (ours.Tokenizer.from_str(json.dumps(kind)), tokenizers.Tokenizer.from_str(json.dumps(kind)))
    for name, kind in KINDS.items()
}

PARTS = [
    *(one["content"] for one in SPECIALS), "hello", " world", " ", "  ", "\n", "\t", "\u3000", "word", "sword", "a", "b", "é", "e\u0301",
    "e", "\u0301", "\u0323", "中", "中国", "👍", "12", "각", "\u1100\u1161", "\x85", "o", "!", "?", "\u0958",
]  # fmt: skip
TEXTS = (
    st.lists(st.sampled_from(PARTS) | st.text(max_size=2), max_size=8)
    .map("".join)
    .filter(lambda text: not any("\ud800" <= one <= "\udfff" for one in text))
)
NAMES = st.sampled_from(list(KINDS))


def both(name: str) -> tuple[Any, Any]:
    """Fresh ones, to be changed."""
    return ours.Tokenizer.from_str(json.dumps(KINDS[name])), tokenizers.Tokenizer.from_str(json.dumps(KINDS[name]))


EARLY = ("ids", "type_ids", "special_tokens_mask", "attention_mask")


def facts(encoding: Any) -> dict[str, Any]:
    """All that an Encoding says."""
    size = len(encoding)
    names = (
        "ids",
        "tokens",
        "offsets",
        "word_ids",
        "type_ids",
        "special_tokens_mask",
        "attention_mask",
        "sequence_ids",
        "n_sequences",
    )
    early_first = size % 2 == 0  # what is made as soon as the ids, before what is made later, or after it
    found = {name: getattr(encoding, name) for name in sorted(names, key=lambda name: (name in EARLY) != early_first)}
    places = itertools.product(range(min(size, 5) + 3), range(3))
    lookups = ("char_to_token", "char_to_word", "word_to_tokens", "word_to_chars")
    found["lookups"] = [getattr(encoding, lookup)(at, sequence) for at, sequence in places for lookup in lookups]
    by_token = ("token_to_chars", "token_to_word")
    found["by token"] = [getattr(encoding, lookup)(at) for at in range(size + 3) for lookup in by_token]
    # Of a token that is of two texts, tokenizers gives the one that its hash table has first: see test_texts_of_tokens.
    found["of a text"] = [encoding.token_to_sequence(at) is not None for at in range(size + 3)]
    found["overflowing"] = [facts(one) for one in encoding.overflowing]
    return found


def outcome(call: Callable[[], Any]) -> Any:
    """What came out, in a form that can be compared, or which kind of exception."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = call()
    except (TypeError, OverflowError, AttributeError) as error:
        return type(error).__name__
    except Exception:
        return "Exception"
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # which is none of Exception
            raise
        return "Exception"
    if isinstance(found, (ours.Encoding, tokenizers.Encoding)):
        return facts(found)
    if isinstance(found, list) and found and isinstance(found[0], (ours.Encoding, tokenizers.Encoding)):
        return [facts(one) for one in found]
    return found


def alike(pair: tuple[Any, Any], method: str, *arguments: Any, **options: Any) -> None:
    mine, theirs = (outcome(lambda: getattr(one, method)(*arguments, **options)) for one in pair)  # noqa: B023
    assert mine == theirs


def ascii_of(value: Any) -> str:
    """The name of a case, which is the same in each process of the tests."""
    return ascii(value).partition(" at 0x")[0]


def agree(call: Callable[[Any, Any], Any]) -> None:
    """Of a tokenizer and the module it is of, the same comes out, whichever of both it is."""
    mine, theirs = (outcome(partial(call, one, kind)) for one, kind in zip(both("template"), (ours, tokenizers), strict=True))
    assert mine == theirs


# --- encoding -------------------------------------------------------------------------------------------------------------------


@given(name=NAMES, text=TEXTS, other=st.none() | TEXTS, around=st.booleans())
@settings(deadline=None, max_examples=500)
def test_encode(name: str, text: str, other: str | None, around: bool) -> None:
    alike(PAIRS[name], "encode", text, other, add_special_tokens=around)


@given(
    name=NAMES, words=st.lists(TEXTS, max_size=4), other=st.none() | st.lists(TEXTS, max_size=3).map(tuple), around=st.booleans()
)
@settings(deadline=None, max_examples=200)
def test_encode_words(name: str, words: list[str], other: Any, around: bool) -> None:
    alike(PAIRS[name], "encode", words, other, is_pretokenized=True, add_special_tokens=around)


@given(
    name=NAMES,
    batch=st.lists(TEXTS | st.tuples(TEXTS, TEXTS) | st.lists(TEXTS, min_size=2, max_size=2), max_size=4),
    around=st.booleans(),
)
@settings(deadline=None, max_examples=200)
def test_batches(name: str, batch: list[Any], around: bool) -> None:
    for method in ("encode_batch", "encode_batch_fast"):
        alike(PAIRS[name], method, batch, add_special_tokens=around)


@given(
    name=NAMES,
    batch=st.lists(st.lists(TEXTS, max_size=3) | st.tuples(st.lists(TEXTS, max_size=2), st.lists(TEXTS, max_size=2)), max_size=3),
)
@settings(deadline=None, max_examples=200)
def test_batches_of_words(name: str, batch: list[Any]) -> None:
    for method in ("encode_batch", "encode_batch_fast"):
        alike(PAIRS[name], method, batch, is_pretokenized=True)


TRUNCATIONS = st.fixed_dictionaries(
    {"max_length": st.integers(0, 9)},
    optional={
        "stride": st.integers(0, 3),
        "strategy": st.sampled_from(["longest_first", "only_first", "only_second"]),
        "direction": st.sampled_from(["left", "right"]),
    },
)
PADDINGS = st.fixed_dictionaries(
    {},
    optional={
        "length": st.none() | st.integers(0, 9),
        "pad_to_multiple_of": st.none() | st.integers(0, 4),
        "direction": st.sampled_from(["left", "right"]),
        "pad_id": st.integers(0, 9),
        "pad_type_id": st.integers(0, 9),
        "pad_token": st.sampled_from(["[PAD]", "\u0120x"]),
    },
)


@pytest.mark.parametrize("name", KINDS)
@given(
    cut=st.none() | TRUNCATIONS,
    fill=st.none() | PADDINGS,
    batch=st.lists(TEXTS | st.tuples(TEXTS, TEXTS), min_size=1, max_size=3),
    around=st.booleans(),
)
@settings(deadline=None, max_examples=20)
def test_truncation_and_padding(name: str, cut: Any, fill: Any, batch: list[Any], around: bool) -> None:
    pair = both(name)
    if cut is not None:
        alike(pair, "enable_truncation", **cut)
    if fill is not None:
        alike(pair, "enable_padding", **fill)
    for one in pair:
        assert one.truncation == pair[1].truncation and one.padding == pair[1].padding
    for text in batch:
        first, second = text if isinstance(text, tuple) else (text, None)
        alike(pair, "encode", first, second, add_special_tokens=around)
    alike(pair, "encode_batch", batch, add_special_tokens=around)
    alike(pair, "encode_batch_fast", batch, add_special_tokens=around)
    again = ours.Tokenizer.from_str(pair[0].to_str()), tokenizers.Tokenizer.from_str(pair[0].to_str())
    assert again[1].to_str() == pair[1].to_str()
    alike(again, "encode_batch", batch, add_special_tokens=around)
    for one in pair:
        one.no_truncation()
        one.no_padding()
        assert one.truncation is None and one.padding is None
    alike(pair, "encode", "hello world")


@pytest.mark.parametrize("direction", ["left", "right"])
@pytest.mark.parametrize("name", KINDS)
def test_texts_that_are_much_too_long(name: str, direction: str) -> None:
    """Of which the ends differ: most of such a text leaves no trace, whichever end is kept."""
    batch = ["hello a hello b hello o hello e!", "a", "12 o word sword hello ab ba", "b " * 40 + "!"]
    for length in (0, 2, 5):
        pair = both(name)
        alike(pair, "enable_truncation", max_length=length, direction=direction)
        for around in (True, False):
            alike(pair, "encode_batch", batch, add_special_tokens=around)
            alike(pair, "encode_batch_fast", batch, add_special_tokens=around)
            alike(pair, "encode", batch[0], add_special_tokens=around)


@pytest.mark.parametrize("options", [
    {"max_length": -1}, {"max_length": "a"}, {"max_length": 1 << 64}, {"max_length": 3, "stride": -1}, {"max_length": 3, "strategy": "x"},
    {"max_length": 3, "direction": "x"},
    {"max_length": 3, "strategy": 5}, {"max_length": 3, "other": 5}, {"max_length": 3, "stride": 4}, {},
])  # fmt: skip
def test_truncation_that_cannot_be(options: dict[str, Any]) -> None:
    for name in ("plain", "template"):
        pair = both(name)
        alike(pair, "enable_truncation", **options)
        assert pair[0].truncation == pair[1].truncation


@pytest.mark.parametrize("options", [
    {"length": -1}, {"length": "a"}, {"pad_id": -1}, {"pad_id": 1 << 32}, {"pad_token": 5}, {"direction": "x"}, {"pad_to_multiple_of": -1},
    {"pad_type_id": -1}, {"pad_id": None}, {"other": 5}, {"direction": None},
])  # fmt: skip
def test_padding_that_cannot_be(options: dict[str, Any]) -> None:
    pair = both("plain")
    alike(pair, "enable_padding", **options)
    assert pair[0].padding == pair[1].padding


@pytest.mark.parametrize("options", [
    {"max_length": 7}, {"max_length": 7, "length": 9}, {"length": 9, "max_length": 7}, {"length": None, "max_length": np.int64(7)},
    {"max_length": None}, {"max_length": -1}, {"max_length": "a"}, {"max_length": 1 << 64},
], ids=repr)  # fmt: skip
def test_the_old_name_of_the_length(options: dict[str, Any]) -> None:
    pair = both("template")
    alike(pair, "enable_padding", **options)
    assert pair[0].padding == pair[1].padding
    alike(pair, "encode", "hello")
    with pytest.warns(DeprecationWarning, match="length="):
        pair[0].enable_padding(max_length=7)


@given(name=NAMES, text=TEXTS, other=st.none() | TEXTS, cut=st.none() | TRUNCATIONS, around=st.booleans(), again=st.booleans())
@settings(deadline=None, max_examples=150)
def test_post_process(name: str, text: str, other: str | None, cut: Any, around: bool, again: bool) -> None:
    """Of what was encoded without special tokens, as it is meant, and with them."""
    pair = both(name)
    encoded = [[one.encode(part, add_special_tokens=again) for part in (text, other) if part is not None] for one in pair]
    before = [facts(one) for one in encoded[0]]
    if cut is not None:
        alike(pair, "enable_truncation", **cut)
    for one in pair:
        one.enable_padding(length=6)
    results = [
        outcome(partial(one.post_process, *parts, add_special_tokens=around)) for one, parts in zip(pair, encoded, strict=True)
    ]
    assert results[0] == results[1]
    assert [facts(one) for one in encoded[0]] == before


WRONG = [
    b"a",
    None,
    5,
    "\ud83d",
    "\ud83d\udc4d",
    ["a"],
    ("a", "b"),
    ["a", 5],
    [],
    [["a"], ["b"]],
    ["a", "b", "c"],
    {"a": "b"},
    np.array(["a", "b"]),
    np.array(["a", "b"], dtype=object),
]


@pytest.mark.parametrize("text", [*WRONG, "ab"], ids=repr)
@pytest.mark.parametrize("words", [False, True])
def test_what_are_no_texts(text: Any, words: bool) -> None:
    pair = PAIRS["bert"]
    if isinstance(text, np.ndarray) and text.dtype != object and words:
        with pytest.raises(TypeError):  # of which tokenizers reads the memory
            pair[0].encode(text, is_pretokenized=True)
        return
    alike(pair, "encode", text, is_pretokenized=words)
    if text is not None:
        alike(pair, "encode", ["a"] if words else "a", text, is_pretokenized=words)
    for method in ("encode_batch", "encode_batch_fast"):
        alike(pair, method, [text], is_pretokenized=words)
        alike(pair, method, text, is_pretokenized=words)


@pytest.mark.parametrize("value", [None, 0, 1, "a", 2.0, [], True, False, np.True_, np.False_], ids=repr)
def test_what_are_no_booleans(value: Any) -> None:
    def added_token(kind: Any) -> Any:
        token = kind.AddedToken("a")
        token.special = value
        return repr(token)

    def encoding_special(one: Any) -> Any:
        one.encode_special_tokens = value
        return one.encode_special_tokens

    for method in ("encode", "encode_batch", "encode_batch_fast"):
        for option in ("is_pretokenized", "add_special_tokens"):
            agree(lambda one, kind: getattr(one, method)("a" if method == "encode" else ["a"], **{option: value}))  # noqa: B023
    agree(lambda one, kind: one.post_process(one.encode("a"), None, value))
    agree(lambda one, kind: one.num_special_tokens_to_add(value))
    agree(lambda one, kind: one.decode([0, 270], skip_special_tokens=value))
    agree(lambda one, kind: one.decode_batch([[0, 270]], skip_special_tokens=value))
    agree(lambda one, kind: one.get_vocab(value))
    agree(lambda one, kind: one.get_vocab_size(value))
    agree(lambda one, kind: encoding_special(one))
    agree(lambda one, kind: len(one.to_str(value)) and None)
    agree(lambda one, kind: kind.Encoding.merge([one.encode("a")] * 2, value))
    agree(lambda one, kind: added_token(kind))
    for option in ("special", "lstrip", "rstrip", "normalized", "single_word"):
        agree(lambda one, kind: repr(kind.AddedToken("a", **{option: value})))  # noqa: B023
    agree(lambda one, kind: decode_stream(kind, [64], skip_special_tokens=value).step(one, 270))


@pytest.mark.parametrize("value", [None, "a", b"a", 5, [], {}], ids=repr)
def test_what_are_no_encodings(value: Any) -> None:
    agree(lambda one, kind: one.post_process(value))
    agree(lambda one, kind: one.post_process(one.encode("a"), value))
    agree(lambda one, kind: kind.Encoding.merge(value))
    agree(lambda one, kind: kind.Encoding.merge([one.encode("a"), value]))


@pytest.mark.parametrize("change", [iter, set, list, tuple, dict.fromkeys, lambda items: (item for item in items)])
def test_what_are_no_sequences(change: Callable[[Any], Any]) -> None:
    agree(lambda one, kind: kind.Encoding.merge(change([one.encode("a")])))
    agree(lambda one, kind: one.encode_batch(change(["a"])))
    agree(lambda one, kind: one.encode_batch_fast(change(["a"])))
    agree(lambda one, kind: one.decode_batch(change([(64, 65)])))
    agree(lambda one, kind: one.decode_batch([change([64, 65])]))
    agree(lambda one, kind: one.decode(change([64, 65])))
    agree(lambda one, kind: decode_stream(kind, change([64])).step(one, 65))
    agree(lambda one, kind: decode_stream(kind).step(one, change([64])))


@pytest.mark.parametrize("options", [
    {"max_length": 1, "direction": None}, {"max_length": 9, "direction": 5}, {"max_length": 9, "stride": -1},
    {"max_length": 0, "stride": 1 << 64}, {"max_length": 9, "stride": "a"}, {"max_length": np.int64(3), "stride": np.int64(1)},
], ids=repr)  # fmt: skip
def test_cutting_that_cannot_be(options: dict[str, Any]) -> None:
    pair: Any = tuple(one.encode("hello world") for one in PAIRS["template"])
    alike(pair, "truncate", **options)
    assert facts(pair[0]) == facts(pair[1])


def test_what_is_awaited() -> None:
    """What is wrong with an argument is said at once; and what is encoded is not changed by what is set meanwhile."""
    pair = both("template")

    async def run(tokenizer: Any) -> list[Any]:
        one = tokenizer.async_encode("hello wor", "ab")
        many = tokenizer.async_encode_batch([["hello", "wor", "a"], (["a"], ["b"])], is_pretokenized=True, add_special_tokens=False)
        fast = tokenizer.async_encode_batch_fast(["hello", ("a", "b")])
        texts = tokenizer.async_decode_batch([[64, 270], (65, 66)], skip_special_tokens=False)
        assert all(isinstance(future, asyncio.Future) for future in (one, many, fast, texts))
        found = [facts(await one), *map(facts, await many), *(encoding.ids for encoding in await fast), await texts]
        for call in (
            partial(tokenizer.async_encode, 5), partial(tokenizer.async_encode, "a", add_special_tokens=1),
            partial(tokenizer.async_encode_batch, "abc"), partial(tokenizer.async_encode_batch, [5]),
            partial(tokenizer.async_encode_batch_fast, iter(["a"])), partial(tokenizer.async_decode_batch, [["a"]]),
            partial(tokenizer.async_decode_batch, 5), partial(tokenizer.async_decode_batch, [[1]], skip_special_tokens=None),
        ):  # fmt: skip
            with pytest.raises(TypeError):
                call()
        return found

    mine, theirs = (asyncio.run(run(tokenizer)) for tokenizer in pair)
    assert mine == theirs
    for tokenizer in pair:
        with pytest.raises(RuntimeError, match="no running event loop"):
            tokenizer.async_encode("a")


def test_a_surrogate_has_no_utf_8() -> None:
    agree(lambda one, kind: one.token_to_id("\ud800"))
    agree(lambda one, kind: kind.AddedToken("\ud800"))
    agree(lambda one, kind: setattr(kind.AddedToken("a"), "content", "\ud800"))
    agree(lambda one, kind: one.add_tokens(["\ud800"]))
    agree(lambda one, kind: one.add_special_tokens(["\ud800"]))
    agree(lambda one, kind: one.enable_padding(pad_token="\ud800"))
    agree(lambda one, kind: one.encode("a").pad(9, pad_token="\ud800"))
    with pytest.raises(UnicodeEncodeError):
        PAIRS["template"][0].token_to_id("\ud800")
    with pytest.raises(VocabularyError) as raised:
        ours.Tokenizer.from_str(json.dumps(made(added_tokens=[added(270, "\ud800", special=True)])))
    assert str(raised.value).encode().endswith(rb'"\ud800" has a lone surrogate')  # it can be printed


def test_threads() -> None:
    tokenizer, reference = both("byte level, template")
    texts = [f"hello world {at} <s> word" * (at % 7) for at in range(200)]
    expected = [one.offsets for one in reference.encode_batch(texts)]
    found: list[Any] = []
    threads = [
        threading.Thread(target=lambda: found.append([one.offsets for one in tokenizer.encode_batch(texts)])) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 4


def test_the_rest_is_that_of_the_tokenizer_that_encoded() -> None:
    """Although it is made later."""
    tokenizer, reference = both("template")
    mine, theirs = tokenizer.encode("hello new"), reference.encode("hello new")
    tokenizer.add_tokens(["new"])
    tokenizer.enable_truncation(3)
    assert facts(mine) == facts(theirs)


def test_long_texts() -> None:
    rng = random.Random(5)
    text = "".join(rng.choices(PARTS, k=5000))
    for pair in PAIRS.values():
        mine, theirs = (one.encode(text) for one in pair)
        assert (mine.ids, mine.tokens, mine.offsets, mine.word_ids) == (theirs.ids, theirs.tokens, theirs.offsets, theirs.word_ids)


# --- offsets of normalized text -------------------------------------------------------------------------------------------------

COMPOSING = [
    "a", "e", "\u0301", "\u0323", "\u0316", "é", "ẹ", "ế", "\u0344", "\u0958", "\u093c", "가", "ᄀ", "ᅡ", "ᆨ",
    "\u212b", "\u0f73", "\u0f71", "\u1eae",
    "\u0327", "\u09c7", "\u09be", "\u2adc", "\u0338", "\U0001d15e", "\u0897", "\U00011935", "\U00011930", "\U0001133e", "\U00011347", "\u0345",
]  # fmt: skip


def test_places_in_normalized_text() -> None:
    assert aligned_nfc("xe\u0301") == ("x\u00e9", [(0, 1), (1, 2)])
    tokenizer = tokenizers.Tokenizer.from_str(
        json.dumps(tokenizer_json(normalizer={"type": "NFC"}, pre_tokenizer={**UNTRIMMED, "use_regex": False}, post_processor=None))
    )
    texts = ["".join(parts) for size in (1, 2) for parts in itertools.product(COMPOSING, repeat=size)]
    rng = random.Random(3)
    texts += ["".join(rng.choices(COMPOSING, k=rng.randint(3, 9))) for _ in range(3000)]
    for text in texts:
        normalized, places = aligned_nfc(text)
        places = [(at, at + 1) for at in range(len(text))] if places is None else places
        assert tokenizer.encode(text).offsets == [
            place for one, place in zip(normalized, places, strict=True) for _ in one.encode()
        ], ascii(text)


# --- Encoding -------------------------------------------------------------------------------------------------------------------

STEPS: Any = st.one_of(
    st.tuples(
        st.just("pad"),
        st.tuples(st.integers(0, 14)),
        st.fixed_dictionaries(
            {},
            optional={
                "direction": st.sampled_from(["left", "right", "up"]),
                "pad_id": st.integers(0, 3),
                "pad_token": st.just("x"),
                "other": st.just(3),
            },
        ),
    ),
    st.tuples(
        st.just("truncate"),
        st.tuples(st.integers(0, 9)),
        st.fixed_dictionaries({}, optional={"stride": st.integers(0, 3), "direction": st.sampled_from(["left", "right", "up"])}),
    ),
    st.tuples(st.just("set_sequence_id"), st.tuples(st.integers(0, 2)), st.just({})),
)


@given(text=TEXTS, other=st.none() | TEXTS, steps=st.lists(STEPS, max_size=4))
@settings(deadline=None, max_examples=200)
def test_changing_encodings(text: str, other: str | None, steps: list[Any]) -> None:
    pair = tuple(one.encode(text, other) for one in PAIRS["template"])
    for method, arguments, options in steps:
        alike(pair, method, *arguments, **options)  # type: ignore[arg-type]
        assert facts(pair[0]) == facts(pair[1])


@given(
    name=NAMES.filter(lambda name: name not in ("template, byte level", "template, untrimmed")), text=TEXTS, other=st.none() | TEXTS
)
@settings(deadline=None, max_examples=200)
def test_texts_of_tokens(name: str, text: str, other: str | None) -> None:
    mine, theirs = (one.encode(text, other) for one in PAIRS[name])
    assert [mine.token_to_sequence(at) for at in range(len(mine) + 2)] == [
        theirs.token_to_sequence(at) for at in range(len(mine) + 2)
    ]


@given(texts=st.lists(TEXTS.map(lambda text: text[:9]), max_size=4), cut=st.integers(2, 6), growing=st.booleans())
@settings(deadline=None, max_examples=100)
def test_merging(texts: list[str], cut: int, growing: bool) -> None:
    results = []
    kinds: tuple[Any, Any] = (ours.Encoding, tokenizers.Encoding)
    for one, kind in zip(PAIRS["template"], kinds, strict=True):
        parts: list[Any] = [one.encode(text) for text in texts]
        for part in parts[::2]:
            part.truncate(cut)
        results.append(facts(kind.merge(parts, growing_offsets=growing)))
        assert facts(kind.merge(parts)) == facts(kind.merge(parts, True))
    assert results[0] == results[1]


def test_empty_encodings() -> None:
    assert facts(ours.Encoding()) == facts(tokenizers.Encoding())
    assert facts(ours.Encoding.merge([])) == facts(tokenizers.Encoding.merge([]))


@pytest.mark.parametrize(
    "method",
    ["char_to_token", "char_to_word", "token_to_chars", "token_to_word", "token_to_sequence", "word_to_tokens", "word_to_chars"],
)
@pytest.mark.parametrize("place", [-1, "a", None, 1.0, 1 << 64, 1 << 32, np.int64(1)], ids=repr)
def test_places_that_cannot_be(method: str, place: Any) -> None:
    pair = tuple(one.encode("hello world", "ab") for one in PAIRS["template"])
    alike(pair, method, place)  # type: ignore[arg-type]
    if not method.startswith("token_"):
        alike(pair, method, 0, place)  # type: ignore[arg-type]


@pytest.mark.parametrize("cut", [False, True])
@pytest.mark.parametrize("name", KINDS)
def test_encodings_of_one_length_do_not_change_each_other(name: str, cut: bool) -> None:
    """They share what all such have in common."""
    one = ours.Tokenizer.from_str(json.dumps(KINDS[name]))
    if cut:
        one.enable_truncation(7)
        one.enable_padding(length=9, direction="left")
    texts = ["a b", "b a", "o !", "hello a hello b hello o hello"]
    expected = [facts(each) for each in one.encode_batch(texts)]
    changes: list[Callable[[Any], object]] = [
        lambda each: each.pad(20, pad_id=5, pad_type_id=6, direction="left"), lambda each: each.truncate(1), lambda each: each.set_sequence_id(3),
        lambda each: each.truncate(0), lambda each: each.pad(20), one.post_process, lambda each: ours.Encoding.merge([each, each]),
        lambda each: [getattr(each, column).append(7) for column in ("ids", "type_ids", "attention_mask", "special_tokens_mask")],
        lambda each: one.post_process(each, each), lambda each: one.post_process(each, add_special_tokens=False),
    ]  # fmt: skip
    for change in changes:
        for method in (one.encode_batch, one.encode_batch_fast):
            change(method(texts)[0])
        change(one.encode(texts[0]))
        assert [facts(each) for each in one.encode_batch(texts)] == expected
        assert facts(one.encode(texts[1])) == expected[1]
        assert [each.attention_mask for each in one.encode_batch_fast(texts)] == [each.attention_mask for each in one.encode_batch(texts)]


def test_copies_of_encodings() -> None:
    encoding = PAIRS["template"][0].encode("hello world", "ab")
    encoding.truncate(4)
    for made_again in (pickle.loads(pickle.dumps(encoding)), copy.deepcopy(encoding), copy.copy(encoding)):
        assert facts(made_again) == facts(encoding)
    encoding.ids.append(5)
    encoding.overflowing[0].pad(100)
    assert len(encoding.ids) == 4 and len(encoding.overflowing[0]) < 100
    with pytest.warns(DeprecationWarning, match="word_ids"):
        assert encoding.words == encoding.word_ids
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        encoding.nonsense  # noqa: B018
    assert repr(encoding) == "<Encoding of 4 tokens>"


# --- ids ------------------------------------------------------------------------------------------------------------------------


@given(name=NAMES, ids=st.lists(st.integers(0, 290), max_size=12), skip=st.booleans())
@settings(deadline=None, max_examples=200)
def test_decoding(name: str, ids: list[int], skip: bool) -> None:
    alike(PAIRS[name], "decode", ids, skip)
    alike(PAIRS[name], "decode", ids)
    alike(PAIRS[name], "decode_batch", [ids, ids[:3], []], skip_special_tokens=skip)


@pytest.mark.parametrize(
    "ids",
    [
        [-1], [1 << 32], [5000, -1], [5000], ["a"], "ab", "", [1.0], None, (1, 2), [None], [True], [np.int64(4)], b"ab", bytearray(b"ab"),
        memoryview(b"ab"), range(64, 66), np.array([64, 65], dtype=object), np.array([64.0]), np.array([[64]]), np.array(64), np.array([-1]), 5,
    ],
    ids=ascii_of,
)  # fmt: skip
def test_what_are_no_ids(ids: Any) -> None:
    for pair in (PAIRS["template"], PAIRS["plain"], PAIRS["no decoder"]):
        alike(pair, "decode", ids)
        alike(pair, "decode_batch", [ids])
        alike(pair, "decode_batch", ids)
    agree(lambda one, kind: decode_stream(kind, ids).step(one, 64))
    agree(lambda one, kind: decode_stream(kind).step(one, ids))


def test_ids_may_be_an_array() -> None:
    for one in PAIRS["template"]:
        assert one.decode(np.array([270, 64, 65])) == "ab"


@pytest.mark.parametrize("name", KINDS)
def test_vocabularies(name: str) -> None:
    pair = PAIRS[name]
    for number in [*range(290), 5000, -1, 1 << 32, "a", None, 1.0]:
        alike(pair, "id_to_token", number)
    for token in [*pair[1].get_vocab(), "nonsense", "", b"a", None, "e\u0301!", "\u00e9!"]:
        alike(pair, "token_to_id", token)
    for with_added in (True, False):
        alike(pair, "get_vocab", with_added)
        alike(pair, "get_vocab_size", with_added)
        alike(pair, "num_special_tokens_to_add", with_added)
    assert {number: str(token) for number, token in pair[0].get_added_tokens_decoder().items()} == {
        number: str(token) for number, token in pair[1].get_added_tokens_decoder().items()
    }


STREAMED = st.lists(
    st.sampled_from(
        [*(number for character in "é中👍 a" for number in PAIRS["plain"][1].encode(character).ids), 270, 271, 64, 5000]
    ),
    max_size=4,
)


def decode_stream(kind: Any, *arguments: Any, **options: Any) -> Any:
    return (kind.DecodeStream if kind is ours else kind.decoders.DecodeStream)(*arguments, **options)


class Indexed:
    """As a tensor of one number, it is one where an index is asked for, and has a hash of its own."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __index__(self) -> int:
        return self.number


def test_a_token_that_was_special_is_left_out() -> None:
    """Whatever is said of it later, and when its tokenizer is made anew."""
    for kind, one in zip((ours, tokenizers), both("template"), strict=True):
        one.add_special_tokens([kind.AddedToken("<was>", special=True)])
        one.add_tokens([kind.AddedToken("<was>", special=False, lstrip=True), kind.AddedToken("<never>")])
        ids = [one.token_to_id(token) for token in ("<was>", "h", "<never>")]
        for normalizer in (None, tokenizers.normalizers.NFC()):
            if normalizer is not None:
                one.normalizer = normalizer
            assert one.decode(ids) == one.decode_batch([ids])[0] == "h<never>"
            assert one.decode(ids, False) == one.decode_batch([ids], False)[0] == "<was>h<never>"


@pytest.mark.filterwarnings("error")  # numpy warns where numbers of 16 bits are added up
@pytest.mark.parametrize("of", [Indexed, np.array, np.int64, np.uint16, int])
@pytest.mark.parametrize("sequence_of", [list, tuple])
def test_ids_that_are_numbers_where_they_are_asked(of: Any, sequence_of: Any) -> None:
    mine, reference = both("template")
    for numbers in ([270, 64, 271, 257], [64, 65], [270], [], [270, 5000], [270, 50_000, 50_000]):
        ids = sequence_of(map(of, numbers))
        for skip in (True, False):
            assert mine.decode(ids, skip_special_tokens=skip) == reference.decode(ids, skip_special_tokens=skip)
            assert mine.decode_batch([ids], skip_special_tokens=skip) == reference.decode_batch([ids], skip_special_tokens=skip)


@pytest.mark.parametrize("number", [64, np.int64(64), np.uint32(64), True, -1, 1 << 32, np.int64(-1), 1.0, np.float64(64.0), None, "a"], ids=repr)
def test_one_id_of_a_decode_stream(number: Any) -> None:
    agree(lambda one, kind: decode_stream(kind).step(one, number))
    agree(lambda one, kind: decode_stream(kind).step(one, [number]))


@pytest.mark.parametrize("tokenizer", [None, 5, "a", b"a"])
def test_what_is_no_tokenizer(tokenizer: Any) -> None:
    agree(lambda one, kind: decode_stream(kind).step(tokenizer, 64))


STEPS = STREAMED.filter(bool) | STREAMED.filter(bool).map(lambda ids: ids[0])


@given(name=st.sampled_from(["plain", "template"]), before=st.none() | STREAMED, steps=st.lists(STEPS, max_size=8), skip=st.booleans())
@settings(deadline=None, max_examples=150)
def test_decode_stream(name: str, before: Any, steps: list[Any], skip: bool) -> None:
    pair = PAIRS[name]
    streams = [kind(before, skip_special_tokens=skip) for kind in (ours.DecodeStream, tokenizers.decoders.DecodeStream)]
    for step in steps:
        results = [outcome(lambda: stream.step(one, step)) for stream, one in zip(streams, pair, strict=True)]  # noqa: B023
        assert results[0] == results[1]
        streams = [copy.copy(stream) for stream in streams]


def with_other_ids(found: dict[str, Any]) -> dict[str, Any]:
    names = sorted(found["model"]["vocab"])
    return {**found, "model": {**found["model"], "vocab": {name: number for number, name in enumerate(names)}}}


OTHER_IDS = tuple(kind.Tokenizer.from_str(json.dumps(with_other_ids(KINDS["plain"]))) for kind in (ours, tokenizers))


@given(
    before=st.none() | STREAMED,
    steps=st.lists(st.tuples(st.sampled_from(["template", "no decoder", "grows", "stays", "stays", "other ids"]), STEPS), max_size=10),
    skip=st.booleans(),
)
@settings(deadline=None, max_examples=150)
def test_a_decode_stream_of_several_tokenizers(before: Any, steps: list[Any], skip: bool) -> None:
    """What came out stays; it may be another text to the next one, or to one that has other tokens by then."""
    pair = both("plain")
    streams = [kind(before, skip_special_tokens=skip) for kind in (ours.DecodeStream, tokenizers.decoders.DecodeStream)]
    for number, (which, step) in enumerate(steps):
        if which == "grows":
            for one in pair:
                one.add_special_tokens([f"<{number}>"])
        using = OTHER_IDS if which == "other ids" else PAIRS.get(which, pair)
        results = [outcome(lambda: stream.step(one, step)) for stream, one in zip(streams, using, strict=True)]  # noqa: B023
        assert results[0] == results[1]
        streams = [copy.deepcopy(stream) for stream in streams]


def test_a_copy_of_a_decode_stream_goes_its_own_way() -> None:
    one, reference = PAIRS["plain"]
    ids = reference.encode("é中👍 a").ids
    for end in range(len(ids)):
        for kind, tokenizer in ((ours.DecodeStream, one), (tokenizers.decoders.DecodeStream, reference)):
            stream = kind()
            begun = [stream.step(tokenizer, number) for number in ids[:end]]
            other = copy.deepcopy(stream)
            found = ["".join(part for part in [*begun, *map(partial(each.step, tokenizer), ids[end:])] if part) for each in (stream, other)]
            assert found == ["é中👍 a"] * 2


def test_numbers_of_other_types_in_settings() -> None:
    for number in (np.int64(3), True):
        pair = [kind.Tokenizer.from_str(PAIRS["plain"][1].to_str()) for kind in (ours, tokenizers)]
        for one in pair:
            one.enable_truncation(number)
            one.enable_padding(length=np.int64(9), pad_id=number, pad_type_id=number)
        assert pair[0].encode("hello hello hello").ids == pair[1].encode("hello hello hello").ids
        assert pickle.loads(pickle.dumps(pair[0])).to_str() == pair[0].to_str()
        assert json.loads(pair[0].to_str())["padding"] == json.loads(pair[1].to_str())["padding"]


def test_one_encoding_is_read_by_several_threads() -> None:
    one = PAIRS["plain"][0]
    failed: list[BaseException] = []

    def read(encoding: Any, expected: Any, barrier: threading.Barrier) -> None:
        barrier.wait()
        try:
            assert (encoding.offsets, encoding.overflowing, encoding.tokens) == expected
        except BaseException as error:
            failed.append(error)

    for _ in range(100):
        encoding, again = one.encode_batch(["hello hello hello"] * 2)
        expected = (again.offsets, again.overflowing, again.tokens)
        barrier = threading.Barrier(4)
        readers = [threading.Thread(target=read, args=(encoding, expected, barrier)) for _ in range(4)]
        for reader in readers:
            reader.start()
        for reader in readers:
            reader.join()
    assert failed == []


def test_a_decode_stream_of_an_array() -> None:
    ids = PAIRS["plain"][1].encode("hello").ids
    assert ours.DecodeStream(np.array(ids)).step(PAIRS["plain"][0], ids) == ours.DecodeStream(ids).step(PAIRS["plain"][0], ids)  # type: ignore[arg-type]


# --- added tokens ---------------------------------------------------------------------------------------------------------------


@st.composite
def added_tokens(draw: Any) -> list[Any]:
    """str, and arguments of AddedToken."""
    content = st.sampled_from(["<s>", "<new>", "hello", "he", "ab", "word", "", "\u00ef", "Ġ", "<mask>", "\u00e9t"])
    flags = st.dictionaries(
        st.sampled_from(["special", "lstrip", "rstrip", "single_word", "normalized"]), st.booleans(), max_size=3
    )
    return [draw(content) if draw(st.booleans()) else (draw(content), draw(flags)) for _ in range(draw(st.integers(1, 3)))]


def as_tokens(tokens: list[Any], kind: Any) -> list[Any]:
    return [one if isinstance(one, str) else kind(one[0], **one[1]) for one in tokens]


@given(
    name=st.sampled_from(["plain", "template", "bert", "roberta"]),
    steps=st.lists(st.tuples(st.booleans(), added_tokens()), min_size=1, max_size=3),
    texts=st.lists(TEXTS, max_size=3),
)
@settings(deadline=None, max_examples=150)
def test_adding_tokens(name: str, steps: list[Any], texts: list[str]) -> None:
    pair = both(name)
    for special, tokens in steps:
        method = "add_special_tokens" if special else "add_tokens"
        before = pair[0].to_str()
        try:
            count = getattr(pair[0], method)(as_tokens(tokens, ours.AddedToken))
        except VocabularyError:
            assert pair[0].to_str() == before
            return
        assert count == getattr(pair[1], method)(as_tokens(tokens, tokenizers.AddedToken))
    assert repr(pair[0].get_added_tokens_decoder()) == repr(pair[1].get_added_tokens_decoder())
    assert pair[0].get_vocab() == pair[1].get_vocab() and pair[0].get_vocab_size() == pair[1].get_vocab_size()
    for text in [*texts, "<new>hello ab word ïĠ ét <mask>", "e\u0301t<s>"]:
        alike(pair, "encode", text)
        for skip in (True, False):
            alike(pair, "decode", pair[1].encode(text).ids, skip)
    for number in range(268, 290):
        alike(pair, "id_to_token", number)
    assert tokenizers.Tokenizer.from_str(pair[0].to_str()).to_str() == pair[1].to_str()


def test_tokens_of_the_original() -> None:
    pair = both("template")
    for one in pair:
        assert one.add_tokens([tokenizers.AddedToken("<new>", lstrip=True)]) == 1
        assert one.add_special_tokens([tokenizers.AddedToken("<new>", lstrip=True)]) == 1
    alike(pair, "encode", "hello <new>")
    assert repr(pair[0].get_added_tokens_decoder()) == repr(pair[1].get_added_tokens_decoder())


@pytest.mark.parametrize("tokens", [["a", 5], ("a",), "a", None, [None], [b"a"], []], ids=repr)
def test_what_are_no_tokens(tokens: Any) -> None:
    pair = both("plain")
    for method in ("add_tokens", "add_special_tokens"):
        alike(pair, method, tokens)
    assert pair[0].get_vocab() == pair[1].get_vocab()


def test_a_list_of_str_is_one_of_tokens() -> None:
    names: list[str] = ["<new>"]  # which mypy takes
    assert ours.Tokenizer.from_str(json.dumps(KINDS["plain"])).add_tokens(names) == 1


def test_added_tokens_are_gone_through_once() -> None:
    """However many there are, and however often ids are decoded and tokens looked up; and all others not at all when more are added."""
    tokenizer = ours.Tokenizer.from_str(json.dumps(KINDS["template"]))
    before = tokenizer._tokens
    assert tokenizer.add_special_tokens([f"<{number}>" for number in range(50)]) == 50
    tokens = tokenizer._tokens
    assert tokens.model is before.model and tokens.model.as_spelled is before.model.as_spelled
    special, size = tokenizer.get_vocab()["<7>"], tokenizer.get_vocab_size()
    assert tokenizer.decode([64, special]) == "a"
    listed, tokens.added = tokens.added, {}  # which nobody looks at now
    assert tokenizer.decode([special, 64]) == "a" and tokenizer.token_to_id("<8>") == special + 1
    assert tokenizer.get_vocab_size() == size and tokenizer.get_vocab()["<9>"] == special + 2
    tokens.added = listed
    assert tokenizer.add_special_tokens(["<more>"]) == 1 and tokenizer.decode([tokenizer.get_vocab()["<more>"], 64]) == "a"


def test_tokens_added_one_by_one_are_each_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """And a tokenizer is made of them when it is needed; but what cannot be added is refused at once."""
    looked_at: list[str] = []
    add, with_added = AddedTokens.add, Tokenizer.with_added_tokens

    def noticed_add(self: AddedTokens, number: int, content: str, *rest: Any) -> None:
        looked_at.append(content)
        add(self, number, content, *rest)

    def noticed_making(*given: Any) -> Any:
        looked_at.append("made")
        return with_added(*given)

    monkeypatch.setattr(AddedTokens, "add", noticed_add)
    monkeypatch.setattr(Tokenizer, "with_added_tokens", noticed_making)
    tokenizer, reference = both("template")
    looked_at.clear()
    for number in range(40):
        assert tokenizer.add_tokens([f"<{number}>"]) == reference.add_tokens([f"<{number}>"]) == 1
    assert looked_at == [one["content"] for one in SPECIALS] + [f"<{number}>" for number in range(40)]
    assert tokenizer.encode("a<7>b<39>").ids == reference.encode("a<7>b<39>").ids and looked_at.count("made") == 1
    with pytest.raises(VocabularyError, match="when normalized"):
        both("byte level")[0].add_tokens([ours.AddedToken("e\u0301", normalized=True), ours.AddedToken("\u00e9", normalized=True)])


def test_what_is_refused_leaves_nothing_behind() -> None:
    tokenizer = both("byte level")[0]
    for first, second in (
        (ours.AddedToken("e\u0301x", normalized=True), ours.AddedToken("\u00e9x", normalized=True)),
        (ours.AddedToken("<r>", rstrip=True, normalized=True), ours.AddedToken(" ", lstrip=True, normalized=True)),
    ):
        with pytest.raises(VocabularyError):
            tokenizer.add_tokens([first, second])
        assert tokenizer.add_tokens([second]) == 1


def test_a_special_token_stays_one() -> None:
    pair = both("template")
    for one, kind in zip(pair, (ours.AddedToken, tokenizers.AddedToken), strict=True):
        assert one.add_tokens([kind("<s>", special=False, normalized=False)]) == 1
        assert one.decode([270, 64]) == "a"
    alike(pair, "encode", "a<s>")


@given(text=TEXTS, name=NAMES)
@settings(deadline=None, max_examples=150)
def test_special_tokens_as_text(text: str, name: str) -> None:
    pair = both(name)
    for one in pair:
        assert one.encode_special_tokens is False
        one.encode_special_tokens = True
        assert one.encode_special_tokens is True
    alike(pair, "encode", f"<s>{text}</s>", text)
    alike(pair, "encode_batch", [text])
    alike(pair, "encode_batch_fast", [text])
    for one in pair:
        one.encode_special_tokens = False
    alike(pair, "encode", f"<s>{text}</s>")


@pytest.mark.parametrize(
    "flags",
    [
        {},
        {"special": True},
        {"special": True, "normalized": True},
        {"lstrip": True, "rstrip": True},
        {"single_word": True, "normalized": False},
    ],
    ids=repr,
)
def test_added_token(flags: dict[str, bool]) -> None:
    for content in ("<mask>", None, ""):
        mine, theirs = ours.AddedToken(content, **flags), tokenizers.AddedToken(content, **flags)
        assert repr(mine) == repr(theirs) and str(mine) == str(theirs) and mine.__getstate__() == theirs.__getstate__()
        assert mine == ours.AddedToken(content, **flags) and mine != ours.AddedToken(
            content, **{**flags, "lstrip": not theirs.lstrip}
        )
        assert hash(mine) == hash(ours.AddedToken(content)) and mine != content
        again = pickle.loads(pickle.dumps(mine))
        assert again == mine and repr(again) == repr(mine)
        mine.special = theirs.special = True
        mine.content = theirs.content = "new"
        assert repr(mine) == repr(theirs)


@pytest.mark.parametrize(
    "state",
    [
        {"content": "q", "lstrip": True}, {}, {"special": True}, {"normalized": False, "other": 1}, {"content": 5}, {"content": "\ud800"},
        {"content": None}, {"special": 1}, {"lstrip": None}, {1: True}, None, 5,
    ],
    ids=repr,
)  # fmt: skip
def test_a_state_of_an_added_token(state: Any) -> None:
    def after(kind: Any) -> str:
        token = kind.AddedToken("a", rstrip=True)
        token.__setstate__(state)
        return repr(token)

    agree(lambda one, kind: after(kind))


def test_added_tokens_that_cannot_be() -> None:
    for arguments, options in (((5,), {}), ((), {"lstrip": 3}), ((), {"special": "x"})):
        for kind in (ours.AddedToken, tokenizers.AddedToken):
            with pytest.raises(TypeError):
                kind(*arguments, **options)
    with pytest.warns(UserWarning, match="foo= is no option"):
        ours.AddedToken("a", foo=True)


# --- files and parts ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", KINDS)
def test_files(name: str, tmp_path: Path) -> None:
    mine, theirs = both(name)
    for pretty in (True, False):
        path = tmp_path / "tokenizer.json"
        mine.save(str(path), pretty=pretty)
        assert tokenizers.Tokenizer.from_file(str(path)).to_str() == theirs.to_str()
        theirs.save(str(path), pretty=pretty)
        assert ours.Tokenizer.from_file(str(path)).to_str() == theirs.to_str()
    assert ours.Tokenizer.from_str(theirs.to_str()).to_str(pretty=True) == theirs.to_str(pretty=True)
    for again in (
        ours.Tokenizer.from_buffer(theirs.to_str().encode()),
        pickle.loads(pickle.dumps(mine)),
        copy.deepcopy(mine),
        ours.Tokenizer(theirs),
    ):
        assert tokenizers.Tokenizer.from_str(again.to_str()).to_str() == theirs.to_str()
        alike((again, theirs), "encode", "hello <s> é word", "中国 e\u0301!")


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_what_a_copy_forgets(again: Callable[[Any], Any]) -> None:
    """It is what the file would be: nothing there says that special tokens are text, or what was special once."""
    pair = []
    for one, kind in zip(both("template"), (ours, tokenizers), strict=True):
        one.encode_special_tokens = True
        one.add_tokens([kind.AddedToken("</s>", special=False, normalized=False)])
        pair.append(again(one))
        assert pair[-1].encode_special_tokens is False
    alike((pair[0], pair[1]), "encode", "hello <s></s>")
    alike((pair[0], pair[1]), "decode", [64, 270, 271])


def test_files_that_leave_something_out() -> None:
    """As those of gpt2 do. What the original fills in is there in what is written, and merges are pairs."""
    level = {key: value for key, value in BYTE_LEVEL.items() if key != "use_regex"}
    model = {"vocab": dict(reversed(made()["model"]["vocab"].items())), "merges": ["#version: 0.2", *MERGES]}
    data = json.dumps({"model": model, "decoder": level, "pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "Punctuation"}, level]}})
    for pretty in (True, False):
        assert ours.Tokenizer.from_str(data).to_str(pretty) == tokenizers.Tokenizer.from_str(data).to_str(pretty)


def test_a_file_that_could_not_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: Any) -> None:
        raise OSError(28, "No space left on device")

    mine, path = both("plain")[0], tmp_path / "tokenizer.json"
    path.write_text("before")
    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="No space left"):
        mine.save(path)
    assert [one.read_text() for one in tmp_path.iterdir()] == ["before"]


def test_files_that_cannot_be(tmp_path: Path) -> None:
    for text in ("", "{", "[]", "{}", '{"version": "1.0"}'):
        for kind in (ours.Tokenizer, tokenizers.Tokenizer):
            with pytest.raises(Exception):  # noqa: B017
                kind.from_str(text)
            with pytest.raises(ValueError):
                kind.from_buffer(text.encode())
    content = json.dumps(KINDS["plain"])
    others: Any = ([], None, 5, 0, list(content.encode()), bytearray(content.encode()), memoryview(content.encode()), tuple(content.encode()))
    for other in (*others, content, b"\xef\xbb\xbf" + content.encode(), content.encode("utf-16"), content.encode("utf-16-le")):
        agree(lambda one, kind: kind.Tokenizer.from_buffer(other) and None)  # noqa: B023
    for other in (*others, content.encode(), "\ufeff" + content, "\ud800"):
        agree(lambda one, kind: kind.Tokenizer.from_str(other) and None)  # noqa: B023
    for other in (None, 5, []):
        agree(lambda one, kind: kind.Tokenizer.from_pretrained(other))  # noqa: B023
    with pytest.raises(OSError):
        ours.Tokenizer.from_file(str(tmp_path / "nowhere.json"))
    with pytest.raises(VocabularyError, match="model"):
        ours.Tokenizer.from_str(json.dumps(made() | {"model": {"type": "Unigram", "vocab": []}}))
    with pytest.raises(VocabularyError, match=r'truncation\.strategy: "Longest" is not supported'):
        ours.Tokenizer.from_str(
            json.dumps(made() | {"truncation": {"direction": "Right", "max_length": 5, "strategy": "Longest", "stride": 0}})
        )
    cut = {"type": "Split", "pattern": {"Regex": "("}, "behavior": "Isolated", "invert": False}
    with pytest.raises(VocabularyError, match=r"^tokenizer\.json: the pre_tokenizer of \w+: this group is not closed"):
        ours.Tokenizer.from_str(json.dumps(made(pre_tokenizer={"type": "Sequence", "pretokenizers": [cut, BYTE_LEVEL]})))
    with pytest.raises(TypeError, match=r"expected a tokenizers\.Tokenizer"):
        ours.Tokenizer(tokenizers.models.BPE({"a": 0}, []))


def test_from_pretrained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import huggingface_hub

    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(KINDS["template"]), encoding="utf-8")
    asked: list[dict[str, Any]] = []

    def download(**options: Any) -> str:
        asked.append(options)
        return str(path)

    monkeypatch.setattr(huggingface_hub, "hf_hub_download", download)
    monkeypatch.setattr(huggingface_hub, "get_hf_file_metadata", lambda url, **_: None)
    pair = (
        ours.Tokenizer.from_pretrained("some/model", "branch", "secret"),
        tokenizers.Tokenizer.from_pretrained("some/model", "branch", "secret"),
    )
    assert asked == [{"repo_id": "some/model", "filename": "tokenizer.json", "revision": "branch", "token": "secret"}] * 2
    alike(pair, "encode", "hello <s>")
    ours.Tokenizer.from_pretrained("some/model")
    assert asked[2:] == [{"repo_id": "some/model", "filename": "tokenizer.json", "revision": "main"}]


@pytest.mark.parametrize("name", KINDS)
def test_parts(name: str) -> None:
    pair = both(name)
    for part in ("normalizer", "pre_tokenizer", "post_processor", "decoder", "model"):
        mine, theirs = (getattr(one, part) for one in pair)
        assert type(mine) is type(theirs) and repr(mine) == repr(theirs)
    for part, value in (
        ("post_processor", tokenizers.processors.BertProcessing(("</s>", 271), ("<s>", 270))),
        ("post_processor", None),
        ("normalizer", tokenizers.normalizers.NFC()),
        ("pre_tokenizer", tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=True)),
        ("decoder", tokenizers.decoders.ByteLevel()),
    ):
        for one in pair:
            setattr(one, part, value)
        alike(pair, "encode", "hello <s> e\u0301", "中 word")
    assert tokenizers.Tokenizer.from_str(pair[0].to_str()).to_str() == pair[1].to_str()
    before = pair[0].to_str()
    with pytest.raises(VocabularyError, match="Lowercase"):
        pair[0].normalizer = tokenizers.normalizers.Lowercase()
    assert pair[0].to_str() == before


def test_the_model_is_made_once() -> None:
    """transformers asks for it whenever it decodes, and reading one takes a second."""
    tokenizer = ours.Tokenizer.from_str(json.dumps(KINDS["plain"]))
    model = tokenizer.model
    tokenizer.add_tokens(["<new>"])
    assert tokenizer.model is model
    assert [token.id for token in model.tokenize("hello")] == tokenizer.encode("hello").ids


# --- the published ones ---------------------------------------------------------------------------------------------------------

PUBLISHED = ("gpt2", "llama3", "qwen3", "deepseek_v3")


@pytest.mark.parametrize("name", PUBLISHED)
def test_published(name: str) -> None:
    data = os.environ.get("BITLEX_DATA", "")
    path = Path(data, "vocab", f"{name}.tokenizer.json")
    if not data or not path.exists():
        pytest.skip(f"BITLEX_DATA names no directory with vocab/{name}.tokenizer.json")
    pair = ours.Tokenizer.from_file(str(path)), tokenizers.Tokenizer.from_file(str(path))
    texts = [text.read_text(encoding="utf-8")[:3000] for text in sorted(Path(data, "corpora").iterdir())]
    specials = "".join(str(token) + " e\u0301 " for token in list(pair[1].get_added_tokens_decoder().values())[:20])
    for text in [*texts, specials, "hello world", ""]:
        for one, kind in zip(pair, ("ours", "theirs"), strict=True):
            assert one is not None, kind
        mine, theirs = (one.encode(text, "中 e\u0301") for one in pair)
        for fact in ("ids", "tokens", "offsets", "word_ids", "type_ids", "special_tokens_mask", "sequence_ids"):
            assert getattr(mine, fact) == getattr(theirs, fact), fact
        for skip in (True, False):
            alike(pair, "decode", theirs.ids, skip)
    for one in pair:
        one.add_special_tokens(["<|mine|>"])
        one.enable_truncation(100, stride=10)
        one.enable_padding()
    alike(pair, "encode_batch", [text[:300] for text in texts] + ["<|mine|>"])
    assert pair[0].get_vocab() == pair[1].get_vocab()
    assert tokenizers.Tokenizer.from_str(pair[0].to_str()).to_str() == pair[1].to_str()
