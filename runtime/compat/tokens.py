"""The tokens of a tokenizer of Hugging Face: those of its model and those that were added, by name and by id.

    tokens = Tokens({"a": 0, "b": 1}, {2: AddedToken("<s>", special=True)}, frozenset({"<s>"}))
    tokens.id_of("<s>"), tokens.name_of(0)                             # 2, "a"
    more, count = tokens.plus([AddedToken("<pad>")])                    # another Tokens, and 1

Invariant: one never changes; what is added makes another. A token that was special once stays so where ids are decoded, as in the
original: `special` holds the contents of these, and of all that are now. An added token that is one of the model's has its id there.
Rejected: added tokens as entries of the vocabulary, which does not know which of the two a token is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ..cached import cached_property
from ..normalization import nfc
from ..vocabularies.added_tokens import AddedTokens
from ..vocabularies.byte_alphabet import ALPHABET
from ..vocabularies.json_fields import Fields
from .added_token import AddedToken, token_of

if TYPE_CHECKING:
    from ..tokenizer import Tokenizer

__all__ = ["FLAGS", "Tokens"]

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
    """`model`: that of tokens which these differ from in what is added; made of the vocabulary unless it is given. `normalizer`: what is done
    to texts before added tokens that are normalized are looked for. `where` names the file, in errors."""

    def __init__(
        self, vocabulary: dict[str, int], added: Mapping[int, AddedToken], special: frozenset[str], model: Model | None = None,
        normalizer: str | None = None, where: str = "",
    ) -> None:  # fmt: skip
        self.vocabulary, self.added, self.special = vocabulary, added, special
        self.normalizer, self.where = normalizer, where
        self.model = Model(vocabulary) if model is None else model
        self.names = self.model.names

    @classmethod
    def of(cls, vocabulary: dict[str, int], tokenizer: Tokenizer, where: str) -> Tokens:
        """Of what was read from a file."""
        found = tokenizer.description.added
        added = {token.id: AddedToken(token.content, **{flag: getattr(token, flag) for flag in FLAGS}) for token in found}
        special = frozenset(token.content for token in found if token.special)
        return cls(vocabulary, added, special, None, tokenizer.description.normalizer, where)

    def id_of(self, token: str) -> int | None:
        """The id of a token; None if it is none."""
        number = self.vocabulary.get(token)
        return self.numbers.get(token) if number is None else number

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The ids of added tokens."""
        return {token.content: number for number, token in self.added.items()}

    def name_of(self, number: int) -> str | None:
        """What the token of an id is called, an added one by what is looked for; None if there is none."""
        if number in self.added:
            return self.spelled(self.added[number])
        name = self.names[number] if number < len(self.names) else ""
        return name if name or self.vocabulary.get("") == number else None

    def spelled(self, token: AddedToken) -> str:
        """What is looked for."""
        return nfc(token.content) if token.normalized and self.normalizer else token.content

    @cached_property
    def left_out(self) -> frozenset[int]:
        """The ids of special tokens."""
        return frozenset(number for number, token in self.added.items() if self.spelled(token) in self.special)

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

    @cached_property
    def checked(self) -> AddedTokens:
        """The added tokens as the tokenizer of bitlex has them. VocabularyError for those that it cannot have."""
        return self.checked_with(AddedTokens(self.vocabulary, self.normalizer), self.added)

    def checked_with(self, state: AddedTokens, added: Mapping[int, AddedToken]) -> AddedTokens:
        """The same, with some added to others."""
        for number, token in sorted(added.items()):
            flags = {flag: getattr(token, flag) for flag in FLAGS} | {"special": token.content in self.special}
            state.add(number, token.content, flags, Fields({}, self.where, f"added_tokens[{len(state.found)}]"))
        state.refuse_swallowed(Fields({}, self.where))
        return state

    def plus(self, tokens: Iterable[str | AddedToken], special: bool = False) -> tuple[Tokens, int]:
        """With more tokens, or with other flags; and how many that are. VocabularyError for those that cannot be there together."""
        wanted = [token_of(token, special) for token in tokens]
        added, numbers, following = dict(self.added), self.numbers.copy(), self.checked.following
        fresh: dict[int, AddedToken] = {}
        count, others = 0, False
        for token in wanted:
            number = numbers.get(token.content)
            if not token.content or (number is not None and added[number] == token):
                continue
            if number is None:
                number = numbers[token.content] = self.vocabulary.get(token.content, following)
                following += token.content not in self.vocabulary
                fresh[number] = token
            elif number in fresh:
                fresh[number] = token
            else:
                others = True
            added[number] = token
            count += 1
        contents = self.special | {token.content for token in wanted if token.special and token.content}
        made = self.with_added(added, contents)
        made.numbers = numbers
        # Tokens may be added one by one, and to look at all of them each time would take quadratic time.
        before = (AddedTokens(self.vocabulary, self.normalizer), added) if others else (self.checked.copy(), fresh)
        made.checked = made.checked_with(*before)
        return made, count

    def with_added(self, added: Mapping[int, AddedToken], special: frozenset[str]) -> Tokens:
        return Tokens(self.vocabulary, added, special, self.model, self.normalizer, self.where)

    def also_special(self, contents: frozenset[str]) -> Tokens:
        """With these left out, too, where ids are decoded."""
        return self.with_added(self.added, self.special | contents)

    def tokenizer(self, source: Tokenizer | None) -> Tokenizer:
        """The tokenizer with these tokens, of one with others. ValueError where there is none, as the model has no tokens."""
        if source is None:
            raise ValueError(f"{self.where}: the model has no tokens before it is trained, by train() or train_from_iterator()")
        return source.with_added_tokens(self.checked.in_order(), self.model.as_spelled | self.checked.decoded)


def in_order(vocabulary: Mapping[str, int]) -> list[str]:
    names = [""] * (max(vocabulary.values(), default=-1) + 1)
    for name, number in vocabulary.items():
        names[number] = name
    return names
