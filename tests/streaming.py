"""What tests of all streams have in common."""

from __future__ import annotations

from typing import Any

import pytest

__all__ = ["check_what_is_no_part", "gathered", "parts_between"]


def parts_between(text: Any, cuts: list[int] | tuple[int, ...]) -> list[Any]:
    """The parts of a text that is cut at these places."""
    return [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]


def check_what_is_no_part(stream: Any) -> None:
    """A new stream takes texts of one kind."""
    with pytest.raises(TypeError, match="expected str or a bytes-like object, got int"):
        stream.feed(3)
    stream.feed("a")
    with pytest.raises(TypeError, match="this stream was fed str before, and a text cannot be both"):
        stream.feed(b"b")


def gathered(stream: Any, array: Any, parts: list[Any]) -> list[int]:
    """What a stream puts in an array, taken out each time."""
    return [number for count in stream.iterate(parts) for number in array[:count].reshape(-1).tolist()]
