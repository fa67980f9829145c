"""How fast trainers learn a vocabulary from a file, in how much memory, and whether it is the same: `python -m bench training`.

    python -m bench training corpus.txt --size 8192
    python -m bench training corpus.txt --size 50000 --rounds 1 --python build/peers/bin/python --trainer gigatoken --trainer "bitlex huggingface"

Each run is a process of its own, which has learned from a few lines before, and trainers take turns. Time goes from the file on the disk to
the vocabulary in memory, the least of all rounds; packages that want a text get the whole file as one, so that line breaks are cut as they
are in it. Trainers of one rule must learn the same tokens in the same order, or the run fails. Memory is the peak of the process, with the
interpreter, which is what it is before training begins. What is not installed is left out, and said.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from .worker import TRAINERS

__all__ = ["TRAINERS", "Run", "main", "run", "table"]

WORKER = Path(__file__).resolve().parent / "worker.py"
ALIKE = (("bitlex huggingface", "gigatoken", "tokenizers"), ("bitlex rustbpe", "rustbpe"), ("bitlex minbpe",))


@dataclass(frozen=True, slots=True)
class Run:
    """What a trainer took: the least time of some, and the most memory."""

    name: str
    seconds: float
    before: int
    memory: int
    digests: frozenset[str]


def arguments(given: list[str] | None) -> argparse.Namespace:
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(prog="python -m bench training", description=__doc__, formatter_class=layout)
    parser.add_argument("text", type=Path, help="the file to learn from")
    parser.add_argument("--size", type=int, default=8192, help="ids of the vocabulary (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="how often each runs (default: %(default)s)")
    parser.add_argument("--threads", type=int, default=1, help="threads of bitlex; others take what they find (default: %(default)s)")
    parser.add_argument("--trainer", action="append", choices=list(TRAINERS), help="only this one; may be given several times")
    parser.add_argument("--python", default=sys.executable, help="the interpreter that has the other trainers (default: this one)")
    return parser.parse_args(given)


def run(name: str, options: argparse.Namespace) -> dict[str, float | str] | None:
    """One run; None if the trainer is not installed."""
    python = sys.executable if name.startswith("bitlex") else options.python
    command = [python, str(WORKER), name, str(options.text), str(options.size), str(options.threads)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode != 0 and "ModuleNotFoundError" in done.stderr:
        return None
    if done.returncode != 0:
        raise RuntimeError(f"{name}: {done.stderr[-2000:]}")
    found: dict[str, float | str] = json.loads(done.stdout.splitlines()[-1])
    return found


def table(runs: list[Run]) -> str:
    """Markdown, with how much longer each takes than the fastest of bitlex."""
    ours = min((one.seconds for one in runs if one.name.startswith("bitlex")), default=float("nan"))
    lines = ["| trainer | seconds | × | MB at peak | MB before |", "| --- | ---: | ---: | ---: | ---: |"]
    for one in runs:
        lines.append(f"| {one.name} | {one.seconds:.3f} | {one.seconds / ours:.2f} | {one.memory / 1e6:,.0f} | {one.before / 1e6:,.0f} |")
    return "\n".join(lines)


def main(given: list[str] | None = None) -> int:
    options = arguments(given)
    found: dict[str, list[dict[str, float | str]]] = {}
    for _ in range(options.rounds):
        for name in options.trainer or TRAINERS:
            if name in found and not found[name]:
                continue
            made = run(name, options)
            found.setdefault(name, []).extend([] if made is None else [made])
    missing = [name for name, runs in found.items() if not runs]
    runs = [
        Run(name, min(float(one["seconds"]) for one in many), int(many[0]["before"]), max(int(one["memory"]) for one in many),
            frozenset(str(one["digest"]) for one in many))
        for name, many in found.items() if many
    ]  # fmt: skip
    print(f"{options.text.name}, {options.text.stat().st_size:,} bytes, {options.size:,} ids, the least of {options.rounds}\n\n{table(runs)}")
    if missing:
        print(f"\nnot installed: {', '.join(missing)}")
    wrong = [alike for alike in ALIKE if len({digest for one in runs if one.name in alike for digest in one.digests}) > 1]
    for alike in wrong:
        print(f"\nDIFFERENT TOKENS: {', '.join(alike)}")
    return 1 if wrong else 0
