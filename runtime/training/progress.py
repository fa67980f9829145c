"""How far a training is: what a caller is told, and what a terminal shows.

    counting [#####---------------]  25%  412.0 MB  495 MB/s  3 s left
    merging [##########----------]  50%  16,256 of 32,512, the last 1,234 times  [ the][se]  2 s left

Invariant: as in terminal.py, nothing is written to what is no terminal.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TextIO

from ..formats import visible
from ..terminal import Line, size

__all__ = ["Display", "Progress"]

WIDTH = 20  # of the bar
PAUSE = 0.1  # seconds between two pictures


@dataclass(frozen=True, slots=True)
class Progress:
    """phase   "counting" or "merging"
    done, total   bytes of files, or merges; total is 0 where it is not known
    length     bytes of text that were counted, or characters where it came as str (a line of JSON, say)
    count      how often the pair was there that was merged last; `pair`: its tokens
    """

    phase: str
    done: int
    total: int
    length: int
    count: int = 0
    pair: tuple[bytes, bytes] | None = None


class Display:
    """Progress on a terminal."""

    def __init__(self, stream: TextIO | None, verbose: bool = False) -> None:
        self.line = Line(stream)
        self.verbose = verbose
        self.phase = ""
        self.begun = time.monotonic()
        self.next = 0.0

    def __call__(self, now: Progress) -> None:
        moment = time.monotonic()
        if now.phase != self.phase:
            self.phase, self.begun, self.next = now.phase, moment if self.phase else self.begun, moment
        if self.line.terminal is None or moment < self.next:
            return
        self.next = moment + PAUSE
        self.line.show(self.text(now, moment - self.begun))

    def text(self, now: Progress, seconds: float) -> str:
        share = min(now.done / now.total, 1.0) if now.total else 0.0
        filled = int(share * WIDTH)
        bar = f"[{'#' * filled}{'-' * (WIDTH - filled)}] {share:4.0%}  " if now.total else ""
        left = f"  {seconds / share - seconds:.0f} s left" if share else ""
        if now.phase == "counting":
            return f"counting {bar}{size(now.length)}  {now.length / max(seconds, 1e-9) / 1e6:,.0f} MB/s{left}"
        pair = f"  [{visible(now.pair[0])}][{visible(now.pair[1])}]" if self.verbose and now.pair else ""
        return f"merging {bar}{now.done:,} of {now.total:,}, the last {now.count:,} times{pair}{left}"

    def clear(self) -> None:
        self.line.clear()
