"""Calls for which there is no memory at one place, at each place in turn: `python failing_memory_program.py KIND...`, of cases, with
failing_memory.c preloaded, and PYTHONMALLOC=malloc, so that objects ask for their memory there, too.

A call then raises a MemoryError, or does with less and gives what it always gives. What it was called on goes on as if nothing had been, or
says that it cannot; a stream that says so can be reset; and no lock is kept.
"""

from __future__ import annotations

import ctypes
import json
import os
import random
import sys
import tempfile
from array import array
from collections.abc import Callable
from functools import partial
from itertools import count
from typing import Any

import numpy as np

import bitlex
from bitlex import _native
from bitlex.token_streams import INTO, LISTS, PLACED, ROWS
from bitlex.tokenizer import Tokenizer
from bitlex.vocabularies.byte_alphabet import ALPHABET
from bitlex.vocabulary import AddedToken, Vocabulary
from columns import Column
from small_vocabularies import BYTES, TRAINED, describe
from tokenizing import tokenizer_json

Step = Callable[[Any], Any]

native: Any = _native
memory = ctypes.CDLL(os.environ["LD_PRELOAD"])
memory_fails_at, memory_asked = memory.memory_fails_at, memory.memory_asked  # to look them up may take memory
ARRAYS = 1  # of the kinds of results of a native stream
NOTHING = object()
REFUSALS = ("this stream has failed", "this counter is in use, or has ended", "this merger is in use, or had no memory")


def attempt(at: int, step: Step, made: Any) -> tuple[bool, Any]:
    """Whether there was memory enough, and what the call gave: NOTHING if it raised a MemoryError."""
    try:
        memory_fails_at(at)
        found = step(made)
    except MemoryError:
        found = NOTHING
    enough = memory_asked() < at
    assert found is not NOTHING or not enough, "a MemoryError, though there was memory"
    return enough, found


def tried(make: Callable[[], Any], steps: list[Step], read: Callable[[Any, Any], Any], reset: Step | None = None) -> int:
    """Each step fails at each place, on what the steps before have left; then it is tried again, and the others follow: how many attempts.

    `read` makes what can be compared of what a step gave. `reset`: after which all begins again, where a step was refused.
    """
    first, attempts = make(), 0
    expected = [read(first, step(first)) for step in steps]
    for number, step in enumerate(steps):
        enough = False
        for at in count(1):
            made = make()
            for before in steps[:number]:
                read(made, before(made))
            enough, found = attempt(at, step, made)
            attempts += 1
            assert found is NOTHING or read(made, found) == expected[number], (number, at)
            try:
                for later in range(number + (found is not NOTHING), len(steps)):
                    assert read(made, steps[later](made)) == expected[later], (number, at, later)
            except (ValueError, RuntimeError) as error:
                if found is not NOTHING or not str(error).startswith(REFUSALS):
                    raise
                if reset is not None:
                    reset(made)
                    assert [read(made, again(made)) for again in steps] == expected, (number, at)
            if enough:
                break
    return attempts


def asks(method: str, *arguments: Any) -> Step:
    """Of the first of what was made."""
    return lambda made: getattr(made[0], method)(*arguments)


def plain(found: Any) -> Any:
    if isinstance(found, (tuple, list)):
        return tuple(map(plain, found))
    return found.tolist() if isinstance(found, np.ndarray) else found


# --- streams -----------------------------------------------------------------------------------------------------------------------------

LINE = "the thing and na\u00efve\u4e2d\u6587 word<|end|>s 12345 \U0001f642 e\u0301\u0323 "
LONG = LINE.replace("<|end|>", "") * 900  # for which the GIL is released; and of more ids than are decoded at once
PARTS = [LINE + "\ud83d", "\ude42", "", LINE[:20] + "the" * 12_000, LONG + "\ud83d"]
TOKENS = (AddedToken(300, "<|end|>"),)
TOKENIZER = Tokenizer(describe(TRAINED, TOKENS))
LEXER, DROPS = bitlex.lexer("gpt2"), bitlex.compile("a+|[b-z]+", behavior="removed", invert=True)
AS: dict[str, Callable[[str], Any]] = {"str": str, "bytes": lambda part: bytearray(part.encode("utf-8", "replace"))}


def fed(make: Callable[[], tuple[Any, Any]], parts: list[Any]) -> int:
    """What is made: a native stream, and the array that it puts things in, or None."""

    def read(made: Any, found: Any) -> Any:
        return plain(found) if made[1] is None else made[1][:found].tolist()

    steps: list[Step] = []
    for part in parts:
        steps += [asks("feed", part), *[asks("more")] * (make()[1] is not None)]
    steps += [lambda made: made[0].copy().finish(), asks("finish")]
    return tried(make, steps, read, asks("reset"))


def token_stream(encoder: Any, result: int, room: int, normalize: Any = None) -> tuple[Any, Any]:
    out = np.zeros(room, np.uint32) if room else None
    return native.TokenStream(encoder, encoder.specials({b"<|end|>": 300}), None, 1 << 20, result, normalize, out), out


def as_it_is(data: bytes, at: int, ends: bool) -> tuple[bytes, int]:
    """What puts a text in NFC, so to say. Python is not to be without memory for more code: MAKE_FUNCTION of 3.13 does not survive that."""
    return data, len(data)


def piece_stream(lexer: bitlex.Lexer, spans: bool, room: int) -> tuple[Any, Any]:
    out = np.zeros((room, 2) if lexer.drops else room, np.int64) if room else None
    return native.Stream(lexer._machine, 1 << 20, not spans, out), out


def decoding() -> tuple[Any, None]:
    return native.DecodeStream(TOKENIZER._encoder, "replace", False), None


def called(make: Callable[[], Any], text: Any, has_places: bool = True) -> int:
    """What a text is called with. Where there is no memory for C, a function may still find some."""
    out = np.zeros(len(text) + 64, np.uint32)
    said: list[dict[str, Any]] = [{"allowed_special": {"<|end|>"}}, {"allowed_special": "all", "disallowed_special": ()}, {"add_special_tokens": True}]
    steps: list[Step] = [lambda made, some=some: made[0].encode(text, **some) for some in said]  # type: ignore[misc]
    steps += [asks("encode_ordinary", text), lambda made: made[0].count(text, disallowed_special=())]
    steps += [lambda made: made[0].encode_into(text, out, allowed_special="all")]
    if has_places:  # or a stream in Python is made, whose lock has no MemoryError
        steps += [lambda made: made[0].encode_with_offsets(text, allowed_special=())]
    return tried(make, [*steps, *steps], lambda made, found: plain(found))


# --- training ----------------------------------------------------------------------------------------------------------------------------

KEY = bytes(range(16))
CHANCE = random.Random(5)
TEXTS = ["".join(CHANCE.choices("ab \u00e9\u4e2d'x1", k=size)) for size in (0, 7, 30_000, 400)] + ["a" * 3000]
WORDS = " ".join("".join(CHANCE.choices("abcdefgh", k=CHANCE.choice((3, 20)))) for _ in range(3000))
PIECES = ["".join(CHANCE.choices("abc", k=CHANCE.choice((2, 3, 9)))).encode() for _ in range(2000)] + [b"ab" * 3000]


def opened() -> Any:
    """A file without a name, which is closed when nothing has it any more."""
    return tempfile.TemporaryFile()


def counted(lexer: bitlex.Lexer, threads: int, limit: int) -> int:
    """Texts are counted; and if there is a limit, written down, and read by another counter. What is made: a counter, its file, what is there."""

    def make() -> list[Any]:
        file = opened()
        return [native.Counter(lexer._machine, KEY, limit, file.fileno()), file, None]

    def read(made: list[Any], found: Any) -> Any:
        assert made[0].ends is not None and made[0].place >= 0  # which takes a lock
        return found

    steps: list[Step] = [
        asks("add", TEXTS, threads, 1),
        asks("add_part", WORDS, threads, 1, False, 0, 1 << 40),
        asks("add_counted", b"abcd", array("I", [1, 3]).tobytes(), array("Q", [2, 1]).tobytes(), 5),
    ]
    if not limit:
        return tried(make, [*steps, asks("finish")], read)
    steps.append(asks("spill", False))

    def turned(made: list[Any]) -> list[Any]:
        ends = made[0].ends
        made[2], made[1] = (os.pread(made[1].fileno(), ends[-1], 0), ends, False), opened()
        made[0] = native.Counter(lexer._machine, KEY, 0, made[1].fileno())
        return made

    def by_hash() -> list[Any]:
        made = make()
        for step in steps:
            step(made)
        return turned(made)

    def by_place() -> list[Any]:
        made = by_hash()
        made[0].open(*made[2])
        made[0].read(1 << 40)
        made[0].spill(True)
        return turned(made)

    def opens(made: list[Any]) -> Any:
        return made[0].open(*made[2])

    attempts = tried(make, steps, read) + tried(by_hash, [opens, asks("read", 1 << 40), asks("finish")], read)
    return attempts + tried(by_place, [opens, asks("take", 100), asks("take", 10_000)], read)


def merged(vocabulary: Vocabulary, smaller: bool) -> int:
    encoder = native.Encoder(LEXER._machine, {}, vocabulary.blob, vocabulary.starts, vocabulary.merges, vocabulary.whole)
    pieces = b"".join(PIECES), array("I", map(len, PIECES)).tobytes(), array("Q", range(1, len(PIECES) + 1)).tobytes()

    def begin(made: list[Any]) -> None:
        made[:] = [native.Merger(encoder, smaller, 400, 450, 1 << 20, 1)]

    steps: list[Step] = [
        begin, asks("add", *pieces), asks("run", 20, 1 << 60), asks("run", 100, 1 << 60), asks("merges"), asks("merges", 7),
    ]  # fmt: skip
    return tried(list, steps, lambda made, found: found)


# --- texts and ids -----------------------------------------------------------------------------------------------------------------------


def whole(make: Callable[[], Any], texts: list[Any], threads: int) -> int:
    """Texts by an encoder, and their ids."""
    allowed = TOKENIZER._encoder.specials({b"<|end|>": 300})
    ids = [np.array(TOKENIZER.encode(text, allowed_special="all"), np.uint32) for text in (LINE, LINE * 200, LONG)]
    ids += [np.tile(np.array(TOKENIZER.encode("the thing"), np.uint32), 20_000)]
    out = np.zeros(ids[2].size + 64, np.uint32)
    steps = [asks("encode_batch_flat", texts, allowed, None, threads), asks("decode_batch", ids[:3], "replace", threads, False)]
    steps += [asks(name, [*texts, *texts], allowed, None, threads) for name in ("encode_batch", "encode_batch_to_numpy")]
    for text in texts:
        steps += [asks(name, text, allowed, None, threads, threads) for name in ("encode_to_numpy", "count")]
        steps += [asks("encode_into", text, out, allowed, None, threads, threads), asks("encode_with_offsets", text, allowed, None)]
    begun = (9, 0, 0)  # of whatever, in some state
    steps += [asks("encode_window", LONG.encode() * 20, allowed, None, threads, 1, False, 0, True, begun)]
    for some in ids:
        steps += [asks("decode", some), asks("decode_text", some, "replace", False)]
    return sum(tried(make, [step, step], lambda made, found: plain(found)) for step in steps)


def column() -> int:
    exporter = Column("u", [[b"text"] * 20 + [b"x" * 100]]).exports_one()  # or what exports it would fail, too
    return tried(lambda: exporter, [native.arrow_texts], lambda _, found: found)


def model() -> int:
    data = json.dumps(tokenizer_json(("th", "the", "\u4e2d"), [["t", "h"], ["th", "e"]])).encode()
    found = native.read_model(data, ALPHABET)
    names: Step = lambda _: native.find_tokens(found[1], found[2], found[5], ALPHABET, ["th", "x" * 300])  # noqa: E731
    return tried(lambda: None, [lambda _: native.read_model(data, ALPHABET), names], lambda _, found: found)


def new_tokenizer() -> tuple[Tokenizer]:
    return (Tokenizer(describe(TRAINED, TOKENS, convention="huggingface", single=((300, 0), ("A", 0), (300, 0)))),)


def spaced_tokenizer() -> tuple[Tokenizer]:
    """Which cuts texts, but not such as have no token that it looks for."""
    tokens = (*TOKENS, AddedToken(301, "<|l|>", lstrip=True))
    return (Tokenizer(describe(TRAINED, tokens, convention="huggingface", prefix_space=True, normalizer="NFC")),)


def new_encoder() -> tuple[Any]:
    return (Tokenizer(describe(TRAINED, TOKENS))._encoder,)


Case = Callable[[], int]
CASES: dict[str, Case] = {}


def add_streams(kind: str, parts: list[Any]) -> None:
    for result, room in ((LISTS, 0), (ARRAYS, 0), (PLACED, 0), (ROWS, 0), (INTO, 3), (INTO, 100_000)):
        CASES[f"tokens {kind} {result} {room}"] = partial(fed, partial(token_stream, TOKENIZER._encoder, result, room), parts)
    for lexer in (LEXER, DROPS):
        for spans, room in ((False, 0), (True, 0), (True, 3), (True, 100_000)):
            some = parts if spans else parts[:4]  # or there would be too many objects
            CASES[f"pieces {kind} {lexer.drops} {spans} {room}"] = partial(fed, partial(piece_stream, lexer, spans, room), some)


def first_stream(*arguments: Any) -> tuple[Any, Any]:
    """Of an encoder that nothing was encoded with before."""
    return token_stream(*new_encoder(), *arguments)


def add_first_streams(name: str, text: str) -> None:
    for result, room in ((LISTS, 0), (PLACED, 0), (INTO, 50)):
        for normalize in (None, as_it_is):
            CASES[f"first {name} {result} {normalize is not None}"] = partial(fed, partial(first_stream, result, room, normalize), [text])


for kind, of in AS.items():
    add_streams(kind, list(map(of, PARTS)))
    CASES[f"whole {kind}"] = partial(whole, new_encoder, [of(LINE), of(LONG + LINE)], 1 if kind == "str" else 3)
for name, text in {"short": LINE, "long": LONG, "piece": "the" * 12_000, "marks": "a" + 130 * "\u0301" + LINE}.items():
    add_first_streams(name, text)
CASES["decoded"] = partial(fed, decoding, [65, 0xF0, [0x9F, 0x99, 0x82] + [65] * 1000, [0xE4, 0xFF], np.array([0xE4, 0xB8], np.uint32), 0xAD, 300])
CASES["column"] = column
CASES["model"] = model
for kind, of in AS.items():
    CASES[f"called {kind}"] = partial(called, new_tokenizer, of(LINE))
    CASES[f"called {kind} with a space"] = partial(called, spaced_tokenizer, of(LINE.replace("<|end|>", "").replace("e\u0301\u0323", "")), False)
for lexer in (LEXER, DROPS):
    for threads, limit in ((1, 0), (3, 0), (1, 300_000), (3, 1)):
        CASES[f"counted {lexer.drops} {threads} {limit}"] = partial(counted, lexer, threads, limit)
for name, vocabulary in {"bytes": Vocabulary.from_merges(BYTES, []), "trained": TRAINED}.items():
    for smaller in (False, True):
        CASES[f"merged {name} {smaller}"] = partial(merged, vocabulary, smaller)

if __name__ == "__main__":
    chosen = [name for name in CASES if name.split()[0] in sys.argv[1:]]
    for name in chosen:
        print(name, CASES[name](), flush=True)
