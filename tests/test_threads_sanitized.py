"""The whole C extension under the thread sanitizer, inside the interpreter: training, encoding, decoding and lexing by several threads."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import bitlex
from compilers import EXTENSION, ROOT, THREAD, C, build, compiler

native = pytest.importorskip("bitlex._native", reason="the C extension was not built")
SHARED = ("-shared", "-fPIC")


@pytest.mark.skipif(not os.environ.get("BITLEX_SLOW"), reason="compiling all of the extension for the sanitizer takes half a minute: set BITLEX_SLOW=1")
@pytest.mark.skipif(sys.platform != "linux", reason="the sanitizer is preloaded into the interpreter as Linux does it (LD_PRELOAD, libtsan.so)")
def test_threads(tmp_path: Path) -> None:
    sanitizer = subprocess.run([compiler("gcc"), "-print-file-name=libtsan.so"], capture_output=True, text=True, check=True).stdout.strip()
    package = tmp_path / "packages" / "bitlex"
    shutil.copytree(Path(bitlex.__file__).parent, package, ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    sources = [*sorted((ROOT / "runtime").glob("*.c")), *sorted(C.glob("bitlex*.c"))]
    options = ("-O1", *EXTENSION, f"-I{C}", f"-I{ROOT / 'runtime'}")
    include = sysconfig.get_path("include")
    build(package / Path(native.__file__).name, sources, *SHARED, *options, f"-I{include}", needs=THREAD, by=compiler("gcc"))
    locks = build(tmp_path / "semaphores.so", [ROOT / "tests/semaphores.c"], *SHARED, by=compiler("gcc"))
    preloaded = {"LD_PRELOAD": f"{sanitizer} {locks}", "PYTHONMALLOC": "malloc", "PYTHONPATH": str(package.parent), "TSAN_OPTIONS": "exitcode=66"}
    done = subprocess.run(
        [sys.executable, str(ROOT / "tests/threads_program.py"), str(tmp_path)], env=os.environ | preloaded, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-6000:]
    assert "WARNING: ThreadSanitizer" not in done.stderr, done.stderr[:6000]
