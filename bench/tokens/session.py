"""One vocabulary and the tokenizers that can open it: the ids they should give, and what they give instead.

    session = Session(vocabulary, engines, Samples(scratch), absent, rounds=9)
    entry = session.encoded(engine, process, sample, "list")   # entry.note: "" or what is different, and where first
    session.row("warm", entry, times)

The reference is the package that a vocabulary was made for (tiktoken, or tokenizers 0.23); where it is not installed it is ourselves,
which the result says. Ids are compared as uint32 (little-endian), by number and SHA-256. Invariant: who cannot open the vocabulary, or
fails at something, is in `absent` with the reason; if it is ours, the run ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..corpora import Text
from ..measure import PATIENCE, Row, spread
from .adapters import Files, Unavailable
from .processes import TIMEOUT, Engine, Process
from .samples import Sample, Samples
from .vocabularies import Vocabulary

__all__ = ["Entry", "Session"]


@dataclass(frozen=True)
class Entry:
    """What an engine made of a sample: `said` by its process, and what is wrong with it."""

    engine: Engine
    process: Process
    sample: Sample
    output: str
    said: dict[str, Any]
    note: str = ""


class Session:
    """All that the parts need to know of one vocabulary. To be closed: the reference is a process."""

    def __init__(
        self, vocabulary: Vocabulary, engines: Sequence[Engine], samples: Samples, absent: dict[str, str], rounds: int
    ) -> None:
        self.vocabulary, self.samples, self.scratch, self.absent, self.rounds = vocabulary, samples, samples.scratch, absent, rounds
        self.versions: dict[str, str] = {}
        self.expected: dict[tuple[str, str], tuple[int, str, str]] = {}
        self.decoded: dict[str, str] = {}
        self.ours, *_ = (engine for engine in engines if engine.ours)
        self.engines = [engine for engine in engines if self.opens(engine)]
        chosen = next((engine for engine in self.engines if engine.name == vocabulary.reference), self.ours)
        self.reference = chosen
        self.stack = ExitStack()
        self.process, _ = self.open(chosen, self.stack)

    def opens(self, engine: Engine) -> bool:
        try:
            with ExitStack() as stack:
                self.open(engine, stack)
        except Unavailable as reason:
            self.leave_out(engine, None, reason)
            return False
        return True

    def open(
        self, engine: Engine, stack: ExitStack, threads: int = 1, files: Files | None = None
    ) -> tuple[Process, dict[str, Any]]:
        """A process that has opened the vocabulary, and what it said about that. It ends with the stack."""
        process = stack.enter_context(Process(engine, files or self.vocabulary.files(engine.what), threads))
        said = process.ask("open")
        self.versions[engine.name] = said["version"]
        return process, said

    def leave_out(self, engine: Engine, text: str | None, reason: Unavailable) -> None:
        """Say why; if it is ours, that is an error. Only what is in pure Python may be too slow."""
        if engine.ours and engine.tier != "pure":
            raise RuntimeError(f"{engine.name}, {self.vocabulary.name}, {text}: {reason}") from reason
        if str(reason) == "not installed":
            self.absent[engine.name] = "not installed"
        else:
            self.absent[", ".join([engine.name, self.vocabulary.name, *([text] if text else [])])] = str(reason)

    def sample(self, engine: Engine, text: Text) -> Sample:
        return self.samples.of(text.beginning(engine.limit))

    def wanted(self, sample: Sample, how: str = "once") -> tuple[int, str, str]:
        """(number, digest, file) of the right ids of a sample: of its one text, or of all its texts."""
        key = sample.path, how
        if key not in self.expected:
            path = str(self.scratch / f"{self.vocabulary.name}-{len(self.expected)}.ids")
            request: dict[str, Any] = {"do": how, "texts": sample.path, "output": "list", "ids": path, "timeout": 10 * TIMEOUT}
            try:
                said = self.process.ask(**request)
            except Unavailable as reason:
                self.absent[f"{self.reference.name}, {self.vocabulary.name}, ids of {sample.name}, so ours stand for right"] = str(reason)
                with ExitStack() as stack:
                    said = self.open(self.ours, stack)[0].ask(**request)
                self.process, _ = self.open(self.reference, self.stack)
            self.expected[key] = said["count"], said["digest"], path
        return self.expected[key]

    def wanted_text(self, path: str) -> str:
        """The digest of what the right ids decode to."""
        if path not in self.decoded:
            self.decoded[path] = self.process.ask("decode", ids=path, output="str", seconds=0, timeout=10 * TIMEOUT)["digest"]
        return self.decoded[path]

    def compare(self, said: dict[str, Any], sample: Sample, process: Process, output: str, how: str = "once") -> str:
        """What is different about what came out, or ""."""
        _, digest, path = self.wanted(sample, "one_by_one" if output == "batch" else how)
        if said["digest"] == digest:
            return ""
        mine = str(self.scratch / "differing.ids")
        process.ask(how, texts=sample.path, output=output, ids=mine)
        found, right = np.fromfile(mine, "<u4"), np.fromfile(path, "<u4")
        both = min(len(found), len(right))
        differ = np.flatnonzero(found[:both] != right[:both])
        at = int(differ[0]) if len(differ) else both
        place = len(self.vocabulary.tokenizer.decode_bytes(right[:at]))
        here, there = right[at : at + 3].tolist(), found[at : at + 3].tolist()
        return f"{len(found):,} ids instead of {len(right):,}; first at byte {place:,}, id {at:,}: {there}, not {here}"

    def encoded(self, engine: Engine, process: Process, sample: Sample, output: str, how: str = "once") -> Entry:
        """What an engine makes of a sample, compared. Who is not ours and takes too long is Unavailable."""
        said = process.ask(how, texts=sample.path, output=output)
        if said.get("seconds", 0) > PATIENCE and not engine.ours:
            raise Unavailable(f"left out: {sample.bytes:,} bytes took {said['seconds']:.1f} s")
        return Entry(engine, process, sample, output, said, self.compare(said, sample, process, output, how))

    def row(self, part: str, entry: Entry, times: Sequence[float], threads: int = 1, calls: int = 1) -> Row:
        engine, sample, said = entry.engine, entry.sample, entry.said
        return Row(
            part, self.vocabulary.name, sample.name, entry.output, engine.name, self.versions[engine.name], sample.bytes,
            said.get("count", 0), said.get("digest", ""), len(times), *spread(times), not entry.note, engine.ours, entry.note,
            threads, calls,
        )  # fmt: skip

    def close(self) -> None:
        self.stack.close()
