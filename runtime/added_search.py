"""Added tokens in a text, beyond what the fast search finds: with flags, or in normalized text. By the definition in added.py.

Most texts of most tokenizers have no need of it: `needs_definition` says which tokenizers may, `is_direct` which texts of them do not.
What that takes is imported when it is needed first.
Invariant: `is_direct` is only true where the definition cuts the text as the fast search does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .vocabulary import AddedToken, Description

__all__ = ["is_direct", "needs_definition", "stretches"]


def has_flags(description: Description) -> bool:
    """Whether some token has to be looked for in a way of its own."""
    kinds = {token.normalized for token in description.added}
    flagged = any(token.lstrip or token.rstrip or token.single_word for token in description.added)
    return flagged or (len(kinds) > 1 and overlap(description.added))


def overlap(added: Iterable[AddedToken]) -> bool:
    """Whether a token that is normalized and one that is not may lie over each other, so that it matters which are looked for first."""
    first = [token.content for token in added if not token.normalized]
    second = [token.content for token in added if token.normalized]
    within = any(one in "\0".join(second) for one in first) or any(one in "\0".join(first) for one in second)
    return within or ends_as_begins(first, second) or ends_as_begins(second, first)


def ends_as_begins(these: list[str], those: list[str]) -> bool:
    """Whether the end of one of these is the beginning of one of those."""
    begin = {one[0] for one in those}
    ends = {one[at:] for one in these for at in range(1, len(one)) if one[at] in begin}
    return any(one.startswith(tuple(ends)) for one in those) if ends else False


def needs_definition(description: Description) -> bool:
    """Whether some text of this tokenizer is not encoded as it is."""
    return description.normalizer is not None or description.prefix_space or has_flags(description)


def is_direct(description: Description, text: Any) -> bool:
    """Whether this text is encoded as it is, and its added tokens are where the fast search finds them."""
    from .encoders import as_text
    from .normalization import nfc

    if description.prefix_space or has_flags(description):
        return False
    spelled = as_text(text)
    return spelled.isascii() or nfc(spelled) == spelled


def stretches(description: Description, text: str, added: Iterable[AddedToken]) -> Iterator[tuple[str, int | None]]:
    """What is encoded: the id of each added token, and the text between."""
    from .added import split_added

    for stretch, number in split_added(text, added, description.normalizer):
        if number is None and description.prefix_space and not stretch.startswith(" "):
            stretch = " " + stretch
        yield stretch, number
