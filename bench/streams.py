"""Rows about texts that come in parts: the same text whole, and fed to a stream in parts of 64 bytes, 4 KB and 1 MB.

    rows = streams(subject.name, text, of_lexer(subject.lexer()), rounds=9)       # spans and pieces
    rows = streams("cl100k_base", text, of_tokenizer(tokenizer), rounds=9)        # ids, as a list and as an array

What all parts give together is compared with what the whole text gives. Biased against streams of small parts: a part is a call of Python,
and a list or an array of its own, which for 64 bytes take longer than the text does; `bench/special.py` says how long. What is given is let
go of at once, part by part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import bitlex

from .corpora import Text
from .measure import Row, spread, take_turns

WHOLE = "whole"
PARTS = {"64 bytes": 64, "4 KB": 4096, "1 MB": 1 << 20}
VOCABULARIES = ("cl100k", "o200k", "llama3", "qwen3")  # how the names of those files begin that are measured, of a folder of many

Outputs = Mapping[str, tuple[Callable[[bytes], Any], Callable[[], Any]]]  # what a text gives, and how a stream is made that gives it


def of_lexer(lexer: bitlex.Lexer) -> Outputs:
    return {"spans": (lexer.spans, partial(lexer.stream, spans=True)), "split": (lexer.split, lexer.stream)}


def of_tokenizer(tokenizer: bitlex.Tokenizer) -> Outputs:
    ordinary: dict[str, Any] = {"disallowed_special": ()}
    return {
        "list": (partial(tokenizer.encode, **ordinary), partial(tokenizer.stream, **ordinary)),
        "array": (partial(tokenizer.encode_to_numpy, **ordinary), partial(tokenizer.stream, result="numpy", **ordinary)),
    }


def vocabularies(folder: Path) -> list[Path]:
    """The files to measure of a folder that has them, or of its folder vocab."""
    inner = folder / "vocab"
    return sorted(path for path in (inner if inner.is_dir() else folder).iterdir() if path.name.startswith(VOCABULARIES))


def feed(make: Callable[[], Any], parts: Iterable[bytes]) -> None:
    stream = make()
    for part in parts:
        stream.feed(part)
    stream.finish()


def together(make: Callable[[], Any], parts: Iterable[bytes]) -> list[Any]:
    stream = make()
    found = [stream.feed(part) for part in parts]
    return [one for given in (*found, stream.finish()) for one in as_list(given)]


def as_list(given: Any) -> list[Any]:
    return list(given.tolist() if isinstance(given, np.ndarray) else given)


def streams(name: str, text: Text, outputs: Outputs, rounds: int) -> list[Row]:
    rows = []
    for output, (whole, make) in outputs.items():
        wanted = as_list(whole(text.data))
        cut = {title: [text.data[at : at + size] for at in range(0, len(text.data), size)] for title, size in PARTS.items()}
        notes = {title: "" if together(make, parts) == wanted else "differs from the whole text" for title, parts in cut.items()}
        runs = [partial(whole, text.data), *(partial(feed, make, parts) for parts in cut.values())]
        calls = [1, *map(len, cut.values())]
        for engine, number, times in zip((WHOLE, *cut), calls, take_turns(runs, rounds), strict=True):
            note = notes.get(engine, "")
            rows.append(Row("streams", name, text.name, output, engine, "", len(text.data), len(wanted), "", rounds, *spread(times),
                            not note, True, note, calls=number))  # fmt: skip
    return rows
