"""Added tokens in a text, by their definition: which stretches of the text they are, and the text between, normalized.

    split_added("a <mask>b", [AddedToken(5, "<mask>", lstrip=True)], None)       # [("a", None), (" <mask>", 5), ("b", None)]

This is what Hugging Face tokenizers 0.23.3 does before anything else, from end to end of a text and in pure Python: the definition
with which the faster search is compared. In the text, the tokens that are not `normalized` are found, from left to right and of those
that begin at one place the longest; the text between is normalized, each stretch by itself, and the `normalized` tokens, in their
normalized form, are found in that. Then, for each that was found:

- `single_word`: it is dropped, and its text passed over, if a word character (`\\w`) stands on either side.
- `lstrip`: white space before it is part of it, but not what the one before has already. `rstrip`: white space behind it is, too. The
  search does not know of that: a token that begins with white space is found although the one before has taken it.

White space is what Unicode 16.0 calls so, and `\\w` what Rust's regex crate does by the tables of 16.0: Alphabetic, Mark,
Decimal_Number, Connector_Punctuation and Join_Control. Invariant: each id comes with the slice of the text that the reference gives
it, which may overlap the one before, as the reference's do. Rejected: Python's `\\w` and `str.isspace`, which are not these sets.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING

from .normalization import nfc
from .pure_token_stream import Specials
from .vocabulary import AddedToken

if TYPE_CHECKING:
    from .lexers import Lexer

__all__ = ["WHITE_SPACE", "Search", "is_word", "searches", "split", "split_added", "white_space"]

WHITE_SPACE = (
    "\t\n\x0b\x0c\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
)
WHITE = re.compile(f"[{WHITE_SPACE}]*")


def split_added(text: str, added: Iterable[AddedToken], normalizer: str | None) -> list[tuple[str, int | None]]:
    """The stretches of a text in order: each added token with its id, and what is between, normalized, without one."""
    return split(text, *searches(added, normalizer), normalizer)


def split(text: str, first: Search, second: Search, normalizer: str | None) -> list[tuple[str, int | None]]:
    """The same, with what `searches` gave for the tokens."""
    normalized = nfc if normalizer == "NFC" else str
    found: list[tuple[str, int | None]] = []
    for start, end, token in first.cut(text):
        if token is not None:
            found.append((text[start:end], token.id))
            continue
        stretch = normalized(text[start:end])
        found.extend((stretch[at:to], None if inner is None else inner.id) for at, to, inner in second.cut(stretch))
    return found


class Search:
    """Finds texts in a text: leftmost, then longest, and not into one another. `tokens`: which token each text is."""

    def __init__(self, tokens: Mapping[str, AddedToken]) -> None:
        self.tokens = tokens
        self.texts = Specials(tokens)
        self.lstrip = any(token.lstrip for token in tokens.values())

    def cut(self, text: str, passed_over: Container[str] = ()) -> Iterator[tuple[int, int, AddedToken | None]]:
        """From where to where each token goes, and what is between. Those whose content is in `passed_over` are found but not taken."""
        done = taken = 0  # `taken`: up to where there is white space that some token took
        for match in self.texts.pattern.finditer(text) if self.tokens else ():
            at, end = match.span()
            token = self.tokens[match.group()]
            if token.content in passed_over or (token.single_word and (is_word(text[max(at - 1, 0) : at]) or is_word(text[end : end + 1]))):
                continue
            start = done + len(text[done:at].rstrip(WHITE_SPACE)) if token.lstrip else at
            if token.rstrip:
                end = taken = white_space(text, max(end, taken), len(text))
            if done < start:
                yield done, start, None
            yield start, end, token
            done = end
        if done < len(text):
            yield done, len(text), None


def white_space(text: str, at: int, most: int) -> int:
    """Up to where there is nothing else, from a place on, and before another."""
    match = WHITE.match(text, at, most)
    return match.end() if match is not None else at


def searches(added: Iterable[AddedToken], normalizer: str | None) -> tuple[Search, Search]:
    """What finds the tokens that are looked for in the text, and those that are in normalized text."""
    tokens = list(added)
    first = {token.content: token for token in tokens if not token.normalized}
    return Search(first), Search({token.looked_for(normalizer is not None): token for token in tokens if token.normalized})


def is_word(character: str) -> bool:
    """Whether this is a word character; nothing is none."""
    return bool(character) and word_characters().count(character) == 0


@cache
def word_characters() -> Lexer:
    """Leaves no piece of a word character."""
    from .compiler import compile

    return compile(r"\w", dialect="fancy", unicode="16.0", behavior="removed")
