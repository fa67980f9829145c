"""RegexTokenizer: the tokenizer that minbpe's lecture ends with, on the fast core: it trains, encodes, decodes, saves and loads.

    tokenizer = RegexTokenizer()                         # cuts text as GPT-4 does
    tokenizer.train(text, vocab_size=512)
    tokenizer.register_special_tokens({"<|endoftext|>": 512})
    tokenizer.encode("hello<|endoftext|>", allowed_special="all")
    tokenizer.save("mine")                               # mine.model and, to look at, mine.vocab
    tokenizer.load("mine.model")

Same methods, same merges, same ids; `merges`, `vocab` and `special_tokens` are the dicts that one looks at while learning. What is
different: what was an assertion is a ValueError, and files of version 2 hold special tokens with spaces and notice when they were
cut or edited (`version=1` writes what minbpe itself reads; `load` takes both). Invariant: text between special tokens is encoded
by a Tokenizer of the same merges. Rejected: the byte-by-byte loops (they are in the tests, as the definition).
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from ..vocabularies.minbpe import MAGIC, read_minbpe, readable
from ..vocabularies.tiktoken import special_tokens
from ..vocabulary import AddedToken, VocabularyError
from . import whole

if TYPE_CHECKING:
    from ..lexers import Lexer
    from ..tokenizer import Tokenizer

__all__ = ["GPT2_SPLIT_PATTERN", "GPT4_SPLIT_PATTERN", "RegexTokenizer"]

GPT2_SPLIT_PATTERN = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
GPT4_SPLIT_PATTERN = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+"
)


class RegexTokenizer:
    """A tokenizer to learn with.

    `pattern`: a regular expression, read as the `regex` module does; None: that of GPT-4; "": nothing cuts.
    """

    def __init__(self, pattern: str | None = None) -> None:
        self.pattern = GPT4_SPLIT_PATTERN if pattern is None else pattern
        self.special_tokens: dict[str, int] = {}
        self.merges: dict[tuple[int, int], int] = {}
        self.vocab: dict[int, bytes] = {byte: bytes([byte]) for byte in range(256)}
        self._tokenizer: Tokenizer | None = None

    @property
    def inverse_special_tokens(self) -> dict[int, str]:
        """The special tokens by their ids."""
        return {number: content for content, number in self.special_tokens.items()}

    @property
    def tokenizer(self) -> Tokenizer:
        """The Tokenizer that it encodes with: of the same merges, and without special tokens."""
        if self._tokenizer is None:
            self._learn("", 256)
        assert self._tokenizer is not None
        return self._tokenizer

    def train(self, text: str, vocab_size: int, verbose: bool = False) -> None:
        """Learn `vocab_size` - 256 merges. With `verbose`, each is printed as it would be there.

        ValueError where the text has no pair left before that; what was learned is then there all the same.
        """
        vocab_size = whole("vocab_size", vocab_size)
        if vocab_size < 256:
            raise ValueError(f"vocab_size is {vocab_size}, and the bytes alone are 256")
        counts = self._learn(text, vocab_size)
        if verbose:
            for number, (pair, made) in enumerate(self.merges.items()):
                print(f"merge {number + 1}/{vocab_size - 256}: {pair} -> {made} ({self.vocab[made]!r}) had {counts[number]} occurrences")
        if len(self.vocab) < vocab_size:
            raise ValueError(f"the text has pairs for {len(self.vocab)} tokens, not for {vocab_size}")

    def register_special_tokens(self, special_tokens: Mapping[str, int]) -> None:
        """The special tokens and their ids, instead of those there were."""
        self.special_tokens = dict(special_tokens)

    def encode_ordinary(self, text: str) -> list[int]:
        """The ids of a text in which nothing is special."""
        return self.tokenizer.encode_ordinary(text)

    def encode(self, text: str, allowed_special: Literal["all", "none", "none_raise"] | Collection[str] = "none_raise") -> list[int]:
        """The ids of a text. `allowed_special`: which special tokens are encoded as such: "all", "none", a set of them, or "none_raise":
        none, and it is a ValueError if the text has one."""
        if allowed_special == "all":
            special = self.special_tokens
        elif allowed_special == "none":
            special = {}
        elif allowed_special == "none_raise":
            special = {}
            found = next((content for content in self.special_tokens if content in text), None)
            if found is not None:
                raise ValueError(f"the text has the special token {found!r}; allowed_special says what is to become of it")
        elif isinstance(allowed_special, (set, frozenset)):
            special = {content: number for content, number in self.special_tokens.items() if content in allowed_special}
        else:
            raise ValueError(f"allowed_special is {allowed_special!r}; it may be 'all', 'none', 'none_raise' or a set")
        if not special:
            return self.encode_ordinary(text)
        ids: list[int] = []
        for part in re.split("(" + "|".join(map(re.escape, special)) + ")", text):
            ids.extend([special[part]] if part in special else self.encode_ordinary(part))
        return ids

    def decode(self, ids: Sequence[int]) -> str:
        """The text of ids. ValueError for an id that is none."""
        special = self.inverse_special_tokens
        parts = []
        for number in ids:
            if number in self.vocab:
                parts.append(self.vocab[number])
            elif number in special:
                parts.append(special[number].encode())
            else:
                raise ValueError(f"{number} is no token")
        return b"".join(parts).decode("utf-8", errors="replace")

    def save(self, prefix: str | os.PathLike[str], *, version: Literal[1, 2] = 2) -> None:
        """Write prefix.model, which `load` reads, and prefix.vocab, to look at. They appear when they are whole.

        VocabularyError for special tokens that a model cannot have: an id twice, or one that is none, a name that is empty or no text.
        """
        from ..outputs import whole_files
        from ..vocabularies.writing import minbpe

        description = self.tokenizer.description
        where = f"{os.fspath(prefix)}.model"
        special_tokens(self.special_tokens, where)
        added = tuple(AddedToken(number, content) for content, number in self.special_tokens.items())
        taken = set(self.vocab)
        for token in added:
            if token.id in taken:
                raise VocabularyError(f"{where}: special token {token.content!r} has the id {token.id} of another token")
            taken.add(token.id)
        whole = replace(description, added=added)
        model = minbpe(whole, checked=version == 2)
        with whole_files(f"{os.fspath(prefix)}.vocab", where) as (vocab_file, model_file):
            vocab_file.write(readable(whole))
            model_file.write(model)

    def load(self, model_file: str | os.PathLike[str]) -> None:
        """Take the place of a tokenizer that was saved, here or by minbpe. VocabularyError (a ValueError), with the line, if it is none."""
        from ..tokenizer import Tokenizer

        model_file = os.fsdecode(model_file)  # a number would be a file that is open already, and closed then
        with open(model_file, "rb") as file:
            data = file.read()
        if not data.startswith(MAGIC):
            raise VocabularyError(f"{model_file}: line 1: begins with {data[:16]!r}, not with a version of minbpe")
        found = read_minbpe(data, model_file)
        self.special_tokens = {token.content: token.id for token in found.added}
        split = found.pre_tokenizer
        self.pattern = "" if split is None else split["pattern"]["Regex"]
        self._take(Tokenizer._of_file(model_file, replace(found, added=(), decoded={})))

    def _learn(self, text: str, vocab_size: int) -> list[int]:
        """Train; how often the pair of each merge was there."""
        from array import array

        from ..tokenizer import Tokenizer
        from .cutting import cutting
        from .rules import RULES
        from .session import Session, Settings

        cut = cutting(self._lexer(), RULES["minbpe"])
        session = Session(Settings(RULES["minbpe"], vocab_size), cut)
        session.count(text)
        while session.merge():
            pass
        self._take(Tokenizer(session.description(), lexer=cut.lexer))
        return list(array("Q", session.merges()[1]))

    def _lexer(self) -> Lexer:
        from ..compiler import compile
        from ..vocabularies.matching import matches_of

        return compile(matches_of(self.pattern) if self.pattern else None, dialect="python", unicode="18.0")

    def _take(self, tokenizer: Tokenizer) -> None:
        vocabulary = tokenizer.description.vocabulary
        flat = memoryview(vocabulary.merges or b"").cast("I").tolist()
        self._tokenizer = tokenizer
        self.vocab = dict(enumerate(vocabulary.tokens()))
        self.merges = {(left, right): made for left, right, made in zip(flat[::3], flat[1::3], flat[2::3], strict=True)}
