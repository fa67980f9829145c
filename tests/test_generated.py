"""generated/ is what the generator writes: fresh, the same bytes anywhere, one set of tables in two languages, C without a warning."""

from __future__ import annotations

import errno
import importlib
import os
import re
import shutil
import subprocess
import sys
import types
from pathlib import Path

import pytest

from generator.__main__ import main, replace
from generator.emit import LOOPS
from generator.families import families

ROOT = Path(__file__).parent.parent
C = ROOT / "generated" / "c"
COMPILER = shutil.which("cc") or shutil.which("gcc") or ""
needs_compiler = pytest.mark.skipif(not COMPILER, reason="no C compiler")
MOST_BYTES = 64 * 1024


def test_the_committed_files_are_fresh(capsys):
    assert main(["--check"]) == 0, capsys.readouterr().out


def test_a_full_disk_is_told_with_the_file(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "chmod", full)
    with pytest.raises(OSError, match="No space left on device") as caught:
        replace(tmp_path / "c" / "mine.c", "text")
    assert caught.value.filename == str(tmp_path / "c" / "mine.c") and list((tmp_path / "c").iterdir()) == []


def test_check_notices_a_changed_a_missing_and_a_foreign_file(tmp_path, monkeypatch, capsys):
    out = tmp_path / "generated"
    shutil.copytree(ROOT / "generated", out, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr("generator.__main__.OUT", out)
    assert main(["--check"]) == 0
    (out / "c" / "cl100k.h").unlink()
    (out / "python" / "gpt2.py").write_text("NAME = 1\n")
    (out / "python" / "gone.py").write_text("")
    assert main(["--check"]) == 1
    said = capsys.readouterr().out
    assert "c/cl100k.h: missing" in said and "gone.py: no family writes this" in said and "make generate" in said
    assert main([]) == 0 and main(["--check"]) == 0 and not (out / "python" / "gone.py").exists()


def test_the_bytes_do_not_depend_on_hash_order_or_place(tmp_path):
    written = []
    for seed in ("1", "2"):
        out = tmp_path / seed
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)}
        subprocess.run([sys.executable, "-m", "generator", "--out", str(out)], check=True, cwd=tmp_path, env=environment, timeout=120)
        written.append({path.relative_to(out): path.read_bytes() for path in out.rglob("*") if path.is_file()})
    assert written[0] == written[1]
    assert len(written[0]) == 3 * len(families()) + len(LOOPS) + 4  # the tables of NFC, and the lists of what there is


def arrays(source: str) -> dict[str, list[int]]:
    found = re.findall(r"static const uint(?:8|16)_t (\w+)\[\] = \{\n(.*?)\n\};", source, re.S)
    return {name: [int(number) for number in body.replace("\n", " ").split(",") if number.strip()] for name, body in found}


@pytest.mark.parametrize("name", list(families()))
def test_c_and_python_hold_the_same_tables(name):
    tables = importlib.import_module(f"generated.python.{name}").TABLES
    source = (C / f"{name}.c").read_text()
    read = arrays(source)
    if tables.get("continuation"):
        assert read.pop("continuation") == list(tables["continuation"])

    def words(data: bytes) -> list[int]:
        return [low | high << 8 for low, high in zip(data[::2], data[1::2], strict=True)]

    assert read.pop("stage1") == (words(tables["stage1"]) if tables["wide"] else list(tables["stage1"]))
    assert read.pop("stage2") == list(tables["stage2"])
    for number, stage in enumerate(tables["stages"]):
        columns, count, labels, backward_next, backward_label, end, forward_next, output = stage
        assert read.pop(f"columns{number}") == list(columns)
        assert read.pop(f"backward_next{number}") == words(backward_next)
        assert read.pop(f"backward_label{number}") == words(backward_label)
        assert read.pop(f"forward_next{number}") == words(forward_next)
        assert read.pop(f"output{number}") == list(output)
        line = f"{{ {count}, {labels}, {len(backward_next) // 2 // count}, {len(output) // labels}, columns{number}, "
        assert line in source and f"output{number}, {end} }}," in source
    assert not read
    fields = f"BITLEX_ABI, {tables['cells']}, {tables['shift']}, stage1, stage2, {len(tables['stages'])}, {int(tables['drops'])}, stages"
    assert fields in source


@needs_compiler
@pytest.mark.parametrize("name", list(families()))
def test_the_c_compiles_without_a_warning_and_is_small(name, tmp_path):
    flags = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-O2", "-c"]
    target = tmp_path / "family.o"
    subprocess.run([COMPILER, *flags, str(C / f"{name}.c"), "-o", str(target)], check=True)
    sizes = subprocess.run(["size", str(target)], capture_output=True, text=True, check=True) if shutil.which("size") else None
    if sizes:
        text, data = sizes.stdout.splitlines()[1].split()[:2]
        assert int(text) + int(data) <= MOST_BYTES


@needs_compiler
def test_the_loop_compiles_as_c_and_the_headers_as_cpp(tmp_path):
    flags = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-O2"]
    for name in ("bitlex", "bitlex_lanes"):
        subprocess.run([COMPILER, "-std=c99", *flags, "-c", str(C / f"{name}.c"), "-o", str(tmp_path / f"{name}.o")], check=True)
    if shutil.which("g++"):
        program = tmp_path / "headers.cpp"
        program.write_text("".join(f'#include "{name}.h"\n' for name in families()) + "int main() { return bitlex_cl100k.abi != BITLEX_ABI; }\n")
        subprocess.run(["g++", "-std=c++11", *flags, f"-I{C}", "-c", str(program), "-o", str(tmp_path / "headers.o")], check=True)


@needs_compiler
def test_a_c_program_without_python_splits(tmp_path):
    program = tmp_path / "main.c"
    program.write_text(r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cl100k.h"
static bitlex_cursor cursor;
int main(void)
{
    const char *text = "I'm here 12345";
    uint64_t ends[8], start = 0;
    size_t n, i;
    bitlex_machine fast = bitlex_cl100k;
    void *memory = malloc(bitlex_lanes_size());
    if (bitlex_accelerate(&fast, memory, BITLEX_AVX512) != BITLEX_PORTABLE && fast.lanes == NULL) return 1;
    free(memory);
    bitlex_begin(&cursor, &bitlex_cl100k, text, strlen(text), BITLEX_UTF8, NULL);
    while ((n = bitlex_next(&cursor, ends, 8)) != 0)
        for (i = 0; i < n; i++) {
            printf("[%.*s]", (int)(ends[i] - start), text + start);
            start = ends[i];
        }
    return 0;
}
""")
    target = tmp_path / "main"
    subprocess.run([COMPILER, "-std=c99", "-Wall", "-Wextra", "-Werror", f"-I{C}", str(program), str(C / "bitlex.c"), str(C / "bitlex_lanes.c"),
                    str(C / "cl100k.c"), "-o", str(target)], check=True)  # fmt: skip
    assert subprocess.run([str(target)], capture_output=True, text=True, check=True).stdout == "[I]['m][ here][ ][123][45]"


def test_a_pattern_of_your_own(tmp_path, capsys):
    arguments = ["--pattern", r"\w+*/|/*\s+|a??/", "--dialect", "oniguruma", "--name", "mine", "--out", str(tmp_path)]
    assert main(arguments) == 0
    written = sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.*"))
    assert written == [*sorted([*(f"c/{path.name}" for path in C.glob("bitlex*")), "c/mine.c", "c/mine.h"]), "python/mine.py", "python/scan.py"]
    if COMPILER:
        flags = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-c"]
        subprocess.run([COMPILER, *flags, str(tmp_path / "c/mine.c"), "-o", str(tmp_path / "mine.o")], check=True)
    assert main(["--pattern", "a", "--name", "not a name", "--out", str(tmp_path)]) == 1
    assert main(["--pattern", "(a", "--out", str(tmp_path)]) == 1
    assert "this group is not closed" in capsys.readouterr().err


def test_copies_of_the_loop_do_not_disturb_each_other():
    """Whoever takes a lexer away has a scan.py beside ours, which reads ill-formed bytes as well."""
    copies = []
    for _ in range(2):
        module = types.ModuleType("scan")
        exec(compile((ROOT / "generated/python/scan.py").read_text(encoding="utf-8"), "scan.py", "exec"), module.__dict__)
        copies.append(module)
    for module in (*copies, *reversed(copies)):
        assert module.decode(b"a\xff\xe4\xb8b")[0] == "a\ufffd\ufffdb"
