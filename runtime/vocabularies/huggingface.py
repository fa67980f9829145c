"""tokenizer.json of Hugging Face tokenizers, where its model is a byte-level BPE. And tokenizers.Tokenizer in memory.

In: the parsed file. Out: a Description. The parts of the file, and what is supported:

    model           BPE over the byte alphabet; merges as "a b" or ["a", "b"]; ignore_merges
    added_tokens    all flags; the ids must be those that tokenizers gives them, which does not read them from the file
    normalizer      null, NFC, or a Sequence of these
    pre_tokenizer   what `bitlex.compile` takes, with one ByteLevel in it
    post_processor  null, ByteLevel, TemplateProcessing, RobertaProcessing, BertProcessing, or a Sequence of these (processing.py)
    decoder         ByteLevel, alone or in a Sequence

Invariant: as tokenizers 0.23.3 encodes with the file, or refused by name. An option is let pass only where it changes nothing, as
`unk_token` where every byte of UTF-8 is a token. Merges of tokens that are not of the byte alphabet never happen and are left out.
Rejected: repairing files (a missing ByteLevel, ids that differ): the reference does not.
"""

from __future__ import annotations

import hashlib
import json
from array import array
from collections.abc import Mapping
from itertools import repeat
from operator import add
from typing import Any, Literal

from ..vocabulary import MOST_IDS, Description, Vocabulary, VocabularyError, starts_of
from .added_tokens import added_tokens
from .byte_alphabet import ALPHABET, to_bytes
from .json_fields import Fields, shown
from .matching import UNICODE, family_of
from .model import Model, parse_tokenizer
from .processing import check_byte_level, templates

__all__ = ["of_tokenizer", "read_huggingface"]

TOP = ("version", "truncation", "padding", "added_tokens", "normalizer", "pre_tokenizer", "post_processor", "decoder", "model")
MODEL = ("type", "dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk", "byte_fallback",
         "ignore_merges", "vocab", "merges")  # fmt: skip
BEHAVIORS = ("Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous")  # `bitlex.compile` takes "isolated" as well
SPACE = "\u2581"  # what SentencePiece has for U+0020
IN_UTF8 = [byte for byte in range(256) if byte not in (0xC0, 0xC1) and byte < 0xF5]


def of_tokenizer(tokenizer: Any, name: str | None = None) -> Description:
    """The Description of a tokenizers.Tokenizer, by way of what it would save."""
    where = f"{type(tokenizer).__name__} in memory"
    if getattr(tokenizer, "encode_special_tokens", False):
        raise VocabularyError(f"{where}: encode_special_tokens is set, which is not supported")
    data = tokenizer.to_str().encode()
    fields, known = parse_tokenizer(data, where)
    return read_huggingface(fields, data, name, known)


def read_huggingface(fields: Fields, data: bytes, name: str | None = None, known: Model | None = None) -> Description:
    """The Description of a tokenizer.json that was parsed from `data`. `known`: its model, if that was read."""
    fields.only(TOP)
    if "version" in fields.value:
        fields.choice("version", ("1.0",))
    model = fields.at("model")
    check_type(model)
    for key in ("truncation", "padding"):
        if fields.value.get(key) is not None:
            raise fields.wrong(key, f"{shown(fields.value[key])} is not supported; set it to null and cut or pad the ids")
    tokens: Mapping[str, int] = numbered_tokens(model) if known is None else known.tokens
    check_alphabet(fields, model, tokens)
    vocabulary, decoded = byte_tokens(model, tokens) if known is None else read_tokens(model, known)
    check_options(model, tokens)
    normalizer: Literal["NFC"] | None = "NFC" if normalizes(fields, "normalizer") else None
    added, spelled = added_tokens(fields, tokens, normalizer)
    check_decoder(fields)
    split, prefix_space = byte_level(fields)
    single, pair = templates(fields)
    try:
        family = family_of(split, "oniguruma")
    except ValueError as error:
        raise VocabularyError(f"{fields.where}: {error}") from None
    digest = hashlib.sha256(data).hexdigest()
    return Description(
        vocabulary=vocabulary, pre_tokenizer=split, dialect="oniguruma", unicode=UNICODE, family=family, added=added,
        decoded=decoded | spelled, convention="huggingface", name=name or digest[:12], format="huggingface", digest=digest,
        normalizer=normalizer, prefix_space=prefix_space, single=single, pair=pair,
    )  # fmt: skip


def check_type(model: Fields) -> None:
    """What the model is comes before the fields it has: those of another one are no news."""
    if "type" in model.value:
        model.choice("type", ("BPE",), " (it is no byte-pair encoding)")
    model.only(MODEL)


def check_alphabet(fields: Fields, model: Fields, tokens: Mapping[str, int]) -> None:
    """A BPE over the characters of SentencePiece, which lacks bytes, is told as what it is, not by the first option that goes with it."""
    if all(ALPHABET[byte] in tokens for byte in IN_UTF8):
        return
    around = [fields.value.get(key) for key in ("normalizer", "pre_tokenizer", "decoder")]
    if "<0x0A>" in tokens or any(SPACE in text or '"Metaspace"' in text for text in (json.dumps(part, ensure_ascii=False) for part in around)):
        raise model.wrong("vocab", f'is one of SentencePiece, with "{SPACE}" for a space, not of the byte alphabet: this is no byte-level BPE')


def numbered_tokens(model: Fields) -> dict[str, int]:
    """The vocabulary of the model, checked."""
    tokens: dict[str, int] = model.get("vocab", dict)
    numbers = list(tokens.values())
    vocab = Fields(tokens, model.where, model.name("vocab"))
    if set(map(type, numbers)) - {int} or min(numbers, default=0) < 0 or max(numbers, default=0) >= MOST_IDS:
        wrong = next(token for token, number in tokens.items() if type(number) is not int or not 0 <= number < MOST_IDS)
        raise vocab.wrong(wrong, f"{shown(tokens[wrong])} is not an id below {MOST_IDS}")
    if len(set(numbers)) != len(numbers):
        seen: dict[int, str] = {}
        for token, number in tokens.items():
            if seen.setdefault(number, token) != token:
                raise vocab.wrong(token, f"has the id {number}, as {shown(seen[number])} has")
    return tokens


def byte_tokens(model: Fields, tokens: Mapping[str, int]) -> tuple[Vocabulary, dict[int, bytes]]:
    """The vocabulary in bytes; and what the tokens that are not of the byte alphabet decode to, which no text is encoded to."""
    numbers = list(tokens.values())
    if numbers == list(range(len(numbers))):
        texts = list(tokens)
    else:
        texts = [""] * (max(numbers, default=-1) + 1)
        for text, number in tokens.items():
            texts[number] = text
    decoded: dict[int, bytes] = {}
    try:
        blob = to_bytes("".join(texts))
    except UnicodeEncodeError:
        alphabet = set(ALPHABET)
        for number, text in enumerate(texts):
            if not alphabet.issuperset(text):
                decoded[number], texts[number] = encoded(text, model), ""
        blob = to_bytes("".join(texts))
    starts = starts_of(texts)  # a character of the alphabet is a byte
    if "" in tokens:
        decoded[tokens[""]] = b""
    made = Vocabulary(blob, starts, merge_triples(model, tokens, decoded), model.get("ignore_merges", bool, False))
    try:
        made.check_pairs()
    except VocabularyError as error:
        raise model.wrong("merges", str(error)) from None
    return made, decoded


def read_tokens(model: Fields, known: Model) -> tuple[Vocabulary, dict[int, bytes]]:
    """The same of a model that was read, which has no merge twice."""
    tokens = known.tokens
    made = Vocabulary(tokens.blob, tokens.starts, known.merges, model.get("ignore_merges", bool, False))
    return made, {number: encoded(name, model) for number, name in tokens.others.items()}


def merge_triples(model: Fields, tokens: Mapping[str, int], dead: Mapping[int, bytes]) -> bytes:
    """The merges as ids."""
    lefts, rights = merge_pairs(model)
    try:
        left, right = list(map(tokens.__getitem__, lefts)), list(map(tokens.__getitem__, rights))
        made = list(map(tokens.__getitem__, map(add, lefts, rights)))
    except KeyError:
        for at, (one, other) in enumerate(zip(lefts, rights, strict=True)):
            for part in (one, other, one + other):
                if part not in tokens:
                    raise model.wrong(f"merges[{at}]", f"{shown(part)} is no token of model.vocab") from None
        raise
    if dead:
        alive = [at for at, triple in enumerate(zip(left, right, made, strict=True)) if dead.keys().isdisjoint(triple)]
        left, right, made = ([numbers[at] for at in alive] for numbers in (left, right, made))
    triples = array("I", bytes(12 * len(made)))
    triples[::3], triples[1::3], triples[2::3] = array("I", left), array("I", right), array("I", made)
    return triples.tobytes()


def merge_pairs(model: Fields) -> tuple[list[str], list[str]]:
    """The left and the right parts of the merges, in either syntax."""
    merges = model.get("merges", list)
    kinds = set(map(type, merges))
    if kinds <= {list}:
        if set(map(len, merges)) <= {2}:
            lefts, rights = [pair[0] for pair in merges], [pair[1] for pair in merges]
            if set(map(type, lefts)) | set(map(type, rights)) <= {str}:
                return lefts, rights
        at, pair = next((at, pair) for at, pair in enumerate(merges) if [type(part) for part in pair] != [str, str])
        raise model.wrong(f"merges[{at}]", f"{shown(pair)} is not two strings")
    if kinds != {str}:
        raise model.wrong("merges", "holds neither strings only nor lists only")
    joined = " ".join(merges)
    if "#version" in joined:  # what merges.txt begins with; the reference skips it wherever it stands
        merges = [line for line in merges if not line.startswith("#version")]
        joined = " ".join(merges)
    if set(map(str.count, merges, repeat(" "))) - {1}:
        at, line = next((at, line) for at, line in enumerate(merges) if line.count(" ") != 1)
        raise model.wrong(f"merges[{at}]", f"{shown(line)} is not two parts with a space between")
    parts = joined.split(" ") if merges else []
    return parts[::2], parts[1::2]


def check_options(model: Fields, tokens: Mapping[str, int]) -> None:
    """What would change the ids is refused; what only matters where a byte is no token passes if there is none."""
    if model.get("dropout", (int, float), 0):
        raise model.wrong("dropout", f"{shown(model.value['dropout'])} is not supported: the ids would hang on chance")
    for key in ("continuing_subword_prefix", "end_of_word_suffix"):
        if model.get(key, str, ""):
            raise model.wrong(key, f"{shown(model.value[key])} is not supported: tokens would not spell the text")
    missing = [byte for byte in IN_UTF8 if ALPHABET[byte] not in tokens]
    for key, kind in (("unk_token", str), ("byte_fallback", bool)):
        if model.get(key, kind, None) and missing:
            raise model.wrong(key, f"{shown(model.value[key])} is not supported where a byte, as 0x{missing[0]:02X}, is no token")
    model.get("fuse_unk", bool, None)


def normalizes(fields: Fields, key: str) -> bool:
    """Whether the normalizer is NFC; any other is refused."""
    if fields.value.get(key) is None:
        return False
    normalizer = fields.at(key)
    if normalizer.choice("type", ("NFC", "Sequence")) == "NFC":
        return True
    members = [one.choice("type", ("NFC",)) for one in normalizer.items("normalizers")]
    return bool(members)


def check_decoder(fields: Fields) -> None:
    """ByteLevel, which makes text of tokens; Fuse behind it changes nothing."""
    why = ": tokens would not become text"
    if fields.value.get("decoder") is None:
        raise fields.wrong("decoder", f"null is not supported{why}; supported: ByteLevel")
    decoder = fields.at("decoder")
    if decoder.choice("type", ("ByteLevel", "Sequence"), why) == "Sequence":
        decoder, *others = decoder.items("decoders") or [decoder]
        decoder.choice("type", ("ByteLevel",), why)
        for one in others:
            one.choice("type", ("Fuse",), why)
    check_byte_level(decoder)


def byte_level(fields: Fields) -> tuple[dict[str, Any], bool]:
    """The pre_tokenizer without the space that it adds before a text; and whether it does."""
    if fields.value.get("pre_tokenizer") is None:
        raise fields.wrong("pre_tokenizer", "null is not supported; supported: what has a ByteLevel in it")
    split = fields.at("pre_tokenizer")
    steps = flattened(split)
    for step in steps:
        if step.value.get("type") == "Split":
            step.booleans("invert")
        if "behavior" in step.value:
            step.choice("behavior", BEHAVIORS)
    levels = [at for at, step in enumerate(steps) if step.value.get("type") == "ByteLevel"]
    if len(levels) != 1:
        raise fields.wrong("pre_tokenizer", f"has {len(levels)} ByteLevel, not one")
    level = steps[levels[0]]
    check_byte_level(level)
    if not level.get("add_prefix_space", bool):
        return split.value, False
    if levels[0]:
        raise level.wrong("add_prefix_space", "true is not supported behind other steps: each of their pieces would get a space")
    rest = [step.value for step in steps[1:]]
    return {"type": "Sequence", "pretokenizers": [level.value | {"add_prefix_space": False}, *rest]}, True


def flattened(step: Fields) -> list[Fields]:
    """The steps of a pre_tokenizer, out of its Sequences."""
    if step.value.get("type") != "Sequence":
        return [step]
    return [inner for member in step.items("pretokenizers") for inner in flattened(member)]


def encoded(text: str, model: Fields) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise model.wrong("vocab", f"{shown(text)} has a lone surrogate") from None
