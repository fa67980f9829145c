"""Decompression: chunks of a compressed file in, chunks of its content out, in memory that does not grow with either.

    b"".join(decompressed(".gz", [data]))

A file may be several compressed ones, one behind the other, as gzip, xz and zstd themselves take it. Invariant: a file that is damaged
or cut short is a ValueError, and so is what follows it that is no compressed data (but zeros, with which tapes and xz pad a file). A
chunk that is None is passed on. Rejected: the readers of files that the libraries have (that of zstandard ends quietly where a file was
cut short).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

__all__ = ["COMPRESSED", "decompressed"]

STEP = 1 << 14  # compressed bytes at a time, so that what becomes of them is not too much: 17 MB with gzip
STEP_ZST = 1 << 10  # 32 MB, as four bytes may stand for 128 KB; with fewer, all of .zst is slower
LARGEST = 1 << 24  # bytes of content at a time, of bzip2 and xz; forty bytes of bzip2 may stand for 46 MB


def gzip() -> Any:
    import zlib

    return zlib.decompressobj(wbits=31)


def bzip2() -> Any:
    import bz2

    return bz2.BZ2Decompressor()


def xz() -> Any:
    import lzma

    return lzma.LZMADecompressor(lzma.FORMAT_XZ)


def zstd() -> Any:
    try:
        import zstandard
    except ImportError:
        raise ValueError(".zst needs zstandard: pip install 'bitlex[files]'") from None
    return zstandard.ZstdDecompressor(max_window_size=1 << 31).decompressobj()


COMPRESSED: dict[str, Callable[[], Any]] = {".gz": gzip, ".bz2": bzip2, ".xz": xz, ".zst": zstd}


def decompressed(suffix: str, chunks: Iterable[bytes | None]) -> Iterator[bytes | None]:
    """The content of a file whose name ends so."""
    new, step = COMPRESSED[suffix], STEP_ZST if suffix == ".zst" else STEP
    try:
        part = new()
    except ImportError as error:
        raise ValueError(f"{suffix} needs the module {error.name}, which this Python was built without; decompress it first") from None
    begun = ended = False  # whether we are inside of a part, and whether one came before
    for chunk in chunks:
        if chunk is None:
            yield None
            continue
        for at in range(0, len(chunk), step):
            rest = chunk[at : at + step]
            while rest := rest if begun or not ended else rest.lstrip(b"\0"):
                try:
                    yield from filter(None, contents(part, rest))
                except Exception as error:  # each library has exceptions of its own
                    raise ValueError(f"damaged: {error}") from None
                begun, rest = not part.eof, b""
                if part.eof:
                    rest, part, ended = part.unused_data, new(), True
    if begun or not ended:
        raise ValueError("cut short: the end of the compressed data is missing")


def contents(part: Any, data: bytes) -> Iterator[bytes]:
    """What these bytes become, some at a time where the library can do that."""
    if not hasattr(part, "needs_input"):
        yield part.decompress(data)
        return
    yield part.decompress(data, LARGEST)
    while not (part.eof or part.needs_input):
        yield part.decompress(b"", LARGEST)
