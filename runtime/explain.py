"""Why a text is split where it is: each piece with the step and the alternative that made it. For people, not for speed.

    for found in lexer("cl100k").explain("it's"):
        print(found.piece, found.source)           # it [^\\r\\n\\p{L}\\p{N}]?+\\p{L}++
                                                   # 's '(?i:[sdmt]|ll|ve|re)
The steps are compiled again and the pattern is run by the definition (generator/simulate.py), which shares no loop with `split`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .lexers import Lexer

__all__ = ["Explained", "explain"]


@dataclass(frozen=True, slots=True)
class Explained:
    """One piece. `step` counts from 0; `alternative` is the number of the top-level alternative of that step's pattern, from 0,
    and `source` its text; None and "" where no alternative matched: a gap between matches."""

    piece: str | bytes
    start: int
    end: int
    step: int
    alternative: int | None
    source: str


def explain(lexer: Lexer, text: str | bytes | memoryview) -> list[Explained]:
    """The pieces of `text` in order; offsets in its units, as everywhere."""
    from .compiler import compile_again
    from .generator import simulate

    program = compile_again(lexer)
    places: Sequence[int] | None = None
    decoded = text if isinstance(text, str) else ""
    if not isinstance(text, str):
        from .generated.python.scan import decode

        decoded, places = decode(text)
    found: list[Explained] = []
    for one in simulate.explain(program, decoded):
        start, end = (one.start, one.end) if places is None else (places[one.start], places[one.end])
        piece = text[start:end] if isinstance(text, (str, bytes)) else bytes(text[start:end])
        found.append(Explained(piece, start, end, one.step, one.alternative, one.source))
    return found
