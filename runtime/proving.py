"""What `bitlex prove` does: families or programs in; a proof for each source, the short texts tried, and the number of failures out.

    prove(["cl100k", "o200k"], k=3)         # prints a report of each on standard output; 0 if nothing is refuted and nothing differs

Both are computed by the generator from what was emitted; this brings the loops that run it: pure Python always, C where it was built.
While it works, a terminal on standard error shows how far it is; nothing else is written there.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from .compiler import machine_arguments
from .terminal import Line

if TYPE_CHECKING:
    from .generator import Program
    from .generator.pack import Tables

__all__ = ["prove"]

SOURCES = ("python", "c")
Run = Callable[[str | bytes], Iterable[tuple[int, int]]]


def prove(asked: Sequence[str | Program], k: int) -> int:
    """Prove the tables in both sources for all texts, and try every text of 1..k characters; how many proofs and texts fail."""
    from .generator.proof import check, read_emitted

    begun, line = time.perf_counter(), Line(sys.stderr)
    refuted = texts = differences = 0
    try:
        for number, what in enumerate(asked):
            name = what if isinstance(what, str) else what.name
            place = f"{name}, {number + 1} of {len(asked)}: "
            tables = {}
            for source in SOURCES:
                line.show(f"{place}proof, {source} tables")
                _, planned, tables[source] = read_emitted(what, source)
                proof = check(planned, tables[source], name, source)
                line.clear()
                print(proof, flush=True)
                refuted += proof.counterexample is not None
            if k == 0:
                continue
            from .generator.short_texts import try_texts  # needs the regex module, which the proof does not

            report = try_texts(name, planned, tables, loops(), k, partial(count, line, place))
            line.clear()
            print(report, flush=True)
            texts, differences = texts + report.texts, differences + report.differences
    finally:
        line.clear()
    if len(asked) > 1:
        tried = f"; {texts:,} texts, {differences:,} differences" if k else ""
        proofs = f"{len(asked)} families: {len(asked) * len(SOURCES)} proofs, {refuted} refuted"
        print(f"{proofs}{tried}; {time.perf_counter() - begun:.0f} s", flush=True)
    return refuted + differences


def count(line: Line, place: str, done: int, of: int) -> None:
    line.show(f"{place}{done:,} of {of:,} texts")


def loops() -> dict[str, Callable[[Tables], Run]]:
    """How to run tables, by the name of the tier."""
    from .generated.python.scan import Machine as Pure

    found: dict[str, Callable[[Tables], Run]] = {"pure": lambda tables: Pure(**machine_arguments(tables)).iterate}
    try:
        from ._native import Machine as Native
    except ImportError:  # installed where no C compiler was
        return found
    return {**found, "native": lambda tables: Native(**machine_arguments(tables)).iterate}
