"""Documents of a source to ids: read, encoded on all cores and handed on in order, some at a time.

    for ids in encode_documents(tokenizer, Source("shard.jsonl"), threads=0):
        ...                                # an array for each document; None: there is no more input at the moment
    for found in encode_batches(tokenizer, Source("shard.jsonl"), threads=0):
        ids, begins = found                # the same of many documents, side by side

While one batch of documents is encoded, which needs no Python, the next one is read. A document too large for a batch is one by
itself, encoded by several threads. A large file that is one text, compressed or not, is read in windows, by all threads (`windows.py`); one that
comes in parts, from a pipe, or is compressed and small, is a stream, by one thread (`encode_in_parts`).
Invariant: what comes out is what `tokenizer.encode_to_numpy` gives for each document, in the order of the source, and memory is that of
two batches, of two windows, or of the largest document that is part of a file. Where a source waits for more input, all that was read has come
out before. Rejected: processes that share a file (they would each need the text, and send back the ids); a queue of many batches (encoding is
faster than reading JSON).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from .inputs import InputError
from .lexers import workers_of
from .windows import PART, encode_in_windows, has_windows

if TYPE_CHECKING:
    from collections.abc import Collection
    from concurrent.futures import Future

    import numpy as np
    import numpy.typing as npt

    from .inputs import Document, Source
    from .token_streams import TokenStream
    from .tokenizer import Tokenizer

    Ids = npt.NDArray[np.uint32]
    Begins = npt.NDArray[np.int64]

__all__ = ["Around", "count_batches", "count_in_parts", "encode_batches", "encode_documents", "encode_in_parts"]

LARGE = 1 << 20  # characters or bytes of a document that is encoded by itself
BATCH = 1 << 22  # of all documents of a batch
MOST = 4096  # documents in one
HOLD = (1 << 30) - 1  # bytes of a text in parts that may be undecided

Result = TypeVar("Result")


class Around(NamedTuple):
    """The ids that are put before and behind each document."""

    before: tuple[int, ...] = ()
    behind: tuple[int, ...] = ()


NOTHING = Around()


def encode_documents(
    tokenizer: Tokenizer, source: Source, *, threads: int = 0, allowed_special: str | Collection[str] | None = None,
    disallowed_special: str | Collection[str] | None = None,
) -> Iterator[Ids | None]:  # fmt: skip
    """The ids of each document."""
    special: Any = {"allowed_special": allowed_special, "disallowed_special": disallowed_special}
    for found in each(
        source, lambda text: tokenizer.encode_to_numpy(text, threads=threads, **special),
        lambda texts: tokenizer.encode_batch_to_numpy(texts, threads=threads, **special),
    ):  # fmt: skip
        yield from (None,) if found is None else found


def encode_batches(
    tokenizer: Tokenizer, source: Source, *, around: Around = NOTHING, threads: int = 0,
    allowed_special: str | Collection[str] | None = None, disallowed_special: str | Collection[str] | None = None,
) -> Iterator[tuple[Ids, Begins] | None]:  # fmt: skip
    """The ids of some documents side by side, those before and behind each among them, and where each begins, with the end of the last."""
    special: Any = {"allowed_special": allowed_special, "disallowed_special": disallowed_special}
    return each(
        source, lambda text: tokenizer.encode_to_numpy(text, threads=threads, **special),
        lambda texts: tokenizer.encode_around(texts, *around, threads=threads, **special),
    )  # fmt: skip


def count_batches(
    tokenizer: Tokenizer, source: Source, *, around: Around = NOTHING, threads: int = 0,
    allowed_special: str | Collection[str] | None = None, disallowed_special: str | Collection[str] | None = None,
) -> Iterator[tuple[int, int] | None]:  # fmt: skip
    """How many documents there are some of, and how many ids these have."""
    special: Any = {"allowed_special": allowed_special, "disallowed_special": disallowed_special}
    more = sum(map(len, around))
    for found in each(
        source, lambda text: tokenizer.count(text, threads=threads, **special),
        lambda texts: tokenizer.count_batch(texts, threads=threads, **special),
    ):  # fmt: skip
        yield None if found is None else (len(found), sum(found) + more * len(found))


def encode_in_parts(
    tokenizer: Tokenizer, source: Source, *, around: Around = NOTHING, threads: int = 0,
    allowed_special: str | Collection[str] | None = None, disallowed_special: str | Collection[str] | None = None,
) -> Iterator[Ids | None] | None:  # fmt: skip
    """The ids of a source that is one text, some at a time, in memory that does not grow with it: where it comes in parts anyway, or is large.
    None for others."""
    import numpy

    special: Any = {"allowed_special": allowed_special, "disallowed_special": disallowed_special}
    found = in_parts(tokenizer, source, threads, False, special)
    return None if found is None else chain([numpy.array(around.before, numpy.uint32)], found, [numpy.array(around.behind, numpy.uint32)])


def count_in_parts(
    tokenizer: Tokenizer, source: Source, *, around: Around = NOTHING, threads: int = 0,
    allowed_special: str | Collection[str] | None = None, disallowed_special: str | Collection[str] | None = None,
) -> Iterator[int | None] | None:  # fmt: skip
    """How many these are."""
    special: Any = {"allowed_special": allowed_special, "disallowed_special": disallowed_special}
    found = in_parts(tokenizer, source, threads, True, special)
    return None if found is None else chain([sum(map(len, around))], found)


def in_parts(tokenizer: Tokenizer, source: Source, threads: int, counting: bool, special: Any) -> Iterator[Any] | None:
    """What a stream of such a source gives, or its windows: ids, or how many they are."""
    if threads < 0:
        return None
    if source.is_long(PART) and has_windows(tokenizer):
        return told_of(source, windows_of(tokenizer, source, workers_of(threads), counting, special))
    if source.comes_in_parts:
        stream = tokenizer.stream(result="numpy", hold=HOLD, **special)
        ids = chain((part if part is None else stream.feed(part) for part in source.parts()), last(stream))
        return told_of(source, (found if found is None else len(found) for found in ids) if counting else ids)
    return None


def last(stream: TokenStream[Ids]) -> Iterator[Ids]:
    yield stream.finish()


def windows_of(tokenizer: Tokenizer, source: Source, threads: int, counting: bool, special: Any) -> Iterator[Any]:
    with source.reader() as read:
        yield from encode_in_windows(tokenizer, read, threads=threads, counting=counting, **special)


def told_of(source: Source, parts: Iterator[Any]) -> Iterator[Any]:
    """The same; what is wrong has the name of the source."""
    try:
        yield from parts
    except InputError:
        raise
    except ValueError as error:
        raise InputError(f"{source.place(0)}: {error}") from None


def batches(source: Source) -> Iterator[list[Document]]:
    """The documents of a source, as many at a time as are worth it, and a large one by itself; none where the source waits."""
    batch: list[Document] = []
    size = 0
    for group in source.groups():
        lengths = [len(document.text) for document in group]
        if group and len(batch) + len(group) < MOST and size + sum(lengths) < BATCH and max(lengths) < LARGE:
            batch += group
            size += sum(lengths)
            continue
        for document in group:
            length = len(document.text)
            if length >= LARGE:
                if batch:
                    yield batch
                yield [document]
                batch, size = [], 0
                continue
            batch.append(document)
            size += length
            if size >= BATCH or len(batch) >= MOST:
                yield batch
                batch, size = [], 0
        if not group:
            if batch:
                yield batch
            yield []
            batch, size = [], 0
    if batch:
        yield batch


def each(source: Source, one: Callable[[Any], Any], many: Callable[[list[Any]], Result]) -> Iterator[Result | None]:
    """What `many` gives for each batch of texts; None where the source waits. Of a batch that it refuses, `one` tells which text is to blame."""
    from concurrent.futures import ThreadPoolExecutor

    def work(batch: list[Document]) -> Result:
        try:
            return many([document.text for document in batch])
        except ValueError:
            for document in batch:
                try:
                    one(document.text)
                except ValueError as error:
                    raise InputError(f"{source.place(document.number)}: {error}") from None
            raise

    if source.form == "text":  # is one document: there is nothing to be read meanwhile, and of small files there may be many
        for batch in batches(source):
            yield work(batch) if batch else None
        return
    working: Future[Result] | None = None
    alone = False
    with ThreadPoolExecutor(1) as reading_goes_on:
        for batch in batches(source):
            if working is not None:
                yield working.result()
                working = None
            if batch and not alone:
                try:
                    working = reading_goes_on.submit(work, batch)
                except RuntimeError:  # the system has no thread left for us
                    alone = True
            if batch and alone:
                yield work(batch)
            elif not batch:
                yield None
        if working is not None:
            yield working.result()
