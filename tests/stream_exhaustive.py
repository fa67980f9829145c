"""Every text of up to K characters of a family's alphabet, cut in every way, also inside characters: streams in C against the whole text.

    python -m tests.stream_exhaustive cl100k --k 6       (or: make cuts FAMILY=cl100k K=6)

stream_exhaustive.c says by what reduction, which is tried as well: with --direct each text is cut in each way, one by one. The alphabet has
one character of each column of the machine, the first. More is not needed: once it is decoded, all that bitlex_stream.c and bitlex.c know
of a character is its column, how many bytes it has, and of ASCII, whether it is the same as the next. So there is also, of each number of
bytes, the last character of the column that has most of them, which for ASCII is a second one of a column. A lexer that reads bytes does a
step for each: of it, there is one of each column of a first byte with each of a second. --every has all columns with all numbers of bytes.

Short texts would not come to what streams do with long ones: bitlex_stream.c is compiled with SHORT and RUN, from which on a part is read as
a text of its own and runs are skipped, as small as they can be, and with blocks of eight bytes; `--shipped` leaves all that as it is. With
--vectors each part, however short, is read by vector instructions, and each block in lanes.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from generator import compile_family, family
from generator.alphabet import LENGTHS

sys.path.insert(0, str(Path(__file__).parent))  # so that files here find each other by bare names, as they do under pytest
from compilers import ROOT, C, build

SMALL = {"#define RUN 32 ": "#define RUN 2 ", "#define SHORT 24 ": "#define SHORT 0 ", "#define TABLED 320 ": "#define TABLED 3 ", "#define AHEAD 16 ": "#define AHEAD 2 ",
         "#define LONG_RUN 256 ": "#define LONG_RUN 4 ", "#define LOOK 128 ": "#define LOOK 3 ", "#define TAIL 24 ": "#define TAIL 2 "}
VECTORS = {"#define WALK 16 ": "#define WALK 1 "}


@cache
def symbols(name: str, every: bool = False) -> tuple[str, ...]:
    """The alphabet of a family: UTF-8 in hexadecimal."""
    known = compile_family(family(name))
    cells, starts = known.cells.lookup(), sorted({*known.cells.starts, 0x80, 0x800, 0xE000, 0x10000})
    kinds: dict[tuple[int, tuple[int, ...]], int] = {}
    for point in range(0x110000) if known.continuation else starts:
        if not 0xD800 <= point < 0xE000:
            encoded = chr(point).encode()
            inside = (known.continuation[byte & 0x3F] for byte in encoded[1:]) if known.continuation else ()
            kinds.setdefault((len(encoded), (cells[point], *inside)), point)
    chosen = set(kinds.values()) if every else set({columns[:2]: point for (_, columns), point in reversed(kinds.items())}.values())
    for length in LENGTHS:
        largest = max((known.cells.members(cell) & length for cell in range(known.cells.count)), key=len)
        chosen.add(largest.ranges[-1][1])
    return tuple(chr(point).encode().hex() for point in sorted(chosen))


def program(
    name: str, folder: Path, *, small: bool = True, vectors: bool = False, mistake: tuple[str, str] | None = None, level: str = "-O2"
) -> Path:
    """The program for a family, with changes to the texts of bitlex_stream.c and bitlex.c, each of which must be there once."""
    texts = {one: (C / one).read_text(encoding="utf-8") for one in ("bitlex_stream.c", "bitlex.c")}
    for old, new in [*(SMALL.items() if small else ()), *(VECTORS.items() if vectors else ()), *([mistake] if mistake else ())]:
        assert sum(text.count(old) for text in texts.values()) == 1, old
        texts = {one: text.replace(old, new) for one, text in texts.items()}
    for one, text in texts.items():
        (folder / one).write_text(text, encoding="utf-8")
    sources = [ROOT / "tests/stream_exhaustive.c", *(folder / one for one in texts), *(C / f"{one}.c" for one in ("bitlex_lanes", name))]
    options = [level, f"-I{C}", *([] if vectors else ["-DBITLEX_NO_VECTORS"])]
    apart = [f"-DMACHINE=bitlex_{name}", *(["-DBITLEX_BLOCK=8"] if small else []), *(["-DVECTORS=1"] if vectors else [])]
    return build(folder / f"cuts-{name}", sources, *options, apart=tuple(apart), lanes_from=1 if vectors else 384)


def outcome(program: Path, way: str, length: int, symbols: Sequence[str], jobs: int) -> tuple[dict[str, int], list[str]]:
    """The sums of what `jobs` processes counted, and the differences that they show."""
    commands = [[str(program), way, str(length), str(job), str(jobs), *symbols] for job in range(jobs)]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for command in commands]
    counts: dict[str, int] = {}
    shown = []
    for one in running:
        printed = one.communicate()[0]
        assert one.returncode in (0, 1), one.returncode
        for line in printed.splitlines():
            key, _, value = line.partition(" ")
            if value.isdigit():
                counts[key] = max(counts[key], int(value)) if key == "states" and key in counts else counts.get(key, 0) + int(value)
            else:
                shown.append(line)
    return counts, shown


def ways(symbols: Sequence[str], length: int) -> int:
    """How many ways there are to cut all texts of 1..length symbols between bytes."""
    each = sum(1 << len(symbol) // 2 for symbol in symbols)
    return int(sum(each**count for count in range(1, length + 1))) // 2


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.stream_exhaustive", description="All short texts, cut in every way.")
    parser.add_argument("family", nargs="+")
    parser.add_argument("--k", type=int, default=5, help="longest text, in characters (default 5)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes (default: one for each core)")
    parser.add_argument("--every", action="store_true", help="a character of each column and number of bytes; for K of 4 or so")
    parser.add_argument("--direct", action="store_true", help="each text in each way, one by one; for K of 3 or so")
    parser.add_argument("--shipped", action="store_true", help="bitlex_stream.c as it is")
    parser.add_argument("--vectors", action="store_true", help="by vector instructions, if the processor has them")
    chosen = parser.parse_args()
    differences = 0
    for name in chosen.family:
        with tempfile.TemporaryDirectory() as folder:
            letters, since = symbols(name, chosen.every), time.monotonic()
            built = program(name, Path(folder), small=not chosen.shipped, vectors=chosen.vectors)
            counts, shown = outcome(built, "direct" if chosen.direct else "steps", chosen.k, letters, chosen.jobs)
        told = ", ".join(f"{value:,} {key}" for key, value in counts.items())
        covered = f"{ways(letters, chosen.k):,} ways to cut whole characters"
        print(f"{name}: {len(letters)} characters, 1..{chosen.k}: {told}; {covered}; {time.monotonic() - since:.0f} s", *shown, sep="\n", flush=True)
        differences += counts["differences"]
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
