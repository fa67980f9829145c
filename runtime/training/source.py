"""What to learn from: texts, files, or both, in; batches of texts out, some megabytes at a time, and how far they are.

    for batch in batches("one text"): ...
    for batch in batches([Path("shards/**/*.jsonl.gz"), "and a text"], field="content"): ...

A str or anything bytes-like is a text. A path (os.PathLike) is a file, or a glob of files, read as inputs.py says; one that `count_pieces`
wrote has pieces that were counted before. An iterable has such things, one after the other. Files can be read again from a Place on.
Invariant: texts keep their order, and none is cut; no more than one batch, or one text, is held at a time. Rejected: a str as a path (a
short text would be one, too).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from mmap import mmap
from typing import Any, NamedTuple

from ..arrow import rows
from ..inputs import STANDARD_INPUT, Found, Source, find
from ..lexers import is_one, readable
from .checkpoint import Checkpoint, begins_as_checkpoint, is_checkpoint, read

__all__ = ["Batch", "Place", "batches", "named", "origin_of"]

BATCH = 1 << 22  # bytes or characters of a batch
MOST = 4096  # texts in one


class Place(NamedTuple):
    """Where something begins: in which of all files, behind how many of its documents, and how far in the next one, if that is mapped."""

    file: int = 0
    document: int = 0
    offset: int = 0


class Batch(NamedTuple):
    """Some texts, how many bytes of files lie before them, of how many (0 where that is not known), and where they begin and end.

    `mapped`: it is one, which is a map of a file. `counted`: there are none, but the pieces of some, and this is the file that has them.
    """

    texts: list[Any]
    position: int = 0
    total: int = 0
    mapped: bool = False
    here: Place = Place()
    next: Place = Place()
    counted: Checkpoint | None = None
    path: str = ""


def batches(source: Any, *, input: str | None = None, field: str = "text", start: Place | None = None) -> Iterator[Batch]:
    """The texts of a source; of files, those from a place on."""
    if is_one(source):
        yield Batch([readable(source)])
        return
    files = paths_of(source)
    if files is not None:
        yield from of_files(find(files), input, field, start or Place())
        return
    if not isinstance(source, Iterable):
        raise TypeError(f"expected a text, a path, or an iterable of these, got {type(source).__name__}")
    texts: list[Any] = []
    size = 0
    for one in rows(source):
        if isinstance(one, os.PathLike):
            if texts:
                yield Batch(texts)
                texts, size = [], 0
            yield from of_files(find([os.fspath(one)]), input, field, Place())
            continue
        if not is_one(one):
            raise TypeError(f"expected texts or paths, got {type(one).__name__}")
        texts.append(readable(one))
        size += len(texts[-1])
        if size >= BATCH or len(texts) >= MOST:
            yield Batch(texts)
            texts, size = [], 0
    if texts:
        yield Batch(texts)


def paths_of(source: Any) -> list[str] | None:
    """A path, or a list of nothing but paths; None for anything else."""
    listed = source if isinstance(source, (list, tuple)) else [source]
    return [os.fspath(one) for one in listed] if all(isinstance(one, os.PathLike) for one in listed) else None


def named(source: Any) -> list[str]:
    """The files that a source names, as far as that is known before it is read."""
    listed = source if isinstance(source, (list, tuple)) else [source]
    return [one.path for one in find([os.fspath(one) for one in listed if isinstance(one, os.PathLike)])]


def origin_of(source: Any, input: str | None, field: str) -> dict[str, Any] | None:
    """The files of a source that can be read again, with their sizes and when they were changed, and how; None if it is something else."""
    paths = paths_of(source)
    found = [one.path for one in find(paths)] if paths is not None else []
    if not found or not all(path != STANDARD_INPUT and os.path.isfile(path) for path in found):
        return None
    files = [(path, os.stat(path).st_size, os.stat(path).st_mtime_ns) for path in found]
    return {"files": files, "input": input, "field": field}


def of_files(found: Iterable[Found], input: str | None, field: str, start: Place) -> Iterator[Batch]:
    sources = [Source(one.path, input, field) for one in found]
    total, before = sum(source.size for source in sources), 0
    for number, source in enumerate(sources):
        if number >= start.file:
            here = start if number == start.file else Place(number)
            if input is None and source.path != STANDARD_INPUT and is_checkpoint(source.path):
                yield Batch([], before + source.size, total, False, here, Place(number + 1), read(source.path), source.path)
            else:
                for batch in of_file(source, here, before, total):
                    if input is None and source.form == "text" and begins_as_checkpoint(batch.texts[0]):
                        raise source.error(0, "counted pieces are read from a file, as it was written: not from a pipe, nor compressed")
                    yield batch
        before += source.size


def of_file(source: Source, here: Place, before: int, total: int) -> Iterator[Batch]:
    """The batches of a file, from a place in it on."""
    texts: list[Any] = []
    size = 0
    counted = here.document
    for number, document in enumerate(document for document in source.documents() if document is not None):
        if number < counted:
            continue
        if isinstance(document.text, memoryview) and isinstance(document.text.obj, mmap):
            yield Batch([document.text], before, total, True, here, Place(here.file + 1))
            return
        texts.append(document.text)
        size += len(document.text)
        if size >= BATCH or len(texts) >= MOST:
            yield Batch(texts, before + source.position, total, False, here, Place(here.file, number + 1))
            texts, size, here = [], 0, Place(here.file, number + 1)
    if texts:
        yield Batch(texts, before + source.size, total, False, here, Place(here.file + 1))
