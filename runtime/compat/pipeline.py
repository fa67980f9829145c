"""From a text to an Encoding, before anything is put around it: what Hugging Face tokenizers does up to its post-processor.

    Pipeline(tokenizer, texts).encode("<s>Hello world", type_id=0)
    # tokens "<s>", "Hello", "Ġworld"; words 0, 1, 2; offsets (0, 3), (3, 8), (8, 14)

Added tokens are found first, and the text between is normalized, gets a space in front if that is asked for, is cut and encoded. Of each
of these steps it is kept which character of the text each character is: a token goes from where its first one was to where its last one
was. Invariant: the ids are those of `tokenizer.encode`. Rejected: asking `encode_with_offsets`, whose places cover all of what NFC changed.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from typing import TYPE_CHECKING

from ..added import searches
from ..normalization import in_nfc
from .alignment import aligned_nfc
from .encoding import Encoding

if TYPE_CHECKING:
    from typing import TypeAlias

    from ..tokenizer import Tokenizer
    from ..vocabulary import AddedToken

    # Of each character, from where to where it was; or where the first was, if all are as they were.
    Places: TypeAlias = list[tuple[int, int]] | int

__all__ = ["Pipeline"]


class Pipeline:
    """`texts`: what each token of the model is called, by its id."""

    def __init__(self, tokenizer: Tokenizer, texts: list[str]) -> None:
        self.tokenizer, self.texts = tokenizer, texts
        self.first, self.second = searches(tokenizer.description.added, tokenizer.description.normalizer)
        self.sought = [search.texts.pattern for search in (self.first, self.second) if search.tokens]

    def encode(self, text: str | list[str], type_id: int, passed_over: Container[str] = ()) -> Encoding:
        """All of a text, or of words. Added tokens whose content is in `passed_over` are text like any other."""
        known = self.ready(text)
        if known is not None:
            ids, offsets, words, _ = self.tokenizer._encoder.encode_words(known)
            if known is not text:
                offsets = [(max(start - 1, 0), max(end - 1, 1)) for start, end in offsets]
            return Encoding.of(ids, self.named(ids), offsets, words, type_id)
        if isinstance(text, str):
            return self.encode_stretches(text, type_id, passed_over)
        encodings = [self.encode(word, type_id, passed_over) for word in text]
        for number, word in enumerate(encodings):
            word._words = [number] * len(word)
        return Encoding.merge(encodings, growing_offsets=False)

    def ready(self, text: str | list[str]) -> str | list[str] | None:
        """What is encoded instead of a text, or of words, in which no added token is and that NFC does not change: themselves, or each with a
        space in front; None where it is not as simple."""
        description = self.tokenizer.description
        whole = text if isinstance(text, str) else "\0".join(text)
        if description.normalizer is not None and not in_nfc(whole):
            return None
        if any(pattern.search(whole) for pattern in self.sought):
            return None
        if not description.prefix_space:
            return text
        with_space = {part.startswith(" ") for part in ([text] if isinstance(text, str) else text) if part}
        if False not in with_space:
            return text
        if True in with_space:
            return None
        return f" {text}" if isinstance(text, str) else [f" {word}" if word else word for word in text]

    def named(self, ids: list[int]) -> list[str]:
        """What tokens of the model are called."""
        texts = self.texts
        return [texts[number] for number in ids]

    def encode_stretches(self, text: str, type_id: int, passed_over: Container[str]) -> Encoding:
        """All of a text, one stretch after the other."""
        ids: list[int] = []
        tokens: list[str] = []
        offsets: list[tuple[int, int]] = []
        words: list[int | None] = []
        word = 0
        for stretch, token, places in self.stretches(text, passed_over):
            if token is not None:
                ids.append(token.id)
                tokens.append(stretch)
                offsets.append(place_of(places, 0, len(stretch)))
                words.append(word)
                word += 1
                continue
            found, within, pieces, count = self.tokenizer._encoder.encode_words(stretch)
            ids.extend(found)
            tokens.extend(self.named(found))
            if isinstance(places, int):
                offsets.extend([(start + places, end + places) for start, end in within])
            else:
                offsets.extend([place_of(places, start, end) for start, end in within])
            words.extend([piece + word for piece in pieces])
            word += count
        return Encoding.of(ids, tokens, offsets, words, type_id)

    def stretches(self, text: str, passed_over: Container[str]) -> Iterator[tuple[str, AddedToken | None, Places]]:
        """Added tokens, and what is between, as it is encoded; with the places in the text."""
        description = self.tokenizer.description
        for start, end, token in self.first.cut(text, passed_over):
            stretch, places = text[start:end], None
            if token is not None:
                yield stretch, token, start
                continue
            if description.normalizer is not None:
                stretch, moved = aligned_nfc(stretch)
                places = None if moved is None else [(first + start, last + start) for first, last in moved]
            for at, to, inner in self.second.cut(stretch, passed_over):
                part = stretch[at:to]
                where = start + at if places is None else places[at:to]
                if inner is None and description.prefix_space and not part.startswith(" "):
                    rest = [(at, at + 1) for at in range(where, where + len(part))] if isinstance(where, int) else where
                    part, where = f" {part}", [rest[0], *rest]  # the first is where the space is said to be, too
                yield part, inner, where


def place_of(places: Places, start: int, end: int) -> tuple[int, int]:
    """From where the first of some characters was to where the last one was."""
    if isinstance(places, int):
        return places + start, places + end
    return places[start][0], places[end - 1][1]
