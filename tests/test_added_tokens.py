"""Added tokens and NFC, against tokenizers itself: every flag, every code point beside a token, random tokens in random texts."""

from __future__ import annotations

import json
import random
import unicodedata
from typing import Any

import pytest
import tokenizers

from bitlex import Tokenizer
from bitlex.added import WHITE_SPACE, is_word, split_added
from bitlex.vocabularies import VocabularyError, read
from bitlex.vocabulary import AddedToken
from texts import EVERY, THOROUGH
from tokenizing import Pipeline, added, tokenizer_json

FLAGS = ("single_word", "lstrip", "rstrip", "normalized", "special")


def both(made: dict[str, Any]) -> tuple[tokenizers.Tokenizer, Pipeline]:
    data = json.dumps(made)
    return tokenizers.Tokenizer.from_str(data), Pipeline(read(data.encode(), "tokenizer.json"))


# --- splitting -----------------------------------------------------------------------------------------------------------------------------


def test_an_example() -> None:
    mask = AddedToken(5, "<mask>", lstrip=True)
    assert split_added("a <mask>b", [mask], None) == [("a", None), (" <mask>", 5), ("b", None)]
    assert split_added("", [mask], None) == []
    assert split_added("ab", [], "NFC") == [("ab", None)]


def swallowing(tokens: list[dict[str, Any]]) -> bool:
    """Whether one may have taken all of another, which is white space and would take what is before it."""
    spaces = [one for one in tokens if one["lstrip"] and not one["content"].strip(WHITE_SPACE)]
    return any(one["normalized"] == other["normalized"] for one in spaces for other in tokens if other["rstrip"])


@pytest.mark.parametrize("seed", range(8))
def test_random_tokens_in_random_texts(seed: int) -> None:
    rng = random.Random(seed)
    letters = ["<", "x", "\u0301", "e", "\u00e9", " ", "_", "1", "\u3000", "a", "\t"]
    tried = 0
    while tried < 40:
        contents = {unicodedata.normalize("NFC", one): one for one in ("".join(rng.choices(letters, k=rng.randint(2, 3))) for _ in range(4))}
        tokens = [added(256 + at, one, **{flag: rng.random() < 0.4 for flag in FLAGS}) for at, one in enumerate(contents.values())]
        made = tokenizer_json(added_tokens=tokens, normalizer=rng.choice((None, {"type": "NFC"})))
        if swallowing(tokens):
            with pytest.raises(VocabularyError, match="is not supported beside"):
                both(made)
            continue
        reference, ours = both(made)
        tried += 1
        for _ in range(40):
            text = "".join(rng.choices([*contents.values(), *letters, "  ", "\t", "b", "\u8a9e"], k=rng.randint(0, 8)))
            ids = ours.encode(text)
            expected = reference.encode(text)
            assert ids == expected.ids, (text, tokens)
            if made["normalizer"] is None:  # or the offsets are of another text
                slices = [(text[start:end], number) for number, (start, end) in zip(ids, expected.offsets, strict=True) if number >= 256]
                ours_too = [part for part in split_added(text, ours.description.added, None) if part[1] is not None]
                assert slices == ours_too, (text, tokens)
            assert ours.encoder.decode(ids).decode(errors="replace") == reference.decode(ids, skip_special_tokens=False), (text, tokens)


@pytest.mark.parametrize("tier", ["automatic", "pure"])
def test_special_tokens_that_are_left_out(tier: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """tokenizers knows special tokens again by what it looks for in a text: one that NFC changes decodes all the same."""
    monkeypatch.setenv("BITLEX_TIER", "" if tier == "automatic" else tier)
    contents = ("<s>", "<e\u0301>", "<a\u0301>", "<\u00e1>", "\u0958")
    there = [added(256 + at, content, normalized=at != 3, special=at not in (2, 4)) for at, content in enumerate(contents)]
    data = json.dumps(tokenizer_json(added_tokens=there, normalizer={"type": "NFC"}))
    reference, ours = tokenizers.Tokenizer.from_str(data), Tokenizer.from_bytes(data.encode())
    for number in range(261):
        assert ours.decode([number], skip_special_tokens=True) == reference.decode([number]), number
    assert ours.decode(range(256, 261), skip_special_tokens=True) == "<\ufffd>\u0915\u093c"


def test_every_code_point_beside_a_token() -> None:
    """White space for lstrip and rstrip, word characters for single_word."""
    reference, _ = both(tokenizer_json(added_tokens=[added(256, "<X>", lstrip=True, rstrip=True), added(257, "<Y>", single_word=True)]))
    chosen = [one for one in (EVERY if THOROUGH else EVERY[::17]) if one != "<"]
    for one in {*chosen, *WHITE_SPACE, *EVERY[:0x300], *EVERY[0x1600:0x1900], *EVERY[0x2000:0x2100], "\u0897", "\ufeff"} - {"<"}:
        assert (len(reference.encode(f"{one}<X>").ids) == 1) == (one in WHITE_SPACE), one
        assert (len(reference.encode(f"<X>{one}").ids) == 1) == (one in WHITE_SPACE), one
        assert (257 not in reference.encode(f"{one}<Y>").ids) == is_word(one), one
        assert (257 not in reference.encode(f"<Y>{one}").ids) == is_word(one), one


def test_white_space_that_two_tokens_have() -> None:
    """One takes it by rstrip, the other is found in it all the same; and what is behind that one is text again."""
    reference, ours = both(tokenizer_json(added_tokens=[added(256, "<X>", rstrip=True), added(257, "\t")]))
    for text in ("<X>\t\t a", "<X> \t a", "<X> \t\t", "a\t<X>\t<X> "):
        assert ours.encode(text) == reference.encode(text).ids, text
    assert ours.encode("<X>\t  a")[:2] == [256, 257] and len(ours.encode("<X>\t  a")) > 3


def test_the_token_that_the_reference_loses_is_refused() -> None:
    """What `rstrip` has taken and `lstrip` would begin behind: an empty slice, or one that ends before it begins."""
    tokens = [added(256, "<X>", rstrip=True), added(257, "\t", lstrip=True)]
    with pytest.raises(VocabularyError, match=r'added_tokens: "\\t" with lstrip is not supported beside "<X>" with rstrip$'):
        both(tokenizer_json(added_tokens=tokens))
    tokens[1]["normalized"] = True  # found in the rest of the text only
    reference, ours = both(tokenizer_json(added_tokens=tokens))
    assert ours.encode("<X>\t\ta \tb") == reference.encode("<X>\t\ta \tb").ids
