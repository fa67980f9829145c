"""`bitlex train`: files in, the tokenizer that is learned from them out, and a report on it. `bitlex count-pieces`: the first half of that."""

from __future__ import annotations

import argparse
import errno
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..inputs import FORMS, STANDARD_INPUT, find
from . import Commands, as_text
from .choosing import INPUTS, NAMED, refuse_device, refuse_outputs, tokenizer_files, tokenizer_of
from .console import complain, print_table

if TYPE_CHECKING:
    from ..tokenizer import Tokenizer
    from ..training.progress import Display

__all__ = ["add"]

MEMORY = """\
  All but text take the same memory, however large the file; of a text, what is not mapped is held until it is counted.
"""
OUTPUT = """\
output (-o):
  what the name of the file says: NAME.tiktoken (ranks: without pattern and special tokens), tokenizer.json (Hugging Face), NAME.model
  (minbpe, with NAME.vocab to look at; the pattern of a family is then read as minbpe reads it), any other name: the form of bitlex, which
  is complete and loads in milliseconds. What the file could not say is an error before anything is read. It appears when it is whole.
  Until then, OUTPUT.checkpoint holds what is done, every minute, and while texts are counted OUTPUT.checkpoint.runs beside it; --resume goes
  on from there, and ends with the same tokenizer. Standard input is counted anew. Both are removed when the output is there

rules (--tie-break), which say what is merged when two pairs are equally frequent, and how ids are given:
  minbpe        the pair that comes first in the text; special tokens have the highest ids
  rustbpe       the pair of smaller ids; the same
  huggingface   the same, as the BpeTrainer of Hugging Face does: special tokens have the lowest ids, then come the bytes
"""
EXAMPLES = """\
examples:
  bitlex train book.txt --vocab-size 8192 -o book.model
  bitlex train 'shards/**/*.jsonl.zst' --field content --vocab-size 50000 --pattern o200k -o my.bitlex
  bitlex train corpus.txt --vocab-size 32000 --tie-break huggingface --special '<s>' --special '</s>' -o tokenizer.json --held-out test.txt
  bitlex train more.txt --extend cl100k_base.tiktoken --vocab-size 101000 -o extended.bitlex
  bitlex train 'counted/*.pieces' --vocab-size 50000 --pattern o200k -o my.bitlex
"""
COUNTED = """\
output (-o):
  a file for 'bitlex train', which takes such files like texts, or beside them, with the same --pattern or --extend, and learns what it would
  learn from the texts, one file after the other: so each job of a cluster counts what lies near it. It has each piece once, and appears
  when it is whole. Until then, OUTPUT.checkpoint and OUTPUT.checkpoint.runs hold what is done, every minute; --resume goes on from there.
  --tie-break says which trainer's reading of a regular expression is meant; families are read alike by all. For NAME.model, count with the
  regular expression of a family, not with its name: minbpe reads it in its own way
"""
COUNTED_EXAMPLES = """\
examples:
  bitlex count-pieces 'shards/00*.jsonl.zst' --field content --pattern o200k -o counted/00.pieces --resume
  bitlex count-pieces book.txt -o book.pieces
  bitlex count-pieces - --pattern cl100k -o all.pieces < all.txt

  bitlex train 'counted/*.pieces' --vocab-size 50000 --pattern o200k -o my.bitlex
"""
SUFFIX = ".checkpoint"


def add(commands: Commands) -> None:
    mine = commands.add("train", run_train, "learn a tokenizer from files", INPUTS + MEMORY, OUTPUT, EXAMPLES)
    mine.add_argument("--vocab-size", type=int, required=True, metavar="N", help="how many ids: bytes, merges and special tokens")
    mine.add_argument("-o", "--output", required=True, metavar="FILE", help="the tokenizer; see below")
    which_texts(mine)
    mine.add_argument("--special", action="append", type=as_text, default=[], metavar="NAME", help="a special token; may be given several times")
    mine.add_argument("--min-frequency", type=int, default=0, metavar="N", help="merge no pair that occurs less often")
    mine.add_argument("--max-token-length", type=int, metavar="N", help="make no token of more bytes")
    mine.add_argument("--limit-alphabet", type=int, metavar="N", help="with huggingface: keep only the most frequent bytes")
    mine.add_argument("--seen-bytes", action="store_true", help="with huggingface: only bytes that occur are tokens")
    mine.add_argument("--held-out", action="append", default=[], metavar="FILE", help="report compression on this; as often as needed")
    mine.add_argument("--plots", metavar="FOLDER", help="draw token lengths and compression there (needs matplotlib)")
    mine.add_argument("--verbose", action="store_true", help="show the pair just merged")
    mine.add_argument("--quiet", action="store_true", help="show no progress on the terminal, and print no report")
    mine = commands.add("count-pieces", run_count_pieces, "count the pieces of files, for train", INPUTS + MEMORY, COUNTED, COUNTED_EXAMPLES)
    mine.add_argument("-o", "--output", required=True, metavar="FILE", help="the pieces and their counts; see below")
    which_texts(mine)
    mine.add_argument("--quiet", action="store_true", help="show no progress on the terminal, and say nothing")


def which_texts(mine: argparse.ArgumentParser) -> None:
    """What is counted, how it is cut, and with what."""
    mine.add_argument("files", nargs="*", metavar="FILE", help="see below; '-', or none at all, is standard input")
    mine.add_argument("--input", choices=FORMS, help="what the files are (default: what their names say)")
    mine.add_argument("--field", type=as_text, default="text", metavar="NAME.NAME", help="where a document is in jsonl and parquet")
    which = mine.add_mutually_exclusive_group()
    which.add_argument("--pattern", type=as_text, help="a family, as 'bitlex families' lists them, or a regular expression (default: gpt2)")
    which.add_argument("--extend", metavar="TOKENIZER", help="go on from this tokenizer, whose ids stay")
    mine.add_argument("--tie-break", choices=("minbpe", "rustbpe", "huggingface"), default="minbpe", help="see below")
    mine.add_argument("--threads", type=int, default=0, metavar="N", help="how many count; 0, the default: as many as there are cores")
    mine.add_argument("--memory", metavar="SIZE", help="of counted pieces, such as '2 GB', before they go to the disk (default: half of all)")
    mine.add_argument("--spill", metavar="FOLDER", help="where they go then (default: beside the output)")
    mine.add_argument("--resume", action="store_true", help="go on from OUTPUT.checkpoint, if it is there")


def run_train(options: argparse.Namespace) -> int:
    from ..training import train
    from ..training.progress import Display

    display = Display(None if options.quiet else sys.stderr, options.verbose)
    refuse_places(options)
    asked = arguments(options)
    refuse_format(options, asked)
    with interruptible(options, display) as how:
        made = train(
            paths(options.files or [STANDARD_INPUT]), options.vocab_size, min_frequency=options.min_frequency,
            max_token_length=options.max_token_length, **how, **asked,
        )  # fmt: skip
        display.clear()
        write(made, options.output)
    if not options.quiet:
        report(made, options)
    if options.plots is not None:
        from ..training.plots import draw

        draw(made, paths(options.held_out), options.plots, input=options.input, field=options.field)
    return 0


def run_count_pieces(options: argparse.Namespace) -> int:
    from ..training import count_pieces
    from ..training.progress import Display

    display = Display(None if options.quiet else sys.stderr)
    refuse_place(options.output)
    read = [one.path for one in find(options.files or [STANDARD_INPUT])]
    more = () if options.extend is None else tokenizer_files(options.extend)
    refuse_outputs([*read, *more], [options.output, options.output + SUFFIX, options.output + SUFFIX + ".runs"])
    cut = {"pattern": options.pattern} if options.extend is None else {"extend": tokenizer_of(options.extend)}
    with interruptible(options, display) as how:
        count = count_pieces(paths(options.files or [STANDARD_INPUT]), options.output, tie_break=options.tie_break, **how, **cut)
    if not options.quiet:
        print(f"{count:,} distinct pieces")
    return 0


@contextmanager
def interruptible(options: argparse.Namespace, display: Display) -> Iterator[dict[str, Any]]:
    """The arguments that all counting has, with a checkpoint beside the output, which is removed at the end of the block."""
    checkpoint = options.output + SUFFIX

    def say(message: Warning | str, *about: object, **more: object) -> None:
        display.clear()
        complain(str(message))

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", UserWarning)
            warnings.showwarning = say
            yield {
                "threads": options.threads, "input": options.input, "field": options.field, "memory": options.memory, "spill": options.spill,
                "checkpoint": checkpoint, "resume": options.resume, "progress": display,
            }  # fmt: skip
    except BaseException as error:
        display.clear()
        if not isinstance(error, Exception) and os.path.exists(checkpoint):
            complain(f"interrupted; --resume goes on from {checkpoint}")
        raise
    display.clear()
    with suppress(FileNotFoundError):  # of another run with the same output, which was done before
        os.unlink(checkpoint)


def paths(files: list[str]) -> list[Path]:
    """As the library takes them. A file that is named "-" stays one, where Path makes standard input of "./-"."""
    return [Path(os.path.abspath(file) if file != STANDARD_INPUT == str(Path(file)) else file) for file in files]


def arguments(options: argparse.Namespace) -> dict[str, Any]:
    """What decides how a text is cut, and which tokens there are before the first merge."""
    from ..vocabularies.writing import format_of

    asked: dict[str, Any] = {"special_tokens": options.special, "tie_break": options.tie_break, "limit_alphabet": options.limit_alphabet}
    if options.seen_bytes:
        asked["initial_alphabet"] = b""
    if options.extend is not None:
        return asked | {"extend": tokenizer_of(options.extend)}
    pattern: Any = options.pattern
    if format_of(options.output) == "minbpe":
        from ..training.cutting import for_minbpe

        pattern = for_minbpe("gpt2" if pattern is None else pattern)
    return asked | {"pattern": pattern}


def refuse_format(options: argparse.Namespace, asked: dict[str, Any]) -> None:
    """What the output cannot say is found out by a tokenizer without merges, which is no news."""
    from ..training import train
    from ..vocabularies.writing import contents, format_of

    format = format_of(options.output)
    if format is not None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                contents(train("", options.vocab_size, **asked).description, options.output, format)
            except ValueError as error:
                if options.extend is None:
                    raise
                other = "; give -o a name that says another format"  # the pattern is that of what is extended
                raise ValueError(str(error).replace("; train with a pattern compiled for it", other)) from None


def refuse_place(output: str) -> None:
    """The output can be written, as far as that is known now: said before hours of work, not behind them."""
    from ..outputs import place_of

    refuse_device(output, NAMED)
    refuse_folder(os.path.dirname(output) or os.curdir, output)  # that of the checkpoint
    refuse_folder(str(place_of(output).parent), output)  # that of the output, which may be a link


def refuse_folder(folder: str, output: str) -> None:
    if not os.path.isdir(folder):
        raise ValueError(f"{output}: the folder {folder} is not there")
    if not os.access(folder, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), output)


def refuse_places(options: argparse.Namespace) -> None:
    """Nor is there anything else that is known now to go wrong in the end."""
    from importlib.util import find_spec

    from ..training.checkpoint import is_checkpoint
    from ..training.report import NO_TEXT
    from ..vocabularies.writing import format_of, names

    refuse_place(options.output)
    if options.plots is not None and os.path.exists(options.plots) and not os.path.isdir(options.plots):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), options.plots)
    if options.plots is not None and find_spec("matplotlib") is None:
        raise ValueError("plots need matplotlib: pip install matplotlib")
    for one in find(options.held_out):
        if one.path != STANDARD_INPUT:
            os.stat(one.path)
            if options.input is None and is_checkpoint(one.path):
                raise ValueError(f"{one.path}: {NO_TEXT}")
    read = [one.path for one in find([*(options.files or [STANDARD_INPUT]), *options.held_out])]
    written = [*names(options.output, format_of(options.output)), options.output + SUFFIX, options.output + SUFFIX + ".runs"]
    refuse_outputs([*read, *(() if options.extend is None else tokenizer_files(options.extend))], written)


def write(made: Tokenizer, path: str) -> None:
    from ..vocabularies.writing import format_of, write

    if format_of(path) is None:
        made.save(path)
    else:
        write(made.description, path)


def report(made: Tokenizer, options: argparse.Namespace) -> None:
    from ..training.report import report as about

    found = about(made, paths(options.held_out), input=options.input, field=options.field)
    print_table(found.rows())
