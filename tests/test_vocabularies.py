"""Vocabularies as people have them: every format, against the package that wrote it, and everything that is refused.

Files made here are always tried. With BITLEX_DATA, the published ones in its folder `vocab` are, on the beginning of each of its
corpora (BITLEX_CORPUS characters of each, by default 4,000: merging is pure Python here).
"""

from __future__ import annotations

import base64
import copy
import dataclasses
import hashlib
import json
import os
import random
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy
import pytest
import regex
import tiktoken
import tokenizers
from tiktoken.load import load_tiktoken_bpe
from tiktoken_ext import openai_public

import bitlex
from bitlex import PatternError, RegexTokenizer, Tokenizer
from bitlex.vocabularies import VocabularyError, load, read
from bitlex.vocabularies.byte_alphabet import ALPHABET, to_bytes
from bitlex.vocabularies.matching import ALIKE, COMPLETE, family_of, matches_of
from bitlex.vocabularies.minbpe import checksum_line
from bitlex.vocabularies.published import KNOWN, Published, digest_of, published
from bitlex.vocabularies.tiktoken import BASE64, fast_vocabulary, looks_like_ranks
from bitlex.vocabularies.writing import contents
from bitlex.vocabulary import Vocabulary
from generator import families
from generator.families import DialectName
from test_merging import minbpe
from texts import TORTURE, random_texts
from tokenizing import BYTE_LEVEL, Pipeline, added, tokenizer_json

DATA = os.environ.get("BITLEX_DATA", "")
LENGTH = int(os.environ.get("BITLEX_CORPUS", "4000"))
WORDS = [b"th", b"the", b" the", b"in", b"ing", b" 1", b"12", b"\xc3\xa9", b"\xe4\xb8\xad", b"  ", b"\n\n", b"e\xcc\x81", b"<|", b"'s"]
TEXTS = [*TORTURE, *random_texts(["the", "ing", " ", "1", "\u00e9", "e\u0301", "\u4e2d", "\n", "'s", "<|end|>", "X"], 60, seed=4)]


def ranks() -> dict[bytes, int]:
    """Bytes in an order of their own, words behind them, and one id left out."""
    tokens = [bytes([byte]) for byte in (*range(33, 256), *range(33))] + WORDS
    return {token: number + (number > 260) for number, token in enumerate(tokens)}


def rank_file(of: dict[bytes, int]) -> bytes:
    return b"".join(b"%s %d\n" % (base64.b64encode(token), rank) for token, rank in of.items())


# --- tiktoken ------------------------------------------------------------------------------------------------------------------------------

PATTERN = r"\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s"  # leaves nothing
GAPS = r"\p{L}+|\p{N}"  # leaves much, which tiktoken drops
SPECIAL = {"<|end|>": 300, "<|fim|>": 299}


@pytest.mark.parametrize("pattern", [PATTERN, GAPS, families()["cl100k"].steps[0].regex])
def test_rank_files(pattern: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.tiktoken"
    path.write_bytes(rank_file(ranks()))
    made = load(path, pattern=pattern, special=SPECIAL, name="mine")
    reference = tiktoken.Encoding("mine", pat_str=pattern, mergeable_ranks=ranks(), special_tokens=SPECIAL)
    ours = Pipeline(made)
    for text in TEXTS:
        ids = ours.ordinary(text)
        assert ids == reference.encode_ordinary(text), text
        assert ours.encoder.decode([*ids, 300]) == reference.decode_bytes([*ids, 300])
        assert ours.encode(text) == reference.encode(text, allowed_special="all"), text
    assert (made.format, made.convention, made.name, made.vocabulary.whole) == ("tiktoken", "tiktoken", "mine", True)
    assert [(token.content, token.id, token.special) for token in made.added] == [("<|fim|>", 299, True), ("<|end|>", 300, True)]
    assert made.digest == hashlib.sha256(path.read_bytes()).hexdigest()
    in_memory = load(reference)
    assert (in_memory.vocabulary, in_memory.added, in_memory.decoded, in_memory.family) == (made.vocabulary, made.added, made.decoded, made.family)
    assert in_memory.name == "mine" and in_memory.pre_tokenizer == made.pre_tokenizer


def test_a_family_of_ones_own() -> None:
    made = read(rank_file(ranks()), "x", family="cl100k")
    assert made.family == "cl100k" and made.added == () and made.lexer() is bitlex.lexer("cl100k")
    assert read(rank_file(ranks()), "x", family="Qwen2.5").family == "qwen2"
    assert read(rank_file(ranks()), "x", pattern=families()["cl100k"].steps[0].regex).family == "cl100k"
    assert read(rank_file(ranks()), "x", pattern=families()["llama3"].steps[0].regex).family == "llama3"
    assert read(rank_file(ranks()), "x", pattern=families()["bloom"].steps[0].regex).family is None


def test_files_that_tiktoken_reads_but_would_not_write() -> None:
    lines = rank_file(ranks()).splitlines()
    plain = read(b"\n".join(lines), "x", family="gpt2").vocabulary
    random.Random(1).shuffle(lines)
    assert read(b"\n".join(lines), "x", family="gpt2").vocabulary == plain
    assert read(b"\r\n".join(lines), "x", family="gpt2").vocabulary == plain
    assert read(b"".join(line.replace(b" ", b" 0000000000") + b" \n" for line in lines), "x", family="gpt2").vocabulary == plain
    assert read(b"\n\n".join(line.replace(b" ", b"\t ") for line in lines), "x", family="gpt2").vocabulary == plain


def test_every_byte_as_a_digit() -> None:
    pytest.importorskip("bitlex._native", reason="the C extension was not built")
    data = rank_file(ranks())
    for at in range(4):
        for byte in range(256):
            digits = b"qrst"[:at] + bytes([byte]) + b"qrst"[at + 1 :]
            found = fast_vocabulary(data + digits + b" 999\n")
            assert (found is not None) == (re.fullmatch(BASE64, digits) is not None), digits
            assert found is None or found.tokens()[-1] == base64.b64decode(digits)


def test_the_empty_token() -> None:
    """Whisper's file ends with one. No text is encoded to it, and its id decodes to nothing, here and in tokenizers; a rank file keeps it."""
    number = len(ranks()) + 1
    data = rank_file(ranks()) + b"= %d\n" % number
    made = read(data, "x", family="gpt2", special={"<a>": number + 1})
    tokenizer = Tokenizer(made)
    assert tokenizer.decode([number, 64, number + 1]) == "a<a>" and tokenizer.token_bytes(number) == b"" and tokenizer.encode("") == []
    assert contents(made, "x", "tiktoken") == {"x": data}
    theirs = tokenizers.Tokenizer.from_str(contents(made, "x", "huggingface")["x"].decode())
    assert theirs.decode([number, 64]) == "a" and theirs.token_to_id("<a>") == number + 1
    in_memory = load(tiktoken.Encoding("x", pat_str=PATTERN, mergeable_ranks={**ranks(), b"": number}, special_tokens={}))
    assert in_memory.decoded == {number: b""} and in_memory.vocabulary == made.vocabulary
    for content, special in (("", {}), ("<a>", {"<a>": 261})):  # as the id that ranks() leaves out
        hole = read(rank_file(ranks()) + (b"" if content else b"= 261\n"), "x", family="gpt2", special=special)
        assert hole.decoded == {261: content.encode()} and hole.vocabulary == read(rank_file(ranks()), "x", family="gpt2").vocabulary


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda lines: [*lines[:3], b"YQ==", *lines[3:]], "x: line 4: 1 fields where a token and its rank should be"),
        (lambda lines: [*lines[:3], b"YQ== 1 2", *lines[3:]], "x: line 4: 3 fields where a token and its rank should be"),
        (lambda lines: [*lines[:3], b"Y?== 999", *lines[3:]], "x: line 4: b'Y?==' is not base64"),
        (lambda lines: [*lines[:3], b"YQ= 999", *lines[3:]], "x: line 4: b'YQ=' is not base64"),
        (lambda lines: [*lines[:3], b"YWJj= 999", *lines[3:]], "x: line 4: b'YWJj=' is not base64"),
        (lambda lines: [*lines[:3], b"YWJj -9", *lines[3:]], "x: line 4: b'-9' is not a rank"),
        (lambda lines: [*lines[:3], b"YWJj 1_0", *lines[3:]], "x: line 4: b'1_0' is not a rank"),
        (lambda lines: [*lines[:3], b"YWJj " + b"1" * 5000, *lines[3:]], "x: line 4: b'1111"),
        (lambda lines: [*lines, lines[7].split()[0] + b" 999"], "x: line 271: token b'(' again"),
        (lambda lines: [*lines, b"YWJj 7"], "x: tokens b'(' and b'abc' have the same id, 7"),
        (lambda lines: [*lines, b"= 7"], "x: the empty token has the id 7 of another one"),
        (lambda lines: [b"YQ== 0", b"= 2097152"], "x: the empty token has the id 2097152"),
        (lambda lines: [*lines, b"= 300", b"= 301"], "x: line 272: token b'' again"),
        (lambda lines: [*lines, b"YWJj 99999999"], "x: 100,000,000 ids are more than"),
        (lambda lines: lines[:50] + lines[51:], "its byte 0x53 is no token by itself"),
        (lambda lines: [*lines[:-1], lines[-1][:-5]], "x: line 270: 1 fields where a token and its rank should be"),
    ],
)  # fmt: skip
def test_rank_files_that_are_no_vocabulary(change: Any, message: str) -> None:
    words = {**ranks(), b"SSS": 400}
    lines = rank_file(words if "0x53" in message else ranks()).splitlines()
    with pytest.raises(VocabularyError) as caught:
        read(b"\n".join(change(lines)), "x", family="cl100k")
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "x: a rank file that is not known (SHA-256 "),
        ({"family": "cl100k", "pattern": "a"}, "x: both family= and pattern= are given"),
        ({"family": "cl100"}, "x: no family 'cl100'; did you mean cl100k"),
        ({"family": "cl100k", "special": {"<a>": 5}}, "x: special token '<a>' has the id 5 of another token"),
        ({"family": "cl100k", "special": {"<a>": 900, "<b>": 900}}, "x: special token '<b>' has the id 900 of another one"),
        ({"family": "cl100k", "special": {"": 900}}, "x: special token '' is no text"),
        ({"family": "cl100k", "special": {"<a>": 1 << 21}}, "x: special token '<a>' has the id 2097152, which is not an id below 2097152"),
        ({"family": "cl100k", "special": {"<a>": True}}, "x: special token '<a>' has the id True, which is not an id"),
        ({"family": "cl100k", "special": {"<a>": -1}}, "x: special token '<a>' has the id -1, which is not an id"),
        ({"family": "cl100k", "special": {5: 900}}, "x: special token 5 is no text"),
        ({"family": "cl100k", "special": {"\ud800": 900}}, "has a lone surrogate"),
    ],
)  # fmt: skip
def test_options_of_rank_files(options: dict[str, Any], message: str) -> None:
    with pytest.raises(VocabularyError) as caught:
        read(rank_file(ranks()), "x", **options)
    assert message in str(caught.value)


def test_a_file_that_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """By two names, with two special tokens of one id; what the caller says comes before what is known."""
    data, one, both = rank_file(ranks()), {"<a>": 900}, {"<a>": 900, "<b>": 900}
    entries = Published("one", "gpt2", one), Published("two", "gpt2", both, {900: "<b>"})
    monkeypatch.setitem(KNOWN, hashlib.sha256(data).hexdigest(), lambda: entries)
    usual, other, mine = read(data, "x"), read(data, "x", name="two"), read(data, "x", name="mine", special={})
    assert (usual.name, usual.family, usual.decoded, len(usual.added)) == ("one", "gpt2", {900: b"<a>"}, 1)
    assert (other.name, other.family, other.decoded, len(other.added)) == ("two", "gpt2", {900: b"<b>"}, 2)
    assert (mine.name, mine.family, mine.decoded, mine.added) == ("mine", "gpt2", {}, ())
    cut = read(data, "x", pattern=GAPS)
    assert (cut.family, cut.pre_tokenizer, cut.added) == (None, matches_of(GAPS), usual.added)
    with pytest.raises(VocabularyError, match=r"^x: name= is cl100k_base, and this is the file of one$"):
        read(data, "x", name="cl100k_base")
    shuffled = dict(random.Random(2).sample(list(ranks().items()), len(ranks())))
    for name, special, spelled in (("two", both, b"<b>"), ("two", one, b"<a>"), ("one", one, b"<a>")):
        numbers = {content: numpy.int64(number) for content, number in special.items()}  # tiktoken takes numpy's, too
        encoding = tiktoken.Encoding(name, pat_str=PATTERN, mergeable_ranks=shuffled, special_tokens=numbers)  # type: ignore[arg-type]
        made = load(encoding, name="mine")
        assert (made.name, made.decoded, made.digest) == ("mine", {900: spelled}, usual.digest)
        assert made.decoded[900] == encoding.decode_single_token_bytes(900)


def test_published_files_are_those_of_tiktoken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Digests, patterns and special tokens, read from the package itself."""
    monkeypatch.setattr(openai_public, "load_tiktoken_bpe", lambda url, expected_hash: expected_hash)
    found = {name: make() for name, make in openai_public.ENCODING_CONSTRUCTORS.items() if name != "gpt2"}
    assert len(found) == 6
    for name, expected in found.items():
        one = next(one for one in published(expected["mergeable_ranks"]) if one.name == name)
        assert dict(one.special) == expected["special_tokens"]
        assert bitlex.lexer(one.family).pattern == expected["pat_str"]
        assert one.name == name


def test_published_files() -> None:
    for make in KNOWN.values():
        for one in make():
            numbers = list(one.special.values())
            shared = {number for number in numbers if numbers.count(number) > 1}
            assert shared == set(one.spelled), one.name
            assert one.family in bitlex.families()
    assert [one.name for make in KNOWN.values() for one in make()] == [
        "r50k_base", "gpt2", "p50k_base", "p50k_edit", "cl100k_base", "o200k_base", "o200k_harmony", "qwen", "llama3", "llama3_1", "llama4", "kimi_k2",
    ]  # fmt: skip
    assert all(len(digest) == 64 for digest in KNOWN) and published("0" * 64) == ()


def test_special_tokens_of_files_that_tiktoken_does_not_have() -> None:
    """Without a gap from the first to the last, and those that prompts are made of, as the models' own configurations have them."""
    found = {one.name: one.special for make in KNOWN.values() for one in make()}
    for name, first, last, some in (
        ("qwen", 151643, 151850, {"<|endoftext|>": 151643, "<|im_start|>": 151644, "<|im_end|>": 151645, "<|extra_0|>": 151646}),
        ("llama3", 128000, 128255, {"<|begin_of_text|>": 128000, "<|start_header_id|>": 128006, "<|eot_id|>": 128009}),
        ("llama3_1", 128000, 128255, {"<|begin_of_text|>": 128000, "<|finetune_right_pad_id|>": 128004, "<|eom_id|>": 128008, "<|python_tag|>": 128010, "<|reserved_special_token_2|>": 128012}),
        ("llama4", 200000, 202047, {
            "<|begin_of_text|>": 200000, "<|eot|>": 200008, "<|python_start|>": 200016, "<|image_start|>": 200080, "<|patch|>": 200092,
            "<|vision_reserved_special_token_1047|>": 201133, "<|reasoning_thinking_start|>": 201142,
        }),
    ):
        assert sorted(found[name].values()) == list(range(first, last + 1)), name
        assert some.items() <= found[name].items(), name
    assert digest_of("o200k_harmony") == digest_of("o200k_base")


# --- families ------------------------------------------------------------------------------------------------------------------------------


DIALECTS: tuple[DialectName, ...] = ("fancy", "oniguruma")


@pytest.mark.parametrize("name", list(families()))
def test_families_that_the_dialects_read_alike(name: str) -> None:
    """ALIKE and COMPLETE, decided from the machines for every family there is."""
    one = families()[name]
    if len(one.steps) > 1 or one.steps[0].kind != "Split" or one.steps[0].behavior != "isolated":
        assert name not in ALIKE | COMPLETE
        return
    pattern = one.steps[0].regex or ""
    made = {dialect: bitlex.compile(pattern, dialect=dialect, unicode=one.unicode) for dialect in DIALECTS}
    complete = not any(bitlex.compile(matches_of(pattern), dialect=dialect).drops for dialect in DIALECTS)
    assert bitlex.difference(made[one.dialect], bitlex.lexer(name)) is None
    alike = bitlex.difference(made["fancy"], made["oniguruma"]) is None
    assert (name in ALIKE) == (alike and complete)
    assert (name in COMPLETE) == (complete and not alike)
    if complete:
        assert bitlex.difference(bitlex.compile(matches_of(pattern), dialect=one.dialect), bitlex.lexer(name)) is None
    for dialect in DIALECTS:
        expected = name if dialect == one.dialect or (alike and complete) else None
        assert family_of({"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}, dialect) == expected
        assert family_of(matches_of(pattern), dialect) == (expected if complete else None)
    assert family_of(matches_of(pattern), "python") is None


# --- tokenizer.json ------------------------------------------------------------------------------------------------------------------------

SPELLED = tuple("".join(ALPHABET[byte] for byte in word) for word in [*WORDS, b" t", b"ng", b"he", b"\xe4\xb8", b"<|end|>"])
MERGES = [["Ġ", "t"], ["h", "e"], ["t", "h"], ["n", "g"], ["i", "n"], ["i", "ng"], ["th", "e"], ["Ġt", "he"], ["Ġ", "1"], ["1", "2"], ["Ã", "©"], ["ä", "¸"],
          ["ä¸", "Ń"], ["Ġ", "Ġ"], ["Ċ", "Ċ"], ["<", "|"], ["'", "s"]]  # fmt: skip
END = added(len(ALPHABET) + len(SPELLED) - 1, "<|end|>", special=True)
DIGITS = {"type": "Digits", "individual_digits": True}
PLAIN_LEVEL = {**BYTE_LEVEL, "use_regex": False}
SPLIT = {"type": "Split", "pattern": {"Regex": families()["llama3"].steps[0].regex}, "behavior": "Isolated", "invert": False}
TEMPLATE = {
    "type": "TemplateProcessing",
    "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "</s>", "type_id": 2}}],
    "pair": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 3}}, {"Sequence": {"id": "A", "type_id": 1}}],
    "special_tokens": {"<s>": {"id": "<s>", "ids": [5, 6], "tokens": ["x", "y"]}, "</s>": {"id": "</s>", "ids": [7], "tokens": ["z"]}},
}  # fmt: skip


def sequence(*members: dict[str, Any]) -> dict[str, Any]:
    return {"type": "Sequence", "pretokenizers": list(members)}


def vocab(*more: str) -> dict[str, int]:
    return {token: at for at, token in enumerate([*sorted(ALPHABET), *SPELLED, *more])}


FILES: dict[str, dict[str, Any]] = {
    "plain": {},
    "merges as strings": {"merges": ["#version: 0.2", *(" ".join(pair) for pair in MERGES)]},
    "merges of number signs": {"merges": ["#version: 0.2", "# #"], "model": {"vocab": vocab("##")}},
    "no merges": {"merges": []},
    "no merges as strings": {"merges": ["#version: 0.2"]},
    "ignore_merges": {"model": {"ignore_merges": True}},
    "prefix space": {"pre_tokenizer": {**BYTE_LEVEL, "add_prefix_space": True}},
    "prefix space, then steps": {"pre_tokenizer": sequence({**PLAIN_LEVEL, "add_prefix_space": True}, DIGITS)},
    "steps": {"pre_tokenizer": sequence(DIGITS, sequence(BYTE_LEVEL))},
    "llama3": {"pre_tokenizer": sequence(SPLIT, PLAIN_LEVEL)},
    "dropping": {"pre_tokenizer": sequence({**SPLIT, "pattern": {"String": "the"}, "behavior": "Removed"}, PLAIN_LEVEL)},
    "NFC": {"normalizer": {"type": "NFC"}},
    "NFC twice": {"normalizer": {"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "NFC"}]}},
    "no normalizer": {"normalizer": {"type": "Sequence", "normalizers": []}},
    "no effect": {"model": {"dropout": 0.0, "unk_token": "<unk>", "fuse_unk": True, "byte_fallback": True, "end_of_word_suffix": ""}},
    "no bytes that UTF-8 has not": {
        "model": {"unk_token": "<unk>", "byte_fallback": True, "vocab": {
            token: at for at, token in enumerate([*(ALPHABET[byte] for byte in range(0xF5) if byte not in (0xC0, 0xC1)), *SPELLED])}},
        "added_tokens": [],
    },
    "template": {"post_processor": TEMPLATE},
    "template in a sequence": {"post_processor": {"type": "Sequence", "processors": [{**BYTE_LEVEL}, TEMPLATE]}},
    "Roberta": {"post_processor": {"type": "RobertaProcessing", "sep": ["</s>", 2], "cls": ["<s>", 1], "trim_offsets": True, "add_prefix_space": False}},
    "Bert": {"post_processor": {"type": "BertProcessing", "sep": ["</s>", 2], "cls": ["<s>", 1]}},
    "ByteLevel": {"post_processor": {**BYTE_LEVEL}},
    "decoder": {"decoder": {"type": "Sequence", "decoders": [{**BYTE_LEVEL}, {"type": "Fuse"}]}},
    "ids out of order": {"model": {"vocab": {token: 500 - at for at, token in enumerate([*sorted(ALPHABET), *SPELLED])}}, "added_tokens": []},
    "tokens that are no bytes": {
        "model": {"vocab": {token: at for at, token in enumerate([*sorted(ALPHABET), *SPELLED, "<｜a｜>", "", "a<｜a｜>", "\u00ad"])}, "ignore_merges": True},
        "merges": [*MERGES, ["a", "<｜a｜>"], ["", "a"]], "added_tokens": [added(len(ALPHABET) + len(SPELLED), "<｜a｜>", special=True)],
    },
    "what only Python has for white space": {
        "added_tokens": [END, added(len(ALPHABET) + len(SPELLED), "<r>", rstrip=True), added(len(ALPHABET) + len(SPELLED) + 1, "\x1c", lstrip=True)],
    },
    "an added token of no text": {
        "added_tokens": [END, added(len(ALPHABET) + len(SPELLED), ""), added(len(ALPHABET) + len(SPELLED), "<r>")],
    },
    "a token of the model that is added and normalized": {
        "normalizer": {"type": "NFC"}, "model": {"vocab": vocab("e\u0301\u6f22")},
        "added_tokens": [added(len(ALPHABET) + len(SPELLED), "e\u0301\u6f22", normalized=True)],
    },
}  # fmt: skip


def made_file(parts: dict[str, Any]) -> bytes:
    return json.dumps(tokenizer_json(SPELLED, **{"merges": MERGES, "added_tokens": [END], **parts}), ensure_ascii=False).encode()


@pytest.mark.parametrize("name", list(FILES))
def test_tokenizer_json(name: str, tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_bytes(made_file(FILES[name]))
    reference = tokenizers.Tokenizer.from_file(str(path))
    made = load(path)
    made.vocabulary.check()
    ours = Pipeline(made)
    for text in [*TEXTS, "<｜a｜> a<｜a｜>a \u00ad", "### \u00e9\u6f22e\u0301\u6f22", "a <r> \x1c the"]:
        ids = reference.encode(text, add_special_tokens=False).ids
        assert ours.encode(text) == ids, text
        assert [*made.prefix, *ids, *made.suffix] == reference.encode(text).ids
        assert ours.encoder.decode(ids).decode(errors="replace") == reference.decode(ids, skip_special_tokens=False), text
    for number in reference.get_vocab(with_added_tokens=True).values():
        assert ours.encoder.decode([number]).decode(errors="replace") == reference.decode([number], skip_special_tokens=False), number
    assert [token.id for token in made.added] == sorted(token.id for token in made.added)
    assert (made.format, made.convention, made.dialect, made.unicode) == ("huggingface", "huggingface", "oniguruma", "16.0")
    assert made.digest == hashlib.sha256(path.read_bytes()).hexdigest()
    for source in (reference, SimpleNamespace(backend_tokenizer=reference)):
        in_memory = load(source, name="x")
        assert in_memory.vocabulary == made.vocabulary and in_memory.added == made.added and in_memory.family == made.family
        assert (in_memory.decoded, in_memory.single, in_memory.pair, in_memory.name) == (made.decoded, made.single, made.pair, "x")


@pytest.mark.parametrize("name", ["plain", "ByteLevel", "template", "template in a sequence", "Roberta", "Bert"])
def test_templates(name: str) -> None:
    data = made_file(FILES[name])
    reference, made = tokenizers.Tokenizer.from_str(data.decode()), read(data, "x")
    texts = {"A": reference.encode("the 1", add_special_tokens=False).ids, "B": reference.encode("ing", add_special_tokens=False).ids}
    for template, one in ((made.single, reference.encode("the 1")), (made.pair, reference.encode("the 1", "ing"))):
        expected = [(number, kind) for what, kind in template for number in (texts[what] if isinstance(what, str) else [what])]
        assert list(zip(one.ids, one.type_ids, strict=True)) == expected


def test_what_a_model_may_leave_out() -> None:
    fields = json.loads(made_file({}))
    for name in ("dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk", "byte_fallback", "ignore_merges"):
        del fields["model"][name]
    data = json.dumps(fields).encode()
    reference, made = tokenizers.Tokenizer.from_str(data.decode()), read(data, "x")
    assert made.vocabulary == read(made_file({}), "x").vocabulary
    assert Pipeline(made).encode("the ing") == reference.encode("the ing").ids


def test_families_are_found() -> None:
    assert read(made_file(FILES["llama3"]), "x").family == "llama3"
    assert read(made_file({}), "x").family == "bytelevel"
    assert read(made_file(FILES["prefix space"]), "x").family == "bytelevel"
    assert read(made_file(FILES["steps"]), "x").family == "starcoder"
    assert read(made_file(FILES["dropping"]), "x").family is None
    cl100k = {**SPLIT, "pattern": {"Regex": families()["cl100k"].steps[0].regex}}
    assert read(made_file({"pre_tokenizer": sequence(cl100k, PLAIN_LEVEL)}), "x").family is None  # Oniguruma reads {1,3}+ otherwise
    removed = {**SPLIT, "behavior": "Removed"}
    assert read(made_file({"pre_tokenizer": sequence(removed, PLAIN_LEVEL)}), "x").family is None  # nothing is left
    joined = {**SPLIT, "behavior": "MergedWithNext", "invert": True}
    assert read(made_file({"pre_tokenizer": sequence(joined, PLAIN_LEVEL)}), "x").family is None
    inverted = {**SPLIT, "behavior": "Removed", "invert": True}
    assert read(made_file({"pre_tokenizer": sequence(inverted, PLAIN_LEVEL)}), "x").family == "llama3"


def vocab_without(text: str) -> dict[str, int]:
    return {token: at for token, at in vocab().items() if token != text}


SENTENCES = {token: at for at, token in enumerate(["<unk>", *(f"<0x{byte:02X}>" for byte in range(256)), "\u2581", "t", "\u2581t"])}

REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "version": ({"version": "2.0"}, 'version: "2.0" is not supported; supported: "1.0"'),
    "field": ({"foo": 1}, "foo: unknown field, 1"),
    "truncation": ({"truncation": {"max_length": 5}}, 'truncation: {"max_length": 5} is not supported; set it to null'),
    "long value": ({"truncation": "a" * 100}, f'truncation: "{"a" * 76}... is not supported; set it to null'),
    "padding": ({"padding": {}}, "padding: {} is not supported; set it to null"),
    "model": ({"model": {"type": "Unigram"}}, 'model.type: "Unigram" is not supported (it is no byte-pair encoding); supported: "BPE"'),
    "WordPiece": (
        {"model": {"type": "WordPiece", "max_input_chars_per_word": 100}, "truncation": {"max_length": 512}},
        'model.type: "WordPiece" is not supported (it is no byte-pair encoding)',
    ),
    "Unigram": ({"model": {"type": "Unigram", "unk_id": 0, "vocab": [["<s>", 0.0]]}}, 'model.type: "Unigram" is not supported (it is no byte-pair'),
    "Llama 2": (
        {"model": {"vocab": SENTENCES, "unk_token": "<unk>", "fuse_unk": True, "byte_fallback": True, "merges": [["\u2581", "t"]]}},
        'model.vocab: is one of SentencePiece, with "\u2581" for a space, not of the byte alphabet: this is no byte-level BPE',
    ),
    "Metaspace and no bytes": (
        {"model": {"vocab": {"<unk>": 0, "a": 1}, "unk_token": "<unk>"}, "pre_tokenizer": {"type": "Metaspace"}}, "model.vocab: is one of SentencePiece",
    ),
    "Replace and no bytes": (
        {"model": {"vocab": {"<unk>": 0, "a": 1}, "unk_token": "<unk>"}, "normalizer": {"type": "Replace", "content": "\u2581"}},
        "model.vocab: is one of SentencePiece",
    ),
    "model field": ({"model": {"foo": 1}}, "model.foo: unknown field, 1"),
    "no vocab": ({"model": {"vocab": None}}, "model.vocab: missing"),
    "vocab list": ({"model": {"vocab": []}}, "model.vocab: [] is not an object"),
    "id": ({"model": {"vocab": {"a": "b"}}}, 'model.vocab.a: "b" is not an id below 2097152'),
    "negative id": ({"model": {"vocab": {"a": -1}}}, "model.vocab.a: -1 is not an id below 2097152"),
    "large id": ({"model": {"vocab": {"a": 0, "b": 1 << 21}}}, "model.vocab.b: 2097152 is not an id below 2097152"),
    "bool id": ({"model": {"vocab": {"a": True}}}, "model.vocab.a: true is not an id below 2097152"),
    "same id": ({"model": {"vocab": {"a": 0, "b": 0}}}, 'model.vocab.b: has the id 0, as "a" has'),
    "surrogate": ({"model": {"vocab": vocab("\ud800")}}, 'model.vocab: "\\ud800" has a lone surrogate'),
    "dropout of no number": ({"model": {"dropout": False}}, "model.dropout: false is not a whole number or a number"),
    "dropout": ({"model": {"dropout": 0.1}}, "model.dropout: 0.1 is not supported"),
    "prefix": ({"model": {"continuing_subword_prefix": "##"}}, 'model.continuing_subword_prefix: "##" is not supported'),
    "suffix": ({"model": {"end_of_word_suffix": "</w>"}}, 'model.end_of_word_suffix: "</w>" is not supported'),
    "unk": ({"model": {"unk_token": "x", "vocab": vocab_without("!")}}, 'model.unk_token: "x" is not supported where a byte, as 0x21, is no token'),
    "byte_fallback": ({"model": {"byte_fallback": True, "vocab": vocab_without("!")}}, "model.byte_fallback: true is not supported where"),
    "ignore_merges": ({"model": {"ignore_merges": 1}}, "model.ignore_merges: 1 is not true or false"),
    "no merges": ({"model": {"merges": None}}, "model.merges: missing"),
    "merges": ({"merges": [1]}, "model.merges: holds neither strings only nor lists only"),
    "mixed merges": ({"merges": ["a b", ["a", "b"]]}, "model.merges: holds neither strings only nor lists only"),
    "mixed merges of tokens": ({"merges": ["h e", ["t", "h"]]}, "model.merges: holds neither strings only nor lists only"),
    "merge of one": ({"merges": ["h e", "the"]}, 'model.merges[1]: "the" is not two parts with a space between'),
    "merge of three in a string": ({"merges": ["h e", "h e x"]}, 'model.merges[1]: "h e x" is not two parts with a space between'),
    "merge of three": ({"merges": [["h", "e", "x"]]}, 'model.merges[0]: ["h", "e", "x"] is not two strings'),
    "merge of a number": ({"merges": [["h", 1]]}, 'model.merges[0]: ["h", 1] is not two strings'),
    "merge part": ({"merges": [["h", "e"], ["h", "q!"]]}, 'model.merges[1]: "q!" is no token of model.vocab'),
    "merge result": ({"merges": [["h", "q"]]}, 'model.merges[0]: "hq" is no token of model.vocab'),
    "merge twice": ({"merges": [["h", "e"], ["t", "h"], ["h", "e"]]}, "model.merges: merges 0 and 2 are the same, b'h' and b'e'"),
    "normalizer": ({"normalizer": {"type": "NFKC"}}, 'normalizer.type: "NFKC" is not supported; supported: "NFC", "Sequence"'),
    "normalizers": ({"normalizer": {"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "Strip"}]}}, 'normalizer.normalizers[1].type: "Strip"'),
    "pre_tokenizer": ({"pre_tokenizer": None}, "pre_tokenizer: null is not supported"),
    "no ByteLevel": ({"pre_tokenizer": DIGITS}, "pre_tokenizer: has 0 ByteLevel, not one"),
    "two ByteLevels": ({"pre_tokenizer": sequence(BYTE_LEVEL, BYTE_LEVEL)}, "pre_tokenizer: has 2 ByteLevel, not one"),
    "Metaspace": ({"pre_tokenizer": sequence({"type": "Metaspace"}, BYTE_LEVEL)}, "'Metaspace' is not supported"),
    "late space": ({"pre_tokenizer": sequence(DIGITS, {**BYTE_LEVEL, "add_prefix_space": True})}, "pre_tokenizer.pretokenizers[1].add_prefix_space: true"),
    "decoder": ({"decoder": None}, "decoder: null is not supported"),
    "decoders": ({"decoder": {"type": "WordPiece"}}, 'decoder.type: "WordPiece" is not supported'),
    "second decoder": ({"decoder": {"type": "Sequence", "decoders": [BYTE_LEVEL, {"type": "Strip"}]}}, 'decoder.decoders[1].type: "Strip"'),
    "no decoders": ({"decoder": {"type": "Sequence", "decoders": []}}, 'decoder.type: "Sequence" is not supported'),
    "processor": ({"post_processor": {"type": "Foo"}}, 'post_processor.type: "Foo" is not supported'),
    "two templates": ({"post_processor": {"type": "Sequence", "processors": [TEMPLATE, TEMPLATE]}}, "2 templates are not supported; one is"),
    "template": ({"post_processor": {**TEMPLATE, "single": TEMPLATE["pair"]}}, "post_processor.single: holds the texts B, A; supported: each once"),
    "template of nothing": ({"post_processor": {**TEMPLATE, "pair": []}}, "post_processor.pair: holds the texts none; supported: each once"),
    "template token": ({"post_processor": {**TEMPLATE, "special_tokens": {}}}, 'post_processor.single[0].SpecialToken.id: "<s>" is not in special_tokens'),
    "template text": (
        {"post_processor": {**TEMPLATE, "single": [{"Sequence": {"id": "C", "type_id": 0}}]}}, 'post_processor.single[0].Sequence.id: "C" is not supported'),
    "template type": (
        {"post_processor": {**TEMPLATE, "single": [{"Sequence": {"id": "A", "type_id": 1 << 32}}]}},
        "post_processor.single[0].Sequence.type_id: 4294967296 is not a whole number"),
    "template ids without tokens": (
        {"post_processor": {**TEMPLATE, "special_tokens": {"<s>": {"id": "<s>", "ids": [5, 6], "tokens": ["x"]}}}},
        'post_processor.special_tokens.<s>.ids: [5, 6] are not the ids of the tokens ["x"]'),
    "template ids": (
        {"post_processor": {**TEMPLATE, "special_tokens": {"<s>": {"id": "<s>", "ids": ["A"], "tokens": ["x"]}}}},
        'post_processor.special_tokens.<s>.ids: ["A"] are not the ids of the tokens ["x"]'),
    "Roberta": ({"post_processor": {**FILES["Roberta"]["post_processor"], "sep": ["</s>", -2]}}, "post_processor.sep: is not a token and its id"),
    "Roberta's offsets": (  # without which tokenizers takes it for a BertProcessing, which puts other ids between two texts
        {"post_processor": {key: value for key, value in FILES["Roberta"]["post_processor"].items() if key != "trim_offsets"}},
        "post_processor.trim_offsets: missing"),
    "template id": (
        {"post_processor": {**TEMPLATE, "special_tokens": {"<s>": {"ids": [5], "tokens": ["x"]}}}}, "post_processor.special_tokens.<s>.id: missing"),
    "ByteLevel": ({"decoder": {"type": "ByteLevel", "trim_offsets": True}}, "decoder.add_prefix_space: missing"),
    "invert": ({"pre_tokenizer": sequence({k: v for k, v in SPLIT.items() if k != "invert"}, PLAIN_LEVEL)}, "pre_tokenizer.pretokenizers[0].invert: missing"),
    "behavior": ({"pre_tokenizer": sequence({**SPLIT, "behavior": "isolated"}, PLAIN_LEVEL)}, 'pre_tokenizer.pretokenizers[0].behavior: "isolated" is not'),
    "added id": ({"added_tokens": [added(900, "<x>")]}, 'added_tokens[0].id: 900, but tokenizers gives "<x>" the id 275'),
    "added id of a token": ({"added_tokens": [added(275, "the")]}, 'added_tokens[0].id: 275, but tokenizers gives "the" the id 257'),
    "added twice": ({"added_tokens": [added(275, "<x>"), added(275, "<x>", lstrip=True)]}, 'added_tokens[1].content: "<x>" is there already'),
    "added alike": (
        {"normalizer": {"type": "NFC"}, "added_tokens": [added(275, "e\u0301x", normalized=True), added(276, "\u00e9x", normalized=True)]},
        'added_tokens[1].content: "éx" is "e\u0301x" when normalized'),
    "added id of no text": ({"added_tokens": [END, added(275, "") | {"id": {}}]}, "added_tokens[1].id: {} is not a whole number"),
    "added flag": ({"added_tokens": [{"id": 275, "content": "<x>"}]}, "added_tokens[0].special: missing"),
    "added surrogate": ({"added_tokens": [added(275, "\ud800")]}, 'added_tokens[0].content: "\\ud800" has a lone surrogate'),
    "added": ({"added_tokens": {}}, "added_tokens: {} is not a list"),
}  # fmt: skip


@pytest.mark.parametrize("name", list(REFUSED))
def test_tokenizer_json_that_is_refused(name: str) -> None:
    parts, message = REFUSED[name]
    data = json.dumps(tokenizer_json(SPELLED, **{"merges": MERGES, "added_tokens": [END], **parts})).encode()
    with pytest.raises(VocabularyError) as caught:
        read(data, "some/tokenizer.json")
    assert str(caught.value).startswith("some/tokenizer.json: ") and message in str(caught.value)


def test_a_pattern_that_cannot_be_a_lexer() -> None:
    """In a tokenizer.json it is told of as what is not supported there; where the caller gave it, as a PatternError."""
    cut = {"type": "Split", "pattern": {"Regex": r"\R"}, "behavior": "Isolated", "invert": False}
    parts = {"merges": MERGES, "pre_tokenizer": {"type": "Sequence", "pretokenizers": [cut, {**BYTE_LEVEL, "use_regex": False}]}}
    description = read(json.dumps(tokenizer_json(SPELLED, **parts)).encode(), "some/tokenizer.json")
    with pytest.raises(VocabularyError, match=r"^the pre_tokenizer of [0-9a-f]{12}: a line break of one or two characters"):
        description.lexer()
    with pytest.raises(PatternError):
        dataclasses.replace(description, format="tiktoken").lexer()


def test_a_file_whose_pattern_cannot_be_a_lexer_is_named(tmp_path: Path) -> None:
    minbpe, tekken, hugging = tmp_path / "a.model", tmp_path / "tekken.json", tmp_path / "tokenizer.json"
    minbpe.write_text("minbpe v1\n\\1\n0\n104 101\n")
    ranks = [{"rank": byte, "token_bytes": base64.b64encode(bytes([byte])).decode(), "token_str": None} for byte in range(256)]
    config = {"pattern": r"\1", "default_vocab_size": 257, "default_num_special_tokens": 1, "version": "v3"}
    tekken.write_text(json.dumps({"config": config, "vocab": ranks, "special_tokens": [{"rank": 0, "token_str": "<unk>"}]}))
    cut = {"type": "Split", "pattern": {"Regex": r"\1"}, "behavior": "Isolated", "invert": False}
    parts = {"merges": MERGES, "pre_tokenizer": {"type": "Sequence", "pretokenizers": [cut, {**BYTE_LEVEL, "use_regex": False}]}}
    hugging.write_text(json.dumps(tokenizer_json(SPELLED, **parts)))
    for path, load_it, what in (
        (minbpe, Tokenizer.from_minbpe, "pattern"), (tekken, Tokenizer.from_tekken, "pattern"), (hugging, Tokenizer.from_huggingface, "pre_tokenizer"),
        (minbpe, RegexTokenizer().load, "pattern"),
    ):  # fmt: skip
        for made_by in (load_it, Tokenizer.from_file):
            with pytest.raises(VocabularyError, match=rf"^{re.escape(str(path))}: the {what} of \w+: a backreference is not a regular expression"):
                made_by(path)


VALUES = [None, True, 0, 1, -1, 2.5, "", "a", "NFC", "ByteLevel", "Sequence", [], {}, [1], ["a", "b"], {"type": "NFC"}, {"type": "ByteLevel"}, BYTE_LEVEL, DIGITS,
          "Removed", 300, 1 << 40, "Ġ t", {"type": "Split", "pattern": {"String": " "}, "behavior": "Removed", "invert": False}, {"a": 1}, "\u00e9"]  # fmt: skip


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Paths into a JSON value; the first few of what is long."""
    if path:
        yield path
    keys = list(value)[:12] if isinstance(value, dict) else range(min(len(value), 6)) if isinstance(value, list) else ()
    for key in keys:
        yield from places(value[key], (*path, key))


def damage(value: Any, rng: random.Random) -> None:
    """Remove, repeat, add or replace something."""
    *path, last = rng.choice([path for path in places(value) if path[:2] != ("model", "vocab") or rng.random() < 0.1])
    inside = value
    for key in path:
        inside = inside[key]
    kind = rng.random()
    if kind < 0.25:
        del inside[last]
    elif kind < 0.35 and isinstance(inside, list):
        inside.append(copy.deepcopy(inside[last]))
    elif kind < 0.45 and isinstance(inside, dict):
        inside[rng.choice(("type", "foo", "id"))] = copy.deepcopy(rng.choice(VALUES))
    else:
        inside[last] = copy.deepcopy(rng.choice(VALUES))


@pytest.mark.parametrize("seed", range(8))
def test_damaged_tokenizer_json(seed: int) -> None:
    """What we still take, the reference takes, and the ids are the same; everything else is a VocabularyError."""
    rng = random.Random(seed)
    taken = 0
    while taken < 20:
        value = json.loads(made_file(FILES[rng.choice(list(FILES))]))
        for _ in range(rng.choice((1, 1, 2))):
            damage(value, rng)
        data = json.dumps(value).encode()
        try:
            ours = Pipeline(read(data, "x"))
        except VocabularyError:
            continue
        taken += 1
        reference = tokenizers.Tokenizer.from_str(data.decode())
        for text in rng.sample(TEXTS, 6):
            try:
                ids = ours.encode(text)
            except VocabularyError as error:  # the damage was to a byte; the reference leaves it out without a word
                assert re.fullmatch("byte 0x.., at [0-9]+ of a piece, is no token of the vocabulary", str(error))  # noqa: PT017
                continue
            assert [*ours.description.prefix, *ids, *ours.description.suffix] == reference.encode(text).ids, (value, text)


@pytest.mark.parametrize("make", [lambda: rank_file(ranks()), lambda: json.dumps(tekken()).encode(), lambda: model(PATTERN, {"<a>": 900})])
def test_damaged_files(make: Callable[[], bytes]) -> None:
    """Whatever the damage: a VocabularyError, or what the reader of the format makes of it."""
    rng = random.Random(3)
    whole = make()
    for _ in range(400):
        data = bytearray(whole)
        for _ in range(rng.choice((1, 1, 3))):
            at = rng.randrange(len(data))
            kind = rng.random()
            if kind < 0.3:
                del data[at : at + rng.choice((1, 2, 20))]
            elif kind < 0.6:
                data[at] = rng.choice(b"\n \"{}[]:,=A0\xff")
            else:
                data[at:at] = data[at : at + rng.choice((1, 8, 30))]
        try:
            made = read(bytes(data), "x", pattern=PATTERN if looks_like_ranks(bytes(data)) else None)
        except VocabularyError as error:
            assert str(error).startswith("x: ")  # noqa: PT017
            continue
        made.vocabulary.check()
        if made.format == "tiktoken":
            lines = [line.split() for line in bytes(data).splitlines() if line.strip()]
            assert dict(made.vocabulary.ids) == {base64.b64decode(token): int(rank) for token, rank in lines}


def test_a_hole_in_the_vocabulary_that_an_added_token_falls_on() -> None:
    """tokenizers numbers added tokens from the number of tokens on, which may be the id of one."""
    vocab = {token: at + (at > 100) for at, token in enumerate([*sorted(ALPHABET), *SPELLED])}
    data = json.dumps(tokenizer_json(model={"vocab": vocab}, added_tokens=[added(275, "<x>")])).encode()
    assert tokenizers.Tokenizer.from_str(data.decode()).encode("<x>").ids == [275] == [max(vocab.values())]
    with pytest.raises(VocabularyError, match=r'added_tokens\[0\].id: tokenizers gives "<x>" the id 275, which another token has'):
        read(data, "x")


def test_special_tokens_that_are_taken_for_text_are_refused() -> None:
    reference = tokenizers.Tokenizer.from_str(made_file({}).decode())
    reference.encode_special_tokens = True
    with pytest.raises(VocabularyError, match="encode_special_tokens is set"):
        load(reference)


# --- tekken.json ---------------------------------------------------------------------------------------------------------------------------


def tekken(**parts: Any) -> dict[str, Any]:
    tokens = [bytes([byte]) for byte in range(256)] + WORDS
    config = {"pattern": PATTERN, "num_vocab_tokens": len(tokens), "default_vocab_size": 290, "default_num_special_tokens": 22, "version": "v3"}
    vocab = [{"rank": at, "token_bytes": base64.b64encode(token).decode(), "token_str": None} for at, token in enumerate(tokens)]
    return {"config": {**config, **parts.pop("config", {})}, "vocab": vocab, **parts}


def test_tekken_json() -> None:
    made = read(json.dumps(tekken()).encode(), "tekken.json")
    kept = 290 - 22
    reference = tiktoken.Encoding(
        "t", pat_str=PATTERN, special_tokens={},
        mergeable_ranks={token: at for at, token in enumerate([*(bytes([byte]) for byte in range(256)), *WORDS][:kept])},
    )  # fmt: skip
    ours = Pipeline(made)
    for text in TEXTS:
        assert ours.ordinary(text) == [number + 22 for number in reference.encode_ordinary(text)], text
    assert (made.format, made.convention, made.name, len(made.vocabulary)) == ("tekken", "tekken", "tekken", 290)
    assert [token.content for token in made.added][:4] == ["<unk>", "<s>", "</s>", "[INST]"]
    assert [token.content for token in made.added][19:] == ["[TOOL_CONTENT]", "<SPECIAL_20>", "<SPECIAL_21>"]
    assert ours.encoder.decode([1, 22 + 97, 21]) == b"<s>a<SPECIAL_21>"


def test_special_tokens_of_tekken_json() -> None:
    named = [{"rank": 1, "token_str": "<b>", "is_control": True}, {"rank": 0, "token_str": "<a>", "is_control": True}]
    made = read(json.dumps(tekken(special_tokens=named, config={"version": "v11"})).encode(), "x")
    assert [(token.id, token.content) for token in made.added][:3] == [(0, "<a>"), (1, "<b>"), (2, "<SPECIAL_2>")]
    early = read(json.dumps(tekken()).encode(), "x").added
    for parts in ({"config": {"version": "v7"}}, {"config": {"version": "v7m1"}}, {"special_tokens": None}):
        assert read(json.dumps(tekken(**parts)).encode(), "x", name="mine").added == early  # type: ignore[arg-type]
    some = {"[TOOL_RESULTS]": 7, "[/TOOL_RESULTS]": 8, "[TOOL_CALLS]": 9, "[IMG]": 10, "<pad>": 11, "[IMG_BREAK]": 12, "[PREFIX]": 14, "[SYSTEM_PROMPT]": 17}
    assert some.items() <= {token.content: token.id for token in early}.items()
    assert read(json.dumps(tekken()).encode(), "x", name="mine").name == "mine"


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"config": {"version": "v8"}}, "x: special_tokens: missing in a file of version v8"),
        ({"config": {"version": "next"}}, "x: special_tokens: missing in a file of version next"),
        ({"config": {"default_vocab_size": 900}}, "x: config.default_vocab_size: 900 is not from 22 special tokens to 270 more"),
        ({"config": {"default_vocab_size": 10}}, "x: config.default_vocab_size: 10 is not from 22 special tokens to 270 more"),
        ({"config": {"default_num_special_tokens": 19, "default_vocab_size": 280}}, "x: special_tokens: the 20 ranks are not those from 0 on, once each, and at most 19"),
        ({"special_tokens": [{"rank": at, "token_str": "<a>"} for at in range(2)]}, "x: special_tokens: the 2 ranks are not those from 0 on, once each"),
        ({"config": {"pattern": None}}, "x: config.pattern: missing"),
        ({"special_tokens": [{"rank": 1, "token_str": "<a>"}]}, "x: special_tokens: the 1 ranks are not those from 0 on"),
        ({"vocab": [{"rank": 0, "token_bytes": "YQ=="}] * 300}, "x: vocab[1].rank: 0 where 1 should be"),
        ({"vocab": [{"rank": at, "token_bytes": "Y"} for at in range(300)]}, "x: vocab[0].token_bytes: 'Y' is not base64"),
        ({"vocab": [{"rank": at, "token_bytes": "\ud800"} for at in range(300)]}, "x: vocab[0].token_bytes: '\\ud800' is not base64"),
        ({"config": {"version": "v" + "1" * 5000}}, "x: special_tokens: missing in a file of version v111"),
        ({"vocab": [{"rank": at} for at in range(300)]}, "x: vocab[0].token_bytes: missing"),
        ({"vocab": [7] * 300}, "x: vocab[0]: 7 is not an object"),
        ({"vocab": [{"rank": at, "token_bytes": "YQ=="} for at in range(300)]}, "x: vocab: ids 22 and 23 are the same token, b'a'"),
    ],
)  # fmt: skip
def test_tekken_json_that_is_refused(parts: dict[str, Any], message: str) -> None:
    with pytest.raises(VocabularyError) as caught:
        read(json.dumps(tekken(**parts)).encode(), "x")
    assert message in str(caught.value)


# --- minbpe --------------------------------------------------------------------------------------------------------------------------------

LEARNED = [(116, 104), (256, 101), (32, 257), (105, 110), (259, 103), (195, 169), (32, 32), (262, 32)]


def model(pattern: str, special: dict[str, int], merges: list[tuple[int, int]] = LEARNED) -> bytes:
    lines = ["minbpe v1", pattern, str(len(special)), *(f"{text} {number}" for text, number in special.items()), *(f"{a} {b}" for a, b in merges)]
    return "".join(f"{line}\n" for line in lines).encode()


def checked(data: bytes) -> bytes:
    return data + checksum_line(data)


@pytest.mark.parametrize("pattern", ["", PATTERN, GAPS])
def test_minbpe(pattern: str) -> None:
    made = read(model(pattern, {"<|end|>": 300}), "x", name="mine")
    made.vocabulary.check()
    ours = Pipeline(made)
    for text in TEXTS:
        chunks = regex.findall(pattern, text) if pattern else [text]
        assert ours.ordinary(text) == [number for chunk in chunks for number in minbpe(LEARNED, chunk.encode())], text
    assert (made.format, made.convention, made.dialect, made.family, made.name) == ("minbpe", "tiktoken", "python", None, "mine")
    assert ours.encoder.decode([258, 300]) == b" the<|end|>"
    written = contents(made, "mine.model", "minbpe")["mine.vocab"].decode().splitlines()
    assert [written[at] for at in (97, 257, 258, -1)] == ["[a] 97", "[th][e] -> [the] 257", "[ ][the] -> [ the] 258", "[<|end|>] 300"]


def test_minbpe_as_it_is_read() -> None:
    """By lines of any kind, which are stripped; and merged in the order of the merges, also what is a token as a whole."""
    data = model(PATTERN, {"<|end|>": 300})
    for other in (data.replace(b"\n", b"\r"), data.replace(b"\n", b"\r\n"), data.replace(b"\n", b" \n\t"), data.replace(b"\n1", b"\n000000000001")):
        made = read(other.strip(), "x")
        assert (made.vocabulary, made.pre_tokenizer, made.added) == (read(data, "x").vocabulary, matches_of(PATTERN), read(data, "x").added)
    merges = [(98, 99), (97, 98), (257, 99)]
    assert Pipeline(read(model("", {}, merges), "x")).ordinary("abc") == minbpe(merges, b"abc") == [97, 256]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"minbpe v3\n\n0\n", "x: line 1: 'minbpe v3' is neither 'minbpe v1' nor 'minbpe v2'"),
        (b"minbpe v2\n\n0\n", "x: line 3: the file was cut short: it does not end with its checksum"),
        (b"minbpe v1\n\n", "x: ends after line 2; a pattern and the number of special tokens should follow"),
        (checked(b'minbpe v2\n""\n0\n0\n')[:-1], "x: line 5: the file was cut short: it does not end with its checksum"),
        (checked(b'minbpe v2\n""\n0\n'), "x: line 4: the number of merges is missing, behind the 0 special tokens that line 3 tells of"),
        (checked(b'minbpe v2\n""\n0\n0\n97 98\n'), "x: line 6: 1 merges stand before it, not 0, as line 4 says"),
        (checked(b'minbpe v2\n""\n0\n1\n97 256\n'), "x: line 5: 256 is no token yet; this merge makes 256"),
        (checked(b'minbpe v2\n""\n0\n2\n97 98\n97 99\n').replace(b"97 99", b"257 9"), "x: line 6: the file was edited: its checksum is that of another"),
        (checked(b'minbpe v2\n""\n0\n2\n97 98\n97 99\n').replace(b"97 99", b"256 9"), "x: line 7: the file was edited: its checksum is that of another"),
        (b"minbpe v1\n\n2\n<a> 300\n<b> 300\n", "x: special token '<b>' has the id 300 of another token"),
        (b"minbpe v1\n", "x: ends after line 1; a pattern and the number of special tokens should follow"),
        (b"minbpe v1\n\nx\n", "x: line 3: 'x' is not a number"),
        (b"minbpe v1\n\n2\n<a> 300\n", "x: ends after line 4, before the 2 special tokens that line 3 tells of"),
        (b"minbpe v1\n\n1\n<a>\n", "x: line 4: '<a>' is not a new special token and its id"),
        (b"minbpe v1\n\n2\n<a> 300\n<a> 301\n", "x: line 5: '<a> 301' is not a new special token and its id"),
        ("minbpe v1\n\n1\n<a> \u00b2\n".encode(), "x: line 4: '<a> \u00b2' is not a new special token and its id"),
        (b"minbpe v1\n\n1\n<a> %s\n" % (b"1" * 5000), "x: line 4: '<a> 1111"),
        (b"minbpe v1\n\n%s\n" % (b"1" * 5000), "x: line 3: '1111"),
        (b"minbpe v1\n\n0\n97 %s\n" % (b"1" * 5000), "x: line 4: '97 1111"),
        (checked(b"minbpe v2\n%s\n0\n0\n" % (b"[" * 100_000)), "x: line 2: '[[[["),
        (b"minbpe v1\n\n0\n97 97\n" + b"".join(b"%d %d\n" % (at, at) for at in range(256, 300)), "x: line 34: all tokens up to here have 4,294,967,"),
        (b"minbpe v1\n\n1\n<a> 97\n", "x: special token '<a>' has the id 97 of another token"),
        (b"minbpe v1\n\n0\n97 98\n97\n", "x: line 5: '97' is not two ids"),
        (b"minbpe v1\n\n0\n97 256\n", "x: line 4: 256 is no token yet; this merge makes 256"),
        (b"minbpe v1\n\n0\n97 98\n\n97 99\n", "x: line 5: '' is not two ids"),
        (b"minbpe v1\n\n0\n97 98\n97 98\n", "x: ids 256 and 257 are the same token, b'ab'"),
        (b"minbpe v1\n\n0\n97 98\n98 99\n97 257\n256 99\n", "x: ids 258 and 259 are the same token, b'abc'"),
        (b"minbpe v1\n(a)|b\n0\n", "x: line 2: a capturing group"),
        (b"minbpe v1\n(?P<x>a)|b\n0\n", "x: line 2: a capturing group"),
        (b"minbpe v1\n(?<x>a)|b\n0\n", "x: line 2: a capturing group"),
        (b"minbpe v1\n\xff\n0\n", "x: byte 10 is not UTF-8"),
    ],
)  # fmt: skip
def test_minbpe_that_is_refused(data: bytes, message: str) -> None:
    with pytest.raises(VocabularyError) as caught:
        read(data, "x")
    assert str(caught.value).startswith(message)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("pattern", [r"\(a\)|b", "[(]a|[^)(]", r"(?:a)(?i:b)(?=c)(?!d)(?<=e)(?<!f)(?>g)", r"[\]()]|[]()]", r"\\\(", "[[:alpha:](]", "[\\\n(]"])
def test_what_is_no_capturing_group(pattern: str) -> None:
    assert regex.compile(pattern).groups == 0
    read(checked(b"minbpe v2\n%s\n0\n0\n" % json.dumps(pattern).encode()), "x")


# --- which format --------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "x: is empty"),
        (b"hello", "x: begins with b'hello'"),
        (b"GGUF\x03", "x: a GGUF file"),
        (b"#version: 0.2\n", "x: a merges.txt"),
        (b"\n\x0e\n\x05<unk>", "x: a SentencePiece model"),
        (b"version https://git-lfs.github.com/spec/v1\n", "x: a pointer to a file that Git LFS has not fetched"),
        (b"{", "x: line 1, column 2: "),
        ("{}".encode("utf-16-le"), "x: line 1, column 2: "),  # which tokenizers does not read either
        (b'{"model": %s}' % (b"1" * 5000), "x: Exceeds the limit (4300 digits)"),
        (b'{\n "model": {"vocab": {"a": 1}, "merg', "x: line 2, column "),
        (b"{}", "x: neither a tokenizer.json"),
        (b'{"config": {}}', "x: neither a tokenizer.json"),
        (b'{"model": 5}', "x: model: 5 is not an object"),
        (b'{"\xff": 5}', "x: 'utf-8' codec can't decode"),
        (b"{" + b'"a":{' * 100_000, "x: is nested too deeply"),
    ],
)  # fmt: skip
def test_what_is_no_tokenizer(data: bytes, message: str) -> None:
    with pytest.raises(VocabularyError) as caught:
        read(data, "x")
    assert str(caught.value).startswith(message)
    assert "sys." not in str(caught.value)  # what a program could do about it


def test_a_pre_tokenizer_that_is_nested_too_deeply() -> None:
    """Where JSON itself may not be so deep, and where it may, as in Python 3.13: the error is one of ours, with the name of the file."""
    for depth in (200, 3000):
        deep = b'{"type": "Sequence", "pretokenizers": [' * depth + b'{"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true}' + b"]}" * depth
        data = made_file({"pre_tokenizer": "DEEP"}).replace(b'"DEEP"', deep)
        with pytest.raises(VocabularyError, match=r"^x: (is nested too deeply|this pre_tokenizer has Sequences nested more than 150 deep; write )"):
            read(data, "x")


def test_a_name_twice_in_an_added_token() -> None:
    """Elsewhere the last one counts, as in tokenizers, which refuses it here."""
    data = made_file({})
    assert read(data.replace(b'"version": "1.0"', b'"version": "0", "version": "1.0"'), "x").vocabulary == read(data, "x").vocabulary
    twice = data.replace(b'"special": true', b'"special": true, "lstrip": false, "special": true')
    assert twice != data
    with pytest.raises(Exception, match="duplicate field `lstrip`"):
        tokenizers.Tokenizer.from_str(twice.decode())
    with pytest.raises(VocabularyError, match=r"^x: added_tokens\[0\]\.lstrip: is there twice$"):
        read(twice, "x")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "is empty"), (b"version https://git-lfs.github.com/spec/v1\n", "a pointer to a file that Git LFS has not fetched"),
        (b"\xef\xbb\xbfIQ== 0\n", "begins with b'"), (b"# x\nIQ== 0\n", "begins with b'"), (b"== 0\nIQ== 1\n", "begins with b'== 0"),
        (b"<!DOCTYPE html>", "begins with b'<!DOCTYPE html>'"), (b"#version: 0.2\n", "a merges.txt"), (b"GGUF\x03", "a GGUF file"),
        (b"{}", "neither a tokenizer.json"), (b"hello", "begins with b'hello'"),
    ],
)  # fmt: skip
def test_what_is_no_tokenizer_with_options(data: bytes, message: str, tmp_path: Path) -> None:
    """What it is comes first; that it is none for which options are would be no help, and is not so."""
    path = tmp_path / "file"
    path.write_bytes(data)
    for make, source in ((Tokenizer.from_bytes, data), (Tokenizer.from_file, path)):
        with pytest.raises(VocabularyError) as caught:
            make(source, family="cl100k")  # type: ignore[arg-type]
        assert str(caught.value).partition(": ")[2].startswith(message)


def test_a_large_file_that_is_none_is_not_read(tmp_path: Path) -> None:
    """Of those that begin as one, all is read, however late it is known what they are."""
    path = tmp_path / "model.gguf"
    for beginning, message in ((b"GGUF\x03", "a GGUF file"), (b"PK\x03\x04", "begins with"), (bytes(4), "begins with")):
        path.write_bytes(beginning)
        os.truncate(path, 1 << 40)  # more than any memory
        with pytest.raises(VocabularyError, match=f"^{re.escape(str(path))}: {message}"):
            load(path)
    space, long = b" " * 5000, {**ranks(), b"a" * 4000: 300}
    words = b"".join(b"%s %d\n" % (base64.b64encode(token), rank) for token, rank in sorted(long.items(), key=lambda item: -len(item[0])))
    begun = b"\n" * 3 + b"%s 300\n" % base64.b64encode(b"a" * 3069) + rank_file(ranks())  # whose rank begins at 4096
    for content, options in ((space + made_file({}), {}), (words, {"family": "cl100k"}), (b"\n" * 5000 + words, {"family": "cl100k"}), (begun, {"family": "cl100k"})):
        path.write_bytes(content)
        assert load(path, **options).vocabulary.ids[b"the"] > 255  # type: ignore[arg-type]


def test_options_are_for_rank_files(tmp_path: Path) -> None:
    given: list[dict[str, Any]] = [{"family": "cl100k"}, {"pattern": "a"}, {"special": {}}]
    for options in given:
        with pytest.raises(VocabularyError, match="family=, pattern= and special= are for rank files"):
            read(made_file({}), "x", **options)
    with pytest.raises(TypeError, match=r"expected a path, a tiktoken\.Encoding or a tokenizers\.Tokenizer, got int"):
        load(5)
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "nothing")
    for option in ("name", "family", "pattern"):
        with pytest.raises(TypeError, match=rf"^{option} is 5; it may be a str$"):
            read(rank_file(ranks()), "x", **{option: 5})  # type: ignore[arg-type]


def test_content_instead_of_a_path(tmp_path: Path) -> None:
    path, data = tmp_path / "{\n}", made_file({})
    ranks_of_words = rank_file(ranks())
    ours = Tokenizer.from_bytes(bytearray(data))
    assert ours.encode("the 12") == Tokenizer.from_huggingface(tokenizers.Tokenizer.from_buffer(data)).encode("the 12")
    assert Tokenizer.from_bytes(ranks_of_words, pattern=PATTERN, special={}).encode("the12") == [257, 263]
    path.write_bytes(data)  # there may be such a file
    assert load(str(path), name="mine").name == "mine"
    ours.save(path)
    assert Tokenizer.from_file(str(path)).encode("the") == ours.encode("the")
    others: list[Callable[..., Any]] = [Tokenizer.from_huggingface, Tokenizer.from_tiktoken, Tokenizer.from_tekken, Tokenizer.from_minbpe, load]
    for make in (Tokenizer.from_file, *others):
        for content in (data, ranks_of_words):
            with pytest.raises(VocabularyError, match=r"^'.{20,30}'\.\.\. is the content of a file, not its path; Tokenizer\.from_bytes takes"):
                make(content.decode())
    for make in others:
        with pytest.raises(TypeError, match=r"expected a path, got bytes; Tokenizer\.from_bytes takes the content of a file"):
            make(data)
    with pytest.raises(TypeError, match=r"as bytes, got str; Tokenizer\.from_file takes its path"):
        Tokenizer.from_bytes(data.decode())  # type: ignore[arg-type]
    with pytest.raises(VocabularyError, match="bytes in memory: a saved tokenizer is mapped into memory, so it must be a file"):
        Tokenizer.from_bytes(path.read_bytes())


def test_a_truncated_tokenizer_json_is_an_error_at_any_place() -> None:
    data = made_file(FILES["template"])
    for end in range(0, len(data) - 1, 97):
        with pytest.raises(VocabularyError):
            read(data[:end], "x")


def test_the_byte_alphabet_is_that_of_tokenizers() -> None:
    assert sorted(ALPHABET) == sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet()) and len(set(ALPHABET)) == 256
    assert to_bytes(ALPHABET) == bytes(range(256))
    for other in " \u00ad\u00a0\x7f\x00\u0144\uffff\U00010000":
        with pytest.raises(UnicodeEncodeError):
            to_bytes(other)


def test_no_other_package_is_needed() -> None:
    program = (
        "import sys\n"
        "for name in ('numpy', 'tiktoken', 'tokenizers', 'regex', 'transformers'): sys.modules[name] = None\n"
        "from bitlex.vocabularies import read\n"
        "from bitlex.merging import PureEncoder\n"
        "made = read(sys.stdin.buffer.read(), 'x')\n"
        "encoder = PureEncoder(made.vocabulary)\n"
        "print([n for piece in made.lexer().split(b'the thing') for n in encoder.encode_piece(piece)])\n"
    )
    done = subprocess.run([sys.executable, "-I", "-c", program], input=made_file({}), capture_output=True, check=True)
    assert done.stdout == b"[257, 270, 260]\n" or json.loads(done.stdout)


# --- published files -----------------------------------------------------------------------------------------------------------------------

needs_data = pytest.mark.skipif(not DATA, reason="BITLEX_DATA names no folder with vocabularies and corpora")
RANK_FILES = {"r50k_base": "gpt2", "p50k_base": "gpt2", "cl100k_base": "cl100k", "o200k_base": "o200k", "qwen": "qwen2"}
JSON_FILES = {"gpt2": "bytelevel", "llama3": "llama3", "qwen3": "qwen2", "deepseek_v3": "deepseek_v3"}


def beginnings() -> list[str]:
    paths = sorted((Path(DATA) / "corpora").iterdir())
    assert paths
    found = []
    for path in paths:
        with open(path, encoding="utf-8", newline="") as file:
            found.append(file.read(LENGTH))
    return found


@needs_data
@pytest.mark.parametrize("name", list(RANK_FILES))
def test_published_rank_files(name: str) -> None:
    path = Path(DATA) / "vocab" / f"{name}.tiktoken"
    made = load(path)
    assert made.name == name and made.family == RANK_FILES[name]
    made.vocabulary.check()
    ranks = {token: number for number, token in enumerate(made.vocabulary.tokens()) if token}
    assert ranks == load_tiktoken_bpe(str(path))
    special = {token.content: token.id for token in made.added}
    reference = tiktoken.Encoding(name, pat_str=bitlex.lexer(made.family).pattern, mergeable_ranks=ranks, special_tokens=special)
    ours = Pipeline(made)
    for text in [*beginnings(), *TEXTS]:
        ids = reference.encode_ordinary(text)
        assert ours.ordinary(text) == ids
        assert ours.encoder.decode(ids) == reference.decode_bytes(ids) == text.encode()
        assert ours.encode(text) == reference.encode(text, allowed_special="all")
    for number in special.values():
        assert ours.encoder.decode([number]) == reference.decode_bytes([number])
    in_memory = load(reference)
    assert in_memory.pre_tokenizer == matches_of(reference._pat_str)
    assert dataclasses.replace(in_memory, pre_tokenizer=None) == made


@needs_data
@pytest.mark.parametrize(("file", "name"), [("p50k_base", "p50k_edit"), ("o200k_base", "o200k_harmony"), ("r50k_base", "gpt2")])
def test_published_files_of_several_names(file: str, name: str) -> None:
    made = load(Path(DATA) / "vocab" / f"{file}.tiktoken", name=name)
    usual = load(Path(DATA) / "vocab" / f"{file}.tiktoken")
    assert made.name == name and usual.name == file
    assert made.vocabulary == usual.vocabulary and made.digest == usual.digest
    assert {token.content for token in usual.added} <= {token.content for token in made.added}
    special = {token.content: token.id for token in made.added}
    reference = tiktoken.Encoding(name, pat_str="a", mergeable_ranks=dict(made.vocabulary.ids), special_tokens=special)
    for number in special.values():
        assert made.decoded[number] == reference.decode_single_token_bytes(number)


@needs_data
def test_the_name_of_another_published_file(tmp_path: Path) -> None:
    path = Path(DATA) / "vocab" / "r50k_base.tiktoken"
    with pytest.raises(VocabularyError, match=r"r50k_base.tiktoken: name= is p50k_edit, and this is the file of r50k_base$"):
        load(path, name="p50k_edit")
    assert load(path, name="mine").name == "mine"


@needs_data
@pytest.mark.parametrize("name", list(JSON_FILES))
def test_published_tokenizer_json(name: str) -> None:
    path = Path(DATA) / "vocab" / f"{name}.tokenizer.json"
    reference, made = tokenizers.Tokenizer.from_file(str(path)), load(path)
    made.vocabulary.check()
    assert made.family == JSON_FILES[name]
    ours = Pipeline(made)
    contents = [token.content for token in made.added]
    texts = [*beginnings(), *TEXTS, " ".join(contents), "x".join(contents), "e\u0301".join(contents[:20])]
    for text in texts:
        ids = reference.encode(text, add_special_tokens=False).ids
        assert ours.encode(text) == ids
        assert ours.encoder.decode(ids).decode(errors="replace") == reference.decode(ids, skip_special_tokens=False)
        assert [*made.prefix, *ids, *made.suffix] == reference.encode(text).ids
    for number in random.Random(name).sample(sorted(reference.get_vocab(with_added_tokens=True).values()), 2000):
        assert ours.encoder.decode([number]).decode(errors="replace") == reference.decode([number], skip_special_tokens=False)


@needs_data
def test_vocabularies_that_are_the_same() -> None:
    """gpt2 and r50k, qwen3 and qwen: the same tokens in two formats, in one by ranks and in the other by merges."""
    folder = Path(DATA) / "vocab"
    for one, other in (("r50k_base", "gpt2"), ("qwen", "qwen3")):
        ranks, merges = load(folder / f"{one}.tiktoken").vocabulary, load(folder / f"{other}.tokenizer.json").vocabulary
        assert {**merges.ids, **ranks.ids} == dict(merges.ids)
        again = Vocabulary.from_merges(merges.tokens(), [(merges.token_bytes(a), merges.token_bytes(b)) for a, b in merges.pairs])
        assert again == merges
