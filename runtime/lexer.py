"""Lexer: a text in; its pieces, their offsets or their number out. One class over two loops, native and pure, with equal results.

    lexer.split("it's")         # ["it", "'s"]
    lexer.split(b"it's")        # [b"it", b"'s"]: bytes in, bytes out, and no decoding
    lexer.spans("it's")         # array([2, 4], dtype=int32)

The native loop is the C extension, on the widest vector instructions that the processor has; without it (no compiler when bitlex
was installed) the same tables run in pure Python, hundreds of times slower. BITLEX_TIER=pure, portable, neon, avx2 or avx512 in the
environment when a lexer is made sets the most that it may use. Invariant: what a text may be is checked here,
once for both. A Lexer never changes after it is made and may be used by any number of threads.
Rejected: an object for each piece with its offsets (most callers want one or the other, and it would cost ten times the split).
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Protocol, overload

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import TypeAlias

    import numpy as np
    import numpy.typing as npt
    from typing_extensions import Buffer

    from .explain import Explained

    Bytes: TypeAlias = Buffer | npt.NDArray[np.uint8]  # numpy says that an array is a Buffer from Python 3.12 on only

__all__ = ["Lexer", "wanted_tier"]

TIERS = ("pure", "portable", "neon", "avx2", "avx512")


class Machine(Protocol):
    """What both tiers are: `_native.Machine` and `generated.python.scan.Machine`."""

    def count(self, text: Any, /) -> int: ...
    def split(self, text: Any, /) -> list[Any]: ...
    def ends(self, text: Any, /) -> bytearray: ...
    def pairs(self, text: Any, /) -> bytearray: ...
    def iterate(self, text: Any, /) -> Iterator[tuple[int, int]]: ...


class Lexer:
    """Splits texts. Made by `bitlex.lexer(name)` and `bitlex.compile(pattern)`, not by calling the class.

    Every method takes a str, or UTF-8 in anything bytes-like (bytes, bytearray, memoryview, mmap, a numpy array of uint8), which
    is read in place. All take time and memory proportional to the text, whatever the text and the pattern. Anything else is a
    TypeError; a `bytewise` lexer, which cuts inside characters, refuses a str with a ValueError. Bytes that are not UTF-8 are no
    error: each ill-formed sequence is read as one U+FFFD, and comes out as it was.
    """

    __slots__ = ("_about", "_machine", "_readable", "_tables", "_tier")

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
        self._readable = readable_bytes if self.bytewise else readable

    @overload
    def split(self, text: str) -> list[str]: ...
    @overload
    def split(self, text: Bytes) -> list[bytes]: ...
    def split(self, text: str | Bytes) -> list[str] | list[bytes]:
        """The pieces in order: str of a str, bytes of anything bytes-like."""
        return self._machine.split(self._readable(text))

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

    def spans(self, text: str | Bytes) -> npt.NDArray[np.signedinteger[Any]]:
        """Where the pieces lie, as a numpy array, without an object for each.

        Where the pieces tile the text (`drops` is False), shape (n,): the end of each piece, which is the start of the next.
        Where text may be dropped between pieces (`drops` is True), shape (n, 2): the start and the end of each piece.
        Offsets count characters (code points) of a str and bytes of anything else; the type is int32, or int64 for texts of
        2**31 units and more.
        """
        import numpy

        units = self._readable(text)
        dtype = numpy.int32 if len(units) < 1 << 31 else numpy.int64
        offsets = self._machine.pairs(units) if self.drops else self._machine.ends(units)
        found: npt.NDArray[np.signedinteger[Any]] = numpy.frombuffer(offsets, dtype)
        return found.reshape(-1, 2) if self.drops else found

    def count(self, text: str | Bytes) -> int:
        """How many pieces there are: `len(lexer.split(text))`, without making them."""
        return self._machine.count(self._readable(text))

    def explain(self, text: str | Bytes) -> list[Explained]:
        """For people: which step, and which alternative of its pattern, made each piece of the text.

        Runs the pattern itself, slowly; meant for texts that fit on a screen.
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
        return bool(self._tables["drops"])

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
        return restore, (self._about, self._tables)


def restore(about: dict[str, Any], tables: dict[str, Any]) -> Lexer:
    """A compiled lexer out of a pickle."""
    return Lexer(**about, tables=tables)


def readable(text: Any) -> Any:
    """The text as both tiers read it: str and bytes as they are, everything else as a flat view of its bytes."""
    if isinstance(text, (str, bytes)):
        return text
    try:
        view = memoryview(text)
    except TypeError:
        raise TypeError(f"expected str or a bytes-like object, got {type(text).__name__}") from None
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
