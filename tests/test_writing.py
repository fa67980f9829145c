"""A tokenizer.json that was read and is written again: both readers give each text the ids that it had. And what no file can say is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import tokenizers

import bitlex
from bitlex.vocabularies import VocabularyError, load
from bitlex.vocabularies.byte_alphabet import ALPHABET
from bitlex.vocabularies.matching import matches_of
from bitlex.vocabularies.minbpe import REGEX_UNICODE
from bitlex.vocabularies.writing import contents, minbpe, write
from bitlex.vocabulary import AddedToken, Vocabulary
from small_vocabularies import BYTES, TRAINED, describe
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
    text = "1e2, a  b\n\nabe12, ab"
    pairs = sorted({(ALPHABET[ord(left)], ALPHABET[ord(right)]) for left, right in pairwise(text)})  # so that each place where it is cut counts
    written_again(tokenizer_json(tuple(map("".join, pairs)), pairs, pre_tokenizer=steps), tmp_path, text)


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
    for other in (replace(far, normalizer="NFC"), replace(far, added=(replace(far.added[0], content="\u0120b"),))):
        with pytest.raises(VocabularyError, match=r"added token '.*': its id, 300, "):
            write(other, tmp_path / "tokenizer.json")
    merged = replace(read.vocabulary, whole=False)
    write(replace(far, vocabulary=merged, added=(replace(far.added[0], single_word=True),)), tmp_path / "tokenizer.json")
    assert tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json")).encode("x1 x1b").ids[0] == 300


def test_tokens_that_no_text_is_encoded_to(tmp_path: Path) -> None:
    tokens = (*TOKENS, "\u6f22", "a b", "\u2581the", "")
    fields = tokenizer_json(tokens, MERGES, added_tokens=[added(258, "\u6f22"), added(262, "<|end|>", special=True)])
    again = written_again(fields, tmp_path, "\u6f22 a b\u2581the<|end|>")
    assert again.decode([259, 260, 261, 262]) == "a b\u2581the<|end|>"


# --- descriptions of any kind ------------------------------------------------------------------------------------------------------------


def out_of_order(whole: bool) -> Vocabulary:
    """Which merges "abc" to "a" and "bc"."""
    return Vocabulary.from_merges([*BYTES, b"bc", b"ab", b"abc"], [(b"b", b"c"), (b"a", b"b"), (b"ab", b"c")], whole=whole)


def test_a_token_that_merging_does_not_come_to(tmp_path: Path) -> None:
    """Some take it whole: a file says whether, or is refused."""
    for whole, ids in ((False, [97, 256]), (True, [258])):
        made = describe(out_of_order(whole), family="gpt2")
        write(made, tmp_path / "tokenizer.json")
        assert tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json")).encode("abc").ids == ids == bitlex.Tokenizer(made).encode("abc")
    write(describe(out_of_order(False), family=None), tmp_path / "mine.model")
    assert bitlex.Tokenizer.from_file(tmp_path / "mine.model").encode("abc") == [97, 256]
    with pytest.raises(VocabularyError, match=r"^small: merge 2 is not where the ids of tokens would have it"):
        write(describe(out_of_order(True), family=None), tmp_path / "mine.model")


def test_the_format_that_is_asked_for(tmp_path: Path) -> None:
    """Comes before what the name says."""
    write(describe(TRAINED), tmp_path / "mine.json", "tiktoken")
    assert (tmp_path / "mine.json").read_bytes() == contents(describe(TRAINED), "mine.tiktoken", "tiktoken")["mine.tiktoken"]


@pytest.mark.parametrize("single", [(("A", 0),), ((300, 0), ("A", 0))])
def test_special_tokens_around_texts(single: Any, tmp_path: Path) -> None:
    made = describe(TRAINED, (AddedToken(300, "<s>"),), family="gpt2", single=single, pair=(("A", 0), (300, 0), ("B", 1)))
    write(made, tmp_path / "tokenizer.json")
    theirs = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    assert theirs.encode("the").tokens == (["<s>"] if len(single) > 1 else []) + ["the"]
    assert theirs.encode("the", "in").ids == [257, 300, 259] and theirs.encode("the", "in").tokens == ["the", "<s>", "in"]


PARTICULAR: list[dict[str, bool]] = [{"lstrip": True}, {"rstrip": True}, {"single_word": True}, {"special": False}]


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"normalizer": "NFC"}, "cannot say that text is normalized, or that a space is put before it"),
        ({"prefix_space": True}, "cannot say that text is normalized, or that a space is put before it"),
        *(({"added": (AddedToken(300, "<a>", **flags),)}, "cannot say what is particular to added token '<a>'") for flags in PARTICULAR),
    ],
)  # fmt: skip
def test_what_only_a_tokenizer_json_can_say(parts: dict[str, Any], message: str) -> None:
    made = describe(out_of_order(False), family=None, **parts)
    for name, format in (("a rank file", "tiktoken"), ("a model of minbpe", "minbpe")):
        with pytest.raises(VocabularyError, match=f"^small: {name} {message}$"):
            contents(made, "x", format)


def cut_by(pattern: str) -> dict[str, Any]:
    return {"pre_tokenizer": matches_of(pattern), "dialect": "python", "unicode": REGEX_UNICODE}


@pytest.mark.parametrize(
    ("vocabulary", "parts", "message"),
    [
        (Vocabulary.from_merges([*BYTES, b"ab", b"zz"], [(b"a", b"b")]), {}, "has a token for each merge, in their order, and no others"),
        (Vocabulary.from_merges([*BYTES, b"ab", b"bc"], [(b"b", b"c"), (b"a", b"b")]), {}, "has a token for each merge, in their order, and no others"),
        (out_of_order(False), {"added": (AddedToken(300, "a\tb"),)}, r"special token 'a\\tb' has white space"),
        (out_of_order(False), {"pre_tokenizer": split({"String": ","})}, "a model of minbpe is cut by one regular expression"),
        (out_of_order(False), {**cut_by(r"\w+|\W"), "unicode": "16.0"}, r"minbpe, which reads the pattern as python and Unicode 18\.0, would cut"),
        *((out_of_order(False), cut_by(pattern), "does not fit a line of a model of minbpe") for pattern in (" a|.", "a|b ", "a\nb|.", "a\rb|.")),
    ],
)  # fmt: skip
def test_what_a_model_of_minbpe_cannot_hold(vocabulary: Vocabulary, parts: dict[str, Any], message: str) -> None:
    with pytest.raises(VocabularyError, match=f"^small: .*{message}"):
        contents(describe(vocabulary, **{"family": None, **parts}), "x", "minbpe")


def test_a_pattern_of_several_lines_in_a_model_with_a_checksum() -> None:
    made = describe(out_of_order(False), family=None, **cut_by("a\nb|. "))
    assert bitlex.Tokenizer.from_bytes(minbpe(made, checked=True)).description.pre_tokenizer == made.pre_tokenizer


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"prefix_space": True}, "a space that is put before texts is not written"),
        ({"added": (AddedToken(300, "the"),)}, "special token 'the' is also token 257"),
    ],
)
def test_what_a_tokenizer_json_cannot_hold(parts: dict[str, Any], message: str) -> None:
    with pytest.raises(VocabularyError, match=f"^small: {message}$"):
        contents(describe(TRAINED, **{"family": "gpt2", **parts}), "x", "huggingface")
