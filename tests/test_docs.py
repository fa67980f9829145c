"""What pages say, tried as it stands there: examples, and sizes and limits that are named. training.md, and parts of others, have tests of their own."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy
import pytest

import bitlex
from bitlex.cli import main
from compilers import C, build, run

ROOT = Path(__file__).resolve().parent.parent


def page(name: str) -> str:
    return re.sub(r"\s+", " ", (ROOT / name).read_text(encoding="utf-8"))


def example(name: str, having: str) -> str:
    """The one block of Python that has this."""
    blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / name).read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    (found,) = (block for block in blocks if having in block)
    return str(found)


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> bitlex.Tokenizer:
    monkeypatch.chdir(tmp_path)
    return bitlex.train("hello world, many texts, where and how long? " * 3, 280, pattern="cl100k")


@pytest.mark.parametrize("name", ["README.md", "CHANGELOG.md", "tables/README.md", *(f"docs/{path.name}" for path in sorted((ROOT / "docs").glob("*.md")))])
def test_links(name: str) -> None:
    """Files that are there, and headings that they have."""
    for target, heading in re.findall(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]*))?\)", (ROOT / name).read_text(encoding="utf-8")):
        path = (ROOT / name).parent / target if target else ROOT / name
        assert path.exists(), target
        if heading:
            titles = re.findall(r"^#+ (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
            assert heading in [re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles]


def test_lexers_of_the_readme() -> None:
    code = example("README.md", "bitlex.families()")
    names: dict[str, Any] = {}
    exec(code, names)
    told = re.findall(r"^(lexer\.\w+\(.*?\)) +#.*?(\[.*?\])", code, re.MULTILINE)
    assert len(told) == 2
    for call, result in told:
        assert list(eval(call, names)) == eval(result)


def test_tokenizers_of_the_readme(small: bitlex.Tokenizer) -> None:
    """But for the lines that read cl100k_base, which need a file or a network."""
    made, rest = example("README.md", "encode_batch_flat").split("tokenizer.encode(", 1)
    assert made.count("\n") == 3 and made.count("bitlex.Tokenizer.from_") == 3
    Path("book.txt").write_text("a book")
    names: dict[str, Any] = {"tokenizer": small}
    exec(("tokenizer.encode(" + rest).replace("15339, 1917", "104, 105"), names)
    assert names["begins"].tolist() == [0, *numpy.cumsum([small.count("many"), small.count("texts")])]
    assert bitlex.Tokenizer.from_file("cl100k.bitlex").special_tokens == {}


def test_streams(small: bitlex.Tokenizer) -> None:
    code = example("docs/streams.md", "decode_stream()").replace("9468", "104").replace("19044", "105")  # which are of cl100k_base
    sent: list[list[int]] = []
    exec(code, {"bitlex": bitlex, "tokenizer": small, "numpy": numpy, "parts": ["hel", "lo wor", "ld"], "send": lambda ids: sent.append(ids.tolist())})
    assert [number for ids in sent for number in ids] == small.encode("hello world")


def test_sizes_in_c(tmp_path: Path) -> None:
    (tmp_path / "sizes.c").write_text(
        '#include "bitlex_stream.h"\n#include <stdio.h>\nint main(void) { printf("%zu %zu %.0f", bitlex_stream_table_size(), bitlex_lanes_size(), '
        "(double)BITLEX_CHECKPOINTS * BITLEX_CHECKPOINTS * BITLEX_CHECKPOINTS * BITLEX_BLOCK); return 0; }\n"
    )
    lexers = [C / f"{name}.c" for name in ("bitlex", "bitlex_stream", "bitlex_lanes")]
    table, lanes, reach = map(int, run(build(tmp_path / "sizes", [tmp_path / "sizes.c", *lexers], "-O2", f"-I{C}")).split())
    assert f"when a machine has its first stream ({table >> 10} KB)" in page("docs/streams.md")
    assert f"`bitlex_lanes_size()` has grown to some {lanes / 10240:.0f}0 KB" in page("CHANGELOG.md")
    assert f"({reach // 10**12} terabytes by default)" in (C / "bitlex.h").read_text()


def test_sizes_of_the_runtime() -> None:
    """Those that are told of, as the sources have them."""
    strings, pieces, block = ((ROOT / name).read_text() for name in ("runtime/_strings.c", "runtime/_pieces.c", "generated/c/bitlex.h"))

    def named(source: str, name: str) -> int:
        (found,) = re.findall(rf"^#define {name} (\d+)", source, re.MULTILINE)
        return int(found)

    room = named(strings, "PART_BLOCKS") * named(block, "BITLEX_BLOCK")
    assert f"is made UTF-8 {room >> 10} KB of room at a time" in page("docs/tokens.md")
    few, many = (1 << named(pieces, name) for name in ("KEPT", "MORE"))  # places of 32 bytes
    assert f"up to {few:,} of them, by a table of {few >> 5} KB" in page("docs/streams.md")
    assert f"once there were {many:,}, as many, by one of {many >> 5} KB" in page("docs/streams.md")


def test_patterns_that_are_too_large() -> None:
    (found,) = re.findall(r"65,536 entries each: `([^`]*)` compiles in a second, and `([^`]*)`, with ([\d,]+) states", page("README.md"))
    bitlex.compile(found[0])
    with pytest.raises(bitlex.LimitError, match=rf"^this lexer has {found[2].replace(',', '')} states .*65,536 entries$"):
        bitlex.compile(found[1])


def test_training_with_the_drop_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"texts": ["hello world"] * 4}
    exec(example("docs/compat.md", "BpeTrainer"), names)
    assert names["tokenizer"].encode("hello world").tokens == ["hello", "Ġworld"]
    assert bitlex.Tokenizer.from_file("tokenizer.json").decode(names["tokenizer"].encode("hello").ids) == "hello"


@pytest.mark.parametrize("command", ["encode", "count", "train"])
def test_what_help_says_of_memory(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Ids are kept by `encode` alone, and a text in parts is read whole by `train` alone."""
    with pytest.raises(SystemExit):
        main([command, "--help"])
    told = capsys.readouterr().out
    assert ("The ids of a file" in told) == (command == "encode")
    assert ("done in parts" in told) == (command != "train")
