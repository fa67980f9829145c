"""NFC as Hugging Face tokenizers have it: that of Unicode 9.0, whatever the Unicode version of Python.

    nfc("e\\u0301")          # "\\u00e9"

tokenizers 0.23.3 normalizes by tables of Unicode 9.0 (its crate unicode-normalization-alignments, 0.1.12). Normalization is stable: a
later version may give combining classes and compositions to characters that 9.0 does not have, and to no others. In 9.0 these
characters are unassigned, which means that they are starters, never decompose and never compose: they change nothing and nothing
passes over them. So the NFC of 9.0 is Python's, taken of each stretch between characters of NEWER, and those left as they are.

Invariant: equal to the reference for every text, as long as NEWER has all characters that this Python normalizes and Unicode 9.0 does
not; a Python whose Unicode is newer than the list is refused rather than trusted. Rejected: Python's result as it is (14.0 in Python
3.11: marks of 98 newer characters would be reordered, and one pair composed); tables of our own for all of NFC (20 KB, and slower).
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import TYPE_CHECKING

from .vocabulary import VocabularyError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["NEWER", "changes", "combining", "last_border", "nfc", "parts"]

LISTED = (18, 0, 0)  # the Unicode version up to which NEWER is complete

# The characters newer than Unicode 9.0 that have a combining class or a part in a canonical composition in Unicode 18.0.
NEWER = re.compile(
    "(["
    "\u05C8\u05C9\u07FD\u0897-\u089F\u08CA-\u08D3\u09FE\u0C3C\u0D3B\u0D3C\u0EBA\u1715\u1ABF-\u1AF0\u1DF6-\u1DFA\uA82C"
    "\U000105C9\U000105D2\U000105DA\U000105E4\U00010D24-\U00010D27\U00010D69-\U00010D6D\U00010EAB\U00010EAC"
    "\U00010ECB-\U00010ECF\U00010EF0-\U00010EFB\U00010EFD-\U00010EFF\U00010F46-\U00010F50\U00010F82-\U00010F85\U00011070"
    "\U0001133B\U00011382-\U00011385\U0001138B\U0001138E\U00011390\U00011391\U000113B8\U000113BB\U000113C2\U000113C5"
    "\U000113C7-\U000113C9\U000113CE-\U000113D0\U0001145E\U00011839\U0001183A\U00011930\U00011935\U00011938"
    "\U0001193D\U0001193E\U00011943\U000119E0\U00011A34\U00011A47\U00011A99\U00011D42\U00011D44\U00011D45\U00011D97"
    "\U00011F41\U00011F42\U0001611E-\U00016129\U0001612F\U00016D63\U00016D67-\U00016D6A\U00016FF0\U00016FF1"
    "\U0001D127\U0001D128\U0001D250-\U0001D252\U0001D25B\U0001D25C\U0001D25F\U0001D280\U0001D281\U0001E08F"
    "\U0001E130-\U0001E136\U0001E2AE\U0001E2EC-\U0001E2EF\U0001E4EC-\U0001E4EF\U0001E5EE\U0001E5EF\U0001E6E3\U0001E6E6"
    "\U0001E6EE\U0001E6EF\U0001E6F5"
    "]+)"
)


def nfc(text: str) -> str:
    """The text in Normalization Form C of Unicode 9.0."""
    if text.isascii():
        return text
    if tuple(map(int, unicodedata.unidata_version.split("."))) > LISTED:
        raise VocabularyError(f"normalizer NFC: Unicode {unicodedata.unidata_version} of this Python is newer than bitlex knows")
    return text if unicodedata.is_normalized("NFC", text) else "".join(map(stretch_in_nfc, stretches(text)))


STRETCH = 300  # characters, at least: most of a long text is in NFC, which is seen in a fraction of the time
BORDER = re.compile("[\0-\x7f]")  # nothing of these goes to what is before


def stretches(text: str) -> Iterator[str]:
    """The text, cut where each part can be normalized by itself."""
    start = 0
    while start < len(text):
        border = BORDER.search(text, start + STRETCH)
        end = len(text) if border is None else border.start()
        yield text[start:end]
        start = end


def stretch_in_nfc(text: str) -> str:
    if unicodedata.is_normalized("NFC", text):
        return text
    # The pieces at odd places are what the pattern matched.
    return "".join(part if at % 2 else unicodedata.normalize("NFC", part) for at, part in enumerate(NEWER.split(text)))


# The starters that the character before them may take in, in Unicode 9.0: vowel signs, and vowels and final consonants of Hangul.
TAKEN_IN = re.compile(
    "[\u09BE\u09D7\u0B3E\u0B56\u0B57\u0BBE\u0BD7\u0CC2\u0CD5\u0CD6\u0D3E\u0D57\u0DCF\u0DDF\u102E\u1161-\u1175\u11A8-\u11C2"
    "\u1B35\U00011127\U0001133E\U00011357\U000114B0\U000114BA\U000114BD\U000115AF]"
)


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
    if nfc(text) == text:
        return
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
