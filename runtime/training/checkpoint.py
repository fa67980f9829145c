"""Checkpoints of a training that was interrupted: what was counted and what was merged, in one file; and back.

    8 bytes   BITLEXT and the order of bytes, < or >
    8 bytes   checksum of all that follows (uint64)
    8 bytes   the length of the header (uint64)
    header    JSON: the settings of the training, and the sizes of what follows
    rest      distinct pieces, their lengths and counts, merges and how often each pair was there

A training that goes on from it ends as if it had never stopped, because a merge depends on nothing but what was counted and merged before.
Invariants: the file under its name is whole, the one before or the new one, whatever ends the process; one that was changed, or
belongs to other settings, is refused, and says which.
"""

from __future__ import annotations

import json
import os
import struct
import sys
from typing import Any, NamedTuple

from ..outputs import whole_files
from ..saving import checksum

__all__ = ["Checkpoint", "CheckpointError", "read", "write"]

MAGIC = b"BITLEXT" + {"little": b"<", "big": b">"}[sys.byteorder]
NUMBER = struct.Struct("=Q")


class CheckpointError(ValueError):
    """A checkpoint that is malformed, or of another training."""


class Checkpoint(NamedTuple):
    """What there is when counting is done, and some merges were made."""

    settings: dict[str, Any]
    pieces: bytes
    lengths: bytes
    counts: bytes
    merges: bytes
    merge_counts: bytes


def write(path: str | os.PathLike[str], made: Checkpoint) -> None:
    header = json.dumps({"settings": made.settings, "sizes": [len(part) for part in made[1:]]}).encode()
    body = b"".join([NUMBER.pack(len(header)), header, *made[1:]])
    with whole_files(path) as (file,):
        file.write(MAGIC + NUMBER.pack(checksum(body)))
        file.write(body)


def read(path: str | os.PathLike[str]) -> Checkpoint:
    """The checkpoint. The checksum does not tell zeros at the end from none, so the lengths are compared, too."""
    wrong = CheckpointError(f"{os.fspath(path)}: no checkpoint of this version and kind of machine, or not as it was written")
    with open(path, "rb") as file:
        data = memoryview(file.read())
    start = len(MAGIC) + NUMBER.size
    body = start + NUMBER.size
    if data[: len(MAGIC)] != MAGIC or len(data) < body or data[len(MAGIC) : start] != NUMBER.pack(checksum(data[start:])):
        raise wrong
    (length,) = NUMBER.unpack(data[start:body])
    try:
        header = json.loads(bytes(data[body : body + length]))
    except ValueError:
        raise wrong from None
    parts = []
    at = body + length
    for size in header["sizes"]:
        parts.append(bytes(data[at : at + size]))
        at += size
    if at != len(data):
        raise wrong
    return Checkpoint(header["settings"], *parts)
