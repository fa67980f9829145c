"""Texts as the processes are given them: files that hold a JSON list of str, written once for all tokenizers.

    samples = Samples(scratch)
    samples.of(text)                     # one text; `samples.of(text.beginning(1_000_000))` for who is slow
    samples.turned(text)                 # the text four times, begun at other lines
    samples.short(text)                  # 1,000 strings of 50 bytes
    samples.mixed(texts)                 # all of them, in documents of a few kilobytes, in random order
    samples.documents(texts, 20_000_000) # such documents, from each text as many as from any other, to share out among threads
    pieces(1_000_000)                    # texts that no pattern cuts: what a tokenizer does when a piece does not end

Whole texts are given, as str: what all tokenizers take.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ..corpora import Text
from ..special import SHORT

__all__ = ["Sample", "Samples", "pieces"]

DOCUMENT = 4_000  # bytes
TURNED = 4


@dataclass(frozen=True)
class Sample:
    """`bytes`: of all its texts together, in UTF-8; of turned texts, of one."""

    name: str
    path: str
    bytes: int
    texts: int


class Samples:
    def __init__(self, scratch: Path) -> None:
        self.scratch = scratch
        self.known: dict[tuple[str, int, int], Sample] = {}

    def write(self, name: str, texts: Sequence[str]) -> Sample:
        size = sum(len(text.encode()) for text in texts)
        key = name, size, len(texts)
        if key not in self.known:
            path = self.scratch / f"texts-{len(self.known)}.json"
            path.write_text(json.dumps(list(texts), ensure_ascii=False), encoding="utf-8")
            self.known[key] = Sample(name, str(path), size, len(texts))
        return self.known[key]

    def of(self, text: Text) -> Sample:
        return self.write(text.name, [text.text])

    def turned(self, text: Text) -> Sample:
        """What comes before a line, put behind all others: what a memory of whole texts does not know, made of what any other does."""
        starts = [text.text.find("\n", len(text.text) * part // TURNED) + 1 for part in range(TURNED)]
        return replace(self.write(text.name, [text.text[start:] + text.text[:start] for start in starts]), bytes=len(text.data))

    def short(self, text: Text, count: int = 1_000) -> Sample:
        return self.write(text.name, cut(text, SHORT)[:count])

    def mixed(self, texts: Iterable[Text]) -> Sample:
        documents = [document for text in texts for document in cut(text, DOCUMENT)]
        random.Random(7).shuffle(documents)
        return self.write("mixed", documents)

    def documents(self, texts: Iterable[Text], size: int) -> Sample:
        """Up to `size` bytes of all texts together, from each as much as from any other."""
        each = [cut(text, DOCUMENT) for text in texts]
        mixed = [document for number in range(max(map(len, each))) for some in each for document in some[number : number + 1]]
        return self.write("documents", mixed[: max(1, size // DOCUMENT)])


def cut(text: Text, size: int) -> list[str]:
    """Parts of so many bytes; what is left of characters at their ends is left out."""
    return [part for at in range(0, len(text.data), size) if (part := text.data[at : at + size].decode("utf-8", "ignore"))]


def pieces(size: int) -> list[Text]:
    """Texts of one piece, or of as few as a pattern makes of them."""
    chance = random.Random(5)
    letters = "abcdefghijklmnopqrstuvwxyz"
    return [
        Text("one letter", "a" * size), Text("random letters", "".join(chance.choices(letters, k=size))), Text("spaces", " " * size),
        Text("ideographs", "".join(map(chr, chance.choices(range(0x4E00, 0x9FA0), k=size // 3)))),
    ]  # fmt: skip
