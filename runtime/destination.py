"""Destinations: token ids or offsets in; an array of the caller's that has them, and their number out. In Python, where _destination.c is not.

    out = numpy.empty(1024, "uint16")
    IdDestination(out, 50256).put_all([15339, 1917])    # 2: out[:2] has them

    stream = tokenizer.stream(into=out)
    stream.feed("hello world")                          # 1, and the rest comes later

Invariant: an array is taken only if every id of the vocabulary, or any offset, fits its numbers; messages are those of
_destination.c. Rejected: arrays that are made larger where they are short of room (who gives memory wants it used, and to know when it is
not enough).
"""

from __future__ import annotations

import sys
from collections import deque
from typing import TYPE_CHECKING, Any

from .pure_stream import Copyable, User

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .lexers import Bytes

__all__ = ["IdDestination", "OffsetDestination", "Putting"]


class Destination:
    """Room in an array: numbers, or rows of them."""

    def __init__(self, view: memoryview) -> None:
        import numpy

        self._array = numpy.asarray(view)

    def __len__(self) -> int:
        return len(self._array)

    def put(self, found: Sequence[Any]) -> int:
        """Write what there is room for: how many."""
        if len(found):
            self._array[: len(found)] = found
        return len(found)


class IdDestination(Destination):
    """Room for ids up to the highest, in anything that has a buffer of integers. It is a TypeError if it cannot be written to."""

    def __init__(self, given: Any, highest: int) -> None:
        view = view_of(given, "integers to write token ids to")
        order, kind = ("@", view.format) if view.format[:1] not in {*"@=<>!"} else (view.format[0], view.format[1:])
        if kind not in {*"bBhHiIlLqQnN"}:
            raise TypeError(f"expected an array of integers, got one of format '{view.format:.20}'")
        super().__init__(view)
        bits = 8 * view.itemsize - kind.islower()
        if order not in "@=" and not self._array.dtype.isnative:
            raise TypeError(f"expected an array in the byte order of this machine, got one of format '{view.format:.20}'")
        if view.ndim != 1:
            raise TypeError(f"expected room for token ids in one row, got an array of {view.ndim} dimensions")
        refuse_constant(view)
        if highest >> bits:
            raise ValueError(f"ids up to {highest} do not fit numbers of {view.itemsize} bytes, of format '{view.format:.20}'")

    def put_all(self, ids: Sequence[int]) -> int:
        """The ids of a text. ValueError, and nothing is written, if there is not enough room."""
        if len(ids) > len(self):
            raise ValueError(f"the text has {len(ids)} token ids, and the array room for {len(self)}")
        return self.put(ids)


class OffsetDestination(Destination):
    """Room for the offsets of a lexer, in rows of two if they are `pairs`: an array of int64. It is a TypeError if it is none."""

    def __init__(self, given: Any, pairs: bool) -> None:
        view = view_of(given, "int64 to write offsets to")
        if view.format.lstrip("@=<" if sys.byteorder == "little" else "@=>") not in {*"lqn"} or view.itemsize != 8 or not view.c_contiguous:
            raise TypeError(f"expected an array of int64, side by side, got one of format '{view.format:.20}'")
        if view.ndim != 1 + pairs or (pairs and (view.shape or ())[1] != 2):
            if pairs:
                raise TypeError("expected an array of two columns: this lexer drops text, and gives starts and ends")
            raise TypeError("expected an array of one dimension: this lexer gives the end of each piece")
        refuse_constant(view)
        super().__init__(view)


def view_of(given: Any, what: str) -> memoryview:
    try:
        return memoryview(given)
    except (TypeError, ValueError):  # the latter of an array of dates
        of_tensor = "; its .numpy() may be one" if hasattr(given, "numpy") else ""
        raise TypeError(f"expected an array of {what}, got {type(given).__name__}{of_tensor}") from None


def refuse_constant(view: memoryview) -> None:
    if view.readonly:
        raise TypeError("expected an array that may be written to")


class Putting(Copyable):
    """What puts what a stream gives in an array, where that is not done in C."""

    def __init__(self, stream: Any, into: Destination) -> None:
        self.stream, self.into, self.user = stream, into, User()
        self.waiting: deque[Any] = deque()

    def feed(self, part: str | Bytes, /) -> int:
        with self.user.turn(), self.user:
            return self.put(self.stream.feed(part))

    def finish(self) -> int:
        with self.user.turn(), self.user:
            return self.put(self.stream.finish())

    def more(self) -> int:
        with self.user.turn(), self.user:
            return self.put(())

    def put(self, found: Any) -> int:
        self.waiting.extend(found)
        return self.into.put([self.waiting.popleft() for _ in range(min(len(self.waiting), len(self.into)))])

    def reset(self) -> None:
        with self.user.turn():
            self.user.failed = True
            self.stream.reset()
            self.waiting.clear()
            self.user.failed = False

    def copy(self) -> Putting:
        with self.user.turn():
            twin = Putting(self.stream.copy(), self.into)
            twin.waiting.extend(self.waiting)
            twin.user.failed = self.user.failed
            return twin
