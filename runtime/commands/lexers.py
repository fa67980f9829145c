"""Commands about lexers: `bitlex families` lists them, `same` compares two, `prove` proves their tables, `generate` writes one."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

from .. import Lexer, catalogue, lexer
from ..lexers import wanted_tier
from . import Commands, as_text
from .console import complain, print_table

__all__ = ["add", "generate"]

PROVE = """\
The tables are read back from the emitted Python and C sources, and compared with a second derivation of what the pattern means, which
shares no code with the first: that is for texts of every length. Then every text of 1..K characters is tried, over representatives of
every cell: the pattern itself, run by the `regex` module with every set spelled out as ranges, against the tables run by the pure
Python loop and, where it was built, by the C extension. Exit code 0 only if all are proved and no text differs; else a shortest text
is printed.

examples:
  bitlex prove cl100k o200k
  bitlex prove --all
  bitlex prove cl100k --k 4
  bitlex prove --pattern '\\w+|\\s' --k 2
"""
SAME = """\
Exit code 0 if they are the same on every text of every length; 1 if they differ, and a shortest text on which they do is printed; 2 if one of
them is no lexer.

examples:
  bitlex same cl100k llama3
  bitlex same gpt2 "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"
"""


def add(commands: Commands) -> None:
    same = commands.add("same", run_same, "say whether two lexers split every text alike", SAME)
    for side in ("first", "second"):
        same.add_argument(side, type=as_text, metavar=side.upper(), help="a family, or a pattern (fancy dialect, Unicode 16.0)")
    prove = commands.add("prove", run_prove, "prove that emitted tables split every text as the pattern does", PROVE)
    prove.add_argument("families", nargs="*", metavar="FAMILY", help="families, as 'bitlex families' lists them")
    prove.add_argument("--all", action="store_true", help="every family")
    prove.add_argument("--pattern", type=as_text, help="a pattern of your own (needs jinja2, to emit it)")
    prove.add_argument("--dialect", default="fancy", choices=["fancy", "oniguruma", "python"], help="its engine (default: %(default)s)")
    prove.add_argument("--unicode", default="16.0", help="its version of the character properties (default: %(default)s)")
    prove.add_argument("--k", type=length, default=3, metavar="K", help="longest text to try; 0: the proof alone (default: %(default)s)")
    families = commands.add("families", run_families, "list the families", "example:\n  bitlex families --json")
    families.add_argument("--json", action="store_true", help="everything known of them, as a JSON array")
    commands.add("generate", run_generate, "write a lexer as Python and C source", "")  # for the list; its arguments are read elsewhere


def length(given: str) -> int:
    """A number of characters, for argparse."""
    if not given.isdecimal():
        raise argparse.ArgumentTypeError(f"not a number of characters: {given!r}")
    return int(given)


def run_same(options: argparse.Namespace) -> int:
    from ..comparison import difference

    note_misspelled(options.first, options.second)
    try:
        found = difference(options.first, options.second)
    except ValueError as error:
        complain(error)
        return 2  # as of cmp: 1 would say that they differ
    if found is None:
        print("the same on every text")
        return 0
    print(f"different, first on {found.text!r}:\n  first   {found.first}\n  second  {found.second}")
    return 1


def note_misspelled(first: str, second: str) -> None:
    """Say of what looks like a name, next to a family, that it is taken for a pattern."""
    names = {name for known, aliases in catalogue.families().items() for name in (known, *aliases)}
    for one, other in ((first, second), (second, first)):
        if other in names and one not in names and re.fullmatch(r"[\w.-]+", one):
            try:
                why = f"the family is spelled {catalogue.canonical_name(one)}"
            except ValueError as error:
                why = str(error)
            complain(f"{one!r} is read as a pattern: {why}")


def run_prove(options: argparse.Namespace) -> int:
    from importlib.util import find_spec

    if find_spec("interegular") is None:
        return complain("the proof needs interegular: pip install 'bitlex[prove]'")
    if options.k and find_spec("regex") is None:
        return complain("trying short texts needs regex: pip install 'bitlex[prove]'; the proof alone does not: --k 0")
    from ..proving import prove

    if options.pattern is not None and (options.families or options.all):
        options.misused("--pattern goes without families")
    if options.pattern is not None:
        from ..generator import compile_pattern

        if find_spec("jinja2") is None:
            return complain("writing source needs jinja2: pip install 'bitlex[generate]'")
        asked: list[Any] = [compile_pattern(options.pattern, unicode=options.unicode, dialect=options.dialect)]
    else:
        asked = list(catalogue.families()) if options.all else [catalogue.canonical_name(name) for name in options.families]
    if not asked:
        return complain("say what to prove: families, --all or --pattern")
    return min(prove(asked, options.k), 1)


def run_families(options: argparse.Namespace) -> int:
    known = []
    for name, aliases in catalogue.families().items():
        module = catalogue.family_module(name)
        tables = module.TABLES
        known.append({
            "name": name, "aliases": list(aliases), "unicode": module.UNICODE, "dialect": module.DIALECT, "cells": module.CELLS,
            "states": [list(pair) for pair in module.STATES], "table_bytes": size_of(tables.values()),
            "drops": tables["drops"], "bytewise": "continuation" in tables, **runs_on(lexer(name)),
            "reference": module.REFERENCE, "source": module.SOURCE, "note": module.NOTE, "steps": list(module.STEPS),
        })  # fmt: skip
    if options.json:
        print(json.dumps(known, indent=2))
        return 0
    rows = [("NAME", "UNICODE", "ENGINE", "CELLS", "STATES", "BYTES", "RUNS ON", "ALIASES")]
    for one in known:
        states = " ".join(f"{backward}+{forward}" for backward, forward in one["states"])
        size, listed = f"{one['table_bytes']:,}", ", ".join(one["aliases"])
        rows.append((one["name"], one["unicode"], one["dialect"], str(one["cells"]), states, size, one["tier"], listed))
    print_table(rows)
    return 0


def runs_on(one: Lexer) -> dict[str, str]:
    """The tier of a lexer here, and what decided it."""
    wanted = wanted_tier()
    allowed = " and BITLEX_TIER allows" if wanted else ""
    if one.tier == wanted:
        why = "BITLEX_TIER"
    elif one.tier == "pure":
        why = "the C extension is not built"
    elif one.tier != "portable":
        why = f"the best that this processor has{allowed}"
    elif len(one.states) > 1:
        why = "several stages"
    else:
        why = f"no vector instructions that bitlex knows on this processor{allowed}, or more states, columns or labels than fit its tables"
        why += " (docs/lanes.md)"
    return {"tier": one.tier, "tier_reason": why}


def size_of(tables: Iterable[Any]) -> int:
    return sum(len(t) if isinstance(t, bytes) else size_of(t) if isinstance(t, tuple) else 0 for t in tables)


def run_generate(options: argparse.Namespace) -> int:
    return generate([])


def generate(arguments: list[str]) -> int:
    """`python -m generator`, except that the files have to go somewhere else than into the installed package."""
    from ..generator.__main__ import main as generator

    harmless = ("--o", "--show", "--check", "--help", "-h")
    if not any(argument.startswith(harmless) for argument in arguments):
        print("bitlex generate: say where to write to, with --out DIR (or see --help)", file=sys.stderr)
        return 2
    arguments = [one if before.startswith("--o") or one.startswith("--o") else as_text(one) for before, one in pairwise(["", *arguments])]
    return generator(arguments, "bitlex generate")
