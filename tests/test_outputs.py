"""Outputs: what readers of .npy files read, and files that are there whole or not at all."""

from __future__ import annotations

import errno
import json
import os
import re
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bitlex import manifest as manifests
from bitlex import outputs, token_files
from bitlex.inputs import InputError
from bitlex.manifest import Manifest, about, fingerprint
from bitlex.outputs import Output, index_of, keep, npy_header, whole_files, writing, written
from bitlex.token_files import IdFile
from bitlex.vocabularies import load
from small_tokenizers import huggingface, rank_file

DOCUMENTS: list[list[int]] = [[1, 2, 300], [], [65535], list(range(1000))]


def put(output: Output, *groups: list[list[int]]) -> None:
    """Documents, those of a group side by side."""
    for group in groups:
        output.add(np.array([*chain.from_iterable(group)], np.uint32), np.cumsum([0, *map(len, group)]))


GROUPED = [(DOCUMENTS,), (DOCUMENTS[:1], DOCUMENTS[1:2], DOCUMENTS[2:3], DOCUMENTS[3:]), (DOCUMENTS[:2], [], DOCUMENTS[2:])]


def left(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def read(path: Path, **options: Any) -> list[list[int]]:
    found: dict[int, list[int]] = {}
    for part in IdFile(str(path), **options).parts():
        assert part is not None
        assert len(found.get(part.document, [])) == part.at
        found.setdefault(part.document, []).extend(part.ids.tolist())
    return list(found.values())


@pytest.mark.parametrize("number", ["u16", "u32"])
@pytest.mark.parametrize("at_once", [1, 7, 1 << 18])
@pytest.mark.parametrize("groups", GROUPED)
def test_arrays_and_their_index(tmp_path: Path, number: str, at_once: int, groups: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outputs, "AT_ONCE", at_once)
    flat, kind = [number for ids in DOCUMENTS for number in ids], np.dtype(outputs.NUMBERS[number])
    for format in ("npy", "bin"):
        path = tmp_path / f"ids.{format}"
        with writing(str(path), format, number) as output:
            put(output, *groups)
        assert (output.documents, output.tokens) == (4, len(flat))
        found = np.load(path, mmap_mode="r") if format == "npy" else np.fromfile(path, kind)
        assert found.dtype == kind and found.tolist() == flat
        index = np.load(tmp_path / "ids.idx.npy")
        assert index.dtype == np.uint64 and index.tolist() == [0, 3, 3, 4, 1004]
        assert read(path) == DOCUMENTS
    assert left(tmp_path) == ["ids.bin", "ids.idx.npy", "ids.npy"]


@pytest.mark.parametrize("at_once", [1, 2, 1 << 18])
@pytest.mark.parametrize("groups", GROUPED)
def test_lines(tmp_path: Path, at_once: int, groups: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outputs, "AT_ONCE", at_once)
    for format in ("jsonl", "txt"):
        with writing(str(tmp_path / f"a.{format}"), format) as output:
            put(output, *groups)
        assert (output.documents, output.tokens) == (4, 1004)
        assert read(tmp_path / f"a.{format}") == DOCUMENTS
    assert [json.loads(line) for line in (tmp_path / "a.jsonl").read_text().splitlines()] == DOCUMENTS
    assert [line.split() for line in (tmp_path / "a.txt").read_text().splitlines()] == [list(map(str, ids)) for ids in DOCUMENTS]


@pytest.mark.parametrize("format", outputs.FORMATS)
def test_nothing_is_something(tmp_path: Path, format: str) -> None:
    with writing(str(tmp_path / f"a.{format}"), format):
        pass
    assert read(tmp_path / f"a.{format}") == []


def test_headers_are_as_numpy_writes_them(tmp_path: Path) -> None:
    for count in (0, 1, 1 << 40):
        header = npy_header("<u4", count)
        assert len(header) == 128
        with open(tmp_path / "a", "w+b") as file:
            file.write(header)
            file.seek(0)
            assert np.lib.format.read_magic(file) == (1, 0)
            assert np.lib.format.read_array_header_1_0(file) == ((count,), False, np.dtype("<u4"))


# --- whole or not at all ---


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit, OSError])
@pytest.mark.parametrize("there", [False, True])
def test_what_ends_the_writing_leaves_what_was_there(tmp_path: Path, error: type[BaseException], there: bool) -> None:
    path = tmp_path / "ids.npy"
    if there:
        path.write_bytes(b"before")

    def interrupted() -> None:
        with writing(str(path), "npy") as output:
            put(output, DOCUMENTS)
            raise error

    with pytest.raises(error):
        interrupted()
    assert left(tmp_path) == ["ids.npy"] * there
    assert not there or path.read_bytes() == b"before"


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_failure_at_the_very_end_leaves_nothing(tmp_path: Path, call: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    def written_but_for_the_end() -> None:
        with whole_files(tmp_path / "a", tmp_path / "b") as (a, b):
            a.write(b"a")
            b.write(b"b")
            monkeypatch.setattr(os, call, fail)

    with pytest.raises(OSError) as error:
        written_but_for_the_end()
    assert error.value.filename == str(tmp_path / "b")
    assert left(tmp_path) == []


def test_a_signal_as_all_is_cleared_away_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As that of another error is, of two files."""
    unlink, calls = os.unlink, []

    def interrupted(*given: Any) -> None:
        calls.append(given)
        if len(calls) == 1:
            raise KeyboardInterrupt
        unlink(*given)

    def written_in_vain() -> None:
        with whole_files(tmp_path / "a", tmp_path / "b"):
            monkeypatch.setattr(os, "unlink", interrupted)
            raise ZeroDivisionError

    with pytest.raises(KeyboardInterrupt):
        written_in_vain()
    assert left(tmp_path) == []


@pytest.mark.parametrize("renamed", [0, 1])
@pytest.mark.parametrize("done", [False, True])
def test_a_signal_at_the_very_end_leaves_all_or_nothing(tmp_path: Path, renamed: int, done: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ids have no index of others."""
    replace, calls = os.replace, []

    def interrupted(*given: Any) -> None:
        calls.append(given)
        if len(calls) != renamed + 1 or done:
            replace(*given)
        if len(calls) == renamed + 1:
            raise KeyboardInterrupt

    def written_twice() -> None:
        for text in (b"before", b"behind"):
            with whole_files(tmp_path / "a", tmp_path / "b") as files:
                for file in files:
                    file.write(text)
            monkeypatch.setattr(os, "replace", interrupted)

    with pytest.raises(KeyboardInterrupt):
        written_twice()
    assert left(tmp_path) == ["a", "b"]
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_errors_name_what_was_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "none" / "ids.npy"
    with pytest.raises(FileNotFoundError) as error, writing(str(path), "npy"):
        pass
    assert error.value.filename == str(path)
    with pytest.raises(FileNotFoundError) as error, whole_files(tmp_path / "a"):
        path.stat()
    assert error.value.filename == str(path)


def test_errors_are_about_names_that_were_asked_for(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path in (tmp_path / "file" / "ids.npy", tmp_path / ("x" * 300 + ".npy"), tmp_path / ("x" * 300) / "ids.npy"):
        with pytest.raises(OSError) as error, writing(str(path), "npy"):
            pytest.fail("this is known before anything is written")
        assert error.value.filename == str(path)
    path = tmp_path / ("x" * 250 + ".npy")  # whose index has a name of more than 255 bytes
    with pytest.raises(OSError) as error, writing(str(path), "npy"):
        pytest.fail("this is known before anything is written")
    assert error.value.filename == index_of(str(path))
    assert left(tmp_path) == ["file"]


@contextmanager
def as_nobody(folder: Path) -> Iterator[None]:
    """Root has all permissions, so it is somebody else for this: whose the folder is."""
    if os.geteuid() != 0:
        yield
        return
    os.chown(folder, 65534, -1)
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.mark.skipif(sys.platform == "win32", reason="on Windows, the mode of a folder keeps nobody from writing to it, so there is no such error")
@pytest.mark.parametrize("mode", [0o000, 0o400, 0o500])
def test_errors_of_closed_folders_name_what_was_asked_for(mode: int) -> None:
    with tempfile.TemporaryDirectory() as root:  # others may not look into those of pytest
        closed = Path(root, "closed")
        closed.mkdir()
        os.chmod(root, 0o755)
        closed.chmod(mode)
        try:
            with as_nobody(closed), pytest.raises(PermissionError) as error, writing(str(closed / "ids.npy"), "npy"):
                pytest.fail("this is known before anything is written")
        finally:
            closed.chmod(0o700)
        assert error.value.filename == str(closed / "ids.npy")


def test_an_unfinished_file_that_cannot_be_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is told is why there is none."""

    def refused(path: Any) -> None:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(os, "unlink", refused)
    with pytest.raises(OSError, match="No space left"), whole_files(tmp_path / "a"):
        raise OSError(28, "No space left on device")


@pytest.mark.parametrize("name", ["x" * 243 + ".npy", "\u00e9" * 121 + ".npy", "\u4e2d" * 82 + ".txt"])
def test_long_names(tmp_path: Path, name: str) -> None:
    with writing(str(tmp_path / name), name[-3:]) as output:
        put(output, DOCUMENTS)
    assert read(tmp_path / name) == DOCUMENTS
    assert left(tmp_path) == sorted(written(name, name[-3:]))


def test_all_are_on_the_disk_before_any_has_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []

    def watched(call: str) -> Any:
        was = getattr(os, call)

        def called(*given: Any) -> Any:
            seen.append(call if os.path.isdir(given[0]) or call != "fsync" else f"fsync of {os.fstat(given[0]).st_size} bytes")
            return was(*given)

        return called

    for call in ("fsync", "replace"):
        monkeypatch.setattr(os, call, watched(call))
    with whole_files(tmp_path / "a", tmp_path / "b") as files:
        for size, file in enumerate(files, 1):
            file.write(b"a" * size)
    assert seen == ["fsync of 1 bytes", "fsync of 2 bytes", "replace", "replace", "fsync"]  # the last one is of the folder


def test_a_folder_is_closed_again(tmp_path: Path) -> None:
    """The system gives the lowest number that is free."""

    def free() -> int:
        number = os.open(os.devnull, os.O_RDONLY)
        os.close(number)
        return number

    before = free()
    keep(tmp_path)
    assert free() == before


@pytest.mark.parametrize(("call", "number"), [("open", errno.EACCES), ("fsync", errno.EINVAL), ("fsync", errno.EIO)])
def test_a_folder_that_cannot_be_synchronized(tmp_path: Path, call: str, number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """As some file systems have it, and folders that may be written to but not read. That a disk is broken is said."""
    original = getattr(os, call)

    def refused(what: Any, *arguments: Any) -> Any:
        if os.path.isdir(what):
            raise OSError(number, os.strerror(number))
        return original(what, *arguments)

    monkeypatch.setattr(os, call, refused)
    with pytest.raises(OSError, match=r"error") if number == errno.EIO else nullcontext(), whole_files(tmp_path / "a") as (file,):
        file.write(b"a")
    assert (tmp_path / "a").read_bytes() == b"a" and left(tmp_path) == ["a"]


@pytest.mark.skipif(sys.platform == "win32", reason="permissions are otherwise there")
def test_permissions_are_those_of_any_new_file(tmp_path: Path) -> None:
    with whole_files(tmp_path / "ours"):
        pass
    (tmp_path / "any").touch()
    assert stat.S_IMODE((tmp_path / "ours").stat().st_mode) == stat.S_IMODE((tmp_path / "any").stat().st_mode)


def test_a_link_stays_one(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "other" / "file")
    with whole_files(tmp_path / "link") as (file,):
        file.write(b"text")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "other" / "file").read_bytes() == b"text"


def test_what_is_no_file_is_not_replaced(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(os.devnull)}: a device or a pipe, of which"), whole_files(os.devnull):
        pass
    assert not Path(os.devnull).is_file()
    with pytest.raises(IsADirectoryError) as error, whole_files(tmp_path):
        pass
    assert error.value.filename == str(tmp_path)


# --- reading ids ---


def refusal(path: Path, **options: Any) -> str:
    with pytest.raises(ValueError) as error:
        read(path, **options)
    return str(error.value).replace(str(path.parent) + os.sep, "")


def test_files_that_are_no_ids(tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    for wrong, what in ((np.zeros((2, 2), np.uint32), "uint32 (2, 2)"), (np.zeros(2), "float64 (2,)")):
        np.save(path, wrong)
        assert refusal(path) == f"a.npy: no array of ids: {what}"
    np.save(path, np.zeros(100, np.uint32))
    whole = path.read_bytes()
    for data in (b"", b"no array", b"PK\3\4", whole[:6], whole[:60], whole[:200], whole[:10] + b"x" * 118 + whole[128:]):
        path.write_bytes(data)
        assert refusal(path) == "a.npy: no array of numbers as numpy writes it, or cut short"
    np.save(path, np.array([None]))
    assert refusal(path) == "a.npy: no array of numbers as numpy writes it, or cut short"
    np.save(path, np.zeros(3, np.uint32))
    np.save(index_of(str(path)), np.array([0, 2], np.uint64))
    assert refusal(path) == "a.idx.npy: says 2 ids, and a.npy has 3"
    for index in ([0, 5, 3], [1, 3], []):
        np.save(index_of(str(path)), np.array(index, np.uint64))
        assert refusal(path) == "a.idx.npy: no index: it does not rise from 0"
    assert refusal(tmp_path / "none.npy") == "none.npy: No such file or directory"
    with pytest.raises(InputError, match=r"^-: npy is read from a file, not from standard input$"):
        list(IdFile("-", "npy").parts())


def test_a_wrong_byte_in_a_header(tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    """What comes of it is ids, or an InputError, and nothing else."""
    path = tmp_path / "a.npy"
    np.save(path, np.arange(3, dtype=np.uint32))
    whole = path.read_bytes()
    for at in range(6, 128):
        for byte in {0, 10, *b"(\"#9L", whole[at] ^ 1, whole[at] ^ 128}:
            path.write_bytes(whole[:at] + bytes([byte]) + whole[at + 1 :])
            with suppress(InputError):
                read(path)
    assert not recwarn.list


def test_numbers_cut_short(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    np.save(index_of(str(path)), np.array([0, 1, 4], np.uint64))
    for size, more in ((7, ", and so it is cut short"), (15, ""), (17, "")):
        path.write_bytes(bytes(size))
        assert refusal(path) == f"a.bin: has {size} bytes, but a.idx.npy says 4 ids, which are 8 bytes of u16 or 16 of u32{more}"
    path.write_bytes(b"")
    assert refusal(path) == "a.idx.npy: says 4 ids, and a.bin has 0"


def test_numbers_cut_to_half(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    np.array([1, 2, 3, 70000], "<u4").tofile(path)
    np.save(index_of(str(path)), np.array([0, 1, 4], np.uint64))
    assert read(path, highest=70000) == [[1], [2, 3, 70000]]
    path.write_bytes(path.read_bytes()[:8])
    assert refusal(path, highest=70000) == "a.bin: half of the u32 that a.idx.npy says; if it is whole, and of u16, say --dtype u16"
    assert read(path, highest=65535) == read(path, number="u16", highest=70000) == [[1], [0, 2, 0]]


def test_numbers_without_an_index(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(bytes([1, 0, 2, 0, 3, 0]))
    assert refusal(path) == "a.bin: no index tells the size of its numbers; say --dtype u16 or --dtype u32"
    assert read(path, number="u16") == [[1, 2, 3]]
    assert refusal(path, number="u32") == "a.bin: 6 bytes are no whole number of u32"


@pytest.mark.parametrize("format", ["npy", "bin", "jsonl", "txt"])
def test_parts_of_documents(tmp_path: Path, format: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(token_files, "MOST", 2)
    path = str(tmp_path / f"ids.{format}")
    with writing(path, format) as output:
        output.add(np.arange(7, dtype=np.uint32), np.array([0, 3, 3, 7]))
    found = [(part.ids.tolist(), *part[1:]) for part in IdFile(path).parts() if part is not None]
    assert found == [([0, 1], 0, 0, False), ([2], 2, 0, True), ([], 0, 1, True), ([3, 4], 0, 2, False), ([5, 6], 2, 2, True)]


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.txt", b"1 2\n3 x", "a.txt: line 2: no id: 'x'"),
        ("a.txt", b"-1", "a.txt: line 1: no id: '-1'"),
        ("a.txt", "\u0661".encode(), "a.txt: line 1: no id: '\u0661'"),
        ("a.txt", b"12345678901", "a.txt: line 1: no id: '12345678901'"),
        ("a.jsonl", b"[1]\n[1,", "a.jsonl: line 2: not JSON: "),
        ("a.jsonl", b"[1]\n\xef\xbb\xbf[1]", "a.jsonl: line 2: not JSON: "),
        ("a.jsonl", b"[1, true]", "a.jsonl: line 1: no array of ids"),
        ("a.jsonl", b'{"tokens": [1]}', "a.jsonl: line 1: no array of ids, nor an object with one at 'ids'"),
        ("a.jsonl", b"[4294967296]", "a.jsonl: line 1: no array of ids"),
        ("a.jsonl", b"[" + b"1" * 5000 + b"]", "a.jsonl: line 1: no array of ids"),
    ],
)
def test_lines_that_are_no_ids(tmp_path: Path, name: str, data: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(data)
    assert refusal(tmp_path / name).startswith(message)


def test_ids_beside_a_number_of_thousands_of_digits(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(b'{"n": ' + b"1" * 5000 + b', "ids": [1, 2]}')
    assert read(tmp_path / "a.jsonl") == [[1, 2]]


# --- manifests ---

SETTINGS = {"tokenizer": "mine 00", "format": "txt", "around": ((), ())}


def test_what_is_complete(tmp_path: Path) -> None:
    source = tmp_path / "in"
    source.write_text("some text")
    folder = tmp_path / "out"
    folder.mkdir()

    def has(resume: bool = True) -> bool:
        with Manifest.begin(str(folder), SETTINGS, resume=resume) as manifest:
            return manifest.has("in.txt", str(source))

    assert not has()
    (folder / "in.txt").write_text("1 2")
    with Manifest.begin(str(folder), SETTINGS, resume=True) as manifest:
        manifest.add("in.txt", about(str(source)), [os.stat(folder / "in.txt")], documents=1, tokens=2)
        assert manifest.has("in.txt", str(source)) and not manifest.has("other.txt", str(source))
    assert has()
    whole = (folder / outputs.MANIFEST).read_bytes()
    for torn in range(1, len(whole.splitlines()[1]) + 1):
        (folder / outputs.MANIFEST).write_bytes(whole[:-torn])
        assert not has()
    (folder / outputs.MANIFEST).write_bytes(whole)
    assert has()
    made = os.stat(folder / "in.txt")
    times = made.st_atime_ns, made.st_mtime_ns
    for ids, complete in (("1 2 3", False), ("1 2", True)):
        (folder / "in.txt").write_text(ids)
        os.utime(folder / "in.txt", ns=(0, 0))  # of what another run wrote
        assert not has()
        os.utime(folder / "in.txt", ns=times)
        assert has() == complete
    os.utime(source, ns=(0, 0))
    assert not has()
    (folder / outputs.MANIFEST).write_bytes(whole)
    source.unlink()
    assert not has()
    assert not has(resume=False) and not has()


def test_what_another_run_wrote_in_the_same_place_is_not_complete(tmp_path: Path) -> None:
    """Also where it did so at the same time, behind us, but before our manifest has a line about it."""
    source = tmp_path / "in"
    source.write_text("some text")
    made: list[os.stat_result] = []
    with Manifest.begin(str(tmp_path), SETTINGS, resume=True) as manifest:
        was = about(str(source))
        with writing(str(tmp_path / "in.txt"), "txt", stats=made) as output:
            output.add(np.array([1, 2], np.uint32), np.array([0, 2]))
        manifest.add("in.txt", was, made, documents=1, tokens=2)
        assert manifest.has("in.txt", str(source))
        (tmp_path / "in.txt").write_text("other")
        manifest.add("in.txt", was, made, documents=1, tokens=2)
        assert not manifest.has("in.txt", str(source))


def test_lines_are_brought_to_the_disk_together_behind_the_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not for each output; but what is complete is known a second later, and at the end, also where that is an error."""
    source = tmp_path / "in"
    source.write_text("some text")
    seen: list[Any] = []
    now = [100.0]
    monkeypatch.setattr(manifests, "monotonic", lambda: now[0])
    monkeypatch.setattr(manifests, "keep", lambda folder: seen.append(folder.name))

    def run() -> None:
        with Manifest.begin(str(tmp_path), SETTINGS, resume=False) as manifest:
            monkeypatch.setattr(os, "fsync", lambda number: seen.append("lines"))
            for name in ("b/1.txt", "c/2.txt", "b/3.txt"):
                (tmp_path / name).parent.mkdir(exist_ok=True)
                (tmp_path / name).write_text("1 2")
                manifest.add(name, about(str(source)), [os.stat(tmp_path / name)], documents=1, tokens=2)
            manifest.settle_in_time()
            assert not seen and manifest.has("b/1.txt", str(source))
            now[0] += 1
            manifest.settle_in_time()
            assert sorted(seen[:-1]) == ["b", "c"] and seen[-1] == "lines"
            assert (tmp_path / outputs.MANIFEST).read_bytes().count(b"\n") == 4
            manifest.settle_in_time()
            manifest.add("b/1.txt", about(str(source)), [os.stat(tmp_path / "b/1.txt")], documents=1, tokens=2)
            assert len(seen) == 3
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run()
    assert seen[3:] == ["b", "lines"] and (tmp_path / outputs.MANIFEST).read_bytes().count(b"\n") == 5


def test_a_run_goes_on_as_it_began_or_not_at_all(tmp_path: Path) -> None:
    Manifest.begin(str(tmp_path), SETTINGS, resume=True).file.close()
    for other in ("bitlex-manifest-1-of-2.jsonl.old", "bitlex-manifest-mine.jsonl"):  # named alike, but no manifests
        (tmp_path / other).write_text("anything\n")
    Manifest.begin(str(tmp_path), SETTINGS, resume=True).file.close()
    with pytest.raises(ValueError, match=r'this run had another tokenizer \("mine 00", not "mine 01"\); leave --resume out'):
        Manifest.begin(str(tmp_path), {**SETTINGS, "tokenizer": "mine 01"}, resume=True)
    with pytest.raises(ValueError, match=r'this run had another field \(null, not "text"\)'):
        Manifest.begin(str(tmp_path), {**SETTINGS, "field": "text"}, resume=True)
    for wrong in (b"", b"no manifest\n", b"[]\n", b"{}\n{}\n"):
        (tmp_path / outputs.MANIFEST).write_bytes(wrong)
        with pytest.raises(ValueError, match=r"not a manifest as bitlex writes it|another tokenizer"):
            Manifest.begin(str(tmp_path), SETTINGS, resume=True)


def test_parts_of_what_another_run_left(tmp_path: Path) -> None:
    """A run began where one with other settings was, and was interrupted: parts go on from there, and what one has made is not older to another."""
    source = tmp_path / "in"
    source.write_text("some text")
    other = {**SETTINGS, "tokenizer": "mine 01"}
    names = ["1.txt", "sub/2.txt"]
    (tmp_path / "sub").mkdir()

    def make(manifest: Manifest, name: str) -> None:
        (tmp_path / name).write_text("1 2")
        manifest.add(name, about(str(source)), [os.stat(tmp_path / name)], documents=1, tokens=2)

    with Manifest.begin(str(tmp_path), SETTINGS, resume=False, outputs=names) as manifest:
        for name in names:
            make(manifest, name)
    with Manifest.begin(str(tmp_path), other, resume=False, outputs=names) as manifest:
        assert [name for name, _ in manifest.left_over(names)] == names and not any(manifest.has(name, str(source)) for name in names)
    for number, name in enumerate(names, 1):
        with Manifest.begin(str(tmp_path), other, resume=True, part=(number, 2), outputs=[name]) as manifest:
            assert manifest.left_over([name]) == [(name, 'tokenizer ("mine 00", not "mine 01")')]
            make(manifest, name)
            assert not manifest.left_over([name])
    with Manifest.begin(str(tmp_path), other, resume=True, outputs=names) as manifest:
        assert not manifest.left_over(names) and all(manifest.has(name, str(source)) for name in names)
    for done in ("bitlex-manifest.jsonl", "bitlex-manifest-2-of-2.jsonl"):
        (tmp_path / done).unlink()
    with pytest.raises(ValueError, match=r"and its 1\.txt would stay"):
        Manifest.begin(str(tmp_path), {**SETTINGS, "tokenizer": "mine 02"}, resume=False, part=(1, 2))


def test_another_run_begins_meanwhile(tmp_path: Path) -> None:
    """In the same folder, by itself or as another part: who was there says so if ids are not the same; of two at the same moment, one does."""
    other = {**SETTINGS, "tokenizer": "mine 01"}
    manifest = Manifest.begin(str(tmp_path), SETTINGS, resume=False)
    Manifest.begin(str(tmp_path), SETTINGS, resume=False).file.close()
    manifest.settle()
    Manifest.begin(str(tmp_path), other, resume=False).file.close()
    manifest.waiting.append(b"{}\n")
    begun = (tmp_path / outputs.MANIFEST).read_bytes()
    with pytest.raises(ValueError, match=r'a run with another tokenizer \("mine 01", not "mine 00"\) has begun in this folder meanwhile'), manifest:
        pass
    assert manifest.file.closed and (tmp_path / outputs.MANIFEST).read_bytes() == begun
    with pytest.raises(ValueError, match=r"another tokenizer .*; to start again, remove it$"):
        Manifest.begin(str(tmp_path), SETTINGS, resume=False, part=(1, 2))


def test_parts_that_begin_at_the_same_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def both(*paths: Path) -> Any:
        monkeypatch.undo()
        Manifest.begin(str(tmp_path), {**SETTINGS, "tokenizer": "mine 01"}, resume=False, part=(2, 2)).file.close()
        return outputs.whole_files(*paths)

    monkeypatch.setattr(manifests, "whole_files", both)
    with pytest.raises(ValueError, match=r"manifest-2-of-2\.jsonl: this run had another tokenizer"):
        Manifest.begin(str(tmp_path), SETTINGS, resume=False, part=(1, 2))
    assert [path.name for path in tmp_path.iterdir()] == ["bitlex-manifest-2-of-2.jsonl"]


def test_fingerprints_tell_tokenizers_apart(tmp_path: Path) -> None:
    ranks = rank_file(tmp_path)
    different = [
        load(ranks, family="cl100k"), load(ranks, family="gpt2"), load(ranks, pattern=r"\S+|\s+"), load(huggingface(tmp_path)),
        load(ranks, family="cl100k", special={"<|e|>": 300}), load(ranks, family="cl100k", special={"<|e|>": 301}),
    ]  # fmt: skip
    assert len(set(map(fingerprint, different))) == len(different)
    assert fingerprint(load(ranks, family="cl100k", name="other")) == fingerprint(different[0])


def test_written_names_all_files() -> None:
    assert written("d.x/ids.npy", "npy") == ["d.x/ids.idx.npy", "d.x/ids.npy"] and written("ids.txt", "txt") == ["ids.txt"]
