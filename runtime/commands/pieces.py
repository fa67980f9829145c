"""Commands that split texts into pieces: `bitlex split`, and `bitlex explain` for why."""

from __future__ import annotations

import argparse
import os
from typing import Any

from .. import Lexer, compile, lexer
from ..formats import FORMATS, chunks, visible
from ..opening import STANDARD_INPUT, mapped, opened
from . import Commands, as_text
from .console import complain, print_table, write

__all__ = ["add"]

SPLIT = """\
what is printed (--format):
  text      a piece a line; what cannot be seen is escaped: \\n \\r \\t \\\\, \\uXXXX, and \\xXX for bytes that are not UTF-8
  json      a JSON array of strings a text, on one line; bytes that are not UTF-8 as \\udcXX (Python's surrogateescape)
  offsets   start and end of a piece a line, in bytes
  color     the text, pieces on two backgrounds by turns

examples:
  bitlex split --family cl100k README.md
  echo "it's" | bitlex split --family gpt2 --format json
  bitlex split --pattern '\\w+|\\s' --unicode 15.0 --behavior removed --invert FILE...
"""
EXPLAIN = """\
columns: start and end in bytes, the step, the alternative of its pattern, the piece, the text of the alternative

example:
  bitlex explain --family cl100k "it's 12345"
"""


def add(commands: Commands) -> None:
    split = commands.add("split", run_split, "print the pieces of files", SPLIT)
    which_lexer(split)
    split.add_argument("--format", choices=list(FORMATS), default="text", help="what is printed, see below (default: %(default)s)")
    split.add_argument("files", nargs="*", metavar="FILE", help="UTF-8; '-', or no file at all, is standard input")
    explain = commands.add("explain", run_explain, "say which part of the pattern made each piece of a short text", EXPLAIN)
    which_lexer(explain)
    explain.add_argument("text", nargs="?", help="the text itself (default: standard input)")


def which_lexer(to: argparse.ArgumentParser) -> None:
    which = to.add_mutually_exclusive_group(required=True)
    which.add_argument("--family", help="a family, as 'bitlex families' lists them")
    which.add_argument("--pattern", type=as_text, help="a regular expression of your own")
    own = to.add_argument_group("for --pattern")
    own.add_argument("--unicode", help="version of the character properties (default: 16.0)")
    own.add_argument(
        "--dialect", choices=["fancy", "oniguruma", "python"], help="the engine that it is written for (default: fancy)"
    )
    own.add_argument("--behavior", choices=["isolated", "removed", "merged_with_previous", "merged_with_next", "contiguous"],
                     help="what becomes of a match (default: isolated)")  # fmt: skip
    own.add_argument("--invert", action="store_const", const=True, help="swap matches and the text between them")


def chosen(options: argparse.Namespace) -> Lexer:
    own: dict[str, Any] = {name: getattr(options, name) for name in ("unicode", "dialect", "behavior", "invert")}
    own = {name: value for name, value in own.items() if value is not None}
    if options.pattern is not None:
        return compile(options.pattern, **own)
    if own:
        options.misused(f"--{next(iter(own))} goes with --pattern")
    return lexer(options.family)


def run_split(options: argparse.Namespace) -> int:
    splitter, code = chosen(options), 0
    for name in options.files or [STANDARD_INPUT]:
        try:
            with opened(name) as file:
                data = mapped(file)
        except OSError as error:  # the other files may still be there
            code = complain(error)
            continue
        write(chunks(options.format, data, splitter._machine.iterate(data)))
    return code


def run_explain(options: argparse.Namespace) -> int:
    splitter = chosen(options)
    if options.text is not None:
        text = os.fsencode(options.text)
    else:
        with opened(STANDARD_INPUT) as file:
            text = file.read()
    rows = [("START", "END", "STEP", "ALTERNATIVE", "PIECE", "SOURCE")]
    for found in splitter.explain(text):
        alternative = "-" if found.alternative is None else str(found.alternative + 1)
        piece = visible(text[found.start : found.end])
        rows.append((str(found.start), str(found.end), str(found.step + 1), alternative, piece, found.source))
    print_table(rows)
    return 0
