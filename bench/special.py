"""Rows about what one long text does not show: short strings, a text of any length, threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from operator import itemgetter
from typing import Any

import numpy as np

from .corpora import Text
from .engines import Engine, Run
from .measure import PATIENCE, Expected, Row, compare, relate, spread, take_turns
from .offsets import nothing, of_ends, of_pieces
from .subject import Subject

SHORT = 50  # bytes
AGAIN = 10  # times that all short strings are gone through while the clock runs
OBJECTS = "objects alone"


def short(subject: Subject, text: Text, engines: Sequence[Engine], rounds: int, count: int = 1_000) -> list[Row]:
    """A call for each of many short strings, again and again: the first time around, an engine finds the caches full of the one before.

    Engines that are called through ctypes are left out: that would be timed instead. "objects alone" makes the same objects and does
    nothing else: what a call costs above that is the lexer's.
    """
    ends = range(0, min(len(text.data), SHORT * count), SHORT)
    pieces = [Text(text.name, text.data[at : at + SHORT].decode("utf-8", "ignore")) for at in ends]
    kept: list[tuple[Engine, list[Run], str]] = []
    for engine in [*engines, *objects(subject)]:
        if engine.name.startswith("bitlex") or engine.output == "split" or engine.name == OBJECTS:
            runs = [engine.prepare(piece) for piece in pieces]
            expected = [Expected(subject) for _ in pieces]
            notes = (compare(engine, run(), piece, one)[2] for run, piece, one in zip(runs, pieces, expected, strict=True))
            kept.append((engine, runs, next(filter(None, notes), "")))
    kept += batches(subject, pieces)

    def calls(runs: list[Run]) -> Callable[[], None]:
        def all_of_them() -> None:
            for _ in range(AGAIN):
                for run in runs:
                    run()

        return all_of_them

    size = sum(len(piece.data) for piece in pieces) * AGAIN
    rows = [
        Row("short", subject.name, text.name, engine.output, engine.name, engine.version, size, 0, "", rounds, *spread(times), not note,
            engine.ours, note, calls=len(pieces) * AGAIN)
        for (engine, _, note), times in zip(kept, take_turns([calls(runs) for _, runs, _ in kept], rounds), strict=True)
    ]  # fmt: skip
    relate(rows, None)
    return rows


def objects(subject: Subject) -> list[Engine]:
    """What the calls return, made of what is known beforehand, as fast as Python can."""
    lexer = subject.lexer()

    def number(text: Text) -> Run:
        return partial(len, lexer.split(text.data))

    def array(text: Text) -> Run:
        spans = lexer.spans(text.data)
        make: Any = np.ndarray
        return partial(make, spans.shape, spans.dtype, bytearray(spans.tobytes()))

    def pieces(text: Text) -> Run:
        whole = text.data if lexer.bytewise else text.text
        places = [slice(int(start), int(end)) for start, end in of_ends(lexer.spans(whole), text)]
        cut = itemgetter(*places) if len(places) > 1 else lambda whole: [whole[place] for place in places]
        return partial(cut, whole)

    return [
        Engine(OBJECTS, "", "count", number, nothing, ours=True),
        Engine(OBJECTS, "", "spans", array, of_ends, ours=True),
        Engine(OBJECTS, "", "split", pieces, of_pieces, ours=True),
    ]


def batches(subject: Subject, pieces: Sequence[Text]) -> list[tuple[Engine, list[Run], str]]:
    """All of the strings in one call."""
    lexer = subject.lexer()
    made: list[tuple[Engine, list[Run], str]] = []
    for output in ("count", "spans", "split"):
        batch, single = getattr(lexer, f"{output}_batch"), getattr(lexer, output)
        texts = [piece.text if output == "split" and not lexer.bytewise else piece.data for piece in pieces]
        same = all(np.array_equal(a, b) for a, b in zip(batch(texts), map(single, texts), strict=True))
        engine = Engine(f"bitlex {lexer.tier} batch", "", output, lambda text: list, lambda result, text: result, ours=True)
        made.append((engine, [partial(batch, texts)], "" if same else "differs from single calls"))
    return made


def lengths(
    subject: Subject, unit: str, longest: int, engines: Sequence[Engine], rounds: int, patience: float = PATIENCE
) -> Iterator[list[Row]]:
    """The same few characters, 1 KB of them, 10 KB, and so on, until an engine would take longer than `patience`, going by its growth."""
    before: dict[str, float] = {}
    tired: set[str] = set()
    size = 1_000
    while size <= longest:
        text = Text(f"{unit!r} repeated", unit * (size // len(unit.encode())))
        expected, rows = Expected(subject), []
        kept = [engine for engine in engines if engine.name not in tired]
        runs = [engine.prepare(text) for engine in kept]
        found = [compare(engine, run(), text, expected) for engine, run in zip(kept, runs, strict=True)]
        for engine, (pieces, made, note), times in zip(kept, found, take_turns(runs, rounds), strict=True):
            rows.append(Row("lengths", subject.name, text.name, engine.output, engine.name, engine.version, len(text.data), pieces,
                            made, rounds, *spread(times), not note, engine.ours, note))  # fmt: skip
            now = rows[-1].median
            if now * max(10, now / before.get(engine.name, now)) > patience:
                tired.add(engine.name)
            before[engine.name] = now
        yield rows
        size *= 10


def threads(subject: Subject, text: Text, most: int, rounds: int) -> list[Row]:
    """count, spans and split over one long text, by 1, 2, 4 ... threads."""
    lexer = subject.lexer()
    numbers = sorted({1, most, *(1 << power for power in range(most.bit_length()) if 1 << power <= most)})
    rows = []
    for output in ("count", "spans", "split"):
        function = getattr(lexer, output)
        subject_text = text.text if output == "split" and not lexer.bytewise else text.data
        runs = [partial(function, subject_text, threads=number) for number in numbers]
        alone = function(subject_text)
        same = [bool(np.array_equal(alone, run())) if output == "spans" else alone == run() for run in runs]
        pieces = alone if isinstance(alone, int) else len(alone)
        for number, agrees, times in zip(numbers, same, take_turns(runs, rounds), strict=True):
            rows.append(Row("threads", subject.name, text.name, output, f"bitlex {lexer.tier}", "", len(text.data), pieces, "", rounds,
                            *spread(times), agrees, True, "" if agrees else "differs from one thread", number))  # fmt: skip
    return rows
