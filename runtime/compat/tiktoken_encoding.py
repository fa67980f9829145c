"""Encoding of tiktoken 0.14: texts in, ids out, and back, by tiktoken's methods.

    Encoding("mine", pat_str=pattern, mergeable_ranks={b"a": 0, b"b": 1, b"ab": 2}, special_tokens={"<|end|>": 3}).encode("abb")

A Tokenizer of bitlex does the work; here arguments become its arguments, and its errors those of tiktoken. Invariant: every public
method and property is there; results equal, errors of the same types. Refused where tiktoken is not determined by its arguments:
special tokens that begin alike (it finds either), or share an id; and vocabularies on which it panics at some text. Rejected: a
subclass of tiktoken's Encoding (it would load tiktoken, and make its tables as well).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence, Set
from typing import TYPE_CHECKING, Any, Literal

from ..cached import cached_property
from ..calling import as_keys, calls_of, direct
from .arguments import listed, typed
from .tiktoken_errors import checked, refuse, refuse_alike, refuse_numbers, refuse_parts, workers

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from ..encoders import Encoder
    from ..tokenizer import Ids, Tokenizer
    from .unstable import Unstable

__all__ = ["Encoding"]

NONE: Set[str] = frozenset()
REMEMBERED = (str, tuple, set, frozenset, type(None))  # what says the same each time it is asked


class Encoding:
    """A tokenizer as tiktoken has it. Its arguments are tiktoken's."""

    __slots__ = ("__dict__", "__weakref__", "_direct")

    def __init__(
        self, name: str, *, pat_str: str, mergeable_ranks: dict[bytes, int], special_tokens: dict[str, int],
        explicit_n_vocab: int | None = None,
    ) -> None:  # fmt: skip
        self.name = name
        self._pat_str, self._mergeable_ranks, self._special_tokens = pat_str, mergeable_ranks, special_tokens
        self.max_token_value: int = max(max(mergeable_ranks.values()), max(special_tokens.values(), default=0))
        if explicit_n_vocab:
            assert len(mergeable_ranks) + len(special_tokens) == explicit_n_vocab, (
                "explicit_n_vocab is not how many tokens there are"
            )
            assert self.max_token_value == explicit_n_vocab - 1, "explicit_n_vocab is not the highest id and one"
        refuse_parts(mergeable_ranks, special_tokens, pat_str)
        refuse_alike(special_tokens)
        from ..tokenizer import Tokenizer

        self._use(Tokenizer.from_tiktoken(self))

    def _use(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._policies: dict[Any, Any] = {}
        policy = (tokenizer._allowed, tokenizer._disallowed, self._policies)
        self._direct = calls_of(tokenizer._encoder, *policy, unsaid=(NONE, "all"), strict=True, again=True)

    @classmethod
    def _of_tokenizer(cls, name: str, tokenizer: Tokenizer) -> Encoding:
        """An encoding that is published; its ranks are a dict when somebody asks for them."""
        made = cls.__new__(cls)
        made.name = name
        made._use(tokenizer)
        made._special_tokens = dict(tokenizer.special_tokens)
        made.max_token_value = tokenizer.vocabulary_size - 1
        return made

    @cached_property
    def _encoder(self) -> Encoder:
        return self._tokenizer._encoder

    @cached_property
    def _pat_str(self) -> str:
        return self._tokenizer.lexer.pattern

    @cached_property
    def _mergeable_ranks(self) -> dict[bytes, int]:
        return dict(self._tokenizer.description.vocabulary.ids)

    @cached_property
    def _special_token_values(self) -> set[int]:
        return set(self._special_tokens.values())

    @cached_property
    def _unstable(self) -> Unstable:
        from .unstable import Unstable

        return Unstable(self._tokenizer)

    def __repr__(self) -> str:
        return f"<Encoding {self.name!r}>"

    # --- texts ---

    @direct
    def encode_ordinary(self, text: str) -> list[int]:
        """The ids of a text in which no token is special."""
        return self._tokenizer.encode_ordinary(checked(text))

    @direct
    def encode(
        self, text: str, *, allowed_special: Literal["all"] | Set[str] = NONE,
        disallowed_special: Literal["all"] | Collection[str] = "all",
    ) -> list[int]:  # fmt: skip
        """The ids of a text; ValueError if it has a special token that is disallowed, as all are that are not allowed."""
        ids: list[int] = self._encoded(self._tokenizer.encode, checked(text), allowed_special, disallowed_special)
        return ids

    @direct
    def encode_to_numpy(
        self, text: str, *, allowed_special: Literal["all"] | Set[str] = NONE,
        disallowed_special: Literal["all"] | Collection[str] = "all",
    ) -> npt.NDArray[np.uint32]:  # fmt: skip
        """The ids as an array. A lone surrogate is a UnicodeEncodeError here, as in tiktoken."""
        ids: npt.NDArray[np.uint32] = self._encoded(
            self._tokenizer.encode_to_numpy, checked(text), allowed_special, disallowed_special
        )
        if not text.isascii():
            text.encode()
        return ids

    def encode_ordinary_batch(self, text: list[str], *, num_threads: int = 8) -> list[list[int]]:
        """The ids of many texts in which no token is special."""
        return self.encode_batch(text, num_threads=num_threads, disallowed_special=())

    def encode_batch(
        self, text: list[str], *, num_threads: int = 8, allowed_special: Literal["all"] | Set[str] = NONE,
        disallowed_special: Literal["all"] | Collection[str] = "all",
    ) -> list[list[int]]:  # fmt: skip
        """The ids of many texts, by up to so many threads as there are cores."""
        texts = [checked(one) for one in text]
        if not isinstance(disallowed_special, str):
            disallowed_special = frozenset(disallowed_special)  # None is nothing to `encode`, and an error here
        allowed, refused = self._special(allowed_special, disallowed_special, texts)
        threads = workers(num_threads)
        if refused <= self._special_tokens.keys():
            try:
                return self._tokenizer.encode_batch(texts, allowed_special=allowed, disallowed_special=refused, threads=threads)
            except ValueError:
                pass  # which text it is, and whether tiktoken would mind, is found one by one
        return [self.encode(one, allowed_special=allowed, disallowed_special=refused) for one in texts]

    def encode_with_unstable(
        self, text: str, *, allowed_special: Literal["all"] | Set[str] = NONE,
        disallowed_special: Literal["all"] | Collection[str] = "all",
    ) -> tuple[list[int], list[list[int]]]:  # fmt: skip
        """The ids that stay whatever text follows, and the sequences of ids with which the text may go on."""
        allowed, refused = self._special(allowed_special, disallowed_special, [checked(text)])
        refuse(text, refused)
        text.encode()
        return self._unstable.complete(text, allowed)

    def encode_single_token(self, text_or_bytes: str | bytes) -> int:
        """The id of a token, also of a special one; KeyError if it is none."""
        if isinstance(text_or_bytes, str):
            data = text_or_bytes.encode()
        elif isinstance(text_or_bytes, bytes):
            data = text_or_bytes
        else:
            raise TypeError(f"expected str or bytes, got {type(text_or_bytes).__name__}")
        number = self._encoder.find(data) if data else self._mergeable_ranks.get(data)
        if number is None:
            number = self._special_tokens.get(data.decode("utf-8", "surrogateescape"))
        if number is None:
            raise KeyError(data)
        return number

    # --- ids ---

    def decode_bytes(self, tokens: Ids) -> bytes:
        """The bytes of ids; KeyError for an id that is none."""
        ids = listed(tokens)
        try:
            return self._encoder.decode(ids)
        except KeyError:
            refuse_numbers(ids)
            raise

    def decode(self, tokens: Ids, errors: str = "replace") -> str:
        """The text of ids. `errors`: what becomes of bytes that are not UTF-8, as in bytes.decode."""
        if type(tokens) is list and errors == "replace":
            try:
                return self._encoder.decode_text(tokens, errors, False)
            except (KeyError, TypeError):
                pass  # what tiktoken would say is found out below
        return self.decode_bytes(tokens).decode("utf-8", errors)

    def decode_single_token_bytes(self, token: int) -> bytes:
        """The bytes of one id; KeyError if it is none."""
        if type(token) is int:
            try:
                return self._encoder.token(token)
            except KeyError:
                pass  # what tiktoken would say is found out below
        return self.decode_bytes([token])

    def decode_tokens_bytes(self, tokens: Ids) -> list[bytes]:
        """The bytes of each id."""
        ids = tokens if isinstance(tokens, list) else list(tokens)
        try:
            return self._encoder.tokens(ids)
        except (KeyError, TypeError):
            return [self.decode_single_token_bytes(token) for token in ids]

    def decode_with_offsets(self, tokens: Ids) -> tuple[str, list[int]]:
        """The text of ids, and the character in which each token starts. Bytes that are not UTF-8 are a UnicodeDecodeError."""
        ids = list(tokens)  # an iterator can be read once
        try:
            return self._tokenizer.decode_with_offsets(ids)
        except (KeyError, TypeError):
            self.decode_bytes(ids)  # for what it raises
            raise

    def decode_batch(self, batch: Sequence[Ids], *, errors: str = "replace", num_threads: int = 8) -> list[str]:
        """The texts of many lists of ids."""
        threads, given = workers(num_threads), list(batch)
        if errors == "replace" and all(type(tokens) is list for tokens in given):
            try:
                return self._encoder.decode_batch(given, errors, threads, False)
            except (KeyError, TypeError):
                pass
        return [self.decode(tokens, errors) for tokens in given]

    def decode_bytes_batch(self, batch: Sequence[Ids], *, num_threads: int = 8) -> list[bytes]:
        """The bytes of many lists of ids."""
        workers(num_threads)
        return [self.decode_bytes(tokens) for tokens in batch]

    # --- what it is ---

    def token_byte_values(self) -> list[bytes]:
        """All tokens that are not special, in order of their bytes."""
        return self._unstable.tokens.copy()

    @property
    def eot_token(self) -> int:
        """The id of <|endoftext|>; KeyError if there is none."""
        return self._special_tokens["<|endoftext|>"]

    @cached_property
    def special_tokens_set(self) -> set[str]:
        """The special tokens."""
        return set(self._special_tokens)

    def is_special_token(self, token: int) -> bool:
        """Whether this is the id of a special token."""
        assert isinstance(token, int)
        return token in self._special_token_values

    @property
    def n_vocab(self) -> int:
        """The highest id and one."""
        return self.max_token_value + 1

    def __getstate__(self) -> object:
        return {
            "name": self.name, "pat_str": self._pat_str, "mergeable_ranks": self._mergeable_ranks, "special_tokens": self._special_tokens,
        }  # fmt: skip

    def __setstate__(self, value: Any) -> None:
        self.__init__(**value)  # type: ignore[misc]

    def __reduce_ex__(self, protocol: Any) -> Any:
        """One that has a name by that; any other, also of a class made of this one, by what it was made of."""
        from .tiktoken.registry import ENCODINGS, get_encoding

        if ENCODINGS.get(self.name) is self:
            return get_encoding, (self.name,)
        return super().__reduce_ex__(max(protocol, 2))

    # --- inside ---

    def _encode_single_piece(self, text_or_bytes: str | bytes) -> list[int]:
        """The ids of a text that is not cut."""
        data = text_or_bytes.encode() if isinstance(text_or_bytes, str) else typed(text_or_bytes, bytes)
        return self._unstable.merging.encode_piece(data)

    def _encode_bytes(self, text: bytes) -> list[int]:
        """The ids of bytes, which may be no UTF-8."""
        return self._unstable.encode_bytes(typed(text, bytes))

    def _special(self, allowed: Any, disallowed: Any, texts: Sequence[str]) -> tuple[Set[str], Set[str]]:
        """The special tokens that are allowed, and what is an error in these texts, which comes before what is wrong with allowed ones."""
        if isinstance(allowed, str) and allowed == "all":
            allowed = self.special_tokens_set
        if not isinstance(allowed, (set, frozenset)):
            raise TypeError("allowed_special is 'all' or a set of str")
        if isinstance(disallowed, str) and disallowed == "all":
            disallowed = self.special_tokens_set - allowed
        refused = frozenset(disallowed or ())
        unknown = allowed - self.special_tokens_set
        if unknown:
            for text in texts:
                refuse(text, refused)
                for one in unknown:
                    checked(one).encode()
        return self.special_tokens_set.intersection(allowed), refused

    def _remember(self, allowed: Any, disallowed: Any, policy: tuple[Any, Any]) -> None:
        """What a call says of special tokens, and what that means, for the next one that says so. Unknown tokens are looked into each time."""
        if not isinstance(allowed, REMEMBERED) or not isinstance(disallowed, REMEMBERED) or len(self._policies) >= 64:
            return
        if isinstance(allowed, str) or (isinstance(allowed, Set) and allowed <= self.special_tokens_set):
            self._policies[as_keys(allowed, disallowed)] = policy

    def _encoded(self, encode: Any, text: str, allowed_special: Any, disallowed_special: Any) -> Any:
        """What `encode` makes of a text, or the error that tiktoken raises."""
        if allowed_special is NONE and isinstance(disallowed_special, str) and disallowed_special == "all":
            allowed, refused = None, None  # its own convention, which is this one
        else:
            allowed, refused = self._special(allowed_special, disallowed_special, [text])
        if refused is None or refused <= self._special_tokens.keys():
            try:
                found = encode(text, allowed_special=allowed, disallowed_special=refused)
            except ValueError:
                pass  # whether tiktoken would mind is found out below: it looks into surrogates as they are
            else:
                if refused is not None:
                    self._remember(allowed_special, disallowed_special, self._tokenizer._policy(allowed, refused))
                return found
        if refused is None:
            allowed, refused = self._special(allowed_special, disallowed_special, [text])
        refuse(text, refused)
        return encode(text, allowed_special=allowed, disallowed_special=())
