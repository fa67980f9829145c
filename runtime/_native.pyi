"""The C loop (see generated/c/bitlex.h) as a Python type; _native.h says what it promises."""

import sys
from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias, final, overload

import numpy as np
import numpy.typing as npt

if sys.version_info >= (3, 12):
    from collections.abc import Buffer
else:
    Buffer: TypeAlias = Any

# columns, column_count, label_count, backward_next, backward_label, backward_end, forward_next, output
Stage: TypeAlias = tuple[bytes, int, int, bytes, bytes, int, bytes, bytes]

ABI: int  # of the tables and the C interface
BLOCK: int  # units lexed at a time

@final
class Offsets:
    """Native numbers, to be read and written as a buffer of their bytes."""

    def __buffer__(self, flags: int, /) -> memoryview: ...
    def __len__(self) -> int:
        """In bytes."""

@final
class Machine:
    """Tables that were checked (ValueError otherwise) and copied. Any number of threads may use one Machine.

    A text is a str, or any contiguous bytes-like object of one-byte items, which is read as UTF-8.
    """

    def __new__(
        cls, shift: int, stage1: bytes, wide: bool, stage2: bytes, cells: int, stages: tuple[Stage, ...], drops: bool,
        continuation: bytes = b"", tier: str | None = None,
    ) -> Machine: ...
    @property
    def tier(self) -> str:
        """The instructions it runs on: "portable", "neon", "avx2" or "avx512"; the argument of that name is the most that is allowed."""
    def count(self, text: str | Buffer, threads: int = 1, blocks: int = ..., /) -> int:
        """`threads` (1..1024) share a text in parts of `blocks` times BLOCK units, here and below, where it can be cut."""
    @overload
    def split(self, text: str, threads: int = 1, blocks: int = ..., /) -> list[str]: ...
    @overload
    def split(self, text: Buffer, threads: int = 1, blocks: int = ..., /) -> list[bytes]: ...
    def ends(self, text: str | Buffer, threads: int = 1, blocks: int = ..., /) -> Offsets:
        """The end of every piece: native int32 for texts below 2**31 units, else int64. Not for machines that drop."""
    def pairs(self, text: str | Buffer, threads: int = 1, blocks: int = ..., /) -> Offsets:
        """Start and end of every piece in turn, in the same number format."""
    def spans(self, text: str | Buffer, threads: int = 1, blocks: int = ..., /) -> npt.NDArray[np.signedinteger[Any]]:
        """The ends as an array; of a machine that drops, the pairs, in two columns."""
    def count_batch(self, texts: Iterable[str | Buffer], threads: int = 1, /) -> list[int]:
        """Here and below: what the method gives for each text; an exception says which text it is about."""
    @overload
    def split_batch(self, texts: Iterable[str], threads: int = 1, /) -> list[list[str]]: ...
    @overload
    def split_batch(self, texts: Iterable[Buffer], threads: int = 1, /) -> list[list[bytes]]: ...
    def ends_batch(self, texts: Iterable[str | Buffer], threads: int = 1, /) -> tuple[bytearray, list[int], bool]:
        """The ends of all texts in turn, how many each has, and whether they are int64: if any text has 2**31 units or more."""
    def pairs_batch(self, texts: Iterable[str | Buffer], threads: int = 1, /) -> tuple[bytearray, list[int], bool]: ...
    def iterate(self, text: str | Buffer, /) -> Iterator[tuple[int, int]]:
        """Start and end of every piece, found as the iteration goes, in fixed memory."""
