"""Values of Python as bytes, and back: the header of a saved tokenizer.

    packed({"a": [1, None]})                   # b"d1:s1:al2:i1:n0:": each value is a letter, a number, a colon, and what the number counts

    n0: t0: f0:        None, True, False         i12:     12
    r3:0.5             a float, as it is spelled
    s2:ab   b2:ab      a str in UTF-8, bytes      l1:i12:  [12]          d1:s1:ai12:  {"a": 12}

Invariant: `unpacked(packed(value))` is the value, with lists for tuples; anything else is some such value, a ValueError, an IndexError or a
TypeError, and runs nothing. Rejected: JSON (to import what reads it takes a third of the time of loading, and bytes have to be spelled);
pickle and marshal (a file could say what is run, or crash the interpreter).
"""

from __future__ import annotations

from typing import Any

__all__ = ["packed", "unpacked"]

CONSTANTS = {"n": None, "t": True, "f": False}


def packed(value: Any) -> bytes:
    """The bytes of a value."""
    if value is None or isinstance(value, bool):
        return b"n0:" if value is None else b"t0:" if value else b"f0:"
    if isinstance(value, int):
        return b"i%d:" % value
    if isinstance(value, (list, tuple)):
        return b"l%d:" % len(value) + b"".join(map(packed, value))
    if isinstance(value, dict):
        return b"d%d:" % len(value) + b"".join(packed(key) + packed(one) for key, one in value.items())
    letter = {str: b"s", bytes: b"b", float: b"r"}[type(value)]
    content = value if letter == b"b" else (value if letter == b"s" else repr(value)).encode("utf-8", "surrogatepass")
    return letter + b"%d:" % len(content) + content


def unpacked(data: bytes) -> Any:
    """The value of what `packed` made."""
    value, end = unpack(data, 0)
    if end != len(data):
        raise ValueError(f"{len(data) - end} bytes behind the end")
    return value


def unpack(data: bytes, at: int) -> tuple[Any, int]:
    """The value that begins at a place, and where it ends."""
    colon = data.index(b":", at)
    letter, number = chr(data[at]), int(data[at + 1 : colon])
    at = colon + 1
    if letter == "i":
        return number, at
    if letter in "sbr":
        content = data[at : at + number]
        if len(content) != number:
            raise ValueError(f"{len(content)} bytes of {number}")
        at += number
        if letter == "b":
            return content, at
        text = content.decode("utf-8", "surrogatepass")
        return (text if letter == "s" else float(text)), at
    if letter in CONSTANTS:
        return CONSTANTS[letter], at
    if letter not in "ld":
        raise ValueError(f"no value begins with {letter!r}")
    items = []
    for _ in range(number if letter == "l" else 2 * number):
        item, at = unpack(data, at)
        items.append(item)
    return (items if letter == "l" else dict(zip(items[::2], items[1::2], strict=True))), at
