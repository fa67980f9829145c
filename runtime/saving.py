"""Saved tokenizers: all of one in a file, whose tables are mapped into memory as they are, so that it loads in milliseconds.

    8 bytes   BITLEXT1
    24 bytes  where the header ends, where the tables start and end (uint64, little-endian)
    header    JSON: everything but the tables, and a checksum of them
    tables    from a multiple of 4096 on: the image of the C extension, then blob, starts and merges of the vocabulary

Processes that load the same file share the memory of its tables. Invariants: a file appears under its name when it is whole; one that
was cut short, or changed, is a VocabularyError. The tables are those of one kind of machine (order of bytes): on another, and where
there is no C extension, they are made again from the vocabulary. Rejected: pickle (it runs what a file says); compression (a file of
9 MB loads faster as it is than one of 4 MB).
"""

from __future__ import annotations

import json
import mmap
import os
import struct
from base64 import b64decode, b64encode
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

from .encoders import Pure, make_encoder
from .outputs import whole_files
from .vocabulary import AddedToken, Description, Vocabulary, VocabularyError

if TYPE_CHECKING:
    from .tokenizer import Tokenizer

__all__ = ["is_saved", "load_saved", "save"]

MAGIC = b"BITLEXT1"
PLACES = struct.Struct("<QQQ")
PAGE = 4096


def is_saved(path: str | os.PathLike[str]) -> bool:
    """Whether a file is a saved tokenizer, by its first bytes."""
    with open(path, "rb") as file:
        return file.read(len(MAGIC)) == MAGIC


def save(tokenizer: Tokenizer, path: str | os.PathLike[str]) -> None:
    """Write a tokenizer."""
    from . import _native  # type: ignore[attr-defined, unused-ignore]

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
        "decoded": {str(number): b64encode(token).decode() for number, token in description.decoded.items()},
        "whole": vocabulary.whole, "has_merges": vocabulary.merges is not None, "checksum": str(_native.checksum(image)),
        "sizes": [len(image), len(vocabulary.blob), len(vocabulary.starts), len(vocabulary.merges or b"")],
    }  # fmt: skip
    text = json.dumps(header).encode()
    first = len(MAGIC) + PLACES.size
    start = -(-(first + len(text)) // PAGE) * PAGE
    parts = [image, vocabulary.blob, vocabulary.starts, vocabulary.merges or b""]
    end = start + sum(map(len, parts))
    beginning = MAGIC + PLACES.pack(first + len(text), start, end) + text
    with whole_files(path) as (file,):
        for part in [beginning, bytes(start - len(beginning)), *parts]:
            file.write(part)


def load_saved(path: str | os.PathLike[str]) -> Tokenizer:
    """The tokenizer that was saved."""
    from .tokenizer import Tokenizer

    with open(path, "rb") as file:
        try:
            data = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        except ValueError:
            raise VocabularyError(f"{path}: the file is empty") from None
    header, start = read_header(data, path)
    sizes = header["sizes"]
    if sum(sizes) != len(data) - start:
        raise VocabularyError(f"{path}: cut short, or not as it was saved")
    parts = []
    for size in sizes:
        parts.append(data[start : start + size])
        start += size
    image, blob, starts, merges = parts
    vocabulary = Vocabulary(bytes(blob), bytes(starts), bytes(merges) if header["has_merges"] else None, header["whole"])
    description = Description(
        vocabulary=vocabulary, added=tuple(AddedToken(**token) for token in header["added"]),
        decoded={int(number): b64decode(token) for number, token in header["decoded"].items()},
        single=tuple((what, kind) for what, kind in header["single"]), pair=tuple((what, kind) for what, kind in header["pair"]),
        **{name: header[name] for name in PLAIN},
    )  # fmt: skip
    lexer = description.lexer()
    if lexer.tier == "pure":
        return Tokenizer(description)
    from . import _native  # type: ignore[attr-defined, unused-ignore]

    if str(_native.checksum(image)) != header["checksum"]:
        raise VocabularyError(f"{path}: the tables are not as they were saved")
    try:
        encoder = make_encoder(description, lexer, image)
    except ValueError:  # of a machine with the other order of bytes, or of another version
        encoder = make_encoder(description, lexer)
    return Tokenizer(description, encoder=encoder)


PLAIN = (
    "pre_tokenizer", "dialect", "unicode", "family", "convention", "name", "format", "digest", "normalizer", "prefix_space",
)  # fmt: skip


def read_header(data: memoryview, path: str | os.PathLike[str]) -> tuple[dict[str, Any], int]:
    """The header of a file, and where its tables start."""
    first = len(MAGIC) + PLACES.size
    try:
        header_end, start, end = PLACES.unpack(data[len(MAGIC) : first])
        header = json.loads(bytes(data[first:header_end]))
        if end != len(data) or not header_end <= start <= end or not isinstance(header, dict) or len(header["sizes"]) != 4:
            raise ValueError("places that do not fit")
    except (struct.error, ValueError, KeyError, TypeError):
        raise VocabularyError(f"{path}: cut short, or not as it was saved") from None
    return header, start
