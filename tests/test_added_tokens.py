"""Added tokens and NFC, against tokenizers itself: every flag, every code point beside a token, random tokens in random texts."""

from __future__ import annotations

import json
import random
import unicodedata
from collections.abc import Iterable
from typing import Any

import pytest
import tokenizers
import unicodedata2
from tokenizers.normalizers import NFC

from bitlex import normalization
from bitlex.added import WHITE_SPACE, is_word, split_added
from bitlex.normalization import LISTED, NEWER, TAKEN_IN, changes, combining, is_border, last_border, nfc
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


# --- NFC ---------------------------------------------------------------------------------------------------------------------------------------


def different(texts: Iterable[str]) -> str | None:
    reference = NFC().normalize_str
    return next((text for text in texts if nfc(text) != reference(text)), None)


def marks() -> list[str]:
    return [one for one in EVERY if unicodedata2.combining(one)]


def test_nfc_of_every_code_point() -> None:
    assert different(EVERY) is None


def test_nfc_of_every_composition() -> None:
    decompositions = (unicodedata2.decomposition(one) for one in EVERY)
    texts = ["".join(chr(int(part, 16)) for part in one.split()) for one in decompositions if one and not one.startswith("<")]
    assert len(texts) > 13_000
    assert different(texts) is None
    assert different(a + b for a, b in zip(texts, texts[1:], strict=False)) is None


def test_nfc_of_marks_in_either_order() -> None:
    """Where one combining class is wrong, some mark of another class is passed over or not."""
    others = {unicodedata.combining(one): one for one in marks()}
    del others[0]  # marks that this Python does not know
    assert len(others) > 50
    for one in EVERY if THOROUGH else marks():
        assert different(f"a{a}{b}" for other in others.values() for a, b in ((one, other), (other, one))) is None, ascii(one)


def test_nfc_of_random_texts() -> None:
    rng = random.Random(5)
    newer = [one for one in EVERY if NEWER.fullmatch(one)]
    pool = marks() + newer * 5 + [one for one in EVERY if unicodedata2.decomposition(one)] + list("abe") * 300
    assert different("".join(rng.choices(pool, k=rng.randint(1, 8))) for _ in range(50_000)) is None


def test_nfc_of_long_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which are cut: as soon as they may be, and here at every such place, too."""
    rng = random.Random(7)
    pool = marks() + [one for one in EVERY if unicodedata2.decomposition(one) or NEWER.fullmatch(one)] + TAKEN_IN.findall("".join(EVERY)) * 9
    few = list("ae \n\0\x7f\u0301\u0323\u0300\u1100\u1161\u11a8\u0897\u09c7\u09be")
    for ascii_letters in (0, 1, 40, 4000, 400_000):
        letters = pool + list("abe \0\x7f") * ascii_letters
        assert different("".join(rng.choices(letters, k=rng.randint(1, 5000))) for _ in range(60)) is None
    for least in (normalization.STRETCH, 1, 2):
        monkeypatch.setattr(normalization, "STRETCH", least)
        assert different("".join(rng.choices(few, k=rng.randint(1, 1000))) for _ in range(300)) is None


def test_starters_that_the_one_before_takes_in() -> None:
    """The list is that of the reference: all that it composes with a character before them, and no other starters."""
    reference = NFC().normalize_str
    pairs = [[chr(int(part, 16)) for part in unicodedata2.decomposition(one).split()] for one in EVERY if unicodedata2.decomposition(one)[:1] not in ("", "<")]
    pairs += [["\u1100", chr(vowel)] for vowel in range(0x1161, 0x1176)] + [["\uac00", chr(final)] for final in range(0x11A8, 0x11C3)]
    taken = {pair[1] for pair in pairs if len(pair) == 2 and len(reference("".join(pair))) == 1}
    assert {one for one in taken if not combining(one)} == set(TAKEN_IN.findall("".join(EVERY)))
    assert not any(map(is_border, taken)) and all(map(is_border, "a1 \n\u4e2d\uac00\u212b\u0958\U0001f600"))


def test_each_side_of_a_border_is_normalized_by_itself() -> None:
    rng, reference = random.Random(6), NFC().normalize_str
    newer = [one for one in EVERY if NEWER.fullmatch(one)]
    pool = marks() + newer * 5 + [one for one in EVERY if unicodedata2.decomposition(one)] + TAKEN_IN.findall("".join(EVERY)) * 9 + list("abe") * 300
    for _ in range(8_000):
        text = "".join(rng.choices(pool, k=rng.randint(1, 8)))
        whole, done, changed = reference(text), 0, ""
        for at in range(len(text)):
            assert not is_border(text[at]) or reference(text[:at]) + reference(text[at:]) == whole, (text, at)
        for start, end, new in changes(text):
            assert text[start:end] != new
            changed, done = changed + text[done:start] + new, end
        assert changed + text[done:] == whole, text
        last = last_border(text)
        assert last < 0 or (is_border(text[last]) and not any(map(is_border, text[last + 1 :])))


def test_the_list_of_newer_characters_is_complete() -> None:
    """All that unicodedata2 normalizes and the reference does not know is in it, and nothing that the reference knows."""
    assert tuple(map(int, unicodedata2.unidata_version.split("."))) == LISTED
    reference = NFC().normalize_str
    for one in marks():
        behind, before = f"a{one}\u0334", f"a\u0345{one}"  # marks of the lowest and of the highest class
        unknown = reference(behind) == behind and reference(before) == before
        assert (NEWER.fullmatch(one) is not None) == unknown, ascii(one)
    for one in EVERY:
        parts = "".join(chr(int(part, 16)) for part in unicodedata2.decomposition(one).split() if part[0] != "<")
        if parts and unicodedata2.normalize("NFC", parts) == one and not unicodedata2.decomposition(one).startswith("<"):
            assert (NEWER.search(parts) is not None) == (reference(parts) != one), ascii(one)


def test_a_python_that_is_newer_than_the_list_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unicodedata, "unidata_version", "19.0.0")
    assert nfc("ascii") == "ascii"
    with pytest.raises(VocabularyError, match=r"Unicode 19\.0\.0 of this Python is newer"):
        nfc("\u00e9")
