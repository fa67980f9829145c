"""Small tokenizers as files, for tests that run the command line: made in a moment, and there without any data."""

from __future__ import annotations

import json
from base64 import b64encode
from pathlib import Path

from tokenizing import added, tokenizer_json

__all__ = ["RANKS", "SPECIAL", "huggingface", "rank_file"]

WORDS = (b"he", b"ll", b"hell", b"hello", b" w", b"or", b" wor", b"ld", b" world", b"\xe4\xb8", b"\xe4\xb8\xad", b"  ", b"12", b"123")
RANKS = {bytes([byte]): byte for byte in range(256)} | {word: 256 + at for at, word in enumerate(WORDS)}
SPECIAL = ("--family", "cl100k", "--special", "<|end|>=300", "--special", "<|go|>=301")


def rank_file(folder: Path) -> Path:
    """Ranks that no published file has: they need SPECIAL."""
    path = folder / "small.tiktoken"
    path.write_bytes(b"".join(b64encode(token) + b" %d\n" % rank for token, rank in RANKS.items()))
    return path


def huggingface(folder: Path, name: str = "tokenizer.json") -> Path:
    """A tokenizer.json with two added tokens, one of which its template puts before a text."""
    tokens = ("he", "ll", "hell", "hello")
    merges = [["h", "e"], ["l", "l"], ["he", "ll"], ["hell", "o"]]
    start = {"id": "<s>", "ids": [260], "tokens": ["<s>"]}
    template = {
        "type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
        "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}], "special_tokens": {"<s>": start},
    }  # fmt: skip
    extra = [added(260, "<s>", special=True), added(261, "</s>", special=True)]
    path = folder / name
    path.write_text(json.dumps(tokenizer_json(tokens, merges, added_tokens=extra, post_processor=template)))
    return path
