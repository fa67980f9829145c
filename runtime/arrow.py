"""Columns of texts, as Arrow has them: what exports one in, its texts as bytes out, in a fraction of the time that its rows take as objects.

    given(pyarrow.array(["a", "b"]))                   # [b"a", b"b"]; of series of polars and pandas, too
    given(["a", "b"])                                  # as it was given
    for text in rows(column): ...                      # the same one after the other, and some thousand at a time

Arrow's strings are UTF-8, so their bytes are all that a tokenizer reads of them. Invariant: what is made of the list is what is made of the rows.
Rejected: pyarrow's own `to_pylist` (a str for each row, which takes three times as long, and which has to be made UTF-8 again).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

__all__ = ["given", "rows", "texts_of"]

AT_ONCE = 4096  # rows


def exports(column: Any) -> bool:
    return hasattr(column, "__arrow_c_array__") or hasattr(column, "__arrow_c_stream__")


def texts_of(column: Any) -> list[bytes] | None:
    """The texts of an Arrow array, or of what exports one; None of anything else, if a row has none, and without the extension."""
    if not exports(column):
        return None
    try:
        from ._native import arrow_texts
    except ImportError:
        return None
    found: list[bytes] | None = arrow_texts(column)
    return found


def given(texts: Any) -> Any:
    """A batch as it was given, or the list of its texts where it is a column."""
    if isinstance(texts, (list, tuple)):
        return texts
    found = texts_of(texts)
    return texts if found is None else found


def rows(source: Iterable[Any]) -> Iterator[Any]:
    """What one iterates over; of a column that can be sliced, its texts, without having all of them at once."""
    return parts(source) if exports(source) and hasattr(source, "slice") else iter(source)


def parts(column: Any) -> Iterator[Any]:
    for at in range(0, len(column), AT_ONCE):
        part = column.slice(at, AT_ONCE)
        found = texts_of(part)
        yield from part if found is None else found
