"""The extension in the newest other Python that is there: built for it, it does what it does in the one that runs the tests."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import NamedTuple

import pytest

import bitlex
from compilers import EXTENSION, ROOT, C, build, compiler

native = pytest.importorskip("bitlex._native", reason="the C extension was not built")
PROGRAM = ROOT / "tests/pythons_program.py"
ASKED = """
import platform, sys, sysconfig
print(platform.python_implementation(), *sys.version_info[:2], sysconfig.get_config_var("EXT_SUFFIX"), sysconfig.get_path("include"), sep="\\n")
"""


class Python(NamedTuple):
    version: tuple[int, int]
    executable: str
    suffix: str
    include: str


def ask(executable: str) -> Python | None:
    """What an executable says that it is, if it is a CPython that is new enough and has headers."""
    try:
        said = subprocess.run([executable, "-c", ASKED], capture_output=True, text=True, check=True).stdout.splitlines()
    except (OSError, subprocess.CalledProcessError):
        return None
    name, major, minor, suffix, include = said
    return Python((int(major), int(minor)), executable, suffix, include) if name == "CPython" and Path(include, "Python.h").exists() else None


def others() -> list[Python]:
    """Those on the path, and those that are installed beside this one; the newest last."""
    names = [f"python3.{minor}{threads}" for minor in range(12, 30) for threads in ("", "t")]
    found = {shutil.which(name) for name in names}
    found |= {str(path) for name in names for path in Path(sys.base_prefix).parent.glob(f"*/bin/{name}")}
    known = [ask(executable) for executable in sorted(filter(None, found))]
    ours = (sys.version_info[:2], sysconfig.get_config_var("EXT_SUFFIX"))
    return sorted(python for python in known if python is not None and (python.version, python.suffix) != ours)


@pytest.mark.skipif(sys.platform == "win32", reason="the extension is built by a call of cc, whose options the compiler of Windows has not")
def test_another_python(tmp_path: Path) -> None:
    found = others()
    if not found:
        pytest.skip("no other CPython from 3.12 on, with its headers, is on the path or beside this one")
    python = found[-1]
    package = tmp_path / "packages" / "bitlex"
    shutil.copytree(Path(bitlex.__file__).parent, package, ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    sources = [*sorted((ROOT / "runtime").glob("*.c")), *sorted(C.glob("bitlex*.c"))]
    options = ("-shared", "-fPIC", "-O0", *EXTENSION, "-std=gnu11", f"-I{C}", f"-I{ROOT / 'runtime'}")
    build(package / f"_native{python.suffix}", sources, *options, f"-I{python.include}", by=compiler())
    said = []
    for executable, place in ((sys.executable, Path(bitlex.__file__).parent), (python.executable, package)):
        command = [executable, "-S", "-W", "ignore", "-X", "utf8", str(PROGRAM)]
        done = subprocess.run(command, env=os.environ | {"PYTHONPATH": str(place.parent)}, capture_output=True, text=True, check=False)
        assert done.returncode == 0, (python, done.stderr[-4000:])
        said.append(done.stdout)
    assert len(said[0].splitlines()) > 100 and said[0] == said[1], python
