"""`bitlex encode` and `bitlex count` of texts that come in parts: from a pipe that stays open, compressed, too large for memory."""

from __future__ import annotations

import gzip
import json
import os
import random
import subprocess
import sys
from pathlib import Path
from threading import Thread

import numpy as np
import pytest

from bitlex import Tokenizer
from peaks import SAYS_ITS_PEAK, peak
from small_tokenizers import SPECIAL, huggingface, rank_file

COMMAND = [sys.executable, "-m", "bitlex"]
TEXT = ("hello world, hello 12345\n caf\u00e9 \u4e2d\U0001f642\n" * 5000).encode()


@pytest.fixture
def named(tmp_path: Path) -> list[str]:
    return ["-t", str(rank_file(tmp_path)), *SPECIAL]


@pytest.fixture
def tokenizer(tmp_path: Path) -> Tokenizer:
    return Tokenizer.from_file(rank_file(tmp_path), family="cl100k", special={"<|end|>": 300, "<|go|>": 301})


def test_ids_come_out_while_the_pipe_is_open(named: list[str], tokenizer: Tokenizer) -> None:
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}  # with it, nothing need be flushed
    with subprocess.Popen([*COMMAND, "encode", *named], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0, env=buffered) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(b"hello wor")
        first = process.stdout.read(3)
        process.stdin.write(b"ld 12\xe4\xb8")
        process.stdin.write(b"\xad")
        process.stdin.close()
        ids = list(map(int, (first + process.stdout.read()).split()))
    assert ids == tokenizer.encode("hello world 12\u4e2d") and process.returncode == 0


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
@pytest.mark.parametrize("command", ["encode", "count"])
def test_a_named_pipe_is_opened_once(named: list[str], tokenizer: Tokenizer, tmp_path: Path, command: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    with subprocess.Popen([*COMMAND, command, *named, "pipe"], stdout=subprocess.PIPE, cwd=tmp_path) as process:
        Thread(target=(tmp_path / "pipe").write_bytes, args=[TEXT], daemon=True).start()  # both pipes may be full; nobody waits for it
        try:
            found = process.communicate(timeout=60)[0].split()
        finally:
            process.kill()
    ids = tokenizer.encode(TEXT)
    assert found == ([b"%d" % number for number in ids] if command == "encode" else [b"%d" % len(ids), b"pipe"])


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("format", ["npy", "bin", "jsonl", "txt"])
def test_a_text_in_parts_is_one_document(named: list[str], tokenizer: Tokenizer, tmp_path: Path, format: str, compressed: bool) -> None:
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(TEXT))
    command = [*COMMAND, "encode", *named, str(tmp_path / "a.txt.gz") if compressed else "-", "--append", "<|end|>", "-o", f"ids.{format}"]
    subprocess.run(command, input=TEXT, check=True, cwd=tmp_path)
    whole = tmp_path / "a.txt"
    whole.write_bytes(TEXT)
    subprocess.run([*COMMAND, "encode", *named, str(whole), "--append", "<|end|>", "-o", f"same.{format}"], check=True, cwd=tmp_path)
    assert (tmp_path / f"ids.{format}").read_bytes() == (tmp_path / f"same.{format}").read_bytes()
    if format == "npy":
        assert np.load(tmp_path / "ids.npy").tolist() == [*tokenizer.encode(TEXT), 300]
        assert np.load(tmp_path / "ids.idx.npy").tolist() == [0, len(tokenizer.encode(TEXT)) + 1]


def test_counting(named: list[str], tokenizer: Tokenizer) -> None:
    done = subprocess.run([*COMMAND, "count", *named, "--json"], input=TEXT, capture_output=True, check=True)
    assert f'"tokens": {len(tokenizer.encode(TEXT))},\n      "documents": 1,\n      "bytes": {len(TEXT)}' in done.stdout.decode()


def test_a_mistake_far_on(named: list[str], tmp_path: Path) -> None:
    """What was settled is out, on a line of its own; a file is not there."""
    text = b"hello " * 500_000 + b"<|end|>"
    done = subprocess.run([*COMMAND, "encode", *named], input=text, capture_output=True, check=False)
    assert done.returncode == 1 and done.stdout.endswith(b"\n") and b"-: the text has the special token '<|end|>', at byte 3000000" in done.stderr
    done = subprocess.run([*COMMAND, "encode", *named, "-o", "ids.npy"], input=text, capture_output=True, check=False, cwd=tmp_path)
    assert done.returncode == 1 and not list(tmp_path.glob("*ids*"))


def test_a_mistake_at_the_very_beginning(named: list[str]) -> None:
    """Nothing is out, and so no line."""
    done = subprocess.run([*COMMAND, "encode", *named], input=b"<|end|>", capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (1, b"")


def test_tokenizers_whose_tokens_take_text_around_them(tmp_path: Path) -> None:
    path = huggingface(tmp_path)
    fields = json.loads(path.read_text())
    fields["added_tokens"][0]["lstrip"] = True
    path.write_text(json.dumps(fields))
    done = subprocess.run([*COMMAND, "encode", "-t", str(path)], input=b"hello <s>", capture_output=True, check=True)
    assert list(map(int, done.stdout.split())) == Tokenizer.from_file(path).encode("hello <s>")


@SAYS_ITS_PEAK
def test_memory_does_not_grow_with_a_text(named: list[str], tmp_path: Path) -> None:
    """A pipe of 60 MB takes no more than one of a word, but for 16 MB: also if it has more different pieces than are remembered."""
    pytest.importorskip("bitlex._native", reason="the C extension was not built")
    letters = random.Random(7).randbytes(4 << 20).translate(bytes(97 + value % 26 for value in range(256)))
    pieces = b"".join(b" ".join(letters[at : at + size] for at in range(0, len(letters), size)) for size in (7, 24, 60))
    command = ["encode", *named, "-o", str(tmp_path / "ids.bin")]
    least = peak(command, [b"hello"])
    assert peak(command, [TEXT * 8] * 40) < least + (16 << 20)
    assert peak(command, [pieces] * 4) < least + (16 << 20)
