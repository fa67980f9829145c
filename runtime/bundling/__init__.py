"""Programs made by PyInstaller: it asks here, by an entry point, which hook says what of bitlex goes into them."""

from __future__ import annotations

__all__ = ["hook_folders"]


def hook_folders() -> list[str]:
    """Where PyInstaller finds `hook-bitlex.py`."""
    return list(__path__)
