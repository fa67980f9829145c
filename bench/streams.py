"""Rows about texts that come in parts: the same text whole, and fed to a stream in parts of 64 bytes, 4 KB and 1 MB.

    rows = streams(subject.name, text, of_lexer(subject.lexer()), rounds=9)       # spans and pieces, in Python
    rows = streams(subject.name, text, of_c(subject.name), rounds=9)              # ends into a buffer, in C
    rows = streams("cl100k_base", text, of_tokenizer(tokenizer), rounds=9)        # ids, as a list and as an array

What all parts give together is compared with what the whole text gives. Biased against streams of small parts in Python: a part is a call,
and a list or an array of its own, which for 64 bytes take longer than the text does; `bench/special.py` says how long. What is given is let
go of at once, part by part. Outputs that are put *into* an array of the caller's have one for all parts, of which nothing is made but its
number; whole, ids are put there too, and offsets, which cannot be, in an array of their own. And there is one more row, of parts of 64 bytes
of which 64 are joined and fed at once, as a program may do that finds several of them waiting; joining is in its time. In C, nothing is made
for a part: so it is C that hard texts are read in.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import bitlex
from bitlex import generated

from .corpora import Text
from .measure import Row, spread, take_turns
from .native import Unavailable, library

STREAMS, HARD_STREAMS = "streams", "streams of hard texts"  # parts of a result
WHOLE = "whole"
PARTS = {"64 bytes": 64, "4 KB": 4096, "1 MB": 1 << 20}
SLACK = 1 << 16  # ids for which there is room besides: then none is found elsewhere first
JOINED, AT_ONCE = "64 bytes, 64 at once", 64
VOCABULARIES = ("cl100k", "o200k", "llama3", "qwen3")  # how the names of those files begin that are measured, of a folder of many

Run = tuple[Callable[[], Any], Callable[[], list[Any]], int]  # what is timed; what comes out, as a list; how many calls it makes
Output = Callable[[bytes], dict[str, Run]]  # a text -> the runs of it, the whole first
Outputs = Mapping[str, Output]


def of_lexer(lexer: bitlex.Lexer) -> Outputs:
    return {
        "spans": in_python(lexer.spans, partial(lexer.stream, spans=True)),
        "spans into": in_array(lambda text, _: lexer.spans(text), lambda array: lexer.stream(spans=True, into=array), np.int64, 1 + lexer.drops),
        "split": in_python(lexer.split, lexer.stream),
    }


def of_tokenizer(tokenizer: bitlex.Tokenizer) -> Outputs:
    ordinary: dict[str, Any] = {"disallowed_special": ()}
    return {
        "list": in_python(partial(tokenizer.encode, **ordinary), partial(tokenizer.stream, **ordinary)),
        "array": in_python(partial(tokenizer.encode_to_numpy, **ordinary), partial(tokenizer.stream, result="numpy", **ordinary)),
        "array into": in_array(
            lambda text, array: array[: tokenizer.encode_into(text, array, **ordinary)],
            lambda array: tokenizer.stream(into=array, **ordinary), np.uint32,
        ),
    }  # fmt: skip


def of_c(family: str) -> Outputs:
    """Of a family of the catalogue: Unavailable without a compiler, or where there is no stream in C."""
    folder = Path(str(generated.__file__)).parent / "c"
    sources = [str(folder / f"{name}.c") for name in ("bitlex", "bitlex_lanes", "bitlex_stream", family) if (folder / f"{name}.c").exists()]
    loaded = library("parts.c", f"-I{folder}", *sources)
    loaded.parts_open.restype = loaded.parts_read.restype = ctypes.c_void_p
    opened = loaded.parts_open(ctypes.byref(ctypes.c_char.in_dll(loaded, f"bitlex_{family}")))
    if opened is None:
        raise Unavailable(f"streams in C, {family}: it has none")
    function = loaded.parts_read
    function.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_size_t]
    function.restype = ctypes.c_size_t
    each = 2 if loaded.parts_drops(ctypes.c_void_p(opened)) else 1

    def output(text: bytes) -> dict[str, Run]:
        room = len(text) + 64
        buffer = np.ones(room * each, np.uint64)  # written to before anything is timed
        at = buffer.ctypes.data
        runs = {title: partial(function, opened, text, len(text), size, at, room) for title, size in {WHOLE: 0, **PARTS}.items()}
        return {title: (run, partial(stored, run, buffer, each), 1) for title, run in runs.items()}

    return {"ends in C": output}


def stored(run: Callable[[], int], buffer: Any, each: int) -> list[Any]:
    found: list[Any] = buffer[: run() * each].tolist()
    return found


def in_python(whole: Callable[[bytes], Any], make: Callable[[], Any], array: Any = None) -> Output:
    """What a text gives, and how a stream is made that gives it, or puts it in an array -> an output."""

    def output(text: bytes) -> dict[str, Run]:
        runs: dict[str, Run] = {WHOLE: (partial(at_once, whole, text), lambda: as_list(whole(text)), 1)}
        for title, size in PARTS.items():
            parts = [text[at : at + size] for at in range(0, len(text), size)]
            runs[title] = (partial(feed, make, parts), partial(together, make, parts, array), len(parts))
        small = [text[at : at + 64] for at in range(0, len(text), 64)]
        runs[JOINED] = (lambda: feed(make, joined(small)), lambda: together(make, joined(small), array), -(-len(small) // AT_ONCE))
        return runs

    return output


def in_array(whole: Callable[[bytes, Any], Any], make: Callable[[Any], Any], kind: Any, columns: int = 1) -> Output:
    """The same of what is put in an array, which both are given: it has room for all that the text gives, and all is written to before."""

    def output(text: bytes) -> dict[str, Run]:
        array = np.ones((len(text) + SLACK, columns) if columns > 1 else len(text) + SLACK, kind)
        return in_python(lambda text: whole(text, array), lambda: make(array), array)(text)

    return output


def joined(parts: Sequence[bytes]) -> Iterator[bytes]:
    return (b"".join(parts[at : at + AT_ONCE]) for at in range(0, len(parts), AT_ONCE))


def vocabularies(folder: Path) -> list[Path]:
    """The files to measure of a folder that has them, or of its folder vocab."""
    inner = folder / "vocab"
    return sorted(path for path in (inner if inner.is_dir() else folder).iterdir() if path.name.startswith(VOCABULARIES))


def at_once(whole: Callable[[bytes], Any], text: bytes) -> None:
    """What comes out is given up here, while it is timed, as that of parts is: a list of ids takes a tenth as long to go as to come."""
    whole(text)


def feed(make: Callable[[], Any], parts: Iterable[bytes]) -> None:
    stream = make()
    for part in parts:
        stream.feed(part)
    stream.finish()


def together(make: Callable[[], Any], parts: Iterable[bytes], array: Any = None) -> list[Any]:
    stream = make()
    if array is not None:
        return [one for count in stream.iterate(parts) for one in array[:count].tolist()]
    found = [stream.feed(part) for part in parts]
    return [one for given in (*found, stream.finish()) for one in as_list(given)]


def as_list(given: Any) -> list[Any]:
    return list(given.tolist() if isinstance(given, np.ndarray) else given)


def streams(name: str, text: Text, outputs: Outputs, rounds: int, part: str = STREAMS) -> list[Row]:
    rows = []
    for title, output in outputs.items():
        runs = output(text.data)
        wanted = runs[WHOLE][1]()
        notes = {engine: "" if found() == wanted else "differs from the whole text" for engine, (_, found, _) in runs.items()}
        times = take_turns([run for run, _, _ in runs.values()], rounds)
        for (engine, (_, _, calls)), taken in zip(runs.items(), times, strict=True):
            rows.append(Row(part, name, text.name, title, engine, "", len(text.data), len(wanted), "", rounds, *spread(taken),
                            not notes[engine], True, notes[engine], calls=calls))  # fmt: skip
    return rows
