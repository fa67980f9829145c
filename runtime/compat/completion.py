"""All that Hugging Face tokenizers does to one text or two: encode, cut, put special tokens around, fill up.

    steps = Steps(tokenizer, Pipeline(tokenizer, names), processors)
    steps.encode(["Hello world"], True)                          # an Encoding: ids now, the rest when it is asked for
    replace(steps, padding=Padding.of({}))                       # other steps

Invariant: the same as `encode` and `post_process` of tokenizers 0.23.3. Steps never change, so what an Encoding makes later is what it
would have made at once. Rejected: methods of Tokenizer, which changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from .encoding import Encoding
from .processors import Processor, added_by, process

if TYPE_CHECKING:
    from ..tokenizer import Tokenizer
    from .inputs import Texts
    from .pipeline import Pipeline
    from .settings import Padding, Truncation

__all__ = ["Steps"]


@dataclass(frozen=True, slots=True)
class Steps:
    """`passed_over`: the contents of added tokens that are text like any other."""

    tokenizer: Tokenizer
    pipeline: Pipeline
    processors: Sequence[Processor]
    truncation: Truncation | None = None
    padding: Padding | None = None
    passed_over: frozenset[str] | None = None

    @property
    def are_plain(self) -> bool:
        """Whether the ids of a text are those that bitlex gives, with nothing done to them."""
        return self.truncation is None and self.padding is None and self.passed_over is None

    def encode(self, texts: Texts, around: bool) -> Encoding:
        """The encoding of one text or two; `around`: with special tokens around."""
        if not self.are_plain or not all(isinstance(text, str) for text in texts):
            return self.complete(texts, around)
        description = self.tokenizer.description
        ids: list[int] = []
        for what, _ in description.single if len(texts) == 1 else description.pair:
            if isinstance(what, str):
                ids.extend(self.tokenizer.encode(texts["AB".index(what)]))  # type: ignore[arg-type]
            elif around:
                ids.append(what)
        return Encoding.later(ids, partial(self.complete, texts, around))

    def encode_all(self, batch: Sequence[Texts], around: bool) -> list[Encoding]:
        """The same of many, on all cores where nothing is done to ids; filled up to the longest if they are filled up."""
        if self.are_plain and all(len(texts) == 1 and isinstance(texts[0], str) for texts in batch):
            found = self.tokenizer.encode_batch([texts[0] for texts in batch], add_special_tokens=around)  # type: ignore[misc]
            return [Encoding.later(ids, partial(self.complete, texts, around)) for ids, texts in zip(found, batch, strict=True)]
        return self.filled([self.encode(texts, around) for texts in batch])

    def encode_ids(self, batch: Sequence[Texts], around: bool) -> list[Encoding]:
        """The same with little but the ids."""
        if self.are_plain and all(len(texts) == 1 and isinstance(texts[0], str) for texts in batch):
            found = self.tokenizer.encode_batch([texts[0] for texts in batch], add_special_tokens=around)  # type: ignore[misc]
            return [Encoding.later(ids, partial(self.bare_of, texts, around)) for ids, texts in zip(found, batch, strict=True)]
        return self.filled([self.bare_of(texts, around) for texts in batch])

    def bare_of(self, texts: Texts, around: bool) -> Encoding:
        return self.finish([self.bare(text) for text in texts], around)

    def complete(self, texts: Texts, around: bool) -> Encoding:
        """All of the encoding of one text or two."""
        passed_over = self.passed_over or frozenset()
        encodings = []
        for kind, text in enumerate(texts):
            if isinstance(text, str):
                encodings.append(self.pipeline.encode(text, kind, passed_over))
                continue
            words = [self.pipeline.encode(word, kind, passed_over) for word in text]
            for number, word in enumerate(words):
                word._words = [number] * len(word)
            encodings.append(Encoding.merge(words, growing_offsets=False))
        return self.finish(encodings, around)

    def finish(self, encodings: list[Encoding], around: bool) -> Encoding:
        """What is done when texts are encoded."""
        if self.truncation is not None:
            self.truncation.cut(encodings, self.added(len(encodings)) if around else 0)
        return self.filled([process(self.processors, encodings, around)])[0]

    def added(self, texts: int) -> int:
        """How many tokens are put around so many texts."""
        return added_by(self.processors, texts)

    def filled(self, encodings: list[Encoding]) -> list[Encoding]:
        if self.padding is not None:
            self.padding.fill_all(encodings)
        return encodings

    def bare(self, text: str | list[str]) -> Encoding:
        """An encoding with ids and little else."""
        ids: list[int] = []
        for part in [text] if isinstance(text, str) else text:
            if self.passed_over is None:
                ids.extend(self.tokenizer.encode(part))
            else:
                ids.extend(self.pipeline.encode(part, 0, self.passed_over)._ids)
        size = len(ids)
        return Encoding.of(ids, [""] * size, [(0, 0)] * size, [None] * size, 0)
