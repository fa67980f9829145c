"""How fast the drop-ins are, call by call, next to the packages that they stand in for: `python -m bench drop-ins`.

    python -m bench drop-ins --data FOLDER
    python -m bench drop-ins --data FOLDER --vocabulary cl100k_base --vocabulary llama3 --page docs/compat.md

FOLDER has vocab/ (*.tiktoken, *.tokenizer.json) and corpora/; without one, a small vocabulary and texts are made here. Every call is made
by the package and by the drop-in, in turn; both must give the same, or the run fails. What the figures are biased towards: lines are short,
so most of the time is not encoding; both use all cores for batches, and Python's own lock for what they hand out. An Encoding of which
nothing is read costs little, for most of it is made when it is asked for; so some calls read all of it.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from .corpora import corpora
from .report import splice, table
from .tokens.vocabularies import Vocabulary, vocabularies

__all__ = ["Timed", "main", "measure"]

MARKERS = "<!-- bench-drop-ins:start -->", "<!-- bench-drop-ins:end -->"
READ = ("ids", "tokens", "offsets", "word_ids", "type_ids", "special_tokens_mask", "attention_mask")


@dataclass(frozen=True, slots=True)
class Material:
    """What calls are made with."""

    text: str
    lines: list[str]
    words: list[list[str]]
    ids: list[list[int]]
    tokens: list[str]


@dataclass(frozen=True, slots=True)
class Timed:
    """A call: seconds of the package and of the drop-in; whether both gave the same."""

    name: str
    theirs: float
    ours: float
    agrees: bool


Calls = dict[str, Callable[[Any, Material], Any]]

OF_TIKTOKEN: Calls = {
    "encode, a text": lambda e, m: e.encode(m.text),
    "encode, each line": lambda e, m: [e.encode(line) for line in m.lines],
    "encode_batch": lambda e, m: e.encode_batch(m.lines),
    "encode_to_numpy, a text": lambda e, m: e.encode_to_numpy(m.text),
    "encode_with_unstable": lambda e, m: [sorted(e.encode_with_unstable(line[:30])[1]) for line in m.lines[:20]],
    "encode_single_token": lambda e, m: [e.encode_single_token(token) for token in m.tokens],
    "decode, each line": lambda e, m: [e.decode(ids) for ids in m.ids],
    "decode_bytes, each line": lambda e, m: [e.decode_bytes(ids) for ids in m.ids],
    "decode_batch": lambda e, m: e.decode_batch(m.ids),
    "decode_tokens_bytes": lambda e, m: [e.decode_tokens_bytes(ids) for ids in m.ids],
    "decode_with_offsets": lambda e, m: [e.decode_with_offsets(ids) for ids in m.ids],
    "decode_single_token_bytes": lambda e, m: [e.decode_single_token_bytes(number) for ids in m.ids for number in ids],
}
OF_TOKENIZERS: Calls = {
    "encode(...).ids, a text": lambda t, m: t.encode(m.text).ids,
    "encode(...).ids, each line": lambda t, m: [t.encode(line).ids for line in m.lines],
    "encode_batch, ids": lambda t, m: [found.ids for found in t.encode_batch(m.lines)],
    "encode_batch_fast, ids": lambda t, m: [found.ids for found in t.encode_batch_fast(m.lines)],
    "encode_batch, ids and attention_mask": lambda t, m: [(one.ids, one.attention_mask) for one in t.encode_batch(m.lines)],
    "encode_batch, everything": lambda t, m: [all_of(one) for one in t.encode_batch(m.lines)],
    "encode_batch, pairs": lambda t, m: [one.ids for one in t.encode_batch(list(zip(m.lines[::2], m.lines[1::2], strict=False)))],
    "encode_batch, words": lambda t, m: [(one.ids, one.word_ids) for one in t.encode_batch(m.words, is_pretokenized=True)],
    "encode_batch, cut to 16 and filled up": lambda t, m: cut(t, m.lines),
    "encode, cut into parts of 32": lambda t, m: overflowing(t, m.text[:20_000]),
    "decode, each line": lambda t, m: [t.decode(ids) for ids in m.ids],
    "decode_batch": lambda t, m: t.decode_batch(m.ids),
    "DecodeStream.step, each id": lambda t, m: stepped(t, m.ids),
    "char_to_token, each character": lambda t, m: [located(t.encode(line), len(line)) for line in m.lines[:100]],
    "token_to_id": lambda t, m: [t.token_to_id(token) for token in m.tokens],
    "id_to_token": lambda t, m: [t.id_to_token(number) for ids in m.ids for number in ids],
    "get_vocab": lambda t, m: t.get_vocab(),
    "add_tokens, 50 one by one": lambda t, m: grown(t),
    "train_from_iterator, each line, 8,000 tokens": lambda t, m: trained(t, m.lines),
}


def all_of(encoding: Any) -> tuple[Any, ...]:
    return tuple(getattr(encoding, name) for name in READ)


def cut(tokenizer: Any, lines: list[str]) -> list[Any]:
    tokenizer.enable_truncation(16)
    tokenizer.enable_padding(length=16)
    try:
        return [(one.ids, one.attention_mask) for one in tokenizer.encode_batch(lines)]
    finally:
        tokenizer.no_truncation()
        tokenizer.no_padding()


def overflowing(tokenizer: Any, text: str) -> list[Any]:
    tokenizer.enable_truncation(32, stride=8)
    try:
        found = tokenizer.encode(text)
        return [(one.ids, one.offsets) for one in (found, *found.overflowing)]
    finally:
        tokenizer.no_truncation()


def stepped(tokenizer: Any, batch: list[list[int]]) -> list[str | None]:
    theirs = import_module("tokenizers")
    kind = theirs.decoders.DecodeStream if isinstance(tokenizer, theirs.Tokenizer) else import_module("bitlex.compat.huggingface").DecodeStream
    stream = kind()
    return [stream.step(tokenizer, number) for ids in batch for number in ids]


def located(encoding: Any, length: int) -> list[int | None]:
    return [encoding.char_to_token(at) for at in range(length)]


def grown(tokenizer: Any) -> int:
    """More tokens each time; those that are there already are not added."""
    first: int = tokenizer.get_vocab_size()
    return sum(tokenizer.add_tokens([f"<{number}>"]) for number in range(first, first + 50))


def pair_of(vocabulary: Vocabulary) -> tuple[str, Any, Any, Calls]:
    """What a package makes of a vocabulary, and what the drop-in does."""
    original = vocabulary.original
    if original.kind == "ranks":
        theirs, ours = import_module("tiktoken"), import_module("bitlex.compat.tiktoken")
        known = vocabulary.description
        parts = {"pat_str": original.pattern, "mergeable_ranks": dict(known.vocabulary.ids), "special_tokens": dict(original.special or {})}
        return "tiktoken", *(module.Encoding(vocabulary.name, **parts) for module in (theirs, ours)), OF_TIKTOKEN
    theirs, ours = import_module("tokenizers"), import_module("bitlex.compat.huggingface")
    return "tokenizers", *(module.Tokenizer.from_file(original.path) for module in (theirs, ours)), OF_TOKENIZERS


def material(text: str, theirs: Any) -> Material:
    lines = [line for line in text.split("\n") if line.strip()][:1000]
    encoded = theirs.encode_batch(lines)
    ids = [list(getattr(one, "ids", one)) for one in encoded]
    name = theirs.id_to_token if hasattr(theirs, "id_to_token") else theirs.decode_single_token_bytes
    return Material("\n".join(lines), lines, [line.split() for line in lines], ids, [name(number) for one in ids for number in one])


def trained(tokenizer: Any, lines: list[str]) -> str:
    theirs = import_module("tokenizers")
    made = type(tokenizer)(theirs.models.BPE())
    made.pre_tokenizer = theirs.pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.train_from_iterator(lines, theirs.trainers.BpeTrainer(vocab_size=8000, show_progress=False))
    found: str = made.to_str()
    return found


def plain(found: Any) -> Any:
    return found.tolist() if hasattr(found, "tolist") else found


def measure(theirs: Any, ours: Any, calls: Calls, given: Material, rounds: int) -> Iterator[Timed]:
    """Each call by both, in turn; which comes first changes from round to round."""
    for name, call in calls.items():
        agrees = plain(call(theirs, given)) == plain(call(ours, given))
        seconds: tuple[list[float], list[float]] = ([], [])
        for turn in range(2 * rounds):
            which = (turn + turn // 2) % 2
            before = time.perf_counter()
            call((theirs, ours)[which], given)
            seconds[which].append(time.perf_counter() - before)
        yield Timed(name, statistics.median(seconds[0]), statistics.median(seconds[1]), agrees)


def shown(rows: list[Timed], package: str) -> str:
    """Markdown; last, how many times as fast the drop-in is."""
    lines = [
        [one.name + "*" * (not one.agrees), f"{1e3 * one.theirs:.2f}", f"{1e3 * one.ours:.2f}", f"{one.theirs / one.ours:.1f}"] for one in rows
    ]
    return table(["", f"{package}, ms", "drop-in, ms", "times as fast"], lines)


def main(given: list[str] | None = None) -> int:
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(prog="python -m bench drop-ins", description=__doc__, formatter_class=layout)
    parser.add_argument("--data", type=Path, metavar="FOLDER", help="default: $BITLEX_DATA, or texts and a vocabulary made here")
    parser.add_argument("--vocabulary", action="append", default=[], metavar="NAME", help="of a file in vocab/, or a path; may be repeated")
    parser.add_argument("--rounds", type=int, default=9, help="turns of both to take medians of (default: %(default)s)")
    parser.add_argument("--page", type=Path, metavar="FILE", help=f"put the tables into it, between {' and '.join(MARKERS)}")
    options = parser.parse_args(given)
    if options.page and not options.page.is_file():
        parser.error(f"--page: {options.page} is not there")
    folder = options.data or (Path(os.environ["BITLEX_DATA"]) if os.environ.get("BITLEX_DATA") else None)
    text = corpora(folder, 200_000)[0]
    made, wrong = [], 0
    with tempfile.TemporaryDirectory() as scratch:
        for vocabulary in vocabularies(folder, options.vocabulary, Path(scratch), {}):
            try:
                package, theirs, ours, calls = pair_of(vocabulary)
            except ImportError as error:
                print(f"not measured: {vocabulary.name}: {error}", file=sys.stderr)
                continue
            known = material(text.text, theirs)
            rows = list(measure(theirs, ours, calls, known, options.rounds))
            title = f"{vocabulary.name}, {len(known.lines):,} lines of {text.name}, {os.cpu_count()} processors"
            made.append(f"{title}:\n\n{shown(rows, package)}")
            print(f"{made[-1]}\n", flush=True)
            for row in rows:
                if not row.agrees:
                    print(f"WRONG: {vocabulary.name}: {row.name}", file=sys.stderr)
            wrong += sum(not row.agrees for row in rows)
    if options.page and made:
        splice(options.page, "\n\n".join(made), MARKERS)
    return 1 if wrong else 0
