"""Documents to ids: those of each document by itself, in order, however many there are and however large."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bitlex import Tokenizer, documents
from bitlex.documents import Around, count_batches, each, encode_batches, encode_documents
from bitlex.inputs import Document, InputError, Source
from small_tokenizers import huggingface, rank_file


class Made(Source):
    """A source of texts that are given."""

    def __init__(self, texts: list[str | None]) -> None:
        super().__init__("made", "lines")
        self.texts = texts

    def groups(self) -> Iterator[list[Document]]:
        """In groups of some, as they would be read, and none where the source waits."""
        group: list[Document] = []
        for number, text in enumerate(self.texts, 1):
            if text is not None:
                group.append(Document(number, text))
            if group and (text is None or len(group) == number % 4):
                yield group
                group = []
            if text is None:
                yield []
        if group:
            yield group


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    return Tokenizer.from_file(rank_file(tmp_path_factory.mktemp("ranks")), family="cl100k", special={"<|end|>": 300})


@pytest.mark.usefixtures("tier")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50, deadline=None)
@given(
    texts=st.lists(st.none() | st.text("helo w1\n\u4e2d", max_size=30), max_size=30),
    large=st.integers(1, 40), batch=st.integers(1, 60), most=st.integers(1, 5),
)  # fmt: skip
def test_each_document_by_itself(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch, texts: list[str | None], large: int, batch: int, most: int
) -> None:
    tokenizer = Tokenizer.from_file(rank_file(tmp_path_factory.mktemp("ranks")), family="cl100k")
    for name, value in (("LARGE", large), ("BATCH", batch), ("MOST", most)):
        monkeypatch.setattr(documents, name, value)
    expected = [None if text is None else tokenizer.encode(text) for text in texts]
    assert [one if one is None else one.tolist() for one in encode_documents(tokenizer, Made(texts))] == expected
    around = Around((7, 8), (9,))
    apart: list[Any] = []
    for part in encode_batches(tokenizer, Made(texts), around=around):
        if part is None:
            apart.append(None)
        else:
            ids, begins = part
            apart.extend(ids[start:end].tolist() for start, end in pairwise(begins.tolist()))
            assert 1 <= len(begins) - 1 <= most and begins[0] == 0 and begins[-1] == len(ids)
    assert apart == [ids if ids is None else [7, 8, *ids, 9] for ids in expected]
    counted = list(count_batches(tokenizer, Made(texts), around=around))
    assert counted.count(None) == expected.count(None)
    known = [ids for ids in expected if ids is not None]
    assert [sum(column) for column in zip((0, 0), *filter(None, counted), strict=True)] == [len(known), sum(map(len, known)) + 3 * len(known)]


@pytest.mark.parametrize("large", [1, 1 << 20])
def test_the_document_that_is_wrong_is_named(tokenizer: Tokenizer, large: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "LARGE", large)
    with pytest.raises(InputError, match=r"^made: line 3: the text has the special token '<\|end\|>', at byte 6"):
        list(encode_documents(tokenizer, Made(["a", "b", "hello <|end|>", "c <|end|>"])))
    with pytest.raises(InputError, match=r"^made: line 2: the text has the special token '<\|end\|>', at byte 0"):
        list(encode_batches(tokenizer, Made(["a", "<|end|>"]), around=Around((1,), ())))
    with pytest.raises(InputError, match=r"^made: line 2: the text has the special token '<\|end\|>', at byte 0"):
        list(count_batches(tokenizer, Made(["a", "<|end|>"])))
    found = encode_documents(tokenizer, Made(["<|end|>"]), allowed_special="all")
    assert [ids.tolist() for ids in found if ids is not None] == [[300]]


def test_the_next_batch_is_read_while_one_is_worked_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """The work on the first batch waits until the second one has been read: it would wait for ever if that came first."""
    monkeypatch.setattr(documents, "MOST", 2)
    read = threading.Event()

    class Watched(Source):
        def groups(self) -> Iterator[list[Document]]:
            for at, text in enumerate("abcde"):
                if at == 3:
                    read.set()
                yield [Document(at, text)]

    def many(texts: list[Any]) -> list[Any]:
        assert read.wait(60)
        return texts

    assert list(each(Watched("made", "lines"), str, many)) == [["a", "b"], ["c", "d"], ["e"]]


def test_where_no_thread_can_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    """As under a limit of processes: each batch is worked on here, once."""

    def refused(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(documents, "BATCH", 2)
    monkeypatch.setattr(threading.Thread, "start", refused)
    worked: list[list[str]] = []

    def work(texts: list[str]) -> int:
        worked.append(texts)
        return len(texts)

    assert list(each(Made(["ab", "cd", None, "e"]), len, work)) == [1, 1, None, 1]
    assert worked == [["ab"], ["cd"], ["e"]]


def test_all_comes_out_before_a_source_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[Any] = []
    for result in each(Made(["a", "b", None, "c", None, None]), str, list):
        given.append(result)
        if result is None and len(given) == 2:
            assert given == [["a", "b"], None]
    assert given == [["a", "b"], None, ["c"], None, None]


def test_counts_come_out_before_a_source_waits(tokenizer: Tokenizer) -> None:
    found = list(count_batches(tokenizer, Made(["hello", "", None, "hello"]), around=Around((1,), (2, 3))))
    size = len(tokenizer.encode("hello"))
    assert found == [(2, size + 6), None, (1, size + 3)]


def test_stopping_early_ends_the_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "MOST", 1)
    found = each(Made(["a", "b", "c", "d"]), str, list)
    assert next(found) == ["a"]
    before = threading.active_count()
    found.close()  # type: ignore[attr-defined]
    assert threading.active_count() < before


def test_encode_files(tmp_path: Path, tokenizer: Tokenizer) -> None:
    texts = ["hello world", "", "caf\u00e9 \u4e2d"]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps({"page": {"text": text}}) + "\n" for text in texts))
    (tmp_path / "b.txt").write_text("hello <|end|>")
    found = list(tokenizer.encode_files([f"{tmp_path}/*.jsonl"], field="page.text"))
    assert [ids.tolist() for ids in found] == list(map(tokenizer.encode, texts))
    assert all(ids.dtype == "uint32" for ids in found)
    (ids,) = tokenizer.encode_files([str(tmp_path / "b.txt")], allowed_special="all")
    assert ids.tolist()[-1] == 300
    with pytest.raises(InputError, match="special token"):
        list(tokenizer.encode_files([str(tmp_path / "b.txt")]))
    assert [ids.tolist() for ids in tokenizer.encode_files([str(tmp_path / "a.jsonl")], input="lines")] == [
        tokenizer.encode(line) for line in (tmp_path / "a.jsonl").read_text().splitlines()
    ]
    for one, kind in ((str(tmp_path / "b.txt"), "str"), (tmp_path / "b.txt", type(tmp_path).__name__)):
        with pytest.raises(TypeError, match=f"^expected a list of paths, got one {kind}$"):
            list(tokenizer.encode_files(one))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"^input is 'json'; it may be 'text', 'lines', 'jsonl' or 'parquet'$"):
        list(tokenizer.encode_files([str(tmp_path / "a.jsonl")], input="json"))


def test_normalized_texts_go_the_slow_way(tmp_path: Path) -> None:
    path = huggingface(tmp_path)
    path.write_text(json.dumps({**json.loads(path.read_text()), "normalizer": {"type": "NFC"}}))
    slow = Tokenizer.from_file(path)
    (tmp_path / "a.txt").write_text("cafe\u0301 hello</s>")
    (ids,) = slow.encode_files([str(tmp_path / "a.txt")])
    assert ids.tolist() == slow.encode("caf\u00e9 hello</s>")
    assert slow.count("cafe\u0301 hello</s>") == len(ids)
    (tmp_path / "a.txt").write_bytes(b"\xff")
    assert [ids.tolist() for ids in slow.encode_files([str(tmp_path / "a.txt")])] == [[slow.token_to_id(b"\xff")]]


