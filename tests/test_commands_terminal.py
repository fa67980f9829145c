"""What names of files, and other text that is given, can write on a terminal: themselves, escaped, and nothing that it obeys."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from bitlex import Tokenizer, VocabularyError, cli, compile
from bitlex.commands.console import complain, in_lines, print_table
from bitlex.formats import json_shown, printable
from bitlex.terminal import Line
from small_tokenizers import SPECIAL, huggingface, rank_file
from terminals import shown_to_the_end

EVIL = "a\x1b]0;title\x07\n\r\x9b2J\u202eb"  # what sets a title, begins lines, wipes the screen and turns the text around
SHOWN = r"a\u001b]0;title\u0007\n\r\u009b2J\u202eb"
AS_LITERAL = repr(EVIL)[1:-1]
OURS = re.compile(r"\r\x1b\[K|\x1b\[30;4[63]m|\x1b\[0m|\r\n")  # wiping a line, colours, the end of one

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such terminals, nor such names of files")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rank_file(tmp_path)
    huggingface(tmp_path)
    (tmp_path / EVIL).write_text("hello world\n")
    return tmp_path


def on_a_terminal(*arguments: str, input: bytes = b"") -> str:
    """All that a command shows on one."""
    ours, terminal = os.openpty()
    command = [sys.executable, "-m", "bitlex", *arguments]
    environment = os.environ | {"TERM": "xterm", "PYTHON_COLORS": "0"}  # argparse has colours of its own from Python 3.14 on
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=terminal, stderr=terminal, env=environment) as process:
        os.close(terminal)
        assert process.stdin is not None
        process.stdin.write(input)
        process.stdin.close()
        return shown_to_the_end(ours).decode()


RANKS = ("-t", "small.tiktoken", *SPECIAL)


@POSIX
@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        (("count", *RANKS, EVIL), f" {SHOWN}\n"),
        (("count", *RANKS, EVIL, "--json"), json.dumps(EVIL)),
        (("count", *RANKS, f"no{EVIL}"), f"bitlex: no{SHOWN}: No such file or directory\n"),
        (("encode", *RANKS, EVIL, f"--{EVIL}"), f"error: unrecognized arguments: --{SHOWN}\n"),
        (("encode", *RANKS, EVIL, "-o", f"o{EVIL}"), r"does not say what to write"),
        (("encode", "-t", EVIL, EVIL), f"bitlex: {SHOWN}: begins with b'hello world"),
        (("decode", *RANKS, EVIL), f"bitlex: {SHOWN}: line 1: no id: 'hello'\n"),
        (("vocab", *RANKS[1:], "--name", EVIL), f" {SHOWN}\n"),
        (("vocab", *RANKS[1:], "--name", EVIL, "--json"), f'"name": {json.dumps(EVIL)}'),
        (("vocab", *RANKS[1:], "--name", EVIL, "--id", "9999"), f"bitlex: 9999 is no token of {SHOWN}\n"),
        (("split", "--family", "gpt2", f"no{EVIL}"), f"bitlex: no{SHOWN}: No such file or directory\n"),
        (("split", "--family", "gpt2", "--format", "json"), r'"\u009b"'),
        (("train", EVIL, "--vocab-size", "256", "-o", EVIL), f"bitlex: {SHOWN}: this is an input and an output\n"),
        (("train", EVIL, "--vocab-size", "9999", "-o", f"no/{EVIL}"), f"bitlex: no/{SHOWN}: the folder no is not there\n"),
        (("generate", "--show", "tree", "--pattern", EVIL), f"isolated  {AS_LITERAL}\n"),
        (("generate", "--out", f"out{EVIL}", "--pattern", f"a|a{EVIL}"), f"alternative 1 can never match: a{AS_LITERAL}\n"),
        (("generate", "--out", EVIL, "--pattern", "a"), f"error: {AS_LITERAL}/c/bitlex.c: "),
        (("generate", f"--{EVIL}", "--out", "out"), f"error: unrecognized arguments: --{AS_LITERAL}\n"),
    ],
)
def test_nothing_given_is_obeyed(folder: Path, arguments: tuple[str, ...], shown: str) -> None:
    found = OURS.sub(lambda own: "\n" if own[0] == "\r\n" else "", on_a_terminal(*arguments, input=EVIL.encode()))
    assert shown in found
    assert found.replace("\n", "").isprintable()


@POSIX
def test_what_a_program_reads_is_exact(folder: Path) -> None:
    count = [sys.executable, "-m", "bitlex", "count", *RANKS, EVIL]
    assert subprocess.run(count, stdout=subprocess.PIPE, check=True).stdout == f" 3 {EVIL}\n".encode()
    assert json.loads(subprocess.run([*count, "--json"], stdout=subprocess.PIPE, check=True).stdout)["files"][0]["file"] == EVIL
    subprocess.run([sys.executable, "-m", "bitlex", "encode", *RANKS, EVIL, "-o", "out/", "--format", "txt"], check=True)
    lines = (folder / "out/bitlex-manifest.jsonl").read_text().splitlines()
    assert json.loads(lines[1])["output"] == f"{EVIL}.txt" and (folder / f"out/{EVIL}.txt").is_file()


@POSIX
def test_a_page_may_have_a_name_that_is_no_utf_8(folder: Path) -> None:
    name = os.fsdecode(b"\xff\x1b<")
    assert cli.main(["show", *RANKS, "--name", name, "--html", "page.html", "hello"]) == 0
    assert r"<title>\xff\u001b&lt;</title>" in (folder / "page.html").read_text(encoding="utf-8")


def test_what_is_printable_stays() -> None:
    for text in ("caf\u00e9 \u4e2d\U0001f642.txt", "C:\\new\\texts", 'it\'s "a" <b>', ""):
        assert printable(text) == text
        assert json_shown(text) == json.dumps(text, ensure_ascii=False)
    assert printable("\u3000\udcff\u200d\t") == r"\u3000\xff\u200d\t"


def test_json_is_shown_and_exact() -> None:
    value = {"".join(map(chr, range(0x300))): [chr(at) for at in (0x202E, 0x2028, 0xD800, 0xDCFF, 0x10FFFF)]}
    assert json.loads(json_shown(value, indent=2)) == value
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e\ud800-\udfff]", json_shown(value, indent=2))


def test_only_what_points_at_a_pattern_has_lines() -> None:
    """Also inside of a message about a file, whose own name has one."""
    assert in_lines(ValueError(EVIL)) == SHOWN
    with pytest.raises(ValueError) as pointing:
        compile("a\n(")
    told = str(pointing.value)
    assert told.count("\n") == 3 and in_lines(pointing.value) == told
    wrapped = VocabularyError(f"{EVIL}: {told}")
    assert in_lines(wrapped).count("\n") == 0
    wrapped.__cause__ = pointing.value
    assert in_lines(wrapped) == f"{SHOWN}: {told}"
    wrapped = VocabularyError(f"{EVIL}: {told}")  # as it is raised "from None"
    wrapped.__context__ = pointing.value
    assert in_lines(wrapped) == f"{SHOWN}: {told}"
    another = VocabularyError(EVIL)
    another.__context__ = pointing.value
    assert in_lines(another) == SHOWN


def test_errors_of_the_system(capsys: pytest.CaptureFixture[str]) -> None:
    assert complain(OSError(2, "No such file", EVIL)) == complain(EVIL) == 1
    assert capsys.readouterr().err == f"bitlex: {SHOWN}: No such file\nbitlex: {SHOWN}\n"


def test_columns_are_as_wide_as_what_is_shown(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    print_table([("\x9b", "x\udcff"), ("b", "y")])
    assert capsysbinary.readouterr().out == rb"\u009b  x\xff" + b"\n" + b"b       y\n"


def test_a_line_of_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setenv("TERM", "xterm")
    terminal = Terminal()
    line = Line(terminal)
    line.show(EVIL)
    line.show(f"{EVIL}\n")
    line.clear()
    assert terminal.getvalue() == f"\r\x1b[K{SHOWN}\r\x1b[K{SHOWN}\n\r\x1b[K"


def test_a_tokenizer_whose_pattern_is_wrong_keeps_its_lines(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    about = json.loads((folder / "tokenizer.json").read_text())
    split = {"type": "Split", "pattern": {"Regex": "(a"}, "behavior": "Isolated", "invert": False}
    bytewise = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    about["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": [split, bytewise]}
    (folder / "wrong.json").write_text(json.dumps(about))
    with pytest.raises(ValueError) as error:
        Tokenizer.from_file(folder / "wrong.json")
    complain(error.value)
    assert capsys.readouterr().err.count("\n") == 4
