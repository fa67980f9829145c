"""Random and adversarial strings by the million: every way to encode, against tiktoken and tokenizers, and decoded again.

    python -m tests.strings --count 10000000 --seed 1                      (or: make strings COUNT=10000000)
    python -m tests.strings cl100k_base gpt2 --count 100000 --first 2500   from batch 2,500 on; a batch is 1,000 strings

In: names of published vocabularies (originals.py; all that are there if none is given) and how many strings in all. Out: how many of each
kind were equal, or the strings that differ, with the way to encode that they differ in, and exit code 1. The strings of a batch follow
from seed, name and number of the batch alone (hard_strings.py says what they are). Each is encoded as str, by itself, and as bytes, in a
batch, by two threads; counted; and decoded. By turns, batches are also encoded as bytes one by one, to arrays, and as str with one thread
and two; every eighth string with offsets in bytes and in characters, and those with special tokens with all of them, some and none allowed.
A quarter of a batch, joined, is one more text, shared by two threads. BITLEX_TIER chooses the lexer's tier, as anywhere.
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

from bitlex.compat import huggingface

sys.path.insert(0, str(Path(__file__).parent))  # so that files here find each other by bare names, as they do under pytest
from hard_strings import HardStrings
from originals import DATA, JSON_FILES, RANK_FILES, TEKKEN, corpora, file_of, shift_of, tiktoken_of, tokenizer_of, tokenizers_of
from tokenizing import apart

BATCH = 1000
SHOWN = 10  # differences, of a vocabulary
Difference = tuple[str, str]  # the way, and the string


def attempt(encode: Callable[..., Any], text: str, special: dict[str, Any]) -> Any:
    """What a call gives; ValueError for any that it raises."""
    try:
        return encode(text, **special)
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

    def encoded(self, number: int, texts: Sequence[str], expected: Sequence[list[int]], **special: Any) -> Iterator[Difference]:
        """The ways that give ids or count them: some for every batch, the others by turns, by the number of the batch."""
        ours = self.ours
        data = [text.encode() for text in texts]
        ways: dict[str, Callable[[], list[Any]]] = {
            "encode": lambda: [ours.encode(text, **special) for text in texts],
            "encode_batch of bytes, 2 threads": lambda: ours.encode_batch(data, threads=2, **special),
        }
        if number % 4 == 0:
            ways["encode of bytes"] = lambda: [ours.encode(text, **special) for text in data]
        elif number % 4 == 1:
            ways["encode_to_numpy"] = lambda: [ours.encode_to_numpy(text, **special).tolist() for text in texts]
        else:
            threads = number % 4 - 1
            ways[f"encode_batch, {threads} threads"] = lambda: ours.encode_batch(texts, threads=threads, **special)
            ways[f"encode_batch_flat, {threads} threads"] = lambda: apart(*ours.encode_batch_flat(texts, threads=threads, **special))
        for way, encode in ways.items():
            found = encode()
            if found != expected:
                yield from ((way, text) for text, one, other in zip(texts, found, expected, strict=True) if one != other)
        sizes = [len(ids) for ids in expected]
        counted = ours.count_batch(texts, threads=2, **special) if number % 2 else [ours.count(text, **special) for text in texts]
        if counted != sizes:
            yield from (("count", text) for text, one, other in zip(texts, counted, sizes, strict=True) if one != other)

    def places(self, text: str, ids: list[int], **special: Any) -> Iterator[Difference]:
        """Offsets of a text without surrogates and special tokens: those that follow from the lengths of its tokens."""
        data = text.encode()
        ends = np.cumsum(self.sizes[ids]) if ids else np.zeros(0, np.int64)
        starts = ends - self.sizes[ids] if ids else ends
        begun = np.cumsum((np.frombuffer(data, np.uint8) & 0xC0) != 0x80)  # characters that have started, up to a byte
        found, offsets = self.ours.encode_with_offsets(data, **special)
        if found.tolist() != ids or offsets[:, 0].tolist() != starts.tolist() or offsets[:, 1].tolist() != ends.tolist():
            yield "offsets in bytes", text
        found, offsets = self.ours.encode_with_offsets(text, **special)
        wanted = np.stack([begun[starts] - 1, begun[ends - 1]], 1).tolist() if ids else []
        if found.tolist() != ids or offsets.tolist() != wanted:
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

    def shifted(self, ids: list[int]) -> list[int]:
        """The ids as tiktoken has them."""
        return [number - self.shift for number in ids] if self.shift else ids

    def differences(self, number: int, made: Sequence[tuple[str, str]]) -> Iterator[Difference]:
        ours, theirs = self.ours, self.theirs
        ordinary: dict[str, Any] = {"allowed_special": (), "disallowed_special": ()}
        texts = [text for _, text in made]
        expected = [self.ids(text) for text in texts]
        valid = [text.encode("utf-16", "surrogatepass").decode("utf-16", "replace") for text in texts]  # as tiktoken reads it
        for at, (text, read, ids) in enumerate(zip(texts, valid, expected, strict=True)):
            if text != read:
                if ours.encode_ordinary(text) != ids or ours.count(text, **ordinary) != len(ids):
                    yield "encode of surrogates", text
            elif at % 8 == number % 8:
                yield from self.places(text, ids, **ordinary)
                plain = self.shifted(ids)
                if ours.decode(ids[1:]) != theirs.decode(plain[1:]) or ours.decode_with_offsets(ids) != theirs.decode_with_offsets(plain):
                    yield "decode_with_offsets, and decode without the first id", text
            if ours.decode(ids) != read:
                yield "decode", text
        yield from self.encoded(number, valid, expected, **ordinary)
        if ours.encode_batch(texts, threads=2, **ordinary) != expected:
            yield "encode_batch of surrogates, 2 threads", "".join(texts)
        joined = "".join(valid[number % 4 :: 4])
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
            yield from self.with_specials([text for kind, text in made if kind == "special tokens"])

    def with_specials(self, texts: Sequence[str]) -> Iterator[Difference]:
        """All allowed; some allowed; some refused."""
        ours, theirs = self.ours, self.theirs
        some = set(sorted(self.allowed)[::2])
        for text in texts:
            ids = theirs.encode(text, allowed_special="all")
            if ours.encode(text, allowed_special="all") != ids or ours.decode_bytes(ids) != theirs.decode_bytes(ids):
                yield "allowed_special='all'", text
            choices: tuple[dict[str, Any], ...] = (
                {"allowed_special": some, "disallowed_special": ()}, {"allowed_special": some}, {"disallowed_special": some},
            )  # fmt: skip
            for special in choices:
                if attempt(ours.encode, text, special) != attempt(theirs.encode, text, special):
                    yield f"with {special}", text


class Tokenizers(Against):
    """Against tokenizers, with its offsets: added tokens are found in the text, and the text is normalized where the file says so.

    Of a text that normalizing changes, the drop-in has the offsets of tokenizers, which leave out of a composed character all but its
    first; ours cover the text."""

    def __init__(self, name: str) -> None:
        super().__init__(name, surrogates=False)
        self.theirs = tokenizers_of(name)
        self.dropin = huggingface.Tokenizer.from_file(str(file_of(name)))

    def places_as_theirs(self, text: str, ids: list[int], offsets: list[tuple[int, int]]) -> Iterator[Difference]:
        if self.dropin.encode(text, add_special_tokens=False).offsets != offsets:
            yield "offsets of the drop-in", text
        if self.theirs.normalizer is None or self.theirs.normalizer.normalize_str(text) == text:
            found, ours = self.ours.encode_with_offsets(text)
            equal = list(map(tuple, ours.tolist())) == offsets
        else:
            data = text.encode()
            found, ours = self.ours.encode_with_offsets(data)
            equal = b"".join(data[start:end] for start, end in ours.tolist()) == data
        if found.tolist() != ids or not equal:
            yield "offsets", text

    def differences(self, number: int, made: Sequence[tuple[str, str]]) -> Iterator[Difference]:
        ours, theirs = self.ours, self.theirs
        texts = [text for _, text in made]
        encodings = theirs.encode_batch(texts, add_special_tokens=False)
        expected = [encoding.ids for encoding in encodings]
        yield from self.encoded(number, texts, expected)
        for text, encoding, ids in zip(texts, encodings, expected, strict=True):
            yield from self.places_as_theirs(text, ids, encoding.offsets)
        decoded = theirs.decode_batch(expected, skip_special_tokens=False)
        for text, one, other in zip(texts, ours.decode_batch(expected), decoded, strict=True):
            if one != other:
                yield "decode", text
        joined = "".join(texts[number % 4 :: 4])
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
        for way, text in pair.differences(number, made):
            differences += 1
            if differences <= SHOWN:
                report(f"{name}, seed {seed}, batch {number}: {way}: {text[:3000]!a}")
        kinds.update(kind for kind, _ in made)
        size += sum(len(text) for _, text in made)
        if time.monotonic() - spoken > 60 or number == batches[-1]:
            spoken = time.monotonic()
            done = f"{kinds.total():,} strings, {size:,} characters, {differences} differences"
            report(f"{name}, seed {seed}: batches {batches[0]} to {number}, {done}")
    return kinds, differences


def main(arguments: Sequence[str] | None = None) -> int:
    there = [name for name in (*RANK_FILES, *JSON_FILES, *TEKKEN) if file_of(name).exists()]
    parser = argparse.ArgumentParser(prog="python -m tests.strings", description=(__doc__ or "").splitlines()[0])
    everything = "vocabularies; by default all that are there: " + (", ".join(there) or "none")
    parser.add_argument("names", nargs="*", metavar="NAME", help=everything)
    parser.add_argument("--count", type=int, default=100_000, help="strings in all, shared among the vocabularies; 100,000")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--first", type=int, default=0, metavar="BATCH", help="batch to begin with; 0")
    chosen = parser.parse_args(arguments)
    names = chosen.names or there
    if not DATA:
        parser.error("BITLEX_DATA names no folder with vocabularies and corpora")
    if missing := [name for name in names if name not in there]:
        parser.error(f"{file_of(missing[0])} is not there (make vectors fetches tekken.json files)")
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
