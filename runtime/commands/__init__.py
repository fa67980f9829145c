"""The commands of `bitlex`, one module for each few: each adds its arguments to the command line, and says what to run.

    def add(commands: Commands) -> None:
        mine = commands.add("count", run_count, "count the tokens of files", EXAMPLES)
        mine.add_argument("files", nargs="*")

What runs gets the parsed arguments and returns the exit code. Invariant: these modules import nothing that takes time; what does is
imported where it is used, so that `bitlex --help` comes at once.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NoReturn

__all__ = ["Commands", "Parser", "as_text"]


def as_text(given: str) -> str:
    """An argument that is a text, and no name of a file: as UTF-8, whatever language the rest of the system is in. For argparse."""
    try:
        given.encode()
    except UnicodeEncodeError:  # bytes that the language of the system does not have
        with suppress(UnicodeDecodeError):
            return os.fsencode(given).decode()
    return given


class Parser(argparse.ArgumentParser):
    """One whose mistakes may quote what was given: also names of files that a shell has put in the place of a glob."""

    def error(self, message: str) -> NoReturn:
        from ..formats import printable

        super().error(printable(message))


class Commands:
    """Where commands are added. All have help with examples, and no option may be abbreviated."""

    def __init__(self, parser: argparse.ArgumentParser) -> None:
        self.parsers: Any = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)

    def add(self, name: str, run: Callable[[argparse.Namespace], int], help: str, *epilog: str) -> argparse.ArgumentParser:
        made: argparse.ArgumentParser = self.parsers.add_parser(
            name, help=help, description=help[0].upper() + help[1:] + ".", epilog="\n".join(epilog), allow_abbrev=False,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )  # fmt: skip
        made.set_defaults(run=run, misused=made.error)
        return made
