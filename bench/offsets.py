"""What engines put out -> the pieces as (n, 2) offsets in bytes, and back to one number: so that all can be compared."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .corpora import Text

Offsets = npt.NDArray[np.int64]


def digest(offsets: Offsets) -> str:
    """Of the starts and ends in bytes: the same on every machine."""
    return hashlib.blake2b(np.ascontiguousarray(offsets, "<u8").tobytes(), digest_size=8).hexdigest()


def nothing(result: Any, text: Text) -> Offsets:
    raise TypeError("a number has no offsets")


def of_ends(ends: Any, text: Text) -> Offsets:
    """Ends in bytes, or pairs already."""
    found = np.asarray(ends, np.int64)
    return found if found.ndim == 2 else np.column_stack([np.concatenate([[0], found[:-1]]) if len(found) else found, found])


def of_pieces(pieces: Sequence[str] | Sequence[bytes], text: Text) -> Offsets:
    """Where the pieces lie: each is looked for behind the one before, and must be there. A piece that is not ends the list early."""
    whole: Any = text.text if pieces and isinstance(pieces[0], str) else text.data
    at, found = 0, []
    for piece in pieces:
        start = whole.find(piece, at)
        if start < 0 or not piece:
            break
        at = start + len(piece)
        found.append((start, at))
    offsets = np.array(found, np.int64).reshape(-1, 2)
    return in_bytes(offsets, text) if isinstance(whole, str) else offsets


def in_bytes(offsets: Offsets, text: Text) -> Offsets:
    """Offsets in characters -> in bytes."""
    points = np.frombuffer(text.text.encode("utf-32-le"), np.uint32)
    sizes = 1 + (points >= 0x80).astype(np.int64) + (points >= 0x800) + (points >= 0x10000)
    moved: Offsets = np.concatenate([[0], np.cumsum(sizes)])[offsets]
    return moved
