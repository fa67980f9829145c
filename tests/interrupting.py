"""Programs that are sent signals: what they hear, and when it is time to send one; and calls that Ctrl-C ends."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path

__all__ = ["listen", "pressed", "signal_after", "wait_for"]


def listen() -> None:
    """In the child: signals that whoever runs the tests has shut out, as nohup does, are heard."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def wait_for(what: Callable[[], bool]) -> None:
    until = time.monotonic() + 60
    while not what():
        assert time.monotonic() < until
        time.sleep(0.01)


def signal_after(program: subprocess.Popen[bytes], written: Path, seconds: float, number: signal.Signals) -> None:
    """Wait for the file, such as a checkpoint to go on from, and as many seconds more; send the signal; wait for the end.

    A program that ends before is left alone.
    """
    deadline = time.monotonic() + 60
    while not written.exists() and program.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(seconds)
    program.send_signal(number)
    program.communicate()


def pressed(call: Callable[[], object], behind: int) -> bool:
    """Whether Ctrl-C ends a call that comes as a function of Python's begins, which is when Python asks for signals, behind so many others."""
    begun = count()

    def press(*_: object) -> None:
        if next(begun) == behind:
            raise KeyboardInterrupt

    before = sys.gettrace()
    try:
        sys.settrace(press)
        call()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
    return False
