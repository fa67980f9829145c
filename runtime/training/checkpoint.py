"""Checkpoints of a training that was interrupted: what was counted and what was merged, in one file; and back.

    8 bytes   BITLEXT and the order of bytes, < or >
    8 bytes   checksum of the header (uint64)
    8 bytes   the length of the header (uint64)
    header    JSON: the settings of the training, the sizes of what follows, and checksums
    rest      distinct pieces, their lengths and counts, merges and how often each pair was there, each filled with zeros to 8 bytes

While counting goes on, the rest is empty, and the header says which file of runs has what was counted (counting.py), how much of it, and
from which place on the sources are to be read. A training that goes on from it ends as if it had never stopped, because a merge depends on
nothing but what was counted and merged before. So others may have counted: what `count_pieces` writes is the same, without merges.
Invariants: the file under its name is whole, the one before or the new one, whatever ends the process; one that was changed, or belongs to
other settings or files, is refused, and says which.
"""

from __future__ import annotations

import errno
import json
import mmap
import os
import struct
import sys
import time
from contextlib import suppress
from operator import index
from typing import TYPE_CHECKING, Any, NamedTuple

from ..opening import naming
from ..outputs import place_of, whole_files
from ..saving import OF_TRAINING, checksum

if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import Buffer

__all__ = [
    "MOST_TEXT", "Checkpoint", "CheckpointError", "Keeper", "begins_as_checkpoint", "check_origin", "check_place", "is_checkpoint", "read",
    "write",
]  # fmt: skip

MAGIC = OF_TRAINING + {"little": b"<", "big": b">"}[sys.byteorder]
NUMBER = struct.Struct("=Q")
BEGINNING = 24  # bytes before the header
ALIGNED = 8
MOST_TEXT = 1 << 60  # bytes or characters: no count of a piece or a pair comes near 2**64 then
PAUSE = 60.0  # seconds between two checkpoints, at least
PATIENCE = 20  # times as long as one takes, at least, it is to the next


class CheckpointError(ValueError):
    """A checkpoint that is malformed, or of another training."""


class Checkpoint(NamedTuple):
    """What there is when some texts were counted (`counting` says how far), or when counting is done, and some merges were made."""

    settings: dict[str, Any]
    counting: dict[str, Any] | None
    pieces: Buffer = b""
    lengths: Buffer = b""
    counts: Buffer = b""
    merges: bytes = b""
    merge_counts: bytes = b""


def write(path: str | os.PathLike[str], made: Checkpoint) -> None:
    parts = [memoryview(part) for part in made[2:]]
    about = {
        "settings": made.settings, "counting": made.counting, "sizes": [len(part) for part in parts],
        "checksums": [checksum(part) for part in parts],
    }  # fmt: skip
    header = json.dumps(about).encode()
    header += b" " * (-len(header) % ALIGNED)
    with whole_files(path) as (file,):
        file.write(MAGIC + NUMBER.pack(checksum(header)) + NUMBER.pack(len(header)) + header)
        for part in parts:
            file.write(part)
            file.write(bytes(-len(part) % ALIGNED))


def read(path: str | os.PathLike[str]) -> Checkpoint:
    """The checkpoint, of which pieces are mapped. A checksum does not tell zeros at the end from none, so lengths are compared, too."""

    def wrong() -> CheckpointError:  # made when it is raised: one that waited here would, by its traceback, keep the file open
        return CheckpointError(f"{os.fspath(path)}: no checkpoint or pieces of this version and kind of machine, or not as it was written")

    with open(path, "rb") as file:
        if os.fstat(file.fileno()).st_size < BEGINNING:
            raise wrong()
        data = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    known, length = NUMBER.unpack(data[8:16])[0], NUMBER.unpack(data[16:24])[0]
    header = data[BEGINNING : BEGINNING + length]  # not copied: it is the whole file where its length is wrong
    if data[:8] != MAGIC or len(header) != length or checksum(header) != known:
        raise wrong()
    parts: list[Any] = []
    at = BEGINNING + length
    try:
        about = json.loads(bytes(header))
        for size, known in zip(about["sizes"], about["checksums"], strict=True):
            parts.append(data[at : at + size])
            filling = data[at + size : at + size + -size % ALIGNED]
            if len(parts[-1]) != size or checksum(parts[-1]) != known or filling != bytes(-size % ALIGNED):
                raise wrong()
            at += size + len(filling)
        if at != len(data) or not 0 <= index(about["settings"]["length"]) <= MOST_TEXT or not isinstance(about["counting"], dict | None):
            raise wrong()
        return Checkpoint(about["settings"], about["counting"], *parts[:3], *map(bytes, parts[3:]))
    except (ValueError, KeyError, TypeError, RecursionError):  # what has the right checksums may still be nothing that we wrote
        raise wrong() from None


def is_checkpoint(path: str) -> bool:
    """Whether a file begins as one, which no text does."""
    if not os.path.isfile(path):
        return False
    with naming(path), open(path, "rb") as file:
        return begins_as_checkpoint(file.read(len(MAGIC)))


def begins_as_checkpoint(text: Buffer) -> bool:
    return bytes(memoryview(text)[: len(MAGIC)]) in (OF_TRAINING + b"<", OF_TRAINING + b">")


def check_origin(known: dict[str, Any] | None, origin: dict[str, Any] | None, where: str) -> None:
    """What is counted must be what was counted from: files as they were, read in the same way."""
    if known is None:  # texts, of which nothing is known
        return
    before, now = ([tuple(file) for file in one["files"]] if one is not None else [] for one in (known, origin))
    if before != now:
        changed = [file[0] for file in before if file not in now] or [file[0] for file in now if file not in before]
        raise CheckpointError(
            f"{', '.join(changed[:3]) or 'the files'}: not what was counted from when the training was interrupted; begin it anew, without resume"
        )
    for name in ("input", "field"):
        if origin is not None and known[name] != origin[name]:
            raise CheckpointError(f"{where}: was made with {name} {known[name]!r}, not {origin[name]!r}")


def check_place(path: str | os.PathLike[str]) -> None:
    """A checkpoint can be written there, and takes the place of no other file: said before hours of work, not behind them."""
    if not place_of(path).parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), os.fspath(path))
    with suppress(FileNotFoundError), open(path, "rb") as file:
        if file.read(len(OF_TRAINING)) not in (OF_TRAINING, b""):
            raise CheckpointError(f"{os.fspath(path)}: is there, and no checkpoint; move it away, or choose another output")


def identity(path: str) -> tuple[int, int] | None:
    """Which file has this name. Its number alone may be that of one that is gone."""
    with suppress(OSError):
        found = os.stat(path)
        return found.st_ino, found.st_mtime_ns
    return None


class Keeper:
    """Writes checkpoints to a file, when it is time to. `runs`: the file of runs that goes with it, beside it or in a folder."""

    def __init__(self, path: str | os.PathLike[str], folder: str | None = None) -> None:
        self.path = os.path.abspath(path)
        name = f"{os.path.basename(self.path)}.runs" if folder is None else f"bitlex-{checksum(os.fsencode(self.path)):016x}.runs"
        self.runs = os.path.join(os.path.dirname(self.path) if folder is None else os.path.abspath(folder), name)
        self.next = time.monotonic() + PAUSE
        self.before = identity(self.path)

    @property
    def written(self) -> bool:
        """Whether a checkpoint is there that was not before: a signal may end `write` when the file has its name."""
        return identity(self.path) not in (None, self.before)

    def is_due(self) -> bool:
        return time.monotonic() >= self.next

    def write(self, make: Callable[[], Checkpoint]) -> None:
        begun = time.monotonic()
        write(self.path, make())
        now = time.monotonic()
        self.next = now + max(PAUSE, PATIENCE * (now - begun))

    def remove_runs(self) -> None:
        with suppress(FileNotFoundError):
            os.unlink(self.runs)
