"""How fast tokenizers make ids of texts, and whether they are the right ones: `python -m bench tokens`, or `make bench ARGS=tokens`.

    python -m bench tokens --quick                          a few minutes: does it work here?
    make peers                                              other tokenizers, in environments of their own: build/peers, build/peers-1
    python -m bench tokens --data FOLDER --name tokens-reference --readme
    python -m bench tokens --vocabulary cl100k_base --engine bitlex --engine gigatoken --first --warm
    python -m bench compare OLD.json NEW.json               two runs next to each other

FOLDER has corpora/ and vocab/ (*.tiktoken, *.tokenizer.json), and maybe golden.json; without one, texts and a small vocabulary are made
here. Each tokenizer is a process of its own, on one processor (but for --threads), and they take turns. All ids are compared with those
of the package that the vocabulary was made for; who differs is marked, and if it is ours, the run fails.

What the figures are biased towards: texts are str, in memory and long. Packages in Rust keep the UTF-8 of a str inside it, and fastokens
keeps what it made of the text before; so warm texts begin at another line each time, in a str that is made for the call. What is gained
by encoding the same str once more, --again shows. An "object" of ids that nobody has read counts as a peer's best result. Slow packages
see the beginning of a text. Ours looks for special tokens, as the call that users write does; of tiktoken and others that have a call
that does not, that one is measured.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from bitlex.lexers import cores
from bitlex.vocabularies import Description

from ..conduct import Pages, add_options, conduct, read
from ..corpora import Text, corpora
from ..measure import Row
from ..plots import plots_of_tokens
from ..report import Result
from . import parts
from .adapters import ADAPTERS, Unavailable
from .processes import engines
from .report import MARKERS, by_part, full, relate, summary
from .samples import Samples
from .session import Session
from .vocabularies import Vocabulary, vocabularies

__all__ = ["arguments", "main", "run"]

PARTS = ("golden", "first", "warm", "again", "mixed", "short", "decode", "load", "memory", "pieces", "threads")
MEGABYTE = 1_000_000


def arguments(given: list[str]) -> argparse.Namespace:
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(prog="python -m bench tokens", description=__doc__, formatter_class=layout)
    what = parser.add_argument_group("what to measure (default: all parts)")
    what.add_argument("--golden", action="store_true", help="the ids of whole files against golden.json, if there is one")
    what.add_argument("--first", action="store_true", help="the first text of a new process, loading excluded")
    what.add_argument("--warm", action="store_true", help="texts of words that were met before")
    what.add_argument("--again", action="store_true", help="the same str again and again")
    what.add_argument("--mixed", action="store_true", help="documents of all texts in random order, by a new process, and again")
    what.add_argument("--short", action="store_true", help="a call for each of 1,000 strings of 50 bytes, to a list and to numpy")
    what.add_argument("--decode", action="store_true", help="ids to a str")
    what.add_argument("--load", action="store_true", help="importing the package, opening the vocabulary")
    what.add_argument("--memory", action="store_true", help="resident bytes, loaded and after all texts")
    what.add_argument("--pieces", action="store_true", help="a megabyte that no pattern cuts")
    what.add_argument("--threads", type=int, nargs="?", const=0, metavar="N", help="documents and a text on 1, 2, 4 ... up to N (all)")
    which = parser.add_argument_group("which vocabularies, tokenizers and texts")
    which.add_argument("--vocabulary", action="append", default=[], metavar="NAME", help="of a file in vocab/, or a path; may be repeated")
    which.add_argument("--engine", action="append", default=[], metavar="NAME", help=f"may be repeated: {', '.join(ADAPTERS)}")
    which.add_argument("--python", action="append", default=[], metavar="[NAME=]PATH", help="the interpreter that has the others, or NAME")
    which.add_argument("--data", type=Path, metavar="FOLDER", help="default: $BITLEX_DATA, or texts and a vocabulary made here")
    which.add_argument("--megabytes", type=float, metavar="MB", help="of each text, at most (default: all of it; 4 of made texts)")
    add_options(parser, name="tokens", rounds=7, quick="one vocabulary, two texts of 0.1 MB, 2 rounds")
    options = read(parser, given, PARTS)
    if options.quick:
        options.rounds = min(options.rounds, 2)
        options.megabytes = options.megabytes or 0.1
    return options


def run(options: argparse.Namespace, result: Result, say: Callable[[str], None]) -> None:
    """Measure; rows are in `result` as soon as they are there."""
    folder = options.data or (Path(os.environ["BITLEX_DATA"]) if os.environ.get("BITLEX_DATA") else None)
    size = int((options.megabytes or (4 if folder is None else 1_000_000)) * MEGABYTE)
    texts = corpora(folder, size)[: 2 if options.quick else None]
    result.about["texts"] = f"{len(texts)} files given" if folder else "made here"
    chosen = engines(options.python, options.engine, tiers=not options.quick)
    if not any(engine.ours for engine in chosen):
        raise SystemExit("--engine: bitlex is what the others are compared with; name it, too")
    with tempfile.TemporaryDirectory(prefix="bitlex-tokens-") as made:
        samples = Samples(Path(made))
        known = vocabularies(folder, options.vocabulary, Path(made), result.absent)
        for number, vocabulary in enumerate(known):
            if number and options.quick and not options.vocabulary:
                break
            session = Session(vocabulary, chosen, samples, result.absent, options.rounds)
            try:
                measure(options, folder, session, without_special(texts, vocabulary, result.absent), result, say)
            finally:
                session.close()


def measure(
    options: argparse.Namespace, folder: Path | None, session: Session, texts: list[Text], result: Result, say: Callable[[str], None]
) -> None:
    """The parts for one vocabulary."""
    size = int(min(options.megabytes or 1, 1) * MEGABYTE)
    result.about[f"ids of {session.vocabulary.name}"] = f"compared with those of {session.reference.name}"
    if "golden" in options.parts and folder is not None and (folder / "golden.json").exists():
        take(session, "golden", parts.golden(session, folder), result, say)
    if "first" in options.parts:
        take(session, "first", parts.first(session, texts), result, say)
    if "warm" in options.parts:
        take(session, "warm", parts.warm(session, texts), result, say)
    if "again" in options.parts:
        take(session, "again", parts.again(session, texts), result, say)
    if "mixed" in options.parts:
        take(session, "mixed", parts.mixed(session, texts), result, say)
    if "short" in options.parts:
        take(session, "short", parts.short(session, texts), result, say)
    if "decode" in options.parts:
        take(session, "decode", parts.decoding(session, texts), result, say)
    if "load" in options.parts:
        take(session, "load", parts.loading(session), result, say)
    if "memory" in options.parts:
        result.sizes |= parts.memory(session, texts)
    if "pieces" in options.parts:
        take(session, "pieces", parts.hard(session, texts, size // 5 if options.quick else size), result, say)
    if "threads" in options.parts:
        most = options.threads or cores()
        take(session, "threads", parts.threads(session, texts, most, 16 * size), result, say)


def take(session: Session, part: str, found: Iterator[list[Row]], result: Result, say: Callable[[str], None]) -> None:
    """Keep the rows of a part, related to each other, and show them."""
    rows = []
    try:
        for some in found:
            relate(some)
            result.rows += some
            rows += some
    except Unavailable as reason:  # a process ended while it was measured: what there is until then stays
        result.absent[f"{part}, {session.vocabulary.name}"] = str(reason)
        say(f"{part}, {session.vocabulary.name}: {reason}")
    if rows:
        say(by_part(rows))


def without_special(texts: list[Text], vocabulary: Vocabulary, absent: dict[str, str]) -> list[Text]:
    """Those that have no special token of a vocabulary for tiktoken, whose ids depend on which function is called."""
    tokens = special(vocabulary.description)
    kept = []
    for text in texts:
        found = next((token for token in tokens if token in text.text), None)
        if found is None:
            kept.append(text)
        else:
            absent[f"all, {vocabulary.name}, {text.name}"] = f"the text has the special token {found}"
    if not kept:
        raise SystemExit(f"all texts have special tokens of {vocabulary.name}")
    return kept


def special(description: Description) -> list[str]:
    return [token.content for token in description.added] if description.convention == "tiktoken" else []


def main(given: list[str]) -> int:
    return conduct(arguments(given), run, Pages(full, summary, MARKERS, plots_of_tokens))
