"""Columns: what is known of each token, in lists side by side, made at once or when something of it is asked for.

    Columns.of([9707], ["Hello"], [(0, 5)], [0], type_id=0)._offsets          # [(0, 5)]
    Columns.later([9707], make)._offsets                                      # what `make(False)` has

All lists have one entry for each token. `_ranges` says which tokens are of which text; without it, all are of the first. What was cut
off is in `_overflowing`. Most people read nothing but the ids, and most others only what is as soon made of them; so the rest may be made
later, and is made once: `make(True)` may give no more than EARLY. Invariant: whatever is asked for, and in whatever order, is what `make`
gives. Rejected: numpy arrays (people index lists of int, and tuples).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing import Self

__all__ = ["COLUMNS", "Columns"]

COLUMNS = ("_ids", "_type_ids", "_tokens", "_words", "_offsets", "_special", "_attention")
SLOTS = (*COLUMNS, "_overflowing", "_ranges")
EARLY = ("_ids", "_type_ids", "_special", "_attention")  # what `make_later` leaves


class Columns:
    """Made empty by calling the class."""

    __slots__ = (*SLOTS, "_make")
    _ids: list[int]
    _type_ids: list[int]
    _tokens: list[str]
    _words: list[int | None]
    _offsets: list[tuple[int, int]]
    _special: list[int]
    _attention: list[int]
    _overflowing: list[Self]
    _ranges: dict[int, tuple[int, int]]
    _make: Callable[[bool], Self] | None

    def __init__(self) -> None:
        self._fill([], [], [], [], [], [], [])

    def _fill(
        self, ids: list[int], type_ids: list[int], tokens: list[str], words: list[int | None], offsets: list[tuple[int, int]],
        special: list[int], attention: list[int],
    ) -> None:  # fmt: skip
        self._ids, self._type_ids, self._tokens, self._words = ids, type_ids, tokens, words
        self._offsets, self._special, self._attention = offsets, special, attention
        self._overflowing, self._ranges, self._make = [], {}, None

    @classmethod
    def of(
        cls, ids: list[int], tokens: list[str], offsets: list[tuple[int, int]], words: list[Any], type_id: int, special: int = 0
    ) -> Self:  # fmt: skip
        """Of tokens that are all of one kind."""
        made = cls.__new__(cls)
        size = len(ids)
        made._fill(ids, [type_id] * size, tokens, words, offsets, [special] * size, [1] * size)
        return made

    @classmethod
    def bare(cls, ids: list[int], type_id: int) -> Self:
        """Of ids, without anything of a text."""
        size = len(ids)
        return cls.of(ids, [""] * size, [(0, 0)] * size, [None] * size, type_id)

    def make_later(self, make: Callable[[bool], Self]) -> None:
        """Forget all but what each token is by itself, until something else is asked for: then everything is what `make` gives."""
        del self._tokens, self._words, self._offsets, self._overflowing, self._ranges
        self._make = make

    @classmethod
    def early(cls, ids: list[int], type_ids: list[int], special: list[int], attention: list[int], *, make: Callable[[bool], Self]) -> Self:
        """One of which all is known that `make_later` leaves. Columns may be of others, too: nobody changes one, but has another in its place."""
        made = cls.__new__(cls)
        made._ids, made._type_ids, made._special, made._attention, made._make = ids, type_ids, special, attention, make
        return made

    @classmethod
    def later(cls, ids: list[int], make: Callable[[bool], Self]) -> Self:
        """One of which the ids are known, and how to make all of it."""
        made = cls.__new__(cls)
        made._ids, made._make = ids, make
        return made

    def __getattr__(self, name: str) -> Any:
        """Makes what is missing. Only called for what is not there."""
        if name not in SLOTS:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        make = self._make
        if make is not None:
            made = make(name in EARLY)
            rest = made._make
            if rest is None:
                for slot in SLOTS:
                    setattr(self, slot, getattr(made, slot))
            else:
                self._ids, self._type_ids, self._special, self._attention = made._ids, made._type_ids, made._special, made._attention
            self._make = rest  # last: another thread that sees it takes what `made` has to be there
        return object.__getattribute__(self, name)

    def copy(self) -> Self:
        """One that changes by itself."""
        return self.part(0, len(self._tokens), dict(self._ranges), [one.copy() for one in self._overflowing])

    def part(self, start: int, end: int, ranges: dict[int, tuple[int, int]], overflowing: list[Self]) -> Self:
        """Some of the tokens."""
        made = type(self).__new__(type(self))
        made._fill(*(getattr(self, name)[start:end] for name in COLUMNS))
        made._ranges, made._overflowing = ranges, overflowing
        return made

    def __len__(self) -> int:
        return len(self._ids)

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in SLOTS}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._make = None
        for name, value in state.items():
            setattr(self, name, value)
