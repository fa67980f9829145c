"""`bitlex decode`: ids in, as `bitlex encode` writes them; the bytes that they stand for out."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, BinaryIO

from ..inputs import STANDARD_INPUT, InputError, find
from ..outputs import NUMBERS, index_of, whole_files
from ..token_files import IdFile, Part, is_index
from . import Commands, as_text
from .choosing import TOKENIZER, refuse_device, refuse_outputs, tokenizer, tokenizer_files, which_tokenizer
from .console import complain

if TYPE_CHECKING:
    from ..tokenizer import Tokenizer

__all__ = ["add"]

DECODE = """\
inputs (--input, else what the name of the file says):
  npy           an array of ids, of any size of number
  bin           numbers of the size that NAME.idx.npy tells, or --dtype
  jsonl         an array of ids a line, or an object with one at --field
  txt           ids with spaces or line breaks between; also standard input
  Documents begin where NAME.idx.npy says, or where a line does.

what is written (--format):
  bytes         what the ids stand for, byte for byte, and nothing between documents
  jsonl         {"text": ...} a line for each document; bytes that are not UTF-8 as \\udcXX (Python's surrogateescape)

examples:
  echo 15339 1917 | bitlex decode -t cl100k_base.tiktoken
  bitlex decode -t cl100k_base.tiktoken book.npy -o book.txt
  bitlex decode -t tokenizer.json shard.bin --format jsonl | head
"""


def add(commands: Commands) -> None:
    mine = commands.add("decode", run_decode, "turn token ids into text", TOKENIZER, DECODE)
    which_tokenizer(mine)
    mine.add_argument("files", nargs="*", metavar="FILE", help="paths, or globs in quotes; '-', or none at all, is standard input")
    mine.add_argument("--input", choices=["npy", "bin", "jsonl", "txt"], help="what the files are (default: what their names say)")
    mine.add_argument("--dtype", choices=list(NUMBERS), help="the numbers of a .bin file that has no index")
    mine.add_argument("--field", type=as_text, default="ids", metavar="NAME", help="where the ids are, in objects of jsonl (default: %(default)s)")
    mine.add_argument("--skip-special", action="store_true", help="leave special tokens out")
    mine.add_argument("-o", "--output", metavar="FILE", help="there when it is whole (default: standard output)")
    mine.add_argument("--format", choices=["bytes", "jsonl"], default="bytes", help="see below (default: %(default)s)")


def run_decode(options: argparse.Namespace) -> int:
    refuse_device(options.output)
    paths = [one.path for one in find(options.files or [STANDARD_INPUT])]
    paths = [path for path in paths if path in options.files or not is_index(path)]  # which a glob finds beside its ids
    if options.output is not None:
        read = [name for path in paths for name in (path, index_of(path))]
        refuse_outputs([*tokenizer_files(options.tokenizer), *read], [options.output])
    chosen = tokenizer(options)
    files = [IdFile(path, options.input, options.dtype, options.field, chosen.vocabulary_size - 1) for path in paths]
    try:
        if options.output is None:
            write(files, chosen, options, sys.stdout.buffer)
        else:
            with whole_files(options.output) as (output,):
                write(files, chosen, options, output)
    except InputError as error:
        return complain(error)
    return 0


def write(files: list[IdFile], chosen: Tokenizer, options: argparse.Namespace, output: BinaryIO) -> None:
    for file in files:
        waiting = b""
        for found in decoded(file, chosen, options.skip_special):
            if found is None:
                output.flush()
                continue
            part, data = found
            if options.format == "bytes":
                output.write(data)
                continue
            waiting += data
            if part.last:
                output.write(json.dumps({"text": waiting.decode("utf-8", "surrogateescape")}).encode() + b"\n")
                waiting = b""


def decoded(file: IdFile, chosen: Tokenizer, skip_special: bool) -> Iterator[tuple[Part, bytes] | None]:
    """Each part of a file, and its bytes; None: no more is there for the moment."""
    for part in file.parts():
        if part is None:
            yield None
            continue
        ids: Any = part.ids
        try:
            yield part, chosen.decode_bytes(ids, skip_special_tokens=skip_special)
        except (KeyError, ValueError):
            at = next(at for at, number in enumerate(ids.tolist()) if not is_token(chosen, number))
            raise InputError(f"{file.place(part.document, part.at + at)} is {ids[at]}, which is no token of {chosen.name}") from None


def is_token(chosen: Tokenizer, number: int) -> bool:
    try:
        chosen.token_bytes(number)
    except (KeyError, ValueError, OverflowError):
        return False
    return True
