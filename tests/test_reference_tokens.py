"""Published vocabularies: the ids of whole corpora by their digests, and tiktoken and tokenizers themselves on strings made to be hard.

BITLEX_DATA names the folder: `vocab`, `corpora`, and golden.json with the number of ids of each file and the SHA-256 of them (uint32,
little-endian), from tiktoken 0.14.0 for whole files and tokenizers 0.23.3 for the first 262,144 characters. Without it there is nothing to do.
BITLEX_STRINGS is how many random strings are tried with each vocabulary, by default 1,500.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiktoken
import tokenizers

from bitlex.encoders import METHODS
from bitlex.tokenizer import Tokenizer

DATA = os.environ.get("BITLEX_DATA", "")
STRINGS = int(os.environ.get("BITLEX_STRINGS", "1500"))
LENGTH = 262_144
RANK_FILES = ("r50k_base", "p50k_base", "cl100k_base", "o200k_base", "qwen")
JSON_FILES = ("gpt2", "llama3", "qwen3", "deepseek_v3")
pytestmark = pytest.mark.skipif(not DATA, reason="BITLEX_DATA names no folder with vocabularies, corpora and golden.json")


@cache
def tokenizer_of(name: str) -> Tokenizer:
    return Tokenizer.from_file(Path(DATA) / "vocab" / (f"{name}.tiktoken" if name in RANK_FILES else f"{name}.tokenizer.json"))


@cache
def tiktoken_of(name: str) -> tiktoken.Encoding:
    ours = tokenizer_of(name)
    ranks = dict(ours.description.vocabulary.ids)
    return tiktoken.Encoding(name, pat_str=ours.lexer.pattern, mergeable_ranks=ranks, special_tokens=dict(ours.special_tokens))


@cache
def tokenizers_of(name: str) -> tokenizers.Tokenizer:
    return tokenizers.Tokenizer.from_file(str(Path(DATA) / "vocab" / f"{name}.tokenizer.json"))


def corpora() -> Iterator[tuple[str, str]]:
    for path in sorted((Path(DATA) / "corpora").iterdir()):
        with path.open(encoding="utf-8", newline="") as file:
            yield path.name, file.read()


def digest(ids: Any) -> list[Any]:
    return [len(ids), hashlib.sha256(ids.astype("<u4").tobytes()).hexdigest()]


def golden(kind: str) -> dict[str, dict[str, list[Any]]]:
    found: dict[str, dict[str, list[Any]]] = json.loads((Path(DATA) / "golden.json").read_text())[kind]
    return found


@pytest.mark.parametrize("name", RANK_FILES[:-1])
def test_digests_of_tiktoken(name: str, tmp_path: Path) -> None:
    """Of str and bytes, by one thread and several, from the file and from the saved one; and back again."""
    ours, expected = tokenizer_of(name), golden("tiktoken")
    ours.save(tmp_path / "saved")
    loaded = Tokenizer.from_file(tmp_path / "saved")
    for file, text in corpora():
        ids = ours.encode_to_numpy(text, allowed_special=(), disallowed_special=())
        assert digest(ids) == expected[file][name], file
        data = text.encode()
        assert np.array_equal(loaded.encode_to_numpy(data, allowed_special=(), disallowed_special=(), threads=3), ids)
        assert ours.decode_bytes(ids) == data and ours.count(data, allowed_special=(), disallowed_special=(), threads=2) == len(ids)


def test_digests_of_qwen() -> None:
    """Which golden.json has as qwen3, of texts that NFC does not change."""
    ours, theirs = tokenizer_of("qwen"), tiktoken_of("qwen")
    for _, text in corpora():
        assert ours.encode_ordinary(text[:LENGTH]) == theirs.encode_ordinary(text[:LENGTH])


@pytest.mark.parametrize("name", JSON_FILES)
def test_digests_of_tokenizers(name: str) -> None:
    ours, expected = tokenizer_of(name), golden("huggingface")
    for file, text in corpora():
        ids = ours.encode_to_numpy(text[:LENGTH])
        assert digest(ids) == expected[file][name], file
        assert digest(np.array(ours.encode(text[:LENGTH].encode()), np.uint32)) == expected[file][name], file


@pytest.mark.parametrize("name", JSON_FILES)
def test_offsets_as_tokenizers(name: str) -> None:
    ours, theirs = tokenizer_of(name), tokenizers_of(name)
    for _, text in corpora():
        part = text[:20_000]
        expected = theirs.encode(part, add_special_tokens=False)
        try:
            ids, offsets = ours.encode_with_offsets(part)
        except ValueError:
            assert theirs.normalizer.normalize_str(part) != part
            continue
        assert ids.tolist() == expected.ids
        assert [tuple(pair) for pair in offsets.tolist()] == expected.offsets


ALPHABETS = (
    "ab ", "aA'sStTlLmMdDrReEvV ", "0123456789 ,.", " \n\r\t\x0b\x85\xa0\u2028\u3000", "中文字。、 \n", "é\u0301e\u0308\u200d ", "😀👩\u200d🚀🏽 \ufe0f",
    "".join(map(chr, range(0x20, 0x7F))), "ſ²½ⅧǅʰªſİßK\u0345\u0378\ue000\U000323b0\U00010d4e", "()[]{}<>|=+-*/\\\"'`~!@#$%^&;:?_\n    ", "ابت ١٢ हिन्दी ไทย 한국어 ", "\0\x01\x7f\ufeff\ufffd",
)  # fmt: skip


def strings(name: str, surrogates: bool) -> Iterator[str]:
    rng = random.Random(name)
    contents = list(tokenizer_of(name).special_tokens)[:5]
    for number in range(STRINGS):
        letters = rng.choice(ALPHABETS) + (rng.choice(ALPHABETS) if rng.random() < 0.5 else "")
        text = "".join(c * rng.choice((1, 1, 1, 1, 2, 3, 17)) for c in rng.choices(letters, k=rng.choice((1, 3, 8, 20, 60, 200))))
        if number % 5 == 0:
            text += rng.choice(contents or [""]) + text[:7]
        if number % 7 == 0 and surrogates:
            at = rng.randrange(len(text))
            text = text[:at] + rng.choice(("\ud83d\ude00", "\ud83d", "\ude00", "\ude00\ud83d")) + text[at:]
        if number % 11 == 0:
            text = "".join(chr(rng.choice((rng.randrange(0xD800), rng.randrange(0xE000, 0x110000)))) for _ in range(rng.randint(1, 30))) + text
        yield text


@pytest.mark.parametrize("name", RANK_FILES)
def test_strings_as_tiktoken(name: str) -> None:
    ours, theirs = tokenizer_of(name), tiktoken_of(name)
    texts = list(strings(name, True))
    batch = ours.encode_batch(texts, allowed_special=(), disallowed_special=(), threads=2)
    for text, found in zip(texts, batch, strict=True):
        ids = theirs.encode_ordinary(text)
        assert found == ids, text
        assert ours.encode(text, allowed_special="all") == theirs.encode(text, allowed_special="all"), text
        assert ours.decode_bytes(ids) == theirs.decode_bytes(ids) and ours.decode_with_offsets(ids) == theirs.decode_with_offsets(ids)
        assert ours.decode(ids[1:]) == theirs.decode(ids[1:])


@pytest.mark.parametrize("name", JSON_FILES)
def test_strings_as_tokenizers(name: str) -> None:
    ours, theirs = tokenizer_of(name), tokenizers_of(name)
    texts = list(strings(name, False))
    for text, expected in zip(texts, theirs.encode_batch(texts, add_special_tokens=False), strict=True):
        assert ours.encode(text) == expected.ids, text
        try:
            ids, offsets = ours.encode_with_offsets(text)
        except ValueError:
            assert theirs.normalizer.normalize_str(text) != text
        else:
            assert ids.tolist() == expected.ids and [tuple(pair) for pair in offsets.tolist()] == expected.offsets, text
        assert ours.decode(expected.ids) == theirs.decode(expected.ids, skip_special_tokens=False)


@pytest.mark.parametrize("name", RANK_FILES)
def test_every_token(name: str) -> None:
    """Alone, and behind another: whole where it is a piece, merged where it is a part of one."""
    ours, theirs = tokenizer_of(name), tiktoken_of(name)
    tokens = ours.description.vocabulary.tokens()
    texts = [token.decode() for token in tokens if token and token.isascii()]
    random.Random(name).shuffle(texts)
    texts = texts[:20_000]
    both = [one + other for one, other in zip(texts[::2], texts[1::2], strict=False)]
    assert ours.encode_batch([*texts, *both], allowed_special=(), disallowed_special=()) == theirs.encode_ordinary_batch([*texts, *both])


@pytest.mark.parametrize("name", [*RANK_FILES, *JSON_FILES])
def test_methods_of_merging(name: str) -> None:
    """On the tokens, on pieces of the corpora, on texts that are not cut, and on pieces of a megabyte."""
    ours = tokenizer_of(name)
    encoder: Any = ours._encoder
    assert encoder.in_order() == (name != "llama3")  # where ".:.:" has a lower rank than ".:.", of which it is made; 110 tokens are such
    rng = random.Random(name)
    pieces = set(rng.sample([token for token in ours.description.vocabulary.tokens() if token], 3000))
    for _, text in corpora():
        data = text.encode()
        pieces |= {data[at : at + size] for size in (5, 30, 300) for at in rng.sample(range(len(data)), 30)}
        pieces |= set(rng.sample(ours.lexer.split(data[:200_000]), 300))
    for piece in pieces:
        found = [ours.merge(piece, method=method) for method in METHODS]  # type: ignore[arg-type]
        assert found == [found[0]] * len(METHODS), piece
    for unit in ("a", " ", "ab", "中", "\n"):
        text = unit * (1_000_000 // len(unit.encode()))
        expected = ours.merge(text, method="heap")
        assert all(ours.merge(text, method=method) == expected for method in ("automatic", "backtrack", "prefixes"))  # type: ignore[arg-type]
