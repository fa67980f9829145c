"""From a text to an Encoding, before anything is put around it: what Hugging Face tokenizers does up to its post-processor.

    Pipeline(tokenizer, texts).encode("<s>Hello world", type_id=0)
    # tokens "<s>", "Hello", "Ġworld"; words 0, 1, 2; offsets (0, 3), (3, 8), (8, 14)

Added tokens are found first, and the text between is normalized, gets a space in front if that is asked for, is cut and encoded. Of each
of these steps it is kept which character of the text each character is: a token goes from where its first one was to where its last one
was. Invariant: the ids are those of `tokenizer.encode`. Rejected: asking `encode_with_offsets`, which refuses texts that are changed.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from typing import TYPE_CHECKING, Any

from ..added import by_text, cut
from .alignment import aligned_nfc
from .encoding import Encoding

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from ..tokenizer import Tokenizer
    from ..vocabulary import AddedToken

    Places = npt.NDArray[np.int64]  # of each character, two columns: from where to where

__all__ = ["Pipeline"]


class Pipeline:
    """`texts`: what each token of the model is called, by its id."""

    def __init__(self, tokenizer: Tokenizer, texts: list[str]) -> None:
        self.tokenizer, self.texts = tokenizer, texts

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
                offsets.append((int(places[0, 0]), int(places[-1, 1])))
                words.append(word)
                word += 1
                continue
            found, starts, ends, pieces, count = self.pieces(stretch, places)
            ids.extend(found)
            tokens.extend(map(self.texts.__getitem__, found))
            offsets.extend(zip(starts.tolist(), ends.tolist(), strict=True))
            words.extend((pieces + word).tolist())
            word += count
        return Encoding.of(ids, tokens, offsets, words, type_id)

    def stretches(self, text: str, passed_over: Container[str]) -> Iterator[tuple[str, AddedToken | None, Places]]:
        """Added tokens, and what is between, as it is encoded; with the places in the text."""
        import numpy

        description = self.tokenizer.description
        first, second = by_text(description.added, description.normalizer)
        identity = numpy.arange(len(text) + 1, dtype=numpy.int64)
        whole = numpy.stack((identity[:-1], identity[1:]), axis=1)
        for start, end, token in cut(text, first, passed_over):
            stretch, places = text[start:end], whole[start:end]
            if token is not None:
                yield stretch, token, places
                continue
            if description.normalizer is not None:
                stretch, moved = aligned_nfc(stretch)
                places = places if moved is None else numpy.array(moved, numpy.int64) + start
            for at, to, inner in cut(stretch, second, passed_over):
                part, where = stretch[at:to], places[at:to]
                if inner is None and description.prefix_space and not part.startswith(" "):
                    part, where = f" {part}", numpy.concatenate((where[:1], where))  # the space is where the first character is
                yield part, inner, where

    def pieces(self, text: str, places: Places) -> tuple[list[int], Any, Any, Any, int]:
        """The ids of a text without added tokens, where they start and end, of which piece each is, and how many pieces there are."""
        import numpy

        data = text.encode()
        found, offsets = self.tokenizer._encoder.encode_with_offsets(data, None, None, 1)
        starts, ends = offsets.reshape(-1, 2).T
        spans = self.tokenizer.lexer.spans(data)
        pieces = numpy.searchsorted(spans if spans.ndim == 1 else spans[:, 1], starts, side="right")
        if len(data) != len(text):
            begun = numpy.cumsum((numpy.frombuffer(data, numpy.uint8) & 0xC0) != 0x80)  # characters, up to each byte
            starts, ends = begun[starts] - 1, begun[ends - 1]
        return found.tolist(), places[starts, 0], places[ends - 1, 1], pieces, len(spans)
