"""The C loop (see generated/c/bitlex.h) as a Python type; _native.c says what it promises."""

import sys
from collections.abc import Iterator
from typing import Any, TypeAlias, final, overload

if sys.version_info >= (3, 12):
    from collections.abc import Buffer
else:
    Buffer: TypeAlias = Any

# columns, column_count, label_count, backward_next, backward_label, backward_end, forward_next, output
Stage: TypeAlias = tuple[bytes, int, int, bytes, bytes, int, bytes, bytes]

ABI: int  # of the tables and the C interface
BLOCK: int  # units lexed at a time

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
    def count(self, text: str | Buffer, /) -> int: ...
    @overload
    def split(self, text: str, /) -> list[str]: ...
    @overload
    def split(self, text: Buffer, /) -> list[bytes]: ...
    def ends(self, text: str | Buffer, /) -> bytearray:
        """The end of every piece: native int32 for texts below 2**31 units, else int64. Not for machines that drop."""
    def pairs(self, text: str | Buffer, /) -> bytearray:
        """Start and end of every piece in turn, in the same number format."""
    def iterate(self, text: str | Buffer, /) -> Iterator[tuple[int, int]]:
        """Start and end of every piece, found as the iteration goes, in fixed memory."""
