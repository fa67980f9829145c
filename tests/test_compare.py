"""Whether two lexers split every text alike: the answer, and that a witness is a shortest one."""

from __future__ import annotations

import itertools

import pytest

import bitlex
from bitlex.cli import main

OLD_GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"


def test_the_texts_of_gpt2_are_one_lexer():
    assert bitlex.same("gpt2", OLD_GPT2)
    assert bitlex.same("r50k_base", bitlex.lexer("bytelevel"))


def test_the_texts_of_cl100k_are_two():
    found = bitlex.difference("cl100k", "llama3")
    assert found is not None and not bitlex.same("cl100k", "llama3")
    assert (found.text, found.first, found.second) == ("\n ", ["\n "], ["\n", " "])


@pytest.mark.parametrize(
    ("a", "b", "text"),
    [
        (r"'(?i:s)|.", r"'[sS]|.", "'\u017f"),  # simple case folding
        (r"a++b|a|b", r"a+b|a|b", None),  # possessive where nothing is given back
        (r"a*+ab|a|b", r"a*ab|a|b", "ab"),  # and where something is
        (r"a|ab|b", r"ab|a|b", "ab"),  # the order of alternatives
        (r"\s+|\S", r"[^\S\x85]+|\S", "\x85 "),
        (r"\p{N}{1,3}", r"\p{N}{1,2}|\p{N}{3}", "000"),
        (r"(?:a|b)+|c", r"[ab]+|c", None),
    ],
)
def test_small_patterns(a, b, text):
    found = bitlex.difference(a, b)
    assert (None if found is None else found.text) == text or (found is not None and text is not None and len(found.text) == len(text))
    if found is not None:
        assert found.first != found.second
        one, two = bitlex.compile(a), bitlex.compile(b)
        characters = sorted({*found.text, *"ab0 '"})
        for length in range(len(found.text)):  # nothing shorter differs
            for shorter in map("".join, itertools.product(characters, repeat=length)):
                assert one.split(shorter) == two.split(shorter)


def test_unicode_versions_differ():
    old, new = bitlex.compile(r"\p{L}+|.", unicode="15.0"), bitlex.compile(r"\p{L}+|.", unicode="16.0")
    found = bitlex.difference(old, new)
    assert found is not None and old.split(found.text) != new.split(found.text)


def test_what_cannot_be_compared_says_so():
    with pytest.raises(ValueError, match="cascade or a bytewise"):
        bitlex.difference("falcon", "gpt2")


def test_command(capsys):
    assert main(["same", "gpt2", "bytelevel"]) == 0
    assert main(["same", "cl100k", "llama3"]) == 1
    said = capsys.readouterr()
    assert "different, first on '\\n '" in said.out and said.err == ""
    for misspelled, note in (
        ("lama3", "no family 'lama3'; did you mean llama3"), ("LLaMA3", "the family is spelled llama3\n"),
        ("glm-5", "no family 'glm-5'; did you mean glm5"),
    ):  # fmt: skip
        assert main(["same", misspelled, "cl100k"]) == main(["same", "cl100k_base", misspelled]) == 1
        assert capsys.readouterr().err.count(f"bitlex: {misspelled!r} is read as a pattern: {note}") == 2
    assert main(["same", "lama", "lama"]) == 0 and main(["same", "cl100k", "a|b"]) == 1
    assert capsys.readouterr().err == ""
    for wrong in (["(", "cl100k"], ["cl100k", "a{100000}"]):
        assert main(["same", *wrong]) == 2
        assert capsys.readouterr().err.startswith("bitlex: ")


def test_prove_command(capsys):
    pytest.importorskip("interegular", reason="interegular is not installed: no second derivation")
    assert main(["prove", "gpt2"]) == 0
    assert capsys.readouterr().out.count("proved") == 2
    assert main(["prove"]) == 1
    assert main(["prove", "--pattern", r"a+?b|[^b]"]) == 0
