"""Engines and texts in; rows of times out, of engines that were compared with each other in the same run.

    rows = list(measure(subject, text, engines(subject, absent), rounds=9, absent=absent))

Every engine is run once to warm up, and what it then puts out is compared: the number of pieces, and a digest of their offsets. One
that differs keeps its row, marked, with the first place where it does. Then engines take turns, round after round, so that a change of
the machine's mood hits all of them, and each follows every other one as often: what runs before leaves its own text in the caches.
The garbage collector is off while the clock runs; results are let go of when it does not. Rejected: the minimum instead of the
median (it hides what an allocation costs), and a process for each engine (they would not run under the same conditions).
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from .corpora import Text
from .engines import Engine, Run
from .native import Unavailable
from .offsets import Offsets, digest, of_ends
from .subject import Subject

PATIENCE = 3.0  # seconds that an engine may take for one text, before it is left out


@dataclass
class Row:
    """One engine on one text. Times are in seconds; `bytes` is what it was given, the beginning of the text for slow engines."""

    part: str
    subject: str
    text: str
    output: str
    engine: str
    version: str
    bytes: int
    pieces: int
    digest: str
    rounds: int
    median: float
    fastest: float
    slowest: float
    agrees: bool = True
    ours: bool = False
    note: str = ""
    threads: int = 1
    calls: int = 1
    megabytes_a_second: float = field(init=False)
    of_memcpy: float | None = None
    of_table_dfa: float | None = None  # how many times as fast; below, than the fastest engine that is not ours and agrees
    of_best_peer: float | None = None
    best_peer: str = ""
    bytes_a_cycle: float | None = None

    def __post_init__(self) -> None:
        self.megabytes_a_second = self.bytes / self.median / 1e6


class Expected:
    """What a lexer makes of a text and of its beginnings."""

    def __init__(self, subject: Subject) -> None:
        self.lexer = subject.lexer()
        self.known: dict[int, tuple[Offsets, str]] = {}

    def __call__(self, text: Text) -> tuple[Offsets, str]:
        key = len(text.data)
        if key not in self.known:
            pairs = of_ends(self.lexer.spans(text.data), text)
            self.known[key] = pairs, digest(pairs)
        return self.known[key]


def compare(engine: Engine, result: object, text: Text, expected: Expected) -> tuple[int, str, str]:
    """(pieces, digest or "", what is different or "")."""
    pairs, wanted = expected(text)
    pieces = engine.count(result)
    if engine.output == "count":
        return pieces, "", "" if pieces == len(pairs) else f"counts {pieces:,} pieces instead of {len(pairs):,}"
    found = engine.offsets(result, text)
    made = digest(found)
    if pieces == len(pairs) and made == wanted:
        return pieces, made, ""
    both = min(len(found), len(pairs))
    differ = np.flatnonzero((found[:both] != pairs[:both]).any(axis=1))
    at = int(differ[0]) if len(differ) else both
    here = pairs[at] if at < len(pairs) else found[at] if at < len(found) else (len(text.data), len(text.data))
    there = found[at] if at < len(found) else here
    start = int(min(here[0], there[0]))
    ours, theirs = (text.data[int(a) : int(b)][:30].decode("utf-8", "replace") for a, b in (here, there))
    return pieces, made, f"{pieces:,} pieces instead of {len(pairs):,}; first at byte {start:,}: {theirs!r}, not {ours!r}"


def in_turn(count: int, rounds: int) -> Iterator[tuple[int, int]]:
    """(round, who). In as many rounds as there are, or twice as many where these are odd, everyone is in every place, and directly behind every
    other one, equally often (E. J. Williams, Experimental designs balanced for the estimation of residual effects of treatments, 1949)."""
    order = [at // 2 if at % 2 == 0 else -(at + 1) // 2 for at in range(count)]  # 0, -1, 1, -2, 2, ...
    for number in range(rounds):
        backwards = count % 2 == 1 and number % 2 == 1
        for step in reversed(order) if backwards else order:
            yield number, (step + number) % count


def take_turns(runs: Sequence[Callable[[], object]], rounds: int) -> list[list[float]]:
    """The times of each, in seconds."""
    taken: list[list[float]] = [[] for _ in runs]
    was_on = gc.isenabled()
    gc.disable()
    try:
        for _, at in in_turn(len(runs), rounds):
            start = time.perf_counter()
            result = runs[at]()
            taken[at].append(time.perf_counter() - start)
            del result
    finally:
        if was_on:
            gc.enable()
    return taken


def measure(subject: Subject, text: Text, engines: Sequence[Engine], rounds: int, absent: dict[str, str], part: str = "corpora",
            cycles: float | None = None) -> list[Row]:  # fmt: skip
    """The rows of one text, memcpy first."""
    expected = Expected(subject)
    kept: list[tuple[Engine, Text, Run, int, str, str]] = []
    for engine in engines:
        sample = text.beginning(engine.limit)
        try:
            start = time.perf_counter()
            run = engine.prepare(sample)
            result = run()
            if (taken_once := time.perf_counter() - start) > PATIENCE:
                raise Unavailable(f"left out: {len(sample.data):,} bytes took {taken_once:.1f} s")
            kept.append((engine, sample, run, *compare(engine, result, sample, expected)))
        except Unavailable as reason:
            absent[f"{engine.name}, {subject.name}, {text.name}"] = str(reason)
        except Exception as error:  # other people's engines have limits of their own, and their own names for them
            if engine.ours:
                raise
            absent[f"{engine.name}, {subject.name}, {text.name}"] = f"{type(error).__name__}: {error}"
    target = memoryview(bytearray(text.data))

    def memcpy() -> None:
        target[:] = text.data

    copied, *taken = take_turns([memcpy, *(run for _, _, run, *_ in kept)], rounds)
    rows = [Row(part, subject.name, text.name, "memcpy", "memcpy", "", len(text.data), 0, "", rounds, *spread(copied))]
    for (engine, sample, _, pieces, made, note), times in zip(kept, taken, strict=True):
        rows.append(Row(part, subject.name, text.name, engine.output, engine.name, engine.version, len(sample.data), pieces, made,
                        rounds, *spread(times), not note, engine.ours, note))  # fmt: skip
    relate(rows, cycles)
    return rows


def spread(times: Sequence[float]) -> tuple[float, float, float]:
    return statistics.median(times), min(times), max(times)


def relate(rows: Sequence[Row], cycles: float | None) -> None:
    """Fill in the ratios of the rows of one text."""
    copy = next((row.megabytes_a_second for row in rows if row.output == "memcpy"), None)
    for row in rows:
        same = [one for one in rows if one.output == row.output]
        table = next((one for one in same if one.engine == "table DFA"), None)
        peers = [one for one in same if not one.ours and one.agrees]
        best = max(peers, key=lambda one: one.megabytes_a_second, default=None)
        row.of_memcpy = row.megabytes_a_second / copy if copy else None
        row.bytes_a_cycle = row.megabytes_a_second * 1e6 / cycles if cycles else None
        if row.output == "memcpy":
            continue
        row.of_table_dfa = row.megabytes_a_second / table.megabytes_a_second if table else None
        if best is not None and row.ours:
            row.of_best_peer, row.best_peer = row.megabytes_a_second / best.megabytes_a_second, best.engine
