"""Files of ids: what `outputs` writes in, arrays of ids out, a document at a time or some ids at a time.

    for part in IdFile("ids.npy").parts():
        ...                            # Part(ids=array([15339, 1917]), at=0, document=0, last=True); None: no more is waiting

Arrays are mapped into memory, lines are read one by one. Invariant: the parts of a document, joined, are its ids; a part has at most
2 to the 20 of them, so that memory does not grow with the file (a line is read whole). What is no such file is an InputError. Rejected:
guessing the size of the numbers of a .bin file that has no index (half of all wrong guesses give wrong text, and no error).
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, NamedTuple

from .decompression import COMPRESSED
from .inputs import BYTE_ORDER_MARK, STANDARD_INPUT, InputError, Source
from .json_rows import JSONDecodeError, json_of, mistake
from .outputs import NUMBERS, index_of

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = ["IdFile", "Part", "is_index"]

MOST = 1 << 20  # ids of a part
NPY = b"\x93NUMPY"  # what a .npy file begins with


class Part(NamedTuple):
    """Ids that stand side by side in a document. `at`: where they begin in the document; `last`: whether it ends with them."""

    ids: Any
    at: int
    document: int
    last: bool


class IdFile:
    """A file of ids, or standard input.

    format  "npy", "bin", "jsonl" or "txt"; None: what the name of the file says, and txt if it says nothing
    number  "u16" or "u32", of a .bin file; None: what its index tells
    highest the greatest id there may be: where u16 cannot hold it, a .bin file that is u16 by its index is one of u32, cut to half
    field   where the ids are in the objects of a JSONL file; its lines may also be arrays
    """

    def __init__(self, path: str, format: str | None = None, number: str | None = None, field: str = "ids", highest: int = 0) -> None:
        suffix = (PurePath(path).with_suffix("") if PurePath(path).suffix in COMPRESSED else PurePath(path)).suffix[1:]
        self.path, self.number, self.field, self.highest = path, number, field, highest
        self.format = format or (suffix if suffix in ("npy", "bin", "jsonl") else "txt")
        self.source = Source(path, "lines", field)

    def place(self, document: int, at: int) -> str:
        """What messages about an id begin with."""
        line = f"line {document + 1}, " if self.format in ("jsonl", "txt") else ""
        return f"{self.path}: {line}ids[{at}]"

    def parts(self) -> Iterator[Part | None]:
        """All ids, in order; None whenever there are no more for the moment, in a pipe that is still open."""
        try:
            yield from self.of_lines() if self.format in ("jsonl", "txt") else self.of_array()
        except OSError as error:
            raise InputError(f"{self.path}: {error.strerror or error}") from None

    def of_array(self) -> Iterator[Part]:
        import numpy

        index = self.index()
        ids = self.array(index)
        ends = [len(ids)] if index is None else (end for at in range(1, len(index), MOST) for end in index[at : at + MOST].tolist())
        start = 0
        for document, end in enumerate(ends):
            for at in range(start, max(end, start + 1), MOST):
                part = numpy.asarray(ids[at : min(at + MOST, end)])
                yield Part(part, at if index is None else at - start, document, at + MOST >= end)
            start = end

    def array(self, index: npt.NDArray[np.uint64] | None) -> Any:
        """The ids, mapped where they can be."""

        if self.path == STANDARD_INPUT:
            raise InputError(f"{self.path}: {self.format} is read from a file, not from standard input")
        if PurePath(self.path).suffix in COMPRESSED:
            raise InputError(f"{self.path}: {self.format} is mapped into memory, and so must not be compressed")
        if is_index(self.path):
            raise InputError(f"{self.path}: this is an index, which says where documents begin in the file of the same name without .idx")
        ids = array_of(self.path) if self.format == "npy" else self.numbers(index)
        if ids.ndim != 1 or ids.dtype.kind not in "ui":
            raise InputError(f"{self.path}: no array of ids: {ids.dtype} {ids.shape}")
        if index is not None and int(index[-1]) != len(ids):
            raise InputError(f"{index_of(self.path)}: says {int(index[-1]):,} ids, and {self.path} has {len(ids):,}")
        return ids

    def numbers(self, index: npt.NDArray[np.uint64] | None) -> Any:
        import numpy

        size = os.path.getsize(self.path)
        number = self.number
        if number is None:
            count = None if index is None else int(index[-1])
            fitting = [name for name, kind in NUMBERS.items() if count is not None and count * int(kind[-1]) == size]
            if count is not None and size and not fitting:
                shorter = ", and so it is cut short" if size < 2 * count else ""
                raise InputError(
                    f"{self.path}: has {size:,} bytes, but {index_of(self.path)} says {count:,} ids, "
                    f"which are {2 * count:,} bytes of u16 or {4 * count:,} of u32{shorter}"
                )
            if len(fitting) != 1 and size:
                raise InputError(f"{self.path}: no index tells the size of its numbers; say --dtype u16 or --dtype u32")
            number = fitting[0] if size else "u32"
            if number == "u16" and self.highest >= 1 << 16:
                raise InputError(f"{self.path}: half of the u32 that {index_of(self.path)} says; if it is whole, and of u16, say --dtype u16")
        if size % int(NUMBERS[number][-1]):
            raise InputError(f"{self.path}: {size:,} bytes are no whole number of {number}")
        return numpy.memmap(self.path, NUMBERS[number], "r") if size else numpy.empty(0, NUMBERS[number])

    def index(self) -> npt.NDArray[np.uint64] | None:
        """Where documents begin, if there is a file that says so."""
        import numpy

        path = index_of(self.path)
        if self.path == STANDARD_INPUT or not os.path.exists(path):
            return None
        index = array_of(path)
        if index.ndim != 1 or index.dtype != numpy.uint64 or not len(index) or index[0] or (index[1:] < index[:-1]).any():
            raise InputError(f"{path}: no index: it does not rise from 0")
        return index

    def of_lines(self) -> Iterator[Part | None]:
        for first, lines in self.source.lines():
            for number, data in enumerate(lines, first):
                yield from self.of_line(number, data)
            if not lines:
                yield None

    def of_line(self, number: int, data: bytes) -> Iterator[Part]:
        import numpy

        if self.format == "jsonl" and not data.strip():  # as where texts are read
            return
        ids = self.of_json(number, data) if self.format == "jsonl" else self.of_digits(number, data)
        for at in range(0, max(len(ids), 1), MOST):
            yield Part(numpy.array(ids[at : at + MOST], numpy.int64), at, number - 1, at + MOST >= len(ids))

    def of_digits(self, number: int, data: bytes) -> list[int]:
        words = data.split()
        for word in words:
            if not word.isdigit() or len(word) > 10:
                raise self.source.error(number, f"no id: {word[:20].decode('utf-8', 'backslashreplace')!r}")
        return list(map(int, words))

    def of_json(self, number: int, data: bytes) -> list[int]:
        try:
            value = json_of(data.removeprefix(BYTE_ORDER_MARK) if number == 1 else data)
        except (ValueError, RecursionError) as error:
            told = mistake(error) if isinstance(error, (JSONDecodeError, RecursionError)) else error
            raise self.source.error(number, f"not JSON: {told}") from None
        if isinstance(value, dict):
            value = value.get(self.field)
        if not isinstance(value, list) or not all(type(one) is int and 0 <= one < 1 << 32 for one in value):
            raise self.source.error(number, f"no array of ids, nor an object with one at {self.field!r}")
        return value


def array_of(path: str) -> npt.NDArray[Any]:
    """The array of a .npy file, mapped. What numpy says where there is none is about its own options, or what it was doing."""
    import numpy

    with open(path, "rb") as file:
        known = file.read(len(NPY)) == NPY
    if known:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return numpy.load(path, mmap_mode="r", allow_pickle=False)  # type: ignore[no-any-return]
        except OSError:
            raise
        except Exception:  # the header is read as Python, where errors of all kinds may come of one wrong byte
            pass
    raise InputError(f"{path}: no array of numbers as numpy writes it, or cut short")


def is_index(path: str) -> bool:
    """Whether a file is what `outputs` writes beside ids: named so, and of numbers that ids are never written as."""
    import numpy

    if not path.endswith(".idx.npy"):
        return False
    try:
        return bool(array_of(path).dtype == numpy.uint64)
    except (OSError, InputError):
        return False
