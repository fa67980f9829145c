"""What tiktoken.registry has: the name of an encoding in, the Encoding out.

    get_encoding("cl100k_base")                 # the same object every time; it is in ENCODINGS then
    list_encoding_names()                       # ["gpt2", "r50k_base", ...]

Ranks come from the disk, else from an installed tiktoken, else from where OpenAI publishes them (rank_files.py); encodings that
plugins add to an installed tiktoken are found through it. Invariant: an encoding is loaded once. Rejected: ENCODING_CONSTRUCTORS, which
hold all ranks as a dict (a tokenizer is made of the file itself in a tenth of the time).
"""

from __future__ import annotations

import os
import threading
from typing import Any

from ..tiktoken_encoding import Encoding

__all__ = ["ENCODINGS", "get_encoding", "list_encoding_names"]

ENCODINGS: dict[str, Encoding] = {}
lock = threading.RLock()


def renew_lock() -> None:
    """In the child of a fork: a thread that held it is not there to give it back."""
    global lock
    lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=renew_lock)


def get_encoding(encoding_name: str, *, file: str | os.PathLike[str] | None = None) -> Encoding:
    """The encoding of this name, the same object every time. `file`: where its ranks are, if it is not loaded yet.

    ValueError if there is none of that name, or a file is not what it should be; OSError if the ranks are nowhere to be had.
    """
    if not isinstance(encoding_name, str):
        raise ValueError(f"an encoding is named by a str, not by {type(encoding_name).__name__}")
    if encoding_name not in ENCODINGS:
        with lock:
            if encoding_name not in ENCODINGS:
                ENCODINGS[encoding_name] = load(encoding_name, file)
    return ENCODINGS[encoding_name]


def list_encoding_names() -> list[str]:
    """The names of all encodings: those of OpenAI, and those that plugins give to an installed tiktoken."""
    from ..openai import FILES

    tiktoken = original()
    return list(dict.fromkeys([*FILES, *(tiktoken.list_encoding_names() if tiktoken else ())]))


def load(name: str, file: str | os.PathLike[str] | None) -> Encoding:
    """An encoding by name, from wherever its ranks are."""
    from ...tokenizer import Tokenizer
    from ...vocabularies import read
    from ..openai import FILES
    from ..rank_files import fetched, on_disk, read_published

    if name not in FILES:
        found = installed(name)
        if found is None:
            raise ValueError(f"there is no encoding {name}; there are {', '.join(list_encoding_names())}")
        return found
    data = on_disk(name) if file is None else (read_published(name, file), str(file))
    if data is None:
        found = installed(name)
        if found is not None:
            return found
        data = fetched(name)
    return Encoding._of_tokenizer(name, Tokenizer(read(*data, name=name)))


def installed(name: str) -> Encoding | None:
    """The encoding of that name that an installed tiktoken has, or can load; None if it cannot."""
    tiktoken = original()
    try:
        found = tiktoken.get_encoding(name) if tiktoken else None
    except (ImportError, OSError, ValueError):
        return None
    if not found:
        return None
    return Encoding(found.name, pat_str=found._pat_str, mergeable_ranks=found._mergeable_ranks, special_tokens=found._special_tokens)


def original() -> Any:
    """The package tiktoken; None if it is not installed, or this one stands in its place."""
    try:
        import tiktoken
    except ImportError:
        return None
    found: Any = tiktoken
    return None if found.get_encoding is get_encoding else found
