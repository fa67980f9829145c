"""The added_tokens of a tokenizer.json, with the ids that tokenizers gives them, and what they decode to.

tokenizers does not read the id of an added token: it is that of the same text in the vocabulary of the model, else the next after all
tokens. Invariant: a file in which these differ is refused, for its ids are not those that come out. So are two tokens of one text, of
which the reference keeps the last, and two of one normalized text, of which it takes either. A token decodes as any other, by the
byte alphabet if its characters are all of that: "é" decodes to the byte E9. Refused as well: a token of nothing but white space with
`lstrip`, beside one with `rstrip` that may already have all of it, where the reference panics or loses the token. Rejected: the ids of
the file.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from copy import copy

from ..added import WHITE_SPACE
from ..vocabulary import MOST_IDS, AddedToken
from .byte_alphabet import bytes_or_text
from .json_fields import Fields, shown

__all__ = ["AddedTokens", "added_tokens"]

FLAGS = ("special", "lstrip", "rstrip", "single_word", "normalized")


class AddedTokens:
    """Tokens that were added to those of a model, `vocabulary`. `found`: by their contents; `decoded`: what their ids decode to."""

    def __init__(self, vocabulary: Mapping[str, int], normalizer: str | None) -> None:
        self.vocabulary, self.normalizer = vocabulary, normalizer
        self.found: dict[str, AddedToken] = {}
        self.decoded: dict[int, bytes] = {}
        self.looked_for: dict[tuple[bool, str], str] = {}
        self.following = len(vocabulary)
        self.taken: Container[int] | None = None  # the ids of the model; most files have no need of them
        self.swallows: dict[bool, AddedToken] = {}  # the first with `rstrip` of those that are normalized, and of the others
        self.blank: list[AddedToken] = []  # those of white space, with `lstrip`

    def copy(self) -> AddedTokens:
        """One to which others are added."""
        made = copy(self)
        made.found, made.decoded, made.looked_for = self.found.copy(), self.decoded.copy(), self.looked_for.copy()
        made.swallows, made.blank = self.swallows.copy(), self.blank.copy()
        return made

    def add(self, given: int, content: str, flags: Mapping[str, bool], entry: Fields) -> None:
        """Add a token that is said to have this id. `entry` says where it stands, in an error."""
        try:
            content.encode()
        except UnicodeEncodeError:
            raise entry.wrong("content", f"{shown(content)} has a lone surrogate") from None
        number = self.vocabulary.get(content, self.following)
        if content in self.found:
            raise entry.wrong("content", f"{shown(content)} is there already")
        if content not in self.vocabulary:
            if self.taken is None:
                ids = self.vocabulary.values()
                self.taken = ids if isinstance(ids, range) else set(ids)
            self.following += 1
            if number in self.taken:
                raise entry.wrong("id", f"tokenizers gives {shown(content)} the id {number}, which another token has")
        if given != number:
            raise entry.wrong("id", f"{given}, but tokenizers gives {shown(content)} the id {number}")
        if number >= MOST_IDS:
            raise entry.wrong("id", f"{number}; there may be {MOST_IDS:,} ids")
        token = AddedToken(number, content, **flags)
        text = token.looked_for(self.normalizer is not None)
        other = self.looked_for.setdefault((token.normalized, text), content)
        if other != content:
            raise entry.wrong("content", f"{shown(content)} is {shown(other)} when normalized")
        self.found[content] = token
        self.decoded[number] = bytes_or_text(text)
        if token.rstrip:
            self.swallows.setdefault(token.normalized, token)
        if token.lstrip and not content.strip(WHITE_SPACE):
            self.blank.append(token)

    def refuse_swallowed(self, fields: Fields) -> None:
        """An error if one may be white space that another one already has."""
        for token in self.blank:
            if token.normalized in self.swallows:
                what = f"{shown(token.content)} with lstrip is not supported beside {shown(self.swallows[token.normalized].content)} with rstrip"
                raise fields.wrong("added_tokens", what)

    def in_order(self) -> tuple[AddedToken, ...]:
        """All of them, in order of their ids."""
        return tuple(sorted(self.found.values(), key=lambda token: token.id))


def added_tokens(
    fields: Fields, tokens: Mapping[str, int], normalizer: str | None
) -> tuple[tuple[AddedToken, ...], dict[int, bytes]]:
    """The added tokens in order of their ids; and what they decode to."""
    added = AddedTokens(tokens, normalizer)
    for entry in fields.items("added_tokens") if "added_tokens" in fields.value else []:
        entry.each_once()
        content, number = entry.get("content", str), entry.get("id", int)
        flags = {key: entry.get(key, bool) for key in FLAGS}
        if content:
            added.add(number, content, flags, entry)
    added.refuse_swallowed(fields)
    return added.in_order(), added.decoded
