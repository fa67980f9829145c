"""What all commands write: complaints on standard error, bytes and tables on standard output."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

from ..formats import printable
from ..terminal import discard

__all__ = ["complain", "print_table", "write"]


# How the library speaks of its own arguments, and how that is said here.
SPELLED = (
    (r"\b(family|pattern|special|name)=(?=[ ,]|$)", r"--\1"),
    (r"\btie_break='(\w+)'", r"--tie-break \1"),
    (r"; did you mean Tokenizer\.from_tiktoken\('(\w+)'\)\?$", r" (did you mean \1?)"),
    (r"^initial_alphabet and limit_alphabet go", "--seen-bytes and --limit-alphabet go"),
    (r"; train with a pattern compiled for it$", "; give another --pattern, or -o a name that says another format"),
    (r"; raise the limit with Limits\(.*", "; only bitlex.compile takes another limit"),
    (r"\. To have it encoded as that token, pass allowed_special.*", "; --allow-special takes it for what it is, --ordinary for text like any other"),
)  # fmt: skip
NUMBERS = r"^(vocab_size|min_frequency|max_token_length|limit_alphabet|memory|threads)(?= is )"


def complain(error: Exception | str) -> int:
    """Say what is wrong, in a line without a traceback; the exit code."""
    if isinstance(error, OSError) and error.strerror:
        error = f"{error.filename or repr(error.filename)}: {error.strerror}" if error.filename is not None else error.strerror
    if sys.stderr is not None:
        try:
            print(f"bitlex: {in_words_of_commands(in_lines(error))}", file=sys.stderr)
        except OSError:  # nobody reads it: that is no reason to end, or to end as if all were well
            discard(sys.stderr)
    return 1


def in_lines(error: Exception | str) -> str:
    """A message as it may be shown on a terminal: in one line, but for what points at a place in a pattern (a PatternError)."""
    cause: object = error
    while cause is not None and not hasattr(cause, "span"):
        cause = getattr(cause, "__cause__", None) or getattr(cause, "__context__", None)
    before, pointing, behind = (str(error), "", "") if cause is None else str(error).partition(str(cause))
    return printable(before) + "\n".join(map(printable, pointing.split("\n"))) + printable(behind)


def in_words_of_commands(message: str) -> str:
    import re

    message = re.sub(NUMBERS, lambda found: "--" + found[0].replace("_", "-"), message)
    for theirs, ours in SPELLED:
        message = re.sub(theirs, ours, message, flags=re.DOTALL)
    return message


def write(parts: Iterable[bytes]) -> None:
    for part in parts:
        sys.stdout.buffer.write(part)
    sys.stdout.buffer.flush()


def print_table(rows: Sequence[tuple[str, ...]]) -> None:
    """Columns side by side, the last one ragged, for people: what is to be read by programs is printed as JSON."""
    rows = [tuple(map(printable, row)) for row in rows]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]) - 1)]
    lines = (
        "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[-1]]).rstrip() + "\n" for row in rows
    )
    write(line.encode() for line in lines)
