"""Pins Unicode data: queries released packages and writes `tables/unicode/`, one text file per version.

In: for each version a release of the PyPI package `regex` (every value comes from it) and a second, independent source for
General_Category: a release of `unicodedata2`, or for 14.0 the standard library of CPython 3.11. Out: `16.0.txt` and so on, and
`SHA256SUMS`, byte for byte the same on every run:

    python -m generator.pin_unicode                  # downloads the wheels, writes the files (or: make tables)
    python -m generator.pin_unicode --wheels DIR     # offline, the wheels are in DIR
    python -m generator.pin_unicode --check          # writes nothing; exit status 1 and a short diff when a file is stale

Invariant: nothing is written unless both sources agree on all 1,114,112 code points, scripts and categories partition them, and
the fold orbits are equivalence classes. Needs CPython 3.11: the oldest and the newest of these wheels exist for no other one.

Simple case folding is what `regex` matches under IGNORECASE, minus U+0130 and U+0131: it adds their Turkic foldings (status T in
CaseFolding.txt), and under statuses C and S neither folds to anything else.

Rejected: the files of the Unicode Character Database (not on PyPI, and a pin must not depend on one web site); building the
unicodedata2 14.0.0 source release (it does not compile for CPython 3.11); unicodedataplus and fontTools (no release for every
version). Names are stored in the loose form of UAX44-LM3, which is all that `regex` keeps of them and all that is needed.
"""

from __future__ import annotations

import argparse
import difflib
import hashlib
import importlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

__all__ = ["BINARY", "ROOM", "SOURCES", "main", "pinned"]

ROOM = Path(__file__).resolve().parent.parent / "tables" / "unicode"

# Unicode version -> what its file is made from. An empty second source is the standard library's unicodedata.
SOURCES = {
    "14.0": ("regex==2022.9.11", ""),
    "15.0": ("regex==2022.9.13", "unicodedata2==15.0.0"),
    "15.1": ("regex==2023.10.3", "unicodedata2==15.1.0"),
    "16.0": ("regex==2024.9.11", "unicodedata2==16.0.0"),
    "17.0": ("regex==2025.10.22", "unicodedata2==17.0.0"),
    "18.0": ("regex==2026.9.29", "unicodedata2==18.0.0"),
}
# The binary properties of UTS #18, RL1.2, and of RL2.7 those by which text is cut, with their other names. Two of these, IDC and VS, are
# blocks to `regex`, and are left out.
BINARY = {
    "alphabetic": "alpha", "asciihexdigit": "ahex", "cased": "", "dash": "", "defaultignorablecodepoint": "di", "diacritic": "dia", "emoji": "",
    "emojicomponent": "ecomp", "emojimodifier": "emod", "emojimodifierbase": "ebase", "emojipresentation": "epres",
    "extendedpictographic": "extpict", "extender": "ext", "graphemeextend": "grext", "hexdigit": "hex", "idcontinue": "", "ideographic": "ideo",
    "idstart": "ids", "joincontrol": "joinc", "lowercase": "lower", "math": "", "noncharactercodepoint": "nchar", "patternsyntax": "patsyn",
    "patternwhitespace": "patws", "quotationmark": "qmark", "regionalindicator": "ri", "sentenceterminal": "sterm", "softdotted": "sd",
    "terminalpunctuation": "term", "unifiedideograph": "uideo", "uppercase": "upper", "variationselector": "", "whitespace": "space wspace",
    "xidcontinue": "xidc", "xidstart": "xids",
}  # fmt: skip
TURKIC = "\u0130\u0131"
EVERY = 0x110000


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m generator.pin_unicode", description="Pin Unicode data in tables/unicode.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit status 1 if a file is stale")
    parser.add_argument("--wheels", metavar="DIR", help="take the wheels from DIR, without a network")
    options = parser.parse_args(arguments)
    if sys.implementation.name != "cpython" or sys.version_info[:2] != (3, 11):
        parser.error("needs CPython 3.11, for which there are wheels of every pinned release")
    stale = 0
    for name, text in pinned(options.wheels).items():
        path = ROOM / name
        old = path.read_bytes().decode() if path.exists() else ""
        if old == text:
            continue
        stale += 1
        if options.check:
            diff = difflib.unified_diff(
                old.splitlines(), text.splitlines(), f"{name} (here)", f"{name} (made now)", n=0, lineterm=""
            )
            for line, _ in zip(diff, range(12)):
                print(line[:160])
        else:
            write_atomically(path, text)
            print(f"wrote {path.relative_to(ROOM.parent.parent)}")
    print(f"{len(SOURCES)} Unicode versions, {stale} files {'stale' if options.check else 'changed'}")
    return 1 if options.check and stale else 0


def pinned(wheels: str | None = None) -> dict[str, str]:
    """The files of the room by name, made anew from the pinned packages."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        texts = list(pool.map(lambda version: one_version(version, wheels), SOURCES))
    files = {f"{version}.txt": text for version, text in zip(SOURCES, texts, strict=True)}
    sums = [f"{hashlib.sha256(text.encode()).hexdigest()}  {name}\n" for name, text in files.items()]
    return {**files, "SHA256SUMS": "".join(sums)}


def one_version(version: str, wheels: str | None) -> str:
    with tempfile.TemporaryDirectory(prefix="pin-unicode-") as folder:
        unpack(version, folder, wheels)
        # A process of its own: two releases of an extension module do not live in one interpreter.
        child = subprocess.run([sys.executable, "-I", __file__, "describe", version, folder], capture_output=True, check=False)
    if child.returncode:
        raise SystemExit(f"Unicode {version}: {child.stderr.decode().strip()}")
    return child.stdout.decode("ascii")


def unpack(version: str, folder: str, wheels: str | None) -> None:
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary=:all:"]
    where = ["--no-index", "--find-links", wheels] if wheels else []
    packages = [package for package in SOURCES[version] if package]
    done = subprocess.run([*pip, "--target", folder, *where, *packages], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"cannot get {' and '.join(packages)}: {done.stderr.strip()}")


def write_atomically(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(path.name + ".new")
    temporary.write_bytes(text.encode())
    os.replace(temporary, path)


def describe(version: str, folder: str) -> str:
    """The file of one version; `folder` holds its packages, unpacked."""
    sys.path.insert(0, folder)
    package, second = SOURCES[version]
    regex = importlib.import_module("regex")
    database = importlib.import_module("unicodedata2" if second else "unicodedata")
    if not str(regex.__file__).startswith(folder):
        raise SystemExit(f"imported another regex: {regex.__file__}")
    if database.unidata_version != f"{version}.0":
        raise SystemExit(f"{database.__name__} has Unicode {database.unidata_version}")

    text = "".join(map(chr, range(EVERY)))

    def ranges(name: str) -> list[tuple[int, int]]:
        return [(match.start(), match.end() - 1) for match in regex.finditer(rf"\p{{{name}}}+", text)]

    categories = {names: ranges(f"gc={names[0]}") for names in value_names("GC") if len(names[0]) == 2 and names[0] != "lc"}
    scripts = {names: ranges(f"sc={names[0]}") for names in value_names("SC")}
    check_partition("General_Category", categories.values())
    check_partition("Script", scripts.values())
    for names, found in categories.items():
        for first, last in found:
            for code_point in range(first, last + 1):
                if database.category(chr(code_point)).lower() != names[0]:
                    raise SystemExit(f"{package} and {database.__name__} disagree on U+{code_point:04X}")

    equal = second or "CPython 3.11 unicodedata"
    lines = [
        f"# Unicode {version}",
        f"# From {package}, General_Category equal to {equal}. Made by: python -m generator.pin_unicode",
    ]
    for names, found in sorted(categories.items()):
        lines += section("gc " + " ".join(names), map(range_text, found))
    for name, aliases in BINARY.items():
        lines += section(f"binary {name} {aliases}".strip(), map(range_text, ranges(name)))
    lines += section("fold", ("/".join(f"{ord(c):04X}" for c in orbit) for orbit in fold_orbits(text)))
    for names, found in sorted(scripts.items()):
        lines += section("script " + " ".join(names), map(range_text, found))
    return "\n".join(lines) + "\n"


def value_names(prop: str) -> list[tuple[str, ...]]:
    """The loose names of each value of a property, the short name first: ("lu", "uppercaseletter")."""
    names_of: dict[int, list[str]] = {}
    for name, value in importlib.import_module("regex._regex_core").PROPERTIES[prop][1].items():
        if name.isalpha():
            names_of.setdefault(value, []).append(name.lower())
    # `regex` lists the long name first, then the short one; some scripts (Thai) have one name.
    return [(*names[1:2], names[0], *names[2:]) for names in names_of.values()]


def fold_orbits(text: str) -> list[str]:
    """The sets of two or more characters that match each other without regard to case, each in code point order."""
    regex = importlib.import_module("regex")
    cased = r"[\p{Cased}\p{Changes_When_Casemapped}\p{Changes_When_Casefolded}]"
    candidates = "".join(c for c in regex.findall(cased, text) if c not in TURKIC)
    orbit_of = {c: "".join(regex.findall("(?i)" + regex.escape(c), candidates)) for c in candidates}
    for orbit in orbit_of.values():
        if any(orbit_of[c] != orbit for c in orbit):
            raise SystemExit(f"not an equivalence class: {orbit!a}")
    return sorted({orbit for orbit in orbit_of.values() if len(orbit) > 1})


def check_partition(prop: str, values: Iterable[list[tuple[int, int]]]) -> None:
    end = 0
    for first, last in sorted(pair for found in values for pair in found):
        if first != end:
            raise SystemExit(f"{prop} does not give every code point one value, see U+{min(first, end):04X}")
        end = last + 1
    if end != EVERY:
        raise SystemExit(f"{prop} ends at U+{end:04X}")


def range_text(pair: tuple[int, int]) -> str:
    first, last = pair
    return f"{first:04X}" if first == last else f"{first:04X}-{last:04X}"


def section(title: str, words: Iterable[str]) -> Iterator[str]:
    """A title line, then the words, wrapped."""
    yield f"[{title}]"
    line = ""
    for word in words:
        if line and len(line) + 1 + len(word) > 120:
            yield line
            line = ""
        line += f" {word}" if line else word
    if line:
        yield line


if __name__ == "__main__":
    if sys.argv[1:2] == ["describe"]:
        sys.stdout.write(describe(*sys.argv[2:]))
    else:
        raise SystemExit(main())
