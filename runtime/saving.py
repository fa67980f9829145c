"""Saved tokenizers: all of one in a file, whose tables are mapped into memory as they are, so that it loads in milliseconds.

    8 bytes   BITLEX1 and the order of bytes, < or >
    8 bytes   checksum of all that follows (this and the next three are uint64 in that order)
    24 bytes  where the header ends, where the tables start and end
    header    JSON: everything but the tables
    tables    from a multiple of 4096 on: the image of the C extension, then blob, starts and merges of the vocabulary

Processes that load the same file share the memory of its tables. Invariants: a file appears under its name when it is whole; one that
was cut short, or of which a byte was changed, is a VocabularyError, and so is one from a machine with the other order of bytes. Where
the image is of another version, or there is no C extension, the tables are made again from the vocabulary. The checksum is
against accidents; what a forged file can do is give wrong ids. Rejected: pickle (it runs what a file says); compression (a file of 9 MB
loads faster as it is than one of 4 MB); a digest (it takes longer than all else). Modules of Python that only some calls need are imported
there: all of them take as long as the tables.
"""

from __future__ import annotations

import os
import sys
from array import array
from binascii import a2b_base64, b2a_base64
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

from .encoders import Pure, make_encoder
from .vocabulary import AddedToken, Description, Vocabulary, VocabularyError

if TYPE_CHECKING:
    from .tokenizer import Tokenizer

__all__ = ["is_saved", "load_saved", "save"]

MAGIC = b"BITLEX1"
ORDER = {"little": b"<", "big": b">"}[sys.byteorder]
FIRST = len(MAGIC + ORDER) + 8  # of the bytes that the checksum is of
HEADER = FIRST + 3 * 8
PAGE = 4096


def is_saved(path: str | os.PathLike[str]) -> bool:
    """Whether a file is a saved tokenizer, by its first bytes."""
    with open(path, "rb") as file:
        return file.read(len(MAGIC)) == MAGIC


def save(tokenizer: Tokenizer, path: str | os.PathLike[str]) -> None:
    """Write a tokenizer."""
    import json

    from .outputs import whole_files  # which takes longer to import than a tokenizer to load

    description = tokenizer.description
    encoder: Any = tokenizer._encoder
    if isinstance(encoder, Pure):
        raise VocabularyError("saving needs the C extension, which makes the tables")
    vocabulary = description.vocabulary
    image = encoder.image()
    header = {
        field.name: getattr(description, field.name) for field in fields(Description) if field.name not in ("vocabulary", "added", "decoded")
    } | {
        "added": [asdict(token) for token in description.added],
        "decoded": {str(number): b2a_base64(token, newline=False).decode() for number, token in description.decoded.items()},
        "whole": vocabulary.whole, "has_merges": vocabulary.merges is not None,
        "sizes": [len(image), len(vocabulary.blob), len(vocabulary.starts), len(vocabulary.merges or b"")],
    }  # fmt: skip
    text = json.dumps(header).encode()
    start = -(-(HEADER + len(text)) // PAGE) * PAGE
    parts = [image, vocabulary.blob, vocabulary.starts, vocabulary.merges or b""]
    end = start + sum(map(len, parts))
    beginning = words(HEADER + len(text), start, end) + text
    summed = b"".join([beginning, bytes(start - FIRST - len(beginning)), *parts])
    with whole_files(path) as (file,):
        for part in (MAGIC + ORDER, words(checksum(summed)), summed):
            file.write(part)


def load_saved(path: str | os.PathLike[str]) -> Tokenizer:
    """The tokenizer that was saved."""
    import mmap

    with open(path, "rb") as file:
        data = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    found = bytes(data[: len(MAGIC + ORDER)])
    if found in (MAGIC + b"<", MAGIC + b">") and found != MAGIC + ORDER:
        raise VocabularyError(f"{path}: saved on a machine with the other order of bytes; load what it was made of, and save it here")
    if found != MAGIC + ORDER or len(data) < HEADER or data[len(found) : FIRST] != words(checksum(data[FIRST:])):
        raise VocabularyError(f"{path}: cut short, or not as it was saved")
    try:
        return read_saved(data)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise VocabularyError(f"{path}: saved by another version of bitlex: {type(error).__name__}: {error}") from None


def read_saved(data: memoryview) -> Tokenizer:
    """The tokenizer of a file that is as somebody wrote it."""
    import json

    from .tokenizer import Tokenizer

    header_end, start, end = data[FIRST:HEADER].cast("Q")
    header = json.loads(bytes(data[HEADER:header_end]))
    if end != len(data) or start + sum(header["sizes"]) != end:
        raise ValueError("places that do not fit")
    parts = []
    for size in header["sizes"]:
        parts.append(data[start : start + size])
        start += size
    image, blob, starts, merges = parts
    vocabulary = Vocabulary(bytes(blob), bytes(starts), bytes(merges) if header["has_merges"] else None, header["whole"])
    description = Description(
        vocabulary=vocabulary, added=tuple(AddedToken(**token) for token in header["added"]),
        decoded={int(number): a2b_base64(token) for number, token in header["decoded"].items()},
        single=tuple((what, kind) for what, kind in header["single"]), pair=tuple((what, kind) for what, kind in header["pair"]),
        **{name: header[name] for name in PLAIN},
    )  # fmt: skip
    lexer = description.lexer()
    if lexer.tier == "pure":
        return Tokenizer(description)
    try:
        encoder = make_encoder(description, lexer, image)
    except ValueError:  # of another version
        encoder = make_encoder(description, lexer)
    return Tokenizer(description, encoder=encoder)


PLAIN = (
    "pre_tokenizer", "dialect", "unicode", "family", "convention", "name", "format", "digest", "normalizer", "prefix_space",
)  # fmt: skip


def words(*numbers: int) -> bytes:
    """Numbers as they are written."""
    return array("Q", numbers).tobytes()


def checksum(data: bytes | memoryview) -> int:
    """A sum of the words of the data, each times its place."""
    try:
        from ._native import checksum as native
    except ImportError:
        return pure_checksum(data)
    return native(data)


def pure_checksum(data: bytes | memoryview) -> int:
    """The same in pure Python."""
    most = (1 << 64) - 1
    sums = [1, 2, 3, 4]
    for at, word in enumerate(array("Q", bytes(data) + bytes(-len(data) % 32))):
        known = sums[at & 3]
        sums[at & 3] = ((known ^ word) * 0x9E3779B97F4A7C15 + (known >> 29)) & most
    total = sums[0]
    for one in sums[1:]:
        total = ((total ^ one) * 0xD6E8FEB86659FD93 + (total >> 31)) & most
    return total
