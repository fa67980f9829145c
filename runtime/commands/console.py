"""What all commands write: complaints on standard error, bytes and tables on standard output."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

__all__ = ["complain", "print_table", "write"]


def complain(error: Exception | str) -> int:
    """Say what is wrong, in a line without a traceback; the exit code."""
    if isinstance(error, OSError) and error.strerror:
        error = f"{error.filename}: {error.strerror}" if error.filename is not None else error.strerror
    if sys.stderr is not None:
        print(f"bitlex: {error}", file=sys.stderr)
    return 1


def write(parts: Iterable[bytes]) -> None:
    for part in parts:
        sys.stdout.buffer.write(part)
    sys.stdout.buffer.flush()


def print_table(rows: Sequence[tuple[str, ...]]) -> None:
    """Columns side by side, the last one ragged."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]) - 1)]
    lines = (
        "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[-1]]).rstrip() + "\n" for row in rows
    )
    write(line.encode("utf-8", "surrogateescape") for line in lines)
