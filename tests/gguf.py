"""The metadata of a GGUF file, which holds the vocabularies that llama.cpp tests itself with.

    read_gguf(path)["tokenizer.ggml.tokens"]         # ["!", '"', ...]

In: a path. Out: a dict of names to numbers, str and lists of them; tensors are not read. Rejected: the package gguf, for thirty lines.
"""

from __future__ import annotations

import struct
from io import BytesIO
from pathlib import Path
from typing import Any

__all__ = ["read_gguf"]

NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
STRING, ARRAY = 8, 9


class Reader:
    def __init__(self, data: bytes) -> None:
        self.file = BytesIO(data)

    def number(self, kind: str) -> Any:
        return struct.unpack("<" + kind, self.file.read(struct.calcsize("<" + kind)))[0]

    def string(self) -> str:
        return self.file.read(self.number("Q")).decode("utf-8", "surrogateescape")

    def value(self, kind: int) -> Any:
        if kind == STRING:
            return self.string()
        if kind == ARRAY:
            inner, count = self.number("I"), self.number("Q")
            return [self.value(inner) for _ in range(count)]
        return self.number(NUMBERS[kind])


def read_gguf(path: Path) -> dict[str, Any]:
    reader = Reader(path.read_bytes())
    assert reader.file.read(4) == b"GGUF", path
    version, _, count = reader.number("I"), reader.number("Q"), reader.number("Q")
    assert version in (2, 3), version
    return {reader.string(): reader.value(reader.number("I")) for _ in range(count)}
