"""The benchmark of the drop-ins on a few lines: that it runs with what is installed, and notices what is not the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bench import __main__ as command
from bench import drop_ins
from bench.corpora import Text
from bench.tokens.vocabularies import vocabularies


@pytest.fixture(autouse=True)
def few_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BITLEX_DATA", raising=False)
    monkeypatch.setattr(drop_ins, "corpora", lambda folder, size: [Text("lines", "a line of words\nand another one\n\nthe last")])


def test_it_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"before\n{drop_ins.MARKERS[0]}\nold\n{drop_ins.MARKERS[1]}\nbehind\n", encoding="utf-8")
    assert command.main(["drop-ins", "--rounds", "1", "--page", str(page)]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("made_here, 3 lines of lines, ") and all(f"\n| {name} | " in printed for name in drop_ins.OF_TIKTOKEN)
    assert printed.strip() in page.read_text(encoding="utf-8") and "old" not in page.read_text(encoding="utf-8")


def test_of_tokenizers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (vocabulary,) = vocabularies(None, [], tmp_path, {})
    assert command.main(["drop-ins", "--rounds", "1", "--vocabulary", str(vocabulary.convert().path)]) == 0
    printed = capsys.readouterr().out
    assert all(f"\n| {name} | " in printed for name in drop_ins.OF_TOKENIZERS)


def test_what_is_not_the_same_is_noticed(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    class Package:
        def encode_batch(self, texts: list[str]) -> list[list[int]]:
            return [[1] for _ in texts]

        def decode_single_token_bytes(self, number: int) -> bytes:
            return b"a"

    calls: drop_ins.Calls = {"same": lambda one, given: given.tokens, "not the same": lambda one, given: id(one)}
    monkeypatch.setattr(drop_ins, "pair_of", lambda vocabulary: ("a package", Package(), Package(), calls))
    assert command.main(["drop-ins", "--rounds", "1"]) == 1
    found: Any = capsys.readouterr()
    assert "| not the same* |" in found.out and "WRONG: made_here: not the same" in found.err and "| same |" in found.out
