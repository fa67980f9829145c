"""The process that one tokenizer is measured in: requests in, a line of JSON each; answers out. Run by any Python, by its path.

    {"adapter": "tiktoken", "files": {...}, "processors": [1], "threads": 1}      the first line says what it is
    {"do": "open"}                                          -> {"import": 0.05, "load": 0.11, "version": "0.14.0", ...}
    {"do": "once", "texts": "prose.json", "output": "list"} -> {"seconds": 0.4, "count": 766592, "digest": "e76b97..."}

A file of texts is a JSON list of str. The clock is read here, around the calls alone, so what the asking costs is not timed; the
garbage collector is off, and results are let go of when the clock stands. An answer of {"error": ...} says what a tokenizer raised, a
panic of Rust included. Rejected: pickles between processes (the interpreters may be of different versions).
"""

from __future__ import annotations

import gc
import hashlib
import json
import os
import sys
import time
from array import array
from collections.abc import Callable
from functools import partial
from importlib import import_module
from importlib.metadata import version
from itertools import cycle
from pathlib import Path
from typing import Any

import adapters  # type: ignore[import-not-found, unused-ignore]

sys.path.pop(0)  # this folder, whose names are its own business


class Worker:
    def __init__(self, adapter: str, files: dict[str, Any], threads: int) -> None:
        self.adapter = adapters.ADAPTERS[adapter]
        self.files = adapters.Files(**files)
        self.threads = threads
        self.known: tuple[str, list[str]] = ("", [])

    def open(self) -> dict[str, Any]:
        alone = resident()
        start = time.perf_counter()
        getattr(import_module(self.adapter.module), "Tokenizer", None)  # some import what they are made of when they are asked for it
        imported = time.perf_counter()
        self.opened = self.adapter.open(self.files, self.threads)
        loaded = time.perf_counter()
        opened = resident()  # before the version is asked for, which takes memory, too
        return {
            "import": imported - start, "load": loaded - imported, "version": version(self.adapter.package), "alone": alone,
            "resident": opened, "outputs": list(self.opened.outputs), "batch": self.opened.batch is not None,
            "decodes": list(self.opened.decode),
        }  # fmt: skip

    def texts(self, path: str) -> list[str]:
        if self.known[0] != path:
            self.known = ("", [])
            self.known = (path, json.loads(Path(path).read_text(encoding="utf-8")))
        return self.known[1]

    def function(self, output: str) -> Callable[[Any], Any]:
        """What makes this output, with the conversion from a list or to one where the tokenizer has none itself; or all texts at once."""
        if output == "batch":
            found: Callable[[Any], Any] | None = self.opened.batch
            if found is None:
                raise adapters.Unavailable("has no batches")
            return found
        outputs = self.opened.outputs
        if output == "array":
            import_module("numpy")  # not while the clock runs
        if output == "list" and "list" not in outputs:
            return lambda text: outputs["array"](text).tolist()
        if output == "array" and "array" not in outputs:
            return lambda text: adapters.array_of(outputs["list"](text))
        found = outputs[output]
        return found

    def run(self, path: str, output: str) -> Callable[[], Any]:
        texts = self.texts(path)
        return partial(self.function(output), texts if output == "batch" else texts[0])

    def once(self, texts: str, output: str, ids: str | None = None) -> dict[str, Any]:
        """One call for the first of the texts (or, as a batch, for all); what came out goes to the file `ids`."""
        run = self.run(texts, output)
        start = time.perf_counter()
        result = run()
        seconds = time.perf_counter() - start
        return {"seconds": seconds, **told(adapters.as_ids(result), ids)}

    def one_by_one(self, texts: str, output: str, ids: str | None = None) -> dict[str, Any]:
        """The ids of all texts, one after another, a call for each."""
        function, found = self.function(output), array("I")
        for text in self.texts(texts):
            found.extend(adapters.as_ids(function(text)))
        return told(found, ids)

    def turn(self, texts: str, output: str, seconds: float) -> dict[str, Any]:
        """The times of as many calls as there is time for, one at least, after one that is not timed, since others have had the caches.
        Each is given another of the texts, as a str that is made for it."""
        run, by_turns = self.function(output), cycle(self.texts(texts))
        times: list[float] = []

        def time_one() -> list[float]:
            given = [made_anew(text) for text in self.texts(texts)] if output == "batch" else made_anew(next(by_turns))
            return timed(partial(run, given), 0)

        time_one()
        while not times or sum(times) < seconds:
            times += time_one()
        return {"times": times}

    def again(self, texts: str, output: str, seconds: float) -> dict[str, Any]:
        """The same with one str, again and again."""
        run = self.run(texts, output)
        run()
        return {"times": timed(run, seconds)}

    def calls(self, texts: str, output: str, again: int) -> dict[str, Any]:
        """The time of a call for each of the texts, `again` times over."""
        function = self.function(output)
        calls = [partial(function, text) for text in self.texts(texts)] * again

        def all_of_them() -> None:
            for call in calls:
                call()

        return {"times": timed(all_of_them, 0)}

    def decode(self, ids: str, output: str, seconds: float) -> dict[str, Any]:
        """The times of decoding the ids of a file, and the digest of the text in UTF-8."""
        numbers = array("I")
        numbers.frombytes(Path(ids).read_bytes())
        run = partial(self.opened.decode[output], self.opened.prepare(numbers.tolist()))
        text = run()
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass") if output == "str" else text).hexdigest()
        del text
        return {"times": timed(run, seconds), "digest": digest}

    def memory(self) -> dict[str, Any]:
        """After all texts and results were let go of."""
        self.known = ("", [])
        return {"resident": resident()}


def made_anew(text: str) -> str:
    """The same text in another object: packages may keep what they made of a str inside it, or by its address."""
    return text[:1] + text[1:]


def timed(run: Callable[[], Any], seconds: float) -> list[float]:
    times: list[float] = []
    while not times or sum(times) < seconds:
        start = time.perf_counter()
        result = run()
        times.append(time.perf_counter() - start)
        del result
    return times


def told(ids: array[int], path: str | None) -> dict[str, Any]:
    if sys.byteorder == "big":
        ids.byteswap()
    data = ids.tobytes()
    if path is not None:
        Path(path).write_bytes(data)
    return {"count": len(ids), "digest": hashlib.sha256(data).hexdigest()}


def resident() -> int | None:
    """Bytes of memory that are this process's own or mapped into it; None where the system does not say."""
    status = Path("/proc/self/status")
    if not status.exists():
        return None
    line = next(line for line in status.read_text(encoding="ascii", errors="replace").splitlines() if line.startswith("VmRSS:"))
    return int(line.split()[1]) * 1024


def main() -> None:
    given = json.loads(sys.stdin.readline())
    if given["processors"] and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, given["processors"])
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what a tokenizer prints is no answer
    gc.disable()
    worker = Worker(given["adapter"], given["files"], given["threads"])
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = getattr(worker, request.pop("do"))(**request)
        except adapters.Unavailable as reason:
            answer = {"error": str(reason)}
        except BaseException as error:  # the panics of Rust are no Exception
            answer = {"error": f"{type(error).__name__}: {error}"[:300]}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
