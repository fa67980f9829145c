"""A row of JSONL: what JSON says, whatever numbers it holds.

    json_of('{"text": "a", "n": 1}')        # {"text": "a", "n": 1}

Python makes no int of thousands of digits, which JSON allows: such a number becomes a float, up to infinity. Nothing is lost by it: neither
texts nor ids are such numbers.
"""

from __future__ import annotations

import json
from json import JSONDecodeError
from typing import Any

__all__ = ["JSONDecodeError", "json_of"]


def json_of(row: str | bytes) -> Any:
    """Its value; JSONDecodeError or RecursionError for what is malformed or nested too deeply, UnicodeDecodeError for bytes that are no text."""
    try:
        return json.loads(row)
    except (JSONDecodeError, UnicodeDecodeError):
        raise
    except ValueError:
        return json.loads(row, parse_int=number)  # slower, so only then


def number(digits: str) -> int | float:
    try:
        return int(digits)
    except ValueError:
        return float(digits)
