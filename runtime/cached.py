"""cached_property without the lock that it has up to Python 3.11: one for all objects of a class, held as long as a value is being made.

    from .cached import cached_property

Whoever asks for it in the child of a process that forked meanwhile would wait for ever, and threads would wait for the value of another
object. Invariant: as in Python 3.12. Threads that come at the same time may each make a value, all of which are alike.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

__all__ = ["cached_property"]

if TYPE_CHECKING or sys.version_info >= (3, 12):
    from functools import cached_property
else:

    class cached_property:
        def __init__(self, make):
            self.make, self.__doc__ = make, make.__doc__

        def __set_name__(self, owner, name):
            self.name = name

        def __get__(self, one, owner=None):
            return self if one is None else one.__dict__.setdefault(self.name, self.make(one))
