"""The commands for tokens as a user has them: a process, its files, its output, its exit code. No mistake may end in a traceback."""

from __future__ import annotations

import hashlib
import json
import os
import re
import select
import shlex
import signal
import subprocess
import sys
import threading
import time
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bitlex import Tokenizer, cli
from bitlex.commands import apart
from bitlex.commands.choosing import tokenizer_of
from bitlex.commands.encoding import folded
from bitlex.formats import visible
from bitlex.inputs import InputError, Source
from bitlex.terminal import Progress
from bitlex.vocabularies.published import KNOWN, Published
from interrupting import listen, wait_for
from peaks import SAYS_ITS_PEAK, peak
from small_tokenizers import RANKS, SPECIAL, huggingface, rank_file
from terminals import shown_to_the_end

COMMAND = [sys.executable, "-m", "bitlex"]
TEXT = "hello world, hello 12345\n caf\u00e9 \u4e2d\U0001f642\n"
POSIX = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals, limits or terminals")


def bitlex_command(*arguments: str | Path, input: bytes | None = b"", **options: Any) -> subprocess.CompletedProcess[bytes]:
    done = subprocess.run([*COMMAND, *map(str, arguments)], input=input, capture_output=True, timeout=120, check=False, **options)
    assert b"Traceback" not in done.stderr, done.stderr.decode()
    return done


def output(*arguments: str | Path, **options: Any) -> bytes:
    done = bitlex_command(*arguments, **options)
    assert (done.returncode, done.stderr) == (0, b""), done.stderr.decode()
    return done.stdout


def refusal(*arguments: str | Path, code: int = 1, **options: Any) -> str:
    """The one line on standard error, behind "bitlex: "."""
    done = bitlex_command(*arguments, **options)
    assert done.returncode == code
    lines = done.stderr.decode().splitlines()
    assert len(lines) == 1 or code == 2
    return lines[-1].removeprefix("bitlex: ")


def left(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


@pytest.fixture(scope="module")
def ranks(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, ...]:
    """How a tokenizer with tiktoken's convention is named."""
    return ("-t", str(rank_file(tmp_path_factory.mktemp("ranks"))), *SPECIAL)


@pytest.fixture(scope="module")
def by_ranks(ranks: tuple[str, ...]) -> Tokenizer:
    return Tokenizer.from_file(ranks[1], family="cl100k", special={"<|end|>": 300, "<|go|>": 301})


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """The same for that of Hugging Face tokenizers."""
    return ("-t", str(huggingface(tmp_path_factory.mktemp("huggingface"))))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


# --- encode ---


def test_text_on_standard_output(folder: Path, ranks: tuple[str, ...], by_ranks: Tokenizer) -> None:
    (folder / "a.txt").write_text(TEXT)
    ids = by_ranks.encode(TEXT)
    line = " ".join(map(str, ids)) + "\n"
    assert output("encode", *ranks, "a.txt").decode() == line
    assert output("encode", *ranks, input=TEXT.encode()).decode() == line
    assert output("encode", *ranks, "a.txt", "-", "a.txt", input=b"").decode() == line + "\n" + line
    assert json.loads(output("encode", *ranks, "a.txt", "--format", "jsonl", "--threads", "1")) == ids
    assert np.frombuffer(output("encode", *ranks, "a.txt", "--format", "bin", "--dtype", "u16"), "<u2").tolist() == ids
    env = {**os.environ, "BITLEX_TIER": "pure"}
    assert output("encode", *ranks, "a.txt", env=env).decode() == line


@pytest.mark.parametrize("format", ["npy", "bin", "jsonl", "txt"])
def test_there_and_back(folder: Path, ranks: tuple[str, ...], format: str) -> None:
    data = TEXT.encode() * 3 + b"\xff\xfe\x00 not UTF-8 \xe4\xb8\r\n"
    (folder / "a").write_bytes(data)
    assert output("encode", *ranks, "a", "-o", f"ids.{format}", "--dtype", "u16") == b""
    assert output("decode", *ranks, f"ids.{format}") == data
    assert output("decode", *ranks, f"ids.{format}", "-o", "b") == b"" and (folder / "b").read_bytes() == data
    (text,) = [json.loads(line) for line in output("decode", *ranks, f"ids.{format}", "--format", "jsonl").splitlines()]
    assert text["text"].encode("utf-8", "surrogateescape") == data
    assert set(left(folder)) == {"a", "b", f"ids.{format}"} | ({"ids.idx.npy"} if format in ("npy", "bin") else set())


def test_documents_of_several_files_in_one(folder: Path, ranks: tuple[str, ...], by_ranks: Tokenizer) -> None:
    texts = [f"hello {number}\n" * (number % 5) for number in range(5000)]
    for name, part in (("a.jsonl", texts[:3000]), ("b.jsonl", texts[3000:])):
        (folder / name).write_text("".join(json.dumps({"page": {"text": text}}) + "\n" for text in part))
    output("encode", *ranks, "*.jsonl", "--field", "page.text", "-o", "all.npy", "--append", "<|end|>")
    ids, index = np.load("all.npy"), np.load("all.idx.npy")
    assert ids.dtype == np.uint32
    assert [ids[a:b].tolist() for a, b in zip(index[:-1], index[1:], strict=True)] == [[*by_ranks.encode(text), 300] for text in texts]
    lines = output("decode", *ranks, "all.npy", "--format", "jsonl", "--skip-special").splitlines()
    assert [json.loads(line)["text"] for line in lines] == texts
    assert output("decode", *ranks, "all.npy").decode() == "".join(text + "<|end|>" for text in texts)


def test_numbers_that_do_not_fit(folder: Path, ranks: tuple[str, ...]) -> None:
    many = [*ranks, "--special", "<|far|>=65536"]
    assert refusal("encode", *many, "--dtype", "u16", "-o", "a.npy", input=b"x").endswith("has ids up to 65536, which do not fit 16 bits")
    assert output("encode", *many, "--dtype", "u16", input=b"x") == b"120\n"  # text has no such limit
    assert left(folder) == []


def test_numbers_of_a_template_that_do_not_fit(folder: Path) -> None:
    path = huggingface(folder)
    path.write_text(path.read_text().replace('"ids": [260]', '"ids": [70000]'))
    encode = ("encode", "-t", path, "--dtype", "u16", "-o", "a.npy")
    assert refusal(*encode, "--add-special-tokens", input=b"x").endswith("has ids up to 70000, which do not fit 16 bits")
    assert output(*encode, input=b"x") == b""


# --- special tokens ---


def test_special_tokens(ranks: tuple[str, ...], template: tuple[str, str]) -> None:
    data = b"<|end|>hello<|go|>"
    said = refusal("encode", *ranks, input=data)
    assert said == (
        "-: the text has the special token '<|end|>', at byte 0; --allow-special takes it for what it is, --ordinary for text like any other"
    )
    assert refusal("show", *ranks, data.decode()) == said.removeprefix("-: ")
    said = refusal("encode", *ranks, "--allow-special", "<|end|>", input=data)
    assert said.startswith("-: the text has the special token '<|go|>', at byte 12;")
    assert output("encode", *ranks, "--allow-special", "<|end|>", "--allow-special", "<|go|>", input=data) == b"300 259 301\n"
    assert output("encode", *ranks, "--allow-special", "all", input=data) == b"300 259 301\n"
    plain = output("encode", *ranks, "--ordinary", input=data)
    assert b"300" not in plain.split() and output("decode", *ranks, input=plain) == data
    told = f"'<s>' is no special token of {ranks[1]}; 'bitlex vocab' lists them"
    assert refusal("encode", *ranks, "--append", "<s>", input=data) == f"--append: {told}"
    assert refusal("encode", *ranks, "--allow-special", "<s>", input=data) == f"--allow-special: {told}"
    assert refusal("encode", *ranks, "--allow-special", "<s>", input=data).startswith("--allow-special: '<s>' is no special token of ")
    data = b"hello</s>"
    assert output("encode", *template, input=data) == b"259 261\n"
    assert output("encode", *template, "--add-special-tokens", "--append", "</s>", input=data) == b"260 259 261 261\n"
    assert output("count", *template, "--add-special-tokens", "--append", "</s>", input=data).split() == [b"4", b"-"]
    assert output("encode", *template, "--ordinary", input=data).split()[0] == b"259"


def test_a_special_token_with_an_equals_sign(ranks: tuple[str, ...]) -> None:
    special = ("--special", "<a=1>=302", "--special", "a=\u0663=303")
    listed = json.loads(output("vocab", *ranks[1:], *special, "--json"))["special_tokens"]
    assert listed["<a=1>"] == 302 and listed["a=\u0663"] == 303


def test_what_is_appended_is_behind_what_the_template_puts_there(folder: Path) -> None:
    path = huggingface(folder)
    fields = json.loads(path.read_text())
    fields["post_processor"]["single"].append({"SpecialToken": {"id": "<s>", "type_id": 0}})
    path.write_text(json.dumps(fields))
    encode = ("encode", "-t", path, "--add-special-tokens", "--append", "</s>")
    assert output(*encode, input=b"hello") == b"260 259 260 261\n"


# --- folders, resuming ---


def test_a_folder_of_outputs(folder: Path, ranks: tuple[str, ...], by_ranks: Tokenizer) -> None:
    for name in ("data/a.txt", "data/sub/a.txt", "b.txt"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"hello {name}")
    output("encode", *ranks, "data/**/*.txt", "b.txt", "-o", "out/", "--format", "bin", "--dtype", "u16")
    names = ["a.txt.bin", "a.txt.idx.npy", "b.txt.bin", "b.txt.idx.npy", "bitlex-manifest.jsonl", "sub/a.txt.bin", "sub/a.txt.idx.npy"]
    assert left(folder / "out") == names
    assert np.fromfile("out/sub/a.txt.bin", "<u2").tolist() == by_ranks.encode("hello data/sub/a.txt")


def test_what_would_overwrite_is_refused(folder: Path, ranks: tuple[str, ...]) -> None:
    for name in ("x/a", "y/a", "y/a.idx", "y/bitlex-manifest", "z/bitlex-manifest.jsonl"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("hello")
    (folder / "there").mkdir()
    for name in ("there.npy", "there/b.txt.bin"):
        (folder / name).touch()
    before = left(folder)
    message = "its index, there.idx.npy, would become that of there.bin; remove it, or take another name"
    assert refusal("encode", *ranks, "x/a", "-o", "there.bin") == f"there.npy: {message}"
    assert refusal("encode", *ranks, "b.txt", "-o", "there/").startswith("there/b.txt.bin: its index, there/b.txt.idx.npy, would become that of ")
    assert refusal("encode", *ranks, "x/a", "y/a", "-o", "out/") == "x/a and y/a would both go to a.idx.npy"
    assert refusal("encode", *ranks, "y/a", "y/a.idx", "-o", "out/") == "y/a and y/a.idx would both go to a.idx.npy"
    assert refusal("encode", *ranks, "y/*", "-o", "out/", "--format", "jsonl") == "the manifest and y/bitlex-manifest would both go to bitlex-manifest.jsonl"
    assert refusal("encode", *ranks, "x/a", "-o", "x/../x/a", "--format", "txt") == "x/a: this is an input and an output"
    assert refusal("encode", *ranks, "-", "-o", "out/") == "standard input goes to a file: -o FILE"
    assert refusal("decode", *ranks, "x/a", "-o", "y/../x/a") == "x/a: this is an input and an output"
    assert refusal("decode", *ranks, "y/a.npy", "-o", "y/a.idx.npy") == "y/a.idx.npy: this is an input and an output"
    train = ("train", "--vocab-size", "300", "-o")
    for command in (("encode", *ranks, "--format", "jsonl", "-o"), train, ("show", *ranks, "--html")):
        with open("x/a", "rb") as given:
            assert refusal(*command, "x/a", input=None, stdin=given) == "-: this is an input and an output"
    (folder / "x/c").hardlink_to("x/a")  # as where case does not count, or a disk is mounted twice
    assert refusal("encode", *ranks, "x/a", "-o", "x/c", "--format", "txt") == "x/a: this is an input and an output"
    (folder / "x/c").unlink()
    manifest = "z/bitlex-manifest.jsonl"
    assert refusal("encode", *ranks, manifest, "-o", "z/", "--input", "text") == f"{manifest}: this is an input and an output"
    for command in (("encode", *ranks, "x/a", "--format", "bin"), ("decode", *ranks)):
        assert refusal(*command, "-o", ranks[1]) == f"{ranks[1]}: this is an input and an output"
    json_file = huggingface(folder / "z")  # of a folder that stands for it
    assert refusal("vocab", "z", "--save", "z/tokenizer.json") == "z/tokenizer.json: this is an input and an output"
    json_file.unlink()
    for arguments in (("x/a", "x/*"), ("x/../x/a", "y/a", "--held-out", "x/*"), ("z/b.model", "z/*.vocab"), ("z/c", "z/c.checkpoint")):
        (folder / "z/b.vocab").write_text("hello")
        (folder / "z/c.checkpoint").write_text("hello")
        assert re.fullmatch(r"(x/a|z/b\.vocab|z/c\.checkpoint): this is an input and an output", refusal(*train, *arguments))
        assert {(folder / name).read_text() for name in ("x/a", "z/b.vocab", "z/c.checkpoint")} == {"hello"}
    for name in ("z/b.vocab", "z/c.checkpoint"):
        (folder / name).unlink()
    assert refusal("show", *ranks, "hello", "--html", ranks[1]) == f"{ranks[1]}: this is an input and an output"
    assert refusal("vocab", *ranks[1:], "--save", ranks[1]) == f"{ranks[1]}: this is an input and an output"
    assert left(folder) == before


def test_names_that_a_file_system_takes_for_one(folder: Path, ranks: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """Where case does not count, or how a letter is spelled; elsewhere these are names of two files."""
    for name in ("x/a.txt", "y/A.txt", "y/caf\u00e9", "x/cafe\u0301", "BITLEX-manifest"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(f"hello {name}")
    encode = ["encode", *ranks, "-o", "out/", "--format", "jsonl"]
    if not (folder / "x/A.txt").exists():
        assert cli.main([*encode, "x/a.txt", "y/A.txt"]) == 0
        assert left(folder / "out") == ["A.txt.jsonl", "a.txt.jsonl", "bitlex-manifest.jsonl"]
    exists = os.path.exists
    monkeypatch.setattr(os.path, "exists", lambda path: exists(path) or folded(str(path)) in map(folded, map(str, Path(path).parent.iterdir())))
    with pytest.raises(ValueError, match=r"^x/a\.txt and y/A\.txt would both go to a\.txt\.jsonl, which is the same name as A\.txt\.jsonl there$"):
        cli.main([*encode, "x/a.txt", "y/A.txt"])
    with pytest.raises(ValueError, match=r" would both go to caf\u00e9\.jsonl, which is the same name as cafe\u0301\.jsonl there$"):
        cli.main([*encode, "y/caf\u00e9", "x/cafe\u0301"])
    with pytest.raises(ValueError, match=r"the manifest and BITLEX-manifest would both go to "):
        cli.main([*encode, "BITLEX-manifest"])
    assert [path.name for path in (folder / "out").iterdir() if path.name.startswith(".")] == []


@pytest.mark.skipif(not os.path.exists("/proc/self/mem"), reason="Linux alone has such a file; test_inputs.py has the same without one")
def test_what_fails_while_it_is_read_is_named(folder: Path, ranks: tuple[str, ...]) -> None:
    wrong = "/proc/self/mem"
    for command in (
        ["encode", *ranks, wrong], ["encode", "-t", wrong, "a"], ["vocab", wrong], ["split", "--family", "gpt2", wrong],
        ["train", wrong, "--vocab-size", "260", "-o", "a.bitlex"], ["count-pieces", wrong, "-o", "a.pieces"],
    ):  # fmt: skip
        assert refusal(*command) == f"{wrong}: Input/output error"
    with open(wrong, "rb") as given:
        assert refusal("show", *ranks, input=None, stdin=given) == "standard input: Input/output error"


@POSIX
def test_names_of_folders_and_of_nothing(folder: Path, ranks: tuple[str, ...], by_ranks: Tokenizer) -> None:
    (folder / "a").write_text("hello")
    (folder / "there").mkdir()
    (folder / "broken").symlink_to("nowhere")
    for command in (["encode", *ranks], ["count", *ranks], ["decode", *ranks], ["train", "--vocab-size", "260", "-o", "x"], ["count-pieces", "-o", "x"]):
        assert refusal(*command, "") == "the name of an input is empty"
    assert refusal("vocab", "") == "'': No such file or directory"
    assert refusal("vocab", "broken") == "broken: No such file or directory"  # and the hub is not asked
    for command in (["decode", *ranks, "a", "-o"], ["vocab", *ranks[1:], "--save"], ["show", *ranks, "a", "--html"]):
        assert refusal(*command, "new/") == "new/: Is a directory"
    with pytest.raises(IsADirectoryError):
        by_ranks.save("new/")
    assert refusal("encode", *ranks, "a", "-o", "d/" * 3000).endswith("d/: File name too long")
    assert output("encode", *ranks, "a") == bitlex_command("encode", *ranks, "there", "a").stdout  # no line for what cannot be read
    for command in (["encode", *ranks, "--format", "txt"], ["decode", *ranks]):
        assert refusal(*command, "a", "-o", "-") == "-: leave -o out for standard output; a file of that name is ./-"
    for command in (
        ["vocab", *ranks[1:], "--save"], ["show", *ranks, "a", "--html"], ["train", "a", "--vocab-size", "260", "-o"], ["count-pieces", "a", "-o"],
    ):  # fmt: skip
        assert refusal(*command, "-") == "-: name a file; a file of that name is ./-"
    with open("b", "wb") as file:
        done = bitlex_command("encode", *ranks, "a", "--format", "bin", "-o", f"/dev/fd/{file.fileno()}", pass_fds=[file.fileno()])
        page = bitlex_command("show", *ranks, "a", "--html", f"/dev/fd/{file.fileno()}", pass_fds=[file.fileno()])
    assert b"leave -o out for standard output" in done.stderr and page.stderr.endswith(b"name a file\n") and left(folder) == ["a", "b"]


def test_gpt2_with_special_tokens_is_a_rank_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """By itself it is a model of the hub, whose tokenizer.json takes no other tokens."""
    asked: list[Any] = []
    monkeypatch.setattr(Tokenizer, "from_tiktoken", lambda name, **options: asked.append((name, options)))
    tokenizer_of("gpt2", special={"<|x|>": 50257})
    assert asked == [("gpt2", {"special": {"<|x|>": 50257}})]


@POSIX
def test_outputs_that_are_one_by_a_link(folder: Path, ranks: tuple[str, ...]) -> None:
    for name in ("in/x/a", "in/y/a"):
        (folder / name).parent.mkdir(parents=True)
        (folder / name).write_text("hello")
    (folder / "out/x").mkdir(parents=True)
    (folder / "out/y").symlink_to("x")
    refused = refusal("encode", *ranks, "in/**/a", "-o", "out/", "--format", "txt")
    assert sorted(refused.split(": ")[0].split(" and ")) == ["out/x/a.txt", "out/y/a.txt"]
    assert refused.endswith(": these are one file, to which a link leads, and would be two outputs") and left(folder / "out") == []
    (folder / "m.vocab").symlink_to("m.model")
    assert refusal("train", "in/x/a", "--vocab-size", "260", "-o", "m.model").startswith("m.vocab and m.model: these are one file, ")


@POSIX
def test_outputs_that_cannot_be_written(folder: Path, ranks: tuple[str, ...]) -> None:
    (folder / "a").write_text("hello")
    for path in ("/dev/null", "/dev/stdout"):
        message = f"{path}: a device or a pipe, of which a file cannot take the place"
        assert refusal("encode", *ranks, "a", "-o", path, "--format", "bin") == f"{message}; leave -o out for standard output"
        assert refusal("decode", *ranks, "-o", path) == f"{message}; leave -o out for standard output"
        assert refusal("vocab", *ranks[1:], "--save", path) == f"{message}; name a file"
        assert refusal("train", "a", "--vocab-size", "260", "-o", path) == f"{message}; name a file"
    assert refusal("decode", *ranks, "-o", ".") == refusal("vocab", *ranks[1:], "--save", ".") == ".: Is a directory"
    assert refusal("encode", *ranks, "a", "-o", "no/ids.npy") == "no/ids.npy: No such file or directory"
    assert refusal("vocab", *ranks[1:], "--save", "no/x") == refusal("show", *ranks, "a", "--html", "no/x") == "no/x: No such file or directory"
    assert left(folder) == ["a"]


def test_resume(folder: Path, ranks: tuple[str, ...], template: tuple[str, str]) -> None:
    for number in range(4):
        (folder / f"{number}.txt").write_text("hello " * (number + 1))
    (folder / "2.txt").unlink()
    encode = ("encode", *ranks, "0.txt", "1.txt", "2.txt", "3.txt", "-o", "out/", "--format", "jsonl")
    assert refusal(*encode, "--resume") == "2.txt: No such file or directory"  # and the others are done
    assert left(folder / "out") == ["0.txt.jsonl", "1.txt.jsonl", "3.txt.jsonl", "bitlex-manifest.jsonl"]

    def state() -> dict[str, int]:
        return {path.name: path.stat().st_mtime_ns for path in (folder / "out").glob("*.txt.jsonl")}

    first = state()
    (folder / "2.txt").write_text("hello")
    (folder / "1.txt").write_text("changed")
    output(*encode, "--resume")
    second = state()
    assert {name for name in second if second[name] != first.get(name)} == {"1.txt.jsonl", "2.txt.jsonl"}
    output(*encode, "--resume")
    assert state() == second
    for other in (("--append", "<|end|>"), ("--ordinary",), ("--input", "lines"), ("--special", "<|more|>=302")):
        said = refusal(*encode, *other, "--resume")
        assert re.match(r"out/bitlex-manifest\.jsonl: this run had another (around|ordinary|input|tokenizer) \(", said)
    assert "another tokenizer (" in refusal("encode", *template, "0.txt", "-o", "out/", "--format", "jsonl", "--resume")
    assert state() == second
    output(*encode, "--ordinary")  # without --resume all is done again
    assert not set(state().values()) & set(second.values())


@pytest.mark.parametrize(
    ("name", "first", "other"),
    [
        ("dtype", ("--dtype", "u16"), ("--dtype", "u32")), ("field", (), ("--field", "content")),
        ("allow_special", (), ("--allow-special", "<|end|>")), ("allow_special", ("--allow-special", "<|go|>"), ("--allow-special", "<|end|>")),
    ],
)  # fmt: skip
def test_every_setting_counts(folder: Path, ranks: tuple[str, ...], name: str, first: tuple[str, ...], other: tuple[str, ...]) -> None:
    """Ids of numbers of two sizes, of two columns, or with a special token taken in two ways, are not in one folder."""
    (folder / "a.jsonl").write_text('{"text": "hello", "content": "world"}\n')
    encode = ("encode", *ranks, "a.jsonl", "-o", "out/", "--format", "bin", "--resume")
    output(*encode, *first)
    assert refusal(*encode, *other).startswith(f"out/bitlex-manifest.jsonl: this run had another {name} (")
    output(*encode, *first)


def test_the_order_of_special_tokens_is_no_setting(folder: Path, ranks: tuple[str, ...]) -> None:
    (folder / "a").write_text("hello")
    encode = ("encode", *ranks, "a", "-o", "out/", "--resume")
    output(*encode, "--allow-special", "<|end|>", "--allow-special", "<|go|>")
    output(*encode, "--allow-special", "<|go|>", "--allow-special", "<|end|>")


def test_outputs_of_other_settings_are_not_left_beside(folder: Path, ranks: tuple[str, ...], template: tuple[str, str]) -> None:
    for name in "abc":
        (folder / name).write_text(f"hello {name}")
    output("encode", *ranks, "a", "b", "-o", "out/", "--format", "txt")
    before = {path: path.read_bytes() for path in (folder / "out").iterdir()}
    for other in ((*template, "--format", "txt"), (*ranks, "--format", "txt", "--input", "lines"), (*ranks, "--dtype", "u16")):
        said = refusal("encode", *other, "b", "c", "-o", "out/")
        assert re.match(r"out/bitlex-manifest\.jsonl: this run had another (tokenizer|input|format) \(.*\), and its a\.txt would stay; give another folder", said)
        assert re.match(r".*another .*; to start again, remove it$", refusal("encode", *other, "a", "b", "-o", "out/", "--part", "1/2"))
    assert {path: path.read_bytes() for path in (folder / "out").iterdir()} == before
    output("encode", *ranks, "c", "-o", "out/", "--format", "txt")  # the same tokenizer and settings
    (folder / "out/bitlex-manifest.jsonl").write_text("none of ours")
    output("encode", *template, "c", "-o", "out/", "--format", "txt")


@POSIX
def test_a_restart_with_other_settings_that_does_not_come_to_its_end(folder: Path, ranks: tuple[str, ...]) -> None:
    """What is still there of the run before is told of, and no later run leaves it beside its own."""
    (folder / "in/sub").mkdir(parents=True)
    for name in ("in/a", "in/b", "in/sub/c"):
        (folder / name).write_text("hello\nhello\n")
    encode = ("encode", *ranks, "in/**", "-o", "out/", "--format", "txt")
    few = ("encode", *ranks, "in/a", "-o", "out/", "--format", "txt")
    lines = ("--input", "lines")
    output(*encode)
    before = (folder / "out/b.txt").read_bytes()
    (folder / "in/b").unlink()
    (folder / "in/b").symlink_to("nowhere")
    said = b'bitlex: out/b.txt is of a run with another input (null, not "lines"), not of this one; --resume makes what is left\n'
    for more in ((), ("--resume",), ()):
        done = bitlex_command(*encode, *lines, *more)
        assert (done.returncode, done.stderr) == (1, b"bitlex: in/b: No such file or directory\n" + said)
    for more in ((), ("--resume",)):
        assert refusal(*few, *lines, *more).startswith('out/bitlex-manifest.jsonl: this run had another input (null, not "lines"), and its b.txt would stay; ')
    assert '(null, not "lines"), and its b.txt would stay' in refusal(*few, *lines)
    assert '("lines", not null), and its sub/c.txt would stay' in refusal(*few)  # b.txt is as it is asked for now
    assert (folder / "out/b.txt").read_bytes() == before
    (folder / "in/b").unlink()
    (folder / "in/b").write_text("hello\n")
    output(*encode, *lines, "--resume")
    output(*few, *lines, "--resume")
    assert b"older" not in (folder / "out/bitlex-manifest.jsonl").read_bytes().splitlines()[-1]
    (folder / "out/b.txt").unlink()
    (folder / "out/sub/c.txt").unlink()
    output(*few)


@POSIX
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_older_outputs_are_left(folder: Path, ranks: tuple[str, ...], number: signal.Signals) -> None:
    for name in ("a", "b", "c"):
        (folder / name).write_text("hello")
    encode = ("encode", *ranks, "a", "b", "c", "-o", "out/", "--format", "txt")
    output(*encode)
    (folder / "b").unlink()
    os.mkfifo(folder / "b")
    with subprocess.Popen([*COMMAND, *encode, "--input", "lines"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=listen) as process:
        with open(folder / "b", "wb", buffering=0) as pipe:
            pipe.write(b"hello\n")
            wait_for(lambda: any(name.startswith(".b.txt.") for name in left(folder / "out")))
            process.send_signal(number)
            said = process.communicate(timeout=60)[1].decode()
        assert process.returncode == {signal.SIGINT: 130}.get(number, 128 + number)
    assert said == 'bitlex: out/b.txt and 1 more are of a run with another input (null, not "lines"), not of this one; --resume makes what is left\n'


def test_an_output_that_was_written_over_is_made_again(folder: Path, ranks: tuple[str, ...]) -> None:
    """Also by as many bytes: of another run, they are other ids."""
    (folder / "a.txt").write_text("hello")
    encode = ("encode", *ranks, "a.txt", "-o", "out/", "--format", "txt")
    output(*encode)
    made = folder / "out/a.txt.txt"
    before = made.read_bytes()
    made.write_bytes(bytes(reversed(before)))
    os.utime(made, ns=(0, 0))
    output(*encode, "--resume")
    assert made.read_bytes() == before


def test_parts(folder: Path, ranks: tuple[str, ...], by_ranks: Tokenizer) -> None:
    """Jobs that share the inputs of one folder of outputs out among them, in any order, and a run that does what is left."""
    for number in range(7):
        (folder / f"{number}.txt").write_text(f"hello {number}")
    encode = ("encode", *ranks, "*.txt", "-o", "out/", "--resume", "--format", "txt")

    def there() -> str:
        return "".join(name[0] for name in left(folder / "out") if name.endswith(".txt"))

    output(*encode, "--part", "3/3")
    assert there() == "25"
    output(*encode, "--part", "1/3")
    assert there() == "02356"
    assert [name for name in left(folder / "out") if "manifest" in name] == ["bitlex-manifest-1-of-3.jsonl", "bitlex-manifest-3-of-3.jsonl"]
    times = {path: path.stat().st_mtime_ns for path in (folder / "out").glob("*.txt")}
    output(*encode, "--part", "2/9")  # whoever has more jobs now goes on from there
    output(*encode, "--part", "9/9")  # and one may have nothing to do
    assert there() == "012356"
    refused = refusal(*encode, "--part", "2/3", "--ordinary")
    assert re.match(r"out/bitlex-manifest-\d-of-\d\.jsonl: this run had another ordinary .*; to start again, remove it and leave --resume out$", refused)
    output(*encode)
    assert there() == "0123456"
    assert times.items() <= {path: path.stat().st_mtime_ns for path in (folder / "out").glob("*.txt")}.items()
    assert (folder / "out/4.txt.txt").read_text().split() == [str(one) for one in by_ranks.encode("hello 4")]
    assert refusal("encode", *ranks, "0.txt", "./0.txt", "1.txt", "-o", "out/", "--part", "3/3").endswith(" would both go to 0.txt.idx.npy")
    (folder / "0.txt.txt").write_text("hello")
    assert refusal("encode", *ranks, "0.txt", "0.txt.txt", "-o", "./", "--format", "txt", "--part", "1/2") == "0.txt.txt: this is an input and an output"
    for name in ("bitlex-manifest-2-of-9.jsonl", "0.txt.txt"):  # what other parts have written is no input of this one
        refused = refusal("encode", *ranks, "0.txt", "1.txt", f"out/{name}", "-o", "out/", "--part", "2/3", "--format", "txt")
        assert refused == f"out/{name}: this is an input and an output"
    (folder / "bitlex-manifest-1-of-2").write_text("hello")
    refused = refusal("encode", *ranks, "bitlex-manifest-1-of-2", "-o", "out/", "--format", "jsonl")
    assert refused == "the manifest and bitlex-manifest-1-of-2 would both go to bitlex-manifest-1-of-2.jsonl"
    for wrong in ("0/3", "4/3", "1", "1/", "/2", "-1/2", "1/0", "a/b", "1/9999999999", "\u0661/2"):
        assert f"argument --part: {wrong!r} is not I/N" in refusal(*encode, f"--part={wrong}", code=2)


@POSIX
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_leaves_what_is_complete(folder: Path, ranks: tuple[str, ...], number: signal.Signals) -> None:
    (folder / "a.txt").write_text("hello")
    os.mkfifo(folder / "b.txt")
    encode = ("encode", *ranks, "a.txt", "b.txt", "-o", "out/", "--input", "lines")
    with subprocess.Popen([*COMMAND, *encode], stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=listen) as process:
        with open(folder / "b.txt", "wb", buffering=0) as pipe:  # once it is opened there, the first output is complete
            pipe.write(b"hello\n" * 1000)
            wait_for(lambda: any(name.startswith(".b.txt.npy.") for name in left(folder / "out")))
            process.send_signal(number)
            assert process.communicate(timeout=60) == (b"", b"")
        assert process.returncode == {signal.SIGINT: 130}.get(number, 128 + number)
    assert left(folder / "out") == ["a.txt.idx.npy", "a.txt.npy", "bitlex-manifest.jsonl"]
    (folder / "b.txt").unlink()
    (folder / "b.txt").write_text("hello\n" * 1000)
    output(*encode, "--resume")
    assert len(np.load("out/b.txt.idx.npy")) == 1001


APART = [sys.executable, "-c", "from bitlex.commands import apart; apart.LARGE = 0; from bitlex.cli import run; run()"]


def lines_without_times(manifest: bytes) -> list[bytes]:
    """When outputs were written is another time for each run."""
    lines = list(map(json.loads, manifest.splitlines()))
    for line in lines[1:]:
        assert all(file.pop("mtime_ns") > 0 for file in line["files"])
    return [json.dumps(line).encode() for line in lines]


def test_a_process_for_each_core(folder: Path, ranks: tuple[str, ...]) -> None:
    """The same files as one process writes, those before a bad one and those behind it, and a manifest to go on with."""
    (folder / "deep").mkdir()
    for number in range(7):
        (folder / "deep" / f"{number}.jsonl").write_text("".join(json.dumps({"text": TEXT * (row % 5) * number}) + "\n" for row in range(50)))
    (folder / "deep" / "3.jsonl").write_text('{"text": "a"}\n{"text": 1}\n')
    for format in ("npy", "bin", "jsonl", "txt"):
        encode = [*ranks, "deep/*.jsonl", "--append", "<|end|>", "--format", format]
        alone = bitlex_command("encode", *encode, "-o", f"alone-{format}/")
        together = subprocess.run([*APART, "encode", *encode, "-o", f"together-{format}/", "--threads", "3"], capture_output=True, timeout=120, check=False)
        assert (alone.returncode, alone.stderr) == (together.returncode, together.stderr)
        assert (alone.returncode, alone.stderr.decode()) == (1, "bitlex: deep/3.jsonl: line 2: what is at 'text' is no text, but a number\n")
        names = left(folder / f"alone-{format}")
        assert left(folder / f"together-{format}") == names and len(names) == 1 + 6 * (2 if format in ("npy", "bin") else 1)
        for name in names:
            one, other = ((folder / f"{way}-{format}" / name).read_bytes() for way in ("alone", "together"))
            if name == "bitlex-manifest.jsonl":
                one, other = (b"\n".join(sorted(lines_without_times(lines))) for lines in (one, other))
            assert one == other
    before = {path: path.stat().st_mtime_ns for path in (folder / "together-npy").glob("*.npy")}
    (folder / "deep" / "3.jsonl").write_text('{"text": "a"}\n')
    encode = [*ranks, "deep/*.jsonl", "--append", "<|end|>", "-o", "together-npy/", "--threads", "3", "--resume"]
    subprocess.run([*APART, "encode", *encode], timeout=120, check=True)
    after = {path: path.stat().st_mtime_ns for path in (folder / "together-npy").glob("*.npy")}
    assert {path.name for path in after if after[path] != before.get(path)} == {"3.jsonl.npy", "3.jsonl.idx.npy"}


def test_a_folder_that_is_there_needs_no_slash(folder: Path, ranks: tuple[str, ...]) -> None:
    (folder / "a.txt").write_text("hello")
    (folder / "out").mkdir()
    output("encode", *ranks, "a.txt", "-o", "out", "--resume")
    assert left(folder / "out") == ["a.txt.idx.npy", "a.txt.npy", "bitlex-manifest.jsonl"]


def test_what_processes_are_worth(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not a few bytes, not what only this process has open, and not a large text, of which each would hold one in memory."""
    sizes = {"a.jsonl": 60, "b.jsonl": 60, "a.txt": 60, "large.txt": 500, "large.jsonl": 500, "large.txt.gz": 500}
    for name, size in sizes.items():
        (folder / name).write_bytes(b"x" * size)
    monkeypatch.setattr(apart, "LARGE", 100)
    monkeypatch.setattr(apart, "MOST", 400)
    for names, worth in (
        (["a.jsonl"], False), (["a.jsonl", "b.jsonl"], True), (["a.jsonl", "a.txt"], True), (["a.jsonl", "large.jsonl"], True), (["a.txt", "large.txt.gz"], True),
        (["a.jsonl", "large.txt"], False), (["large.jsonl", "-"], False), (["large.jsonl", "/dev/fd/0"], False),
    ):  # fmt: skip
        assert apart.may_be_apart([Source(name) for name in names]) == worth, names
    assert apart.may_be_apart([Source("large.txt", "lines"), Source("a.txt", "lines")])


def test_how_work_is_shared_out(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No more processes than threads or tasks, nor all threads in each; what they report is passed on, and what no input is to blame for is raised."""
    made: list[tuple[int, int]] = []
    told = [(1, "reported", "half"), (0, "done", "a"), (1, "raised", InputError("b"))]

    class Made:
        def __init__(self, count: int, function: Any, job: apart.Job) -> None:
            made.append((count, job.how["threads"]))

        def __enter__(self) -> Made:
            return self

        def __exit__(self, *error: object) -> None:
            pass

        def work(self, tasks: Any, idle: Any) -> Any:
            return iter(told)

    (folder / "a.jsonl").write_text("1")
    sources = [Source("a.jsonl")]
    noted: list[tuple[int, Any]] = []
    monkeypatch.setattr(apart, "LARGE", 0)
    monkeypatch.setattr(apart, "Processes", Made)

    def work(threads: int, tasks: int) -> list[Any]:
        job: Any = apart.Job(None, {"threads": threads})  # type: ignore[arg-type]
        return list(apart.work(lambda job, task, report: job.how["threads"], job, range(tasks), sources, lambda place, what: noted.append((place, what))))

    for threads, tasks in ((5, 2), (2, 9), (7, 3)):
        assert [(place, str(what)) for place, what in work(threads, tasks)] == [(0, "a"), (1, "b")]
    assert made == [(2, 2), (2, 1), (3, 2)] and noted == [(1, "half")] * 3
    assert work(5, 1) == [(0, 5)] and work(1, 2) == [(0, 1), (1, 1)] and len(made) == 3
    told.append((2, "raised", OSError("no space")))
    with pytest.raises(OSError, match="no space"):
        work(5, 2)


def test_what_is_shown_of_several_inputs() -> None:
    shown: list[tuple[int, ...]] = []

    class Shown(Progress):
        def show(self, *numbers: int) -> None:
            shown.append(numbers)

    tallies = apart.Tallies(Shown(None, 0))
    for number, tally in ((0, apart.Tally(5, 50, 1, 7)), (1, apart.Tally(2, 20, 1, 3)), (0, apart.Tally(6, 60, 2, 8))):
        tallies.note(number, tally)
    tallies.give_up(1, 30)
    tallies.give_up(2, 100)
    assert shown == [(5, 50, 7), (7, 70, 10), (8, 80, 11), (36, 80, 11), (136, 80, 11)] and tallies.sum.documents == 3


@POSIX
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_all_processes(folder: Path, ranks: tuple[str, ...], number: signal.Signals) -> None:
    """Those that a terminal sends to all of them, by Ctrl-C and where it is closed, and one that is sent to the first."""
    for name in "abc":
        (folder / f"{name}.txt").write_text("hello")
    os.mkfifo(folder / "d.txt")
    os.mkfifo(folder / "e.txt")
    encode = [*ranks, "a.txt", "d.txt", "e.txt", "b.txt", "c.txt", "-o", "out/", "--input", "lines", "--threads", "3"]
    with subprocess.Popen([*APART, "encode", *encode], stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=listen, start_new_session=True) as process:
        with open(folder / "d.txt", "wb", buffering=0) as one, open(folder / "e.txt", "wb", buffering=0) as other:
            for pipe in (one, other):
                pipe.write(b"hello\n" * 1000)
            wait_for(lambda: sum(name.startswith((".d.txt.npy.", ".e.txt.npy.")) for name in left(folder / "out")) == 2)
            wait_for(lambda: {"a.txt.npy", "b.txt.npy", "c.txt.npy"} <= {*left(folder / "out")})
            wait_for(lambda: (folder / "out" / "bitlex-manifest.jsonl").read_bytes().count(b"\n") == 4)
            if number != signal.SIGTERM:
                os.killpg(process.pid, number)
            else:
                process.send_signal(number)
            assert process.communicate(timeout=60) == (b"", b"")
        assert process.returncode == {signal.SIGINT: 130}.get(number, 128 + number)
    assert left(folder / "out") == ["a.txt.idx.npy", "a.txt.npy", "b.txt.idx.npy", "b.txt.npy", "bitlex-manifest.jsonl", "c.txt.idx.npy", "c.txt.npy"]


@POSIX
def test_a_process_that_is_killed_ends_all(folder: Path, ranks: tuple[str, ...]) -> None:
    """As for want of memory. What was complete stays."""
    noting = f"""if True:
        from bitlex.processes import Processes
        start = Processes.start
        def noted(self):
            pipe = start(self)
            print(self.running[pipe].pid, file=open("pids", "a"))
            return pipe
        Processes.start = noted
        {APART[2]}
    """
    (folder / "a.txt").write_text("hello")
    os.mkfifo(folder / "b.txt")
    encode = [*ranks, "b.txt", "a.txt", "-o", "out/", "--input", "lines", "--threads", "2"]
    with (
        subprocess.Popen([*APART[:2], noting, "encode", *encode], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process,
        open(folder / "b.txt", "wb", buffering=0) as pipe,
    ):
        pipe.write(b"hello\n")
        wait_for(lambda: "a.txt.npy" in left(folder / "out"))
        wait_for(lambda: (folder / "out" / "bitlex-manifest.jsonl").read_bytes().count(b"\n") == 2)
        for child in Path("pids").read_text().split():
            os.kill(int(child), signal.SIGKILL)
        out, said = process.communicate(timeout=60)
    assert (process.returncode, out, said) == (1, b"", b"bitlex: a process that did a part of the work was ended, by SIGKILL\n")
    assert {"a.txt.npy", "a.txt.idx.npy"} <= {*left(folder / "out")} and "b.txt.npy" not in left(folder / "out")


# --- what goes wrong leaves nothing half-written ---


@pytest.mark.parametrize("there", [False, True])
def test_malformed_input(folder: Path, ranks: tuple[str, ...], there: bool) -> None:
    (folder / "a.jsonl").write_text('{"text": "hello"}\n' * 10_000 + '{"text": \n')
    if there:
        (folder / "ids.npy").write_bytes(b"before")
    assert refusal("encode", *ranks, "a.jsonl", "-o", "ids.npy") == "a.jsonl: line 10001: not JSON: Expecting value, at character 10"
    assert left(folder) == ["a.jsonl", *["ids.npy"] * there]
    assert not there or (folder / "ids.npy").read_bytes() == b"before"
    (folder / "b.jsonl").write_text('"hello"\n')
    done = bitlex_command("encode", *ranks, "*.jsonl", "missing", "-o", "out/")
    assert (done.returncode, len(done.stderr.splitlines())) == (1, 2)
    assert left(folder / "out") == ["b.jsonl.idx.npy", "b.jsonl.npy", "bitlex-manifest.jsonl"]


@POSIX
@pytest.mark.parametrize("what", [("-o", "ids.npy"), ("-o", "out/"), ("-o", "ids.txt")])
def test_a_full_disk(folder: Path, ranks: tuple[str, ...], what: tuple[str, str]) -> None:
    (folder / "a.txt").write_text("hello, hello. " * 200_000)

    resource = pytest.importorskip("resource")

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, 1 << 16))

    assert refusal("encode", *ranks, "a.txt", *what, preexec_fn=limited) == f"{'out/a.txt.npy' if what[1] == 'out/' else what[1]}: File too large"
    assert left(folder) == ["a.txt", *["out/bitlex-manifest.jsonl"] * (what[1] == "out/")]


@pytest.mark.parametrize("command", ["encode", "decode", "count", "show", "vocab"])
def test_a_full_disk_behind_standard_output(folder: Path, ranks: tuple[str, ...], command: str, full_disk: Path) -> None:
    arguments = [ranks[1], *SPECIAL] if command == "vocab" else list(ranks)
    with open(full_disk, "wb") as full:
        done = subprocess.run([*COMMAND, command, *arguments], stdout=full, stderr=subprocess.PIPE, input=b"1 2 3", timeout=60, check=False)
    assert (done.returncode, done.stderr) == (1, b"bitlex: No space left on device\n")


@POSIX
@pytest.mark.parametrize("command", ["encode", "decode", "vocab"])
def test_a_closed_pipe_ends_it_quietly(folder: Path, ranks: tuple[str, ...], command: str) -> None:
    (folder / "a.txt").write_text("1 2 3 hello 4\n" * 300_000 if command == "encode" else "49 50\n" * 300_000)
    arguments = [ranks[1], *SPECIAL, "--list"] if command == "vocab" else [*ranks, "a.txt"]
    with subprocess.Popen([*COMMAND, command, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stderr is not None
        assert process.stdout.read(3)
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(60) == 0


@POSIX
def test_ctrl_c_while_a_reader_has_stopped_reading(folder: Path, ranks: tuple[str, ...]) -> None:
    (folder / "a.txt").write_text("hello " * 1_000_000)
    with subprocess.Popen([*COMMAND, "encode", *ranks, "a.txt"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=listen) as process:
        assert process.stdout is not None
        assert process.stdout.read(3)
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130


# --- pipes ---

BUFFERED = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}  # with it, nothing need be flushed


@POSIX
@pytest.mark.parametrize("form", ["lines", "jsonl"])
def test_lines_are_done_as_they_come(ranks: tuple[str, ...], form: str) -> None:
    with subprocess.Popen([*COMMAND, "encode", *ranks, "--input", form], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=BUFFERED) as process:
        assert process.stdin is not None and process.stdout is not None
        for line in (b"hello", b"12", b"hello"):
            process.stdin.write(b'"%s"\n' % line if form == "jsonl" else line + b"\n")
            process.stdin.flush()
            assert process.stdout.readline() == {b"hello": b"259\n", b"12": b"268\n"}[line]
        process.stdin.close()
        assert process.stdout.read() == b""
        assert process.wait(60) == 0


@POSIX
@pytest.mark.parametrize("format", ["bytes", "jsonl"])
@pytest.mark.parametrize("form", ["txt", "jsonl"])
def test_ids_are_decoded_as_they_come(ranks: tuple[str, ...], form: str, format: str) -> None:
    command = [*COMMAND, "decode", *ranks, "--input", form, "--format", format]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=BUFFERED) as process:
        assert process.stdin is not None and process.stdout is not None
        for ids in (b"259", b"268", b"259"):
            process.stdin.write(b"[%b]\n" % ids if form == "jsonl" else ids + b"\n")
            process.stdin.flush()
            text = {b"259": b"hello", b"268": b"12"}[ids]
            expected = text if format == "bytes" else b'{"text": "%b"}\n' % text
            assert select.select([process.stdout], [], [], 60)[0] and process.stdout.read(len(expected)) == expected
        process.stdin.close()
        assert process.stdout.read() == b""
        assert process.wait(60) == 0


@SAYS_ITS_PEAK
def test_memory_does_not_grow_with_a_pipe(folder: Path, ranks: tuple[str, ...]) -> None:
    def taken(megabytes: int) -> int:
        line = b'{"text": "' + b"hello world 123 " * 200 + b'"}\n'
        command = ["encode", *ranks, "--input", "jsonl", "-o", f"{megabytes}.npy"]
        return peak(command, [line * ((1 << 20) // len(line))] * megabytes)

    small, large = taken(24), taken(120)
    assert np.load(folder / "120.npy", mmap_mode="r").nbytes > 100 << 20
    assert large < small + (32 << 20)


# --- decode ---


def test_numbers_cut_to_half_are_not_decoded(folder: Path, ranks: tuple[str, ...]) -> None:
    """Half of a file of u32 is as large as a whole one of u16, which a tokenizer with more ids has not."""
    many = (*ranks, "--special", "<|many|>=70000")
    output("encode", *many, "-o", "a.bin", input=b"hello world, hello")
    data = (folder / "a.bin").read_bytes()
    (folder / "a.bin").write_bytes(data[: len(data) // 2])
    assert refusal("decode", *many, "a.bin").startswith("a.bin: half of the u32 that a.idx.npy says; ")
    assert output("decode", *ranks, "a.bin").startswith(b"hello")


def test_decode_refuses_what_is_no_token(folder: Path, ranks: tuple[str, ...]) -> None:
    assert output("decode", *ranks, input=b"259 257\n 263  32 267\t\n") == b"hellollld   "
    assert re.fullmatch(r"-: line 2, ids\[1\] is 299, which is no token of [0-9a-f]{12}", refusal("decode", *ranks, input=b"1\n1 299 1"))
    assert refusal("decode", *ranks, input=b"1 9999999999").startswith("-: line 1, ids[1] is 9999999999, which is no token")
    assert refusal("decode", *ranks, input=b"hello") == "-: line 1: no id: 'hello'"
    np.save("a.npy", np.array([[1]], np.uint32))
    np.save("b.npy", np.full(1 << 21, 1 << 40, np.uint64))
    ids = np.full(1 << 21, 49, np.int64)
    ids[(1 << 20) + 5] = -1
    np.save("c.npy", ids)
    assert refusal("decode", *ranks, "a.npy", "-o", "out") == "a.npy: no array of ids: uint32 (1, 1)"
    assert refusal("decode", *ranks, "b.npy", "-o", "out").startswith("b.npy: ids[0] is 1099511627776, which is no token of ")
    assert refusal("decode", *ranks, "c.npy", "-o", "out").startswith("c.npy: ids[1048581] is -1, which is no token of ")
    assert not (folder / "out").exists()
    (folder / "d.jsonl").write_text('[259]\n{"ids": []}\n{"ids": [32, 259]}\n')
    assert output("decode", *ranks, "d.jsonl") == b"hello hello"
    assert output("decode", *ranks, "d.jsonl", "--format", "jsonl") == b'{"text": "hello"}\n{"text": ""}\n{"text": " hello"}\n'
    assert refusal("decode", *ranks, "d.jsonl", "--field", "tokens").startswith("d.jsonl: line 2: no array of ids")


def test_a_glob_of_ids_leaves_indexes_out(folder: Path, ranks: tuple[str, ...]) -> None:
    for name in ("a", "a.idx", "b"):
        (folder / name).write_text(f"hello {name}\n")
    output("encode", *ranks, "a", "b", "-o", "out/")
    output("encode", *ranks, "a.idx", "-o", "other.idx.npy")  # these are ids, whatever they are called
    assert output("decode", *ranks, "out/*.npy") == b"hello a\nhello b\n"
    assert output("decode", *ranks, "*.idx.npy", "other.idx.npy") == b"hello a.idx\nhello a.idx\n"
    assert refusal("decode", *ranks, "out/a.idx.npy").startswith("out/a.idx.npy: this is an index")


def test_compressed_lines_of_ids(folder: Path, ranks: tuple[str, ...]) -> None:
    import gzip

    (folder / "a.jsonl.gz").write_bytes(gzip.compress(b"[259]\n[32, 259]\n"))
    (folder / "a.gz").write_bytes(gzip.compress(b"259 32\n259"))
    assert output("decode", *ranks, "a.jsonl.gz", "a.gz") == b"hello hellohello hello"


# --- count ---


def test_count(folder: Path, ranks: tuple[str, ...], by_ranks: Tokenizer) -> None:
    (folder / "a.txt").write_text(TEXT)
    (folder / "b.jsonl").write_text('"hello"\n"hello hello"\n')
    (folder / "c.jsonl").write_text("")
    ids = len(by_ranks.encode(TEXT))
    lines = output("count", *ranks, "a.txt", "*.jsonl").decode().splitlines()
    assert [line.split() for line in lines] == [[str(ids), "a.txt"], ["4", "b.jsonl"], ["0", "c.jsonl"], [str(ids + 4), "total"]]
    assert len({line.index(line.split()[1]) for line in lines}) == 1  # in columns
    assert output("count", *ranks, input=b"hello").split() == [b"1", b"-"]
    found = json.loads(output("count", *ranks, "a.txt", "b.jsonl", "--json"))
    assert found == {
        "files": [
            {"file": "a.txt", "tokens": ids, "documents": 1, "bytes": len(TEXT.encode())},
            {"file": "b.jsonl", "tokens": 4, "documents": 2, "bytes": 22},
        ],
        "total": {"tokens": ids + 4, "documents": 3, "bytes": len(TEXT.encode()) + 22},
    }
    done = bitlex_command("count", *ranks, "none", "a.txt")
    assert (done.returncode, done.stderr) == (1, b"bitlex: none: No such file or directory\n")
    assert done.stdout.split() == [str(ids).encode(), b"a.txt", str(ids).encode(), b"total"]
    assert refusal("count", *ranks, "*.csv") == "*.csv: no file matches"


def test_count_by_a_process_for_each_core(folder: Path, ranks: tuple[str, ...]) -> None:
    """The same, in the same order."""
    for number in range(9):
        (folder / f"{number}.jsonl").write_text("".join(json.dumps({"text": TEXT * (number - row) ** 2}) + "\n" for row in range(20)))
    (folder / "a.txt").write_text(TEXT)
    (folder / "4.jsonl").write_text("[\n")
    for more in ((), ("--json",)):
        count = ["count", *ranks, "*.jsonl", "none", "a.txt", *more]
        alone = bitlex_command(*count)
        together = subprocess.run([*APART, *count, "--threads", "3"], capture_output=True, timeout=120, check=False)
        assert (alone.returncode, alone.stdout, alone.stderr) == (together.returncode, together.stdout, together.stderr)
        assert alone.returncode == 1 and len(alone.stderr.splitlines()) == 2
    for other in ("-", "/dev/stdin", "link"):  # which only this process has open
        if other == "link":
            (folder / "link").symlink_to("/dev/stdin")
        if other == "-" or os.path.exists("/dev/stdin"):
            found = subprocess.run([*APART, "count", *ranks, "a.txt", other], input=b"hello", capture_output=True, timeout=120, check=True)
            assert found.stdout.split()[2:4] == [b"1", other.encode()]


# --- vocab ---


def test_vocab_says_what_a_tokenizer_is(folder: Path, ranks: tuple[str, ...], template: tuple[str, str]) -> None:
    found = json.loads(output("vocab", ranks[1], *SPECIAL, "--json"))
    known = Tokenizer.from_file(ranks[1], family="cl100k").description.digest
    assert (found["format"], found["family"], found["digest"]) == ("tiktoken", "cl100k", known)
    assert (found["ids"], found["tokens"], found["ids_without_token"], found["merges"]) == (302, 272, 30, "by rank")
    assert found["special_tokens"] == {"<|end|>": 300, "<|go|>": 301}
    assert found["longest_tokens"][0]["text"] == " world"
    assert found["tokens_not_reached_by_merging"] == []
    text = output("vocab", ranks[1], *SPECIAL).decode()
    assert re.search(r"^special tokens +300  <\|end\|>$", text, re.MULTILINE) and known in text
    found = json.loads(output("vocab", template[1], "--json"))
    assert (found["convention"], found["merges"], found["template"]) == ("huggingface", 4, [[260], []])
    assert (found["tokens"], found["tokens_not_reached_by_merging"]) == (262, [])


def test_vocab_names_tokens_that_merging_does_not_reach(folder: Path) -> None:
    from base64 import b64encode

    tokens = [bytes([byte]) for byte in range(256)] + [b"bc", b"ab", b"abc", b"xyz"]
    (folder / "a").write_bytes(b"".join(b64encode(token) + b" %d\n" % rank for rank, token in enumerate(tokens)))
    found = json.loads(output("vocab", "a", "--family", "gpt2", "--json"))
    assert [token["text"] for token in found["tokens_not_reached_by_merging"]] == ["xyz"]
    env = {**os.environ, "BITLEX_TIER": "pure"}
    assert json.loads(output("vocab", "a", "--family", "gpt2", "--json", env=env)) == found


def test_vocab_looks_tokens_up(ranks: tuple[str, ...]) -> None:
    vocab = ("vocab", ranks[1], *SPECIAL)
    table = output(*vocab, "--id", "259", "--id", "265", "--token", " world", "--token", "<|go|>").decode()
    assert [line.split() for line in table.splitlines()] == [
        ["ID", "BYTES", "KIND", "TOKEN"], ["259", "5", "hello"], ["265", "2", "\\xe4\\xb8"], ["264", "6", "world"], ["301", "6", "special", "<|go|>"]
    ]  # fmt: skip
    (token,) = json.loads(output(*vocab, "--id", "265", "--json"))
    assert (token["bytes"], token["text"].encode("utf-8", "surrogateescape")) == ([0xE4, 0xB8], b"\xe4\xb8")
    done = bitlex_command(*vocab, "--id", "299", "--id=-1", "--token", "nothing", "--id", "65")
    assert (done.returncode, len(done.stderr.splitlines()), len(done.stdout.splitlines())) == (1, 3, 2)
    lines = output(*vocab, "--list").decode().splitlines()
    assert len(lines) == 272 and lines[0] == "0\t1\t\\u0000" and lines[-1] == "301\t6\t<|go|>"
    assert [line.split("\t")[2] for line in lines[:270]] == [visible(token) for token in RANKS]


def test_vocab_saves(folder: Path, ranks: tuple[str, ...]) -> None:
    assert output("vocab", ranks[1], *SPECIAL, "--save", "small.bitlex") == b""
    assert left(folder) == ["small.bitlex"]
    assert output("encode", "-t", "small.bitlex", "--allow-special", "all", input=b"hello<|go|>") == b"259 301\n"
    assert refusal("encode", "-t", "small.bitlex", "--family", "gpt2") == "small.bitlex: --family goes with other files: a saved tokenizer is complete"
    (folder / "a.txt").write_text("hello")
    output("encode", *ranks, "a.txt", "-o", "out/")
    output("encode", "-t", "small.bitlex", "a.txt", "-o", "out/", "--resume")  # it is the same tokenizer


def test_tokenizers_that_are_none(folder: Path, template: tuple[str, str]) -> None:
    (folder / "model").mkdir()
    (folder / "model" / "tokenizer.json").write_bytes(Path(template[1]).read_bytes())
    assert output("encode", "-t", "model", input=b"hello") == b"259\n"
    (folder / "empty").touch()
    assert refusal("encode", "-t", "empty", input=b"") == "empty: is empty"
    for name in ("none.json", "none.tiktoken", "none.bitlex", "no/folder/at/all"):
        assert refusal("count", "-t", name) == f"{name}: No such file or directory"
    env = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(folder)}
    done = bitlex_command("count", "-t", "nobody/nothing", env=env)
    assert done.returncode == 1 and done.stderr.startswith(b"bitlex: ")


# --- show ---


def test_show_in_colors(ranks: tuple[str, ...]) -> None:
    one, other, off = "\x1b[30;46m", "\x1b[30;43m", "\x1b[0m"
    assert output("show", *ranks, "hello\nx").decode() == f"{one}hello{off}{other}\\n{off}\n{one}x{off}\n"
    assert output("show", *ranks, "--ids", input=b"hello12").decode() == f"{one}hello{off}{other}12{off}\n{one}259{off} {other}268{off}\n"
    assert output("show", *ranks, "\u4e00").decode() == f"{one}\\xe4\\xb8{off}{other}\\x80{off}\n"
    for more in ((), ("--ids",)):  # no text is a text, too: standard input is not read
        assert output("show", *ranks, "", *more, input=b"x") == b"\n"
    if sys.platform != "win32":
        assert output("show", *ranks, os.fsdecode(b"\xff\xfe")).decode() == f"{one}\\xff{off}{other}\\xfe{off}\n"


class Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tokens: list[dict[str, str | None]] = []
        self.tags: set[str] = set()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        if tag == "i":
            self.tokens.append({**dict(attributes), "shown": ""})

    def handle_data(self, data: str) -> None:
        if self.tokens and self.lasttag == "i":
            self.tokens[-1]["shown"] = f"{self.tokens[-1]['shown']}{data}"


def test_show_as_a_page(folder: Path, ranks: tuple[str, ...], by_ranks: Tokenizer) -> None:
    text = "hello <script>alert('&amp;')</script>\n\u4e00 \"q\" \U0001f642<|end|>"
    assert output("show", *ranks, "--allow-special", "all", "--html", "page.html", text) == b""
    source = (folder / "page.html").read_text(encoding="utf-8")
    page = Page()
    page.feed(source)
    ids, places = by_ranks.encode_with_offsets(text.encode(), allowed_special="all")
    assert [int(token["data-id"] or "") for token in page.tokens] == ids.tolist()
    assert b"".join(bytes.fromhex(token["data-bytes"] or "") for token in page.tokens).decode() == text
    assert [token["data-at"] for token in page.tokens] == [f"{start}-{end}" for start, end in places.tolist()]
    assert [token["class"] == "s" for token in page.tokens] == [number == 300 for number in ids.tolist()]
    assert page.tokens[0]["shown"] == "hello"
    assert page.tags <= {"html", "head", "meta", "title", "style", "body", "h1", "pre", "i", "p"}
    assert not re.search(r"https?:|url\(|@import|src=|href=", source)
    assert "prefers-color-scheme: dark" in source
    assert left(folder) == ["page.html"]


# --- help, mistakes, the terminal ---


@pytest.mark.parametrize("command", ["encode", "decode", "count", "show", "vocab"])
def test_help_has_examples_that_parse(command: str) -> None:
    import shlex

    from bitlex.cli import parser

    text = output(command, "--help").decode()
    found = [line.split("bitlex ", 1)[1] for line in text.split("examples:\n")[1].splitlines() if "bitlex " in line]
    assert len(found) >= 3
    for line in found:
        arguments = shlex.split(re.split(r" [|<] ?", line)[0])
        assert arguments[0] == command
        parser().parse_args(arguments)
    assert max(map(len, text.splitlines())) <= 140


@pytest.mark.parametrize(
    "arguments",
    [
        ["encode"], ["encode", "-t", "x", "--resume"], ["encode", "-t", "x", "--part", "1/2"], ["encode", "-t", "x", "--part", "1/2", "-o", "a.npy"], ["encode", "-t", "x", "--resume", "-o", "a.npy"], ["encode", "-t", "x", "--format", "npy"],
        ["encode", "-t", "x", "-o", "ids"], ["encode", "-t", "x", "-o", "a.csv"], ["encode", "-t", "x", "-o", "a.npy", "--format", "jsonl"], ["encode", "-t", "x", "--special", "a"],
        ["encode", "-t", "x", "--special", "=1"], ["encode", "-t", "x", "--allow-special", "a", "--ordinary"], ["encode", "-t", "x", "--dtype", "u8"],
        ["encode", "-t", "x", "--family", "a", "--pattern", "b"], ["decode"], ["count", "--json"], ["show", "-t"], ["show", "-t", "x", "--append", "a"], ["vocab"], ["vocab", "x", "--id", "y"],
        ["decode", "-t", "x", "--input", "text"], ["encode", "-t", "x", "--threads", "many"], ["encode", "-t", "x", "--thread", "1"],
    ],
)  # fmt: skip
def test_wrong_command_lines_exit_2(folder: Path, arguments: list[str]) -> None:
    done = bitlex_command(*arguments)
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"bitlex" in done.stderr
    assert left(folder) == []


def test_messages_speak_of_options(folder: Path, ranks: tuple[str, ...], template: tuple[str, str]) -> None:
    assert refusal("vocab", ranks[1]).endswith("): say --family or --pattern, and --special")
    assert refusal("vocab", template[1], "--family", "gpt2").endswith(": --family, --pattern and --special are for rank files; others say it themselves")
    output("vocab", *ranks[1:], "--save", "a.bitlex")
    assert refusal("vocab", "a.bitlex", "--family", "gpt2") == "a.bitlex: --family goes with other files: a saved tokenizer is complete"
    assert refusal("split", "--pattern", "a{1000000}").endswith(" instructions; only bitlex.compile takes another limit")
    train = ("train", "-", "-o", "a.json", "--vocab-size")
    assert refusal(*train, "99999999999", input=b"a") == "--vocab-size is 99999999999; it may be up to 2,097,150"
    for option in ("--min-frequency", "--max-token-length", "--limit-alphabet", "--memory", "--threads"):
        assert re.match(f"{option} is '?-1'?; it may be ", refusal(*train, "300", f"{option}=-1", "--tie-break", "huggingface", input=b"a"))
    assert refusal(*train, "300", "--pattern", "cl100k").endswith("; give another --pattern, or -o a name that says another format")
    assert refusal(*train, "300", "--seen-bytes") == "--seen-bytes and --limit-alphabet go with --tie-break huggingface, not 'minbpe'"


def test_a_special_token_with_two_ids(ranks: tuple[str, ...]) -> None:
    assert refusal("count", *ranks, "--special", "<|end|>=9", input=b"x") == "--special: '<|end|>' is given as 300 and as 9"


def test_a_special_token_with_too_large_an_id(ranks: tuple[str, ...]) -> None:
    for number in ("2097152", "2000000000", "9" * 5000):
        told = refusal("count", *ranks, "--special", f"<|e|>={number}", input=b"x", code=2)
        assert told.endswith(f"argument --special: '<|e|>={number}': an id may be up to 2,097,151")
    output("count", *ranks, "--special", "<|e|>=0002097151", input=b"x")


def test_an_output_that_cannot_say_what_is_extended(folder: Path) -> None:
    output("train", "-", "--vocab-size", "260", "--pattern", "cl100k", "-o", "a.bitlex", input=b"hello")
    told = refusal("train", "-", "--extend", "a.bitlex", "--vocab-size", "301", "-o", "a.json", input=b"hello")
    assert told.endswith(", not ['000', '0']; give -o a name that says another format")


@POSIX
def test_parquet_in_a_pipe(folder: Path, ranks: tuple[str, ...]) -> None:
    pytest.importorskip("pyarrow")
    os.mkfifo("pipe")
    assert refusal("count", *ranks, "pipe", "--input", "parquet") == "pipe: Parquet is read from a file, not from a pipe or a device"
    assert refusal("count", *ranks, ".", "--input", "parquet") == ".: Is a directory"


def test_an_output_without_a_name(folder: Path, ranks: tuple[str, ...]) -> None:
    empty = "the name of the file to write is empty"
    assert refusal("decode", *ranks, "-o", "", input=b"1") == refusal("vocab", *ranks[1:], "--save", "") == empty
    assert refusal("train", "-", "--vocab-size", "256", "-o", "", input=b"a") == empty
    assert "give --format" in refusal("encode", *ranks, "-o", "npy", input=b"a", code=2)
    assert left(folder) == []


def test_files_before_and_behind_options(folder: Path, ranks: tuple[str, ...]) -> None:
    for name in "abc":
        (folder / name).write_text("hello")
    assert output("count", "a", *ranks, "b", "--quiet", "c") == output("count", *ranks, "a", "b", "c")
    (folder / "-d").write_text("hello hello")
    assert output("count", "a", *ranks, "-", input=b"hello") == output("count", *ranks, "a", "-", input=b"hello")
    assert output("count", "a", *ranks, "b", "-", "--", "-d", "-", input=b"") == output("count", *ranks, "--", "a", "b", "-", "-d", "-", input=b"")
    assert output("count", "a", *ranks, "--") == output("count", *ranks, "a")
    assert "unrecognized arguments: --no -- b" in refusal("count", "a", *ranks, "--no", "--", "b", code=2)
    assert "unrecognized arguments: b --no" in refusal("count", "a", *ranks, "b", "--no", code=2)
    assert "unrecognized arguments: b" in refusal("show", "a", *ranks, "b", code=2)


@POSIX
def test_a_name_that_standard_output_cannot_say(folder: Path, ranks: tuple[str, ...]) -> None:
    names = [os.fsdecode(b"a\xff"), "\u03a9"]
    for name in names:
        (folder / name).write_text("hello")
    for encoding in ("utf-8", "ascii"):
        lines = output("count", *ranks, *names, env=os.environ | {"PYTHONIOENCODING": encoding}).splitlines()
        assert [line.split()[-1] for line in lines] == [b"a\xff", "\u03a9".encode(), b"total"]


@POSIX
def test_complaints_that_nobody_reads(folder: Path, ranks: tuple[str, ...]) -> None:
    (folder / "a.txt").write_text("hello")
    reader, writer = os.pipe()
    os.close(reader)
    for error in (writer, os.open("/dev/full", os.O_WRONLY)):
        done = subprocess.run([*COMMAND, "encode", *ranks, "none", "a.txt", "-o", "out/"], stdin=subprocess.DEVNULL, stderr=error, env=BUFFERED)
        assert done.returncode == 1
        assert left(folder / "out") == ["a.txt.idx.npy", "a.txt.npy", "bitlex-manifest.jsonl"]
        train = [*COMMAND, "train", "a.txt", "--vocab-size", "300", "-o", "b"]
        assert subprocess.run(train, stdin=subprocess.DEVNULL, stderr=error, env=BUFFERED).returncode == 0
        os.close(error)
    assert (folder / "b").stat().st_size > 0


def test_a_name_that_says_nothing(folder: Path, ranks: tuple[str, ...], template: tuple[str, str]) -> None:
    told = ": --name says which one is meant of a rank file that is published under several names, and this is none"
    assert refusal("count", *template, "--name", "mine", input=b"x") == f"{template[1]}{told}"
    assert output("vocab", *ranks[1:], "--name", "mine", "--json").startswith(b'{\n  "name": "mine"')  # a label, since nothing depends on it
    output("vocab", *ranks[1:], "--save", "a.bitlex")
    assert refusal("vocab", "a.bitlex", "--name", "mine") == "a.bitlex: --name goes with other files: a saved tokenizer is complete"


def test_a_misspelled_name(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = str(rank_file(folder))
    entries = (Published("o200k_base", "cl100k", {}), Published("o200k_harmony", "cl100k", {"<|start|>": 300}))
    monkeypatch.setitem(KNOWN, hashlib.sha256(Path(path).read_bytes()).hexdigest(), lambda: entries)
    told = f"{path}: is published as o200k_base and o200k_harmony, and not as "
    for name, meant in (("o200k_harmny", " (did you mean o200k_harmony?)"), ("mine", "")):
        with pytest.raises(ValueError) as error:
            cli.main(["vocab", path, "--name", name])
        assert str(error.value) == f"{told}{name!r}{meant}"
    assert cli.main(["vocab", path, "--name", "o200k_harmony", "--id", "300"]) == 0


@POSIX
def test_standard_input_is_read_once(folder: Path, ranks: tuple[str, ...]) -> None:
    (folder / "big").write_bytes(b"hello " * 400_000)
    with open(folder / "big", "rb") as file:
        once = subprocess.run([*COMMAND, "count", *ranks, "-", "-"], stdin=file, capture_output=True, check=True).stdout.split()
    assert once[2:] == [b"0", b"-", once[0], b"total"] and int(once[0]) > 400_000


@POSIX
def test_a_tokenizer_in_a_pipe(folder: Path, ranks: tuple[str, ...], template: tuple[str, str]) -> None:
    output("vocab", *ranks[1:], "--save", "a.bitlex")
    os.mkfifo("pipe")

    def piped(path: str) -> threading.Thread:
        writer = threading.Thread(target=lambda: Path("pipe").write_bytes(Path(path).read_bytes()), daemon=True)
        writer.start()
        return writer

    for path, rest in ((ranks[1], ranks[2:]), (template[1], ())):
        writer = piped(path)
        assert output("count", "-t", "pipe", *rest, input=b"hello") == output("count", "-t", path, *rest, input=b"hello")
        writer.join(60)
    writer = piped("a.bitlex")
    assert refusal("count", "-t", "pipe", input=b"hello") == "pipe: a saved tokenizer is mapped into memory, so it must be a file"
    writer.join(60)


@POSIX
def test_no_progress_among_ids_on_a_terminal(folder: Path, ranks: tuple[str, ...]) -> None:
    import pty

    reader, terminal = pty.openpty()
    with subprocess.Popen([*COMMAND, "encode", *ranks, "--input", "lines"], stdin=subprocess.PIPE, stdout=terminal, stderr=terminal) as process:
        os.close(terminal)
        assert process.stdin is not None
        for _ in range(3):
            process.stdin.write(b"x\n")
            process.stdin.flush()
            time.sleep(0.15)
        process.stdin.close()
        assert shown_to_the_end(reader) == b"120\r\n" * 3


def test_a_field_with_a_number_of_thousands_of_digits(folder: Path, ranks: tuple[str, ...]) -> None:
    (folder / "a.jsonl").write_text('{"a": ["x"]}\n')
    assert output("count", *ranks, "a.jsonl", "--field", "a.0").split()[0] == b"1"
    assert refusal("count", *ranks, "a.jsonl", "--field", "a." + "9" * 5000).startswith("a.jsonl: line 1: nothing at 'a.999")


@POSIX
def test_a_folder_that_is_gone(tmp_path: Path, ranks: tuple[str, ...]) -> None:
    gone = tmp_path / "gone"
    for arguments in (("encode", *ranks, "-o", "x.txt"), ("vocab", *ranks[1:], "--save", "x.txt")):
        gone.mkdir()
        command = shlex.join([*COMMAND, *arguments])
        done = subprocess.run(f"rmdir {gone}; exec {command}", shell=True, cwd=gone, input=b"a", capture_output=True)
        assert done.stderr == b"bitlex: x.txt: No such file or directory\n" and done.returncode == 1


def test_names_of_compressed_files(folder: Path, ranks: tuple[str, ...]) -> None:
    """What is written is not compressed, and arrays are not decompressed."""
    (folder / "a").write_text("hello")
    told = "what is written is not compressed; give it a name without "
    assert refusal("encode", *ranks, "a", "--format", "jsonl", "-o", "b.jsonl.gz") == f"b.jsonl.gz: {told}.gz"
    assert refusal("decode", *ranks, "a", "-o", "b.xz") == f"b.xz: {told}.xz"
    assert refusal("vocab", *ranks[1:], "--save", "b.bz2") == f"b.bz2: {told}.bz2"
    assert refusal("show", *ranks, "a", "--html", "b.zst") == f"b.zst: {told}.zst"
    assert refusal("train", "a", "--vocab-size", "256", "-o", "tokenizer.json.gz") == f"tokenizer.json.gz: {told}.gz"
    for name in ("b.bin.gz", "b.npy.xz"):
        (folder / name).write_bytes(bytes(8))
        what = name[2:5]
        assert refusal("decode", *ranks, name, "--dtype", "u16") == f"{name}: {what} is mapped into memory, and so must not be compressed"


def test_empty_lines_are_passed_over(folder: Path, ranks: tuple[str, ...]) -> None:
    (folder / "a.jsonl").write_text("[1]\n\n [2]\n")
    assert output("decode", *ranks, "a.jsonl", "--format", "jsonl").count(b"\n") == 2


def test_options_that_contradict_each_other(ranks: tuple[str, ...]) -> None:
    assert "'none' is no special token" in refusal("count", *ranks, "--allow-special", "all", "--allow-special", "none", input=b"x")
    assert "--pattern goes without families" in refusal("prove", "gpt2", "--pattern", "a", "--k", "0", code=2)


@POSIX
def test_a_special_token_without_utf_8(folder: Path) -> None:
    told = refusal("train", "-", "--vocab-size", "300", "--special", os.fsdecode(b"\xff"), "-o", "a", input=b"x")
    assert told == "special_tokens: '\\udcff' has a lone surrogate, and so no UTF-8"


def test_a_file_that_is_no_checkpoint(folder: Path) -> None:
    (folder / "a.checkpoint").write_text("precious")
    told = refusal("train", "-", "--vocab-size", "256", "-o", "a", input=b"x")
    assert told == "a.checkpoint: is there, and no checkpoint; move it away, or choose another output"
    assert (folder / "a.checkpoint").read_text() == "precious"


def test_a_number_of_threads_that_is_none(ranks: tuple[str, ...]) -> None:
    for command in ("count", "encode"):
        assert refusal(command, *ranks, "--threads=-1", input=b"x").startswith("--threads is -1; it may be 0")


@POSIX
@pytest.mark.parametrize("quiet", [False, True])
def test_progress_is_for_the_terminal(folder: Path, ranks: tuple[str, ...], quiet: bool) -> None:
    (folder / "a.jsonl").write_text(json.dumps("hello world 123 " * 4000) + "\n")
    os.mkfifo(folder / "b")
    command = [*COMMAND, "encode", *ranks, "a.jsonl", "b", "--input", "jsonl", "-o", "ids.npy", *["--quiet"] * quiet]
    ours, terminal = os.openpty()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=terminal, env=os.environ | {"TERM": "xterm"}) as process:
        os.close(terminal)
        with open("b", "wb", buffering=0) as pipe:
            for _ in range(5):
                pipe.write(b'"hello"\n')
                time.sleep(0.15)  # a picture is drawn ten times a second at most
        shown = shown_to_the_end(ours)
        assert process.wait(60) == 0
    if quiet:
        assert shown == b""
        return
    assert re.search(rb"\r\x1b\[K\[#+-*\] +\d+%  [\d.,]+ MB/s, [\d.,]+ M tokens/s  \d+ s left", shown)
    tokens = len(np.load("ids.npy"))
    last = shown.split(b"\r\x1b[K")[-2].decode()
    assert last.startswith(f"2 inputs, 6 documents, {tokens:,} tokens, 64,043 bytes in ")
    assert re.search(r" in \d+\.\d s: [\d.,]+ MB/s, [\d.,]+ M tokens/s\r\n$", last)
    assert shown.endswith(b"\n\r\x1b[K")


@POSIX
@pytest.mark.parametrize("command", ["encode", "count"])
def test_the_last_line_of_progress_has_what_other_processes_did(folder: Path, ranks: tuple[str, ...], command: str) -> None:
    """All of it, though not all that they report on the way is passed on."""
    for number in range(5):
        (folder / f"{number}.jsonl").write_text(json.dumps("hello world 123 " * 100) + "\n" + '"hello"\n' * 9_000)
    counted = output("count", *ranks, "*.jsonl").split()[-2]
    to = ["-o", "out/"] if command == "encode" else []
    ours, terminal = os.openpty()
    run = [*APART, command, *ranks, "*.jsonl", *to, "--threads", "3"]
    with subprocess.Popen(run, stdout=subprocess.PIPE, stderr=terminal, env=os.environ | {"TERM": "xterm"}) as process:
        os.close(terminal)
        shown = shown_to_the_end(ours).decode()
        assert process.wait(60) == 0
    size = sum(path.stat().st_size for path in folder.glob("*.jsonl"))
    assert f"5 inputs, 45,005 documents, {int(counted):,} tokens, {size:,} bytes in " in shown


# --- real texts ---


@pytest.mark.parametrize("name", ["r50k_base", "p50k_base", "cl100k_base", "o200k_base"])
def test_files_are_those_of_tiktoken(folder: Path, name: str) -> None:
    if not os.environ.get("BITLEX_DATA"):
        pytest.skip("BITLEX_DATA names no folder of texts and vocabularies")
    data = Path(os.environ["BITLEX_DATA"])
    golden = json.loads((data / "golden.json").read_text())["tiktoken"]
    output("encode", "-t", data / "vocab" / f"{name}.tiktoken", "--ordinary", data / "corpora" / "*", "-o", "out/", "--format", "bin")
    for text, digests in golden.items():
        ids = (folder / "out" / f"{text}.bin").read_bytes()
        assert [len(ids) // 4, hashlib.sha256(ids).hexdigest()] == digests[name]
