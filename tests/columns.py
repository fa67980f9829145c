"""A column of Arrow made by hand, by the C data interface: for what pyarrow does not make, and where it is not installed.

    Column("u", [[b"one", None], [b"two"]]).exports()            # a stream of two arrays
    Column("vu", [[b"one"]], one=True).exports()                 # one array
"""

from __future__ import annotations

import ctypes
from array import array as numbers
from collections.abc import Sequence
from typing import Any

__all__ = ["Column"]

POINTER, LONG, TEXT = ctypes.c_void_p, ctypes.c_int64, ctypes.c_char_p
RELEASE, GET, ERROR = ctypes.CFUNCTYPE(None, POINTER), ctypes.CFUNCTYPE(ctypes.c_int, POINTER, POINTER), ctypes.CFUNCTYPE(POINTER, POINTER)
new_capsule = ctypes.pythonapi.PyCapsule_New
new_capsule.restype, new_capsule.argtypes = ctypes.py_object, [POINTER, TEXT, POINTER]


class Schema(ctypes.Structure):
    _fields_ = [
        ("format", TEXT), ("name", TEXT), ("metadata", TEXT), ("flags", LONG), ("child_count", LONG), ("children", POINTER), ("dictionary", POINTER),
        ("release", RELEASE), ("own", POINTER),
    ]  # fmt: skip


class Array(ctypes.Structure):
    _fields_ = [
        ("length", LONG), ("null_count", LONG), ("offset", LONG), ("buffer_count", LONG), ("child_count", LONG), ("buffers", POINTER),
        ("children", POINTER), ("dictionary", POINTER), ("release", RELEASE), ("own", POINTER),
    ]  # fmt: skip


class Stream(ctypes.Structure):
    _fields_ = [("get_schema", GET), ("get_next", GET), ("get_last_error", ERROR), ("release", RELEASE), ("own", POINTER)]


class Column:
    """Chunks of rows in a layout: "u" or "z", "U" or "Z", "vu" or "vz". It keeps all that it exports."""

    def __init__(self, format: str, chunks: Sequence[Sequence[bytes | None]], *, skip: int = 0, fails: tuple[int, int, bytes | None] | None = None) -> None:
        """`skip`: so many rows of each chunk are there and do not count. `fails`: at which chunk, with which number and reason."""
        self.format, self.chunks, self.skip, self.fails = format.encode(), chunks, skip, fails
        self.kept: list[Any] = []
        self.opened = self.asked = 0
        self.wrong: dict[int, int] = {}  # what stands at a place of the numbers of a chunk instead
        self.dictionary = 0
        self.null_count = -1

    def released(self, kind: Any) -> Any:
        def release(at: int) -> None:
            self.opened -= 1
            kind.from_address(at).release = RELEASE()

        self.kept.append(RELEASE(release))
        return self.kept[-1]

    def buffer(self, data: Any) -> int:
        kept = ctypes.create_string_buffer(bytes(data), max(len(bytes(data)), 1))
        self.kept.append(kept)
        return ctypes.addressof(kept)

    def schema(self) -> Schema:
        self.opened += 1
        return Schema(self.format, b"", None, 2, 0, None, self.dictionary, self.released(Schema), None)

    def array(self, rows: Sequence[bytes | None]) -> Array:
        rows = [b"not here"] * self.skip + [*rows]
        there = [self.buffer(sum(1 << at for at, row in enumerate(rows) if row is not None).to_bytes(len(rows) // 8 + 1, "little"))]
        if self.format.startswith(b"v"):
            buffers = [*there, *self.views([row or b"" for row in rows])]
        else:
            ends = numbers("i" if self.format in (b"u", b"z") else "q", [0])
            for row in rows:
                ends.append(ends[-1] + len(row or b""))
            for at, wrong in self.wrong.items():
                ends[at] = wrong
            buffers = [*there, self.buffer(ends), self.buffer(b"".join(row or b"" for row in rows))]
        pointers = (POINTER * len(buffers))(*buffers)
        self.kept.append(pointers)
        self.opened += 1
        return Array(
            len(rows) - self.skip, self.null_count, self.skip, len(buffers), 0, ctypes.addressof(pointers), None, None, self.released(Array), None
        )  # fmt: skip

    def views(self, rows: list[bytes]) -> list[int]:
        """Those that are long lie in two buffers, by turns."""
        data, views = [b"", b""], numbers("i")
        for at, row in enumerate(rows):
            if len(row) <= 12:
                views.frombytes(len(row).to_bytes(4, "little") + row.ljust(12, b"\0"))
                continue
            views.extend([len(row), 0, at % 2, len(data[at % 2])])
            data[at % 2] += row
        for at, wrong in self.wrong.items():
            views[at] = wrong
        return [self.buffer(views), *map(self.buffer, data), self.buffer(numbers("q", map(len, data)))]

    def capsule(self, name: bytes, made: Any) -> Any:
        self.kept += [name, made]
        return new_capsule(ctypes.addressof(made), name, None)

    def exports(self, one: bool = False) -> Any:
        """What has the method of an array, of the first chunk, or that of a stream."""
        if one:
            return type("OneArray", (), {"__arrow_c_array__": lambda _: self.pair()})()
        return type("Arrays", (), {"__arrow_c_stream__": lambda _: self.stream()})()

    def exports_one(self) -> Any:
        """The same, but what it exports is made now, and is the same each time."""
        pair = self.pair()
        return type("Made", (), {"__arrow_c_array__": lambda _: pair, "column": self})()

    def pair(self) -> tuple[Any, Any]:
        """Who leaves them in their capsules leaves it to these to release them, which these do not: they stay open."""
        return self.capsule(b"arrow_schema", self.schema()), self.capsule(b"arrow_array", self.array(self.chunks[0]))

    def stream(self) -> Any:
        self.asked = 0

        def put(made: Any, to: int) -> int:
            ctypes.memmove(to, ctypes.addressof(made), ctypes.sizeof(made))
            self.kept.append(made)
            return 0

        def get_next(_: int, to: int) -> int:
            at, self.asked = self.asked, self.asked + 1
            if self.fails is not None and at == self.fails[0]:
                return self.fails[1]
            return put(self.array(self.chunks[at]), to) if at < len(self.chunks) else put(Array(), to)

        def get_schema(_: int, to: int) -> int:
            return self.fails[1] if self.fails is not None and self.fails[0] < 0 else put(self.schema(), to)

        reason = None if self.fails is None or self.fails[2] is None else self.buffer(self.fails[2] + b"\0")
        functions = GET(get_schema), GET(get_next), ERROR(lambda _: reason), self.released(Stream)
        self.kept.append(functions)
        return self.capsule(b"arrow_array_stream", Stream(*functions, None))
