"""`bitlex show`: a text in; its tokens in colours on the terminal out, or a page for the browser."""

from __future__ import annotations

import argparse
import os
from itertools import pairwise

from ..formats import BACKGROUNDS, RESET, chunks
from ..opening import STANDARD_INPUT, opened
from ..outputs import whole_files
from . import Commands
from .choosing import (
    NAMED,
    TOKENIZER,
    refuse_device,
    refuse_outputs,
    special,
    tokenizer,
    tokenizer_files,
    which_special,
    which_tokenizer,
)
from .console import write

__all__ = ["add"]

SHOW = """\
what is shown:
  the text, tokens on two backgrounds by turns; what cannot be seen is escaped as 'bitlex split' does it, and so are bytes that are only
  a part of a character. With --ids, the ids follow, on the same backgrounds. --html writes one page without links to anything, light
  or dark as the browser is, where a token tells its id, bytes and place when the pointer is on it. Where the tokenizer changes the text
  (normalizes it, say), what is shown is the text that the tokens stand for

examples:
  bitlex show -t cl100k_base.tiktoken "it's 12345"
  bitlex show -t tokenizer.json --ids < prompt.txt
  bitlex show -t tokenizer.json --html prompt.html < prompt.txt
"""


def add(commands: Commands) -> None:
    mine = commands.add("show", run_show, "show the tokens of a text in colours", TOKENIZER, SHOW)
    which_tokenizer(mine)
    which_special(mine, around=False)
    mine.add_argument("text", nargs="?", help="the text itself (default: standard input)")
    mine.add_argument("--ids", action="store_true", help="show the ids, too")
    mine.add_argument("--html", metavar="FILE", help="write a page instead, which is there when it is whole")


def run_show(options: argparse.Namespace) -> int:
    if options.html is not None:
        refuse_device(options.html, NAMED)
        read = [STANDARD_INPUT] if options.text is None else []
        refuse_outputs([*tokenizer_files(options.tokenizer), *read], [options.html])
    chosen = tokenizer(options)
    if options.text is not None:
        text = os.fsencode(options.text)
    else:
        with opened(STANDARD_INPUT) as file:
            text = file.read()
    ids = chosen.encode(text, **special(options, chosen))
    tokens = [chosen.token_bytes(number) for number in ids]
    if options.html is not None:
        from ..page import page

        specials = set(chosen.special_tokens.values())
        with whole_files(options.html) as (out,):
            for part in page(chosen.name, zip(ids, tokens, strict=True), specials):
                out.write(part.encode())
        return 0
    ends = [0]
    for token in tokens:
        ends.append(ends[-1] + len(token))
    write(chunks("color", memoryview(b"".join(tokens)), pairwise(ends)))
    if options.ids and ids:
        write([" ".join(f"{BACKGROUNDS[at % 2]}{number}{RESET}" for at, number in enumerate(ids)).encode() + b"\n"])
    return 0
