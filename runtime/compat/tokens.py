"""The tokens of a tokenizer of Hugging Face: those of its model and those that were added, by name and by id.

    tokens = Tokens({"a": 0, "b": 1}, {2: AddedToken("<s>", special=True)}, frozenset({"<s>"}))
    tokens.id_of("<s>"), tokens.name_of(0)                             # 2, "a"
    more, count = tokens.plus([AddedToken("<pad>")])                    # another Tokens, and 1

Invariant: one never changes; what is added makes another. A token that was special once stays so where ids are decoded, as in the
original: `special` holds the contents of these, and of all that are now. Rejected: added tokens as entries of the vocabulary, which
does not know which of the two a token is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ..normalization import nfc
from ..vocabularies.added_tokens import added_tokens
from ..vocabularies.byte_alphabet import ALPHABET
from ..vocabularies.json_fields import Fields
from .added_token import AddedToken, token_of, with_tokens

if TYPE_CHECKING:
    from ..tokenizer import Tokenizer

__all__ = ["Tokens"]

FLAGS = ("single_word", "lstrip", "rstrip", "normalized", "special")


class Model:
    """What does not change with what is added. `vocabulary`: the ids of the model's tokens. `names`: the same tokens by id, "" for none."""

    def __init__(self, vocabulary: dict[str, int]) -> None:
        self.vocabulary, self.names = vocabulary, in_order(vocabulary)

    @cached_property
    def as_spelled(self) -> dict[int, bytes]:
        """The tokens that are not spelled in the byte alphabet, by id: they decode to what they are called."""
        alphabet = set(ALPHABET)
        return {number: name.encode() for name, number in self.vocabulary.items() if not name or not alphabet.issuperset(name)}


class Tokens:
    """`model`: that of tokens which these differ from in what is added; made of the vocabulary unless it is given."""

    def __init__(
        self, vocabulary: dict[str, int], added: Mapping[int, AddedToken], special: frozenset[str], model: Model | None = None
    ) -> None:  # fmt: skip
        self.vocabulary, self.added, self.special = vocabulary, added, special
        self.model = Model(vocabulary) if model is None else model
        self.names = self.model.names
        self.special_ids: dict[bool, frozenset[int]] = {}  # as they are asked for

    @classmethod
    def of(cls, vocabulary: dict[str, int], tokenizer: Tokenizer) -> Tokens:
        """Of what was read from a file."""
        found = tokenizer.description.added
        added = {token.id: AddedToken(token.content, **{flag: getattr(token, flag) for flag in FLAGS}) for token in found}
        return cls(vocabulary, added, frozenset(token.content for token in found if token.special))

    def id_of(self, token: str) -> int | None:
        """The id of a token; None if it is none."""
        added = self.numbers.get(token)
        return self.vocabulary.get(token) if added is None else added

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The ids of added tokens."""
        return {token.content: number for number, token in self.added.items()}

    def name_of(self, number: int, normalizes: bool = False) -> str | None:
        """What the token of an id is called; None if there is none. `normalizes`: an added token by what is looked for."""
        if number in self.added:
            return spelled(self.added[number], normalizes)
        name = self.names[number] if number < len(self.names) else ""
        return name if name or self.vocabulary.get("") == number else None

    def left_out(self, normalizes: bool) -> frozenset[int]:
        """The ids of special tokens."""
        found = self.special_ids.get(normalizes)
        if found is None:
            found = frozenset(number for number, token in self.added.items() if spelled(token, normalizes) in self.special)
            self.special_ids[normalizes] = found
        return found

    def ids(self, with_added: bool) -> dict[str, int]:
        """The ids of all tokens."""
        return {**self.vocabulary, **self.numbers} if with_added else self.vocabulary.copy()

    def count(self, with_added: bool) -> int:
        """How many there are."""
        return len(self.vocabulary) + (self.others if with_added else 0)

    @cached_property
    def others(self) -> int:
        """How many are no tokens of the model."""
        return sum(content not in self.vocabulary for content in self.numbers)

    def entries(self) -> list[dict[str, Any]]:
        """As added_tokens of a file has them."""
        return [
            {"id": number, "content": token.content, **{flag: getattr(token, flag) for flag in FLAGS}}
            for number, token in sorted(self.added.items())
        ]

    def plus(self, tokens: Iterable[str | AddedToken], special: bool = False) -> tuple[Tokens, int]:
        """With more tokens, or with other flags; and how many that are."""
        wanted = [token_of(token, special) for token in tokens]
        added, count = with_tokens(self.added, wanted, self.vocabulary)
        contents = self.special | {token.content for token in wanted if token.special and token.content}
        return Tokens(self.vocabulary, added, contents, self.model), count

    def also_special(self, contents: frozenset[str]) -> Tokens:
        """With these left out, too, where ids are decoded."""
        return Tokens(self.vocabulary, self.added, self.special | contents, self.model)

    def tokenizer(self, source: Tokenizer, where: str) -> Tokenizer:
        """The tokenizer with these tokens, of one with others."""
        listed = [entry | {"special": entry["content"] in self.special} for entry in self.entries()]
        checked, decoded = added_tokens(Fields({"added_tokens": listed}, where), self.vocabulary, source.description.normalizer)
        return source.with_added_tokens(checked, self.model.as_spelled | decoded)


def in_order(vocabulary: Mapping[str, int]) -> list[str]:
    names = [""] * (max(vocabulary.values(), default=-1) + 1)
    for name, number in vocabulary.items():
        names[number] = name
    return names


def spelled(token: AddedToken, normalizes: bool) -> str:
    return nfc(token.content) if token.normalized and normalizes else token.content
