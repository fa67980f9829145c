"""Program -> source text: a Python module, a C file and a C header. Templates hold the layout, this file the values.

    emit(program, family)  ->  {"python/cl100k.py": ..., "c/cl100k.c": ..., "c/cl100k.h": ...}

The loops are not emitted for each family but once, from `templates/` as they are: what is generated is data. Invariant: the text
depends on the program alone (no date, path, tool version or hash order), so that two runs anywhere give the same bytes.
Rejected: emitted control flow (a state as code), which has to be earned by a measurement; printing lines of code from Python.
"""

from __future__ import annotations

import json
import re
import textwrap
from base64 import b64encode
from pathlib import Path
from typing import Any

import jinja2

from . import Program
from .codeset import CodeSet
from .families import Family, Step, step_fields
from .folders import folder
from .nfc import BORDER, FIRST, LIMIT, MAYBE, NO, SHIFT, nfc_tables
from .pack import Tables, pack

__all__ = ["LOOPS", "SHARED", "emit", "emit_catalogue"]

TEMPLATES = folder("generator") / "templates"
LOOPS = {f"c/{name}": name for name in sorted(path.name for path in TEMPLATES.iterdir()) if re.fullmatch(r"bitlex.*\.[ch]", name)} | {
    "python/scan.py": "scan.py"
}
SHARED = {Path(path).stem for path in LOOPS} | {"nfc", "__init__"}  # names that no lexer can have


def literal(text: str) -> str:
    """A string literal that Python and C read alike: ASCII, double quotes. JSON would write two surrogates for what is behind the BMP."""
    return '"' + "".join(json.dumps(c)[1:-1] if ord(c) < 0x10000 else f"\\U{ord(c):08x}" for c in text) + '"'


def base64(data: bytes) -> str:
    """Bytes as a call on lines of at most 120 characters of base64."""
    text = b64encode(data).decode()
    if len(text) <= 80:
        return f'data("{text}")'
    lines = [text[at : at + 120] for at in range(0, len(text), 120)]
    return "data(\n" + "\n".join(f'        "{line}"' for line in lines) + "\n    )"


def numbers(data: bytes, size: int, row: int = 0) -> str:
    """Little-endian numbers as a C initializer, a line for each row of a table or for 32 numbers."""
    values = [str(int.from_bytes(data[at : at + size], "little")) for at in range(0, len(data), size)]
    row = row or 32
    return "\n".join("    " + ", ".join(values[at : at + row]) + "," for at in range(0, len(values), row))


def template(name: str) -> str:
    text: str = (TEMPLATES / name).read_text(encoding="utf-8")
    return text


def environment() -> jinja2.Environment:
    found = jinja2.Environment(loader=jinja2.FunctionLoader(template), undefined=jinja2.StrictUndefined, trim_blocks=True,
                               keep_trailing_newline=True, autoescape=False)  # fmt: skip
    found.filters.update(base64=base64, numbers=numbers)
    return found


def describe(step: Step) -> str:
    fields = step_fields(step)
    return " ".join([fields.pop("kind"), *(f"{key}={value!a}" for key, value in fields.items())])


def comment(text: str) -> str:
    """Text that ends no comment and no docstring: an escape is broken up where it would."""
    return text.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')


def emit(program: Program, family: Family | None = None, command: str = "") -> dict[str, str]:
    """The files of one lexer, by path under `generated/`. `family` adds what the catalogue knows of it."""
    tables = pack(program)
    name = program.name
    values: dict[str, Any] = {
        "name": literal(name),
        "title": f"The {name} lexer: {tables.cells} cells, {states(tables)} states, {tables.size:,} bytes of tables, Unicode {program.unicode}.",
        "command": command or f"python -m generator {name}",
        "aliases": tuple_text(family.aliases if family else ()),
        "dialect": literal(program.dialect),
        "unicode": literal(program.unicode),
        "reference": literal(family.reference if family else ""),
        "source": literal(family.source if family else ""),
        "note": literal(family.note if family else ""),
        "steps": ["{" + ", ".join(f"{literal(k)}: {literal(v) if isinstance(v, str) else v}" for k, v in step_fields(step).items()) + "}"
                  for step in program.steps],
        "tables": tables,
    }  # fmt: skip
    about = [describe(step) for step in program.steps]
    templates = environment()
    in_c = [line.replace("*/", "*\\/").replace("/*", "/\\*").replace("??", "?\\?") for line in about]
    return {
        f"python/{name}.py": templates.get_template("family.py.jinja").render(values, about=[comment(line) for line in about]),
        f"c/{name}.c": templates.get_template("family.c.jinja").render(values, about=in_c),
        f"c/{name}.h": templates.get_template("family.h.jinja").render(values),
    }


def states(tables: Tables) -> str:
    """Such as "3 + 13": backward and forward states of each stage."""
    return ", ".join(f"{stage.backward_states} + {stage.forward_states}" for stage in tables.stages)


def tuple_text(items: tuple[str, ...]) -> str:
    return "(" + ", ".join(literal(item) for item in items) + ("," if len(items) == 1 else "") + ")"


def emit_catalogue(families: dict[str, Family], command: str = "python -m generator --all") -> dict[str, str]:
    """The files that are not of one family: the loops, the tables of NFC, and the list of what there is."""
    listed = [(literal(name), tuple_text(known.aliases)) for name, known in families.items()]
    files = {path: (TEMPLATES / source).read_text(encoding="utf-8") for path, source in LOOPS.items()}
    files["__init__.py"] = environment().get_template("catalogue.py.jinja").render(families=listed, command=command)
    files["python/__init__.py"] = '"""A module of tables for each family, and the loop that reads them (`scan`). DO NOT EDIT."""\n'
    tables = nfc_tables()
    values = {
        "command": command, "tables": tables, "words": b"".join(word.to_bytes(2, "little") for word in tables.words),
        "shift": SHIFT, "limit": LIMIT, "maybe": MAYBE, "no": NO, "first": FIRST, "border": BORDER,
        "newer": in_brackets(tables.newer), "taken_in": in_brackets(tables.taken_in),
    }  # fmt: skip
    files["c/nfc.h"] = environment().get_template("nfc.h.jinja").render(values)
    files["python/nfc.py"] = environment().get_template("nfc.py.jinja").render(values)
    return files


def in_brackets(points: CodeSet) -> list[str]:
    """A set as lines of a string literal that go between the brackets of a character class."""
    words = ["-".join(map(escape, sorted({first, last}))) for first, last in points.ranges]
    return ['"' + line.replace(" ", "") + '"' for line in textwrap.wrap(" ".join(words), 120)]


def escape(point: int) -> str:
    return f"\\u{point:04X}" if point < 0x10000 else f"\\U{point:08X}"
