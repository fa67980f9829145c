"""Memory that is not there, wherever training, streams, encoding and decoding ask for some: a MemoryError each time, and nothing worse."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from compilers import ROOT, build

pytest.importorskip("bitlex._native", reason="the C extension was not built")


@pytest.mark.skipif(sys.platform != "linux", reason="memory is made to fail as Linux does it (LD_PRELOAD, over malloc of its C library)")
@pytest.mark.parametrize("kind", ["counted", "merged", "tokens", "pieces", "first", "whole", "decoded", "called", "column", "model"])
def test_memory_that_is_not_there(kind: str, tmp_path: Path) -> None:
    failing = build(tmp_path / "failing_memory.so", [ROOT / "tests/failing_memory.c"], "-shared", "-fPIC")
    usual = {} if sysconfig.get_config_var("Py_GIL_DISABLED") else {"PYTHONMALLOC": "malloc"}  # without a GIL, Python takes no other than its own
    environment = os.environ | usual | {"LD_PRELOAD": str(failing)}
    command = [sys.executable, str(ROOT / "tests/failing_memory_program.py"), kind]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and done.stdout, done.stderr[-6000:]
