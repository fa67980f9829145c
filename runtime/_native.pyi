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

@final
class Specials:
    """Special tokens, to be found in texts: {bytes: id}. Of two that start at a place, the longer is found."""

    def __new__(cls, tokens: dict[bytes, int]) -> Specials: ...
    def find(self, text: str | Buffer, start: int, /) -> tuple[int, int, int] | None:
        """The first one from there on: where it starts and ends in the UTF-8 of the text, and its id."""

@final
class Encoder:
    """A vocabulary and a machine; its tables are checked (ValueError otherwise) and copied, those of an image used where they are.

    `decoded` are the bytes of ids that the vocabulary does not have, or has otherwise; `special`: which are left out by
    `skip`. Any number of threads may use one Encoder.
    A text is as of Machine; `threads` (1..1024) share one in parts of `blocks` times BLOCK units; 0: where that is worth it.
    """

    @overload
    def __new__(
        cls, machine: Machine, decoded: dict[int, bytes], blob: Buffer, starts: Buffer, merges: Buffer | None = None, whole: bool = True,
        *, special: tuple[int, ...] = (),
    ) -> Encoder: ...
    @overload
    def __new__(cls, machine: Machine, decoded: dict[int, bytes], *, image: Buffer, special: tuple[int, ...] = ()) -> Encoder: ...
    def encode(
        self, text: str | Buffer, allowed: Specials | None, disallowed: Specials | None, threads: int = 1, blocks: int = 0, /
    ) -> list[int]: ...
    def encode_to_numpy(
        self, text: str | Buffer, allowed: Specials | None, disallowed: Specials | None, threads: int = 1, blocks: int = 0, /
    ) -> npt.NDArray[np.uint32]: ...
    def encode_with_offsets(
        self, text: str | Buffer, allowed: Specials | None, disallowed: Specials | None, threads: int = 1, blocks: int = 0, /
    ) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.int64]]:
        """The ids, and start and end of each in turn: in characters of a str, bytes of anything else."""
    def count(
        self, text: str | Buffer, allowed: Specials | None, disallowed: Specials | None, threads: int = 1, blocks: int = 0, /
    ) -> int: ...
    def encode_batch(
        self, texts: Iterable[str | Buffer], allowed: Specials | None, disallowed: Specials | None, threads: int = 1, blocks: int = 0, /
    ) -> list[list[int]]: ...
    def encode_batch_to_numpy(
        self, texts: Iterable[str | Buffer], allowed: Specials | None, disallowed: Specials | None, threads: int = 1, blocks: int = 0, /
    ) -> list[npt.NDArray[np.uint32]]: ...
    def count_batch(
        self, texts: Iterable[str | Buffer], allowed: Specials | None, disallowed: Specials | None, threads: int = 1, blocks: int = 0, /
    ) -> list[int]: ...
    def merge(self, piece: str | Buffer, method: str, /) -> list[int]:
        """The ids of one piece by merging alone: "automatic", "sweep", "heap", "windows", "backtrack" or "prefixes"."""
    def in_order(self) -> bool:
        """Whether merges happen in the order of their ranks. Where they do not, "backtrack" and "prefixes" are "heap"."""
    def refuse(self, text: str | Buffer, disallowed: Specials, /) -> None:
        """ValueError if the text has one of these."""
    def specials(self, tokens: dict[bytes, int], /) -> Specials: ...
    def decode(self, ids: Any, skip: bool = False, /) -> bytes:
        """Of a sequence of ints, or an array of integers. KeyError for an id that is none."""
    def decode_text(self, ids: Any, errors: str, skip: bool, /) -> str:
        """`decode(ids, skip).decode("utf-8", errors)`, faster."""
    def decode_batch(self, batch: Iterable[Any], errors: str, threads: int, skip: bool, /) -> list[str]: ...
    def ends(self, ids: Any, /) -> list[int]:
        """Where the bytes of each id end, in those of all."""
    def token(self, id: int, /) -> bytes: ...
    def find(self, token: str | Buffer, /) -> int | None:
        """The id of a token of the vocabulary."""
    def image(self) -> bytes:
        """The tables, for the argument of that name, of this kind of machine."""

def checksum(buffer: Buffer, /) -> int:
    """For noticing that a file is not as it was written."""

def parse_merges(blob: Buffer, starts: Buffer, alphabet: str, merges: list[Any], /) -> bytes | None:
    """Left, right and made of each merge of a tokenizer.json, uint32; None unless all is as it should be."""
def parse_ranks(data: Buffer, /) -> tuple[bytes, bytes] | None:
    """The blob and the starts of a rank file that is as it should be; None for any other."""
