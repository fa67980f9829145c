"""Vocabularies as people have them: a file, or a tokenizer in memory, in; a Description of the tokenizer out.

    load("cl100k_base.tiktoken")                                  # known by its digest
    load("mine.tiktoken", family="cl100k", special={"<|end|>": 100300})
    load("tokenizer.json"); load("tekken.json"); load("mine.model")
    load(tokenizers.Tokenizer.from_pretrained("gpt2")); load(tiktoken.get_encoding("o200k_base"))

The content of a file decides what it is, not its name. One module for each format: `tiktoken` (rank files), `huggingface`
(tokenizer.json with a byte-level BPE), `tekken` (Mistral), `minbpe`. Invariant: what is not supported is refused by a
VocabularyError that names the file, the field or line, and the value; nothing is left out or approximated. None of the packages that
wrote the files is needed, nor numpy; and only the module that a file needs is imported, since all of them take as long as reading half of a
rank file. Rejected: a table of file names.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any

from ..opening import naming
from ..vocabulary import AddedToken, Description, Vocabulary, VocabularyError

__all__ = ["AddedToken", "Description", "Vocabulary", "VocabularyError", "load", "read"]

# What other files of tokenizers begin with, and what to do.
OTHERS = (
    (b"BITLEXT", "counted pieces, or a checkpoint of a training, which are no tokenizer yet; train goes on from them"),
    (b"BITLEX", "a saved tokenizer, which Tokenizer.from_file reads"),
    (b"GGUF", "a GGUF file; give the tokenizer.json of the model"),
    (b"#version", "a merges.txt, which has no ids; give the tokenizer.json that belongs to it"),
    (b"\n\x0e\n\x05<unk>", "a SentencePiece model, which is no byte-level BPE"),
    (b"version https://git-lfs", "a pointer to a file that Git LFS has not fetched"),
)

BEGINNING = 1 << 12  # bytes of a file that tell what it is not, so that a model of gigabytes is not read for that
BEGUN = rb"\s*[A-Za-z0-9+/]*={0,2}[ \t]*[0-9]*"  # what may still become the first line of a rank file


def load(
    source: str | os.PathLike[str] | Any, *, name: str | None = None, family: str | None = None, pattern: str | None = None,
    special: Mapping[str, int] | None = None,
) -> Description:  # fmt: skip
    """The Description of a tokenizer: of a file, or of a tiktoken.Encoding or tokenizers.Tokenizer in memory.

    name     what to call it, instead of what it calls itself; of rank files that are published under several names, the one meant:
             p50k_base or p50k_edit, o200k_base or o200k_harmony, llama3 or llama3_1; not one that another file has
    family, pattern, special   of rank files, which do not say it themselves: the family of the catalogue that cuts the text, or the
             regular expression (in tiktoken's dialect), and the ids of all special tokens, instead of those that are known

    VocabularyError (a ValueError) for a file that is malformed or not supported; OSError for one that cannot be read.
    """
    refuse_types(name=name, family=family, pattern=pattern)
    if isinstance(source, (str, os.PathLike)):
        refuse_content(source)
        path = os.fspath(source)
        with naming(path), open(path, "rb", buffering=0) as file:
            if file.seekable():  # not a pipe, which gives less than there is
                beginning = file.read(BEGINNING)
                refuse_other(beginning, path, more=len(beginning) == BEGINNING)
                file.seek(0)
            data = file.readall()
        return read(data, path, name=name, family=family, pattern=pattern, special=special)
    refuse_options("a tokenizer in memory", family, pattern, special)
    if hasattr(source, "_mergeable_ranks"):
        from .tiktoken import of_encoding

        return of_encoding(source, name)
    source = getattr(source, "backend_tokenizer", source)  # of a fast tokenizer of transformers
    if hasattr(source, "to_str"):
        from .huggingface import of_tokenizer

        return of_tokenizer(source, name)
    if isinstance(source, (bytes, bytearray, memoryview)):
        raise TypeError(f"expected a path, got {type(source).__name__}; Tokenizer.from_bytes takes the content of a file")
    raise TypeError(f"expected a path, a tiktoken.Encoding or a tokenizers.Tokenizer, got {type(source).__name__}")


def refuse_types(**options: object) -> None:
    for option, given in options.items():
        if not isinstance(given, str | None):
            raise TypeError(f"{option} is {given!r:.80}; it may be a str")


def refuse_content(path: str | os.PathLike[str]) -> None:
    """A str that is what a file holds, and not where that is: the OSError for a path so long would show all of it."""
    if isinstance(path, str) and (path.lstrip()[:1] == "{" or "\n" in path) and not os.path.exists(path):
        raise VocabularyError(f"{path[:20]!r}... is the content of a file, not its path; Tokenizer.from_bytes takes content, as bytes")


def read(
    data: bytes, where: str, *, name: str | None = None, family: str | None = None, pattern: str | None = None,
    special: Mapping[str, int] | None = None,
) -> Description:  # fmt: skip
    """`load` of the content of a file; `where` begins the messages of errors."""
    from .tiktoken import looks_like_ranks, read_tiktoken

    refuse_types(name=name, family=family, pattern=pattern)
    if not isinstance(data, (bytes, bytearray)):
        raise TypeError(f"expected the content of a file as bytes, got {type(data).__name__}")
    if looks_like_ranks(data):
        return read_tiktoken(data, where, name=name, family=family, pattern=pattern, special=special)
    refuse_other(data, where)
    if data.lstrip()[:1] == b"{":
        return read_json(data, where, name, family, pattern, special)
    from .minbpe import read_minbpe

    refuse_options(where, family, pattern, special)
    return read_minbpe(data, where, name)


def refuse_other(beginning: bytes, where: str, *, more: bool = False) -> None:
    """VocabularyError for what begins as none of the formats does. `more`: the file goes on behind it."""
    from .tiktoken import looks_like_ranks

    if beginning.lstrip()[:1] == b"{" or looks_like_ranks(beginning) or (more and re.fullmatch(BEGUN, beginning) is not None):
        return
    from .minbpe import MAGIC

    if beginning.startswith(MAGIC):
        return
    if not beginning:
        raise VocabularyError(f"{where}: is empty")
    for other, what in OTHERS:
        if beginning.startswith(other):
            raise VocabularyError(f"{where}: {what}")
    raise VocabularyError(
        f"{where}: begins with {beginning[:16]!r}: no rank file (tiktoken), tokenizer.json, tekken.json or minbpe model"
    )


def read_json(data: bytes, where: str, name: str | None, *options: object) -> Description:
    from .model import parse_tokenizer

    fields, known = parse_tokenizer(data, where)
    if "model" in fields.value:
        from .huggingface import read_huggingface

        refuse_options(where, *options)
        try:
            return read_huggingface(fields, data, name, known)
        except RecursionError:  # some versions of Python read deeper JSON than can be followed
            raise VocabularyError(f"{where}: is nested too deeply") from None
    if "config" in fields.value and "vocab" in fields.value:
        from .tekken import read_tekken

        refuse_options(where, *options)
        return read_tekken(fields, data, name)
    raise VocabularyError(f'{where}: neither a tokenizer.json (no "model") nor a tekken.json (no "config" and "vocab")')


def refuse_options(where: str, *options: object) -> None:
    if any(option is not None for option in options):
        raise VocabularyError(f"{where}: family=, pattern= and special= are for rank files; others say it themselves")
