"""From a text to an Encoding, before anything is put around it: what Hugging Face tokenizers does up to its post-processor.

    Pipeline(tokenizer, texts).encode("<s>Hello world", type_id=0)
    # tokens "<s>", "Hello", "Ġworld"; words 0, 1, 2; offsets (0, 3), (3, 8), (8, 14)

Added tokens are found first, and the text between is normalized, gets a space in front if that is asked for, is cut and encoded. Of each
of these steps it is kept which character of the text each character is: a token goes from where its first one was to where its last one
was. Invariant: the ids are those of `tokenizer.encode`. Rejected: asking `encode_with_offsets`, whose places cover all of what NFC changed.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from typing import TYPE_CHECKING, Any

from ..added import searches
from .alignment import aligned_nfc
from .encoding import Encoding

if TYPE_CHECKING:
    from typing import TypeAlias

    import numpy as np
    import numpy.typing as npt

    from ..tokenizer import Tokenizer
    from ..vocabulary import AddedToken

    # Of each character, in two columns, from where to where it was; or where the first was, if all are as they were.
    Places: TypeAlias = npt.NDArray[np.int64] | int

__all__ = ["Pipeline"]


class Pipeline:
    """`texts`: what each token of the model is called, by its id."""

    def __init__(self, tokenizer: Tokenizer, texts: list[str]) -> None:
        self.tokenizer, self.texts = tokenizer, texts
        self.first, self.second = searches(tokenizer.description.added, tokenizer.description.normalizer)

    def encode(self, text: str, type_id: int, passed_over: Container[str] = ()) -> Encoding:
        """All of a text. Added tokens whose content is in `passed_over` are text like any other."""
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
            found, starts, ends, pieces, count = self.pieces(stretch)
            ids.extend(found)
            tokens.extend(map(self.texts.__getitem__, found))
            if isinstance(places, int):
                starts, ends = starts + places, ends + places
            else:
                starts, ends = places[starts, 0], places[ends - 1, 1]
            offsets.extend(zip(starts.tolist(), ends.tolist(), strict=True))
            words.extend((pieces + word).tolist())
            word += count
        return Encoding.of(ids, tokens, offsets, words, type_id)

    def stretches(self, text: str, passed_over: Container[str]) -> Iterator[tuple[str, AddedToken | None, Places]]:
        """Added tokens, and what is between, as it is encoded; with the places in the text."""
        import numpy

        description = self.tokenizer.description
        for start, end, token in self.first.cut(text, passed_over):
            stretch, places = text[start:end], None
            if token is not None:
                yield stretch, token, start
                continue
            if description.normalizer is not None:
                stretch, moved = aligned_nfc(stretch)
                places = None if moved is None else numpy.array(moved, numpy.int64) + start
            for at, to, inner in self.second.cut(stretch, passed_over):
                part = stretch[at:to]
                where = start + at if places is None else places[at:to]
                if inner is None and description.prefix_space and not part.startswith(" "):
                    first = place_of(where, 0, 1)  # where the space is said to be, too
                    rest = numpy.arange(len(part))[:, None] + (where, where + 1) if isinstance(where, int) else where
                    part, where = f" {part}", numpy.concatenate(([first], rest))
                yield part, inner, where

    def pieces(self, text: str) -> tuple[list[int], Any, Any, Any, int]:
        """The ids of a text without added tokens, where they start and end, of which piece each is, and how many pieces there are."""
        import numpy

        data = text.encode()
        found, offsets = self.tokenizer._encoder.encode_with_offsets(data, None, None, 1)
        starts, ends = offsets[::2], offsets[1::2]
        spans = self.tokenizer.lexer.spans(data)
        pieces = (spans if spans.ndim == 1 else spans[:, 1]).searchsorted(starts, side="right")
        if len(data) != len(text):
            begun = numpy.cumsum((numpy.frombuffer(data, numpy.uint8) & 0xC0) != 0x80)  # characters, up to each byte
            starts, ends = begun[starts] - 1, begun[ends - 1]
        return found.tolist(), starts, ends, pieces, len(spans)


def place_of(places: Places, start: int, end: int) -> tuple[int, int]:
    """From where the first of some characters was to where the last one was."""
    if isinstance(places, int):
        return places + start, places + end
    return int(places[start, 0]), int(places[end - 1, 1])
