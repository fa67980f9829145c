"""Opening: files and standard input as bytes, mapped into memory where that can be; and whether more is waiting in one.

    with opened("-") as file:
        mapped(file)                               # a memoryview of all that is left of it

In: a path, or "-" for standard input. Out: a file, or its bytes. Invariant: nothing that was read before is read again, and what is
mapped stays when the file is closed. Rejected: mapping small files (reading one is faster, and keeps no descriptor).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

__all__ = ["STANDARD_INPUT", "is_open_here", "mapped", "may_wait", "naming", "nothing_is_there", "opened"]

STANDARD_INPUT = "-"
SMALL = 1 << 20  # files below this are read


@contextmanager
def opened(path: str) -> Iterator[BinaryIO]:
    """A file, or standard input, to be read in the block."""
    with naming(path if path != STANDARD_INPUT else "standard input"):
        if path != STANDARD_INPUT:
            with open(path, "rb") as file:
                yield file
        elif sys.stdin is None:
            raise OSError("standard input is closed")
        else:
            yield sys.stdin.buffer


@contextmanager
def naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """An OSError of reading a file, which the system tells without its name, has it: a disk or a network may fail behind the opening."""
    try:
        yield
    except OSError as error:
        if error.errno is None or error.filename is not None:
            raise
        raise OSError(error.errno, error.strerror, os.fspath(path)) from None


def mapped(file: BinaryIO) -> memoryview:
    """What is left of a file: mapped where it can be and is not small, else read. It stays when the file is closed."""
    import mmap

    try:
        start = file.tell()  # a part of standard input may have been read before us
        if os.fstat(file.fileno()).st_size - start < SMALL:
            return memoryview(file.read())
        found = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))[start:]
        file.seek(0, os.SEEK_END)  # or who reads standard input after us would read it again
        return found
    except (OSError, ValueError):  # a pipe, a terminal, a device
        return memoryview(file.read())


def is_open_here(path: str) -> bool:
    """Whether a path is the number of a file that this process has open, which another process has not: standard input, /dev/fd/63."""
    if path == STANDARD_INPUT:
        return True
    for _ in range(40):  # links, one to the other
        folder, name = os.path.split(path)
        folder = os.path.realpath(folder or os.curdir)
        if folder == "/dev/fd" or f"{folder}/".startswith("/proc/"):
            return True
        path = os.path.join(folder, name)
        try:
            path = os.path.join(folder, os.readlink(path))
        except OSError:  # no link
            return False
    return False


def may_wait(file: BinaryIO | str) -> bool:
    """Whether reading may wait for someone to write: anything but a file on a disk. A path is not opened for that."""
    import stat

    return not stat.S_ISREG(os.stat(file if isinstance(file, str) else file.fileno()).st_mode)


def nothing_is_there(file: BinaryIO) -> bool:
    """Whether reading would wait now; where the system does not say, it is taken not to."""
    import select

    try:
        return not select.select([file], [], [], 0)[0]
    except (OSError, ValueError):
        return False
