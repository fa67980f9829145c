"""Added tokens in a text, beyond what the fast search finds: with flags, or in normalized text. By the definition in added.py.

Most texts of most tokenizers have no need of it: `needs_definition` says which tokenizers may, `ready` and `plain` which texts of them do not.
What that takes is imported when it is needed first.
Invariant: what `ready` gives is cut by the fast search as the definition cuts the text, and what `plain` gives is not cut.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from .added import Search
    from .encoders import Encoder
    from .vocabulary import AddedToken, Description

__all__ = ["all_plain", "all_ready", "needs_definition", "only_normalizes", "plain", "ready", "spelled", "stretches"]


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


def spelled(description: Description) -> dict[bytes, int]:
    """What added tokens are looked for as, in a text as it is or in one in NFC."""
    normalizes = description.normalizer is not None
    return {text.encode(): one.id for one in description.added for text in (one.content, one.looked_for(normalizes))}


def plain(description: Description, text: Any, changing: bool) -> Any:
    """What is encoded instead of a text that has no added token, of a tokenizer that cuts texts: itself, if it is in NFC, or with a space in
    front if that is asked for and there is none; else None. Not `changing`: None in that case, too."""
    from .normalization import in_nfc

    if description.normalizer is not None and not in_nfc(text):
        return None
    if not description.prefix_space:
        return text
    known = with_space(text)
    return known if changing or known is text else None


def with_space(text: Any) -> Any:
    """The text, with a space in front if it has none; None if that is not as simple."""
    if not text or not isinstance(text, (str, bytes)):
        return None
    if isinstance(text, str):
        return text if text[0] == " " else " " + text
    return text if text[0] == 0x20 else b" " + text


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


def all_ready(texts: list[Any], refuse: Callable[[Any], None]) -> tuple[list[Any], Mapping[int, Any]]:
    """What `ready` gives of many texts; and those of which it gives None, by their index."""
    from .normalization import in_doubt

    known, apart = texts.copy(), {}
    for at in in_doubt(texts):
        with suppress(TypeError, ValueError, BufferError):  # the encoder says which
            known[at] = ready(texts[at], refuse)
            if known[at] is None:
                apart[at] = texts[at]
    return known, apart


def all_plain(description: Description, texts: list[Any], encoder: Encoder, cuts: Any) -> tuple[list[Any], Mapping[int, Any]]:
    """What `plain` gives of many texts; and those of which it gives None, by their index. `cuts`: what finds added tokens, or None."""
    from .normalization import in_doubt

    apart = {at: texts[at] for at in ([] if cuts is None else having(texts, encoder, cuts))}
    apart |= {at: texts[at] for at in ([] if description.normalizer is None else in_doubt(texts))}
    if not description.prefix_space:
        return texts, apart
    known = [with_space(text) for text in texts]
    return known, apart | {at: texts[at] for at, text in enumerate(known) if text is None}


def having(texts: list[Any], encoder: Encoder, tokens: Any) -> Iterator[int]:
    """Which of these texts have one of such tokens, that `specials` of the encoder made, or are no texts."""
    from .encoders import Pure

    if not isinstance(encoder, Pure):
        at = -1
        while (at := tokens.first_in(texts, at + 1)) < len(texts):
            yield at
        return
    for at, text in enumerate(texts):
        try:
            encoder.refuse(text, tokens)
        except (TypeError, ValueError, BufferError):
            yield at


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
