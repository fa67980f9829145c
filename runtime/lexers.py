"""Lexer: a text in; its pieces, their offsets or their number out. One class over two loops, native and pure, with equal results.

    lexer.split("it's")         # ["it", "'s"]
    lexer.split(b"it's")        # [b"it", b"'s"]: bytes in, bytes out, and no decoding
    lexer.spans("it's")         # array([2, 4], dtype=int32)
    lexer.count(book, threads=0)            # one long text on all cores
    lexer.split_batch(texts, threads=0)     # many texts on all cores

The native loop is the C extension, on the widest vector instructions that the processor has; without it (no compiler when bitlex
was installed) the same tables run in pure Python, hundreds of times slower. BITLEX_TIER=pure, portable, neon, avx2 or avx512 in the
environment when a lexer is made sets the most that it may use. Invariant: what a text may be is checked here,
once for both. A Lexer never changes after it is made and may be used by any number of threads.
Rejected: an object for each piece with its offsets (most callers want one or the other, and it would cost ten times the split);
one array for a whole batch and the offsets of its texts (a caller who wants that joins the arrays, and knows how).
"""

from __future__ import annotations

import os
from operator import index
from typing import TYPE_CHECKING, Any, Literal, Protocol, overload

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import TypeAlias

    import numpy as np
    import numpy.typing as npt
    from typing_extensions import Buffer

    from .explain import Explained
    from .streams import IntoStream, PieceStream, SpanStream

    Bytes: TypeAlias = Buffer | npt.NDArray[np.uint8]  # numpy says that an array is a Buffer from Python 3.12 on only
    Offsets: TypeAlias = npt.NDArray[np.signedinteger[Any]]

__all__ = ["Lexer", "wanted_tier"]

MOST_THREADS = 1024  # that the native tier starts
TIERS = ("pure", "portable", "neon", "avx2", "avx512")


class Machine(Protocol):
    """What both tiers are: `_native.Machine` and `generated.python.scan.Machine`. The native one has threads and batches, too."""

    def count(self, text: Any, /) -> int: ...
    def split(self, text: Any, /) -> list[Any]: ...
    def ends(self, text: Any, /) -> Any: ...  # a buffer
    def pairs(self, text: Any, /) -> Any: ...
    def iterate(self, text: Any, /) -> Iterator[tuple[int, int]]: ...


class Lexer:
    """Splits texts. Made by `bitlex.lexer(name)` and `bitlex.compile(pattern)`, not by calling the class.

    Every method takes a str, or UTF-8 in anything bytes-like (bytes, bytearray, memoryview, mmap, a numpy array of uint8), which
    is read in place. All take time and memory proportional to the text, whatever the text and the pattern. Anything else is a
    TypeError, and bytes with gaps between them are a BufferError; a `bytewise` lexer, which cuts inside characters, refuses a str with a
    ValueError. Bytes that are not UTF-8 are no error: each ill-formed sequence is read as one U+FFFD, and comes out as it was.

    `threads` is how many threads may work at the same time; 0: as many as this process may use cores. What comes out is the same.
    A long text is cut where a few thousand characters tell what the lexer would know there; a text where nothing tells, such as
    a gigabyte of digits, is lexed by one. Making the pieces of `split` is the work of one thread, as all making of Python objects is.
    """

    __slots__ = ("__weakref__", "_about", "_drops", "_machine", "_native", "_readable", "_tables", "_tier")

    def __init__(
        self, *, name: str, dialect: str, unicode: str, steps: Sequence[Mapping[str, Any]], cells: int,
        states: tuple[tuple[int, int], ...], tables: Mapping[str, Any], reference: str = "", source: str = "", family: bool = False,
    ) -> None:  # fmt: skip
        self._about: dict[str, Any] = {
            "name": name, "dialect": dialect, "unicode": unicode, "steps": tuple(dict(step) for step in steps), "cells": cells,
            "states": states, "reference": reference, "source": source, "family": family,
        }  # fmt: skip
        self._tables = tables
        self._machine, self._tier = make_machine(tables)
        self._native: Any = None if self._tier == "pure" else self._machine
        self._readable = readable_bytes if self.bytewise else readable
        self._drops = bool(tables["drops"])

    @overload
    def split(self, text: str, threads: int = 1) -> list[str]: ...
    @overload
    def split(self, text: Bytes, threads: int = 1) -> list[bytes]: ...
    def split(self, text: str | Bytes, threads: int = 1) -> list[str] | list[bytes]:
        """The pieces in order: str of a str, bytes of anything bytes-like. Equal pieces may be the same object."""
        units = text if type(text) is str or type(text) is bytes else self._readable(text)
        if threads != 1 and self._workers(threads) > 1:
            return self._native.split(units, self._workers(threads))  # type: ignore[no-any-return]
        return self._machine.split(units)

    @overload
    def split_batch(self, texts: Iterable[str], threads: int = 1) -> list[list[str]]: ...
    @overload
    def split_batch(self, texts: Iterable[Bytes], threads: int = 1) -> list[list[bytes]]: ...
    @overload
    def split_batch(self, texts: Iterable[str | Bytes], threads: int = 1) -> list[list[str] | list[bytes]]: ...
    def split_batch(self, texts: Iterable[Any], threads: int = 1) -> list[Any]:
        """`[lexer.split(text) for text in texts]`, with less to do for each. What is no text is named by its index."""
        workers = self._workers(threads)
        if self._native is None:
            return [self._machine.split(text) for text in self._all_readable(texts)]
        return self._native.split_batch(texts, workers)  # type: ignore[no-any-return]

    @overload
    def iterate(self, text: str) -> Iterator[str]: ...
    @overload
    def iterate(self, text: Bytes) -> Iterator[bytes]: ...
    def iterate(self, text: str | Bytes) -> Iterator[str] | Iterator[bytes]:
        """The pieces one by one: for texts whose pieces would not all fit in memory at once."""
        units = self._readable(text)
        spans = self._machine.iterate(units)
        if isinstance(units, memoryview):
            return (bytes(units[start:end]) for start, end in spans)
        return (units[start:end] for start, end in spans)

    def spans(self, text: str | Bytes, threads: int = 1) -> Offsets:
        """Where the pieces lie, as a numpy array, without an object for each.

        Where the pieces tile the text (`drops` is False), shape (n,): the end of each piece, which is the start of the next.
        Where text may be dropped between pieces (`drops` is True), shape (n, 2): the start and the end of each piece.
        Offsets count characters (code points) of a str and bytes of anything else; the type is int32, or int64 for texts of
        2**31 units and more.
        """
        units = text if type(text) is str or type(text) is bytes else self._readable(text)
        if threads != 1 and self._workers(threads) > 1:
            return self._native.spans(units, self._workers(threads))  # type: ignore[no-any-return]
        if self._native is not None:
            return self._native.spans(units)  # type: ignore[no-any-return]
        return as_array(self._machine.pairs(units) if self._drops else self._machine.ends(units), len(units) >= 1 << 31, self._drops)

    def spans_batch(self, texts: Iterable[str | Bytes], threads: int = 1) -> list[Offsets]:
        """`[lexer.spans(text) for text in texts]`, in less than half the time. What is no text is named by its index.

        The arrays are slices of one, which lives as long as any of them.
        """
        workers, drops = self._workers(threads), self._drops
        if self._native is None:
            return [self.spans(text) for text in self._all_readable(texts)]
        texts = tuple(texts_of(texts))
        offsets, counts, wide = self._native.pairs_batch(texts, workers) if drops else self._native.ends_batch(texts, workers)
        whole = as_array(offsets, wide, drops)
        found: list[Offsets] = []
        start = 0
        for count in counts:
            found.append(whole[start : start + count])
            start += count
        if wide:  # one text was that long
            found = [one if size_of(text) >= 1 << 31 else one.astype("int32") for one, text in zip(found, texts, strict=True)]
        return found

    def count(self, text: str | Bytes, threads: int = 1) -> int:
        """How many pieces there are: `len(lexer.split(text))`, without making them."""
        units = text if type(text) is str or type(text) is bytes else self._readable(text)
        if threads != 1 and self._workers(threads) > 1:
            return self._native.count(units, self._workers(threads))  # type: ignore[no-any-return]
        return self._machine.count(units)

    def count_batch(self, texts: Iterable[str | Bytes], threads: int = 1) -> list[int]:
        """`[lexer.count(text) for text in texts]`, with less to do for each. What is no text is named by its index."""
        workers = self._workers(threads)
        if self._native is None:
            return [self._machine.count(text) for text in self._all_readable(texts)]
        return self._native.count_batch(texts, workers)  # type: ignore[no-any-return]

    @overload
    def stream(self, *, spans: Literal[False] = False, hold: int | None = ..., into: None = ...) -> PieceStream: ...
    @overload
    def stream(self, *, spans: Literal[True], hold: int | None = ..., into: None = ...) -> SpanStream: ...
    @overload
    def stream(self, *, spans: bool, hold: int | None = ..., into: None = ...) -> PieceStream | SpanStream: ...
    @overload
    def stream(self, *, spans: Literal[True], hold: int | None = ..., into: Buffer | npt.NDArray[np.int64]) -> IntoStream: ...
    def stream(
        self, *, spans: bool = False, hold: int | None = None, into: Buffer | npt.NDArray[np.int64] | None = None
    ) -> PieceStream | SpanStream | IntoStream:
        """For a text that comes in parts, however it is cut: feed it, and have its pieces, or `spans`, as soon as they are settled.

        `hold`: how much it may hold that is not settled, 16 Mi if nothing else is said, less than 1 Gi: places where a piece may start, of
        which there are two at most with most patterns; and characters or bytes of the piece at hand, but not for spans. What would need
        more is a ValueError. docs/streams.md tells what each family holds.

        `into`: an array of int64 in which `spans` are put, from its start on, so that nothing is allocated for each part. What is given is
        how many there are; where that is as many as there is room for, `stream.more()` puts those there that follow.
        """
        from .streams import IntoStream, PieceStream, SpanStream, hold_of, make_stream

        if into is not None and not spans:
            raise ValueError("pieces cannot be put in an array: into= goes with spans=True")
        made = make_stream(self, hold_of(hold), not spans, into)
        if into is not None:
            return IntoStream(made, into)
        return SpanStream(made) if spans else PieceStream(made)

    def _workers(self, threads: int) -> int:
        """How many threads that is here. The pure tier has one: it would hold the interpreter's lock all the time."""
        workers = workers_of(threads)
        return 1 if self._native is None else workers

    def _all_readable(self, texts: Iterable[Any]) -> list[Any]:
        """The texts of a batch as both tiers read them; what is none is named by its index, as the native tier does."""
        units: list[Any] = []
        for number, text in enumerate(texts_of(texts)):
            try:
                units.append(self._readable(text))
            except (TypeError, ValueError, BufferError) as error:
                raise type(error)(f"texts[{number}]: {error}") from None
        return units

    def explain(self, text: str | Bytes) -> list[Explained]:
        """For people: which step, and which alternative of its pattern, made each piece of the text.

        Runs the pattern itself, slowly; meant for texts that fit on a screen. ValueError for a `bytewise` lexer.
        """
        from .explain import explain

        return explain(self, self._readable(text))

    @property
    def name(self) -> str:
        """The name of the family, or the one given to `compile`."""
        return str(self._about["name"])

    @property
    def pattern(self) -> str:
        """The regular expression where the lexer is one; else its steps in words."""
        steps = self._about["steps"]
        if len(steps) == 1 and steps[0].get("regex") is not None:
            return str(steps[0]["regex"])
        return " then ".join(describe(step) for step in steps) or "the whole text"

    @property
    def steps(self) -> tuple[dict[str, Any], ...]:
        """What is done to a text, in order: the kind of each step and those of its options that are not the default."""
        return tuple(dict(step) for step in self._about["steps"])

    @property
    def unicode(self) -> str:
        """The Unicode version of its character properties, such as "16.0"."""
        return str(self._about["unicode"])

    @property
    def dialect(self) -> str:
        """Whose reading of the pattern this is: "fancy" (tiktoken), "oniguruma" (Hugging Face tokenizers) or "python"."""
        return str(self._about["dialect"])

    @property
    def reference(self) -> str:
        """The engine that a family splits like, with its version; "" for a compiled pattern."""
        return str(self._about["reference"])

    @property
    def source(self) -> str:
        """Where the pattern of a family is published; "" for a compiled pattern."""
        return str(self._about["source"])

    @property
    def cells(self) -> int:
        """How many kinds of code points the lexer tells apart."""
        return int(self._about["cells"])

    @property
    def states(self) -> tuple[tuple[int, int], ...]:
        """The size of its machine: for each stage, the states of the backward and of the forward automaton."""
        return tuple(self._about["states"])

    @property
    def drops(self) -> bool:
        """Whether some text may belong to no piece. Decides the shape of `spans`."""
        return self._drops

    @property
    def bytewise(self) -> bool:
        """Whether it cuts inside characters, and so reads bytes only: where steps follow a ByteLevel, as in falcon."""
        return bool(self._tables.get("continuation"))

    @property
    def tier(self) -> str:
        """What it runs on: "avx512", "avx2", "neon" (vector instructions), "portable" (C), or "pure" (Python). The pieces are the same."""
        return self._tier

    def __repr__(self) -> str:
        return f"<bitlex.Lexer {self.name}: {self.dialect}, Unicode {self.unicode}, {self.tier}>"

    def __reduce__(self) -> tuple[Any, ...]:
        if self._about["family"]:
            from .catalogue import lexer

            return lexer, (self.name,)
        return restore, self._parts

    @property
    def _parts(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """What `restore` makes it of, without compiling: values that anything can write."""
        return self._about, dict(self._tables)


def restore(about: dict[str, Any], tables: dict[str, Any]) -> Lexer:
    """A compiled lexer of its parts, which may have lists for tuples."""
    stages = tuple(map(tuple, tables["stages"]))
    return Lexer(**about | {"states": tuple(map(tuple, about["states"]))}, tables=tables | {"stages": stages})


def as_array(offsets: Any, wide: bool, pairs: bool) -> Offsets:
    """The offsets of 32 bits, or of 64, not copied."""
    import numpy

    found: Offsets = numpy.frombuffer(offsets, numpy.int64 if wide else numpy.int32)
    return found.reshape(-1, 2) if pairs else found


def cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def workers_of(threads: int) -> int:
    """How many threads that is."""
    try:
        wanted = index(threads)
    except TypeError:
        raise TypeError(f"threads is {threads!r}; it may be 0, for as many as there are cores, or how many") from None
    if wanted < 0:
        raise ValueError(f"threads is {wanted}; it may be 0, for as many as there are cores, or how many")
    return min(wanted or cores(), MOST_THREADS)


def size_of(text: Any) -> int:
    """How many units a text has."""
    return len(text) if isinstance(text, (str, bytes)) else memoryview(text).nbytes


def texts_of(texts: Iterable[Any]) -> Iterator[Any]:
    """Those of a batch; one text is none, though one can iterate over it."""
    if is_one(texts):
        raise TypeError(f"expected a list of texts, got one {type(texts).__name__}")
    return each_of(texts, "texts")


def each_of(given: Any, what: str) -> Iterator[Any]:
    """An iterator, for which it is asked but once, as there may be no other."""
    try:
        return iter(given)
    except TypeError as error:
        raise TypeError(f"expected a list of {what}, got {type(given).__name__}") from error


def is_one(given: Any) -> bool:
    """Whether it is a str, or has a buffer that is no array of str: a text, if it is read at all, and no batch."""
    if isinstance(given, str):
        return True
    try:
        view = memoryview(given)
    except TypeError:
        return False
    except ValueError:  # numpy gives no buffer of str of any length, nor of dates, which are no texts
        return getattr(getattr(given, "dtype", None), "kind", "") != "T"
    return view.format[-1:] not in ("O", "w")


def readable(text: Any) -> Any:
    """The text as both tiers read it: str and bytes as they are, everything else as a flat view of its bytes."""
    if isinstance(text, (str, bytes)):
        return text
    try:
        view = memoryview(text)
    except TypeError:
        raise TypeError(f"expected str or a bytes-like object, got {type(text).__name__}") from None
    except ValueError as error:
        raise TypeError(f"{type(text).__name__} cannot be read: {error}") from None
    if view.itemsize != 1:
        raise TypeError(f"expected str or a bytes-like object, got {type(text).__name__} with items of {view.itemsize} bytes")
    if not view.c_contiguous:
        raise BufferError(f"expected bytes that lie side by side, got {type(text).__name__} with gaps; give a copy of it")
    return view.cast("B") if view.nbytes else b""


def readable_bytes(text: Any) -> Any:
    """The text of a bytewise lexer."""
    if isinstance(text, str):
        raise ValueError("this lexer cuts inside characters, so it reads bytes: encode the text as UTF-8")
    return readable(text)


def wanted_tier() -> str | None:
    """The most that a lexer may use, by BITLEX_TIER; None: whatever there is."""
    wanted = os.environ.get("BITLEX_TIER") or None
    if wanted is not None and wanted not in TIERS:
        raise ValueError(f"BITLEX_TIER is {wanted!r}; it may be {', '.join(TIERS)}")
    return wanted


def make_machine(tables: Mapping[str, Any]) -> tuple[Machine, str]:
    wanted = wanted_tier()
    if wanted != "pure":
        try:
            from ._native import Machine as Native
        except ImportError:  # installed where no C compiler was
            pass
        else:
            made = Native(**tables, tier=wanted)
            return made, made.tier
    from .generated.python.scan import Machine as Pure

    return Pure(**tables), "pure"


def describe(step: Mapping[str, Any]) -> str:
    options = ", ".join(f"{key}={value!r}" for key, value in step.items() if key != "kind")
    return f"{step['kind']}({options})"
