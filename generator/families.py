"""The catalogue of pattern families, read and checked.

In: `tables/families.toml`. Out: frozen `Family` values, whose `steps` say how a text is split:

    family("cl100k_base").name              # "cl100k": aliases are resolved
    family("cl100k").steps[0].regex         # the exact text of the pattern
    list(families())                        # every name, in the order of the file

Steps mirror the pre_tokenizer of a tokenizer.json, so that a catalogue entry and a user's file take the same road (pretokenizer.py).
Each step runs on every piece that the step before has left, and sees that piece as a text of its own:

    Split            cut at the matches of `regex` (or of the literal `string`); `behavior` says what becomes of a match, `invert`
                     swaps matches and gaps
    Digits           cut out each numeric character (`individual`) or each run of them; always General_Category N of `unicode`
    Punctuation      Split at one character of the class hf_punctuation
    ByteLevel        `add_prefix_space`, then Split at `byte_level_regex()` if `use_regex`; a step after it sees the byte alphabet
    Whitespace       keep the matches of `\\w+|[^\\w\\s]+`, read by Rust's regex crate: the fancy dialect whatever the family's is
    WhitespaceSplit  drop White_Space

Invariant: what is read has been checked; a mistake in the file is a ValueError that names the family and the key.
Rejected: one regular expression a family (a chain of steps is not one expression, because lookaheads stop at a piece's end).
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache
from typing import Any, Literal, TypeAlias, cast, get_args

from .properties import TABLES, VERSIONS

__all__ = ["Behavior", "DialectName", "Family", "Kind", "Step", "byte_level_regex", "families", "family", "mistake", "step", "step_fields"]

DialectName: TypeAlias = Literal["fancy", "oniguruma", "python"]
Kind: TypeAlias = Literal["Split", "Digits", "Punctuation", "ByteLevel", "Whitespace", "WhitespaceSplit"]
Behavior: TypeAlias = Literal["isolated", "removed", "merged_with_previous", "merged_with_next", "contiguous"]

KEYS: dict[str, tuple[str, ...]] = {  # the keys of each kind of step, besides type and unicode
    "Split": ("regex", "string", "behavior", "invert"),
    "Digits": ("individual",),
    "Punctuation": ("behavior",),
    "ByteLevel": ("add_prefix_space", "use_regex"),
    "Whitespace": (),
    "WhitespaceSplit": (),
}
REQUIRED = {"Split": ("behavior",), "Digits": ("individual",), "ByteLevel": ("add_prefix_space", "use_regex")}
FLAGS = ("invert", "individual", "add_prefix_space", "use_regex")
CHOICES = {"behavior": get_args(Behavior), "dialect": get_args(DialectName), "unicode": VERSIONS}


@dataclass(frozen=True, slots=True)
class Step:
    """One step; the fields that its kind does not have keep their defaults."""

    kind: Kind
    regex: str | None = None
    string: str | None = None
    behavior: Behavior = "isolated"
    invert: bool = False
    individual: bool = False
    add_prefix_space: bool = False
    use_regex: bool = True
    unicode: str | None = None  # None: the version of the family


@dataclass(frozen=True, slots=True)
class Family:
    name: str
    aliases: tuple[str, ...]
    dialect: DialectName
    unicode: str
    reference: str
    source: str
    note: str
    steps: tuple[Step, ...]


def families() -> dict[str, Family]:
    """The catalogue by name, in the order of the file."""
    return dict(catalogue()[0])


def family(name: str) -> Family:
    """The family with this name or alias. Case does not count, and "qwen2.5" or "qwen2-5" finds "qwen2_5"."""
    known, names = catalogue()
    wanted = name.lower().replace("-", "_").replace(".", "_")
    if wanted in names:
        return known[names[wanted]]
    close = difflib.get_close_matches(wanted, names, n=3)
    hint = f"did you mean {' or '.join(close)}?" if close else f"there are {', '.join(known)}"
    raise ValueError(f"no family {name!r}; {hint}")


def byte_level_regex() -> str:
    """The pattern of a ByteLevel step that uses a regex."""
    text = read_file().get("byte_level_regex")
    if not isinstance(text, str):
        raise mistake("families.toml", "byte_level_regex", "not a string")
    return text


def step(fields: object, where: str) -> Step:
    """A step from its table in the catalogue; `where` begins the message of an error."""
    if not isinstance(fields, Mapping):
        raise mistake(where, "type", f"{fields!r} is not a table")
    kind = fields.get("type")
    if not isinstance(kind, str) or kind not in KEYS:
        raise mistake(where, "type", f"{kind!r} is not one of {', '.join(KEYS)}")
    for key, value in fields.items():
        if key not in ("type", "unicode", *KEYS[kind]):
            raise mistake(where, key, f"{kind} has no such key")
        check(key, value, bool if key in FLAGS else str, where)
    for key in REQUIRED.get(kind, ()):
        if key not in fields:
            raise mistake(where, key, "missing")
    if kind == "Split" and ("regex" in fields) == ("string" in fields):
        raise mistake(where, "regex", "Split needs either a regex or a string")
    return Step(cast(Kind, kind), **{key: value for key, value in fields.items() if key != "type"})


def step_fields(step: Step) -> dict[str, Any]:
    """The fields of a step that say something: its kind, and what is not a default."""
    return {f.name: getattr(step, f.name) for f in fields(step) if getattr(step, f.name) != f.default}


@cache
def catalogue() -> tuple[dict[str, Family], dict[str, str]]:
    """The families by name, and the family's name by every name and alias."""
    known: dict[str, Family] = {}
    names: dict[str, str] = {}
    for name, table in read_file()["families"].items():
        known[name] = read_family(name, table)
        for key, word in [("name", name), *(("aliases", alias) for alias in known[name].aliases)]:
            if not (word.isidentifier() and word.islower()) or word in names:
                raise mistake(f"families.toml: family {name!r}", key, f"{word!r} is taken or not a lower-case identifier")
            names[word] = name
    return known, names


@cache
def read_file() -> dict[str, Any]:
    return tomllib.loads((TABLES / "families.toml").read_text(encoding="utf-8"))


def read_family(name: str, fields: Mapping[str, Any]) -> Family:
    where = f"families.toml: family {name!r}"
    values = {"aliases": [], "note": "", **fields}
    expected = {"aliases": list, "dialect": str, "unicode": str, "reference": str, "source": str, "note": str, "steps": list}
    for key in [*expected, *values]:
        if key not in expected or key not in values:
            raise mistake(where, key, "missing" if key in expected else "unknown")
        check(key, values[key], expected[key], where)
    for alias in values["aliases"]:
        check("aliases", alias, str, where)
    if not values["steps"]:
        raise mistake(where, "steps", "empty")
    values["aliases"] = tuple(values["aliases"])
    values["steps"] = tuple(step(table, f"{where}, step {number}") for number, table in enumerate(values["steps"], 1))
    return Family(name, **values)


def check(key: str, value: object, expected: type, where: str) -> None:
    if not isinstance(value, expected):
        raise mistake(where, key, f"{value!r} is not a {expected.__name__}")
    if key in CHOICES and value not in CHOICES[key]:
        raise mistake(where, key, f"{value!r} is not one of {', '.join(CHOICES[key])}")


def mistake(where: str, key: str, what: str) -> ValueError:
    return ValueError(f"{where}: key {key!r}: {what}")
