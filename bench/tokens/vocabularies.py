"""Vocabularies to measure with: files of a folder, or one made here; and each in the form that a tokenizer reads.

    for vocabulary in vocabularies(Path("/somewhere"), [], scratch, absent):      # the files of /somewhere/vocab
        files = vocabulary.files(ADAPTERS["snaptokens"])       # a tokenizer.json, made of the rank file if there is no other

Who reads only tokenizer.json gets a rank file converted as Hugging Face converts them: every pair of tokens that together are a token is
a merge, in order of what they make. tiktoken's newer patterns use what Oniguruma reads otherwise, so the pattern in it is the one that
published conversions have. Both are checked like all else: what comes out is compared. The made vocabulary holds the sequences of bytes
that are most frequent in made texts, and is cut by the pattern of cl100k: small, and no language's; it shows that things work.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import bitlex
from bitlex.generator import family
from bitlex.vocabularies import Description, VocabularyError, load
from bitlex.vocabularies.byte_alphabet import ALPHABET

from ..corpora import made
from .adapters import Adapter, Files, Unavailable

__all__ = ["CONVERTED", "SAVED", "Vocabulary", "vocabularies"]

CONVERTED = {"gpt2": "bytelevel", "cl100k": "llama3"}  # by whose steps published conversions of a family's rank files cut the text
SAVED = Adapter("bitlex", "bitlex", ("saved",), lambda files, threads: NotImplemented)
BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}


@dataclass
class Vocabulary:
    """`original` is the file given; others are made of it, in `scratch`, when they are asked for."""

    name: str
    original: Files
    description: Description
    scratch: Path
    known: dict[str, Files] = field(default_factory=dict)

    @property
    def reference(self) -> str:
        """The tokenizer whose ids are right by definition."""
        return "tiktoken" if self.original.kind == "ranks" else "tokenizers"

    @property
    def tokenizer(self) -> bitlex.Tokenizer:
        return bitlex.Tokenizer(self.description)

    def files(self, adapter: Adapter) -> Files:
        """The best form of those that it reads."""
        kinds = adapter.reads
        if self.original.kind in kinds:
            return self.original
        if "name" in kinds and self.original.kind == "ranks":
            return replace(self.original, kind="name")
        for kind, make in (("json", self.convert), ("saved", self.save)):
            if kind in kinds and (kind == "saved" or self.original.kind == "ranks"):
                if kind not in self.known:
                    self.known[kind] = make()
                return self.known[kind]
        raise Unavailable("reads rank files only" if "ranks" in kinds else "brings its own vocabularies, and this is none of them")

    def save(self) -> Files:
        path = self.scratch / f"{self.name}.bitlex"
        self.tokenizer.save(path)
        return Files("saved", str(path), self.original.name)

    def convert(self) -> Files:
        path = self.scratch / f"{self.name}.tokenizer.json"
        path.write_text(json.dumps(tokenizer_json(self.description)), encoding="utf-8")
        return Files("json", str(path), self.original.name)


def vocabularies(folder: Path | None, given: Sequence[str], scratch: Path, absent: dict[str, str]) -> Iterator[Vocabulary]:
    """Those of `folder`/vocab, or one made here if there is no such folder; or those that are given, by name or as files."""
    inner = folder / "vocab" if folder is not None else None
    files = sorted(path for path in inner.iterdir() if path.suffix in (".tiktoken", ".json")) if inner and inner.is_dir() else []
    by_name = {path.name.partition(".")[0]: path for path in files}
    if given:
        unknown = [name for name in given if name not in by_name and not Path(name).is_file()]
        if unknown:
            raise SystemExit(f"--vocabulary: {unknown[0]!r} is neither a file nor one of {', '.join(by_name) or 'none'}")
        files = [by_name.get(name, Path(name)) for name in given]
    if not files:
        yield made_here(scratch)
    for path in files:
        try:
            found = of_file(path, scratch)
        except VocabularyError as error:
            if given:
                raise SystemExit(f"--vocabulary: {error}") from None
            absent[path.name] = str(error)
        else:
            yield found


def of_file(path: Path, scratch: Path, **options: Any) -> Vocabulary:
    description = load(path, **options)
    name = path.name.partition(".")[0]
    if description.format == "tiktoken":
        if description.family is None:
            raise VocabularyError(f"{path}: is cut by no pattern of the catalogue")
        pattern = str(family(description.family).steps[0].regex)
        special = {token.content: token.id for token in description.added}
        original = Files("ranks", str(path), description.name, description.family, pattern, special, not options)
    elif description.format == "huggingface":
        original = Files("json", str(path), name)
    else:
        raise VocabularyError(f"{path}: of the format {description.format}, which no other tokenizer here reads")
    return Vocabulary(name, original, description, scratch)


def made_here(scratch: Path, size: int = 4_000) -> Vocabulary:
    """The 256 bytes, and what is frequent in 50 KB of each made text."""
    tokens = [*(bytes([byte]) for byte in range(256)), *frequent(size - 256)]
    path = scratch / "made_here.tiktoken"
    path.write_bytes(b"".join(b"%s %d\n" % (b64encode(token), rank) for rank, token in enumerate(tokens)))
    return of_file(path, scratch, name="made_here", family="cl100k", special={})


@cache
def frequent(count: int) -> list[bytes]:
    """The parts of two to eight bytes that most pieces of these texts have."""
    counts: Counter[bytes] = Counter()
    lexer = bitlex.lexer("cl100k")
    for text in made(50_000).values():
        for piece, times in Counter(lexer.split(text.encode())).items():
            for start in range(len(piece)):
                for end in range(start + 2, min(len(piece), start + 8) + 1):
                    counts[piece[start:end]] += times
    return sorted(counts, key=lambda token: (-counts[token], len(token), token))[:count]


def tokenizer_json(description: Description) -> dict[str, Any]:
    """The tokenizer.json of a rank file."""
    tokens, ids = description.vocabulary.tokens(), description.vocabulary.ids
    spelled = [token.decode("latin-1").translate(ALPHABET) for token in tokens]
    merges = []
    for token in tokens:
        splits = ((ids.get(token[:at]), ids.get(token[at:])) for at in range(1, len(token)))
        pairs = sorted((left, right) for left, right in splits if left is not None and right is not None)
        merges += [[spelled[left], spelled[right]] for left, right in pairs]
    steps = family(CONVERTED.get(str(description.family), str(description.family))).steps
    split = {"type": "Split", "behavior": "Isolated", "invert": False}
    by_pattern = [split | {"pattern": {"Regex": step.regex}} for step in steps if step.regex]
    plain = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    added = [{"id": token.id, "content": token.content, **plain} for token in description.added]
    byte_level = BYTE_LEVEL | {"use_regex": not by_pattern}
    return {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": added, "normalizer": None,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [*by_pattern, byte_level]} if by_pattern else byte_level,
        "post_processor": None, "decoder": byte_level,
        "model": {
            "type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None, "end_of_word_suffix": None,
            "fuse_unk": False, "byte_fallback": False, "ignore_merges": True,
            "vocab": {token: number for number, token in enumerate(spelled) if token}, "merges": merges,
        },
    }  # fmt: skip
