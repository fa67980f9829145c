"""The tiers a lexer may run on, for tests that go through all of them; a disk that is full; where what is compiled once is kept; and what the
collector passes over.

A test that asks for `tier` or `vector_tier` runs once for each. What the processor lacks is skipped, and nothing else: that a tier which
the processor has is really taken is a test of its own (test_lexer.py), so that a broken tier cannot hide behind a skip.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
from pathlib import Path

import pytest

import bitlex
import compilers

if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # a shell starts what it puts in the background so; tests start programs to interrupt
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Nothing here does linear algebra. For what does, numpy starts a thread for each processor, which spins for some 40 ms, here and in each program
# that a test starts.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# What tests make, and compare, are many small objects in no cycles, through which the collector goes for nothing: a twentieth of the time.
gc.set_threshold(20_000, 20, 50)

# Where programs that tests start find no compiled modules, they may leave them for each other.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

VECTORS = ("avx512", "avx2", "neon")


@pytest.fixture(scope="session", autouse=True)
def objects(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Of all processes of this run the same, where they can lock files: pytest-xdist gives each a folder in it."""
    base = tmp_path_factory.getbasetemp()
    compilers.objects = base.parent if "PYTEST_XDIST_WORKER" in os.environ and sys.platform != "win32" else base


@pytest.fixture(scope="module", autouse=True)
def only_what_is_new() -> None:
    """The collector passes over what the modules before have left, such as machines that are remembered: else it goes through them again and
    again, which took a tenth of the time where that was measured."""
    gc.freeze()


def taken(wanted: str, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("BITLEX_TIER", wanted)
    found = bitlex.lexer("cl100k").tier
    if found != wanted:
        pytest.skip(f"no {wanted} here: BITLEX_TIER={wanted} gives {found}, the most that this processor and this build have below it")
    return wanted


@pytest.fixture(params=[*VECTORS, "portable", "pure"])
def tier(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    return taken(request.param, monkeypatch)


@pytest.fixture(params=[*VECTORS, "portable"])
def native_tier(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """All but the pure one, with which they are compared."""
    return taken(request.param, monkeypatch)


@pytest.fixture(params=VECTORS)
def vector_tier(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    return taken(request.param, monkeypatch)


@pytest.fixture
def full_disk() -> Path:
    """A file on which every write fails as on a disk without room."""
    path = Path("/dev/full")
    if not path.exists():
        pytest.skip("this system has no /dev/full, on which every write fails: a full disk is not tried")
    return path
