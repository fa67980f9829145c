"""The model of a tokenizer.json as the C extension reads it: what json and Python make of the same file, whatever is in it."""

from __future__ import annotations

import json
import os
import random
from dataclasses import fields as fields_of
from pathlib import Path
from typing import Any

import pytest

from bitlex.vocabularies import model, read
from bitlex.vocabularies.byte_alphabet import ALPHABET, to_bytes
from bitlex.vocabularies.model import parse_tokenizer
from bitlex.vocabulary import Description, VocabularyError
from test_random_tokenizers import drawn_file
from tokenizing import added, tokenizer_json

native: Any = pytest.importorskip("bitlex._native", reason="the C extension was not built")
DATA = os.environ.get("BITLEX_DATA", "")
TOKENS = ("\u0120t", "\u0120th", "\u00c3\u00a9", "##", "####", "\\\"", "th", "abc", "<|end|>", "a" * 255, "a" * 254)
MERGES = [["\u0120", "t"], ["\u0120t", "h"], ["\u00c3", "\u00a9"], ["#", "#"], ["##", "##"], ["\\", '"'], ["t", "h"], ["a" * 254, "a"]]


def outcome(data: bytes) -> Any:
    """All of the Description, or what is wrong."""
    try:
        found: Description = read(data, "file")
    except VocabularyError as error:
        return str(error)
    return {field.name: parts(getattr(found, field.name)) for field in fields_of(found)}


def parts(value: Any) -> Any:
    return [bytes(value.blob), bytes(value.starts), bytes(value.merges), value.whole] if hasattr(value, "blob") else value


def both(data: bytes, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The outcome, which is the same by either way."""
    found = outcome(data)
    with monkeypatch.context() as without:
        without.setattr(model, "read", lambda data: None)
        assert found == outcome(data), data
    return found


def is_read(data: bytes) -> bool:
    return parse_tokenizer(data, "file")[1] is not None


def example(**parts: Any) -> dict[str, Any]:
    one = tokenizer_json(TOKENS, MERGES, added_tokens=[added(264, "<|end|>"), added(267, "<|more|>", special=True)])
    one["model"].update(parts)
    return one


SPELLED: dict[str, dict[str, Any]] = {
    "as it is": {"ensure_ascii": False}, "escaped": {}, "indented": {"indent": 2, "ensure_ascii": False}, "tabs": {"indent": "\t"},
    "dense": {"separators": (",", ":")}, "wide": {"separators": (" \r\n, ", "\t : ")},
}  # fmt: skip


@pytest.mark.parametrize("name", SPELLED)
@pytest.mark.parametrize("merges", [MERGES, [" ".join(pair) for pair in MERGES], []], ids=["pairs", "lines", "none"])
def test_files_as_they_should_be(merges: Any, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    data = json.dumps(example(merges=merges), **SPELLED[name]).encode()
    assert is_read(data) and isinstance(both(data, monkeypatch), dict)
    assert is_read(b" \n" + data + b" \n") and both(b" \n" + data + b" \n", monkeypatch)["vocabulary"] == both(data, monkeypatch)["vocabulary"]


@pytest.mark.parametrize("seed", range(40))
def test_random_files(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    both(drawn_file(random.Random(seed))[0].encode(), monkeypatch)


def test_ids_in_any_order(monkeypatch: pytest.MonkeyPatch) -> None:
    one = example()
    names = list(one["model"]["vocab"])
    random.Random(1).shuffle(names)
    one["model"]["vocab"] = {name: number for number, name in enumerate(names)}
    one["added_tokens"] = []
    data = json.dumps(one).encode()
    assert is_read(data)
    found = both(data, monkeypatch)["vocabulary"]
    assert found[0] == b"".join(map(to_bytes, names))


def test_tokens_that_are_not_of_the_alphabet(monkeypatch: pytest.MonkeyPatch) -> None:
    one = example()
    for at, name in enumerate(("\u4e2d", "a b", "\u0144", "\x7f", "\n", "\U0001f642", "\u00a0", "<|more|>")):
        one["model"]["vocab"][name] = 267 + at
    one["added_tokens"] = [added(272, "\U0001f642"), added(274, "<|more|>")]
    for spelled in SPELLED.values():
        data = json.dumps(one, **spelled).encode()
        assert is_read(data) and isinstance(both(data, monkeypatch), dict)


def test_holes_among_ids(monkeypatch: pytest.MonkeyPatch) -> None:
    one = example()
    one["model"]["vocab"]["xyz"] = 1000
    one["added_tokens"] = [added(264, "<|end|>"), added(268, "<|more|>")]
    data = json.dumps(one).encode()
    known = parse_tokenizer(data, "file")[1]
    assert known is not None and isinstance(both(data, monkeypatch), dict)
    assert len(known.tokens) == 268 and set(known.tokens.values()) == {*range(267), 1000}
    one["added_tokens"] = [added(264, "<|end|>"), *(added(268 + at, f"<{at}>") for at in range(733))]
    assert "the id 1000, which another token has" in both(json.dumps(one).encode(), monkeypatch)


def test_names_of_tokens() -> None:
    data = json.dumps(example()).encode()
    known = parse_tokenizer(data, "file")[1]
    assert known is not None
    expected = json.loads(data)["model"]["vocab"]
    assert dict(known.tokens) == expected and len(known.tokens) == len(expected) and list(known.tokens.values()) == list(range(len(expected)))
    for name in (*expected, "<|more|>", "nothing", "", "\u4e2d", "a" * 1000):
        assert known.tokens.get(name) == expected.get(name) and (name in known.tokens) == (name in expected), name


CHANGES: list[tuple[str, str]] = [
    ('"a": ', '"a": 1, "a": '), ('"a": ', '"\\u0061": 1, "a": '), ('"merges": [', '"merges": [], "merges": ['), ('"vocab": ', '"vocab": {}, "vocab": '),
    ('"vocab": ', '"voc\\u0061b": {"x": 0}, "vocab": '), ('"model": ', '"model": {"vocab": {"a": 0}, "merges": []}, "model": '),
    ('"model": ', '"model": null, "model": '), ('"model": ', '"m\\u006fdel": {}, "model": '), ('"model": ', '"mode": {"vocab": [{"model": 1}]}, "model": '),
    ('"merges": ', '"merge": '), ('"b": ', '"b": 1e1, "bb": '), ('"b": ', '"b": 0'), ('"b": ', '"b": -'), ('"b": ', '"b": 10000000'), ('"b": ', '"b": 1.0, "bb": '),
    ('"b": ', '"b": true, "bb": '), ('"b": ', '"b": 2097152, "bb": '), ('"b": ', '"b": 2097151, "bb": '), ('"b": ', '"": 5000, "b": '), ('"b": ', '"b":, "bb": '), ('"b": ', '"b" '), ('"b": ', "b: "),
    ('"b": ', '"\\x": 5000, "b": '), ('"b": ', '"\\/\\b": 5000, "b": '), ('"b": ', '"\\u12": 5000, "b": '), ('"b": ', '"\\ud800": 5000, "b": '), ('"b": ', '"\t": 5000, "b": '), ('"b": ', '"\u4e2d": 5000, "\\u4e2d": 5001, "b": '),
    ('"b": ', '"\\ud83d\\ude42": 5000, "b": '), ('"b": ', '"\\u0144": 5000, "b": '), ('"b": ', '"b": 70, "c": 70, "d": '), ('["t", "h"]', '["t", "h"],'), ('["t", "h"]', '["t", "h"], '),
    ('["t", "h"]', '["t", "h"], ["t", "h"]'), ('["t", "h"]', '["t", "h"], "t h"'), ('["t", "h"]', '["t", "h", "x"]'), ('["t", "h"]', '["t"]'), ('["t", "h"]', '["t", 1]'),
    ('["t", "h"]', '["", "h"]'), ('["t", "h"]', '["t", ""]'), ('["t", "h"]', '["t", "zz"]'), ('["t", "h"]', '["t" "h"]'), ('["t", "h"]', "null"), ('["t", "h"]', '["t", "h"'),
    ('["t", "h"]', '["t", "\u4e2d"]'), ('["t", "h"]', '["t", "h"]]'), ('["t", "h"]', '{"t": "h"}'), ('"#"]', '"#"], "#version: 0.2"'), ('"merges": [', '"merges": ["#version: 0.2", '),
    ('["t", "h"]', '["t", "\\u0068"]'), ('["t", "h"]', '["t", "\\h"]'), ('["t", "h"]', f'["{"t" * 600}", "h"]'), ('"merges": [', '"merges": [,'), ('"vocab": {', '"vocab": {,'),
    ('"dropout": null', '"dropout": [1, "}", {"a": "]"}, 2]'), ('"dropout": null', '"dropout": "\\""'), ('"dropout": null', '"dropout": "\\\\"'), ('"dropout": null', '"dropout": nul'),
    ('"dropout": null', '"dropout": [}'), ('"dropout": null', '"dropout": 0.0'), ('"dropout": null', '"dropout": }'), ('"dropout": null', '"dropout" null'), ('"dropout": null', 'dropout: null'),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(CHANGES)))
def test_files_with_one_change(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    old, new = CHANGES[number]
    data = json.dumps(example(), ensure_ascii=False)
    assert old in data
    both(data.replace(old, new, 1).encode(), monkeypatch)
    lines = json.dumps(example(merges=[" ".join(pair) for pair in MERGES]), ensure_ascii=False)
    both(lines.replace(old, new, 1).encode(), monkeypatch)


LINES = ["t", "t h x", " th", "th ", "", " ", "t  h", "t \\u0020h", "t\\u0020h", "#version: 0.2", "#v h", "t \u4e2d", "t zz", "t\\th", "t h", "a" * 600 + " b", "\\u0074 h"]


@pytest.mark.parametrize("line", LINES, ids=ascii)
def test_lines_that_are_no_merges(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = json.dumps(example(merges=[" ".join(pair) for pair in MERGES[:5]]), ensure_ascii=False)
    both(lines.replace('"# #"', f'"# #", "{line}"').encode(), monkeypatch)
    both(lines.replace('"# #"', f'"{line}"').encode(), monkeypatch)


@pytest.mark.parametrize("seed", range(12))
def test_damaged_bytes(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bytes that are changed, left out or put in, and files that end early, near what the extension reads and elsewhere."""
    rng = random.Random(seed)
    for number in range(60):
        merges = MERGES if number % 2 else [" ".join(pair) for pair in MERGES]
        data = bytearray(json.dumps(example(merges=merges), ensure_ascii=number % 3 == 0).encode())
        for _ in range(rng.choice((1, 1, 2))):
            at = rng.choice((rng.randrange(len(data)), data.find(b'"merges"') + rng.randrange(200), data.find(b'"vocab"') + rng.randrange(60))) % len(data)
            kind = rng.randrange(4)
            if kind == 0:
                data[at] = rng.choice((*b'"\\{}[],: 0a\x00\xff\xe4', rng.randrange(256)))
            elif kind == 1:
                del data[at : at + rng.randrange(1, 4)]
            elif kind == 2:
                data[at:at] = rng.choice((b'"', b"\\", b"}", b"]", b",", b" ", b"\\u00", b'"x"', b"\xc3", b'": 1, "'))
            elif rng.random() < 0.2:
                del data[at:]
        both(bytes(data), monkeypatch)


def test_what_is_refused_of_arguments() -> None:
    for arguments in ((), (b"{}",), (b"{}", ALPHABET, 1)):
        with pytest.raises(TypeError, match="expected"):
            native.read_model(*arguments)
    for alphabet in ("abc", 5, None):
        with pytest.raises(TypeError, match="alphabet of 256"):
            native.read_model(b"{}", alphabet)
    with pytest.raises(TypeError):
        native.read_model("{}", ALPHABET)
    _, blob, starts, _, _, table, _ = native.read_model(json.dumps(example()).encode(), ALPHABET)
    assert native.find_tokens(blob, starts, table, ALPHABET, ["th", 5, "zz", "", "\u4e2d"]) == [262, -1, -1, -1, -1]
    full = bytes(len(table))
    for wrong in ((blob, starts, table[:-4]), (blob, starts, b""), (blob, starts, full), (blob[:-1], starts, table), (blob, starts[:-4], table), (blob, b"", table),
                  (blob, starts[4:] + starts[:4], table), (blob, b"\x05\0\0\0" + starts[4:], table)):  # fmt: skip
        with pytest.raises(ValueError, match="does not fit"):
            native.find_tokens(*wrong, ALPHABET, ["th"])
    assert native.find_tokens(b"a", bytes(4) + b"\1\0\0\0", bytes(4) + b"\xff" * 4, ALPHABET, ["a", "b"]) == [0, -1]


@pytest.mark.skipif(not DATA, reason="BITLEX_DATA names no folder with vocabularies")
@pytest.mark.parametrize("name", ["gpt2", "llama3", "qwen3", "deepseek_v3"])
def test_published_files(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    data = (Path(DATA) / f"vocab/{name}.tokenizer.json").read_bytes()
    assert is_read(data) and isinstance(both(data, monkeypatch), dict)
