"""A tokenizer from its Description by the definitions alone, small tokenizer.json files to try it on, and ids that lie side by side.

    encode(load(path), "some text") == tokenizers.Tokenizer.from_file(path).encode("some text").ids
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from bitlex.added import split_added
from bitlex.lexers import Lexer
from bitlex.merging import PureEncoder
from bitlex.vocabularies.byte_alphabet import ALPHABET
from bitlex.vocabulary import Description

__all__ = ["BYTE_LEVEL", "Pipeline", "added", "apart", "encode", "tokenizer_json"]

BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}


class Pipeline:
    """Added tokens, the lexer, merging; each by its definition."""

    def __init__(self, description: Description) -> None:
        self.description = description
        self.lexer: Lexer = description.lexer()
        self.encoder = PureEncoder(description.vocabulary, description.decoded)

    def ordinary(self, text: str) -> list[int]:
        """The ids of a text in which no added token is looked for."""
        if text and self.description.prefix_space and not text.startswith(" "):
            text = f" {text}"
        units = text.encode()
        return [number for piece in self.lexer.split(units) for number in self.encoder.encode_piece(piece)]

    def encode(self, text: str) -> list[int]:
        """The ids of a text in which added tokens are found; without those around it."""
        one = self.description
        stretches = split_added(text, one.added, one.normalizer)
        return [found for part, number in stretches for found in ([number] if number is not None else self.ordinary(part))]


def encode(description: Description, text: str) -> list[int]:
    return Pipeline(description).encode(text)


def added(number: int, content: str, **flags: bool) -> dict[str, Any]:
    """An entry of added_tokens."""
    return {
        "id": number, "content": content, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False,
        "special": False, **flags,
    }  # fmt: skip


def tokenizer_json(tokens: tuple[str, ...] = (), merges: Any = (), **parts: Any) -> dict[str, Any]:
    """A tokenizer.json: the 256 bytes and these tokens. `model` is put over the model, anything else over the file."""
    vocab = {token: number for number, token in enumerate([*sorted(ALPHABET), *tokens])}
    model = {
        "type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None, "end_of_word_suffix": None,
        "fuse_unk": False, "byte_fallback": False, "ignore_merges": False, "vocab": vocab, "merges": list(merges),
        **parts.pop("model", {}),
    }  # fmt: skip
    return {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None, "pre_tokenizer": BYTE_LEVEL,
        "post_processor": None, "decoder": BYTE_LEVEL, **parts, "model": model,
    }  # fmt: skip


def apart(ids: Any, begins: Any) -> list[list[int]]:
    """The ids of texts that lie side by side."""
    return [ids[start:end].tolist() for start, end in pairwise(begins.tolist())]
