"""NFC, that of Unicode 9.0: against tokenizers itself, in C and in Python; and tokenizers that normalize, whichever way a text takes."""

from __future__ import annotations

import json
import random
import unicodedata
from collections.abc import Iterable, Iterator
from typing import Any
from unicodedata import normalize

import pytest
import tokenizers
import unicodedata2
from tokenizers.normalizers import NFC

import bitlex
from bitlex import normalization
from bitlex.encoders import as_text
from bitlex.normalization import LISTED, NEWER, TAKEN_IN, changes, combining, doubtful, in_nfc, is_border, last_border, nfc
from bitlex.vocabularies import VocabularyError
from generator import nfc as nfc_module
from generator.nfc import BORDER, FIRST, LIMIT, NO, SHIFT, nfc_tables
from texts import EVERY, THOROUGH
from tokenizing import added, apart, tokenizer_json

NOT_BUILT = "the C extension was not built"


@pytest.fixture
def native() -> Any:
    """The tables in C."""
    return pytest.importorskip("bitlex._native", reason=NOT_BUILT)


@pytest.fixture(params=["native", "pure"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the tables in C, and by Python alone."""
    if request.param == "pure":
        monkeypatch.setattr(normalization, "native", None)
    else:
        pytest.importorskip("bitlex._native", reason=NOT_BUILT)


both_ways = pytest.mark.usefixtures("way")


def different(texts: Iterable[str]) -> str | None:
    reference = NFC().normalize_str
    return next((text for text in texts if nfc(text) != reference(text)), None)


def marks() -> list[str]:
    return [one for one in EVERY if unicodedata2.combining(one)]


@both_ways
def test_nfc_of_every_code_point() -> None:
    assert different(EVERY) is None


@both_ways
def test_nfc_of_every_composition() -> None:
    decompositions = (unicodedata2.decomposition(one) for one in EVERY)
    texts = ["".join(chr(int(part, 16)) for part in one.split()) for one in decompositions if one and not one.startswith("<")]
    assert len(texts) > 13_000
    assert different(texts) is None
    assert different(a + b for a, b in zip(texts, texts[1:], strict=False)) is None


@both_ways
def test_nfc_of_marks_in_either_order() -> None:
    """Where one combining class is wrong, some mark of another class is passed over or not."""
    others = {unicodedata.combining(one): one for one in marks()}
    del others[0]  # marks that this Python does not know
    assert len(others) > 50
    for one in EVERY if THOROUGH else marks():
        assert different(f"a{a}{b}" for other in others.values() for a, b in ((one, other), (other, one))) is None, ascii(one)


@both_ways
def test_nfc_of_random_texts() -> None:
    rng = random.Random(5)
    newer = [one for one in EVERY if NEWER.fullmatch(one)]
    pool = marks() + newer * 5 + [one for one in EVERY if unicodedata2.decomposition(one)] + list("abe") * 300
    assert different("".join(rng.choices(pool, k=rng.randint(1, 8))) for _ in range(50_000)) is None


@both_ways
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


@both_ways
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


@both_ways
def test_a_python_that_is_newer_than_the_list_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unicodedata, "unidata_version", "19.0.0")
    assert nfc("ascii") == "ascii"
    with pytest.raises(VocabularyError, match=r"Unicode 19\.0\.0 of this Python is newer"):
        nfc("\u00e9")


def test_the_tables_are_those_of_any_unicode_version(monkeypatch: pytest.MonkeyPatch) -> None:
    here = nfc_tables()
    monkeypatch.setattr(nfc_module, "unicodedata", unicodedata2)
    assert nfc_tables() == here
    assert set(here.taken_in) == set(map(ord, TAKEN_IN.findall("".join(EVERY))))


def test_borders_are_where_nothing_goes_to_what_is_before() -> None:
    """Behind whatever takes others in, and behind marks of all classes: each side is put in NFC by itself."""
    tables = nfc_tables()
    words = [tables.words[tables.stage2[tables.stage1[point >> SHIFT] << SHIFT | point & 127]] for point in range(LIMIT)]
    before = [chr(point) for point in range(LIMIT) if words[point] & FIRST and not words[point] & NO and not 0xAC00 < point < 0xD700]
    before += [chr(words.index(mark)) for mark in sorted({word for word in words if 0 < word & 255 and not word & NO})]
    borders = [chr(point) for point in range(LIMIT) if words[point] & BORDER]
    assert all(normalize("NFC", one) != one for one in borders) and len(borders) > 1000
    for one in borders:
        put = normalize("NFC", one)
        assert normalize("NFC", "\n".join(first + one for first in before)) == "\n".join(normalize("NFC", first) + put for first in before), ascii(one)


# Of which some are nothing but borders, some take others in, and some are taken in, go before others or are never there.
POOL = list("ae \n\u00e2\u0301\u0323\u0300\u1100\u1161\u11a8\uac00\uac01\u0897\u09c7\u09be\u0995\u0958\u212b\u2126\u4e2d\u0928\u093c")
POOL += ["\U0001f600", "\uf900", "\u3099", "\u304b"]
BYTES = [b"\xc3", b"\x80", b"\xe1\x84", b"\xff", b"\xf0\x9f", b"\xe0\x8c\x81", b"\xed\xa0\x80", b""]


def texts(seed: int, most: int, count: int, pool: list[str]) -> Iterator[str]:
    rng = random.Random(seed)
    for _ in range(count):
        plain = rng.choice(("a", "\u4e2d", "\u0436", "\u00e9", "\U0001f600"))
        yield "".join(rng.choice((plain * rng.randint(0, 20), rng.choice(pool))) for _ in range(rng.randint(0, most)))


def check_places(text: str) -> None:
    """Outside of what is doubtful, nothing is changed; and each place is normalized by itself."""
    reference = NFC().normalize_str
    places, done, made = doubtful(text), 0, ""
    for start, end in places:
        assert done <= start < end <= len(text)
        made, done = made + text[done:start] + reference(text[start:end]), end
    assert made + text[done:] == reference(text), ascii(text)
    assert not in_nfc(text) or not places


@both_ways
def test_what_is_doubtful() -> None:
    for text in (*texts(1, 12, 20_000, POOL), *texts(2, 60, 500, POOL), *map("a{}".format, EVERY)):
        check_places(text)


def test_bytes_are_as_their_text(native: Any) -> None:
    """Also where they are no UTF-8: those bytes are borders."""
    rng = random.Random(3)
    for text in texts(4, 12, 10_000, POOL):
        data = text.encode()
        assert native.in_nfc(data) == native.in_nfc(memoryview(bytearray(data))) == native.in_nfc(text), ascii(text)
        broken = bytearray(data)
        for _ in range(rng.randint(1, 3)):
            at = rng.randint(0, len(broken))
            broken[at : at + rng.randint(0, 2)] = rng.choice(BYTES)
        spelled = as_text(bytes(broken))
        assert not native.in_nfc(broken) or nfc(spelled) == spelled, bytes(broken)
    assert not native.in_nfc(5) and not native.in_nfc("\ud834")


AS_WRITTEN = [
    "বাংলা ভাষা", "தமிழ் மொழி", "क़लम", "tiếng Việt", "한국어", "עִבְרִית", "na\u00efve \u2014 \u201cyes\u201d",
    "\U0001f468\u200d\U0001f469\u200d\U0001f467 1\ufe0f\u20e3",
]  # fmt: skip


@pytest.mark.parametrize("text", AS_WRITTEN)
def test_texts_as_they_are_written_are_not_in_doubt(text: str, native: Any) -> None:
    """Vowel signs and nuktas that nothing takes in, marks in order, Hangul, emoji."""
    assert native.in_nfc(text) and native.in_nfc(text.encode()) and native.doubtful(text) == [] and nfc(text) == text


NEAR = "\u4e2d" * 10 + "e\u0301" + "\u4e2d" * 20 + "e\u0301" + "\u4e2d" * 400 + "e\u0301"


def test_places_near_to_each_other_are_one(native: Any) -> None:
    assert native.doubtful("ascii") == []
    assert native.doubtful(NEAR) == [(10, 34), (434, 436)]
    with pytest.raises(TypeError, match="expected str, got bytes"):
        native.doubtful(b"a")


@both_ways
def test_long_runs_of_marks() -> None:
    """Of mixed classes, which are sorted here; with starters between, marks that become two, and some that Unicode 9.0 does not have."""
    source, known = random.Random(7), [*marks(), "\u0344", "\u0f73", "\u0f75", "\u0f81"]
    for size in (63, 64, 65, 700, 3_000):
        for pool in (known, known[:40], source.sample(known, 3), [*known, "\u1161", "e", "\U0001f600"]):
            assert different(["e" + "".join(source.choices(pool, k=size)) + "x" + "y" * 600]) is None


@both_ways
def test_changes_are_told_apart() -> None:
    assert list(changes(NEAR)) == [(10, 12, "\u00e9"), (32, 34, "\u00e9"), (434, 436, "\u00e9")]
    assert not in_nfc(5) and not in_nfc(None)


TOKENS = ["<x>", "<\u00e9>", "K;", "\u0301e"]


@both_ways
@pytest.mark.parametrize("normalized", [False, True])
def test_every_method_is_as_the_reference(normalized: bool, tier: str) -> None:
    """Texts in NFC, others, with added tokens, and with such that are there in NFC only (a Kelvin sign, a Greek question mark)."""
    tokens = [added(300 + at, one, normalized=normalized) for at, one in enumerate(TOKENS)]
    merges = [["a", "b"], ["\u00c3", "\u00a9"]]
    made = json.dumps(tokenizer_json(("ab", "\u00c3\u00a9"), merges, added_tokens=tokens, normalizer={"type": "NFC"}))
    reference = tokenizers.Tokenizer.from_str(made)
    ours = bitlex.Tokenizer.from_huggingface(reference)
    pool = [*POOL, *TOKENS, "<e\u0301>", "\u212a;", "K\u037e", "<", ">", "ab"]
    found = list(texts(5 + normalized, 6, 300, pool))
    want = [reference.encode(text, add_special_tokens=False).ids for text in found]
    given: list[list[Any]] = [found, [text.encode() for text in found]]
    for known in given:
        assert [ours.encode(text) for text in known] == want
        assert [ours.encode_to_numpy(text).tolist() for text in known] == want
        assert [ours.count(text) for text in known] == [len(ids) for ids in want]
        assert ours.encode_batch(known) == want and ours.count_batch(known) == [len(ids) for ids in want]
        assert [ids.tolist() for ids in ours.encode_batch_to_numpy(iter(known), threads=2)] == want
        assert apart(*ours.encode_batch_flat(iter(known), threads=2)) == want
        assert [ours.encode_with_offsets(text)[0].tolist() for text in known] == want
        assert ours.encode_batch(known, add_special_tokens=True) == [ours.encode(text, add_special_tokens=True) for text in known] == want
    plain = [text for text in found if not any(one in text for one in TOKENS)]
    assert ours.encode_batch(plain, threads=2) == [ours.encode(text) for text in plain]
    for refuse in (ours.encode_batch, ours.encode_batch_to_numpy, ours.encode_batch_flat, ours.count_batch):
        with pytest.raises(TypeError, match=r"texts\[1\]"):
            refuse(["e\u0301", 5])  # type: ignore[list-item]
