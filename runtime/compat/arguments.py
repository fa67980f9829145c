"""What tokenizers and tiktoken take as an argument: a value in, the same as Python's own type has it out, or what these raise.

    flag(numpy.True_)                   # True; 1 and None are a TypeError
    text("a")                           # "a"; one that has no UTF-8 is a UnicodeEncodeError
    natural(numpy.int64(5))             # 5; -1 is an OverflowError
    sequential((1, 2))                  # (1, 2); an iterator, a set or a dict is a TypeError

Invariant: taken is what the bindings of tokenizers 0.23.3 and tiktoken 0.14.0 take, whatever a function would do with anything else.
Rejected: taking whatever has a truth value, or can be iterated over (a wrong argument would go unseen here, and raise there).
"""

from __future__ import annotations

from array import array
from operator import index
from typing import Any

from ..encoders import ids_of

__all__ = ["flag", "hashed", "listed", "natural", "naturals", "sequential", "text", "typed"]


def flag(value: Any) -> bool:
    """A bool, also one of numpy."""
    if value is True or value is False:
        return value
    if type(value).__module__ == "numpy" and type(value).__name__ in ("bool", "bool_"):
        return bool(value)
    raise TypeError(f"expected bool, got {type(value).__name__}")


def text(value: Any) -> str:
    """A str that has UTF-8."""
    found: str = typed(value, str)
    if not found.isascii():
        found.encode()
    return found


def natural(number: Any, bits: int = 64) -> int:
    """The number, if it can be one of so many bits without a sign."""
    if type(number) is int and not number >> bits:  # of what is negative, some bits are left
        return number
    found = int(index(number))  # of a bool, index is the bool
    if not 0 <= found < 1 << bits:
        raise OverflowError(f"{found} is not between 0 and 2**{bits}")
    return found


def naturals(source: Any) -> list[int]:
    """Ids: numbers of 32 bits."""
    return [natural(number, 32) for number in sequential(source)]


def listed(ids: Any) -> Any:
    """Ids as bitlex takes them: a list, a tuple or an array of integers as it is; of any other sequence, a list."""
    if isinstance(ids, (list, tuple)) or (type(ids).__name__ == "ndarray" and ids.ndim == 1 and ids.dtype.kind in "iu"):
        return ids
    return list(sequential(ids))


def hashed(ids: Any) -> Any:
    """Such ids as numbers that are found in a set. One that has but __index__, as a tensor of no dimension does, has another hash, or none."""
    if not isinstance(ids, (list, tuple)) or {int}.issuperset(map(type, ids)):
        return ids
    try:
        return array("I", ids)
    except (TypeError, OverflowError):
        return ids_of(ids)  # which says what is no int; what is no id is told of later


def sequential(source: Any) -> Any:
    """What has its items in places, and is no str."""
    if isinstance(source, (str, dict)) or not hasattr(type(source), "__getitem__"):
        raise TypeError(f"expected a sequence, got {type(source).__name__}")
    return source


def typed(value: Any, kind: type) -> Any:
    """A value of this type."""
    if not isinstance(value, kind):
        raise TypeError(f"expected {kind.__name__}, got {type(value).__name__}")
    return value
