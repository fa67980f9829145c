"""How fast the lexers split, next to the engines they equal, on the same texts in the same run.

    python -m bench                              cl100k, on the corpora of $BITLEX_DATA or on texts made here
    python -m bench --family o200k --seconds 1

A cell is the median over rounds, in MB of UTF-8 a second, one thread. Engines take turns within a round, so that a change of the
machine's mood hits all of them. A benchmark is also a test: every engine must count the same pieces, or the run stops.
Biased towards us in two ways: texts are in memory, and one lexer is asked for one long text at a time.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import bitlex
from bitlex.generated.python.scan import Machine
from bitlex.generator import compile_family, family
from bitlex.generator.measure import lookahead

Engine = Callable[[], int]
MEGABYTE = 1_000_000


def corpora(limit: int) -> dict[str, str]:
    """Texts by name: the files of $BITLEX_DATA/corpora, or texts made from nothing but this file and the Unicode tables."""
    folder = os.environ.get("BITLEX_DATA")
    if folder:
        files = sorted(Path(folder, "corpora").iterdir())
        return {path.stem: path.read_bytes()[: limit * MEGABYTE].decode("utf-8", "ignore") for path in files}
    code = Path(__file__).read_text(encoding="utf-8")
    words = "".join(c if c.isalpha() or c in " ,." else " " for c in code)
    print("BITLEX_DATA is not set: measuring on texts made here, which are no corpora", file=sys.stderr)
    made = {"words": words, "code": code, "cjk": "".join(chr(0x4E00 + i * 37 % 20_000) + ("。" if i % 9 == 0 else "") for i in range(9_000)),
            "cyrillic": "".join(chr(0x430 + i * 7 % 32) + (" " if i % 6 == 0 else "") for i in range(9_000))}  # fmt: skip
    return {name: text * (limit * MEGABYTE // len(text.encode()) + 1) for name, text in made.items()}


def hard(size: int) -> dict[str, str]:
    """Texts that a lexer with restarts, or one that looks ahead without bound, would be slow on."""
    return {
        "one letter": "a" * size, "spaces": " " * size, "newlines": "\n" * size, "digits": "7" * size,
        "a1 a1": "a1" * (size // 2), "space tab": " \t" * (size // 2), "marks": "\u0301" * (size // 2),
        "中AAAA": "中" + "A" * (size - 3),
    }  # fmt: skip


def worst(name: str) -> str:
    """A text that a lexer cannot decide before its end, found by walking its machine, to be repeated; "" if it looks ahead so far only."""
    program = compile_family(family(name))
    machine = program.stages[0]
    found = lookahead(machine)
    if found.symbols is not None:
        return ""
    return "".join(chr(program.cells.members(cell).ranges[0][0]) for cell in found.again)


def lengths(name: str, longest: int) -> None:
    """Time per byte of the worst text there is for this lexer, by length: flat, if time is linear."""
    again = worst(name) or " "
    why = "found by pumping the machine" if worst(name) else "the machine looks ahead a few characters only, so any text will do"
    print(f"{name}: {again!r} repeated ({why}); nanoseconds a byte, median of 5")
    lexer, pattern = bitlex.lexer(name), family(name).steps[0].regex
    print("| bytes | bitlex | regex |\n| ---: | ---: | ---: |")
    for size in (10**power for power in range(3, 10)):
        if size > longest:
            break
        text = again * (size // len(again.encode()))
        data = text.encode()
        row = [time_per_byte(lambda: lexer.count(data), size)]  # noqa: B023
        if pattern and size <= MEGABYTE:
            import regex

            compiled = regex.compile(pattern, regex.V1)
            row.append(time_per_byte(lambda: sum(1 for _ in compiled.finditer(text + "x")), size))  # noqa: B023
        print(f"| {size:,} | " + " | ".join(f"{cell:.2f}" for cell in row) + " |", flush=True)


def time_per_byte(run: Callable[[], object], size: int) -> float:
    taken = []
    for _ in range(5):
        start = time.perf_counter()
        run()
        taken.append(time.perf_counter() - start)
    return statistics.median(taken) / size * 1e9


def engines(name: str, text: str, slow: bool) -> dict[str, Engine]:
    """What counts the pieces of `text`, by the name of its column."""
    lexer, data = bitlex.lexer(name), text.encode()
    if lexer.tier == "pure":
        print("the native tier is not installed: the first three columns are pure Python", file=sys.stderr)
    found: dict[str, Engine] = {
        "memcpy": lambda: len(bytearray(data)),
        "count bytes": lambda: lexer.count(data),
        "spans bytes": lambda: len(lexer.spans(data)),
        "spans str": lambda: len(lexer.spans(text)),
        "split str": lambda: len(lexer.split(text)),
    }
    if not slow:
        return found
    pure = Machine(**import_module(f"bitlex.generated.python.{lexer.name}").TABLES)
    short = text[: 2 * MEGABYTE]
    found["pure split"] = lambda: len(pure.split(short))
    steps = family(name).steps
    if len(steps) == 1 and steps[0].regex and not lexer.drops:
        try:
            import regex
        except ImportError:
            print("regex is not installed: no column for it", file=sys.stderr)
        else:
            compiled = regex.compile(steps[0].regex, regex.V1)
            found["regex findall"] = lambda: len(compiled.findall(short))
        try:  # Oniguruma, so only where it is the family's own engine: it reads some patterns of tiktoken differently
            if lexer.dialect != "oniguruma":
                return found
            from tokenizers import Regex, pre_tokenizers
        except ImportError:
            print("tokenizers is not installed: no column for it", file=sys.stderr)
        else:
            split = pre_tokenizers.Split(Regex(steps[0].regex), "isolated")
            shorter = text[: MEGABYTE // 4]
            found["tokenizers Split"] = lambda: len(split.pre_tokenize_str(shorter))
    return found


TAKES = {"pure split": 2 * MEGABYTE, "regex findall": 2 * MEGABYTE, "tokenizers Split": MEGABYTE // 4}  # characters, not all of the text


def measure(name: str, texts: dict[str, str], rounds: int, slow: bool) -> list[list[str]]:
    rows: list[list[str]] = []
    for title, text in texts.items():
        chosen = engines(name, text, slow)
        taken: dict[str, list[float]] = {engine: [] for engine in chosen}
        counts: dict[int, set[int]] = {}
        for _ in range(rounds):
            for engine, run in chosen.items():
                start = time.perf_counter()
                pieces = run()
                taken[engine].append(time.perf_counter() - start)
                if engine != "memcpy":
                    counts.setdefault(min(TAKES.get(engine, len(text)), len(text)), set()).add(pieces)
        wrong = [sorted(found) for found in counts.values() if len(found) > 1]
        if wrong:
            raise SystemExit(f"{title}: engines disagree on the number of pieces: {wrong}")
        sizes = {engine: len(text[: TAKES.get(engine, len(text))].encode()) for engine in chosen}
        rows.append([title, *(f"{sizes[engine] / MEGABYTE / statistics.median(taken[engine]):,.1f}" for engine in chosen)])
        if len(rows) == 1:
            rows.insert(0, ["MB/s", *chosen])
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Splitting speed, next to the engines that bitlex equals.")
    parser.add_argument("--family", default="cl100k", help="default: %(default)s")
    parser.add_argument("--rounds", type=int, default=7, help="rounds to take the median of (default: %(default)s)")
    parser.add_argument("--megabytes", type=int, default=10, help="of each corpus, at most (default: %(default)s)")
    parser.add_argument("--hard", type=int, metavar="MB", help="measure adversarial texts of so many MB instead of corpora")
    parser.add_argument("--lengths", action="store_true", help="time per byte of the worst text, from 1 KB to 1 GB")
    options = parser.parse_args()
    if options.lengths:
        return lengths(options.family, 10**9)
    texts = hard(options.hard * MEGABYTE) if options.hard else corpora(options.megabytes)
    print(f"{options.family}, median of {options.rounds}; Python {platform.python_version()}, {platform.machine()}, bitlex {bitlex.__version__}")
    for row in measure(options.family, texts, options.rounds, slow=not options.hard):
        print("| " + " | ".join(row) + " |")
        if row[0] == "MB/s":
            print("| --- |" + " ---: |" * (len(row) - 1))


if __name__ == "__main__":
    main()
