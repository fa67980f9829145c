"""One trainer, one text, one time, in a process of its own: what it took, as JSON on standard output.

    python bench/training/worker.py rustbpe corpus.txt 8192 1

Out: seconds from the file on the disk to the vocabulary in memory, in a process that has learned from a few lines before; the peak of
resident memory before and after, in bytes; and a digest of the tokens in the order of their merges. Runs in the environment of the
trainer, so it imports nothing of the benchmark.
"""

from __future__ import annotations

import hashlib
import json
import re
import resource
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path

GPT2 = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"

Merged = Iterable[bytes]


def text_of(path: Path) -> str:
    return path.read_bytes().decode("utf-8", "replace")


def bitlex_rule(rule: str) -> Callable[[Path, int, int], Callable[[], Merged]]:
    import bitlex

    def train(path: Path, size: int, threads: int) -> Callable[[], Merged]:
        made = bitlex.train(path, size, tie_break=rule, threads=threads)  # type: ignore[arg-type]
        return lambda: made.description.vocabulary.tokens()[256:]

    return train


def rustbpe() -> Callable[[Path, int, int], Callable[[], Merged]]:
    import rustbpe as package

    def train(path: Path, size: int, threads: int) -> Callable[[], Merged]:
        made = package.Tokenizer()
        made.train_from_iterator(iter([text_of(path)]), size, pattern=GPT2)
        return lambda: [bytes(token) for token, rank in sorted(made.get_mergeable_ranks(), key=lambda item: item[1]) if rank > 255]

    return train


def gigatoken() -> Callable[[Path, int, int], Callable[[], Merged]]:
    import gigatoken as package

    def train(path: Path, size: int, threads: int) -> Callable[[], Merged]:
        made = package.train_bpe(path.read_bytes(), size, [])
        return lambda: [left + right for left, right in made[1]]

    return train


def huggingface() -> Callable[[Path, int, int], Callable[[], Merged]]:
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    def train(path: Path, size: int, threads: int) -> Callable[[], Merged]:
        made = Tokenizer(models.BPE())
        made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        alphabet = pre_tokenizers.ByteLevel.alphabet()
        made.train_from_iterator(iter([text_of(path)]), trainers.BpeTrainer(vocab_size=size, show_progress=False, initial_alphabet=alphabet))
        return lambda: in_bytes(json.loads(made.to_str())["model"]["merges"])

    return train


def in_bytes(merges: list[list[str]]) -> list[bytes]:
    """The byte alphabet: the printable bytes of Latin-1 are themselves, the others U+0100 and on."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    known = {chr(byte): byte for byte in printable} | {chr(0x100 + at): byte for at, byte in enumerate(others)}
    return [bytes(known[character] for character in "".join(pair)) for pair in merges]


TRAINERS: dict[str, Callable[[], Callable[[Path, int, int], Callable[[], Merged]]]] = {
    "bitlex huggingface": lambda: bitlex_rule("huggingface"), "bitlex rustbpe": lambda: bitlex_rule("rustbpe"),
    "bitlex minbpe": lambda: bitlex_rule("minbpe"), "rustbpe": rustbpe, "gigatoken": gigatoken, "tokenizers": huggingface,
}  # fmt: skip


def peak() -> int:
    """The most memory that was resident. Linux hands down `ru_maxrss` from the process that started this one, hence /proc."""
    status = Path("/proc/self/status")
    if status.exists():
        return 1024 * int(re.search(r"VmHWM:\s+(\d+)", status.read_text()).group(1))  # type: ignore[union-attr]
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def main(name: str, path: str, size: str, threads: str) -> None:
    train = TRAINERS[name]()
    train(Path(__file__), 300, int(threads))  # what a first call loads
    before = peak()
    begun = time.perf_counter()
    merged = train(Path(path), int(size), int(threads))
    seconds, memory = time.perf_counter() - begun, peak()
    digest = hashlib.sha256()
    for token in merged():
        digest.update(len(token).to_bytes(4, "little") + token)
    print(json.dumps({"seconds": seconds, "before": before, "memory": memory, "digest": digest.hexdigest()}))


if __name__ == "__main__":
    main(*sys.argv[1:])
