"""Inputs: every document comes out, in order and whole, whatever the file is cut into; what is damaged is said to be, with its place."""

from __future__ import annotations

import bz2
import errno
import gzip
import io
import json
import lzma
import os
import random
import subprocess
import sys
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bitlex import inputs, json_rows, opening
from bitlex.decompression import COMPRESSED, decompressed
from bitlex.inputs import Document, Found, InputError, Source, find, form_of
from bitlex.token_files import IdFile
from peaks import SAYS_ITS_PEAK, peak
from small_tokenizers import SPECIAL, rank_file


def zstd(data: bytes) -> bytes:
    compressed: bytes = pytest.importorskip("zstandard").compress(data)
    return compressed


COMPRESS: dict[str, Callable[[bytes], bytes]] = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress, ".zst": zstd}


def texts(path: Path, form: str | None = None, field: str = "text") -> list[Any]:
    found = [one.text for one in Source(str(path), form, field).documents() if one]
    return [bytes(text) if isinstance(text, memoryview) else text for text in found]


def refusal(path: Path, form: str | None = None, field: str = "text") -> str:
    with pytest.raises(InputError) as error:
        texts(path, form, field)
    return str(error.value).replace(str(path), "FILE")


# --- what a file is, and which there are ---


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("a.jsonl", "jsonl"), ("a.ndjson.gz", "jsonl"), ("a.b.jsonl.zst", "jsonl"), ("a.parquet", "parquet"), ("a.txt.xz", "text"),
        ("a", "text"), ("-", "text"),
    ],
)  # fmt: skip
def test_the_name_says_what_a_file_is(name: str, form: str) -> None:
    assert form_of(name) == form


def test_globs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("b.txt", "a.txt", "sub/deep/c.txt", "sub/d.md", "[x].txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    found = find([f"{tmp_path}/**/*.txt"])
    assert [one.name for one in found] == [os.path.join("[x].txt"), "a.txt", "b.txt", os.path.join("sub", "deep", "c.txt")]
    assert [one.path for one in found] == [str(tmp_path / one.name) for one in found]
    monkeypatch.chdir(tmp_path)
    assert find(["sub/*.md", "-", "[x].txt", "nothing"]) == [
        Found(os.path.join("sub", "d.md"), "d.md"), Found("-", "stdin"), Found("[x].txt", "[x].txt"), Found("nothing", "nothing")
    ]  # fmt: skip
    assert find([Path("sub/*.md"), Path("nothing")]) == find(["sub/*.md", "nothing"])
    for pattern in ("*.csv", Path("*.csv")):
        with pytest.raises(InputError, match=r"^\*\.csv: no file matches$"):
            find([pattern])


def test_a_glob_that_leads_out_of_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("in/sub/a.txt", "b.txt", "other/c.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    monkeypatch.chdir(tmp_path)
    assert find(["in/*/../../b.txt"]) == [Found("in/sub/../../b.txt", "b.txt")]
    assert find(["in/*/../sub/a.txt"]) == [Found("in/sub/../sub/a.txt", os.path.join("sub", "a.txt"))]
    assert find(["in/*/../../o*/c.txt"]) == [Found("in/sub/../../other/c.txt", os.path.join("other", "c.txt"))]


def test_folders_that_a_glob_may_not_look_into(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a/1.txt", "b/2.txt", "b/deep/3.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    monkeypatch.chdir(tmp_path)
    scandir = os.scandir

    def refused(path: Any) -> Any:
        if os.path.basename(os.path.normpath(path)) == "b":
            raise PermissionError(13, "Permission denied", path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refused)
    assert [one.path for one in find([f"{tmp_path}/**/*.txt"])] == [str(tmp_path / "a" / "1.txt"), str(tmp_path / "b")]
    assert [one.path for one in find(["**/*.txt"])] == [os.path.join("a", "1.txt"), "b"]
    assert [one.path for one in find(["?/*.txt"])] == [os.path.join("a", "1.txt"), "b"]
    assert find(["b/*"]) == [Found("b", os.curdir)]


# --- forms ---


@pytest.mark.parametrize("size", [0, 1, opening.SMALL - 1, opening.SMALL, opening.SMALL + 5])
def test_a_text_is_all_of_a_file(tmp_path: Path, size: int) -> None:
    (tmp_path / "a.txt").write_bytes(b"\xff" * size)
    source = Source(str(tmp_path / "a.txt"))
    (document,) = source.documents()
    assert document is not None and document.number == 0 and document.text == b"\xff" * size
    assert source.length == source.position == source.size == size


@pytest.mark.parametrize("suffix", ["", *COMPRESS])
@pytest.mark.parametrize("chunk", [1, 3, 1 << 20])
def test_lines(tmp_path: Path, suffix: str, chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inputs, "CHUNK", chunk)
    data = b"one\r\n\ntwo\rtwo\n\xff\xfe\nlast"
    path = tmp_path / f"a{suffix}"
    path.write_bytes(COMPRESS.get(suffix, bytes)(data))
    assert texts(path, "lines") == [b"one", b"", b"two\rtwo", b"\xff\xfe", b"last"]
    path.write_bytes(COMPRESS.get(suffix, bytes)(b"one\n"))
    assert texts(path, "lines") == [b"one"]
    path.write_bytes(COMPRESS.get(suffix, bytes)(b""))
    assert texts(path, "lines") == []
    assert texts(path, "text") == [b""]


def test_json_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    lines = ["\ufeff" + json.dumps({"text": "caf\u00e9 \U0001f642\n"}), "", '"just a string"', ' \t', json.dumps({"text": "\ud83d"}), '{"text": ""}']
    path.write_text("\n".join(lines) + "\r\n", encoding="utf-8")
    source = Source(str(path))
    assert list(source.documents()) == [
        Document(1, "caf\u00e9 \U0001f642\n"), Document(3, "just a string"), Document(5, "\ud83d"), Document(6, "")
    ]  # fmt: skip
    assert source.length == source.size


def test_fields(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"a": {"b": [{"c": "inside"}]}, "a.b": "dotted"}\n')
    assert texts(path, field="a.b.0.c") == ["inside"]
    assert texts(path, field="a.b") == ["dotted"]
    assert refusal(path, field="a.b.1.c") == "FILE: line 1: nothing at 'a.b.1.c'; say --field, or field="
    assert refusal(path, field="a") == "FILE: line 1: what is at 'a' is no text, but an object"


@pytest.mark.parametrize("number", ["1" * 5000, "-" + "9" * 5000, "1" * 5000 + ".5e3"])
def test_numbers_of_thousands_of_digits(tmp_path: Path, number: str) -> None:
    """Python makes no int of them, but rows that hold them are JSON."""
    path = tmp_path / "a.jsonl"
    path.write_text(f'{{"n": {number}, "text": "one"}}\n{{"text": "two", "more": [{{"n": {number}}}, 12]}}\n')
    assert texts(path) == ["one", "two"]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b'"a"\n{"text": }\n', "line 2: not JSON: Expecting value, at character 10"),
        (b'{"text": "a"', "line 1: not JSON: Expecting ',' delimiter, at character 13"),
        (b'"a"\n\n["a"]', "line 3: nothing at 'text'; say --field, or field="), (b'{"page": "a"}', "line 1: nothing at 'text'; say --field, or field="),
        (b'{"text": null}', "line 1: what is at 'text' is no text, but null"),
        (b'"a"\n"\xe4\xb8"\n', "line 2: not UTF-8: byte 0xe4, at byte 2"),
        (b"[" * 100_000, "line 1: not JSON: nested too deeply"),
        (b'{"text": ' + b"1" * 5000 + b"}", "line 1: what is at 'text' is no text, but a number"),
        (b'{"n": ' + b"1" * 5000 + b', "text": }', "line 1: not JSON: Expecting value, at character 5017"),
        (b'{"n": ' + b"1" * 5000 + b', "text": ' + b"[" * 100_000, "line 1: not JSON: nested too deeply"),
    ],
)
def test_malformed_lines_are_named(tmp_path: Path, data: bytes, message: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(data)
    assert refusal(path).startswith(f"FILE: {message}")


@pytest.mark.parametrize("chunk", [1, 9, 1 << 16])
def test_what_stands_before_a_malformed_line_is_read(tmp_path: Path, chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inputs, "CHUNK", chunk)
    (tmp_path / "a.jsonl").write_text('"one"\n\n{"text": "two"}\n{"text": 3}\n"four"\n')
    documents = Source(str(tmp_path / "a.jsonl")).documents()
    assert [next(documents), next(documents)] == [Document(1, "one"), Document(3, "two")]
    with pytest.raises(InputError, match="line 4: what is at 'text' is no text, but a number"):
        next(documents)


ROWS = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(st.characters(codec=None), max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["text", "a", "\ud800"]), inner, max_size=3), max_leaves=6,
)  # fmt: skip


def as_read(value: Any) -> Any:
    """A value but for its large numbers, of which orjson makes floats."""
    if isinstance(value, dict):
        return {key: as_read(one) for key, one in value.items()}
    if isinstance(value, list):
        return list(map(as_read, value))
    return "a number" if isinstance(value, float) or (type(value) is int and abs(value) >= 1 << 63) else value


PUT = st.binary(max_size=3) | st.sampled_from([b"\\ud83d", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"NaN", b"\x00"])


@settings(deadline=None)
@given(row=ROWS, ascii=st.booleans(), at=st.integers(0, 60), put=PUT, cut=st.integers(0, 3))
def test_rows_are_read_alike_with_orjson_and_without(row: Any, ascii: bool, at: int, put: bytes, cut: int) -> None:
    """Rows with some bytes changed, too: the same value, or the same error."""
    pytest.importorskip("orjson")
    data = json.dumps(row, ensure_ascii=ascii).encode("utf-8", "surrogatepass")
    for one in (data, data[:at] + put + data[at + cut :]):
        found = []
        for quick in (json_rows.quick, lambda: None):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(json_rows, "quick", quick)
                try:
                    found.append(repr(as_read(json_rows.json_of(one))))
                except ValueError as error:
                    found.append(f"{type(error).__name__}: {error}")
        assert found[0] == found[1]


def test_ctrl_c_while_orjson_is_imported() -> None:
    """It comes in the middle of whatever orjson imports. Pressed once: the thread that imports goes on, and would press again later."""
    pytest.importorskip("orjson")
    program = """if True:
        import signal, sys
        from bitlex.json_rows import json_of, quick
        class Pressed:
            def find_spec(self, name, path, target=None):
                if not name.startswith("orjson"):
                    signal.raise_signal(signal.SIGINT)
        def once(number, frame):
            signal.signal(signal.SIGINT, lambda number, frame: None)
            raise KeyboardInterrupt
        signal.signal(signal.SIGINT, once)
        sys.meta_path.insert(0, Pressed())
        try:
            quick()
        except KeyboardInterrupt:
            pass
        sys.meta_path.pop(0)
        print(json_of(b"[1]"), quick() is not None)
    """
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "[1] True\n", "")


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    assert refusal(tmp_path / "none") == "FILE: No such file or directory"
    assert refusal(tmp_path) == "FILE: Is a directory"


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (b'["caf\xc3\xa9 \x01"]', "Invalid control character, at character 8"), (b'{"a": "b', "Unterminated string starting, at character 7"),
        (b"\xef\xbb\xbf{}", "Unexpected UTF-8 BOM, at character 1"), (b"[1,", "Expecting value, at character 4"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_json_and_where(tmp_path: Path, line: bytes, told: str) -> None:
    (tmp_path / "a.jsonl").write_bytes(b'"x"\n' + line)
    assert refusal(tmp_path / "a.jsonl") == f"FILE: line 2: not JSON: {told}"
    (tmp_path / "a.jsonl").write_bytes(b"[1]\n" + line)
    with pytest.raises(InputError, match=f": line 2: not JSON: {told}$"):
        list(IdFile(str(tmp_path / "a.jsonl")).parts())


JSON_ROWS = [
    b'{"text": "a \\u00e9", "n": 1}', b'{"n": [1, {"text": "no"}], "text": "\xe4\xb8\xad"}', b'{"text": ""}', b'{"text": "x", "text": "y"}', b'"alone"', b"", b"  ",
    b'{"text": "crlf"}\r', b' {"text": "blank"}', b'{"text": NaN}', b'{"text": "a", "n": NaN}', b'{"text": null}', b'{"text": 5}', b'{"title": "none"}', b'["text"]', b"5",
    b"null", b'{"text": "\\ud800"}', b'{"text": "a"', b'{"text": "\xff"}', b'{"text": {"text": "in"}}', b'{"text.a": "dot", "text": {"a": "in"}}',
]  # fmt: skip


@pytest.mark.parametrize("field", ["text", "text.a"])
@pytest.mark.parametrize("seed", range(6))
def test_rows_together_are_what_they_are_one_by_one(seed: int, field: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Documents with their numbers, and what is wrong, wherever the rows are cut when they are read."""
    rng, path = random.Random(seed), tmp_path / "a.jsonl"

    def read() -> list[Any]:
        found: list[Any] = []
        try:
            found.extend(Source(str(path), field=field).documents())
        except InputError as error:
            found.append(str(error))
        return found

    for _ in range(60):
        rows = rng.choices(JSON_ROWS[:3] if rng.random() < 0.6 else JSON_ROWS[: rng.choice((6, 9, len(JSON_ROWS)))], k=rng.randrange(40))
        for _ in range(rng.randrange(3)):
            rows.insert(rng.randrange(len(rows) + 1), rng.choice(JSON_ROWS))
        path.write_bytes(rng.choice((b"", b"", b"\xef\xbb\xbf")) + b"\n".join(rows) + rng.choice((b"", b"\n")))
        monkeypatch.setattr("bitlex.inputs.CHUNK", rng.choice((7, 64, 1 << 16)))
        found = read()
        with monkeypatch.context() as one_by_one:
            one_by_one.setattr(Source, "plain_objects", lambda self, number, lines: [])
            assert found == read()


def test_parquet(tmp_path: Path) -> None:
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "a.parquet"
    rows = [f"row {number} \u00e9" for number in range(3000)]
    table = pyarrow.table({"text": rows, "raw": [row.encode() for row in rows], "n": range(3000), "deep": [{"text": row} for row in rows]})
    parquet.write_table(table, path, row_group_size=700)
    assert texts(path, field="deep.text") == rows
    assert texts(path) == [row.encode() for row in rows]
    assert [one.number for one in Source(str(path)).documents() if one] == list(range(1, 3001))
    assert texts(path, field="raw") == [row.encode() for row in rows]
    assert refusal(path, field="n") == "FILE: row 1: what is at 'n' is no text, but a number"
    assert refusal(path, field="title") == "FILE: no column 'title'; there are text, raw, n, deep"
    parquet.write_table(pyarrow.table({"text": ["a", None]}), path)
    assert refusal(path) == "FILE: row 2: what is at 'text' is no text, but null"
    path.write_bytes(b"PAR1 no more")
    assert refusal(path).startswith("FILE: ")


@SAYS_ITS_PEAK
@pytest.mark.parametrize("group", [1 << 12, 1 << 20])
def test_memory_does_not_grow_with_a_parquet_file(tmp_path: Path, group: int) -> None:
    """Of many groups of rows, nor of one."""
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    arguments = ["encode", "-t", str(rank_file(tmp_path)), *SPECIAL, "--threads", "1", "--quiet", "-o", str(tmp_path / "a.bin")]
    taken = []
    for rows in (1 << 12, 1 << 16):
        path = str(tmp_path / f"{rows}.parquet")
        parquet.write_table(pyarrow.table({"text": ["hello 123 " * 100] * rows}), path, group, compression="none", use_dictionary=False)
        taken.append(peak([*arguments, path], []))
    assert os.path.getsize(path) > 64_000_000
    assert taken[1] < taken[0] + (24 << 20)


def test_parquet_whose_rows_are_no_python_values(tmp_path: Path) -> None:
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "a.parquet"
    strings = pyarrow.array([b"x"] * 1500 + [b"ab\xff", b"y"]).view(pyarrow.string())
    twice = pyarrow.StructArray.from_arrays([pyarrow.array(["x"] * 1502)] * 2, names=["b", "b"])
    parquet.write_table(pyarrow.table({"a": strings, "twice": twice, "in": [{"b": one} for one in range(1502)]}), path)
    assert refusal(path, field="a") == "FILE: row 1501: not UTF-8: byte 0xff, at byte 3"
    before = islice(Source(str(path), field="a").documents(), 1500)
    assert [one.number for one in before if one] == list(range(1, 1501))
    assert refusal(path, field="twice.b").startswith("FILE: row 1: ")
    assert refusal(path, field="in.b") == "FILE: row 1: what is at 'in.b' is no text, but a number"


def test_parquet_whose_columns_have_no_name(tmp_path: Path) -> None:
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "a.parquet"
    parquet.write_table(pyarrow.table({"a": ["x"], "name": ["y"]}), path, store_schema=False)
    path.write_bytes(path.read_bytes().replace(b"name", b"na\xffe"))
    assert refusal(path, field="a").startswith("FILE: ")


def test_parquet_with_two_columns_of_one_name(tmp_path: Path) -> None:
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pyarrow.table([["x"], ["y"], ["z"]], names=["text", "text", "other"]), tmp_path / "a.parquet")
    assert refusal(tmp_path / "a.parquet") == "FILE: there are 2 columns 'text'"
    assert texts(tmp_path / "a.parquet", field="other") == [b"z"]


def test_parquet_is_not_decompressed(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    (tmp_path / "a.parquet.gz").write_bytes(gzip.compress(b"PAR1"))
    assert refusal(tmp_path / "a.parquet.gz") == "FILE: Parquet is not read out of a compressed file; decompress it first"


def test_parquet_without_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert refusal(tmp_path / "a.parquet") == "FILE: Parquet needs pyarrow: pip install 'bitlex[files]'"


# --- compressed files ---


def whole(suffix: str, data: bytes, step: int) -> bytes:
    chunks = [data[at : at + step] for at in range(0, len(data), step)]
    return b"".join(chunk for chunk in decompressed(suffix, chunks) if chunk is not None)


@pytest.mark.parametrize("suffix", COMPRESSED)
@settings(deadline=None)
@given(parts=st.lists(st.binary(max_size=200), min_size=1, max_size=4), step=st.integers(1, 60))
def test_parts_one_behind_the_other(suffix: str, parts: list[bytes], step: int) -> None:
    assert whole(suffix, b"".join(map(COMPRESS[suffix], parts)), step) == b"".join(parts)


@pytest.mark.parametrize("suffix", COMPRESSED)
def test_zeros_behind_are_nothing(suffix: str) -> None:
    assert whole(suffix, COMPRESS[suffix](b"text") + bytes(4096), 100) == b"text"
    assert whole(suffix, COMPRESS[suffix](b"text") + bytes(64) + COMPRESS[suffix](b"more"), 7) == b"textmore"


@pytest.mark.parametrize("suffix", COMPRESSED)
def test_every_place_to_cut_is_noticed(suffix: str) -> None:
    data = COMPRESS[suffix](b"some text, some more")
    for size in range(len(data)):
        with pytest.raises(ValueError, match="cut short"):
            whole(suffix, data[:size], 5)


@pytest.mark.parametrize("suffix", COMPRESSED)
def test_damage_is_noticed(suffix: str, tmp_path: Path) -> None:
    data = COMPRESS[suffix](b"some text")
    for wrong in (b"no compressed data", data + b"rubbish that follows", bytes(100) + data):
        with pytest.raises(ValueError, match=r"damaged|cut short"):
            whole(suffix, wrong, 1 << 14)
    path = tmp_path / f"a.txt{suffix}"
    path.write_bytes(data + b"rubbish that follows")
    assert refusal(path).startswith("FILE: damaged: ")
    path.write_bytes(data[:-1])
    assert refusal(path) == "FILE: cut short: the end of the compressed data is missing"


def test_zst_without_zstandard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "zstandard", None)
    (tmp_path / "a.zst").write_bytes(b"x")
    assert refusal(tmp_path / "a.zst") == "FILE: .zst needs zstandard: pip install 'bitlex[files]'"


@pytest.mark.parametrize(("suffix", "module"), [(".gz", "zlib"), (".bz2", "bz2"), (".xz", "lzma")])
def test_a_python_without_a_library(suffix: str, module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    (tmp_path / f"a{suffix}").write_bytes(b"x")
    told = f"FILE: {suffix} needs the module {module}, which this Python was built without; decompress it first"
    assert refusal(tmp_path / f"a{suffix}") == told


@pytest.mark.parametrize("suffix", COMPRESSED)
def test_what_is_large_comes_in_parts(suffix: str) -> None:
    text = bytes(50 << 20)
    sizes = [len(part or b"") for part in decompressed(suffix, [COMPRESS[suffix](text) * 2])]
    assert sum(sizes) == 2 * len(text)
    assert max(sizes) <= 33 << 20


# --- pipes ---


@pytest.mark.skipif(sys.platform == "win32", reason="Windows does not say whether a pipe has something")
def test_a_pipe_says_when_there_is_no_more_for_the_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    reading, writing = os.pipe()
    with open(reading, "rb") as file:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(file))
        documents = Source("-", "lines").documents()
        assert next(documents) is None
        os.write(writing, b"one\ntwo\nthr")
        assert [next(documents) for _ in range(3)] == [Document(1, b"one"), Document(2, b"two"), None]
        os.write(writing, b"ee\n")
        assert next(documents) == Document(3, b"three")
        os.close(writing)
        assert [one for one in documents if one] == []


def test_what_fails_while_it_is_read_has_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(OSError, match="a failure") as failure, opening.naming("a.txt"):
        raise OSError(errno.EIO, "a failure")
    assert (failure.value.errno, failure.value.filename) == (errno.EIO, "a.txt")
    with pytest.raises(PermissionError) as failure, opening.naming("a.txt"):
        raise PermissionError(errno.EACCES, "not allowed", "b.txt")  # it has one already
    assert failure.value.filename == "b.txt"

    class Failing(io.RawIOBase):
        def readable(self) -> bool:
            return True

        def readinto(self, buffer: Any) -> int:
            raise OSError(errno.EIO, "a failure")

    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(Failing())))
    with pytest.raises(OSError, match="a failure") as failure, opening.opened("-") as file:
        file.read()
    assert failure.value.filename == "standard input"
