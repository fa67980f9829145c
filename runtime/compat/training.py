"""Training in the place of tokenizers: what a BpeTrainer says, and texts, in; the model of a tokenizer.json out.

    trainer = Trainer.of(tokenizers.trainers.BpeTrainer(vocab_size=32_000, special_tokens=["<s>"]))
    learned(fields, trainer, ["some text"])                       # {"vocab": {"<s>": 0, ...}, "merges": [["Ġ", "t"], ...]}

`bitlex.train` learns by the rule "huggingface" what BpeTrainer does; here, its arguments are made of the parts of a tokenizer. Texts are
normalized and cut as the tokenizer will do it. Invariant: the tokens and merges are those of BpeTrainer of tokenizers 0.23.3. What cannot
be is refused before a text is read, as far as it is known then. Rejected: trainers of our own, which people would have to import.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from ..normalization import nfc
from ..vocabularies.byte_alphabet import ALPHABET
from ..vocabularies.huggingface import byte_level, normalizes
from ..vocabularies.json_fields import Fields
from ..vocabularies.matching import UNICODE, family_of
from ..vocabulary import VocabularyError
from .added_token import AddedToken
from .arguments import sequential, text
from .tokens import FLAGS

__all__ = ["Trainer", "in_files", "in_iterator", "learned"]


@dataclass(frozen=True, slots=True)
class Trainer:
    """The arguments of BpeTrainer. `special`: with their flags, and as often as they were given."""

    vocab_size: int = 30_000
    min_frequency: int = 0
    special: tuple[AddedToken, ...] = ()
    limit_alphabet: int | None = None
    alphabet: tuple[str, ...] = ()
    max_token_length: int | None = None
    shows_progress: bool = True

    @classmethod
    def of(cls, trainer: Any) -> Trainer:
        """Of a tokenizers.trainers.BpeTrainer; None is one without arguments. TypeError for anything else."""
        if trainer is None:
            return cls()
        kind = type(trainer).__name__
        if kind != "BpeTrainer" or not hasattr(trainer, "__getstate__"):
            raise TypeError(f"expected a tokenizers.trainers.BpeTrainer, got {kind}")
        found = json.loads(trainer.__getstate__())["BpeTrainer"]
        for key in ("continuing_subword_prefix", "end_of_word_suffix"):
            if found[key]:
                raise VocabularyError(f"BpeTrainer: {key}: {found[key]!r} is not supported: tokens would not spell the text")
        special = [AddedToken(token["content"], **{flag: token[flag] for flag in FLAGS}) for token in found["special_tokens"]]
        return cls(
            found["vocab_size"], found["min_frequency"], tuple(special), found["limit_alphabet"], tuple(found["initial_alphabet"]),
            found["max_token_length"], found["show_progress"],
        )  # fmt: skip

    @property
    def contents(self) -> tuple[str, ...]:
        """What the special tokens are called, each once, in the order of their ids."""
        return tuple(dict.fromkeys(token.content for token in self.special))

    @property
    def initial_bytes(self) -> bytes:
        """The bytes that are tokens in any case."""
        for character in self.alphabet:
            if character not in ALPHABET:
                raise VocabularyError(f"BpeTrainer: initial_alphabet: {character!r} is not of the byte alphabet")
        return bytes(sorted(map(ALPHABET.index, self.alphabet)))

    def first_tokens(self) -> dict[str, int]:
        """The tokens that are there whatever is learned."""
        return first_ids((*self.contents, *sorted(self.alphabet)))


def learned(fields: Fields, trainer: Trainer, texts: Iterable[str]) -> dict[str, Any]:
    """The vocabulary and the merges that are learned from texts. `fields`: the file of the tokenizer, which says how they are cut."""
    from ..compiler import compile
    from ..lexers import cores
    from ..training import merge
    from ..training.cutting import cutting
    from ..training.memory import bytes_of
    from ..training.progress import Display
    from ..training.rules import RULES
    from ..training.session import Session, Settings
    from ..vocabularies.writing import huggingface_fields

    split, prefix = byte_level(fields)
    normalized = normalizes(fields, "normalizer")
    rule = RULES["huggingface"]
    settings = Settings(
        rule=rule, vocabulary_size=trainer.vocab_size, special=trainer.contents, min_frequency=trainer.min_frequency,
        max_token_length=trainer.max_token_length, initial_alphabet=trainer.initial_bytes, limit_alphabet=trainer.limit_alphabet,
    )  # fmt: skip
    family = family_of(split, "oniguruma")
    cut = cutting(compile(split, dialect="oniguruma", unicode=UNICODE) if family is None else family, rule)
    session = Session(settings, cut, cores(), bytes_of(None))
    display = Display(sys.stderr if trainer.shows_progress else None)
    try:
        session.count(prepared(texts, normalized, prefix), report=display)
        merge(session, None, display)
    finally:
        display.clear()
    found = huggingface_fields(session.description())["model"]
    return {"vocab": first_ids(trainer.contents) | found["vocab"], "merges": found["merges"]}  # which may leave special tokens to others


def first_ids(tokens: Iterable[str]) -> dict[str, int]:
    return {token: number for number, token in enumerate(tokens)}


def prepared(texts: Iterable[str], normalized: bool, prefix: bool) -> Iterator[str]:
    """What is cut: in NFC, with a space before, where the tokenizer has these."""
    for one in texts:
        made = nfc(one) if normalized else one
        yield " " + made if prefix and made and not made.startswith(" ") else made


def in_iterator(source: Iterable[Any]) -> Iterator[str]:
    """The texts of an iterable of texts, and of iterables of these."""
    for one in source:
        if isinstance(one, str):
            yield text(one)
        else:
            yield from map(text, one)


def in_files(paths: Any) -> Iterator[str]:
    """The lines of files, each with its end. ValueError for one that is not UTF-8, saying which."""
    for path in sequential(paths):
        with open(path, "rb") as file:
            for number, line in enumerate(file, 1):
                try:
                    yield line.decode()
                except UnicodeDecodeError as error:
                    raise ValueError(f"{path}: line {number} is not UTF-8: {error}") from None
