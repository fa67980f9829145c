"""Counting and merging in pure Python: what trains where no C compiler was, with the same results.

    counter = PureCounter(machine); counter.add(["the cat, the dog"]); counter.finish()     # pieces, lengths, counts
    merger = PureMerger(vocabulary, ...); merger.add(*counter.finish()); merger.run(1000, work); merger.merges()

Both have the methods of their namesakes in C (`_native.pyi`), and take and give the same buffers. Each pair is kept with the pieces that
have it; a merge changes the counts of the pairs in these pieces only. Counts only fall after the merge that made a pair, and so does where it
first stands only move back; so what lies on the heap is never less than what it is now, and is put right when it comes to the top.

Invariant: what comes to the top as it is now is the next merge, by the rule, unless it has the bytes of a token that there is. Rejected:
counting all pairs again for each merge, which is the definition, in the tests.
"""

from __future__ import annotations

from array import array
from collections import Counter
from functools import partial
from heapq import heapify, heappop, heapreplace
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any

from ..encoders import as_bytes
from ..lexers import texts_of
from ..merging import PureEncoder

if TYPE_CHECKING:
    from collections.abc import Iterable

    from typing_extensions import Buffer

    from ..vocabulary import Vocabulary

__all__ = ["PureCounter", "PureMerger"]

Pair = tuple[int, int]


class PureCounter:
    """How often each distinct piece was met, in the order in which they were."""

    def __init__(self, machine: Any, key: bytes = b"") -> None:
        self.machine = machine
        self.counts: Counter[bytes] = Counter()

    def add(self, texts: Iterable[Any], threads: int = 1, blocks: int = 0) -> None:
        for text in texts_of(texts):
            data = as_bytes(text)
            self.counts.update(data[start:end] for start, end in self.machine.iterate(data) if start < end)

    def add_counted(self, pieces: Buffer, lengths: Buffer, counts: Buffer, text: int) -> None:
        wrong = partial(ValueError, "these are no runs, or pieces, as they were written")  # made when raised, or what is given would stay in a cycle
        data, left, at = bytes(pieces), 4 * text, 0
        if memoryview(lengths).nbytes % 4 or memoryview(counts).nbytes != 2 * memoryview(lengths).nbytes:
            raise wrong()
        for length, count in zip(memoryview(lengths).cast("B").cast("I"), memoryview(counts).cast("B").cast("Q"), strict=True):
            left -= count * length
            if not 0 < length <= len(data) - at or left < 0:
                raise wrong()
            self.counts[data[at : at + length]] += count
            at += length
        if at != len(data):
            raise wrong()

    def memory(self) -> int:
        return 200 * len(self.counts)

    def finish(self) -> tuple[bytes, bytes, bytes]:
        return b"".join(self.counts), array("I", map(len, self.counts)).tobytes(), array("Q", self.counts.values()).tobytes()


class PureMerger:
    """Pieces as tokens, and the pair to be merged next."""

    def __init__(
        self, vocabulary: Vocabulary, smaller_first: bool, first_id: int, ids: int, longest: int, least: int
    ) -> None:
        self.smaller_first, self.next_id, self.ids, self.longest, self.least = smaller_first, first_id, ids, longest, max(least, 1)
        self.encoder = PureEncoder(vocabulary)
        self.known = bytes(token[0] for token in vocabulary.tokens() if len(token) == 1)
        self.tokens = vocabulary.tokens()
        self.there = frozenset(token for token in self.tokens if len(token) > 1)  # what merging comes to is never a pair
        self.lengths = {number: len(token) for number, token in enumerate(self.tokens)}
        self.words: list[list[int]] = []
        self.times: list[int] = []
        self.counts: Counter[Pair] = Counter()
        self.places: dict[Pair, list[int]] = {}
        self.heap: list[tuple[int, Any, Pair]] | None = None
        self.made: list[tuple[int, int, int, int]] = []

    def add(self, pieces: Buffer, lengths: Buffer, counts: Buffer) -> None:
        data = memoryview(pieces)
        ends = list(accumulate(memoryview(lengths).cast("I"), initial=0))
        unknown = bytes(set(range(256)) - set(self.known))
        for (start, end), count in zip(pairwise(ends), memoryview(counts).cast("Q"), strict=True):
            self.words.append(list(self.encoder.encode_piece(bytes(data[start:end]).translate(None, unknown))) if end > start else [])
            self.times.append(count)
            self.count(len(self.words) - 1, set())

    def memory(self) -> int:
        return 100 * sum(map(len, self.words))

    def count(self, number: int, new: set[Pair]) -> None:
        """Count the pairs of a word, and note that it has them."""
        for pair in pairwise(self.words[number]):
            if self.lengths[pair[0]] + self.lengths[pair[1]] > self.longest:
                continue
            self.counts[pair] += self.times[number]
            known = self.places.setdefault(pair, [])
            if not known:
                new.add(pair)
            if not known or known[-1] != number:
                known.append(number)

    def key(self, pair: Pair) -> tuple[int, Any, Pair]:
        """What is least for the pair to be merged next."""
        if self.smaller_first:
            return -self.counts[pair], pair, pair
        for at, number in enumerate(self.places[pair]):
            word = self.words[number]
            found = next((i for i, other in enumerate(pairwise(word)) if other == pair), None)
            if found is not None:
                del self.places[pair][:at]
                return -self.counts[pair], (number, sum(map(self.lengths.__getitem__, word[:found]))), pair
        return 0, (0, 0), pair

    def run(self, most: int, work: int) -> bool:
        """Whether there may be more to merge."""
        most += len(self.made)
        if self.heap is None:
            self.heap = [self.key(pair) for pair in self.places]
            heapify(self.heap)
        heap = self.heap
        while len(self.made) < most and work > 0 and self.next_id < self.ids and heap:
            now = self.key(heap[0][2])
            if -now[0] < self.least:
                heappop(heap)
            elif now != heap[0]:
                heapreplace(heap, now)
            elif self.there and self.spelled(now[2]) in self.there:
                heappop(heap)
            else:
                heappop(heap)
                work -= self.merge(now[2], -now[0])
        return bool(heap) and self.next_id < self.ids

    def spelled(self, pair: Pair) -> bytes:
        return self.tokens[pair[0]] + self.tokens[pair[1]]

    def merge(self, pair: Pair, count: int) -> int:
        """Make a token of a pair; how many words were looked at."""
        from heapq import heappush

        number, self.next_id = self.next_id, self.next_id + 1
        self.lengths[number] = self.lengths[pair[0]] + self.lengths[pair[1]]
        self.tokens.append(self.spelled(pair))
        new: set[Pair] = set()
        places = self.places.pop(pair)
        for at in places:
            word = self.words[at]
            joined = merged(word, pair, number)
            if len(joined) == len(word):
                continue
            for other in pairwise(word):
                if other in self.counts:
                    self.counts[other] -= self.times[at]
            self.words[at] = joined
            for other in pairwise(joined):
                if number in other:
                    continue
                if other in self.counts:
                    self.counts[other] += self.times[at]
            self.count_new(at, number, new)
        self.counts.pop(pair, None)
        assert self.heap is not None
        for other in new:
            heappush(self.heap, self.key(other))
        self.made.append((*pair, number, count))
        return len(places)

    def count_new(self, at: int, number: int, new: set[Pair]) -> None:
        for other in pairwise(self.words[at]):
            if number not in other or self.lengths[other[0]] + self.lengths[other[1]] > self.longest:
                continue
            self.counts[other] += self.times[at]
            known = self.places.setdefault(other, [])
            if not known or known[-1] != at:
                known.append(at)
            new.add(other)

    def merges(self, start: int = 0) -> tuple[bytes, bytes]:
        made = self.made[start:]
        return array("I", [number for one in made for number in one[:3]]).tobytes(), array("Q", [one[3] for one in made]).tobytes()


def merged(word: list[int], pair: Pair, number: int) -> list[int]:
    """A word with a pair made a token, from left to right."""
    left, right = pair
    made: list[int] = []
    at = 0
    while at < len(word):
        if word[at] == left and at + 1 < len(word) and word[at + 1] == right:
            made.append(number)
            at += 2
        else:
            made.append(word[at])
            at += 1
    return made
