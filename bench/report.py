"""Rows in; a CSV, a JSON with what they depend on, and Markdown out.

    save(result, Path("bench/results"), "latest")       # latest.csv, latest.json, latest.md
    splice(Path("README.md"), summary(result))          # between <!-- bench:start --> and <!-- bench:end -->

What the tables of tokenizers need besides is in tokens/report.py.
"""

from __future__ import annotations

import csv
import json
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from .measure import Row
from .streams import HARD_STREAMS, JOINED, WHOLE

START, END = "<!-- bench:start -->", "<!-- bench:end -->"
STREAMS = "<!-- bench-streams:start -->", "<!-- bench-streams:end -->"


@dataclass
class Result:
    """All of one run."""

    about: dict[str, Any]
    rows: list[Row] = field(default_factory=list)
    absent: dict[str, str] = field(default_factory=dict)
    sizes: dict[str, dict[str, int]] = field(default_factory=dict)

    @property
    def wrong(self) -> list[Row]:
        """Rows of engines made from our own automata that do not agree: there must be none."""
        return [row for row in self.rows if row.ours and not row.agrees]

    def of(self, part: str) -> list[Row]:
        return [row for row in self.rows if row.part == part]


def save(result: Result, folder: Path, name: str, page: Callable[[Result], str] | None = None) -> list[Path]:
    """The paths of the three files; `page` is what the Markdown is made by."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{name}.{kind}" for kind in ("csv", "json", "md")]
    columns = [column.name for column in fields(Row)]
    with paths[0].open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows([rounded(getattr(row, column)) for column in columns] for row in result.rows)
    known = {"about": result.about, "absent": result.absent, "sizes": result.sizes, "columns": columns}
    body = ",\n".join("  " + json.dumps([rounded(getattr(row, column)) for column in columns], ensure_ascii=False) for row in result.rows)
    paths[1].write_text(f'{json.dumps(known, indent=1, ensure_ascii=False)[:-2]},\n "rows": [\n{body}\n ]\n}}\n', encoding="utf-8")
    paths[2].write_text((page or full)(load(paths[1])), encoding="utf-8")  # of the rounded numbers, so that it can be made again
    return paths


def load(path: Path) -> Result:
    """What `save` wrote as JSON."""
    read = json.loads(path.read_text(encoding="utf-8"))
    taken = [(at, column.name) for at, column in enumerate(fields(Row)) if column.init]
    return Result(read["about"], [Row(**{name: row[at] for at, name in taken}) for row in read["rows"]], read["absent"], read["sizes"])


def rounded(value: Any) -> Any:
    """Five digits: the rest is noise."""
    return float(f"{value:.5g}") if isinstance(value, float) else value


def splice(readme: Path, text: str, markers: tuple[str, str] = (START, END)) -> None:
    """Put `text` between the markers of a page."""
    start, end = markers
    page = readme.read_text(encoding="utf-8")
    before, found, rest = page.partition(start)
    _, also, after = rest.partition(end)
    if not found or not also:
        raise SystemExit(f"{readme} has no {start} ... {end}")
    readme.write_text(f"{before}{start}\n{text.strip()}\n{end}{after}", encoding="utf-8")


# --- Markdown -------------------------------------------------------------------------------------------------------------------------


def table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    rows = ["| " + " | ".join(head) + " |", "| --- |" + " ---: |" * (len(head) - 1)]
    return "\n".join([*rows, *("| " + " | ".join(line) + " |" for line in lines)])


def number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 1 else f"{value:.2f}"


def matrix(rows: Sequence[Row], cell: Callable[[Row], float] = lambda row: row.megabytes_a_second) -> str:
    """A line a text, a column an engine; an asterisk where it does not make the same pieces."""
    names = list(dict.fromkeys(row.engine for row in rows))
    lines = []
    for text in dict.fromkeys(row.text for row in rows):
        found = {row.engine: row for row in rows if row.text == text}
        shown = (found.get(name) for name in names)
        lines.append([text.replace("|", "\\|"), *("–" if row is None else number(cell(row)) + "*" * (not row.agrees) for row in shown)])
    return table(["", *names], lines)


def by_subject(rows: Sequence[Row]) -> str:
    """All of one part: for each lexer and each output a table, and what differs."""
    made = []
    for subject in dict.fromkeys(row.subject for row in rows):
        own = [row for row in rows if row.subject == subject]
        for output in dict.fromkeys(row.output for row in own if row.output != "memcpy"):
            chosen = [row for row in own if row.output == output or (output == "spans" and row.output == "memcpy")]
            made.append(f"### {subject}: {output}, MB/s\n\n{matrix(chosen)}\n")
        notes = {f"{row.engine} on {row.text}": row.note for row in own if row.note}
        made += [f"- \\* {key}: {note}" for key, note in notes.items()] + [""]
    return "\n".join(made)


def by_length(rows: Sequence[Row]) -> str:
    """Nanoseconds a byte; a line a length."""
    made = []
    for subject, text in dict.fromkeys((row.subject, row.text) for row in rows):
        own = [row for row in rows if (row.subject, row.text) == (subject, text)]
        names = list(dict.fromkeys(f"{row.engine}, {row.output}" for row in own))
        lines = []
        for size in dict.fromkeys(row.bytes for row in own):
            found = {f"{row.engine}, {row.output}": row for row in own if row.bytes == size}
            lines.append([f"{size:,}", *(f"{1000 / found[n].megabytes_a_second:.2f}" if n in found else "–" for n in names)])
        made.append(f"### {subject}: {text}, nanoseconds a byte\n\n{table(['bytes', *names], lines)}\n")
    return "\n".join(made)


def by_threads(rows: Sequence[Row]) -> str:
    numbers = sorted({row.threads for row in rows})
    lines = []
    for output in dict.fromkeys(row.output for row in rows):
        found = {row.threads: row.megabytes_a_second for row in rows if row.output == output}
        lines.append([output, *(number(found[n]) for n in numbers)])
    return table(["MB/s, by threads", *map(str, numbers)], lines)


def by_parts(rows: Sequence[Row]) -> str:
    """The whole text in MB/s, and what parts reach of that; a line a text. An asterisk where they do not make the same."""
    made = []
    for subject, output in dict.fromkeys((row.subject, row.output) for row in rows):
        own = [row for row in rows if (row.subject, row.output) == (subject, output)]
        whole, *parts = dict.fromkeys(row.engine for row in own)
        lines = []
        for text in dict.fromkeys(row.text for row in own):
            found = {row.engine: row for row in own if row.text == text}
            ratios = (f"{found[whole].median / found[part].median:.2f}" + "*" * (not found[part].agrees) for part in parts)
            lines.append([text, number(found[whole].megabytes_a_second), *ratios])
        made.append(f"### {subject}: {output}\n\n{table(['', f'{whole}, MB/s', *(f'{part}, of that' for part in parts)], lines)}\n")
    return "\n".join(made)


TITLES = {
    "ends in C": "offsets in C", "spans": "offsets", "spans into": "offsets, into", "split": "pieces", "list": "ids, list", "array": "ids, array",
    "array into": "ids, into",
}  # fmt: skip
GOALS = {"4 KB": 0.9, "64 bytes": 0.3, JOINED: 0.3}  # of the speed of the whole text


def streams_summary(result: Result) -> str:
    """A page's worth of parts: what those of 4 KB and of 64 bytes reach of the whole text, of the first lexer and its vocabulary."""
    rows = result.of("streams")
    if not rows:
        return ""
    lexer = rows[0].subject
    own = [row for row in rows if row.subject == lexer or (row.subject.startswith(lexer) and row.output in ("list", "array", "array into"))]
    best = next((row.engine for row in result.of("corpora") if row.subject == lexer and row.engine.startswith("bitlex")), "bitlex")
    about = result.about
    made = [f"{lexer}, {best}, one thread of {about['processor']}, {str(about['date'])[:10]}; medians of {rows[0].rounds} rounds."]
    for part in GOALS:
        outputs = [output for output in TITLES if any((row.engine, row.output) == (part, output) for row in own)]
        made += ["", f"In parts of {part}:", "", shares(own, {TITLES[output]: (part, output) for output in outputs})]
    hard = result.of(HARD_STREAMS)
    if hard:
        columns = {part: (part, hard[0].output) for part in GOALS if part != JOINED}  # in C, nothing is joined
        made += ["", "Texts made to be hard, offsets in C:", "", shares(hard, columns)]
    return "\n".join(made)


def shares(rows: Sequence[Row], columns: dict[str, tuple[str, str]]) -> str:
    """What parts reach of the speed of the whole text, a line a text; columns are a title and the part and output that are below it."""
    lines = []
    for text in dict.fromkeys(row.text for row in rows):
        found = {(row.engine, row.output): row.median for row in rows if row.text == text}
        ratios = [(found[WHOLE, output] / found[part, output], GOALS[part]) for part, output in columns.values()]
        lines.append([text, *(f"**{ratio:.2f}**" if ratio >= goal else f"{ratio:.2f}" for ratio, goal in ratios)])
    return table(["", *columns], lines)


def full(result: Result) -> str:
    """Everything, for a person."""
    sections = ["# Measured: " + ", ".join(str(result.about[key]) for key in ("processor", "date") if key in result.about), ""]
    sections += [f"- {key}: {value}" for key, value in result.about.items()] + [""]
    titles = {"corpora": "Corpora", "hard": "Hard texts", "short": "Short strings, a call each"}
    for part, title in titles.items():
        if result.of(part):
            sections += [f"## {title}", "", by_subject(result.of(part))]
            if part == "short":
                sections += [calls(result.of(part)), ""]
    if result.of("threads"):
        sections += ["## Threads", "", by_threads(result.of("threads")), ""]
    if result.of("streams"):
        sections += ["## Texts in parts", "", by_parts(result.of("streams"))]
    if result.of(HARD_STREAMS):
        sections += ["## Hard texts in parts", "", by_parts(result.of(HARD_STREAMS))]
    if result.of("lengths"):
        sections += ["## Time a byte, by length", "", by_length(result.of("lengths"))]
    if result.sizes:
        sections += ["## Bytes of code and constants", ""]
        sections += [f"- {name}: " + ", ".join(f"{k} {v:,}" for k, v in found.items()) for name, found in result.sizes.items()] + [""]
    if result.absent:
        sections += ["## Not measured", "", *(f"- {line}" for line in reasons(result.absent)), ""]
    return "\n".join(sections)


def reasons(absent: dict[str, str]) -> list[str]:
    """Lines on what was not measured, those for one reason together. Keys are "engine" or "engine, lexer, text"."""
    found: dict[tuple[str, str], list[str]] = {}
    for key, why in absent.items():
        engine, _, where = key.partition(", ")
        found.setdefault((engine if where else "", why), []).append(where or engine)
    return [(f"{engine} ({'; '.join(names)})" if engine else ", ".join(names)) + f": {why}" for (engine, why), names in found.items()]


COLUMNS = (  # of the summary: title, engine ("" is our fastest), output
    ("count", "", "count"), ("spans", "", "spans"), ("split", "", "split"), ("portable C, spans", "bitlex portable", "spans"),
    ("pure Python, split", "bitlex pure", "split"), ("table DFA, spans", "table DFA", "spans"),
    ("PCRE2 JIT, spans", "PCRE2 JIT in C", "spans"), ("`regex`, split", "regex", "split"), ("tokenizers, split", "tokenizers", "split"),
)  # fmt: skip


def summary(result: Result) -> str:
    """A page's worth: the first lexer by corpus, all lexers by their mean, and what it depends on."""
    rows = result.of("corpora")
    if not rows:
        raise SystemExit("there is no summary without corpora")
    subjects = list(dict.fromkeys(row.subject for row in rows))
    best = {row.subject: row.engine for row in reversed(rows) if row.engine.startswith("bitlex")}
    columns = [column for column in COLUMNS if not column[1] or any((row.engine, row.output) == column[1:] for row in rows)]

    def rate(subject: str, text: str | None, engine: str, output: str) -> str:
        wanted = subject, engine or best[subject], output
        found = [r for r in rows if (r.subject, r.engine, r.output) == wanted and text in (None, r.text)]
        return number(mean(r.megabytes_a_second for r in found)) + "*" * any(not r.agrees for r in found) if found else "–"

    def times(subject: str, text: str | None, field: str) -> str:
        found = [r for r in rows if (r.subject, r.engine, r.output) == (subject, best[subject], "spans") and text in (None, r.text)]
        values = [value for r in found if (value := getattr(r, field)) is not None]
        return "–" if not values else f"{mean(values):.1f}" if field in ("of_table_dfa", "of_best_peer") else f"{mean(values):.2f}"

    ratios = {"× table DFA": "of_table_dfa", "× best peer": "of_best_peer", "of memcpy": "of_memcpy", "bytes a cycle": "bytes_a_cycle"}
    head = ["MB/s", *(title for title, _, _ in columns), *ratios]
    own = list(dict.fromkeys(row.text for row in rows if row.subject == subjects[0]))

    def line(title: str, subject: str, text: str | None) -> list[str]:
        return [title, *(rate(subject, text, *c[1:]) for c in columns), *(times(subject, text, field) for field in ratios.values())]

    lines = [line(text, subjects[0], text) for text in own]
    fastest = best[subjects[0]]
    means = [line(name + f" ({best[name]})" * (best[name] != fastest), name, None) for name in subjects]
    about, version = result.about, {row.engine: row.version for row in rows if row.version}
    peers = ", ".join(f"{name} {version[name]}" for name in version if not name.startswith("bitlex"))
    clock = about.get("clock")
    made = [
        f"{subjects[0]}, {fastest}, one thread of {about['processor']}{f' at {clock / 1e9:.1f} GHz' if isinstance(clock, int) else ''}, "
        f"{about['compiler']}, Python {about['python']}, {str(about['date'])[:10]}; {peers}. "
        f"Medians of {rows[0].rounds} rounds; ratios are of spans, to the fastest engine there that is neither ours nor the table.",
        "", table(head, lines), "", "Other lexers, geometric means over the same texts:", "", table(head, means),
    ]  # fmt: skip
    if any(not row.agrees for row in rows):
        made += ["", "\\* does not make the same pieces of every text: `bench/results` says where it differs first."]
    if result.of("short"):
        made += ["", calls(result.of("short"))]
    if found := result.sizes.get(subjects[0]):
        parts = ", ".join(f"{name} {size / 1000:.0f} KB" for name, size in found.items())
        made += ["", f"{subjects[0]} in C, code and constants: {parts}."]
    if result.of("threads"):
        made += ["", by_threads(result.of("threads"))]
    return "\n".join(made)


def calls(rows: Sequence[Row]) -> str:
    """A table on short strings."""
    found: dict[str, dict[str, list[float]]] = {}
    for row in rows:
        if row.engine != "bitlex pure":
            found.setdefault(row.engine, {}).setdefault(row.output, []).append(row.median / row.calls * 1e6)
    outputs = ("count", "spans", "split")
    lines = [[name, *(f"{mean(of[one]):.2f}" if one in of else "–" for one in outputs)] for name, of in found.items()]
    return table(["a call for 50 bytes, microseconds", *outputs], lines)


def mean(values: Iterable[float]) -> float:
    return statistics.geometric_mean(list(values))
