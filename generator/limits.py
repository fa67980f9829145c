"""Bounds on compiling one lexer, so that a pattern from an untrusted file can neither hang nor exhaust memory.

Every stage that can grow, or that may take long, asks here before it goes on; the message names the limit, its value and how to raise it:

    limits = Limits(seconds=2.0)
    limits.check("states", 5000)        # LimitError: more than 4000 states ...
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from numbers import Real

from .errors import LimitError

__all__ = ["Limits"]


@dataclass(frozen=True)
class Limits:
    """`characters` of one pattern, `instructions` of one NFA, `states` of one automaton in either direction, `cells` of one alphabet,
    and `seconds` of one compile.

    `work` bounds the entries of the tables that are explored before they are made small, and so the memory.
    """

    characters: int = 200_000
    instructions: int = 50_000
    states: int = 4_000
    cells: int = 255
    work: int = 50_000_000
    seconds: float = 60.0
    _started: float = field(default_factory=time.monotonic, repr=False, compare=False)

    def __post_init__(self) -> None:
        for what in ("characters", "instructions", "states", "cells", "work"):
            if not hasattr(getattr(self, what), "__index__"):
                raise TypeError(f"{what} is {getattr(self, what)!r:.80}; it may be an int")
        if not isinstance(self.seconds, Real):
            raise TypeError(f"seconds is {self.seconds!r:.80}; it may be a number")

    def started(self) -> Limits:
        """These limits, with the clock at zero: a compile begins, and the same limits may serve for many."""
        return replace(self, _started=time.monotonic())

    def check(self, what: str, amount: int) -> None:
        """Raise `LimitError` if `amount` of `what` is above the limit, or if the time is over."""
        bound = getattr(self, what)
        if amount > bound:
            raise LimitError(f"this pattern needs more than {bound:,} {what}; raise the limit with Limits({what}=...) if you trust it")
        self.check_time()

    def check_time(self) -> None:
        """Raise `LimitError` if the time is over."""
        if time.monotonic() - self._started > self.seconds:
            raise LimitError(f"compiling this pattern took more than {self.seconds:g} seconds; raise the limit with Limits(seconds=...)")
