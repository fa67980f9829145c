"""NFC as Hugging Face tokenizers have it: that of Unicode 9.0, whatever the Unicode version of Python.

    nfc("e\\u0301")          # "\\u00e9"

tokenizers 0.23.3 normalizes by tables of Unicode 9.0 (its crate unicode-normalization-alignments, 0.1.12). Normalization is stable: a
later version may give combining classes and compositions to characters that 9.0 does not have, and to no others. In 9.0 these
characters are unassigned, which means that they are starters, never decompose and never compose: they change nothing and nothing
passes over them. So the NFC of 9.0 is Python's, taken of each stretch between characters of NEWER, and those left as they are. Where it
may change anything is told by tables (generator/nfc.py) in C (_nfc.c), of bytes as well; without C, by Python, stretch by stretch.

Invariant: equal to the reference for every text, as long as NEWER has all characters that this Python normalizes and Unicode 9.0 does
not; a Python whose Unicode is newer than the list is refused rather than trusted. Rejected: Python's result as it is (14.0 in Python
3.11: marks of 98 newer characters would be reordered, and one pair composed); tables of our own for all of NFC (20 KB, and slower).
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from .generated.python import nfc as nfc_tables
from .vocabulary import VocabularyError

try:
    from . import _native as native
except ImportError:  # installed where no C compiler was
    native = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["NEWER", "changes", "combining", "in_doubt", "in_nfc", "last_border", "nfc", "parts"]

LISTED = (18, 0, 0)  # the Unicode version up to which NEWER is complete

NEWER = re.compile(f"([{nfc_tables.NEWER}]+)")  # the characters newer than Unicode 9.0 that some Unicode version up to LISTED normalizes


def nfc(text: str) -> str:
    """The text in Normalization Form C of Unicode 9.0."""
    if text.isascii():
        return text
    if tuple(map(int, unicodedata.unidata_version.split("."))) > LISTED:
        raise VocabularyError(f"normalizer NFC: Unicode {unicodedata.unidata_version} of this Python is newer than bitlex knows")
    made, done = [], 0
    for start, end in doubtful(text):
        made += [text[done:start], normalized(text[start:end])]
        done = end
    return "".join([*made, text[done:]]) if made else text


def in_nfc(text: Any) -> bool:
    """Whether NFC changes nothing in a text; False as well where that is not told at once, or this is no text."""
    if native is not None:
        return native.in_nfc(text)
    return isinstance(text, (str, bytes, bytearray)) and text.isascii()


def in_doubt(texts: list[Any]) -> Iterator[int]:
    """Which texts of a list are not in NFC, or may not be."""
    if native is None:
        yield from (at for at, text in enumerate(texts) if not in_nfc(text))
        return
    at = -1
    while (at := native.first_in_doubt(texts, at + 1)) < len(texts):
        yield at


def doubtful(text: str) -> list[tuple[int, int]]:
    """Places from where to where NFC may change something: each can be normalized by itself, and nothing is changed elsewhere."""
    return stretches(text) if native is None else native.doubtful(text)


STRETCH = 300  # characters, at least: most of a long text is in NFC, which is seen in a fraction of the time
BORDER = re.compile("[\0-\x7f]")  # nothing of these goes to what is before


def stretches(text: str) -> list[tuple[int, int]]:
    """Of a text that is cut where each part can be normalized by itself, the parts that are not in NFC."""
    found, start = [], 0
    while start < len(text):
        border = BORDER.search(text, start + STRETCH)
        end = len(text) if border is None else border.start()
        if not unicodedata.is_normalized("NFC", text[start:end]):
            found.append((start, end))
        start = end
    return found


# Those of the BMP, and whatever is beyond: this is found in a tenth of the time, and texts hardly ever have it.
BEYOND = next(at for at, character in enumerate(nfc_tables.NEWER) if character > "\uffff")
MAY_BE_NEWER = re.compile(f"[{nfc_tables.NEWER[:BEYOND]}\U00010000-\U0010ffff]")


LONG = 512  # characters, from which on runs of marks are looked for


@cache
def mark_runs() -> re.Pattern[str]:
    """Runs of marks, and of what may be one. The three of Tibetan are none, but become two."""
    marks = "".join(character for character in map(chr, range(0x300, 0x10000)) if unicodedata.combining(character))
    return re.compile(f"[{marks}\u0f73\u0f75\u0f81\U00010000-\U0010ffff]{{64,}}")


def in_order(run: str) -> str:
    """A run of marks in canonical order (UAX #15, D109). Python finds it by exchanging neighbours, in the square of their number."""
    found: list[str] = []
    marks: list[str] = []
    for character in "".join(map(parts, run)):
        if combining(character):
            marks.append(character)
        else:
            found += [*sorted(marks, key=combining), character]
            marks = []
    return "".join([*found, *sorted(marks, key=combining)])


def normalized(text: str) -> str:
    if len(text) > LONG:
        text = mark_runs().sub(lambda run: in_order(run[0]), text)
    if MAY_BE_NEWER.search(text) is None:
        return unicodedata.normalize("NFC", text)
    if unicodedata.is_normalized("NFC", text):
        return text
    # The pieces at odd places are what the pattern matched.
    return "".join(part if at % 2 else unicodedata.normalize("NFC", part) for at, part in enumerate(NEWER.split(text)))


# The starters that the character before them may take in, in Unicode 9.0: vowel signs, and vowels and final consonants of Hangul.
TAKEN_IN = re.compile(f"[{nfc_tables.TAKEN_IN}]")


@lru_cache(maxsize=4096)
def combining(character: str) -> int:
    """The combining class in Unicode 9.0."""
    return 0 if NEWER.fullmatch(character) else unicodedata.combining(character)


@lru_cache(maxsize=4096)
def parts(character: str) -> str:
    """The canonical decomposition in Unicode 9.0."""
    return character if NEWER.fullmatch(character) else unicodedata.normalize("NFD", character)


@lru_cache(maxsize=4096)
def is_border(character: str) -> bool:
    """Whether a text can be cut before this character, and each side be normalized by itself: nothing of it goes to what is before."""
    first = parts(character)[0]
    return not combining(first) and TAKEN_IN.match(first) is None


def last_border(text: str) -> int:
    """Where the last character is before which the text can be cut; -1 if there is none."""
    return next((at for at in range(len(text) - 1, -1, -1) if is_border(text[at])), -1)


def changes(text: str) -> Iterator[tuple[int, int, str]]:
    """Where a text is not in NFC: from where to where, and what stands there in NFC; what is between stays as it is. Each is what changed
    of a run that cannot be cut, from its first character that did to its last."""
    if text.isascii():
        return
    for start, end in doubtful(text):
        yield from ((start + at, start + to, new) for at, to, new in changes_between(text[start:end]))


def changes_between(text: str) -> Iterator[tuple[int, int, str]]:
    behind = {character for character in set(text) if not is_border(character)}
    alone = {character for character in set(text) - behind if nfc(character) != character}
    for run in runs("".join(sorted(behind)), "".join(sorted(alone))).finditer(text):
        old, new = run[0], nfc(run[0])
        if new != old:
            before = alike(old, new)
            after = alike(old[before:][::-1], new[before:][::-1])
            yield run.start() + before, run.end() - after, new[before : len(new) - after]


def alike(one: str, other: str) -> int:
    """How many characters two texts have in common at their beginnings."""
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


@lru_cache(maxsize=256)
def runs(behind: str, alone: str) -> re.Pattern[str]:
    """What finds the characters that may change: those that others belong to, with these, and those that change by themselves."""
    found = ([f"[^{behind}]?[{behind}]+"] if behind else []) + ([f"[{alone}]"] if alone else [])
    return re.compile("|".join(found))
