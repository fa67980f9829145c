"""`bitlex count`: files in, how many tokens each has and all of them have, as wc does it."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sized

from ..documents import count_documents, encode_in_parts
from ..inputs import InputError
from ..terminal import Progress
from . import Commands, choosing
from .console import complain, write

__all__ = ["add"]

COUNT = """\
what is printed:
  the number of tokens and the path of each input, then the total if there are several. With --json, {"files": [...], "total": {...}},
  with the documents, and the bytes of input (decompressed; of Parquet, of the column in memory)

examples:
  bitlex count -t cl100k_base.tiktoken README.md
  bitlex count -t tokenizer.json 'src/**/*.py' --ordinary
  bitlex count -t tokenizer.json shard.jsonl.gz --field content --json
"""


def add(commands: Commands) -> None:
    mine = commands.add("count", run_count, "count the tokens of files", choosing.TOKENIZER, choosing.INPUTS, COUNT)
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
    files, code, position = [], 0, 0
    sums = {"tokens": 0, "documents": 0, "bytes": 0}
    width = len(str(total)) if total else 7
    with Progress(None if options.quiet else sys.stderr, total) as progress:
        for source in inputs:
            documents = tokens = 0
            try:
                parts = encode_in_parts(chosen, source, **how)
                for count in count_documents(chosen, source, **how) if parts is None else map(size_of, parts):
                    documents += count is not None and parts is None
                    tokens += count or 0
                    progress.show(position + source.position, sums["bytes"] + source.length, sums["tokens"] + tokens)
            except InputError as error:  # the other files may still be there
                progress.line.clear()
                code = complain(error)
                continue
            finally:
                position += source.size
            documents += parts is not None
            found = {"tokens": tokens, "documents": documents, "bytes": source.length}
            sums = {name: sums[name] + found[name] for name in sums}
            files.append({"file": source.path, **found})
            if not options.json:
                progress.line.clear()
                write([f"{tokens:{width}} {source.path}\n".encode("utf-8", "surrogateescape")])
        if options.json:
            write([json.dumps({"files": files, "total": sums}, indent=2).encode() + b"\n"])
        elif len(inputs) > 1:
            write([f"{sums['tokens']:{width}} total\n".encode()])
        if not code:
            progress.end(f"{len(inputs):,} inputs, {sums['documents']:,} documents", sums["bytes"], sums["tokens"])
    return code


def size_of(ids: Sized | None) -> int:
    """How many ids there are in a part; None: no more is there for the moment."""
    return 0 if ids is None else len(ids)
