"""Many inputs, each by itself: tasks in, what a function gives of each out; in this process, or in one for each core where that is worth it.

    for place, found in work(count_input, Job(tokenizer, how), tasks, sources, note):
        ...                                # found: what count_input(job, tasks[place], report) gave, or the InputError that it raised

Reading and writing documents is Python's work, which one process does on one core, however many encode. Invariant: what comes out of a
task does not depend on who did it. What a process of its own cannot read is read here: standard input, and the numbers of open files. So are
large texts, each of which is one document: all cores encode it, and the ids of several would be in memory at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from ..inputs import InputError
from ..lexers import workers_of
from ..opening import is_open_here
from ..processes import Processes, Report

if TYPE_CHECKING:
    from ..inputs import Source
    from ..terminal import Progress
    from ..tokenizer import Tokenizer

__all__ = ["Job", "Tallies", "Tally", "in_order", "work"]

LARGE = 1 << 25  # bytes of all inputs from which on it is worth to start processes
MOST = 1 << 26  # bytes of a text that may be one of several in memory


class Job(NamedTuple):
    """What documents are encoded with; and for those who write ids, the format and the numbers."""

    tokenizer: Tokenizer
    how: Mapping[str, Any]
    written: tuple[str, str] = ("", "")


class Tally(NamedTuple):
    """How far an input is read: bytes of its file, bytes that these gave, and what became of them."""

    position: int = 0
    length: int = 0
    documents: int = 0
    tokens: int = 0


class Tallies:
    """Those of all inputs, and their sum, which is shown."""

    def __init__(self, progress: Progress) -> None:
        self.progress = progress
        self.each: dict[int, Tally] = {}
        self.sum = Tally()

    def note(self, number: int, tally: Tally) -> None:
        """How far an input is."""
        before = self.each.get(number, Tally())
        self.each[number] = tally
        self.sum = Tally(*(all + now - then for all, now, then in zip(self.sum, tally, before, strict=True)))
        self.progress.show(self.sum.position, self.sum.length, self.sum.tokens)

    def give_up(self, number: int, size: int) -> None:
        """An input of so many bytes is not read any further."""
        self.note(number, self.each.get(number, Tally())._replace(position=size))


def work(
    function: Callable[[Job, Any, Report], Any], job: Job, tasks: Sequence[Any], sources: Sequence[Source], note: Callable[[int, Any], None],
    idle: Callable[[], None] | None = None,
) -> Iterator[tuple[int, Any]]:  # fmt: skip
    """What comes of each task, with its place, as they are done. `sources` are what they read, `note` takes what they report; `idle` is called
    when processes have not reported anything for a while."""
    threads = workers_of(job.how["threads"])
    count = min(threads, len(tasks)) if may_be_apart(sources) else 1
    if count < 2:
        for place, task in enumerate(tasks):
            try:
                found = function(job, task, partial(note, place))
            except InputError as error:
                found = error
            yield place, found
        return
    with Processes(count, function, job._replace(how={**job.how, "threads": threads // count})) as processes:
        for place, kind, value in processes.work(tasks, idle):
            if kind == "reported":
                note(place, value)
            elif kind == "raised" and not isinstance(value, InputError):
                raise value
            else:
                yield place, value


def may_be_apart(sources: Sequence[Source]) -> bool:
    """Whether it is worth to have several processes read these, and they can."""
    if sum(source.size for source in sources) < LARGE or any(is_open_here(source.path) for source in sources):
        return False
    return not any(source.form == "text" and source.size > MOST and not source.comes_in_parts for source in sources)


def in_order(found: Iterable[tuple[int, Any]]) -> Iterator[Any]:
    """What `work` gives, in the order of the tasks."""
    waiting: dict[int, Any] = {}
    following = 0
    for place, value in found:
        waiting[place] = value
        while following in waiting:
            yield waiting.pop(following)
            following += 1
