"""The byte alphabet of GPT-2: each byte as one printable character, as tokenizer.json spells tokens.

    to_bytes("\\u0120world")     # b" world"

The printable bytes of Latin-1 are themselves, and the other 68 are U+0100 and on. Invariant: a text of the alphabet has exactly one
spelling in bytes, and back. Rejected: str.translate with a dict (six times slower than a charmap, which C walks).
"""

from __future__ import annotations

import codecs

__all__ = ["ALPHABET", "bytes_or_text", "to_bytes"]

PRINTABLE = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
OTHERS = [byte for byte in range(256) if byte not in PRINTABLE]
ALPHABET = "".join(chr(byte) if byte in PRINTABLE else chr(0x100 + OTHERS.index(byte)) for byte in range(256))  # by byte
CHARMAP = codecs.charmap_build(ALPHABET)


def to_bytes(text: str) -> bytes:
    """The bytes that a text of the alphabet spells; UnicodeEncodeError for other text."""
    return codecs.charmap_encode(text, "strict", CHARMAP)[0]


def bytes_or_text(text: str) -> bytes:
    """What the ByteLevel decoder makes of a token: the bytes it spells, or, if it holds any other character, the text itself."""
    try:
        return to_bytes(text)
    except UnicodeEncodeError:
        return text.encode()
