"""The added_tokens of a tokenizer.json, with the ids that tokenizers gives them, and what they decode to.

tokenizers does not read the id of an added token: it is that of the same text in the vocabulary of the model, else the next after all
tokens. Invariant: a file in which these differ is refused, for its ids are not those that come out. So are two tokens of one text, of
which the reference keeps the last, and two of one normalized text, of which it takes either. A token decodes as any other, by the
byte alphabet if its characters are all of that: "é" decodes to the byte E9. Refused as well: a token of nothing but white space with
`lstrip`, beside one with `rstrip` that may already have all of it, where the reference panics or loses the token. Rejected: the ids of
the file.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..added import WHITE_SPACE
from ..normalization import nfc
from ..vocabulary import AddedToken
from .byte_alphabet import bytes_or_text
from .json_fields import Fields, shown

__all__ = ["added_tokens"]

FLAGS = ("special", "lstrip", "rstrip", "single_word", "normalized")


def added_tokens(
    fields: Fields, tokens: Mapping[str, int], normalizer: str | None
) -> tuple[tuple[AddedToken, ...], dict[int, bytes]]:
    """The added tokens in order of their ids; and what they decode to."""
    found: dict[str, AddedToken] = {}
    looked_for: dict[tuple[bool, str], str] = {}
    decoded: dict[int, bytes] = {}
    taken: set[int] | None = None  # the ids of the model; most files have no need of them
    following = len(tokens)
    for entry in fields.items("added_tokens") if "added_tokens" in fields.value else []:
        entry.each_once()
        content = entry.get("content", str)
        flags = {key: entry.get(key, bool) for key in FLAGS}
        if not content:
            continue
        try:
            content.encode()
        except UnicodeEncodeError:
            raise entry.wrong("content", f"{shown(content)} has a lone surrogate") from None
        number = tokens.get(content, following)
        if content in found:
            raise entry.wrong("content", f"{shown(content)} is there already")
        if content not in tokens:
            taken = set(tokens.values()) if taken is None else taken
            following += 1
            if number in taken:
                raise entry.wrong("id", f"tokenizers gives {shown(content)} the id {number}, which another token has")
        if entry.get("id", int) != number:
            raise entry.wrong("id", f"{entry.value['id']}, but tokenizers gives {shown(content)} the id {number}")
        text = nfc(content) if normalizer and flags["normalized"] else content
        other = looked_for.setdefault((flags["normalized"], text), content)
        if other != content:
            raise entry.wrong("content", f"{shown(content)} is {shown(other)} when normalized")
        found[content] = AddedToken(number, content, **flags)
        decoded[number] = bytes_or_text(text)
    swallows = {one.normalized: one for one in reversed(found.values()) if one.rstrip}  # the first of each kind
    for token in found.values():
        if token.lstrip and token.normalized in swallows and not token.content.strip(WHITE_SPACE):
            what = f"{shown(token.content)} with lstrip is not supported beside {shown(swallows[token.normalized].content)} with rstrip"
            raise fields.wrong("added_tokens", what)
    return tuple(sorted(found.values(), key=lambda token: token.id)), decoded
