"""Counting by itself: texts in, a file of their distinct pieces and how often each was met out, from which trainings go on.

    count_pieces(Path("shards/00*.jsonl.zst"), "00.pieces", pattern="o200k")            # on one machine
    count_pieces(Path("shards/01*.jsonl.zst"), "01.pieces", pattern="o200k")            # on another one
    bitlex.train([Path("00.pieces"), Path("01.pieces")], 50000, pattern="o200k")        # what comes of all shards, in this order

Texts are read where they lie, by as many jobs as there are; a file has each piece once. A training takes such files beside texts, or
instead of them. Invariant: it learns what it would learn from the texts themselves, one file after the other: counts add up, and a file has
its pieces in the order in which they were first met. Rejected: pieces that occur once left out of the files (pairs of them add up).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..lexers import workers_of
from ..outputs import refuse_inputs
from .checkpoint import Keeper, check_place, read, write
from .cutting import cutting_of
from .memory import bytes_of
from .rules import TieBreak, rule_of
from .session import IDS, Session, Settings
from .source import named, origin_of

if TYPE_CHECKING:
    from ..lexers import Lexer
    from ..tokenizer import Tokenizer
    from .progress import Progress

__all__ = ["count_pieces", "counted", "folder_of", "origin_to_keep"]


def count_pieces(
    source: Any, output: str | os.PathLike[str], *, pattern: str | Lexer | None = None, tie_break: TieBreak = "minbpe",
    extend: Tokenizer | None = None, threads: int = 0, input: str | None = None, field: str = "text", memory: int | str | None = None,
    spill: str | os.PathLike[str] | None = None, checkpoint: str | os.PathLike[str] | None = None, resume: bool = False,
    progress: Callable[[Progress], object] | None = None,
) -> int:  # fmt: skip
    """Count the distinct pieces of texts, write them to a file, and say how many they are.

    output      the file, for `bitlex.train` with the same pattern. It is there when it is whole, and takes the place of no file of another kind
    pattern, tie_break, extend    what cuts the text, as in `bitlex.train`: a regular expression is read as the trainer that `tie_break` names
                reads it, and a Tokenizer that is to be extended has its own
    All others are as there. Time is that of reading the text; memory and the file, of its distinct pieces. ValueError for arguments that
    contradict each other, and for files that cannot be read (InputError).
    """
    rule = rule_of(tie_break)
    cut = cutting_of(pattern, extend, rule)
    check_place(output)
    refuse_inputs(named(source), [os.fspath(output)])
    settings = Settings(rule, IDS, base=None if extend is None else extend.description)
    origin = origin_to_keep(source, input, field, checkpoint)
    session = Session(settings, cut, workers_of(threads), bytes_of(memory), folder_of(spill), origin=origin)
    counted(session, source, input=input, field=field, checkpoint=checkpoint, resume=resume, progress=progress)
    write(output, session.counted())
    return memoryview(session.lengths).nbytes // 4


def counted(
    session: Session, source: Any, *, input: str | None, field: str, checkpoint: str | os.PathLike[str] | None, resume: bool,
    progress: Callable[[Progress], object] | None,
) -> Keeper | None:  # fmt: skip
    """Have a session count all texts, or take what a checkpoint says was counted; what keeps checkpoints from there on."""
    if progress is not None and not callable(progress):
        raise TypeError(f"progress is {progress!r:.80}; it may be a function, which is given a Progress")
    keeper = None if checkpoint is None else Keeper(checkpoint, session.spill)
    if keeper is not None and session.spill is None:
        session.spill = os.path.dirname(keeper.path)
    found = None
    if resume and keeper is not None and os.path.exists(keeper.path):
        found = read(keeper.path)
        session.resume(found, keeper.path)
    if found is None or found.counting is not None:
        session.count(source, input=input, field=field, report=progress, keeper=keeper, begun=found)
        if keeper is not None:
            try:
                keeper.write(session.checkpoint)
            except BaseException:
                if not keeper.written and found is None:  # no checkpoint needs them
                    keeper.remove_runs()
                raise
    if keeper is not None:
        keeper.remove_runs()
    return keeper


def folder_of(spill: str | os.PathLike[str] | None) -> str | None:
    folder = None if spill is None else os.fspath(spill)
    if folder is not None and not os.path.isdir(folder):
        raise ValueError(f"{folder}: spill is no folder")
    return folder


def origin_to_keep(source: Any, input: str | None, field: str, checkpoint: str | os.PathLike[str] | None) -> dict[str, Any] | None:
    """What a checkpoint says of the files that are counted; None without one. None of them may be it, or the file of runs beside it."""
    if checkpoint is None:
        return None
    check_place(checkpoint)
    refuse_inputs(named(source), [os.fspath(checkpoint), f"{os.fspath(checkpoint)}.runs"])
    return origin_of(source, input, field)
