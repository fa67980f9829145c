"""Random and adversarial strings by the million: every way to encode, against tiktoken and tokenizers, and decoded again.

    python -m tests.strings --count 10000000 --seed 1                      (or: make strings COUNT=10000000)
    python -m tests.strings cl100k_base gpt2 --count 100000 --first 2500   from batch 2,500 on; a batch is 1,000 strings

In: names of published vocabularies (originals.py; all that are there if none is given) and how many strings in all. Out: how many of each
kind were equal, or the strings that differ, with the way to encode that they differ in, and exit code 1. The strings of a batch follow
from seed, name and number of the batch alone (hard_strings.py says what they are). Each is encoded by itself and in a batch, with one
thread and two, as str and as bytes, counted, with offsets in bytes and in characters, with special tokens allowed and refused, and
decoded; all strings of a batch joined are one more text, shared by two threads. BITLEX_TIER chooses the lexer's tier, as anywhere.
Rejected: comparing digests of a whole batch (no string to look at, and hardly faster).
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))  # so that files here find each other by bare names, as they do under pytest
from hard_strings import HardStrings
from originals import JSON_FILES, RANK_FILES, TEKKEN, corpora, file_of, shift_of, tiktoken_of, tokenizer_of, tokenizers_of

BATCH = 1000
SHOWN = 10  # differences, of a vocabulary
Difference = tuple[str, str]  # the way, and the string


def attempt(call: Callable[[], Any]) -> Any:
    """What a call gives; ValueError for any that it raises."""
    try:
        return call()
    except ValueError:
        return ValueError


class Against:
    """One tokenizer of ours, and what is the same whatever it is compared with."""

    def __init__(self, name: str, surrogates: bool) -> None:
        self.name = name
        self.ours = tokenizer_of(name)
        self.tokens = self.ours.description.vocabulary.tokens()
        self.sizes = np.array([len(token) for token in self.tokens])
        specials = [content for content in self.ours.special_tokens if not content.startswith("<SPECIAL_")]
        text = "".join(text[:300_000] for _, text in corpora())
        self.strings = HardStrings([token for token in self.tokens if token], specials[:12], text, surrogates)

    def batch(self, seed: str, number: int) -> list[tuple[str, str]]:
        rng = random.Random(f"{seed} {self.name} {number}")
        return [self.strings.make(rng) for _ in range(BATCH)]

    def encoded(self, texts: Sequence[str], expected: Sequence[list[int]], **special: Any) -> Iterator[Difference]:
        """The ways that give ids or count them."""
        ours = self.ours
        data = [text.encode() for text in texts]
        ways: dict[str, list[Any]] = {
            "encode": [ours.encode(text, **special) for text in texts],
            "encode of bytes": [ours.encode(text, **special) for text in data],
            "encode_to_numpy": [ours.encode_to_numpy(text, **special).tolist() for text in texts],
            "encode_batch, 1 thread": ours.encode_batch(texts, threads=1, **special),
            "encode_batch, 2 threads": ours.encode_batch(texts, threads=2, **special),
            "encode_batch of bytes, 2 threads": ours.encode_batch(data, threads=2, **special),
        }
        for way, found in ways.items():
            if found != expected:
                yield from ((way, text) for text, one, other in zip(texts, found, expected, strict=True) if one != other)
        sizes = [len(ids) for ids in expected]
        counts = {
            "count": [ours.count(text, **special) for text in texts],
            "count_batch": ours.count_batch(texts, threads=2, **special),
        }
        for way, counted in counts.items():
            if counted != sizes:
                yield from ((way, text) for text, one, other in zip(texts, counted, sizes, strict=True) if one != other)

    def places(self, text: str, ids: list[int], **special: Any) -> Iterator[Difference]:
        """Offsets of a text without surrogates and special tokens: those that follow from the lengths of its tokens."""
        data = text.encode()
        ends = np.cumsum(self.sizes[ids]) if ids else np.zeros(0, np.int64)
        starts = ends - self.sizes[ids] if ids else ends
        begun = np.cumsum((np.frombuffer(data, np.uint8) & 0xC0) != 0x80)  # characters that have started, up to a byte
        found, offsets = self.ours.encode_with_offsets(data, **special)
        if found.tolist() != ids or not np.array_equal(offsets, np.stack([starts, ends], 1)):
            yield "offsets in bytes", text
        found, offsets = self.ours.encode_with_offsets(text, **special)
        if found.tolist() != ids or (ids and not np.array_equal(offsets, np.stack([begun[starts] - 1, begun[ends - 1]], 1))):
            yield "offsets in characters", text


class Tiktoken(Against):
    """Against tiktoken: `encode_ordinary`, `encode` and `decode_bytes`."""

    def __init__(self, name: str) -> None:
        super().__init__(name, surrogates=True)
        self.theirs, self.shift = tiktoken_of(name), shift_of(name)
        self.allowed = {content for content in self.theirs.special_tokens_set if content in self.strings.specials}

    def ids(self, text: str) -> list[int]:
        ids = self.theirs.encode_ordinary(text)
        return [number + self.shift for number in ids] if self.shift else ids

    def differences(self, made: Sequence[tuple[str, str]]) -> Iterator[Difference]:
        ours, theirs, ordinary = self.ours, self.theirs, {"allowed_special": (), "disallowed_special": ()}
        texts = [text for _, text in made]
        expected = [self.ids(text) for text in texts]
        valid = [text.encode("utf-16", "surrogatepass").decode("utf-16", "replace") for text in texts]  # as tiktoken reads it
        for text, read, ids in zip(texts, valid, expected, strict=True):
            if text != read:
                if ours.encode_ordinary(text) != ids or ours.count(text, **ordinary) != len(ids):
                    yield "encode of surrogates", text
            else:
                yield from self.places(text, ids, **ordinary)
            data = read.encode()
            if ours.decode_bytes(ids) != data or ours.decode(ids) != read:
                yield "decode", text
        yield from self.encoded(valid, expected, **ordinary)
        if ours.encode_batch(texts, threads=2, **ordinary) != expected:
            yield "encode_batch of surrogates, 2 threads", "".join(texts)
        joined = "".join(valid)
        ids = self.ids(joined)
        for way, found in {
            "joined": ours.encode_ordinary(joined), "joined, 2 threads": ours.encode_ordinary(joined, threads=2),
            "joined, bytes, 2 threads": ours.encode_to_numpy(joined.encode(), threads=2, **ordinary).tolist(),
        }.items():  # fmt: skip
            if found != ids:
                yield way, joined
        if ours.count(joined, threads=2, **ordinary) != len(ids):
            yield "count, joined, 2 threads", joined
        if self.allowed:
            yield from self.with_specials([text for kind, text in made if kind in ("special tokens", "two kinds")])

    def with_specials(self, texts: Sequence[str]) -> Iterator[Difference]:
        """All allowed; some allowed; some refused."""
        ours, theirs = self.ours, self.theirs
        some = set(sorted(self.allowed)[::2])
        for text in texts:
            ids = theirs.encode(text, allowed_special="all")
            if ours.encode(text, allowed_special="all") != ids or ours.decode_bytes(ids) != theirs.decode_bytes(ids):
                yield "allowed_special='all'", text
            if ours.encode(text, allowed_special=some, disallowed_special=()) != theirs.encode(text, allowed_special=some, disallowed_special=()):
                yield "some allowed", text
            for special in ({"allowed_special": some}, {"disallowed_special": some}):
                if attempt(lambda special=special, text=text: ours.encode(text, **special)) != attempt(lambda special=special, text=text: theirs.encode(text, **special)):  # type: ignore[misc]
                    yield f"{next(iter(special))} and all others", text


class Tokenizers(Against):
    """Against tokenizers, with its offsets: added tokens are found in the text, and the text is normalized where the file says so."""

    def __init__(self, name: str) -> None:
        super().__init__(name, surrogates=False)
        self.theirs = tokenizers_of(name)

    def differences(self, made: Sequence[tuple[str, str]]) -> Iterator[Difference]:
        ours, theirs = self.ours, self.theirs
        texts = [text for _, text in made]
        encodings = theirs.encode_batch(texts, add_special_tokens=False)
        expected = [encoding.ids for encoding in encodings]
        yield from self.encoded(texts, expected)
        for text, encoding, ids in zip(texts, encodings, expected, strict=True):
            try:
                found, offsets = ours.encode_with_offsets(text)
            except ValueError:
                if theirs.normalizer is None or theirs.normalizer.normalize_str(text) == text:
                    yield "offsets refused", text
            else:
                if found.tolist() != ids or list(map(tuple, offsets.tolist())) != encoding.offsets:
                    yield "offsets", text
        for text, one, other in zip(texts, ours.decode_batch(expected), theirs.decode_batch(expected, skip_special_tokens=False), strict=True):
            if one != other:
                yield "decode", text
        joined = "".join(texts)
        ids = theirs.encode(joined, add_special_tokens=False).ids
        if ours.encode(joined) != ids or ours.encode(joined, threads=2) != ids or ours.count(joined, threads=2) != len(ids):
            yield "joined", joined


def against(name: str) -> Tiktoken | Tokenizers:
    return Tokenizers(name) if name in JSON_FILES else Tiktoken(name)


def compare(name: str, seed: str, batches: range, report: Callable[[str], None]) -> tuple[Counter[str], int]:
    """How many strings of each kind were tried, and how many differences were found."""
    pair = against(name)
    kinds: Counter[str] = Counter()
    differences, size, spoken = 0, 0, time.monotonic()
    for number in batches:
        made = pair.batch(seed, number)
        for way, text in pair.differences(made):
            differences += 1
            if differences <= SHOWN:
                report(f"{name}, seed {seed}, batch {number}: {way}: {text[:3000]!a}")
        kinds.update(kind for kind, _ in made)
        size += sum(len(text) for _, text in made)
        if time.monotonic() - spoken > 60 or number == batches[-1]:
            spoken = time.monotonic()
            report(f"{name}, seed {seed}: batches {batches[0]} to {number}, {kinds.total():,} strings, {size:,} characters, {differences} differences")
    return kinds, differences


def main(arguments: Sequence[str] | None = None) -> int:
    there = [name for name in (*RANK_FILES, *JSON_FILES, *TEKKEN) if file_of(name).exists()]
    parser = argparse.ArgumentParser(prog="python -m tests.strings", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="vocabularies; by default all that are there: " + (", ".join(there) or "none"))
    parser.add_argument("--count", type=int, default=100_000, help="strings in all, shared among the vocabularies; 100,000")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--first", type=int, default=0, metavar="BATCH", help="batch to begin with; 0")
    chosen = parser.parse_args(arguments)
    names = chosen.names or there
    missing = [name for name in names if name not in there]
    if missing or not names:
        parser.error(f"no file of {missing[0]}: BITLEX_DATA" if missing else "BITLEX_DATA names no folder with vocabularies")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    batches = range(chosen.first, chosen.first + max(1, -(-chosen.count // (BATCH * len(names)))))
    kinds, differences = Counter[str](), 0
    for name in names:
        tried, found = compare(name, chosen.seed, batches, lambda line: print(line, flush=True))
        kinds, differences = kinds + tried, differences + found
    print(f"{kinds.total():,} strings, seed {chosen.seed}, {', '.join(names)}: {differences or 'no'} differences")
    print(", ".join(f"{count:,} {kind}" for kind, count in sorted(kinds.items())))
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
