"""The command `bitlex`. Arguments, files or standard input in; text on standard output and an exit code out.

    bitlex split --family cl100k README.md
    bitlex families

Exit codes: 0 done, 1 something given is wrong or missing (one message, no traceback), 2 the command line is, 130 Ctrl-C. A reader
that closes the pipe ends it quietly. Files are mapped into memory, and what is printed is written in chunks as it is found.
"""

from __future__ import annotations

import argparse
import json
import mmap
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, BinaryIO

from . import Lexer, __version__, catalogue, compile, lexer
from .formats import FORMATS, chunks, visible
from .lexer import wanted_tier

__all__ = ["main", "run"]

EXAMPLES = """\
examples:
  bitlex split --family cl100k README.md
  bitlex explain --family cl100k "it's 12345"
  bitlex families

'bitlex COMMAND --help' says more.
"""
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
Exit code 0 if they are the same on every text of every length; else 1, and a shortest text on which they differ is printed.

examples:
  bitlex same cl100k llama3
  bitlex same gpt2 "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"
"""
EXPLAIN = """\
columns: start and end in bytes, the step, the alternative of its pattern, the piece, the text of the alternative

example:
  bitlex explain --family cl100k "it's 12345"
"""


def main(arguments: list[str] | None = None) -> int:
    """Run the command; the exit code."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if arguments[:1] == ["generate"]:
        return generate(arguments[1:])
    options = parser().parse_args(arguments)
    if sys.stdout is None:
        raise OSError("standard output is closed")
    done: int = options.run(options)
    sys.stdout.flush()
    return done


def run() -> None:
    """Run the command and leave, whatever happens on the way."""
    try:
        code = main()
    except BrokenPipeError:  # the reader has seen enough
        discard_output()
        code = 0
    except KeyboardInterrupt:
        code = 130
    except (ValueError, OSError) as error:  # PatternError and LimitError are ValueErrors
        code = complain(error)
        if isinstance(error, OSError):  # if it was about writing, the interpreter would fail again at its end, with a code of its own
            discard_output()
    sys.exit(code)


def discard_output() -> None:
    """Let what is still buffered go nowhere."""
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def complain(error: Exception | str) -> int:
    if isinstance(error, OSError) and error.strerror:
        error = f"{error.filename}: {error.strerror}" if error.filename is not None else error.strerror
    if sys.stderr is not None:
        print(f"bitlex: {error}", file=sys.stderr)
    return 1


def parser() -> argparse.ArgumentParser:
    found = argparse.ArgumentParser(
        prog="bitlex", description="Split text as the pretokenizers of language models do.", epilog=EXAMPLES, allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    found.add_argument("--version", action="version", version=f"bitlex {__version__}")
    commands = found.add_subparsers(title="commands", metavar="COMMAND", required=True)

    def command(name: str, run: Callable[[argparse.Namespace], int], help: str, epilog: str) -> argparse.ArgumentParser:
        made = commands.add_parser(name, help=help, description=help[0].upper() + help[1:] + ".", epilog=epilog, allow_abbrev=False,
                                   formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
        made.set_defaults(run=run)
        return made

    split = command("split", run_split, "print the pieces of files", SPLIT)
    which_lexer(split)
    split.add_argument("--format", choices=list(FORMATS), default="text", help="what is printed, see below (default: %(default)s)")
    split.add_argument("files", nargs="*", metavar="FILE", help="UTF-8; '-', or no file at all, is standard input")
    explain = command("explain", run_explain, "say which part of the pattern made each piece of a short text", EXPLAIN)
    which_lexer(explain)
    explain.add_argument("text", nargs="?", help="the text itself (default: standard input)")
    same = command("same", run_same, "say whether two lexers split every text alike", SAME)
    for side in ("first", "second"):
        same.add_argument(side, metavar=side.upper(), help="a family, or a pattern (fancy dialect, Unicode 16.0)")
    prove = command("prove", run_prove, "prove that emitted tables split every text as the pattern does", PROVE)
    prove.add_argument("families", nargs="*", metavar="FAMILY", help="families, as 'bitlex families' lists them")
    prove.add_argument("--all", action="store_true", help="every family")
    prove.add_argument("--pattern", help="a pattern of your own (needs jinja2, to emit it)")
    prove.add_argument("--dialect", default="fancy", choices=["fancy", "oniguruma", "python"], help="its engine (default: %(default)s)")
    prove.add_argument("--unicode", default="16.0", help="its version of the character properties (default: %(default)s)")
    prove.add_argument("--k", type=length, default=3, metavar="K", help="longest text to try; 0: the proof alone (default: %(default)s)")
    families = command("families", run_families, "list the families", "example:\n  bitlex families --json")
    families.add_argument("--json", action="store_true", help="everything known of them, as a JSON array")
    command("generate", run_families, "write a lexer as Python and C source", "")  # for --help; `main` handles it
    return found


def length(given: str) -> int:
    """A number of characters, for argparse."""
    if not given.isdecimal():
        raise argparse.ArgumentTypeError(f"not a number of characters: {given!r}")
    return int(given)


def which_lexer(to: argparse.ArgumentParser) -> None:
    which = to.add_mutually_exclusive_group(required=True)
    which.add_argument("--family", help="a family, as 'bitlex families' lists them")
    which.add_argument("--pattern", help="a regular expression of your own")
    own = to.add_argument_group("for --pattern")
    own.add_argument("--unicode", help="version of the character properties (default: 16.0)")
    own.add_argument(
        "--dialect", choices=["fancy", "oniguruma", "python"], help="the engine that it is written for (default: fancy)"
    )
    own.add_argument("--behavior", choices=["isolated", "removed", "merged_with_previous", "merged_with_next", "contiguous"],
                     help="what becomes of a match (default: isolated)")  # fmt: skip
    own.add_argument("--invert", action="store_const", const=True, help="swap matches and the text between them")
    to.set_defaults(complain=to.error)


def chosen(options: argparse.Namespace) -> Lexer:
    own: dict[str, Any] = {name: getattr(options, name) for name in ("unicode", "dialect", "behavior", "invert")}
    own = {name: value for name, value in own.items() if value is not None}
    if options.pattern is not None:
        return compile(options.pattern, **own)
    if own:
        options.complain(f"--{next(iter(own))} goes with --pattern")
    return lexer(options.family)


def run_split(options: argparse.Namespace) -> int:
    splitter, code = chosen(options), 0
    for name in options.files or ["-"]:
        try:
            with opened(name) as data:
                write(chunks(options.format, data, splitter._machine.iterate(data)))
        except BrokenPipeError:
            raise
        except OSError as error:  # the other files may still be there
            code = complain(error)
    return code


def write(parts: Iterable[bytes]) -> None:
    for part in parts:
        sys.stdout.buffer.write(part)
    sys.stdout.buffer.flush()


@contextmanager
def opened(name: str) -> Iterator[memoryview]:
    """The bytes of a file, mapped where it can be mapped, else read."""
    if name == "-":
        if sys.stdin is None:
            raise OSError("standard input is closed")
        yield from viewed(sys.stdin.buffer)
        return
    with open(name, "rb") as file:
        yield from viewed(file)


def viewed(file: BinaryIO) -> Iterator[memoryview]:
    try:
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError):  # a pipe, a terminal, an empty file
        yield memoryview(file.read())
        return
    if file.tell():  # a part of standard input was read before us
        yield memoryview(mapped)[file.tell() :]
    else:
        yield memoryview(mapped)


def run_explain(options: argparse.Namespace) -> int:
    splitter = chosen(options)
    if options.text is not None:
        text = os.fsencode(options.text)
    else:
        with opened("-") as data:
            text = bytes(data)
    rows = [("START", "END", "STEP", "ALTERNATIVE", "PIECE", "SOURCE")]
    for found in splitter.explain(text):
        alternative = "-" if found.alternative is None else str(found.alternative + 1)
        piece = visible(text[found.start : found.end])
        source = "\\".join(visible(part.encode("utf-8", "replace")) for part in found.source.split("\\"))  # as it was written
        rows.append((str(found.start), str(found.end), str(found.step + 1), alternative, piece, source))
    print_table(rows)
    return 0


def run_same(options: argparse.Namespace) -> int:
    from .comparison import difference

    found = difference(options.first, options.second)
    if found is None:
        print("the same on every text")
        return 0
    print(f"different, first on {found.text!r}:\n  first   {found.first}\n  second  {found.second}")
    return 1


def run_prove(options: argparse.Namespace) -> int:
    from importlib.util import find_spec

    if find_spec("interegular") is None:
        return complain("the proof needs interegular: pip install 'bitlex[prove]'")
    if options.k and find_spec("regex") is None:
        return complain("trying short texts needs regex: pip install 'bitlex[prove]'; the proof alone does not: --k 0")
    from .proving import prove

    if options.pattern is not None:
        from .generator import compile_pattern

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
    if one.tier == wanted:
        why = "BITLEX_TIER"
    elif one.tier == "pure":
        why = "the C extension is not built"
    elif one.tier != "portable":
        why = "the best that this processor has" + (" and BITLEX_TIER allows" if wanted else "")
    elif len(one.states) > 1:
        why = "several stages"
    else:
        why = "no vector instructions that bitlex knows on this processor, or more states, columns or labels than fit its tables (docs/lanes.md)"
    return {"tier": one.tier, "tier_reason": why}


def size_of(tables: Iterable[Any]) -> int:
    return sum(len(t) if isinstance(t, bytes) else size_of(t) if isinstance(t, tuple) else 0 for t in tables)


def print_table(rows: Sequence[tuple[str, ...]]) -> None:
    """Columns side by side, the last one ragged."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]) - 1)]
    lines = (
        "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[-1]]).rstrip() + "\n" for row in rows
    )
    write(line.encode("utf-8", "surrogateescape") for line in lines)


def generate(arguments: list[str]) -> int:
    """`python -m generator`, except that the files have to go somewhere else than into the installed package."""
    from importlib.util import find_spec

    from .generator.__main__ import main as generator

    harmless = ("--o", "--show", "--check", "--help", "-h")
    if not any(argument.startswith(harmless) for argument in arguments):
        print("bitlex generate: say where to write to, with --out DIR (or see --help)", file=sys.stderr)
        return 2
    if find_spec("jinja2") is None and not any(argument.startswith(("--show", "--help", "-h")) for argument in arguments):
        return complain("writing source needs jinja2: pip install 'bitlex[generate]'")
    return generator(arguments)
