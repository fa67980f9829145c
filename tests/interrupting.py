"""A program that is sent a signal once it has written a file: the checkpoint from which it is to go on."""

from __future__ import annotations

import signal
import subprocess
import time
from pathlib import Path


def signal_after(program: subprocess.Popen[bytes], written: Path, seconds: float, number: signal.Signals) -> None:
    """Wait for the file, and as many seconds more; send the signal; wait for the end. A program that ends before is left alone."""
    deadline = time.monotonic() + 60
    while not written.exists() and program.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(seconds)
    program.send_signal(number)
    program.communicate()
