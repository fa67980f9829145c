"""Saved tokenizers: all of one in a file, whose tables are mapped into memory as they are, so that it loads in milliseconds.

    8 bytes   BITLEX2 and the order of bytes, < or >
    8 bytes   checksum of all that follows (this and the next three are uint64 in that order)
    24 bytes  where the header ends, where the tables start and end
    header    everything but the tables, as saved_values.py spells it
    tables    from a multiple of 4096 on: the image of the C extension, and the merges of the vocabulary

Processes that load the same file share the memory of its tables. A file that is in use is replaced by renaming another, as `save` does it: to
write into it changes the tables under those who have it open, and to shorten it crashes them. The tokens of the vocabulary are a part of the
image; they and the merges are copied when somebody asks for them, which encoding and decoding do not. A lexer that is in no catalogue, which may
take seconds to compile, is in the header, and compiled anew only by another version. Invariants: a file appears under its name
when it is whole; one that was cut short, or of which a byte was changed, is a VocabularyError, and so is one from a machine with the other order of
bytes. Without the C extension there is no image to write, and the tokens lie in its place. Where an image is missing or of another version, or
there is no C extension, the tables are made again from the vocabulary. The checksum is against accidents: it notices every change of eight bytes
side by side for certain, and any other but by a chance of 2 to the -64. What a forged file can do is give wrong ids. Rejected: pickle (it runs what
a file says); compression (a file of 9 MB loads faster as it is than one of 4 MB); a digest (it takes longer than all else); asking for all pages
before they are read (the system brings sixteen at a time anyway, and that took longer). Modules of Python that only some calls need are imported
there: all of them take as long as the tables.
"""

from __future__ import annotations

import os
import sys
from array import array
from dataclasses import fields
from typing import TYPE_CHECKING, Any, TypeVar

from .encoders import Pure, make_encoder
from .lexers import restore
from .saved_values import packed, unpacked
from .version import __version__
from .vocabulary import AddedToken, Description, Vocabulary, VocabularyError

if TYPE_CHECKING:
    from .tokenizer import Tokenizer

    Made = TypeVar("Made", bound=Tokenizer)

__all__ = ["is_saved", "load_saved", "save"]

KIND = b"BITLEX"
MAGIC = KIND + b"2"
OF_TRAINING = KIND + b"T"  # what files of training/checkpoint.py begin with
ORDER = {"little": b"<", "big": b">"}[sys.byteorder]
FIRST = len(MAGIC + ORDER) + 8  # of the bytes that the checksum is of
HEADER = FIRST + 3 * 8
PAGE = 4096
FLAGS = ("special", "lstrip", "rstrip", "single_word", "normalized")  # of an added token, each a bit


def is_saved(path: str | os.PathLike[str]) -> bool:
    """Whether a file is a saved tokenizer, of this version or another, by its first bytes."""
    with open(path, "rb") as file:
        beginning = file.read(len(MAGIC))
    return beginning.startswith(KIND) and beginning != OF_TRAINING


def save(tokenizer: Tokenizer, path: str | os.PathLike[str]) -> None:
    """Write a tokenizer."""
    from .outputs import whole_files  # which takes longer to import than a tokenizer to load
    from .vocabularies.writing import format_of

    if format_of(path) is not None:
        raise ValueError(
            f"{os.fspath(path)}: a name of files for others, which bitlex.vocabularies.writing.write(tokenizer.description, path) writes; "
            "what is saved is read by bitlex alone: name it NAME.bitlex"
        )
    description = tokenizer.description
    encoder: Any = tokenizer._encoder
    vocabulary = description.vocabulary
    if isinstance(encoder, Pure):  # the tables are made by who loads it, if there is C
        image, tables, blob_at, starts_at = b"", vocabulary.blob + vocabulary.starts, 0, len(vocabulary.blob)
    else:
        image, (blob_at, starts_at) = encoder.image(), encoder.places()
        tables = image
    size = len(tables) + len(vocabulary.merges or b"")
    header = {field.name: getattr(description, field.name) for field in fields(Description) if field.name != "vocabulary"} | {
        "added": [[token.id, token.content, sum(getattr(token, flag) << bit for bit, flag in enumerate(FLAGS))] for token in description.added],
        "decoded": dict(description.decoded), "whole": vocabulary.whole, "image": [0, len(image)],
        "blob": [blob_at, blob_at + len(vocabulary.blob)], "starts": [starts_at, starts_at + len(vocabulary.starts)],
        "merges": None if vocabulary.merges is None else [len(tables), size],
        "lexer": None if description.family is not None else [__version__, *tokenizer.lexer._parts],
    }  # fmt: skip
    text = packed(header)
    start = -(-(HEADER + len(text)) // PAGE) * PAGE
    beginning = words(HEADER + len(text), start, start + size) + text
    summed = b"".join([beginning, bytes(start - FIRST - len(beginning)), tables, vocabulary.merges or b""])
    with whole_files(path) as (file,):
        for part in (MAGIC + ORDER, words(checksum(summed)), summed):
            file.write(part)


def load_saved(path: str | os.PathLike[str], kind: type[Made]) -> Made:
    """The tokenizer that was saved, of this class."""
    import mmap

    with open(path, "rb") as file:
        data = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    version, order = bytes(data[: len(MAGIC)]), bytes(data[len(MAGIC) : len(MAGIC + ORDER)])
    if version != MAGIC and len(version) == len(MAGIC):
        raise VocabularyError(f"{path}: saved by another version of bitlex; load what it was made of, and save it here")
    if order in (b"<", b">") and order != ORDER:
        raise VocabularyError(f"{path}: saved on a machine with the other order of bytes; load what it was made of, and save it here")
    if order != ORDER or data[len(MAGIC + ORDER) : FIRST] != words(checksum(data[FIRST:])):
        raise VocabularyError(f"{path}: cut short, or not as it was saved")
    try:
        return read_saved(data, kind)
    except (AttributeError, IndexError, KeyError, OverflowError, RecursionError, TypeError, ValueError) as error:
        raise VocabularyError(f"{path}: saved by another version of bitlex: {type(error).__name__}: {error}") from None


def read_saved(data: memoryview, kind: type[Made]) -> Made:
    """The tokenizer of a file that is as somebody wrote it."""
    header_end, start, end = data[FIRST:HEADER].cast("Q")
    header = unpacked(bytes(data[HEADER:header_end]))
    if end != len(data):
        raise ValueError("places that do not fit")
    image, blob, starts, merges = (part(data[start:], header[name]) for name in ("image", "blob", "starts", "merges"))
    if blob is None or starts is None:
        raise ValueError("no tables")
    description = Description(
        vocabulary=Vocabulary.from_views(blob, starts, merges, header["whole"]),
        added=tuple(
            AddedToken(number, content, **{flag: bool(bits >> bit & 1) for bit, flag in enumerate(FLAGS)})
            for number, content, bits in header["added"]
        ),
        single=tuple((what, kind) for what, kind in header["single"]), pair=tuple((what, kind) for what, kind in header["pair"]),
        **{name: header[name] for name in PLAIN},
    )  # fmt: skip
    if not any(what == "A" for what, _ in description.single):
        raise ValueError("a template without its text")
    version, *parts = header["lexer"] or (None,)
    lexer = restore(*parts) if version == __version__ else description.lexer()
    try:
        encoder = make_encoder(description, lexer, image)
    except ValueError:  # of another version
        encoder = make_encoder(description, lexer)
    return kind(description, encoder=encoder, lexer=lexer)


PLAIN = (
    "pre_tokenizer", "dialect", "unicode", "family", "convention", "name", "format", "digest", "normalizer", "prefix_space", "decoded",
)  # fmt: skip


def part(tables: memoryview, place: list[int] | None) -> memoryview | None:
    """What lies between two places, if there is such a part."""
    if place is None:
        return None
    start, end = place
    if not 0 <= start <= end <= len(tables):
        raise ValueError("places that do not fit")
    return tables[start:end]


def words(*numbers: int) -> bytes:
    """Numbers as they are written."""
    return array("Q", numbers).tobytes()


def checksum(data: bytes | memoryview) -> int:
    """Eight sums of every eighth word of the data, and of these and its length one."""
    try:
        from ._native import checksum as native
    except ImportError:
        return pure_checksum(data)
    return native(data)


def pure_checksum(data: bytes | memoryview) -> int:
    """The same in pure Python."""
    sums, total = [0] * 8, len(data)
    for at, word in enumerate(array("Q", bytes(data) + bytes(64 - len(data) % 64))):
        sums[at & 7] = added(sums[at & 7], word)
    for one in sums:
        total = added(total, one)
    return total


def added(known: int, word: int) -> int:
    """A sum and one more word: for a given word another for each sum, and for a given sum another for each word."""
    mixed = known ^ word
    return ((mixed << 29 | mixed >> 35) * 0x9E3779B97F4A7C15) & ((1 << 64) - 1)
