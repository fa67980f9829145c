"""Training against the trainers that it is named after: merge for merge. tokenizers is always there; rustbpe and gigatoken where they are."""

from __future__ import annotations

import json
import os
import random
import re
from pathlib import Path
from typing import Any

import pytest
import tokenizers
from tokenizers import models, pre_tokenizers, trainers

import bitlex
from bitlex.training.regex_tokenizer import GPT2_SPLIT_PATTERN, GPT4_SPLIT_PATTERN
from bitlex.vocabularies.byte_alphabet import to_bytes
from originals import VECTORS
from training_definition import learn

HERE = Path(__file__).resolve().parent
PROSE = "\n".join((HERE.parent / name).read_text(encoding="utf-8") for name in ("README.md", "docs/tokens.md", "docs/lanes.md", "tests/test_lexer.py"))
DATA = Path(os.environ.get("BITLEX_DATA", "/nowhere")) / "corpora"
CORPORA = ["01_en_prose.txt", "02_zh_classic.txt", "04_ru_dialog.txt", "06_emoji_multi.txt", "08_code_py.py"]


def random_text(seed: int) -> str:
    chance = random.Random(seed)
    letters = chance.choice(["ab ", "abc", "a b\n", "the ins ", "é中ab "])
    return "".join(chance.choices(letters, k=chance.choice([20, 300, 2000])))


def merges(tokenizer: bitlex.Tokenizer) -> list[tuple[bytes, bytes]]:
    vocabulary = tokenizer.description.vocabulary
    tokens, flat = vocabulary.tokens(), memoryview(vocabulary.merges or b"").cast("I").tolist()
    return [(tokens[left], tokens[right]) for left, right in zip(flat[::3], flat[1::3], strict=True)]


def by_huggingface(texts: list[str], size: int, **options: Any) -> tokenizers.Tokenizer:
    made = tokenizers.Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.train_from_iterator(texts, trainers.BpeTrainer(vocab_size=size, show_progress=False, **options))
    return made


def their_merges(made: tokenizers.Tokenizer) -> list[tuple[bytes, bytes]]:
    return [(to_bytes(left), to_bytes(right)) for left, right in json.loads(made.to_str())["model"]["merges"]]


def their_ids(made: tokenizers.Tokenizer) -> dict[str, int]:
    return made.get_vocab()


def our_ids(tokenizer: bitlex.Tokenizer) -> dict[str, int]:
    from bitlex.vocabularies.writing import huggingface

    found: dict[str, int] = json.loads(huggingface(tokenizer.description))["model"]["vocab"]
    return found


@pytest.mark.parametrize("size", [300, 512, 2000])
def test_huggingface(size: int) -> None:
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    theirs = by_huggingface([PROSE], size, initial_alphabet=alphabet, special_tokens=["<s>", "<a b>"])
    ours = bitlex.train(PROSE, size, tie_break="huggingface", special_tokens=["<s>", "<a b>"])
    assert merges(ours) == their_merges(theirs)
    assert our_ids(ours) == their_ids(theirs)


@pytest.mark.filterwarnings("ignore:vocab_size is")  # both learn fewer
def test_huggingface_options() -> None:
    """Alphabets, limits and frequencies, on texts full of ties."""
    chance = random.Random(9)
    for seed in range(60):
        texts = [random_text(seed), random_text(1000 + seed)]
        options: dict[str, Any] = {}
        if chance.random() < 0.5:
            options["min_frequency"] = chance.choice([0, 1, 2, 5])
        if chance.random() < 0.6:
            options["max_token_length"] = chance.choice([1, 2, 3, 4, 5, 8])
        initial = chance.choice([b"", b"xyz", bytes(range(256))])
        size = len(initial) + chance.choice([5, 20, 100])
        special = chance.choice([[], ["<s>"]])
        seen = set("".join(texts).encode()) | set(initial)
        size = max(size, len(seen) + len(special))
        ours = bitlex.train(texts, size, tie_break="huggingface", initial_alphabet=initial, special_tokens=special, **options)
        theirs = by_huggingface(texts, size, initial_alphabet=alphabet_of(initial), special_tokens=special, **options)
        assert merges(ours) == their_merges(theirs), (seed, options, initial)
        assert our_ids(ours) == their_ids(theirs)


def alphabet_of(wanted: bytes) -> list[str]:
    from bitlex.vocabularies.byte_alphabet import ALPHABET

    return [ALPHABET[byte] for byte in wanted]


@pytest.mark.filterwarnings("ignore:vocab_size is")  # both learn fewer
def test_huggingface_limit() -> None:
    """The most frequent bytes stay, and the rest are left out of the text, so that what was beside them becomes neighbours."""
    text = "aaaa bbb aaaa cca acab bbba d aXa bXb" * 3
    for limit in (2, 3, 4, 5):  # no two bytes at the limit are equally frequent, where the reference follows its hashes
        theirs = by_huggingface([text], 30, limit_alphabet=limit)
        ours = bitlex.train(text, 30, tie_break="huggingface", initial_alphabet=b"", limit_alphabet=limit)
        assert merges(ours) == their_merges(theirs)
        assert our_ids(ours) == their_ids(theirs)


def test_rustbpe() -> None:
    rustbpe = pytest.importorskip("rustbpe")
    for text, pattern, size in [(PROSE, GPT4_SPLIT_PATTERN, 1500), (PROSE, GPT2_SPLIT_PATTERN, 600), *((random_text(n), GPT2_SPLIT_PATTERN, 290) for n in range(20))]:
        theirs = rustbpe.Tokenizer()
        theirs.train_from_iterator(iter([text]), size, pattern=pattern)
        ours = bitlex.train(text, size, tie_break="rustbpe", pattern=pattern)
        assert ours.description.vocabulary.tokens() == [bytes(token) for token, _ in sorted(theirs.get_mergeable_ranks(), key=lambda item: item[1])]


def test_gigatoken() -> None:
    """Which has the rule of Hugging Face's trainer, cut as GPT-2 does."""
    gigatoken = pytest.importorskip("gigatoken")
    assert merges(bitlex.train(PROSE, 1500, tie_break="huggingface")) == gigatoken.train_bpe(PROSE.encode(), 1500, [])[1]


def test_minbpe() -> None:
    """By its definition: all pairs of the text counted for each merge, the first of the most frequent ones merged."""
    regex = pytest.importorskip("regex")
    for pattern in (GPT4_SPLIT_PATTERN, GPT2_SPLIT_PATTERN, r"\w+", ""):
        text = PROSE[:30000]
        pieces = regex.findall(pattern, text) if pattern else [text[:3000]]
        expected = learn([piece.encode() for piece in pieces], 150, smaller_first=False, tokens=[bytes([byte]) for byte in range(256)])
        tokenizer = bitlex.RegexTokenizer(pattern)
        tokenizer.train(text if pattern else text[:3000], 406)
        assert [(left, right) for left, right, _ in expected] == list(tokenizer.merges)


def same_as_defined(text: str, pattern: str, merges: int) -> None:
    regex = pytest.importorskip("regex")
    tokenizer = bitlex.RegexTokenizer(pattern)
    tokenizer.train(text, 256 + merges)
    pieces = [piece.encode() for piece in regex.findall(pattern, text)] if pattern else [text.encode()]
    expected = learn(pieces, merges, smaller_first=False, tokens=[bytes([byte]) for byte in range(256)])
    assert [(left, right) for left, right, _ in expected] == list(tokenizer.merges)


@pytest.mark.parametrize("pattern", [GPT4_SPLIT_PATTERN, GPT2_SPLIT_PATTERN], ids=["gpt4", "gpt2"])
@pytest.mark.skipif(not os.environ.get("BITLEX_SLOW"), reason="each of them is minutes of the definition done slowly: set BITLEX_SLOW=1")
def test_a_megabyte_of_prose(pattern: str) -> None:
    path = DATA / "01_en_prose.txt"
    if not path.exists():
        pytest.skip("BITLEX_DATA names no folder with the corpora that are trained on")
    same_as_defined(path.read_text(encoding="utf-8")[:1_000_000], pattern, 1000)


@pytest.mark.parametrize("merges", [256, 1000])
def test_the_text_of_minbpe(merges: int) -> None:
    """Which `make vectors` fetches: the text that its own tests train on."""
    path = VECTORS / "minbpe/taylorswift.txt"
    if not path.exists():
        pytest.skip("the text that minbpe's tests train on is not here: `make vectors` fetches it")
    same_as_defined(path.read_text(encoding="utf-8"), GPT4_SPLIT_PATTERN, merges)


@pytest.mark.parametrize("name", CORPORA)
def test_corpora(name: str) -> None:
    """Hugging Face's trainer on whole corpora; slow, so of one size here. bench/training has the others."""
    if not (DATA / name).exists():
        pytest.skip("BITLEX_DATA names no folder with the corpora that are trained on")
    text = (DATA / name).read_bytes()[:400_000].decode("utf-8", "ignore")
    theirs = by_huggingface([text], 2000, initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    assert merges(bitlex.train(text, 2000, tie_break="huggingface")) == their_merges(theirs)


def test_threads_and_batches() -> None:
    lines = re.split(r"(?<=\n)", PROSE)
    expected = bitlex.train(lines, 700).description.digest
    assert {bitlex.train(lines, 700, threads=threads).description.digest for threads in (1, 2, 5)} == {expected}
    assert bitlex.train([*map(str.encode, lines)], 700).description.digest == expected
