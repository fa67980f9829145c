"""Published tokenizers, as bitlex loads them and as their own packages run them: what tests of equality compare.

BITLEX_DATA names a folder: `vocab` holds rank files and tokenizer.json files, `corpora` texts, golden.json digests. What
`python -m tests.fetch_vectors` fetched lies in BITLEX_VECTORS, by default build/vectors. The encodings of OpenAI are made by tiktoken's own
constructors, with the patterns that stand there; the pattern of qwen is that of tokenization_qwen.py, published with the model; the one of
a tekken.json stands in it. So nothing of ours is in what ours is compared with.
"""

from __future__ import annotations

import json
import os
from base64 import b64decode
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from unittest.mock import patch

import tiktoken
import tiktoken_ext.openai_public
import tokenizers
from tiktoken.load import load_tiktoken_bpe

from bitlex.tokenizer import Tokenizer

DATA = os.environ.get("BITLEX_DATA", "")
VECTORS = Path(os.environ.get("BITLEX_VECTORS") or Path(__file__).parent.parent / "build/vectors")
OPENAI = ("r50k_base", "p50k_base", "cl100k_base", "o200k_base")
RANK_FILES = (*OPENAI, "qwen")
JSON_FILES = ("gpt2", "llama3", "qwen3", "deepseek_v3")
TEKKEN = ("tekken_240718", "tekken_240911")
QWEN = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"


def file_of(name: str) -> Path:
    """Where the file of a vocabulary is, or would be."""
    if name in TEKKEN:
        return VECTORS / "tekken" / f"{name}.json"
    return Path(DATA) / "vocab" / (f"{name}.tiktoken" if name in RANK_FILES else f"{name}.tokenizer.json")


@cache
def tokenizer_of(name: str) -> Tokenizer:
    return Tokenizer.from_file(file_of(name))


@cache
def tiktoken_of(name: str) -> tiktoken.Encoding:
    """The Encoding of a rank file or tekken.json; of a tekken.json without its special tokens, each id less by `shift_of`."""
    if name in OPENAI:
        with (
            patch.dict(os.environ, {"TIKTOKEN_CACHE_DIR": ""}),
            patch.object(tiktoken_ext.openai_public, "load_tiktoken_bpe", lambda *_, **__: load_tiktoken_bpe(str(file_of(name)))),
        ):
            return tiktoken.Encoding(**tiktoken_ext.openai_public.ENCODING_CONSTRUCTORS[name]())
    if name == "qwen":
        with patch.dict(os.environ, {"TIKTOKEN_CACHE_DIR": ""}):
            ranks = load_tiktoken_bpe(str(file_of(name)))
        special = ("<|endoftext|>", "<|im_start|>", "<|im_end|>", *(f"<|extra_{number}|>" for number in range(205)))
        numbered = {content: len(ranks) + at for at, content in enumerate(special)}
        return tiktoken.Encoding(name, pat_str=QWEN, mergeable_ranks=ranks, special_tokens=numbered)
    content = json.loads(file_of(name).read_bytes())
    config = content["config"]
    used = content["vocab"][: config["default_vocab_size"] - config["default_num_special_tokens"]]
    ranks = {b64decode(entry["token_bytes"]): entry["rank"] for entry in used}
    return tiktoken.Encoding(name, pat_str=config["pattern"], mergeable_ranks=ranks, special_tokens={})


def shift_of(name: str) -> int:
    """By how much the ids of text lie above those of `tiktoken_of`."""
    return int(json.loads(file_of(name).read_bytes())["config"]["default_num_special_tokens"]) if name in TEKKEN else 0


@cache
def tokenizers_of(name: str) -> tokenizers.Tokenizer:
    return tokenizers.Tokenizer.from_file(str(file_of(name)))


def corpora() -> Iterator[tuple[str, str]]:
    for path in sorted((Path(DATA) / "corpora").iterdir()):
        with path.open(encoding="utf-8", newline="") as file:
            yield path.name, file.read()
