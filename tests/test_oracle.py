"""Every engine of ours against the definition, for every family: all short texts, many longer ones, and texts that broke others.

BITLEX_K=4 tries all texts of up to four representatives with every engine (minutes); the default is three, and four for the fastest
engine where that is at most 250,000 texts, which all families are.
"""

from __future__ import annotations

import os
from functools import cache

import pytest

from engines import engines, fastest
from generator import Program, compile_family, families
from generator.cells import Partition
from generator.codeset import CodeSet
from oracle import Module
from texts import TORTURE, random_texts, representatives, tuples

K = int(os.environ.get("BITLEX_K", "3"))
MOST = 250_000
LATIN = CodeSet([(0, 0x1FF)])  # the byte alphabet


@cache
def compiled(name: str) -> Program:
    return compile_family(families()[name])


def alphabet_of(program: Program, cells: Partition | None = None) -> list[str]:
    """One character of each cell. A lexer that reads bytes has no lone surrogates to read, and all kinds of further bytes instead."""
    bytewise = bool(program.continuation)
    found = representatives(cells or program.raw, surrogates=not bytewise)
    return [*found, *(c for c in "\u00b2\u0132\u4e2d\U0001f4b2" if c not in found)] if bytewise else found


def names() -> list[str]:
    return list(families())


@pytest.mark.parametrize("name", names())
def test_all_short_texts(name: str) -> None:
    program = compiled(name)
    alphabet = alphabet_of(program)
    oracle = Module(program.plans, CodeSet.of(*alphabet) | LATIN)
    engine_of = engines(program)
    for text in tuples(alphabet, K):
        wanted = oracle(text)
        for label, engine in engine_of.items():
            assert engine(text) == wanted, (label, text)


@pytest.mark.parametrize("name", names())
def test_four_characters(name: str) -> None:
    program = compiled(name)
    alphabet = alphabet_of(program, program.cells)
    if len(alphabet) ** 4 > MOST:
        pytest.skip(f"{len(alphabet)} cells: more than {MOST:,} texts of four; BITLEX_K=4 tries them")
    oracle, engine = Module(program.plans, CodeSet.of(*alphabet) | LATIN), fastest(program)
    for text in tuples(alphabet, 4, 4):
        assert engine(text) == oracle(text), text


@pytest.mark.parametrize("name", names())
def test_longer_texts(name: str) -> None:
    program = compiled(name)
    alphabet = alphabet_of(program)
    oracle = Module(program.plans)
    engine_of = engines(program)
    surrogate = [] if program.continuation else ["x\ud800 y"]
    for text in [*TORTURE, *surrogate, *random_texts(alphabet, 150, seed=len(alphabet))]:
        wanted = oracle(text)
        for label, engine in engine_of.items():
            assert engine(text) == wanted, (label, text)
