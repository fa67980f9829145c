"""All that Hugging Face tokenizers does to one text or two: encode, cut, put special tokens around, fill up.

    steps = Steps(Core(lambda: tokenizer, names), processors)
    steps.encode(["Hello world"], True)                          # an Encoding: ids now, the rest when it is asked for
    replace(steps, padding=Padding.of({}))                       # other steps

Invariant: the same as `encode` and `post_process` of tokenizers 0.23.3. Steps never change, so what an Encoding makes later is what it
would have made at once. Rejected: methods of Tokenizer, which changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, islice
from typing import TYPE_CHECKING

from ..cached import cached_property
from ..encoders import special_ids
from .encoding import Encoding
from .pipeline import Pipeline
from .processors import Processor, added_by, process
from .settings import FILLS
from .shapes import Shape, marks, shape_of

if TYPE_CHECKING:
    from ..tokenizer import Tokenizer
    from .inputs import Texts
    from .settings import Padding, Truncation

    Beside = tuple[list[int], list[int], list[int]]  # the columns of types, of which are special, and of which attend
    Rest = Callable[[Texts, bool, int | None, bool], Encoding]

__all__ = ["Core", "Steps"]


class Core:
    """A tokenizer, and what finds the places of its tokens: made when they are needed, for tokens may be added one by one. `make`: what
    makes the tokenizer; `names`: of the tokens of its model."""

    def __init__(self, make: Callable[[], Tokenizer], names: list[str]) -> None:
        self.make, self.names = make, names

    @cached_property
    def tokenizer(self) -> Tokenizer:
        return self.make()

    @cached_property
    def decode(self) -> Callable[[Sequence[int], str, bool], str]:
        """What makes text of ids, what is to become of bytes that are not UTF-8, and whether to leave out special tokens."""
        return self.tokenizer._encoder.decode_text

    @cached_property
    def decode_batch(self) -> Callable[[Sequence[Sequence[int]], str, int, bool], list[str]]:
        """The same of many texts, by so many threads."""
        return self.tokenizer._encoder.decode_batch

    @cached_property
    def special(self) -> frozenset[int]:
        """The ids that are left out then."""
        return frozenset(special_ids(self.tokenizer.description))

    def leaves_out(self, ids: frozenset[int]) -> bool:
        """Whether these are just that."""
        if self.special is not ids and self.special == ids:
            self.special = ids  # next time they are the same object
        return self.special is ids

    @cached_property
    def pipeline(self) -> Pipeline:
        return Pipeline(self.tokenizer, self.names)


SIZES = 4096  # of texts, of which shapes and columns are remembered,
LARGEST = 512  # and how long columns may be for that: all take up to 50 MB


@dataclass(frozen=True, slots=True)
class Steps:
    """`passed_over`: the contents of added tokens that are text like any other. `around_one`: how many special tokens are put around a text.
    `shapes`: those of texts of so many tokens, with special ones around or not; `beside`: the columns of these, filled up to a length."""

    core: Core
    processors: Sequence[Processor]
    truncation: Truncation | None = None
    padding: Padding | None = None
    passed_over: frozenset[str] | None = None
    around_one: int = field(init=False, repr=False, compare=False)
    shapes: dict[tuple[int, bool], Shape | None] = field(default_factory=dict, init=False, repr=False, compare=False)
    beside: dict[tuple[int, bool, int | None], Beside] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "around_one", self.added(1))

    @property
    def tokenizer(self) -> Tokenizer:
        """What encodes."""
        return self.core.tokenizer

    @property
    def pipeline(self) -> Pipeline:
        """What knows where tokens are."""
        return self.core.pipeline

    @property
    def are_plain(self) -> bool:
        """Whether the ids of a text are those that bitlex gives, with nothing done to them."""
        return self.truncation is None and self.padding is None and self.passed_over is None

    def encode(self, texts: Texts, around: bool) -> Encoding:
        """The encoding of one text or two; `around`: with special tokens around."""
        if self.are_plain and len(texts) == 1 and isinstance(texts[0], str):
            ids = self.tokenizer.encode(texts[0], add_special_tokens=around)
            return self.whole(ids, texts, around, self.known)
        return self.encode_all([texts], around)[0]

    def encode_all(self, batch: Sequence[Texts], around: bool) -> list[Encoding]:
        """The same of many, of which the ids are found on all cores; filled up to the longest if they are filled up."""
        if any(not isinstance(text, str) for texts in batch for text in texts):
            made = [self.known(texts, around, None, False) for texts in batch]  # who has words, asks which word a token is of
            self.fill(made)
            return made
        found = self.later(batch, around, self.known)
        if found is not None:
            return found
        made = [self.finish([Encoding.bare(ids, kind) for kind, ids in enumerate(each)], around) for each in self.ids_of(batch)]
        length = self.fill(made)
        for one, texts in zip(made, batch, strict=True):
            one.make_later(partial(self.known, texts, around, length))
        return made

    def encode_ids(self, batch: Sequence[Texts], around: bool) -> list[Encoding]:
        """The same with little but the ids."""
        found = self.later(batch, around, self.bare)
        if found is not None:
            return found
        made = [self.finish([Encoding.bare(ids, 0) for ids in each], around) for each in self.ids_of(batch)]
        self.fill(made)
        return made

    def later(self, batch: Sequence[Texts], around: bool, rest: Rest) -> list[Encoding] | None:
        """Encodings that have their ids, the rest of which is made when it is asked for; None where their ids do not say enough."""
        if self.are_plain:
            return [self.whole(ids, texts, around, rest) for ids, texts in self.with_ids(batch, around)]
        if any(len(texts) > 1 or not isinstance(texts[0], str) for texts in batch):
            return None
        shapes, found = [], [self.seen(each[0], around) for each in self.ids_of(batch)]
        for ids in found:
            shape = self.shape(len(ids), around)
            if shape is None:
                return None
            shapes.append(shape)
        length = None if self.padding is None else self.padding.length_of(map(len, shapes))
        made = []
        for ids, shape, texts in zip(found, shapes, batch, strict=True):
            kept = shape.ids(ids)
            if self.padding is not None and length is not None:
                kept = self.padding.filled(kept, self.padding.pad_id, length)
            beside = self.columns(len(ids), around, shape, length)
            made.append(Encoding.early(kept, *beside, make=partial(rest, texts, around, length)))
        return made

    def seen(self, ids: list[int], around: bool) -> list[int]:
        """The ids of a text, as far as they may be left when it is cut, and one more: how many others there are makes no difference."""
        cut = self.truncation
        if cut is None or len(ids) <= cut.max_length + 1 or cut.max_length < (self.around_one if around else 0):
            return ids
        return ids[: cut.max_length + 1] if cut.direction == "right" else ids[-cut.max_length - 1 :]

    def shape(self, size: int, around: bool) -> Shape | None:
        """That of a text of so many tokens."""
        try:
            return self.shapes[size, around]
        except KeyError:
            found = shape_of(self.finish([Encoding.bare(marks(size), 0)], around))
        if len(self.shapes) < SIZES:
            self.shapes[size, around] = found
        return found

    def columns(self, size: int, around: bool, shape: Shape, length: int | None) -> Beside:
        """What stands beside the ids of a text of so many tokens, of which this is the shape, filled up to a length."""
        key = size, around, length
        known = self.beside.get(key)
        if known is None:
            types, special, attention = shape.columns()
            if self.padding is not None and length is not None:
                types = self.padding.filled(types, self.padding.pad_type_id, length)
                special, attention = (self.padding.filled(*each, length) for each in zip((special, attention), FILLS, strict=True))
            known = types, special, attention
            if len(self.beside) < SIZES and len(types) <= LARGEST:
                self.beside[key] = known
        return known

    def whole(self, ids: list[int], texts: Texts, around: bool, rest: Rest) -> Encoding:
        """The encoding of one text or two that are not cut, of which the ids are complete."""
        size = len(ids) - self.around_one if around else len(ids)
        beside = self.beside.get((size, around, None)) if len(texts) == 1 else None
        if beside is None:
            return Encoding.later(ids, partial(self.plain, ids, size, texts, around, rest))
        return Encoding.early(ids, *beside, make=partial(rest, texts, around, None))

    def plain(self, ids: list[int], size: int, texts: Texts, around: bool, rest: Rest, early: bool) -> Encoding:
        """The same when more of it is asked for; `early`: than what is as soon known as the ids."""
        shape = self.shape(size, around) if early and len(texts) == 1 else None
        if shape is None:
            return rest(texts, around, None, early)
        return Encoding.early(ids, *self.columns(size, around, shape, None), make=partial(rest, texts, around, None))

    def with_ids(self, batch: Sequence[Texts], around: bool) -> Iterator[tuple[list[int], Texts]]:
        """The texts, each with its ids, where nothing is done with these but to put others around."""
        if len(batch) > 1 and all(len(texts) == 1 and isinstance(texts[0], str) for texts in batch):
            found = self.tokenizer.encode_batch([texts[0] for texts in batch], add_special_tokens=around)  # type: ignore[misc]
        else:
            found = [self.with_special(each, around) for each in self.ids_of(batch)]
        return zip(found, batch, strict=True)

    def with_special(self, each: list[list[int]], around: bool) -> list[int]:
        """The ids of one text or two, with special ones around."""
        description = self.tokenizer.description
        ids: list[int] = []
        for what, _ in description.single if len(each) == 1 else description.pair:
            if isinstance(what, str):
                ids += each["AB".index(what)]
            elif around:
                ids.append(what)
        return ids

    def ids_of(self, batch: Sequence[Texts]) -> Iterator[list[list[int]]]:
        """The ids of each text, and of all words of each."""
        parts = [part for texts in batch for text in texts for part in ([text] if isinstance(text, str) else text)]
        found: Iterator[list[int]]
        if self.passed_over is not None:
            found = (self.pipeline.encode(part, 0, self.passed_over)._ids for part in parts)
        elif len(parts) == 1:
            found = iter([self.tokenizer.encode(parts[0])])
        else:
            try:
                found = iter(self.tokenizer.encode_batch(parts))
            except ValueError:  # which names a text, where this may be a word
                found = map(self.tokenizer.encode, parts)
        for texts in batch:
            yield [next(found) if isinstance(text, str) else [*chain.from_iterable(islice(found, len(text)))] for text in texts]

    def bare(self, texts: Texts, around: bool, length: int | None, early: bool) -> Encoding:
        """One text or two with little but the ids."""
        made = self.finish([Encoding.bare(ids, 0) for ids in next(self.ids_of([texts]))], around)
        if self.padding is not None and length is not None:
            self.padding.fill(made, length)
        return made

    def known(self, texts: Texts, around: bool, length: int | None, early: bool) -> Encoding:
        """All that is known of one text or two. `length`: what it is filled up to, or None; `early`: only what is as soon known as the ids,
        and the rest when it is asked for."""
        if early:
            made = self.finish([Encoding.bare(ids, kind) for kind, ids in enumerate(next(self.ids_of([texts])))], around)
        else:
            passed_over = self.passed_over or frozenset()
            made = self.finish([self.pipeline.encode(text, kind, passed_over) for kind, text in enumerate(texts)], around)
        if self.padding is not None and length is not None:
            self.padding.fill(made, length)
        if early:
            made.make_later(partial(self.known, texts, around, length))
        return made

    def finish(self, encodings: list[Encoding], around: bool) -> Encoding:
        """What is done when texts are encoded, but for filling up."""
        if self.truncation is not None:
            self.truncation.cut(encodings, self.added(len(encodings)) if around else 0)
        return process(self.processors, encodings, around)

    def added(self, texts: int) -> int:
        """How many tokens are put around so many texts."""
        return added_by(self.processors, texts)

    def fill(self, encodings: list[Encoding]) -> int | None:
        """Fill up those of a batch; up to how many tokens, if they are filled up."""
        return None if self.padding is None else self.padding.fill_all(encodings)
