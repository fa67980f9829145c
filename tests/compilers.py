"""C programs of tests: built with the compiler that is there, and run.

    program = build(folder / "harness", [ROOT / "tests/bpe_harness.c"], "-O1", needs=ADDRESS)
    assert "no difference" in run(program, "600")

In: sources, options, and what the program needs of compiler, linker and kernel (`needs`: options, too). Out: the program, or a skip that
says what is missing. Invariant: only a program of one empty function decides what is missing, built and run with `needs`; so a mistake in
our own sources is always a failure. An object is compiled once in a run of pytest, for all programs for which a source is the same after the
preprocessor and the other options are the same: half of a program's sources are, whatever the sizes that are defined for others. Options
that all but bitlex_lanes.c have are `apart`: blocks of another size would be another lanes, which takes longest; and how many states lanes may
have (`lane_states`), for how many units there are lanes (`lanes_from`), and from how many steps they guess (`warmup`), are variables here, of
which runtime/ knows nothing. What a source is after the preprocessor is asked for once, too: sources stay as they are while pytest runs.
Rejected: to read from the compiler's messages why it failed; ccache, which not everybody has.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

import pytest

if sys.platform != "win32":
    import fcntl

__all__ = ["ADDRESS", "COVERED", "EXTENSION", "ROOT", "THREAD", "C", "build", "compiler", "lacks", "run"]

ROOT = Path(__file__).resolve().parent.parent
C = ROOT / "generated/c"
# Lines alone (-g1) are what sanitizers name; variables, too, would double the time that bitlex_lanes.c takes.
WARNINGS = ("-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-g1")
# For what includes the headers of Python, which are not free of these.
EXTENSION = ("-Wno-pedantic", "-Wno-unused-parameter", "-Wno-missing-field-initializers", "-Wno-cast-function-type")
ADDRESS = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all")
COVERED = ("-fsanitize=fuzzer-no-link,address,undefined", "-fno-sanitize-recover=all")  # the same, ready for libFuzzer: for clang
THREAD = ("-pthread", "-fsanitize=thread")
LANES = C / "bitlex_lanes.c"
ROOM = "-DBITLEX_ROOM=6144"  # as bitlex_lanes.c has it, whatever the blocks of the others
SIZES = ROOT / "tests/lane_sizes.c"
VARIABLE = ("-DBITLEX_LANE_STATES=lane_states", "-DBITLEX_WARMUP=lanes_warmup", "-include", str(ROOT / "tests/lane_sizes.h"))
objects: Path | None = None  # where they are: conftest.py says it


def compiler(*names: str) -> str:
    """The first that is there; any, if none is named."""
    for name in names or ("cc", "gcc", "clang"):
        found = shutil.which(name)
        if found is not None:
            return found
    pytest.skip(f"{' or '.join(names) or 'a C compiler'} is not installed: what it would build is not tried")


@cache
def lacks(command: str, needs: tuple[str, ...], program: str = "int main(void) { return 0; }\n") -> str:
    """Why a program that does nothing cannot be built and run with these options; or nothing."""
    with tempfile.TemporaryDirectory() as folder:
        source, output = Path(folder, "empty.c"), Path(folder, "empty")
        source.write_text(program)
        built = subprocess.run([command, *needs, str(source), "-o", str(output)], check=False, capture_output=True, text=True)
        if built.returncode != 0:
            return f"{command} builds nothing with {' '.join(needs)}"
        if subprocess.run([str(output), "-runs=0"], check=False, capture_output=True).returncode != 0:
            return f"nothing that {command} builds with {' '.join(needs)} runs here"
    return ""


def compile_by(*command: str) -> bytes:
    done = subprocess.run(command, check=False, capture_output=True)
    assert done.returncode == 0, done.stderr.decode(errors="replace")[-4000:]
    return done.stdout


def made_once(made: Path, make: Callable[[Path], object]) -> Path:
    """A file; of processes that want it at the same time one makes it, and the others wait."""
    with made.with_suffix(".lock").open("w") as lock:
        if sys.platform != "win32":  # there each process has a folder of its own
            fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            make(made.with_suffix(".part"))
            made.with_suffix(".part").rename(made)
    return made


def digest_of(*parts: bytes) -> str:
    return hashlib.sha256(b"".join(parts)).hexdigest()[:16]


def compiled(folder: Path, source: Path, *command: str) -> Path:
    """The object that a command makes of a source."""
    seen_before = ("-D", "-U", "-I")  # by the preprocessor, and by nothing behind it
    words = repr([str(Path(command[0]).resolve()), *sorted(word for word in command[1:] if not word.startswith(seen_before))]).encode()

    def preprocess(to: Path) -> None:
        to.write_text(digest_of(words, compile_by(*command, "-E", str(source))))

    asked = digest_of(repr((command, source)).encode())
    digest = made_once(folder / f"{source.stem}-{asked}.digest", preprocess).read_text()
    return made_once(folder / f"{source.stem}-{digest}.o", lambda to: compile_by(*command, "-c", str(source), "-o", str(to)))


def build(
    program: Path, sources: Iterable[Path], *options: str, apart: tuple[str, ...] = (), needs: tuple[str, ...] = (), by: str | None = None,
    lane_states: int = 64, lanes_from: int = 384, warmup: int = 12, linked_by: tuple[str, ...] = (),
) -> Path:  # fmt: skip
    by = by if by is not None else compiler()
    missing = lacks(by, needs) if needs else ""
    if missing:
        pytest.skip(missing)
    command, sources = [by, *WARNINGS, *options, *needs], list(sources)
    variable: tuple[str, ...] = VARIABLE if LANES in sources else ()
    sizes = (f"-DLANE_STATES={lane_states}", f"-DLANES_FROM={lanes_from}", f"-DWARMUP={warmup}")
    if LANES in sources:
        apart += (ROOM, "-DBITLEX_LANES_FROM=lanes_from")
        sources.append(SIZES)

    def added(source: Path) -> tuple[str, ...]:
        return {LANES: variable, SIZES: sizes}.get(source, apart if source.parent == ROOT / "runtime" else (*variable, *apart))

    made = [compiled(objects or program.parent, source, *command, *added(source)) for source in sources]
    compile_by(*command, *linked_by, *map(str, made), "-o", str(program))
    return program


def run(*command: object, folder: Path | None = None, timeout: float | None = None) -> str:
    """What a program says, to both streams."""
    words = [str(word) for word in command]
    done = subprocess.run(words, check=False, capture_output=True, text=True, cwd=folder, timeout=timeout)
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
    return done.stdout + done.stderr
