"""The model of a tokenizer.json, read by the C extension where it is as it should be; everything else in the file is read as JSON.

    fields, model = parse_tokenizer(data, "tokenizer.json")
    model.tokens["\\u0120the"], model.merges            # or None, where `fields` has all of it

Nearly all of such a file is the tokens and merges of its model. As objects, with what has to be found out of these, they take three times as long
as read from the JSON itself. Invariant: what is read is what the whole file as JSON has; where anything in it is not as it should be, `model` is
None, and who reads the fields says what that is. Rejected: a cache of what was read (files that nobody asked for, for half of the time).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from ..cached import cached_property
from ..vocabulary import VocabularyError
from .byte_alphabet import ALPHABET
from .json_fields import Fields, parse_json

__all__ = ["Model", "parse_tokenizer"]

LATIN = {byte: ord(character) for byte, character in enumerate(ALPHABET)}  # what bytes that are read as Latin-1 are called


class Model(NamedTuple):
    """`merges`: left, right and made of each, uint32."""

    tokens: Tokens
    merges: bytes


class Tokens(Mapping[str, int]):
    """The ids of tokens by what they are called. `blob` and `starts`: the bytes of those of the alphabet; `others`: what the rest is called, by
    their ids. `asked`: of some names, what they are, or -1; for any other, a dict is made of all."""

    def __init__(self, asked: dict[str, int], count: int, blob: bytes, starts: bytes, others: dict[int, str]) -> None:
        self.asked, self.count = asked, count
        self.blob, self.starts, self.others = blob, starts, others

    @cached_property
    def all(self) -> dict[str, int]:
        text = self.blob.decode("latin-1").translate(LATIN)
        starts = memoryview(self.starts).cast("I")
        named = {text[starts[number] : starts[number + 1]]: number for number in range(len(starts) - 1)}
        named.pop("", None)  # ids that are none, or have another name
        return named | {name: number for number, name in self.others.items()}

    def __getitem__(self, name: str) -> int:
        number = self.asked.get(name)
        if number is None:
            return self.all[name]
        if number < 0:
            raise KeyError(name)
        return number

    def __iter__(self) -> Iterator[str]:
        return iter(self.all)

    def __len__(self) -> int:
        return self.count

    def values(self) -> Any:
        highest = len(self.starts) // 4 - 1
        return range(highest) if self.count == highest else self.all.values()


def parse_tokenizer(data: bytes | bytearray, where: str) -> tuple[Fields, Model | None]:
    """The object in a file; and its model, of which nothing is among the fields then."""
    found = read(data)
    if found is not None:
        begin, end, first, last = found[0]
        with suppress(VocabularyError):  # what is wrong, and in which line, is said of the whole
            fields = parse_json(b"".join([data[:begin], b"{}", data[end:first], b"[]", data[last:]]), where)
            model = made_of(found, fields)
            if model is not None:
                return fields, model
    return parse_json(bytes(data), where), None


def read(data: bytes | bytearray) -> Any:
    """What the extension reads; None without it."""
    try:
        from .._native import read_model
    except ImportError:
        return None
    return read_model(data, ALPHABET)


def made_of(found: Any, fields: Fields) -> Model | None:
    """The model that was read, beside which these are the fields of the file; None if it may be another than they have."""
    from .._native import find_tokens

    if type(fields.value) is not dict or type(fields.value["model"]) is not dict:  # one in which a name is there twice, however spelled
        return None
    _, blob, starts, raw, merges, table, count = found
    names = [*ALPHABET, *contents_of(fields.value.get("added_tokens"))]
    try:
        others = {number: json.loads(name.decode()) for number, name in raw}
    except ValueError:
        return None
    other_numbers = {name: number for number, name in others.items()}
    if len(other_numbers) < len(others):
        return None
    numbers = find_tokens(blob, starts, table, ALPHABET, names)
    asked = {name: other_numbers.get(name, number) for name, number in zip(names, numbers, strict=True)}
    return Model(Tokens(asked, count, blob, starts, others), merges)


def contents_of(added: Any) -> list[str]:
    """What added tokens are called, as far as they are what they should be."""
    contents = [entry.get("content") for entry in added if isinstance(entry, dict)] if isinstance(added, list) else []
    return [content for content in contents if isinstance(content, str)]
