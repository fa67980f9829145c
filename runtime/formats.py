"""Pieces as text to print. In: the bytes of a text and the spans of its pieces. Out: chunks of bytes, none of them large.

    text       it, 's              a line a piece, what cannot be seen as escapes
    json       ["it", "'s"]        a line a text
    offsets    0 2, 2 4            a line a piece, in bytes
    color      it's                pieces on two backgrounds by turns, dropped text on none

Invariant: `text` and `json` can be read back. Escapes are \\n \\r \\t \\\\, \\uXXXX and \\UXXXXXXXX for other control characters and white
space, and \\xXX for bytes that are not UTF-8; json has those as \\udcXX, which is how Python's surrogateescape reads them.

The same escapes are in all that commands say of names of files and of other text that is not theirs (`printable`): a terminal obeys control
characters, and so a name could write on it what it likes. Where a program may read what is printed, it is exact (`json_shown`, for one).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from json import JSONEncoder
from typing import Any

__all__ = ["FORMATS", "chunks", "json_shown", "printable", "visible"]

Spans = Iterable[tuple[int, int]]
CHUNK = 4096  # pieces written at once

# Control characters, white space but U+0020, what changes the direction or has no width, and escaped bytes.
MARKS = "\x00-\x1f\x7f-\xa0\xad\u061c\u1680\u180e\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufeff\U000e0000-\U000e007f\ud800-\udfff"
UNPRINTABLE = re.compile(f"[{MARKS}]")
UNSEEN = re.compile(f"[\\\\{MARKS}]")
LEFT_BY_JSON = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")  # as it is
NAMED = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\\": "\\\\"}
BACKGROUNDS = ("\x1b[30;46m", "\x1b[30;43m")
RESET = "\x1b[0m"


def escape(found: re.Match[str]) -> str:
    c = found[0]
    if "\udc80" <= c <= "\udcff":
        return f"\\x{ord(c) - 0xDC00:02x}"
    return NAMED.get(c) or (f"\\u{ord(c):04x}" if c < "\U00010000" else f"\\U{ord(c):08x}")


def visible(piece: bytes) -> str:
    return UNSEEN.sub(escape, piece.decode("utf-8", "surrogateescape"))


def printable(text: str) -> str:
    """A text in one line of a message, as a name in it. A backslash is not doubled: this is to be looked at, and not to be read back."""
    return UNPRINTABLE.sub(escape, text)


def json_shown(value: Any, **layout: Any) -> str:
    """A value as JSON that can be read by people, too, and that nothing in it writes on a terminal but itself."""
    ascii_only = JSONEncoder().encode
    return LEFT_BY_JSON.sub(lambda found: ascii_only(found[0])[1:-1], JSONEncoder(ensure_ascii=False, **layout).encode(value))


def as_text(data: memoryview, spans: Spans) -> Iterator[str]:
    for start, end in spans:
        yield visible(bytes(data[start:end])) + "\n"


def as_json(data: memoryview, spans: Spans) -> Iterator[str]:
    readable, ascii_only = JSONEncoder(ensure_ascii=False).encode, JSONEncoder().encode
    separator = "["
    for start, end in spans:
        piece = bytes(data[start:end]).decode("utf-8", "surrogateescape")
        yield separator + (ascii_only(piece) if LEFT_BY_JSON.search(piece) else readable(piece))
        separator = ", "
    yield "]\n" if separator == ", " else "[]\n"


def as_offsets(data: memoryview, spans: Spans) -> Iterator[str]:
    for start, end in spans:
        yield f"{start} {end}\n"


def as_color(data: memoryview, spans: Spans) -> Iterator[str]:
    last, turn = 0, 0
    for start, end in spans:
        yield colored(bytes(data[last:start]), "") + colored(bytes(data[start:end]), BACKGROUNDS[turn])
        last, turn = end, 1 - turn
    yield colored(bytes(data[last:]), "") + "\n"


def colored(piece: bytes, background: str) -> str:
    """Newlines are shown and then obeyed, outside of the background, which would fill the rest of the line."""
    lines = [visible(line) for line in piece.split(b"\n")]
    shown = [*(line + "\\n" for line in lines[:-1]), lines[-1]]
    return "\n".join(background + line + RESET if background and line else line for line in shown)


FORMATS = {"text": as_text, "json": as_json, "offsets": as_offsets, "color": as_color}


def chunks(format: str, data: memoryview, spans: Spans) -> Iterator[bytes]:
    """What `bitlex split --format` prints of one text."""
    waiting: list[str] = []
    for line in FORMATS[format](data, spans):
        waiting.append(line)
        if len(waiting) == CHUNK:
            yield "".join(waiting).encode()
            waiting.clear()
    yield "".join(waiting).encode()
