"""Outputs: arrays of ids in, of whole documents or some of one; a file out that is there when it is whole, or text on standard output.

    with writing("ids.npy", "npy", "u16") as output:
        output.add(*tokenizer.encode_batch_flat(texts))

    npy     the ids of all documents, one after the other, as a numpy array of uint16 or uint32
    bin     the same numbers with nothing before them, little-endian
    jsonl   a JSON array for each document, on a line
    txt     the ids of each document on a line, with spaces between

Beside NAME.npy and NAME.bin, NAME.idx.npy says where documents begin: uint64, one more than there are documents, and document i is
ids[index[i]:index[i + 1]]. Invariant: under its name, a file is the one before or the whole new one, also after a crash; whatever ends
the writing, nothing else stays in the folder (but after SIGKILL and power loss, a file whose name begins with a dot). An index comes
before its ids. Rejected: a header of our own (numpy, and all that reads its files, maps these); offsets of 32 bits.
"""

from __future__ import annotations

import errno
import os
import struct
import sys
from array import array
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

from .opening import STANDARD_INPUT

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Ids = npt.NDArray[np.unsignedinteger[Any]]
    Begins = npt.NDArray[np.int64]

__all__ = [
    "FORMATS", "MANIFEST", "NUMBERS", "Output", "are_one", "index_of", "keep", "place_of", "real_path", "refuse_inputs", "whole_files", "writing",
    "written",
]  # fmt: skip

FORMATS = ("npy", "bin", "jsonl", "txt")
NUMBERS = {"u16": "<u2", "u32": "<u4"}
MANIFEST = "bitlex-manifest.jsonl"  # of a folder of outputs, see manifest.py; where a run does one of several parts, its name says which
HEADER = 128  # bytes of a .npy file before its numbers
AT_ONCE = 1 << 18  # ids converted at a time
SHORT = 140  # bytes of a name, which every file system takes
BUFFER = 1 << 16  # bytes of each file that wait to be written


class Output(Protocol):
    """What takes ids: of documents side by side, with where they begin and the end; or some of one at a time, and then its end."""

    documents: int
    tokens: int

    def add(self, ids: Ids, begins: Begins) -> None: ...
    def extend(self, ids: Ids) -> None: ...
    def end(self) -> None: ...
    def flush(self) -> None: ...


class Numbers:
    """Ids as numbers of a fixed size, and their index where there is a file for it."""

    def __init__(self, file: BinaryIO, index: BinaryIO | None, number: str, header: bool) -> None:
        self.file, self.index, self.number, self.header = file, index, number, header
        self.documents = self.tokens = 0
        self.ends = array("Q", [0])
        if header:
            file.write(bytes(HEADER))

    def add(self, ids: Ids, begins: Begins) -> None:
        if self.index is not None:
            self.ends.frombytes((begins[1:] + self.tokens).astype("u8").tobytes())
        self.documents += len(begins) - 1
        self.extend(ids)

    def extend(self, ids: Ids) -> None:
        for at in range(0, len(ids), AT_ONCE):
            self.file.write(ids[at : at + AT_ONCE].astype(self.number, copy=False).data)
        self.tokens += len(ids)

    def end(self) -> None:
        self.documents += 1
        if self.index is not None:
            self.ends.append(self.tokens)

    def flush(self) -> None:
        self.file.flush()

    def finish(self) -> None:
        """Write what is only known at the end."""
        if self.header:
            self.file.seek(0)
            self.file.write(npy_header(self.number, self.tokens))
        if self.index is not None:
            if sys.byteorder == "big":
                self.ends.byteswap()
            self.index.write(npy_header("<u8", len(self.ends)) + self.ends.tobytes())


class Lines:
    """Ids in digits, a line for each document."""

    def __init__(self, file: BinaryIO, before: str, between: str, behind: str) -> None:
        self.file, self.before, self.between, self.behind = file, before, between, behind
        self.documents = self.tokens = 0
        self.next = before  # what comes before the next id

    def add(self, ids: Ids, begins: Begins) -> None:
        for start, end in pairwise(begins.tolist()):
            self.extend(ids[start:end])
            self.end()

    def extend(self, ids: Ids) -> None:
        for at in range(0, len(ids), AT_ONCE):
            self.file.write((self.next + self.between.join(map(str, ids[at : at + AT_ONCE].tolist()))).encode())
            self.next = self.between
        self.tokens += len(ids)

    def end(self) -> None:
        self.file.write(((self.next if self.next is self.before else "") + self.behind).encode())
        self.next = self.before
        self.documents += 1

    def flush(self) -> None:
        self.file.flush()

    def finish(self) -> None:
        pass


@contextmanager
def writing(
    path: str | None, format: str, number: str = "u32", *, names: bool = True, stats: list[os.stat_result] | None = None
) -> Iterator[Output]:  # fmt: skip
    """What writes ids to a file, which is there when the block ends without an exception; None: to standard output, at once. `names` and `stats`:
    as of whole_files."""
    with ExitStack() as stack:
        index = None
        if path is None:
            if format == "npy":
                raise ValueError("npy is written to a file, not to standard output")
            file: BinaryIO = sys.stdout.buffer
        elif format in ("npy", "bin"):
            index, file = stack.enter_context(whole_files(index_of(path), path, names=names, stats=stats))
        else:
            (file,) = stack.enter_context(whole_files(path, names=names, stats=stats))
        output: Numbers | Lines
        if format in ("npy", "bin"):
            output = Numbers(file, index, NUMBERS[number], format == "npy")
        else:
            output = Lines(file, "[", ", ", "]\n") if format == "jsonl" else Lines(file, "", " ", "\n")
        yield output
        output.finish()
        output.flush()


def index_of(path: str) -> str:
    """Where the index of an array of ids lies."""
    return os.path.splitext(path)[0] + ".idx.npy"


def written(path: str, format: str) -> list[str]:
    """All files that `writing` writes for a path."""
    return [index_of(path), path] if format in ("npy", "bin") else [path]


def npy_header(number: str, count: int) -> bytes:
    """What stands before the numbers of a one-dimensional .npy file of version 1.0, in 128 bytes."""
    about = f"{{'descr': '{number}', 'fortran_order': False, 'shape': ({count},), }}"
    start = b"\x93NUMPY\x01\x00" + struct.pack("<H", HEADER - 10)
    return start + about.encode().ljust(HEADER - 11) + b"\n"


@contextmanager
def whole_files(
    *paths: str | os.PathLike[str], names: bool = True, stats: list[os.stat_result] | None = None
) -> Iterator[list[BinaryIO]]:  # fmt: skip
    """Files to write to, which get their names, in this order, when all of them are on the disk and the block ends well. `names`: whether
    these are brought to the disk, too; whoever writes many files does it once for a folder, by `keep`. `stats` takes what the system says of the
    files before they have their names, under which another run may put files of its own.

    An OSError about the files that are written meanwhile, or about none (a full disk), names the last path: the one asked for.
    """
    places = [place_of(path) for path in reversed(paths)][::-1]  # an error about all of them names the one asked for
    made: list[Path] = []
    files: list[BinaryIO] = []
    try:
        for place in places:
            made.append(unfinished(place))  # before it is there, or a signal might leave it
            files.append(open(made[-1], "xb", BUFFER))  # noqa: SIM115
        yield files
        for file in files:
            file.flush()
            os.fsync(file.fileno())
            file.close()
        if stats is not None:
            stats.extend(map(os.stat, made))
        give_names(made, places)
        made.clear()
        for folder in {place.parent for place in places} if names else ():
            keep(folder)
    except OSError as error:
        if error.errno is None or (error.filename is not None and Path(error.filename) not in made):
            raise
        raise OSError(error.errno, error.strerror, os.fspath(paths[-1])) from error
    finally:
        try:
            clear_away(files, made)
        except BaseException:  # a signal came meanwhile
            clear_away(files, made)
            raise


def clear_away(files: list[BinaryIO], made: list[Path]) -> None:
    """All that is not finished."""
    for file in files:
        with suppress(OSError):  # a full disk was already complained about
            file.close()
    for name in made:
        with suppress(OSError):  # it was never there, and why is what is told
            os.unlink(name)


def give_names(made: list[Path], places: list[Path]) -> None:
    """To all files, also where a signal comes in between: ids would have the index of others."""
    try:
        for name, place in zip(made, places, strict=True):
            os.replace(name, place)
    except OSError:
        raise
    except BaseException:
        for name, place in zip(made, places, strict=True):
            with suppress(FileNotFoundError):  # it has its name
                os.replace(name, place)
        raise


def unfinished(place: Path) -> Path:
    """A name for a file until it is whole, in the same folder; no longer than its own where that may be too long."""
    random = os.urandom(6).hex()
    longer = f".{place.name}.{random}"
    return place.with_name(longer if len(os.fsencode(longer)) <= SHORT else f".{random}")


def place_of(path: str | os.PathLike[str]) -> Path:
    """Where a file goes: where a link points to. What is there and is no file (a folder, a device, a pipe) cannot be replaced by one."""
    if not os.fspath(path):
        raise ValueError("the name of the file to write is empty")
    with suppress(FileNotFoundError):
        os.stat(path)  # what is no name for a file is told of before there is anything to write
    if os.path.isdir(path) or os.fspath(path).endswith(("/", os.sep)):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    if os.path.exists(path) and not os.path.isfile(path):
        raise ValueError(f"{path}: a device or a pipe, of which a file cannot take the place; name a file")
    return Path(real_path(path))


def real_path(path: str | os.PathLike[str]) -> str:
    """Where a file is, links followed; an OSError names the path where the folder that we are in is gone."""
    try:
        return os.path.realpath(os.fspath(path))
    except OSError as error:
        raise OSError(error.errno, error.strerror, os.fspath(path)) from None


def refuse_inputs(inputs: Iterable[str], outputs: Iterable[str]) -> None:
    """No output may take the place of an input, nor of another output that a link leads to. One file may have two names where case does not count,
    or a disk is mounted twice, and standard input has none."""
    outputs = list(outputs)
    places: dict[str, str] = {}
    for path in outputs:
        if (other := places.setdefault(real_path(path), path)) != path:
            raise ValueError(f"{other} and {path}: these are one file, to which a link leads, and would be two outputs")
    files = set(map(identity, outputs)) - {None}
    for path in inputs:
        given = path == STANDARD_INPUT
        if (not given and real_path(path) in places) or identity(0 if given else path) in files:
            raise ValueError(f"{path}: this is an input and an output")


def are_one(folder: str, pairs: Sequence[tuple[str, str]]) -> tuple[str, str] | None:
    """The first two of these paths inside of a folder that its file system takes for one: case may not count there, nor how é is spelled."""
    from tempfile import TemporaryDirectory

    try:
        with TemporaryDirectory(prefix=".", dir=folder) as room:
            for first, second in pairs:
                path = os.path.join(room, first)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                open(path, "wb").close()
                if os.path.exists(os.path.join(room, second)):
                    return first, second
                os.unlink(path)
            return None
    except OSError as error:
        raise OSError(error.errno, error.strerror, folder) from None


def identity(path: str | int) -> tuple[int, int] | None:
    """Which file that is, if it is there."""
    with suppress(OSError):
        found = os.stat(path)
        return found.st_dev, found.st_ino
    return None


def keep(folder: Path) -> None:
    """Have the names in a folder written to the disk, where that can be asked for: not on every file system, nor where it may not be read."""
    if os.name == "posix":
        try:
            descriptor = os.open(folder, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        except OSError as error:
            if error.errno not in (errno.EACCES, errno.EINVAL, errno.ENOTSUP):
                raise
