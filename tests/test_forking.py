"""Processes that fork while other threads encode: a child waits for no lock that a thread of its parent had, and has the same ids."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from compilers import ROOT, build

pytest.importorskip("bitlex._native", reason="the C extension was not built")


@pytest.mark.skipif(sys.platform != "linux", reason="locks are made slow as Linux does it (LD_PRELOAD, over sem_wait of its C library)")
def test_a_fork_while_threads_encode(tmp_path: Path) -> None:
    locks = build(tmp_path / "slow_locks.so", [ROOT / "tests/slow_locks.c"], "-shared", "-fPIC")
    command = [sys.executable, str(ROOT / "tests/forking_program.py")]
    done = subprocess.run(command, env=os.environ | {"LD_PRELOAD": str(locks)}, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]
