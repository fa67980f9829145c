"""Windows: a long text that need not be in memory as a whole in, its ids out, found by all cores.

    with open("books.txt", "rb") as file:
        for ids in encode_in_windows(tokenizer, file.readinto): ...

A part is read while all threads encode the one before; what follows it may still change what its end becomes, so that is moved before the next
one (_windows.c, _long.c). Invariant: all that comes out, in order, is what `encode_to_numpy` gives for the text. Memory does not grow with the
text, but with the longest stretch that cannot be cut: some hundred kilobytes, or a piece, or text in which nothing tells where pieces begin (a
gigabyte of digits). A stretch that is longer than a part doubles it, so time stays linear.
Rejected: the file mapped into memory (a page fault for every 64 KB: two thirds of the speed of reading it; and another may write to it, so it
would have to be copied); a stream for each thread (nobody knows where a text may be cut before it was read).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .tokenizer import Tokenizer

__all__ = ["encode_in_windows", "has_windows", "is_long_buffer", "reading"]

PART = 8 << 20  # bytes that are read at a time, at least, and
LONG = 32 << 20  # bytes of a buffer, from which on windows are copied instead of all of it
EACH = 2 << 20  # for each thread: what it has done before it waits for others
BEFORE = 1 << 20  # for what is moved before a part; more of it takes other memory


def has_windows(tokenizer: Tokenizer) -> bool:
    """Whether its texts can be read so: natively, as they are, by a lexer of one stage that drops nothing."""
    from .encoders import Pure

    return not (tokenizer._slow or isinstance(tokenizer._encoder, Pure) or len(tokenizer.lexer.states) > 1 or tokenizer.lexer.drops)


def encode_in_windows(
    tokenizer: Tokenizer, read: Callable[[memoryview], int], *, threads: int = 1, counting: bool = False, part: int = 0, blocks: int = 0,
    **special: Any,
) -> Iterator[Any]:  # fmt: skip
    """The ids of a text, an array for each window; or how many these are. ValueError as of `encode`, when it comes to what is wrong.

    read     puts bytes of the text in memory: how many, and 0 at its end
    part     how many are read at a time, and `blocks` of the lexer how many a thread takes at least; 0: as it is worth it
    special  allowed_special and disallowed_special, as of `encode`
    """
    from concurrent.futures import ThreadPoolExecutor

    encoder: Any = tokenizer._encoder
    allowed, disallowed = tokenizer._policy(special.get("allowed_special"), special.get("disallowed_special"))
    size = part or max(PART, threads * EACH)
    room, other = bytearray(BEFORE + size), bytearray(BEFORE + size)
    start, end = BEFORE, BEFORE + filled(read, memoryview(room)[BEFORE:])
    base, begun = 0, None
    with ThreadPoolExecutor(1) as reading:
        while True:
            more = end == len(room)
            following = reading.submit(filled, read, memoryview(other)[BEFORE:]) if more else None
            found, used, begun = encoder.encode_window(
                memoryview(room)[start:end], allowed, disallowed, threads, blocks, counting, base, more, begun
            )
            yield found
            if following is None:
                return
            length, rest = following.result(), memoryview(room)[start + used : end]
            base += used
            if len(rest) <= BEFORE:
                start, end = BEFORE - len(rest), BEFORE + length
                other[start:BEFORE] = rest
                room, other = other, room
                continue
            joined = bytearray(max(2 * len(rest), len(rest) + len(other) - BEFORE))
            joined[: len(rest)] = rest
            joined[len(rest) : len(rest) + length] = memoryview(other)[BEFORE : BEFORE + length]
            start, end = 0, len(rest) + length
            if length == len(other) - BEFORE:
                end += filled(read, memoryview(joined)[end:])
            room = joined


def is_long_buffer(text: Any) -> bool:
    """Whether a text is bytes that others may write to, such as a file that is mapped into memory, and too many to be copied all at once."""
    try:
        with memoryview(text) as given:
            return given.nbytes >= LONG and given.ndim == given.itemsize == 1 and given.c_contiguous and given.format in {"B", "b", "c"}
    except (TypeError, ValueError, BufferError):  # none, or one that is no text: which it is told elsewhere
        return False


def reading(text: Any) -> Callable[[memoryview], int]:
    """What reads such a buffer."""
    data, done = memoryview(text).cast("B"), 0

    def read(memory: memoryview) -> int:
        nonlocal done
        size = min(len(memory), len(data) - done)
        memory[:size] = data[done : done + size]
        done += size
        return size

    return read


def filled(read: Callable[[memoryview], int], memory: memoryview) -> int:
    """Read until memory is full, or the text ends: how many bytes."""
    at = 0
    while at < len(memory) and (count := read(memory[at:])):
        at += count
    return at
