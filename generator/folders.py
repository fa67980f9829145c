"""The folders of a bitlex that are no code: their names in, what their files are read from out.

    (folder("tables") / "families.toml").read_bytes()

Where bitlex is imported from a zip file, they are in there, and no folders of the system. Rejected: importlib.resources for all (importing it
takes as long as compiling a small pattern).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

__all__ = ["folder"]


def folder(name: str) -> Any:
    """A Path, or a zipfile.Path, which is read alike."""
    found = Path(__file__).parent.parent / name
    if found.is_dir() or __package__ is None:
        return found
    from importlib.resources import files

    inside: Any = files(__package__)
    return inside.parent / name
