"""All that Hugging Face tokenizers does to one text or two: encode, cut, put special tokens around, fill up.

    complete(pipeline, processors, None, None, frozenset(), ["Hello world"], True)          # an Encoding

Everything that it hangs on is an argument, so that it may be called later and give what it would have given before. Invariant: the
same as `encode` and `post_process` of tokenizers 0.23.3. Rejected: methods of Tokenizer, which changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .encoding import Encoding
from .processors import Processor, added_by, process

if TYPE_CHECKING:
    from .inputs import Texts
    from .pipeline import Pipeline
    from .settings import Padding, Truncation

__all__ = ["complete", "finish"]


def complete(
    pipeline: Pipeline, processors: Sequence[Processor], truncation: Truncation | None, padding: Padding | None, passed_over: frozenset[str],
    texts: Texts, around: bool,
) -> Encoding:  # fmt: skip
    """All of the encoding of one text or two."""
    encodings = []
    for kind, text in enumerate(texts):
        if isinstance(text, str):
            encodings.append(pipeline.encode(text, kind, passed_over))
            continue
        words = [pipeline.encode(word, kind, passed_over) for word in text]
        for number, word in enumerate(words):
            word._words = [number] * len(word)
        encodings.append(Encoding.merge(words, growing_offsets=False))
    return finish(processors, truncation, padding, encodings, around)


def finish(
    processors: Sequence[Processor], truncation: Truncation | None, padding: Padding | None, encodings: list[Encoding], around: bool
) -> Encoding:  # fmt: skip
    """What is done when texts are encoded."""
    if truncation is not None:
        truncation.cut(encodings, added_by(processors, len(encodings)) if around else 0)
    made = process(processors, encodings, around)
    if padding is not None:
        padding.fill_all([made])
    return made
