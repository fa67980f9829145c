"""The tokenizers that are measured, and the processes they are measured in: one for each, of whichever Python has it.

    with Process(engine, files) as process:
        process.ask("open")                                    # {"load": 0.11, "outputs": ["array", "list"], ...}
        process.ask("once", texts=sample.path, output="list")

A process is given as many processors as it may have threads, so that what a package does behind one's back is done on one core, too.
It says nothing and waits while another one runs. One that dies, or answers too late, is an Unavailable, and is gone.
Invariant: no process outlives the `with`. Rejected: all in one process (two versions of a package cannot be, memory could not be
told apart, and a crash would end the run).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import bitlex

from ..engines import SLOWEST, TIERS
from ..subject import at_most
from .adapters import ADAPTERS, Adapter, Files, Unavailable

__all__ = ["TIMEOUT", "Engine", "Process", "best_tier", "engines"]

WORKER = Path(__file__).resolve().with_name("worker.py")
ROOT = WORKER.parent.parent.parent
TIMEOUT = 60.0  # seconds for one answer


@dataclass(frozen=True)
class Engine:
    """A tokenizer under the name it is listed by; `tier` is the most that bitlex may use."""

    name: str
    adapter: str
    python: str
    tier: str | None = None

    @property
    def what(self) -> Adapter:
        return ADAPTERS[self.adapter]

    @property
    def ours(self) -> bool:
        return self.adapter == "bitlex"

    @property
    def limit(self) -> int:
        return SLOWEST if self.tier == "pure" else self.what.limit


def engines(pythons: Sequence[str], names: Sequence[str], tiers: bool) -> list[Engine]:
    """Ours first. `pythons`: interpreters, "PATH" for all of the others or "NAME=PATH" for one; `names`: only those, if there are any."""
    others, own = str(default("peers")), {"tokenizers 1": str(default("peers-1"))}
    for given in pythons:
        name, named, path = given.partition("=")
        if not named:
            others = name
        elif name in ADAPTERS and name != "bitlex":
            own[name] = path
        else:
            raise SystemExit(f"--python: {name!r} is none of {', '.join(one for one in ADAPTERS if one != 'bitlex')}")
    found = [Engine("bitlex", "bitlex", sys.executable)]
    found += [Engine(f"bitlex {tier}", "bitlex", sys.executable, tier) for tier in TIERS if tiers and is_lower(tier)]
    found += [Engine(name, name, own.get(name, others)) for name in ADAPTERS if name != "bitlex"]
    if unknown := set(names) - {engine.name for engine in found}:
        raise SystemExit(f"--engine: {min(unknown)!r} is none of {', '.join(engine.name for engine in found)}")
    return [engine for engine in found if not names or engine.name in names]


def default(folder: str) -> Path:
    """The interpreter that `make peers` sets up, if it has; else this one."""
    made = ROOT / "build" / folder / "bin" / "python"
    return made if made.exists() else Path(sys.executable)


def is_lower(tier: str) -> bool:
    """Whether this machine has it, and something better."""
    with at_most(tier):
        return bitlex.lexer("cl100k").tier == tier != best_tier()


def best_tier() -> str:
    with at_most(None):
        return str(bitlex.lexer("cl100k").tier)


class Process:
    def __init__(self, engine: Engine, files: Files, threads: int = 1) -> None:
        self.engine = engine
        allowed = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
        given = {"adapter": engine.adapter, "files": asdict(files), "threads": threads, "processors": allowed[-threads:]}
        environment = {**os.environ, "RAYON_NUM_THREADS": str(threads), "TOKENIZERS_PARALLELISM": "true" if threads > 1 else "false"}
        environment.pop("BITLEX_TIER", None)
        environment.pop("PYTHONDONTWRITEBYTECODE", None)  # what pip installs is compiled; what is imported from here is when it is first
        if engine.tier is not None:
            environment["BITLEX_TIER"] = engine.tier
        try:
            self.process = subprocess.Popen(
                [engine.python, str(WORKER)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                encoding="utf-8", env=environment,
            )  # fmt: skip
        except OSError as error:
            raise Unavailable(f"{engine.python}: {error.strerror}") from None
        self.tell(given)

    def tell(self, line: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(line) + "\n")
        self.process.stdin.flush()

    def ask(self, do: str, timeout: float = TIMEOUT, **more: Any) -> dict[str, Any]:
        """What it answers; Unavailable with its reason if that is an error, or if there is no answer."""
        assert self.process.stdout is not None
        was_late = threading.Event()

        def stop() -> None:
            was_late.set()
            self.process.kill()

        late = threading.Timer(timeout, stop)
        late.start()
        try:
            self.tell({"do": do, **more})
            line = self.process.stdout.readline()
        except OSError:
            line = ""
        finally:
            late.cancel()
        if not line:
            status = self.process.wait()
            raise Unavailable(f"no answer within {timeout:.0f} s" if was_late.is_set() else f"died, status {status}")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise Unavailable(self.plainly(answer["error"]))
        return answer

    def plainly(self, error: str) -> str:
        missing = f"No module named '{self.engine.what.module.partition('.')[0]}"
        return "not installed" if missing in error else error

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()

    def __enter__(self) -> Process:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()
