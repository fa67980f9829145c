"""What is shown on a terminal while something takes long: how far it is, on one line that is written again and again, then wiped.

    with Progress(sys.stderr, total_bytes) as progress:
        progress.show(position, length, tokens)  # [#########-----------]  47 %  212 MB/s  51.3 M tokens/s  3 s left

Invariant: nothing is ever written to what is no terminal, or a dumb one. Rejected: a package for it (this is all there is to it).
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from types import TracebackType

__all__ = ["Line", "Progress", "discard"]

WIDTH = 20  # of the bar
PAUSE = 0.1  # seconds between two pictures


def discard(stream: TextIO | None) -> None:
    """Let what is still buffered go nowhere: at its end, the interpreter would fail to write it, with an exit code of its own."""
    if stream is not None:
        with suppress(FileNotFoundError):  # a system whose root has been changed, without devices
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


class Line:
    """The last line of a terminal that can wipe it, written again and again; nothing at all anywhere else."""

    def __init__(self, stream: TextIO | None) -> None:
        self.terminal = stream if stream is not None and stream.isatty() and os.environ.get("TERM") != "dumb" else None

    def show(self, text: str) -> None:
        if self.terminal is not None:
            from .formats import printable

            text, ends = printable(text.removesuffix("\n")), text.endswith("\n")
            if not ends:  # what reached the next line could not be wiped
                with suppress(OSError, ValueError):
                    columns = os.get_terminal_size(self.terminal.fileno()).columns
                    text = text[: columns - 1] if columns > 1 else text
            self.terminal.write(f"\r\x1b[K{text}" + "\n" * ends)
            self.terminal.flush()

    def clear(self) -> None:
        self.show("")


class Progress:
    """How much of the input is done, and how fast. `total` is 0 where it is not known."""

    def __init__(self, stream: TextIO | None, total: int) -> None:
        self.line = Line(stream)
        self.total = total
        self.begun = time.monotonic()
        self.next = self.begun + PAUSE

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.line.clear()

    def show(self, position: int, length: int, tokens: int) -> None:
        """`position` of the total is behind; that was `length` bytes of input, and gave so many tokens."""
        now = time.monotonic()
        if self.line.terminal is None or now < self.next:
            return
        self.next = now + PAUSE
        seconds = now - self.begun
        text = rates(length, tokens, seconds)
        if self.total:
            done = min(position / self.total, 1.0)
            filled = int(done * WIDTH)
            left = f"  {seconds / done - seconds:.0f} s left" if done else ""
            text = f"[{'#' * filled}{'-' * (WIDTH - filled)}] {done:4.0%}  {text}{left}"
        self.line.show(text)

    def end(self, what: str, length: int, tokens: int) -> None:
        """A last line that stays."""
        if self.line.terminal is not None:
            seconds = time.monotonic() - self.begun
            self.line.show(f"{what}, {tokens:,} tokens, {size(length)} in {seconds:.1f} s: {rates(length, tokens, seconds)}\n")


def rates(length: int, tokens: int, seconds: float) -> str:
    seconds = max(seconds, 1e-9)
    return f"{length / seconds / 1e6:,.1f} MB/s, {tokens / seconds / 1e6:,.2f} M tokens/s"


def size(length: int) -> str:
    return f"{length / 1e6:,.1f} MB" if length >= 1_000_000 else f"{length:,} bytes"
