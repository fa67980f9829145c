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

STEP = 1 << 14  # compressed bytes at a time, so that what becomes of them is not too much


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
    new = COMPRESSED[suffix]
    part = new()
    begun = ended = False  # whether we are inside of a part, and whether one came before
    for chunk in chunks:
        if chunk is None:
            yield None
            continue
        for at in range(0, len(chunk), STEP):
            rest = chunk[at : at + STEP]
            while rest := rest if begun or not ended else rest.lstrip(b"\0"):
                try:
                    content = part.decompress(rest)
                except Exception as error:  # each library has exceptions of its own
                    raise ValueError(f"damaged: {error}") from None
                if content:
                    yield content
                begun, rest = not part.eof, b""
                if part.eof:
                    rest, part, ended = part.unused_data, new(), True
    if begun or not ended:
        raise ValueError("cut short: the end of the compressed data is missing")
