"""Tokenizer of Hugging Face tokenizers 0.23.3 over bitlex, for tokenizer.json files with a byte-level BPE.

    from bitlex.compat.huggingface import Tokenizer
    tokenizer = Tokenizer.from_file("tokenizer.json")                   # or from_pretrained("Qwen/Qwen3-8B"), from_str, from_buffer
    tokenizer.enable_truncation(512)
    tokenizer.encode("Hello world", "and another").tokens

What it is made of does not change when tokens are added or settings changed; it is replaced, so that an Encoding that makes its
offsets later makes those of the tokenizer that encoded it. Invariant: ids, offsets and all else are those of tokenizers; files that
`bitlex.vocabularies` does not support are refused by its VocabularyError. Not here: other models, and pre-tokenized texts in
numpy arrays of dtype "U", of which tokenizers reads the memory as if it were UTF-8. Rejected: a subclass of tokenizers.Tokenizer, which
cannot be subclassed.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ..lexers import workers_of
from ..tokenizer import Tokenizer as Bitlex
from ..vocabularies.huggingface import read_huggingface
from ..vocabularies.json_fields import Fields, parse_json
from ..vocabularies.model import Model, parse_tokenizer
from .added_token import AddedToken, token_of
from .arguments import flag, hashed, listed, natural, naturals, sequential, text, typed
from .completion import Core, Steps
from .components import EMPTY, Component, as_json, completed, completed_model, component
from .decode_stream import DecodeStream
from .encoding import Encoding
from .inputs import batch_of, texts_of
from .processors import processors_of
from .settings import Padding, Truncation
from .tokens import Tokens
from .training import Trainer, in_files, in_iterator, learned

if TYPE_CHECKING:
    from asyncio import Future

    from ..vocabulary import Description

    Result = TypeVar("Result")

__all__ = ["AddedToken", "DecodeStream", "Encoding", "Tokenizer"]

BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}


class Tokenizer:
    """Made by `from_file` and its kin, or of a tokenizers.Tokenizer, or a fast tokenizer of transformers."""

    def __init__(self, source: Any) -> None:
        source = getattr(source, "backend_tokenizer", source)
        if hasattr(source, "get_trainer") and not (model := as_json(source) or {}).get("vocab"):
            self._read(json.dumps({**EMPTY, "model": model}).encode(), "Tokenizer", False)
            return
        if not hasattr(source, "to_str"):
            raise TypeError(
                f"expected a tokenizers.Tokenizer, got {type(source).__name__}; a model that has tokens does not say how to cut texts"
            )
        self._read(source.to_str().encode(), f"{type(source).__name__} in memory", getattr(source, "encode_special_tokens", False))

    @staticmethod
    def from_file(path: str) -> Tokenizer:
        """Of a tokenizer.json."""
        return Tokenizer._of(Path(path).read_bytes(), str(path))

    @staticmethod
    def from_str(json: str) -> Tokenizer:
        """Of the content of a tokenizer.json."""
        return Tokenizer._of(text(json).encode(), "tokenizer.json")

    @staticmethod
    def from_buffer(buffer: bytes) -> Tokenizer:
        """Of the bytes of a tokenizer.json."""
        return Tokenizer._of(typed(buffer, bytes), "tokenizer.json")

    @staticmethod
    def from_pretrained(identifier: str, revision: str = "main", token: str | None = None) -> Tokenizer:
        """Of a model's name on the hub, fetched by the package huggingface_hub."""
        from ..hub import fetch

        return Tokenizer.from_file(fetch(text(identifier), revision=revision, **({} if token is None else {"token": token})))

    @classmethod
    def _of(cls, data: bytes, where: str) -> Tokenizer:
        made = cls.__new__(cls)
        made._read(data, where, False)
        return made

    def _read(self, data: bytes, where: str, encode_special_tokens: bool) -> None:
        found, known = parse_tokenizer(data, where)
        truncation = Truncation.from_json(found.at("truncation")) if found.value.get("truncation") is not None else None
        padding = Padding.from_json(found.at("padding")) if found.value.get("padding") is not None else None
        # Fields are set when all is known to be good: a part that is not supported leaves everything as it was.
        tokenizer = Bitlex._of_file(where, described(found, data, known)) if known is not None or is_trained(found.value) else None
        processors = processors_of(found.value.get("post_processor"))
        self._data, self._where = data, where
        self._model: Any = None
        self._fields = {key: value for key, value in found.value.items() if key not in ("model", "added_tokens")}
        # Whether a text is made of the bytes of its tokens; without a decoder, it is made of their names, with spaces between.
        self._joins_bytes = self._fields.get("decoder") is not None
        self._read_tokenizer = tokenizer
        if tokenizer is None:
            self._tokens = Tokens({}, {}, frozenset(), where=where)
            core = Core(partial(self._tokens.tokenizer, None), self._tokens.names)
        else:
            vocabulary = found.value["model"]["vocab"] if known is None else known.tokens.all
            self._tokens = Tokens.of(vocabulary, tokenizer, where)
            core = Core(lambda: tokenizer, self._tokens.names)
        self._steps = Steps(core, processors, truncation, padding)
        self.encode_special_tokens = encode_special_tokens

    @property
    def _tokenizer(self) -> Bitlex:
        return self._steps.tokenizer

    # --- texts ---

    def encode(self, sequence: Any, pair: Any = None, is_pretokenized: bool = False, add_special_tokens: bool = True) -> Encoding:
        """All that is known of a text, or of two."""
        return self._steps.encode(texts_of(sequence, pair, flag(is_pretokenized)), flag(add_special_tokens))

    def encode_batch(self, input: Sequence[Any], is_pretokenized: bool = False, add_special_tokens: bool = True) -> list[Encoding]:
        """The same of many texts, or pairs of them, on all cores."""
        return self._steps.encode_all(batch_of(input, flag(is_pretokenized)), flag(add_special_tokens))

    def encode_batch_fast(
        self, input: Sequence[Any], is_pretokenized: bool = False, add_special_tokens: bool = True
    ) -> list[Encoding]:
        """The same without texts, offsets and pieces of tokens, as in the original."""
        return self._steps.encode_ids(batch_of(input, flag(is_pretokenized)), flag(add_special_tokens))

    def async_encode(
        self, sequence: Any, pair: Any = None, is_pretokenized: bool = False, add_special_tokens: bool = True
    ) -> Future[Encoding]:
        """`encode` in a thread, to be awaited; RuntimeError where no event loop runs."""
        return in_thread(self._steps.encode, texts_of(sequence, pair, flag(is_pretokenized)), flag(add_special_tokens))

    def async_encode_batch(
        self, input: Sequence[Any], is_pretokenized: bool = False, add_special_tokens: bool = True
    ) -> Future[list[Encoding]]:
        """`encode_batch` in a thread, to be awaited."""
        return in_thread(self._steps.encode_all, batch_of(input, flag(is_pretokenized)), flag(add_special_tokens))

    def async_encode_batch_fast(
        self, input: Sequence[Any], is_pretokenized: bool = False, add_special_tokens: bool = True
    ) -> Future[list[Encoding]]:
        """`encode_batch_fast` in a thread, to be awaited."""
        return in_thread(self._steps.encode_ids, batch_of(input, flag(is_pretokenized)), flag(add_special_tokens))

    def post_process(self, encoding: Encoding, pair: Encoding | None = None, add_special_tokens: bool = True) -> Encoding:
        """Cut what was encoded, put special tokens around it, and fill it up."""
        given = [encoding] if pair is None else [encoding, pair]
        copies = [typed(one, Encoding).copy() for one in given]
        made = self._steps.finish(copies, flag(add_special_tokens))
        self._steps.fill([made])
        return made

    def num_special_tokens_to_add(self, is_pair: bool) -> int:
        """How many tokens are put around a text, or two."""
        return self._steps.added(2 if flag(is_pair) else 1)

    # --- ids ---

    def decode(self, ids: Sequence[int], skip_special_tokens: bool = True) -> str:
        """The text of ids. Those that are none are left out, as in the original."""
        return self._decoded(listed(ids), flag(skip_special_tokens))

    def _decodes_alike(self, skip: bool) -> bool:
        """Whether bitlex makes the same text of ids, but for such as are none."""
        return self._joins_bytes and (not skip or self._steps.core.leaves_out(self._tokens.left_out))

    def _decoded(self, wanted: Any, skip: bool) -> str:
        if self._decodes_alike(skip):
            try:
                return self._steps.core.decode(wanted, "replace", skip)
            except KeyError:
                pass
        wanted = hashed(wanted) if skip else wanted
        if skip and not (left_out := self._tokens.left_out).isdisjoint(wanted):
            wanted = [number for number in wanted if number not in left_out]
        known = [number for number in wanted if self.id_to_token(number) is not None]
        if self._joins_bytes:
            return self._tokenizer.decode(known)
        return " ".join(text for text in map(self.id_to_token, known) if text is not None)

    def decode_batch(self, sequences: Sequence[Sequence[int]], skip_special_tokens: bool = True) -> list[str]:
        """The texts of many lists of ids, on all cores."""
        skip, given = flag(skip_special_tokens), sequential(sequences)
        if self._decodes_alike(skip):
            try:
                return self._steps.core.decode_batch([listed(ids) for ids in given], "replace", workers_of(0), skip)
            except KeyError:
                pass
        return [self._decoded(listed(ids), skip) for ids in given]

    def async_decode_batch(self, sequences: Sequence[Sequence[int]], skip_special_tokens: bool = True) -> Future[list[str]]:
        """`decode_batch` in a thread, to be awaited."""
        return in_thread(self.decode_batch, [naturals(ids) for ids in sequential(sequences)], flag(skip_special_tokens))

    def token_to_id(self, token: str) -> int | None:
        """The id of a token; None if it is none."""
        found = self._tokens.vocabulary.get(token)  # what an added token has, too, if it is one of the model
        return self._tokens.id_of(text(token)) if found is None else found

    def id_to_token(self, id: int) -> str | None:
        """What the token of an id is called; None if there is none."""
        tokens = self._tokens
        if type(id) is int and 0 <= id < len(tokens.names) and id not in tokens.added and (found := tokens.names[id]):
            return found
        return tokens.name_of(natural(id, 32))

    def get_vocab(self, with_added_tokens: bool = True) -> dict[str, int]:
        """The ids of all tokens."""
        return self._tokens.ids(flag(with_added_tokens))

    def get_vocab_size(self, with_added_tokens: bool = True) -> int:
        """How many tokens there are."""
        return self._tokens.count(flag(with_added_tokens))

    # --- added tokens ---

    def get_added_tokens_decoder(self) -> dict[int, AddedToken]:
        """The added tokens by id."""
        return {number: token_of(token, False) for number, token in sorted(self._tokens.added.items())}

    def add_tokens(self, tokens: Sequence[str | AddedToken]) -> int:
        """Add tokens, or change their flags; how many are new, or changed."""
        return self._add(tokens, False)

    def add_special_tokens(self, tokens: Sequence[str | AddedToken]) -> int:
        """Add tokens that are left out when ids are decoded."""
        return self._add(tokens, True)

    def _add(self, tokens: Sequence[str | AddedToken], special: bool) -> int:
        if not isinstance(tokens, list):
            raise TypeError(f"expected a list of str or AddedToken, got {type(tokens).__name__}")
        found, count = self._tokens.plus(tokens, special)
        if count:
            encodes = self.encode_special_tokens
            self._tokens = found
            self._steps = replace(self._steps, core=Core(partial(found.tokenizer, self._read_tokenizer), found.names))
            self.encode_special_tokens = encodes
        return count

    @property
    def encode_special_tokens(self) -> bool:
        """Whether special tokens in a text are text like any other."""
        return self._steps.passed_over is not None

    @encode_special_tokens.setter
    def encode_special_tokens(self, value: bool) -> None:
        self._steps = replace(self._steps, passed_over=self._tokens.special if flag(value) else None)

    # --- training ---

    def train(self, files: Sequence[str | os.PathLike[str]], trainer: Any = None) -> None:
        """Learn the tokens of the model from the lines of files. `trainer`: a tokenizers.trainers.BpeTrainer."""
        if isinstance(files, (str, os.PathLike)):
            raise TypeError(f"expected a list of paths, got {type(files).__name__}")
        self._train(in_files(files), Trainer.of(trainer))

    def train_from_iterator(self, iterator: Iterable[str | Iterable[str]], trainer: Any = None, length: int | None = None) -> None:
        """The same from texts, or lists of texts. `length`: how many these are; nothing hangs on it."""
        self._train(in_iterator(iterator), Trainer.of(trainer))

    def _train(self, texts: Iterable[str], trainer: Trainer) -> None:
        """What was there stays until all is learned."""
        there = {number: token.content for number, token in self._tokens.added.items()}
        if not there.items() <= dict(enumerate(trainer.contents)).items():
            raise ValueError(f"{self._where}: added tokens would not keep their ids; train first and add them then, or give them to the trainer")
        model = {**self._model_field(), "vocab": trainer.first_tokens(), "merges": []}
        first = Tokens(model["vocab"], {}, frozenset(), where=self._where)
        data = self._as_json(self._fields, model, tokens=first.plus(trainer.special, True)[0]).encode()
        fields = parse_json(data, self._where)
        described(fields, data, None)  # what would be refused in the end is refused now
        model |= learned(fields, trainer, texts)
        tokens = Tokens(model["vocab"], {}, frozenset(), where=self._where).plus(trainer.special, True)[0]
        self._read(self._as_json(self._fields, model, tokens=tokens).encode(), self._where, self.encode_special_tokens)

    # --- settings ---

    @property
    def truncation(self) -> dict[str, Any] | None:
        """The arguments of enable_truncation; None if nothing is cut."""
        return None if self._steps.truncation is None else self._steps.truncation.as_dict()

    def enable_truncation(self, max_length: int, **options: Any) -> None:
        """Cut what is longer: stride=0, strategy="longest_first" (or "only_first", "only_second"), direction="right" (or "left")."""
        wanted = Truncation.of({"max_length": max_length, **options})
        wanted.check(self.num_special_tokens_to_add(False))
        self._steps = replace(self._steps, truncation=wanted)

    def no_truncation(self) -> None:
        """Cut nothing."""
        self._steps = replace(self._steps, truncation=None)

    @property
    def padding(self) -> dict[str, Any] | None:
        """The arguments of enable_padding; None if nothing is filled up."""
        return None if self._steps.padding is None else self._steps.padding.as_dict()

    def enable_padding(self, **options: Any) -> None:
        """Fill up: direction="right", pad_id=0, pad_type_id=0, pad_token="[PAD]", length=None, pad_to_multiple_of=None.

        `max_length` is the same as `length` under a name that is deprecated.
        """
        if "max_length" in options:
            warnings.warn("enable_padding(max_length=) is deprecated; it is enable_padding(length=)", DeprecationWarning, stacklevel=2)
            options = {"length" if name == "max_length" else name: value for name, value in options.items()}  # the last of both counts
        self._steps = replace(self._steps, padding=Padding.of(options))

    def no_padding(self) -> None:
        """Fill nothing up."""
        self._steps = replace(self._steps, padding=None)

    # --- files ---

    def to_str(self, pretty: bool = False) -> str:
        """What a tokenizer.json would hold."""
        return self._as_json(completed(self._fields), completed_model(self._model_field()), flag(pretty))

    def save(self, path: str | os.PathLike[str], pretty: bool = True) -> None:
        """Write a tokenizer.json. What was there stays until it is whole."""
        from ..outputs import whole_files

        with whole_files(path) as (file,):
            file.write(self.to_str(pretty).encode())

    def _model_field(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self._data)["model"]
        return found

    def _as_json(self, fields: dict[str, Any], model: dict[str, Any], pretty: bool = False, tokens: Tokens | None = None) -> str:
        truncation, padding = self._steps.truncation, self._steps.padding
        found = {
            "version": "1.0",
            "truncation": None if truncation is None else truncation.as_json(),
            "padding": None if padding is None else padding.as_json(),
            "added_tokens": (self._tokens if tokens is None else tokens).entries(),
            **{key: fields.get(key) for key in ("normalizer", "pre_tokenizer", "post_processor", "decoder")},
            "model": model,
        }
        return json.dumps(found, ensure_ascii=False, indent=2 if pretty else None, separators=None if pretty else (",", ":"))

    def __reduce__(self) -> tuple[Any, ...]:
        return Tokenizer.from_str, (self._as_json(self._fields, self._model_field()),)  # as in the original, without encode_special_tokens

    def __repr__(self) -> str:
        return f"<Tokenizer of {self._where}: {self.get_vocab_size():,} tokens>"

    # --- parts, for transformers ---

    @property
    def model(self) -> Any:
        """The parts are objects of the package tokenizers, made when they are asked for; this one takes a second, and is kept."""
        if self._model is None:
            self._model = component("model", self._model_field())
        return self._model

    normalizer = Component("normalizer", "What is done to text before it is cut; it may be set, as the others below.")
    pre_tokenizer = Component("pre_tokenizer", "What cuts text.")
    post_processor = Component("post_processor", "What puts special tokens around.")
    decoder = Component("decoder", "What makes text of tokens.")

    def _replace(self, name: str, value: Any) -> None:
        special = self._tokens.special
        encodes = self.encode_special_tokens
        self._read(self._as_json({**self._fields, name: as_json(value)}, self._model_field()).encode(), self._where, encodes)
        self._tokens = self._tokens.also_special(special)
        self.encode_special_tokens = encodes


def described(found: Fields, data: bytes, known: Model | None) -> Description:
    """What bitlex makes of a file, of which it is not told what it refuses and others do: cutting, filling up, and that there is no decoder."""
    decoder = BYTE_LEVEL if found.value.get("decoder") is None else found.value["decoder"]  # `decode` knows; nothing else asks for it
    fields = Fields({**found.value, "truncation": None, "padding": None, "decoder": decoder}, found.where)
    return read_huggingface(fields, data, None, known)


def is_trained(found: Mapping[str, Any]) -> bool:
    """Whether a file has any token; if it has none, nothing else is asked of it before it is trained."""
    model = found.get("model")
    return not isinstance(model, dict) or model.get("type") != "BPE" or model.get("vocab") != {} or bool(found.get("added_tokens"))


def in_thread(function: Callable[..., Result], *arguments: Any) -> Future[Result]:
    """What a call gives, by a thread of the event loop that runs."""
    from asyncio import get_running_loop  # takes long to import

    return get_running_loop().run_in_executor(None, partial(function, *arguments))
