"""Processes that fork while other threads encode: a child waits for no lock that a thread of its parent had, and has the same ids."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from threading import Thread

import pytest

from bitlex.cached import cached_property
from compilers import ROOT, build

pytest.importorskip("bitlex._native", reason="the C extension was not built")


@pytest.mark.skipif(sys.platform != "linux", reason="locks are made slow as Linux does it (LD_PRELOAD, over sem_wait of its C library)")
def test_a_fork_while_threads_encode(tmp_path: Path) -> None:
    locks = build(tmp_path / "slow_locks.so", [ROOT / "tests/slow_locks.c"], "-shared", "-fPIC")
    command = [sys.executable, str(ROOT / "tests/forking_program.py")]
    done = subprocess.run(command, env=os.environ | {"LD_PRELOAD": str(locks)}, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]


LOADING = """
import os, signal, threading
from bitlex.compat.tiktoken import registry

loading = threading.Event()

def for_ever(name, file):
    loading.set()
    threading.Event().wait()

registry.ENCODINGS["there"] = "there"
registry.load = for_ever
threading.Thread(target=registry.get_encoding, args=("one",), daemon=True).start()
loading.wait()
assert registry.get_encoding("there") == "there"
child = os.fork()
if child == 0:
    signal.alarm(10)
    registry.load = lambda name, file: name
    os._exit(registry.get_encoding("other") != "other")
os._exit(os.waitpid(child, 0)[1] != 0)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_fork_while_a_thread_loads_an_encoding() -> None:
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", LOADING], capture_output=True, text=True, check=False, timeout=30)
    assert done.returncode == 0, done.stderr


def test_a_value_that_is_being_made_keeps_nobody_from_another() -> None:
    """Nor the child of a process that forks meanwhile."""

    class One:
        def __init__(self, make: Callable[[], object]) -> None:
            self.make = make

        @cached_property
        def value(self) -> object:
            return self.make()

    other, same = One(object), One(object)
    asking = Thread(target=lambda: other.value, daemon=True)

    def meanwhile() -> None:
        asking.start()
        asking.join(10)

    assert One(meanwhile).value is None and not asking.is_alive()
    assert other.value is other.value and same.value is same.value is not other.value
    assert One.value is vars(One)["value"]
