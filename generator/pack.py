"""Program -> Tables: the bytes that a lexer reads, checked for every code point before they leave.

    cell = stage2[(stage1[c >> shift] << shift) + (c & mask)]

Blocks of 2**shift cells that are equal are stored once; every shift is tried and the smallest result kept. State numbers are
stored premultiplied by the length of their row, so that the loop adds a column and loads. Everything is little-endian.
Rejected: tries of three stages (another load for each code point, to save a kilobyte), and look-up by UTF-8 byte (twice the size,
and a str has no UTF-8).
"""

from __future__ import annotations

import sys
from array import array
from dataclasses import dataclass

from . import Program
from .bimachine import Bimachine, Table
from .cells import Partition
from .errors import LimitError
from .split import DROP

__all__ = ["StageTables", "Tables", "pack"]


@dataclass(frozen=True)
class StageTables:
    """One bimachine: `columns` by symbol; `backward_*` by state offset + column; `forward_next` and `output` by state offset + label."""

    columns: bytes
    column_count: int
    label_count: int
    backward_states: int
    forward_states: int
    backward_next: bytes  # uint16, state * column_count
    backward_label: bytes  # uint16
    backward_end: int
    forward_next: bytes  # uint16, state * label_count
    output: bytes  # 0 continue, 1 start, 2 drop


@dataclass(frozen=True)
class Tables:
    """Everything a lexer reads. `wide`: stage1 is uint16 rather than uint8. `drops`: some code points may belong to no piece."""

    name: str
    shift: int
    wide: bool
    stage1: bytes
    stage2: bytes
    cells: int
    stages: tuple[StageTables, ...]
    drops: bool
    continuation: bytes = b""  # the cell of each byte 80..BF inside a code point, for lexers that read bytes (see `bytelevel`)

    @property
    def size(self) -> int:
        """Bytes of all tables."""
        return len(self.stage1) + len(self.stage2) + sum(
            len(s.columns) + len(s.backward_next) + len(s.backward_label) + len(s.forward_next) + len(s.output) for s in self.stages
        )  # fmt: skip


def pack(program: Program) -> Tables:
    """The tables of a program; LimitError if a state offset does not fit in 16 bits."""
    shift, wide, stage1, stage2 = two_stage(program.cells)
    stages = tuple(pack_stage(stage) for stage in program.stages)
    drops = any(DROP in row for row in program.stages[-1].output)
    return Tables(program.name, shift, wide, stage1, stage2, program.cells.count, stages, drops, bytes(program.continuation))


def words(values: list[int]) -> bytes:
    """uint16, little-endian."""
    packed = array("H", values)
    if sys.byteorder == "big":
        packed.byteswap()
    return packed.tobytes()


def offsets(table: Table, width: int) -> bytes:
    if len(table) * width > 1 << 16:
        raise LimitError(f"this lexer has {len(table)} states with rows of {width}, which does not fit tables of 65,536 entries")
    return words([next * width for row in table for next in row])


def pack_stage(stage: Bimachine) -> StageTables:
    columns, labels = len(stage.backward[0]), len(stage.forward[0])
    return StageTables(
        bytes(stage.columns), columns, labels, len(stage.backward), len(stage.forward),
        offsets(stage.backward, columns), words([label for row in stage.labels for label in row]), 0,
        offsets(stage.forward, labels), bytes(letter for row in stage.output for letter in row),
    )  # fmt: skip


def two_stage(cells: Partition) -> tuple[int, bool, bytes, bytes]:
    """(shift, wide, stage1, stage2) of the smallest two-stage table, compared with the partition for every code point."""
    lookup = bytes(cells.lookup())
    best: tuple[int, bool, bytes, bytes] | None = None
    for shift in range(6, 11):  # the vector tiers look up rows of 64 code points
        numbers: dict[bytes, int] = {}
        index: list[int] = []
        changing = sorted({start >> shift for start in cells.starts} | {len(lookup) >> shift})  # between two of these blocks all are alike
        for block, behind in zip(changing, changing[1:], strict=False):
            for at, times in ((block, 1), (block + 1, behind - block - 1)):
                if times:
                    index += [numbers.setdefault(lookup[at << shift : (at + 1) << shift], len(numbers))] * times
        wide = len(numbers) > 256
        found = shift, wide, words(index) if wide else bytes(index), b"".join(numbers)
        if best is None or len(found[2]) + len(found[3]) < len(best[2]) + len(best[3]):
            best = found
    assert best is not None
    shift, wide, stage1, stage2 = best
    blocks = [low | high << 8 for low, high in zip(stage1[::2], stage1[1::2], strict=True)] if wide else stage1
    rows = [stage2[at : at + (1 << shift)] for at in range(0, len(stage2), 1 << shift)]
    if b"".join([rows[block] for block in blocks]) != lookup:
        raise AssertionError("the packed cell table differs from the partition")
    return best
