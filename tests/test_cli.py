"""The command line as a user has it: a process, its output, its exit code. No user's mistake may end in a traceback."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from ast import literal_eval
from pathlib import Path
from typing import Any

import pytest

import bitlex
from bitlex import cli
from bitlex.cli import main
from bitlex.commands.lexers import runs_on
from interrupting import listen
from several_stages import lexer_of_several_stages
from small_tokenizers import huggingface, rank_file
from terminals import shown_to_the_end

COMMAND = [sys.executable, "-m", "bitlex"]
SIGNALS = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGHUP, and its SIGTERM ends a process without asking it")
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


@pytest.mark.parametrize("tier", ["", "pure"])
def test_text(file: Path, tier: str) -> None:
    lines = output(*CL100K, str(file), env={**os.environ, "BITLEX_TIER": tier}).splitlines()
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
    assert output("split", "--pattern", "", input=b"ab") == "a\nb\n"
    assert b"error: --invert goes with --pattern" in bitlex_command("split", "--family", "gpt2", "--invert").stderr


def test_a_pattern_that_is_nested_too_deeply_is_one_message() -> None:
    for stacked in ("{1}" * 500, "+" * 300):
        done = bitlex_command("split", "--dialect", "oniguruma", "--pattern", "a" + stacked, input=b"a")
        assert (done.returncode, done.stdout) == (1, b"")
        assert done.stderr.startswith(b"bitlex: ") and b"nested" in done.stderr.splitlines()[0]
    done = bitlex_command("prove", "--dialect", "oniguruma", "--pattern", "a" + "+" * 300)
    assert done.returncode == 1 and done.stderr.count(b"\n") == 1 and b"nested too deeply" in done.stderr


def test_families() -> None:
    table = output("families").splitlines()
    assert table[0].split() == ["NAME", "UNICODE", "ENGINE", "CELLS", "STATES", "BYTES", "RUNS", "ON", "ALIASES"]
    assert [line.split()[0] for line in table[1:]] == list(bitlex.families())
    known = {one["name"]: one for one in json.loads(output("families", "--json"))}
    assert "cl100k_base" in known["cl100k"]["aliases"]
    assert known["cl100k"]["table_bytes"] > 1000
    assert known["cl100k"]["tier"] == bitlex.lexer("cl100k").tier
    for name, one in known.items():
        lexer = bitlex.lexer(name)
        assert (one["unicode"], one["dialect"], one["bytewise"]) == (lexer.unicode, lexer.dialect, lexer.bytewise)
        assert [tuple(pair) for pair in one["states"]] == list(lexer.states)
        assert "BITLEX_TIER allows" not in one["tier_reason"] or os.environ.get("BITLEX_TIER")
    known = {one["name"]: one for one in json.loads(output("families", "--json", env={**os.environ, "BITLEX_TIER": "pure"}))}
    assert (known["cl100k"]["tier"], known["cl100k"]["tier_reason"]) == ("pure", "BITLEX_TIER")
    if bitlex.lexer("cl100k").tier.startswith("avx"):  # a tier of other processors allows none of those of this one
        known = {one["name"]: one for one in json.loads(output("families", "--json", env={**os.environ, "BITLEX_TIER": "neon"}))}
        assert known["cl100k"]["tier"] == "portable" and "BITLEX_TIER allows" in known["cl100k"]["tier_reason"]
    assert bitlex_command("families", env={**os.environ, "BITLEX_TIER": "fast"}).stderr.count(b"it may be pure, portable, neon, avx2, avx512") == 1


def test_why_a_lexer_of_several_stages_is_portable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BITLEX_TIER", raising=False)
    lexer = lexer_of_several_stages()
    why = "several stages" if lexer.tier == "portable" else "the C extension is not built"
    assert runs_on(lexer) == {"tier": lexer.tier, "tier_reason": why}


def test_explain() -> None:
    lines = output("explain", "--family", "cl100k", "it's\n").splitlines()
    assert lines[1].split() == ["0", "2", "1", "2", "it", r"[^\r\n\p{L}\p{N}]?+\p{L}++"]
    assert lines[2].split()[:5] == ["2", "4", "1", "1", "'s"]
    assert lines[3].split()[4] == "\\n"
    assert output("explain", "--family", "cl100k", input=b"it's\n").splitlines() == lines
    assert output("explain", "--family", "cl100k", "", input=b"it's\n").splitlines() == lines[:1]  # no text is a text, too
    lines = output("explain", "--pattern", "a\\tb|\t\\s|\\\\|\u00e9", "a\tb\t x\\\u00e9").splitlines()
    assert [line.split(maxsplit=3) for line in lines[1:]] == [
        ["0", "3", "1", r"1            a\tb   a\tb"], ["3", "5", "1", r"2            \t     \t\s"], ["5", "6", "1", "-            x"],
        ["6", "7", "1", r"3            \\     \\"], ["7", "9", "1", "4            \u00e9      \u00e9"],
    ]  # fmt: skip
    if sys.platform != "win32":
        assert output("explain", "--family", "cl100k", os.fsdecode(b"a\xff")).splitlines()[2].split()[:5] == ["1", "2", "1", "4", "\\xff"]


@pytest.mark.parametrize("command", [[], ["split"], ["explain"], ["families"], ["prove"], ["generate"]])
def test_help_has_examples(command: list[str]) -> None:
    assert "example" in output(*command, "--help").lower()
    assert output(*command, "-h") == output(*command, "--help")


def test_version() -> None:
    assert output("--version") == f"bitlex {bitlex.__version__}\n"


@pytest.mark.parametrize(
    "arguments",
    [
        [], ["nothing"], ["split"], ["split", "--family", "cl100k", "--pattern", "a"], ["split", "--family", "cl100k", "--invert"],
        ["split", "--pattern", "a", "--behavior", "kept"], [*CL100K, "--format", "xml"], ["generate"], ["families", "extra"],
        ["prove", "cl100k", "--k", "x"], ["prove", "cl100k", "--k=-1"],
    ],
)  # fmt: skip
def test_wrong_command_lines_exit_2(arguments: list[str]) -> None:
    done = bitlex_command(*arguments)
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"bitlex" in done.stderr


def test_an_unknown_option_comes_with_the_usage_of_its_command() -> None:
    done = bitlex_command("families", "--jsn")
    assert done.stderr == b"usage: bitlex families [-h] [--json]\nbitlex families: error: unrecognized arguments: --jsn\n"


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


@pytest.mark.skipif(sys.platform == "win32", reason="Windows cannot send SIGINT to one child")
@pytest.mark.parametrize("writing", [False, True])
def test_ctrl_c_exits_130(tmp_path: Path, writing: bool) -> None:
    path = tmp_path / "large.txt"
    path.write_bytes(b"a b c d " * 1_000_000)
    command = [*COMMAND, *CL100K, str(path) if writing else "-"]
    # A shell starts what it puts in the background with SIGINT ignored, and so would we be, and our child, if this ran there.
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, preexec_fn=listen) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        if writing:
            assert process.stdout.readline()  # from here on it waits for us to read more
        else:
            process.stdin.write(b"x" * (1 << 20))  # more than a pipe holds: when this is done it waits for more input
            process.stdin.flush()
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=60)[1] == b""
        assert process.returncode == 130


def test_ctrl_c_while_modules_are_imported() -> None:
    program = """if True:
        import sys
        class Interrupted:
            def find_spec(self, name, path, target=None):
                if name == "bitlex.commands":
                    raise KeyboardInterrupt
        sys.meta_path.insert(0, Interrupted())
        from bitlex.cli import run
        run()
    """
    done = subprocess.run([sys.executable, "-c", program, "families"], capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"")


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8", "utf-16"])
def test_output_is_utf8_wherever_it_goes(encoding: str, tmp_path: Path) -> None:
    env = {**os.environ, "PYTHONIOENCODING": encoding}
    done = bitlex_command("same", "\u00f6", "\u4e2d", env=env)
    assert (done.returncode, done.stderr) == (1, b"") and "'\u00f6'" in done.stdout.decode()
    assert "\u4e2d" in output("generate", "--show", "tree", "--pattern", "\u4e2d+", env=env)
    path = huggingface(tmp_path)
    path.write_text(path.read_text(encoding="utf-8").replace("</s>", "\uff5cend\uff5c"), encoding="utf-8")
    assert json.loads(output("vocab", str(path), "--json", env=env))["special_tokens"]["\uff5cend\uff5c"] == 261


@SIGNALS
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("kind", ["RuntimeError", "ImportError", "SystemExit", "ValueError"])
def test_a_signal_that_becomes_another_error(number: signal.Signals, kind: str) -> None:
    """As in the body of a class, and in the import of numpy."""
    program = f"""if True:
        import signal, sys
        class Interrupted:
            def find_spec(self, name, path, target=None):
                if name == "bitlex.commands":
                    try:
                        signal.raise_signal({int(number)})
                    except BaseException as error:
                        raise {kind}("a bad install") from error
        sys.meta_path.insert(0, Interrupted())
        from bitlex.cli import run
        run()
    """
    done = subprocess.run([sys.executable, "-c", program, "families"], capture_output=True, timeout=60, check=False, preexec_fn=listen)
    assert (done.returncode, done.stdout, done.stderr) == (128 + number, b"", b"")


@SIGNALS
@pytest.mark.parametrize("numbers", [(signal.SIGINT, signal.SIGINT), (signal.SIGHUP, signal.SIGTERM), (signal.SIGTERM, signal.SIGINT)], ids=repr)
def test_a_signal_behind_another(numbers: tuple[signal.Signals, signal.Signals], tmp_path: Path) -> None:
    """It comes while a file is removed that was not finished, and while it is found out which exit code there is to be."""
    program = f"""if True:
        import os, signal
        from bitlex import cli
        from bitlex.outputs import whole_files
        def again(function):
            def called(*given):
                signal.raise_signal({int(numbers[1])})
                return function(*given)
            return called
        def main():
            with whole_files("ids.npy") as files:
                signal.raise_signal({int(numbers[0])})
        os.unlink, cli.discard_output, cli.main = again(os.unlink), again(cli.discard_output), main
        cli.run()
    """
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=60, check=False, preexec_fn=listen, cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (128 + numbers[0], b"", b"")
    assert not list(tmp_path.iterdir())


@SIGNALS
def test_a_signal_while_a_mistake_is_told() -> None:
    program = f"""if True:
        import signal
        from bitlex import cli
        cli.main = lambda: int("none")
        cli.complain = lambda error: signal.raise_signal({int(signal.SIGTERM)})
        cli.run()
    """
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=60, check=False, preexec_fn=listen)
    assert (done.returncode, done.stdout, done.stderr) == (143, b"", b"")


@SIGNALS
def test_ctrl_c_as_the_command_begins() -> None:
    """At each function of Python's that is called before its own: it was an exception that nobody handled."""
    program = f"""if True:
        import os, signal, sys
        from bitlex import cli
        def press(frame, event, _):
            begun.append(event)
            if len(begun) > behind:
                signal.raise_signal({int(signal.SIGINT)})
        cli.main, found = lambda: 0, {{}}
        for behind in range(1, 200):
            begun, process = [], os.fork()
            if process == 0:
                sys.settrace(press)
                cli.run()
            found[os.waitstatus_to_exitcode(os.wait()[1])] = behind
            if 0 in found:
                break
        print(*found)
    """
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False, preexec_fn=listen)
    assert (done.stdout, done.stderr) == (f"130 {-signal.SIGINT} 0\n", "")


@SIGNALS
@pytest.mark.parametrize("main", [f"signal.raise_signal({int(signal.SIGINT)})", "0"])
def test_a_signal_when_all_is_done(main: str) -> None:
    """As while the interpreter waits for its threads. Nothing is said of it."""
    program = f"""if True:
        import atexit, signal
        from bitlex import cli
        atexit.register(lambda: signal.raise_signal({int(signal.SIGTERM)}))
        cli.main = lambda: {main}
        cli.run()
    """
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=60, check=False, preexec_fn=listen)
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGTERM, b"", b"")


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="arguments are Unicode there, whatever the locale: there is nothing to mend")
def test_arguments_are_utf8_wherever_they_come_from(tmp_path: Path) -> None:
    """Where they are texts. Names of files are what the system says."""
    (tmp_path / "caf\u00e9").write_text("caf\u00e9s", encoding="utf-8")
    rank_file(tmp_path)
    env = os.environ | {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    train = ("train", "caf\u00e9", "-o", "a.bitlex", "--vocab-size", "257", "--quiet", "--special", "<\u4e2d>", "--pattern", "\u00e9|\\w+?")
    for arguments, told in {
        ("split", "--pattern", "\u00e9|caf|.", "caf\u00e9"): "caf\n\u00e9\ns\n", ("same", "\u00e9", "[\u00e9]"): "the same on every text\n", train: "",
        ("vocab", "a.bitlex", "--token", "<\u4e2d>", "--list"): "256\t5\t<\u4e2d>\n", ("generate", "--pattern", "\u00e9", "--show", "tree"): "one of \u00e9",
        ("encode", "-t", "a.bitlex", "--append", "<\u4e2d>", "caf\u00e9"): "99 97 102 195 169 115 256\n",
        ("vocab", "small.tiktoken", "--family", "gpt2", "--special", "<\u4e2d>=300", "--id", "300"): "<\u4e2d>",
    }.items():  # fmt: skip
        done = subprocess.run([*COMMAND, *(one.encode() for one in arguments)], env=env, cwd=tmp_path, capture_output=True, timeout=60, check=False)
        assert (done.returncode, done.stderr) == (0, b"") and told in done.stdout.decode(), arguments


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="arguments are Unicode there, whatever the locale: there is nothing to mend")
def test_a_folder_for_source_is_named_as_the_system_says(tmp_path: Path) -> None:
    needs("jinja2")
    env = os.environ | {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    for name, arguments in (("\u00e91", ["--out", "\u00e91"]), ("\u00e92", ["--out=\u00e92"])):
        command: list[str | bytes] = [*COMMAND, *(one.encode() for one in ("generate", "--pattern", "\u00e9", *arguments))]
        done = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, timeout=60, check=False)
        assert (done.returncode, (tmp_path / name / "c").is_dir()) == (0, True), done.stderr


def test_a_mistake_where_there_are_no_devices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    """As in a root without /dev: what is wrong is said, and nothing else goes wrong."""
    monkeypatch.setattr(os, "devnull", str(tmp_path / "null"))
    assert cli.code_of(FileNotFoundError(2, "No such file or directory", "a.txt")) == 1
    assert capfd.readouterr() == ("", "bitlex: a.txt: No such file or directory\n")


def test_closed_standard_streams() -> None:
    done = subprocess.run(
        ["sh", "-c", '"$@" >&-', "sh", *COMMAND, "families"], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (1, "bitlex: standard output is closed\n")
    done = subprocess.run(
        ["sh", "-c", '"$@" <&-', "sh", *COMMAND, *CL100K], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (1, "bitlex: standard input is closed\n")
    done = subprocess.run(
        ["sh", "-c", '"$@" 2>&-', "sh", *COMMAND, "split", "--family", "cl100"], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "")  # a complaint is no output


def test_a_full_disk_is_reported(file: Path, full_disk: Path) -> None:
    with open(full_disk, "wb") as full:
        done = subprocess.run(
            [*COMMAND, *CL100K, str(file)], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False
        )
    assert done.returncode == 1
    assert done.stderr.splitlines()[0] == "bitlex: No space left on device"
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([*CL100K, "FILE", "FILE", "FILE"], "bitlex: No space left on device\n"), (["--help"], "bitlex: No space left on device\n"),
        (["--version"], "bitlex: No space left on device\n"), (["split", "--help"], "bitlex: No space left on device\n"),
        (["families"], "bitlex: No space left on device\n"), (["generate", "--help"], "bitlex: No space left on device\n"),
        (["generate", "--show", "tree", "gpt2"], "error: [Errno 28] No space left on device\n"),
    ],
)  # fmt: skip
def test_a_full_disk_is_reported_once(file: Path, full_disk: Path, arguments: list[str], told: str) -> None:
    command = [*COMMAND, *(str(file) if argument == "FILE" else argument for argument in arguments)]
    env = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}  # under which argparse itself fails, and says nothing
    with open(full_disk, "wb") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False, env=env)
    assert (done.returncode, done.stderr) == (1, told)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--behavior", "removed", "--out", "gg", "gpt2"], "--behavior goes with --pattern"),
        (["--invert", "--out", "gg"], "--invert goes with --pattern"), (["--name", "mine", "--show", "tree", "gpt2"], "--name goes with --pattern"),
        (["--unicode", "16.0", "--show", "tree", "gpt2"], "--unicode goes with --pattern"),
        (["--dialect", "fancy", "--check"], "--dialect goes with --pattern"),
        (["--dot", "--show", "tree", "gpt2"], "--dot goes with --show nfa, dfa, machine or bimachine"),
        (["--dot", "--out", "gg", "gpt2"], "--dot goes with --show nfa, dfa, machine or bimachine"),
        (["--show", "tree", "gpt2", "--out", "gg"], "--show writes nothing, and goes without --out"),
        (["--show", "tree", "gpt2", "--check"], "--show writes nothing, and goes without --check"),
        (["--all", "gpt2", "--out", "gg"], "--all goes without families"),
    ],
)  # fmt: skip
def test_generate_refuses_what_does_not_apply(tmp_path: Path, arguments: list[str], told: str) -> None:
    done = bitlex_command("generate", *arguments, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.decode().splitlines()[-1] == f"bitlex generate: error: {told}"
    assert not list(tmp_path.iterdir())


def test_generate_takes_what_applies() -> None:
    assert "removed inverted" in output("generate", "--show", "tree", "--pattern", "a", "--behavior", "removed", "--invert")
    assert "digraph" in output("generate", "--show", "nfa", "--dot", "gpt2")
    assert "took more than 1e-09 seconds" in bitlex_command("generate", "--show", "dfa", "gpt2", "--seconds", "1e-9").stderr.decode()


def test_generate_without_standard_output() -> None:
    done = subprocess.run(
        ["sh", "-c", '"$@" >&-', "sh", *COMMAND, "generate", "--show", "tree", "gpt2"], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (1, "error: standard output is closed\n")


def test_generate_writes_a_lexer(tmp_path: Path) -> None:
    pytest.importorskip("jinja2")
    output("generate", "--pattern", r"\w+|\W", "--name", "mine", "--out", str(tmp_path))
    assert (tmp_path / "c" / "mine.c").is_file()
    program = "import sys; sys.path.insert(0, sys.argv[1]); from python import mine, scan; print(scan.Machine(**mine.TABLES).split('a b'))"
    done = subprocess.run([sys.executable, "-I", "-c", program, str(tmp_path)], capture_output=True, text=True, check=True)
    assert done.stdout == "['a', ' ', 'b']\n"


def test_generate_says_what_is_wrong(tmp_path: Path) -> None:
    done = bitlex_command("generate", "--seconds", "0.001", "--show", "dfa", "--pattern", r"\p{L}{1,300}|\w{1,200}\s+")
    assert (done.returncode, done.stderr) == (1, b"error: compiling this pattern took more than 0.001 seconds; raise the limit with --seconds\n")
    assert output("generate", "--help").startswith("usage: bitlex generate ")
    done = bitlex_command("generate", "--pattern", "a", "--name", "class", "--out", str(tmp_path))
    assert (done.returncode, done.stderr) == (1, b"error: --name 'class' is a keyword of Python, which cannot be imported\n")
    written = [path.stem for path in Path(bitlex.generated.__file__).parent.glob("*/*") if path.suffix in (".py", ".c", ".h") and path.stem not in bitlex.families()]
    assert {"scan", "bitlex", "bitlex_lanes", "bitlex_stream", "bitlex_kernel", "nfc", "__init__"} <= set(written)
    for name in {*written, "Bitlex"}:
        done = bitlex_command("generate", "--pattern", "a", "--name", name, "--out", str(tmp_path))
        assert (done.returncode, done.stderr.decode()) == (1, f"error: --name {name!r} is the name of a file that all lexers share; choose another\n")
    for program in ("bitlex.cli import run as main", "bitlex.generator.__main__ import main"):
        alone = without("jinja2", *["generate"] * ("cli" in program), "--pattern", "a", "--out", str(tmp_path), program=program)
        assert (alone.returncode, alone.stderr) == (1, "error: writing source needs jinja2: pip install 'bitlex[generate]'\n")
    assert not list(tmp_path.iterdir())


# --- prove ------------------------------------------------------------------------------------------------------------------------------

PROOFS = [
    "cl100k, python tables, 1 step: 12 symbols, ", "proved: the tables split every text as the definition does",
    "cl100k, c tables, 1 step: 12 symbols, ", "proved: the tables split every text as the definition does",
]  # fmt: skip


def needs(*names: str) -> None:
    for name in names:
        pytest.importorskip(name, reason=f"{name} is not installed")


def without(module: str, *arguments: str, program: str = "bitlex.cli import run as main") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", f"import sys; sys.modules[{module!r}] = None; from {program}; sys.exit(main())", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_prove_reports_the_proofs_and_the_short_texts() -> None:
    needs("interegular", "regex")
    lines = output("prove", "cl100k", "--k", "2").splitlines()  # which asserts that nothing is on standard error
    assert [line[: len(start)] for line, start in zip(lines, PROOFS, strict=False)] == PROOFS
    short = r"cl100k, every text of 1\.\.2 characters out of 29 representatives of 12 cells: 870 texts, 0 differences, \d+\.\d\d s"
    assert re.fullmatch(short, lines[4])
    assert lines[5].startswith("alike: the pattern in the regex module, the python and c tables in the pure ")
    assert len(lines) == 6
    assert output("prove", "cl100k").splitlines()[4].split(": ")[1].startswith("25,259 texts, 0 differences")  # k = 3 by default


def test_prove_of_several_ends_with_a_sum() -> None:
    needs("interegular", "regex")
    last = output("prove", "bloom", "clip", "--k", "1").splitlines()[-1]
    assert re.fullmatch(r"2 families: 4 proofs, 0 refuted; 44 texts, 0 differences; \d+ s", last)
    last = output("prove", "bloom", "clip", "--k", "0").splitlines()[-1]
    assert re.fullmatch(r"2 families: 4 proofs, 0 refuted; \d+ s", last)


def test_prove_of_a_pattern() -> None:
    needs("interegular", "regex", "jinja2")
    lines = output("prove", "--pattern", r"\w+|\s+(?!\S)|\s|[^\w\s]", "--k", "2").splitlines()
    assert "custom, every text of 1..2 characters out of" in lines[4] and " 0 differences, " in lines[4]
    assert without("jinja2", "prove", "--pattern", "a").stderr == "bitlex: writing source needs jinja2: pip install 'bitlex[generate]'\n"


def test_what_is_proved(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    needs("interegular", "regex", "jinja2")
    from bitlex import proving

    asked: list[tuple[Any, int]] = []

    def prove(what: Any, k: int) -> int:
        asked.append((what, k))
        return 300  # of which a shell would see 44

    monkeypatch.setattr(proving, "prove", prove)
    assert main(["prove", "--all"]) == main(["prove", "cl100k_base", "GPT2", "--k", "1"]) == 1
    assert asked == [(list(bitlex.families()), 3), (["cl100k", "gpt2"], 1)]
    assert main(["prove", "--pattern", "a", "--dialect", "python", "--unicode", "15.0"]) == 1
    ((program,), _) = asked[-1]
    assert (program.dialect, program.unicode) == ("python", "15.0")
    assert main(["prove"]) == 1 and capsys.readouterr().err == "bitlex: say what to prove: families, --all or --pattern\n"
    with pytest.raises(SystemExit):
        main(["prove", "--all", "--pattern", "a"])


def test_prove_names_what_is_not_installed() -> None:
    done = without("interegular", "prove", "cl100k")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "bitlex: the proof needs interegular: pip install 'bitlex[prove]'\n"
    needs("interegular")
    done = without("regex", "prove", "cl100k")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "bitlex: trying short texts needs regex: pip install 'bitlex[prove]'; the proof alone does not: --k 0\n"
    done = without("regex", "prove", "cl100k", "--k", "0")
    assert (done.returncode, done.stderr) == (0, "") and len(done.stdout.splitlines()) == len(PROOFS)


def test_a_wrong_table_is_refuted_and_found_by_short_texts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    needs("interegular", "regex")
    from bitlex.generator import proof

    for room in ("python", "c"):
        shutil.copytree(proof.GENERATED / room, tmp_path / room, ignore=shutil.ignore_patterns("__pycache__"))
    source = tmp_path / "c" / "cl100k.c"
    head, tail = source.read_text().split("output0[] = {\n")
    first, second, rest = tail.split("\n", 2)  # in state 1: continue where a piece starts, and the other way round
    source.write_text(f"{head}output0[] = {{\n{first}\n{second.translate(str.maketrans('01', '10'))}\n{rest}")
    monkeypatch.setattr(proof, "GENERATED", tmp_path)
    assert main(["prove", "cl100k", "--k", "2"]) == 1
    said = capsys.readouterr()
    lines = said.out.splitlines()
    assert lines[1].startswith("proved") and lines[3] == "REFUTED by a shortest text:"  # Python's table is right
    place = next(n for n, line in enumerate(lines) if line.startswith("DIFFERENT, first on these texts: "))
    assert re.search(r": 870 texts, [1-9]\d* differences, ", lines[place - 1])
    text, expected, found = (line.split(maxsplit=1) for line in lines[place + 1 : place + 4])
    assert (text[0], expected[0], found[0]) == ("text", "expected", "found")
    assert len(literal_eval(text[1])) == len(literal_eval(lines[4].split(maxsplit=1)[1]))  # both are shortest
    pieces = bitlex.lexer("cl100k").split(literal_eval(text[1]))
    assert [literal_eval(part.split(" ", 1)[1]) for part in expected[1].split("  ")] == pieces
    assert found[1].endswith(" loop)") and "(c tables, " in found[1] and found[1] != expected[1]
    assert said.err == ""


def test_what_only_short_texts_find_is_no_success(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The proof is of tables. A loop that reads right tables wrongly is found by running it."""
    needs("interegular", "regex")
    from bitlex import proving

    right = proving.loops()["pure"]

    def wrong(tables: Any) -> Any:
        iterate = right(tables)
        return lambda text: [(0, 2)] if text == "\t\t" else iterate(text)

    monkeypatch.setattr(proving, "loops", lambda: {"pure": right, "native": wrong})
    assert main(["prove", "bloom", "--k", "1"]) == 0
    assert main(["prove", "clip", "--k", "2"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert sum(line.startswith("proved") for line in lines) == 4
    assert lines[-3:] == ["  text      '\\t\\t'", "  expected  none", "  found     0-2 '\\t\\t'  (python tables, native loop)"]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pseudo-terminals, and no SIGINT for one child")
def test_prove_shows_its_progress_on_a_terminal_and_stops_at_ctrl_c() -> None:
    needs("interegular", "regex")
    ours, terminal = os.openpty()
    command = [*COMMAND, "prove", "cl100k", "--k", "6"]  # hours
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=terminal, preexec_fn=listen, env=os.environ | {"TERM": "xterm"}) as process:
        os.close(terminal)
        shown = b""
        while b",000 of 616,067,010 texts" not in shown:
            shown += os.read(ours, 1000)
        process.send_signal(signal.SIGINT)
        assert process.stdout is not None
        assert process.stdout.read().count(b"proved") == 2
        assert process.wait(60) == 130
    shown += shown_to_the_end(ours)
    assert b"\r\x1b[Kcl100k, 1 of 1: proof, python tables" in shown
    assert shown.endswith(b" texts\r\x1b[K")  # the line is wiped, and no traceback follows


@pytest.mark.skipif(sys.platform == "win32", reason="Windows cannot send SIGINT to one child")
def test_prove_stops_at_ctrl_c_in_a_pipe() -> None:
    needs("interegular", "regex")
    command = [*COMMAND, "prove", "cl100k", "--k", "6"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=listen) as process:
        assert process.stdout is not None
        while process.stdout.readline() != b"proved: the tables split every text as the definition does\n":
            pass
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=60)[1] == b""
        assert process.returncode == 130
