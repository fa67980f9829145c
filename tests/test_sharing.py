"""Threads of Python that have tokenizers, lexers and lists in common; what is for one at a time refuses the others, and works afterwards.

With a GIL they meet where C lets it go; without one, everywhere. threads_program.py does the same under a thread sanitizer.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from contextlib import suppress

import pytest

import bitlex

THREADS = 4
TEXT = "the thing, and another thing's 1234 \u4e2d\u6587\u5b57 \u0441\u043b\u043e\u0432\u043e \U0001f600 na\u00efve\n\n  "


def at_once(work: Callable[[random.Random], None]) -> None:
    """So many threads do it, and all that one of them raises is raised here."""
    failed: list[BaseException] = []

    def begin(seed: int) -> None:
        gate.wait()
        try:
            work(random.Random(seed))
        except BaseException as error:
            failed.append(error)

    gate = threading.Barrier(THREADS)
    threads = [threading.Thread(target=begin, args=(seed,)) for seed in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise failed[0]


def share(tokenizer: bitlex.Tokenizer, lexer: bitlex.Lexer, calls: int) -> None:
    texts = [TEXT * times for times in (0, 1, 2, 7, 40, 400)]
    ids = [tokenizer.encode(text) for text in texts]
    pieces = [lexer.split(text) for text in texts]

    def call(rng: random.Random) -> None:
        for _ in range(calls):
            which = rng.randrange(len(texts))
            text = texts[which]
            assert tokenizer.encode(text) == ids[which] and tokenizer.count(text) == len(ids[which])
            assert tokenizer.decode(ids[which]) == text and lexer.split(text) == pieces[which]
            assert tokenizer.encode_batch(texts, threads=2) == ids and tokenizer.decode_batch(ids, threads=2) == texts
            stream, cut = tokenizer.stream(), rng.randrange(len(text) + 1)
            assert [*stream.feed(text[:cut]), *stream.feed(text[cut:]), *stream.finish()] == ids[which]

    at_once(call)

    changing = list(ids[-1])

    def change(rng: random.Random) -> None:
        for _ in range(calls):
            for _ in range(20):
                changing.append(rng.choice(ids[-1]))
                with suppress(IndexError):
                    changing.pop(rng.randrange(len(changing)))
            if rng.random() < 0.2:
                changing[:] = ids[rng.randrange(len(ids))]
            tokenizer.decode_bytes(changing)

    at_once(change)

    stream, decoding, reading = tokenizer.stream(), tokenizer.decode_stream(), lexer.stream()

    def feed(rng: random.Random) -> None:
        for _ in range(calls):
            for use in (lambda: stream.feed(texts[-2]), lambda: decoding.feed(ids[-2]), lambda: reading.feed(texts[-2])):
                with suppress(RuntimeError):  # another thread feeds it
                    use()

    at_once(feed)
    for used in (stream, decoding, reading):
        used.reset()
    assert [*stream.feed(TEXT), *stream.finish()] == ids[1] and decoding.feed(ids[1]) + decoding.finish() == TEXT
    assert [*reading.feed(TEXT), *reading.finish()] == pieces[1]


@pytest.mark.parametrize("tier", ["", "pure"])
def test_threads_share(tier: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if tier:
        monkeypatch.setenv("BITLEX_TIER", tier)
    share(bitlex.train([TEXT * 3], 300), bitlex.lexer("o200k"), 3 if tier else 30)
