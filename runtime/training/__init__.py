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
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from .progress import Progress
from .rules import TieBreak, rule_of

if TYPE_CHECKING:
    from ..lexer import Lexer
    from ..tokenizer import Tokenizer

__all__ = ["Progress", "TieBreak", "train"]

PAUSE = 60.0  # seconds between two checkpoints


def train(
    source: Any, vocab_size: int, *, pattern: str | Lexer | None = None, special_tokens: Sequence[str] = (), min_frequency: int = 0,
    tie_break: TieBreak = "minbpe", max_token_length: int | None = None, initial_alphabet: bytes | None = None,
    limit_alphabet: int | None = None, extend: Tokenizer | None = None, name: str | None = None, threads: int = 0, input: str | None = None,
    field: str = "text", checkpoint: str | os.PathLike[str] | None = None, resume: bool = False,
    progress: Callable[[Progress], object] | None = None,
) -> Tokenizer:  # fmt: skip
    """Learn a tokenizer of `vocab_size` ids from texts, or of fewer, where no pair is left that is frequent enough.

    source      a text (str, or UTF-8 in anything bytes-like), a path (pathlib.Path: a file, or a glob), or an iterable of these; `input`
                and `field` as in `Tokenizer.encode_files`. Texts are read as they are needed, and each is cut by itself
    vocab_size  of all ids: the bytes, the merges and the special tokens
    pattern     what cuts a text: a family ("gpt2", which is the default, "cl100k", "o200k", ...), a regular expression, read as the trainer
                that `tie_break` names reads it, a Lexer, or "" for nothing: each text is one piece
    special_tokens    their ids come behind the merges, with "huggingface" before the bytes
    min_frequency     a pair that occurs less often is not merged
    tie_break         which of equally frequent pairs is merged, and all else, as in: "minbpe" (the first in the text), "rustbpe" (of the
                      smallest ids), "huggingface" (the same, of other ids: see rules.py)
    max_token_length  the longest token in bytes. With "huggingface" as BpeTrainer has it: one of this very length is not made either
    initial_alphabet, limit_alphabet   with "huggingface": the bytes that are tokens in any case (default: all), and how many may be
    extend      a Tokenizer to go on from, which says the pattern; its ids stay
    threads     that count; 0: as many as there are cores
    checkpoint  a file to write what is done to: when counting is done, every minute, and when an exception, Ctrl-C say, ends the training.
                With `resume`, training goes on from it, if it is there; the sources are then not read again
    progress    called now and then with a Progress

    Time is that of reading the text and of the places merged; memory, of its distinct pieces: four bytes for each of their bytes, and
    places. ValueError for arguments that contradict each other; InputError (a ValueError) for files that cannot be read.
    """
    from ..tokenizer import Tokenizer
    from .cutting import cutting
    from .session import Session, Settings
    from .source import batches

    rule = rule_of(tie_break)
    if not rule.chooses_bytes and (initial_alphabet is not None or limit_alphabet is not None):
        raise ValueError(f"initial_alphabet and limit_alphabet go with tie_break='huggingface', not {tie_break!r}")
    if extend is not None and pattern is not None:
        raise ValueError("pattern goes without extend, which has its own")
    if len(set(special_tokens)) != len(special_tokens) or not all(special_tokens):
        raise ValueError(f"special_tokens are not distinct, or one is empty: {list(special_tokens)}")
    if threads < 0:
        raise ValueError(f"threads is {threads}; it may be 0, for as many as there are cores, or how many")
    cut = cutting(extend.lexer if extend is not None else "gpt2" if pattern is None else pattern or None, rule)
    settings = Settings(
        rule=rule, vocabulary_size=vocab_size, special=tuple(special_tokens), min_frequency=min_frequency,
        max_token_length=max_token_length, initial_alphabet=bytes(range(256)) if initial_alphabet is None else initial_alphabet,
        limit_alphabet=limit_alphabet, base=None if extend is None else extend.description, name=name,
    )  # fmt: skip
    session = Session(settings, cut, threads)
    if resume and checkpoint is not None and os.path.exists(checkpoint):
        from .checkpoint import read

        session.resume(read(checkpoint), os.fspath(checkpoint))
    else:
        session.count(batches(source, input=input, field=field), progress)
        save(session, checkpoint)
    merge(session, checkpoint, progress)
    return Tokenizer(session.description(), lexer=cut.lexer)


def merge(session: Any, checkpoint: str | os.PathLike[str] | None, progress: Callable[[Progress], object] | None) -> None:
    """Merge to the end; what was done is saved if that is not reached."""
    import time

    saved = time.monotonic()
    try:
        while session.merge(progress):
            if time.monotonic() - saved > PAUSE:
                save(session, checkpoint)
                saved = time.monotonic()
    except BaseException:
        save(session, checkpoint)
        raise


def save(session: Any, checkpoint: str | os.PathLike[str] | None) -> None:
    if checkpoint is not None:
        from .checkpoint import write

        write(checkpoint, session.checkpoint())
