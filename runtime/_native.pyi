"""The C loop (see generated/c/bitlex.h) as a Python type; _native.h says what it promises."""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, SupportsIndex, TypeAlias, final, overload

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
    def ends_batch(self, texts: Iterable[str | Buffer], threads: int = 1, /) -> tuple[Buffer, list[int], bool]:
        """The ends of all texts in turn, how many each has, and whether they are int64: if any text has 2**31 units or more."""
    def pairs_batch(self, texts: Iterable[str | Buffer], threads: int = 1, /) -> tuple[Buffer, list[int], bool]: ...
    def iterate(self, text: str | Buffer, /) -> Iterator[tuple[int, int]]:
        """Start and end of every piece, found as the iteration goes, in fixed memory."""

@final
class Specials:
    """Special tokens, to be found in texts: {bytes: id}. Of two that start at a place, the longer is found."""

    def __new__(cls, tokens: dict[bytes, int]) -> Specials: ...
    def find(self, text: str | Buffer, start: int, /) -> tuple[int, int, int] | None:
        """The first one from there on: where it starts and ends in the UTF-8 of the text, and its id."""
    def first_in(self, texts: list[Any], at: int, /) -> int:
        """Of the texts of a list, from one on, the first that has one of these, or is no text; how many there are, if none has."""

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
    def encode_into(
        self, text: str | Buffer, out: Buffer, allowed: Specials | None, disallowed: Specials | None, threads: int = 1, blocks: int = 0, /
    ) -> int: ...
    def encode_with_offsets(
        self, text: str | Buffer, allowed: Specials | None, disallowed: Specials | None, threads: int = 1, blocks: int = 0, /
    ) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.int64]]:
        """The ids, and start and end of each in turn: in characters of a str, bytes of anything else."""
    def encode_words(
        self, text: str | Buffer | list[str] | tuple[str, ...], /
    ) -> tuple[list[int], list[tuple[int, int]], list[int], int]:
        """The ids, start and end of each, the piece that each is of, and how many pieces there are. Words are a piece each, with places of
        their own."""
    def count(
        self, text: str | Buffer, allowed: Specials | None, disallowed: Specials | None, threads: int = 1, blocks: int = 0, /
    ) -> int: ...
    def encode_window(
        self, text: Buffer, allowed: Specials | None, disallowed: Specials | None, threads: int, blocks: int, counting: bool, base: int,
        goes_on: bool, begun: tuple[int, int, int] | None, /,
    ) -> tuple[npt.NDArray[np.uint32] | int, int, tuple[int, int, int] | None]: ...  # fmt: skip
    def encode_batch(
        self, texts: Iterable[str | Buffer], allowed: Specials | None, disallowed: Specials | None, threads: int = 1, blocks: int = 0, /
    ) -> list[list[int]]: ...
    def encode_batch_to_numpy(
        self, texts: Iterable[str | Buffer], allowed: Specials | None, disallowed: Specials | None, threads: int = 1, blocks: int = 0, /
    ) -> list[npt.NDArray[np.uint32]]: ...
    def encode_batch_flat(
        self, texts: Iterable[str | Buffer], allowed: Specials | None, disallowed: Specials | None, threads: int = 1,
        before: tuple[int, ...] = (), behind: tuple[int, ...] = (), /,
    ) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.int64]]:
        """The ids of all texts, each with those before and behind, and where each begins, with the end of the last."""
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
    def tokens(self, ids: Any, /) -> list[bytes]:
        """The bytes of each id."""
    def token(self, id: int, /) -> bytes: ...
    def find(self, token: str | Buffer, /) -> int | None:
        """The id of a token of the vocabulary."""
    def image(self) -> memoryview:
        """A view of the tables, for the argument of that name, of this kind of machine."""
    def places(self) -> tuple[int, int]:
        """Where in the image the bytes of all tokens are, and where their starts."""

@final
class Stream:
    """A text in parts: its `pieces`; or their ends, or starts and ends of a machine that drops, int64. At most `hold` places are undecided, and
    `hold` units of a piece are held. RuntimeError where another thread is using it. Into an array of int64: their number, and more()
    puts there what it had no room for."""

    def __new__(cls, machine: Machine, hold: int, pieces: bool = False, into: Buffer | None = None) -> Stream: ...
    def feed(self, part: str | Buffer, /) -> Any: ...
    def finish(self) -> Any: ...
    def more(self) -> int: ...
    def reset(self) -> None: ...
    def copy(self) -> Stream: ...

@final
class TokenStream:
    """A text in parts: its ids. `result`: 0 lists, 1 arrays of uint32, 2 these and start and end of each in turn, in bytes of the text,
    3 how many are in `into`, and more() puts there what it had no room for.

    `normalize` is given bytes that may not be in NFC, where they begin in the normalized text, and whether they can be cut off behind: it gives
    them in NFC, or a beginning of them, and how many bytes that was.
    """

    def __new__(
        cls, encoder: Encoder, allowed: Specials | None, disallowed: Specials | None, hold: int, result: int,
        normalize: Callable[[bytes, int, bool], tuple[bytes, int]] | None = None, into: Buffer | None = None,
    ) -> TokenStream: ...  # fmt: skip
    def feed(self, part: str | Buffer, /) -> Any: ...
    def finish(self) -> Any: ...
    def more(self) -> int: ...
    def reset(self) -> None: ...
    def copy(self, normalize: Callable[[bytes, int, bool], tuple[bytes, int]] | None = ..., /) -> TokenStream: ...
    @property
    def size(self) -> int:
        """The bytes of memory that it takes."""

@final
class DecodeStream:
    """Ids in parts: their text, up to the last character that is complete. `skip`: without special tokens."""

    def __new__(cls, encoder: Encoder, errors: str, skip: bool) -> DecodeStream: ...
    def feed(self, ids: SupportsIndex | Sequence[int] | Buffer, /) -> str: ...
    def finish(self) -> str: ...
    def reset(self) -> None: ...
    def copy(self) -> DecodeStream: ...

@final
class Direct:
    """What DirectMethods of an object go to: runtime/calling.py says what it is made of."""

    def __new__(
        cls, encoder: Encoder, allowed: Specials | None, disallowed: Specials | None, policies: dict[Any, tuple[Specials | None, Specials | None]],
        unsaid: tuple[Any, Any] = (None, None), around: tuple[tuple[int, ...], tuple[int, ...]] = ((), ()), nfc: bool = False, strict: bool = False,
        again: bool = False, prefix: bool = False,
    ) -> Direct: ...  # fmt: skip

@final
class DirectMethod:
    """A method, encode, encode_ordinary, encode_to_numpy, encode_into, encode_with_offsets or count, that goes to the Direct in `_direct` of its
    object where it is given what it needs and nothing unusual."""

    def __new__(cls, function: Callable[..., Any]) -> DirectMethod: ...
    def __call__(self, *arguments: Any, **named: Any) -> Any: ...

def arrow_texts(column: Any, /) -> list[bytes] | None:
    """The texts of what exports an Arrow array, or a stream of them; None if it exports neither, or no texts, or if a row has none."""

def in_nfc(text: str | Buffer, /) -> bool:
    """Whether NFC, that of Unicode 9.0, changes nothing; False as well where that is in doubt, and of what is no text."""

def first_in_doubt(texts: list[Any], at: int, /) -> int:
    """Of the texts of a list, from one on, the first for which `in_nfc` is not true; how many there are, if it is of all."""

def doubtful(text: str, /) -> list[tuple[int, int]]:
    """From where to where NFC may change something: each place can be normalized by itself, and nothing is changed elsewhere."""

def checksum(buffer: Buffer, /) -> int:
    """For noticing that a file is not as it was written."""

def read_model(
    data: Buffer, alphabet: str, /
) -> tuple[tuple[int, int, int, int], bytes, bytes, list[tuple[int, bytes]], bytes, bytes, int] | None:
    """Of a tokenizer.json: from where to where the vocabulary of its model is, and its merges; the bytes of all tokens in order of their ids, and
    where each begins, uint32; those that are not of the alphabet, as JSON; left, right and made of each merge, uint32; a table for `find_tokens`;
    how many tokens there are. None unless all is as it should be."""

def find_tokens(blob: Buffer, starts: Buffer, table: Buffer, alphabet: str, names: list[str], /) -> list[int]:
    """The ids of tokens by what they are called in the alphabet; -1 of any other name. ValueError for a table that is not theirs."""

def parse_ranks(data: Buffer, /) -> tuple[bytes, bytes] | None:
    """The blob and the starts of a rank file that is as it should be; None for any other."""

@final
class Counter:
    """Counts the distinct pieces that a machine cuts texts to. `key`: 16 random bytes. One call at a time.

    From `limit` bytes on, 0 being none, tables are written to `file`, an open one of the system, as runs. `place`: bytes of texts before.
    """

    place: int  # bytes of all texts that were counted
    ends: list[int]  # where each run ends that was written, from where the file was at first
    def __new__(cls, machine: Machine, key: bytes, limit: int = 0, file: int = -1, place: int = 0) -> Counter: ...
    def add(self, texts: Iterable[str | Buffer], threads: int = 1, blocks: int = 0, /) -> None:
        """Count the pieces of texts, by as many threads; long ones in parts of `blocks` times BLOCK units and more, 0: as it is worth it."""
    def add_part(self, text: str | Buffer, threads: int, blocks: int, mapped: bool, start: int, size: int, /) -> int:
        """Count the pieces of a text from `start` on, where one ends, up to some place behind so many bytes: where the last one ends.

        The next call of all begins there, until it is the end of the text. `mapped`: it is a map of a file, whose pages are let go then.
        """
    def add_counted(self, pieces: Buffer, lengths: Buffer, counts: Buffer, text: int, /) -> None:
        """Count what `finish` gave of other texts, of so many bytes or characters, as if these stood here."""
    def spill(self, by_place: bool, /) -> None:
        """Write all that was counted as runs, in order of hashes, which go with the key, or of places; and keep nothing."""
    def open(self, runs: Buffer, ends: Sequence[int], mapped: bool, /) -> None:
        """Have runs to read, all in one order. `mapped`: a map of a file, whose pages are let go when they were read."""
    def read(self, limit: int, /) -> bool:
        """Count what runs in order of hashes have, until that is `limit` bytes of memory or more, 0 being none: whether there is more."""
    def take(self, size: int, /) -> tuple[bytes, bytes, bytes]:
        """The next pieces of runs in order of places, some so many bytes of them, as `finish` gives them; none at the end."""
    def memory(self) -> int:
        """Bytes in use, and of what is needed beside to put it in order."""
    def finish(self) -> tuple[bytes, bytes, bytes]:
        """Distinct pieces side by side, in the order in which they were met, their lengths (uint32) and counts (uint64). It ends counting."""

@final
class Merger:
    """Learns merges from pieces, which start as the tokens of an encoder. New tokens get ids from `first_id` on, below `ids`.

    Of equally frequent pairs, `smaller_first` takes the one of smaller ids, else the one that comes first. No token has more than
    `longest` bytes, no pair is merged that occurs less than `least` times. One call at a time.
    """

    def __new__(cls, encoder: Encoder, smaller_first: bool, first_id: int, ids: int, longest: int, least: int) -> Merger: ...
    @staticmethod
    def needs(pieces: int, size: int, /) -> int:
        """How much memory so many pieces of so many bytes take."""
    def lend(self, memory: Buffer, /) -> None:
        """Have the pieces in it, which is as large as needed; a file may lie behind it. It stays with the merger, and is written to."""
    def add(self, pieces: Buffer, lengths: Buffer, counts: Buffer, /) -> None:
        """Add pieces as `Counter.finish` gives them; bytes that are no token are left out."""
    def run(self, most: int, work: int, /) -> bool:
        """Merge up to so many pairs, or until so many places were looked at: whether there may be more."""
    def merges(self, start: int = 0, /) -> tuple[bytes, bytes]:
        """Of each merge from there on, the ids of both tokens and of what they make (uint32), and how often the pair was there (uint64)."""
    def memory(self) -> int:
        """Bytes in use."""
