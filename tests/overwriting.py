"""A text that another thread writes to while it is read: of a file in memory, or of a bytearray, nobody can rule that out."""

from __future__ import annotations

import mmap
import random
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy

__all__ = ["overwritten"]


@contextmanager
def overwritten(wells: Sequence[bytes], size: int) -> Iterator[mmap.mmap]:
    """So many bytes, over which one of these texts is written again and again, once and repeated: whole characters, and broken ones.

    numpy writes, which needs no GIL for that: so it goes on while another thread has it.
    """
    pages, done, rng = mmap.mmap(-1, size), threading.Event(), random.Random(size)
    arrays = [numpy.resize(numpy.frombuffer(well, numpy.uint8), size) for well in wells]

    def write() -> None:
        view = numpy.frombuffer(pages, numpy.uint8)
        while not done.is_set():
            place = rng.randrange(size)
            view[place:] = rng.choice(arrays)[: size - place]

    writer = threading.Thread(target=write)
    writer.start()
    try:
        yield pages
    finally:
        done.set()
        writer.join()
