"""Training: texts in, the Tokenizer that is learned from them out.

    tokenizer = bitlex.train(text, 8192)                                       # minbpe's rule, cut as GPT-2 does
    tokenizer = bitlex.train(Path("shards/**/*.jsonl.gz"), 50000, pattern="o200k", special_tokens=["<|end|>"])
    tokenizer = bitlex.train(texts, 32000, tie_break="huggingface", min_frequency=2)

Of all pairs of neighbouring tokens the most frequent one becomes a token, again and again. docs/training.md tells it from the beginning.
Invariant: merge for merge what the trainer gives that `tie_break` names, for any number of threads. Rejected: an approximation that
counts a sample, or forgets rare pieces; a trainer object to be configured (`Session` is what there is below).
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import index
from typing import TYPE_CHECKING, Any

from .progress import Progress
from .rules import TieBreak, rule_of

if TYPE_CHECKING:
    from ..lexers import Lexer
    from ..tokenizer import Tokenizer
    from .checkpoint import Keeper
    from .pieces import count_pieces
    from .session import Session

__all__ = ["Progress", "TieBreak", "count_pieces", "train"]


def __getattr__(name: str) -> object:
    if name == "count_pieces":
        from .pieces import count_pieces

        return count_pieces
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def train(
    source: Any, vocab_size: int, *, pattern: str | Lexer | None = None, special_tokens: Sequence[str] = (), min_frequency: int = 0,
    tie_break: TieBreak = "minbpe", max_token_length: int | None = None, initial_alphabet: bytes | None = None,
    limit_alphabet: int | None = None, extend: Tokenizer | None = None, name: str | None = None, threads: int = 0, input: str | None = None,
    field: str = "text", memory: int | str | None = None, spill: str | os.PathLike[str] | None = None,
    checkpoint: str | os.PathLike[str] | None = None, resume: bool = False,
    progress: Callable[[Progress], object] | None = None,
) -> Tokenizer:  # fmt: skip
    """Learn a tokenizer of `vocab_size` ids from texts, or of fewer, with a warning, where no pair is left that is frequent enough.

    source      a text (str, or UTF-8 in anything bytes-like), a path (pathlib.Path: a file, or a glob), or an iterable of these; `input`
                and `field` as in `Tokenizer.encode_files`. Texts are read as they are needed, and each is cut by itself. Where `input` is
                not given, a file that `count_pieces` wrote stands for the texts that were counted
    vocab_size  of all ids: the bytes, the merges and the special tokens
    pattern     what cuts a text: a family ("gpt2", which is the default, "cl100k", "o200k", ...), a regular expression, read as the trainer
                that `tie_break` names reads it, a Lexer, or "" for nothing: each text is one piece
    special_tokens    their ids come behind the merges, with "huggingface" before the bytes
    min_frequency     a pair that occurs less often is not merged
    tie_break         which of equally frequent pairs is merged, and all else, as in: "minbpe" (the first in the text), "rustbpe" (of the
                      smallest ids), "huggingface" (the same, of other ids: see rules.py)
    max_token_length  the longest token in bytes. With "huggingface" as BpeTrainer has it: one of this very length is not made either
    initial_alphabet, limit_alphabet   with "huggingface": the bytes that are tokens in any case (default: all), and how many may be
    extend      a Tokenizer to go on from, which says all that is not learned, such as the pattern and what is done about special tokens;
                its ids stay, and `vocab_size` counts them
    threads     that count; 0: as many as there are cores
    memory      how much of it counted pieces may take, in bytes or such as "2 GB", before they are written to temporary files, which changes
                nothing but the time; default: half of what the machine has
    spill       the folder for these; default: where temporary files go ($TMPDIR), and with `checkpoint`, beside that
    checkpoint  a file to write what is done to: every minute, when counting is done, and when an exception, Ctrl-C say, ends the merging.
                With `resume`, training goes on from it, if it is there. While texts are counted there are checkpoints if the source is
                files, which are then read again from where it says on; other sources begin anew until they are counted. Meanwhile, what was
                counted lies in CHECKPOINT.runs, whatever was there before, or in a file in `spill`
    progress    called now and then with a Progress

    Time is that of reading the text and of the places merged; memory, of its distinct pieces: four bytes for each of their bytes, and
    places. ValueError for arguments that contradict each other; InputError (a ValueError) for files that cannot be read.
    """
    from ..lexers import workers_of
    from ..tokenizer import Tokenizer
    from ..vocabulary import VocabularyError
    from .cutting import cutting_of
    from .memory import bytes_of
    from .pieces import counted, folder_of, origin_to_keep
    from .session import Session, Settings

    rule = rule_of(tie_break)
    vocab_size, min_frequency = whole("vocab_size", vocab_size), whole("min_frequency", min_frequency)
    max_token_length = None if max_token_length is None else whole("max_token_length", max_token_length)
    limit_alphabet = None if limit_alphabet is None else whole("limit_alphabet", limit_alphabet)
    if not rule.chooses_bytes and (initial_alphabet is not None or limit_alphabet is not None):
        raise ValueError(f"initial_alphabet and limit_alphabet go with tie_break='huggingface', not {tie_break!r}")
    numbers = {"min_frequency": min_frequency, "max_token_length": max_token_length, "limit_alphabet": limit_alphabet}
    for argument, number in numbers.items():
        if number is not None and number < 0:
            raise ValueError(f"{argument} is {number}; it may be 0 or more")
    if not isinstance(initial_alphabet, bytes | bytearray | None):
        raise TypeError(f"initial_alphabet is {initial_alphabet!r:.80}; it may be bytes")
    if not isinstance(name, str | None):
        raise TypeError(f"name is {name!r:.80}; it may be a str")
    cut = cutting_of(pattern, extend, rule)
    if extend is not None and (initial_alphabet is not None or limit_alphabet is not None):
        raise ValueError("initial_alphabet and limit_alphabet go without extend, which has its bytes")
    if isinstance(special_tokens, (str, Mapping, set, frozenset)) or not isinstance(special_tokens, Iterable):  # which have ids, or no order
        raise TypeError(f"special_tokens is {special_tokens!r}; it may be a list of str")
    special_tokens = list(special_tokens)
    if not all(isinstance(token, str) for token in special_tokens):
        raise TypeError(f"special_tokens is {special_tokens!r}; it may be a list of str")
    for token in special_tokens:
        if not is_unicode(token):
            raise ValueError(f"special_tokens: {token!r} has a lone surrogate, and so no UTF-8")
    if len(set(special_tokens)) != len(special_tokens) or not all(special_tokens):
        raise ValueError(f"special_tokens are not distinct, or one is empty: {list(special_tokens)}")
    workers = workers_of(threads)
    settings = Settings(
        rule=rule, vocabulary_size=vocab_size, special=tuple(special_tokens), min_frequency=min_frequency,
        max_token_length=max_token_length, initial_alphabet=bytes(range(256)) if initial_alphabet is None else initial_alphabet,
        limit_alphabet=limit_alphabet, base=None if extend is None else extend.description, name=name,
    )  # fmt: skip
    session = Session(settings, cut, workers, bytes_of(memory), folder_of(spill), origin=origin_to_keep(source, input, field, checkpoint))
    keeper = counted(session, source, input=input, field=field, checkpoint=checkpoint, resume=resume, progress=progress)
    merge(session, keeper, progress)
    try:
        description = session.description()
    except VocabularyError as error:
        if keeper is None:
            raise
        raise VocabularyError(f"{error}, or go on with a smaller vocab_size from {keeper.path}, which has what was counted") from None
    made = Tokenizer(description, lexer=cut.lexer)
    if made.vocabulary_size < vocab_size:
        text = f"; {source!r} was read as a text, and pathlib.Path({source!r}) is the file" if is_path(source) else ""
        learned = f"vocab_size is {vocab_size}, and {made.vocabulary_size} ids were learned: no pair is left to be merged{text}"
        warnings.warn(learned, stacklevel=2)
    return made


def whole(argument: str, number: Any) -> int:
    """An int, also where it is one of numpy's, which a checkpoint cannot be written with."""
    try:
        return index(number)
    except TypeError:
        raise TypeError(f"{argument} is {number!r}; it may be an int") from None


def is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def is_path(source: Any) -> bool:
    """Whether a text is the path of a file, which may have been meant."""
    return isinstance(source, str) and 0 < len(source) < 256 and os.path.exists(source)


def merge(session: Session, keeper: Keeper | None, progress: Callable[[Progress], object] | None) -> None:
    """Merge to the end; what was done is saved if that is not reached."""
    try:
        while session.merge(progress):
            if keeper is not None and keeper.is_due():
                keeper.write(session.checkpoint)
    except BaseException:
        if keeper is not None:
            keeper.write(session.checkpoint)
        raise
