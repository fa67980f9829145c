"""Unicode properties as sets of code points, by Unicode version and by name.

In: `tables/unicode/`, one text file per version, and `tables/classes.toml`. Out: `CodeSet` values:

    sixteen = load("16.0")
    sixteen.property("Lu"), sixteen.property("gc=Uppercase_Letter"), sixteen.property("Han")
    sixteen.close_over_case(CodeSet.of("k"))          # K, k and U+212A

Names match as UAX44-LM3 says: case, spaces, hyphens and underscores do not count. A name that is not here gives None, so that
the caller can point at it in the pattern. `\\p{Han}` is the Script property, never Script_Extensions.

A file is a sequence of sections, each a title in brackets and then ranges. Loading splits the file at the titles; a section is
parsed when it is first asked for, because a pattern needs some ten of two hundred. Rejected: the `unicodedata` module of the
running Python (one version, and not the one of the engine that we must equal).
"""

from __future__ import annotations

import tomllib
from functools import cache

from .codeset import ALL, CodeSet
from .folders import folder

__all__ = ["DEFAULT_VERSION", "VERSIONS", "Properties", "load", "loose", "parts", "special_class"]

VERSIONS = ("14.0", "15.0", "15.1", "16.0", "17.0", "18.0")
DEFAULT_VERSION = "16.0"

TABLES = folder("tables")

# Unions of General_Category values: the loose name, and the values (a single letter: every value that begins with it).
GROUPS = {
    "l": ("l",), "letter": ("l",), "lc": ("lu", "ll", "lt"), "casedletter": ("lu", "ll", "lt"),
    "m": ("m",), "mark": ("m",), "combiningmark": ("m",), "n": ("n",), "number": ("n",), "p": ("p",), "punctuation": ("p",),
    "punct": ("p",), "s": ("s",), "symbol": ("s",), "z": ("z",), "separator": ("z",), "c": ("c",), "other": ("c",),
}  # fmt: skip
PREFIXES = {"gc": "gc", "generalcategory": "gc", "sc": "script", "script": "script"}


class Properties:
    """The properties of one Unicode version. Made by `load`."""

    __slots__ = ("_known", "_orbit_of", "_orbits", "_section", "_titles", "version")

    def __init__(self, version: str, text: str) -> None:
        if not text.startswith(f"# Unicode {version}\n"):
            raise ValueError(f"tables/unicode/{version}.txt does not hold Unicode {version}")
        self.version = version
        self._section: dict[str, str] = {}  # "gc lu" -> its ranges as text
        self._titles: dict[str, str] = {}  # "uppercaseletter" and "gc uppercaseletter" -> "gc lu"
        for part in text.split("\n[")[1:]:
            title, _, body = part.partition("]")
            kind, *names = title.split()
            key = " ".join([kind, *names[:1]])
            self._section[key] = body
            for name in names:
                self._titles[f"{kind} {name}"] = key
                self._titles.setdefault(name, key)
        self._known: dict[str, CodeSet] = {}
        self._orbits: tuple[tuple[int, ...], ...] | None = None
        self._orbit_of: dict[int, tuple[int, ...]] = {}

    def property(self, name: str) -> CodeSet | None:
        """The code points with the property `name`: "Lu", "Letter", "White_Space", "Han", "gc=Lu", "Script=Han"; None if unknown."""
        kind, wanted = parts(name)
        if kind is None:
            return None
        found = self._known.get(f"{kind} {wanted}")
        if found is None:
            found = self._find(kind, wanted)
            if found is not None:
                self._known[f"{kind} {wanted}"] = found
        return found

    def _find(self, kind: str, name: str) -> CodeSet | None:
        if kind != "script" and name in GROUPS:
            starts = tuple(f"gc {value}" for value in GROUPS[name])
            return CodeSet(pair for key in self._section if key.startswith(starts) for pair in self._ranges(key))
        if not kind and name == "any":
            return ALL
        if not kind and name == "ascii":
            return CodeSet([(0, 0x7F)])
        if not kind and name == "assigned":
            return ~CodeSet(self._ranges("gc cn"))
        key = self._titles.get(f"{kind} {name}" if kind else name)
        return None if key is None else CodeSet(self._ranges(key))

    def _ranges(self, key: str) -> list[tuple[int, int]]:
        pairs = (word.partition("-") for word in self._section[key].split())
        return [(int(first, 16), int(last or first, 16)) for first, _, last in pairs]

    def fold_orbits(self) -> tuple[tuple[int, ...], ...]:
        """The classes, of two code points or more, that are equal under simple case folding; sorted."""
        if self._orbits is None:
            words = self._section["fold"].split()
            self._orbits = tuple(tuple(int(member, 16) for member in word.split("/")) for word in words)
            self._orbit_of = {member: orbit for orbit in self._orbits for member in orbit}
        return self._orbits

    def close_over_case(self, codeset: CodeSet) -> CodeSet:
        """`codeset` and every code point with the same simple case folding as one of its members."""
        orbits = self.fold_orbits()
        if len(codeset) < len(orbits):
            orbits = tuple(orbit for c in codeset if (orbit := self._orbit_of.get(c)) is not None)
        else:
            orbits = tuple(orbit for orbit in orbits if any(c in codeset for c in orbit))
        added = [(member, member) for orbit in orbits for member in orbit]
        return codeset | CodeSet(added)


def check_version(version: str) -> None:
    """ValueError for a Unicode version that is none of `VERSIONS`."""
    if version not in VERSIONS:
        raise ValueError(f"no tables for Unicode {version!r}; there are {', '.join(VERSIONS)}")


@cache
def load(version: str = DEFAULT_VERSION) -> Properties:
    """The properties of a Unicode version, one of `VERSIONS`."""
    check_version(version)
    return Properties(version, (TABLES / "unicode" / f"{version}.txt").read_text(encoding="ascii"))


@cache
def special_class(name: str) -> CodeSet:
    """A set from `tables/classes.toml`, which belongs to an engine and to no Unicode version: "hf_punctuation"."""
    classes = tomllib.loads((TABLES / "classes.toml").read_text(encoding="utf-8"))
    if name not in classes:
        raise ValueError(f"no class {name!r} in classes.toml; there are {', '.join(classes)}")
    pairs = (word.partition("-") for word in classes[name]["ranges"].split())
    return CodeSet((int(first, 16), int(last or first, 16)) for first, _, last in pairs)


def parts(name: str) -> tuple[str | None, str]:
    """The kind of a property, "gc", "script", "" if there is none or None if it is not known, and its loose name."""
    before, equals, after = name.partition("=")
    return (PREFIXES.get(loose(before)), loose(after)) if equals else ("", loose(before))


def loose(name: str) -> str:
    """A property name as UAX44-LM3 compares it; one that is not ASCII is none, though in Python, U+212A is a k in lower case."""
    return (name.lower() if name.isascii() else name).replace("_", "").replace("-", "").replace(" ", "")
