"""What each code point may do to a text that is to be in NFC, packed: tables for C, and two sets for Python.

In: the canonical decompositions and combining classes of Unicode 9.0, which is what Hugging Face tokenizers normalizes by. Out:

    tables = nfc_tables()
    word = tables.words[tables.stage2[tables.stage1[point >> SHIFT] << SHIFT | point & 127]]     # below LIMIT; 0 from there on
    word & 255, word & MAYBE, word & NO, word & FIRST

The low byte is the combining class; MAYBE, that a character before may take it in (NFC_Quick_Check, UAX #15 section 9); NO, that it stands
in no text in NFC (surrogates count as such, since two of them may spell a character); FIRST, that it takes others in, or has parts; BORDER,
that it stands in none, but nothing of what takes its place goes to what is before it. The numbers 0 and 1 are those of borders, of which
nothing goes to what is before them: of nearly all it is 0, and 1 if they are FIRST.

Invariant: the same under every Python from Unicode 9.0 up to that of `newer_than_nfc` in tables/classes.toml: normalization is stable, so a
later version adds characters and changes none, and those that it may add are left out by that list. So the tables are read off the
`unicodedata` of whichever Python runs this; `tests/test_nfc.py` compares with that of another version, and with the engine.
Rejected: Unicode data of 9.0 as pinned files (no package that still installs has it).
"""

from __future__ import annotations

import unicodedata
from typing import NamedTuple

from .codeset import CodeSet
from .properties import special_class

__all__ = ["BORDER", "FIRST", "LIMIT", "MAYBE", "NO", "SHIFT", "NfcTables", "nfc_tables"]

MAYBE, NO, FIRST, BORDER = 1 << 8, 1 << 9, 1 << 10, 1 << 11
SHIFT = 7
LIMIT = 0x30000  # nothing from there on is normalized
HANGUL = range(0x1100, 0x1113), range(0x1161, 0x1176), range(0x11A8, 0x11C3)  # leading consonants, vowels, final consonants
SURROGATES = range(0xD800, 0xE000)


class NfcTables(NamedTuple):
    stage1: bytes  # of LIMIT >> SHIFT blocks
    stage2: bytes  # the number of a word for each code point of a block
    leads: bytes  # 64 bits for each byte: with which byte behind it it begins a character, in UTF-8, that has another number than 0 and 1
    words: tuple[int, ...]
    newer: CodeSet  # what Unicode 9.0 does not have, and later versions normalize
    taken_in: CodeSet  # starters that a character before may take in


def nfc_tables() -> NfcTables:
    newer = special_class("newer_than_nfc")
    points = [point for point in range(LIMIT) if point not in SURROGATES and point not in newer]
    words = {point: word for point in points if (word := unicodedata.combining(chr(point)))}
    for point in points:
        decomposition = unicodedata.decomposition(chr(point))
        if decomposition[:1] in ("", "<"):  # none, or one of compatibility
            continue
        parts = [int(part, 16) for part in decomposition.split()]
        words[point] = words.get(point, 0) | FIRST
        if unicodedata.normalize("NFC", chr(point)) != chr(point):
            words[point] |= NO
        else:
            words[parts[0]] = words.get(parts[0], 0) | FIRST
            words[parts[1]] = words.get(parts[1], 0) | MAYBE
    leading, vowels, finals = HANGUL
    for point in (*leading, *range(0xAC00, 0xD7A4)):
        words[point] = FIRST
    words |= dict.fromkeys((*vowels, *finals), MAYBE) | dict.fromkeys(SURROGATES, NO)
    behind = {point for point, word in words.items() if word & (MAYBE | 255)}
    for point, word in words.items():
        if word & NO and point not in SURROGATES and ord(unicodedata.normalize("NFD", chr(point))[0]) not in behind:
            words[point] |= BORDER
    distinct = (0, FIRST, *sorted(set(words.values()) - {FIRST}))
    blocks = {bytes(1 << SHIFT): 0}
    stage1 = bytearray()
    for at in range(0, LIMIT, 1 << SHIFT):
        block = bytes(distinct.index(words.get(point, 0)) for point in range(at, at + (1 << SHIFT)))
        stage1.append(blocks.setdefault(block, len(blocks)))
    special = (point for point, word in words.items() if word != FIRST)
    leads = bytearray(256 * 8)
    for point in special:
        lead, second = chr(point).encode("utf-8", "surrogatepass")[:2]
        leads[lead << 3 | second >> 3 & 7] |= 1 << (second & 7)
    taken_in = CodeSet.of(*(point for point, word in words.items() if word & MAYBE and not word & 255))
    return NfcTables(bytes(stage1), b"".join(blocks), bytes(leads), distinct, newer, taken_in)
