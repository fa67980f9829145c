"""All texts of 1..K characters out of a family's alphabet: the reference expression in PCRE2 against the emitted C, at C speed.

    python -m tests.exhaustive cl100k --k 6       (or: make exhaustive FAMILY=cl100k K=6)

exhaustive.c says what is compared with what. This file chooses the alphabet, spells the expression, compiles and runs the program,
and first checks the referee: PCRE2's answers for up to four characters against those of the `regex` module, and for up to three
against PCRE2's own with every set in full; in all the others a set is cut down to the alphabet, or PCRE2 would walk hundreds of
ranges for each character. Only for families of one step that keeps or drops whole matches: `refusal` names what is left out.
Rejected: Python's engines as referee for six characters (a day, not minutes); PCRE2's own \\p{L} and (?i) (another Unicode version).
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import os
import platform
import re
import shutil
import subprocess
import sys
from array import array
from dataclasses import dataclass
from math import gcd
from pathlib import Path
from typing import TypeAlias

from generator import Program, compile_family, family
from generator.alphabet import ALPHABET, SURROGATES, alphabet, texts
from generator.codeset import ALL, CodeSet
from generator.pack import Tables, pack
from generator.spell import spell

ROOT = Path(__file__).resolve().parent.parent
CHECKED = 5_000_000  # texts; PCRE2 and the module are compared on so many at most
INSTALL = "on Debian and Ubuntu: sudo apt install {}; on Fedora: sudo dnf install {}; on macOS: {}"


class Missing(Exception):
    """What must be installed first."""


# --- the job --------------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Job:
    """A program to try, with the C file of its tables, on texts of up to `length` characters of `points`."""

    program: Program
    points: tuple[int, ...]
    length: int
    folder: Path
    tables: Path

    def text(self, universe: CodeSet | None = None, length: int | None = None) -> str:
        """What exhaustive.c reads."""
        plan = self.program.plans[0]
        spelled = spell(plan.tree, universe or CodeSet((c, c) for c in self.points))
        return "".join(
            f"{key} {value}\n"
            for key, value in {
                "length": length or self.length,
                "pattern": re.sub(r"\\U([0-9A-F]{8})", r"\\x{\1}", spelled),
                "matches": "drop" if plan.behavior == "removed" and not plan.invert else "keep",
                "gaps": "drop" if plan.behavior == "removed" and plan.invert else "keep",
                "points": " ".join(map(str, self.points)),
            }.items()
        )

    @property
    def sources(self) -> list[Path]:
        return [ROOT / "tests/exhaustive.c", ROOT / "generated/c/bitlex.c", self.tables]

    def digest(self) -> str:
        """Of everything that the outcome depends on but PCRE2, whose version the program adds."""
        parts = [self.text().encode(), *(path.read_bytes() for path in (*self.sources, *sorted((ROOT / "generated/c").glob("bitlex*.h"))))]
        return hashlib.sha256(b"".join(parts)).hexdigest()


def make_job(program: Program, size: int, length: int, folder: Path, tables: Path | None = None) -> Job:
    if reason := refusal(program):
        raise ValueError(f"{program.name}: {reason}")
    points = tuple(alphabet(program.raw, size))
    place = folder / f"{program.name}-{len(points)}-{length}"
    place.mkdir(parents=True, exist_ok=True)
    return Job(program, points, length, place, tables or ROOT / f"generated/c/{program.name}.c")


def refusal(program: Program) -> str | None:
    """Why a program is not tried here (other tests try all of them, on fewer texts)."""
    plan = program.plans[0]
    if len(program.plans) > 1:
        return f"{len(program.plans)} steps, and the PCRE2 side here is one expression"
    if plan.behavior not in ("isolated", "removed"):
        return f"behavior {plan.behavior} is not written in exhaustive.c"
    return "a space is added to the text, and the PCRE2 side here adds none" if plan.prefix or plan.bytewise else None


# --- the program ----------------------------------------------------------------------------------------------------------------------


def build(job: Job) -> Path:
    """exhaustive.c with the job's tables, compiled; Missing if there is no compiler or no PCRE2."""
    compiler = shutil.which(os.environ.get("CC", "cc")) or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        raise Missing("there is no C compiler; " + INSTALL.format("gcc", "gcc", "xcode-select --install"))
    config = shutil.which("pcre2-config")
    flags = "-lpcre2-8"
    if config:
        flags = subprocess.run([config, "--cflags", "--libs8"], check=True, capture_output=True, text=True).stdout
    program = job.folder / "exhaustive"
    command = [compiler, "-std=c99", "-O3", "-Wall", "-Wextra", "-Wpedantic", f"-I{ROOT / 'generated/c'}"]
    command += [f"-DMACHINE=bitlex_{job.program.name}", *map(str, job.sources), "-pthread", *flags.split(), "-o", str(program)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode != 0 and "pcre2" in done.stderr and config is None:
        raise Missing("PCRE2 is not installed; " + INSTALL.format("libpcre2-dev", "pcre2-devel", "brew install pcre2"))
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    return program


def start(job: Job, program: Path, jobs: int) -> subprocess.Popen[str]:
    """The program at work; what it prints is for `outcome`."""
    (job.folder / "job").write_text(f"digest {job.digest()}\n{job.text()}")
    command = [str(program), str(job.folder / "job"), str(job.folder / "state"), str(jobs)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


@dataclass(frozen=True)
class Outcome:
    texts: int
    differences: int
    seconds: float  # of one core
    digest: str
    engine: str
    shown: list[str]  # some of the differences


def outcome(running: subprocess.Popen[str]) -> Outcome:
    printed, _ = running.communicate()
    if running.returncode != 0:
        raise RuntimeError(f"exhaustive.c stopped with code {running.returncode}")
    lines = [line.partition(" ")[::2] for line in printed.splitlines()]
    found = dict(lines)
    shown = [value for key, value in lines if key == "difference"]
    numbers = int(found["texts"]), int(found["differences"]), float(found["seconds"])
    return Outcome(*numbers, found["digest"], found["engine"], shown)


# --- the referee ----------------------------------------------------------------------------------------------------------------------

Masks: TypeAlias = "array[int]"  # starts and drops of each text in turn


def masks_by_pcre2(job: Job, program: Path, length: int, universe: CodeSet | None = None) -> Masks:
    path = job.folder / "referee"
    path.write_text("digest none\n" + job.text(universe, length))
    return array("H", subprocess.run([str(program), str(path)], check=True, stdout=subprocess.PIPE).stdout)


def check_referee(job: Job, program: Path) -> str:
    """Compare PCRE2 with the `regex` module; how much was compared, in words. AssertionError with a text on which they differ."""
    if importlib.util.find_spec("regex") is None:
        raise Missing("the regex module is not installed: pip install -e '.[dev]'")
    from generator.backtracking import Module

    module = Module(job.program.plans, CodeSet((c, c) for c in job.points))
    short, full = min(job.length, 4), min(job.length, 3)
    masks = masks_by_pcre2(job, program, short)
    assert masks_by_pcre2(job, program, full, ALL - SURROGATES) == masks[: 2 * count(job, full)], "a set cut down is another set"
    each = -(-count(job, short) // CHECKED)
    while gcd(each, len(job.points)) > 1:  # or some characters would never stand last
        each += 1
    tried = 0
    for number, text in enumerate(texts([chr(point) for point in job.points], short)):
        if number % each:
            continue
        starts, covered = 0, 0
        for first, end in module(text):
            starts |= 1 << first
            covered |= (1 << end) - (1 << first)
        wanted = starts, (1 << len(text)) - 1 - covered
        found = masks[2 * number], masks[2 * number + 1]
        assert found == wanted, f"PCRE2 and the regex module differ on {text!a}: starts and drops are {found} and {wanted}"
        tried += 1
    which = "all" if each == 1 else f"one in {each}, that is"
    return f"PCRE2 equals the regex module on {which} {tried:,} texts of up to {short} characters"


def count(job: Job, length: int) -> int:
    return sum(len(job.points) ** size for size in range(1, length + 1))


# --- the published table --------------------------------------------------------------------------------------------------------------

PAGE = ROOT / "docs/exhaustive.md"
BEGIN, END = "<!-- table: written by tests/exhaustive.py -->\n", "<!-- end of table -->\n"
COLUMNS = ("family", "characters", "length", "texts", "differences", "seconds", "digest", "tables", "PCRE2", "processor")


def row(job: Job, found: Outcome) -> list[str]:
    return [
        job.program.name, str(len(job.points)), f"1..{job.length}", f"{found.texts:,}", str(found.differences), f"{found.seconds:,.0f}",
        f"`{found.digest}`", f"`{fingerprint(pack(job.program))}`", found.engine.removeprefix("PCRE2 "), processor(),
    ]  # fmt: skip


def fingerprint(tables: Tables) -> str:
    """Of the numbers in the tables, whatever the comments around them."""
    return hashlib.sha256(repr(tables).encode()).hexdigest()[:12]


def processor() -> str:
    info = Path("/proc/cpuinfo")
    found = re.search(r"^model name\s*: (.*)", info.read_text() if info.exists() else "", re.MULTILINE)
    return found[1].strip() if found else platform.processor() or platform.machine()


def publish(new: list[str], page: Path = PAGE) -> str:
    """Put a row into the table, in place of one for the same family and number of characters; what was done, in words.

    A row stands against a run on shorter texts, unless that was of other tables.
    """
    before, table, after = re.split(f"{re.escape(BEGIN)}|{re.escape(END)}", page.read_text(encoding="utf-8"))
    listed = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines()[2:]]
    rows = {(cells[0], cells[1]): cells for cells in listed}
    old = rows.get((new[0], new[1]))
    if old and old[7] == new[7] and int(old[2].removeprefix("1..")) > int(new[2].removeprefix("1..")):
        return f"{page.name} keeps the row of a longer run: {old[2]}"
    rows[new[0], new[1]] = new
    lines = [list(COLUMNS), ["---"] * len(COLUMNS), *(rows[key] for key in sorted(rows, key=lambda key: (key[0], int(key[1]))))]
    written = "".join(f"| {' | '.join(cells)} |\n" for cells in lines)
    page.write_text(f"{before}{BEGIN}{written}{END}{after}", encoding="utf-8")
    return f"written to {page.name}"


# --- the command ----------------------------------------------------------------------------------------------------------------------


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.exhaustive", description="All short texts: PCRE2 against the emitted C.")
    parser.add_argument("family", nargs="+")
    parser.add_argument("--k", type=int, default=5, help="longest text, in characters (default 5)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="threads (default: one for each core)")
    parser.add_argument("--alphabet", type=int, default=ALPHABET, help=f"characters, at least one for each cell (default {ALPHABET})")
    parser.add_argument("--folder", type=Path, default=ROOT / "build/exhaustive", help="for the state of a run (default build/exhaustive)")
    parser.add_argument("--fresh", action="store_true", help="begin again; otherwise a run that was stopped goes on")
    parser.add_argument("--publish", action="store_true", help="write the outcome to docs/exhaustive.md")
    try:
        chosen = parser.parse_args()
        return max([run(name, chosen) for name in chosen.family])
    except (ValueError, Missing) as error:
        print(f"exhaustive: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\nexhaustive: stopped; the same command goes on from here", file=sys.stderr)
        return 130


def run(name: str, chosen: argparse.Namespace) -> int:
    job = make_job(compile_family(family(name)), chosen.alphabet, chosen.k, chosen.folder)
    program = build(job)
    if chosen.fresh:
        (job.folder / "state").unlink(missing_ok=True)
    print(f"{job.program.name}: {len(job.points)} characters, {count(job, job.length):,} texts of 1..{job.length}", flush=True)
    print(check_referee(job, program), flush=True)
    found = outcome(start(job, program, chosen.jobs))
    for line in found.shown:
        print("differs:", line)
    cells = row(job, found)
    print(", ".join(f"{name} {cell}" for name, cell in zip(COLUMNS, cells, strict=True)), flush=True)
    if chosen.publish:
        print(publish(cells))
    return 1 if found.differences else 0


if __name__ == "__main__":
    sys.exit(main())
