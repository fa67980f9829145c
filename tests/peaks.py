"""How much memory a command took at most, in bytes, when it read what it was given through a pipe.

What `wait4` says of a child is no less than what its parent had when it forked; so the command says it itself, by Linux' /proc.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

__all__ = ["SAYS_ITS_PEAK", "peak"]

STATUS = Path("/proc/self/status")
WHY = "only Linux, by /proc, tells a command how much memory it took at most; what wait4 says elsewhere counts its parent's"
SAYS_ITS_PEAK = pytest.mark.skipif(not STATUS.exists(), reason=WHY)
PROGRAM = f"""
import sys
from bitlex.cli import main
assert main(sys.argv[1:]) == 0
print(next(line.split()[1] for line in open("{STATUS}") if line.startswith("VmHWM")))
"""


def peak(arguments: Iterable[str], parts: Iterable[bytes]) -> int:
    """Of `bitlex` with these arguments, which must not write to standard output."""
    with subprocess.Popen([sys.executable, "-c", PROGRAM, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None and process.stdout is not None
        for part in parts:
            process.stdin.write(part)
        process.stdin.close()
        return int(process.stdout.read()) << 10
