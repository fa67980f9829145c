"""What holds for every text, looked for by hypothesis over all of Unicode and all bytes: pieces tile, offsets agree, tiers agree.

Unlike the tests over representatives, these draw any code point, and shrink what fails to something a person can read.
"""

from __future__ import annotations

from functools import cache
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from engines import arguments, fastest, load_scan
from generator import compile_family, compile_pattern, families
from generator.pack import pack
from oracle import Tokenizers

TILING = ("gpt2", "cl100k", "o200k", "kimi_k2", "deepseek_v3", "bloom", "laguna", "tiny_aya", "superbpe", "bytelevel_prefix")
DROPPING = ("clip",)
ONIGURUMA = tuple(name for name, known in families().items() if known.dialect == "oniguruma" and name != "falcon")

# Runs of kinds of characters that patterns care about, beside anything at all, lone surrogates included.
RUNS = st.lists(st.sampled_from(["a", "B", "é", "中", "ǅ", "\u0301", " ", "  ", "\n", "\r\n", "\t", "\u3000", "1", "²", "12345", "'", "'s", "'LL", "!", "…", "/", "😀"]))
TEXTS = st.one_of(st.text(), RUNS.map("".join), st.text(st.characters(codec="utf-8")))


def pure(name: str):
    return load_scan().Machine(**arguments(pack(compile_family(families()[name]))))


@cache
def sides(name: str):
    program = compile_family(families()[name])
    return fastest(program), Tokenizers(program.steps)


PURE = {name: pure(name) for name in (*TILING, *DROPPING)}


@pytest.mark.parametrize("name", TILING)
@settings(max_examples=100, deadline=None)
@given(text=TEXTS)
def test_pieces_tile_the_text(name, text):
    machine = PURE[name]
    pieces = machine.split(text)
    assert "".join(pieces) == text and all(pieces)
    assert machine.count(text) == len(pieces)
    assert [text[a:b] for a, b in machine.iterate(text)] == pieces


@pytest.mark.parametrize("name", DROPPING)
@settings(max_examples=100, deadline=None)
@given(text=TEXTS)
def test_pieces_stand_in_order_where_text_is_dropped(name, text):
    machine = PURE[name]
    spans = list(machine.iterate(text))
    assert all(start < end for start, end in spans) and all(a[1] <= b[0] for a, b in pairwise(spans))
    assert [text[a:b] for a, b in spans] == machine.split(text)


@pytest.mark.parametrize("name", [*TILING, *DROPPING])
@settings(max_examples=100, deadline=None)
@given(text=st.one_of(st.text(st.characters(codec="utf-8")), RUNS.map("".join)))
def test_bytes_are_split_where_their_text_is(name, text):
    machine = PURE[name]
    assert machine.split(text.encode()) == [piece.encode() for piece in machine.split(text)]


@pytest.mark.parametrize("name", [*TILING, *DROPPING])
@settings(max_examples=100, deadline=None)
@given(data=st.binary())
@example(data=b"\xe4\xb8 \xed\xa0\x80\xf0\x9f\x98'\xff")
def test_bytes_that_are_no_text_are_read_as_replacement_characters(name, data):
    machine = PURE[name]
    assert machine.count(data) == machine.count(data.decode("utf-8", "replace"))
    assert name in DROPPING or b"".join(machine.split(data)) == data


@pytest.mark.parametrize("name", ONIGURUMA)
@settings(max_examples=60, deadline=None)
@given(text=st.one_of(st.text(st.characters(codec="utf-8")), RUNS.map("".join)))
def test_families_split_as_tokenizers_does(name, text):
    engine, reference = sides(name)
    assert engine(text) == reference(text)


@settings(max_examples=200, deadline=None)
@given(first=st.text("ab \n"), second=st.text("ab \n"))
def test_where_a_lexer_forgets_texts_may_be_cut(first, second):
    """A pattern that looks neither ahead nor back splits two texts joined at a forced boundary as it splits each."""
    engine = fastest(compile_pattern(r"a+|b| |\n"))
    if first and second and (first[-1] != "a" or second[0] != "a"):
        joined = engine(first) + [(a + len(first), b + len(first)) for a, b in engine(second)]
        assert engine(first + second) == joined
