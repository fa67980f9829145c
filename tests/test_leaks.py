"""No call keeps memory: called again and again, also where it fails, it leaves behind no objects, and none of the memory that texts, ids and
offsets lie in."""

from __future__ import annotations

import gc
import json
import mmap
import random
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bitlex
from bitlex.tokenizer import Tokenizer
from bitlex.vocabularies.byte_alphabet import ALPHABET
from bitlex.vocabulary import AddedToken, Vocabulary
from columns import Column
from several_stages import lexer_of_several_stages
from small_vocabularies import TRAINED, describe
from tokenizing import tokenizer_json

native: Any = pytest.importorskip("bitlex._native", reason="the C extension was not built")

STATUS = Path("/proc/self/statm")
TOKENIZER = Tokenizer(describe(TRAINED, (AddedToken(300, "<|end|>"),)))
START = Vocabulary.from_merges([bytes([byte]) for byte in range(256)], [])
LEXERS = [bitlex.lexer("gpt2"), bitlex.lexer("deepseek_v3"), bitlex.compile("a+|[b-z]+", behavior="removed", invert=True)]
TEXTS = {"ASCII": "the thing and ", "Latin-1": "na\u00efve the ", "two bytes": "the \u4e2d and \u00e9\n", "four bytes": "the \U0001f642 \u4e2d\u00e9 "}
KINDS: dict[str, Callable[[str], Any]] = {"str": str, "memoryview": lambda text: memoryview(bytearray(text.encode()))}


def fed(stream: Any, text: Any) -> None:
    third = len(text) // 3
    stream.feed(text[:third])
    stream.feed(text[third:])
    stream.copy().finish()
    stream.reset()
    stream.feed(text)
    stream.finish()


def with_texts(text: Any) -> None:
    room = np.zeros(2 * len(text) + 9, np.uint32)
    batches: list[Any] = [TOKENIZER.encode_batch, TOKENIZER.encode_batch_to_numpy, TOKENIZER.encode_batch_flat, TOKENIZER.count_batch]
    for threads in (1, 2):
        for batch in batches:
            batch([text, text[:9]], threads=threads)
            with suppress(TypeError):
                batch([text, None], threads=threads)
        for encode in (TOKENIZER.encode, TOKENIZER.encode_to_numpy, TOKENIZER.count):
            encode(text, threads=threads)
        for out in (room, room[:1]):
            with suppress(ValueError):
                TOKENIZER.encode_into(text, out, threads=threads)
        for lexer in LEXERS:
            lexer.count_batch([text, text[:9]], threads=threads)
            lexer.spans_batch([text, text[:9]], threads=threads)
    TOKENIZER.encode_with_offsets(text)
    with suppress(ValueError):
        TOKENIZER.encode_batch([text, "<|end|>"], allowed_special=(), disallowed_special="all")


def with_parts(text: Any) -> None:
    machine: Any = LEXERS[0]._machine
    for _ in range(200 if len(text) > 1 << 16 else 1):  # each takes little memory
        machine.count(text, 2, 1)
        machine.pairs(text, 2, 1)


def with_streams(text: Any) -> None:
    for result in ("list", "numpy", "offsets"):
        fed(TOKENIZER.stream(result=result), text)  # type: ignore[call-overload]
    for lexer in LEXERS:
        fed(lexer.stream(), text)
        fed(lexer.stream(spans=True), text)
        lexer.stream(spans=True).feed("a" * (4 * len(text)))  # of which there are few, where there was room for many
        with suppress(ValueError):
            lexer.stream(hold=5).feed(text[:9])


def with_ids(text: Any) -> None:
    ids = TOKENIZER.encode_to_numpy(text)
    decoder = TOKENIZER.decode_stream()
    for known in (ids, ids[1:-1].astype(np.int64), ids.tolist()):
        TOKENIZER.decode(known, errors="ignore")
        TOKENIZER.decode_bytes(known)
        TOKENIZER.decode_batch([known, known[:9]], threads=2)
        decoder.feed(known)
        decoder.finish()
        with suppress(KeyError):
            TOKENIZER.decode([*known, 299])
        with suppress(KeyError):
            TOKENIZER.decode_batch([known, [299]])
        with suppress(UnicodeDecodeError):
            TOKENIZER.decode([*known, 200, *known], errors="strict")


def with_counters(text: Any) -> None:
    machine: Any = LEXERS[0]._machine
    with tempfile.TemporaryFile() as file:
        counter = native.Counter(machine, bytes(16), 1 << 14, file.fileno())
        with suppress(TypeError):
            counter.add([text, None])
        counter.add([text], 2, 1)
        counter.add_part(text, 2, 1, False, 0, 9)
        with suppress(ValueError):
            counter.add_part(text, 1, 0, False, 1 << 40, 9)
        counter.spill(False)
        file.seek(0)
        data, ends = file.read(), counter.ends
    other = native.Counter(machine, bytes(16))
    for wrong in ([len(data) + 1], [5]):
        with suppress(ValueError):
            other.open(data, wrong, False)
    other.open(data, ends, False)
    other.read(0)
    in_stages = native.Counter(lexer_of_several_stages()._machine, bytes(16))  # each text has memory for what is between them
    in_stages.add([text], 2)
    in_stages.finish()
    again = native.Counter(machine, bytes(16))
    again.add_counted(*other.finish(), len(text))
    with suppress(ValueError):
        again.add_counted(b"abc", bytes(4), bytes(8), 3)


def with_mergers(text: Any) -> None:
    machine: Any = LEXERS[0]._machine
    counter = native.Counter(machine, bytes(16))
    counter.add([text])
    pieces = counter.finish()
    for lent in (False, True):
        encoder = native.Encoder(machine, {}, START.blob, START.starts, START.merges, START.whole)
        with suppress(ValueError):
            native.Merger(encoder, False, 0, 300, 9, 1)
        merger = native.Merger(encoder, False, 256, 300, 9, 1)
        if lent:
            memory = bytearray(merger.needs(len(pieces[1]) // 4, len(pieces[0])) + 4)
            for wrong in (memoryview(memory)[1:], bytes(4)):
                with suppress(ValueError, BufferError):
                    merger.lend(wrong)
            merger.lend(memory)
            with suppress(ValueError):
                merger.lend(bytearray(8))
        with suppress(ValueError):
            merger.add(b"abc", bytes(4), bytes(8))
        merger.add(*pieces)
        merger.run(9, 1 << 30)
        merger.merges()
    if len(text) > 1 << 16:  # where memory is looked at, of many merges
        noise = random.Random(1).randbytes(20_000)
        merger = native.Merger(encoder, False, 256, 1 << 20, len(noise), 1)
        merger.add(noise, len(noise).to_bytes(4, sys.byteorder), (1).to_bytes(8, sys.byteorder))
        merger.run(len(noise), 1 << 40)


MODEL = tokenizer_json(("th", "the", "\u4e2d"), [["t", "h"], ["th", "e"]])
NO_MODEL = tokenizer_json(("th", "the"), [["t", "h"], ["th", "x"]])


def with_models(text: Any) -> None:
    for _ in range(400 if len(text) > 1 << 16 else 1):  # each takes little memory
        _, blob, starts, _, _, table, _ = native.read_model(json.dumps(MODEL).encode(), ALPHABET)
        assert native.find_tokens(blob, starts, table, ALPHABET, ["th", "nothing"]) == [256, -1]
        assert native.read_model(json.dumps(NO_MODEL).encode(), ALPHABET) is None
        with suppress(ValueError):
            native.find_tokens(blob, starts, b"", ALPHABET, ["th"])


@cache
def exporters(data: bytes) -> list[Any]:
    """What exports the same columns each time: one that is read, one with a row that has none, and one that is wrong."""
    columns = [Column("u", [[data, data[:9]]]), Column("u", [[data, None]]), Column("u", [[data, data]])]
    columns[2].wrong = {2: 1}
    return [column.exports_one() for column in columns]


def with_columns(text: Any) -> None:
    for exporter in exporters(text.encode() if isinstance(text, str) else bytes(text)):
        with suppress(ValueError):
            native.arrow_texts(exporter)


WORKS = [with_texts, with_parts, with_streams, with_ids, with_counters, with_mergers, with_models, with_columns]


@pytest.mark.parametrize("work", WORKS)
@pytest.mark.parametrize("kind", KINDS)
def test_objects(kind: str, work: Callable[[Any], None]) -> None:
    """What is kept for the next calls is made in the first rounds, how many these are depends on hashes; what is never let go, by every
    call of each: so no round leaves less than 40."""
    text = KINDS[kind]("".join(TEXTS.values()))
    left: list[int] = []
    while len(left) < 20 and (not left or left[-1] >= 40):
        gc.collect()
        before = sys.getallocatedblocks()
        for _ in range(40):
            work(text)
        gc.collect()
        left.append(sys.getallocatedblocks() - before)
    assert left[-1] < 40, left


@pytest.mark.skipif(not STATUS.exists(), reason="how much memory a process takes now is read from /proc, which only Linux has; elsewhere test_objects counts objects")
@pytest.mark.parametrize("work", WORKS)
@pytest.mark.parametrize(("name", "kind"), [("Latin-1", "str"), ("four bytes", "str"), ("two bytes", "memoryview")])
def test_memory(name: str, kind: str, work: Callable[[Any], None]) -> None:
    """What varies grows now and then; what is never let go, here of half a megabyte, with every call."""
    text = KINDS[kind](TEXTS[name] * (1 << 19 >> 4))
    taken = []
    for _ in range(6):
        work(text)
        gc.collect()
        taken.append(int(STATUS.read_text().split()[1]) * mmap.PAGESIZE)
    assert min(after - before for before, after in pairwise(taken)) < 1 << 18, taken
