"""What training leaves on the disk: files that others read, checkpoints that a killed training goes on from, the tutorial's tokenizer."""

from __future__ import annotations

import base64
import gzip
import json
import os
import random
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import tiktoken
import tiktoken.load
import tokenizers

import bitlex
from bitlex.cli import main
from bitlex.training import checkpoint
from bitlex.training.counting import claimed
from bitlex.training.cutting import cutting, for_minbpe
from bitlex.training.plots import compression_by_size
from bitlex.training.progress import Display, Progress
from bitlex.training.report import report
from bitlex.training.rules import rule_of
from bitlex.training.source import batches, origin_of
from bitlex.vocabularies import load
from bitlex.vocabularies.ranks import merges_by_rank
from bitlex.vocabularies.writing import contents, write
from interrupting import pressed, signal_after
from tokenizing import BYTE_LEVEL, added, tokenizer_json

HERE = Path(__file__).resolve().parent
PROSE = "\n".join((HERE.parent / name).read_text(encoding="utf-8") for name in ("README.md", "docs/lanes.md", "tests/test_lexer.py"))
HARD = ["", " ", "aaa   bbb\n\n", "it's the 12345 \u4e2d\u6587 caf\u00e9 \U0001f600", PROSE[:5000], "<|end|>x<|end|>", "\u0120\u00ff \x00"]


def trained(rule: str = "minbpe", size: int = 700, **options: Any) -> bitlex.Tokenizer:
    return bitlex.train(PROSE, size, tie_break=rule, special_tokens=["<|end|>"], **options)  # type: ignore[arg-type]


def rank_file(*tokens: bytes) -> bytes:
    """The 256 bytes and these."""
    listed = enumerate([*(bytes([byte]) for byte in range(256)), *tokens])
    return b"".join(base64.b64encode(token) + b" %d\n" % rank for rank, token in listed)


# --- files --------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", ["minbpe", "rustbpe", "huggingface"])
def test_tokenizer_json(rule: str, tmp_path: Path) -> None:
    ours = trained(rule)
    write(ours.description, tmp_path / "tokenizer.json")
    theirs = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    again = bitlex.Tokenizer.from_file(tmp_path / "tokenizer.json")
    assert theirs.get_vocab_size() == ours.vocabulary_size == again.vocabulary_size
    for text in HARD:
        expected = ours.encode(text, allowed_special="all")
        assert theirs.encode(text).ids == expected == again.encode(text)
        assert theirs.decode(expected, skip_special_tokens=False) == text


@pytest.mark.parametrize("rule", ["minbpe", "huggingface"])
def test_tiktoken(rule: str, tmp_path: Path) -> None:
    ours = trained(rule, pattern=bitlex.compile(bitlex.lexer("gpt2").pattern))
    write(ours.description, tmp_path / "mine.tiktoken")
    theirs = tiktoken.Encoding(
        "mine", pat_str=ours.lexer.pattern, mergeable_ranks=tiktoken.load.load_tiktoken_bpe(str(tmp_path / "mine.tiktoken")), special_tokens=dict(ours.special_tokens)
    )
    again = bitlex.Tokenizer.from_file(tmp_path / "mine.tiktoken", family="gpt2", special=dict(ours.special_tokens))
    for text in HARD:
        assert theirs.encode(text, allowed_special="all") == ours.encode(text, allowed_special="all") == again.encode(text, allowed_special="all")


def test_model_of_minbpe(tmp_path: Path) -> None:
    ours = trained(pattern=r"\w+|\W")
    write(ours.description, tmp_path / "mine.model")
    again = bitlex.Tokenizer.from_file(tmp_path / "mine.model")
    lines = (tmp_path / "mine.model").read_text().splitlines()
    assert lines[:4] == ["minbpe v1", r"\w+|\W", "1", "<|end|> 699"] and len(lines) == 4 + 699 - 256
    assert "[t][h] -> [th]" in (tmp_path / "mine.vocab").read_text()
    for text in HARD:
        assert again.encode(text, allowed_special="all") == ours.encode(text, allowed_special="all")


def test_a_vocabulary_of_ranks_as_merges(tmp_path: Path) -> None:
    ours = trained()
    write(ours.description, tmp_path / "mine.tiktoken")
    ranks = load(tmp_path / "mine.tiktoken", family="gpt2")
    assert merges_by_rank(ranks.vocabulary) == ours.description.vocabulary.merges
    write(ranks, tmp_path / "tokenizer.json")
    theirs = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    for text in HARD:
        assert theirs.encode(text).ids == ours.encode_ordinary(text)


def test_what_a_file_cannot_say_is_refused(tmp_path: Path) -> None:
    def refused(tokenizer: bitlex.Tokenizer, name: str) -> str:
        with pytest.raises(bitlex.VocabularyError) as raised:
            write(tokenizer.description, tmp_path / name)
        assert not list(tmp_path.iterdir())
        return str(raised.value)

    assert "oniguruma" in refused(bitlex.train("", 256, pattern="cl100k"), "tokenizer.json")
    assert "'0" in refused(bitlex.train("", 256, pattern="gpt2"), "mine.model")
    assert "white space" in refused(bitlex.train("", 257, pattern=r"\w+", special_tokens=["a b"]), "mine.model")
    assert "one regular expression" in refused(bitlex.train("", 256, pattern="deepseek_v3"), "mine.model")
    assert "first 256" in refused(bitlex.train("ab", 257, tie_break="huggingface", pattern=r"\w+"), "mine.model")
    backwards = bitlex.vocabularies.Vocabulary.from_merges([b"a", b"b", b"c", b"ab", b"bc"], [(b"b", b"c"), (b"a", b"b")])
    from dataclasses import replace

    description = replace(bitlex.train("", 256).description, vocabulary=backwards)
    with pytest.raises(bitlex.VocabularyError, match="merge 0"):
        contents(description, "x.tiktoken", "tiktoken")
    with pytest.raises(ValueError, match="say what to write"):
        write(description, tmp_path / "x.unknown")


# --- arguments and sources ----------------------------------------------------------------------------------------------------


def test_sources(tmp_path: Path) -> None:
    lines = PROSE.split("\n")
    (tmp_path / "a.txt").write_text(PROSE, encoding="utf-8")
    with gzip.open(tmp_path / "b.jsonl.gz", "wt", encoding="utf-8") as file:
        file.writelines(json.dumps({"page": {"text": line}}) + "\n" for line in lines)
    digest = bitlex.train(PROSE, 600).description.digest
    assert bitlex.train(PROSE.encode(), 600).description.digest == digest
    assert bitlex.train(tmp_path / "a.txt", 600).description.digest == digest
    assert bitlex.train([tmp_path / "a*.txt"], 600).description.digest == digest
    assert bitlex.train(iter([PROSE]), 600).description.digest == digest
    each = bitlex.train(lines, 600).description.digest
    assert bitlex.train(tmp_path / "b.jsonl.gz", 600, field="page.text").description.digest == each
    assert bitlex.train([tmp_path / "b.jsonl.gz"], 600, field="page.text", threads=3).description.digest == each
    with pytest.raises(ValueError, match="line 1"):
        bitlex.train(tmp_path / "b.jsonl.gz", 600)
    for wrong in (3, [3]):
        with pytest.raises(TypeError, match="expected"):
            bitlex.train(wrong, 600)


def test_batches(tmp_path: Path) -> None:
    """Texts keep their order, in batches of some thousand, or of some megabytes, with files among them."""
    chance = random.Random(92)
    (tmp_path / "a.txt").write_text("of a file", encoding="utf-8")
    for size, count, path in ((1, 4096, 0), (1, 4097, 0), (2, 10_000, 1), (3 << 20, 5, 5), (4 << 20, 2, 2), (4 << 20, 2, 1)):
        texts: list[Any] = [chr(0x61 + chance.randrange(26)) * size for _ in range(count)]
        found = list(batches(iter([*texts[:path], tmp_path / "a.txt", *texts[path:]])))
        assert [bytes(text).decode() if isinstance(text, memoryview) else text for one in found for text in one.texts] == [*texts[:path], "of a file", *texts[path:]]
        assert all(len(one.texts) <= 4096 and sum(map(len, one.texts[:-1])) < 4 << 20 for one in found)
        (tmp_path / "texts.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts), encoding="utf-8")
        found = list(batches(tmp_path / "texts.jsonl"))
        assert [text if isinstance(text, str) else bytes(text).decode() for one in found for text in one.texts] == texts
        assert all(len(one.texts) <= 4096 and sum(map(len, one.texts[:-1])) < 4 << 20 for one in found)
        assert len(found) == {4096: 1, 4097: 2, 10_000: 3, 5: 3, 2: 2}[count]


def test_what_a_tokenizer_says_of_its_lexer() -> None:
    """All that a tokenizer.json has to say, also where it is nothing special; the dialect and the Unicode of a Lexer, where that is given."""
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    for split in (
        {"type": "Split", "pattern": {"Regex": "a+"}, "behavior": "MergedWithNext", "invert": True},
        {"type": "Split", "pattern": {"String": ".+"}, "behavior": "Isolated", "invert": False}, {"type": "Digits", "individual_digits": True},
        {"type": "Digits", "individual_digits": False}, {"type": "Punctuation", "behavior": "Contiguous"}, {"type": "Punctuation", "behavior": "Isolated"},
        {"type": "WhitespaceSplit"}, level, level | {"add_prefix_space": True}, {"type": "Sequence", "pretokenizers": [{"type": "Whitespace"}, level]},
    ):  # fmt: skip
        assert bitlex.train("", 256, pattern=bitlex.compile(split)).description.pre_tokenizer == split
    rule: Any
    for rule, dialect, version in (("minbpe", "python", "18.0"), ("rustbpe", "fancy", "16.0"), ("huggingface", "oniguruma", "16.0")):
        about = bitlex.train("a", 256, pattern=r"\w+|\W", tie_break=rule).description
        assert (about.dialect, about.unicode, about.family) == (dialect, version, None)
        cut_by = cutting(r"\w+|\W", rule_of(rule)).lexer  # as the tokenizer says that it cuts
        assert (cut_by.dialect, cut_by.unicode) == (dialect, version)
        about = bitlex.train("a", 256, pattern=bitlex.compile(r"\w+|\W", dialect="python", unicode="15.0"), tie_break=rule).description
        assert (about.dialect, about.unicode, about.family) == ("python", "15.0", None)
        for name, family in (("CL100K-base", "cl100k"), ("qwen2.5", "qwen2")):
            assert bitlex.train("a", 256, pattern=name, tie_break=rule).description.family == family
        assert bitlex.train("a", 256, pattern=bitlex.compile(None), tie_break=rule).description.pre_tokenizer is None
        nothing = bitlex.train("a", 256, pattern="", tie_break=rule)
        assert nothing.lexer.split("a b") == ["a b"] and nothing.description.pre_tokenizer is None
        assert bitlex.train("a", 256, tie_break=rule).description.family == "gpt2"
    with pytest.raises(TypeError, match=r"^pattern: expected a str, a Lexer or None, got int$"):
        bitlex.train("a", 256, pattern=3)  # type: ignore[arg-type]


def test_a_family_as_minbpe_would_read_it() -> None:
    """Its regular expression, if it is one; what is none of these is as it was given, and refused when it is written."""
    made = for_minbpe("CL100K-base")
    assert isinstance(made, bitlex.Lexer) and (made.dialect, made.unicode) == ("python", "18.0")
    assert made.steps[0]["regex"] == bitlex.lexer("cl100k").pattern and made.split("it's 12345\n") == ["it", "'s", " ", "123", "45", "\n"]
    for other in ("deepseek_v3", "bytelevel", "falcon", r"\w+", "cl100"):
        assert for_minbpe(other) == other


def test_files_that_can_be_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only of those can a checkpoint say where counting goes on. Standard input is none, also where there is a file of its name."""
    monkeypatch.chdir(tmp_path)
    for name in ("a1.txt", "a2.txt", "-"):
        Path(name).write_text("text", encoding="utf-8")
        os.utime(name, ns=(3 * 10**9, 3 * 10**9))
    expected = {"files": [("a1.txt", 4, 3 * 10**9), ("a2.txt", 4, 3 * 10**9)], "input": "lines", "field": "page"}
    assert origin_of([Path("a*.txt")], "lines", "page") == origin_of((Path("a1.txt"), Path("a2.txt")), "lines", "page") == expected
    others: list[Any] = ["text", [], [Path("a1.txt"), "text"], iter([Path("a1.txt")]), Path("-"), tmp_path, Path("none")]
    if hasattr(os, "mkfifo"):
        os.mkfifo("pipe")
        others.append([Path("a1.txt"), Path("pipe")])
    assert [origin_of(one, None, "text") for one in others] == [None] * len(others)
    os.unlink("-")
    bitlex.train(Path("a1.txt"), 257, checkpoint="-")
    done = subprocess.run(
        [sys.executable, "-m", "bitlex", "train", "-", "--vocab-size", "257", "-o", "b.json", "--quiet"], input=b"zz", capture_output=True, check=True
    )
    assert done.stderr == b"" and bitlex.Tokenizer.from_file("b.json").token_bytes(256) == b"zz"


def test_a_large_file_is_mapped(tmp_path: Path) -> None:
    """And its pages are let go while it is read: what comes out is the same."""
    text = (PROSE * (3 * 2**20 // len(PROSE))).encode()
    (tmp_path / "a.txt").write_bytes(text)
    assert bitlex.train(tmp_path / "a.txt", 600, threads=2).description.digest == bitlex.train(text, 600).description.digest
    assert (tmp_path / "a.txt").read_bytes() == text


def test_arguments() -> None:
    for options, message in (
        ({"tie_break": "other"}, "tie_break is 'other'"), ({"initial_alphabet": b"a"}, "go with tie_break"), ({"threads": -1}, "threads is -1"),
        ({"special_tokens": ["a", "a"]}, "not distinct"), ({"special_tokens": [""]}, "empty"), ({"pattern": "(a"}, "not closed"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            bitlex.train("text", 300, **options)  # type: ignore[arg-type]
    for wrong in ("<s>", [5]):
        with pytest.raises(TypeError, match=r"^special_tokens is .*; it may be a list of str$"):
            bitlex.train("text", 300, special_tokens=wrong)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"^threads is None; it may be 0"):
        bitlex.train("text", 300, threads=None)  # type: ignore[arg-type]
    unread = iter(["text"])
    with pytest.raises(ValueError, match="alone are 257"):
        bitlex.train(unread, 256, special_tokens=["<s>"], tie_break="huggingface")
    with pytest.raises(TypeError, match=r"^min_frequency is None; it may be an int$"):
        bitlex.train(unread, 300, min_frequency=None)  # type: ignore[arg-type]
    assert next(unread) == "text"  # nothing is read for what cannot be
    with pytest.raises(bitlex.VocabularyError, match="also learned"):
        bitlex.train("ab ab", 300, special_tokens=["ab"])
    with pytest.warns(UserWarning, match="^vocab_size is 300, and 258 ids were learned: no pair is left") as noted:
        assert bitlex.train("ab ab", 300).vocabulary_size == 256 + 2
    assert noted[0].filename == __file__


def test_of_bytes_that_are_as_frequent_the_least_are_tokens() -> None:
    """Whichever is met first."""
    made = bitlex.train("dbca bad", 4, tie_break="huggingface", initial_alphabet=b"c", limit_alphabet=3)
    assert made.description.vocabulary.tokens()[:3] == [b"a", b"b", b"c"]


@pytest.mark.parametrize(("option", "ids"), [("min_frequency", 256), ("max_token_length", 258)])
@pytest.mark.filterwarnings("ignore:vocab_size is")
def test_numbers_of_more_bits_than_there_are(option: str, ids: int) -> None:
    """Such are as large as a number may be, and not what is left of them."""
    for bits in (32, 64):
        assert bitlex.train("ab ab" * 3, 258, **{option: (1 << bits) + 1}).vocabulary_size == ids  # type: ignore[arg-type]


def test_text_that_a_pattern_leaves_unmatched() -> None:
    """Is a piece where BpeTrainer learns from it, behind a Split that isolates; minbpe and rustbpe drop it."""
    for rule, pieces in (("minbpe", ["aa", "aa"]), ("rustbpe", ["aa", "aa"]), ("huggingface", ["aa", "bb", "aa"])):
        assert trained(rule, 257, pattern="a+").lexer.split("aabbaa") == pieces


@pytest.mark.filterwarnings("ignore:vocab_size is")
def test_pieces_between_strings(tmp_path: Path) -> None:
    lexer = bitlex.compile({"type": "Split", "pattern": {"String": ".+"}, "behavior": "MergedWithPrevious", "invert": False})
    made = bitlex.train("ab.+ab.ab" * 5, 300, pattern=lexer, tie_break="huggingface")
    assert b"ab.ab" in made.description.vocabulary.tokens() and made.description.vocabulary.tokens()[-1] == b"ab.abab.+"
    write(made.description, tmp_path / "tokenizer.json")
    theirs = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    assert theirs.encode("ab.+ab.abab.+.+").ids == made.encode("ab.+ab.abab.+.+")


def test_extending(tmp_path: Path) -> None:
    """All ids stay; what is learned is what training would go on with."""
    small, whole = trained(size=400), trained(size=500)
    more = bitlex.train(PROSE, 500, extend=small)
    assert more.description.vocabulary.tokens()[:399] == small.description.vocabulary.tokens()
    assert more.special_tokens == {"<|end|>": 399} and more.vocabulary_size == 500
    assert more.description.vocabulary.tokens()[400:] == whole.description.vocabulary.tokens()[399:499]
    assert more.decode(more.encode_ordinary(PROSE)) == PROSE
    write(small.description, tmp_path / "small.tiktoken")
    ranks = bitlex.Tokenizer.from_file(tmp_path / "small.tiktoken", family="gpt2", special={"<|end|>": 399})
    assert bitlex.train(PROSE, 500, extend=ranks).description.vocabulary.tokens() == more.description.vocabulary.tokens()
    with pytest.raises(TypeError, match="extend is 'cl100k'; it may be a Tokenizer"):
        bitlex.train("text", 300, extend="cl100k")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="pattern goes without extend"):
        bitlex.train(PROSE, 500, extend=ranks, pattern="gpt2")
    assert bitlex.train(PROSE, 401, extend=small, special_tokens=["<|go|>"]).special_tokens == {"<|end|>": 399, "<|go|>": 400}
    cases: list[Any] = [(small, 300, [], 400), (small, 400, ["<|end|>"], 400), (small, 401, ["<|go|>", "<|on|>"], 402), (bitlex.train("", 256), 256, [], 256)]
    for base, size, special, alone in cases:
        with pytest.raises(ValueError, match=f"^vocab_size is {size}; what is extended and new special tokens alone are {alone}$"):
            bitlex.train(PROSE, size, extend=base, special_tokens=special)


def test_extending_keeps_all_that_is_not_learned(tmp_path: Path) -> None:
    """NFC, what added tokens are, and what is put around texts; the text is cut as it will be."""
    fields = tokenizer_json(
        ("ab",), [["a", "b"]], normalizer={"type": "NFC"}, pre_tokenizer=BYTE_LEVEL,
        added_tokens=[added(257, "<s>"), added(258, "think", special=False, lstrip=True)],
        post_processor={
            "type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
            "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "<s>", "type_id": 1}}, {"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": {"<s>": {"id": "<s>", "ids": [257], "tokens": ["<s>"]}},
        },
    )  # fmt: skip
    (tmp_path / "tokenizer.json").write_text(json.dumps(fields))
    base = bitlex.Tokenizer.from_file(tmp_path / "tokenizer.json")
    text = "cafe\u0301 cafe\u0301 think ab"
    (tmp_path / "text.txt").write_text(text * 300_000, encoding="utf-8")  # which is mapped
    for source in (text * 3, [text] * 3, ["ab", text, text, text], tmp_path / "text.txt"):
        told: list[Progress] = []
        more = bitlex.train(source, 264, extend=base, special_tokens=["<new>"], checkpoint=tmp_path / "checkpoint", progress=told.append)
        assert [(one.done, one.total) for one in told if one.phase == "counting"][-1] == ((told[0].total,) * 2)
        assert "caf\u00e9".encode() in more.description.vocabulary.tokens()
        assert more.special_tokens == {**base.special_tokens, "<new>": 263}
        for kept in ("normalizer", "convention", "single", "pair", "pre_tokenizer", "prefix_space", "format"):
            assert getattr(more.description, kept) == getattr(base.description, kept), kept
        assert more.description.added[:2] == base.description.added
        assert more.encode(f"x  think{text}<new>")[-1] == 263 and more.encode("x  think") == base.encode("x  think")
    write(more.description, tmp_path / "more.json")
    theirs, ours = tokenizers.Tokenizer.from_file(str(tmp_path / "more.json")), bitlex.Tokenizer.from_file(tmp_path / "more.json")
    assert theirs.encode(text, "ab").ids == [*more.encode(text), 257, *more.encode("ab")]
    assert theirs.encode(text).ids == [257, *ours.encode(text)] and ours.description.pair == base.description.pair
    with pytest.raises(ValueError, match="initial_alphabet and limit_alphabet go without extend"):
        bitlex.train(text, 300, extend=base, tie_break="huggingface", limit_alphabet=9)


@pytest.mark.parametrize("tier", ["", "pure"])
@pytest.mark.filterwarnings("ignore:vocab_size is")
def test_extending_what_merging_does_not_come_to(tier: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Such a token keeps its id, and no other one gets its bytes; what is made also goes on from a checkpoint, and is read by tokenizers."""
    monkeypatch.setenv("BITLEX_TIER", tier)
    (tmp_path / "tokenizer.json").write_text(json.dumps(tokenizer_json(("xy", "hello"), [], pre_tokenizer=BYTE_LEVEL)))
    base = bitlex.Tokenizer.from_file(tmp_path / "tokenizer.json")
    text = "xyxyxy xy xhello yhello hello zxy" * 9
    whole = bitlex.train(text, 272, extend=base)

    def stop(now: Progress) -> None:
        if now.phase == "merging":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        bitlex.train(text, 262, extend=base, checkpoint=tmp_path / "kept", progress=stop)
    assert len(checkpoint.read(tmp_path / "kept").merge_counts) // 8 == 262 - 258
    again = bitlex.train(text, 272, extend=base, checkpoint=tmp_path / "kept", resume=True)
    assert again.description.vocabulary == whole.description.vocabulary
    for made in (whole, bitlex.train(text, 300, extend=base)):
        made.description.vocabulary.check()
        assert made.token_bytes(256) == b"xy" and made.vocabulary_size > 262 and made.decode(made.encode(text)) == text
        write(made.description, tmp_path / "more.json")
        assert tokenizers.Tokenizer.from_file(str(tmp_path / "more.json")).encode(text).ids == list(made.encode(text))
    ranks = rank_file(b"hello")
    base = bitlex.Tokenizer.from_bytes(ranks, pattern="[a-z]+|[^a-z]+", special={"<|end|>": 257})
    made = bitlex.train("xhello yhello " * 9, 270, extend=base)
    made.description.vocabulary.check()
    assert made.encode("hello") == [256] and made.decode(made.encode("xhello yhello")) == "xhello yhello"
    with pytest.raises(bitlex.VocabularyError, match="a rank file has no other merges"):  # in which hell and o would be hello
        write(made.description, tmp_path / "more.tiktoken")


def test_added_tokens_that_are_tokens_of_the_vocabulary(tmp_path: Path) -> None:
    """As runs of spaces are in files; a special token is refused before a text is read, if it can be."""
    there = [added(257, "  ", normalized=True), added(258, "xyx", special=True)]
    fields = tokenizer_json(("\u0120\u0120",), [["\u0120", "\u0120"]], added_tokens=there)
    (tmp_path / "tokenizer.json").write_text(json.dumps(fields))
    base = bitlex.Tokenizer.from_file(tmp_path / "tokenizer.json")
    more = bitlex.train("xyzyxy zy" * 3, 262, extend=base)
    assert more.description.added == base.description.added and more.vocabulary_size == 262
    assert bitlex.train("xyzyxy zy" * 3, 262, extend=base, special_tokens=["  "]).description.digest == more.description.digest
    write(more.description, tmp_path / "more.json")
    assert tokenizers.Tokenizer.from_file(str(tmp_path / "more.json")).encode("xyz  zy").ids == list(more.encode("xyz  zy"))

    for options, message in (
        ({"extend": base, "special_tokens": ["a"]}, "^special token 'a' is token 64, whatever is learned; choose another name$"),
        ({"special_tokens": ["a"]}, "^special token 'a' is token 97, whatever is learned; choose another name$"),
        # 0xB6 in the byte alphabet, of which BpeTrainer and tokenizer.json make one token
        ({"special_tokens": ["\u00b6"], "tie_break": "huggingface"}, "^special token '\u00b6' is token 115, whatever is learned; choose another name$"),
    ):
        with pytest.raises(bitlex.VocabularyError, match=message):
            bitlex.train(map(pytest.fail, ["a text is read"]), 300, **options)
    with pytest.raises(bitlex.VocabularyError, match=r"^special token 'xyx' was also learned from the text, as token 26[0-9]; choose another name$"):
        bitlex.train("xyx xyx", 261, extend=base)
    with pytest.raises(bitlex.VocabularyError, match=r"^special token '\u0120x' was also learned from the text, as token 257; choose another name$"):
        bitlex.train(" x x", 258, special_tokens=["\u0120x"], tie_break="huggingface")
    assert bitlex.train("", 258, special_tokens=["\u00b6", "\u0120x"]).special_tokens == {"\u00b6": 256, "\u0120x": 257}


def test_a_special_token_that_is_learned_leaves_a_checkpoint(tmp_path: Path) -> None:
    kept, text = tmp_path / "kept", "о, ко, то " * 3
    with pytest.raises(bitlex.VocabularyError) as caught:
        bitlex.train(text, 260, special_tokens=["о"], checkpoint=kept)
    learned = "special token 'о' was also learned from the text, as token 256; choose another name"
    assert str(caught.value) == f"{learned}, or go on with a smaller vocab_size from {kept}, which has what was counted"
    assert bitlex.train("", 257, special_tokens=["о"], checkpoint=kept, resume=True).special_tokens == {"о": 256}


def test_extending_ranks_in_another_order(tmp_path: Path) -> None:
    """A token may be made of one of a higher rank."""
    ranks = rank_file(b"xyz", b"xy")
    base = bitlex.Tokenizer.from_bytes(ranks, pattern="[a-z]+|[^a-z]+", special={})
    assert base.encode("axyz") == [97, 256]
    more = bitlex.train("ab", 259, extend=base)
    assert more.encode("axyz") == [97, 256] and more.encode("ab") == [258]
    write(more.description, tmp_path / "more.json")
    assert tokenizers.Tokenizer.from_file(str(tmp_path / "more.json")).encode("axyz").ids == [97, 256]
    write(more.description, tmp_path / "more.tiktoken")
    fields = tokenizer_json(("xyz", "xy"), [["x", "y"]], model={"ignore_merges": True})
    (tmp_path / "tokenizer.json").write_text(json.dumps(fields))
    with pytest.raises(bitlex.VocabularyError, match="a rank file has no other merges"):
        write(bitlex.Tokenizer.from_file(tmp_path / "tokenizer.json").description, tmp_path / "more.tiktoken")


def test_report_and_progress(tmp_path: Path) -> None:
    seen: list[Progress] = []
    tokenizer = bitlex.train(PROSE, 400, progress=seen.append)
    assert [one.phase for one in seen] == ["counting", "merging"] and seen[-1].done == seen[-1].total == 144
    assert seen[-1].pair is not None and b"".join(seen[-1].pair) == tokenizer.token_bytes(399)
    shown = Display(None, True)
    shown(seen[0])
    assert "MB/s" in shown.text(seen[0], 1.0) and "144 of 144" in shown.text(seen[1], 1.0)
    found = report(tokenizer, [PROSE, PROSE.encode()])
    assert found.tokens == 2 * tokenizer.count(PROSE) and found.length == 2 * len(PROSE.encode())
    assert found.compression > report(bitlex.train(PROSE, 300), PROSE).compression > 1.0
    sizes = compression_by_size(tokenizer, PROSE)
    assert sizes[-1] == (400, found.compression) and sizes == sorted(sizes)
    assert len(found.rows()) == 10


# --- checkpoints --------------------------------------------------------------------------------------------------------------


def test_where_no_checkpoint_can_be(tmp_path: Path) -> None:
    """Said before anything is read, and what is there stays."""
    (tmp_path / "there").write_text("precious")
    unread = iter(["text"])
    for name, error, message in (
        ("there", checkpoint.CheckpointError, "is there, and no checkpoint"), ("", IsADirectoryError, "Is a directory"),
        ("none/kept", FileNotFoundError, "No such file or directory"),
    ):  # fmt: skip
        with pytest.raises(error, match=message):
            bitlex.train(unread, 300, checkpoint=tmp_path / name, spill=tmp_path)
    assert next(unread) == "text" and (tmp_path / "there").read_text() == "precious"
    bitlex.train("text", 257, checkpoint=tmp_path / "kept")
    with pytest.raises(ValueError, match=r"kept: this is an input and an output"):  # though it may be either
        bitlex.train([tmp_path / "there", tmp_path / "kept"], 300, checkpoint=tmp_path / "kept")
    (tmp_path / "empty").touch()  # as whoever makes files for a while leaves them
    bitlex.train("text", 257, checkpoint=tmp_path / "empty")
    assert checkpoint.is_checkpoint(str(tmp_path / "empty"))


def test_an_interrupted_training_goes_on(tmp_path: Path) -> None:
    expected = trained().description

    class Enough(Exception):
        pass

    def stop(now: Progress) -> None:
        if now.phase == "merging":
            raise Enough

    path = tmp_path / "checkpoint"
    with pytest.raises(Enough):
        trained(size=400, checkpoint=path, progress=stop)
    found = checkpoint.read(path)
    assert len(found.merge_counts) // 8 == 400 - 257
    again = bitlex.train("not read again", 700, special_tokens=["<|end|>"], checkpoint=path, resume=True)
    assert again.description.vocabulary == expected.vocabulary and again.description.digest == expected.digest
    told: list[Progress] = []
    smaller = bitlex.train("not read again", 300, special_tokens=["<|end|>"], checkpoint=path, resume=True, progress=told.append)  # than what was merged
    assert [(one.done, one.total, one.length) for one in told] == [(300 - 257, 300 - 257, len(PROSE))]
    with pytest.raises(ValueError, match=r"^vocab_size is 4194304; it may be up to 2,097,150$"):
        bitlex.train("not read again", 1 << 22, special_tokens=["<|end|>"], checkpoint=path, resume=True)
    assert smaller.description.digest == trained(size=300).description.digest
    (tmp_path / "in.txt").write_text("not read again", encoding="utf-8")  # nothing is known of texts, which files may take the place of
    from_a_file = bitlex.train(tmp_path / "in.txt", 300, special_tokens=["<|end|>"], checkpoint=path, resume=True)
    assert from_a_file.description.digest == smaller.description.digest
    with pytest.raises(ValueError, match="was made with rule 'minbpe', not 'rustbpe'"):
        trained("rustbpe", checkpoint=path, resume=True)
    data = bytearray(path.read_bytes())
    chance = random.Random(1)
    path.write_bytes(data + bytes(1))
    with pytest.raises(checkpoint.CheckpointError, match="not as it was written"):
        checkpoint.read(path)
    for at in [*chance.sample(range(len(data)), 40), *range(len(data) - 8, len(data)), *range(32)]:
        edited = bytes(data[:at]) + bytes([data[at] ^ 1]) + bytes(data[at + 1 :])
        for wrong in (edited, bytes(data[:at])):
            path.write_bytes(wrong)
            with pytest.raises(checkpoint.CheckpointError, match="not as it was written"):
                checkpoint.read(path)


@pytest.mark.parametrize("there", [False, True])
def test_a_signal_behind_the_renaming_of_a_checkpoint(there: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was counted stays as long as there is a checkpoint that needs it."""
    path, source = tmp_path / "checkpoint", tmp_path / "in.txt"
    source.write_text(PROSE, encoding="utf-8")
    expected = bitlex.train(source, 300).description.digest
    if there:  # and is replaced
        bitlex.train(source, 290, checkpoint=path)
    with monkeypatch.context() as at_once:
        at_once.setattr(checkpoint, "PAUSE", 0)

        def interrupted(folder: Path) -> None:
            raise KeyboardInterrupt

        at_once.setattr("bitlex.outputs.keep", interrupted)
        with pytest.raises(KeyboardInterrupt):
            bitlex.train(source, 300, checkpoint=path)
    assert checkpoint.read(path).counting is not None
    assert bitlex.train(source, 300, checkpoint=path, resume=True).description.digest == expected


PROGRAM = """
import sys, time
from pathlib import Path
import bitlex.training.session as session
session.WORK = 1
from bitlex.cli import run
import bitlex.training.checkpoint as checkpoint
checkpoint.PAUSE = checkpoint.PATIENCE = 0
run()
"""


def bitlex_train(folder: Path, *arguments: str, program: str = PROGRAM) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", program, "train", "in.txt", "--quiet", "-o", "out.bitlex", *arguments], cwd=folder, stderr=subprocess.PIPE)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_killed_at_any_time(number: signal.Signals, tmp_path: Path) -> None:
    """Whatever is there under its name is whole, and training goes on from it to the very same tokenizer."""
    (tmp_path / "in.txt").write_text(PROSE, encoding="utf-8")
    done = bitlex_train(tmp_path, "--vocab-size", "2000")
    assert done.wait() == 0, done.stderr and done.stderr.read()
    expected = bitlex.Tokenizer.from_file(tmp_path / "out.bitlex").description.digest
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.txt", "out.bitlex"]
    (tmp_path / "out.bitlex").unlink()
    chance = random.Random(int(number))
    for _ in range(4):
        started = bitlex_train(tmp_path, "--vocab-size", "2000", "--resume")
        kept = tmp_path / "out.bitlex.checkpoint"
        signal_after(started, kept, chance.random() * 0.1, number)
        if kept.exists():
            checkpoint.read(kept)
        if (tmp_path / "out.bitlex").exists():  # it was sooner
            assert bitlex.Tokenizer.from_file(tmp_path / "out.bitlex").description.digest == expected
    assert bitlex_train(tmp_path, "--vocab-size", "2000", "--resume").wait() == 0
    assert bitlex.Tokenizer.from_file(tmp_path / "out.bitlex").description.digest == expected
    left = {path.name for path in tmp_path.iterdir()} - {"in.txt", "out.bitlex"}
    assert all(name.startswith(".") for name in left) and (number == signal.SIGKILL or not left)


LOCKS = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no fcntl, by which a training locks its file of runs: there it has no lock")


@LOCKS
def test_a_checkpoint_has_one_training_at_a_time(tmp_path: Path) -> None:
    pytest.importorskip("bitlex._native", reason="without the C extension, nothing is written while texts are counted")
    (tmp_path / "in.txt").write_text(PROSE, encoding="utf-8")
    options: dict[str, Any] = {"memory": 1, "checkpoint": tmp_path / "kept"}
    refused: list[str] = []

    def another(now: Progress) -> None:
        if now.phase == "counting":
            with pytest.raises(ValueError) as error:
                bitlex.train(tmp_path / "in.txt", 400, **options)
            refused.append(str(error.value))

    made = bitlex.train(tmp_path / "in.txt", 400, progress=another, **options)
    assert refused == [f"{tmp_path / 'kept.runs'}: another training, which still runs, writes to it; give another checkpoint or output"]
    assert made.description.digest == bitlex.train(tmp_path / "in.txt", 400).description.digest
    bitlex.train(tmp_path / "in.txt", 400, resume=True, **options)


@LOCKS
def test_a_lock_does_not_outlive_ctrl_c(tmp_path: Path) -> None:
    """Wherever it comes as the file of runs is asked for: it was that of another training for as long as the process was there."""
    path = str(tmp_path / "runs")
    for behind in range(100):
        if not pressed(lambda: os.close(claimed(path)), behind):
            break
        os.close(claimed(path))
    assert 3 < behind < 99


def test_counting_that_could_not_begin_can_be_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was another training, which still runs."""
    native = pytest.importorskip("bitlex._native", reason="the C extension was not built")
    (tmp_path / "a").write_text("the thing")

    def full(*given: object) -> None:
        raise MemoryError

    monkeypatch.setattr(native, "Counter", full)
    with pytest.raises(MemoryError):
        bitlex.train(tmp_path / "a", 258, checkpoint=tmp_path / "kept")
    monkeypatch.undo()
    assert bitlex.train(tmp_path / "a", 258, checkpoint=tmp_path / "kept").vocabulary_size == 258


@pytest.mark.parametrize("begun", [False, True])
def test_ctrl_c_says_how_to_go_on(begun: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    kept = tmp_path / "out.bitlex.checkpoint"

    def interrupted(*_: object, **options: Any) -> None:
        assert options["checkpoint"] == str(kept)
        if begun:
            kept.touch()
        raise KeyboardInterrupt

    monkeypatch.setattr("bitlex.training.train", interrupted)
    with pytest.raises(KeyboardInterrupt):
        main(["train", "-", "--vocab-size", "300", "-o", str(tmp_path / "out.bitlex")])
    assert capsys.readouterr().err == f"bitlex: interrupted; --resume goes on from {kept}\n" * begun


def test_the_command(tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text(PROSE, encoding="utf-8")

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, "-m", "bitlex", "train", *arguments], cwd=tmp_path, capture_output=True, text=True, check=False)

    for output in ("a.bitlex", "a.tiktoken", "a.model", "tokenizer.json"):
        done = run("in.txt", "--vocab-size", "400", "-o", output, "--held-out", "in.txt", "--special", "<|end|>")
        assert done.returncode == 0, done.stderr
        assert "400, 1 of them special" in done.stdout and "bytes per token" in done.stdout
        assert not list(tmp_path.glob("*.checkpoint"))
    assert bitlex.Tokenizer.from_file(tmp_path / "a.bitlex").description.vocabulary == bitlex.train(PROSE, 400, special_tokens=["<|end|>"]).description.vocabulary
    assert bitlex.Tokenizer.from_file(tmp_path / "a.model").special_tokens == {"<|end|>": 399}
    done = run("in.txt", "--vocab-size", "500", "--extend", "a.bitlex", "-o", "b.bitlex", "--quiet")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    (tmp_path / "short.txt").write_text("ab ab", encoding="utf-8")
    done = run("short.txt", "--vocab-size", "300", "-o", "short.model", "--quiet")
    assert (done.returncode, done.stderr) == (0, "bitlex: --vocab-size is 300, and 258 ids were learned: no pair is left to be merged\n")
    for arguments, message in (
        (("in.txt", "--vocab-size", "400", "-o", "no/a.bitlex"), "is not there"),
        (("in.txt", "--vocab-size", "400", "-o", "in.txt"), "in.txt: this is an input and an output"),
        (("in.txt", "--vocab-size", "500", "-o", "a.bitlex", "--extend", "a.bitlex"), "a.bitlex: this is an input and an output"),
        (("in.txt", "--vocab-size", "400", "-o", "short.txt", "--held-out", "short.txt"), "short.txt: this is an input and an output"),
        (("in.txt", "--vocab-size", "400", "-o", "c.json", "--pattern", "cl100k"), "oniguruma"), (("no.txt", "--vocab-size", "400", "-o", "c"), "no.txt"),
        (("in.txt", "--vocab-size", "300", "-o", "c", "--held-out", "no.txt"), "no.txt: No such file or directory"),
        (("in.txt", "--vocab-size", "300", "-o", "c", "--plots", "in.txt"), "in.txt: Not a directory"),
        (("in.txt", "--vocab-size", "8388608", "-o", "c"), "--vocab-size is 8388608; it may be up to 2,097,150"),
        (("in.txt", "--vocab-size", "4294967297", "-o", "c"), "--vocab-size is 4294967297; it may be up to 2,097,150"),
        (("in.txt", "--vocab-size", "10", "-o", "c"), "alone are 256"), (("in.txt", "--vocab-size", "400", "-o", "."), ".: Is a directory"),
        (("in.txt", "--vocab-size", "400", "-o", "c", "--extend", "a.bitlex"), "alone are 400"),
    ):  # fmt: skip
        done = run(*arguments)
        assert done.returncode == 1 and message in done.stderr and done.stderr.count("\n") == 1
    assert (tmp_path / "in.txt").read_text(encoding="utf-8") == PROSE


def test_the_command_refuses_its_checkpoint_as_a_text(tmp_path: Path) -> None:
    """Which would be written over, and removed in the end."""
    command = [sys.executable, "-m", "bitlex"]
    for name in ("a.checkpoint", "a.checkpoint.runs"):
        (tmp_path / name).write_text(PROSE, encoding="utf-8")
        for arguments in (["train", name, "--vocab-size", "300", "-o", "a"], ["count-pieces", name, "-o", "a"]):
            done = subprocess.run([*command, *arguments], cwd=tmp_path, capture_output=True, text=True, check=False)
            assert (done.returncode, done.stderr) == (1, f"bitlex: {name}: this is an input and an output\n")
            assert (tmp_path / name).read_text(encoding="utf-8") == PROSE


def test_the_command_takes_only_bytes_that_were_seen(tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("ab ab", encoding="utf-8")
    command = [sys.executable, "-m", "bitlex", "train", "in.txt", "--vocab-size", "4", "-o", "a.bitlex", "--tie-break", "huggingface", "--seen-bytes"]
    subprocess.run(command, cwd=tmp_path, check=True, stdout=subprocess.DEVNULL)
    assert sorted(bitlex.Tokenizer.from_file(tmp_path / "a.bitlex").description.vocabulary.tokens()) == [b" ", b"a", b"ab", b"b"]


# --- the tutorial -------------------------------------------------------------------------------------------------------------


def test_regex_tokenizer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tokenizer = bitlex.RegexTokenizer()
    text = "aaabdaaabac"
    tokenizer.train(text, 256 + 3, verbose=True)
    assert capsys.readouterr().out.splitlines()[0] == "merge 1/3: (97, 97) -> 256 (b'aa') had 4 occurrences"
    assert tokenizer.encode(text) == [258, 100, 258, 97, 99] and tokenizer.decode([258, 100, 258, 97, 99]) == text
    special = {"<|end of text|>": 1000, "<|\u00e9\n|>": 1001, " <|": 1002, '"': 1003}
    tokenizer.register_special_tokens(special)
    for content, number in special.items():
        assert tokenizer.encode(f"aa{content}aa", allowed_special="all") == [256, number, 256]
        assert tokenizer.encode(f"aa{content}aa", allowed_special={content}) == [256, number, 256]
        assert number not in tokenizer.encode(f"aa{content}aa", allowed_special="none")
        with pytest.raises(ValueError, match="special token"):
            tokenizer.encode(f"aa{content}aa")
    with pytest.raises(ValueError, match="may be 'all'"):
        tokenizer.encode("a", allowed_special="some")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="no token"):
        tokenizer.decode([999])
    tokenizer.save(tmp_path / "mine")
    loaded = bitlex.RegexTokenizer()
    loaded.load(tmp_path / "mine.model")
    for name in ("pattern", "merges", "vocab", "special_tokens"):
        assert getattr(loaded, name) == getattr(tokenizer, name)
    assert bitlex.Tokenizer.from_file(tmp_path / "mine.model").special_tokens == special
    with pytest.raises(ValueError, match="white space"):
        tokenizer.save(tmp_path / "old", version=1)
    tokenizer.register_special_tokens({"<|end|>": 1000})
    tokenizer.save(tmp_path / "old", version=1)
    loaded.load(tmp_path / "old.model")
    assert loaded.special_tokens == {"<|end|>": 1000} and loaded.merges == tokenizer.merges
    with pytest.raises(ValueError, match="has pairs for"):
        tokenizer.train("ab", 400)
    with pytest.raises(ValueError, match="256"):
        tokenizer.train("ab", 255)
    assert os.listdir(tmp_path)


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize(
    ("special", "message"),
    [
        ({"<s>": 300, "<t>": 300}, "special token '<t>' has the id 300 of another token"), ({"<s>": 5}, "special token '<s>' has the id 5 of another"),
        ({"<s>": -1}, "special token '<s>' has the id -1"), ({"<s>": 1 << 40}, "special token '<s>' has the id 1099511627776"),
        ({"<s>": "x"}, "special token '<s>' has the id 'x'"), ({"": 300}, "special token '' is no text"), ({5: 300}, "special token 5 is no text"),
        ({"\ud800": 300}, r"special token '\ud800' has a lone surrogate"),
    ],
)  # fmt: skip
def test_special_tokens_that_a_model_cannot_have(version: Any, special: Any, message: str, tmp_path: Path) -> None:
    """They may be registered, as in minbpe, but what `load` would refuse is not written."""
    tokenizer = bitlex.RegexTokenizer()
    tokenizer.register_special_tokens(special)
    with pytest.raises(bitlex.VocabularyError) as caught:
        tokenizer.save(tmp_path / "mine", version=version)
    assert str(caught.value).startswith(f"{tmp_path / 'mine.model'}: {message}") and os.listdir(tmp_path) == []


def test_a_model_with_a_capturing_group(tmp_path: Path) -> None:
    """Which `load` refuses, as minbpe cuts by it otherwise."""
    tokenizer = bitlex.RegexTokenizer("(a)|b")
    with pytest.raises(bitlex.VocabularyError, match=r"the pattern '\(a\)\|b' has a capturing group, of which minbpe takes what it caught$"):
        tokenizer.save(tmp_path / "mine")
    assert os.listdir(tmp_path) == []


def test_a_model_that_was_cut_or_edited(tmp_path: Path) -> None:
    """Every length, and every byte changed: an error with its line."""
    tokenizer = bitlex.RegexTokenizer()
    tokenizer.train("the cat, the dog and the other things", 262)
    tokenizer.register_special_tokens({"<|a b|>": 300})
    tokenizer.save(tmp_path / "mine")
    path = tmp_path / "mine.model"
    data = path.read_bytes()
    for at in range(len(data)):
        for wrong in (data[:at], data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :], data[:at] + data[at + 1 :]):
            path.write_bytes(wrong)
            with pytest.raises(ValueError, match=r"line [0-9]+|is not UTF-8"):
                bitlex.RegexTokenizer().load(path)
