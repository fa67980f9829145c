"""Memory that training may take: a number or "2 GB" in, bytes out; half of what the machine has, unless it is said; and files for what exceeds it.

    bytes_of("64 MB"), bytes_of(1 << 30), bytes_of(None)

Invariant: a file without a name is gone when the process is, whatever ends it.
"""

from __future__ import annotations

import mmap
import os
import re
from decimal import Decimal
from operator import index

__all__ = ["bytes_of", "mapped", "nameless", "place_of_files"]

UNITS = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12, "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40}
MOST = 1 << 62  # what is more is the same
UNKNOWN = 4 << 30  # of a machine that does not say what it has
LIMIT = "/sys/fs/cgroup/memory.max"  # of the container, where there is one


def bytes_of(memory: int | str | None) -> int:
    """How many bytes that is. ValueError for what is no amount of memory."""
    if memory is None:
        return half_of_the_machine()
    if isinstance(memory, str):
        found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?i?B?)\s*", memory, re.IGNORECASE)
        unit = "" if found is None else found[2].lower()
        unit += "b" if unit and not unit.endswith("b") else ""
        if found is None or unit not in UNITS:
            raise ValueError(f'memory is {memory!r}; it may be a number of bytes, or such as "64 MB" and "2 GB"')
        memory = int(Decimal(found[1]) * UNITS[unit])
    elif isinstance(memory, bool) or not hasattr(memory, "__index__"):
        raise TypeError(f"memory: expected an int, a str or None, got {type(memory).__name__}")
    memory = index(memory)
    if memory < 1:
        raise ValueError(f"memory is {memory}; it must be 1 byte or more")
    return min(memory, MOST)


def half_of_the_machine() -> int:
    """Of its memory, or of what the container may take of it."""
    try:
        found = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        found = 2 * UNKNOWN
    try:
        with open(LIMIT, encoding="ascii") as file:
            found = min(found, int(file.read()))
    except (OSError, ValueError):  # there is none
        pass
    return found // 2


def place_of_files(folder: str | os.PathLike[str] | None) -> str:
    """The folder itself; None: that of temporary files."""
    return os.fspath(folder or os.environ.get("TMPDIR") or ("/tmp" if os.name == "posix" else "the folder for temporary files"))


def nameless(folder: str | os.PathLike[str] | None) -> int:
    """An open file of the system without a name, in a folder; None: where temporary files go."""
    try:
        return os.open(place_of_files(folder), os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600)
    except (AttributeError, OSError):  # another system, or another kind of folder
        import tempfile

        with tempfile.TemporaryFile(dir=folder) as file:
            return os.dup(file.fileno())


def mapped(size: int, folder: str | None) -> mmap.mmap:
    """Memory with such a file behind it, all of which has its place on the disk: what is not at hand may be written there by the system."""
    file = nameless(folder)
    try:
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(file, 0, size)
        else:
            os.ftruncate(file, size)
        return mmap.mmap(file, size)
    except OSError as error:
        what = f"merging needs {size:,} bytes there: {os.strerror(error.errno or 0)}"
        raise OSError(error.errno, what, place_of_files(folder)) from None
    finally:
        os.close(file)
