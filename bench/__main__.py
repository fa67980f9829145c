"""How fast the lexers split, next to what else can: one command, on any machine.

    python -m bench --quick                         a minute: cl100k, short texts, few rounds
    python -m bench                                 everything, on texts made here: a quarter of an hour
    python -m bench --data FOLDER --name reference --readme
    python -m bench --from bench/results/reference.json --readme      writes the pages again, measures nothing
    python -m bench tokens --help                   the other benchmark: tokenizers, from texts to ids
    python -m bench training --help                 a third one: trainers, from a file to a vocabulary
    python -m bench drop-ins --help                 a fourth one: the drop-ins for tiktoken and tokenizers, call by call
    python -m bench compare OLD.json NEW.json       two runs next to each other

A benchmark is a test, too: what every engine puts out is compared by number of pieces and by a digest of their offsets. One that
differs is marked, with the place where it first does; if it is one of ours, the run fails. What the figures are biased towards:
texts are in memory and long (--short is about the others), one process does nothing else, the garbage collector is off, and results
are freed when the clock stands (with --streams, while it runs: those of parts are). Slow engines read the beginning of each text
only. bitlex makes its arrays anew in each call, while the engines in C write into a buffer made beforehand. Made texts are not
language; see bench/corpora.py.
"""

from __future__ import annotations

import argparse
import inspect
import os
import sys
import tomllib
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import bitlex
from bitlex.generator.measure import lookahead
from bitlex.lexers import cores

from .conduct import Pages, add_options, conduct, read
from .corpora import Text, corpora, hard
from .engines import PACKAGES, engines
from .machine import code_size
from .measure import measure
from .native import Unavailable
from .plots import plots
from .report import END, START, STREAMS, Result, by_length, by_parts, by_subject, by_threads, full, streams_summary, summary
from .special import lengths, short, threads
from .streams import HARD_STREAMS, VOCABULARIES, of_c, of_lexer, of_tokenizer, streams, vocabularies
from .subject import Subject

HERE = Path(__file__).resolve().parent
FAMILIES = ("cl100k", "o200k", "gpt2", "llama3", "qwen2", "deepseek_v3")
PARTS = ("corpora", "short", "hard", "lengths", "threads", "streams", "size")
MEGABYTE = 1_000_000
PAGES = Pages(full, summary, (START, END), plots, [(HERE.parent / "docs" / "streams.md", streams_summary, STREAMS)])
UNCLOSED = "/* "  # whoever goes back to the last match reads to the end of the text from each of them


def arguments(given: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    what = parser.add_argument_group("what to measure (default: all parts)")
    what.add_argument("--corpora", action="store_true", help="each lexer on each text: count, spans, split")
    what.add_argument("--short", action="store_true", help="a call for each of 1,000 strings of 50 bytes")
    what.add_argument("--hard", type=float, nargs="?", const=1.0, metavar="MB", help="texts without end of one kind, of 1 MB or so many")
    what.add_argument("--lengths", type=int, nargs="?", const=100 * MEGABYTE, metavar="BYTES",
                      help="time a byte on the worst text that a walk over the machine finds, up to 100 MB, or so many")  # fmt: skip
    what.add_argument("--threads", type=int, nargs="?", const=0, metavar="N", help="a long text on 1, 2, 4 ... threads up to N (all cores)")
    what.add_argument("--streams", action="store_true", help="texts in parts of 64 bytes, 4 KB and 1 MB, next to the whole: pieces, of the "
                      "first lexer in C, too; and ids "
                      f"of the vocabularies in the folder vocab of --data whose names begin with {', '.join(VOCABULARIES)}")  # fmt: skip
    what.add_argument("--size", action="store_true", help="bytes of code and constants of a lexer in C")
    which = parser.add_argument_group("which lexers and texts")
    which.add_argument("--family", action="append", metavar="NAME", help=f"may be repeated (default: {', '.join(FAMILIES)}, patterns)")
    which.add_argument("--all", action="store_true", help="every family of the catalogue, and the patterns of bench/patterns.toml")
    which.add_argument("--no-patterns", action="store_true", help="leave out the patterns of bench/patterns.toml")
    which.add_argument("--data", type=Path, metavar="FOLDER", help="of files to measure on (default: $BITLEX_DATA, or texts made here)")
    which.add_argument("--megabytes", type=float, default=4, metavar="MB", help="of each text, at most (default: %(default)s)")
    add_options(parser, name="latest", rounds=9, quick="cl100k, 0.5 MB, 3 rounds")
    options = read(parser, given, PARTS)
    if options.quick:
        options.family, options.megabytes, options.rounds, options.no_patterns = options.family or ["cl100k"], 0.5, 3, True
    return options


def subjects(options: argparse.Namespace) -> list[Subject]:
    names = options.family or (list(bitlex.families()) if options.all else FAMILIES)
    found = [Subject.family(name) for name in names]
    if not options.no_patterns and (options.all or not options.family):
        patterns = tomllib.loads((HERE / "patterns.toml").read_text(encoding="utf-8"))
        found += [Subject.pattern(name, regex) for name, regex in patterns.items()]
    return found


def run(options: argparse.Namespace, result: Result, say: Callable[[str], None]) -> None:
    """Measure, part by part; rows are in `result` as soon as they are there."""
    folder = options.data or (Path(os.environ["BITLEX_DATA"]) if os.environ.get("BITLEX_DATA") else None)
    size = int(options.megabytes * MEGABYTE)
    texts = corpora(folder, size)
    result.absent |= dict.fromkeys(PACKAGES, "encodes only: has no pretokenizer that Python can call")
    result.about["texts"] = f"{len(texts)} files given" if folder else "made here"
    if folder is None:
        say("no --data, no BITLEX_DATA: measuring on texts made here, which are no language; see bench/corpora.py")
    chosen = subjects(options)
    clock = result.about["clock"]
    cycles = float(clock) if isinstance(clock, int) else None
    if cycles is None:
        say(f"bytes a cycle are left out, because the clock is {clock}")
    made = {subject.name: engines(subject, result.absent) for subject in chosen}
    first, theirs = chosen[0], made[chosen[0].name]
    if "corpora" in options.parts:
        for subject in chosen:
            for text in progress(texts, subject.name):
                result.rows += measure(subject, text, made[subject.name], options.rounds, result.absent, cycles=cycles)
            say(by_subject([row for row in result.of("corpora") if row.subject == subject.name]))
    if "short" in options.parts:
        for text in progress(texts[:2], "short strings"):
            result.rows += short(first, text, theirs, options.rounds)
        say(by_subject(result.of("short")))
    if "hard" in options.parts:
        for text in progress(hard(int((options.hard or min(1.0, options.megabytes)) * MEGABYTE)), "hard texts"):
            result.rows += measure(first, text, theirs, options.rounds, result.absent, "hard", cycles)
        say(by_subject(result.of("hard")))
    if "lengths" in options.parts:
        longest = options.lengths or min(100 * MEGABYTE, 25 * size)
        comments = next((subject for subject in chosen if subject.name == "pattern c"), None)
        for subject, unit in [(first, worst(first)), *([(comments, UNCLOSED)] if comments else [])]:
            by_count = [one for one in made[subject.name] if one.output == "count" or one.name == "regex"]
            for rows in progress(lengths(subject, unit, longest, by_count, options.rounds), "lengths"):
                result.rows += rows
        say(by_length(result.of("lengths")))
    if "threads" in options.parts:
        if "threads" in inspect.signature(bitlex.Lexer.spans).parameters:
            whole = "".join(text.text for text in texts)
            long = Text("all texts", whole * max(1, 16 * size // max(1, len(whole.encode()))))
            result.rows += threads(first, long, options.threads or cores(), options.rounds)
            say(by_threads(result.of("threads")))
        else:
            result.absent["threads"] = "this bitlex has no threads= in Lexer.spans"
    if "streams" in options.parts:
        read = [(subject.name, of_lexer(subject.lexer())) for subject in chosen]
        if first.known:
            try:
                in_c = of_c(first.name)
                for text in progress(hard(int(min(0.4, options.megabytes) * MEGABYTE)), f"streams of hard texts, {first.name}"):
                    result.rows += streams(first.name, text, in_c, options.rounds, HARD_STREAMS)
                say(by_parts(result.of(HARD_STREAMS)))
                read.insert(0, (first.name, in_c))
            except Unavailable as reason:
                result.absent["streams in C"] = str(reason)
        if folder is None or not vocabularies(folder):
            result.absent["streams of ids"] = "no vocabularies: they are read from the folder vocab of --data"
        else:
            read += [(path.name.partition(".")[0], of_tokenizer(bitlex.Tokenizer.from_file(path))) for path in vocabularies(folder)]
        for name, outputs in read:
            for text in progress(texts, f"streams, {name}"):
                result.rows += streams(name, text, outputs, options.rounds)
            say(by_parts([row for row in result.of("streams") if row.subject == name and row.output in outputs]))
    if "size" in options.parts:
        for subject in chosen:
            if subject.known:
                try:
                    result.sizes[subject.name] = code_size(subject.name)
                except Unavailable as reason:
                    result.absent["code size"] = str(reason)


def worst(subject: Subject) -> str:
    """Characters whose repetition keeps the lexer from deciding until the end, if its machine has such; otherwise a tab."""
    program = subject.program
    found = lookahead(program.stages[0])
    if found.symbols is not None or program.continuation:
        return "\t"
    return "".join(chr(program.cells.members(cell).ranges[0][0]) for cell in found.again)


def progress(items: Any, title: str) -> Iterator[Any]:
    """The same, with a bar on the terminal if there is one, and tqdm."""
    if not sys.stderr.isatty():
        return iter(items)
    try:
        tqdm = import_module("tqdm").tqdm
    except ImportError:
        print(f"{title} ... (tqdm is not installed: no bar)", file=sys.stderr)
        return iter(items)
    return iter(tqdm(items, desc=title, leave=False))


def main(given: list[str] | None = None) -> int:
    given = sys.argv[1:] if given is None else given
    if given[:1] == ["training"]:
        from .training.command import main as train

        return train(given[1:])
    if given[:1] == ["drop-ins"]:
        from .drop_ins import main as drop_ins

        return drop_ins(given[1:])
    if given[:1] == ["tokens"]:
        from .tokens.command import main as tokens

        return tokens(given[1:])
    if given[:1] == ["compare"]:
        from .compare import main as compare

        return compare(given[1:])
    return conduct(arguments(given), run, PAGES)


if __name__ == "__main__":
    sys.exit(main())
