"""Tokenizer: texts in, token ids out, and back; exactly those of the tokenizer that the vocabulary was made for.

    tokenizer = Tokenizer.from_file("cl100k_base.tiktoken")     # or a tokenizer.json, tekken.json, minbpe model, or saved one
    tokenizer.encode("hello world")                             # [15339, 1917]
    tokenizer.encode_to_numpy(book, threads=0)                  # array([...], dtype=uint32), on all cores
    tokenizer.decode([15339, 1917])                             # "hello world"

A text is cut by the lexer of the tokenizer's pattern, and each piece is looked up, or merged if it was never seen. What happens to
special tokens in a text is the tokenizer's own convention, unless the call says otherwise: tiktoken refuses them, Hugging Face tokenizers
takes them for what they are. Invariant: a Tokenizer never changes after it is made, and may be used by any number of threads.
Rejected: an object for each token with its text and place (`encode_with_offsets` gives two arrays); ids of 16 bits by default
(most vocabularies do not fit).
"""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from . import arrow
from .calling import as_key, as_keys, calls_of, direct
from .encoders import Encoder, Pure, as_text, ids_of, make_encoder, side_by_side, tokens_in_place
from .lexers import texts_of, workers_of
from .vocabulary import Description, VocabularyError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from typing import Self, TypeAlias, TypedDict, Unpack

    import numpy as np
    import numpy.typing as npt
    from typing_extensions import Buffer

    from .added import Search
    from .lexers import Bytes, Lexer
    from .streams import IntoStream
    from .token_streams import DecodeStream, TokenStream
    from .vocabulary import AddedToken

    Integers: TypeAlias = Buffer | npt.NDArray[np.integer[Any]]
    Ids: TypeAlias = Sequence[int] | npt.NDArray[np.integer[Any]]
    Special: TypeAlias = Literal["all"] | Collection[str]

    class Options(TypedDict, total=False):
        """What `bitlex.vocabularies.load` takes beside the file."""

        name: str | None
        family: str | None
        pattern: str | None
        special: Mapping[str, int] | None

    Number = TypeVar("Number", bound=np.integer[Any])

__all__ = ["Tokenizer"]

STREAMED_FROM = 512  # characters or bytes of a text that is not in NFC, for which making a stream pays,
MOST_STREAMED = 1 << 26  # and of which a stream may hold all, whatever they become
INSIDE = bytes(range(0x80, 0xC0))  # a character of UTF-8 starts with another byte


class Tokenizer:
    """Encodes and decodes. Made by `from_file` and its kin, not by calling the class.

    A text is a str, or UTF-8 in anything bytes-like. In a str, a lone surrogate is read as U+FFFD, and two that are a pair as the
    character they spell; bytes that are not UTF-8 are encoded as they are, and come back by `decode_bytes`.

    allowed_special     the special tokens that are encoded as such where the text has them: their contents, or "all"
    disallowed_special  those that are a ValueError there; what is in neither is encoded as any other text
    threads             how many may work at the same time; 0: as many as this process may use cores. The ids are the same

    Where neither is given, a tokenizer of a .tiktoken file disallows all, as tiktoken does; one of a tokenizer.json allows all, as
    Hugging Face tokenizers does; one of a tekken.json does neither. Time and memory are proportional to the text; what is
    remembered of pieces takes up to 41 MB for each thread that encodes at the same time (15 in streams), and no more.
    """

    __slots__ = (
        "__weakref__", "_added", "_allowed", "_cuts", "_description", "_direct", "_disallowed", "_encoder", "_every", "_lexer", "_normalizes",
        "_plain", "_searches", "_size", "_slow", "_specials", "_streamed",
    )  # fmt: skip

    def __init__(self, description: Description, *, encoder: Encoder | None = None, lexer: Lexer | None = None) -> None:
        from .added_search import needs_definition, only_normalizes, spelled

        if not isinstance(description, Description):
            raise TypeError(f"expected a Description, got {type(description).__name__}; Tokenizer.from_file makes one of a file")
        self._lexer = lexer if lexer is not None else description.lexer()
        self._encoder = encoder if encoder is not None else make_encoder(description, self._lexer)
        self._description = description if encoder is not None else tokens_in_place(description, self._encoder)
        self._size: int | None = None  # nor are the tokens read before somebody asks for them
        self._added = {token.content: token for token in description.added}
        self._slow = needs_definition(description)
        self._normalizes = only_normalizes(description)
        self._specials: dict[Any, Any] = {}
        self._searches: dict[Any, tuple[Search, Search]] = {}
        self._streamed: bool | None = None
        self._every = self._find("all")
        self._allowed = self._every if description.convention == "huggingface" else None
        self._disallowed = self._every if description.convention == "tiktoken" else None
        self._plain: dict[Any, Any] | None = None
        self._cuts: Any = None
        said: Any = {"around": (description.prefix, description.suffix), "nfc": description.normalizer is not None}
        if self._slow and not self._normalizes:  # a text that has none of these is not cut, whatever is said of them
            self._cuts = self._encoder.specials(contents) if (contents := spelled(description)) else None
            self._plain = {}
            self._direct = calls_of(self._encoder, None, self._cuts, self._plain, again=True, prefix=description.prefix_space, **said)
        else:
            self._direct = calls_of(self._encoder, self._allowed, self._disallowed, self._specials, **said)

    # --- making one ---

    @classmethod
    def from_file(cls, path: str | os.PathLike[str], **options: Unpack[Options]) -> Self:
        """The tokenizer of a file: .tiktoken ranks, tokenizer.json, tekken.json, a minbpe model, or one that `save` wrote.

        What it is, its content says. `options` are those of `bitlex.vocabularies.load`: rank files that are not known need `family=` or
        `pattern=`, and `special=`. VocabularyError (a ValueError) for what is malformed or not supported. A saved one stays mapped: the file may
        be replaced meanwhile, as `save` does it, but not be written into.
        """
        from .opening import may_wait, naming
        from .saving import is_saved, load_saved
        from .vocabularies import load

        path = os.fsdecode(path)  # a number would be a file that is open already, such as standard input
        refuse_name(path)
        if may_wait(path):  # a pipe, which can be read but once
            with naming(path), open(path, "rb") as file:
                data = file.read()
            return cls._of_content(data, path, options)
        with naming(path):
            saved = is_saved(path)
        if saved:
            if options:
                raise TypeError(f"{next(iter(options))}= goes with other files: a saved tokenizer is complete")
            return load_saved(path, cls)
        return cls._of_file(path, load(path, **options))

    @classmethod
    def from_bytes(cls, data: bytes | bytearray | memoryview, **options: Unpack[Options]) -> Self:
        """The tokenizer of what such a file holds, wherever that was fetched from; options and errors as of `from_file`.

        What `save` wrote is refused: it is mapped into memory, so it must be a file.
        """
        if isinstance(data, str):
            raise TypeError("expected the content of a file as bytes, got str; Tokenizer.from_file takes its path")
        return cls._of_content(bytes(memoryview(data)), "bytes in memory", options)

    @classmethod
    def _of_content(cls, data: bytes, where: str, options: Options) -> Self:
        from .saving import KIND
        from .vocabularies import read

        if data.startswith(KIND):
            raise VocabularyError(f"{where}: a saved tokenizer is mapped into memory, so it must be a file")
        return cls._of_file(where, read(data, where, **options))

    @classmethod
    def from_tiktoken(cls, source: Any, **options: Unpack[Options]) -> Self:
        """Of a rank file, of a tiktoken.Encoding, or of an encoding of OpenAI by name ("cl100k_base").

        The file of a name is looked for in the directory BITLEX_VOCABULARY and in tiktoken's cache, and fetched into that if it is in neither.
        `options` are those of `bitlex.vocabularies.load`: `special=` of a name goes instead of the special tokens of the encoding, too.
        """
        from .compat.rank_files import description, is_name

        if is_name(source):
            return cls(description(source, **options))
        refuse_name(source)
        return cls._of_format("tiktoken", source, options)

    @classmethod
    def from_huggingface(cls, source: Any, **options: Unpack[Options]) -> Self:
        """Of a tokenizer.json, of a tokenizers.Tokenizer or fast tokenizer of transformers, or of a model's name on the hub.

        A name ("Qwen/Qwen3-8B") is fetched by the package huggingface_hub, which keeps it.
        """
        from .hub import tokenizer_json

        return cls._of_format("huggingface", tokenizer_json(source), options)

    @classmethod
    def from_tekken(cls, path: str | os.PathLike[str], **options: Unpack[Options]) -> Self:
        """Of a tekken.json."""
        return cls._of_format("tekken", path, options)

    @classmethod
    def from_minbpe(cls, path: str | os.PathLike[str], **options: Unpack[Options]) -> Self:
        """Of a model that minbpe wrote."""
        return cls._of_format("minbpe", path, options)

    @classmethod
    def _of_format(cls, format: str, source: Any, options: Options) -> Self:
        from .vocabularies import load

        found = load(source, **options)
        if found.format != format:
            raise VocabularyError(f"{source}: this is of the format {found.format}, not {format}; Tokenizer.from_file takes either")
        return cls._of_file(source, found) if isinstance(source, (str, os.PathLike)) else cls(found)

    @classmethod
    def _of_file(cls, path: str | os.PathLike[str], found: Description) -> Self:
        """What was read from a file, which is named where its pattern cannot be a lexer."""
        try:
            lexer = found.lexer()
        except VocabularyError as error:
            raise VocabularyError(f"{os.fspath(path)}: {error}") from error
        return cls(found, lexer=lexer)

    def with_added_tokens(self, added: Iterable[AddedToken], decoded: Mapping[int, bytes]) -> Self:
        """One with other added tokens, and other ids that decode to something else; the lexer and the tables are this one's."""
        description = replace(self._description, added=tuple(added), decoded=decoded)
        image = None if isinstance(self._encoder, Pure) else self._encoder.image()  # type: ignore[attr-defined, unused-ignore]
        return type(self)(description, encoder=make_encoder(description, self._lexer, image), lexer=self._lexer)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all of it to one file, from which it loads in milliseconds, mapped into memory. The file appears when it is whole.

        One that is there is replaced and stays with those who have it open; so do not copy over it, nor write into it, while it is in use.
        ValueError for a name as of files for others (.json, .tiktoken, .model), which `bitlex.vocabularies.writing.write` writes.
        """
        from .saving import save

        save(self, path)

    # --- texts ---

    @direct
    def encode(
        self, text: str | Bytes, *, allowed_special: Special | None = None, disallowed_special: Special | None = None,
        add_special_tokens: bool = False, threads: int = 1,
    ) -> list[int]:  # fmt: skip
        """The ids of a text. `add_special_tokens`: with those that the model's template puts around it."""
        known = self._ready(text)
        if known is None:
            found = self._encode_slowly(text, allowed_special, disallowed_special, "list", threads)
        else:
            allowed, disallowed = self._finders(allowed_special, disallowed_special)
            found = self._encoder.encode(known, allowed, disallowed, workers_of(threads))
        return [*self._description.prefix, *found, *self._description.suffix] if add_special_tokens else found

    @direct
    def encode_ordinary(self, text: str | Bytes, *, threads: int = 1) -> list[int]:
        """The ids of a text in which no token is special."""
        return self.encode(text, allowed_special=(), disallowed_special=(), threads=threads)

    @overload
    def encode_to_numpy(
        self, text: str | Bytes, *, allowed_special: Special | None = ..., disallowed_special: Special | None = ..., dtype: None = ...,
        threads: int = ...,
    ) -> npt.NDArray[np.uint32]: ...  # fmt: skip
    @overload
    def encode_to_numpy(
        self, text: str | Bytes, *, allowed_special: Special | None = ..., disallowed_special: Special | None = ...,
        dtype: type[Number] | np.dtype[Number], threads: int = ...,
    ) -> npt.NDArray[Number]: ...  # fmt: skip
    @overload
    def encode_to_numpy(
        self, text: str | Bytes, *, allowed_special: Special | None = ..., disallowed_special: Special | None = ..., dtype: npt.DTypeLike,
        threads: int = ...,
    ) -> npt.NDArray[np.integer[Any]]: ...  # fmt: skip
    @direct
    def encode_to_numpy(
        self, text: str | Bytes, *, allowed_special: Special | None = None, disallowed_special: Special | None = None,
        dtype: npt.DTypeLike | None = None, threads: int = 1,
    ) -> npt.NDArray[np.integer[Any]]:  # fmt: skip
        """The ids as an array of uint32, or of `dtype`, into which all ids of the vocabulary must fit."""
        known = self._ready(text)
        if known is None:
            found = self._encode_slowly(text, allowed_special, disallowed_special, "numpy", threads)
        else:
            allowed, disallowed = self._finders(allowed_special, disallowed_special)
            found = self._encoder.encode_to_numpy(known, allowed, disallowed, workers_of(threads))
        return found if dtype is None else self._narrowed(found, dtype)

    @direct
    def encode_into(
        self, text: str | Bytes, out: Integers, *, allowed_special: Special | None = None, disallowed_special: Special | None = None,
        threads: int = 1,
    ) -> int:  # fmt: skip
        """Put the ids in an array, from its start on: how many there are. What is behind them in the array may have changed.

        `out` is anything that has a buffer of integers, into which all ids of the vocabulary must fit: an array of numpy or of `array`, a
        memoryview of shared memory. ValueError if it has too little room; what it has then is of no use.
        """
        known = self._ready(text)
        if known is not None:
            allowed, disallowed = self._finders(allowed_special, disallowed_special)
            return self._encoder.encode_into(known, out, allowed, disallowed, workers_of(threads))
        from .destination import IdDestination

        into = IdDestination(out, self._highest)
        return into.put_all(self._encode_slowly(text, allowed_special, disallowed_special, "numpy", threads))

    @direct
    def encode_with_offsets(
        self, text: str | Bytes, *, allowed_special: Special | None = None, disallowed_special: Special | None = None
    ) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.int64]]:
        """The ids, and where each starts and ends: an array of shape (n, 2), in bytes of anything bytes-like and in characters of a str.

        In a str, a token that has only some bytes of a character spans all of it; but for that, and for what a lexer drops, the slices
        are the text. White space that a special token takes is that token's; of characters that NFC changed, all are where the first
        byte is that they became, and tokens that have only others of these bytes are empty; so is that of a space put in front.
        """
        if self._ready(text, False) is None:
            found: tuple[npt.NDArray[np.uint32], npt.NDArray[np.int64]] = self._stream_whole(text, allowed_special, disallowed_special, "offsets")
            return found
        allowed, disallowed = self._finders(allowed_special, disallowed_special)
        return self._encoder.encode_with_offsets(text, allowed, disallowed, 1)

    def encode_batch(
        self, texts: Iterable[str | Bytes], *, allowed_special: Special | None = None, disallowed_special: Special | None = None,
        add_special_tokens: bool = False, threads: int = 0,
    ) -> list[list[int]]:  # fmt: skip
        """`[tokenizer.encode(text) for text in texts]`, on all cores. What is no text is named by its index."""
        workers, special = workers_of(threads), as_keys(allowed_special, disallowed_special)
        finders = self._finders(*special)
        found = self._batch(
            texts, lambda known: self._encoder.encode_batch(known, *finders, workers),
            lambda text: self.encode(text, allowed_special=special[0], disallowed_special=special[1]),
        )  # fmt: skip
        before, behind = (self._description.prefix, self._description.suffix) if add_special_tokens else ((), ())
        return [[*before, *ids, *behind] for ids in found] if before or behind else found

    def encode_batch_to_numpy(
        self, texts: Iterable[str | Bytes], *, allowed_special: Special | None = None, disallowed_special: Special | None = None,
        threads: int = 0,
    ) -> list[npt.NDArray[np.uint32]]:  # fmt: skip
        """An array of ids for each text."""
        workers, special = workers_of(threads), as_keys(allowed_special, disallowed_special)
        finders = self._finders(*special)
        return self._batch(
            texts, lambda known: self._encoder.encode_batch_to_numpy(known, *finders, workers),
            lambda text: self.encode_to_numpy(text, allowed_special=special[0], disallowed_special=special[1]),
        )  # fmt: skip

    def encode_batch_flat(
        self, texts: Iterable[str | Bytes], *, allowed_special: Special | None = None, disallowed_special: Special | None = None,
        add_special_tokens: bool = False, threads: int = 0,
    ) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.int64]]:  # fmt: skip
        """The ids of all texts side by side, and where those of each begin: text i has `ids[begins[i]:begins[i + 1]]`.

        `begins` has one number more than there are texts, the last of which is how many ids there are: the offsets of Arrow's lists, the
        cumulative lengths of packed sequences. For many short texts, this takes less time than an array for each.
        """
        around = (self._description.prefix, self._description.suffix) if add_special_tokens else ((), ())
        return self.encode_around(texts, *around, allowed_special=allowed_special, disallowed_special=disallowed_special, threads=threads)

    def encode_around(
        self, texts: Iterable[str | Bytes], before: tuple[int, ...], behind: tuple[int, ...], *, allowed_special: Special | None = None,
        disallowed_special: Special | None = None, threads: int = 0,
    ) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.int64]]:  # fmt: skip
        """What `encode_batch_flat` gives, with these ids before and behind those of each text. OverflowError for what is no id of 32 bits."""
        workers, special = workers_of(threads), as_keys(allowed_special, disallowed_special)
        finders = self._finders(*special)
        known, apart = self._all_ready(texts)
        if not apart:
            return self._encoder.encode_batch_flat(known, *finders, workers, before, behind)
        found = mixed(
            known, apart, lambda known: self._encoder.encode_batch_to_numpy(known, *finders, workers),
            lambda text: self.encode_to_numpy(text, allowed_special=special[0], disallowed_special=special[1]),
        )  # fmt: skip
        return side_by_side(found, before, behind)

    @direct
    def count(
        self, text: str | Bytes, *, allowed_special: Special | None = None, disallowed_special: Special | None = None, threads: int = 1
    ) -> int:
        """How many ids a text has. Of a long one that is not bytes, such as a file that is mapped into memory, a window at a time is copied."""
        if not isinstance(text, (str, bytes)):
            from .windows import encode_in_windows, has_windows, is_long_buffer, reading

            if is_long_buffer(text) and has_windows(self):
                special: Any = {"allowed_special": allowed_special, "disallowed_special": disallowed_special}
                return sum(encode_in_windows(self, reading(text), threads=workers_of(threads), counting=True, **special))
        known = self._ready(text)
        if known is None:
            return len(self._encode_slowly(text, allowed_special, disallowed_special, "list", threads))
        allowed, disallowed = self._finders(allowed_special, disallowed_special)
        return self._encoder.count(known, allowed, disallowed, workers_of(threads))

    def count_batch(
        self, texts: Iterable[str | Bytes], *, allowed_special: Special | None = None, disallowed_special: Special | None = None,
        threads: int = 0,
    ) -> list[int]:  # fmt: skip
        """How many ids each text has."""
        workers, special = workers_of(threads), as_keys(allowed_special, disallowed_special)
        finders = self._finders(*special)
        return self._batch(
            texts, lambda known: self._encoder.count_batch(known, *finders, workers),
            lambda text: self.count(text, allowed_special=special[0], disallowed_special=special[1]),
        )  # fmt: skip

    @overload
    def stream(
        self, *, allowed_special: Special | None = ..., disallowed_special: Special | None = ..., result: Literal["list"] | None = ...,
        hold: int | None = ..., into: None = ...,
    ) -> TokenStream[list[int]]: ...  # fmt: skip
    @overload
    def stream(
        self, *, allowed_special: Special | None = ..., disallowed_special: Special | None = ..., result: Literal["numpy"],
        hold: int | None = ..., into: None = ...,
    ) -> TokenStream[npt.NDArray[np.uint32]]: ...  # fmt: skip
    @overload
    def stream(
        self, *, allowed_special: Special | None = ..., disallowed_special: Special | None = ..., result: Literal["offsets"],
        hold: int | None = ..., into: None = ...,
    ) -> TokenStream[tuple[npt.NDArray[np.uint32], npt.NDArray[np.int64]]]: ...  # fmt: skip
    @overload
    def stream(
        self, *, allowed_special: Special | None = ..., disallowed_special: Special | None = ..., result: None = ..., hold: int | None = ...,
        into: Integers,
    ) -> IntoStream: ...  # fmt: skip
    def stream(
        self, *, allowed_special: Special | None = None, disallowed_special: Special | None = None,
        result: Literal["list", "numpy", "offsets"] | None = None, hold: int | None = None, into: Integers | None = None,
    ) -> TokenStream[Any] | IntoStream:  # fmt: skip
        """For a text that comes in parts, however it is cut: feed it, and have its ids as soon as nothing that follows can change them.

        result  what is given each time: a "list" of ids; an array of uint32 ("numpy"); or that and "offsets": in bytes of the whole text
                if it is fed bytes, in characters if it is fed str, as `encode_with_offsets` gives them; a list if nothing else is said
        into    an array as of `encode_into`: ids are put there from its start on, and what is given is how many; where that is as many as
                there is room for, `stream.more()` puts those there that follow. What is behind them may have changed
        hold    how many bytes of the text it may hold, 16 Mi if nothing else is said, less than 1 Gi; what would need more is a ValueError

        It takes a few hundred bytes, and what it holds of the text, some 25 KB of a piece that does not end: docs/streams.md.
        """
        from .normalized_streams import make_nfc_stream, make_normalized_stream
        from .streams import IntoStream, has_native_stream, hold_of
        from .token_streams import INTO, PLACED, ROWS, NativeTokenStream, TokenStream, make_token_stream, native_token_stream

        kinds = {"list": 0, "numpy": 1, "offsets": 2}
        if result is not None and into is not None:
            raise ValueError(f"result is {result!r}; with into=, how many ids are in the array is what is given")
        if result is not None and (not isinstance(result, str) or result not in kinds):
            raise ValueError(f"result is {result!r}; it may be 'list', 'numpy' or 'offsets'")
        kind = kinds[result or "list"]
        most = hold_of(hold)
        allowed_special, disallowed_special = as_keys(allowed_special, disallowed_special)
        in_nfc = self._streams_in_nfc()
        if in_nfc or (not self._slow and has_native_stream(self._lexer)):  # what finds the special tokens is there
            known, unwanted = self._policy(allowed_special, disallowed_special)
            native = make_nfc_stream if in_nfc else native_token_stream
            if into is not None:
                return IntoStream(native(self._encoder, known, unwanted, most, INTO, into=into), into)
            if in_nfc and kind == PLACED:
                return TokenStream(native(self._encoder, known, unwanted, most, kind), kind)
            return NativeTokenStream(native(self._encoder, known, unwanted, most, ROWS if kind == PLACED else kind), kind)
        allowed, refused = self._chosen(allowed_special, disallowed_special)
        wrong = self._ids_of(refused)
        if self._slow:
            made = make_normalized_stream(self, self._cut_by(allowed_special), wrong, most, kind)
        else:
            made = make_token_stream(self, self._ids_of(allowed), wrong, most, kind)
        stream: TokenStream[Any] = TokenStream(made, kind)
        if into is None:
            return stream
        from .destination import IdDestination, Putting

        return IntoStream(Putting(stream, IdDestination(into, self._highest)), into)

    def decode_stream(self, *, errors: str = "replace", skip_special_tokens: bool = False) -> DecodeStream:
        """For ids that come in parts: feed them, and have their text up to the last character that is complete.

        `errors` as in `decode`. What is held are three bytes at most.
        """
        from .token_streams import make_decode_stream

        return make_decode_stream(self._encoder, known_errors(errors), bool(skip_special_tokens))

    def encode_files(
        self, paths: Iterable[str | os.PathLike[str]], *, input: str | None = None, field: str = "text",
        allowed_special: Special | None = None, disallowed_special: Special | None = None, threads: int = 0,
    ) -> Iterator[npt.NDArray[np.uint32]]:  # fmt: skip
        """The ids of each document of files, in order, in memory that does not grow with files of many documents.

        paths   files, globs ("shards/**/*.jsonl.gz"), each a str or a Path, or "-", standard input; .gz, .bz2, .xz and .zst are decompressed
        input   what they are: "text" (a file is a document), "lines", "jsonl" or "parquet"; None: what their names say
        field   where a document is in a line of JSON, or a column of Parquet: "text", or "page.text" for one inside the other

        InputError (a ValueError) for what is malformed or cannot be read, with the file and the line or row.
        """
        from .documents import encode_documents
        from .inputs import Source, find

        allowed, disallowed = as_keys(allowed_special, disallowed_special)
        special: Any = {"allowed_special": allowed, "disallowed_special": disallowed}
        workers_of(threads)  # what is wrong with an argument is not the fault of a file
        self._policy(allowed, disallowed)
        if not isinstance(field, str):
            raise TypeError(f"field is {field!r}; it may be a str")
        for found in find(paths):
            documents = encode_documents(self, Source(found.path, input, field), threads=threads, **special)
            yield from (ids for ids in documents if ids is not None)

    def merge(
        self, piece: str | Bytes, *, method: Literal["automatic", "sweep", "heap", "windows", "backtrack", "prefixes"] = "automatic"
    ) -> list[int]:
        """The ids of one piece by merging alone: not cut by the lexer, not looked up whole, without caches.

        All methods give the same; they are there to be compared.

        sweep      looks through all neighbours for each merge: quadratic, so it takes pieces of up to 65,536 bytes; ValueError, if longer
        heap       keeps what may merge in a heap: O(n log n)
        windows    merges short windows that overlap, many at a time, and joins them where they have a token in common
        backtrack  takes the longest token that may stand behind the one before, and goes back where none may: linear
        prefixes   finds the last token of every beginning: linear
        automatic  windows, of which a piece of up to 62 bytes is one

        The last two hold where merges happen in the order of their ranks, as in vocabularies that were trained as they are; in others, such
        as llama3, which was put together, they are the heap. Their tables are made when one is first asked for (60 to 350 ms).
        """
        return self._encoder.merge(piece, method)

    # --- ids ---

    def decode(self, ids: Ids, *, errors: str = "replace", skip_special_tokens: bool = False) -> str:
        """The text of ids: a sequence of int, or an array. `errors`: what becomes of bytes that are not UTF-8, as in bytes.decode.

        An id that is none is a KeyError that says which and where.
        """
        return self._encoder.decode_text(ids, errors if errors == "replace" else known_errors(errors), skip_special_tokens)

    def decode_bytes(self, ids: Ids, *, skip_special_tokens: bool = False) -> bytes:
        """The bytes of ids."""
        return self._encoder.decode(ids, skip_special_tokens)

    def decode_batch(
        self, batch: Iterable[Ids], *, errors: str = "replace", skip_special_tokens: bool = False, threads: int = 0
    ) -> list[str]:
        """`[tokenizer.decode(ids) for ids in batch]`, on all cores."""
        return self._encoder.decode_batch(batch, known_errors(errors), workers_of(threads), skip_special_tokens)

    def decode_with_offsets(self, ids: Ids) -> tuple[str, list[int]]:
        """The text of ids, and the character in which each token starts. Bytes that are not UTF-8 are a UnicodeDecodeError."""
        known = ids if type(ids) is list else ids_of(ids)  # an iterator can be read once
        ends = self._encoder.ends(known)
        data = self._encoder.decode(known)
        text = data.decode("utf-8")
        starts = [0, *ends[:-1]] if ends else []
        if len(text) == len(data):
            return text, starts
        begun, done = 0, 0  # characters that start before a byte, and which
        for number, at in enumerate(starts):
            begun, done = begun + len(data[done:at].translate(None, INSIDE)), at
            starts[number] = begun - (at < len(data) and data[at] in INSIDE)
        return text, starts

    def token_bytes(self, id: int) -> bytes:
        """The bytes of one id; KeyError if it is none."""
        return self._encoder.token(id)

    def token_to_id(self, token: str | bytes) -> int | None:
        """The id of a token, by its text or its bytes: an added token, or one of the vocabulary. None if it is none."""
        if isinstance(token, str):
            if token in self._added:
                return self._added[token].id
            token = token.encode("utf-8", "surrogatepass")
        return self._encoder.find(token)

    # --- what it is ---

    @property
    def name(self) -> str:
        """What it calls itself."""
        return self._description.name

    @property
    def lexer(self) -> Lexer:
        """What cuts the text into pieces."""
        return self._lexer

    @property
    def description(self) -> Description:
        """All that it was made of."""
        return self._description

    @property
    def special_tokens(self) -> Mapping[str, int]:
        """The ids of added tokens by what they are called."""
        return {content: token.id for content, token in self._added.items()}

    @property
    def vocabulary_size(self) -> int:
        """The highest id and one."""
        if self._size is None:
            self._size = max([len(self._description.vocabulary) - 1, *self._description.decoded], default=-1) + 1
        return self._size

    @property
    def _highest(self) -> int:
        return max(self.vocabulary_size - 1, 0)

    def __len__(self) -> int:
        return self.vocabulary_size

    def __repr__(self) -> str:
        return f"<bitlex.Tokenizer {self.name}: {self.vocabulary_size:,} ids, {self._lexer.name}, {self._lexer.tier}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return remade, (type(self), self._description, self._lexer)

    # --- inside ---

    def _policy(self, allowed: Special | None, disallowed: Special | None) -> tuple[Any, Any]:
        """What finds the special tokens that are allowed, and those that are not; None: there are none."""
        if allowed is None and disallowed is None:
            return self._allowed, self._disallowed
        key = as_keys(allowed, disallowed)
        found = self._specials.get(key)
        if found is None:
            contents, refused = self._chosen(*key)
            found = (self._find(contents), self._find(refused))
            if len(self._specials) < 64:
                self._specials[key] = found
                if self._plain is not None:
                    self._plain[key] = (None, self._cuts)
        return found

    def _finders(self, allowed: Special | None, disallowed: Special | None) -> tuple[Any, Any]:
        """The same for a text that is encoded as it is."""
        found = self._policy(allowed, disallowed)
        return found if self._plain is None else (None, None)  # it has none of them, or it would be cut

    def _chosen(self, allowed: Special | None, disallowed: Special | None) -> tuple[frozenset[str], frozenset[str]]:
        """The special tokens that are allowed, and those that are not."""
        contents = self._contents(allowed, "allowed_special")
        if disallowed is None:
            return contents, frozenset(self._added) - contents if self._description.convention == "tiktoken" else frozenset()
        refused = self._contents(disallowed, "disallowed_special")
        return contents, refused - contents if disallowed == "all" else refused

    def _contents(self, special: Special | None, what: str) -> frozenset[str]:
        if special is None:
            return frozenset(self._added) if self._description.convention == "huggingface" else frozenset()
        if isinstance(special, str):
            if special != "all":
                raise ValueError(f"{what} is {special!r}; it may be 'all', or a collection of special tokens")
            return frozenset(self._added)
        contents = as_key(special, what)
        unknown = [content for content in contents if content not in self._added]
        if unknown:
            raise ValueError(f"{what}: {unknown[0]!r} is no special token of {self.name}")
        return frozenset(contents)

    def _find(self, contents: Special) -> Any:
        chosen = self._ids_of(self._added if contents == "all" else contents)
        return self._encoder.specials(chosen) if chosen else None

    def _ids_of(self, contents: Iterable[str]) -> dict[bytes, int]:
        return {content.encode(): self._added[content].id for content in contents}

    def _cut_by(self, allowed: Special | None) -> tuple[Search, Search]:
        """What finds the added tokens that are allowed where the text has to be cut by their definition."""
        from .added import searches

        key = as_key(allowed, "allowed_special")
        found = self._searches.get(key)
        if found is None:
            contents = self._contents(key, "allowed_special")
            found = searches((token for token in self._description.added if token.content in contents), self._description.normalizer)
            if len(self._searches) < 64:
                self._searches[key] = found
        return found

    def _ready(self, text: Any, changing: bool = True) -> Any:
        """What the encoder is given for a text: itself, or what NFC made of it if `changing`; None where it is cut or streamed."""
        if not self._slow:
            return text
        if not self._normalizes and self._is_cut(text):
            return None
        from .added_search import plain, ready

        if not self._normalizes:
            return plain(self._description, text, changing)
        if isinstance(text, (str, bytes)) and len(text) > STREAMED_FROM and self._streams_in_nfc():
            from .normalization import in_nfc

            return text if in_nfc(text) else None
        return ready(text, self._refuse, changing)

    def _is_cut(self, text: Any) -> bool:
        """Whether an added token may be in a text, or it is none."""
        if self._cuts is None:
            return False
        if not isinstance(self._encoder, Pure):
            return bool(self._cuts.first_in([text], 0) == 0)
        try:
            self._encoder.refuse(text, self._cuts)
        except (TypeError, ValueError, BufferError):
            return True
        return False

    def _refuse(self, text: Any) -> None:
        """A ValueError if an added token is in a text."""
        if self._every is not None:
            self._encoder.refuse(text, self._every)

    def _all_ready(self, texts: Iterable[Any]) -> tuple[Any, Mapping[int, Any]]:
        """The same of many texts; and those that are cut or streamed, by their index, as they were given."""
        texts = arrow.given(texts)
        if not self._slow:
            return texts, {}
        from .added_search import all_plain, all_ready

        given = list(texts_of(texts))
        if self._normalizes:
            return all_ready(given, self._refuse)
        return all_plain(self._description, given, self._encoder, self._cuts)

    def _batch(self, texts: Iterable[Any], encode: Callable[[Any], list[Any]], encode_one: Callable[[Any], Any]) -> list[Any]:
        """What is made of many texts, but for some at once."""
        known, apart = self._all_ready(texts)
        return mixed(known, apart, encode, encode_one) if apart else encode(known)

    def _stream_whole(self, text: Any, allowed: Special | None, disallowed: Special | None, result: Any) -> Any:
        from .token_streams import joined

        stream = self.stream(allowed_special=allowed, disallowed_special=disallowed, result=result, hold=sys.maxsize)
        return joined(stream.feed(text), stream.finish())

    def _encode_slowly(
        self, text: Any, allowed: Special | None, disallowed: Special | None, result: Literal["list", "numpy"], threads: int
    ) -> Any:
        """Where stretches of the text are encoded, each by itself: one after the other, whatever `threads` allows."""
        from .added_search import stretches

        workers_of(threads)
        allowed, disallowed = as_keys(allowed, disallowed)
        if self._streams_in_nfc() and isinstance(text, (str, bytes)) and len(text) < MOST_STREAMED:
            return self._stream_whole(text, allowed, disallowed, result)
        refused = self._policy(allowed, disallowed)[1]
        if refused is not None:
            self._encoder.refuse(text, refused)
        found = []
        for stretch, number in stretches(self._description, as_text(text), self._cut_by(allowed)):
            data = stretch.encode("utf-8", "surrogateescape")
            found.extend(self._encoder.encode(data, None, None, 1) if number is None else [number])
        if result == "list":
            return found
        import numpy

        return numpy.array(found, numpy.uint32)

    def _streams_in_nfc(self) -> bool:
        """Whether a text that has to be normalized is read by a native stream, which does that part by part, rather than cut here."""
        from .streams import has_native_stream

        if self._streamed is None:
            self._streamed = self._normalizes and has_native_stream(self._lexer) and not any(one.normalized for one in self._description.added)
        return self._streamed

    def _narrowed(self, ids: npt.NDArray[Any], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        import numpy

        wanted = numpy.dtype(dtype)
        if wanted.kind not in "ui":
            raise ValueError(f"dtype is {wanted}; it may be one of integers")
        if (1 << (8 * wanted.itemsize - (wanted.kind == "i"))) < self.vocabulary_size:
            raise ValueError(f"ids up to {self.vocabulary_size - 1} do not fit {wanted}")
        return ids.astype(wanted)


def remade(kind: type[Tokenizer], description: Description, lexer: Lexer) -> Tokenizer:
    """A tokenizer out of a pickle, whose lexer is not compiled again: that may take seconds."""
    return kind(description, lexer=lexer)


def each(texts: Iterable[Any], encode: Callable[[Any], Any]) -> list[Any]:
    """What is made of each text; an exception says which text it is about."""
    done = []
    for at, text in enumerate(texts_of(texts)):
        try:
            done.append(encode(text))
        except (TypeError, ValueError, BufferError) as error:
            raise type(error)(f"texts[{at}]: {error}") from None
    return done


def mixed(known: list[Any], apart: Mapping[int, Any], encode: Callable[[Any], list[Any]], encode_one: Callable[[Any], Any]) -> list[Any]:
    """What is made of many texts, of which some are encoded one by one. Who is to blame is found so, too."""
    try:
        rest = iter(encode([text for at, text in enumerate(known) if at not in apart]))
        return [encode_one(apart[at]) if at in apart else next(rest) for at in range(len(known))]
    except (TypeError, ValueError, BufferError):
        return each([apart.get(at, text) for at, text in enumerate(known)], encode_one)


def known_errors(errors: str) -> str:
    if not isinstance(errors, str):
        raise TypeError(f"errors is {errors!r}; it may be a str, such as 'replace', 'strict' or 'ignore'")
    if "\0" in errors:
        raise ValueError(f"errors is {errors!r}, which has a null character")
    if not errors.isascii():
        try:
            errors.encode()
        except UnicodeEncodeError:
            raise ValueError(f"errors is {errors!r}, which has a lone surrogate") from None
    return errors


def refuse_name(path: Any) -> None:
    """What may be said of a name that is that of no file: which encoding it may stand for, and what takes it."""
    if isinstance(path, (str, os.PathLike)) and not os.path.exists(path):
        from .compat.openai import similar
        from .vocabularies import refuse_content

        refuse_content(path)
        encoding = similar(os.fsdecode(path))
        if encoding is not None:
            raise FileNotFoundError(f"{path}: no such file; did you mean Tokenizer.from_tiktoken({encoding!r})?")
