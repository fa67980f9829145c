"""The post_processor of a tokenizer.json at work: encodings of one text or two in, the one Encoding of both with what stands around out.

    process(processors_of(fields), [encoding], add_special_tokens=True)

Each processor takes a list of encodings and gives another, which the next one takes; what is left is merged. ByteLevel takes white
space out of offsets, and numbers whatever it gets as texts, as the original does; RobertaProcessing gives all the type 0.
Invariant: the same as tokenizers 0.23.3, for each kind, in any order in a Sequence. Which files are supported, vocabularies/processing.py
has decided before. Rejected: working from the templates of a Description, which know ids and types but no offsets.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Protocol, TypeAlias

from ..added import WHITE_SPACE
from .encoding import Encoding

__all__ = ["Processor", "added_by", "process", "processors_of"]

Special: TypeAlias = Sequence[tuple[str, int]]  # the texts of special tokens, and their ids
BLANKS = f"\u0120{WHITE_SPACE}"  # in the byte alphabet a space is U+0120


class Processor(Protocol):
    """`added`: how many special tokens it puts around this many texts."""

    def added(self, texts: int) -> int: ...
    def process(self, encodings: list[Encoding], around: bool) -> list[Encoding]: ...


def processors_of(found: dict[str, Any] | None) -> list[Processor]:
    """The processors in a field of a file, out of their Sequences."""
    if found is None:
        return []
    kind = found["type"]
    if kind == "Sequence":
        return [inner for one in found["processors"] for inner in processors_of(one)] or [Nothing()]
    if kind == "ByteLevel":
        return [Offsets(found["add_prefix_space"])] if found["trim_offsets"] else [Numbers()]
    if kind == "TemplateProcessing":
        return [Template(found)]
    first, last = tuple(found["cls"]), tuple(found["sep"])
    if kind == "BertProcessing":
        return [Around([(first,), ()], [(last,), (last,)], [0, 1])]
    trimming: list[Processor] = [Trimming(found["add_prefix_space"])] if found["trim_offsets"] else []
    return [*trimming, Typed(), Around([(first,), (last,)], [(last,), (last,)], [0, 0])]


def added_by(processors: Sequence[Processor], texts: int) -> int:
    """How many special tokens are put around this many texts."""
    return sum(one.added(texts) for one in processors)


def process(processors: Sequence[Processor], encodings: list[Encoding], around: bool) -> Encoding:
    """All that is done to the encodings of one text or two."""
    if not processors:
        if len(encodings) == 1:
            return encodings[0]
        number_texts(encodings)
        return Encoding.merge(encodings, growing_offsets=False)
    for number, encoding in enumerate(encodings):
        encoding._type_ids = [number] * len(encoding._ids)
        for one in (encoding, *encoding._overflowing):
            one._ranges[number] = (0, len(one._ids))
    for processor in processors:
        encodings = processor.process(encodings, around)
    return encodings[0] if len(encodings) == 1 else Encoding.merge(encodings, growing_offsets=False)


def number_texts(encodings: Sequence[Encoding]) -> None:
    """All tokens of each are of this text, too."""
    for number, one in enumerate(encodings):
        one._ranges[number] = (0, len(one._ids))


class Plain:
    """Puts nothing around."""

    def added(self, texts: int) -> int:
        return 0


class Trimming(Plain):
    """Takes white space out of offsets; but not one space at the start of a text, where `prefix` may have put it."""

    def __init__(self, prefix: bool) -> None:
        self.prefix = prefix

    def process(self, encodings: list[Encoding], around: bool) -> list[Encoding]:
        for encoding in encodings:
            for one in (encoding, *encoding._overflowing):
                blanks = map(blanks_around, one._tokens)
                for at, (before, behind) in [(at, found) for at, found in enumerate(blanks) if found is not None]:
                    one._offsets[at] = self.trimmed(before, behind, *one._offsets[at], not at)
        return encodings

    def trimmed(self, before: int, behind: int, start: int, end: int, first: bool) -> tuple[int, int]:
        if before and not (before == 1 and self.prefix and (first or start == 0)):
            start = min(start + before, end)
        if behind and end >= behind:
            end = max(end - behind, start)
        return start, end


@lru_cache(maxsize=1 << 16)
def blanks_around(token: str) -> tuple[int, int] | None:
    """How many characters of white space a token begins and ends with; None if there are none."""
    found = len(token) - len(token.lstrip(BLANKS)), len(token) - len(token.rstrip(BLANKS))
    return found if any(found) else None


class Nothing(Plain):
    """A Sequence of none: it changes nothing, but texts are numbered where there is a processor."""

    def process(self, encodings: list[Encoding], around: bool) -> list[Encoding]:
        return encodings


class Numbers(Plain):
    """Numbers what it gets as texts."""

    def process(self, encodings: list[Encoding], around: bool) -> list[Encoding]:
        number_texts(encodings)
        return encodings


class Offsets(Trimming):
    """Both, as ByteLevel does."""

    def process(self, encodings: list[Encoding], around: bool) -> list[Encoding]:
        number_texts(super().process(encodings, around))
        return encodings


class Typed(Plain):
    """Gives everything the type 0."""

    def process(self, encodings: list[Encoding], around: bool) -> list[Encoding]:
        for one in encodings:
            one._type_ids = [0] * len(one)
            for part in one._overflowing if around else ():
                part._type_ids = [0] * len(part)
        return encodings


class Template:
    """Puts the texts and special tokens where a TemplateProcessing says."""

    def __init__(self, found: dict[str, Any]) -> None:
        self.templates = {1: found["single"], 2: found["pair"]}
        self.special = found["special_tokens"]

    def added(self, texts: int) -> int:
        names = [item["SpecialToken"]["id"] for item in self.templates[texts] if "SpecialToken" in item]
        return sum(len(self.special[name]["ids"]) for name in names)

    def process(self, encodings: list[Encoding], around: bool) -> list[Encoding]:
        made = []
        for item in self.templates[len(encodings)]:
            if "Sequence" in item:
                number = 0 if item["Sequence"]["id"] == "A" else 1
                one = encodings[number]
                one._type_ids = [item["Sequence"]["type_id"]] * len(one._ids)
                one._ranges[number] = (0, len(one._ids))
                made.append(one)
            elif around:
                token = self.special[item["SpecialToken"]["id"]]
                tokens = list(zip(token["tokens"], token["ids"], strict=True))
                made.append(special(tokens, item["SpecialToken"]["type_id"]))
        return made


class Around:
    """Puts special tokens before and behind each text, as BertProcessing and RobertaProcessing do; `kinds` are the types of these.

    What was special in the text, or filled it up, no longer is.
    """

    def __init__(self, before: list[Special], behind: list[Special], kinds: list[int]) -> None:
        self.before, self.behind, self.kinds = before, behind, kinds

    def added(self, texts: int) -> int:
        return sum(map(len, self.before[:texts])) + sum(map(len, self.behind[:texts]))

    def process(self, encodings: list[Encoding], around: bool) -> list[Encoding]:
        return [self.wrapped(one, number) for number, one in enumerate(encodings)] if around else encodings

    def wrapped(self, inner: Encoding, number: int) -> Encoding:
        before, behind = (special(side[number], self.kinds[number]) for side in (self.before, self.behind))
        made = Encoding.merge([before, inner.part(0, len(inner), {}, []), behind], growing_offsets=False)
        size, start = len(inner), len(self.before[number])
        made._special[start : start + size] = [0] * size
        made._attention = [1] * len(made)
        made._ranges = {number: (start, start + size)}
        made._overflowing = [self.wrapped(part, number) for part in inner._overflowing]
        for part in made._overflowing:
            part._overflowing = []
        return made


def special(tokens: Special, type_id: int) -> Encoding:
    """What stands around a text."""
    ids, texts = [number for _, number in tokens], [text for text, _ in tokens]
    return Encoding.of(ids, texts, [(0, 0)] * len(ids), [None] * len(ids), type_id, 1)
