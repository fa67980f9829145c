"""What to learn from: texts, files, or both, in; batches of texts out, some megabytes at a time, and how far they are.

    for batch in batches("one text"): ...
    for batch in batches([Path("shards/**/*.jsonl.gz"), "and a text"], field="content"): ...

A str or anything bytes-like is a text. A path (os.PathLike) is a file, or a glob of files, read as inputs.py says. An iterable has such
things, one after the other. Invariant: texts keep their order, and none is cut; no more than one batch, or one text, is held at a
time. Rejected: a str as a path (a short text would be one, too).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from mmap import mmap
from typing import Any, NamedTuple

from ..inputs import Found, Source, find

__all__ = ["Batch", "batches", "files_of"]

BATCH = 1 << 22  # bytes or characters of a batch
MOST = 4096  # texts in one


class Batch(NamedTuple):
    """Some texts, and how many bytes of files lie behind, of how many; 0 where that is not known. `mapped`: they are maps of files."""

    texts: list[Any]
    position: int = 0
    total: int = 0
    mapped: bool = False


def batches(source: Any, *, input: str | None = None, field: str = "text") -> Iterator[Batch]:
    """The texts of a source."""
    if isinstance(source, str) or is_bytes(source):
        yield Batch([source])
        return
    if isinstance(source, os.PathLike):
        source = [source]
    elif not isinstance(source, Iterable):
        raise TypeError(f"expected a text, a path, or an iterable of these, got {type(source).__name__}")
    texts: list[Any] = []
    size = 0
    for one in source:
        if isinstance(one, os.PathLike):
            if texts:
                yield Batch(texts)
                texts, size = [], 0
            yield from of_files(find([os.fspath(one)]), input, field)
            continue
        if not isinstance(one, str) and not is_bytes(one):
            raise TypeError(f"expected texts or paths, got {type(one).__name__}")
        texts.append(one)
        size += len(one)
        if size >= BATCH or len(texts) >= MOST:
            yield Batch(texts)
            texts, size = [], 0
    if texts:
        yield Batch(texts)


def is_bytes(source: Any) -> bool:
    try:
        memoryview(source)
    except TypeError:
        return False
    return True


def files_of(source: Any) -> list[str]:
    """The files of a source that names any, or that is a list of what may."""
    listed = source if isinstance(source, (list, tuple)) else [source]
    return [found.path for one in listed if isinstance(one, os.PathLike) for found in find([os.fspath(one)])]


def of_files(found: Iterable[Found], input: str | None, field: str) -> Iterator[Batch]:
    sources = [Source(one.path, input, field) for one in found]
    total, before = sum(source.size for source in sources), 0
    for source in sources:
        texts: list[Any] = []
        size = 0
        for document in source.documents():
            if document is None:
                continue
            if isinstance(document.text, memoryview) and isinstance(document.text.obj, mmap):
                yield Batch([document.text], before + source.position, total, mapped=True)
                continue
            texts.append(document.text)
            size += len(document.text)
            if size >= BATCH or len(texts) >= MOST:
                yield Batch(texts, before + source.position, total)
                texts, size = [], 0
        before += source.size
        if texts:
            yield Batch(texts, before, total)
