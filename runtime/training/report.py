"""What a tokenizer that was trained is worth: how many bytes a token spells in text that it was not trained on, how long tokens are.

    print(report(tokenizer, ["some text"]).rows())

coverage   tokens that occur in the text at all, of those that there are. Invariant: all is counted from what `encode` gives, with special
tokens taken as text. Rejected: perplexity (it is no property of a tokenizer).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..formats import visible
from .source import batches

if TYPE_CHECKING:
    from ..tokenizer import Tokenizer

__all__ = ["Report", "report"]

LONGEST = 5
NO_TEXT = "these are counted pieces, which are no held-out text"


@dataclass(frozen=True, slots=True)
class Report:
    """lengths    how many tokens have so many bytes
    longest     some of the longest tokens
    length, tokens, used   of the held-out text: its bytes, its tokens, and how many different ones; 0 if there is none
    """

    ids: int
    special: int
    lengths: dict[int, int]
    longest: list[bytes]
    length: int
    tokens: int
    used: int

    @property
    def compression(self) -> float:
        """Bytes per token in the held-out text."""
        return self.length / self.tokens if self.tokens else 0.0

    def rows(self) -> list[tuple[str, ...]]:
        """For a table."""
        count = sum(self.lengths.values())
        mean = sum(length * number for length, number in self.lengths.items()) / max(count, 1)
        found: list[tuple[str, ...]] = [
            ("ids", f"{self.ids:,}, {self.special:,} of them special"), ("bytes in a token", f"{mean:.2f}, on average of all"),
        ]  # fmt: skip
        found += [("longest" if not at else "", f"{len(token)} bytes: [{visible(token[:60])}]") for at, token in enumerate(self.longest)]
        if self.tokens:
            found += [
                ("held-out text", f"{self.length:,} bytes, {self.tokens:,} tokens"), ("bytes per token", f"{self.compression:.4f}"),
                ("coverage", f"{self.used:,} tokens occur, {self.used / max(self.ids, 1):.1%}"),
            ]  # fmt: skip
        return found


def report(tokenizer: Tokenizer, held_out: Any = (), *, input: str | None = None, field: str = "text") -> Report:
    """The report on a tokenizer; `held_out`: texts or paths, as `train` takes them."""
    tokens = [token for token in tokenizer.description.vocabulary.tokens() if token]
    length = count = 0
    used: set[int] = set()
    for batch in batches(held_out, input=input, field=field):
        if batch.counted is not None:
            raise ValueError(f"{batch.path}: {NO_TEXT}")
        for text in batch.texts:
            try:
                ids = tokenizer.encode_to_numpy(text, allowed_special=(), disallowed_special=())
            except ValueError as error:  # of a byte that is no token
                raise ValueError(f"held-out text: {error}") from None
            length += len(text.encode("utf-8", "surrogatepass")) if isinstance(text, str) else len(text)
            count += len(ids)
            used.update(set(ids.tolist()))
    return Report(
        ids=tokenizer.vocabulary_size, special=len(tokenizer.special_tokens), lengths=dict(sorted(Counter(map(len, tokens)).items())),
        longest=sorted(tokens, key=len, reverse=True)[:LONGEST], length=length, tokens=count, used=len(used),
    )  # fmt: skip
