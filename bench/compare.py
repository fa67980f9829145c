"""Two runs next to each other: `python -m bench compare OLD.json NEW.json`, of lexers or of tokenizers.

A row of one is found in the other by all that says what was measured. For each part, engine and output the geometric mean of how many
times as fast the new one is; then the single rows that moved most, among those where all times of one run are below all of the other.
Where that is so by chance is not known: runs on two machines, or on a busy one, compare the machines.
"""

from __future__ import annotations

import argparse
import statistics
from pathlib import Path

from .measure import Row
from .report import Result, load, table

__all__ = ["compare", "main"]

SHOWN = 20
Key = tuple[str, str, str, str, str, int, int]


def key(row: Row) -> Key:
    return row.part, row.subject, row.text, row.output, row.engine, row.threads, row.bytes


def compare(old: Result, new: Result) -> str:
    before = {key(row): row for row in old.rows}
    both = [(before[key(row)], row) for row in new.rows if key(row) in before]
    if not both:
        return "The two runs have no row in common.\n"
    lines = []
    for part, engine, output in dict.fromkeys((row.part, row.engine, row.output) for _, row in both):
        own = [was.median / now.median for was, now in both if (now.part, now.engine, now.output) == (part, engine, output)]
        values = statistics.geometric_mean(own), min(own), max(own)
        lines.append([f"{part}, {engine}, {output}", str(len(own)), *(f"{value:.2f}" for value in values)])
    made = [table(["new run, × as fast", "rows", "mean", "least", "most"], lines)]
    apart = [(was, now) for was, now in both if now.fastest > was.slowest or was.fastest > now.slowest]
    if apart:
        apart.sort(key=lambda pair: min(pair[0].median / pair[1].median, pair[1].median / pair[0].median))
        moved = [[", ".join(key(now)[:5]), f"{was.median / now.median:.2f}"] for was, now in apart]
        made += ["", f"{len(apart)} of {len(both)} rows apart by more than both spread; the first {min(SHOWN, len(apart))}:", ""]
        made.append(table(["what", "× as fast"], moved[:SHOWN]))
    changed = [", ".join(key(now)[:5]) for was, now in both if was.digest != now.digest]
    alone = len(old.rows) - len(both), len(new.rows) - len(both)
    made += ["", f"{len(both)} rows in both, {alone[0]} in the old run only, {alone[1]} in the new one only."]
    made += [f"Other results than before: {one}" for one in changed]
    return "\n".join(made) + "\n"


def main(given: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench compare", description=__doc__)
    parser.add_argument("old", type=Path, metavar="OLD.json")
    parser.add_argument("new", type=Path, metavar="NEW.json")
    options = parser.parse_args(given)
    print(compare(load(options.old), load(options.new)), end="")
    return 0
