"""A run from its options to its files: measure, save as CSV, JSON, Markdown and plots, put the summary into a page, say what was wrong.

    conduct(options, run, Pages(full, summary, (START, END), plots))       # the exit status: 1 if ours were wrong, 130 after Ctrl-C

`run(options, result, say)` adds rows to `result` as soon as it has them; what it has when it is stopped is saved. Options: `source`, an
earlier result instead of measuring, `out`, `name` and `readme`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from .machine import about, mood
from .report import Result, load, reasons, save, splice

__all__ = ["Pages", "conduct"]

Run = Callable[[argparse.Namespace, Result, Callable[[str], None]], None]


@dataclass(frozen=True)
class Pages:
    """How a result is shown: a page with everything, a summary and the markers it goes between, plots (ImportError without matplotlib)."""

    full: Callable[[Result], str]
    summary: Callable[[Result], str]
    markers: tuple[str, str]
    plots: Callable[[Result, Path, str], list[Path]]


def conduct(options: argparse.Namespace, run: Run, pages: Pages) -> int:
    stopped = False
    if options.source:
        result = load(options.source)
    else:
        result = Result(about())
        try:
            run(options, result, lambda text: print(text, flush=True))
        except KeyboardInterrupt:
            stopped = True
            result.about["stopped"] = "by Ctrl-C: what was measured until then"
        except Exception:
            save(result, options.out, options.name, pages.full)
            raise
        result.about |= {f"{key} at the end": value for key, value in mood().items()}
    paths = save(result, options.out, options.name, pages.full)
    try:
        paths += pages.plots(load(paths[1]), options.out, options.name)
    except ImportError:
        result.absent["plots"] = "matplotlib is not installed"
        save(result, options.out, options.name, pages.full)
    if options.readme and not stopped:
        splice(options.readme, pages.summary(load(paths[1])), pages.markers)
        paths.append(options.readme)
    print(*(f"not measured: {line}" for line in reasons(result.absent)), sep="\n")
    print("written:", *paths)
    for row in result.wrong:
        print(f"WRONG: {row.engine}, {row.subject}, {row.text}, {row.output}: {row.note}", file=sys.stderr)
    return 130 if stopped else 1 if result.wrong else 0
