"""Two pictures of a tokenizer that was trained: how long its tokens are, and what more of them would be worth. Needs matplotlib.

    draw(tokenizer, ["held-out text"], "plots")        # plots/token-lengths.svg, plots/compression.svg

A vocabulary that was trained is also all smaller ones: its first merges are theirs. So compression against size is measured with the same
tokenizer, of fewer merges each time.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..tokenizer import Tokenizer
from ..vocabulary import Vocabulary, buffers
from .report import report

if TYPE_CHECKING:
    from ..vocabulary import Description

__all__ = ["compression_by_size", "draw", "smaller"]

POINTS = 12


def smaller(description: Description, merges: int) -> Description:
    """The tokenizer of its first merges, without special tokens."""
    vocabulary = description.vocabulary
    assert vocabulary.merges is not None
    flat = memoryview(vocabulary.merges).cast("I")
    gone = set(flat[3 * merges + 2 :: 3])
    tokens = [b"" if number in gone else token for number, token in enumerate(vocabulary.tokens())]
    kept = Vocabulary(*buffers(tokens), vocabulary.merges[: 12 * merges], vocabulary.whole)
    return replace(description, vocabulary=kept, added=(), decoded={})


def compression_by_size(tokenizer: Tokenizer, held_out: Any, **options: Any) -> list[tuple[int, float]]:
    """Bytes per token of the held-out text, with vocabularies of more and more merges."""
    count = len(tokenizer.description.vocabulary.merges or b"") // 12
    sizes = sorted({max(1, round(count / 2**step)) for step in range(POINTS)} & set(range(1, count + 1)))
    found = []
    for size in sizes:
        made = Tokenizer(smaller(tokenizer.description, size), lexer=tokenizer.lexer)
        found.append((len(tokenizer.description.vocabulary) - count + size, report(made, held_out, **options).compression))
    return found


def draw(tokenizer: Tokenizer, held_out: Any, folder: str | os.PathLike[str], **options: Any) -> list[Path]:
    """Draw both; without held-out text only the first. Where the pictures are."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ValueError("plots need matplotlib: pip install matplotlib") from None
    os.makedirs(folder, exist_ok=True)
    lengths = report(tokenizer).lengths
    figure = Figure(figsize=(7, 4))
    axes = figure.subplots()
    axes.bar(list(lengths), list(lengths.values()))
    axes.set(xlabel="bytes of a token", ylabel="tokens", title=f"{tokenizer.name}: token lengths")
    made = [Path(folder, "token-lengths.svg")]
    figure.savefig(made[0])
    points = compression_by_size(tokenizer, held_out, **options) if held_out else []
    if points:
        figure = Figure(figsize=(7, 4))
        axes = figure.subplots()
        axes.semilogx([size for size, _ in points], [value for _, value in points], marker="o")
        axes.set(xlabel="ids", ylabel="bytes per token, held-out text", title=f"{tokenizer.name}: compression")
        made.append(Path(folder, "compression.svg"))
        figure.savefig(made[1])
    return made
