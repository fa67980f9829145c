"""A run from its options to its files: measure, save as CSV, JSON, Markdown and plots, put the summary into a page, say what was wrong.

    add_options(parser, name="latest", rounds=9, quick="...")              # --rounds, --quick, --out, --name, --readme, --from
    options = read(parser, given, parts)                                   # .parts: those that were named, or all
    conduct(options, run, Pages(full, summary, (START, END), plots))       # the exit status: 1 if ours were wrong, 130 after Ctrl-C

`run(options, result, say)` adds rows to `result` as soon as it has them; what it has when it is stopped is saved. Options: `source`, an
earlier result instead of measuring, `out`, `name` and `readme`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from .machine import about, mood
from .report import Result, load, reasons, save, splice

__all__ = ["Pages", "add_options", "conduct", "read"]

HERE = Path(__file__).resolve().parent
README = HERE.parent / "README.md"
Run = Callable[[argparse.Namespace, Result, Callable[[str], None]], None]


@dataclass(frozen=True)
class Pages:
    """How a result is shown: a page with everything, a summary and the markers it goes between, plots (ImportError without matplotlib).

    `others` are further pages, each with what it has between which markers. They are written with README.md, and not with another page
    that was named; what makes nothing of the result leaves its page as it was.
    """

    full: Callable[[Result], str]
    summary: Callable[[Result], str]
    markers: tuple[str, str]
    plots: Callable[[Result, Path, str], list[Path]]
    others: Sequence[tuple[Path, Callable[[Result], str], tuple[str, str]]] = ()


def add_options(parser: argparse.ArgumentParser, *, name: str, rounds: int, quick: str) -> None:
    """What every benchmark may be told of how it measures, and where to."""
    how = parser.add_argument_group("how, and where to")
    how.add_argument("--rounds", type=int, default=rounds, help="turns to take medians of; 7 at least to publish (default: %(default)s)")
    how.add_argument("--quick", action="store_true", help=f"{quick}: does it work here?")
    how.add_argument("--out", type=Path, default=HERE / "results", metavar="FOLDER", help="default: %(default)s")
    how.add_argument("--name", default=name, help="of the files: NAME.csv, NAME.json, NAME.md ... (default: %(default)s)")
    how.add_argument("--readme", type=Path, nargs="?", const=README, metavar="FILE",
                     help="put the summary between the markers of README.md, and more of it into pages of docs; or of FILE")  # fmt: skip
    how.add_argument("--from", type=Path, dest="source", metavar="JSON", help="measure nothing: take an earlier result")


def read(parser: argparse.ArgumentParser, given: Sequence[str] | None, parts: tuple[str, ...]) -> argparse.Namespace:
    """The options; `parts` are named by options of their own, and all are taken if none is given."""
    options = parser.parse_args(given)
    if options.rounds < 1:
        parser.error("--rounds: one at least")
    options.parts = tuple(part for part in parts if getattr(options, part) is not None and getattr(options, part) is not False) or parts
    return options


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
        shown = load(paths[1])
        wanted = [(options.readme, pages.summary, pages.markers), *(pages.others if options.readme == README else ())]
        for page, make, markers in wanted:
            if text := make(shown):
                splice(page, text, markers)
                paths.append(page)
    print(*(f"not measured: {line}" for line in reasons(result.absent)), sep="\n")
    print("written:", *paths)
    for row in result.wrong:
        print(f"WRONG: {row.engine}, {row.subject}, {row.text}, {row.output}: {row.note}", file=sys.stderr)
    return 130 if stopped else 1 if result.wrong else 0
