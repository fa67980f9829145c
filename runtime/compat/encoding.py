"""Encoding of Hugging Face tokenizers: the tokens of one text or two, with all that is known of each, side by side.

    encoding = tokenizer.encode("Hello world")
    encoding.ids, encoding.tokens, encoding.offsets             # [9707, 1879], ["Hello", "Ġworld"], [(0, 5), (5, 11)]
    encoding.char_to_token(6)                                   # 1

Invariant: what each method gives, and changes, is what tokenizers 0.23.3 does; what is cut off is in `overflowing`. Lists that are
handed out are copies. Rejected: lists that are handed out as they are (what people do to them would change the encoding).
"""

from __future__ import annotations

import warnings
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from operator import lt
from typing import Any

from .arguments import flag, natural, sequential, text, typed
from .columns import COLUMNS, Columns

__all__ = ["Encoding"]


class Encoding(Columns):
    """What `encode` gives. Made empty by calling the class."""

    __slots__ = ("_risen",)
    _overflowing: list[Encoding]
    _risen: dict[str, tuple[list[Any], int, int, int, list[int] | None]]  # see `_rising`

    # --- what there is ---

    @property
    def ids(self) -> list[int]:
        """The id of each token."""
        return self._ids.copy()

    @property
    def type_ids(self) -> list[int]:
        """The number that the template gives to the text of each token."""
        return self._type_ids.copy()

    @property
    def tokens(self) -> list[str]:
        """Each token as the vocabulary spells it."""
        return self._tokens.copy()

    @property
    def word_ids(self) -> list[int | None]:
        """Of which piece of its text each token is; None for what was put around it."""
        return self._words.copy()

    @property
    def words(self) -> list[int | None]:
        """The same under a name that is deprecated."""
        warnings.warn("Encoding.words is deprecated; it is Encoding.word_ids", DeprecationWarning, stacklevel=2)
        return self.word_ids

    @property
    def offsets(self) -> list[tuple[int, int]]:
        """In which characters of its text each token starts and ends."""
        return self._offsets.copy()

    @property
    def special_tokens_mask(self) -> list[int]:
        """1 for what was put around the text or fills it up, else 0."""
        return self._special.copy()

    @property
    def attention_mask(self) -> list[int]:
        """0 for what fills it up, else 1."""
        return self._attention.copy()

    @property
    def overflowing(self) -> list[Encoding]:
        """What was cut off."""
        return [one.copy() for one in self._overflowing]

    @property
    def n_sequences(self) -> int:
        """Of how many texts it is."""
        return len(self._ranges) or 1

    @property
    def sequence_ids(self) -> list[int | None]:
        """Of which text each token is."""
        found: list[int | None] = [None] * len(self)
        for sequence in range(self.n_sequences):
            start, end = self._range(sequence)
            found[start:end] = [sequence] * (end - start)
        return found

    def __repr__(self) -> str:
        return f"<Encoding of {len(self)} tokens>"

    # --- which is where ---

    def _range(self, sequence: int) -> tuple[int, int]:
        return self._ranges.get(natural(sequence), (0, len(self._ids)))

    def token_to_sequence(self, token_index: int) -> int | None:
        """Of which text a token is."""
        if natural(token_index) > len(self._ids):
            return None
        if not self._ranges:
            return 0
        for sequence, (start, end) in self._ranges.items():
            if start <= token_index < end:
                return sequence
        return None

    def token_to_chars(self, token_index: int) -> tuple[int, int] | None:
        """The offsets of a token of a text."""
        found = self.token_to_sequence(token_index) is not None and token_index < len(self._ids)
        return self._offsets[token_index] if found else None

    def token_to_word(self, token_index: int) -> int | None:
        """The piece of which a token is."""
        found = self.token_to_sequence(token_index) is not None and token_index < len(self._ids)
        return self._words[token_index] if found else None

    def char_to_token(self, char_pos: int, sequence_index: int = 0) -> int | None:
        """The first token that has this character of a text."""
        natural(char_pos)
        first, last = self._range(sequence_index)
        offsets = self._offsets
        ends = self._rising("_offsets", offsets, first, last)
        if ends is None:
            return next((at for at in range(first, last) if offsets[at][0] <= char_pos < offsets[at][1]), None)
        at = bisect_right(ends, char_pos) + first
        return at if at < last and offsets[at][0] <= char_pos else None

    def char_to_word(self, char_pos: int, sequence_index: int = 0) -> int | None:
        """The piece that has this character of a text."""
        token = self.char_to_token(char_pos, sequence_index)
        return None if token is None else self.token_to_word(token)

    def word_to_tokens(self, word_index: int, sequence_index: int = 0) -> tuple[int, int] | None:
        """From which token to which a piece goes."""
        natural(word_index, 32)
        first, last = self._range(sequence_index)
        words = self._rising("_words", self._words, first, last)
        if words is not None:
            start, end = bisect_left(words, word_index), bisect_right(words, word_index)
            return (first + start, first + end) if start < end else None
        found = []
        for at, word in enumerate(self._words[first:last], first):
            if word is not None and word > word_index:
                break
            if word == word_index:
                found.append(at)
        return (found[0], found[-1] + 1) if found else None

    def _rising(self, name: str, column: list[Any], first: int, last: int) -> list[int] | None:
        """The ends of these tokens, or the numbers of their words, if neither they nor the starts ever fall; so they need not be gone
        through. They are known as long as the column has not changed: those who change one give it another length, or another list its place."""
        if not hasattr(self, "_risen"):
            self._risen = {}
        elif name in self._risen:
            known, size, start, end, rising = self._risen[name]
            if known is column and size == len(column) and start == first and end == last:
                return rising
        part = column[first:last]
        falls = None in part or any(map(lt, part[1:], part))
        if name == "_offsets":
            part = [end for _, end in part]
            falls = falls or any(map(lt, part[1:], part))
        rising = None if falls else part
        self._risen[name] = column, len(column), first, last, rising
        return rising

    def word_to_chars(self, word_index: int, sequence_index: int = 0) -> tuple[int, int] | None:
        """The offsets of a piece."""
        tokens = self.word_to_tokens(word_index, sequence_index)
        return None if tokens is None else (self._offsets[tokens[0]][0], self._offsets[tokens[1] - 1][1])

    # --- what changes it ---

    def set_sequence_id(self, sequence_id: int) -> None:
        """All its tokens are of this text, too."""
        self._ranges[natural(sequence_id)] = (0, len(self))

    def pad(self, length: int, **options: Any) -> None:
        """Fill it up, and what was cut off: direction="right" or "left", pad_id=0, pad_type_id=0, pad_token="[PAD]"."""
        from .settings import Padding

        Padding.of({"length": length, **options}).fill(self, length)

    def truncate(self, max_length: int, stride: int = 0, direction: str = "right") -> None:
        """Cut it into parts of this length that overlap by `stride`; the first stays, the others are `overflowing`."""
        size = len(self)
        max_length, stride = natural(max_length), natural(stride)
        if text(direction) not in ("left", "right"):
            raise ValueError(f"direction is {direction!r}; it may be 'left' or 'right'")
        if max_length >= size:
            return
        if max_length == 0:
            whole = self.copy()
            self.__init__()  # type: ignore[misc]
            self._overflowing = [whole]
            return
        if stride >= max_length:
            raise ValueError(f"stride is {stride}; it must be less than the {max_length} tokens of a part")
        step = max_length - stride
        shifts = range(0, size - max_length + step, step)
        if direction == "right":
            first, *others = [self.part(shift, min(shift + max_length, size), {}, []) for shift in shifts]
        else:
            first, *others = [self.part(max(size - shift - max_length, 0), size - shift, {}, []) for shift in shifts]
        first._overflowing = others
        self.__setstate__(first.__getstate__())

    @staticmethod
    def merge(encodings: Sequence[Encoding], growing_offsets: bool = True) -> Encoding:
        """All in one, after another. `growing_offsets`: each starts where the one before ends."""
        made, growing = Encoding(), flag(growing_offsets)
        for one in [typed(one, Encoding) for one in sequential(encodings)]:
            made._append(one, growing)
        return made

    def _append(self, other: Encoding, growing: bool) -> None:
        """Each part that was cut off here is followed by the other one, whole and in parts; and so is this one by its parts."""
        overflowing = [mine._joined(theirs, growing) for mine in self._overflowing for theirs in (other, *other._overflowing)]
        overflowing.extend(self._joined(theirs, growing) for theirs in other._overflowing)
        size = len(self)
        shift = self._offsets[-1][1] if growing and self._offsets else 0
        self._ranges.update({sequence: (size + start, size + end) for sequence, (start, end) in other._ranges.items()})
        for name in COLUMNS:
            if name != "_offsets":
                getattr(self, name).extend(getattr(other, name))
        self._offsets.extend([(start + shift, end + shift) for start, end in other._offsets] if shift else other._offsets)
        self._overflowing = overflowing

    def _joined(self, other: Encoding, growing: bool) -> Encoding:
        made = self.copy()
        made._append(other, growing)
        return made
