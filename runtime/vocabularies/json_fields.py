"""Reading JSON with the path of what is wrong in the message.

    fields = Fields({"model": {"type": "BPE"}}, "tokenizer.json")
    fields.at("model").choice("type", ("BPE",))
    # VocabularyError: tokenizer.json: model.type: "Unigram" is not supported; supported: "BPE"
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..vocabulary import VocabularyError

__all__ = ["Fields", "is_number", "parse_json", "quoted", "shown"]


def parse_json(data: bytes, where: str) -> Fields:
    """The object in a file."""
    try:
        # Of bytes, json would take UTF-16 as well, and UTF-8 behind a mark, which tokenizers refuses.
        found = json.loads(data.decode(), object_pairs_hook=as_object)
    except json.JSONDecodeError as error:
        raise VocabularyError(f"{where}: line {error.lineno}, column {error.colno}: {error.msg}") from None
    except UnicodeDecodeError as error:
        raise VocabularyError(f"{where}: {error}") from None
    except RecursionError:
        raise VocabularyError(f"{where}: is nested too deeply") from None
    except ValueError as error:  # a number of thousands of digits, of which the rest of the message is for programmers
        raise VocabularyError(f"{where}: {str(error).partition(':')[0]}") from None
    return Fields(found, where)


class Repeated(dict[str, Any]):
    """An object that has a name twice, of which the last value counts. `name`: the first such name."""

    def __init__(self, pairs: Sequence[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        self.name = next(name for name, times in Counter(name for name, _ in pairs).items() if times > 1)


def as_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    return made if len(made) == len(pairs) else Repeated(pairs)


def shown(value: object) -> str:
    """A value as JSON writes it, cut if it is long."""
    text = json.dumps(value, ensure_ascii=False).encode("utf-8", "backslashreplace").decode()  # surrogates as escapes: it will be printed
    return text if len(text) <= 80 else f"{text[:77]}..."


def quoted(line: str | bytes) -> str:
    """A line, or a field of one, as Python writes it, cut if it is long."""
    return repr(line) if len(line) <= 80 else f"{line[:77]!r}..."


def is_number(value: object) -> bool:
    """Whether this can be an id, a rank or the like: a whole number of 32 bits."""
    return type(value) is int and 0 <= value < 1 << 32


class Fields:
    """An object in a JSON file, with its path."""

    def __init__(self, value: object, where: str, path: str = "") -> None:
        self.where, self.path = where, path
        if not isinstance(value, dict):
            raise VocabularyError(f"{where}: {path or 'the file'}: {shown(value)} is not an object")
        self.value: dict[str, Any] = value

    def name(self, key: str) -> str:
        """The path of a field."""
        return f"{self.path}{'.' if self.path else ''}{key}"

    def wrong(self, key: str, what: str) -> VocabularyError:
        return VocabularyError(f"{self.where}: {self.name(key)}: {what}")

    def only(self, known: Iterable[str]) -> None:
        """No field but these: what another one means is not known."""
        for key in self.value.keys() - set(known):
            raise self.wrong(key, f"unknown field, {shown(self.value[key])}")

    def each_once(self) -> None:
        """No name is there twice."""
        if isinstance(self.value, Repeated):
            raise self.wrong(self.value.name, "is there twice")

    def get(self, key: str, kind: type | tuple[type, ...], default: Any = ...) -> Any:
        """The value of a field, which is of this type; `default` where it is missing or null."""
        value = self.value.get(key)
        if value is None:
            if default is ...:
                raise self.wrong(key, "missing")
            return default
        if not isinstance(value, kind) or (kind is int and not is_number(value)) or (type(value) is bool and kind is not bool):
            kinds = kind if isinstance(kind, tuple) else (kind,)
            raise self.wrong(key, f"{shown(value)} is not {' or '.join(NAMES[one] for one in kinds)}")
        return value

    def at(self, key: str) -> Fields:
        """The object in a field."""
        return Fields(self.get(key, dict), self.where, self.name(key))

    def items(self, key: str, default: Any = ...) -> list[Fields]:
        """The objects in a list."""
        found = self.get(key, list, default)
        return [Fields(one, self.where, f"{self.name(key)}[{at}]") for at, one in enumerate(found)]

    def booleans(self, *keys: str) -> None:
        """These are there, and true or false."""
        for key in keys:
            self.get(key, bool)

    def choice(self, key: str, allowed: Sequence[str], why: str = "") -> Any:
        """The value of a field, which is one of these."""
        value = self.value.get(key)
        if value not in allowed:
            raise self.wrong(key, f"{shown(value)} is not supported{why}; supported: {', '.join(map(shown, allowed))}")
        return value


NAMES: Mapping[type, str] = {
    dict: "an object", list: "a list", str: "a string", int: "a whole number", bool: "true or false", float: "a number",
}  # fmt: skip
