"""What a tokenizer of Hugging Face does with the length of what it encodes: Truncation and Padding, as arguments and as in its file.

    Truncation.of({"max_length": 512, "stride": 16}).as_json()
    # {"direction": "Right", "max_length": 512, "strategy": "LongestFirst", "stride": 16}

Invariant: what enable_truncation and enable_padding of tokenizers 0.23.3 take, with the same errors, and what they do to encodings.
Where tokenizers panics (a `stride` that is not less than what is left beside special tokens) this is a ValueError. An option that
does not exist is ignored with a warning, where tokenizers prints one.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from ..vocabularies.json_fields import Fields
from .arguments import natural, text
from .columns import COLUMNS
from .encoding import Encoding

__all__ = ["FILLS", "Padding", "Truncation"]

STRATEGIES = {"longest_first": "LongestFirst", "only_first": "OnlyFirst", "only_second": "OnlySecond"}
DIRECTIONS = {"left": "Left", "right": "Right"}
FILLS = 1, 0  # what fills up is special, and nothing attends to it
WRAPPED = (1 << 64) - 1  # what tokenizers computes with has 64 bits


@dataclass(frozen=True)
class Options:
    """Options by name."""

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Self:
        known = cls.__dataclass_fields__
        for name in options.keys() - known:
            warnings.warn(f"{name}= is no option here, and is ignored", stacklevel=3)
        return cls(**{name: value for name, value in options.items() if name in known})

    def make_natural(self, name: str, bits: int = 64) -> None:
        """Have a plain int, of whatever stands for one (numpy's, a bool)."""
        object.__setattr__(self, name, natural(getattr(self, name), bits))

    def as_dict(self) -> dict[str, Any]:
        return dict(vars(self))


@dataclass(frozen=True)
class Truncation(Options):
    """`strategy`: which of two texts is cut."""

    max_length: int
    stride: int = 0
    strategy: str = "longest_first"
    direction: str = "right"

    def __post_init__(self) -> None:
        self.make_natural("max_length")
        self.make_natural("stride")
        one_of("strategy", self.strategy, STRATEGIES)
        one_of("direction", self.direction, DIRECTIONS)

    @classmethod
    def from_json(cls, found: Fields) -> Truncation:
        found.only(("direction", "max_length", "strategy", "stride"))
        strategy = found.choice("strategy", list(STRATEGIES.values()))
        direction = found.choice("direction", list(DIRECTIONS.values())) if "direction" in found.value else "Right"
        return cls(
            found.get("max_length", int), found.get("stride", int), key_of(strategy, STRATEGIES), key_of(direction, DIRECTIONS)
        )

    def as_json(self) -> dict[str, Any]:
        return {
            "direction": DIRECTIONS[self.direction], "max_length": self.max_length, "strategy": STRATEGIES[self.strategy],
            "stride": self.stride,
        }  # fmt: skip

    def check(self, added: int) -> None:
        """ValueError if no part would be longer than what it shares with the next. `added`: special tokens around one text."""
        left = (self.max_length - added) & WRAPPED
        if left < self.stride:
            raise ValueError(
                f"stride is {self.stride}, and parts have {left} tokens: max_length={self.max_length} less {added} special ones"
            )

    def cut(self, encodings: Sequence[Encoding], added: int) -> None:
        """Cut what is encoded of one text or two, so that with `added` special tokens they have max_length together."""
        most = (self.max_length - added) & WRAPPED
        lengths = [len(one) for one in encodings]
        excess = sum(lengths) - most
        if excess <= 0 and most:
            return
        for one, left in zip(encodings, self.shares(lengths, most, excess), strict=True):
            one.truncate(left, self.stride, self.direction)

    def shares(self, lengths: Sequence[int], most: int, excess: int) -> list[int]:
        """How long each may be."""
        if most == 0:
            return [0] * len(lengths)
        if self.strategy == "longest_first":
            if len(lengths) == 1:
                return [most]
            short, long = sorted(lengths)
            long = short if short > most else max(short, most - short)
            if short + long > most:
                short = most // 2
                long = short + most % 2
            return [long, short] if lengths[0] > lengths[1] else [short, long]
        at = 0 if self.strategy == "only_first" else 1
        if at >= len(lengths):
            raise ValueError("strategy='only_second' needs a second text")
        if lengths[at] <= excess:
            raise ValueError(f"the {'first' if at == 0 else 'second'} text has {lengths[at]} tokens, too few to be cut by {excess}")
        return [length - excess if this == at else length for this, length in enumerate(lengths)]


@dataclass(frozen=True)
class Padding(Options):
    """`length`: None is that of the longest of a batch. `pad_to_multiple_of`: rounded up to that."""

    length: int | None = None
    pad_to_multiple_of: int | None = None
    pad_id: int = 0
    pad_token: str = "[PAD]"
    pad_type_id: int = 0
    direction: str = "right"

    def __post_init__(self) -> None:
        for name, bits in (("length", 64), ("pad_to_multiple_of", 64), ("pad_id", 32), ("pad_type_id", 32)):
            if getattr(self, name) is not None or bits == 32:
                self.make_natural(name, bits)
        if not isinstance(self.pad_token, str):
            raise TypeError(f"pad_token is {type(self.pad_token).__name__}, not str")
        text(self.pad_token)
        one_of("direction", self.direction, DIRECTIONS)

    @classmethod
    def from_json(cls, found: Fields) -> Padding:
        found.only(("strategy", "direction", "pad_to_multiple_of", "pad_id", "pad_type_id", "pad_token"))
        length = None
        if isinstance(found.value.get("strategy"), dict):
            length = found.at("strategy").get("Fixed", int)
        else:
            found.choice("strategy", ("BatchLongest",))
        return cls(
            length, found.get("pad_to_multiple_of", int, None), found.get("pad_id", int), found.get("pad_token", str),
            found.get("pad_type_id", int), key_of(found.choice("direction", list(DIRECTIONS.values())), DIRECTIONS),
        )  # fmt: skip

    def as_json(self) -> dict[str, Any]:
        return {
            "strategy": "BatchLongest" if self.length is None else {"Fixed": self.length}, "direction": DIRECTIONS[self.direction],
            "pad_to_multiple_of": self.pad_to_multiple_of, "pad_id": self.pad_id, "pad_type_id": self.pad_type_id,
            "pad_token": self.pad_token,
        }  # fmt: skip

    def length_of(self, sizes: Iterable[int]) -> int:
        """How long all of a batch are made."""
        length = max(sizes, default=0) if self.length is None else self.length
        return length + -length % self.pad_to_multiple_of if self.pad_to_multiple_of else length

    def fill_all(self, encodings: Sequence[Encoding]) -> int:
        """Make those of a batch equally long: how long."""
        length = self.length_of(map(len, encodings))
        for one in encodings:
            self.fill(one, length)
        return length

    def filled(self, column: list[Any], filler: Any, length: int) -> list[Any]:
        """A column that is so long, or longer; the one that is given may be of other encodings, too."""
        fillers = [filler] * (length - len(column))
        return column + fillers if self.direction == "right" else fillers + column

    def fill(self, encoding: Encoding, length: int) -> None:
        """Make one so long, and what was cut off it."""
        for one in encoding._overflowing:
            self.fill(one, length)
        missing = natural(length) - len(encoding)
        if missing <= 0:
            return
        fillers = (self.pad_id, self.pad_type_id, self.pad_token, None, (0, 0), *FILLS)
        for name, filler in zip(COLUMNS, fillers, strict=True):
            setattr(encoding, name, self.filled(getattr(encoding, name), filler, length))
        if self.direction == "left":
            encoding._ranges = {text: (start + missing, end + missing) for text, (start, end) in encoding._ranges.items()}


def one_of(name: str, value: object, known: Mapping[str, str]) -> None:
    if not isinstance(value, str):
        raise TypeError(f"{name} is {type(value).__name__}, not str")
    if value not in known:
        raise ValueError(f"{name} is {value!r}; it may be {' or '.join(map(repr, known))}")


def key_of(value: str, known: Mapping[str, str]) -> str:
    return next(key for key, one in known.items() if one == value)
