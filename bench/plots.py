"""Rows in; SVG files out: bars for each corpus, scaling over threads, time a byte against length. Needs matplotlib.

An engine has one colour in all panels of a figure: ours are shades of blue, the faster the darker, and no other is blue.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from .measure import Row
from .report import Result

Colors = Mapping[str, str]
Draw = Callable[[Any, Sequence[Row], Colors], None]

OURS = {"avx512": "#08519c", "neon": "#08519c", "avx2": "#4292c6", "portable": "#85bcdc", "pure": "#bdd7e7"}  # by tier
TITLES = {"first": ", the first text of a new process", "warm": ", words that were met before"}
PEERS = ("#e6550d", "#31a354", "#756bb1", "#636363", "#fdae6b", "#a1d99b", "#b39ddb", "#8c6d31", "#bdbdbd")


def plots(result: Result, folder: Path, name: str) -> list[Path]:
    """Those of lexers for which there are rows."""
    return drawn(result, folder, name, (("corpora", bars), ("threads", scaling), ("lengths", by_length)))


def plots_of_tokens(result: Result, folder: Path, name: str) -> list[Path]:
    """Those of tokenizers."""
    return drawn(result, folder, name, (("first", bars), ("warm", bars)))


def drawn(result: Result, folder: Path, name: str, drawings: Sequence[tuple[str, Draw]]) -> list[Path]:
    matplotlib, pyplot = import_module("matplotlib"), import_module("matplotlib.pyplot")
    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.hashsalt": "bitlex", "svg.fonttype": "none", "font.size": 9, "axes.spines.top": False,
                                "axes.spines.right": False, "legend.frameon": False})  # fmt: skip
    made = []
    for part, draw in drawings:
        if rows := result.of(part):
            shown = list(dict.fromkeys(row.subject for row in rows))[: 2 if part == "lengths" else 1]
            figure, panels = pyplot.subplots(1, len(shown), figsize=(9, 4.2), layout="constrained", squeeze=False)
            colors = palette(rows)
            for subject, axes in zip(shown, panels[0], strict=True):
                draw(axes, [row for row in rows if row.subject == subject], colors)
            path = folder / f"{name}-{part}.svg"
            figure.savefig(path, metadata={"Date": None})
            pyplot.close(figure)
            made.append(path)
    return made


def palette(rows: Sequence[Row]) -> Colors:
    """Engine -> colour."""
    names = list(dict.fromkeys(row.engine for row in rows))
    peers = iter(PEERS * (len(names) // len(PEERS) + 1))
    return {name: OURS.get(name.rpartition(" ")[2], OURS["avx512"]) if name.startswith("bitlex") else next(peers) for name in names}


def bars(axes: Any, rows: Sequence[Row], colors: Colors) -> None:
    """Of lexers, offsets rather than strings; of tokenizers, what each gives cheapest, which comes first."""
    chosen = [row for row in rows if row.output == "spans" or (row.output == "split" and not row.ours)]
    cheapest = {row.engine: row.output for row in reversed(rows)}
    chosen = chosen or [row for row in rows if row.output == cheapest[row.engine]]
    texts, names = (list(dict.fromkeys(getattr(row, key) for row in chosen)) for key in ("text", "engine"))
    width = 0.85 / len(names)
    for at, name in enumerate(names):
        found = {row.text: row for row in chosen if row.engine == name}
        places = [place + at * width for place, text in enumerate(texts) if text in found]
        values = [found[text] for text in texts if text in found]
        middle = [row.megabytes_a_second for row in values]
        low = [row.megabytes_a_second - row.bytes / row.slowest / 1e6 for row in values]
        high = [row.bytes / row.fastest / 1e6 - row.megabytes_a_second for row in values]
        label = f"{name}, {values[0].output}"
        axes.bar(places, middle, width, yerr=[low, high], label=label, color=colors[name], error_kw={"linewidth": 0.6})
    if rows[0].part == "corpora":  # from Python to vectors there are three orders of magnitude
        axes.set_yscale("log")
    axes.set_ylabel("MB/s (median, fastest and slowest)")
    axes.set_xticks([place + 0.4 for place in range(len(texts))], texts, rotation=25, ha="right")
    axes.set_title(rows[0].subject + TITLES.get(rows[0].part, ""))
    axes.legend(ncols=1, fontsize=7, loc="center left", bbox_to_anchor=(1, 0.5))


def scaling(axes: Any, rows: Sequence[Row], colors: Colors) -> None:
    """All are of one engine. Dashed is as many times one thread."""
    color = colors[rows[0].engine]
    for output, marker in zip(dict.fromkeys(row.output for row in rows), "osD^v", strict=False):
        found = sorted((row.threads, row.megabytes_a_second) for row in rows if row.output == output)
        axes.plot(*zip(*found, strict=True), marker=marker, color=color, label=output)
        one = found[0][1] / found[0][0]
        axes.plot([n for n, _ in found], [n * one for n, _ in found], color=color, linestyle="--", linewidth=0.6)
    axes.set_xlabel("threads")
    axes.set_ylabel("MB/s")
    axes.set_ylim(bottom=0)
    axes.set_xticks(sorted({row.threads for row in rows}))
    axes.set_title(f"{rows[0].subject}, {rows[0].engine}")
    axes.legend(fontsize=7)


def by_length(axes: Any, rows: Sequence[Row], colors: Colors) -> None:
    for engine, output in dict.fromkeys((row.engine, row.output) for row in rows):
        found = [(row.bytes, 1000 / row.megabytes_a_second) for row in rows if (row.engine, row.output) == (engine, output)]
        axes.plot(*zip(*found, strict=True), marker="o", markersize=4, color=colors[engine], label=f"{engine}, {output}")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("bytes")
    axes.set_ylabel("nanoseconds a byte")
    axes.set_title(f"{rows[0].subject}: {rows[0].text}")
    axes.legend(fontsize=7, ncols=2, loc="upper center", bbox_to_anchor=(0.5, -0.15))
