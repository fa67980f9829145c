"""The command `bitlex`. Arguments, files or standard input in; text on standard output, files, and an exit code out.

    bitlex encode -t cl100k_base.tiktoken README.md
    bitlex split --family cl100k README.md

The commands are in `commands/`. Exit codes: 0 done, 1 something given is wrong or missing (one message, no traceback), 2 the command
line is, 130 Ctrl-C, 129 and 143 SIGHUP and SIGTERM, after what was begun has been cleared away. A reader that closes the pipe ends it
quietly. Files are mapped into memory, and what is printed is written in chunks as it is found.
"""

from __future__ import annotations

import signal
import sys
from io import TextIOWrapper
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable

__all__ = ["main", "run"]

EXAMPLES = """\
examples:
  bitlex encode -t cl100k_base.tiktoken README.md
  bitlex count -t tokenizer.json 'src/**/*.py'
  bitlex show -t tokenizer.json "it's 12345"
  bitlex split --family cl100k README.md
  bitlex families

'bitlex COMMAND --help' says more.
"""


ENDING = (signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM))
came: list[int] = []  # the signals that are to end this


def main(arguments: list[str] | None = None) -> int:
    """Run the command; the exit code."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if arguments[:1] == ["generate"]:
        from .commands import lexers

        return lexers.generate(arguments[1:])
    options, unknown = parser().parse_known_args(arguments)
    more = files_among(unknown) if "files" in options else None
    if more is not None:
        options.files += more
    elif unknown:  # the command's own usage helps, argparse would print that of all commands
        options.misused(f"unrecognized arguments: {' '.join(unknown)}")
    if sys.stdout is None:
        raise OSError("standard output is closed")
    done: int = options.run(options)
    sys.stdout.flush()
    return done


def files_among(unknown: list[str]) -> list[str] | None:
    """The files that stand behind options and other files, which argparse does not take; None if there is an option among them."""
    before, behind = unknown, []
    if "--" in unknown:
        at = unknown.index("--")
        before, behind = unknown[:at], unknown[at + 1 :]
    if any(argument.startswith("-") and argument != "-" for argument in before):
        return None
    return before + behind


def run() -> None:
    """Run the command and leave, whatever happens on the way, also while modules are imported: all but a few are by functions."""
    handled: list[int] = []
    try:
        try:
            for number in (signal.SIGINT, *ENDING):
                usual = signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL
                if signal.getsignal(number) is usual:  # under nohup it is ignored, and stays so
                    handled.append(number)
                    signal.signal(number, leave)
            if isinstance(sys.stdout, TextIOWrapper):  # texts are UTF-8, in whatever language the rest of the system is
                sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")
            code = main()
        except BaseException as error:
            code = code_of(error)
        end_at_once(handled)
    except (KeyboardInterrupt, Terminated) as error:  # as a mistake was told
        code = code_of(error)
        end_at_once(handled)
    sys.exit(code)


def end_at_once(numbers: Iterable[int]) -> None:
    """By signals, as all is done or cleared away: there is nothing left that an exception of theirs could pass through."""
    for number in numbers:
        signal.signal(number, signal.SIG_DFL)


def code_of(error: BaseException) -> int:
    """The exit code for what ended the command, which is said if it is a mistake; what is neither is raised again."""
    if came:  # where it came while a module was imported, it may have become another error
        discard_output()
        return 128 + came[0]
    if isinstance(error, SystemExit):  # argparse has said what was asked for, or what is wrong
        try:
            if sys.stdout is not None:
                sys.stdout.flush()
        except OSError as unsaid:
            error = unsaid
    if isinstance(error, BrokenPipeError):  # the reader has seen enough
        discard_output()
        return 0
    if isinstance(error, KeyboardInterrupt):
        discard_output()
        return 130
    if isinstance(error, MemoryError):
        return complain("out of memory")
    if isinstance(error, (ValueError, OSError)):  # PatternError, LimitError, VocabularyError and InputError are ValueErrors
        code = complain(error)
        if isinstance(error, OSError):  # if it was about writing, the interpreter would fail again at its end, with a code of its own
            discard_output()
        return code
    raise error


class Terminated(BaseException):
    """A signal to end came. It passes through what removes unfinished files."""


def complain(error: Exception | str) -> int:
    from .commands.console import complain

    return complain(error)


def leave(number: int, frame: object) -> None:
    """Two may come together, as where a terminal is closed: the second would end what clears away behind the first."""
    is_first = not came
    came.append(number)
    if is_first or not is_leaving():
        raise KeyboardInterrupt if number == signal.SIGINT else Terminated


def is_leaving() -> bool:
    """Whether what another signal raised is being handled, or a generator is closed, out of which nothing comes."""
    error = sys.exc_info()[1]
    while error is not None and not isinstance(error, (KeyboardInterrupt, Terminated, GeneratorExit)):
        error = error.__context__
    return error is not None


def discard_output() -> None:
    from .terminal import discard

    discard(sys.stdout)


def parser() -> argparse.ArgumentParser:
    import argparse

    from . import __version__
    from .commands import Commands, Parser, counting, decoding, encoding, lexers, pieces, showing, training, vocabularies

    found = Parser(
        prog="bitlex", description="Tokenize and split text exactly as language models do.", epilog=EXAMPLES, allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    found.add_argument("--version", action="version", version=f"bitlex {__version__}")
    commands = Commands(found)
    for part in (encoding, decoding, counting, showing, vocabularies, training, pieces, lexers):
        part.add(commands)
    return found
