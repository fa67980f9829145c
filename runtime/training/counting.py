"""Counting: batches of texts in; out, the distinct pieces, in the order in which they were met, and how often each was.

    counting = Counting(lexer, threads=2, memory=1 << 30)
    for place in counting.add(batch): ...                       # all before this place of the sources is counted
    counting.finish()                                           # Counted(pieces, lengths, counts)

Tables that exceed the memory are written to a file as runs, and read back side by side when all is counted: train_runs.c says how, and why
the counts and the order are as if nothing had been written. The file has no name, and so is gone with the process; where there are
checkpoints, it has one, and a checkpoint says how much of it counts: then all is written down when one is made. What that file has behind
it is cut off when counting goes on.

Invariant: memory, beside the texts at hand and what one table has at least, is what was given. Rejected: forgetting rare pieces (pairs of
them add up); a hash table on the disk (each piece would be a look-up there). Pure Python writes nothing: it has no way to be in time.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from ..saving import checksum
from .checkpoint import CheckpointError
from .memory import nameless, place_of_files
from .pure import PureCounter

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from ..lexers import Lexer
    from .source import Batch, Place

__all__ = ["Counted", "Counting", "Runs"]

WINDOW = 1 << 24  # bytes of a long text between two places
TAKEN = 1 << 20  # bytes of pieces at a time
CLOSED = getattr(os, "O_CLOEXEC", 0)
SHARE = 2 / 3  # of the memory is for tables; the rest, for what is made of them at the end


class Counted(NamedTuple):
    """Distinct pieces side by side, the lengths of them (uint32), and how often each was met (uint64)."""

    pieces: Buffer
    lengths: Buffer
    counts: Buffer


class Runs(NamedTuple):
    """What was counted before: runs in a file, where each ends, and a checksum of each; the key of their hashes; bytes of texts behind."""

    path: str
    key: bytes
    ends: list[int]
    sums: list[int]
    place: int


class Counting:
    """Counting of pieces. `path`: of the file of runs, for checkpoints; else it has no name, and lies in `folder`."""

    def __init__(
        self, lexer: Lexer, *, threads: int, memory: int, folder: str | None = None, path: str | None = None,
        before: Runs | None = None,
    ) -> None:  # fmt: skip
        self.threads, self.folder, self.path = threads, folder, path
        self.limit = max(int(memory * SHARE), 1)
        self.before = Runs(path or "", os.urandom(16), [], [], 0) if before is None else before
        self.file = -1
        self.nowhere: FileNotFoundError | None = None
        self.counter: Any
        if lexer.tier == "pure":
            self.counter = PureCounter(lexer._machine)
            return
        from .. import _native

        assert isinstance(lexer._machine, _native.Machine)
        self.make = partial(_native.Counter, lexer._machine, self.before.key)
        try:
            self.file = nameless(folder) if path is None else claimed(path)
        except FileNotFoundError as error:
            if folder is not None or path is not None:
                raise
            self.nowhere = error  # which is an error when there is something to write
        try:
            if path is not None:
                self.take_over()
            self.counter = self.make(self.limit, self.file, self.before.place)
        except BaseException:
            self.close()  # or it could not be tried again
            raise

    def take_over(self) -> None:
        """Leave of the file what counts, if it is what was written."""
        ends = self.before.ends
        size = ends[-1] if ends else 0
        if os.fstat(self.file).st_size < size or self.checksums(ends, []) != self.before.sums:
            raise ValueError(f"{self.path}: not as it was written; counting cannot go on from it")
        os.ftruncate(self.file, size)
        os.lseek(self.file, size, os.SEEK_SET)

    def checksums(self, ends: list[int], known: list[int]) -> list[int]:
        """Of runs, the first of which are known."""
        if len(ends) == len(known):
            return known
        with memoryview(mmap.mmap(self.file, ends[-1], access=mmap.ACCESS_READ)) as data:
            starts = [0, *ends]
            return known + [checksum(data[starts[at] : ends[at]]) for at in range(len(known), len(ends))]

    @property
    def ends(self) -> list[int]:
        """Where runs end, those that were there before included."""
        base = self.before.ends[-1] if self.before.ends else 0
        return self.before.ends + [base + end for end in self.counter.ends]

    def add(self, batch: Batch) -> Iterator[tuple[Place, int]]:
        """Count texts. Now and then the place up to which all is counted, and how much that was since."""
        if batch.counted is not None:
            length = batch.counted.settings["length"]
            try:
                self.guarded(self.counter.add_counted, *batch.counted[2:5], length)
            except ValueError as error:
                raise CheckpointError(f"{batch.path}: {error}") from None
            yield batch.next, length
            return
        if not batch.mapped or self.file < 0:
            self.guarded(self.counter.add, batch.texts, self.threads)
            yield batch.next, sum(map(len, batch.texts))
            return
        (text,) = batch.texts
        at, size = batch.here.offset, WINDOW
        while at < len(text):
            reached = self.guarded(self.counter.add_part, text, self.threads, 0, True, at, size)
            size = WINDOW if reached > at else 2 * size  # for a piece that is longer
            if reached < len(text):
                yield batch.here._replace(offset=reached), reached - at
            else:
                yield batch.next, reached - at
            at = reached

    def guarded(self, call: Any, *arguments: Any) -> Any:
        """Call what may write, and say where, if that fails."""
        try:
            return call(*arguments)
        except OSError as error:
            if self.nowhere is not None:
                raise self.nowhere from None
            where = self.path or place_of_files(self.folder)
            raise OSError(error.errno, f"counted pieces could not be written: {os.strerror(error.errno or 0)}", where) from None

    @property
    def can_keep(self) -> bool:
        """Whether there can be checkpoints."""
        return self.file >= 0 and self.path is not None

    def keep(self) -> Runs:
        """Write all down, for a checkpoint."""
        assert self.path is not None
        self.guarded(self.counter.spill, False)
        self.guarded(os.fsync, self.file)
        self.before = Runs(self.path, self.before.key, self.ends, self.checksums(self.ends, self.before.sums), self.counter.place)
        self.counter = self.make(self.limit, self.file, self.before.place)
        return self.before

    def finish(self) -> Counted:
        """All pieces."""
        if self.file < 0 or not self.ends:
            return Counted(*self.counter.finish())
        self.guarded(self.counter.spill, False)
        ends = self.ends
        self.counter = None
        with opened(self.folder) as file:
            table = self.make(0, file)
            table.open(mmap.mmap(self.file, ends[-1], access=mmap.ACCESS_READ), ends, True)
            while table.read(self.limit):
                self.guarded(table.spill, True)
            if not table.ends:
                return Counted(*table.finish())
            self.guarded(table.spill, True)
            return self.in_order(mmap.mmap(file, table.ends[-1], access=mmap.ACCESS_READ), table.ends)

    def in_order(self, runs: mmap.mmap, ends: list[int]) -> Counted:
        """Runs in order of places, side by side, in files."""
        reader = self.make()
        reader.open(runs, ends, True)
        with opened(self.folder) as pieces, opened(self.folder) as lengths, opened(self.folder) as counts:
            files = (pieces, lengths, counts)
            while (parts := reader.take(TAKEN))[1]:
                for file, part in zip(files, parts, strict=True):
                    self.guarded(write_all, file, part)
            return Counted(*(memoryview(mmap.mmap(file, 0, access=mmap.ACCESS_READ)) for file in files))

    def close(self) -> None:
        if self.file >= 0:
            os.close(self.file)
            self.file = -1


def claimed(path: str) -> int:
    """The open file of runs of a name, which no other training has as long as it is open: two would write over each other's runs."""
    while True:
        file = os.open(path, os.O_RDWR | os.O_CREAT | CLOSED, 0o600)
        ours = False
        try:
            ours = is_locked(file, path)
            if ours:
                return file
        finally:
            if not ours:  # who had it before has just removed it, or this cannot go on
                os.close(file)


def is_locked(file: int, path: str) -> bool:
    """Whether the open file is locked now, and the one that has the name."""
    try:
        from fcntl import LOCK_EX, LOCK_NB, flock

        flock(file, LOCK_EX | LOCK_NB)
    except BlockingIOError:
        raise ValueError(f"{path}: another training, which still runs, writes to it; give another checkpoint or output") from None
    except (ImportError, OSError):  # a system, or a folder, without locks
        return True
    with suppress(FileNotFoundError):
        return os.path.samestat(os.stat(path), os.fstat(file))
    return False


@contextmanager
def opened(folder: str | None) -> Iterator[int]:
    """A file without a name, until the end of the block; what is mapped of it stays."""
    file = nameless(folder)
    try:
        yield file
    finally:
        os.close(file)


def write_all(file: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(file, rest) :]
