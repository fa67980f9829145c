"""Tokenizers as files that others read: a Description in; .tiktoken, tokenizer.json or a minbpe model out.

    write(tokenizer.description, "mine.tiktoken")                  # what to write, its name says
    write(tokenizer.description, "tokenizer.json")
    write(tokenizer.description, "mine.model")                     # and mine.vocab, to look at

Invariant: who reads the file encodes every text to the same ids, or it is refused, and the message says why. A rank file holds no pattern
and no special tokens: who loads it must give them. What cuts the text is compared as machines where the other engine reads the pattern
in its own dialect (tokenizers 0.23.3 by Oniguruma and Unicode 16.0, minbpe by the regex module). What is done about the names of special
tokens in a text is the reader's convention: tokenizers finds them, also those of a tekken.json, which Mistral's library never takes
from text. Files appear when they are whole.
Rejected: writing what is nearly the same.
"""

from __future__ import annotations

import json
import os
from binascii import b2a_base64
from collections.abc import Mapping, Sequence
from typing import Any

from ..outputs import whole_files
from ..vocabulary import AddedToken, Description, VocabularyError
from .byte_alphabet import ALPHABET, to_bytes
from .matching import UNICODE, matches_of
from .minbpe import CHECKED, REGEX_UNICODE, VERSION, checksum_line, has_group, readable
from .processing import PLAIN
from .ranks import check_ranks, merges_by_rank

__all__ = ["FORMATS", "contents", "format_of", "huggingface", "huggingface_fields", "minbpe", "names", "ranks", "write"]

FORMATS = ("tiktoken", "huggingface", "minbpe")
BY_SUFFIX = {".tiktoken": "tiktoken", ".json": "huggingface", ".model": "minbpe"}


def format_of(path: str | os.PathLike[str]) -> str | None:
    """What the name of a file says is to be written; None if it says nothing."""
    return BY_SUFFIX.get(os.path.splitext(path)[1])


def write(description: Description, path: str | os.PathLike[str], format: str | None = None) -> None:
    """Write a tokenizer in the format of this name, else in that which the name of the file says."""
    if not isinstance(description, Description):
        raise TypeError(f"expected a Description, got {type(description).__name__}; tokenizer.description is that of a tokenizer")
    chosen = format or format_of(path)
    if chosen not in FORMATS:
        raise ValueError(f"{path}: say what to write: a name that ends in {', '.join(BY_SUFFIX)}, or a format of {', '.join(FORMATS)}")
    files = contents(description, path, chosen)
    with whole_files(*files) as opened:
        for file, content in zip(opened, files.values(), strict=True):
            file.write(content)


def contents(description: Description, path: str | os.PathLike[str], format: str) -> dict[str, bytes]:
    """What would be written: the files and what is in them, the one that is asked for last."""
    if format == "minbpe":
        made = [readable(description), minbpe(description)]
    else:
        made = [ranks(description) if format == "tiktoken" else huggingface(description)]
    return dict(zip(names(path, format), made, strict=True))


def names(path: str | os.PathLike[str], format: str | None) -> list[str]:
    """The files of this format, the one that is asked for last."""
    where = os.fspath(path)
    return [os.path.splitext(where)[0] + ".vocab", where] if format == "minbpe" else [where]


def ranks(description: Description) -> bytes:
    """A rank file: the tokens without special ones, each in base64 and its id."""
    refuse_additions(description, "a rank file")
    check_ranks(description.vocabulary, description.name)
    lines = [b2a_base64(token, newline=False) + b" %d\n" % number for number, token in enumerate(description.vocabulary.tokens()) if token]
    return b"".join([*lines, *(b"= %d\n" % number for number, token in description.decoded.items() if not token)])


def minbpe(description: Description, *, checked: bool = False) -> bytes:
    """A model of minbpe, as it writes them itself; or of version 2, which holds any special token, and cannot be cut unnoticed."""
    vocabulary = description.vocabulary
    refuse_additions(description, "a model of minbpe")
    if vocabulary.tokens()[:256] != [bytes([byte]) for byte in range(256)]:
        raise VocabularyError(f"{description.name}: a model of minbpe has the bytes as its first 256 tokens")
    flat = memoryview(vocabulary.merges if vocabulary.merges is not None else merges_by_rank(vocabulary)).cast("I").tolist()
    if vocabulary.whole:
        check_ranks(vocabulary, description.name)
    if flat[2::3] != list(range(256, len(vocabulary))):
        raise VocabularyError(f"{description.name}: a model of minbpe has a token for each merge, in their order, and no others")
    pattern = "" if description.family is None and description.pre_tokenizer is None else pattern_for_minbpe(description, checked)
    special = {token.content: token.id for token in description.added}
    merges = [f"{left} {right}" for left, right in zip(flat[::3], flat[1::3], strict=True)]
    if checked:
        quoted = [f"{json.dumps(content)} {number}" for content, number in special.items()]
        lines = [CHECKED, json.dumps(pattern), str(len(special)), *quoted, str(len(merges)), *merges]
        data = "".join(line + "\n" for line in lines).encode()
        return data + checksum_line(data)
    for content in special:
        if content.split() != [content]:
            raise VocabularyError(f"{description.name}: special token {content!r} has white space, which minbpe cannot read back")
    lines = [VERSION, pattern, str(len(special)), *(f"{content} {number}" for content, number in special.items()), *merges]
    return "".join(line + "\n" for line in lines).encode()


def pattern_for_minbpe(description: Description, any_text: bool) -> str:
    steps = description.lexer().steps
    if len(steps) != 1 or steps[0]["kind"] != "Split" or steps[0].get("regex") is None:
        by = description.lexer().pattern
        raise VocabularyError(f"{description.name}: a model of minbpe is cut by one regular expression, this by {by}")
    pattern = str(steps[0]["regex"])
    if has_group(pattern):
        raise VocabularyError(f"{description.name}: the pattern {pattern!r} has a capturing group, of which minbpe takes what it caught")
    if not any_text and (pattern.strip() != pattern or "\n" in pattern or "\r" in pattern):
        raise VocabularyError(f"{description.name}: the pattern {pattern!r} does not fit a line of a model of minbpe")
    refuse_difference(description, matches_of(pattern), "python", REGEX_UNICODE, "minbpe")
    return pattern


def huggingface(description: Description) -> bytes:
    """A tokenizer.json for Hugging Face tokenizers."""
    return json.dumps(huggingface_fields(description), ensure_ascii=False, indent=2).encode()


def huggingface_fields(description: Description) -> dict[str, Any]:
    """What is in it."""
    vocabulary = description.vocabulary
    if description.prefix_space:
        raise VocabularyError(f"{description.name}: a space that is put before texts is not written")
    texts = ["".join(map(ALPHABET.__getitem__, token)) for token in vocabulary.tokens()]
    tokens = model_tokens(description, texts)
    flat = memoryview(vocabulary.merges if vocabulary.merges is not None else merges_by_rank(vocabulary)).cast("I").tolist()
    added = [
        {"id": token.id, "content": token.content, "single_word": token.single_word, "lstrip": token.lstrip, "rstrip": token.rstrip,
         "normalized": token.normalized, "special": token.special}
        for token in description.added
    ]  # fmt: skip
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    return {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": added,
        "normalizer": None if description.normalizer is None else {"type": description.normalizer},
        "pre_tokenizer": split_for_huggingface(description, level), "post_processor": template(description), "decoder": level | {"use_regex": True},
        "model": {
            "type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None, "end_of_word_suffix": None,
            "fuse_unk": False, "byte_fallback": False, "ignore_merges": vocabulary.whole, "vocab": tokens,
            "merges": [[texts[left], texts[right]] for left, right in zip(flat[::3], flat[1::3], strict=True)],
        },
    }  # fmt: skip


def model_tokens(description: Description, texts: Sequence[str]) -> dict[str, int]:
    """The ids of the model: of its tokens, of those that no text is encoded to, and of the added ones whose ids do not follow these, as
    tokenizers would have it. `texts`: what the vocabulary has."""
    added = sorted(description.added, key=lambda token: token.id)
    tokens = {text: number for number, text in enumerate(texts) if text}
    for number in description.decoded.keys() - {token.id for token in added}:
        tokens[description.decoded[number].decode()] = number
    for token in added:
        if tokens.get(token.content, token.id) != token.id:
            raise VocabularyError(f"{description.name}: special token {token.content!r} is also token {tokens[token.content]}")
    others = [token for token in added if token.content not in tokens]
    while others and others[-1].id == len(tokens) + len(others) - 1:
        others.pop()
    for token in others:
        if is_met(token, description):
            what = f"its id, {token.id}, could only be kept by a token of the model, which text that is no added token may be encoded to"
            raise VocabularyError(f"{description.name}: added token {token.content!r}: {what}")
        tokens[token.content] = token.id
    return dict(sorted(tokens.items(), key=lambda item: item[1]))


def is_met(token: AddedToken, description: Description) -> bool:
    """Whether a piece of text may be the token of the model that is spelled as this added one, where that was not found."""
    try:
        spelled = to_bytes(token.content)
    except UnicodeEncodeError:
        return False
    hidden = token.single_word or description.normalizer is not None or spelled != token.content.encode()
    return len(spelled) == 1 or (description.vocabulary.whole and hidden)


def template(description: Description) -> dict[str, Any] | None:
    """The post_processor that puts special tokens around texts, if any are."""
    if (description.single, description.pair) == PLAIN:
        return None
    names = {what: str(what) for items in (description.single, description.pair) for what, _ in items if isinstance(what, int)}
    names |= {token.id: token.content for token in description.added if token.id in names}
    single, pair = (
        [
            {"Sequence": {"id": what, "type_id": kind}} if isinstance(what, str) else {"SpecialToken": {"id": names[what], "type_id": kind}}
            for what, kind in items
        ]
        for items in (description.single, description.pair)
    )  # fmt: skip
    special = {name: {"id": name, "ids": [number], "tokens": [name]} for number, name in names.items()}
    return {"type": "TemplateProcessing", "single": single, "pair": pair, "special_tokens": special}


def split_for_huggingface(description: Description, level: dict[str, Any]) -> dict[str, Any]:
    """The pre_tokenizer, with one ByteLevel in it."""
    from ..training.cutting import pre_tokenizer_of

    try:
        split = pre_tokenizer_of(description.lexer().steps)
    except ValueError as error:
        raise VocabularyError(f"{description.name}: {error}") from None
    refuse_difference(description, split, "oniguruma", UNICODE, "tokenizers 0.23.3")
    members = [] if split is None else split["pretokenizers"] if split["type"] == "Sequence" else [split]
    if any(member["type"] == "ByteLevel" for member in members):
        members = [member if member["type"] != "ByteLevel" else level | member for member in members]
    else:
        members = [*members, level]
    return members[0] if len(members) == 1 else {"type": "Sequence", "pretokenizers": members}


def refuse_additions(description: Description, what: str) -> None:
    if description.normalizer is not None or description.prefix_space:
        raise VocabularyError(f"{description.name}: {what} cannot say that text is normalized, or that a space is put before it")
    for token in description.added:
        if token.lstrip or token.rstrip or token.single_word or not token.special:
            raise VocabularyError(f"{description.name}: {what} cannot say what is particular to added token {token.content!r}")


def refuse_difference(description: Description, split: Mapping[str, Any] | None, dialect: Any, unicode: str, reader: str) -> None:
    """VocabularyError if the reader of a file would cut some text differently."""
    from ..comparison import difference
    from ..compiler import compile

    ours = description.lexer()
    if ours.dialect == dialect and ours.unicode == unicode:
        return
    try:
        found = difference(ours, compile(split, dialect=dialect, unicode=unicode))
    except ValueError as error:
        raise VocabularyError(f"{description.name}: {reader} cannot be shown to cut text as {ours.name} does: {error}") from None
    if found is not None:
        raise VocabularyError(
            f"{description.name}: {reader}, which reads the pattern as {dialect} and Unicode {unicode}, would cut {found.text!r} to "
            f"{found.second}, not {found.first}; train with a pattern compiled for it"
        )
