"""Tokenizer of Hugging Face tokenizers 0.23.3 over bitlex, for tokenizer.json files with a byte-level BPE.

    from bitlex.compat.huggingface import Tokenizer
    tokenizer = Tokenizer.from_file("tokenizer.json")                   # or from_pretrained("Qwen/Qwen3-8B"), from_str, from_buffer
    tokenizer.enable_truncation(512)
    tokenizer.encode("Hello world", "and another").tokens

What it is made of does not change when tokens are added or settings changed; it is replaced, so that an Encoding that makes its
offsets later makes those of the tokenizer that encoded it. Invariant: ids, offsets and all else are those of tokenizers; files that
`bitlex.vocabularies` does not support are refused by its VocabularyError. Not here: training, other models, and pre-tokenized texts in
numpy arrays of dtype "U", of which tokenizers reads the memory as if it were UTF-8. Rejected: a subclass of tokenizers.Tokenizer, which
cannot be subclassed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..tokenizer import Tokenizer as Bitlex
from ..vocabularies.huggingface import read_huggingface
from ..vocabularies.json_fields import Fields, parse_json
from .added_token import AddedToken, token_of
from .completion import complete, finish
from .components import Component, as_json, component
from .decode_stream import DecodeStream
from .encoding import Encoding, natural
from .inputs import Texts, batch_of, texts_of
from .pipeline import Pipeline
from .processors import added_by, processors_of
from .settings import Padding, Truncation
from .tokens import Tokens

if TYPE_CHECKING:
    from ..vocabulary import Description

__all__ = ["AddedToken", "DecodeStream", "Encoding", "Tokenizer"]

BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}


class Tokenizer:
    """Made by `from_file` and its kin, or of a tokenizers.Tokenizer, or a fast tokenizer of transformers."""

    def __init__(self, source: Any) -> None:
        source = getattr(source, "backend_tokenizer", source)
        if not hasattr(source, "to_str"):
            raise TypeError(
                f"expected a tokenizers.Tokenizer, got {type(source).__name__}; a model alone does not say how to cut texts"
            )
        self._read(source.to_str().encode(), f"{type(source).__name__} in memory")
        self._encode_special_tokens = bool(getattr(source, "encode_special_tokens", False))

    @staticmethod
    def from_file(path: str) -> Tokenizer:
        """Of a tokenizer.json."""
        return Tokenizer._of(Path(path).read_bytes(), str(path))

    @staticmethod
    def from_str(json: str) -> Tokenizer:
        """Of the content of a tokenizer.json."""
        return Tokenizer._of(json.encode(), "tokenizer.json")

    @staticmethod
    def from_buffer(buffer: bytes) -> Tokenizer:
        """Of the bytes of a tokenizer.json."""
        return Tokenizer._of(bytes(buffer), "tokenizer.json")

    @staticmethod
    def from_pretrained(identifier: str, revision: str = "main", token: str | None = None) -> Tokenizer:
        """Of a model's name on the hub, fetched by the package huggingface_hub."""
        from ..hub import fetch

        return Tokenizer.from_file(fetch(identifier, revision=revision, **({} if token is None else {"token": token})))

    @classmethod
    def _of(cls, data: bytes, where: str) -> Tokenizer:
        made = cls.__new__(cls)
        made._read(data, where)
        made._encode_special_tokens = False
        return made

    def _read(self, data: bytes, where: str) -> None:
        found = parse_json(data, where)
        model = found.value.get("model")
        truncation = Truncation.from_json(found.at("truncation")) if found.value.get("truncation") is not None else None
        padding = Padding.from_json(found.at("padding")) if found.value.get("padding") is not None else None
        elsewhere: dict[str, Any] = {"truncation": None, "padding": None}
        if found.value.get("decoder") is None:
            elsewhere["decoder"] = BYTE_LEVEL  # `decode` knows; nothing else asks for it
        # Fields are set when all is known to be good: a part that is not supported leaves everything as it was.
        tokenizer = Bitlex(read_huggingface(Fields({**found.value, **elsewhere}, where), data))
        self._data, self._where = data, where
        self._fields = {key: value for key, value in found.value.items() if key not in ("model", "added_tokens")}
        self._tokens = Tokens.of(model["vocab"] if model is not None else {}, tokenizer)
        self._truncation, self._padding = truncation, padding
        self._use(tokenizer)

    def _use(self, tokenizer: Bitlex) -> None:
        """From here on, encode by this."""
        self._tokenizer = tokenizer
        self._processors = processors_of(self._fields.get("post_processor"))
        self._pipeline = Pipeline(tokenizer, self._tokens.names)

    @property
    def _description(self) -> Description:
        return self._tokenizer.description

    # --- texts ---

    def encode(self, sequence: Any, pair: Any = None, is_pretokenized: bool = False, add_special_tokens: bool = True) -> Encoding:
        """All that is known of a text, or of two."""
        return self._encode(texts_of(sequence, pair, is_pretokenized), add_special_tokens)

    def encode_batch(self, input: Iterable[Any], is_pretokenized: bool = False, add_special_tokens: bool = True) -> list[Encoding]:
        """The same of many texts, or pairs of them, on all cores."""
        batch = batch_of(input, is_pretokenized)
        if self._is_plain and all(len(texts) == 1 and isinstance(texts[0], str) for texts in batch):
            found = self._tokenizer.encode_batch([texts[0] for texts in batch], add_special_tokens=add_special_tokens)  # type: ignore[misc]
            return [Encoding.later(ids, self._complete(texts, add_special_tokens)) for ids, texts in zip(found, batch, strict=True)]
        return self._padded([self._encode(texts, add_special_tokens) for texts in batch])

    def encode_batch_fast(
        self, input: Iterable[Any], is_pretokenized: bool = False, add_special_tokens: bool = True
    ) -> list[Encoding]:
        """The same without texts, offsets and pieces of tokens, as in the original."""
        batch = batch_of(input, is_pretokenized)
        return self._padded([self._finish([self._bare(text) for text in texts], add_special_tokens) for texts in batch])

    def post_process(self, encoding: Encoding, pair: Encoding | None = None, add_special_tokens: bool = True) -> Encoding:
        """Cut what was encoded, put special tokens around it, and fill it up."""
        return self._finish([one.copy() for one in (encoding, pair) if one is not None], add_special_tokens)

    def num_special_tokens_to_add(self, is_pair: bool) -> int:
        """How many tokens are put around a text, or two."""
        return added_by(self._processors, 2 if is_pair else 1)

    # --- ids ---

    def decode(self, ids: Sequence[int], skip_special_tokens: bool = True) -> str:
        """The text of ids. Those that are none are left out, as in the original."""
        if isinstance(ids, (str, bytes)):
            raise TypeError(f"expected token ids, got {type(ids).__name__}")
        left_out = self._tokens.left_out(self._normalizes) if skip_special_tokens else frozenset()
        wanted = [number for number in ids if number not in left_out] if left_out else ids
        if self._fields.get("decoder") is None:
            texts = map(self.id_to_token, wanted)
            return " ".join(text for text in texts if text is not None)
        try:
            return self._tokenizer.decode(wanted)
        except KeyError:
            return self._tokenizer.decode([number for number in wanted if self.id_to_token(number) is not None])

    def decode_batch(self, sequences: Iterable[Sequence[int]], skip_special_tokens: bool = True) -> list[str]:
        """The texts of many lists of ids."""
        return [self.decode(ids, skip_special_tokens) for ids in sequences]

    def token_to_id(self, token: str) -> int | None:
        """The id of a token; None if it is none."""
        if not isinstance(token, str):
            raise TypeError(f"expected str, got {type(token).__name__}")
        return self._tokens.id_of(token)

    def id_to_token(self, id: int) -> str | None:
        """What the token of an id is called; None if there is none."""
        return self._tokens.name_of(natural(id, 32), self._normalizes)

    def get_vocab(self, with_added_tokens: bool = True) -> dict[str, int]:
        """The ids of all tokens."""
        return self._tokens.ids(with_added_tokens)

    def get_vocab_size(self, with_added_tokens: bool = True) -> int:
        """How many tokens there are."""
        return self._tokens.count(with_added_tokens)

    # --- added tokens ---

    def get_added_tokens_decoder(self) -> dict[int, AddedToken]:
        """The added tokens by id."""
        return {number: token_of(token, False) for number, token in sorted(self._tokens.added.items())}

    def add_tokens(self, tokens: list[str | AddedToken]) -> int:
        """Add tokens, or change their flags; how many are new, or changed."""
        return self._add(tokens, False)

    def add_special_tokens(self, tokens: list[str | AddedToken]) -> int:
        """Add tokens that are left out when ids are decoded."""
        return self._add(tokens, True)

    def _add(self, tokens: list[str | AddedToken], special: bool) -> int:
        if not isinstance(tokens, list):
            raise TypeError(f"expected a list of str or AddedToken, got {type(tokens).__name__}")
        found, count = self._tokens.plus(tokens, special)
        if count:
            tokenizer = found.tokenizer(self._tokenizer, self._where)
            self._tokens = found
            self._use(tokenizer)
        return count

    @property
    def _normalizes(self) -> bool:
        return self._description.normalizer is not None

    @property
    def encode_special_tokens(self) -> bool:
        """Whether special tokens in a text are text like any other."""
        return self._encode_special_tokens

    @encode_special_tokens.setter
    def encode_special_tokens(self, value: bool) -> None:
        self._encode_special_tokens = bool(value)

    # --- settings ---

    @property
    def truncation(self) -> dict[str, Any] | None:
        """The arguments of enable_truncation; None if nothing is cut."""
        return None if self._truncation is None else self._truncation.as_dict()

    def enable_truncation(self, max_length: int, **options: Any) -> None:
        """Cut what is longer: stride=0, strategy="longest_first" (or "only_first", "only_second"), direction="right" (or "left")."""
        wanted = Truncation.of({"max_length": max_length, **options})
        wanted.check(self.num_special_tokens_to_add(False))
        self._truncation = wanted

    def no_truncation(self) -> None:
        """Cut nothing."""
        self._truncation = None

    @property
    def padding(self) -> dict[str, Any] | None:
        """The arguments of enable_padding; None if nothing is filled up."""
        return None if self._padding is None else self._padding.as_dict()

    def enable_padding(self, **options: Any) -> None:
        """Fill up: direction="right", pad_id=0, pad_type_id=0, pad_token="[PAD]", length=None, pad_to_multiple_of=None."""
        self._padding = Padding.of(options)

    def no_padding(self) -> None:
        """Fill nothing up."""
        self._padding = None

    # --- files ---

    def to_str(self, pretty: bool = False) -> str:
        """What a tokenizer.json would hold."""
        return self._as_json(self._fields, pretty)

    def save(self, path: str | os.PathLike[str], pretty: bool = True) -> None:
        """Write a tokenizer.json."""
        Path(path).write_text(self.to_str(pretty), encoding="utf-8")

    def _as_json(self, fields: dict[str, Any], pretty: bool = False) -> str:
        found = {
            "version": "1.0",
            "truncation": None if self._truncation is None else self._truncation.as_json(),
            "padding": None if self._padding is None else self._padding.as_json(),
            "added_tokens": self._tokens.entries(),
            **{key: fields.get(key) for key in ("normalizer", "pre_tokenizer", "post_processor", "decoder")},
            "model": json.loads(self._data)["model"],
        }
        return json.dumps(found, ensure_ascii=False, indent=2 if pretty else None, separators=None if pretty else (",", ":"))

    def __reduce__(self) -> tuple[Any, ...]:
        return restore, (self.to_str(), self._encode_special_tokens)

    def __repr__(self) -> str:
        return f"<Tokenizer of {self._where}: {self.get_vocab_size():,} tokens>"

    # --- parts, for transformers ---

    @property
    def model(self) -> Any:
        """The parts are objects of the package tokenizers, made when they are asked for."""
        return component("model", json.loads(self._data)["model"])

    normalizer = Component("normalizer", "What is done to text before it is cut; it may be set, as the others below.")
    pre_tokenizer = Component("pre_tokenizer", "What cuts text.")
    post_processor = Component("post_processor", "What puts special tokens around.")
    decoder = Component("decoder", "What makes text of tokens.")

    def _replace(self, name: str, value: Any) -> None:
        special = self._tokens.special
        self._read(self._as_json({**self._fields, name: as_json(value)}).encode(), self._where)
        self._tokens = self._tokens.also_special(special)

    # --- inside ---

    @property
    def _is_plain(self) -> bool:
        """Whether the ids of a text are those that bitlex gives, with nothing done to them."""
        return self._truncation is None and self._padding is None and not self._encode_special_tokens

    def _encode(self, texts: Texts, around: bool) -> Encoding:
        if self._is_plain and all(isinstance(text, str) for text in texts):
            template = self._description.single if len(texts) == 1 else self._description.pair
            ids: list[int] = []
            for what, _ in template:
                if isinstance(what, str):
                    ids.extend(self._tokenizer.encode(texts["AB".index(what)]))  # type: ignore[arg-type]
                elif around:
                    ids.append(what)
            return Encoding.later(ids, self._complete(texts, around))
        return self._complete(texts, around)()

    def _complete(self, texts: Texts, around: bool) -> Callable[[], Encoding]:
        """What makes all of an encoding, now or later, by what the tokenizer is now."""
        passed_over = self._tokens.special if self._encode_special_tokens else frozenset[str]()
        return partial(complete, self._pipeline, self._processors, self._truncation, self._padding, passed_over, texts, around)

    def _finish(self, encodings: list[Encoding], around: bool) -> Encoding:
        return finish(self._processors, self._truncation, self._padding, encodings, around)

    def _padded(self, encodings: list[Encoding]) -> list[Encoding]:
        if self._padding is not None:
            self._padding.fill_all(encodings)
        return encodings

    def _bare(self, text: str | list[str]) -> Encoding:
        """An encoding with ids and little else."""
        ids: list[int] = []
        for part in [text] if isinstance(text, str) else text:
            if self._encode_special_tokens:
                ids.extend(self._pipeline.encode(part, 0, self._tokens.special)._ids)
            else:
                ids.extend(self._tokenizer.encode(part))
        size = len(ids)
        return Encoding.of(ids, [""] * size, [(0, 0)] * size, [None] * size, 0)


def restore(data: str, encode_special_tokens: bool) -> Tokenizer:
    made = Tokenizer.from_str(data)
    made.encode_special_tokens = encode_special_tokens
    return made
