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
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

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


def main(arguments: list[str] | None = None) -> int:
    """Run the command; the exit code."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if arguments[:1] == ["generate"]:
        from .commands import lexers

        return lexers.generate(arguments[1:])
    options, unknown = parser().parse_known_args(arguments)
    if "files" in options and not any(argument.startswith("-") for argument in unknown):  # files that stand behind options and other files
        options.files += unknown
    elif unknown:  # the command's own usage helps, argparse would print that of all commands
        options.misused(f"unrecognized arguments: {' '.join(unknown)}")
    if sys.stdout is None:
        raise OSError("standard output is closed")
    done: int = options.run(options)
    sys.stdout.flush()
    return done


def run() -> None:
    """Run the command and leave, whatever happens on the way, also while modules are imported: all but a few are by functions."""
    for number in (signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)):
        if signal.getsignal(number) is signal.SIG_DFL:  # under nohup it is ignored, and stays so
            signal.signal(number, leave)
    try:
        code = main()
    except BrokenPipeError:  # the reader has seen enough
        discard_output()
        code = 0
    except KeyboardInterrupt:
        discard_output()
        code = 130
    except Terminated as signalled:
        discard_output()
        code = 128 + signalled.number
    except MemoryError:
        code = complain("out of memory")
    except (ValueError, OSError) as error:  # PatternError, LimitError, VocabularyError and InputError are ValueErrors
        code = complain(error)
        if isinstance(error, OSError):  # if it was about writing, the interpreter would fail again at its end, with a code of its own
            discard_output()
    sys.exit(code)


class Terminated(BaseException):
    """A signal to end came. It passes through what removes unfinished files."""

    def __init__(self, number: int) -> None:
        self.number = number


def complain(error: Exception | str) -> int:
    from .commands.console import complain

    return complain(error)


def leave(number: int, frame: object) -> None:
    raise Terminated(number)


def discard_output() -> None:
    from .terminal import discard

    discard(sys.stdout)


def parser() -> argparse.ArgumentParser:
    import argparse

    from . import __version__
    from .commands import Commands, counting, decoding, encoding, lexers, pieces, showing, training, vocabularies

    found = argparse.ArgumentParser(
        prog="bitlex", description="Tokenize and split text exactly as language models do.", epilog=EXAMPLES, allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    found.add_argument("--version", action="version", version=f"bitlex {__version__}")
    commands = Commands(found)
    for part in (encoding, decoding, counting, showing, vocabularies, training, pieces, lexers):
        part.add(commands)
    return found
