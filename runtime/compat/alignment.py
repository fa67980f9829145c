"""Where the characters of a normalized text come from, as Hugging Face tokenizers keeps it.

    aligned_nfc("xe\\u0301")         # ("x\\u00e9", [(0, 1), (1, 2)])

tokenizers decomposes a text, sorts marks and composes again, and counts on the way: the first character of a decomposed one counts 0
and the others 1, and a composed one counts what its parts do, less 1 for each after the first. It then walks through the original
text: a character that counts 0 or less stands for the next original one, and passes over as many more as it is below 0; one that
counts more stands where the one before does. So "e" with a mark is only where the "e" was. Invariant: the characters are those of
normalization.nfc, and the places those of tokenizers 0.23.3, for every text. Rejected: places that cover all of what was composed
(more useful, but not what tokenizers gives).
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache

from ..normalization import NEWER, combining, nfc, parts
from ..vocabulary import VocabularyError

__all__ = ["aligned_nfc"]


def aligned_nfc(text: str) -> tuple[str, list[tuple[int, int]] | None]:
    """The text in NFC, and for each of its characters from where to where it was; None if the text was in NFC."""
    normalized = nfc(text)
    if normalized == text:
        return text, None
    counted = composed(decomposed(text))
    if "".join(character for character, _ in counted) != normalized:
        raise VocabularyError(f"the places of {normalized[:40]!r} in {text[:40]!r} are not known")
    places: list[tuple[int, int]] = []
    at = 0
    for _, count in counted:
        place = at - 1 if count > 0 else at
        places.append((max(place, 0), max(place, 0) + 1))
        if count <= 0:
            at += 1 - count
    return normalized, places


def decomposed(text: str) -> list[tuple[str, int]]:
    """The characters of a text, decomposed and in order, each with its count."""
    found: list[tuple[str, int]] = []
    marks: list[tuple[int, str, int]] = []
    for original in text:
        for part, character in enumerate(parts(original)):
            order = combining(character)
            if not order:
                found.extend((mark, count) for _, mark, count in sorted(marks, key=lambda mark: mark[0]))
                marks.clear()
                found.append((character, min(part, 1)))
            else:
                marks.append((order, character, min(part, 1)))
    found.extend((mark, count) for _, mark, count in sorted(marks, key=lambda mark: mark[0]))
    return found


def composed(characters: list[tuple[str, int]]) -> list[tuple[str, int]]:
    """The same, composed: each mark with the starter before it, unless one of the same class stands between."""
    found: list[tuple[str, int]] = []
    starter, last = -1, 0  # where the starter is that may be composed, and the class of what stands behind it
    for character, count in characters:
        order = combining(character)
        behind = len(found) - 1 - starter
        if starter >= 0 and (not behind or last < order):
            both = pair(found[starter][0], character)
            if both:
                found[starter] = (both, found[starter][1] + count - 1)
                continue
        if not order:
            starter = len(found)
        found.append((character, count))
        last = order
    return found


@lru_cache(maxsize=4096)
def pair(starter: str, character: str) -> str:
    """What two characters compose to; nothing if they do not."""
    both = "" if NEWER.search(starter + character) else unicodedata.normalize("NFC", starter + character)
    return both if len(both) == 1 else ""
