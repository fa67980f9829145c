"""What is measured, part by part; each gives rows, of what was compared before it was timed.

    for rows in first(session, texts): ...

Engines take turns, round after round, in an order that puts none behind the same one always, and what one does in a turn counts once,
whatever it had time for. A row of another's that differs from the reference is marked with the first place where it does; one of ours makes the run
fail. What cannot be measured is in `session.absent`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from ..corpora import Text
from ..measure import Row, in_turn, spread
from .adapters import Unavailable
from .processes import TIMEOUT, Engine, best_tier
from .samples import Sample, pieces
from .session import Entry, Session
from .vocabularies import SAVED

__all__ = ["again", "decoding", "first", "golden", "hard", "loading", "memory", "mixed", "short", "threads", "warm"]

TURN = 0.03  # seconds that an engine may go on for when it is its turn
AGAIN = 5  # times that all short strings are gone through in a turn
GOLDEN_CHARACTERS = 262_144  # of each file, of tokenizers


def taking_turns(asks: Sequence[Callable[[], dict[str, Any]]], rounds: int) -> list[list[float]]:
    """The times of each: of one turn, the median."""
    taken: list[list[float]] = [[] for _ in asks]
    for _, at in in_turn(len(asks), rounds):
        taken[at].append(spread(asks[at]()["times"])[0])
    return taken


def turn(entry: Entry, do: str = "turn") -> Callable[[], dict[str, Any]]:
    return partial(entry.process.ask, do, texts=entry.sample.path, output=entry.output, seconds=TURN)


def first(session: Session, texts: Sequence[Text], part: str = "first") -> Iterator[list[Row]]:
    """The first text that a new process encodes, after it has loaded: of what is cheapest to an engine."""
    for text in texts:
        times: dict[str, list[float]] = {engine.name: [] for engine in session.engines}
        entries: dict[str, Entry] = {}
        for _, at in in_turn(len(session.engines), session.rounds):
            engine = session.engines[at]
            if engine.name not in times:
                continue
            try:
                with ExitStack() as stack:
                    process, opened = session.open(engine, stack)
                    entry = session.encoded(engine, process, session.sample(engine, text), opened["outputs"][0])
            except Unavailable as reason:
                session.leave_out(engine, f"{text.name}, {part}", reason)
                del times[engine.name]
                continue
            times[engine.name].append(entry.said["seconds"])
            if engine.name not in entries or not entries[engine.name].note:  # the first thing that was wrong stays
                entries[engine.name] = entry
        yield [session.row(part, entries[name], taken) for name, taken in times.items()]


def hard(session: Session, texts: Sequence[Text], size: int) -> Iterator[list[Row]]:
    """Pieces without end, and for comparison as much of the first text: in new processes, because some keep a piece of any length."""
    return first(session, [texts[0].beginning(size), *pieces(size)], "pieces")


def warm(session: Session, texts: Sequence[Text]) -> Iterator[list[Row]]:
    """All that each engine puts out, again and again in the same process, of a text that begins at another line each time: so all its
    words were met before, but neither the str nor the text as a whole."""
    return repeated(session, texts, "warm")


def again(session: Session, texts: Sequence[Text]) -> Iterator[list[Row]]:
    """The same of one str, as nobody does with texts, and most benchmarks do."""
    return repeated(session, texts, "again")


def repeated(session: Session, texts: Sequence[Text], part: str) -> Iterator[list[Row]]:
    do, how = ("turn", "one_by_one") if part == "warm" else ("again", "once")
    with ExitStack() as stack:
        alive = {engine: session.open(engine, stack) for engine in session.engines}
        for text in texts:
            kept: list[Entry] = []
            for engine, (process, opened) in alive.items():
                sample = session.sample(engine, text)
                try:
                    for output in opened["outputs"]:
                        entry = session.encoded(engine, process, sample, output)
                        if part == "warm":
                            turned = session.samples.turned(text.beginning(engine.limit))
                            entry = replace(session.encoded(engine, process, turned, output, how), sample=turned)
                        kept.append(entry)
                except Unavailable as reason:
                    session.leave_out(engine, f"{text.name}, {part}", reason)
                    if process.process.poll() is not None:
                        alive[engine] = session.open(engine, stack)
            taken = taking_turns([turn(entry, do) for entry in kept], session.rounds)
            yield [session.row(part, entry, times) for entry, times in zip(kept, taken, strict=True)]


def mixed(session: Session, texts: Sequence[Text]) -> Iterator[list[Row]]:
    """Documents of all texts in random order, a call for each, that a new process meets first, and then for the third time: of what is cheapest
    to an engine. Their words are of many languages and of code, more than what a memory of words has room for if it is small."""
    samples = {engine: session.samples.mixed([text.beginning(engine.limit // len(texts)) for text in texts]) for engine in session.engines}
    times: dict[Engine, list[list[float]]] = {engine: [] for engine in session.engines}
    entries: dict[Engine, Entry] = {}
    for _, at in in_turn(len(session.engines), session.rounds):
        engine = session.engines[at]
        if engine not in times:
            continue
        try:
            with ExitStack() as stack:
                process, opened = session.open(engine, stack)
                ask = partial(process.ask, "calls", texts=samples[engine].path, output=opened["outputs"][0], again=1)
                seconds = [ask()["times"][0] for _ in range(3)]
                times[engine].append([seconds[0], seconds[2]])
                if engine not in entries:
                    entries[engine] = session.encoded(engine, process, samples[engine], opened["outputs"][0], "one_by_one")
        except Unavailable as reason:
            session.leave_out(engine, "mixed", reason)
            del times[engine]
    for number, name in enumerate(("met first", "met before")):
        shown = {engine: replace(entries[engine], sample=replace(samples[engine], name=name)) for engine in times}
        yield [session.row("mixed", shown[engine], [one[number] for one in taken]) for engine, taken in times.items()]


def short(session: Session, texts: Sequence[Text]) -> Iterator[list[Row]]:
    """A call for each of many short strings, to a list and to numpy, converted where a package has only the other."""
    with ExitStack() as stack:
        alive = {engine: session.open(engine, stack)[0] for engine in session.engines}
        for text in texts[:2]:
            sample = session.samples.short(text)
            kept: list[Entry] = []
            for engine, process in alive.items():
                try:
                    kept += [session.encoded(engine, process, sample, output, "one_by_one") for output in ("list", "array")]
                except Unavailable as reason:
                    session.leave_out(engine, f"{text.name}, short", reason)
            asks = [partial(one.process.ask, "calls", texts=sample.path, output=one.output, again=AGAIN) for one in kept]
            taken = taking_turns(asks, session.rounds)
            all_calls = replace(sample, bytes=sample.bytes * AGAIN)
            yield [
                session.row("short", replace(entry, sample=all_calls), times, calls=sample.texts * AGAIN)
                for entry, times in zip(kept, taken, strict=True)
            ]


def decoding(session: Session, texts: Sequence[Text]) -> Iterator[list[Row]]:
    """The right ids of a text, decoded to a str or to bytes: whatever a package has."""
    with ExitStack() as stack:
        alive = {engine: session.open(engine, stack) for engine in session.engines}
        for text in texts:
            kept: list[Entry] = []
            asks = []
            for engine, (process, opened) in alive.items():
                sample = session.sample(engine, text)
                count, _, path = session.wanted(sample)
                for output in opened["decodes"]:
                    try:
                        said = process.ask("decode", ids=path, output=output, seconds=0)
                    except Unavailable as reason:
                        session.leave_out(engine, f"{text.name}, decode", reason)
                        break
                    note = "" if said["digest"] == session.wanted_text(path) else "decodes to another text"
                    kept.append(Entry(engine, process, sample, output, said | {"count": count}, note))
                    asks.append(partial(process.ask, "decode", ids=path, output=output, seconds=TURN))
            taken = taking_turns(asks, session.rounds)
            yield [session.row("decode", entry, times) for entry, times in zip(kept, taken, strict=True)]


def loading(session: Session) -> Iterator[list[Row]]:
    """Importing the package, and opening the vocabulary: in new processes. Ours also from the file that `save` wrote."""
    wanted = [(engine, session.vocabulary.files(engine.what)) for engine in session.engines]
    if best_tier() != "pure":  # what is saved are the tables of C
        wanted += [(engine, session.vocabulary.files(SAVED)) for engine in session.engines if engine.ours and engine.tier != "pure"]
    said: list[list[dict[str, Any]]] = [[] for _ in wanted]
    alive = []
    for _, at in in_turn(len(wanted), session.rounds):
        with ExitStack() as stack:
            process, opened = session.open(wanted[at][0], stack, files=wanted[at][1])
        said[at].append(opened)
        alive.append(process)
    rows = []
    for (engine, files), answers in zip(wanted, said, strict=True):
        size = Path(files.path).stat().st_size if files.kind != "name" else 0
        loaded = Entry(engine, alive[0], Sample("the vocabulary", files.path, size, 0), files.kind, {})
        rows.append(session.row("load", loaded, [one["load"] for one in answers]))
        if files.kind != "saved":
            imported = replace(loaded, sample=Sample("the package", "", 0, 0), output="import")
            rows.append(session.row("import", imported, [one["import"] for one in answers]))
    yield rows


def memory(session: Session, texts: Sequence[Text]) -> dict[str, dict[str, int]]:
    """Resident bytes of a new process: before anything, with the vocabulary loaded, and after all texts."""
    found: dict[str, dict[str, int]] = {}
    for engine in session.engines:
        try:
            with ExitStack() as stack:
                process, opened = session.open(engine, stack)
                if opened["resident"] is None:
                    session.absent["memory"] = "this system does not tell"
                    return {}
                for text in texts:
                    process.ask("once", texts=session.sample(engine, text).path, output=opened["outputs"][0])
                after = process.ask("memory")["resident"]
        except Unavailable as reason:
            session.leave_out(engine, "memory", reason)
            continue
        known = {"Python alone": opened["alone"], "vocabulary loaded": opened["resident"], "all texts encoded": after}
        found[f"{engine.name}, {session.vocabulary.name}"] = known
    return found


def threads(session: Session, texts: Sequence[Text], most: int, size: int) -> Iterator[list[Row]]:
    """Many documents in one call, and one long text in one, by processes that have 1, 2, 4 ... processors."""
    documents = session.samples.documents(texts, size)
    long = Text("one text", "".join(text.text for text in texts)[:size])
    numbers = sorted({1, most, *(1 << power for power in range(most.bit_length()) if 1 << power <= most)})
    for number in numbers:
        with ExitStack() as stack:
            kept: list[Entry] = []
            for engine in session.engines:
                one = session.sample(engine, long)
                several = documents if one.bytes == len(long.data) else session.samples.documents(texts, engine.limit)
                try:
                    process, opened = session.open(engine, stack, number)
                    wanted = [(several, "batch")] * opened["batch"] + [(one, opened["outputs"][0])]
                    kept += [session.encoded(engine, process, sample, output) for sample, output in wanted]
                except Unavailable as reason:
                    session.leave_out(engine, f"{number} threads", reason)
            taken = taking_turns([turn(entry) for entry in kept], session.rounds)
            yield [session.row("threads", entry, times, threads=number) for entry, times in zip(kept, taken, strict=True)]


def golden(session: Session, folder: Path) -> Iterator[list[Row]]:
    """Ours and the reference against ids that were written down: `folder`/golden.json."""
    written = json.loads((folder / "golden.json").read_text(encoding="utf-8"))
    kind = {"ranks": "tiktoken", "json": "huggingface"}[session.vocabulary.original.kind]
    for file, known in written[kind].items():
        path = folder / "corpora" / file
        if session.vocabulary.name not in known or not path.exists():
            continue
        text = path.read_bytes().decode("utf-8")
        sample = session.samples.write(path.stem, [text if kind == "tiktoken" else text[:GOLDEN_CHARACTERS]])
        count, digest = known[session.vocabulary.name]
        rows = []
        for engine in dict.fromkeys([session.ours, session.reference]):
            with ExitStack() as stack:
                process, opened = session.open(engine, stack)
                output = opened["outputs"][0]
                said = process.ask("once", texts=sample.path, output=output, timeout=10 * TIMEOUT)
            note = "" if (said["count"], said["digest"]) == (count, digest) else f"{said['count']:,} ids, not the {count:,} of golden.json"
            rows.append(session.row("golden", Entry(engine, process, sample, output, said, note), [said["seconds"]]))
        yield rows
