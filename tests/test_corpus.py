"""Real text: our fastest engine and the reference engines on the beginning of each file of a folder of corpora, for every family.

BITLEX_DATA names the folder (its `corpora` are read); without it there is nothing to do. BITLEX_CORPUS is how many characters of each
file are read, by default 60,000.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from engines import fastest
from generator import compile_family, families
from oracle import Tokenizers, tiktoken_agrees

DATA = os.environ.get("BITLEX_DATA", "")
LENGTH = int(os.environ.get("BITLEX_CORPUS", "60000"))
pytestmark = pytest.mark.skipif(not DATA, reason="BITLEX_DATA names no folder with corpora")


@cache
def corpora() -> dict[str, str]:
    found = {}
    for path in sorted((Path(DATA) / "corpora").iterdir()):
        with open(path, encoding="utf-8", newline="") as file:
            found[path.name] = file.read(LENGTH)
    assert found, f"no files in {DATA}/corpora"
    return found


@pytest.mark.parametrize("name", list(families()))
def test_the_beginning_of_every_corpus(name: str) -> None:
    program = compile_family(families()[name])
    engine = fastest(program)
    reference: Any = Tokenizers(program.steps) if program.dialect == "oniguruma" else None
    for file, text in corpora().items():
        spans = engine(text)
        if reference is not None:
            assert spans == reference(text), file
            continue
        pieces = [text[a:b] for a, b in spans]
        wrong = tiktoken_agrees(program.plans[0].pattern, text, pieces)
        assert wrong is None, (file, pieces[wrong - 2 : wrong + 3])
