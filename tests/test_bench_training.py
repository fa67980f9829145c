"""The benchmark of trainers on a small text: that it runs with what is installed, and notices other tokens."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import __main__ as command
from bench.training import command as training


def test_it_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = tmp_path / "text.txt"
    text.write_text((Path(__file__).resolve().parent.parent / "README.md").read_text(encoding="utf-8"), encoding="utf-8")
    assert command.main(["training", str(text), "--size", "290", "--rounds", "1"]) == 0
    printed = capsys.readouterr().out
    assert all(f"| {name} |" in printed or name in printed.split("not installed")[1] for name in training.TRAINERS)


def test_other_tokens_are_noticed(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    text = tmp_path / "text.txt"
    text.write_text("x", encoding="utf-8")

    def wrong(name: str, options: object) -> dict[str, float | str]:
        return {"seconds": 1.0, "before": 1, "memory": 2, "digest": name}

    monkeypatch.setattr(training, "run", wrong)
    assert command.main(["training", str(text), "--trainer", "bitlex rustbpe", "--trainer", "rustbpe"]) == 1
    assert "DIFFERENT TOKENS: bitlex huggingface" not in (printed := capsys.readouterr().out) and "DIFFERENT TOKENS" in printed
