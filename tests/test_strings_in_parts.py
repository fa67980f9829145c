"""A long str that is not ASCII, which is encoded a part at a time: wherever parts end, the ids are those of the whole text."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
from typing import Any

import pytest

import bitlex
from bitlex.encoders import make_encoder
from bitlex.tokenizer import Tokenizer
from bitlex.vocabulary import AddedToken, Vocabulary
from small_vocabularies import BYTES, TRAINED, describe

native = pytest.importorskip("bitlex._native", reason="the C extension was not built")

WORDS = ("the", " thing", "ing ", " and", "é", "中文", " слово", "😀", "1", "12345", "\n", " \n\n", "  ", "\t", "it's", "ABC", "\u0301", " नमस्ते", "_x_", "…", "\ufffd")
FAMILIES = ("cl100k", "o200k", "gpt2", "deepseek_v3", "qwen2", "tekken", "bloom", "starcoder")
SPECIAL = {b"<|end|>": 400, b"<|end|>more": 401, b"|>": 402, "é!".encode(): 403}


def encoder_of(family: str, vocabulary: Vocabulary = TRAINED) -> Any:
    return Tokenizer(describe(vocabulary, family=family))._encoder


def outcome(encoder: Any, text: Any, allowed: Any, disallowed: Any, blocks: int) -> Any:
    """The ids and their number, or the message of an error."""
    try:
        ids = encoder.encode_to_numpy(text, allowed, disallowed, 1, blocks).tolist()
    except ValueError as error:
        return str(error)
    assert encoder.count(text, allowed, disallowed, 1, blocks) == len(ids)
    assert encoder.encode(text, allowed, disallowed, 1, blocks) == ids
    return ids


def whole(encoder: Any, text: str, allowed: Any = None, disallowed: Any = None) -> Any:
    return outcome(encoder, text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode(), allowed, disallowed, 0)


@pytest.mark.parametrize("family", FAMILIES)
def test_random_texts(family: str) -> None:
    encoder, rng = encoder_of(family), random.Random(family)
    for _ in range(12):
        words = [*rng.sample(WORDS, rng.choice((2, 4, 12))), rng.choice(WORDS) * rng.choice((1, 30, 700, 5000))]
        text = "".join(rng.choices(words, [90] * (len(words) - 1) + [1], k=rng.choice((100, 2000, 12_000)))) + rng.choice("é中")
        expected = whole(encoder, text)
        for blocks in (1, 2, 5):
            assert outcome(encoder, text, None, None, blocks) == expected, (words, blocks)


@pytest.mark.parametrize("wide", ["é", "中", "😀"])
def test_every_offset_of_a_part(wide: str) -> None:
    """What stands at the end of a part is another character of the words each time."""
    encoder = encoder_of("cl100k")
    for shift in range(24):
        text = "x" * shift + ("it's 1234 the\n\n  thing " + wide) * 700
        assert outcome(encoder, text, None, None, 1) == whole(encoder, text), shift


def test_surrogates_side_by_side() -> None:
    encoder = encoder_of("cl100k", Vocabulary.from_ranks(BYTES))
    for first, last in (("\ud83d", "\ude00"), ("\ude00", "\ud83d"), ("\ud83d", "\ud83d"), ("\ud83d", "a")):
        for before in range(5):
            text = "a" * before + (first + last) * 4000
            for one in (text, text + "\U0001f600", text + "\ud83d"):
                assert outcome(encoder, one, None, None, 1) == whole(encoder, one)


@pytest.mark.parametrize("blocks", [1, 3])
def test_special_tokens(blocks: int) -> None:
    """Allowed ones end what is before them, wherever a part ends; of disallowed ones the error is that of the whole text."""
    encoder, rng = encoder_of("cl100k"), random.Random(blocks)
    sets = [None, *(encoder.specials(dict(rng.sample(sorted(SPECIAL.items()), k))) for k in (1, 2, 3, 4))]
    parts = ("<|end|>", "<|end|>more", "|>", "é!", "<|en", "<", "é", " the thing", "中", "\n  ", "more")
    for _ in range(60):
        text = "".join(rng.choices(parts, [rng.choice((0, 0, 1, 9, 300)) for _ in parts[:7]] + [200, 50, 20, 5], k=rng.choice((1500, 6000)))) + "é"
        allowed, disallowed = rng.choice(sets), rng.choice([None, None, *sets])
        assert outcome(encoder, text, allowed, disallowed, blocks) == whole(encoder, text, allowed, disallowed)


def test_a_disallowed_token_that_begins_inside_an_allowed_one() -> None:
    encoder = encoder_of("cl100k")
    allowed, disallowed = encoder.specials({b"<|a|>": 400}), encoder.specials({b"|>here it goes on": 401})
    for shift in range(40):
        for behind in ("here it goes on", "here it goes"):
            text = "é" + "x " * (2040 - shift) + "<|a|>" + behind + " y" * 9000
            assert outcome(encoder, text, allowed, disallowed, 1) == whole(encoder, text, allowed, disallowed)


def test_what_is_no_token() -> None:
    encoder = encoder_of("cl100k", Vocabulary.from_ranks([byte for byte in BYTES if byte != b"z"]))
    text = "é the thing " * 3000
    assert "byte 0x7a at 39000" in outcome(encoder, text + "z", None, None, 1) == whole(encoder, text + "z")


def test_runs_longer_than_all_parts() -> None:
    """A piece, or white space that may become one with what follows, is encoded as a whole when it is too long to be held."""
    encoder = encoder_of("cl100k")
    for text in ("é\n" + " " * 1_500_000 + "x", "é" + "x" * 1_500_000, "\u0301" * 800_000, "é" + "\n" * 1_500_000):
        assert outcome(encoder, text, None, None, 1) == whole(encoder, text)


@pytest.mark.parametrize("name", ["encode", "encode_to_numpy", "count"])
def test_of_any_length(name: str) -> None:
    """Through the methods that users call, as long as it takes to be read in parts without being told to."""
    tokenizer = Tokenizer(describe(TRAINED, added=(AddedToken(300, "<|end|>"),)))
    text = "Это the thing, 中文<|end|> and é\n" * 40_000
    call: Any = getattr(tokenizer, name)
    asked: dict[str, Any]
    for asked in ({"allowed_special": "all"}, {"disallowed_special": ()}):
        found, expected = call(text, **asked), call(text.encode(), **asked)
        assert found == expected if name == "count" else list(found) == list(expected)
    with pytest.raises(ValueError, match=r"special token '<\|end\|>', at byte 24\."):
        call(text)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs a timer signal")
def test_is_interrupted() -> None:
    encoder = encoder_of("cl100k")
    text = "é the thing 中文 and " * 3_000_000

    def stop(*_: Any) -> None:
        raise InterruptedError

    before = signal.signal(signal.SIGALRM, stop)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.02)
        with pytest.raises(InterruptedError):
            encoder.count(text, None, None, 1)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert encoder.encode("é the", None, None, 1) == whole(encoder, "é the")


@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss is in KB on Linux, in other units elsewhere")
def test_memory_does_not_grow_with_the_text() -> None:
    program = """
import resource, sys
sys.path[:0] = sys.argv[1:]
import bitlex
from bitlex.encoders import make_encoder
from bitlex.tokenizer import Tokenizer
from small_vocabularies import TRAINED, describe
tokenizer = Tokenizer(describe(TRAINED))
text = "the thing \\u4e2d " * 3_000_000
tokenizer.count(text[:1_000_000])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
tokenizer.count(text)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    done = subprocess.run([sys.executable, "-c", program, *sys.path], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 2048  # KB; the text has 44 MB as UTF-8


@pytest.mark.parametrize("lexer", [bitlex.lexer("falcon"), bitlex.lexer("deepseek_llm"), bitlex.compile(r"\w+", behavior="removed", invert=True)], ids=["bytes", "digits", "drops"])
def test_lexers_of_other_kinds(lexer: bitlex.Lexer) -> None:
    """Those that cut inside characters or drop text read the whole; of a number, all may be open."""
    encoder = make_encoder(describe(TRAINED), lexer)
    for text in ("é the 12 中文 thing " * 3000, "é" + "1234567" * 5000 + " é"):
        assert outcome(encoder, text, None, None, 1) == whole(encoder, text)
