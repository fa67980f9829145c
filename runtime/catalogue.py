"""The families: a name in, its generated lexer out.

    lexer("cl100k") is lexer("cl100k_base")        # an alias gives the same object
    list(families())                               # every name

Only the tables of the family asked for are loaded. Invariant: a lexer is made once for each name and tier and then shared.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from .generated import FAMILIES
from .lexers import Lexer, wanted_tier

__all__ = ["families", "family_module", "lexer"]

MADE: dict[tuple[str, str | None], Lexer] = {}


def lexer(name: str) -> Lexer:
    """The lexer of a family, by its name or an alias of it.

    Upper case and lower case, hyphens, dots and underscores are not told apart: "Qwen2.5" finds "qwen2_5". A name that is not
    there is a ValueError that says which ones come close. Calling it again is a dictionary look-up.
    """
    known = canonical_name(name)
    key = known, wanted_tier()
    if key not in MADE:
        MADE.setdefault(key, load(known))  # threads that come at the same time all get the first one
    return MADE[key]


def families() -> dict[str, tuple[str, ...]]:
    """The families that `lexer` knows: each name with its aliases, in the order of the catalogue."""
    return dict(FAMILIES)


def family_module(name: str) -> ModuleType:
    """The generated module of a family: its tables and what is known about them."""
    return import_module(f".generated.python.{name}", __package__)


def load(name: str) -> Lexer:
    module = family_module(name)
    return Lexer(
        name=name, dialect=module.DIALECT, unicode=module.UNICODE, steps=module.STEPS, cells=module.CELLS, states=module.STATES,
        tables=module.TABLES, reference=module.REFERENCE, source=module.SOURCE, family=True,
    )  # fmt: skip


def canonical_name(name: str) -> str:
    if not isinstance(name, str):
        raise TypeError(f"expected the name of a family, got {type(name).__name__}")
    wanted = name.lower().replace("-", "_").replace(".", "_")
    if wanted in FAMILIES:
        return wanted
    names = {alias: known for known, aliases in FAMILIES.items() for alias in (known, *aliases)}
    if wanted in names:
        return names[wanted]
    from difflib import get_close_matches

    close = get_close_matches(wanted, names, n=3)
    raise ValueError(
        f"no family {name!r}; " + (f"did you mean {' or '.join(close)}?" if close else f"there are {', '.join(FAMILIES)}")
    )
