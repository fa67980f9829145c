"""Vectors that others publish: texts and the ids they expect. `make vectors` fetches them (fetch_vectors.py); without them, skipped.

Those of gpt-tokenizer are ids of tiktoken. Those of llama.cpp were made by the original tokenizers in transformers, and so are the ids that
the tokenizer.json of each model gives: a GGUF file has its tokens, merges and added tokens, and the rest of the file is put back here. The
exception is qwen35, whose expected ids are llama.cpp's own, which normalizes nothing: three of its texts are changed by NFC, as Qwen
normalizes, and there the file without its normalizer is what must give them. Left out are the vocabularies of llama.cpp that are no
byte-level BPE (SentencePiece, WordPiece, gemma), and those that have no expected ids (aquila, gpt-neox).
"""

from __future__ import annotations

import json
import re
import tomllib
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import tokenizers

from bitlex.tokenizer import Tokenizer
from bitlex.vocabularies import read
from gguf import read_gguf
from originals import DATA, VECTORS
from tokenizing import BYTE_LEVEL, added

# The family that cuts the text, and the normalizer, of each vocabulary; as in the tokenizer.json that is published with the model.
LLAMA = {
    "command-r": ("starcoder", "NFC"), "deepseek-coder": ("deepseek_coder", None), "deepseek-llm": ("deepseek_llm", None),
    "falcon": ("falcon", None), "gpt-2": ("bytelevel", None), "llama-bpe": ("llama3", None), "mpt": ("bytelevel", "NFC"),
    "qwen2": ("qwen2", "NFC"), "qwen35": ("qwen3_5", "NFC"), "refact": ("starcoder", None), "starcoder": ("starcoder", None),
}  # fmt: skip
NORMAL, USER_DEFINED = 1, 4  # types of tokens in a GGUF file
FAMILIES = Path(__file__).parent.parent / "tables/families.toml"


def there(*parts: str) -> pytest.MarkDecorator:
    path = VECTORS.joinpath(*parts)
    return pytest.mark.skipif(not path.exists(), reason=f"{path} is not there: make vectors")


def step(fields: dict[str, Any]) -> dict[str, Any]:
    """A step of families.toml as it stands in a tokenizer.json."""
    kind = fields["type"]
    if kind == "Split":
        return {"type": kind, "pattern": {"Regex": fields["regex"]}, "behavior": fields["behavior"].capitalize(), "invert": False}
    if kind == "Digits":
        return {"type": kind, "individual_digits": fields["individual"]}
    return {"type": kind, "behavior": fields["behavior"].capitalize()} if kind == "Punctuation" else BYTE_LEVEL


def tokenizer_json(name: str, normalizer: str | None) -> str:
    metadata = read_gguf(VECTORS / "llama.cpp" / f"ggml-vocab-{name}.gguf")
    tokens, types = metadata["tokenizer.ggml.tokens"], metadata["tokenizer.ggml.token_type"]
    steps = [step(fields) for fields in tomllib.loads(FAMILIES.read_text())["families"][LLAMA[name][0]]["steps"]]
    if BYTE_LEVEL not in steps:
        steps.append(BYTE_LEVEL | {"use_regex": False})
    entries = [
        added(number, content, normalized=kind == USER_DEFINED, special=kind != USER_DEFINED)
        for number, (content, kind) in enumerate(zip(tokens, types, strict=True)) if kind != NORMAL and not content.startswith("[PAD")
    ]  # fmt: skip
    model = {
        "type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None, "end_of_word_suffix": None, "fuse_unk": False,
        "byte_fallback": False, "ignore_merges": name == "llama-bpe", "vocab": {token: number for number, token in enumerate(tokens)},
        "merges": metadata["tokenizer.ggml.merges"],
    }  # fmt: skip
    return json.dumps({
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": entries, "normalizer": normalizer and {"type": normalizer},
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": steps}, "post_processor": None, "decoder": BYTE_LEVEL, "model": model,
    })  # fmt: skip


def vectors(name: str) -> Iterator[tuple[str, list[int]]]:
    path = VECTORS / "llama.cpp" / f"ggml-vocab-{name}.gguf"
    texts = path.with_name(path.name + ".inp").read_bytes().decode().split("\n__ggml_vocab_test__\n")
    expected = path.with_name(path.name + ".out").read_text().split("\n")
    for text, ids in zip(texts, expected, strict=True):
        yield text, list(map(int, ids.split()))


@there("llama.cpp")
@pytest.mark.parametrize("name", LLAMA)
def test_llama_cpp(name: str) -> None:
    content = tokenizer_json(name, LLAMA[name][1])
    ours, theirs = Tokenizer(read(content.encode(), name)), tokenizers.Tokenizer.from_str(content)
    assert ours.lexer.name == LLAMA[name][0]
    differing = []
    for text, expected in vectors(name):
        ids = ours.encode(text)
        assert ids == theirs.encode(text, add_special_tokens=False).ids, text
        assert ours.decode(ids) == (unicodedata.normalize("NFC", text) if LLAMA[name][1] else text)
        if ids != expected:
            differing.append((text, expected))
    if name != "qwen35":
        assert not differing
        return
    assert len(differing) == 3 and all(not unicodedata.is_normalized("NFC", text) for text, _ in differing)
    plain = Tokenizer(read(tokenizer_json(name, None).encode(), name))
    assert all(plain.encode(text) == expected for text, expected in vectors(name))


@there("gpt-tokenizer")
@pytest.mark.skipif(not DATA, reason="BITLEX_DATA names no folder with vocabularies")
def test_gpt_tokenizer() -> None:
    content = (VECTORS / "gpt-tokenizer/TestPlans.txt").read_bytes().decode()
    plans = re.findall(r"EncodingName: (\w+)\nSample: (.*)\nEncoded: (\[.*\])\n", content + "\n")
    assert len(plans) == content.count("EncodingName") == 313
    files = {name: "p50k_base" if name == "p50k_edit" else name for name, _, _ in plans}
    tokenizer = {name: Tokenizer.from_file(Path(DATA) / "vocab" / f"{file}.tiktoken", name=name) for name, file in files.items()}
    for name, sample, ids in plans:
        assert tokenizer[name].encode(sample) == json.loads(ids), (name, sample)
        assert tokenizer[name].decode(json.loads(ids)) == sample
