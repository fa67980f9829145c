"""One training from texts to a Description: counting, merging, and the checkpoints between.

    session = Session(settings, cutting("gpt2", rule)); session.count(text); session.merge(report); session.description()

    counting   the lexer cuts each text, and distinct pieces are counted, by as many threads as are wanted
    merging    from the most frequent pair on, until there are as many tokens as wanted, or no pair is frequent enough

Where training starts from a vocabulary there is, pieces begin as the tokens that it makes of them, and its tokens keep their ids.
Invariant: what comes out hangs on the texts and the settings, not on threads, batches, or where it was interrupted.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from ..added_search import prepared
from ..lexers import cores
from ..vocabularies.byte_alphabet import bytes_or_text
from ..vocabulary import AddedToken, Description, Vocabulary, VocabularyError
from .checkpoint import MOST_TEXT, Checkpoint, CheckpointError, check_origin
from .counting import Counting, Runs
from .growing import byte_counts, extensible, spelled, with_merges
from .memory import mapped
from .progress import Progress
from .pure import PureMerger
from .rules import Rule
from .source import Place, batches

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from .checkpoint import Keeper
    from .cutting import Cutting
    from .source import Batch

__all__ = ["Session", "Settings"]

WORK = 1 << 24  # places looked at between two looks at the clock
IDS = (1 << 21) - 2  # as many as the merger and the encoders can tell apart
ANY_COUNT = (1 << 64) - 1
CUTTING = ("base", "normalizer", "prefix_space", "dialect", "unicode", "steps")
OF_MINBPE = " (for NAME.model, count with the regular expression of a family, as minbpe reads it, not with its name)"


@dataclass(frozen=True, slots=True)
class Settings:
    """What decides the result, beside the texts and what cuts them.

    base   the vocabulary that is extended, with its added tokens; None: the bytes
    """

    rule: Rule
    vocabulary_size: int
    special: tuple[str, ...] = ()
    min_frequency: int = 0
    max_token_length: int | None = None
    initial_alphabet: bytes = bytes(range(256))
    limit_alphabet: int | None = None
    base: Description | None = None
    name: str | None = None

    @property
    def takes_bytes_of_text(self) -> bool:
        """Whether the text decides which bytes are tokens."""
        return self.base is None and self.rule.chooses_bytes and (len(set(self.initial_alphabet)) < 256 or self.limit_alphabet is not None)

    def as_json(self, cutting: Cutting) -> dict[str, Any]:
        """All of it but the size that is wanted, which may be another when a training goes on."""
        return {
            "rule": self.rule.name, "special": list(self.special), "min_frequency": self.min_frequency,
            "max_token_length": self.max_token_length, "initial_alphabet": self.initial_alphabet.hex(),
            "limit_alphabet": self.limit_alphabet,
            "base": None if self.base is None else self.base.digest,  # which may be that of its vocabulary alone
            "normalizer": None if self.base is None else self.base.normalizer,
            "prefix_space": None if self.base is None else self.base.prefix_space or None, "dialect": cutting.dialect, "unicode": cutting.unicode,
            "steps": [dict(step) for step in cutting.lexer.steps],
        }  # fmt: skip


@dataclass(slots=True)
class Session:
    """A training. `threads`: as everywhere, 0 is as many as there are cores."""

    settings: Settings
    cutting: Cutting
    threads: int = 0
    memory: int = 1 << 62  # bytes that counted pieces may take before they are written to the disk
    spill: str | None = None  # the folder for that; None: where temporary files go
    length: int = 0  # bytes or characters of text
    pieces: Buffer = b""
    lengths: Buffer = b""
    counts: Buffer = b""
    merged: tuple[bytes, bytes] = (b"", b"")  # merges that were done before this session, and how often each pair was there
    origin: dict[str, Any] | None = None  # the files that are counted, and how they are read, if they can be read again
    start: Vocabulary | None = field(default=None, init=False)
    added: dict[str, int] = field(default_factory=dict, init=False)
    merger: Any = field(default=None, init=False)

    # --- counting ---

    def count(
        self, source: Any, *, input: str | None = None, field: str = "text", report: Callable[[Progress], object] | None = None,
        keeper: Keeper | None = None, begun: Checkpoint | None = None,
    ) -> None:  # fmt: skip
        """Count the pieces of all texts; of files, with checkpoints, and from where one says."""
        self.check_size()
        start, runs = None, None
        if keeper is not None and begun is not None and begun.counting is not None:
            start, runs = place_in(begun.counting, keeper.path)
            self.length = begun.settings["length"]
        if keeper is not None and runs is not None:
            keeper.runs = runs.path
        path = keeper.runs if keeper is not None and self.origin is not None else None
        counting = Counting(self.cutting.lexer, threads=self.threads or cores(), memory=self.memory, folder=self.spill, path=path, before=runs)
        try:
            for batch in map(self.prepared, batches(source, input=input, field=field, start=start)):
                position = batch.position + batch.here.offset
                for place, length in counting.add(batch):
                    self.length += length
                    position += length if batch.mapped else 0
                    if report is not None:
                        report(Progress("counting", position, batch.total, self.length))
                    if keeper is not None and self.origin is not None and keeper.is_due() and counting.can_keep:
                        keeper.write(partial(self.counting_checkpoint, counting, place))
            self.pieces, self.lengths, self.counts = counting.finish()
        except BaseException:
            if keeper is not None and path is not None and begun is None and not keeper.written:
                keeper.remove_runs()
            raise
        finally:
            counting.close()

    def prepared(self, batch: Batch) -> Batch:
        """With texts as the vocabulary that is extended cuts them. Pieces that were counted before must have been cut so."""
        if batch.counted is not None:
            self.check_cut(batch.counted, batch.path)
        if self.settings.base is None:
            return batch
        texts = [prepared(self.settings.base, text) for text in batch.texts]
        if all(ours is theirs for ours, theirs in zip(texts, batch.texts, strict=True)):
            return batch
        return batch._replace(texts=texts, mapped=False, position=batch.position + (len(batch.texts[0]) if batch.mapped else 0))

    def check_cut(self, found: Checkpoint, where: str) -> None:
        if found.counting is not None:
            raise CheckpointError(f"{where}: counting was interrupted there, and has to go on to its end before")
        for key, wanted in self.cut().items():
            if found.settings.get(key) != wanted:
                was = f"{key} {found.settings.get(key)!r:.300}, not {wanted!r:.300}"
                same = "pattern" if key != "dialect" else f"pattern and tie_break{OF_MINBPE}"
                raise CheckpointError(f"{where}: its pieces were cut in another way, with {was}; ask for the same {same}")
        if self.length + found.settings["length"] > MOST_TEXT:
            raise CheckpointError(f"{where}: with what was counted before, these are pieces of more than {MOST_TEXT:,} bytes of text")

    def cut(self) -> dict[str, Any]:
        """All that decides how texts are cut."""
        return {key: value for key, value in self.settings.as_json(self.cutting).items() if key in CUTTING}

    def counted(self) -> Checkpoint:
        """What was counted, for any training that cuts as this one."""
        return Checkpoint(self.cut() | {"length": self.length}, None, self.pieces, self.lengths, self.counts)

    def counting_checkpoint(self, counting: Counting, place: Place) -> Checkpoint:
        runs = counting.keep()
        about = {"place": place, "runs": runs._replace(key=runs.key.hex())}  # type: ignore[arg-type]
        return Checkpoint(self.about(), about)

    def about(self) -> dict[str, Any]:
        return self.settings.as_json(self.cutting) | {"length": self.length, "origin": self.origin}

    # --- merging ---

    def begin(self) -> None:
        """Make what the pieces start as, with the merges that were done before."""
        self.start, self.added = self.first_vocabulary()
        wanted = self.size() - len(self.start)  # of what was merged before, no more: the first merges are those of a smaller vocabulary
        self.merged = (self.merged[0][: 12 * wanted], self.merged[1][: 8 * wanted])
        vocabulary = with_merges(self.start, self.merged[0])
        settings = self.settings
        arguments = (
            settings.rule.smaller_first, len(vocabulary), self.size(), settings.rule.longest(settings.max_token_length),
            min(max(settings.min_frequency, 1), ANY_COUNT),
        )  # fmt: skip
        if self.cutting.lexer.tier == "pure":
            self.merger = PureMerger(vocabulary, *arguments)
        else:
            from .. import _native

            machine: Any = self.cutting.lexer._machine
            encoder = _native.Encoder(machine, {}, vocabulary.blob, vocabulary.starts, vocabulary.merges, vocabulary.whole)
            self.merger = _native.Merger(encoder, *arguments)
            needed = self.merger.needs(memoryview(self.lengths).nbytes // 4, memoryview(self.pieces).nbytes)
            if needed > self.memory:
                self.merger.lend(mapped(needed, self.spill))
        self.merger.add(self.pieces, self.lengths, self.counts)

    def check_size(self) -> None:
        """A size that cannot be is refused before a text is read."""
        if self.settings.vocabulary_size > IDS:
            raise ValueError(f"vocab_size is {self.settings.vocabulary_size}; it may be up to {IDS:,}")
        if not self.settings.takes_bytes_of_text:
            self.first_vocabulary()

    def size(self) -> int:
        """Ids of the vocabulary without special tokens that come behind it."""
        settings = self.settings
        if settings.base is not None:
            known = {token.content for token in settings.base.added}
            return settings.vocabulary_size - len([content for content in settings.special if content not in known])
        return settings.vocabulary_size - (0 if settings.rule.special_first else len(settings.special))

    def merges(self) -> tuple[bytes, bytes]:
        """All merges as ids, and how often each pair was there."""
        made = self.merger.merges() if self.merger is not None else (b"", b"")
        return self.merged[0] + made[0], self.merged[1] + made[1]

    def first_vocabulary(self) -> tuple[Vocabulary, dict[str, int]]:
        """The tokens before the first merge, and special tokens that come before them."""
        settings = self.settings
        if settings.base is not None:
            added = {token.content: token.id for token in settings.base.added}
            ids = max([len(settings.base.vocabulary) - 1, *added.values()]) + 1
            if settings.vocabulary_size == ids or self.size() < ids:
                alone = ids + settings.vocabulary_size - self.size()
                raise ValueError(f"vocab_size is {settings.vocabulary_size}; what is extended and new special tokens alone are {alone}")
            start = extensible(settings.base.vocabulary, ids)
            refuse_there(start, [content for content in settings.special if content not in added], settings.rule)
            return start, added
        chosen = settings.rule.bytes_in_order(self.chosen_bytes())
        first = {content: number for number, content in enumerate(settings.special)} if settings.rule.special_first else {}
        tokens = [*(b"" for _ in first), *(bytes([byte]) for byte in chosen)]
        if len(tokens) > self.size():
            raise ValueError(f"vocab_size is {settings.vocabulary_size}; bytes and special tokens alone are {len(tokens)}")
        start = Vocabulary.from_merges(tokens, [])
        refuse_there(start, settings.special, settings.rule)
        return start, first

    def chosen_bytes(self) -> list[int]:
        """The bytes that are tokens. Where the trainer chooses: the initial ones and those that were met; of too many, the most frequent."""
        settings = self.settings
        if not settings.rule.chooses_bytes:
            return list(range(256))
        initial = set(settings.initial_alphabet)
        times: Counter[int] = Counter(dict.fromkeys(initial, 0))
        if len(initial) < 256 or settings.limit_alphabet is not None:
            times.update(byte_counts(self.pieces, self.lengths, self.counts))
        chosen = sorted(times, key=lambda byte: (byte not in initial, -times[byte], byte))
        return chosen if settings.limit_alphabet is None else chosen[: max(settings.limit_alphabet, 0)]

    def merge(self, report: Callable[[Progress], object] | None = None) -> bool:
        """Merge for a moment: whether there is more to do."""
        if self.merger is None:
            self.begin()
        more: bool = self.merger.run(IDS, WORK)
        if report is not None and self.start is not None:
            triples, counts = self.merges()
            if counts:
                last = memoryview(triples).cast("I")[-3:].tolist()
                pair = tuple(spelled(self.start, triples, number) for number in last[:2])
                done, total = len(counts) // 8, self.size() - len(self.start)
                report(Progress("merging", done, total, self.length, memoryview(counts).cast("Q")[-1], (pair[0], pair[1])))
        return more

    # --- checkpoints ---

    def checkpoint(self) -> Checkpoint:
        """All that is needed to go on, once counting is done."""
        return Checkpoint(self.about(), None, self.pieces, self.lengths, self.counts, *self.merges())

    def resume(self, found: Checkpoint, where: str) -> None:
        """Take what was counted, if all is."""
        wanted = self.settings.as_json(self.cutting)
        for key, value in wanted.items():
            if found.settings.get(key) != value:
                raise CheckpointError(f"{where}: was made with {key} {found.settings.get(key)!r}, not {value!r}")
        check_origin(found.settings.get("origin"), self.origin, where)
        self.check_size()
        if found.counting is not None:
            return
        self.length = found.settings["length"]
        self.pieces, self.lengths, self.counts = found.pieces, found.lengths, found.counts
        self.merged = (found.merges, found.merge_counts)

    # --- the result ---

    def description(self) -> Description:
        """The tokenizer that was learned."""
        assert self.start is not None
        settings, rule = self.settings, self.settings.rule
        vocabulary = with_merges(self.start, self.merges()[0])
        added = dict(self.added)
        following = len(vocabulary)
        for content in settings.special:
            if content not in added:
                added[content] = following
                following += 1
        known = {} if settings.base is None else {token.content: token for token in settings.base.added}
        made = [known.get(content) or AddedToken(number, content) for content, number in added.items()]
        refuse_learned(vocabulary, len(self.start), made, rule)
        tokens = tuple(sorted(made, key=lambda token: token.id))
        decoded = {token.id: token.content.encode() for token in tokens}
        digest = hashlib.sha256(vocabulary.blob + vocabulary.starts + (vocabulary.merges or b"") + repr(tokens).encode()).hexdigest()
        if settings.base is not None:
            return replace(
                settings.base, vocabulary=vocabulary, added=tokens, decoded=decoded | dict(settings.base.decoded),
                name=settings.name or digest[:12], digest=digest,
            )  # fmt: skip
        return Description(
            vocabulary=vocabulary, pre_tokenizer=self.cutting.pre_tokenizer, dialect=self.cutting.dialect, unicode=self.cutting.unicode,
            family=self.cutting.family, added=tokens, decoded=decoded,
            convention=rule.convention, name=settings.name or digest[:12], format=rule.format, digest=digest,
        )  # fmt: skip


def place_in(counting: dict[str, Any], where: str) -> tuple[Place, Runs]:
    """Where counting goes on in the files. The file of runs is written over, so it is none that has another name than we give them."""
    try:
        runs, place = Runs(*counting["runs"]), Place(*counting["place"])
        if runs.path.endswith(".runs"):
            return place, runs._replace(key=bytes.fromhex(runs.key))  # type: ignore[arg-type]
    except (AttributeError, KeyError, TypeError, ValueError):
        pass
    raise CheckpointError(f"{where}: not as it was written; counting cannot go on from it")


def tokens_named(content: str, rule: Rule) -> list[bytes]:
    """The tokens that a special token would be mistaken for: that of its bytes; for BpeTrainer, to which the name is all that a token is, also
    the one that has this name in the byte alphabet, as byte B6 has "¶"."""
    if rule.format != "huggingface":
        return [content.encode()]
    return [content.encode(), bytes_or_text(content)]


def refuse_there(start: Vocabulary, special: Iterable[str], rule: Rule) -> None:
    """A new special token that is a token before anything is learned."""
    for content in special:
        number = next((start.ids[token] for token in tokens_named(content, rule) if token in start.ids), None)
        if number is not None:
            raise VocabularyError(f"special token {content!r} is token {number}, whatever is learned; choose another name")


def refuse_learned(vocabulary: Vocabulary, first: int, added: Iterable[AddedToken], rule: Rule) -> None:
    """A special token that was learned, too, which only shows when it is. Others may be tokens of the vocabulary as well, as in files they are."""
    for token in added:
        number = max(vocabulary.ids.get(named, -1) for named in tokens_named(token.content, rule))
        if token.special and number >= first:
            raise VocabularyError(f"special token {token.content!r} was also learned from the text, as token {number}; choose another name")
