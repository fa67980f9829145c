"""docs/training.md, and what the README says of training, run as written."""

from __future__ import annotations

import doctest
import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent


def test_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (ROOT / "docs/training.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    shutil.copy(ROOT / "README.md", tmp_path)
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    run = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    for number, block in enumerate(blocks):
        test = doctest.DocTestParser().get_doctest(block, names, f"block {number}", "docs/training.md", None)
        run.run(test, clear_globs=False)
        names = test.globs
    assert run.summarize(verbose=False) == (0, run.tries) and run.tries > 30
    assert {"mine.model", "mine.vocab", "mine.bitlex", "mine.tiktoken", "tokenizer.json"} <= set(os.listdir())


def test_the_readme_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    (block,) = [block for block in re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE) if "bitlex.train(" in block]
    shutil.copy(ROOT / "README.md", tmp_path)
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(block, names)
    assert names["tokenizer"].vocabulary_size == 260
