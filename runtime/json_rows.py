"""A row of JSONL: what JSON says, whatever numbers it holds.

    json_of(b'{"text": "a", "n": 1}')        # {"text": "a", "n": 1}

orjson reads it, where that is installed, and the module json what orjson refuses: NaN, the escape of a lone surrogate, what is nested deeply,
and all that is malformed, whose errors are that module's. Invariant: texts and the ints that may be ids are what json makes of them, with
orjson and without. Neither makes an int of thousands of digits, which JSON allows: such a number becomes a float, up to infinity, which is
neither a text nor an id. Rejected: json alone (reading takes three times as long as finding the ids, with one thread).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from json import JSONDecodeError
from threading import Thread
from typing import Any

__all__ = ["JSONDecodeError", "json_of", "mistake"]


@cache
def quick() -> Callable[[bytes], Any] | None:
    """What reads a row in less time, if it is installed.

    orjson crashes where an exception, such as that of Ctrl-C, ends an import that its own needs. Signals are handled by the main thread alone,
    so another one imports it.
    """
    found: list[Callable[[bytes], Any]] = []

    def load() -> None:
        with suppress(ImportError):
            from orjson import loads

            found.append(loads)

    loading = Thread(target=load)
    try:
        loading.start()
    except RuntimeError:  # the system has no thread left for us
        load()
    else:
        loading.join()
    return found[0] if found else None


def json_of(row: bytes) -> Any:
    """Its value; JSONDecodeError or RecursionError for what is malformed or nested too deeply, UnicodeDecodeError for bytes that are no text."""
    loads = quick()
    if loads is not None:
        try:
            return loads(row)
        except JSONDecodeError:  # which orjson's is one of
            pass
    text = row.decode()
    try:
        return json.loads(text)
    except JSONDecodeError:
        raise
    except ValueError:
        return json.loads(text, parse_int=number)  # slower, so only then


def mistake(error: JSONDecodeError | RecursionError) -> str:
    """What is wrong with a row, and where in it, counted in characters from 1 on."""
    if isinstance(error, RecursionError):  # which each version of Python words in another way
        return "nested too deeply"
    what = error.msg.removesuffix(" (decode using utf-8-sig)").removesuffix(" at")  # what module json says is of its own arguments, and ends so
    return f"{what}, at character {error.pos + 1}"


def number(digits: str) -> int | float:
    try:
        return int(digits)
    except ValueError:
        return float(digits)
