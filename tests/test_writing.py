"""A tokenizer.json that was read and is written again: both readers give each text the ids that it had."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import tokenizers

import bitlex
from bitlex.vocabularies import VocabularyError, load
from bitlex.vocabularies.writing import write
from texts import TORTURE
from tokenizing import BYTE_LEVEL, added, tokenizer_json

NO_REGEX = BYTE_LEVEL | {"use_regex": False}
TOKENS, MERGES = ("12", "ab"), [["1", "2"], ["a", "b"]]


def split(pattern: dict[str, str], behavior: str = "Isolated", invert: bool = False) -> dict[str, Any]:
    return {"type": "Split", "pattern": pattern, "behavior": behavior, "invert": invert}


def sequence(*steps: dict[str, Any]) -> dict[str, Any]:
    return {"type": "Sequence", "pretokenizers": list(steps)}


def stored(fields: dict[str, Any], folder: Path) -> Path:
    (folder / "first.json").write_text(json.dumps(fields))
    return folder / "first.json"


def written_again(fields: dict[str, Any], folder: Path, *texts: str) -> bitlex.Tokenizer:
    """Of the file that is written: the tokenizer, the same as that of the first one."""
    read, path = load(stored(fields, folder)), folder / "tokenizer.json"
    write(read, path)
    ours, again = bitlex.Tokenizer(read), bitlex.Tokenizer.from_file(path)
    first, theirs = (tokenizers.Tokenizer.from_file(str(one)) for one in (folder / "first.json", path))
    for text in (*TORTURE, *texts):
        ids = first.encode(text).ids
        assert ours.encode(text) == ids == again.encode(text) == theirs.encode(text).ids, text
    assert theirs.get_vocab() == first.get_vocab()
    assert all(again.decode([number]) == ours.decode([number]) for number in first.get_vocab().values())
    return again


@pytest.mark.parametrize(
    "steps",
    [
        BYTE_LEVEL, NO_REGEX,
        sequence({"type": "Digits", "individual_digits": False}, BYTE_LEVEL),
        sequence({"type": "Punctuation", "behavior": "Isolated"}, {"type": "Whitespace"}, NO_REGEX),
        sequence(split({"String": "e"}, "MergedWithNext", True), BYTE_LEVEL),
    ],
)  # fmt: skip
def test_every_pre_tokenizer(steps: dict[str, Any], tmp_path: Path) -> None:
    written_again(tokenizer_json(TOKENS, MERGES, pre_tokenizer=steps), tmp_path, "1e2, a  b\n\nabe12")


def test_added_tokens_are_no_tokens_of_the_model(tmp_path: Path) -> None:
    """With ignore_merges, a piece would be one of them, that is not found because of what stands beside it."""
    fields = tokenizer_json(
        TOKENS, MERGES, model={"ignore_merges": True}, pre_tokenizer=sequence(split({"Regex": "x1| b"}), NO_REGEX),
        added_tokens=[added(258, "x1", single_word=True), added(259, "\u0120b")],
    )  # fmt: skip
    written_again(fields, tmp_path, "ax1 b", "x1 \u0120b")


def test_added_tokens_whose_ids_the_model_must_say(tmp_path: Path) -> None:
    fields = tokenizer_json(TOKENS, MERGES, model={"ignore_merges": True}, added_tokens=[added(258, "x1")])
    read = load(stored(fields, tmp_path))
    far = replace(read, added=(replace(read.added[0], id=300),), decoded={300: b"x1"})
    write(far, tmp_path / "tokenizer.json")
    assert tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json")).encode("x1").ids == [300]
    with pytest.raises(VocabularyError, match="added token 'x1': its id, 300, "):
        write(replace(far, added=(replace(far.added[0], single_word=True),)), tmp_path / "tokenizer.json")


def test_tokens_that_no_text_is_encoded_to(tmp_path: Path) -> None:
    tokens = (*TOKENS, "\u6f22", "a b", "\u2581the", "")
    fields = tokenizer_json(tokens, MERGES, added_tokens=[added(258, "\u6f22"), added(262, "<|end|>", special=True)])
    again = written_again(fields, tmp_path, "\u6f22 a b\u2581the<|end|>")
    assert again.decode([259, 260, 261, 262]) == "a b\u2581the<|end|>"
