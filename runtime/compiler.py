"""compile: a pattern of your own, or the pre_tokenizer of a tokenizer.json, as a Lexer, in process.

    compile(r"\\p{L}+|\\p{N}|\\s+").split("ab 1")                           # ["ab", " ", "1"]
    compile(json.load(file)["pre_tokenizer"]).split(text)

The generator is loaded by the first call; it needs no compiler and no package but the standard library.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, overload

from .lexers import Lexer

if TYPE_CHECKING:
    from .generator import Limits, Program, Step
    from .generator.families import Behavior, DialectName
    from .generator.pack import Tables

__all__ = ["compile", "compile_again", "machine_arguments"]


@overload
def compile(
    pattern: str, *, unicode: str = "16.0", dialect: DialectName | None = "fancy", behavior: Behavior | None = "isolated",
    invert: bool | None = False, name: str = "custom", limits: Limits | None = None,
) -> Lexer: ...  # fmt: skip
@overload
def compile(
    pattern: Mapping[str, Any] | None, *, unicode: str = "16.0", dialect: DialectName | None = "oniguruma", behavior: None = None,
    invert: None = None, name: str = "custom", limits: Limits | None = None,
) -> Lexer: ...  # fmt: skip
def compile(
    pattern: str | Mapping[str, Any] | None, *, unicode: str = "16.0", dialect: DialectName | None = None,
    behavior: Behavior | None = None, invert: bool | None = None, name: str = "custom", limits: Limits | None = None,
) -> Lexer:  # fmt: skip
    """A lexer that splits as the given pattern does in the engine that it was written for.

    pattern   a regular expression; or the `pre_tokenizer` object of a tokenizer.json as `json.load` gives it (a dict, or None for
              `null`), which says by itself what its steps are, so that `behavior` and `invert` are a TypeError beside it
    unicode   the version of the character properties: "14.0", "15.0", "15.1", "16.0", "17.0" or "18.0"
    dialect   whose reading of the syntax: "fancy" (fancy-regex, in tiktoken; the default for a regular expression), "oniguruma"
              (in Hugging Face tokenizers; the default for a pre_tokenizer) or "python" (the `regex` module)
    behavior  what becomes of a match: "isolated" (a piece of its own), "removed", "merged_with_previous", "merged_with_next" or
              "contiguous" (neighbouring matches are one piece). Text between matches is a piece as well
    invert    swap matches and the text between them
    name      what `repr` and `Lexer.name` say
    limits    bounds on the size and the time of compiling, `bitlex.Limits(...)`; the default is fit for patterns of strangers

    tiktoken drops the text that its pattern leaves unmatched: `behavior="removed", invert=True` does so. "isolated" keeps it, as
    Hugging Face tokenizers do. The two agree on patterns that match everything, which nearly all published ones do.

    PatternError (a ValueError) says what in the pattern is malformed or cannot be a lexer, such as a backreference, and points at
    it; LimitError (a ValueError) that its lexer would be too large. Other ValueErrors are about arguments, such as an unknown
    Unicode version. Compiling takes from a few milliseconds to a few seconds, and nothing is cached: keep the Lexer, or pickle it.
    """
    from .generator import Limits, compile_steps, steps_from_pre_tokenizer
    from .generator.families import step

    if pattern is not None and not isinstance(pattern, (str, Mapping)):
        raise TypeError(f"pattern: expected a str, a pre_tokenizer object or None, got {type(pattern).__name__}")
    if not isinstance(unicode, str):
        raise TypeError(f"unicode: expected a str such as '16.0', got {type(unicode).__name__}")
    if limits is not None and not isinstance(limits, Limits):
        raise TypeError(f"limits: expected bitlex.Limits or None, got {type(limits).__name__}")
    if isinstance(pattern, str):
        made = {"type": "Split", "regex": pattern, "behavior": behavior or "isolated", "invert": bool(invert)}
        steps: tuple[Step, ...] = (step(made, "compile"),)
    elif behavior is not None or invert is not None:
        raise TypeError("behavior and invert go with a regular expression; a pre_tokenizer object has its own")
    else:
        steps = steps_from_pre_tokenizer(pattern)
    dialect = dialect or ("fancy" if isinstance(pattern, str) else "oniguruma")
    return from_program(compile_steps(steps, dialect, unicode, name, limits))


def from_program(program: Program) -> Lexer:
    """A Lexer over the tables of a compiled program."""
    from .generator.families import step_fields
    from .generator.pack import pack

    tables = pack(program)
    steps = [step_fields(step) for step in program.steps]
    return Lexer(
        name=program.name, dialect=program.dialect, unicode=program.unicode, steps=steps, cells=tables.cells,
        states=tuple((s.backward_states, s.forward_states) for s in tables.stages), tables=machine_arguments(tables),
    )  # fmt: skip


def machine_arguments(tables: Tables) -> dict[str, Any]:
    """Tables of the generator as the keyword arguments of a Machine, in either tier."""
    stages = tuple(
        (s.columns, s.column_count, s.label_count, s.backward_next, s.backward_label, s.backward_end, s.forward_next, s.output)
        for s in tables.stages
    )
    packed: dict[str, Any] = {name: getattr(tables, name) for name in ("shift", "stage1", "wide", "stage2", "cells", "drops")}
    packed["stages"] = stages
    if tables.continuation:
        packed["continuation"] = tables.continuation
    return packed


def compile_again(lexer: Lexer) -> Program:
    """The program of a lexer: its pattern and automata, which the packed tables do not hold."""
    from .generator import Step

    return program_of(tuple(Step(**fields) for fields in lexer.steps), lexer.dialect, lexer.unicode, lexer.name)


@lru_cache(maxsize=4)  # whoever asks about one text asks about the next
def program_of(steps: tuple[Step, ...], dialect: DialectName, unicode: str, name: str) -> Program:
    from .generator import Limits, compile_steps

    # It was compiled before.
    unlimited = Limits(characters=1 << 40, instructions=1 << 40, states=1 << 40, cells=1 << 40, work=1 << 60, seconds=float("inf"))
    return compile_steps(steps, dialect, unicode, name, unlimited)
