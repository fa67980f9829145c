"""Saved tokenizers: what comes back is what was saved; what was cut short or changed anywhere is refused; nothing half-written is left."""

from __future__ import annotations

import os
import pickle
import random
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bitlex import compiler, saving
from bitlex.compiler import compile
from bitlex.encoders import make_encoder
from bitlex.saved_values import packed, unpacked
from bitlex.tokenizer import Tokenizer
from bitlex.vocabulary import AddedToken, Vocabulary, VocabularyError
from small_vocabularies import BYTES, TRAINED, describe, pure, random_vocabulary

native = pytest.importorskip("bitlex._native", reason="the C extension was not built")

ADDED = (AddedToken(300, "<|end|>"), AddedToken(301, "é[x]", special=False, lstrip=True, normalized=True))


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("saved") / "small.bitlex"
    Tokenizer(describe(TRAINED, ADDED)).save(path)
    return path


def descriptions() -> list[Any]:
    rng = random.Random(1)
    split = {"type": "Split", "pattern": {"Regex": r"\w+|\W"}, "behavior": "Isolated", "invert": False}
    return [
        describe(TRAINED, ADDED),
        describe(Vocabulary.from_merges([*BYTES, b"ab"], [(b"a", b"b")]), family="gpt2", convention="huggingface", prefix_space=True, normalizer="NFC"),
        describe(random_vocabulary(rng)[0], (AddedToken(1000, "<s>"),), family=None, pre_tokenizer=split, single=((1000, 0), ("A", 1)), pair=(("A", 0), (1000, 1), ("B", 1))),
        describe(TRAINED, decoded={270: b"", 299: b"\xff\x00" * 50}, family="llama3", convention="tekken", name="näme", digest="ab" * 32),
    ]


@pytest.mark.parametrize("number", range(4))
def test_what_comes_back(number: int, tmp_path: Path) -> None:
    description = descriptions()[number]
    made = Tokenizer(description)
    made.save(tmp_path / "saved")
    loaded = Tokenizer.from_file(tmp_path / "saved")
    assert replace(loaded.description, vocabulary=TRAINED) == replace(description, vocabulary=TRAINED)
    assert repr(loaded.description.added) == repr(description.added)
    for field in ("blob", "starts", "merges", "whole"):
        assert getattr(loaded.description.vocabulary, field) == getattr(description.vocabulary, field)
    for text in ("the thing and é 中 123", "", "abab ab", "e\u0301ab"):
        assert loaded.encode(text, disallowed_special=()) == made.encode(text, disallowed_special=())
    again = tmp_path / "again"
    loaded.save(again)
    assert again.read_bytes() == (tmp_path / "saved").read_bytes()


def test_every_tier_loads_it(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BITLEX_TIER", "pure")
    loaded = Tokenizer.from_file(saved)
    assert type(loaded._encoder).__name__ == "Pure" and loaded.encode("the thing") == [257, 32, 256, 260]


def test_tables_are_taken_as_they_were_saved(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[Any] = []
    made: list[Any] = []

    def watched(description: Any, lexer: Any, image: Any = None) -> Any:
        given.append(image)
        made.append(make_encoder(description, lexer, image))
        return made[-1]

    monkeypatch.setattr(saving, "make_encoder", watched)
    loaded = Tokenizer.from_file(saved)
    assert [bytes(image) for image in given] == [bytes(loaded._encoder.image())]  # type: ignore[attr-defined]
    assert loaded._encoder is made[0]


def test_nothing_is_compiled_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A lexer that is in no catalogue is in the file, and in the pickle; but another version compiles it."""
    one = Tokenizer(descriptions()[2])
    one.save(tmp_path / "saved")
    pickled = pickle.dumps(one)
    compiled: list[Any] = []

    def watched(*arguments: Any, **options: Any) -> Any:
        compiled.append(arguments)
        return compile(*arguments, **options)

    monkeypatch.setattr(compiler, "compile", watched)
    for tier in ("pure", "portable", ""):
        monkeypatch.setenv("BITLEX_TIER", tier)
        for loaded in (Tokenizer.from_file(tmp_path / "saved"), pickle.loads(pickled)):
            assert loaded.encode("the thing") == one.encode("the thing")
            assert loaded.lexer.steps == one.lexer.steps and loaded.lexer.states == one.lexer.states
            assert loaded.lexer.split("the thing") == one.lexer.split("the thing")
            assert loaded.description == one.description
    assert compiled == []
    monkeypatch.setattr(saving, "__version__", "another")
    assert Tokenizer.from_file(tmp_path / "saved").encode("the thing") == one.encode("the thing")
    assert len(compiled) == 1


@pytest.mark.parametrize("number", range(4))
def test_what_is_saved_without_the_extension(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    description = descriptions()[number]
    monkeypatch.setenv("BITLEX_TIER", "pure")
    Tokenizer(description).save(tmp_path / "pure")
    again = Tokenizer.from_file(tmp_path / "pure")
    again.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "pure").read_bytes()
    monkeypatch.delenv("BITLEX_TIER")
    loaded = Tokenizer.from_file(tmp_path / "pure")
    assert type(loaded._encoder).__name__ == "Encoder"
    assert replace(loaded.description, vocabulary=TRAINED) == replace(description, vocabulary=TRAINED)
    assert loaded.description.vocabulary == again.description.vocabulary == description.vocabulary
    for text in ("the thing and é 中 123", "", "abab ab", "e\u0301ab"):
        assert loaded.encode(text, disallowed_special=()) == again.encode(text, disallowed_special=())


def places(data: bytes) -> dict[str, int]:
    header_end, start, end = memoryview(data)[saving.FIRST : saving.HEADER].cast("Q")
    assert end == len(data) and start % 4096 == 0
    header = unpacked(data[saving.HEADER : header_end])
    found = {"header_end": header_end, "image": start}
    for name in ("image", "blob", "starts", "merges"):
        for at in header[name] or ():
            found[f"{name} {at}"] = start + at
    return found


def refused(path: Path, data: bytes) -> str:
    path.write_bytes(data)
    with pytest.raises(VocabularyError) as caught:
        Tokenizer.from_file(path)
    assert str(caught.value).startswith(f"{path}: ")
    return str(caught.value)


def test_cut_short(saved: Path, tmp_path: Path) -> None:
    data = saved.read_bytes()
    interesting = [0, 1, 7, 8, 9, 15, 16, 17, 39, 40, 41, *places(data).values(), 4095, 4096, 4097]
    for size in sorted({near for place in interesting for near in (place - 1, place, place + 1) if 0 <= near < len(data)}):
        told = refused(tmp_path / "cut", data[:size])
        if size >= len(saving.KIND):  # shorter, it might be anything
            assert told == f"{tmp_path / 'cut'}: cut short, or not as it was saved"
    for longer in (b"\0", b"x" * 4096):
        refused(tmp_path / "longer", data + longer)


def test_any_byte_changed(saved: Path, tmp_path: Path) -> None:
    """Every byte up to the tables and around the borders of their parts, and thousands of others; also two at a time, and words swapped."""
    whole = saved.read_bytes()
    data, found = bytearray(whole), places(whole)
    rng = random.Random(3)
    near = {at for place in found.values() for at in range(place - 20, place + 20) if at < len(data)}
    path = tmp_path / "changed"
    for at in sorted({*range(min(found["header_end"] + 50, len(data))), *near, *rng.choices(range(len(data)), k=100)}):
        data[at] ^= 1 << rng.randrange(8)
        if at % 13 and at > 60:  # the sum is what is looked at, and quicker than a file
            assert bytes(data[8:16]) != saving.words(native.checksum(memoryview(data)[saving.FIRST :]))
        else:
            refused(path, bytes(data))
        data[at] = whole[at]
    for _ in range(200):
        a, b = rng.sample(range(saving.FIRST, len(data) - 8, 8), 2)
        swapped = bytearray(data)
        swapped[a : a + 8], swapped[b : b + 8] = data[b : b + 8], data[a : a + 8]
        assert swapped == data or saving.checksum(bytes(swapped[saving.FIRST :])) != saving.checksum(bytes(data[saving.FIRST :]))


def test_written_by_who_knows_the_sum(saved: Path, tmp_path: Path) -> None:
    """Files of other versions, and such as are forged: refused, or of another vocabulary; no crash."""
    data = saved.read_bytes()
    found = places(data)
    start = saving.HEADER
    header = unpacked(data[start : found["header_end"]])
    path = tmp_path / "forged"

    def write(text: bytes, body: bytes = data[found["image"] :], *bounds: int) -> None:
        first = -(-(start + len(text)) // saving.PAGE) * saving.PAGE
        bounds = bounds or (start + len(text), first, first + len(body))
        summed = saving.words(*bounds) + text + bytes(first - start - len(text)) + body
        path.write_bytes(saving.MAGIC + saving.ORDER + saving.words(saving.checksum(summed)) + summed)

    assert header["lexer"] is None  # which the catalogue has
    write(packed(header))
    assert Tokenizer.from_file(path).encode("the") == [257]
    for name in header:
        write(packed({key: value for key, value in header.items() if key != name}))
        with pytest.raises(VocabularyError, match="saved by another version of bitlex: "):
            Tokenizer.from_file(path)
        kinds: tuple[Any, ...] = (None, 7, "x", [], {}, [["x"]], [0, 1], [5, 5], [-1, 9], [0, len(data)], [[1 << 70, "x", 0]], [[300, 7, 0]])
        for wrong in kinds:
            write(packed(header | {name: wrong}))
            with suppress(VocabularyError):
                loaded = Tokenizer.from_file(path)
                loaded.encode("the<|end|>", disallowed_special=(), add_special_tokens=True)
                with suppress(ValueError):
                    loaded.description.vocabulary.check()
    for name in ("image", "blob", "starts", "merges"):
        for wrong in ([-1, 9], [9, 5], [0, len(data)]):
            write(packed(header | {name: wrong}))
            with pytest.raises(VocabularyError, match="saved by another version of bitlex: ValueError: places that do not fit"):
                Tokenizer.from_file(path)
    text = packed(header)
    for size in range(24):
        short = saving.words(saving.HEADER, saving.PAGE, saving.PAGE)[:size]
        path.write_bytes(saving.MAGIC + saving.ORDER + saving.words(saving.checksum(short)) + short)
        with pytest.raises(VocabularyError, match="saved by another version of bitlex: "):
            Tokenizer.from_file(path)
    for bounds in ((0, 0, 0), (2**63, 2**63, 2**63), (start + len(text), found["image"], len(data) + 1), (start, found["image"], len(data))):
        write(text, data[found["image"] :], *bounds)
        with pytest.raises(VocabularyError):
            Tokenizer.from_file(path)
    for junk in (b"", b"l0:", b"n0:", b"d", b"\xff", b"7:", text[:-1], text + b"n0:", b"l1:" * 100_000):
        write(junk)
        with pytest.raises(VocabularyError):
            Tokenizer.from_file(path)
    rng = random.Random(5)
    for _ in range(150):
        body = bytearray(data[found["image"] :])
        for _ in range(rng.choice((1, 3, 200))):
            at = rng.randrange(rng.choice((300, len(body))))
            body[at] = rng.randrange(256)
        write(text, bytes(body))
        with suppress(KeyError, ValueError):
            tokenizer = Tokenizer.from_file(path)
            tokenizer.decode(tokenizer.encode_with_offsets("the thing and é中😀 " * 10, disallowed_special=())[0], errors="replace")


def test_tables_that_somebody_forged() -> None:
    """Look-ups that go on for ever are refused; places that are beyond the text end with it."""
    made = Tokenizer(describe(TRAINED))
    image = bytearray(made._encoder.image())  # type: ignore[attr-defined]
    ranks, reach = 20, 44  # places of numbers in the header of an image
    assert int.from_bytes(image[reach : reach + 4], sys.byteorder) <= int.from_bytes(image[ranks : ranks + 4], sys.byteorder) // 8
    forged = image.copy()
    forged[reach : reach + 4] = b"\xff" * 4
    with pytest.raises(ValueError, match="not the tables of a vocabulary"):
        make_encoder(made.description, made.lexer, forged)
    longest = max(range(len(TRAINED)), key=lambda number: len(TRAINED.token_bytes(number)))
    at = int.from_bytes(image[48 + 3 * 8 : 48 + 4 * 8], sys.byteorder) + 4 * ord("q")  # the token of a byte
    image[at : at + 4] = longest.to_bytes(4, sys.byteorder)
    encoder: Any = make_encoder(made.description, made.lexer, image)
    ids, places = encoder.encode_with_offsets("q" * 2000, None, None)
    assert longest in ids and places.max() == 2000


def test_the_other_order_of_bytes(saved: Path, tmp_path: Path) -> None:
    data = saved.read_bytes()
    other = tmp_path / "other"
    other.write_bytes(saving.MAGIC + (b">" if sys.byteorder == "little" else b"<") + data[8:])
    with pytest.raises(VocabularyError, match=f"^{other}: saved on a machine with the other order of bytes; load what it was made of, and save it here$"):
        Tokenizer.from_file(other)


def test_another_version(saved: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    for version in b"1", b"3":
        other.write_bytes(saving.KIND + version + saved.read_bytes()[7:])
        with pytest.raises(VocabularyError, match=f"^{other}: saved by another version of bitlex; load what it was made of, and save it here$"):
            Tokenizer.from_file(other)


def test_values() -> None:
    deep: Any = None
    for _ in range(50):
        deep = {"in": [deep], "": 0.1}
    values = [None, True, False, 0, -7, 1 << 70, 0.1, -1e300, float("inf"), "", "é:\ud800😀", b"", b":\xff\0", [], [[], [1]], {}, {"a": {b"b": [None]}, 3: "x"}, deep]
    for value in [*values, values]:
        assert unpacked(packed(value)) == value
    assert unpacked(packed((1, (2,)))) == [1, [2]]
    data = packed(values)
    for size in range(len(data)):
        with pytest.raises((ValueError, IndexError)):
            unpacked(data[:size])
    with pytest.raises(KeyError):
        packed({1, 2})


def test_tokens_are_read_when_they_are_asked_for(saved: Path) -> None:
    loaded = Tokenizer.from_file(saved)
    assert loaded.decode(loaded.encode("the thing")) == "the thing"
    vocabulary = loaded.description.vocabulary
    slots = [type(vocabulary).__dict__[name] for name in ("blob", "starts", "merges")]
    for slot in slots:
        with pytest.raises(AttributeError):
            slot.__get__(vocabulary)
    assert vocabulary == TRAINED and pickle.loads(pickle.dumps(Tokenizer.from_file(saved))).description.vocabulary == TRAINED
    assert [slot.__get__(vocabulary) for slot in slots] == [TRAINED.blob, TRAINED.starts, TRAINED.merges]
    for name in ("sizes", "_other"):
        with pytest.raises(AttributeError, match=f"'Vocabulary' object has no attribute '{name}'"):
            getattr(vocabulary, name)


def test_the_sum_is_the_same_in_pure_python() -> None:
    rng = random.Random(2)
    for size in (*range(70), 1000, 4096, 10_001):
        data = rng.randbytes(size)
        assert saving.pure_checksum(data) == native.checksum(data) == saving.checksum(memoryview(data))


def test_nothing_half_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tokenizer = Tokenizer(describe(TRAINED))
    path = tmp_path / "saved"
    path.write_bytes(b"what was there before")

    def fails(*_: object) -> None:
        raise OSError("the disk is full")

    for name in ("fsync", "replace"):
        with monkeypatch.context() as patch:
            patch.setattr(os, name, fails)
            with pytest.raises(OSError, match="the disk is full"):
                tokenizer.save(path)
        assert path.read_bytes() == b"what was there before"
        assert [entry.name for entry in tmp_path.iterdir()] == ["saved"]
    with pytest.raises(OSError):
        tokenizer.save(tmp_path / "no folder" / "saved")
    tokenizer.save(path)
    assert Tokenizer.from_file(path).encode("the") == [257]
    assert [entry.name for entry in tmp_path.iterdir()] == ["saved"]
    (tmp_path / "plain").touch()
    assert path.stat().st_mode == (tmp_path / "plain").stat().st_mode


@pytest.mark.parametrize("name", ["tokenizer.json", "mine.tiktoken", "mine.model"])
def test_names_of_files_for_others(name: str, tmp_path: Path) -> None:
    """It would take the place of a file that others read, by one that they do not."""
    (tmp_path / name).write_bytes(b"theirs")
    with pytest.raises(ValueError, match=rf"{name}: a name of files for others, .*writing\.write.*; .* name it NAME\.bitlex$"):
        Tokenizer(describe(TRAINED)).save(tmp_path / name)
    assert (tmp_path / name).read_bytes() == b"theirs"


def test_a_full_disk(tmp_path: Path) -> None:
    """The size of files is limited; the limit makes a write fail in the middle."""
    resource = pytest.importorskip("resource")
    script = (
        "import resource, signal, sys; sys.path.insert(0, 'tests'); signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "from bitlex.tokenizer import Tokenizer\nfrom small_vocabularies import *\nresource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))\n"
        "try: Tokenizer(describe(TRAINED)).save(sys.argv[1])\nexcept OSError as error: print(type(error).__name__)"
    )
    assert resource.RLIMIT_FSIZE >= 0
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path / "saved")], check=True, capture_output=True, text=True, cwd=Path(__file__).parent.parent)
    assert done.stdout == "OSError\n" and list(tmp_path.iterdir()) == []


def test_options_are_for_other_files(saved: Path) -> None:
    with pytest.raises(TypeError, match=r"^family= goes with other files: a saved tokenizer is complete$"):
        Tokenizer.from_file(saved, family="cl100k")
    with pytest.raises(VocabularyError):
        Tokenizer.from_tiktoken(saved)


def test_who_loads_it_shares_the_file(saved: Path) -> None:
    """The file may be replaced while it is in use, as save does."""
    copy = saved.parent / "copy"
    copy.write_bytes(saved.read_bytes())
    loaded = Tokenizer.from_file(copy)
    expected = pure(loaded).encode("the thing and 中", None, None, 1)
    Tokenizer(describe(Vocabulary.from_ranks(BYTES))).save(copy)
    assert loaded.encode("the thing and 中") == expected
    assert Tokenizer.from_file(copy).encode("the") == list(b"the")
