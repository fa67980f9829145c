"""tekken.json of Mistral: ranks as in tiktoken, behind a block of special tokens.

    {"config": {"pattern": "...", "default_vocab_size": 131072, "default_num_special_tokens": 1000, "version": "v3"},
     "vocab": [{"rank": 0, "token_bytes": "AA==", "token_str": "\\u0000"}, ...], "special_tokens": [{"rank": 0, "token_str": "<unk>"}]}

In: the parsed file. Out: a Description in which the token of rank r has the id r + 1000: the first ids are special. Only as many
ranks are used as the size of the vocabulary leaves, as mistral-common does. Text never holds a special token: who makes a prompt
puts their ids there. Files of version 7 and earlier may leave them out; then they are those that mistral-common has for them.

Invariant: ids, pieces and special tokens are those of mistral-common 1.13.1. Rejected: reading `token_str` (it is missing where the
bytes are no text).
"""

from __future__ import annotations

import hashlib
import re
from binascii import a2b_base64

from ..vocabulary import AddedToken, Description, Vocabulary, VocabularyError
from .json_fields import Fields, quoted
from .matching import UNICODE, family_of, matches_of
from .tiktoken import BASE64, special_tokens

__all__ = ["read_tekken"]

# Of files that name none, in order of their ids.
EARLY = (
    "<unk>", "<s>", "</s>", "[INST]", "[/INST]", "[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]", "[TOOL_RESULTS]", "[/TOOL_RESULTS]",
    "[TOOL_CALLS]", "[IMG]", "<pad>", "[IMG_BREAK]", "[IMG_END]", "[PREFIX]", "[MIDDLE]", "[SUFFIX]", "[SYSTEM_PROMPT]",
    "[/SYSTEM_PROMPT]", "[TOOL_CONTENT]",
)  # fmt: skip
LAST_WITHOUT = 7
LINES = re.compile(rb"(?:" + BASE64 + rb"(?:\n|\Z))*+")


def read_tekken(fields: Fields, data: bytes, name: str | None = None) -> Description:
    """The Description of a tekken.json that was parsed from `data`."""
    config = fields.at("config")
    size, count = (config.get(key, int) for key in ("default_vocab_size", "default_num_special_tokens"))
    ranks = fields.get("vocab", list)
    if not count <= size <= len(ranks) + count:
        raise config.wrong("default_vocab_size", f"{size} is not from {count} special tokens to {len(ranks)} more")
    try:
        used = ranks[: size - count]
        spelled = [entry["token_bytes"] for entry in used]
        if [entry["rank"] for entry in used] != list(range(len(used))) or LINES.fullmatch("\n".join(spelled).encode()) is None:
            raise one_by_one(fields)
    except (KeyError, TypeError, UnicodeEncodeError):
        raise one_by_one(fields) from None
    try:
        vocabulary = Vocabulary.from_ranks([b""] * count + list(map(a2b_base64, spelled)))
    except VocabularyError as error:
        raise fields.wrong("vocab", str(error)) from None
    special = special_names(fields, count)
    split = matches_of(config.get("pattern", str))
    digest = hashlib.sha256(data).hexdigest()
    added: tuple[AddedToken, ...] = special_tokens(special, fields.where)
    return Description(
        vocabulary=vocabulary, pre_tokenizer=split, dialect="fancy", unicode=UNICODE, family=family_of(split, "fancy"), added=added,
        decoded={token.id: token.content.encode() for token in added}, convention="tekken", name=name or "tekken",
        format="tekken", digest=digest,
    )  # fmt: skip


def special_names(fields: Fields, count: int) -> dict[str, int]:
    """The special tokens: those that are named, and `<SPECIAL_n>` for the others."""
    version = fields.at("config").get("version", str)
    number = re.fullmatch(r"v(\d{1,9})(?:m\d+)?", version)
    if fields.value.get("special_tokens") is not None:
        found = [(entry.get("token_str", str), entry.get("rank", int)) for entry in fields.items("special_tokens")]
    elif number is not None and int(number[1]) <= LAST_WITHOUT:
        found = [(content, at) for at, content in enumerate(EARLY)]
    else:
        raise fields.wrong("special_tokens", f"missing in a file of version {version}")
    special = dict(found)
    if sorted(special.values()) != list(range(len(found))) or len(found) > count:
        raise fields.wrong("special_tokens", f"the {len(found)} ranks are not those from 0 on, once each, and at most {count}")
    return special | {f"<SPECIAL_{at}>": at for at in range(len(found), count)}


def one_by_one(fields: Fields) -> VocabularyError:
    """Which entry of the vocabulary is wrong."""
    for at, entry in enumerate(fields.items("vocab")):
        if entry.get("rank", int) != at:
            return entry.wrong("rank", f"{entry.value['rank']} where {at} should be")
        spelled = entry.get("token_bytes", str)
        if re.fullmatch(BASE64, spelled.encode("ascii", "replace")) is None:
            return entry.wrong("token_bytes", f"{quoted(spelled)} is not base64")
    raise AssertionError("every entry is as it should be")
