"""Added tokens in a text, beyond what the fast search finds: with flags, or in normalized text. By the definition in added.py.

Most texts of most tokenizers have no need of it: `needs_definition` says which tokenizers may, `ready` which texts of them do not.
What that takes is imported when it is needed first.
Invariant: what `ready` gives is cut by the fast search as the definition cuts the text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from .added import Search
    from .vocabulary import AddedToken, Description

__all__ = ["needs_definition", "only_normalizes", "ready", "stretches"]


def has_flags(description: Description) -> bool:
    """Whether some token has to be looked for in a way of its own."""
    kinds = {token.normalized for token in description.added}
    flagged = any(token.lstrip or token.rstrip or token.single_word for token in description.added)
    return flagged or (len(kinds) > 1 and overlap(description.added)) or changed_itself(description)


def changed_itself(description: Description) -> bool:
    """Whether a token that is looked for in normalized text is another text there."""
    return any(token.looked_for(description.normalizer is not None) != token.content for token in description.added)


def overlap(added: Iterable[AddedToken]) -> bool:
    """Whether a token that is normalized and one that is not may lie over each other, so that it matters which are looked for first."""
    first = [token.content for token in added if not token.normalized]
    second = [token.content for token in added if token.normalized]
    all_first, all_second = "\0".join(first), "\0".join(second)
    within = any(one in all_second for one in first) or any(one in all_first for one in second)
    return within or ends_as_begins(first, second) or ends_as_begins(second, first)


def ends_as_begins(these: list[str], those: list[str]) -> bool:
    """Whether the end of one of these is the beginning of one of those."""
    begin = {one[0] for one in those}
    ends = {one[at:] for one in these for at in range(1, len(one)) if one[at] in begin}
    return bool(ends) and any(one[:size] in ends for one in those for size in range(1, len(one) + 1))


def needs_definition(description: Description) -> bool:
    """Whether some text of this tokenizer is not encoded as it is."""
    return description.normalizer is not None or description.prefix_space or has_flags(description)


def only_normalizes(description: Description) -> bool:
    """Whether a text is encoded as it is, once it is normalized."""
    return description.normalizer is not None and not description.prefix_space and not has_flags(description)


def ready(text: Any, refuse: Callable[[Any], None], changing: bool = True) -> Any:
    """What is encoded instead of a text, of a tokenizer that only normalizes: itself, if it is in NFC, or its NFC, if no added token is in
    either, which is a ValueError of `refuse`; else None, as each stretch between tokens is normalized by itself. Not `changing`: None
    where NFC changes something."""
    from .encoders import as_text
    from .normalization import in_nfc, nfc

    if in_nfc(text):
        return text
    spelled = as_text(text)
    normal = nfc(spelled)
    if normal == spelled:
        return text
    if not changing:
        return None
    data = normal.encode("utf-8", "surrogateescape")
    try:
        refuse(text)
        refuse(data)
    except ValueError:
        return None
    return data


def prepared(description: Description, text: Any) -> Any:
    """What is cut instead of a text in which no added token is looked for."""
    from .encoders import as_text
    from .normalization import in_nfc

    if not description.prefix_space and (description.normalizer is None or in_nfc(text)):
        return text
    from .added import searches

    cut = stretches(description, as_text(text), searches((), description.normalizer))
    return b"".join(stretch.encode("utf-8", "surrogateescape") for stretch, _ in cut)


def stretches(description: Description, text: str, added: tuple[Search, Search]) -> Iterator[tuple[str, int | None]]:
    """What is encoded: the id of each added token, and the text between. `added`: what `searches` gives for the tokens."""
    from .added import split

    for stretch, number in split(text, *added, description.normalizer):
        if number is None and description.prefix_space and not stretch.startswith(" "):
            stretch = " " + stretch
        yield stretch, number
