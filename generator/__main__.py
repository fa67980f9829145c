"""The command line of the generator, and the only code that writes what it makes.

    python -m generator                          write every family of the catalogue to generated/
    python -m generator cl100k o200k             write these
    python -m generator --check                  exit 1, with a diff, if a file is not what would be written
    python -m generator --show bimachine cl100k
    python -m generator --pattern '\\\\w+|\\\\s+' --unicode 16.0 --name mine --out DIR

Files are replaced whole (written beside, then renamed), and only if they change.
"""

from __future__ import annotations

import argparse
import difflib
import keyword
import os
import sys
import tempfile
from pathlib import Path
from typing import NoReturn

from . import Program, compile_family, compile_pattern, families, family
from .dialects import DIALECTS
from .errors import LimitError, PatternError, printable
from .limits import Limits
from .properties import VERSIONS
from .show import STAGES, show, warnings
from .split import BEHAVIORS

OUT = Path(__file__).parent.parent / "generated"
DIFF_LINES = 60
OWN = {"name": "custom", "unicode": "16.0", "dialect": "fancy", "behavior": "isolated", "invert": False}  # of --pattern, where nothing is said
GRAPHS = ("nfa", "dfa", "machine", "bimachine")
EXAMPLES = """\
what is written:
  OUT/python   NAME.py, the tables, and scan.py, what runs them: scan.Machine(**NAME.TABLES).split(text)
  OUT/c        NAME.h and NAME.c, the tables, and what runs them: bitlex.h says how, and 'cc -IOUT/c MAIN.c OUT/c/NAME.c OUT/c/bitlex.c' builds it

examples:
  %(prog)s --out .
  %(prog)s --show peek2 cl100k
  %(prog)s --pattern '\\w+|\\W' --name mine --out .
"""


class Parser(argparse.ArgumentParser):
    """One whose mistakes may quote what was given."""

    def error(self, message: str) -> NoReturn:
        super().error(printable(message))


def parser(prog: str) -> argparse.ArgumentParser:
    found = Parser(
        prog=prog, description="Turn pretokenizer patterns into lexers: Python and C source.", epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    found.add_argument("families", nargs="*", metavar="FAMILY", help="families of the catalogue (default: all)")
    found.add_argument("--all", action="store_true", help="every family of the catalogue; the default when nothing is named")
    found.add_argument("--check", action="store_true", help="write nothing; exit 1 and show a short diff if a file is out of date")
    found.add_argument("--show", choices=STAGES, metavar="STAGE", help=f"print a stage instead of writing: {', '.join(STAGES)}")
    found.add_argument("--dot", action="store_true", help=f"with --show: Graphviz instead of text ({', '.join(GRAPHS)})")
    found.add_argument("--pattern", help="a pattern of your own instead of a family")
    found.add_argument("--name", help=f"its name, an identifier (default: {OWN['name']})")
    found.add_argument("--unicode", choices=VERSIONS, help=f"its Unicode version (default: {OWN['unicode']})")
    found.add_argument("--dialect", choices=sorted(DIALECTS), help=f"its regex engine (default: {OWN['dialect']})")
    found.add_argument("--behavior", choices=BEHAVIORS, help=f"what becomes of a match (default: {OWN['behavior']})")
    found.add_argument("--invert", action="store_const", const=True, help="swap matches and what lies between them")
    found.add_argument("--out", type=Path, help="folder to write to (default of 'python -m generator': generated/ beside it)")
    found.add_argument("--seconds", type=float, default=60.0, help="give up on a pattern after so long (default: %(default)s)")
    return found


def main(arguments: list[str] | None = None, prog: str = "python -m generator") -> int:
    """Run the command line; the exit code: 0, or 1 if something is out of date or wrong."""
    known = parser(prog)
    options = known.parse_args(arguments)
    misused = misuse(options)
    if misused is not None:
        known.error(misused)
    vars(options).update({name: default for name, default in OWN.items() if getattr(options, name) is None})
    try:
        if sys.stdout is None:
            raise OSError("standard output is closed")
        code = run(options)
        sys.stdout.flush()
        return code
    except BrokenPipeError:  # whoever read our output has enough
        discard_output()
        return 0
    except (PatternError, LimitError, ValueError, ImportError, OSError) as error:
        told = f"{error.filename}: {error.strerror}" if isinstance(error, OSError) and error.filename else error
        said = str(told) if isinstance(told, PatternError) else printable(str(told))  # which has several lines, and shows nothing else unescaped
        print(f"error: {said.replace('Limits(seconds=...)', '--seconds')}", file=sys.stderr)
        if isinstance(error, OSError):  # if it was about writing, the interpreter would fail again at its end, with a code of its own
            discard_output()
        return 1


def misuse(options: argparse.Namespace) -> str | None:
    """What is given and would go for nothing, if anything is."""
    own = next((name for name in OWN if getattr(options, name) is not None), None)
    if own is not None and options.pattern is None:
        return f"--{own} goes with --pattern"
    if options.dot and options.show not in GRAPHS:
        return f"--dot goes with --show {', '.join(GRAPHS[:-1])} or {GRAPHS[-1]}"
    if options.show and (options.check or options.out is not None):
        return f"--show writes nothing, and goes without {'--check' if options.check else '--out'}"
    if options.all and options.families:
        return "--all goes without families"
    return None


def discard_output() -> None:
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def run(options: argparse.Namespace) -> int:
    if options.pattern is not None and (options.families or options.all):
        raise ValueError("give either families or --pattern")
    if not options.name.isidentifier() or not options.name.isascii():
        raise ValueError(f"--name {options.name!r} is not an ASCII identifier")
    if keyword.iskeyword(options.name):
        raise ValueError(f"--name {options.name!r} is a keyword of Python, which cannot be imported")
    names = [family(name).name for name in options.families] or list(families())
    if options.show:
        if options.pattern is None and not options.families:
            raise ValueError("--show needs a family or --pattern")
        programs = [custom(options)] if options.pattern is not None else [compile_family(family(name), limits(options)) for name in names]
        for program in programs:
            print(show(program, options.show, dot=options.dot))
        return 0
    return write(options, names)


def custom(options: argparse.Namespace) -> Program:
    return compile_pattern(options.pattern, unicode=options.unicode, dialect=options.dialect, behavior=options.behavior,
                           invert=options.invert, name=options.name, limits=limits(options))  # fmt: skip


def limits(options: argparse.Namespace) -> Limits:
    return Limits(seconds=options.seconds)


def write(options: argparse.Namespace, names: list[str]) -> int:
    try:
        from .emit import LOOPS, SHARED, emit, emit_catalogue
    except ModuleNotFoundError as error:  # only needed to write
        if error.name != "jinja2":
            raise
        raise ImportError("writing source needs jinja2: pip install 'bitlex[generate]'") from None
    files: dict[str, str] = {}
    if options.pattern is not None:
        if options.name.lower() in SHARED:  # on some systems, names that differ by case are one file
            raise ValueError(f"--name {options.name!r} is the name of a file that all lexers share; choose another")
        program = custom(options)
        files = emit(program, command="python -m generator --pattern ...")
        files |= {path: text for path, text in emit_catalogue({}).items() if path in LOOPS}
        warn(program)
    else:
        for name in names:
            program = compile_family(family(name), limits(options))
            files |= emit(program, family(name))
            warn(program)
        files |= emit_catalogue(families())
    out = options.out or OUT
    if options.pattern is not None and options.out is None:
        raise ValueError("--pattern needs --out DIR")
    stale = [path for path, text in sorted(files.items()) if read(out / path) != text]
    whole = options.pattern is None and not options.families
    extra = sorted(set(listing(out)) - set(files)) if whole and out == OUT else []
    if options.check:
        for path in stale:
            print(difference(read(out / path), files[path], path))
        for path in extra:
            print(f"{path}: no family writes this file")
        if stale or extra:
            print(f"{len(stale) + len(extra)} of {len(files)} files are not what the generator writes, which without --check it does: make generate")
        return 1 if stale or extra else 0
    for path in stale:
        replace(out / path, files[path])
    for path in extra:
        (out / path).unlink()
    print(f"{len(files)} files, {len(stale)} written, {len(extra)} removed, in {printable(str(out))}")
    return 0


def warn(program: Program) -> None:
    for warning in warnings(program):
        print(f"warning: {program.name}: {warning}", file=sys.stderr)


def read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None


def listing(folder: Path) -> list[str]:
    found = (path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    return [path for path in found if "__pycache__" not in path]


def difference(old: str | None, new: str, path: str) -> str:
    if old is None:
        return f"{path}: missing"
    lines = list(difflib.unified_diff(old.splitlines(), new.splitlines(), f"{path} (committed)", f"{path} (generated)", lineterm="", n=1))
    shown = [line[:160] for line in lines[:DIFF_LINES]]
    return "\n".join([*shown, f"... {len(lines) - DIFF_LINES} more lines"] if len(lines) > DIFF_LINES else shown)


def replace(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException as error:
        os.unlink(temporary)
        if isinstance(error, OSError):  # a full disk, say, of which the system tells without a name
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise


if __name__ == "__main__":
    sys.exit(main())
