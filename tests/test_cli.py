"""The command line as a user has it: a process, its output, its exit code. No user's mistake may end in a traceback."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import bitlex

COMMAND = [sys.executable, "-m", "bitlex"]
CL100K = ("split", "--family", "cl100k")


def bitlex_command(*arguments: str, input: bytes = b"", **options: Any) -> subprocess.CompletedProcess[bytes]:
    done = subprocess.run([*COMMAND, *arguments], input=input, capture_output=True, timeout=60, check=False, **options)
    assert b"Traceback" not in done.stderr, done.stderr.decode()
    return done


def output(*arguments: str, input: bytes = b"", **options: Any) -> str:
    done = bitlex_command(*arguments, input=input, **options)
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout.decode()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_bytes("I'm here\n12345 \u00e9\u00a0x \\ \t".encode())
    return path


@pytest.mark.parametrize("pure", ["", "1"])
def test_text(file: Path, pure: str) -> None:
    lines = output(*CL100K, str(file), env={**os.environ, "BITLEX_PURE": pure}).splitlines()
    assert lines == ["I", "'m", " here", "\\n", "123", "45", " \u00e9", "\\u00a0x", " \\\\", " \\t"]


def test_bytes_that_are_not_utf8() -> None:
    data = b"a\xff\xe4\xbd b \xed\xa0\x80"
    assert output(*CL100K, input=data).splitlines() == ["a", "\\xff\\xe4\\xbd", " b", " \\xed\\xa0\\x80"]
    pieces = json.loads(output(*CL100K, "--format", "json", input=data))
    assert [piece.encode("utf-8", "surrogateescape") for piece in pieces] == bitlex.lexer("cl100k").split(data)


def test_json_is_one_line_a_text(file: Path) -> None:
    lines = output(*CL100K, "--format", "json", str(file), "-", str(file), input=b"").splitlines()
    assert len(lines) == 3
    assert json.loads(lines[0]) == json.loads(lines[2]) == bitlex.lexer("cl100k").split(file.read_text(encoding="utf-8"))
    assert lines[1] == "[]"
    assert "\u00e9" in lines[0]


def test_offsets_are_bytes(file: Path) -> None:
    data = file.read_bytes()
    spans = [tuple(map(int, line.split())) for line in output(*CL100K, "--format", "offsets", str(file)).splitlines()]
    assert [data[start:end] for start, end in spans] == bitlex.lexer("cl100k").split(data)


def test_color_shows_all_of_the_text() -> None:
    shown = output("split", "--pattern", "[a-z]+", "--behavior", "removed", "--invert", "--format", "color", input=b"ab,cd\ne")
    assert shown == "\x1b[30;46mab\x1b[0m,\x1b[30;43mcd\x1b[0m\\n\n\x1b[30;46me\x1b[0m\n"


def test_standard_input_may_be_a_file_a_pipe_or_nothing(file: Path) -> None:
    expected = output(*CL100K, str(file))
    assert output(*CL100K, input=file.read_bytes()) == output(*CL100K, "-", input=file.read_bytes()) == expected
    with open(file, "rb") as opened:
        assert subprocess.check_output([*COMMAND, *CL100K], stdin=opened).decode() == expected
    assert output(*CL100K, input=b"") == ""


def test_own_patterns() -> None:
    assert output("split", "--pattern", r"\d+", "--dialect", "python", "--unicode", "15.0", input=b"a12b") == "a\n12\nb\n"
    assert output("split", "--pattern", r"\d", "--behavior", "merged_with_previous", input=b"a1b") == "a1\nb\n"


def test_families() -> None:
    table = output("families").splitlines()
    assert table[0].split() == ["NAME", "UNICODE", "ENGINE", "CELLS", "STATES", "BYTES", "ALIASES"]
    assert [line.split()[0] for line in table[1:]] == list(bitlex.families())
    known = {one["name"]: one for one in json.loads(output("families", "--json"))}
    assert "cl100k_base" in known["cl100k"]["aliases"]
    assert known["cl100k"]["table_bytes"] > 1000


def test_explain() -> None:
    lines = output("explain", "--family", "cl100k", "it's\n").splitlines()
    assert lines[1].split() == ["0", "2", "1", "2", "it", r"[^\r\n\p{L}\p{N}]?+\p{L}++"]
    assert lines[2].split()[:5] == ["2", "4", "1", "1", "'s"]
    assert lines[3].split()[4] == "\\n"
    assert output("explain", "--family", "cl100k", input=b"it's\n").splitlines() == lines


@pytest.mark.parametrize("command", [[], ["split"], ["explain"], ["families"], ["generate"]])
def test_help_has_examples(command: list[str]) -> None:
    assert "example" in output(*command, "--help").lower()


def test_version() -> None:
    assert output("--version") == f"bitlex {bitlex.__version__}\n"


@pytest.mark.parametrize(
    "arguments",
    [
        [], ["nothing"], ["split"], ["split", "--family", "cl100k", "--pattern", "a"], ["split", "--family", "cl100k", "--invert"],
        ["split", "--pattern", "a", "--behavior", "kept"], [*CL100K, "--format", "xml"], ["generate"], ["families", "extra"],
    ],
)  # fmt: skip
def test_wrong_command_lines_exit_2(arguments: list[str]) -> None:
    done = bitlex_command(*arguments)
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"bitlex" in done.stderr


def test_a_missing_file_does_not_stop_the_others(file: Path) -> None:
    done = bitlex_command(*CL100K, "no such file", str(file.parent), str(file))
    assert done.returncode == 1
    assert done.stderr.decode().splitlines() == [
        "bitlex: no such file: No such file or directory", f"bitlex: {file.parent}: Is a directory"
    ]  # fmt: skip
    assert done.stdout.decode() == output(*CL100K, str(file))


def test_an_unknown_family_exits_1() -> None:
    done = bitlex_command("split", "--family", "cl100")
    assert done.returncode == 1
    assert done.stderr.startswith(b"bitlex: no family 'cl100'; did you mean cl100k")
    assert done.stderr.count(b"\n") == 1


def test_bad_patterns_are_pointed_at() -> None:
    done = bitlex_command("split", "--pattern", r"(a+)\1")
    assert done.returncode == 1
    lines = done.stderr.decode().splitlines()
    place = lines.index(r"  (a+)\1")
    assert lines[place + 1] == "      ^^"
    done = bitlex_command("split", "--pattern", "a", "--unicode", "1.0")
    assert (done.returncode, done.stderr.count(b"\n")) == (1, 1)


@pytest.mark.parametrize("format", ["text", "json", "offsets", "color"])
def test_a_closed_pipe_ends_it_quietly(tmp_path: Path, format: str) -> None:
    path = tmp_path / "large.txt"
    path.write_bytes(b"some words and 12345 numbers\n" * 100_000)
    with subprocess.Popen(
        [*COMMAND, *CL100K, "--format", format, str(path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.read(20)
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(60) == 0


def test_output_comes_before_all_of_it_is_found(tmp_path: Path) -> None:
    """The pieces of a large text are never all in memory: the first lines come out while the last ones are far away."""
    path = tmp_path / "large.txt"
    path.write_bytes(b"a b c d " * 4_000_000)  # 16 million pieces: minutes of output
    with subprocess.Popen([*COMMAND, *CL100K, str(path)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        began = time.monotonic()
        assert process.stdout.readline() == b"a\n"
        assert process.poll() is None
        assert time.monotonic() - began < 20
        process.kill()


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def listen() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.parametrize("writing", [False, True])
def test_ctrl_c_exits_130(tmp_path: Path, writing: bool) -> None:
    path = tmp_path / "large.txt"
    path.write_bytes(b"a b c d " * 1_000_000)
    command = [*COMMAND, *CL100K, str(path) if writing else "-"]
    # A shell starts what it puts in the background with SIGINT ignored, and so would we be, and our child, if this ran there.
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, preexec_fn=listen) as process:
        assert process.stdout is not None
        if writing:
            assert process.stdout.readline()  # from here on it waits for us to read more
        else:
            time.sleep(1.5)  # until it waits for its input
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=60)[1] == b""
        assert process.returncode == 130


def test_closed_standard_streams() -> None:
    done = subprocess.run(
        ["sh", "-c", '"$@" >&-', "sh", *COMMAND, "families"], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (1, "bitlex: standard output is closed\n")
    done = subprocess.run(
        ["sh", "-c", '"$@" <&-', "sh", *COMMAND, *CL100K], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (1, "bitlex: standard input is closed\n")


def test_a_full_disk_is_reported(file: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full")
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [*COMMAND, *CL100K, str(file)], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False
        )
    assert done.returncode == 1
    assert done.stderr.splitlines()[0] == "bitlex: No space left on device"
    assert "Traceback" not in done.stderr


def test_generate_writes_a_lexer(tmp_path: Path) -> None:
    pytest.importorskip("jinja2")
    output("generate", "--pattern", r"\w+|\W", "--name", "mine", "--out", str(tmp_path))
    assert (tmp_path / "c" / "mine.c").is_file()
    program = "import sys; sys.path.insert(0, sys.argv[1]); from python import mine, scan; print(scan.Machine(**mine.TABLES).split('a b'))"
    done = subprocess.run([sys.executable, "-I", "-c", program, str(tmp_path)], capture_output=True, text=True, check=True)
    assert done.stdout == "['a', ' ', 'b']\n"
