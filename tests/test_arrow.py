"""Columns of Arrow as batches: the ids of their rows, whatever the layout, and nothing that was exported is kept."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import bitlex
from bitlex import arrow
from bitlex.tokenizer import Tokenizer
from bitlex.vocabulary import AddedToken
from columns import Column
from small_vocabularies import TRAINED, describe

native: Any = pytest.importorskip("bitlex._native", reason="the C extension was not built")
TOKENS = (AddedToken(300, "<|end|>"), AddedToken(301, "<|l|>", lstrip=True))
KINDS: dict[str, dict[str, Any]] = {
    "plain": {"added": TOKENS[:1]}, "normalizing": {"added": TOKENS[:1], "normalizer": "NFC", "convention": "huggingface"},
    "cutting": {"added": TOKENS, "convention": "huggingface", "prefix_space": True},
}  # fmt: skip
ROWS = [b"", b"the thing", b" the", b"twelve bytes", b"thirteen byte", "na\u00efve \u4e2d\u6587 e\u0301".encode(), b"a <|l|>", b"<|end|>", b"\xff\xe4\xb8", b"\0", b"thing " * 99]
FORMATS = ("u", "z", "U", "Z", "vu", "vz")


def results(tokenizer: Tokenizer, batch: Any, **special: Any) -> list[Any]:
    ids, begins = tokenizer.encode_batch_flat(batch, **special)
    arrays = tokenizer.encode_batch_to_numpy(batch, **special)
    return [tokenizer.encode_batch(batch, **special), [array.tolist() for array in arrays], ids.tolist(), begins.tolist(), tokenizer.count_batch(batch, **special)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("format", FORMATS)
def test_ids_of_a_column_are_those_of_its_rows(format: str, kind: str) -> None:
    rng = random.Random(format + kind)
    tokenizer = Tokenizer(describe(TRAINED, **KINDS[kind]))
    for size in (0, 1, 7, 8, 9, 40):
        chunks: Any = [rng.choices(ROWS, k=size) for _ in range(3)]
        column = Column(format, chunks, skip=rng.randrange(12))
        rows = [row for chunk in chunks for row in chunk]
        assert native.arrow_texts(column.exports()) == rows
        assert native.arrow_texts(column.exports(one=True)) == chunks[0]
        for special in ({"allowed_special": "all"}, {"disallowed_special": ()}):
            assert results(tokenizer, column.exports(), **special) == results(tokenizer, rows, **special)


@pytest.mark.parametrize("pure", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_columns_of_pyarrow(kind: str, pure: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    if pure:
        monkeypatch.setenv("BITLEX_TIER", "pure")
        monkeypatch.setattr("bitlex._native.arrow_texts", lambda column: None)
    tokenizer = Tokenizer(describe(TRAINED, **KINDS[kind]), lexer=bitlex.lexer("gpt2"))
    rows = [row.decode() for row in ROWS if row != ROWS[8]] * 3
    for make in (pyarrow.string(), pyarrow.large_string(), pyarrow.string_view(), pyarrow.binary(), pyarrow.large_binary()):
        column = pyarrow.array(rows, make)
        for some, these in ((column, rows), (column[3:20], rows[3:20]), (pyarrow.chunked_array([column[:5], column[5:]]), rows), (column[:0], [])):
            assert results(tokenizer, some, allowed_special="all") == results(tokenizer, these, allowed_special="all")
            assert list(arrow.rows(some)) == [row.encode() for row in these] or pure


@pytest.mark.parametrize("format", FORMATS)
def test_a_column_with_a_row_without_a_text_is_none(format: str) -> None:
    for at in (0, 7, 8, 20):
        rows: list[bytes | None] = [b"text"] * 21
        rows[at] = None
        column = Column(format, [rows], skip=3)
        assert native.arrow_texts(column.exports()) is None and native.arrow_texts(column.exports(one=True)) is None
        column.null_count = 0  # says who exports it, who knows
        assert native.arrow_texts(column.exports()) == [row or b"" for row in rows]


def test_what_has_no_texts_is_read_as_it_was() -> None:
    tokenizer = Tokenizer(describe(TRAINED))
    for format in ("i", "n", "+s", "+l", "uu", "v", ""):
        assert native.arrow_texts(Column(format, [[b"1234"]]).exports()) is None
    coded = Column("u", [[b"1234"]])
    coded.dictionary = 1  # where that lies is not looked at
    assert native.arrow_texts(coded.exports()) is None
    for given in (["a"], ("a",), {"a": 1}, iter(["a"]), np.array(["a"], object)):
        assert arrow.texts_of(given) is None
        assert tokenizer.encode_batch(given) == [[97]]
    for wrong in ("a", b"a", 5):
        with pytest.raises(TypeError, match="expected a list of texts"):
            tokenizer.encode_batch(wrong)  # type: ignore[arg-type]


def odd(**methods: Any) -> Any:
    """Something that has such methods, and can be iterated over."""
    return type("Odd", (), {"__iter__": lambda _: iter(["a", "the"]), **methods})()


def test_what_does_not_export_what_it_says_is_iterated_over() -> None:
    tokenizer = Tokenizer(describe(TRAINED))
    expected = tokenizer.encode_batch(["a", "the"])

    def fails(_: Any) -> Any:
        raise ValueError("not today")

    wrong = Column("u", [[b"x"]])
    for given in (
        odd(__arrow_c_array__=fails), odd(__arrow_c_stream__=fails), odd(__arrow_c_array__=lambda _: 5), odd(__arrow_c_array__=lambda _: (5, 6)),
        odd(__arrow_c_stream__=lambda _: None), odd(__arrow_c_array__=lambda _: wrong.pair()[::-1]), odd(__arrow_c_stream__=lambda _: wrong.pair()[0]),
        odd(__arrow_c_array__=lambda _: wrong.pair()[:1]), odd(__arrow_c_array__=5), odd(__arrow_c_stream__=lambda _, schema: schema),
    ):  # fmt: skip
        assert arrow.texts_of(given) is None
        assert tokenizer.encode_batch(given) == expected

    def interrupted(_: Any) -> Any:
        raise KeyboardInterrupt

    for method in ("__arrow_c_array__", "__arrow_c_stream__"):
        with pytest.raises(KeyboardInterrupt):
            tokenizer.encode_batch(odd(**{method: interrupted}))


def test_a_column_that_is_not_sound_is_refused() -> None:
    long = [b"more than twelve bytes"] * 3
    for format, wrong in (
        ("u", {1: -1}), ("u", {0: -5}), ("U", {0: -5}), ("U", {2: 3}), ("z", {3: 1}), ("vu", {0: -1}), ("vu", {4: 1 << 20}), ("vu", {2: 2}),
        ("vu", {2: -1}), ("vu", {3: 23}), ("vu", {3: -4}), ("vu", {11: 1 << 30}),
    ):  # fmt: skip
        column = Column(format, [long, long])
        column.wrong = wrong
        for one in (False, True):
            with pytest.raises(ValueError, match=r"^row \d of an Arrow array lies outside of it$"):
                native.arrow_texts(column.exports(one))
    for at, reason, expected in ((-1, b"no schema", "no schema"), (0, b"no first", "no first"), (1, None, "Input/output error"), (2, b"x" * 900, "x" * 500)):
        column = Column("u", [long, long], fails=(at, 5, reason))
        with pytest.raises(ValueError) as error:
            native.arrow_texts(column.exports())
        assert str(error.value) == f"an Arrow stream fails: {expected}"


def test_all_that_a_stream_gives_is_released() -> None:
    """The stream itself, and what is exported alone, are released with their capsules, which do not do that here."""
    cases: list[tuple[str, list[list[bytes | None]]]] = [("u", [[b"a"], [b"b"]]), ("u", []), ("i", [[b"a"]]), ("vu", [[b"a"], [None], [b"c"]])]
    for format, chunks in cases:
        column = Column(format, chunks)
        native.arrow_texts(column.exports())
        assert column.opened == 0
    for fails in ((-1, 5, b""), (1, 5, b"")):
        column = Column("u", [[b"a"], [b"b"]], fails=fails)
        with pytest.raises(ValueError, match="fails"):
            native.arrow_texts(column.exports())
        assert column.opened == 0
    column = Column("u", [[b"a"], [b"b"]])
    column.wrong = {1: -1}
    with pytest.raises(ValueError, match="outside"):
        native.arrow_texts(column.exports())
    assert column.opened == 0


def test_training_on_a_column() -> None:
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    rows = ["the thing and the word ", "another thing", "", "\u4e2d\u6587"] * 2000
    expected = bitlex.train(rows, 275).description.vocabulary
    for column in (pyarrow.array(rows), pyarrow.chunked_array([rows[:3], rows[3:]])):
        found = bitlex.train(column, 275).description.vocabulary
        assert bytes(found.blob) == bytes(expected.blob)
    with pytest.raises(TypeError, match="cannot be read"):
        bitlex.train(pyarrow.array([*rows, None]), 275)
