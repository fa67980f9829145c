"""Training through bitlex.compat.huggingface, next to tokenizers itself: the same parts and trainers, given to both."""

from __future__ import annotations

import json
import pickle
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import tokenizers
from tokenizers import AddedToken, Regex, decoders, models, normalizers, pre_tokenizers, processors, trainers

from bitlex import Tokenizer
from bitlex.compat import huggingface as ours
from bitlex.compat import training

LEVEL = pre_tokenizers.ByteLevel(add_prefix_space=False)
ALPHABET = pre_tokenizers.ByteLevel.alphabet()
TEXTS = ["hello world hello", ["a\u0301b \u00e0 la", "", " x y z 123 1234"], "", ("the the then <a>", "\u00e9 e\u0301 \x00\U0001f600")]
CUTTERS = [
    pre_tokenizers.ByteLevel(), LEVEL,
    pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(r"\d{1,3}|\p{L}+|\s+"), "isolated"), pre_tokenizers.ByteLevel(False, use_regex=False)]),
    pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), LEVEL]),
]  # fmt: skip


def trainer(**options: Any) -> Any:
    return trainers.BpeTrainer(**{"vocab_size": 300, "show_progress": False, **options})


def untrained(kind: Any, cutter: Any = LEVEL, normalizer: Any = None, **options: Any) -> Any:
    made = kind(models.BPE(**options))
    made.pre_tokenizer = cutter
    if normalizer is not None:
        made.normalizer = normalizer
    return made


def both(change: Callable[[Any], Any]) -> tuple[Any, Any]:
    """Ours and theirs, after the same was done to each."""
    made = tuple(untrained(kind) for kind in (ours.Tokenizer, tokenizers.Tokenizer))
    for one in made:
        change(one)
    return made[0], made[1]


def same(one: Any, other: Any) -> None:
    assert one.to_str() == other.to_str()
    assert one.get_vocab() == other.get_vocab()
    for text in ("hello <a> the\r\n then", "e\u0301 123", ""):
        assert one.encode(text).ids == other.encode(text).ids
        assert one.encode(text).tokens == other.encode(text).tokens


@pytest.mark.parametrize("cutter", CUTTERS)
@pytest.mark.parametrize("normalizer", [None, normalizers.NFC()])
@pytest.mark.parametrize(
    "options",
    [
        {"initial_alphabet": ALPHABET}, {"initial_alphabet": ALPHABET, "min_frequency": 2, "max_token_length": 4},
        {"initial_alphabet": ALPHABET, "vocab_size": 270, "special_tokens": ["<a>", AddedToken("<b>", lstrip=True), "<a>"]},
        {"special_tokens": ["<b>", "<a>"], "vocab_size": 60},
        {"initial_alphabet": ["\u0120", "\u00fe"], "special_tokens": [AddedToken("\u00e9!", normalized=True), "<a>"]},
    ],
)  # fmt: skip
def test_what_is_learned(cutter: Any, normalizer: Any, options: dict[str, Any]) -> None:
    made = [untrained(kind, cutter, normalizer) for kind in (ours.Tokenizer, tokenizers.Tokenizer)]
    for one in made:
        one.train_from_iterator(TEXTS, trainer=trainer(**options), length=4)
        one.decoder = decoders.ByteLevel()
    assert made[0].to_str() == made[1].to_str()
    if "initial_alphabet" in options and len(options["initial_alphabet"]) == 256:
        same(*made)


def test_drawn_texts() -> None:
    chance = random.Random(20261129)
    for _ in range(40):
        letters = chance.choice(["ab", "abc \n", "a1 '.s\u00e9", "\u4e2d\u6587 a"])
        texts = ["".join(chance.choices(letters, k=chance.randrange(60))) for _ in range(chance.randrange(8))]
        size, least = 256 + chance.randrange(30), chance.randrange(4)
        asked = trainer(vocab_size=size, min_frequency=least, initial_alphabet=ALPHABET)
        one, other = both(lambda made: made.train_from_iterator(iter(texts), asked))  # noqa: B023
        assert one.to_str() == other.to_str(), (texts, size, least)


def test_without_a_trainer() -> None:
    one, other = both(lambda made: made.train_from_iterator(TEXTS))
    assert one.to_str() == other.to_str()


@pytest.mark.parametrize("special", [[], ["<a>"], ["<a>", AddedToken("<b>", rstrip=True)]])
def test_without_texts(special: list[Any]) -> None:
    one, other = both(lambda made: made.train_from_iterator([], trainer(special_tokens=special)))
    assert one.to_str() == other.to_str()


def test_files(tmp_path: Path) -> None:
    first, second = tmp_path / "one.txt", tmp_path / "two.txt"
    first.write_bytes(b"  hello\r\n\r\n  world \n\thello\rhello")
    second.write_bytes("\u2028 hello\x0bhello\x85\n".encode())
    one, other = both(lambda made: made.train([str(first), str(second)], trainer(initial_alphabet=ALPHABET)))
    same(one, other)
    again = untrained(ours.Tokenizer)
    again.train([first, second], trainer(initial_alphabet=ALPHABET))
    assert again.to_str() == one.to_str()
    second.write_bytes(b"good\nbad \xff\n")
    before = one.to_str()
    with pytest.raises(ValueError, match=r"two\.txt: line 2 is not UTF-8"):
        one.train([str(first), str(second)])
    with pytest.raises(FileNotFoundError):
        one.train([str(first), str(tmp_path / "nowhere")])
    with pytest.raises(TypeError, match="expected a list of paths"):
        one.train(str(first))
    assert one.to_str() == before


def test_everything_else_stays() -> None:
    def change(made: Any) -> None:
        made.enable_truncation(5, stride=1)
        made.enable_padding(length=7, pad_token="<a>")
        template = processors.TemplateProcessing(single="<a> $A", pair="<a> $A $B", special_tokens=[("<a>", 0)])
        made.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=False), template])
        made.decoder = decoders.ByteLevel()
        made.train_from_iterator(TEXTS, trainer(initial_alphabet=ALPHABET, special_tokens=["<a>"]))

    same(*both(change))


def test_twice() -> None:
    """Special tokens keep their ids; others would not."""

    def change(made: Any) -> None:
        for texts in (TEXTS, ["something else", "else"]):
            made.train_from_iterator(texts, trainer(initial_alphabet=ALPHABET, special_tokens=["<a>", "<b>"]))

    one, other = both(change)
    same(one, other)
    before = one.to_str()
    for special in ([], ["<b>", "<a>"], ["<a>"]):
        with pytest.raises(ValueError, match="added tokens would not keep their ids"):
            one.train_from_iterator(TEXTS, trainer(special_tokens=special))
    assert one.to_str() == before
    one.train_from_iterator(TEXTS, trainer(special_tokens=["<a>", "<b>", "<c>"], initial_alphabet=ALPHABET))
    assert one.token_to_id("<c>") == 2


def test_files_that_were_trained_are_read_by_others(tmp_path: Path) -> None:
    one, other = both(lambda made: made.train_from_iterator(TEXTS, trainer(initial_alphabet=ALPHABET)))
    one.decoder = decoders.ByteLevel()
    one.save(str(tmp_path / "tokenizer.json"))
    read = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    assert read.encode("hello the world").ids == other.encode("hello the world").ids
    assert Tokenizer.from_file(tmp_path / "tokenizer.json").encode("hello the world") == other.encode("hello the world").ids


def test_before_it_is_trained() -> None:
    one, other = both(lambda made: None)
    assert one.to_str() == other.to_str()
    assert (one.get_vocab(), one.get_vocab_size(), one.id_to_token(0), one.token_to_id("a")) == ({}, 0, None, None)
    assert pickle.loads(pickle.dumps(one)).to_str() == ours.Tokenizer(other).to_str() == one.to_str()
    assert one.decode([0]) == other.decode([0]) == ""
    for call in (lambda: one.encode("a"), lambda: one.encode_batch(["a", "b"])):
        with pytest.raises(ValueError, match="the model has no tokens before it is trained"):
            call()
    copied = pickle.loads(pickle.dumps(one))
    copied.train_from_iterator(TEXTS, trainer(initial_alphabet=ALPHABET))
    other.train_from_iterator(TEXTS, trainer(initial_alphabet=ALPHABET))
    same(copied, other)


class Counted:
    """Texts, and how many were taken."""

    def __init__(self) -> None:
        self.taken = 0

    def __iter__(self) -> Iterator[str]:
        for text in ("a", "b"):
            self.taken += 1
            yield text


@pytest.mark.parametrize(
    ("parts", "options", "message"),
    [
        ({"cutter": pre_tokenizers.Whitespace()}, {}, "pre_tokenizer: has 0 ByteLevel, not one"),
        ({"normalizer": normalizers.Lowercase()}, {}, 'normalizer.type: "Lowercase" is not supported'),
        ({"unk_token": "?"}, {"special_tokens": ["?"]}, "model.unk_token"),
        ({"dropout": 0.5}, {}, "model.dropout"),
        ({}, {"continuing_subword_prefix": "##"}, "BpeTrainer: continuing_subword_prefix"),
        ({}, {"end_of_word_suffix": "</w>"}, "BpeTrainer: end_of_word_suffix"),
        ({}, {"initial_alphabet": ["\u4e2d"]}, "initial_alphabet: '\u4e2d' is not of the byte alphabet"),
        ({}, {"vocab_size": 5, "initial_alphabet": ALPHABET}, "vocab_size is 5; bytes and special tokens alone are 256"),
        ({}, {"special_tokens": ["a"], "initial_alphabet": ALPHABET}, "special token 'a' is token"),
    ],
)
def test_refused_before_a_text_is_read(parts: dict[str, Any], options: dict[str, Any], message: str) -> None:
    made = untrained(ours.Tokenizer, **parts)
    before, texts = made.to_str(), Counted()
    with pytest.raises(ValueError) as caught:
        made.train_from_iterator(texts, trainer(**options))
    assert message in str(caught.value)
    assert (made.to_str(), texts.taken) == (before, 0)


def test_wrong_arguments() -> None:
    made = untrained(ours.Tokenizer)
    before = made.to_str()
    for wrong in (trainers.WordPieceTrainer(), trainers.UnigramTrainer(), 5, "BpeTrainer"):
        with pytest.raises(TypeError, match=r"expected a tokenizers\.trainers\.BpeTrainer"):
            made.train_from_iterator(TEXTS, wrong)
    for texts in ([5], [["a", 5]], [b"a"], 5, [None]):
        with pytest.raises(TypeError):
            made.train_from_iterator(texts, trainer())
    with pytest.raises(UnicodeEncodeError):
        made.train_from_iterator(["a\ud800"], trainer())

    def failing() -> Iterator[str]:
        yield "a"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        made.train_from_iterator(failing(), trainer())
    assert made.to_str() == before
    with pytest.raises(TypeError, match="a model that has tokens does not say how to cut texts"):
        ours.Tokenizer(models.BPE({"a": 0}, []))


def test_nothing_is_shown_where_there_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    made = untrained(ours.Tokenizer)
    made.train_from_iterator(TEXTS, trainers.BpeTrainer(vocab_size=300, show_progress=True))
    assert capsys.readouterr() == ("", "")


def test_arguments_of_trainers() -> None:
    """What tokenizers says of a trainer has the fields that are read here, and no others that would change what is learned."""
    found = json.loads(trainers.BpeTrainer().__getstate__())["BpeTrainer"]
    assert set(found) == {
        "min_frequency", "vocab_size", "show_progress", "progress_format", "special_tokens", "limit_alphabet", "initial_alphabet",
        "continuing_subword_prefix", "end_of_word_suffix", "max_token_length", "words",
    }  # fmt: skip
    assert training.Trainer.of(trainers.BpeTrainer()) == training.Trainer.of(None) == training.Trainer()


def test_limited_alphabets() -> None:
    """Where the counts of bytes differ, so that there are no ties, which tokenizers decides by chance."""
    texts = ["aaaaa bbbb cc d"]
    for limit in (1, 2, 3, 10):
        one, other = both(lambda made: made.train_from_iterator(texts, trainer(limit_alphabet=limit, vocab_size=12)))  # noqa: B023
        assert one.to_str() == other.to_str()
