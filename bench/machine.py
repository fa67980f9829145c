"""What a figure depends on besides the code: the machine, its compiler, the versions, the date; and the size of the code itself."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

import numpy

import bitlex
from bitlex import generated
from bitlex.lexers import cores

from .native import Unavailable, clock, compiler


def about() -> dict[str, object]:
    """By name; to be called before and after, for what changes."""
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"), "processor": processor(), "cores": cores(),
        "system": f"{platform.system()} {platform.machine()}", "python": platform.python_version(), "numpy": numpy.__version__,
        "compiler": first_line([compiler() or "no compiler", "--version"]), "bitlex": bitlex.__version__,
        "commit": first_line(["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty"]), **mood(),
    }  # fmt: skip


def mood() -> dict[str, object]:
    """The clock as it is now, or why it cannot be told, and how busy the machine is."""
    try:
        hertz: object = round(clock())
    except Unavailable as reason:
        hertz = f"not known: {reason}"
    return {"clock": hertz, "load": [round(value, 1) for value in os.getloadavg()] if hasattr(os, "getloadavg") else None}


def processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        lines = (line.partition(":") for line in cpuinfo.read_text(encoding="utf-8", errors="replace").splitlines())
        found = {key.strip(): value.strip() for key, _, value in reversed(list(lines))}
        if "model name" in found:
            return f"{found['model name']} (family {found.get('cpu family', '?')}, model {found.get('model', '?')})"
    if sys.platform == "darwin":
        return first_line(["sysctl", "-n", "machdep.cpu.brand_string"])
    return platform.processor() or platform.machine()


def first_line(command: list[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except OSError:
        return "not known"
    return next(iter(done.stdout.splitlines()), "not known").strip()


def code_size(family: str) -> dict[str, int]:
    """Bytes of code and constants in the object files that a C program links for one family, by -O3, as binutils' size says."""
    found, folder = compiler(), Path(str(generated.__file__)).parent / "c"
    if found is None:
        raise Unavailable("no C compiler")
    sizes = {}
    with tempfile.TemporaryDirectory() as made:
        for source in ("bitlex.c", "bitlex_lanes.c", f"{family}.c"):
            if not (folder / source).exists():
                continue
            object_file = Path(made, source).with_suffix(".o")
            done = subprocess.run([found, "-O3", "-c", str(folder / source), "-o", str(object_file)], capture_output=True, text=True)
            if done.returncode:
                raise Unavailable(f"{source} does not compile: {next(iter(done.stderr.splitlines()), 'no message')}"[:160])
            try:
                report = subprocess.run(["size", str(object_file)], capture_output=True, text=True, check=True).stdout
            except (OSError, subprocess.CalledProcessError):
                raise Unavailable("no `size` (binutils)") from None
            sizes[source] = sum(map(int, report.splitlines()[1].split()[:2]))
    return sizes
