"""Published vocabularies: the ids of whole corpora, and tiktoken and tokenizers themselves on strings made to be hard.

BITLEX_DATA names the folder: `vocab`, `corpora`, and golden.json with the number of ids of each file and the SHA-256 of them (uint32,
little-endian), from tiktoken 0.14.0 for whole files and tokenizers 0.23.3 for the first 262,144 characters. Without it there is nothing
to do. What golden.json lacks is asked of the package itself; of tokenizers whole files only under BITLEX_SLOW=1 (a minute a vocabulary).
Mistral's files are those that `make vectors` fetches. BITLEX_STRINGS is how many thousand random strings are tried with each vocabulary,
by default 2; tests/strings.py tries millions.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import strings
from bitlex.encoders import METHODS
from bitlex.tokenizer import Tokenizer
from bitlex.vocabulary import Vocabulary
from originals import (
    DATA,
    JSON_FILES,
    OPENAI,
    RANK_FILES,
    TEKKEN,
    corpora,
    file_of,
    shift_of,
    tiktoken_of,
    tokenizer_of,
    tokenizers_of,
)

THOUSANDS = int(os.environ.get("BITLEX_STRINGS", "2"))
LENGTH = 262_144
pytestmark = pytest.mark.skipif(not DATA, reason="BITLEX_DATA names no folder with vocabularies, corpora and golden.json")
slow = pytest.mark.skipif(not os.environ.get("BITLEX_SLOW"), reason="BITLEX_SLOW is not set: tokenizers takes a minute for the corpora")


def or_skip(name: str) -> str:
    if not file_of(name).exists():
        pytest.skip(f"{file_of(name)} is not there: make vectors")
    return name


def digest(ids: Any) -> list[Any]:
    return [len(ids), hashlib.sha256(ids.astype("<u4").tobytes()).hexdigest()]


def golden(kind: str) -> dict[str, dict[str, list[Any]]]:
    found: dict[str, dict[str, list[Any]]] = json.loads((Path(DATA) / "golden.json").read_text())[kind]
    return found


@pytest.mark.parametrize("name", OPENAI)
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


@pytest.mark.parametrize("name", ["qwen", *TEKKEN])
def test_whole_files_as_tiktoken(name: str) -> None:
    """Which golden.json does not have; of qwen without the NFC that the code of Qwen 1 puts before it, which is not in the rank file."""
    ours, theirs, shift = tokenizer_of(or_skip(name)), tiktoken_of(name), shift_of(name)
    for file, text in corpora():
        expected = np.array(theirs.encode_ordinary(text), np.uint32) + np.uint32(shift)
        ids = ours.encode_to_numpy(text, allowed_special=(), disallowed_special=())
        assert np.array_equal(ids, expected), file
        assert np.array_equal(ours.encode_to_numpy(text.encode(), allowed_special=(), disallowed_special=(), threads=3), expected), file
        assert ours.decode_bytes(ids) == text.encode(), file


@slow
@pytest.mark.parametrize("name", JSON_FILES)
def test_whole_files_as_tokenizers(name: str) -> None:
    ours, theirs = tokenizer_of(name), tokenizers_of(name)
    for file, text in corpora():
        assert np.array_equal(ours.encode_to_numpy(text), np.array(theirs.encode(text, add_special_tokens=False).ids, np.uint32)), file


@pytest.mark.parametrize("name", JSON_FILES)
def test_digests_of_tokenizers(name: str) -> None:
    ours, expected = tokenizer_of(name), golden("huggingface")
    for file, text in corpora():
        ids = ours.encode_to_numpy(text[:LENGTH])
        assert digest(ids) == expected[file][name], file
        assert digest(np.array(ours.encode(text[:LENGTH].encode()), np.uint32)) == expected[file][name], file


@pytest.mark.parametrize("name", JSON_FILES)
def test_offsets_as_tokenizers(name: str) -> None:
    pair = strings.Tokenizers(name)
    for file, text in corpora():
        part = text[:20_000]
        expected = pair.theirs.encode(part, add_special_tokens=False)
        assert list(pair.places_as_theirs(part, expected.ids, expected.offsets)) == [], file


@pytest.mark.parametrize("name", [*RANK_FILES, *JSON_FILES, *TEKKEN])
def test_strings(name: str) -> None:
    said: list[str] = []
    kinds, differences = strings.compare(or_skip(name), "tests", range(THOUSANDS), said.append)
    assert kinds.total() == 1000 * THOUSANDS and differences == 0, said


def test_strings_can_differ() -> None:
    """A tokenizer that is wrong about one token is found out, by every way to encode; and so is one that decodes wrongly."""
    pair = strings.Tiktoken("cl100k_base")
    vocabulary = pair.ours.description.vocabulary
    tokens = vocabulary.tokens()
    at, other = tokens.index(b"  "), tokens.index(b"the")
    tokens[at], tokens[other] = tokens[other], tokens[at]
    pair.ours = Tokenizer(replace(pair.ours.description, vocabulary=Vocabulary.from_ranks(tokens)))
    found = {way for number in range(4) for way, _ in pair.differences(number, pair.batch("tests", number))}
    assert found >= {
        "encode", "encode of bytes", "encode_to_numpy", "encode_batch, 1 threads", "encode_batch, 2 threads",
        "encode_batch_flat, 1 threads", "encode_batch_flat, 2 threads", "encode_batch of bytes, 2 threads",
        "decode", "joined", "joined, 2 threads", "joined, bytes, 2 threads",
    }  # fmt: skip


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
