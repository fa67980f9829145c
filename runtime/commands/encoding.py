"""`bitlex encode`: files in, their token ids out, in a file, in a folder of files, or on standard output."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from ..documents import encode_batches, encode_in_parts
from ..inputs import STANDARD_INPUT, Found, InputError, Source, find
from ..lexers import workers_of
from ..outputs import FORMATS, MANIFEST, NUMBERS, Output, are_one, index_of, writing, written
from ..terminal import Progress
from . import Commands, choosing
from .apart import Job, Tallies, Tally, work
from .console import complain

if TYPE_CHECKING:
    from ..processes import Report
    from ..tokenizer import Tokenizer

__all__ = ["add"]

IDS = """\
  The ids of a file that is mapped take 4 bytes each until it is done.
"""
OUTPUTS = f"""\
outputs (-o):
  none          standard output, as txt
  a file        the documents of all inputs, one after the other. It is there when it is whole: an error, Ctrl-C or a full disk leave
                what was there before
  a folder      (which is there, or whose name ends in /) a file for each input, FOLDER/INPUT.npy; what a glob found in folders lies in
                folders there, too. If inputs are several and large, a process for each core takes one at a time (--threads says how
                many). An input that cannot be read is reported, and the others are done. {MANIFEST} says which outputs
                are complete; --resume does the others, and refuses another tokenizer or other settings. Without it, all are done again;
                other settings are refused where outputs of another run would stay beside, and a run with such that is interrupted
                says so of those that it has not replaced yet. On a cluster, or wherever jobs share the work, each takes a --part of
                the same inputs to the same folder (such as $SLURM_ARRAY_TASK_ID/64); --resume goes by what all of them have done,
                also with another N, or without --part

formats (--format, else what the name of the file says):
  npy           the ids of all documents as a numpy array of uint32, or uint16 with --dtype u16
  bin           the same numbers, little-endian, without a header
  jsonl         an array of ids a line for each document
  txt           ids with spaces between, a line for each document
  Beside NAME.npy and NAME.bin, NAME.idx.npy says where documents begin (uint64, the last one is where the last document ends).
"""
EXAMPLES = """\
examples:
  echo "hello world" | bitlex encode -t cl100k_base.tiktoken
  bitlex encode -t Qwen/Qwen3-8B book.txt -o book.npy
  bitlex encode -t tokenizer.json 'shards/**/*.jsonl.zst' --field content --append '<|endoftext|>' -o tokens/ --resume
  bitlex encode -t tokenizer.json 'shards/**/*.jsonl.zst' -o tokens/ --resume --part 3/64
  cat *.txt | bitlex encode -t cl100k_base.tiktoken -o all.bin
  tail -f log | bitlex encode -t cl100k_base.tiktoken --input lines
"""


def add(commands: Commands) -> None:
    mine = commands.add(
        "encode", run_encode, "turn files into token ids", choosing.TOKENIZER, choosing.INPUTS + choosing.AS_THEY_COME + IDS, OUTPUTS, EXAMPLES
    )
    choosing.which_tokenizer(mine)
    choosing.which_inputs(mine)
    choosing.which_special(mine)
    out = mine.add_argument_group("output")
    out.add_argument("-o", "--output", metavar="PATH", help="a file, or a folder; see below (default: standard output)")
    out.add_argument("--format", choices=FORMATS, help="see below")
    out.add_argument("--dtype", choices=list(NUMBERS), default="u32", help="numbers of npy and bin (default: %(default)s)")
    out.add_argument("--resume", action="store_true", help="pass over the outputs in the folder that are complete")
    out.add_argument("--part", type=part, metavar="I/N", help="only every Nth input, from the Ith on, for the Ith of N jobs with one folder")
    out.add_argument("--quiet", action="store_true", help="show no progress on the terminal")


def part(given: str) -> tuple[int, int]:
    """Which of how many, for argparse."""
    found = re.fullmatch("([0-9]{1,9})/([0-9]{1,9})", given)
    if found is None or not 1 <= int(found[1]) <= int(found[2]):
        raise argparse.ArgumentTypeError(f"{given!r} is not I/N, as 1/4 is the first of four parts and 4/4 the last")
    return int(found[1]), int(found[2])


def run_encode(options: argparse.Namespace) -> int:
    output = options.output
    folder = output is not None and (output.endswith(("/", os.sep)) or os.path.isdir(output))
    for name in ("resume", "part"):
        if getattr(options, name) and not folder:
            options.misused(f"--{name} goes with a folder: -o FOLDER/")
    says = None if output is None or folder else PurePath(output).suffix[1:]
    format = options.format or ("npy" if folder else "txt" if says is None else says)
    if format not in FORMATS:
        options.misused(f"the name {output!r} does not say what to write: give --format, or a name that ends in / for a folder")
    if says in FORMATS and says != format:
        options.misused(f"--format {format}, but the name {output!r} says {says}: leave --format out, or give another name")
    if output is None and format == "npy":
        options.misused("npy is written to a file or a folder: give -o, or another --format")
    choosing.refuse_device(output)
    if folder:
        with suppress(FileNotFoundError):
            os.stat(output)  # what is no name for a folder is told of before it is made
    found = find(options.files or [STANDARD_INPUT])
    chosen = choosing.tokenizer(options)
    before, behind = choosing.around(options, chosen)
    highest = max((chosen.vocabulary_size - 1, *before, *behind))  # a template may have ids that the vocabulary has not
    if options.dtype == "u16" and format in ("npy", "bin") and highest >= 1 << 16:
        raise ValueError(f"--dtype u16: {chosen.name} has ids up to {highest}, which do not fit 16 bits")
    if folder:
        refuse_collisions(found, format, output)
    first, step = options.part or (1, 1)
    mine = found[first - 1 :: step]
    run = Encoding(options, chosen, choosing.sources(options, mine), [one.path for one in found])
    with run.progress:
        if folder:
            return run.to_folder(output, format, mine, found)
        return run.to_stream(format) if output is None else run.to_file(output, format)


def copied(tokenizer: Tokenizer, source: Source, output: Output, how: Mapping[str, Any]) -> Iterator[Tally]:
    """Write the ids of a source: how far that is, again and again, and at the end."""
    parts = encode_in_parts(tokenizer, source, **how)
    if parts is not None:
        yield from copied_in_parts(source, parts, output)
        return
    documents = tokens = 0
    for found in encode_batches(tokenizer, source, **how):
        if found is None:
            output.flush()
            continue
        ids, begins = found
        output.add(ids, begins)
        tokens += len(ids)
        documents += len(begins) - 1
        yield Tally(source.position, source.length, documents, tokens)
    yield Tally(source.size, source.length, documents, tokens)


def copied_in_parts(source: Source, parts: Iterator[Any], output: Output) -> Iterator[Tally]:
    """The same of one text that comes in parts. What was written before a mistake in it stays, in its line; where that is nothing, there is none."""
    tokens = 0
    try:
        for ids in parts:
            if ids is None:
                output.flush()
                continue
            output.extend(ids)
            tokens += len(ids)
            yield Tally(source.position, source.length, 0, tokens)
    except InputError:
        if tokens:
            output.end()
        raise
    output.end()
    yield Tally(source.size, source.length, 1, tokens)


def encode_file(job: Job, task: tuple[Source, str], report: Report) -> tuple[dict[str, Any], list[os.stat_result], Tally]:
    """Encode an input to a file of its own. What the manifest notes of the input, as it was before, and of the output."""
    from ..manifest import about

    source, path = task
    tally = Tally()
    try:
        was = about(source.path)
    except OSError as error:
        raise InputError(f"{source.path}: {error.strerror}") from None
    os.makedirs(os.path.dirname(path), exist_ok=True)
    made: list[os.stat_result] = []
    with writing(path, *job.written, names=False, stats=made) as output:  # which the manifest does, for many at once
        for tally in copied(job.tokenizer, source, output, job.how):
            report(tally)
    return was, made, tally


class Encoding:
    """One run of the command."""

    def __init__(self, options: argparse.Namespace, chosen: Tokenizer, inputs: list[Source], read: list[str]) -> None:
        """`read`: all inputs, also those that are the part of others, of which none may be written over."""
        workers_of(options.threads)  # what is wrong with it is not the fault of an input
        self.options, self.tokenizer, self.inputs = options, chosen, inputs
        self.read = [*choosing.tokenizer_files(options.tokenizer), *read]
        special = choosing.special(options, chosen)
        self.how: dict[str, Any] = {"threads": options.threads, "around": choosing.around(options, chosen), **special}
        shown = not options.quiet and (options.output is not None or not sys.stdout.isatty())  # not among ids
        self.progress = Progress(sys.stderr if shown else None, sum(source.size for source in inputs))
        self.tallies = Tallies(self.progress)

    def copy(self, number: int, output: Output) -> None:
        for tally in copied(self.tokenizer, self.inputs[number], output, self.how):
            self.tallies.note(number, tally)

    def to_stream(self, format: str) -> int:
        code = 0
        with writing(None, format, self.options.dtype) as output:
            for number in range(len(self.inputs)):
                try:
                    self.copy(number, output)
                except InputError as error:  # the other files may still be there
                    code = self.failed(number, error)
        return self.ended(code)

    def to_file(self, path: str, format: str) -> int:
        choosing.refuse_outputs(self.read, written(path, format))
        refuse_twin(path, format)
        number = 0
        try:
            with writing(path, format, self.options.dtype) as output:
                for number in range(len(self.inputs)):
                    self.copy(number, output)
        except InputError as error:
            return self.failed(number, error)
        return self.ended(0)

    def to_folder(self, folder: str, format: str, mine: list[Found], found: list[Found]) -> int:
        """`found`: all inputs, also those that are the part of others. If what these write were an input, parts would not be of the same ones."""
        from ..manifest import Manifest, is_manifest, manifest_of

        outputs = [f"{one.name}.{format}" for one in mine]
        names = {manifest_of(self.options.part), *filter(is_manifest, (os.path.basename(one.path) for one in found))}
        names.update(name for one in found for name in written(f"{one.name}.{format}", format))
        choosing.refuse_outputs(self.read, [os.path.join(folder, name) for name in names])
        for output in outputs:
            refuse_twin(os.path.join(folder, output), format)
        os.makedirs(folder, exist_ok=True)
        code = 0
        asked = self.settings(format)
        with Manifest.begin(folder, asked, resume=self.options.resume, part=self.options.part, outputs=outputs) as manifest:
            left = [number for number, source in enumerate(self.inputs) if not manifest.has(outputs[number], source.path)]
            sources = [self.inputs[number] for number in left]
            tasks = [(self.inputs[number], os.path.join(folder, outputs[number])) for number in left]
            self.progress.total = sum(source.size for source in sources)
            job = Job(self.tokenizer, self.how, (format, self.options.dtype))

            def noted(place: int, tally: Tally) -> None:
                self.tallies.note(left[place], tally)
                manifest.settle_in_time()

            try:
                for place, came in work(encode_file, job, tasks, sources, noted, manifest.settle_in_time):
                    number = left[place]
                    if isinstance(came, InputError):
                        code = self.failed(number, came)
                    else:
                        was, made, tally = came
                        self.tallies.note(number, tally)  # of what is reported from elsewhere, some is left out
                        manifest.add(outputs[number], was, made, documents=tally.documents, tokens=tally.tokens)
            finally:
                self.tell_of_older(folder, manifest.left_over(outputs))
        return self.ended(code)

    def tell_of_older(self, folder: str, left: list[tuple[str, str]]) -> None:
        """Said where a run that takes the place of one with other settings does not come to its end: its folder has ids of both."""
        if left:
            output, unlike = left[0]
            more = f" and {len(left) - 1:,} more are" if len(left) > 1 else " is"
            self.progress.line.clear()
            complain(f"{os.path.join(folder, output)}{more} of a run with another {unlike}, not of this one; --resume makes what is left")

    def settings(self, format: str) -> dict[str, Any]:
        """What decides the content of outputs."""
        from ..manifest import fingerprint

        options = self.options
        return {
            "tokenizer": f"{self.tokenizer.name} {fingerprint(self.tokenizer.description)}", "format": format, "dtype": options.dtype,
            "input": options.input, "field": options.field, "around": self.how["around"], "ordinary": options.ordinary,
            "allow_special": sorted(options.allow_special) if options.allow_special is not None else None,
        }  # fmt: skip

    def failed(self, number: int, error: InputError) -> int:
        self.tallies.give_up(number, self.inputs[number].size)
        self.progress.line.clear()
        return complain(error)

    def ended(self, code: int) -> int:
        if not code:
            _, length, documents, tokens = self.tallies.sum
            self.progress.end(f"{len(self.inputs):,} inputs, {documents:,} documents", length, tokens)
        return code


def refuse_collisions(found: list[Found], format: str, folder: str) -> None:
    """No two inputs may go to the same file, whichever part they are in, by the names and by what the file system makes of these."""
    from ..manifest import is_manifest

    taken: dict[str, str] = {}
    alike: dict[str, str] = {}
    pairs: list[tuple[str, str]] = []
    for one in found:
        if one.path == STANDARD_INPUT:
            raise ValueError("standard input goes to a file: -o FILE")
        for path in map(os.path.normpath, written(f"{one.name}.{format}", format)):
            if path in taken or is_manifest(path.casefold()):
                raise ValueError(f"{taken.get(path, 'the manifest')} and {one.path} would both go to {path}")
            taken[path] = one.path
            if (other := alike.setdefault(folded(path), path)) != path:
                pairs.append((other, path))
    if pairs:
        os.makedirs(folder, exist_ok=True)
        if both := are_one(folder, pairs):
            raise ValueError(f"{taken[both[0]]} and {taken[both[1]]} would both go to {both[0]}, which is the same name as {both[1]} there")


def folded(path: str) -> str:
    """The same of all paths that a file system may take for one."""
    if path.isascii():
        return path.lower()
    from unicodedata import normalize

    return normalize("NFC", normalize("NFD", path).casefold())


def refuse_twin(path: str, format: str) -> None:
    """NAME.npy and NAME.bin would have one index: what is there must not lose its own to the other."""
    other = {"npy": "bin", "bin": "npy"}.get(format)
    if other is not None and path.endswith(f".{format}"):
        twin = f"{path.removesuffix(format)}{other}"
        if os.path.exists(twin):
            raise ValueError(f"{twin}: its index, {index_of(path)}, would become that of {path}; remove it, or take another name")
