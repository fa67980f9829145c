"""Added tokens and NFC, against tokenizers itself: every flag, every code point beside a token, random tokens in random texts."""

from __future__ import annotations

import json
import random
import time
import unicodedata
from collections.abc import Callable
from typing import Any

import pytest
import tokenizers

from bitlex import Tokenizer
from bitlex.added import WHITE_SPACE, is_word, searches, split_added, white_space
from bitlex.added_search import has_flags
from bitlex.alternatives import alternatives
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


# --- time ----------------------------------------------------------------------------------------------------------------------------------


def tokenizer_of(*contents: str, normalizer: Any = None, **flags: bool) -> Tokenizer:
    tokens = [added(256 + at, one, **{"normalized": False, **flags}) for at, one in enumerate(contents)]
    return Tokenizer.from_bytes(json.dumps(tokenizer_json(added_tokens=tokens, normalizer=normalizer)).encode())


def words(count: int) -> list[str]:
    rng = random.Random(3)
    return list(dict.fromkeys("".join(rng.choices("abcdefghijklmnop", k=rng.randint(4, 9))) for _ in range(count)))


def quickly(act: Callable[[], Any]) -> Any:
    """What it returns, within 1.5 seconds of computing: several times what it takes, and a fraction of what it took where that grew as a square."""
    begun = time.process_time()
    found = act()
    assert time.process_time() - begun < 1.5
    return found


@pytest.mark.parametrize("flag", ["lstrip", "rstrip", "single_word"])
def test_a_token_takes_no_time_for_the_text_around_it(flag: str) -> None:
    first, _ = searches([AddedToken(5, "<X>", **{flag: True})], None)
    text = ("a " * 600 + "<X> ") * 10_000
    assert sum(token is not None for _, _, token in quickly(lambda: list(first.cut(text)))) == 10_000


def test_white_space_is_looked_through_once(monkeypatch: pytest.MonkeyPatch) -> None:
    first, _ = searches([AddedToken(5, " ", rstrip=True), AddedToken(6, "\t")], None)
    text = " \t" * 2000
    found = 0

    def counted(text: str, at: int, most: int) -> int:
        nonlocal found
        end = white_space(text, at, most)
        found += end - at
        return end

    monkeypatch.setattr("bitlex.added.white_space", counted)
    assert len(list(first.cut(text))) == 4000
    assert found < len(text)


def test_among_thousands_of_tokens_few_are_compared() -> None:
    known = words(4000)
    text = "hello jolly fable, adage and the like " * 6000 + known[7]
    assert [match.group() for match in quickly(lambda: list(alternatives(known).finditer(text)))] == [known[7]]


def test_thousands_of_tokens_are_read_and_compared_once() -> None:
    tokens = [added(256 + at, f"<|{at}|>", normalized=False) for at in range(4000)]
    tokens += [added(4256 + at, one, normalized=True) for at, one in enumerate(f"|{one}_" for one in words(4000))]
    data = json.dumps(tokenizer_json(added_tokens=tokens)).encode()
    assert not quickly(lambda: has_flags(read(data, "tokenizer.json")))


def test_what_finds_tokens_is_made_once() -> None:
    tokenizer = tokenizer_of(*words(2000), lstrip=True)
    assert tokenizer.encode("x") == tokenizer.encode_with_offsets("x")[0].tolist()  # now it is there
    quickly(lambda: [tokenizer.encode("x") for _ in range(1200)])
    assert tokenizer._cut_by(None) is tokenizer._cut_by(None) is not tokenizer._cut_by(())
    assert tokenizer._cut_by({"<no>"} - {"<no>"}) == tokenizer._cut_by([])


@pytest.mark.parametrize(("one", "normalizer"), [(" ", None), ("\u0301", {"type": "NFC"})])
def test_what_waits_is_not_counted_anew(one: str, normalizer: Any) -> None:
    stream = tokenizer_of("<X>", normalizer=normalizer, lstrip=True).stream()
    assert not quickly(lambda: [ids for ids in (stream.feed(one) for _ in range(12_000)) if ids])
    assert len(stream.finish()) == 12_000 * len(one.encode())


def test_changes_elsewhere_in_a_text_take_no_time() -> None:
    tokenizer = tokenizer_of("<X>", normalizer={"type": "NFC"}, lstrip=True, normalized=True)
    ids, places = quickly(lambda: tokenizer.encode_with_offsets("e\u0301<X>" * 2500))
    assert len(ids) == 7500 and places[-3:].tolist() == [[12495, 12497], [12497, 12497], [12497, 12500]]


def test_alternatives() -> None:
    """The longest of those that begin at the first place, however many are beginnings of others."""
    rng = random.Random(4)
    for letters in ("ab", "a", "(|.", "\u00e9\u4e2da"):
        for _ in range(30):
            texts = {"".join(rng.choices(letters, k=rng.randint(1, rng.choice((3, 30))))) for _ in range(rng.choice((1, 2, 5, 40)))}
            pattern, encoded = alternatives(texts), alternatives([one.encode() for one in texts])
            for _ in range(20):
                text = "".join(rng.choices(letters + "x", (9,) * len(letters) + (1,), k=40))
                found = next(((at, max(here, key=len)) for at in range(40) if (here := [one for one in texts if text.startswith(one, at)])), None)
                match, within = pattern.search(text), encoded.search(text.encode())
                assert (found is None) == (match is None) == (within is None)
                if match is not None and within is not None:
                    assert (match.start(), match.group()) == found == (len(text.encode()[: within.start()].decode()), within.group().decode())
