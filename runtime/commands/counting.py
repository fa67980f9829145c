"""`bitlex count`: files in, how many tokens each has and all of them have, as wc does it."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING

from ..documents import count_batches, count_in_parts
from ..formats import printable
from ..inputs import InputError, Source
from ..terminal import Progress
from . import Commands, choosing
from .apart import Job, Tallies, Tally, in_order, work
from .console import complain, write

if TYPE_CHECKING:
    from ..processes import Report

__all__ = ["add"]

COUNT = """\
what is printed:
  the number of tokens and the path of each input (what cannot be seen in it is escaped on a terminal, and nowhere else), then the total if
  there are several. With --json, {"files": [...], "total": {...}},
  with the documents, and the bytes of input (decompressed; of Parquet, of the column in memory)

examples:
  bitlex count -t cl100k_base.tiktoken README.md
  bitlex count -t tokenizer.json 'src/**/*.py' --ordinary
  bitlex count -t tokenizer.json shard.jsonl.gz --field content --json
"""


def add(commands: Commands) -> None:
    mine = commands.add("count", run_count, "count the tokens of files", choosing.TOKENIZER, choosing.INPUTS + choosing.AS_THEY_COME, COUNT)
    choosing.which_tokenizer(mine)
    choosing.which_inputs(mine)
    choosing.which_special(mine)
    mine.add_argument("--json", action="store_true", help="print JSON, with documents and bytes, too")
    mine.add_argument("--quiet", action="store_true", help="show no progress on the terminal")


def run_count(options: argparse.Namespace) -> int:
    inputs = choosing.sources(options)
    chosen = choosing.tokenizer(options)
    how = {"threads": options.threads, "around": choosing.around(options, chosen), **choosing.special(options, chosen)}
    total = sum(source.size for source in inputs)
    files, code = [], 0
    sums = {"tokens": 0, "documents": 0, "bytes": 0}
    width = len(str(total)) if total else 7
    shown = printable if sys.stdout.isatty() else str  # what goes to a program is exact
    with Progress(None if options.quiet else sys.stderr, total) as progress:
        tallies = Tallies(progress)
        counted = in_order(work(count_input, Job(chosen, how), inputs, inputs, tallies.note))
        for number, (source, tally) in enumerate(zip(inputs, counted, strict=True)):
            progress.line.clear()
            if isinstance(tally, InputError):  # the other files may still be there
                tallies.give_up(number, source.size)
                code = complain(tally)
                continue
            tallies.note(number, tally)
            found = {"tokens": tally.tokens, "documents": tally.documents, "bytes": tally.length}
            sums = {name: sums[name] + found[name] for name in sums}
            files.append({"file": source.path, **found})
            if not options.json:
                write([f"{tally.tokens:{width}} {shown(source.path)}\n".encode("utf-8", "surrogateescape")])
        if options.json:
            write([json.dumps({"files": files, "total": sums}, indent=2).encode() + b"\n"])
        elif len(inputs) > 1:
            write([f"{sums['tokens']:{width}} total\n".encode()])
        if not code:
            progress.end(f"{len(inputs):,} inputs, {sums['documents']:,} documents", sums["bytes"], sums["tokens"])
    return code


def count_input(job: Job, source: Source, report: Report) -> Tally:
    """How many tokens an input has."""
    documents = tokens = 0
    parts = count_in_parts(job.tokenizer, source, **job.how)
    for found in count_batches(job.tokenizer, source, **job.how) if parts is None else ((0, ids or 0) for ids in parts):
        more, ids = found or (0, 0)
        documents += more
        tokens += ids
        report(Tally(source.position, source.length, documents, tokens))
    return Tally(source.size, source.length, documents + (parts is not None), tokens)
