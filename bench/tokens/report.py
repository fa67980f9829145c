"""Rows about tokenizers in; tables out: a page with everything, and a summary for README.md.

    relate(rows)                                               # fills in how many times as fast as the best peer
    save(result, folder, "tokens", full)
    splice(Path("README.md"), summary(result), MARKERS)        # between <!-- bench-tokens:start --> and <!-- bench-tokens:end -->

"array" of ours is held against whatever a peer gives cheapest, an object whose ids nobody has read included; anything else against
the same output of peers. Those that put out wrong ids are no one's best.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from ..measure import Row
from ..report import Result, matrix, number, reasons, table

__all__ = ["MARKERS", "by_part", "full", "relate", "summary"]

MARKERS = ("<!-- bench-tokens:start -->", "<!-- bench-tokens:end -->")
TITLES = {
    "golden": "Whole files against golden.json", "first": "The first text of a new process, MB/s", "warm": "Warm, MB/s",
    "again": "The same str again, MB/s", "mixed": "Documents of all texts in random order, MB/s",
    "short": "A call for 50 bytes, microseconds", "decode": "Decoding, MB/s of text", "load": "Opening the vocabulary, milliseconds",
    "import": "Importing the package, milliseconds", "pieces": "A text of one piece, nanoseconds a byte",
    "threads": "By threads, MB/s",
}  # fmt: skip


def relate(rows: Sequence[Row]) -> None:
    """Fill in the ratios of the rows of one text."""
    for row in rows:
        peers = [one for one in rows if not one.ours and one.agrees and one.bytes and one.threads == row.threads and held_against(row, one)]
        if peers and row.ours:
            best = max(peers, key=lambda one: one.megabytes_a_second)
            row.of_best_peer, row.best_peer = row.megabytes_a_second / best.megabytes_a_second, f"{best.engine}, {best.output}"


def held_against(ours: Row, theirs: Row) -> bool:
    texts = ("array", "list", "object")
    return theirs.output == ours.output or (ours.output == "array" and theirs.output in texts and ours.part != "short")


def cell(row: Row) -> float:
    if row.part == "short":
        return row.median / row.calls * 1e6
    if row.part in ("load", "import"):
        return row.median * 1e3
    return 1000 / row.megabytes_a_second if row.part == "pieces" else row.megabytes_a_second


def by_part(rows: Sequence[Row]) -> str:
    """A table of one part, for each vocabulary: a line for what each tokenizer puts out, a column a text; and what differs."""
    made = []
    for subject in dict.fromkeys(row.subject for row in rows):
        own = [row for row in rows if row.subject == subject]
        for part in dict.fromkeys(row.part for row in own):
            chosen = [row for row in own if row.part == part]
            columns = [f"{row.threads}" if part == "threads" else row.text for row in chosen]
            lines = zip(chosen, columns, strict=True)
            shown = [replace(row, engine=column, text=f"{row.engine}, {row.output}") for row, column in lines]
            made.append(f"### {subject}: {TITLES[part]}\n\n{matrix(shown, cell)}\n")
        notes = {f"{row.engine}, {row.output}, on {row.text}": row.note for row in own if row.note}
        made += [f"- \\* {key}: {note}" for key, note in notes.items()] + [""]
    return "\n".join(made)


def full(result: Result) -> str:
    """Everything, for a person."""
    sections = ["# Tokenizers: " + ", ".join(str(result.about[key]) for key in ("processor", "date") if key in result.about), ""]
    sections += [f"- {key}: {value}" for key, value in result.about.items()]
    version = {row.engine: row.version for row in result.rows}
    sections += ["- versions: " + ", ".join(f"{name} {found}" for name, found in version.items()), ""]
    for part, title in TITLES.items():
        if result.of(part):
            sections += [f"## {title.partition(':')[0].partition(',')[0]}", "", by_part(result.of(part))]
    if result.sizes:
        sections += ["## Resident memory", "", memory(result), ""]
    if result.absent:
        sections += ["## Not measured", "", *(f"- {line}" for line in reasons(result.absent)), ""]
    return "\n".join(sections)


def memory(result: Result) -> str:
    columns = list(next(iter(result.sizes.values())))
    lines = [[name, *(f"{found[column] / 1e6:.1f}" for column in columns)] for name, found in result.sizes.items()]
    return table(["MB", *columns], lines)


def summary(result: Result) -> str:
    """A page's worth: the first vocabulary by text, all vocabularies by their means, and what else a user waits for."""
    titles = {"first": "first sight", "warm": "warm", "again": "the same str again"}
    rows = [row for row in result.rows if row.part in titles]
    if not rows:
        raise SystemExit("there is no summary without --first or --warm")
    subjects = list(dict.fromkeys(row.subject for row in rows))
    measured = [(part, output) for part in titles for output in ("array", "list") if any(
        (row.part, row.output, row.engine) == (part, output, "bitlex") for row in rows)]  # fmt: skip
    columns = [(part, output) for part, output in measured if part != "again"]  # text by text it is on the page with everything
    head = [title for part, output in columns for title in (f"{titles[part]}, {output}", "best peer", "×")]

    def of(subject: str, text: str | None) -> Callable[[str, str], list[str]]:
        def cells(part: str, output: str) -> list[str]:
            found = [
                row for row in rows
                if (row.subject, row.part, row.output, row.engine) == (subject, part, output, "bitlex") and text in (None, row.text)
            ]  # fmt: skip
            if not found:
                return ["–"] * 3
            ratios = [row.of_best_peer for row in found if row.of_best_peer]
            best = sorted({row.best_peer for row in found if row.best_peer}) if text is not None else []
            mark = "*" * any(not row.agrees for row in found)
            peer = " ".join([number(found[0].megabytes_a_second / ratios[0]), *best]) if text is not None and ratios else "–"
            return [number(mean(row.megabytes_a_second for row in found)) + mark, peer, f"{mean(ratios):.1f}" if ratios else "–"]

        return cells

    def line(text: str) -> list[str]:
        return [text, *(value for part, output in columns for value in of(subjects[0], text)(part, output))]

    def means(subject: str) -> list[str]:
        return [subject, *(value for part, output in measured for value in of(subject, None)(part, output)[::2])]

    own = list(dict.fromkeys(row.text for row in rows if row.subject == subjects[0]))
    about, version = result.about, {row.engine: row.version for row in result.rows}
    peers = ", ".join(f"{name} {found}" for name, found in version.items() if not name.startswith("bitlex"))
    made = [
        f"{subjects[0]}, one thread of {about['processor']}, Python {about['python']}, {str(about['date'])[:10]}; {peers or 'no other'}. "
        f"Medians of {max(row.rounds for row in rows)} rounds, a process each at first sight.",
        "", table(["MB/s", *head], [line(text) for text in own]), "", "Geometric means over the same texts:", "",
        table(["MB/s", *(title for part, output in measured for title in (f"{titles[part]}, {output}", "×"))], list(map(means, subjects))),
    ]  # fmt: skip
    for part in ("mixed", "short", "load", "import", "decode", "pieces", "threads"):
        if chosen := [row for row in result.of(part) if row.subject == subjects[0]]:
            made += ["", by_engine(chosen)]
    if result.sizes:
        made += ["", memory(result)]
    if wrong := sorted({row.engine for row in result.rows if not row.agrees}):
        made += ["", f"Not the same ids on every text: {', '.join(wrong)}; `bench/results` says where first."]
    return "\n".join(made)


def by_engine(rows: Sequence[Row]) -> str:
    """A line a tokenizer, means over texts: a column for each output, each text, or each number of threads."""
    part = rows[0].part
    keys: dict[str, Callable[[Row], str]] = {
        "mixed": lambda row: row.text, "pieces": lambda row: row.text, "threads": lambda row: str(row.threads),
    }  # fmt: skip
    key = keys.get(part, lambda row: row.output)
    columns = list(dict.fromkeys(map(key, rows)))
    names = {(row.engine, row.output) if part in keys else (row.engine, ""): None for row in rows}
    lines = []
    for engine, output in names:
        own = [row for row in rows if row.engine == engine and output in ("", row.output)]
        found = {column: [cell(row) for row in own if key(row) == column] for column in columns}
        lines.append([f"{engine}, {output}" if output else engine, *(number(mean(found[c])) if found[c] else "–" for c in columns)])
    return table([TITLES[part], *columns], lines)


def mean(values: Iterable[float]) -> float:
    return statistics.geometric_mean(list(values))
