"""What a program shows on a terminal."""

from __future__ import annotations

import os

__all__ = ["shown_to_the_end"]


def shown_to_the_end(terminal: int) -> bytes:
    """All that is written to the other side of a pseudo-terminal, until nobody has that open any more; this one is closed then."""
    shown = b""
    while True:
        try:
            more = os.read(terminal, 1000)
        except OSError:  # what Linux says at the end of a terminal
            more = b""
        if not more:
            os.close(terminal)
            return shown
        shown += more
