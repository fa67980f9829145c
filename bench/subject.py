"""What is measured: a family of the catalogue or a pattern, as our lexer on any tier, and as others want to be told of it."""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property

import bitlex
from bitlex.generator import Program, Step, compile_steps, family

from .native import Unavailable


@dataclass(frozen=True)
class Subject:
    """What is measured: a family of the catalogue, or a pattern."""

    name: str
    steps: tuple[Step, ...]
    dialect: str
    unicode: str
    known: bool

    @classmethod
    def family(cls, name: str) -> Subject:
        found = family(bitlex.lexer(name).name)
        return cls(found.name, found.steps, found.dialect, found.unicode, True)

    @classmethod
    def pattern(cls, name: str, regex: str) -> Subject:
        return cls(f"pattern {name}", (Step("Split", regex=regex),), "python", "17.0", False)

    def lexer(self, tier: str | None = None) -> bitlex.Lexer:
        """Its lexer on at most this tier."""
        with at_most(tier):
            if self.known:
                return bitlex.lexer(self.name)
            known: bitlex.Lexer = pickle.loads(self.compiled)  # makes it anew of its tables
            return known

    @cached_property
    def compiled(self) -> bytes:
        """The lexer of a pattern, which may take seconds, for any tier."""
        return pickle.dumps(bitlex.compile(str(self.steps[0].regex), dialect="python", unicode=self.unicode, name=self.name))

    @cached_property
    def program(self) -> Program:
        return compile_steps(self.steps, self.dialect, self.unicode, self.name)

    @property
    def patterns(self) -> list[str]:
        """Its regular expressions, for engines that take nothing else."""
        if any(step.kind != "Split" or step.regex is None or step.behavior != "isolated" for step in self.steps):
            raise Unavailable("its steps are not all regular expressions whose matches are isolated")
        return [str(step.regex) for step in self.steps]


@contextmanager
def at_most(tier: str | None) -> Iterator[None]:
    before = os.environ.pop("BITLEX_TIER", None)
    try:
        if tier is not None:
            os.environ["BITLEX_TIER"] = tier
        yield
    finally:
        os.environ.pop("BITLEX_TIER", None)
        if before is not None:
            os.environ["BITLEX_TIER"] = before
