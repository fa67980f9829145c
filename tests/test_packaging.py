"""The rooms: who imports whom, read from the source; and that an installed bitlex has all it needs.

    tables (data)  <-  generator  ->  generated  <-  runtime            nobody imports tests

generator imports the standard library, jinja2 and itself; generated the standard library and itself, but for one door inside a
function; runtime imports generated, and generator only inside functions.
"""

from __future__ import annotations

import ast
import os
import re
import runpy
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from importlib.metadata import distribution, metadata, version
from importlib.resources import files
from pathlib import Path

import pytest

import bitlex

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ("generator", "generated", "runtime")


def imports(path: Path) -> Iterator[tuple[str, bool]]:
    """(absolute name, with the rooms for their installed names; whether it runs when the module is imported)."""
    room, *inside = path.relative_to(ROOT).with_suffix("").parts
    package = {"runtime": ["bitlex"], "tests": ["tests"]}.get(room, ["bitlex", room]) + inside[:-1]

    def walk(node: ast.AST, at_import: bool) -> Iterator[tuple[str, bool]]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Import):
                yield from ((alias.name, at_import) for alias in child.names)
            elif isinstance(child, ast.ImportFrom):
                base = package[: len(package) - child.level + 1] if child.level else []
                name = ".".join(base + ([child.module] if child.module else []))
                yield from ((name if child.module else f"{name}.{alias.name}", at_import) for alias in child.names)
            elif isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
                continue
            else:
                yield from walk(child, at_import and not isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)))

    yield from walk(ast.parse(path.read_text(encoding="utf-8")), True)


def modules(room: str) -> list[Path]:
    found = sorted((ROOT / room).rglob("*.py"))
    assert found
    return found


def is_standard(name: str) -> bool:
    return name.split(".")[0] in sys.stdlib_module_names


@pytest.mark.parametrize("path", modules("generator"), ids=lambda path: path.name)
def test_generator_imports_only_itself_and_jinja2(path: Path) -> None:
    # One reads the packages that it pins; two do what the generator does a second time, with another's algebra and another's engine.
    others = {"pin_unicode.py": {"regex", "unicodedata2"}, "reference.py": {"interegular"}, "backtracking.py": {"regex"}}
    fetched = others.get(path.name, set())
    wrong = {
        name for name, _ in imports(path)
        if not is_standard(name) and name.split(".")[0] not in {"jinja2", *fetched} and not f"{name}.".startswith("bitlex.generator.")
    }  # fmt: skip
    assert not wrong


@pytest.mark.parametrize("path", modules("generated"), ids=lambda path: path.name)
def test_generated_imports_only_itself(path: Path) -> None:
    others = {
        (name, now) for name, now in imports(path) if not is_standard(name) and not f"{name}.".startswith("bitlex.generated.")
    }
    door = {("bitlex.lexer", False)} if path == ROOT / "generated" / "__init__.py" else set()
    assert others == door


# What is optional is imported where it is used, and named in the message of an error where it is not installed.
OPTIONAL = {
    "compat/components.py": "tokenizers", "compat/tiktoken/load.py": "blobfile", "compat/tiktoken/registry.py": "tiktoken",
    "decompression.py": "zstandard", "hub.py": "huggingface_hub", "inputs.py": "pyarrow", "json_rows.py": "orjson", "training/plots.py": "matplotlib",
}  # fmt: skip


@pytest.mark.parametrize("path", modules("runtime"), ids=lambda path: path.relative_to(ROOT / "runtime").as_posix())
def test_runtime_imports_the_generator_only_inside_functions(path: Path) -> None:
    optional = OPTIONAL.get(path.relative_to(ROOT / "runtime").as_posix(), "")
    for name, now in imports(path):
        if is_standard(name):
            continue
        assert name.split(".")[0] in {"bitlex", "numpy", optional}
        assert not now or (name.split(".")[0] == "bitlex" and not f"{name}.".startswith("bitlex.generator."))


def test_no_public_name_is_that_of_a_module() -> None:
    # Type checkers read bitlex.lexer as the module of that name, which cannot be called.
    assert not set(bitlex.__all__) & {path.stem for path in (ROOT / "runtime").glob("*.py")}


@pytest.mark.parametrize("room", ROOMS)
def test_nobody_imports_tests(room: str) -> None:
    assert not [path for path in modules(room) for name, _ in imports(path) if name.split(".")[0] == "tests"]


def test_tables_holds_no_code() -> None:
    assert {path.suffix for path in (ROOT / "tables").rglob("*") if path.is_file()} <= {".txt", ".toml", ".md", ""}


def test_lines_of_c_are_as_short_as_those_of_python() -> None:
    """A directive for compilers cannot be broken, and what a template writes is data."""
    sources = [path for folder in ("runtime", "generator/templates") for ext in ("*.c", "*.h") for path in (ROOT / folder).glob(ext)]
    lines = [(path.name, number, line) for path in sources for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)]
    assert len(sources) > 100 and not [(name, number) for name, number, line in lines if len(line) > 150 and not line.startswith("#pragma")]


def test_every_file_for_the_wheel_is_installed() -> None:
    package = files("bitlex")
    for name in ("py.typed", "_native.pyi", "generated/c/bitlex.c", "generated/c/bitlex.h", "generator/templates/scan.py",
                 "tables/families.toml", "tables/classes.toml", "tables/unicode/16.0.txt", "tables/unicode/SHA256SUMS"):  # fmt: skip
        assert package.joinpath(name).is_file(), name
    for family in bitlex.families():
        for name in (f"generated/python/{family}.py", f"generated/c/{family}.c", f"generated/c/{family}.h"):
            assert package.joinpath(name).is_file(), name


def test_programs_made_by_pyinstaller_have_all_that_is_read_or_imported_by_name() -> None:
    (point,) = distribution("bitlex").entry_points.select(group="pyinstaller40")
    (folder,) = point.load()()
    hook = runpy.run_path(f"{folder}/hook-bitlex.py")
    assert sorted(hook["hiddenimports"]) == sorted(f"bitlex.generated.python.{family}" for family in bitlex.families())
    package = str(files("bitlex"))
    assert all(source == str(Path(package).parent / place) and Path(source).is_dir() for source, place in hook["datas"])
    within = tuple(f"{source}/" for source, _ in hook["datas"])
    data = [path for path in Path(package).rglob("*") if path.suffix in (".txt", ".toml", ".h", ".c", ".jinja")]
    assert data and all(str(path).startswith(within) for path in data)


def test_it_runs_from_a_zip_file(tmp_path: Path) -> None:
    """As of zipapp: in pure Python, since no system loads an extension from there."""
    setup = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]
    with zipfile.ZipFile(tmp_path / "all.pyz", "w") as archive:
        for package, room in setup["package-dir"].items():
            inside = ROOT.joinpath(room).glob("*") if room.startswith("runtime") else ROOT.joinpath(room).rglob("*")
            for path in inside:
                name = f"{package.replace('.', '/')}/{path.relative_to(ROOT / room).as_posix()}"
                if path.suffix in (".py", ".txt", ".toml", ".h", ".c", ".jinja") and path.parent.name != "c" and name not in archive.namelist():
                    archive.write(path, name)
    program = """if True:
        import bitlex
        from bitlex.generator.emit import emit_catalogue
        from bitlex.generator.proof import prove
        print(bitlex.__file__, bitlex.compile(r"\\w+|\\p{Lu}").split("ab c"), bitlex.lexer("gpt2").tier, prove("gpt2").counterexample)
        print(*sorted(emit_catalogue({})))
    """
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=tmp_path, env=os.environ | {"PYTHONPATH": "all.pyz"}
    )
    assert not done.stderr, done.stderr
    where, found = done.stdout.split(maxsplit=1)
    assert Path(where) == tmp_path / "all.pyz/bitlex/__init__.py"
    loops = {f"c/{path.name}" for path in ROOT.joinpath("generator/templates").glob("bitlex*.[ch]")}
    assert found.splitlines()[0] == "['ab', ' ', 'c'] pure None" and loops < set(found.splitlines()[1].split())


def test_a_python_without_libraries_of_the_system(tmp_path: Path) -> None:
    """Saves, writes and trains: only compressed files need some of them."""
    program = """if True:
        import sys
        for name in ("zlib", "bz2", "lzma", "ssl", "_ssl", "_hashlib", "sqlite3", "ctypes", "_ctypes", "readline", "curses"):
            sys.modules[name] = None
        import bitlex
        from bitlex.vocabularies.writing import minbpe, write
        made = bitlex.train("the thing of the theme", 258, pattern="gpt2")
        made.save("a.bitlex")
        compiled = bitlex.train("the thing", 258, pattern=bitlex.compile(r"\\w+|\\W+", dialect="python", unicode="18.0"))
        write(compiled.description, "a.model")
        checked = bitlex.Tokenizer.from_bytes(minbpe(compiled.description, checked=True))
        print(*(one.encode("the") for one in (made, bitlex.Tokenizer.from_file("a.bitlex"), bitlex.Tokenizer.from_file("a.model"), checked)))
    """
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (done.stdout, done.stderr) == ("[257] [257] [257] [257]\n", "")


def test_licences_are_installed() -> None:
    """That of Unicode asks for its notice with all copies of the data."""
    about = metadata("bitlex")
    assert about["License-Expression"] == "MIT AND Unicode-3.0"
    assert about.get_all("License-File") == ["LICENSE", "tables/unicode/LICENSE"]
    assert files("bitlex").joinpath("tables/unicode/LICENSE").read_text(encoding="utf-8").startswith("UNICODE LICENSE V3\n")


def test_versions_agree() -> None:
    assert version("bitlex") == bitlex.__version__
    assert re.search(rf"^## {re.escape(bitlex.__version__)}$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)


def test_packages_are_the_rooms() -> None:
    setup = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]
    assert sorted(setup["packages"]) == sorted(setup["package-dir"])
    assert all((ROOT / folder).is_dir() for folder in setup["package-dir"].values())
    inside = {path.parent.relative_to(ROOT).as_posix() for room in ROOMS for path in modules(room)} - {"generator/templates"}
    assert inside <= set(setup["package-dir"].values())


@pytest.mark.parametrize("name", ["runtime", "generator", "generated", "tables", "tests"])
def test_no_room_is_importable_under_its_own_name(name: str) -> None:
    program = f"import importlib.util, sys; print(importlib.util.find_spec({name!r}))"
    done = subprocess.run([sys.executable, "-I", "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "None\n"


def test_compiling_needs_no_jinja2() -> None:
    program = "import sys; sys.modules['jinja2'] = None; import bitlex; print(bitlex.compile('a').split('ab'))"
    done = subprocess.run([sys.executable, "-I", "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "['a', 'b']\n"
