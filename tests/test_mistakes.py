"""What users get wrong again and again, and what they are told: names that are like others, and what is of another type."""

from __future__ import annotations

import copy
import mmap
import os
import pickle
import sys
import warnings
from collections.abc import Iterator
from importlib.machinery import ModuleSpec
from io import StringIO
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import numpy
import pytest

import bitlex
from bitlex import Tokenizer
from bitlex.cli import main
from bitlex.commands.console import complain
from bitlex.terminal import Line
from bitlex.training import count_pieces
from bitlex.vocabularies import load, read
from bitlex.vocabularies.writing import write


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """In an empty folder, without the hub."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)


@pytest.mark.parametrize(
    ("name", "meant"),
    [("cl100k_base.tiktoken", "cl100k_base"), ("cl100k", "cl100k_base"), ("o200k_bas", "o200k_base"), ("gpt-4o", "o200k_base")],
)
def test_names_that_are_like_that_of_an_encoding(name: str, meant: str, capsys: pytest.CaptureFixture[str]) -> None:
    for source in (name, Path(name)):
        for make in (Tokenizer.from_file, Tokenizer.from_tiktoken):
            with pytest.raises(FileNotFoundError) as raised:
                make(source)
            assert str(raised.value) == f"{name}: no such file; did you mean Tokenizer.from_tiktoken('{meant}')?"
    with pytest.raises(FileNotFoundError) as raised:
        main(["vocab", name])
    complain(raised.value)
    assert capsys.readouterr().err.startswith(f"bitlex: {name}: no such file (did you mean {meant}?)")


def test_names_that_are_like_nothing() -> None:
    for make in (Tokenizer.from_file, Tokenizer.from_tiktoken):
        with pytest.raises(FileNotFoundError, match=r"No such file or directory: 'mine\.json'$"):
            make("mine.json")


def test_a_family_that_is_spelled_wrong_is_no_silent_pattern() -> None:
    with pytest.warns(UserWarning, match="^pattern 'cl100' is read as a regular expression: no family 'cl100'; did you mean cl100k") as noted:
        bitlex.train("text", 256, pattern="cl100")
    assert noted[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for pattern in ("", ".", "a", r"\w+", "CL100K", "qwen2.5"):
            bitlex.train("text", 256, pattern=pattern)
    with pytest.warns(UserWarning, match=r"^pattern 'gpt-2' is read as a regular expression: no family 'gpt-2'"):
        bitlex.train("text", 256, pattern="gpt-2")


def test_a_path_that_is_read_as_a_text() -> None:
    Path("book.txt").write_text("a book")
    with pytest.warns(UserWarning, match=r"to be merged; 'book\.txt' was read as a text, and pathlib\.Path\('book\.txt'\) is the file$"):
        bitlex.train("book.txt", 300)


def test_what_is_of_another_type(tmp_path: Path) -> None:
    wrong: Any = "300"
    with pytest.raises(TypeError, match=r"^vocab_size is '300'; it may be an int$"):
        bitlex.train("text", wrong)
    tokenizer = bitlex.train("text", 256)
    for stream in (tokenizer.stream, tokenizer.lexer.stream):
        with pytest.raises(TypeError, match=r"^hold is '300'; it may be an int$"):
            stream(hold=wrong)
    Path("mine.tiktoken").write_text("IQ== 0\n")
    with pytest.raises(TypeError, match=r"^special is \['<s>'\]; it may be a dict of ids by special tokens$"):
        Tokenizer.from_file("mine.tiktoken", family="gpt2", special=["<s>"])  # type: ignore[arg-type]


class Once:
    """As what reads a socket may be, it can be iterated over but once."""

    def __init__(self, *items: object) -> None:
        self.items: tuple[object, ...] | None = items

    def __iter__(self) -> Iterator[object]:
        items, self.items = self.items, None
        return iter(cast("tuple[object, ...]", items))


def test_a_batch_is_asked_once_for_what_is_in_it(tmp_path: Path, tier: str) -> None:
    tokenizer = bitlex.train("text", 256)
    for batch in (
        tokenizer.encode_batch, tokenizer.encode_batch_to_numpy, tokenizer.encode_batch_flat, tokenizer.count_batch,
        tokenizer.lexer.split_batch, tokenizer.lexer.spans_batch, tokenizer.lexer.count_batch,
    ):  # fmt: skip
        assert len(cast(Any, batch)(Once("a", "b"))) == 2
    assert tokenizer.decode_batch(cast(Any, Once([116], [120]))) == ["t", "x"]
    (tmp_path / "a.txt").write_text("t")
    assert [ids.tolist() for ids in tokenizer.encode_files(cast(Any, Once(tmp_path / "a.txt")))] == [[116]]


def test_what_is_wrong_is_said_of_the_argument(tmp_path: Path, tier: str) -> None:
    """And not in the words of what was tried with it: no type, no name and no number of the caller's is in these."""
    tokenizer = bitlex.train("text", 256)
    lexer, ranks, nothing = tokenizer.lexer, tmp_path / "mine.tiktoken", cast(Any, None)
    write(tokenizer.description, ranks)
    with pytest.raises(TypeError, match=r"^expected a Description, got Tokenizer; tokenizer\.description is that of a tokenizer$"):
        write(cast(Any, tokenizer), ranks)
    for batch in (
        tokenizer.encode_batch, tokenizer.encode_batch_to_numpy, tokenizer.encode_batch_flat, tokenizer.count_batch,
        lexer.split_batch, lexer.spans_batch, lexer.count_batch,
    ):  # fmt: skip
        with pytest.raises(TypeError, match=r"^expected a list of texts, got NoneType$"):
            batch(nothing)
    with pytest.raises(TypeError, match=r"^expected a list of sequences of ids, got NoneType$"):
        tokenizer.decode_batch(nothing)
    with pytest.raises(TypeError, match=r"^expected a list of paths, got NoneType$"):
        list(tokenizer.encode_files(nothing))
    for around in (([65], ()), ((), [65]), (("A",), ())):
        with pytest.raises(TypeError, match=r"^expected two tuples of ids$|integer"):
            tokenizer.encode_around(["text"], *cast(Any, around))
    with pytest.raises(TypeError, match=r"^expected \(piece, method\), method being a str$"):
        tokenizer.merge("text", method=cast(Any, ["heap"]))
    assert tokenizer.token_to_id(cast(Any, bytearray(b"t"))) == 116
    for token in (5, [116], None):
        with pytest.raises(TypeError, match=r"^expected str or a bytes-like object, got "):
            tokenizer.token_to_id(cast(Any, token))
    wrong: list[Any]
    for wrong in ([["<s>"]], ["<s>", {}]):
        for given in (wrong, tuple(wrong)):
            for argument in ("allowed_special", "disallowed_special"):
                with pytest.raises(TypeError, match=f"^{argument} is .*; it may be 'all', or a collection of special tokens$"):
                    tokenizer.encode("text", **cast(Any, {argument: given}))
    with pytest.raises(ValueError, match=r"^result is \[\]; it may be 'list', 'numpy' or 'offsets'$"):
        tokenizer.stream(result=cast(Any, []))
    with pytest.raises(ValueError, match=r"^errors is '\\ud800', which has a lone surrogate$"):
        tokenizer.decode([1], errors="\ud800")
    with pytest.raises(TypeError, match=r"^expected the content of a file as bytes, got memoryview$"):
        read(cast(Any, memoryview(b"IQ== 0")), "mine")
    for option in ("name", "family", "pattern"):
        with pytest.raises(TypeError, match=f"^{option} is 5; it may be a str$"):
            Tokenizer.from_file(ranks, **cast(Any, {"family": "gpt2", option: 5}))
    with pytest.raises(TypeError, match=r"^name is \['x'\]; it may be a str$"):
        Tokenizer.from_tiktoken("cl100k_base", name=cast(Any, ["x"]))


def test_what_is_wrong_for_training_is_said_before_it_begins(tmp_path: Path, tier: str) -> None:
    def never() -> Any:
        raise AssertionError("a text was asked for")
        yield

    for argument, given, message in (
        ("name", 5, "name is 5; it may be a str"), ("progress", "x", "progress is 'x'; it may be a function, which is given a Progress"),
        ("max_token_length", [4], r"max_token_length is \[4\]; it may be an int"), ("min_frequency", int, "min_frequency is .*; it may be an int"),
    ):  # fmt: skip
        with pytest.raises(TypeError, match=f"^{message}$"):
            bitlex.train(never(), 256, **cast(Any, {argument: given}))
    with pytest.raises(ValueError, match=r"^tie_break is \[\]; it may be"):
        bitlex.train(never(), 256, tie_break=cast(Any, []))
    for number in ("300", 300.0, None):
        with pytest.raises(TypeError, match=f"^vocab_size is {number!r}; it may be an int$"):
            bitlex.RegexTokenizer().train("text", cast(Any, number))


@pytest.mark.parametrize("tie_break", ["minbpe", "huggingface"])
def test_numbers_of_numpy_are_numbers(tie_break: Any, tmp_path: Path, tier: str) -> None:
    """Also for a checkpoint, which is written when all is counted."""
    numbers: dict[str, Any] = {"min_frequency": 2, "max_token_length": 4, "memory": 1 << 20}
    if tie_break == "huggingface":
        numbers["limit_alphabet"] = 300
    ours = {name: numpy.int64(number) for name, number in numbers.items()}
    made = bitlex.train("abcabc abcabc", numpy.int64(258), tie_break=tie_break, checkpoint=tmp_path / "checkpoint", **ours)  # type: ignore[arg-type]
    expected = bitlex.train("abcabc abcabc", 258, tie_break=tie_break, **numbers)
    assert made.description == expected.description


def test_a_saved_tokenizer_is_said_to_be_one(tmp_path: Path) -> None:
    saved = tmp_path / "mine.bitlex"
    bitlex.train("text", 256).save(saved)
    for make in (load, Tokenizer.from_tiktoken, Tokenizer.from_huggingface, Tokenizer.from_tekken, Tokenizer.from_minbpe):
        with pytest.raises(bitlex.VocabularyError) as raised:
            make(saved)
        assert str(raised.value) == f"{saved}: a saved tokenizer, which Tokenizer.from_file reads"


def test_counted_pieces_are_no_tokenizer(tmp_path: Path) -> None:
    path = tmp_path / "a.pieces"
    count_pieces("text", path)
    for make in (Tokenizer.from_file, load):
        with pytest.raises(bitlex.VocabularyError, match=r"a\.pieces: counted pieces, or a checkpoint of a training, which are no tokenizer yet; train"):
            make(path)


def test_a_number_is_no_model(tmp_path: Path) -> None:
    """It would be a file that is open already, which was closed when it had been read."""
    with open(tmp_path / "mine", "wb") as file:
        with pytest.raises(TypeError, match=r"^expected str, bytes or os\.PathLike object, not int$"):
            bitlex.RegexTokenizer().load(cast(Any, file.fileno()))
        os.fstat(file.fileno())


def test_what_is_wrong_for_compiling_is_said_of_the_argument() -> None:
    steps = {"type": "Digits", "individual_digits": True}  # whose digits are of a version of their own
    for pattern in ("a", steps, None):
        with pytest.raises(ValueError, match=r"^no tables for Unicode '99\.0'; there are 14\.0, "):
            bitlex.compile(cast(Any, pattern), unicode="99.0")
        with pytest.raises(ValueError, match=r"^no dialect \['x'\]; there are fancy"):
            bitlex.compile(cast(Any, pattern), dialect=cast(Any, ["x"]))
    for name in ("characters", "instructions", "states", "cells", "work"):
        with pytest.raises(TypeError, match=f"^{name} is '5'; it may be an int$"):
            bitlex.Limits(**cast(Any, {name: "5"}))
    with pytest.raises(TypeError, match=r"^seconds is None; it may be a number$"):
        bitlex.Limits(seconds=cast(Any, None))


@pytest.mark.parametrize("item", [None, "1", 1.0, [1, 2], "x" * 200, numpy.array([1, 2])])
def test_what_is_no_int_among_ids_is_named_by_its_place(item: Any, tier: str) -> None:
    tokenizer = bitlex.train("text", 256)
    message = f"ids[2] is {item!r:.100}, which is no int"
    for decode in (tokenizer.decode, tokenizer.decode_bytes, tokenizer.decode_with_offsets, tokenizer.decode_stream().feed):
        with pytest.raises(TypeError) as raised:
            decode([1, 2, item])
        assert str(raised.value) == message
    with pytest.raises(TypeError) as raised:
        tokenizer.decode_batch([[1], [1, 2, item]])
    assert str(raised.value) == f"batch[1]: {message}"


def test_dates_are_no_texts_and_no_ids(tier: str) -> None:
    """Of an array of dates numpy has no buffer; of one date it has one that is not as it says, which was read where it is not."""
    tokenizer = bitlex.train("aa", 257)
    dates = numpy.array(["2020-02-02"], "datetime64[D]")
    calls: list[Any] = [
        tokenizer.encode, tokenizer.count, tokenizer.encode_batch, lambda one: tokenizer.encode_batch([one]), tokenizer.stream().feed,
        lambda one: tokenizer.encode_into("a", one), lambda one: tokenizer.stream(into=one), tokenizer.lexer.split, tokenizer.lexer.stream().feed,
        lambda one: tokenizer.lexer.stream(spans=True, into=one),
    ]  # fmt: skip
    decoding: list[Any] = [
        tokenizer.decode, tokenizer.decode_bytes, tokenizer.decode_batch, lambda one: tokenizer.decode_batch([one]), tokenizer.decode_with_offsets,
        tokenizer.decode_stream().feed,
    ]  # fmt: skip
    for call in (*calls, *decoding):
        with pytest.raises(TypeError):
            call(dates)
    for call in decoding:
        with pytest.raises(TypeError):
            call(dates[0])


def test_what_was_closed_is_told_as_that(tier: str) -> None:
    tokenizer = bitlex.train("aa", 257)
    mapped, view = mmap.mmap(-1, 4096), memoryview(bytearray(10))
    mapped.close()
    view.release()
    calls: list[Any] = [tokenizer.encode, tokenizer.stream().feed, tokenizer.decode, tokenizer.lexer.split, tokenizer.lexer.stream().feed]
    for closed, why in ((mapped, "mmap closed or invalid"), (view, "operation forbidden on released memoryview object")):
        for call in calls:
            with pytest.raises(TypeError, match=rf"^(mmap\.)?{type(closed).__name__} cannot be read: {why}$"):
                call(closed)


def test_arrays_of_str_are_many_texts(tier: str) -> None:
    """As datasets and pandas give them: of objects, of dtype U, or of numpy 2's StringDType. One of bytes or numbers is none, whatever it has."""
    tokenizer, texts = bitlex.train(["aa", "é"], 257), ["aa", "", "é中"]
    lexer = tokenizer.lexer
    methods: list[Any] = [
        tokenizer.encode_batch, tokenizer.count_batch, lambda batch: tokenizer.encode_batch_flat(batch)[0].tolist(), lexer.split_batch,
        lexer.count_batch, lambda batch: [ends.tolist() for ends in lexer.spans_batch(batch)], lambda batch: bitlex.train(batch, 257).encode("aa"),
    ]  # fmt: skip
    kinds: list[Any] = [object, "U", *(["T"] if numpy.lib.NumpyVersion(numpy.__version__) >= "2.0.0" else [])]
    for method in methods:
        for kind in kinds:
            assert method(numpy.array(texts, kind)) == method(texts)
        with pytest.raises(TypeError, match=r"(texts\[1\]: )?expected .*, got NoneType$"):
            method(numpy.array(["a", None], object))
    for method in methods[:-1]:
        for wrong in (numpy.array([b"a"]), numpy.array([1]), memoryview(b"ab")):
            with pytest.raises(TypeError, match=r"^expected a list of texts, got one "):
                method(wrong)


def test_training_from_bytes_of_which_nothing_says_how_many(tier: str) -> None:
    whole, parts = pickle.PickleBuffer(b"aab"), [pickle.PickleBuffer(bytearray(b"aab"))]
    for source in (whole, parts):
        assert bitlex.train(source, 257).encode("aa") == [256]


def test_what_errors_may_be(tier: str) -> None:
    tokenizer = bitlex.train("aa", 257)
    calls: list[Any] = [
        lambda errors: tokenizer.decode([200], errors=errors), lambda errors: tokenizer.decode_batch([[200]], errors=errors),
        lambda errors: tokenizer.decode_stream(errors=errors),
    ]  # fmt: skip
    for call in calls:
        for wrong in (None, 5, b"strict"):
            with pytest.raises(TypeError, match=r"^errors is (None|5|b'strict'); it may be a str"):
                call(wrong)
        with pytest.raises(ValueError, match="null"):
            call("replace\0x")


def test_a_dtype_of_no_integers(tier: str) -> None:
    for dtype in (float, "M8[D]", object, bool):
        with pytest.raises(ValueError, match=r"it may be one of integers$"):
            bitlex.train("aa", 257).encode_to_numpy("a", dtype=dtype)


def test_a_tokenizer_to_be_extended_is_found_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def from_tiktoken(name: str) -> Tokenizer:
        asked.append(name)
        return bitlex.train("", 256)

    monkeypatch.setattr(Tokenizer, "from_tiktoken", from_tiktoken)
    Path("book.txt").write_text("ab ab ab")
    assert main(["train", "book.txt", "--extend", "cl100k_base", "--vocab-size", "257", "--quiet", "-o", "mine.bitlex"]) == 0
    assert asked == ["cl100k_base"]


def test_arguments_of_training_of_another_type() -> None:
    for argument in ("min_frequency", "max_token_length", "limit_alphabet"):
        for wrong in (1.5, "2"):
            with pytest.raises(TypeError, match=rf"^{argument} is {wrong!r}; it may be an int$"):
                bitlex.train("text", 256, tie_break="huggingface", **{argument: wrong})  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"^initial_alphabet is 'abc'; it may be bytes$"):
        bitlex.train("text", 256, tie_break="huggingface", initial_alphabet="abc")  # type: ignore[arg-type]
    for special in (None, "<s>", ["<s>", 1], {"<s>": 5}, {"<s>"}, frozenset(["<s>"])):  # of which some have ids, or no order
        with pytest.raises(TypeError, match=r"it may be a list of str$"):
            bitlex.train("text", 258, special_tokens=special)  # type: ignore[arg-type]
    assert bitlex.train("", 257, special_tokens=iter(["<s>"])).special_tokens == {"<s>": 256}  # type: ignore[arg-type]


def test_arguments_of_files_are_not_blamed_on_files() -> None:
    Path("book.txt").write_text("text")
    tokenizer = bitlex.train("text", 256)
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"threads": -1}, "^threads is -1"), ({"disallowed_special": ["<s>"]}, "^disallowed_special: '<s>'"), ({"field": 5}, "^field is 5"),
    ]  # fmt: skip
    for options, message in wrong:
        with pytest.raises((TypeError, ValueError), match=message):
            next(tokenizer.encode_files(["book.txt"], **options))


def test_an_error_about_a_pattern_is_copied() -> None:
    with pytest.raises(bitlex.PatternError) as raised:
        bitlex.compile("a(")
    for again in (pickle.loads(pickle.dumps(raised.value)), copy.copy(raised.value)):
        assert str(again) == str(raised.value) and again.span == raised.value.span


@pytest.mark.parametrize("argument", ["min_frequency", "max_token_length", "limit_alphabet"])
def test_numbers_below_zero(argument: str, capsys: pytest.CaptureFixture[str]) -> None:
    options: dict[str, Any] = {argument: -1}
    with pytest.raises(ValueError, match=rf"^{argument} is -1; it may be 0 or more$") as raised:
        bitlex.train("text", 256, tie_break="huggingface", **options)
    complain(raised.value)
    assert capsys.readouterr().err == f"bitlex: --{argument.replace('_', '-')} is -1; it may be 0 or more\n"


def test_plots_without_matplotlib_are_refused_before_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    Path("book.txt").write_text("ab ab ab")
    with pytest.raises(ValueError, match=r"^plots need matplotlib: pip install matplotlib$"):
        main(["train", "book.txt", "--vocab-size", "257", "--plots", "plots", "-o", "mine.bitlex"])
    assert not Path("mine.bitlex").exists()


def test_plots_are_drawn_without_a_report_too(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = []
    monkeypatch.setattr("bitlex.training.plots.draw", lambda made, held_out, folder, **options: drawn.append(folder))
    monkeypatch.setitem(sys.modules, "matplotlib", ModuleType("matplotlib"))
    sys.modules["matplotlib"].__spec__ = ModuleSpec("matplotlib", None)
    Path("book.txt").write_text("ab ab ab")
    assert main(["train", "book.txt", "--vocab-size", "257", "--plots", "plots", "--quiet", "-o", "mine.bitlex"]) == 0
    assert drawn == ["plots"]


@pytest.mark.parametrize(("name", "shown"), [("xterm", "\r\x1b[Kmerging"), ("dumb", "")])
def test_a_dumb_terminal_is_shown_no_line_that_it_cannot_wipe(name: str, shown: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setenv("TERM", name)
    terminal = Terminal()
    Line(terminal).show("merging")
    assert terminal.getvalue() == shown
